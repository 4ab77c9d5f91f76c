# Each call of the cloud connector about users gives the right result if its answer is lost before
# or after the effect, refused, cut off, a gateway's error page, or older than the last write.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Cloud ();
use Idadmin::Test::Photo ();
use MIME::Base64 ();
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

subtest 'create: what stands in the directory' => sub {
    my %p = person(middleName => 'Maria', jobTitle => 'Säljare', department => 'Sales',
        company => 'Acme AB', office => 'Malmö 3', city => 'Malmö', country => 'SE',
        streetAddress => 'Storgatan 1',
        postalCode => '211 34', preferredLanguage => 'sv-SE', employeeId => 'E1',
        mail => "asa.mail\@$domain");
    my $answer = call(create => %p);
    is($answer->{class}, 'ok', 'created') or diag $answer->{message};
    my $user = $cloud->user($p{upn});
    my %want = (givenName => 'Åsa', surname => $p{surname}, displayName => $p{displayName},
        jobTitle => 'Säljare', department => 'Sales', companyName => 'Acme AB',
        officeLocation => 'Malmö 3',
        city => 'Malmö', country => 'SE', usageLocation => 'SE', streetAddress => 'Storgatan 1',
        postalCode => '211 34', preferredLanguage => 'sv-SE', employeeId => 'E1', mail => $p{mail},
        mailNickname => 'asa.test1', userPrincipalName => $p{upn});
    is_deeply({ map { $_ => $user->{$_} } keys %want }, \%want, 'every property');
    is($user->{onPremisesExtensionAttributes}{extensionAttribute15}, $p{marker}, 'the marker');
    ok($user->{accountEnabled}, 'enabled');
    is($answer->{user}{id}, $user->{id}, 'the ID is the one of the answer');
    is($answer->{user}{$_->[0]}, $_->[1], "the cache is told $_->[0]")
        for [department => 'Sales'], [company => 'Acme AB'], [office => 'Malmö 3'],
        [employeeId => 'E1'], [mail => $p{mail}];
    cmp_ok(abs($answer->{user}{createdAt} - now_ms()), '<', 60_000, 'and when it was made');
    like($answer->{warning}, qr/middleName/, 'what has no place is told');
    my %plain = person(accountEnabled => JSON::PP::false(), country => 'Kingdom of Sweden');
    is(call(create => %plain)->{class}, 'ok', 'little given');
    my $bare = $cloud->user($plain{upn});
    ok(!$bare->{accountEnabled}, 'disabled from the beginning');
    is($bare->{usageLocation}, undef, 'a country in words is no usage location');
    ok(!exists $bare->{department} || !defined $bare->{department},
        'what was not given is not sent');
};

subtest 'create: names that are taken' => sub {
    my %taken = person(upn => "bo.ek\@$domain");
    my $answer = call(create => %taken);
    is($answer->{class}, 'name or value taken', 'a UPN of another account');
    is($answer->{field}, 'upn', 'says which');
    like($answer->{message}, qr/Bo Ek/, 'and who has it');
    is($cloud->user("bo.ek\@$domain")->{givenName}, 'Bo', 'who is left alone');
    my $secondary = call(create => person(upn => "ceo\@$domain"));
    is("$secondary->{class} $secondary->{field}", 'name or value taken upn',
        'a further address of another account');
    my $group = call(create => person(upn => "news\@$domain"));
    is("$group->{class} $group->{field}", 'name or value taken upn', 'the address of a group');
    like($group->{message}, qr/News list/, 'which is named');
    my %mail = person(mail => "news\@$domain");
    my $mail = call(create => %mail);
    is("$mail->{class} $mail->{field}", 'name or value taken mail', 'a mail address: the mail');
    is($cloud->user($mail{upn}), undef, 'and nothing was made');
    my $developers = call(create => person(upn => "maildevelopers\@$domain"));
    is($developers->{class}, 'ok', 'the nickname of a mail-enabled group is numbered')
        or diag $developers->{message};
    is($cloud->user("maildevelopers\@$domain")->{mailNickname}, 'maildevelopers2', 'from 2');
    my %again = person();
    call(create => %again);
    $cloud->control(remove => $again{upn});
    is(call(create => %again, marker => 'm' x 26)->{class}, 'ok',
        'a name that was soft-deleted is free');
};

