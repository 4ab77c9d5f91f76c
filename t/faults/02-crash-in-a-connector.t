# A connector that crashes the process hurts its own directory alone: the worker is there again,
# that directory is held with the reason, and another company waits for no lease of the dead
# process.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(on_one_engine within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
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

# One company's directory kills whoever calls it; the other company is served.
sub one_hurts_itself {
    my ($sick, $well, $fault, $how, $url, $cloud) = @_;
    my $stack  = $sick;
    my $worker = $stack->worker;
    my $before = crashes($stack);
    my $pid    = $worker->pid;
    # What is open is let go: a document that is new is connected to anew.
    $fault->arm(kinds => ['connect'], port => port_of($url), at => 1, times => 0, how => $how);
    $sick->apply_tenant({ companyId => $sick->{company}, name => "Sick $how" });
    my $task = $sick->post('/v1/api/user', { firstname => 'Sick', surname => ucfirst $how,
        ($cloud ? (country => 'SE') : ()) })->{json}{data}{taskId};
    ok(within(sub { crashes($stack) > $before }), "$how: the working process died")
        or return diag($worker->log_text);
    # No limit of time is reached meanwhile: what waited for one would not come.
    $fault->speed(0);
    my $other = $well->post('/v1/api/user', { firstname => 'Well', surname => ucfirst $how,
        ($cloud ? () : (country => 'SE')) })->{json}{data}{taskId};
    is($well->wait_task($other)->{state}, 'done', 'the other company is served');
    $fault->speed(1);
    ok(within(sub { held($stack, $sick->{company}) }), 'the directory is held');
    like(held($stack, $sick->{company}), qr/died of signal \d+ \(\w.*\) in a call of it/,
        'for that reason');
    is(held($stack, $well->{company}), undef, 'the other company\'s is not');
    ok($worker->running && $worker->pid == $pid, 'the service is the same process');
    my $after = crashes($stack);
    cmp_ok($after - $before, '<=', failures($stack, $sick->{company}) + 1,
        'each death holds the directory for longer');
    my ($rows) = $stack->sql('SELECT count(*) FROM worker');
    is($rows->[0], 1, 'one worker is seen');

    # Tried anew it crashes again and is held for longer.
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

on_one_engine {
    my ($engine) = @_;
    my $fault = Idadmin::Test::Fault->new('idadmin-worker');
    my $stack = Idadmin::Test::Stack->new(engine => $engine, worker => { env => $fault->env });
    my $acme  = $stack->beside_in_the_cloud;
    $stack->worker->expect_log(qr/IDA0335/, qr/IDA0314.*died of signal/, qr/IDA0323/, qr/IDA0321/);
    one_hurts_itself($stack, $acme, $fault, abort => $stack->slapd->ldaps_url, 0);
    one_hurts_itself($acme, $stack, $fault, segfault => $acme->cloud->url, 1);

    # The service as a whole: no working process outlives it, TERM ends both.
    my $worker = $stack->worker;
    my ($child) = map { /^(\d+)/ } grep { /\) \S \Q${\ $worker->pid}\E / }
        map { eval { Idadmin::Test::slurp($_) } // () } glob '/proc/[0-9]*/stat';
    ok($child, 'it has a working process');
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
