# idadmin-worker as a program: options, signals, --once, --check, settings that nobody sealed, and what a stop leaves behind.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine json_text json_data wait_until slurp spew tempdir);
use Idadmin::Test::Gate ();
use Idadmin::Test::Stack ();
use IO::Socket::INET ();
use Time::HiRes ();

my $domain = $Idadmin::Test::Slapd::domain;
my $slow = Idadmin::Test::slowness();
my ($stack, $gate);

sub state_of { my ($id) = @_; my ($row) = $stack->sql("SELECT state, attempts, error FROM task WHERE id = '$id'"); return $row }
sub outcomes { my ($task) = @_; return { map { $_->{name} => $_->{outcome} } @{ $task->{steps} } } }
sub queue { my ($first, %more) = @_; return $stack->post('/v1/api/user', { firstname => $first, surname => 'Signal', %more })->{json}{data}{taskId} }

sub options {
    my $worker = $stack->new_worker(start => 0);
    like($worker->run('--version')->{out}, qr/^idadmin-worker \d+\.\d+/, '--version');
    my $help = $worker->run('--help');
    is($help->{exit}, 0, '--help');
    like($help->{out}, qr/--$_\b/, "--help tells of --$_") for qw(config once check store spool seal-key threads stop-timeout smtp-url smtp-from smtp-user smtp-password-file smtp-ca-file log-level version);
    for my $case (['--nonsense', 2, qr/unknown option/], ['--threads', 2, qr/value is wanted/], ['argument', 2, qr/no arguments/], ['--threads=0', 1, qr/threads: must be/],
        ['--stop-timeout=9h', 1, qr/stop_timeout: must be/], ['--store=mysql:x', 1, qr/store/], ['--config=/nonexistent', 1, qr/No such file/]) {
        my $result = $worker->run($case->[0]);
        is($result->{exit}, $case->[1], "$case->[0]: exit $case->[1]");
        like($result->{err}, $case->[2], 'and why');
    }
}

sub ends_when_asked {
    my $worker = $stack->worker;
    ok(wait_until(5, sub { my ($row) = $stack->sql('SELECT count(*) FROM worker'); $row->[0] == 1 }), 'the worker is seen');
    my $start = Time::HiRes::time();
    is($worker->stop('TERM'), 0, 'TERM: exit 0');
    cmp_ok(Time::HiRes::time() - $start, '<', 3 * $slow, 'at once when idle');
    is_deeply([$stack->sql('SELECT count(*) FROM worker')], [[0]], 'and is seen no more');
    $worker->start;
    ok(wait_until(5, sub { my ($row) = $stack->sql('SELECT count(*) FROM worker'); $row->[0] == 1 }), 'started again');
    like($stack->ctl('status')->{out}, qr/STATE.*running/s, 'status: a worker runs');
    is($worker->stop('KILL'), 9, 'killed');
    $stack->sql('UPDATE directory_state SET sync_owner = NULL');    # it may have been in a sync, which others leave alone for a lease
    $stack->sql('UPDATE worker SET seen_at = seen_at - 31000');
    like($stack->ctl('status')->{out}, qr/silent.*No worker runs on this store/s, 'status: it is silent, and what that means');
    $worker->start;
    ok(wait_until(5, sub { $stack->ctl('status')->{out} =~ /running/ }), 'started once more');
    is($worker->stop('INT'), 0, 'INT: exit 0');
}

# A directory that does not answer in the middle of a step: the step in hand may take its time, the process does not take more than its own.
sub ends_in_the_middle {
    my $worker = $stack->new_worker(options => ['--stop-timeout', '24s']);
    $worker->expect_log(qr/IDA0315|IDA0321|IDA0332|IDA0503/);
    $stack->slapd->freeze;
    my $id = queue('Middle');
    ok(wait_until(10, sub { state_of($id)->[0] eq 'running' }), 'a task hangs in its directory');
    my $start = Time::HiRes::time();
    is($worker->stop('TERM'), 0, 'TERM: exit 0');
    my $took = Time::HiRes::time() - $start;
    cmp_ok($took, '<', 24 * $slow + 3, sprintf 'within the stop time (%.1f s)', $took);
    my $row = state_of($id);
    is($row->[0], 'queued', 'the task was given back');
    is($row->[1], 0, 'and no try was counted');
    $stack->slapd->thaw;
    $worker->start;
    is($stack->wait_task($id, seconds => 60)->{state}, 'done', 'the next worker does it');
    is(scalar $stack->slapd->search('(uid=middle.signal*)', base => $Idadmin::Test::Slapd::people), 1, 'once');
    is($worker->stop, 0, 'and ends');
}

