# While calls of the cloud fail in every way and workers are killed, each person is created exactly
# once under the promised name, each leaver is offboarded, and no "done" is untrue. The faults:
# answers lost after every third effect, throttling with and without a Retry-After, storms of 503,
# gateway pages, bodies cut off, replicas that lag.
# Parameters: creates (40), lag (3000 ms), kills (4), seed.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(in_parallel json_text on_one_engine parameter);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Stack ();
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $creates = parameter(creates => 40);
my $lag     = parameter(lag => 3000);
my $kills   = parameter(kills => 4);
my $seed    = parameter(seed => 4711);
# How many times as fast the workers' clocks run. The monotonic one, which ends calls and waits for
# the store too, does so after the last kill, when leases of the dead are waited for; that of the
# wall, for retries and holds, all the time. By that clock no account may lag for 15 minutes.
my $speed = 5;
my $wall  = 300_000 / $lag > 20 ? 20 : 300_000 / $lag;
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

# Until nothing is open: kills and storms by turns, each when so many more tasks are done, in the
# first half: what the dead hold is not done before their leases end. A storm lasts for a number of
# calls.
sub weather {
    my ($stack, $clock, @workers) = @_;
    my $begun = Time::HiRes::time();
    my $all   = open_tasks($stack);
    my $patience = 600 + $creates * 2 + $lag / 50;
    my $events = 2 * $kills;
    my ($event, $killed, $hurried) = (0, 0, 0);
    while (my $open = open_tasks($stack)) {
        my $age = Time::HiRes::time() - $begun;
        last if $age > $patience * Idadmin::Test::slowness();
        $clock->step(int(($wall - 1) * $age));
        if ($event < $events && $all - $open >= $all * $event / $events / 2) {
            if ($event++ % 2) {
                my $worker = $workers[rand @workers];
                $worker->kill9;
                $worker->start;
                $killed++;
            }
            else { $stack->cloud->control(faults => [{ %$storm, count => 12 }]) }
        }
        if ($event == $events && !$hurried++) { $clock->speed($speed) }
        Time::HiRes::sleep(0.3);    # decides nothing: how often is looked
    }
    return (Time::HiRes::time() - $begun, $killed);
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
    is($cloud->counters->{created}, scalar @$made, 'and no other');
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

on_one_engine {
    my ($engine) = @_;
    srand $seed;
    my $clock = Idadmin::Test::Fault->faster('idadmin-worker', 1,
        'a call that does not end in its shorter time is one more fault');
    my %worker = (options => ['--threads', 6], env => $clock->env);
    my $stack = Idadmin::Test::Stack->new(engine => $engine, cloud => {}, worker => {%worker});
    my $cloud = $stack->cloud;
    my $second = $stack->new_worker(%worker);
    # Held directories, lost leases and take-overs are what happens here.
    $_->expect_log(qr/IDA0101|IDA03(?:0\d|1[0135]|2[0-5])|IDA0[45]\d\d/)
        for $stack->worker, $second;
    # hundreds are queued at once, quicker than a worker cleans the log
    $stack->httpd->expect_log(qr/IDA0105/);
    $cloud->control(faults => \@faults, settings => { lag => { read => $lag, share => 0.5 } });
    my ($made, $left) = queue_all($stack);
    my ($seconds, $killed) = weather($stack, $clock, $stack->worker, $second);
    my $counters = $cloud->counters;
    note(sprintf '%d creations and %d offboardings in %d s, %d kills, %d faults, %d requests',
        scalar @$made, scalar @$left, $seconds, $killed, $counters->{faultsFired},
        eval { my $sum = 0; $sum += $_
        for map { values %$_ } values %{ $counters->{requests} }; $sum });
    cmp_ok($counters->{faultsFired}, '>', $creates / 2, 'there were faults enough');
    is(open_tasks($stack), 0, 'nothing is left open');
    is($killed, $kills, "workers were killed $kills times");
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
    diag("again by: IDADMIN_PARAMETERS='creates=$creates lag=$lag kills=$kills seed=$seed'")
        if !Test::More->builder->is_passing;
    $stack->stop;
} 'the cloud is the subject; t/queue/02-crashes.t and t/faults/01-people.t kill workers on both';

done_testing();
