# MCP on the wire: which requests are refused where and how, both eras, every kind of malformed
# input. Tools' answers are tested elsewhere; here one or two of them represent all.
use strict;
use warnings;
use utf8;
use Idadmin::Test;
use Idadmin::Test::Mcp;
use Idadmin::Test::Stack;
use MIME::Base64 ();
use Test::More;
use Time::HiRes ();

binmode Test::More->builder->$_, ':encoding(UTF-8)' for qw(output failure_output todo_output);

my @legacy = qw(2025-11-25 2025-06-18 2025-03-26);
my @tools =
    qw(search_users get_user get_user_access get_resource_access get_hygiene_report get_audit_log
        list_role_templates
    get_role_template list_pending_approvals list_workflows get_workflow_runs);
my $version_key = 'io.modelcontextprotocol/protocolVersion';

# A refusal as JSON-RPC: status, code, words of the message.
sub refused {
    my ($answer, $status, $code, $words, $what) = @_;
    my $error = ($answer->{json} // {})->{error} // {};
    subtest $what => sub {
        is($answer->{status}, $status, "status $status");
        is($error->{code}, $code, "code $code");
        like($error->{message} // '', $words, 'the message') if $words;
        like($answer->{headers}{'content-type'} // '', qr{^application/json$}, 'JSON');
        is($answer->{headers}{'cache-control'}, 'no-store', 'not to be kept');
        ok(!exists $answer->{json}{result}, 'no result');
    } or diag("$answer->{status} $answer->{body}");
}

sub tool_error {
    my ($answer, $words, $what) = @_;
    is($answer->{status}, 200, "$what: 200");
    like($answer->{failed} // '', $words, "$what: readable") or diag($answer->{body});
    ok(length($answer->{failed} // '') <= 500, "$what: short");
}

for_each_stack {
    my ($stack) = @_;
    my $httpd = $stack->httpd;
    my $mcp = sub { return Idadmin::Test::Mcp->new($httpd, key => $stack->key('read'), @_) };
    my $modern = $mcp->();
    $httpd->expect_log(qr/IDA0210/);

    subtest 'refused before the message is read' => sub {
        my $message = $modern->message('tools/list');
        my $post = sub { my (%how) = @_; return $modern->post($how{body} // $message, %how) };

        for my $method (qw(GET DELETE PUT PATCH HEAD OPTIONS TRACE PROPFIND)) {
            my $answer = $modern->client->request($method, '/mcp',
                headers => [Accept => 'text/event-stream']);
            is($answer->{status}, 405, "$method without a key: 405");
            is($answer->{headers}{allow}, 'POST', "$method: Allow");
            is($answer->{json}{error}{code}, 405, "$method: JSON-RPC") if $method ne 'HEAD';
        }
        refused($post->(headers => { Origin => 'https://evil.example.com' }), 403, 403,
            qr/IdAdminAllowOrigin/, 'a web page of another origin');
        refused($post->(headers => { Origin => 'null' }), 403, 403, qr/origin/, 'Origin null');
        refused($post->(headers => { Origin => 'http://evil.example.com' },
            host => 'evil.example.com'), 403, 403, qr/origin/,
            'Host and Origin alike, of another name');
        is($modern->client->request(GET => '/mcp',
            headers => [Origin => 'https://evil.example.com'])->{status}, 403,
            'Origin goes before the method');
        is($post->(headers => { Origin => $httpd->url })->{status}, 200, "the server's own origin");
        my $page = $post->(headers => { Origin => 'https://assistant.example' });
        is($page->{status}, 200, 'an allowed origin');
        is($page->{headers}{'access-control-allow-origin'}, 'https://assistant.example',
            'and its browser is told');
        my $preflight = $modern->client->request(OPTIONS => '/mcp',
            headers => [Origin => 'https://assistant.example',
            'Access-Control-Request-Method' => 'POST',
            'Access-Control-Request-Headers' => 'authorization, mcp-method']);
        is($preflight->{status}, 204, 'the question before');
        like($preflight->{headers}{'access-control-allow-headers'}, qr/authorization.*mcp-name/,
            'names the headers');
        is($preflight->{headers}{'access-control-allow-methods'}, 'POST', 'and the method');

        my %key = %{ $stack->key('read') };
        my @bad = (
            ['no credentials', Authorization => undef],
                ['the API key alone', Authorization => "Bearer $key{apiKey}"],
                ['two parts', Authorization => "Bearer $key{companyId}:$key{apiKey}"],
            ['four parts', Authorization => "Bearer $key{mcpSecret}:x"],
            ['nothing behind Bearer', Authorization => 'Bearer'],
            ['another scheme',
            Authorization => 'Basic ' . MIME::Base64::encode_base64($key{mcpSecret}, '')],
            ['a wrong key', Authorization => "Bearer $key{companyId}:$key{username}:"
            . $stack->key('full')->{apiKey}],
            ['another user', Authorization => "Bearer $key{companyId}:nobody:$key{apiKey}"],
            ['a key of other networks',
            Authorization => 'Bearer '
            . $stack->create_key(elsewhere => 'elsewhere', 'read-only', '--from',
            '192.0.2.0/24,2001:db8::/32')->{mcpSecret}],
            ['another company', Authorization => "Bearer other:$key{username}:$key{apiKey}"],
            ['a bearer secret twice',
            Authorization => "Bearer $key{mcpSecret}, Bearer $key{mcpSecret}"],
        );
        for my $case (@bad) {
            my ($what, @change) = @$case;
            my $answer = $post->(headers => {@change});
            refused($answer, 401, 401, qr/companyId:username:apiKey/, $what);
            like($answer->{headers}{'www-authenticate'} // '', qr/^Bearer realm="[^"]+"$/,
                "$what: the challenge names no OAuth server");
        }
        my %three = ('X-Company-ID' => $key{companyId}, 'X-Api-User' => $key{username},
            'X-Api-Key' => $key{apiKey});
        is($post->(headers => { Authorization => undef, %three })->{status}, 200,
            'the three headers');
        is($post->(headers => { Authorization => "bearer  $key{mcpSecret}" })->{status}, 200,
            'the scheme in small letters, two blanks');
        refused($post->(headers => {
            Authorization => "Bearer $key{companyId}:$key{username}:ida_wrong", %three }), 401, 401,
            undef, 'a bad bearer secret beside good headers');
        my $path = Idadmin::Test::Mcp->new($httpd,
            path => "/mcp?authorization=Bearer%20$key{mcpSecret}");
        refused($path->post($message), 401, 401, undef, 'a secret in the query');

        my $connections = $modern->client->connections;    # a stranger with a body loses theirs
        my @accept = ([undef, 406], ['*/*', 406], ['application/json', 406],
            ['text/event-stream', 406], ['application/*, text/*', 406],
            ['application/json;q=0, text/event-stream', 406],
            ['text/event-stream;q=0.5,APPLICATION/JSON ; charset=utf-8', 200],
            ['application/jsonx, text/event-stream', 406],
            ['text/html, application/json, text/event-stream, */*;q=0.1', 200]);
        for my $case (@accept) {
            my ($accept, $status) = @$case;
            my $answer = $post->(headers => { Accept => $accept });
            is($answer->{status}, $status, 'Accept ' . ($accept // 'absent'));
            like($answer->{json}{error}{message}, qr{Accept: application/json, text/event-stream},
                'says what to send') if $status == 406;
        }
        my $lines = $modern->client->request(POST => '/mcp', body => json_text($message),
            headers => [@{ $modern->headers($message, Accept => undef) },
            Accept => 'text/event-stream', Accept => 'application/json']);
        is($lines->{status}, 200, 'Accept in two lines');
        refused($post->(headers => { 'Content-Type' => $_ }), 415, 415, qr/application\/json/,
            'Content-Type ' . ($_ // 'absent'))
            for undef, 'text/plain', 'application/jsonx', 'application/json, text/plain',
            'application/json text/plain', 'text/plain;, application/json';
        is($post->(headers => { 'Content-Type' => 'Application/JSON;charset=UTF-8' })->{status},
            200, 'Content-Type with a parameter');

        my $big = json_text($message);
        $big .= ' ' x (1048576 - length $big);
        is($post->(body => $big, headers => { 'Mcp-Method' => 'tools/list' })->{status}, 200,
            'a body of 1,048,576 bytes');
        refused($post->(body => "$big ", headers => { 'Mcp-Method' => 'tools/list' }), 413, 413,
            qr/1048576/, 'one byte more');
        refused($post->(body => "$big ", chunked => 65000,
            headers => { 'Mcp-Method' => 'tools/list' }), 413, 413, qr/1048576/, 'in chunks');
        is($modern->client->connections, $connections + 1,
            'mistakes of a known caller cost no connection');
    };

    subtest 'malformed messages' => sub {
        my $call = sub { my ($bytes, %headers) = @_;
            return $modern->post($bytes, headers => { 'Mcp-Method' => 'tools/list', %headers }) };
        my $meta = json_text($modern->meta);
        my @syntax = ('', ' ', '{', '{"a":1}x', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
            "\xff", "\xef\xbb\xbf{}", '{"jsonrpc":"2.0","id":1,"method":"a\u0000b"}',
            '{"a":"' . "\xc3\x28" . '"}', '{"a":' x 40 . '1' . '}' x 40,
            "{\"a\":[" . '1,' x 100_001 . '1]}', '{"id":123456789012345678901234567890}', "{'a':1}",
            '[1,');
        for my $bytes (@syntax) {
            my $short = substr $bytes, 0, 30;
            $short =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
            my $answer = $call->($bytes);
            is($answer->{status}, 400, "$short: 400");
            like($answer->{json}{error}{code}, $bytes =~ /^\[/ ? qr/^-32600$/ : qr/^-32700$/,
                "$short: code");
            ok(!exists $answer->{json}{id}, "$short: no id");
        }
        unlike($call->('{"jsonrpc":"2.0","id":"a\u0000b","method":"ping"}')->{json}{error}{message}
            // '', qr/JSON_/, 'a message of ours, not of a library');
        my @shape = ('[]', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '"ping"', '1', 'null',
            '{}', '{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"id":1,"method":"ping"}',
            '{"jsonrpc":2.0,"id":1,"method":"ping"}',
            '{"jsonrpc":"2.0","id":null,"method":"ping"}',
            '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
            '{"jsonrpc":"2.0","id":true,"method":"ping"}',
            '{"jsonrpc":"2.0","id":[],"method":"ping"}',
            '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","id":1,"method":7}',
            '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
            '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
            '{"jsonrpc":"2.0","id":1,"result":{}}',
            '{"jsonrpc":"2.0","method":"notifications/x","params":3}');
        refused($call->($_), 400, -32600, undef, "shape: $_") for @shape;
        is($call->('{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}')->{json}{id}, 'a',
            'a readable id comes back with the error');
        for my $id ('0', '""', '-5', '"x\u20acy"', '9007199254740993') {
            my $answer =
                $call->(qq({"jsonrpc":"2.0","id":$id,"method":"tools/list",)
                        . qq("params":{"_meta":$meta}}));
            is($answer->{status}, 200, "id $id");
            like($answer->{body}, qr/^\{"jsonrpc":"2\.0","id":\Q$id\E,/, 'comes back as it was')
                if $id !~ /u20ac/;
        }
        for my $notification ('notifications/initialized', 'notifications/cancelled',
            'something/else') {
            my $answer = $call->(json_text({ jsonrpc => '2.0', method => $notification }));
            is("$answer->{status} $answer->{body}", '202 ', "$notification: 202 and nothing");
        }
    };

    subtest 'revision 2026-07-28' => sub {
        my $discover = $modern->ask('server/discover');
        is($discover->{status}, 200, 'server/discover');
        my $result = $discover->{result};
        is_deeply($result->{supportedVersions}, ['2026-07-28'], 'supported');
        is_deeply($result->{capabilities}, { tools => {} }, 'tools alone');
        ok(length $result->{instructions} > 500 && length $result->{instructions} <= 2048,
            'instructions, of a length that no host cuts');
        is($result->{resultType}, 'complete', 'resultType');
        is($result->{ttlMs}, 3600000, 'ttlMs');
        is($result->{cacheScope}, 'private', 'cacheScope');
        is($result->{_meta}{'io.modelcontextprotocol/serverInfo'}{name}, 'mod_idadmin',
            'who we are');
        ok(!exists $discover->{headers}{'mcp-session-id'}, 'no session');

        my $bent = sub {
            my ($method, $params, $change, %headers) = @_;
            my $message = $modern->message($method, $params);
            $change->($message) if $change;
            return $modern->post($message, headers => \%headers);
        };
        my $list = sub { return $bent->('tools/list', undef, @_) };
        refused($list->(sub { delete $_[0]{params} }), 400, -32602, qr/_meta/, 'no params');
        refused($list->(sub { delete $_[0]{params}{_meta} }), 400, -32602, qr/_meta/, 'no _meta');
        refused($list->(sub { $_[0]{params}{_meta} = 'x' }), 400, -32602, qr/_meta/,
            '_meta is no object');
        refused($list->(sub { delete $_[0]{params}{_meta}{$version_key} }), 400, -32602,
            qr/protocolVersion/, 'no version in _meta');
        refused($list->(sub { $_[0]{params}{_meta}{$version_key} = 20260728 }), 400, -32602,
            qr/protocolVersion/, 'version is a number');
        refused($list->(sub {
            delete $_[0]{params}{_meta}{'io.modelcontextprotocol/clientCapabilities'} }), 400,
            -32602, qr/clientCapabilities/, 'no capabilities');
        refused($list->(sub { $_[0]{params}{_meta}{'io.modelcontextprotocol/clientCapabilities'} =
            [] }), 400, -32602, qr/clientCapabilities/, 'capabilities are a list');
        refused($list->(sub { $_[0]{params}{_meta}{'io.modelcontextprotocol/clientInfo'} = 'x' }),
            400, -32602, qr/clientInfo/, 'clientInfo is no object');
        is($list->(sub { delete $_[0]{params}{_meta}{'io.modelcontextprotocol/clientInfo'};
            $_[0]{params}{_meta}{progressToken} = 1; $_[0]{params}{_meta}{'x/y'} = {} })->{status},
            200, 'without clientInfo, with others');
        refused($list->(undef, 'MCP-Protocol-Version' => '2025-11-25'), 400, -32020,
            qr/MCP-Protocol-Version/, 'header and _meta differ');
        refused($list->(undef, 'MCP-Protocol-Version' => '2099-01-01'), 400, -32020,
            qr/MCP-Protocol-Version/, 'differ, one unknown');
        refused($list->(undef, 'MCP-Protocol-Version' => undef), 400, -32020,
            qr/MCP-Protocol-Version is missing/, 'no version header');
        refused($list->(undef, 'MCP-Protocol-Version' => '2026-07-28, 2026-07-28'), 400, -32020,
            undef, 'the version header twice');
        my $future = $list->(sub { $_[0]{params}{_meta}{$version_key} = '2099-01-01' },
            'MCP-Protocol-Version' => '2099-01-01');
        refused($future, 400, -32022, qr/2026-07-28/, 'a version of the future');
        is_deeply($future->{json}{error}{data},
            { supported => ['2026-07-28'], requested => '2099-01-01' },
            'what is served, what was asked');
        refused($list->(sub { $_[0]{params}{_meta}{$version_key} = '2099-01-01' },
            'MCP-Protocol-Version' => undef), 400, -32022, undef,
            'the version goes before the header that is missing');
        refused($list->(undef, 'Mcp-Method' => undef), 400, -32020, qr/Mcp-Method is missing/,
            'no Mcp-Method');
        refused($list->(undef, 'Mcp-Method' => 'tools/call'), 400, -32020, qr/Mcp-Method says/,
            'another Mcp-Method');
        refused($list->(undef, 'Mcp-Method' => 'Tools/List'), 400, -32020, qr/Mcp-Method says/,
            'in other letters');
        my $call = sub { return $bent->('tools/call', { name => 'list_workflows', arguments => {} },
            undef, @_) };
        is($call->()->{status}, 200, 'tools/call');
        refused($call->('Mcp-Name' => undef), 400, -32020, qr/Mcp-Name is missing/, 'no Mcp-Name');
        refused($call->('Mcp-Name' => 'get_user'), 400, -32020, qr/Mcp-Name says/,
            'another Mcp-Name');
        is($call->('Mcp-Name' => '=?base64?' . MIME::Base64::encode_base64('list_workflows', '')
            . '?=')->{status}, 200, 'Mcp-Name in base64');
        refused($call->('Mcp-Name' => '=?base64?!!!?='), 400, -32020, qr/Mcp-Name/,
            'in broken base64');
        refused($call->('Mcp-Name' => '=?BASE64?'
            . MIME::Base64::encode_base64('list_workflows', '') . '?='), 400, -32020, qr/Mcp-Name/,
            'the mark in other letters');
        is($call->('Mcp-Param-Limit' => '5', 'Mcp-Session-Id' => 'abc',
            'Last-Event-ID' => '7')->{status}, 200, 'headers that mean nothing here');
        for my $method (qw(initialize ping logging/setLevel prompts/list resources/list
            completion/complete subscriptions/listen no/such)) {
            my $answer = $bent->($method, { protocolVersion => '2025-11-25' });
            refused($answer, 404, -32601, qr/Method not found/, "$method: 404");
            ok(exists $answer->{json}{id}, 'with the id');
        }
        refused($bent->('tools/list', { cursor => 'abc' }), 200, -32602, qr/cursor/,
            'a cursor for the list of tools');
        refused($bent->('tools/call', { arguments => {} }), 200, -32602, qr/params\.name/,
            'a call without a name');
        refused($bent->('tools/call', { name => 'delete_user', arguments => {} }), 200, -32602,
            qr/^Unknown tool: delete_user$/, 'an unknown tool');
        refused($bent->('tools/call', { name => 'list_workflows', arguments => [] }), 200, -32602,
            qr/params\.arguments/, 'arguments are a list');
    };

    for my $era (@legacy) {
        subtest "revision $era" => sub {
            my $old = $mcp->(era => $era);
            my $hello = $old->initialize;
            is($hello->{status}, 200, 'initialize');
            is_deeply([sort keys %{ $hello->{result} }],
                [qw(capabilities instructions protocolVersion serverInfo)],
                'what the older schema has');
            is($hello->{result}{protocolVersion}, $era, 'the same version');
            ok(!exists $hello->{headers}{'mcp-session-id'}, 'no session');
            is_deeply($old->ask('ping')->{result}, {}, 'ping');
            my $listed = $old->ask('tools/list', {});
            is(scalar @{ $listed->{result}{tools} }, 11, 'tools/list');
            ok(!exists $listed->{result}{resultType}, 'nothing of the other era');
            ok($old->call('list_workflows')->{data}, 'tools/call');
            for my $method (qw(server/discover logging/setLevel no/such)) {
                refused($old->ask($method, {}), 200, -32601, qr/Method not found/, "$method: 200");
            }
            refused($old->ask('initialize', {}), 200, -32602, qr/protocolVersion/,
                'initialize without a version');
            refused($old->ask('initialize', { protocolVersion => 5 }), 200, -32602,
                qr/protocolVersion/, 'with a number');
        };
    }

    subtest 'between the eras' => sub {
        my $old = $mcp->(era => '2025-11-25');
        for my $asked (qw(2024-11-05 2026-07-28 2099-01-01 junk)) {
            is($old->ask('initialize',
                { protocolVersion => $asked, capabilities => {} })->{result}{protocolVersion},
                '2025-11-25', "initialize for $asked gets the latest of its era");
        }
        is($old->ask('tools/list', {}, headers => { 'MCP-Protocol-Version' => undef })->{status},
            200, 'no header and no _meta: as of old');
        refused($old->ask('initialize', { protocolVersion => '2025-11-25' },
            headers => { 'MCP-Protocol-Version' => '2026-07-28' }), 400, -32020, qr/initialize/,
            'initialize under the header of 2026-07-28');
        is($old->ask('initialize', { protocolVersion => '2025-11-25' },
            headers => { 'MCP-Protocol-Version' => 'junk' })->{status}, 200,
            'initialize under another header');
        refused($old->ask('tools/list', {}, headers => { 'MCP-Protocol-Version' => $_ }), 400,
            -32602, qr/_meta/, "header $_ without _meta") for qw(2026-07-28 2027-01-01);
        for my $header (qw(2024-11-05 junk 1.0)) {
            my $answer = $old->ask('tools/list', {},
                headers => { 'MCP-Protocol-Version' => $header });
            refused($answer, 400, -32022, qr/2026-07-28/, "header $header");
            is_deeply($answer->{json}{error}{data}{supported}, ['2026-07-28'], 'what is served');
        }
    };

    subtest 'the list of tools' => sub {
        my $answer = $modern->ask('tools/list');
        my @listed = @{ $answer->{result}{tools} };
        is_deeply([map { $_->{name} } @listed], \@tools, 'the eleven, in order');
        ok(!exists $answer->{result}{nextCursor}, 'one page');
        my ($text) = $answer->{body} =~ /"tools":(\[.*\]),"ttlMs"/;
        cmp_ok(length $text, '<', 26 * 1024, 'below 26 KB');
        my %bodies = map { my $again = $mcp->()->ask('tools/list');
            $again->{body} =~ /("tools":.*)$/; ($1 => 1) } 1 .. 12;
        is(scalar keys %bodies, 1, 'byte for byte the same from every child');
        for my $tool (@listed) {
            subtest $tool->{name} => sub {
                is_deeply([sort keys %$tool],
                    [qw(annotations description inputSchema name outputSchema title)], 'members');
                my %hints = %{ $tool->{annotations} };
                is_deeply({ map { ($_ => $hints{$_} ? 1 : 0) } keys %hints },
                    { readOnlyHint => 1, destructiveHint => 0, idempotentHint => 1,
                    openWorldHint => 0 }, 'annotations');
                my $input = $tool->{inputSchema};
                is($input->{type}, 'object', 'input is an object');
                ok(exists $input->{additionalProperties} && !$input->{additionalProperties},
                    'of these members alone');
                is_deeply([grep { exists $input->{$_} } qw(anyOf oneOf allOf not if $ref $schema)],
                    [], 'no combinators');
                for my $name (sort keys %{ $input->{properties} }) {
                    my $p = $input->{properties}{$name};
                    ok(length($p->{description} // '') > 10 && !ref $p->{type},
                        "$name is described, of one type");
                    ok(defined $p->{minimum} && defined $p->{maximum}, "$name has its range")
                        if $p->{type} eq 'integer';
                }
                is($tool->{outputSchema}{type}, 'object', 'output is an object');
                ok($tool->{outputSchema}{properties}{truncated}
                    && $tool->{outputSchema}{properties}{note}, 'that may be cut');
                unlike(json_text($tool), qr/\$ref|"format"/,
                    'nothing that clients would have to fetch or check');
                my $words = $tool->{description};
                ok(length $words > 150 && length $words <= 1024, 'a description of some sentences')
                    or diag(length $words);
                ok(length $tool->{title} <= 40, 'a title');
            };
        }
    };

    subtest 'who may call' => sub {
        my $full = $mcp->(key => $stack->key('full'));
        $stack->create_key(legacy => 'hr-legacy', 'legacy');
        my $legacy = $mcp->(key => $stack->key('legacy'));
        for my $case ([full => $full], [legacy => $legacy]) {
            my ($what, $client) = @$case;
            is(scalar @{ $client->ask('tools/list')->{result}{tools} }, 11, "$what key lists");
            tool_error($client->call('list_workflows'),
                qr/^The API key is missing the required 'read' scope\. .*new key/,
                "$what key calls");
            is($client->ask('server/discover')->{status}, 200, "$what key discovers");
        }
        my $document = $stack->tenant_document(modules => { publicApi => JSON::PP::true(),
            accessGovernance => JSON::PP::false() });
        $stack->apply_tenant($document);
        my $answer;
        within(sub { $answer = $modern->call('list_pending_approvals');
            $answer->{failed} });
        tool_error($answer,
            qr/^The\ access\ governance\ module\ is\ required\ for\ this\ tool\ and\ is\ not
                \ enabled\ for\ this\ tenant\.\ .*administrator/x, 'without access governance');
        ok($modern->call('list_workflows')->{data}, 'other tools go on');
        $document->{modules}{publicApi} = JSON::PP::false();
        $stack->apply_tenant($document);
        within(sub { $answer = $modern->call('list_workflows'); $answer->{failed} });
        tool_error($answer,
            qr/^The Public API module is not enabled for this tenant\. .*administrator/,
            'without the Public API');
        is(scalar @{ $modern->ask('tools/list')->{result}{tools} }, 11,
            'tools/list has no channel for that');
        $document->{modules} = { publicApi => JSON::PP::true(),
            accessGovernance => JSON::PP::true() };
        $stack->apply_tenant($document);
        within(sub { $modern->call('list_workflows')->{data} }) or fail('modules are back');
    };

    subtest 'arguments' => sub {
        my @bad = (
            [{ limit => 0 }, qr/limit: must be a whole number from 1 to 200, not 0/],
                [{ limit => 201 }, qr/not 201/], [{ limit => '5' }, qr/limit: .*not "5"/],
                [{ limit => 2.5 }, qr/limit/],
            [{ status => 'on' }, qr/status: must be one of active, disabled, guest, not "on"/],
            [{ query => 5 }, qr/query: must be a string, not 5/],
            [{ query => [] }, qr/query: .*not a list/],
            [{ lastSignInBefore => 'yesterday' }, qr/lastSignInBefore: must be a date like/],
            [{ lastSignInBefore => '2026-02-30' }, qr/lastSignInBefore/],
            [{ name => 'x' }, qr/name: is no parameter.*it takes .*query.*limit, cursor/],
            [{ "l\x{456}mit" => 3 }, qr/is no parameter.*it is written "limit", in plain letters/],
            [{ cursor => 'garbage' }, qr/cursor/],
            [{ limit => 0, status => 'x' }, qr/limit: .*status: /s],
        );
        for my $case (@bad) {
            my ($arguments, $words) = @$case;
            tool_error($modern->call('search_users', $arguments), $words, json_text($arguments));
        }
        tool_error($modern->call('search_users', { map { (sprintf('%x', $_) => 1) } 1 .. 60_000 }),
            qr/: is no parameter/, '60,000 unknown ones');
        my $whole = $modern->message('tools/call',
            { name => 'search_users', arguments => { limit => 3 } });
        my $three = $modern->client->request(POST => '/mcp', headers => $modern->headers($whole),
            body => json_text($whole) =~ s/"limit":3\b/"limit":3.0/r);
        is(scalar @{ $three->{json}{result}{structuredContent}{items} // [] }, 3,
            '3.0 is an integer, as JSON Schema has it') or diag($three->{body});
        tool_error($modern->call('get_user', {}), qr/user: is required/,
            'none where one is needed');
        tool_error($modern->call('get_user', { user => 'nobody@nordic.example' }),
            qr/nobody\@nordic\.example/, 'no user of that name');
        is($modern->ask('tools/call', { name => 'list_workflows' })->{status}, 200,
            'arguments may be left out');
    };

    subtest 'every tool answers, by its schema, and its REST twin the same' => sub {
        my %more = (get_user => { user => 'eva.berg@nordic.example' },
            get_user_access => { user => 'eva.berg@nordic.example' },
            get_resource_access => { resource => 'Sales team' },
            search_users => { department => 'Sales', limit => 2 },
            get_hygiene_report => { staleDays => 1 },
            get_audit_log => { actor => 'hr-read', to => '2026-01-01' });
        my %twin = (search_users => '/v1/api/users', get_user => '/v1/api/user/details',
            get_user_access => '/v1/api/user/access',
            get_resource_access => '/v1/api/resource/access',
            get_hygiene_report => '/v1/api/hygiene', get_audit_log => '/v1/api/audit',
            list_role_templates => '/v1/api/role-templates',
            list_pending_approvals => '/v1/api/approvals',
            list_workflows => '/v1/api/workflows');
        for my $tool (grep { $twin{$_} } @tools) {
            my %arguments = %{ $more{$tool} // {} };
            my $answer = $modern->call($tool, \%arguments);
            ok($answer->{data}, "$tool answers") or diag($answer->{failed} // $answer->{body});
            my $query = join '&',
                map { "$_=" . Idadmin::Test::Stack::_escape($arguments{$_}) } sort keys %arguments;
            my $rest = $stack->get("$twin{$tool}?$query");
            is($rest->{status}, 200, "$twin{$tool} answers") or next;
            my ($one, $other) = ($rest->{json}{data}, $answer->{data});
            delete @$_{qw(asOf signInsAsOf)} for $one, $other;    # a sync may end between them
            is_deeply($one, $other, 'the same');
        }
        like($modern->call('get_role_template', { roleTemplate => 'No such' })->{failed} // '',
            qr/No such/, 'get_role_template: none of that name');
        like($modern->call('get_workflow_runs', { workflow => 'No such' })->{failed}
            // $modern->call('get_workflow_runs', { workflow => 'No such' })->{text}, qr/No such/,
            'get_workflow_runs: none of that name');
    };

    subtest 'audit' => sub {
        $modern->call('get_user', { user => 'eva.berg@nordic.example' });
        $modern->call('get_user', { user => 'audit.nobody@nordic.example' });
        $modern->post('{');
        $modern->ask('tools/call', { name => 'no_such_tool' });
        my $records;
        within(sub {
            $records = $stack->records;
            return grep { ($_->{endpoint} // '') eq 'mcp tools/call no_such_tool' } @$records;
        });
        my @mcp = grep { ($_->{endpoint} // '') =~ /^mcp/ } @$records;
        my ($good) = grep { $_->{endpoint} eq 'mcp tools/call get_user'
            && $_->{outcome} eq 'ok' } @mcp;
        ok($good, 'a call that worked') or diag(json_text($records));
        is($good->{actor}, 'hr-read', 'by whom');
        like(json_text($good), qr/1 item/, 'how much');
        like(json_text($good->{parameters}), qr/eva\.berg/, 'about whom');
        ok((grep { $_->{endpoint} eq 'mcp tools/call get_user' && $_->{outcome} eq 'toolError'
            && json_text($_) =~ /audit\.nobody/ } @mcp), 'a call that failed');
        ok((grep { $_->{endpoint} eq 'mcp tools/call no_such_tool'
            && $_->{outcome} eq 'BAD_REQUEST' } @mcp), 'an unknown tool');
        unlike(json_text($records), qr/\Q$stack->{keys}{read}{apiKey}\E/, 'no key material');
    };

    subtest 'addresses where others have OAuth' => sub {
        for my $path (qw(/.well-known/oauth-protected-resource
            /.well-known/oauth-protected-resource/mcp /.well-known/oauth-authorization-server
            /.well-known/openid-configuration)) {
            my $answer = $httpd->client->request(GET => $path);
            is($answer->{status}, 404, "$path: 404");
            is($answer->{json}{error}{code}, 'NOT_FOUND', 'in JSON');
        }
    };
} one_engine =>
    'mcp/03-read-operations asks both engines; here the protocol is the subject';

subtest 'the rate limit' => sub {
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite',
        keys => { slow => ['slow', 'read-only', '--rate-limit', '5/60s'] });
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('slow'));
    $mcp->client->request(GET => '/mcp', headers => $mcp->headers({})) for 1 .. 20;
    is(scalar(grep { $_->{status} == 200 } map { $mcp->ask('tools/list') } 1 .. 5), 5,
        'five requests pass; 405s are not counted');
    my $answer = $mcp->ask('tools/list');
    my $wait = $answer->{headers}{'retry-after'} // '';
    like($wait, qr/^[1-9]\d*$/, 'Retry-After');
    refused($answer, 429, 429, qr/^Rate limit exceeded\. Retry after $wait seconds\.$/,
        'the sixth');
    my $rest = $stack->get('/v1/api/tasks', key => 'slow');
    is($rest->{status}, 429, 'one limit for both faces');
    is($rest->{json}{error}{code}, 'RATE_LIMIT_EXCEEDED', 'in the words of REST');
    $stack->stop;
};

subtest 'a client that goes away, and a store that does' => sub {
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite');
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    my $text = json_text($mcp->message('tools/call', { name => 'search_users', arguments => {} }));
    my %headers = @{ $mcp->headers({ method => 'tools/call',
        params => { name => 'search_users' } }) };
    my $raw = $stack->httpd->client->connect;
    $raw->send_raw("POST /mcp HTTP/1.1\r\nHost: x\r\n"
        . join('', map {"$_: $headers{$_}\r\n"} sort keys %headers) . 'Content-Length: '
        . length($text) . "\r\n\r\n" . substr($text, 0, -1));
    Time::HiRes::sleep(0.3);    # most of it is read by then; nothing depends on it
    $raw->send_raw(substr $text, -1);
    $raw->close;
    my $found;
    within(sub {
        my $records = $stack->records;
        ($found) = grep { ($_->{endpoint} // '') eq 'mcp tools/call search_users' } @$records;
    });
    ok($found, 'what a client that has gone asked for is in the audit');
    $stack->worker->expect_log(qr/IDA0110|IDA0102/);
    $stack->httpd->expect_log(qr/IDA0110|IDA0102/);
    rename "$stack->{base}/lib/idadmin.db", "$stack->{base}/lib/away" or die $!;
    $stack->httpd->restart;
    my $answer = $mcp->call('search_users');
    is($answer->{status}, 503, 'without a store no caller can be known');
    is($answer->{json}{error}{code}, 503, 'as JSON-RPC');
    rename "$stack->{base}/lib/away", "$stack->{base}/lib/idadmin.db" or die $!;
    $stack->stop;
};

done_testing();
