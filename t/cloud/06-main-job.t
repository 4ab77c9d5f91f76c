# The main job of a company whose directory is in the cloud: posted to httpd, carried out at the
# asked minute, looked up, offboarded. What counts is what the directory holds afterwards, and that
# no step says more than that.
use strict;
use warnings;
use utf8;
use Test::More;
use Digest::SHA ();
use Idadmin::Test qw(for_each_engine json_data json_text within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Minute qw(post_ahead wait_on_time);
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall outcomes step);
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $domain = $Idadmin::Test::Cloud::domain;
my ($stack, $cloud);

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

# What the directory holds before and after the minute.
sub at_the_minute {
    my $posted = post_ahead($stack, $domain, company => 'Acme AB', country => 'se');
    is($cloud->counters->{created}, 0, 'and the directory has nobody new');
    ok($cloud->user("bo.ek\@$domain")->{accountEnabled}, 'a leaver can still sign in');

    my @done = wait_on_time($stack, $posted);

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
    my $start = Time::HiRes::time();
    my $task = $stack->wait_task(join_now(firstname => 'Nina', surname => 'Nu',
        accountEnabled => JSON::PP::false())->{taskId});
    note(sprintf 'a creation for now was done %.3f s after the request',
        Time::HiRes::time() - $start);
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'skipped', setPhoto => 'skipped' },
        'no manager, no photo: skipped');
    ok(!$cloud->user("nina.nu\@$domain")->{accountEnabled},
        'accountEnabled false creates it disabled');
}

# Somebody else takes the name between queueing and the minute: the next candidate, told in task and
# step.
sub name_taken_meanwhile {
    my ($date, $time) = wall(time + 3600);
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
    $cloud->control(settings => { lag => { read => 2500 } });
    my $joiner = join_now(firstname => 'Late', surname => 'Joiner', manager => "anna.lind\@$domain",
        profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000)));
    my $task = $stack->wait_task($joiner->{taskId});
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'done', setPhoto => 'done' },
        'a joiner is made, with manager and photo');
    is($task->{attempts}, 0, 'without a counted try');
    my $user = $cloud->user($joiner->{userPrincipalName});
    is($user->{manager}, "anna.lind\@$domain", 'the manager is set');
    is($user->{photo}{bytes}, 2000, 'the photo too');
    my $leaver = leave_now("per.lundin\@$domain");
    $task = $stack->wait_task($leaver);
    is_deeply(outcomes($task),
        { disableAccount => 'done', revokeSessions => 'done', revokeMemberships => 'done',
        verify => 'done' }, 'a leaver is verified');
    is($task->{attempts}, 0, 'without a counted try');
    is_deeply($cloud->user("per.lundin\@$domain")->{groups}, [], 'and is out of its groups');
    # Made and offboarded before anybody sees the account.
    $cloud->control(settings => { lag => {} });
    my $short = join_now(firstname => 'Short', surname => 'Stay');
    $stack->wait_task($short->{taskId});
    $cloud->control(settings => { lag => { read => 4000 } });
    $task = $stack->wait_task(leave_now($short->{userPrincipalName}));
    is(outcomes($task)->{disableAccount}, 'done',
        'an account of a moment ago is not called absent');
    ok(!$cloud->user($short->{userPrincipalName})->{accountEnabled}, 'but disabled');
    $cloud->control(settings => { lag => {} });
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
    my $synced = $stack->wait_task(leave_now("syn.kad\@$domain"), states => ['failed']);
    like($synced->{error}, qr/disable it on-premises/,
        'a synced account: the task fails and says where to go');
    my $admin = $stack->wait_task(leave_now("root.admin\@$domain"), states => ['failed']);
    like($admin->{error},
        qr/disableAccount:\ root\.admin\S+\ holds\ the\ directory\ role\ User\ Administrator:
            \ .*never\ changed/x, 'an administrator: the task fails at once and says why');
    ok($cloud->user("root.admin\@$domain")->{accountEnabled},
        'and nothing says that it is disabled');
}

