# Everything that can be pressed in the console works: each button, menu item, link and dialog of
# each page, as administrator and as each role, over a company in which everything has happened and
# over one in which nothing has; each write is answered well, nothing is refused that was offered.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(slurp src_dir within);
use Idadmin::Test::Between ();
use Idadmin::Test::Browser ();
use Idadmin::Test::Company ();
use Idadmin::Test::Console ();
use JSON::PP ();
use POSIX ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $company = Idadmin::Test::Company->new;
my $browser = $company->browser;
my $stack   = $company->stack;
my $between = Idadmin::Test::Between->new($browser);
my $robot   = slurp(src_dir() . '/t/console/press.js');
my $person  = $company->id_of('greta.dahl');
my $api     = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
    company => 'nordic');
# A person without tasks and requests.
my %named = map { $_->{userPrincipalName} => 1 }
    @{ $api->data('/tasks', { limit => 200 })->{items} },
    map { $_->{requester} } @{ $api->data('/access-requests', { limit => 200 })->{items} };
my ($who) = map { $_->{userPrincipalName} }
    grep { $_->{manager} && !$named{ $_->{userPrincipalName} } }
    reverse @{ $api->data('/users', { status => 'active', limit => 200 })->{items} };
my $template = $api->data('/role-templates')->{items}[0]{id};
my $group    = $api->data('/groups')->{items}[0]{id};
$browser->patience(600);

my @pages = (
    (map { 'task/' . $company->task($_) } qw(skipped failed braked attention done left cancelled)),
    qw(overview people), "person/$person", "person/$person?tab=access", "person/$person?tab=tasks",
    "person/$person?tab=log", 'person/' . $company->id_of('bo.ek') . '?tab=evidence',
    "hire/$person", 'hire', 'offboard/' . $company->id_of('rut.sandell'), 'offboard',
    qw(tasks?tab=queued tasks?tab=all access/groups access/templates access/requests workflows
        workflows/Leaver hygiene hygiene/accountsWithoutManager hygiene/emptyGroups log keys
        company),
    "access/templates?template=$template", "access/groups?group=$group",
);

# Presses as `user`, checks the calls, and returns what the robot saw.
sub presses {
    my ($user, $writes, @places) = @_;
    $company->sign_in($user);
    $company->open('overview');
    my $told = $browser->async($robot, \@places, $writes ? JSON::PP::true : JSON::PP::false, $who);
    my @calls = @{ $browser->script('return between.log') };
    is_deeply($told->{faults}, [], "$user: nothing says that it failed");
    is_deeply([map {"$_->{from}: $_->{method} $_->{path}$_->{query} $_->{status} "
        . ($_->{body} // '')}
        grep { ($_->{status} // 200) >= 400 } @calls], [], "$user: nothing is refused");
    is_deeply([$browser->complaints], [], "$user: nothing to complain of");
    note("$user: $told->{pressed} pressed, " . @{ $told->{links} } . ' kinds of links');
    return ($told, @calls);
}

$stack->worker->stop;    # what is queued stays queued while it is looked at

subtest 'an administrator' => sub {
    my ($told, @calls) = presses('administrator', 1, @pages);
    my %written = map { ("$_->{method} $_->{path}" => 1) }
        grep { $_->{method} ne 'GET' && $_->{query} !~ /dryRun/ && $_->{status} < 300 } @calls;
    ok($written{$_}, $_) for 'POST user', 'PATCH user', 'POST user/offboard', 'DELETE task',
        'PATCH task', 'POST task/retry', 'POST task/release', 'POST tasks/change',
        'POST role/assign', 'POST role/unassign', 'POST access-request', 'POST access-request/end',
        'POST access-request/decision', 'POST key', 'POST key/rotate', 'POST key/disable',
        'POST key/enable', 'DELETE key', 'POST directory/sync', 'POST directory/check',
        'POST audit/verify';
    cmp_ok($told->{pressed}, '>', 100, 'a good deal was pressed');
    diag(join "\n", @{ $told->{seen} }) if $ENV{IDADMIN_KEEP};
};

for my $role (qw(viewer operator approver key-administrator auditor)) {
    subtest $role => sub {
        presses($role, 0, @pages);
    };
}

# As the service tells of a company in which nothing has happened yet.
subtest 'nothing has happened' => sub {
    $company->sign_in('administrator');
    $company->open('overview');
    $between->tells($_ => { items => [], totalCount => 0, nextCursor => undef })
        for qw(users tasks groups role-templates approvals access-requests access-services workflows
        workflow/runs audit keys);
    $between->tells(overview => { needs => [], directories => [],
        today => { date => '2026-11-26', done => 0, late => 0, totalCount => 0, open => [] } });
    my $told = $browser->async($robot, [qw(people tasks tasks?tab=queued access/groups
        access/templates access/requests workflows log keys overview)], JSON::PP::false, $who);
    is_deeply($told->{faults}, [], 'nothing says that it failed');
    is_deeply([map { $_->{path} } grep { ($_->{status} // 200) >= 400 }
        @{ $browser->script('return between.log') }], [], 'nothing is refused');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

# What was queued is carried out, and the pages tell it.
subtest 'and then' => sub {
    $stack->worker->start;
    within(sub { !$api->data('/pulse')->{queue}{running} && !grep {
        $_->{scheduledAtUtc} lt POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime) && !$_->{hold} }
        @{ $api->data('/tasks', { state => 'queued', limit => 200 })->{items} } });
    my %seen = map { $_->{action} => 1 } @{ $api->data('/audit', { limit => 200,
        category => 'portal' })->{items} };
    ok($seen{$_}, "the log has $_") for qw(user.create user.update user.delete task.cancel
        task.release
        key.create key.delete role.assign request.approve sync.request);
    $company->open('overview');
    is(scalar $browser->all('.failed'), 0, 'the overview stands');
    is($browser->script('return getComputedStyle(document.querySelector(".lamp")).backgroundColor'),
        'rgb(27, 110, 63)', 'and the lamp is green');
};

$company->stop;
done_testing;
