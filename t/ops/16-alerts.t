# A real Prometheus scrapes two nodes: it accepts the shipped rules, each of them fires when its
# matter is provoked and none before, and the queries of the Grafana board are answered.
use strict;
use warnings;
use utf8;
use HTTP::Tiny ();
use Test::More;
use Idadmin::Test qw(free_port json_data slurp spew src_dir tempdir within);
use Idadmin::Test::Httpd ();
use Idadmin::Test::Stack qw(for_each_stack);

my ($prometheus) = grep { -x } map {"$_/prometheus"} split /:/, $ENV{PATH};
plan(skip_all => 'prometheus is not installed (Debian: prometheus)') if !$prometheus;

my $locations = <<'CONF';
<Location "/metrics">
    SetHandler idadmin-metrics
    Require local
</Location>
CONF
my ($stack, $url);

# Without the pauses in which people are spared an alert that ends by itself.
sub rules {
    my $text = slurp(src_dir() . '/conf/idadmin-alerts.yml');
    my @names = $text =~ /^\s+- alert: (\w+)$/mg;
    $text =~ s/^\s+for: .*\n//mg;
    $text =~ s/age_seconds\) > 60/age_seconds) > 25/ or die 'no age of the figures';
    return ($text, @names);
}

sub start {
    my ($text, @ports) = @_;
    my $port = free_port();
    my $dir  = tempdir() . "/prometheus$port";
    mkdir $dir or die $!;
    spew("$dir/rules.yml", $text);
    spew("$dir/prometheus.yml", <<"YML");
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: idadmin
    static_configs: [{targets: [@{[ join ', ', map {"'127.0.0.1:$_'"} @ports ]}]}]
YML
    $url = "http://127.0.0.1:$port";
    return Idadmin::Test::daemon([$prometheus, "--config.file=$dir/prometheus.yml",
        "--storage.tsdb.path=$dir/data", "--web.listen-address=127.0.0.1:$port"],
        log => "$dir/log");
}

