# Every test program says in its first sentence what it proves, and t/README.md lists all of them
# with it.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(run_command slurp src_dir);

my $source = src_dir();
my $result = run_command([$^X, "$source/t/suite/list.pl", '--check']);
is($result->{exit}, 0, 'the table of t/README.md is of today') or diag $result->{err};

# Why nothing is lost where a program runs on one engine: by programs that run on both.
my %row = slurp("$source/t/README.md") =~ /^\| `([^`]+)` \| (.*) \|$/mg;
my @circular;
for my $name (sort keys %row) {
    my ($why) = $row{$name} =~ /\*One engine: (.*?)\*/ or next;
    for my $other ($why =~ m{\b([a-z]+/\d\d-[a-z-]+)}g) {
        my ($program) = grep {m{^t/\Q$other\E}} keys %row;
        push @circular, "$name: " . ($program ? "$program runs on one, too" : "no program $other")
            if !$program || $row{$program} =~ /\*One engine: /;
    }
}
is_deeply(\@circular, [], 'a program that runs on one engine names programs that run on both');

my %programs = map { $_ => 1 } map { s{^\Q$source\E/}{}r } glob("$source/t/[a-z]*/[0-9][0-9]-*.t"),
    map {s{/t/unit/}{/unit/}r =~ s/\.c$//r} glob "$source/t/unit/*/*.c";
open my $alone, '<', "$source/t/ALONE" or die "t/ALONE: $!\n";
while (my $line = <$alone>) {
    next if $line =~ /^#|^\s*$/;
    my ($name, $why) = $line =~ /^(\S+)\s+(\S.*)$/;
    ok($name && $programs{$name}, 't/ALONE: ' . ($name // $line) . ', with a reason');
}

done_testing();
