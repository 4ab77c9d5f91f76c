# idadmin-worker obeys its options and signals, and work left by a stop is continued. Also: --once,
# --check, and unsealed settings.
use strict;
use warnings;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(on_one_engine json_text json_data run_command within slurp spew tempdir);
use Idadmin::Test::Gate ();
use Idadmin::Test::Stack ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use Socket qw(MSG_DONTWAIT SOCK_DGRAM);

my $domain = $Idadmin::Test::Slapd::domain;
# A stop that waited for its whole stop time would be seen: it is longer than any patience here.
my @patient = ('--stop-timeout', '1h');
my ($stack, $gate);

sub state_of { my ($id) = @_; my ($row) =
    $stack->sql("SELECT state, attempts, error FROM task WHERE id = '$id'"); return $row }
sub outcomes { my ($task) = @_; return { map { $_->{name} => $_->{outcome} } @{ $task->{steps} } } }
sub queue { my ($first, %more) = @_;
    return $stack->post('/v1/api/user',
    { firstname => $first, surname => 'Signal', %more })->{json}{data}{taskId} }

sub options {
    my $worker = $stack->new_worker(start => 0);
    like($worker->run($_)->{out}, qr/^idadmin-worker \d+\.\d+/, $_) for qw(--version -V);
    is($worker->run($_)->{out}, $worker->run('--help')->{out}, $_) for qw(-h help);
    my $help = $worker->run('--help');
    is($help->{exit}, 0, '--help');
    like($help->{out}, qr/--$_\b/, "--help tells of --$_")
        for qw(config once check store spool seal-key audit-key audit-signing-key
        audit-checkpoints audit-syslog threads stop-timeout smtp-url smtp-from
        smtp-user smtp-password-file smtp-ca-file log-level version);
    for my $case (['--nonsense', 2, qr/unknown option/], ['--threads', 2, qr/--threads wants N/],
        ['argument', 2, qr/no arguments/], ['--threads=0', 1, qr/threads: must be/],
        ['--stop-timeout=9h', 1, qr/stop_timeout: must be/], ['--store=mysql:x', 1, qr/store/],
        ['--config=/nonexistent', 1, qr/No such file/]) {
        my $result = $worker->run($case->[0]);
        is($result->{exit}, $case->[1], "$case->[0]: exit $case->[1]");
        like($result->{err}, $case->[2], 'and why');
    }
}

# As systemd hears it: ready, alive, ending.
sub tells_the_service_manager {
    my $path = tempdir() . '/notify';
    unlink $path;
    my $heard = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $path) or die "$path: $!\n";
    chmod 0666, $path;
    my $hear = sub {
        my ($pattern) = @_;
        my $seen = '';
        return within(sub {
            $heard->recv(my $message, 4096, MSG_DONTWAIT);
            $seen = $message if length($message // '');
            $seen =~ $pattern;
        });
    };
    my $worker = $stack->new_worker(env => { NOTIFY_SOCKET => $path, WATCHDOG_USEC => 2_000_000 });
    ok($hear->(qr/\AREADY=1\nSTATUS=\S.*version \d/s), 'ready, and what it is');
    ok($hear->(qr/\AWATCHDOG=1\z/), 'the watchdog is fed') for 1 .. 2;
    $worker->signal('HUP');
    ok($hear->(qr/\AWATCHDOG=1\z/), 'behind a signal too');
    is($worker->stop('TERM'), 0, 'asked to end');
    ok($hear->(qr/\ASTOPPING=1\n/), 'it says that it ends');
}

