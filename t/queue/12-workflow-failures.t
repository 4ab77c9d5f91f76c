# Actions of workflows that fail: at once, for a while, for good, with the worker killed, with the
# document changed meanwhile. Failures are reported, work that can continue continues, and nothing
# is done twice.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_text on_one_engine secret_file slurp spew within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Photo ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(outcomes step);
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act company run_of told_alike workflow);


my $skip;

BEGIN {
    $skip = Idadmin::Test::Smtp->skip_reason || Idadmin::Test::Cloud->skip_reason;
    plan(skip_all => $skip) if $skip;
}

use Idadmin::Test::WorkflowStack;

# A lasting failure is given up after twelve attempts; an unknown outcome is `unknown`, and the task
# waits for a human.
sub given_up {
    my $domain = $stack->domain;
    my $stack = on(givenup => workflow('Stubborn', 'userCreate',
        act(sendEmail => to => "busy99\@$domain", subject => 's', body => 'b'),
        act(sendEmail => to => "lost\@$domain", subject => 's', body => 'b',
        continueOnError => $false), call_hook('/ok?after')));
    $stack->wait_synced;
    $stack->worker->expect_log(qr/IDA0318/);
    my $no_longer = $stack->keep_waiting;
    my $id = join_now($stack, firstname => 'Stub', surname => 'Born')->{taskId};
    for my $round ([1, 11], [12, 22]) {
        my ($from, $to) = @$round;
        ok(within(sub { my $task = $stack->task($id);
            $task->{state} eq 'queued' && $task->{attempts} == $from }),
            "it waits after $from tries");
        $stack->sql("UPDATE task SET attempts = $to, next_at = 0 WHERE id = '$id'");
    }
    my $task = $stack->wait_task($id, states => ['attention']);
    my %got = %{ outcomes($task) };
    is_deeply([@got{'Stubborn/1 sendEmail', 'Stubborn/2 sendEmail', 'Stubborn/3 callWebhook'}],
        [qw(failed unknown skipped)], 'each ends as what it is') or diag(json_text($task));
    like(step($task, 'Stubborn/1 sendEmail')->{detail}, qr/^given up after 12 tries: .*451 4\.3\.0/,
        'the first says how often it was tried');
    like($task->{error}, qr{^Stubborn/2 sendEmail: given up after 12 tries: .*whose answer is lost},
        'the task says what is unknown');
    is(scalar(my @calls = $hook->calls('/ok?after')), 0, 'and the rest was left out');
    run_of($stack, 'Stubborn', $task, 'failed');
    my ($first, @same) = map { $_->{headers}{'message-id'} } $smtp->mail("lost\@$domain");
    ok(@same && !grep({ $_ ne $first } @same), 'a mail that was sent again has one ID');
    # Cancelled between two tries: what has not ended never will.
    my $other = join_now($stack, firstname => 'Can', surname => 'Celled')->{taskId};
    ok(within(sub { my $t = $stack->task($other);
        $t->{state} eq 'queued' && $t->{attempts} }), 'another one waits');
    $stack->ctl_ok('task', 'cancel', 'givenup', $other);
    $no_longer->();
    my ($run) = grep { $_->{event}{taskId} eq $other } @{
        $stack->get('/v1/api/workflow/runs?workflow=Stubborn')->{json}{data}{items} };
    is_deeply([$run->{status}, map { $_->{status} } @{ $run->{actions} }], [('cancelled') x 4],
        'cancelled, its run is too');
}

