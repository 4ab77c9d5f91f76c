# Behind a proxy the worker reaches the cloud directory by CONNECT alone, with TLS from end to end:
# with a secret, with a certificate, and never past the proxy.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(json_data slurp tempdir within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Stack ();

my $skip = Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;

my $port = Idadmin::Test::free_port();
my ($log, $proxy) = (tempdir() . '/proxy.jsonl');

sub start_proxy {
    my (@status) = @_;
    Idadmin::Test::stop_daemon($proxy) if $proxy;
    Idadmin::Test::spew($log, '');
    $proxy = Idadmin::Test::daemon([$^X, Idadmin::Test::src_dir() . '/t/double/cloud/proxy.pl',
        $port, $log, @status], log => tempdir() . '/proxy.log');
    ok(within(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port,
        Proto => 'tcp', Timeout => 1) }),
        'the proxy ' . (@status ? "refuses with $status[0]" : 'passes through'));
}
sub heads { return map { json_data($_)->{head} } split /\n/, slurp($log) }

# The credential is changed in the tenant's document, so that the worker begins a new session with
# it.
sub credential {
    my ($stack, $certificate) = @_;
    my $document = $stack->cloud_document(certificate => $certificate,
        proxyUrl => "http://127.0.0.1:$port");
    $document->{$_} //= undef for qw(clientSecretFile certificateFile);
    $stack->apply_tenant($stack->tenant_document(directories => { cloud => $document }));
}

start_proxy();
my $stack = Idadmin::Test::Stack->new(cloud => { tls => 1,
    directory => { proxyUrl => "http://127.0.0.1:$port" } });
my $cloud = $stack->cloud;
my $to    = qr/\A\QCONNECT 127.0.0.1:$cloud->{tls_port} HTTP\E/;
ok((grep { $_ =~ $to } heads()), 'the first sync went through it');

for my $certificate (0, 1) {
    my $what = $certificate ? 'a certificate' : 'a secret';
    credential($stack, $certificate);
    $cloud->control(expireTokens => JSON::PP::true());
    start_proxy();
    my $answer = $stack->post('/v1/api/user',
        { firstname => 'Prox', surname => $certificate ? 'Cert' : 'Secret',
        manager => "anna.lind\@$Idadmin::Test::Cloud::domain" });
    is($stack->wait_task($answer->{json}{data}{taskId})->{state}, 'done',
        "with $what: done");
    ok($cloud->user($answer->{json}{data}{userPrincipalName}), 'in the directory');
    my $check = $stack->worker->run('--check', 'acme');
    like($check->{out}, $certificate ? qr/ok\s+token: .*certificate/
        : qr/ok\s+token: .*client secret/, 'the doctor gets a token that way')
        or diag $check->{out}, $check->{err};
    my @heads = heads();
    is_deeply([grep { $_ !~ $to } @heads], [],
        scalar(@heads) . ' connections, all of them to be passed through');
    is_deeply([grep {/authorization|bearer|client_|assertion|cookie/i} @heads], [],
        'which tell the proxy nothing of ours');
}

# No way past it: a proxy that refuses or is away holds the directory, with a reason that names it.
$stack->worker->expect_log(qr/IDA03(?:14|15|21)|IDA0503/);
for my $case ([407, qr/proxy asks for credentials/], [403, qr/proxy refuses/],
    [undef, qr/\b$port\b|connect/i]) {
    my ($status, $reason) = @$case;
    if ($status) { start_proxy($status) }
    else         { Idadmin::Test::stop_daemon($proxy); $proxy = undef }
    # A document that is applied again makes the worker try at once, held or not; kept connections
    # end with it.
    $stack->worker->stop;
    $stack->worker->start;
    $stack->ctl('sync', 'acme', '--wait');
    my ($held, $row);
    ok(within(sub { ($row) =
        $stack->sql("SELECT hold_reason FROM directory_state WHERE tenant_id = 'acme'");
        $held = $row && $row->[0] ? $row->[0] : ''; $held =~ $reason }),
        'held: ' . ($status // 'away')) or diag $held;
}
my $task = $stack->post('/v1/api/user',
    { firstname => 'Prox', surname => 'Later' })->{json}{data}{taskId};
start_proxy();
$stack->ctl('sync', 'acme', '--wait');
is($stack->wait_task($task)->{state}, 'done', 'back again: carried out');
is($stack->worker->stop, 0, 'the worker ends cleanly');
$stack->stop;
Idadmin::Test::stop_daemon($proxy);
done_testing();
