# Worker, httpd's children and writer run under separate users, and each can open exactly what
# doc/install.md says, tested under each, also after restarts, kills and a restore. Also: readers of
# the cache without a worker, and a worker that refuses to start if httpd's user could read its
# secrets.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(json_data json_text run_command secret_file slurp spew tempdir within);
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack;

my ($worker_user, $writer_user, $web_user) = (Idadmin::Test::runtime_user(),
    Idadmin::Test::writer_user(), Idadmin::Test::web_user());
plan skip_all => 'only root can run worker and httpd as two users' if $>;
my (undef, undef, $web_uid, $web_gid) = getpwnam $web_user;
my $eva = 'eva.berg@nordic.example';

# What a user can do: r and w by open(2), d (delete or replace) by rename, c by making a journal
# beside it, which SQLite would roll back into the file.
my $probe = <<'PERL';
use Fcntl;
my ($path) = @ARGV;
my $can = '';
$can .= 'r' if sysopen my $in, $path, O_RDONLY;
$can .= 'w' if sysopen my $out, $path, O_WRONLY | O_APPEND;
my $moved = rename $path, "$path.moved";
$can .= 'd' if $moved;
rename "$path.moved", $path if $moved;
if (sysopen my $made, "$path-journal", O_WRONLY | O_CREAT | O_EXCL) {
    $can .= 'c';
    unlink "$path-journal";
}
print $can;
PERL

sub can {
    my ($user, $path) = @_;
    # the checkout may be closed to that user
    my $result = run_command(['env', '-u', 'PERL5LIB', $^X, '-e', $probe, $path], user => $user);
    die "$path: $result->{err}" if $result->{exit};
    return $result->{out};
}

# Each file of the store's directory: what the worker's, httpd's and the writer's user can do.
my %expected = (
    'idadmin.key'           => ['rdc',  '', 'r'],
    'idadmin.key.revisions' => ['rwdc', '', 'r'],
    'idadmin.key.audit'     => ['rdc',  '', ''],
    'idadmin.key.audit.heads' => ['rwdc', '', ''],
    'idadmin.key.signing'   => ['rdc',  '', ''],
    map({ ("$_.db" => ['rwdc', 'r', 'r'], "$_.db-wal" => ['rwdc', 'r', 'r'],
    "$_.db-shm" => ['rwdc', 'r', 'r'], "$_.db.gate" => ['rwdc', '', '']) }
    qw(idadmin-cache idadmin-audit)),
    map({ ($_ => ['rwdc', 'r', 'rw']) } qw(idadmin.db idadmin.db-wal idadmin.db-shm)),
    'idadmin.db.gate'       => ['rwdc', '', 'rw'],
);

# Judged at once: programs that are at work may miss a file while it has another name.
sub rights {
    my ($stack, $when) = @_;
    my $lib   = "$stack->{base}/lib";
    my @files = grep { -f } glob "$lib/*";
    my %expected = %expected;
    # A while after a restore the worker makes it anew.
    delete $expected{'idadmin.key.audit.heads'} if !-e "$lib/idadmin.key.audit.heads";
    is_deeply([sort map {s{.*/}{}r} @files], [sort keys %expected],
        "$when: every file of the store is judged");
    my %found = map { my $file = $_;
        (s{.*/}{}r => [map { can($_, $file) } $worker_user, $web_user, $writer_user]) } @files;
    is_deeply(\%found, \%expected, "$when: each user can do what it should");
    return;
}

sub hires {
    my ($stack, $first) = @_;
    my $task = $stack->post('/v1/api/user', { firstname => $first, surname => 'Ny' });
    is($task->{status}, 200, "$first: a write is served") or diag $task->{body};
    return $stack->wait_task($task->{json}{data}{taskId});
}

