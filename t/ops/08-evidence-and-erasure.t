# The evidence about a leaver can be verified, and a person's data is erased from the store without
# breaking the other proofs; a company is paused, and deleted but for its audit log.
use strict;
use warnings;
use utf8;
use Encode ();
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Stack;

my $d = $Idadmin::Test::Slapd::domain;
my ($stack, $upn, $boss);

sub api { my ($path, %arguments) = @_;
    return $stack->get("/v1/api$path?" . join '&',
    map { "$_=" . Idadmin::Test::Stack::_escape(Encode::encode_utf8($arguments{$_})) }
    sort keys %arguments) }
sub evidence { my ($who) = @_; return $stack->ctl('evidence', 'nordic', $who // $upn, '--json') }

# Once the last read is in the log, all before it are.
sub settle {
    my $mark = 'mark' . ++our $marks;
    api('/users', query => $mark);
    ok(within(sub { grep { ($_->{parameters}{query} // '') eq $mark } @{
        $stack->records } }),
        'all is recorded');
    ok(within(sub { !grep { $_->[0] } $stack->sql('SELECT count(*) FROM audit_outbox') }),
        'also what comes by the other way');
}

sub life {
    my $answer = $stack->post('/v1/api/user',
        { firstname => 'Zsófia', surname => 'Quixote-Brandt', jobTitle => 'Quartermaster',
        date => undef, manager => "eva.berg\@$d" },
        headers => { 'Idempotency-Key' => 'hire-1' });
    $upn = $answer->{json}{data}{userPrincipalName};
    is($upn, "zsofia.quixote-brandt\@$d", 'a person with a unique name');
    $stack->wait_task($answer->{json}{data}{taskId});
    $boss = $stack->post('/v1/api/user',
        { firstname => 'Under', surname => 'Ling', manager => $upn });
    $stack->wait_task($boss->{json}{data}{taskId});
    $stack->wait_task($_) for @{
        $stack->ctl_ok('role', 'assign', 'nordic', 'Seller', $upn, '--json')->{taskIds} };
    my $asked = $stack->ctl_ok('request', 'create', 'nordic', 'Finance reports', $upn,
        '--justification', 'Zsófia Quixote-Brandt counts', '--json');
    $stack->wait_task($stack->ctl_ok('request', 'approve', 'nordic', $asked->{requestId}, '--by',
        "eva.berg\@$d", '--json')->{taskIds}[0]);
    my $other = $stack->ctl_ok('request', 'create', 'nordic', 'Finance reports', "sten.vik\@$d",
        '--justification', "as $upn has it", '--json');
    api('/users', query => 'quixote zsofia');
    api('/user/details', user => $upn);
    is($stack->post('/v1/api/user',
        { firstname => 'Zsófia', surname => 'Quixote-Brandt', country => 'x' x 200 })->{status},
        400, 'a refused request with the name');
    is(evidence()->{exit}, 1, 'who was never offboarded has no evidence');
    # The person knows the password, and no policy gives the lock an effect.
    $stack->slapd->modify("dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\n"
        . "changetype: modify\nreplace: pwdLockout\npwdLockout: FALSE\n");
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn('zsofia.quixote-brandt')
        . "\nchangetype: modify\nreplace: userPassword\nuserPassword: Known-to-her-1\n");
    is($stack->slapd->bind_code('zsofia.quixote-brandt', 'Known-to-her-1'), 0, 'she signs in');
    $answer = $stack->delete('/v1/api/user', { userPrincipalName => $upn, time => '00:00' });
    return $stack->wait_task($answer->{json}{data}{taskId});
}

sub proof {
    my ($task) = @_;
    settle();
    my $told = evidence();
    is($told->{exit}, 0, 'evidence') or diag $told->{err};
    my $document = $told->{json};
    ok($document->{complete}, 'complete') or diag explain $document->{notProven};
    my ($leave) = @{ $document->{offboardings} };
    is($leave->{id}, $task->{id}, 'by which task');
    is_deeply([map {"$_->{name} $_->{outcome}"} @{ $leave->{steps} }],
        [map {"$_->{name} $_->{outcome}"} @{ $task->{steps} }], 'what was revoked');
    like((grep { $_->{name} eq 'revokeMemberships' } @{ $leave->{steps} })[0]{detail},
        qr/Sales team/, 'in words');
    is($stack->slapd->bind_code('zsofia.quixote-brandt', 'Known-to-her-1'), 49,
        'the leaver cannot sign in, though the server gives the lock no effect');
    ok($leave->{passwordReplaced}, 'the evidence says that the password was replaced');
    for my $step (grep { $_->{name} =~ /^(?:disableAccount|verify)$/ } @{ $leave->{steps} }) {
        like($step->{detail}, qr/password is an unknown one; the lock alone would not hold/,
            "$step->{name} says what holds");
    }
    for my $step (@{ $leave->{steps} }) {
        my ($row) =
            $stack->sql("SELECT hash FROM audit.record WHERE tenant_id = 'nordic' AND seq = "
            . "$step->{proof}{seq}");
        is($row->[0], $step->{proof}{hash}, "$step->{name}: its record");
    }
    is_deeply([sort map { $_->{action} } @{ $document->{grantsEnded} }],
        ['request.end', 'role.unassign'], 'granted access that ended');
    ok($document->{chain}{whole}, 'the chain was walked');
    ok(!$document->{now}{accountEnabled} && !@{ $document->{now}{memberships} },
        'as the directory is now');
    like($stack->ctl('evidence', 'nordic', $upn)->{out},
        qr/disableAccount\s+done.*whole.*nothing has come back/s, 'for people');

    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::group_dn('CRM admins')
        . "\nchangetype: modify\nadd: member\nmember: "
        . Idadmin::Test::Slapd::user_dn('zsofia.quixote-brandt') . "\n");
    $stack->ctl_ok('sync', 'nordic', '--wait');
    $told = evidence();
    is($told->{exit}, 1, 'what is not proven is no success');
    $document = $told->{json};
    ok(!$document->{complete}, 'the leaver was added to a group again');
    like("@{ $document->{notProven} }", qr/still shows the membership of CRM admins \(direct\)/,
        'and that is said');
    my $seq = $leave->{steps}[0]{proof}{seq};
    my $touch = sub {
        $stack->sql("UPDATE audit.record SET outcome = '$_[0]' WHERE tenant_id = 'nordic' AND seq "
        . "= $seq") };
    $touch->('OK');
    $told = evidence();
    is($told->{exit}, 1, 'a record that was tampered with');
    is($told->{json}{chain}{brokenAt}, $seq, 'breaks the chain there');
    $touch->('ok');
}

sub refused {
    my ($why, $name) = @_;
    my $answer = $stack->ctl('erase', 'nordic', $upn);
    is($answer->{exit}, 1, "$name: refused");
    like($answer->{err}, $why, "$name: what to do");
}

# Every byte of the store, as it is on disk; on PostgreSQL every row of every table.
sub bytes_of_store {
    if ($stack->engine eq 'sqlite') {
        return join '', map { slurp($_) } glob "$stack->{base}/lib/idadmin*.db*";
    }
    my $all = '';
    for my $table ($stack->sql("SELECT table_schema || '.' || table_name FROM "
        . "information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN "
        . "('pg_catalog', 'information_schema')")) {
        $all .= join "\n", map { $_->[0] } $stack->sql("SELECT CAST(x AS TEXT) FROM $table->[0] x");
    }
    return $all;
}

sub found {
    my $bytes = bytes_of_store();
    $bytes = Encode::encode_utf8($bytes) if utf8::is_utf8($bytes);
    return grep { index(lc $bytes, lc Encode::encode_utf8($_)) >= 0 } $upn, 'zsofia', 'Zsófia',
        'quixote', 'Quartermaster';
}

# Every column of text there is, by whether a person's data may come to stand in it. A new one has
# to be added to one of the lists, and to core/governance/erase*.c if it is the first.
my %personal = map { my ($table, @columns) = split; map { ("$table.$_" => 1) } @columns } (
    'access_end user_id', 'access_grant user_id', 'cache.membership_lost user_id',
    'access_request person upn user_id justification approvers decided_by reason',
        'audit_outbox record', 'idempotency key answer', 'reservation address',
    'role_assignment person upn user_id assigned_by who',
    'task person who object_id upn mail display_name employee_id progress warnings error marker '
    . 'username change_by',
    'task_payload payload', 'task_step detail', 'event error body',
    'event_delivery person object_id error',
    'user_lock person', 'workflow_run upn', 'workflow_run_action error',
    'cache.address address owner_id', 'cache.shared_address address owner_id',
    'cache.directory_user id upn upn_key mail display_name name_key given_name surname '
    . 'department department_key search_key job_title company office city country employee_id '
    . 'employee_key aliases '
    . 'street_address postal_code preferred_language company_key title_key manager_id'
        . ' manager_ref addresses dn dn_key anchor stamp digest late', 'cache.entry id',
    'cache.person_stale was id', 'cache.person_index id name_key',
    'cache.person_segment id name_key', 'cache.staging id item sub digest sort',
    'cache.unresolved_member dn_key',
    'audit.record actor actor_key label target target_key endpoint parameters detail address salt '
    . 'correlation personal_hash');
# Words and IDs of the service's own, and what administrators write: tenants, groups, workflows,
# templates, API users. A tenant document that names the person is said to do so.
my %impersonal = map { my ($table, @columns) = split; map { ("$table.$_" => 1) } @columns } (
    'access_end tenant_id directory group_id', 'cache.membership_lost tenant_id directory group_id',
    'access_grant tenant_id directory kind item source source_id name state task_id',
        'access_request tenant_id id service group_name group_id state task_id',
    'access_service tenant_id name group_name approvers',
    'named_account tenant_id accounts proof',
    'api_key tenant_id username key_hash access_level label rate_limit allowed_from created_by'
        . ' scopes',
    'audit_check tenant_id',
    'audit.verified tenant_id hash reason stray',
    'audit_outbox rid tenant_id proof',
    'directory_check tenant_id directory worker lines',
    'directory_state tenant_id directory hold_reason sync_owner',
    'event tenant_id id type task_id proof', 'event_counter tenant_id',
    'event_delivery tenant_id url', 'notification tenant_id url events owner',
    'idempotency tenant_id username method path request_hash location task_id',
    'reservation tenant_id task_id',
    'role_assignment tenant_id template_id task_id',
    'role_template tenant_id id name description groups licenses', 'setting name value',
    'task id tenant_id type state directory wall_date wall_time zone lease_owner label via change'
        . ' released correlation trace',
    'task_membership tenant_id task_id directory group_id group_name retained restored_by'
        . ' refused kind',
    'task_payload tenant_id task_id',
    'task_step tenant_id task_id name outcome workflow account', 'tenant id document seal state',
    'user_lock tenant_id task_id', 'worker id host version fault',
    'workflow tenant_id id name trigger_type actions',
    'workflow_run id tenant_id workflow event_type task_id status',
    'workflow_run_action tenant_id run_id type status', 'cache.address tenant_id directory',
    'cache.shared_address tenant_id directory',
    'cache.counter tenant_id name',
    'cache.directory_group tenant_id directory id name name_key kind description dn dn_key rule '
    . 'stamp digest', 'cache.directory_user tenant_id directory licenses',
    'cache.entry tenant_id directory', 'cache.membership tenant_id', 'cache.people_count tenant_id',
    'cache.person_stale tenant_id directory', 'cache.person_index tenant_id directory',
    'cache.person_segment tenant_id',
    'cache.staging tenant_id directory kind op',
    'cache.sync_state tenant_id directory tokens binding error stopped',
    'cache.unresolved_member tenant_id directory group_id',
    'audit.chain tenant_id hash first_hash key_id head_mac foot_mac', 'audit.chain_key key_id',
    'audit.checkpoint tenant_id hash before signature',
    'audit.record tenant_id rid category outcome action hash key_id next_key marks erased_mac',
    'audit.spool_position spool segment');

# Of the engines given: some tables differ.
sub columns_of_schema {
    my %of = map { ($_ => 1) } 'both', @_;
    my %all;
    for my $file (sort glob src_dir() . '/schema/migrations/*.sql') {
        my ($table, $engine) = ('', 'both');
        for (split /\n/, slurp($file)) {
            $engine = $1 if /^--- (\w+)/;
            next if !$of{$engine};
            $table = $1 if /^CREATE (?:UNLOGGED )?TABLE (\S+)/;
            $all{"$table.$1"}++ if $table && /^ +([a-z_]+) +TEXT\b/;
            $all{"$1.$2"}++ if /^ALTER TABLE (\S+) ADD COLUMN ([a-z_]+) TEXT\b/;
            delete $all{"$1.$2"} if /^ALTER TABLE (\S+) DROP COLUMN ([a-z_]+)/;
            delete @all{ grep {/^\Q$1\E\./} keys %all }
                if $engine eq 'both' && /^DROP TABLE (\S+);/;
        }
    }
    return sort keys %all;
}

sub columns_with_the_person {
    my %columns;
    for (columns_of_schema($stack->engine)) { push @{ $columns{$1} }, $2 if /^(.+)\.(.+)$/ }
    my @queries = map { my $table = $_;
        map {
        "SELECT '$table.$_' WHERE EXISTS (SELECT 1 FROM $table WHERE lower($_) LIKE "
        . "'%quixote%')" } @{ $columns{$table} } } sort keys %columns;
    return map { $_->[0] } $stack->sql(join ' UNION ALL ', @queries);
}

is_deeply([columns_of_schema(qw(sqlite postgresql))], [sort keys %personal, keys %impersonal],
    'each column of text of the schema is judged');

sub erasure {
    refused(qr/directory onPremises still has.*Delete the account.*sync nordic/,
        'while the account is there');
    my $later = $stack->delete('/v1/api/user',
        { userPrincipalName => $upn, date => '2031-01-01' })->{json}{data}{taskId};
    refused(qr/Task \Q$later\E of this person is queued: let it end, or cancel it/,
        'while a task is queued');
    is($stack->call(DELETE => "/v1/api/task?id=$later",
        headers => { 'Idempotency-Key' => "stay-$upn" })->{status}, 200,
        'cancelled under a key that names the person');
    # besides those of the keys that Stack gives to writes
    is_deeply([sort map { $_->[0] }
        $stack->sql("SELECT key FROM idempotency WHERE key NOT LIKE 'client-%'")],
        ['hire-1', "stay-$upn"], 'both answers are kept');
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn('zsofia.quixote-brandt')
        . "\nchangetype: delete\n");
    $stack->ctl_ok('sync', 'nordic', '--wait');
    settle();
    cmp_ok(scalar(my @before = found()), '>=', 4, 'before: found');
    my @columns = columns_with_the_person();
    is_deeply([grep { !$personal{$_} } @columns], [],
        'where the person stands is known as such a place');
    cmp_ok(scalar @columns, '>=', 12, 'and those are many');
    my $whole = $stack->ctl_ok('audit', 'verify', 'nordic', '--json');
    my $outcomes = sub { [map { join ' ',
        map { $_
        // '-' } @$_ } $stack->sql("SELECT seq, at, category, outcome, hash FROM audit.record "
        . "WHERE tenant_id = 'nordic' AND seq <= $whole->{records} ORDER BY seq")] };
    my $chain = $outcomes->();
    my $erased = $stack->ctl('erase', 'nordic', $upn, '--compact', '--json');
    is($erased->{exit}, 0, 'erased') or diag $erased->{err};
    cmp_ok($erased->{json}{$_}, '>', 0, "$_: $erased->{json}{$_}")
        for qw(tasks requests mentions workflowRuns auditRecords);
    like("@{ $erased->{json}{stays} }", qr/directories are not touched.*backups/s,
        'what stays is said');
    is_deeply([columns_with_the_person()], [], 'after: no column has the person');
    is_deeply([found()], [], 'nothing is found in any file or table')
        or diag explain [grep { @{ $_->[1] } }
        map { my $t = $_->[0];
        [$t, [grep {/quixote/i}
        map { join ' ', map { $_ // '' } @$_ } $stack->sql("SELECT * FROM $t")]] }
        map { [$_] } qw(task task_payload task_step access_request role_assignment access_grant
            workflow_run idempotency audit_outbox reservation cache.directory_user cache.address
            audit.record)];
    is_deeply($outcomes->(), $chain,
        'the records are in their places, with their times, categories and outcomes');
    ok($stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{whole}, 'the chain is whole');
    settle();
    my ($record) = grep { ($_->{action} // '') eq 'person.erase' } @{
        $stack->records('--category', 'command') };
    ok($record && !defined $record->{target} && $record->{parameters}{tasks} > 0,
        'the erasure is recorded without saying whose');
    is($stack->task($boss->{json}{data}{taskId})->{steps}[0]{outcome}, 'done',
        'others keep their tasks');
    is($stack->get_user("under.ling\@$d")->{status}, 200, 'and their place in the cache');
    my ($asked) = grep { $_->{requester}{userPrincipalName} eq "sten.vik\@$d" } @{
        $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} };
    is($asked->{justification}, 'as erased has it', 'mentions are taken out of their texts');
    is($stack->ctl_ok('erase', 'nordic', $upn, '--json')->{auditRecords}, 0,
        'once more: nothing is left to erase');
    is(evidence()->{exit}, 1, 'and there is no evidence any more');
}

# Every table with rows of the company.
sub tables_with_rows {
    my @tables = map { $_->[0] } $stack->engine eq 'sqlite'
        ? $stack->sql("SELECT CASE l.schema WHEN 'main' THEN '' ELSE l.schema || '.' END || l.name "
        . "FROM pragma_table_list l JOIN pragma_table_info(l.name, l.schema) i ON i.name = "
        . "'tenant_id' WHERE l.type = 'table'")
        : $stack->sql("SELECT CASE table_schema WHEN 'public' THEN '' ELSE table_schema || '.' END "
        . "|| table_name FROM information_schema.columns WHERE column_name = 'tenant_id' AND "
        . "table_schema IN ('public', 'cache', 'audit')");
    return sort map { $_->[0] } $stack->sql(join ' UNION ALL ',
        map {"SELECT '$_' WHERE EXISTS (SELECT 1 FROM $_ WHERE tenant_id = 'nordic')"} @tables);
}

# The newest record of a command, once it is in the log.
sub command_record {
    my ($action) = @_;
    my @found;
    within(sub { @found = grep { ($_->{action} // '') eq $action } @{
        $stack->records('--category', 'command') } });
    return $found[0];
}

sub paused {
    my $soon = $stack->post('/v1/api/user',
        { firstname => 'Queued', surname => 'Before', date => '2031-01-01' })->{json}{data}{taskId};
    my $told = $stack->ctl_ok('tenant', 'pause', 'nordic', '--reason', 'audit of Friday', '--json');
    is_deeply([@$told{qw(state running)}], ['paused', 0], 'paused');
    $stack->sql("UPDATE task SET due_at = 1, next_at = 1, wall_date = '2026-01-01' "
        . "WHERE id = '$soon'");
    my $hire = { firstname => 'Too', surname => 'Soon' };
    my $answer = $stack->post('/v1/api/user', $hire);
    is($answer->{status}, 503, 'a change is refused');
    is($answer->{json}{error}{code}, 'SERVICE_UNAVAILABLE', 'by the code of what passes');
    like($answer->{json}{error}{message}, qr/company nordic is paused.*again when/, 'in words');
    is($answer->{headers}{'retry-after'}, 300, 'with a time');
    is($stack->post('/v1/api/user?dryRun=true', $hire)->{status}, 503,
        'a dry run says so too');
    is($stack->get_user("under.ling\@$d")->{status}, 200, 'reading goes on');
    my $other = $stack->ctl('role', 'assign', 'nordic', 'Seller', "under.ling\@$d");
    like($other->{err}, qr/paused/, 'a command is refused as well');
    # The worker has looked at the queue since: a synchronisation was asked for later.
    $stack->ctl_ok('sync', 'nordic', '--wait');
    is($stack->task($soon)->{state}, 'queued', 'what is due waits');
    my $health = $stack->ctl('health', '--json');
    my ($reason) = grep { $_->{kind} eq 'paused' } @{ $health->{json}{reasons} };
    is($health->{exit}, 1, 'health tells it');
    like($reason->{text}, qr/paused.*since 20.*audit of Friday/, 'with time and reason');
    like($stack->ctl('status')->{out}, qr/^nordic .* paused$/m, 'status tells it');
    is($stack->ctl_ok('tenant', 'list', '--json')->[0]{state}, 'paused', 'the list tells it');
    is(command_record('tenant.pause')->{detail}, 'audit of Friday', 'so does the audit log');
    $stack->sql("UPDATE tenant SET state = ''");
    is($stack->post('/v1/api/user', $hire)->{status}, 503, 'the sealed document counts, not a row');
    ok(within(sub { ($stack->task($soon)->{error} // '') eq 'The company is paused.' }),
        'the worker puts back what it claimed by such a row');
    $stack->sql("UPDATE tenant SET state = 'paused'");
    my $whole = $stack->ctl_ok('tenant', 'show', 'nordic', '--json');
    delete $whole->{paused};
    my $again = $stack->ctl('tenant', 'apply', '-', '--replace', '--json',
        { stdin => json_text($whole) });
    is($again->{exit}, 0, 'a document that is the whole truth') or diag $again->{err};
    is_deeply($again->{json}{changes}, [], 'leaves the pause');
    like($stack->ctl('tenant', 'pause', 'nordic')->{out}, qr/paused already/, 'paused twice');
    $stack->ctl_ok('tenant', 'resume', 'nordic');
    like($stack->ctl('tenant', 'resume', 'nordic')->{out}, qr/active already/, 'resumed twice');
    $stack->wait_task($soon);
    is($stack->task($soon)->{state}, 'done', 'what waited is done');
    ok(within(sub { $stack->post('/v1/api/user?dryRun=true', $hire)->{status} == 200 }),
        'changes are taken again');
}

sub deleted {
    my $not = sub { my ($why, $name, @more) = @_;
        my $told = $stack->ctl('tenant', 'delete', 'nordic', @more);
        isnt($told->{exit}, 0, "$name: refused");
        like($told->{err}, $why, "$name: what to do");
    };
    $not->(qr/not paused.*tenant pause nordic/, 'while it is served', '--yes', 'nordic');
    $stack->post('/v1/api/user', { firstname => 'Never', surname => 'Come', date => '2031-01-01' });
    $stack->ctl_ok('tenant', 'pause', 'nordic');
    $not->(qr/1 task that is queued.*--discard-open/, 'with a hire queued', '--yes', 'nordic');
    $not->(qr/--yes nordic confirms/, 'without the ID', '--discard-open');
    $not->(qr/--yes nordic confirms/, 'with another one', '--discard-open', '--yes', 'nordi');
    my $would = $stack->ctl_ok(qw(tenant delete nordic --discard-open --dry-run --json));
    cmp_ok($would->{$_}, '>', 0, "$_ would go") for qw(people tasks events requests keys);
    is($stack->get_user("under.ling\@$d")->{status}, 200, 'a dry run deletes nothing');
    $stack->httpd->expect_log(qr/IDA0210/);
    # A task may be on its way when the company ends.
    $stack->worker->expect_log(qr/IDA0314.*no directory onPremises any more/);
    my $done = $stack->ctl('tenant', 'delete', 'nordic', '--discard-open', '--yes', 'nordic');
    is($done->{exit}, 0, 'deleted') or diag $done->{err};
    like($done->{out}, qr/What stays: the audit log.*is deleted/s, 'what goes and stays is said');
    ok(within(sub { $stack->get_user("under.ling\@$d")->{status} == 401 }), 'keys hold no more');
    ok(within(sub { !grep { $_ eq 'audit_outbox' } tables_with_rows() }), 'records are chained');
    my %numbers = map { ($_ => 1) }
        qw(cache.counter cache.people_count cache.person_segment cache.sync_state directory_state
        event_counter);
    ok(!grep({ $_->[0] } $stack->sql('SELECT name_key FROM cache.person_segment')),
        'no name in the index') if $stack->engine eq 'postgresql';
    is_deeply([grep { !/^audit\./ && !$numbers{$_} } tables_with_rows()], [],
        'besides the audit log only numbers are left');
    ok($stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{whole}, 'its chain is whole');
    like(command_record('tenant.delete')->{detail}, qr/"tasks":\d+/,
        'and has the deletion with its figures');
    my $left = $stack->ctl_ok('tenant', 'show', 'nordic', '--json');
    is_deeply([sort keys %$left], [qw(companyId deleted directories name timeZone upnDomain)],
        'of the document little is left');
    is($stack->ctl('key', 'create', 'nordic', 'x', '--access', 'full')->{exit}, 1, 'no new key');
    is($stack->ctl('tenant', 'delete', 'nordic', '--yes', 'nordic')->{exit}, 0, 'may be repeated');
    my $anew = $stack->ctl('tenant', 'apply', '-', '--json',
        { stdin => json_text($stack->tenant_document) });
    is($anew->{exit}, 0, 'a company of this ID may come again') or diag $anew->{err};
    ok($anew->{json}{created}, 'as a new one');
    $stack->ctl_ok('sync', 'nordic', '--wait');
    ok($stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{whole}, 'its audit log goes on');
}

for_each_stack {
    ($stack) = @_;
    my $task;
    subtest 'a life' => sub { $task = life() };
    subtest 'evidence' => sub { proof($task) };
    subtest 'erasure' => \&erasure;
    subtest 'a company that is paused' => \&paused;
    subtest 'the end of a company' => \&deleted;
} slapd => {}, tenant => {
    roleTemplates => [{ name => 'Seller', groups => ['Sales team'] }],
    workflows => [{ name => 'Joiner', trigger => 'userCreate',
    actions => [{ type => 'addToGroup', group => 'All staff' }] },
        { name => 'Leaver', trigger => 'userDelete',
        actions => [{ type => 'unassignRoleTemplates' },
        { type => 'transferReports', to => '{manager}' }] }],
    accessCatalog => [{ service => 'Finance reports', group => 'Finance',
    approvers => ["eva.berg\@$d"] }],
}, one_engine => 'Evidence and commands are the subject. t/unit/governance/erase.c erases on both '
    . 'engines, t/unit/audit/audit.c proves the chain on both.';
done_testing();
