package Idadmin::Test::Tls;
# A test authority and a server certificate for 127.0.0.1 and localhost, made once a script with the openssl program.
use strict;
use warnings;
use Idadmin::Test ();

sub _openssl {
    my $result = Idadmin::Test::run_command(['openssl', @_]);
    die "openssl @_: $result->{err}" if $result->{exit};
}

# -> { ca, cert, key } : file names
sub files {
    our $files;
    return $files if $files;
    my $dir = Idadmin::Test::tempdir() . '/tls';
    mkdir $dir;
    my @curve = (-newkey => 'ec', -pkeyopt => 'ec_paramgen_curve:prime256v1');
    _openssl('req', '-x509', @curve, '-nodes', -days => 2, -subj => '/CN=idadmin test authority', -addext => 'basicConstraints=critical,CA:TRUE',
        -addext => 'keyUsage=critical,keyCertSign,cRLSign', -keyout => "$dir/ca.key", -out => "$dir/ca.pem");
    _openssl('req', '-new', @curve, '-nodes', -subj => '/CN=127.0.0.1', -keyout => "$dir/server.key", -out => "$dir/server.csr");
    Idadmin::Test::spew("$dir/server.ext", "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n");
    _openssl('x509', '-req', -in => "$dir/server.csr", -CA => "$dir/ca.pem", -CAkey => "$dir/ca.key", '-CAcreateserial', -days => 2,
        -extfile => "$dir/server.ext", -out => "$dir/server.pem");
    chmod 0644, "$dir/ca.pem", "$dir/server.pem";
    $files = { ca => "$dir/ca.pem", cert => "$dir/server.pem", key => "$dir/server.key" };
    return $files;
}

1;
