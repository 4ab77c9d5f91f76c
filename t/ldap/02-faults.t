# While the directory of one tenant misbehaves (a scripted peer), each fault is reported in its
# class, its cache is kept, and another tenant is served. The faults one by one:
# t/unit/ldap/faults.c.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(on_one_engine within);
use Idadmin::Test::LdapPeer ();
use Idadmin::Test::Stack ();

# What libldap leaks of a notice is known (t/lib/leaks.supp) by the caller of its allocator.
$ENV{ASAN_OPTIONS} = join ':', grep { length } $ENV{ASAN_OPTIONS} // '', 'fast_unwind_on_malloc=0';

my @faults = (
    ['a black hole before TLS', { rules => [{ on => 'connect', do => 'silence' }] },
        qr/not reachable/],
    ['a busy server', { rules => [{ on => 'search', do => 'result', code => 51 }] },
    qr/not reachable.*busy/],
    ['a certificate that has run out', { certificate => 'expired' },
    qr/cannot be used: .*TLS was refused: .*caFile/],
    ['a certificate of another authority', { certificate => 'unknownCa' },
    qr/cannot be used: .*TLS was refused: .*caFile/],
    ['refused credentials', { rules => [{ on => 'bind', do => 'result', code => 49 }] },
    qr/refuses the service account/],
    ['a notice of disconnection in mid-answer',
    { rules => [{ on => 'page', after => 5, do => 'notice' }] }, qr/not reachable/],
);

sub row { my ($stack, $id) = @_;
    return (grep { $_->{companyId} eq $id } @{
    $stack->ctl_ok('status', '--json')->{directories} })[0] }

# The doctor says that a certificate is not trusted, and its advice shows why.
my @reasons = (
    [expired    => qr/certificate has expired/],
    [early      => qr/certificate is not yet valid/],
    [wrongHost  => qr/IP address mismatch/],
    [unknownCa  => qr/unable to get local issuer/],
    [selfSigned => qr/self-signed certificate/],
);

