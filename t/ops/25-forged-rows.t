# SQL as the database's owner cannot change anything that is trusted: no process follows a document
# with a changed member or an older revision; the brake counts audit records; the verifier cannot be
# switched off; no event is signed unless a worker wrote it.
use strict;
use warnings;
use utf8;
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use POSIX qw(strftime);
use Test::More;
use Idadmin::Test qw(json_data json_text within);
use Idadmin::Test::Stack ();
use Idadmin::Test::Webhook ();

my $domain = $Idadmin::Test::Slapd::domain;
my $year_2100 = '4102444800000';
my ($stack, $hook);

sub stored { my ($row) = $stack->sql('SELECT document, seal, revision FROM tenant WHERE id = '
        . "'nordic'"); return @$row }

sub put_back {
    my ($document, $seal, $revision) = @_;
    s/'/''/g for $document;
    $stack->sql("UPDATE tenant SET document = '$document', seal = '$seal', revision = $revision "
        . "WHERE id = 'nordic'");
}

sub queue {
    my ($given) = @_;
    return $stack->post('/v1/api/user', { firstname => $given, surname => 'Row' });
}

sub leave { my ($given) = @_; return $stack->delete('/v1/api/user',
    { userPrincipalName => "$given.row\@$domain", time => '00:00' })->{json}{data}{taskId} }

