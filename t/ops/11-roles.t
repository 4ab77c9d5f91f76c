# With a role of PostgreSQL for each process, a hire, an offboarding and reads work, and attacks
# with a stolen connection of httpd or of the worker fail.
use strict;
use warnings;
use Idadmin::Test;
use Idadmin::Test::Console ();
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack ();
use Test::More;

my $reason = Idadmin::Test::PostgreSQL->skip_reason
    || (grep({ $_ eq 'postgresql' } Idadmin::Test::engines()) ? '' : 'SQLite alone is asked for');
plan(skip_all => $reason) if $reason;

my $stack = Idadmin::Test::Stack->new(engine => 'postgresql', roles => 1,
    httpd => { rate_limits => { person => 'off' }, console => 1 });
my $domain = $Idadmin::Test::Slapd::domain;
my $admin  = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
    company => 'nordic');

# undef when the statement is carried out, else what the server says.
sub tried {
    my ($role, $statement) = @_;
    my $result = run_command([Idadmin::Test::PostgreSQL::bindir() . '/psql', '-X', '-q', '-v',
        'ON_ERROR_STOP=1', $stack->{stores}{$role} =~ s/^pgsql://r, '-c',
        "BEGIN; $statement; ROLLBACK"]);
    return $result->{exit} ? $result->{err} : undef;
}

subtest 'the day goes on' => sub {
    my $hire = $stack->post('/v1/api/user', { firstname => 'Maja', surname => 'Strom' });
    is($hire->{status}, 200, 'a hire is queued') or diag $hire->{body};
    is($stack->wait_task($hire->{json}{data}{taskId})->{state}, 'done', 'and carried out');
    my $leave = $stack->delete('/v1/api/user',
        { userPrincipalName => "bo.ek\@$domain", time => '00:00' });
    is($stack->wait_task($leave->{json}{data}{taskId})->{state}, 'done', 'an offboarding, too');
    my $later = $stack->post('/v1/api/user', { firstname => 'Later', surname => 'Strom',
        date => '2031-01-01' })->{json}{data}{taskId};
    is($stack->delete("/v1/api/task?id=$later")->{status}, 200, 'one that waits is cancelled');
    is($admin->post('/key', { username => 'made', accessLevel => 'read-only' })->{status}, 200,
        'a key is made in the console');
    is($admin->post($_, {}, { directory => 'onPremises' })->{status}, 200, $_)
        for '/directory/sync', '/directory/check';
    is($admin->post('/audit/verify')->{status}, 200, 'the chain is to be verified');
    ok(within(sub { $admin->data('/audit/chain')->{state} eq 'whole' }), 'it is whole');
    ok(within(sub {
        $admin->data('/directory/check', { directory => 'onPremises' })->{state} eq 'done' }),
        'the directory was looked at');
    is($admin->get("/$_")->{status}, 200, $_) for qw(overview overview/trends hygiene workflows
        users groups keys company audit access-requests role-templates);
};

my %tables = map { $_->[0] => 1 } $stack->sql("SELECT schemaname || '.' || tablename "
    . "FROM pg_tables WHERE schemaname IN ('public', 'cache', 'audit')");
my @nobody = (
    "UPDATE tenant SET document = '{}'", "UPDATE tenant SET seal = ''",
    'UPDATE tenant SET revision = 1', 'DELETE FROM tenant',
    "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) "
        . "VALUES ('x', '{}', '', 1, 1, 1)",
    "UPDATE audit.record SET outcome = 'ok'", 'TRUNCATE audit.record', 'TRUNCATE task',
    'DROP TABLE audit.record', 'ALTER TABLE tenant ADD COLUMN x TEXT', 'DROP SCHEMA audit CASCADE',
    'CREATE TABLE x (y TEXT)', 'CREATE TABLE audit.x (y TEXT)', 'DELETE FROM schema_version',
    'ALTER TABLE audit.record OWNER TO current_user',
    'CREATE ROLE x SUPERUSER', 'SET ROLE idadmin', "COPY tenant TO PROGRAM 'cat'",
);
my %forbidden = (
    web => [@nobody,
        (map { ("DELETE FROM $_", "INSERT INTO $_ DEFAULT VALUES") } sort keys %tables),
        "UPDATE task SET state = 'queued'", 'UPDATE tenant SET seats_held = 0',
        'SET ROLE idadmin_writer', 'SET ROLE idadmin_worker'],
    writer => [@nobody, 'DELETE FROM audit.record', 'DELETE FROM audit.chain',
        "UPDATE audit.chain SET hash = ''",
        "INSERT INTO audit.record (tenant_id, seq, rid, at, category, outcome, personal_hash, hash)"
            . " VALUES ('nordic', 1000000, 'x', 1, 'api', 'ok', '', '')",
        (map {"DELETE FROM $_"} grep {/^cache\./} sort keys %tables),
        "UPDATE cache.directory_user SET enabled = 1", 'DELETE FROM worker', 'DELETE FROM setting',
        'DELETE FROM event_delivery', 'DELETE FROM role_template', 'DELETE FROM access_service',
        'DELETE FROM workflow', 'SET ROLE idadmin_web', 'SET ROLE idadmin_worker'],
    worker => [@nobody, "UPDATE api_key SET key_hash = ''", 'DELETE FROM api_key',
        "INSERT INTO api_key (tenant_id, username, key_hash, access_level, created_at) "
            . "VALUES ('nordic', 'x', '', 'full', 1)",
        'DELETE FROM role_template', 'DELETE FROM access_service', 'SET ROLE idadmin_web'],
);
for my $role (sort keys %forbidden) {
    subtest "what $role may not" => sub {
        is(tried($role, 'SELECT count(*) FROM audit.record'), undef, 'reading is allowed');
        like(tried($role, $_) // 'it was done',
            qr/permission denied|must be (?:owner|member|superuser)/, $_)
            for @{ $forbidden{$role} };
    };
}

