# A stolen API key of each kind gains what SECURITY.md says, and everything else that a thief tries
# is refused.
use strict;
use warnings;
use utf8;
use Idadmin::Test qw(json_text slurp src_dir within);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack qw(for_each_stack);
use JSON::PP ();
use Test::More;

my ($stack, $domain);
sub refused {
    my ($answer, $status, $what) = @_;
    is($answer->{status}, $status, "$what: $status") or diag $answer->{body};
    ok(!$answer->{json}{data}, 'and nothing else') if $answer->{json};
    return $answer->{json}{error}{message} // '';
}

# Every write of the interface, as the OpenAPI description has them, with words that would do.
sub writes {
    my ($key, $task) = @_;
    my %body = ('post /v1/api/user' => { firstname => 'Thief', surname => 'Friend' },
        'delete /v1/api/user' => { userPrincipalName => "karin.hedlund\@$domain" },
        'post /v1/api/user/offboard' => { userPrincipalName => "karin.hedlund\@$domain" },
        'patch /v1/api/user' => { userPrincipalName => "karin.hedlund\@$domain",
            jobTitle => 'Thief' },
        'post /v1/api/user/update' => { userPrincipalName => "karin.hedlund\@$domain",
            jobTitle => 'Thief' },
        'post /v1/api/task/cancel' => undef,
        'post /v1/api/task/reschedule' => { date => '2031-06-01', time => '08:00' },
        'delete /v1/api/task' => undef, 'post /v1/api/task/retry' => undef,
        'post /v1/api/task/release' => undef,
        'patch /v1/api/task' => { date => '2031-06-01', time => '08:00' },
        'post /v1/api/access-request/decision' => { requestId => 'x', decision => 'approve',
            approver => "eva.berg\@$domain" });
    my $paths = $stack->get('/v1/openapi.json')->{json}{paths};
    my @of;
    for my $path (sort keys %$paths) {
        for my $method (grep {/^(?:post|put|patch|delete)$/} sort keys %{ $paths->{$path} }) {
            ok(exists $body{"$method $path"}, "$method $path is known to this test");
            my $target = $path =~ m{^/v1/api/task} ? "$path?id=$task" : $path;
            push @of, ["$method $path", $stack->call(uc $method, $target, key => $key,
                $body{"$method $path"} ? (json => $body{"$method $path"}) : (body => ''))];
        }
    }
    is(scalar @of, scalar keys %body, 'all of them are there');
    return @of;
}

sub read_only {
    my ($task) = @_;
    $stack->httpd->expect_log(qr/IDA0210: credentials refused/);
    my $before = [$stack->sql('SELECT id, state, due_at FROM task ORDER BY id')];
    like(refused($_->[1], 403, $_->[0]), qr/read-only/, 'told why') for writes('read', $task);
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    for my $tool (@{ $mcp->ask('tools/list', {})->{result}{tools} }) {
        ok($tool->{annotations}{readOnlyHint}, "$tool->{name} reads");
    }
    ok($mcp->ask('tools/call', { name => $_, arguments => {} })->{error}, "there is no tool $_")
        for qw(create_user delete_user release_task decide_access_request);
    is_deeply([$stack->sql('SELECT id, state, due_at FROM task ORDER BY id')], $before,
        'no task came, went or changed');
    # Another company, by the names that a thief could guess.
    for my $company (qw(acme2 NORDIC), '../nordic') {
        my %key = (%{ $stack->key('read') }, companyId => $company);
        refused($stack->get_user("eva.berg\@$domain", key => \%key), 401, "as of $company");
        my $answer = Idadmin::Test::Mcp->new($stack->httpd, key => { mcpSecret =>
            $stack->key('read')->{mcpSecret} =~ s/^nordic/$company/r })->ask('tools/list', {});
        is($answer->{status}, 401, 'by an assistant, too');
    }
    my %full = (%{ $stack->key('full') }, apiKey => $stack->key('read')->{apiKey});
    refused($stack->post('/v1/api/user', { firstname => 'A', surname => 'B' }, key => \%full),
        401, 'under the name of a key that writes');
    my $inside = $stack->get('/v1/api/user?userPrincipalName=someone%40acme2.example');
    is($inside->{status}, 404, 'people of another company are not among its own');
}