sub line { my ($report, $of) = @_;
    return (grep { $_->{check} =~ /^$of ldap/ } @{ $report->{json}{checks} })[0] // {} }

sub reasons {
    my ($stack, $peer) = @_;
    for my $case (@reasons) {
        my ($kind, $shown) = @$case;
        $peer->stop;
        $peer->script(certificate => $kind)->start;
        my $report = $stack->ctl('doctor', 'peer', '--json');
        is($report->{exit}, 2, "doctor, $kind: faults") or diag $report->{err};
        my $line = line($report, 'connect');
        is($line->{level}, 'fault', "$kind: a fault of the connection");
        my ($advice) = ($line->{detail} // '') =~ /TLS was refused: .*, as shown by: (openssl .*)$/;
        ok($advice, 'with a command') or diag explain $line;
        my $told = Idadmin::Test::run_command(['sh', '-c', "$advice </dev/null"]);
        like("$told->{out}$told->{err}", $shown, 'which shows why');
        is_deeply(line($report, 'certificate'), {}, 'what was not seen is not told');
    }
    $peer->stop;
    $peer->script->start;
    like(line($stack->ctl('doctor', 'peer', '--json'), 'certificate')->{detail},
        qr/^valid for another \d+ days, until 20/, 'of one that is trusted the days left');
    my $document = $stack->tenant_document(companyId => 'peer', name => 'Peer AB',
        upnDomain => 'peer.example', emailDomain => 'peer.example',
        directories => { onPremises => $peer->document });
    my $none = $document->{directories}{onPremises}{caFile} =
        Idadmin::Test::spew(Idadmin::Test::tempdir() . '/no-certificate.pem', "none\n");
    my $report = $stack->ctl('tenant', 'check', '-', '--json',
        { stdin => Idadmin::Test::json_text($document) });
    like(line($report, 'connect')->{detail}, qr/\Q$none\E/, 'a file of authorities that is none');
}

# A server that refuses the search for owned groups, for a limit, is not held: nothing else is
# refused, and the offboarding says what was not looked at.
sub owners_unknown {
    my ($stack, $peer) = @_;
    my $key = $stack->ctl_ok('key', 'create', 'peer', 'hr-peer', '--access', 'full', '--json');
    $peer->script(rules => [{ on => 'search', filter => 'managedBy', do => 'result', code => 11 }]);
    my $id = $stack->delete('/v1/api/user', { userPrincipalName => 'person0007@peer.example',
        time => '00:00' }, key => $key)->{json}{data}{taskId};
    my ($task, $step);
    ok(within(sub {
        $task = $stack->get("/v1/api/task?id=$id", key => $key)->{json}{data}{task};
        ($step) = grep { $_->{name} eq 'revokeMemberships' } @{ $task->{steps} };
        $step->{outcome} && @{ $task->{warnings} // [] };
    }), 'memberships are revoked, with a warning') or diag Idadmin::Test::json_text($task);
    like(Idadmin::Test::json_text($task->{warnings}),
        qr/Owned by the account: groups \(not looked at: .*limit/i, 'owners were not looked at');
    is(row($stack, 'peer')->{held}, undef, 'and the directory is not held');
    $peer->script;
}

on_one_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine);
    my $peer = Idadmin::Test::LdapPeer->new(users => 30);
    $stack->worker->expect_log(qr/IDA0[345]/);
    $stack->apply_tenant($stack->tenant_document(companyId => 'peer', name => 'Peer AB',
        upnDomain => 'peer.example', emailDomain => 'peer.example',
        directories => { onPremises => $peer->document }));
    ok(within(sub { (row($stack, 'peer')->{users} // 0) == 30 }),
        'two tenants, two authorities, one worker: both are synchronised');
    my $number = 0;
    for my $fault (@faults) {
        my ($name, $script, $told) = @$fault;
        $peer->stop;    # with it the connections that stand
        $peer->script(%$script)->start;
        $stack->ctl('sync', 'peer');
        my $row;
        # Until the fault is reported, and at least once, a person joins the other company: the
        # trouble itself is over when that is done.
        my $known = within(sub {
            my $answer = $stack->post('/v1/api/user',
                { firstname => 'Joiner', surname => 'Number' . ++$number });
            $stack->wait_task($answer->{json}{data}{taskId});
            $row = row($stack, 'peer');
            return ($row->{held} // '') =~ $told;
        });
        ok($known, "$name: the directory is held, and the reason tells the class")
            or diag(Idadmin::Test::json_text($row));
        is(row($stack, 'nordic')->{held}, undef, "$name: the other tenant was served meanwhile");
        is($row->{users}, 30, "$name: nothing of the cache is lost");
        $peer->script;
        my $synced = $stack->ctl('sync', 'peer', '--wait');
        is($synced->{exit}, 0, "$name: over, synchronised again") or diag($synced->{err});
        is(row($stack, 'peer')->{held}, undef, "$name: nothing is held any more");
    }
    # Values that libldap would end the process over. The control is one of a sync that reads
    # everything.
    for my $odd (['an empty value in a DN', { with => [['uid=person0002', 'manager', 'dc=x,cn=']] },
        0], ['a control without its value', { bare => { state => 'absent' } }, 1]) {
        my ($name, $script, $exit) = @$odd;
        my $worker = $stack->worker->working;
        $peer->script(%$script);    # before the worker may take the reset
        $stack->ctl_ok('cache', 'reset', 'peer');
        my $synced = $stack->ctl('sync', 'peer', '--wait');
        is($synced->{exit}, $exit, "$name: " . ($exit ? 'the sync fails' : 'the sync goes through'))
            or diag($synced->{err});
        my $answer = $stack->post('/v1/api/user',
            { firstname => 'Joiner', surname => 'Number' . ++$number });
        is($stack->wait_task($answer->{json}{data}{taskId})->{state}, 'done',
            "$name: the other tenant is served");
        ok($stack->worker->running && $stack->worker->working == $worker,
            "$name: by the same worker");
        $peer->script;
        is($stack->ctl('sync', 'peer', '--wait')->{exit}, 0, "$name: over, synchronised again");
        is(row($stack, 'peer')->{users}, 30, "$name: everybody is there");
    }
    is(row($stack, 'nordic')->{held}, undef, 'the other directory was never held');
    owners_unknown($stack, $peer);
    reasons($stack, $peer);
    $peer->stop;
    $stack->stop;
} 'trouble of a directory is met before the store is; t/unit/queue/holds.c and t/unit/cache '
    . 'run the statements on both';

done_testing();
