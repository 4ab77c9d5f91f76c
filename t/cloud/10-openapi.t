# The connector's whole traffic against an OpenAPI description of the directory's API, named by
# GRAPH_OPENAPI (JSON): a small session of joiners, leavers, syncs, licences and the probe's report,
# with a secret and with a certificate, is recorded and each exchange checked.
use strict;
use warnings;
use utf8;
use Idadmin::Test;
use Idadmin::Test::Cloud ();
use Idadmin::Test::OpenApi;
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack;
use IPC::Open2 ();
use Test::More;

if (my $reason = Idadmin::Test::OpenApi->skip_reason) {
    plan(skip_all => $reason);
}

my $description = {
    openapi => '3.0.3', info => { title => 'people', version => '1' },
    components => {
        schemas => {
            person => { type => 'object', required => ['name'],
                additionalProperties => JSON::PP::false(),
                properties => { name => { type => 'string', maxLength => 5, pattern => '^[a-z]+$' },
                age => { type => 'integer', minimum => 0, nullable => JSON::PP::true() },
                tags => { type => 'array', maxItems => 2,
                items => { type => 'string', enum => ['a', 'b'] } },
                born => { type => 'string', format => 'date-time' },
                boss => { anyOf => [{ '$ref' => '#/components/schemas/person' },
                { type => 'object', nullable => JSON::PP::true() }] } } },
            named => { allOf => [{ '$ref' => '#/components/schemas/person' },
            { type => 'object', required => ['age'] }] },
        },
        responses => {
            error => { description => 'an error',
                content => { 'application/json' => { schema => { type => 'object',
                required => ['error'] } } } },
        },
    },
    paths => {
        '/people/{id}' => { get => {
            parameters => [
                { name => 'id', in => 'path', required => JSON::PP::true(),
                    schema => { type => 'string', maxLength => 3 } },
                { name => '$top', in => 'query', schema => { type => 'integer', maximum => 9 } },
                { name => '$count', in => 'query', schema => { type => 'boolean' } },
                { name => '$select', in => 'query', explode => JSON::PP::false(),
                    schema => { type => 'array',
                    items => { type => 'string', enum => ['name'] } } },
            ],
            responses => { 200 => { description => 'a person',
            content => { 'application/json' => {
            schema => { '$ref' => '#/components/schemas/person' } } } },
            '4XX' => { '$ref' => '#/components/responses/error' } } } },
        '/people' => { get => {
            parameters => [
                { name => '$filter', in => 'query', required => JSON::PP::true(),
                    schema => { type => 'string' } },
                { name => 'Prefer', in => 'header', required => JSON::PP::true(),
                    schema => { type => 'string', enum => ['minimal'] } },
            ],
            responses => { 200 => { description => 'people' } } } },
        '/people/me' => { post => {
        requestBody => { required => JSON::PP::true(),
        content => { 'application/json' => {
        schema => { '$ref' => '#/components/schemas/named' } } } },
        responses => { 204 => { description => 'done' } } } },
    },
};

