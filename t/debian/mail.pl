# A mail server that writes what it is sent to standard output, for as long as it runs. perl-base
# is enough for it.
use strict;
use warnings;
use IO::Socket::INET ();

$| = 1;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 5,
    ReuseAddr => 1) or die "$!\n";
while (my $client = $server->accept) {
    print $client "220 ready\r\n";
    my $text = 0;
    while (my $line = <$client>) {
        if ($text) {
            print $line;
            next if $line !~ /^\.\r?$/;
            ($text, $line) = (0, '');
            print "END\n";
        }
        $text = $line =~ /^DATA/i;
        print $client $text ? "354 go on\r\n" : $line =~ /^QUIT/i ? "221 bye\r\n" : "250 ok\r\n";
        last if $line =~ /^QUIT/i;
    }
}
