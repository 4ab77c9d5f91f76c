# The cloud directory emulator itself: other tests rely on it, so it must behave as the contracts
# say.
use strict;
use warnings;
use utf8;
use Idadmin::Test;
use Idadmin::Test::Cloud;
use Idadmin::Test::OpenApi;
use Test::More;
use Time::HiRes ();

if (my $reason = Idadmin::Test::Cloud->skip_reason) {
    plan(skip_all => $reason);
}

my $cloud = Idadmin::Test::Cloud->new(settings => { deltaUsers => 10, deltaMembers => 15 });
my $root  = $cloud->url;
sub api { return $cloud->api(@_) }
my $traffic = tempdir() . '/traffic';
$cloud->control(record => $traffic);
sub get { my ($target, %how) = @_; my $answer = api(GET => $target, %how);
    is($answer->{status}, 200, "GET $target") or diag $answer->{body}; return $answer->{json} }
sub upn { return "$_[0]\@acme.example" }

my $made = 0;
sub person {
    my ($local, %more) = @_;
    return { accountEnabled => JSON::PP::true(), displayName => "Test $local",
        mailNickname => $local, userPrincipalName => upn($local), givenName => 'Test',
        passwordProfile => { password => 'Xk3!pqLm77',
        forceChangePasswordNextSignIn => JSON::PP::true() }, %more };
}
sub create { my ($local, %more) = @_;
    my $answer = api(POST => '/users', json => person($local, %more));
    is($answer->{status}, 201, "made $local") or diag $answer->{body}; return $answer->{json} }
sub group_id { return $cloud->group($_[0])->{id} }
sub user_id  { return $cloud->user(upn($_[0]))->{id} }

# $status, and error.code, details[0].code, details[0].target where given
sub refused {
    my ($answer, $status, $code, $name, $detail, $target) = @_;
    my $error = $answer->{json}{error};
    is_deeply([$answer->{status}, $error->{code},
        ($detail ? @{ $error->{details}[0] }{qw(code target)} : ())],
        [$status, $code, ($detail ? ($detail, $target) : ())], $name) or diag $answer->{body};
    return $error;
}

# All items of a list, following links.
sub pages {
    my ($target, %how) = @_;
    my (@items, $count, $last);
    while ($target) {
        my $answer = api(GET => $target, %how);
        $answer->{status} == 200 or die "$target: $answer->{status} $answer->{body}\n";
        push @items, @{ $answer->{json}{value} };
        $count++;
        $target = $answer->{json}{'@odata.nextLink'};
        $last = $answer->{json}{'@odata.deltaLink'};
    }
    return { items => \@items, pages => $count, delta => $last };
}

subtest 'requests in general' => sub {
    my $answer = api(GET => '/users/' . upn('eva.berg'),
        headers => { 'client-request-id' => '12345678-1234-4234-8234-123456789012' });
    is($answer->{headers}{'client-request-id'}, '12345678-1234-4234-8234-123456789012', 'echoed');
    like($answer->{headers}{'request-id'}, qr/^[0-9a-f-]{36}$/, 'its own');
    like($answer->{headers}{date}, qr/GMT$/, 'date');
    is_deeply([sort grep {!/^\@/} keys %{ $answer->{json} }],
        [sort qw(businessPhones displayName givenName jobTitle mail mobilePhone officeLocation
        preferredLanguage surname userPrincipalName id)], 'the default properties only');
    refused(api(GET => '/users', headers => { Authorization => 'Bearer nonsense' }), 401,
        'InvalidAuthenticationToken', 'wrong token');
    refused(api(GET => '/users', headers => { Authorization => undef }), 401,
        'InvalidAuthenticationToken', 'no token');
    refused(api(GET => '/nothing'), 400, 'BadRequest', 'unknown segment');
    is(api(PUT => '/users')->{status}, 405, 'known path, other method');
    is(api(POST => '/users/' . upn('eva.berg') . '/revokeSignInSessions',
        content_length => undef)->{status}, 411, 'POST without a length');
    is(api(POST => '/users', body => '{}', headers => { 'Content-Type' => 'text/plain' })->{status},
        415, 'wrong type');
    refused(api(POST => '/users', body => '{', headers => { 'Content-Type' => 'application/json' }),
        400, 'BadRequest', 'broken JSON');
    cmp_ok(length $cloud->token, '>', 2048, 'tokens are long');
};

