# Tasks in the console's API: lists, permitted changes of a task, two administrators, many tasks at
# once, and who may release tasks that the brake holds.
use strict;
use warnings;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(within);
use Idadmin::Test::Console qw(refused);
use Idadmin::Test::Stack qw(for_each_stack);

my $domain = $Idadmin::Test::Slapd::domain;
my ($stack, %as);

sub tasks { my (%arguments) = @_; return $as{viewer}->data('/tasks', { limit => 200, %arguments }) }
sub ids   { my (%arguments) = @_; return map { $_->{id} } @{ tasks(%arguments)->{items} } }
sub hire {
    my ($surname, %more) = @_;
    my $answer = $as{operator}->post('/user', { firstname => 'Maja', surname => $surname,
        date => '2031-03-28', time => '09:00', %more });
    die $answer->{body} if $answer->{status} != 200;
    return $answer->{json}{data}{taskId};
}
sub leave { my ($uid, %when) = @_;
    my $comment = delete $when{comment};
    my $answer = $as{operator}->post('/user/offboard', { userPrincipalName => "$uid\@$domain",
        %when }, { comment => $comment });
    die $answer->{body} if $answer->{status} != 200;
    return $answer->{json}{data}{taskId} }
sub change { my ($who, $body, %arguments) = @_;
    return $as{$who}->post('/tasks/change', $body, \%arguments) }
sub log_of { my ($action) = @_; return grep { $_->{action} eq $action }
    @{ $as{auditor}->data('/audit', { limit => 200, category => 'portal' })->{items} } }
