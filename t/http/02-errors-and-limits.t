# A bad request gets the right status, code, JSON and headers in every phase. Also: bodies at the
# edge of 6 MB, connections that stay open, HTTP/2, ErrorDocument, directives.
use strict;
use warnings;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Http;
use Idadmin::Test::Stack;
use Idadmin::Test::Tls ();

my $rest = qq{    SetHandler idadmin-rest\n    AuthType IdAdmin\n};
my $stack = Idadmin::Test::Stack->new(
    slapd => 0, worker => 0,
    httpd => { tls => 1, server =>
    'LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so',
    rate_limits => { failures => 'off' }, locations => <<"CONF" },
<Location "/v1/api">
$rest    Require valid-user
</Location>
<Location "/own/v1/api">
$rest    Require valid-user
    ErrorDocument 401 "words of the administrator"
</Location>
<Location "/other/v1/api">
$rest    Require idadmin-company somebody-else
</Location>
<Location "/write/v1/api">
$rest    Require idadmin-scope write
</Location>
<Location "/walled/v1/api">
$rest    Require valid-user
    RewriteEngine on
    @{[ map {"RewriteCond %{QUERY_STRING} wall=$_\n    RewriteRule . - [R=$_]\n    "}
        400, 403, 404, 406, 413 ]}
</Location>
<Location "/walled/mcp">
    SetHandler idadmin-mcp
    AuthType IdAdmin
    Require valid-user
    RewriteEngine on
    RewriteRule . - [F]
</Location>
<Location "/open/v1/api">
    SetHandler idadmin-rest
    Require all granted
</Location>
<Location "/v1/openapi.json">
    SetHandler idadmin-openapi
    Require all granted
</Location>
CONF
);
my $httpd = $stack->httpd;
my $limit = 6291456;

sub error_is {
    my ($answer, $status, $code, $name) = @_;
    subtest $name => sub {
        is $answer->{status}, $status, 'status';
        is $answer->{headers}{'content-type'}, 'application/json; charset=utf-8', 'type';
        is $answer->{headers}{'cache-control'}, 'no-store', 'not to be cached';
        is ref $answer->{json}, 'HASH', 'JSON' or return diag $answer->{body};
        is join(' ', keys %{ $answer->{json} }), 'error', 'nothing but an error';
        is join(' ', sort keys %{ $answer->{json}{error} }), 'code message', 'code and message';
        is $answer->{json}{error}{code}, $code, 'code';
    };
}

subtest 'credentials' => sub {
    my $client = $httpd->client;
    my %good   = $stack->headers('read');
    my $text;
    my @cases;
    for my $name (sort keys %good) {
        push @cases, ["$name missing",
            [map { $_ eq $name ? () : ($_ => $good{$_}) } sort keys %good]];
        push @cases, ["$name empty",   [%good, $name => '']];
        push @cases, ["$name doubled", [%good, $name => $good{$name}]];
        push @cases, ["$name doubled, once empty", [%good, $name => '']] if $name eq 'X-Api-Key';
        push @cases, ["$name wrong",
            [%good, $name => ($good{$name} =~ s/.\z/$& eq 'x' ? 'y' : 'x'/er)]];
        push @cases, ["$name long",    [%good, $name => 'x' x 4000]];
    }
    for my $case (@cases) {
        my ($name, $headers) = @$case;
        my @list = @$headers;
        if ($name !~ /doubled/) { my %once = @list; @list = %once }
        my $answer = $client->request(GET => '/v1/api/tasks', headers => \@list);
        error_is($answer, 401, 'UNAUTHORIZED', $name);
        $text //= $answer->{body};
        is $answer->{body}, $text, 'the same text';
        like $answer->{headers}{'www-authenticate'}, qr/^IdAdmin realm="[^"]+"$/, 'challenge';
    }
    is $client->connections, 1, 'all on one connection';
    is $stack->get('/v1/api/tasks', client => $client)->{status}, 200,
        'and good credentials after them';
};
$httpd->expect_log(qr/IDA0210/);

