# No fuzz target crashes on its corpus or on some thousand mutations of it; "make fuzz" continues
# from there.
use strict;
use warnings;
use File::Temp ();
use Idadmin::Test;
use Test::More;

my @targets = map {m{/fuzz_(\w+)\.c$}} sort glob src_dir() . '/t/fuzz/fuzz_*.c';
ok(scalar @targets, 'there are fuzz targets');
for my $name (@targets) {
    my $corpus = src_dir() . "/t/fuzz/$name";
    my @inputs = grep {-f} glob "$corpus/*";
    ok(scalar @inputs, "$name has a corpus");
    my $scratch = File::Temp->newdir;
    my $result = run_command([build_dir() . "/fuzz/fuzz_$name", '-runs=2000', "$scratch",
        $corpus]);
    is($result->{exit}, 0, "$name: no crash") or diag $result->{out}, $result->{err};
    is($result->{signal}, 0, "$name: no signal");
    like($result->{out} . $result->{err}, qr/\d+ runs/, "$name: it ran");
}
done_testing();
