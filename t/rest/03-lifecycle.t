# Changes of people and of queued tasks have the announced result in the directory: updates, dry
# runs, idempotency keys, rescheduled and cancelled tasks, people who return.
use strict;
use warnings;
use utf8;
use Test::More;
use Encode ();
use File::Temp ();
use Idadmin::Test
    qw(for_each_engine in_parallel json_data json_text run_command within);
use Idadmin::Test::Photo ();
use Idadmin::Test::Rest qw(about upn patch message refused done);
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall epoch outcomes step);

my $domain = $Idadmin::Test::Slapd::domain;
my ($stack, $engine);

sub user { my ($uid, $fields) = @_;
    return $stack->get('/v1/api/user?userPrincipalName=' . upn($uid)
    . "&fields=$fields")->{json}{data}{user} }
sub count_tasks { return $stack->get('/v1/api/tasks?limit=1')->{json}{data}{totalCount} }

sub updates {
    my $photo = Idadmin::Test::Photo::jpeg(5000);
    my $task = done(patch({ userPrincipalName => uc(upn('eva.berg')), surname => 'Bergström',
        jobTitle => 'Chief', city => 'Umeå', manager => upn('anna.lind'),
        profilePhoto => Idadmin::Test::Photo::base64($photo), shoeSize => 43, rehire => 'new' }),
        'new values are queued');
    is_deeply(outcomes($task),
        { updateAccount => 'done', setManager => 'done', setPhoto => 'done' }, 'each step is done');
    is($task->{type}, 'userUpdate', 'as an update');
    my $entry = $stack->slapd->user('eva.berg');
    my %want = (sn => 'Bergström', givenname => 'Eva', displayname => 'Eva Bergström',
        title => 'Chief', l => 'Umeå', manager => 'uid=anna.lind,ou=people,dc=nordic,dc=example',
        mail => upn('eva.berg'));
    is_deeply({ map { $_ => Encode::decode_utf8($entry->{$_}[0]) } keys %want }, \%want,
        'they are in the directory; the display name follows, the address stays');
    ok($entry->{jpegphoto}[0] eq $photo, 'the photo too');
    my $user = user('eva.berg', 'manager');
    is_deeply([@$user{qw(surname jobTitle)}, $user->{manager}{userPrincipalName}],
        ['Bergström', 'Chief', upn('anna.lind')], 'the look-up knows at once');

    $task = done(patch({ userPrincipalName => upn('eva.berg'), jobTitle => undef, city => ' ',
        manager => '', profilePhoto => undef }), 'values are cleared');
    is_deeply(outcomes($task),
        { updateAccount => 'done', setManager => 'done', setPhoto => 'done' }, 'done');
    $entry = $stack->slapd->user('eva.berg');
    is_deeply([map { $entry->{$_} } qw(title l manager jpegphoto)], [(undef) x 4],
        'and gone from the directory');
    is((user('eva.berg', 'manager')->{manager} || {})->{userPrincipalName}, undef,
        'and from the look-up');
    $task = done(patch({ userPrincipalName => upn('eva.berg'), jobTitle => '' }), 'once more');
    is_deeply(outcomes($task), { updateAccount => 'already' }, 'is so already');

    my $answer = patch({ userPrincipalName => upn('eva.berg'), department => 'Sales',
        rehire => 'new', date => (wall(time + 2 * 86_400))[0] });
    like(json_text($answer->{json}{data}{warnings}), qr/rehire/,
        'a member of creations is ignored and named');
    is($answer->{headers}{location}, "/v1/api/task?id=$answer->{json}{data}{taskId}",
        'Location names the task');
    is($stack->delete("/v1/api/task?id=$answer->{json}{data}{taskId}")->{status}, 200,
        'and it can be cancelled');

    refused(patch({ userPrincipalName => upn('eva.berg'), firstname => '', surname => undef }), 400,
        'BAD_REQUEST', qr/firstname: .*cleared.*surname: .*cleared/, 'names cannot be cleared');
    refused(patch({ userPrincipalName => upn('eva.berg'), mail => 'new@x.example' }), 400,
        'BAD_REQUEST', qr/mail: cannot be changed/, 'nor addresses changed');
    refused(patch({ userPrincipalName => upn('eva.berg'), accountEnabled => undef }), 400,
        'BAD_REQUEST', qr/accountEnabled: must be true or false/, 'enabled is yes or no');
    refused(patch({ userPrincipalName => upn('eva.berg') }), 400, 'BAD_REQUEST',
        qr/at least one new value/, 'an update of nothing');
    refused(patch({ userPrincipalName => upn('eva.berg'), jobtitle => 'Cook' }), 400, 'BAD_REQUEST',
        qr/^jobtitle: is not known: it is written "jobTitle"/,
        'of a member in other letters');
    refused(patch({ jobTitle => 'x' }), 400, 'BAD_REQUEST', qr/userPrincipalName: is required/,
        'of an unknown user');
    refused(patch({ userPrincipalName => upn('no.body'), jobTitle => 'x' }), 404, 'NOT_FOUND',
        qr/no\.body/, 'of an unknown person');
    refused(patch({ userPrincipalName => upn('eva.berg'), manager => upn('no.body') }), 400,
        'BAD_REQUEST', qr/manager: no user/, 'a manager must exist');
    refused(patch({ userPrincipalName => upn('eva.berg'), manager => upn('eva.berg') }), 400,
        'BAD_REQUEST', qr/own manager/, 'and be another person');
    refused(patch({ userPrincipalName => upn('eva.berg'), jobTitle => 'x' }, key => 'read'), 403,
        'FORBIDDEN', qr/read-only/, 'not with a read-only key');
    refused(patch({ userPrincipalName => upn('eva.berg'), jobTitle => 'x' },
        query => '?jobTitle=y'), 400, 'BAD_REQUEST', qr/no query parameter/,
        'values belong into the body');
}

