#!/usr/bin/perl
# The long forms of the suite, one after the other: "make check-long". Each entry of long.table.pl
# is run in parts; a line reports how each part ended, and a state file in the build stores it, so
# that an interrupted run continues with the interrupted part. A complete pass takes longer than a
# day, so a commit meanwhile does not restart it: each part records the tree that it passed on. Two
# of these may run in one build: a part that another one runs is left to that one, and so is the
# suite, which fills the machine. The table at the end also goes to run/long.json.
#
#   long.pl                       all that has not passed yet
#   long.pl again                 everything anew
#   long.pl kill-rounds fuzz      some; NAME=VALUE behind a name changes a parameter of it
#   long.pl list                  names, parts, parameters
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Fcntl qw(:flock);
use FindBin ();
use lib "$FindBin::Bin/../lib";
use File::Path ();
use POSIX ();
use Time::HiRes ();

my $source = $ENV{IDADMIN_SRC}   // die "IDADMIN_SRC is not set\n";
my $build  = $ENV{IDADMIN_BUILD} // die "IDADMIN_BUILD is not set\n";

# What its members mean, the table says.
my @table = do "$FindBin::Bin/long.table.pl" or die "long.table.pl: " . ($@ || $!) . "\n";

sub fuzz_targets { return map { s{.*/fuzz_(.*)\.c$}{$1}r } sort glob "$source/t/fuzz/fuzz_*.c" }