sub ends_when_asked {
    my $worker = $stack->worker;
    ok(within(sub { my ($row) = $stack->sql('SELECT count(*) FROM worker');
        $row->[0] == 1 }), 'the worker is seen');
    is($worker->stop('TERM'), 0, 'TERM: exit 0, when idle without its stop time');
    is_deeply([$stack->sql('SELECT count(*) FROM worker')], [[0]], 'and is seen no more');
    $worker->start;
    ok(within(sub { my ($row) = $stack->sql('SELECT count(*) FROM worker');
        $row->[0] == 1 }), 'started again');
    like($stack->ctl('status')->{out}, qr/STATE.*running/s, 'status: a worker runs');
    is($worker->stop('KILL'), 9, 'killed');
    # it may have been in a sync, which others leave alone for a lease
    $stack->sql('UPDATE directory_state SET sync_owner = NULL');
    $stack->sql('UPDATE worker SET seen_at = seen_at - 31000');
    like($stack->ctl('status')->{out}, qr/silent.*No worker runs on this store/s,
        'status: it is silent, and what that means');
    $worker->start;
    ok(within(sub { $stack->ctl('status')->{out} =~ /running/ }), 'started once more');
    is($worker->stop('INT'), 0, 'INT: exit 0');
}

# A directory that does not answer in the middle of a step: the step in hand may take its time, the
# process does not take more than its own.
sub ends_in_the_middle {
    my $worker = $stack->new_worker(options => ['--stop-timeout', '24s']);
    $worker->expect_log(qr/IDA0315|IDA0321|IDA0332|IDA0503/);
    $stack->slapd->freeze;
    my $id = queue('Middle');
    ok(within(sub { state_of($id)->[0] eq 'running' }), 'a task hangs in its directory');
    is($worker->stop('TERM'), 0, 'TERM: exit 0, while the directory still says nothing');
    my $row = state_of($id);
    is($row->[0], 'queued', 'the task was given back');
    is($row->[1], 0, 'and no try was counted');
    $stack->slapd->thaw;
    $worker->start;
    is($stack->wait_task($id)->{state}, 'done', 'the next worker does it');
    is(scalar $stack->slapd->search('(uid=middle.signal*)', base => $Idadmin::Test::Slapd::people),
        1, 'once');
    is($worker->stop, 0, 'and ends');
}

# Between two steps: the current step is finished and recorded, the rest is released at once,
# however much stop time is left.
sub ends_between_steps {
    my $worker = $stack->new_worker(options => \@patient);
    $worker->expect_log(qr/IDA0321/);
    $gate->hold(step => '(?m)^ADD\\b(?s:.*)^dn: uid=between\\.signal,');
    my $id = queue('Between', manager => "eva.berg\@$domain");
    ok(within(sub { $gate->waiting }), 'a task is in its first step');
    $worker->signal('TERM');
    ok($worker->log_gets(qr/stopping: /), 'TERM');
    $gate->release(step => 'landed');
    is($worker->stop, 0, 'exit 0 after the step, without its stop time');
    is_deeply([@{ state_of($id) }[0, 1]], ['queued', 0],
        'the rest of the task is given back, no try is counted');
    is_deeply([@{ outcomes($stack->task($id)) }{qw(createAccount setManager setPhoto)}],
        ['done', undef, undef], 'the step in hand was finished and written down');
    $worker->start;
    is(outcomes($stack->wait_task($id))->{setManager}, 'done', 'the next worker goes on there');
    is($worker->stop, 0, 'and ends');
}

# A worker that ends while it reads a directory found nothing wrong with it: the directory's
# reported state does not change.
sub ends_in_a_sync {
    my $error = sub { my ($row) = $stack->sql("SELECT error FROM cache.sync_state WHERE tenant_id "
        . "= 'nordic' AND directory = 'onPremises'"); return $row->[0] };
    is($error->(), undef, 'the directory was read without an error');
    my $worker = $stack->new_worker(options => \@patient);
    $gate->hold(sync => '(?m)^SEARCH\\b(?s:.*)^filter: \(objectClass=inetOrgPerson\)$');
    ok(within(sub { grep { $_ eq 'sync' } $gate->waiting }), 'a sync waits for its directory');
    is($worker->stop('TERM'), 0, 'TERM: exit 0, in the middle of it');
    $gate->release(sync => 'lost');
    is($error->(), undef, 'no error of the directory is written down');
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
    ok($worker->log_gets(qr/task\ $id:\ 2031-07-01\ 12:00\ in\ Europe\/Stockholm\ is\ another
        \ instant.*moved\ by\ -25200\ s/x), 'with other rules it is moved, and the log says so');
    is($stack->task($id)->{scheduledAtUtc}, '2031-07-01T03:00:00Z', 'to the noon of those rules');
    is($worker->stop, 0, 'the worker ends');
    $worker = $stack->new_worker;
    ok(within(sub { $stack->task($id)->{scheduledAtUtc} eq '2031-07-01T10:00:00Z' }),
        'and back');
    is($worker->stop, 0, 'the worker ends');
    $stack->ctl_ok('task', 'cancel', 'nordic', $_) for $id, $now;
}