# Refusals of the cloud directory.
sub cloud_failures {
    my $on = bless { %$other, keys => {}, client => {} }, ref $other;
    $on->apply_tenant($on->tenant_document(companyId => 'cumulus',
        workflows => [workflow('Failing', 'userCreate',
        act(addToGroup => group => 'Everyone in sales'), act(addToGroup => group => 'Synced staff'),
        act(assignRoleTemplate => roleTemplate => 'Broke'), act('removeLicenses'),
        act(setAttribute => attribute => 'shoeSize', value => '42'),
        act(moveTo => container => 'OU=Staff,DC=acme,DC=example'), act('transferReports'),
        act(sendInitialPassword => to => 'first.line@nordic.example'))],
        roleTemplates => [{ name => 'Broke', groups => [], licenses => ['SPE_E5'] }]));
    my $upn = "eva.berg\@" . $on->domain;
    $on->{company} = 'cumulus';
    $on->create_key(full => 'hr-full', 'full');
    $on->create_key(read => 'hr-read', 'read-only');
    ok(within(sub { $on->get_user($upn)->{status} == 200 }), 'a tenant in the cloud');
    $on->cloud->control(faults => { method => '^PATCH$', path => '^/users/[^/]+$', do => 'status',
        status => 403, error => { code => 'Authorization_RequestDenied' } });
    $on->worker->expect_log(qr/IDA0316/);
    my $before = () = $smtp->mail('first.line@nordic.example');
    my $task = $on->wait_task(join_now($on, firstname => 'Cloud', surname => 'Fail',
        country => 'SE')->{taskId});
    $on->cloud->control(clearFaults => $true);
    my @want = (['1 addToGroup', 'failed', qr/rule|dynamic/i],
        ['2 addToGroup', 'failed', qr/on-premises/], ['3 assignRoleTemplate', 'failed', qr/SPE_E5/],
        ['4 removeLicenses', 'already', qr/none/],
        ['5 setAttribute', 'failed', qr/shoeSize/], ['6 moveTo', 'skipped', qr/no containers/],
        ['7 transferReports', 'already', qr/nobody/],
        ['8 sendInitialPassword', 'failed', qr/PasswordProfile/]);
    for my $want (@want) {
        my $step = step($task, "Failing/$want->[0]");
        is($step->{outcome}, $want->[1], $step->{name});
        like($step->{detail}, $want->[2], 'with the reason');
    }
    is(scalar(my @mails = $smtp->mail('first.line@nordic.example')), $before,
        'no mail tells of a password that was not set');
    run_of($on, 'Failing', $task, 'doneWithWarnings');
}

# Each failure mode of each action: the outcome, words of the reason, and the task goes on with a
# warning.
sub failures {
    my $domain = $stack->domain;
    my $no_secret = secret_file('empty.secret', slurp($hook->secret));
    $stack->worker->expect_log(qr/IDA0340.*nobody\@/);    # as the case below means it
    my @cases = (
        [addToGroup => { group => 'No such group' }, qr/no group "No such group"/],
            [addToGroup => { group => 'Everyone in sales' }, qr/rule|dynamic|member/i],
        [removeFromGroup => { group => 'No such group' }, qr/no group/],
        [setAttribute => { attribute => 'shoeSize', value => '42' }, qr/shoeSize/],
        [setAttribute => { attribute => 'manager', value => 'nobody@nordic.example' },
        qr/manager nobody\@nordic\.example was not found/],
        [moveTo => { container => "ou=nowhere,$people" }, qr/no container/],
        [moveTo => { container => $Idadmin::Test::Slapd::groups }, qr/userBase/],
        [sendEmail => { to => "refused\@$domain", subject => 's', body => 'b' },
        qr/550 5\.1\.1 No such mailbox/],
        [sendEmail => { to => "unknown\@$domain", subject => 's', body => 'b' }, qr/551 5\.7\.1/],
        [sendEmail => { to => "å\@$domain", subject => 's', body => 'b' }, qr/ASCII/],
        [sendInitialPassword => { to => "refused\@$domain" }, qr/550/],
        [callWebhook => { url => $hook->url('/status/410') }, qr/gone for good \(status 410\)/],
        [callWebhook => { url => $hook->url('/status/404') }, qr/status 404/],
        [callWebhook => { url => $hook->url('/redirect') }, qr/redirect/],
        [callWebhook => { url => $hook->url('/ok?private'), allowPrivate => $false },
        qr/address 127\.0\.0\.1.*allowPrivate/],
        [callWebhook => { url => $hook->tls_url('/ok?rebound') =~ s/127\.0\.0\.1/localhost/r,
        allowPrivate => $false }, qr/address (?:127\.0\.0\.1|::1).*allowPrivate/],
        [callWebhook => { url => $hook->url('/ok?secret'), secretFile => $no_secret },
        qr/secretFile.*24 to 64/],
    );
    my $stack = on(failing => workflow('Failing', 'userCreate',
        (map { $_->[0] eq 'callWebhook'
        ? act(callWebhook => secretFile => $hook->secret, allowPrivate => $true, %{ $_->[1] })
        : act($_->[0], %{ $_->[1] }) } @cases),
        call_hook('/big'), call_hook('/ok', url => $hook->tls_url('/ok?tls'),
        caFile => Idadmin::Test::Tls::files()->{ca}), act('removeLicenses'),
        act('transferReports')));
    $stack->wait_synced;
    spew($no_secret, "whsec_dG9vIHNob3J0\n");    # apply would have refused it
    my $task = $stack->wait_task(join_now($stack, firstname => 'Fail', surname => 'Ing')->{taskId});
    my $n = 0;
    for my $case (@cases) {
        my $step = step($task, 'Failing/' . ++$n . " $case->[0]");
        is($step->{outcome}, 'failed', "$step->{name} has failed");
        like($step->{detail}, $case->[2], 'and says why');
        ok((grep { index($_, "$step->{name}: $step->{detail}") == 0 } @{ $task->{warnings} }),
            'which is a warning of the task');
    }
    is_deeply([map { step($task, 'Failing/' . ++$n . " $_")->{outcome} } qw(callWebhook callWebhook
        removeLicenses transferReports)], [qw(done done skipped already)],
        'an endless answer after a 200 is one; TLS with an authority of its own; no licences; no '
        . 'reports');
    run_of($stack, 'Failing', $task, 'doneWithWarnings');
    is_deeply([map { scalar(my @calls = $hook->calls($_)) } '/status/410', '/status/404',
        '/redirect', '/ok?private', '/ok?rebound', '/ok?secret', '/ok?tls'], [1, 1, 1, 0, 0, 0, 1],
        'what is for good was called once, what may not be called never');
}

