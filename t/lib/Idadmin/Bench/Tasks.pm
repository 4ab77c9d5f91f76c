package Idadmin::Bench::Tasks;
# The part tasks: creations due at one time, and spread over a minute, in a directory without
# pacing. How late each is done, and the total compared with a bare client that sends the same
# writes to the same slapd over as many connections (t/tool/accounts.c): the directory's own time on
# this machine.
use strict;
use warnings;
use Idadmin::Bench qw(engine processor_ms setting);
use Idadmin::Test qw(build_dir in_parallel run_command json_data secret_file tempdir within);
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall);
use Time::HiRes ();

my $count   = setting(TASKS => 1000);
my $rounds  = setting(TASK_ROUNDS => 3);
my $spread  = setting(TASK_SPREAD => 60);
my $threads = setting(TASK_THREADS => 8);

# What works for a task, by name: its process.
sub processes {
    my ($stack) = @_;
    return (worker => $stack->worker->pid, slapd => $stack->slapd->{pid}, $stack->{postgresql}
        ? (PostgreSQL => $stack->{postgresql}{pid}) : ());
}

# By kind: what the server has completed.
sub operations {
    my ($stack) = @_;
    return map { lc($_->{cn}[0]) =>
        $_->{monitoropcompleted}[0] } $stack->slapd->search('(objectClass=monitorOperation)',
        base => 'cn=Operations,cn=Monitor',
        bind => ['cn=config', Idadmin::Test::Slapd::admin_password()]);
}

sub at_percent { my ($part, @sorted) = @_; return $sorted[int(@sorted * $part / 100 + 0.999) - 1] }

# Queued for tomorrow, then moved to the near future: the creator is not measured. Returns ms after
# each one's instant at which it was done, sorted, and ms after the first instant at which all were.
sub play {
    my ($stack, $name, $seconds, %person) = @_;
    my ($date, $time) = wall(time + 86_400);
    my @refused = map {@$_} in_parallel(4, sub {
        my ($part) = @_;
        return [grep { $_ != 200 }
            map { $stack->post('/v1/api/user',
            { firstname => $name, surname => "Number$_", jobTitle => 'Clerk', date => $date,
            time => $time, %person })->{status} }
                grep { $_ % 4 == $part } 0 .. $count - 1];
    });
    die "creations were answered with @refused" if @refused;
    my $due = int(Time::HiRes::time() * 1000) + 3000;
    my $step = int($seconds * 1000 / $count);
    $stack->sql("UPDATE task SET due_at = $due + o.n * $step, next_at = $due + o.n * $step, "
        . "wall_fixed = 0 FROM"
            . " (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM task WHERE state = "
                . "'queued') o WHERE o.id = task.id");
    die 'the tasks were not queued in time' if Time::HiRes::time() * 1000 >= $due;
    my %pid = processes($stack);
    my %busy = map { ($_ => -processor_ms($pid{$_})) } keys %pid;
    my %before = operations($stack);
    # A look is a process and a session of its own: few of them.
    within(sub { Time::HiRes::sleep(0.5);
        return !grep { $_->[0] } $stack->sql("SELECT count(*) FROM task WHERE state <> 'done'") })
        or die 'not all are done: ' . $stack->worker->log_text;
    $busy{$_} += processor_ms($pid{$_}) for keys %pid;
    my %after = operations($stack);
    my @late = sort { $a <=> $b }
        map { $_->[0] } $stack->sql("SELECT finished_at - due_at FROM task WHERE due_at >= $due");
    my ($all) = map {
        $_->[0] - $due } $stack->sql("SELECT max(finished_at) FROM task WHERE due_at >= $due");
    printf "# %-8s processor, ms a task: %s; LDAP operations a task: %s\n", $name,
        join(', ', map { sprintf '%s %.2f', $_, $busy{$_} / $count } sort keys %busy),
        join ', ', map { sprintf '%s %.2f', $_, ($after{$_} - $before{$_}) / $count }
        grep { $after{$_} - $before{$_} >= $count / 10 } sort keys %after;
    return (\@late, $all);
}

sub bare {
    my ($stack, $name, $manager, $group) = @_;
    my $before = processor_ms($stack->slapd->{pid});
    my $run = run_command([build_dir() . '/tool/accounts', $stack->slapd->ldaps_url,
        $stack->slapd->ca_file, $Idadmin::Test::Slapd::service,
            secret_file(tempdir() . '/bare.password',
            Idadmin::Test::Slapd::service_password() . "\n"), $Idadmin::Test::Slapd::people,
            $Idadmin::Test::Slapd::domain, $name, $count, $threads,
            $manager, $group], env => { LDAPNOINIT => 1 });
    die "accounts: $run->{err}" if $run->{exit};
    my $figures = json_data($run->{out});
    printf "# %-8s processor, ms an account: slapd %.2f\n", $name,
        (processor_ms($stack->slapd->{pid}) - $before) / $count;
    return $figures;
}

sub say_late {
    my ($what, $late, $all) = @_;
    printf "%-52s p50 %.0f, p99 %.0f, last %.0f ms after their instants%s\n", $what,
        at_percent(50, @$late), at_percent(99, @$late), $late->[-1],
        $all ? sprintf('; all done after %.2f s', $all / 1000) : '';
}

sub tasks {
    my ($part) = @_;
    my $engine = engine();
    my $group  = { active => JSON::PP::true(), trigger => 'userCreate', name => 'Joiner',
        actions => [{ type => 'addToGroup', group => 'Engineering' }] };
    for my $kind (
        { name => 'add and password', person => {}, bare => ['-', '-'] },
        { name => 'with manager and a group',
        person => { manager => "eva.berg\@$Idadmin::Test::Slapd::domain" }, workflows => [$group],
            bare => [Idadmin::Test::Slapd::user_dn('eva.berg'),
            Idadmin::Test::Slapd::group_dn('Sales team')] },
    ) {
        my $stack = Idadmin::Test::Stack->new(engine => $engine, worker => 0,
            slapd => { global => "database monitor\n" });
        $stack->apply_tenant($stack->tenant_document(workflows => $kind->{workflows} // [],
            directories => { onPremises => $stack->directory_document(syncInterval => '60s') }));
        $stack->{worker} = $stack->new_worker(options => ['--threads', $threads]);
        $stack->wait_synced;
        my @pairs;
        for my $round (1 .. $rounds) {
            my $floor = bare($stack, "Bare$round", @{ $kind->{bare} });
            my ($late, $all) = play($stack, "Ours$round", 0, %{ $kind->{person} });
            push @pairs, [$all / 1000, $floor->{seconds}];
            say_late("$engine: $count at one instant, $kind->{name}", $late, $all);
            printf "%-52s p50 %.0f, p99 %.0f, last %.0f ms\n", '  the bare client', $floor->{p50},
                $floor->{p99}, $floor->{seconds} * 1000;
        }
        $part->ratio("$engine: $count creations, $kind->{name} (s)", \@pairs);
        say_late("$engine: $count within $spread s, $kind->{name}",
            (play($stack, 'Spread', $spread, %{ $kind->{person} }))[0]) if $spread;
        $stack->worker->stop;
        $stack->stop;
    }
    return;
}

1;
