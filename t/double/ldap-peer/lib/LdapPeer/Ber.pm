package LdapPeer::Ber;
# BER as LDAP uses it (definite lengths, one-byte tags): just enough to speak it, and to break it on
# purpose.
use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(tlv octets integer enumerated boolean sequence set_of elements number
    header_length);

sub _length {
    my ($length) = @_;
    return chr $length if $length < 128;
    my $bytes = pack 'N', $length;
    $bytes =~ s/^\0+//;
    return chr(0x80 | length $bytes) . $bytes;
}

# tlv($tag, @contents): one element; contents are bytes.
sub tlv {
    my ($tag, @contents) = @_;
    my $content = join '', @contents;
    return chr($tag) . _length(length $content) . $content;
}

sub octets     { return tlv(0x04, $_[0] // '') }
sub boolean    { return tlv(0x01, $_[0] ? "\xff" : "\0") }
sub sequence   { return tlv(0x30, @_) }
sub set_of     { return tlv(0x31, @_) }
sub integer    { return tlv(0x02, _twos($_[0])) }
sub enumerated { return tlv(0x0a, _twos($_[0])) }

sub _twos {
    my ($value) = @_;
    my $bytes = pack 'q>', $value;
    $bytes =~ s/^\0(?=[\0-\x7f])// while $bytes =~ /^\0[\0-\x7f]/;
    $bytes =~ s/^\xff(?=[\x80-\xff])// while $bytes =~ /^\xff[\x80-\xff]/;
    return $bytes;
}

sub number {
    my ($bytes) = @_;
    my $value = 0;
    $value = $value * 256 + ord $_ for split //, $bytes;
    return length $bytes && ord($bytes) & 0x80 ? $value - 256**length $bytes : $value;
}

# Tag, length of header and of content when the header is whole; else nothing.
sub header_length {
    my ($bytes) = @_;
    return if length $bytes < 2;
    my ($tag, $first) = unpack 'CC', $bytes;
    return ($tag, 2, $first) if $first < 0x80;
    my $count = $first & 0x7f;
    die "indefinite length\n" if !$count || $count > 4;
    return if length $bytes < 2 + $count;
    return ($tag, 2 + $count, number("\0" . substr $bytes, 2, $count));
}

# The elements that stand one after the other: ([tag, content], ...).
sub elements {
    my ($bytes) = @_;
    my @elements;
    while (length $bytes) {
        my ($tag, $head, $length) = header_length($bytes) or die "an element is cut\n";
        die "an element is cut\n" if length $bytes < $head + $length;
        push @elements, [$tag, substr $bytes, $head, $length];
        substr($bytes, 0, $head + $length) = '';
    }
    return @elements;
}

1;
