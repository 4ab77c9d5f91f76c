package Idadmin::Test::Gate;
# A gate in front of slapd's database (overlay sock): an operation that matches a rule waits inside
# the server until the test releases it, before anything was written. So a test knows in which
# directory call a worker is.
use strict;
use warnings;
use Idadmin::Test ();
use IO::Select ();
use IO::Socket::UNIX ();
use POSIX ();
use Socket ();
use Time::HiRes ();

# new: listens; options for Slapd->new in slapd_options.
sub new {
    my ($class) = @_;
    our $count++;
    my $self = bless { path => Idadmin::Test::tempdir() . "/gate$count" }, $class;
    my $listen = IO::Socket::UNIX->new(Type => Socket::SOCK_STREAM(), Local => $self->{path},
        Listen => 128) or die "$self->{path}: $!\n";
    my $pid = Idadmin::Test::fork_plain();
    if (!$pid) {
        $SIG{PIPE} = 'IGNORE';
        eval { _serve($listen) };
        POSIX::_exit(0);
    }
    $Idadmin::Test::daemons{$pid} = { name => 'gate', signal => 'KILL' };
    return $self;
}

# slapd works with as many operations at once as it has threads; each waiting one takes one.
sub slapd_options {
    my ($self) = @_;
    return (global => "threads 64\nmoduleload back_sock\n",
        conf =>
        "overlay sock\nextensions binddn connid\nsocketpath $self->{path}\nsockops search modify "
        . "add modrdn delete\n");
}

# -- for the test

sub _ask {
    my ($self, %what) = @_;
    my $socket = IO::Socket::UNIX->new(Type => Socket::SOCK_STREAM(), Peer => $self->{path})
        or die "$self->{path}: $!\n";
    print {$socket} 'CONTROL ' . Idadmin::Test::json_text(\%what) . "\n\n";
    $socket->flush;
    my $answer = do { local $/; <$socket> };
    return Idadmin::Test::json_data($answer);
}

# The first operation whose text (as of slapd-sock(5)) matches waits under this name.
sub hold { my ($self, $name, $pattern) = @_;
    return $self->_ask(do => 'hold', name => $name, pattern => "$pattern") }

# Names of what waits now.
sub waiting { my ($self) = @_; return @{ $self->_ask(do => 'waiting') } }

# Lets it go: 'landed' carries it out, 'lost' drops it unheard. The rule ends, also when nothing has
# matched it yet.
sub release { my ($self, $name, $how) = @_;
    return $self->_ask(do => 'release', name => $name, how => $how) }

# Every write since the start: [number, operation, connection, DN], in order; of one DN pattern,
# after a number.
sub writes {
    my ($self, %of) = @_;
    return grep { $_->[0] > ($of{after} // 0)
        && $_->[3] =~ ($of{dn} // qr/./) } @{ $self->_ask(do => 'writes') };
}

# -- the process between

sub _end { my ($select, $socket) = @_; $select->remove($socket); close $socket }

sub _serve {
    my ($listen) = @_;
    my $select = IO::Select->new($listen);
    my (%text, @rules, %waiting, @writes);
    while (1) {
        for my $ready ($select->can_read) {
            if ($ready == $listen) {
                my $new = $listen->accept or next;
                $new->blocking(0);
                $select->add($new);
                $text{$new} = '';
                next;
            }
            my $got = sysread $ready, $text{$ready}, 65536, length $text{$ready};
            if (!$got) {
                next if !defined $got && $!{EAGAIN};
                delete $text{$ready};
                delete $waiting{$_} for grep { $waiting{$_} == $ready } keys %waiting;
                _end($select, $ready);
                next;
            }
            next if $text{$ready} !~ /\n\n\z/;
            my $request = $text{$ready};
            if ($request =~ /^CONTROL (.*)/) {
                my $what = Idadmin::Test::json_data($1);
                my $answer = [];
                if    ($what->{do} eq 'hold')    { push @rules,
                    [$what->{name}, qr/$what->{pattern}/] }
                elsif ($what->{do} eq 'waiting') { $answer = [sort keys %waiting] }
                elsif ($what->{do} eq 'writes')  { $answer = \@writes }
                else  { @rules = grep { $_->[0] ne $what->{name} } @rules }
                if ($what->{do} eq 'release' and my $held = delete $waiting{ $what->{name} }) {
                    syswrite $held, $what->{how} eq 'landed' ? "CONTINUE\n"
                        : "RESULT\ncode: 52\ninfo: dropped by the test\n";
                    delete $text{$held};
                    _end($select, $held);
                }
                $ready->blocking(1);
                print {$ready} Idadmin::Test::json_text($answer);
                delete $text{$ready};
                _end($select, $ready);
                next;
            }
            my ($operation) = $request =~ /^(\w+)/;
            my ($dn)        = $request =~ /^dn: (.*)$/m;
            my ($connection) = $request =~ /^connid: (\d+)$/m;
            push @writes, [scalar(@writes) + 1, $operation, $connection // 0, $dn // '']
                if $operation ne 'SEARCH';
            my ($rule) = grep { !defined $waiting{ $_->[0] } && $request =~ $_->[1] } @rules;
            if ($rule) {
                @rules = grep { $_ != $rule } @rules;
                $waiting{ $rule->[0] } = $ready;
                next;
            }
            syswrite $ready, "CONTINUE\n";
            delete $text{$ready};
            _end($select, $ready);
        }
    }
}

1;
