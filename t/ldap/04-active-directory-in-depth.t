# In a typical company's Active Directory (Samba), access through nested and primary groups is
# attributed, protected accounts are never changed, a large group is synchronised, and people who
# are in the cloud as well join and leave both.
# Parameter: members (250) of the large group.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_text on_one_engine parameter within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Samba ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall outcomes step);
use MIME::Base64 ();

my $reason = Idadmin::Test::Samba->skip_reason || Idadmin::Test::Cloud::skip_reason();
plan(skip_all => $reason) if $reason;

my $d       = $Idadmin::Test::Samba::domain;
my $realm   = $Idadmin::Test::Samba::dns;
my $suffix  = $Idadmin::Test::Samba::suffix;
my $many    = parameter(members => 250);
my ($stack, $samba);

sub upn  { my ($name) = @_; return $name =~ /@/ ? $name : "$name\@$d" }
sub dn   { return Idadmin::Test::Samba::group_dn(@_) }
sub escape { return Idadmin::Test::Stack::_escape(@_) }
sub group_of { my ($group, @more) = @_;
    return "dn: " . dn($group) . "\nchangetype: add\nobjectClass: group\nsAMAccountName: $group\n"
    . join('', map {"member: $_\n"} @more) . "\n" }
sub change   { my ($group, $verb, $dn) = @_;
    return $samba->modify("dn: " . dn($group)
    . "\nchangetype: modify\n$verb: member\nmember: $dn\n") }
sub access_of { my ($name) = @_;
    return { map { $_->{resource}{name} => $_ } @{
    $stack->get('/v1/api/user/access?limit=200&user='
    . escape(upn($name)))->{json}{data}{items} } } }
sub who_has { my ($group, %how) = @_;
    return { map { $_->{user}{userPrincipalName} => $_ } @{
    $stack->get('/v1/api/resource/access?limit=200&resource='
    . escape($group))->{json}{data}{items} } } }
sub sync    { $stack->ctl_ok('sync', 'nordic', '--wait') }
sub offboard { my ($name) = @_;
    my $answer = $stack->delete('/v1/api/user',
    { userPrincipalName => upn($name), date => (wall(time))[0], time => '00:00' });
    is($answer->{status}, 200, "$name is to be offboarded") or diag($answer->{body});
    return $answer->{json}{data}{taskId} }
sub over     { return map { $stack->wait_task($_, states => [qw(done failed attention)]) } @_ }
sub role     { my ($verb, $template, $name) = @_;
    return over(@{ $stack->ctl_ok('role', $verb, 'nordic', $template, upn($name),
    '--json')->{taskIds} }) }

