# The process that writes for httpd: killed at random under load, beside graceful restarts, it
# loses nothing that was answered and does nothing twice; one that stands still is not waited for,
# and what was given up is not done when it moves again; reads go on. Without root httpd says that
# rights are not split, and without a writer it does not start.
use strict;
use warnings;
use utf8;
use Socket ();
use Test::More;
use Idadmin::Test qw(in_parallel parameter slurp within);
use Idadmin::Test::Httpd ();
use Idadmin::Test::Stack;
use Time::HiRes ();

my $kills = parameter(kills => 12);
my $stack;

sub hire { my ($name, %how) = @_;
    return $stack->post('/v1/api/user', { firstname => $name, surname => 'Skriv',
        date => '2031-03-03' }, %how) }

# Each asks until it has a 200, under one Idempotency-Key: what it is told then is what happened.
sub insist {
    my ($worker, $until) = @_;
    my ($number, %answers) = (0);
    my $client;
    while (Time::HiRes::time() < $until->()) {
        my $name = sprintf 'W%dn%d', $worker, ++$number;
        for (1 .. 200) {
            my $answer = eval {
                $client //= $stack->httpd->client;
                hire($name, client => $client, headers => { 'Idempotency-Key' => $name });
            };
            $answer = undef if $answer && !$answer->{status};
            $client = undef if !$answer;    # closed by a graceful restart, perhaps in a head
            my $status = $answer ? $answer->{status} : 'closed';
            $answers{$status}++;
            if ($status eq '200') {
                push @{ $answers{tasks} }, $answer->{json}{data}{taskId};
                last;
            }
            push @{ $answers{odd} }, $answer->{body} if $status !~ /^(?:200|503|closed)$/;
            Time::HiRes::sleep(0.02);
        }
    }
    $answers{asked} = $number;
    return \%answers;
}

