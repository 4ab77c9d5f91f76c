# A person is the directory's ID, whatever address it has and had. Changes of name, an address that
# is given to a namesake, an account that is deleted and created again, against a real slapd.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(for_each_engine json_data within);
use Idadmin::Test::Rest qw(about upn patch refused done);
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(step wall);
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act company workflow);

my ($stack, $engine);

sub details { my ($named) = @_;
    return $stack->get("/v1/api/user/details?user=$named")->{json}{data}{user} // {} }
sub tasks_of { my ($named) = @_; return [map { $_->{id} }
    @{ $stack->get("/v1/api/tasks?userPrincipalName=$named")->{json}{data}{items} // [] }] }
sub leave { my ($named, %when) = @_;
    return $stack->delete('/v1/api/user', { userPrincipalName => $named, %when }) }

sub renamed_by_hand {
    my ($from, $to) = @_;
    my $dn = Idadmin::Test::Slapd::user_dn($from);
    $stack->slapd->modify("dn: $dn\nchangetype: modrdn\nnewrdn: uid=$to\ndeleteoldrdn: 1\n\n"
        . 'dn: ' . Idadmin::Test::Slapd::user_dn($to) . "\nchangetype: modify\nreplace: mail\n"
        . 'mail: ' . upn($to) . "\n");
    $stack->ctl_ok('sync', 'nordic', '--wait');
}

# The first one's leave is queued, her address goes to a namesake whom the service itself hires.
sub namesakes {
    my @tomorrow = wall(time + 86_400);
    $stack->apply_tenant($stack->tenant_document(
        roleTemplates => [{ name => 'Sales', groups => ['Sales team'] }]));
    my $hire = { firstname => 'Ann', surname => 'Namesake', jobTitle => 'First' };
    done($stack->post('/v1/api/user', $hire), 'the first is hired');
    my $first = details(upn('ann.namesake'));
    $stack->ctl_ok('role', 'assign', 'nordic', 'Sales', upn('ann.namesake'));
    my $leave = leave(upn('ann.namesake'), date => $tomorrow[0])->{json}{data}{taskId};
    renamed_by_hand('ann.namesake', 'ann.married');

    my $now = details(upn('ann.married'));
    is($now->{id}, $first->{id}, 'she has another address');
    my %pending = map { $_->{id} => $_->{type} } @{ $now->{pendingTasks} };
    is($pending{$leave}, 'userDelete', 'under which her queued leave is seen');
    ok((grep { $_ eq $leave } @{ tasks_of($_) }), "and listed, by $_")
        for upn('ann.married'), $first->{id}, upn('ann.namesake');
    refused(patch({ userPrincipalName => upn('ann.married'), accountEnabled => \1 }), 409,
        'CONFLICT', qr/offboarding is queued \(task \Q$leave\E\)/, 'she is not enabled again');
    refused(leave(upn('ann.namesake')), 404, 'NOT_FOUND',
        qr/is now ann\.married\@.* \(ID \Q$first->{id}\E\)/, 'the old address names the new one');

    done($stack->post('/v1/api/user', { %$hire, jobTitle => 'Second' }),
        'the address is free: a namesake gets it');
    my $second = details(upn('ann.namesake'));
    isnt($second->{id}, $first->{id}, 'another person');
    is_deeply([$second->{pendingTasks}, $second->{roleTemplates}], [[], []],
        'of whom nothing is queued, and who has no role template');
    for my $asked (leave(upn('ann.namesake')),
        patch({ userPrincipalName => upn('ann.namesake'), jobTitle => 'Who' })) {
        refused($asked, 409, 'CONFLICT',
            qr/\(ID \Q$second->{id}\E\).*task \Q$leave\E.*ann\.married.*\(ID \Q$first->{id}\E\)/s,
            'a write under the address is refused and names both');
    }
    is($stack->ctl('role', 'unassign', 'nordic', 'Sales', $second->{id})->{exit}, 1,
        'the namesake has no template to lose');
    is($stack->task($leave)->{scheduledAt} =~ /^(\S+)T/ && $1, $tomorrow[0], 'the leave stands');
    done(patch({ userPrincipalName => $second->{id}, jobTitle => 'Third' }),
        'by ID the namesake is changed');

    my $report = $stack->post('/v1/api/user', { firstname => 'Rolf', surname => 'Report',
        manager => upn('ann.married'), date => $tomorrow[0],
        time => $tomorrow[1] })->{json}{data}{taskId};
    renamed_by_hand('ann.married', 'ann.again');
    is($stack->call(PATCH => "/v1/api/task?id=$report",
        json => { date => (wall(time))[0], time => '00:00' })->{status}, 200, 'a report comes');
    $stack->wait_task($report);
    is($stack->slapd->user('rolf.report')->{manager}[0], Idadmin::Test::Slapd::user_dn('ann.again'),
        'a manager is who had the address when it was asked for');
    renamed_by_hand('ann.again', 'ann.married');

    my $moved = leave(upn('ann.married'), time => '00:00');
    is($moved->{json}{data}{taskId}, $leave, 'under her address the leave is moved, not doubled');
    my $task = $stack->wait_task($leave);
    is($task->{userPrincipalName}, upn('ann.married'), 'and is of who she is now');
    is_deeply([map { details($_)->{accountEnabled} ? 1 : 0 } $first->{id}, $second->{id}], [0, 1],
        'the first one is out, the namesake is not');
    is_deeply([map { $_->{name} } @{ details($first->{id})->{roleTemplates} }], [],
        'her role template has ended');
    my $evidence = json_data($stack->ctl('--json', 'evidence', 'nordic', $first->{id})->{out});
    is_deeply([map { $_->{id} } @{ $evidence->{offboardings} }], [$leave], 'evidence by ID');
    like($stack->ctl('evidence', 'nordic', $second->{id})->{err}, qr/has no offboarding of/,
        'of the namesake there is none');
    done(leave(upn('ann.namesake'), time => '00:00'),
        'later the namesake leaves under the address');
}

# Deleted and created again under the same address while an offboarding waits.
sub made_anew {
    done($stack->post('/v1/api/user', { firstname => 'Eve', surname => 'Anew' }), 'hired');
    my $old = details(upn('eve.anew'));
    $stack->worker->stop;
    my $leave = leave(upn('eve.anew'), time => '00:00')->{json}{data}{taskId};
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('eve.anew'));
    $stack->slapd->add_user('eve.anew');
    $stack->worker->start;
    my $task = $stack->wait_task($leave, states => ['attention']);
    like($task->{error}, qr/\Q$old->{id}\E is gone, and another account has its address/,
        'the offboarding is not done while a person can sign in under the address');
    is($stack->slapd->bind_code('eve.anew'), 0, 'and that one is not touched');
    $stack->worker->expect_log(qr/IDA0318.*$leave/);
    $stack->ctl_ok('sync', 'nordic', '--wait');
    my $new = details(upn('eve.anew'));
    refused(leave(upn('eve.anew'), time => '00:00'), 409, 'CONFLICT',
        qr/\(ID \Q$new->{id}\E\).*task \Q$leave\E.*no longer has \(ID \Q$old->{id}\E\)/s,
        'nor does another leave take the one for the other');
    refused($stack->call(POST => "/v1/api/task/retry?id=$leave"), 409, 'CONFLICT',
        qr/\(ID \Q$old->{id}\E\) is gone.*cancel the task/s, 'a retry would match no account');
    is($stack->delete("/v1/api/task?id=$leave")->{status}, 200, 'cancelled');
    done(leave(upn('eve.anew'), time => '00:00'), 'then the one who is there leaves');
    isnt($stack->slapd->bind_code('eve.anew'), 0, 'and is out');
}

# Access requested for an account that is gone by then, and created again: neither given nor taken.
sub access_anew {
    $stack->apply_tenant($stack->tenant_document(roleTemplates => [
        map { { name => $_, groups => [$_] } } 'Sales team', 'Finance']));
    done($stack->post('/v1/api/user', { firstname => 'Ada', surname => 'Anew' }), 'hired');
    my $old   = details(upn('ada.anew'));
    my $role  = sub { $stack->ctl_ok('role', $_[0], 'nordic', $_[1], $old->{id}) };
    my %known = map { $_ => 1 } @{ tasks_of($old->{id}) };
    my $fresh = sub { my ($id) = grep { !$known{$_}++ } @{ tasks_of($old->{id}) }; return $id };
    $role->('assign', 'Sales team');
    $stack->wait_task($fresh->());
    $stack->worker->stop;
    my @tasks = map { $role->(@$_); $fresh->() } ['unassign', 'Sales team'], ['assign', 'Finance'];
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('ada.anew'));
    $stack->slapd->add_user('ada.anew');
    $stack->worker->start;
    for my $id (@tasks) {
        my $task = $stack->wait_task($id, states => ['attention']);
        like($task->{error}, qr/\Q$old->{id}\E is gone, and another account has its address/,
            "$task->{type} asks a person");
        $stack->worker->expect_log(qr/IDA0318.*$id/);
    }
    ok(!(grep { /ada\.anew/ } $stack->slapd->members('Finance')), 'nothing is given');
}

# An account that is created again between two actions of a workflow: nothing is done to the new
# one, and the task asks a person, also when another run than the one that saw it ends the task.
sub actions_anew {
    my $hook  = Idadmin::Test::Webhook->new;
    my $pause = '/busy/1/503/60?anew';
    my ($true, %go_on) = (JSON::PP::true(), continueOnError => JSON::PP::true());
    my $wait  = sub { act(callWebhook => url => $hook->url("$pause$_[0]"),
        secretFile => $hook->secret, allowPrivate => $true) };
    my @actions = (act(addToGroup => group => 'Finance', %go_on),
        act(removeFromGroup => group => 'Finance', %go_on),
        act(setAttribute => attribute => 'office', value => 'House 2', %go_on),
        act(transferReports => to => upn('eva.berg'), %go_on));
    my $before = $stack;
    $stack = about(company($stack, 'anew', [
        workflow('anew', 'userUpdate', $wait->(1), @actions, $wait->(2))])->wait_synced);
    done($stack->post('/v1/api/user', { firstname => 'Ivy', surname => 'Anew' }), 'hired');
    my $old   = details(upn('ivy.anew'));
    my $asked = patch({ userPrincipalName => upn('ivy.anew'), city => 'Lund' });
    my $id    = $asked->{json}{data}{taskId};
    my $waits = sub { my ($number) = @_;
        ok(within(sub { scalar(my @calls = $hook->calls("$pause$number"))
            && $stack->task($id)->{state} eq 'queued' }), "it waits for receiver $number") };
    $waits->(1);
    $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn('ivy.anew'));
    $stack->slapd->add_user('ivy.anew');
    for (1, 2) {
        $waits->($_);
        $stack->sql("UPDATE task SET next_at = 0 WHERE id = '$id'");
    }
    my $task = $stack->wait_task($id, states => ['attention']);
    for my $at (2 .. 5) {
        my $step = step($task, "anew/$at $actions[$at - 2]{type}");
        is($step->{outcome}, 'failed', "$step->{name} is not done to the new account");
        like($step->{detail},
            qr/ID \Q$old->{id}\E is gone, and another account has its address/, 'and says why');
    }
    is(step($task, 'anew/6 callWebhook')->{outcome}, 'done', 'the workflow goes on');
    like($task->{error}, qr{^anew/\d.*another account has its address}, 'and a person is asked');
    is($stack->slapd->user('ivy.anew')->{physicaldeliveryofficename}, undef,
        'the new account is as it was made');
    $stack->worker->expect_log(qr/IDA0318.*$id/);
    $hook->stop;
    $stack = about($before);
}

for_each_engine {
    ($engine) = @_;
    $stack = about(Idadmin::Test::Stack->new(engine => $engine));
    my @parts = ([namesakes => \&namesakes], [made_anew => \&made_anew],
        [access_anew => \&access_anew],
        [actions_anew => \&actions_anew]);
    subtest(@$_) for grep { !$ENV{PART} || $_->[0] eq $ENV{PART} } @parts;
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
};

done_testing();