# Role templates and requests grant groups of the domain, which reports nested ones and primary
# groups too.
sub attribution {
    my ($task) = role(assign => 'Crew', 'karin.hedlund');
    is($task->{state}, 'done', 'a role template is carried out') or diag(json_text($task));
    ok((grep {/Karin/} $samba->members('Inner')), 'in the domain');
    my $asked = $stack->ctl_ok('request', 'create', 'nordic', 'Tools', upn('karin.hedlund'),
        '--json');
    my $approved = $stack->ctl_ok('request', 'approve', 'nordic', $asked->{requestId}, '--by',
        upn('eva.berg'), '--json');
    over($approved->{taskIds}[0]);
    my $karin = "CN=Karin Hedlund,$Idadmin::Test::Samba::people";
    change('Deck', add => $karin);
    $samba->make_primary($karin, dn('Deck'));
    sync();
    my $access = access_of('karin.hedlund');
    is_deeply({ map { ($_ => [$access->{$_}{source}, ($access->{$_}{grantedBy} // {})->{name},
        map { $_->{name} } @{ $access->{$_}{via} }]) } qw(Inner Outer Workshop Deck),
        'Domain Users' }, {
            Inner => ['role_template', 'Crew'], Outer => ['role_template', 'Crew', 'Inner'],
                Workshop => ['iga_request', $access->{Workshop}{grantedBy}{name}],
            Deck => ['direct', undef], 'Domain Users' => ['direct', undef],
        }, 'a template, a group around its group, a request, the primary group and the one that '
        . 'was it') or diag(json_text($access));
    my ($granted) = grep { $_->{id} eq $asked->{requestId} } @{
        $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} };
    is($access->{Workshop}{grantedAt}, $granted->{decidedAt}, 'with the time of the approval');
    is(who_has('Deck')->{ upn('karin.hedlund') }{source}, 'direct', 'from the group\'s side too');
    is(who_has('Outer')->{ upn('karin.hedlund') }{source}, 'role_template',
        'over the group in between');
    ok(who_has('Domain Users')->{ upn('bo.ek') },
        'whose primary group it is shows in Domain Users');
    my @empty = map { $_->{name} } @{
        $stack->get('/v1/api/hygiene?sections=emptyGroups&limit=200')
            ->{json}{data}{sections}{emptyGroups}{items} };
    ok((grep { $_ eq 'Nobody' } @empty) && !grep { $_ eq 'Deck' || $_ eq 'Domain Users' } @empty,
        'an empty group is told, one that is somebody\'s primary group is not') or diag("@empty");

    # The primary group can be given, as it is so already; and not be taken.
    ($task) = role(assign => 'Sailor', 'karin.hedlund');
    is(step($task, 'addToGroup Deck')->{outcome}, 'already',
        'a template with the primary group finds it given') or diag(json_text($task));
    is(access_of('karin.hedlund')->{Deck}{source}, 'role_template', 'and is its source');
    ($task) = role(unassign => 'Sailor', 'karin.hedlund');
    like(step($task, 'removeFromGroup Deck')->{detail}, qr/it stood before/,
        'what stood before stays');
    role(assign => 'Sailor', 'maria.oqvist');
    $samba->make_primary($samba->user('maria.oqvist')->{dn}, dn('Deck'));
    $stack->worker->expect_log(qr/IDA0317.*primary group/);
    ($task) = role(unassign => 'Sailor', 'maria.oqvist');
    is($task->{state}, 'failed', 'what became the primary group cannot be taken');
    like($task->{error}, qr/Deck.*primary group/, 'and the reason is told');
    role(unassign => 'Crew', 'karin.hedlund');
    ok(!(grep {/Karin/} $samba->members('Inner')) && !access_of('karin.hedlund')->{Outer},
        'taken away it is gone, also from around');

    # which the service account may not
    $samba->modify("dn: CN=Domain Users,CN=Users,$suffix\nchangetype: modify\ndelete: "
        . "member\nmember: $karin\n");
    $task = $stack->wait_task(offboard('karin.hedlund'));
    like(json_text($task->{warnings}), qr/Deck.*primary group/,
        'an offboarding tells which primary group stays');
    is(access_of('karin.hedlund')->{Deck}{source}, 'direct', 'which is shown as access still held');
    my $left = access_of('karin.hedlund');
    is_deeply([grep { $samba->search("(&(objectClass=group)(name=$_))") } sort keys %$left],
        ['Deck'], 'and is all that is left in the domain');
}

