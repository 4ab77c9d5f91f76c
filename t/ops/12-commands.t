# Each operation that idadminctl offers is in the help, answers with --json like REST or the console
# to the same question, prints it as text, names a wrong option or argument, and writes one audit
# record for each change.
use strict;
use warnings;
use utf8;
use JSON::PP ();
use Storable ();
use Test::More;
use Idadmin::Test qw(json_data json_text slurp spew tempdir within);
use Idadmin::Test::Slapd ();
use Idadmin::Test::Console ();
use Idadmin::Test::Stack qw(for_each_stack);
use Idadmin::Test::Workflows qw(act workflow);

my $domain = $Idadmin::Test::Slapd::domain;
my ($stack, $console, %seen);

sub upn { return "$_[0]\@$domain" }

# idadminctl NOUN VERB ID ...; the help's name of it is noted.
sub ctl {
    my ($command, @more) = @_;
    $seen{$command}++;
    return $stack->ctl(split(/ /, $command), 'nordic', @more);
}

sub done {
    my ($command, @more) = @_;
    my $result = ctl($command, @more);
    is($result->{exit}, 0, "$command: exit 0") or diag("$result->{out}$result->{err}");
    is($result->{err}, '', "$command: nothing beside the answer");
    return $result;
}

# Without what differs by the moment and by the cursor's own salt.
sub timeless {
    my ($data) = @_;
    my %rest = %{ $data // {} };
    $rest{nextCursor} = defined $rest{nextCursor};
    delete @rest{qw(asOf)};
    return \%rest;
}

my $rest = sub { my ($path, %query) = @_;
    return $stack->get("/v1/api$path?" . join('&', map { "$_="
        . Idadmin::Test::Stack::_escape($query{$_}) } sort keys %query))->{json}{data} };
my $page = sub { my ($path, %query) = @_; return $console->data($path, \%query) };

# The command's answer is that of the other door, and people see some of it.
sub same {
    my ($command, $arguments, $door, $path, $query, $shown) = @_;
    my ($mine, $theirs);
    within(sub {
        $mine   = timeless(ctl($command, @$arguments, '--json')->{json});
        $theirs = timeless($door->($path, %$query));
        return json_text($mine) eq json_text($theirs);
    });
    is_deeply($mine, $theirs, "$command @$arguments: as $path answers");
    like(done($command, @$arguments)->{out}, $shown, "$command: for people");
    return $mine;
}

sub happen {
    my $yes = JSON::PP::true;
    $stack->wait_task($stack->post('/v1/api/user',
        { firstname => $_, surname => 'Öberg' })->{json}{data}{taskId}) for 'Åsa', 'Ulf';
    my $later = $stack->post('/v1/api/user', { firstname => 'Late', surname => 'Comer',
        date => '2031-01-02' })->{json}{data}{taskId};
    my $asked = done('request create', 'CRM', upn('bo.ek'), '--justification', 'for work',
        '--json')->{json};
    like($asked->{message}, qr/^bo\.ek\@\S+ has asked for CRM/, 'request create');
    my $given = done('role assign', 'Seller', upn('bo.ek'), '--json')->{json};
    $stack->wait_task($_) for @{ $given->{taskIds} };
    is($stack->task($given->{taskIds}[0])->{requestedBy}{via}, 'command', 'the task says whence');
    return ($later, $asked->{requestId});
}

sub people {
    my $found = same('user search', ['ann', '--department', 'Sales'], $rest, '/users',
        { query => 'ann', department => 'Sales' }, qr/^USER  .*\nanna\.lind\@/);
    is($found->{totalCount}, scalar @{ $found->{items} }, 'all of them');
    same('user search', ['--limit', 2, '--manager', upn('eva.berg')], $rest, '/users',
        { limit => 2, manager => upn('eva.berg') }, qr/^2 of \d+; --cursor \S+ goes on, --all/m);
    my $all = done('user search', '--all', '--limit', 7, '--json')->{json};
    is(scalar @{ $all->{items} }, $all->{totalCount}, '--all goes on to the end');
    is($all->{nextCursor}, undef, 'and says that it is there');
    is(scalar keys %{ { map { $_->{id} => 1 } @{ $all->{items} } } }, $all->{totalCount},
        'with everybody once');
    same('user show', [upn('ANNA.lind')], $rest, '/user/details', { user => upn('anna.lind') },
        qr/^User +anna\.lind\@.*^Manager +eva\.berg\@.*^As of +20/ms);
    same('user access', [upn('anna.lind')], $rest, '/user/access', { user => upn('anna.lind') },
        qr/^RESOURCE +SOURCE.*^Sales team +direct/ms);
}

sub groups {
    same('group list', ['sales'], $page, '/groups', { query => 'sales' },
        qr/^NAME +KIND.*^Sales team +security/ms);
    same('group show', ['Sales team'], $rest, '/resource/access',
        { resource => 'Sales team', limit => 1 }, qr/^Name +Sales team\n.*^Member count +\d+/ms);
    unlike(ctl('group show', 'Sales team')->{out}, qr/goes on|anna/, 'of the group alone');
    same('group members', ['Sales team', '--source', 'direct'], $rest, '/resource/access',
        { resource => 'Sales team', source => 'direct' }, qr/^anna\.lind\@\S+ +direct/m);
    same('hygiene', ['--sections', 'emptyGroups,staleAccounts', '--stale-days', 30], $rest,
        '/hygiene', { sections => 'emptyGroups,staleAccounts', staleDays => 30 },
        qr/^Empty groups:\nAvailable +yes\n.*^Count +0$/ms);
    like(ctl('hygiene', '--all')->{err}, qr/--all: the answer holds several lists/,
        'several lists have no end to go on to');
}

sub automation {
    same('workflow list', [], $rest, '/workflows', {}, qr/^Joiner +userCreate +yes/m);
    same('workflow runs', ['Joiner', '--status', 'done'], $rest, '/workflow/runs',
        { workflow => 'Joiner', status => 'done' }, qr/^Name +Joiner\n.*^STARTED AT/ms);
    same('role templates', [], $rest, '/role-templates', {}, qr/^Seller +CRM admins/m);
    same('role show', ['Seller'], $rest, '/role-template', { roleTemplate => 'Seller' },
        qr/^Name +Seller\n.*CRM admins +security/ms);
    same('role list', [upn('bo.ek')], $page, '/role/assignments', { user => upn('bo.ek') },
        qr/^Seller +bo\.ek\@/m);
    same('request services', [], $page, '/access-services', {}, qr/^CRM +CRM admins +eva\.berg\@/m);
    same('request list', ['--state', 'open,denied'], $rest, '/access-requests',
        { state => 'open,denied' }, qr/^\w+ +open +CRM +bo\.ek\@/m);
    same('request pending', [], $rest, '/approvals', {},
        qr/^\w+ +bo\.ek\@\S+ +CRM +0 +eva\.berg\@/m);
    same('overview', [], $page, '/overview', {}, qr/^Seats:\nUsed +\d+/m);
}

sub tasks {
    my ($later) = @_;
    same('task list', ['--state', 'queued', '--order', 'due'], $rest, '/tasks',
        { state => 'queued', order => 'due' }, qr/^$later +userCreate +queued +late\.comer\@/m);
    same('task show', [$later], $rest, '/task', { id => $later },
        qr/^User +late\.comer\@.*^Steps:\nNAME +OUTCOME.*^createAccount +- /ms);
    same('event list', ['--limit', 1], $rest, '/events', { limit => 1 },
        qr/^AT +TYPE.*--after \S+ goes on\.$/ms);
    my $all = ctl('event list', '--limit', 1, '--all', '--json')->{json};
    cmp_ok(scalar @{ $all->{items} }, '>', 1, 'event list --all');
    same('audit list', ['--action', 'user.create'], $rest, '/audit', { action => 'user.create' },
        qr/^ID +AT .*user\.create/ms);
    my $records;
    within(sub { $records = ctl('audit export', '--action', 'user.create', '--json')->{json};
        @$records >= 3 });
    is_deeply([map { $_->{action} } @$records], [('user.create') x 3],
        'audit export takes the filters of the list');
}

# Every change has its record, whose actor is who runs the command; a look has none.
sub changes {
    my ($later, $request) = @_;
    my $actor = $stack->actor;
    my $plan  = done('task cancel', $later, '--dry-run', '--json')->{json};
    like($plan->{message}, qr/dry run/, 'a dry run');
    my $same = $stack->delete("/v1/api/task?id=$later&dryRun=true")->{json}{data};
    delete $_->{task}{finishedAt} for $plan, $same;
    is_deeply($plan, $same, 'plans what REST plans');
    is($stack->task($later)->{state}, 'queued', 'changes nothing');
    my $moved = done('task reschedule', $later, '2031-02-03', '--json')->{json};
    like($moved->{task}{scheduledAt}, qr/^2031-02-03T/, 'a new date, the time as it was');
    like(done('task cancel', $later)->{out},
        qr/^The userCreate task .* is cancelled;.*^State +canc/ms,
        'says what has happened, and shows it');
    like(ctl('task retry', $later)->{err}, qr/cannot be tried again: it was cancelled/,
        'task retry');
    like(ctl('task release', $later)->{err}, qr/cannot be released: it was cancelled/,
        'task release');
    like(ctl('task settle', $later)->{err}, qr/cannot be settled: it was cancelled/,
        'task settle');
    my $decided = ctl('request deny', $request, '--by', upn('eva.berg'), '--reason', 'not now');
    like($decided->{out}, qr/^The request of bo\.ek\@\S+ for CRM is denied\.$/m, 'request deny');
    my $again = ctl('request create', 'CRM', upn('bo.ek'), '--json')->{json}{requestId};
    my $approved = ctl('request approve', $again, '--by', upn('eva.berg'), '--json')->{json};
    $stack->wait_task($_) for @{ $approved->{taskIds} };
    like(ctl('request end', $again)->{out}, qr/is ended\.$/m, 'request end');
    like(ctl('role unassign', 'Seller', upn('bo.ek'))->{out}, qr/no longer assigned/,
        'role unassign');
    my @wanted = sort qw(request.create request.create role.assign task.reschedule task.cancel
        request.deny request.approve request.end role.unassign);
    my @records;
    within(sub { @records = grep { ($_->{endpoint} // '') =~ /^idadminctl (?!tenant|key|sync)/ }
        @{ $stack->records('--category', 'command') }; @records >= @wanted });
    is_deeply([sort map { $_->{action} } @records], \@wanted, 'a record of each change alone');
    my %of = map { $_->{action} => $_ } @records;
    is_deeply([grep { $of{$_}{actor} ne $actor } grep { !/deny|approve/ } keys %of], [],
        "by $actor");
    is("$of{'request.deny'}{actor}, $of{'request.deny'}{detail}", upn('eva.berg')
        . ", reported by $actor", 'a decision is the approver\'s');
    is_deeply($of{'request.deny'}{parameters}, { requestId => $request, decision => 'deny',
        approver => upn('eva.berg'), reason => 'not now' }, 'with what was asked for');
    is($of{'task.cancel'}{endpoint}, 'idadminctl task cancel', 'by which command');
}

sub wrong {
    my ($exit, $pattern, @words) = @_;
    my $result = $stack->ctl(@words);
    is($result->{exit}, $exit, "@words[0, 1]: exit $exit") or diag($result->{out});
    like($result->{err}, $pattern, "@words: says why");
    is(scalar(() = $result->{err} =~ /\n/g), 1, 'in a line');
    is($result->{out}, '', 'and nothing else');
}

sub refusals {
    my ($later) = @_;
    wrong(2, qr/unknown option --odd; see idadminctl user search --help$/m, qw(user search nordic
        --odd));
    wrong(2, qr/there is no command usr/, qw(usr search nordic));
    wrong(2, qr/user requires one of its commands/, qw(user find nordic));
    wrong(2, qr/the arguments are: ID UPN/, qw(user show nordic));
    wrong(2, qr/the arguments are: ID \[WORDS\]/, qw(user search nordic a b));
    wrong(2, qr/--status must be one of active, disabled, guest; --limit must be a whole number/,
        qw(user search nordic --limit 201 --status odd));
    wrong(2, qr/--braked must be true or false/, qw(task list nordic --braked=maybe));
    wrong(2, qr/--order wants TEXT/, qw(task list nordic --order=));
    wrong(2, qr/--by is required/, qw(request approve nordic x));
    wrong(2, qr/DATE \S+ .*TIME /, qw(task reschedule nordic), $later, qw(2031-13-01 25:00));
    wrong(2, qr/UPN must be UTF-8/, 'user', 'show', 'nordic', "\xff\xfe");
    wrong(1, qr/no tenant nowhere/, qw(user search nowhere));
    wrong(1, qr/No user has the object ID or UPN "nobody"/, qw(user show nordic nobody));
    wrong(1, qr/access governance module is not enabled/, qw(request list island));
    SKIP: {
        skip 'only root can change its user', 4 if $>;
        my $result = Idadmin::Test::run_command([Idadmin::Test::program('idadminctl'),
            'user', 'search', 'nordic', $stack->ctl_options], user => 65534);
        is($result->{exit}, 1, 'who may not read the store');
        like($result->{err}, qr/^idadminctl: /, 'is told so');
        unlike($result->{out}, qr/anna/, 'and sees no one');
    }
}

# Keys are listed without their secret, which is shown once.
sub keys_of_it {
    $stack->create_key(spare => 'spare', 'read-only');
    unlike(json_text(same('key list', [], $page, '/keys', {}, qr/^spare +read-only/m)), qr/ida_/,
        'no key');
    my $new = done('key rotate', 'spare', '--overlap-days', 3, '--json')->{json};
    like("$new->{username} $new->{replaces}", qr/^spare-\d{6} spare$/, 'key rotate');
    is($stack->get('/v1/api/tasks', key => 'spare')->{status}, 200, 'the old one works yet');
    like(done('key rotate', $new->{username}, '--new-username', 'other')->{out},
        qr/^API key +ida_.*^The secret is shown only now/ms, 'the key is shown, once');
    like(done("key $_->[0]", 'spare')->{out}, qr/^The API key of spare $_->[1]/, "key $_->[0]")
        for ['disable', 'is disabled'], ['enable', 'works again'], ['delete', 'is deleted'];
    wrong(2, qr/--overlap-days must be a whole number from 0 to 90/, qw(key rotate nordic other
        --overlap-days soon));
}

# Each door takes or makes a request's identity, which answer, task and record have.
sub correlated {
    $stack->httpd->expect_log(qr/IDA0210/);
    my %in = (headers => { 'X-Request-Id' => 'portal-1' });
    my $hire = sub { return { firstname => $_[0], surname => 'Spår', date => '2031-05-02' } };
    my $of   = sub { my ($answer) = @_; return $answer->{headers}{'x-request-id'} };
    my $mcp = $stack->call(POST => '/mcp', json => { jsonrpc => '2.0', id => 1,
        method => 'tools/call',
        params => { name => 'search_users', arguments => { query => 'berg' } } },
        key => 'read', headers => { Accept => 'application/json, text/event-stream',
        'X-Request-Id' => 'model-1' });
    my @asked = (
        ['REST', $stack->post('/v1/api/user', $hire->('Rita'), %in), 'portal-1', 'user.create'],
        ['console', $console->post('/user', $hire->('Kia'), {}, %in), 'portal-1', 'user.create'],
        ['MCP', $mcp, 'model-1', 'users.search'],
    );
    for my $case (@asked) {
        my ($door, $answer, $id, $action) = @$case;
        is("$answer->{status} " . $of->($answer), "200 $id", "$door answers with it");
        my $task = $answer->{json}{data}{taskId};
        is($task && $stack->task($task)->{correlationId}, $task && $id, "$door: as the task has");
        ok(within(sub { grep { $_->{action} eq $action }
            @{ $stack->records('--correlation-id', $id) } }), "$door: and the record");
    }
    is($console->post('/user', $hire->(''), {}, headers => { 'X-Request-Id' => 'portal-2' })
        ->{json}{error}{correlationId}, 'portal-2', 'a refusal of the console has it in its body');
    ok(within(sub { @{ $stack->records('--correlation-id', 'portal-1') } == 2 }),
        'one record each');
    is(scalar @{ $stack->records('--correlation-id', 'portal-1', '--category', 'portal') }, 1,
        'filters narrow each other');
    is_deeply($stack->records('--correlation-id', 'portal-1', '--actor', 'nobody'), [],
        'that of the actor too');
    my $task = $asked[0][1]{json}{data}{taskId};
    like(done('task show', $task)->{out}, qr/^Correlation ID +portal-1$/m, 'people see it');
    done('task reschedule', $task, '2031-05-03');
    my $moved;
    within(sub { ($moved) = @{ $stack->records('--action', 'task.reschedule', '--target',
        $stack->task($task)->{userPrincipalName}) } });
    like($moved->{correlationId}, qr/^[0-9a-f]{32}$/, 'a command makes its own');
    is($stack->task($task)->{correlationId}, 'portal-1', 'and the task stays its request\'s');

    my $made = qr/^[0-9a-f]{32}$/;
    my $trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    for my $case (["deploy-7", IDADMIN_REQUEST_ID => 'deploy-7'],
        [$made, IDADMIN_REQUEST_ID => "a b\n"],
        ['4bf92f3577b34da6a3ce929d0e0e4736', TRACEPARENT => $trace]) {
        my ($want, %env) = @$case;
        $stack->ctl_ok(qw(task reschedule), $stack->{company}, $task, '2031-05-04',
            { env => \%env });
        my $newest;
        ok(within(sub { ($newest) = @{ $stack->records('--action', 'task.reschedule') };
            $newest->{correlationId} =~ /^(?:$want)$/ }), "a command with $$case[1] $want")
            or diag $newest->{correlationId};
    }
    for my $case (['none', [], $made],
        ['one that is no ID', ['X-Request-Id' => 'a b'], $made],
        ['an address', ['X-Request-Id' => 'eva@x.example'], $made],
        ['two', ['X-Request-Id' => 'a', 'X-Request-Id' => 'b'], $made],
        ['one that is too long', ['X-Request-Id' => 'x' x 65], $made],
        ['a trace', [traceparent => $trace], qr/^4bf92f3577b34da6a3ce929d0e0e4736$/],
        ['both', [traceparent => $trace, 'X-Request-Id' => 'x' x 64], qr/^x{64}$/]) {
        my ($name, $headers, $want) = @$case;
        for my $path ('/v1/api/user?userPrincipalName=' . upn('eva.berg'), '/v1/api/nothing') {
            my $answer = $stack->httpd->client->request(GET => $path,
                headers => [$stack->headers('read'), @$headers]);
            like($of->($answer), $want, "$name: $answer->{status}");
        }
    }
    my $refused = $stack->get('/v1/api/tasks', key => { %{ $stack->key('read') },
        apiKey => 'ida_' }, headers => { 'X-Request-Id' => 'stranger-1' });
    is("$refused->{status} " . $of->($refused), '401 stranger-1', 'a refusal has it too');
    ok($stack->httpd->log_gets(qr/IDA0210.*\[request stranger-1\]$/m), 'and the error log');
    is_deeply([sort keys %{ $refused->{json}{error} }], ['code', 'message'],
        'beside the body of the contract');
}

# An administrator who finds a damaged document reads the audit log and stops what is queued.
sub damaged {
    my ($task) = @_;
    $stack->worker->stop;
    $stack->sql("UPDATE tenant SET document = '{\"companyId\":' WHERE id = 'nordic'");
    for my $command ('audit list', 'task list') {
        is(ctl($command, '--json')->{exit}, 0, "$command needs no document");
    }
    is(ctl('task show', $task, '--json')->{json}{task}{id}, $task, 'task show neither');
    is(ctl('key disable', 'hr-full')->{exit}, 0, 'nor does key disable');
    for my $command ('user search', 'overview') {
        my $result = ctl($command);
        is("$result->{exit} $result->{out}", '1 ', "$command needs it");
        like($result->{err}, qr/^idadminctl: .*document/m, 'and says so');
    }
}

# The support bundle: a secret of each kind is put where it could be read, and looked for in it.
sub support {
    my $dir = tempdir() . '/support-' . $stack->engine;
    mkdir $dir or die "$dir: $!\n";
    my $file = sub { my $path = spew("$dir/$_[0]", $_[1]); chmod 0400, $path; return $path };
    my %secret = (mail => 'Mail-geheim-1', hook => 'whsec_R2VoZWltMg==', pass => 'Pass-geheim-3',
        dsn => 'Dsn-geheim-4', spaced => 'Dsn geheim\'-8', path => 'T0/B1/Pfad-geheim-9',
        basic => 'QmFzaWMtZ2VoZWltOjEw', signed => 'whsec_T3RoZXItMTE=',
        url => 'Url-geheim-5', query => 'Query-geheim-6',
        bind => Idadmin::Test::Slapd::service_password());
    my $key = $stack->ctl_ok('key', 'create', 'nordic', 'bundle', '--access', 'full', '--json');
    @secret{qw(key mcp)} = @$key{qw(apiKey mcpSecret)};
    my $escaped = $secret{spaced} =~ s/'/\\'/r;
    my $passfile = $file->(passfile => "db:5432:idadmin:idadmin:$secret{pass}\n");
    my $config = $file->(conf => <<"CONF");
# a comment with $secret{dsn}
admin_store = pgsql:host=db user=idadmin password = '$escaped' passfile=$passfile
smtp_url = smtps://mail.example.com
smtp_password_file = @{[ $file->(mail => "$secret{mail}\n") ]}
CONF
    my $before = $stack->ctl_ok('tenant', 'show', 'nordic', '--json');
    my $document = Storable::dclone($before);
    $document->{accessCatalog} = [{ service => 'X', group => 'Sales team',
        approvers => ["eva.berg\@$domain"] }];
    $document->{directories}{onPremises}{protectedAccounts} = ['uid=nisse.holm,ou=people'];
    $stack->apply_tenant($document);
    my $log = $file->(log => join '', map {"2026-11-26T10:00:00Z warn $_\n"}
        "IDA0301 eva.berg\@$domain (uid=eva.berg,ou=people,dc=x): refused", 'no ID: nisse.holm',
        "IDA0302 https://u:$secret{url}\@h.example/p?x=$secret{query} said $secret{bind}",
        "IDA0302 $secret{mail} and $secret{hook} and $secret{pass} and $secret{key}",
        "IDA0303 https://hooks.example/$secret{path} with $secret{signed}, Basic $secret{basic}",
        "IDA0303 Password = $secret{dsn} and \"password\": \"$secret{query}\"",
        "IDA0302 password=$secret{dsn} for EVA.BERG\@$domain and $secret{mcp}");
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir, glob "$dir/*");
    my $bundle_in = sub { my ($name, @more) = @_;
        return Idadmin::Test::run_command([Idadmin::Test::program('idadminctl'), 'support',
            "$dir/$name", '--worker-log', $log, @more, $stack->ctl_options, '--config', $config],
            user => Idadmin::Test::runtime_user()) };
    my $done = $bundle_in->('bundle.json');
    is($done->{exit}, 0, 'support') or diag $done->{err};
    my $text = slurp("$dir/bundle.json");
    is((stat "$dir/bundle.json")[2] & 07777, 0600, 'for its owner alone');
    is_deeply([grep { index($text, $secret{$_}) >= 0 } sort keys %secret], [],
        'no secret of any kind');
    unlike($text, qr/geheim/, 'nor a part of one');
    unlike($text, qr/eva\.berg|nisse\.holm|\Q$domain\E/i, 'no name of a person, no domain');
    unlike($text, qr{\Q$dir\E|example\.com|://|refused}, 'no file, no server, no text of others');
    my $bundle = json_data($text);
    is_deeply($bundle->{'worker-log'}, [map { { at => '2026-11-26T10:00:00', id => "IDA030$_" } }
        1, 2, 2, 3, 3, 2], 'of messages their IDs and moments');
    is_deeply($bundle->{'httpd-log'}, [], 'of those that were named');
    ok($bundle->{$_}, $_) for qw(format at version system);
    is("$bundle->{settings}{threads} $bundle->{settings}{smtp_url}", '4 1', 'settings');
    my ($users) = grep { $_->{companyId} eq 'nordic' } @{ $bundle->{status}{directories} };
    cmp_ok($users->{users}, '>', 0, 'numbers of the company');
    like($bundle->{status}{status}, qr/^(?:well|degraded|down)$/, 'whether it is well');
    like($bundle->{doctor}{status}, qr/^(?:warnings|faults)$/, 'and what the doctor says');
    my ($person) = grep { $_->{check} eq 'person' } @{ $bundle->{doctor}{checks} };
    is(join(' ', sort keys %$person), 'check companyId level todo', 'without what is particular');
    like($bundle_in->('bundle.json')->{err}, qr/bundle\.json: File exists/, 'no file that exists');
    like($bundle_in->('other.json', '--httpd-log', "$dir/none")->{err}, qr/none: No such file/,
        'a log that is not there');
    ok(!-e "$dir/other.json", 'leaves no file');
    $stack->apply_tenant($before);
}

sub help {
    my $all = $stack->ctl('help');
    is($all->{out}, $stack->ctl('--help')->{out}, 'help is --help');
    like($stack->ctl('user', '--help')->{out},
        qr/^  user access ID UPN\n.*^  user search ID \[WORDS\]/ms, 'help of a noun');
    unlike($stack->ctl('help', 'user')->{out}, qr/^  task /m, 'of that noun alone');
    like($stack->ctl('help', 'task', 'list')->{out},
        qr/^  --state WORD,\.\.\.\n.* One of queued, .*^  --limit N\n.* 1 to 200, else 50/ms,
        'an option with what it can be');
    like($stack->ctl('help', 'user', 'search')->{out},
        qr/^  --department .*^  --inactive-days .*^  --cursor .*^  --all$/ms, 'every option');
    unlike($stack->ctl('help', 'request', 'approve')->{out}, qr/--(?:decision|comment)/,
        'what the command says itself is no option');
    my @offered = $all->{out} =~ /^\ \ ((?:user|group|hygiene|workflow|role|request|task|event
        |overview|audit\ list|audit\ export|key\ (?!create)\w+)(?:\ [a-z]+)?)\ ID/mgx;
    is_deeply([sort grep { !$seen{$_} } @offered], [], 'every command was called');
    cmp_ok(scalar @offered, '>=', 34, 'all of them');
}

for_each_stack {
    ($stack) = @_;
    $console = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
        company => 'nordic');
    $stack->apply_tenant($stack->tenant_document(companyId => 'island', name => 'Island AB',
        modules => { publicApi => JSON::PP::true, accessGovernance => JSON::PP::false }));
    my ($later, $request) = happen();
    people();
    groups();
    automation();
    tasks($later);
    changes($later, $request);
    keys_of_it();
    refusals($later);
    correlated();
    subtest 'support bundle' => \&support;
    help();
    damaged($later);
    $stack->stop;
} one_engine => 'commands call operations, which t/mcp, t/rest and t/console run on both engines',
    httpd => { console => 1 },
    tenant => { modules => { publicApi => JSON::PP::true, accessGovernance => JSON::PP::true },
    roleTemplates => [{ name => 'Seller', groups => ['CRM admins'] }],
    accessCatalog => [{ service => 'CRM', group => 'CRM admins', approvers => [upn('eva.berg')] }],
    workflows => [workflow('Joiner', 'userCreate', act('addToGroup', group => 'All staff'))] };
done_testing();