subtest 'create: passwords' => sub {
    $cloud->control(settings => { banPasswords => 2 });
    is(call(create => person())->{class}, 'ok', 'two refused ones are replaced');
    $cloud->control(settings => { banPasswords => 50 });
    my $answer = call(create => person());
    is($answer->{class}, 'value refused', 'a few times only');
    calm();
    my $secrets = $cloud->secrets;
    my %seen;
    is(scalar(grep { $seen{$_}++ && $_ ne 'First-Passw0rd-of-24-char' } @{ $secrets->{password} }),
        0, 'each one new');
};

subtest 'create: the answer is lost' => sub {
    for my $when ('before', 'after') {
        for my $do (qw(reset truncate truncateReset html badJson)) {
            my %p = person();
            fault({ method => '^POST$', path => '^/users$', do => $do, when => $when, count => 1 });
            my ($answer, @classes) = until_done(create => %p);
            like($answer->{class}, qr/^(?:ok|was so already)$/,
                "$do $when the effect: done (@classes)") or diag $answer->{message};
            is($answer->{user}{id}, id_of($p{upn}), 'with the right ID');
            is($cloud->counters->{createdByMarker}{ $p{marker} }, 1, 'made once');
        }
    }
    calm();
    my %p = person();
    fault({ method => '^POST$', path => '^/users$', do => 'reset', when => 'after', count => 1 },
        { method => '^GET$', path => '^/users/', do => 'status', status => 503, count => 2 });
    my $answer = call(create => %p);
    isnt($answer->{class}, 'ok', 'looking fails too: not said to be done');
    ok(!$answer->{user}, 'no ID');
    calm();
    is(call(create => %p, sentAt => now_ms())->{class}, 'was so already', 'the next try adopts it');
    is($cloud->counters->{createdByMarker}{ $p{marker} }, 1, 'made once');
};

