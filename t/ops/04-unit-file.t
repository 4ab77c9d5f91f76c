# The worker does all of its work under the system call filter of the shipped unit file without
# being killed.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_text run_command src_dir within);
use Idadmin::Test::Cloud ();
use Idadmin::Test::Confined ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack;
use Idadmin::Test::Times qw(outcomes);
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act workflow);

my $skip = Idadmin::Test::Confined::skip_reason() || Idadmin::Test::Smtp->skip_reason
    || Idadmin::Test::Cloud->skip_reason;
plan(skip_all => $skip) if $skip;
plan(skip_all => 'instrumented programs make system calls of their own')
    if Idadmin::Test::build_config()->{sanitizers};

my $unit   = src_dir() . '/conf/idadmin-worker.service';
my @prefix = Idadmin::Test::Confined::prefix($unit);
my %set    = map { @$_ } Idadmin::Test::Confined::settings($unit);

subtest 'the filter holds' => sub {
    my $try = sub { return run_command([@prefix, $^X, '-e', @_]) };
    is($try->('print 42')->{out}, 42, 'a program runs under it');
    my %number = Idadmin::Test::Confined::_numbers();
    for my $name (qw(ptrace mount chroot setuid lchown sched_setscheduler)) {
        is($try->("syscall($number{$name}, 0, 0, 0, 0, 0)")->{signal}, 31, "$name: SIGSYS");
    }
    like($try->("use Socket; socket my \$s, 17, SOCK_RAW, 0 or print \$!")->{out},
        qr/Address family not supported/, 'no packet sockets');
    is($try->("print syscall($number{mmap}, 0, 4096, 7, 0x22, -1, 0)")->{out}, -1,
        'no memory that is written and executed');
    is($set{User}, 'idadmin', 'the unit names the worker\'s user');
    is_deeply([map { $set{$_} } qw(Group UMask NoNewPrivileges)], ['idadmin', '0007', 'yes'],
        'its group, umask and no new privileges');
};

for_each_stack {
    my ($stack) = @_;
    my ($smtp, $hook) = (Idadmin::Test::Smtp->new(auth => { user => 'identity',
        password => 'm4il-secret' }), Idadmin::Test::Webhook->new);
    unlink glob("$stack->{base}/lib/*.gate"), glob "$stack->{base}/lib/idadmin-cache.db*";
    my $worker = $stack->new_worker(under => \@prefix, options => [$smtp->options],
        env => { TZ => 'UTC' });
    my @joiner = (workflow('Joiner', 'userCreate', act(addToGroup => group => 'Finance'),
        act(sendEmail => to => '{manager}', subject => 's', body => 'b'),
        act(sendInitialPassword => to => 'first.line@nordic.example'),
        act(callWebhook => url => $hook->url('/ok'), secretFile => $hook->secret,
        allowPrivate => JSON::PP::true())));
    $stack->{worker} = $worker;
    ok($worker->log_gets(qr/started as/), 'first start') or diag $worker->log_text;
    ok(-e "$stack->{base}/lib/idadmin-cache.db.gate", 'gates and cache made')
        if $stack->engine eq 'sqlite';
    $stack->httpd->start;
    $stack->wait_synced;
    my $acme = $stack->beside_in_the_cloud;
    ok($worker->running, 'first synchronisation of both directories');
    for my $on ($stack, $acme) {
        $on->apply_tenant({ companyId => $on->{company}, workflows => \@joiner });
        my $queued = $on->post('/v1/api/user',
            { firstname => 'Åsa', surname => 'Öberg', manager => 'anna.lind@' . $on->domain,
            ($on == $acme ? (country => 'SE') : ()) });
        is($queued->{status}, 200, "$on->{company}: queued") or diag $queued->{body};
        my $task = $on->wait_task($queued->{json}{data}{taskId});
        is_deeply([grep { !/^(?:done|skipped|already)$/ } values %{ outcomes($task) }], [],
            'a creation with mail, password and webhook') or diag json_text($task);
        my $left = $on->delete('/v1/api/user',
            { userPrincipalName => $queued->{json}{data}{userPrincipalName}, time => '00:00' });
        $on->wait_task($left->{json}{data}{taskId});
        $on->ctl_ok('cache', 'reset', $on->{company});
        $on->ctl_ok('sync', $on->{company}, '--wait');
        $on->wait_synced;
        ok($worker->running, 'offboarding, cache rebuilt');
        my $check = $worker->run('--check', $on->{company});
        is($check->{signal}, 0, '--check') or diag $check->{out};
        like($check->{out}, qr/^tenant $on->{company}.*directory /s, 'and its report');
    }
    is(scalar(my @mails = $smtp->mail), 4, 'four mails arrived');
    is(scalar(my @calls = $hook->calls('/ok')), 2, 'two calls of the webhook');
    $worker->signal('HUP');
    ok($worker->log_gets(qr/configuration was read again/), 'a reload');
    is($worker->stop, 0, 'a clean end');
    # A service that runs may be calling a directory just now, which --once would show in its
    # status; one that has ended cleanly has released its leases.
    my $once = $worker->run('--once');
    is($once->{exit}, 0, '--once') or diag $once->{err}, " signal $once->{signal}";
    delete $stack->{worker};
    $acme->cloud->stop;
} worker => 0, httpd => { start => 0 };

done_testing();