subtest 'create' => sub {
    my $before = $cloud->counters->{created};
    my $user = create('ny.person',
        onPremisesExtensionAttributes => { extensionAttribute15 => 'task-1' }, employeeId => 'E1');
    like($user->{id}, qr/^[0-9a-f]{8}-/, 'id');
    is_deeply([$cloud->counters->{created} - $before, $cloud->counters->{createdByMarker}{'task-1'},
        $cloud->counters->{createdByMarker}{E1}], [1, 1, 1], 'counted, by marker too');
    my $read =
        get("/users/$user->{id}?\$select=accountEnabled,onPremisesExtensionAttributes,"
            . 'createdDateTime,department,employeeId');
    is($read->{onPremisesExtensionAttributes}{extensionAttribute15}, 'task-1', 'marker');
    ok($read->{accountEnabled}, 'enabled');
    ok(exists $read->{department} && !defined $read->{department},
        'what was never set is null in a plain read');
    refused(api(POST => '/users', json => person('NY.person', mailNickname => 'x')), 400,
        'Request_BadRequest', 'UPN is taken, whatever the case', 'ObjectConflict',
        'userPrincipalName');
    refused(api(POST => '/users', json => person('ceo', mailNickname => 'ceo')), 400,
        'Request_BadRequest', 'a proxy address of another', 'ObjectConflict', 'proxyAddresses');
    refused(api(POST => '/users', json => person('engineering', mailNickname => 'e2')), 400,
        'Request_BadRequest', "a group's address", 'ObjectConflict', 'proxyAddresses');
    refused(api(POST => '/users', json => person('weak', passwordProfile => { password => 'abc' })),
        400, 'Request_BadRequest', 'weak password', 'InvalidPassword', 'passwordProfile');
    like(refused(api(POST => '/users', json => person('a', middleName => 'X')), 400,
        'Request_BadRequest', 'unknown property')->{message}, qr/middleName/, 'named');
    for my $case ([userPrincipalName => 'a@other.example'], [userPrincipalName => 'å@acme.example'],
        [mailNickname => 'a b'], [displayName => ''], [department => 'x' x 65],
        [usageLocation => 'se'], [accountEnabled => 'yes'],
        [displayName => undef], [jobTitle => '']) {
        refused(api(POST => '/users', json => person('bad', @$case)), 400, 'Request_BadRequest',
            "$case->[0] " . (defined $case->[1] ? qq("$case->[1]") : 'null'), 'InvalidValue',
            $case->[0]);
    }
    my %without = %{ person('bad') };
    delete $without{mailNickname};
    refused(api(POST => '/users', json => \%without), 400, 'Request_BadRequest',
        'mailNickname is required', 'InvalidValue', 'mailNickname');
    is(api(GET => '/users/' . upn('bad'))->{status}, 404, 'refused ones left nothing');
    $cloud->control(settings => { banPasswords => 1 });
    refused(api(POST => '/users', json => person('banned')), 400, 'Request_BadRequest',
        'password on the list', 'InvalidPassword', 'passwordProfile');
    create('banned');
};

