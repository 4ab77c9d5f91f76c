# Unusual but valid HTTP gets the right answer. Order of the checks, pipelining behind refused
# requests, chunk extensions, Expect, HTTP/1.0, slow and broken bodies, odd paths and headers,
# filters and ErrorDocuments of the administrator, keys of every kind, restarts under load, a full
# disk, an unavailable store.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Fault ();
use Idadmin::Test::Httpd ();
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack;
use Idadmin::Test::Tls ();
use POSIX ();
use Time::HiRes ();

my $rest  = qq{    SetHandler idadmin-rest\n    AuthType IdAdmin\n};
my $clock = Idadmin::Test::Fault->new(build_config()->{httpd} =~ s{.*/}{}r);
my $stack = Idadmin::Test::Stack->new(
    slapd => 0, worker => 0,
    httpd => { tls => 1, env => $clock->env, rate_limits => { failures => 'off' },
    # What httpd waits for, no client here waits for: an answer that comes did not wait.
    server => join("\n", 'Timeout 600',
    map {"LoadModule ${_}_module /usr/lib/apache2/modules/mod_$_.so"} qw(deflate sed)),
    locations => <<"CONF" },
<Location "/v1/api">
$rest    Require valid-user
</Location>
<Location "/packed/v1/api">
$rest    Require valid-user
    SetOutputFilter DEFLATE
</Location>
<Location "/longer/v1/api">
$rest    Require valid-user
    SetInputFilter Sed
    InputSed "s/q/qqqq/g"
</Location>
<Location "/own/v1/api">
$rest    Require idadmin-company somebody-else
    ErrorDocument 403 "words for 403"
</Location>
<Location "/page/v1/api">
$rest    Require idadmin-company somebody-else
    ErrorDocument 405 /page.html
    ErrorDocument 403 /page.html
    AuthzSendForbiddenOnFailure On
</Location>
<Location "/small/v1/api">
$rest    Require valid-user
    LimitRequestBody 100
</Location>
<Location "/v1/openapi.json">
    SetHandler idadmin-openapi
    Require all granted
</Location>
<Location "/mcp">
    SetHandler idadmin-mcp
    AuthType IdAdmin
    Require valid-user
</Location>
<LocationMatch "^/\\.well-known/">
    SetHandler idadmin-absent
    Require all granted
</LocationMatch>
<Location "/v1/api/audit">
    Require all denied
</Location>
<Location "/guarded/v1/openapi.json">
    SetHandler idadmin-openapi
    AuthType IdAdmin
    Require valid-user
</Location>
CONF
    keys => { legacy => ['hr-legacy', 'legacy'],
        ends => ['hr-ends', 'full', '--expires', '2030-01-01'],
        many => ['hr-many', 'read-only', '--rate-limit', '1000000/60s'] },
);
my $httpd = $stack->httpd;
spew($httpd->base . '/htdocs/page.html', "page of the administrator\n");
my $limit = 6291456;

