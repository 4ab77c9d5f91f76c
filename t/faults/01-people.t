# A worker is killed at any of its writes, sends, fsyncs, renames and unlinks, before or after the
# call, or before, within or after one of its commits, as a service or its working process alone,
# during a person's life: hired, changed, offboarded, hired again, while the directory is
# synchronised and audit records are ingested; or its disk is full or read-only for a while.
# Everything is completed: nothing lost, nothing done twice, counts right, the audit chain whole,
# and the log reports the death once.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine json_text parameter slurp within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Mirror qw(cache_of ldap_truth same_in_both);
use Idadmin::Test::Stack ();
use Idadmin::Test::Workflows qw(act workflow);
use Time::HiRes ();

my $rounds = parameter(rounds => 6);     # on each engine
my $seed   = parameter(seed => 7);
my $domain = $Idadmin::Test::Slapd::domain;
my $people = $Idadmin::Test::Slapd::people;
my @groups = ('Engineering', 'Finance');
diag("IDADMIN_PARAMETERS='rounds=$rounds seed=$seed'");

my ($stack, $fault, $worker, $journal, %total, %tally);
# What a round may die of: [a call of these kinds, how]. A third of all are commits.
my @ways = ((map { [any => $_] } qw(before after before after ENOSPC EROFS)),
    (map { [commit => $_] } qw(before within after)));

# What happened to an entry in the directory, by its own record: [changetype, DN, lines].
sub journal {
    my ($after) = @_;
    my @made;
    for my $text (split /\n\n/, substr slurp($journal), $after // 0) {
        $text =~ s/\n //g;
        my ($dn) = $text =~ /^dn: (.*)$/m or next;
        my ($how) = $text =~ /^changetype: (\w+)$/m or next;
        push @made, [$how, $dn, $text];
    }
    return @made;
}

# A name of letters alone.
sub letters { my ($n) = @_; my $text = '';
    do { $text = chr(97 + $n % 26) . $text; $n = int $n / 26 } while $n; return "x$text" }

# Each begins a piece of work and returns the task to wait for, if there is one.
my %begin = (
    hire => sub { my ($p) = @_;
        return $stack->post('/v1/api/user', { firstname => $p->{name}, surname => 'Fault',
        employeeId => $p->{name}, manager => "eva.berg\@$domain" }) },
    change => sub { my ($p) = @_;
        return $stack->call(PATCH => '/v1/api/user',
        json => { userPrincipalName => $p->{upn}, city => "City $p->{name}" }) },
    leave => sub { my ($p) = @_;
        return $stack->delete('/v1/api/user', { userPrincipalName => $p->{upn},
        time => '00:00' }) },
    rehire => sub { my ($p) = @_;
        return $stack->post('/v1/api/user', { firstname => $p->{name}, surname => 'Fault',
        employeeId => $p->{name}, rehire => 'restore' }) },
    sync => sub { my ($p) = @_;
        $stack->slapd->modify("dn: uid=$p->{uid},$people\nchangetype: modify\nreplace: title\n"
        . "title: Synced $p->{name}\n");
        $stack->ctl_ok('sync', 'nordic');
        return },
    ingest => sub { read_user("eva.berg\@$domain") for 1 .. 30; return },
);

