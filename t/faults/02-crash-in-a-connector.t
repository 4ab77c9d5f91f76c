# A connector that crashes the process affects only its own directory: the worker restarts, that
# directory is held with the reason, and another company need not wait for a lease of the dead
# process.
use strict;
use warnings;
use JSON::PP ();
use Time::HiRes ();
use Test::More;
use Idadmin::Test qw(on_one_engine within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack ();

plan skip_all => 'a crash on purpose is a report of the sanitizers'
    if Idadmin::Test::build_config()->{sanitizers};

sub held { my ($stack, $company) = @_;
    my $status = $stack->ctl_ok('status', '--json');
    my ($directory) = grep { $_->{companyId} eq $company } @{ $status->{directories} };
    return $directory->{held} }

sub crashes { my ($stack) = @_;
    return scalar(() = $stack->worker->log_text =~ /IDA0335/g) }

sub starts { my ($stack) = @_; return scalar(() = $stack->worker->log_text =~ /started as/g) }

sub failures { my ($stack, $company) = @_;
    my ($row) = $stack->sql("SELECT hold_failures FROM directory_state WHERE tenant_id = "
        . "'$company' AND hold_reason IS NOT NULL");
    return $row ? $row->[0] : 0 }

sub port_of { my ($url) = @_; return $url =~ /:(\d+)(?:\/|$)/ ? $1 : die "$url has no port\n" }

# From now on no limit of time is reached: what waits for one does not come.
my $moved;
sub stop_clock { my ($fault) = @_; $moved = 0; $fault->speed(0) }

# A first look may meet a store that is busy, and the next one comes by the clock: this moves by
# less than any limit.
sub done_at_once {
    my ($stack, $task, $fault, $name) = @_;
    my $done = sub { $stack->task($task)->{state} eq 'done' };
    ok(within(sub { return 1 if Idadmin::Test::soon(1, $done);
        $fault->leap(1) if $moved++ < 30;
        return 0 }), $name) or diag($stack->worker->log_text);
}

# One company's directory kills every process that calls it; the other company is served.
sub one_hurts_itself {
    my ($sick, $well, $fault, $how, $url, $cloud) = @_;
    my $stack  = $sick;
    my $worker = $stack->worker;
    my $before = crashes($stack);
    my $pid    = $worker->pid;
    # Open sessions are closed: a new document gets a new connection.
    $fault->arm(kinds => ['connect'], port => port_of($url), at => 1, times => 0, how => $how);
    $sick->apply_tenant({ companyId => $sick->{company}, name => "Sick $how" });
    my $task = $sick->post('/v1/api/user', { firstname => 'Sick', surname => ucfirst $how,
        ($cloud ? (country => 'SE') : ()) })->{json}{data}{taskId};
    ok(within(sub { crashes($stack) > $before }), "$how: the working process died")
        or return diag($worker->log_text);
    stop_clock($fault);
    my $other = $well->post('/v1/api/user', { firstname => 'Well', surname => ucfirst $how,
        ($cloud ? () : (country => 'SE')) })->{json}{data}{taskId};
    done_at_once($well, $other, $fault, 'the other company is served');
    $fault->speed(1);
    ok(within(sub { held($stack, $sick->{company}) }), 'the directory is held');
    like(held($stack, $sick->{company}), qr/died of signal \d+ \(\w.*\) in work for it/,
        'for that reason');
    is(held($stack, $well->{company}), undef, 'the other company\'s is not');
    ok($worker->running && $worker->pid == $pid, 'the service is the same process');
    my $after = crashes($stack);
    cmp_ok($after - $before, '<=', failures($stack, $sick->{company}) + 1,
        'each death holds the directory for longer');
    my ($rows) = $stack->sql('SELECT count(*) FROM worker');
    is($rows->[0], 1, 'one worker is seen');

    # The next attempt crashes again and the hold becomes longer.
    my $failures = failures($stack, $sick->{company});
    $stack->ctl_ok('sync', $sick->{company});
    ok(within(sub { crashes($stack) > $after }), 'idadminctl sync tries: it dies again');
    # The service waits longer before each start.
    $fault->speed(4);
    ok(within(sub { starts($stack) > crashes($stack) }), 'and is there again');
    $fault->speed(1);
    ok(within(sub { failures($stack, $sick->{company}) > $failures }), 'which is one failure more');
    $fault->disarm;
    # The dead one's synchronisation keeps others off for as long as a call may take.
    $fault->leap(21);
    $stack->ctl_ok('sync', $sick->{company}, '--wait');
    is($sick->wait_task($task)->{state}, 'done', 'mended, its own task is done');
    is(held($stack, $sick->{company}), undef, 'and nothing is held');
}

# A hire is in its directory's hands when the process dies of something else: the next process goes
# on with it although no limit of time is ever reached.
sub goes_on_at_once {
    my ($well, $fault) = @_;
    my ($worker, $cloud) = ($well->worker, $well->cloud);
    $cloud->control(faults => { method => '^POST$', path => '^/users$', do => 'hold',
        when => 'after', count => 1 });
    my $task = $well->post('/v1/api/user', { firstname => 'In', surname => 'Hand',
        country => 'SE' })->{json}{data}{taskId};
    ok(within(sub { $cloud->user('in.hand@acme.example') }), 'a hire is in hand');
    stop_clock($fault);
    my $before = crashes($well);
    kill ABRT => $worker->working;
    ok(within(sub { crashes($well) > $before }), 'the process dies');
    $cloud->control(release => JSON::PP::true());
    done_at_once($well, $task, $fault, 'the next one goes on with it at once');
    is_deeply([values %{ $cloud->counters->{createdByMarker} }],
        [(1) x values %{ $cloud->counters->{createdByMarker} }], 'no account is created twice');
    $fault->speed(1);
}

# Three companies whose directory kills every process that calls it, and two workers: each worker
# dies of each directory as often as it takes to know it, and the other company's hires wait for no
# limit of time. A crash handler records its directory: one death, and one more if a call that was
# on its way ends the hold. After a kill that no thread sees it is found by serving suspects alone:
# three deaths.
sub each_is_left_alone {
    my ($stack, $fault, $expected, $how, $deaths_max) = @_;
    my $slapd  = Idadmin::Test::Slapd->new;
    my $second = $stack->new_worker(env => $fault->env);
    $second->expect_log(@$expected);
    my @sick;
    for my $number (1 .. 3) {
        my $sick = bless { %$stack, company => "$how$number", keys => {}, client => {},
            slapd => $slapd }, ref $stack;
        $sick->_begin_tenant;
        push @sick, $sick->wait_synced;
    }
    my $deaths = sub { my $text = $stack->worker->log_text . $second->log_text;
        return scalar(() = $text =~ /IDA0335/g) };
    my $before = $deaths->();
    $fault->arm(kinds => ['connect'], port => port_of($slapd->ldaps_url), at => 1,
        times => 0, how => $how);
    # Open sessions are closed; the clock stands before the next synchronisation is due.
    stop_clock($fault);
    $_->apply_tenant($_->tenant_document(name => 'Sick')) for @sick;
    $_->post('/v1/api/user', { firstname => 'Sick', surname => 'Too' }) for @sick;
    my (@waiting, $slowest) = @sick;
    for (my $number = 0; $number < 40 && @waiting; $number++) {
        my $begun = Time::HiRes::time();
        my $task = $stack->post('/v1/api/user', { firstname => "Well$how",
            surname => "Too$number" })->{json}{data}{taskId};
        done_at_once($stack, $task, $fault, "hire $number is done");
        my $took = Time::HiRes::time() - $begun;
        $slowest = $took if $took > ($slowest // 0);
        @waiting = grep { !held($stack, $_->{company}) } @waiting;
    }
    ok(within(sub { @waiting = grep { !held($stack, $_->{company}) } @waiting; !@waiting }),
        'each is held');
    my $died = $deaths->() - $before;
    cmp_ok($died, '<=', $deaths_max, "$how: $died deaths until each is known");
    note(sprintf 'slowest hire of the other company: %.1f s', $slowest);
    $_->ctl_ok('sync', $_->{company}) for @sick;
    $fault->disarm;
    $fault->speed(1);
    $second->stop;
    $slapd->stop;
}

on_one_engine {
    my ($engine) = @_;
    my $fault = Idadmin::Test::Fault->new('idadmin-worker');
    my $stack = Idadmin::Test::Stack->new(engine => $engine, worker => { env => $fault->env });
    my $acme  = $stack->beside_in_the_cloud;
    # While the clock stands a synchronisation that paces its calls would not end, and who waits for
    # it would wait for ever: none is due.
    $acme->{cloud_changes} = { syncInterval => '1h' };
    $acme->apply_tenant($acme->tenant_document);
    my @expected = (qr/IDA0335/, qr/IDA0314.*died of signal/, qr/IDA0323/, qr/IDA0321/,
        qr/IDA0315 tenant (?:abort|before)\d is held/);    # when their server ends
    $stack->worker->expect_log(@expected);
    one_hurts_itself($stack, $acme, $fault, abort => $stack->slapd->ldaps_url, 0);
    one_hurts_itself($acme, $stack, $fault, segfault => $acme->cloud->url, 1);
    goes_on_at_once($acme, $fault);
    each_is_left_alone($stack, $fault, \@expected, abort => 2 * 3 + 3);
    each_is_left_alone($stack, $fault, \@expected, before => 2 * 3 * 3);

    # The service as a whole: no working process outlives it, TERM ends both.
    my $worker = $stack->worker;
    my $child;    # the last death may still be judged
    ok(within(sub {
        ($child) = map { /^(\d+)/ } grep { /\) \S \Q${\ $worker->pid}\E / }
            map { eval { Idadmin::Test::slurp($_) } // () } glob '/proc/[0-9]*/stat';
        return $child }), 'it has a working process');
    kill KILL => $worker->pid;
    ok(within(sub { !-d "/proc/$child" }), 'which dies with it');
    $worker->stop;
    my $starts = starts($stack);
    $worker->start;
    ok(within(sub { starts($stack) > $starts }), 'started again');
    is($worker->stop, 0, 'TERM: exit 0');
    $stack->stop;
    $acme->cloud->stop;
} 't/unit/queue/claim.c and holds.c run the statements of holds and takeovers on both engines';

done_testing();