# What passes: waits, is tried again, and is one thing for who receives it.
sub transient {
    my $domain = $stack->domain;
    my $stack = on(patient => workflow('Patient', 'userCreate',
        act(sendEmail => to => "busy1\@$domain", subject => 'Busy', body => 'b',
        continueOnError => $false), call_hook('/busy/1/429'), call_hook('/drop'),
        act(sendInitialPassword => to => "busy1.password\@$domain")));
    $stack->wait_synced;
    my $no_longer = $stack->keep_waiting;
    my $queued = join_now($stack, firstname => 'Pat', surname => 'Ient');
    my $seen;
    ok(within(sub { $seen = $stack->task($queued->{taskId});
        $seen->{state} eq 'queued' && $seen->{attempts} }), 'the task waits');
    like($seen->{error}, qr/451 4\.3\.0 Come back later/, 'and says for what');
    my ($run) = grep { $_->{event}{taskId} eq $queued->{taskId} } @{
        $stack->get('/v1/api/workflow/runs?workflow=Patient')->{json}{data}{items} };
    is_deeply([$run->{status}, $run->{actions}[0]{status}, $run->{actions}[1]{status}],
        ['running', 'waiting', 'pending'], 'so does its run');
    $no_longer->();
    $stack->sql("UPDATE task SET next_at = 0 WHERE id = '$queued->{taskId}'");
    my $task = $stack->wait_task($queued->{taskId}, states => ['done', 'failed']);
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'skipped', setPhoto => 'skipped',
        'Patient/1 sendEmail' => 'done', 'Patient/2 callWebhook' => 'done',
        'Patient/3 callWebhook' => 'done',
        'Patient/4 sendInitialPassword' => 'done' }, 'in the end all is done')
        or diag(json_text($task));
    is($task->{attempts}, 4, 'after a counted try each');
    is(scalar(my @mails = $smtp->mail("busy1\@$domain")), 1, 'what is done is not done again');
    for my $path ('/busy/1/429', '/drop') {
        my @calls = $hook->calls($path);
        is(scalar @calls, 2, "$path was called twice");
        ok($calls[0]{headers}{'webhook-id'} eq $calls[1]{headers}{'webhook-id'}
            && $calls[0]{body} eq $calls[1]{body} && $calls[0]{signed} && $calls[1]{signed},
            'with one ID and one body');
    }
    my ($uid) = $queued->{userPrincipalName} =~ /^(.*)\@/;
    my ($mail) = $smtp->mail("busy1.password\@$domain");
    is($stack->slapd->bind_code($uid, ($mail->{body} =~ /(\S{32})$/m)[0]), 0,
        'the password that arrived is the one that counts');
    run_of($stack, 'Patient', $task, 'done');
}

# Without continueOnError a failure ends the workflow, not what is done, not other workflows, not
# the last look at a leaver; retry continues with the rest.
sub broken_off {
    my $domain = $stack->domain;
    $stack->worker->expect_log(qr/IDA0317/);
    my @first = (act(addToGroup => group => 'Finance'),
        { type => 'addToGroup', group => 'Made later' }, act(addToGroup => group => 'CRM admins'));
    my $stack = on(broken => workflow('A/1 b', 'userDelete', @first),
        workflow('Second', 'userDelete', call_hook('/ok?second')),
        { %{ workflow('Off', 'userDelete', act('removeLicenses')) }, active => $false });
    $stack->wait_synced;
    my $id = leave_now($stack, "ida.wall\@$domain");
    my $task = $stack->wait_task($id, states => ['failed']);
    is_deeply(outcomes($task),
        { disableAccount => 'done', revokeSessions => 'skipped', revokeMemberships => 'done',
        'A/1 b/1 addToGroup' => 'done', 'A/1 b/2 addToGroup' => 'failed',
        'A/1 b/3 addToGroup' => 'skipped',
        'Second/1 callWebhook' => 'done', verify => 'done' },
        'the workflow ends, the rest does not') or diag(json_text($task));
    like($task->{error}, qr{^A/1 b/2 addToGroup: .*no group "Made later"},
        'the task has failed and says where');
    like(step($task, 'A/1 b/3 addToGroup')->{detail}, qr{because A/1 b/2 addToGroup failed},
        'what was left out says why');
    is_deeply($stack->slapd->user('ida.wall')->{memberof},
        ["cn=Finance,$Idadmin::Test::Slapd::groups"], 'what was done stays');
    run_of($stack, 'A/1 b', $task, 'failed');
    run_of($stack, 'Second', $task, 'done');
    $stack->slapd->modify("dn: cn=Made later,$Idadmin::Test::Slapd::groups\nchangetype: "
        . "add\nobjectClass: groupOfNames\ncn: Made later\nmember: "
        . "$Idadmin::Test::Slapd::filler\n");
    $stack->ctl_ok('sync', 'broken', '--wait');
    $stack->ctl_ok('task', 'retry', 'broken', $id);
    $task = $stack->wait_task($id);
    is_deeply([@{ outcomes($task) }{map {"A/1 b/$_ addToGroup"} 1 .. 3}], ['done', 'done', 'done'],
        'a retry carries out what was left') or diag(json_text($task));
    is(scalar(my @calls = $hook->calls('/ok?second')), 1, 'and nothing twice');
    is($task->{error}, undef, 'then the task is done');
    run_of($stack, 'A/1 b', $task, 'done');
}

