package Idadmin::Test::Photo;
# Small valid pictures for payloads, of any size in bytes.
use strict;
use warnings;
use MIME::Base64 ();

my $jpeg = MIME::Base64::decode_base64(
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////'
        . '////////////////////////////////////////'
        . 'wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=') . "\xff\xd9";
my $png = MIME::Base64::decode_base64(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk'
        . '+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==');

# A JPEG of one pixel; with $size exactly that many bytes, the rest in comment segments.
sub jpeg {
    my ($size) = @_;
    my $missing = ($size // length $jpeg) - length $jpeg;
    my $comments = '';
    while ($missing > 0) {
        my $take = $missing > 60000 ? 50000 : $missing;
        die "a comment segment needs 4 bytes\n" if $take < 4;
        $comments .= "\xff\xfe" . pack('n', $take - 2) . 'x' x ($take - 4);
        $missing -= $take;
    }
    return substr($jpeg, 0, 2) . $comments . substr($jpeg, 2);
}

sub png    { return $png }
sub base64 { my ($bytes) = @_; return MIME::Base64::encode_base64($bytes, '') }

1;
