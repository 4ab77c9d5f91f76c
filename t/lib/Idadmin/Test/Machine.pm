package Idadmin::Test::Machine;
# The present speed of this machine: a fixed piece of processor work and one fsync, timed. For the
# limits of the tests that run alone (t/ALONE); no other test may use it.
use strict;
use warnings;
use Digest::SHA ();
use IO::Handle ();
use Idadmin::Test ();
use List::Util qw(max);
use Time::HiRes ();

# What they take on a quiet machine of two processors, s.
my %usual = (work => 0.10, sync => 0.004);

# { work, sync } in seconds: the median of five.
sub measure {
    my ($directory) = @_;
    my $bytes = 'x' x 1_000_000;
    return { work => _median(sub { Digest::SHA::sha256($bytes) for 1 .. 25 }),
        sync => _median(sub {
            open my $file, '>', "$directory/fsync" or die "$directory/fsync: $!\n";
            syswrite $file, 'x' x 4096;
            $file->sync or die "fsync: $!\n";
        }) };
}

sub _median {
    my ($block) = @_;
    my @took = sort { $a <=> $b } map {
        my $begun = Time::HiRes::time();
        $block->();
        Time::HiRes::time() - $begun;
    } 1 .. 5;
    return $took[2];
}

# How many times as long as usual things take: at least 1.
sub pace {
    my ($measured) = @_;
    return max(1, map { $measured->{$_} / $usual{$_} } keys %usual);
}

# The limit of a test that runs alone: $seconds on a quiet machine. Measured at the beginning of the
# run and of the program, because a machine may have become slower meanwhile.
sub limit {
    my ($seconds) = @_;
    our $pace //= max($ENV{IDADMIN_PACE} // 1, pace(measure(Idadmin::Test::tempdir())));
    return $seconds * $pace * Idadmin::Test::slowness();
}

1;