# Between two steps: the step in hand is finished and written down, the rest is given back at once, however much stop time is left.
sub ends_between_steps {
    my $worker = $stack->new_worker;
    $worker->expect_log(qr/IDA0321/);
    $gate->hold(step => '(?m)^ADD\\b(?s:.*)^dn: uid=between\\.signal,');
    my $id = queue('Between', manager => "eva.berg\@$domain");
    ok(wait_until(10, sub { $gate->waiting }), 'a task is in its first step');
    $worker->signal('TERM');
    ok($worker->log_has(qr/stopping: /, 5), 'TERM');
    $gate->release(step => 'landed');
    my $start = Time::HiRes::time();
    is($worker->stop, 0, 'exit 0');
    cmp_ok(Time::HiRes::time() - $start, '<', 3 * $slow, 'at once after the step');
    is_deeply([@{ state_of($id) }[0, 1]], ['queued', 0], 'the rest of the task is given back, no try is counted');
    is_deeply([@{ outcomes($stack->task($id)) }{qw(createAccount setManager setPhoto)}], ['done', undef, undef], 'the step in hand was finished and written down');
    $worker->start;
    is(outcomes($stack->wait_task($id))->{setManager}, 'done', 'the next worker goes on there');
    is($worker->stop, 0, 'and ends');
}

# A wall time is a promise: under new zone rules the instant moves, not the wall time.
sub zone_rules_change {
    my $zones = tempdir() . '/zones.' . $stack->engine;
    mkdir $_ or die "$_: $!\n" for $zones, "$zones/Europe";
    spew("$zones/Europe/Stockholm", slurp('/usr/share/zoneinfo/Asia/Tokyo'));
    my $id = queue('Wall', date => '2031-07-01', time => '12:00');
    my $now = queue('Instant', date => '2031-07-01');
    is($stack->task($id)->{scheduledAtUtc}, '2031-07-01T10:00:00Z', 'noon in Stockholm');
    my $worker = $stack->new_worker(env => { TZDIR => $zones });
    ok($worker->log_has(qr/task $id: 2031-07-01 12:00 in Europe\/Stockholm is another instant.*moved by -25200 s/, 10), 'with other rules it is moved, and the log says so');
    is($stack->task($id)->{scheduledAtUtc}, '2031-07-01T03:00:00Z', 'to the noon of those rules');
    is($worker->stop, 0, 'the worker ends');
    $worker = $stack->new_worker;
    ok(wait_until(10, sub { $stack->task($id)->{scheduledAtUtc} eq '2031-07-01T10:00:00Z' }), 'and back');
    is($worker->stop, 0, 'the worker ends');
    $stack->ctl_ok('task', 'cancel', 'nordic', $_) for $id, $now;
}

sub reads_its_configuration_again {
    my $file = tempdir() . '/idadmin.' . $stack->engine . '.conf';
    spew($file, "log_level = info\n");
    chmod 0644, $file;
    my $worker = $stack->new_worker(options => ['--config', $file]);
    ok($worker->log_has(qr/started as/, 5), 'started with a configuration');
    spew($file, "log_level = debug\nthreads = 9\n");
    $worker->expect_log(qr/IDA0331/, qr/IDA0330/);
    $worker->signal('HUP');
    ok($worker->log_has(qr/IDA0331.*restart/, 5), 'HUP: what needs a restart is said');
    ok($worker->log_has(qr/configuration was read again/, 5), 'the rest holds');
    ok($worker->log_has(qr/ debug /, 10), 'debug lines from now on');
    spew($file, "threads = many\n");
    $worker->signal('HUP');
    ok($worker->log_has(qr/IDA0330.*line 1.*threads/, 5), 'a bad file is refused by line');
    ok($worker->running, 'and the worker goes on');
    is($stack->wait_task(queue('Hup'))->{state}, 'done', 'working');
    is($worker->stop, 0, 'and ends');
}

sub once {
    my $worker = $stack->new_worker(start => 0);
    my @ids = map { queue("Once$_") } 1 .. 6;
    my $later = queue('Future', date => '2031-01-01');
    $stack->slapd->add_user('stranger.new', displayName => 'Stranger New');
    my $result = $worker->run('--once');
    is($result->{exit}, 0, '--once: exit 0') or diag($result->{err});
    is_deeply([map { state_of($_)->[0] } @ids], [('done') x @ids], 'everything due is done');
    is(state_of($later)->[0], 'queued', 'and nothing else');
    is($stack->get_user("stranger.new\@$domain")->{status}, 200, 'the directory was synced');
    my $waiting = sub { my ($row) = $stack->sql('SELECT count(*) FROM audit_outbox'); return $row->[0] };
    is($waiting->(), 0, 'the outbox is empty');
    cmp_ok(scalar @{ $stack->ctl('audit', 'list', 'nordic', '--actor', 'worker', '--limit', 200, '--json')->{json} }, '>', 6, 'what was done is in the record');
    $stack->slapd->stop;
    $result = $worker->run('--once');
    is($result->{exit}, 1, '--once with the directory away: exit 1');
    like($result->{err}, qr/IDA0315/, 'and the reason in the log');
    $stack->slapd->start;
    $stack->ctl_ok('task', 'cancel', 'nordic', $later);
}

