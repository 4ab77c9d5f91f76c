#!/usr/bin/perl
# Runs test programs: check.pl PROGRAM...; those that t/ALONE names after all others, one at a time.
# One PostgreSQL serves all of them. Success is "Result: PASS" and no sanitizer's report: a run that
# skipped everything proves nothing. Failures are repeated at the end.
#
# To find tests that depend on a quiet machine: IDADMIN_BUSY=2 keeps so many processors busy during
# the run, IDADMIN_SLOW="fsync=20 connect=10 begin=20 commit=50" makes each such call take so many
# ms longer. To find those that depend on the day: IDADMIN_CLOCK="2028-02-29 22:55" (UTC) is what
# the clock shows when the run begins.
use strict;
use warnings;
use FindBin ();
use lib "$FindBin::Bin/../lib";
use File::Copy ();
use File::Path ();
use File::Temp ();
use Idadmin::Test::Machine ();
use POSIX ();
use TAP::Harness ();
use Time::Local ();

my $source = $ENV{IDADMIN_SRC}   // die "IDADMIN_SRC is not set\n";
my $build  = $ENV{IDADMIN_BUILD} // die "IDADMIN_BUILD is not set\n";
my @programs = @ARGV or die "check.pl: there is no test to run\n";

$| = 1;
my $owner = $$;
# Programs that still run stop what they started.
$SIG{$_} = sub { kill TERM => children(); exit 130 } for qw(INT TERM HUP);
File::Path::make_path("$build/obj/check");
my $dir     = File::Temp->newdir('idadmin-suite-XXXXXX', TMPDIR => 1);
my $machine = Idadmin::Test::Machine::measure("$dir");
my $pace    = Idadmin::Test::Machine::pace($machine);
# As it was when the run began: over midnight too it is one run.
$ENV{IDADMIN_DAY} //= int time / 86400;
$ENV{IDADMIN_PACE} = $pace;
printf "Machine: %.0f ms for a fixed piece of work, %.2f ms for an fsync; limits of %s x %.1f\n",
    1000 * $machine->{work}, 1000 * $machine->{sync}, 't/ALONE', $pace;

my @busy = map { busy_loop() } 1 .. ($ENV{IDADMIN_BUSY} || 0);
slow_calls()  if $ENV{IDADMIN_SLOW};
other_clock() if $ENV{IDADMIN_CLOCK};
my $server = $ENV{IDADMIN_TEST_PGSQL} ? undef : start_server();
my %alone  = map { $_ => 1 } alone();
my @last   = grep { $alone{ name_of($_) } } @programs;
my @first  = grep { !$alone{ name_of($_) } } @programs;

# A program that hangs is ended, so that the others' results are reported and its output is kept. On
# a quiet machine the longest takes a fifth of this, beside a dozen other programs up to half.
my $most = int(1200 * $pace * ($ENV{IDADMIN_REPORTS} ? 5 : 1));
my %failed;
my $harness = TAP::Harness->new({
    jobs => $ENV{IDADMIN_JOBS} || 7, timer => 1, merge => 1,
    verbosity => $ENV{IDADMIN_VERBOSE} ? 1 : 0,
    rules => { seq => [(@first ? { par => [@first] } : ()), (map { { seq => $_ } } @last)] },
    exec => sub { my (undef, $file) = @_;
        return [qw(timeout --foreground --verbose --kill-after=30), $most,
            $file =~ /\.t$/ ? ($^X, "-I$source/t/lib") : (), $file] },
});
$harness->callback(made_parser => sub { my ($parser, $job) = @_; listen_to($parser, $job->[1]) });
$harness->callback(after_test => sub { my ($job, $parser) = @_;
    delete $failed{ $job->[1] } if !$parser->has_problems });
my $aggregate = $harness->runtests(map { [$_ => name_of($_)] } @first, @last);
stop_server($server) if $server;

my @reports = sanitizer_reports();
print STDERR "\n== $_ (all of it: ", log_of($_), ")\n", @{ $failed{$_} } for sort keys %failed;
print STDERR @reports;
exit($aggregate->get_status eq 'PASS' && !@reports ? 0 : 1);

