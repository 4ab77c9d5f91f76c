# A cloud directory that accepts connections and then does not answer, with more tasks due than
# there are threads, delays no other tenant, counts as one failure however many calls it left
# unanswered, and all of its tasks are executed after it is back.
# Parameter: seconds (0): how much longer it stays silent while the other tenant works.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(on_one_engine parameter within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Stack ();
use Time::HiRes ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $threads = 4;
my $silence = parameter(seconds => 0);

sub joins {
    my ($stack, $first, $last) = @_;
    my $answer = $stack->post('/v1/api/user',
        { firstname => $first, surname => $last });
    return $answer->{status} == 200 ? $answer->{json}{data}{taskId}
        : die "status $answer->{status}: $answer->{body}\n";
}

on_one_engine {
    my ($engine) = @_;
    my $clock = Idadmin::Test::Fault->faster('idadmin-worker', 1,
        'calls without an answer end sooner; the test ends the silence');
    my $stack = Idadmin::Test::Stack->new(engine => $engine,
        worker => { options => ['--threads', $threads], env => $clock->env });
    my $acme  = $stack->beside_in_the_cloud;
    my $cloud = $acme->cloud;
    $stack->worker->expect_log(qr/IDA0101|IDA03(?:1[45]|2[12])|IDA0[45]\d\d/);

    # All due at once, the silent directory's first.
    $stack->worker->stop;
    my @waiting = map { joins($acme, 'Silent', "No$_") } 1 .. 3 * $threads;
    push @waiting, map { $acme->delete('/v1/api/user',
        { userPrincipalName => "$_\@$Idadmin::Test::Cloud::domain",
        time => '00:00' })->{json}{data}{taskId} } qw(bo.ek elin.strand);
    my @others = map { joins($stack, 'Other', "No$_") } 1 .. 5;
    $cloud->freeze;    # until all of the other tenant is done
    $stack->worker->start;
    my $running = 0;
    my $look = sub {
        my $now = grep { $acme->task($_)->{state} eq 'running' } @waiting;
        $running = $now if $now > $running;
        return $now;
    };
    ok(within($look), 'the silent directory has tasks running');
    my $done = sub { my (@tasks) = @_;
        return within(sub { $look->(); !grep { $stack->task($_)->{state} ne 'done' } @tasks }) };
    ok($done->(@others), sprintf 'five of the other tenant, queued behind %d of it, are done while '
        . 'it is silent', scalar @waiting);

    # Until each call that it swallowed has ended by itself, after 20 s of the worker's clock. What
    # the store may keep it waiting is shorter as well.
    $clock->speed(6);
    my $state = sub { my ($row) = $stack->sql("SELECT hold_failures, hold_reason, sync_owner FROM "
        . "directory_state WHERE tenant_id = 'acme'"); return $row };
    ok(within(sub { my $now = $state->();
        !$look->() && $now->[0] && defined $now->[1] && !defined $now->[2] }),
        'the silent directory is held');
    $clock->speed(1);
    cmp_ok($running, '>', 1, "it swallowed $running calls");
    cmp_ok($state->()->[0], '<', $running, 'which count as fewer failures');
    my ($until, $count) = (Time::HiRes::time() + $silence, 0);
    do { ok($done->(joins($stack, 'During', 'No' . ++$count)), 'the other tenant works on') }
        while Time::HiRes::time() < $until;
    is_deeply([grep { $acme->task($_)->{attempts} } @waiting], [],
        'none of its tasks has lost a try');
    $cloud->thaw;
    $clock->step(600);    # the hold is over
    is_deeply([grep { $_ ne 'done' }
        map { $acme->wait_task($_)->{state} } @waiting], [],
        'back again: all of it is carried out');
    is_deeply([grep { $_ != 1 } values %{ $cloud->counters->{createdByMarker} }], [],
        'each made once');
    is(scalar(keys %{ $cloud->counters->{createdByMarker} }), 3 * $threads, 'all of them');
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $cloud->stop;
    $stack->stop;
} 'silence is met before the store is; t/unit/queue/holds.c keeps held tasks from being '
    . 'claimed on both';

done_testing();
