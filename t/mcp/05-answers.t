# Answers to questions of assistants and administrators, over REST and partly over MCP: a person and
# their pending tasks, why a person is in a group, what needs a review, what a workflow did.
use strict;
use warnings;
use utf8;
use Idadmin::Test;
use Idadmin::Test::Mcp;
use Idadmin::Test::Slapd;
use Idadmin::Test::Stack;
use Test::More;

my $stack;
my $d = 'nordic.example';

sub ask {
    my ($path, %arguments) = @_;
    my $query = join '&', map { my $v = $arguments{$_};
        utf8::encode($v);
        $v =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge;
        "$_=$v" } sort keys %arguments;
    return $stack->get("/v1/api$path" . (length $query ? "?$query" : ''));
}

sub data {
    my ($path, %arguments) = @_;
    my $answer = ask($path, %arguments);
    is($answer->{status}, 200, "$path answers") or diag($answer->{body});
    return $answer->{json}{data} // {};
}

sub refused {
    my ($path, $arguments, $status, $like, $name) = @_;
    my $answer = ask($path, %$arguments);
    is($answer->{status}, $status, "$name: $status") or diag($answer->{body});
    like($answer->{json}{error}{message} // '', $like, "$name: the message");
}

# Written values can be read back; a person's pending tasks are shown.
sub person {
    my $before = data('/user/details', user => "bo.ek\@$d");
    is_deeply($before->{user}{pendingTasks}, [], 'nothing is on its way');
    like($before->{$_}, qr/^\d{4}-\d\d-\d\dT/, "$_ is told") for qw(asOf signInsAsOf);
    my $anna = data('/user/details', user => "anna.lind\@$d")->{user};
    is($anna->{directReportCount}, scalar($stack->slapd->search(
        '(manager=uid=anna.lind,ou=people,dc=nordic,dc=example)')), 'as many as slapd says');
    cmp_ok($anna->{directReportCount}, '>', 1, 'which are some');
    my $task = $stack->call('PATCH', '/v1/api/user', json => { userPrincipalName => "bo.ek\@$d",
        streetAddress => "Storgatan 1\nEntré B", postalCode => '211 34',
        preferredLanguage => 'sv-SE', employeeId => 'E-77' })->{json}{data}{taskId};
    $stack->wait_task($task);
    my $fields = 'streetAddress,postalCode,preferredLanguage,employeeId,pendingTasks';
    my $read = data('/user', userPrincipalName => "bo.ek\@$d", fields => $fields)->{user};
    is_deeply([@$read{qw(streetAddress postalCode preferredLanguage employeeId)}],
        ["Storgatan 1\nEntré B", '211 34', 'sv-SE', 'E-77'], 'what was written is read');
    my $leaving = $stack->delete('/v1/api/user', { userPrincipalName => "bo.ek\@$d",
        date => '2031-03-01' });
    my $told = data('/user/details', user => "BO.EK\@$d")->{user};
    is_deeply($told->{pendingTasks}, [{ id => $leaving->{json}{data}{taskId}, type => 'userDelete',
        state => 'queued', scheduledAt => '2031-03-01T17:00:00+01:00' }],
        'that a person leaves, and when');
    is($told->{employeeId}, 'E-77', 'also in full');
    is_deeply(data('/user', userPrincipalName => "bo.ek\@$d", fields => $fields)
            ->{user}{pendingTasks}, $told->{pendingTasks}, 'and as a field');
    is_deeply([map { $_->{name} } @{ $told->{roleTemplates} }], ['Sales'], 'role templates');
    $stack->delete("/v1/api/task?id=$leaving->{json}{data}{taskId}");
    is_deeply(data('/user/details', user => $told->{id})->{user}{pendingTasks}, [],
        'a cancelled task is not pending');
}

sub row_of { my ($list, $name) = @_;
    return (grep { $_->{resource}{name} eq $name } @{ $list->{items} })[0] // {} }

# Why a person is in a group, and candidates if a group is not found.
sub access {
    my $request = $stack->ctl_ok('request', 'create', 'nordic', 'CRM administration', "bo.ek\@$d",
        '--json');
    my $approved = $stack->ctl_ok('request', 'approve', 'nordic', $request->{requestId}, '--by',
        "eva.berg\@$d", '--json');
    $stack->wait_task($approved->{taskIds}[0]);
    my $bo = data('/user/access', user => "bo.ek\@$d");
    is($bo->{user}{status}, 'active', 'the person has a status');
    ok($bo->{user}{department}, 'and a department');
    my $by = row_of($bo, 'CRM admins')->{grantedBy};
    is("$by->{type} $by->{id} $by->{approvedBy}",
        "accessRequest $request->{requestId} eva.berg\@$d", 'a request has an approver');
    is($by->{approvedAt}, row_of($bo, 'CRM admins')->{grantedAt}, 'and a time of approval');
    is(row_of($bo, 'Sales team')->{grantedBy}{type}, 'roleTemplate', 'a template');
    my $made = $stack->post('/v1/api/user', { firstname => 'Nils', surname => 'Ny' })->{json}{data};
    $stack->wait_task($made->{taskId});
    my $nils = row_of(data('/user/access', user => $made->{userPrincipalName}), 'VPN users');
    my ($run) = @{ data('/workflow/runs', workflow => 'Joiner')->{items} };
    is($nils->{source}, 'direct', 'what a workflow gave is direct');
    like($nils->{grantedBy}{at}, qr/^\d{4}-/, 'when');
    is_deeply($nils->{grantedBy}, { type => 'workflow', name => 'Joiner', runId => $run->{id},
        taskId => $made->{taskId}, at => $nils->{grantedBy}{at} }, 'with workflow and run');
    is($nils->{grantedAt}, undef, 'a time of granting is of requests');
    my $vpn = data('/resource/access', resource => 'VPN users');
    is_deeply([map { $_->{grantedBy}{runId} } grep { $_->{user}{userPrincipalName}
        eq $made->{userPrincipalName} } @{ $vpn->{items} }], [$run->{id}],
        'the same from the side of the group');
    is($vpn->{resource}{description}, 'Remote work', 'the description of the group');
    is($vpn->{resource}{memberCount}, scalar @{ $vpn->{items} }, 'its members');
    ok((grep { $_->{user}{userPrincipalName} eq "greta.dahl\@$d" } @{ $vpn->{items} }),
        'also one whose value stands apart from the others');
    is_deeply([map { $_->{user}{status} } @{ $vpn->{items} }], [('active') x @{ $vpn->{items} }],
        'their status');
    my $id = $vpn->{resource}{id};
    my $service = data('/resource/access', resource => 'crm Administration');
    is("$service->{resource}{name}: $service->{resource}{service}",
        'CRM admins: CRM administration', 'a service of the catalog stands for its group');
    refused('/resource/access', { resource => 'VPN' }, 404,
        qr/^resource: .*Did you mean .*"VPN users" \(\Q$id\E\)/, 'a word leads to the group');
    refused('/resource/access', { resource => 'users vpn' }, 404, qr/"VPN users"/, 'words too');
    refused('/resource/access', { resource => 'no such thing' }, 404,
        qr/^resource: No group has the ID or name "no such thing"\.$/, 'nothing fits');
    refused('/resource/access', { resource => 'Double' }, 400,
        qr/Several groups.*"Double" \([\w-]{36}\), "Double" \([\w-]{36}\)\.$/, 'two of a name');
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    like($mcp->call(get_resource_access => { resource => 'VPN' })->{failed}, qr/VPN users.*\)\?$/,
        'a tool error holds all of it');
}

sub by_hand {
    my ($change, $uid, $group) = @_;
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::group_dn($group)
        . "\nchangetype: modify\n$change: member\nmember: "
        . Idadmin::Test::Slapd::user_dn($uid) . "\n");
    within(sub { !!row_of(data('/user/access', user => "$uid\@$d"), $group)->{source}
        == ($change eq 'add') }) or fail("$uid $change $group is synchronised");
}

