# The cloud directory's emulator simulates credentials, faults, lag, limits, TLS and a bulk
# directory as ordered.
use strict;
use warnings;
use Idadmin::Test;
use Idadmin::Test::Cloud;
use Digest::SHA ();
use MIME::Base64 ();
use Test::More;
use Time::HiRes ();

if (my $reason = Idadmin::Test::Cloud->skip_reason) {
    plan(skip_all => $reason);
}

my $cloud = Idadmin::Test::Cloud->new(tls => 1);
$cloud->token;    # before a test makes them short-lived
my $http  = "http://127.0.0.1:" . $cloud->port;
sub api { return $cloud->api(@_) }
my $number = 0;
sub person {
    my $local = 'person' . ++$number;
    return { accountEnabled => JSON::PP::true(), displayName => $local, mailNickname => $local,
        userPrincipalName => "$local\@acme.example",
        passwordProfile => { password => 'Xk3!pqLm77' } };
}
sub b64 { return MIME::Base64::encode_base64url($_[0]) }
sub form { my (%form) = @_; return join '&',
    map { "$_=" . Idadmin::Test::Cloud::_escape($form{$_}) } sort keys %form }

my $token_path = "/$Idadmin::Test::Cloud::tenant/oauth2/v2.0/token";
my %usual = (client_id => $Idadmin::Test::Cloud::client_id, scope => "$http/.default",
    grant_type => 'client_credentials');
sub ask_token {
    my (%form) = @_;
    return Idadmin::Test::Http->new($cloud->port)->request(POST => $token_path,
        headers => { 'Content-Type' => 'application/x-www-form-urlencoded' },
        body => form(%usual, %form));
}

subtest 'client secret' => sub {
    my $answer = ask_token(client_secret => Idadmin::Test::Cloud::client_secret());
    is($answer->{status}, 200, 'a token');
    is_deeply([@{ $answer->{json} }{qw(token_type expires_in)}], ['Bearer', 3599], 'with its life');
    for my $case ([{ client_secret => 'wrong' }, 401, 'invalid_client', 7000215],
        [{ client_secret => '' }, 401, 'invalid_client', 7000218],
        [{ client_secret => 'x', client_id => 'x' }, 400, 'unauthorized_client', 700016],
        [{ client_secret => 'x', scope => 'https://elsewhere/.default' }, 400, 'invalid_scope',
        1002012], [{ client_secret => 'x', grant_type => 'password' }, 400,
        'unsupported_grant_type', 70003]) {
        my ($form, $status, $error, $code) = @$case;
        my $no = ask_token(%$form);
        is_deeply([$no->{status}, $no->{json}{error}, $no->{json}{error_codes}[0]],
            [$status, $error, $code], $error);
    }
    my $short;
    for my $case ([600, 200, 'works'], [0.01, 401, 'ended early']) {
        my ($lives, $status, $name) = @$case;
        $cloud->control(settings => { tokenSeconds => 3599, tokenLives => $lives });
        $short = ask_token(client_secret =>
            Idadmin::Test::Cloud::client_secret())->{json}{access_token};
        Time::HiRes::sleep(0.05);    # longer than the short life
        is(api(GET => '/domains', headers => { Authorization => "Bearer $short" })->{status},
            $status, $name);
    }
    $cloud->control(settings => { tokenLives => undef });
    ok((grep { $_ eq $short } @{ $cloud->secrets->{token} }),
        'what was given out can be looked for');
};

