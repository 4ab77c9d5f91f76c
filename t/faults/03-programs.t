# httpd's children, idadminctl and a worker over a restored store are killed at any of their writes
# or commits, or the disk is full or read-only at one: answered requests are durable, unanswered
# ones are complete or absent, and the same request or command succeeds when repeated.
use strict;
use warnings;
use Test::More;
use File::Basename qw(basename);
use Idadmin::Test qw(for_each_engine json_text parameter run_command within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Stack ();

my $rounds = parameter(rounds => 4);    # of each kind, on each engine
my $seed   = parameter(seed => 7);
my $domain = $Idadmin::Test::Slapd::domain;
my @ways   = qw(before after ENOSPC EROFS);
my @commit = qw(before within after);
diag("IDADMIN_PARAMETERS='rounds=$rounds seed=$seed'");

# Evenly over all calls that the fault has counted and over all commits, each time another way:
# [what it is in words, what to arm].
sub points {
    my ($fault) = @_;
    my ($calls, $commits) = ($fault->count, $fault->commits);
    my $half = $rounds < @commit * 2 ? @commit : int(($rounds + 1) / 2);
    my @points = map { [$ways[$_ % @ways], 'call', 1 + int(($_ + rand) * $calls / $rounds)] }
        0 .. $rounds - 1;
    push @points, map { [$commit[$_ % @commit], 'commit', 1 + int(($_ + rand) * $commits / $half)] }
        0 .. $half - 1 if $commits;
    return map { my ($how, $what, $at) = @$_;
        ["$how of $what $at", { at => $at, how => $how,
        $what eq 'commit' ? (kinds => ['commit']) : () }] } @points;
}

# --- httpd

sub hire {
    my ($stack, $name) = @_;
    my $client = $stack->httpd->client;
    my $answer = eval { $stack->post('/v1/api/user', { firstname => $name, surname => 'Child',
        employeeId => $name }, client => $client, headers => { 'Idempotency-Key' => $name }) };
    return $answer ? $answer->{status} : 0;
}

sub children_die {
    my ($stack, $fault) = @_;
    my ($sent, $answered, @wrong, %seen) = (0, 0);
    my $read = sub { $sent++; my $answer = eval { $stack->get_user("eva.berg\@$domain",
        client => $stack->httpd->client) };
        $answered++ if $answer && $answer->{status} == 200 };
    $stack->worker->stop;
    $fault->spare($stack->httpd->pid);    # the parent, which logs that its children die
    $fault->arm;
    hire($stack, 'counted');
    $read->();
    my $total = $fault->count . ' calls, ' . $fault->commits . ' commits';
    my $n = 0;
    for my $point (points($fault)) {
        my ($words, $plan) = @$point;
        my $name = 'c' . join '', map { chr 97 + $_ } split //, ++$n;
        $fault->arm(%$plan);
        my @got = hire($stack, $name);
        $read->();
        my $died = $fault->happened && $plan->{how} !~ /^E/;
        $fault->disarm;
        within(sub { $got[-1] == 200 || ($got[-1] = hire($stack, $name)) == 200 })
            or push @wrong, "$name after $words: @got";
        $seen{$died ? 'killed' : $fault->happened ? 'refused' : 'missed'}++;
        my ($tasks) = $stack->sql("SELECT count(*) FROM task t JOIN task_payload p ON p.task_id = "
            . "t.id WHERE p.payload LIKE '%\"$name\"%'");
        push @wrong, "$name: $tasks->[0] tasks after $words" if $tasks->[0] != 1;
    }
    note("httpd, $total: ", join ', ', map {"$_ $seen{$_}"} sort keys %seen);
    is_deeply(\@wrong, [], 'a hire that is sent until it is answered is queued once');
    $stack->worker->start;
    ok(within(sub { my ($row) =
        $stack->sql("SELECT count(*) FROM task WHERE state <> 'done'"); !$row->[0] }),
        'and all are carried out');
    my ($creates, $reads);
    within(sub {
        ($creates) = map { $_->[0] } $stack->sql("SELECT count(*) FROM audit.record WHERE "
            . "action = 'user.create' AND category = 'api' AND outcome = 'ok'");
        ($reads) = map { $_->[0] - 1 } $stack->sql(    # the stack's own
           
            "SELECT count(*) FROM audit.record WHERE action = 'user.get' AND outcome = 'ok'");
        $creates >= $n + 1 && $reads >= $answered });
    # Under its key a second request is answered from the first: recorded as what it is.
    cmp_ok($creates, '>=', $n + 1, 'each hire is in the audit');
    cmp_ok($reads, '>=', $answered, 'and every read that was answered');
    cmp_ok($reads, '<=', $sent, 'none twice');
    my ($held) = $stack->sql('SELECT (SELECT count(*) FROM reservation), '
        . '(SELECT coalesce(sum(seats_held), 0) FROM tenant)');
    is_deeply($held, ['0', '0'], 'no name or seat is left behind');
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole');
}

# --- idadminctl

sub with_fault { my ($stack, $fault, @command) = @_;
    return $stack->ctl(@command, { program => $fault->{program}, env => $fault->env }) }

sub apply_dies {
    my ($stack, $fault) = @_;
    my $document = sub { json_text({ companyId => 'nordic', name => $_[0] }) };
    my $apply = sub { my ($name, $env) = @_; return $stack->ctl('tenant', 'apply', '-',
        { stdin => $document->($name), $env ? (env => $fault->env) : () }) };
    my $name = sub { return $stack->ctl_ok('tenant', 'show', 'nordic')->{name} };
    $fault->arm;
    is($apply->('Counted', 1)->{exit}, 0, 'a document is applied');
    my $total = $fault->count;
    my ($old, $n, @wrong) = ('Counted', 0);
    for my $point (points($fault)) {
        my ($words, $plan) = @$point;
        my $new = 'Name ' . ++$n;
        $fault->arm(%$plan);
        my $result = $apply->($new, 1);
        $fault->disarm;
        my $is = $name->();
        push @wrong, "$words: is $is" if $is ne $new && $is ne $old
            || !$result->{exit} && !$result->{signal} && $is ne $new;
        my $again = $apply->($new);
        push @wrong, "$words, again: $again->{err}" if $again->{exit};
        push @wrong, "$words, again: is " . $name->() if $name->() ne $new;
        $old = $new;
    }
    is_deeply(\@wrong, [], "a document is the old or the new one ($total calls)");
    my $check = $stack->worker->run('--check', 'nordic');
    like($check->{out}, qr/ok    settings: sealed by idadminctl/, 'and is sealed');
}

# A store of this version with a few rows, to be upgraded by the program of a made-up next one.
my $rows = "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) VALUES "
    . "('t', '{}', '', 1, 0, 0); INSERT INTO task (id, tenant_id, type, state, directory, person, "
    . "upn, wall_date, wall_time, zone, due_at, next_at, created_at, username) VALUES " . join(', ',
    map {"('$_', 't', 'userDelete', 'queued', 'cloud', 'a$_', 'a$_', '', '', '', 1, 1, 1, 'hr')"}
    1 .. 20) . ';';

sub make_old {
    my ($stack, $n) = @_;
    my $old = bless {%$stack, base => "$stack->{base}/old$n", sessions => {}}, ref $stack;
    Idadmin::Test::make_layout(@$_) for [store => $old->{base}], [store => "$old->{base}/lib"];
    if ($stack->{postgresql}) {
        $old->{database} = $stack->{postgresql}->create_database;
        $old->{store}    = $stack->{postgresql}->dsn($old->{database});
        $old->{seal_key} = "$old->{base}/lib/seal.key";
    }
    else {
        $old->{store} = "sqlite3:$old->{base}/lib/idadmin.db";
    }
    $old->ctl_ok('schema', 'upgrade');
    $old->sql($rows);
    return $old;
}

# What the store is made of, and how many of each.
sub made_of {
    my ($old) = @_;
    if ($old->{postgresql}) {
        return join "\n", map { join '|', map { $_ // '' } @$_ } $old->sql('SELECT table_schema, '
            . 'table_name, column_name, data_type, column_default FROM information_schema.columns '
            . "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3"),
            $old->sql('SELECT file, number FROM schema_version ORDER BY 1'),
            $old->sql('SELECT id, state, made_up FROM task ORDER BY 1');
    }
    my ($stem) = $old->{store} =~ /:(.*)\.db$/;
    return join "\n", map {
        my $file = $_;
        run_command(['sqlite3', '-batch', "$stem$file.db"], user => Idadmin::Test::runtime_user(),
            stdin => ".schema\nPRAGMA user_version;\nPRAGMA integrity_check;\n"
            . ($file ? '' : 'SELECT id, state, made_up FROM task ORDER BY 1;'))->{out};
    } '', '-audit', '-cache';
}

sub upgrade_dies {
    my ($stack, $fault) = @_;
    my $next = { program => $fault->{program} };
    my $whole = make_old($stack, 0);
    $fault->arm;
    my $result = with_fault($whole, $fault, 'schema', 'upgrade');
    is($result->{exit}, 0, 'a store of this version is upgraded') or diag $result->{err};
    my $total = $fault->count;
    my $good  = made_of($whole);
    my ($n, @wrong) = (0);
    for my $point (points($fault)) {
        my ($words, $plan) = @$point;
        my $old = make_old($stack, ++$n);
        $fault->arm(%$plan);
        my $first = with_fault($old, $fault, 'schema', 'upgrade');
        $fault->disarm;
        push @wrong, "$words: exit 0 and no word" if !$first->{exit}
            && !$first->{signal} && !$first->{out};
        my $again = $old->ctl('schema', 'upgrade', $next);
        push @wrong, "$words, again: $again->{err}" if $again->{exit};
        push @wrong, "$words: another schema" if made_of($old) ne $good;
        my $status = $old->ctl('status', $next);
        push @wrong, "$words: $status->{err}" if $status->{exit};
    }
    is_deeply(\@wrong, [], "an upgrade that was broken off is ended by the next ($total calls)");
}

# --- a restored store: the worker makes the cache and fills it

sub restore_dies {
    my ($stack, $fault) = @_;
    return if $stack->{postgresql};    # there the cache comes back with the rest
    my $worker = $stack->new_worker(env => $fault->env, start => 0);
    $worker->expect_log(qr/IDA/);
    $stack->worker->stop;
    my $begin = sub {
        unlink glob "$stack->{base}/lib/idadmin-cache.db*";
        $worker->start;
    };
    my @wrong;
    my $people = 'SELECT count(*) FROM cache.directory_user';
    my ($want) = $stack->sql($people);
    $fault->arm;
    $begin->();
    my $synced = sub { my ($row) = eval { $stack->sql($people) };
        return $row && $row->[0] == $want->[0] };
    ok(within($synced), 'without a cache the worker makes one');
    my $total = $fault->count;
    $worker->stop;
    for my $point (points($fault)) {
        my ($words, $plan) = @$point;
        $fault->arm(%$plan, whole => 1);
        $begin->();
        within(sub { $fault->happened || $synced->() });
        $fault->disarm;
        $worker->stop;
        $worker->start;
        $fault->within_leases($synced) or push @wrong, "$words: not synchronised";
        $worker->stop;
    }
    is_deeply(\@wrong, [], "killed while it does, it makes it all the same ($total calls)");
    $stack->worker->start;
}

for_each_engine {
    my ($engine) = @_;
    srand $seed;
    my %fault = (httpd => Idadmin::Test::Fault->new(
        basename(Idadmin::Test::build_config()->{httpd})),
        ctl => Idadmin::Test::Fault->new('idadminctl'),
        next => Idadmin::Test::Fault->new('idadminctl-next'),
        worker => Idadmin::Test::Fault->new('idadmin-worker'));
    my $stack = Idadmin::Test::Stack->new(engine => $engine,
        httpd => { children => 2, env => $fault{httpd}->env });
    # The write that is refused may be one of the access log's.
    $stack->httpd->expect_log(qr/exit signal Killed|children are killed successively|IDA\d/,
        qr/AH00646: Error writing to \S+access\.log/);
    $stack->worker->expect_log(qr/IDA0323|IDA0321/);
    children_die($stack, $fault{httpd});
    apply_dies($stack, $fault{ctl});
    upgrade_dies($stack, $fault{next});
    restore_dies($stack, $fault{worker});
    $stack->stop;
};

done_testing();