sub error_is {
    my ($answer, $status, $code, $name) = @_;
    ok $answer->{status} == $status && ($answer->{json}{error}{code} // '') eq $code, $name
        or diag "$answer->{status} $answer->{body}";
}

sub head {
    my ($line, @headers) = @_;
    my %headers = ($stack->headers('full'), Host => 'x', @headers);
    return "$line\r\n" . join('', map {"$_: $headers{$_}\r\n"} sort keys %headers) . "\r\n";
}

# Records of the spool, those of now.
sub records {
    my @records = map { json_data($_) }
        map { slurp($_) =~ /\x1e([^\n]*)\n/g } glob $stack->spool . '/*.audit';
    return @records;
}
# The outcomes of new records, whichever child wrote them; so many at least. A record may follow its
# answer.
sub new_outcomes {
    my ($count, @before) = @_;
    my %known = map { $_->{rid} => 1 } @before;
    my @new;
    within(sub { @new = grep { !$known{ $_->{rid} } } records(); @new >= $count });
    return [map { $_->{outcome} } @new];
}

subtest 'a Location that denies an address' => sub {
    $httpd->expect_log(qr/AH01630/);
    is $stack->get("/v1/api/$_", key => 'many')->{status}, 403, $_ for qw(audit audit/ /audit);
    is $stack->get("/v1/api/$_", key => 'many')->{status}, 404, "$_: not by a second root"
        for qw(x/v1/api/audit v1/api/audit audits/v1/api/audit);
};

subtest 'order of the checks' => sub {
    my $client = $httpd->client;
    my $bad    = { $stack->headers('full', 'X-Api-User' => 'nobody') };
    my $post   = sub { my ($headers, $target, %how) = @_;
        $client->request(POST => $target, headers => { %$headers, 'Content-Type' => 'text/plain' },
        %how) };
    my ($full, $read) = ({ $stack->headers('full') }, { $stack->headers('read') });
    $httpd->reconfigure(rate_limits => { failures => 'off', address => '1/60s' });
    $httpd->graceful;
    $client->close;
    $client->request(GET => '/v1/api/tasks');
    error_is $client->request(PUT => '/v1/api/user', body => 'x'), 405, 'METHOD_NOT_ALLOWED',
        '405 before the address limit';
    error_is $post->($bad, '/v1/api/user', body => '{}'), 429, 'RATE_LIMIT_EXCEEDED',
        'the address limit before credentials';
    my $refused = $client->request(OPTIONS => '/v1/api/user');
    is $refused->{status}, 429, 'also for OPTIONS';
    is $refused->{json}{error}{message},
        "Rate limit exceeded. Retry after $refused->{headers}{'retry-after'} seconds.",
        'with its message';
    $httpd->reconfigure(rate_limits => { failures => 'off', address => '100000/60s' });
    $httpd->graceful;
    $client->close;
    error_is $post->($bad, '/v1/api/nothing', body => '{}'), 401, 'UNAUTHORIZED',
        'credentials before the path';
    error_is $post->($read, '/v1/api/nothing', body => '{}'), 404, 'NOT_FOUND',
        'the path before rights';
    error_is $post->($read, '/v1/api/user', body => '{}'), 403, 'FORBIDDEN',
        'rights before the media type';
    error_is $post->($full, '/v1/api/user', body => 'x' x ($limit + 1)), 415,
        'UNSUPPORTED_MEDIA_TYPE', 'the media type before the size';
    for my $answer ($post->($read, '/v1/api/nothing', body => '{}'),
        $post->($full, '/v1/api/user', body => '{}'),
        $stack->post('/v1/api/user', {}, client => $client),
        $stack->get('/v1/api/tasks', client => $client),
        $stack->call(HEAD => '/v1/api/tasks', client => $client)) {
        like $answer->{headers}{'ratelimit-policy'} // '',
            qr/^"key";q=\d+;w=60, "address";q=100000;w=60$/,
            "RateLimit-Policy on $answer->{status}";
        like $answer->{headers}{ratelimit} // '', qr/^"key";r=\d+;t=\d+, "address";r=\d+;t=\d+$/,
            'RateLimit';
    }
};
$httpd->expect_log(qr/IDA0210/);

subtest 'TRACE echoes nothing' => sub {
    for my $target ('/v1/api/user', '/v1/api/none', '/v1/openapi.json') {
        my $answer = $stack->call(TRACE => $target, key => 'full');
        error_is $answer, 405, 'METHOD_NOT_ALLOWED', $target;
        unlike $answer->{body}, qr/ida_/, 'no key in it';
        like $answer->{headers}{allow}, qr/GET.*OPTIONS/, 'Allow';
    }
};

subtest 'pipelining behind refused requests' => sub {
    my $client = $httpd->client;
    my $json   = sub { my ($body, @more) = @_;
        head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
        'Content-Length' => length $body, @more) . $body };
    my $chunks = sub { my ($text) = @_;
        head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
        'Transfer-Encoding' => 'chunked') . $text };
    $client->send_raw($json->('{') . head('PUT /v1/api/user HTTP/1.1')
        . head('GET /v1/api/none HTTP/1.1')
            . $chunks->("2;name=value;other=\"quoted\"\r\n{}\r\n0\r\nX-Trailer: yes\r\n\r\n")
                . head('DELETE /v1/api/user HTTP/1.1')
            . head('GET /v1/api/tasks HTTP/1.1', 'Content-Length' => 5) . '12345'
                . head('OPTIONS /v1/api/user HTTP/1.1') . head('GET /v1/api/tasks HTTP/1.1'));
    my @status = map { $client->read_answer->{status} } 1 .. 8;
    is "@status", '400 405 404 400 400 200 204 200', 'each request has its answer, in order';
    is $client->connections, 1, 'on one connection';
};