subtest 'create: the account exists and is not visible yet' => sub {
    my %p = person();
    late(read => 600_000);
    fault({ method => '^POST$', path => '^/users$', do => 'reset', when => 'after', count => 1 });
    my $first = call(create => %p);
    is($first->{class}, 'not visible yet', 'a lost answer and a late replica: wait')
        or diag $first->{message};
    late();
    my $answer = call(create => %p, sentAt => now_ms() - 1000);
    is($answer->{class}, 'was so already', 'then adopted');
    is($cloud->counters->{createdByMarker}{ $p{marker} }, 1, 'made once');
    calm();
    # The same, and no account is visible for longer than the directory should take: never sent
    # under another name.
    my %hidden_ours = person();
    fault({ method => '^POST$', path => '^/users$', do => 'reset', when => 'after', count => 1 });
    late(read => 600_000);
    call(create => %hidden_ours);
    for my $again (1, 2) {
        my $unknown = call(create => %hidden_ours, sentAt => now_ms() - 16 * 60_000);
        is($unknown->{class}, 'answer lost', 'a quarter of an hour later: unknown')
            or diag $unknown->{message};
        like($unknown->{message}, qr/Look who has the name/, 'and says what to do');
    }
    calm();
    is(call(create => %hidden_ours, sentAt => now_ms() - 16 * 60_000)->{class}, 'was so already',
        'until it is seen');
    is($cloud->counters->{createdByMarker}{ $hidden_ours{marker} }, 1, 'made once');
    # Renamed by hand before we saw it.
    my %renamed = person();
    fault({ method => '^POST$', path => '^/users$', do => 'reset', when => 'after', count => 1 },
        { method => '^GET$', path => '^/users/', do => 'status', status => 503, count => 4 });
    call(create => %renamed);
    fault();
    $cloud->control(change => { key => $renamed{upn},
        properties => { userPrincipalName => "other.name\@$domain", mail => "other.name\@$domain",
        proxyAddresses => ["SMTP:other.name\@$domain"] } });
    my $found = call(create => %renamed, sentAt => now_ms() - 1000);
    is($found->{class}, 'was so already',
        'an account of ours under another name is found by its marker') or diag $found->{message};
    is($found->{user}{upn}, "other.name\@$domain", 'as it is called now');
    is($cloud->counters->{createdByMarker}{ $renamed{marker} }, 1, 'made once');
    # Another account took the name a moment ago and is not visible either. Nothing of ours was
    # sent: a conflict, which says that no account was seen.
    my %other = person();
    $cloud->control(create => { type => 'user',
        properties => { userPrincipalName => $other{upn}, displayName => 'Somebody',
        mailNickname => 'x', accountEnabled => JSON::PP::true() } });
    late(read => 600_000);
    my $conflict = call(create => %other);
    is("$conflict->{class} $conflict->{field}", 'name or value taken upn',
        'a name taken by an invisible account');
    ok($conflict->{unseen}, 'says so');
    is(call(create => %other, sentAt => now_ms() - 1000)->{class}, 'not visible yet',
        'it may be ours when something was sent before: wait');
    late();
    my $seen = call(create => %other, sentAt => now_ms() - 1000);
    is("$seen->{class} $seen->{field}", 'name or value taken upn',
        'until it is seen that it is not ours');
    ok(!$seen->{unseen}, 'which is told');
    calm();
    $cloud->control(create => { type => 'orgContact',
        properties => { displayName => 'Contact',
        proxyAddresses => ["SMTP:hidden.one\@$domain"] } });
    my %hidden = person(upn => "hidden.one\@$domain");
    my $contact = call(create => %hidden);
    ok($contact->{class} eq 'name or value taken' && $contact->{unseen},
        'the address of something that is never shown');
    is(call(create => %hidden, sentAt => now_ms() - 16 * 60_000)->{class}, 'answer lost',
        'may be ours for ever, once something was sent');
};

subtest 'create: refused for good' => sub {
    my $answer = call(create => person(upn => 'asa@elsewhere.example'));
    is($answer->{class}, 'value refused', 'a domain that is not of this directory');
    like($answer->{message}, qr/domain/i, 'says so');
    $cloud->control(revoke => ['User.ReadWrite.All']);
    $answer = call(create => person());
    is($answer->{class}, 'not allowed to the service account', 'a permission is missing');
    like($answer->{message}, qr/User\.ReadWrite\.All/, 'and is named');
    $cloud->control(grant => ['User.ReadWrite.All']);
};

subtest 'find' => sub {
    my $found = call(find => upn => "karin.hedlund\@$domain");
    is($found->{class}, 'ok', 'by UPN');
    is($found->{user}{displayName}, 'Karin Hedlund', 'the person');
    is(call(find => id => $found->{user}{id})->{user}{upn}, "karin.hedlund\@$domain", 'by ID');
    is(call(find => upn => "nobody.here\@$domain")->{class}, 'not found', 'nobody');
    my $guest = call(find => upn => "partner_other.example#EXT#\@$domain");
    is($guest->{class}, 'ok', 'a guest, whose UPN has to be encoded');
    ok($guest->{user}{guest}, 'is one');
    is_deeply([sort @{ call(find => upn => "eva.berg\@$domain")->{user}{addresses} }],
        ["ceo\@$domain", "eva.berg\@$domain"], 'all addresses');
    fault({ method => '^GET$', do => 'reset', count => 1 });
    is(call(find => upn => "bo.ek\@$domain")->{class}, 'ok', 'a lost answer is asked for again');
    fault({ method => '^GET$', path => '^/users/', do => 'status', status => 404,
        error => { code => 'Request_ResourceNotFound' }, count => 1 });
    is(call(find => upn => "bo.ek\@$domain")->{class}, 'ok', 'one 404 alone is not believed');
    calm();
};