# A member that only the writer acts on, and one that only the worker does.
sub documents {
    my ($good, $seal, $revision) = stored();
    my %change = (
        domain    => sub { $_[0]{upnDomain} = 'evil.example' },
        seats     => sub { $_[0]{seatLimit} = 9999 },
        retention => sub { $_[0]{retention} = { auditDays => 1, taskHistoryDays => 1 } },
        brake     => sub { delete $_[0]{brake} },
        format    => sub { $_[0]{usernameFormat} = '{surname}' },
    );
    $stack->httpd->expect_log(qr/IDA0150/, qr/IDA0152/);
    $stack->worker->expect_log(qr/IDA0150/, qr/IDA0152/, qr/IDA0314/, qr/IDA0341/, qr/IDA0370/,
        qr/IDA0603/);
    for my $name (sort keys %change) {
        my $document = json_data($good);
        $change{$name}->($document);
        put_back(json_text($document), $seal, $revision + 1);
        my $answer = queue("No$name");
        is($answer->{status}, 503, "$name changed: no write") or diag $answer->{body};
        cmp_ok($answer->{headers}{'retry-after'} // 0, '>', 0, 'to be tried again later');
    }
    is($stack->get_user("nobody\@$domain")->{status}, 404, 'reading goes on');
    ok($stack->httpd->log_gets(qr/IDA0150.*nordic.*tenant apply/), 'httpd\'s log says what to do');
    put_back($good, $seal, $revision);
    my $task = queue('Anna')->{json}{data}{taskId};
    is($stack->wait_task($task)->{state}, 'done', 'the right one is followed');
    $stack->apply_tenant(document(2));
    put_back($good, $seal, $revision);
    my $old = queue('Older');
    is($old->{status}, 503, 'an older one with its good seal, once any process saw a newer')
        or diag $old->{body};
    ok($stack->httpd->log_gets(qr/IDA0152.*nordic/), 'and the log says so');
    $stack->apply_tenant(document(2));
    is($stack->wait_task(queue('Bo')->{json}{data}{taskId})->{state}, 'done',
        'a person accepts the full document');
}

sub document { my ($most) = @_;
    return $stack->tenant_document(brake => { offboardingsPerHour => $most },
        notifications => [{ url => $hook->url('/ok'), secretFile => $hook->secret,
        events => ['task.done'], allowPrivate => JSON::PP::true() }]) }

# A record in the outbox that says that the task has begun; its identity.
sub claims_to_begin {
    my ($task) = @_;
    my ($row) = $stack->sql("SELECT object_id, upn FROM task WHERE id = '$task'");
    my $rid = "start-$task-" . substr sha256_hex($row->[0]), 0, 16;
    my ($old) = $stack->sql("SELECT proof FROM event WHERE tenant_id = 'nordic' LIMIT 1");
    my $record = json_text({ rid => $rid, tenant => 'nordic', category => 'workflow',
        at => time * 1000, actor => 'worker', action => 'task.start', target => $row->[1],
        outcome => 'ok', parameters => json_text({ taskId => $task }) }) =~ s/'/''/gr;
    $stack->sql('INSERT INTO audit_outbox (rid, tenant_id, record, proof) VALUES '
        . "('$rid', 'nordic', '$record', '$old->[0]')");
    return $rid;
}

# Of four offboardings two are carried out, whatever the rows say of those that went before.
sub brake {
    my @tasks = map { queue($_)->{json}{data}{taskId} } qw(Carin David Erik);
    $stack->wait_task($_) for @tasks;
    is($stack->wait_task($_)->{state}, 'done', 'carried out') for map { leave($_) } qw(anna bo);
    $stack->sql("UPDATE task SET started_at = 1, disables = 0, released = 1 WHERE type = "
        . "'userDelete' AND tenant_id = 'nordic'");
    $stack->worker->expect_log(qr/IDA0319/);
    my $held = leave('carin');
    ok(within(sub { $stack->task($held)->{state} eq 'attention' }),
        'the third is held although rows say that none has begun within the hour');
    # As if it had begun long ago, which the brake need not be asked about.
    $stack->worker->stop;
    my $other = leave('david');
    my $update = $stack->call('PATCH', '/v1/api/user', json => { userPrincipalName =>
        "erik.row\@$domain", accountEnabled => JSON::PP::false() })->{json}{data}{taskId};
    $stack->sql("UPDATE task SET started_at = 1, disables = 0, released = 1 WHERE id IN ('$other',"
        . " '$update'); DELETE FROM task_step WHERE task_id = '$update'"
        . " AND name <> 'updateAccount'");
    my @begun = map { claims_to_begin($_) } $other, $update;
    $stack->worker->start;
    ok(within(sub { $stack->task($_)->{state} eq 'attention' }),
        'nor does one begin whose rows and record say that it has begun before') for $other,
        $update;
    $stack->worker->expect_log(qr/IDA0143/, qr/IDA0423/);
    ok($stack->worker->log_gets(qr/IDA0143.*\Q$_\E of nordic was not/), 'an alarm') for @begun;
    my $alarms = sub { $stack->sql("SELECT target, outcome FROM audit.record WHERE category = "
        . "'alarm' ORDER BY target") };
    within(sub { $alarms->() == @begun });    # the line comes before the commit
    is_deeply([$alarms->()], [map { [$_, 'forged'] } sort @begun],
        'which the chain has in its place');
    my $verified = $stack->ctl('audit', 'verify', 'nordic', '--json');
    is($verified->{exit}, 1, 'the verifier');
    is_deeply([sort map { $_->{name} } grep { $_->{what} eq 'audit record' }
        @{ $verified->{json}{strays} }], [sort @begun], 'names them');
    my ($starts) = $stack->sql("SELECT count(*) FROM audit.record WHERE action = 'task.start'");
    is($starts->[0], 2, 'the audit has a record of each beginning');
    $stack->ctl_ok('task', 'release', 'nordic', '--all-braked');
    is($stack->wait_task($_)->{state}, 'done', 'a person releases it') for $held, $other, $update;
    my ($proof) = $stack->sql("SELECT released FROM task WHERE id = '$other'");
    swallowed($proof->[0]);
}

# Records of beginnings that never come to the audit, and the proof of another task's release.
sub swallowed {
    my ($proof) = @_;
    my @tasks = map { queue($_)->{json}{data}{taskId} } qw(Gerd Hugo Ivar Jon);
    $stack->wait_task($_) for @tasks;
    $stack->sql($stack->engine eq 'sqlite'
        ? 'CREATE TRIGGER swallow AFTER INSERT ON audit_outbox WHEN new.rid LIKE \'start-%\' BEGIN '
        . 'DELETE FROM audit_outbox WHERE rid = new.rid; END'
        : 'CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.rid LIKE '
        . '\'start-%\' THEN RETURN NULL; END IF; RETURN new; END $$; CREATE TRIGGER swallow BEFORE '
        . 'INSERT ON audit_outbox FOR EACH ROW EXECUTE FUNCTION swallow()');
    $stack->apply_tenant(document(3));
    is($stack->wait_task(leave($_))->{state}, 'done', 'carried out') for qw(gerd hugo ivar);
    my $held = leave('jon');
    ok(within(sub { $stack->task($held)->{state} eq 'attention' }),
        'a worker counts what it began, whatever becomes of its records');
    $stack->sql("UPDATE task SET state = 'queued', next_at = 0, released = '$proof' WHERE id = "
        . "'$held'");
    ok(within(sub { $stack->task($held)->{state} eq 'attention' }),
        'the proof of another release is none');
    $stack->sql('DROP TRIGGER swallow' . ($stack->engine eq 'sqlite' ? '' : ' ON audit_outbox'));
}

sub verifier {
    ok(within(sub { ($stack->sql('SELECT count(*) FROM audit.verified WHERE verified_at > 0'))[0][0]
        }), 'the chain has been verified');
    $stack->sql("UPDATE audit.verified SET claimed_at = $year_2100, verified_at = $year_2100, "
        . "full_at = $year_2100, verified_to = 100000, hash = ''");
    ok(within(sub { my ($row) = $stack->sql('SELECT count(*) FROM audit.verified WHERE claimed_at '
            . "< $year_2100 AND verified_at < $year_2100 AND full_at < $year_2100 AND verified_to "
            . '< 100000'); $row->[0] }), 'a time to come is due at once, from the beginning');
    $stack->sql("DELETE FROM audit_check");
    $stack->sql("INSERT INTO audit_check (tenant_id, requested_at) VALUES ('nordic', $year_2100)");
    ok(within(sub { ($stack->sql("SELECT count(*) FROM audit.verified WHERE answered = $year_2100 "
        . "AND verified_at < $year_2100"))[0][0] }), 'so is a wish of such a time, once');
}

sub events {
    my $true = queue('Eva')->{json}{data}{taskId};
    ok(within(sub { grep { $_->{json}{task}{id} eq $true } $hook->calls('/ok') }),
        'what a worker said is told');
    my ($row) = $stack->sql("SELECT max(seq) FROM event WHERE tenant_id = 'nordic'");
    my ($from) = $stack->sql("SELECT body, proof FROM event WHERE task_id = '$true'");
    my ($body, $proof) = @$from;
    (my $lie = $body) =~ s/task\.done/task.failed/ or die $body;
    my ($seq, %forged) = ($row->[0] + 1);
    for ([evt_lie => $lie, "'$proof'"], [evt_other => $body, "'$proof'"], [evt_bare => $body,
        'NULL'], [evt_none => undef, 'NULL']) {
        my ($id, $text, $mac) = @$_;
        my $quoted = defined $text ? "'" . $text =~ s/'/''/gr . "'" : 'NULL';
        $stack->sql('INSERT INTO event (tenant_id, seq, id, type, task_id, at, body, proof) VALUES '
            . "('nordic', $seq, '$id', 'task.done', '$true', 1, $quoted, $mac)");
        $stack->sql('INSERT INTO event_delivery (tenant_id, url, seq, person) VALUES (\'nordic\', '
            . "'" . $hook->url('/ok') . "', $seq, 'p$seq')");
        $forged{$id} = $seq++;
    }
    $stack->sql("UPDATE event_counter SET last = $seq WHERE tenant_id = 'nordic'");
    $stack->worker->expect_log(qr/IDA0371/);
    for my $id (sort keys %forged) {
        ok($stack->worker->log_gets(qr/IDA0371.*\Q$id\E.*No worker said/), "$id is given up");
    }
    is_deeply([grep { $forged{ $_->{headers}{'webhook-id'} } } $hook->calls('/ok')], [],
        'and was sent to no receiver');
    my $next = queue('Frida')->{json}{data}{taskId};
    ok(within(sub { grep { $_->{json}{task}{id} eq $next } $hook->calls('/ok') }),
        'what comes behind is told');
    # Those who ask are shown nothing that the task's own row does not say.
    my $open = $stack->post('/v1/api/user',
        { firstname => 'Not', surname => 'Yet', date => strftime('%Y-%m-%d', gmtime(time + 9e6)) })
        ->{json}{data}{taskId};
    my ($last) = $stack->sql("SELECT last FROM event_counter WHERE tenant_id = 'nordic'");
    $seq = $last->[0] + 1;
    $stack->sql('INSERT INTO event (tenant_id, seq, id, type, task_id, at, body, proof) VALUES '
        . "('nordic', $seq, 'evt_early', 'task.done', '$open', 1, NULL, NULL)");
    $stack->sql("UPDATE event_counter SET last = $seq WHERE tenant_id = 'nordic'");
    my @items = @{ $stack->get('/v1/api/events?limit=200')->{json}{data}{items} };
    ok((grep { $_->{task}{id} eq $next } @items), 'GET events: a task that is done');
    is_deeply([grep { $_->{task}{id} eq $open } @items], [], 'and not one whose row says queued');
}

Idadmin::Test::Stack::for_each_stack {
    ($stack) = @_;
    $hook = Idadmin::Test::Webhook->new;
    subtest documents => \&documents;
    subtest brake     => \&brake;
    subtest verifier  => \&verifier;
    subtest events    => \&events;
} worker => { options => ['--threads', 2] };
done_testing();