sub full {
    my $by = sub { my ($method, $target, %how) = @_;
        return $stack->call($method, $target, key => 'full', %how) };
    # Tools are for keys that cannot write.
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => { mcpSecret =>
        'nordic:hr-full:' . $stack->key('full')->{apiKey} });
    for my $tool (map { $_->{name} } @{ $mcp->ask('tools/list', {})->{result}{tools} }) {
        my $called = $mcp->call($tool, { user => "eva.berg\@$domain" });
        ok(!$called->{data}, "$tool is refused");
    }
    # Mass offboarding, to be carried out at once.
    my @uids  = qw(anna.lind bo.ek carin.sjoberg david.holm);
    my @tasks = map { $by->(DELETE => '/v1/api/user', json => { userPrincipalName =>
        "$_\@$domain", time => '00:00' })->{json}{data}{taskId} } @uids;
    my $states = sub { return join ' ', sort map { $stack->task($_)->{state} } @tasks };
    $stack->worker->expect_log(qr/IDA0319/);
    ok(within(sub { $states->() eq 'attention attention attention done' }),
        'of four the brake lets one through') or diag $states->();
    my @held = grep { $stack->task($_)->{state} eq 'attention' } @tasks;
    # Each way around it that the key has.
    like(refused($by->(POST => "/v1/api/task/release?id=$held[0]", body => ''), 403, 'release'),
        qr/another API key/, 'told whose it is');
    $by->(POST => "/v1/api/task/retry?id=$held[2]", body => '');
    $by->(PATCH => "/v1/api/task?id=$held[0]", json => { date => '2031-05-05', time => '09:00' });
    $by->(DELETE => '/v1/api/user', json => { userPrincipalName => $stack->task($held[0])
        ->{userPrincipalName}, time => '00:00' });
    is($by->(DELETE => "/v1/api/task?id=$held[1]")->{status}, 200, 'cancelled');
    my $gone = $stack->task($held[1])->{userPrincipalName};
    my $again = $by->(DELETE => '/v1/api/user', json => { userPrincipalName => $gone,
        time => '00:00' })->{json}{data}{taskId};
    my $off = $by->(PATCH => '/v1/api/user', json => { userPrincipalName => "ida.wall\@$domain",
        accountEnabled => JSON::PP::false() })->{json}{data}{taskId};
    like($stack->wait_task($_, states => ['attention'])->{error} // '',
        qr/^Held by the brake/, 'held again') for $held[2], $again, $off;
    is($stack->task($held[0])->{state}, 'attention', 'what was moved is held as before');
    is(scalar(grep { my $member = Idadmin::Test::Slapd::user_dn($_);
        grep { $_ eq $member } $stack->slapd->members('All staff') } @uids, 'ida.wall'), 4,
        'one person of five lost the groups');
    # An account that the company protects.
    my $protected = $by->(DELETE => '/v1/api/user', json => { userPrincipalName =>
        "greta.dahl\@$domain", time => '00:00' });
    $stack->ctl_ok('task', 'release', 'nordic', $protected->{json}{data}{taskId})
        if within(sub { $stack->task($protected->{json}{data}{taskId})->{braked} });
    $stack->worker->expect_log(qr/IDA0317/);
    like(json_text($stack->wait_task($protected->{json}{data}{taskId}, states => ['failed'])),
        qr/protectedAccounts: it is never changed/,
        'a protected one is never changed, even if released');
    # Reported, and over.
    ok(within(sub { grep { $_->{actor} eq 'hr-full' && ($_->{action} // '') eq 'user.delete'
        && ($_->{address} // '') eq '127.0.0.1' } @{ $stack->records } }),
        'the audit tells which key it was, and from where');
    $stack->ctl_ok('key', 'disable', 'nordic', 'hr-full');
    ok(within(sub { $by->(GET => '/v1/api/tasks')->{status} == 401 }),
        'disabled, it is over');
    my ($gains) = slurp(src_dir() . '/SECURITY.md') =~ /^\| A stolen key, full \|([^|]*)\|/m;
    like($gains, qr/\b$_\b/, "SECURITY.md says what it can do: $_")
        for qw(hires changes offboardings requests reads);
}

for_each_stack {
    ($stack) = @_;
    $domain = $stack->domain;
    $stack->apply_tenant($stack->tenant_document(companyId => 'acme2', name => 'Acme'));
    my $document = $stack->tenant_document(brake => { offboardingsPerHour => 1 });
    $document->{directories}{onPremises}{protectedAccounts} = [$Idadmin::Test::Slapd::service,
        Idadmin::Test::Slapd::user_dn('greta.dahl')];
    $stack->apply_tenant($document);
    my $task = $stack->post('/v1/api/user', { firstname => 'Siv', surname => 'Waits',
        date => '2031-05-05', time => '09:00' })->{json}{data}{taskId};
    subtest 'read-only' => sub { read_only($task) };
    subtest 'full'      => \&full;
} one_engine => 'What a key may do is decided before a statement runs. t/rest/03-lifecycle.t runs '
    . 'the same calls on both engines.';
done_testing();