subtest 'client assertion' => sub {
    my $key = $cloud->certificate_key;
    my $der = run_command(['openssl', 'x509', '-in', $cloud->certificate, '-outform',
        'DER'])->{out};
    my $jti = 0;
    my $make = sub {
        my (%how) = @_;
        my $pss  = ($how{alg} // 'PS256') eq 'PS256';
        my %head = (typ => 'JWT', alg => $how{alg} // 'PS256', $how{x5t}
            ? (x5t => b64(Digest::SHA::sha1($der)))
            : ('x5t#S256' => $how{print} // b64(Digest::SHA::sha256($der))));
        my %claims = (aud => "$http$token_path", iss => $Idadmin::Test::Cloud::client_id,
            sub => $Idadmin::Test::Cloud::client_id, jti => 'j' . ++$jti, nbf => time, iat => time,
            exp => time + 300, %{ $how{claims} // {} });
        my $text = b64(json_text(\%head)) . '.' . b64(json_text(\%claims));
        my @pss = $pss ? ('-sigopt', 'rsa_padding_mode:pss', '-sigopt',
            'rsa_pss_saltlen:' . ($how{salt} // 32)) : ();
        my $signed = run_command(['openssl', 'dgst', '-sha256', '-sign', $key, @pss],
            stdin => $how{other} // $text);
        $signed->{exit} and die $signed->{err};
        return "$text." . b64($signed->{out});
    };
    my $ask = sub { my $a = ask_token(client_assertion_type =>
        'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', client_assertion => $_[0]);
        return $a->{status} == 200 ? 200 : $a->{json}{error_codes}[0] };
    is($ask->($make->()), 200, 'PS256');
    is($ask->($make->(alg => 'RS256', x5t => 1)), 200, 'RS256 with the older thumbprint');
    is($ask->($make->(other => 'something else')), 700027, 'wrong signature');
    is($ask->($make->(salt => 20)), 700027, 'wrong salt length');
    is($ask->($make->(print => b64('x' x 32))), 700027, 'unknown certificate');
    is($ask->($make->(claims => { exp => time - 4000, nbf => time - 5000 })), 700024, 'too old');
    is($ask->($make->(claims => { nbf => time + 4000, exp => time + 5000 })), 700024,
        'from the future');
    is($ask->($make->(claims => { aud => 'https://elsewhere/token' })), 700023,
        'for another audience');
    is($ask->($make->(claims => { sub => 'x' })), 700021, 'by another subject');
    my $once = $make->();
    is_deeply([$ask->($once), $ask->($once)], [200, 50027], 'an assertion works once');
    is($ask->('a.b'), 50027, 'no JWT');
    $cloud->control(settings => { clockAhead => 3600 });
    is($ask->($make->()), 700024, 'a clock an hour behind');
    like(api(GET => '/domains')->{headers}{date}, qr/GMT/, 'whose Date tells');
    $cloud->control(settings => { clockAhead => 0 });
};

# What a request came to: a status, or "lost" when the connection ended without a whole answer.
sub outcome {
    my (@request) = @_;
    my $client = Idadmin::Test::Http->new($cloud->port);
    my $answer = eval { $cloud->api(@request, client => $client) };
    return 'lost' if !$answer || !defined $answer->{status}
        || ($answer->{headers}{'content-length'} // 0) > length($answer->{body} // '');
    return $answer->{status};
}

subtest 'faults' => sub {
    my $make = sub { my $p = person(); return ($p, outcome(POST => '/users', json => $p)) };
    my $there = sub { $cloud->user($_[0]{userPrincipalName}) ? 1 : 0 };
    for my $case (['reset', 'before', 'lost', 0], ['reset', 'after', 'lost', 1],
        ['truncate', 'after', 'lost', 1], ['truncateReset', 'after', 'lost', 1],
        ['html', 'before', 503, 0], ['html', 'after', 503, 1]) {
        my ($do, $when, $want, $made) = @$case;
        $cloud->control(faults => { method => 'POST', path => '^/users$', do => $do, when => $when,
            count => 1 });
        my ($p, $came) = $make->();
        is_deeply([$came, $there->($p)], [$want, $made], "$do $when the effect");
        is(($make->())[1], 201, 'only once');
    }
    $cloud->control(faults => { path => '^/domains', do => 'status', status => 429, retryAfter => 3,
        scope => 'Tenant_Application/Read', information => 'CPULimitExceeded', every => 3,
        skip => 1 });
    is_deeply([map { outcome(GET => '/domains') } 1 .. 7], [200, 200, 200, 429, 200, 200, 429],
        'every third, not the first');
    my $before = $cloud->counters->{sent429};
    $cloud->control(clearFaults => JSON::PP::true(),
        faults => { path => '^/domains', do => 'status', status => 429, retryAfter => 3,
        scope => 'Tenant_Application/Read' });
    my $answer = api(GET => '/domains');
    is_deeply([@{ $answer->{headers} }{qw(retry-after x-ms-throttle-scope)},
        $answer->{json}{error}{code}], [3, 'Tenant_Application/Read', 'TooManyRequests'],
        'headers of a 429');
    is($cloud->counters->{sent429}, $before + 1, 'counted');
    $cloud->control(clearFaults => JSON::PP::true(),
        faults => [{ path => '^/domains', do => 'badJson', count => 1 },
        { path => '/token', do => 'status', status => 500, count => 1 }]);
    ok(!eval { json_data(api(GET => '/domains')->{body}); 1 }, 'text that is no JSON');
    is(ask_token(client_secret => 'x')->{status}, 500, 'the token endpoint fails too');

    $cloud->control(faults => { path => '^/domains', do => 'hang', seconds => 0.5, count => 1 });
    my $start = Time::HiRes::time();
    is(outcome(GET => '/domains'), 'lost', 'hangs');
    cmp_ok(Time::HiRes::time() - $start, '>', 0.4, 'as long as told');
    $cloud->control(faults => { path => '^/domains', do => 'drip', ms => 1, count => 1 });
    is(outcome(GET => '/domains'), 200, 'drips, and is whole in the end');
    $cloud->control(faults => { path => '^/domains', do => 'delay', ms => 300, count => 1 });
    $start = Time::HiRes::time();
    is(outcome(GET => '/domains'), 200, 'delayed');
    cmp_ok(Time::HiRes::time() - $start, '>=', 0.3, 'by so much');
    $cloud->control(settings => { latencyMs => 50 });
    $start = Time::HiRes::time();
    outcome(GET => '/domains') for 1 .. 3;
    cmp_ok(Time::HiRes::time() - $start, '>=', 0.15, 'latency on every request');
    $cloud->control(settings => { latencyMs => 0 }, expireTokens => JSON::PP::true());
    is(outcome(GET => '/domains'), 401, 'tokens expired');
    delete $cloud->{token};
    ok(!eval { $cloud->control(settings => { nonsense => 1 }); 1 }, 'unknown settings are refused');
    ok(!eval { $cloud->control(faults => { do => 'nonsense' }); 1 }, 'unknown faults too');
};

subtest 'lag' => sub {
    my $long = 600_000;    # ms: longer than this program takes
    $cloud->control(settings => { lag => { read => $long, delta => $long } });
    my $link = api(GET => '/users/delta?$deltatoken=latest')->{json}{'@odata.deltaLink'};
    my $p  = person();
    my $id = api(POST => '/users', json => $p)->{json}{id};
    is(api(GET => "/users/$id")->{status}, 404, 'not visible by ID');
    is(api(GET => "/users/$p->{userPrincipalName}")->{status}, 404, 'nor by UPN');
    is(api(PATCH => "/users/$id", json => { department => 'X' })->{status}, 404,
        'nor to be changed');
    is(api(POST => '/users', json => $p)->{json}{error}{details}[0]{code}, 'ObjectConflict',
        'but the name is taken');
    my %refused = map { my $a = api(PUT => '/users/' . $cloud->user('bo.ek@acme.example')->{id}
        . '/manager/$ref', json => { '@odata.id' => "$http/v1.0/users/$id" });
        ($a->{status} => 1) } 1 .. 6;
    is_deeply([sort keys %refused], [400, 404], 'references to it fail, in two ways');
    ok(!(grep { $_->{id} eq $id } @{ api(GET => $link)->{json}{value} }),
        'delta does not know yet');
    Time::HiRes::sleep(0.05);    # longer than the short lag
    $cloud->control(settings => { lag => { read => 1, list => $long, delta => $long } });
    is(api(GET => "/users/$id")->{status}, 200, 'visible later');
    is(scalar @{
        api(GET =>
        "/users?\$filter=userPrincipalName%20eq%20'$p->{userPrincipalName}'")->{json}{value} }, 0,
        'lists lag more');
    $cloud->control(settings => { lag => { read => 1, list => $long, delta => 1 } });
    ok((grep { $_->{id} eq $id } @{ api(GET => $link)->{json}{value} }), 'then delta has it');
    # Again until the read comes within the lag of the write.
    $cloud->control(settings => { lag => { read => 300, list => $long } });
    my $number = 0;
    ok(within(sub {
        $number++ ? api(PATCH => "/users/$id", json => { department => "New$number" })
            : Time::HiRes::sleep(0.4);
        my $read = api(GET => "/users/$id?\$select=department");
        return $number > 1 && $read->{status} == 200
            && ($read->{json}{department} // '') ne "New$number";
    }), 'an old value');
    my $group = $cloud->group('Finance')->{id};
    api(POST => "/groups/$group/members/\$ref",
        json => { '@odata.id' => "$http/v1.0/directoryObjects/$id" });
    ok(!(grep { $_->{id} eq $group } @{ api(GET => "/users/$id/memberOf")->{json}{value} }),
        'a new membership is not listed');
    is(api(POST => "/groups/$group/members/\$ref",
        json => { '@odata.id' => "$http/v1.0/directoryObjects/$id" })->{status}, 400, 'but stands');
    $cloud->control(settings => { lag => { read => $long, share => 0.5 } });
    my %seen;
    my $other = api(POST => '/users', json => person())->{json}{id};
    $seen{ api(GET => "/users/$other")->{status} }++ for 1 .. 10;
    is_deeply(\%seen, { 200 => 5, 404 => 5 }, 'half of the replicas are late');
    $cloud->control(settings => { lag => {} });
    my $link2 = api(GET => '/users/delta?$deltatoken=latest')->{json}{'@odata.deltaLink'};
    is_deeply(api(GET => $link2)->{json}{value}, [], 'nothing new');
    $cloud->control(settings => { deltaReplay => 1 });
    is_deeply([map { $_->{id} } @{ api(GET => $link2)->{json}{value} }], [$other],
        'a replay brings the last change again');
    $cloud->control(settings => { deltaReplay => 0 });
};

subtest 'limits' => sub {
    $cloud->control(limits => { writes => { count => 5, seconds => 600 }, units => 0,
        reports => { count => 2, seconds => 600 } }, resetCounters => JSON::PP::true());
    my @came = map { outcome(POST => '/users', json => person()) } 1 .. 7;
    is_deeply(\@came, [(201) x 5, 429, 429], 'five writes');
    my $full = api(GET => '/domains');
    is_deeply([@{ $full->{headers} }{qw(x-ms-resource-unit x-ms-throttle-limit-percentage)}],
        [1, '1.40'], 'a success tells its cost and that refused requests count');
    my $no = api(POST => '/users', json => person());
    cmp_ok($no->{headers}{'retry-after'}, '>=', 1, 'Retry-After');
    like($no->{headers}{'x-ms-throttle-scope'}, qr{^Tenant_Application/Write/}, 'scope');
    is(outcome(GET => '/domains'), 200, 'reads pass');
    is_deeply([map { outcome(GET => '/users?$select=id,signInActivity') } 1 .. 3], [200, 200, 429],
        'reports have their own');
    is($cloud->counters->{sent429}, 4, 'each 429 was counted');
    is($cloud->counters->{created}, 5, 'and each account');
    $cloud->control(limits => { writes => { count => 1, seconds => 1 } });
    is(outcome(POST => '/users', json => person()), 201, 'a span of one second has room for one');
    # A refused request counts too: one a span is all that may be tried.
    ok(within(sub { Time::HiRes::sleep(1.1); outcome(POST => '/users', json => person()) == 201 }),
        'and later for one more');
    $cloud->control(limits => {});
    is(outcome(POST => '/users', json => person()), 201, 'the published ones are wide');
    $cloud->control(limits => undef);
};

subtest 'TLS, keep-alive, record' => sub {
    my $file = tempdir() . '/traffic';
    $cloud->control(record => $file);
    my $out = tempdir() . '/out';
    my $curl = run_command(['curl', '-sS', '--cacert', $cloud->ca_file, '-H',
        'Authorization: Bearer ' . $cloud->token, '-w', '%{num_connects} ',
        map { ('-o', $out, $cloud->url . '/domains') } 1 .. 3]);
    is($curl->{out}, '1 0 0 ', 'three requests on one TLS connection') or diag $curl->{err};
    is(json_data(slurp($out))->{value}[0]{id}, 'acme.example', 'answered');
    api(POST => '/users', json => person());
    ask_token(client_secret => Idadmin::Test::Cloud::client_secret());
    api(PUT => '/users/eva.berg@acme.example/photo/$value', body => "\xff\xd8\xff\x00",
        headers => { 'Content-Type' => 'image/jpeg' });
    $cloud->control(record => undef);
    my $text  = slurp($file);
    my @lines = map { json_data($_) } split /\n/, $text;
    is(scalar @lines, 6, 'six requests on record');
    is_deeply([@{ $lines[3] }{qw(method path status)}], ['POST', '/v1.0/users', 201],
        'method, path, status');
    is(json_data(Encode::encode_utf8($lines[3]{requestBody}))->{passwordProfile}{password},
        'removed-Pass1', 'no password');
    is($lines[5]{requestBody}, MIME::Base64::encode_base64("\xff\xd8\xff\x00", ''),
        'a photo in base64');
    my $secrets = $cloud->secrets;
    is_deeply([grep { index($text, $_) >= 0 } @{ $secrets->{token} },
        Idadmin::Test::Cloud::client_secret()], [], 'no token, no secret');
};

subtest 'bulk' => sub {
    my $bulk = $cloud->control(bulk => { users => 1000, memberships => 6000, group => 40 })->{bulk};
    is_deeply([@$bulk{qw(users memberships)}], [1000, 6000], 'made') or diag explain $bulk;
    my $all = sub {
        my ($target, %how) = @_;
        my (@items, $pages, $delta);
        while ($target) {
            my $answer = api(GET => $target);
            $answer->{status} == 200 or die $answer->{body};
            push @items, @{ $answer->{json}{value} };
            $pages++;
            ($target, $delta) = @{ $answer->{json} }{qw(@odata.nextLink @odata.deltaLink)};
        }
        return { items => \@items, pages => $pages, delta => $delta };
    };
    my $select =
        '$select=id,userPrincipalName,displayName,department,accountEnabled,manager,'
        . 'assignedLicenses,signInActivity,createdDateTime,mail';
    my $users = $all->("/users/delta?" . $select =~ s/signInActivity,//r);
    my %user = map { ($_->{id} => $_) } @{ $users->{items} };
    is(scalar keys %user, $cloud->counters->{users}, 'everybody in delta');
    my ($one) = grep { $_->{userPrincipalName} eq 'user000734@acme.example' } values %user;
    my $read = api(GET => "/users/$one->{id}?$select")->{json};
    is_deeply({ map { ($_ => $read->{$_}) } qw(id userPrincipalName displayName department
        accountEnabled assignedLicenses createdDateTime mail) },
        { map { ($_ => $one->{$_}) } qw(id userPrincipalName displayName department accountEnabled
        assignedLicenses createdDateTime mail) }, 'row and object agree');
    is($user{ $one->{'manager@delta'}[0]{id} }{userPrincipalName}, 'user000073@acme.example',
        'manager');
    my ($listed) = grep { $_->{id} eq $one->{id} } @{ $all->("/users?$select&\$top=999")->{items} };
    is_deeply($listed, { map { ($_ => $read->{$_}) } grep {!/context/} keys %$read },
        'the list agrees as well');

    my $groups = $all->('/groups/delta?$select=id,displayName,members');
    my (%members, $entries);
    for my $item (@{ $groups->{items} }) {
        for my $member (@{ $item->{'members@delta'} // [] }) {
            $members{ $item->{id} }{ $member->{id} }++ or $entries++ }
    }
    my ($group) = grep { $_->{displayName} eq 'Bulk group 00020' } @{ $groups->{items} };
    is_deeply([sort keys %{ $members{ $group->{id} } }],
        [sort map { $_->{id} } @{
        api(GET => "/groups/$group->{id}/members?\$top=999")->{json}{value} }],
        'members in delta and read');
    is_deeply([sort grep { $members{$_}{ $one->{id} } } keys %members],
        [sort map { $_->{id} } @{
        api(GET => "/users/$one->{id}/memberOf?\$top=999")->{json}{value} }],
        'and seen from the user');
    cmp_ok($entries, '>=', 6000, 'all memberships');

    is(api(PATCH => "/users/$one->{id}",
        json => { accountEnabled => JSON::PP::false(), department => 'Moved' })->{status}, 204,
        'a bulk user is changed');
    my ($gone) = sort keys %{ $members{ $group->{id} } };
    is(api(DELETE => "/groups/$group->{id}/members/$gone/\$ref")->{status}, 204,
        'a bulk member leaves');
    is_deeply([map { $_->{department} } @{ $all->($users->{delta})->{items} }], ['Moved'],
        'delta tells of the change');
    is($all->($groups->{delta})->{items}[0]{'members@delta'}[0]{'@removed'}{reason}, 'deleted',
        'and of the leaving');
    my ($again) = grep { $_->{id} eq $one->{id} } @{ $all->("/users/delta?$select")->{items} };
    is($again->{department}, 'Moved', 'a full round has it');
    my $full = 0;
    for my $item (@{ $all->('/groups/delta?$select=id,displayName,members')->{items} }) {
        $full += @{ $item->{'members@delta'} // [] } }
    is($full, $entries - 1, 'and one membership fewer');
    is(api(POST => '/users', json => { %{ person() },
        userPrincipalName => 'user000007@acme.example',
        mailNickname => 'u7' })->{json}{error}{details}[0]{code}, 'ObjectConflict',
        'names of bulk users are taken');

    spew(my $token = tempdir() . '/token', $cloud->token . "\n");
    my $bare = run_command([build_dir() . '/tool/pages', $token,
        "$http/v1.0/users/delta?\$select=id", "$http/v1.0/groups/delta?\$select=id,members"]);
    is(json_data($bare->{out})->{pages},
        int(($cloud->counters->{users} + 199) / 200) + $groups->{pages},
        'the bare client sees the same pages') or diag $bare->{err};
};

is($cloud->counters->{internalErrors} // 0, 0, 'no failure of its own') or diag $cloud->log_text;
$cloud->stop;
done_testing();
