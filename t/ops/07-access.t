# Role templates and access requests are executed in both directories: memberships that are granted,
# that existed before, that another grant keeps, and that end with an offboarding.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Stack;

my $d = $Idadmin::Test::Slapd::domain;
my $stack;

sub upn { return "$_[0]\@$d" }
sub ldap_has { my ($group, $uid) = @_;
    return scalar grep {
    $_ eq Idadmin::Test::Slapd::user_dn($uid) } $stack->slapd->members($group) }
sub cloud_has { my ($group, $uid) = @_;
    return scalar grep { $_ eq $group } @{ $stack->cloud->user(upn($uid))->{groups} } }
sub licences { my ($uid) = @_;
    return scalar @{ $stack->cloud->user(upn($uid))->{assignedLicenses} } }
sub steps { return { map { $_->{name} => "$_->{outcome}: $_->{detail}" } @{ $_[0]{steps} } } }
sub over { my ($tasks, @states) = @_;
    return map { $stack->wait_task($_, @states ? (states => \@states) : ()) } @$tasks }

sub role {
    my ($verb, $template, $uid) = @_;
    my $answer = $stack->ctl_ok('role', $verb, 'nordic', $template, upn($uid), '--json');
    return ($answer, map { over([$_], 'done', 'failed') } @{ $answer->{taskIds} });
}

sub access_of {
    my ($uid) = @_;
    my $list = $stack->get('/v1/api/user/access?limit=200&user='
        . Idadmin::Test::Stack::_escape(upn($uid)))->{json}{data}{items};
    return { map { $_->{resource}{name} => $_ } @$list };
}

sub document {
    my (%more) = @_;
    return $stack->tenant_document(
        roleTemplates => [
            { name => 'Seller',  groups => ['Workshop', 'Canteen', 'Empty'], licenses => ['EMS'] },
            { name => 'Analyst', groups => ['Workshop', 'Store room'], licenses => ['ems'] },
            { name => 'Crew',    groups => ['Workshop', 'Store room'] },
            { name => 'Odd',     groups => ['R/D, "x"', 'Nowhere'] },
        ],
        workflows => [
            { name => 'Joiner', trigger => 'userCreate',
                actions => [{ type => 'assignRoleTemplate', roleTemplate => 'Crew' }] },
            { name => 'Leaver', trigger => 'userDelete',
            actions => [{ type => 'unassignRoleTemplates' }] },
        ],
        accessCatalog => [{ service => 'Workshop tools', group => 'Workshop',
        approvers => [upn('eva.berg')] },
            { service => 'Finance reports', group => 'Store room', approvers => [upn('eva.berg')] },
            { service => 'Shared tools', group => 'Workshop',
            approvers => [upn('eva.berg'), upn('rut.sandell')] }],
        %more);
}

sub templates {
    my ($answer, @tasks) = role(assign => 'Seller', 'bo.ek');
    is_deeply([sort map {"$_->{type} $_->{state}"} @tasks],
        ['accessGrant done', 'accessGrant done'], 'a task for each directory');
    is_deeply(steps($tasks[0]),
        { 'addToGroup Empty' => 'done: added', 'assignLicense EMS' => 'done: assigned' },
        'in the cloud') or diag explain steps($tasks[0]);
    is_deeply(steps($tasks[1]), { 'addToGroup Workshop' => 'done: added',
        'addToGroup Canteen' =>
        'already: it was so before; it stays when this is taken away again' }, 'on-premises');
    ok(ldap_has('Workshop', 'bo.ek') && cloud_has('Empty', 'bo.ek'),
        'the directories say the same');
    is(licences('bo.ek'), 1, 'with the licence');
    my $access = access_of('bo.ek');
    is("$access->{Workshop}{source} $access->{Workshop}{grantedBy}{name}", 'role_template Seller',
        'attributed at once');
    ($answer) = role(assign => 'Seller', 'bo.ek');
    is_deeply($answer->{taskIds}, [], 'assigned again: nothing to do');

    ($answer, @tasks) = role(assign => 'Analyst', 'bo.ek');
    is(steps($tasks[1])->{'addToGroup Workshop'}, 'already: it is so already',
        'a second template finds what the first gave');
    ($answer, @tasks) = role(unassign => 'Seller', 'bo.ek');
    my %all = map { %{ steps($_) } } @tasks;
    is($all{'removeFromGroup Empty'}, 'done: removed', 'what nothing else grants goes');
    like($all{'removeFromGroup Workshop'}, qr/^skipped: kept: another role template gave it too/,
        'what another template grants stays');
    like($all{'removeFromGroup Canteen'}, qr/^skipped: kept: it stood before/,
        'what stood before stays');
    like($all{'removeLicense EMS'}, qr/^skipped: kept: another role template/,
        'so does the licence');
    ok(ldap_has('Workshop', 'bo.ek') && ldap_has('Canteen', 'bo.ek') && !cloud_has('Empty', 'bo.ek')
        && licences('bo.ek') == 1, 'in the directories too');
    is(access_of('bo.ek')->{Workshop}{grantedBy}{name}, 'Analyst',
        'attributed to who still grants it');
    ($answer, @tasks) = role(unassign => 'Analyst', 'bo.ek');
    ok(!ldap_has('Workshop', 'bo.ek') && !ldap_has('Store room', 'bo.ek') && !licences('bo.ek'),
        'with the last grant it is revoked, whatever its source');
    is($stack->ctl('role', 'unassign', 'nordic', 'Analyst', upn('bo.ek'))->{exit}, 1,
        'not assigned any more');
}

