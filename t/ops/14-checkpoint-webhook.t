# All checkpoints of the audit chain reach a webhook, in order and signed, whatever happens to the
# receiver and to the worker. Checkpoints and, where that is wished, all records reach the system's
# log, and an auditor can verify with the copies there.
use strict;
use warnings;
use utf8;
use IO::Socket::UNIX ();
use Socket qw(SOCK_DGRAM);
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Fault ();
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

# A command that has a /dev of its own, with the log of a test in it; without what a run preloads,
# which would look for its memory there.
my $own_dev = 'unset LD_PRELOAD; '
    . 'for d in null zero urandom; do : >"$0/$d"; mount --bind "/dev/$d" "$0/$d"; done; '
    . 'mount --rbind "$0" /dev; exec setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"';

# idadminctl, with audit_syslog as it is set; what else it reads is the stack's.
sub logging {
    my ($set, @command) = @_;
    spew("$base/log.conf", $set ? "audit_syslog = $set\n" : '');
    my (undef, undef, @options) = $stack->ctl_options;
    return within_dev(Idadmin::Test::program('idadminctl'), @command, '--config', "$base/log.conf",
        @options);
}

sub within_dev {
    my (@command) = @_;
    return run_command(['unshare', '-m', 'bash', '-c', $own_dev, "$base/dev",
        Idadmin::Test::runtime_user(), @command]);
}

my $log;

sub listen_to_log {
    unlink "$base/dev/log";
    $log = IO::Socket::UNIX->new(Local => "$base/dev/log", Type => SOCK_DGRAM) or die "log: $!\n";
    return chmod 0777, "$base/dev/log";
}

