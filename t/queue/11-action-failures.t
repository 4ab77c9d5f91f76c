# Each type of workflow action against each way it can go wrong, in an on-premises directory, a
# cloud directory and both together: a row is an action, and the required report of its step. Every
# row is a separate workflow, so that it has its own run; one update of a person executes all rows
# of a tenant. The task over REST, idadminctl and get_workflow_runs must report the same. The mail
# server's and the receiver's answers, one by one, are in t/queue/09; unavailable directories in
# t/ldap/01, t/ldap/02 and t/cloud/07.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(on_one_engine within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(outcomes step);
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act company run_of told_alike workflow);

my $skip = Idadmin::Test::Smtp->skip_reason || Idadmin::Test::Cloud->skip_reason
    || Idadmin::Test::Slapd->skip_reason;
plan(skip_all => $skip) if $skip;

my ($people, $groups, $d) = ($Idadmin::Test::Slapd::people, $Idadmin::Test::Slapd::groups,
    $Idadmin::Test::Slapd::domain);
my ($true, $false) = (JSON::PP::true(), JSON::PP::false());
my ($smtp, $hook) = (Idadmin::Test::Smtp->new(tls => ''), Idadmin::Test::Webhook->new);
my $stack;

sub upn { return "$_[0]\@$d" }
sub call_hook { my ($path, %more) = @_;
    return act(callWebhook => url => $hook->url($path), secretFile => $hook->secret,
    allowPrivate => $true, %more) }
sub add    { return act(addToGroup      => group => $_[0]) }
sub leave  { return act(removeFromGroup => group => $_[0]) }
sub assign { return act(assignRoleTemplate => roleTemplate => $_[0]) }
sub set    { return act(setAttribute => attribute => $_[0], value => $_[1]) }
sub report_to { return act(transferReports => @_ ? (to => upn($_[0])) : ()) }

# [name, action, outcome, what the detail says]. The name is the workflow's.
sub workflows { my ($trigger, @rows) = @_;
    return [map { workflow($_->[0], $trigger, $_->[1]) } @rows] }

sub change { my ($on, $uid, %values) = @_;
    my $answer = $on->call(PATCH => '/v1/api/user',
    json => { userPrincipalName => upn($uid), city => 'Lund', %values });
    is($answer->{status}, 200, "an update of $uid") or diag $answer->{body};
    return $answer->{json}{data}{taskId} }

# Every row as the three interfaces report it.
sub rows {
    my ($on, $id, @rows) = @_;
    my $task = $on->wait_task($id);
    told_alike($on, $task);
    for my $row (@rows) {
        my ($name, $action, $outcome, $says) = @$row;
        my $step = step($task, "$name/1 $action->{type}");
        is($step->{outcome}, $outcome, "$name: $outcome") or diag $step->{detail};
        like($step->{detail}, $says, 'and says so');
        my $bad = $outcome eq 'failed';
        is(scalar(grep { $_ eq "$step->{name}: $step->{detail}" } @{ $task->{warnings} }), $bad ? 1
            : 0, $bad ? 'which is a warning' : 'without a warning of that');
        run_of($on, $name, $task, $bad ? 'doneWithWarnings' : 'done');
    }
    return $task;
}

# Only the administrator writes these.
sub lock_entries {
    my ($slapd) = @_;
    my $rule = 0;
    $slapd->modify("dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nadd: "
        . "olcAccess\nolcAccess: {@{[ $rule++ ]}}to $_ by * read\n",
        bind => ['cn=config', Idadmin::Test::Slapd::admin_password()])
        for "dn.regex=\"^cn=Locked (in|out),$groups\$\"", "dn.subtree=\"$people\" attrs=street",
            "dn.subtree=\"ou=closed,$people\"";
}

# -- on-premises

my @templates = (
    { name => 'Whole',  groups => ['Canteen', 'Workshop'],        licenses => [] },
    { name => 'Partly', groups => ['Workshop', 'Finance people'], licenses => [] },
);

