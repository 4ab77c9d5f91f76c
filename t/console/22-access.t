# Access in the console's API: groups, who has which role template, requests and their deciders.
use strict;
use warnings;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(within);
use Idadmin::Test::Console qw(refused);
use Idadmin::Test::Stack qw(for_each_stack);

my $domain = $Idadmin::Test::Slapd::domain;
my ($stack, %as);

sub upn { return "$_[0]\@$domain" }
sub data { my ($who, @call) = @_; return $as{$who}->data(@call) }
sub names { return [map { $_->{name} } @{ $_[0]{items} }] }
sub good { my ($answer, $name) = @_; is($answer->{status}, 200, $name) or diag $answer->{body};
    return $answer->{json}{data} }
sub logged {
    my ($action, $outcome) = @_;
    my @records;
    within(sub { @records = grep { $_->{action} eq $action && $_->{outcome} eq $outcome } @{
        data(auditor => '/audit', { limit => 200, category => 'portal' })->{items} };
        return @records });
    return $records[0];
}
sub ask { my ($service, $uid) = @_;
    return good($as{operator}->post('/access-request', { service => $service, user => upn($uid),
        justification => "for\nwork" }), "$uid asks for $service")->{requestId} }
my %person = (eva => upn('eva.berg'), administrator => upn('johan.asberg'),
    approver => upn('gone'));
sub decide { my ($who, $id, $decision, %more) = @_;
    return $as{$who}->post('/access-request/decision', { requestId => $id, decision => $decision,
        %more }, {}, headers => { 'X-Person' => $person{$who} }) }
sub request { my ($id) = @_;
    return (grep { $_->{id} eq $id } @{ data(viewer => '/access-requests')->{items} })[0] }

sub groups {
    my $all = data(viewer => '/groups', { limit => 200 });
    cmp_ok($all->{totalCount}, '>', 2, 'all groups');
    is_deeply([map { lc } @{ names($all) }], [sort map { lc } @{ names($all) }], 'by name');
    my ($crm) = @{ data(viewer => '/groups', { query => 'CRM' })->{items} };
    is($crm->{name}, 'CRM admins', 'found by a part of the name');
    is_deeply([sort keys %$crm], [qw(description directory id kind memberCount name otherMembers)],
        'with what the page shows');
    is(data(viewer => '/groups', { directory => 'cloud' })->{totalCount}, 0, 'of a directory');
    is(data(viewer => '/groups', { kind => 'security' })->{totalCount}
        + data(viewer => '/groups', { kind => 'dynamic' })->{totalCount}, $all->{totalCount},
        'of a kind');
    my $empty = data(viewer => '/groups', { empty => 'true', limit => 200 });
    my $full  = data(viewer => '/groups', { empty => 'false', limit => 200 });
    is($empty->{totalCount} + $full->{totalCount}, $all->{totalCount}, 'with and without members');
    ok(!grep({ !$_->{memberCount} } @{ $full->{items} }), 'the full ones are');
    my $first = data(viewer => '/groups', { limit => 1 });
    is(data(viewer => '/groups', { limit => 1, cursor => $first->{nextCursor} })->{items}[0]{name},
        names($all)->[1], 'in pages');
    is($as{approver}->get('/groups')->{status}, 403, 'not for an approver');
}

