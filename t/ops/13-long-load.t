# Under every kind of caller at once, while the directory is unavailable, the store is locked by
# others and processes are killed, a request fails only if a fault explains it. Accepted changes are
# done once, each request has its record, and memory does not grow.
# Parameters: requests, how many at least on each engine (from 200000 on memory is judged); minutes,
# the time over which they are spread.
use strict;
use warnings;
use Fcntl qw(LOCK_EX);
use Idadmin::Test;
use Idadmin::Test::Load ();
use Idadmin::Test::Mcp ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack;
use Test::More;
use Time::HiRes qw(sleep);

plan(skip_all => Idadmin::Test::Load->skip_reason) if Idadmin::Test::Load->skip_reason;
my $requests = parameter(requests => 0);
my $minutes  = parameter(minutes => 0);
my $judged   = $requests >= 200_000;
my $seconds  = $judged ? 10 : 0.8;    # of a window; every second one has a fault
my $users    = 500;
my $domain   = $Idadmin::Test::Slapd::domain;
my ($stack, @hired, $untold, %answered);

# Kind -> [connections, expected status, key, method, target, body]
my %kinds = (
    look_up   => [3, 200, reader => GET => "/v1/api/user?userPrincipalName=user{u}%40$domain"],
    search    => [1, 200, reader => GET => '/v1/api/users?query=user1&limit=5'],
    details   => [1, 200, reader => GET => "/v1/api/user/details?user=user{u}%40$domain"],
    tasks     => [1, 200, writer => GET => '/v1/api/tasks?limit=5'],
    write     => [1, 200, writer => POST => '/v1/api/user', { firstname => 'Late',
        surname => 'Joiner{n}', date => '2030-01-02' }],
    not_there => [1, 404, reader => GET => "/v1/api/user?userPrincipalName=none{n}%40$domain"],
    wrong     => [1, 400, writer => POST => '/v1/api/user', { firstname => 'Half' }],
    forbidden => [1, 403, reader => POST => '/v1/api/user', { firstname => 'A', surname => 'B' }],
);
my %tools = (get_user => { user => "user{u}\@$domain" }, search_users => { query => 'user2' },
    get_user_access => { user => "user{u}\@$domain" });

# { kind => { status => count } } of all kinds for one window, with so many times their connections;
# and how many seconds the fault lasted.
sub window {
    my ($fault, $seconds, $times) = @_;
    my @jobs;
    for my $kind (sort keys %kinds) {
        my ($connections, undef, $key, $method, $target, $body) = @{ $kinds{$kind} };
        push @jobs, [$kind, $connections * $times, $method, $target, $body ? json_text($body) : '',
            { $stack->headers($key), $body ? ('Content-Type' => 'application/json') : () }];
    }
    for my $tool (sort keys %tools) {
        my $mcp  = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('reader'));
        my $call = $mcp->message('tools/call', { name => $tool, arguments => $tools{$tool} });
        push @jobs, [$tool, $times, POST => $mcp->{path}, json_text($call),
            { @{ $mcp->headers($call) } }];
    }
    my @counts = in_parallel(@jobs + 1, sub {
        my ($index) = @_;
        if ($index == @jobs) {
            sleep $seconds / 4;
            my $begun = Time::HiRes::time();
            $fault->();
            return Time::HiRes::time() - $begun;
        }
        my (undef, $connections, $method, $target, $body, $headers) = @{ $jobs[$index] };
        return Idadmin::Test::Load->run($stack->httpd->port, $connections, $seconds, $method,
            $target, body => $body, headers => $headers, users => $users)->{statuses};
    });
    return ({ map { ($jobs[$_][0] => $counts[$_]) } 0 .. $#jobs }, $counts[@jobs]);
}

# A person who begins now: the worker executes it meanwhile.
sub hire {
    our $number++;
    my $name = join '', map { chr 97 + $_ } map { int($number / 26**$_) % 26 } 0 .. 3;
    my $answer = eval { $stack->post('/v1/api/user', { firstname => 'Soon', surname => "X$name" },
        client => $stack->httpd->client) };
    if (!$answer) { $untold++ }
    elsif ($answer->{status} == 200) { push @hired, $answer->{json}{data}{taskId} }
}

# -- faults: what happens, and the statuses that it explains (0: a broken connection). A fault is
# over before its window, because a request that is not answered in the window is not judged. The
# store may be kept from others for less than they have patience.

sub keep_the_store {
    if ($stack->{postgresql}) {
        $stack->sql('BEGIN; LOCK TABLE task IN EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT');
        return;
    }
    open my $gate, '+<', glob("$stack->{base}/lib/idadmin.db.gate") or die "the gate: $!\n";
    flock $gate, LOCK_EX or die "flock: $!\n";
    sleep 2;
}

sub cut_the_store {
    $stack->{postgresql} and $stack->sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
        . 'WHERE datname = current_database() AND usename IS NOT NULL AND pid <> pg_backend_pid()');
}

# A process one of whose connections is cut while it is being made leaves the store alone for a
# second, and then makes one at a time until one is there: by its own word, which comes before the
# answer. Those that do so now.
sub leave_the_store_alone {
    my %alone;
    my $log = slurp($stack->httpd->error_log);
    $alone{"$1 $2"} = !$3 while $log
        =~ /\[pid (\d+)[^\]]*\] (?:IDA0110: )?store \((\w+) connection\): (reachable again)?/g;
    return grep { $alone{$_} && /^(\d+)/ && -e "/proc/$1" } sort keys %alone;
}

my @early = (
    ['a child of httpd is killed', sub { $stack->httpd->kill_child }, 0],
    ['a graceful restart', sub { kill USR1 => $stack->httpd->pid; sleep 1 }, 0],
);
my @faults = (
    ['the directory stops for a while',
        sub { $stack->slapd->freeze; sleep $seconds / 2; $stack->slapd->thaw }],
    ['the store is kept by another', \&keep_the_store],
    ['connections to the store are cut', \&cut_the_store, 503],
);

