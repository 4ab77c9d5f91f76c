package Idadmin::Test::Wire;
# A wire between a program and a server that can be cut: connections stay open, and nothing that is
# sent arrives any more. Later connections work.
use strict;
use warnings;
use Idadmin::Test ();
use IO::Select ();
use IO::Socket::INET ();
use POSIX ();

# new(PORT of the server)
sub new {
    my ($class, $server) = @_;
    my $port = Idadmin::Test::free_port();
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port,
        Proto => 'tcp', Listen => 64, ReuseAddr => 1) or die "port $port: $!\n";
    my $pid = Idadmin::Test::fork_plain();
    if (!$pid) {
        $SIG{PIPE} = 'IGNORE';
        eval { _serve($listen, $server) };
        POSIX::_exit(0);
    }
    $Idadmin::Test::daemons{$pid} = { name => 'wire', signal => 'KILL' };
    return bless { pid => $pid, port => $port }, $class;
}

sub port { return $_[0]{port} }

# What is connected now hears nothing more.
sub cut { my ($self) = @_; kill USR1 => $self->{pid} }

sub stop { my ($self) = @_; Idadmin::Test::stop_daemon($self->{pid}) }

sub _serve {
    my ($listen, $server) = @_;
    my $select = IO::Select->new($listen);
    my %other;
    # Stays open, is not read any more.
    $SIG{USR1} = sub { $select->remove(grep { $_ != $listen } $select->handles) };
    while (1) {
        for my $from ($select->can_read) {
            if ($from == $listen) {
                my $caller = $listen->accept or next;
                my $called = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $server,
                    Proto => 'tcp') or next;
                @other{ $caller, $called } = ($called, $caller);
                $select->add($caller, $called);
                next;
            }
            next if !$select->exists($from);
            my $to = $other{$from};
            if (!sysread $from, my $bytes, 65536) {
                $select->remove($from, $to);
                delete @other{ $from, $to };
                close $_ for $from, $to;
            }
            else {
                while (length $bytes) {
                    my $sent = syswrite $to, $bytes or last;
                    substr $bytes, 0, $sent, '';
                }
            }
        }
    }
}

1;
