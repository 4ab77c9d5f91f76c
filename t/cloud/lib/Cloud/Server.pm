package Cloud::Server;
# HTTP for the emulator on Mojolicious' event loop: requests in, answers out with latency, the faults of the connection, the record
# of traffic, and the control endpoint.
use strict;
use warnings;
use Cloud::Control;
use Cloud::Directory;
use Cloud::Record;
use Mojo::IOLoop;
use Mojo::Server::Daemon;
use Mojolicious;
use Socket ();

# new(cloud =>, listen => [URLs of Mojolicious])
sub new {
    my ($class, %how) = @_;
    my $self = bless { %how, record => Cloud::Record->new, hanging => [] }, $class;
    my $app = Mojolicious->new;
    $app->log->level('error');
    my $daemon = $self->{daemon} = Mojo::Server::Daemon->new(app => $app, listen => $how{listen}, silent => 1, inactivity_timeout => 0, keep_alive_timeout => 0, max_requests => 1_000_000_000, backlog => 1024);
    $daemon->unsubscribe('request')->on(request => sub { $self->_request($_[1]) });
    return $self;
}

sub run { my ($self) = @_; $self->{daemon}->run }

sub _request {
    my ($self, $tx) = @_;
    my $req  = $tx->req;
    my $path = $req->url->path->to_string;
    my $all  = $req->headers->to_hash;
    my %headers = map { (lc($_) => $all->{$_}) } keys %$all;
    my $origin  = ($tx->req->url->base->scheme // 'http') . '://' . ($headers{host} // '127.0.0.1');
    my $request = { method => $req->method, headers => \%headers, body => $req->body, query_text => $req->url->query->to_string };
    if ($path =~ m{\A/_control(?:/|\z)}) {
        @$request{qw(path query)} = (substr($path, 9), $req->url->query->to_hash);
        return $self->_send($tx, Cloud::Control::answer($self, $request));
    }
    if    ($path =~ m{\A/v1\.0(/.*)\z})                   { $request->{path} = $1 }
    elsif ($path =~ m{\A/([^/]+)/oauth2/v2\.0/token\z}) { @$request{qw(path token_of)} = ($path, $1) }
    else  { return $self->_send($tx, { status => 404, type => 'text/html', headers => {}, body => "<html><body>Not found.</body></html>\n" }) }
    $request->{root}    = "$origin/v1.0";
    $request->{base}    = "$request->{root}$request->{path}";
    $request->{own_url} = "$origin$path";
    my $answer = $self->{cloud}->handle($request);
    $self->{record}->write($request, $path, $answer) if $self->{record}{out};
    $self->_later($tx, $request, $answer);
}

# Latency, then the answer or what a fault makes of it.
sub _later {
    my ($self, $tx, $request, $answer) = @_;
    my $fault = $answer->{fault};
    my $ms = $self->{cloud}{settings}{latencyMs} + ($fault && $fault->{do} eq 'delay' ? $fault->{ms} // 1000 : 0);
    my $act = sub { $fault && $fault->{do} ne 'delay' ? $self->_act($tx, $fault, $answer) : $self->_send($tx, $answer) };
    return $act->() if !$ms;
    Mojo::IOLoop->timer($ms / 1000 => $act);
}

sub _headers {
    my ($self, $answer) = @_;
    my %headers = %{ $answer->{headers} // {} };
    $headers{'Content-Type'} = $answer->{type} eq 'json' ? 'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8' : $answer->{type} if defined $answer->{body} && $answer->{type};
    my $ahead = $self->{cloud}{settings}{clockAhead};
    $headers{Date} = Mojo::Date->new(time + $ahead)->to_string if $ahead;
    return \%headers;
}

sub _send {
    my ($self, $tx, $answer) = @_;
    my $res = $tx->res;
    $res->code($answer->{status});
    my $headers = $self->_headers($answer);
    $res->headers->header($_ => $headers->{$_}) for keys %$headers;
    $res->body($answer->{body} // '') if $answer->{status} != 204;
    $tx->resume;
}

# -- faults of the connection ----------------------------------------------------------------------------------------

sub _act {
    my ($self, $tx, $fault, $answer) = @_;
    my $stream = Mojo::IOLoop->stream($tx->connection // return) or return;
    my $do = $fault->{do};
    return _reset($stream) if $do eq 'reset';
    if ($do eq 'hang') {
        my $hanging = { release => sub { $stream->close } };
        push @{ $self->{hanging} }, $hanging;
        Mojo::IOLoop->timer($fault->{seconds} => $hanging->{release}) if $fault->{seconds};
        return;
    }
    my $body = $answer->{body} // '';
    my $headers = $self->_headers($answer);
    my $text = "HTTP/1.1 $answer->{status} Emulated\r\n" . join('', map {"$_: $headers->{$_}\r\n"} sort keys %$headers) . 'Content-Length: ' . (length($body) || 100) . "\r\n\r\n";
    if ($do eq 'drip') {
        my ($bytes, $at, $timer) = ("$text$body", 0);
        $timer = Mojo::IOLoop->recurring(($fault->{ms} // 100) / 1000 => sub {
            return Mojo::IOLoop->remove($timer) if $at >= length $bytes || !Mojo::IOLoop->stream($tx->connection);
            $stream->write(substr $bytes, $at++, 1);
        });
        return;
    }
    # Truncated: half of the body, then an end that was not announced.
    $text .= substr $body, 0, int(length($body) / 2);
    $stream->write($text => sub { $do eq 'truncateReset' ? _reset($stream) : $stream->close });
}

# With linger 0 the kernel sends RST instead of FIN.
sub _reset {
    my ($stream) = @_;
    setsockopt $stream->handle, Socket::SOL_SOCKET(), Socket::SO_LINGER(), pack('ii', 1, 0);
    $stream->close;
}

sub release {
    my ($self) = @_;
    $_->{release}->() for splice @{ $self->{hanging} };
}

1;
