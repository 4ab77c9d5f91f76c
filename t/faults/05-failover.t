# httpd and worker, which know primary and standby by one DSN, continue without help when the
# primary PostgreSQL loses power in the middle of work and its synchronous standby is promoted.
# Answered requests are durable and were executed once, unanswered ones are executed once after they
# are repeated, and the audit chain is whole. parameter(failovers): how often that happens.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(in_parallel parameter slurp spew tempdir within);
use Idadmin::Test::Fault ();
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack ();
use POSIX ();
use Storable ();
use Time::HiRes ();

my $failovers = parameter(failovers => 1);
my $callers   = 3;
my $domain    = $Idadmin::Test::Slapd::domain;

plan skip_all => Idadmin::Test::PostgreSQL->skip_reason if Idadmin::Test::PostgreSQL->skip_reason;
plan skip_all => 'of PostgreSQL alone' if !grep { $_ eq 'postgresql' } Idadmin::Test::engines();

my $journal = tempdir() . '/journal';
my $stack;

# A name of letters alone, of round, caller and number.
sub name { return join '', map { my $n = $_; my $text = '';
    do { $text = chr(97 + $n % 26) . $text; $n = int $n / 26 } while $n; "x$text" } @_ }

sub hire {
    my ($name, $client) = @_;
    my $answer = eval { $stack->post('/v1/api/user', { firstname => $name, surname => 'Failover',
        employeeId => $name }, client => $client, headers => { 'Idempotency-Key' => $name }) };
    return $answer && $answer->{status} == 200 ? $answer->{json}{data}{taskId} : undef;
}

# Hires people one after the other until the file is there; each is sent again until it is answered.
# Of each: [name, task, when it was first sent, when it was answered, how often it was sent].
sub caller_of {
    my ($round, $index, $until) = @_;
    my ($client, @made) = ($stack->httpd->client);
    while (!-e $until) {
        my $name = name($round, $index, scalar @made);
        my ($since, $sent, $task) = (Time::HiRes::time(), 0);
        # Some of them are answered by then.
        within(sub { $sent++; $task = hire($name, $client) or do {
            $client = $stack->httpd->client; Time::HiRes::sleep(0.1); 0 } })
            or die "$name is not answered\n";
        push @made, [$name, $task, $since, Time::HiRes::time(), $sent];
        Time::HiRes::sleep(0.05);
    }
    return \@made;
}

# While people are hired the primary dies: [when it did, when the other was promoted, the hires].
# Who calls is a child of a process of its own: it is the parent of a server that may end it.
sub fail_over {
    my ($round, $primary, $standby) = @_;
    my ($answers, $until) = (tempdir() . "/answers$round", tempdir() . "/until$round");
    my $tasks  = sub { ($stack->sql('SELECT count(*) FROM task'))[0][0] };
    my $before = $tasks->();
    my $pid    = Idadmin::Test::fork_plain();
    if (!$pid) {
        eval { Storable::store([in_parallel($callers,
            sub { caller_of($round, 1 + $_[0], $until) })], $answers); 1 } or print STDERR $@;
        POSIX::_exit(0);
    }
    within(sub { $tasks->() >= $before + 8 }) or die "nobody is hired\n";
    Time::HiRes::sleep(rand 0.3);    # at which moment decides nothing
    my $died = Time::HiRes::time();
    $primary->kill9;
    Time::HiRes::sleep(rand 1);      # and so is the time until it is noticed
    $standby->promote;
    my $promoted = Time::HiRes::time();
    $stack->{postgresql} = $standby;
    my $there = $tasks->();
    # All callers are answered again, and more than once.
    within(sub { $tasks->() >= $there + 3 * $callers }) or diag('no hire succeeds any more');
    spew($until, '');
    waitpid $pid, 0;
    return ($died, $promoted, map {@$_} @{ Storable::retrieve($answers) });
}

sub adds {
    my %adds;
    my $text = slurp($journal);
    $adds{$1}++ while $text =~ /^dn: uid=([a-z]+)\.failover,.*\nchangetype: add$/mg;
    return \%adds;
}