# What a template gave and somebody took by hand: the assignment stands, and the gap is told.
sub taken_by_hand {
    my $uid = 'karin.hedlund';
    my $gaps = sub {
        my $access = $stack->get('/v1/api/user/access?user='
            . Idadmin::Test::Stack::_escape(upn($uid)))->{json}{data};
        my %of = map { $_->{name} => $_->{missing} } @{
            $stack->get('/v1/api/role-templates')->{json}{data}{items} };
        return [[map {"$_->{name}: $_->{grantedBy}{type} $_->{grantedBy}{name}"} @{
            $access->{missing} // [] }], map { $_ // 0 } @of{qw(Crew Analyst)}];
    };
    role(assign => 'Crew', $uid);
    is_deeply($gaps->(), [[], 0, 0], 'nothing is missing');
    $stack->slapd->modify("dn: cn=Workshop,ou=groups,dc=nordic,dc=example\nchangetype: modify\n"
        . 'delete: member' . "\nmember: " . Idadmin::Test::Slapd::user_dn($uid) . "\n");
    $stack->ctl_ok('sync', 'nordic', '--wait');
    is_deeply($gaps->(), [['Workshop: roleTemplate Crew'], 1, 0], 'what is gone, by whose word');
    role(unassign => 'Crew', $uid);
    is_deeply($gaps->(), [[], 0, 0], 'and nothing once the template is taken back');
}

sub odd_names {
    $stack->worker->expect_log(qr/IDA0317.*Nowhere/);
    my ($answer, $task) = role(assign => 'Odd', 'greta.dahl');
    is($task->{state}, 'failed', 'a group that is not there');
    is_deeply(steps($task), { 'addToGroup R/D, "x"' => 'done: added',
        'addToGroup Nowhere' => 'failed: There is no group Nowhere.' },
        'keeps none of the others from being given');
    like($task->{error}, qr/Nowhere/, 'and is the reason');
    $stack->slapd->modify("dn: cn=Nowhere,ou=groups,dc=nordic,dc=example\nchangetype: "
        . "add\nobjectClass: groupOfNames\ncn: Nowhere\nmember: $Idadmin::Test::Slapd::filler\n");
    $stack->ctl_ok('sync', 'nordic', '--wait');
    $stack->ctl_ok('task', 'retry', 'nordic', $task->{id});
    is($stack->wait_task($task->{id})->{steps}[1]{outcome}, 'done', 'made, then retried');
    role(unassign => 'Odd', 'greta.dahl');
    ok(!ldap_has('Nowhere', 'greta.dahl') && !ldap_has('R/D\2C \22x\22', 'greta.dahl'),
        'and taken away');
}

# A changed document alone changes no access; assigned again, the difference is applied.
sub changed_document {
    role(assign => 'Analyst', 'ida.wall');
    my $document = document();
    $document->{roleTemplates}[1]{groups} = ['Canteen', 'Store room'];
    $stack->apply_tenant($document);
    ok(ldap_has('Workshop', 'ida.wall') && !ldap_has('Canteen', 'ida.wall'),
        'a changed template alone changes no access');
    my ($answer, @tasks) = role(assign => 'Analyst', 'ida.wall');
    is_deeply([sort map {"$_->{type} " . join ', ', sort keys %{ steps($_) }} @tasks],
        ['accessGrant addToGroup Canteen', 'accessRevoke removeFromGroup Workshop'],
        'assigned again: the difference');
    ok(!ldap_has('Workshop', 'ida.wall') && ldap_has('Canteen', 'ida.wall')
        && ldap_has('Store room', 'ida.wall'), 'in the directory');
    $stack->apply_tenant(document());
    my $refused = $stack->ctl('tenant', 'apply', '-',
        { stdin => json_text(document(roleTemplates =>
        [grep { $_->{name} ne 'Analyst' } @{ $document->{roleTemplates} }])) });
    is($refused->{exit}, 1, 'an assigned template cannot be removed from the document');
    like($refused->{err}, qr/Analyst.*assigned to 1 .*role unassign/, 'and the way is said');
}

# Between the order and its turn everything may have changed.
sub overtaken {
    $stack->worker->stop;
    my $given = $stack->ctl_ok('role', 'assign', 'nordic', 'Odd', upn('sten.vik'), '--json');
    is_deeply($stack->ctl_ok('role', 'assign', 'nordic', 'Odd', upn('sten.vik'), '--json')
        ->{taskIds}, [], 'assigned twice before its turn: one task');
    my $taken = $stack->ctl_ok('role', 'unassign', 'nordic', 'Odd', upn('sten.vik'), '--json');
    $stack->worker->start;
    my ($task) = over($given->{taskIds});
    is_deeply([map { $_->{outcome} } @{ $task->{steps} }], ['skipped', 'skipped'],
        'taken back before it was given: nothing is given');
    over($taken->{taskIds});
    ok(!ldap_has('Nowhere', 'sten.vik'), 'and nothing is left');
}

# A worker died after its call and before its record: the existing membership is its own work, and
# is revoked again.
sub interrupted {
    $stack->worker->stop;
    my $given = $stack->ctl_ok('role', 'assign', 'nordic', 'Crew', upn('per.lundin'), '--json');
    my ($ids) =
        $stack->sql("SELECT u.id, g.id FROM cache.directory_user u, cache.directory_group g WHERE "
        . "u.upn = '@{[ upn('per.lundin') ]}' AND g.name = 'Workshop'");
    my ($template) = $stack->sql("SELECT id FROM role_template WHERE name = 'Crew'");
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::group_dn('Workshop')
        . "\nchangetype: modify\nadd: member\nmember: "
        . Idadmin::Test::Slapd::user_dn('per.lundin') . "\n");
    $stack->sql("INSERT INTO access_grant (tenant_id, directory, user_id, kind, item, source, "
        . "source_id, name, state, task_id, at) VALUES"
            . " ('nordic', 'onPremises', '$ids->[0]', 'group', '$ids->[1]', 'template', "
                . "'$template->[0]', 'Workshop', 'sent', '$given->{taskIds}[0]', 1)");
    $stack->worker->start;
    my ($task) = over($given->{taskIds});
    is(steps($task)->{'addToGroup Workshop'}, 'already: it is so already',
        'a repeated run knows its own work');
    role(unassign => 'Crew', 'per.lundin');
    ok(!ldap_has('Workshop', 'per.lundin'), 'and takes it away again');
}

# The same from within workflows, in the person's own task.
sub workflows {
    my $answer = $stack->post('/v1/api/user', { firstname => 'Nya', surname => 'Sven' });
    my $task = $stack->wait_task($answer->{json}{data}{taskId});
    my ($uid) = $answer->{json}{data}{userPrincipalName} =~ /^(.*)@/;
    my ($step) = grep { $_->{name} =~ /assignRoleTemplate/ } @{ $task->{steps} };
    is("$step->{outcome} $step->{detail}", 'done Crew: added Workshop, Store room',
        'a joiner is given a template');
    ok(ldap_has('Workshop', $uid) && ldap_has('Store room', $uid), 'in the directory');
    is($stack->ctl_ok('role', 'list', 'nordic', upn($uid), '--json')->{items}[0]{assignedBy},
        'workflow', 'assigned');
    is(access_of($uid)->{Workshop}{source}, 'role_template', 'and attributed');
    my $left = $stack->delete('/v1/api/user', { userPrincipalName => upn($uid), time => '00:00' });
    $task = $stack->wait_task($left->{json}{data}{taskId});
    ($step) = grep { $_->{name} =~ /unassignRoleTemplates/ } @{ $task->{steps} };
    is("$step->{outcome} $step->{detail}",
        'done 1 role template unassigned: gone already Workshop, Store room', 'a leaver loses it')
        or diag explain $task->{steps};
    is_deeply($stack->ctl_ok('role', 'list', 'nordic', upn($uid), '--json')->{items}, [],
        'unassigned');

    # A worker died between the end of the assignments and what they granted.
    $answer = $stack->post('/v1/api/user', { firstname => 'Nya', surname => 'Siv' });
    $stack->wait_task($answer->{json}{data}{taskId});
    $stack->sql("DELETE FROM role_assignment WHERE tenant_id = 'nordic' AND person = "
        . "'$answer->{json}{data}{userPrincipalName}'");
    $left = $stack->delete('/v1/api/user',
        { userPrincipalName => $answer->{json}{data}{userPrincipalName}, time => '00:00' });
    ($step) = grep { $_->{name} =~ /unassignRoleTemplates/ } @{
        $stack->wait_task($left->{json}{data}{taskId})->{steps} };
    is("$step->{outcome} $step->{detail}",
        'already role templates unassigned before: gone already Workshop, Store room',
        'what an earlier try unassigned is not counted as none');
}

sub requests {
    my $request = sub {
        my ($service, $uid) = @_;
        return $stack->ctl_ok('request', 'create', 'nordic', $service, upn($uid), '--json');
    };
    my $asked = $request->('Workshop tools', 'rut.sandell');
    my $refused = $stack->ctl('request', 'approve', 'nordic', $asked->{requestId}, '--by',
        upn('anna.lind'));
    is($refused->{exit}, 1, 'who is no approver decides nothing');
    like($refused->{err},
        qr/no approver of Workshop tools, which eva\.berg\@nordic\.example may decide/,
        'and is told who does');
    my $approved = $stack->ctl_ok('request', 'approve', 'nordic', $asked->{requestId}, '--by',
        upn('eva.berg'), '--json');
    is($stack->wait_task($approved->{taskIds}[0])->{type}, 'accessGrant',
        'approval queues the grant');
    ok(ldap_has('Workshop', 'rut.sandell'), 'which is carried out');
    my $row = access_of('rut.sandell')->{Workshop};
    is($row->{source}, 'iga_request', 'attributed');
    my ($granted) = grep { $_->{id} eq $asked->{requestId} } @{
        $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} };
    is($row->{grantedAt}, $granted->{decidedAt}, 'with its time');
    role(assign => 'Seller', 'rut.sandell');
    my $ended = $stack->ctl_ok('request', 'end', 'nordic', $asked->{requestId}, '--json');
    like($ended->{message}, qr/is ended\.$/, 'ended');
    like($stack->wait_task($ended->{taskIds}[0])->{steps}[0]{detail},
        qr/kept: another role template gave it too/, 'what a template grants too stays');
    role(unassign => 'Seller', 'rut.sandell');
    ok(!ldap_has('Workshop', 'rut.sandell'), 'and goes with it');

    # A requester cannot decide, even as an approver.
    my $own = $request->('Shared tools', 'eva.berg');
    for my $verb (qw(approve deny)) {
        my $selfish = $stack->ctl('request', $verb, 'nordic', $own->{requestId}, '--by',
            upn('Eva.Berg'));
        is($selfish->{exit}, 1, "$verb of one's own request is refused");
        like($selfish->{err},
            qr/eva\.berg\@\S+ asked for it and decides nothing of it: let another approver/i,
            'with the reason');
    }
    my ($pending) = grep { $_->{id} eq $own->{requestId} } @{
        $stack->get('/v1/api/approvals?limit=200')->{json}{data}{items} };
    is_deeply([map { $_->{userPrincipalName} } @{ $pending->{eligibleApprovers} }],
        [upn('rut.sandell')], 'who asks is no eligible approver');
    like($stack->ctl_ok('request', 'deny', 'nordic', $own->{requestId}, '--by', upn('rut.sandell'),
        '--json')->{message}, qr/is denied\.$/, 'the other one decides');

    # A group that refuses: the approval remains, its failure is shown.
    $stack->worker->expect_log(qr/IDA0317/, qr/IDA0316/);
    my $denied = $request->('Finance reports', 'rut.sandell');
    like($stack->ctl_ok('request', 'deny', 'nordic', $denied->{requestId}, '--by', upn('eva.berg'),
        '--json')->{message}, qr/is denied\.$/, 'denied');
    my $broken = $request->('Finance reports', 'sten.vik');
    my $late = $request->('Workshop tools', 'sten.vik');
    $stack->worker->stop;
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn('sten.vik')
        . "\nchangetype: delete\n");
    $approved = $stack->ctl_ok('request', 'approve', 'nordic', $broken->{requestId}, '--by',
        upn('eva.berg'), '--json');
    $stack->worker->start;
    $stack->wait_task($approved->{taskIds}[0], states => ['failed']);
    my ($listed) = grep { $_->{id} eq $broken->{requestId} } @{
        $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} };
    is("$listed->{state} $listed->{taskState}", 'approved failed',
        'a grant that failed is seen in the list');
    like($listed->{error}, qr/not there/, 'with the reason');
    $stack->ctl_ok('sync', 'nordic', '--wait');
    like($stack->ctl('request', 'approve', 'nordic', $late->{requestId}, '--by',
        upn('eva.berg'))->{err},
        qr{no sten\.vik\@.* any more: deny}, 'who is gone is granted nothing');
    like($stack->ctl_ok('request', 'end', 'nordic', $late->{requestId}, '--json')->{message},
        qr/is withdrawn\.$/, 'but the request can be withdrawn');
}

