package Idadmin::Test::Confined;
# A program under the system call filter, the address families and the memory rule of a systemd unit
# file, without systemd: the file's own lines become a seccomp filter that is installed before the
# program begins, as systemd does. A forbidden call kills the process (SIGSYS), as under systemd.
use strict;
use warnings;
use Idadmin::Test ();

# SECCOMP_RET_*; FAIL | errno
use constant { KILL => 0x80000000, ALLOW => 0x7fff0000, FAIL => 0x00050000 };
use constant { EPERM => 1, EAFNOSUPPORT => 97 };
# of struct seccomp_data; lower halves
use constant { LOAD => 0x20, EQUAL => 0x15, ANY_BIT => 0x45, AND => 0x54, RETURN => 0x06, NR => 0,
    ARCH => 4, ARGUMENTS => 16 };
my %arch     = (x86_64 => 0xC000003E, aarch64 => 0xC00000B7);
my %families = (AF_UNIX => 1, AF_INET => 2, AF_INET6 => 10, AF_NETLINK => 16, AF_PACKET => 17);

sub _machine { my $machine = `uname -m`; chomp $machine; return $machine }

sub skip_reason {
    return _machine() . ' is no machine whose system calls this knows' if !$arch{ _machine() };
    return 'the kernel has no seccomp filters' if !-e '/proc/sys/kernel/seccomp/actions_avail';
    return '';
}

# [name, value] of each line of [Service], in order.
sub settings {
    my ($file) = @_;
    my ($service) = Idadmin::Test::slurp($file) =~ /^\[Service\]\n(.*?)(?=^\[|\z)/ms
        or die "$file has no [Service]\n";
    return map { /^(\w+)=(.*)$/ ? [$1, $2] : () } split /\n/, $service;
}

# What systemd calls @name: of the systemd that is installed, else of 252.
sub _set {
    my ($name) = @_;
    our %sets;
    if (!%sets) {
        for my $line (split /\n/,
            Idadmin::Test::slurp(Idadmin::Test::src_dir() . '/t/lib/syscall-sets-252')) {
            my ($set, $members) = $line =~ /^(\@[\w-]+): (.*)$/ or next;
            $sets{$set} = [split / /, $members];
        }
        if (my $analyze = Idadmin::Test::program_path('systemd-analyze')) {
            my $current;
            for my $line (split /\n/,
                Idadmin::Test::run_command([$analyze, 'syscall-filter', '--no-pager'])->{out}) {
                $line =~ s/\e\[[\d;]*m//g;
                if ($line =~ /^(\@[\w-]+)/) { $sets{ $current = $1 } = [] }
                elsif ($current && $line =~ /^\s+(\@?\w[\w-]*)\s*$/) { push @{ $sets{$current} },
                    $1 }
            }
        }
    }
    return map { /^@/ ? _set($_)
        : $_ } @{ $sets{$name} // die "there is no group of system calls $name\n" };
}

# Names that the unit's filter leaves, in systemd's order of reading: the first line says whether
# the list is one of what is allowed.
sub allowed {
    my @lines = map { $_->[1] } grep { $_->[0] eq 'SystemCallFilter' } @_;
    die "the unit's first SystemCallFilter= is no list of what is allowed\n"
        if !@lines || $lines[0] =~ /^~/;
    my %allowed = map { $_ => 1 } _set('@default');
    for my $line (@lines) {    # ~: taken away again
        my $not = $line =~ s/^~//;
        for my $name (map { /^@/ ? _set($_) : $_ } split ' ', $line) {
            if   ($not) { delete $allowed{$name} }
            else        { $allowed{$name} = 1 }
        }
    }
    return keys %allowed;
}

sub _numbers {
    our %number;
    if (!%number) {
        my $made = Idadmin::Test::run_command([Idadmin::Test::build_config()->{cc}, '-E', '-dM',
            '-'], stdin => "#include <asm/unistd.h>\n");
        %number = $made->{out} =~ /^#define __NR_(\w+) (\d+)$/mg;
        die "the compiler knows no system calls: $made->{err}\n" if !%number;
    }
    return %number;
}

sub _program {
    my ($file) = @_;
    my @settings = settings($file);
    my %last     = map { @$_ } @settings;
    my %number   = _numbers();
    my @code;
    my $add = sub { my ($code, $value, $yes, $no) = @_;
        push @code, pack 'S C C L', $code, $yes // 0, $no // 0, $value };
    # One system call whose arguments decide: the rules, and ALLOW behind them.
    my $judged = sub {
        my ($name, $rules) = @_;
        my $before = @code;
        $rules->();
        $add->(RETURN, ALLOW);
        my @inner = splice @code, $before;
        $add->(EQUAL, $number{$name}, 0, scalar @inner);
        push @code, @inner;
    };
    $add->(LOAD, ARCH);
    $add->(EQUAL, $arch{ _machine() }, 1, 0);
    $add->(RETURN, KILL);
    $add->(LOAD, NR);
    if (my @names = split ' ', $last{RestrictAddressFamilies} // '') {
        $judged->(socket => sub {
            $add->(LOAD, ARGUMENTS);
            for my $name (@names) {
                $add->(EQUAL, $families{$name} // die("address family $name is not known here\n"),
                    0, 1);
                $add->(RETURN, ALLOW);
            }
            $add->(RETURN, FAIL | EAFNOSUPPORT);
        });
    }
    if (($last{MemoryDenyWriteExecute} // '') eq 'yes') {
        $judged->(mmap => sub { $add->(LOAD, ARGUMENTS + 16); $add->(AND, 6);
            $add->(EQUAL, 6, 0, 1); $add->(RETURN, FAIL | EPERM) });
        $judged->(mprotect => sub { $add->(LOAD, ARGUMENTS + 16); $add->(ANY_BIT, 4, 0, 1);
            $add->(RETURN, FAIL | EPERM) });
    }
    for my $name (sort grep { defined $number{$_} } allowed(@settings)) {
        $add->(EQUAL, $number{$name}, 0, 1);
        $add->(RETURN, ALLOW);
    }
    $add->(RETURN, KILL);
    return join '', @code;
}

# Reads the program, puts it on for itself (prctl: no new privileges; seccomp:
# SECCOMP_SET_MODE_FILTER), becomes what is named behind.
my $launcher = <<'PERL';
my ($file, $prctl, $seccomp, @command) = @ARGV;
open my $in, '<:raw', $file or die "$file: $!\n";
my $code = do { local $/; <$in> };
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or die "prctl: $!\n";
my $filter = pack 'S x![P] P', length($code) / 8, $code;
syscall($seccomp + 0, 1, 0, $filter) == 0 or die "seccomp: $!\n";
exec { $command[0] } @command or die "$command[0]: $!\n";
PERL

# What goes before a command line.
sub prefix {
    my ($unit) = @_;
    my $file = Idadmin::Test::spew(Idadmin::Test::tempdir() . '/filter' . ++our $count,
        _program($unit));
    my %number = _numbers();
    return ($^X, '-e', $launcher, $file, @number{qw(prctl seccomp)});
}

1;
