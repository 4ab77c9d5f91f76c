package Idadmin::Test::RandomScript;
# Random changes of a directory, the same for the same seed: a back-end (RandomScript/*.pm) has the
# kinds of change with their weights and executes them; this module chooses. A back-end has:
#   changes        [[name, weight, code], ...]; code->($script) tells false when there is nothing to
#                  change just now
#   carry_out      sends what was collected; the number of those that the directory refused
#   truth          the directory as Mirror compares it, once nothing moves in it any more
#   restart        the server ends and comes back
use strict;
use warnings;

sub new {
    my ($class, $backend, $seed) = @_;
    my $self = bless { backend => $backend, state => ($seed * 2654435761 + 12345) & 0xffffffff,
        done => 0, refused => 0, of => {} }, $class;
    $self->number(2) for 1 .. 10;
    return $self;
}

# 0 .. below - 1. A generator of its own: perl's is used by the harness too.
sub number {
    my ($self, $below) = @_;
    my $x = $self->{state} || 1;
    $x ^= $x << 13 & 0xffffffff;
    $x ^= $x >> 17;
    $x ^= $x << 5 & 0xffffffff;
    $self->{state} = $x & 0xffffffff;
    return int $self->{state} / 4294967296 * $below;
}

sub chance { my ($self, $share) = @_; return $self->number(1000) < 1000 * $share }
sub one_of { my ($self, @list) = @_; return @list ? $list[$self->number(scalar @list)] : undef }

# run($count, without => qr/names of changes/)
sub run {
    my ($self, $count, %how) = @_;
    my @changes = grep { !$how{without} || $_->[0] !~ $how{without} } $self->{backend}->changes;
    my $weights = 0;
    $weights += $_->[1] for @changes;
    for (1 .. $count) {
        my $done = 0;
        until ($done) {
            my $at = $self->number($weights);
            my ($change) = grep { ($at -= $_->[1]) < 0 } @changes;
            $done = $change->[2]->($self);
            $self->{of}{ $change->[0] }++ if $done;
        }
        $self->{done}++;
    }
    $self->{refused} += $self->{backend}->carry_out;
    return $self;
}

# "add 12, rename 3, ..."
sub told { my ($self) = @_; return join ', ',
    map {"$_ $self->{of}{$_}"} sort keys %{ $self->{of} } }

1;
