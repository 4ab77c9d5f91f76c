# Each call of the cloud connector about groups and licences gives the right result under the faults
# of 05-users.t.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Cloud ();
use Time::HiRes ();

my $skip;

BEGIN {
    $skip = Idadmin::Test::Cloud->skip_reason;
    plan(skip_all => $skip) if $skip;
}

use Idadmin::Test::CloudCalls;

$cloud->control(create => { type => 'user',
    properties => { userPrincipalName => "scoped.admin\@$domain", displayName => 'Scoped',
    mailNickname => 'scoped', accountEnabled => JSON::PP::true(), _privileged => 1 } });
start_tool();

subtest 'memberships' => sub {
    my $karin = id_of("karin.hedlund\@$domain");
    my $groups = call(memberships => id => $karin)->{groups};
    my %want = ('All staff' => undef, Engineering => undef, 'Mobile staff' => undef,
        'Synced staff' => qr/on-premises/, 'Mail developers' => qr/Exchange/,
        'News list' => qr/Exchange/,
        'Role holders' => qr/role-assignable/, Restricted => qr/restricted/,
        Stockholm => qr/administrative unit/);
    is_deeply([sort keys %$groups], [sort keys %want], 'all groups');
    for my $name (sort keys %want) {
        if ($want{$name}) { like($groups->{$name}{retained}, $want{$name},
            "$name is kept, with the reason") }
        else              { is($groups->{$name}{retained}, undef, "$name can be left") }
    }
    like(call(memberships => id =>
        id_of("bo.ek\@$domain"))->{groups}{'Everyone in sales'}{retained}, qr/rule.*Sales/,
        'a dynamic group, with its rule');
    is(call(memberships => id =>
        id_of("root.admin\@$domain"))->{groups}{'User Administrator'}{retained} =~ /directory role/
        ? 1 : 0, 1, 'a directory role');
    is(call(memberships => id => '00000000-0000-4000-8000-000000000000')->{class}, 'not found',
        'nobody');

    my $staff = $groups->{'All staff'}{id};
    is(call(removeMember => id => $karin, group => $staff)->{class}, 'ok', 'left');
    is(scalar(grep { $_ eq 'All staff' } @{ $cloud->user($karin)->{groups} }), 0,
        'in the directory');
    is(call(removeMember => id => $karin, group => $staff)->{class}, 'was so already', 'again');
    is($cloud->user($karin)->{accountEnabled} ? 1 : 0, 1, 'the user is still there');
    for my $when ('before', 'after') {
        my ($group) = $when eq 'before' ? 'Engineering' : 'Mobile staff';
        fault({ method => '^DELETE$', do => 'reset', when => $when, count => 1 });
        like(call(removeMember => id => $karin, group => $groups->{$group}{id})->{class},
            qr/^(?:ok|was so already)$/, "lost $when the effect: done");
    }
    late(list => 600_000);
    my $lars = id_of("lars.moberg\@$domain");
    is(call(removeMember => id => $lars, group => $staff)->{class}, 'ok', 'left');
    is(call(removeMember => id => $lars, group => $staff)->{class}, 'not visible yet',
        'a list that still shows it: not settled');
    late();
    is(call(removeMember => id => $lars, group => $staff)->{class}, 'was so already',
        'until it does not');
    calm();
    my $synced = call(removeMember => id => $karin, group => $groups->{'Synced staff'}{id});
    is($synced->{class}, 'value refused', 'a synced group refuses');
    is($cloud->counters->{deletedThroughGroup}, 0, 'nobody was deleted through a group');
    is(call(removeMember => id => "$karin/x", group => $staff)->{class}, 'value refused',
        'what is no ID makes no address');

    # What the list does not show but the cache knows is asked for.
    my %new = person();
    my $id = call(create => %new)->{user}{id};
    call(addMembers => group => $staff, ids => [$id]);
    fault({ method => '^GET$', path => '/memberOf', do => 'status', status => 200,
        body => '{"value":[]}' });
    my $asked = call(memberships => id => $id, candidates => [$staff, $groups->{Stockholm}{id}]);
    is_deeply([keys %{ $asked->{groups} }], ['All staff'], 'a membership that the list hides');
    calm();
};

