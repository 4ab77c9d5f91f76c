package Cloud::Batch;
# $batch: up to twenty requests, each counted, limited and failing separately; answers in another
# order than the requests.
use strict;
use warnings;
use Cloud::Error;
use Cloud::Lists;
use MIME::Base64 ();
use Mojo::JSON qw(encode_json decode_json);

sub run {
    my ($cloud, $request) = @_;
    my $body  = $cloud->body($request);
    my $items = $body->{requests};
    my $bad   = sub { refuse(400, 'BadRequest', $_[0]) };
    $bad->('Invalid batch payload format.')
        if ref $items ne 'ARRAY' || !@$items || grep { $_ ne 'requests' } keys %$body;
    $bad->('Number of batch request steps exceeds the maximum value of 20.') if @$items > 20;
    my (%seen, %status, @responses);
    for my $item (@$items) {
        $bad->('Invalid batch payload format.')
            if ref $item ne 'HASH'
            || grep {!/^(?:id|method|url|headers|body|dependsOn)$/} keys %$item;
        $bad->('Request ids should be unique and not empty.')
            if !length($item->{id} // '') || $seen{ lc $item->{id} }++;
        $bad->('Invalid method or url.')
            if ($item->{method} // '') !~ /^(?:GET|POST|PATCH|PUT|DELETE)$/
            || ($item->{url} // '') !~ m{^/?[^/:]} || $item->{url} =~ m{^/?\$batch};
    }
    for my $item (@$items) {
        my $failed = grep { ($status{$_}
            // $bad->("Request dependency '$_' is unknown or comes "
            . "later.")) >= 400 } @{ $item->{dependsOn} // [] };
        my $answer = $failed ? { status => 424, headers => {}, type => 'json',
            body => encode_json({
            error => { code => 'FailedDependency', message => 'A dependency failed.' } }) }
            : _one($cloud, $request, $item);
        return $answer if $answer->{fault};
        $status{ $item->{id} } = $answer->{status};
        my %headers = %{ $answer->{headers} };
        my %response = (id => $item->{id}, status => $answer->{status}, headers => \%headers);
        if (length($answer->{body} // '')) {
            $headers{'Content-Type'} = $answer->{type} eq 'json' ? 'application/json'
                : $answer->{type};
            $response{body} = $answer->{type} eq 'json' ? decode_json($answer->{body})
                : $answer->{type} eq 'text/plain' ? $answer->{body}
                : MIME::Base64::encode_base64($answer->{body}, '');
        }
        $headers{$_} = "$headers{$_}" for keys %headers;
        unshift @responses, \%response;
    }
    return answer_json({ responses => \@responses });
}

sub _one {
    my ($cloud, $request, $item) = @_;
    my ($path, $query) = split /\?/, $item->{url}, 2;
    $path = "/$path" if $path !~ m{^/};
    my %headers = map { (lc($_) => $item->{headers}{$_}) } keys %{ $item->{headers} // {} };
    my $text = exists $item->{body} ? ref $item->{body} ? encode_json($item->{body})
        : MIME::Base64::decode_base64($item->{body}) : '';
    return $cloud->handle({ method => $item->{method}, path => $path, query_text => $query // '',
        headers => \%headers, body => $text, inner => 1,
        root => $request->{root}, base => "$request->{root}$path" });
}

1;
