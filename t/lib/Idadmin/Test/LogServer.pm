package Idadmin::Test::LogServer;
# A log server on a free port: syslog over TLS. What it does with a connection is set while it runs
# (mode): ok, slow (reads after 0.3 s), deaf (closes without reading), reset (reads a part and
# resets the connection), lost (keeps all lines and resets it).
use strict;
use warnings;
use Idadmin::Test ();
use IO::Socket::INET ();
use JSON::PP ();
use POSIX ();
use Socket qw(SOL_SOCKET SO_LINGER);
use Time::HiRes ();

# new({ cert, key }): files. It does not listen yet.
sub new {
    my ($class, $files) = @_;
    my $base = Idadmin::Test::tempdir() . '/logserver' . ++our $count;
    mkdir $base or die "$base: $!\n";
    return bless { base => $base, files => $files, port => Idadmin::Test::free_port() }, $class;
}

sub address { return "127.0.0.1:$_[0]{port}" }

# Also again after stop, on the same port, perhaps with another certificate.
sub start {
    my ($self, $files) = @_;
    $self->{files} = $files // $self->{files};
    $self->mode('ok') if !-e "$self->{base}/mode";
    my $listen = IO::Socket::INET->new(LocalAddr => $self->address, Proto => 'tcp', Listen => 16,
        ReuseAddr => 1) or die "log server: $!\n";
    my $pid = Idadmin::Test::fork_plain();
    if (!$pid) {
        $SIG{PIPE} = 'IGNORE';
        eval { _serve($self, $listen) };
        print STDERR "log server: $@" if $@;
        POSIX::_exit(0);
    }
    $Idadmin::Test::daemons{$pid} = { name => 'log server', signal => 'KILL' };
    $self->{pid} = $pid;
    return $self;
}

sub stop {
    my ($self) = @_;
    Idadmin::Test::stop_daemon(delete $self->{pid}, 'KILL');
    return $self;
}

sub mode {
    my ($self, $mode) = @_;
    Idadmin::Test::spew("$self->{base}/mode.new", $mode);
    rename "$self->{base}/mode.new", "$self->{base}/mode" or die "mode: $!\n";
}

# Connections that were ended in this mode.
sub ended {
    my ($self, $mode) = @_;
    return -e "$self->{base}/ends" ? scalar grep { $_ eq $mode }
        split /\n/, Idadmin::Test::slurp("$self->{base}/ends") : 0;
}

# Lines in the order of their arrival: text, pri, host, msgid, company, number, hash, correlation,
# json.
sub lines {
    my ($self) = @_;
    my $journal = "$self->{base}/journal";
    return map { _parsed($_) } -e $journal ? split(/\n/, Idadmin::Test::slurp($journal)) : ();
}

sub _parsed {
    my ($text) = @_;
    $text =~ m{^<(\d+)>1\ (\d{4}-\d\d-\d\dT[\d:.]+Z)\ (\S+)\ idadmin\ -\ (\S+)\ \[idadmin\@32473
        \ company="([^"]*)"\ number="(\d+)"\ hash="([0-9a-f]{64})"\ category="\w+"\ outcome="\w+"
        \ correlation="([^"]*)"\]\ (\{.*\})$}x or return { text => $text };
    return { text => $text, pri => $1, at => $2, host => $3, msgid => $4, company => $5,
        number => $6, hash => $7, correlation => $8, json => Idadmin::Test::json_data($9) };
}

# -- the server

sub _append {
    my ($file, $text) = @_;
    open my $out, '>>:raw', $file or die "$file: $!\n";
    syswrite $out, $text;
    close $out;
}

sub _serve {
    my ($self, $listen) = @_;
    require IO::Socket::SSL;
    while (my $socket = $listen->accept) {
        my $raw = $socket;
        $socket = IO::Socket::SSL->start_SSL($socket, SSL_server => 1,
            SSL_cert_file => $self->{files}{cert}, SSL_key_file => $self->{files}{key}) or next;
        my $mode = Idadmin::Test::slurp("$self->{base}/mode");
        my $text = '';
        Time::HiRes::sleep(0.3) if $mode eq 'slow';
        if ($mode eq 'reset') { sysread $socket, $text, 600 }
        elsif ($mode ne 'deaf') { 1 while sysread $socket, $text, 65536, length $text }
        if ($mode ne 'reset') {
            my $lines = '';
            while ($text =~ s/^(\d+) //) { $lines .= substr($text, 0, $1, '') . "\n" }
            _append("$self->{base}/journal", $lines);
        }
        setsockopt $raw, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0) if $mode =~ /^(?:reset|lost)$/;
        $socket->close(SSL_no_shutdown => 1);
        close $raw;
        _append("$self->{base}/ends", "$mode\n");
    }
}

1;