subtest 'the checker finds what is wrong' => sub {
    my $api = Idadmin::Test::OpenApi->new($description);
    my %get  = (method => 'GET', path => '/v1.0/people/1', query => '', requestHeaders => {},
        status => 200, responseType => 'application/json', responseBody => '{"name":"x"}');
    my %refused = (%get, status => 404, responseBody => '{"error":{}}');
    my %list = (method => 'GET', path => '/v1.0/people', query => '$filter=x', status => 200,
        requestHeaders => { Prefer => 'minimal' });
    my %post = (method => 'POST', path => '/v1.0/people/me', query => '',
        requestHeaders => { 'content-type' => 'application/json' }, status => 204,
        requestBody => '{"name":"x","age":3}');
    my $body = sub { my ($name, $members, $want) = @_;
        return [$name, { %post, requestBody => "{\"name\":\"x\",\"age\":1,$members}" }, $want] };
    for my $case (
        ['right', { %get }, undef],
        ['right with options', { %get, query => '%24top=3&$select=name&$count=true' }, undef],
        ['right with required parameters', { %list }, undef],
        ['a described error', { %refused }, undef],
        ['right with a body', { %post }, undef],
        ['null where it may be', { %post, requestBody => '{"name":"x","age":null,"boss":null}' },
            undef],
        $body->('nested', '"boss":{"name":"y"}'),
        ['unknown path', { %get, path => '/v1.0/animals' }, qr/path is not/],
        ['unknown method', { %get, method => 'PUT' }, qr/method is not/],
        ['wrong in the path', { %get, path => '/v1.0/people/1234' }, qr{/id: String is too long}],
        ['unknown parameter', { %get, query => '$skip=3' }, qr/\$skip is not in/],
        ['doubled parameter', { %get, query => '$top=3&$top=4' }, qr/\$top is doubled/],
        ['missing parameter', { %list, query => '' }, qr{/\$filter: Missing property}],
        ['missing header', { %list, requestHeaders => {} }, qr{/Prefer: Missing property}],
        ['unknown header value', { %list, requestHeaders => { prefer => 'all' } },
            qr{/Prefer: Not in enum}],
        ['number too large', { %get, query => '$top=10' }, qr/10 > maximum/],
        ['no number', { %get, query => '$top=x' }, qr{/\$top: Expected integer - got string}],
        ['no boolean', { %get, query => '$count=1' }, qr{/\$count: Expected boolean}],
        ['unknown choice', { %get, query => '$select=name,age' }, qr{/\$select/1: Not in enum}],
        ['an unexpected body', { %get, requestBody => '{}' }, qr/a body that is not/],
        ['missing body', { %post, requestBody => undef }, qr{/body: Missing property}],
        ['other type', { %post, requestHeaders => { 'content-type' => 'text/plain' } },
            qr{Expected application/json - got text/plain}],
        ['no type', { %post, requestHeaders => {} }, qr/got no content type/],
        ['missing member', { %post, requestBody => '{"name":"x"}' },
            qr{/body/age: /allOf/1 Missing}],
        ['missing inside a reference', { %post, requestBody => '{"age":1}' },
            qr{/body/name: /allOf/0 Missing}],
        $body->('unknown member', '"x":1', qr/not allowed: x/),
        ['wrong type', { %post, requestBody => '{"name":"x","age":"1"}' },
            qr{/body/age: /allOf/0 Expected integer - got string}],
        ['too long', { %post, requestBody => '{"name":"abcdef","age":1}' }, qr/too long: 6\/5/],
        ['pattern', { %post, requestBody => '{"name":"A","age":1}' }, qr/does not match/],
        $body->('items', '"tags":["a","c"]', qr{/body/tags/1: /allOf/0 Not in enum}),
        $body->('too many', '"tags":["a","b","a"]', qr/Too many items: 3\/2/),
        $body->('no date', '"born":"2020-13-01T00:00:00Z"', qr/Month out of range/),
        $body->('no alternative fits', '"boss":7', qr{/body/boss: .*object - got number}),
        ['null where it may not be', { %post, requestBody => '{"name":null,"age":1}' },
            qr{/body/name: /allOf/0 Expected string - got null}],
        ['no JSON', { %post, requestBody => '{' }, qr/got invalid JSON/],
        ['unknown status', { %get, status => 302 }, qr/status 302/],
        ['wrong answer', { %get, responseBody => '{"age":1}' },
            qr{status 200: /body/name: Missing}],
        ['wrong error', { %refused, responseBody => '{}' }, qr{status 404: /body/error: Missing}],
        ['an error of another type', { %refused, responseType => 'text/plain' },
            qr{status 404: /body: Expected application/json}],
        ['an answer where none is', { %list, responseType => 'text/plain', responseBody => 'x' },
            qr/a body that is not/]) {
        my ($name, $line, $want) = @$case;
        # Twice, because judging must not change the description.
        my ($first, @wrong) = map { join "\n", $api->exchange($line) } 1, 2;
        $want ? like($first, $want, $name) : is($first, '', $name);
        is_deeply(\@wrong, [$first], '... again');
    }
    ok(!eval { Idadmin::Test::OpenApi->new({ openapi => '3.0.3', paths => {} }) },
        'a description that is not valid is refused');
    like($@, qr{/info: Missing property}, '... with its fault');
};

