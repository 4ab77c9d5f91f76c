# The main job of a company whose directory is in the cloud: a person is posted to httpd, created at
# the requested minute, looked up and offboarded. Every step is compared with the directory.
use strict;
use warnings;
use utf8;
use Test::More;
use Digest::SHA ();
use Idadmin::Test qw(json_data json_text on_one_engine within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Minute qw(post_ahead);
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall epoch outcomes step);
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $domain = $Idadmin::Test::Cloud::domain;
my $long_lag = 600_000;    # ms: a replica that shows nothing new until the test ends the lag
my $far = 4_102_444_800_000;    # ms since 1970, in the year 2100
my ($stack, $cloud, $clock);

sub join_now {
    my (%payload) = @_;
    my $answer = $stack->post('/v1/api/user', {%payload});
    is($answer->{status}, 200, "$payload{firstname} $payload{surname} is queued")
        or diag $answer->{body};
    return $answer->{json}{data};
}

sub leave_now {
    my ($upn) = @_;
    my $answer = $stack->delete('/v1/api/user', { userPrincipalName => $upn, time => '00:00' });
    is($answer->{status}, 200, "$upn is to leave") or diag $answer->{body};
    return $answer->{json}{data}{taskId};
}

# The task waits for something, and $pattern is in the reason.
sub waits {
    my ($id, $pattern, $name) = @_;
    my $task;
    ok(within(sub { $task = $stack->task($id);
        $task->{state} eq 'queued' && ($task->{error} // '') =~ $pattern }), $name)
        or diag json_text($task);
    return $task;
}

# What the directory holds before and after the minute. The worker's wall clock is the test's: the
# minute comes when everything is posted.
sub at_the_minute {
    my $posted = post_ahead($stack, $domain, company => 'Acme AB', country => 'se',
        due => (int(time / 60) + 3) * 60);
    my $due = $posted->{due};
    is($cloud->counters->{created}, 0, 'and the directory has no new account');
    ok($cloud->user("bo.ek\@$domain")->{accountEnabled}, 'a leaver can still sign in');

    $clock->step($due - time);
    my @done = map { $stack->wait_task($_->{taskId}) } @{ $posted->{joiners} },
        @{ $posted->{leavers} };
    is_deeply([grep { epoch($_->{startedAt}) < $due } @done], [], 'none began before the minute');
    $stack->worker->stop;
    $clock->step(0);
    $stack->worker->start;

    is_deeply(outcomes($done[0]),
        { createAccount => 'done', setManager => 'done', setPhoto => 'done' },
        'true outcomes of a joiner');
    my $user = $cloud->user("asa.oberg\@$domain");
    my %want = (givenName => 'Åsa', surname => 'Öberg', displayName => 'Åsa Öberg',
        mail => "asa.oberg\@$domain", mailNickname => 'asa.oberg', jobTitle => 'Säljare',
        department => 'Sales',
        companyName => 'Acme AB', officeLocation => 'Malmö 3', city => 'Malmö', country => 'SE',
        usageLocation => 'SE', streetAddress => 'Storgatan 1', postalCode => '211 34',
        preferredLanguage => 'sv-SE', manager => "anna.lind\@$domain");
    is_deeply({ map { $_ => $user->{$_} } keys %want }, \%want,
        'the account has every property and its manager');
    like($user->{employeeId}, qr/^E\d+$/, 'and the employee ID');
    ok($user->{accountEnabled}, 'and is enabled');
    is($user->{onPremisesExtensionAttributes}{extensionAttribute15},
        (grep { $_->{userPrincipalName} eq "asa.oberg\@$domain" } @{
        $posted->{joiners} })[0]{taskId}, 'and carries the marker of its task');
    my @upns = sort map { $_->{userPrincipalName} } @done[0 .. 14];
    is_deeply(\@upns, [sort "asa.oberg\@$domain", map {"asa.oberg$_\@$domain"} 2 .. 15],
        'fifteen of the name, numbered from 2');
    is_deeply([grep { ($cloud->user($_)->{photo}{sha256}
        // '') ne Digest::SHA::sha256_hex($posted->{photo}) } @upns], [],
        'with their photos, byte for byte');
    is($cloud->counters->{created}, 15, 'and no more');
    is($stack->get_user("asa.oberg\@$domain")->{json}{data}{user}{jobTitle}, 'Säljare',
        'the look-up finds the new user at once');
    like(json_text($done[0]{warnings}), qr/middleName/, 'what the directory cannot keep is told');

    my $leaver = $done[15];
    is_deeply(outcomes($leaver),
        { disableAccount => 'done', revokeSessions => 'done', revokeMemberships => 'done',
        verify => 'done' }, 'true outcomes of a leaver');
    my $bo = $cloud->user("bo.ek\@$domain");
    ok(!$bo->{accountEnabled}, 'the account is disabled');
    is($bo->{revoked}, 1, 'its sessions are revoked');
    is_deeply($bo->{groups}, ['Everyone in sales'],
        'and it is out of every group that can be left');
    like(json_text($leaver->{warnings}), qr/Everyone in sales/, 'the dynamic group is reported');
    my $karin = $done[17];
    my %reason = ('Synced staff' => 'on-premises', 'Mail developers' => 'Exchange',
        'News list' => 'Exchange', 'Role holders' => 'role', 'Restricted' => 'restricted',
        'Stockholm' => 'administrative unit');
    is_deeply($cloud->user("karin.hedlund\@$domain")->{groups}, [sort keys %reason],
        'groups of every kind: those that can be left are');
    like(json_text($karin->{warnings}), qr/\Q$_\E \([^)]*$reason{$_}/,
        "$_ is reported with its reason") for sort keys %reason;
    is($cloud->counters->{usersDeleted}, 0, 'nobody was deleted');
    is($stack->get_user("bo.ek\@$domain")->{status}, 200, 'a leaver can still be looked up');
    my $repeat = $stack->wait_task(leave_now("bo.ek\@$domain"));
    is(outcomes($repeat)->{$_}, 'already', "a disabled user again: $_ was so already")
        for qw(disableAccount revokeMemberships);
}

sub disabled_and_bare {
    my $task = $stack->wait_task(join_now(firstname => 'Nina', surname => 'Nu',
        accountEnabled => JSON::PP::false())->{taskId});
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'skipped', setPhoto => 'skipped' },
        'no manager, no photo: skipped');
    ok(!$cloud->user("nina.nu\@$domain")->{accountEnabled},
        'accountEnabled false creates it disabled');
}

# Another account takes the name between queueing and the due minute: the next candidate, reported
# in task and step.
sub name_taken_meanwhile {
    my ($date, $time) = wall(time + 10_800);
    my $queued = join_now(firstname => 'Taken', surname => 'Name', date => $date, time => $time);
    is($queued->{userPrincipalName}, "taken.name\@$domain", 'reserved');
    $cloud->control(create => { type => 'user',
        properties => { userPrincipalName => "taken.name\@$domain", displayName => 'Other',
        mailNickname => 'taken.name', accountEnabled => JSON::PP::true() } });
    $stack->ctl_ok('task', 'reschedule', 'acme', $queued->{taskId}, wall(time - 120));
    my $task = $stack->wait_task($queued->{taskId});
    is($task->{userPrincipalName}, "taken.name2\@$domain", 'the next candidate');
    like(step($task, 'createAccount')->{detail}, qr/taken\.name2/, 'the step says so');
    is($cloud->user("taken.name\@$domain")->{displayName}, 'Other',
        'the other account is as it was');
}

# A directory that shows its own writes late: what was made waits until it is seen, and no try is
# counted.
sub late_replicas {
    my $seen_late = sub {
        my ($id, $name) = @_;
        waits($id, qr/./, "$name waits while the directory shows nothing of it");
        $cloud->control(settings => { lag => {} });
        my $task = $stack->wait_task($id);
        is($task->{attempts}, 0, 'without a counted try');
        return $task;
    };
    $cloud->control(settings => { lag => { read => $long_lag } });
    my $joiner = join_now(firstname => 'Late', surname => 'Joiner', manager => "anna.lind\@$domain",
        profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000)));
    my $task = $seen_late->($joiner->{taskId}, 'a joiner');
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'done', setPhoto => 'done' },
        'a joiner is made, with manager and photo');
    my $user = $cloud->user($joiner->{userPrincipalName});
    is($user->{manager}, "anna.lind\@$domain", 'the manager is set');
    is($user->{photo}{bytes}, 2000, 'the photo too');
    $cloud->control(settings => { lag => { read => $long_lag } });
    $task = $seen_late->(leave_now("per.lundin\@$domain"), 'a leaver');
    is_deeply(outcomes($task),
        { disableAccount => 'done', revokeSessions => 'done', revokeMemberships => 'done',
        verify => 'done' }, 'a leaver is verified');
    is_deeply($cloud->user("per.lundin\@$domain")->{groups}, [], 'and is out of its groups');
    # Created and offboarded before the account is visible.
    my $short = join_now(firstname => 'Short', surname => 'Stay');
    $stack->wait_task($short->{taskId});
    $cloud->control(settings => { lag => { read => $long_lag } });
    $task = $seen_late->(leave_now($short->{userPrincipalName}), 'an account of a moment ago');
    is(outcomes($task)->{disableAccount}, 'done',
        'an account of a moment ago is not called absent');
    ok(!$cloud->user($short->{userPrincipalName})->{accountEnabled}, 'but disabled');
}

sub photo_without_mailbox {
    $cloud->control(settings => { photoNeedsMailbox => 1 });
    $cloud->control(faults => { method => '^PUT$', path => '/photo/', do => 'status', status => 403,
        error => { code => 'Authorization_RequestDenied' } });
    $stack->worker->expect_log(qr/IDA0316/);
    my $task = $stack->wait_task(join_now(firstname => 'Photo', surname => 'Less',
        profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000)))->{taskId});
    is(outcomes($task)->{setPhoto}, 'failed', 'a photo that may not be set');
    like(json_text($task->{warnings}), qr/ProfilePhoto\.ReadWrite\.All/,
        'is a warning that names the permission; the task is done');
    $cloud->control(settings => { photoNeedsMailbox => 0 }, clearFaults => JSON::PP::true());
}

