# An attacker who owns the database, without the worker's keys, leaves traces: the verifier names a
# deleted chain, an older chain restored with all its proofs, inserted and changed tasks, keys and
# memberships. Nothing that the service does is named. An administrator can accept a chain that was
# restored from a backup.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack;

my @tables = qw(record chain checkpoint chain_key);
my $changed = 'its hash, what it may, its end or its disabling was changed by hand';
my ($stack, $heads);

sub count { my ($of) = @_; return ($stack->sql("SELECT count(*) FROM $of"))[0][0] }

sub chained { within(sub { !count('audit_outbox') }) or die "records stay in the outbox\n" }

sub verify {
    my ($exit, $what) = @_;
    chained();
    my $result = $stack->ctl('audit', 'verify', 'nordic', '--json');
    is($result->{exit}, $exit, $what) or diag $result->{out}, $result->{err};
    return $result;
}

sub anchor { return (slurp($heads) =~ /^nordic (\d+) (\d+) [0-9a-f]{64}$/m) }

# A request makes the verifier start at once; returns its number.
sub wished {
    my ($company) = @_;
    my $most = $stack->engine eq 'sqlite' ? 'max' : 'greatest';
    my ($wish) = $stack->sql("SELECT COALESCE(max($most(claimed_at, asked, answered)), 0) + 1 FROM"
        . " audit.verified WHERE tenant_id = '$company'");
    $stack->sql("INSERT INTO audit_check (tenant_id, requested_at) VALUES ('$company', $wish->[0]) "
        . "ON CONFLICT (tenant_id) DO UPDATE SET requested_at = excluded.requested_at");
    return $wish->[0];
}