subtest 'a stranger\'s body is not waited for' => sub {
    my %strange = ($stack->headers('full'), 'X-Api-Key' => 'ida_wrong',
        'Content-Type' => 'application/json');
    for my $case (['wrong key', 401, 'POST /v1/api/user', %strange],
        ['wrong method', 405, 'PUT /v1/api/user', %strange],
        ['nothing is there', 404, 'POST /.well-known/oauth-x', %strange],
        ['OPTIONS', 204, 'OPTIONS /v1/api/user'], ['no key needed', 200, 'GET /v1/openapi.json'],
        ['a key that is none, at the MCP address', 401, 'POST /mcp', %strange]) {
        my ($name, $status, $line, %headers) = @$case;
        for my $length (100_000, undef) {
            my $client = $httpd->client;
            $client->send_raw(head("$line HTTP/1.1", %headers, defined $length
                ? ('Content-Length' => $length) : ('Transfer-Encoding' => 'chunked')) . '{');
            my $way = defined $length ? 'announced' : 'chunked';
            my $answer = $client->read_answer;
            is $answer->{status}, $status, "$name, $way";
            is $answer->{headers}{connection}, 'close', 'and the connection ends';
        }
    }
    my $client = $httpd->client;
    is $client->request(POST => '/v1/api/user', headers => {%strange})->{status}, 401,
        'a refused request without a body';
    is $client->request(GET => '/v1/api/tasks', headers => { $stack->headers('full') })->{status},
        200, 'and a good one behind it';
    is $client->connections, 1, 'on one connection';
    my @strangers = map { my $client = $httpd->client;
        $client->send_raw(head('POST /v1/api/user HTTP/1.1', %strange, 'Content-Length' => 100_000)
        . '{'); $client } 1 .. 100;
    is $stack->get('/v1/api/tasks', client => $httpd->client)->{status}, 200,
        'more of them than there are threads delay no request';
    $_->close for @strangers;
    # Over HTTP/2 as well. curl may lose an answer that comes before its body has gone: the access
    # log says that it was refused while the body was still to come.
    my $body = tempdir() . '/body';
    POSIX::mkfifo($body, 0666) or die "$body: $!\n";
    for my $length ([], ['-H', 'Content-Length: 100000']) {
        my $refused = sub {
            scalar(() = slurp($httpd->access_log) =~ m{"POST /v1/api/user HTTP/2\.0" 401 }g) };
        my $before = $refused->();
        open my $open, '+<', $body or die "$body: $!\n";
        my $curl = Idadmin::Test::daemon(['curl', '-sSk', '--http2', '-T', '-', '-X', 'POST', '-o',
            '/dev/null', @$length, '-H', 'X-Api-Key: none', $httpd->tls_url . '/v1/api/user'],
            in => $body, log => tempdir() . '/curl');
        ok within(sub { $refused->() > $before }), 'over HTTP/2';
        Idadmin::Test::stop_daemon($curl, 'KILL');
    }
};

subtest 'slow uploads of one key leave room for the others' => sub {
    my @slow = map {
        my $client = $httpd->client;
        $client->send_raw(head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
            'Content-Length' => 6_000_000) . '{' . ' ' x 200_000);
        $client;
    } 1 .. 40;    # more than there are places
    my $body = '{}' . ' ' x 6_000_000;
    my %json = (body => $body, headers => { 'Content-Type' => 'application/json' });
    # httpd has started children beside the busy ones, and these have room.
    my $own = within(sub {
        my $one = $stack->call(POST => '/v1/api/user', %json, client => $httpd->client, once => 1);
        $one->{status} == 503 && $one });
    error_is $own, 503, 'SERVICE_UNAVAILABLE', 'the same key waits, and is put off';
    like $own->{body}, qr/of this key/, 'with the reason';
    is $own->{headers}{'retry-after'}, 5, 'and when to come again';
    my @answers = map { $stack->call(POST => '/v1/api/user', %json, key => 'ends',
        client => $httpd->client)->{status} } 1 .. 6;
    is "@answers", '400 400 400 400 400 400', 'another key is served';
    $_->close for @slow;
    my $after = within(sub {
        $stack->call(POST => '/v1/api/user', %json, client => $httpd->client)->{status} == 400 });
    ok $after, 'until they have gone';
};
$httpd->expect_log(qr/IDA0230/);

