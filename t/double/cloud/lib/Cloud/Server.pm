package Cloud::Server;
# HTTP/1.1 for the emulator on Mojolicious' event loop, without its HTTP server: pages must be cheap
# for benchmarks, and faults need the raw connection. Requests in, answers out with latency, faults
# of the connection, the record of traffic, the control endpoint.
use strict;
use warnings;
use Cloud::Control;
use Cloud::Record;
use Mojo::Date;
use Mojo::IOLoop;
use Socket ();

use constant MAX_HEAD => 65536;

# new(cloud =>, listen => [{ port } or { port, cert, key }...])
sub new {
    my ($class, %how) = @_;
    my $self = bless { %how, record => Cloud::Record->new, hanging => [] }, $class;
    for my $where (@{ $how{listen} }) {
        my $tls = $where->{cert} ? 1 : 0;
        Mojo::IOLoop->server({ address => '127.0.0.1', port => $where->{port}, backlog => 1024,
            ($tls ? (tls => 1, tls_cert => $where->{cert}, tls_key => $where->{key}) : ()) } =>
            sub {
            my ($loop, $stream) = @_;
            my $connection = { stream => $stream, scheme => $tls ? 'https' : 'http', buffer => '',
                busy => 0 };
            $stream->timeout(0);
            $stream->on(read => sub { $connection->{buffer} .= $_[1]; $self->_next($connection) });
            $stream->on(close => sub { delete $connection->{stream} });
            $stream->on(error => sub { });
        });
    }
    return $self;
}

sub run {
    my ($self) = @_;
    local $SIG{TERM} = local $SIG{INT} = sub { Mojo::IOLoop->stop };
    local $SIG{PIPE} = 'IGNORE';
    Mojo::IOLoop->recurring(1 => sub { });    # so that signals are seen
    Mojo::IOLoop->start;
}

# -- requests

# Takes whole requests out of the buffer, one at a time: the next when the one before is answered.
sub _next {
    my ($self, $connection) = @_;
    while ($connection->{stream} && !$connection->{busy}) {
        my $request = _parse($connection) // return;
        $connection->{busy} = 1;
        if (!ref $request) {
            $connection->{close} = 1;
            $self->_send($connection,
                { status => 400, type => 'text/plain', body => "$request\n" });
            return;
        }
        $self->_serve($connection, $request);
    }
}

