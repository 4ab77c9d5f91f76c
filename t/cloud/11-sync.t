# The synchronisation of the cloud directory makes the cache equal to what the API shows: after
# changes of every kind, lost tokens, faulty pages and killed workers.
# Parameters: rounds (12) of random changes, seed (66).
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_text on_one_engine parameter within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Fault ();
use Idadmin::Test::Mirror qw(all_of cache_of cloud_truth same_in_both);
use Idadmin::Test::Stack ();
use POSIX ();
use Time::HiRes qw(sleep);

my $domain = $Idadmin::Test::Cloud::domain;
my ($stack, $cloud, $engine, $device);

# -- both sides

sub cached { return cache_of($stack, 'cloud') }
sub same   { my ($name) = @_; return same_in_both(cloud_truth($cloud), cached(), $name) }

# -- syncs

sub once { return $stack->new_worker(start => 0, @_)->run('--once') }

sub synced {
    my ($name, %how) = @_;
    my $run = once(%how);
    is($run->{exit}, 0, "$name: synced") or diag($run->{out}, $run->{err});
    return $run;
}

sub state_of {
    my ($row) =
    $stack->sql("SELECT tokens, completed_at, full_at, sign_ins, error FROM cache.sync_state "
    . "WHERE directory = 'cloud'"); return @$row }
sub full_at  { return (state_of())[2] }

sub id_of { my ($key) = @_; return $cloud->user($key)->{id} }
sub call  { my ($method, $target, @more) = @_; my $answer = $cloud->api($method, $target, @more);
    die "$method $target: $answer->{status} $answer->{body}\n"
    if $answer->{status} >= 300; return $answer }

