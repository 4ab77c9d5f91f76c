# Receivers of events (`notifications` of the tenant document) get each event at least once, signed,
# in order per person, whatever the receiver, the worker or both do meanwhile. No receiver delays
# another one, or a task.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(in_parallel json_text parameter within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall);
use Idadmin::Test::Tls ();
use Idadmin::Test::Webhook ();
use IO::Select ();
use IO::Socket::INET ();
use JSON::PP ();
use List::Util qw(uniq);
use Time::HiRes ();

my $true   = JSON::PP::true();
my $domain = $Idadmin::Test::Slapd::domain;
my @all    = qw(task.done task.failed task.attention);
my $outage = parameter(outage => 0);    # s for which the receiver is down at least
my $fault  = Idadmin::Test::Fault->new('idadmin-worker');
my ($stack, $hook, $number);

sub receiver { my ($url, %more) = @_;
    return { url => $url, secretFile => $hook->secret, events => \@all, allowPrivate => $true,
        %more } }

# Only these are sent from now on.
sub told { my (@receivers) = @_;
    $stack->apply_tenant($stack->tenant_document(notifications => \@receivers)) }

sub join_up {
    my ($given, %more) = @_;
    my $answer = $stack->post('/v1/api/user',
        { firstname => $given, surname => 'Nov', %more });
    return $answer->{json}{data}{taskId} // die "not queued: $answer->{body}\n";
}

# A change of the person, which takes its own time after the one before.
sub change {
    my ($given, $title) = @_;
    my $answer = $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => lc("$given.nov\@$domain"), jobTitle => $title });
    return $answer->{json}{data}{taskId} // die "not queued: $answer->{body}\n";
}

sub waiting { return grep { $_->{state} eq 'waiting' } undelivered() }
sub undelivered { return @{ $stack->ctl_ok('notification', 'list', 'nordic', '--json') } }

# The time of the next call comes, of all receivers and events.
sub due_now { $stack->sql("UPDATE $_ SET next_at = 0") for qw(event_delivery notification) }

sub tasks_told { my ($path) = @_; return map { $_->{json}{task}{id} } $hook->calls($path) }

# Waits until each of these tasks was sent to this path.
sub all_told {
    my ($path, @tasks) = @_;
    my %missing;
    return within(sub {
        %missing = map { $_ => 1 } @tasks;
        delete @missing{ tasks_told($path) };
        return !%missing;
    }) ? 1 : do { diag('not told: ', join ' ', map { json_text($stack->task($_)) }
        keys %missing); 0 };
}

# The order in which the tasks of one person arrived first.
sub in_order {
    my ($path, $name, @tasks) = @_;
    my %of = map { $_ => 1 } @tasks;
    is_deeply([uniq(grep { $of{$_} } tasks_told($path))], \@tasks, $name);
}

sub one_event {
    told(receiver($hook->url('/ok')),
        receiver($hook->url('/late'), events => ['task.failed', 'task.attention']));
    my $task = join_up('Åsa', jobTitle => 'Säljare');
    ok(all_told('/ok', $task), 'a task that is done is told of');
    my ($call) = $hook->calls('/ok');
    ok($call->{signed}, 'signed');
    is($call->{headers}{'webhook-id'}, $call->{json}{id}, 'webhook-id is the event\'s');
    like($call->{json}{id}, qr/^evt_/, 'and an ID');
    my $t = $stack->task($task);
    is_deeply($call->{json}, { id => $call->{json}{id}, type => 'task.done',
        at => $t->{finishedAt}, companyId => 'nordic', task => { id => $task, state => 'done',
        userId => $call->{json}{task}{userId}, error => undef,
        correlationId => $t->{correlationId},
        requestedBy => { username => $t->{requestedBy}{username},
        label => $t->{requestedBy}{label} },
        (map { $_ => $t->{$_} } qw(type userPrincipalName displayName directory scheduledAt)) } },
        'as the task has it');
    ok($call->{json}{task}{userId}, 'with the account\'s ID');
    my ($listed) = grep { $_->{task}{id} eq $task } @{ $stack->get('/v1/api/events?limit=200')
        ->{json}{data}{items} };
    is_deeply($listed, $call->{json}, 'and as GET events lists it');
    is_deeply([tasks_told('/late')], [], 'a receiver is told only of what it wants');
    ok(within(sub { !undelivered() }), 'and nothing is left');
}

