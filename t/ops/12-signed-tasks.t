# A task that somebody put into the store or changed there without the task key is held and never
# reaches the directory; one that nobody changed is carried out. And what administrators do with a
# held task, an upgrade from before there were keys, a lost and a rotated key.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Stack;

my $stack;
my ($day, $time) = ('2031-05-05', '09:00');

sub hire {
    my ($surname, %more) = @_;
    my $answer = $stack->post('/v1/api/user',
        { firstname => 'Siv', surname => $surname, jobTitle => 'Engineer', %more });
    is($answer->{status}, 200, "$surname is asked for") or diag $answer->{body};
    return $answer->{json}{data}{taskId};
}
sub later { my ($surname) = @_; return hire($surname, date => $day, time => $time) }
sub now_ms { return time() * 1000 }
sub row { my ($what, $id) = @_; return ($stack->sql("SELECT $what FROM task WHERE id = '$id'"))[0] }

# All columns of a task, with some of them as the attacker wants them.
my @columns;
sub copy {
    my ($from, %as) = @_;
    if (!@columns) {
        my @rows = $stack->{postgresql}
            ? $stack->sql("SELECT column_name FROM information_schema.columns WHERE table_name = "
                . "'task' AND table_schema = 'public' ORDER BY ordinal_position")
            : $stack->sql("SELECT name FROM pragma_table_info('task')");
        @columns = map { $_->[0] } @rows;
    }
    my $id = $as{id} =~ s/'//gr;
    $stack->sql(sprintf "INSERT INTO task (%s) SELECT %s FROM task WHERE id = '%s'",
        join(', ', @columns), join(', ', map { $as{$_} // $_ } @columns), $from);
    $stack->sql("INSERT INTO task_payload (task_id, payload) SELECT '$id', payload FROM "
        . "task_payload WHERE task_id = '$from'");
    $stack->sql("INSERT INTO task_step (task_id, position, name, workflow, workflow_position, "
        . "account) SELECT '$id', position, name, workflow, workflow_position, account "
        . "FROM task_step WHERE task_id = '$from'");
    return $id;
}

# Its hour has come, as the service would have it.
sub fall_due { my ($id) = @_; my $now = now_ms() - 1000;
    $stack->sql_signed("UPDATE task SET next_at = $now, due_at = $now, wall_fixed = 0 WHERE id = "
        . "'$id'") }

# The forger makes it due.
sub at_once { my ($id) = @_; my $now = now_ms() - 1000;
    $stack->sql("UPDATE task SET next_at = $now, due_at = $now WHERE id = '$id'") }

sub is_held {
    my ($id, $why, $what) = @_;
    my $task = $stack->wait_task($id, states => ['attention']);
    like($task->{error}, qr/^Held, because this task is not believed: it.*$why/,
        "$what: it is held");
    is_deeply($task->{actions}, ['cancel'], 'and can be cancelled alone');
    ok(!$task->{braked}, 'it is not the brake that holds it');
    $stack->worker->expect_log(qr/IDA0022 tenant \w+: task $id .* is held, not run/);
    is(($stack->sql("SELECT count(*) FROM user_lock WHERE task_id = '$id'"))[0][0], 0,
        'its person is free');
    return $task;
}
sub nobody { my ($uid) = @_; ok(!$stack->slapd->user($uid), "$uid is not in the directory") }

sub forgeries {
    my $real   = later('Model');
    my %as_was = map { $_ => $stack->slapd->user($_) } qw(eva.berg karin.hedlund);
    $stack->worker->stop;

    my %changed = map { $_ => later($_) } qw(Payload Due Early Person Step);
    fall_due($changed{$_}) for qw(Payload Person Step);
    # Who leaves: the account becomes another person's below.
    my $leaver = $stack->call(DELETE => '/v1/api/user', json => { userPrincipalName =>
        'karin.hedlund@nordic.example', date => $day, time => $time })->{json}{data}{taskId};
    fall_due($leaver);
    my %sql = (
        Payload => "UPDATE task_payload SET payload = replace(payload, 'Engineer', 'Director') "
            . "WHERE task_id = '$changed{Payload}'",
        Early  => "UPDATE task SET next_at = 1 WHERE id = '$changed{Early}'",
        Person => "UPDATE task SET upn = 'eve.person\@nordic.example', person = "
            . "'eve.person\@nordic.example' WHERE id = '$changed{Person}'",
        Step => "DELETE FROM task_step WHERE task_id = '$changed{Step}' AND position = 2");
    $stack->sql($sql{$_}) for sort keys %sql;
    at_once($changed{Due});
    $stack->sql("UPDATE task SET object_id = (SELECT id FROM cache.directory_user WHERE upn_key "
        . "= 'eva.berg\@nordic.example') WHERE id = '$leaver'");
    # Rows of the forger's own, made after a real one.
    my $forged = copy($real, id => "'01forged0000000000000000ab'", person => "'eve.forged\@x'",
        upn => "'eve.forged\@nordic.example'", mail => "'eve.forged\@nordic.example'");
    at_once($forged);
    my $bare = copy($real, id => "'01forged0000000000000000bb'", mac => 'NULL');
    at_once($bare);
    my $fine = hire('Untouched');
    $stack->worker->start;
    $stack->wait_task($fine);
    ok($stack->slapd->user('siv.untouched'), 'what nobody touched is carried out');
    is_held($forged, 'changed it in the store by hand or copied', 'a row of their own');
    nobody('eve.forged');
    is_held($bare, 'carries no proof', 'a row without a proof');
    nobody('siv.model');
    is_held($changed{Early}, 'before it is due', 'made to begin early');
    for my $part (qw(Payload Due Person Step)) {
        is_held($changed{$part}, 'changed it', "changed: $part");
    }
    nobody($_) for qw(siv.payload siv.due siv.early siv.person siv.step eve.person);
    is_held($leaver, 'changed it', 'another person in the place of who leaves');
    is_deeply($stack->slapd->user($_), $as_was{$_}, "$_ is as before") for sort keys %as_was;
    return $changed{Due};
}

# Another company's row, under this company's name.
sub copied_from_elsewhere {
    $stack->apply_tenant($stack->tenant_document(companyId => 'acme2', name => 'Acme'));
    my $real = hire('Elsewhere');
    $stack->wait_task($real);
    $stack->worker->stop;
    my $copied = copy($real, id => "'01forged0000000000000000cd'", tenant_id => "'acme2'",
        state => "'queued'", finished_at => 0, started_at => 0);
    $stack->worker->start;
    ok(within(sub { row('state', $copied)->[0] eq 'attention' }), 'a copied row is held');
    like(row('error', $copied)->[0], qr/not believed: its proof does not fit/, 'with the reason');
    $stack->worker->expect_log(qr/IDA0022 tenant acme2: task $copied/);
}

# What was carried out once is not carried out again: its row put back to queued, and its row as it
# was before, proof and all.
sub replayed {
    my $id = later('Twice');
    $stack->worker->stop;
    fall_due($id);
    my ($mac, $signed) = @{ row('mac, signed_at', $id) };
    my $kept = join ', ', map { "$_ = " . quoted($id, $_) } qw(marker progress object_id who);
    $stack->worker->start;
    $stack->wait_task($id);
    ok($stack->slapd->user('siv.twice'), 'done once');
    ok(within(sub { ($stack->sql("SELECT count(*) FROM audit.record WHERE action = "
        . "'task.done' AND target = 'siv.twice\@nordic.example'"))[0][0] }), 'as the audit knows');
    $stack->slapd->delete_entry("uid=siv.twice,$Idadmin::Test::Slapd::people");
    $stack->worker->stop;
    $stack->sql("UPDATE task SET state = 'queued', finished_at = 0 WHERE id = '$id'");
    $stack->worker->start;
    is_held($id, 'changed it', 'done, and put back to queued');
    $stack->worker->stop;
    $stack->sql("UPDATE task SET state = 'queued', finished_at = 0, started_at = 0, error = NULL, "
        . "$kept, mac = '$mac', signed_at = $signed WHERE id = '$id'");
    $stack->sql("UPDATE task_step SET outcome = NULL, detail = NULL, at = 0 WHERE task_id = '$id'");
    $stack->worker->start;
    is_held($id, 'ended after it was signed', 'done, and the whole row put back');
    nobody('siv.twice');
}
sub quoted { my ($id, $column) = @_; my $value = row($column, $id)->[0];
    return defined $value ? "'$value'" : 'NULL' }

# What people may do with a held task.
sub held_task {
    my ($id) = @_;
    for my $verb (['retry'], ['release']) {
        my $result = $stack->ctl('task', @$verb, 'nordic', $id);
        is($result->{exit}, 1, "$verb->[0] is refused");
    }
    my $result = $stack->ctl('task', 'reschedule', 'nordic', $id, '2031-06-01', '10:00');
    is($result->{exit}, 1, 'so is another time');
    $result = $stack->ctl('task', 'release', 'nordic', later('Good'), '--accept');
    like($result->{err}, qr/is not held for want of a proof/, 'nothing to accept of a good one');
    # A worker that has just begun would move it back to the hour that its wall clock says.
    $stack->sql("UPDATE task SET wall_fixed = 0 WHERE id = '$id'");
    $stack->ctl_ok('task', 'release', 'nordic', $id, '--accept');
    $stack->wait_task($id);
    ok($stack->slapd->user('siv.due'), 'accepted at the shell, it is carried out as it stands');
    ok(within(sub { ($stack->sql("SELECT count(*) FROM audit.record WHERE action = "
        . "'task.accept' AND category = 'portal'"))[0][0] }), 'which the audit tells');
}

# A task that was changed by hand cannot be made good by a change that is allowed.
sub not_laundered {
    my $id = later('Laundry');
    $stack->sql("UPDATE task_payload SET payload = replace(payload, 'Engineer', 'Director') WHERE "
        . "task_id = '$id'");
    my $result = $stack->ctl('task', 'reschedule', 'nordic', $id, '2031-06-01', '10:00');
    is($result->{exit}, 1, 'a changed task is not moved');
    like($result->{err}, qr/not believed: its proof does not fit/, 'and why');
    $stack->ctl_ok('task', 'cancel', 'nordic', $id);
    $stack->worker->stop;
    $stack->sql("UPDATE task SET state = 'queued', finished_at = 0, due_at = 1, next_at = 1 WHERE "
        . "id = '$id'");
    $stack->worker->start;
    is_held($id, 'changed it', 'cancelled, and put back');
    nobody('siv.laundry');
}

# From before there were keys; and no second time.
sub upgraded {
    my $key = $stack->task_key;
    my $old = later('Before');
    $_->stop for $stack->worker, $stack->httpd;
    fall_due($old);
    unlink $key or die "$key: $!\n";
    my $result = $stack->ctl('schema', 'upgrade');
    is($result->{exit}, 1, 'a lost key is not replaced unasked');
    like($result->{err}, qr/signed under the task key \w+, and \S+ is not there: copy it/, 'why');
    $stack->sql("DELETE FROM setting WHERE name = 'task_key'");
    $stack->sql('UPDATE task SET mac = NULL, signed_at = 0');
    $stack->ctl_ok('schema', 'upgrade');
    is((stat $key)[2] & 07777, 0400, 'the key is for its owner alone');
    my $late = copy($old, id => "'01forged0000000000000000ef'", mac => 'NULL');
    $stack->sql("DELETE FROM setting WHERE name = 'task_key'");
    $stack->ctl_ok('schema', 'upgrade');
    is(row('mac', $late)->[0], undef, 'what comes without a proof later is not signed by it');
    $_->start for $stack->httpd, $stack->worker;
    $stack->wait_task($old);
    ok($stack->slapd->user('siv.before'), 'a task from before the upgrade is carried out');
    is_held($late, 'carries no proof', 'put in afterwards');
}

sub rotated {
    my $id = later('Rotated');
    my $result = $stack->ctl_ok('task', 'rotate-key', '--json');
    cmp_ok($result->{signed}, '>=', 1, 'open tasks are signed anew');
    my $between = hire('Between');
    $stack->wait_task($between);
    ok($stack->slapd->user('siv.between'), 'queued by an httpd with the older key: carried out');
    my $waits = later('Waits');
    $stack->httpd->graceful;
    $stack->ctl_ok('task', 'rotate-key', '--done');
    is($stack->ctl('task', 'rotate-key', '--done')->{exit}, 1, 'once');
    ok(within(sub {
        $stack->call(PATCH => "/v1/api/task?id=$waits",
            json => { date => '2031-06-02', time => '09:00' }
        )->{status} == 200 }),
        'httpd has the new one');
    fall_due($id);
    $stack->wait_task($id);
    ok($stack->slapd->user('siv.rotated'), 'what was open then is carried out');
}

# httpd without the key queues nothing and says so; it goes on reading.
sub without_key {
    my $key = $stack->task_key;
    rename $key, "$key.away" or die "$key: $!\n";
    $stack->httpd->restart;
    $stack->httpd->expect_log(qr/IDA0216: nothing can be queued or changed until/);
    is($stack->post('/v1/api/user', { firstname => 'Siv', surname => 'Nokey' })->{status}, 503,
        'without the key nothing is queued');
    is($stack->get_user('eva.berg@nordic.example')->{status}, 200, 'reading goes on');
    rename "$key.away", $key or die "$key: $!\n";
    $stack->httpd->restart;
    $stack->wait_task(hire('Again'));
}

# Rows that follow from the sealed document, changed by hand: httpd and idadminctl order by them,
# the worker gives what the document says.
sub forged_catalog {
    my $domain = $stack->domain;
    $stack->apply_tenant($stack->tenant_document(
        roleTemplates => [{ name => 'Crew', groups => ['Sales team'] }],
        accessCatalog => [{ service => 'Tools', group => 'Sales team',
            approvers => ["eva.berg\@$domain"] }]));
    my $failed = sub {
        my ($id, $why, $what) = @_;
        my $task = $stack->wait_task($id, states => ['failed']);
        $stack->worker->expect_log(qr/IDA0317 task $id/);
        like($task->{error}, $why, $what);
        ok(!grep({ $_ eq Idadmin::Test::Slapd::user_dn('karin.hedlund') }
            $stack->slapd->members('CRM admins')), 'nothing was given');
    };
    $stack->sql("UPDATE role_template SET groups = '[\"CRM admins\"]' WHERE name = 'Crew'");
    my $assigned = $stack->ctl_ok('role', 'assign', 'nordic', 'Crew', "karin.hedlund\@$domain",
        '--json');
    $failed->($assigned->{tasks}[0],
        qr/sealed tenant document does not say that the role template Crew grants CRM admins/,
        'a template changed by hand');
    $stack->sql("UPDATE access_service SET group_name = 'CRM admins' WHERE name = 'Tools'");
    my $ask = sub { my ($by) = @_;
        my $asked = $stack->ctl_ok('request', 'create', 'nordic', 'Tools',
            "karin.hedlund\@$domain", '--json');
        return $stack->ctl_ok('request', 'approve', 'nordic', $asked->{id}, '--by',
            "$by\@$domain", '--json')->{taskId};
    };
    $failed->($ask->('eva.berg'),
        qr/sealed tenant document does not say that the service Tools grants CRM admins/,
        'a service changed by hand');
    $stack->sql("DELETE FROM access_request");
    $stack->sql("UPDATE access_service SET group_name = 'Sales team', approvers = "
        . "'[\"rut.sandell\@$domain\"]' WHERE name = 'Tools'");
    $failed->($ask->('rut.sandell'), qr/does not name who approved the request as an approver/,
        'an approver put in by hand');
    # The document itself: a worker that has read the sealed one goes on with that, a new one stops.
    $stack->worker->stop;
    $stack->sql("UPDATE tenant SET document = replace(document, '\"Sales team\"', '\"CRM admins\"')"
        . " WHERE id = 'nordic'");
    $stack->worker->start;
    my $waits = hire('Sealed');
    $stack->worker->expect_log(qr/not sealed by idadminctl/);
    ok(within(sub { ($stack->task($waits)->{error} // '') =~ /not sealed/
        || (($stack->task($waits)->{hold} // {})->{reason} // '') =~ /not sealed/ }),
        'a document changed by hand holds its tasks') or diag json_text($stack->task($waits));
}

for_each_stack {
    ($stack) = @_;
    @columns = ();
    my $due = forgeries();
    copied_from_elsewhere();
    replayed();
    held_task($due);
    not_laundered();
    upgraded();
    rotated();
    without_key();
    forged_catalog();
} worker => { options => ['--threads', 2] },
    one_engine => 'The signature is over values, not over SQL. t/unit/queue/task.c and every '
    . 'program that runs on both engines read signed tasks on both.';
done_testing();