sub after {
    my ($died, $promoted, @hires) = @_;
    my @behind = sort { $a <=> $b } map { $_->[3] } grep { $_->[3] > $died } @hires;
    my ($first) = grep { $_ > $promoted } @behind;
    ok($first, 'writes are answered again');
    note(sprintf '%d hires, %d of them sent more than once; promoted %.1f s after the death, the '
        . 'first answer %.1f s later, the longest wait %.1f s', scalar @hires,
        scalar(grep { $_->[4] > 1 } @hires), $promoted - $died, ($first // 0) - $promoted,
        (sort { $b <=> $a } map { $_->[3] - $_->[2] } @hires)[0]);
    cmp_ok(scalar(grep { $_->[3] < $died } @hires), '>', 3, 'work was going on before it');
    my $open = sub { my ($row) = $stack->sql("SELECT count(*) FROM task WHERE state <> 'done'");
        $row->[0] };
    ok(within(sub { !$open->() }), 'everything is carried out')
        or diag(substr $stack->worker->log_text, -3000);
    my %tasks = map { @$_ } $stack->sql('SELECT id, state FROM task');
    my @lost = map {"$_->[0]: task $_->[1]"} grep { !$tasks{ $_->[1] } } @hires;
    is_deeply(\@lost, [], 'no task that was answered is lost');
    my $adds = adds();
    my @wrong = map { "$_->[0]: " . ($adds->{ $_->[0] } // 0) . ' adds' }
        grep { ($adds->{ $_->[0] } // 0) != 1 } @hires;
    is_deeply(\@wrong, [], 'each is in the directory, made once');
}

sub in_the_end {
    my (@hires) = @_;
    my ($row) = $stack->sql('SELECT (SELECT count(*) FROM task), (SELECT count(*) FROM '
        . 'reservation), (SELECT coalesce(sum(seats_held), 0) FROM tenant)');
    is_deeply($row, [scalar(@hires), '0', '0'], 'one task a hire, no name or seat is left behind');
    # Under its key a second request is answered from the first: recorded as what it is.
    my $told;
    within(sub { ($told) = $stack->sql("SELECT count(*) FROM audit.record WHERE action = "
        . "'user.create' AND category = 'api' AND outcome = 'ok'"); $told->[0] >= @hires });
    cmp_ok($told->[0], '>=', @hires, 'each hire is in the audit');
    my $verify = $stack->ctl('audit', 'verify', 'nordic');
    is($verify->{exit}, 0, 'the audit chain is whole') or diag($verify->{out}, $verify->{err});
    $stack->ctl_ok('sync', 'nordic', '--wait');
    my ($people) = $stack->sql(
        "SELECT count(*) FROM cache.directory_user WHERE upn LIKE '%.failover\@$domain'");
    is($people->[0], scalar @hires, 'the cache knows them all');
}

# httpd, worker and idadminctl know both servers.
my $primary = Idadmin::Test::PostgreSQL->new;
my $slapd   = Idadmin::Test::Slapd->new(global => "moduleload auditlog\n",
    conf => "overlay auditlog\nauditlog $journal\n");
$stack = Idadmin::Test::Stack->new(engine => 'postgresql', slapd => $slapd,
    postgresql => $primary, worker => 0);
my $standby = $primary->standby;
my $both    = $primary->dsn($stack->{database}, tcp => 1, beside => $standby);
$stack->{store}  = $both;
$stack->{stores} = { web => $both, worker => $both };
$stack->httpd->stop;
$stack->httpd->reconfigure(store => $both)->start;
$stack->{worker} = $stack->new_worker(options => ['--threads', 4]);
$stack->wait_synced;
$stack->worker->expect_log(Idadmin::Test::store_needed(),
    qr/IDA(?:01[0-2]\d|0300|031[0-2]|032[0134]|0503|0505|060\d|0500)/);
$stack->httpd->expect_log(qr/IDA01\d\d/);

my @hires;
for my $round (1 .. $failovers) {
    subtest("failover $round" => sub {
        my ($died, $promoted, @made) = fail_over($round, $primary, $standby);
        after($died, $promoted, @made);
        push @hires, @made;
    });
    ($primary, $standby) = ($standby, $primary);
    $primary->standby($standby) if $round < $failovers;
}
in_the_end(@hires);
is($stack->worker->stop, 0, 'the worker ends cleanly');
$stack->stop;
$_->stop for $slapd, $primary, $standby;
done_testing();