subtest 'manager' => sub {
    my $id = call(create => person())->{user}{id};
    my $answer = call(setManager => id => $id, manager => "anna.lind\@$domain");
    is($answer->{class}, 'ok', 'set');
    is($answer->{managerId}, id_of("anna.lind\@$domain"), 'whose ID is told');
    is($cloud->user($id)->{manager}, "anna.lind\@$domain", 'in the directory');
    is(call(setManager => id => $id, manager => "anna.lind\@$domain")->{class}, 'ok', 'again');
    my $missing = call(setManager => id => $id, manager => "nobody.here\@$domain");
    is("$missing->{class} $missing->{field}", 'not found manager', 'a manager who is not there');
    my $gone = call(setManager => id => '00000000-0000-4000-8000-000000000000',
        manager => "anna.lind\@$domain");
    is($gone->{class}, 'not found', 'a user who is not there');
    is($gone->{field}, undef, 'is not the manager');
    for my $when ('before', 'after') {
        fault({ method => '^PUT$', path => 'manager', do => 'reset', when => $when, count => 1 });
        is(call(setManager => id => $id, manager => "bo.ek\@$domain")->{class}, 'ok',
            "lost $when the effect: done");
    }
    is(call(setManager => id => $id)->{class}, 'ok', 'cleared');
    is($cloud->user($id)->{manager}, undef, 'in the directory');
    is(call(setManager => id => $id)->{class}, 'was so already', 'again');
    call(setManager => id => $id, manager => "bo.ek\@$domain");
    fault({ method => '^DELETE$', path => 'manager', do => 'reset', when => 'after', count => 1 });
    like(call(setManager => id => $id)->{class}, qr/^(?:ok|was so already)$/,
        'a lost answer: done');
    is($cloud->user($id)->{manager}, undef, 'in the directory');
    is(call(setManager => id => '00000000-0000-4000-8000-000000000000')->{class}, 'not found',
        'an unknown user has no manager either');
    late(read => 600_000);
    my $fresh = call(create => person())->{user}{id};
    my %classes = map { call(setManager => id => $fresh,
        manager => "bo.ek\@$domain")->{class} => 1 } 1 .. 3;
    is_deeply([grep { !/^(?:not found|not visible yet)$/ } keys %classes], [],
        'a user of a moment ago: not found or not visible');
    calm();
};

subtest 'reports' => sub {
    my $boss = call(create => person())->{user}{id};
    my $alone = call(reports => id => $boss);
    is_deeply([$alone->{class}, $alone->{ids}], ['ok', []], 'nobody');
    my @team = map { call(create => person())->{user}{id} } 1 .. 3;
    call(setManager => id => $_, manager => $cloud->user($boss)->{userPrincipalName}) for @team;
    fault({ method => '^GET$', path => 'directReports', do => 'reset', count => 1 });
    is_deeply([sort @{ call(reports => id => $boss)->{ids} }], [sort @team],
        'three, though the first answer was lost');
    calm();
    is(call(reports => id => '00000000-0000-4000-8000-000000000000')->{class}, 'not found',
        'of one who is not there');
};

