package Cloud::Record;
# The traffic as lines of JSON, without secrets: method, path, query, headers, body of the request;
# status, headers, body of the answer.
use strict;
use warnings;
use Cloud::Directory;
use MIME::Base64 ();
use Mojo::JSON qw(encode_json decode_json);

sub new { return bless {}, $_[0] }

sub to {
    my ($self, $file) = @_;
    delete $self->{out};
    return if !defined $file;
    open $self->{out}, '>>:raw', $file or die "$file: $!\n";
    $self->{out}->autoflush(1);
}

sub write {
    my ($self, $request, $path, $answer) = @_;
    my %headers = %{ $request->{headers} };
    $headers{authorization} = 'Bearer removed' if defined $headers{authorization};
    my %line = (at => Cloud::Directory::now_ms(), method => $request->{method}, path => $path,
        query => $request->{query_text}, requestHeaders => \%headers,
        status => $answer->{status}, responseHeaders => $answer->{headers},
        ($answer->{fault} ? (fault => $answer->{fault}{do}) : ()));
    my ($asked, $said) = ($request->{body}, $answer->{body} // '');
    if ($request->{token_of}) {
        $asked =~ s/(client_secret=)[^&]*/$1removed/;
        $asked =~ s/(client_assertion=)[\w-]+\.[\w-]+\.[\w-]+(?=&|\z)/$1removed.removed.removed/;
        $said =~ s/("access_token":")[^"]*/$1removed/;
    }
    $asked =~ s/("password"\s*:\s*")(?:[^"\\]|\\.)*/$1removed-Pass1/g;
    $line{requestBody}  = _text($asked, \%headers, \%line, 'request') if length $asked;
    $line{responseBody} = _text($said, { 'content-type' => $answer->{type} }, \%line, 'response')
        if length $said;
    $line{responseType} = $answer->{type} eq 'json' ? 'application/json' : $answer->{type}
        if length $said;
    print { $self->{out} } encode_json(\%line), "\n";
}

# Text as it is; other bytes in base64, with a mark.
sub _text {
    my ($bytes, $headers, $line, $which) = @_;
    my $text = $bytes;
    return $text if ($headers->{'content-type'} // '') !~ m{^(?:image/|application/octet)}
        && utf8::decode($text);
    $line->{"${which}Base64"} = Mojo::JSON->true;
    return MIME::Base64::encode_base64($bytes, '');
}

1;