sub leaver {
    $stack->wait_task($stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('tove.ahlgren'),
        employeeId => 'T-1' })->{json}{data}{taskId});
    role(assign => 'Analyst', 'tove.ahlgren');
    my $asked = $stack->ctl_ok('request', 'create', 'nordic', 'Workshop tools', upn('tove.ahlgren'),
        '--json');
    my $open = $stack->ctl_ok('request', 'create', 'nordic', 'Finance reports', upn('tove.ahlgren'),
        '--json');
    my $approved = $stack->ctl_ok('request', 'approve', 'nordic', $asked->{requestId}, '--by',
        upn('eva.berg'), '--json');
    $stack->wait_task($approved->{taskIds}[0]);
    my $left = $stack->delete('/v1/api/user',
        { userPrincipalName => upn('tove.ahlgren'), time => '00:00' });
    $stack->wait_task($left->{json}{data}{taskId});
    is_deeply($stack->ctl_ok('role', 'list', 'nordic', upn('tove.ahlgren'), '--json')->{items}, [],
        'who has left has no role template');
    my %state = map { $_->{id} => $_->{state} } @{
        $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} };
    is("$state{$asked->{requestId}} $state{$open->{requestId}}", 'ended withdrawn',
        'no granted and no open request');
    is((grep { $_->{requester}{userPrincipalName} eq upn('tove.ahlgren') } @{
        $stack->get('/v1/api/approvals?limit=200')->{json}{data}{items} })[0], undef,
        'nothing to approve');
    is_deeply([$stack->sql("SELECT count(*) FROM access_grant g JOIN cache.directory_user u ON "
        . "u.id = g.user_id WHERE u.upn = '@{[ upn('tove.ahlgren') ]}'")], [[0]],
        'nothing is owed');
    ok(within(sub {
        my %seen = map { $_->{action} => 1 }
            grep { ($_->{target} // '') eq upn('tove.ahlgren') } @{
            $stack->records('--category', 'workflow') };
        return $seen{'role.unassign'} && $seen{'request.end'} && $seen{'request.withdraw'};
    }), 'each with its audit record');
}

