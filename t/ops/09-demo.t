# Every step of "make demo DEMO=once" succeeds, and run/demo.env has the variables that scripts use.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(build_config build_dir run_command slurp src_dir);

plan(skip_all => 'the walk is timed for builds without sanitizers') if build_config()->{sanitizers};

my $walk = run_command([$^X, '-I' . src_dir() . '/t/lib', src_dir() . '/t/demo/demo.pl'],
    env => { DEMO => 'once', IDADMIN_BUILD => build_dir(), IDADMIN_SRC => src_dir() },
    cwd => build_dir());
is($walk->{exit}, 0, 'the walk ends with 0') or diag($walk->{out}, $walk->{err});
unlike($walk->{out}, qr/NOT OK/, 'every step held');
like($walk->{out}, qr/Every step held/, 'and it says so');
my $settings = slurp(build_dir() . '/run/demo.env');
for my $name (qw(BASE_URL MCP_URL STORE ONPREM_COMPANY_ID ONPREM_FULL_USER ONPREM_FULL_KEY
    ONPREM_READ_USER ONPREM_READ_KEY ONPREM_MCP_SECRET ONPREM_KNOWN_UPN LIMIT_USER LIMIT_KEY
    LIMIT_MCP_SECRET)) {
    like($settings, qr/^$name=\S+$/m, "demo.env: $name");
}
like($settings, qr/^ONPREM_MCP_SECRET=nordic:[\w.-]+:ida_\w+$/m, 'the secret has its three parts');

done_testing();
