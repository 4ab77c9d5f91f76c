# A person in two directories has one seat, and is changed on-premises first and in the cloud after
# the directories' own synchronisation has run; either directory may be unavailable meanwhile.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Fault ();
use Idadmin::Test::Stack;
use Idadmin::Test::Times qw(outcomes step wall);

plan skip_all => Idadmin::Test::Slapd::skip_reason() || Idadmin::Test::Cloud::skip_reason()
    if Idadmin::Test::Slapd::skip_reason() || Idadmin::Test::Cloud::skip_reason();

my $d = $Idadmin::Test::Slapd::domain;
my $clock = Idadmin::Test::Fault->new('idadmin-worker');
my $stack;

sub upn     { return "$_[0]\@$d" }
sub offboard { my ($uid) = @_;
    my $answer = $stack->delete('/v1/api/user',
    { userPrincipalName => upn($uid), date => (wall(time - 86_400))[0] });
    is($answer->{status}, 200, "offboarding of $uid") or diag $answer->{body};
    return $answer->{json}{data}{taskId} }
sub groups_on_premises { my ($uid) = @_;
    return grep { my $group = $_;
    grep { $_ eq Idadmin::Test::Slapd::user_dn($uid) } $stack->slapd->members($group) } 'All staff',
    'Sales team', 'Engineering', 'Finance', 'CRM admins' }