sub templates {
    my %wanted = (roleTemplate => 'Seller', user => upn('ida.wall'));
    my $dry = good($as{operator}->post('/role/assign', \%wanted, { dryRun => 'true' }),
        'a dry run');
    is_deeply($dry->{plan}{steps}, ['addToGroup CRM admins'], 'tells the steps');
    is(data(viewer => '/role/assignments')->{totalCount}, 0, 'and gives nothing');
    is($as{viewer}->post('/role/assign', \%wanted)->{status}, 403, 'a viewer gives nothing');
    my $given = good($as{operator}->post('/role/assign', \%wanted), 'given');
    my $task  = $stack->wait_task($given->{taskIds}[0]);
    is_deeply($task->{requestedBy}, { username => 'operator', label => '', via => 'console' },
        'by whom');
    ok(grep({/ida\.wall/} $stack->slapd->members('CRM admins')), 'and carried out');
    my $rows = data(viewer => '/role/assignments', { roleTemplate => 'Seller' });
    my $row  = $rows->{items}[0];
    is_deeply([$rows->{totalCount}, $row->{roleTemplate}{name}, $row->{user}{userPrincipalName},
        @$row{qw(assignedBy taskId taskState)}],
        [1, 'Seller', upn('ida.wall'), 'operator', $given->{taskIds}[0], 'done'], 'who has it');
    is(data(viewer => '/role/assignments', { user => $row->{user}{id} })->{totalCount}, 1,
        'by person');
    is(data(viewer => '/role/assignments', { user => upn('bo.ek') })->{totalCount}, 0,
        'who has none');
    my $again = good($as{operator}->post('/role/assign', \%wanted), 'given again');
    like($again->{message}, qr/it was before/, 'it was so');
    is_deeply($again->{taskIds}, [], 'and nothing is queued');
    good($as{operator}->post('/role/assign', \%wanted, { dryRun => 'true' }),
        'a dry run of what is so already');
    is($as{operator}->post('/role/assign', { %wanted, roleTemplate => 'None' })->{status}, 404,
        'no such template');
    is($as{operator}->post('/role/assign', { user => 'x' })->{status}, 400, 'none named');
    my $taken = good($as{operator}->post('/role/unassign', \%wanted), 'taken');
    $stack->wait_task($taken->{taskIds}[0]);
    ok(!grep({/ida\.wall/} $stack->slapd->members('CRM admins')), 'and carried out');
    is(data(viewer => '/role/assignments')->{totalCount}, 0, 'no person has it');
    my $record = logged('role.unassign', 'ok');
    is_deeply([@$record{qw(actor target)}], ['operator', upn('ida.wall')], 'on record');
    is_deeply($record->{parameters}, \%wanted, 'with what was asked');
}

sub requests {
    my $services = data(viewer => '/access-services');
    is_deeply([map { $_->{service} } @{ $services->{items} }],
        ['CRM', 'Lost', 'Own'], 'what can be asked for');
    my ($crm) = @{ $services->{items} };
    is($crm->{group}{name}, 'CRM admins', 'which group it gives');
    is_deeply([map { [@$_{qw(userPrincipalName eligible)}] } @{ $crm->{approvers} }],
        [[upn('eva.berg'), JSON::PP::true()], [upn('gone'), JSON::PP::false()]],
        'who decides, and who cannot');
    my $id = ask('CRM', 'ida.wall');
    is(request($id)->{justification}, "for work", 'with the reason');
    is(request($id)->{state}, 'open', 'open');
    is($as{operator}->post('/access-request', { service => 'CRM', user => upn('ida.wall') })
        ->{status}, 409, 'asked once');
    refused($as{operator}->post('/access-request', { service => 'Lost', user => upn('bo.ek') }),
        404, 'groupUnknown', 'a service without its group');
    is($as{operator}->post('/access-request', { service => 'CRM', user => upn('bo.ek'),
        justification => 'x' x 1001 })->{status}, 400, 'too long a reason');
    is(decide(operator => $id, 'approve')->{status}, 403, 'an operator decides nothing');
    refused(decide(administrator => $id, 'approve'), 403, 'notEligible', 'nor who is no approver');
    refused(decide(eva => $id, 'approve', approver => upn('eva.berg')), 400, undef,
        'the approver is who has signed in');
    is(decide(eva => $id, 'perhaps')->{status}, 400, 'yes or no');
    refused(decide(nobody => $id, 'approve'), 403, 'personUnknown', 'a sign-in without a person');
    refused(decide(approver => $id, 'approve'), 403, 'personUnknown',
        'an approver whom the directory does not know');
    my $dry = good($as{eva}->post('/access-request/decision', { requestId => $id,
        decision => 'approve' }, { dryRun => 'true' }, headers => { 'X-Person' => $person{eva} }),
        'a dry run');
    is_deeply($dry->{plan}{steps}, ['addToGroup CRM admins'], 'tells the steps');
    my $approved = good(decide(eva => $id, 'approve', reason => 'she sells'), 'approved');
    is($stack->wait_task($approved->{taskIds}[0])->{type}, 'accessGrant', 'and granted');
    my $row = request($id);
    is_deeply([@$row{qw(state decidedBy reason taskState)}],
        ['approved', upn('eva.berg'), 'she sells', 'done'], 'which the list shows');
    refused(decide(eva => $id, 'deny'), 409, 'requestDecided', 'decided once');
    my $record = logged('request.approve', 'ok');
    is_deeply([@$record{qw(actor target)}, $record->{parameters}{reason}],
        [upn('eva.berg'), upn('ida.wall'), 'she sells'], 'on record, with the reason');
    like($record->{detail}, qr/reported by eva$/, 'and with the name that was signed in with');
    my $ended = good($as{operator}->post('/access-request/end', { requestId => $id }), 'ended');
    is($stack->wait_task($ended->{taskIds}[0])->{type}, 'accessRevoke', 'and taken away');
    refused($as{operator}->post('/access-request/end', { requestId => $id }), 409,
        'requestDecided', 'once');
    my $own = ask('Own', 'eva.berg');
    refused(decide(eva => $own, 'approve'), 403, 'ownRequest', 'own requests cannot be decided');
    good($as{operator}->post('/access-request/end', { requestId => $own }), 'withdrawn');
    is(request($own)->{state}, 'withdrawn', 'by the list, too');
    ok(logged('request.withdraw', 'ok'), 'and on record as that');
    is_deeply([map { $_->{id} } @{ data(approver => '/access-requests',
        { state => 'ended,withdrawn' })->{items} }], [$own, $id], 'the newest first, by state');
    is(data(approver => '/access-requests', { state => 'open' })->{totalCount}, 0, 'none is open');
}

