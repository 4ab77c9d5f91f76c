# A cloud directory that accepts connections and then says nothing, with more work due than there
# are threads: the tasks of another tenant are done as if it were not there, the silence is one
# failure however many calls it swallowed, and what waited is carried out when the directory is
# back.
#
# IDADMIN_HANG_SECONDS (8): 600 is what it is meant to bear.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(epoch);
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $hang    = $ENV{IDADMIN_HANG_SECONDS} // 8;
my $threads = 4;
# beside other tests a second would measure those
my $limit   = ($ENV{IDADMIN_ALONE} ? 1 : 6) * Idadmin::Test::slowness();

sub joins {
    my ($stack, $first, $last) = @_;
    my $answer = $stack->post('/v1/api/user', { firstname => $first, surname => $last });
    return $answer->{status} == 200 ? $answer->{json}{data}{taskId}
        : die "status $answer->{status}: $answer->{body}\n";
}

# Seconds from `since` (or the task's due instant, when that is later) to its end.
sub took { my ($task, $since) = @_;
    my ($due, $end) = map { epoch($_) } @$task{qw(scheduledAtUtc finishedAt)};
    return $end - ($due > $since ? $due : $since) }

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine,
        worker => { options => ['--threads', $threads] });
    my $acme  = $stack->beside_in_the_cloud;
    my $cloud = $acme->cloud;
    $stack->worker->expect_log(qr/IDA03(?:1[45]|2[12])|IDA0[45]\d\d/);

    # All due at once, the silent directory's first.
    $stack->worker->stop;
    my @waiting = map { joins($acme, 'Silent', "No$_") } 1 .. 3 * $threads;
    push @waiting, map { $acme->delete('/v1/api/user',
        { userPrincipalName => "$_\@$Idadmin::Test::Cloud::domain",
        time => '00:00' })->{json}{data}{taskId} } qw(bo.ek elin.strand);
    my @others = map { joins($stack, 'Other', "No$_") } 1 .. 5;
    $cloud->freeze;
    my $frozen = Time::HiRes::time();
    $stack->worker->start;
    my $begun;
    within(sub { ($begun) = sort { $a <=> $b }
        map { my $at = $acme->task($_)->{startedAt}; $at ? epoch($at) : () } @waiting });
    ok($begun, 'the silent directory has tasks running');
    my @ends = sort { $a <=> $b } map { took($stack->wait_task($_), $begun) } @others;
    cmp_ok($ends[-1], '<=', $limit,
        sprintf 'five of the other tenant, queued behind %d of it: done within %.2f s',
        scalar @waiting, $ends[-1]);

    # While it lasts.
    my ($until, $most, $count, $failures) = (Time::HiRes::time() + $hang, 0, 0, 0);
    while (Time::HiRes::time() < $until) {
        my $took = took($stack->wait_task(joins($stack, 'During', 'No' . ++$count)), 0);
        $most = $took if $took > $most;
        my ($row) =
            $stack->sql("SELECT hold_failures, hold_reason FROM directory_state WHERE tenant_id = "
            . "'acme'");
        $failures = $row->[0] if $row && $row->[0] > $failures;
        Time::HiRes::sleep(0.7);
    }
    cmp_ok($most, '<=', $limit, sprintf '%d more during %d s of silence: each within %.2f s',
        $count, $hang, $most);
    my ($held) = $stack->sql("SELECT hold_reason FROM directory_state WHERE tenant_id = 'acme'");
    like($held->[0], qr/\S/, 'the silent directory is held');
    is_deeply([grep { $acme->task($_)->{attempts} } @waiting], [],
        'none of its tasks has lost a try');
    # A call ends after 20 s; probes then come after 5 s, doubling: as many failures as a single
    # thread would have met.
    my ($single, $at, $wait) = (0, 20, 5);
    while ($at < Time::HiRes::time() - $frozen) { $single++; $at += 20 + 0.8 * $wait;
        $wait = $wait * 2 < 300 ? $wait * 2 : 300 }
    cmp_ok($failures, '<=', $single, "its silence counts as $failures failures, not as one a call");

    $cloud->thaw;
    my $thawed = Time::HiRes::time();
    is_deeply([grep { $_ ne 'done' }
        map { $acme->wait_task($_)->{state} } @waiting], [],
        'back again: all of it is carried out');
    note(sprintf '%d tasks were done %.1f s after the directory was back; %d failures counted',
        scalar @waiting, Time::HiRes::time() - $thawed, $failures);
    is_deeply([grep { $_ != 1 } values %{ $cloud->counters->{createdByMarker} }], [],
        'each made once');
    is(scalar(keys %{ $cloud->counters->{createdByMarker} }), 3 * $threads, 'all of them');
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $cloud->stop;
    $stack->stop;
};

done_testing();
