# A worker that is suspended while it adds a joiner to groups, and resumes after the joiner was
# taken over and has left again, leaves no access behind. It is suspended while its write is in the
# server and succeeds, while the write is lost, while it only reads and would write next, and in the
# cloud after an effect whose answer never came. The worker that takes over waits a whole lease in
# real time; other programs advance the clock. parameter(stall): least time of the suspension in s.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine json_text parameter within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Gate ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(outcomes);
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $lease  = 60;                        # seconds a lease lasts
my $stall  = parameter(stall => 0);
my @groups = ('CRM admins', 'Finance', 'Engineering');
my %prepared;

my $workflow = { name => 'Joiner', trigger => 'userCreate',
    actions => [map { { type => 'addToGroup', group => $_ } } @groups] };

sub row { my ($on, $statement) = @_; my ($row) = $on->sql($statement); return $row // [] }
sub in_hand { my ($on, $id) = @_;
    return join ' ', @{ row($on,
    "SELECT t.state, COALESCE(s.workflow || '/' || s.workflow_position || ' ', '') || s.name FROM "
    . "task t JOIN task_step s ON s.task_id = t.id WHERE t.id = '$id' AND s.outcome IS NULL ORDER "
    . "BY s.position LIMIT 1") } }

sub join_now {
    my ($on, $surname) = @_;
    my $answer = $on->post('/v1/api/user', { firstname => 'Stalled', surname => $surname });
    is($answer->{status}, 200, "$surname is queued") or diag $answer->{body};
    return { name => $surname, on => $on, id => $answer->{json}{data}{taskId},
        upn => $answer->{json}{data}{userPrincipalName} };
}

# A task at a time, until it waits in the call that its hold is for.
sub until_it_waits {
    my ($case, $waits) = @_;
    my $there = within($waits);
    ok($there, "$case->{name} waits in its call")
        or diag(json_text($case->{on}->task($case->{id})));
    like(in_hand($case->{on}, $case->{id}), qr{^running Joiner/\d addToGroup$},
        'in the middle of its groups');
}

sub prepare {
    my ($engine) = @_;
    my $gate  = Idadmin::Test::Gate->new;
    my $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => { $gate->slapd_options },
        tenant => { workflows => [$workflow] });
    my $other = $stack->beside_in_the_cloud(tenant => { workflows => [$workflow] });
    $stack->worker->stop;
    my $clock   = Idadmin::Test::Fault->new('idadmin-worker');
    my $sleeper = $stack->new_worker(options => ['--threads', 8], env => $clock->env);
    $sleeper->expect_log(qr/IDA0/);
    my $engineering =
        $stack->slapd->entry("cn=Engineering,$Idadmin::Test::Slapd::groups")->{entryuuid}[0];
    my @holds = (['landed', 'landed',
        '(?m)^MODIFY\\b(?s:.*)^dn: cn=CRM admins,(?s:.*)uid=stalled\\.landed,'],
        ['lost', 'lost', '(?m)^MODIFY\\b(?s:.*)^dn: cn=Finance,(?s:.*)uid=stalled\\.lost,'],
        ['looking', 'landed', "^SEARCH\\b(?s:.*)\Q$engineering\E"]);
    $other->cloud->control(faults => { method => '^POST$', path => '^/groups/[^/]+/members',
        do => 'hang', when => 'after', count => 1 });
    my @cases = join_now($other, 'Cloud');
    until_it_waits($cases[-1],
        sub { @{ ($other->cloud->user($cases[-1]{upn}) // {})->{groups} // [] } });
    # From now on no call ends before its time. (Calls of the cloud are paced by the clock.)
    $clock->speed(0);
    for my $hold (@holds) {
        my ($name, $how, $pattern) = @$hold;
        $gate->hold($name, $pattern);
        push @cases, { %{ join_now($stack, ucfirst $name) }, hold => $name, how => $how };
        until_it_waits($cases[-1], sub { grep { $_ eq $name } $gate->waiting });
    }
    $stack->stand_still($sleeper);
    my $since = Time::HiRes::time();
    $gate->release($_->{hold}, $_->{how}) for grep { $_->{hold} } @cases;
    $other->cloud->control(release => JSON::PP::true(), clearFaults => JSON::PP::true());
    my $taker = $stack->new_worker;
    $taker->expect_log(qr/IDA0/);
    $prepared{$engine} = { clock => $clock, stack => $stack, other => $other, gate => $gate,
        sleeper => $sleeper,
        taker => $taker, cases => \@cases, since => $since };
}

sub wakes {
    my ($now) = @_;
    my ($stack, $other, $gate, $sleeper) = @$now{qw(stack other gate sleeper)};
    my @cases = @{ $now->{cases} };
    for my $case (@cases) {
        my $task = eval { $case->{on}->wait_task($case->{id}) }
            // die $@, 'the worker that takes over: ', $now->{taker}->log_text;
        is_deeply([@{ outcomes($task) }{ map { "Joiner/$_ addToGroup" } 1 .. 3 }],
            [map { $_ eq 'done' ? 'done'
            : 'already' } @{ outcomes($task) }{ map { "Joiner/$_ addToGroup" } 1 .. 3 }],
            "$case->{name}: taken over, in every group");
        my $left = $case->{on}->delete('/v1/api/user',
            { userPrincipalName => $case->{upn}, time => '00:00' });
        is($case->{on}->wait_task($left->{json}{data}{taskId})->{state}, 'done',
            'and has left again') or diag $left->{body};
    }
    Time::HiRes::sleep($now->{since} + $stall - Time::HiRes::time())
        if $now->{since} + $stall > Time::HiRes::time();
    cmp_ok(Time::HiRes::time() - $now->{since}, '>=', $lease, 'not within a lease');
    my ($before) = map { $_->[0] } (reverse $gate->writes)[0];
    my $posts = $other->cloud->requests('POST /groups/{id}/members/$ref');
    $now->{clock}->right;
    $sleeper->signal('CONT');
    ok(within(sub { my $log = $sleeper->log_text;
        my %let = map { $_ => 1 } $log =~ /IDA03(?:00|10|13|25).*?task (\w+)/g;
        !grep { !$let{ $_->{id} } } @cases }), 'the worker that stood still lets go of each')
        or diag($sleeper->log_text);
    is($sleeper->stop, 0, 'and ends cleanly');
    is_deeply([grep { $_->[3] =~ /,ou=(?:people|groups),/ } $gate->writes(after => $before)], [],
        'having written nothing more on-premises');
    is($other->cloud->requests('POST /groups/{id}/members/$ref'), $posts, 'nor in the cloud');
    for my $case (@cases) {
        if ($case->{hold}) {
            my ($uid) = $case->{upn} =~ /^(.*)\@/;
            my $entry = $stack->slapd->user($uid);
            is($entry->{memberof}, undef, "$case->{name}: in no group");
            is($entry->{pwdaccountlockedtime}[0], '000001010000Z', 'and disabled');
        }
        else {
            my $user = $other->cloud->user($case->{upn});
            is_deeply($user->{groups}, [], "$case->{name}: in no group");
            ok(!$user->{accountEnabled}, 'and disabled');
        }
    }
    is($now->{taker}->stop, 0, 'the other worker ends cleanly');
    $other->cloud->stop;
    $stack->stop;
}

# Both engines are brought to the point where the leases must run out; then they wait at the same
# time.
for_each_engine { prepare(@_) };
for_each_engine { wakes($prepared{ $_[0] } // BAIL_OUT("$_[0] was not prepared")) };

done_testing();
