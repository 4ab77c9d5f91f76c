# Credentials sent without TLS from another machine are refused before they are checked, with the
# message of either face. Over TLS, from loopback and behind a proxy they are accepted.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Http ();
use Idadmin::Test::Httpd ();
use Idadmin::Test::Stack;
use Idadmin::Test::Tls ();
use IO::Socket::INET ();

# An address of this machine that is not loopback: what connects to it comes from it.
my ($address) = grep { /^\d+(?:\.\d+){3}$/ && !/^127\./ } split ' ',
    run_command(['hostname', '-I'])->{out};
my $lent;
if (!$address && $> == 0 && run_command(['ip', 'address', 'add', '192.0.2.1/32', 'dev',
    'lo'])->{exit} == 0) {
    $address = $lent = '192.0.2.1';
}
plan skip_all => 'the machine has no address but loopback' if !$address;
END { system 'ip', 'address', 'del', "$lent/32", 'dev', 'lo' if $lent }

my $rest = "    SetHandler idadmin-rest\n    AuthType IdAdmin\n    Require valid-user\n";
my $mcp  = "    SetHandler idadmin-mcp\n    AuthType IdAdmin\n    Require valid-user\n";
my %port = map { $_ => free_port() } qw(clear tls off on);
my $tls  = Idadmin::Test::Tls::files();
my $stack = Idadmin::Test::Stack->new(slapd => 0, worker => 0,
    httpd => { tls => 1, rate_limits => { failures => '30/1h' }, locations => '',
    server => <<"CONF" });
<Location "/v1/api">
$rest</Location>
<Location "/mcp">
$mcp</Location>
<Location "/proxied/v1/api">
    IdAdminRequireTls off
$rest</Location>
<Location "/v1/openapi.json">
    SetHandler idadmin-openapi
    Require all granted
</Location>
Listen $address:$port{clear}
Listen $address:$port{tls}
Listen $address:$port{off}
Listen $address:$port{on}
<VirtualHost $address:$port{tls}>
    ServerName 127.0.0.1:$port{tls}
    SSLEngine on
    Protocols h2 http/1.1
    SSLCertificateFile $tls->{cert}
    SSLCertificateKeyFile $tls->{key}
</VirtualHost>
<VirtualHost $address:$port{off}>
    ServerName off.example
    IdAdminRequireTls off
    <Location "/strict/v1/api">
        IdAdminRequireTls on
    $rest    </Location>
</VirtualHost>
<VirtualHost $address:$port{on}>
    ServerName on.example
    IdAdminRequireTls on
</VirtualHost>
CONF
my $httpd = $stack->httpd;
$httpd->expect_log(qr/IDA0212/);

sub from_afar { my ($port, $target, %how) = @_;
    return $stack->get($target, client => Idadmin::Test::Http->new($port{$port}, host => $address),
    %how) }
sub is_refused {
    my ($answer, $what) = @_;
    is($answer->{status}, 403, "$what: 403");
    is($answer->{json}{error}{code}, 'FORBIDDEN', 'in JSON');
    like($answer->{json}{error}{message}, qr/TLS only.*https/, 'saying what to do');
    ok(!$answer->{headers}{'www-authenticate'} && !$answer->{headers}{'retry-after'},
        'and nothing that invites to send a key again');
}

my $tasks = '/v1/api/tasks';
is($stack->get($tasks)->{status}, 200, 'from loopback in clear');
is_refused(from_afar(clear => $tasks), 'from elsewhere in clear');
is_refused(from_afar(clear => $tasks, headers => { 'X-Api-Key' => 'ida_wrong' }),
    'a wrong key the same');
is_refused(from_afar(clear => $tasks,
    headers => { 'X-Api-Key' => undef, 'X-Api-User' => undef, 'X-Company-ID' => undef }),
    'no key the same');
ok($httpd->log_has(qr/\[client \Q$address\E:\d+\] IDA0212: .*IdAdminRequireTls/),
    'the error log says why');
ok(!$httpd->log_has(qr/IDA0210/), 'no credentials were looked at');
is_refused(from_afar(on => $tasks), 'a virtual host that says on');
is(from_afar(off => $tasks)->{status}, 200, 'one that says off');
is_refused(from_afar(off => '/strict/v1/api/tasks'), 'a Location in it that says on');
is(from_afar(clear => '/proxied/v1/api/tasks')->{status}, 200, 'a Location that says off');
is(from_afar(clear => '/v1/openapi.json')->{status}, 200,
    'the description needs no key, so no TLS');
my $answer = Idadmin::Test::Http->new($port{clear}, host => $address)->request(POST => '/mcp',
    body => '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    headers => { 'Content-Type' => 'application/json',
    Accept => 'application/json, text/event-stream',
    Authorization => 'Bearer ' . $stack->key('read')->{mcpSecret} });
is($answer->{status}, 403, 'MCP: 403');
is($answer->{json}{jsonrpc}, '2.0', 'as JSON-RPC');
like($answer->{json}{error}{message}, qr/TLS only/, 'with the same words');

