# Workflows as they run: a joiner, a changed person and a leaver with every type of action, in an
# on-premises and in a cloud directory, with a real mail server and a receiver of webhooks. The
# content of directory, mailbox and receiver afterwards is compared; each step must report exactly
# that, and get_workflow_runs the same as the task.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(for_each_engine json_text secret_file slurp spew within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Photo ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(outcomes step);
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act company run_of told_alike workflow);


my $skip;

BEGIN {
    $skip = Idadmin::Test::Smtp->skip_reason || Idadmin::Test::Cloud->skip_reason;
    plan(skip_all => $skip) if $skip;
}

use Idadmin::Test::WorkflowStack;

sub mails_of { my ($on) = @_; return map { "$_\@" . $on->domain } qw(anna.lind) }

sub joiner {
    my ($on, $tag) = @_;
    my $domain = $on->domain;
    my $before = () = $smtp->mail('first.line@nordic.example');
    my ($manager) = mails_of($on);
    my $queued = join_now($on, firstname => 'Åsa', surname => "Öberg$tag", jobTitle => 'Säljare',
        department => 'Försäljning', manager => $manager,
        ($on->{company} eq 'acme' ? (country => 'SE') : ()));
    my $task = $on->wait_task($queued->{taskId});
    my $upn = $queued->{userPrincipalName};
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'done', setPhoto => 'skipped',
        map { $_ => 'done' } 'Joiner/1 addToGroup', 'Joiner/2 addToGroup',
        'Joiner/3 removeFromGroup',
        'Joiner/4 assignRoleTemplate', 'Joiner/5 setAttribute', 'Joiner/6 sendEmail',
        'Joiner/7 sendInitialPassword', 'Joiner/8 callWebhook' }, 'every action is done')
        or diag(json_text($task));
    is_deeply($task->{warnings}, [], 'without a warning');
    run_of($on, 'Joiner', $task, 'done');

    my ($mail) = (reverse $smtp->mail($manager))[0];
    my $h = $mail->{headers};
    is($h->{subject}, "Välkommen Ås Åsa Öberg$tag", 'the manager has a mail: subject');
    like($mail->{body},
        qr/^Hej\ Anna\ Lind!\nÅsa\ Öberg$tag\ \(Säljare,\ Försäljning\)\ börjar\ \d{4}-\d\d-\d\d
            \ \d\d:\d\d\.\n\.\nFrån\ (?:Nordic|Acme)\ AB\ \{nothing\n$/x, 'body, line for line');
    is_deeply([@$h{qw(to auto-submitted content-type)}],
        ["<$manager>", 'auto-generated', 'text/plain; charset=UTF-8'], 'headers');
    is($h->{from}, 'Identity Sërvice <identity@nordic.example>', 'the sender with a name');
    like($h->{'message-id'}, qr/^<idadmin\.\Q$task->{id}\E\.\d+\@nordic\.example>$/,
        'Message-ID of task and step');
    like($h->{date}, qr/^\w{3}, \d\d? \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/, 'date');
    ok($mail->{tls} && $mail->{user} eq 'identity', 'over TLS, signed in');
    unlike($mail->{raw}, qr/[^\x01-\x7f]|[^\r]\n|.{79}/, 'no line is long or not ASCII');

    my @passwords = $smtp->mail('first.line@nordic.example');
    is(@passwords - $before, 1, 'one mail with the password');
    my ($password) = $passwords[-1]{body} =~ /^\Q$upn\E\n(\S{32})$/m;
    ok($password, 'which it holds') or diag($passwords[-1]{body});
    my ($call) = (reverse $hook->calls('/ok'))[0];
    ok($call->{signed}, 'the receiver finds the signature right');
    like($call->{headers}{'webhook-id'}, qr/^msg_\Q$task->{id}\E_\d+$/,
        'webhook-id of task and step');
    is($call->{headers}{'content-type'}, 'application/json', 'JSON');
    is($call->{json}{type}, 'userCreate', 'what happened');
    my $data = $call->{json}{data};
    is_deeply([@$data{qw(companyId taskId workflow action)}],
        [$on->{company}, $task->{id}, 'Joiner', 8], 'why');
    is_deeply({ %{ $data->{user} }, id => undef, mail => undef },
        { id => undef, userPrincipalName => $upn, mail => undef, displayName => "Åsa Öberg$tag",
        firstname => 'Åsa', middleName => undef, surname => "Öberg$tag",
        department => 'Försäljning', jobTitle => 'Säljare', companyName => $on->{company} eq 'acme'
        ? 'Acme AB' : 'Nordic AB',
        manager => { userPrincipalName => $manager, displayName => 'Anna Lind',
        mail => $manager } }, 'to whom');
    ok($data->{user}{id} && $data->{user}{mail}, 'with ID and mail address');
    return ($upn, $password, $task);
}