my @on_premises = (
    ['no such group',                add('Nowhere'), 'failed',
        qr/^The directory has no group "Nowhere"\.$/],
    ['a group by rule',              add('Finance people'), 'failed',
    qr/membership of cn=Finance people,\S+ is by rule: members cannot be added/],
    ['out of a group by rule',       leave('Selling people'), 'failed',
    qr/is by rule and cannot be removed/],
    ['no right to a group',          add('Locked out'), 'failed',
    qr/add members.*Insufficient access \(50\)/],
    ['no right to leave a group',    leave('Locked in'), 'failed',
    qr/remove the member.*Insufficient access \(50\)/],
    ['a member already',             add('Sales team'), 'already',
    qr/^member of Sales team already$/],
    ['no member',                    leave('Finance'), 'already', qr/^no member of Finance$/],
    ['into a group deleted since',   add('Deleted'), 'failed',
    qr/^The group Deleted is not in the directory any more: /],
    ['out of a group deleted since', leave('Deleted'), 'already', qr/^no member of Deleted$/],
    ['a template',                   assign('Whole'), 'done', qr/^Whole: added Canteen, Workshop$/],
    ['a template again',             assign('Whole'), 'already',
    qr/^Whole: so already Canteen, Workshop$/],
    ['a template half refused',      assign('Partly'), 'failed',
    qr/^Partly: so already Workshop; refused Finance people \(.*by rule/],
    ['templates taken away',         act('unassignRoleTemplates'), 'done',
    qr/^2 role templates unassigned: removed Canteen, Workshop/],
    ['no templates left',            act('unassignRoleTemplates'), 'already',
    qr/no role template is assigned/],
    ['licences where there are none', act('removeLicenses'), 'skipped',
    qr/^a directory of this kind has no licences$/],
    ['an unknown attribute',         set('shoeSize', '42'), 'failed', qr/no place for shoeSize/],
    ['a value it does not take',     set('country', 'Sverige'), 'failed',
    qr/two-letter codes only; "Sverige" was left out/],
    ['a value cut short',            set('middleName', 'Karl'), 'done',
    qr/^middleName: Karl; middleName: this directory keeps initials only \(K\)$/],
    ['a value that stands',          set('jobTitle', '{jobTitle}'), 'already',
    qr/^jobTitle: Sales manager$/],
    ['no right to an attribute',     set('streetAddress', 'Torget 1'), 'failed',
    qr/change the account.*Insufficient access \(50\)/],
    ['a manager who is not there',   set('manager', upn('nobody')), 'failed',
    qr/^The manager \S+ was not found in the directory\.$/],
    ['nowhere to move to',           act(moveTo => container => "ou=nowhere,$people"), 'failed',
    qr/there is no container ou=nowhere/],
    ['a place outside',              act(moveTo => container => $groups), 'failed',
    qr/does not lie below userBase/],
    ['no right to the place',        act(moveTo => container => "ou=closed,$people"), 'failed',
    qr/the\ account\ stays\ where\ it\ is,\ because\ a\ membership\ cannot\ follow\ it:\ cn=Locked
        \ in,.*:\ Insufficient\ access\ \(50\)/x],
    ['a place taken',                act(moveTo => container => "ou=taken,$people"), 'failed',
    qr/uid=anna\.lind,ou=taken,\S+ is another entry/],
    ['there already',                act(moveTo => container => $people), 'already',
    qr/^to ou=people/],
    ['reports to nobody',            report_to('nobody'), 'failed',
    qr/^The manager \S+ was not found/],
    ['reports to the same person',   report_to('anna.lind'), 'failed',
    qr/^The reports of anna\.lind\S+ \(4\) cannot be taken over by the same person/],
    ['reports to the manager',       report_to(), 'done',
    qr/^4 reports now report to eva\.berg\S+$/],
    ['no reports left',              report_to(), 'already', qr/^nobody reports to anna\.lind/],
    ['mail to a manager',            act(sendEmail => to => '{manager}', subject => 's',
    body => 'b'), 'done', qr/^to eva\.berg\S+: accepted by the mail server 127\.0\.0\.1:\d+: 250/],
    ['mail that is refused',         act(sendEmail => to => 'refused@x.example', subject => 's',
    body => 'b'), 'failed',
    qr/^to refused\@x\.example: The mail server \S+ refuses: 550 5\.1\.1 No such mailbox here/],
    ['the last manager cleared',     set('manager', ''), 'done', qr/^manager: nobody$/],
    ['mail to no manager',           act(sendEmail => to => '{manager}', subject => 's',
    body => 'b'), 'skipped', qr/would go to the manager, but anna\.lind\S+ has none/],
);

# Passwords are for who is new.
my @joiner = (
    ['a password that reaches no one', act(sendInitialPassword => to => 'refused@x.example'),
        'failed',
        qr/^A\ new\ password\ is\ set\ that\ no\ one\ has;\ the\ next\ attempt,\ also\ after\ task
            \ retry,\ makes\ another\ one:\ to\ refused\@x\.example:\ .*550/x],
    ['a password to no manager',     act(sendInitialPassword => to => '{manager}'), 'failed',
    qr/^The\ password\ would\ go\ to\ the\ manager,\ but\ nova\.stern\S+\ had\ none\ when\ the
        \ task\ was\ asked\ for\.$/x],
);
sub joins { my ($on) = @_; return $on->post('/v1/api/user',
    { firstname => 'Nova', surname => 'Stern', country => 'SE' })->{json}{data}{taskId} }

sub on_premises {
    my ($ground) = @_;
    my $reports = sub { scalar grep {
        ($_->{manager}[0]
        // '') eq "uid=$_[0],$people" } $stack->slapd->search('(objectClass=inetOrgPerson)') };
    my $before = $reports->('eva.berg');
    $stack->slapd->delete_entry("cn=Deleted,$groups");
    my $task = rows($ground, change($ground, 'anna.lind'), @on_premises);
    my $entry = $stack->slapd->user('anna.lind');
    is_deeply([sort map { /^cn=([^,]+)/ } @{ $entry->{memberof} }],
        ['All staff', 'CRM admins', 'Sales team'], 'in the groups that stayed');
    is_deeply([map { scalar grep {/ou=closed/} $stack->slapd->members($_) } 'All staff',
        'CRM admins', 'Locked in', 'Sales team'], [(0) x 4],
        'no account at the container that refused her');
    is_deeply([@$entry{qw(initials manager street)}], [['K'], undef, undef],
        'the values that were taken');
    is($reports->('anna.lind'), 0, 'she has no reports');
    is($reports->('eva.berg'), $before + 4 - 1, 'but to whom it was said');
    is(scalar(grep { $_ =~ /^a value cut short/ } @{ $task->{warnings} }), 1,
        'what was cut short is a warning');
    rows($ground, joins($ground), @joiner);
}

# -- the cloud

my @cloud_templates = (
    { name => 'Clashing',  groups => [],                      licenses => ['SPE_E5'] },
    { name => 'None left', groups => ['Empty'],               licenses => ['SPE_E5'] },
    { name => 'Unknown',   groups => [],                      licenses => ['NOPE'] },
    { name => 'Lost once', groups => ['Devices'],             licenses => [] },
);

my $by_rule = qr/^\S+.*(?:cannot be changed here: membership by rule)/;
my @cloud = (
    (map { my ($group, $why) = @$_;
        (["into $group", add($group), 'failed', $why],
        ["out of $group", leave($group), 'failed', $why]) }
        ['Synced staff',
            qr/members of Synced staff cannot be changed here: synchronised from on-premises/],
        ['Mail developers',
        qr/members\ of\ Mail\ developers\ cannot\ be\ changed\ here:\ mail-enabled\ security
            \ group:\ membership\ is\ changed\ in\ Exchange/x],
        ['News list',       qr/members of News list cannot be changed here: distribution list/],
        ['Role holders',
        qr/members of Role holders cannot be changed here: role-assignable group/],
        ['Restricted',
        qr/members of Restricted cannot be changed here: in a restricted administrative unit/],
        ['Everyone in sales',
        qr/members of Everyone in sales cannot be changed here: membership by rule/]),
    ['no such group',                add('Nowhere'), 'failed',
    qr/^The directory has no group "Nowhere"\.$/],
    ['no permission',                add('CRM admins'), 'failed',
    qr/adding\ the\ member:\ HTTP\ 403.*Needed:\ the\ application\ permission
        \ GroupMember\.ReadWrite\.All/x],
    ['a member already',             add('All staff'), 'already',
    qr/^member of All staff already$/],
    ['no member',                    leave('CRM admins'), 'already', qr/^no member of CRM admins$/],
    ['an answer lost on the way in', add('Finance'), 'done', qr/^added to Finance$/],
    ['and on the way out',           leave('Finance'), 'done', qr/^removed from Finance$/],
    ['a server that failed once',    add('Sales division'), 'done', qr/^added to Sales division$/],
    ['a server that asked to wait',  add('Waiting room'), 'done', qr/^added to Waiting room$/],
    ['into a group deleted since',   add('Deleted'), 'failed',
    qr/^The group Deleted is not in the directory any more: /],
    ['out of a group deleted since', leave('Deleted'), 'already', qr/^no member of Deleted$/],
    ['a template by a lost answer',  assign('Lost once'), 'done', qr/^Lost once: added Devices$/],
    ['a template that clashes',      assign('Clashing'), 'failed',
    qr/^Clashing: refused SPE_E5 \(.*mutually exclusive/],
    ['a template of no licences left', assign('None left'), 'failed',
    qr/^None\ left:\ added\ Empty;\ refused\ SPE_E5\ \(.*does\ not\ have\ any\ available
        \ licenses\.\ *.*Buy\ more/x],
    ['a template of no licence',     assign('Unknown'), 'failed',
    qr/^Unknown: refused NOPE \(the directory has no licence NOPE/],
    ['templates taken away',         act('unassignRoleTemplates'), 'done',
    qr/^4 role templates unassigned: removed (?:Devices, Empty|Empty, Devices)$/],
    ['licences',                     act('removeLicenses'), 'done',
    qr/^taken away: \S.*; Kept, because groups give them: EMS \(group Mobile staff\)\.$/],
    ['no licences left',             act('removeLicenses'), 'already',
    qr/^none is assigned directly; Kept, because groups give them: EMS/],
    ['an unknown attribute',         set('shoeSize', '42'), 'failed',
    qr/shoeSize: the cloud directory has no property for it/],
    ['a value it does not take',     set('office', 'refuse this'), 'failed',
    qr/updating the user: HTTP 400.*officeLocation/],
    ['a value that stands',          set('jobTitle', '{jobTitle}'), 'already',
    qr/^jobTitle: Developer$/],
    ['a manager who is not there',   set('manager', upn('nobody')), 'failed',
    qr/^The manager \S+ was not found in the directory\.$/],
    ['containers where there are none', act(moveTo => container => $people), 'skipped',
    qr/^a directory of this kind has no containers$/],
    ['no reports',                   report_to(), 'already', qr/^nobody reports to karin\.hedlund/],
);

sub cloud {
    my ($sky) = @_;
    my $cloud = $stack->cloud;
    my %group = map { ($_ => $cloud->group($_)->{id}) } 'CRM admins', 'Finance', 'Sales division',
        'Deleted', 'Devices', 'Waiting room';
    my $members = sub { my ($group, $method, %what) = @_;
        return { method => "^$method\$", path => "^/groups/$group{$group}/members", count => 1,
        %what } };
    $cloud->control(change => { key => $group{Deleted}, properties => { _deleted => 1 } },
        faults => [
        $members->('CRM admins', 'POST', do => 'status', status => 403,
            error => { code => 'Authorization_RequestDenied',
            message => 'Insufficient privileges to complete the operation.' }),
        (map { $members->('Finance', $_, when => 'after', do => 'reset') } 'POST', 'DELETE'),
        $members->('Devices', 'POST', when => 'after', do => 'reset'),
        $members->('Sales division', 'POST', do => 'status', status => 503),
        $members->('Waiting room', 'POST', do => 'status', status => 429, retryAfter => 1),
        { method => '^POST$', path => '/assignLicense$', count => 1, do => 'status', status => 400,
        error => { code => 'Request_BadRequest',
        message =>
        'License assignment failed because service plans of SPE_E5 and SPE_E3 are mutually '
        . 'exclusive.' } },
        { method => '^PATCH$', path => '^/users/[^/]+$', skip => 1, count => 1, do => 'status',
        status => 400, error => { code => 'Request_BadRequest',
        message =>
        "Invalid value specified for property 'officeLocation' of resource 'User'." } }]);
    my $task = rows($sky, change($sky, 'karin.hedlund'), @cloud);
    is($task->{attempts}, 0, 'to be asked to wait is no failed try');
    my $karin = $cloud->user(upn('karin.hedlund'));
    is_deeply([grep {/^(?:CRM admins|Devices|Empty|Finance|Sales division)$/} @{
        $karin->{groups} }], ['Sales division'],
        'in the groups that were given and not taken: what a lost answer gave is taken away too');
    is_deeply([map { $_->{skuId} } @{ $karin->{assignedLicenses} }],
        ['efccb6f7-5641-4e0e-bd10-b4976e1bf68e'], 'with the licence of a group alone');
    is_deeply([@$karin{qw(officeLocation manager passwords)}], ['House 1', upn('johan.asberg'), 0],
        'nothing else has changed');

    # A new account is not visible everywhere yet; that a group is gone is no sign of it.
    rows($sky, joins($sky), @joiner,
        ['a joiner and a group deleted since', add('Deleted'), 'failed',
        qr/^The group Deleted is not in the directory any more: /]);
}

# An account that lacks what the actions need, and is guarded.
my @bare = (
    ['no usage location',            assign('Mobile'), 'failed',
        qr/^Mobile:\ refused\ EMS\ \(the\ user\ has\ no\ usage\ location,\ which\ every\ licence
            \ needs:\ set\ country/x],
    ['mail to nobody',               act(sendEmail => to => '{mail}', subject => 's', body => 'b'),
    'failed', qr/^The mail would go to the person, who has no mail address in the directory\.$/],
    ['no manager for the reports',   report_to(), 'failed',
    qr/^bare\.admin\S+ has no manager who could take over the reports \(1\)/],
);

sub bare {
    my ($high) = @_;
    rows($high, change($high, 'bare.admin'), @bare);
}

# -- accounts that went, reports that are guarded

# A leaver whose account was deleted since: memberships to revoke are gone, actions to given cannot
# be.
sub gone_rows {
    my ($place, $licences) = @_;
    my $gone = qr/^The directory does not show the account any more/;
    return (
        ['into a group',     add('Finance'), 'failed', $gone],
        ['out of a group',   leave('Finance'), 'already', qr/^already absent/],
        ['templates',        act('unassignRoleTemplates'), 'already',
        qr/no role template is assigned/],
        ['licences',         act('removeLicenses'), @$licences],
        ['an attribute',     set('office', 'House 2'), 'failed', $gone],
        ['no manager',       set('manager', ''), 'failed', $gone],
        ['a place',          act(moveTo => container => "ou=taken,$people"), @$place],
        ['reports',          report_to('eva.berg'), 'failed', $gone],
        ['mail about them',  act(sendEmail => to => 'office@x.example',
        subject => '{displayName} left', body => 'b'), 'done',
        qr/^to office\@x\.example: accepted/],
        ['a call about them', call_hook('/ok?gone'), 'done', qr/status 200/],
    );
}
my @gone_on_premises = gone_rows(['failed', qr/^The directory does not show the account any more/],
    ['skipped', qr/no licences/]);
my @gone_in_the_cloud = gone_rows(['skipped', qr/no containers/],
    ['failed', qr/^The directory does not show the account any more/]);

sub gone {
    my ($ground, $sky) = @_;
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('only.gone'));
    $stack->cloud->control(change => { key => upn('cloud.gone'), properties => { _deleted => 1 } });
    for my $case ([$ground, 'only.gone', @gone_on_premises],
        [$sky, 'cloud.gone', @gone_in_the_cloud]) {
        my ($on, $uid, @rows) = @$case;
        my $left = $on->delete('/v1/api/user', { userPrincipalName => upn($uid), time => '00:00' });
        is($left->{status}, 200, "an offboarding of $uid") or diag $left->{body};
        my $task = rows($on, $left->{json}{data}{taskId}, @rows);
        is(outcomes($task)->{disableAccount}, 'already', 'there is no account to disable');
    }
}

my @guarded = (['reports of whom one is guarded', report_to(), 'failed',
    qr/^4\ of\ 5\ reports\ now\ report\ to\ eva\.berg\S+;\ 1\ refused,\ the\ last\ because:
        \ .*nils\.palm.*protectedAccounts/x]);

sub guarded {
    my ($guard) = @_;
    rows($guard, change($guard, 'johan.asberg'), @guarded);
    is($stack->slapd->user('nils.palm')->{manager}[0],
        Idadmin::Test::Slapd::user_dn('johan.asberg'), 'who is guarded is left alone');
    is($stack->slapd->user('olga.ivanova')->{manager}[0], Idadmin::Test::Slapd::user_dn('eva.berg'),
        'and delays no other');
}

# -- both

# Of a person of both; then of one who has no account in the cloud.
my @both = (
    ['a group of the cloud',         add('Empty'), ['done', qr/^added to Empty$/],
        ['failed',
        qr/^The group Empty is in the directory cloud, where the person has no account\.$/]],
    ['a group on-premises',          add('Workshop'), ['done', qr/^added to Workshop$/],
    ['done', qr/^added to Workshop$/]],
    ['a name that two groups have',  add('Sales team'),
    (['failed', qr/several groups "Sales team": the action must name it by ID/]) x 2],
    ['a template of the other',      assign('Cloudy'),
    ['done', qr/^Cloudy \(ordered in the other directory: task \S+\)$/],
    ['failed',
    qr/^Cloudy:\ refused\ Devices\ \(of\ the\ other\ directory,\ where\ the\ person\ has\ no
        \ account\),\ EMS\ \(of/x]],
    ['the same again',               assign('Cloudy'),
    ['already', qr/^Cloudy \(in the other directory ordered before\)$/],
    ['failed', qr/^Cloudy: refused/]],
    ['licences',                     act('removeLicenses'), ['done', qr/^taken away/],
    ['skipped', qr/^licences are the cloud directory's, where the person has no account$/]],
);

sub both {
    my $sides = sub { my ($side) = @_; return map { [@$_[0, 1], @{ $_->[2 + $side] }] } @both };
    my @ids = map { change($stack, $_) } 'david.holm', 'only.ground';
    my $task = rows($stack, $ids[0], $sides->(0));
    my ($ordered) = step($task,
        'a template of the other/1 assignRoleTemplate')->{detail} =~ /task ([^\s)]+)/;
    is_deeply([sort values %{ outcomes($stack->wait_task($ordered)) }], ['done', 'done'],
        'what was ordered is done');
    ok((grep { $_ eq 'Devices' } @{ $stack->cloud->user(upn('david.holm'))->{groups} }),
        'in the cloud');
    rows($stack, $ids[1], $sides->(1));
}

# -- what follows a failure

# Workflows of three calls: which of them fails, how, and whether the workflow continues.
my @order;
for my $how (['status/404', 'failed'], ['cut', 'unknown']) {
    for my $go_on (0, 1) {
        for my $bad ($how->[1] eq 'failed' ? (1 .. 3) : 2) {
            my $name = "$how->[1] $bad " . ($go_on ? 'on' : 'off');
            push @order, { name => $name, bad => $bad, go_on => $go_on, outcome => $how->[1],
                actions => [map { my $path = $_ == $bad ? "/$how->[0]?" : '/ok?';
                call_hook($path . $name =~ tr/ /-/r . $_, continueOnError => $go_on ? $true
                : $false) } 1 .. 3] };
        }
    }
}

sub order {
    my ($chain) = @_;
    my $before = () = $hook->calls;
    my $no_longer = $chain->keep_waiting;
    my $id = change($chain, 'greta.dahl');
    for (grep { $_->{outcome} eq 'unknown' } @order) { # the twelfth try is the last
        ok(within(sub { my $t = $chain->task($id);
            $t->{state} eq 'queued' && $t->{attempts} % 11 == 1 }), 'it waits for another try');
        $chain->sql("UPDATE task SET attempts = attempts + 10, next_at = 0 WHERE id = '$id'");
    }
    my $task = $chain->wait_task($id, states => ['attention']);
    $no_longer->();
    told_alike($chain, $task);
    my @calls = $hook->calls;
    my %called;
    $called{ $_->{path} }++ for @calls[$before .. $#calls];
    for my $o (@order) {
        my @is = map { $_->{outcome} } map { step($task, "$o->{name}/$_ callWebhook") } 1 .. 3;
        is_deeply(\@is, [map { $_ == $o->{bad} ? $o->{outcome} : $_ > $o->{bad} && !$o->{go_on}
            ? 'skipped' : 'done' } 1 .. 3], $o->{name});
        is_deeply([map { $called{'/ok?' . $o->{name} =~ tr/ /-/r . $_} // 0 } 1 .. 3],
            [map { $_ eq 'done' ? 1 : 0 } @is],
            'the receiver was called for what is done, once');
        my $why = $o->{outcome} eq 'failed'
            ? qr{^not carried out, because \Q$o->{name}\E/$o->{bad} callWebhook failed$}
            : qr{^not\ carried\ out,\ because\ the\ outcome\ of
                \ \Q$o->{name}\E/2\ callWebhook\ is\ unknown$}x;
        like(step($task, "$o->{name}/3 callWebhook")->{detail}, $why, 'what was left out says why')
            if $is[2] eq 'skipped';
        run_of($chain, $o->{name}, $task, $o->{go_on} ? 'doneWithWarnings' : 'failed');
    }
    like($task->{error},
        qr{^unknown 2 off/2 callWebhook: given up after 12 tries: .*no answer came},
        'the task reports the unknown outcome, not the known failure');
    like(step($task, 'unknown 2 off/2 callWebhook')->{detail},
        qr/^given up after 12 tries: The call was sent, but no answer came/,
        'no more is said than is known');
}

# No way to send a mail: no password is lost for that.
my @mute = (
    ['a password without a server', act(sendInitialPassword => to => 'someone@x.example'), 'failed',
        qr/^No\ mail\ server\ is\ configured:\ set\ smtp_url\ and\ smtp_from\ in\ idadmin\.conf\.
            \ The\ password\ was\ left\ as\ it\ is\.$/x],
    ['a mail without a server',
    act(sendEmail => to => 'someone@x.example', subject => 's', body => 'b'), 'failed',
    qr/No mail server is configured/],
);

sub mute {
    my ($mute) = @_;
    my $id = joins($mute);
    is($mute->new_worker(start => 0)->run('--once')->{exit}, 0,
        'a worker that knows no mail server');
    rows($mute, $id, @mute);
}

# -- seats of updates that fail for good

# Enabling was sent and refused: the account is read before the task ends, and the seat follows what
# was seen.
sub seats {
    my ($tight) = @_;
    my $cloud = $stack->cloud;
    my $counted = sub { my ($row) = $tight->sql("SELECT seats_held FROM tenant WHERE id = 'tight'");
        my $seen = $tight->get('/v1/api/user/details?user='
        . Idadmin::Test::Stack::_escape(upn($_[0])))->{json}{data}{user};
        return ($row->[0], $seen->{accountEnabled} ? 1 : 0) };
    my %refuse = (method => '^PATCH$', path => '^/users/[^/]+$', count => 1, do => 'status',
        status => 400, error => { code => 'Request_BadRequest',
        message => 'Invalid value specified for property.' });
    for my $case (['seat.one', 0, 'before', 'nothing was enabled: the seat is given back'],
        ['seat.two', 1, 'after', 'it was enabled all the same: the cache counts it']) {
        my ($uid, $enabled, $when, $name) = @$case;
        $cloud->control(faults => { %refuse, when => $when });
        my $task = $tight->wait_task(change($tight, $uid, accountEnabled => $true),
            states => ['failed']);
        is_deeply([$counted->($uid)], [0, $enabled], $name)
            or diag(Idadmin::Test::json_text($task));
        is($cloud->user(upn($uid))->{accountEnabled} ? 1 : 0, $enabled, 'as the directory has it');
    }
    # The read is not answered: the seat stays, because it may be in use, until a retry knows.
    $cloud->control(faults => [{ %refuse, when => 'after' },
        { method => '^GET$', path => '^/users/[^/]+$', skip => 1, do => 'status', status => 503 }]);
    my $task = $tight->wait_task(change($tight, 'seat.three', accountEnabled => $true),
        states => ['failed']);
    is_deeply([$counted->('seat.three')], [1, 0], 'an unknown outcome keeps its seat');
    $cloud->control(clearFaults => $true);
    $tight->ctl_ok('task', 'retry', 'tight', $task->{id});
    $tight->wait_task($task->{id});
    is_deeply([$counted->('seat.three')], [0, 1], 'until a retry knows');
}

# -- the directories, and a tenant for each part

sub group_entry { my ($cn, @members) = @_;
    return "dn: cn=$cn,$groups\nobjectClass: groupOfNames\ncn: $cn\n"
    . join('', map {"member: $_\n"} @members ? @members : $Idadmin::Test::Slapd::filler) . "\n" }
my $anna = Idadmin::Test::Slapd::user_dn('anna.lind');
my $ldif = join '', (map { group_entry($_) } 'Canteen', 'Workshop', 'Deleted', 'Locked out'),
    group_entry('Locked in', $anna),
    (map {"dn: cn=$_->[0],$groups\nobjectClass: groupOfURLs\ncn: $_->[0]\nmemberURL: "
    . "ldap:///$people??sub?(departmentNumber=$_->[1])\n\n"} ['Selling people', 'Sales'],
    ['Finance people', 'Finance']),
    (map {"dn: ou=$_,$people\nobjectClass: organizationalUnit\nou: $_\n\n"} 'closed', 'taken'),
    map { my ($uid, $place) = @$_;
    "dn: uid=$uid,$place$people\nobjectClass: inetOrgPerson\nuid: $uid\ncn: $uid\nsn: $uid\nmail: "
    . ($place ? 'elsewhere' : $uid) . "\@$d\n\n" } ['anna.lind', 'ou=taken,'], ['only.ground', ''],
    ['only.gone', ''];

on_one_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine,
        cloud => { home => $d, directory => { syncInterval => '600s' } },
        slapd => { ldif => $ldif }, tenant => 0,
        worker => { options => ['--threads', 8,
        $smtp->options(from => 'identity@nordic.example')] });
    lock_entries($stack->slapd);
    my $cloud = $stack->cloud;
    my $create = sub { my ($uid, %more) = @_;
        return { type => 'user', properties => { userPrincipalName => upn($uid),
        displayName => $uid, mailNickname => $uid, accountEnabled => $true, userType => 'Member',
        %more } } };
    $cloud->control(create => [(map {
        { type => 'group', properties => { displayName => $_, groupTypes => [],
        securityEnabled => $true, mailEnabled => $false } } } 'Deleted', 'Waiting room'),
        $create->('bare.admin', _privileged => 1), $create->('cloud.gone'),
        (map { $create->($_, accountEnabled => $false, usageLocation => 'SE') } 'seat.one',
        'seat.two', 'seat.three')]);
    $cloud->control(change => { key => upn('elin.strand'),
        properties => { _manager => $cloud->user(upn('bare.admin'))->{id} } });

    # The directories are read once: what changes in them later is known to the tasks, not to the
    # cache.
    my $ground = { directories => {
        onPremises => $stack->directory_document(syncInterval => '600s') } };
    my $sky = { directories => { cloud => $stack->cloud_document(syncInterval => '600s') },
        createUsersIn => 'cloud' };
    my %on = (
        nordic => company($stack, nordic => workflows(userUpdate => @both),
            directories => { %{ $ground->{directories} }, %{ $sky->{directories} } },
            roleTemplates => [{ name => 'Cloudy', groups => ['Devices'], licenses => ['EMS'] }]),
        ground => company($stack, ground => [@{ workflows(userUpdate => @on_premises) },
        @{ workflows(userCreate => @joiner) }], %$ground, roleTemplates => \@templates),
        chain  => company($stack, chain =>
        [map { workflow($_->{name}, 'userUpdate', @{ $_->{actions} }) } @order], %$ground),
        sky    => company($stack, sky => [@{ workflows(userUpdate => @cloud) },
        @{ workflows(userCreate => @joiner) },
        workflow('a joiner and a group deleted since', 'userCreate', add('Deleted'))], %$sky,
        roleTemplates => \@cloud_templates),
        left   => company($stack, left => workflows(userDelete => @gone_on_premises), %$ground),
        purged => company($stack, purged => workflows(userDelete => @gone_in_the_cloud), %$sky),
        guard  => company($stack, guard => workflows(userUpdate => @guarded),
        directories => { onPremises => $stack->directory_document(syncInterval => '600s',
            protectedAccounts => [$Idadmin::Test::Slapd::service,
            Idadmin::Test::Slapd::user_dn('nils.palm')]) }),
        high   => company($stack, high => workflows(userUpdate => @bare), %$sky,
        roleTemplates => [{ name => 'Mobile', groups => [], licenses => ['EMS'] }]),
        mute   => company($stack, mute => workflows(userCreate => @mute), %$ground),
        tight  => company($stack, tight => [], %$sky, seatLimit => 100),
    );
    $on{$_}->wait_synced for sort keys %on;
    $stack->worker->expect_log(qr/IDA0316.*(?:Insufficient access|Authorization_RequestDenied)/,
        qr/IDA0317.*(?:accountEnabled|Invalid value)/, qr/IDA0318.*unknown 2 off/,
        qr/IDA0315.*asks to slow down|IDA0321/, qr/IDA0340.*nobody\@/);

    subtest 'on-premises' => sub { on_premises($on{ground}) };
    subtest 'the cloud' => sub { cloud($on{sky}) };
    subtest 'an account that lacks much' => sub { bare($on{high}) };
    subtest 'accounts that went' => sub { gone($on{left}, $on{purged}) };
    subtest 'a guarded report' => sub { guarded($on{guard}) };
    subtest 'both' => sub { $stack = $on{nordic}; both() };
    subtest 'what follows' => sub { order($on{chain}) };
    subtest 'seats' => sub { seats($on{tight}) };
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    subtest 'no mail server' => sub { mute($on{mute}) };
    $stack->stop;
} 'reports of actions are the subject; t/queue/08-workflows.t carries them out on both';
done_testing();
