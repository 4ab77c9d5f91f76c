# A crowd of joiners stays below the cloud directory's published limits by the worker's own pace:
# not one request is refused, and the crowd takes as long as that pace demands.
# Parameters: creates (80), workers (1). From 2000 creates on the rate must also come near the
# limit, which depends on the machine as well; 4500 take longer than the limit's window of 150 s.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(in_parallel parameter within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall);
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $creates = parameter(creates => 80);
my $workers = parameter(workers => 1);
my $limit   = 20;    # writes a second, sustained
my $rated   = $creates >= 2000 && !Idadmin::Test::build_config()->{sanitizers};

my $stack = Idadmin::Test::Stack->new(cloud => {}, worker => 0);
my $cloud = $stack->cloud;
$stack->{worker} = $stack->new_worker(options => ['--threads', 8]);
$stack->wait_synced;
$_->stop for $stack->worker;

# no worker cleans the log while thousands are queued, which those that start then see as well
$stack->httpd->expect_log(qr/IDA0105/);
# All due when the workers begin.
my $each = int($creates / 4);
in_parallel(4, sub {
    my ($index) = @_;
    for my $n (1 .. $each) {
        my $answer = $stack->post('/v1/api/user',
            { firstname => "Pace$index", surname => "No$n" });
        die "status $answer->{status}: $answer->{body}\n" if $answer->{status} != 200;
    }
    return 1;
});
$cloud->control(limits => {}, resetCounters => JSON::PP::true());
my @workers = map { $stack->new_worker(options => ['--threads', 8]) } 1 .. $workers;
$_->expect_log(qr/IDA0105/) for @workers;
my $begun = Time::HiRes::time();
my $sum   = 4 * $each;
my @seen = [0, 0];    # [seconds, made]
# What is waited for is one more: all of them together take as long as the limit says. The clock is
# read after the count, so that a slow answer makes nothing look too fast.
while ((my $made = $seen[-1][1]) < $sum) {
    within(sub { my $now = $cloud->counters->{created};
        push @seen, [Time::HiRes::time() - $begun, $now];
        $now > $made }) or last;
}
my $counters = $cloud->counters;
is($counters->{created}, $sum, 'all are made');
is($counters->{sent429}, 0, 'without one request that was refused');
cmp_ok($counters->{limitsPeak}{writes}, '<=', 1,
    sprintf 'the fullest span of the limit held %.1f %%', 100 * $counters->{limitsPeak}{writes});

# A worker that starts may send one at once: the one before it may have spent the allowance.
cmp_ok($seen[-1][0], '>=', ($sum - $workers) / $limit,
    sprintf '%d in %.1f s: not more than %d a second since the start', $sum, $seen[-1][0], $limit);
# Steady: after what may go at once has gone.
my ($from) = grep { $_->[1] >= 0.5 * $sum } @seen;
my $rate = ($seen[-1][1] - $from->[1]) / ($seen[-1][0] - $from->[0] || 1);
note(sprintf '%d workers: %.2f a second in the second half, the limit is %d', $workers, $rate,
    $limit);
cmp_ok($rate, '>=', 0.9 * $limit, 'at least nine tenths of it') if $rated;
note(sprintf '%d made in %.1f s', $sum, $seen[-1][0]);
$_->stop for @workers;
$stack->stop;
done_testing();