subtest 'update, delete, restore' => sub {
    my $user = create('kort');
    is(api(PATCH => "/users/$user->{id}",
        json => { accountEnabled => JSON::PP::false(), department => 'Sales' })->{status}, 204,
        'changed') for 1 .. 2;
    my $read = get('/users/' . upn('kort') . '?$select=accountEnabled,department');
    ok(!$read->{accountEnabled}, 'disabled');
    ok((grep { $_ eq 'Everyone in sales' } @{ $cloud->user(upn('kort'))->{groups} }),
        'the dynamic group took the account in');
    api(PATCH => "/users/$user->{id}", json => { department => undef });
    ok(!(grep { $_ eq 'Everyone in sales' } @{ $cloud->user(upn('kort'))->{groups} }),
        'and lets it go');
    refused(api(PATCH => '/users/' . upn('syn.kad'),
        json => { accountEnabled => JSON::PP::false() }), 400, 'Request_BadRequest',
        'mastered on-premises');
    refused(api(PATCH => '/users/' . upn('root.admin'),
        json => { accountEnabled => JSON::PP::false() }), 403, 'Authorization_RequestDenied',
        'privileged account');
    is(api(GET => '/users/partner_other.example%23EXT%23@acme.example')->{status}, 200,
        'a guest by encoded UPN');

    my $sales = group_id('Sales team');
    is(api(POST => "/groups/$sales/members/\$ref",
        json => { '@odata.id' => "$root/directoryObjects/$user->{id}" })->{status}, 204, 'member');
    is(api(DELETE => "/users/$user->{id}")->{status}, 204, 'deleted');
    refused(api(DELETE => "/users/$user->{id}"), 404, 'Request_ResourceNotFound', 'a second time');
    ok((grep { $_->{id} eq $user->{id} } @{
        get('/directory/deletedItems/microsoft.graph.user')->{value} }), 'listed as deleted');
    ok(get("/directory/deletedItems/$user->{id}")->{deletedDateTime}, 'with its time');
    ok(!(grep { $_->{id} eq $user->{id} } @{ get("/groups/$sales/members")->{value} }),
        'no visible member');
    my $twin = create('kort');
    refused(api(POST => "/directory/deletedItems/$user->{id}/restore", body => '{}',
        headers => { 'Content-Type' => 'application/json' }), 400, 'Request_BadRequest',
        'the name is in use again', 'ObjectConflict', 'userPrincipalName');
    api(DELETE => "/users/$twin->{id}");
    is(api(DELETE => "/directory/deletedItems/$twin->{id}")->{status}, 204, 'gone for good');
    is(api(GET => "/directory/deletedItems/$twin->{id}")->{status}, 404, 'really');
    is(api(POST => "/directory/deletedItems/$user->{id}/restore")->{status}, 200, 'restored');
    ok((grep { $_->{id} eq $user->{id} } @{ get("/groups/$sales/members")->{value} }),
        'a member again');
};

subtest 'manager, photo, sessions' => sub {
    my $user = create('med.chef');
    my $path = "/users/$user->{id}";
    is(api(GET => "$path/manager")->{status}, 404, 'none yet');
    is(api(PUT => "$path/manager/\$ref",
        json => { '@odata.id' => "$root/users/" . user_id('anna.lind') })->{status}, 204, 'set')
        for 1 .. 2;
    is(get("$path/manager?\$select=id,displayName")->{displayName}, 'Anna Lind', 'read');
    like(get("$path/manager/\$ref")->{'@odata.id'}, qr/directoryObjects/, 'reference');
    is(get("$path?\$select=id&\$expand=manager(\$select=id)")->{manager}{id}, user_id('anna.lind'),
        'expanded');
    ok((grep { $_->{id} eq $user->{id} } @{
        get('/users/' . upn('anna.lind') . '/directReports')->{value} }), 'a report');
    refused(api(PUT => "$path/manager/\$ref",
        json => { '@odata.id' => "$root/users/00000000-0000-4000-8000-000000000000" }), 404,
        'Request_ResourceNotFound', 'unknown manager');
    is(api(DELETE => "$path/manager/\$ref")->{status}, 204, 'unset');
    is(api(DELETE => "$path/manager/\$ref")->{status}, 404, 'none to unset');

    my $jpeg = "\xff\xd8\xff\xe0" . join '', map { chr($_ % 256) } 1 .. 5000;
    my %image = (headers => { 'Content-Type' => 'image/jpeg' });
    is(api(GET => "$path/photo/\$value")->{json}{error}{code}, 'ImageNotFound', 'no photo');
    is(api(PUT => "$path/photo/\$value", body => $jpeg, %image)->{status}, 200, 'photo');
    ok(api(GET => "$path/photo/\$value")->{body} eq $jpeg, 'the same bytes');
    is(get("$path/photo")->{'@odata.context'} ? 1 : 0, 1, 'metadata');
    is(api(PUT => "$path/photo/\$value", body => $jpeg . 'x' x 110_000, %image)->{status}, 413,
        'too large without a mailbox');
    is(api(PUT => "$path/photo/\$value", body => 'GIF89a', %image)->{status}, 400, 'no image');

    is_deeply(get("/users/$user->{id}?\$select=id")->{id}, $user->{id}, 'there');
    my $answer = api(POST => "$path/revokeSignInSessions");
    ok($answer->{json}{value}, 'sessions revoked');
    is($cloud->user($user->{id})->{revoked}, 1, 'once');
};