my %ended = (
    sync => sub { my ($p) = @_;
        my $answer = read_user($p->{upn});
        return ($answer->{json}{data}{user}{jobTitle} // '') eq "Synced $p->{name}" },
    ingest => sub {
        return recorded('user.get') >= $tally{reads} },
);

sub read_user {
    my ($upn) = @_;
    my $answer = $stack->get_user($upn);
    $answer->{status} == 200 or die "$upn: $answer->{status} $answer->{body}\n";
    $tally{reads}++;
    return $answer;
}

# How many requests the audit knows of.
sub recorded {
    my $actions = join ', ', map {"'$_'"} @_;
    my ($row) = $stack->sql("SELECT count(*) FROM audit.record WHERE action IN ($actions) "
        . "AND category = 'api' AND outcome = 'ok'");
    return $row->[0];
}

sub task_state { my ($id) = @_;
    my ($row) = $stack->sql("SELECT state FROM task WHERE id = '$id'"); return $row->[0] // 'lost' }

sub deaths_told { return scalar(() = $worker->log_text =~ /IDA0335/g) }

# A synchronisation to its end. What a dead worker had leased may still stand.
sub synchronise {
    return $fault->within_leases(
        sub { !$stack->ctl('sync', 'nordic', '--wait', '--timeout', '5s')->{exit} });
}

# One piece of work, with the worker killed at its Nth call: true when it came to its end.
sub play {
    my ($what, $person, $kind, $at, $how, $whole) = @_;
    my $text = "$what of $person->{name}, killed "
        . ($at ? "$how " . ($kind eq 'any' ? 'call' : $kind) . " $at" : 'never')
        . ($whole ? ' with its service' : '');
    my $refused = $how =~ /^E/;    # of a run of writes; the disk has room again behind it
    my $said = deaths_told();
    $fault->arm(at => $refused ? int $at / 3 : $at, how => $how, whole => $whole,
        $refused ? (times => 1 + int rand 9) : (), $kind eq 'any' ? () : (kinds => [$kind]));
    my $answer = $begin{$what}->($person);
    my $id;
    if (ref $answer) {
        $answer->{status} == 200 or return fail("$text: " . $answer->{body});
        $id = $answer->{json}{data}{taskId};
        $person->{upn} //= $answer->{json}{data}{userPrincipalName};
        ($person->{uid}) = $person->{upn} =~ /^(.*)\@/;
    }
    my $over = sub { return $id ? task_state($id) eq 'done' : $ended{$what}->($person) };
    my $done;
    within(sub { !$refused && $fault->happened || ($done = $over->()) });
    $fault->disarm;    # before it is asked what happened: it may have, just now
    my $killed = $fault->happened && !$refused;
    $tally{refused}++ if $fault->happened && $refused;
    # A process that has warmed up makes fewer calls.
    $total{$what}{$kind} = $fault->count if $kind eq 'any' && !$refused && !$fault->happened;
    $total{$what}{commit} = $fault->commits if !$fault->happened;
    my ($state, $since) = ($id ? task_state($id) : '-', Time::HiRes::time());
    if ($killed) {
        $person->{killed}++;
        $tally{ $kind eq 'any' ? 'kills' : "kills $how a commit" }++;
        if ($whole) {
            $worker->stop;
            $worker->start;
        }
        $done = $fault->within_leases($over);
        $tally{slowest} = Time::HiRes::time() - $since
            if Time::HiRes::time() - $since > ($tally{slowest} // 0);
    }
    elsif (!$fault->happened) { $tally{survived}++ }
    $done ||= within($over) if $refused;
    $tally{$what}++;
    # Killed as a whole service, no process is left to log it.
    my $deaths = $killed && !$whole ? 1 : 0;
    within(sub { deaths_told() == $said + $deaths })
        or return fail("$text: its death is told " . (deaths_told() - $said) . ' times');
    # A directory in whose work two processes die in a row is left alone, as it may have killed
    # both: some work in it has ended before the next is killed.
    $deaths && $done && !synchronise() and return fail("$text: synchronised behind it");
    return 1 if $done;
    diag("$text: was $state, is " . ($id ? json_text($stack->task($id)) : 'not over') . "\n"
        . ($worker->running ? '' : "the worker does not run\n") . substr $worker->log_text, -3000);
    return fail("$text comes to its end");
}

# The directory's record of one life.
sub once_each {
    my ($p) = @_;
    my @made = grep { $_->[2] =~ /uid=\Q$p->{uid}\E,/ } journal();
    my @adds = grep { $_->[0] eq 'add' } @made;
    my %count;
    for my $made (grep { $_->[0] eq 'modify' } @made) {
        while ($made->[2] =~ /^(add|delete|replace): (\w+)\n(?:\w+:+ (.*)\n)?/mg) {
            my ($how, $name, $value) = ($1, $2, $3 // '');
            my $group = $made->[1] =~ /^cn=(.*?),/ ? " of $1" : '';
            $count{"$how $name$group $value"}++
                if $name =~ /^(?:member|l|manager|pwdAccountLockedTime)$/;
        }
    }
    my @wrong;
    push @wrong, scalar(@adds) . ' adds' if @adds != 1;
    # A member again after the return. What a worker sent just before its death may be carried out
    # behind the look of the next one, which then sets the same value again.
    my $again = 1 + ($p->{killed} // 0);
    push @wrong, map {"$_: $count{$_} times"}
        grep { $count{$_} > (/^add member/ ? 2 : /^replace/ ? $again : 1) } sort keys %count;
    return @wrong;
}

sub all_right {
    my (@lives) = @_;
    my @doubled = map { my $p = $_; map {"$p->{name}: $_"} once_each($p) } @lives;
    is_deeply(\@doubled, [], 'nothing was done twice in the directory');
    my %members = map { $_ => join ' ', $stack->slapd->members($_) } @groups;
    my @lost;
    for my $p (@lives) {
        my $entry = $stack->slapd->user($p->{uid});
        push @lost, "$p->{name} has no entry" and next if !$entry;
        push @lost, "$p->{name} is disabled" if $entry->{pwdaccountlockedtime};
        push @lost, "$p->{name} has no manager" if !$entry->{manager};
        push @lost, "$p->{name} lives in " . ($entry->{l}[0] // 'no city')
            if ($entry->{l}[0] // '') ne "City $p->{name}";
        push @lost, map {"$p->{name} is not in $_"} grep { $members{$_} !~ /uid=\Q$p->{uid}\E,/ }
            @groups;
    }
    is_deeply(\@lost, [], 'nothing was lost');
    my ($held) = $stack->sql("SELECT (SELECT count(*) FROM user_lock), "
        . "(SELECT count(*) FROM reservation), (SELECT coalesce(sum(seats_held), 0) FROM tenant), "
        . "(SELECT count(*) FROM task WHERE state <> 'done')");
    is_deeply($held, ['0', '0', '0', '0'], 'no lock, name or seat is held, no task is open')
        or diag("@$held");
    my ($tasks) = $stack->sql('SELECT count(*) FROM task');
    my ($writes, $reads) = (0, 0);
    within(sub {
        ($writes, $reads) = (recorded(map {"user.$_"} qw(create update delete)),
            recorded('user.get'));
        $writes == $tasks->[0] && $reads == $tally{reads} });
    is_deeply([$writes, $reads], [$tasks->[0], $tally{reads}], 'one audit record a request');
    my $verify = $stack->ctl('audit', 'verify', 'nordic');
    is($verify->{exit}, 0, 'the audit chain is whole') or diag($verify->{out}, $verify->{err});
    ok(synchronise(), 'synchronised');
    same_in_both(ldap_truth($stack->slapd), cache_of($stack, 'onPremises'), 'in the end');
}

# The store refuses for a while to release the lease of a synchronisation: the worker that holds it
# continues as soon as it can.
sub own_lease {
    my $lease = sub { my ($row) = $stack->sql(
        "SELECT sync_owner, sync_fence FROM directory_state WHERE directory = 'onPremises'");
        return @$row };
    $worker->expect_log(qr/IDA01\d\d.*directory_sync_release/);
    my $allow = $stack->refuse('directory_state', 'NEW.sync_owner IS NULL');
    my $asked = $worker->log_text;
    my ($owner, $fence);
    ok(within(sub { ($owner, $fence) = $lease->(); $owner
        && length $worker->log_text > length $asked }), 'a lease was not given back')
        or diag("$owner, $fence");
    $allow->();
    # Far below the 60 s that another's would be left alone.
    ok(within(sub { my ($name, $now) = $lease->(); !$name && $now > $fence }),
        'its own worker takes it back at once') or diag(join ' ', map { $_ // '-' } $lease->());
}

for_each_engine {
    my ($engine) = @_;
    srand $seed;
    %total = %tally = ();
    $fault   = Idadmin::Test::Fault->new('idadmin-worker');
    $journal = Idadmin::Test::tempdir() . "/journal.$engine";
    $stack   = Idadmin::Test::Stack->new(engine => $engine,
        slapd => { global => "moduleload auditlog\n",
        conf => "overlay auditlog\nauditlog $journal\n" },
        tenant => { workflows => [workflow('Joiner', 'userCreate',
        map { act(addToGroup => group => $_) } @groups)] },
        worker => { env => $fault->env });
    $worker = $stack->worker;
    # The clock leaps over the leases of a synchronisation and of a task that the next process has
    # begun at once.
    $worker->expect_log(qr/IDA0323/, qr/IDA0335.*signal 9/, qr/IDA0503.*: stopped/,
        qr/IDA03(?:00|10|13|25)/);
    # what a disk that is full or read-only brings about, and a death in the middle
    $worker->expect_log(qr/disk is full|disk I\/O|readonly|No space|Read-only/,
        Idadmin::Test::store_needed(), qr/IDA0(?:315|321)/);
    $tally{reads} = 1;    # the stack's own, when the first synchronisation was complete
    my $life = 0;
    my (@lives, $begun);
    # A worker on PostgreSQL writes next to nothing to a disk of its own.
    my @possible = grep { $engine eq 'sqlite' || $_->[1] !~ /^E/ } @ways;
    my @course = qw(hire change sync ingest leave rehire);
    my $round = 0;
    $begun = Time::HiRes::time();
    LIFE: while ($round < $rounds || $life < 2) {
        my $person = { name => letters($life) };
        push @lives, $person;
        for my $what (@course) {
            # The first life goes by undisturbed: its calls are counted.
            my ($kind, $how) = $life ? @{ $possible[rand @possible] } : ('any', 'before');
            my $at = $life ? 1 + int rand($total{$what}{$kind} || 1) : 0;
            play($what, $person, $kind, $at, $how, int rand 2) or last LIFE;
            $round++ if $life;
        }
        $life++;
    }
    note(sprintf '%.1f s a round', (Time::HiRes::time() - $begun) / ($round || 1));
    note(join ', ', map {"$_: $total{$_}{any} calls, $total{$_}{commit} commits"} sort keys %total);
    note(join ', ', map {"$_ $tally{$_}"} sort keys %tally);
    all_right(@lives);
    own_lease();
    is($worker->stop, 0, 'the worker ends cleanly');
    $stack->stop;
};

done_testing();