# The request's identity stays with what it caused.
sub correlated {
    my $trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    my $id    = "hr-$number-4711";
    told(receiver($hook->url('/ok?correlated')));
    my $answer = $stack->post('/v1/api/user', { firstname => 'Korrel', surname => 'Nov' },
        headers => { 'X-Request-Id' => $id, traceparent => $trace });
    my $task = $answer->{json}{data}{taskId};
    ok(all_told('/ok?correlated', $task), 'done and told');
    my ($call) = $hook->calls('/ok?correlated');
    is($call->{headers}{'x-request-id'}, $id, 'the receiver gets its ID');
    is($call->{headers}{traceparent}, $trace, 'and its trace');
    is($call->{json}{task}{correlationId}, $id, 'also in the body');
    is($stack->task($task)->{correlationId}, $id, 'the task has it');
    ok($stack->worker->log_gets(qr/task \Q$task\E .* is done \[request \Q$id\E\]$/m),
        'and so has the worker\'s line');
    my @records;
    within(sub { @records = @{ $stack->records('--correlation-id', $id) };
        return grep { $_->{action} eq 'task.done' } @records });
    is(join(' ', sort map { $_->{action} } @records), 'task.done task.step task.step task.step '
        . 'user.create', 'all that it caused is found in the audit log');
}

sub failures {
    my $workflow = { name => 'Leaver', trigger => 'userDelete', actions =>
        [{ type => 'callWebhook', url => $hook->url('/status/404'), secretFile => $hook->secret,
        allowPrivate => $true }] };
    $stack->apply_tenant($stack->tenant_document(workflows => [$workflow],
        brake => { offboardingsPerHour => 1 },
        notifications => [receiver($hook->url('/ok?all'))]));
    $stack->worker->expect_log(qr/IDA0317/, qr/IDA0319/);
    $stack->wait_task($_) for join_up('Leaver'), join_up('Second');
    # httpd remembers the document for two seconds, but not for a key that it has not seen yet.
    $stack->create_key(new => 'hr-new', 'full');
    my ($date, $time) = wall(time);
    my @left = map { $stack->delete('/v1/api/user',
        { userPrincipalName => lc("$_.nov\@$domain"), date => $date, time => $time },
        key => 'new')->{json}{data}{taskId} } qw(Leaver Second);
    ok(all_told('/ok?all', @left), 'failed and held tasks are told of');
    my %event = map { $_->{json}{type} => $_->{json} } $hook->calls('/ok?all');
    my $failed = $event{'task.failed'};
    is($failed->{task}{state}, 'failed', 'failed');
    is($failed->{task}{error}, $stack->task($failed->{task}{id})->{error}, 'with the reason');
    is($event{'task.attention'}{task}{state}, 'attention', 'held by the brake');
    like($event{'task.attention'}{task}{error}, qr/brake/, 'with the reason');
    $stack->ctl_ok('task', 'retry', 'nordic', $failed->{task}{id});
    ok(within(sub { grep({ $_->{json}{task}{id} eq $failed->{task}{id} }
        $hook->calls('/ok?all')) == 2 }), 'failed again: another event');
}

sub down {
    my $path = '/ok?down';
    told(receiver($hook->url($path)));
    $hook->stop;
    $stack->worker->expect_log(qr/IDA0370/);
    my $begun = time;
    my @made  = map { join_up("D$number$_") } 1 .. 3;
    $stack->wait_task($_) for @made;
    my @first = map { my $n = $_; my $task = change("D${number}1", "Title $n");
        $stack->wait_task($task); $task } 1 .. 3;
    ok(within(sub { due_now();
        $stack->worker->log_has(qr/IDA0370 .*does not take events.*cannot be reached/) }),
        'the log tells of it');
    my ($waiting) = waiting();
    like($waiting->{error}, qr/cannot be reached/, 'and it is told why');
    my ($state) = grep { $_->{url} =~ /\?down$/ } @{ $stack->ctl_ok('notification', 'receivers',
        'nordic', '--json') };
    is($state->{waiting}, 6, 'as many wait');
    $stack->worker->kill9;
    $stack->worker->start;
    push @first, change("D${number}1", 'Title 4');
    $stack->wait_task($first[-1]);
    # Decides nothing: events wait for as long as the receiver is down.
    Time::HiRes::sleep($begun + $outage - time) if $begun + $outage > time;
    $hook->start;
    # The receiver may be the killed worker's for the rest of a lease.
    $fault->within_leases(sub { due_now(); !waiting() });
    ok(all_told($path, @made, @first), 'when it is back each is told of');
    in_order($path, 'of one person in order', $made[0], @first);
    ok(within(sub { !waiting() }), 'and none is left');
}

