# GET events returns the outcomes of tasks, in one order, with a cursor that loses none of them,
# also while eight tasks end at once; invalid cursors are refused with the remedy; an erased person
# is not named.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(in_parallel within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall);
use Idadmin::Test::Webhook ();
use JSON::PP ();
use List::Util qw(uniq);
use Time::HiRes ();

my $domain = $Idadmin::Test::Slapd::domain;
my $fault  = Idadmin::Test::Fault->new('idadmin-worker');
my ($stack, $hook);

sub ask {
    my (%of) = @_;
    my $query = join '&', map {"$_=$of{$_}"} sort keys %of;
    my $answer;    # a busy machine keeps some waiting for longer than the service does
    within(sub { $answer = $stack->get("/v1/api/events?$query"); $answer->{status} != 503 });
    return $answer->{json}{data} // die "$answer->{status} $answer->{body}\n";
}

sub refused {
    my ($after, $why, $name) = @_;
    my $answer = $stack->get("/v1/api/events?after=$after");
    is($answer->{status}, 400, "$name: 400");
    like($answer->{json}{error}{message} // $answer->{body}, $why, 'and why');
    like($answer->{body}, qr/Call without after for the oldest/, 'and what to do');
}

sub queue {
    my ($given, $surname) = @_;
    my $answer = $stack->post('/v1/api/user',
        { firstname => $given, surname => $surname });
    return $answer->{json}{data}{taskId} // die "$answer->{body}\n";
}

sub pages {
    my $empty = ask();
    is_deeply($empty->{items}, [], 'before anything happened: nothing');
    my $start = $empty->{nextCursor};
    ok($start, 'and a cursor all the same');
    is(ask(after => $start)->{nextCursor}, $start, 'which stays while nothing happens');
    my @tasks = map { my $task = queue("P$_", 'Age'); $stack->wait_task($task); $task } 1 .. 5;
    my (@seen, $after);
    for my $expected (2, 2, 1, 0) {
        my $page = ask(limit => 2, after => $after // $start);
        is(scalar @{ $page->{items} }, $expected, "a page of $expected");
        push @seen, @{ $page->{items} };
        $after = $page->{nextCursor};
    }
    is_deeply([map { $_->{task}{id} } @seen], \@tasks, 'all, in the order in which they ended');
    is(scalar uniq(map { $_->{id} } @seen), 5, 'each with an ID of its own');
    my $next = queue('Later', 'Age');
    $stack->wait_task($next);
    is_deeply([map { $_->{task}{id} } @{ ask(after => $after)->{items} }], [$next],
        'the last cursor leads on to what happens later');
    is_deeply(ask(limit => 200)->{items}[$_]{task}{id}, $tasks[$_], 'without one: the oldest first')
        for 0, 4;
    return ($start, $after);
}

sub doors {
    refused('AAAA', qr/after: is not a nextCursor of this list/, 'an invalid cursor');
    my $tasks = $stack->get('/v1/api/tasks?limit=1')->{json}{data}{nextCursor};
    refused($tasks, qr/after: is not a nextCursor of this list/, 'a cursor of another list');
    is($stack->get("/v1/api/events?limit=$_")->{status}, 400, "limit $_") for 0, 201;
    is($stack->call(POST => '/v1/api/events', json => {})->{status}, 405, 'nothing is written');
}

# A poller that asks without pause, while eight threads end tasks of one tenant, sees each event
# once and in order, and no event comes in behind its back.
sub concurrent {
    my $after = ask(limit => 200)->{nextCursor};
    my ($polled, @queued) = in_parallel(5, sub {
        my ($index) = @_;
        return [map { queue("C$index$_", 'Many') } 1 .. 20] if $index;
        my @seen;
        my $until = time + 600;    # when a test that cannot pass ends
        while (@seen < 80 && time < $until) {
            my $page = ask(limit => 3, after => $after);
            push @seen, map { $_->{task}{id} } @{ $page->{items} };
            $after = $page->{nextCursor};
            # without news a pause, or a machine that is slow makes us reach a limit of rates
            Time::HiRes::sleep(0.05) if !@{ $page->{items} };
        }
        return { seen => \@seen, after => $after };
    });
    my @queued_tasks = map {@$_} @queued;
    is_deeply([sort @{ $polled->{seen} }], [sort @queued_tasks], 'each was seen once');
    is_deeply(ask(after => $polled->{after})->{items}, [], 'and nothing came afterwards');
    my ($overlap) = $stack->sql('SELECT count(*) FROM task a JOIN task b ON a.id < b.id '
        . 'AND a.started_at <= b.finished_at AND b.started_at <= a.finished_at');
    cmp_ok($overlap->[0], '>', 8, 'while some ran at the same time');
    my ($numbers) = $stack->sql('SELECT count(*), min(seq), max(seq) FROM event');
    is($numbers->[2] - $numbers->[1] + 1, $numbers->[0], 'numbers have no gaps');
}

sub erased {
    my $path = '/status/503';
    $stack->apply_tenant($stack->tenant_document(notifications => [{ url => $hook->url($path),
        secretFile => $hook->secret, events => ['task.done', 'task.failed'],
        allowPrivate => JSON::PP::true() }]));
    my $upn = "zsofia.quixote\@$domain";
    $stack->wait_task(queue('Zsofia', 'Quixote'));
    my ($date, $time) = wall(time);
    my $gone = $stack->delete('/v1/api/user',
        { userPrincipalName => $upn, date => $date, time => $time })->{json}{data}{taskId};
    $stack->wait_task($gone);
    ok(within(sub { @{ $stack->ctl_ok('notification', 'list', 'nordic', '--json') } == 2 }),
        'a receiver was not told of a person yet');
    $stack->sql("UPDATE event SET error = 'zsofia.quixote\@$domain' WHERE task_id = '$gone'");
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('zsofia.quixote'));
    $stack->ctl_ok('sync', 'nordic', '--wait');
    my $erased = $stack->ctl('erase', 'nordic', $upn);
    is($erased->{exit}, 0, 'the person is erased') or diag $erased->{err};
    is_deeply($stack->ctl_ok('notification', 'list', 'nordic', '--json'), [],
        'no receiver gets more');
    my ($event) = grep { $_->{task}{id} eq $gone } @{ ask(limit => 200)->{items} };
    is_deeply([@{ $event->{task} }{qw(userPrincipalName displayName userId error)}],
        ['erased', undef, undef, 'erased'], 'the event stays, and names no person');
    unlike(join('', map { map { $_ // '' } @$_ } $stack->sql('SELECT * FROM event'),
        $stack->sql('SELECT * FROM event_delivery')), qr/zsofia|quixote/i, 'in no column');
    $stack->apply_tenant($stack->tenant_document);
}

# What is past its time goes with the tasks, from the beginning of the list; and a store that was
# restored from a backup knows fewer events than its callers.
sub bounds {
    my ($start, $later) = @_;
    my $old = ask(limit => 1)->{nextCursor};
    $stack->sql('UPDATE event SET at = 1 WHERE seq <= 3');
    $stack->worker->stop;    # removes what is too old ten seconds after it has started
    $stack->worker->start;
    ok(within(sub { $fault->leap(11); ($stack->sql('SELECT min(seq) FROM event'))[0][0] == 4 }),
        'events past retention are removed');
    refused($_, qr/too old.*taskHistoryDays/, 'a cursor of before') for $start, $old;
    my $first = ask(limit => 1);
    is(scalar @{ $first->{items} }, 1, 'without a cursor the list begins with the oldest kept');
    is($stack->get("/v1/api/events?after=$first->{nextCursor}")->{status}, 200, 'and goes on');
    is($stack->get("/v1/api/events?after=$later")->{status}, 200, 'a cursor behind them holds');
    my $end = ask(limit => 200);
    $end = ask(limit => 200, after => $end->{nextCursor}) while @{ $end->{items} };
    $stack->sql('DELETE FROM event WHERE seq > 10');
    $stack->sql('UPDATE event_counter SET last = 10');
    refused($end->{nextCursor}, qr/does not have.*backup/, 'a cursor of events that are lost');
}

Idadmin::Test::Stack::for_each_stack {
    ($stack) = @_;
    $hook = Idadmin::Test::Webhook->new;
    $stack->worker->expect_log(qr/IDA0370/);
    my @cursors;
    subtest pages      => sub { @cursors = pages() };
    subtest doors      => \&doors;
    subtest concurrent => \&concurrent;
    subtest erased     => \&erased;
    subtest bounds     => sub { bounds(@cursors) };
    $hook->stop;
} worker => { options => ['--threads', 8], env => $fault->env };
done_testing();
