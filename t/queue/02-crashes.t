# No task is lost, none doubled and no audit record lost by kill -9 of workers, with two of them,
# and of httpd children under load: at random, and certainly in the middle of every step, both
# before a write was executed and after it without its answer. A dead worker's tasks are taken over
# when its lease has ended. A worker that was suspended meanwhile changes nothing when it resumes.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine in_parallel within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Gate ();
use Idadmin::Test::Photo ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(step);
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(run_of);
use Time::HiRes ();

my $lease  = 60;       # seconds a lease lasts
my $domain = $Idadmin::Test::Slapd::domain;
my $people = $Idadmin::Test::Slapd::people;
my $photo  = Idadmin::Test::Photo::jpeg(3000);
my $slow   = Idadmin::Test::slowness();
# Of those who stand in the middle of their calls it stands still, so that no call ends too early;
# of the one who takes over it leaps.
my ($still, $taker) = map { Idadmin::Test::Fault->new('idadmin-worker') } 1 .. 2;

sub open_tasks { my ($stack, @states) = @_; my $in = join ', ', map {"'$_'"} @states;
    my ($row) = $stack->sql("SELECT count(*) FROM task WHERE state IN ($in)"); return $row->[0] }

# Children and workers are killed at random while requests come in and are worked on; a request
# whose connection died may or may not have been queued.
sub at_random {
    my ($stack) = @_;
    my $joiners = 120;
    my @leavers = map { sprintf 'user%05d', $_ } 1 .. 60;
    my @workers = ($stack->worker, $stack->new_worker);
    # take-overs and lost leases are reported; that is what happens here
    $_->expect_log(qr/IDA0/) for @workers;

    my $killer = fork // die "fork: $!";
    if (!$killer) {
        for (1 .. 12) { Time::HiRes::sleep(0.15); $stack->httpd->kill_child }
        POSIX::_exit(0);
    }
    my @ids = map {@$_} in_parallel(6, sub {
        my ($index) = @_;
        my @mine;
        for my $n (1 .. $joiners / 6) {
            my $answer = eval {
                $stack->post('/v1/api/user',
                { firstname => "J$index", surname => "N$n", manager => "eva.berg\@$domain" }) };
            push @mine, $answer->{json}{data}{taskId} if $answer && $answer->{status} == 200;
            my $uid = $leavers[$index * 10 + ($n - 1) % 10];
            my $left = $n <= 10
                ? eval { $stack->delete('/v1/api/user',
                { userPrincipalName => "$uid\@$domain", time => '00:00' }) } : undef;
            push @mine, $left->{json}{data}{taskId} if $left && $left->{status} == 200;
        }
        return \@mine;
    });
    waitpid $killer, 0;
    cmp_ok(scalar @ids, '>', 100, scalar(@ids) . ' requests were answered with 200');

    my $kills = 0;
    my $end = Time::HiRes::time() + 12 * $slow;
    while ($kills < 2 || (Time::HiRes::time() < $end && open_tasks($stack, 'queued'))) {
        Time::HiRes::sleep(0.1 + rand 0.3);
        my $victim = $workers[rand @workers];
        $victim->kill9;
        $kills++;
        $victim->start;
    }
    cmp_ok($kills, '>=', 2, "$kills times a worker was killed at random");
    note(open_tasks($stack, 'running') . ' tasks were left running');
    # A killed probe of a held directory keeps others off it for 45 s.
    ok(within(sub { !open_tasks($stack, 'queued') }), 'the survivors do what is queued')
        or diag(join "\n", map { join ' ',
            map { $_
            // '-' } @$_ } $stack->sql("SELECT t.upn, t.error, t.next_at, h.hold_reason, "
            . "h.hold_until FROM task t LEFT JOIN directory_state h ON h.tenant_id = t.tenant_id "
            . "WHERE t.state = 'queued' LIMIT 5"));
    my $pids = join ', ', map { $_->pid } @workers;
    ok(within(sub { my ($row) =
        $stack->sql("SELECT count(*) FROM worker WHERE pid IN ($pids)"); $row->[0] == @workers }),
        'and are up');
    return (\@ids, @workers);
}

# A leaver of a single group, for the look of `verify`.
my $solo  = "cn=Solo,$Idadmin::Test::Slapd::groups";
my $loner = <<"LDIF";
dn: uid=solo.member,$people
objectClass: inetOrgPerson
uid: solo.member
cn: Solo Member
sn: Member
mail: solo.member\@$domain
memberOf: $solo

dn: $solo
objectClass: groupOfNames
cn: Solo
member: uid=solo.member,$people
member: uid=eva.berg,$people

LDIF

# The first write of each step, for one person each. `landed`: the directory carries it out after
# its caller is dead; `lost`: it never does.
my @points = (
    ['userCreate', 'createAccount', '^ADD\\b(?s:.*)^dn: uid=%s,'],
    ['userCreate', 'createAccount', '^MODIFY\\b(?s:.*)^dn: uid=%s,(?s:.*)userPassword', 'password'],
    ['userCreate', 'setManager',    '^MODIFY\\b(?s:.*)^dn: uid=%s,(?s:.*): manager$'],
    ['userCreate', 'setPhoto',      '^MODIFY\\b(?s:.*)^dn: uid=%s,(?s:.*): jpegPhoto$'],
    ['userDelete', 'disableAccount',
    '^MODIFY\\b(?s:.*)^dn: uid=%s,(?s:.*): pwdAccountLockedTime$'],
    ['userDelete', 'revokeMemberships', '^MODIFY\\b(?s:.*)^dn: cn=(?s:.*)^member: uid=%s,'],
);
my @leavers = qw(bo.ek carin.sjoberg david.holm elin.strand greta.dahl henrik.falk);

# Workers are killed inside an action of a workflow too: one person each for a membership, a mail
# and a webhook.
my @actors  = qw(acts.group held.mail acts.hook);
my $no_mail = Idadmin::Test::Smtp->skip_reason;
my $hook    = Idadmin::Test::Webhook->new;
$loner .= join '',
    map {"dn: uid=$_,$people\nobjectClass: inetOrgPerson\nuid: $_\ncn: $_\nsn: $_\nmail: "
    . "$_\@$domain\n\n"} @actors;

# Whom the actions of an engine's stack reach.
sub outside {
    my ($engine) = @_;
    my $path = "/hang-once?$engine";
    return { smtp => $no_mail ? undef : Idadmin::Test::Smtp->new(tls => ''), path => $path,
        workflow => { name => 'Mover', trigger => 'userUpdate',
        actions => [{ type => 'addToGroup', group => 'Engineering' },
        { type => 'sendEmail', to => '{userPrincipalName}', subject => 's', body => 'b' },
        { type => 'callWebhook', url => $hook->url($path), secretFile => $hook->secret,
        allowPrivate => JSON::PP::true() }] } };
}

sub mail_options { my ($out) = @_;
    return $out->{smtp} ? $out->{smtp}->options(from => 'identity@nordic.example') : () }

sub queue_actors {
    my ($stack, $gate) = @_;
    return if $no_mail;
    $gate->hold('killed in an action' =>
        '(?m)^MODIFY\\b(?s:.*)^dn: cn=Engineering,(?s:.*)uid=acts\\.group,');
    return map { my $answer = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => "$_\@$domain", city => 'Lund' });
        is($answer->{status}, 200, "$_ is queued");
        { name => $_, id => $answer->{json}{data}{taskId} } } @actors;
}