# The document changes while a task waits: an action that is not the one that was queued is not
# carried out.
sub changed_meanwhile {
    my $stack = on(changed => workflow('Gone', 'userCreate', act('removeLicenses')),
        workflow('Turned', 'userCreate', act(addToGroup => group => 'Finance')),
        workflow('Other', 'userCreate', act('removeLicenses')));
    $stack->wait_synced;
    my ($date, $time) = Idadmin::Test::Times::wall(time + 10_800);
    my $queued = join_now($stack, firstname => 'Chan', surname => 'Ged', date => $date,
        time => $time);
    apply($stack, { %{ workflow('Turned', 'userCreate', act(addToGroup => group => 'Finance')) },
        active => $false }, workflow('Other', 'userCreate', act(addToGroup => group => 'Finance')));
    $stack->ctl_ok('task', 'reschedule', 'changed', $queued->{taskId},
        Idadmin::Test::Times::wall(time - 120));
    my $task = $stack->wait_task($queued->{taskId});
    is_deeply([map { step($task, $_)->{outcome} } 'Gone/1 removeLicenses', 'Turned/1 addToGroup',
        'Other/1 removeLicenses'], [('skipped') x 3], 'skipped');
    like(step($task, 'Gone/1 removeLicenses')->{detail}, qr/no workflow of this name any more/,
        'one is gone');
    like(step($task, 'Turned/1 addToGroup')->{detail}, qr/not active any more/, 'one is off');
    like(step($task, 'Other/1 removeLicenses')->{detail}, qr/changed since/, 'one is another');
    is_deeply($task->{warnings},
        ['Other/1 removeLicenses: not carried out: the workflow was changed since the task was '
        . 'queued'], 'of a workflow that still stands that is a warning');
    run_of($stack, @$_) for ['Gone', $task, 'done'], ['Turned', $task, 'done'],
        ['Other', $task, 'doneWithWarnings'];
    told_alike($stack, $task);
}

sub refused_at_apply {
    my $refused = sub { return $stack->ctl('tenant', 'apply', '-',
        { stdin => json_text({ companyId => 'nordic',
        workflows => [workflow('Bad', 'userDelete', @_)] }) }) };
    my $shape = $refused->(
        act(sendEmail => to => '{manager}', subject => '{nonsense}', body => 'x'),
        act(callWebhook => url => 'http://example.com/', secretFile => $hook->secret));
    is($shape->{exit}, 1, 'refused');
    like($shape->{err}, $_, "$_")
        for qr/actions\[0\]\.subject: has the unknown placeholder \{nonsense\}/,
        qr/actions\[1\]\.url: must begin with https/;
    # What members mean beside each other is judged once each is right by itself.
    like($refused->(act(assignRoleTemplate => roleTemplate => 'Developer'))->{err},
        qr/actions\[0\]\.type: cannot be used with the trigger userDelete/, 'and so is this');
}

on_one_engine {
    my ($engine) = @_;
    begin_companies($engine);
    subtest(transient => \&transient);
    subtest(failures => \&failures);
    subtest(given_up => \&given_up);
    subtest(cloud_failures => \&cloud_failures);
    subtest(broken_off => \&broken_off);
    subtest(changed_meanwhile => \&changed_meanwhile);
    subtest(refused_at_apply => \&refused_at_apply);
    end_companies();
} 'the rules of actions are the subject; t/queue/08-workflows.t carries them out on both';

done_testing();
