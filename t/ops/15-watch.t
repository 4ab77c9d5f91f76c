# Monitoring learns the truth: /live and /ready, "idadminctl health" with its exit status, and the
# metrics of httpd and worker, which are spelled as Prometheus wants them.
use strict;
use warnings;
use utf8;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(run_command slurp spew within);
use Idadmin::Test::Stack qw(for_each_stack);

my $locations = <<'CONF';
<Location "/health">
    SetHandler idadmin-health
    Require all granted
</Location>
<Location "/metrics">
    SetHandler idadmin-metrics
    Require local
</Location>
<Location "/server-status">
    SetHandler server-status
    Require local
</Location>
CONF
my ($stack, $httpd);

sub ask { my ($path, %how) = @_; return $httpd->client->request($how{method} // 'GET', $path,
    headers => $how{headers} // []) }
sub ready { return ask('/health/ready')->{json} }
sub metrics { return ask('/metrics', headers => [Accept => $_[0] // '*/*'])->{body} }

# The value of a sample: its name, and each of the labels.
sub value {
    my ($name, %labels) = @_;
    for my $line (grep {/^\Q$name\E[{ ]/} split /\n/, metrics()) {
        next if grep { $line !~ /[{,]$_="\Q$labels{$_}\E"/ } keys %labels;
        return $line =~ / (\S+)$/ ? $1 : undef;
    }
    return;
}
sub becomes { my ($wanted, $name, %labels) = @_;
    ok(within(sub { (value($name, %labels) // 'none') eq $wanted }),
        join ' ', $name, $wanted, %labels) }

sub health {
    my ($exit, $pattern, $name) = @_;
    my $result;
    ok(within(sub { $result = $stack->ctl('health'); $result->{exit} == $exit
        && $result->{out} =~ $pattern }), $name) or diag "$result->{exit}: $result->{out}";
    is($result->{err}, '', "$name: nothing else");
    my $status = $stack->ctl('status', '--check');
    is($status->{exit}, $exit, "$name: status --check");
    like($status->{out}, $pattern, "$name: with the same reason");
    is($stack->ctl('status')->{exit}, 0, "$name: status alone is about its table");
    return $result->{out};
}

sub health_of_httpd {
    my $live = ask('/health/live');
    is($live->{status}, 200, 'live');
    is($live->{json}{status}, 'live', 'as JSON');
    is(ask('/health/live', headers => [Accept => 'text/plain'])->{body}, "live\n", 'as a word');
    my ($ready, $word);    # not while a busy machine lets the writer wait
    within(sub { $ready = ready(); $ready->{status} eq 'ready' });
    is_deeply($ready, { status => 'ready', schema => $ready->{schema},
        checks => { map { $_ => 'ok' } qw(store spool writer) } }, 'ready');
    cmp_ok($ready->{schema}, '>', 0, 'with the number of the schema');
    within(sub { $word = ask('/health/ready', headers => [Accept => 'text/plain'])->{body};
        $word eq "ready\n" });
    is($word, "ready\n", 'as a word');
    is(ask('/health')->{status}, 404, 'nothing above them');
    is(ask('/health/ready', method => 'POST')->{status}, 405, 'only read');
    ok(within(sub { ask('/health/ready', method => 'HEAD')->{status} == 200 }),
        'or asked for its status');
    ask('/health/ready') for 1 .. 20;
    $stack->ctl_ok('audit', 'ingest');
    is_deeply([$stack->sql("SELECT endpoint FROM audit.record WHERE endpoint LIKE '%health%'")],
        [], 'no record of it');

    $stack->worker->expect_log(qr/IDA0601|IDA0605/);
    chmod 0550, $stack->spool or die $!;
    ok(within(sub { ready()->{status} eq 'unready' }), 'a spool that cannot be written');
    my $unready;    # of a child that has looked again
    ok(within(sub { $unready = ask('/health/ready');
        $unready->{status} == 503 && $unready->{json}{checks}{writer} eq 'ok' }), 'is no success');
    is_deeply($unready->{json}{checks}, { store => 'ok', spool => 'failed', writer => 'ok' },
        'the check is named');
    ok(within(sub { ask('/health/ready', headers => [Accept => 'text/plain'])->{body}
        eq "unready\n" }), 'or a word');
    is(ask('/health/live')->{status}, 200, 'and httpd is still alive');
    chmod 02770, $stack->spool or die $!;
    my $good = 0;
    ok(within(sub { $good = ready()->{status} eq 'ready' ? $good + 1 : 0; $good > 20 }),
        'ready again, in every child');
}

sub metrics_of_httpd {
    # (An answer is counted after its client has it.)
    $stack->get('/v1/api/events') for 1 .. 3;
    my %events = (face => 'rest', operation => 'event.list');
    becomes(3, 'idadmin_http_requests_total', %events, status => 200);
    $stack->get('/v1/api/events', headers => { 'X-Api-Key' => 'x' });
    becomes(1, 'idadmin_http_requests_total', %events, status => 401);
    becomes(4, 'idadmin_http_request_duration_seconds_count', %events);
    becomes(4, 'idadmin_http_request_duration_seconds_bucket', %events, le => '+Inf');
    ask("/v1/api/no/such/$_") for 1 .. 3;
    unlike(metrics(), qr/such/, 'an unknown path is no label');
    becomes(1, 'idadmin_http_ready', check => $_) for qw(store spool writer);
    cmp_ok(value('idadmin_http_rate_table_used', table => 'keys'), '>', 0, 'the table of limits');
    like(metrics(), qr/^idadmin_http_build_info\{version="\d[^"]*"\} 1$/m, 'the build');
}

# The section on the page of httpd's own mod_status.
sub status_page {
    my $lines = ask('/server-status?auto')->{body};
    like($lines, qr/^IdAdmin$_$/m, $_) for 'Version: \d.*', 'Ready-(?:store|spool|writer): 1',
        'RateTableKeys: [1-9]\d*', 'RateTableSize: [1-9]\d*', 'SpoolSegments: \d+',
        'SpoolOldestSeconds: \d+', 'Requests-rest-event\.list-2xx: 3',
        'Requests-rest-event\.list-4xx: 1';
    my $page = ask('/server-status')->{body};
    my ($own) = $page =~ m{(<h2>mod_idadmin.*?</table>)}s;
    like($own, qr{<dt>writer: ok</dt>.*<tr><td>rest</td><td>event\.list</td><td>3</td><td>0</td>}s,
        'for people');
    unlike(join("\n", $own, $lines =~ /^(IdAdmin.*)/mg), qr/nordic|hr-read|127\.0\.0\.1/,
        'without company, caller, address');
}

sub metrics_of_worker {
    ok(within(sub { -e $stack->spool . '/metrics.prom' }), 'the worker writes its file');
    becomes(1, 'idadmin_workers', state => 'running');
    becomes('0.000', 'idadmin_directory_held_seconds', company => 'nordic',
        directory => 'onPremises');
    becomes(0, 'idadmin_audit_chain_broken', company => 'nordic');
    my $task = $stack->post('/v1/api/user', { firstname => 'Meter', surname => 'Gauge' });
    $stack->wait_task($task->{json}{data}{taskId});
    becomes(1, 'idadmin_worker_runs_total', type => 'userCreate', end => 'done');
    becomes(1, 'idadmin_worker_steps_total', step => 'createAccount', outcome => 'done');
    ok(within(sub { (value('idadmin_worker_directory_calls_total', class => 'ok') // 0) > 0 }),
        'calls of directories');
    cmp_ok(value('idadmin_sync_age_seconds', company => 'nordic'), '<', 10_000, 'age of the sync');
    cmp_ok(value('idadmin_store_bytes'), '>', 10_000, 'size of the store');
    cmp_ok(value('idadmin_http_worker_metrics_age_seconds'), '>=', 0, 'the age of the file');
    is(value('idadmin_companies'), 1, 'companies');
}

# One family after the other, each with its type, no sample twice: what a parser checks.
sub well_formed {
    my ($text, $name) = @_;
    my (%type, %seen, @bad, $family);
    for my $line (split /\n/, $text) {
        if ($line =~ /^# HELP (\S+) \S/) {
            push @bad, "twice: $1" if $type{$1};
            $family = $1;
        }
        elsif ($line =~ /^# TYPE (\S+) (counter|gauge|histogram)$/) {
            push @bad, "without help: $1" if $1 ne $family;
            $type{$1} = $2;
        }
        elsif ($line =~ /^([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$/) {
            my ($of, $labels, $number) = ($1, $2 // '', $3);
            push @bad, "not of $family: $line"
                if $of !~ /^\Q$family\E(?:_bucket|_sum|_count|_total)?$/;
            push @bad, "twice: $line" if $seen{"$of $labels"}++;
            push @bad, "no number: $line" if $number !~ /^-?\d+(?:\.\d+)?$/;
        }
        elsif ($line ne '# EOF') { push @bad, $line }
    }
    is_deeply(\@bad, [], $name);
    cmp_ok(scalar keys %type, '>', 25, "$name: families");
}

sub formats {
    my $classic = ask('/metrics');
    like($classic->{headers}{'content-type'}, qr{^text/plain; version=0\.0\.4}, 'classic');
    well_formed($classic->{body}, 'classic');
    like($classic->{body}, qr/^# TYPE idadmin_http_requests_total counter$/m, 'a counter');
    my $open = ask('/metrics', headers => [Accept => 'application/openmetrics-text;version=1.0.0,'
        . 'text/plain;q=0.5']);
    like($open->{headers}{'content-type'}, qr{^application/openmetrics-text; version=1\.0\.0},
        'OpenMetrics');
    well_formed($open->{body}, 'OpenMetrics');
    like($open->{body}, qr/^# TYPE idadmin_http_requests counter\n(?:.*\n)*# EOF\n\z/m,
        'with its names and its end');
    my $promtool = grep({ -x "$_/promtool" } split /:/, $ENV{PATH});
    SKIP: {
        skip 'promtool is not installed (Debian: prometheus)', 1 if !$promtool;
        my $said = run_command(['promtool', 'check', 'metrics'], stdin => $classic->{body});
        is("$said->{exit}$said->{out}$said->{err}", '0', 'promtool finds nothing')
            or diag $said->{out} . $said->{err};
    }
}

sub hold { my ($reason) = @_;
    $stack->sql("UPDATE directory_state SET hold_reason = " . ($reason ? "'$reason'" : 'NULL')
        . ', hold_since = 1795253400000, hold_until = 4102444800000, hold_failures = 1') }

sub health_of_the_service {
    like(health(0, qr/^well$/m, 'well'), qr/^well\n\z/, 'a word');
    is($stack->ctl('health', '--json')->{json}{status}, 'well', 'with --json');
    my $late = $stack->post('/v1/api/user', { firstname => 'Late', surname => 'Comer',
        date => '2031-01-02' })->{json}{data}{taskId};
    $stack->worker->stop;
    hold('It does not answer.');
    $stack->sql("UPDATE task SET created_at = 1, due_at = 1 WHERE id = '$late'");
    $stack->sql("UPDATE cache.sync_state SET completed_at = completed_at - 600000");
    my $out = health(2, qr/^down: no worker runs on this store/m, 'no worker');
    my $nordic = 'degraded: nordic:';
    like($out, qr/^$nordic a directory is on hold \(1\) since \S+: onPremises: It does not/m,
        'a held directory');
    like($out, qr/^$nordic tasks are more than 15 minutes late \(1\) since \S+: late\.comer\@/m,
        'a late hire');
    is_deeply([map { $_->{kind} } @{ $stack->ctl('health', '--json')->{json}{reasons} }],
        [qw(workerNone directoryHeld tasksLate)], 'the worst first');
    hold();
    $stack->sql("UPDATE task SET state = 'cancelled' WHERE id = '$late'");
    $stack->worker->start;
    health(0, qr/^well$/m, 'well again');
}

for_each_stack {
    ($stack) = @_;
    $httpd = $stack->httpd;
    subtest '/live and /ready' => \&health_of_httpd;
    subtest 'metrics of httpd' => \&metrics_of_httpd;
    subtest 'the page of mod_status' => \&status_page;
    subtest 'metrics of the worker' => \&metrics_of_worker;
    subtest 'two formats' => \&formats;
    subtest 'idadminctl health' => \&health_of_the_service;
    my $without = run_command([Idadmin::Test::program('idadminctl'), 'health', '--config',
        '/dev/null', '--store', 'sqlite3:/nowhere/idadmin.db']);
    is($without->{exit}, 2, 'a store that is not there');
    like($without->{out}, qr/^down: /, 'is down');
    $httpd->expect_log(qr/IDA0210|IDA0220/);
} httpd => { server => $locations };
done_testing();