sub refused_for_good {
    $stack->worker->expect_log(qr/IDA031[67]/);
    my $kad = "syn.kad\@$domain";
    $cloud->control(create => { type => 'group', members => [$cloud->user($kad)->{id}],
        properties => { groupTypes => [], securityEnabled => JSON::PP::true(),
        mailEnabled => JSON::PP::false(), displayName => 'Cloud folk' } });
    my $leave = { userPrincipalName => $kad, time => '00:00' };
    my $warns = qr/comes from an on-premises directory that the tenant does not have/;
    like($stack->worker->run('--check', 'acme')->{out},
        qr/warn  people: 1 enabled, of an on-premises directory that the tenant does not/,
        '--check counts');
    for my $query ('?dryRun=true', '') {
        my $answer = $stack->delete("/v1/api/user$query", $leave);
        my $data = $answer->{json}{data};
        like("@{ $data->{warnings} // $data->{plan}{warnings} }", $warns,
            'who cannot be disabled here is said when the leave is asked for');
        next if $query;
        my $synced = $stack->wait_task($data->{taskId}, states => ['failed']);
        like($synced->{error}, qr/^disableAccount: .*disable it on-premises/,
            'the task fails and says where to go');
        is_deeply(outcomes($synced), { disableAccount => 'failed', revokeSessions => 'done',
            revokeMemberships => 'done', verify => 'failed' }, 'after all the others');
        like(step($synced, 'verify')->{detail}, qr/^the account is not disabled: /,
            'nothing says that it is disabled');
    }
    ok($cloud->user($kad)->{revoked}, 'signed out');
    is_deeply([grep { $_ eq 'Cloud folk' } @{ $cloud->user($kad)->{groups} }], [],
        'and out of the groups');
    my $admin = $stack->wait_task(leave_now("root.admin\@$domain"), states => ['failed']);
    like($admin->{error},
        qr/disableAccount:\ root\.admin\S+\ holds\ the\ directory\ role\ User\ Administrator:
            \ .*never\ changed/x, 'an administrator: the task fails at once and says why');
    ok($cloud->user("root.admin\@$domain")->{accountEnabled},
        'and nothing says that it is disabled');
}