# -- private memory, in kB. It is judged once each thread has what it keeps: connections, blocks of
# each size. In a million requests the heap stays as it is, to the piece; stacks and pools of the
# many threads still come upon what takes more of them than before: some 3 % of a child.

sub warm_up {
    $stack->slapd->freeze;
    hire() for 1 .. 40;
    sleep 2;
    $stack->slapd->thaw;
}

sub measure {
    return map { Idadmin::Test::own_memory(@$_) }
        [$stack->httpd->children], [$stack->worker->working];
}

sub largest { my ($which, @of) = @_;
    my ($most) = sort { $b <=> $a } map { $_->[$which] } @of;
    return $most }

for_each_engine {
    my ($engine) = @_;
    (@hired, %answered) = ();
    $untold = 0;
    $stack = Idadmin::Test::Stack->new(engine => $engine,
        slapd => { users => $users, nosync => 1 }, tenant => {},
        httpd => { children => 2, rate_limits => { key => '1000000/60s' },
            env => { MALLOC_ARENA_MAX => 2 } },    # doc/install.md advises it
        keys => { writer => ['load-writer', 'full', '--rate-limit', '1000000/60s'],
            reader => ['load-reader', 'read-only', '--rate-limit', '1000000/60s'] });
    # much to ingest; what the faults themselves are
    $stack->httpd->expect_log(qr/IDA0105/, qr/exit signal Killed|AH00493|AH00489|AH00094|AH10159/,
        qr/IDA01(?:0[12]|2[012])/);
    # libpq's own line, when a connection is cut that it has made and not handed over yet
    $stack->httpd->expect_log(qr/^FATAL:\s+terminating connection due to administrator command/);
    $_->expect_log(Idadmin::Test::store_needed()) for $stack->httpd, $stack->worker;
    $stack->worker->expect_log(qr/IDA01(?:0[125]|10|2[012])|IDA031[59]|IDA032[134]|IDA0335/,
        qr/IDA050[35]|IDA060[12]/);
    my ($total, $start, @memory, @unexplained) = (0, Time::HiRes::time());
    for (my $n = 0; $n < 10 || $total < $requests || $judged && @memory < 9; $n++) {
        my $begun = $n < 4 ? \@early : \@faults;
        my ($name, $fault, @explains) = $n % 2 ? @{ $begun->[($n - 1) / 2 % @$begun] }
            : ('nothing', sub { });
        my $warms = $judged && $n >= 4 && $n < 8;
        if   ($warms) { warm_up() }
        else          { hire() for 1 .. 2 }
        push @explains, 503 if leave_the_store_alone();
        my $length = $judged ? $seconds : $fault == \&keep_the_store ? 3
            : $n % 2 ? $seconds : $seconds / 3;
        my ($seen, $lasted) = window($fault, $length, $warms ? 5 : 1);
        push @explains, 503 if $fault == \&keep_the_store && $lasted > 4;    # a busy machine
        push @explains, 0 if $warms;    # a child with all threads busy closes what waits
        for my $kind (keys %$seen) {
            my %explained = map { ($_ => 1) } $kinds{$kind} ? $kinds{$kind}[1] : 200, @explains;
            while (my ($status, $count) = each %{ $seen->{$kind} }) {
                $total += $count;
                $answered{$status} += $count;
                push @unexplained, "$name: $kind: $count x $status" if !$explained{$status};
            }
        }
        if ($n == 1) {
            $stack->worker->kill9;
            $stack->worker->start;
        }
        push @memory, [measure()] if $begun == \@faults && !$warms;
        my $early = $minutes && $start + $minutes * 60 * $total / $requests - Time::HiRes::time();
        sleep $early if $early > 0;
    }
    diag "$engine: ", join ', ', map {"$answered{$_} x $_"} sort keys %answered;
    is_deeply \@unexplained, [], "of $total requests each that failed is explained";
    my @states = map { eval { $stack->wait_task($_) }; $stack->task($_)->{state} }
        @hired;
    is_deeply [grep { $_ ne 'done' } @states], [], scalar(@hired) . ' hires are done';
    my @there = $stack->slapd->search('(givenName=Soon)');
    cmp_ok scalar @there, '>=', @hired, 'in the directory';
    cmp_ok scalar @there, '<=', @hired + $untold, 'once';
    my $written = $answered{200} + $answered{404} + $answered{400} + $answered{403};
    my $recorded = sub { ($stack->sql("SELECT count(*) FROM audit.record WHERE category = 'api'"))
        [0][0] };
    ok within(sub { $recorded->() >= $written }),
        'each answered request is on record' or diag $recorded->(), " of $written";
    my $verified = $stack->ctl('audit', 'verify', 'nordic');
    is $verified->{exit}, 0, 'the audit chain is whole'
        or diag $verified->{out}, $verified->{err};
    note 'kB of a child and of the worker: ', join ' ', map { sprintf '%d/%d', @$_ } @memory;
    if (@memory >= 6) {
        my $third = @memory / 3;
        my @first = @memory[0 .. $third - 1];
        my @last  = @memory[@memory - $third .. $#memory];
        for my $who ([0, 'a child of httpd'], [1, 'the worker']) {
            my ($before, $after) = map { largest($who->[0], @$_) } \@first, \@last;
            diag sprintf '%s: %s has %d kB, then %d kB', $engine, $who->[1], $before, $after;
            cmp_ok $after, '<=', $before * 1.05, "$who->[1] holds no more than before" if $judged;
        }
    }
    $stack->stop;
};

done_testing();
