# The main job works over the whole stack: posted to httpd, executed in slapd at the requested
# minute, looked up, offboarded. The directory's content afterwards is compared, and no step may
# claim more than that.
use strict;
use warnings;
use utf8;
use Test::More;
use Encode ();
use Idadmin::Test qw(for_each_engine json_text within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Minute qw(post_ahead wait_on_time);
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall outcomes step);

my $domain = $Idadmin::Test::Slapd::domain;
my ($stack, $fault);

# What the directory holds before and after the minute.
sub at_the_minute {
    my $posted = post_ahead($stack, $domain, company => 'Nordic AB', clock => $fault);
    is(scalar $stack->slapd->search('(uid=asa.oberg*)', base => $Idadmin::Test::Slapd::people), 0,
        'and the directory has no new account');
    is($stack->slapd->bind_code('bo.ek'), 0, 'a leaver can still sign in');

    my @done = wait_on_time($stack, $posted);

    is_deeply(outcomes($done[0]),
        { createAccount => 'done', setManager => 'done', setPhoto => 'done' },
        'true outcomes of a joiner');
    my $entry = $stack->slapd->user('asa.oberg');
    my %want = (givenname => 'Åsa', sn => 'Öberg', displayname => 'Åsa Öberg', cn => 'Åsa Öberg',
        mail => "asa.oberg\@$domain", title => 'Säljare', o => 'Nordic AB', l => 'Malmö',
        physicaldeliveryofficename => 'Malmö 3', street => 'Storgatan 1', postalcode => '211 34',
        preferredlanguage => 'sv-SE', manager => 'uid=anna.lind,ou=people,dc=nordic,dc=example');
    is_deeply({ map { $_ => $entry->{$_}[0] } keys %want },
        { map { $_ => Encode::encode_utf8($want{$_}) } keys %want },
        'the entry has every attribute');
    ok($entry->{jpegphoto}[0] eq $posted->{photo}, 'and the photo, byte for byte');
    is($entry->{pwdaccountlockedtime}, undef, 'and is enabled');
    like($entry->{userpassword}[0], qr/^\{/, 'with a hashed password');
    my %uids = map { $_->{uid}[0] => 1 } $stack->slapd->search('(sn=Öberg)',
        base => $Idadmin::Test::Slapd::people);
    is_deeply([sort keys %uids], [sort 'asa.oberg', map {"asa.oberg$_"} 2 .. 15],
        'fifteen of the name, numbered from 2');
    is($stack->get_user("asa.oberg\@$domain")->{json}{data}{user}{jobTitle}, 'Säljare',
        'the look-up finds the new user at once');

    my $leaver = $done[15];
    my $outcomes = outcomes($leaver);
    is_deeply($outcomes, { disableAccount => 'done', revokeSessions => 'skipped',
        revokeMemberships => 'done', verify => 'done' }, 'true outcomes of a leaver');
    is($stack->slapd->user('bo.ek')->{pwdaccountlockedtime}[0], '000001010000Z',
        'the account is disabled');
    is($stack->slapd->bind_code('bo.ek'), 49, 'and cannot sign in');
    is_deeply([map { grep {/uid=bo\.ek,/} $stack->slapd->members($_) } 'All staff', 'Sales team',
        'CRM admins'], [], 'and is out of every group');
    like(json_text($leaver->{warnings}), qr/Everyone in sales/,
        'the dynamic group is reported, not removed');
    is($stack->get_user("bo.ek\@$domain", )->{status}, 200, 'a leaver can still be looked up');
    my $again = $stack->delete('/v1/api/user',
        { userPrincipalName => "bo.ek\@$domain", date => (wall(time))[0], time => '00:00' });
    my $repeat = $stack->wait_task($again->{json}{data}{taskId});
    is(outcomes($repeat)->{disableAccount}, 'already',
        'a disabled user again: a task whose steps say already');
    is(outcomes($repeat)->{revokeMemberships}, 'already', 'each of them');
}

# The last member of a groupOfNames cannot simply go: the placeholder takes the place and never
# shows.
sub last_member {
    $stack->slapd->modify("dn: cn=Lonely,ou=groups,dc=nordic,dc=example\nchangetype: "
        . "add\nobjectClass: groupOfNames\ncn: Lonely\nmember: "
        . "uid=sten.vik,ou=people,dc=nordic,dc=example\n");
    my $task = $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => "sten.vik\@$domain", time => '00:00' })->{json}{data}{taskId});
    is_deeply([$stack->slapd->members('Lonely')], [$Idadmin::Test::Slapd::filler],
        'only the placeholder is left');
    is(outcomes($task)->{revokeMemberships}, 'done', 'the membership is gone');
}

