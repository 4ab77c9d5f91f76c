package Idadmin::Test::Mcp;
# A client of the MCP address for either era: revision 2026-07-28 (stateless) or an older one.
# Everything that a client sends by default can be replaced, or left out with undef.
use strict;
use warnings;
use Encode ();
use Idadmin::Test ();

# new($httpd, key => JSON of "key create", era => 'modern'|'2025-11-25'|..., path => '/mcp')
sub new {
    my ($class, $httpd, %how) = @_;
    return bless { httpd => $httpd, era => 'modern', path => '/mcp', next => 0, %how }, $class;
}

sub modern { return $_[0]{era} eq 'modern' }
sub client { my ($self) = @_; return $self->{client} //= $self->{httpd}->client }

# The message as this era writes it: message('tools/call', { name => ... }).
sub message {
    my ($self, $method, $params) = @_;
    my %message = (jsonrpc => '2.0', id => $self->{next}++, method => $method);
    $message{params} = $params if $params;
    $message{params} = { %{ $params // {} }, _meta => $self->meta } if $self->modern;
    return \%message;
}

sub meta {
    return {
        'io.modelcontextprotocol/protocolVersion'    => '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities' => {},
        'io.modelcontextprotocol/clientInfo'         => { name => 'idadmin-test', version => '1' },
    };
}

# The headers that go with a message; changes by name.
sub headers {
    my ($self, $message, %changes) = @_;
    my %headers = ('Content-Type' => 'application/json',
        Accept => 'application/json, text/event-stream');
    $headers{Authorization} = "Bearer $self->{key}{mcpSecret}" if $self->{key};
    if ($self->modern) {
        $headers{'MCP-Protocol-Version'} = '2026-07-28';
        $headers{'Mcp-Method'} = $message->{method} if ref $message eq 'HASH';
        $headers{'Mcp-Name'}   = $message->{params}{name}
            if ref $message eq 'HASH' && ($message->{method} // '') eq 'tools/call';
    }
    elsif (ref $message eq 'HASH' && ($message->{method} // '') ne 'initialize') {
        $headers{'MCP-Protocol-Version'} = $self->{era};
    }
    %headers = (%headers, %changes);
    return [map { ($_ => $headers{$_}) } sort keys %headers];
}

# post($message or $bytes, headers => {...}, ...) -> the answer of Http::request. It only reads, so
# it is asked again where the store was late.
sub post {
    my ($self, $message, %how) = @_;
    my $changes = delete $how{headers} // {};
    my $method = delete $how{method} // 'POST';
    my $body = ref $message ? Idadmin::Test::json_text($message) : $message;
    return $self->{httpd}->until_served(sub { $self->client->request($method, $self->{path},
        body => $body, headers => $self->headers($message, %$changes), %how) });
}

# ask($method, $params) -> { status, result, error, ... }
sub ask {
    my ($self, $method, $params, %how) = @_;
    my $answer = $self->post($self->message($method, $params), %how);
    return { %$answer, result => ($answer->{json} // {})->{result},
        error => ($answer->{json} // {})->{error} };
}

# A tool: { %answer, data => structuredContent, text, failed => text of a tool error }. Both
# renderings must be the same JSON, and keep to the schema that tools/list gave.
sub call {
    my ($self, $tool, $arguments, %how) = @_;
    my $answer = $self->ask('tools/call', { name => $tool, arguments => $arguments // {} }, %how);
    my $result = $answer->{result} or return $answer;
    $answer->{text} = $result->{content}[0]{text};
    if ($result->{isError}) {
        $answer->{failed} = $answer->{text};
        die "a tool error with structuredContent\n" if exists $result->{structuredContent};
        return $answer;
    }
    $answer->{data} = $result->{structuredContent};
    die "text and structuredContent of $tool differ\n"
        if Idadmin::Test::json_text(Idadmin::Test::json_data(Encode::encode_utf8($answer->{text})))
        ne Idadmin::Test::json_text($answer->{data});
    my $fault = broken($self->output_schema($tool), $answer->{data});
    die "$tool does not keep to its output schema: $fault\n" if defined $fault;
    return $answer;
}

# What a value breaks of a schema, with the words of JSON Schema that tools use; undef when nothing.
sub broken {
    my ($schema, $value, $where) = @_;
    $where //= 'result';
    if (my $branches = $schema->{anyOf}) {
        my @all = map { broken($_, $value, $where) } @$branches;
        return @all < @$branches || grep({ !defined } @all) ? undef : join ' or ', @all;
    }
    my %types = (object => ref $value eq 'HASH', array => ref $value eq 'ARRAY',
        null => !defined $value, boolean => JSON::PP::is_bool($value),
        string => defined $value && !ref $value,
        integer => defined $value && !ref $value && $value =~ /^-?\d+$/
        && Idadmin::Test::json_text($value) !~ /^"/);
    return "$where is no $schema->{type}" if defined $schema->{type} && !$types{ $schema->{type} };
    return "$where is none of its words"
        if $schema->{enum} && !grep { defined $value && $_ eq $value } @{ $schema->{enum} };
    if (ref $value eq 'HASH') {
        for my $name (@{ $schema->{required} // [] }) { return "$where lacks $name"
            if !exists $value->{$name} }
        for my $name (sort keys %$value) {
            my $inner = ($schema->{properties} // {})->{$name}
                // (ref $schema->{additionalProperties} ? $schema->{additionalProperties} : undef)
                or return $schema->{properties}
                ? "$where has $name, of which the schema knows nothing" : undef;
            my $fault = broken($inner, $value->{$name}, "$where.$name");
            return $fault if defined $fault;
        }
    }
    if (ref $value eq 'ARRAY' && $schema->{items}) {
        for my $i (0 .. $#$value) {
            my $fault = broken($schema->{items}, $value->[$i], "$where\[$i]");
            return $fault if defined $fault;
        }
    }
    return undef;
}

sub output_schema {
    my ($self, $tool) = @_;
    $self->{schemas} //= { map { $_->{name} => $_->{outputSchema} } @{
        $self->ask('tools/list', {})->{result}{tools} } };
    return $self->{schemas}{$tool} // die "no tool $tool\n";
}

# The first messages of a client of an older revision.
sub initialize {
    my ($self) = @_;
    my $answer = $self->ask(initialize => { protocolVersion => $self->{era}, capabilities => {},
        clientInfo => { name => 'idadmin-test', version => '1' } });
    $self->post({ jsonrpc => '2.0', method => 'notifications/initialized' });
    return $answer;
}

# Every item of a list tool, page after page; dies when a cursor comes twice.
sub pages {
    my ($self, $tool, $arguments, $limit) = @_;
    my (@items, %seen, $cursor);
    do {
        my $answer = $self->call($tool,
            { %$arguments, ($limit ? (limit => ref $limit ? $limit->() : $limit) : ()),
            (defined $cursor ? (cursor => $cursor) : ()) });
        die "$tool: " . ($answer->{failed} // $answer->{body}) . "\n" if !$answer->{data};
        push @items, @{ $answer->{data}{items} };
        $cursor = $answer->{data}{nextCursor};
        die "$tool: the same cursor twice\n" if defined $cursor && $seen{$cursor}++;
    } while defined $cursor;
    return @items;
}

1;