# What a leaver owns is named, and what the directory does not let this service read is not empty.
sub ownership {
    my $task = $stack->wait_task(leave_now("johan.asberg\@$domain"));
    like(json_text($task->{warnings}), qr/Owned by the account: Engineering \(no other account/,
        'the only owner of a group');
    is_deeply([map { $_->{name} } grep { ($_->{kind} // '') eq 'owned' }
        @{ step($task, 'revokeMemberships')->{notRevoked} }], ['Engineering'], 'in its step');
    $cloud->control(faults => { path => '/ownedObjects', do => 'status', status => 403,
        error => { code => 'Authorization_RequestDenied' } });
    $task = $stack->wait_task(leave_now("maria.oqvist\@$domain"));
    is($task->{state}, 'done', 'a refused look ends nothing');
    like(json_text($task->{warnings}),
        qr/Owned by the account: groups \(not looked at: .*Read\.All/, 'and says so');
    $cloud->control(clearFaults => JSON::PP::true());
    my $told = $stack->ctl('evidence', 'acme', "maria.oqvist\@$domain", '--json')->{json};
    like("@{ $told->{notProven} }", qr/Owned by the account: groups \(not looked at/,
        'as does the evidence');
    my $items = $stack->get('/v1/api/hygiene?sections=ownedByLeavers')
        ->{json}{data}{sections}{ownedByLeavers}{items};
    is_deeply([sort map { $_->{group} } @$items], ['Engineering', 'groups'], 'and hygiene');
}

# The account is enabled by hand and added to a group again while it is being offboarded: the last
# look puts it right.
sub comes_back {
    $cloud->control(faults => { method => '^POST$', path => 'revokeSignInSessions', do => 'hold',
        when => 'after', count => 1 });
    my $upn = "nils.palm\@$domain";
    my $id  = leave_now($upn);
    ok(within(sub { !$cloud->user($upn)->{accountEnabled} }), 'disabled');
    # Behind the disabling: the answer to the next call is on its way.
    ok(within(sub { $cloud->user($upn)->{revoked} }), 'and signed out');
    $cloud->control(change => { key => $upn,
        properties => { accountEnabled => JSON::PP::true() } });
    $cloud->control(release => JSON::PP::true());
    my $task = $stack->wait_task($id);
    is(outcomes($task)->{verify}, 'done', 'verified');
    ok(!$cloud->user($upn)->{accountEnabled}, 'it stays disabled');
}

# Between two tries of a task: its progress as the code given makes it, and so many tries behind it.
sub later {
    my ($id, $tries, $change) = @_;
    $stack->worker->stop;
    my ($row)    = $stack->sql("SELECT progress FROM task WHERE id = '$id'");
    my $progress = json_data($row->[0]);
    $change->($progress);
    $stack->sql("UPDATE task SET attempts = $tries, next_at = 0, progress = '"
        . json_text($progress) . "' WHERE id = '$id'");
    $stack->worker->start;
}

# An account of ours that stays invisible: the name is kept, nothing is sent under another one, and
# in the end it needs attention.
sub never_seen {
    $cloud->control(settings => { lag => { read => $long_lag } },
        faults => { method => '^POST$', path => '^/users$', do => 'reset', when => 'after',
        count => 1 });
    my $joiner = join_now(firstname => 'Hid', surname => 'Den');
    waits($joiner->{taskId}, qr/shows nobody/,
        'created, its answer lost and not visible: it waits');
    later($joiner->{taskId}, 11, sub { $_[0]{createSentAt} -= 16 * 60_000 });
    $stack->worker->expect_log(qr/IDA0318/);
    my $task = $stack->wait_task($joiner->{taskId}, states => ['attention']);
    like($task->{error}, qr/hid\.den\@.*Look who has the name/,
        'beyond the time a directory takes: attention');
    is($task->{userPrincipalName}, "hid.den\@$domain", 'under the name that was promised');
    $cloud->control(settings => { lag => {} });
    $stack->ctl_ok('task', 'retry', 'acme', $joiner->{taskId});
    $task = $stack->wait_task($joiner->{taskId});
    is_deeply([$task->{state}, outcomes($task)->{createAccount},
        $cloud->counters->{createdByMarker}{ $joiner->{taskId} }], ['done', 'already', 1],
        'once it is seen: adopted, made once');

    # An address of something that is never shown, and nothing of ours was ever sent: the next name
    # after the same time.
    $cloud->control(create => { type => 'orgContact',
        properties => { displayName => 'Contact', proxyAddresses => ["SMTP:con.tact\@$domain"] } });
    my $second = join_now(firstname => 'Con', surname => 'Tact');
    waits($second->{taskId},
        qr/con\.tact\@.* is taken by an object that the directory does not show/,
        'the address of something that is not shown: it waits');
    later($second->{taskId}, 0, sub { $_[0]{unseenSince} -= 16 * 60_000 });
    $task = $stack->wait_task($second->{taskId});
    is($task->{userPrincipalName}, "con.tact2\@$domain", 'then the next name');
    is($cloud->counters->{createdByMarker}{ $second->{taskId} }, 1, 'made once');
}

# -- holds

# The hold of the directory: (reason, until, failures), or nothing.
sub hold {
    my ($row) = $stack->sql("SELECT hold_reason, hold_until, hold_failures FROM directory_state "
        . "WHERE directory = 'cloud' AND hold_reason IS NOT NULL");
    return @{ $row // [] };
}

sub hold_until {
    my ($ms) = @_;
    $stack->sql("UPDATE directory_state SET hold_until = $ms WHERE directory = 'cloud'");
}

# The directory is held far beyond this test, and nothing is on its way to it that would end or
# change the hold.
sub held_for_long {
    my ($task) = @_;
    return within(sub {
        return 0 if !hold();
        hold_until($far);
        my ($row) = $stack->sql("SELECT sync_owner FROM directory_state WHERE directory = 'cloud'");
        return !defined $row->[0] && $stack->task($task)->{state} eq 'queued'
            && (hold())[1] == $far;
    });
}

# The directory is held, and while the probe runs another worker is asked to wait: that hold is not
# the probe's to end.
sub told_meanwhile {
    $stack->worker->expect_log(qr/IDA0315/);
    $cloud->control(faults => { path => '.', do => 'status', status => 503 });
    my $id = leave_now("greta.dahl\@$domain");
    ok(held_for_long($id), 'held');
    $cloud->control(clearFaults => JSON::PP::true());
    $cloud->freeze;
    my $now = int(Time::HiRes::time() * 1000);
    hold_until($now);
    ok(within(sub { ((hold())[1] // 0) > $now }),
        'a probe goes, be it a task or a synchronisation');
    $stack->sql("UPDATE directory_state SET hold_since = $now, hold_until = $far, "
        . "hold_reason = 'told by another worker' WHERE directory = 'cloud'");
    $cloud->thaw;
    ok(within(sub { my ($row) = $stack->sql("SELECT sync_owner FROM directory_state WHERE "
        . "directory = 'cloud'"); !defined $row->[0]
        && $stack->task($id)->{state} =~ /^(?:queued|done)$/ }), 'the probe is over');
    is_deeply([(hold())[0, 1]], ['told by another worker', $far],
        'it is answered, and what was told stands');
    my $next = leave_now("rut.sandell\@$domain");
    waits($next, qr/told by another worker/, 'the next task waits for that time');
    hold_until($now);
    $stack->wait_task($_) for $id, $next;
    ok(within(sub { !hold() }), 'when it has come, the next probe ends the hold');
}

# A token that is refused once is no reason to wait for minutes; a secret that is put right counts
# at once.
sub refused_credentials {
    $stack->worker->expect_log(qr/IDA0314/);
    # Of the task's calls alone, and all of them: a synchronisation reads changes and sign-ins, and
    # must not take one of the two.
    $cloud->control(faults => { path => '^/users/(?!delta)', do => 'status', status => 401,
        error => { code => 'InvalidAuthenticationToken',
        message => 'Access token is not valid.' } });
    # How long is waited each time, by the worker's word: a call that was on its way and succeeds
    # ends the hold at once.
    my $holds = sub { $stack->worker->log_text =~ /IDA0314 .*next probe in (\d+) s/g };
    my $before = () = $holds->();
    my $once = leave_now("per.lundin\@$domain");
    ok(within(sub { (() = $holds->()) > $before }),
        'a token and the next one are refused: held');
    $cloud->control(clearFaults => JSON::PP::true());
    cmp_ok(($holds->())[$before], '<=', 12, 'for ten seconds or so');
    hold_until(1);
    $stack->wait_task($once);
    ok(within(sub { !hold() }), 'then it goes on, and the hold is over');

    my $file = $stack->cloud_document->{clientSecretFile};
    $before = () = $holds->();
    $cloud->control(secret => 'another', expireTokens => JSON::PP::true());
    my $id = leave_now("olga.ivanova\@$domain");
    ok(within(sub { hold() }), 'the secret is another one: held');
    waits($id, qr/AADSTS7000215/, 'with the reason');
    # Until the wait is so long (minutes) that it cannot be what ends the hold: 10 s, 30 s, 60 s and
    # twice as long each time, a fifth more or less. Calls that fail side by side tell of one step
    # each.
    my @steps   = ([8, 12], [24, 36], [48, 72], [96, 144], [192, 288]);
    my $reached = sub {
        my @waits = $holds->();
        splice @waits, 0, $before;
        return grep { my $step = $_; grep { $_ >= $step->[0] && $_ <= $step->[1] } @waits } @steps;
    };
    ok(within(sub { my $failures = (hold())[2] // 0; hold_until(1) if $failures < @steps;
        $failures >= @steps && $reached->() == @steps }), 'more tries, each after a longer wait');
    Idadmin::Test::secret_file($file, "another\n");
    # The worker's check of the file ends the hold, or a concurrent call that reads the secret
    # again. Its own time is minutes away, which this test does not wait.
    ok(within(sub { !hold() }), 'the file is put right: it counts at once');
    $stack->wait_task($id);
    Idadmin::Test::secret_file($file, Idadmin::Test::Cloud::client_secret() . "\n");
    $cloud->control(secret => Idadmin::Test::Cloud::client_secret(),
        expireTokens => JSON::PP::true());
}

# The company ends while its directory is read: that is no failure, and nothing of it comes back.
# (What was counted before is forgotten here.)
sub ends_while_read {
    $cloud->control(resetCounters => JSON::PP::true(),
        faults => { path => '^/users/delta', do => 'hold', when => 'after' });
    ok(within(sub { grep { m{^GET /users/delta} } keys %{ $cloud->counters->{requests} } }),
        'a synchronisation is on its way');
    $stack->ctl_ok(qw(tenant pause acme));
    $stack->ctl_ok(qw(tenant delete acme --discard-open --yes acme));
    $cloud->control(clearFaults => JSON::PP::true(), release => JSON::PP::true());
    my $log = sub { $stack->worker->log_text };
    ok(within(sub { $log->() =~ /any more: the sync that was reading it ends here/ }),
        'it ends when its answer is there');
    ok(within(sub { $log->() =~ /any more: what the cache held of it is gone/ }),
        'and the cache is emptied after it');
    is_deeply([map { $_->[0] } $stack->sql("SELECT count(*) FROM cache.$_")], [0], "no $_")
        for qw(directory_user membership staging);
}

# A leaver who is enabled by hand is reported as enabled as soon as the directory has been read, not
# when our own word has become old.
sub enabled_by_hand {
    my $made = join_now(firstname => 'Back', surname => 'Byhand');
    $stack->wait_task($made->{taskId});
    my $upn = $made->{userPrincipalName};
    $stack->wait_task($stack->delete('/v1/api/user', { userPrincipalName => $upn,
        time => '00:00' })->{json}{data}{taskId});
    my $shown = sub { $stack->get("/v1/api/user/details?user=$upn")->{json}{data} };
    is($shown->()->{user}{status}, 'disabled', 'offboarded');
    my $id = $cloud->user($upn)->{id};
    $cloud->api(PATCH => "/users/$id", json => { accountEnabled => JSON::PP::true() });
    ok(within(sub { $shown->()->{user}{status} eq 'active' }),
        'enabled by hand it is told as that');
}

# What we wrote and the directory has not shown yet is as of the write, however new the rest is.
sub own_word_has_its_time {
    my $upn = "eva.berg\@$domain";
    my $of = sub { my ($path) = @_; return $stack->get("/v1/api/$path")->{json}{data} };
    $cloud->control(settings => { lag => { delta => $long_lag } });
    $stack->wait_task($stack->call(PATCH => '/v1/api/user', json => { userPrincipalName => $upn,
        office => 'Kontor 7' })->{json}{data}{taskId});
    my $older = sub { my $all = $of->('users?limit=1')->{asOf};
        return $of->("user/details?user=$upn")->{asOf} lt $all };
    ok(within($older), 'older than what synchronisations have shown since');
    is($of->("user/details?user=$upn")->{user}{office}, 'Kontor 7', 'and told all the same');
    $cloud->control(settings => { lag => {} });
    ok(within(sub { !$older->() }), 'until one has shown it');
}

sub manager_from_queue {
    my ($date, $time) = wall(time + 10_800);
    my $boss = join_now(firstname => 'New', surname => 'Boss', date => $date, time => $time);
    my $junior = join_now(firstname => 'New', surname => 'Junior',
        manager => $boss->{userPrincipalName}, date => $date, time => $time);
    $cloud->control(settings => { lag => { read => $long_lag } });
    $stack->ctl_ok('task', 'reschedule', 'acme', $boss->{taskId}, wall(time - 120));
    $stack->wait_task($boss->{taskId});
    $stack->ctl_ok('task', 'reschedule', 'acme', $junior->{taskId}, wall(time - 120));
    waits($junior->{taskId}, qr/./, 'a manager who is not shown yet is waited for');
    $cloud->control(settings => { lag => {} });
    my $task = $stack->wait_task($junior->{taskId});
    is(outcomes($task)->{setManager}, 'done',
        'a manager who was made a moment ago and is seen late');
    is($cloud->user($junior->{userPrincipalName})->{manager}, $boss->{userPrincipalName},
        'in the directory too');
    is($task->{attempts}, 0, 'no try is counted');
}

sub no_fault_of_its_own {
    is($cloud->counters->{internalErrors} // 0, 0, 'the emulator had no fault of its own');
}

on_one_engine {
    my ($engine) = @_;
    $clock = Idadmin::Test::Fault->new('idadmin-worker');
    $stack = Idadmin::Test::Stack->new(engine => $engine, cloud => {},
        worker => { env => $clock->env });
    $cloud = $stack->cloud;
    my %parts = (at_the_minute => \&at_the_minute, disabled_and_bare => \&disabled_and_bare,
        name_taken_meanwhile => \&name_taken_meanwhile, late_replicas => \&late_replicas,
        photo_without_mailbox => \&photo_without_mailbox, refused_for_good => \&refused_for_good,
        comes_back => \&comes_back, ownership => \&ownership, enabled_by_hand => \&enabled_by_hand,
        own_word_has_its_time => \&own_word_has_its_time,
        manager_from_queue => \&manager_from_queue,
        told_meanwhile => \&told_meanwhile, refused_credentials => \&refused_credentials,
        never_seen => \&never_seen);
    subtest($_ => $parts{$_}) for qw(at_the_minute disabled_and_bare name_taken_meanwhile
        enabled_by_hand own_word_has_its_time manager_from_queue late_replicas
        photo_without_mailbox never_seen refused_for_good
        ownership comes_back told_meanwhile refused_credentials);
    no_fault_of_its_own();
    is_deeply([grep { $_ > 1 } values %{ $cloud->counters->{createdByMarker} }], [],
        'nothing was made twice');
    subtest(ends_while_read => \&ends_while_read);
    no_fault_of_its_own();
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
} 'calls of the cloud are the same on both engines; t/unit/queue and t/unit/cache run the '
    . 'statements of tasks, holds and the cache on both';

done_testing();