sub now_and_disabled {
    my $answer = $stack->post('/v1/api/user',
        { firstname => 'Nina', surname => 'Nu', accountEnabled => JSON::PP::false() });
    my $task = $stack->wait_task($answer->{json}{data}{taskId});
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'skipped', setPhoto => 'skipped' },
        'no manager, no photo: skipped');
    ok(step($task, 'setManager')->{detail}, 'with the reason');
    is($stack->slapd->user('nina.nu')->{pwdaccountlockedtime}[0], '000001010000Z',
        'accountEnabled false creates it disabled');
}

# Another account takes the name between queueing and the due minute: the next candidate, reported
# in task and step.
sub name_taken_meanwhile {
    my ($date, $time) = wall(time + 10_800);
    my $queued = $stack->post('/v1/api/user',
        { firstname => 'Taken', surname => 'Name', date => $date, time => $time })->{json}{data};
    is($queued->{userPrincipalName}, "taken.name\@$domain", 'reserved');
    $stack->slapd->add_user('taken.name', sn => 'Other');
    $stack->ctl_ok('task', 'reschedule', 'nordic', $queued->{taskId}, wall(time - 120));
    my $task = $stack->wait_task($queued->{taskId});
    is($task->{userPrincipalName}, "taken.name2\@$domain", 'the next candidate');
    like(step($task, 'createAccount')->{detail}, qr/taken\.name2/, 'the step says so');
    is($stack->slapd->user('taken.name')->{sn}[0], 'Other', 'the other entry is as it was');
}

# A manager who comes later than the person: the answer names the day, nothing waits for it, and a
# task of its own sets the manager then.
sub manager_from_queue {
    my ($date, $time) = wall(time + 10_800);
    my $boss = $stack->post('/v1/api/user',
        { firstname => 'New', surname => 'Boss', date => $date, time => $time })->{json}{data};
    my $junior = $stack->post('/v1/api/user', { firstname => 'New', surname => 'Junior',
        manager => $boss->{userPrincipalName} })->{json}{data};
    like("@{ $junior->{warnings} }",
        qr/manager: new\.boss\S* is created later .*\Q$date\E.*\Q$boss->{taskId}\E/,
        'a warning names the day');
    my $task = $stack->wait_task($junior->{taskId});
    is("$task->{state} " . outcomes($task)->{setManager}, 'done skipped',
        'the person is not kept waiting');
    like("@{ $task->{warnings} }", qr/new\.boss\S* is created at .*\Q$date\E/,
        'the task says so too');
    my ($later) = $task->{warnings}[0] =~ /task (\S+) sets it then/;
    my $waits = $stack->task($later);
    is("$waits->{type} $waits->{state} $waits->{scheduledAt}",
        "userUpdate queued $boss->{scheduledAt}", 'a task waits for that day');
    ($date, $time) = wall(time - 120);
    my $moved = $stack->call(PATCH => "/v1/api/task?id=$boss->{taskId}",
        json => { date => $date, time => $time });
    like($moved->{body}, qr/1 task that sets this manager then moved with it/,
        'which is moved with the creation');
    $stack->wait_task($boss->{taskId});
    is(outcomes($stack->wait_task($later))->{setManager}, 'done', 'and sets the manager');
    is($stack->slapd->user('new.junior')->{manager}[0],
        'uid=new.boss,ou=people,dc=nordic,dc=example', 'in the directory too');
}