sub reads_its_configuration_again {
    my $file = tempdir() . '/idadmin.' . $stack->engine . '.conf';
    spew($file, "log_level = info\n");
    chmod 0644, $file;
    my $worker = $stack->new_worker(options => ['--config', $file]);
    ok($worker->log_gets(qr/started as/), 'started with a configuration');
    spew($file, "log_level = debug\nthreads = 9\n");
    $worker->expect_log(qr/IDA0331/, qr/IDA0330/);
    $worker->signal('HUP');
    ok($worker->log_gets(qr/IDA0331.*restart/), 'HUP: what needs a restart is said');
    ok($worker->log_gets(qr/configuration was read again/), 'the rest holds');
    ok($worker->log_gets(qr/ debug /), 'debug lines from now on');
    spew($file, "log_format = json\n");
    $worker->signal('HUP');
    my $line = qr/^\{"time":"[^"]+Z","level":"info","message":"the configuration was read/m;
    ok($worker->log_gets($line), 'lines as JSON');
    spew($file, "threads = many\n");
    $worker->signal('HUP');
    ok($worker->log_gets(qr/IDA0330.*line 1.*threads/), 'a bad file is refused by line');
    ok($worker->running, 'and the worker goes on');
    is($stack->wait_task(queue('Hup'))->{state}, 'done', 'working');
    my $stream = tempdir() . '/stream.' . $stack->engine;
    spew($stream, '');
    run_command(['sh', '-c', 'JOURNAL_STREAM=$(stat -c %d:%i "$1") exec "$2" --once --config '
        . '/dev/null --store sqlite3:/nowhere/x.db 2>>"$1"', 'sh', $stream,
        Idadmin::Test::program('idadmin-worker')]);
    like(slurp($stream), qr/^<3>\d{4}-\S+ error IDA0110 /m, 'priorities for the journal');
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
    my $waiting = sub { my ($row) = $stack->sql('SELECT count(*) FROM audit_outbox');
        return $row->[0] };
    is($waiting->(), 0, 'the outbox is empty');
    cmp_ok(scalar @{ $stack->records('--actor', 'worker') }, '>', 6,
        'what was done is in the record');
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
    $document->{directories}{onPremises}{bindPasswordFile} =
        Idadmin::Test::secret_file("wrong.password." . $stack->engine, "wrong\n");
    $stack->apply_tenant($document);
    my $bad = $worker->run('--check', 'nordic');
    is($bad->{exit}, 1, 'a wrong password: exit 1');
    like($bad->{out}, qr/FAIL/, 'the report says where');
    $stack->apply_tenant($stack->tenant_document);
}

