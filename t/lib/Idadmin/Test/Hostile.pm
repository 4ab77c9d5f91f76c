package Idadmin::Test::Hostile;
# Valid requests, changed: bytes anywhere, a line of the head, the target, the body with a correct
# length; sent over HTTP/1.1 or HTTP/2 (prior knowledge, frames written by hand, so that they can be
# wrong), each on its own connection. Only the status of the answer is returned.
use strict;
use warnings;
use IO::Select ();
use IO::Socket::INET ();
use Idadmin::Test ();
use Time::HiRes ();

my @telling = ("\0", "\r\n", "\n", "\t", ' ', '%00', '%2e%2e/', '..', '//', '%', '+', '&', '=', '?',
    '#', ';', ':', ',', '"', "'", '\\', '{', '}', '[', ']', '-', '0', '9' x 30, '1e999', 'null',
    'true', '*', '(', ')', '<script>', "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
    "\xe2\x80\xae", "\xcc\x8a" x 20, 'A' x 300, 'A' x 9000, '\ud800', '\u0000', '{"a":' x 70);
my @head_lines = ('Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked',
    'Content-Length: 0', 'Content-Length: 18446744073709551616', 'Content-Length: -1',
    'Content-Type: text/plain', 'Content-Type: application/json; charset=utf-7',
    'Content-Encoding: gzip', 'Expect: 100-continue', 'Expect: x', 'Range: bytes=0-0',
    'If-None-Match: *', 'If-Match: "x"', 'Upgrade: h2c', 'Connection: X-Api-Key, close', 'Host:',
    'X-Company-ID: other', 'X-Api-Key:', 'Authorization: Bearer a:b:c',
    'Idempotency-Key: ' . 'k' x 300,
    'X-HTTP-Method-Override: DELETE', 'Sec-Fetch-Site: cross-site', 'Origin: null', ' folded: yes',
    'Accept: ' . 'a/b, ' x 900, 'Prefer: respond-async', 'Trailer: X-Api-Key', 'TE: trailers');

# new($port, seed => N, changes => 0: none)
sub new {
    my ($class, $port, %how) = @_;
    srand $how{seed};
    return bless { port => $port, changes => $how{changes} // 1,
        timeout => 20 * Idadmin::Test::slowness() }, $class;
}

sub _pick { return $_[rand @_] }

sub _bytes {
    my ($text) = @_;
    my $at = int rand(1 + length $text);
    my $length = int rand 1 + _pick(1, 1, 4, 40);
    my $how = int rand 6;
    if    ($how == 0) { substr $text, $at, $length, '' }
    elsif ($how == 1) { substr($text, $at, 1) ^= chr(1 << int rand 8) if $at < length $text }
    elsif ($how == 2) { substr $text, $at, 0, substr $text, $at, $length }
    elsif ($how == 3) { substr $text, $at, 1, chr int rand 256 if $at < length $text }
    elsif ($how == 4) { substr $text, $at, $length, _pick(@telling) if $at < length $text }
    else              { substr $text, $at, 0, _pick(@telling) }
    return $text;
}