# Accounts that only others may change. Nothing in them may be written, for any caller.
sub guards {
    my @guarded = (["administrator\@$realm", qr/critical system object|built-in/],
        ["krbtgt\@$realm", qr/critical system object/],
        ["guest\@$realm", qr/critical system object/],
        ["idadmin\@$realm", qr/service account/], ['old.admin', qr/adminCount/],
        ['per.lundin', qr/protectedAccounts/]);
    my $usn = sub { my ($filter) = @_; my ($entry) = $samba->search($filter);
        return $entry->{usnchanged}[0] };
    my %before = map { my $login = $_->[0] =~ s/@.*//r;
        ($_->[0] => [$login, $usn->("(sAMAccountName=$login)")]) } @guarded;
    my $group = $usn->('(sAMAccountName=Inner)');
    $stack->worker->expect_log(qr/IDA031[67].*(?:never changed|the account of \S+ is disabled)/);
    for (@guarded) {
        my ($name, $why) = @$_;
        my ($task) = over(offboard($name));
        is($task->{state}, 'failed', "$name: the offboarding fails");
        like($task->{error}, qr/$why.*never changed/, 'and says why');
        is_deeply([grep { ($_->{outcome} // '') =~ /done|already/ } @{ $task->{steps} }], [],
            'with no step done');
        my $answer = $stack->call(PATCH => '/v1/api/user',
            json => { userPrincipalName => upn($name), jobTitle => 'Puppet' });
        is($answer->{status}, 200, 'a change is asked for') or diag($answer->{body});
        ($task) = over($answer->{json}{data}{taskId});
        like($task->{state} . ' ' . ($task->{error} // ''), qr/^failed .*$why.*never changed/,
            'and fails as well');
        ($task) = role(assign => 'Crew', $name);
        like($task->{state} . ' ' . ($task->{error} // ''),
            qr/^failed .*(?:$why.*never changed|the account of \S+ is disabled)/,
            'it is added to no group');
        is($usn->("(sAMAccountName=$before{$name}[0])"), $before{$name}[1],
            'the account was not written');
    }
    is($usn->('(sAMAccountName=Inner)'), $group, 'nor the group');
    change('Inner', add => $samba->user('old.admin')->{dn});
    $group = $usn->('(sAMAccountName=Inner)');
    my ($task) = role(unassign => 'Crew', 'old.admin');
    my $asked = $stack->ctl_ok('request', 'create', 'nordic', 'Tools', upn('old.admin'), '--json');
    ($task) = over($stack->ctl_ok('request', 'approve', 'nordic', $asked->{requestId}, '--by',
        upn('eva.berg'), '--json')->{taskIds}[0]);
    like($task->{state} . ' ' . ($task->{error} // ''), qr/^failed .*adminCount.*never changed/,
        'an approved request does not either');
    is($usn->('(sAMAccountName=Inner)'), $group, 'and removed from no group');
    is($stack->delete('/v1/api/user', { userPrincipalName => "dc1\$\@$realm" })->{status}, 404,
        'the account of the domain controller is not found');

    # A workflow for another person's leaving changes the people who reported to the leaver.
    my $old = $samba->user('old.admin')->{dn};
    $samba->modify("dn: $old\nchangetype: modify\nreplace: manager\nmanager: "
        . $samba->user('sten.vik')->{dn} . "\n");
    my $written = $usn->('(sAMAccountName=old.admin)');
    sync();
    ($task) = over(offboard('sten.vik'));
    my $moved = step($task, 'Leaver/1 transferReports');
    is($moved->{outcome}, 'failed', 'a workflow does not change it') or diag(json_text($task));
    like($moved->{detail}, qr/adminCount/, 'and says why');
    is($usn->('(sAMAccountName=old.admin)'), $written, 'it was not written');
}

# Many members: whole, and member by member.
sub large_group {
    my $in_cache = sub { my ($row) =
        $stack->sql("SELECT member_count FROM cache.directory_group WHERE name = 'Many'");
        return $row->[0] };
    my $people = $Idadmin::Test::Samba::people;
    for (my $from = 1; $from <= $many; $from += 100) {
        my $to = $from + 99 < $many ? $from + 99 : $many;
        $samba->modify(join '',
            map {"dn: CN=many$_,$people\nchangetype: add\nobjectClass: user\nsAMAccountName: "
            . "many$_\nuserPrincipalName: many$_\@$d\nuserAccountControl: 512\n\n"} $from .. $to);
        $samba->modify("dn: " . dn('Many') . "\nchangetype: modify\nadd: member\n"
            . join('', map {"member: CN=many$_,$people\n"} $from .. $to));
    }
    sync();
    is($in_cache->(), $many, "$many members");
    my ($full) = $stack->sql("SELECT full_at FROM cache.sync_state WHERE directory = 'onPremises'");
    change('Many', delete => "CN=many$_,$people") for 1, 7, $many;
    change('Many', add => $samba->user('bo.ek')->{dn});
    sync();
    is($in_cache->(), $many - 2, 'three went, one came');
    my $access = access_of('bo.ek');
    ok($access->{Many} && !access_of("many7")->{Many} && access_of('many2')->{Many},
        'the right ones');
    is_deeply([$stack->sql("SELECT full_at FROM cache.sync_state WHERE directory = 'onPremises'")],
        [$full], 'without reading everything again');
    # A group that moves is read with all its members.
    $samba->modify("dn: " . dn('Many')
        . "\nchangetype: modrdn\nnewrdn: CN=Many\ndeleteoldrdn: 1\nnewsuperior: "
        . "$Idadmin::Test::Samba::services\n");
    sync();
    is($in_cache->(), $many - 2, 'nor a move of the group loses any');
}

sub taken { return scalar grep { $_ }
    map { $stack->get('/v1/api/users?status=active&limit=1')->{json}{data}{totalCount} } 1 }

# A person of both directories, from hiring to leaving.
sub both {
    my $count = $stack->get('/v1/api/users?status=active&limit=1')->{json}{data}{totalCount};
    $stack->apply_tenant($stack->tenant_document(governance(), seatLimit => $count + 1));
    my $answer;
    within(sub { $answer = $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'Hy', surname => 'Brid' }); $answer->{body} =~ /addToGroup/ });
    $answer = $stack->post('/v1/api/user', { firstname => 'Hy', surname => 'Brid' });
    is($answer->{status}, 200, 'hired') or diag($answer->{body});
    my $id = $answer->{json}{data}{taskId};
    is($stack->post('/v1/api/user', { firstname => 'One', surname => 'More' })->{status}, 403,
        'that was the last seat');
    my $task;
    within(sub { $task = $stack->task($id);
        $task->{state} eq 'queued'
        && ($task->{error} // '') =~ /has not appeared in the other directory/ })
        or diag(json_text($task));
    is(outcomes($task)->{createAccount}, 'done',
        'the account stands on-premises, and the task tells what it waits for');
    my $entry = $samba->user('hy.brid');
    $samba->set_password($entry->{dn}, Idadmin::Test::Samba::user_password('hy.brid'));
    is($samba->bind_code('hy.brid'), 0, 'the new user signs in');
    change($_, add => $entry->{dn}) for 'All staff', 'Inner';
    # As the directories' own synchronisation makes it.
    $stack->cloud->control(create => { type => 'user',
        properties => { userPrincipalName => upn('hy.brid'), displayName => 'Hy Brid',
        accountEnabled => JSON::PP::true(), onPremisesSyncEnabled => JSON::PP::true(),
        mail => upn('hy.brid'), mailNickname => 'hy.brid',
        onPremisesImmutableId => MIME::Base64::encode_base64($entry->{objectguid}[0], '') } });
    $task = $stack->wait_task($id);
    is(outcomes($task)->{'Joiner/1 addToGroup'}, 'done', 'what the cloud gives follows')
        or diag(json_text($task));
    sync();
    my $user = $stack->get('/v1/api/user/details?user='
        . escape(upn('hy.brid')))->{json}{data}{user};
    is_deeply($user->{directories}, ['cloud', 'onPremises'], 'one person of two directories');
    is($stack->post('/v1/api/user?dryRun=true',
        { firstname => 'One', surname => 'More' })->{status}, 403, 'with one seat');

    $id = offboard('hy.brid');
    within(sub { $task = $stack->task($id);
        $task->{state} eq 'queued'
        && ($task->{error} // '') =~ /does not show the account as disabled/ })
        or diag(json_text($task));
    my $steps = outcomes($task);
    my @steps = qw(disableAccount revokeMemberships revokeSessions@cloud revokeMemberships@cloud);
    is("@{$steps}{@steps}", 'done done done done',
        'what is done is seen while the cloud has not followed');
    is($steps->{'verify@cloud'}, undef, 'and what is not');
    like($samba->bind_text('hy.brid'), qr/data 533/, 'the bind fails: disabled');
    is($samba->user('hy.brid')->{memberof}, undef, 'in no group on-premises');
    my $cloud = $stack->cloud->user(upn('hy.brid'));
    is_deeply($cloud->{groups}, [], 'nor in the cloud');
    is($cloud->{revoked}, 1, 'signed out of the cloud');
    $stack->cloud->control(change => { key => upn('hy.brid'),
        properties => { accountEnabled => JSON::PP::false() } });
    $task = $stack->wait_task($id);
    is(outcomes($task)->{'verify@cloud'}, 'done', 'over when the cloud has followed');
    like(json_text($task->{warnings}), qr/Domain Users.*primary group/,
        'the primary group is reported');
    is($stack->cloud->user(upn('hy.brid'))->{revoked}, 2, 'signed out once more');
    sync();
    ok(within(sub { $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'One', surname => 'More' })->{status} == 200 }), 'the seat is free');
    is($stack->get('/v1/api/user/details?user='
        . escape(upn('hy.brid')))->{json}{data}{user}{status}, 'disabled',
        'and the person is told as disabled');
}

sub governance {
    return (roleTemplates => [{ name => 'Crew', groups => ['Inner'] },
        { name => 'Sailor', groups => ['Deck'] }],
        accessCatalog => [{ service => 'Tools', group => 'Workshop',
        approvers => [upn('eva.berg')] }],
        workflows => [{ name => 'Leaver', trigger => 'userDelete',
        actions => [{ type => 'transferReports', continueOnError => JSON::PP::true() }] },
            { name => 'Joiner', trigger => 'userCreate',
            actions => [{ type => 'addToGroup', group => 'Mobile staff',
            continueOnError => JSON::PP::true() }] }]);
}

on_one_engine {
    my ($engine) = @_;
    $samba = Idadmin::Test::Samba->new(document => { userBase => $suffix, groupBase => $suffix,
        createIn => $Idadmin::Test::Samba::people });
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => $samba, cloud => { home => $d },
        worker => { options => ['--threads', 2] });
    $samba->modify(join '', map { group_of(@$_) } ['Inner'], ['Outer', dn('Inner')], ['Workshop'],
        ['Deck'], ['Nobody'], ['Many']);
    sync();
    $stack->apply_tenant($stack->tenant_document(governance()));
    subtest attribution => \&attribution;
    subtest guards => \&guards;
    subtest large_group => \&large_group;
    subtest both => \&both;
    $_->stop for $stack, $samba;
} 'the store has no part in what Active Directory is sent; t/unit/governance/access.c and '
    . 't/unit/cache run the statements of access and cache on both';

done_testing();
