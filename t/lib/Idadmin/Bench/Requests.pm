package Idadmin::Bench::Requests;
# The parts with one company of people from slapd: sync, get, tool, mixed, post. Each figure is
# compared with another of the same httpd, in interleaved rounds.
use strict;
use warnings;
use Idadmin::Bench qw(fixed_answer load setting);
use Idadmin::Test qw(build_dir json_text run_command);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack ();
use POSIX ();
use Time::HiRes ();

my $users  = setting(USERS => 100_000);
my $rounds = setting(ROUNDS => 5);
my $any_user = '/v1/api/user?userPrincipalName=user{u}%40nordic.example';
my $stack;

# One for all parts; every layer at work, limits included: high enough never to refuse.
sub _stack {
    return $stack if $stack;
    printf "# %s users, %s rounds of %s s\n", $users, $rounds, setting(SECONDS => 3);
    $stack = Idadmin::Test::Stack->new(
        slapd => { users => $users, groups => int($users / 20), nosync => 1 }, worker => 0,
        sync => 0, tenant => {},
        httpd => { children => 2, log_level => 'warn', rate_limits => { key => '1000000/10s' },
            server => fixed_answer() },
    );
    # writes without pause pass the mark between two rounds of the worker, and it is logged by the
    # process that writes then
    $stack->httpd->expect_log(qr/IDA0105/);
    $stack->create_key(read => 'bench-read', 'read-only', '--rate-limit', '1000000/10s');
    $stack->create_key(full => 'bench-full', 'full', '--rate-limit', '1000000/10s');
    _sync_once();
    return $stack;
}

sub _sync_once {
    my $start = Time::HiRes::time();
    my $run = $stack->new_worker(start => 0)->run('--once');
    die "idadmin-worker --once: $run->{err}" if $run->{exit};
    return Time::HiRes::time() - $start;
}

sub stop { $stack->stop if $stack; $stack = undef; return }

sub _ldapsearch {
    my $start = Time::HiRes::time();
    my $search = run_command(['sh', '-c', 'exec ldapsearch "$@" >/dev/null', 'sh', '-x', '-LLL',
        '-H', $stack->slapd->ldaps_url, '-D', $Idadmin::Test::Slapd::service, '-w',
        Idadmin::Test::Slapd::service_password(), '-E', 'pr=500/noprompt',
        '-b', $Idadmin::Test::Slapd::suffix,
        '(|(objectClass=inetOrgPerson)(objectClass=groupOfNames))'],
        env => { LDAPTLS_CACERT => $stack->slapd->ca_file });
    die "ldapsearch: $search->{err}" if $search->{exit};
    return Time::HiRes::time() - $start;
}

sub sync {
    my ($part) = @_;
    _stack();
    my @pairs;
    for my $round (1 .. $rounds) {
        $stack->ctl_ok('cache', 'reset', 'nordic');
        push @pairs, [_sync_once(), _ldapsearch()];
    }
    return $part->ratio("sync of $users users (s) beside a paged ldapsearch", \@pairs);
}

# Rounds of two loads beside each other; the first one warms up. $figure makes one of each.
sub _beside {
    my ($figure, $one, $other) = @_;
    my @pairs;
    for my $round (0 .. $rounds) {
        my @both = ($figure->($one->()), $figure->($other->()));
        push @pairs, \@both if $round;
    }
    return \@pairs;
}

sub _rate  { return $_[0]{rate} }
sub _pause { return 1 / $_[0]{rate} }

# The request path alone, and with the worker on the same two processors, which ingests every audit
# record meanwhile.
sub get {
    my ($part) = @_;
    _stack();
    my $measure = sub { _beside(\&_rate, sub { load($stack, 16, GET => $any_user) },
        sub { load($stack, 16, GET => '/fixed300') }) };
    $part->ratio('GET user beside a fixed answer (requests/s)', $measure->(), limit => 0.65);
    my $worker = $stack->new_worker;
    $worker->expect_log(qr/IDA0105/);
    $part->ratio('the same while a worker ingests the audit records', $measure->());
    return $worker->stop;
}

# What the protocol of assistants costs: the same person by the tool, by the tool's REST twin, and
# by the plain look-up. Times, so that a ratio of 1.5 is half as dear again.
sub tool {
    my ($part) = @_;
    _stack();
    for my $case (
        ['MCP get_user beside GET user (s a request)', 'modern', $any_user, 1.5],
        ['the same in revision 2025-11-25', '2025-11-25', $any_user],
        ['MCP get_user beside GET user/details', 'modern',
            '/v1/api/user/details?user=user{u}%40nordic.example'],
    ) {
        my ($name, $era, $target, $limit) = @$case;
        my $mcp  = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'), era => $era);
        my $call = $mcp->message('tools/call',
            { name => 'get_user', arguments => { user => 'user{u}@nordic.example' } });
        my $pairs = _beside(\&_pause,
            sub { load($stack, 16, POST => $mcp->{path}, body => json_text($call),
                headers => { @{ $mcp->headers($call) } }) },
            sub { load($stack, 16, GET => $target) });
        $part->ratio($name, $pairs, limit => $limit, most => 1);
    }
    return;
}

# In the background: connections that POST without pause.
sub _posting {
    my ($connections, $seconds) = @_;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    my $figures = eval { load($stack, $connections, POST => '/v1/api/user', key => 'full',
        seconds => $seconds,
        body => '{"firstname":"Load","surname":"Person{n}","date":"2031-06-01"}') };
    POSIX::_exit(!$figures || $figures->{errors} || !$figures->{requests} ? 1 : 0);
}

sub mixed {
    my ($part) = @_;
    _stack();
    my @pairs;
    for my $round (0 .. $rounds) {
        my $alone = load($stack, 4, GET => $any_user);
        my $pid   = _posting(16, setting(SECONDS => 3) + 1);
        Time::HiRes::sleep(0.5);
        my $beside = load($stack, 4, GET => $any_user);
        waitpid $pid, 0;
        $Idadmin::Bench::errors++ if $?;
        push @pairs, [$beside->{p99}, $alone->{p99}] if $round;
    }
    return $part->ratio('GET p99 (ms) beside 16 POSTing connections, to alone', \@pairs,
        limit => 3, most => 1);
}

sub post {
    my ($part) = @_;
    _stack();
    my @pairs;
    for my $round (0 .. $rounds) {
        my $ours = load($stack, 16, POST => '/v1/api/user', key => 'full', body => '{"firstname":'
            . '"Bench","surname":"Person{n}","jobTitle":"Clerk","date":"2031-06-01"}');
        my $bare = run_command([build_dir() . '/tool/commits',
            Idadmin::Test::tempdir() . '/bare.db', setting(SECONDS => 3)]);
        die "commits: $bare->{err}" if $bare->{exit};
        push @pairs, [$ours->{rate}, $bare->{out}] if $round;
    }
    return $part->ratio('POST user (durable) beside bare commits (per s)', \@pairs, limit => 0.4);
}

1;
