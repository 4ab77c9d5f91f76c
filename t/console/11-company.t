# The console's view of a company: settings in force, seats, state of its directories.
use strict;
use utf8;
use warnings;
use IO::Socket::INET ();
use MIME::Base64 ();
use Test::More;
use Idadmin::Test qw(json_text secret_file within);
use Idadmin::Test::Console ();
use Idadmin::Test::Stack;

my @roles = qw(viewer operator approver key-administrator auditor administrator);

sub as {
    my ($stack, $user) = @_;
    return Idadmin::Test::Console->new($stack->httpd, user => $user, company => $stack->{company});
}

sub settings {
    my ($stack) = @_;
    my $company = as($stack, 'viewer')->data('/company');
    my %some = map { $_ => $company->{$_} } qw(companyId name timeZone upnDomain createUsersIn
        brake hygiene retention workflowCount notificationCount rateLimits);
    is_deeply(\%some, { companyId => 'nordic', name => 'Nordic AB',
        timeZone => 'Europe/Stockholm', upnDomain => 'nordic.example',
        createUsersIn => 'onPremises', brake => { offboardingsPerHour => 7 },
        hygiene => { staleAfterDays => 90 },
        retention => { taskHistoryDays => 365, auditDays => 730 }, workflowCount => 1,
        notificationCount => 1,
        rateLimits => { key => '77/60s', company => '4000/60s',
            source => { key => 'tenant', company => 'server' } } }, 'settings in force');
    is($company->{seats}{limit}, 500, 'seats');
    ok($company->{seats}{used} > 0, 'and how many are used');
}

sub rights {
    my ($stack) = @_;
    for my $role (@roles) {
        is(as($stack, $role)->get('/company')->{status}, $role eq 'approver' ? 403 : 200,
            "$role looks at the company");
    }
}

sub directory { my ($stack) = @_; return as($stack, 'viewer')->data('/company')->{directories}[0] }

sub fresh {
    my ($stack) = @_;
    my $d = directory($stack);
    ok($d->{users} > 0 && $d->{asOf}, 'people, as of when');
    ok(exists $d->{$_}, "has $_") for qw(groups signInsAsOf progress createIn);
    my %some = map { $_ => $d->{$_} } qw(directory dialect state problem since nextProbeAt
        waitingTasks syncInterval deletionGuard protectedAccountCount secrets);
    is_deeply(\%some, { directory => 'onPremises', dialect => 'openLdap', state => 'fresh',
        problem => undef, since => undef, nextProbeAt => undef, waitingTasks => 0,
        syncInterval => 1, deletionGuard => 20, protectedAccountCount => 1,
        secrets => [{ kind => 'bindPassword', expiresAt => undef }] }, 'a directory that is well');
    like($d->{address}, qr/^ldap/, 'its address');
}

sub held {
    my ($stack) = @_;
    $stack->worker->expect_log(qr/IDA0315/);
    $stack->slapd->stop;
    my $made = as($stack, 'operator')->post('/user', { firstname => 'Wait', surname => 'Here' });
    is($made->{status}, 200, 'queued');
    ok(within(sub { directory($stack)->{state} eq 'held' }), 'held');
    my $d = directory($stack);
    ok($d->{problem} && $d->{since} && $d->{nextProbeAt}, 'why, since when, next try');
    ok(within(sub { directory($stack)->{waitingTasks} == 1 }), 'who waits');
}

