# Every C file is formatted by .clang-format. Other versions of the formatter give other results, so
# only the version that the tree was written with is used.
use strict;
use warnings;
use Idadmin::Test;
use Test::More;

my $meant = 14;
my $program = $ENV{CLANG_FORMAT} // 'clang-format';
my $version = `$program --version 2>/dev/null` // '';
plan(skip_all => "there is no clang-format $meant here"
    . ($version =~ /version (\d+)/ ? ", but version $1" : ''))
    if $version !~ /version $meant\./;

my $found = run_command(['make', '-C', build_dir(), 'format-check']);
is($found->{exit}, 0, 'make format-check finds nothing') or diag substr $found->{err}, 0, 2000;

done_testing();
