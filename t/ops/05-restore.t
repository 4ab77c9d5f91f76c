# A backup with work queued, and its return: over a store that went on meanwhile, after the loss of
# everything, and by a program with a newer schema. Queue, audit chain and keys are as they were.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_text run_command slurp spew tempdir within);
use Idadmin::Test::Restore qw(hire lose_everything places refused);
use Idadmin::Test::Stack;

# As the owner of the backup, who is not the test's user.
sub change {
    my ($file, $how) = @_;
    my $text = slurp($file);
    my $before = $text;
    $how->() for $text;
    spew($file, $text);
    return $before;
}

for_each_stack {
    my ($stack) = @_;
    my $engine = $stack->engine;
    my $first  = hire($stack, 'Åsa', 'Öberg');
    is($stack->wait_task($first)->{state}, 'done', 'a person was hired');
    my @running = places();
    my $said    = $stack->ctl_ok('backup', @running, '--with-secrets', '--json');
    cmp_ok($said->{companies}[0]{lastEvent}, '>=', 1, 'a backup beside httpd and worker');
    is_deeply($said->{notCopied}, [], 'with all keys and secrets');
    is($stack->ctl('restore', @running, '--dry-run')->{exit}, 0, 'is whole');
    is((stat $_)[2] & 077, 0, "$_: its owner's alone") for $running[0], glob "$running[0]/*";

    $stack->worker->stop;
    my $later = hire($stack, 'Bo', 'Ek', date => '2031-01-02');
    my $due   = hire($stack, 'Cia', 'Ny');
    my $leave = $stack->delete('/v1/api/user',
        { userPrincipalName => 'eva.berg@' . $stack->domain, time => '00:00' })
        ->{json}{data}{taskId};
    my @backup = places();
    $said = $stack->ctl_ok('backup', @backup, '--json');
    ok((grep { $_->{what} eq 'directories.onPremises.bindPasswordFile' } @{ $said->{notCopied} }),
        'what is not copied without --with-secrets is named');
    refused($stack, ['backup', @backup], qr/nothing in it/, 'a second backup in the same place');

    $stack->worker->start;
    $stack->wait_task($_) for $due, $leave;
    my $since = hire($stack, 'Dan', 'Ask');
    $stack->wait_task($since);
    refused($stack, ['restore', @backup], qr/in use: .*Stop httpd/, 'while programs run');
    delete $stack->{client};
    $stack->httpd->stop;
    $stack->worker->stop;

    # Whatever does not fit is refused before anything is touched.
    my ($copy) = grep { !/manifest/ } glob "$backup[0]/*";
    my $before = change($copy, sub { s/nordic/norden/ });
    refused($stack, ['restore', @backup], qr/not as it was saved/, 'a changed copy');
    spew($copy, $before);
    $before = change("$backup[0]/manifest.json", sub { s/"lastEvent": \d+/"lastEvent": 7777/ });
    refused($stack, ['restore', @backup], qr/not made under the seal key/, 'a changed manifest');
    spew("$backup[0]/manifest.json", $before);
    refused($stack, ['restore', $backup[0], '--keys', $running[2]],
        qr/belong to different|not as it was/, 'keys of another backup')
        if slurp("$running[2]/seal.key") ne slurp("$backup[2]/seal.key");
    # What a row of the second place says is believed of the one that was saved alone.
    my $row = '{"name": "seal.key", "what": "x", "from": "/etc/cron.d/x", "mode": 2541, ';
    for my $how (sub { s/"mode": \d+/"mode": 2541/ }, sub { s{"from": "/}{"from": "} },
        sub { s/"files": \[/"files": [$row"bytes": 0, "sha256": ""},/ }) {
        $before = change("$backup[2]/keys.json", $how);
        refused($stack, ['restore', @backup], qr/keys\.json is not as it was saved/,
            'changed paths and modes');
        spew("$backup[2]/keys.json", $before);
    }
    my $open = tempdir() . "/open-$engine";
    mkdir $open or die $!;
    chmod 0777, $open;
    refused($stack, ['backup', $open, '--keys', tempdir() . '/none'], qr/of this user alone/,
        'a directory that others can write');
    my $dry = $stack->ctl_ok('restore', @backup, '--dry-run', '--json');
    is_deeply([map { $_->{done} } @{ $dry->{files} }], [('is the same') x 3],
        'names each file that it would write');
    is_deeply([map { $_->{taskId} } @{ $dry->{gone} }], [$since], 'says what would be gone');
    is($stack->ctl_ok('task', 'show', 'nordic', $since, '--json')->{task}{state}, 'done',
        'and changes nothing');

    my $restored = $stack->ctl_ok('restore', @backup, '--json');
    is_deeply([map { $_->{taskId} } @{ $restored->{gone} }], [$since], 'names what is gone');
    is_deeply([sort { $a->[0] cmp $b->[0] } map { [@$_{qw(taskId was since)}] }
        @{ $restored->{held} }],
        [[$due, 'queued', 'done'], [$leave, 'queued', 'done']],
        'holds what would run again, with what became of it');
    is($restored->{companies}[0]{held}, 2, 'counted by company');
    ok($restored->{putAside}, 'what was there is kept');

    $stack->worker->start;
    $stack->httpd->start;
    $stack->wait_synced;
    is($stack->task($first)->{state}, 'done',   'what was done is');
    is($stack->task($later)->{state}, 'queued', 'what is to come waits');
    my $held = $stack->task($due);
    is($held->{state}, 'attention', 'what was due is held');
    like($held->{error}, qr/after a restore.* knows it as done/, 'and says why');
    $stack->ctl_ok('task', 'settle', 'nordic', $leave);
    $stack->ctl_ok('task', 'cancel', 'nordic', $due);
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the audit chain is whole');
    is($stack->wait_task(hire($stack, 'Eli', 'Alm'))->{state}, 'done', 'work goes on');
    ok(within(sub { my %seen = map { ($_->{action} // '') => 1 } @{ $stack->records };
        $seen{'store.backup'} && $seen{'store.restore'} && $seen{'task.attention'} }),
        'all of it is in the audit');

    lose_everything($stack);
    $restored = $stack->ctl_ok('restore', @backup, '--json');
    ok(!$restored->{replacedStoreRead}, 'after the loss of everything: nothing is known of it');
    is(scalar @{ $restored->{held} }, 2, 'held are the same');
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole');
    $stack->{worker}->start;
    is($stack->worker->run('--check', 'nordic')->{exit}, 0, 'keys and settings fit');

    wrong_order($stack);
    newer_schema($stack, @backup);
    lose_everything($stack);
    my $secret = "$stack->{base}/bind.password";
    unlink $secret or die $!;
    $restored = $stack->ctl_ok('restore', @running, '--json');
    my ($made) = grep { $_->{file} eq $secret } @{ $restored->{files} };
    is($made->{done}, 'is restored', 'a secret that a document names') or diag json_text($made);
    is((stat $secret)[2] & 07777 & ~0440, 0, 'comes back for reading alone');
} httpd => { server => <<'CONF' };
KeepAliveTimeout 300
<Location "/health">
    SetHandler idadmin-health
    Require local
</Location>
CONF

# What httpd answers: to a read, to a change (one that needs no synchronisation, because the cache
# is made anew), to a balancer.
sub answers {
    my ($stack, $task) = @_;
    my $read   = $stack->get('/v1/api/tasks');    # first, as a read keeps to an idle connection
    my $change = $stack->delete("/v1/api/task?id=$task");
    my $ready  = $stack->httpd->client->request('GET', '/health/ready');
    return ($change, map { $_->{status} } $read, $change, $ready);
}

# An upgrade under a running worker and httpd: refused while the worker is seen; a worker that was
# thought dead sees the new schema before it claims again, httpd before it writes.
sub wrong_order {
    my ($stack) = @_;
    my $next = { program => 'idadminctl-next' };
    my $worker = $stack->worker;
    $worker->expect_log(qr/IDA\d/);    # whatever it would do with the new schema is refused
    $stack->httpd->expect_log(qr/IDA\d/);
    $stack->httpd->start;
    $stack->wait_synced;
    refused($stack, ['schema', 'upgrade', $next], qr/while workers of before run: \S+ \(version/,
        'an upgrade beside a worker');
    $stack->stand_still($worker);
    my $queued = hire($stack, 'Fia', 'Ek') // diag 'the hire was refused';
    my $upgraded;
    ok(within(sub { $stack->sql('UPDATE worker SET seen_at = 0');
        $upgraded = $stack->ctl('schema', 'upgrade', '--json', $next); !$upgraded->{exit} }),
        'one whose worker was not seen for a minute') or diag $upgraded->{err};
    # Over the same connection: the child that serves it has its connection to the store open.
    my ($change, @statuses) = answers($stack, $queued);
    is_deeply(\@statuses, [200, 503, 503], 'httpd of before reads, changes nothing, is not ready');
    like($change->{json}{error}{message}, qr/being upgraded: nothing was changed/, 'and says so');
    ok($stack->httpd->log_gets(qr/IDA0112.* is number \d+ now and this program knows \d+;/),
        'also to its administrator');
    delete $stack->{client};
    $stack->httpd->restart;
    (undef, @statuses) = answers($stack, $queued);
    is_deeply(\@statuses, [503, 503, 503], 'started beside that schema it answers nothing');
    ok($stack->httpd->log_gets(qr/IDA0110.* newer than this program, .*: install the newer/),
        'and logs why');
    my $doctor = $stack->ctl('doctor');
    is($doctor->{exit}, 2, 'the doctor of before has a fault');
    like($doctor->{out}, qr/store: .*newer than this\s+program/s, 'which is that');
    $worker->signal('CONT');
    ok($worker->log_gets(qr/IDA0303 .*number \d+ now and this worker knows \d+: it takes no work/),
        'the worker says that it stops') or diag $worker->log_text;
    delete $stack->{client};
    $stack->httpd->stop;
    is($worker->stop, 0, 'and ends when it is told to');
    my $task = $stack->ctl('task', 'show', 'nordic', $queued, '--json', $next)->{json}{task};
    is($task->{state}, 'queued', 'what was queued is queued');
    is($stack->ctl('audit', 'verify', 'nordic', $next)->{exit}, 0, 'the chain is whole');
    return;
}

# The next version's program upgrades what it restores; this one refuses what that one saves.
sub newer_schema {
    my ($stack, @backup) = @_;
    my $next = { program => 'idadminctl-next' };
    my $restored = $stack->ctl('restore', @backup, '--json', $next);
    is($restored->{exit}, 0, 'restored by the next version') or diag $restored->{err};
    ok((grep {/900-made-up applied/} @{ $restored->{json}{steps} }), 'which upgrades it');
    is(scalar @{ $restored->{json}{held} }, 2, 'and holds the same');
    my @newer = places();
    is($stack->ctl('backup', @newer, $next)->{exit}, 0, 'saved by it');
    refused($stack, ['restore', @newer], qr/newer than this program/, 'a backup of that one');
    return;
}
done_testing();
