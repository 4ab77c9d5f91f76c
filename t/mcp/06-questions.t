# Questions of HR and IT to an assistant, answered with the tools only: each in at most two calls
# and 20 KB of text, the answer compared with the directory itself.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(json_text within);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack qw(for_each_stack);
use JSON::PP ();
use POSIX ();
use Test::More;

my $d      = $Idadmin::Test::Slapd::domain;
my $people = 'ou=people,dc=nordic,dc=example';
my ($stack, $mcp, $calls, $bytes);

# One call of a tool, counted.
sub tool {
    my ($name, %arguments) = @_;
    my $answer = $mcp->call($name, \%arguments);
    $calls++;
    $bytes += length($answer->{text} // $answer->{failed} // '');
    return $answer->{data} // { failed => $answer->{failed} };
}

sub question {
    my ($name, $block) = @_;
    return subtest $name => sub {
        ($calls, $bytes) = (0, 0);
        $block->();
        cmp_ok($calls, '<=', 2,      "$calls calls");
        cmp_ok($bytes, '<',  20_480, "$bytes bytes of text");
    };
}

sub upn { return "$_[0]\@$d" }
sub upns { return [sort map { ($_->{user} // $_)->{userPrincipalName} } @{ $_[0] }] }
sub uids { return [sort map { upn($_->{uid}[0]) } @_] }
my $month = POSIX::strftime('%Y-%m', localtime(time + 40 * 86400));

sub row { my ($list, $name) = @_;
    return (grep { $_->{resource}{name} eq $name } @{ $list->{items} })[0] }

sub play {
    my $slapd = $stack->slapd;

    question('who reports to Eva?', sub {
        my $found = tool('search_users', manager => upn('eva.berg'));
        is_deeply(upns($found->{items}), uids($slapd->search('(manager='
            . Idadmin::Test::Slapd::user_dn('eva.berg') . ')', base => $people)),
            'as the directory says');
        is($found->{totalCount}, scalar @{ $found->{items} }, 'all of them');
    });
    question('which contractors have never signed in?', sub {
        my $found = tool('search_users', jobTitle => 'Contractor', inactiveDays => 30);
        is_deeply(upns($found->{items}), [], 'they are new: none is inactive for a month');
        $found = tool('search_users', jobTitle => 'Contractor', limit => 200);
        is_deeply(upns([grep { !$_->{lastSuccessfulSignInAt} } @{ $found->{items} }]),
            [upn('cora.tract'), upn('cuno.tract')], 'but two never came in');
    });
    question('which groups are like VPN, and who is in them?', sub {
        my $which = tool('get_resource_access', resource => 'VPN');
        like($which->{failed}, qr/"VPN admins" \(.*"VPN users" \(/, 'two may be meant');
        my ($id) = $which->{failed} =~ /"VPN users" \(([\w-]+)\)/;
        my $found = tool('get_resource_access', resource => $id);
        is_deeply(upns($found->{items}), [map { upn($_) }
            qw(cora.tract cuno.tract greta.dahl nils.ny)], 'its members');
    });
    question('who has the role template Sales?', sub {
        my $found = tool('get_resource_access', resource => 'Sales team',
            source => 'role_template');
        is_deeply(upns($found->{items}), [upn('bo.ek')], 'by its group');
        my $bo = tool('get_user', user => upn('bo.ek'));
        is_deeply([map { $_->{name} } @{ $bo->{user}{roleTemplates} }], ['Sales'],
            'and from the side of the person');
    });
    question('is Carin leaving, and when?', sub {
        my $carin = tool('get_user', user => upn('carin.sjoberg'));
        my ($task) = @{ $carin->{user}{pendingTasks} };
        is("$task->{type} $task->{state}", 'userDelete queued', 'yes');
        like($task->{scheduledAt}, qr/^$month-20T17:00:00\+0[12]:00$/, 'at five in Stockholm');
    });
    question('who starts in the month after next week?', sub {
        my $found = tool('get_audit_log', action => 'user.create', outcome => 'ok');
        is_deeply([sort map { $_->{target} } grep { ($_->{parameters}{date} // '') =~ /^$month/ }
            @{ $found->{items} }], [upn('maja.strom')], 'one');
    });
    question('what was revoked from those who left?', sub {
        my $runs = tool('get_workflow_runs', workflow => 'Leaver');
        my ($run) = grep { $_->{event}{userPrincipalName} eq upn('david.holm') }
            @{ $runs->{items} };
        cmp_ok(scalar @{ $run->{revoked} }, '>', 0, 'groups, by name');
        is_deeply([grep { !$_->{reason} } @{ $run->{notRevoked} }], [],
            'and what could not be, with the reason');
    });
    question('what failed this week?', sub {
        my $since = POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time - 7 * 86400));
        my $runs = tool('get_workflow_runs', status => 'failed', from => $since);
        is_deeply([map { $_->{workflow} } @{ $runs->{items} }], ['Broken'], 'one run');
        like(json_text($runs->{items}[0]), qr/Nowhere/, 'with what was wrong');
    });
    question("who approved Bo's access?", sub {
        my $by = row(tool('get_user_access', user => upn('bo.ek')), 'CRM admins')->{grantedBy};
        is($by->{approvedBy}, upn('eva.berg'), 'Eva did');
        like($by->{approvedAt}, qr/^\d{4}-/, 'and when');
    });
    question('which disabled people still hold something?', sub {
        my $report = tool('get_hygiene_report', sections => ['disabledWithAccess']);
        is_deeply(upns($report->{sections}{disabledWithAccess}{items}), [upn('rut.sandell')],
            'one that was disabled by hand');
    });
    question('which workflow gave Nils this group?', sub {
        my $by = row(tool('get_user_access', user => upn('nils.ny')), 'VPN users')->{grantedBy};
        is("$by->{type} $by->{name}", 'workflow Joiner', 'the joiner');
        my $runs = tool('get_workflow_runs', user => upn('nils.ny'));
        is($runs->{items}[0]{id}, $by->{runId}, 'and which run of it');
    });
}

# Events before the questions.
sub happen {
    my $slapd = $stack->slapd;
    my $ctl   = sub { return $stack->ctl_ok(@_, '--json') };
    my $day   = "$month-20";
    my @tasks = map { $_ } @{ $ctl->('role', 'assign', 'nordic', 'Sales', upn('bo.ek'))
        ->{taskIds} };
    my $request = $ctl->('request', 'create', 'nordic', 'CRM administration', upn('bo.ek'));
    push @tasks, $ctl->('request', 'approve', 'nordic', $request->{requestId}, '--by',
        upn('eva.berg'))->{taskIds}[0];
    push @tasks, map { $stack->post('/v1/api/user', { firstname => $_->[0], surname => $_->[1],
        jobTitle => $_->[2] })->{json}{data}{taskId} } ['Nils', 'Ny'],
        ['Cora', 'Tract', 'Contractor'], ['Cuno', 'Tract', 'Contractor'];
    push @tasks, $stack->delete('/v1/api/user',
        { userPrincipalName => upn('david.holm'), time => '00:00' })->{json}{data}{taskId};
    $stack->wait_task($_) for @tasks;
    $stack->worker->expect_log(qr/IDA0317/);    # what failed this week
    my $change = $stack->call(PATCH => '/v1/api/user', json => { userPrincipalName =>
        upn('eva.berg'), city => 'Lund' });
    $stack->wait_task($change->{json}{data}{taskId}, states => ['failed']);
    $stack->post('/v1/api/user', { firstname => 'Maja', surname => 'Strom', date => $day });
    $stack->delete('/v1/api/user', { userPrincipalName => upn('carin.sjoberg'), date => $day,
        time => '17:00' });
    $slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn('rut.sandell') . "\nchangetype: modify\n"
        . "replace: pwdAccountLockedTime\npwdAccountLockedTime: 000001010000Z\n");
    return within(sub {
        my $rut = $stack->get('/v1/api/user/details?user=' . upn('rut.sandell'))->{json}{data};
        my $log = $stack->get('/v1/api/audit?action=user.create')->{json}{data};
        return $rut->{user} && !$rut->{user}{accountEnabled} && $log->{totalCount} >= 4;
    });
}

sub group_entry { my ($name, @more) = @_;
    return join("\n", "dn: cn=$name,ou=groups,dc=nordic,dc=example", 'objectClass: groupOfNames',
        "cn: $name", 'member: cn=placeholder,ou=groups,dc=nordic,dc=example', @more) . "\n\n" }

for_each_stack {
    ($stack) = @_;
    $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    ok(happen(), 'what there is to ask about');
    play();
} one_engine =>
    'unit/operation and mcp/03-read-operations prove the statements on both engines',
    slapd => { ldif => group_entry('VPN users', "member: uid=greta.dahl,$people")
        . group_entry('VPN admins') },
    tenant => {
    modules => { publicApi => JSON::PP::true(), accessGovernance => JSON::PP::true() },
    roleTemplates => [{ name => 'Sales', groups => ['Sales team'] }],
    workflows => [
        { name => 'Joiner', trigger => 'userCreate',
            actions => [{ type => 'addToGroup', group => 'VPN users' }] },
        { name => 'Leaver', trigger => 'userDelete', actions => [{ type => 'removeLicenses' }] },
        { name => 'Broken', trigger => 'userUpdate',
            actions => [{ type => 'removeFromGroup', group => 'Nowhere' }] }],
    accessCatalog => [{ service => 'CRM administration', group => 'CRM admins',
        approvers => [upn('eva.berg')] }],
};
done_testing;
