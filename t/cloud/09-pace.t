# Below the cloud directory's published limits by our own pace: a crowd of joiners, the limits
# switched on in the emulator, one worker and two. Not one request is refused, and the rate stays
# near what the limit allows.
#
# IDADMIN_PACE_CREATES (200), IDADMIN_PACE_WORKERS (1): 4500 go on for longer than the limit's
# window of 150 s.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(in_parallel within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall);
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $creates = $ENV{IDADMIN_PACE_CREATES} // 200;
my $workers = $ENV{IDADMIN_PACE_WORKERS} // 1;
my $limit   = 20;                                                   # writes a second, sustained
my $quiet   = !Idadmin::Test::build_config()->{sanitizers};

my $stack = Idadmin::Test::Stack->new(cloud => {}, worker => 0);
my $cloud = $stack->cloud;
$stack->{worker} = $stack->new_worker(options => ['--threads', 8]);
$stack->wait_synced;
$_->stop for $stack->worker;

# no worker cleans the log while thousands are queued
$stack->httpd->expect_log(qr/IDA0105/);
# All due when the workers begin.
my $each = int($creates / 4);
in_parallel(4, sub {
    my ($index) = @_;
    for my $n (1 .. $each) {
        my $answer = $stack->post('/v1/api/user', { firstname => "Pace$index", surname => "No$n" });
        die "status $answer->{status}: $answer->{body}\n" if $answer->{status} != 200;
    }
    return 1;
});
$cloud->control(limits => {}, resetCounters => JSON::PP::true());
my @workers = map { $stack->new_worker(options => ['--threads', 8]) } 1 .. $workers;
my $begun = Time::HiRes::time();
my $sum   = 4 * $each;
my @seen;                                                           # [seconds, made]
within(sub { push @seen,
    [Time::HiRes::time() - $begun, $cloud->counters->{created}]; Time::HiRes::sleep(0.5);
    $seen[-1][1] >= $sum });
my $counters = $cloud->counters;
is($counters->{created}, $sum, 'all are made');
is($counters->{sent429}, 0, 'without one request that was refused');
cmp_ok($counters->{limitsPeak}{writes}, '<=', 1,
    sprintf 'the fullest span of the limit held %.1f %%', 100 * $counters->{limitsPeak}{writes});

# Steady: after what may go at once has gone.
my ($from) = grep { $_->[1] >= 0.5 * $sum } @seen;
my $rate = ($seen[-1][1] - $from->[1]) / ($seen[-1][0] - $from->[0]);
# Slow programs leave of the first allowance what then goes at once.
cmp_ok($rate, '<=', $limit, sprintf '%d workers: %.2f a second in the second half, the limit is %d',
    $workers, $rate, $limit) if $quiet;
# a short run measures the beginning and the neighbours too
my $least = $creates >= 2000 ? 0.9 : 0.7;
cmp_ok($rate, '>=', $least * $limit, sprintf 'and at least %d %% of it', 100 * $least) if $quiet;
note(sprintf '%d made in %.1f s', $sum, $seen[-1][0]);
$_->stop for @workers;
$stack->stop;
done_testing();
