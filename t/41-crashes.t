# kill -9 of workers in the middle of joiners and leavers, with two workers, and of httpd children under load: no task lost, none doubled, no audit record lost,
# and what a dead worker held is taken over within lease and call limit.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine in_parallel wait_until);
use Idadmin::Test::Stack ();
use Time::HiRes ();

my $lease = 60;        # seconds a lease lasts
my $call  = 20;        # longest a directory call may take
my $domain = $Idadmin::Test::Slapd::domain;
my $people = $Idadmin::Test::Slapd::people;

sub crashes {
    my ($stack) = @_;
    my $joiners = 120;
    my @leavers = map { sprintf 'user%05d', $_ } 1 .. 60;
    my $second = $stack->new_worker;
    my @workers = ($stack->worker, $second);
    $_->expect_log(qr/IDA0/) for @workers;    # take-overs and lost leases are reported; that is what happens here

    # Children are killed while the requests come in; a request whose connection died may or may not have been queued.
    my $load = fork // die "fork: $!";
    if (!$load) {
        for (1 .. 12) { Time::HiRes::sleep(0.15); $stack->httpd->kill_child }
        POSIX::_exit(0);
    }
    my @ids = map {@$_} in_parallel(6, sub {
        my ($index) = @_;
        my @mine;
        for my $n (1 .. $joiners / 6) {
            my $answer = eval { $stack->post('/v1/api/user', { firstname => "J$index", surname => "N$n", manager => "eva.berg\@$domain" }) };
            push @mine, $answer->{json}{data}{taskId} if $answer && $answer->{status} == 200;
            my $uid = $leavers[$index * 10 + ($n - 1) % 10];
            my $left = $n <= 10 ? eval { $stack->delete('/v1/api/user', { userPrincipalName => "$uid\@$domain", time => '00:00' }) } : undef;
            push @mine, $left->{json}{data}{taskId} if $left && $left->{status} == 200;
        }
        return \@mine;
    });
    waitpid $load, 0;
    cmp_ok(scalar @ids, '>', 100, scalar(@ids) . ' requests were answered with 200');

    my %steps_hit;
    my $kills = 0;
    my $end = Time::HiRes::time() + 20;
    while (Time::HiRes::time() < $end) {
        Time::HiRes::sleep(0.1 + rand 0.3);
        my ($left) = $stack->sql("SELECT count(*) FROM task WHERE state IN ('queued', 'running')");
        last if !$left->[0];
        my $victim = $workers[rand @workers];
        $victim->kill9;
        $kills++;
        for my $row ($stack->sql("SELECT t.type, min(s.position) FROM task t JOIN task_step s ON s.task_id = t.id WHERE t.state = 'running' AND s.outcome IS NULL GROUP BY t.id, t.type")) {
            $steps_hit{"$row->[0] step $row->[1]"}++;
        }
        $victim->start;
    }
    cmp_ok($kills, '>=', 2, "$kills times a worker was killed");
    note("tasks were left at: " . join(', ', map {"$_ ($steps_hit{$_})"} sort keys %steps_hit));
    my $since = Time::HiRes::time();
    ok(wait_until($lease + $call + 15, sub { my ($left) = $stack->sql("SELECT count(*) FROM task WHERE state IN ('queued', 'running')"); !$left->[0] }), 'everything that was left is taken over');
    my $waited = Time::HiRes::time() - $since;
    cmp_ok($waited, '<', $lease + $call + 10, sprintf 'within lease and call limit (%.0f s)', $waited);

    my %state = map { $_->[0] => $_->[1] } $stack->sql('SELECT id, state FROM task');
    is_deeply([grep { ($state{$_} // 'lost') ne 'done' } @ids], [], 'every task that was promised is done');
    my ($creates) = map { $_->[0] } $stack->sql("SELECT count(*) FROM task WHERE type = 'userCreate'");
    my @entries = grep { $_->{uid}[0] =~ /^j\d\.n\d+$/ } $stack->slapd->search('(uid=j*)', base => $people);
    my @numbered = grep { $_->{uid}[0] =~ /^j\d\.n\d+$/ ? 0 : 1 } $stack->slapd->search('(uid=j*.n*)', base => $people);
    is(scalar(@entries), $creates, 'one entry a creation') or diag(join ' ', sort map { $_->{uid}[0] } @entries);
    is(scalar(grep { ($_->{manager}[0] // '') !~ /^uid=eva\.berg,/ } @entries), 0, 'each with its manager');
    my %left = map { $_->[0] => 1 } $stack->sql("SELECT person FROM task WHERE type = 'userDelete'");
    my @still = grep { $left{"$_->{uid}[0]\@$domain"} && (!$_->{pwdaccountlockedtime} || $_->{memberof}) } $stack->slapd->search('(uid=user000*)', base => $people);
    is_deeply([map { $_->{uid}[0] } @still], [], 'every leaver is disabled and in no group');
    my ($held) = $stack->sql("SELECT (SELECT count(*) FROM user_lock), (SELECT count(*) FROM reservation), (SELECT coalesce(sum(seats_held), 0) FROM tenant)");
    is_deeply($held, ['0', '0', '0'], 'no lock, reservation or seat is left behind') or diag("@$held");

    my ($records) = ([0]);
    ok(wait_until(10, sub {
        ($records) = $stack->sql("SELECT count(*) FROM audit.record WHERE action IN ('user.create', 'user.delete') AND outcome = 'ok' AND category = 'api'");
        $records->[0] == keys %state;
    }), 'one audit record a task: ' . keys %state) or diag("$records->[0] records");
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole');
    is($second->stop, 0, 'workers end cleanly');
}

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => { users => 60, groups => 10 }, httpd => { children => 3 });
    $stack->httpd->expect_log(qr/exit signal Killed|children are killed successively/);
    crashes($stack);
    $stack->stop;
};

done_testing();
