# All checkpoints of the audit chain reach a webhook, in order and signed, and all of its records a
# log server over TLS, whatever happens to the receiver and to the worker. Checkpoints also reach
# the system's log, and an auditor can verify with the copies there.
use strict;
use warnings;
use utf8;
use IO::Socket::UNIX ();
use Socket qw(SOCK_DGRAM);
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Fault ();
use Idadmin::Test::LogServer ();
use Idadmin::Test::Stack;
use Idadmin::Test::Tls ();
use Idadmin::Test::Webhook ();

my ($stack, $base, $hook);
my $faster = Idadmin::Test::Fault->faster('idadmin-worker', 10,
    'The pauses between calls are as many, only shorter.');
my @time    = ('--stop-timeout', '1h');    # of the fast clock
my @tenants = qw(nordic other);

# A record more, and a checkpoint over it.
sub checkpoint {
    my ($tenant) = @_;
    my $rid = sprintf '%026d', ++our $number;
    my $dir = "$base/node$number";
    mkdir $dir;
    spew("$dir/202611210930.audit", "\x1e" . json_text({ rid => $rid, tenant => $tenant,
        at => 1_795_000_000_000 + $number, actor => 'hr', category => 'api', label => 'HR',
        action => 'user.create', target => "p$number\@x.example", outcome => 'ok',
        endpoint => 'POST /v1/api/user', parameters => '{}' }) . "\n");
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir, "$dir/202611210930.audit");
    $stack->ctl_ok('audit', 'ingest', $dir);
    $stack->ctl_ok('audit', 'export', $tenant);
}

sub rows { my ($what) = @_; return $stack->sql("SELECT $what") }
sub kept { my ($where) = @_; return join ' ', map {"$_->[0]/$_->[1]"} rows('tenant_id, number FROM '
    . 'audit.checkpoint' . ($where ? " WHERE $where" : '') . ' ORDER BY tenant_id, number') }
sub untold { return (rows('count(*) FROM audit.checkpoint WHERE told = 0'))[0][0] }

sub worker {
    my ($url, @options) = @_;
    my $worker = $stack->new_worker(env => $faster->env, options => [@time, '--audit-webhook', $url,
        '--audit-webhook-secret-file', $hook->secret, @options]);
    $worker->expect_log(qr/IDA0315/);    # there is no directory
    return $worker;
}

# What the receiver has of each company, a repeated call once, in the order of arrival.
sub received {
    my %seen;
    return grep { !$seen{ $_->{headers}{'webhook-id'} }++ } $hook->calls;
}

sub is_complete {
    my ($what) = @_;
    my @calls = received();
    my @by_tenant = map { my $tenant = $_; grep { $_->{json}{tenant} eq $tenant } @calls } @tenants;
    is(join(' ', map {"$_->{json}{tenant}/$_->{json}{number}"} @by_tenant), kept(),
        "$what: each of them, those of a company in order");
}

sub refused {
    my $start = sub { $stack->new_worker(start => 0)->run('--once', @_) };
    my @secret = ('--audit-webhook-secret-file', $hook->secret);
    my $empty = Idadmin::Test::secret_file("$base/empty", "whsec_AAAA\n");
    for my $case (
        [qr/audit_webhook: must begin with https/, '--audit-webhook', 'http://audit.example',
        @secret],
        [qr/audit_webhook: must/, '--audit-webhook', 'ftp://127.0.0.1/', @secret],
        [qr/audit_webhook needs audit_webhook_secret_file/, '--audit-webhook', $hook->url('/ok')],
        [qr/of audit_webhook, which is not set/, @secret],
        [qr/audit_webhook_secret_file \S+ must hold one to four secrets/, '--audit-webhook',
        $hook->url('/ok'), '--audit-webhook-secret-file', $empty],
        [qr/audit_siem must be HOST:PORT/, '--audit-siem', 'siem.example:https'],
        [qr/are of audit_siem, which is not set/, '--audit-siem-names', 'on'],
        [qr/audit_siem_ca_file \S+ has no certificates: \S/, '--audit-siem', 'siem.example',
        '--audit-siem-ca-file', $empty],
        [qr/audit_siem_certificate_file and audit_siem_key_file need each other/, '--audit-siem',
        '[::1]:6514', '--audit-siem-certificate-file', $empty],
        ) {
        my ($why, @options) = @$case;
        my $result = $start->(@options);
        is($result->{exit}, 1, "refused: @options");
        like($result->{err}, $why, 'and why');
    }
}

