package Idadmin::Test::Tls;
# A test authority and a server certificate for 127.0.0.1 and localhost, made once for each script
# with the openssl program.
use strict;
use warnings;
use Idadmin::Test ();

sub _openssl {
    my $result = Idadmin::Test::run_command(['openssl', @_]);
    die "openssl @_: $result->{err}" if $result->{exit};
}

my @curve = (-newkey => 'ec', -pkeyopt => 'ec_paramgen_curve:prime256v1');

# -> { ca, cert, key } : file names
sub files {
    our $files;
    return $files if $files;
    my $dir = Idadmin::Test::tempdir() . '/tls';
    mkdir $dir;
    _openssl('req', '-x509', @curve, '-nodes', -days => 2, -subj => '/CN=idadmin test authority',
        -addext => 'basicConstraints=critical,CA:TRUE',
        -addext => 'keyUsage=critical,keyCertSign,cRLSign', -keyout => "$dir/ca.key",
        -out => "$dir/ca.pem");
    chmod 0644, "$dir/ca.pem";
    $files = { ca => "$dir/ca.pem" };
    my $server = certificate('server', '/CN=127.0.0.1', 'IP:127.0.0.1,DNS:localhost');
    $files = { %$files, %$server };
    return $files;
}

# A further certificate of the same authority: certificate($name, $subject, $alternative_names) -> {
# cert, key } : file names. Subject parts go from the root of the name to its leaf
# ("/DC=example/CN=x").
sub certificate {
    my ($name, $subject, $names) = @_;
    our $files;
    files() if !$files;
    my $dir = Idadmin::Test::tempdir() . '/tls';
    _openssl('req', '-new', @curve, '-nodes', -subj => $subject, -keyout => "$dir/$name.key",
        -out => "$dir/$name.csr");
    Idadmin::Test::spew("$dir/$name.ext",
        ($names ? "subjectAltName=$names\n" : '')
        . "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n");
    _openssl('x509', '-req', -in => "$dir/$name.csr", -CA => "$dir/ca.pem", -CAkey => "$dir/ca.key",
        '-CAcreateserial', -days => 2,
        -extfile => "$dir/$name.ext", -out => "$dir/$name.pem");
    chmod 0644, "$dir/$name.pem";
    return { cert => "$dir/$name.pem", key => "$dir/$name.key" };
}

1;
