# Each command of idadminctl prints, refuses and changes what the documentation says, and every
# action has its audit record.
use strict;
use warnings;
use utf8;
use Test::More;
use Time::Piece ();
use Encode ();
use Idadmin::Test
    qw(on_one_engine json_text json_data within slurp spew secret_file tempdir);
use Idadmin::Test::Stack ();

my $domain = $Idadmin::Test::Slapd::domain;
my $stack;

sub ctl { return $stack->ctl(@_) }

# Refused: exit 1, one sentence that says why, nothing on standard output.
sub refused {
    my ($result, $pattern, $name) = @_;
    is($result->{exit}, 1, "$name: exit 1") or diag("$result->{out}$result->{err}");
    like($result->{err}, $pattern, "$name: says why");
    is(scalar(() = $result->{err} =~ /\n/g), 1, "$name: in one line") or diag($result->{err});
    is($result->{out}, '', "$name: nothing else");
}

sub usage {
    my ($result, $pattern, $name) = @_;
    is($result->{exit}, 2, "$name: exit 2") or diag("$result->{out}$result->{err}");
    like($result->{err}, $pattern, "$name: says what is wanted");
}

sub help_and_usage {
    my $all = ctl('--help');
    is($all->{exit}, 0, '--help');
    my @commands =
        $all->{out} =~ /^\ \ ((?:schema|tenant|key|user|task|audit|cache|sync|status)(?:
            \ [a-z-]+)?)(?=\ [A-Z\[]|\ *$)/mgx;
    is(scalar @commands, 36, 'lists every command');
    for my $command (@commands) {
        my $help = ctl(split(/ /, $command), '--help');
        is($help->{exit}, 0, "$command --help");
        like($help->{out}, qr/^Usage: idadminctl \Q$command\E/m, "$command --help is about it");
    }
    like(ctl($_)->{out}, qr/^idadminctl \d+\.\d+/, $_) for qw(--version -V);
    is(ctl('-h')->{out}, $all->{out}, '-h');
    usage(ctl(), qr/command is wanted/, 'no command');
    usage(ctl('frobnicate'), qr/no command frobnicate/, 'unknown command');
    usage(ctl('tenant'), qr/requires one of its commands/, 'noun without verb');
    usage(ctl('tenant', 'list', '--what'), qr/unknown option --what/, 'unknown option');
    usage(ctl('tenant', 'list', 'x'), qr/no arguments/, 'too many arguments');
    usage(ctl('key', 'create', 'nordic'), qr/ID USERNAME/, 'too few arguments');
    usage(ctl('task', 'list', 'nordic', '--state', 'odd'),
        qr/--state must name one or more of queued, running/, 'bad state');
    usage(ctl('task', 'list', 'nordic', '--limit', '0'), qr/--limit must be/, 'bad limit');
    usage(ctl('task', 'list', 'nordic', '--limit', '5x'), qr/--limit must be/,
        'a limit with something behind it');
    usage(ctl('audit', 'list', 'nordic', @$_),
        qr/--limit must be a whole number from 1 to 200; see idadminctl audit list --help/,
        "audit list @$_") for ['--limit', '5x'], ['--limit', '201'];
    refused(ctl('audit', 'list', 'nordic', '--cursor', 'abc'), qr/cursor/, 'a cursor that is none');
    usage(ctl('request', 'list', 'nordic', '--limit', '2.5'), qr/--limit must be/,
        'bad limit of requests');
    usage(ctl('taks', '--help'), qr/no command taks/, 'help of a misspelt command');
    usage(ctl('task', 'lits', '--help'), qr/task requires one of its commands/,
        'of a misspelt verb');
    usage(ctl('audit', 'list', 'nordic', '--category', 'x'), qr/--category must be/,
        'bad category');
    usage(ctl('audit', 'list', 'nordic', '--from', '2026-02-30'), qr/--from/, 'bad date');
    usage(ctl('audit', 'list', 'nordic', '--from', '2026-03-02', '--to', '2026-03-01'),
        qr/--from must not be after to/, 'from after to');
}

sub tenants {
    my $document = $stack->tenant_document(seatLimit => 50);
    my $again = ctl('tenant', 'apply', '-', '--json', { stdin => json_text($document) });
    is_deeply([map { $_->{member} } @{ $again->{json}{changes} }], ['seatLimit'],
        'apply prints what changed');
    is_deeply($again->{json}{changes}[0], { member => 'seatLimit', before => undef, after => 50 },
        'with the values');
    ok(!$again->{json}{created}, 'the tenant was there');
    is_deeply(ctl('tenant', 'apply', '-', '--json',
        { stdin => json_text($document) })->{json}{changes}, [], 'the same again changes nothing');
    like(ctl('tenant', 'apply', '-', { stdin => '{"companyId":"nordic","seatLimit":null}' })->{out},
        qr/seatLimit: 50 -> \(absent\)/, 'null unsets, the rest stays');
    my $show = ctl('tenant', 'show', 'nordic');
    is($show->{json}{name}, 'Nordic AB', 'show prints the document');
    ok(!exists $show->{json}{seatLimit}, 'without what was unset');
    like(ctl('tenant', 'list')->{out}, qr/^nordic +Nordic AB +onPremises/m, 'list');

    my $fault = ctl('tenant', 'apply', '-', '--json', { stdin => json_text({ %$document,
        seatLimit => -3, colour => 'red' }) });
    is($fault->{exit}, 1, 'refused with --json');
    is($fault->{out}, '', 'no document');
    my $error = json_data($fault->{err})->{error};
    is($error->{code}, 'BAD_REQUEST', 'the error is JSON');
    is_deeply([sort map { $_->{name} } @{ $error->{fields} }], [qw(colour seatLimit)],
        'and names each member');
    my $usage = ctl('tenant', 'list', '--what', '--json');
    is($usage->{exit}, 2, 'misuse');
    like(json_data($usage->{err})->{error}{message}, qr/unknown option --what; see/, 'too');
    like(ctl('--version', '--json')->{json}{version}, qr/^\d/, 'the version');
    my $before = ctl('tenant', 'show', 'nordic')->{out};
    my $dry = ctl('tenant', 'apply', '-', '--dry-run', { stdin => json_text($document) });
    is($dry->{exit}, 2, '--dry-run: exit status 2, something would change');
    like($dry->{out}, qr/^Tenant nordic would be changed\.\n  seatLimit: \(absent\) -> 50\n\z/,
        'what would');
    is(ctl('tenant', 'show', 'nordic')->{out}, $before, 'nothing did');
    my $same = ctl('tenant', 'apply', '-', '--dry-run', '--json', { stdin => $before });
    is($same->{exit}, 0, 'of what is there: 0');
    is_deeply($same->{json}, { companyId => 'nordic', created => JSON::PP::false(), changes => [],
        notTakenOver => undef, dryRun => JSON::PP::true() }, 'as JSON');
    is(ctl('tenant', 'apply', '-', '--dry-run', { stdin => '{"companyId":"nordic"}' })->{exit}, 0,
        'an absent member stays');
    refused(ctl('tenant', 'apply', '-', '--dry-run', '--replace',
        { stdin => '{"companyId":"nordic"}' }), qr/name.*is required/s,
        '--replace: but not of the whole truth');
    my %less = %{ json_data($before) };
    delete $less{hygiene};
    my $replaced = ctl('tenant', 'apply', '-', '--dry-run', '--replace', '--json',
        { stdin => json_text({ %less, displayNameFormat => '{surname}' }) });
    is($replaced->{exit}, 2, 'a member that goes or changes is named');
    is_deeply([sort map { "$_->{member}: " . ($_->{after} // 'absent') }
        @{ $replaced->{json}{changes} }], ['displayNameFormat: {surname}'],
        'one by one') or diag explain $replaced->{json}, $before;
    refused(ctl('tenant', 'apply', '-',
        { stdin => json_text({ %$document, seatLimit => -3,
        brake => { offboardingsPerHour => 'x' } }) }), qr/seatLimit.*brake/, 'bad members');
    refused(ctl('tenant', 'apply', '-', { stdin => json_text({ %$document, colour => 'red' }) }),
        qr/colour/, 'unknown member');
    refused(ctl('tenant', 'apply', '-',
        { stdin => '{"companyId":"nordic","name":"a","name":"b"}' }), qr/name/, 'doubled member');
    refused(ctl('tenant', 'apply', '-', { stdin => 'no json' }), qr/JSON|line/i, 'no JSON');
    refused(ctl('tenant', 'apply', '/nonexistent/file'), qr/No such file/, 'no file');
    my $open = secret_file('open.password', "x\n");
    chmod 0644, $open;
    my $loose = $stack->tenant_document;
    $loose->{directories}{onPremises}{bindPasswordFile} = $open;
    refused(ctl('tenant', 'apply', '-', { stdin => json_text($loose) }),
        qr/bindPasswordFile.*open\.password/, 'a secret that others can read');
    my $hook = sub { return { %{ $stack->tenant_document },
        workflows => [{ name => 'Call', trigger => 'userCreate',
        actions => [{ type => 'callWebhook', url => 'https://x.example',
        secretFile => $_[0] }] }] } };
    for my $case ([short => "whsec_dG9vIHNob3J0\n"], [plain => "secret\n"],
        [words => "whsec_" . 'A' x 44 . " other\n"], [blank => "\n"]) {
        my $file = secret_file("hook.$case->[0]." . $stack->engine, $case->[1]);
        refused(ctl('tenant', 'apply', '-', { stdin => json_text($hook->($file)) }),
            qr/workflows\[0\]\.actions\[0\]\.secretFile: .*\Q$file\E.*(?:24 to 64|no secret)/,
            "a webhook secret that never works ($case->[0])");
    }
    is(ctl('tenant', 'show', 'nordic')->{out}, $before, 'no refused document changed anything');
    refused(ctl('tenant', 'show', 'nobody'), qr/no tenant nobody/, 'unknown tenant');

    my $file = spew(tempdir() . '/second.json',
        json_text($stack->tenant_document(companyId => 'second', name => 'Zweite ÖBB')));
    chmod 0644, $file;
    my $made = ctl('tenant', 'apply', $file);
    is($made->{exit}, 0, 'a second tenant from a file') or diag($made->{err});
    like($made->{out}, qr/Tenant second was created/, 'is said to be new');
}

sub keys_of_a_tenant {
    my $made = ctl('key', 'create', 'nordic', 'hr-2', '--access', 'full', '--label',
        Encode::encode_utf8('Löner'), '--rate-limit', '10/60s', '--expires', '2031-05-06',
        '--json');
    is($made->{exit}, 0, 'key create') or diag($made->{err});
    is_deeply([sort keys %{ $made->{json} }],
        [qw(accessLevel apiKey companyId expiresAt label mcpSecret username)], 'its members');
    like($made->{json}{apiKey}, qr/^ida_[0-9A-Za-z]{36,}$/, 'a key');
    is($made->{json}{mcpSecret}, "nordic:hr-2:$made->{json}{apiKey}", 'and the secret made of it');
    is($made->{json}{label}, 'Löner', 'label');
    my ($row) = grep { $_->{username} eq 'hr-2' } @{
        ctl('key', 'list', 'nordic', '--json')->{json}{items} };
    is($row->{rateLimit}, '10/60s', 'its own rate');
    like($row->{expiresAt}, qr/^2031-05-05T22:00:00Z$/, 'ends as the day begins in Stockholm');
    my $of = sub { my ($name) = @_;
        return (grep { $_->{username} eq $name } @{
        ctl('key', 'list', 'nordic', '--json')->{json}{items} })[0] };
    is_deeply([@$row{qw(from lastUsedAt)}], [[], undef], 'used from anywhere, and not yet');
    my $used = $stack->create_key(used => 'hr-Used', 'read-only', '--from',
        '127.0.0.0/8,2001:DB8::/32');
    my $before = time;
    is($stack->get('/v1/api/tasks', key => 'used')->{status}, 200, 'a key is used');
    my $after = time;
    ok(within(sub { $of->('hr-Used')->{lastUsedAt} }),
        'key list tells when it was used last');
    my $said = Time::Piece->strptime($of->('hr-Used')->{lastUsedAt} =~ s/(?:\.\d+)?Z$//r,
        '%Y-%m-%dT%H:%M:%S')->epoch;
    ok($before <= $said && $said <= $after, 'which was now') or diag("$before $said $after");
    is_deeply($of->('hr-Used')->{from}, ['127.0.0.0/8', '2001:db8::/32'],
        'and from where it may be used');
    is($of->('hr-2')->{lastUsedAt}, undef, 'of another one nothing');
    $stack->ctl_ok('key', 'delete', 'nordic', 'hr-Used');
    $stack->create_key(used => 'hr-Used', 'read-only');
    is($of->('hr-Used')->{lastUsedAt}, undef, 'nor of a new one that bears the name of an old one');
    $stack->ctl_ok('key', 'delete', 'nordic', 'hr-Used');
    my $list = ctl('key', 'list', 'nordic')->{out};
    unlike($list, qr/ida_/, 'the list shows no key');
    like($list, qr/^hr-2 +full +L/m, 'but the API user');
    for my $change (['disable', 'is disabled'], ['enable', 'works again'],
        ['delete', 'is deleted']) {
        like(ctl('key', $change->[0], 'nordic', 'hr-2')->{out}, qr/hr-2 $change->[1]/,
            "key $change->[0]");
    }
    refused(ctl('key', 'delete', 'nordic', 'hr-2'), qr/no API user hr-2/, 'a key that is gone');
    refused(ctl('key', 'create', 'nordic', 'hr-full', '--access', 'full'), qr/already.*rotate/,
        'a username twice');
    refused(ctl('key', 'create', 'nobody', 'x', '--access', 'full'), qr/no tenant nobody/,
        'a key of no tenant');
    usage(ctl('key', 'create', 'nordic', 'x', '--access', 'full', '--expires', '2020-01-01'),
        qr/begun already/, 'expired at birth');
    usage(ctl('key', 'create', 'nordic', 'x', '--access', 'full', '--expires', '2031-02-29'),
        qr/no day/, 'no such day');
    usage(ctl('key', 'create', 'nordic', 'x', '--access', 'full', '--label', 'a' x 101), qr/100/,
        'label of 101 characters');
    is(ctl('key', 'create', 'nordic', 'long', '--access', 'legacy', '--label',
        Encode::encode_utf8('ä' x 100))->{exit}, 0, 'label of 100 characters');
    usage(ctl('key', 'create', 'nordic', 'x', '--access', 'full', '--from', $_->[0]), $_->[1],
        "--from $_->[0]") for ['10.0.0.0/33', qr/--from .*is no network/],
        ['host.example', qr/is no network/], ['10.1.2.3/8', qr/did you mean 10\.0\.0\.0\/8/];
    usage(ctl('key', 'create', 'nordic', 'x'), qr/--access/, 'no access level');
    usage(ctl('key', 'create', 'nordic', 'x', '--access', 'some'), qr/--access/,
        'unknown access level');
    usage(ctl('key', 'create', 'nordic', 'x y', '--access', 'full'), qr/USERNAME/, 'bad username');
    usage(ctl('key', 'create', 'nordic', 'x', '--access', 'full', '--rate-limit', 'fast'),
        qr/--rate-limit/, 'bad rate');
}

sub tasks {
    my @ids = map { $stack->post('/v1/api/user',
        { firstname => $_, surname => 'Later',
        date => '2031-01-02' })->{json}{data}{taskId} } qw(One Two Three);
    my $list = ctl('task', 'list', 'nordic', '--json')->{json};
    is_deeply([map { $_->{id} } @{ $list->{items} }], [reverse @ids], 'task list, newest first');
    is($list->{nextCursor}, undef, 'nothing is said of a whole one');
    my $cut = ctl('task', 'list', 'nordic', '--limit', 1, '--json')->{json};
    is_deeply([map { $_->{id} } @{ $cut->{items} }], [$ids[2]], 'a page of it');
    is($cut->{totalCount}, 3, 'says of how many');
    is_deeply([map { $_->{id} } @{ ctl('task', 'list', 'nordic', '--json', '--limit', 1,
        '--cursor', $cut->{nextCursor})->{json}{items} }], [$ids[1]], 'and how to go on');
    my $shown = ctl('task', 'list', 'nordic', '--limit', 1)->{out};
    like($shown, qr/^1 of 3; --cursor (\S+) goes on, --all lists the rest\.$/m, 'to people, too');
    is_deeply([map { $_->{id} } @{
        ctl('task', 'list', 'nordic', '--limit', 1, '--all', '--json')->{json}{items} }],
        [reverse @ids], '--all lists every page');
    is_deeply(ctl('task', 'list', 'nordic', '--json', '--state', 'done')->{json}{items}, [],
        'by state');
    is(scalar @{ ctl('task', 'list', 'nordic', '--json', '--user',
        "two.later\@$domain")->{json}{items} }, 1, 'by person');
    my $show = ctl('task', 'show', 'nordic', $ids[0]);
    like($show->{out}, qr/^User +one\.later\@/m, 'task show');
    like($show->{out}, qr/^createAccount +- /m, 'with its steps');
    is(ctl('task', 'cancel', 'nordic', $ids[0], '--json')->{json}{task}{state}, 'cancelled',
        'task cancel');
    refused(ctl('task', 'cancel', 'nordic', $ids[0]), qr/cancelled before/, 'cancelled twice');
    refused(ctl('task', 'retry', 'nordic', $ids[1]), qr/queued/, 'retry of a queued one');
    refused(ctl('task', 'release', 'nordic', $ids[1]), qr/queued/,
        'release of one the brake does not hold');
    refused(ctl('task', 'show', 'nordic', 'nonsense'), qr/No task with the id "nonsense"/,
        'unknown task');
    refused(ctl('task', 'show', 'second', $ids[1]), qr/No task/, 'a task of another tenant');
    my $moved = ctl('task', 'reschedule', 'nordic', $ids[1], '2031-07-01', '02:30',
        '--json')->{json}{task};
    is($moved->{scheduledAtUtc}, '2031-07-01T00:30:00Z',
        'task reschedule, local time of the tenant');
    usage(ctl('task', 'reschedule', 'nordic', $ids[1], '2031-07-32', '02:30'), qr/DATE /,
        'to no day');
    usage(ctl('task', 'release', 'nordic'), qr/TASK or --all-braked/, 'release of nothing');
    is_deeply(ctl('task', 'release', 'nordic', '--all-braked', '--json')->{json},
        { released => [] }, 'release --all-braked with none held');
}

sub looking {
    my $user = ctl('user', 'show', 'nordic', "ANNA.LIND\@$domain", '--json')->{json}{user};
    is($user->{displayName}, 'Anna Lind', 'user show, any case');
    is($user->{manager}{userPrincipalName}, "eva.berg\@$domain", 'with manager');
    my $access = ctl('user', 'access', 'nordic', "anna.lind\@$domain", '--json')->{json}{items};
    is_deeply([sort map { $_->{resource}{name} } grep { $_->{resource}{kind} ne 'dynamic' }
        @$access], ['All staff', 'CRM admins', 'Sales team'], 'user access: and groups');
    like(ctl('user', 'show', 'nordic', "carin.sjoberg\@$domain")->{out}, qr/Sj\xc3\xb6berg/,
        'for people');
    refused(ctl('user', 'show', 'nordic', "nobody\@$domain"), qr/No user .*"nobody/,
        'unknown user');
    my $status = ctl('status', '--json')->{json};
    is(scalar @{ $status->{workers} }, 1, 'status: one worker');
    is($status->{workers}[0]{version}, $status->{version}, 'of the same build');
    my $of_all = qr/^Worker \S+ runs version old, this command is \Q$status->{version}\E/m;
    unlike(ctl('status')->{out}, $of_all, 'which is nothing to tell');
    ok(within(sub {
        $stack->sql(q(UPDATE worker SET version = 'old'));    # a heartbeat writes it back
        ctl('status')->{out} =~ $of_all;
    }), 'one that was not upgraded is named');
    my ($directory) = grep { $_->{companyId} eq 'nordic' } @{ $status->{directories} };
    is($directory->{users}, 20, 'the directory and its users');
    like(ctl('status')->{out}, qr/^nordic +onPremises +\d{4}-/m, 'for people');
    my $sync = ctl('sync', 'nordic', '--wait', '--json');
    is($sync->{exit}, 0, 'sync --wait') or diag($sync->{err});
    is($sync->{json}{directories}[0]{users}, 20, 'tells of the users');
    is(ctl('sync', 'nordic')->{exit}, 0, 'sync without waiting');
    like(ctl('cache', 'reset', 'nordic')->{out}, qr/will empty the cache/, 'cache reset');
    ok(within(sub { my ($row) =
        $stack->sql("SELECT full_at, run FROM cache.sync_state WHERE tenant_id = 'nordic'");
        $row && $row->[0] > 0 && !grep {
        $_->[0] } $stack->sql("SELECT sync_requested_at FROM directory_state WHERE tenant_id = "
        . "'nordic'") }),
        'the worker syncs anew');
    is(ctl('user', 'show', 'nordic', "anna.lind\@$domain")->{exit}, 0,
        'and people are known again');
}

# Every action above is in the record, with the operating system's user as its actor.
sub audited {
    my $records;
    my %wanted = ('tenant.apply' => 4, 'key.create' => 6, 'key.disable' => 1, 'key.enable' => 1,
        'key.delete' => 3, 'task.cancel' => 1, 'task.reschedule' => 1, 'sync.request' => 2,
        'cache.reset' => 1);
    my $made = sub {
        my %count;
        $records = $stack->records('--category', 'command');
        $count{ $_->{action} }++ for @$records;
        return \%count;
    };
    ok(within(sub { ($made->()->{'cache.reset'} // 0) >= 1 }), 'readable soon');
    is_deeply($made->(), \%wanted, 'a record for each change, none for what was refused');
    my $actor = $stack->actor;
    is_deeply([grep { $_->{actor} ne $actor } @$records], [], "its actor is $actor");
    my ($create) = grep { ($_->{target} // '') eq 'hr-2'
        && $_->{action} eq 'key.create' } @$records;
    is($create->{endpoint}, 'idadminctl key create', 'endpoint');
    is($create->{parameters}{label}, 'Löner', 'parameters');
    unlike(json_text($records), qr/ida_[0-9A-Za-z]/, 'no key in any of them');
    for my $how (['Åsa Öberg' => '--as', 'Åsa Öberg', { env => { SUDO_USER => 'karin' } }],
        [karin => { env => { SUDO_USER => 'karin' } }]) {
        my ($who, @how) = @$how;
        ctl('sync', 'nordic', @how);
        ok(within(sub { grep { $_->{actor} eq $who && $_->{action} eq 'sync.request' }
            @{ $stack->records('--category', 'command') } }), "the person: $who");
        my ($record) = grep { $_->{actor} eq $who } @{ $stack->records('--category', 'command') };
        like($record->{label}, qr/^as \S/, 'and the user of the process');
    }
    usage(ctl('sync', 'nordic', '--as', "a\nb"), qr/--as must be a name/, 'no name');
    my $verify = ctl('audit', 'verify', 'nordic', '--json');
    is($verify->{exit}, 0, 'audit verify');
    ok($verify->{json}{whole}, 'the chain is whole');
    my @lines = split /\n/, ctl('audit', 'export', 'nordic')->{out};
    is(scalar @lines, $verify->{json}{records}, 'audit export: a line a record')
        or diag(scalar @lines);
    my @at = map { json_data($_)->{at} =~ s/:\d\d\KZ$/.000Z/r } @lines;
    is_deeply(\@at, [reverse sort @at], 'newest first');
    is(scalar @{ ctl('audit', 'export', 'nordic', '--json')->{json} }, scalar @lines,
        '--json makes one array of it');
    my $page = ctl('audit', 'list', 'nordic', '--include-reads', '--json', '--limit', 3, '--all')
        ->{json}{items};
    is_deeply([sort { $a <=> $b } map { $_->{id} } @$page], [1 .. @$page], 'pages');
    is_deeply(ctl('audit', 'list', 'nordic', '--json', '--to', '2020-01-01')->{json}{items}, [],
        'by time');
    is_deeply([grep { $_->{actor} ne 'hr-full' } @{
        ctl('audit', 'list', 'nordic', '--json', '--actor', 'HR-full')->{json}{items} }], [],
        'by actor');
}

# A node died and left its spool; its records are read once, however often the command runs. A chain
# that was changed by hand is detected.
sub spool_and_tampering {
    my $dir = tempdir() . '/dead-spool.' . $stack->engine;
    mkdir $dir;
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir);
    $stack->worker->stop;
    ok(within(sub { $stack->get_user("eva.berg\@$domain")->{status} == 200 }),
        'a read whose record waits in the spool');
    my @segments = glob($stack->spool . '/*.audit');
    cmp_ok(scalar @segments, '>=', 1, 'the spool holds a segment');
    for my $segment (@segments) {
        my ($name) = $segment =~ m{([^/]+)$};
        spew("$dir/$name", slurp($segment) . "\x1e{\"torn\":");
        Idadmin::Test::give_to(Idadmin::Test::runtime_user(), "$dir/$name");
    }
    my $first = ctl('audit', 'ingest', $dir, '--json');
    is($first->{exit}, 0, 'audit ingest') or diag($first->{err});
    cmp_ok($first->{json}{records}, '>=', 1, 'takes records');
    is($first->{json}{torn}, scalar @segments, 'skips torn ones and counts them');
    is($first->{json}{segmentsRemoved}, scalar @segments, 'removes what it read');
    like($first->{err}, qr/IDA0600/, 'and says so');
    my $count = ctl('audit', 'verify', 'nordic', '--json')->{json}{records};
    $stack->worker->start;    # ingests the same records from the spool itself
    ok(within(sub { my ($rows) =
        $stack->sql("SELECT count(*) FROM audit.record WHERE tenant_id = 'nordic'");
        $rows->[0] >= $count }), 'the worker goes on');
    # Nothing of the spool waits any more.
    my $config = spew("$dir.conf", "store = $stack->{store}\nspool = " . $stack->spool . "\n");
    ok(within(sub { json_data(Idadmin::Test::run_command([Idadmin::Test::program('idadminctl'),
        'status', '--json', '--config', $config], user => Idadmin::Test::runtime_user())->{out})
        ->{spool}{bytes} == 0 }), 'and has read its spool');
    my ($twice) =
        $stack->sql("SELECT count(*) FROM (SELECT rid FROM audit.record WHERE tenant_id = "
        . "'nordic' GROUP BY rid HAVING count(*) > 1) x");
    is($twice->[0], 0, 'no record came twice');
    is(ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole after both');
    refused(ctl('audit', 'ingest', '/nonexistent'), qr/No such file/, 'no spool');

    $stack->worker->stop;
    $stack->sql("UPDATE audit.record SET outcome = 'ok ' WHERE tenant_id = 'nordic' AND seq = 5");
    my $broken = ctl('audit', 'verify', 'nordic', '--json');
    is($broken->{exit}, 1, 'a changed record is found');
    is($broken->{json}{brokenAt}, 5, 'and named');
    like($broken->{err}, qr/broken at record 5/, 'in words too');
}

# Directories, groups and receivers that a document names are asked before it is applied.
sub document_is_checked {
    my $document = $stack->tenant_document;
    my $good = ctl('tenant', 'check', '-', { stdin => json_text($document) });
    is($good->{exit}, 0, 'tenant check') or diag "$good->{out}$good->{err}";
    like($good->{out}, qr/onPremises +connect .*bound\n.*All checks passed\./s,
        'asks the directory');
    my $secret = secret_file('hook.secret', 'whsec_' . 'QUJD' x 8 . "\n");
    my $port = Idadmin::Test::free_port();
    $document->{notifications} = [{ url => "http://127.0.0.1:$port/", secretFile => $secret,
        events => ['task.done'], allowPrivate => JSON::PP::true() }];
    $document->{workflows} = [{ name => 'Joins', trigger => 'userCreate', actions => [
        map { { type => 'addToGroup', group => $_ } } 'No such group', 'Everyone in sales'] }];
    $document->{directories}{onPremises}{bindPasswordFile} =
        secret_file('wrong.password', "wrong\n");
    my $before = ctl('tenant', 'show', 'nordic')->{out};
    my $bad = ctl('tenant', 'check', '-', '--json', { stdin => json_text($document) });
    is($bad->{exit}, 1, 'exit status 1 when a check fails') or diag $bad->{err};
    my %failed = map { ($_->{of} => $_->{detail}) } grep { $_->{result} eq 'FAIL' }
        @{ $bad->{json}{checks} };
    is_deeply([sort keys %failed],
        ['notifications[0]', 'onPremises', 'workflows[0].actions[0].group'],
        'each with its place') or diag explain $bad->{json};
    like($failed{onPremises}, qr/password|bind/i, 'why the directory');
    like($failed{'notifications[0]'}, qr/cannot be reached/, 'why the receiver');
    like($failed{'workflows[0].actions[0].group'}, qr/no group No such group/, 'why the group');
    is(ctl('tenant', 'show', 'nordic')->{out}, $before, 'nothing is stored');
    $document = $stack->tenant_document;
    @{ $document->{directories}{onPremises} }{qw(urls startTls)} =
        ([$stack->slapd->url], JSON::PP::true());
    my $starts = ctl('tenant', 'check', '-', '--json', { stdin => json_text($document) });
    like((grep { $_->{check} =~ /^certificate ldap:/ } @{ $starts->{json}{checks} })[0]{detail},
        qr/^expires in \d+ days?, on /, 'the certificate behind StartTLS') or diag $starts->{out};
}

# The doctor of a healthy installation, and of one that was tampered with.
sub doctor {
    my $well = ctl('doctor', '--json');
    is($well->{exit}, 1, 'doctor: nothing but warnings') or diag $well->{out};
    my @not = grep { $_->{level} ne 'ok' } @{ $well->{json}{checks} };
    is_deeply([map {"$_->{companyId} $_->{level} " . $_->{check} =~ s/ .*//r} @not],
        ['nordic warning certificate'], 'the certificate of these tests expires tomorrow')
        or diag explain \@not;
    is_deeply([@{ $well->{json} }{qw(status faults warnings)}], ['warnings', 0, 1], 'counted');
    my $config = spew(tempdir() . '/doctor.conf', "web_user = root\n");
    my $seal = secret_file('strange.key', '5' x 64 . "\n");
    chmod 0644, $seal;
    my $with = sub { my ($file) = @_;
        return Idadmin::Test::run_command([Idadmin::Test::program('idadminctl'), 'doctor', 'nordic',
            '--config', $file, '--store', $stack->{store}, '--seal-key', $seal],
            user => Idadmin::Test::runtime_user()) };
    my $ill = $with->($config);
    is($ill->{exit}, 2, 'exit status 2 for faults');
    like($ill->{out}, qr/^  fault    seal_key rights: \Q$seal\E has mode 0644: chmod 400 /m,
        'a key that others can read');
    like($ill->{out}, qr/^  fault    users: .*\n +to do: give httpd and the worker users/m,
        'each says what to do');
    like($ill->{out}, qr/^  fault    seal_key keys: .* is open to other users/m, 'and is not used');
    chmod 0400, $seal;
    like($with->('/dev/null')->{out},
        qr/seal_key keys: \Q$seal\E is not the key that the store's tenant documents are sealed/,
        'the keys are held against the store');
    refused(ctl('doctor', 'nobody'), qr/no tenant nobody/, 'an unknown company');
}

# When the bind password expires, by the password policy's word and by its attributes.
sub bind_password {
    my ($dn, $policy) = map {"cn=old,ou=$_,dc=nordic,dc=example"} qw(services policies);
    my $slapd = $stack->slapd;
    $slapd->modify("dn: $policy\nchangetype: add\nobjectClass: person\nobjectClass: pwdPolicy\n"
        . "cn: old\nsn: old\npwdAttribute: userPassword\npwdMaxAge: 864000\n"
        . "pwdExpireWarning: 1728000\n\n"
        . "dn: $dn\nchangetype: add\nobjectClass: person\ncn: old\nsn: old\n\n"
        . "dn: $dn\nchangetype: modify\nreplace: pwdPolicySubentry\npwdPolicySubentry: $policy\n-\n"
        . "replace: userPassword\nuserPassword: old-Passw0rd\n");
    my $set = sub { my ($name, $value) = @_;
        $slapd->modify("dn: $policy\nchangetype: modify\nreplace: $name\n$name: $value\n") };
    my $document = $stack->tenant_document;
    @{ $document->{directories}{onPremises} }{qw(bindDn bindPasswordFile)} =
        ($dn, secret_file('old.password', "old-Passw0rd\n"));
    my $line = sub { my ($check) = @_;
        return (grep { $_->{check} =~ $check } @{ ctl('tenant', 'check', '-', '--json',
            { stdin => json_text($document) })->{json}{checks} })[0] // {} };
    my $said = $line->(qr/^bind password/);
    is($said->{result}, 'warning', 'a bind password that expires within 30 days');
    like($said->{detail}, qr/^expires in (?:9|10) days, on \S+: changed 0 days ago /, 'when');
    like($said->{detail}, qr/\(the server's answer to our bind\); set a new one and write it to/,
        'by the control');
    $set->(pwdExpireWarning => 1);
    like($line->(qr/^bind password/)->{detail},
        qr/^expires in (?:9|10) days, .*\(pwdMaxAge of \Q$policy\E\)/, 'by its age and the policy');
    $set->(pwdMaxAge => 1);
    ok(within(sub { ($line->(qr/^connect/)->{detail} // '') =~ /the password has expired: set a/ }),
        'one that has expired: the reason of the refusal');
    $slapd->delete_entry($_) for $dn, $policy;
}

# Secrets that systemd gives to the service alone, as LoadCredential= does: in the directory that
# the environment names.
sub credentials {
    my $document = $stack->tenant_document;
    my $given = tempdir() . '/credentials-' . $stack->engine;
    mkdir $given or die "$given: $!\n";
    my $file = spew("$given/bind", Idadmin::Test::Slapd::service_password() . "\n");
    chmod 0400, $file;
    chmod 0500, $given;
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $given, $file);
    my $with = sub { my ($name) = @_;
        $document->{directories}{onPremises}{bindPasswordFile} = $name;
        return { stdin => json_text($document) } };
    refused(ctl('tenant', 'apply', '-', $with->("credential:$_")),
        qr/bindPasswordFile: must be .*credential:NAME/, "credential:$_") for '', '../bind', 'a/b';
    is(ctl('tenant', 'apply', '-', $with->('credential:bind'))->{exit}, 0,
        'a document names a credential');
    my $alone = $stack->worker->run('--check', 'nordic');
    like($alone->{out}, qr/was given no credentials: .*LoadCredential=bind:FILE/,
        'a process without it says what gives it');
    local $stack->worker->{env} = { CREDENTIALS_DIRECTORY => $given };
    my $service = $stack->worker->run('--check', 'nordic');
    is($service->{exit}, 0, 'the service signs in by it') or diag $service->{out};
    $stack->apply_tenant($stack->tenant_document);
}

on_one_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine);
    help_and_usage();
    document_is_checked();
    doctor();
    bind_password();
    tenants();
    keys_of_a_tenant();
    tasks();
    looking();
    audited();
    spool_and_tampering();
    credentials();
    $stack->stop;
} 'Commands are the subject. t/unit/db/rows.c prepares every statement on both engines, '
    . 't/unit/audit/audit.c and t/unit/store/tenant.c run those that write.';

# Without a store every command says which command makes one.
subtest 'no store' => sub {
    my $dir = tempdir() . '/none';
    mkdir $dir;
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir);
    my $run = sub { return Idadmin::Test::run_command([Idadmin::Test::program('idadminctl'), @_,
        '--config', '/dev/null'], user => Idadmin::Test::runtime_user(),
        env => { IDADMIN_STORE => "sqlite3:$dir/idadmin.db" }) };
    refused($run->('status'), qr/idadminctl schema upgrade/, 'status');
    my $made = $run->('schema', 'upgrade', '--json');
    is($made->{exit}, 0, 'schema upgrade, the store from the environment');
    is(json_data($made->{out})->{sealKey}, "$dir/idadmin.key",
        'makes the seal key beside the store');
    is((stat "$dir/idadmin.key")[2] & 07777, 0400, 'for its owner alone');
    is_deeply(json_data($run->('schema', 'upgrade', '--json')->{out})->{steps}, [],
        'a second time there is nothing to do');
    like($run->('tenant', 'list')->{out}, qr/no tenant yet/, 'an empty store says so');
    refused($run->('tenant', 'list', '--store', 'mysql:x'), qr/store/, 'a DSN that is none');
    refused($run->('tenant', 'list', '--store', 'pgsql:host=db password=geheim'),
        qr/command line: store: holds a password, which everybody.*passfile=PATH/,
        'a password on the command line');
};

done_testing();