# What is queued for a held directory says that it will wait, and since when.
sub held_directory {
    my $at = int(time) * 1000 - 3_600_000;
    my $hold = sub { $stack->sql("UPDATE directory_state SET hold_reason = "
        . ($_[0] ? "'no answer'" : 'NULL') . ", hold_since = $at, hold_until = "
        . ($_[0] ? $at * 2 : 0) . " WHERE tenant_id = 'nordic'") };
    $hold->(1);
    my ($date, $time) = wall(time + 7200);
    my ($day, $clock) = wall($at / 1000);
    my $held = qr/The directory onPremises is held since .*\Q$clock\E.*: no answer/;
    for (['POST', firstname => 'Held', surname => 'Back'],
        ['PATCH', userPrincipalName => "eva.berg\@$domain", jobTitle => 'Held'],
        ['DELETE', userPrincipalName => "eva.berg\@$domain"]) {
        my ($method, %body) = @$_;
        my $answer = $stack->call($method, '/v1/api/user',
            json => { %body, date => $date, time => $time });
        like("@{ $answer->{json}{data}{warnings} }", $held, "$method into a held directory warns")
            or diag $answer->{body};
        $stack->delete("/v1/api/task?id=$answer->{json}{data}{taskId}");
    }
    $hold->(0);
}

# Changes that others make in the directory reach the look-up.
sub changes_arrive {
    $stack->slapd->modify("dn: uid=rut.sandell,ou=people,dc=nordic,dc=example\nchangetype: "
        . "modify\nreplace: title\ntitle: Chief of people\n");
    ok(within(sub { ($stack->get_user("rut.sandell\@$domain")->{json}{data}{user}{jobTitle}
        // '') eq 'Chief of people' }), 'a change is seen');
    $stack->slapd->add_user('by.hand', givenName => 'By', sn => 'Hand');
    ok(within(sub { $stack->get_user("by.hand\@$domain")->{status} == 200 }),
        'an entry made by hand is seen');
    $stack->slapd->modify("dn: uid=by.hand,ou=people,dc=nordic,dc=example\nchangetype: "
        . "modrdn\nnewrdn: uid=by.head\ndeleteoldrdn: 1\n");
    $stack->slapd->delete_entry('uid=by.head,ou=people,dc=nordic,dc=example');
    ok(within(sub { $stack->get_user("by.hand\@$domain")->{status} == 404 }),
        'and its end, after a rename too');
}

sub audit {
    my $items;
    ok(within(sub {
        $items = $stack->records;
        # a list is one page
        my %kinds = map { ("@$_" =>
            1) } $stack->sql("SELECT DISTINCT action, category FROM audit.record WHERE tenant_id "
            . "= 'nordic'");
        $kinds{'user.create api'} && $kinds{'user.get api'} && $kinds{'task.step workflow'}
            && @$items;
    }), 'audit records are readable');
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'and the chain is whole');
    my $text = json_text($items);
    unlike($text, qr/\/9j\/|service-Passw0rd|ida_[0-9A-Za-z]{20}/,
        'no photo, password or key in it');
}

for_each_engine {
    my ($engine) = @_;
    $fault = Idadmin::Test::Fault->new('idadmin-worker');
    $stack = Idadmin::Test::Stack->new(engine => $engine, worker => { env => $fault->env });
    # Half an hour later for the worker httpd still writes the segment of now.
    $stack->worker->expect_log(qr/IDA0414/);
    my %parts = (at_the_minute => \&at_the_minute, last_member => \&last_member,
        now_and_disabled => \&now_and_disabled, name_taken_meanwhile => \&name_taken_meanwhile,
        manager_from_queue => \&manager_from_queue,
        held_directory => \&held_directory, changes_arrive => \&changes_arrive,
        audit => \&audit);
    subtest($_ => $parts{$_}) for qw(at_the_minute last_member now_and_disabled name_taken_meanwhile
        manager_from_queue held_directory changes_arrive audit);
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
};

done_testing();
