# A taken-over child of httpd gains what SECURITY.md says and no more. It is played under httpd's
# user with what such a child holds: the secrets in its memory and behind its open files, and what
# it can and cannot do with the task key.
use strict;
use warnings;
no warnings 'portable';    # addresses of 64 bits
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack;

plan skip_all => 'only root can run worker and httpd as two users' if $>;
my $web = Idadmin::Test::web_user();
my $stack;

# -- the child's hands

# SQL under the child's user and, on PostgreSQL, its role: the error, or undef.
sub web_sql {
    my ($statement) = @_;
    my $stem   = "$stack->{base}/lib/idadmin";
    my $result = $stack->{postgresql}
        ? run_command([Idadmin::Test::PostgreSQL::bindir() . '/psql', '-X', '-q', '-v',
            'ON_ERROR_STOP=1', $stack->{stores}{web} =~ s/^pgsql://r, '-c', $statement],
            user => $web)
        : run_command(['sqlite3', '-batch', '-bail', '-cmd', '.timeout 5000', "$stem.db"],
            user => $web, stdin => ".dbconfig no_ckpt_on_close on\nATTACH '$stem-cache.db' AS "
            . "cache;\nATTACH '$stem-audit.db' AS audit;\n$statement;\n");
    return $result->{exit} ? $result->{err} : undef;
}

# The same with tasks signed, under a copy of the task key as a child takes it out of its memory.
sub web_signed {
    my ($statement) = @_;
    my $copy = tempdir() . '/taken-' . $stack->engine;
    spew($copy, slurp($stack->task_key));
    chmod 0600, $copy;
    Idadmin::Test::give_to($web, $copy);
    my $result = run_command([Idadmin::Test::program('tool/signed'), $stack->{stores}{web}, $copy,
        $statement], user => $web);
    is($result->{exit}, 0, 'the child signs') or diag $result->{err};
    return;
}

# What a process has in memory that it may write, where its secrets would lie.
sub memory_of {
    my ($pid) = @_;
    my $bytes = '';
    open my $memory, '<:raw', "/proc/$pid/mem" or return undef;
    for my $line (split /\n/, slurp("/proc/$pid/maps")) {
        my ($from, $to, $name) = $line =~ /^([0-9a-f]+)-([0-9a-f]+) rw\S+ \S+ \S+ \d+\s*(\S*)/
            or next;
        next if hex($to) - hex($from) > 1 << 26;
        sysseek $memory, hex $from, 0 or next;
        my $got = sysread $memory, my $part, hex($to) - hex($from);
        $bytes .= $part if $got;
    }
    return $bytes;
}

# -- what it has

sub holds {
    $stack->get_user('eva.berg@nordic.example', client => $stack->httpd->client) for 1 .. 12;
    my ($seal) = $stack->{seal_key} // "$stack->{base}/lib/idadmin.key";
    my $hex    = sub {
        my ($file) = @_;
        my @keys = map { pack 'H*', $_ } slurp($file) =~ /\b([0-9a-f]{64})\b/g;
        return @keys ? @keys : die "$file: no key\n";
    };
    my %secret = (
        'the seal key'  => [$hex->($seal)],
        'the audit key' => [$hex->("$seal.audit")],
        'the password of the directory' => [Idadmin::Test::Slapd::service_password()],
    );
    my ($with_task_key, $looked) = (0, 0);
    my ($task_key) = $hex->($stack->task_key);
    for my $child ($stack->httpd->children) {
        my $memory = memory_of($child) // next;
        $looked++;
        $with_task_key++ if index($memory, $task_key) >= 0;
        for my $name (sort keys %secret) {
            ok(!grep({ index($memory, $_) >= 0 || index($memory, unpack 'H*', $_) >= 0 } @{
                $secret{$name} }), "$name is not in the memory of a child");
        }
        my @open = grep {m{\.key|password}} map { readlink // '' } glob "/proc/$child/fd/*";
        is_deeply(\@open, [], 'nor is a file of keys open');
    }
  SKIP: {
        skip 'the memory of processes cannot be read here', 1 if !$looked;
        is($with_task_key, $looked, 'the task key is: the search finds what is there');
    }
    for my $file ($seal, "$seal.audit", "$seal.signing", "$seal.tasks", "$seal.revisions",
        "$stack->{base}/bind.password") {
        my $read = run_command(['cat', $file], user => $web);
        ok(-e $file && $read->{exit} && $read->{out} eq '', 'unreadable: ' . $file =~ s{.*/}{}r);
    }
}

# -- what it cannot do

my $row = 0;

# A row of its own: a copy of a real offboarding or hire, with some columns changed.
sub forge {
    my ($from, %as) = @_;
    my $id = sprintf '01web%021d', ++$row;
    my @columns = map { $_->[0] } $stack->sql($stack->{postgresql}
        ? "SELECT column_name FROM information_schema.columns WHERE table_name = 'task' AND "
        . "table_schema = 'public' ORDER BY ordinal_position"
        : "SELECT name FROM pragma_table_info('task')");
    %as = (id => "'$id'", next_at => 1, due_at => 1, wall_fixed => 0, %as);
    return ($id, join ';', sprintf('INSERT INTO task (%s) SELECT %s FROM task WHERE id = %s',
        join(', ', @columns), join(', ', map { $as{$_} // $_ } @columns), "'$from'"),
        "INSERT INTO task_payload (task_id, payload) SELECT '$id', payload FROM task_payload "
        . "WHERE task_id = '$from'",
        'INSERT INTO task_step (task_id, position, name, workflow, workflow_position, account) '
        . "SELECT '$id', position, name, workflow, workflow_position, account FROM task_step "
        . "WHERE task_id = '$from'");
}

sub cannot {
    my ($hire) = @_;
    my ($id, $sql) = forge($hire, person => "'by.hand\@nordic.example'",
        upn => "'by.hand\@nordic.example'");
    is(web_sql($sql), undef, 'it writes a task by hand');
    my $held = $stack->wait_task($id, states => ['attention']);
    like($held->{error}, qr/^Held, because this task is not believed/,
        'without the task key it is held');
    $stack->worker->expect_log(qr/IDA0022 tenant nordic: task $id/);

    ok(within(sub { @{ $stack->ctl_ok('audit', 'list', 'nordic', '--json') } > 2 }),
        'there is an audit');
    my $denied = qr/permission denied|readonly database/;
    like(web_sql($_) // 'it was done', $denied, $_) for "UPDATE audit.record SET outcome = 'ok'",
        'DELETE FROM audit.record', "UPDATE audit.chain SET hash = ''",
        'DELETE FROM cache.directory_user', "UPDATE cache.directory_group SET name = 'x'";
    my $verify = $stack->ctl('audit', 'verify', 'nordic');
    is($verify->{exit}, 0, 'the chain is whole') or diag $verify->{out}, $verify->{err};

    # An account that the sealed document protects, by a task signed with the key.
    my $service = $Idadmin::Test::Slapd::service;
    my $leave = $stack->delete('/v1/api/user', { userPrincipalName => 'filip.nyman@nordic.example',
        date => '2031-05-05', time => '09:00' })->{json}{data}{taskId};
    my ($object) = map { $_->[0] } $stack->sql(
        "SELECT id FROM cache.directory_user WHERE upn_key = 'greta.dahl\@nordic.example'");
    my $document = $stack->tenant_document;
    $document->{directories}{onPremises}{protectedAccounts} = [$service,
        Idadmin::Test::Slapd::user_dn('greta.dahl')];
    $stack->apply_tenant($document);
    my $before = $stack->slapd->user('greta.dahl');
    my ($protected, $forged) = forge($leave, object_id => "'$object'",
        person => "'greta.dahl\@nordic.example'", upn => "'greta.dahl\@nordic.example'",
        released => 1);
    web_signed($forged);
    my $failed = $stack->wait_task($protected, states => [qw(failed attention)]);
    like(json_text($failed), qr/protectedAccounts: it is never changed/,
        'a protected account is left alone, whoever signs');
    is_deeply($stack->slapd->user('greta.dahl'), $before, 'as the directory says');
    $stack->worker->expect_log(qr/IDA0317 task $protected/);
    return $leave;
}

# -- what it can do, in the words of SECURITY.md

sub can {
    my ($hire, $leave) = @_;
    my ($id, $sql) = forge($hire, person => "'by.child\@nordic.example'",
        upn => "'by.child\@nordic.example'", mail => "'by.child\@nordic.example'",
        username => "'hr-full'");
    web_signed($sql);
    is($stack->wait_task($id)->{state}, 'done',
        'it queues a hire, which is carried out');
    ok(within(sub { grep { ($_->{target} // '') eq 'by.child@nordic.example' } @{
        $stack->ctl_ok('audit', 'list', 'nordic', '--category', 'workflow', '--json') } }),
        'and is in the audit');

    # One an hour is the brake's: the second waits, unless it is signed as released.
    my %uid = (braked => 'lars.moberg', released => 'maria.oqvist', first => 'henrik.falk');
    my %task;
    my $forged = sub {
        my ($which, $released) = @_;
        my ($object) = map { $_->[0] } $stack->sql("SELECT id FROM cache.directory_user WHERE "
            . "upn_key = '$uid{$which}\@nordic.example'");
        ($task{$which}, my $text) = forge($leave, object_id => "'$object'", released => $released,
            person => "'$uid{$which}\@nordic.example'", upn => "'$uid{$which}\@nordic.example'");
        web_signed($text);
    };
    $stack->worker->expect_log(qr/IDA0319/);
    $forged->(first => 0);
    $stack->wait_task($task{first});
    $forged->(braked => 0);
    my $braked = $stack->wait_task($task{braked}, states => ['attention']);
    like($braked->{error}, qr/^Held by the brake/, 'the brake holds what it signs');
    $forged->(released => 1);
    $stack->wait_task($task{released});
    my ($said) = slurp(src_dir() . '/SECURITY.md') =~ /^(\| A compromised httpd child .*)$/m;
    my (undef, undef, $gains) = split /\|/, $said;
    like($gains, qr/releases what the brake holds/,
        'but for what it signs as released, which SECURITY.md says');
}

for_each_stack {
    ($stack) = @_;
    my $hire = $stack->post('/v1/api/user', { firstname => 'Model', surname => 'Hire',
        date => '2031-05-05', time => '09:00' })->{json}{data}{taskId};
    subtest 'what it holds' => \&holds;
    my $leave;
    subtest 'what it cannot do' => sub { $leave = cannot($hire) };
    subtest 'what it can do'    => sub { can($hire, $leave) };
} roles => 1, tenant => { brake => { offboardingsPerHour => 1 } };
done_testing();