sub by_rest {
    my $id   = ask('CRM', 'bo.ek');
    my $list = $stack->get('/v1/api/access-requests?state=open')->{json}{data};
    is_deeply([map { $_->{id} } @{ $list->{items} }], [$id], 'REST lists them');
    my $without = $stack->post('/v1/api/access-request/decision', { requestId => $id,
        decision => 'deny', approver => upn('eva.berg') });
    is($without->{status}, 403, 'a key carries no decisions unless it was made for them');
    like($without->{json}{error}{message}, qr/key create --decisions/, 'which it is told');
    is($stack->ctl('key', 'create', 'nordic', 'hr-odd', '--access', 'read-only',
        '--decisions')->{exit}, 2, 'a key that reads cannot be made for them');
    my $decide = sub { my (%body) = @_; return $stack->post('/v1/api/access-request/decision',
        { requestId => $id, decision => 'deny', %body }, key => 'tickets') };
    is($decide->()->{status}, 400, 'who decides must be said');
    is($decide->(approver => upn('bo.ek'))->{status}, 403, 'an approver');
    is($decide->(approver => upn('eva.berg'), reason => 'no', comment => 'no')->{status}, 400,
        'comment and reason are one');
    my $denied = good($decide->(approver => upn('eva.berg'), comment => 'no', why => 'x'),
        'denied');
    is_deeply([grep {/unknown/} @{ $denied->{warnings} }], ['unknown member "why" was ignored'],
        'what was ignored is named in this body, too');
    my $record;
    within(sub { ($record) = @{ data(auditor => '/audit', { action => 'request.deny',
        category => 'api', outcome => 'ok' })->{items} } });
    is("$record->{actor}: $record->{detail}", 'ticket-system: in the name of ' . upn('eva.berg'),
        'recorded as the key\'s');
    is_deeply([@{ $stack->get('/v1/api/access-requests')->{json}{data}{items}[0] }{qw(state
        reason)}], ['denied', 'no'], 'it is, with the comment');
    is($stack->post('/v1/api/access-request/decision', { requestId => $id, decision => 'deny',
        approver => upn('eva.berg') }, key => 'read')->{status}, 403, 'not with a key that reads');
    # As a ticket system carries it: who may decide, the decision, once more after a lost answer.
    my $ticket = ask('CRM', 'ida.wall');
    my ($open) = grep { $_->{id} eq $ticket } @{ $stack->get('/v1/api/approvals')
        ->{json}{data}{items} };
    ok(grep({ $_->{userPrincipalName} eq upn('eva.berg') } @{ $open->{eligibleApprovers} }),
        'approvals names who may decide');
    my $carry = sub { my ($number, %body) = @_;
        return $stack->post('/v1/api/access-request/decision', { requestId => $ticket,
            decision => 'approve', approver => upn('eva.berg'), reason => $number, %body },
            key => 'tickets',
            headers => { 'Idempotency-Key' => $number }) };
    my $first = $carry->('ticket-1');
    is($first->{status}, 200, 'approved') or diag $first->{body};
    my $again = $carry->('ticket-1');
    is($again->{headers}{'idempotent-replayed'}, 'true', 'the same call again is answered');
    is_deeply($again->{json}, $first->{json}, 'word for word');
    is($carry->('ticket-2', decision => 'deny')->{status}, 409, 'another decision comes too late');
    my $row = $stack->get('/v1/api/access-requests?limit=1')->{json}{data}{items}[0];
    is_deeply([@$row{qw(id state decidedBy reason)}],
        [$ticket, 'approved', upn('eva.berg'), 'ticket-1'], 'and the list says who decided');
    $stack->wait_task($row->{taskId});
    ok(grep({ $_->{task}{id} eq $row->{taskId} && $_->{type} eq 'task.done' } @{
        $stack->get('/v1/api/events?limit=200')->{json}{data}{items} }), 'an event tells of it');
    good($as{operator}->post('/access-request/end', { requestId => $ticket }), 'ended');
    my $own = ask('Own', 'eva.berg');
    my $refused = $stack->post('/v1/api/access-request/decision', { requestId => $own,
        decision => 'approve', approver => upn('eva.berg') }, key => 'tickets');
    is($refused->{status}, 403, 'the requester decides nothing');
    like($refused->{json}{error}{message}, qr/asked for it and decides nothing/, 'and is told so');
    good($as{operator}->post('/access-request/end', { requestId => $own }), 'withdrawn');
}

