package Idadmin::Bench::Directories;
# The parts cloud and slapd: whole synchronisations, the cloud's compared with a client that only
# downloads the same pages, and polls that find nothing.
use strict;
use warnings;
use Idadmin::Bench qw(engine processor_ms setting);
use Idadmin::Test qw(build_dir json_data run_command);
use Idadmin::Test::Stack ();
use List::Util qw(min);
use POSIX ();
use Time::HiRes ();

# -- the cloud directory: a whole sync beside a client that only downloads the same pages

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
# (msgraph-sdk-dotnet issue 574: a group of 9,993 reported in 20 parts).
sub cloud {
    my ($part) = @_;
    my $people = setting(CLOUD_USERS => 200_000);
    my $times  = setting(CLOUD_ROUNDS => 3);
    my $each   = setting(CLOUD_EACH => 8);
    my %size   = (deltaUsers => setting(CLOUD_PAGE => 200),
        deltaMembers => setting(CLOUD_MEMBERS => 500),
        latencyMs => setting(CLOUD_LATENCY => 5));
    my (@pairs, %memory);
    my @queries = delta_queries();
    for my $count (int($people / 10), ($people) x $times) {
        my $acme = Idadmin::Test::Stack->new(engine => engine(), httpd => 0, worker => 0, sync => 0,
            tenant => {},
            cloud => { tls => !setting(CLOUD_PLAIN => 0),
            bulk => { users => $count, memberships => $each * $count }, settings => \%size });
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
    $part->ratio("sync of $people cloud users, $each memberships each (s)", \@pairs, limit => 1.5,
        most => 1);
    return $part->ratio('memory (MB) beside that for a tenth',
        [[@memory{ $people, int($people / 10) }]], limit => 1.5, most => 1);
}

# What a worker that stays logs of `count` polls, ms each; its first one opens the connection.
sub polls {
    my ($of, $count) = @_;
    my $worker = $of->new_worker(options => ['--log-level', 'debug']);
    my @ms;
    Idadmin::Test::within(
        sub { @ms = $worker->log_text =~ /synced in (\d+) ms/g; return @ms > $count })
        or die 'polls: ' . $worker->log_text;
    $worker->stop;
    return @ms[1 .. $count];
}

# -- a whole sync from slapd, a poll that finds nothing, a poll that finds one change
sub slapd {
    my ($part) = @_;
    my ($engine, $users, $named) = (engine(), setting(USERS => 100_000), setting('OVERLAYS'));
    my @overlays = $named ? (overlays => [split ' ', $named]) : ();
    for my $count (int($users / 4), $users) {
        my $nordic = Idadmin::Test::Stack->new(engine => $engine,
            slapd => { users => $count, groups => int($count / 20), @overlays }, httpd => 0,
            worker => 0, sync => 0, tenant => {});
        my @servers = ($nordic->slapd->{pid}, $engine eq 'postgresql'
            ? Idadmin::Test::PostgreSQL->shared->{pid} : ());
        my @before  = map { processor_ms($_) } @servers;
        my ($took, $memory, $busy, $ms) = sync_once($nordic);
        my @served = map { sprintf '%.1f s', (processor_ms($servers[$_]) - $before[$_]) / 1000 }
            0 .. $#servers;
        my ($idle_took, $idle_memory, $idle_busy, $nothing) = sync_once($nordic);
        printf "%s: %d users, %d groups of slapd: synced in %.1f s, the worker's processor %.1f "
            . "s, its servers' (slapd, PostgreSQL) %s, %.0f MB; a worker begun for a poll that "
            . "finds nothing %d ms, %.0f MB\n",
            $engine, $count, int($count / 20), $ms / 1000, $busy, join(' and ', @served), $memory,
            $nothing, $idle_memory;
        my @polls = polls($nordic, 10);
        printf "# polls that find nothing by a worker that stays, ms: %s\n", join ' ', @polls;
        $part->ratio("poll that finds nothing, $count users (ms)", [map { [$_, 1] } @polls],
            limit => 50, most => 1);
        $nordic->stop;
    }
    return;
}

1;