# -> a changed copy of { method, target, headers => [[name, value]...], body }
sub changed {
    my ($request) = @_;
    my %new = (%$request, headers => [map { [@$_] } @{ $request->{headers} }]);
    for (1 .. _pick(1, 1, 1, 2, 4)) {
        my $how = int rand 8;
        my $headers = $new{headers};
        if    ($how == 0) { $new{target} = _bytes($new{target}) }
        elsif ($how == 1) {
            my $header = _pick(@$headers);
            $header->[rand 2] = _bytes($header->[1]);
        }
        elsif ($how == 2) { splice @$headers, rand @$headers, 1 if @$headers > 1 }
        elsif ($how == 3) { push @$headers, [split /: ?/, _pick(@head_lines), 2] }
        elsif ($how == 4 && !length($new{body} // '')) { $new{method} = _bytes($new{method}) }
        else { $new{body} = _bytes($new{body} // '') }
    }
    return \%new;
}

sub _connected {
    my ($self, $bytes) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{port},
        Timeout => $self->{timeout}) or die "cannot connect: $@\n";
    local $SIG{PIPE} = 'IGNORE';
    syswrite $socket, $bytes;
    return $socket;
}

# Reads until $enough->($bytes) or the end; undef when the time is over.
sub _read {
    my ($self, $socket, $enough, $patience) = @_;
    my ($bytes, $end) = ('', Time::HiRes::time() + ($patience // $self->{timeout}));
    my $wait = IO::Select->new($socket);
    while (!$enough->($bytes)) {
        $wait->can_read($end - Time::HiRes::time()) or return (undef, $bytes);
        sysread $socket, $bytes, 65536, length $bytes or last;
    }
    return (1, $bytes);
}

# What a changed request leaves waiting for its rest is ended by us.
sub _answer {
    my ($self, $socket, $enough) = @_;
    my ($ended, $answer) = $self->_read($socket, $enough, $self->{changes} ? 0.05 : undef);
    $self->{left} = !$ended;
    shutdown $socket, 1;
    ($ended, my $more) = $self->_read($socket, sub {0});
    die "no end of what was answered: $answer$more\n" if !$ended;
    return $answer . $more;
}

# -- HTTP/1.1

sub _text {
    my ($request) = @_;
    my $body = $request->{body} // '';
    return "$request->{method} $request->{target} HTTP/1.1\r\n"
        . join('', map {"$_->[0]: " . ($_->[1] // '') . "\r\n"} @{ $request->{headers} })
        . (length $body ? 'Content-Length: ' . length($body) . "\r\n" : '') . "\r\n$body";
}

sub _tasks { return map {"task $_"} $_[0] =~ /is queued; .*?"taskId":"?([\w-]+)/g }

# One in three times bytes of the whole are changed, its framing too. -> statuses of what was
# answered, "none" without one, "task ID" for what was queued; dies where nothing ends.
sub over_http1 {
    my ($self, $request) = @_;
    my $socket = $self->_connected(!$self->{changes} ? _text($request)
        : rand() < 1 / 3 ? _bytes(_text($request)) : _text(changed($request)));
    my $answer = $self->_answer($socket, sub { $_[0] =~ /\A.*?\r\n\r\n(.*)\z/s
        && length $1 >= ($_[0] =~ /^content-length: (\d+)/mi ? $1 : 0) });
    # a torn first line may ask for HTTP/0.9, whose answers have no head
    die "no HTTP: $answer\n" if $answer =~ m{\A(?!HTTP/1\.[01] \d{3} )[^<\{]};
    my @statuses = $answer =~ m{^HTTP/1\.[01] (\d{3}) }mg;
    # What has closed its end counts as gone: its write is given up, where it was not yet done.
    @statuses = grep { $_ != 503 } @statuses if $self->{left};
    return (@statuses ? @statuses : 'none', _tasks($answer));
}

# -- HTTP/2 (RFC 9113; RFC 7541 without table and Huffman code)

sub _frame {
    my ($type, $flags, $stream, $payload) = @_;
    return substr(pack('N', length $payload), 1) . pack('CCN', $type, $flags, $stream) . $payload;
}

sub _length { my ($n) = @_;
    return chr $n if $n < 127;
    my $text = chr 127;
    for ($n -= 127; $n >= 128; $n >>= 7) { $text .= chr(128 | $n & 127) }
    return $text . chr $n }

sub _field { my ($name, $value) = @_;
    return "\0" . join '', map { _length(length) . $_ } $name, $value // '' }

sub _frames {
    my ($request) = @_;
    my $body = $request->{body} // '';
    my $head = join '', _field(':method', $request->{method}), _field(':scheme', 'http'),
        _field(':path', $request->{target}),
        map { _field(lc $_->[0] eq 'host' ? ':authority' : lc $_->[0], $_->[1]) }
        sort { (lc $b->[0] eq 'host') <=> (lc $a->[0] eq 'host') } @{ $request->{headers} };
    my @pieces = $head =~ /(.{1,16000})/gs;
    my $last = length $body ? 0 : 1;
    my $text = '';
    for my $i (0 .. $#pieces) {
        $text .= _frame($i ? 9 : 1, ($i == $#pieces ? 4 : 0) | ($i ? 0 : $last), 1, $pieces[$i]);
    }
    my @data = $body =~ /(.{1,16000})/gs;
    $text .= _frame(0, $_ == $#data, 1, $data[$_]) for 0 .. $#data;
    return $text;
}

my @digits = ((map { sprintf '%05b', $_ } 0 .. 2), map { sprintf '%06b', $_ } 25 .. 31);

# The status in a header block: indexed, or digits as they are or in Huffman's code.
sub _status {
    my ($block) = @_;
    $block =~ s/\A[\x20-\x3f]+//;
    my $first = ord $block;
    my %indexed = (0x88 => 200, 0x89 => 204, 0x8a => 206, 0x8b => 304, 0x8c => 400, 0x8d => 404,
        0x8e => 500);
    return $indexed{$first} if $indexed{$first};
    my $length = ord substr $block, 1, 1;
    my $value = substr $block, 2, $length & 127;
    return $value if $length < 128;
    my ($bits, $status) = (unpack('B*', $value), '');
    for (1 .. 3) {
        my ($digit) = grep { index($bits, $digits[$_]) == 0 } 0 .. 9;
        return "unreadable\n" if !defined $digit;
        $status .= $digit;
        substr $bits, 0, length $digits[$digit], '';
    }
    return $status;
}

# -> ([type, flags, stream, payload]...)
sub _read_frames {
    my ($bytes) = @_;
    my @frames;
    while (length $bytes >= 9) {
        my $length = unpack 'N', "\0" . substr $bytes, 0, 3;
        last if length $bytes < 9 + $length;
        my ($type, $flags, $stream) = unpack 'x3CCN', $bytes;
        push @frames, [$type, $flags, $stream, substr $bytes, 9, $length];
        substr $bytes, 0, 9 + $length, '';
    }
    return @frames;
}

sub _is_over {
    my ($bytes) = @_;
    return grep { $_->[0] == 7 || ($_->[2] == 1 && ($_->[0] == 3
        || ($_->[0] <= 1 && $_->[1] & 1))) } _read_frames($bytes);
}

sub over_http2 {
    my ($self, $request) = @_;
    my $torn = $self->{changes} && rand() < 1 / 3;
    my $frames = _frames($torn || !$self->{changes} ? $request : changed($request));
    my $socket = $self->_connected("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        . _frame(4, 0, 0, pack 'nNnN', 1, 0, 4, 1 << 30) . ($torn ? _bytes($frames) : $frames));
    my $answer = $self->_answer($socket, \&_is_over);
    my @heads = grep { $_->[0] == 1 } _read_frames($answer);
    return (@heads ? (map { _status($_->[3]) } @heads) : 'none', _tasks($answer));
}

1;