sub down_and_up {
    $hook->stop;
    my $worker = worker($hook->url('/ok?token=hidden'));
    $worker->expect_log(qr/IDA0422/);
    checkpoint($_) for qw(nordic nordic other nordic other);
    ok($worker->log_gets(qr/IDA0422/), 'the receiver is down: it is said');
    unlike($worker->log_text, qr/hidden/, 'without what may be a secret');
    is(scalar(() = $hook->calls), 0, 'nothing arrived');
    my $waiting = untold();
    cmp_ok($waiting, '>=', 5, 'they wait');
    # The pause is over when the receiver is there, and a call has all its time: one that had not
    # would be made again.
    $worker->signal('STOP');
    $faster->speed(1)->leap(400);
    $hook->start;
    $worker->signal('CONT');
    ok(within(sub { !untold() }), 'up again: all are told');
    is(scalar(() = $worker->log_text =~ /IDA0422/g), 1, 'one line for all of that');
    ok($worker->log_gets(qr/takes them again/), 'and one that it is over');
    is_complete('down and up');
    my @calls = $hook->calls;
    is(scalar(grep { !$_->{signed} } @calls), 0, 'each call is signed');
    is(scalar @calls, $waiting, 'each came once');
    $faster->speed(10);
    my ($first) = grep { $_->{json}{tenant} eq 'nordic' && $_->{json}{number} > 1 } @calls;
    my ($next) = grep { $_->{json}{tenant} eq 'nordic'
        && $_->{json}{number} > $first->{json}{number} } @calls;
    is($next->{json}{before}, $first->{headers}{'webhook-id'},
        'the ID of a call is what the next checkpoint is put behind');
    checkpoint('other');
    ok(within(sub { !untold() }), 'a new one leaves by itself');
    is($worker->stop, 0, 'ended');
}

# A receiver that takes its time, and a worker that dies in the middle, again and again.
sub killed {
    my $worker = worker($hook->url('/late'));
    $worker->stop;
    $faster->speed(1);
    checkpoint($_) for map { ('nordic', 'other', 'nordic') } 1 .. 4;
    is(untold(), 12, 'twelve wait');
    for my $round (1 .. 3) {
        my $before = $hook->calls;
        $worker->start;
        ok(within(sub { scalar $hook->calls > $before }), 'a call is under way');
        $worker->kill9;
    }
    checkpoint('nordic') if !untold();    # a busy machine may have kept us from looking
    cmp_ok(untold(), '>', 0, 'killed three times before the last');
    $worker->start;
    ok(within(sub { !untold() }), 'the next worker tells the rest');
    is_complete('killed');
    cmp_ok(scalar $hook->calls, '<=', scalar(received()) + 3, 'at most one call twice a death');
    $faster->speed(10);
    is($worker->stop, 0, 'ended');
}

# One that refuses does not lose them, and TLS under an authority of one's own.
sub refusing {
    $faster->speed(1);
    my $worker = worker($hook->url('/busy/2/503'));
    checkpoint('nordic');
    ok(within(sub { !untold() }), 'taken at the third call');
    is(scalar(grep { $_->{path} =~ /busy/ } $hook->calls), 3, 'three calls');
    $worker->stop;
    $worker = worker($hook->tls_url('/ok'), '--audit-webhook-ca-file',
        Idadmin::Test::Tls::files()->{ca});
    checkpoint('other');
    ok(within(sub { !untold() }), 'over TLS');
    $worker->stop;
    $faster->speed(10);
    is_complete('refusing');
}

