# A read-only key that is limited to some scopes reads those and nothing else: each scope against
# each address and each tool, and scopes that no key may have.
use strict;
use warnings;
use Idadmin::Test qw(json_data);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Stack qw(for_each_stack);
use Test::More;

my @scopes = qw(users access requests hygiene workflows tasks audit);
# Address, scope, tool ("-": none), arguments.
my $eva   = 'eva.berg@nordic.example';
my @reads = map { [split] } grep {/\S/} split /\n/, <<"END";
    user?userPrincipalName=$eva        users     get_user {"user":"$eva"}
    users                              users     search_users
    user/details?user=$eva             users     -
    user/access?user=$eva              access    get_user_access {"user":"$eva"}
    resource/access?resource=All+staff access    get_resource_access {"resource":"All\\u0020staff"}
    role-templates                     access    list_role_templates
    approvals                          requests  list_pending_approvals
    access-requests                    requests  -
    hygiene                            hygiene   get_hygiene_report
    workflows                          workflows list_workflows
    tasks                              tasks     -
    audit                              audit     get_audit_log
END

for_each_stack {
    my ($stack) = @_;
    for my $scope (@scopes) {
        subtest $scope => sub {
            $stack->create_key($scope => "only-$scope", 'read-only', '--scopes', $scope);
            is($stack->key($scope)->{scopes}, $scope, 'told with the key');
            my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key($scope));
            for my $read (@reads) {
                my ($address, $of, $tool, $arguments) = @$read;
                my $answer = $stack->get("/v1/api/$address", key => $scope);
                is($answer->{status}, $of eq $scope ? 200 : 403, "GET $address");
                like($answer->{json}{error}{message}, qr/limited to the scopes $scope.* needs $of/,
                    'told which scope is missing') if $of ne $scope;
                next if $tool eq '-';
                my $result = $mcp->call($tool, json_data($arguments // '{}'));
                is($result->{data} ? 1 : 0, $of eq $scope ? 1 : 0, $tool)
                    or diag $result->{body};
            }
            is($stack->post('/v1/api/user', { firstname => 'A', surname => 'B' }, key => $scope)
                ->{status}, 403, 'nothing is written');
        };
    }
    # What a person is in for and has belongs to other scopes than the person.
    subtest 'members and arguments of other scopes' => sub {
        is($stack->call(DELETE => '/v1/api/user', json => { userPrincipalName => $eva,
            date => '2030-06-30' })->{status}, 200, 'eva leaves some day');
        for my $case (['users', [qw(user.pendingTasks user.roleTemplates)], 403],
            ['users,tasks', ['user.roleTemplates'], 403],
            ['users,access', ['user.pendingTasks'], 200], ['users,access,tasks', undef, 200]) {
            my ($scopes, $omitted, $group) = @$case;
            my $key = $scopes =~ tr/,/-/r;
            $stack->create_key($key => "some-$key", 'read-only', '--scopes', $scopes)
                if $key ne 'users';
            my %seen = (REST => $stack->get("/v1/api/user/details?user=$eva", key => $key)
                ->{json}{data}, MCP => Idadmin::Test::Mcp->new($stack->httpd,
                key => $stack->key($key))->call('get_user', { user => $eva })->{data});
            for my $face (sort keys %seen) {
                my ($user, $said) = @{ $seen{$face} }{qw(user omitted)};
                is_deeply([sort @{ $said // [] }], $omitted // [], "$face, $scopes: said");
                is_deeply([sort map {"user.$_"} grep { !exists $user->{$_} }
                    qw(pendingTasks roleTemplates)], $omitted // [], "$face, $scopes: left out");
            }
            my $some = $stack->get("/v1/api/user?userPrincipalName=$eva&fields=pendingTasks,mail",
                key => $key)->{json}{data};
            is(exists $some->{user}{pendingTasks} ? 1 : 0, $scopes =~ /tasks/ ? 1 : 0,
                "$scopes: asked for by name");
            ok($some->{user}{mail}, "$scopes: beside what it may see");
            my $of = $stack->get('/v1/api/users?group=All+staff', key => $key);
            is($of->{status}, $group, "$scopes: members of a group by a filter");
            like($of->{json}{error}{message}, qr/^group: .*needs the scope access/,
                "$scopes: refused by name") if $group == 403;
        }
    };
    subtest 'several' => sub {
        $stack->create_key(two => 'two-scopes', 'read-only', '--scopes', 'audit,users');
        is($stack->key('two')->{scopes}, 'users,audit', 'in one order');
        is($stack->get("/v1/api/$_", key => 'two')->{status}, 200, $_) for qw(users audit);
        is($stack->get('/v1/api/hygiene', key => 'two')->{status}, 403, 'hygiene');
        my ($listed) = grep { $_->{username} eq 'two-scopes' }
            @{ $stack->ctl_ok('key', 'list', 'nordic', '--json')->{items} };
        is_deeply($listed->{scopes}, ['users', 'audit'], 'in the list of keys');
    };
    subtest 'refused' => sub {
        for my $case (['read-only', 'users,people', qr/must be some of users, access/],
            ['read-only', ',', qr/must name one or more/],
            ['full', 'users', qr/are of read-only keys/]) {
            my ($access, $scope, $why) = @$case;
            my $refused = $stack->ctl('key', 'create', 'nordic', 'x', '--access', $access,
                '--scopes', $scope);
            isnt($refused->{exit}, 0, "$access with $scope");
            like($refused->{err}, qr/--scopes $why/, 'with the reason');
        }
    };
} one_engine =>
    'What a scope opens is decided before a statement runs, and a key has its scopes in a '
    . 'column like others, which t/unit/db/rows.c reads on both engines.';

# A key without an end of its own takes the tenant's; before it ends, the worker says so.
subtest 'how long a key lives' => sub {
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite',
        tenant => { keys => { defaultDays => 20 } },
        keys   => { long => ['hr-long', 'read-only', '--expires', 'never'] });
    my $ends = $stack->key('read')->{expiresAt} // '';
    like($ends, qr/^\d{4}-\d\d-\d\dT2[23]:00:00Z$/, 'to the beginning of a day in Stockholm');
    my ($days) = map { $_->[0] } $stack->sql('SELECT round((expires_at - created_at) / 86400000.0) '
        . "FROM api_key WHERE username = 'hr-read'");
    ok(abs($days - 20) <= 1, "after about 20 days: $days");
    is($stack->key('long')->{expiresAt}, undef, 'unless it is to live for ever');
    $stack->worker->expect_log(qr/IDA0604/);
    my $said = qr/IDA0604.*hr-read in tenant nordic ends at \Q$ends\E, in \d\d days/;
    ok($stack->worker->log_gets($said), 'the worker says what is to be done');
    ok(!$stack->worker->log_has(qr/IDA0604.*hr-long/), 'and nothing of the other');
    $stack->stop;
};

done_testing;
