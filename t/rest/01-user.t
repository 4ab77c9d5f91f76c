# REST answers an HR platform's look-ups, creations, offboardings and task queries as documented:
# every field, default, warning and refusal. A worker runs only for the first synchronisation, so
# that queued tasks stay queued and can be inspected.
use strict;
use warnings;
use utf8;
use Test::More;
use Encode ();
use Idadmin::Test qw(on_one_engine json_text spew tempdir within);
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(epoch wall);

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output todo_output);

my $stack;

sub today { return (wall(time))[0] }

sub create {
    my (%payload) = @_;
    return $stack->post('/v1/api/user', { firstname => 'Test', surname => 'Person', %payload });
}

sub refused {
    my ($answer, $status, $code, $pattern, $name) = @_;
    ok($answer->{status} == $status && ($answer->{json}{error}{code} // '') eq $code
        && ($answer->{json}{error}{message} // '') =~ $pattern, $name)
        or diag("$answer->{status} $answer->{body}");
    is_deeply([sort keys %{ $answer->{json} }], ['error'], "$name: an error body and nothing else");
}

sub count_tasks { return $stack->get('/v1/api/tasks?limit=1')->{json}{data}{totalCount} }

sub look_up {
    my $eva = $stack->get_user('eva.berg@nordic.example');
    is($eva->{status}, 200, 'a known user is found');
    is_deeply($eva->{json}, { data => {
        user => { userPrincipalName => 'eva.berg@nordic.example', displayName => 'Eva Berg',
        givenName => 'Eva', surname => 'Berg',
        department => 'Management', jobTitle => 'Chief executive' } } },
        'with the fields of the specification');
    is($eva->{headers}{'content-type'}, 'application/json; charset=utf-8', 'content type');
    is($eva->{headers}{'cache-control'}, 'no-store', 'not to be cached');
    is($stack->get_user('EVA.Berg@Nordic.Example')->{status}, 200, 'case does not matter');
    is($stack->get_user('maria.oqvist@nordic.example')->{json}{data}{user}{surname}, 'Öqvist',
        'UTF-8 comes through');
    my $fields =
        $stack->get('/v1/api/user?userPrincipalName=anna.lind%40nordic.example'
            . '&fields=manager,directories,status,mail,accountEnabled');
    is($fields->{json}{data}{user}{manager}{userPrincipalName}, 'eva.berg@nordic.example',
        'fields= adds the manager');
    is_deeply($fields->{json}{data}{user}{directories}, ['onPremises'], 'and the directories');
    is($fields->{json}{data}{user}{status}, 'active', 'and the status');
    ok(!exists $fields->{json}{data}{signInsAsOf}, 'no time of sign-ins unasked');
    ok(exists $stack->get('/v1/api/user?userPrincipalName=eva.berg%40nordic.example'
                . '&fields=signInActivity')->{json}{data}{signInsAsOf}, 'then it is told');
    refused($stack->get('/v1/api/user'), 400, 'BAD_REQUEST', qr/userPrincipalName: is required/,
        'no parameter');
    refused($stack->get('/v1/api/user?userPrincipalName='), 400, 'BAD_REQUEST',
        qr/userPrincipalName/, 'an empty one');
    refused($stack->get('/v1/api/user?userPrincipalName=a%40b&userPrincipalName=c%40d'), 400,
        'BAD_REQUEST', qr/userPrincipalName: is given more than once/, 'a doubled one');
    refused($stack->get('/v1/api/user?userPrincipalName=a%40b&colour=red'), 400, 'BAD_REQUEST',
        qr/colour: is no parameter/, 'an unknown one');
    refused($stack->get('/v1/api/user?userPrincipalName=%ff'), 400, 'BAD_REQUEST', qr/UTF-8/,
        'broken UTF-8');
    refused($stack->get('/v1/api/user?userPrincipalName=a%4'), 400, 'BAD_REQUEST',
        qr/percent-encoded/, 'a broken escape');
    refused($stack->get('/v1/api/user?userPrincipalName=eva.berg%40nordic.example&fields=shoeSize'),
        400, 'BAD_REQUEST', qr/fields/, 'an unknown field');
    refused($stack->get_user('nobody@nordic.example'), 404, 'NOT_FOUND',
        qr/nobody\@nordic\.example/, 'an unknown user');
    refused($stack->get_user("eva.berg\@nordic.example' OR 1=1 --"), 404, 'NOT_FOUND', qr/./,
        'SQL in a UPN is only a strange UPN');
}

sub create_fields {
    my $before = count_tasks();
    my $answer = $stack->post('/v1/api/user',
        { firstname => 'Åsa', surname => 'Öberg', middleName => 'Maria', jobTitle => 'Säljare',
        department => 'Sales', company => 'Nordic AB',
        office => 'Malmö 3', city => 'Malmö', country => 'se',
        streetAddress => "Storgatan 1\nEntré B", postalCode => '211 34',
        preferredLanguage => 'sv-SE',
        accountEnabled => JSON::PP::true(), manager => 'Anna.Lind@nordic.example',
        employeeId => 'E-4711',
        profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(102_400)),
        date => '2031-03-01', time => '09:00', shoeSize => 38 });
    is($answer->{status}, 200, 'a creation with every field is taken')
        or return diag($answer->{body});
    my $data = $answer->{json}{data};
    is_deeply([sort keys %$data],
        [sort qw(message taskId userPrincipalName mail scheduledAt scheduledAtUtc warnings)],
        'members of the answer');
    is($data->{userPrincipalName}, 'asa.oberg@nordic.example', 'generated UPN');
    is($data->{mail}, 'asa.oberg@nordic.example', 'generated mail');
    is($data->{scheduledAt}, '2031-03-01T09:00:00+01:00', 'local time with offset');
    is($data->{scheduledAtUtc}, '2031-03-01T08:00:00Z', 'UTC');
    like($data->{message}, qr/queued.*2031-03-01 09:00 Europe\/Stockholm \(2031-03-01T08:00:00Z\)/s,
        'the message says when, local and UTC');
    is(scalar @{ $data->{warnings} }, 3, 'three warnings')
        && like("@{ $data->{warnings} }", qr/shoeSize.*middleName.*country/s,
        'about the unknown member, and what OpenLDAP keeps in part or perhaps not');
    like($answer->{headers}{location} // '', qr{/v1/api/task\?id=\Q$data->{taskId}\E$},
        'Location names the task');
    is(count_tasks(), $before + 1, 'one task more');
    my $task = $stack->get("/v1/api/task?id=$data->{taskId}")->{json}{data}{task};
    is($task->{state}, 'queued', 'it is queued');
    is($task->{type}, 'userCreate', 'of its type');
    is_deeply($task->{requestedBy}, { username => 'hr-full', label => '', via => 'rest' },
        'who asked for it, and how');
    is_deeply([map { $_->{name} } @{ $task->{steps} }], [qw(createAccount setManager setPhoto)],
        'its steps are known');
    is_deeply([grep {defined} map { $_->{outcome} } @{ $task->{steps} }], [],
        'none of them is said to be done');
    is($task->{scheduledAtUtc}, $data->{scheduledAtUtc}, 'same instant in the task');
    my $twin = create(firstname => 'Åsa', surname => 'Öberg', date => '2031-03-01');
    is($twin->{json}{data}{userPrincipalName}, 'asa.oberg2@nordic.example',
        'a second one of the name is numbered');
    is($twin->{json}{data}{scheduledAtUtc}, '2031-02-28T23:00:00Z', 'a date alone means 00:00');
    is(create(firstname => 'Eva', surname => 'Berg',
        date => '2031-03-01')->{json}{data}{userPrincipalName}, 'eva.berg2@nordic.example',
        'as is one of a user of the directory');
    my $odd = create(firstname => 'Odd', surname => 'Country', country => 'Sverige',
        date => '2031-03-01');
    like(json_text($odd->{json}{data}{warnings}), qr/country/,
        'a country in words is kept with a warning');
    is_deeply(create(firstname => 'Nu', surname => 'Ll', middleName => undef, jobTitle => '',
        department => '  ', manager => '', profilePhoto => undef,
        date => '2031-03-01')->{json}{data}{warnings}, [],
        'null, empty and blank mean absent');
    my $queued_manager = create(firstname => 'Junior', surname => 'Late',
        manager => 'asa.oberg@nordic.example', date => '2031-04-01');
    is($queued_manager->{status}, 200, 'a manager may be a queued creation');
}

sub create_refusals {
    my $before = count_tasks();
    my $long = sub { 'x' x $_[0] };
    my @cases = (
        ['no names',           {},
            qr/firstname: is required.*surname: is required/s],
        ['no surname',         { firstname => 'A' },                              qr/surname/],
        ['blank first name',   { firstname => ' ', surname => 'B' },              qr/firstname/],
        ['UPN given',          { firstname => 'A', surname => 'B', userPrincipalName => 'a@b' },
        qr/userPrincipalName/],
        ['mail given',         { firstname => 'A', surname => 'B', mail => 'a@b' }, qr/mail/],
        ['number for a name',  { firstname => 1, surname => 'B' },
        qr/firstname.*string/s],
        ['text for a boolean', { firstname => 'A', surname => 'B', accountEnabled => 'yes' },
        qr/accountEnabled/],
        ['long first name',    { firstname => $long->(65), surname => 'B' },
        qr/firstname.*64/s],
        ['long job title',     { firstname => 'A', surname => 'B', jobTitle => $long->(129) },
        qr/jobTitle.*128/s],
        ['long department',    { firstname => 'A', surname => 'B', department => $long->(65) },
        qr/department.*64/s],
        ['long company',       { firstname => 'A', surname => 'B', company => $long->(65) },
        qr/company.*64/s],
        ['long office',        { firstname => 'A', surname => 'B', office => $long->(129) },
        qr/office.*128/s],
        ['long street',        { firstname => 'A', surname => 'B', streetAddress => $long->(1025) },
        qr/streetAddress.*1024/s],
        ['long postal code',   { firstname => 'A', surname => 'B', postalCode => $long->(41) },
        qr/postalCode.*40/s],
        ['long employee ID',   { firstname => 'A', surname => 'B', employeeId => $long->(17) },
        qr/employeeId.*16/s],
        ['language',           { firstname => 'A', surname => 'B', preferredLanguage => 'sv_SE!' },
        qr/preferredLanguage/],
        ['photo not base64',   { firstname => 'A', surname => 'B', profilePhoto => '****' },
        qr/profilePhoto/],
        ['photo no picture',   { firstname => 'A', surname => 'B', profilePhoto => 'aGVq' },
        qr/profilePhoto/],
        ['photo too large',    { firstname => 'A', surname => 'B',
        profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(102_401)) },
        qr/profilePhoto.*102/s],
        ['no such manager',    { firstname => 'A', surname => 'B',
        manager => 'nobody@nordic.example' }, qr/manager.*nobody/s],
        ['no such day',        { firstname => 'A', surname => 'B', date => '2031-02-30' },
        qr/date/],
        ['date in words',      { firstname => 'A', surname => 'B', date => 'tomorrow' },
        qr/date.*YYYY-MM-DD/s],
        ['no such time',       { firstname => 'A', surname => 'B', time => '24:00' }, qr/time/],
        ['seconds',            { firstname => 'A', surname => 'B', time => '10:00:00' },
        qr/time.*HH:mm/s],
        ['long past',          { firstname => 'A', surname => 'B', date => '2024-01-01' },
        qr/date.*366/s],
        ['far future',         { firstname => 'A', surname => 'B', date => '2099-01-01' },
        qr/date.*10 years/s],
        ['blank after a date', { firstname => 'A', surname => 'B', date => '2031-02-20 ' },
        qr/date.*YYYY-MM-DD/s],
        ['blank before a time', { firstname => 'A', surname => 'B', time => ' 10:00' },
        qr/time.*HH:mm/s],
        ['dry run in the body', { firstname => 'A', surname => 'B', dryRun => JSON::PP::true() },
        qr/dryRun: is a parameter of the query \(\?dryRun=true\)/],
        ['emoji only',         { firstname => '😀', surname => '🎉' },
        qr/firstname|surname/],
    );
    push @cases, ['other case', { firstName => 'A', surname => 'B' },
        qr/firstName: is not known: it is written "firstname"; firstname: is required/],
        ['line separator', { firstname => "A\x{2028}B", surname => 'B' },
        qr/firstname: must not hold control characters or line breaks/];
    for my $case (@cases) {
        refused($stack->post('/v1/api/user', $case->[1]), 400, 'BAD_REQUEST', $case->[2],
            "creation refused: $case->[0]");
    }
    refused($stack->post('/v1/api/user',
        { firstname => 'A', surname => 'B', date => '2031-02-30', time => '9',
        preferredLanguage => '?' }), 400, 'BAD_REQUEST',
        qr/(?=.*date)(?=.*time)(?=.*preferredLanguage)/s, 'every fault is named at once');
    for my $case (['no object', '[1]'], ['no JSON', '{"firstname":'],
        ['doubled member', '{"firstname":"A","firstname":"B","surname":"C"}'],
        ['trailing bytes', '{"firstname":"A","surname":"B"} x'],
        ['broken UTF-8', qq({"firstname":"\xff","surname":"B"})],
        ['too deep', '{"a":' . '[' x 40 . ']' x 40 . '}'],
        ['NUL', '{"firstname":"A\u0000B","surname":"C"}']) {
        refused($stack->call(POST => '/v1/api/user', body => $case->[1],
            headers => { 'Content-Type' => 'application/json' }), 400, 'BAD_REQUEST', qr/./,
            "body: $case->[0]");
    }
    refused($stack->post('/v1/api/user?dry=1', { firstname => 'A', surname => 'B' }), 400,
        'BAD_REQUEST', qr/dry/, 'query parameter on a POST');
    my $told = $stack->post('/v1/api/user?dryRun=true',
        { firstname => 'A', surname => 'B', shoeSize => 44 })->{json}{data}{warnings};
    is_deeply($told, ['unknown member "shoeSize" was ignored'], 'an unknown member is named');
    refused($stack->post('/v1/api/user',
        { firstname => "\x{200b}", surname => "\x{feff} \x{2800}" }), 400, 'BAD_REQUEST',
        qr/firstname: is required; surname: is required/,
        'names of nothing that is seen');
    my $seen = $stack->post("/v1/api/user?dryRun=true&comment=a%E2%80%AEb",
        { firstname => "\x{645}\x{6cc}\x{200c}\x{631}", surname => "B\x{200b}erg",
        jobTitle => "Sa\x{200b}les", city => "\x{200e}" })->{json}{data};
    is($seen->{plan}{displayName}, "\x{645}\x{6cc}\x{200c}\x{631} Berg",
        'a joiner stays in the display name, what is not seen goes');
    is_deeply($seen->{warnings}, [map { "$_: signs that are not seen were left out" }
        qw(comment surname jobTitle city)], 'with a warning for each');
    refused($stack->call(DELETE => '/v1/api/user', json => { userPrincipalName =>
        "eva.berg\@nordic.example", Date => '2030-06-30' }), 400, 'BAD_REQUEST',
        qr/Date: is not known: it is written "date"/, 'a date by another name never means now');
    for my $sign ("date\x{a0}", "\x{feff}date", "da\x{200b}te", "d\x{430}te", "\x{ff44}ate") {
        refused($stack->call(DELETE => '/v1/api/user', json => { userPrincipalName =>
            "eva.berg\@nordic.example", $sign => '2030-06-30' }), 400, 'BAD_REQUEST',
            qr/is not known: it is written "date", in plain letters/, 'nor one that looks like it');
    }
    refused($stack->call(PATCH => '/v1/api/user', json => { userPrincipalName =>
        "eva.berg\@nordic.example", jobTitle => 'x', validFromDay => '2030-06-30' }), 400,
        'BAD_REQUEST', qr/validFromDay: is not known; if it names the day, that is "date"/,
        'nor a day by a name of the caller\'s');
    refused($stack->post('/v1/api/task/cancel?id=x', { "dry\x{200b}Run" => JSON::PP::true() }), 400,
        'BAD_REQUEST', qr/dryRun: is a parameter of the query/, 'nor a dry run that is not seen');
    refused($stack->post("/v1/api/user?dryRun%E2%80%8B=true", { firstname => 'A', surname => 'B' }),
        400, 'BAD_REQUEST', qr/it is written "dryRun"/, 'in the query neither');
    refused($stack->post('/v1/api/user', { firstname => '???', surname => "Sj\x{fffd}berg" }), 400,
        'BAD_REQUEST', qr/(?=.*firstname: must not consist of)(?=.*surname: holds U\+FFFD)/,
        'a lost encoding is no name');
    is(count_tasks(), $before, 'nothing of all that was queued');
}

sub names_and_zones {
    my %upn = ('Łukasz|Żółć' => 'lukasz.zolc', 'Đặng|Văn' => 'dang.van',
        'Pat|O\'Neil' => 'pat.oneil', 'Jean-Luc|van der Berg' => 'jean-luc.vanderberg',
        'Иван|Петров' => qr/^ivan\.petrov$/,
        '王|小明' => qr/^[a-z]+\.[a-z]+$/, 'محمد|علي' => qr/^[a-z]+\.[a-z]+$/);
    for my $name (sort keys %upn) {
        my ($first, $last) = split /\|/, $name;
        my $answer = create(firstname => $first, surname => $last, date => '2031-06-01');
        my ($local) = ($answer->{json}{data}{userPrincipalName} // '') =~ /^(.*)\@nordic\.example$/;
        ref $upn{$name} ? like($local // '', $upn{$name}, "$name: " . ($local // $answer->{body}))
            : is($local, $upn{$name}, "$name: " . ($local // $answer->{body}));
    }
    is(create(date => '2031-03-30', time => '02:30')->{json}{data}{scheduledAtUtc},
        '2031-03-30T01:00:00Z', 'the skipped hour: first valid instant after it');
    is(create(date => '2031-10-26', time => '02:30')->{json}{data}{scheduledAtUtc},
        '2031-10-26T00:30:00Z', 'the doubled hour: the first');
    my $before = time;
    my $answer = create(firstname => 'Now', surname => 'Here');
    my $now    = epoch($answer->{json}{data}{scheduledAtUtc});
    ok($before <= $now && $now < time + 1, 'neither date nor time: now') or diag("$before: $now");
    my $past = create(firstname => 'Past', surname => 'Here',
        date => (wall(time - 3 * 86_400))[0], time => '08:00');
    like($past->{json}{data}{message}, qr/passed.*now/s,
        'a past instant runs now, and the message says so');
    my $asked_on = today();
    my $time_only = create(firstname => 'Time', surname => 'Only', time => '23:59');
    like($time_only->{json}{data}{scheduledAt}, qr/^(?:$asked_on|@{[ today() ]})T23:59:00/,
        'time alone: today');
}

sub offboarding {
    my $answer = $stack->delete('/v1/api/user',
        { userPrincipalName => 'Bo.Ek@nordic.example', date => '2031-05-31' });
    is($answer->{status}, 200, 'an offboarding is queued') or diag($answer->{body});
    is($answer->{json}{data}{scheduledAt}, '2031-05-31T17:00:00+02:00',
        'at 17:00 when no time is given, also with a date');
    my $id = $answer->{json}{data}{taskId};
    is_deeply([map { $_->{name} } @{ $stack->task($id)->{steps} }],
        [qw(disableAccount revokeSessions revokeMemberships verify)], 'its steps');
    my $again = $stack->delete('/v1/api/user',
        { userPrincipalName => 'bo.ek@nordic.example', date => '2031-06-30', time => '12:00' });
    is($again->{json}{data}{taskId}, $id, 'a second DELETE moves that task');
    like($again->{json}{data}{message}, qr/moved/, 'and says so');
    is($stack->task($id)->{scheduledAt}, '2031-06-30T12:00:00+02:00', 'the task has the new time');
    my $twin = $stack->post('/v1/api/user/offboard',
        { userPrincipalName => 'carin.sjoberg@nordic.example', date => '2031-06-30',
        firstname => 'Carin', surname => 'S', jobTitle => 'X', department => 'Y' });
    is($twin->{status}, 200, 'the POST twin does the same') or diag($twin->{body});
    my $asked_on = today();
    my $now = $stack->delete('/v1/api/user', { userPrincipalName => 'david.holm@nordic.example' });
    like($now->{json}{data}{scheduledAt}, qr/^(?:$asked_on|@{[ today() ]})T17:00:00/,
        'no date: today at 17:00');
    my $before = count_tasks();
    refused($stack->delete('/v1/api/user', {}), 400, 'BAD_REQUEST',
        qr/userPrincipalName: is required/, 'no userPrincipalName');
    refused($stack->delete('/v1/api/user'), 400, 'BAD_REQUEST', qr/userPrincipalName.*prox/s,
        'a dropped body: the message says what may have happened');
    refused($stack->delete('/v1/api/user', { userPrincipalName => 'nobody@nordic.example' }), 404,
        'NOT_FOUND', qr/nobody/, 'an unknown user');
    refused($stack->delete('/v1/api/user',
        { userPrincipalName => 'eva.berg@nordic.example', time => '5pm' }), 400, 'BAD_REQUEST',
        qr/time/, 'a bad time');
    my $queued = create(firstname => 'Not', surname => 'Yet', date => '2031-07-01');
    refused($stack->delete('/v1/api/user', { userPrincipalName => 'not.yet@nordic.example' }), 404,
        'NOT_FOUND', qr/\Q$queued->{json}{data}{taskId}\E/,
        'a creation still queued: the task to cancel is named');
    refused($stack->delete('/v1/api/user', { userPrincipalName => 'eva.berg@nordic.example' },
        key => 'read'), 403, 'FORBIDDEN', qr/read-only/, 'a read-only key');
    is(count_tasks(), $before + 1, 'only the creation was queued');
}

sub tasks {
    my $all = $stack->get('/v1/api/tasks?limit=200')->{json}{data};
    is($all->{totalCount}, scalar @{ $all->{items} }, 'all tasks on one page');
    my (%seen, $cursor, $pages);
    do {
        my $page = $stack->get('/v1/api/tasks?limit=7'
            . ($cursor ? '&cursor=' . Idadmin::Test::Stack::_escape($cursor) : ''))->{json}{data};
        $seen{ $_->{id} }++ for @{ $page->{items} };
        $cursor = $page->{nextCursor};
        $pages++;
    } while ($cursor && $pages < 50);
    is_deeply([sort keys %seen], [sort map { $_->{id} } @{ $all->{items} }],
        "paged to the end: each task");
    is(scalar(grep { $_ > 1 } values %seen), 0, 'and each once');
    my $first = $stack->get('/v1/api/tasks?limit=1')->{json}{data}{nextCursor};
    refused($stack->get("/v1/api/tasks?limit=1&state=queued&cursor="
        . Idadmin::Test::Stack::_escape($first)), 400, 'BAD_REQUEST', qr/cursor/,
        'a cursor for other filters');
    refused($stack->get('/v1/api/tasks?cursor=AAAA'), 400, 'BAD_REQUEST', qr/cursor/,
        'a forged cursor');
    refused($stack->get('/v1/api/tasks?limit=0'), 400, 'BAD_REQUEST', qr/limit.*1 to 200/s,
        'limit 0');
    refused($stack->get('/v1/api/tasks?limit=201'), 400, 'BAD_REQUEST', qr/limit/, 'limit 201');
    is($stack->get('/v1/api/tasks?limit=200')->{status}, 200, 'limit 200');
    refused($stack->get('/v1/api/tasks?state=lost'), 400, 'BAD_REQUEST', qr/state.*queued/s,
        'an unknown state');
    is($stack->get('/v1/api/tasks?type=userDelete&userPrincipalName=BO.ek%40nordic.example')
        ->{json}{data}{totalCount}, 1, 'filters');
    my $id = create(firstname => 'Cancel', surname => 'Me',
        date => '2031-07-01')->{json}{data}{taskId};
    my $cancelled = $stack->delete("/v1/api/task?id=$id");
    is($cancelled->{json}{data}{task}{state}, 'cancelled', 'a queued task can be cancelled')
        or diag($cancelled->{body});
    refused($stack->delete("/v1/api/task?id=$id"), 409, 'CONFLICT', qr/cancelled/, 'not twice');
    is(create(firstname => 'Cancel', surname => 'Me',
        date => '2031-07-01')->{json}{data}{userPrincipalName}, 'cancel.me@nordic.example',
        'its name is free again');
    refused($stack->delete('/v1/api/task?id=nothing'), 404, 'NOT_FOUND', qr/nothing/,
        'an unknown task');
    refused($stack->get('/v1/api/task?id=nothing'), 404, 'NOT_FOUND', qr/nothing/,
        'an unknown task');
    refused($stack->delete("/v1/api/task?id=$id", undef, key => 'read'), 403, 'FORBIDDEN',
        qr/read-only/, 'a read-only key cancels nothing');
}

sub seats {
    my $tasks = $stack->get('/v1/api/tasks?limit=200')->{json}{data}{items};
    my $used = 20 + scalar grep { $_->{type} eq 'userCreate' && $_->{state} eq 'queued' } @$tasks;
    $stack->apply_tenant($stack->tenant_document(seatLimit => $used + 1));
    my $limit = $used + 1;
    # The changed document holds after a while. What was created before that is cancelled, but for
    # one: all seats are taken then.
    my ($over, @given);
    my $more = sub { return create(firstname => 'Over', surname => 'Seat', date => '2031-08-01') };
    my $cancel = sub {
        $stack->delete("/v1/api/task?id=$_->{json}{data}{taskId}")->{status} == 200
            or die "not cancelled\n" for @_ };
    within(sub { $over = $more->();
        push @given, $over if $over->{status} == 200;
        $over->{status} != 200 });
    ok(scalar @given, 'the last seat is given');
    $cancel->(splice @given, 1);
    refused($over, 403, 'FORBIDDEN', qr/seat limit.*\d+ of $limit/s,
        'beyond it: 403 with used and limit');
    is(create(firstname => 'Off', surname => 'Seat', accountEnabled => JSON::PP::false(),
        date => '2031-08-01')->{status}, 200, 'a disabled account takes no seat');
    $cancel->(@given);
    is($more->()->{status}, 200, 'a cancelled creation frees its seat');
    is($more->()->{status}, 403, 'and no other');
    $stack->apply_tenant($stack->tenant_document(seatLimit => undef,
        modules => { publicApi => JSON::PP::false() }));
    my $off;
    within(sub { $off = $stack->get_user('eva.berg@nordic.example');
        $off->{status} != 200 });
    refused_plain($off, 403, qr/Public API module/, 'the module switched off is named');
    $stack->apply_tenant($stack->tenant_document(modules => { publicApi => JSON::PP::true() }));
    ok(within(sub { $stack->get_user('eva.berg@nordic.example')->{status} == 200 }),
        'and on again');
}

sub refused_plain {
    my ($answer, $status, $pattern, $name) = @_;
    ok($answer->{status} == $status && ($answer->{json}{error}{message} // '') =~ $pattern, $name)
        or diag("$answer->{status} $answer->{body}");
}

sub document {
    my $answer = $stack->httpd->client->request(GET => '/v1/openapi.json');
    is($answer->{status}, 200, 'the OpenAPI document needs no key');
    is($answer->{json}{openapi}, '3.1.0', 'OpenAPI 3.1');
    my ($update, $delete) = map {
        $answer->{json}{paths}{'/v1/api/user'}{$_}{requestBody}
            {content}{'application/json'}{schema}{properties} } qw(patch delete);
    is_deeply([map { $_->{type} } @$update{qw(firstname jobTitle profilePhoto)}],
        ['string', ['string', 'null'], ['string', 'null']], 'null clears what a PATCH may clear');
    is_deeply([map { $_->{maxLength} } @$delete{qw(firstname surname jobTitle department)}],
        [64, 64, 128, 64], 'limits of an offboarding as they are');
    for my $door (['/v1/api/user', qw(get post delete)], ['/v1/api/user/offboard', 'post'],
        ['/v1/api/task', qw(get delete)], ['/v1/api/tasks', 'get']) {
        my ($path, @methods) = @$door;
        ok($answer->{json}{paths}{$path}{$_}, "$_ $path is described") for @methods;
    }
    my @references = $answer->{body} =~ m{"#/components/schemas/(\w+)"}g;
    is_deeply([grep { !$answer->{json}{components}{schemas}{$_} } @references], [],
        'every reference leads somewhere');
    is_deeply([sort @{
        $answer->{json}{paths}{'/v1/api/user'}{post}{requestBody}
            {content}{'application/json'}{schema}{required} }],
        [qw(firstname surname)], 'required members');
}

# A client that OpenAPI::Client generates from the document has a method for each operation, judges
# each request by the document before it is sent, and the service takes what it sends.
sub generated_client {
    plan(skip_all => 'OpenAPI::Client is not installed (Debian: libopenapi-client-perl)')
        if !eval { require Mojo::Util; 1 };
    my $dir = tempdir() . '/openapi-' . $stack->engine;
    mkdir $dir or die "$dir: $!\n";
    # It asks the network for the schema of such documents, whose form t/npm judges.
    spew("$dir/" . Mojo::Util::md5_sum($_), '{}') for
        qw(https://spec.openapis.org/oas/3.1/schema/2021-05-20
        https://json-schema.org/draft/2020-12/schema);
    local $ENV{JSON_VALIDATOR_CACHE_PATH} = $dir;
    plan(skip_all => 'OpenAPI::Client is not installed (Debian: libopenapi-client-perl)')
        if !eval { require OpenAPI::Client; 1 };
    my $document = $stack->httpd->client->request(GET => '/v1/openapi.json');
    spew("$dir/openapi.json", $document->{body});
    my $client = OpenAPI::Client->new("file://$dir/openapi.json",
        base_url => Mojo::URL->new($stack->httpd->url));
    my $key = $stack->key('full');
    $client->on(after_build_tx => sub { my (undef, $tx) = @_;
        $tx->req->headers->header($_->[0] => $_->[1]) for ['X-Company-ID' => $stack->{company}],
            ['X-Api-User' => $key->{username}], ['X-Api-Key' => $key->{apiKey}] });
    my @operations = map { map { $_->{operationId} // () } grep { ref eq 'HASH' } values %$_ }
        values %{ $document->{json}{paths} };
    cmp_ok(scalar @operations, '>', 20, 'operations');
    is_deeply([grep { !$client->can($_) } @operations], [], 'each is a method');
    my $method = 'user.get';
    my $found = $client->$method({ userPrincipalName => 'eva.berg@nordic.example' })->res;
    is($found->code, 200, 'a person') or diag $found->body;
    is($found->json->{data}{user}{userPrincipalName}, 'eva.berg@nordic.example',
        'who was asked for');
    $method = 'user.create';
    my $wrong = $client->$method({}, json => { firstname => 'Only' });
    ok($wrong->error && $wrong->res->body =~ /surname/, 'a body without a surname is not sent');
    my $made = $client->$method({}, json => { firstname => 'Genna', surname => 'Rated',
        date => '2031-01-01' })->res;
    is($made->code, 200, 'a hire') or diag $made->body;
    $method = 'task.get';
    my $task = $client->$method({ id => $made->json->{data}{taskId} })->res->json->{data}{task};
    is($task->{state}, 'queued', 'is queued');
    $method = 'task.cancel';
    is($client->$method({ id => $task->{id} })->res->code, 200, 'and cancelled');
}

on_one_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine, worker => 0);
    my $early = $stack->get_user('eva.berg@nordic.example');
    refused($early, 503, 'SERVICE_UNAVAILABLE', qr/not yet synchronised/,
        'before the first synchronisation users would be guesses');
    cmp_ok($early->{headers}{'retry-after'}, '>', 0, 'with Retry-After');
    refused($stack->post('/v1/api/user', { firstname => 'A', surname => 'B' }), 503,
        'SERVICE_UNAVAILABLE', qr/not yet synchronised/, 'and nothing can be queued');
    refused($stack->post('/v1/api/user', { firstname => 'A' }), 400, 'BAD_REQUEST', qr/surname/,
        'a bad payload is told first');
    my $worker = $stack->new_worker;
    $stack->wait_synced;
    is($worker->stop, 0, 'synchronised; the worker has stopped');
    my %parts = (look_up => \&look_up, create_fields => \&create_fields,
        create_refusals => \&create_refusals, names_and_zones => \&names_and_zones,
        offboarding => \&offboarding,
        tasks => \&tasks, seats => \&seats, document => \&document,
        'a generated client' => \&generated_client);
    subtest($_ => $parts{$_}) for qw(look_up create_fields create_refusals names_and_zones
        offboarding tasks), 'a generated client', qw(seats document);
    $stack->stop;
} 'Answers are the subject. t/rest/02-seats-and-limits.t and t/rest/03-lifecycle.t write and read '
    . 'tasks over REST on both engines, t/unit/queue/task.c below it.';

done_testing();
