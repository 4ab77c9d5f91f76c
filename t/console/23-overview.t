# The first page of the console: figures, what needs attention, the next days, punctuality.
use strict;
use warnings;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(within);
use Idadmin::Test::Console ();
use Idadmin::Test::Stack qw(for_each_stack);
use Idadmin::Test::Times qw(stockholm);

my $domain = $Idadmin::Test::Slapd::domain;
my $ms     = 1000;
my ($stack, %as);

sub data { my ($who, $path, %how) = @_;
    my $answer = $as{$who}->get($path, {}, headers => $how{headers} // {});
    die "$who $path: $answer->{body}" if $answer->{status} != 200;
    return $answer->{json}{data} }
sub needs { my ($who) = @_; return @{ data($who // 'administrator', '/overview')->{needs} } }
sub need { my ($kind, $who) = @_; my ($need) = grep { $_->{kind} eq $kind } needs($who);
    return $need }
sub hire { my ($surname, %more) = @_;
    my $answer = $as{operator}->post('/user', { firstname => 'Maja', surname => $surname, %more });
    die $answer->{body} if $answer->{status} != 200;
    return $answer->{json}{data}{taskId} }
sub set { my ($id, $what) = @_; $stack->sql("UPDATE task SET $what WHERE id = '$id'") }
sub now { return time * $ms }

# A company on which nothing weighs.
sub calm {
    is_deeply([map { $_->{kind} } needs()], [], 'nothing needs attention')
        or diag explain [needs()];
    my $pulse = data(administrator => '/pulse');
    is_deeply($pulse->{queue}, { map { $_ => 0 } qw(queued running failed attention braked) },
        'an empty queue');
    is_deeply($pulse->{directories}, [{ directory => 'onPremises', state => 'fresh' }],
        'the directory');
    is($pulse->{workersRunning}, 1, 'the worker');
    is($pulse->{toDecide}, 0, 'nothing to decide');
    like($pulse->{chain}, qr/^(whole|unverified)$/, 'the chain');
    my $overview = data(administrator => '/overview');
    is_deeply([sort keys %$overview],
        [sort qw(needs today days directories workers seats withheld)],
        'all parts');
    is($overview->{workers}{running}, 1, 'a worker runs');
    is($overview->{directories}[0]{directory}, 'onPremises', 'directories as in company');
    is_deeply($overview->{withheld}, [], 'nothing is withheld');
}

sub rights {
    my %pulse = (
        viewer => [qw(directories queue toDecide workersRunning)],
        approver => [qw(toDecide workersRunning)],
        'key-administrator' => [qw(directories workersRunning)],
        auditor => [qw(chain directories queue toDecide workersRunning)]);
    for my $role (sort keys %pulse) {
        is_deeply([sort keys %{ data($role, '/pulse') }], $pulse{$role}, "pulse of $role");
    }
    is_deeply(data(approver => '/overview')->{withheld},
        [qw(today days directories workers seats)], 'what an approver is not shown');
    is_deeply([sort keys %{ data('key-administrator', '/overview') }],
        [qw(directories needs seats withheld workers)], 'nor a key administrator');
    is($as{approver}->get('/overview/trends')->{status}, 403, 'trends are of tasks');
    is($as{nobody}->get('/pulse')->{status}, 403, 'nothing without a role');
}

sub days {
    # All of it on one day: waits, if need be, until that is not about to end or has just begun.
    Idadmin::Test::soon(600, sub { my $clock = stockholm('%H:%M', time);
        $clock gt '00:01' && $clock lt '23:56' });
    my @today = map { hire("Idag$_") } 1, 2;
    $stack->wait_task($_) for @today;
    my $past = hire('Sen');
    $stack->wait_task($past);
    # not begun later: the hour of the figures might have passed
    set($past, 'created_at = started_at - 61000, due_at = started_at - 61000');
    my ($date) = data(administrator => '/overview')->{days}[0]{date};
    my $week = data(administrator => '/overview')->{days}[7]{date};
    my $soon = hire('Snart', date => $week, time => '09:00');
    my $open = hire('Oppen', date => $date, time => '23:59');
    my $overview = data(administrator => '/overview');
    is_deeply([@{ $overview->{today} }{qw(date done late totalCount)}], [$date, 3, 1, 4],
        'what today holds') or diag explain $overview->{today};
    is_deeply([map { $_->{id} } @{ $overview->{today}{open} }], [$open], 'what is open');
    is_deeply([map { $_->{creates} } @{ $overview->{days} }], [4, 0, 0, 0, 0, 0, 0, 1],
        'the next seven days');
    is(scalar @{ $overview->{days} }, 8, 'and today');
    $as{operator}->request('DELETE', '/task', { id => $_ }) for $soon, $open;
    is(data(administrator => '/overview')->{days}[7]{creates}, 0, 'less what is cancelled');
    is(data(administrator => '/overview')->{today}{totalCount}, 3, 'today, too');
}

sub tasks {
    my @ids = map { hire("Behov$_", date => '2031-01-0' . $_) } 1 .. 5;
    my $leaver = $as{operator}->post('/user/offboard', { userPrincipalName => "anna.lind\@$domain",
        date => '2031-02-01' })->{json}{data}{taskId};
    set($ids[$_], "state = 'failed', error = 'refused $_', started_at = 5") for 0 .. 3;
    set($ids[4], "state = 'attention', started_at = 5, error = 'lost'");
    my $failed = need('failed');
    is_deeply([@$failed{qw(severity count since)}], ['warning', 4, '2030-12-31T23:00:00Z'],
        'failed tasks') or diag explain $failed;
    is_deeply([map { $_->{taskId} } @{ $failed->{sample} }], [@ids[0 .. 2]], 'three of them');
    is_deeply([@{ $failed->{sample}[0] }{qw(displayName reason)}], ['Maja Behov1', 'refused 0'],
        'with the reason');
    is(need('attention')->{count}, 1, 'one that needs a look');
    set($leaver, "state = 'attention', error = 'brake'");
    is(need('braked')->{count}, 1, 'one that the brake holds');
    is_deeply(data(viewer => '/pulse')->{queue}, { queued => 0, running => 0, failed => 4,
        attention => 2, braked => 1 }, 'counted by the pulse');
    $stack->worker->stop;
    set($leaver, "state = 'queued', error = NULL, due_at = " . (now() - 1_000_000));
    is(need('offboardingOverdue')->{severity}, 'critical', 'a person should have left');
    is_deeply([@{ need('offboardingOverdue')->{sample}[0] }{qw(begun accountDisabled)}],
        [JSON::PP::false, JSON::PP::false], 'and nothing of it is done');
    set($leaver, "state = 'failed', started_at = 5");
    is(need('offboardingFailed')->{sample}[0]{userPrincipalName}, "anna.lind\@$domain",
        'and has not');
    ok(!need('offboardingFailed')->{sample}[0]{accountDisabled}, 'and may still sign in');
    my $step = "UPDATE task_step SET outcome = 'already' WHERE task_id = '$leaver' AND name = ";
    $stack->sql($step . "'disableAccount'");
    ok(need('offboardingFailed')->{sample}[0]{accountDisabled},
        'unless the account was seen disabled');
    ok(need('offboardingFailed')->{sample}[0]{begun}, 'and a part of it is done');
    is(need('offboardingFailed', 'approver'), undef, 'an approver is not told');
    my @kinds = map { $_->{kind} } grep { $_->{kind} ne 'workerNone' } needs();
    is_deeply(\@kinds, [qw(offboardingFailed failed attention)], 'the worst first');
    set($_, "state = 'cancelled'") for @ids, $leaver;
}

sub company {
    $stack->sql("INSERT INTO worker (id, host, pid, version, threads, started_at, seen_at) VALUES "
        . "('gone', 'there', 1, '1', 1, 1, 1795253400000)");
    my $none = need('workerNone');
    is_deeply([@$none{qw(severity count since)}], ['critical', 1, '2026-11-21T09:30:00Z'],
        'no worker');
    is(data(approver => '/pulse')->{workersRunning}, 0, 'as the pulse says');
    $stack->sql("INSERT INTO directory_state (tenant_id, directory, hold_reason, hold_since, "
        . "hold_until, hold_failures) VALUES ('nordic', 'onPremises', 'It does not answer.', "
        . "1795253400000, 4102444800000, 1) ON CONFLICT (tenant_id, directory) DO UPDATE SET "
        . "hold_reason = 'It does not answer.', hold_since = 1795253400000");
    is_deeply(need('directoryHeld'), { kind => 'directoryHeld', severity => 'critical', count => 1,
        since => '2026-11-21T09:30:00Z', sample => [{ directory => 'onPremises',
        reason => 'It does not answer.' }] }, 'a held directory');
    $stack->sql("UPDATE directory_state SET hold_reason = NULL");
    $stack->sql("UPDATE cache.sync_state SET completed_at = completed_at - 600000");
    is(need('directoryLate')->{severity}, 'warning', 'one that is late');
    $stack->sql("UPDATE cache.sync_state SET error = 'no answer'");
    is(need('syncFailed')->{sample}[0]{reason}, 'no answer', 'whose reading failed');
    $stack->sql("UPDATE cache.sync_state SET error = NULL, stopped = '812 people would go'");
    is(need('syncStopped')->{severity}, 'critical', 'or stopped');
    $stack->sql("UPDATE directory_state SET secret_expires_at = " . (now() + 86_400_000));
    is(need('secretExpiring'), undef, 'an unused certificate is not reported');
    $stack->sql("UPDATE directory_state SET password_expires_at = " . (now() + 86_400_000));
    is_deeply([map { $_->{kind} // $_->{reason} } @{ need('secretExpiring')->{sample} }],
        ['bindPassword'], 'a bind password that ends');
    $stack->sql('UPDATE directory_state SET password_expires_at = 0');
    $stack->worker->expect_log(qr/IDA0604/);
    $stack->create_key(soon => 'soon', 'full', '--expires', do {
        my @t = gmtime(time + 5 * 86400);
        sprintf '%04d-%02d-%02d', $t[5] + 1900, $t[4] + 1, $t[3] });
    is_deeply([need('keyExpiring')->{count}, need('keyExpiring')->{sample}],
        [1, [{ username => 'soon' }]], 'a key that ends');
    is(need('keyExpiring', 'viewer'), undef, 'which a viewer is not told');
    my $used = data(administrator => '/overview')->{seats}{used};
    $stack->apply_tenant($stack->tenant_document(seatLimit => $used + 1));
    is(need('seatsLow')->{severity}, 'warning', 'few seats are left');
    $stack->sql("INSERT INTO audit.verified (tenant_id, verified_at, broken_at, reason) VALUES "
        . "('nordic', 1795253400000, 4711, 'hash differs') ON CONFLICT (tenant_id) DO UPDATE SET "
        . "verified_at = 1795253400000, broken_at = 4711, reason = 'hash differs'");
    is_deeply(need('chainBroken')->{sample}, [{ reason => 'record 4711: hash differs' }],
        'a chain that does not fit together');
    is(data(auditor => '/pulse')->{chain}, 'broken', 'as the pulse says');
    is(need('strays'), undef, 'nothing was put in by hand');
    my $why = 'API key mine: no audit record made it';
    $stack->sql("UPDATE audit.verified SET strays = 2, stray = '$why' WHERE tenant_id = 'nordic'");
    is_deeply([@{ need('strays') }{qw(severity count sample)}],
        ['critical', 2, [{ reason => $why }]], 'what no record made');
    is(need('strays', 'viewer'), undef, 'which a viewer is not told');
}

sub approvals {
    $stack->apply_tenant($stack->tenant_document(accessCatalog => [{ service => 'CRM',
        group => 'CRM admins', approvers => ["eva.berg\@$domain"] }]));
    my $ask = sub { my ($uid) = @_; return $as{operator}->post('/access-request',
        { service => 'CRM', user => "$uid\@$domain" })->{json}{data}{requestId} };
    my $first = $ask->('bo.ek');
    $ask->('david.holm');
    $ask->('eva.berg');
    my %headers = (headers => { 'X-Person' => "eva.berg\@$domain" });
    my ($need) = grep { $_->{kind} eq 'approvals' }
        @{ data(eva => '/overview', %headers)->{needs} };
    is_deeply([$need->{count}, @{ $need->{sample}[0] }{qw(requestId displayName reason)}],
        [2, $first, 'Bo Ek', 'CRM'], 'what this person decides, less their own');
    is(data(eva => '/pulse', %headers)->{toDecide}, 2, 'as the pulse says');
    is(data(administrator => '/pulse')->{toDecide}, 0, 'another person decides nothing');
    my $tag = $as{eva}->get('/overview', {}, %headers)->{headers}{etag};
    like($tag, qr/^W\//, 'a weak tag');
    is($as{eva}->get('/overview', {}, headers => { %{ $headers{headers} },
        'If-None-Match' => $tag })->{status}, 304, 'nothing new');
}

sub trends {
    my $now = now();
    my ($month, $trends);    # of one month
    within(sub { $month = stockholm('%Y-%m', time);
        $trends = data(viewer => '/overview/trends');
        $month eq stockholm('%Y-%m', time) });
    is(scalar @{ $trends->{months} }, 12, 'twelve months');
    my $running = $trends->{months}[11];
    is_deeply([@$running{qw(month hires leavers)}],
        [$month, 3, 0], 'of the running one, so far');
    is($running->{complete}, JSON::PP::false(), 'it is not over');
    is(scalar @{ $trends->{hours} }, 24, 'a day of hours');
    my $begun = 0;
    my ($on_time, $max) = (0, 0);
    for (@{ $trends->{hours} }) {
        $begun += $_->{begun};
        $on_time += $_->{onTime};
        $max = $_->{maxMs} if defined $_->{maxMs} && $_->{maxMs} > $max;
    }
    is_deeply([$begun, int($max / 1000 + 0.5)], [3, 61], 'what began, and how late')
        or diag explain $trends;
    cmp_ok($on_time, '<', 3, 'one was not on time');
    like($trends->{historyFrom}, qr/^20\d\d-/, 'since when there is history');
    $stack->sql("UPDATE task SET state = 'failed'");
    my @again = map { data(viewer => '/overview/trends')->{months}[11]{hires} } 1 .. 12;
    is(scalar(grep { $_ == 3 } @again), 12, 'and is kept for five minutes by each child');
}

for_each_stack {
    ($stack) = @_;
    %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_, company => 'nordic') }
        @Idadmin::Test::Httpd::console_users;
    subtest 'a calm day' => \&calm;
    subtest 'rights' => \&rights;
    subtest 'days' => \&days;
    subtest 'needs of tasks' => \&tasks;
    subtest 'trends' => \&trends;
    subtest 'approvals' => \&approvals;
    subtest 'needs of the company' => \&company;
} httpd => { rate_limits => { person => '100000/60s' }, children => 1,
    console => "    IdAdminConsoleRole approver * \"%{REMOTE_USER} == 'eva'\"\n"
        . "    IdAdminConsolePerson \"%{HTTP:X-Person}\"\n" };

done_testing;