sub api {
    my ($path) = @_;
    my $answer = HTTP::Tiny->new->get("$url/api/v1/$path");
    return $answer->{status} == 200 ? json_data($answer->{content})->{data} : undef;
}
sub query {
    my ($text) = @_;
    my $found = api('query?' . HTTP::Tiny->new->www_form_urlencode({ query => $text }));
    my @rows = $found ? @{ $found->{result} } : ();
    return @rows;
}
sub firing { my %seen = map { $_->{labels}{alertname} => 1 } grep { $_->{state} eq 'firing' }
    @{ (api('alerts') // {})->{alerts} // [] };
    return sort keys %seen }
sub fires { my ($name, $matter) = @_;
    ok(within(sub { grep { $_ eq $name } firing() }), "$name: $matter")
        or diag join ' ', firing(), map { join " ", map { $_ // "-" } @$_ }
            $stack->sql('SELECT type, state, due_at, error FROM task') }

sub calm {
    $stack->wait_task($stack->post('/v1/api/user', { firstname => 'First',
        surname => 'Hire' })->{json}{data}{taskId});
    ok(within(sub { query('up == 1') == 2 }), 'both nodes are scraped');
    ok(within(sub { query('idadmin_task_lateness_seconds{type="userCreate"}') == 2 }),
        'each with the figures of its worker');
    my @errors;    # a busy machine may let Prometheus wait for more than its second
    within(sub { my $targets = api('targets') // {};
        @errors = map { $_->{lastError} } @{ $targets->{activeTargets} // [] };
        "@errors" eq ' ' });
    is_deeply(\@errors, ['', ''], 'without error');
    ok(within(sub { !firing() }), 'nothing fires') or diag join ' ', firing();
}

sub board {
    my $board = json_data(slurp(src_dir() . '/conf/idadmin-grafana.json'));
    my @queries = map { map { $_->{expr} } @{ $_->{targets} } } @{ $board->{panels} };
    cmp_ok(scalar @queries, '>', 15, 'there are queries');
    my @empty;
    within(sub {
        @empty = grep { !/expiry_days/ && !query($_) } @queries;
        return !@empty;
    });
    is_deeply(\@empty, [], 'each is answered');
}

sub provoke {
    my ($second, $worker) = @_;
    my $hire = sub { $stack->post('/v1/api/user', { firstname => 'Late', surname => $_[0],
        @_[1 .. $#_] })->{json}{data}{taskId} };
    my $failed = $hire->(Fallen => date => '2031-01-02');
    $stack->sql("UPDATE task SET state = 'failed', started_at = 5 WHERE id = '$failed'");
    fires(IdadminQueueStuck => 'a failed task');
    $stack->sql("INSERT INTO directory_state (tenant_id, directory, hold_reason, hold_since, "
        . "hold_until, hold_failures) VALUES ('nordic', 'onPremises', 'silent', 1795253400000, "
        . "4102444800000, 1) ON CONFLICT (tenant_id, directory) DO UPDATE SET "
        . "hold_reason = 'silent', hold_since = 1795253400000, hold_until = 4102444800000");
    fires(IdadminDirectoryHeld => 'a held directory');
    my $late   = $hire->('Comer');
    my $leaver = $stack->delete('/v1/api/user',
        { userPrincipalName => 'bo.ek@' . $stack->domain, time => '00:00' })->{json}{data}{taskId};
    $stack->sql("UPDATE task SET created_at = 1, due_at = 1 WHERE id IN ('$late', '$leaver')");
    fires(IdadminHireLate => 'a hire that waits for it');
    fires(IdadminLeaverLate => 'and an offboarding');
    $stack->sql('UPDATE cache.sync_state SET completed_at = completed_at - 7200000');
    fires(IdadminSyncOld => 'an old synchronisation');
    my @t = gmtime(time + 5 * 86_400);
    $_->expect_log(qr/IDA0604|IDA0322|IDA0605|IDA0423|IDA0315/) for $stack->worker, $worker;
    $stack->create_key(soon => 'soon', 'full', '--expires',
        sprintf '%04d-%02d-%02d', $t[5] + 1900, $t[4] + 1, $t[3]);
    fires(IdadminExpiry => 'a key that ends soon');
    $stack->ctl_ok('tenant', 'pause', 'nordic');
    fires(IdadminCompanyPaused => 'a company that is paused');
    $stack->ctl_ok('tenant', 'resume', 'nordic');
    $stack->sql("INSERT INTO audit.verified (tenant_id, broken_at) VALUES ('nordic', 7) "
        . 'ON CONFLICT (tenant_id) DO UPDATE SET broken_at = 7');
    fires(IdadminChainBroken => 'a broken chain');
    $worker->expect_log(qr/IDA04(?:15|20)/);
    $stack->apply_tenant($stack->tenant_document(companyId => 'other'));
    fires(IdadminCompaniesNotListed => 'a company more than is listed');
    $worker->stop;
    spew("$second->{spool}/202611210930.audit", "\x1e{}\n");
    fires(IdadminSpoolWaits => 'a spool that no worker reads');
    chmod 0555, $second->{spool} or die $!;
    fires(IdadminNotReady => 'a spool that cannot be written');
    fires(IdadminWorkerAway => 'a worker that is gone');
}

for_each_stack {
    ($stack) = @_;
    my $spool = Idadmin::Test::make_layout(spool => "$stack->{base}/second");
    my $second = Idadmin::Test::Httpd->new(store => $stack->{stores}{web},
        spool => "$stack->{base}/second", server => $locations,
        $stack->{seal_key} ? (seal_key => $stack->{seal_key}) : ());
    my $worker = $stack->new_worker(spool => "$stack->{base}/second",
        options => ['--metrics-companies', 1]);
    my ($text, @names) = rules();
    my $daemon = start($text, $stack->httpd->port, $second->port);
    subtest 'calm' => \&calm;
    subtest 'the board' => \&board;
    subtest 'each alert' => sub { provoke($second, $worker) };
    my @fire;
    my @all = sort grep { !/Paused/ } @names;
    within(sub { @fire = grep { !/Paused/ } firing(); "@fire" eq "@all" });
    is_deeply(\@fire, \@all, 'that is all of them, but for the pause that has ended');
    Idadmin::Test::stop_daemon($daemon);
    $second->stop;
} httpd => { server => $locations }, worker => { options => ['--metrics-companies', 1] },
    one_engine => 'the same figures are compared on both engines by t/ops/15-watch.t';
done_testing();
