# Which person is meant if several accounts have one address or one account has several, and the
# treatment of groups of other classes and of expired accounts: over REST and a real slapd.
use strict;
use warnings;
use utf8;
use JSON::PP ();
use MIME::Base64 ();
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Tls ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack;
use Idadmin::Test::Times qw(outcomes step wall);
use Idadmin::Test::Workflows qw(act workflow);

my $d = $Idadmin::Test::Slapd::domain;
my ($people, $groups) = ($Idadmin::Test::Slapd::people, $Idadmin::Test::Slapd::groups);
my $elin = Idadmin::Test::Slapd::user_dn('elin.strand');
plan(skip_all => Idadmin::Test::Smtp->skip_reason) if Idadmin::Test::Smtp->skip_reason;
my $smtp = Idadmin::Test::Smtp->new(tls => '');
my $stack;

sub upn   { return "$_[0]\@$d" }
sub sync  { $stack->ctl_ok('sync', 'nordic', '--wait') }
sub id_of { return $stack->slapd->user($_[0])->{entryuuid}[0] }
sub details { my ($who) = @_; return $stack->get("/v1/api/user/details?user=$who") }
sub change {
    my ($uid, $text) = @_;
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn($uid)
        . "\nchangetype: modify\n$text");
    sync();
}

sub ambiguous {
    my ($answer, $name) = @_;
    is($answer->{status}, 409, "$name: 409") or diag $answer->{body};
    my $text = json_text($answer->{json});
    like($text, qr/\Q$_\E/, "$name: names $_") for id_of('eva.berg'), id_of('eva.admin');
}

sub one_address_of_two {
    $stack->slapd->add_user('eva.admin', mail => upn('eva.berg'), givenName => 'Eva', sn => 'Berg');
    sync();
    ambiguous($stack->get('/v1/api/user?userPrincipalName=' . upn('eva.berg')), 'GET');
    ambiguous($stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('eva.berg'), jobTitle => 'x' }), 'PATCH');
    ambiguous($stack->delete('/v1/api/user', { userPrincipalName => upn('eva.berg') }), 'DELETE');
    ambiguous($stack->post('/v1/api/user',
        { firstname => 'Åsa', surname => 'Öberg', manager => upn('eva.berg') }), 'manager');
    ambiguous(details(upn('eva.berg')), 'details');
    $stack->apply_tenant($stack->tenant_document(
        modules => { publicApi => JSON::PP::true, accessGovernance => JSON::PP::true },
        roleTemplates => [{ name => 'Seller', groups => ['Sales team'] }],
        accessCatalog => [{ service => 'CRM', group => 'CRM admins',
            approvers => [upn('eva.berg')] }]));
    for my $command (['role', 'assign', 'nordic', 'Seller', upn('eva.berg')],
        ['request', 'create', 'nordic', 'CRM', upn('eva.berg')]) {
        my $refused = $stack->ctl(@$command);
        isnt($refused->{exit}, 0, "@$command[0, 1] does not guess");
        like($refused->{err}, qr/\Q$_\E/, "@$command[0, 1]: names $_")
            for id_of('eva.berg'), id_of('eva.admin');
    }
    $stack->create_key(tickets => 'ticket-system', 'full', '--decisions');
    $stack->ctl_ok('request', 'create', 'nordic', 'CRM', upn('bo.ek'));
    my ($open) = @{ $stack->get('/v1/api/approvals')->{json}{data}{items} };
    ambiguous($stack->post('/v1/api/access-request/decision', { requestId => $open->{id},
        decision => 'approve', approver => upn('eva.berg') }, key => 'tickets'), 'approver');
    my $shown = $stack->ctl('user', 'show', 'nordic', upn('eva.berg'));
    like($shown->{err}, qr/uid=eva\.$_,/, "idadminctl names the DN of eva.$_") for qw(berg admin);
    my $report = $stack->get('/v1/api/hygiene?sections=sharedAddresses')
        ->{json}{data}{sections}{sharedAddresses};
    is_deeply([sort map { $_->{id} } @{ $report->{items} }],
        [sort map { id_of($_) } 'eva.berg', 'eva.admin'], 'the hygiene report lists both');
    is($report->{count}, 2, 'and counts them');
    my $check = $stack->{worker}->run('--check', 'nordic');
    like($check->{out}, qr/\Q@{[ upn('eva.berg') ]}\E is that of uid=eva\.\w+,.* and uid=eva\./,
        'so does the doctor, by DN');
    my $answer = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => id_of('eva.admin'), jobTitle => 'Administrator' });
    is($answer->{status}, 200, 'by object ID') or diag $answer->{body};
    is($stack->wait_task($answer->{json}{data}{taskId})->{state}, 'done', 'it is carried out');
    is($stack->slapd->user('eva.admin')->{title}[0], 'Administrator', 'on that account');
    isnt($stack->slapd->user('eva.berg')->{title}[0], 'Administrator', 'and no other');
    $answer = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('per.lundin'), manager => id_of('eva.admin') });
    is($stack->wait_task($answer->{json}{data}{taskId})->{state}, 'done', 'a manager by ID');
    is($stack->slapd->user('per.lundin')->{manager}[0],
        Idadmin::Test::Slapd::user_dn('eva.admin'), 'is set');
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('eva.admin'));
    sync();
    is($stack->get('/v1/api/user?userPrincipalName=' . upn('eva.berg'))->{status}, 200,
        'found again when the other is gone');
}