# What is set, without secrets, and what a draft would change.
sub draft {
    my ($stack) = @_;
    my $viewer = as($stack, 'viewer');
    my $set = $viewer->data('/company/settings');
    is($set->{document}{companyId}, 'nordic', 'the document');
    is_deeply([map { $_->{name} } @{ $set->{document}{workflows} }], ['Joiner'], 'its workflows');
    my $address = 'https://hr.nordic.example/…';
    is($set->{document}{notifications}[0]{url}, $address, 'an address without its secrets');
    is_deeply($set->{receivers}, [{ url => $address, events => ['task.failed'], waiting => 0,
        givenUp => 0, failures => 0, nextAt => undef }], 'how the receiver fares');
    is_deeply($set->{undelivered}, [], 'nothing waits');
    ok(!exists as($stack, 'key-administrator')->data('/company/settings')->{undelivered},
        'events, which name people, take the right to read tasks');
    my $draft = '{"companyId":"nordic","directories":{"onPremises":{"protectedAccounts":'
        . '["uid=eva.berg,ou=people"]}},"accessCatalog":[{"service":"X","group":"Finance",'
        . '"approvers":["eva.berg@nordic.example"]}]}';
    for my $role (qw(viewer key-administrator)) {
        my $read = json_text([as($stack, $role)->data('/company/settings'),
            as($stack, $role)->post('/company/plan', { document => $draft })->{json}]);
        is($read =~ /eva\.berg/ ? 1 : 0, $role eq 'viewer' ? 1 : 0, "people are shown to a $role");
        like($read, qr/Finance/, 'what the draft changes is');
    }
    my $plan = sub { $viewer->post('/company/plan', { document => $_[0] }) };
    my $answer = $plan->('{"companyId":"nordic","brake":{"offboardingsPerHour":9}}');
    is_deeply($answer->{json}{data}{changes}, [{ member => 'brake.offboardingsPerHour',
        before => 7, after => 9 }], 'what a draft would change');
    is($viewer->data('/company')->{brake}{offboardingsPerHour}, 7, 'nothing is stored');
    my %wrong = ('{"companyId":"nordic","seatLimit":"many"}' => qr/seatLimit/,
        '{"companyId":"other","name":"O","upnDomain":"o.example","directories":{}}' =>
            qr/companyId|directories/, '{"companyId":' => qr/JSON/i,
        '{"companyId":"nordic","notifications":[{"url":"' . $address . '","secretFile":"/s",'
            . '"events":["task.done"]}]}' => qr/url/);
    for my $text (sort keys %wrong) {
        my $refused = $plan->($text);
        is($refused->{status}, 400, "refused: $text");
        like($refused->{body}, $wrong{$text}, 'with the place of the fault');
    }
    is($viewer->post('/company/plan', { document => 7 })->{status}, 400, 'a number is no text');

    # Requests that are under way, because the end of their body has not come.
    my ($host, $port) = $stack->httpd->url =~ m{//([^:/]+):(\d+)};
    my @open = map { IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port)
        or die "connect: $!\n" } 1 .. 2;
    my $last = '{"companyId":"nordic"}';
    my $small = sub { $viewer->request('POST', '/company/plan', {},
        headers => { 'Idempotency-Key' => undef }, body => { document => $last }) };
    for my $socket (@open) {
        print {$socket} join "\r\n", 'POST /console/api/company/plan?companyId=nordic HTTP/1.1',
            'Host: localhost', 'Authorization: Basic '
            . MIME::Base64::encode_base64('viewer:secret', ''), 'X-IdAdmin-Console: 1',
            'Sec-Fetch-Site: same-origin', 'Content-Type: application/json',
            'Content-Length: 100', '', '{';
        $socket->flush;
    }
    my $refused;
    ok(within(sub { $refused = $small->(); $refused->{status} == 429 }),
        'a third one at the same time is refused');
    ok($refused->{headers}{'retry-after'}, 'for a moment');
    is(as($stack, 'operator')->post('/company/plan', { document => $last })->{status}, 200,
        'other people have places of their own');
    is($viewer->get('/company')->{status}, 200, 'and other requests');
    close $_ for @open;
    ok(within(sub { $small->()->{status} == 200 }), 'served again when those have gone');
}

sub never {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine, worker => 0,
        httpd => { console => 1 });
    my $company = as($stack, 'viewer')->data('/company');
    is($company->{directories}[0]{state}, 'never', 'not read yet');
    is($company->{seats}{used}, undef, 'seats would be a guess');
    $stack->stop;
}

my $notification = { url => 'https://hr.nordic.example/events?token=x', events => ['task.failed'],
    secretFile => secret_file('hr.whsec', 'whsec_' . 'QUJD' x 11 . "\n") };
my $workflow = { name => 'Joiner', trigger => 'userCreate', actions => [
    { type => 'sendEmail', to => 'it@nordic.example', subject => 'a', body => 'b' },
    { type => 'sendEmail', to => 'hr@nordic.example', subject => 'a', body => 'b' },
    { type => 'removeLicenses' }] };

for_each_stack {
    my ($stack) = @_;
    subtest settings => sub { settings($stack) };
    subtest rights => sub { rights($stack) };
    subtest draft => sub { draft($stack) };
    subtest fresh => sub { fresh($stack) };
    subtest held => sub { held($stack) };
    subtest never => sub { never($stack->{engine}) };
} one_engine =>
    'unit/queue/claim proves the states of directories on both engines',
    httpd => { console => 1,
    rate_limits => { person => '100000/60s', company => '4000/60s' } },
    tenant => { brake => { offboardingsPerHour => 7 }, seatLimit => 500,
        rateLimits => { key => '77/60s' }, workflows => [$workflow],
        notifications => [$notification] };

subtest 'both directories' => sub {
    my $stack = Idadmin::Test::Stack->new(cloud => {}, slapd => {},
        httpd => { console => 1 });
    my $all = as($stack, 'viewer')->data('/company')->{directories};
    is_deeply([map { $_->{directory} } @$all], ['cloud', 'onPremises'], 'each once');
    my ($cloud) = @$all;
    is($cloud->{dialect}, undef, 'the cloud has no dialect');
    like($cloud->{address}, qr/^http/, 'its address');
    is_deeply([map { $_->{kind} } @{ $cloud->{secrets} }], ['clientSecret'],
        'what the workers sign in with');
    is($cloud->{state}, 'fresh', 'read');
    $stack->stop;
};

done_testing;
