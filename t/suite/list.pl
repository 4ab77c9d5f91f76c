#!/usr/bin/perl
# The table of all test programs in t/README.md: what each proves, by the first sentence of its
# first comment, and why one engine or another clock suffices where it uses that. Without an
# argument it writes the page; with --check it only says whether the page is up to date.
use strict;
use warnings;
use FindBin ();

my $source = "$FindBin::Bin/../..";
my ($begin, $end) = ('<!-- programs: made by t/suite/list.pl -->', '<!-- end of programs -->');
my $page = "$source/t/README.md";

sub slurp {
    my ($file) = @_;
    open my $in, '<:utf8', $file or die "$file: $!\n";
    local $/;
    return <$in>;
}

# The first comment of a perl or C file as one line.
sub comment_of {
    my ($text) = @_;
    $text =~ s/\A#!.*\n//;
    if ($text =~ m{\A\s*/\*(.*?)\*/}s) { $text = $1 =~ s/^\s*\*//mgr }
    elsif ($text =~ /\A((?:#.*\n)+)/)  { $text = $1 =~ s/^# ?//mgr }
    else                               { return '' }
    return $text =~ s/\s+/ /gr =~ s/^ | $//gr;
}

# Its first sentence; a stop within "t/unit/x.c" or "e.g." ends none.
sub sentence_of {
    my ($comment) = @_;
    return $comment =~ /^(.+?[.:])(?: (?=[A-Z"`\d])|$)/ ? $1 =~ s/:$/./r : $comment;
}

# 'text' . 'text' of perl as one text.
my $string  = qr/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/;
my $strings = qr/(?:$string)(?:\s*\.\s*(?:$string))*/;
sub text_of { my ($code) = @_; return join '', map { s/\\(.)/$1/gr }
    map { substr $_, 1, -1 } $code =~ /($string)/g }

sub remarks_of {
    my ($text) = @_;
    my @remarks;
    push @remarks, 'One engine: ' . text_of($1)
        while $text =~ /(?:one_engine\s*=>\s*|^\}\s+|on_one_engine\(.*?,\s*)($strings)/mg;
    push @remarks, 'Test\'s clock: ' . text_of($1)
        while $text =~ /->faster\(\s*[^,]+,\s*[^,]+,\s*($strings)/g;
    my %seen;
    return grep { !$seen{$_}++ } map { /[.!?]$/ ? $_ : "$_." } @remarks;
}

my %alone = map { /^([^#\s]\S*)\s+(.*)$/ ? ($1 => $2) : () } split /\n/, slurp("$source/t/ALONE");

sub row {
    my ($name) = @_;
    my $text = slurp("$source/$name");
    my $said = sentence_of(comment_of($text));
    die "$name: its first comment says nothing of what it proves\n" if $said !~ /\w/;
    my @remarks = remarks_of($text);
    push @remarks, "Alone: $alone{$name}." if $alone{$name};
    my $line = "| `$name` | " . join(' ', $said, map {"*$_*"} @remarks) =~ s/\|/\\|/gr . " |\n";
    return $line;
}

my @programs = map { s{^\Q$source\E/}{}r } sort glob("$source/t/[a-z]*/[0-9][0-9]-*.t"),
    glob("$source/t/unit/*/*.c");
my $table = join '', "$begin\n\n| Program | What it proves |\n|---|---|\n",
    (map { row($_) } @programs), "\n$end";
my $old = slurp($page);
my $new = $old =~ s/\Q$begin\E.*?\Q$end\E/$table/sr;
$new =~ /\Q$table\E/ or die "t/README.md has no place for the table: $begin ... $end\n";
exit 0 if $new eq $old;
if (($ARGV[0] // '') eq '--check') {
    print STDERR "The table of t/README.md is not of today: t/suite/list.pl makes it anew.\n";
    exit 1;
}
open my $out, '>:utf8', $page or die "$page: $!\n";
print {$out} $new;
close $out or die "$page: $!\n";