# The log says how much it leaves out; who asks for a person's or the API's calls, or for what did
# not end well, is shown all of them.
sub what_is_left_out {
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    $mcp->call(get_user => { user => 'nobody@nowhere.example' });
    $mcp->call(search_users => { query => 'bo' });
    my $is = sub { my (%of) = @_; return data('/audit', limit => 200, %of) };
    ok(within(sub { ($is->()->{note} // '')
        =~ /^(?:At least )?\d+ successful reads are left out: includeReads/ }),
        'the log says how many reads it leaves out');
    my ($left_out) = $is->()->{note} =~ /(\d+)/;
    cmp_ok($left_out, '>', 3, 'some');
    is($is->(%$_)->{note}, undef, join ' ', 'nothing is left out of', %$_)
        for { actor => 'hr-read' }, { category => 'api' }, { includeReads => 'true' },
        { outcome => 'toolError' };
    ok(within(sub { grep { ($_->{endpoint} // '') =~ /get_user$/ }
        @{ $is->(outcome => 'toolError')->{items} } }), 'a tool call that failed is found');
    ok((grep { ($_->{endpoint} // '') =~ /get_user$/ } @{ $is->(outcome => 'refused')->{items} }),
        'also as one that was refused');
    ok((grep { $_->{action} eq 'users.search' && $_->{outcome} eq 'ok' }
        @{ $is->(actor => 'hr-read')->{items} }), 'and what a key has read by its name');
}

# A membership that was taken away and is given by hand is not what it was before; one that a rehire
# gave back is the rehire's.
sub history {
    my $row = sub { row_of(data('/user/access', user => "$_[0]\@$d"), $_[1]) };
    by_hand(delete => 'bo.ek', $_) for 'CRM admins', 'Sales team';
    my ($request) = grep { $_->{requester}{userPrincipalName} eq "bo.ek\@$d"
        && $_->{state} eq 'approved' } @{ data('/access-requests')->{items} };
    ok(within(sub { ($request) = grep { $_->{id} eq $request->{id} }
        @{ data('/access-requests')->{items} }; $request->{takenAwayAt} }),
        'an approved request says that its group was taken away');
    by_hand(add => 'bo.ek', $_) for 'CRM admins', 'Sales team';
    for my $group ('CRM admins', 'Sales team') {
        my $now = $row->('bo.ek', $group);
        is("$now->{source} " . ($now->{grantedBy} // 'null'), 'direct null',
            "$group, given again by hand, has no recorded grant");
    }
    my $made = $stack->post('/v1/api/user', { firstname => 'Ada', surname => 'Åter',
        employeeId => 'E-BACK' })->{json}{data};
    $stack->wait_task($made->{taskId});
    my ($uid) = $made->{userPrincipalName} =~ /^(.*)@/;
    is($row->($uid, 'VPN users')->{grantedBy}{type}, 'workflow', 'the first hire');
    by_hand(delete => $uid, 'VPN users');
    by_hand(add => $uid, 'VPN users');
    is($row->($uid, 'VPN users')->{grantedBy}, undef, 'is not told of what a person did since');
    $stack->wait_task($stack->delete('/v1/api/user', { userPrincipalName =>
        $made->{userPrincipalName}, time => '00:00' })->{json}{data}{taskId});
    my $back = $stack->post('/v1/api/user', { firstname => 'Ada', surname => 'Åter',
        employeeId => 'E-BACK', rehire => 'restore' });
    my $task = $stack->wait_task($back->{json}{data}{taskId});
    my $by = $row->($uid, 'VPN users')->{grantedBy};
    is("$by->{type} $by->{taskId}", "restore $task->{id}",
        'what a rehire gave back is the rehire\'s') or diag explain $back->{json}, $task;
    like($by->{at}, qr/^\d{4}-/, 'and when');
}

sub upns { my ($section) = @_;
    return join ' ', map { $_->{userPrincipalName} =~ s/@.*//r } @{ $section->{items} } }

# What deserves a look, of some people alone; disabled people who still hold something.
sub hygiene {
    my $all = data('/hygiene', limit => 200);
    is(join(' ', sort keys %{ $all->{sections} }), 'accountsWithoutManager disabledWithAccess '
        . 'emptyGroups inactiveGuests staleAccounts', 'five sections');
    like($all->{$_}, qr/^\d{4}-\d\d-\d\dT/, "$_ is told") for qw(asOf signInsAsOf);
    is($all->{sections}{disabledWithAccess}{count}, 0, 'no account is disabled');
    for my $change (['greta.dahl', accountEnabled => JSON::PP::false()],
        ['david.holm', accountEnabled => JSON::PP::false()],
        ['anna.lind', company => 'Nordic AB']) {
        my ($who, %more) = @$change;
        $stack->wait_task($stack->call('PATCH', '/v1/api/user',
            json => { userPrincipalName => "$who\@$d", %more })->{json}{data}{taskId});
    }
    my @held = map { scalar $stack->slapd->search(
        "(&(objectClass=groupOfNames)(member=uid=$_,ou=people,dc=nordic,dc=example))") }
        qw(david.holm greta.dahl);
    my $left = data('/hygiene', sections => 'disabledWithAccess')->{sections}{disabledWithAccess};
    is(join(' ', map {"$_->{userPrincipalName} $_->{membershipCount}"} @{ $left->{items} }),
        join(' ', grep {!/ 0$/} "david.holm\@$d $held[0]", "greta.dahl\@$d $held[1]"),
        'the disabled who are in groups, and in how many');
    is_deeply($left->{items}[0]{licenses}, [], 'with their licences');
    is($left->{count}, scalar @{ $left->{items} }, 'counted');
    my $lists = sub { my ($section, %of) = @_;
        return data('/hygiene', sections => $section, limit => 200, %of)->{sections}{$section} };
    my $sales = $lists->('accountsWithoutManager', department => 'sALES');
    is(upns($sales), join(' ', map { $_->{userPrincipalName} =~ s/@.*//r }
        grep { ($_->{department} // '') eq 'Sales' } @{
        $lists->('accountsWithoutManager')->{items} }), 'a department, in any case');
    is($sales->{count}, scalar @{ $sales->{items} }, 'counted');
    is($lists->('accountsWithoutManager', company => 'Nordic AB')->{count}, 1, 'a company');
    is($lists->('accountsWithoutManager', company => 'nobody')->{count}, 0, 'no such company');
    is($lists->('accountsWithoutManager', license => 'SPE_E3')->{count}, 0, 'a licence');
    is(join(' ', sort keys %{ data('/hygiene', department => 'Sales')->{sections} }),
        'accountsWithoutManager disabledWithAccess inactiveGuests staleAccounts',
        'groups have no department');
    refused('/hygiene', { sections => 'emptyGroups', department => 'Sales' }, 400,
        qr/^sections: emptyGroups lists no people/, 'asked all the same');
    my $one = data('/hygiene', sections => 'accountsWithoutManager', department => 'Sales',
        limit => 1)->{sections}{accountsWithoutManager};
    refused('/hygiene', { sections => 'accountsWithoutManager', limit => 1,
        cursor => $one->{nextCursor} }, 400, qr/^cursor/, 'a cursor belongs to its filters')
        if $one->{nextCursor};
}

# What a leaver's run took away and what it could not, as lists; runs narrowed by person and status.
sub runs {
    my @held = map { $_->{resource}{name} } grep { !@{ $_->{via} } && $_->{resource}{kind}
        ne 'dynamic' } @{ data('/user/access', user => "carin.sjoberg\@$d")->{items} };
    my $leaving = $stack->delete('/v1/api/user', { userPrincipalName => "carin.sjoberg\@$d",
        time => '00:00' });    # over, whatever the hour
    my $task = $stack->wait_task($leaving->{json}{data}{taskId});
    my ($step) = grep { $_->{name} eq 'revokeMemberships' } @{ $task->{steps} };
    cmp_ok(scalar @held, '>', 0, 'the leaver was in groups');
    is_deeply([map { $_->{name} } @{ $step->{revoked} }], [sort { lc $a cmp lc $b } @held],
        'the step lists what was revoked');
    is_deeply([grep { !$_->{id} || $_->{directory} ne 'onPremises' } @{ $step->{revoked} }], [],
        'each with ID and directory');
    is(scalar @{ $step->{notRevoked} }, 1, 'and what could not be');
    like($step->{notRevoked}[0]{reason}, qr/rule/, 'with the reason');
    my $run = data('/workflow/runs', workflow => 'LEAVER')->{items}[0];
    is_deeply([@$run{qw(revoked notRevoked)}], [@$step{qw(revoked notRevoked)}],
        'the run lists the same, the workflow found in any case');
    my ($empty) = @{ data('/workflow/runs', workflow => 'Empty')->{items} };
    is($empty->{status} . @{ $empty->{actions} }, 'done0',
        'a workflow without actions has runs, too');
    my $of = data('/workflow/runs', user => "Carin.Sjoberg\@$d");
    is_deeply([map { $_->{id} } @{ $of->{items} }], [$run->{id}], 'runs for one person');
    is($of->{items}[0]{workflow}, 'Leaver', 'which tell their workflow');
    is($of->{totalCount}, 1, 'counted');
    is(data('/workflow/runs', status => 'failed')->{totalCount}, 0, 'none failed');
    is(data('/workflow/runs', status => 'done', user => $of->{items}[0]{event}{userPrincipalName})
            ->{totalCount}, 1, 'one is done');
    refused('/workflow/runs', { status => 'magic' }, 400, qr/status/, 'an unknown status');
    is(data('/role-template', roleTemplate => 'sALES')->{roleTemplate}{name}, 'Sales',
        'templates are found in any case');
    my $decision;    # records are readable within seconds
    within(sub { ($decision) = @{ ask('/audit', action => 'request.approve', limit => 1)
        ->{json}{data}{items} } });
    is($decision->{actor}, "eva.berg\@$d", 'a decision has the approver as actor');
    is(data('/audit', action => 'request.approve', actor => "EVA.BERG\@$d")->{totalCount}, 1,
        'who is found by it');
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    ok($mcp->call(search_users => { query => 'bo', department => undef, limit => undef })->{data},
        'arguments of null are absent');
    my ($tool) = grep { $_->{name} eq 'search_users' }
        @{ $mcp->ask('tools/list')->{result}{tools} };
    is($tool->{inputSchema}{properties}{limit}{default}, 50, 'limit has a default');
}

sub group_entry { my ($where, $name, @more) = @_;
    return join("\n", "dn: cn=$name,$where", 'objectClass: groupOfNames', "cn: $name",
        'member: cn=placeholder,ou=groups,dc=nordic,dc=example', @more) . "\n\n" }
my $groups = 'ou=groups,dc=nordic,dc=example';
# slapd stores separate values as they are, and returns their attribute twice.
my $ldif = group_entry($groups, 'VPN users', 'description: Remote work',
    'member: uid=greta.dahl,ou=people,dc=nordic,dc=example')
    . group_entry($groups, 'VPN admins') . "dn: ou=more,$groups\nobjectClass: organizationalUnit\n"
    . "ou: more\n\n" . group_entry($groups, 'Double') . group_entry("ou=more,$groups", 'Double');

for_each_stack {
    ($stack) = @_;
    my $assigned = $stack->ctl_ok('role', 'assign', 'nordic', 'Sales', "bo.ek\@$d", '--json');
    $stack->wait_task($_) for @{ $assigned->{taskIds} };
    subtest $_->[0] => $_->[1] for ['a person' => \&person],
        ['access' => \&access], ['hygiene' => \&hygiene],
        ['runs' => \&runs], ['history' => \&history],
        ['what is left out' => \&what_is_left_out];
} one_engine =>
    'unit/operation and mcp/03-read-operations prove the statements on both engines',
    slapd => { ldif => $ldif }, tenant => {
    modules => { publicApi => JSON::PP::true(), accessGovernance => JSON::PP::true() },
    roleTemplates => [{ name => 'Sales', groups => ['Sales team'], licenses => [] }],
    workflows => [{ name => 'Joiner', trigger => 'userCreate',
        actions => [{ type => 'addToGroup', group => 'VPN users' }] },
        { name => 'Empty', trigger => 'userCreate', actions => [] },
        { name => 'Leaver', trigger => 'userDelete', actions => [{ type => 'removeLicenses' }] }],
    accessCatalog => [{ service => 'CRM administration', group => 'CRM admins',
        approvers => ["eva.berg\@$d"] }],
};
done_testing();