sub joiner_on_premises {
    my ($upn, $password) = joiner($stack, 'p');
    my ($uid) = $upn =~ /^(.*)\@/;
    my $entry = $stack->slapd->user($uid);
    is_deeply([sort @{ $entry->{memberof} }],
        [map {"cn=$_,$Idadmin::Test::Slapd::groups"} 'All staff', 'Engineering'],
        'the directory: in the groups of action and template');
    is(Encode::decode_utf8($entry->{physicaldeliveryofficename}[0] // $entry->{roomnumber}[0]),
        'Hus Ö, Försäljning', 'the attribute is set');
    is($stack->slapd->bind_code($uid, $password), 0, 'and the password is the one that was sent');
    is($stack->slapd->user($uid)->{pwdreset}[0], 'TRUE', 'to be changed at the first sign-in');
    unlike(join('', map { join ' ', map { $_ // '' } @$_ } $stack->sql('SELECT * FROM task'),
        $stack->sql('SELECT * FROM task_step'), $stack->sql('SELECT * FROM audit_outbox'),
        $stack->sql('SELECT * FROM audit.record')),
        qr/\Q$password\E/, 'nothing keeps it');
    unlike($stack->worker->log_text, qr/\Q$password\E/, 'no log either');
    my $access = $stack->get("/v1/api/user/access?user=$upn")->{json}{data}{items};
    is_deeply([map {"$_->{resource}{name} $_->{source}"} @$access],
        ['All staff direct', 'Engineering role_template'], 'where it comes from is told');
    return $upn;
}

sub joiner_in_the_cloud {
    my ($upn, $password) = joiner($other, 'c');
    my $user = $other->cloud->user($upn);
    is_deeply($user->{groups}, ['All staff', 'Engineering'],
        'the directory: in the groups of action and template');
    is_deeply([map { $_->{skuId} } @{ $user->{assignedLicenses} }],
        ['05e9a617-0261-4cee-bb44-138d3ef5d965'], 'with the licence of the template');
    is($user->{officeLocation}, 'Hus Ö, Försäljning', 'the attribute is set');
    my ($secret) = grep { $_->{userPrincipalName} eq $upn } @{ $other->cloud->secrets->{users}
        // [] };
    ok(!$secret || $secret->{password} eq $password, 'and the password is the one that was sent');
    return $upn;
}


sub leaver_on_premises {
    my ($upn) = @_;
    my $task = $stack->wait_task(leave_now($stack, $upn));
    my %want = (disableAccount => 'done', revokeSessions => 'skipped', revokeMemberships => 'done',
        'Leaver/2 unassignRoleTemplates' => 'done', 'Leaver/1 removeLicenses' => 'skipped',
        'Leaver/3 setAttribute' => 'done',
        'Leaver/4 transferReports' => 'already', 'Leaver/5 moveTo' => 'done',
        'Leaver/6 addToGroup' => 'done', 'Leaver/7 sendEmail' => 'done',
        'Leaver/8 callWebhook' => 'done', verify => 'done');
    my $got = outcomes($task);
    is_deeply($got, \%want, 'every action of a leaver') or diag(json_text($task));
    like(step($task, 'Leaver/1 removeLicenses')->{detail}, qr/no licences/,
        'what makes no sense here says why');
    run_of($stack, 'Leaver', $task, 'done');
    my ($uid) = $upn =~ /^(.*)\@/;
    my ($entry) = $stack->slapd->search("(uid=$uid)");
    is($entry->{dn}, "uid=$uid,ou=former,$people", 'moved');
    is($entry->{pwdaccountlockedtime}[0], '000001010000Z', 'disabled');
    is_deeply($entry->{memberof}, ["cn=Finance,$Idadmin::Test::Slapd::groups"],
        'in the group of the workflow alone');
    like(step($task, 'verify')->{detail}, qr/Finance/,
        'which the last look leaves alone, and names');
    ok(!$entry->{physicaldeliveryofficename} && !$entry->{roomnumber}, 'the attribute is cleared');
    my $boss = $stack->wait_task(leave_now($stack, "johan.asberg\@nordic.example",
        jobTitle => 'Adviser'));
    is(outcomes($boss)->{'Leaver/4 transferReports'}, 'done', 'reports of a leaver');
    like(step($boss, 'Leaver/4 transferReports')->{detail}, qr/5 reports now report to eva\.berg/,
        'are told');
    is($stack->slapd->user('karin.hedlund')->{manager}[0], "uid=eva.berg,$people",
        'and report to the next');
    is((reverse $smtp->mail('eva.berg@nordic.example'))[0]{body}, "Adviser Engineering\n",
        'values of the request go before those of the directory');
}

sub leaver_in_the_cloud {
    my ($upn) = @_;
    my $task = $other->wait_task(leave_now($other, $upn));
    my $got = outcomes($task);
    is($got->{"Leaver/$_"}, 'done', "Leaver/$_")
        for '1 removeLicenses', '3 setAttribute', '5 addToGroup', '6 sendEmail', '7 callWebhook';
    is($got->{verify}, 'done', 'verified');
    run_of($other, 'Leaver', $task, 'done');
    my $user = $other->cloud->user($upn);
    is_deeply([$user->{groups}, $user->{assignedLicenses}, $user->{officeLocation}],
        [['Finance'], [], undef], 'no licence, no attribute, in the group of the workflow alone');
    ok(!$user->{accountEnabled}, 'disabled');
    my $boss = $other->wait_task(leave_now($other, "johan.asberg\@acme.example"));
    is(outcomes($boss)->{'Leaver/4 transferReports'}, 'done', 'reports of a leaver')
        or diag(json_text($boss));
    is($other->cloud->user("maria.oqvist\@acme.example")->{manager}, "eva.berg\@acme.example",
        'report to the next');
}

# A changed person: the workflow of the update follows it, with the new values.
sub changed_person {
    my ($on, $name) = @_;
    my $upn = "$name\@" . $on->domain;
    my $answer = $on->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => $upn, department => 'Nya avdelningen', jobTitle => 'Chef' });
    is($answer->{status}, 200, 'an update is queued') or diag $answer->{body};
    my $task = $on->wait_task($answer->{json}{data}{taskId});
    is_deeply([@{ outcomes($task) }{ 'updateAccount', map {"Mover/$_"} '1 sendEmail',
        '2 setAttribute', '3 callWebhook' }], [('done') x 4], 'its actions follow')
        or diag(json_text($task));
    run_of($on, 'Mover', $task, 'done');
    is((reverse $smtp->mail('hr@nordic.example'))[0]{headers}{subject},
        "$upn: Chef, Nya avdelningen", 'the mail knows the new values');
    my ($call) = (reverse $hook->calls('/ok?mover'))[0];
    is_deeply([$call->{json}{type},
        @{ $call->{json}{data}{user} }{qw(userPrincipalName jobTitle department)}],
        ['userUpdate', $upn, 'Chef', 'Nya avdelningen'], 'so does the receiver');
}



# Who was offboarded while a joiner's mail waited: the joiner goes no further, and its run says so.
sub left_meanwhile {
    my $domain = $stack->domain;
    my $stack = on(hasty => workflow('Slow', 'userCreate', act(addToGroup => group => 'Finance'),
        act(sendEmail => to => "busy99\@$domain", subject => 's', body => 'b'),
        call_hook('/ok?hasty')));
    $stack->worker->expect_log(qr/IDA0317 task \S+ \(userCreate hasty\.leaver/);
    $stack->wait_synced;
    my $queued = join_now($stack, firstname => 'Hasty', surname => 'Leaver');
    ok(within(sub { my $t = $stack->task($queued->{taskId});
        $t->{state} eq 'queued' && $t->{attempts} }), 'a joiner waits');
    $stack->wait_task(leave_now($stack, $queued->{userPrincipalName}));
    $stack->sql("UPDATE task SET next_at = 0 WHERE id = '$queued->{taskId}' AND state = 'queued'");
    my $task = $stack->wait_task($queued->{taskId}, states => ['failed']);
    like($task->{error}, qr/was offboarded by task/, 'who left stays out');
    is_deeply([map { outcomes($task)->{"Slow/$_"} } '1 addToGroup', '2 sendEmail', '3 callWebhook'],
        [qw(done skipped skipped)], 'what was left to do is not done');
    like(step($task, 'Slow/2 sendEmail')->{detail}, qr/^not carried out: .*was offboarded by task/,
        'and says why');
    run_of($stack, 'Slow', $task, 'failed');
    told_alike($stack, $task);
    is(scalar(my @calls = $hook->calls('/ok?hasty')), 0, 'no receiver was called');
}


# A password is sent to the person named by the request or, after a rehire, by the directory before
# it; never to whom a change of the person names.
sub whose_password {
    my $domain = $stack->domain;
    my ($anna, $johan, $eva) = map {"$_\@$domain"} qw(anna.lind johan.asberg eva.berg);
    my $to = sub { scalar(my @mails = $smtp->mail($_[0])) };
    my $on = on(keeper => workflow('Welcome', 'userCreate',
        { type => 'sendInitialPassword', to => '{manager}',
        subject => 'Password of {userPrincipalName}' }));
    $on->wait_synced;
    my $refused = $on->ctl('tenant', 'apply', '-',
        { stdin => json_text({ companyId => 'keeper',
        workflows => [map { workflow("On $_", $_,
        act(sendInitialPassword => to => '{manager}')) } qw(userUpdate userDelete)] }) });
    is($refused->{exit}, 1, 'no update and no offboarding may have the action');
    like($refused->{err},
        qr/workflows\[$_\]\.actions\[0\]\.type: can be used with the trigger userCreate alone/,
        'as is said') for 0, 1;

    my $before = $to->($anna);
    my $queued = join_now($on, firstname => 'Vera', surname => 'Kept', employeeId => 'K-1',
        manager => $anna);
    my $upn = $queued->{userPrincipalName};
    $on->wait_task($queued->{taskId});
    is($to->($anna), $before + 1, 'a creation tells the manager it names');
    my %seen = map { ($_ => $to->($_)) } $anna, $johan, $eva;

    my $change = $on->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => $upn, manager => $johan,
        date => '2030-01-01' })->{json}{data}{taskId};
    ok(!grep({/sendInitialPassword/} map { $_->{name} } @{ $on->task($change)->{steps} }),
        'a change of the person has no such step');
    $on->sql("INSERT INTO task_step (tenant_id, task_id, position, name, workflow, "
        . "workflow_position) SELECT tenant_id, id, 9, 'sendInitialPassword', 'Welcome', 1 "
        . "FROM task WHERE id = '$change'; "
        . "UPDATE task SET next_at = 0, due_at = 0, wall_fixed = 0 WHERE id = '$change'");
    $stack->worker->expect_log(qr/IDA0317 task \S+ \(userUpdate vera\.kept/);
    my $task = $on->wait_task($change, states => ['failed']);
    is($task->{steps}[0]{outcome}, 'done', 'however one comes to be there, the manager is set');
    like($task->{error},
        qr/only\ for\ an\ account\ that\ the\ task\ makes\ or\ brings\ back:\ that\ of\ \Q$upn\E
            \ was\ left\ as\ it\ is/x, 'the password is not');
    is($to->($johan), $seen{$johan}, 'and no password is sent');

    $on->wait_task(leave_now($on, $upn));
    my $back = join_now($on, firstname => 'Vera', surname => 'Kept', employeeId => 'K-1',
        manager => $eva, rehire => 'restore');
    $task = $on->wait_task($back->{taskId});
    is_deeply([@{ outcomes($task) }{qw(setManager), 'Welcome/1 sendInitialPassword'}],
        ['done', 'done'], 'who comes back has another manager, and a password')
        or diag(json_text($task));
    is_deeply([map { $to->($_) - $seen{$_} } $anna, $johan, $eva], [0, 1, 0],
        'told to the manager that the directory showed before');
    my ($password) = (reverse $smtp->mail($johan))[0]{body} =~ /^(\S{32})$/m;
    is($stack->slapd->bind_code($upn =~ /^(.*)\@/, $password), 0, 'which is the one that counts');
    run_of($on, 'Welcome', $task, 'done');
}

# The manager's creation is cancelled: who waits for it is named, and when they come all but the
# manager is done.
sub manager_gone {
    my $domain = $stack->domain;
    my $on = on(leaderless => workflow('Arrival', 'userCreate',
        act(addToGroup => group => 'Finance'),
        act(sendEmail => to => '{manager}', subject => '{displayName}', body => 'b',
        continueOnError => $false)));
    $on->wait_synced;
    my ($date, $time) = Idadmin::Test::Times::wall(time + 10_800);
    my %later = (date => $date, time => $time);
    my ($boss, $other) = map { join_now($on, firstname => 'Boss', surname => $_, %later) } 'One',
        'Two';
    my $junior = join_now($on, firstname => 'Left', surname => 'Alone',
        manager => uc $boss->{userPrincipalName},
        profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000)), %later);
    my $change = $on->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => "bo.ek\@$domain", manager => $boss->{userPrincipalName},
        %later })->{json}{data};
    my $shown = $on->ctl('task', 'cancel', 'leaderless', $other->{taskId});
    is($shown->{exit}, 0, 'a creation is cancelled');
    unlike($shown->{out}, qr/manager/, 'no task waits for that one');
    my $answer = $on->call(DELETE => "/v1/api/task?id=$boss->{taskId}");
    is($answer->{status}, 200, 'a manager is cancelled') or diag $answer->{body};
    like($answer->{json}{data}{message},
        qr/would\ have\ created\ the\ manager\ of\ .*\Q$_->{userPrincipalName}\E\ \(task
            \ \Q$_->{taskId}\E\)/x, 'which names who waits') for $junior, $change;

    $stack->worker->expect_log(qr/IDA0317 task \S+ \(user(?:Create left\.alone|Update bo\.ek)/);
    my $now = sub { $on->ctl_ok('task', 'reschedule', 'leaderless', $_[0]{taskId},
        Idadmin::Test::Times::wall(time - 120));
        return $on->wait_task($_[0]{taskId}, states => ['failed']) };
    my $task = $now->($junior);
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'failed', setPhoto => 'done',
        'Arrival/1 addToGroup' => 'done', 'Arrival/2 sendEmail' => 'failed' },
        'all other steps run') or diag(json_text($task));
    like($task->{error},
        qr/^setManager:\ The\ manager\ \S+\ was\ not\ found\ in\ the\ directory\.\ Give\ the
            \ person\ a\ manager/ix, 'the task fails, and says why');
    run_of($on, 'Arrival', $task, 'failed');
    is($on->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => $junior->{userPrincipalName},
        manager => "anna.lind\@$domain" })->{status}, 200, 'she gets a manager');
    ok(within(sub { ($stack->slapd->user('left.alone')->{manager}[0]
        // '') =~ /^uid=anna\.lind,/ }), 'who is in the directory');
    my $before = () = $smtp->mail("anna.lind\@$domain");
    is($on->post("/v1/api/task/retry?id=$junior->{taskId}")->{status}, 200, 'it is tried again');
    $task = $on->wait_task($junior->{taskId});
    is_deeply([$task->{error}, @{ outcomes($task) }{qw(setManager), 'Arrival/2 sendEmail'}],
        [undef, 'already', 'done'], 'and done') or diag(json_text($task));
    like(step($task, 'setManager')->{detail},
        qr/^anna\.lind\S+, by a later change than the request, which named boss\.one/i,
        'with the manager she has now');
    is(scalar(my @mails = $smtp->mail("anna.lind\@$domain")) - $before, 1, 'who is told');

    $task = $now->($change);
    is(outcomes($task)->{setManager}, 'failed', 'a change to the same manager fails too');
    like($task->{error},
        qr/was not found in the directory\. Retry the task once the manager exists/, 'and says so');
}

for_each_engine {
    my ($engine) = @_;
    begin_companies($engine);
    my (@upns);
    subtest(joiner_on_premises => sub { $upns[0] = joiner_on_premises() });
    subtest(joiner_in_the_cloud => sub { $upns[1] = joiner_in_the_cloud() });
    subtest(whose_password => \&whose_password);
    subtest(manager_gone => \&manager_gone);
    subtest(changed_on_premises => sub { changed_person($stack, 'rut.sandell') });
    subtest(changed_in_the_cloud => sub { changed_person($other, 'rut.sandell') });
    subtest(leaver_on_premises => sub { leaver_on_premises($upns[0]) });
    subtest(leaver_in_the_cloud => sub { leaver_in_the_cloud($upns[1]) });
    subtest(left_meanwhile => \&left_meanwhile);
    end_companies();
};

done_testing();
