# Everything that can be pressed in the console works: each button, menu item, link and dialog of
# each page, as administrator and as each role, over a company in which everything has happened and
# over one in which nothing has; each write is answered well, nothing is refused that was offered.
use strict;
use utf8;
use warnings;
use Cpanel::JSON::XS ();
use Idadmin::Test qw(slurp src_dir within);
use Idadmin::Test::Between ();
use Idadmin::Test::Browser ();
use Idadmin::Test::Company ();
use Idadmin::Test::Console ();
use JSON::PP ();
use POSIX ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $company = Idadmin::Test::Company->new;
my $browser = $company->browser;
my $stack   = $company->stack;
my $between = Idadmin::Test::Between->new($browser);
my $robot   = slurp(src_dir() . '/t/console/press.js');
my $person  = $company->id_of('greta.dahl');
my $api     = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
    company => 'nordic');
# A person without tasks and requests.
my %named = map { $_->{userPrincipalName} => 1 }
    @{ $api->data('/tasks', { limit => 200 })->{items} },
    map { $_->{requester} } @{ $api->data('/access-requests', { limit => 200 })->{items} };
my ($who) = map { $_->{userPrincipalName} }
    grep { $_->{manager} && !$named{ $_->{userPrincipalName} } }
    reverse @{ $api->data('/users', { status => 'active', limit => 200 })->{items} };
my $template = $api->data('/role-templates')->{items}[0]{id};
my $group    = $api->data('/groups')->{items}[0]{id};
$browser->patience(900);
$browser->media(reduced => 1);    # animations cost processor

my @pages = (
    (map { 'task/' . $company->task($_) } qw(skipped failed braked attention done left cancelled)),
    qw(overview people), "person/$person", "person/$person?tab=access", "person/$person?tab=line",
    "person/$person?tab=tasks",
    "person/$person?tab=log", 'person/' . $company->id_of('bo.ek') . '?tab=evidence',
    "hire/$person", 'hire', 'offboard/' . $company->id_of('rut.sandell'), 'offboard',
    qw(tasks?tab=queued tasks?tab=all access/groups access/templates access/requests workflows
        workflows/Leaver hygiene hygiene/accountsWithoutManager hygiene/emptyGroups log keys
        company people?show=coming hires calendar calendar/2031-03-30 settings/receivers
        settings/catalog settings/document),
    "access/templates?template=$template", "access/groups?group=$group",
);