# The other side shows which worker waits where: the directory, the mail server, the receiver.
sub actors_wait {
    my ($stack, $gate, $out, @acts) = @_;
    ok(within(sub { grep({ $_ eq 'killed in an action' } $gate->waiting)
        && $out->{smtp}->mail("held.mail\@$domain") && $hook->calls($out->{path}) }),
        'and each action') if @acts;
    is((steps_in_hand($stack, $acts[$_]))[0],
        'running Mover/' . ('1 addToGroup', '2 sendEmail', '3 callWebhook')[$_], $acts[$_]{name})
        for 0 .. $#acts;
}

# What was done and recorded is not done again; unfinished work is repeated under the same ID.
sub actions_are_right {
    my ($stack, $out, @acts) = @_;
    for my $act (@acts) {
        my $upn  = "$act->{name}\@$domain";
        my $task = $stack->task($act->{id});
        is_deeply([$task->{state}, map { $_->{outcome} } @{ $task->{steps} }[1 .. 3]],
            ['done', $act->{name} eq 'acts.group' ? 'already' : 'done', 'done', 'done'],
            "$upn: each action is done") or diag(Idadmin::Test::json_text($task));
        run_of($stack, 'Mover', $task, 'done');
        my @mails = map { $_->{headers}{'message-id'} } $out->{smtp}->mail($upn);
        my @calls = grep {
            $_->{json}{data}{user}{userPrincipalName} eq $upn } $hook->calls($out->{path});
        is_deeply([scalar(grep {/^uid=\Q$act->{name}\E,/} $stack->slapd->members('Engineering')),
            scalar @mails, scalar @calls],
            [1, $act->{name} eq 'held.mail' ? 2 : 1, $act->{name} eq 'acts.hook' ? 2 : 1],
            'a member once; repeated only after an unknown outcome');
        is_deeply([grep { $_ ne $mails[0] } @mails], [], 'under the same Message-ID');
        is_deeply([grep { $_->{headers}{'webhook-id'} ne $calls[0]{headers}{'webhook-id'}
            || $_->{body} ne $calls[0]{body} || !$_->{signed} } @calls], [],
            'and webhook-id, with the same words');
    }
}