# An object ID is never ambiguous, even if others have the leaver's address now.
sub evidence_by_id {
    $stack->slapd->add_user('ola.gone');
    sync();
    my $id = id_of('ola.gone');
    my $task = $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => upn('ola.gone'), time => '00:00' })->{json}{data}{taskId});
    is($task->{state}, 'done', 'a person leaves') or diag explain $task;
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('ola.gone'));
    $stack->slapd->add_user("ola.$_", mail => upn('ola.gone')) for qw(one two);
    sync();
    my $told = $stack->ctl('evidence', 'nordic', $id, '--json')->{json};
    is($told->{userId}, $id, 'the evidence of the leaver');
    is_deeply([sort split /, /, $told->{addressNowOf} // ''],
        [sort map { id_of($_) } qw(ola.one ola.two)], 'names both who have the address now');
    like("@{ $told->{notProven} }", qr/several others have its address/,
        'which is not proven to be another person');
    like($stack->ctl('evidence', 'nordic', upn('ola.gone'))->{err},
        qr/is that of several accounts/, 'by address the question is ambiguous');
}

# A manager whose address another account gets while the task waits is still who was meant.
sub manager_of_a_shared_address {
    my $eva = id_of('eva.berg');
    my $answer = $stack->post('/v1/api/user', { firstname => 'Ulf', surname => 'Report',
        manager => upn('eva.berg'), date => '2030-05-06' });
    is($answer->{status}, 200, 'queued') or diag $answer->{body};
    my $id = $answer->{json}{data}{taskId};
    $stack->slapd->add_user('eva.admin', mail => upn('eva.berg'));
    sync();
    $stack->ctl_ok('task', 'reschedule', 'nordic', $id, wall(time - 120));
    my $task = $stack->wait_task($id);
    is($task->{state}, 'done', 'carried out') or diag explain $task;
    is($stack->slapd->user('ulf.report')->{manager}[0],
        Idadmin::Test::Slapd::user_dn('eva.berg'), 'the manager is who had the address alone');
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('eva.admin'));
    sync();
}

sub addresses_of_one {
    change('eva.berg', "add: mail\nmail: desk\@$d\nmail: 0\@elsewhere.example\n");
    for my $address (upn('eva.berg'), upn('desk'), '0@elsewhere.example') {
        my $user = details($address)->{json}{data}{user};
        is_deeply([@$user{qw(id userPrincipalName mail)}],
            [id_of('eva.berg'), upn('eva.berg'), upn('eva.berg')], "$address finds her");
    }
    change('eva.berg', "add: title;lang-ja\ntitle;lang-ja: AAA\n");
    isnt(details(upn('eva.berg'))->{json}{data}{user}{jobTitle}, 'AAA',
        'a value with an option is not hers');
    $stack->slapd->modify("dn: cn=admins,$groups\nchangetype: add\nobjectClass: groupOfNames\n"
        . "cn: admins\nmember: $elin\n\ndn: cn=Admins,ou=more,$groups\nchangetype: add\n"
        . "objectClass: groupOfNames\ncn: Admins\nmember: $elin\n");
    sync();
    my $answer = $stack->get('/v1/api/resource/access?resource=Admins');
    is($answer->{status}, 400, 'groups whose names differ in case alone');
    like($answer->{body}, qr/Admins.*admins|admins.*Admins/, 'are both named');
}