subtest 'pages of memberships' => sub {
    my $id = call(create => person())->{user}{id};
    $cloud->control(create => [map {
        { type => 'group', properties => { displayName => "Many $_", groupTypes => [],
        securityEnabled => JSON::PP::true(), mailEnabled => JSON::PP::false() },
        members => [$id] } } 1 .. 1100]);
    my $answer = call(memberships => id => $id);
    is(scalar(keys %{ $answer->{groups} }), 1100, 'more than one page') or diag $answer->{message};
};

subtest 'ownership' => sub {
    my $johan = id_of("johan.asberg\@$domain");
    is_deeply(call(owned => id => $johan)->{groups}, { Engineering => undef }, 'owned alone');
    my @ids = ($johan, map { id_of("$_\@$domain") } qw(anna.lind bo.ek));
    $cloud->control(create => [{ type => 'group', properties => { displayName => 'Owned together',
        groupTypes => [], securityEnabled => JSON::PP::true(), mailEnabled => JSON::PP::false(),
        _owners => \@ids } },
        { type => 'servicePrincipal',
        properties => { displayName => 'Application', _owners => \@ids } }]);
    my $owned = call(owned => id => $johan);
    is_deeply($owned->{groups}, { Engineering => undef,
        'Owned together' => "anna.lind\@$domain; bo.ek\@$domain" },
        'who else owns it; what is no group is left out') or diag explain $owned;
    for my $path ('/ownedObjects', '/owners') {
        fault({ path => $path, do => 'status', status => 403,
            error => { code => 'Authorization_RequestDenied' } });
        $owned = call(owned => id => $johan);
        is($owned->{class}, 'not allowed to the service account', "$path is refused");
        like($owned->{message}, qr/Read\.All/, 'which names the permission');
        calm();
    }
    is(call(owned => id => '00000000-0000-4000-8000-000000000000')->{class}, 'not found',
        'nobody');
    $cloud->control(create => [map { { type => 'group', properties => {
        displayName => "Many of hers $_", groupTypes => [], securityEnabled => JSON::PP::true(),
        mailEnabled => JSON::PP::false(), _owners => [$ids[2]] } } } 1 .. 60]);
    $owned = call(owned => id => $ids[2])->{groups};
    is(scalar keys %$owned, 61, 'each of very many is named');
    is(scalar(grep { ($_ // '') =~ /not looked at/ } values %$owned), 11,
        'and who else owns the last ones is not said to be nobody');
};

subtest 'joining groups' => sub {
    my $group = $cloud->group('Finance')->{id};
    my @ids = map { call(create => person())->{user}{id} } 1 .. 45;
    $cloud->control(resetCounters => JSON::PP::true());
    my $answer = call(addMembers => group => $group, ids => \@ids);
    is($answer->{class}, 'ok', '45 at once');
    is_deeply($answer->{each}, [('ok') x 45], 'each of them');
    is($cloud->requests('PATCH /groups/{group}'), 3, 'in twenties');
    my @more = map { call(create => person())->{user}{id} } 1 .. 3;
    $answer = call(addMembers => group => $group, ids => [$ids[0], @more, $ids[1]]);
    is_deeply($answer->{each}, ['was so already', 'ok', 'ok', 'ok', 'was so already'],
        'some are members already');
    is(call(addMembers => group => $group, ids => [$ids[0]])->{class}, 'was so already',
        'one who is a member');
    fault({ method => '^PATCH$', do => 'reset', when => 'after', count => 1 });
    my @lost = map { call(create => person())->{user}{id} } 1 .. 3;
    $answer = call(addMembers => group => $group, ids => \@lost);
    like($answer->{class}, qr/^(?:ok|was so already)$/, 'a lost answer: done');
    calm();
    $answer = call(addMembers => group => $group,
        ids => [@more, '00000000-0000-4000-8000-000000000000']);
    is($answer->{each}[3], 'not found', 'one who is not there') or diag json_text($answer);
    is($answer->{class}, 'not found', 'is the answer');
    $answer = call(addMembers => group => $cloud->group('Synced staff')->{id}, ids => [$more[0]]);
    is($answer->{class}, 'value refused', 'a synced group');
    my @outside = grep { my $id = $_;
        !grep { $_ eq 'Finance' } @{ $cloud->user($id)->{groups} } } @ids, @more, @lost;
    is_deeply(\@outside, [], 'all stand in the directory');
};

subtest 'licences' => sub {
    my %p = person(country => 'SE');
    my $id = call(create => %p)->{user}{id};
    is(call(setLicenses => id => $id, add => ['EMS'])->{class}, 'ok', 'given by part number');
    is_deeply(call(find => id => $id)->{user}{licenses}, ['EMS'], 'and shown so');
    is(call(setLicenses => id => $id, add => ['EMS'])->{class}, 'was so already', 'again');
    fault({ method => '^POST$', path => 'assignLicense', do => 'reset', when => 'after',
        count => 1 });
    is(call(setLicenses => id => $id, add => ['SPE_E3'], remove => ['EMS'])->{class}, 'ok',
        'exchanged, though the answer was lost');
    is_deeply(call(find => id => $id)->{user}{licenses}, ['SPE_E3'], 'rightly');
    calm();
    my $none = call(setLicenses => id => $id, add => ['SPE_E5']);
    is("$none->{class} $none->{field}", 'value refused licenses', 'none left');
    like($none->{message}, qr/available licenses/, 'says so');
    like(call(setLicenses => id => $id, add => ['NO_SUCH'])->{message}, qr/no licence NO_SUCH/,
        'one that is not bought');
    my $place = call(setLicenses => id => call(create => person())->{user}{id}, add => ['EMS']);
    is("$place->{class} $place->{field}", 'value refused country', 'without a country');
    my $inherited = call(setLicenses => id => id_of("lars.moberg\@$domain"), remove => ['EMS']);
    is($inherited->{class}, 'value refused', 'from a group');
    like($inherited->{message}, qr/group/, 'says so');
    is(call(setLicenses => id => $id, remove => ['EMS'])->{class}, 'was so already',
        'one that the user has not');
    my $lars = id_of("lars.moberg\@$domain");
    is_deeply([sort @{ call(find => id => $lars)->{user}{licenses} }], ['EMS', 'SPE_E3'],
        'a direct one beside that of a group');
    fault({ method => '^POST$', path => 'assignLicense', do => 'reset', when => 'after',
        count => 1 });
    my $all = call(setLicenses => id => $lars, remove => ['*']);
    is($all->{class}, 'ok', 'all direct ones are taken, though the answer was lost');
    is_deeply(call(find => id => $lars)->{user}{licenses}, ['EMS'], 'not the one of the group');
    like($all->{message}, qr/EMS \(group \w[\w ]+\)/, 'which is named with its group');
    calm();
    is(call(setLicenses => id => $lars, remove => ['*'])->{class}, 'was so already', 'again');
    is(call(setLicenses => id => $id, remove => ['*'])->{message}, undef,
        'nothing is kept: nothing is said');

    # Assigned a moment ago, which no read shows yet: what goes is asked of the directory itself.
    my $late = call(create => person(country => 'SE'))->{user}{id};
    select undef, undef, undef, 1.2;
    my $direct = sub { return map { $_->{skuId} } @{ $cloud->user($late)->{assignedLicenses} } };
    for my $remove (['EMS'], ['*', 'EMS', 'NO_SUCH', 'SPE_E3']) {
        is(call(setLicenses => id => $late, add => ['EMS'])->{class}, 'ok', 'given');
        $cloud->control(settings => { lag => { read => 1000 } });
        is(call(setLicenses => id => $late, remove => $remove)->{class}, 'ok',
            "@$remove: taken though it is not shown");
        is_deeply([$direct->()], [], 'as the directory says');
        $cloud->control(settings => { lag => {} });
        is(call(setLicenses => id => $late, remove => $remove)->{class}, 'was so already', 'again');
    }
};

subtest 'throttled' => sub {
    fault({ method => '^POST$', path => '^/users$', do => 'status', status => 429, retryAfter => 1,
        count => 1 });
    my %p = person();
    my $answer = call(create => %p);
    is($answer->{class}, 'asks to slow down', 'told');
    cmp_ok($answer->{retryAfter}, '>=', 1, 'for how long');
    calm();
    my ($done) = until_done(create => %p, sentAt => now_ms());
    is($done->{class}, 'ok', 'then made');
    is($cloud->counters->{createdByMarker}{ $p{marker} }, 1, 'once');
};

is($cloud->counters->{internalErrors} // 0, 0, 'the emulator had no fault of its own');

stop_tool();
$cloud->stop;

done_testing();
