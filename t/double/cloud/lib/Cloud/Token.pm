package Cloud::Token;
# The token endpoint: client secret, and client assertion whose signature openssl verifies. Access
# tokens are random text that means nothing to the client.
use strict;
use warnings;
use Digest::SHA ();
use File::Temp ();
use MIME::Base64 ();
use Mojo::JSON qw(encode_json decode_json);
use Time::HiRes ();

# certificates: PEM files of the application
sub new {
    my ($class, %how) = @_;
    my $self = bless { %how, tokens => {}, seen => {}, generation => 0,
        dir => File::Temp->newdir(TMPDIR => 1) }, $class;
    $self->add_certificate($_) for @{ $how{certificates} // [] };
    return $self;
}

sub add_certificate {
    my ($self, $file) = @_;
    my $n   = ++$self->{keys};
    my $key = "$self->{dir}/key$n.pem";
    system('openssl', 'x509', '-in', $file, '-outform', 'DER', '-out',
        "$self->{dir}/cert$n.der") == 0 or die "openssl cannot read $file\n";
    system("openssl x509 -in '$file' -noout -pubkey > '$key'") == 0
        or die "openssl cannot read $file\n";
    open my $in, '<:raw', "$self->{dir}/cert$n.der" or die $!;
    my $der = do { local $/; <$in> };
    $self->{by_thumbprint}{ MIME::Base64::encode_base64url(Digest::SHA::sha256($der)) } = $key;
    $self->{by_thumbprint}{ MIME::Base64::encode_base64url(Digest::SHA::sha1($der)) }   = $key;
}

sub _error {
    my ($status, $error, $number, $text) = @_;
    return { status => $status, type => 'json',
        body => encode_json({ error => $error, error_description => "AADSTS$number: $text",
        error_codes => [$number + 0],
        timestamp => scalar gmtime, trace_id => 'emulator', correlation_id => 'emulator' }) };
}

sub answer {
    my ($self, $cloud, $request, $tenant) = @_;
    return _error(400, 'invalid_request', 900144,
        'The content type must be application/x-www-form-urlencoded.')
        if ($request->{headers}{'content-type'} // '') !~ m{^application/x-www-form-urlencoded}i;
    my %form = map { map { s/\+/ /g; s/%([0-9a-fA-F]{2})/chr hex $1/ge;
        $_ } (split(/=/, $_, 2))[0, 1] } split /&/, $request->{body};
    return _error(400, 'invalid_request', 90002, "Tenant '$tenant' not found.")
        if lc $tenant ne lc $cloud->{tenant};
    return _error(400, 'unsupported_grant_type', 70003,
        'The app requested an unsupported grant type.')
        if ($form{grant_type} // '') ne 'client_credentials';
    return _error(400, 'unauthorized_client', 700016, 'Application was not found in the directory.')
        if lc($form{client_id} // '') ne lc $cloud->{client};
    return _error(400, 'invalid_scope', 1002012, 'The provided value for scope is not valid.')
        if !$cloud->scope_fits($request, $form{scope} // '');
    if (defined $form{client_assertion}) {
        return _error(400, 'invalid_request', 900144, 'client_assertion_type is wrong.')
            if ($form{client_assertion_type}
            // '') ne 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
        $cloud->secret(assertion => $form{client_assertion});
        my ($number, $text) = $self->_assertion($cloud, $form{client_assertion},
            $request->{own_url});
        return _error(401, 'invalid_client', $number, $text) if $number;
    }
    else {
        return _error(401, 'invalid_client', 7000218,
            'The request body must contain client_assertion or client_secret.')
            if !length($form{client_secret} // '');
        return _error(401, 'invalid_client', 7000215, 'Invalid client secret provided.')
            if !defined $cloud->{secret} || $form{client_secret} ne $cloud->{secret};
    }
    my $seconds = $cloud->{settings}{tokenSeconds};
    my $token = 'eyJ' . join '',
        map { ('A' .. 'Z', 'a' .. 'z', 0 .. 9, '-', '_')[rand 64] } 1 .. 2200;
    $self->{tokens}{$token} = Time::HiRes::time() + ($cloud->{settings}{tokenLives} // $seconds);
    $cloud->{counters}{tokens}++;
    $cloud->secret(token => $token);
    return { status => 200, type => 'json', headers => { 'Cache-Control' => 'no-store' },
        body => encode_json({ token_type => 'Bearer', expires_in => $seconds + 0,
        ext_expires_in => $seconds + 0, access_token => $token }) };
}

# () when it holds, else number and text of the refusal.
sub _assertion {
    my ($self, $cloud, $assertion, $endpoint) = @_;
    my ($head, $claims, $signature) = $assertion =~ /\A([\w-]+)\.([\w-]+)\.([\w-]+)\z/
        or return (50027, 'JWT token is invalid or malformed.');
    my ($h, $c) = map { scalar eval { decode_json(MIME::Base64::decode_base64url($_)) } } $head,
        $claims;
    return (50027, 'JWT token is invalid or malformed.') if ref $h ne 'HASH' || ref $c ne 'HASH';
    my $print = $h->{'x5t#S256'} // $h->{x5t} // '';
    my $key = $self->{by_thumbprint}{$print}
        or return (700027,
        'The certificate with the identifier used to sign the client assertion is not registered '
        . 'on application.');
    my %options = (
        PS256 => [qw(-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32 -sigopt
            rsa_mgf1_md:sha256)],
        RS256 => [],
    );
    my $options = $options{ $h->{alg} // '' }
        or return (5002738, 'Invalid JWT token. The algorithm is not supported.');
    _spew("$self->{dir}/signed", "$head.$claims");
    _spew("$self->{dir}/signature", MIME::Base64::decode_base64url($signature));
    open my $run, '-|', 'openssl', 'dgst', '-sha256', '-verify', $key, '-signature',
        "$self->{dir}/signature", @$options, "$self->{dir}/signed" or die "openssl: $!\n";
    my $said = do { local $/; <$run> } // '';
    close $run;
    return (700027, 'Client assertion failed signature validation.')
        if $? || $said !~ /Verified OK/;
    my $now = time + $cloud->{settings}{clockAhead};
    return (700024, 'Client assertion is not within its valid time range.')
        if ($c->{exp} // 0) < $now - 300 || ($c->{nbf} // $now) > $now + 300
        || $c->{exp} > $now + 86400;
    return (700023, 'Client assertion audience claim does not match.')
        if ($c->{aud} // '') ne $endpoint;
    return (700021, 'Client assertion application identifier does not match client_id.')
        if ($c->{iss} // '') ne $cloud->{client} || ($c->{sub} // '') ne $cloud->{client};
    return (50027, 'jti is missing or was used before.')
        if !length($c->{jti} // '') || $self->{seen}{ $c->{jti} }++;
    return ();
}

sub _spew { my ($file, $bytes) = @_; open my $out, '>:raw', $file or die "$file: $!\n";
    print {$out} $bytes; close $out or die "$file: $!\n" }

sub valid { my ($self, $token) = @_; my $until = $self->{tokens}{$token};
    return defined $until && Time::HiRes::time() < $until }

sub expire_all { my ($self) = @_; $self->{tokens} = {} }

1;