subtest 'members by kind of group' => sub {
    my $user = create('rorlig');
    my $add    = sub { api(POST => '/groups/' . group_id($_[0]) . '/members/$ref',
        json => { '@odata.id' => "$root/directoryObjects/$user->{id}" }) };
    my $remove = sub { api(DELETE => '/groups/' . group_id($_[0]) . "/members/$_[1]/\$ref") };
    for my $name ('Sales team', 'Engineering', 'Mobile staff') {
        is($add->($name)->{status}, 204, "$name: added");
        like(refused($add->($name), 400, 'Request_BadRequest', 'again')->{message},
            qr/^One or more added object references already exist/, 'as the service words it');
        is($remove->($name, $user->{id})->{status}, 204, 'removed');
        refused($remove->($name, $user->{id}), 404, 'Request_ResourceNotFound', 'not a member');
    }
    my $karin = user_id('karin.hedlund');
    for my $case (['Synced staff', 400, 'Request_BadRequest', qr/on-premises mastered/],
        ['Everyone in sales', 403, 'Authorization_RequestDenied', qr/dynamic/],
        ['Mail developers', 400, 'Request_BadRequest',
        qr/mail-enabled security groups and or distribution list/],
        ['News list', 400, 'Request_BadRequest', qr/mail-enabled/],
        ['Role holders', 403, 'Authorization_RequestDenied', qr/privileges/],
        ['Restricted', 403, 'Authorization_RequestDenied', qr/privileges/]) {
        my ($name, $status, $code, $text) = @$case;
        like(refused($add->($name), $status, $code, "$name: not here")->{message}, $text,
            'says why');
        refused($remove->($name, $karin), $status, $code, "$name: nor removed");
    }
    $cloud->control(grant => 'RoleManagement.ReadWrite.Directory');
    is($add->('Role holders')->{status}, 204, 'with the permission');
    $cloud->control(revoke => 'RoleManagement.ReadWrite.Directory');

    my @many = map { create("bunt$_")->{id} } 1 .. 20;
    my $empty = '/groups/' . group_id('Empty');
    my $bind = sub { api(PATCH => $empty,
        json => { 'members@odata.bind' => [map {"$root/directoryObjects/$_"} @_] }) };
    refused($bind->(@many, $user->{id}), 400, 'Request_BadRequest', 'twenty-one');
    refused($bind->(@many[0 .. 5], '00000000-0000-4000-8000-000000000000'), 404,
        'Request_ResourceNotFound', 'one is unknown');
    is_deeply($cloud->group('Empty')->{members}, [], 'nobody was added');
    is($bind->(@many)->{status}, 204, 'twenty');
    is(scalar @{ $cloud->group('Empty')->{members} }, 20, 'all of them');
    refused($bind->($user->{id}, $many[0]), 400, 'Request_BadRequest', 'one is a member already');
    is(scalar @{ $cloud->group('Empty')->{members} }, 20, 'all or nothing');

    is(api(DELETE => "$empty/members/$many[0]")->{status}, 204, 'DELETE without $ref');
    ok($cloud->user($many[0])->{deleted}, 'deletes the user');
    is($cloud->counters->{deletedThroughGroup}, 1, 'and is counted');

    my @of = map { $_->{displayName} } @{
        get("/users/$karin/memberOf?\$select=id,displayName")->{value} };
    ok((grep { $_ eq 'Stockholm' } @of), 'memberOf has units too');
    is_deeply([grep { $_->{'@odata.type'} } @{
        get("/users/$karin/memberOf/microsoft.graph.group")->{value} }], [],
        'a cast shows groups, without types');
    my $bo = user_id('bo.ek');
    my @transitive = map { $_->{displayName} } @{ get("/users/$bo/transitiveMemberOf")->{value} };
    ok((grep { $_ eq 'Sales division' } @transitive), 'nested');
    my $ids = api(POST => "/users/$bo/getMemberGroups",
        json => { securityEnabledOnly => JSON::PP::false() })->{json}{value};
    is(scalar @$ids, scalar @transitive, 'getMemberGroups is transitive');
    is_deeply(api(POST => "/users/$bo/checkMemberGroups",
        json => { groupIds => [group_id('Finance'), group_id('Sales team')] })->{json}{value},
        [group_id('Sales team')], 'checkMemberGroups');
    is(scalar @{ get('/groups/' . group_id('Sales division')
        . '/transitiveMembers?$top=999')->{value} },
        1 + 1 + scalar @{ $cloud->group('Sales team')->{members} }, 'transitive members');
    is(get('/groups/' . group_id('Devices') . '/members')->{value}[0]{'@odata.type'},
        '#microsoft.graph.device', 'a device');
    is(get('/groups/' . group_id('Engineering') . '/owners')->{value}[0]{userPrincipalName},
        upn('johan.asberg'), 'owner');
    my $objects = api(POST => '/directoryObjects/getByIds',
        json => { ids => [$bo, group_id('Finance'), $karin], types => ['user'] })->{json}{value};
    is_deeply([sort map { $_->{id} } @$objects], [sort $bo, $karin], 'getByIds, of one type');
};