# One after the other, earlier due first, however they were sent.
sub in_order {
    my ($date, $time) = wall(time + 86_400);
    my @late = map { $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => upn('nils.palm'), jobTitle => "Late $_", date => $date,
        time => $time })->{json}{data}{taskId} } 1, 2;
    my @ids = map { patch({ userPrincipalName => upn('nils.palm'), jobTitle => "Now $_",
        office => "Room $_" })->{json}{data}{taskId} } 1 .. 5;
    my @tasks = map { $stack->wait_task($_) } @ids;
    is(scalar(grep {
        epoch($tasks[$_]{startedAt}) < epoch($tasks[ $_ - 1 ]{finishedAt}) } 1 .. $#tasks), 0,
        'each begins when the one before has ended');
    is($stack->slapd->user('nils.palm')->{title}[0], 'Now 5', 'the last one holds');
    is_deeply([map { $stack->task($_)->{state} } @late], ['queued', 'queued'],
        'later ones wait for their minute');
    $stack->delete("/v1/api/task?id=$_") for @late;
}

sub seats {
    my $limit = $stack->ctl_ok('tenant', 'list', '--json')->[0]{enabledMembers};
    $stack->apply_tenant({ companyId => 'nordic', name => 'Nordic AB', upnDomain => $domain,
        seatLimit => $limit });
    ok(within(sub { $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'No', surname => 'Seat' })->{status} == 403 }), 'every seat is taken');
    my $person = upn('henrik.falk');
    is(outcomes(done(patch({ userPrincipalName => $person, accountEnabled => JSON::PP::false() }),
        'disabled'))->{updateAccount}, 'done', 'a seat is free');
    is($stack->slapd->bind_code('henrik.falk'), 49, 'no sign-in succeeds');
    my ($date, $time) = wall(time + 86_400);
    my $later = patch({ userPrincipalName => $person, accountEnabled => JSON::PP::true(),
        date => $date, time => $time });
    is($later->{status}, 200, 'enabling takes it when queued') or diag($later->{body});
    refused($stack->post('/v1/api/user', { firstname => 'No', surname => 'Seat' }), 403,
        'FORBIDDEN', qr/$limit of $limit/, 'no other gets it');
    is(patch({ userPrincipalName => $person, accountEnabled => JSON::PP::true(), date => $date,
        time => $time })->{status}, 200, 'nor is a second one taken for the same person');
    is($stack->delete('/v1/api/task?id=' . $_->{id})->{status}, 200, 'cancelled')
        for @{ $stack->get('/v1/api/tasks?state=queued&type=userUpdate')->{json}{data}{items} };
    my $filled = $stack->post('/v1/api/user', { firstname => 'Has', surname => 'Seat' });
    is($filled->{status}, 200, 'then it is free again');
    refused(patch({ userPrincipalName => $person, accountEnabled => JSON::PP::true() }), 403,
        'FORBIDDEN', qr/$limit of $limit/, 'and enabling is refused without one');
    $stack->wait_task($filled->{json}{data}{taskId});
    done($stack->delete('/v1/api/user',
        { userPrincipalName => $filled->{json}{data}{userPrincipalName}, time => '00:00' }),
        'a person leaves');
    is(outcomes(done(patch({ userPrincipalName => $person, accountEnabled => JSON::PP::true() }),
        'enabled'))->{updateAccount}, 'done', 'that frees one too');
    is($stack->slapd->bind_code('henrik.falk'), 0, 'and signs in');
    is($stack->ctl_ok('tenant', 'list', '--json')->[0]{seatsHeld}, 0,
        'no task holds a seat any more');
    $stack->apply_tenant({ companyId => 'nordic', name => 'Nordic AB', upnDomain => $domain,
        seatLimit => undef });
    ok(within(sub { $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'No', surname => 'Seat' })->{status} == 200 }), 'no limit any more');
}