sub check {
    my $worker = $stack->new_worker(start => 0);
    my $good = $worker->run('--check', 'nordic');
    is($good->{exit}, 0, '--check: exit 0') or diag($good->{out}, $good->{err});
    like($good->{out}, qr/directory onPremises.*All checks passed/s, 'a readable report');
    unlike($good->{out} . $good->{err}, qr/service-Passw0rd/, 'without secrets');
    is($worker->run('--check', 'nobody')->{exit}, 1, 'unknown tenant: exit 1');
    my $document = $stack->tenant_document;
    $document->{directories}{onPremises}{bindPasswordFile} = Idadmin::Test::secret_file("wrong.password." . $stack->engine, "wrong\n");
    $stack->apply_tenant($document);
    my $bad = $worker->run('--check', 'nordic');
    is($bad->{exit}, 1, 'a wrong password: exit 1');
    like($bad->{out}, qr/FAIL/, 'the report says where');
    $stack->apply_tenant($stack->tenant_document);
}

# Whoever can write the store through httpd cannot send the directory's password elsewhere: the changed address is never called.
sub seal {
    my ($document) = map { $_->[0] } $stack->sql("SELECT document FROM tenant WHERE id = 'nordic'");
    my $trap = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5, Proto => 'tcp');
    my $port = $trap->sockport;
    (my $forged = $document) =~ s{ldaps://127\.0\.0\.1:\d+}{ldaps://127.0.0.1:$port} or die "no URL in $document";
    $forged =~ s/'/''/g;
    $stack->sql("UPDATE tenant SET document = '$forged', revision = revision + 1 WHERE id = 'nordic'");
    my $worker = $stack->new_worker;
    $worker->expect_log(qr/IDA0301/, qr/IDA0314/);
    my $id = queue('Forged');
    ok(wait_until(30, sub { (state_of($id)->[2] // '') =~ /not sealed/ }), 'the task waits and says that the settings are not sealed') or diag(explain(state_of($id)));
    is(state_of($id)->[1], 0, 'no try is counted');
    ok($worker->log_has(qr/IDA0301.*nordic/, 5), 'the log tells the administrator');
    $trap->blocking(0);
    ok(!$trap->accept, 'nobody called the forged address');
    $stack->apply_tenant($stack->tenant_document);
    is($stack->wait_task($id, seconds => 30)->{state}, 'done', 'sealed again by tenant apply: done');
    $worker->stop;
}

# A manager who is still to be created: the step waits for the task that makes them.
sub manager_to_come {
    my $worker = $stack->new_worker;
    my $boss = $stack->post('/v1/api/user', { firstname => 'Chief', surname => 'Signal', date => '2031-01-01' })->{json}{data};
    my $id = queue('Report', manager => $boss->{userPrincipalName});
    ok(wait_until(10, sub { (state_of($id)->[2] // '') =~ /Waits for the creation of the manager.*\Q$boss->{taskId}\E/ }), 'the task waits and names the other') or diag(explain(state_of($id)));
    cmp_ok(state_of($id)->[1], '>=', 1, 'tries are counted');
    my @then = (localtime(time - 3600))[5, 4, 3];
    $stack->ctl_ok('task', 'reschedule', 'nordic', $boss->{taskId}, sprintf('%04d-%02d-%02d', $then[0] + 1900, $then[1] + 1, $then[2]), '00:00');
    my $task = $stack->wait_task($id, seconds => 60);
    is(outcomes($task)->{setManager}, 'done', 'then the manager is set');
    like($stack->slapd->user('report.signal')->{manager}[0], qr/^uid=chief\.signal,/, 'in the directory');
    $worker->stop;
}

for_each_engine {
    my ($engine) = @_;
    $gate = Idadmin::Test::Gate->new;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => { $gate->slapd_options });
    options();
    ends_when_asked();
    once();
    check();
    reads_its_configuration_again();
    seal();
    manager_to_come();
    ends_between_steps();
    zone_rules_change();
    ends_in_the_middle();
    $stack->stop;
};

done_testing();