# The worker is killed between a call and its record: the receiver has the event and has not
# answered. The clock stands still until then, so that the call does not end. There is no listener
# until another worker has taken the receiver over, so that the leaps of its clock end no call.
sub killed {
    my $path = '/hang-once';
    $fault->speed(0);
    told(receiver($hook->url($path)));
    my @tasks = map {@$_} in_parallel(4, sub { my ($n) = @_;
        [map { join_up("K$number$n$_") } 1 .. 4] });
    $stack->wait_task($_) for @tasks;
    ok(within(sub { $hook->calls($path) }), 'one is told, and not recorded');
    my $fence = sub { my ($row) = $stack->sql(
        "SELECT fence FROM notification WHERE url LIKE '%$path' AND owner IS NOT NULL");
        return $row ? $row->[0] : 0 };
    ok(my $before = $fence->(), 'the receiver is in the hands of the worker');
    $stack->worker->kill9;
    $hook->stop;
    $fault->speed(1);
    $stack->worker->start;
    ok($fault->within_leases(sub { my $now = $fence->(); !$now || $now > $before }),
        'which another one takes over');
    $hook->start;
    ok(within(sub { due_now(); !waiting() }) && all_told($path, @tasks), 'none is lost');
    my @ids = map { $_->{headers}{'webhook-id'} } $hook->calls($path);
    is(scalar @ids, @tasks + 1, 'only the one is told again');
    is((grep { $_ eq $ids[0] } @ids), 2, 'under the same ID');
}

sub two_workers {
    my $path = '/ok?two';
    told(receiver($hook->url($path)));
    my $second = $stack->new_worker(options => ['--threads', 4]);
    my @tasks  = map {@$_} in_parallel(4, sub { my ($n) = @_;
        [map { join_up("W$number$n$_") } 1 .. 8] });
    ok(all_told($path, @tasks), 'all are told');
    ok(within(sub { !waiting() }), 'and recorded');
    my @ids = map { $_->{headers}{'webhook-id'} } $hook->calls($path);
    is(scalar @ids, scalar uniq(@ids), 'none twice');
    $second->stop;
}

# A receiver that accepts a connection and does not answer. The worker's clock stands still
# meanwhile: a call of the silent ones would never end, and what waited for that would never come.
sub slow {
    my @mute = map { IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'tcp', Listen => 50)
        or die "$!\n" } 1 .. 2;
    my @urls = map { 'http://127.0.0.1:' . $_->sockport . '/' } @mute;
    my $path = '/ok?beside';
    $fault->speed(0);
    told(receiver($hook->url($path)), map { receiver($_) } @urls);
    $stack->worker->expect_log(qr/IDA0370/);
    my @tasks = join_up("S${number}0");
    my @open  = map { scalar $_->accept } @mute;
    is(scalar @open, 2, 'both silent ones are called');
    push @tasks, map { join_up("S$number$_") } 1 .. 3;
    ok(all_told($path, @tasks), 'the one beside them is told meanwhile');
    my $tried = sub { scalar grep { $_->{tries} } waiting() };
    is($tried->(), 0, 'while neither call is over');
    told(receiver($hook->url($path)));
    $stack->worker->expect_log(qr/IDA0371/);
    close $_ for @open, @mute;
    $fault->speed(1);
    ok(within(sub { due_now(); !waiting() }),
        'a receiver that the document names no more is given up');
    is_deeply([map { my $url = $_; scalar grep { $_->{url} eq $url
        && $_->{error} =~ /names this receiver no more/ } undelivered() } @urls], [4, 4],
        'with the reason');
}

# Twelve silent receivers of one company leave threads for another company's.
sub crowd {
    my $other = bless { %$stack, company => "other$number", keys => {}, client => {} }, ref $stack;
    $other->_begin_tenant(tenant => { notifications => [receiver($hook->url('/ok?crowd'))] });
    $other->wait_synced;
    my @mute = map { IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'tcp', Listen => 50)
        or die "$!\n" } 1 .. 12;
    my $called = IO::Select->new(@mute);
    $fault->speed(0);
    told(map { receiver('http://127.0.0.1:' . $_->sockport . '/') } @mute);
    $stack->worker->expect_log(qr/IDA0370/, qr/IDA0371/);
    join_up("C${number}0");
    ok(within(sub { $called->can_read(0) >= 4 }), 'four of them are called');
    my $task = $other->post('/v1/api/user', { firstname => 'Beside', surname => 'Nov' })
        ->{json}{data}{taskId};
    ok(within(sub { grep { $_ eq $task } tasks_told('/ok?crowd') }),
        'the other company is told meanwhile');
    is(scalar(my @four = $called->can_read(0)), 4, 'while no more than four wait');
    told(receiver($hook->url('/ok?crowd-over')));
    close $_ for @mute;
    $fault->speed(1);
    ok(within(sub { due_now(); !waiting() }), 'and they are over');
}

