# Hires in the console's API: the name and time that a creation would get, and why it is refused.
use strict;
use warnings;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(within);
use Idadmin::Test::Console ();
use Idadmin::Test::Stack qw(for_each_stack);

my ($stack, %as, $domain);

sub preview { my (%arguments) = @_; return $as{operator}->data('/user/preview',
    { firstname => 'Maja', surname => "Str\x{c3}\x{b6}m", %arguments }) }
sub hire { my (%more) = @_; return $as{operator}->post('/user', { firstname => 'Maja',
    surname => 'Ek', date => '2031-03-28', time => '09:00', %more }) }
sub error { my ($answer) = @_; my $e = $answer->{json}{error}; return [$answer->{status},
    $e->{reason}, map { [@$_{qw(userPrincipalName state taskId)}] }
        @{ $e->{details}{people} // [] }] }

sub names {
    my $look = preview();
    is_deeply([@$look{qw(displayName userPrincipalName mail timeZone adjustment sameEmployeeId)}],
        ["Maja Str\x{f6}m", "maja.strom\@$domain", "maja.strom\@$domain", 'Europe/Stockholm', undef,
        []], 'names as a creation makes them');
    is($look->{numbered}, JSON::PP::false(), 'the first choice is free');
    cmp_ok($look->{seats}{used}, '>', 3, 'seats are counted');
    is($look->{seats}{limit}, undef, 'without a limit');
    is(preview()->{userPrincipalName}, $look->{userPrincipalName}, 'a look reserves nothing');
    hire(surname => 'Strom');
    $look = preview();
    is_deeply([@$look{qw(userPrincipalName numbered)}],
        ["maja.strom2\@$domain", JSON::PP::true()], 'a name that is taken gets a number');
    $look = preview(middleName => 'Li', usernameFormat => '{surname}', emailFormat =>
        '{surname}.{firstname}', displayNameFormat => '{surname}, {firstname} {middleName}');
    is($look->{userPrincipalName}, "strom\@$domain", 'a format that is typed in');
    like($look->{displayName}, qr/^Str\x{f6}m, Maja Li$/, 'of the name, too');
    my $bad = $as{operator}->get('/user/preview', { firstname => 'A', usernameFormat => '{x}',
        date => '2031-02-30' });
    is_deeply([$bad->{status}, sort map { $_->{name} } @{ $bad->{json}{error}{fields} }],
        [400, 'surname'], 'what is missing');
    $bad = $as{operator}->get('/user/preview', { firstname => 'A', surname => 'B',
        usernameFormat => '{x}', date => '2031-02-30' });
    is_deeply([$bad->{status}, sort map { $_->{name} } @{ $bad->{json}{error}{fields} }],
        [400, 'date', 'usernameFormat'], 'what is wrong');
    is($as{viewer}->get('/user/preview', { firstname => 'A', surname => 'B' })->{status}, 403,
        'not for everybody');
    my @looks;
    within(sub { @looks = grep { $_->{action} eq 'user.preview' } @{
        $as{auditor}->data('/audit', { limit => 200, category => 'portal',
        includeReads => 'true' })->{items} };
        return @looks >= 7 });
    is(scalar @looks, 7, 'each look is on record');
    is(scalar(grep { keys %{ $_->{parameters} // {} } } @looks), 0,
        'who was typed in is not on record');
}

sub moments {
    my %moments = (
        '2031-03-30 02:30' => ['2031-03-30T01:00:00Z', 'skipped'],
        '2031-03-30 03:00' => ['2031-03-30T01:00:00Z', undef],
        '2031-10-26 02:30' => ['2031-10-26T00:30:00Z', 'doubled'],
        '2031-10-26 01:59' => ['2031-10-25T23:59:00Z', undef],
        '2031-10-26 03:00' => ['2031-10-26T02:00:00Z', undef],
    );
    for my $when (sort keys %moments) {
        my ($date, $time) = split / /, $when;
        my $look = preview(date => $date, time => $time);
        is_deeply([@$look{qw(scheduledAtUtc adjustment)}], $moments{$when}, $when);
        my $plan = $as{operator}->post('/user', { firstname => 'A', surname => 'B', date => $date,
            time => $time }, { dryRun => 'true' })->{json}{data}{plan};
        is_deeply([@$plan{qw(scheduledAtUtc adjustment)}], $moments{$when}, 'so says the plan');
    }
    my $yesterday = do { my @t = gmtime(time - 172800);
        sprintf '%04d-%02d-%02d', $t[5] + 1900, $t[4] + 1, $t[3] };
    is(preview(date => $yesterday)->{adjustment}, 'past', 'what has passed');
    my $plan = $stack->post('/v1/api/user?dryRun=true', { firstname => 'A', surname => 'B' })
        ->{json}{data}{plan};
    is_deeply([@$plan{qw(displayName timeZone adjustment)}, sort keys %{ $plan->{seats} }],
        ['A B', 'Europe/Stockholm', undef, 'limit', 'used'], 'a plan of REST tells the same');
    my $id = hire(surname => 'Flytt')->{json}{data}{taskId};
    my $moved = $as{operator}->request('PATCH', '/task', { id => $id, dryRun => 'true' },
        body => { date => '2031-03-30', time => '02:30' });
    is($moved->{json}{data}{plan}{adjustment}, 'skipped', 'and that of a move');
}

sub reasons {
    my $first = hire(employeeId => 'E-1')->{json}{data};
    my @coming = [$first->{userPrincipalName}, 'coming', $first->{taskId}];
    is_deeply(error(hire(employeeId => 'E-1')), [409, 'employeeIdTaken', @coming],
        'a number that is taken');
    is_deeply(preview(employeeId => 'E-1')->{sameEmployeeId}, [{
        userPrincipalName => $coming[0][0], state => 'coming', taskId => $coming[0][2] }],
        'which the preview says');
    is_deeply(error(hire(employeeId => 'E-2', rehire => 'restore')), [409, 'nothingToRestore'],
        'no account to restore');
    my $upn = "eva.berg\@$domain";
    $as{operator}->request('PATCH', '/user', {}, body => { userPrincipalName => $upn,
        employeeId => 'E-3' });
    within(sub { @{ preview(employeeId => 'E-3')->{sameEmployeeId} } });
    is_deeply(error(hire(employeeId => 'E-3')), [409, 'employeeIdTaken', [$upn, 'enabled', undef]],
        'an active person');
    my $leaver = $as{operator}->post('/user/offboard', { userPrincipalName => $upn,
        date => '2031-01-01' })->{json}{data}{taskId};
    is_deeply(error(hire(employeeId => 'E-3')),
        [409, 'rehireUndecided', [$upn, 'leaving', $leaver]],
        'a person who is leaving');
    is(hire(employeeId => 'E-3', rehire => 'new')->{status}, 200, 'decided: a new account');
    $stack->apply_tenant($stack->tenant_document(seatLimit => 3));
    my $full = hire();
    is_deeply(error($full), [403, 'seatLimit'], 'no seat');
    my $details = $full->{json}{error}{details};
    is($details->{limit}, 3, 'of how many');
    cmp_ok($details->{used}, '>=', 3, 'are taken');
    is_deeply(preview()->{seats}, $details, 'as the preview says');
}

# A hire that is queued: what it was asked with, and another in its place.
sub replaced {
    my $old = hire(surname => 'Byt', jobTitle => 'Clerk', manager => "eva.berg\@$domain",
        employeeId => 'E-9')->{json}{data};
    my $asked = sub { return $as{viewer}->get('/task/asked', { id => $_[0] }) };
    is_deeply($asked->($old->{taskId})->{json}{data}{asked}, { firstname => 'Maja',
        surname => 'Byt', jobTitle => 'Clerk', manager => "eva.berg\@$domain",
        employeeId => 'E-9', accountEnabled => JSON::PP::true(), photo => JSON::PP::false() },
        'what was asked');
    is($asked->('01nothing')->{status}, 404, 'of a task that exists');
    my %with = (surname => 'Byt', jobTitle => 'Chief', employeeId => 'E-9',
        replaces => $old->{taskId});
    my $plan = $as{operator}->post('/user', { firstname => 'Maja', date => '2031-03-29', %with },
        { dryRun => 'true' })->{json}{data}{plan};
    is($plan->{userPrincipalName}, $old->{userPrincipalName}, 'the name stays');
    is($stack->task($old->{taskId})->{state}, 'queued', 'a dry run replaces nothing');
    my $key = { 'Idempotency-Key' => 'replace-1' };
    my $new = $as{operator}->request('POST', '/user', {}, headers => $key, body => {
        firstname => 'Maja', date => '2031-03-29', %with })->{json}{data};
    is($new->{userPrincipalName}, $old->{userPrincipalName}, 'name and number are free for it');
    is($stack->task($old->{taskId})->{state}, 'cancelled', 'the old one is cancelled');
    is($asked->($new->{taskId})->{json}{data}{asked}{jobTitle}, 'Chief', 'the new one counts');
    is($as{operator}->request('POST', '/user', {}, headers => $key, body => {
        firstname => 'Maja', date => '2031-03-29', %with })->{json}{data}{taskId},
        $new->{taskId}, 'asked again it is the same');
    is_deeply(error(hire(%with)), [409, 'taskOver'], 'only once');
    my @cancelled;
    within(sub { @cancelled = grep { $_->{action} eq 'task.cancel' } @{
        $as{auditor}->data('/audit', { limit => 200, category => 'portal' })->{items} } });
    like($cancelled[0]{detail}, qr/another creation replaces it/, 'on record, with the reason');
}

# What the request and workflows give is named before, and given.
sub given {
    my $group = $as{operator}->data('/groups', { empty => 'false' })->{items}[0]{name};
    $stack->apply_tenant($stack->tenant_document(
        roleTemplates => [{ name => 'Seller', groups => [$group] }],
        workflows => [{ name => 'Joiner', trigger => 'userCreate', actions => [
            { type => 'addToGroup', group => $group, continueOnError => JSON::PP::true() },
            { type => 'assignRoleTemplate', roleTemplate => 'Seller',
                continueOnError => JSON::PP::true() }] }]));
    my %person = (firstname => 'Rolf', surname => 'Mall', roleTemplates => ['seller']);
    my $plan = $as{operator}->post('/user', { %person }, { dryRun => 'true' })->{json}{data}{plan};
    is_deeply($plan->{access}, [
        { action => 'assignRoleTemplate', roleTemplate => 'Seller', groups => [$group] },
        { workflow => 'Joiner', action => 'addToGroup', group => $group },
        { workflow => 'Joiner', action => 'assignRoleTemplate', roleTemplate => 'Seller',
            groups => [$group] }], 'each group by its name');
    my $hired = $as{operator}->post('/user', { %person })->{json}{data};
    my $task = $stack->wait_task($hired->{taskId});
    is($task->{state}, 'done', 'hired with it') or diag explain $task;
    my ($step) = grep { $_->{name} eq 'assignRoleTemplate Seller' } @{ $task->{steps} };
    is($step->{outcome}, 'done', 'a step of its own gives it') or diag explain $task;
    is_deeply([map { $_->{assignedBy} } grep {
        $_->{user}{userPrincipalName} eq $hired->{userPrincipalName} } @{ $as{operator}->data(
        '/role/assignments', { roleTemplate => 'Seller' })->{items} }], ['operator'],
        'assigned by the person who asked');
    ok(within(sub { my $access = $as{viewer}->get('/user/access', {
        user => $hired->{userPrincipalName} });
        grep { $_->{resource}{name} eq $group && $_->{source} eq 'role_template' }
        @{ $access->{json}{data}{items} // [] } }), 'and the group is there by it');
    for my $wrong (['Nothing'], 'Seller', [('Seller') x 11]) {
        is($as{operator}->post('/user', { %person, roleTemplates => $wrong })->{status}, 400,
            'what is no list of role templates is refused');
    }
}

for my $kind ({ name => 'on-premises' }, { name => 'cloud', cloud => {} }) {
    my %how = %$kind;
    subtest delete $how{name} => sub {
        for_each_stack {
            ($stack) = @_;
            $domain = $stack->domain;
            %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_,
                company => $stack->{company}) } @Idadmin::Test::Httpd::console_users;
            subtest names => \&names;
            subtest moments => \&moments;
            subtest replaced => \&replaced;
            subtest given => \&given;
            subtest reasons => \&reasons;
        } one_engine =>
            'unit/queue/task proves names and seats on both engines',
            %how, httpd => { rate_limits => { person => '100000/60s' }, console => 1 };
    };
}

done_testing;