# Somebody enables the account and adds it to a group again while it is being offboarded: the last
# look puts it right.
sub comes_back {
    $stack->worker->expect_log(qr/IDA0321/);    # longer than a call should take
    $cloud->control(faults => { method => '^POST$', path => 'revokeSignInSessions', do => 'delay',
        ms => 6000, count => 1 });
    my $upn = "nils.palm\@$domain";
    my $id  = leave_now($upn);
    ok(within(sub { !$cloud->user($upn)->{accountEnabled} }), 'disabled');
    $cloud->control(change => { key => $upn,
        properties => { accountEnabled => JSON::PP::true() } });
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
    $stack->sql_signed("UPDATE task SET attempts = $tries, next_at = 0, progress = '"
        . json_text($progress) . "' WHERE id = '$id'");
    $stack->worker->start;
}

# An account of ours that stays invisible: the name is kept, nothing is sent under another one, and
# in the end somebody is to look.
sub never_seen {
    my $waits = sub { my ($id, $pattern, $name) = @_;
        ok(within(sub { my $task = $stack->task($id);
        $task->{state} eq 'queued' && ($task->{error} // '') =~ $pattern }), $name)
        or diag json_text($stack->task($id)) };
    $cloud->control(settings => { lag => { read => 600_000 } },
        faults => { method => '^POST$', path => '^/users$', do => 'reset', when => 'after',
        count => 1 });
    my $joiner = join_now(firstname => 'Hid', surname => 'Den');
    $waits->($joiner->{taskId}, qr/shows nobody/,
        'made, its answer lost and nobody to be seen: it waits');
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
    $waits->($second->{taskId},
        qr/con\.tact\@.* is taken by an object that the directory does not show/,
        'the address of something that is not shown: it waits');
    later($second->{taskId}, 0, sub { $_[0]{unseenSince} -= 16 * 60_000 });
    $task = $stack->wait_task($second->{taskId});
    is($task->{userPrincipalName}, "con.tact2\@$domain", 'then the next name');
    is($cloud->counters->{createdByMarker}{ $second->{taskId} }, 1, 'made once');
}

# The directory is held, and while the probe is on its way another worker is told to wait: that hold
# is not the probe's to end.
sub told_meanwhile {
    my $state = sub { my ($row) =
        $stack->sql("SELECT hold_reason, hold_until FROM directory_state WHERE directory = "
        . "'cloud'"); return @{ $row // [] } };
    $stack->worker->expect_log(qr/IDA0315/);
    $cloud->control(faults => { path => '.', do => 'status', status => 503 });
    my $id = leave_now("greta.dahl\@$domain");
    ok(within(sub { ($state->())[0] }), 'held');
    # No probe of its own accord until the one that is waited for.
    $stack->sql("UPDATE directory_state SET hold_until = 4102444800000 WHERE directory = 'cloud'");
    Time::HiRes::sleep(1);    # a synchronisation on its way has failed too: it asks twice
    $cloud->control(clearFaults => JSON::PP::true());
    $cloud->freeze;
    my $now = int(Time::HiRes::time() * 1000);
    $stack->sql("UPDATE directory_state SET hold_until = $now WHERE directory = 'cloud'");
    ok(within(sub { (($state->())[1] // 0) > $now }),
        'a probe goes, be it a task or a synchronisation');
    my $until = int(Time::HiRes::time() * 1000) + 10_000;
    $stack->sql("UPDATE directory_state SET hold_since = $now, hold_until = $until, "
        . "hold_reason = 'told by another worker' WHERE directory = 'cloud'");
    $cloud->thaw;
    Time::HiRes::sleep(2);
    is_deeply([$state->()], ['told by another worker', $until],
        'it is answered, and what was told stands');
    my $next = leave_now("rut.sandell\@$domain");
    $stack->wait_task($_) for $id, $next;
    cmp_ok(Time::HiRes::time() * 1000, '>=', $until, 'who comes now waits for that time');
    ok(within(sub { !defined(($state->())[0]) }), 'and its probe ends the hold');
}

# A token that is refused once is no reason to wait for minutes; a secret that is put right counts
# at once.
sub refused_credentials {
    $stack->worker->expect_log(qr/IDA0314/);
    my $left = sub { my ($row) =
        $stack->sql("SELECT hold_until, hold_failures FROM directory_state WHERE directory = "
        . "'cloud' AND hold_reason IS NOT NULL");
        return $row ? ($row->[0] / 1000 - Time::HiRes::time(), $row->[1]) : () };
    # Of the task's calls: a synchronisation that took one of the two would leave nobody refused.
    $cloud->control(faults => { path => '^/users(?!/delta)', do => 'status', status => 401,
        count => 2, error => { code => 'InvalidAuthenticationToken',
        message => 'Access token is not valid.' } });
    # The worker's word for it: a call that was on its way and succeeds ends the hold at once.
    my $holds = sub { $stack->worker->log_text =~ /IDA0314 .*next probe in (\d+) s/g };
    my $before = () = $holds->();
    my $begun = Time::HiRes::time();
    my $once = leave_now("per.lundin\@$domain");
    ok(within(sub { (() = $holds->()) > $before }),
        'a token and the next one are refused: held');
    cmp_ok(($holds->())[$before], '<=', 12, 'for ten seconds or so');
    $stack->wait_task($once);
    cmp_ok(Time::HiRes::time() - $begun, '<=', 30, 'then it goes on');

    ok(within(sub { !$left->() }), 'and the hold is over');

    my $file = $stack->cloud_document->{clientSecretFile};
    $cloud->control(secret => 'another', expireTokens => JSON::PP::true());
    my $id = leave_now("olga.ivanova\@$domain");
    ok(within(sub { ($left->())[0] }), 'the secret is another one: held');
    ok(within(sub { ($stack->task($id)->{error} // '') =~ /AADSTS7000215/ }),
        'with the reason') or diag json_text($stack->task($id));
    ok(within(sub { (($left->())[1] // 0) >= 2 }), 'a second try');
    cmp_ok(($left->())[0], '>', 20, 'the third comes later');
    Idadmin::Test::secret_file($file, "another\n");
    my $changed = Time::HiRes::time();
    $stack->wait_task($id);
    cmp_ok(Time::HiRes::time() - $changed, '<=', 15, 'the file is put right: it counts at once');
    Idadmin::Test::secret_file($file, Idadmin::Test::Cloud::client_secret() . "\n");
    $cloud->control(secret => Idadmin::Test::Cloud::client_secret(),
        expireTokens => JSON::PP::true());
}

sub manager_from_queue {
    my ($date, $time) = wall(time + 3600);
    my $boss = join_now(firstname => 'New', surname => 'Boss', date => $date, time => $time);
    my $junior = join_now(firstname => 'New', surname => 'Junior',
        manager => $boss->{userPrincipalName}, date => $date, time => $time);
    $cloud->control(settings => { lag => { read => 1500 } });
    $stack->ctl_ok('task', 'reschedule', 'acme', $boss->{taskId}, wall(time - 120));
    $stack->wait_task($boss->{taskId});
    $stack->ctl_ok('task', 'reschedule', 'acme', $junior->{taskId}, wall(time - 120));
    my $task = $stack->wait_task($junior->{taskId});
    is(outcomes($task)->{setManager}, 'done',
        'a manager who was made a moment ago and is seen late');
    is($cloud->user($junior->{userPrincipalName})->{manager}, $boss->{userPrincipalName},
        'in the directory too');
    is($task->{attempts}, 0, 'no try is counted');
    $cloud->control(settings => { lag => {} });
}

for_each_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine, cloud => {});
    $cloud = $stack->cloud;
    my %parts = (at_the_minute => \&at_the_minute, disabled_and_bare => \&disabled_and_bare,
        name_taken_meanwhile => \&name_taken_meanwhile, late_replicas => \&late_replicas,
        photo_without_mailbox => \&photo_without_mailbox, refused_for_good => \&refused_for_good,
        comes_back => \&comes_back, manager_from_queue => \&manager_from_queue,
        told_meanwhile => \&told_meanwhile, refused_credentials => \&refused_credentials,
        never_seen => \&never_seen);
    subtest($_ => $parts{$_}) for qw(at_the_minute disabled_and_bare name_taken_meanwhile
        manager_from_queue late_replicas photo_without_mailbox never_seen refused_for_good
        comes_back told_meanwhile refused_credentials);
    is($cloud->counters->{internalErrors} // 0, 0, 'the emulator had no fault of its own');
    is_deeply([grep { $_ > 1 } values %{ $cloud->counters->{createdByMarker} }], [],
        'nothing was made twice');
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
};

done_testing();