sub first {
    synced('first');
    same('first');
    my ($tokens, $completed, $full, $sign_ins) = state_of();
    like($tokens, qr/deltatoken/, 'the links of the next round are kept');
    is($sign_ins, 1, 'sign-ins are known');
    my ($sten) =
        $stack->sql("SELECT last_success_at, last_sign_in_at, last_noninteractive_at FROM "
        . "cache.directory_user WHERE upn = 'sten.vik\@$domain'");
    ok((grep { abs($_ / 1000 - (time - 200 * 86400)) < 90000 } @$sten) == 3,
        'all three times of a sign-in 200 days ago') or diag("@$sten");
    my ($tove) =
        $stack->sql("SELECT last_success_at FROM cache.directory_user WHERE upn = "
        . "'tove.ahlgren\@$domain'");
    is($tove->[0], 0, 'and 0 for a person who never signed in');
    my $before = $cloud->counters->{requests};
    synced('nothing new');
    my $after = $cloud->counters->{requests};
    is($after->{$_}{200} - ($before->{$_}{200} // 0), 1, "$_ is asked once")
        for 'GET /users/delta', 'GET /groups/delta';
    is($after->{'GET /users'}{200}, $before->{'GET /users'}{200},
        'sign-in activity is not read in every round');
}

sub changes {
    my $eva = id_of("eva.berg\@$domain");
    $cloud->control(create => [{
        properties => { userPrincipalName => "new.one\@$domain", displayName => 'Néw "One" 😀',
        accountEnabled => JSON::PP::true, givenName => 'New',
        proxyAddresses => ["SMTP:new.one\@$domain", "smtp:alias\@$domain", 'X500:/o=x'] },
        memberOf => ['Finance'], manager => "eva.berg\@$domain" }]);
    $cloud->control(change => { key => "bo.ek\@$domain",
        properties => { displayName => 'Bo Ekström', department => undef, jobTitle => 'Chief' } });
    $cloud->control(change => { key => "carin.sjoberg\@$domain",
        properties => { userPrincipalName => "carin.ny\@$domain" } });
    call(PATCH => '/users/' . id_of("david.holm\@$domain"),
        json => { accountEnabled => JSON::PP::false });
    call(PUT => '/users/' . id_of("elin.strand\@$domain") . '/manager/$ref',
        json => { '@odata.id' => $cloud->url . "/users/$eva" });
    call(DELETE => '/users/' . id_of("greta.dahl\@$domain") . '/manager/$ref');
    call(POST => '/users/' . id_of("ida.wall\@$domain") . '/assignLicense',
        json => { addLicenses =>
        [{ skuId => 'efccb6f7-5641-4e0e-bd10-b4976e1bf68e', disabledPlans => [] }],
        removeLicenses => [] });
    call(DELETE => '/users/' . id_of("henrik.falk\@$domain"));
    $cloud->control(member => { group => 'CRM admins', object => "per.lundin\@$domain", in => 1 });
    $cloud->control(member => { group => 'CRM admins', object => "anna.lind\@$domain", in => 0 });
    # which carries a licence
    $cloud->control(member => { group => 'Mobile staff', object => "filip.nyman\@$domain",
        in => 1 });
    $cloud->control(change => { key => 'Empty',
        properties => { displayName => 'Was empty', description => 'x' } });
    $cloud->control(create => [{ type => 'group',
        properties => { displayName => 'New group', securityEnabled => JSON::PP::true,
        mailEnabled => JSON::PP::false, groupTypes => [] },
        members => ["rut.sandell\@$domain", 'Finance'] }]);
    my $full = full_at();
    synced('changes');
    same('changes');
    is(full_at(), $full, 'by a round of changes');
    my ($eva_seen) =
        $stack->sql("SELECT last_success_at FROM cache.directory_user WHERE upn = "
        . "'bo.ek\@$domain'");
    cmp_ok($eva_seen->[0], '>', 0, 'sign-in times outlive a change of the user');
}

# Memberships of a restored person are not reported: no group has changed.
sub restored {
    my $id = id_of("karin.hedlund\@$domain");
    my $boss = id_of("johan.asberg\@$domain");
    call(DELETE => "/users/$_") for $id, $boss;
    synced('deleted');
    same('deleted');
    call(POST => "/directory/deletedItems/$_/restore") for $id, $boss;
    synced('restored');
    same('restored');
    # Gone once more when their memberships are asked for, and back before the next round.
    call(DELETE => "/users/$id");
    synced('deleted again');
    call(POST => "/directory/deletedItems/$id/restore");
    $cloud->control(faults => { path => "^/users/$id/memberOf", do => 'status', status => 404,
        count => 1, error => { code => 'Request_ResourceNotFound', message => 'gone' } });
    synced('restored, not found');
    synced('restored, found');
    same('restored, found');
    my $group = $cloud->group('Engineering')->{id};
    $cloud->control(change => { key => 'Engineering', properties => { _deleted => 1 } });
    synced('group deleted');
    same('group deleted');
    $cloud->control(change => { key => $group,
        properties => { _deleted => 0, displayName => 'Engineering again' } });
    synced('group restored');
    same('group restored');
}

# A run that was killed when it had written its users and nothing else: the next one begins where
# that one began, and knows them already.
sub broken_off {
    my ($id, $boss) = map { id_of("$_\@$domain") } qw(karin.hedlund johan.asberg);
    call(DELETE => "/users/$_") for $id, $boss;
    synced('deleted once more');
    my ($tokens) = state_of();
    call(POST => "/directory/deletedItems/$_/restore") for $id, $boss;
    synced('restored by a run that is taken for broken off');
    my $memberships =
        "FROM cache.membership WHERE (tenant_id, member_no) IN (SELECT tenant_id, no FROM "
        . "cache.entry WHERE id = '$id')";
    $stack->sql("UPDATE cache.directory_group SET member_count = member_count - 1 WHERE "
        . "(tenant_id, no) IN (SELECT tenant_id, group_no $memberships)");
    $stack->sql("DELETE $memberships");
    $stack->sql("UPDATE cache.directory_user SET manager_id = NULL WHERE manager_id = '$boss'");
    $stack->sql("UPDATE cache.sync_state SET tokens = '$tokens' WHERE directory = 'cloud'");
    synced('after a run that broke off');
    same('after a run that broke off');
}

sub lost_tokens {
    my $rut = id_of("rut.sandell\@$domain");
    for my $how (qw(resyncRequired syncStateNotFound)) {
        my $full = full_at();
        $cloud->control(settings => { deltaExpiry => $how }, expireDeltaLinks => JSON::PP::true);
        $cloud->control(remove => $_)
            for "rut.sandell\@$domain", $how eq 'resyncRequired' ? "sten.vik\@$domain" : ();
        sleep 0.01;
        synced("expired links: $how");
        cmp_ok(full_at(), '>', $full, 'everything was read');
        same($how);
        $cloud->control(settings => { deltaExpiry => 'resyncRequired' });
        call(POST => "/directory/deletedItems/$rut/restore");
    }
    # A late list of deleted people contains a restored one: the stream of users says otherwise, and
    # has the last word.
    $cloud->control(expireDeltaLinks => JSON::PP::true,
        faults => { path => '^/directory/deletedItems', do => 'status', status => 200, count => 1,
        body => json_text({ value => [{ id => $rut }] }) });
    synced('a late list of the deleted');
    same('a late list of the deleted');
    my $full = full_at();
    my ($tokens) = state_of();
    $stack->sql("UPDATE cache.sync_state SET tokens = "
        . q('{"users":"https://elsewhere.example/x","groups":"https://elsewhere.example/y"}')
        . " WHERE directory = 'cloud'");
    my $run = once();
    is($run->{exit}, 1, 'a link to another host is not followed');
    like($run->{out} . $run->{err}, qr/elsewhere\.example.*not followed/, 'and says so');
    $stack->ctl_ok('cache', 'reset', 'acme');
    synced('after a reset');
    same('after a reset');
}

# Whatever comes instead of a page: the cache stays unchanged, or the second attempt gets the page.
sub faulty_pages {
    my $before = cached();
    $cloud->control(change => { key => "filip.nyman\@$domain",
        properties => { jobTitle => 'Changed' } });
    $cloud->control(member => { group => 'CRM admins', object => "tove.ahlgren\@$domain",
        in => 1 });
    for my $fault ({ do => 'truncate' }, { do => 'badJson' }, { do => 'html' }, { do => 'reset' },
        { do => 'status', status => 503 }, { do => 'truncateReset' }) {
        my $what = $fault->{do};
        $cloud->control(faults => { path => '^/groups/delta', when => $what =~ /truncate/ ? 'after'
            : 'before', %$fault });
        my $run = once();
        is($run->{exit}, 1, "$what: the sync fails");
        is_deeply(cached(), $before, "$what: nothing is touched");
        $cloud->control(clearFaults => JSON::PP::true);
    }
    $cloud->control(faults => [{ path => '^/users/delta', do => 'truncate', when => 'after',
        count => 1 }, { path => '^/groups/delta', do => 'status', status => 503, count => 1 }]);
    synced('a page cut off once, another refused once');
    same('a page cut off once, another refused once');
    $cloud->control(faults => { path => '^/users/delta', do => 'status', status => 429,
        retryAfter => 17, scope => 'Tenant_Application/ReadWrite/a/t',
        error => { code => 'TooManyRequests', message => 'slow' } });
    my $before_run = time;
    my $run = once();
    is($run->{exit}, 1, '429: the sync fails');
    $cloud->control(clearFaults => JSON::PP::true);
    my ($held) =
        $stack->sql("SELECT hold_until, hold_reason FROM directory_state WHERE directory = "
        . "'cloud'");
    ok($held && $held->[0] >= ($before_run + 17) * 1000, '429: the directory is held')
        or diag(json_text($held));
    $cloud->control(settings => { emptyEvery => 2 });
    synced('empty pages between');
    same('empty pages between');
    $cloud->control(settings => { emptyEvery => 0 });
}

sub guard {
    my @gone = map { $_->{id} } grep { $_->{userPrincipalName} =~ /^guard/ }
        all_of($cloud, '/users?$top=999&$select=id,userPrincipalName');
    is(scalar @gone, 0, 'nobody yet');
    $cloud->control(create => [map {
        { properties => { userPrincipalName => "guard$_\@$domain",
        displayName => "Guard $_" } } } 1 .. 60]);
    synced('sixty more');
    call(DELETE => '/users/' . id_of("guard$_\@$domain")) for 1 .. 40;
    my $before = cached();
    my $run = once();
    is($run->{exit}, 1, 'forty deletions stop the sync');
    like($run->{out} . $run->{err}, qr/IDA0502/, 'with the reason');
    is_deeply(cached(), $before, 'the cache is as it was');
    call(DELETE => '/users/' . id_of("guard$_\@$domain")) for 41 .. 60;
    my $worker = $stack->new_worker;
    my $accepted;
    ok(within(sub { $accepted = $stack->ctl('sync', 'acme', '--wait', '--accept-deletions');
        $accepted->{exit} == 0 }), 'until the deletions are accepted') or diag($accepted->{err});
    $worker->stop;
    same('accepted');
}

sub sign_ins {
    my $sten = id_of("tove.ahlgren\@$domain");
    my $again = sub {
        $stack->sql("UPDATE cache.sync_state SET tokens = replace(tokens, '\"completedAt\":', "
        . "'\"completedAt\":1,\"was\":') WHERE directory = 'cloud'") };
    for my $case (['no licence', sub { $cloud->control(settings => { signIn => 'noLicense' }) },
        sub { $cloud->control(settings => { signIn => 'ok' }) }],
        ['no permission', sub { $cloud->control(revoke => 'AuditLog.Read.All') },
        sub { $cloud->control(grant => 'AuditLog.Read.All') }]) {
        my ($name, $break, $mend) = @$case;
        $break->();
        $again->();
        $cloud->control(change => { key => "filip.nyman\@$domain",
            properties => { jobTitle => $name } });
        my $run = synced($name);
        like($run->{out} . $run->{err}, qr/IDA0480/, "$name: said");
        same("$name: the rest goes on");
        is((state_of())[3], 0, "$name: sign-ins are not known");
        my $next = synced("$name, next round");
        unlike($next->{out} . $next->{err}, qr/IDA0480/, "$name: said once");
        $mend->();
        $stack->sql("UPDATE cache.sync_state SET tokens = replace(tokens, '\"notBefore\":', "
            . "'\"notBefore\":0,\"was\":') WHERE directory = 'cloud'");
        synced("$name no more");
        is((state_of())[3], 1, "$name no more: they are known again");
    }
    # More pages than the limit lets through at once: the rest comes in later rounds, and until then
    # nothing is claimed. The worker's window of 11 s is over in half the
    # time.
    my $speed = 2;    # what the store may keep it waiting is shorter as well
    my $fault = Idadmin::Test::Fault->faster('idadmin-worker', $speed,
        'requests are counted in the time of the worker that sends them');
    my $unsent = sub {
        $stack->sql("UPDATE cache.sync_state SET tokens = replace(tokens, '\"sent\":[', "
        . "'\"sent\":[0,0,0,0,0],\"were\":[') WHERE directory = 'cloud'") };
    $cloud->control(settings => { signInPage => 2 }, resetCounters => JSON::PP::true());
    $again->();
    $unsent->();
    my $start = Time::HiRes::time();
    synced('a slow pass', env => $fault->env);
    my $took = $speed * (Time::HiRes::time() - $start);
    cmp_ok($cloud->requests('GET /users'), '>', 5, 'it goes on after a wait');
    cmp_ok($cloud->requests('GET /users'), '<=', 5 * (1 + int($took / 10)),
        'never more than 5 requests in 10 s');
    like((state_of())[0], qr/"next":"/, 'and where it stopped is kept');
    $cloud->control(settings => { signInPage => 500 });
    $unsent->();    # the rest need not wait
}

# A late replica reports too little; the rest comes in a later round.
sub lag {
    $cloud->control(settings => { lag => { delta => 600_000, share => 1 } });
    $cloud->control(change => { key => "filip.nyman\@$domain",
        properties => { jobTitle => 'Seen late' } });
    $cloud->control(create => [{
        properties => { userPrincipalName => "late.one\@$domain", displayName => 'Late One',
        accountEnabled => JSON::PP::true }, memberOf => ['Finance'] }]);
    synced('before it shows');
    ok(!(grep {
        $_->[0] } $stack->sql("SELECT count(*) FROM cache.directory_user WHERE upn = "
        . "'late.one\@$domain'")), 'a late replica shows no new account');
    $cloud->control(settings => { lag => {} });
    synced('after it shows');
    ok($stack->sql("SELECT 1 FROM cache.directory_user WHERE upn = 'late.one\@$domain'"),
        'a later round does');
    same('after the lag');
}

# Random changes, rounds of changes and workers killed in the middle.
sub random_life {
    my ($rounds, $steps) = @_;
    my $seed = parameter(seed => 66);
    srand $seed;
    my $number = 0;
    # a round begins with what the one before had told
    $cloud->control(settings => { deltaReplay => 8 });
    my @random = (
        sub { my ($u) = @_; $cloud->control(change => { key => $u,
            properties => { displayName => 'Name ' . int rand 1000, department => rand() < 0.3
            ? undef : 'D' . int rand 9, city => 'C' . int rand 5 } }) },
        sub { my (undef, undef, $g) = @_;
        $cloud->control(member => { group => $g, object => $device, in => rand() < 0.7 ? 1 : 0 }) },
        sub { my ($u) = @_; $cloud->control(change => { key => $u,
        properties => { accountEnabled => rand() < 0.5 ? JSON::PP::true : JSON::PP::false } }) },
        sub { $number++; $cloud->control(create =>
        [{ properties => { userPrincipalName => "random$number\@$domain",
        displayName => "Random $number", accountEnabled => JSON::PP::true,
        createdDateTime => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime) } }]) },
        sub { my ($u, undef, $g) = @_;
        $cloud->control(member => { group => $g, object => $u, in => 1 }) for 1 .. 2 },
        sub { my ($u, undef, $g) = @_;
        $cloud->control(member => { group => $g, object => $u, in => 0 }) },
        sub { my ($u, $v) = @_;
        $u ne $v and $cloud->api(PUT => "/users/$u/manager/\$ref",
        json => { '@odata.id' => $cloud->url . "/users/$v" }) },
        sub { my ($u) = @_; $cloud->api(DELETE => "/users/$u/manager/\$ref") },
        sub { my ($u) = @_; $u ne id_of("eva.berg\@$domain")
        and $cloud->api(DELETE => "/users/$u") },
        sub { my @deleted = map { $_->{id} }
        all_of($cloud, '/directory/deletedItems/microsoft.graph.user?$select=id');
        @deleted and $cloud->api(POST =>
        "/directory/deletedItems/$deleted[rand @deleted]/restore") },
        sub { my ($u, undef, $g) = @_;
        $cloud->control(change => { key => $g,
        properties => { displayName => "Group " . int rand 10000 } }) },
        sub { my ($u) = @_; $cloud->api(POST => "/users/$u/assignLicense",
        json => { addLicenses =>
        [{ skuId => 'efccb6f7-5641-4e0e-bd10-b4976e1bf68e', disabledPlans => [] }],
        removeLicenses => [] }) },
        sub { my ($u) = @_; $cloud->api(POST => "/users/$u/assignLicense",
        json => { addLicenses => [],
        removeLicenses => ['efccb6f7-5641-4e0e-bd10-b4976e1bf68e'] }) },
    );
    for my $round (1 .. $rounds) {
        my @users  = map { $_->{id} } grep { $_->{userPrincipalName} !~ /root\.admin/ }
            all_of($cloud, '/users?$top=999&$select=id,userPrincipalName');
        my @groups = map { $_->{id} } all_of($cloud, '/groups?$top=999&$select=id');
        for (1 .. $steps) {
            my ($u, $v, $g) = ($users[rand @users], $users[rand @users], $groups[rand @groups]);
            next if $cloud->user($u)->{deleted} || $cloud->user($v)->{deleted};
            $random[rand @random]->($u, $v, $g);
        }
        $cloud->control(expireDeltaLinks => JSON::PP::true) if $round % 4 == 0;
        if ($round % 3 == 0) {    # killed somewhere in a round, which the next one takes up
            $cloud->control(settings => { latencyMs => 20 });
            my $worker = $stack->new_worker;
            sleep 0.1 + rand 0.8;
            $worker->kill9;
            $cloud->control(settings => { latencyMs => 0 });
            $stack->sql("UPDATE directory_state SET sync_owner = NULL WHERE directory = 'cloud'");
        }
        synced("random round $round");
        next if same("random round $round (seed $seed)");
        diag("again by: IDADMIN_PARAMETERS='rounds=$rounds seed=$seed'");
        return;
    }
}

on_one_engine {
    ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine,
        cloud => { settings => { deltaUsers => 7, deltaMembers => 5 },
        directory => { syncInterval => '1s' } }, worker => 0, sync => 0, httpd => 0, tenant => {});
    $cloud = $stack->cloud;
    ($device) = map { $_->{id} }
        all_of($cloud, '/groups/' . $cloud->group('Devices')->{id} . '/members?$select=id');
    first();
    changes();
    lag();
    restored();
    broken_off();
    lost_tokens();
    faulty_pages();
    guard();
    sign_ins();
    random_life(parameter(rounds => 12), 12);
} 'rounds of the API make the same calls of the cache on both engines; t/unit/cache runs '
    . 'those, with crashes and the deletion guard, on both';

done_testing();