sub looked_at {
    my $company = shift // 'nordic';
    my $wish    = wished($company);
    return within(sub { (($stack->sql("SELECT answered FROM audit.verified WHERE tenant_id = "
        . "'$company'"))[0] // [0])->[0] >= $wish });
}

# In one transaction, because workers write these tables meanwhile.
sub at_once { my (@statements) = @_;
    my $lock = 'LOCK TABLE ' . join ', ', map {"audit.$_"} @tables;
    $stack->sql(join ';', 'BEGIN', $stack->engine eq 'sqlite' ? () : "$lock IN EXCLUSIVE MODE",
        @statements, 'COMMIT') }
sub keep { my ($name) = @_;
    at_once(map {"CREATE TABLE audit.${name}_$_ AS SELECT * FROM audit.$_"} @tables) }
sub put_back { my ($name) = @_;
    at_once(map { ("DELETE FROM audit.$_",
        "INSERT INTO audit.$_ SELECT * FROM audit.${name}_$_") } @tables) }

# Inserts a copy of a row under another name, as an attacker would; with further SQL in the same
# transaction, because a worker may claim a task as soon as its row is there.
sub put_in {
    my ($table, $key, $from, $to, $also, @more) = @_;
    $stack->sql(join ';', 'BEGIN', "CREATE TABLE made AS SELECT * FROM $table WHERE $key = '$from'",
        "UPDATE made SET $key = '$to'$also", "INSERT INTO $table SELECT * FROM made", @more,
        'DROP TABLE made', 'COMMIT');
}

sub take_out { my ($table, $key, $name) = @_;
    $stack->sql("DELETE FROM $table WHERE $key = '$name'") }

sub strays { my ($result) = @_;
    return [map { "$_->{what} $_->{name}: $_->{reason}" } @{ $result->{json}{strays} }] }

sub begun {
    ok(within(sub { -s $heads && anchor() }), 'the verifier makes an anchor beside the audit key');
    is(sprintf('%o', (stat $heads)[2] & 07777), '600', 'for its own user');
    my $result = verify(0, 'what was there before is whole');
    is_deeply(strays($result), [], 'and nothing strays');
    ok($result->{json}{anchor}, 'held against the anchor');
}

# Each way in which a task or a key comes to be has a record that names it.
sub worked {
    my $answer = $stack->post('/v1/api/user', { firstname => 'Åsa', surname => 'Öberg' });
    is($answer->{status}, 200, 'a person is asked for');
    $stack->wait_task($answer->{json}{data}{taskId});
    my $upn = $answer->{json}{data}{userPrincipalName};
    my $change = $stack->call('PATCH', '/v1/api/user',
        json => { userPrincipalName => $upn, department => 'Sales' });
    is($change->{status}, 200, 'and changed') or diag json_text($change->{json});
    $stack->wait_task($change->{json}{data}{taskId});
    $stack->create_key(late => 'late', 'read-only', '--scopes', 'users');
    my $before = verify(0, 'all of it is on record');
    is_deeply(strays($before), [], 'with names');
    is($before->{json}{fromBefore}, 0, 'and each is judged');
    return ($answer->{json}{data}{taskId}, $upn);
}

sub done { my ($answer) = @_;
    is($answer->{status}, 200, 'asked for') or diag $answer->{body};
    my $id = $answer->{json}{data}{taskId};
    is($stack->wait_task($id)->{state}, 'done', 'carried out');
    return $answer->{json}{data} }

sub later { my ($given, %more) = @_;
    my $answer = $stack->post('/v1/api/user', { firstname => $given, surname => 'Later',
        date => '2031-05-02', %more });
    is($answer->{status}, 200, "$given is queued") or diag $answer->{body};
    return $answer->{json}{data} }

# Whatever this service changes has its mark: a rename, an offboarding with memberships that come
# back, tasks that are moved, replaced, cancelled, a role, an erasure with mentions of the person.
sub honest {
    my $leaver = done($stack->post('/v1/api/user',
        { firstname => 'Rut', surname => 'Sand', employeeId => 'N-77' }));
    my $upn = $leaver->{userPrincipalName};
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::group_dn('Sales team')
        . "\nchangetype: modify\nadd: member\nmember: "
        . Idadmin::Test::Slapd::user_dn('rut.sand') . "\n");
    done($stack->call('PATCH', '/v1/api/user',
        json => { userPrincipalName => $upn, surname => 'Sandell', jobTitle => 'Seller' }));
    my $left = done($stack->delete('/v1/api/user', { userPrincipalName => $upn, time => '00:00' }));
    is(count("task_membership WHERE task_id = '$left->{taskId}'"), 1, 'of a group');
    my $back = done($stack->post('/v1/api/user', { firstname => 'Rut', surname => 'Sand',
        employeeId => 'N-77', rehire => 'restore' }));
    is(count("task_membership WHERE restored_by = '$back->{taskId}'"), 1, 'which comes back');
    my $boss = later('Boss');
    my $under = later('Under', manager => $boss->{userPrincipalName}, profilePhoto =>
        Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(9000)));
    my $other = later('Other');
    $stack->ctl_ok('task', 'reschedule', 'nordic', $under->{taskId}, '2031-06-03', '08:00');
    my $leaving = $stack->delete('/v1/api/user', { userPrincipalName => $upn, date =>
        '2031-07-01' });
    $stack->delete('/v1/api/user', { userPrincipalName => $upn, date => '2031-08-01' });
    $stack->ctl_ok('task', 'cancel', 'nordic', $_) for $boss->{taskId}, $other->{taskId},
        $leaving->{json}{data}{taskId};
    $stack->worker->expect_log(qr/IDA0604/);    # it ends soon
    $stack->create_key(spare => 'spare', 'read-only');
    $stack->ctl_ok('key', 'rotate', 'nordic', 'spare', '--new-username', 'later', '--json');
    $stack->ctl_ok('key', 'delete', 'nordic', 'later');
    chained();
    $stack->ctl_ok('erase', 'nordic', $boss->{userPrincipalName});
    unlike(($stack->sql("SELECT payload FROM task_payload WHERE task_id = '$under->{taskId}'"))
        [0][0], qr/boss/, 'an erased person is mentioned nowhere');
    my $result = verify(0, 'changes by the service');
    is_deeply(strays($result), [], 'are none by hand');
    is($result->{json}{fromBefore}, 0, 'and each is judged');
    return ($left->{taskId}, $upn);
}

# What an attacker changes in rows that the service made.
sub changed {
    my ($left, $upn) = @_;
    my $task = later('Target')->{taskId};
    chained();
    $stack->sql("CREATE TABLE kept AS SELECT * FROM task WHERE id = '$task'");
    $stack->ctl_ok('task', 'reschedule', 'nordic', $task, '2031-06-03', '08:00');
    $stack->sql("CREATE TABLE now AS SELECT * FROM task WHERE id = '$task'");
    my $due = 'changed by hand: its due time';
    my $of_task = "WHERE task_id = '$task' AND tenant_id = 'nordic'";
    my $whole = sub { my ($from) = @_; join ', ', map {"$_ = (SELECT $_ FROM $from)"}
        qw(due_at next_at wall_date wall_time) };
    my $planted = 'task_membership (tenant_id, task_id, directory, group_id, group_name, '
        . "revoked_at) VALUES ('nordic', '$left', 'onPremises', 'admins', 'Admins', 1)";
    my @cases = (
        ['another due time', "UPDATE task SET due_at = due_at - 1000 WHERE id = '$task'",
        "UPDATE task SET due_at = due_at + 1000 WHERE id = '$task'", "task $task: $due"],
        ['carried out before it is due', "UPDATE task SET next_at = next_at - 1000 WHERE id ="
            . " '$task'", "UPDATE task SET next_at = next_at + 1000 WHERE id = '$task'",
        "task $task: $due"],
        ['the row as it was before it was moved',
        'UPDATE task SET ' . $whole->('kept') . " WHERE id = '$task'",
        'UPDATE task SET ' . $whole->('now') . " WHERE id = '$task'", "task $task: $due"],
        ['another payload', "UPDATE task_payload SET payload = replace(payload, 'Target', "
            . "'Tarjei') $of_task", 'UPDATE task_payload SET payload = replace(payload, '
            . "'Tarjei', 'Target') $of_task",
        "task $task: changed by hand: its account or payload"],
        ['the account of somebody else', "UPDATE task SET object_id = 'x' || object_id WHERE"
            . " id = '$left'", "UPDATE task SET object_id = substr(object_id, 2) WHERE"
            . " id = '$left'", "task $left: changed by hand: its account or payload"],
        ['a membership for a rehire', "INSERT INTO $planted",
        "DELETE FROM task_membership WHERE group_id = 'admins'",
        "task $left: changed by hand: its memberships"],
        ['another time of one', "UPDATE task_membership SET revoked_at = revoked_at + 1 WHERE"
            . " task_id = '$left'", "UPDATE task_membership SET revoked_at = revoked_at - 1 WHERE"
            . " task_id = '$left'", "task $left: changed by hand: its memberships"],
    );
    for (@cases) {
        my ($what, $do, $undo, $says) = @$_;
        $stack->sql($do);
        is_deeply(strays(verify(1, $what)), [$says], 'is named');
        $stack->sql($undo);
    }
    verify(0, 'all of it taken back');
    $stack->sql('DROP TABLE kept; DROP TABLE now');
    talked_out($task, $upn);
    before_run($upn);
}

# An ID in a text that a caller chose makes no task.
sub talked_out {
    my ($task, $upn) = @_;
    my $forged = $task =~ s/.{4}\z/3333/r;
    put_in(task => id => $task, $forged, ", seat = 0");
    done($stack->call('PATCH', '/v1/api/user', json => { userPrincipalName => $upn,
        jobTitle => $forged }));
    is_deeply(strays(verify(1, 'a task whose ID a caller wrote into a job title')),
        ["task $forged: no audit record queued it"], 'is named');
    take_out(task => id => $forged);
    verify(0, 'taken out again');
}

# A membership that was put in before the run adds its own.
sub before_run {
    my ($upn) = @_;
    my $task = $stack->delete('/v1/api/user', { userPrincipalName => $upn, date => '2031-07-01' })
        ->{json}{data}{taskId};
    $stack->sql("INSERT INTO task_membership (tenant_id, task_id, directory, group_id, group_name)"
        . " VALUES ('nordic', '$task', 'onPremises', 'admins', 'Admins')");
    done($stack->delete('/v1/api/user', { userPrincipalName => $upn, time => '00:00' }));
    like(strays(verify(1, 'a membership that was put in before the run'))->[0],
        qr/^task $task: its memberships were changed by hand before record \d+$/, 'is named');
    ok(looked_at(), 'the verifier looks');
    $stack->worker->expect_log(qr/IDA0423/);
    $stack->ctl_ok('audit', 'accept', 'nordic');
    verify(0, 'until an administrator has seen it');
    used_key();
}

# The key of another user under a name that no record made, which is gone when it is looked for.
sub used_key {
    my %own = %{ $stack->create_key(true => 'true', 'read-only') };
    put_in(api_key => username => 'true', 'ghost', '');
    my $answer = $stack->get('/v1/api/tasks', key => { %own, username => 'ghost' });
    is($answer->{status}, 200, 'a key that was put in is used') or diag $answer->{body};
    take_out(api_key => username => 'ghost');
    ok(within(sub { count("audit.record WHERE actor = 'ghost'") }), 'which is on record');
    is_deeply(strays(verify(1, 'a key that was used and taken out again')),
        ['API key ghost: it was used, and no audit record made it'], 'is named');
    $stack->ctl_ok('audit', 'accept', 'nordic');
    verify(0, 'until an administrator has seen it');
}

sub injected {
    my ($task, $upn) = @_;
    my $forged = $task =~ s/.{4}\z/0000/r;
    put_in(task => id => $task, $forged, '');
    put_in(api_key => username => 'late', 'mine', ", key_hash = '" . 'ab' x 32 . "'");
    my $result = verify(1, 'a task and a key put in');
    is_deeply(strays($result), ['API key mine: no audit record made it',
        "task $forged: no audit record queued it"], 'both are named');
    like($result->{err}, qr/the task $forged of nordic/, 'to people too');
    $stack->sql("UPDATE task SET upn = 'erased', person = 'erased:' || id, who = 'erased:' || id"
        . " WHERE id = '$forged'");
    is(scalar @{ strays(verify(1, 'one that looks erased')) }, 2, 'is named as well');
    ok(looked_at(), 'the verifier looks');
    $stack->worker->log_gets(qr/IDA0423.*API key mine.*\n(?:.*\n)*.*IDA0423.*task $forged/);
    $stack->worker->expect_log(qr/IDA0423/);
    is_deeply([$stack->sql("SELECT strays, stray FROM audit.verified WHERE tenant_id = 'nordic'")],
        [[2, 'API key mine: no audit record made it']], 'and keeps it for the console');
    $stack->sql("UPDATE task SET created_at = 1, finished_at = 0, state = 'attention' WHERE id ="
        . " '$forged'; UPDATE api_key SET created_at = 1 WHERE username = 'mine'");
    is(scalar @{ strays(verify(1, 'those that say they are old')) }, 2,
        'are named: they were not there before');
    take_out(task => id => $forged);
    take_out(api_key => username => 'mine');
    $stack->sql("UPDATE api_key SET access_level = 'full', scopes = NULL WHERE username = 'late'");
    is_deeply(strays(verify(1, 'a key that may more than it was made for')),
        ["API key late: $changed"], 'is named');
    $stack->sql("UPDATE api_key SET access_level = 'read-only', scopes = 'users' WHERE"
        . " username = 'late'");
    verify(0, 'all of it taken back');
    revived();
}

# An expired or disabled key admits again by one change of its row.
sub revived {
    $stack->create_key(ends => 'ends', 'read-only', '--expires', '2031-05-02');
    $stack->ctl_ok('key', 'disable', 'nordic', 'late');
    verify(0, 'a key is disabled');
    my ($row) = $stack->sql("SELECT expires_at FROM api_key WHERE username = 'ends'");
    for (["username = 'ends'", 'expires_at = 0', "expires_at = $row->[0]", 'ends'],
        ["username = 'late'", 'disabled = 0', 'disabled = 1', 'late']) {
        my ($which, $set, $back, $name) = @$_;
        $stack->sql("UPDATE api_key SET $set WHERE $which");
        is_deeply(strays(verify(1, $set)), ["API key $name: $changed"], 'is named');
        $stack->sql("UPDATE api_key SET $back WHERE $which");
    }
    $stack->ctl_ok('key', 'enable', 'nordic', 'late');
    verify(0, 'enabled by the command it is as it was recorded');
}

sub replayed {
    keep('old');
    $stack->create_key(more => 'more', 'read-only');
    chained();
    ok(looked_at(), 'the verifier looks again');
    is(count('audit.verified WHERE strays > 0'), 0, 'which finds nothing any more');
    my ($number) = anchor();
    is($number, count("audit.record WHERE tenant_id = 'nordic'"), 'the anchor follows');
    keep('now');
    put_back('old');
    my $result = verify(1, 'an older chain put back with its proofs');
    like($result->{json}{reason}, qr/record $number was verified on this machine.*older store/,
        'is told by the anchor');
    ok(looked_at(), 'the verifier looks');
    ok(within(sub { $stack->worker->log_has(qr/IDA0415.*nordic/) }), 'and says so');
    $stack->worker->expect_log(qr/IDA0415/);
    is((anchor())[0], $number, 'and holds fast');
    my $accepted = $stack->ctl('audit', 'accept', 'nordic', '--json');
    is($accepted->{exit}, 0, 'an administrator who restored it says so') or diag $accepted->{err};
    is($accepted->{json}{verifiedBefore}, $number, 'against what was verified');
    verify(0, 'then it is the one to go on with');
    is(count("audit.record WHERE action = 'audit.accept' AND tenant_id = 'nordic'"), 3,
        'and that is on record');
}

# A run leaves audit records, also if its row is deleted afterwards. A task that was inserted
# between an acceptance and the verifier's next look does not count as accepted.
sub carried_out {
    my ($task) = @_;
    my $fresh = $task =~ s/.{4}\z/1111/r;
    $stack->worker->stop;
    $stack->ctl_ok('audit', 'accept', 'nordic');
    put_in(task => id => $task, $fresh, ", state = 'queued', finished_at = 0, seat = 0,"
        . " released = 0, marker = NULL, progress = '{}', fence = 0, next_at = 4102444800000",
        "INSERT INTO task_payload SELECT tenant_id, '$fresh', payload, bytes FROM task_payload "
        . "WHERE task_id = '$task'");
    $stack->worker->start;
    ok(looked_at(), 'the verifier looks while the task waits');
    $stack->worker->expect_log(qr/IDA0423/);
    $stack->sql("UPDATE task SET next_at = 0 WHERE id = '$fresh'");
    my $ended = "task WHERE id = '$fresh' AND state IN ('done', 'failed', 'attention')";
    ok(within(sub { count($ended) }),
        'the worker carries out a task that was put in');
    chained();
    $stack->sql("DELETE FROM $_->[0] WHERE $_->[1] = '$fresh'") for (['task_payload', 'task_id'],
        ['event', 'task_id'], ['task_step', 'task_id'], ['reservation', 'task_id'],
        ['workflow_run', 'task_id'], ['task', 'id']);
    is_deeply(strays(verify(1, 'then its row is taken out')),
        ["task $fresh: it was carried out, and no audit record queued it"], 'it is named still');
    ok(looked_at(), 'the verifier looks');
    is(verify(1, 'nor does it get old')->{exit}, 1, 'for good');
    wished('nordic');    # a verifier at work may not undo it
    $stack->ctl_ok('audit', 'accept', 'nordic');
    verify(0, 'until an administrator has seen it');
    ok(looked_at(), 'the verifier looks');
    is(count('audit.verified WHERE strays > 0'), 0, 'which finds nothing any more');
}

# The other company is added and deleted; SQL does it without a trace in its chain.
sub company_deleted {
    $stack->apply_tenant({ %{ $stack->tenant_document }, companyId => 'polar' });
    ok(looked_at('polar') && within(sub { slurp($heads) =~ /^polar \d/m }), 'a second company');
    my ($row) = $stack->sql("SELECT count(*) FROM tenant WHERE id = 'polar'");
    is($row->[0], 1, 'has a row');
    chained();
    $stack->worker->stop;
    $stack->sql('CREATE TABLE polar AS SELECT * FROM tenant WHERE id = \'polar\'');
    $stack->sql("DELETE FROM $_->[0] WHERE $_->[1] = 'polar'") for ['audit_check', 'tenant_id'],
        ['directory_state', 'tenant_id'], ['tenant', 'id'];
    my $named = ['company polar: its chain was verified on this machine, and its row was deleted'];
    is_deeply(strays(verify(1, 'a deleted company')), $named, 'is named with any other');
    is_deeply(strays($stack->ctl('audit', 'verify', 'polar', '--json')), $named, 'and by itself');
    $stack->worker->start;
    ok($stack->worker->log_gets(qr/IDA0423.*company polar/), 'and by the worker');
    $stack->sql('INSERT INTO tenant SELECT * FROM polar; DROP TABLE polar');
    verify(0, 'put back it is not');
}

sub deleted {
    $stack->worker->stop;
    keep('whole');
    $stack->sql(join ';', map {"DELETE FROM audit.$_ WHERE tenant_id = 'nordic'"}
        qw(record chain checkpoint));
    my $result = verify(1, 'a deleted chain');
    like($result->{json}{reason}, qr/the chain was deleted/, 'is told as such');
    put_back('whole');
    $stack->sql("DELETE FROM audit.record WHERE tenant_id = 'nordic' AND seq <= 3; UPDATE"
        . " audit.chain SET first_seq = 3, first_hash = (SELECT hash FROM audit.whole_record WHERE"
        . " tenant_id = 'nordic' AND seq = 3) WHERE tenant_id = 'nordic'");
    like(verify(1, 'records taken out as by retention')->{json}{reason}, qr/not by retention/,
        'are told');
    put_back('whole');
    my $text = slurp($heads);
    spew($heads, $text =~ s/^nordic \d+/nordic x/mr);
    my $damaged = $stack->ctl('audit', 'verify', 'nordic');
    is($damaged->{exit}, 1, 'a damaged anchor');
    like($damaged->{err}, qr/\.heads is damaged in line \d/, 'is named');
    unlink $heads;
    like($stack->ctl('audit', 'verify', 'nordic')->{out}, qr/no anchor on this machine/,
        'a missing one is told');
    is($stack->ctl('audit', 'accept', 'nordic')->{exit}, 1, 'there is nothing to accept');
    put_back('whole');
    unwritable();
}

# The directory of the audit key is not the worker's to write.
sub unwritable {
    my $directory = "$stack->{base}/fixed";
    mkdir $directory or die "$directory: $!\n";
    spew("$directory/audit", slurp($stack->audit_key));
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), "$directory/audit", $directory);
    chmod 0400, "$directory/audit";
    chmod 0500, $directory;
    my $worker = $stack->new_worker(options => ['--audit-key', "$directory/audit"]);
    $worker->expect_log(qr/IDA0424/, qr/IDA0423/);
    ok(looked_at(), 'the chain is verified all the same');
    ok($worker->log_gets(qr{IDA0424.*nordic.*/fixed/audit\.heads cannot be written}),
        'an anchor that cannot be kept is told');
    is($worker->stop, 0, 'ended');
}

for_each_stack {
    ($stack) = @_;
    ($heads) = map {"$_.heads"} glob "$stack->{base}/lib/*.audit";
    begun();
    my @made = worked();
    changed(honest());
    injected(@made);
    replayed();
    carried_out(@made);
    company_deleted();
    deleted();
};
done_testing();
