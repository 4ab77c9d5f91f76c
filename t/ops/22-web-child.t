# A process with httpd's user, either another application or a compromised child, cannot write: file
# modes or roles refuse each attack on the store, no program that httpd starts reaches the writer,
# and no secret is in a child's memory or open files. A process with the writer's user reads no
# secret and no key but the seal key, and writes neither audit log nor cache.
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

# SQL under the user of a child or a writer and, on PostgreSQL, its role: the error, or undef.
sub web_sql    { return sql_by($web, $stack->{stores}{web}, @_) }
sub writer_sql { return sql_by(Idadmin::Test::writer_user(), $stack->{stores}{writer}, @_) }

sub sql_by {
    my ($user, $store, $statement) = @_;
    my $stem   = "$stack->{base}/lib/idadmin";
    my $result = $stack->{postgresql}
        ? run_command([Idadmin::Test::PostgreSQL::bindir() . '/psql', '-X', '-q', '-v',
            'ON_ERROR_STOP=1', $store =~ s/^pgsql://r, '-c', $statement],
            user => $user)
        : run_command(['sqlite3', '-batch', '-bail', '-cmd', '.timeout 5000', "$stem.db"],
            user => $user, stdin => ".dbconfig no_ckpt_on_close on\nATTACH '$stem-cache.db' AS "
            . "cache;\nATTACH '$stem-audit.db' AS audit;\n$statement;\n");
    return $result->{exit} ? $result->{err} : undef;
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
    my ($found, $looked) = (0, 0);
    for my $child ($stack->httpd->children) {
        my $memory = memory_of($child) // next;
        $looked++;
        $found++ if index($memory, $stack->{base}) >= 0;
        for my $name (sort keys %secret) {
            ok(!grep({ index($memory, $_) >= 0 || index($memory, unpack 'H*', $_) >= 0 } @{
                $secret{$name} }), "$name is not in the memory of a child");
        }
        my @open = grep {m{\.key|password}} map { readlink // '' } glob "/proc/$child/fd/*";
        is_deeply(\@open, [], 'nor is a file of keys open');
    }
  SKIP: {
        skip 'the memory of processes cannot be read here', 1 if !$looked;
        is($found, $looked, 'the store is named in each: the search finds what is there');
    }
    for my $file ($seal, "$seal.audit", "$seal.signing", "$seal.revisions",
        "$stack->{base}/bind.password") {
        my $read = run_command(['cat', $file], user => $web);
        ok(-e $file && $read->{exit} && $read->{out} eq '', 'unreadable: ' . $file =~ s{.*/}{}r);
    }
}

# -- what it cannot do

# Recipes of an attack on the store, each of which once worked: rows that a worker or the audit
# would believe, history that it would erase, a lie to the HR system.
my @recipes = (
    [outbox => "INSERT INTO audit_outbox (rid, tenant_id, record) VALUES ('x', 'nordic', '{}')",
        'DELETE FROM audit_outbox'],
    [membership => 'INSERT INTO task_membership (tenant_id, task_id, directory, group_id, '
        . "group_name) SELECT tenant_id, id, 'onPremises', 'Admins', 'Admins' FROM task",
        'DELETE FROM task_membership'],
    [task => "UPDATE task SET state = 'queued', due_at = 1, next_at = 1",
        "UPDATE task_payload SET payload = '{}'", 'DELETE FROM task_step', 'DELETE FROM task'],
    [retention => "UPDATE tenant SET document = '{}', revision = revision + 1",
        'DELETE FROM tenant'],
    [verifier => "UPDATE audit.verified SET broken_at = 0, verified_at = 9999999999999",
        'DELETE FROM audit.verified', 'DELETE FROM audit_check'],
    [event => "UPDATE event SET type = 'task.done'", 'DELETE FROM event_delivery'],
    [key => "UPDATE api_key SET access_level = 'full', disabled = 0", 'DELETE FROM api_key'],
    [setting => "UPDATE setting SET value = 'x'"],
    [record => "UPDATE audit.record SET outcome = 'ok'", 'DELETE FROM audit.record',
        "UPDATE audit.chain SET hash = ''"],
    [cache => 'DELETE FROM cache.directory_user', "UPDATE cache.directory_group SET name = 'x'"],
    [schema => 'DROP TABLE task', 'CREATE TABLE x (y TEXT)'],
);

sub recipes {
    my $denied = qr/permission denied|must be owner|readonly database/;
    my $trigger = $stack->{postgresql}
        ? 'CREATE FUNCTION quiet() RETURNS trigger LANGUAGE sql AS $$ SELECT NULL $$'
        : 'CREATE TRIGGER quiet AFTER INSERT ON audit_outbox BEGIN DELETE FROM audit_outbox; END';
    like(web_sql($trigger) // 'it was done', $denied, 'a trigger that swallows records');
    ok(!defined web_sql('SELECT count(*) FROM task'), 'it reads');
    for my $recipe (@recipes) {
        my ($name, @statements) = @$recipe;
        like(web_sql($_) // 'it was done', $denied, "$name: " . substr $_, 0, 60) for @statements;
    }
    my $verify = $stack->ctl('audit', 'verify', 'nordic');
    is($verify->{exit}, 0, 'the chain is whole') or diag $verify->{out}, $verify->{err};
}

# Files that it could put something else into the place of, or hold for ever.
sub files {
    plan skip_all => 'PostgreSQL has none' if $stack->{postgresql};
    my $lib = "$stack->{base}/lib";
    for my $file (map { ("$_", "$_-wal", "$_-shm", "$_.gate") } map {"$lib/$_"}
        qw(idadmin.db idadmin-cache.db idadmin-audit.db)) {
        next if !-e $file;
        my $name = $file =~ s{.*/}{}r;
        ok(run_command(['test', '-w', $file], user => $web)->{exit}, "it cannot write $name");
    }
    ok(run_command(['touch', "$lib/new"], user => $web)->{exit}, 'nor make a file there');
    ok(run_command(['cat', "$lib/idadmin.db.gate"], user => $web)->{exit}, 'nor open a gate');
}

# An attacker who has taken over the writer has its user: what this user can reach.
sub writer_is_alone {
    my $user = Idadmin::Test::writer_user();
    my $seal = $stack->{seal_key} // "$stack->{base}/lib/idadmin.key";
    my @uids = map { slurp("/proc/$_/status") =~ /^Uid:\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$/m }
        $stack->httpd->writers;
    is_deeply(\@uids, [($user) x 8], 'the writers are of a user of their own');
    my $reads = sub { !run_command(['cat', $_[0]], user => $user)->{exit} };
    ok($reads->($_),  'it reads ' . s{.*/}{}r) for $seal, "$seal.revisions";
    ok(!$reads->($_), 'not ' . s{.*/}{}r)
        for "$seal.audit", "$seal.audit.heads", "$seal.signing", "$stack->{base}/bind.password";
    my $worker = $stack->worker->working;
    ok(!$reads->("/proc/$worker/$_"), "nor the worker's $_") for qw(mem environ);
    ok(run_command(['test', '-w', $_], user => $user)->{exit}, 'it cannot write ' . s{.*/}{}r)
        for $seal, "$stack->{base}/lib";
    ok(run_command(['kill', '-0', $worker], user => $user)->{exit}, 'nor end the worker');
    like(writer_sql($_) // 'it was done', qr/permission denied|readonly database/, substr $_, 0, 60)
        for map { @$_[1 .. $#$_] } grep { $_->[0] =~ /^(?:record|cache)$/ } @recipes;
    ok(!defined writer_sql('SELECT count(*) FROM cache.directory_user'), 'it reads the cache');
}

# What the writer has taken from itself.
sub writer_is_confined {
    for my $writer ($stack->httpd->writers) {
        my %status = slurp("/proc/$writer/status") =~ /^(NoNewPrivs|Seccomp):\s*(\d+)$/mg;
        is_deeply(\%status, { NoNewPrivs => 1, Seccomp => 2 }, 'no new rights, a filter');
    }
}

# A program that httpd starts has no end of the writer's, and finds none.
sub cgi {
    my $seen = $stack->httpd->client->request(GET => '/cgi/look');
    is($seen->{status}, 200, 'a CGI program of the same httpd') or diag explain $seen;
    my %found = $seen->{body} =~ /^(\w+): (.*)$/mg;
    is($found{user}, $web, 'of the same user');
    is($found{sockets}, '0', 'it has inherited no socket');
    my %path = slurp('/proc/net/unix') =~ /(\d+) (\S+)$/mg;
    my @paths = grep {defined} map { (readlink // '') =~ /^socket:\[(\d+)\]/ ? $path{$1} : () }
        map { glob "/proc/$_/fd/*" } $stack->httpd->writers;
    is_deeply(\@paths, [], 'no socket of a writer has a path');
    cmp_ok($found{seen}, '>', 3, 'of children and writers, which it sees,');
    cmp_ok($found{asked}, '>', 3, 'and asks the system for theirs,');
    is($found{taken}, '0', 'nothing can be taken, though CoreDumpDirectory is set');
    my @lines = slurp($stack->httpd->error_log) =~ /:warn\].*IDA0256: CoreDumpDirectory/g;
    is(scalar @lines, 1, 'one line says that children write no core files');
}

# What such a program can reach of its server's other processes.
my $look = <<'CGI';
#!/usr/bin/perl
use strict;
print "Content-Type: text/plain\n\n";
sub parent { my ($pid) = @_;
    open my $in, '<', "/proc/$pid/stat" or return 0;
    return (<$in> // '') =~ /\) \S (\d+)/ ? $1 : 0 }
my $sockets = grep { !m{/[012]$} && (readlink // '') =~ /^socket:/ } glob '/proc/self/fd/*';
my $daemon  = getppid;            # of mod_cgid: not a serving child, and nothing listens to it
my $server  = parent($daemon);
my @others  = grep { $_ != $daemon && parent($_) == $server }
    map { m{(\d+)} ? $1 : () } glob '/proc/[0-9]*';
my ($taken, $asked, $seen) = (0, 0, scalar @others);
for my $pid (@others) {
    my $memory;
    $taken++ if open($memory, '<', "/proc/$pid/mem") && sysread $memory, my $byte, 1;
    $taken += grep { (readlink // '') =~ /^socket:/ } glob "/proc/$pid/fd/*";
    my $held = syscall 434, $pid, 0;                                          # pidfd_open
    $taken += grep { syscall(438, $held, $_, 0) >= 0 } 0 .. 63 if $held > 0;  # pidfd_getfd
    $asked++ if $held > 0;
}
print "user: ", scalar(getpwuid $>), "\nsockets: $sockets\n";
print "seen: $seen\nasked: $asked\ntaken: $taken\n";
CGI

# What AppArmor and SELinux let the writer have; that they accept these files, make check-deb sees.
subtest 'profiles' => sub {
    my $text = sub { slurp(Idadmin::Test::src_dir() . "/conf/idadmin.$_[0]")
            =~ s/\@localstatedir\@/\/var/gr =~ s/\@sysconfdir\@/\/etc/gr };
    my ($profile) = $text->('apparmor') =~ /^profile idadmin-writer (.*)^\}/ms;
    my @lines = split /\n/, $profile // '';
    is_deeply([grep { m{secrets|audit|signing|spool|/\*\*} && !/^ *(?:deny|#|\/usr|owner)/ }
        @lines], [], 'AppArmor: no line lets it have a secret, a key of the audit or the spool');
    cmp_ok(scalar(grep {/^ *deny .*(?:secrets|audit,signing|spool)/} @lines), '==', 4,
        'lines deny each');
    my $te = $text->('te');
    my ($both) = $te =~ /^define\(`idadmin_user', `\n(.*?)^'\)/ms;
    like($both, qr/idadmin_seal_t/, 'SELinux: what worker and writer both have');
    unlike(join('', $both, grep {/idadmin_writer_t/} split /^/, $te),
        qr/idadmin_(?:key|secret|spool|conf_t, idadmin_conf)_t/, 'is no secret and no other key');
    my @labels = $text->('fc') =~ /^(\S+)\s+(?:--\s+)?gen_context\(\w+:\w+:(\w+),/mg;
    my %wanted = ('/var/lib/idadmin/idadmin.key' => 'seal', '/etc/idadmin/seal.key' => 'seal',
        map({ ("/var/lib/idadmin/idadmin.key.$_" => 'key', "/etc/idadmin/seal.key.$_" => 'key') }
        qw(audit audit.heads signing before-1 revisions.before-1)),
        '/var/lib/idadmin/idadmin.key.revisions' => 'seal', '/etc/idadmin/secrets/x' => 'secret',
        '/etc/idadmin/writer/pgpass' => 'writer_secret', '/var/lib/idadmin/idadmin.db' => 'store');
    for my $file (sort keys %wanted) {
        my @found = grep { $file =~ /^$labels[2 * $_]\z/ } 0 .. $#labels / 2;
        is(@found ? $labels[2 * $found[-1] + 1] : undef, "idadmin_$wanted{$file}_t", $file);
    }
};

my $cgi = tempdir() . '/cgi';
mkdir $cgi or die "$cgi: $!\n";
chmod 0755, $cgi;
spew("$cgi/look", $look);
chmod 0755, "$cgi/look";
my $modules = Idadmin::Test::build_config()->{modules};

for_each_stack {
    ($stack) = @_;
    $stack->wait_task($stack->post('/v1/api/user',
        { firstname => 'Real', surname => 'Hire' })->{json}{data}{taskId});
    $stack->httpd->expect_log(qr/IDA0256/);
    subtest 'what it holds'           => \&holds;
    subtest 'recipes'                 => \&recipes;
    subtest 'files'                   => \&files;
    subtest 'a program of the server' => \&cgi;
    subtest 'the writer is confined'  => \&writer_is_confined;
    subtest 'the writer is alone'     => \&writer_is_alone;
} roles => 1, httpd => { server => "LoadModule cgid_module $modules/mod_cgid.so\n"
        . "CoreDumpDirectory $cgi\n"
        . "ScriptSock cgid.sock\nScriptAlias /cgi/ $cgi/\n"
        . "<Directory $cgi>\n    Options ExecCGI\n    Require all granted\n</Directory>" };
done_testing();
