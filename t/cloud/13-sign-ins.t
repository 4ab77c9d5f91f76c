# The tools show people with an unused licence of the cloud, as the directory itself does, and a new
# sign-in is shown after the tenant's signInInterval, not with each synchronisation.
use strict;
use warnings;
use Idadmin::Test;
use Idadmin::Test::Cloud ();
use Idadmin::Test::Mcp ();
use Idadmin::Test::Mirror ();
use Idadmin::Test::Stack;
use POSIX ();
use Test::More;

plan skip_all => Idadmin::Test::Cloud::skip_reason() if Idadmin::Test::Cloud::skip_reason();
my $domain = $Idadmin::Test::Cloud::domain;

sub ago { return POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time - $_[0] * 86400)) }

# People with the product who have not signed in for so many days, by the directory itself. A person
# who never came in counts from creation.
sub idle {
    my ($cloud, $sku, $days) = @_;
    my $since = ago($days);
    return [sort map { $_->{userPrincipalName} } grep {
        my $seen = $_->{signInActivity};
        ($_->{userType} // 'Member') ne 'Guest'
            && (grep { $_->{skuId} eq $sku } @{ $_->{assignedLicenses} })
            && ($seen->{lastSuccessfulSignInDateTime} // $seen->{lastSignInDateTime}
            // $_->{createdDateTime}) lt $since
    } Idadmin::Test::Mirror::all_of($cloud, '/users?$top=100&$select=userPrincipalName,userType,'
        . 'assignedLicenses,signInActivity,createdDateTime')];
}

for_each_stack {
    my ($stack) = @_;
    my $cloud = $stack->cloud;
    my $mcp   = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    my $tove  = "tove.ahlgren\@$domain";
    my $seen  = sub { return $mcp->call('get_user', { user => $tove })->{data} };
    my ($e3) = grep { $_->{skuPartNumber} eq 'SPE_E3' }
        @{ json_data($cloud->api(GET => '/subscribedSkus')->{body})->{value} };
    my $unused = sub {
        my $found = $mcp->call('search_users', { license => 'SPE_E3', inactiveDays => 90 });
        return [sort map { $_->{userPrincipalName} } @{ $found->{data}{items} }];
    };
    my $truth = idle($cloud, $e3->{skuId}, 90);
    is_deeply $truth, ["sten.vik\@$domain", $tove], 'two hold the licence and stay away';
    is_deeply $unused->(), $truth, 'and are found in one call';

    my $before = $seen->();
    is $before->{user}{signInActivity}{lastSuccessfulSignInAt}, undef, 'one of them never came in';
    like $before->{signInsAsOf}, qr/^\d{4}-/, 'as of then';
    $cloud->control(change => { key => $tove, properties => { jobTitle => 'Came in',
        signInActivity => { lastSignInDateTime => ago(0),
        lastSuccessfulSignInDateTime => ago(0) } } });
    ok within(sub { ($seen->()->{user}{jobTitle} // '') eq 'Came in' }),
        'a synchronisation tells the title';
    is $seen->()->{user}{signInActivity}{lastSuccessfulSignInAt}, undef,
        'an hour is not over: the sign-in not';
    is $seen->()->{signInsAsOf}, $before->{signInsAsOf}, 'which is said';

    $stack->apply_tenant($stack->tenant_document(directories =>
        { cloud => $stack->cloud_document(signInInterval => '1s') }));
    ok within(sub { $seen->()->{user}{signInActivity}{lastSuccessfulSignInAt} }),
        'with signInInterval of a second it is told';
    # The time is of a synchronisation that has ended, the sign-in is shown before that.
    ok within(sub { $seen->()->{signInsAsOf} gt $before->{signInsAsOf} }), 'as of a later time';
    is_deeply $unused->(), idle($cloud, $e3->{skuId}, 90), 'and one less is found';
} cloud => {}, one_engine => 'the words of the directory are the subject; '
    . 't/unit/operation/people_search.c searches by licence and sign-in on both';
done_testing();
