# Every task is executed exactly once if the wall clock is set forward and back by an hour around a
# due minute, if connections to directory and database die without being closed, and if PostgreSQL
# is killed and restarted. parameter(rounds): how often it is killed.
use strict;
use warnings;
use Test::More;
use File::Basename qw(basename);
use Idadmin::Test qw(for_each_engine json_text parameter slurp within);
use Idadmin::Test::Fault ();
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Wire ();
use POSIX qw(strftime);
use Time::HiRes ();

my $rounds = parameter(rounds => 2);
my $domain = $Idadmin::Test::Slapd::domain;
my $people = $Idadmin::Test::Slapd::people;
my $speed  = 10;    # of the clocks that limits of silence are waited out by
my ($stack, $journal);

sub adds { my ($uid) = @_;
    return scalar(() = slurp($journal) =~ /^dn: uid=\Q$uid\E,.*\nchangetype: add$/mg) }

# Repeated while the store is away, or for a clock that runs fast: 503 says that the key makes that
# safe.
sub hire {
    my ($first, %more) = @_;
    return within(sub {
        my $answer = $stack->post('/v1/api/user',
            { firstname => $first, surname => 'Clock', %more },
            client => $stack->httpd->client, headers => { 'Idempotency-Key' => $first });
        $answer->{status} == 200 && $answer->{json}{data}{taskId} });
}

sub done_once {
    my ($what, $id, $uid) = @_;
    my $task = eval { $stack->wait_task($id) };
    is(($task // $stack->task($id))->{state}, 'done', "$what: done")
        or diag(json_text($stack->task($id)));
    is(adds($uid), 1, 'once');
}

# Only the worker's clock is set: httpd's is another machine's.
sub clocks {
    my ($fault) = @_;
    my $due   = time + 1800;
    my $ahead = hire('Ahead', date => strftime('%Y-%m-%d', gmtime $due),
        time => strftime('%H:%M', gmtime $due));
    is($stack->task($ahead)->{state}, 'queued', 'due in half an hour');
    $fault->step(3600);
    done_once('an hour ahead', $ahead, 'ahead.clock');
    my $there = hire('There');
    done_once('meanwhile', $there, 'there.clock');
    $fault->step(-3600);
    my ($behind, $past) = map { hire($_) } qw(Behind Past);
    $stack->ctl_ok('task', 'reschedule', 'nordic', $past,
        split / /, strftime('%Y-%m-%d %H:%M', gmtime time - 7200));
    done_once('an hour behind, what was due two hours ago', $past, 'past.clock');
    is($stack->task($behind)->{state}, 'queued', 'while the rest is not yet due');
    $fault->step(0);
    done_once('the right time again', $behind, 'behind.clock');
    is(adds($_), 1, "$_ was not done again") for qw(ahead.clock there.clock);
    my $after = hire('After');
    done_once('and goes on', $after, 'after.clock');
    # The worker counts as seen an hour ago until its next sign of life.
    ok(within(sub { !$stack->ctl('sync', 'nordic', '--wait')->{exit} }),
        'synchronised as well');
}

sub dead_wires {
    my ($directory, $database, @faults) = @_;
    $_->speed($speed) for @faults;
    my $id = hire('Wire');
    done_once('over the wire', $id, 'wire.clock');
    $directory->cut;
    my $held = hire('Directory');
    my $since = Time::HiRes::time();
    done_once('the directory\'s connections are dead', $held, 'directory.clock');
    note(sprintf 'after %.1f s', Time::HiRes::time() - $since);
    return if !$database;
    $database->cut;
    $since = Time::HiRes::time();
    my $waits = hire('Database');
    ok($waits, 'the database\'s are: a request is taken');
    done_once('and carried out', $waits, 'database.clock');
    note(sprintf 'after %.1f s', Time::HiRes::time() - $since);
}

sub server_dies {
    my ($server) = @_;
    for my $round (1 .. $rounds) {
        my $name = 'server' . chr(96 + ($round - 1) % 26 + 1) . chr(97 + int($round / 26));
        my $id = hire($name);
        Time::HiRes::sleep(rand 0.2);
        $server->kill9;
        $server->start;
        done_once("PostgreSQL killed, round $round", $id, lc "$name.clock");
    }
}

for_each_engine {
    my ($engine) = @_;
    $journal = Idadmin::Test::tempdir() . "/journal.$engine";
    my $fault = Idadmin::Test::Fault->new('idadmin-worker');
    my $web   = Idadmin::Test::Fault->new(basename(Idadmin::Test::build_config()->{httpd}));
    my $slapd = Idadmin::Test::Slapd->new(global => "moduleload auditlog\n",
        conf => "overlay auditlog\nauditlog $journal\n");
    my $wire   = Idadmin::Test::Wire->new($slapd->{ports});
    my $server = $engine eq 'postgresql' ? Idadmin::Test::PostgreSQL->new : undef;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => $slapd,
        ($server ? (postgresql => $server) : ()), worker => 0, httpd => { env => $web->env },
        tenant => { timeZone => 'UTC' });
    $stack->apply_tenant({ companyId => 'nordic', directories => { onPremises => {
        urls => ['ldaps://127.0.0.1:' . $wire->port] } } });
    my $line;
    if ($server) {
        $line = Idadmin::Test::Wire->new($server->{port});
        my $over = $server->dsn($stack->{database}, tcp => 1)
            =~ s/port=\d+/'port=' . $line->port/er;
        $stack->{stores} = { web => $over, worker => $over };
        $stack->httpd->stop;
        $stack->httpd->reconfigure(store => $over)->start;
    }
    # One thread: from an hour behind the certificate of a new connection would not hold yet.
    $stack->{worker} = $stack->new_worker(env => $fault->env, options => ['--threads', 1]);
    $stack->wait_synced;
    # The directory or the store cannot be reached, or not within a limit of the fast clock.
    $stack->worker->expect_log(Idadmin::Test::store_needed(),
        qr/IDA(?:01[0-2]\d|0300|031[0-5]|032[0-5]|0414|0503|0505|060\d)/);
    # A thread meets one dead connection after the other, each for as long as an answer may take,
    # and by the fast clock the time to stop is three seconds.
    $stack->worker->expect_log(qr/IDA0332 threads .* stop time: \d;/);
    $stack->httpd->expect_log(qr/IDA01\d\d/);
    clocks($fault);
    dead_wires($wire, $line, $fault, $web);
    server_dies($server) if $server;
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the audit chain is whole');
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
    $slapd->stop;
    $_->stop for grep {$_} $wire, $line, $server;
};

done_testing();