for my $version ('--http1.1', '--http2') {
    my $made = run_command(['curl', '-sS', $version, '--cacert', $tls->{ca}, '--connect-to',
        "127.0.0.1:$port{tls}:$address:$port{tls}", '-w',
        '\n%{http_code} %{http_version} %{remote_ip}',
        (map { ('-H', $_) } do { my @h = $stack->headers('read'); my @lines;
        while (my ($n, $v) = splice @h, 0, 2) { push @lines, "$n: $v" } @lines }),
        "https://127.0.0.1:$port{tls}$tasks"]);
    like($made->{out}, $version eq '--http2' ? qr/\n200 2 \Q$address\E\z/
        : qr/\n200 1\.1 \Q$address\E\z/, "TLS from elsewhere, $version") or diag $made->{err};
}

# A flood of them fills no log: beyond the limit of failures the answer is the same, the line is one
# of debug.
my $warned = () = slurp($httpd->error_log) =~ /:warn\].*IDA0212/g;
from_afar(clear => $tasks) for 1 .. 40;
is_refused(from_afar(clear => $tasks), 'after many');
my $then = () = slurp($httpd->error_log) =~ /:warn\].*IDA0212/g;
cmp_ok($then, '<=', 30, "lines of warn: $warned before, $then after forty more");
is($stack->get($tasks)->{status}, 200, 'loopback is another address');
# A start with a handler misspelt is refused; a restart reports it and goes on, because httpd would
# end.
subtest 'a fault that comes with a restart' => sub {
    $httpd->expect_log(qr/IDA0270/, qr/AH00016: Configuration Failed/);
    $httpd->reconfigure(server => "<Location /x>\nSetHandler idadmin-rst\n</Location>",
        locations => "<Location \"/v1/api\">\n$rest</Location>\n")->graceful;
    ok($httpd->log_gets(qr/IDA0270: \S+ line \d+: SetHandler idadmin-rst/), 'reported');
    is($stack->get($tasks, with => 'read')->{status}, 200, 'and httpd serves');
    $httpd->stop;
    ok(!eval { $httpd->start }, 'no start with it');
    like($@, qr/IDA0270: \S+ line \d+: SetHandler idadmin-rst/, 'which says why');
    my $open = free_port();
    my $api  = "<Location \"/v1/api\">\n$rest</Location>\n";
    $httpd->reconfigure(locations => $api, server => "Listen 0.0.0.0:$open\n"
        . "<VirtualHost *:$open>\n$api</VirtualHost>")->start;
    ok($httpd->log_gets(qr/IDA0270: \S+ line \d+: .* secrets would go over plain HTTP/),
        'secrets in clear are reported');
    is($stack->get($tasks, with => 'read')->{status}, 200, 'and httpd starts: they get 403');
};

$stack->stop;

subtest 'the sample serves it over TLS alone' => sub {
    my $sample = slurp(src_dir() . '/conf/idadmin-httpd.conf');
    my ($port, $store, $spool) = (free_port(), $stack->store, $stack->spool);
    $sample =~ s/\*:443/127.0.0.1:$port/ or die 'no virtual host with TLS';
    $sample =~ s{^IdAdminStore .*}{IdAdminStore $store}m;
    $sample =~ s{^IdAdminAuditSpool .*}{IdAdminAuditSpool $spool}m;
    $sample =~ s{^IdAdminWriter idadmin-writer$}{}m or die 'the writer has no user';
    $sample =~ s{^(\s*SSLCertificateFile) .*}{$1 $tls->{cert}}m;
    $sample =~ s{^(\s*SSLCertificateKeyFile) .*}{$1 $tls->{key}}m;
    $sample =~ s{identity\.example\.com}{127.0.0.1:$port};
    my $own = Idadmin::Test::Httpd->new(tls => 1, locations => '',
        server => "Listen 127.0.0.1:$port\n$sample");
    my $ask = sub {
        my ($base, $path, @more) = @_;
        my @h = $stack->headers('read');
        my @lines;
        while (my ($name, $value) = splice @h, 0, 2) { push @lines, '-H', "$name: $value" }
        my $made = run_command(['curl', '-sS', '--cacert', $tls->{ca}, '-o', '/dev/null', '-w',
            '%{http_code}', @lines, @more, "$base$path"]);
        return $made->{out};
    };
    my %answer = ($tasks => 200, '/v1/openapi.json' => 200, '/mcp' => 405,
        '/.well-known/oauth-protected-resource' => 404);
    for my $path (sort keys %answer) {
        is($ask->("https://127.0.0.1:$port", $path), $answer{$path}, "TLS: $path");
        is($ask->($own->url, $path), 404, "in clear: there is no $path");
    }
    $own->stop;
};

my $bad = Idadmin::Test::Httpd->new(store => $stack->store, spool => $stack->spool,
    server => 'IdAdminRequireTls perhaps', start => 0)->configtest;
isnt($bad->{exit}, 0, 'a word that is neither');
like($bad->{err}, qr/IdAdminRequireTls must be On or Off/, 'is told');
done_testing();