sub children {
    open my $in, '<', "/proc/$$/task/$$/children" or return;
    return split ' ', <$in> // '';
}

sub name_of {
    my ($file) = @_;
    return $file =~ s{^\Q$source\E/}{}r =~ s{^\./}{}r;
}

# t/ALONE: a program and the reason in each line.
sub alone {
    open my $in, '<', "$source/t/ALONE" or die "$source/t/ALONE: $!\n";
    return map { /^(\S+)/ && !/^#/ ? $1 : () } <$in>;
}

# Everything that a program prints goes to a file of its own. In memory stay its failed tests, each
# with the lines behind it, and the end, where a program that died says why.
sub listen_to {
    my ($parser, $name) = @_;
    open my $log, '>:utf8', log_of($name) or die log_of($name) . ": $!\n";
    my ($told, @end) = (0);
    $failed{$name} = [];
    $parser->callback(ALL => sub {
        my ($result) = @_;
        my $line = $result->raw . "\n";
        print {$log} $line;
        $told = 25 if $line =~ /^\s*not ok\b/;
        if ($told-- > 0) { push @{ $failed{$name} }, $line }
        else {
            push @end, $line;
            shift @end if @end > 15;
        }
    });
    $parser->callback(EOF => sub { push @{ $failed{$name} }, @end; close $log });
}

sub log_of { my ($name) = @_; return "$build/obj/check/" . ($name =~ s{/}{-}gr) . '.log' }

# A report counts whatever the exit status of its process and of the process's parent is.
sub sanitizer_reports {
    my $directory = $ENV{IDADMIN_REPORTS} or return;
    return map { open my $in, '<', $_ or die "$_: $!\n"; "$_:\n", <$in> }
        grep { -s } glob "$directory/*";
}

# -- a machine that is slow on purpose

sub busy_loop {
    my $parent = $$;
    my $pid = fork // die "fork: $!\n";
    return $pid if $pid;
    while (getppid() == $parent) {
        my $sum = 0;
        $sum += $_ for 1 .. 1_000_000;
    }
    POSIX::_exit(0);
}

# A copy: the build may lie where the users of the programs cannot go.
sub slow_calls {
    chmod 0755, "$dir";
    File::Copy::copy("$build/faults/slow.so", "$dir/slow.so") or die "faults/slow.so: $!\n";
    $ENV{LD_PRELOAD} = "$dir/slow.so";
}

# The time since the start stays what it is: only the date is another.
sub other_clock {
    my ($library) = glob '/usr/lib/*/faketime/libfaketimeMT.so.1';
    $library // die "IDADMIN_CLOCK needs libfaketime (Debian: apt install libfaketime)\n";
    my ($year, $month, $day, $hour, $minute) =
        $ENV{IDADMIN_CLOCK} =~ /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d)$/
        or die "IDADMIN_CLOCK must be an instant in UTC, written YYYY-MM-DD HH:MM\n";
    my $ahead = Time::Local::timegm(0, $minute, $hour, $day, $month - 1, $year) - time;
    $ENV{LD_PRELOAD} = join ' ', grep {defined} $ENV{LD_PRELOAD}, $library;
    $ENV{FAKETIME} = sprintf '%+d', $ahead;
    # Its fix of waits on the other clock would end each of them at once.
    @ENV{qw(DONT_FAKE_MONOTONIC FAKETIME_FORCE_MONOTONIC_FIX)} = (1, 0);
}

# -- the PostgreSQL of the run

sub start_server {
    my $directory = `'$source/t/unit/with-pg.sh' start $$`;
    chomp $directory;
    if ($? || !length $directory) {
        print "No PostgreSQL: programs skip it\n";
        return undef;
    }
    $ENV{IDADMIN_TEST_PGSQL} = "pgsql:host=$directory port=5432 user=idadmin dbname=postgres";
    return $directory;
}

sub stop_server { my ($directory) = @_; system "$source/t/unit/with-pg.sh", 'stop', $directory }

END {
    my $status = $?;
    return if $$ != $owner;
    kill KILL => @busy if @busy;
    stop_server($server) if $server && -d $server;
    $? = $status;
}
