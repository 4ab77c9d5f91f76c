#!/usr/bin/perl
# Speed as ratios: every figure is measured beside something else of the same machine in interleaved rounds of one run; medians, errors must be 0.
# "make bench" runs all parts, "make bench BENCH='get sync'" some of them. BENCH_USERS (100000), BENCH_ROUNDS (5), BENCH_SECONDS (3) change the size.
use strict;
use warnings;
use Idadmin::Test qw(build_dir run_command json_data);
use Idadmin::Test::Stack ();
use POSIX ();
use Time::HiRes ();

my $users   = $ENV{BENCH_USERS}   // 100_000;
my $rounds  = $ENV{BENCH_ROUNDS}  // 5;
my $seconds = $ENV{BENCH_SECONDS} // 3;
my %wanted  = map { $_ => 1 } @ARGV ? @ARGV : qw(sync get mixed post);
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
    printf "%-52s %8.3f  (%.3f to %.3f)  of %.4g beside %.4g%s\n", $name, $median, range(@ratios), median(map { $_->[0] } @$pairs), median(map { $_->[1] } @$pairs),
        defined $limit ? sprintf('  [%s %s%s]', $most ? 'at most' : 'at least', $limit, $holds ? '' : ': MISSED') : '';
}

my $stack;
my $errors = 0;

sub load {
    my ($connections, $method, $target, %how) = @_;
    my $key = $stack->key($how{key} // 'read');
    my @headers = ("X-Company-ID: $key->{companyId}", "X-Api-User: $key->{username}", "X-Api-Key: $key->{apiKey}", $how{body} ? 'Content-Type: application/json' : ());
    my $result = run_command([build_dir() . '/tool/load', $stack->httpd->port, $connections, $how{seconds} // $seconds, $method, $target, $how{body} // '', @headers], timeout => 300, env => { LOAD_USERS => $users });
    die "load: $result->{err}" if $result->{exit};
    my $figures = json_data($result->{out});
    $errors += $figures->{errors};
    return $figures;
}

my $any_user = '/v1/api/user?userPrincipalName=user{u}%40nordic.example';

# In the background: connections that POST without pause until stopped.
sub posting {
    my ($connections, $time) = @_;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    my $figures = eval { load($connections, POST => '/v1/api/user', key => 'full', seconds => $time, body => '{"firstname":"Load","surname":"Person{n}","date":"2027-06-01"}') };
    POSIX::_exit(!$figures || $figures->{errors} || !$figures->{requests} ? 1 : 0);
}

printf "%s users, %s rounds of %s s, %s\n", $users, $rounds, $seconds, scalar localtime;
$stack = Idadmin::Test::Stack->new(
    slapd => { users => $users, groups => int($users / 20), nosync => 1 }, worker => 0, sync => 0, tenant => {},
    httpd => { children => 2, log_level => 'warn', rate_limits => { key => '1000000/60s' },
        server => 'LoadModule fixed_module ' . build_dir() . "/bench/mod_fixed.so\n<Location /fixed300>\n    SetHandler fixed\n</Location>" },
);
$stack->httpd->expect_log(qr/IDA0105/);    # writes without pause pass the mark between two rounds of the worker
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
        my ($dn, $password) = ($Idadmin::Test::Slapd::service, Idadmin::Test::Slapd::service_password());
        my $search = run_command(['sh', '-c', 'exec ldapsearch "$@" >/dev/null', 'sh', '-x', '-LLL', '-H', $stack->slapd->ldaps_url, '-D', $dn, '-w', $password, '-E', 'pr=500/noprompt',
            '-b', $Idadmin::Test::Slapd::suffix, '(|(objectClass=inetOrgPerson)(objectClass=groupOfNames))'], env => { LDAPTLS_CACERT => $stack->slapd->ca_file }, timeout => 300);
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

# The request path alone, and with the worker on the same two processors, which ingests every audit record meanwhile.
get_beside_fixed('GET user beside a fixed answer (requests/s)', 0.65) if $wanted{get};
$stack->{worker} = $stack->new_worker;
get_beside_fixed('the same while a worker ingests the audit records') if $wanted{get};

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
        my $ours = load(16, POST => '/v1/api/user', key => 'full', body => '{"firstname":"Bench","surname":"Person{n}","jobTitle":"Clerk","date":"2027-06-01"}');
        my $bare = run_command([build_dir() . '/tool/commits', Idadmin::Test::tempdir() . '/bare.db', $seconds]);
        die "commits: $bare->{err}" if $bare->{exit};
        push @pairs, [$ours->{rate}, $bare->{out}] if $round;
    }
    report('POST user (durable) beside bare commits (per s)', \@pairs, 0.4);
}

print "errors: $errors\n";
$stack->stop;
exit($bad || $errors ? 1 : 0);