subtest 'who can open what' => sub {
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite');
    is($stack->get_user($eva)->{status}, 200, 'served');
    my $lib  = "$stack->{base}/lib";
    my @uids = map { (stat "/proc/$_")[4, 5] } $stack->httpd->writers;
    is_deeply(\@uids, [($writer_user, $writer_user) x 2], 'the writers are of a user of their own');
    for my $writer ($stack->httpd->writers) {
        like(slurp("/proc/$writer/status"), qr/^Groups:.*\b$worker_user\b/m,
            'in the store\'s group');
    }
    my $task = $stack->post('/v1/api/user',
        { firstname => 'Åsa', surname => 'Öberg' })->{json}{data}{taskId};
    is($stack->wait_task($task)->{state}, 'done',
        'what the writer wrote the worker carries out');
    ok(within(sub { grep { ($_->{action} // '') eq 'user.create' } @{ $stack->records } }),
        'and has in the audit');
    ok(within(sub { -e "$lib/idadmin.key.audit.heads" }), 'which the verifier has looked at');
    $stack->worker->stop;
    $stack->httpd->stop;
    # stores of before the writer, and of before its user
    for my $mode (0660, 0640) {
        chmod $mode, glob "$lib/idadmin.db*";
        chown -1, $worker_user, glob "$lib/idadmin*";
        chmod 0400, "$lib/idadmin.key";
        chmod 0600, "$lib/idadmin.key.revisions";
        $stack->ctl_ok('schema', 'upgrade');
        rights($stack, sprintf 'after schema upgrade (%04o)', $mode);
    }
    is(can($_, "$stack->{base}/bind.password"), '', 'a secret') for $web_user, $writer_user;
    is(can($web_user, "$stack->{spool}/x"), 'c', "httpd's user makes segments in the spool");
    my ($segment) = glob "$stack->{spool}/*.audit";
    ok(!defined $segment || (stat $segment)[4] == $web_uid, 'which are its own');
    is(can($writer_user, "$stack->{spool}/x"), 'c', 'so could the writer, by the same group');
    my ($mode) = map { sprintf '%04o', (stat $_)[2] & 07777 } "$lib/idadmin.key";
    is($mode, '0440', 'the seal key is read, never written');
    $stack->worker->start;
    $stack->httpd->start;
    my $after = sub {
        my ($first, $when) = @_;
        hires($stack, $first);
        $stack->worker->stop;
        $stack->httpd->stop;
        rights($stack, $when);
        $stack->worker->start;
        $stack->httpd->start;
        hires($stack, "${first}x");
    };
    $stack->httpd->expect_log(qr/IDA0252|exit signal Killed/);
    $stack->worker->kill9;
    $stack->worker->start;
    kill KILL => $stack->httpd->writers;
    kill KILL => ($stack->httpd->children)[0];
    $after->('Anton', 'after worker, writers and a child were killed');
    $stack->httpd->graceful;
    $stack->ctl_ok('tenant', 'apply', '-', { stdin => json_text({ companyId => 'nordic',
        name => 'Nordic' }) });
    $after->('Berta', 'after a graceful restart and a new document');
    # The last one to leave takes log and index away; the worker makes them anew.
    $stack->httpd->stop;
    $stack->worker->stop;
    run_command(['sqlite3', "$lib/idadmin.db", 'select 1 from task'], user => $worker_user);
    ok(!-e "$lib/idadmin.db-wal" && !-e "$lib/idadmin.db-shm", 'a person\'s sqlite3 takes the log');
    $stack->httpd->expect_log(qr/IDA01\d\d/);
    $stack->httpd->start;
    is($stack->post('/v1/api/user', { firstname => 'No', surname => 'Log' },
        headers => { 'Idempotency-Key' => 'no-log' })->{status}, 503,
        'without the worker there is no writing');
    $stack->worker->start;
    ok(within(sub { $stack->post('/v1/api/user', { firstname => 'No', surname => 'Log' },
        headers => { 'Idempotency-Key' => 'no-log' })->{status} == 200 }), 'with it there is');
    $after->('Cecil', 'after the log was made anew');
    my $kept = tempdir() . '/kept';
    mkdir $kept or die "$kept: $!\n";
    Idadmin::Test::give_to($worker_user, $kept);
    chmod 0700, $kept;
    $stack->ctl_ok('backup', "$kept/store", '--keys', "$kept/keys");
    $stack->worker->stop;
    $stack->httpd->stop;
    unlink "$lib/idadmin.key";
    $stack->ctl_ok('restore', "$kept/store", '--keys', "$kept/keys");
    $stack->ctl_ok('aside', '--remove');
    $stack->worker->start;
    $stack->httpd->start;
    $stack->wait_synced;
    $after->('David', 'after a restore');
    $stack->stop;
};

# httpd's configuration of before: no IdAdminWriter. It takes the writer's user when the store is
# that user's, else the worker's, and says so.
subtest 'a writer of before' => sub {
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite', httpd => { writer => $worker_user });
    hires($stack, 'Erik');
    is_deeply([map { (stat "/proc/$_")[4] } $stack->httpd->writers], [($worker_user) x 2],
        'the writers are of the worker\'s user');
    like(slurp($stack->httpd->error_log), qr/:notice\].*the writer runs as #$worker_user, to whom/,
        'and the log says so');
    $stack->httpd->stop;
    chmod 0640, "$stack->{base}/lib/idadmin.db";
    my $result = $stack->httpd->reconfigure(writer => $writer_user)->configtest;
    isnt($result->{exit}, 0, 'a writer that may not write');
    like($result->{err},
        qr/IDA0271: IdAdminStore: .*idadmin\.db: Permission denied, for the user of IdAdminWriter/,
        'is told by httpd -t');
    $stack->ctl_ok('schema', 'upgrade');
    is($stack->httpd->configtest->{exit}, 0, 'schema upgrade heals it');
    $stack->stop;
};

# The readers' side of SQLite's write-ahead log is a file that httpd's user cannot write: with a
# worker, without one, after its death, beside checkpoints.
subtest 'readers without a writer' => sub {
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite');
    my $lib   = "$stack->{base}/lib";
    my $reads = sub { my ($what) = @_;
        is($stack->get_user($eva, client => $stack->httpd->client)->{status}, 200, "read $what")
        for 1 .. 3 };
    my $joins = sub {
        my ($first) = @_;
        my $task = $stack->post('/v1/api/user',
            { firstname => $first, surname => 'Ny' })->{json}{data}{taskId};
        $stack->wait_task($task);
        is($stack->get_user(lc($first) . '.ny@nordic.example',
            client => $stack->httpd->client)->{status}, 200,
            "$first, whom the worker just made, is seen");
    };
    $reads->('beside a worker');
    $joins->('Ada');
    $stack->worker->kill9;
    $reads->('after the worker was killed');
    $stack->httpd->restart;
    $reads->('by children that never saw a worker');
    $stack->worker->start;
    $joins->('Bo');
    $stack->worker->stop;
    $reads->('after the worker stopped');
    $stack->httpd->restart;
    $reads->('by new children after that');
    is($stack->get_user('bo.ny@nordic.example')->{status}, 200, 'with all that lies in the log');
    $stack->worker->start;
    # A load of writes and checkpoints of the cache under the readers' eyes.
    my @bad;
    for my $reset (1 .. 3) {
        $stack->ctl_ok('cache', 'reset', 'nordic');
        my ($reads, $served) = (0, 0);
        within(sub {
            for (1 .. 50) {
                my $status = $stack->get_user($eva)->{status};
                $served++ if $status == 200;
                # 503: not synchronised yet, after the reset
                push @bad, $status if $status != 200 && $status != 503;
                $reads++;
            }
            $reads >= 200 && $served >= 50;
        });
    }
    is_deeply(\@bad, [], 'many reads while the cache is made anew three times');
    $stack->ctl_ok('sync', 'nordic', '--wait');
    $stack->wait_synced;
    $joins->('Cia');
    is_deeply([Idadmin::Test::faults_in(slurp($stack->httpd->error_log), qr/IDA01\d\d/)], [],
        'nothing was wrong with the store in any of this');
    # No process has the store open, and a person reads the cache with sqlite3: as the last one to
    # leave it takes the log away.
    $stack->httpd->stop;
    $stack->worker->stop;
    my $look = run_command(['sqlite3', "$lib/idadmin-cache.db",
        'select count(*) from directory_user'], user => $worker_user);
    is($look->{exit}, 0, 'a person reads the cache with sqlite3') or diag $look->{err};
    ok(!-e "$lib/idadmin-cache.db-wal", 'the log of the cache is gone');
    $stack->httpd->expect_log(qr/IDA0102|IDA0110/);
    $stack->httpd->start;
    is($stack->get_user($eva, client => $stack->httpd->client)->{status}, 503,
        'then httpd cannot read before the worker has been there');
    ok($stack->httpd->log_has(qr/idadmin-cache\.db.*start idadmin-worker/), 'and says so');
    $stack->worker->start;
    ok(within(sub { $stack->get_user($eva,
        client => $stack->httpd->client)->{status} == 200 }), 'whose start heals it');
    is(can($web_user, "$lib/idadmin-cache.db-wal"), 'r', 'with a log that is the worker\'s');
    advice($stack, $lib);
    $stack->stop;
};

# What root breaks, the doctor finds when root asks, and what it says mends it.
sub advice {
    my ($stack, $lib) = @_;
    my $spool  = $stack->spool;
    my $config = Idadmin::Test::Worker::config_file("spool = $spool");
    my $doctor = sub {
        my $json = run_command([Idadmin::Test::program('idadminctl'), 'doctor', '--json',
            '--config', $config, '--store', "sqlite3:$lib/idadmin.db"]);
        diag $json->{err} if $json->{err};
        return grep { $_->{level} eq 'fault' && !$_->{companyId} }
            @{ json_data($json->{out})->{checks} };
    };
    is_deeply([map { $_->{detail} } $doctor->()], [], 'nothing is wrong');
    my $key = "$lib/idadmin.key";
    my $seal = slurp($key);
    my @cases = (['the store' => sub { chown 0, 0, "$lib/idadmin.db" }],
        ['its group' => sub { chown -1, $worker_user, "$lib/idadmin.db" }],
        ['its mode' => sub { chmod 0640, "$lib/idadmin.db" }],
        ['the directory' => sub { chmod 02755, $lib }],
        ['the seal key\'s mode' => sub { chmod 0400, $key }],
        ['its revisions' => sub { chown -1, 0, "$key.revisions" }],
        ['its cache' => sub { chown 0, 0, "$lib/idadmin-cache.db" }],
        ['its audit' => sub { chmod 0400, "$lib/idadmin-audit.db" }],
        ['the spool' => sub { chown 0, 0, $spool }],
        ['the seal key' => sub { chown 0, 0, $key }],
        ['no seal key' => sub { unlink $key }, qr/copy .*do not make another/],
        ['another seal key' => sub { spew($key, '0' x 64 . "\n") }, qr/is not the key .*copy/]);
    for my $case (@cases) {
        my ($what, $break, $by_hand) = @$case;
        $stack->worker->stop;
        $stack->httpd->stop;
        $break->();
        my @faults = $doctor->();
        ok(scalar @faults, "$what: a fault");
        if ($by_hand) {
            ok((grep { $_->{detail} =~ $by_hand } @faults), 'with the advice')
                or diag explain \@faults;
            unlink $key;
            spew($key, $seal);    # root copies it
            chmod 0600, $key;
            for (1 .. 2) {    # a group, then a mode
                run_command([split / /])
                    for map { $_->{detail} =~ /: (ch\w+ \S+ \S+)$/ } $doctor->();
            }
            @faults = $doctor->();
        }
        for my $fault (@faults) {
            my ($command) = $fault->{detail} =~ /: (ch(?:own|grp|mod) \S+ \S+)$/ or next;
            is(run_command([split / /, $command])->{exit}, 0, $command);
        }
        is_deeply([map { $_->{detail} } $doctor->()], [], "$what: what it says mends it");
        rights($stack, $what);
        $stack->worker->start;
        $stack->httpd->start;
        my $client = $stack->httpd->client;
        ok(within(sub { $stack->get_user('eva.berg@nordic.example',
            client => $client)->{status} == 200 }), 'served');
    }
    return;
}

# What root makes belongs to the worker's user all the same.
subtest 'root makes the store' => sub {
    my $dir = Idadmin::Test::make_layout(store => tempdir() . '/byroot');
    my $ctl = sub { return run_command([Idadmin::Test::program('idadminctl'), @_, '--config',
        Idadmin::Test::Worker::config_file(), '--store', "sqlite3:$dir/idadmin.db"]) };
    my $made = $ctl->('schema', 'upgrade');
    is($made->{exit}, 0, 'schema upgrade by root') or diag $made->{err};
    is($ctl->('tenant', 'list')->{exit}, 0, 'tenant list by root');
    my @files = grep { !/\.\.?$/ } glob "$dir/*";
    cmp_ok(scalar @files, '>=', 10, scalar(@files) . ' files');
    is_deeply([map {s{.*/}{}r} grep { (stat)[4] != $worker_user } @files], [],
        'all of them are the worker\'s');
    is_deeply([sort map {s{.*/}{}r} grep { (stat)[5] == $writer_user } @files], [sort map
        {"idadmin.$_"} qw(db db-shm db-wal db.gate key)],
        'the writer\'s group has those that it needs');
    my $mine = run_command([Idadmin::Test::program('idadminctl'), 'status', '--config', '/dev/null',
        '--store', "sqlite3:$dir/idadmin.db"], user => $worker_user);
    is($mine->{exit}, 0, 'who can use it') or diag $mine->{err};
    my $spool = Idadmin::Test::make_layout(spool => tempdir() . '/spool-byroot');
    is($ctl->('audit', 'ingest', $spool)->{exit}, 0, 'audit ingest by root');
    my $theirs = run_command([Idadmin::Test::program('idadminctl'), 'audit', 'ingest', $spool,
        '--config', '/dev/null', '--store', "sqlite3:$dir/idadmin.db"], user => $worker_user);
    is($theirs->{exit}, 0, 'leaves the spool to the worker\'s user') or diag $theirs->{err};
    my $pg = tempdir() . '/etc';
    mkdir $pg;
    my $alone = Idadmin::Test::Worker::config_file('writer_group = none');
    my @on_another_node = (Idadmin::Test::program('idadminctl'), 'schema', 'upgrade', '--config',
        $alone, '--store', "sqlite3:$dir/idadmin.db", '--seal-key', "$pg/seal.key", '--owner',
        'nobody');
    my $named = run_command(\@on_another_node);
    is($named->{exit}, 1, 'a store that has an audit key gets no other one');
    like($named->{err}, qr/copy it from the node/, 'it is to be copied');
    ok(!-e "$pg/seal.key.audit", 'and nothing stands in its place');
    spew("$pg/seal.key.audit", slurp("$dir/idadmin.key.audit"));
    chmod 0600, "$pg/seal.key.audit";
    $named = run_command(\@on_another_node);
    is($named->{exit}, 0, '--owner') or diag $named->{err};
    for my $key (map { "seal.key$_" } '', qw(.audit .signing)) {
        is(getpwuid((stat "$pg/$key")[4]), 'nobody', "gives $key to the one who is named");
        is((stat "$pg/$key")[2] & 07777, 0400, 'for that one alone');
    }
    # What a user who may write there puts in the key's place is not given away.
    my $victim = tempdir() . '/victim';
    for my $case (['a link' => sub { symlink $victim, $_[0] }],
        ['another name' => sub { link $victim, $_[0] }],
        ['a stranger\'s file' => sub { spew($_[0], slurp($victim)); chown 4242, 4242, $_[0] }]) {
        my ($what, $put) = @$case;
        spew($victim, slurp("$dir/idadmin.key"));
        chmod 0600, $victim;
        unlink "$pg/seal.key";
        $put->("$pg/seal.key");
        is(run_command(\@on_another_node)->{exit}, 1, "$what: refused");
        is((stat $victim)[4], 0, 'root keeps the file');
        isnt((stat "$pg/seal.key")[4], (getpwnam 'nobody')[2], 'nothing is given away');
    }
    $named = run_command([Idadmin::Test::program('idadminctl'), 'schema', 'upgrade', '--config',
        '/dev/null', '--store', "sqlite3:$dir/idadmin.db", '--seal-key', "$pg/seal.key", '--owner',
        'nobody-such']);
    is($named->{exit}, 1, 'an unknown user');
    like($named->{err}, qr/no user nobody-such/, 'is said');
};

# The samples for systemd make what doc/install.md's table says, and the demo's and the tests'
# directories are the same.
subtest 'samples make users and directories' => sub {
    my ($sysusers, $tmpfiles) = map { Idadmin::Test::program_path("systemd-$_")
        // (grep {-x} "/bin/systemd-$_")[0] } qw(sysusers tmpfiles);
    plan skip_all => 'systemd is not installed' if !$sysusers || !$tmpfiles;
    my $root = tempdir() . '/root';
    mkdir $_ or die $! for $root, "$root/etc", "$root/samples";
    spew("$root/etc/passwd",
        "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\n");
    spew("$root/etc/group", "root:x:0:\nwww-data:x:33:\n");
    for my $name (qw(idadmin.sysusers idadmin.tmpfiles)) {
        spew("$root/samples/$name",
            slurp(Idadmin::Test::src_dir()
            . "/conf/$name") =~ s{\@localstatedir\@}{/var}gr =~ s{\@sysconfdir\@}{/etc}gr);
    }
    is(run_command([$sysusers, "--root=$root", "$root/samples/idadmin.sysusers"])->{exit}, 0,
        'systemd-sysusers');
    my ($uid, $gid) = slurp("$root/etc/passwd") =~ /^idadmin:x:(\d+):(\d+):/m;
    my ($writer_uid, $writer_gid)
        = slurp("$root/etc/passwd") =~ /^idadmin-writer:x:(\d+):(\d+):/m;
    like(slurp("$root/etc/group"), qr/^idadmin:x:$gid:(?=.*www-data)(?=.*idadmin-writer)/m,
        'httpd\'s user and the writer\'s are in the group');
    like(slurp("$root/etc/group"), qr/^idadmin-writer:x:$writer_gid:idadmin$/m,
        'and the worker\'s alone in that of the writer');
    is(run_command([$tmpfiles, "--root=$root", '--create',
        "$root/samples/idadmin.tmpfiles"])->{exit}, 0, 'systemd-tmpfiles');
    my %made = map { my @s = stat "$root$_";
        ($_ => sprintf '%d:%d %04o', @s[4, 5], $s[2] & 07777) } qw(/var/lib/idadmin
        /var/lib/idadmin/spool /etc/idadmin /etc/idadmin/secrets /etc/idadmin/writer);
    is_deeply(\%made, { '/var/lib/idadmin' => "$uid:$gid 2750",
        '/var/lib/idadmin/spool' => "$uid:$gid 2770", '/etc/idadmin' => '0:0 0755',
        '/etc/idadmin/secrets' => "$uid:$gid 0700",
        '/etc/idadmin/writer' => "$writer_uid:$writer_gid 0700" },
        'owners and modes');
    my $page = slurp(Idadmin::Test::src_dir() . '/doc/install.md');
    like($page, qr{^\ *\|\ `/var/lib/idadmin`\ \|\ idadmin:idadmin\ 2750\ }mx,
    'as doc/install.md tells them');
    like($page, qr{^ *\| `/var/lib/idadmin/spool` \| idadmin:idadmin 2770 }m, 'spool too');
    my $base = tempdir();
    is_deeply([map { sprintf '%04o',
        (stat Idadmin::Test::make_layout($_ => "$base/layout-$_"))[2] & 07777 } qw(store spool)],
        [qw(2750 2770)], 'the tests\' own are like these');
};

# Each way to a secret, and the sentence that names it.
subtest 'refusals' => sub {
    my $stack  = Idadmin::Test::Stack->new(engine => 'sqlite', httpd => 0, worker => { start => 0 },
        sync => 0);
    my $worker = $stack->worker;
    my $lib    = "$stack->{base}/lib";
    my $starts = sub {
        my ($what) = @_;
        my $result = $worker->run('--once');
        is($result->{exit}, 0, "starts: $what") or diag $result->{err};
    };
    my $refuses = sub {
        my ($what, $pattern, @options) = @_;
        my $result = $worker->run('--once', @options);
        is($result->{exit}, 1, "refuses to start: $what");
        like($result->{err}, qr/IDA0360.*$pattern/, 'and says why');
    };
    my $root = sub { my ($mode, $uid, $gid, $path) = @_; chown $uid, $gid, $path or die $!;
        chmod $mode, $path or die $! };
    $starts->('as documented');
    my ($key, $secret) = ("$lib/idadmin.key", "$stack->{base}/bind.password");
    for my $case ([0440, $worker_user, $worker_user, 'the common group may read it'],
        [0440, $worker_user, $web_gid, 'the group of httpd\'s user may'],
        [0400, $web_uid, $worker_user, 'it is that user\'s own'],
        [0420, $worker_user, $worker_user, 'the common group may write it']) {
        my ($mode, $uid, $gid, $words) = @$case;
        for my $file ([$key, qr/seal_key: \Q$key\E can be/],
            [$secret, qr/bindPasswordFile: \Q$secret\E can be/]) {
            $root->($mode, $uid, $gid, $file->[0]);
            $refuses->("$words ($file->[0])", $file->[1]);
            $root->(0400, $worker_user, $worker_user, $file->[0]);
        }
    }
    chmod 02770, $lib;
    $refuses->('a directory in which httpd\'s user replaces the key',
        qr/seal_key: .* can be replaced by .* write the directory \Q$lib\E/);
    chmod 03770, $lib;
    like($worker->run('--once')->{err}, qr/^(?!.*IDA0360).*IDA0110.*may be written by others/s,
        'a sticky one keeps it from that, but holds no store');
    chmod 02750, $lib;
    my $acl = pack('V (vvV)5', 2, 1, 4, 0xffffffff, 2, 4, $web_uid, 4, 0, 0xffffffff, 16, 4,
        0xffffffff, 32, 0, 0xffffffff);
    my $set = run_command(['python3', '-c',
        'import os,sys; os.setxattr(sys.argv[1], "system.posix_acl_access", '
        . 'bytes.fromhex(sys.argv[2]))', $key, unpack 'H*', $acl]);
  SKIP: {
        skip "no access control lists here: $set->{err}", 4 if $set->{exit};
        is(can($web_user, $key), 'r', 'a list lets httpd\'s user read it');
        $refuses->('an access control list', qr/seal_key: .* can be read/);
        chmod 0600, $key;
        is(can($web_user, $key), '', 'its mask takes that back');
        $starts->('a masked list');
        run_command(['python3', '-c',
            'import os,sys; os.removexattr(sys.argv[1], "system.posix_acl_access")', $key]);
    }
    my $ca = "$stack->{base}/ca.pem";
    spew($ca, slurp(Idadmin::Test::Tls::files()->{ca}));
    my $document = $stack->tenant_document;
    $document->{directories}{onPremises}{caFile} = $ca;
    $stack->apply_tenant($document);
    $starts->('authorities that everybody reads');
    $root->(0664, $worker_user, $worker_user, $ca);
    $refuses->('authorities that httpd\'s user writes', qr/caFile: \Q$ca\E can be written/);
    is($stack->ctl('tenant', 'apply', '-', { stdin => json_text($document) })->{exit}, 1,
        'nor is a document with them taken');
    $root->(0644, $worker_user, $worker_user, $ca);
    my $mail = secret_file("$stack->{base}/mail.password", "x\n");
    $root->(0640, $worker_user, $worker_user, $mail);
    $refuses->('the password of mail', qr/smtp_password_file/, '--smtp-user', 'identity',
        '--smtp-password-file', $mail);
    my $link = "$stack->{base}/open";
    mkdir $link;
    $root->(0777, $worker_user, $worker_user, $link);
    symlink $key, "$link/seal.key";
    $refuses->('a link in a directory of everybody', qr/seal_key: .* can be replaced/, '--seal-key',
        "$link/seal.key");

    my $same = run_command($worker->command('--once'), user => $web_user);
    is($same->{exit}, 1, 'a worker under httpd\'s user refuses to start');
    like($same->{err}, qr/IDA0360.*both run as www-data/, 'and says why');
    my $upgrade = run_command([Idadmin::Test::program('idadminctl'), 'schema', 'upgrade',
        '--config', '/dev/null', '--store', "sqlite3:$stack->{base}/spool/x.db"],
        user => $web_user);
    is($upgrade->{exit}, 1, 'nor does it make a seal key');
    ok(!-e "$stack->{base}/spool/x.key", 'indeed');

    # The last --web-user counts.
    my $unknown = $worker->run('--once', '--web-user', 'nobody-such');
    is($unknown->{exit}, 0, 'an unknown user of httpd refuses nothing');
    like($unknown->{err}, qr/IDA0361.*nobody-such.*web_user/, 'but is said');

    like($worker->run('--check', 'nordic')->{out},
        qr/^  ok    users: httpd's www-data can neither read nor replace the seal key/m,
        '--check tells of the users');
    like($worker->run('--check', 'nordic', '--web-user', 'nobody-such')->{out},
        qr/^  ok    users: there is no nobody-such/m, 'or that there is none');

    # A running worker: the secret is judged whenever it is read, and a new configuration before it
    # holds.
    $worker->expect_log(qr/IDA0314/);
    $root->(0440, $worker_user, $worker_user, $secret);
    is($stack->ctl('tenant', 'apply', '-',
        { stdin => json_text({ companyId => 'nordic', name => 'N' }) })->{exit}, 1,
        'tenant apply refuses it');
    $root->(0400, $worker_user, $worker_user, $secret);
    $worker->start;
    ok($worker->log_gets(qr/started as/), 'runs');
    $root->(0440, $worker_user, $worker_user, $secret);
    $stack->ctl_ok('sync', 'nordic');
    my $check = $worker->run('--check', 'nordic');
    is($check->{exit}, 1, '--check refuses');
    like($check->{err}, qr/IDA0360.*bindPasswordFile/, 'naming it');
    $root->(0400, $worker_user, $worker_user, $secret);
    $worker->stop;
    my $conf = spew("$stack->{base}/idadmin.conf", "log_level = info\n");
    my $reloading = $stack->new_worker(options => ['--config', $conf]);
    $reloading->expect_log(qr/IDA0330|IDA0360/);
    ok($reloading->log_gets(qr/started as/), 'a worker with a configuration');
    $root->(0640, $worker_user, $worker_user, $mail);
    spew($conf, "smtp_user = identity\nsmtp_password_file = $mail\n");
    $reloading->signal('HUP');
    ok($reloading->log_gets(qr/IDA0330.*smtp_password_file.*can be read by httpd's user/),
        'a new one that opens a secret is not taken');
    $root->(0400, $worker_user, $worker_user, $mail);
    $reloading->signal('HUP');
    ok($reloading->log_gets(qr/configuration was read again/), 'closed, it is');
    is($reloading->stop, 0, 'a clean end');
    $stack->stop;
};

# The same where the store is PostgreSQL: the seal key lies by itself, and httpd's group is that of
# the spool.
subtest 'PostgreSQL' => sub {
    my $reason = Idadmin::Test::PostgreSQL->skip_reason;
    plan skip_all => $reason if $reason;
    my $stack = Idadmin::Test::Stack->new(engine => 'postgresql');
    my $task  = $stack->post('/v1/api/user',
        { firstname => 'Åsa', surname => 'Öberg' })->{json}{data}{taskId};
    is($stack->wait_task($task)->{state}, 'done', 'two users, one store');
    my ($key, $secret) = ($stack->{seal_key}, "$stack->{base}/bind.password");
    is(can($web_user, $_), '', "httpd's user and $_") for $key, $secret;
    is_deeply([map { can($writer_user, $_) } $key, "$key.audit", "$key.signing", $secret],
        ['r', '', '', ''], 'the writer\'s user reads the seal key alone');
    $stack->worker->stop;    # it reads the same files
    for my $file ($key, $secret) {
        chown -1, $worker_user, $file;
        chmod 0440, $file;
        my $result = $stack->worker->run('--once');
        is($result->{exit}, 1,
            "a worker refuses to start where the group of the spool may read $file");
        like($result->{err}, qr/IDA0360.*\Q$file\E can be read/, 'and says so');
        chmod 0400, $file;
    }
    is($stack->worker->run('--once')->{exit}, 0, 'and starts when it may not');
    $stack->stop;
} if grep { $_ eq 'postgresql' } Idadmin::Test::engines();

done_testing();
