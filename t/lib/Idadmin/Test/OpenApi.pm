package Idadmin::Test::OpenApi;
# Checks recorded traffic (JSON lines of the cloud emulator) against an OpenAPI 3.0 description.
# JSON::Validator judges parameters, headers and bodies. This module finds the operation of an
# exchange and reports what the validator ignores: query parameters and bodies that the operation
# does not declare, and unknown statuses.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Idadmin::Test ();
use JSON::PP ();
use MIME::Base64 ();

sub skip_reason {
    return eval { require JSON::Validator::Schema::OpenAPIv3; require Mojo::Parameters; 1 } ? ''
        : 'JSON::Validator is not installed';
}

sub load {
    my ($class, $file) = @_;
    my $text = Idadmin::Test::slurp($file);
    my $description = eval { Idadmin::Test::json_data($text) }
        or die "$file is no JSON (a YAML description has to be converted first): $@";
    return $class->new($description);
}

sub new {
    my ($class, $description) = @_;
    die skip_reason() . "\n" if skip_reason();
    # No coercion, because "1" is not an integer. No protection against recursion, because JSON data
    # has none, and because its cache of results is keyed by addresses that perl reuses.
    my $api = JSON::Validator::Schema::OpenAPIv3->new($description, coerce => {},
        recursive_data_protection => 0);
    die join "\n", 'the description is not valid OpenAPI 3.0:', @{ $api->errors }, ''
        if $api->is_invalid;
    my $self = bless { api => $api, paths => [], used => {} }, $class;
    my %seen;
    for my $route ($api->routes->each) {    # the most literal path first
        # The validator does not follow the reference of a whole response.
        for (values %{ $api->get([paths => @$route{qw(path method)}, 'responses']) }) {
            $_ = $api->get($_->{'$ref'} =~ s/\A#//r) if $_->{'$ref'};
        }
        my $path = $route->{path};
        next if $seen{$path}++;
        my $pattern = join '', map { /^\{/ ? '([^/]+)' : quotemeta } split /(\{[^}]+\})/, $path;
        push @{ $self->{paths} }, [qr/\A$pattern\z/, $path, $path =~ /\{([^}]+)\}/g];
    }
    return $self;
}

# "GET /users/{user-id}" -> how often seen.
sub used { return $_[0]{used} }

# Complaints about one recorded request and its answer. answer_only => 1 skips the request, for a
# test that sends wrong ones on purpose.
sub exchange {
    my ($self, $line, %how) = @_;
    my $target = $line->{path} =~ s{\A/v1\.0(?=/)}{}r =~ s/%24/\$/gr;
    my ($found) = grep { $target =~ $_->[0] } @{ $self->{paths} };
    return $how{answer_only} ? ()
        : "$line->{method} $line->{path}: the path is not in the description" if !$found;
    my ($pattern, $path, @names) = @$found;
    my $name      = "$line->{method} $path";
    my $operation = $self->{api}->get([paths => $path, lc $line->{method}])
        or return $how{answer_only} ? () : "$name: the method is not in the description";
    $self->{used}{$name}++;
    my @place = ($line->{method}, $path);
    my %in_path;
    @in_path{@names} = map { _decode($_) } $target =~ $pattern if @names;
    my @wrong = $how{answer_only} ? () : $self->_request(\@place, $operation, $line, \%in_path);
    push @wrong, $self->_response(\@place, $operation, $line) if !$line->{fault};
    push @wrong, $self->_batch($line)
        if $path eq '/$batch' && $line->{status} == 200 && !$how{answer_only};
    return map {"$name: $_"} @wrong;
}