subtest 'the command connects as the owner' => sub {
    my $conf = Idadmin::Test::tempdir() . '/admin.conf';
    my @settings = ("store = $stack->{stores}{worker}", "seal_key = $stack->{seal_key}",
        "spool = $stack->{spool}");
    my $apply = sub {
        my ($text, @options) = @_;
        spew($conf, join "\n", @settings, $text, '');
        Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $conf);
        return run_command([Idadmin::Test::program('idadminctl'), qw(schema upgrade --roles),
            '--config', $conf,
            @options], user => Idadmin::Test::runtime_user());
    };
    isnt($apply->('')->{exit}, 0, "the worker's role cannot give roles");
    my $done = $apply->("admin_store = $stack->{store}");
    is($done->{exit}, 0, 'admin_store names who can') or diag $done->{err};
    isnt($apply->("admin_store = $stack->{store}", '--store', $stack->{stores}{worker})->{exit}, 0,
        '--store goes before it');
};

subtest 'again, and on SQLite' => sub {
    $stack->ctl_ok('schema', 'upgrade', '--roles');
    is($stack->get_user("eva.berg\@$domain")->{status}, 200, 'saying it anew changes nothing');
    my $files = Idadmin::Test::Stack->new(engine => 'sqlite', slapd => 0, tenant => 0, httpd => 0,
        worker => 0);
    my $refused = $files->ctl('schema', 'upgrade', '--roles');
    isnt($refused->{exit}, 0, 'SQLite has no roles');
    like($refused->{err}, qr/owners and groups of the files/, 'and is told what it has');
    $files->stop;
};

subtest 'a database that cannot hold every name' => sub {
    my $server = $stack->{postgresql};
    my $bin = Idadmin::Test::PostgreSQL::bindir();
    for my $encoding ('LATIN1', 'SQL_ASCII') {
        my $name = "$stack->{database}_" . lc $encoding;
        $server->sql('postgres',
            "CREATE DATABASE $name TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
        local $stack->{store} = $server->dsn($name);
        my $made = $stack->ctl('schema', 'upgrade');
        is($made->{exit}, 1, "$encoding is refused");
        like($made->{err}, qr/$encoding.*CREATE DATABASE idadmin TEMPLATE .* ENCODING 'UTF8'/,
            'with the statement that makes a right one');
        my ($tables) = $server->sql($name, 'SELECT count(*) FROM pg_tables WHERE schemaname = '
            . "'public'");
        is($tables->[0], 0, 'nothing was made');
        my @to = ('-h', $server->{sockets}, '-p', $server->{port}, '-U', 'idadmin');
        my $copied = run_command(['sh', '-c', "$bin/pg_dump @to --schema-only --no-privileges "
            . "--no-owner $stack->{database} | $bin/psql -X -q @to -d $name; $bin/pg_dump @to -a "
            . "-t schema_version $stack->{database} | $bin/psql -X -q @to -d $name"]);
        my ($line) = grep { $_->{check} eq 'store' }
            @{ $stack->ctl('doctor', '--json')->{json}{checks} };
        like($line->{detail}, qr/has the encoding $encoding/, 'the doctor names it')
            or diag "$copied->{out}$copied->{err}";
        $server->sql('postgres', "DROP DATABASE $name WITH (FORCE)");
    }
};

$stack->stop;
done_testing;
