# A directory that is down, silent, slow or refuses us: its tasks wait with a readable reason, other
# tenants go on, nothing is hammered, and when it is back everything is carried out.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine within);
use Idadmin::Test::Stack ();
use IO::Socket::INET ();
use Time::HiRes ();

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
    my $start = Time::HiRes::time();
    my $answer = $stack->post('/v1/api/user', { firstname => $name, surname => 'Other' },
        key => $key);
    my $task;
    within(sub { $task = $stack->get("/v1/api/task?id=$answer->{json}{data}{taskId}",
        key => $key)->{json}{data}{task}; $task && $task->{state} eq 'done' });
    return ($task && $task->{state} eq 'done' ? 1 : 0, Time::HiRes::time() - $start);
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

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine);
    $stack->worker->expect_log(qr/IDA0[345]/);
    my ($slapd, $other) = other_tenant($stack);

    $stack->slapd->freeze;
    my $silent = $stack->post('/v1/api/user',
        { firstname => 'Silent', surname => 'One' })->{json}{data}{taskId};
    my $also   = $stack->delete('/v1/api/user',
        { userPrincipalName => "tove.ahlgren\@$domain", time => '00:00' })->{json}{data}{taskId};
    for my $n (1 .. 3) {
        my ($done, $seconds) = joins($stack, $other, "During$n");
        ok($done, sprintf 'a silent directory: the other tenant goes on (%.2f s)', $seconds);
        cmp_ok($seconds, '<', 5 * Idadmin::Test::slowness(), 'undelayed');
    }
    waits($stack, $silent, qr/\S/, 'silent');
    $stack->slapd->thaw;
    is($stack->wait_task($silent)->{state}, 'done', 'thawed: the task is done');
    is($stack->wait_task($also)->{state}, 'done', 'and the leaver too');
    is(scalar $stack->slapd->search('(uid=silent.one*)', base => $Idadmin::Test::Slapd::people), 1,
        'once');

    $stack->slapd->stop;
    my $down = $stack->post('/v1/api/user',
        { firstname => 'Down', surname => 'One' })->{json}{data}{taskId};
    waits($stack, $down, qr/127\.0\.0\.1|connect|reach/i, 'down');
    ok((joins($stack, $other, 'Meanwhile'))[0], 'the other tenant goes on');
    my $status = $stack->ctl('status');
    like($status->{out}, qr/nordic/, 'status tells of the directory that is held');
    $stack->slapd->start;
    is($stack->wait_task($down)->{state}, 'done', 'up again: done');

    # Refused credentials: held, and nothing hammers the account.
    my $hash = 'wrong-now';
    $stack->slapd->modify("dn: $Idadmin::Test::Slapd::service\nchangetype: modify\nreplace: "
        . "userPassword\nuserPassword: $hash\n");
    $stack->slapd->restart;    # ends the connections that are still bound
    my $refused = $stack->post('/v1/api/user',
        { firstname => 'Refused', surname => 'One' })->{json}{data}{taskId};
    waits($stack, $refused, qr/credential|password|refus/i, 'refused credentials');
    my $count = sub { my $n = () = Idadmin::Test::slurp($stack->slapd->{log}) =~ /err=49/g; $n };
    my $before = $count->();
    sleep 4;
    cmp_ok($count->() - $before, '<=', 1, 'nothing hammers a refused credential');
    Idadmin::Test::secret_file("$stack->{base}/bind.password", $hash);
    is($stack->wait_task($refused)->{state}, 'done',
        'a corrected bindPasswordFile lifts the hold at once');
    $stack->slapd->stop;
    $slapd->stop;
    $stack->stop;
};

done_testing();