# The auditor has nothing but what arrived.
sub verified {
    my $file = "$base/arrived";
    my $public = $stack->ctl('audit', 'public-key')->{out} =~ s/\n//r;
    spew($file, join '', map {"$_->{body}\n"} received());
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $file);
    my @how = ('--checkpoints', $file, '--key', $public);
    for my $tenant (@tenants) {
        my $result = $stack->ctl('audit', 'verify', $tenant, @how);
        is($result->{exit}, 0, "$tenant is whole by what arrived") or diag $result->{err};
    }
    $stack->sql("DELETE FROM audit.checkpoint WHERE tenant_id = 'other';"
        . "UPDATE audit.record SET outcome = 'no' WHERE tenant_id = 'other' AND seq = 1");
    isnt($stack->ctl('audit', 'verify', 'other', @how)->{exit}, 0, 'and tells what was done since');
}

# So many records of a company, at once.
sub records {
    my ($tenant, $count) = @_;
    my $dir = "$base/node" . ++our $number;
    mkdir $dir;
    spew("$dir/202611210930.audit", join '', map { "\x1e" . json_text({
        rid => sprintf('%020d%06d', $number, $_), tenant => $tenant, actor => 'hr',
        at => 1000 * (time - 7200) + $number, category => 'api', label => 'HR system',
        action => 'user.create', target => "person$_\@x.example", outcome => 'ok',
        endpoint => 'POST /v1/api/user', parameters => '{"firstname":"Anna"}', address => '::1',
        correlation => "portal-$number-$_" }) . "\n" } 1 .. $count);
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir, "$dir/202611210930.audit");
    $stack->ctl_ok('audit', 'ingest', $dir);
}

sub behind { return (rows('sum(c.seq - COALESCE(f.seq, 0)) FROM audit.chain c LEFT JOIN '
    . 'audit.forwarded f ON f.tenant_id = c.tenant_id'))[0][0] }