# Presses as `user`, checks the calls, and returns what the robot saw.
sub presses {
    my ($user, $writes, @places) = @_;
    $company->sign_in($user);
    $company->open('overview');
    my $told = $browser->async($robot, \@places, $writes ? JSON::PP::true : JSON::PP::false, $who);
    my @calls = @{ $browser->script('return between.log') };
    is_deeply($told->{faults}, [], "$user: nothing says that it failed");
    is_deeply([map {"$_->{from}: $_->{method} $_->{path}$_->{query} $_->{status} "
        . ($_->{body} // '')}
        grep { ($_->{status} // 200) >= 400 } @calls], [], "$user: nothing is refused");
    is_deeply([$browser->complaints], [], "$user: nothing to complain of");
    note("$user: $told->{pressed} pressed, " . @{ $told->{links} } . ' kinds of links');
    return ($told, @calls);
}

my @pressed;             # writes of the administrator
$stack->worker->stop;    # what is queued stays queued while it is looked at

subtest 'an administrator' => sub {
    my ($told, @calls) = presses('administrator', 1, @pages);
    @pressed = grep { $_->{method} ne 'GET' && $_->{query} !~ /dryRun/ && $_->{status} < 300 }
        @calls;
    my %written = map { ("$_->{method} $_->{path}" => 1) } @pressed;
    ok($written{$_}, $_) for 'POST user', 'PATCH user', 'POST user/offboard', 'DELETE task',
        'PATCH task', 'POST task/retry', 'POST task/release', 'POST tasks/change',
        'POST role/assign', 'POST role/unassign', 'POST access-request', 'POST access-request/end',
        'POST access-request/decision', 'POST key', 'POST key/rotate', 'POST key/disable',
        'POST key/enable', 'DELETE key', 'POST directory/sync', 'POST directory/check',
        'POST audit/verify';
    cmp_ok($told->{pressed}, '>', 100, 'a good deal was pressed');
    diag(join "\n", @{ $told->{seen} }) if $ENV{IDADMIN_KEEP};
};

# What came of each write, as the service tells it afterwards. Of several writes of one thing the
# last one counts, which is why they are read from the end.
my %done;
sub first_time { my (@of) = @_; return !$done{"@of"}++ }
sub state_of { my ($id) = @_; return $api->data('/task', { id => $id })->{task} }
my %changed = (cancel => sub { $_[0]{state} eq 'cancelled' },
    retry => sub { $_[0]{state} =~ /^(?:queued|running|done)$/ },
    release => sub { !$_[0]{braked} },
    reschedule => sub { my ($task, $body) = @_;
        return index($task->{scheduledAt}, $body->{date}) == 0 });
sub changed {
    my ($verb, $id, $body) = @_;
    return if !first_time(task => $id);
    ok($changed{$verb}->(state_of($id), $body), "$verb: task $id");
    return;
}
sub queued { my ($type) = @_; return sub {
    my ($body, $answer) = @_;
    my $task = state_of($answer->{taskId});
    is($task->{type}, $type, "$type: $task->{userPrincipalName}");
    is($task->{requestedBy}{username}, 'administrator', 'asked by the person');
    return if $type ne 'userCreate';
    my $asked = $api->data('/task/asked', { id => $task->{id} })->{asked};
    is_deeply([@$asked{qw(firstname surname)}], [@$body{qw(firstname surname)}], 'of this name');
    return;
} }
sub with_id { my ($verb) = @_; return sub { my ($body, undef, $query) = @_;
    return changed($verb, $query =~ /[?&]id=(\w+)/, $body) } }
sub role { my ($has) = @_; return sub {
    my ($body) = @_;
    return if !first_time(role => @$body{qw(roleTemplate user)});
    my $items = $api->data('/role/assignments', { roleTemplate => $body->{roleTemplate} })->{items};
    is(scalar(grep { $body->{user} eq $_->{user}{id}
        || $body->{user} eq ($_->{user}{userPrincipalName} // '') } @$items), $has,
        "a role template: $has");
} }
sub request_is { my ($state) = @_; return sub {
    my ($body, $answer) = @_;
    my $id = $body->{requestId} // $answer->{requestId};
    return if !first_time(request => $id);
    my ($request) = grep { $_->{id} eq $id } @{ $api->data('/access-requests',
        { limit => 200 })->{items} };
    like($request->{state}, $state, 'a request');
} }
sub key_is { my ($state) = @_; return sub {
    my ($body, $answer, $query) = @_;
    my ($name) = $answer->{username} // $query =~ /username=([^&]+)/;
    return if !first_time(key => $name);
    my ($key) = grep { $_->{username} eq $name }
        @{ $api->data('/keys', { limit => 200 })->{items} };
    like($key ? $key->{state} : 'gone', $state, "the key $name");
} }
my %came = (
    'POST user' => queued('userCreate'), 'PATCH user' => queued('userUpdate'),
    'POST user/offboard' => queued('userDelete'),
    'DELETE task' => with_id('cancel'), 'PATCH task' => with_id('reschedule'),
    'POST task/retry' => with_id('retry'), 'POST task/release' => with_id('release'),
    'POST tasks/change' => sub { my ($body, $answer) = @_;
        changed($body->{verb}, $_->{id}, $body)
            for grep { $_->{outcome} eq 'done' } @{ $answer->{items} } },
    'POST role/assign' => role(1), 'POST role/unassign' => role(0),
    'POST access-request' => request_is(qr/open/),
    'POST access-request/end' => request_is(qr/withdrawn|ended/),
    'POST access-request/decision' => sub { my ($body, $answer) = @_;
        request_is($body->{decision} eq 'approve' ? qr/approved/ : qr/denied/)->(@_) },
    'POST key' => key_is(qr/active|expiring/), 'POST key/rotate' => key_is(qr/active|expiring/),
    'POST key/disable' => key_is(qr/disabled/), 'POST key/enable' => key_is(qr/active|expiring/),
    'DELETE key' => key_is(qr/gone/),
    'POST directory/sync' => sub { ok($_[1]{requestedAt}, 'a directory is to be read') },
    'POST directory/check' => sub { ok($api->data('/directory/check',
        { directory => 'onPremises' })->{requestedAt}, 'a directory is to be checked') },
    'POST company/plan' => sub { is(ref $_[1]{changes}, 'ARRAY', 'what a draft would change') },
    'POST audit/verify' => sub { ok($api->data('/audit/chain')->{requestedAt},
        'the chain is to be verified') },
);
subtest 'what came of each write' => sub {
    my $json = Cpanel::JSON::XS->new->utf8(0);
    for my $call (reverse @pressed) {
        my $check = $came{"$call->{method} $call->{path}"};
        ok($check, "$call->{method} $call->{path} is known") or next;
        $check->($json->decode($call->{body} // '{}'), $call->{answer} // {}, $call->{query});
    }
    cmp_ok(scalar @pressed, '>', 20, scalar(@pressed) . ' writes');
};

# Three days carry all roles, as two carry all engines; what a role may not do t/console/03-rights.t
# asks for each of them.
my @turns = (['viewer', 'approver'], ['operator'], ['auditor', 'key-administrator']);
my $today = ($ENV{IDADMIN_DAY} // int time / 86400) % @turns;
for my $role (map {@$_} ($ENV{IDADMIN_ENGINE} // '') eq 'all' ? @turns : $turns[$today]) {
    subtest $role => sub {
        presses($role, 0, @pages);
        # Only who may hire may ask what a hire would get.
        return if $role eq 'approver';
        $company->open('company');
        is($browser->script('return document.querySelectorAll("[name=usernameFormat]").length'),
            $role eq 'operator' ? 1 : 0, 'formats are tried by those who hire');
    };
}

# As the service tells of a company in which nothing has happened yet.
subtest 'nothing has happened' => sub {
    $company->sign_in('administrator');
    $company->open('overview');
    $between->tells($_ => { items => [], totalCount => 0, nextCursor => undef })
        for qw(users tasks groups role-templates approvals access-requests access-services workflows
        workflow/runs audit keys);
    $between->tells(overview => { needs => [], directories => [],
        today => { date => '2026-11-26', done => 0, late => 0, totalCount => 0, open => [] } });
    my $told = $browser->async($robot, [qw(people tasks tasks?tab=queued access/groups
        access/templates access/requests workflows log keys overview)], JSON::PP::false, $who);
    is_deeply($told->{faults}, [], 'nothing says that it failed');
    is_deeply([map { $_->{path} } grep { ($_->{status} // 200) >= 400 }
        @{ $browser->script('return between.log') }], [], 'nothing is refused');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

# What was queued is carried out, and the pages tell it.
subtest 'and then' => sub {
    $stack->worker->start;
    within(sub { !$api->data('/pulse')->{queue}{running} && !grep {
        $_->{scheduledAtUtc} lt POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime) && !$_->{hold} }
        @{ $api->data('/tasks', { state => 'queued', limit => 200 })->{items} } });
    my @done = qw(user.create user.update user.delete task.cancel task.release key.create key.delete
        role.assign request.approve sync.request);
    my %seen;
    within(sub { %seen = map { $_->{action} => 1 } @{ $api->data('/audit', { limit => 200,
        category => 'portal' })->{items} };
        @done == grep { $seen{$_} } @done });
    ok($seen{$_}, "the log has $_") for @done;
    $company->open('overview');
    is(scalar $browser->all('.failed'), 0, 'the overview stands');
    is($browser->script('return getComputedStyle(document.querySelector(".lamp")).backgroundColor'),
        'rgb(27, 110, 63)', 'and the lamp is green');
};

$company->stop;
done_testing;