sub dry_runs {
    my $before = count_tasks();
    my ($date, $time) = wall(time + 7 * 86_400);
    my $plan = $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'Dry', surname => 'Run', date => $date, time => $time, shoe => 1 });
    is($plan->{status}, 200, 'a planned creation') or diag($plan->{body});
    my $data = $plan->{json}{data};
    is_deeply([@{ $data->{plan} }{qw(userPrincipalName mail steps)}],
        [upn('dry.run'), upn('dry.run'), [qw(createAccount setManager setPhoto)]],
        'names and steps');
    is(epoch($data->{plan}{scheduledAtUtc}) % 60, 0, 'and the minute');
    like($data->{plan}{scheduledAt}, qr/^\Q${date}T$time\E:00\+0[12]:00$/, 'as local time');
    like(json_text($data->{warnings}), qr/shoe/, 'and warnings');
    ok(!exists $data->{taskId} && !$plan->{headers}{location}, 'there is no task');
    is($stack->post('/v1/api/user?dryRun=true',
        { firstname => 'Dry', surname => 'Run' })->{json}{data}{plan}{userPrincipalName},
        upn('dry.run'), 'nothing is reserved');
    refused($stack->post('/v1/api/user?dryRun=true', { firstname => 'Dry' }), 400, 'BAD_REQUEST',
        qr/surname/, 'checks are made');
    refused($stack->post('/v1/api/user?dryRun=perhaps', { firstname => 'Dry', surname => 'Run' }),
        400, 'BAD_REQUEST', qr/dryRun/, 'yes or no');
    my @plans = ([patch({ userPrincipalName => upn('lars.moberg'), jobTitle => 'x' },
        query => '?dryRun=true'), ['updateAccount']],
        [$stack->call(DELETE => '/v1/api/user?dryRun=true',
        json => { userPrincipalName => upn('lars.moberg') }),
        [qw(disableAccount revokeSessions revokeMemberships verify)]],
        [$stack->call(POST => '/v1/api/user/offboard?dryRun=true',
        json => { userPrincipalName => upn('lars.moberg') }),
        [qw(disableAccount revokeSessions revokeMemberships verify)]]);
    is_deeply($_->[0]{json}{data}{plan}{steps}, $_->[1], "plan of @{ $_->[1] }")
        or diag($_->[0]{body}) for @plans;
    refused($stack->call(DELETE => '/v1/api/user?dryRun=true',
        json => { userPrincipalName => upn('no.body') }), 404, 'NOT_FOUND', qr/no\.body/,
        'also who is unknown');
    is(count_tasks(), $before, 'nothing was queued');
    ok(within(sub {
        my $items = $stack->get('/v1/api/audit?category=api&limit=200')->{json}{data}{items};
        my @dry = grep { $_->{action} =~ /^user\.\w+\.dryRun$/ && $_->{outcome} eq 'ok' } @$items;
        return @dry >= 5 && !grep { ($_->{action} eq 'user.create' || $_->{action} eq 'user.delete')
            && json_text($_->{parameters} // '') =~ /dryRun/ && $_->{outcome} eq 'ok' } @$items;
    }), 'the audit log tells dry runs from writes');
}

sub keys_of_clients {
    my %body = (firstname => 'Once', surname => 'Only', date => (wall(time + 2 * 86_400))[0]);
    my $send = sub { my ($key, %how) = @_;
        return $stack->post($how{path} // '/v1/api/user', $how{body} // \%body,
        headers => { 'Idempotency-Key' => $key }) };
    my @answers = in_parallel(32, sub {
        my $answer;
        within(sub { $answer = $send->('twins'); $answer->{status} != 503 });
        return { status => $answer->{status}, body => $answer->{body},
            location => $answer->{headers}{location},
            replayed => $answer->{headers}{'idempotent-replayed'} // '' };
    });
    is(scalar(grep { $_->{status} == 200 } @answers), 32, '32 parallel twins are all answered');
    my $made = grep { $_->{replayed} eq '' } @answers;
    cmp_ok($made, '<=', 1, 'one of them first, if its answer was not lost');
    is(scalar(grep { $_->{replayed} eq 'true' } @answers), 32 - $made,
        'the others are replays, and say so');
    my %different = map { ("$_->{body}\n$_->{location}" => 1) } @answers;
    is(scalar keys %different, 1, 'byte for byte with the same Location');
    my $mine = $stack->get('/v1/api/tasks?userPrincipalName=' . upn('once.only'))->{json}{data};
    is($mine->{totalCount}, 1, 'exactly one task');
    refused($send->('twins', body => { %body, surname => 'Other' }), 422, 'UNPROCESSABLE',
        qr/another request before.*$mine->{items}[0]{id}/, 'another body under the key is refused');
    refused($send->('twins', path => '/v1/api/user?dryRun=true'), 422, 'UNPROCESSABLE',
        qr/another request before.*$mine->{items}[0]{id}/,
        'so is a dry run, whose query is another');
    is_deeply([map { $_->{headers}{'idempotent-replayed'} }
        map { $send->('dry', path => '/v1/api/user?dryRun=true') } 1, 2], [undef, undef],
        'a dry run of its own is neither kept nor replayed');
    is($stack->post('/v1/api/user/offboard',
        { userPrincipalName => upn('lars.moberg'), date => $body{date} },
        headers => { 'Idempotency-Key' => 'twins' })->{status}, 200,
        'another address has keys of its own');
    $stack->ctl_ok('task', 'cancel', 'nordic',
        $stack->get('/v1/api/tasks?state=queued&type=userDelete')->{json}{data}{items}[0]{id});
    refused($send->('refused', body => { firstname => 'Once' }), 400, 'BAD_REQUEST', qr/surname/,
        'a refusal');
    is($send->('refused')->{headers}{'idempotent-replayed'}, undef, 'is not kept');
    for my $bad ('', 'x' x 256, "t\xC3\xA4st") {
        refused($send->($bad), 400, 'BAD_REQUEST', qr/Idempotency-Key: must be 1 to 255 printable/,
            'key of ' . length($bad) . ' bytes');
    }
    refused($stack->call($_->[0] => "/v1/api/task$_->[1]?id=$mine->{items}[0]{id}",
        json => { dryRun => JSON::PP::true() }), 400, 'BAD_REQUEST',
        qr/dryRun: is a parameter of the query/, "a dry run in the body of $_->[0] task$_->[1]")
        for [DELETE => ''], [PATCH => ''], [POST => '/retry'], [POST => '/release'];
    is($stack->task($mine->{items}[0]{id})->{state}, 'queued', 'and nothing is done');
    is($send->('~ !' . 'x' x 252)->{status}, 200, '255 characters are a key');
    my ($first, $second) = map {
        $stack->delete("/v1/api/task?id=$mine->{items}[0]{id}", undef,
        headers => { 'Idempotency-Key' => 'cancel' }) } 1, 2;
    is_deeply([$first->{status}, $second->{status}, $second->{body} eq $first->{body},
        $second->{headers}{'idempotent-replayed'}], [200, 200, 1, 'true'],
        'cancelling twice is one cancelling');
    refused($stack->delete('/v1/api/task?id=other', undef,
        headers => { 'Idempotency-Key' => 'cancel' }), 422, 'UNPROCESSABLE', qr/another request/,
        'the query belongs to the request');
    $stack->delete("/v1/api/task?id=$_->{id}")
        for @{ $stack->get('/v1/api/tasks?state=queued&type=userCreate')->{json}{data}{items} };
}

sub tasks {
    my ($date, $time) = wall(time + 86_400);
    my $queued = $stack->post('/v1/api/user',
        { firstname => 'To', surname => 'Move', date => $date, time => $time })->{json}{data};
    my $id = $queued->{taskId};
    my $move = sub { my ($body, %how) = @_;
        return $stack->call(PATCH => '/v1/api/task?id=' . ($how{id} // $id), json => $body, %how) };
    my ($later, $at) = wall(time + 3 * 86_400);
    my $moved = $move->({ date => $later, time => $at, why => 'x' });
    is($moved->{status}, 200, 'moved') or diag($moved->{body});
    like(message($moved), qr/has been moved; it is carried out at $later $at Europe/,
        'and told when');
    like(json_text($moved->{json}{data}{warnings}), qr/why/, 'an unknown member is named');
    is(substr($stack->task($id)->{scheduledAt}, 0, 16), "${later}T$at", 'the task says the same');
    my ($sooner, $clock) = wall(time + 2 * 86_400 + 3600);
    is_deeply([map { my $part = $_; is($move->($part)->{status}, 200, 'moved in part');
        substr($stack->task($id)->{scheduledAt}, 0, 16) } { time => $clock }, { date => $sooner }],
        ["${later}T$clock", "${sooner}T$clock"],
        'the part that is left out stays: a new time does not bring a task to today');
    refused($move->({}), 400, 'BAD_REQUEST', qr/date: is required, or time/, 'to nowhere');
    refused($move->({ date => '2026-02-30' }), 400, 'BAD_REQUEST', qr/date: must be a date/,
        'to no day');
    refused($move->({ date => $later }, id => 'none'), 404, 'NOT_FOUND', qr/none/,
        'an unknown task');
    refused($stack->call(PATCH => '/v1/api/task', json => { date => $later }), 400, 'BAD_REQUEST',
        qr/id: is required/, 'which task?');
    refused($move->({ date => $later }, key => 'read'), 403, 'FORBIDDEN', qr/read-only/,
        'not with a read-only key');
    refused($stack->call(POST => "/v1/api/task/$_?id=$id", key => 'read'), 403, 'FORBIDDEN',
        qr/read-only/, "nor $_") for qw(retry release);
    refused($stack->call(POST => "/v1/api/task/retry?id=$id"), 409, 'CONFLICT',
        qr/cannot be tried again: it is queued/, 'a queued task is not tried again');
    refused($stack->call(POST => "/v1/api/task/release?id=$id"), 409, 'CONFLICT',
        qr/cannot be released: it is queued/, 'nor released');
    my $planned = $stack->call(DELETE => "/v1/api/task?id=$id&dryRun=true");
    is_deeply([$planned->{status}, $planned->{json}{data}{task}{state}, $stack->task($id)->{state}],
        [200, 'cancelled', 'queued'], 'a dry run of cancelling changes nothing');
    is($move->({ date => (wall(time - 86_400))[0], time => '00:00' })->{status}, 200,
        'moved to the past');
    $stack->wait_task($id);
    refused($move->({ date => $later }), 409, 'CONFLICT', qr/cannot be moved: it is done/,
        'too late to move');
    refused($stack->delete("/v1/api/task?id=$id"), 409, 'CONFLICT',
        qr/cannot be cancelled: it is done/, 'too late to cancel');

    # A task that fails: a name is unique in this directory, so take an impossible manager.
    my $boss = $stack->post('/v1/api/user',
        { firstname => 'Gone', surname => 'Boss', date => $date, time => $time })->{json}{data};
    my $fails = $stack->post('/v1/api/user',
        { firstname => 'Fails', surname => 'Once', manager => $boss->{userPrincipalName},
        date => $date, time => $time })->{json}{data}{taskId};
    $stack->delete("/v1/api/task?id=$boss->{taskId}");
    $move->({ date => (wall(time - 120))[0], time => '00:00' }, id => $fails);
    $stack->wait_task($fails, states => ['failed']);
    refused($move->({ date => $later }, id => $fails), 409, 'CONFLICT',
        qr/cannot be moved: it has failed/, 'a failed task is not moved');
    my $again = $stack->call(POST => "/v1/api/task/retry?id=$fails");
    is($again->{status}, 200, 'but tried again') or diag($again->{body});
    is($again->{json}{data}{task}{state}, 'queued', 'at once');
    $stack->wait_task($fails, states => ['failed']);
    is($stack->delete("/v1/api/task?id=$fails")->{status}, 200, 'and then given up');
    refused($stack->call(POST => "/v1/api/task/retry?id=$fails"), 409, 'CONFLICT',
        qr/it was cancelled before/, 'for good');

    # REST and idadminctl leave the same record.
    my ($by_rest, $by_hand) = map {
        $stack->post('/v1/api/user',
        { firstname => 'Same', surname => "Record $_", date => $date })->{json}{data}{taskId} } 1,
        2;
    $move->({ date => $later, time => $at }, id => $by_rest);
    $stack->ctl_ok('task', 'reschedule', 'nordic', $by_hand, $later, $at);
    $stack->delete("/v1/api/task?id=$by_rest");
    my $said = $stack->ctl('task', 'cancel', 'nordic', $by_hand);
    like($said->{out}, qr/is cancelled; nothing more will be executed/,
        'idadminctl says what REST says');
    my $items;
    ok(within(sub {
        $items = $stack->get('/v1/api/audit?limit=200')->{json}{data}{items};
        return 4 == grep { ($_->{detail} // '') =~ /^task (?:$by_rest|$by_hand)$/
            && $_->{action} =~ /^task\.(?:reschedule|cancel)$/ } @$items;
    }), 'both ways are recorded by the same words');
    my %record = map { ("$_->{category} $_->{action}" => $_) }
        grep { ($_->{detail} // '') =~ /^task (?:$by_rest|$by_hand)$/ } @$items;
    is_deeply([map { my $r = $record{"$_ task.reschedule"};
        [$r->{parameters}{date}, $r->{parameters}{time}, $r->{target}] } qw(api command)],
        [[$later, $at, upn('same.record1')], [$later, $at, upn('same.record2')]],
        'with what was asked, of whom');

    my $page = $stack->get('/v1/api/tasks?type=userCreate&limit=2')->{json}{data};
    my $next = $stack->get("/v1/api/tasks?type=userCreate&limit=2&cursor=$page->{nextCursor}")
        ->{json}{data};
    is(scalar @{ $next->{items} }, 2, 'lists are pages');
    ok($next->{items}[0]{id} lt $page->{items}[1]{id}, 'newest first');
    is_deeply([grep { $_->{state} ne 'cancelled' } @{
        $stack->get('/v1/api/tasks?state=cancelled&limit=200')->{json}{data}{items} }], [],
        'by state');
}

sub groups_of { my ($uid) = @_;
    return [grep { my $group = $_;
    grep {/uid=\Q$uid\E,/} $stack->slapd->members($group) } 'All staff', 'CRM admins',
    'Engineering', 'Finance', 'Sales team'] }

sub rehires {
    my %person = (firstname => 'Carin', surname => 'Sjöberg', employeeId => 'E-77',
        jobTitle => 'Back again', manager => upn('anna.lind'));
    done(patch({ userPrincipalName => upn('carin.sjoberg'), employeeId => 'E-77' }),
        'a number for Carin');
    is($stack->slapd->user('carin.sjoberg')->{employeenumber}[0], 'E-77', 'in the directory');
    is(user('carin.sjoberg', 'employeeId')->{employeeId}, 'E-77', 'and at once in the cache');
    my $had = groups_of('carin.sjoberg');
    cmp_ok(scalar @$had, '>', 1, "who is in @$had");
    refused($stack->post('/v1/api/user', \%person), 409, 'CONFLICT',
        qr/employeeId E-77 is that of the enabled account carin\.sjoberg\S+\. Send "rehire":"new"/,
        'while she is here a creation is refused, naming her');
    my $twin = $stack->post('/v1/api/user?dryRun=true', { %person, rehire => 'new' });
    is($twin->{json}{data}{plan}{userPrincipalName}, upn('carin.sjoberg2'),
        'unless a new account is asked for') or diag($twin->{body});
    like(json_text($twin->{json}{data}{warnings}),
        qr/also that of the enabled account carin\.sjoberg/, 'which warns');
    refused($stack->post('/v1/api/user', { %person, rehire => 'restore' }), 409, 'CONFLICT',
        qr/nothing to restore/, 'there is nothing to restore yet');
    refused($stack->post('/v1/api/user',
        { firstname => 'Carin', surname => 'Sjöberg', rehire => 'restore' }), 400, 'BAD_REQUEST',
        qr/rehire: needs an employeeId/, 'people are not matched by name');

    # A person who is queued for creation.
    my %coming = (firstname => 'Kim', surname => 'Coming', employeeId => 'E-88',
        date => (wall(time + 2 * 86_400))[0]);
    my $creation = $stack->post('/v1/api/user', \%coming)->{json}{data}{taskId};
    refused($stack->post('/v1/api/user', \%coming), 409, 'CONFLICT',
        qr/E-88\ is\ that\ of\ the\ queued\ creation\ of\ kim\.coming\S+\ \(task\ $creation\)\.
            \ Send\ "rehire":"new"/x, 'a second creation is refused, naming the first');
    refused($stack->post('/v1/api/user?dryRun=true', \%coming), 409, 'CONFLICT', qr/task $creation/,
        'a dry run says so too');
    refused($stack->post('/v1/api/user', { %coming, rehire => 'restore' }), 409, 'CONFLICT',
        qr/nothing to restore.*E-88, which is that of the queued creation/,
        'there is nothing to restore');
    my $another = $stack->post('/v1/api/user', { %coming, rehire => 'new' });
    is($another->{json}{data}{userPrincipalName}, upn('kim.coming2'), 'rehire new makes another')
        or diag($another->{body});
    is($stack->delete("/v1/api/task?id=$_")->{status}, 200, 'cancelled')
        for $creation, $another->{json}{data}{taskId};
    is($stack->post('/v1/api/user?dryRun=true', \%coming)->{status}, 200,
        'then the number is free');

    # She is on the way out.
    my $leaving = $stack->delete('/v1/api/user',
        { userPrincipalName => upn('carin.sjoberg'),
        date => (wall(time + 86_400))[0] })->{json}{data}{taskId};
    refused($stack->post('/v1/api/user', \%person), 409, 'CONFLICT',
        qr/queued offboarding of carin\.sjoberg\S+ \(task $leaving\).*restore.*new/,
        'undecided: refused, naming the task');
    refused(patch({ userPrincipalName => upn('carin.sjoberg'),
        accountEnabled => JSON::PP::true() }), 409, 'CONFLICT',
        qr/offboarding is queued \(task $leaving\)/, 'an update does not bring her back');
    my $late = patch({ userPrincipalName => upn('carin.sjoberg'), office => 'x',
        date => (wall(time + 2 * 86_400))[0] });
    like(json_text($late->{json}{data}{warnings}), qr/carried out after it/,
        'another one may follow, and says so');
    $stack->delete("/v1/api/task?id=$late->{json}{data}{taskId}");
    my $plan = $stack->post('/v1/api/user?dryRun=true', { %person, rehire => 'restore' });
    is_deeply($plan->{json}{data}{rehire},
        { restored => 'queuedOffboarding', cancelledTaskId => $leaving },
        'a dry run says what would be') or diag($plan->{body});
    is($stack->task($leaving)->{state}, 'queued', 'and does not do it');
    my $stays = $stack->post('/v1/api/user', { %person, rehire => 'restore' });
    is($stays->{json}{data}{rehire}{cancelledTaskId}, $leaving,
        'restored: the offboarding is cancelled') or diag($stays->{body});
    is($stack->task($leaving)->{state}, 'cancelled', 'really');
    is_deeply(outcomes($stack->wait_task($stays->{json}{data}{taskId})),
        { updateAccount => 'done', setManager => 'already' }, 'the new values are written');
    is_deeply([$stack->slapd->user('carin.sjoberg')->{title}[0], groups_of('carin.sjoberg')],
        ['Back again', $had], 'to the same account');

    # She has left.
    my $id = $stack->slapd->user('carin.sjoberg')->{entryuuid}[0];
    done($stack->delete('/v1/api/user',
        { userPrincipalName => upn('carin.sjoberg'), time => '00:00' }), 'she leaves');
    done($stack->delete('/v1/api/user',
        { userPrincipalName => upn('carin.sjoberg'), time => '00:00' }), 'twice');
    is_deeply(groups_of('carin.sjoberg'), [], 'and is in no group');
    refused($stack->post('/v1/api/user', \%person), 409, 'CONFLICT',
        qr/disabled account carin\.sjoberg/, 'undecided: refused, naming the account');
    is($stack->post('/v1/api/user?dryRun=true',
        { %person, rehire => 'new' })->{json}{data}{plan}{userPrincipalName}, upn('carin.sjoberg2'),
        'new is a new person');
    $stack->slapd->modify("dn: cn=Short lived,ou=groups,dc=nordic,dc=example\nchangetype: "
        . "add\nobjectClass: groupOfNames\ncn: Short lived\nmember: "
        . "$Idadmin::Test::Slapd::filler\n");
    my $back = $stack->post('/v1/api/user', { %person, jobTitle => 'Senior', rehire => 'restore' });
    is($back->{status}, 200, 'restored') or diag($back->{body});
    my $data = $back->{json}{data};
    is_deeply([sort map { $_->{name} } @{ $data->{rehire}{memberships} }], $had,
        'her memberships are listed');
    is_deeply([$data->{userPrincipalName}, $data->{rehire}{restored}],
        [upn('carin.sjoberg'), 'disabledAccount'], 'her account');
    my $task = $stack->wait_task($data->{taskId});
    is_deeply(outcomes($task),
        { updateAccount => 'done', setManager => 'already', restoreMemberships => 'done' },
        'each step is done');
    my $password = qr/unknown one since the offboarding .*set a new password/;
    like(json_text($data->{warnings}), $password, 'the answer warns that a password is needed');
    is(scalar(grep { /$password/ } @{ $task->{warnings} }), 1, 'the task does so too, once');
    my $entry = $stack->slapd->user('carin.sjoberg');
    is_deeply([$entry->{title}[0], $entry->{pwdaccountlockedtime}, groups_of('carin.sjoberg')],
        ['Senior', undef, $had], 'the same account, enabled, in its groups');
    is(user('carin.sjoberg', 'status')->{status}, 'active', 'the look-up knows');
    is($stack->get('/v1/api/user/access?user='
        . upn('carin.sjoberg'))->{json}{data}{totalCount} >= @$had, 1, 'her access too');

    # A group that is gone meanwhile is reported, not hidden; a restored membership is not restored
    # twice.
    $stack->slapd->modify("dn: cn=Short lived,ou=groups,dc=nordic,dc=example\nchangetype: "
        . "modify\nadd: member\nmember: uid=carin.sjoberg,ou=people,dc=nordic,dc=example\n");
    done($stack->delete('/v1/api/user',
        { userPrincipalName => upn('carin.sjoberg'), time => '00:00' }), 'she leaves again');
    $stack->slapd->delete_entry('cn=Short lived,ou=groups,dc=nordic,dc=example');
    $back = $stack->post('/v1/api/user', { %person, rehire => 'restore' });
    is_deeply([sort map { $_->{name} } @{ $back->{json}{data}{rehire}{memberships} }],
        [sort @$had, 'Short lived'], 'what she had then is offered');
    $task = $stack->wait_task($back->{json}{data}{taskId});
    like(json_text($task->{warnings}), qr/Short lived was not given back/,
        'what cannot be given back is a warning');
    like(step($task, 'restoreMemberships')->{detail}, qr/given back: .*not given back: Short lived/,
        'and in the step');
    is_deeply(groups_of('carin.sjoberg'), $had, 'the others are back');

    # The last word holds: asked to come back in the future, offboarded after that was asked.
    done($stack->delete('/v1/api/user',
        { userPrincipalName => upn('carin.sjoberg'), time => '00:00' }), 'she leaves once more');
    my ($date, $time) = wall(time + 86_400);
    my $planned = $stack->post('/v1/api/user',
        { %person, rehire => 'restore', date => $date, time => $time })->{json}{data}{taskId};
    done($stack->delete('/v1/api/user',
        { userPrincipalName => upn('carin.sjoberg'), time => '00:00' }),
        'and is offboarded after that was asked');
    $stack->ctl_ok('task', 'reschedule', 'nordic', $planned, wall(time - 120));
    $task = $stack->wait_task($planned, states => ['failed']);
    like($task->{error}, qr/offboarded by task/, 'the older wish is refused at its minute');
    is_deeply([$stack->slapd->user('carin.sjoberg')->{pwdaccountlockedtime}[0],
        groups_of('carin.sjoberg')], ['000001010000Z', []], 'and no access comes back');
}

# What OpenLDAP cannot keep is said when it is asked for, left out when it is carried out, and fails
# nothing.
sub not_kept {
    my $png = Idadmin::Test::Photo::base64(Idadmin::Test::Photo::png());
    my $country = qr/country "Sverige" is not kept: this directory takes two-letter codes/;
    my $photo = qr/profilePhoto is not kept: this directory takes JPEG only/;
    my $joiner = $stack->post('/v1/api/user',
        { firstname => 'Kept', surname => 'Not', country => 'Sverige', city => 'Lund',
        profilePhoto => $png });
    is($joiner->{status}, 200, 'a creation is queued') or diag $joiner->{body};
    like("@{ $joiner->{json}{data}{warnings} }", $_ eq 'c' ? $country : $photo, 'with a warning')
        for 'c', 'p';
    my $task = $stack->wait_task($joiner->{json}{data}{taskId});
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'skipped', setPhoto => 'skipped' }, 'done')
        or diag json_text($task);
    like(step($task, 'setPhoto')->{detail}, $photo, 'the photo is skipped, with that reason');
    like(json_text($task->{warnings}), qr/country: .*two-letter codes only.*photo was not set/s,
        'and the task warns');
    my $upn = $joiner->{json}{data}{userPrincipalName};
    my $entry = $stack->slapd->user($upn =~ /^(.*)\@/);
    is_deeply([$entry->{l}[0], $entry->{c}, $entry->{jpegphoto}], ['Lund', undef, undef],
        'the rest is kept');

    my $change = patch({ userPrincipalName => $upn, country => 'Sverige', city => 'Malmö',
        profilePhoto => $png });
    like("@{ $change->{json}{data}{warnings} }", $_ eq 'c' ? $country : $photo,
        'a change warns too') for 'c', 'p';
    $task = $stack->wait_task($change->{json}{data}{taskId});
    is_deeply([$task->{state}, outcomes($task)],
        ['done', { updateAccount => 'done', setPhoto => 'skipped' }], 'done')
        or diag json_text($task);
    like(step($task, 'updateAccount')->{detail},
        qr/^city; not set: country \(country: this directory keeps two-letter codes only/,
        'what was set and what not, with the reason');
    like(json_text($task->{warnings}), qr/country was not set: .*photo was not set/s,
        'and the task warns');
    is(Encode::decode_utf8($stack->slapd->user($upn =~ /^(.*)\@/)->{l}[0]), 'Malmö',
        'the rest is kept');
    $task = $stack->wait_task(patch({ userPrincipalName => $upn,
        country => 'Sverige' })->{json}{data}{taskId});
    is_deeply([$task->{state}, outcomes($task)], ['done', { updateAccount => 'skipped' }],
        'nothing else was asked for: skipped') or diag json_text($task);
    like(step($task, 'updateAccount')->{detail}, qr/^not set: country \(/, 'with the reason');
}

sub interplay {
    my $queued = $stack->post('/v1/api/user',
        { firstname => 'Not', surname => 'Yet',
        date => (wall(time + 2 * 86_400))[0] })->{json}{data};
    refused(patch({ userPrincipalName => $queued->{userPrincipalName}, jobTitle => 'x' }), 404,
        'NOT_FOUND', qr/creation is still queued.*$queued->{taskId}/,
        'an update of a person who does not exist yet names the creation');
    $stack->delete("/v1/api/task?id=$queued->{taskId}");
}

# The blocks of doc/guides.md, one after the other in one shell, as a reader would copy them.
sub guides {
    my $key  = $stack->key('full');
    my $dir  = File::Temp->newdir;
    my $text = Idadmin::Test::slurp(Idadmin::Test::src_dir() . "/doc/guides.md");
    my @blocks = map {s/^    //gmr} $text =~ /((?:^    .*\n)+(?:\n(?:^    .*\n)+)*)/mg;
    cmp_ok(scalar @blocks, '>', 7, 'there are blocks');
    Idadmin::Test::spew("$dir/all.sh", "set -e\ncd $dir\n" . join '', @blocks);
    my $run = run_command(['sh', "$dir/all.sh"], env => {
        API => $stack->httpd->url, COMPANY => $stack->{company}, API_USER => $key->{username},
        API_KEY => $key->{apiKey}, DOMAIN => $domain });
    is($run->{exit}, 0, 'all of them') or diag $run->{out}, $run->{err};
    like($run->{out}, qr/"plan":.*maja\.lund\@/, 'a plan first');
    ok($stack->slapd->user('maja.lund'), 'the person is there');
    my ($hire, $change, $leaver) = map { json_data(Idadmin::Test::slurp("$dir/$_.json"))->{data} }
        qw(hired changed leaving);
    is($stack->wait_task($change->{taskId})->{state}, 'done', 'and changed');
    is($stack->wait_task($leaver->{taskId}, states => ['cancelled'])->{state}, 'cancelled',
        'stays');
    is(json_data(Idadmin::Test::slurp("$dir/task.json"))->{data}{task}{id}, $hire->{taskId},
        'its hire was waited for');
    like($run->{out}, qr/Idempotent-Replayed: true/i, 'and not hired twice');
}

for_each_engine {
    ($engine) = @_;
    $stack = about(Idadmin::Test::Stack->new(engine => $engine));
    my @parts = ([updates => \&updates], [not_kept => \&not_kept], [in_order => \&in_order],
        [seats => \&seats], [dry_runs => \&dry_runs], [keys => \&keys_of_clients],
        [tasks => \&tasks], [guides => \&guides], [rehires => \&rehires],
        [interplay => \&interplay]);
    subtest(@$_) for grep { !$ENV{PART} || $_->[0] eq $ENV{PART} } @parts;
    $stack->worker->expect_log(qr/IDA0317/);
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
};

done_testing();
