package Idadmin::Test::Cloud;
# The cloud directory emulator (t/double/cloud) as a daemon on a free port, with the seeded company
# acme.example.
use strict;
use warnings;
use Idadmin::Test ();
use Idadmin::Test::Http ();
use Idadmin::Test::Tls ();

our $domain    = 'acme.example';
our $tenant    = '7c1d2f6a-3a54-4a0e-9c39-0d1f5b7e2a10';
our $client_id = '3f0f9a52-6f0e-4d43-9b77-51a1c2c5e6d4';

sub client_secret { return 'cloud~Secret.Value-1' }

sub skip_reason { return eval { require Mojolicious; 1 } ? '' : 'Mojolicious is not installed' }

# new(tls => 1: HTTPS as well, seed => undef: an empty directory, bulk => { users, memberships,
# group }, settings => {...},
#     home => domain of its people, domains => [further ones], keep => 1: a restart forgets nothing,
#     start => 0)
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/cloud' . ++our $count;
    mkdir $base or die "$base: $!\n";
    my $self = bless { base => $base, log => "$base/log", port => Idadmin::Test::free_port(),
        tls => $how{tls} }, $class;
    $self->{config} = {
        port => $self->{port}, tenant => $tenant, client => $client_id, secret => client_secret(),
            certificates => [_certificate()->{cert}],
        domains => [$how{home} // $domain,
        grep { $_ ne ($how{home} // '') } @{ $how{domains} // [] }], seed => exists $how{seed}
        ? $how{seed} : 'standard', map { ($_ => $how{$_}) } grep { $how{$_} } qw(bulk settings) };
    $self->{config}{state} = "$base/state" if $how{keep};
    if ($how{tls}) {
        my $tls = Idadmin::Test::Tls::files();
        $self->{tls_port} = Idadmin::Test::free_port();
        @{ $self->{config} }{qw(tlsPort cert key)} = ($self->{tls_port}, @$tls{qw(cert key)});
    }
    return ($how{start} // 1) ? $self->start : $self;
}

# The application's certificate: { cert: PEM file of the certificate, both: PEM file with
# certificate and key }
sub _certificate {
    our $certificate;
    return $certificate if $certificate;
    my $dir = Idadmin::Test::tempdir() . '/cloud-certificate';
    mkdir $dir or die "$dir: $!\n";
    my $made = Idadmin::Test::run_command(['openssl', 'req', '-x509', '-newkey', 'rsa:2048',
        '-nodes', '-days', 2, '-subj', '/CN=mod_idadmin', '-keyout', "$dir/key.pem", '-out',
        "$dir/cert.pem"]);
    die "openssl req: $made->{err}" if $made->{exit};
    my $both = Idadmin::Test::secret_file("$dir/both.pem",
        Idadmin::Test::slurp("$dir/cert.pem") . Idadmin::Test::slurp("$dir/key.pem"));
    return $certificate = { cert => "$dir/cert.pem", key => "$dir/key.pem", both => $both };
}

sub start {
    my ($self) = @_;
    my $file = Idadmin::Test::spew("$self->{base}/config.json",
        Idadmin::Test::json_text($self->{config}));
    $self->{pid} = Idadmin::Test::daemon([$^X,
        Idadmin::Test::src_dir() . '/t/double/cloud/emulator.pl', $file], log => $self->{log});
    Idadmin::Test::within(sub { Idadmin::Test::ended($self->{pid})
        || IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port}, Proto => 'tcp',
        Timeout => 2) });
    die "the cloud emulator does not start:\n" . $self->log_text
        if Idadmin::Test::ended($self->{pid});
    return $self;
}

# State is in memory: a stop forgets it, unless it was made with keep => 1.
sub stop {
    my ($self) = @_;
    delete @$self{qw(control api token)};
    return $self->{pid} ? Idadmin::Test::stop_daemon(delete $self->{pid}) : undef;
}

sub restart { my ($self) = @_; $self->stop; return $self->start }

# Freezes and thaws the whole service: connections are accepted by the kernel and nothing is said.
sub freeze { kill STOP => $_[0]{pid} }
sub thaw   { kill CONT => $_[0]{pid} }

sub port     { return $_[0]{port} }
sub log_text { return -e $_[0]{log} ? Idadmin::Test::slurp($_[0]{log}) : '' }

# Scheme, host, port; HTTPS when the emulator has it.
sub origin    { my ($self) = @_;
    return $self->{tls} ? "https://127.0.0.1:$self->{tls_port}" : "http://127.0.0.1:$self->{port}" }
sub url       { return $_[0]->origin . '/v1.0' }
sub authority { return $_[0]->origin }
sub token_url { return $_[0]->origin . "/$tenant/oauth2/v2.0/token" }
sub ca_file   { return Idadmin::Test::Tls::files()->{ca} }
sub certificate_file { return _certificate()->{both} }
sub certificate_key  { return _certificate()->{key} }
sub certificate      { return _certificate()->{cert} }

# The `directories.cloud` member of a tenant document; certificate => 1 instead of the secret,
# further members by name.
sub document {
    my ($self, %changes) = @_;
    my $certificate = delete $changes{certificate};
    return {
        apiUrl => $self->url, authorityUrl => $self->authority, directoryId => $tenant,
            clientId => $client_id,
        ($certificate ? (certificateFile => $self->certificate_file)
        : (clientSecretFile => Idadmin::Test::secret_file("$self->{base}/client.secret",
        client_secret() . "\n"))),
        ($self->{tls} ? (caFile => $self->ca_file) : ()), syncInterval => '1s', %changes,
    };
}

# -- looking and changing from outside

sub _ask {
    my ($self, $method, $path, $data) = @_;
    my $client = $self->{control}{$$} //= Idadmin::Test::Http->new($self->{port}, timeout => 120);
    my $answer = $client->request($method, "/_control$path", defined $data
        ? (headers => { 'Content-Type' => 'application/json' },
        body => Idadmin::Test::json_text($data)) : ());
    my $json = eval { Idadmin::Test::json_data($answer->{body}) }
        // die "emulator: $method $path: $answer->{status} $answer->{reason}: "
        . "\"$answer->{body}\" is no JSON\n";
    die 'emulator: ' . ($json->{error} // $answer->{body}) . "\n" if $answer->{status} != 200;
    return $json;
}

sub _escape { my ($text) = @_; utf8::encode($text)
    if utf8::is_utf8($text); $text =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge;
    return $text }

# control(settings => {...}, faults => [...], ...): orders of t/double/cloud/emulator.pl.
sub control  { my ($self, %orders) = @_; return $self->_ask(POST => '', \%orders) }
sub counters { return $_[0]->_ask(GET => '') }
sub secrets  { return $_[0]->_ask(GET => '/secrets') }
sub user     { my ($self, $key) = @_;
    return $self->_ask(GET => '/user?key=' . _escape($key))->{user} }
sub group    { my ($self, $key) = @_;
    return $self->_ask(GET => '/group?key=' . _escape($key))->{group} }

# How often a request of this shape was answered, by status or in all: requests('POST /users', 201).
sub requests {
    my ($self, $shape, $status) = @_;
    my $by = $self->counters->{requests}{$shape} // {};
    return $by->{$status} // 0 if defined $status;
    my $sum = 0;
    $sum += $_ for values %$by;
    return $sum;
}

# A bearer token, and one call of the API with it, for tests that speak to the emulator themselves:
# api($method, "/users?...", json => DATA or body => BYTES, headers => {...}) -> the answer of
# Http::request
sub token {
    my ($self) = @_;
    return $self->{token} //= do {
        my $form = join '&', map { $_->[0] . '=' . _escape($_->[1]) } [client_id => $client_id],
            [scope => "http://127.0.0.1:$self->{port}/.default"],
            [client_secret => client_secret()], [grant_type => 'client_credentials'];
        my $answer = Idadmin::Test::Http->new($self->{port})->request(POST =>
            "/$tenant/oauth2/v2.0/token",
            headers => { 'Content-Type' => 'application/x-www-form-urlencoded' }, body => $form);
        Idadmin::Test::json_data($answer->{body})->{access_token}
            // die "no token: $answer->{body}\n";
    };
}

sub api {
    my ($self, $method, $target, %how) = @_;
    my %headers = (Authorization => 'Bearer ' . $self->token, %{ delete $how{headers} // {} });
    if (exists $how{json}) {
        $how{body} = Idadmin::Test::json_text(delete $how{json});
        $headers{'Content-Type'} //= 'application/json';
    }
    $how{content_length} = 0 if $method ne 'GET' && $method ne 'DELETE' && !exists $how{body}
        && !exists $how{content_length};
    my $client = delete $how{client}
        // ($self->{api}{$$} //= Idadmin::Test::Http->new($self->{port}));
    my $answer = $client->request($method, $target =~ m{^https?://[^/]+(/.*)$} ? $1
        : "/v1.0$target", %how, headers => \%headers);
    return $answer;
}

1;
