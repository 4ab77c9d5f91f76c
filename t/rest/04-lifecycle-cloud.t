# Updates, an offboarding and a rehire have the announced result in the cloud directory.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_text);
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack;
use Idadmin::Test::Times qw(outcomes step);
use Idadmin::Test::Workflows qw(act workflow);

my $domain = $Idadmin::Test::Cloud::domain;
my $upn    = "karin.hedlund\@$domain";
my $stack;
sub patch { return $stack->call(PATCH => '/v1/api/user',
    json => { userPrincipalName => $upn, @_ }) }
sub done  { my ($answer) = @_; is($answer->{status}, 200, 'queued') or diag($answer->{body});
    return $stack->wait_task($answer->{json}{data}{taskId}) }

for_each_stack {
    ($stack) = @_;
    my $cloud = $stack->cloud;
    my @empty = map { $_->{name} } @{
        $stack->get('/v1/api/hygiene?sections=emptyGroups')
            ->{json}{data}{sections}{emptyGroups}{items} };
    is_deeply([grep {/^(?:Devices|Empty)$/} @empty], ['Empty'], 'a group of devices is not empty')
        or diag("@empty");
    is($stack->get('/v1/api/resource/access?resource=Devices')->{json}{data}{totalCount}, 0,
        'though it gives no access');
    my @said = map { $stack->get("/v1/api/resource/access?resource=$_")->{json}{data}{resource} }
        qw(Devices Empty);
    is_deeply([map { [$_->{memberCount}, $_->{otherMembers} ? 1 : 0] } @said], [[0, 1], [0, 0]],
        'which says that it has other members');

    my $photo = Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(4000));
    my $task = done(patch(surname => 'Ny', jobTitle => 'Lead', employeeId => 'K-1', country => 'no',
        manager => "eva.berg\@$domain", profilePhoto => $photo));
    is_deeply(outcomes($task),
        { updateAccount => 'done', setManager => 'done', setPhoto => 'done' },
        'new values are written');
    my $user = $cloud->user($upn);
    is_deeply([@$user{qw(surname jobTitle employeeId displayName usageLocation)}],
        ['Ny', 'Lead', 'K-1', 'Karin Ny', 'NO'], 'they are in the directory');
    my $before = json_text([sort map { $_->{name} } grep { ($_->{source} // '') ne 'dynamic_group' }
        map { { name => $_->{resource}{name}, source => $_->{source} } } @{
        $stack->get("/v1/api/user/access?user=$upn")->{json}{data}{items} }]);
    $task = done(patch(jobTitle => undef, manager => '', profilePhoto => undef));
    is_deeply(outcomes($task),
        { updateAccount => 'done', setManager => 'done', setPhoto => 'done' },
        'and cleared');
    is($cloud->user($upn)->{jobTitle}, undef, 'also there');
    is(outcomes(done(patch(profilePhoto => '')))->{setPhoto}, 'already', 'no photo is no photo');

    # The cloud has no property for a middle name: said at once, left out, nothing fails.
    my $middle = qr/middleName "Maria" is not kept: the cloud directory has no property for it/;
    my $joiner = $stack->post('/v1/api/user',
        { firstname => 'Mid', surname => 'Dle', middleName => 'Maria', country => 'Sverige' });
    like("@{ $joiner->{json}{data}{warnings} }", $middle, 'a creation with a middle name warns');
    like("@{ $joiner->{json}{data}{warnings} }",
        qr/country "Sverige" is kept as text: .*no usage location/, 'and with a country in words');
    $task = done($joiner);
    is_deeply([$task->{state}, outcomes($task)->{createAccount}], ['done', 'done'], 'and is done');
    is($cloud->user($joiner->{json}{data}{userPrincipalName})->{country}, 'Sverige',
        'the country is kept');
    my $change = patch(middleName => 'Maria', office => 'Hus 7');
    like("@{ $change->{json}{data}{warnings} }", $middle, 'a change too');
    $task = done($change);
    is_deeply([$task->{state}, outcomes($task)->{updateAccount},
        $cloud->user($upn)->{officeLocation}], ['done', 'done', 'Hus 7'], 'the rest is written')
        or diag(json_text($task));
    like(step($task, 'updateAccount')->{detail},
        qr/^office,\ displayName;\ not\ set:\ middleName\ \(middleName:\ the\ cloud\ directory\ has
            \ no\ property\ for\ it\)$/x, 'the step tells what was not');
    like(json_text($task->{warnings}), qr/middleName was not set/, 'so does the task');

    $task = done($stack->delete('/v1/api/user', { userPrincipalName => $upn, time => '00:00' }));
    is($stack->post('/v1/api/user',
        { firstname => 'Karin', surname => 'Ny', employeeId => 'K-1' })->{status}, 409,
        'her number is known');
    my $back = $stack->post('/v1/api/user',
        { firstname => 'Karin', surname => 'Ny', employeeId => 'K-1', jobTitle => 'Back',
        rehire => 'restore' });
    my $rehire = $back->{json}{data}{rehire};
    ok(@{ $rehire->{memberships} } && @{ $rehire->{notRevokedThen} },
        'groups that come back and groups that never went are listed') or diag($back->{body});
    $task = done($back);
    is(outcomes($task)->{restoreMemberships}, 'done', 'her groups are back')
        or diag(json_text($task));
    $user = $cloud->user($upn);
    ok($user->{accountEnabled} && $user->{jobTitle} eq 'Back', 'the same account, enabled');
    my %now = map { ($_->{resource}{name} => 1) } @{
        $stack->get("/v1/api/user/access?user=$upn")->{json}{data}{items} };
    is_deeply([grep { !$now{ $_->{name} } } @{ $rehire->{memberships} }], [],
        'the access report shows them');

    # In groups created a moment ago, as the sync has seen, while the lists of the directory still
    # show the moment before.
    my $true  = JSON::PP::true();
    my %group = (groupTypes => [], securityEnabled => $true, mailEnabled => JSON::PP::false());
    $cloud->control(create => [
        { type => 'group', properties => { %group, displayName => 'Brand new' },
            members => [$user->{id}] },
        { type => 'group', properties => { %group, displayName => 'New roles',
        isAssignableToRole => $true }, members => [$user->{id}] },
    ]);
    $stack->ctl_ok('sync', 'acme', '--wait');
    $cloud->control(settings => { lag => { list => 5000 } });
    $task = done($stack->delete('/v1/api/user', { userPrincipalName => $upn, time => '00:00' }));
    like(step($task, 'revokeMemberships')->{detail}, qr/removed from .*Brand new/,
        'a group that no list shows is left') or diag(json_text($task));
    like(step($task, 'revokeMemberships')->{detail}, qr/cannot be revoked: .*New roles \([^)]*role/,
        'one that cannot be left is named');
    is_deeply([grep { /^(?:Brand new|New roles)$/ } @{ $cloud->user($upn)->{groups} }],
        ['New roles'], 'as the directory says');
    $cloud->control(settings => { lag => {} });
    $back = $stack->post('/v1/api/user',
        { firstname => 'Karin', surname => 'Ny', employeeId => 'K-1', rehire => 'restore' });
    ok((grep { $_->{name} eq 'Brand new' } @{ $back->{json}{data}{rehire}{memberships} }),
        'and offered to a returning person') or diag($back->{body});
    is(outcomes(done($back))->{restoreMemberships}, 'done', 'who gets it');
    ok((grep { $_ eq 'Brand new' } @{ $cloud->user($upn)->{groups} }), 'as the directory says');

    # A licence, likewise, beside one that she has had.
    my $rut = $cloud->user("rut.sandell\@$domain");
    is($cloud->api(POST => "/users/$rut->{id}/assignLicense",
        json => { addLicenses => [{ skuId => 'efccb6f7-5641-4e0e-bd10-b4976e1bf68e',
        disabledPlans => [] }], removeLicenses => [] })->{status}, 200, 'given another licence');
    $stack->ctl_ok('sync', 'acme', '--wait');
    $cloud->control(settings => { lag => { read => 3000 } });
    $task = done($stack->delete('/v1/api/user',
        { userPrincipalName => $rut->{userPrincipalName}, time => '00:00' }));
    is(step($task, 'Leaver/1 removeLicenses')->{outcome}, 'done', 'what she has is taken away')
        or diag(json_text($task));
    my $taken = step($task, 'Leaver/1 removeLicenses')->{revoked} // [];
    my @taken = map { [@$_{qw(name kind)}] } @$taken;
    cmp_ok(scalar @taken, '>=', 1, 'licences that an action took stand among what was revoked');
    is_deeply([grep { $_->[1] ne 'license' || $_->[0] !~ /^[A-Z]/ } @taken], [], 'by name');
    my $run = $stack->get('/v1/api/workflow/runs?workflow=Leaver&limit=1')->{json}{data}{items}[0];
    is_deeply([grep { ($_->{kind} // '') eq 'license' } @{ $run->{revoked} }],
        $taken, 'also in the run');
    is_deeply($cloud->user($rut->{id})->{assignedLicenses}, [], 'also what no reading shows');
    $cloud->control(settings => { lag => {} });

    # A protected account and a manager keep to the ID when a namesake gets the name.
    my ($guarded, $chief) = map { my $name = "$_\@$domain";
        $cloud->control(create => [{ type => 'user', properties => { userPrincipalName => $name,
            mail => $name, displayName => $_, mailNickname => $_, accountEnabled => JSON::PP::true,
            userType => 'Member' } }]); $name } qw(guarded chief);
    $stack->ctl_ok('sync', 'acme', '--wait');
    $stack->apply_tenant($stack->tenant_document(directories => {
        cloud => $stack->cloud_document(protectedAccounts => [$guarded]) }));
    my $hire = $stack->post('/v1/api/user', { firstname => 'Under', surname => 'Chief',
        manager => $chief, date => '2030-01-01' })->{json}{data}{taskId};
    for my $name ($guarded, $chief) {
        $cloud->control(change => { key => $name, properties => {
            userPrincipalName => "moved.$name", mail => "moved.$name" } });
        $cloud->control(create => [{ type => 'user', properties => { userPrincipalName => $name,
            displayName => 'Namesake', mailNickname => 'namesake', userType => 'Member',
            accountEnabled => JSON::PP::true } }]);
    }
    $stack->ctl_ok('sync', 'acme', '--wait');
    $stack->worker->expect_log(qr/IDA0340|IDA0317/);
    $task = $stack->wait_task($stack->delete('/v1/api/user', { userPrincipalName =>
        "moved.$guarded", time => '00:00' })->{json}{data}{taskId}, states => [qw(failed done)]);
    like(json_text($task), qr/protectedAccounts: it is never changed/,
        'a protected account stays so under another name');
    $stack->ctl_ok('task', 'reschedule', 'acme', $hire, Idadmin::Test::Times::wall(time - 120));
    $task = $stack->wait_task($hire);
    is($cloud->user($task->{userPrincipalName})->{manager}, "moved.$chief",
        'and a manager is who was meant') or diag(json_text($task));
    is($stack->worker->stop, 0, 'the worker ends cleanly');
} cloud => {}, tenant => { workflows => [workflow('Leaver', 'userDelete', act('removeLicenses'))] },
    one_engine => 'the connector counts here; t/rest/03-lifecycle.t has the rules on both';
done_testing();
