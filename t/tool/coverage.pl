#!/usr/bin/perl
# Which lines of the product ran, from what gcc's --coverage left in a build directory: a line for
# each room, the files below a given percentage, and everything as JSON.
#
#   coverage.pl BUILD [--below PERCENT] [--missed PATH]... >table; JSON in BUILD/run/coverage
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Find ();
use File::Path ();
use Getopt::Long ();

my ($below, @show) = (80);
Getopt::Long::GetOptions('below=f' => \$below, 'missed=s' => \@show) && @ARGV == 1
    or die "usage: coverage.pl BUILD [--below PERCENT] [--missed PATH]...\n";
my ($build) = @ARGV;
my $gcov = $ENV{GCOV} // 'gcov';

my @notes;
File::Find::find({ no_chdir => 1, wanted => sub { push @notes, $_ if /\.gcno$/ } },
    grep {-d} map {"$build/obj/$_"} qw(core mod_idadmin worker writer));
@notes or die "coverage.pl: $build was not built with --coverage (make coverage does)\n";

# file => line => how often it ran; what was never linked or never ran has its lines, too
my %ran;
for my $note (sort @notes) {
    my ($name) = $note =~ m{/obj/(.*)\.gcno$};
    my $data = $note =~ s/gcno$/gcda/r;
    open my $out, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', $gcov, '--json-format', '--stdout',
        -s $data ? $data : $note or die "sh: $!\n";
    my $text = do { local $/; <$out> };
    # (a file of data alone is a failure to gcov)
    close $out or $text =~ /no functions found/
        or die "$text$gcov cannot read $note: a build of another compiler?\n";
    my ($told) = $text =~ /^(\{.*\})$/m or die "$note: $text\n";
    for my $file (@{ Cpanel::JSON::XS::decode_json($told)->{files} }) {
        # (headers' inline functions belong to the header's room; system headers to nobody)
        my ($path) = $file->{file} =~ m{((?:core|mod_idadmin|worker|writer)/[\w/]+\.[ch])$} or next;
        $ran{$path}{ $_->{line_number} } += $_->{count} for @{ $file->{lines} };
    }
}

sub share { my ($covered, $lines) = @_; return $lines ? 100 * $covered / $lines : 100 }

my (%room, %file);
for my $path (sort keys %ran) {
    my $lines   = $ran{$path};
    my @missed  = sort { $a <=> $b } grep { !$lines->{$_} } keys %$lines;
    my ($place) = $path =~ m{^(.*)/};
    $file{$path} = { lines => scalar keys %$lines, missed => \@missed };
    my %rooms = map { $_ => 1 } $place, $place =~ m{^(\w+)};
    for my $of (sort keys %rooms) {
        my $word = $of eq ($place =~ m{^(\w+)})[0] ? "$of (all)" : $of;
        $room{$word}{lines}   += keys %$lines;
        $room{$word}{covered} += keys(%$lines) - @missed;
    }
}

printf "%-24s %7s %7s\n", 'Room', 'Lines', 'Ran';
printf "%-24s %7d %6.1f%%\n", $_, $room{$_}{lines}, share(@{ $room{$_} }{qw(covered lines)})
    for sort keys %room;
my @low = grep { $_->[1] < $below }
    map { [$_, share($file{$_}{lines} - @{ $file{$_}{missed} }, $file{$_}{lines})] } keys %file;
print "\nFiles below $below%:\n" if @low;
printf "%-40s %6.1f%%\n", @$_ for sort { $a->[1] <=> $b->[1] || $a->[0] cmp $b->[0] } @low;
for my $path (grep { my $file = $_; grep { index($file, $_) == 0 } @show } sort keys %file) {
    print "$path: @{ $file{$path}{missed} }\n" if @{ $file{$path}{missed} };
}

File::Path::make_path("$build/run/coverage");
open my $json, '>', "$build/run/coverage/coverage.json" or die "$build/run/coverage: $!\n";
print {$json} Cpanel::JSON::XS->new->canonical->pretty->encode(
    { rooms => \%room, files => \%file });
close $json or die "coverage.json: $!\n";