# A request, a complaint, or undef until there is more.
sub _parse {
    my ($connection) = @_;
    my $buffer = \$connection->{buffer};
    my $end = index $$buffer, "\r\n\r\n";
    return length $$buffer > MAX_HEAD ? 'The header is too long.' : undef if $end < 0;
    my ($line, @lines) = split /\r\n/, substr $$buffer, 0, $end;
    my ($method, $target, $version) = ($line // '') =~ m{\A([A-Z]+) (/\S*) HTTP/1\.([01])\z}
        or return 'This is no HTTP/1.1 request.';
    my %headers;
    for (@lines) {
        my ($name, $value) = /\A([!-9;-~]+):[ \t]*(.*?)[ \t]*\z/
            or return 'A header line is malformed.';
        $name = lc $name;
        $headers{$name} = exists $headers{$name} ? "$headers{$name}, $value" : $value;
    }
    my $body;
    if (($headers{'transfer-encoding'} // '') =~ /\bchunked\z/i) {
        my $at = $end + 4;
        $body = '';
        while (1) {
            my $eol = index $$buffer, "\r\n", $at;
            return _wait($connection, \%headers) if $eol < 0;
            my ($hex) = substr($$buffer, $at, $eol - $at) =~ /\A([0-9a-fA-F]{1,8})(?:;|\z)/
                or return 'A chunk is malformed.';
            my $size = hex $hex;
            return _wait($connection, \%headers) if length $$buffer < $eol + 2 + $size + 2;
            $body .= substr $$buffer, $eol + 2, $size;
            $at = $eol + 2 + $size + 2;
            last if !$size;
        }
        substr $$buffer, 0, $at, '';
    }
    else {
        my $length = $headers{'content-length'} // 0;
        return 'Content-Length is malformed.' if $length !~ /\A\d{1,9}\z/;
        return _wait($connection, \%headers) if length $$buffer < $end + 4 + $length;
        $body = substr $$buffer, $end + 4, $length;
        substr $$buffer, 0, $end + 4 + $length, '';
    }
    $connection->{continued} = 0;
    my ($path, $query) = split /\?/, $target, 2;
    $connection->{close} = 1 if lc($headers{connection} // '') eq 'close' || !$version;
    return { method => $method, path => $path, query_text => $query // '', headers => \%headers,
        body => $body };
}

sub _wait {
    my ($connection, $headers) = @_;
    $connection->{stream}->write("HTTP/1.1 100 Continue\r\n\r\n")
        if lc($headers->{expect} // '') eq '100-continue' && !$connection->{continued}++;
    return undef;
}

sub _serve {
    my ($self, $connection, $request) = @_;
    my $path   = $request->{path};
    my $origin = "$connection->{scheme}://" . ($request->{headers}{host} // '127.0.0.1');
    if ($path =~ m{\A/_control(/.*|)\z}) {
        $request->{path} = $1;
        return $self->_send($connection, Cloud::Control::answer($self, $request));
    }
    if    ($path =~ m{\A/v1\.0(/.*)\z})                   { $request->{path} = $1 }
    elsif ($path =~ m{\A/([^/]+)/oauth2/v2\.0/token\z}) { $request->{token_of} = $1 }
    else  { return $self->_send($connection,
        { status => 404, type => 'text/html', body => "<html><body>Not found.</body></html>\n" }) }
    $request->{root}    = "$origin/v1.0";
    $request->{base}    = "$request->{root}$request->{path}";
    $request->{own_url} = "$origin$path";
    my $answer = $self->{cloud}->handle($request);
    $self->{record}->write($request, $path, $answer) if $self->{record}{out};

    my $fault = $answer->{fault};
    my $delay = $fault && $fault->{do} eq 'delay';
    my $ms = $self->{cloud}{settings}{latencyMs} + ($delay ? $fault->{ms} // 1000 : 0);
    my $act = sub { $fault && !$delay ? $self->_act($connection, $fault, $answer)
        : $self->_send($connection, $answer) };
    return $act->() if !$ms;
    Mojo::IOLoop->timer($ms / 1000 => sub { $act->(); $self->_next($connection) });
}

# -- answers

my %reason = (200 => 'OK', 201 => 'Created', 204 => 'No Content', 400 => 'Bad Request',
    401 => 'Unauthorized', 403 => 'Forbidden', 404 => 'Not Found',
    405 => 'Method Not Allowed', 410 => 'Gone', 411 => 'Length Required',
    413 => 'Payload Too Large', 415 => 'Unsupported Media Type',
    429 => 'Too Many Requests', 500 => 'Internal Server Error', 501 => 'Not Implemented',
    503 => 'Service Unavailable');
my $json =
    'application/json;odata.metadata=minimal;odata.streaming=true;'
    . 'IEEE754Compatible=false;charset=utf-8';

sub _head {
    my ($self, $answer, $length) = @_;
    my $now = time + $self->{cloud}{settings}{clockAhead};
    if (($self->{date_of} // 0) != $now) {
        @$self{qw(date_of date)} = ($now, Mojo::Date->new($now)->to_string) }
    my $status = $answer->{status};
    my $text = "HTTP/1.1 $status " . ($reason{$status} // 'Other') . "\r\nDate: $self->{date}\r\n";
    my $headers = $answer->{headers} // {};
    $text .= "$_: $headers->{$_}\r\n" for sort keys %$headers;
    $text .= 'Content-Type: ' . ($answer->{type} eq 'json' ? $json : $answer->{type}) . "\r\n"
        if defined $answer->{body} && $answer->{type};
    return $status == 204 ? "$text\r\n" : "${text}Content-Length: $length\r\n\r\n";
}

sub _send {
    my ($self, $connection, $answer) = @_;
    my $stream = $connection->{stream} // return;
    my $body = $answer->{status} == 204 ? '' : $answer->{body} // '';
    $connection->{busy} = 0;
    my $text = $self->_head($answer, length $body) . $body;
    return $stream->write($text) if !$connection->{close};
    $connection->{busy} = 1;
    $stream->write($text => sub { $_[0]->close });
}

# -- faults of the connection

sub _act {
    my ($self, $connection, $fault, $answer) = @_;
    my $stream = $connection->{stream} // return;
    my $do = $fault->{do};
    return _reset($stream) if $do eq 'reset';
    if ($do eq 'hold') {
        push @{ $self->{hanging} }, sub { $self->_send($connection, $answer);
            $self->_next($connection) };
        return;
    }
    if ($do eq 'hang') {
        my $release = sub { $connection->{stream}->close if $connection->{stream} };
        push @{ $self->{hanging} }, $release;
        Mojo::IOLoop->timer($fault->{seconds} => $release) if $fault->{seconds};
        return;
    }
    my $body = $answer->{body} // '';
    my $text = $self->_head($answer, length $body || 100);
    if ($do eq 'drip') {
        my ($bytes, $at, $timer) = ("$text$body", 0);
        $timer = Mojo::IOLoop->recurring(($fault->{ms} // 100) / 1000 => sub {
            return Mojo::IOLoop->remove($timer) if !$connection->{stream};
            $stream->write(substr $bytes, $at++, 1);
            return if $at < length $bytes;
            Mojo::IOLoop->remove($timer);
            $connection->{busy} = 0;
            $self->_next($connection);
        });
        return;
    }
    # Truncated: half of the body, then an end that was not announced.
    $text .= substr $body, 0, int(length($body) / 2);
    $stream->write($text => sub { $do eq 'truncateReset' ? _reset($_[0]) : $_[0]->close });
}

# With linger 0 the kernel sends RST instead of FIN.
sub _reset {
    my ($stream) = @_;
    setsockopt $stream->handle, Socket::SOL_SOCKET(), Socket::SO_LINGER(), pack('ii', 1, 0);
    $stream->close;
}

sub release {
    my ($self) = @_;
    $_->() for splice @{ $self->{hanging} };
}

1;