sub certificate {
    my $path = '/ok?tls';
    told(receiver($hook->tls_url($path)));
    my $task = join_up("T$number");
    $stack->wait_task($task);
    ok(within(sub { grep { ($_->{error} // '') =~ /certificate.*caFile/i } waiting() }),
        'a certificate of an unknown authority: it waits, and is told why');
    is_deeply([tasks_told($path)], [], 'nothing was sent');
    told(receiver($hook->tls_url($path), caFile => Idadmin::Test::Tls::files()->{ca}));
    $stack->ctl_ok('notification', 'retry', 'nordic', '--all');
    ok(all_told($path, $task), 'with the authority it arrives');
    my ($line) = grep { $_->{check} eq q(receiver's certificate) }
        @{ $stack->ctl('doctor', 'nordic', '--json')->{json}{checks} };
    like($line->{detail}, qr/^expires in \d+ days?, on 20/, 'and the doctor shows the days left');
}

sub given_up {
    told(receiver($hook->url('/status/410')), receiver($hook->url('/status/401')));
    $stack->worker->expect_log(qr/IDA0371/);
    my $task = join_up("G$number");
    $stack->wait_task($task);
    my $of = sub { my ($end, $state) = @_;
        return grep { $_->{url} =~ /$end$/ && $_->{taskId} eq $task && $_->{state} eq $state }
            undelivered() };
    ok(within(sub { $of->(410, 'given up') }), '410: given up at once');
    ok(within(sub { my ($one) = $of->(401, 'waiting'); $one && $one->{tries} }),
        '401: retried, because an administrator may fix it');
    my ($event) = $of->(401, 'waiting');
    $stack->sql("UPDATE event_delivery SET failed_at = 1 WHERE url LIKE '%401'");
    $stack->ctl_ok('notification', 'retry', 'nordic', $event->{id});
    ok(within(sub { my ($one) = $of->(401, 'waiting'); $one && $one->{tries} }),
        'a retry begins anew');
    $stack->sql("UPDATE event_delivery SET failed_at = 1, next_at = 0 WHERE url LIKE '%401'");
    $stack->sql('UPDATE notification SET next_at = 0');
    ok(within(sub { $of->(401, 'given up') }), 'after three days it is given up');
    ok($stack->worker->log_gets(qr/IDA0371.*\Q$event->{id}\E.*status 401/),
        'the log tells of it');
    is(scalar @{ $stack->ctl_ok('notification', 'list', 'nordic', '--given-up', '--limit', 200,
        '--json') }, scalar(grep { $_->{state} eq 'given up' } undelivered()), 'as a list of them');
    is($stack->ctl('notification', 'retry', 'nordic', 'evt_none')->{exit}, 1,
        'an event without a waiting receiver is refused');
    like($stack->ctl('notification', 'list', 'nordic')->{out}, qr/^EVENT .*given up.*status 401/ms,
        'for people');
}

sub busy {
    my $path = '/busy/2/503/600';    # Retry-After 600
    told(receiver($hook->url($path)));
    my $task = join_up("B$number");
    for my $call (1, 2) {
        ok(within(sub { grep { $_->{tries} == $call } waiting() }), "not taken: $call");
        my ($called) = map { $_->{at} } reverse $hook->calls($path);
        my @next = map { @$_ } $stack->sql("SELECT d.next_at, n.next_at FROM event_delivery d JOIN "
            . "notification n ON n.url = d.url WHERE d.given_up_at = 0");
        is(scalar(grep { $_ >= 1000 * ($called + 600) - 1000 } @next), 2,
            'neither it nor its receiver is tried before Retry-After says') or diag("@next");
        due_now();
    }
    ok(within(sub { $hook->calls($path) == 3 }), 'called until it is taken');
    is(scalar uniq(map { $_->{headers}{'webhook-id'} } $hook->calls($path)), 1, 'under one ID');
    ok(within(sub { !grep { $_->{taskId} eq $task } waiting() }), 'and is over');
}

sub begin {
    ($stack) = @_;
    $number = $stack->engine eq 'sqlite' ? 's' : 'p';
    $hook   = Idadmin::Test::Webhook->new;
}

Idadmin::Test::Stack::for_each_stack {
    begin(@_);
    subtest 'one event'       => \&one_event;
    subtest 'correlated'      => \&correlated;
    subtest 'failed and held' => \&failures;
    subtest 'busy'            => \&busy;
    subtest 'certificate'     => \&certificate;
    subtest 'given up'        => \&given_up;
    subtest 'slow'            => \&slow;
    subtest 'crowd'           => \&crowd;
    $hook->stop;
} worker => { options => ['--threads', 4], env => $fault->env },
    one_engine => 't/unit/queue/event.c runs the statements of events on both engines';

# Who may call a receiver is decided by transactions of the store.
Idadmin::Test::Stack::for_each_stack {
    begin(@_);
    # A killed worker may have had a task; and a receiver may be taken from a holder who stood still
    # while the clock leapt.
    $stack->worker->expect_log(qr/IDA0323/, qr/IDA0372/);
    subtest 'two workers'      => \&two_workers;
    subtest 'receiver is down' => \&down;
    subtest 'worker is killed' => \&killed;
    $hook->stop;
} worker => { options => ['--threads', 4], env => $fault->env };
done_testing();