subtest 'a disabled key stops, an enabled one goes on' => sub {
    is $stack->get('/v1/api/tasks')->{status}, 200, 'before';
    $stack->ctl_ok('key', 'disable', 'nordic', 'hr-read');
    ok within(sub { $stack->get('/v1/api/tasks')->{status} == 401 }), 'disabled';
    $stack->ctl_ok('key', 'enable', 'nordic', 'hr-read');
    ok within(sub { $stack->get('/v1/api/tasks')->{status} == 200 }), 'enabled again';
};

subtest 'method and path' => sub {
    my $client = $httpd->client;
    for my $method (qw(PUT TRACE-ME BREW)) {
        my $answer = $client->request($method => '/v1/api/user');
        error_is($answer, 405, 'METHOD_NOT_ALLOWED', "$method without credentials");
        like $answer->{headers}{allow}, qr/^GET, HEAD, POST, DELETE, .*OPTIONS$/, 'Allow';
    }
    error_is($stack->get('/v1/api/nothing', client => $client), 404, 'NOT_FOUND', 'unknown path');
    error_is($stack->get('/v1/api/user/../none', client => $client), 404, 'NOT_FOUND', 'with dots');
    error_is($client->request(GET => '/v1/api/nothing'), 401, 'UNAUTHORIZED',
        'an unknown path tells nothing without credentials');
    my $options = $client->request(OPTIONS => '/v1/api/user');
    is $options->{status}, 204, 'OPTIONS';
    is $options->{body}, '', 'no body';
    like $options->{headers}{allow}, qr/^GET, HEAD, POST, DELETE, .*OPTIONS$/, 'Allow';
    my $get  = $stack->get('/v1/api/tasks', client => $client);
    my $head = $stack->call(HEAD => '/v1/api/tasks', client => $client);
    is $head->{status}, 200, 'HEAD';
    is $head->{headers}{'content-length'}, length $get->{body}, 'the length of what GET sends';
    is $client->connections, 1, 'all on one connection';
};

