# Creations and offboardings in the cloud while everything goes wrong: answers lost after every
# third effect, throttling with and without a time told, storms of 503 and gateway pages, bodies cut
# off, replicas that lag, workers killed at random. Nobody is made twice, nobody is lost, no "done"
# is untrue, and no name is skipped.
#
# IDADMIN_FAULT_CREATES (60), IDADMIN_FAULT_LAG_MS (3000): 1000 and 60000 are what it is meant to
# bear.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(for_each_engine in_parallel json_text within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Stack ();
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $creates = $ENV{IDADMIN_FAULT_CREATES} // 60;
my $lag     = $ENV{IDADMIN_FAULT_LAG_MS} // 3000;
my $kills   = 4;
my $domain  = $Idadmin::Test::Cloud::domain;
my @leavers = map {"$_\@$domain"} qw(bo.ek carin.sjoberg david.holm elin.strand greta.dahl
    henrik.falk ida.wall nils.palm rut.sandell sten.vik);
my $what    = '^/(?:users(?!/delta)|groups/[^/]+/members)';    # the sync has tests of its own

# What is wrong all the time; the storms come and go.
my @faults = (
    { method => '^(?:POST|PUT|PATCH|DELETE)$', path => $what, every => 3, when => 'after',
        do => 'reset' },
    { path => $what, every => 41, do => 'status', status => 429, retryAfter => 1 },
    { path => $what, every => 67, do => 'status', status => 429 },
    { path => $what, every => 11, when => 'after', do => 'truncate' },
    { path => $what, every => 19, do => 'html' },
);
my $storm = { path => $what, do => 'status', status => 503 };

sub queue_all {
    my ($stack) = @_;
    my $each = int($creates / 4);
    my @made = map {@$_} in_parallel(4, sub {
        my ($index) = @_;
        return [map {
            # A tenth are of one name, which has to be numbered.
            my $answer = $stack->post('/v1/api/user',
                { firstname => 'Åke', surname => $_ % 10 ? "Storm$index$_" : 'Lik', country => 'SE',
                manager => "anna.lind\@$domain" });
            $answer->{status} == 200
                ? [$answer->{json}{data}{taskId}, $answer->{json}{data}{userPrincipalName}]
                : die "status $answer->{status}: $answer->{body}\n";
        } 1 .. $each];
    });
    my @left = map { my $answer = $stack->delete('/v1/api/user',
        { userPrincipalName => $_, time => '00:00' });
        $answer->{status} == 200 ? [$answer->{json}{data}{taskId}, $_]
        : die "status $answer->{status}: $answer->{body}\n" } @leavers;
    return (\@made, \@left);
}

sub open_tasks { my ($stack) = @_;
    my ($row) = $stack->sql("SELECT count(*) FROM task WHERE state IN ('queued', 'running')");
    return $row->[0] }

# Until nothing is open: kills, storms and lag by turns.
sub weather {
    my ($stack, @workers) = @_;
    my ($cloud, $begun, $raging, $killed) = ($stack->cloud, time, undef, 0);
    my $limit = 240 + $creates * 0.6 + $lag / 100;
    my $next_kill = 3 + rand 4;
    while (open_tasks($stack) && time - $begun < $limit) {
        my $age = time - $begun;
        if (!$raging && $age < $limit / 5 && $age % 9 == 4) {
            ($raging) = @{ $cloud->control(faults => [$storm])->{faults} };
        }
        elsif ($raging) {
            $cloud->control(clearFaults => $raging);
            $raging = undef;
        }
        if ($killed < $kills && $age >= $next_kill) {
            my $worker = $workers[rand @workers];
            $worker->kill9;
            $worker->start;
            $killed++;
            $next_kill = $age + 3 + rand 5;
        }
        Time::HiRes::sleep(1.2);
    }
    $cloud->control(clearFaults => $raging) if $raging;
    return (time - $begun, $killed);
}