subtest 'licences' => sub {
    my %sku = map { ($_->{skuPartNumber} => $_) } @{ get('/subscribedSkus')->{value} };
    cmp_ok($sku{SPE_E3}{consumedUnits}, '>=', 20, 'used units');
    my $user = create('licensierad');
    my $assign = sub { my ($add, $remove) = @_;
        api(POST => "/users/$user->{id}/assignLicense",
        json => { addLicenses => [map { { skuId => $sku{$_}{skuId}, disabledPlans => [] } } @$add],
        removeLicenses => [map { $sku{$_}{skuId} } @$remove] }) };
    like(refused($assign->(['SPE_E3'], []), 400, 'Request_BadRequest', 'no country')->{message},
        qr/usage location/, 'says so');
    api(PATCH => "/users/$user->{id}", json => { usageLocation => 'SE' });
    like(refused($assign->(['SPE_E5'], []), 400, 'Request_BadRequest', 'no units')->{message},
        qr/does not have any available licenses/, 'says so');
    is($assign->(['SPE_E3'], [])->{status}, 200, 'assigned');
    is_deeply([map { $_->{skuId} } @{
        get("/users/$user->{id}?\$select=assignedLicenses")->{assignedLicenses} }],
        [$sku{SPE_E3}{skuId}], 'shown');
    is(get('/subscribedSkus')->{value}[0]{consumedUnits}, $sku{SPE_E3}{consumedUnits} + 1,
        'one unit more');
    is(get("/users/$user->{id}/licenseDetails")->{value}[0]{skuPartNumber}, 'SPE_E3', 'details');
    api(POST => '/groups/' . group_id('Mobile staff') . '/members/$ref',
        json => { '@odata.id' => "$root/directoryObjects/$user->{id}" });
    my @states = @{
        get("/users/$user->{id}?\$select=licenseAssignmentStates")->{licenseAssignmentStates} };
    is_deeply({ map { ($_->{skuId} => $_->{assignedByGroup}) } @states },
        { $sku{SPE_E3}{skuId} => undef, $sku{EMS}{skuId} => group_id('Mobile staff') },
        'direct and inherited');
    like(refused($assign->([], ['EMS']), 400, 'Request_BadRequest', 'an inherited one')->{message},
        qr/inherited from a group/, 'says so');
    is($assign->([], ['SPE_E3'])->{status}, 200, 'removed');
    refused(api(POST => "/users/$user->{id}/assignLicense", json => { addLicenses => [] }), 400,
        'Request_BadRequest', 'both arrays are needed');
};