sub is_off { my ($uid) = @_; return $stack->slapd->bind_code($uid) != 0 }
sub waits_at { my ($id, $why) = @_; my $task;
    ok(within(sub { $task = $stack->task($id);
    $task->{state} eq 'queued' && ($task->{error} // '') =~ $why }), 'it waits, and says for what')
    or diag explain $task; return $task }

sub groups_in_cloud { my ($uid) = @_; return sort @{ $stack->cloud->user(upn($uid))->{groups} } }
# A unique employee number, and the person's groups: "directory group", without those that the cloud
# never revokes.
sub employed {
    my ($uid, $number) = @_;
    $stack->wait_task($stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn($uid), employeeId => $number })->{json}{data}{taskId});
    return sort((map {"onPremises $_"} groups_on_premises($uid)),
        map {"cloud $_"} grep {
        !/^(?:Everyone\ in\ sales|Synced\ staff|Mail\ developers|News\ list|Role
            \ holders|Restricted|Stockholm)$/x } groups_in_cloud($uid));
}
sub restore { my ($number, $query) = @_;
    return $stack->post('/v1/api/user' . ($query // ''),
    { firstname => 'Who', surname => 'Returns', employeeId => $number, rehire => 'restore' }) }
sub listed { my ($answer) = @_;
    return sort map {"$_->{directory} $_->{name}"} @{ $answer->{json}{data}{rehire}{memberships} } }
sub given_back { my ($id) = @_;
    return {
    map {@$_} $stack->sql("SELECT directory, count(*) FROM task_membership WHERE restored_by = "
    . "'$id' AND retained IS NULL GROUP BY directory") } }
my %had;

sub joined {
    my $user = $stack->get('/v1/api/user/details?user='
        . Idadmin::Test::Stack::_escape(upn('bo.ek')))->{json}{data}{user};
    is_deeply($user->{directories}, ['cloud', 'onPremises'], 'known in both');
    is($user->{id}, $stack->cloud->user(upn('bo.ek'))->{id}, 'under the ID of the cloud');
    is($stack->get('/v1/api/users?query=bo%20ek')->{json}{data}{totalCount}, 1, 'a person once');
    $stack->apply_tenant($stack->tenant_document(seatLimit => 1));
    my $answer = $stack->post('/v1/api/user', { firstname => 'One', surname => 'Toomany' });
    my $persons = scalar grep { $_->{accountEnabled} }
        map { $stack->cloud->user(upn($_)) } (map { $_->[0] } @Idadmin::Test::People::people),
        'root.admin', 'syn.kad';
    is($answer->{status}, 403, 'no seat');
    like($answer->{json}{error}{message}, qr/\b$persons\b/, "$persons persons have one seat each");
    $stack->apply_tenant($stack->tenant_document(seatLimit => 500));
}

# Two accounts of the same name that nothing synchronises: both are disabled by us.
sub apart {
    $had{'bo.ek'} = [employed('bo.ek', 'B-1')];
    my $task = $stack->wait_task(offboard('bo.ek'));
    is_deeply(outcomes($task),
        { disableAccount => 'done', 'revokeSessions@cloud' => 'done', revokeMemberships => 'done',
        'revokeMemberships@cloud' => 'done',
            awaitSynchronisation => 'done', verify => 'done', 'verify@cloud' => 'done' },
            'each step') or diag explain $task;
    like(step($task, 'awaitSynchronisation')->{detail},
        qr/does not follow this one: disabled there too/, 'the cloud account is disabled by us');
    my $cloud = $stack->cloud->user(upn('bo.ek'));
    ok(is_off('bo.ek') && !$cloud->{accountEnabled}, 'disabled in both');
    is_deeply([groups_on_premises('bo.ek')], [], 'in no group on-premises');
    is_deeply([grep { $_ ne 'Everyone in sales' } @{ $cloud->{groups} }], [],
        'nor in the cloud, but for the one by rule');
    is($cloud->{revoked}, 2, 'signed out at first and once more when disabled');
    like("@{ $task->{warnings} }", qr/Everyone in sales/, 'which is told');
}

# Enabled and disabled by itself, not as a leaver: no account of the person remains, and no one
# waits for a synchronisation.
sub switched {
    my ($uid) = 'elin.strand';
    my $switch = sub {
        my ($to) = @_;
        my $answer = $stack->call(PATCH => '/v1/api/user',
            json => { userPrincipalName => upn($uid), accountEnabled => $to ? JSON::PP::true()
            : JSON::PP::false() });
        is($answer->{status}, 200, $to ? 'enabling is queued' : 'disabling is queued')
            or diag $answer->{body};
        return $stack->wait_task($answer->{json}{data}{taskId});
    };
    my $detail = sub { step($_[0], 'awaitSynchronisation')->{detail} };
    like($detail->($switch->(0)), qr/does not follow this one: disabled there too/,
        'what nothing synchronises is disabled by us');
    ok(is_off($uid) && !$stack->cloud->user(upn($uid))->{accountEnabled}, 'disabled in both');
    like($detail->($switch->(1)), qr/does not follow this one: enabled there too/, 'and enabled');
    ok($stack->cloud->user(upn($uid))->{accountEnabled}, 'in both');
    $stack->cloud->control(change => { key => upn($uid),
        properties => { onPremisesSyncEnabled => JSON::PP::true() } });
    my $task = $switch->(0);
    is(outcomes($task)->{awaitSynchronisation}, 'skipped',
        'an account that is synchronised is left to the synchronisation');
    like($detail->($task), qr/follows this one with its next synchronisation/, 'which is told');
    is($task->{state}, 'done', 'without waiting for it');
    ok($stack->cloud->user(upn($uid))->{accountEnabled}, 'which will do it');
    $switch->(1);
    $task = $stack->wait_task($stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn($uid), jobTitle => 'Clerk' })->{json}{data}{taskId});
    ok(!exists outcomes($task)->{awaitSynchronisation},
        'another change does not concern the other account');
}

# Synchronised: the cloud follows when the directories' own synchronisation has run.
sub synchronised {
    $had{'karin.hedlund'} = [employed('karin.hedlund', 'K-1')];
    $stack->cloud->control(change => { key => upn('karin.hedlund'),
        properties => { onPremisesSyncEnabled => JSON::PP::true() } });
    my $id = offboard('karin.hedlund');
    my $task = waits_at($id,
        qr/Waits\ for\ the\ synchronisation\ between\ the\ directories:\ the\ other\ directory
            \ does\ not\ show\ the\ account\ as\ disabled\ yet/x);
    my $steps = outcomes($task);
    my @steps = qw(disableAccount revokeMemberships revokeSessions@cloud revokeMemberships@cloud);
    is("@{$steps}{@steps}", 'done done done done',
        'what is done is seen meanwhile');
    is($steps->{verify}, undef, 'and what is not');
    is($task->{attempts}, 0, 'waiting is no failed try');
    ok(is_off('karin.hedlund'), 'disabled on-premises');
    is($stack->cloud->user(upn('karin.hedlund'))->{revoked}, 1, 'signed out of the cloud');
    $stack->cloud->control(change => { key => upn('karin.hedlund'),
        properties => { accountEnabled => JSON::PP::false() } });
    $task = $stack->wait_task($id);
    like(step($task, 'awaitSynchronisation')->{detail}, qr/shows the account as disabled/,
        'the cloud has followed');
    is($stack->cloud->user(upn('karin.hedlund'))->{revoked}, 2, 'signed out once more');
    is(outcomes($task)->{'verify@cloud'}, 'done', 'verified there');
}

# Who comes back gets back what was left in both; the account that nothing synchronises is enabled
# by the service, which had disabled it.
sub returned {
    my @had = @{ $had{'bo.ek'} };
    ok(3 <= grep({/^cloud/} @had) && 3 <= grep({/^onPremises/} @had), "was in @had");
    my $plan;
    # the seats given above hold within 5 s
    within(sub { $plan = restore('B-1', '?dryRun=true'); $plan->{status} == 200 });
    is_deeply([listed($plan)], \@had, 'a dry run lists them') or diag $plan->{body};
    is_deeply($plan->{json}{data}{plan}{steps},
        ['updateAccount', 'restoreMemberships', 'awaitSynchronisation', 'restoreMemberships@cloud'],
        'and each step');
    my $answer = restore('B-1');
    is_deeply([listed($answer)], \@had, 'so does the answer');
    is_deeply([map {"$_->{directory} $_->{name}"} @{
        $answer->{json}{data}{rehire}{notRevokedThen} }],
        ['cloud Everyone in sales', 'onPremises Everyone in sales'], 'and what never went')
        or diag $answer->{body};
    my $task = $stack->wait_task($answer->{json}{data}{taskId});
    is_deeply(outcomes($task), { map { ($_ => 'done') } @{ $plan->{json}{data}{plan}{steps} } },
        'each step is done') or diag explain $task;
    is(scalar @{ $task->{warnings} }, 1, 'nothing is missing but the password');
    like($task->{warnings}[0], qr{set a new password}, 'which the offboarding replaced');
    like(step($task, 'awaitSynchronisation')->{detail},
        qr/does not follow this one: enabled there too/, 'the cloud account is enabled by us');
    is_deeply([sort((map {"onPremises $_"} groups_on_premises('bo.ek')),
        map {"cloud $_"} grep { $_ ne 'Everyone in sales' } groups_in_cloud('bo.ek'))], \@had,
        'every membership is back, where it was');
    for my $part (['onPremises', ''], ['cloud', '@cloud']) {
        my ($where, $mark) = @$part;
        my $detail = step($task, "restoreMemberships$mark")->{detail};
        is_deeply([sort split /, /, $detail =~ s/^given back: //r],
            [map { /^$where (.*)/ ? $1 : () } @had], "the step tells of the groups $where alone");
    }
    ok(!$stack->slapd->user('bo.ek')->{pwdaccountlockedtime}
        && $stack->cloud->user(upn('bo.ek'))->{accountEnabled}, 'enabled in both');
    is_deeply(given_back($task->{id}),
        { map { my $where = $_; ($where => scalar grep {/^$where/} @had) } 'cloud', 'onPremises' },
        'none is offered a second time');
    my $evidence = $stack->ctl('evidence', 'nordic', upn('bo.ek'), '--json')->{json};
    ok(!$evidence->{complete}, 'the evidence of the offboarding does not hide the return');
    is_deeply([sort map { $_->{source} eq 'direct' && !$_->{inherited}
        ? "$_->{directory} $_->{name}" : () } @{ $evidence->{now}{memberships} }], \@had,
        'what it shows of today is of both');
    like("@{ $evidence->{notProven} }", qr/\Q$task->{id}\E \(userUpdate, done\)/,
        'and names the task');
}

# The synchronisation drops a disabled account and brings it back later: nothing is taken for gone
# meanwhile.
sub returned_later {
    my ($upn, @had) = (upn('karin.hedlund'), @{ $had{'karin.hedlund'} });
    my $id = $stack->cloud->user($upn)->{id};
    $stack->cloud->control(remove => $upn);
    my $details = '/v1/api/user/details?user=' . Idadmin::Test::Stack::_escape($upn);
    ok(within(sub {
        my $user = $stack->get($details)->{json}{data}{user};
        "@{ $user->{directories} }" eq 'onPremises';
    }), 'on-premises alone');
    my $answer = restore('K-1');
    is_deeply([listed($answer)], \@had, 'the groups of both are offered') or diag $answer->{body};
    my $task = waits_at($answer->{json}{data}{taskId},
        qr/the account has not appeared in the other directory yet/);
    is(outcomes($task)->{restoreMemberships}, 'done', 'on-premises she is back');
    $stack->cloud->control(change => { key => $id,
        properties => { _deleted => 0, deletedDateTime => undef } });
    waits_at($task->{id}, qr/the other directory does not show the account as enabled yet/);
    is_deeply([grep { $_ eq 'Mobile staff' } groups_in_cloud('karin.hedlund')], [],
        'nothing is given before');
    $stack->cloud->control(change => { key => $upn,
        properties => { accountEnabled => JSON::PP::true() } });
    $task = $stack->wait_task($task->{id});
    like(step($task, 'awaitSynchronisation')->{detail}, qr/shows the account as enabled/,
        'the cloud has followed');
    my %now = map { ($_ => 1) } (map {"onPremises $_"} groups_on_premises('karin.hedlund')),
        map {"cloud $_"} groups_in_cloud('karin.hedlund');
    is_deeply([grep { !$now{$_} } @had], [], 'every membership is back, where it was');
    is_deeply($task->{warnings}, [], 'nothing is missing');
}

sub created {
    my $mobile = $stack->cloud->group('Mobile staff')->{id};
    $stack->apply_tenant($stack->tenant_document(workflows =>
        [{ name => 'Joiner', trigger => 'userCreate',
        actions => [{ type => 'addToGroup', group => 'Mobile staff',
        continueOnError => JSON::PP::true() }] }]));
    # a change holds within 5 s
    within(sub { $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'Hy', surname => 'Brid' })->{body} =~ /addToGroup/ });
    my $answer = $stack->post('/v1/api/user', { firstname => 'Hy', surname => 'Brid' });
    is($answer->{status}, 200, 'created on-premises') or diag $answer->{body};
    my $task = waits_at($answer->{json}{data}{taskId},
        qr/the account has not appeared in the other directory yet/);
    ok($stack->slapd->user('hy.brid'), 'the account stands on-premises');
    ok(!$stack->cloud->user(upn('hy.brid')), 'and is not made in the cloud');
    $stack->cloud->control(create => { type => 'user',
        properties => { userPrincipalName => upn('hy.brid'), displayName => 'Hy Brid',
        accountEnabled => JSON::PP::true(), onPremisesSyncEnabled => JSON::PP::true(),
        mail => upn('hy.brid'), mailNickname => 'hy.brid' } });
    $task = $stack->wait_task($answer->{json}{data}{taskId}, states => ['done', 'failed']);
    is(outcomes($task)->{awaitSynchronisation}, 'done', 'it goes on when the account has appeared')
        or diag explain $task;
    is(outcomes($task)->{'Joiner/1 addToGroup'}, 'done', 'and so does what the cloud gives')
        or diag explain $task;
    is_deeply($stack->cloud->user(upn('hy.brid'))->{groups}, ['Mobile staff'],
        'which the cloud confirms');
    $stack->apply_tenant($stack->tenant_document(workflows =>
        [{ name => 'Joiner', trigger => 'userCreate',
        actions => [{ type => 'addToGroup', group => 'Canteen',
        continueOnError => JSON::PP::true() }] }]));
    $task = $stack->wait_task($stack->post('/v1/api/user',
        { firstname => 'No', surname => 'Need' })->{json}{data}{taskId},
        states => ['done', 'failed']);
    is(outcomes($task)->{awaitSynchronisation}, 'skipped',
        'no task waits if no action concerns the cloud');
    $stack->apply_tenant($stack->tenant_document(createUsersIn => 'cloud', workflows => []));
    # a change holds within 5 s
    within(sub { $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'Cloud', surname => 'Born' })->{body} !~ /awaitSynchronisation/ });
    $task = $stack->wait_task($stack->post('/v1/api/user',
        { firstname => 'Cloud', surname => 'Born' })->{json}{data}{taskId});
    ok($stack->cloud->user(upn('cloud.born')) && !$stack->slapd->user('cloud.born'),
        'createUsersIn is followed');
    is(outcomes($task)->{awaitSynchronisation}, undef, 'with nothing to wait for');
    $stack->apply_tenant($stack->tenant_document(createUsersIn => 'onPremises',
        workflows => [{ name => 'Joiner', trigger => 'userCreate',
        actions => [{ type => 'addToGroup', group => 'Canteen',
        continueOnError => JSON::PP::true() }] }]));
    within(sub { $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'On', surname => 'Premises' })->{body} =~ /awaitSynchronisation/ });
}

