# While a directory does not answer, is down or refuses the service account, its tasks wait with a
# readable reason, other tenants continue and it gets few calls; when it is back all tasks are
# executed.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(on_one_engine within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack ();
use IO::Socket::INET ();

my $domain = $Idadmin::Test::Slapd::domain;

# A second tenant on the same store with a slapd of its own.
sub other_tenant {
    my ($stack) = @_;
    my $slapd = Idadmin::Test::Slapd->new;
    my $document = $stack->tenant_document(companyId => 'other', name => 'Other AB');
    $document->{directories}{onPremises}{urls} = [$slapd->ldaps_url];
    $stack->apply_tenant($document);
    my $full = $stack->ctl_ok('key', 'create', 'other', 'hr-full', '--access', 'full',
        '--rate-limit', '6000/60s', '--json');
    ok(within(sub { $stack->get_user("eva.berg\@$domain", key => $full)->{status} == 200 }),
        'the other tenant is synchronised');
    return ($slapd, $full);
}

sub joins {
    my ($stack, $key, $name) = @_;
    my $answer = $stack->post('/v1/api/user', { firstname => $name, surname => 'Other' },
        key => $key);
    my $task;
    return within(sub { $task = $stack->get("/v1/api/task?id=$answer->{json}{data}{taskId}",
        key => $key)->{json}{data}{task}; $task && $task->{state} eq 'done' });
}

sub waits {
    my ($stack, $id, $pattern, $name) = @_;
    my $task;
    ok(within(sub { $task = $stack->task($id);
        $task->{state} eq 'queued' && ($task->{error} // '') =~ $pattern }),
        "$name: the task waits, and says why")
        or diag("$task->{state} " . ($task->{error} // '-'));
    is($task->{attempts}, 0, "$name: no try is counted");
}

on_one_engine {
    my ($engine) = @_;
    my $clock = Idadmin::Test::Fault->new('idadmin-worker');
    my $stack = Idadmin::Test::Stack->new(engine => $engine, worker => { env => $clock->env });
    $stack->worker->expect_log(qr/IDA0[345]/);
    my ($slapd, $other) = other_tenant($stack);

    $stack->slapd->freeze;
    my $silent = $stack->post('/v1/api/user',
        { firstname => 'Silent', surname => 'One' })->{json}{data}{taskId};
    my $also   = $stack->delete('/v1/api/user',
        { userPrincipalName => "tove.ahlgren\@$domain", time => '00:00' })->{json}{data}{taskId};
    ok(joins($stack, $other, "During$_"), 'a silent directory: the other tenant goes on')
        for 1 .. 3;
    waits($stack, $silent, qr/\S/, 'silent');
    $stack->slapd->thaw;
    $clock->step(600);    # the hold is over
    is($stack->wait_task($silent)->{state}, 'done', 'thawed: the task is done');
    is($stack->wait_task($also)->{state}, 'done', 'and the leaver too');
    is(scalar $stack->slapd->search('(uid=silent.one*)', base => $Idadmin::Test::Slapd::people), 1,
        'once');

    $stack->slapd->stop;
    my $down = $stack->post('/v1/api/user',
        { firstname => 'Down', surname => 'One' })->{json}{data}{taskId};
    waits($stack, $down, qr/127\.0\.0\.1|connect|reach/i, 'down');
    ok(joins($stack, $other, 'Meanwhile'), 'the other tenant goes on');
    ok(within(sub { grep { $_->{companyId} eq 'nordic' && $_->{held} }
        @{ $stack->ctl_ok('status', '--json')->{directories} } }),
        'status tells of the directory that is held');
    $stack->slapd->start;
    $clock->step(1200);
    is($stack->wait_task($down)->{state}, 'done', 'up again: done');

    # Refused credentials: held for five minutes, and nothing hammers the account. A file that is
    # put right is known by its time, which is ours.
    $clock->step(0);
    my $hash = 'wrong-now';
    $stack->slapd->modify("dn: $Idadmin::Test::Slapd::service\nchangetype: modify\nreplace: "
        . "userPassword\nuserPassword: $hash\n");
    $stack->slapd->restart;    # ends the connections that are still bound
    my $refused = $stack->post('/v1/api/user',
        { firstname => 'Refused', surname => 'One' })->{json}{data}{taskId};
    # While slapd was down a probe may have begun its own hold. It is over before the clock is
    # stepped: a try behind that would be held by a later time.
    $stack->ctl('sync', 'nordic', '--wait');
    waits($stack, $refused, qr/refuses the service account/, 'refused credentials');
    my $count = sub { my $n = () = Idadmin::Test::slurp($stack->slapd->{log}) =~ /err=49/g; $n };
    my $before = $count->();
    $clock->step(240);
    ok(joins($stack, $other, "Refused$_"), 'four minutes later: the other tenant goes on')
        for 1 .. 3;
    cmp_ok($count->() - $before, '<=', 1, 'nothing hammers a refused credential');
    Idadmin::Test::secret_file("$stack->{base}/bind.password", $hash);
    is($stack->wait_task($refused)->{state}, 'done',
        'a corrected bindPasswordFile lifts the hold at once');

    my $why = sub { $stack->ctl('sync', 'nordic', '--wait')->{err} };
    $stack->slapd->modify("dn: $Idadmin::Test::Slapd::service\nchangetype: modify\nreplace: "
        . "userPassword\nuserPassword: wrong-again\n");
    $stack->slapd->restart;
    like($why->(), qr/refuses the service account/, 'sync --wait says why it failed');
    $stack->slapd->stop;
    like($why->(), qr/connect|reach/i, 'and says another reason when there is one');
    $slapd->stop;
    $stack->stop;
} 'trouble of a directory is met before the store is; t/unit/queue/holds.c keeps held tasks from '
    . 'being claimed on both';

done_testing();
