package Idadmin::Test::LdapPeer;
# The scripted LDAP peer (t/double/ldap-peer/peer.pl) on free ports, with valid and invalid
# certificates. Its content and orders are described at the top of peer.pl and of
# LdapPeer/Content.pm.
use strict;
use warnings;
use Idadmin::Test ();
use IO::Socket::SSL::Utils ();

our $suffix  = 'dc=peer,dc=example';
our $people  = "ou=people,$suffix";
our $groups  = "ou=groups,$suffix";
our $service = "cn=idadmin,ou=services,$suffix";

sub password { return 'peer-Passw0rd-1' }

# new(like => PEER: its authority and certificates, sites => N addresses, each with a script of its
# own: site(0) ... site(N - 1),
#     dialect => 'openLdap'|'activeDirectory', users => 10, groups => { name => members }, sync =>
#     0: no content synchronisation, start => 0)
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/ldap-peer' . ++our $count;
    mkdir $base or die "$base: $!\n";
    my $self = bless { base => $base, log => "$base/output", site => 0, number => 0 }, $class;
    my $like = delete $how{like};
    $self->{authority} = $like ? $like->{authority} : $class->authority($base);
    $self->{config} = { dialect => 'openLdap', users => 10, groups => { 'All staff' => 8 },
        sync => 1, %how, directory => $base, password => password(),
        sites => [map { [Idadmin::Test::free_port(), Idadmin::Test::free_port()] } 1 .. $how{sites}
        // 1], certificates => $like ? $like->{config}{certificates} : $self->_certificates };
    delete $self->{config}{start};
    return ($how{start} // 1) ? $self->start : $self;
}

sub _save {
    my ($file, $certificate, $key) = @_;
    Idadmin::Test::spew("$file.pem", IO::Socket::SSL::Utils::PEM_cert2string($certificate));
    Idadmin::Test::spew("$file.key", IO::Socket::SSL::Utils::PEM_key2string($key));
    return { cert => "$file.pem", key => "$file.key" };
}

# An authority of its own: { ca => FILE, issuer => [certificate, key] }
sub authority {
    my ($class, $base, $name) = @_;
    my $key = IO::Socket::SSL::Utils::KEY_create_ec('prime256v1');
    my ($certificate) = IO::Socket::SSL::Utils::CERT_create(CA => 1, key => $key,
        subject => { commonName => 'peer authority ' . ++our $authorities },
        not_before => time - 86400, not_after => time + 86400);
    return { ca => _save("$base/" . ($name // 'ca'), $certificate, $key)->{cert},
        issuer => [$certificate, $key] };
}

sub _certificates {
    my ($self) = @_;
    my $stranger = ref($self)->authority($self->{base}, 'stranger');
    my @here = (subjectAltNames => [[IP => '127.0.0.1'], [DNS => 'localhost']]);
    my %kinds = (
        good      => [@here],
        expired   => [@here, not_before => time - 20 * 86400, not_after => time - 10 * 86400],
        early     => [@here, not_before => time + 10 * 86400, not_after => time + 20 * 86400],
        wrongHost => [subjectAltNames => [[DNS => 'ldap.elsewhere.example'], [IP => '127.9.9.9']]],
        unknownCa => [@here, issuer => $stranger->{issuer}],
        selfSigned => [@here, issuer => undef],
    );
    my %files;
    for my $kind (sort keys %kinds) {
        my $key = IO::Socket::SSL::Utils::KEY_create_ec('prime256v1');
        my %more = (issuer => $self->{authority}{issuer}, @{ $kinds{$kind} });
        delete $more{issuer} if !$more{issuer};
        my ($certificate) = IO::Socket::SSL::Utils::CERT_create(key => $key,
            subject => { commonName => "peer $kind" }, purpose => 'server', %more);
        $files{$kind} = _save("$self->{base}/$kind", $certificate, $key);
    }
    return \%files;
}

sub start {
    my ($self) = @_;
    my $file = Idadmin::Test::spew("$self->{base}/config.json",
        Idadmin::Test::json_text($self->{config}));
    for my $site (map { $self->site($_) } 0 .. $#{ $self->{config}{sites} }) { $site->script
        if !-e "$self->{base}/script.$site->{site}.json" }
    $self->{pid} = Idadmin::Test::daemon([$^X,
        Idadmin::Test::src_dir() . '/t/double/ldap-peer/peer.pl', $file], log => $self->{log});
    Idadmin::Test::within(sub { Idadmin::Test::ended($self->{pid})
        || IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{config}{sites}[-1][1],
        Proto => 'tcp', Timeout => 2) });
    die "the scripted peer does not start:\n" . Idadmin::Test::slurp($self->{log})
        if Idadmin::Test::ended($self->{pid});
    return $self;
}

sub stop { my ($self) = @_; return $self->{pid} ? Idadmin::Test::stop_daemon(delete $self->{pid})
    : undef }

# script(rules => [...], certificate => ..., ...): from now on, for connections old and new; without
# arguments it behaves.
sub script {
    my ($self, %script) = @_;
    $script{number} = ++$self->{number};
    Idadmin::Test::spew("$self->{base}/script.new", Idadmin::Test::json_text(\%script));
    rename "$self->{base}/script.new", "$self->{base}/script.$self->{site}.json"
        or die "script: $!\n";
    return $self;
}

# Lines of what it has seen: "CONNECTION REQUEST DN FILTER", "CONNECTION fault NAME", ...
sub seen { my ($self, $pattern) = @_;
    my @lines = -e "$self->{base}/log" ? split /\n/, Idadmin::Test::slurp("$self->{base}/log") : ();
    return grep { !$pattern || /$pattern/ } @lines }
sub forget { my ($self) = @_; Idadmin::Test::spew("$self->{base}/log", '') }

# The same peer at another of its addresses.
sub site { my ($self, $site) = @_; return bless { %$self, site => $site, number => 0 }, ref $self }

sub url       { my ($self) = @_;
    return "ldap://127.0.0.1:$self->{config}{sites}[$self->{site}][0]" }
sub ldaps_url { my ($self) = @_;
    return "ldaps://127.0.0.1:$self->{config}{sites}[$self->{site}][1]" }
sub ca_file   { return $_[0]{authority}{ca} }

# The `directories.onPremises` member of a tenant document.
sub document {
    my ($self, %changes) = @_;
    my $ad = $self->{config}{dialect} eq 'activeDirectory';
    return {
        urls => [$self->ldaps_url], startTls => JSON::PP::false(),
            dialect => $self->{config}{dialect}, bind => 'simple', bindDn => $service,
        bindPasswordFile => Idadmin::Test::secret_file("$self->{base}/bind.password",
        password() . "\n"), caFile => $self->ca_file,
        userBase => $people, groupBase => $groups, createIn => $people, upnAttribute => $ad
        ? 'userPrincipalName' : 'mail', syncInterval => '1s',
        ($ad ? () : (markerAttribute => 'employeeType',
        placeholderMember => "cn=placeholder,$groups")), %changes,
    };
}

1;