subtest 'bodies that are slow, announced or broken' => sub {
    my $client = $httpd->client;
    my $body   = '{"firstname":"A"}';
    $client->send_raw(head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
        'Content-Length' => length $body));
    for my $piece (split /(?<=.{4})/, $body) { Time::HiRes::sleep(0.05); $client->send_raw($piece) }
    like $client->read_answer->{body}, qr/surname: is required/, 'a slow body is read to its end';
    my %json = ('Content-Type' => 'application/json', Expect => '100-continue');
    $client->send_raw(head('POST /v1/api/user HTTP/1.1', %json, 'Content-Length' => length $body));
    my $interim = $client->_take_line;
    like $interim, qr{^HTTP/1.1 100 }, 'Expect: 100-continue is answered when the body is wanted';
    $client->_take_line;
    $client->send_raw($body);
    error_is $client->read_answer, 400, 'BAD_REQUEST', 'and then the request';
    for my $case ([413, 'PAYLOAD_TOO_LARGE', 'POST', 'full', %json],
        [403, 'FORBIDDEN', 'POST', 'read', %json],
        [415, 'UNSUPPORTED_MEDIA_TYPE', 'POST', 'full', %json, 'Content-Type' => 'text/plain'],
        [405, 'METHOD_NOT_ALLOWED', 'PUT', 'full', %json]) {
        my ($status, $code, $method, $key, %more) = @$case;
        my $own = $httpd->client;
        $own->send_raw(head("$method /v1/api/user HTTP/1.1", $stack->headers($key), %more,
            'Content-Length' => $limit + 1));
        my $line = $own->_take_line;
        like $line, qr{^HTTP/1.1 $status },
            "refused with $status before a byte of the body is asked for";
    }
    for my $broken ("zz\r\n{}\r\n0\r\n\r\n", "-1\r\n", "ffffffffffffffffff\r\n") {
        my @before = records();
        my $own = $httpd->client;
        $own->send_raw(head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
            'Transfer-Encoding' => 'chunked') . $broken);
        my $answer = $own->read_answer;
        ok $answer->{status} == 400 || $answer->{status} == 413,
            "a broken chunk: $answer->{status}";
        is $answer->{headers}{'content-type'}, 'application/json; charset=utf-8', 'in JSON';
        like $answer->{json}{error}{message}, qr/chunks/, 'that says so';
        is_deeply new_outcomes(1, @before), [$answer->{json}{error}{code}],
            'and one record of the audit says the same';
    }
    for my $how ([], [chunked => 1]) {
        my @before = records();
        my $large = $stack->call(POST => '/small/v1/api/user', body => '{}' . ' ' x 200,
            headers => { 'Content-Type' => 'application/json' }, client => $httpd->client, @$how);
        error_is $large, 413, 'PAYLOAD_TOO_LARGE', "LimitRequestBody @$how";
        like $large->{body}, qr/larger than this server is set up to take/,
            'is told so, not as the 6 MB of the service';
        is_deeply new_outcomes(1, @before), ['PAYLOAD_TOO_LARGE'],
            'and is one record of the audit';
    }
    my $cut = $httpd->client;
    $cut->send_raw(head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
        'Content-Length' => 100) . '{"firstname":"Cut","surname":"Off"}');
    $cut->close;
    is $stack->get('/v1/api/tasks')->{json}{data}{totalCount}, 0, 'nothing of a cut body is queued';
    my $short = $httpd->client;
    $short->send_raw(head('POST /v1/api/user HTTP/1.1', 'Content-Type' => 'application/json',
        'Content-Length' => 100) . '{}');
    shutdown $short->{socket}, 1;
    my $answer = $short->read_answer;
    error_is $answer, 400, 'BAD_REQUEST', 'a body that ends early';
    like $answer->{body}, qr/shorter than its Content-Length/, 'is told so';
};
$httpd->expect_log(qr/AH01587|AH02429|AH01590|AH10122|AH01589/);

