# Requests to workers in the console: to read a directory, to probe it, to verify the audit chain.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(slurp within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Console ();
use Idadmin::Test::Stack;
use Idadmin::Test::Times qw(epoch);

my ($stack, %as);
my @roles = qw(viewer operator approver key-administrator auditor administrator);
my %there = (directory => 'onPremises');

sub ask { my ($path, $arguments, $body) = @_;
    return $as{operator}->post($path, $body // {}, $arguments) }

sub report { return $as{viewer}->data('/directory/check', \%there) }

sub chain { return $as{auditor}->data('/audit/chain') }

sub rights {
    my %may = (
        'POST /directory/sync' => qr/^(?:operator|administrator)$/,
        'POST /directory/check' => qr/^(?:operator|administrator)$/,
        'GET /directory/check' => qr/^(?!approver)/,
        'GET /audit/chain' => qr/^(?:auditor|administrator)$/,
        'POST /audit/verify' => qr/^(?:auditor|administrator)$/);
    for my $call (sort keys %may) {
        my ($method, $path) = split / /, $call;
        for my $role (@roles) {
            my $status = $as{$role}->request($method, $path, $path =~ /^.directory/ ? \%there : {},
                $method eq 'POST' ? (body => {}) : ())->{status};
            is($status, $role =~ $may{$call} ? 200 : 403, "$role $call");
        }
    }
    is(ask('/directory/sync', { directory => 'cloud' })->{status}, 400, 'a directory of others');
    is(ask('/directory/check', { directory => 'x' })->{status}, 400, 'no directory');
    is(ask('/directory/sync', {})->{status}, 400, 'none named');
    is(ask('/directory/sync', \%there, { acceptDeletions => 'yes' })->{status}, 400,
        'a bad member');
}

sub synchronise {
    my $as_of = sub { $as{viewer}->data('/company')->{directories}[0]{asOf} };
    $stack->worker->stop;    # the next one knows no shorter interval
    $stack->apply_tenant({ companyId => 'nordic',
        directories => { onPremises => { syncInterval => '1h' } } });
    $stack->worker->start;
    my $asked = ask('/directory/sync', \%there)->{json}{data};
    ok($asked->{requestedAt}, 'asked for');
    ok(within(sub { epoch($as_of->()) > epoch($asked->{requestedAt}) }),
        'and read, an hour before its time');
}

# More people go than the guard allows.
sub deletions {
    my $slapd = $stack->slapd;
    $stack->worker->expect_log(qr/IDA0502/);
    $slapd->modify(join '', map { sprintf "dn: uid=user%05d,$Idadmin::Test::Slapd::people\n"
            . "changetype: delete\n\n", $_ } 1 .. 30);
    ask('/directory/sync', \%there);
    my $d;
    ok(within(sub { $d = $as{viewer}->data('/company')->{directories}[0];
        $d->{state} eq 'stopped' }), 'stopped');
    like($d->{problem}, qr/30/, 'why');
    ok($d->{since}, 'since when');
    ask('/directory/sync', \%there, { acceptDeletions => JSON::PP::true() });
    ok(within(sub { $as{viewer}->data('/company')->{directories}[0]{state} eq 'fresh' }),
        'continues when an administrator accepts');
}

sub check {
    my $asked = ask('/directory/check', \%there)->{json}{data};
    ok($asked->{requestedAt}, 'asked for');
    ok(within(sub { report()->{state} eq 'done' }), 'done');
    my $report = report();
    is($report->{requestedAt}, $asked->{requestedAt}, 'what was asked for');
    ok($report->{$_}, $_) for qw(startedAt finishedAt worker);
    is_deeply([grep { !$_->{ok} } @{ $report->{lines} }], [], 'all is well');
    my %seen = map { $_->{check} => 1 } @{ $report->{lines} };
    ok($seen{$_}, "$_ was looked at") for 'settings', 'files of secrets';
    ok(keys %seen > 5, 'with what the connector looks at');
    $stack->worker->expect_log(qr/IDA0315/);
    $stack->slapd->stop;
    ask('/directory/check', \%there);
    ok(within(sub { my $r = report();
        $r->{state} eq 'done' && $r->{requestedAt} ne $asked->{requestedAt} }), 'once more');
    my ($bad) = grep { !$_->{ok} } @{ report()->{lines} };
    like($bad->{detail}, qr/cannot connect|not reachable/, 'and what is wrong');
    $stack->slapd->start;
    # A worker that was killed in the middle.
    $stack->sql("UPDATE directory_check SET started_at = started_at - 301000, finished_at = 0, "
        . "worker = 'gone'");
    ok(within(sub { my $r = report(); $r->{state} eq 'done' && $r->{worker} ne 'gone' }),
        'an unfinished probe is taken by another worker');
}

sub whole {
    ok(within(sub { chain()->{state} eq 'whole' }), 'verified by itself');
    my $asked = $as{auditor}->post('/audit/verify', {})->{json}{data}{requestedAt};
    ok(within(sub { my $c = chain(); !$c->{requestedAt}
        && epoch($c->{verifiedAt}) > epoch($asked) }),
        'and on request');
    my $c = chain();
    is($c->{firstId}, 1, 'from the first record');
    ok($c->{verifiedTo} > 1 && $c->{verifiedTo} <= $c->{lastId}, 'to the last one then');
    is_deeply([@$c{qw(brokenAt reason)}], [undef, undef], 'nothing is wrong');
}

sub broken {
    $stack->worker->expect_log(qr/IDA0415/);
    my ($row) = $stack->sql("SELECT outcome FROM audit.record WHERE tenant_id = 'nordic'
        AND seq = 2");
    $stack->sql("UPDATE audit.record SET outcome = 'forged' WHERE tenant_id = 'nordic' "
        . 'AND seq = 2');
    is(chain()->{state}, 'whole', 'as of the last verification');
    $as{auditor}->post('/audit/verify', {});
    ok(within(sub { chain()->{state} eq 'broken' }), 'found');
    my $c = chain();
    is($c->{brokenAt}, 2, 'where');
    like($c->{reason}, qr/^Record 2 does not fit/, 'how');
    is($c->{verifiedTo}, 1, 'whole until then');
    ok((grep { /IDA0415/ } split /\n/, $stack->worker->log_text) == 1, 'and said in the log');
    $stack->sql("UPDATE audit.record SET outcome = '$row->[0]' WHERE tenant_id = 'nordic'
        AND seq = 2");
    $as{auditor}->post('/audit/verify', {});
    ok(within(sub { chain()->{state} eq 'whole' }), 'put back it is whole again');
}

sub record {
    my %seen;
    within(sub {
        %seen = map { $_->{action} => $_ } grep { $_->{outcome} eq 'ok' } map {
            @{ $as{auditor}->data('/audit', { limit => 200, actor => $_,
                includeReads => 'true' })->{items} }
        } qw(operator auditor);
        return $seen{'audit.verify'} && $seen{'directory.check'};
    });
    ok($seen{$_}, "$_ is on record") for qw(sync.request directory.check audit.verify audit.chain);
    is($seen{'directory.check'}{target}, 'onPremises', 'of which directory');
}

for_each_stack {
    ($stack) = @_;
    %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_,
        company => 'nordic') } @roles;
    subtest $_->[0] => $_->[1] for ['rights', \&rights], ['synchronise', \&synchronise],
        ['deletions', \&deletions], ['check', \&check], ['whole', \&whole], ['broken', \&broken],
        ['record', \&record];
} one_engine =>
    'unit/queue/claim and unit/audit/audit prove directories and chains on both engines',
    slapd => { users => 30 }, httpd => { console => 1, rate_limits => { person => '100000/60s' } };

subtest 'a certificate ends' => sub {
    my $cloud = Idadmin::Test::Cloud->new;
    my $stack = Idadmin::Test::Stack->new(cloud => $cloud, httpd => { console => 1 });
    my $viewer = Idadmin::Test::Console->new($stack->httpd, user => 'viewer', company => 'acme');
    my $secret = sub { return $viewer->data('/company')->{directories}[0]{secrets}[0] };
    is_deeply($secret->(), { kind => 'clientSecret', expiresAt => undef },
        'of a client secret it is unknown');
    $stack->apply_tenant({ companyId => 'acme', directories => { cloud => {
        clientSecretExpires => '2031-02-08T07:00:00Z' } } });
    ok(within(sub { $secret->()->{expiresAt} }), 'unless the document has it');
    is($secret->()->{expiresAt}, '2031-02-08T07:00:00Z', 'that');
    my $metrics = sub { slurp($stack->spool . '/metrics.prom') };
    my $figure = qr/^idadmin_client_secret_expiry_days\{company="acme",directory="cloud"\}\s(\S+)/m;
    my $days;
    within(sub { ($days) = -e $stack->spool . '/metrics.prom' ? $metrics->() =~ $figure : ();
        defined $days });
    cmp_ok(abs($days - (1_928_300_400 - time) / 86_400), '<', 0.1, 'and a metric in days');
    unlike($metrics->(), qr/^idadmin_bind_password_expiry_days\{.*"cloud"/m,
        'which is not that of a bind password');
    $stack->apply_tenant({ companyId => 'acme', directories => { cloud => {
        clientSecretFile => undef, clientSecretExpires => undef,
        certificateFile => $cloud->certificate_file } } });
    ok(within(sub { ($secret->()->{kind} // '') eq 'certificate' && $secret->()->{expiresAt} }),
        'of a certificate the worker');
    my $told = Idadmin::Test::run_command(['openssl', 'x509', '-noout', '-enddate',
        '-dateopt', 'iso_8601', '-in', $cloud->certificate])->{out}
        =~ s/^notAfter=|\n//gr =~ s/ /T/r;
    is($secret->()->{expiresAt}, $told, 'when');
    is($secret->()->{kind}, 'certificate', 'of what');
    $stack->stop;
};

done_testing;
