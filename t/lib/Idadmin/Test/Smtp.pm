package Idadmin::Test::Smtp;
# A mail server (t/double/smtp/server.py: aiosmtpd) on a free port, and the mail it accepted.
use strict;
use warnings;
use Encode ();
use Idadmin::Test ();
use Idadmin::Test::Tls ();
use MIME::Base64 ();
use MIME::QuotedPrint ();

my $python = '/usr/bin/python3';

sub skip_reason {
    return 'python3 is not installed' if !-x $python;
    return system("$python -c 'import aiosmtpd' 2>/dev/null") == 0 ? ''
        : 'python3-aiosmtpd is not installed';
}

# new(tls => 'starttls' | 'smtps' | '', auth => { user, password }, start => 0)
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/smtp' . ++our $count;
    mkdir $base or die "$base: $!\n";
    my $self = bless { base => $base, port => Idadmin::Test::free_port(),
        tls => $how{tls} // 'starttls', auth => $how{auth} }, $class;
    my $tls = Idadmin::Test::Tls::files();
    Idadmin::Test::spew("$base/config.json",
        Idadmin::Test::json_text({ port => $self->{port}, tls => $self->{tls},
        auth => $self->{auth}, cert => $tls->{cert}, key => $tls->{key},
        journal => "$base/journal" }));
    return ($how{start} // 1) ? $self->start : $self;
}

sub start {
    my ($self) = @_;
    $self->{pid} = Idadmin::Test::daemon([$python,
        Idadmin::Test::src_dir() . '/t/double/smtp/server.py', "$self->{base}/config.json"],
        log => "$self->{base}/log");
    Idadmin::Test::within(sub { Idadmin::Test::ended($self->{pid})
        || IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port}, Proto => 'tcp',
        Timeout => 2) });
    die "the mail server does not start:\n" . Idadmin::Test::slurp("$self->{base}/log")
        if Idadmin::Test::ended($self->{pid});
    return $self;
}

sub stop { my ($self) = @_; return $self->{pid} ? Idadmin::Test::stop_daemon(delete $self->{pid})
    : undef }

sub url { my ($self) = @_; return ($self->{tls} eq 'smtps' ? 'smtps' : 'smtp')
    . "://127.0.0.1:$self->{port}" }

# Options of idadmin-worker that lead here.
sub options {
    my ($self, %how) = @_;
    return ('--smtp-url', $self->url, '--smtp-from',
        $how{from} // 'Identity Sërvice <identity@nordic.example>',
        ($self->{tls} ? ('--smtp-ca-file', Idadmin::Test::Tls::files()->{ca}) : ()),
        ($self->{auth} ? ('--smtp-user', $self->{auth}{user}, '--smtp-password-file',
            Idadmin::Test::secret_file("$self->{base}/password",
            ($how{password} // $self->{auth}{password}) . "\n")) : ()));
}

# Mail taken for an address (or all), oldest first: from, to, tls, user, headers { lower-case name
# => value, decoded }, body (decoded), raw.
sub mail {
    my ($self, $to) = @_;
    return () if !-e "$self->{base}/journal";
    return map { _parse($_) } grep { !defined $to || $_->{to}[0] eq $to }
        map { Idadmin::Test::json_data($_) }
            split /\n/, Idadmin::Test::slurp("$self->{base}/journal");
}

sub _parse {
    my ($mail) = @_;
    my ($head, $body) = split /\r\n\r\n/, $mail->{data}, 2;
    my %headers;
    for my $line (split /\r\n(?![ \t])/, $head) {
        my ($name, $value) = $line =~ /^([!-9;-~]+):[ \t]*(.*)$/s or die "no header line: $line\n";
        die "$name twice\n" if exists $headers{ lc $name };
        $value =~ s/\r\n([ \t])/$1/g;
        $headers{ lc $name } = Encode::decode('MIME-Header', $value);
    }
    return { %$mail, headers => \%headers,
        body => Encode::decode_utf8(MIME::QuotedPrint::decode_qp($body) =~ s/\r\n/\n/gr),
        raw => $mail->{data} };
}

1;