subtest 'HTTP/1.0' => sub {
    my $client = $httpd->client;
    $client->send_raw(head('GET /v1/api/tasks HTTP/1.0'));
    my $answer = $client->read_answer;
    is $answer->{status}, 200, 'GET';
    is ref $answer->{json}{data}{items}, 'ARRAY', 'with its body';
    $client->send_raw(head('POST /v1/api/user HTTP/1.0', 'Content-Type' => 'application/json',
        'Content-Length' => 2) . '{}');
    error_is $client->read_answer, 400, 'BAD_REQUEST', 'POST';
};

subtest 'odd paths, queries and headers' => sub {
    my $client = $httpd->client;
    my $get    = sub { my ($target, @headers) = @_;
        $client->request(GET => $target, headers => [$stack->headers('read'), @headers]) };
    is $get->('/v1/api/user%2Fx')->{status}, 404, 'an encoded slash';
    is $get->('/v1/api/user%00')->{status} =~ /^40[04]$/, 1, 'an encoded NUL';
    is $get->('/v1/api/' . 'x' x 9000)->{status}, 414, 'a path that is too long';
    is $get->('/v1/api/tasks/')->{status}, 200, 'a trailing slash is no other path';
    error_is $get->('/v1/api/TASKS'), 404, 'NOT_FOUND', 'case is another path';
    error_is $get->('/v1/api/%0d%0aSet-Cookie:a=b'), 404, 'NOT_FOUND', 'line ends in a path';
    my $many = $get->('/v1/api/tasks?' . join '&', map {"p$_"} 1 .. 1300);
    error_is $many, 400, 'BAD_REQUEST', 'a thousand unknown parameters';
    cmp_ok length $many->{body}, '<', 16_000, 'are answered in few words';
    like $many->{json}{error}{message}, qr/and 1200 more faults$/, 'that count them';
    for my $query ('=x', '&&&', '?', 'limit=%31', 'limit=+5', 'limit=5&limit=5', 'state=queued%00',
        "limit=1;state=x", 'state', 'cursor=%F0%9F%98%80') {
        my $answer = $get->("/v1/api/tasks?$query");
        ok $answer->{status} == 200 || $answer->{status} == 400 && $answer->{json}{error}{message},
            "query $query: $answer->{status}";
    }
    my %good = $stack->headers('read');
    for my $case (['X-Company-ID' => "n\xc3\xb6rdic"], ['X-Api-User' => "hr\tread"],
        ['X-Api-User' => 'a,b'], ['X-Api-Key' => "\xff" x 40],
        ['X-Api-Key' => $good{'X-Api-Key'} . ' x']) {
        my $answer = $client->request(GET => '/v1/api/tasks', headers => { %good, @$case });
        error_is $answer, 401, 'UNAUTHORIZED', "strange bytes in $case->[0]";
    }
    my $type = $client->request(POST => '/v1/api/user',
        headers => { $stack->headers('full'),
        'Content-Type' => "application/json; charset=\"\xc3\xa5\"" }, body => '{}');
    error_is $type, 400, 'BAD_REQUEST', 'strange bytes in a parameter of the type';
    is $get->('/v1/api/tasks', Accept => 'text/html',
        'Accept-Encoding' => 'gzip')->{headers}{'content-type'}, 'application/json; charset=utf-8',
        'JSON whatever Accept says';
    for my $target ('/v1/api/tasks', '/v1/openapi.json') {
        my $answer = $get->($target, Range => 'bytes=0-5,7-9', 'Request-Range' => 'bytes=0-5');
        is $answer->{status}, 200, "$target is not cut to a range";
        ok $answer->{json}, 'but whole';
    }
    for my $line (split /\n/, slurp($httpd->error_log)) {
        fail "control characters in the log: $line" if $line =~ /[\x00-\x08\x0b-\x1f\x7f]/;
    }
};