# Who comes back has the memberships again, not the grants: nothing takes them away but a person or
# the next offboarding.
sub comes_back {
    my %person = (firstname => 'Tove', surname => 'Ahlgren', employeeId => 'T-1',
        rehire => 'restore');
    my $listed = sub { return [sort map { $_->{name} } @{
        $_[0]{json}{data}{rehire}{memberships} }] };
    my $before = $listed->($stack->post('/v1/api/user?dryRun=true', \%person));
    my @granted = grep {/^(?:Workshop|Store room)$/} @$before;
    is_deeply(\@granted, ['Store room', 'Workshop'],
        'what a template and a request had granted is offered, before anything is done');
    cmp_ok(scalar @$before, '>', 2, 'besides memberships without a grant');
    ok(!ldap_has('Workshop', 'tove.ahlgren'), 'by a dry run');
    my $back = $stack->post('/v1/api/user', \%person);
    is_deeply($listed->($back), $before, 'the answer lists the same') or diag $back->{body};
    my $task = $stack->wait_task($back->{json}{data}{taskId});
    like(steps($task)->{restoreMemberships}, qr/^done: given back: .*Store room.*Workshop/,
        'given back');
    is_deeply([grep { !ldap_has($_, 'tove.ahlgren') } @$before], [], 'in the directory');
    my $access = access_of('tove.ahlgren');
    is_deeply([map { [$access->{$_}{source}, @{ $access->{$_}{grantedBy} }{qw(type taskId)}] }
        @granted], [(['direct', 'restore', $task->{id}]) x 2],
        'as direct memberships, which the rehire gave');
    is_deeply($stack->ctl_ok('role', 'list', 'nordic', upn('tove.ahlgren'), '--json')->{items}, [],
        'no template is assigned');
    is_deeply([sort map { $_->{requester}{userPrincipalName} eq upn('tove.ahlgren') ? $_->{state}
        : () } @{ $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} }],
        ['ended', 'withdrawn'], 'the requests stay ended');
    my ($answer, @tasks) = role(assign => 'Analyst', 'tove.ahlgren');
    like({ map { %{ steps($_) } } @tasks }->{'addToGroup Workshop'},
        qr/^already: it was so before; it stays/, 'a template assigned anew finds them');
    role(unassign => 'Analyst', 'tove.ahlgren');
    ok(ldap_has('Workshop', 'tove.ahlgren'), 'and leaves them when it goes');
}

