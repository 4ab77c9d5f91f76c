# Checkpoints of the audit chain and, where that is wished, all records reach the system's log, and
# an auditor can verify with the copies there.
use strict;
use warnings;
use utf8;
use IO::Socket::UNIX ();
use Socket qw(SOCK_DGRAM);
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Stack;

my ($stack, $base);
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
    logging('off', qw(audit export), $tenant);
}

sub rows { my ($what) = @_; return $stack->sql("SELECT $what") }

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
    checkpoint($_) for @tenants;
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
    my $since = last_of('nordic');
    my $stuck = logging('records', @ingest, records(600));
    is($stuck->{exit}, 0, 'a log that stands still: records are taken all the same');
    is(last_of('nordic'), $since + 600, 'all of them');
    like($stuck->{err}, qr{IDA0425.* from number \d+ of \w+ on: /dev/log: Connection timed out},
        'and it is said from which on there is no line');
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

# With the copies alone an auditor sees what was done since.
sub tampered {
    my $public = $stack->ctl('audit', 'public-key')->{out} =~ s/\n//r;
    my $verify = sub { $stack->ctl(qw(audit verify other --checkpoints), "$base/logged", '--key',
        $public) };
    is($verify->()->{exit}, 0, 'whole to the end');
    $stack->sql("DELETE FROM audit.checkpoint WHERE tenant_id = 'other';"
        . "UPDATE audit.record SET outcome = 'no' WHERE tenant_id = 'other' AND seq = 1");
    my $result = $verify->();
    is($result->{exit}, 1, 'not any more');
    like($result->{err}, qr/broken at record 1:/, 'and it is said since where');
}

on_one_engine {
    my ($engine) = @_;
    return diag 'no mount namespace may be made here: the system\'s log is not tried'
        if $> != 0 || run_command(['unshare', '-m', 'true'])->{exit};
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => 0, httpd => 0, worker => 0,
        tenant => 0);
    $base = $stack->{base};
    $stack->apply_tenant($stack->tenant_document(companyId => $_, upnDomain => "$_.example",
        emailDomain => "$_.example")) for @tenants;
    $stack->ctl_ok('key', 'create', $_, 'hr', '--access', 'full') for @tenants;
    $stack->ctl_ok('audit', 'ingest');
    mkdir "$base/dev";
    system_log();
    record_lines();
    tampered();
} 'The log is the subject. t/ops/10-tampered-audit.t writes and reads checkpoints on both engines.';
done_testing();