sub look_at_made {
    my ($stack, $made) = @_;
    my $cloud = $stack->cloud;
    my %row = map { $_->[0] => { state => $_->[1], upn => $_->[2],
        error => $_->[3] } } $stack->sql('SELECT id, state, upn, error FROM task');
    my @open = grep { $row{ $_->[0] }{state} ne 'done' } @$made;
    is_deeply([map {"$_->[1]: $row{$_->[0]}{state} " . ($row{ $_->[0] }{error} // '')} @open], [],
        'each is done');
    is_deeply([grep { $row{ $_->[0] }{upn} ne $_->[1] } @$made], [],
        'under the name that was promised');
    my $by_marker = $cloud->counters->{createdByMarker};
    is_deeply([grep { ($by_marker->{ $_->[0] } // 0) != 1 } @$made], [], 'made exactly once');
    is($cloud->counters->{created}, scalar @$made, 'and nobody besides');
    my @untrue = grep {
        my $user = $cloud->user($_->[1]);
        !$user || ($user->{onPremisesExtensionAttributes}{extensionAttribute15} // '') ne $_->[0]
            || ($user->{manager} // '') ne "anna.lind\@$domain" || !$user->{accountEnabled};
    } @$made;
    is_deeply([map { $_->[1] } @untrue], [],
        'each stands in the directory, ours, enabled, with its manager');
    my @numbered = sort { $a <=> $b } map { $_->[1] =~ /^ake\.lik(\d*)\@/ ? $1 || 1 : () } @$made;
    is_deeply(\@numbered, [1 .. @numbered], 'no number was skipped');
}

sub look_at_left {
    my ($stack, $left) = @_;
    my $cloud = $stack->cloud;
    for my $leaver (@$left) {
        my $task = $stack->task($leaver->[0]);
        my $user = $cloud->user($leaver->[1]);
        my @groups = grep { !/^Everyone in sales$/ } @{ $user->{groups} };
        ok($task->{state} eq 'done' && !$user->{accountEnabled} && $user->{revoked} >= 1
            && !@groups, "$leaver->[1] is disabled, signed out and in no group")
            or diag(json_text($task) . " groups: @groups");
    }
}

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine, cloud => {},
        worker => { options => ['--threads', 6] });
    my $cloud = $stack->cloud;
    my $second = $stack->new_worker(options => ['--threads', 6]);
    # Held directories, lost leases and take-overs are what happens here.
    $_->expect_log(qr/IDA03(?:0\d|1[0135]|2[0-5])|IDA0[45]\d\d/) for $stack->worker, $second;
    # hundreds are queued at once, quicker than a worker cleans the log
    $stack->httpd->expect_log(qr/IDA0105/);
    $cloud->control(faults => \@faults, settings => { lag => { read => $lag, share => 0.5 } });
    my ($made, $left) = queue_all($stack);
    my ($seconds, $killed) = weather($stack, $stack->worker, $second);
    my $counters = $cloud->counters;
    note(sprintf '%d creations and %d offboardings in %d s, %d kills, %d faults, %d requests',
        scalar @$made, scalar @$left, $seconds, $killed, $counters->{faultsFired},
        eval { my $sum = 0; $sum += $_
        for map { values %$_ } values %{ $counters->{requests} }; $sum });
    cmp_ok($counters->{faultsFired}, '>', $creates / 2, 'there were faults enough');
    is(open_tasks($stack), 0, 'nothing is left open');
    $cloud->control(clearFaults => JSON::PP::true(), settings => { lag => {} });
    look_at_made($stack, $made);
    look_at_left($stack, $left);
    is($cloud->counters->{usersDeleted}, 0, 'nobody was deleted');
    is($cloud->counters->{internalErrors} // 0, 0, 'the emulator had no fault of its own');
    my ($kept) =
        $stack->sql('SELECT (SELECT count(*) FROM user_lock), (SELECT count(*) FROM reservation), '
        . '(SELECT coalesce(sum(seats_held), 0) FROM tenant)');
    is_deeply($kept, ['0', '0', '0'], 'no lock, reservation or seat is left behind')
        or diag("@$kept");
    is($_->stop, 0, 'a worker ends cleanly') for $second, $stack->worker;
    $stack->stop;
};

done_testing();
