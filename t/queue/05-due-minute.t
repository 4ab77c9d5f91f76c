# Tasks that are due in the same minute, in a directory without pacing, begin within seconds of it.
# Parameters: tasks, how many; spread, over how many seconds (0: all at the same instant); threads,
# by how many threads; limit, seconds on a quiet machine. A quiet one takes 0.8; the short form
# finds only gross delays, because other programs may run on the machine.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine in_parallel parameter within);
use Idadmin::Test::Machine ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall);
use Time::HiRes ();

my $count   = parameter(tasks => 30);
my $threads = parameter(threads => 8);
my $spread  = parameter(spread => 0);
my $seconds = parameter(limit => 5);
my $domain  = $Idadmin::Test::Slapd::domain;

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine,
        worker => { options => ['--threads', $threads] });
    my ($date, $time) = wall(time + 86_400);
    my @statuses = in_parallel(4, sub {
        my ($part) = @_;
        my %seen;
        for my $n (grep { $_ % 4 == $part } 0 .. $count - 1) {
            my %person = $n % 2 ? () : (jobTitle => "Number $n");
            $seen{ $stack->post('/v1/api/user',
                { firstname => 'Due', surname => "Number$n", date => $date, time => $time,
                %person })->{status} }++;
        }
        return \%seen;
    });
    my %seen;
    for my $part (@statuses) { $seen{$_} += $part->{$_} for keys %$part }
    is_deeply(\%seen, { 200 => $count }, "$count tasks are queued for one minute");

    # That minute begins in a moment.
    my $due = int(Time::HiRes::time() * 1000) + int Idadmin::Test::Machine::limit(2500);
    my $at = "$due + (SELECT count(*) FROM task o WHERE o.id < task.id) * "
        . int($spread * 1000 / $count);
    $stack->sql("UPDATE task SET due_at = $at, next_at = $at, wall_fixed = 0 WHERE state = "
        . "'queued'");
    cmp_ok(Time::HiRes::time() * 1000, '<', $due, 'all are queued in time');
    ok(within(sub { my ($row) = $stack->sql("SELECT count(*) FROM task WHERE state <> 'done'");
        !$row->[0] }),
        'all are done');
    my @late = sort { $a <=> $b }
        map { $_->[0] / 1000 } $stack->sql('SELECT started_at - due_at FROM task');
    my ($end) = map { ($_->[0] - $due) / 1000 } $stack->sql('SELECT max(finished_at) FROM task');
    my %at = map { ($_ => $late[ int(@late * $_ / 100 + 0.999) - 1 ]) } 50, 90, 99;
    diag(sprintf '%s: %d tasks within %d s, %d threads: begun p50 %.3f, p90 %.3f, p99 %.3f, last '
        . '%.3f s after their instants; all done %.3f s after the first instant', $engine, $count,
        $spread, $threads,
        @at{50, 90, 99}, $late[-1], $end);
    cmp_ok($late[0], '>=', 0, 'none begins before its instant');
    my $limit = Idadmin::Test::Machine::limit($seconds);
    # more of them at one instant wait for each other
    $limit *= $count / 30 if $count > 30 && !$spread;
    cmp_ok($at{99}, '<=', $limit, sprintf '99 of 100 begin within %.1f s', $limit);
    is(scalar $stack->slapd->search('(uid=due.number*)', base => $Idadmin::Test::Slapd::people),
        $count, 'each is in the directory');
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
};

done_testing();