subtest 'the traffic' => sub {
    if (my $reason = !$ENV{GRAPH_OPENAPI} ? 'GRAPH_OPENAPI names no OpenAPI description'
        : Idadmin::Test::Cloud->skip_reason) {
        plan(skip_all => $reason);
    }
    my $api     = Idadmin::Test::OpenApi->load($ENV{GRAPH_OPENAPI});
    my $traffic = tempdir() . '/traffic';
    my $stack   = Idadmin::Test::Stack->new(engine => 'sqlite', worker => 0,
        cloud => { settings => { deltaUsers => 10, deltaMembers => 15 } });
    my $cloud   = $stack->cloud;
    my $domain  = $stack->domain;
    $cloud->control(record => $traffic);
    $stack->{worker} = $stack->new_worker;
    $stack->wait_synced;

    my @joiners = map { $stack->post('/v1/api/user', $_)->{json}{data} } (
        { firstname => 'Åsa', surname => 'Öberg', jobTitle => 'Säljare', department => 'Sales',
            company => 'Acme AB', office => 'Malmö 3', city => 'Malmö', country => 'se',
            streetAddress => 'Storgatan 1', postalCode => '211 34',
            preferredLanguage => 'sv-SE', employeeId => 'E77', manager => "anna.lind\@$domain",
            profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(20_000)) },
        { firstname => 'Eva', surname => 'Berg' },
        { firstname => 'Nina', surname => 'Nu', accountEnabled => JSON::PP::false() });
    $stack->wait_task($_->{taskId}) for @joiners;
    my @leavers = map { $stack->delete('/v1/api/user',
        { userPrincipalName => "$_\@$domain",
        time => '00:00' })->{json}{data}{taskId} } qw(karin.hedlund bo.ek);
    $stack->wait_task($_) for @leavers;
    $cloud->control(expireTokens => JSON::PP::true());
    $cloud->control(member => { group => 'Finance', object => "rut.sandell\@$domain", in => 1 });
    $stack->ctl_ok('sync', 'acme', '--wait');
    # A person deleted long ago who is restored: all properties are read.
    $cloud->control(create => [{ type => 'user',
        properties => { userPrincipalName => "back.again\@$domain", displayName => 'Back Again',
        mailNickname => 'back.again', accountEnabled => JSON::PP::true(),
        createdDateTime => '2020-01-01T00:00:00Z' },
        memberOf => ['Finance'], manager => "eva.berg\@$domain" },
        { type => 'orgContact',
        properties => { displayName => 'Contact',
        proxyAddresses => ["SMTP:con.tact\@$domain"] } }]);
    $stack->ctl_ok('sync', 'acme', '--wait');
    $cloud->control(expireDeltaLinks => JSON::PP::true());
    $stack->worker->expect_log(qr/IDA05\d\d/);    # an expired link may be told
    $stack->ctl_ok('sync', 'acme', '--wait');
    is($stack->worker->run('--check', 'acme')->{exit}, 0, 'the doctor finds all well');

    # Each call of the connector that the tasks above did not lead to; with a certificate.
    my $document = spew(tempdir() . '/acme.json',
        json_text($stack->tenant_document(directories => {
        cloud => $stack->cloud_document(certificate => 1) })));
    my $pid = IPC::Open2::open2(my $from, my $to, build_dir() . '/tool/directory_call', $document);
    my $call = sub {
        my ($name, %arguments) = @_;
        print {$to} json_text({ call => $name, %arguments }), "\n";
        $to->flush;
        return json_data(readline($from) // die "directory_call ended\n");
    };
    my $id = $cloud->user($joiners[0]{userPrincipalName})->{id};
    my %done = (
        createAgain => $call->(create => upn => "again.asa\@$domain", firstname => 'Asa',
            surname => 'Again', displayName => 'Asa Again', marker => '01jmarker' . '0' x 17,
            sentAt => (time - 5) * 1000),
        addMembers => $call->(addMembers => group => $cloud->group('CRM admins')->{id},
        ids => [map { $cloud->user($_->{userPrincipalName})->{id} } @joiners]),
        addMember => $call->(addMembers => group => $cloud->group('Finance')->{id}, ids => [$id]),
        memberships => $call->(memberships => id => $id,
        candidates => [map { $cloud->group($_)->{id} } 'All staff', 'Engineering']),
        takenName => $call->(create => upn => "con.tact\@$domain", firstname => 'Con',
        surname => 'Tact', displayName => 'Con Tact', marker => '01jmarker' . '1' x 17),
        setLicenses => $call->(setLicenses => id => $id, add => ['SPE_E3'], remove => []),
        removeLicenses => $call->(setLicenses => id => $id, remove => ['*']),
        inheritedLicenses => $call->(setLicenses => id =>
        $cloud->user("lars.moberg\@$domain")->{id}, remove => ['*']),
        update => $call->(update => id => $id,
        values => { displayName => 'Åsa Öst', surname => 'Öst', jobTitle => undef,
        department => 'Finance', country => 'DK', preferredLanguage => 'da-DK' },
        enabled => JSON::PP::true()),
        setPassword => $call->(setPassword => id => $id, password => 'Another-Passw0rd-of-24-ch'),
        setManager => $call->(setManager => id => $id, manager => "bo.ek\@$domain"),
        clearManager => $call->(setManager => id => $id),
        clearedManager => $call->(setManager => id => $id),
        reports => $call->(reports => id => $cloud->user("anna.lind\@$domain")->{id}),
    );
    my %was = (clearedManager => 'was so already', takenName => 'name or value taken');
    close $to;
    waitpid $pid, 0;
    $stack->worker->stop;
    $cloud->control(record => undef);

    my @lines = map { json_data($_) } split /\n/, slurp($traffic);
    # A description of part of Graph may be without the objects that a user owns.
    my @wrong = grep { !m{/ownedObjects: the path is not} } map { $api->exchange($_) } @lines;
    my %count;
    $count{$_}++ for @wrong;
    is(scalar keys %count, 0, scalar(@lines) . ' exchanges are as described') or diag join "\n",
        map {"$count{$_} times $_"} (sort keys %count)[0 .. (keys %count > 30 ? 29
        : keys(%count) - 1)];
    my $used = $api->used;
    note join "\n", map {"$used->{$_} times $_"} sort keys %$used;
    for my $must ('POST /{tenant}/oauth2/v2.0/token', 'POST /users', 'PATCH /users/{user-id}',
        'PUT /users/{user-id}/manager/$ref', 'PUT /users/{user-id}/photo/$value',
        'POST /users/{user-id}/revokeSignInSessions',
        'GET /users/{user-id}/memberOf',
        'DELETE /groups/{group-id}/members/{directoryObject-id}/$ref', 'PATCH /groups/{group-id}',
        'POST /users/{user-id}/assignLicense', 'GET /users/delta', 'GET /groups/delta',
        'GET /users', 'GET /subscribedSkus',
        'DELETE /users/{user-id}/manager/$ref', 'GET /users/{user-id}/directReports',
        'GET /groups/{group-id}',
        'POST /groups/{group-id}/members/$ref', 'POST /users/{user-id}/checkMemberGroups') {
        ok($used->{$must}, "$must was among them");
    }
    ok((grep { ($_->{requestBody} // '') =~ /client_assertion=/ } @lines), 'a certificate too');
    is($done{$_}{class}, $was{$_} // 'ok', "the call $_") or diag $done{$_}{message}
        for sort keys %done;
    is($cloud->counters->{internalErrors} // 0, 0, 'the emulator had no failure of its own');
    $stack->stop;
};

done_testing();
