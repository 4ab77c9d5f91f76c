package Idadmin::Test::Webhook;
# A receiver of webhooks on free ports, with and without TLS. The path determines the answer: /ok,
# /status/N, /busy/K/N/S (status N the first K times, with Retry-After S, 1 without it), /short/N
# (status N, then half an answer), /redirect (302 to /ok), /drop (no answer, the first time), /cut
# (never one), /late (after 0.3 s), /big (an endless answer), /hang, /hang-once (the first time).
# Calls before a stop count.
use strict;
use warnings;
use Digest::SHA ();
use Idadmin::Test ();
use Idadmin::Test::Tls ();
use IO::Select ();
use IO::Socket::INET ();
use MIME::Base64 ();
use POSIX ();
use Time::HiRes ();

sub new {
    my ($class) = @_;
    my $base = Idadmin::Test::tempdir() . '/webhook' . ++our $count;
    mkdir $base or die "$base: $!\n";
    my $key  = join '', map { chr rand 256 } 1 .. 32;
    my $self = bless { base => $base, key => $key, port => Idadmin::Test::free_port(),
        tls_port => Idadmin::Test::free_port() }, $class;
    $self->{secret} = Idadmin::Test::secret_file("$base/secret",
        'whsec_' . MIME::Base64::encode_base64($key, '') . "\n");
    return $self->start;
}

# Again after stop, on the same ports.
sub start {
    my ($self) = @_;
    for my $port ('port', 'tls_port') {
        my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $self->{$port},
            Proto => 'tcp', Listen => 64, ReuseAddr => 1) or die "webhook: $!\n";
        my $pid = Idadmin::Test::fork_plain();
        if (!$pid) {
            $SIG{PIPE} = 'IGNORE';
            eval { _serve($listen, $port eq 'tls_port', "$self->{base}/journal") };
            print STDERR "webhook: $@" if $@;
            POSIX::_exit(0);
        }
        $Idadmin::Test::daemons{$pid} = { name => 'webhook', signal => 'KILL' };
        push @{ $self->{pids} }, $pid;
    }
    return $self;
}

# Stops listening.
sub stop {
    my ($self) = @_;
    Idadmin::Test::stop_daemon($_, 'KILL') for splice @{ $self->{pids} };
    return $self;
}

sub secret { return $_[0]{secret} }
sub url     { my ($self, $path) = @_; return "http://127.0.0.1:$self->{port}$path" }
sub tls_url { my ($self, $path) = @_; return "https://127.0.0.1:$self->{tls_port}$path" }

# Calls of a path (or all), oldest first: path, at (seconds), headers { lower-case }, body, json,
# signed: 1 when the signature is right by this side's reckoning.
sub calls {
    my ($self, $path) = @_;
    $self->_read_on;
    return map { {%$_} } grep { !defined $path || $_->{path} eq $path } @{ $self->{read} };
}

# Who waits for a call asks again and again: what was read is kept.
sub _read_on {
    my ($self) = @_;
    open my $in, '<:raw', "$self->{base}/journal" or return;
    seek $in, $self->{read_to} // 0, 0;
    while (defined(my $line = <$in>)) {
        last if $line !~ /\n\z/;
        $self->{read_to} = tell $in;
        my $call = Idadmin::Test::json_data($line);
        push @{ $self->{read} }, { %$call, json => Idadmin::Test::json_data($call->{body}),
            signed => $self->_signed($call) };
    }
}

# As the specification of Standard Webhooks requires of receivers.
sub _signed {
    my ($self, $call) = @_;
    my ($id, $at, $signatures) = @{
        $call->{headers} }{qw(webhook-id webhook-timestamp webhook-signature)};
    return 0 if abs(time - $at) > 300;
    my $expected = MIME::Base64::encode_base64(Digest::SHA::hmac_sha256("$id.$at.$call->{body}",
        $self->{key}), '');
    return scalar grep { $_ eq "v1,$expected" } split / /, $signatures;
}

# -- the server

sub _serve {
    my ($listen, $tls, $journal) = @_;
    my %seen;
    if (open my $in, '<:raw', $journal) {
        $seen{ Idadmin::Test::json_data($_)->{path} }++ while <$in>;
    }
    while (my $socket = $listen->accept) {
        if ($tls) {
            require IO::Socket::SSL;
            my $files = Idadmin::Test::Tls::files();
            $socket = IO::Socket::SSL->start_SSL($socket, SSL_server => 1,
                SSL_cert_file => $files->{cert}, SSL_key_file => $files->{key}) or next;
        }
        my $text = '';
        while ($text !~ /\r\n\r\n/) {
            sysread $socket, $text, 65536, length $text or last;
        }
        my ($head, $body) = split /\r\n\r\n/, $text, 2;
        next if !defined $body;
        my %headers = map { /^([^:]+):\s*(.*)$/ ? (lc $1 => $2) : () } split /\r\n/, $head;
        while (length $body < $headers{'content-length'}) {
            sysread $socket, $body, 65536, length $body or last;
        }
        my ($path) = $head =~ /^POST (\S+)/ or next;
        open my $out, '>>', $journal or die "$journal: $!\n";
        $out->autoflush(1);
        print {$out} Idadmin::Test::json_text({ path => $path, at => Time::HiRes::time(),
            headers => \%headers, body => $body }), "\n";
        close $out;
        _answer($socket, $path, $seen{$path}++);
        close $socket;
    }
}

sub _answer {
    my ($socket, $path, $before) = @_;
    my ($status, $more) = (200, '');
    $status = $1 if $path =~ m{^/(?:status|short)/(\d+)};
    ($status, $more) = ($2, 'Retry-After: ' . ($3 // 1) . "\r\n")
        if $path =~ m{^/busy/(\d+)/(\d+)(?:/(\d+))?} && $before < $1;
    ($status, $more) = (302, "Location: /ok\r\n") if $path eq '/redirect';
    return if $path =~ m{^/cut} || ($path =~ m{^/drop} && !$before);
    if ($path eq '/hang' || ($path =~ m{^/hang-once} && !$before)) {
        sysread $socket, my $byte, 1;
        return;
    }
    if ($path eq '/big') {
        syswrite $socket, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
        1 while syswrite $socket, 'x' x 65536;
        return;
    }
    select undef, undef, undef, 0.3 if $path eq '/late';
    my $length = $path =~ m{^/short} ? 200 : 2;
    syswrite $socket,
        "HTTP/1.1 $status Status\r\n${more}Content-Length: $length\r\nConnection: close\r\n\r\nok";
}

1;