# All parts of an entry: { key, entry, number, engine, target, with }.
sub parts_of {
    my ($entry) = @_;
    my @parts;
    for my $target ($entry->{targets} ? $entry->{targets}->() : undef) {
        for my $engine ($entry->{engines} ? @{ $entry->{engines} } : undef) {
            for my $number (1 .. $entry->{parts} // 1) {
                my %with = %{ $entry->{with} // {} };
                $with{seed} += $number - 1 if defined $with{seed};
                push @parts, { entry => $entry, engine => $engine, with => \%with,
                    target => $target, number => $number,
                    key => join(' ', $entry->{name}, grep {defined} $target, $engine,
                    ($entry->{parts} // 1) > 1 ? "$number/$entry->{parts}" : (),
                    map {"$_=$with{$_}"} sort keys %with) };
            }
        }
    }
    return @parts;
}

# -- what is asked for

my (@wanted, $again);
for my $argument (@ARGV) {
    if ($argument eq 'again') { $again = 1 }
    elsif ($argument eq 'list') {
        for my $entry (@table) {
            my %with = %{ $entry->{with} // {} };
            printf "%-20s %2d parts  %s  %s\n", $entry->{name}, scalar(parts_of($entry)),
                $entry->{program} // "make $entry->{make}",
                join ' ', map {"$_=$with{$_}"} sort keys %with;
        }
        exit 0;
    }
    elsif ($argument =~ /^(\w+)=(.+)$/ && @wanted) {
        exists $wanted[-1]{with}{$1} or die "$wanted[-1]{name} has no parameter $1\n";
        $wanted[-1] = { %{ $wanted[-1] }, with => { %{ $wanted[-1]{with} }, $1 => $2 } };
    }
    else {
        push @wanted, grep { $_->{name} eq $argument } @table
            or die "there is no long form $argument (make check-long LONG=list)\n";
    }
}
@wanted = @table if !@wanted;

# -- the state

my $state_file = "$build/obj/long.json";
my $tree       = tree();
my $json       = Cpanel::JSON::XS->new->utf8->canonical->pretty;
my $state      = {};

sub tree {
    my $head = `git -C '$source' describe --always --dirty 2>/dev/null`;
    chomp $head;
    return length $head ? $head : 'unknown';
}

# Reads the state as it is now, whoever wrote it.
sub load {
    $state = {};
    open my $in, '<', $state_file or return;
    local $/;
    $state = eval { $json->decode(scalar <$in>) } // {};
}

# Changes the state: $change gets its parts.
sub store {
    my ($change) = @_;
    my $lock = locked('state', LOCK_EX) or die "$build/obj/long/state.lock: $!\n";
    load();
    $change->($state->{parts} //= {});
    open my $out, '>', "$state_file.new" or die "$state_file.new: $!\n";
    print {$out} $json->encode($state);
    close $out or die "$state_file.new: $!\n";
    rename "$state_file.new", $state_file or die "$state_file: $!\n";
}

# The lock of that name as a handle, or nothing when another process has it.
sub locked {
    my ($name, $how) = @_;
    my $file = "$build/obj/long/$name.lock";
    open my $lock, '>>', $file or die "$file: $!\n";
    return flock($lock, $how) ? $lock : undef;
}

# -- running

my ($running, $server);
$SIG{$_} = sub {
    kill TERM => -$running if $running;
    stop_server();
    print "\nStopped. The next \"make check-long\" goes on here.\n";
    exit 130;
} for qw(INT TERM HUP);

File::Path::make_path("$build/obj/long", "$build/run");
my @all = map { parts_of($_) } @wanted;
store(sub { delete @{ $_[0] }{ map { $_->{key} } @all } }) if $again;
my ($failed, $elsewhere) = (0, 0);
for my $part (@all) {
    my $lock = locked(is_suite($part) ? 'suite' : file_name($part), LOCK_EX | LOCK_NB);
    load();
    my $known = $state->{parts}{ $part->{key} };
    if ($known && $known->{result} eq 'passed') {
        line($part, $known, 'before');
    }
    elsif (!$lock) {
        $elsewhere++;
        printf "%-7s %s\n", 'left', "$part->{key}: " . (is_suite($part) ? 'a suite' : 'it')
            . ' is run by another check-long';
    }
    else {
        my $done = run($part);
        store(sub { $_[0]{ $part->{key} } = $done });
        line($part, $done);
        $failed++ if $done->{result} ne 'passed';
    }
}
stop_server();
load();
table();
exit($failed || $elsewhere ? 1 : 0);

sub file_name { return $_[0]{key} =~ s/[^\w.=-]+/-/gr }
sub is_suite  { return ($_[0]{entry}{make} // '') =~ /^check(?: |$)/ }

sub line {
    my ($part, $done, $before) = @_;
    printf "%-7s %-60s %5d tests %7.0f s%s\n", $done->{result}, $part->{key}, $done->{tests},
        $done->{seconds}, $before ? "  (before, at $done->{tree})"
        : $done->{result} eq 'passed' ? '' : "  $done->{log}";
}

# { result, tests, failed, seconds, log, tree, at, notes }
sub run {
    my ($part) = @_;
    my $entry = $part->{entry};
    my $of    = tree();
    my $log   = "$build/obj/long/" . file_name($part) . '.log';
    my %environment = (%{ $entry->{environment} // {} },
        IDADMIN_PARAMETERS => join(' ', map {"$_=$part->{with}{$_}"} sort keys %{ $part->{with} }));
    $environment{IDADMIN_ENGINE} = $part->{engine} if $part->{engine};
    # programs that run on one engine take the other one in every second part
    $environment{IDADMIN_DAY} //= int(time / 86_400) + $part->{number};
    start_server() if $entry->{program};
    File::Path::remove_tree("$build/obj/check") if is_suite($part);
    my @command = $entry->{program}
        ? ($entry->{program} =~ /\.t$/ ? ($^X, "-I$source/t/lib", "$source/$entry->{program}")
        : "$build/$entry->{program}")
        : ('make', '--no-print-directory', '-C', $build, map { s/\{(\w+)\}/$part->{with}{$1}
        \/\/ $part->{$1}/ger } split ' ', $entry->{make});
    my $begun = Time::HiRes::time();
    pipe my $from, my $to or die "pipe: $!\n";
    $running = fork // die "fork: $!\n";
    if (!$running) {
        POSIX::setpgid(0, 0);
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        delete $ENV{MAKEFLAGS};
        delete $ENV{IDADMIN_TEST_PGSQL} if !$entry->{program};
        @ENV{ keys %environment } = values %environment;
        close $from;
        open STDOUT, '>&', $to or die "stdout: $!\n";
        open STDERR, '>&', $to or die "stderr: $!\n";
        open STDIN, '<', '/dev/null';
        exec @command or die "exec $command[0]: $!\n";
    }
    close $to;
    open my $out, '>', $log or die "$log: $!\n";
    my ($tests, $bad, @notes) = (0, 0);
    while (my $text = <$from>) {
        print {$out} $text;
        $tests++          if $text =~ /^(?:not )?ok \d/;
        $bad++            if $text =~ /^not ok \d/;
        $tests = $1       if $text =~ /^Files=\d+, Tests=(\d+)/;
        push @notes, $1   if @notes < 20 && $text =~ /^\s*# ((?:seed|repeat|IDADMIN_).*)/;
    }
    waitpid $running, 0;
    my $status = $?;
    undef $running;
    close $out;
    keep_logs($log =~ s/\.log$//r) if is_suite($part) && ($status || $bad);
    return { result => $status || $bad ? 'FAILED' : 'passed', tests => $tests, failed => $bad,
        seconds => 0 + sprintf('%.1f', Time::HiRes::time() - $begun), log => $log, tree => $of,
        at => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime), notes => \@notes };
}

# The next part would overwrite the logs of the programs. (A part of a single program has all in its
# own log.)
sub keep_logs {
    my ($directory) = @_;
    return if !-d "$build/obj/check";
    File::Path::remove_tree($directory);
    rename "$build/obj/check", $directory or warn "$directory: $!\n";
}

sub start_server {
    return if $server || $ENV{IDADMIN_TEST_PGSQL};
    $server = `'$source/t/unit/with-pg.sh' start $$`;
    chomp $server;
    $ENV{IDADMIN_TEST_PGSQL} = "pgsql:host=$server port=5432 user=idadmin dbname=postgres"
        if length $server;
}

sub stop_server {
    system "$source/t/unit/with-pg.sh", 'stop', $server if length($server // '');
    undef $server;
}

# -- the table

sub table {
    my @rows = map { { name => $_->{key}, %{ $state->{parts}{ $_->{key} } } } }
        grep { $state->{parts}{ $_->{key} } } @all;
    my $report = { tree => $tree, parts => \@rows, failed => $failed,
        passed => scalar(grep { $_->{result} eq 'passed' } @rows) };
    open my $out, '>', "$build/run/long.json" or die "run/long.json: $!\n";
    print {$out} $json->encode($report);
    close $out or die "run/long.json: $!\n";
    print "\n";
    for my $entry (@wanted) {
        my @of = grep { my $key = $_->{name}; $key =~ /^\Q$entry->{name}\E(?: |$)/ } @rows;
        my $seconds = 0;
        $seconds += $_->{seconds} for @of;
        printf "%-20s %3d of %3d parts passed %8.0f s\n", $entry->{name},
            scalar(grep { $_->{result} eq 'passed' } @of), scalar(@of), $seconds;
    }
    my @others = grep { $_->{tree} ne $tree } @rows;
    printf "%d of these parts passed on other trees than %s: LONG=again runs them anew.\n",
        scalar(@others), $tree
        if @others;
    print "run/long.json has all of it.\n";
}