# Records of an action for a task, once all of them have come.
sub records {
    my ($count, $action, $id) = @_;
    my @records;
    within(sub {
        @records = grep { ($_->{parameters}{id} // '') eq $id } log_of($action);
        return @records >= $count });
    return @records;
}

sub lists {
    my @hires = map { hire("Lista$_", date => "2031-04-0" . (4 - $_)) } 1 .. 3;
    my $leaver = leave('anna.lind', date => '2031-04-02', time => '17:00');
    is_deeply([ids()], [$leaver, reverse @hires], 'the newest first');
    is_deeply([ids(order => 'due')], [$hires[2], $hires[1], $leaver, $hires[0]],
        'by scheduled instant');
    my @walked;
    my %next = (order => 'due', limit => 1);
    while (1) {
        my $page = $as{viewer}->data('/tasks', \%next);
        push @walked, map { $_->{id} } @{ $page->{items} };
        is($page->{totalCount}, 4, 'all are counted on each page');
        last if !$page->{nextCursor};
        $next{cursor} = $page->{nextCursor};
    }
    is_deeply(\@walked, [$hires[2], $hires[1], $leaver, $hires[0]], 'page by page');
    is_deeply([ids(dueFrom => '2031-04-02T07:00:00Z', dueTo => '2031-04-02T15:00:00Z',
        order => 'due')], [$hires[1]], 'from inclusive, to exclusive');
    is_deeply([ids(dueFrom => '2031-04-02T07:00:00Z', dueTo => '2031-04-02T15:00:01Z')],
        [$leaver, $hires[1]], 'in either order');
    is($as{viewer}->get('/tasks', { dueFrom => '2031-04-02', dueTo => '2031-04-01' })->{status},
        400, 'an end before the beginning');
    $as{operator}->request('DELETE', '/task', { id => $hires[0] });
    is_deeply([ids(state => 'cancelled')], [$hires[0]], 'one state');
    is_deeply([ids(state => 'queued,cancelled', type => 'userCreate')], [reverse @hires],
        'several states');
    is_deeply([ids(type => 'userDelete,userUpdate')], [$leaver], 'several types');
    is(tasks(state => 'queued,cancelled', limit => 1)->{totalCount}, 4, 'counted together');
    is_deeply([ids(userPrincipalName => "anna.lind\@$domain", state => 'queued,done',
        order => 'due')], [$leaver], 'of a person');
    is_deeply([ids(username => 'operator', state => 'queued')], [$leaver, $hires[2], $hires[1]],
        'by who asked');
    is_deeply([ids(username => 'nobody')], [], 'or nobody');
    is_deeply([ids(braked => 'true')], [], 'none is braked');
    is(scalar ids(braked => 'false'), 4, 'all are not');
    my $bad = $as{viewer}->get('/tasks', { state => 'queued,gone', order => 'old' });
    is_deeply([sort map { $_->{name} } @{ $bad->{json}{error}{fields} }], [qw(order state)],
        'words that there are not');
    my $rest = $stack->get('/v1/api/tasks?state=queued,cancelled&order=due&username=operator');
    is(scalar @{ $rest->{json}{data}{items} }, 4, 'REST knows the same filters');
    is($rest->{json}{data}{totalCountIsMinimum}, JSON::PP::false(), 'and counts alike');
    my $task = $rest->{json}{data}{items}[0];
    is_deeply([@$task{qw(displayName directory timeZone hold actions)}, $task->{requestedBy}{via}],
        ['Maja Lista3', 'onPremises', 'Europe/Stockholm', undef, [qw(cancel reschedule)],
        'console'], 'what a task tells');
    is($task->{braked}, JSON::PP::false(), 'and that no brake holds it');
    my $by_key = $stack->post('/v1/api/user', { firstname => 'Per', surname => 'Rest',
        date => '2031-05-01' })->{json}{data}{taskId};
    is($stack->task($by_key)->{requestedBy}{via}, 'rest', 'an API key asks by REST');
    is(tasks()->{totalCountIsMinimum}, JSON::PP::false(), 'few are counted exactly');
}

sub two_administrators {
    my $id   = hire('Tag');
    my $seen = $as{operator}->get('/task', { id => $id });
    my $tag  = $seen->{headers}{etag};
    like($tag, qr/^"[0-9a-f]{32}"$/, 'a strong tag');
    my $moved = $as{administrator}->request('PATCH', '/task', { id => $id, comment => 'Later' },
        body => { time => '09:30' }, headers => { 'If-Match' => $tag });
    is($moved->{status}, 200, 'the first one moves it') or diag $moved->{body};
    my $late = $as{operator}->request('DELETE', '/task', { id => $id },
        headers => { 'If-Match' => $tag });
    refused($late, 409, 'taskChanged', 'the second is told');
    like($late->{json}{error}{message}, qr/administrator has moved this task to .*09:30/,
        'who did what');
    is((records(1, 'task.reschedule', $id))[0]{parameters}{comment}, 'Later', 'and why');
    is($late->{json}{error}{details}{task}{scheduledAt}, '2031-03-28T09:30:00+01:00',
        'with the task as it is');
    is($stack->task($id)->{state}, 'queued', 'nothing was done');
    refused($as{operator}->request('DELETE', '/task', { id => $id, dryRun => 'true' },
        headers => { 'If-Match' => $tag }), 409, 'taskChanged', 'a dry run says it too');
    $tag = $as{operator}->get('/task', { id => $id })->{headers}{etag} =~ s/"$/-gzip"/r;
    is($as{operator}->request('DELETE', '/task', { id => $id }, headers => { 'If-Match' => $tag })
        ->{status}, 200, 'after a new read the change is accepted');
    refused($as{operator}->request('DELETE', '/task', { id => $id }, headers =>
        { 'If-Match' => $tag }), 409, 'taskChanged', 'once');
    refused($as{operator}->request('DELETE', '/task', { id => $id }), 409, 'taskOver',
        'without the header the states alone decide');
    refused($as{operator}->post('/task/release', {}, { id => hire('Slapp') }), 409, 'notBraked',
        'what no brake holds');
    $stack->sql("UPDATE task SET state = 'running' WHERE id = '$id'");
    refused($as{operator}->post('/task/retry', {}, { id => $id }), 409, 'taskRunning',
        'what is running');
    $stack->sql("UPDATE task SET state = 'cancelled' WHERE id = '$id'");
}

sub many {
    my @ids = map { hire("Flera$_") } 1 .. 3;
    my $dry = change(operator => { verb => 'cancel', ids => [@ids] }, dryRun => 'true');
    is($dry->{json}{data}{done}, 3, 'a dry run') or diag $dry->{body};
    is($stack->task($ids[0])->{state}, 'queued', 'changes nothing');
    my $moved = change(operator => { verb => 'reschedule', ids => [@ids, 'x'],
        date => '2031-06-01' });
    is_deeply([@{ $moved->{json}{data} }{qw(done refused)}], [3, 1], 'three of four are moved')
        or diag $moved->{body};
    my $none = $moved->{json}{data}{items}[3];
    is_deeply([@$none{qw(id outcome state)}], ['x', 'refused', undef], 'one that there is not');
    is($stack->task($_)->{scheduledAt}, '2031-06-01T09:00:00+02:00', 'moved') for @ids;
    $as{administrator}->request('DELETE', '/task', { id => $ids[1] });
    my $answer = change(operator => { verb => 'cancel', ids => \@ids,
        comment => 'Asked for twice.' });
    is($answer->{status}, 200, 'also when one is refused');
    is_deeply([map { [@$_{qw(outcome state reason)}] } @{ $answer->{json}{data}{items} }],
        [['done', 'cancelled', undef], ['refused', 'cancelled', 'taskOver'],
        ['done', 'cancelled', undef]], 'each by itself');
    like($answer->{json}{data}{items}[0]{userPrincipalName}, qr/^maja\.flera1\@/,
        'with the person');
    like($answer->{json}{data}{items}[1]{message}, qr/cancelled before/, 'and the reason');
    my ($record) = grep { $_->{outcome} eq 'ok' } records(1, 'task.cancel', $ids[0]);
    is_deeply([@$record{qw(actor endpoint category)}],
        ['operator', 'console POST /tasks/change', 'portal'], 'a record for each');
    is($record->{parameters}{comment}, 'Asked for twice.', 'with the comment');
    my $why  = 'Leaves early: ' . 'x' x 486;
    my $told = leave('anna.lind', date => '2031-04-02', time => '17:00', comment => $why);
    change(operator => { verb => 'cancel', ids => [$told], comment => 'Stannar.' });
    $as{operator}->get('/task', { id => $told });
    my @comments;
    within(sub { @comments = @{ $as{viewer}->data('/task/comments', { id => $told })->{items} };
        return @comments > 1 });
    is_deeply([map { [@$_{qw(by action comment)}] } @comments],
        [['operator', 'user.delete', $why], ['operator', 'task.cancel', 'Stannar.']],
        'whoever may see a task reads what was written, whole and in order');
    refused($as{approver}->get('/task/comments', { id => $told }), 403, 'rightMissing', 'others');
    is($as{viewer}->get('/task/comments', { id => 'none' })->{status}, 404, 'of no task');
    my @second = records(2, 'task.cancel', $ids[1]);
    is_deeply([sort map {"$_->{actor} $_->{outcome}"} @second],
        ['administrator ok', 'operator CONFLICT'], 'of refusals, too');
    is(scalar records(1, 'task.cancel.dryRun', $ids[0]), 1, 'and of dry runs');
    is(scalar log_of('task.change'), 0, 'and none for the call');
    for my $bad ({ verb => 'erase', ids => ['a'] }, { verb => 'cancel', ids => [] },
        { verb => 'cancel', ids => [('a') x 201] }, { verb => 'cancel', ids => [1] },
        { verb => 'cancel', ids => ['a'], comment => 'x' x 501 },
        { verb => 'reschedule', ids => ['a'] }, { verb => 'reschedule', ids => ['a'],
        date => 'soon' }) {
        my $answer = change(operator => $bad);
        is($answer->{status}, 400, $answer->{json}{error}{message});
    }
    is($as{operator}->post('/tasks/change', { verb => 'cancel', ids => [$ids[0]] }, {},
        headers => { 'Idempotency-Key' => 'k' })->{status}, 400, 'it takes no Idempotency-Key');
    refused(change($_ => { verb => 'cancel', ids => [$ids[0]] }), 403, 'rightMissing', $_)
        for qw(viewer auditor approver key-administrator);
}

# In the console the person who queued it may release it, because a person decides.
sub brake {
    $stack->worker->expect_log(qr/IDA0319/);
    $stack->apply_tenant($stack->tenant_document(brake => { offboardingsPerHour => 1 }));
    $stack->wait_task(leave('bo.ek', time => '00:00'));    # whom the brake lets pass
    my @held = map { leave($_, time => '00:00') } qw(carin.sjoberg david.holm);
    within(sub { ids(braked => 'true') + 0 == 2 }) or diag explain tasks();
    is_deeply([sort(ids(braked => 'true'))], [sort @held], 'two are held');
    is_deeply($stack->task($held[0])->{actions}, [qw(cancel reschedule retry release)],
        'what may be done with them');
    is($as{viewer}->post('/task/release', {}, { id => $held[0] })->{status}, 403, 'not by all');
    my $own = $as{operator}->post('/task/release', {}, { id => $held[0] });
    is($own->{status}, 200, 'released by who queued it') or diag $own->{body};
    my ($record) = grep { $_->{outcome} eq 'ok' } records(2, 'task.release', $held[0]);
    like($record->{detail}, qr/\Q$held[0]\E: released by the person who had queued it/,
        'which the record says');
    my $many = change(administrator => { verb => 'release', ids => [$held[1]] });
    is($many->{json}{data}{done}, 1, 'another one, among many') or diag $many->{body};
    ($record) = records(1, 'task.release', $held[1]);
    unlike($record->{detail}, qr/had queued it/, 'by another key');
    $stack->wait_task($_) for @held;
}

sub held {
    my $id = hire('Hallen');
    $stack->sql("INSERT INTO directory_state (tenant_id, directory, hold_reason, hold_since, "
        . "hold_until, hold_failures) VALUES ('nordic', 'onPremises', 'It does not answer.', "
        . "1795253400000, 4102444800000, 1) ON CONFLICT (tenant_id, directory) DO UPDATE SET "
        . "hold_reason = 'It does not answer.', hold_since = 1795253400000, "
        . "hold_until = 4102444800000");
    is_deeply($as{viewer}->data('/task', { id => $id })->{task}{hold},
        { directory => 'onPremises', reason => 'It does not answer.',
        since => '2026-11-21T09:30:00Z', nextProbeAt => '2100-01-01T00:00:00Z' },
        'a held directory');
    my $asked = $as{operator}->post('/user/offboard', { userPrincipalName => "elin.strand\@$domain",
        time => '00:00' }, { dryRun => 'true' })->{json}{data};
    like("@{ $asked->{warnings} }", qr/onPremises is held since .*It does not answer/,
        'a request is warned of it');
}

for_each_stack {
    ($stack) = @_;
    %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_, company => 'nordic') }
        @Idadmin::Test::Httpd::console_users;
    subtest 'lists' => \&lists;
    subtest 'two administrators' => \&two_administrators;
    subtest 'many at once' => \&many;
    subtest 'brake' => \&brake;
    $stack->worker->stop;
    subtest 'a held directory' => \&held;
} one_engine =>
    'unit/queue/task proves listing, moving, cancelling and retrying on both engines',
    httpd => { rate_limits => { person => '100000/60s' }, console => 1 };

done_testing;