sub group_entry { my ($dn, $cn, @members) = @_;
    return "dn: cn=$dn,ou=groups,dc=nordic,dc=example\nobjectClass: groupOfNames\ncn: $cn\n"
    . join('', map {"member: $_\n"} @members ? @members : $Idadmin::Test::Slapd::filler) . "\n" }
my $ldif = group_entry('R/D\2C \22x\22', 'R/D, "x"') . group_entry('Workshop', 'Workshop')
    . group_entry('Store room', 'Store room')
    . group_entry('Canteen', 'Canteen', Idadmin::Test::Slapd::user_dn('bo.ek'));

for_each_stack {
    ($stack) = @_;
    my $made = $stack->cloud->api(POST => '/users',
        json => { userPrincipalName => upn('bo.ek'), displayName => 'Bo Ek',
        mailNickname => 'bo.ek', accountEnabled => JSON::PP::true(),
        usageLocation => 'SE', passwordProfile => { password => 'Begin-here-1' } });
    is($made->{status}, 201, 'Bo is in the cloud too') or diag $made->{body};
    $stack->apply_tenant(document());
    $stack->ctl_ok('sync', 'nordic', '--wait');
    subtest $_->[0] => $_->[1]
        for ['role templates' => \&templates], ['taken by hand' => \&taken_by_hand],
        ['odd names' => \&odd_names],
        ['a changed document' => \&changed_document], ['overtaken' => \&overtaken],
        ['interrupted' => \&interrupted], ['workflows' => \&workflows], ['requests' => \&requests],
        ['a leaver' => \&leaver], ['who comes back' => \&comes_back];
} cloud => {}, slapd => { ldif => $ldif };
done_testing();