# A password file that can never be read is reported at the start, not when a mail is due; a
# webhook's secret by --check.
sub secrets_at_start {
    my ($name) = ($stack->engine);
    my @mail = ('--smtp-url', 'smtps://mail.nordic.example', '--smtp-from', 'x@nordic.example',
        '--smtp-user', 'x', '--smtp-password-file');
    my $open = Idadmin::Test::secret_file("open.smtp.$name", "secret\n");
    chmod 0644, $open;
    for my $case ([missing => '/nonexistent/smtp', qr/No such file/],
        [open => $open, qr/read by others/],
        [empty => Idadmin::Test::secret_file("empty.smtp.$name", ''), qr/is empty/]) {
        for my $way (['--once'], ['--check', 'nordic']) {
            my $result = $stack->new_worker(start => 0, options => [@mail, $case->[1]])->run(@$way);
            is($result->{exit}, 1, "smtp_password_file $case->[0]: exit 1 (@$way)")
                or diag($result->{out}, $result->{err});
            like($result->{err}, qr/smtp_password_file \Q$case->[1]\E.*$case->[2]/, 'and why');
        }
    }
    my $secret = Idadmin::Test::secret_file("hook.$name", 'whsec_' . 'A' x 44 . "\n");
    $stack->apply_tenant($stack->tenant_document(workflows =>
        [{ name => 'Call', trigger => 'userCreate', active => JSON::PP::false(),
        actions => [{ type => 'callWebhook', url => 'https://x.example',
        secretFile => $secret }] }]));
    my $worker = $stack->new_worker(start => 0);
    is($worker->run('--check', 'nordic')->{exit}, 0, '--check with a good secret')
        or diag(explain($worker->run('--check', 'nordic')));
    spew($secret, "whsec_c2hvcnQ=\n");
    my $bad = $worker->run('--check', 'nordic');
    is($bad->{exit}, 1, '--check with one that can never work: exit 1');
    like($bad->{out},
        qr/FAIL  files of secrets: workflows\[0\]\.actions\[0\]\.secretFile: .*24 to 64/,
        'the report names it');
    $stack->apply_tenant({ companyId => 'nordic', workflows => undef });
}