subtest 'filters and ErrorDocuments of the administrator' => sub {
    my $client = $httpd->client;
    for my $target ('/packed/v1/api/tasks', '/packed/v1/api/none') {
        my $answer = $stack->get($target, client => $client,
            headers => { 'Accept-Encoding' => 'gzip' });
        is $answer->{headers}{'content-encoding'}, 'gzip', "$target is packed";
        require Compress::Zlib;
        ok json_data(Compress::Zlib::memGunzip($answer->{body})), 'and unpacks to JSON';
    }
    error_is $stack->post('/packed/v1/api/user', {}, client => $client, headers => {}), 400,
        'BAD_REQUEST', 'without Accept-Encoding it is not';
    my $longer = sub { # a body that httpd's filters make longer than the request says
        my ($lines) = @_;
        my $body = '{"firstname":"A"'
            . join('', map { qq{,\n"$_":"} . 'q' x 100 . '"' } 1 .. $lines) . '}';
        return $stack->call(POST => '/longer/v1/api/user', client => $client, body => $body,
            headers => { 'Content-Type' => 'application/json' });
    };
    for my $time (1 .. 2) {
        my $answer = $longer->(1000);
        error_is $answer, 400, 'BAD_REQUEST', 'a body made longer is read';
        like $answer->{json}{error}{message} // '', qr/surname: is required/, 'to its end';
    }
    error_is $longer->(20_000), 413, 'PAYLOAD_TOO_LARGE', 'and not beyond the limit';
    is $client->connections, 1, 'on one connection';
    my @before = records();
    error_is $stack->get('/own/v1/api/tasks', client => $client), 403, 'FORBIDDEN',
        'Require refused, where only 403 has an ErrorDocument';
    my $page = $stack->get('/page/v1/api/tasks', client => $client);
    is $page->{status}, 403, 'a page for 403';
    is $page->{body}, "page of the administrator\n", 'is shown';
    is_deeply new_outcomes(2, @before), [('FORBIDDEN') x 2],
        'each refusal has one record with its outcome';
    is $client->request(PUT => '/page/v1/api/tasks', body => 'x')->{body},
        "page of the administrator\n", 'a page for 405';
};
$httpd->expect_log(qr/AH01631/);

subtest 'OpenAPI behind credentials' => sub {
    my $client = $httpd->client;
    my $of_openapi = sub { grep { ($_->{endpoint} // '') =~ /openapi/ } records() }; # others lag
    my $before = $of_openapi->();
    is $stack->get('/guarded/v1/openapi.json', client => $client)->{status}, 200, 'with a key';
    error_is $client->request(GET => '/guarded/v1/openapi.json'), 401, 'UNAUTHORIZED', 'none';
    is $client->request(OPTIONS => '/v1/openapi.json')->{headers}{allow}, 'GET, HEAD, OPTIONS',
        'OPTIONS';
    my $head = $client->request(HEAD => '/v1/openapi.json');
    is $head->{headers}{'content-length'},
        length $client->request(GET => '/v1/openapi.json')->{body}, 'HEAD';
    within(sub { $of_openapi->() > $before });
    is scalar($of_openapi->()) - $before, 1, 'one record';
};

subtest 'keys' => sub {
    is $stack->get('/v1/api/tasks', key => 'legacy')->{status}, 200, 'a legacy key reads';
    error_is $stack->post('/v1/api/user', {}, key => 'legacy'), 400, 'BAD_REQUEST', 'and may write';
    error_is $stack->post('/v1/api/user', {}, key => 'read'), 403, 'FORBIDDEN',
        'a read-only one may not';
    is $stack->get('/v1/api/tasks', key => 'ends')->{status}, 200, 'a key before its end';
    $stack->sql(q{UPDATE api_key SET expires_at = 1000 WHERE username = 'hr-ends'});
    my $answer;
    ok within(sub { $answer = $stack->get('/v1/api/tasks', key => 'ends');
        $answer->{status} == 401 }), 'an expired key stops within two seconds';
    is $answer->{body}, $httpd->client->request(GET => '/v1/api/tasks')->{body},
        'with the words that all get';
    $stack->apply_tenant($stack->tenant_document(modules => { publicApi => JSON::PP::false() }));
    ok within(sub { $answer = $stack->get('/v1/api/tasks'); $answer->{status} == 403 }),
        'a module switched off holds within five seconds';
    like $answer->{json}{error}{message}, qr/Public API module is not enabled/, 'named';
    $stack->apply_tenant($stack->tenant_document);
    $stack->apply_tenant($stack->tenant_document(modules => { publicApi => JSON::PP::true() }));
    ok within(sub { $stack->get('/v1/api/tasks')->{status} == 200 }), 'and on again';
    $stack->ctl_ok('key', 'delete', 'nordic', 'hr-legacy');
    ok within(sub { $stack->get('/v1/api/tasks', key => 'legacy')->{status} == 401 }),
        'a deleted key stops within two seconds';
};

subtest 'HTTP/2' => sub {
    my %headers = $stack->headers('full');
    my $h2 = sub {
        my @how = @_;
        my $result = run_command(['curl', '-sS', '--http2', '--cacert',
            Idadmin::Test::Tls::files()->{ca},
            (map { ('-H', "$_: $headers{$_}") } sort keys %headers), '-w', "\n%{http_code}", @how]);
        return $result->{out} . $result->{err};
    };
    my $url  = $httpd->tls_url . '/v1/api/user';
    my $file = spew(tempdir() . '/body.json', '{}');
    like $h2->('-T', $file, '-X', 'POST', '-H', 'Content-Length:', '-H', 'Content-Type: text/plain',
        $url), qr/UNSUPPORTED.*\n415$/s, 'a body of unknown length: its type is looked at';
    like $h2->('-T', $file, '-X', 'DELETE', '-H', 'Content-Length:', '-H',
        'Content-Type: application/json', $url), qr/userPrincipalName: is required"?.*\n400$/s,
        'and it is read';
    like $h2->('-X', 'OPTIONS', $url), qr/^\n204$/, 'OPTIONS';
    my $head = $h2->('-I', $httpd->tls_url . '/v1/api/tasks');
    like $head, qr/content-length: \d+.*\n200$/s, 'HEAD';
    like $head, qr/ratelimit: "key";r=/, 'with its limits';
    %headers = $stack->headers('read');
    my @mcp = ('-H', 'Content-Type: application/json', '-H',
        'Accept: application/json, text/event-stream', '-w', "\n%{http_version} %{http_code}");
    like $h2->(@mcp, '-d',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
            . '"params":{"name":"list_workflows","arguments":{}}}', $httpd->tls_url . '/mcp'),
        qr/"structuredContent":\{"items":.*\n2 200$/s, 'an MCP call';
    like $h2->(@mcp, '-X', 'GET', $httpd->tls_url . '/mcp'), qr/\n2 405$/, 'which only POST may be';
};

# Each request on a connection of its own: none may be refused or left without an answer.
subtest 'graceful restarts under load lose no request' => sub {
    # instrumented children are slow to leave, beside the new ones
    $httpd->expect_log(qr/AH03490/) if Idadmin::Test::slowness() > 1;
    my $done    = tempdir() . '/restarted';
    my $trouble = Idadmin::Test::fork_plain();
    if (!$trouble) {
        for (1 .. 3) {
            my $lines = $httpd->access_lines;
            within(sub { $httpd->access_lines > $lines + 50 });
            eval { $httpd->graceful } or warn $@;
        }
        spew($done, '');
        POSIX::_exit(0);
    }
    my %seen;
    for my $result (in_parallel(4, sub {
        my %mine;
        for (my $after = 0; $after < 10; $after += -e $done ? 1 : 0) {
            my $answer = eval {
                $stack->get('/v1/api/tasks', key => 'many', client => $httpd->client, close => 1) };
            $mine{ $answer ? $answer->{status} : "lost: $@" }++;
            Time::HiRes::sleep(0.005);
        }
        return \%mine;
    })) { $seen{$_} += $result->{$_} for keys %$result }
    waitpid $trouble, 0;
    cmp_ok $seen{200} // 0, '>', 150, 'answers';
    is join(' ', sort keys %seen), '200', 'and nothing else';
};

subtest 'a full disk below the spool' => sub {
    my $small = $stack->spool . '.small';
    mkdir $small or die $!;
    my $mounted = $> == 0 && !run_command(['mount', '-t', 'tmpfs', '-o', 'size=32k,mode=0777',
        'none', $small])->{exit};
    plan skip_all => 'no small file system can be mounted here' if !$mounted;
    my $ok = eval {
        $httpd->reconfigure(spool => $small)->graceful;
        my $client = $httpd->client;
        my ($answer, $good) = (undef, 0);
        for (1 .. 2000) {
            $answer = $stack->get('/v1/api/tasks', key => 'many', client => $client);
            last if $answer->{status} != 200;
            $good++;
        }
        error_is $answer, 503, 'SERVICE_UNAVAILABLE', "after $good records: no record, no answer";
        ok $answer->{headers}{'retry-after'}, 'Retry-After';
        like $answer->{json}{error}{message}, qr/cannot record/, 'and says what is wrong';
        my $whole = () = join('', map { slurp($_) } glob "$small/*.audit") =~ /\x1e[^\n\x1e]*\n/g;
        cmp_ok $whole, '>=', $good, 'each answer that left has its whole record';
        unlink glob "$small/*.audit";
        $clock->step(60);    # an open segment keeps its room until its minute is over
        ok within(sub {
            $stack->get('/v1/api/tasks', key => 'many', client => $client)->{status} == 200 }),
            'goes on by itself when there is room';
        1;
    };
    diag $@ if !$ok;
    $httpd->reconfigure(spool => $stack->spool)->graceful;
    within(sub { !run_command(['umount', $small])->{exit} })
        or run_command(['umount', '-l', $small]);
    ok $ok, 'to the end';
};
$httpd->expect_log(qr/IDA0220/);

$stack->stop;

subtest 'SQLite store away' => sub {
    my $own  = Idadmin::Test::Stack->new(slapd => 0, worker => 0, httpd => 0);
    my $file = $own->store =~ s/^sqlite3://r;
    chmod 0, $file or die $!;
    my $httpd = Idadmin::Test::Httpd->new(store => $own->store, spool => $own->spool);
    $own->{httpd} = $httpd;
    my $answer = $own->get('/v1/api/tasks');
    error_is $answer, 503, 'SERVICE_UNAVAILABLE', 'unreadable: 503';
    ok $answer->{headers}{'retry-after'}, 'Retry-After';
    unlike $answer->{body}, qr/\.db|sqlite/i, 'no inner details';
    chmod 0644, $file or die $!;    # httpd's user is one of the others
    ok within(sub { $own->get('/v1/api/tasks')->{status} == 200 }),
        'and good again by itself';
    $httpd->expect_log(qr/IDA01\d\d/);
    $own->stop;
};

subtest 'PostgreSQL away' => sub {
    my $skip = Idadmin::Test::PostgreSQL->skip_reason;
    plan skip_all => $skip if $skip;
    my $server = Idadmin::Test::PostgreSQL->new(conf => "fsync = off\n");
    my $own    = Idadmin::Test::Stack->new(engine => 'postgresql', postgresql => $server,
        slapd => 0, worker => 0);
    my $get    = sub { $own->get('/v1/api/tasks', @_) };
    is $get->()->{status}, 200, 'before';
    $server->stop;
    my $answer;
    ok within(sub { $answer = $get->(); $answer->{status} == 503 }), 'stopped: 503';
    $answer = $get->() for 1 .. 10;
    error_is $answer, 503, 'SERVICE_UNAVAILABLE', 'in JSON';
    ok $answer->{headers}{'retry-after'}, 'Retry-After';
    unlike $answer->{body}, qr/socket|connection|postgres|127/i, 'no inner details';
    $server->start;
    ok within(sub { $get->()->{status} == 200 }), 'and good again by itself';
    # A child tries once a second: one may have tried just before.
    ok within(sub { !grep { $_ != 200 }
        map { $get->(client => $own->httpd->client)->{status} } 1 .. 30 }), 'on every child';
    $own->httpd->expect_log(qr/IDA01\d\d/);
    $own->stop;
};

done_testing();