subtest 'new values' => sub {
    my %p = person(jobTitle => 'Säljare', office => 'Malmö 3', country => 'SE');
    my $id = call(create => %p)->{user}{id};
    my %new = (firstname => 'Åsa-Maria', surname => 'Öst', displayName => 'Åsa-Maria Öst',
        jobTitle => 'Chef', department => 'Sales', company => 'Acme AB', city => 'Lund',
        country => 'DK',
        streetAddress => 'Torget 2', postalCode => '222 22', preferredLanguage => 'da-DK',
        employeeId => 'E2', office => undef);
    my $answer = call(update => id => $id, values => \%new);
    is($answer->{class}, 'ok', 'changed') or diag $answer->{message};
    my $user = $cloud->user($id);
    my %want = (givenName => 'Åsa-Maria', surname => 'Öst', displayName => 'Åsa-Maria Öst',
        jobTitle => 'Chef', department => 'Sales', companyName => 'Acme AB', city => 'Lund',
        country => 'DK', usageLocation => 'DK',
        streetAddress => 'Torget 2', postalCode => '222 22', preferredLanguage => 'da-DK',
        employeeId => 'E2', officeLocation => undef, userPrincipalName => $p{upn});
    is_deeply({ map { $_ => $user->{$_} } keys %want }, \%want,
        'every property, one cleared, the UPN as it was');
    is($user->{onPremisesExtensionAttributes}{extensionAttribute15}, $p{marker},
        'the marker stands');
    is_deeply([@{ $answer->{user} }{qw(displayName department company office employeeId enabled)}],
        ['Åsa-Maria Öst', 'Sales', 'Acme AB', undef, 'E2', $answer->{user}{enabled}],
        'the cache is told');
    is(call(update => id => $id, values => \%new)->{class}, 'was so already', 'again');
    is(call(update => id => $id, values => { country => undef, middleName => undef })->{class},
        'ok', 'a country cleared');
    is_deeply([@{ $cloud->user($id) }{qw(country usageLocation)}], [undef, 'DK'],
        'licences keep their place');
    is(call(update => id => $id, values => { country => 'Kingdom of Sweden' })->{class}, 'ok',
        'a country in words');
    is($cloud->user($id)->{usageLocation}, 'DK', 'is no place of use');
    for my $enabled (0, 1) {
        my $state = $enabled ? JSON::PP::true() : JSON::PP::false();
        is(call(update => id => $id, values => {}, enabled => $state)->{class}, 'ok', $enabled
            ? 'enabled' : 'disabled');
        is($cloud->user($id)->{accountEnabled} ? 1 : 0, $enabled, 'in the directory');
    }
    my $none = call(update => id => $id, values => { middleName => 'Maria' });
    is("$none->{class} $none->{field}", 'value refused middleName',
        'what has no place is refused by name');
    my $empty = call(update => id => $id, values => { displayName => undef });
    is("$empty->{class} $empty->{field}", 'value refused displayName',
        'a display name cannot be empty');
    my $long = call(update => id => $id, values => { department => 'x' x 65 });
    is("$long->{class} $long->{field}", 'value refused department',
        'the directory\'s refusal by our name');
    for my $when ('before', 'after') {
        fault({ method => '^PATCH$', do => 'reset', when => $when, count => 1 });
        is(call(update => id => $id, values => { department => "Lost $when" })->{class}, 'ok',
            "lost $when the effect: done");
        is($cloud->user($id)->{department}, "Lost $when", 'in the directory');
    }
    fault({ method => '^PATCH$', do => 'status', status => 503, count => 50 });
    is(call(update => id => $id, values => { department => 'Storm' })->{class}, 'answer lost',
        'a storm: not reported as done');
    calm();
    late(read => 60_000);
    is(call(update => id => id_of("per.lundin\@$domain"),
        values => { department => 'Late' })->{class}, 'ok',
        'a write is final, whatever late replicas show');
    calm();
    my $synced = call(update => id => id_of("syn.kad\@$domain"), values => { department => 'X' });
    is($synced->{class}, 'mastered in another directory',
        'an account of the on-premises directory');
    like($synced->{message}, qr/change it on-premises/, 'is to be changed there');
    is(call(update => id => '00000000-0000-4000-8000-000000000000',
        values => { department => 'X' })->{class}, 'not found', 'nobody');
};

