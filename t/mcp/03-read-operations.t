# The eleven read operations over REST, and that MCP gives the same: formats, filters, paging to the
# end under random limits, access with its source, hygiene, audit, governance by idadminctl,
# refusals that name the argument, tenants that cannot see each other.
use strict;
use warnings;
use utf8;
use Encode ();
use Idadmin::Test;
use Idadmin::Test::Mcp;
use Idadmin::Test::Slapd;
use Idadmin::Test::Stack;
use Test::More;

my $stack;
my $d = 'nordic.example';

sub esc { my ($text) = @_; $text = Encode::encode('UTF-8', $text);
    $text =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge; return $text }

# read_op('/users', { query => 'x' }, key => ...) -> the answer
sub read_op {
    my ($path, $arguments, %how) = @_;
    my %a = %{ $arguments // {} };
    my $query = join '&', map { "$_=" . esc($a{$_}) } sort keys %a;
    return $stack->get("/v1/api$path" . (length $query ? "?$query" : ''), %how);
}

sub data {
    my ($path, $arguments, %how) = @_;
    my $answer = read_op($path, $arguments, %how);
    is($answer->{status}, 200, "$path answers") or diag($answer->{body});
    return $answer->{json}{data} // {};
}

sub refused {
    my ($path, $arguments, $status, $like, $name, %how) = @_;
    my $answer = read_op($path, $arguments, %how);
    is($answer->{status}, $status, "$name: $status") or diag($answer->{body});
    like($answer->{json}{error}{message} // '', $like, "$name: the message");
}

sub names { return join ' ', map { $_->{displayName} } @{ $_[0]{items} // [] } }
sub members { return join ' ', sort keys %{ $_[0] } }

sub reports_and_jobs {
    my ($all) = @_;
    my ($bo) = grep { $_->{userPrincipalName} eq "bo.ek\@$d" } @{ $all->{items} };
    is_deeply([@$bo{qw(company employeeId lastSuccessfulSignInAt)}], ['Nordic AB', undef, undef],
        'company, employee ID, last success of a row');
    is(members($bo->{manager}), 'displayName id userPrincipalName', 'members of a manager');
    is($bo->{manager}{displayName}, 'Anna Lind', 'who is told by name');
    my $reports = names(data('/users', { manager => "anna.lind\@$d" }));
    like($reports, qr/\bBo Ek\b/, 'reports of a person, by UPN');
    is(names(data('/users', { manager => $bo->{manager}{id} })), $reports, 'by ID');
    is(names(data('/users', { manager => "bo.ek\@$d" })), '', 'nobody');
    is(data('/users', { jobTitle => 'CLERK' })->{totalCount},
        data('/users', { query => 'clerk' })->{totalCount}, 'a title, and its word');
    is(data('/users', { company => 'nordic ab' })->{totalCount}, $all->{totalCount}, 'a company');
    is(data('/users', { group => 'CRM admins' })->{totalCount}, 2, 'members of a group');
    is(data('/users', { inactiveDays => 1 })->{totalCount}, 0, 'no account is old enough');
    is(data('/users', { createdAfter => '2020-01-01' })->{totalCount}, $all->{totalCount},
        'all were created since');
    is(data('/users', { createdBefore => '2020-01-01' })->{totalCount}, 0, 'and none before');
    is(data('/users', { $_ => 'Nothing' })->{totalCount}, 0, "$_ without people")
        for qw(license employeeId jobTitle company);
    is(data('/users', { query => 'user00020', limit => 1 })->{items}[0]{userPrincipalName},
        "user00020\@$d", 'whose UPN was asked for comes first');
    refused('/users', { group => 'None' }, 404, qr/^group: No group/, 'an unknown group');
    refused('/users', { manager => 'Anna Lind' }, 404,
        qr/^manager: .*Did you mean "Anna Lind" \(anna\.lind/, 'a name is no ID');
    refused('/users', { createdAfter => '2026-02-01', createdBefore => '2026-01-01' }, 400,
        qr/^createdAfter: must not be after createdBefore/, 'a span that ends before it begins');
}

sub searching {
    my $all = data('/users', { limit => 200 });
    is(members($all), 'asOf items nextCursor signInsAsOf totalCount totalCountIsMinimum',
        'members of a list');
    ok(!$all->{totalCountIsMinimum}, 'a count that is exact');
    is($all->{totalCount}, scalar @{ $all->{items} }, 'all on one page');
    is($all->{nextCursor}, undef, 'which is the last');
    like($all->{asOf}, qr/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'asOf is a time');
    cmp_ok($all->{totalCount}, '>=', 30, 'the seeded and the generated');
    my ($eva) = grep { $_->{userPrincipalName} eq "eva.berg\@$d" } @{ $all->{items} };
    is(members($eva),
        'company department displayName id jobTitle lastSignInAt lastSuccessfulSignInAt manager '
            . 'status userPrincipalName userType',
        'members of a row');
    is("$eva->{status} $eva->{userType}", 'active member', 'an active member');
    my @order = map { lc $_->{displayName} } @{ $all->{items} };
    is($order[0], 'anna lind', 'by display name');

    is(names(data('/users', { query => 'ber ev' })), 'Eva Berg',
        'every word begins a word, in any order');
    is(names(data('/users', { query => 'SJOBERG' })), 'Carin Sjöberg',
        'case and accents do not matter');
    is(names(data('/users', { query => 'öqv' })), 'Maria Öqvist', 'written with them neither');
    is(names(data('/users', { query => 'erg' })), '', 'the middle of a word is no beginning');
    is(names(data('/users', { query => "bo.ek\@$d" })), 'Bo Ek', 'a UPN');
    is(data('/users', { query => 'nordic' })->{totalCount}, $all->{totalCount},
        'words of addresses count');
    is(data('/users', { query => '%' x 3 . 'a' })->{totalCount},
        data('/users', { query => 'a' })->{totalCount},
        'signs before a word do not matter, nor mean anything');
    is(data('/users', { department => 'sales' })->{totalCount}, 5, 'a department, in any case');
    is(data('/users', { department => 'sal' })->{totalCount}, 0, 'by its whole name');
    is(data('/users', { department => 'Sales', query => 'bo' })->{totalCount}, 1,
        'filters together');
    is(data('/users', { status => 'active' })->{totalCount}, $all->{totalCount}, 'all are active');
    is(data('/users', { status => $_ })->{totalCount}, 0, "none is $_") for qw(disabled guest);
    is(data('/users', { lastSignInBefore => '2026-01-01' })->{totalCount}, $all->{totalCount},
        'who never signed in signed in before');
    is(data('/users', { lastSignInAfter => '2020-01-01' })->{totalCount}, 0, 'and not after');

    reports_and_jobs($all);
    refused('/users', { limit => $_ }, 400, qr/limit.*1 to 200/, "limit $_") for 0, 201, 'x';
    is(scalar @{ data('/users', { limit => $_ })->{items} }, $_ > $all->{totalCount}
        ? $all->{totalCount} : $_, "limit $_") for 1, 200;
    refused('/users', { status => 'gone' }, 400, qr/status/, 'an unknown status');
    refused('/users', { query => '!!' }, 400, qr/query/, 'a query of signs');
    refused('/users', { query => 'a b c d e f g h i' }, 400, qr/query/, 'nine words');
    refused('/users', { lastSignInBefore => 'yesterday' }, 400, qr/lastSignInBefore/, 'no date');
    refused('/users', { lastSignInBefore => '2026-11-21T09:30:00 02:00' }, 400,
        qr/in a query a \+ is written %2B/, 'an offset whose + became a blank');
    refused('/users', { cursor => 'AAAA' }, 400, qr/cursor/, 'an invalid cursor');
    my $cursor = data('/users', { limit => 3 })->{nextCursor};
    refused('/users', { cursor => $cursor, query => 'a' }, 400, qr/cursor/,
        'a cursor of other filters');
    refused('/workflows', { cursor => $cursor }, 400, qr/cursor/, 'a cursor of another list');
    my $altered = substr($cursor, 0, -2) . (substr($cursor, -2) eq 'AA' ? 'QA' : 'AA');
    refused('/users', { cursor => $altered }, 400, qr/cursor/, 'an altered cursor');
    is(scalar @{ data('/users', { cursor => $cursor, limit => 7 })->{items} }, 7,
        'the limit may change from page to page');
}

sub one_user {
    my $user = data('/user/details', { user => "EVA.berg\@$d" })->{user};
    is($user->{displayName}, 'Eva Berg', 'by UPN in any case');
    is_deeply($user->{directories}, ['onPremises'], 'directories');
    is($user->{manager}, undef, 'no manager is null');
    is(members($user->{signInActivity}),
        'lastNonInteractiveSignInAt lastSignInAt lastSuccessfulSignInAt', 'sign-in activity');
    is(data('/user/details', { user => $user->{id} })->{user}{userPrincipalName}, "eva.berg\@$d",
        'by ID');
    my $bo = data('/user/details', { user => "bo.ek\@$d" })->{user};
    is($bo->{manager}{displayName}, 'Anna Lind', 'a manager has a name');
    is(members($bo->{manager}), 'displayName id userPrincipalName', 'and UPN and ID');
    refused('/user/details', { user => 'Eva Berg' }, 404,
        qr/^user: .*Did you mean "Eva Berg" \(eva\.berg\@\Q$d\E\)/,
        'a name is no ID, but leads on');
    refused('/user/details', {}, 400, qr/user: is required/, 'no person named');
    my $fields =
        $stack->get("/v1/api/user?userPrincipalName=bo.ek\@$d&fields=id,manager,status")
            ->{json}{data}{user};
    is($fields->{id}, $bo->{id}, 'fields of the simple look-up');
}

sub row_for { my ($list, $upn) = @_;
    return (grep { $_->{user}{userPrincipalName} eq "$upn\@$d" } @{ $list->{items} })[0] // {} }
sub via { return join '>', map { $_->{name} } @{ $_[0]{via} // [] } }

sub access {
    my $list = data('/user/access', { user => "bo.ek\@$d" });
    is(members($list), 'asOf items nextCursor totalCount totalCountIsMinimum user',
        'the list and its subject');
    my %by = map { $_->{resource}{name} => $_ } @{ $list->{items} };
    is(members($by{'CRM admins'}), 'grantedAt grantedBy resource source via', 'members of a row');
    is("$by{'CRM admins'}{source} $by{'Sales team'}{source} $by{'All staff'}{source}",
        'iga_request role_template direct', 'sources');
    is($by{'CRM admins'}{grantedBy}{name}, 'CRM administration', 'the service that was asked for');
    is($by{'CRM admins'}{grantedBy}{type}, 'accessRequest', 'by a request');
    like($by{'CRM admins'}{grantedAt}, qr/^20\d\d-/, 'and since when');
    is($by{'Sales team'}{grantedBy}{name}, 'Sales', 'the template');
    is($by{'Sales team'}{grantedAt}, undef, 'whose time is not known');
    is($by{'All staff'}{grantedBy}, undef, 'nothing granted what was given directly');
    is(via($by{'VPN'}), 'CRM admins>Tools', 'nested over two groups');
    is("$by{VPN}{source} $by{VPN}{grantedBy}{name}", 'iga_request CRM administration',
        'with the source of the first membership');
    is(via($by{'Ring'}), 'CRM admins>Tools>VPN', 'and on, in a ring that ends');
    is_deeply([map { scalar @{ $_->{via} } ? 1 : 0 } @{ $list->{items} }],
        [sort map { scalar @{ $_->{via} } ? 1 : 0 } @{ $list->{items} }], 'direct ones first');
    is(data('/user/access', { user => "bo.ek\@$d", source => 'role_template' })->{totalCount}, 1,
        'by source');
    refused('/user/access', { user => "bo.ek\@$d", source => 'magic' }, 400, qr/source/,
        'an unknown source');
    refused('/user/access', { user => 'nobody' }, 404, qr/^user:/, 'an unknown user');

    my $group = data('/resource/access', { resource => 'vpn' });
    is($group->{resource}{name}, 'VPN', 'by name in any case');
    is(via(row_for($group, 'bo.ek')), 'CRM admins>Tools', 'the same way from the other side');
    is(row_for($group, 'bo.ek')->{source}, 'iga_request', 'the same source');
    is(row_for($group, 'anna.lind')->{source}, 'direct', 'a colleague who was put there');
    is(data('/resource/access', { resource => $group->{resource}{id} })->{totalCount}, 2, 'by ID');
    is(data('/resource/access', { resource => uc $group->{resource}{id} })->{resource}{id},
        $group->{resource}{id}, 'in capitals too');
    my $bo = $list->{user}{id};
    is(data('/user/access', { user => uc $bo })->{user}{id}, $bo, "so is a person's");
    is(data('/user/details', { user => uc $bo })->{user}{id}, $bo, 'everywhere');
    is(data('/resource/access', { resource => 'VPN', source => 'direct' })->{totalCount}, 1,
        'by source');
    refused('/resource/access', { resource => 'nothing' }, 404, qr/^resource:/, 'an unknown group');
}

sub hygiene {
    my $report = data('/hygiene');
    is(members($report), 'asOf sections signInsAsOf staleAfterDays', 'the report');
    is($report->{staleAfterDays}, 90, 'the tenant\'s threshold');
    is(members($report->{sections}),
        'accountsWithoutManager disabledWithAccess emptyGroups inactiveGuests staleAccounts',
        'five sections, while no address is shared');
    my $s = $report->{sections};
    ok(!$s->{inactiveGuests}{available}, 'no guests without a cloud directory');
    like($s->{inactiveGuests}{reason}, qr/cloud/, 'and why');
    is($s->{staleAccounts}{count}, 0, 'no account is stale in a young directory');
    is($s->{staleAccounts}{note}, undef, 'no note, as this directory records sign-ins');
    is_deeply([map { $_->{displayName} } @{ $s->{accountsWithoutManager}{items} }], ['Eva Berg'],
        'one has no manager');
    is_deeply([map { $_->{name} } @{ $s->{emptyGroups}{items} }], ['Empty'], 'one group is empty');
    is($s->{emptyGroups}{count}, 1, 'counted');
    is(members(data('/hygiene', { sections => 'emptyGroups,staleAccounts' })->{sections}),
        'emptyGroups staleAccounts', 'some sections');
    is(data('/hygiene', { staleDays => 3650 })->{staleAfterDays}, 3650, 'another threshold');
    refused('/hygiene', { staleDays => $_ }, 400, qr/staleDays/, "staleDays $_") for 0, 3651;
    refused('/hygiene', { sections => 'magic' }, 400, qr/sections/, 'an unknown section');
    refused('/hygiene', { cursor => 'x' }, 400, qr/cursor/, 'a cursor of no section');
}

# Pages to the end under random limits: each row once, all that were counted. Returns the rows.
sub page_through {
    my ($path, $arguments, $rows_of, $rounds) = @_;
    my ($whole) = ('');
    for my $round (1 .. $rounds) {
        my ($cursor, %seen, @rows);
        my $limit = 1 + int rand 40;
        do {
            my $answer = read_op($path,
                { %$arguments, limit => $round % 3 ? $limit : 1 + int rand 40,
                ($cursor ? (cursor => $cursor) : ()) });
            $answer->{status} == 200 or return fail("$path: $answer->{body}");
            my ($items, $next, $total) = $rows_of->($answer->{json}{data});
            push @rows, map { json_text($_) } @$items;
            $cursor = $next;
            @rows <= $total or return fail("$path: more rows than totalCount");
            return fail("$path: $total counted, " . @rows . ' listed')
                if !$cursor && @rows != $total;
        } while ($cursor);
        return fail("$path: a row came twice") if grep { $seen{$_}++ } @rows;
        my $all = join "\n", @rows;
        return fail("$path: another order") if $whole && $all ne $whole;
        $whole = $all;
    }
    return pass("$path: each row once under $rounds random limits");
}

sub paging {
    my $list = sub { return @{ $_[0] }{qw(items nextCursor totalCount)} };
    page_through('/users', {}, $list, 60);
    page_through('/users', { query => 'user' }, $list, 20);
    page_through('/user/access', { user => "bo.ek\@$d" }, $list, 20);
    page_through('/resource/access', { resource => 'All staff' }, $list, 20);
    page_through('/resource/access', { resource => 'Everything' }, $list, 30);
    page_through('/resource/access', { resource => 'Everything', source => 'direct' }, $list, 10);
    page_through('/role-templates', {}, $list, 10);
    page_through('/workflows', {}, $list, 5);
    page_through('/audit', { category => 'command' }, $list, 20);
    page_through('/approvals', {},
        sub { return ([map { { %$_, ageDays => 0 } } @{ $_[0]{items} }],
        @{ $_[0] }{qw(nextCursor totalCount)}) }, 10);
    page_through('/role-template', { roleTemplate => 'Wide' },
        sub { return ($_[0]{roleTemplate}{groups}, $_[0]{nextCursor}, 60) }, 10);
    page_through('/workflow/runs', { workflow => 'Joiner' }, $list, 5);
    page_through('/hygiene', { sections => 'accountsWithoutManager' },
        sub { my $s = $_[0]{sections}{accountsWithoutManager};
        return @$s{qw(items nextCursor count)} }, 5);
}

sub governance {
    my $templates = data('/role-templates');
    my ($sales) = grep { $_->{name} eq 'Sales' } @{ $templates->{items} };
    is(members($sales), 'description groups id name', 'members of a template');
    is($sales->{groups}[0]{name}, 'Sales team', 'its groups have names');
    ok($sales->{groups}[0]{id}, 'and IDs');
    my $one = data('/role-template', { roleTemplate => $sales->{id} })->{roleTemplate};
    is(members($one), 'assignedUserCount description groups id licenseCount licenses name',
        'members of one template');
    is("$one->{licenseCount} $one->{assignedUserCount}", '2 1', 'licences and people');
    is($one->{groups}[0]{kind}, 'security', 'kinds');
    is($one->{groups}[1]{id}, undef, 'a group that the directory does not have has no ID');
    refused('/role-template', { roleTemplate => 'none' }, 404, qr/^roleTemplate:/,
        'an unknown template');
    $stack->wait_task($stack->ctl_ok('role', 'assign', 'nordic', 'Template 1', "bo.ek\@$d",
        '--json')->{taskIds}[0]);
    like($stack->ctl('role', 'assign', 'nordic', 'Template 1', "bo.ek\@$d")->{out},
        qr/it was before.*nothing to do/s, 'assigned twice: said');
    is(scalar @{ $stack->ctl_ok('role', 'list', 'nordic', "BO.ek\@$d", '--json')->{items} }, 2,
        'listed');
    $stack->wait_task($stack->ctl_ok('role', 'unassign', 'nordic', 'Template 1', "bo.ek\@$d",
        '--json')->{taskIds}[0]);
    is($stack->ctl('role', 'unassign', 'nordic', 'Template 1', "bo.ek\@$d")->{exit}, 1,
        'unassigned twice is refused');
    is($stack->ctl('role', 'assign', 'nordic', 'none', "bo.ek\@$d")->{exit}, 1,
        'an unknown template is refused');
    is($stack->ctl('role', 'assign', 'nordic', 'Wide', "nobody\@$d")->{exit}, 1,
        'an unknown user gets nothing');

    my $open = data('/approvals');
    is($open->{totalCount}, 3, 'what is open');
    my $first = $open->{items}[0];
    is(members($first), 'ageDays eligibleApprovers id justification requestedAt requester service',
        'members of a request');
    is($first->{requester}{displayName}, 'Carin Sjöberg', 'who asks');
    is("$first->{service} $first->{ageDays} $first->{justification}",
        'CRM administration 0 quarter end', 'for what, since when, why');
    is_deeply([map { $_->{displayName} } @{ $first->{eligibleApprovers} }], ['Eva Berg'],
        'people who may decide; none who does not exist');
    my $refused = $stack->ctl('request', 'approve', 'nordic', $first->{id}, '--by', "bo.ek\@$d");
    is($refused->{exit}, 1, 'another person may not approve');
    like($refused->{err}, qr/no approver/, 'and is told so');
    is($stack->ctl('request', 'approve', 'nordic', $first->{id}, '--by', "ghost\@$d")->{exit}, 1,
        'an approver who is not there neither');
    is($stack->ctl('request', 'approve', 'nordic', $first->{id})->{exit}, 2, 'without --by: usage');
    is($stack->ctl('request', 'create', 'nordic', 'CRM administration',
        "carin.sjoberg\@$d")->{exit}, 1, 'asked twice is refused');
    my $denied = $stack->ctl_ok('request', 'deny', 'nordic', $first->{id}, '--by', "eva.berg\@$d",
        '--json');
    like($denied->{message}, qr/is denied\.$/, 'denied');
    my ($told) = grep { $_->{id} eq $first->{id} } @{
        $stack->ctl_ok('request', 'list', 'nordic', '--json')->{items} };
    is("$told->{state} $told->{decidedBy}", "denied eva.berg\@$d", 'by whom');
    is($stack->ctl('request', 'approve', 'nordic', $first->{id}, '--by', "eva.berg\@$d")->{exit}, 1,
        'decided is decided');
    is(data('/approvals')->{totalCount}, 2, 'and no longer open');

    my $flows = data('/workflows');
    is(join(' ', map {"$_->{name}/$_->{trigger}/$_->{actionCount}"} @{ $flows->{items} }),
        'Joiner/userCreate/2 Leaver/userDelete/1', 'workflows by name');
    ok($flows->{items}[0]{active} && !$flows->{items}[1]{active}, 'active and not');
    my $runs = data('/workflow/runs', { workflow => 'Joiner' });
    is($runs->{workflow}{name}, 'Joiner', 'runs of one');
    is($runs->{totalCount}, 1, 'one for each event');
    is(members($runs->{items}[0]), 'actions event finishedAt id startedAt status workflow',
        'members of a run');
    is($runs->{items}[0]{event}{type}, 'userCreate', 'what began it');
    is(join(' ', map {"$_->{position} $_->{status} "
        . ($_->{error} // '-')} @{ $runs->{items}[0]{actions} }),
        '1 done - 2 failed no mail server', 'each action');
    is(members($runs->{items}[0]{actions}[0]), 'error finishedAt position startedAt status type',
        'with its members');
    is(data('/workflow/runs', { workflow => 'Joiner', from => '2099-01-01' })->{totalCount}, 0,
        'from');
    refused('/workflow/runs', { workflow => 'Joiner', from => '2026-11-02', to => '2026-11-01' },
        400, qr/^from: must not be after to/, 'from after to');
    refused('/audit', { from => '2026-11-01T10:00:01Z', to => '2026-11-01T10:00:00Z' }, 400,
        qr/^from: must not be after to/, 'of the audit log too');
    is(data('/audit', { from => '2026-11-01', to => '2026-11-01' })->{totalCount}, 0,
        'nothing is between an instant and itself');
    is(data('/workflow/runs', { workflow => 'Joiner', to => '2099-01-01' })->{totalCount}, 1, 'to');
    refused('/workflow/runs', { workflow => 'none' }, 404, qr/^workflow:/, 'an unknown workflow');
    my $id = $flows->{items}[0]{id};
    my $document = $stack->tenant_document(%{ tenant() });
    $document->{workflows}[0]{name} = 'Welcome';
    $stack->apply_tenant($document);
    is(data('/workflow/runs', { workflow => 'Joiner' })->{totalCount}, 1,
        'history stays under the former name');
    is(data('/workflow/runs', { workflow => 'Welcome' })->{totalCount}, 0,
        'and does not come under the new one');
    $stack->apply_tenant($stack->tenant_document(%{ tenant() }));
    is(data('/role-template', { roleTemplate => 'Sales' })->{roleTemplate}{assignedUserCount}, 1,
        'assignments outlive a document applied again');
}

# Whole seconds are written without milliseconds.
sub at { my ($record) = @_; return $record->{at} =~ s/:\d\d\KZ$/.000Z/r }

sub audit {
    my ($log, $search);
    within(sub {
        $log = data('/audit', { actor => 'hr-read', category => 'api', limit => 5,
            includeReads => 'true' });
        ($search) = grep { $_->{action} eq 'users.search' && $_->{parameters}{department} } @{
            data('/audit', { actor => 'HR-read', action => 'users.search', limit => 200,
            includeReads => 'true' })->{items} };
        return $search;
    });
    is(members($log->{items}[0]), 'action actor address at category correlationId detail endpoint'
        . ' id label outcome parameters target', 'members of a record');
    is((grep { $_->{actor} ne 'hr-read' || $_->{category} ne 'api' } @{ $log->{items} })[0], undef,
        'actor and category hold');
    my @all = @{ data('/audit', { limit => 200, includeReads => 'true' })->{items} };
    is_deeply([map { at($_) } @all], [reverse sort map { at($_) } @all], 'newest first');
    is(ref $search->{parameters}, 'HASH', 'parameters are an object');
    my $middle = at($all[ @all / 2 ]);
    is((grep { at($_) lt $middle } @{
        data('/audit', { from => $middle, limit => 200 })->{items} })[0], undef,
        'from is inclusive');
    is((grep { at($_) ge $middle } @{
        data('/audit', { to => $middle, limit => 200 })->{items} })[0], undef, 'to is exclusive');
    my ($assigned) = grep { $_->{action} eq 'role.assign' } @{
        data('/audit', { category => 'command', limit => 200 })->{items} };
    is($assigned->{target}, "bo.ek\@$d", 'what administrators do is there');
    my $about_bo = data('/audit', { target => "BO.EK\@$d", limit => 200 });
    ok($about_bo->{totalCount}, 'changes of a person are found');
    is_deeply([grep { lc($_->{target} // '') ne "bo.ek\@$d" } @{ $about_bo->{items} }], [],
        'and nothing else');
    is($about_bo->{totalCount}, grep({ lc($_->{target} // '') eq "bo.ek\@$d"
        && $_->{action} !~ /^users?\./ } @{ data('/audit', { limit => 200 })->{items} }) + 0,
        'without what was only asked');
    my $roles = data('/audit', { action => 'role.assign', outcome => 'ok', limit => 200 });
    is_deeply([sort keys %{ { map { ("$_->{action} $_->{outcome}" => 1) } @{ $roles->{items} } } }],
        ['role.assign ok'], 'action and outcome hold');
    is(data('/audit', { action => 'role.assign', outcome => 'NOT_FOUND' })->{totalCount}, 0,
        'both of them');
    my $task = data('/tasks', { limit => 1 })->{items}[0];
    my $of_task;
    ok(within(sub {
        $of_task = data('/audit', { taskId => $task->{id}, limit => 200 })->{items};
        scalar @$of_task }), 'what was done about a task is found');
    is_deeply([grep { json_text($_) !~ /$task->{id}/ } @$of_task], [], 'each record names it');
    refused('/audit', { taskId => 'none' }, 404, qr/none/, 'a task that is not there');
    refused('/audit', { category => 'magic' }, 400, qr/category/, 'an unknown category');
    my $body = read_op('/audit', { limit => 200, includeReads => "true" })->{body};
    unlike($body, qr/\Q@{[ $stack->key('read')->{apiKey} ]}\E/, 'no key is in it');
}

# Every tool gives what its REST twin gives.
sub twins {
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    my %calls = (
        search_users => ['/users', { query => 'bo' }],
            get_user => ['/user/details', { user => "bo.ek\@$d" }],
        get_user_access => ['/user/access', { user => "bo.ek\@$d" }],
        get_resource_access => ['/resource/access', { resource => 'VPN' }],
        get_hygiene_report => ['/hygiene', {}], list_role_templates => ['/role-templates', {}],
        get_role_template => ['/role-template', { roleTemplate => 'Sales' }],
        list_pending_approvals => ['/approvals', {}], list_workflows => ['/workflows', {}],
        get_workflow_runs => ['/workflow/runs', { workflow => 'Joiner' }],
        get_audit_log => ['/audit', { category => 'command', limit => 20 }],
    );
    for my $tool (sort keys %calls) {
        my ($path, $arguments) = @{ $calls{$tool} };
        my $rest = data($path, $arguments);
        my $said = $mcp->call($tool, $arguments);
        ok($said->{data}, "$tool answers") or diag($said->{failed} // $said->{body});
        # Moments of readings move while we ask.
        delete @$_{qw(asOf signInsAsOf nextCursor)} for $rest, $said->{data};
        is_deeply($said->{data}, $rest, "$tool gives what GET $path gives");
    }
    like($mcp->call(get_user => { user => 'nobody' })->{failed}, qr/^user: .*search_users/,
        'a tool error leads to the sibling');
}

# A second tenant over the same directory server but without its people: whatever the first one
# knows does not exist for it.
sub isolation {
    my $document = $stack->tenant_document(companyId => 'island', name => 'Island',
        roleTemplates => undef, workflows => undef, accessCatalog => undef,
        modules => { publicApi => JSON::PP::true(), accessGovernance => JSON::PP::false() },
        directories => { onPremises =>
        $stack->directory_document(userBase => 'ou=services,dc=nordic,dc=example',
            groupBase => 'ou=services,dc=nordic,dc=example',
            createIn => 'ou=services,dc=nordic,dc=example', placeholderMember => undef) });
    delete $document->{directories}{onPremises}{placeholderMember};
    $stack->apply_tenant($document);
    my $key = $stack->ctl_ok('key', 'create', 'island', 'island-read', '--access', 'read-only',
        '--rate-limit', '6000/60s', '--json');
    within(sub { read_op('/users', {}, key => $key)->{status} == 200 })
        or return fail('the second tenant is not synchronised');
    my $eva = data('/user/details', { user => "eva.berg\@$d" })->{user};
    my $group = data('/resource/access', { resource => 'VPN' })->{resource}{id};
    my $template = data('/role-templates')->{items}[0]{id};
    is(data('/users', { query => 'eva' }, key => $key)->{totalCount}, 0, 'search finds no one');
    for my $case (['/user/details', user => $eva->{id}], ['/user/details', user => "eva.berg\@$d"],
        ['/user/access', user => $eva->{id}], ['/resource/access', resource => $group],
        ['/resource/access', resource => 'VPN'], ['/role-template', roleTemplate => $template],
        ['/role-template', roleTemplate => 'Sales'], ['/workflow/runs', workflow => 'Joiner']) {
        my ($path, $name, $value) = @$case;
        refused($path, { $name => $value }, 404, qr/^$name: (?!.*Eva)/,
            "$path of the other tenant's $name", key => $key);
    }
    is(data($_, {}, key => $key)->{totalCount}, 0, "$_ is empty")
        for '/role-templates', '/workflows';
    is(data('/audit', { actor => 'hr-read' }, key => $key)->{totalCount}, 0, 'nor its audit log');
    my $empty = data('/hygiene', {}, key => $key)->{sections};
    is($empty->{emptyGroups}{count} + $empty->{accountsWithoutManager}{count}, 0,
        'nor its hygiene');
    for my $path ('/users', '/audit', '/role-templates') {
        my $cursor = data($path, { limit => 1 })->{nextCursor};
        refused($path, { limit => 1, cursor => $cursor }, 400, qr/cursor/,
            "$path with the other tenant's cursor", key => $key);
    }
    refused('/approvals', {}, 403, qr/access governance module/,
        'without the module: named, not an empty list', key => $key);
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $key);
    like($mcp->call('list_pending_approvals')->{failed}, qr/access governance module is required/,
        'by the tool too');
    my $denied = $stack->ctl('request', 'create', 'island', 'x', 'y@z');
    like($denied->{err}, qr/access governance module/, 'and by idadminctl');
}

# `cache reset` while the directory is away. httpd remembers for some seconds that the tenant is
# synchronised: until then no answer may say that a person does not exist.
sub emptied {
    $stack->worker->stop;
    $stack->worker->expect_log(qr/IDA0315/);
    $stack->worker->expect_log(qr/IDA0340.*ghost/);    # nobody by intention
    $stack->slapd->stop;
    $stack->ctl_ok('cache', 'reset', 'nordic');
    # other children remember, too
    read_op('/users', { limit => 1 }, client => $stack->httpd->client) for 1 .. 12;
    $stack->worker->start;
    ok(within(sub { !grep {
        $_->[0] } $stack->sql("SELECT count(*) FROM cache.directory_user WHERE tenant_id = "
        . "'nordic'") }), 'the worker empties the cache');
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    for (1 .. 4) {
        my $client = $stack->httpd->client;
        my @answers = ($stack->get_user("eva.berg\@$d", client => $client),
            (map { read_op($_->[0], $_->[1], client => $client) } ['/users'],
            ['/user/access', { user => 'x' }],
            ['/resource/access', { resource => 'VPN' }], ['/hygiene'], ['/approvals']),
            $stack->delete('/v1/api/user', { userPrincipalName => "eva.berg\@$d" },
            client => $client),
            $stack->post('/v1/api/user', { firstname => 'A', surname => 'B' }, client => $client));
        is(join(' ', map { $_->{status} } @answers), '503 ' x 7 . '503',
            'nothing about people is shown');
        like($mcp->call(@$_)->{failed}, qr/not yet synchronised/, "$_->[0] says why")
            for ['search_users'], ['get_user', { user => "eva.berg\@$d" }], ['get_hygiene_report'];
    }
}

sub tenant {
    return {
        roleTemplates => [
            { name => 'Sales', description => 'who sells', groups => ['Sales team', 'Not there'],
                licenses => ['SPE_E3', 'VISIO'] },
            { name => 'Wide', groups => [map { sprintf 'Group %05d', $_ } 1 .. 60] },
            map { { name => "Template $_", groups => ['Finance'] } } 1 .. 12,
        ],
        workflows => [
            { name => 'Joiner', trigger => 'userCreate', active => JSON::PP::true(),
                actions => [{ type => 'addToGroup', group => 'All staff' },
                { type => 'sendEmail', to => '{manager}', subject => 'x', body => 'y' }] },
            { name => 'Leaver', trigger => 'userDelete', active => JSON::PP::false(),
            actions => [{ type => 'removeLicenses' }] },
        ],
        accessCatalog => [
            { service => 'CRM administration', group => 'CRM admins',
                approvers => ["eva.berg\@$d", "ghost\@$d"] },
            { service => 'Finance', group => 'Finance', approvers => ["eva.berg\@$d"] },
        ],
    };
}

my @people = map { "member: uid=$_,ou=people,dc=nordic,dc=example" } 'greta.dahl', 'henrik.falk',
    map { sprintf 'user%05d', $_ } 1 .. 12;
sub group_entry { my ($name, @members) = @_;
    return "dn: cn=$name,ou=groups,dc=nordic,dc=example\nobjectClass: groupOfNames\ncn: $name\n"
    . join("\n", @members) . "\n\n" }
sub inner { return "member: cn=$_[0],ou=groups,dc=nordic,dc=example" }
my $ldif = group_entry('Tools', inner('CRM admins')) . group_entry('VPN', inner('Tools'))
    . group_entry('Ring', inner('VPN'), inner('Ring2')) . group_entry('Ring2', inner('Ring'))
    . group_entry('Everything', inner('All staff'), inner('VPN'), @people)
        . group_entry('Empty', 'member: cn=placeholder,ou=groups,dc=nordic,dc=example');

for_each_stack {
    ($stack) = @_;
    for my $who ('carin.sjoberg', 'david.holm', 'elin.strand') {
        $stack->ctl_ok('request', 'create', 'nordic', 'CRM administration', "$who\@$d",
            '--justification', $who =~ /carin/ ? 'quarter end' : 'x');
    }
    my $bo = $stack->ctl_ok('request', 'create', 'nordic', 'CRM administration', "bo.ek\@$d",
        '--json');
    my $approved = $stack->ctl_ok('request', 'approve', 'nordic', $bo->{requestId}, '--by',
        "EVA.berg\@$d", '--json');
    like($approved->{message}, qr/is approved\.$/, 'approved by an approver, in any case');
    is($stack->wait_task($approved->{taskIds}[0])->{steps}[0]{outcome}, 'already',
        'carried out by a task');
    $stack->worker->expect_log(qr/IDA0317.*Not there/);
    my $assigned = $stack->ctl_ok('role', 'assign', 'nordic', 'Sales', "bo.ek\@$d", '--json');
    is_deeply([map {/^(\S+) is not given: /} @{ $assigned->{warnings} }], ['SPE_E3', 'VISIO'],
        'a group without members to add is reported');
    is($stack->wait_task($assigned->{taskIds}[0], states => ['failed'])->{steps}[1]{detail},
        'There is no group Not there.', 'and what is not there');
    # A run as the worker records it; how workflows are carried out is not this file's affair.
    $stack->sql("INSERT INTO workflow_run (id, tenant_id, workflow, event_type, task_id, upn, "
        . "started_at, finished_at, status) VALUES"
            . " ('run1', 'nordic', 'Joiner', 'userCreate', 'task1', 'new\@$d', 1795000000000, "
                . "1795000001000, 'failed')");
    $stack->sql("INSERT INTO workflow_run_action (tenant_id, run_id, position, type, status, "
        . "started_at, finished_at, error) VALUES"
            . " ('nordic', 'run1', 1, 'addToGroup', 'done', 1795000000000, 1795000000500, NULL), "
            . "('nordic', 'run1', 2, 'sendEmail', 'failed', 1795000000500, 1795000001000, "
            . "'no mail server')");
    subtest $_->[0] => $_->[1]
        for ['search_users' => \&searching], ['get_user' => \&one_user], ['access' => \&access],
        ['hygiene' => \&hygiene],
        ['governance' => \&governance], ['audit' => \&audit], ['paging' => \&paging],
        ['twins' => \&twins], ['isolation' => \&isolation], ['emptied' => \&emptied];
} slapd => { users => 30, groups => 60, ldif => $ldif }, tenant => tenant();
done_testing();
