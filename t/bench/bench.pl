#!/usr/bin/perl
# "make bench" runs all parts, "make bench BENCH='get sync'" some of them: README.md says what each
# measures and how its size is changed. Ends with 1 if a figure misses its target, or a request
# failed.
use strict;
use warnings;
use Idadmin::Bench ();
use Idadmin::Bench::Console ();
use Idadmin::Bench::Directories ();
use Idadmin::Bench::Newcomer ();
use Idadmin::Bench::Official ();
use Idadmin::Bench::Requests ();
use Idadmin::Bench::Tasks ();
use Idadmin::Bench::Tools ();

$| = 1;
my @parts = (
    [slapd => \&Idadmin::Bench::Directories::slapd],
    [tasks => \&Idadmin::Bench::Tasks::tasks],
    [cloud => \&Idadmin::Bench::Directories::cloud],
    [sync  => \&Idadmin::Bench::Requests::sync],
    [get   => \&Idadmin::Bench::Requests::get],
    [tool  => \&Idadmin::Bench::Requests::tool],
    [mixed => \&Idadmin::Bench::Requests::mixed],
    [post  => \&Idadmin::Bench::Requests::post],
    [tools => \&Idadmin::Bench::Tools::tools],
    [share => \&Idadmin::Bench::Tools::share],
    [mcp   => \&Idadmin::Bench::Official::mcp],
    [console  => \&Idadmin::Bench::Console::console],
    [newcomer => \&Idadmin::Bench::Newcomer::newcomer],
);
my %known = map { ($_->[0] => 1) } @parts;
die "bench: no part is named $_; there are @{[ map { $_->[0] } @parts ]}\n"
    for grep { !$known{$_} } @ARGV;
my %wanted = map { ($_ => 1) } @ARGV ? @ARGV : keys %known;

my $missed = 0;
for my $part (grep { $wanted{ $_->[0] } } @parts) {
    my ($name, $run) = @$part;
    print "-- $name, ", scalar localtime, "\n";
    my $table = Idadmin::Bench->new($name);
    $run->($table);
    $missed += $table->finish;
}
Idadmin::Bench::Requests::stop();
print "errors: $Idadmin::Bench::errors\n";
exit($missed || $Idadmin::Bench::errors ? 1 : 0);