# One directory is unavailable: the possible steps are done, the rest waits with the reason, and no
# one else does.
sub away {
    $stack->cloud->control(faults => { path => '.', do => 'status', status => 503 });
    my $id = offboard('carin.sjoberg');
    within(sub { my $task = $stack->task($id);
        (outcomes($task)->{disableAccount} // '') eq 'done' && $task->{state} eq 'queued' });
    ok(is_off('carin.sjoberg'), 'disabled on-premises while the cloud is away');
    my $task = $stack->task($id);
    ok($task->{error}, "and waits: " . ($task->{error} // ''));
    $stack->wait_task($stack->post('/v1/api/user',
        { firstname => 'Mean', surname => 'While' })->{json}{data}{taskId});
    pass('work on-premises goes on');
    $stack->cloud->control(clearFaults => JSON::PP::true());
    $clock->step(600);    # the hold is over
    $task = $stack->wait_task($id);
    is(outcomes($task)->{'verify@cloud'}, 'done', 'it ends when the cloud is back');
    ok(!$stack->cloud->user(upn('carin.sjoberg'))->{accountEnabled}, 'disabled there too');
}

# On-premises the service account may not disable one account: whatever does not depend on it is
# taken away all the same, in both directories, and a retry ends it once the right is there.
sub refused {
    my $uid = 'rut.sandell';
    my $dn = Idadmin::Test::Slapd::user_dn($uid);
    my $rule = sub { $stack->slapd->modify("dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\n"
        . "$_[0]: olcAccess\nolcAccess: {0}" . ($_[0] eq 'add' ? "to dn.exact=\"$dn\" attrs="
        . "userPassword,pwdAccountLockedTime by anonymous auth by * read\n" : "\n"),
        bind => ['cn=config', Idadmin::Test::Slapd::admin_password()]) };
    $rule->('add');
    $stack->cloud->control(change => { key => upn($uid),
        properties => { onPremisesSyncEnabled => JSON::PP::true() } });
    my @cloud = grep { $_ ne 'Everyone in sales' } groups_in_cloud($uid);
    ok(groups_on_premises($uid) && @cloud, 'in groups of both');
    my $task = $stack->wait_task(offboard($uid), states => ['failed']);
    is_deeply(outcomes($task), { disableAccount => 'failed', 'revokeSessions@cloud' => 'done',
        revokeMemberships => 'done', 'revokeMemberships@cloud' => 'done',
        awaitSynchronisation => 'failed', verify => 'failed', 'verify@cloud' => 'failed' },
        'each step was tried') or diag explain $task;
    like($task->{error}, qr/^disableAccount: .*Insufficient access/,
        'the task says what was refused');
    like(step($task, 'awaitSynchronisation')->{detail}, qr/did not let the account be disabled/,
        'no one waits for what cannot follow');
    like(step($task, $_)->{detail}, qr/^the account is not disabled: /, "$_ does not call it done")
        for 'verify', 'verify@cloud';
    ok(!is_off($uid), 'the account works');
    is_deeply([groups_on_premises($uid),
        grep { $_ ne 'Everyone in sales' } groups_in_cloud($uid)], [], 'and is in no group');
    ok($stack->cloud->user(upn($uid))->{revoked}, 'signed out of the cloud');
    like("@{ $stack->ctl('evidence', 'nordic', upn($uid), '--json')->{json}{notProven} }",
        qr/The account is enabled/, 'the evidence says so');
    $rule->('delete');
    $stack->cloud->control(change => { key => upn($uid),
        properties => { onPremisesSyncEnabled => JSON::PP::false() } });
    $stack->ctl_ok('task', 'retry', 'nordic', $task->{id});
    $task = $stack->wait_task($task->{id});
    ok(is_off($uid) && !$stack->cloud->user(upn($uid))->{accountEnabled},
        'with the right a retry ends it');
}

# The cloud is removed from the tenant's document while no worker runs: none of its people is listed
# or counted any more. Then it comes back.
sub removed {
    my $found = sub { return $stack->get("/v1/api/users?$_[0]")->{json}{data}{totalCount}
        // 'none' };
    my ($guests, $all) = ($found->('status=guest'), $found->('limit=1'));
    cmp_ok($guests, '>', 0, 'there are guests');
    $stack->worker->stop;
    $stack->ctl_ok('tenant', 'apply', '-',
        { stdin => '{"companyId":"nordic","directories":{"cloud":null}}' });
    $stack->worker->start;
    ok(within(sub { !grep {
        $_->[0] } $stack->sql("SELECT sync_reset FROM directory_state WHERE directory = "
        . "'cloud'") }), 'the worker has seen it');
    is_deeply([map { $_->[0] }
        map {
        $stack->sql("SELECT count(*) FROM cache.$_ WHERE directory = 'cloud'") } qw(directory_user
        directory_group)], [0, 0], 'nothing of it is kept');
    ok(within(sub { $found->('status=guest') eq 0 }),
        'httpd has the new document: no guest is listed');
    is($stack->get('/v1/api/hygiene')->{json}{data}{sections}{inactiveGuests}{available},
        JSON::PP::false(), 'nor reported on');
    is_deeply($stack->get('/v1/api/user/details?user='
        . Idadmin::Test::Stack::_escape(upn('eva.berg')))->{json}{data}{user}{directories},
        ['onPremises'], 'a person in both is now in one');
    my ($tenant) = grep { $_->{companyId} eq 'nordic' } @{
        $stack->ctl_ok('tenant', 'list', '--json') };
    is($tenant->{enabledMembers}, $found->('status=active'),
        'seats are those of the people who are left');
    $stack->apply_tenant($stack->tenant_document);
    ok(within(sub { $found->('status=guest') eq $guests && $found->('limit=1') eq $all }),
        'a directory that comes back is read anew');
}

my $ldif = join "\n\n",
    map {
    "dn: cn=$_,$Idadmin::Test::Slapd::groups\nobjectClass: groupOfNames\ncn: $_\nmember: "
    . "$Idadmin::Test::Slapd::filler" } 'Canteen';
for_each_stack {
    ($stack) = @_;
    $stack->worker->expect_log(qr/IDA03(?:1[4567]|2[12])|IDA0[45]\d\d/);
    subtest joined => \&joined;
    subtest apart => \&apart;
    subtest returned => \&returned;
    subtest switched => \&switched; # enabling needs the seats that the one before has waited for
    subtest synchronised => \&synchronised;
    subtest returned_later => \&returned_later;
    subtest created => \&created;
    subtest refused => \&refused;
    subtest away => \&away;
    subtest removed => \&removed;
} worker => { env => $clock->env }, cloud => { home => $d }, slapd => { ldif => "$ldif\n" },
    one_engine => 'steps are the same on both engines; t/unit/cache/person.c joins persons and '
    . 't/unit/queue/task.c moves tasks on both';

done_testing;