sub classes_of_groups {
    for my $group (qw(Unique Login)) {
        my $data = $stack->get("/v1/api/resource/access?resource=$group")->{json}{data};
        is_deeply([map { $_->{user}{userPrincipalName} } @{ $data->{items} }],
            [upn('elin.strand')], "$group is read");
    }
    my $task = $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => upn('elin.strand'), time => '00:00' })->{json}{data}{taskId});
    is($task->{state}, 'done', 'she leaves') or diag explain $task;
    my ($unique, $login) = map { ($stack->slapd->search("(cn=$_)"))[0] } qw(Unique Login);
    ok(!grep({ $_ eq $elin } @{ $unique->{uniquemember} }), 'one group of unique names');
    is($login->{memberuid}, undef, 'and one of login names');
    like(json_text($task->{warnings}), qr/Outside \(the group lies outside groupBase/,
        'what is not managed is named');
    like(json_text($task->{warnings}), qr/Chief \(an organizationalRole/, 'of each kind');
    my $told = $stack->ctl('evidence', 'nordic', upn('elin.strand'), '--json')->{json};
    ok(!$told->{complete}, 'the evidence is not complete');
    like("@{ $told->{notProven} }", qr/membership of $_ was not revoked/, "it names $_")
        for qw(Outside Chief);
}

# A leaver who still owns groups is not gone from them: each is named, with who else owns it.
sub owner {
    $stack->slapd->add_user('olga.owner');
    my $olga = "uid=olga.owner,$people";
    $stack->slapd->modify("dn: cn=$_->[0],$groups\nchangetype: add\nobjectClass: groupOfNames\n"
        . "cn: $_->[0]\nmember: $olga\nmember: $elin\n" . join '', map {"owner: $_\n"}
        @$_[1 .. $#$_]) for ['Owned', $olga], ['Shared', $olga, $elin];
    sync();
    my $task = $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => upn('olga.owner'), time => '00:00' })->{json}{data}{taskId});
    my $alone = 'no other account: name another owner by hand';
    like(json_text($task->{warnings}), qr/Owned by the account: Owned \($alone\)/, 'owned alone');
    like(json_text($task->{warnings}), qr/Shared \(with \Q$elin\E\)/, 'with another');
    my $told = $stack->ctl('evidence', 'nordic', upn('olga.owner'), '--json')->{json};
    ok(!$told->{complete}, 'the evidence is not complete');
    like("@{ $told->{notProven} }", qr/Owned by the account: $_ \(/, "it names $_")
        for qw(Owned Shared);
    my @want = ([Owned => $alone], [Shared => "with $elin"]);
    is_deeply([sort { $a->[0] cmp $b->[0] } map { [@$_{qw(name reason)}] }
        @{ $stack->get('/v1/api/user/access?user=' . id_of('olga.owner'))->{json}{data}{owned} }],
        \@want, 'her access has them');
    my $owned = sub { $stack->get('/v1/api/hygiene?sections=ownedByLeavers'
        . ($_[0] // ''))->{json}{data}{sections}{ownedByLeavers} };
    is_deeply([map { [@$_{qw(userPrincipalName group reason)}] } @{ $owned->()->{items} }],
        [map { [upn('olga.owner'), @$_] } sort { $a->[0] cmp $b->[0] } @want],
        'and hygiene') or diag explain $owned->();
    like($owned->()->{note}, qr/owners are not synchronised/, 'with what it does not know');
    my $page = $owned->('&limit=1');
    is_deeply([$page->{count}, scalar @{ $page->{items} }], [2, 1], 'a page of it');
    is($owned->("&limit=1&cursor=$page->{nextCursor}")->{items}[0]{group},
        $owned->()->{items}[1]{group}, 'and the next one');
    $stack->slapd->modify("dn: cn=Owned,$groups\nchangetype: modify\nreplace: owner\n"
        . "owner: $elin\n\ndn: cn=Shared,$groups\nchangetype: modify\nreplace: owner\n"
        . "owner: $elin\n");
    $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => upn('olga.owner'), time => '00:00' })->{json}{data}{taskId});
    is($owned->()->{count}, 0, 'another offboarding finds that others own them');
    is_deeply([grep { $_ eq $olga } map { $stack->slapd->members($_) } qw(Owned Shared)], [],
        'and she is a member of neither');
}

sub members_by_login {
    $stack->slapd->modify("dn: cn=Login,$groups\nchangetype: modify\nadd: memberUid\n"
        . "memberUid: late.comer\nmemberUid: BO.EK\n");
    sync();
    my $data = $stack->get('/v1/api/resource/access?resource=Login')->{json}{data};
    is_deeply([map { $_->{user}{userPrincipalName} } @{ $data->{items} }], [upn('bo.ek')],
        'who is named by login is found');
    ok($data->{resource}{otherMembers}, 'an unknown login is reported');
    $stack->slapd->add_user('late.comer');
    sync();
    $data = $stack->get('/v1/api/resource/access?resource=Login')->{json}{data};
    is_deeply([sort map { $_->{user}{userPrincipalName} } @{ $data->{items} }],
        [sort map { upn($_) } qw(bo.ek late.comer)], 'who comes later has what waited');
    ok(!$data->{resource}{otherMembers}, 'and no other is left');
}

# Keys and certificates let a leaver sign in without the password: they go with it, and come back
# with the person.
sub keys_and_certificates {
    my $dn = 'uid=nora.key,ou=people,' . $Idadmin::Test::Slapd::suffix;
    my ($pem) = slurp(Idadmin::Test::Tls::files()->{cert})
        =~ /-----BEGIN CERTIFICATE-----(.*?)-----END/s;
    my $certificate = $pem =~ s/\s//gr;
    $stack->slapd->add_user('nora.key', employeeNumber => 'N-1',
        objectClass => ['inetOrgPerson', 'ldapPublicKey'],
        sshPublicKey => ['ssh-rsa AAA', 'ssh-b']);
    $stack->slapd->modify("dn: $dn\nchangetype: modify\nadd: userCertificate;binary\n"
        . "userCertificate;binary:: $certificate\n");
    sync();
    my $stands = sub { my $entry = $stack->slapd->user('nora.key');
        return [sort(@{ $entry->{sshpublickey} // [] }), map { s/\s//gr }
            map { MIME::Base64::encode_base64($_) }
            @{ $entry->{'usercertificate;binary'} // [] }] };
    my $had = $stands->();
    is(scalar @$had, 3, 'two keys and a certificate') or diag explain $had;
    my $answer = $stack->delete('/v1/api/user',
        { userPrincipalName => upn('nora.key'), time => '00:00' });
    my $task = $stack->wait_task($answer->{json}{data}{taskId});
    is_deeply($stands->(), [], 'an offboarding takes them');
    like(step($task, 'revokeMemberships')->{detail},
        qr/taken\ away:\ (?:sshPublicKey,\ userCertificate;binary
            |userCertificate;binary,\ sshPublicKey)/x,
        'and says which');
    unlike(json_text($stack->task($task->{id})), qr/AAA/, 'but not their values');
    # Another offboarding finds nothing, and does not forget what the first one took.
    $answer = $stack->delete('/v1/api/user',
        { userPrincipalName => upn('nora.key'), time => '00:00' });
    $stack->wait_task($answer->{json}{data}{taskId});
    # One that an administrator gave meanwhile stays, what the account has is not doubled.
    $stack->slapd->modify("dn: $dn\nchangetype: modify\nadd: sshPublicKey\nsshPublicKey: ssh-b\n"
        . "sshPublicKey: ssh-new\n");
    $answer = $stack->post('/v1/api/user', { firstname => 'Nora', surname => 'Key',
        employeeId => 'N-1', rehire => 'restore' });
    $task = $stack->wait_task($answer->{json}{data}{taskId});
    is_deeply($stands->(), [sort(@$had[0, 1], 'ssh-new'), $had->[2]],
        'who is brought back has them')
        or diag json_text($task);
    like(step($task, 'restoreMemberships')->{detail}, qr/given back: .*sshPublicKey/, 'as is said');
}

sub ends {
    change('bo.ek', "replace: pwdEndTime\npwdEndTime: 20200101000000Z\n");
    my $user = details(upn('bo.ek'))->{json}{data}{user};
    is_deeply([@$user{qw(status statusReason)}, $user->{accountEnabled} ? 1 : 0],
        ['disabled', 'expired', 0], 'an account past its end');
    my ($listed) = @{
        $stack->get('/v1/api/users?status=disabled&query=bo.ek')->{json}{data}{items} };
    is($listed->{statusReason}, 'expired', 'in lists as well');
    my $answer = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('bo.ek'), accountEnabled => JSON::PP::true });
    my $task = $stack->wait_task($answer->{json}{data}{taskId});
    like(json_text($task->{warnings}), qr/its end \(pwdEndTime\) is over/,
        'enabling it says that this is not enough');
    change('bo.ek', "delete: pwdEndTime\n");
    $user = details(upn('bo.ek'))->{json}{data}{user};
    is_deeply([@$user{qw(status statusReason)}], ['active', undef], 'without an end it is active');
}

# Queued work follows the person, not the address: the address moves to a namesake, and a manager
# leaves.
sub hire {
    my ($surname, $manager) = @_;
    my $answer = $stack->post('/v1/api/user', { firstname => 'Ny', surname => $surname,
        manager => upn($manager), date => '2030-05-06' });
    is($answer->{status}, 200, "a hire with the manager $manager") or diag $answer->{body};
    return $answer->{json}{data};
}

sub now_done {
    my ($id, %how) = @_;
    $stack->ctl_ok('task', 'reschedule', 'nordic', $id, wall(time - 120));
    return $stack->wait_task($id, %how);
}

sub offboard {
    my ($who) = @_;
    my $task = $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => $who, time => '00:00' })->{json}{data}{taskId});
    is($task->{state}, 'done', "$who leaves") or diag explain $task;
}

sub mail_to_a_manager {
    $stack->apply_tenant($stack->tenant_document(workflows => [workflow('Joiner', 'userCreate',
        act(sendInitialPassword => to => '{manager}'),
        act(sendEmail => to => '{manager}', subject => '{manager}', body => 'x')),
        workflow('Leaver', 'userDelete', act('transferReports'))]));
    $stack->slapd->add_user('per.ask', displayName => 'Per Ask');
    sync();
    my ($first, $second) = map { hire($_, 'per.ask')->{taskId} } 'Ett', 'Twa';
    my $creation = $stack->post('/v1/api/user', { firstname => 'Chef', surname => 'Ny',
        date => '2030-05-05' })->{json}{data}{taskId};
    my $third = hire('Tre', 'chef.ny')->{taskId};
    change('per.ask', "replace: mail\nmail: " . upn('per.moe') . "\n");
    $stack->slapd->add_user('per.namesake', mail => upn('per.ask'));
    sync();
    my $task = now_done($first);
    is($task->{state}, 'done', 'carried out') or diag explain $task;
    is($stack->slapd->user('ny.ett')->{manager}[0], Idadmin::Test::Slapd::user_dn('per.ask'),
        'with the manager who was meant');
    my @mail = $smtp->mail(upn('per.moe'));
    is(scalar @mail, 2, 'who has the password and the mail');
    is($mail[1]{headers}{subject}, 'Per Ask', 'by name');
    is(scalar(my @wrong = $smtp->mail(upn('per.ask'))), 0, 'and the namesake has nothing');

    now_done($creation);
    change('chef.ny', "replace: mail\nmail: " . upn('chef.moved') . "\n");
    $stack->slapd->add_user('chef.namesake', mail => upn('chef.ny'));
    sync();
    $task = now_done($third);
    is($stack->slapd->user('ny.tre')->{manager}[0], Idadmin::Test::Slapd::user_dn('chef.ny'),
        'a manager who was queued when the hire was asked for') or diag explain $task;
    is(scalar(@wrong = $smtp->mail(upn('chef.ny'))), 0, 'whose namesake has nothing');

    offboard(upn('per.moe'));
    $stack->worker->expect_log(qr/IDA0317|IDA0316/);
    $task = now_done($second, states => ['failed', 'done', 'attention']);
    for my $name ('setManager', 'Joiner/1 sendInitialPassword') {
        my $step = step($task, $name);
        is($step->{outcome}, 'failed', "$name: nothing for a manager with a disabled account");
        like($step->{detail}, qr/per\.moe\S+ has a disabled account/, 'and says so');
    }
    is(scalar($smtp->mail(upn('per.moe'))), 2, 'who gets no mail') ;
    ok(!$stack->slapd->user('ny.twa')->{manager}, 'and no report');

    my $id = id_of('chef.ny');
    my $fourth = hire('Fyra', 'chef.moved')->{taskId};
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('chef.ny'));
    $stack->slapd->add_user('chef.again', mail => upn('chef.moved'));
    sync();
    $task = now_done($fourth, states => ['failed', 'done', 'attention']);
    like(step($task, 'Joiner/1 sendInitialPassword')->{detail},
        qr/is gone \(ID \Q$id\E\), and another account has the address now/,
        'one created again under the address is somebody else');
}