sub _decode { return Mojo::Util::decode('UTF-8', Mojo::Util::url_unescape($_[0])) // $_[0] }

# A text as the type that its schema demands, if it can be read as that type.
sub _typed {
    my ($schema, $text) = @_;
    my $type = $schema->{type} // 'string';
    return $text if !defined $text;
    return $text + 0 if $type =~ /^(?:integer|number)$/ && $text =~ /\A-?\d+\z/;
    return $text eq 'true' ? JSON::PP::true() : JSON::PP::false()
        if $type eq 'boolean' && $text =~ /\A(?:true|false)\z/;
    return $text;
}

# Functions by which the validator gets values: of headers, and of the body.

sub _headers {
    my %headers = map { (lc $_ => $_[0]{$_}) } keys %{ $_[0] };
    return sub { return { exists => exists $headers{ lc $_[0] }, value => $headers{ lc $_[0] } } };
}

sub _body {
    my ($text, $content_type, $base64) = @_;
    my $type = lc(($content_type // '') =~ s/;.*//sr) || 'no content type';
    return sub {
        my (undef, $body) = @_;
        return { exists => 0 } if !defined $text;
        my $value = $type eq 'application/x-www-form-urlencoded'
            ? Mojo::Parameters->new($text)->to_hash
            : $base64 ? MIME::Base64::decode_base64($text)
            : _typed(($body->{content}{$type} // {})->{schema}, $text);
        if ($type eq 'application/json') {
            eval { $value = Cpanel::JSON::XS->new->allow_nonref->decode($text); 1 }
                or return { exists => 1, content_type => 'invalid JSON' };
        }
        return { exists => 1, content_type => $type, value => $value };
    };
}

sub _request {
    my ($self, $place, $operation, $line, $in_path) = @_;
    my %declared = map { ($_->{name} => 1) } grep { $_->{in} eq 'query' }
        @{ $self->{api}->parameters_for_request($place) };
    my $query = Mojo::Parameters->new($line->{query} // '');
    my %query = @{ $query->pairs };
    my @wrong = ((map {"query parameter $_ is doubled"} grep { @{ $query->every_param($_) } > 1 }
        @{ $query->names }), (map {"query parameter $_ is not in the description"}
        grep { !$declared{$_} } @{ $query->names }));
    push @wrong, 'a body that is not in the description'
        if defined $line->{requestBody} && !$operation->{requestBody};
    return @wrong, $self->{api}->validate_request($place, {
        path   => $in_path,
        header => _headers($line->{requestHeaders}),
        query  => sub { return { exists => exists $query{ $_[0] },
            value => _typed($_[1]{schema}, $query{ $_[0] }) } },
        body => _body($line->{requestBody}, $line->{requestHeaders}{'content-type'},
            $line->{requestBase64}),
    });
}

sub _response {
    my ($self, $place, $operation, $line) = @_;
    my ($status) = grep { $operation->{responses}{$_} } $line->{status},
        substr($line->{status}, 0, 1) . 'XX', 'default'
        or return "status $line->{status} is not in the description";
    my @wrong = $self->{api}->validate_response([@$place, $status], {
        header => _headers($line->{responseHeaders}),
        body => _body($line->{responseBody}, $line->{responseType}, $line->{responseBase64}) });
    push @wrong, 'a body that is not in the description'
        if defined $line->{responseBody} && !$operation->{responses}{$status}{content};
    return map {"status $line->{status}: $_"} @wrong;
}

# The requests inside a batch, each as if it had come by itself.
sub _batch {
    my ($self, $line) = @_;
    my %answer = map { ($_->{id} => $_) } @{
        Cpanel::JSON::XS->new->decode($line->{responseBody})->{responses} };
    my @wrong;
    for my $item (@{ Cpanel::JSON::XS->new->decode($line->{requestBody})->{requests} }) {
        my ($path, $query) = split /\?/, $item->{url}, 2;
        my $answer = $answer{ $item->{id} };
        push @wrong, $self->exchange({ method => $item->{method}, path => $path =~ m{^/} ? $path
            : "/$path", query => $query, status => $answer->{status},
            requestHeaders => { map { (lc $_ => $item->{headers}{$_}) }
            keys %{ $item->{headers} // {} } },
            (exists $item->{body}
            ? (requestBody => ref $item->{body} ? Cpanel::JSON::XS->new->encode($item->{body})
            : $item->{body}) : ()),
            (ref $answer->{body}
            ? (responseBody => Cpanel::JSON::XS->new->encode($answer->{body}),
            responseType => 'application/json') : ()) });
    }
    return @wrong;
}

1;
