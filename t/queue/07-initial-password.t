# A directory whose policy refuses every password: the account exists and no one can sign in to it,
# so the task keeps seat and names, reports it, and a retry completes the same account.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine);
use Idadmin::Test::Stack ();

my $domain = $Idadmin::Test::Slapd::domain;

sub policy {
    my ($stack, $lines) = @_;
    $stack->slapd->modify("dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\nchangetype: "
        . "modify\n$lines\n");
}

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine);
    $stack->worker->expect_log(qr/IDA0317/);
    policy($stack,
        "replace: pwdMinLength\npwdMinLength: 200\n-\nreplace: pwdCheckQuality\npwdCheckQuality: "
        . "2");
    my $id = $stack->post('/v1/api/user',
        { firstname => 'Pia', surname => 'Policy' })->{json}{data}{taskId};
    my $task = $stack->wait_task($id, states => ['failed']);
    is($task->{state}, 'failed', 'refused for good');
    like($task->{error}, qr/uid=pia\.policy,.* exists/, 'the error says that the account exists');
    my $entry = $stack->slapd->user('pia.policy');
    ok($entry && !$entry->{userpassword}, 'it does, without a password');
    my ($row) = $stack->sql("SELECT progress FROM task WHERE id = '$id'");
    like($row->[0], qr/"createSent":\s*true/, 'so seat and names stay with the task');
    policy($stack, "delete: pwdMinLength\n-\ndelete: pwdCheckQuality");
    $stack->ctl_ok('task', 'retry', 'nordic', $id);
    $task = $stack->wait_task($id);
    is($task->{state}, 'done', 'retried: done');
    is(scalar(my @all = $stack->slapd->search('(sn=Policy)',
        base => $Idadmin::Test::Slapd::people)), 1, 'the same account');
    is($all[0]{entryuuid}[0], $entry->{entryuuid}[0], 'with its ID');
    like($all[0]{userpassword}[0], qr/^\{/, 'and a hashed password');
    $stack->stop;
};
done_testing();