# Names of the tenant document mean the person whom they meant when it was applied.
sub decide {
    my ($as, $request) = @_;
    return $stack->post('/v1/api/access-request/decision', { requestId => $request,
        decision => 'approve', approver => upn($as) }, key => 'tickets');
}

sub ask_for_crm {
    my ($who) = @_;
    $stack->ctl_ok('request', 'create', 'nordic', 'CRM', upn($who));
    my ($open) = grep { $_->{requester}{userPrincipalName} eq upn($who) }
        @{ $stack->get('/v1/api/approvals')->{json}{data}{items} };
    return $open;
}

sub document {
    my (%more) = @_;
    return $stack->tenant_document(
        modules => { publicApi => JSON::PP::true, accessGovernance => JSON::PP::true },
        directories => { onPremises => $stack->directory_document(protectedAccounts =>
            [upn('vip'), Idadmin::Test::Slapd::user_dn('bydn')]) },
        accessCatalog => [{ service => 'CRM', group => 'CRM admins',
            approvers => [upn('dec.ide'), upn('second')] }],
        workflows => [workflow('Mover', 'userUpdate',
            act(sendEmail => to => upn('dec.ide'), subject => 's', body => 'b'))], %more);
}

sub names_of_the_document {
    $stack->slapd->add_user($_) for qw(dec.ide vip bydn ann.asks bob.asks second);
    sync();
    $stack->apply_tenant(document());
    $stack->worker->expect_log(qr/IDA0340|IDA0317|IDA0316/);
    my ($first, $other) = map { ask_for_crm($_) } qw(ann.asks bob.asks);
    my $id = id_of('dec.ide');
    for my $uid (qw(dec.ide vip)) {
        change($uid, "replace: mail\nmail: " . upn("$uid.moved") . "\n");
        $stack->slapd->add_user("$uid.namesake", mail => upn($uid));
    }
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn('bydn')
        . "\nchangetype: modrdn\nnewrdn: uid=bydn.moved\ndeleteoldrdn: 1\n");
    sync();
    my ($shown) = grep { $_->{id} eq $first->{id} }
        @{ $stack->get('/v1/api/approvals')->{json}{data}{items} };
    is($shown->{eligibleApprovers}[0]{id}, $id, 'who may decide is who was named');
    is(decide('dec.ide', $first->{id})->{status}, 403, 'the namesake approves nothing');
    my $answer = decide('dec.ide.moved', $first->{id});
    is($answer->{status}, 200, 'the person named does') or diag $answer->{body};
    my $task = $stack->wait_task($answer->{json}{data}{taskIds}[0]);
    is(outcomes($task)->{grantAccess} // $task->{state}, 'done', 'which the worker accepts')
        or diag explain $task;
    ok((grep {/ann\.asks/} $stack->slapd->members('CRM admins')), 'the access is given');
    for my $protected (upn('vip.moved'), upn('bydn')) {
        $answer = $stack->delete('/v1/api/user',
            { userPrincipalName => $protected, time => '00:00' });
        like("@{ $answer->{json}{data}{warnings} // [] }", qr/is one of protectedAccounts/,
            'as is said when the leave is asked for');
        $task = $stack->wait_task($answer->{json}{data}{taskId}, states => [qw(failed done)])
            if $answer->{status} == 200;
        like(json_text($task // $answer->{json}), qr/protectedAccounts/,
            "$protected stays protected under another name");
    }
    $task = $stack->wait_task($stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('second'), city => 'Lund' })->{json}{data}{taskId});
    is(scalar($smtp->mail(upn('dec.ide.moved'))), 1, 'a recipient is who was named')
        or diag explain $task;
    is(scalar($smtp->mail(upn('dec.ide'))), 0, 'not who has the address now');
    my $check = $stack->{worker}->run('--check', 'nordic');
    for my $uid (qw(dec.ide vip)) {
        my $line = qr/\Q@{[ upn($uid) ]}\E means \Q@{[ upn("$uid.moved") ]}\E \(ID/;
        like($check->{out}, $line, "the check says that $uid is another's name");
        like($stack->ctl('doctor')->{out}, $line, 'so does the doctor');
        ok(within(sub { $stack->worker->log_text =~ /IDA0340.*$line/ }), 'and the log');
    }

    # The document is applied again: the names keep to their people, until they were taken out.
    $stack->apply_tenant(document(name => 'Nordic again'));
    is(decide('dec.ide', $other->{id})->{status}, 403, 'another change rebinds nothing');
    $stack->apply_tenant(document(accessCatalog => [], workflows => []));
    $answer = $stack->apply_tenant(document());
    is(decide('dec.ide.moved', $other->{id})->{status}, 403, 'a name taken out and put back');
    offboard(upn('dec.ide'));
    is(decide('dec.ide', $other->{id})->{status}, 403, 'a leaver decides nothing');
    $check = $stack->{worker}->run('--check', 'nordic');
    like($check->{out}, qr/\Q@{[ upn('dec.ide') ]}\E means .*, whose account is disabled/,
        'and is named');
    $stack->apply_tenant(document(accessCatalog => [{ service => 'CRM', group => 'CRM admins',
        approvers => [upn('coming')] }]));
    $check = $stack->{worker}->run('--check', 'nordic');
    like($check->{out}, qr/\Q@{[ upn('coming') ]}\E is the name of nobody/, 'as is nobody');

    # A row put in by hand gives nothing.
    $stack->slapd->add_user('coming');
    sync();
    my ($accounts) = map { $_->[0] } $stack->sql('SELECT accounts FROM named_account');
    like($accounts, qr/\Q@{[ id_of('coming') ]}\E/, 'a name is resolved when it is first seen');
    $accounts =~ s/\Q@{[ id_of('coming') ]}\E/@{[ id_of('ann.asks') ]}/;
    $stack->sql("UPDATE named_account SET accounts = '$accounts'");
    $stack->ctl_ok('request', 'create', 'nordic', 'CRM', upn('elin.strand'));
    my ($open) = grep { $_->{requester}{userPrincipalName} eq upn('elin.strand') }
        @{ $stack->get('/v1/api/approvals')->{json}{data}{items} };
    is(decide('ann.asks', $open->{id})->{status}, 403, 'a forged row makes no approver');
}