sub module_off {
    $stack->apply_tenant(document(modules => { publicApi => JSON::PP::true(),
        accessGovernance => JSON::PP::false() }));
    refused($as{viewer}->get($_), 403, 'moduleOff', $_) for qw(/access-services /access-requests);
    is(data(viewer => '/groups', { limit => 1 })->{items} && 1, 1, 'groups are shown');
}

sub document {
    return $stack->tenant_document(
        roleTemplates => [{ name => 'Seller', groups => ['CRM admins'] }],
        accessCatalog => [{ service => 'CRM', group => 'CRM admins',
            approvers => [upn('eva.berg'), upn('gone')] },
            { service => 'Own', group => 'CRM admins', approvers => [upn('eva.berg')] },
            { service => 'Lost', group => 'Nowhere', approvers => [upn('eva.berg')] }], @_);
}

# Two groups of one name in the cloud: which one is meant is for people to say.
sub ambiguous {
    my ($cloud) = @_;
    $stack = $cloud;
    my $domain = $Idadmin::Test::Cloud::domain;
    my $op = Idadmin::Test::Console->new($stack->httpd, user => 'operator', company => 'acme');
    my $name = $op->data('/groups', { kind => 'security', limit => 1 })->{items}[0]{name};
    $stack->apply_tenant($stack->tenant_document(accessCatalog => [{ service => 'Twice',
        group => $name, approvers => ["eva.berg\@$domain"] }]));
    my ($one) = $stack->sql("SELECT name_key FROM cache.directory_group WHERE name = '$name'");
    $stack->worker->stop;
    $stack->sql("UPDATE cache.directory_group SET name = '$name', name_key = '$one->[0]' "
        . "WHERE id = (SELECT max(id) FROM cache.directory_group WHERE name <> '$name')");
    my $answer = $op->post('/access-request', { service => 'Twice', user => "eva.berg\@$domain" });
    refused($answer, 409, 'groupAmbiguous', 'which of the two');
    my $candidates = $answer->{json}{error}{details}{candidates};
    is_deeply([map { [@$_{qw(name directory)}] } @$candidates],
        [[$name, 'cloud'], [$name, 'cloud']], 'both are named');
    isnt($candidates->[0]{id}, $candidates->[1]{id}, 'with their IDs');
}

for_each_stack {
    subtest 'two groups of one name' => \&ambiguous, @_;
} one_engine =>
    'ops/07-access proves the rows of templates, requests and grants on both engines',
    cloud => {}, httpd => { rate_limits => { person => '100000/60s' }, console => 1 };

for_each_stack {
    ($stack) = @_;
    $stack->apply_tenant(document());
    %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_, company => 'nordic') }
        @Idadmin::Test::Httpd::console_users;
    subtest 'groups' => \&groups;
    subtest 'templates' => \&templates;
    subtest 'requests' => \&requests;
    subtest 'by REST' => \&by_rest;
    subtest 'the module is off' => \&module_off;
} one_engine =>
    'ops/07-access proves the rows of templates, requests and grants on both engines',
    keys => { tickets => ['ticket-system', 'full', '--decisions'] },
    httpd => { rate_limits => { person => '100000/60s' },
    console => "    IdAdminConsoleRole approver * \"%{REMOTE_USER} =~ /^(eva|nobody)\$/\"\n"
        . "    IdAdminConsolePerson \"%{HTTP:X-Person}\"\n" };

done_testing;