subtest 'lists' => sub {
    my $all = pages('/users?$select=id,userPrincipalName&$top=7');
    cmp_ok($all->{pages}, '>', 5, 'pages of seven');
    my %seen;
    $seen{ $_->{id} }++ for @{ $all->{items} };
    is(scalar(keys %seen), scalar @{ $all->{items} }, 'each once');
    is(scalar(keys %seen), $cloud->counters->{users}, 'all of them');
    is(api(GET => '/users?$top=1000')->{status}, 400, '1000 a page are too many');
    is(api(GET => '/users?$select=id,aboutMe')->{status}, 501, 'stored elsewhere');
    is(api(GET => '/users?$select=id,nonsense')->{status}, 400, 'unknown property');
    my $link = get('/users?$top=3')->{'@odata.nextLink'};
    $cloud->control(expirePages => 1);
    refused(api(GET => $link), 400, 'Directory_ExpiredPageToken', 'an old page link');

    my %eventual = (headers => { ConsistencyLevel => 'eventual' });
    my $find = sub { my ($filter, %how) = @_;
        my $a = api(GET => '/users?$select=userPrincipalName&$filter='
        . Idadmin::Test::Cloud::_escape($filter) . (delete $how{more} // ''), %how);
        $a->{status} == 200 ? [map { $_->{userPrincipalName} =~ s/\@.*//r } @{ $a->{json}{value} }]
        : $a->{json}{error}{code} };
    is_deeply($find->("userPrincipalName eq 'EVA.BERG\@acme.example'"), ['eva.berg'], 'eq');
    is_deeply($find->("mail eq 'ceo\@acme.example'"), [], 'mail is not every address');
    is_deeply($find->("proxyAddresses/any(x:x eq 'smtp:ceo\@acme.example')"), ['eva.berg'], 'any');
    is_deeply($find->("department in ('Finance','People') and startsWith(displayName,'R')"),
        ['rut.sandell'], 'in, and, startsWith');
    is_deeply($find->("displayName eq 'O''Neil'"), [], 'doubled quote');
    is_deeply($find->("accountEnabled eq false and userType eq 'Member' and "
        . "startsWith(surname,'Gam')"), ['arne.gammal'], 'boolean');
    is($find->("department ne 'Sales'"), 'Request_UnsupportedQuery', 'ne is an advanced query');
    ok(ref $find->("department ne 'Sales'", %eventual, more => '&$count=true'), 'and works as one');
    is($find->("onPremisesExtensionAttributes/extensionAttribute15 eq 'task-1'"),
        'Request_UnsupportedQuery', 'so are extension attributes');
    is_deeply($find->("onPremisesExtensionAttributes/extensionAttribute15 eq 'task-1'", %eventual,
        more => '&$count=true'), ['ny.person'], 'found');
    is($find->("department eq 'x"), 'Request_UnsupportedQuery', 'broken filter');
    is($find->('id in (' . join(',', map {"'$_'"} 1 .. 16) . ')'), 'Request_UnsupportedQuery',
        'sixteen in a list');
    is(api(GET => '/users/$count', %eventual)->{body}, $cloud->counters->{users}, '$count');
    is(api(GET => '/users/$count')->{status}, 400, 'which needs the header');
    is(scalar(grep { $_->{onPremisesSyncEnabled} } @{
        get('/groups?$select=id,onPremisesSyncEnabled')->{value} }), 1, 'groups');
    is_deeply([map { $_->{id} } @{ get('/domains')->{value} }], ['acme.example'], 'domains');
    is(get('/organization?$select=id,verifiedDomains')->{value}[0]{verifiedDomains}[0]{name},
        'acme.example', 'organization');
    $cloud->control(settings => { emptyEvery => 2 });
    my $holes = pages('/users?$select=id&$top=7');
    is(scalar @{ $holes->{items} }, scalar @{ $all->{items} }, 'empty pages lose nothing');
    cmp_ok($holes->{pages}, '>=', 2 * $all->{pages} - 1, 'and were there');
    $cloud->control(settings => { emptyEvery => 0 });
};

subtest 'sign-in activity' => sub {
    my $read = get('/users?$select=id,userPrincipalName,signInActivity&$top=999');
    my %of = map { ($_->{userPrincipalName} => $_->{signInActivity}) } @{ $read->{value} };
    ok($of{ upn('eva.berg') }{lastSuccessfulSignInDateTime}, 'seen');
    ok(!$of{ upn('tove.ahlgren') }, 'never seen: absent');
    is(api(GET => '/users/' . upn('eva.berg') . '?$select=signInActivity')->{status}, 400,
        'by UPN');
    is(api(GET => '/users/' . user_id('eva.berg') . '?$select=signInActivity')->{status}, 200,
        'by ID');
    $cloud->control(settings => { signInPage => 5 });
    is(scalar @{ get('/users?$select=id,signInActivity&$top=999')->{value} }, 5,
        'pages are smaller than asked');
    $cloud->control(settings => { signIn => 'noLicense' });
    refused(api(GET => '/users?$select=id,signInActivity'), 403,
        'Authentication_RequestFromNonPremiumTenantOrB2CTenant', 'no licence');
    $cloud->control(settings => { signIn => 'ok', signInPage => 500 },
        revoke => 'AuditLog.Read.All');
    refused(api(GET => '/users?$select=id,signInActivity'), 403, 'Authorization_RequestDenied',
        'no permission');
    $cloud->control(grant => 'AuditLog.Read.All');
};

subtest 'delta' => sub {
    my $select = '$select=id,userPrincipalName,department,accountEnabled,manager,assignedLicenses';
    my $first = pages("/users/delta?$select");
    cmp_ok($first->{pages}, '>', 3, 'pages of ten');
    is(scalar(grep { !$_->{'@removed'} } @{ $first->{items} }), $cloud->counters->{users},
        'everybody');
    my ($anna) = grep { ($_->{userPrincipalName} // '') eq upn('anna.lind') } @{ $first->{items} };
    is($anna->{'manager@delta'}[0]{id}, user_id('eva.berg'), 'managers');
    ok($first->{delta}, 'deltaLink on the last page');
    is_deeply(pages($first->{delta})->{items}, [], 'nothing has happened');

    my $new = create('delta.ny', department => 'Finance');
    # not tracked
    api(PATCH => '/users/' . user_id('bo.ek'), json => { jobTitle => 'Other' });
    api(PATCH => '/users/' . user_id('elin.strand'), json => { department => undef });
    api(PUT => '/users/' . user_id('carin.sjoberg') . '/manager/$ref',
        json => { '@odata.id' => "$root/users/" . user_id('eva.berg') });
    api(DELETE => '/users/' . user_id('banned'));
    my $second = pages($first->{delta});
    my %item = map { ($_->{id} => $_) } @{ $second->{items} };
    is(scalar keys %item, 4, 'four changes');
    is($item{ $new->{id} }{department}, 'Finance', 'new');
    ok(exists $item{ user_id('elin.strand') }{department}
        && !defined $item{ user_id('elin.strand') }{department}, 'null when it was emptied');
    ok(!exists $item{ $new->{id} }{assignedLicenses}[0], 'no licence');
    is($item{ user_id('carin.sjoberg') }{'manager@delta'}[0]{id}, user_id('eva.berg'),
        'other manager');
    is((grep { $_->{'@removed'} } values %item)[0]{'@removed'}{reason}, 'changed', 'soft delete');
    is_deeply([map { sort keys %$_ }
        grep { $_->{id} eq user_id('elin.strand') } @{
        pages($first->{delta}, headers => { Prefer => 'return=minimal' })->{items} }],
        [qw(department id)], 'return=minimal');
    api(DELETE => '/directory/deletedItems/' . (grep { $_->{'@removed'} } values %item)[0]{id});
    is(pages($second->{delta})->{items}[0]{'@removed'}{reason}, 'deleted', 'gone for good');
    is(api(GET => '/users/delta?$top=5')->{status}, 400, '$top is not supported');

    my $latest = get('/groups/delta?$deltatoken=latest&$select=id,displayName,members');
    is_deeply($latest->{value}, [], 'latest brings no data');
    my $groups = pages('/groups/delta?$select=id,displayName,members');
    my (%members, %slices);
    for my $item (@{ $groups->{items} }) {
        $slices{ $item->{id} }++;
        push @{ $members{ $item->{displayName} } },
            map { $_->{id} } @{ $item->{'members@delta'} // [] };
    }
    is($slices{ group_id('All staff') }, 2, 'a large group comes in slices');
    is_deeply([sort @{ $members{'All staff'} }],
        [sort map { $_->{id} } @{
        get('/groups/' . group_id('All staff') . '/members?$top=999')->{value} }],
        'together they are its members');
    is($members{Devices} && scalar @{ $members{Devices} }, 1, 'devices too');
    my $sales = group_id('Sales team');
    my $bo = user_id('bo.ek');
    api(POST => "/groups/$sales/members/\$ref",
        json => { '@odata.id' => "$root/directoryObjects/$new->{id}" });
    api(DELETE => "/groups/$sales/members/$bo/\$ref");
    my $round = pages($groups->{delta});
    is(scalar @{ $round->{items} }, 1, 'one group has changed');
    is_deeply({ map { ($_->{id} => $_->{'@removed'} ? 'out' : 'in') } @{
        $round->{items}[0]{'members@delta'} } }, { $new->{id} => 'in', $bo => 'out' },
        'in and out');
    is_deeply([map { $_->{id} } @{ pages($latest->{'@odata.deltaLink'})->{items} }], [$sales],
        'the latest link sees it as well');
    $cloud->control(expireDeltaLinks => 1);
    my $gone = api(GET => $round->{delta});
    refused($gone, 410, 'resyncRequired', 'too old');
    is(pages($gone->{headers}{location})->{pages} > 1, 1, 'Location starts a full round');
    $cloud->control(settings => { deltaExpiry => 'syncStateNotFound' });
    refused(api(GET => $round->{delta}), 400, 'syncStateNotFound', 'the other way to say it');
};

subtest '$batch' => sub {
    my $answer = api(POST => '/$batch', json => { requests => [
        { id => '1', method => 'GET', url => '/users/' . upn('eva.berg') . '?$select=id' },
        { id => '2', method => 'GET', url => '/users/' . upn('nobody') },
        { id => '3', method => 'POST', url => '/users',
        headers => { 'Content-Type' => 'application/json' }, body => person('ur.bunten') },
        { id => '4', method => 'GET', url => '/users', dependsOn => ['2'] },
    ] });
    is($answer->{status}, 200, 'the batch');
    is_deeply({ map { ($_->{id} => $_->{status}) } @{ $answer->{json}{responses} } },
        { 1 => 200, 2 => 404, 3 => 201, 4 => 424 }, 'each by itself');
    isnt($answer->{json}{responses}[0]{id}, '1', 'in another order');
    $cloud->control(faults => { do => 'status', status => 429, retryAfter => 7, path => '^/domains',
        count => 1 });
    $answer = api(POST => '/$batch',
        json => { requests => [map {
        { id => "$_", method => 'GET', url => '/domains' } } 1 .. 2] });
    is_deeply([sort map { $_->{status}
        . ($_->{headers}{'Retry-After'} // '') } @{ $answer->{json}{responses} }], [qw(200 4297)],
        'one is told to wait');
    is(api(POST => '/$batch', json => {
        requests => [map { { id => "$_", method => 'GET', url => '/users' } } 1 .. 21] })->{status},
        400, 'twenty-one');
    is(api(POST => '/$batch', json => {
        requests => [map { { id => 'same', method => 'GET',
        url => '/users' } } 1 .. 2] })->{status}, 400, 'doubled id');
};

subtest 'answers are as described' => sub {
    my $reason = $ENV{GRAPH_OPENAPI} ? Idadmin::Test::OpenApi->skip_reason
        : 'GRAPH_OPENAPI names no OpenAPI description';
    plan(skip_all => $reason) if $reason;
    my $api = Idadmin::Test::OpenApi->load($ENV{GRAPH_OPENAPI});
    my %wrong = map { ($_ => 1) } map { $api->exchange(json_data($_), answer_only => 1) }
        split /\n/, slurp($traffic);
    is_deeply([sort keys %wrong], [], 'each');
    cmp_ok(scalar keys %{ $api->used }, '>', 30, 'of many kinds');
};

is($cloud->counters->{internalErrors} // 0, 0, 'no failure of its own') or diag $cloud->log_text;
$cloud->stop;
done_testing();
