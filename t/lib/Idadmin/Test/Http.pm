package Idadmin::Test::Http;
# HTTP/1.1 over a raw socket: any method, headers sent as given (repeated, empty, absent), bodies
# with every method, chunked or with a false length, keep-alive, raw bytes. Deliberately less polite
# than a client library.
use strict;
use warnings;
use IO::Select ();
use IO::Socket::INET ();
use Time::HiRes ();
use Idadmin::Test ();

my $IDLE = 10;    # seconds; the servers of these tests wait for 30

sub new {
    my ($class, $port, %how) = @_;
    return bless { host => $how{host} // '127.0.0.1', port => $port,
        timeout => $how{timeout} // 120 * Idadmin::Test::slowness(), buffer => '' }, $class;
}

sub connect {
    my ($self) = @_;
    $self->close;
    $self->{socket} = IO::Socket::INET->new(PeerAddr => $self->{host}, PeerPort => $self->{port},
        Proto => 'tcp', Timeout => 10)
        or die "cannot connect to $self->{host}:$self->{port}: $@\n";
    binmode $self->{socket};
    $self->{connections}++;
    $self->{used} = Time::HiRes::time();
    return $self;
}

sub close {
    my ($self) = @_;
    CORE::close(delete $self->{socket}) if $self->{socket};
    $self->{buffer} = '';
}

# How often this object has connected: 1 after many requests shows that keep-alive held.
sub connections { return $_[0]{connections} // 0 }

# request($method, $target, headers => [name => value, ...] or {...}, body => $bytes, chunked =>
# $size,
#     content_length => $claimed, host => $name, close => 1)
# -> { status, reason, version, headers => {lower-case name => value, doubled ones joined by ", "},
# all => [[name, value]...],
#      body, json (undef unless the type is JSON), seconds }
sub request {
    my ($self, $method, $target, %how) = @_;
    my @headers = ref $how{headers} eq 'HASH'
        ? map { ($_ => $how{headers}{$_}) } sort keys %{ $how{headers} } : @{ $how{headers} // [] };
    my $text = "$method $target HTTP/1.1\r\nHost: " . ($how{host} // "$self->{host}:$self->{port}")
        . "\r\n";
    while (my ($name, $value) = splice @headers, 0, 2) {
        $text .= "$name: $value\r\n" if defined $value;
    }
    my $body = $how{body};
    if ($how{chunked}) {
        $text .= "Transfer-Encoding: chunked\r\n";
        my $chunks = '';
        my $bytes = $body // '';
        for (my $at = 0; $at < length $bytes; $at += $how{chunked}) {
            my $piece = substr $bytes, $at, $how{chunked};
            $chunks .= sprintf "%x\r\n%s\r\n", length $piece, $piece;
        }
        $body = "${chunks}0\r\n\r\n";
    }
    elsif (defined $how{content_length}) { $text .= "Content-Length: $how{content_length}\r\n" }
    elsif (defined $body)                { $text .= 'Content-Length: ' . length($body) . "\r\n" }
    $text .= "Connection: close\r\n" if $how{close};
    $text .= "\r\n" . ($body // '');

    my $start  = Time::HiRes::time();
    # A kept connection that the server has closed meanwhile (keep-alive timeout, restart) is
    # replaced. One that breaks after the request was sent is not: the server may have done the
    # work. Reads alone are sent again then; others do not go over a connection that was idle for
    # so long that the server may be about to end it.
    my $reads  = $method =~ /^(?:GET|HEAD|OPTIONS)$/;
    my $reused = $self->{socket} && !$self->_closed
        && ($reads || $start - $self->{used} < $IDLE);
    $self->connect if !$reused;
    my $answer = $self->send_raw($text, 1) ? $self->read_answer($method, 1) : undef;
    if (!$answer) {
        die "connection closed without an answer to $method $target\n"
            if !$reused || !$reads;
        $self->connect->send_raw($text, 1);
        $answer = $self->read_answer($method);
    }
    $self->close if $how{close};
    $self->{used} = Time::HiRes::time();
    $answer->{seconds} = $self->{used} - $start;
    return $answer;
}

# Sends bytes as they are. An early answer (413 while the body is still on its way) is not an error:
# reading follows.
sub send_raw {
    my ($self, $bytes, $quiet) = @_;
    $self->connect if !$self->{socket};
    local $SIG{PIPE} = 'IGNORE';
    my $end = Time::HiRes::time() + $self->{timeout};
    for (my $at = 0; $at < length $bytes;) {
        my $sent = syswrite $self->{socket}, $bytes, 65536 > length($bytes) - $at
            ? length($bytes) - $at : 65536, $at;
        if (!defined $sent) {
            return $at > 0 ? 1 : 0 if $quiet;
            die "send: $!\n";
        }
        $at += $sent;
        die "send: no progress\n" if Time::HiRes::time() > $end;
        last if $at < length $bytes && IO::Select->new($self->{socket})->can_read(0);
    }
    return 1;
}

# Has the server ended this idle connection?
sub _closed {
    my ($self) = @_;
    return 0 if length $self->{buffer} || !IO::Select->new($self->{socket})->can_read(0);
    return !sysread $self->{socket}, $self->{buffer}, 65536, 0;
}

sub _more {
    my ($self) = @_;
    my $wait = IO::Select->new($self->{socket});
    $wait->can_read($self->{timeout}) or die "no answer within $self->{timeout} s\n";
    my $got = sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer};
    return $got;
}

sub _take_line {
    my ($self) = @_;
    while ($self->{buffer} !~ /\n/) {
        return undef if !$self->_more;
    }
    $self->{buffer} =~ s/^(.*?)\r?\n//;
    return $1;
}

sub _take_bytes {
    my ($self, $count) = @_;
    while (length $self->{buffer} < $count) {
        $self->_more or die "connection closed inside a body\n";
    }
    return substr $self->{buffer}, 0, $count, '';
}

# The next answer on the connection (interim 1xx ones are passed over). With $may_close: undef when
# nothing came.
sub read_answer {
    my ($self, $method, $may_close) = @_;
    my $line = $self->_take_line;
    if (!defined $line) {
        $self->close;
        return undef if $may_close;
        die "connection closed without an answer\n";
    }
    my ($version, $status, $reason) = $line =~ m{^HTTP/(\d\.\d) (\d{3})(?: (.*))?$}
        or die "not an HTTP answer: $line\n";
    my (%headers, @all);
    while (defined(my $header = $self->_take_line)) {
        last if $header eq '';
        my ($name, $value) = $header =~ /^([^:\s]+):[ \t]*(.*?)[ \t]*$/
            or die "bad header line: $header\n";
        push @all, [$name, $value];
        $headers{ lc $name } = exists $headers{ lc $name } ? $headers{ lc $name } . ", $value"
            : $value;
    }
    return $self->read_answer($method, $may_close) if $status < 200;
    my $body = '';
    if (($method // '') eq 'HEAD' || $status == 204 || $status == 304) { }
    elsif (($headers{'transfer-encoding'} // '') =~ /chunked/i) {
        while (1) {
            my $size = hex(($self->_take_line
                // die "connection closed inside a chunked body\n") =~ s/;.*//r);
            last if !$size;
            $body .= $self->_take_bytes($size);
            $self->_take_line;
        }
        while (defined(my $trailer = $self->_take_line)) { last if $trailer eq '' }
    }
    elsif (defined $headers{'content-length'}) {
        $body = $self->_take_bytes($headers{'content-length'}) }
    else {
        1 while $self->_more;
        $body = $self->{buffer};
        $self->close;
    }
    $self->close if ($headers{connection} // '') =~ /close/i || $version eq '1.0';
    my $json;
    $json = eval { Idadmin::Test::json_data($body) }
        if ($headers{'content-type'} // '') =~ m{^application/([\w.-]+\+)?json}i;
    return { status => $status + 0, reason => $reason // '', version => $version,
        headers => \%headers, all => \@all, body => $body, json => $json };
}

# The status that comes next: 100 is taken, an answer is left to be read.
sub next_status {
    my ($self) = @_;
    my $line = $self->_take_line // die "connection closed without an answer\n";
    my ($status) = $line =~ m{^HTTP/\d\.\d (\d{3})} or die "not an HTTP answer: $line\n";
    if ($status == 100) { $self->_take_line }
    else                { $self->{buffer} = "$line\r\n$self->{buffer}" }
    return $status;
}

1;