# A leaver as manager, heir, requester or assignee is reported when asked, and refused when run.
sub leavers {
    $stack->slapd->add_user($_) for qw(lead heir.less rep.one asks.late);
    change('rep.one', 'add: manager' . "\nmanager: " . Idadmin::Test::Slapd::user_dn('heir.less')
        . "\n");
    $stack->apply_tenant(document(roleTemplates => [{ name => 'Seller', groups => ['Sales team'] }],
        accessCatalog => [{ service => 'CRM', group => 'CRM admins',
            approvers => [upn('second')] }],
        workflows => [workflow('Leaver', 'userDelete',
            act(transferReports => to => upn('lead')))]));
    my $open = ask_for_crm('asks.late');
    offboard(upn('lead'));
    change('asks.late', "add: pwdEndTime\npwdEndTime: 20200101000000Z\n");
    my $warned = qr/account of \S+ is disabled: unless it is enabled by then/;
    my $hired = hire('Leads', 'lead');
    like(json_text($hired->{warnings}), $warned, 'as manager of a hire');
    my $answer = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('rep.one'), manager => upn('lead') });
    like(json_text($answer->{json}{data}{warnings}), $warned, 'as manager by PATCH');
    my $task = $stack->wait_task($answer->{json}{data}{taskId}, states => ['failed']);
    like($task->{error}, qr/manager \S+ has a disabled account/, 'which is not carried out');
    $task = $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => upn('heir.less'), time => '00:00' })->{json}{data}{taskId},
        states => [qw(failed done attention)]);
    like(step($task, 'Leaver/1 transferReports')->{detail},
        qr/^The reports of heir\.less\S+ \(1\) stay: lead\S+ has a disabled account/,
        'as heir of reports');
    $answer = decide('second', $open->{id});
    like(json_text($answer->{json}{data}{warnings}), $warned, 'as requester');
    $task = $stack->wait_task($answer->{json}{data}{taskIds}[0], states => ['failed']);
    like($task->{error}, qr/not given: the account of asks\.late\S+ is disabled/,
        'who is given nothing');
    my $hygiene = sub { $stack->get('/v1/api/hygiene')->{json}{data}{sections}{ $_[0] } };
    my $orphans = $hygiene->('reportsToLeavers');
    is_deeply([sort map { $_->{userPrincipalName} } @{ $orphans->{items} }],
        [sort map { upn($_) } qw(ny.ett rep.one)], 'whom the hygiene report names');
    is($orphans->{count}, 2, 'and counts');
    my $stuck = ask_for_crm('rep.one');
    ok(!(grep { $_->{requestId} eq $stuck->{id} }
        @{ ($hygiene->('undecidableRequests') // {})->{items} // [] }),
        'a request that somebody can decide');
    change('second', "add: pwdEndTime\npwdEndTime: 20200101000000Z\n");
    my $undecidable = $hygiene->('undecidableRequests');
    is_deeply([map {"$_->{requestId} $_->{service} $_->{userPrincipalName}"}
        grep { $_->{requestId} eq $stuck->{id} } @{ $undecidable->{items} }],
        ["$stuck->{id} CRM " . upn('rep.one')],
        'one that nobody can decide');
    my $role = $stack->ctl('role', 'assign', 'nordic', 'Seller', upn('asks.late'), '--json');
    like(json_text($role->{json}), $warned, 'by role assign');
    ok(!(grep {/asks\.late/} $stack->slapd->members('CRM admins'),
        $stack->slapd->members('Sales team')), 'no group has the leaver');
}

# The address of an account that is gone is another's: the advice can be followed.
sub advice {
    $stack->slapd->add_user('gone.one');
    sync();
    $stack->call(PATCH => '/v1/api/user', json => { userPrincipalName => upn('gone.one'),
        city => 'Lund', date => '2030-01-01' });
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('gone.one'));
    $stack->slapd->add_user('gone.two', mail => upn('gone.one'));
    sync();
    my $answer = $stack->delete('/v1/api/user', { userPrincipalName => upn('gone.one') });
    is($answer->{status}, 409, 'refused');
    like($answer->{body}, qr/no longer has.*or cancel that task\./, 'with what can be done');
}

on_one_engine {
    $stack = Idadmin::Test::Stack->new(engine => $_[0],
        worker => { options => [$smtp->options(from => 'identity@nordic.example')] }, slapd => {
        global => "include /etc/ldap/schema/nis.schema\n"
            . 'attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME \'sshPublicKey\' EQUALITY '
            . "octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )\n"
            . 'objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME \'ldapPublicKey\' SUP top '
            . 'AUXILIARY MAY ( sshPublicKey $ uid ) )',
        ldif   => "dn: ou=more,$groups\nobjectClass: organizationalUnit\nou: more\n\n"
            . "dn: cn=Unique,$groups\nobjectClass: groupOfUniqueNames\ncn: Unique\n"
            . "uniqueMember: $elin\n\n"
            . "dn: cn=Login,$groups\nobjectClass: posixGroup\ncn: Login\ngidNumber: 7\n"
            . "memberUid: elin.strand\n\n"
            . "dn: cn=Outside,ou=services,$Idadmin::Test::Slapd::suffix\n"
            . "objectClass: groupOfNames\ncn: Outside\nmember: $elin\n\n"
            . "dn: cn=Chief,$groups\nobjectClass: organizationalRole\ncn: Chief\n"
            . "roleOccupant: $elin\n\n" });
    subtest 'one address of two' => \&one_address_of_two;
    subtest 'manager by ID'      => \&manager_of_a_shared_address;
    subtest 'mail to a manager'  => \&mail_to_a_manager;
    subtest 'names of the document' => \&names_of_the_document;
    subtest 'leavers'            => \&leavers;
    subtest 'advice'             => \&advice;
    subtest 'addresses of one'   => \&addresses_of_one;
    subtest 'evidence by ID'     => \&evidence_by_id;
    subtest 'classes of groups'  => \&classes_of_groups;
    subtest 'owner'              => \&owner;
    subtest 'members by login'   => \&members_by_login;
    subtest 'keys and certificates' => \&keys_and_certificates;
    subtest 'ends'               => \&ends;
    $stack->stop;
    $smtp->stop;
} 'Look-ups and the directory are the subject; t/unit/cache/person.c asks the statements on both '
    . 'engines.';
done_testing();
