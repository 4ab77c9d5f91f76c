#!/usr/bin/perl
# Speed as ratios: every figure is measured beside something else of the same machine in interleaved
# rounds of one run; medians, errors must be 0. "make bench" runs all parts, "make bench BENCH='get
# sync'" some of them. BENCH_USERS (100000), BENCH_ROUNDS (5), BENCH_SECONDS (3) change the size; of
# the part cloud: BENCH_CLOUD_USERS (200000; eight memberships each), BENCH_CLOUD_ROUNDS (3),
# BENCH_CLOUD_PAGE (200 users), BENCH_CLOUD_MEMBERS (500 members a page), BENCH_CLOUD_LATENCY (ms
# before each answer; 5), BENCH_CLOUD_PLAIN (1: without TLS), and BENCH_ENGINE (sqlite); of the part
# slapd: BENCH_USERS, BENCH_ENGINE, and BENCH_OVERLAYS (all that the harness has; names with blanks
# between: dynlist makes slapd look at every entry when streams are asked); of the part tasks:
# BENCH_TASKS (1000), BENCH_TASK_ROUNDS (3), BENCH_TASK_SPREAD (60 s; 0: not), BENCH_TASK_THREADS
# (8), BENCH_ENGINE.
use strict;
use warnings;
use Idadmin::Test qw(build_dir run_command json_data json_text);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Stack ();
use FindBin ();
use List::Util qw(min);
use POSIX ();
use Time::HiRes ();

require "$FindBin::Bin/tasks.pl";

my $users   = $ENV{BENCH_USERS}   // 100_000;
my $rounds  = $ENV{BENCH_ROUNDS}  // 5;
my $seconds = $ENV{BENCH_SECONDS} // 3;
my %wanted  = map { $_ => 1 } @ARGV ? @ARGV : qw(sync get mcp mixed post cloud slapd tasks);
my $bad     = 0;
$| = 1;

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[@sorted / 2] }
sub range  { my @sorted = sort { $a <=> $b } @_; return @sorted[0, -1] }

# One line a figure: what, the ratio pair by pair (median, least, most), the limit it is held to.
sub report {
    my ($name, $pairs, $limit, $most) = @_;
    my @ratios = map { $_->[0] / $_->[1] } @$pairs;
    my $median = median(@ratios);
    my $holds = !defined $limit || ($most ? $median <= $limit : $median >= $limit);
    $bad++ if !$holds;
    printf "%-52s %8.3f  (%.3f to %.3f)  of %.4g beside %.4g%s\n", $name, $median, range(@ratios),
        median(map { $_->[0] } @$pairs), median(map { $_->[1] } @$pairs),
        defined $limit ? sprintf('  [%s %s%s]', $most ? 'at most' : 'at least', $limit, $holds ? ''
        : ': MISSED') : '';
}

my $stack;
my $errors = 0;