subtest 'a new password' => sub {
    my $id = call(create => person())->{user}{id};
    my $password = 'Another-Passw0rd-of-24-ch';
    is(call(setPassword => id => $id, password => $password)->{class}, 'ok', 'set');
    my $user = $cloud->user($id);
    is_deeply([@$user{qw(passwords mustChange)}], [1, 1],
        'in the directory, to be changed at the next sign-in');
    ok((grep { $_ eq $password } @{ $cloud->secrets->{password} }), 'the one that was told');
    fault({ method => '^PATCH$', do => 'reset', when => 'after', count => 1 });
    is(call(setPassword => id => $id, password => $password)->{class}, 'ok', 'a lost answer: set');
    calm();
    $cloud->control(settings => { banPasswords => 1 });
    my $banned = call(setPassword => id => $id, password => $password);
    is("$banned->{class} $banned->{field}", 'value refused password', 'one that is refused');
    unlike($banned->{message}, qr/\Q$password\E/, 'is not in the message');
    calm();
    is(call(setPassword => id => '00000000-0000-4000-8000-000000000000',
        password => $password)->{class}, 'not found', 'nobody');
    my $admin = call(setPassword => id => id_of("scoped.admin\@$domain"), password => $password);
    is($admin->{class}, 'not allowed to the service account',
        'an administrator of a unit, whose role no list of memberships shows');
    like($admin->{message}, qr/User-PasswordProfile\.ReadWrite\.All.*directory role/,
        'what it needs');
};

subtest 'photo' => sub {
    my $id = call(create => person())->{user}{id};
    my $photo = Idadmin::Test::Photo::jpeg(20_000);
    my %put = (id => $id, photo => MIME::Base64::encode_base64($photo, ''));
    is(call(setPhoto => %put)->{class}, 'ok', 'set');
    is($cloud->api(GET => "/users/$id/photo/\$value")->{body}, $photo, 'byte for byte');
    $cloud->control(settings => { photoStatus => 204 });
    is(call(setPhoto => %put)->{class}, 'ok', '204 is as good');
    fault({ method => '^PUT$', path => 'photo', do => 'reset', when => 'after', count => 1 });
    is(call(setPhoto => %put)->{class}, 'ok', 'lost: sent again');
    $cloud->control(settings => { photoNeedsMailbox => 1 },
        change => { key => $id, properties => { mail => undef } });
    is(call(setPhoto => %put)->{class}, 'not visible yet', 'no mailbox yet: wait');
    calm();
    my $large = call(setPhoto => id => $id,
        photo => MIME::Base64::encode_base64(Idadmin::Test::Photo::jpeg(200_000), ''));
    is("$large->{class} $large->{field}", 'value refused profilePhoto',
        'too large for a user without a mailbox');
};

subtest 'disable and sessions' => sub {
    my $id = id_of("carin.sjoberg\@$domain");
    my $answer = call(disable => id => $id);
    is($answer->{class}, 'ok', 'disabled');
    ok(!$answer->{user}{enabled}, 'and said so');
    ok(!$cloud->user($id)->{accountEnabled}, 'in the directory');
    is(call(disable => id => $id)->{class}, 'was so already', 'again');
    for my $when ('before', 'after') {
        my $other = id_of($when eq 'before' ? "david.holm\@$domain" : "elin.strand\@$domain");
        fault({ method => '^PATCH$', do => 'reset', when => $when, count => 1 });
        is(call(disable => id => $other)->{class}, 'ok', "lost $when the effect: done");
        ok(!$cloud->user($other)->{accountEnabled}, 'in the directory');
    }
    my $storm = id_of("greta.dahl\@$domain");
    fault({ method => '^PATCH$', do => 'status', status => 503, count => 50 });
    is(call(disable => id => $storm)->{class}, 'answer lost', 'a storm: not reported as done');
    ok($cloud->user($storm)->{accountEnabled}, 'it was not');
    calm();
    is(call(disable => id => '00000000-0000-4000-8000-000000000000')->{class}, 'not found',
        'nobody');
    my $synced = call(disable => id => id_of("syn.kad\@$domain"));
    is($synced->{class}, 'mastered in another directory',
        'an account of the on-premises directory');
    like($synced->{message}, qr/disable it on-premises/, 'is to be disabled there');
    my $admin = call(disable => id => id_of("scoped.admin\@$domain"));
    is($admin->{class}, 'not allowed to the service account', 'an administrator of a unit');
    like($admin->{message}, qr/directory role/, 'needs a role');
    late(read => 60_000);
    my $stale = call(disable => id => id_of("ida.wall\@$domain"));
    is($stale->{class}, 'ok', 'a write is final, whatever late replicas show');
    calm();
    is(call(revokeSessions => id => $id)->{class}, 'ok', 'sessions revoked');
    is($cloud->user($id)->{revoked}, 1, 'in the directory');
    $cloud->control(settings => { revokeStatus => 204 });
    is(call(revokeSessions => id => $id)->{class}, 'ok', '204 is as good');
    $cloud->control(revoke => ['User.RevokeSessions.All', 'User.ReadWrite.All']);
    like(call(revokeSessions => id => $id)->{message}, qr/User\.RevokeSessions\.All/,
        'a missing permission is named');
    $cloud->control(grant => ['User.RevokeSessions.All', 'User.ReadWrite.All']);
};

