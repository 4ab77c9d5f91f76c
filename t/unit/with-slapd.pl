#!/usr/bin/perl
# A real slapd (or with samba => 1 a Samba domain controller) for the C tests: started with the
# options of the arguments, then each line of input is perl evaluated with the server in $s; its
# value comes back as one line. Ends, and stops the server, when its input ends.
use strict;
use warnings;
use FindBin ();
use lib "$FindBin::Bin/../lib";
use Idadmin::Test ();
use Idadmin::Test::Samba ();
use Idadmin::Test::Slapd ();

$| = 1;
my %options = eval join ' ', @ARGV;
die $@ if $@;
my $kind = delete $options{samba} ? 'Idadmin::Test::Samba' : 'Idadmin::Test::Slapd';
if (my $reason = $kind->skip_reason) {
    print "skip $reason\n";
    exit 0;
}
our $s = $kind->new(%options);
print "ready\n";
while (my $line = <STDIN>) {
    my $value = eval $line;
    $value = "died: $@" if $@;
    $value //= '';
    $value =~ s/[\r\n]+/ /g;
    print "$value\n";
}