# An attacker who can write the store through httpd cannot send the directory's password elsewhere:
# the changed address is never called.
sub seal {
    my ($document) = map { $_->[0] } $stack->sql("SELECT document FROM tenant WHERE id = 'nordic'");
    my $trap = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5, Proto => 'tcp');
    my $port = $trap->sockport;
    (my $forged = $document) =~ s{ldaps://127\.0\.0\.1:\d+}{ldaps://127.0.0.1:$port}
        or die "no URL in $document";
    $forged =~ s/'/''/g;
    my $id = queue('Forged');
    $stack->sql("UPDATE tenant SET document = '$forged', revision = revision + 1 WHERE id = "
        . "'nordic'");
    my $worker = $stack->new_worker;
    $worker->expect_log(qr/IDA0150/, qr/IDA0314/, qr/IDA0603/);
    # Of a directory that the synchronisation found first, and holds, the task is not begun: the
    # answer contains the hold's reason.
    ok(within(sub { (state_of($id)->[2] // eval { $stack->task($id)->{error} }
        // '') =~ /not sealed/ }), 'the task waits and says that the settings are not sealed')
        or diag(explain(state_of($id)));
    is(state_of($id)->[1], 0, 'no try is counted');
    ok($worker->log_gets(qr/IDA0150.*nordic/), 'the log tells the administrator');
    $trap->blocking(0);
    ok(!$trap->accept, 'the forged address was not called');
    $stack->apply_tenant($stack->tenant_document);
    is($stack->wait_task($id)->{state}, 'done',
        'sealed again by tenant apply: done');
    $worker->stop;
}

# A worker with another seal key keeps its hands off; the directory is not held for the other one.
sub another_key {
    my $file = Idadmin::Test::secret_file(Idadmin::Test::tempdir() . '/another.key',
        'ab' x 32 . "\n");
    my $good  = $stack->new_worker;
    my $other = $stack->new_worker(seal_key => $file,
        options => ['--audit-key', $stack->audit_key]);
    $other->expect_log(qr/IDA0302/);
    ok($other->log_gets(qr/IDA0302.*takes no work/), 'the log says so');
    my @faults;
    within(sub { @faults = grep { defined } map { $_->{fault} } @{ $stack->ctl_ok('status',
        '--json')->{workers} } });
    is(scalar @faults, 1, 'of one worker');
    like($faults[0], qr/seal key/, 'status says so');
    is($stack->wait_task(queue("Key$_"))->{state}, 'done', 'the other worker carries out')
        for 1 .. 4;
    my ($held) = $stack->sql('SELECT count(*) FROM directory_state WHERE hold_reason IS NOT NULL');
    is($held->[0], 0, 'no directory is held');
    $_->stop for $good, $other;
}

sub stored {
    my ($row) = $stack->sql("SELECT document, seal, revision FROM tenant WHERE id = 'nordic'");
    return $row }

sub put_back {
    my ($document, $seal, $revision) = @_;
    s/'/''/g for $document;
    $stack->sql("UPDATE tenant SET document = '$document', seal = '$seal', revision = $revision "
        . "WHERE id = 'nordic'");
}

sub apply { return $stack->ctl('tenant', 'apply', '-', { stdin => json_text($_[0]) }) }

# A forged address is not sealed with the rest of the document when an administrator applies a
# harmless one over it.
sub laundering {
    my ($good, $seal, $revision) = @{ stored() };
    (my $forged = $good) =~ s{ldaps://127\.0\.0\.1:\d+}{ldaps://evil.example:636}
        or die "no URL in $good";
    put_back($forged, $seal, $revision + 1);
    my $harmless = apply({ companyId => 'nordic', seatLimit => 77 });
    is($harmless->{exit}, 1, 'a harmless document over a forged one is refused')
        or diag($harmless->{out});
    like($harmless->{err}, qr/not sealed.*apply the full document.*directories/,
        'with the reason and what to do');
    is_deeply(stored(), [$forged, $seal, $revision + 1], 'nothing was changed');

    my $full = $stack->ctl('tenant', 'apply', '-', '--json',
        { stdin => json_text($stack->tenant_document) });
    is($full->{exit}, 0, 'the full document is taken') or diag($full->{err});
    my %told = map { $_->{member} => [$_->{before}, $_->{after}] } @{ $full->{json}{changes} };
    my $wanted = $stack->tenant_document->{directories}{onPremises};
    is_deeply($told{'directories.onPremises.urls'}, [['ldaps://evil.example:636'], $wanted->{urls}],
        'the forged member is shown with the right one');
    is_deeply([grep { !$told{"directories.onPremises.$_"} } sort keys %$wanted], [],
        'and every other one of the directory');
    is_deeply($told{'directories.onPremises.bindDn'}, [($wanted->{bindDn}) x 2],
        'as it was and as it is');
    like($full->{json}{notTakenOver}, qr/not sealed/, 'and why');
    cmp_ok(stored()->[2], '>', $revision + 1, 'under a new revision');
    ok(!$stack->ctl('tenant', 'show', 'nordic')->{json}{seatLimit},
        'without anything of the document before');
    is(apply({ companyId => 'nordic', seatLimit => 77 })->{exit}, 0,
        'then a document of some members is taken again');
    put_back($forged, $seal, $revision + 1);
    like(apply($stack->tenant_document)->{out},
        qr/^\ \ directories\.onPremises\.urls:\ \["ldaps:\/\/evil\.example:636"\]\ ->\ .*^\ 
            \ directories\.onPremises\.userBase:\ .*\ \(the\ same\)$/msx, 'people read it too');
}

# An old document with its valid seal, restored by an attacker or from a backup, is not served again
# until a person has looked.
sub replay {
    my @old = @{ stored() };
    is(apply({ companyId => 'nordic', seatLimit => 78 })->{exit}, 0, 'a newer document');
    my ($worker, $id) = ($stack->new_worker, queue('Newer'));
    $stack->wait_task($id);
    $worker->stop;
    $id = queue('Replayed');
    put_back(@old);
    $worker->start;
    $worker->expect_log(qr/IDA0152/, qr/IDA0314/, qr/IDA0603/);
    ok(within(sub { ($stack->task($id)->{error} // q()) =~ /older \(revision $old[2]\)/ }),
        'the old one is not served, and the task says why') or diag(explain(state_of($id)));
    ok($worker->log_gets(qr/IDA0152.*nordic.*older/), 'so does the log');
    like($worker->run('--check', 'nordic')->{out}, qr/FAIL.*older/, '--check too');
    my $harmless = apply({ companyId => 'nordic', name => 'Nordic' });
    is($harmless->{exit}, 1, 'nothing is laid over it');
    like($harmless->{err}, qr/older.*full document/, 'with the reason');
    is(apply($stack->tenant_document)->{exit}, 0, 'a person accepts it by the full document');
    is($stack->wait_task($id)->{state}, 'done', 'and work goes on');
    $worker->stop;
}

# Each node keeps the newest revision that it has seen; schema upgrade notes what is sealed.
sub newest_seen {
    my $key = "$stack->{base}/lib/" . ($stack->engine eq 'sqlite' ? 'idadmin.key' : 'seal.key');
    my @older = @{ stored() };
    is(apply({ companyId => 'nordic', seatLimit => 79 })->{exit}, 0, 'a newer document');
    my @now = @{ stored() };
    unlink "$key.revisions" or die $!;
    $stack->ctl_ok('schema', 'upgrade');
    is_deeply(json_data(slurp("$key.revisions")), { nordic => $now[2] },
        'the node knows the newest');
    put_back(@older);
    $stack->ctl_ok('schema', 'upgrade');
    is(stored()->[2], $older[2], 'an older one stays as it is');
    is_deeply(json_data(slurp("$key.revisions")), { nordic => $now[2] }, 'and is not the newest');
    put_back(@now);
    if ($stack->engine ne 'sqlite') {    # whose files lie in the same directory
        unlink "$key.revisions";
        chmod 0550, "$stack->{base}/lib" or die $!;
        my $blind = $stack->new_worker(start => 0)->run('--check', 'nordic');
        chmod 0750, "$stack->{base}/lib" or die $!;
        is($blind->{exit}, 1, 'a node that cannot keep what it has seen serves nothing');
        like($blind->{out},
            qr/FAIL.*seal\ revisions\ \Q$key\E\.revisions\ cannot\ be\ written.*directory\ must
                \ be\ writable/x, 'and says what it needs');
    }
    $stack->apply_tenant($stack->tenant_document(seatLimit => undef));
}

# A manager whose creation is due and not done: the step waits for the task that makes them.
sub manager_to_come {
    my $worker = $stack->new_worker;
    my $boss = $stack->post('/v1/api/user',
        { firstname => 'Chief', surname => 'Signal', date => '2031-01-01' })->{json}{data};
    my $id = queue('Report', manager => $boss->{userPrincipalName});
    my $task = $stack->wait_task($id);
    my ($later) = "@{ $task->{warnings} }" =~ /task (\S+) sets it then/;
    ok($later, 'a manager of a later day is set by a task of that day')
        or diag explain $task;
    my @then = (localtime(time - 3600))[5, 4, 3];
    my @date = (sprintf('%04d-%02d-%02d', $then[0] + 1900, $then[1] + 1, $then[2]), '00:00');
    # Held by its own fault: due, and not done. The worker leaves the instant as it is.
    $stack->sql("UPDATE task SET due_at = 1, wall_fixed = 0 WHERE id = '$boss->{taskId}'");
    $stack->ctl_ok('task', 'reschedule', 'nordic', $later, @date);
    ok(within(sub { (state_of($later)->[2]
        // '') =~ /Waits for the creation of the manager.*\Q$boss->{taskId}\E/ }),
        'one that is due is waited for, and named') or diag(explain(state_of($later)));
    cmp_ok(state_of($later)->[1], '>=', 1, 'tries are counted');
    $stack->ctl_ok('task', 'reschedule', 'nordic', $boss->{taskId}, @date);
    $task = $stack->wait_task($later);
    is(outcomes($task)->{setManager}, 'done', 'then the manager is set');
    like($stack->slapd->user('report.signal')->{manager}[0], qr/^uid=chief\.signal,/,
        'in the directory');
    $worker->stop;
}

on_one_engine {
    my ($engine) = @_;
    $gate = Idadmin::Test::Gate->new;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => { $gate->slapd_options },
        worker => { options => \@patient });
    options();
    ends_when_asked();
    tells_the_service_manager();
    once();
    check();
    reads_its_configuration_again();
    secrets_at_start();
    seal();
    another_key();
    laundering();
    replay();
    newest_seen();
    manager_to_come();
    ends_between_steps();
    zone_rules_change();
    ends_in_a_sync();
    ends_in_the_middle();
    $stack->stop;
} 'Signals and settings are the subject. Tasks given back and claimed again are proved on both '
    . 'engines by t/unit/queue/claim.c, sealed documents by t/unit/store/tenant.c.';

done_testing();
