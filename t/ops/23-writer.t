# The writer, killed under load and during graceful restarts, loses no acknowledged write and does
# none twice. A frozen writer causes 503, reads continue, and a write whose client got 503 is not
# done after thawing. Without root httpd logs that rights are not split; without a writer it does
# not start.
use strict;
use warnings;
use utf8;
use Socket ();
use Test::More;
use Idadmin::Test qw(in_parallel parameter slurp within);
use Idadmin::Test::Httpd ();
use Idadmin::Test::Stack;

my $kills = parameter(kills => 12);
my $stack;

sub hire { my ($name, %how) = @_;
    return $stack->post('/v1/api/user', { firstname => $name, surname => 'Skriv',
        date => '2031-03-03' }, %how) }

# A hire under an Idempotency-Key, sent until it is answered with 200: the answer is what happened.
sub insist {
    my ($name, $answers) = @_;
    my $client;
    return within(sub {
        my $answer = eval {
            $client //= $stack->httpd->client;
            hire($name, client => $client, headers => { 'Idempotency-Key' => $name });
        };
        my $status = ($answer && $answer->{status}) || 'closed';
        $client = undef if $status eq 'closed';    # by a graceful restart, perhaps in a head
        $answers->{$status}++;
        push @{ $answers->{odd} }, $answer->{body} if $status !~ /^(?:200|503|closed)$/;
        push @{ $answers->{tasks} }, $answer->{json}{data}{taskId} if $status eq '200';
        $status eq '200' });
}

sub tasks { return map { $_->[0] } $stack->sql("SELECT id FROM task WHERE upn LIKE 'w%.skriv%'") }

# After every few hires one of the two writers is killed; the load ends with the last kill, which a
# file marks.
sub killed {
    my $stop = Idadmin::Test::tempdir() . '/stop.' . $stack->engine;
    my $killer = fork // die "fork: $!";
    if (!$killer) {
        for my $kill (1 .. $kills) {
            my $before = tasks();
            within(sub { tasks() >= $before + 3 });
            my @writers = $stack->httpd->writers;
            kill KILL => $writers[$kill % @writers] if @writers;
            kill USR1 => $stack->httpd->pid if $kill % 4 == 0;
        }
        Idadmin::Test::spew($stop, '');
        POSIX::_exit(0);
    }
    my @answers = in_parallel(4, sub { my ($worker) = @_;
        my %answers = (asked => 0);
        insist(sprintf('W%dn%d', $worker, ++$answers{asked}), \%answers) while !-e $stop;
        return \%answers });
    waitpid $killer, 0;
    my @tasks = map { @{ $_->{tasks} // [] } } @answers;
    my %sum;
    for my $one (@answers) { $sum{$_} += $one->{$_} for grep {/^(?:\d+|closed|asked)$/} keys %$one }
    note(join ', ', map {"$_: $sum{$_}"} sort keys %sum);
    is_deeply([map { @{ $_->{odd} // [] } } @answers], [], 'each answer is a 200 or a 503');
    is(scalar @tasks, $sum{asked}, 'each request was answered with 200 in the end: ' . @tasks);
    my %once = map { $_ => 1 } @tasks;
    is(scalar keys %once, scalar @tasks, 'each with a task of its own');
    is_deeply([sort(tasks())], [sort @tasks], 'which are the tasks that there are');
    ok(within(sub { my ($of) = $stack->sql("SELECT count(*) FROM audit.record WHERE action = "
        . "'user.create' AND target LIKE 'w%.skriv%' AND outcome = 'ok'");
        $of->[0] == @tasks }), 'and one record each');
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole');
}

sub writers_are { my ($count) = @_;
    return within(sub { my @now = $stack->httpd->writers; @now == $count }) }

# The one that serves is stopped: the caller gets 503 after some seconds, others read meanwhile, and
# what was given up is not there when it moves again.
sub frozen {
    ok(writers_are(2), 'one serves, one stands by');
    my @writers = $stack->httpd->writers;
    kill STOP => @writers;    # both: none takes over
    within(sub { Idadmin::Test::stands_still(@writers) });
    is(hire('Given', headers => { 'Idempotency-Key' => 'given' })->{status}, 503,
        'a write is given up');
    is($stack->get_user('eva.berg@nordic.example')->{status}, 200, 'reads go on');
    is($stack->post('/v1/api/user', { firstName => 'Given' })->{status}, 400,
        'a faulty body is refused without a writer');
    kill CONT => @writers;
    # (One that stood still for ten seconds is replaced, with what was handed to it.)
    ok(within(sub { hire('After' . ++our $number)->{status} == 200 }),
        'and writes when it moves again');
    my ($given) = $stack->sql("SELECT count(*) FROM task WHERE upn LIKE 'given.%'");
    is($given->[0], 0, 'what was given up was not done');
    ok(within(sub {
        hire('Given', headers => { 'Idempotency-Key' => 'given' })->{status} == 200 }),
        'under its key it is done when it is sent again');
}

# A stopped one is ended by the standby.
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

# As many as companies with administrators of their own have.
my $rules = join '', map {"    IdAdminConsoleRole viewer company$_ \"false\"\n"} 1 .. 2700;

for_each_stack {
    ($stack) = @_;
    $stack->create_key(full => 'load', 'full', '--rate-limit', '1000000/60s');
    $stack->httpd->expect_log(qr/IDA0252/, qr/exit signal Killed/, qr/IDA0235/, qr/IDA0105/);
    subtest 'killed'   => \&killed;
    subtest 'frozen'   => \&frozen;
    subtest 'replaced' => \&replaced;
    subtest 'ended'    => \&ended;
    my @writers = $stack->httpd->writers;
    $stack->httpd->stop;
    ok(within(sub { !grep { -e "/proc/$_" } @writers }), 'httpd is stopped: they end');
    subtest 'without root' => \&without_root;
} httpd => { children => 2, console => $rules };
done_testing();
