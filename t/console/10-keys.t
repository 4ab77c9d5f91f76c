# API keys in the console: who may see and create them, what is shown once, how one replaces
# another.
use strict;
use warnings;
use Test::More;
use POSIX ();
use Idadmin::Test qw(json_text within);
use Idadmin::Test::Console qw(refused);
use Idadmin::Test::Stack;

my ($stack, %as);
my @roles = qw(viewer operator approver key-administrator auditor administrator);

sub faults {
    my ($answer, $names, $name) = @_;
    is($answer->{status}, 400, $name);
    is_deeply([sort map { $_->{name} } @{ $answer->{json}{error}{fields} // [] }], $names,
        "$name: which") or diag $answer->{body};
}

# Administrators make keys that write, key administrators the others.
sub make {
    my ($body, %how) = @_;
    my $who = ($body->{accessLevel} // '') eq 'full' ? 'administrator' : 'key-administrator';
    return $as{$who}->post('/key', $body, {}, %how);
}

sub works {
    my ($shown) = @_;
    return $stack->httpd->client->request('GET', '/v1/api/tasks',
        headers => { 'X-Company-ID' => $shown->{companyId}, 'X-Api-User' => $shown->{username},
            'X-Api-Key' => $shown->{apiKey} })->{status};
}

sub row {
    my ($username) = @_;
    my ($row) = grep { $_->{username} eq $username }
        @{ $as{auditor}->data('/keys', { limit => 200 })->{items} };
    return $row;
}

sub rights {
    for my $role (@roles) {
        my $status = $as{$role}->get('/keys')->{status};
        is($status, $role =~ /^(?:key-administrator|auditor|administrator)$/ ? 200 : 403,
            "$role lists keys");
        my $may = $role =~ /administrator$/;
        for my $call (['POST', '/key', {}], ['POST', '/key/rotate', {}],
            ['POST', '/key/disable', {}], ['POST', '/key/enable', {}], ['DELETE', '/key']) {
            my ($method, $path, $body) = @$call;
            my $answer = $as{$role}->request($method, $path, {}, $body ? (body => $body) : ());
            is($answer->{status}, $may ? 400 : 403, "$role $method $path");
        }
    }
}

sub create {
    my $made = make({ username => 'hr-new', accessLevel => 'full', label => "L\x{f6}ner",
        expires => '2031-05-06', rateLimit => '10/60s', from => ['127.0.0.0/8', '::1/128'] });
    is($made->{status}, 200, 'made') or diag $made->{body};
    my $shown = $made->{json}{data};
    like($shown->{apiKey}, qr/^ida_\w{36}$/, 'the key');
    is($shown->{mcpSecret}, "nordic:hr-new:$shown->{apiKey}", 'the secret for MCP');
    is($shown->{expiresAt}, '2031-05-05T22:00:00Z', 'ends with the day in Stockholm');
    is(works($shown), 200, 'and it works');
    my $row = row('hr-new');
    delete @$row{qw(createdAt lastUsedAt)};
    is_deeply($row, { username => 'hr-new', accessLevel => 'full', label => "L\x{f6}ner",
        state => 'active', createdBy => 'administrator', expiresAt => $shown->{expiresAt},
        rateLimit => '10/60s', from => ['127.0.0.0/8', '::1/128'], scopes => [],
        concurrency => undef, decisions => JSON::PP::false() }, 'in the list');
    $stack->ctl_ok('key', 'create', 'nordic', 'crowd', '--access', 'read-only', '--concurrency', 3);
    is(row('crowd')->{concurrency}, 3, 'how many at the same time');
    is(make({ username => 'tickets', accessLevel => 'full', decisions => JSON::PP::true })
        ->{status}, 200, 'a key that may carry decisions');
    ok(row('tickets')->{decisions}, 'is told as such');
    faults(make({ username => 'reader-x', accessLevel => 'read-only',
        decisions => JSON::PP::true }), ['decisions'], 'one that only reads may not');
    refused(make({ username => 'hr-new', accessLevel => 'full' }), 409, 'keyExists', 'twice');
    ok(within(sub { row('hr-new')->{lastUsedAt} }), 'when it was used last');
    my $plain = make({ username => 'reader', accessLevel => 'read-only', from => [],
        scopes => ['audit', 'users'] });
    is_deeply(row('reader')->{scopes}, ['users', 'audit'], 'limited to scopes');
    faults(make({ username => 'x', accessLevel => 'full', scopes => ['users'] }), ['scopes'],
        'of read-only keys alone');
    is($plain->{json}{data}{expiresAt}, undef, 'without an end');
    $stack->worker->expect_log(qr/IDA0604/) if $stack->worker;    # a key that ends soon
    my $soon = POSIX::strftime('%Y-%m-%d', gmtime time + 20 * 86400);
    make({ username => 'soon', accessLevel => 'read-only', expires => $soon });
    is(row('soon')->{state}, 'expiring', 'one that ends within thirty days');
    my ($by) = grep { $_->{action} eq 'key.create' && ($_->{target} // '') eq 'hr-full' }
        @{ $as{auditor}->data('/audit', { limit => 200, category => 'command' })->{items} };
    is(row('hr-full')->{createdBy}, $by->{actor}, 'made by idadminctl, by whom its record names');
}

sub bad {
    faults(make({}), [qw(accessLevel username)], 'nothing given');
    faults(make({ username => 'a b', accessLevel => 'full', label => 'x' x 101,
        expires => '2020-01-01', rateLimit => 'fast', from => ['10.1.2.3/8'] }),
        [qw(expires from label rateLimit username)], 'all wrong');
    faults(make({ username => 'x', accessLevel => 'legacy' }), ['accessLevel'],
        'no new legacy keys');
    faults(make({ username => 'x', accessLevel => 'full', expiresAt => '2031-01-01' }),
        ['expiresAt'], 'a member that is not known');
    faults(make({ username => 'x', accessLevel => 'full', from => [{ a => 1 }] }), ['from'],
        'a network that is no text');
    faults(make({ username => 'x', accessLevel => 'full', expires => '2031-02-29' }), ['expires'],
        'no such day');
    faults(make({ username => 'x', accessLevel => 'full' },
        headers => { 'Idempotency-Key' => 'once' }), ['Idempotency-Key'],
        'a secret is kept nowhere');
    ok(!row('x'), 'nothing was made');
}

sub change {
    my $admin = $as{administrator};
    $stack->httpd->expect_log(qr/IDA0210.*user disabled/);
    my $shown = make({ username => 'to-change', accessLevel => 'read-only' })->{json}{data};
    is(works($shown), 200, 'it works');
    like($admin->post('/key/disable', {}, { username => 'to-change' })->{json}{data}{message},
        qr/to-change is disabled/, 'disabled');
    is(row('to-change')->{state}, 'disabled', 'so it says');
    ok(within(sub { works($shown) == 401 }), 'refused soon');
    is($admin->post('/key/enable', {}, { username => 'to-change' })->{status}, 200, 'enabled');
    ok(within(sub { works($shown) == 200 }), 'works again');
    is($admin->request('DELETE', '/key', { username => 'to-change' })->{status}, 200, 'deleted');
    ok(!row('to-change'), 'gone');
    for my $call (['POST', '/key/disable'], ['POST', '/key/enable'], ['DELETE', '/key']) {
        my $answer = $admin->request($call->[0], $call->[1], { username => 'to-change' },
            $call->[0] eq 'POST' ? (body => {}) : ());
        refused($answer, 404, 'keyUnknown', "$call->[1] of none");
    }
}

sub rotate {
    my $admin = $as{administrator};
    my $replace = sub { return $admin->post('/key/rotate', $_[0], {}, @_[1 .. $#_]) };
    my $old = make({ username => 'old', accessLevel => 'full', label => 'HR', rateLimit => '9/60s',
        from => ['127.0.0.0/8'] })->{json}{data};
    my $day = sub { POSIX::strftime('%Y-%m-%d', gmtime time + 7 * 86_400) };
    my @week = $day->();
    my $made = $replace->({ username => 'old' });
    is($made->{status}, 200, 'replaced') or diag $made->{body};
    my $new = $made->{json}{data};
    like($new->{username}, qr/^old-20\d\d(?:0[1-9]|1[0-2])$/, 'named after the month');
    is($new->{replaces}, 'old', 'which it replaces');
    my %same = map { $_ => row($new->{username})->{$_} }
        qw(accessLevel label rateLimit from scopes);
    is_deeply(\%same, { accessLevel => 'full', label => 'HR', rateLimit => '9/60s',
        from => ['127.0.0.0/8'], scopes => [] }, 'with what the old one had');
    is($new->{expiresAt}, undef, 'without its end');
    is(works($old), 200, 'both work');
    is(works($new), 200, 'for now');
    is(row('old')->{expiresAt}, $new->{oldExpiresAt}, 'the old one ends');
    push @week, $day->();
    like($new->{oldExpiresAt}, qr/^(?:$week[0]|$week[1])/, 'in a week');
    my $longer = $replace->({ username => 'old', newUsername => 'old-2', overlapDays => 90,
        expires => '2032-01-01' })->{json}{data};
    is($longer->{oldExpiresAt}, $new->{oldExpiresAt}, 'never later than before');
    is($longer->{expiresAt}, '2031-12-31T23:00:00Z', 'the new one with an end of its own');
    $replace->({ username => 'old', newUsername => 'old-3', overlapDays => 0 });
    is(row('old')->{state}, 'disabled', 'without overlap at once');
    refused($replace->({ username => 'old', newUsername => 'old-2' }), 409, 'keyExists', 'taken');
    refused($replace->({ username => 'none' }), 404, 'keyUnknown', 'no such key');
    faults($replace->({ username => 'old', newUsername => 'a b', overlapDays => 91 }),
        ['overlapDays'], 'too long an overlap');
    faults($replace->({ username => 'old', newUsername => 'a b' }), ['newUsername'], 'a bad name');
    my $keeper = $as{'key-administrator'};
    refused($keeper->post('/key', { username => 'y', accessLevel => 'full' }), 403, 'rightMissing',
        'a key administrator makes no key that writes');
    refused($keeper->post('/key/rotate', { username => 'old' }), 403, 'rightMissing',
        'nor gets the secret of one by replacing it');
    ok(!row('y') && !row('old-4'), 'nothing was made');
    is($keeper->get('/user/preview', { firstname => 'A', surname => 'B', employeeId => '1' })
        ->{status}, 403, 'nor learns whose an employeeId is');
    faults($replace->({ username => 'a' x 64 }), ['newUsername'], 'no room for the month');
    faults($replace->({ username => 'old' }, headers => { 'Idempotency-Key' => 'k' }),
        ['Idempotency-Key'], 'nor is this secret kept');
}

sub pages {
    my (@seen, $cursor);
    do {
        my $page = $as{auditor}->data('/keys', { limit => 3, cursor => $cursor });
        push @seen, map { $_->{username} } @{ $page->{items} };
        is($page->{totalCount}, scalar @{ $as{auditor}->data('/keys', { limit => 200 })->{items} },
            'all are counted');
        $cursor = $page->{nextCursor};
    } while ($cursor);
    is_deeply(\@seen, [sort @seen], 'pages by name');
    ok(@seen > 6, 'to the end');
}

sub record {
    my @records;
    within(sub {
        @records = grep { $_->{action} =~ /^key\.(?!list)/ && $_->{outcome} eq 'ok' }
            @{ $as{auditor}->data('/audit', { limit => 200, category => 'portal' })->{items} };
        return grep { $_->{action} eq 'key.rotate' } @records;
    });
    my ($made) = grep { $_->{action} eq 'key.create' && $_->{target} eq 'hr-new' } @records;
    is($made->{actor}, 'administrator', 'who made it');
    is($made->{endpoint}, 'console POST /key', 'where');
    is_deeply($made->{parameters}{from}, ['127.0.0.0/8', '::1/128'], 'for whom');
    my ($replaced) = grep { $_->{action} eq 'key.rotate' } reverse @records;
    is($replaced->{target}, 'old', 'what was replaced');
    like($replaced->{parameters}{newUsername}, qr/^old-/, 'by which');
    my %seen = map { $_->{action} => 1 } @records;
    ok($seen{"key.$_"}, "key.$_ is on record") for qw(disable enable delete);
    my $all = json_text(\@records);
    unlike($all, qr/ida_\w{30}/, 'no key anywhere');
    my $strays = sub { return [map { $_->{name} } @{ $stack->ctl('audit', 'verify', 'nordic',
        '--json')->{json}{strays} }] };
    is_deeply($strays->(), [], 'each key is as it was recorded last');
    $stack->sql("UPDATE api_key SET disabled = 0 WHERE username = 'old'");
    ok(within(sub { "@{ $strays->() }" eq 'old' }), 'the replaced one enabled by hand is named');
    $stack->sql("UPDATE api_key SET disabled = 1 WHERE username = 'old'");
}

for_each_stack {
    ($stack) = @_;
    %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_,
        company => 'nordic') } @roles;
    subtest "$_->[0]" => $_->[1] for ['rights', \&rights], ['create', \&create], ['bad', \&bad],
        ['change', \&change], ['rotate', \&rotate], ['pages', \&pages], ['record', \&record];
} one_engine =>
    'unit/store/tenant proves the rows of API users on both engines',
    httpd => { console => 1, rate_limits => { person => '100000/60s' } };

done_testing;