# The load runs until the last kill; whoever kills says so by the end of a file.
sub killed {
    my $stop = Idadmin::Test::tempdir() . '/stop.' . $stack->engine;
    my $killer = fork // die "fork: $!";
    if (!$killer) {
        for my $kill (1 .. $kills) {
            Time::HiRes::sleep(0.05 + rand 0.25);
            my @writers = $stack->httpd->writers;
            kill KILL => $writers[rand @writers] if @writers;
            kill USR1 => $stack->httpd->pid if $kill % 4 == 0;
        }
        Idadmin::Test::spew($stop, '');
        POSIX::_exit(0);
    }
    my @told = in_parallel(4, sub { my ($worker) = @_;
        return insist($worker, sub { -e $stop ? 0 : Time::HiRes::time() + 1 }) });
    waitpid $killer, 0;
    my @tasks = map { @{ $_->{tasks} // [] } } @told;
    my %sum;
    for my $one (@told) { $sum{$_} += $one->{$_} for grep {/^(?:\d+|closed|asked)$/} keys %$one }
    note(join ', ', map {"$_: $sum{$_}"} sort keys %sum);
    is_deeply([map { @{ $_->{odd} // [] } } @told], [], 'each answer is a 200 or a 503');
    is(scalar @tasks, $sum{asked}, 'each request was answered with 200 in the end: ' . @tasks);
    my %once = map { $_ => 1 } @tasks;
    is(scalar keys %once, scalar @tasks, 'each with a task of its own');
    my @rows = map { $_->[0] } $stack->sql("SELECT id FROM task WHERE upn LIKE 'w%.skriv%'");
    is_deeply([sort @rows], [sort @tasks], 'which are the tasks that there are');
    my ($records) = $stack->sql("SELECT count(*) FROM task t WHERE t.upn LIKE 'w%.skriv%'");
    ok(within(sub { my ($of) = $stack->sql("SELECT count(*) FROM audit.record WHERE action = "
        . "'user.create' AND target LIKE 'w%.skriv%' AND outcome = 'ok'");
        $of->[0] == @tasks }), 'and one record each') or diag("@$records");
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole');
}

sub writers_are { my ($count) = @_;
    return within(sub { my @now = $stack->httpd->writers; @now == $count }) }

# The one that serves is stopped: the caller is told after some seconds, others read meanwhile, and
# what was given up is not there when it moves again.
sub frozen {
    ok(writers_are(2), 'one serves, one stands by');
    my @writers = $stack->httpd->writers;
    kill STOP => @writers;    # both: none takes over
    within(sub { Idadmin::Test::stands_still(@writers) });
    is(hire('Given', headers => { 'Idempotency-Key' => 'given' })->{status}, 503,
        'a write is given up');
    is($stack->get_user('eva.berg@nordic.example')->{status}, 200, 'reads go on');
    kill CONT => @writers;
    is(hire('After')->{status}, 200, 'and writes when it moves again');
    my ($given) = $stack->sql("SELECT count(*) FROM task WHERE upn LIKE 'given.%'");
    is($given->[0], 0, 'what was given up was not done');
    is(hire('Given', headers => { 'Idempotency-Key' => 'given' })->{status}, 200,
        'under its key it is done when it is sent again');
}

# One that stands still is ended by the one that stands by.
sub replaced {
    my @writers = $stack->httpd->writers;
    kill STOP => $writers[0];
    ok(within(sub { !grep { $_ == $writers[0] } $stack->httpd->writers }) || do {
        kill CONT => $writers[0]; 0 }, 'it is ended') if $stack->engine eq 'sqlite';
    kill KILL => $writers[0];
    ok(writers_are(2), 'and replaced');
    ok(within(sub { hire('Next' . int rand 1e6)->{status} == 200 }), 'writes go on');
}

sub ended {
    my @writers = $stack->httpd->writers;
    $stack->httpd->graceful;
    ok(within(sub { my %now = map { $_ => 1 } $stack->httpd->writers;
        keys %now == 2 && !grep { $now{$_} } @writers }),
        'after a graceful restart those of before end with their children');
    is(hire('Graceful')->{status}, 200, 'and the new ones serve');
}

# Another httpd on the same store, started by the user that owns it.
sub without_root {
    my $spool = Idadmin::Test::make_layout(spool => "$stack->{base}/spool-alone");
    for my $mode ('-DFOREGROUND', '-X') {
        my $httpd = Idadmin::Test::Httpd->new(store => $stack->store, spool => $spool,
            $stack->{seal_key} ? (seal_key => $stack->{seal_key}) : (),
            user => Idadmin::Test::runtime_user(), mode => $mode, children => 2);
        my %by = (client => $httpd->client);
        is(hire('Alone' . ++our $alone, %by)->{status}, 200, "$mode: a write");
        is($stack->get_user('eva.berg@nordic.example', %by)->{status}, 200, 'and a read');
        my @lines = slurp($httpd->error_log) =~ /:notice\].*their rights are not split$/mg;
        is(scalar @lines, 1, 'one line says that rights are not split');
        my @users = map { (stat "/proc/$_")[4] } $httpd->pid, $httpd->children;
        is_deeply([grep { $_ != $users[0] } @users], [], 'of one user');
        my @writers = $httpd->writers;
        cmp_ok(scalar @writers, '>', 0, 'it has writers');
        $httpd->stop;
        ok(within(sub { !grep { -e "/proc/$_" } @writers }), 'which end with it');
    }
}

# Nothing could be written: said at the start rather than with each write.
sub not_started {
    my @cases = (['IdAdminWriterProgram /nonexistent/writer',
        qr{IDA0254: /nonexistent/writer, .* cannot be started}]);
    push @cases, ['IdAdminWriter nobody-of-that-name',
        qr/IDA0250: IdAdminWriter: there is no user nobody-of-that-name/],
        ['IdAdminWriter daemon:none-of-that-name',
        qr/IDA0250: IdAdminWriter .*: there is no group none-of-that-name/],
        ['IdAdminWriter root', qr/IDA0250: IdAdminWriter root: the writer gives up root/] if !$>;
    for my $case (@cases) {
        my ($line, $why) = @$case;
        my $httpd = Idadmin::Test::Httpd->new(store => 'sqlite3:/nonexistent/idadmin.db',
            spool => '/nonexistent', server => $line, start => 0);
        ok(!eval { $httpd->start }, "$line: it does not start");
        like($@, $why, 'and says why');
    }
}

subtest 'not started' => \&not_started;

for_each_stack {
    ($stack) = @_;
    $stack->httpd->expect_log(qr/IDA0252/, qr/exit signal Killed/, qr/IDA0235/, qr/IDA0105/);
    subtest 'killed'   => \&killed;
    subtest 'frozen'   => \&frozen;
    subtest 'replaced' => \&replaced;
    subtest 'ended'    => \&ended;
    my @writers = $stack->httpd->writers;
    $stack->httpd->stop;
    ok(within(sub { !grep { -e "/proc/$_" } @writers }), 'httpd is stopped: they end');
    subtest 'without root' => \&without_root;
} httpd => { children => 2 };
done_testing();
