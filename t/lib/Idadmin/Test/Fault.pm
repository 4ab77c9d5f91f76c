package Idadmin::Test::Fault;
# A program that dies, or gets an error, at its Nth write (t/faults/kill.c is preloaded into it),
# and whose clocks are the test's.
use strict;
use warnings;
use Idadmin::Test ();
use Time::HiRes ();

my %kinds = (write => 1, sync => 2, rename => 4, unlink => 8, send => 16, commit => 32,
    connect => 64);
my $any   = 31;
my $disk  = 15;    # what a disk can refuse
my %how   = (before => 0, after => 1, abort => 2, segfault => 3, within => 4, ENOSPC => 1028,
    EROFS => 1030);
my %field = do { my $n = 0;
    map { $_ => 8 * $n++ } qw(kinds at times how whole port count happened commits real_ms speed
    since_ns shown_ns spared) };

# new(NAME of the program): nothing happens yet. Give env to Worker, Httpd or ctl.
sub new {
    my ($class, $program) = @_;
    my $file = Idadmin::Test::tempdir() . '/fault' . ++our $count;
    Idadmin::Test::spew($file, "\0" x (8 * keys %field));
    chmod 0666, $file;
    return bless { file => $file, program => $program }, $class;
}

# A program whose clock runs so many times as fast from its start; $why says what proves meanwhile
# that nothing is lost by it (t/README.md lists it).
sub faster {
    my ($class, $program, $speed, $why) = @_;
    return $class->new($program)->speed($speed);
}

# As root a copy: the programs' users may not be able to reach the build.
sub _library {
    our $library;
    if (!$library) {
        $library = Idadmin::Test::tempdir() . '/kill.so';
        Idadmin::Test::spew($library,
            Idadmin::Test::slurp(Idadmin::Test::build_dir() . '/faults/kill.so'));
        chmod 0755, $library;
    }
    return $library;
}

# A sanitizer's runtime comes before it.
sub env {
    my ($self) = @_;
    my $config = Idadmin::Test::build_config();
    return { LD_PRELOAD => join(' ', grep {length} $config->{sanitizers} ? $config->{preload} : '',
        _library(), $ENV{LD_PRELOAD} // ''), IDADMIN_FAULT => $self->{file},
        IDADMIN_FAULT_PROGRAM => $self->{program} };
}

sub _set {
    my ($self, %values) = @_;
    open my $file, '+<', $self->{file} or die "$self->{file}: $!\n";
    for my $name (sort keys %values) {
        sysseek $file, $field{$name}, 0;
        syswrite($file, pack 'q<', $values{$name}) == 8 or die "$self->{file}: $!\n";
    }
}

sub _get {
    my ($self, $name) = @_;
    return unpack 'q<', substr Idadmin::Test::slurp($self->{file}), $field{$name}, 8;
}

# arm(at => N, how => 'before' or another word of %how, whole => 1 (killed with its whole process
# group), times => 1, kinds => [all but commit and connect], port => of connect): N 0 only counts.
# For a commit: before, within (not answered yet) and after (answered).
sub arm {
    my ($self, %plan) = @_;
    my $bits = ($plan{how} // '') =~ /^E/ ? $disk : $any;
    if ($plan{kinds}) { $bits = 0; $bits |= $kinds{$_} // die "kind $_\n" for @{ $plan{kinds} } }
    $self->_set(kinds => 0);
    $self->_set(at => $plan{at} // 0, times => $plan{times} // 1, how => $how{$plan{how}
        // 'before'},
        whole => $plan{whole} ? 1 : 0, port => $plan{port} // 0, count => 0, happened => 0,
        commits => 0);
    $self->_set(kinds => $bits);
    return $self;
}

# Calls of this process do not count.
sub spare { my ($self, $pid) = @_; $self->_set(spared => $pid); return $self }

sub disarm   { my ($self) = @_; $self->_set(kinds => 0); return $self }
sub count    { return $_[0]->_get('count') }
sub commits  { return $_[0]->_get('commits') }
sub happened { return $_[0]->_get('happened') }

# The wall clock goes ahead (or behind) by so many seconds, from one call to the next.
sub step { my ($self, $seconds) = @_; $self->_set(real_ms => 1000 * $seconds); return $self }

# What the program's monotonic clock shows now, and our own.
sub _shown {
    my ($self) = @_;
    my $ns = int 1e9 * Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
    my $since = $self->_get('since_ns') or return ($ns, $ns);
    return ($self->_get('shown_ns') + ($ns - $since) * $self->_get('speed'), $ns);
}

# All at once: halfway the clock would show nonsense.
sub _set_clock {
    my ($self, $speed, $since, $shown) = @_;
    open my $file, '+<', $self->{file} or die "$self->{file}: $!\n";
    sysseek $file, $field{speed}, 0;
    syswrite($file, pack 'q<3', $speed, $since, $shown) == 24 or die "$self->{file}: $!\n";
}

# The monotonic clock of the program runs so many times as fast, from its present value on; 0: it
# stands still, and no limit of time is ever reached.
sub speed {
    my ($self, $speed) = @_;
    my ($shown, $ns) = $self->_shown;
    $self->_set_clock($speed, $ns, $shown);
    return $self;
}

# Waits for a condition (within) that needs leases to end: the clock leaps over one in three steps,
# again and again. Between the steps the waiting worker sees the lease, and whether its holder
# lives; behind them calls have all their time, which a clock that ran fast all along would take.
sub within_leases {
    my ($self, $block) = @_;
    my ($steps, $next) = (0, Time::HiRes::time() + 0.5);
    return Idadmin::Test::within(sub {
        my $value = $block->();
        if (!$value && Time::HiRes::time() > $next) {
            $self->leap(21);
            $next = Time::HiRes::time() + (++$steps % 3 ? 0.5 : 3 * Idadmin::Test::slowness());
        }
        return $value;
    });
}

# The monotonic clock of the program is right again: ahead by as long as it stood still.
sub right { my ($self) = @_; $self->_set_clock(0, 0, 0); return $self }

# The monotonic clock of the program goes ahead by so many seconds from one call to the next: leases
# end, and no call that begins later has less time.
sub leap {
    my ($self, $seconds) = @_;
    my ($shown, $ns) = $self->_shown;
    $Idadmin::Test::clock_leapt = 1;
    $self->_set_clock($self->_get('since_ns') ? $self->_get('speed') : 1, $ns,
        $shown + 1e9 * $seconds);
    return $self;
}

1;
