# Mails to a mail server that accepts connections and does not answer wait without occupying a
# thread each, after the first ones have timed out, and other work continues; when it answers again
# every mail is sent once.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(on_one_engine within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack ();
use IO::Socket::INET ();

my $skip = Idadmin::Test::Smtp->skip_reason;
plan(skip_all => $skip) if $skip;

my $count   = 10;
my $threads = 2;
on_one_engine {
    my ($engine) = @_;
    my $smtp    = Idadmin::Test::Smtp->new(tls => '', start => 0);
    my $mute    = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $smtp->{port},
        Proto => 'tcp', Listen => 64, ReuseAddr => 1, Blocking => 0) or die "$!\n";
    my $fault   = Idadmin::Test::Fault->new('idadmin-worker');
    my $stack   = Idadmin::Test::Stack->new(
        engine => $engine,
        worker => { env => $fault->env, options => ['--threads', $threads,
        $smtp->options(from => 'identity@nordic.example')] },
        tenant => { workflows => [{ name => 'Hello', trigger => 'userCreate',
        actions => [{ type => 'sendEmail', to => '{userPrincipalName}', subject => 'Hello',
        body => 'Hello' }] }] });
    my (@held, @tasks);
    my $connections = sub {
        while (my $one = $mute->accept) { push @held, $one }
        return scalar @held;
    };

    for my $n (1 .. $count) {
        my $answer = $stack->post('/v1/api/user', { firstname => 'Silent', surname => "Number$n" });
        is($answer->{status}, 200, "joiner $n is queued");
        push @tasks, $answer->{json}{data};
    }
    ok(within(sub { $connections->() >= $threads }), 'each thread waits for an answer');
    $fault->leap(30);
    ok($stack->worker->log_gets(qr/IDA0326/), 'the silence is told');
    # IDA0414: minutes later for the worker httpd still writes the segment of now.
    $stack->worker->expect_log(qr/IDA0326/, qr/IDA0414/);
    my $waits = sub { grep { ($stack->task($_->{taskId})->{error}
        // '') =~ /Waits for the mail server, which did not answer/ } @tasks };
    ok(within(sub { $connections->(); $waits->() >= $count - 2 * $threads - 1 }),
        'those who did not find out themselves wait, and say for what');
    is_deeply([grep { $_->{state} ne 'queued' && $_->{state} ne 'running' }
        map { $stack->task($_->{taskId}) } @tasks], [], 'nothing is said to be done or failed');
    is_deeply([grep { $_->{attempts} > 2 } map { $stack->task($_->{taskId}) } @tasks], [],
        'waiting is not counted as trying');
    cmp_ok($connections->(), '<=', 2 * $threads + 2,
        'only some tried: the threads that were there, and one now and then');
    my $update = $stack->call('PATCH', '/v1/api/user',
        json => { userPrincipalName => "sten.vik\@$Idadmin::Test::Slapd::domain",
        jobTitle => 'Tester' });
    is($stack->wait_task($update->{json}{data}{taskId})->{state}, 'done',
        'other work is not kept waiting');

    close $_ for @held, $mute;
    $smtp->start;
    # The time of the next try comes for each.
    my $ahead = 0;
    within(sub { $fault->step($ahead += 10);
        !grep { $stack->task($_->{taskId})->{state} ne 'done' } @tasks });
    is($stack->wait_task($_->{taskId})->{state}, 'done', "$_->{userPrincipalName}: done")
        for @tasks;
    is_deeply([sort map { $_->{to}[0] } $smtp->mail], [sort map { $_->{userPrincipalName} } @tasks],
        'every mail went out once');
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
    $smtp->stop;
} 'the store does not matter here';
done_testing();
