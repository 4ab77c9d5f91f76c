# Work that stops until an administrator decides: a sync that would delete too much, and
# offboardings beyond the brake.
use strict;
use warnings;
use JSON::PP ();
use Test::More;
use Idadmin::Test qw(for_each_engine json_text within);
use Idadmin::Test::Stack ();

my $domain = $Idadmin::Test::Slapd::domain;
my $stack;

sub users { my ($row) = grep { $_->{companyId} eq 'nordic' } @{
    $stack->ctl_ok('status', '--json')->{directories} }; return $row->{users} }
sub leave { my ($uid) = @_; return $stack->delete('/v1/api/user',
    { userPrincipalName => "$uid\@$domain", time => '00:00' }) }

# Forty of sixty people vanish from the service account's sight.
sub deletion_guard {
    is(users(), 60, 'sixty people are known');
    for my $n (1 .. 40) {
        $stack->slapd->delete_entry(Idadmin::Test::Slapd::user_dn(sprintf 'user%05d', $n));
    }
    my $stopped = $stack->ctl('sync', 'nordic', '--wait');
    is($stopped->{exit}, 1, 'sync --wait: exit 1');
    like($stopped->{err}, qr/onPremises: .*\d/, 'and the reason');
    ok($stack->worker->log_gets(qr/IDA0502.*--accept-deletions/), 'the log names the way out');
    cmp_ok(users(), '>', 20, 'the cache is as it was');
    is($stack->ctl('sync', 'nordic', '--wait')->{exit}, 1, 'asking again does not help');
    my $accepted = $stack->ctl('sync', 'nordic', '--wait', '--accept-deletions', '--json');
    is($accepted->{exit}, 0, '--accept-deletions: exit 0') or diag($accepted->{err});
    is($accepted->{json}{directories}[0]{users}, 20, 'the deletions are accepted');
    is($stack->get_user("user00001\@$domain")->{status}, 404, 'a deleted person is unknown');
    is($stack->ctl('sync', 'nordic', '--wait')->{exit}, 0, 'syncs go on');
}