subtest 'bodies' => sub {
    my $client = $httpd->client;
    my $post   = sub { my ($body, %how) = @_;
        $stack->call(POST => '/v1/api/user', body => $body,
        headers => { 'Content-Type' => $how{type} // 'application/json' }, client => $client,
        %how) };
    error_is($post->('{}', type => 'text/plain'), 415, 'UNSUPPORTED_MEDIA_TYPE', 'another type');
    error_is($post->('{}', type => ''), 415, 'UNSUPPORTED_MEDIA_TYPE', 'no type');
    error_is($post->('{}'), 400, 'BAD_REQUEST', 'required fields missing');
    error_is($post->('{'), 400, 'BAD_REQUEST', 'broken JSON');
    error_is($post->('', chunked => 1), 400, 'BAD_REQUEST', 'an empty chunked body');
    my $padding = ' ' x ($limit - 2);
    for my $how ([], [chunked => 50_000]) {
        my $name = @$how ? 'chunked' : 'with Content-Length';
        error_is($post->("{}$padding", @$how), 400, 'BAD_REQUEST', "6 MB $name are read");
        error_is($post->("{}$padding ", @$how), 413, 'PAYLOAD_TOO_LARGE', "one byte more $name");
        error_is($post->("{}$padding ", @$how, type => 'text/plain'), 415, 'UNSUPPORTED_MEDIA_TYPE',
            "415 comes before 413 $name");
        error_is($stack->call(POST => '/v1/api/user', key => 'read', body => "{}$padding ",
            client => $client, @$how), 403, 'FORBIDDEN', "403 before both $name");
    }
    my $empty = $stack->delete('/v1/api/user', undef, client => $client);
    error_is($empty, 400, 'BAD_REQUEST', 'DELETE without a body');
    like $empty->{json}{error}{message}, qr/userPrincipalName.*proxies/,
        'names the field and the proxies';
    error_is($stack->delete('/v1/api/user', { userPrincipalName => 'x@y.example' },
        client => $client), 503, 'SERVICE_UNAVAILABLE', 'DELETE with a body is read');
    is $stack->get('/v1/api/tasks', client => $client)->{status}, 200,
        'a good request after all these';
    is $client->connections, 1, 'all on one connection';
};

subtest 'many large bodies at once' => sub {
    my @answers = in_parallel(12, sub {
        my $body = '{"firstname":"' . 'x' x 6_000_000 . '"}';
        # On a slow machine some are put off, and come again.
        my @seen;
        within(sub {
            push @seen, $stack->call(POST => '/v1/api/user', body => $body,
                headers => { 'Content-Type' => 'application/json' },
                client => $httpd->client, once => 1)->{status};
            $seen[-1] != 503;
        });
        return "@seen";
    });
    is_deeply [grep { !/^(?:503 )*400$/ } @answers], [], "all are read (@answers)";
};

$httpd->expect_log(qr/IDA0230/);

subtest 'Require and ErrorDocument' => sub {
    error_is($stack->get('/other/v1/api/tasks'), 403, 'FORBIDDEN', 'a company that is not named');
    ok $stack->get('/other/v1/api/tasks')->{headers}{ratelimit}, 'with its limits';
    error_is($stack->get('/write/v1/api/tasks', key => 'read'), 403, 'FORBIDDEN',
        'a read-only key where write is required');
    is $stack->get('/write/v1/api/tasks', key => 'full')->{status}, 200, 'a full key there';
    my $own = $httpd->client->request(GET => '/own/v1/api/tasks');
    is $own->{status}, 401, 'the status stays';
    is $own->{body}, 'words of the administrator', 'the words are the administrator\'s';
    ok $own->{headers}{'www-authenticate'}, 'the challenge stays';
    error_is($httpd->client->request(GET => '/open/v1/api/tasks'), 500, 'INTERNAL_ERROR',
        'a Location without authentication serves nothing');
    ok $httpd->log_has(qr/IDA0211.*AuthType IdAdmin/), 'and the log names what is missing';
};
$httpd->expect_log(qr/AH01631/, qr/IDA0211/);

subtest 'a refusal of another module' => sub {
    # what is new in the segment of any child is this request's record, which may follow its answer
    my %known;
    my $new = sub { grep { !$known{$_}++ } map { slurp($_) =~ /\x1e([^\n]*)\n/g }
        glob $stack->spool . '/*.audit' };
    for my $case ([403, 'FORBIDDEN'], [413, 'PAYLOAD_TOO_LARGE'], [404, 'NOT_FOUND'],
        [406, 'NOT_ACCEPTABLE'], [400, 'BAD_REQUEST']) {
        my ($status, $code) = @$case;
        $new->();
        my $answer = $stack->get("/walled/v1/api/tasks?wall=$status", client => $httpd->client);
        error_is $answer, $status, $code, "status $status";
        like $answer->{json}{error}{message},
            qr/^The\ server\ refused\ this\ request\ with\ status\ $status\ before\ the\ service
                \ carried\ it\ out\.\ .*logs/x, 'in words that claim no reason';
        my @records;
        within(sub { push @records, map { json_data($_) } $new->(); @records });
        is scalar @records, 1, 'one record';
        is $records[0]{detail}, $answer->{json}{error}{message}, 'which says so';
        is $records[0]{outcome}, $code, 'with the code';
    }
    my $tool = $stack->call(POST => '/walled/mcp', key => 'read',
        body => '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', client => $httpd->client,
        headers => { 'Content-Type' => 'application/json',
        Accept => 'application/json, text/event-stream' });
    is $tool->{status}, 403, 'at the MCP address';
    like $tool->{json}{error}{message}, qr/^The server refused this request with status 403/,
        'the same';
    like $stack->get('/other/v1/api/tasks')->{json}{error}{message},
        qr/Require.*do not admit this API user/, 'a Require is named';
};

subtest 'HTTP/2' => sub {
    my $key = $stack->key('full');
    my @curl = ('curl', '-sS', '--http2', '--cacert', Idadmin::Test::Tls::files()->{ca}, '-H',
        "X-Company-ID: $key->{companyId}",
        '-H', "X-Api-User: $key->{username}", '-H', "X-Api-Key: $key->{apiKey}", '-w',
        "\n%{http_code} %{http_version}");
    my $h2 = sub { my $result = run_command([@curl, @_]); return $result->{out} . $result->{err} };
    my $url = $httpd->tls_url;
    like $h2->("$url/v1/api/tasks"), qr/"items".*\n200 2$/s, 'GET';
    like $h2->('-X', 'DELETE', "$url/v1/api/user"), qr/proxies.*\n400 2$/s, 'DELETE without a body';
    like $h2->('-X', 'DELETE', '-H', 'Content-Type: application/json', '-d',
        '{"userPrincipalName":"x@y.example"}', "$url/v1/api/user"),
        qr/SERVICE_UNAVAILABLE.*\n503 2$/s, 'DELETE with a body';
    like $h2->('-X', 'PUT', "$url/v1/api/user"), qr/METHOD_NOT_ALLOWED.*\n405 2$/s, 'PUT';
    like $h2->('-H', 'X-Api-User: twice', "$url/v1/api/tasks"), qr/UNAUTHORIZED.*\n401 2$/s,
        'a doubled header';
    my $large = spew(tempdir() . '/large.json', '{}' . ' ' x ($limit - 1));
    like $h2->('-H', 'Content-Type: application/json', '--data-binary', "\@$large",
        "$url/v1/api/user"), qr/PAYLOAD_TOO_LARGE.*\n413 2$/s, '6 MB and a byte';
};

subtest 'OpenAPI' => sub {
    my $answer = $httpd->client->request(GET => '/v1/openapi.json');
    is $answer->{status}, 200, 'without a key';
    like $answer->{json}{openapi}, qr/^3\.1/, 'version';
    error_is($httpd->client->request(POST => '/v1/openapi.json'), 405, 'METHOD_NOT_ALLOWED',
        'only to be read');
};

subtest 'records and notes' => sub {
    my $key = $stack->key('full')->{apiKey};
    my $all = join '', slurp($httpd->error_log), slurp($httpd->access_log),
        map { slurp($_) } glob $stack->spool . '/*.audit';
    unlike $all, qr/\Q$key\E/, 'no key in any log or record';
    like slurp($httpd->access_log), qr/op=task\.list company=nordic user=hr-read/,
        'notes of the access log';
    my @records = map { json_data($_) } (map { slurp($_) =~ /\x1e([^\n]*)\n/g } glob $stack->spool
        . '/*.audit'), map { $_->[0] } $stack->sql('SELECT record FROM audit_outbox');
    my %outcomes = map { $_->{outcome} => 1 } @records;
    is join(' ', sort grep { $outcomes{$_} } qw(ok NOT_FOUND FORBIDDEN UNSUPPORTED_MEDIA_TYPE
        PAYLOAD_TOO_LARGE BAD_REQUEST SERVICE_UNAVAILABLE)),
        'BAD_REQUEST FORBIDDEN NOT_FOUND PAYLOAD_TOO_LARGE SERVICE_UNAVAILABLE '
        . 'UNSUPPORTED_MEDIA_TYPE ok', 'every authenticated answer has its record';
};

subtest 'keys of networks' => sub {
    my $here = $stack->create_key(here => 'net-here', 'read-only', '--from',
        '192.0.2.0/24,127.0.0.0/8');
    my $there = $stack->create_key(there => 'net-there', 'full', '--from',
        '192.0.2.0/24,2001:db8::/32');
    is $stack->get('/v1/api/tasks', key => 'here')->{status}, 200, 'a key within its networks';
    my $elsewhere = $stack->get('/v1/api/tasks', key => 'there');
    error_is($elsewhere, 401, 'UNAUTHORIZED', 'from elsewhere it is refused');
    my $wrong = $stack->get('/v1/api/tasks',
        key => { %{ $stack->key('there') }, apiKey => $here->{apiKey} });
    is_deeply [@$wrong{qw(status body)}], [@$elsewhere{qw(status body)}],
        'in the words of a wrong key';
    ok $httpd->log_gets(qr/IDA0210:\ credentials\ refused\ \(address\ not\ allowed\ for\ this
        \ key\),\ company\ "nordic",\ user\ "net-there",\ from\ 127\.0\.0\.1/x),
        'the error log has the reason';
};

subtest 'spool away' => sub {
    my $begun = time;
    rename $stack->spool, $stack->spool . '.away' or die $!;
    # new children: an open segment outlives its directory until its minute is over
    $httpd->graceful;
    my $answer;
    ok within(sub { $answer = $stack->get('/v1/api/tasks', client => $httpd->client);
        $answer->{status} == 503 }), 'no record, no answer';
    error_is($answer, 503, 'SERVICE_UNAVAILABLE', 'which is');
    ok $answer->{headers}{'retry-after'}, 'Retry-After';
    ok $httpd->log_has(qr/IDA0220/), 'the log says why';
    is scalar(grep { $stack->get('/v1/api/tasks',
        client => $httpd->client)->{status} == 503 } 1 .. 40), 40,
        'so it goes for many requests, over all children';
    my $lines = () = slurp($httpd->error_log) =~ /IDA0220/g;
    cmp_ok $lines, '<=', 1 + (time - $begun + 1) / 60,
        "which the log says once a minute ($lines lines)";
    rename $stack->spool . '.away', $stack->spool or die $!;
    ok within(sub { $stack->get('/v1/api/tasks',
        client => $httpd->client)->{status} == 200 }), 'back again';
};
$httpd->expect_log(qr/IDA0220/);

$stack->stop;

subtest 'without a schema' => sub {
    my $dir = tempdir() . '/empty';
    mkdir $dir or die $!;
    my $empty = Idadmin::Test::Httpd->new(store => "sqlite3:$dir/idadmin.db", spool => $dir);
    my $answer = $empty->client->request(GET => '/v1/api/tasks',
        headers => [$stack->headers('read')]);
    error_is($answer, 503, 'SERVICE_UNAVAILABLE', 'httpd starts and answers 503');
    ok $answer->{headers}{'retry-after'}, 'Retry-After';
    ok $empty->log_gets(qr/IDA0110.*idadminctl schema upgrade/), 'the log names the command';
    $empty->expect_log(qr/IDA0110/);
    $empty->stop;
};

subtest 'directives' => sub {
    # Without a handler of ours no file is looked at.
    my $try = sub { Idadmin::Test::Httpd->new(start => 0, store => 'sqlite3:/tmp/none.db',
        locations => '', spool => '/tmp', server => $_[0])->configtest };
    for my $case (['IdAdminRateLimit key 0/60s', qr/IdAdminRateLimit key/],
        ['IdAdminRateLimit ip 1/60s', qr/key, company, address, failures or person/],
        ['IdAdminRateTable 5', qr/IdAdminRateTable/],
        ['IdAdminAuditSpool relative/path', qr/IdAdminAuditSpool/],
        ['IdAdminStore mysql:x', qr/IdAdminStore/],
        ["<VirtualHost *:81>\nIdAdminRateLimit key off\n</VirtualHost>", qr/IdAdminRateLimit.*not/],
        ["<Location /x>\nRequire idadmin-scope all\n</Location>", qr/idadmin-scope/],
        ['IdAdminStore "pgsql:host=db dbname=x password=geheim"',
        qr/IdAdminStore:\ holds\ a\ password,\ and\ \S+\ can\ be\ read\ by
            \ everybody.*passfile=PATH.*chmod\ o=/x],
        ['IdAdminStore sqlite3:relative.db', qr/IdAdminStore .*from \/ on/],
        ["<Location /x>\nRequire idadmin-company a b\@c\n</Location>", qr/idadmin-company: "b\@c"/],
        (map { ["<Location /x>\nIdAdminAllowOrigin $_\n</Location>",
        qr/IdAdminAllowOrigin "\Q$_\E"/] } 'https://*.example', 'https://x:0', 'https://x:99999',
        'https://x:443', 'https://x/'))
    {
        my $result = $try->($case->[0]);
        isnt $result->{exit}, 0, "refused: $case->[0]" =~ s/\n/ /gr;
        like $result->{err}, $case->[1], 'and says why';
        unlike $result->{err}, qr/geheim/, 'without a password';
    }
    is $try->('IdAdminRateLimit company 10/1h')->{exit}, 0, 'a good one';
    is $try->("<Location /x>\nIdAdminAllowOrigin https://[::1]:8443 http://localhost:6274 "
        . "https://sub.example\nRequire idadmin-company a b.c\n</Location>")->{exit}, 0,
        'good ones of a Location';
};

done_testing();
