# Every kind of task runs once through backup, done, restore and release, in each kind of directory:
# each hire, change and offboarding takes effect once, and none is lost.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(on_one_engine);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Restore qw(every_kind);
use Idadmin::Test::Samba ();
use Idadmin::Test::Stack;

for_each_stack(\&every_kind);
# What differs between engines in a restore is proved above; a directory does not know of them.
my $why = 'OpenLDAP is tried on both, and a directory does not know of the engine.';
SKIP: {
    my $skip = Idadmin::Test::Cloud->skip_reason;
    skip $skip, 1 if $skip;
    for_each_stack(\&every_kind, cloud => {}, one_engine => $why);
}
SKIP: {
    my $skip = Idadmin::Test::Samba->skip_reason;
    skip $skip, 1 if $skip;
    on_one_engine {
        my ($engine) = @_;
        my $samba = Idadmin::Test::Samba->new;
        my $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => $samba);
        every_kind($stack);
        $stack->stop;
        $samba->stop;
    } $why;
}
done_testing();
