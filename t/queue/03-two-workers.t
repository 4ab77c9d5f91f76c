# Two workers on one store share the due tasks, each executed once; if PostgreSQL crashes meanwhile,
# workers and httpd wait for it and continue without help.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine in_parallel json_text within);
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack ();
use Time::HiRes ();

my $domain = $Idadmin::Test::Slapd::domain;
my $people = $Idadmin::Test::Slapd::people;

sub open_tasks { my ($stack) = @_;
    my ($row) = $stack->sql("SELECT count(*) FROM task WHERE state IN ('queued', 'running')");
    return $row->[0] }

sub queue_one {
    my ($stack, $first, $last) = @_;
    my $answer = $stack->post('/v1/api/user',
        { firstname => $first, surname => $last });
    return $answer->{status} == 200 ? $answer->{json}{data}{taskId} : "status $answer->{status}";
}

sub queue_many {
    my ($stack, $prefix, $each) = @_;
    return map {@$_} in_parallel(4, sub {
        my ($index) = @_;
        return [map { queue_one($stack, "$prefix$index", "N$_") } 1 .. $each];
    });
}

sub once_each {
    my ($stack, $prefix, @ids) = @_;
    my %state = map { $_->[0] => $_->[1] } $stack->sql('SELECT id, state FROM task');
    is_deeply([grep { ($state{$_} // 'lost') ne 'done' } @ids], [], 'each is done');
    is(scalar(my @entries = $stack->slapd->search("(uid=$prefix*.n*)", base => $people)),
        scalar @ids, 'one entry each');
    my ($held) =
        $stack->sql('SELECT (SELECT count(*) FROM user_lock), (SELECT count(*) FROM reservation), '
        . '(SELECT coalesce(sum(seats_held), 0) FROM tenant)');
    is_deeply($held, ['0', '0', '0'], 'no lock, reservation or seat is left behind')
        or diag("@$held");
}

sub shared_work {
    my ($stack, $second) = @_;
    my @ids = queue_many($stack, 'w', 50);
    is(scalar(grep {/^status/} @ids), 0, '200 are queued');
    ok(within(sub { !open_tasks($stack) }), 'all are carried out');
    once_each($stack, 'w', @ids);
    my ($claims) = $stack->sql("SELECT max(fence), max(attempts) FROM task");
    is_deeply($claims, ['1', '0'], 'each was claimed once and tried once');
    my @shares;    # a worker writes its line after the transaction
    within(sub {
        @shares = map { my $n = () = $_->log_text =~ / is done\b/mg; $n } $stack->worker, $second;
        $shares[0] + $shares[1] >= 200;
    });
    is($shares[0] + $shares[1], 200, "each was reported once (@shares)");
    cmp_ok($shares[$_], '>', 0, 'and each worker had its share') for 0, 1;
}

# It does not matter which worker executes the requested reset of the cache, but only one does:
# behind "sync --wait" readers find what they read before. So a request is answered while no other
# worker can begin; the log of one that did it too late would have a line more.
sub reset_once {
    my ($stack) = @_;
    my @refused;
    my $allow = $stack->refuse('directory_state', 'OLD.sync_requested_at <> 0 AND '
        . 'NEW.sync_requested_at = 0 AND OLD.sync_owner IS NULL');
    for (1 .. 6) {
        $stack->ctl_ok('cache', 'reset', 'nordic');
        $stack->ctl_ok('sync', 'nordic', '--wait');
        my $fence = sub { my ($row) = $stack->sql("SELECT sync_fence FROM directory_state WHERE"
            . " tenant_id = 'nordic'"); $row->[0] };
        my $until = $fence->() + 2;    # both workers have had their turn
        within(sub {
            my $answer = $stack->get_user("eva.berg\@$domain");
            push @refused, json_text($answer->{json}) if $answer->{status} != 200;
            $fence->() >= $until;
        });
    }
    $allow->();
    is_deeply(\@refused, [], 'a reset that is done is not done again');
}

# A reset that the store refused is still asked for, and done when the store allows it.
sub reset_kept {
    my ($stack, @workers) = @_;
    $_->expect_log(qr/IDA0501/, qr/IDA01\d\d.*sync_state_reset.*refused/) for @workers;
    my $allow = $stack->refuse('cache.sync_state', 'NEW.full_at = 0 AND OLD.full_at <> 0');
    $stack->ctl_ok('cache', 'reset', 'nordic');
    ok(within(sub { grep { $_->log_has(qr/IDA0501.*nordic.*tried again/) } @workers }),
        'a cache that cannot be emptied is told');
    my $asked = sub { my ($row) = $stack->sql("SELECT sync_reset FROM directory_state WHERE"
        . " tenant_id = 'nordic' AND sync_owner IS NULL"); $row && $row->[0] };
    my $after = within($asked);
    is($after, 1, 'when the worker has left it, it is asked for as before');
    $allow->();
    is($stack->ctl('sync', 'nordic', '--wait')->{exit}, 0, 'then it is done');
    is_deeply([$stack->sql("SELECT sync_reset FROM directory_state WHERE tenant_id = 'nordic'")],
        [['0']], 'and asked for no more');
}

# An immediate shutdown is a crash: connections break in the middle of transactions, what was
# committed must be there afterwards.
sub crash {
    my ($stack, $server, @workers) = @_;
    my (@ids, $left);
    for my $round (1 .. 9) {
        $stack->stand_still(@workers);    # so that there is work left to be in the middle of
        push @ids, queue_many($stack, "c$round", 25);
        $_->signal('CONT') for @workers;
        ok(within(sub { ($left = open_tasks($stack)) < 95 }), 'work is going on');
        last if $left;    # if the machine kept us from looking, they are through
    }
    cmp_ok($left, '>', 0, 'and not done');
    $server->stop('QUIT');
    my $refused = $stack->post('/v1/api/user', { firstname => 'While', surname => 'Away' });
    is($refused->{status}, 503, 'meanwhile: 503');
    ok($refused->{headers}{'retry-after'}, 'with Retry-After');
    Time::HiRes::sleep(1.5);    # for a second no process retries; nothing depends on it
    $server->start;
    ok(within(sub { $stack->get_user("eva.berg\@$domain")->{status} == 200 }),
        'httpd goes on by itself');
    ok(within(sub { !open_tasks($stack) }), 'the workers too')
        or diag($stack->worker->log_text);
    once_each($stack, 'c', @ids);
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain of records is whole');
    ok(within(sub { my ($row) =
        $stack->sql("SELECT count(*) FROM audit.record WHERE action = 'user.create' AND outcome = "
        . "'ok' AND parameters LIKE '%\"c__\"%'"); $row->[0] == @ids }), 'with every request');
}

for_each_engine {
    my ($engine) = @_;
    my $server = $engine eq 'postgresql' ? Idadmin::Test::PostgreSQL->new : undef;
    my $stack = Idadmin::Test::Stack->new(engine => $engine,
        ($server ? (postgresql => $server) : ()));
    my $second = $stack->new_worker;
    subtest shared_work => sub { shared_work($stack, $second) };
    subtest reset_once => sub { reset_once($stack) };
    subtest reset_kept => sub { reset_kept($stack, $stack->worker, $second) };
    if ($server) {
        $_->expect_log(qr/IDA0/) for $stack->worker, $second;
        $stack->httpd->expect_log(qr/IDA01\d\d|IDA02\d\d/);
        subtest crash => sub { crash($stack, $server, $stack->worker, $second) };
    }
    is($_->stop, 0, 'a worker ends cleanly') for $second, $stack->worker;
    $stack->stop;
};

done_testing();
