# The probe's report on the cloud directory names each fault, and secrets and tokens appear nowhere:
# in no log, no file of the store, no command line, not in the worker's memory.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(slurp tempdir within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Httpd ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Tls ();
use MIME::Base64 ();
use POSIX qw(strftime);
use Time::HiRes ();

if (my $reason = Idadmin::Test::Cloud->skip_reason) {
    plan(skip_all => $reason);
}

my $domain = $Idadmin::Test::Cloud::domain;
my $cloud  = Idadmin::Test::Cloud->new(tls => 1);
my $stack  = Idadmin::Test::Stack->new(slapd => 0, worker => 0, tenant => 0);
my $doctor = $stack->new_worker(start => 0);

sub apply {
    my (%changes) = @_;
    my $document = $cloud->document(%{ $changes{cloud} // {} });
    # an absent member would stay unchanged
    $document->{$_} //= undef for qw(clientSecretFile clientSecretExpires certificateFile);
    $stack->apply_tenant({ companyId => 'acme', name => 'Acme AB', timeZone => 'Europe/Stockholm',
        upnDomain => $domain, emailDomain => $domain,
        createUsersIn => 'cloud', usernameFormat => '{firstname}.{surname}',
        emailFormat => '{firstname}.{surname}', displayNameFormat => '{firstname} {surname}',
        modules => { publicApi => JSON::PP::true() }, directories => { cloud => $document },
        %{ $changes{tenant} // {} } });
}

# The report of a tenant with these changes, with these orders to the emulator before (undone after
# by `after`), by this doctor.
sub report {
    my (%how) = @_;
    apply(%how);
    $cloud->control(%{ $how{before} }) if $how{before};
    my $report = ($how{doctor} // $doctor)->run('--check', 'acme');
    $cloud->control(%{ $how{after}
        // { clearFaults => JSON::PP::true(), release => JSON::PP::true() } });
    return $report;
}

sub fails {
    my ($name, $pattern, %how) = @_;
    my $report = report(%how);
    isnt($report->{exit}, 0, "$name: the report fails");
    like($report->{out}, $pattern, "$name: and says why") or diag $report->{out}, $report->{err};
    unlike("$report->{out}$report->{err}", qr/\Q@{[Idadmin::Test::Cloud::client_secret()]}\E/,
        "$name: without the secret");
    unlike("$report->{out}$report->{err}", qr/Bearer|eyJ[\w-]{10}/, "$name: or a token");
    return $report;
}

subtest 'everything is well' => sub {
    my @lines = ('settings', 'token', 'clock', 'organization', 'upnDomain', 'users',
        'markerAttribute', 'changes of users', 'groups', 'members', 'changes of groups', 'licences',
        'sign-ins', 'limits');
    for my $way ([0, 'a secret', 'client secret'], [1, 'a certificate', 'certificate']) {
        my $report = report(cloud => { certificate => $way->[0] });
        # (the certificate of the tests holds two days: that line fails, and is the only one)
        my @failed = $report->{out} =~ /^  FAIL  (.*)$/mg;
        is_deeply([grep { !/^certificate: .*ends in \d days?/ } @failed], [],
            "with $way->[1]: no check fails") or diag $report->{out}, $report->{err};
        is(scalar @failed, $way->[0], 'a certificate that ends soon is told')
            or diag $report->{out};
        is($report->{exit}, $way->[0], 'the exit status says the same');
        like($report->{out}, qr/^  ok    \Q$_\E: \S/m, "$_ has its line") for @lines;
        like($report->{out}, qr/took the $way->[2]/, 'the credential is named');
        $cloud->control(resetCounters => JSON::PP::true());
    }
};

subtest 'when the client secret ends only the document says' => sub {
    my $day = sub { strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + $_[0] * 86_400 + 3600)) };
    like(report()->{out}, qr/^  ok    client secret: .*clientSecretExpires is not set/m,
        'which may not say it');
    like(report(cloud => { clientSecretExpires => $day->(45) })->{out},
        qr/^  ok    client secret: holds for another 45 days/m, 'in time');
    fails('a secret that ends soon', qr/client secret: .*ends in 12 days: before that, make/,
        cloud => { clientSecretExpires => $day->(12) });
    fails('one that has ended', qr/client secret: .*ended 2 days ago: make a new one/,
        cloud => { clientSecretExpires => $day->(-3) });
};

subtest 'what is wrong is told' => sub {
    fails('another secret', qr/AADSTS7000215.*clientSecretFile/, before => { secret => 'another' },
        after => { secret => Idadmin::Test::Cloud::client_secret() });
    fails('another application', qr/clientId/,
        cloud => { clientId => '00000000-0000-4000-8000-000000000000' });
    fails('another directory', qr/directoryId/,
        cloud => { directoryId => '00000000-0000-4000-8000-000000000000' });
    my $server = Idadmin::Test::Tls::files();
    fails('an authority that did not sign', qr/certificate.*caFile/,
        cloud => { caFile => $cloud->certificate });
    fails('a domain of another organisation', qr/upnDomain: other\.example is no verified domain/,
        tenant => { upnDomain => 'other.example' });
    fails('a clock an hour off', qr/clock: .*3\d\d\d s ahead.*NTP/,
        before => { settings => { clockAhead => 3600 } },
        after => { settings => { clockAhead => 0 } });
    for my $missing (['AuditLog.Read.All', 'sign-ins'],
        [['Organization.Read.All', 'Domain.Read.All', 'LicenseAssignment.Read.All',
        'LicenseAssignment.ReadWrite.All'], 'organization']) {
        my ($permission, $line) = @$missing;
        my $one = ref $permission ? $permission->[0] : $permission;
        fails("without $one", qr/FAIL  $line: .*grant the application permission \Q$one\E/,
            before => { revoke => $permission }, after => { grant => $permission });
    }
    my $report = report(before => { settings => { signIn => 'noLicense' } },
        after => { settings => { signIn => 'ok' } });
    is($report->{exit}, 0, 'no licence for sign-ins is no failure');
    like($report->{out}, qr/ok    sign-ins: not told.*licence/, 'but told') or diag $report->{out};
};

subtest 'faults of the service' => sub {
    fails('429', qr/users: .*429|slow down/,
        before => { faults => { path => '^/users', do => 'status', status => 429,
        retryAfter => 7 } });
    fails('503 with a page', qr/users: .*HTTP 503/,
        before => { faults => { path => '^/users$', do => 'html', status => 503 } });
    fails('a reset', qr/users: /, before => { faults => { path => '^/users$', do => 'reset' } });
    fails('a cut off body', qr/users: /,
        before => { faults => { path => '^/users$', do => 'truncate', when => 'after' } });
    fails('text that is no JSON', qr/users: .*no JSON/,
        before => { faults => { path => '^/users$', do => 'badJson' } });
    # It ends while the silence lasts, which is over when the report is there: after ten seconds of
    # the doctor's clock.
    my $quick = Idadmin::Test::Fault->faster('idadmin-worker', 8,
        'the report ends before the silence does');
    fails('silence of the token endpoint', qr/token: /,
        doctor => $stack->new_worker(start => 0, env => $quick->env),
        before => { faults => { path => 'token', do => 'hang' } });
    my $once = report(before => {
        faults => { path => '^/organization', do => 'status', status => 401,
        error => { code => 'InvalidAuthenticationToken', message => 'x' }, count => 1 } });
    is($once->{exit}, 0, 'a token that is refused once is replaced') or diag $once->{out};
};

# An httpd in front of the emulator speaks HTTP/2 and writes down what it was asked.
subtest 'HTTP/2, and few connections' => sub {
    my $modules = Idadmin::Test::build_config()->{modules};
    if (my ($absent) = grep { !-e "$modules/mod_$_.so" } qw(proxy proxy_http http2 ssl)) {
        plan(skip_all => "mod_$absent is not there");
    }
    my $front = Idadmin::Test::Httpd->new(module => 0, tls => 1, server => join "\n",
        (map {"LoadModule ${_}_module $modules/mod_$_.so"} qw(proxy proxy_http)),
        'LogFormat "%{c}a:%{remote}p %H %m %U %>s" connections',
        "CustomLog @{[ tempdir() ]}/front.log connections",
        'ProxyPreserveHost On', 'ProxyPass / http://127.0.0.1:' . $cloud->port . '/', '');
    my $report = report(cloud => { apiUrl => $front->tls_url . '/v1.0',
        authorityUrl => $front->tls_url });
    is($report->{exit}, 0, 'the report is good') or diag $report->{out};
    my @asked = split /\n/, slurp(tempdir() . '/front.log');
    my @api   = grep {m{ /v1\.0/}} @asked;
    cmp_ok(scalar @api, '>=', 8, 'it asked');
    is_deeply([grep { !m{ HTTP/2\.0 GET } } @api], [], 'always by HTTP/2');
    is(scalar keys %{ { map { /^(\S+)/ ? ($1 => 1) : () } @api } }, 1, 'over one connection')
        or diag join "\n", @asked;
    $front->stop;
};

# A private key as it may turn up: lines of its file, and the bytes of its secret numbers.
sub key_material {
    my $pem = slurp($cloud->certificate_key);
    my @lines = grep { length > 60 && !/-----/ } split /\n/, $pem;
    my $der = MIME::Base64::decode_base64(join '', @lines);
    # within the private exponent and the primes of a key of 2,048 bits
    my $middle = int(length($der) * 0.4);
    my @numbers = map { substr $der, $_, 32 } $middle, $middle + 100, $middle + 300;
    # numbers in memory begin with their end
    return (@lines[5 .. 8], @numbers, map { scalar reverse } @numbers);
}

# The content of a dump of the process, read while it is stopped: writable memory, without the part
# that it keeps out of dumps ("dd").
sub memory_of {
    my ($worker, $pid) = @_;
    no warnings 'portable';    # addresses of 64 bits
    $worker->signal('STOP');
    within(sub { slurp("/proc/$pid/stat") =~ /\) T / });
    open my $memory, '<:raw', "/proc/$pid/mem" or die "/proc/$pid/mem: $!\n";
    my $bytes = '';
    for (split /^(?=[0-9a-f]+-[0-9a-f]+ )/m, slurp("/proc/$pid/smaps")) {
        my ($from, $to) = /\A(\w+)-(\w+) rw/ or next;
        next if /^VmFlags:.* dd\b/m;
        sysseek $memory, hex $from, 0;
        my ($left, $got) = (hex($to) - hex $from, 0);
        while ($left > 0 && ($got = sysread $memory, $bytes, $left, length $bytes)) {
            $left -= $got;
        }
    }
    $worker->signal('CONT');
    return $bytes;
}

$stack->{company} = 'acme';
$stack->apply_tenant({ companyId => 'acme', name => 'Acme AB', upnDomain => $domain,
    directories => { cloud => $cloud->document } });
$stack->create_key(full => 'hr-full', 'full');
$stack->create_key(read => 'hr-read', 'read-only');

for my $certificate (0, 1) {
    subtest 'secrets and tokens are found nowhere: '
        . ($certificate ? 'a certificate' : 'a secret') => sub {
        apply(cloud => { certificate => $certificate });
        my $tokens = $cloud->counters->{tokens};
        my $worker = $stack->new_worker;
        ok(within(sub { $stack->ctl('sync', 'acme', '--wait')->{exit} == 0 }),
            'the worker synchronises the directory') or diag $worker->log_text;
        $cloud->control(expireTokens => JSON::PP::true(),
            faults => { method => 'GET', path => '^/users/delta', do => 'html', status => 503,
            count => 2 });
        $stack->ctl('sync', 'acme', '--wait');
        ok(within(sub { $cloud->counters->{tokens} >= $tokens + 2 }),
            'the token was renewed');
        my $task = $stack->post('/v1/api/user',
            { firstname => 'Secret', surname => $certificate ? 'Certificate'
            : 'Keeper' })->{json}{data}{taskId};
        $stack->wait_task($task);
        my $kept = $cloud->secrets;
        cmp_ok(scalar @{ $kept->{password} // [] }, '>=', 1, 'a password was sent');
        my @secrets = ($certificate ? key_material() : Idadmin::Test::Cloud::client_secret(),
            map { @{ $kept->{$_} // [] } } qw(token password assertion));
        cmp_ok(scalar @secrets, '>=', $certificate ? 10 : 3, 'there are secrets to look for');
        cmp_ok(scalar @{ $kept->{assertion} // [] }, '>=', 1, 'assertions too') if $certificate;
        my $pid = $worker->working;
        my $look = sub {
            my ($what, $bytes) = @_;
            cmp_ok(length $bytes, '>', 0, "$what holds something");
            is(scalar(grep { index($bytes, $_) >= 0 } @secrets), 0, "$what: none of them");
        };
        $look->('the worker\'s log', $worker->log_text);
        for my $process ($worker->pid, $pid) {
            $look->('the command line', slurp("/proc/$process/cmdline"));
            $look->('the environment', slurp("/proc/$process/environ"));
        }
        $look->("httpd's error log", slurp($stack->httpd->error_log));
        $look->("the store's " . (m{([^/]+)$})[0], slurp($_))
            for grep { -s } glob "$stack->{base}/lib/*";
    SKIP: {
            skip('the sanitizers keep freed memory', 1)
                if Idadmin::Test::build_config()->{sanitizers};
            skip('only root may look into a process that is not dumpable', 1) if $> != 0;
            # A call in progress has its token in memory: one of several reads is between calls.
            my ($bytes, $held);
            ok(within(sub {
                $bytes = memory_of($worker, $pid);
                $held  = grep { index($bytes, $_) >= 0 } @secrets;
                return !$held;
            }), 'a dump by root: none of them');
            cmp_ok(index($bytes, $Idadmin::Test::Cloud::client_id), '>=', 0,
                'the dump holds the heap');
        }
        ok($worker->running, 'the worker lives on');
        $worker->expect_log(qr/IDA0[345]/);
        is($worker->stop, 0, 'and ends well');
        $look->('the log at the end', $worker->log_text);
    };
}

$stack->stop;
$cloud->stop;
done_testing();