# Each record of each company, repetitions left out: in order, as the chain has it.
sub log_is_complete {
    my ($server, $what) = @_;
    my (%seen, %got);
    for my $line ($server->lines) {
        push @{ $got{ $line->{company} // $line->{text} } }, "$line->{number} $line->{hash}"
            if !$seen{"$line->{company} $line->{number}"}++;
    }
    my %want;
    push @{ $want{ $_->[0] } }, "$_->[1] $_->[2]"
        for rows('tenant_id, seq, hash FROM audit.record ORDER BY tenant_id, seq');
    is_deeply(\%got, \%want, "$what: every record, in the order of the chain");
}

sub log_server {
    my $tls    = Idadmin::Test::Tls::files();
    my $server = Idadmin::Test::LogServer->new($tls);
    my $begin  = sub {
        my $worker = $stack->new_worker(env => $faster->env, options => [@time, '--audit-siem',
            $server->address, '--audit-siem-ca-file', $tls->{ca}, @_]);
        $worker->expect_log(qr/IDA0315/);
        return $worker;
    };
    my $worker = $begin->();
    $worker->expect_log(qr/IDA0425/);
    records('nordic', 250);
    records('other', 30);
    ok($worker->log_gets(qr/IDA0425.* 127\.0\.0\.1:\d+ .*: Connection refused/),
        'no server: it is said');
    cmp_ok(behind(), '>=', 280, 'and they wait');
    spew("$base/siem.conf", 'audit_siem = ' . $server->address . "\n");
    my (undef, undef, @options) = $stack->ctl_options;
    my $later = Idadmin::Test::Fault->new('idadminctl');
    my $ctl = sub { run_command([Idadmin::Test::program('idadminctl'), @_, '--config',
        "$base/siem.conf", @options], user => Idadmin::Test::runtime_user(),
        env => $later->env)->{out} };
    my $backlog = json_data($ctl->('status', '--json'))->{auditBacklog};
    is("$backlog->{server} $backlog->{records}", $server->address . ' ' . behind(),
        'as status tells');
    like($ctl->('status'), qr/^Log server \S+: \d+ audit records wait, the /m,
        'people too');
    $later->step(3600);    # which of the records is the first in line does not matter then
    my ($reason) = grep { $_->{kind} eq 'auditBacklog' }
        @{ json_data($ctl->('health', '--json'))->{reasons} };
    like($reason->{text}, qr/audit records wait for the log server/, 'and health');
    $later->step(0);
    $server->start;
    ok(within(sub { !behind() }), 'a server: it gets all');
    ok($worker->log_gets(qr/takes audit records again/), 'which is said');
    like($ctl->('status'), qr/^Log server \S+: no audit record waits/m, 'nothing waits');
    log_is_complete($server, 'down and up');

    my $all = $server->lines;
    for my $mode (qw(deaf reset lost)) {
        $server->mode($mode);
        records($_, 120) for @tenants;
        my $ended = $server->ended($mode);
        ok(within(sub { $server->ended($mode) > $ended + 1 }), "$mode: tried again and again");
        cmp_ok(behind(), '>=', 240, "$mode: nothing counts as taken");
        $server->mode('ok');
        ok(within(sub { !behind() }), "$mode: then all are taken");
        log_is_complete($server, $mode);
    }
    cmp_ok(scalar(my @came = $server->lines), '>', $all + 720, 'what was in doubt came again');

    $server->stop->start(Idadmin::Test::Tls::certificate('elsewhere', '/CN=x', 'DNS:x.example'));
    records('nordic', 5);
    ok($worker->log_gets(qr/IDA0425.*certificate is not trusted: .*mismatch/),
        'a name that is not its own');
    cmp_ok(behind(), '>=', 5, 'gets nothing');
    $server->stop->start($tls);
    ok(within(sub { !behind() }), 'its own certificate again');

    $server->mode('slow');
    for my $round (1 .. 3) {
        my $ended = $server->ended('slow');
        records($_, 150) for @tenants;
        ok(within(sub { $server->ended('slow') > $ended }), 'under way');
        $worker->kill9;
        $stack->sql('UPDATE audit.forwarded SET until = 0');    # 15 s later
        $worker->start;
    }
    ok(within(sub { !behind() }), 'killed three times: all were taken');
    log_is_complete($server, 'killed');

    my ($line) = grep { ($_->{correlation} // '') =~ /^portal-/ }
        $server->lines;
    is("$line->{pri} $line->{msgid} $line->{json}{id}", "109 user.create $line->{number}",
        'a notice of the log audit facility');
    unlike(join('', map { $_->{text} } $server->lines), qr/person\d|Anna|::1/, 'names nobody');
    like($line->{json}{target}, qr/^~[0-9a-f]{32}$/, 'but by a hash');
    is($line->{json}{actor}, 'hr', 'a program by its name');
    is($line->{json}{correlationId}, $line->{correlation}, 'and the request');
    my ($person) = $line->{correlation} =~ /-(\d+)$/;
    is($stack->ctl('audit', 'pseudonym', $line->{company}, "PERSON$person\@x.example")->{out},
        "$line->{json}{target}\n", 'which idadminctl makes of the name');
    is(scalar(grep { ($_->{json}{target} // '') eq $line->{json}{target}
        && $_->{correlation} !~ /-$person$/ } $server->lines), 0, 'which is that of one person');
    $worker->stop;
    $server->mode('ok');
    $worker = $begin->('--audit-siem-names', 'on');
    records('nordic', 1);
    ok(within(sub { !behind() }), 'with names');
    my ($last) = reverse $server->lines;
    is("$last->{json}{target} $last->{json}{address} $last->{json}{parameters}",
        'person1@x.example ::1 {"firstname":"Anna"}', 'with all that the record has');
    $worker->stop;
    $server->stop;
}

# A command that has a /dev of its own, with the log of a test in it; without what a run preloads,
# which would look for its memory there.
my $own_dev = 'unset LD_PRELOAD; '
    . 'for d in null zero urandom; do : >"$0/$d"; mount --bind "/dev/$d" "$0/$d"; done; '
    . 'mount --rbind "$0" /dev; exec setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"';

# The system's log takes them too, by default where one listens. Where it must be and none listens
# they wait, and it is said.
sub system_log {
    my $may = $> == 0 && !run_command(['unshare', '-m', 'true'])->{exit};
    return diag 'no mount namespace may be made here: the system\'s log is not tried' if !$may;
    my $dev = "$base/dev";
    mkdir $dev;
    my $set = sub { spew("$base/log.conf", $_[0] ? "audit_syslog = $_[0]\n" : '') };
    my (undef, undef, @options) = $stack->ctl_options;
    my $export = sub {
        return run_command(['unshare', '-m', 'bash', '-c', $own_dev, $dev,
            Idadmin::Test::runtime_user(), Idadmin::Test::program('idadminctl'), 'audit',
            'export', 'nordic', '--config', "$base/log.conf", @options]);
    };
    my $unsent = sub { (rows('count(*) FROM audit.checkpoint WHERE sent = 0'))[0][0] };
    checkpoint('nordic');
    my $waiting = $unsent->();
    cmp_ok $waiting, '>', 0, 'checkpoints wait for a place';
    $set->('on');
    like $export->()->{err}, qr{/dev/log: No such file}, 'without a listener it is reported';
    $set->();
    is $export->()->{err}, '', 'by default it is not';
    cmp_ok $unsent->(), '>=', $waiting, 'and they wait';
    my $log = IO::Socket::UNIX->new(Local => "$dev/log", Type => SOCK_DGRAM) or die "log: $!\n";
    chmod 0777, "$dev/log";
    $set->('off');
    is $export->()->{err}, '', 'switched off';
    cmp_ok $unsent->(), '>=', $waiting, 'they wait although the log listens';
    $set->();
    # It reads while they come, as few fit into a socket, until the exporter has said the last.
    my ($result, $lines) = in_parallel(2, sub {
        my ($reads) = @_;
        if (!$reads) {
            my $result = eval { $export->() };
            my $last = IO::Socket::UNIX->new(Peer => "$dev/log", Type => SOCK_DGRAM);
            $last->send('end');
            return $result // die $@;
        }
        my @lines;
        while (defined $log->recv(my $line, 8192)) {
            return \@lines if $line eq 'end';
            push @lines, $line;
        }
        die "the log: $!\n";
    });
    my @lines = @$lines;
    is $result->{err}, '', 'with a listener';
    is $unsent->(), 0, 'all have left by default';
    $set->('on');
    checkpoint('nordic');
    is $export->()->{err}, '', 'switched on';
    is $unsent->(), 0, 'they leave as well';
    push @lines, $_ while defined $log->recv($_, 8192, Socket::MSG_DONTWAIT()) && length;
    is scalar @lines, (rows('count(*) FROM audit.checkpoint'))[0][0], 'each is a line of the log';
    is scalar(grep {/^<85>.* idadminctl: idadmin audit checkpoint \{"/} @lines), @lines,
        'with facility, level and name';
    spew("$base/logged", join '', map {s/.*? checkpoint (?=\{)//r . "\n"} @lines);
    my $public = $stack->ctl('audit', 'public-key')->{out} =~ s/\n//r;
    is $stack->ctl('audit', 'verify', $_, '--checkpoints', "$base/logged", '--key', $public)
        ->{exit}, 0, "$_ is whole by what the log has" for @tenants;
}

on_one_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => 0, httpd => 0, worker => 0,
        tenant => 0);
    $base = $stack->{base};
    $hook = Idadmin::Test::Webhook->new;
    $stack->apply_tenant($stack->tenant_document(companyId => $_, upnDomain => "$_.example",
        emailDomain => "$_.example")) for @tenants;
    refused();
    down_and_up();
    killed();
    refusing();
    system_log();
    log_server();
    verified();
    $hook->stop;
} 'Calls are the subject. t/ops/10-tampered-audit.t writes and reads checkpoints on both engines.';
done_testing();