sub load {
    my ($connections, $method, $target, %how) = @_;
    my $key = $stack->key($how{key} // 'read');
    my @headers = ("X-Company-ID: $key->{companyId}", "X-Api-User: $key->{username}",
        "X-Api-Key: $key->{apiKey}", $how{body} ? 'Content-Type: application/json' : ());
    @headers = map {"$_: $how{headers}{$_}"} sort keys %{ $how{headers} } if $how{headers};
    my $result = run_command([build_dir() . '/tool/load', $stack->httpd->port, $connections,
        $how{seconds} // $seconds, $method, $target, $how{body} // '', @headers], timeout => 300,
        env => { LOAD_USERS => $users });
    die "load: $result->{err}" if $result->{exit};
    my $figures = json_data($result->{out});
    $errors += $figures->{errors};
    return $figures;
}

# -- the cloud directory: a whole sync beside a client that only downloads the same pages

# Processor seconds that a process has taken, with its children when it is a PostgreSQL server: of
# those that ended its own figures tell.
sub processor {
    my ($pid) = @_;
    my $ticks = 0;
    for my $of ($pid, split ' ', Idadmin::Test::slurp("/proc/$pid/task/$pid/children")) {
        open my $stat, '<', "/proc/$of/stat" or next;
        my @fields = split ' ', (<$stat> // '') =~ s/.*\) //r;
        $ticks += $_ for @fields > 14 ? @fields[$of == $pid ? (11 .. 14) : (11, 12)] : ();
    }
    return $ticks / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# Runs the worker once: (seconds, MB of memory at most, its processor seconds, ms of the sync as it
# logs them).
sub sync_once {
    my ($cloud_stack) = @_;
    my $worker = $cloud_stack->new_worker(start => 0);
    my ($peak, $busy, $start) = (0, 0, Time::HiRes::time());
    my $pid = Idadmin::Test::daemon($worker->command('--once'), log => $worker->{log},
        user => Idadmin::Test::runtime_user());
    while (!Idadmin::Test::ended($pid)) {
        if (open my $status, '<', "/proc/$pid/status") {
            for (<$status>) { $peak = $1 if /^VmHWM:\s+(\d+)/ && $1 > $peak }
        }
        if (open my $stat, '<', "/proc/$pid/stat") {
            my @of = split ' ', (<$stat> // '') =~ s/.*\) //r;
            $busy = ($of[11] + $of[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK()) if @of > 12;
        }
        Time::HiRes::sleep(0.02);
    }
    my $took = Time::HiRes::time() - $start;
    die 'idadmin-worker --once: ' . $worker->log_text
        if Idadmin::Test::stop_daemon($pid) || $worker->log_text !~ /synced in/;
    return ($took, $peak / 1024, $busy, $worker->log_text =~ /synced in (\d+) ms/);
}

# The queries with which the worker's rounds begin, out of its own traffic.
sub delta_queries {
    my $small = Idadmin::Test::Stack->new(httpd => 0, worker => 0, sync => 0, tenant => {},
        cloud => {});
    my $record = Idadmin::Test::tempdir() . '/traffic';
    $small->cloud->control(record => $record);
    sync_once($small);
    my @lines = map { json_data($_) } split /\n/, Idadmin::Test::slurp($record);
    $small->stop;
    my @queries = map { "/v1.0$_->{path}?$_->{query}" =~ s{^/v1\.0/v1\.0}{/v1.0}r }
        grep { $_->{path} =~ m{/delta\z} && $_->{query} =~ /^\$select=/ } @lines;
    die "two delta queries are expected, not @queries" if @queries != 2;
    return @queries;
}

# Seconds that a bare client needs for the pages that the first sync of this stack reads.
sub bare_client {
    my ($of, @queries) = @_;
    my $cloud = $of->cloud;
    my $token = Idadmin::Test::secret_file(Idadmin::Test::tempdir() . '/token',
        $cloud->token . "\n");
    my $ran = run_command([build_dir() . '/tool/pages', $token,
        map { $cloud->origin . $_ } @queries], timeout => 1800,
        env => { CURL_CA_BUNDLE => $cloud->ca_file });
    die "pages: $ran->{err}" if $ran->{exit};
    return json_data($ran->{out})->{seconds};
}

# Each round in a stack of its own, so that every sync is a first one; the emulator renders its
# pages before anything is timed. The quicker one of two bare clients counts: a machine that wakes
# up slowly holds up one that does nothing but wait for the next page. As the service is said to be:
# TLS, pages of 200 users (microsoft-graph-explorer-v4 issue 1157) or 500 members
# (msgraph-sdk-dotnet issue 574: a group of 9,993 told in 20 parts).
sub cloud {
    my $people = $ENV{BENCH_CLOUD_USERS}   // 200_000;
    my $times  = $ENV{BENCH_CLOUD_ROUNDS}  // 3;
    my %size   = (deltaUsers => $ENV{BENCH_CLOUD_PAGE} // 200,
        deltaMembers => $ENV{BENCH_CLOUD_MEMBERS} // 500,
        latencyMs => $ENV{BENCH_CLOUD_LATENCY} // 5);
    my $engine = $ENV{BENCH_ENGINE}        // 'sqlite';
    my (@pairs, %memory);
    my @queries = delta_queries();
    for my $count (int($people / 10), ($people) x $times) {
        my $acme = Idadmin::Test::Stack->new(engine => $engine, httpd => 0, worker => 0, sync => 0,
            tenant => {},
            cloud => { tls => !$ENV{BENCH_CLOUD_PLAIN},
            bulk => { users => $count, memberships => 8 * $count }, settings => \%size });
        bare_client($acme, @queries);
        my $before = bare_client($acme, @queries);
        my ($took, $memory, $busy) = sync_once($acme);
        my $after = bare_client($acme, @queries);
        $memory{$count} = $memory if $memory > ($memory{$count} // 0);
        if ($count == $people) {
            push @pairs, [$took, min($before, $after)];
            printf "# %.1f s, the worker's processor %.1f s, %.0f MB; bare client %.1f s before "
                . "and %.1f s after\n", $took, $busy, $memory, $before, $after;
        }
        $acme->stop;
    }
    report("sync of $people cloud users, 8 memberships each (s)", \@pairs, 1.5, 1);
    report('memory (MB) beside that for a tenth', [[@memory{ $people, int($people / 10) }]], 1.5,
        1);
}

# What a worker that stays logs of `count` polls, ms each; its first one opens the connection.
sub polls {
    my ($of, $count) = @_;
    my $worker = $of->new_worker(options => ['--log-level', 'debug']);
    my @ms;
    Idadmin::Test::wait_until(60,
        sub { @ms = $worker->log_text =~ /synced in (\d+) ms/g; return @ms > $count })
        or die 'polls: ' . $worker->log_text;
    $worker->stop;
    return @ms[1 .. $count];
}

# -- a whole sync from slapd, a poll that finds nothing, a poll that finds one change
sub slapd {
    my $engine = $ENV{BENCH_ENGINE} // 'sqlite';
    my @overlays = $ENV{BENCH_OVERLAYS} ? (overlays => [split ' ', $ENV{BENCH_OVERLAYS}]) : ();
    for my $count (int($users / 4), $users) {
        my $nordic = Idadmin::Test::Stack->new(engine => $engine,
            slapd => { users => $count, groups => int($count / 20), @overlays }, httpd => 0,
            worker => 0, sync => 0, tenant => {});
        my @servers = ($nordic->slapd->{pid}, $engine eq 'postgresql'
            ? Idadmin::Test::PostgreSQL->shared->{pid} : ());
        my @before  = map { processor($_) } @servers;
        my ($took, $memory, $busy, $ms) = sync_once($nordic);
        my @served = map { sprintf '%.1f s', processor($servers[$_]) - $before[$_] } 0 .. $#servers;
        my ($idle_took, $idle_memory, $idle_busy, $nothing) = sync_once($nordic);
        printf "%s: %d users, %d groups of slapd: synced in %.1f s, the worker's processor %.1f "
            . "s, its servers' (slapd, PostgreSQL) %s, %.0f MB; a worker begun for a poll that "
            . "finds nothing %d ms, %.0f MB\n",
            $engine, $count, int($count / 20), $ms / 1000, $busy, join(' and ', @served), $memory,
            $nothing, $idle_memory;
        my @polls = polls($nordic, 10);
        printf "# polls that find nothing by a worker that stays, ms: %s\n", join ' ', @polls;
        report('poll that finds nothing (ms)', [map { [$_, 1] } @polls], 50, 1);
        $nordic->stop;
    }
}

my $any_user = '/v1/api/user?userPrincipalName=user{u}%40nordic.example';

# In the background: connections that POST without pause until stopped.
sub posting {
    my ($connections, $time) = @_;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    my $figures = eval { load($connections, POST => '/v1/api/user', key => 'full', seconds => $time,
        body => '{"firstname":"Load","surname":"Person{n}","date":"2027-06-01"}') };
    POSIX::_exit(!$figures || $figures->{errors} || !$figures->{requests} ? 1 : 0);
}

slapd() if delete $wanted{slapd};
tasks(\&report) if delete $wanted{tasks};
if (exists $wanted{cloud} || !%wanted) {
    cloud() if delete $wanted{cloud};
    exit($bad ? 1 : 0) if !%wanted;
}
printf "%s users, %s rounds of %s s, %s\n", $users, $rounds, $seconds, scalar localtime;
$stack = Idadmin::Test::Stack->new(
    slapd => { users => $users, groups => int($users / 20), nosync => 1 }, worker => 0, sync => 0,
        tenant => {},
    httpd => { children => 2, log_level => 'warn', rate_limits => { key => '1000000/60s' },
        server => 'LoadModule fixed_module ' . build_dir()
        . "/bench/mod_fixed.so\n<Location /fixed300>\n    SetHandler fixed\n</Location>" },
);
# writes without pause pass the mark between two rounds of the worker, and it is told by whoever
# writes then
$stack->httpd->expect_log(qr/IDA0105/);
# Every layer at work, limits included: high enough never to refuse.
$stack->create_key(read => 'bench-read', 'read-only', '--rate-limit', '1000000/60s');
$stack->create_key(full => 'bench-full', 'full', '--rate-limit', '1000000/60s');

{
    my @pairs;
    for my $round (1 .. ($wanted{sync} ? $rounds : 1)) {
        if ($round > 1) { $stack->ctl_ok('cache', 'reset', 'nordic') }
        my $start = Time::HiRes::time();
        my $run = $stack->new_worker(start => 0)->run('--once');
        die "idadmin-worker --once: $run->{err}" if $run->{exit};
        my $sync = Time::HiRes::time() - $start;
        last if !$wanted{sync};
        $start = Time::HiRes::time();
        my ($dn, $password) = ($Idadmin::Test::Slapd::service,
            Idadmin::Test::Slapd::service_password());
        my $search = run_command(['sh', '-c', 'exec ldapsearch "$@" >/dev/null', 'sh', '-x', '-LLL',
            '-H', $stack->slapd->ldaps_url, '-D', $dn, '-w', $password, '-E', 'pr=500/noprompt',
            '-b', $Idadmin::Test::Slapd::suffix,
            '(|(objectClass=inetOrgPerson)(objectClass=groupOfNames))'],
            env => { LDAPTLS_CACERT => $stack->slapd->ca_file }, timeout => 300);
        die "ldapsearch: $search->{err}" if $search->{exit};
        push @pairs, [$sync, Time::HiRes::time() - $start];
    }
    report("sync of $users users (s) beside a paged ldapsearch", \@pairs) if $wanted{sync};
}

sub get_beside_fixed {
    my ($name, $limit) = @_;
    my @pairs;
    for my $round (0 .. $rounds) {
        my $ours  = load(16, GET => $any_user);
        my $fixed = load(16, GET => '/fixed300');
        push @pairs, [$ours->{rate}, $fixed->{rate}] if $round;    # the first one warms up
    }
    report($name, \@pairs, $limit);
}

# The request path alone, and with the worker on the same two processors, which ingests every audit
# record meanwhile.
get_beside_fixed('GET user beside a fixed answer (requests/s)', 0.65) if $wanted{get};
$stack->{worker} = $stack->new_worker;
$stack->worker->expect_log(qr/IDA0105/);
get_beside_fixed('the same while a worker ingests the audit records') if $wanted{get};

# What the protocol of assistants costs: the same person by the tool, by the tool's REST twin, and
# by the plain look-up. Times, so that a ratio of 1.5 is half as dear again.
sub tool_beside {
    my ($name, $target, $limit) = @_;
    my $mcp  = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    my $call = $mcp->message('tools/call',
        { name => 'get_user', arguments => { user => 'user{u}@nordic.example' } });
    my %headers = @{ $mcp->headers($call) };
    my @pairs;
    for my $round (0 .. $rounds) {
        my $tool = load(16, POST => $mcp->{path}, body => json_text($call), headers => \%headers);
        my $rest = load(16, GET => $target);
        push @pairs, [1 / $tool->{rate}, 1 / $rest->{rate}] if $round;
    }
    report($name, \@pairs, $limit, 1);
}
if ($wanted{mcp}) {
    tool_beside('MCP get_user beside GET user (s a request)', $any_user, 1.5);
    tool_beside('the same beside GET user/details',
        '/v1/api/user/details?user=user{u}%40nordic.example');
}

if ($wanted{mixed}) {
    my @pairs;
    for my $round (0 .. $rounds) {
        my $alone = load(4, GET => $any_user);
        my $pid   = posting(16, $seconds + 1);
        Time::HiRes::sleep(0.5);
        my $beside = load(4, GET => $any_user);
        waitpid $pid, 0;
        $errors++ if $?;
        push @pairs, [$beside->{p99}, $alone->{p99}] if $round;
    }
    report('GET p99 (ms) beside 16 POSTing connections, to alone', \@pairs, 3, 1);
}

if ($wanted{post}) {
    my @pairs;
    for my $round (0 .. $rounds) {
        my $ours = load(16, POST => '/v1/api/user', key => 'full',
            body =>
            '{"firstname":"Bench","surname":"Person{n}","jobTitle":"Clerk","date":"2027-06-01"}');
        my $bare = run_command([build_dir() . '/tool/commits',
            Idadmin::Test::tempdir() . '/bare.db', $seconds]);
        die "commits: $bare->{err}" if $bare->{exit};
        push @pairs, [$ours->{rate}, $bare->{out}] if $round;
    }
    report('POST user (durable) beside bare commits (per s)', \@pairs, 0.4);
}

print "errors: $errors\n";
$stack->stop;
exit($bad || $errors ? 1 : 0);