sub brake {
    $stack->apply_tenant($stack->tenant_document(brake => { offboardingsPerHour => 2 }));
    $stack->worker->start;
    my @answers = map { leave($_) } qw(anna.lind bo.ek carin.sjoberg david.holm);
    is_deeply([map { scalar grep {/brake.*likely/} @{ $_->{json}{data}{warnings} } } @answers],
        [0, 0, 1, 1], 'of four that are overdue the third and fourth are warned of');
    my @ids = map { $_->{json}{data}{taskId} } @answers;
    my $states = sub { return join ' ', sort map { $stack->task($_)->{state} } @ids };
    ok(within(sub { $states->() eq 'attention attention done done' }),
        'two are carried out, two are held') or diag($states->());
    my @held = grep { $stack->task($_)->{state} eq 'attention' } @ids;
    like($stack->task($held[0])->{error}, qr/brake/, 'with the reason');
    ok($stack->worker->log_gets(qr/IDA0319.*nordic/), 'and an alarm');
    my $release = sub { my ($key) = @_;
        return $stack->call(POST => "/v1/api/task/release?id=$held[0]", key => $key, body => '') };
    my $own = $release->('full');
    is($own->{status}, 403, 'the key that asked cannot release');
    like($own->{json}{error}{message},
        qr/hr-full.*idadminctl task release nordic $held[0].*another API key/,
        'and is told who can');
    is($stack->task($held[0])->{state}, 'attention', 'it is held as before');
    is($release->('second')->{status}, 200, 'another key releases');
    is($stack->wait_task($held[0])->{state}, 'done', 'and carried out');
    is($stack->task($held[1])->{state}, 'attention', 'the other waits');
    my $held = $stack->task($held[1]);
    my $again = $stack->delete('/v1/api/user',
        { userPrincipalName => $held->{userPrincipalName}, date => '2031-05-02', time => '08:00' });
    is($again->{json}{data}{taskId}, $held[1], 'a second DELETE of who is held moves that task');
    like($again->{json}{data}{message},
        qr/waits for release.*brake.*moved; once released it is carried out at 2031-05-02/,
        'and says so');
    $held = $stack->task($held[1]);
    is_deeply([@$held{qw(state scheduledAtUtc)}], ['attention', '2031-05-02T06:00:00Z'],
        'it is held as before');
    like($held->{error}, qr/brake/, 'for the same reason');
    $stack->ctl_ok('task', 'release', 'nordic', $held[1]);
    is($stack->task($held[1])->{nextAttemptAt}, undef, 'released, it is queued');
    $stack->sql("UPDATE task SET state = 'attention', released = 0 WHERE id = '$held[1]' "
        . "AND state = 'queued' AND next_at = due_at");
    is($stack->task($held[1])->{state}, 'attention', 'for its time, not for now');
    like(leave($held->{userPrincipalName} =~ s/\@.*//r)->{json}{data}{message},
        qr/has passed, so it is carried out as soon as it is released/,
        'moved to a time that has passed');
    is_deeply($stack->ctl('task', 'release', 'nordic', '--all-braked', '--json')->{json},
        { released => [$held[1]] }, 'all are released');
    is($stack->wait_task($held[1])->{state}, 'done', 'and carried out');
    is_deeply([$stack->slapd->members('CRM admins')], [$Idadmin::Test::Slapd::filler],
        'only the placeholder is left in their group');
}

# A PATCH that disables is a way around no brake: it counts, and is held.
sub brake_on_updates {
    # The hour is over: for the warnings, and for the brake, which counts what the audit recorded.
    ok(within(sub { !($stack->sql("SELECT count(*) FROM audit_outbox"))[0][0] }), 'recorded');
    $stack->worker->expect_log(qr/IDA0415/);    # so are records that were changed by hand
    $stack->sql('UPDATE task SET started_at = started_at - 3600000 WHERE started_at > 0');
    $stack->sql("UPDATE audit.record SET at = at - 3600000 WHERE action = 'task.start'");
    $stack->worker->stop;    # the worker itself remembers what it began
    $stack->worker->start;
    my $disable = sub { my ($uid) = @_;
        return $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => "$uid\@$domain", accountEnabled => JSON::PP::false() }) };
    my $states_of = sub { return join ' ', sort map { $stack->task($_->{json}{data}{taskId})
        ->{state} // '' } @_ };
    # The first two are over before the others are there: which of four that are due at once begin
    # first is not specified.
    my @answers = ($disable->('ida.wall'), leave('johan.asberg'));
    ok(within(sub { $states_of->(@answers) eq 'done done' }), 'two are carried out')
        or diag($states_of->(@answers));
    push @answers, $disable->('karin.hedlund'), leave('lars.moberg');
    is_deeply([map { $_->{status} } @answers], [(200) x 4],
        'two updates that disable and two offboardings')
        or diag(explain([map { $_->{body} } @answers]));
    ok(within(sub { $states_of->(@answers[2, 3]) eq 'attention attention' }),
        'the other two are held') or diag($states_of->(@answers));
    is_deeply([map { scalar grep {/brake.*likely/} @{ $_->{json}{data}{warnings} } } @answers],
        [0, 0, 1, 1], 'which they were warned of');
    my $other = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => "maria.oqvist\@$domain", jobTitle => 'Free' });
    is($stack->wait_task($other->{json}{data}{taskId})->{state}, 'done',
        'other updates are not the brake\'s');
    my $update = $answers[2]{json}{data}{taskId};
    is($stack->task($update)->{type}, 'userUpdate', 'an update is among the held ones');
    $stack->ctl_ok('task', 'release', 'nordic', '--all-braked');
    is($stack->wait_task($update)->{state}, 'done', 'released, it disables');
}

# The caller is warned beforehand, also for an hour in the future.
sub brake_foreseen {
    my @answers = map { $stack->delete('/v1/api/user',
        { userPrincipalName => "$_\@$domain", date => '2031-05-02',
        time => '17:00' }) } qw(elin.strand filip.nyman greta.dahl);
    my @warned = map { scalar grep {/brake.*likely/} @{ $_->{json}{data}{warnings} } } @answers;
    is_deeply(\@warned, [0, 0, 1], 'the third of an hour with two');
    my $later = $stack->delete('/v1/api/user',
        { userPrincipalName => "henrik.falk\@$domain", date => '2031-05-02', time => '18:01' });
    is_deeply($later->{json}{data}{warnings}, [], 'not one of the next hour');
}

for_each_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => { users => 40 }, tenant => {},
        keys => { second => ['hr-second', 'full'] });
    $stack->worker->expect_log(qr/IDA0502/, qr/IDA0319/);
    my $document = $stack->tenant_document;
    $document->{directories}{onPremises}{syncInterval} = '1h';    # only when asked for
    $stack->apply_tenant($document);
    ok(within(sub { $stack->ctl('sync', 'nordic', '--wait')->{exit} == 0 }), 'synced');
    subtest deletion_guard => \&deletion_guard;
    $stack->worker->stop;
    subtest brake => \&brake;
    subtest 'brake on updates' => \&brake_on_updates;
    subtest 'brake foreseen' => \&brake_foreseen;
    $stack->stop;
};

done_testing();