# The outcome of the code and what the log got meanwhile. It reads while lines come, as few fit into
# a socket, until the other side has said the last.
sub heard {
    my ($code) = @_;
    my ($result, $lines) = in_parallel(2, sub {
        my ($reads) = @_;
        if (!$reads) {
            my $result = eval { $code->() };
            my $last = IO::Socket::UNIX->new(Peer => "$base/dev/log", Type => SOCK_DGRAM);
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
    return ($result, @$lines);
}

# The system's log takes them too, by default where one listens. Where it must be and none listens
# they wait, and it is said.
sub system_log {
    my @export = qw(audit export nordic);
    my $unsent = sub { (rows('count(*) FROM audit.checkpoint WHERE sent = 0'))[0][0] };
    checkpoint('nordic');
    my $waiting = $unsent->();
    cmp_ok $waiting, '>', 0, 'checkpoints wait for a place';
    like logging('on', @export)->{err}, qr{/dev/log: No such file},
        'without a listener it is reported';
    is logging('', @export)->{err}, '', 'by default it is not';
    cmp_ok $unsent->(), '>=', $waiting, 'and they wait';
    listen_to_log();
    is logging('off', @export)->{err}, '', 'switched off';
    cmp_ok $unsent->(), '>=', $waiting, 'they wait although the log listens';
    my ($result, @lines) = heard(sub { logging('', @export) });
    is $result->{err}, '', 'with a listener';
    is $unsent->(), 0, 'all have left by default';
    checkpoint('nordic');
    ($result, my @more) = heard(sub { logging('on', @export) });
    push @lines, @more;
    is $result->{err}, '', 'switched on';
    is $unsent->(), 0, 'they leave as well';
    is scalar @lines, (rows('count(*) FROM audit.checkpoint'))[0][0], 'each is a line of the log';
    is scalar(grep {/^<85>.* idadminctl: idadmin audit checkpoint \{"/} @lines), @lines,
        'with facility, level and name';
    spew("$base/logged", join '', map {s/.*? checkpoint (?=\{)//r . "\n"} @lines);
    my $public = $stack->ctl('audit', 'public-key')->{out} =~ s/\n//r;
    is $stack->ctl('audit', 'verify', $_, '--checkpoints', "$base/logged", '--key', $public)
        ->{exit}, 0, "$_ is whole by what the log has" for @tenants;
}

# A spool with so many records of each company.
sub records {
    my ($count, %with) = @_;
    my $dir = "$base/node" . ++our $number;
    my $record = sub { my ($tenant, $n) = @_;
        return { rid => sprintf('%020d%06d', $number, $n), tenant => $tenant, actor => 'hr',
            at => 1_795_000_000_000 + $number, category => 'api', label => 'HR system',
            action => 'user.create', target => "person$n\@x.example", outcome => 'ok',
            endpoint => 'POST /v1/api/user', parameters => '{"firstname":"Anna"}',
            address => '192.0.2.7', correlation => "portal-$number-$n", %with } };
    mkdir $dir;
    spew("$dir/202611210930.audit", join '', map { my $tenant = $_;
        map { "\x1e" . json_text($record->($tenant, $_)) . "\n" } 1 .. $count } @tenants);
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir, "$dir/202611210930.audit");
    return $dir;
}

sub last_of { my ($tenant) = @_;
    return (rows("seq FROM audit.chain WHERE tenant_id = '$tenant'"))[0][0] // 0 }

# Runs the code: each record that it puts into a chain is a line, those of a company in order.
sub is_logged {
    my ($program, $what, $code) = @_;
    my %before = map { ($_ => last_of($_)) } @tenants;
    my ($result, @lines) = heard($code);
    my (%got, %want);
    for my $line (@lines) {
        my ($json) = $line =~ /^<\d+>.* $program: idadmin audit record (\{.*\})$/
            or next;
        my $data = json_data($json);
        push @{ $got{ $data->{companyId} } }, join ' ', map { $data->{$_} // '' }
            qw(number hash actor action target outcome);
    }
    for my $tenant (@tenants) {
        push @{ $want{$tenant} }, join ' ', map { $_ // '' } @$_ for rows('seq, hash, actor, '
            . "action, target, outcome FROM audit.record WHERE tenant_id = '$tenant' AND seq > "
            . "$before{$tenant} ORDER BY seq");
    }
    is_deeply(\%got, \%want, "$what: a line for each record, as the chain has it");
    return @lines;
}

sub record_lines {
    my @ingest = qw(audit ingest);
    unlink "$base/dev/log";
    my $first = last_of('nordic') + 1;
    my $deaf = logging('records', @ingest, records(3));
    is($deaf->{exit}, 0, 'no log listens: records are taken all the same');
    like($deaf->{err}, qr{IDA0425.* from number $first of nordic on: /dev/log: No such file},
        'and it is said which have no line');
    listen_to_log();
    my $few = records(3);
    my ($result, @none) = heard(sub { logging('on', @ingest, $few) });
    is_deeply(\@none, [], 'on: checkpoints alone');
    my $dir = records(300);
    my $again = "$dir-again";
    run_command(['cp', '-a', $dir, $again]);
    my @lines = is_logged(idadminctl => 'a spool', sub { logging('records', @ingest, $dir) });
    is(scalar @lines, 600, 'so many');
    is(scalar(grep {/^<85>/} @lines), @lines, 'notices of authpriv');
    unlike("@lines", qr/Anna|192\.0\.2\.7|HR system|POST/, 'nothing but who did what to whom');
    is_logged(idadminctl => 'the same once more', sub { logging('records', @ingest, $again) });
    my $hostile = records(1, target => "\"\n<0>x: }\\" x 100, outcome => "no\nway",
        actor => '"' x 500);
    (undef, @lines) = heard(sub { logging('records', @ingest, $hostile) });
    is(scalar @lines, 2, 'hostile texts: a line each');
    for my $line (@lines) {
        cmp_ok(length $line, '<', 2048, 'bounded');
        like($line, qr/^<84>[^\n]*$/, 'one line, a warning');
        like(json_data($line =~ s/.*? record (?=\{)//r)->{target}, qr/^"\s*<0>x: \}\\.*…$/,
            'which is JSON, and cut');
    }
    my $spool = records(20);
    my $worker = $stack->new_worker(start => 0, spool => $spool);
    is_logged('idadmin-worker' => 'the worker', sub { within_dev(@{
        $worker->command('--once', '--audit-syslog', 'records') }) });
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
    SKIP: {
        my $may = $> == 0 && !run_command(['unshare', '-m', 'true'])->{exit};
        skip 'no mount namespace may be made here: the system\'s log is not tried', 1 if !$may;
        mkdir "$base/dev";
        system_log();
        record_lines();
    }
    verified();
    $hook->stop;
} 'Calls are the subject. t/ops/10-tampered-audit.t writes and reads checkpoints on both engines.';
done_testing();
