package Idadmin::Test::OpenApi;
# Checks recorded traffic (JSON lines of the cloud emulator) against an OpenAPI 3.0 description:
# path, method, query and header parameters, request body, status, response body. Knows the part of
# OpenAPI that descriptions of this API use: $ref, type, nullable, properties, required,
# additionalProperties, items, enum, pattern, lengths, bounds, uniqueItems, allOf, anyOf, oneOf.
use strict;
use warnings;
use B ();
use Idadmin::Test ();
use JSON::PP ();
use MIME::Base64 ();

sub load {
    my ($class, $file) = @_;
    my $text = Idadmin::Test::slurp($file);
    my $description = eval { Idadmin::Test::json_data($text) }
        or die "$file is no JSON (a YAML description has to be converted first): $@";
    return $class->new($description);
}

sub new {
    my ($class, $description) = @_;
    my $self = bless { description => $description, paths => [], used => {} }, $class;
    for my $path (sort keys %{ $description->{paths} // {} }) {
        my $pattern = join '', map { /^\{/ ? '([^/]+)' : quotemeta } split /(\{[^}]+\})/, $path;
        my $variables = () = $path =~ /\{/g;
        push @{ $self->{paths} }, [qr/\A$pattern\z/, $variables, $path];
    }
    # The most literal path wins: /users/delta before /users/{id}.
    @{ $self->{paths} } = sort { $a->[1] <=> $b->[1]
        || length $b->[2] <=> length $a->[2] } @{ $self->{paths} };
    return $self;
}

# "GET /users/{user-id}" -> how often seen.
sub used { return $_[0]{used} }

sub _resolve {
    my ($self, $thing) = @_;
    for (1 .. 20) {
        return $thing if ref $thing ne 'HASH' || !defined $thing->{'$ref'};
        my $at = $self->{description};
        my ($path) = $thing->{'$ref'} =~ m{\A#/(.+)\z}
            or die "reference $thing->{'$ref'} leads out of the description\n";
        for my $step (split m{/}, $path) {
            $step =~ s{~1}{/}g;
            $step =~ s{~0}{~}g;
            $at = ref $at eq 'HASH' ? $at->{$step} : undef;
        }
        $thing = $at // die "reference $thing->{'$ref'} leads nowhere\n";
    }
    die "references go round in a circle\n";
}

# -- schemas

sub _is_number { my ($value) = @_; my $flags = B::svref_2object(\$value)->FLAGS;
    return $flags & (B::SVf_IOK | B::SVf_NOK) && !($flags & B::SVf_POK) }

sub _kind {
    my ($value) = @_;
    return 'null' if !defined $value;
    return ref $value eq 'HASH' ? 'object' : ref $value eq 'ARRAY' ? 'array' : 'boolean'
        if ref $value;
    return 'string' if !_is_number($value);
    return $value == int $value ? 'integer' : 'number';
}

# Complaints about a value, each with its place.
sub check {
    my ($self, $schema, $value, $where) = @_;
    $schema = $self->_resolve($schema);
    my $kind = _kind($value);
    if ($kind eq 'null') {
        return () if $schema->{nullable}
            || (!defined $schema->{type} && !grep { $schema->{$_} } qw(anyOf oneOf allOf enum));
        return () if grep { !$self->check($_, undef, $where) } @{ $schema->{anyOf}
            // $schema->{oneOf} // [] };
        return "$where: null is not allowed";
    }
    if (my $type = $schema->{type}) {
        return "$where: is $kind, must be $type"
            if $kind ne $type && !($type eq 'number' && $kind eq 'integer');
    }
    my @wrong = map { $self->check($_, $value, $where) } @{ $schema->{allOf} // [] };
    for my $any (grep { $schema->{$_} } qw(anyOf oneOf)) {
        my @tries = map { [$self->check($_, $value, $where)] } @{ $schema->{$any} };
        my $fit = grep { !@$_ } @tries;
        my ($nearest) = sort { @$a <=> @$b } @tries;
        push @wrong, $fit ? "$where: fits $fit of the alternatives"
            : "$where: fits none of the alternatives (" . join('; ', @$nearest) . ')'
            if $any eq 'oneOf' ? $fit != 1 : !$fit;
    }
    push @wrong, "$where: \"$value\" is none of the values"
        if $schema->{enum} && !ref $value && !grep { defined && $_ eq $value } @{ $schema->{enum} };
    my $of_kind = { object => \&_object, array => \&_array, string => \&_string,
        integer => \&_number, number => \&_number }->{$kind};
    push @wrong, $of_kind->($self, $schema, $value, $where) if $of_kind;
    return @wrong;
}

sub _object {
    my ($self, $schema, $value, $where) = @_;
    my @wrong = map {"$where.$_: is required"}
        grep { !exists $value->{$_} } @{ $schema->{required} // [] };
    push @wrong, "$where: has too few members"
        if defined $schema->{minProperties} && keys %$value < $schema->{minProperties};
    for my $name (sort keys %$value) {
        my $known = $schema->{properties}{$name};
        my $other = $schema->{additionalProperties};
        if    ($known)                                        { push @wrong,
            $self->check($known, $value->{$name}, "$where.$name") }
        elsif (ref $other eq 'HASH')                          { push @wrong,
            $self->check($other, $value->{$name}, "$where.$name") }
        elsif (defined $other && !$other)                     { push @wrong,
            "$where.$name: is not in the description" }
    }
    return @wrong;
}

sub _array {
    my ($self, $schema, $value, $where) = @_;
    my @wrong;
    push @wrong, "$where: has fewer than $schema->{minItems} items"
        if defined $schema->{minItems} && @$value < $schema->{minItems};
    push @wrong, "$where: has more than $schema->{maxItems} items"
        if defined $schema->{maxItems} && @$value > $schema->{maxItems};
    my %seen;
    push @wrong, "$where: has doubled items"
        if $schema->{uniqueItems} && grep { $seen{ Idadmin::Test::json_text($_) }++ } @$value;
    if ($schema->{items}) {
        push @wrong, $self->check($schema->{items}, $value->[$_], "$where\[$_]") for 0 .. $#$value;
    }
    return @wrong;
}

sub _string {
    my ($self, $schema, $value, $where) = @_;
    my @wrong;
    push @wrong, "$where: is shorter than $schema->{minLength}"
        if defined $schema->{minLength} && length $value < $schema->{minLength};
    push @wrong, "$where: is longer than $schema->{maxLength}"
        if defined $schema->{maxLength} && length $value > $schema->{maxLength};
    push @wrong, "$where: \"$value\" does not match $schema->{pattern}"
        if defined $schema->{pattern} && $value !~ /$schema->{pattern}/;
    return @wrong;
}

sub _number {
    my ($self, $schema, $value, $where) = @_;
    return ((defined $schema->{minimum} && $value < $schema->{minimum}
        ? "$where: is below $schema->{minimum}" : ()),
        (defined $schema->{maximum} && $value > $schema->{maximum}
        ? "$where: is above $schema->{maximum}" : ()));
}

# -- traffic

sub _decode { my ($text) = @_; $text =~ s/\+/ /g; $text =~ s/%([0-9a-fA-F]{2})/chr hex $1/ge;
    utf8::decode($text); return $text }

# A text (of a query, header or form) as the type its schema wants, so that the schema can judge it.
sub _typed {
    my ($self, $schema, $text) = @_;
    my $type = $self->_resolve($schema)->{type} // 'string';
    return [split /,/, $text, -1] if $type eq 'array';
    return $text + 0 if $type =~ /^(?:integer|number)$/ && $text =~ /^-?\d+$/;
    return $text eq 'true' ? JSON::PP::true() : JSON::PP::false()
        if $type eq 'boolean' && $text =~ /^(?:true|false)$/;
    return $text;
}

# Complaints about one recorded request and its answer; answer_only => 1 of a test that asks wrongly
# on purpose.
sub exchange {
    my ($self, $line, %how) = @_;
    my $path = $line->{path} =~ s{\A/v1\.0(?=/)}{}r =~ s/%24/\$/gr;
    my ($found) = grep { $path =~ $_->[0] } @{ $self->{paths} };
    return $how{answer_only} ? ()
        : "$line->{method} $line->{path}: the path is not in the description" if !$found;
    my $item = $self->{description}{paths}{ $found->[2] };
    my $operation = $item->{ lc $line->{method} } or return $how{answer_only} ? ()
        : "$line->{method} $found->[2]: the method is not in the description";
    my $name = "$line->{method} $found->[2]";
    $self->{used}{$name}++;
    my @wrong = $how{answer_only} ? ()
        : ($self->_parameters($item, $operation, $line), $self->_request_body($operation, $line));
    push @wrong, $self->_response($operation, $line) if !$line->{fault};
    push @wrong, $self->_batch($line)
        if $found->[2] eq '/$batch' && $line->{status} == 200 && !$how{answer_only};
    return map {"$name: $_"} @wrong;
}

sub _parameters {
    my ($self, $item, $operation, $line) = @_;
    my @declared = map { $self->_resolve($_) } @{ $item->{parameters} // [] },
        @{ $operation->{parameters} // [] };
    my %query  = map { ($_->{name} => $_) } grep { $_->{in} eq 'query' } @declared;
    my %header = map { (lc $_->{name} => $_) } grep { $_->{in} eq 'header' } @declared;
    my (@wrong, %seen);
    for my $pair (grep {length} split /&/, $line->{query} // '') {
        my ($name, $text) = map { _decode($_) } split(/=/, $pair, 2), '';
        push @wrong, "query parameter $name is doubled" if $seen{$name}++;
        my $parameter = $query{$name};
        push @wrong, $parameter
            ? $self->check($parameter->{schema}, $self->_typed($parameter->{schema}, $text),
            "query $name") : "query parameter $name is not in the description";
    }
    push @wrong, map {"query parameter $_ is required"} grep { $query{$_}{required} && !$seen{$_} }
        sort keys %query;
    for my $name (sort keys %header) {
        my $text = $line->{requestHeaders}{$name};
        push @wrong, defined $text ? $self->check($header{$name}{schema}, $text, "header $name")
            : $header{$name}{required} ? "header $name is required" : ();
    }
    return @wrong;
}

sub _media {
    my ($content, $type) = @_;
    $type = lc(($type // '') =~ s/;.*//sr);
    return $content->{$type} // $content->{'*/*'};
}

sub _request_body {
    my ($self, $operation, $line) = @_;
    my $declared = $operation->{requestBody} ? $self->_resolve($operation->{requestBody}) : undef;
    my $text = $line->{requestBody};
    return defined $text ? 'a body that is not in the description' : () if !$declared;
    return $declared->{required} ? 'the body is missing' : () if !defined $text;
    my $type  = $line->{requestHeaders}{'content-type'};
    my $media = _media($declared->{content}, $type)
        or return 'the content type ' . ($type // '(none)') . ' is not in the description';
    return $self->_body($media->{schema}, $text, $type, $line->{requestBase64}, 'body');
}

sub _body {
    my ($self, $schema, $text, $type, $base64, $where) = @_;
    return () if !$schema;
    if ($type =~ m{^application/json}) {
        my $data = eval { JSON::PP->new->allow_nonref->decode($text) };
        return defined $data || $text eq 'null' ? $self->check($schema, $data, $where)
            : "$where: is no JSON";
    }
    if ($type =~ m{^application/x-www-form-urlencoded}) {
        my %form = map { map { _decode($_) } (split(/=/, $_, 2), '')[0, 1] } split /&/, $text;
        return $self->check($schema, \%form, $where);
    }
    return $self->check($schema, $base64 ? MIME::Base64::decode_base64($text)
        : $self->_typed($schema, $text), $where);
}

sub _response {
    my ($self, $operation, $line) = @_;
    my $responses = $operation->{responses};
    my $class = substr($line->{status}, 0, 1) . 'XX';
    my $declared = $responses->{ $line->{status} } // $responses->{$class} // $responses->{default}
        or return "status $line->{status} is not in the description";
    my $content = $self->_resolve($declared)->{content} or return ();
    return () if !defined $line->{responseBody};
    my $media = _media($content, $line->{responseType})
        or return "status $line->{status}: the content type $line->{responseType} is not in the "
        . "description";
    return map {"status $line->{status}: $_"} $self->_body($media->{schema}, $line->{responseBody},
        $line->{responseType}, $line->{responseBase64}, 'answer');
}

# The requests inside a batch, each as if it had come by itself.
sub _batch {
    my ($self, $line) = @_;
    my %answer = map { ($_->{id} => $_) } @{
        JSON::PP->new->decode($line->{responseBody})->{responses} };
    my @wrong;
    for my $item (@{ JSON::PP->new->decode($line->{requestBody})->{requests} }) {
        my ($path, $query) = split /\?/, $item->{url}, 2;
        my $answer = $answer{ $item->{id} };
        push @wrong, $self->exchange({ method => $item->{method}, path => $path =~ m{^/} ? $path
            : "/$path", query => $query, status => $answer->{status},
            requestHeaders => { map { (lc $_ => $item->{headers}{$_}) }
            keys %{ $item->{headers} // {} } },
            (exists $item->{body}
            ? (requestBody => ref $item->{body} ? JSON::PP->new->encode($item->{body})
            : $item->{body}) : ()),
            (ref $answer->{body}
            ? (responseBody => JSON::PP->new->encode($answer->{body}),
            responseType => 'application/json') : ()) });
    }
    return @wrong;
}

1;