# Every change of an account that is never changed, and what it would have come to.
subtest 'guarded accounts' => sub {
    my %id = map { ($_ => id_of("$_\@$domain")) } qw(root.admin eva.berg johan.asberg rut.sandell
        greta.dahl);
    my ($staff, $sales, $unit) = map { $cloud->group($_)->{id} } 'All staff', 'Sales team',
        'Stockholm';
    $cloud->control(create => { type => 'group',
        properties => { displayName => 'Help desk', groupTypes => [],
        securityEnabled => JSON::PP::true(), mailEnabled => JSON::PP::false(),
        isAssignableToRole => JSON::PP::true() }, members => [$id{'johan.asberg'}] });
    $cloud->control(member => { group => 'User Administrator',
        object => $cloud->group('Help desk')->{id}, in => 1 });
    stop_tool();
    start_tool(protectedAccounts => ["EVA.Berg\@$domain", uc $id{'rut.sandell'}]);
    my $role =
        qr/holds\ the\ directory\ role\ User\ Administrator:\ accounts\ of\ administrators\ are
            \ never\ changed/x;
    for my $case (['root.admin', $role], ['johan.asberg', $role],
        ['eva.berg', qr/EVA\.Berg\S+ is one of protectedAccounts: it is never changed/],
        ['rut.sandell', qr/is one of protectedAccounts/]) {
        my ($name, $why) = @$case;
        my $id = $id{$name};
        my $before = json_text($cloud->user($id));
        for my $change ([disable => ()], [revokeSessions => ()],
            [update => values => { jobTitle => 'x' }],
            [update => values => {}, enabled => JSON::PP::true()],
            [setManager => manager => "bo.ek\@$domain"], [setManager => manager => undef],
            [setPhoto => photo => MIME::Base64::encode_base64(Idadmin::Test::Photo::jpeg(2000),
            '')], [setPassword => password => 'An0ther-Passw0rd-of-24'],
            [removeMember => group => $staff], [setLicenses => add => ['EMS'], remove => ['*']]) {
            my ($call, %arguments) = @$change;
            my $answer = call($call => id => $id, %arguments);
            is($answer->{class}, 'protected account', "$name: $call is refused");
            like($answer->{message}, $why, 'with the reason');
        }
        my $added = call(addMembers => group => $sales, ids => [$id, $id{'greta.dahl'}]);
        is_deeply($added->{each},
            ['protected account', $name eq 'root.admin' ? 'ok' : 'was so already'],
            "$name: put into no group, who came along is");
        like($added->{message}, $why, 'with the reason');
        is(json_text($cloud->user($id)), $before, "$name is as before");
    }
    is(call(disable => id => id_of("bo.ek\@$domain"))->{class}, 'ok', 'others are changed');
    $cloud->control(faults => { path => '/transitiveMemberOf', do => 'status', status => 403,
        error => { code => 'Authorization_RequestDenied', message => 'no' } });
    my $unknown = call(disable => id => $id{'greta.dahl'});
    is($unknown->{class}, 'not allowed to the service account',
        'who cannot be looked at is not changed');
    like($unknown->{message}, qr/GroupMember\.Read\.All/, 'and the permission is named');
    calm();
    ok($cloud->user($id{'greta.dahl'})->{accountEnabled}, 'really');
    stop_tool();
    start_tool();
};

stop_tool();
$cloud->stop;

done_testing();