sub queue_point {
    my ($stack, $type, $uid) = @_;
    my ($first, $last) = split /\./, $uid;
    my $answer = $type eq 'userCreate'
        ? $stack->post('/v1/api/user',
            { firstname => ucfirst $first, surname => ucfirst $last,
            manager => "anna.lind\@$domain", profilePhoto => Idadmin::Test::Photo::base64($photo) })
        : $stack->delete('/v1/api/user', { userPrincipalName => "$uid\@$domain", time => '00:00' });
    is($answer->{status}, 200, "$uid is queued") or diag($answer->{body});
    return $answer->{json}{data}{taskId};
}

sub make_points {
    my ($stack, $gate, $prefix) = @_;
    my (@cases, @free);
    @free = $prefix eq 'killed' ? @leavers[0 .. 3] : @leavers[4, 5];
    for my $point (@points) {
        my ($type, $step, $pattern, $name) = @$point;
        for my $how (qw(landed lost)) {
            next if $prefix eq 'stopped'
                && "$step $how" !~ /^(?:createAccount\ landed|setManager\ lost|disableAccount
                    \ landed|revokeMemberships\ lost)$/x || $prefix eq 'stopped' && $name;
            my $uid = $type eq 'userCreate' ? "$prefix." . lc(($name // $step) . $how)
                : shift @free;
            push @cases, { name => "$prefix in " . ($name // $step) . ", the write is $how",
                uid => $uid, type => $type, step => $step, how => $how };
            $gate->hold($cases[-1]{name}, '(?m)' . sprintf $pattern, quotemeta $uid);
            $cases[-1]{id} = queue_point($stack, $type, $uid);
        }
    }
    return @cases;
}

# Of all cases in one look: their calls wait no longer than a directory may be silent.
sub steps_in_hand {
    my ($stack, @cases) = @_;
    my %step;
    $step{ $_->[0] } //= "$_->[1] $_->[2]"
        for $stack->sql("SELECT t.id, t.state, COALESCE(s.workflow || '/' || s.workflow_position "
        . "|| ' ', '') || s.name FROM task t JOIN task_step s ON s.task_id = t.id WHERE t.id IN ("
        . join(', ', map {"'$_->{id}'"} @cases)
        . ') AND s.outcome IS NULL ORDER BY s.position');
    return map { $step{ $_->{id} } // 'none' } @cases;
}

sub all_wait {
    my ($stack, $gate, @cases) = @_;
    ok(within(sub { my %waits = map { $_ => 1 } $gate->waiting;
        !grep { !$waits{ $_->{name} } } @cases }), 'each task waits in its call')
        or diag("waiting: " . join('; ', $gate->waiting));
    my @steps = steps_in_hand($stack, @cases);
    is($steps[$_], "running $cases[$_]{step}", $cases[$_]{name}) for 0 .. $#cases;
}

# One worker is stopped (not killed) in the middle of its calls, another one is killed in the middle
# of each step.
sub in_each_step {
    my ($stack, $gate, $out) = @_;
    my @stopped_cases = make_points($stack, $gate, 'stopped');
    $still->speed(0);
    my $sleeper = $stack->new_worker(options => ['--threads', 8], env => $still->env);
    $sleeper->expect_log(qr/IDA0/);
    all_wait($stack, $gate, @stopped_cases);
    $stack->stand_still($sleeper);
    $gate->release($_->{name}, $_->{how}) for @stopped_cases;

    my @cases = make_points($stack, $gate, 'killed');
    my $loner = { name => 'killed in verify', uid => 'solo.member', type => 'userDelete',
        step => 'verify', how => 'lost' };
    $gate->hold(sync => '(?m)^SEARCH\b(?s:.*)^filter: \(objectClass=inetOrgPerson\)$');
    $gate->hold(before => '(?m)^MODIFY\\b(?s:.*)^dn: cn=Solo,');
    $loner->{id} = queue_point($stack, 'userDelete', 'solo.member');
    my @acts = queue_actors($stack, $gate);
    my $victim = $stack->new_worker(options => ['--threads', 20, mail_options($out)],
        env => $still->env);
    $victim->expect_log(qr/IDA0/);
    all_wait($stack, $gate, @cases);
    actors_wait($stack, $gate, $out, @acts);
    ok(within(sub { grep { $_ eq 'before' } $gate->waiting }),
        'and the loner before its last step');
    # Looks for the person by ID come in several steps: they are let through up to the one of
    # `verify`.
    for (my $before = 'before', my $look = 1;
        $look < 9 && (steps_in_hand($stack, $loner))[0] ne 'running verify';
        $before = "look $look", $look++) {
        $loner->{name} = "look $look";
        $gate->hold($loner->{name}, '^SEARCH\\b(?s:.*)entryUUID=');
        $gate->release($before => 'landed');
        within(sub { grep { $_ eq $loner->{name} } $gate->waiting });
    }
    push @cases, $loner;
    all_wait($stack, $gate, @cases);
    # Once begun it stays so: the gate holds its search. By a clock that stands still none is due,
    # and after a failure none for long: one is asked for. The clock leaps so that it is heard, in
    # all for less than a call may take.
    $stack->ctl_ok('sync', 'nordic');
    my $looks = 0;
    ok(within(sub { my ($owner) =
        $stack->sql("SELECT sync_owner FROM directory_state WHERE tenant_id = 'nordic' AND "
        . "directory = 'onPremises'");
        $still->leap(2) if !$owner->[0] && $looks++ % 20 == 0 && $looks < 80;
        $owner->[0] }),
        'and a worker that is or will be dead is in a sync')
        or diag(Idadmin::Test::json_text($stack->ctl('status', '--json')->{json}),
        $victim->log_text);
    $victim->kill9;
    $gate->release($_->{name}, $_->{how}) for @cases;
    $gate->release('killed in an action' => 'landed');
    $gate->release(sync => 'lost');
    return ($sleeper, \@acts, @stopped_cases, @cases);
}

sub directory_is_right {
    my ($stack, $case) = @_;
    my $task = $stack->task($case->{id});
    my %outcome = map { $_->{name} => $_->{outcome} } @{ $task->{steps} };
    is($task->{state}, 'done', "$case->{name}: done") or diag(Idadmin::Test::json_text($task));
    is($task->{attempts}, 1, 'the takeover counts as a try');
    my @entries = $stack->slapd->search("(uid=$case->{uid}*)", base => $people);
    is(scalar @entries, 1, 'one entry');
    if ($case->{type} eq 'userCreate') {
        is($entries[0]{manager}[0], "uid=anna.lind,$people", 'with its manager');
        ok(($entries[0]{jpegphoto}[0] // '') eq $photo, 'and its photo');
        is($stack->slapd->client('ldapwhoami', [], bind => [$entries[0]{dn}, 'guess'])->{exit}, 49,
            'and a password');
        ok($entries[0]{userpassword}, 'which is set');
    }
    else {
        is($entries[0]{pwdaccountlockedtime}[0], '000001010000Z', 'disabled');
        is($entries[0]{memberof}, undef, 'in no group');
        is($outcome{verify}, 'done', 'verified');
    }
    is($outcome{ $case->{step} }, $case->{how} eq 'landed' ? 'already' : 'done',
        'the step says what was found')
        if $case->{step} =~ /^(?:setManager|setPhoto|disableAccount)$/;
}

# What is known of a leaver who still has access.
sub story_of {
    my ($stack, $gate, $entry) = @_;
    my ($task) = $stack->sql("SELECT id FROM task WHERE type = 'userDelete' AND person = "
        . "'$entry->{uid}[0]\@$domain'");
    my %shown = map { $_ => $entry->{$_} }
        qw(uid pwdaccountlockedtime pwdchangedtime memberof modifytimestamp);
    return map { "$_\n" } Idadmin::Test::json_text(\%shown),
        Idadmin::Test::json_text($stack->task($task->[0])),
        map { join ' ', @$_ } $gate->writes(dn => qr/^uid=\Q$entry->{uid}[0]\E,/);
}

sub nothing_lost {
    my ($stack, $gate, $ids) = @_;
    my %state = map { $_->[0] => $_->[1] } $stack->sql('SELECT id, state FROM task');
    is_deeply([grep { ($state{$_} // 'lost') ne 'done' } @$ids], [],
        'every task that was promised is done');
    my ($creates) = map {
        $_->[0] } $stack->sql("SELECT count(*) FROM task WHERE type = 'userCreate' AND upn LIKE "
        . "'j%.n%'");
    my @entries = $stack->slapd->search('(uid=j*.n*)', base => $people);
    is(scalar(@entries), $creates, 'one entry a creation')
        or diag(join ' ', sort map { $_->{uid}[0] } @entries);
    is(scalar(grep { ($_->{manager}[0] // '') !~ /^uid=eva\.berg,/ } @entries), 0,
        'each with its manager');
    my %left = map { $_->[0] =>
        1 } $stack->sql("SELECT person FROM task WHERE type = 'userDelete'");
    my @still = grep { $left{"$_->{uid}[0]\@$domain"}
        && (!$_->{pwdaccountlockedtime} || $_->{memberof}) } $stack->slapd->search('(uid=user000*)',
        base => $people);
    is_deeply([map { $_->{uid}[0] } @still], [], 'every leaver is disabled and in no group')
        or diag(map { story_of($stack, $gate, $_) } @still);
    my ($held) =
        $stack->sql("SELECT (SELECT count(*) FROM user_lock), (SELECT count(*) FROM reservation), "
        . "(SELECT coalesce(sum(seats_held), 0) FROM tenant)");
    is_deeply($held, ['0', '0', '0'], 'no lock, reservation or seat is left behind')
        or diag("@$held");
    my ($records) = ([0]);
    ok(within(sub {
        ($records) =
            $stack->sql("SELECT count(*) FROM audit.record WHERE action IN ('user.create', "
            . "'user.delete', 'user.update') AND outcome = 'ok' AND category = 'api'");
        $records->[0] == keys %state;
    }), 'one audit record a task: ' . keys %state) or diag("$records->[0] records");
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole');
}

# The taker waits a whole lease by its own clock, which leaps; then it takes over what it has seen.
sub taken_over {
    my ($stack, $worker) = @_;
    my $begun = sub { $worker->log_has(qr/IDA0323/) };
    # How often it leaps decides nothing: between two leaps there is time to look.
    ok(within(sub { $begun->() || do { $taker->leap($lease + 1);
        Idadmin::Test::soon(3, $begun) } }), 'what the dead ones held is taken over');
    ok(within(sub { !open_tasks($stack, 'queued', 'running') }), 'all of it');
    my @stood = $worker->log_text =~ /IDA0323.* has stood still for (\d+) s/g;
    is_deeply([grep { $_ < $lease } @stood], [], 'nothing of it within a lease');
    ok(within(sub { !$stack->ctl('sync', 'nordic', '--wait', '--timeout', '5s')->{exit}
        || do { $taker->leap($lease + 1); 0 } }), 'and so is the sync');
}

for_each_engine {
    my ($engine) = @_;
    my ($gate, $out) = (Idadmin::Test::Gate->new, outside($engine));
    my $stack = Idadmin::Test::Stack->new(engine => $engine,
        slapd => { users => 60, groups => 10, ldif => $loner, $gate->slapd_options },
        httpd => { children => 3 },
        worker => { options => [mail_options($out)], env => $taker->env },
        tenant => { workflows => [$out->{workflow}] });
    $stack->httpd->expect_log(qr/exit signal Killed|children are killed successively/);
    my ($ids, $worker, $second) = at_random($stack);
    is($_->stop, 0, 'a worker ends cleanly') for $worker, $second;
    my ($sleeper, $acts, @cases) = in_each_step($stack, $gate, $out);
    $worker->start;
    taken_over($stack, $worker);
    directory_is_right($stack, $_) for @cases;
    actions_are_right($stack, $out, @$acts);

    my ($before) = map { $_->[0] } (reverse $gate->writes)[0];
    $still->speed(1)->leap($lease + 1);
    $sleeper->signal('CONT');
    ok(within(sub { my $log = $sleeper->log_text;
        my %let = map { $_ => 1 } $log =~ /IDA03(?:00|10|13|25).*?task (\w+)/g;
        !grep { !$let{ $_->{id} } } grep { $_->{name} =~ /^stopped/ } @cases }),
        'the worker that stood still sees that all of its tasks are taken');
    is($sleeper->stop, 0, 'it ends cleanly');
    is_deeply([grep { $_->[3] =~ /,ou=(?:people|groups),/ } $gate->writes(after => $before)],
        [], 'and has touched the directory no more');
    is(open_tasks($stack, 'queued', 'running', 'failed', 'attention'), 0, 'nor the queue');
    nothing_lost($stack, $gate, [@$ids, map { $_->{id} } @cases, @$acts]);
    is($worker->stop, 0, 'the other one ends cleanly too');
    $stack->stop;
};

done_testing();
