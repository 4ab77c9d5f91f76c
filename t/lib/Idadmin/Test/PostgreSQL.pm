package Idadmin::Test::PostgreSQL;
# PostgreSQL: the server that all programs of a run share (t/suite/check.pl starts it, without
# fsync), or a separate one in the test's temporary directory, with fsync on, for tests that stop
# it, kill it or check durability; fresh databases on demand; a standby that can be promoted.
use strict;
use warnings;
use Idadmin::Test ();
use Idadmin::Test::Session ();

# Newest installed server programs, or undef.
sub bindir {
    our $bindir;
    if (!defined $bindir) {
        my @found = sort { ($a =~ m{/(\d+)/})[0] <=> ($b =~ m{/(\d+)/})[0] }
            grep { -x "$_/initdb" && -x "$_/postgres" } glob '/usr/lib/postgresql/*/bin';
        ($bindir) = pop @found;
        if (!$bindir) {
            ($bindir) = grep { -x "$_/initdb" && -x "$_/postgres" } split /:/, $ENV{PATH};
        }
        $bindir //= '';
    }
    return $bindir || undef;
}

# Why PostgreSQL tests cannot run here, in words; '' when they can.
sub skip_reason {
    return 'PostgreSQL server programs (initdb, postgres) are not installed' if !bindir();
    return 'running as root, and there is no user "postgres" to run PostgreSQL as'
        if $> == 0 && !getpwnam 'postgres';
    return '';
}

sub user { return $> == 0 ? 'postgres' : undef }

sub _place {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/pg' . ++our $count;
    my $self = bless { base => $base, data => "$base/data", sockets => "$base/s",
        log => "$base/log", conf => $how{conf} // '' }, $class;
    mkdir $base or die "$base: $!\n";
    mkdir $self->{sockets};
    chmod 0755, $base, $self->{sockets};
    Idadmin::Test::give_to(user(), $base, $self->{sockets});
    return $self;
}

# new(conf => "extra lines for postgresql.conf")
sub new {
    my ($class, %how) = @_;
    my $self = $class->_place(%how);
    my $copied = Idadmin::Test::run_command([Idadmin::Test::src_dir() . '/t/unit/with-pg.sh',
        'cluster', $self->{data}, bindir()],
        env => { IDADMIN_BUILD => Idadmin::Test::build_dir() });
    die "initdb failed:\n$copied->{out}$copied->{err}" if $copied->{exit};
    return $self->start;
}

# The server of the whole run, which IDADMIN_TEST_PGSQL names ("pgsql:host=DIRECTORY port=N ...").
# No program stops it. A program that is run by itself starts its own at first use.
sub shared {
    my ($class) = @_;
    our $shared;
    return $shared if $shared;
    my ($sockets, $port) = ($ENV{IDADMIN_TEST_PGSQL} // '') =~ /^pgsql:host=(\S+) port=(\d+) /;
    $shared = $port ? bless { sockets => $sockets, port => $port }, $class
        : $class->new(conf => "fsync = off\n");
    return $shared;
}

# One server of this program alone, started at first use.
sub own {
    my ($class) = @_;
    our $own //= $class->new;
    return $own;
}

sub start {
    my ($self) = @_;
    for (1 .. 3) {
        $self->{port} //= Idadmin::Test::free_port();
        $self->_configure;
        $self->{pid} = Idadmin::Test::daemon([bindir() . '/postgres', '-D', $self->{data}],
            user => user(), log => $self->{log}, cwd => $self->{base},
            env => { FAKETIME => undef },    # as in with-pg.sh
            stop_signal => 'QUIT');    # its data is not needed after the script
        my $ready = Idadmin::Test::within(
            sub { Idadmin::Test::ended($self->{pid}) || $self->_answers });
        return $self if $ready && !Idadmin::Test::ended($self->{pid});
        Idadmin::Test::stop_daemon($self->{pid});
        delete $self->{port};
    }
    die "PostgreSQL does not start:\n" . Idadmin::Test::slurp($self->{log});
}

sub _configure {
    my ($self) = @_;
    Idadmin::Test::spew("$self->{data}/postgresql.auto.conf", <<"CONF");
listen_addresses = '127.0.0.1'
port = $self->{port}
unix_socket_directories = '$self->{sockets}'
max_connections = 200
fsync = on
synchronous_commit = on
shared_buffers = 32MB
log_min_messages = warning
$self->{conf}
CONF
    Idadmin::Test::give_to(user(), "$self->{data}/postgresql.auto.conf");
}

# Other extra lines, read by the running server.
sub reconfigure {
    my ($self, $conf) = @_;
    $self->{conf} = $conf;
    $self->_configure;
    kill HUP => $self->{pid};
}

# A standby that follows this server by streaming (a copy of it as it is now), started; from when it
# is there no commit is answered that it does not have. standby($server): created again from this
# one, which is dead.
sub standby {
    my ($self, $other) = @_;
    $other //= (ref $self)->_place;
    Idadmin::Test::run_command(['rm', '-rf', $other->{data}]);
    my $copied = Idadmin::Test::run_command([bindir() . '/pg_basebackup', '-h', $self->{sockets},
        '-p', $self->{port}, '-U', 'idadmin', '-D', $other->{data}, '-X', 'stream', '-c', 'fast',
        '--no-sync'], user => user(), cwd => $self->{base});
    die "pg_basebackup failed:\n$copied->{out}$copied->{err}" if $copied->{exit};
    Idadmin::Test::spew("$other->{data}/standby.signal", '');
    Idadmin::Test::give_to(user(), "$other->{data}/standby.signal");
    $other->{databases} = $self->{databases};
    $other->{conf} = "primary_conninfo = 'host=$self->{sockets} port=$self->{port} user=idadmin "
        . "application_name=standby'\n";
    $other->start;
    $self->reconfigure("synchronous_standby_names = 'standby'\n");
    Idadmin::Test::within(sub { my ($row) = $self->sql('postgres',
        "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"); $row->[0] })
        or die "no standby follows:\n" . Idadmin::Test::slurp($other->{log});
    return $other;
}

sub promote {
    my ($self) = @_;
    my ($row) = $self->sql('postgres', 'SELECT pg_promote()');
    $row->[0] eq 't' or die "not promoted:\n" . Idadmin::Test::slurp($self->{log});
}

# All of its processes at once, as when its machine loses power.
sub kill9 {
    my ($self) = @_;
    my $ours = sub { map { m{/proc/(\d+)/} } grep { (readlink($_) // '') eq $self->{data} }
        glob '/proc/[0-9]*/cwd' };
    kill KILL => $self->{pid}, $ours->();
    $self->stop;
    Idadmin::Test::within(sub { !$ours->() }) or die "PostgreSQL's processes stay\n";
}

# As pg_ctl -w knows it: the server writes its state into its own file. That of one which was killed
# names another process, and goes at any moment.
sub _answers {
    my ($self) = @_;
    my $state = eval { Idadmin::Test::slurp("$self->{data}/postmaster.pid") } // '';
    return $state =~ /\A$self->{pid}\n.*^(?:ready|standby)\s*$/ms;
}

# stop(): fast; stop('QUIT'): like a crash, with recovery at the next start.
sub stop {
    my ($self, $signal) = @_;
    $_->finish for values %{ delete($self->{sessions}{$$}) // {} };
    Idadmin::Test::stop_daemon(delete $self->{pid}, $signal // 'INT') if $self->{pid};
}

# A fresh, empty database; returns its name.
sub create_database {
    my ($self) = @_;
    # A long run uses numbers of processes again.
    my $name = join '_', 'idadmin', $$, $^T, ++$self->{databases};
    $self->sql('postgres',
        "CREATE DATABASE $name TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'");
    return $name;
}

# A user with one role and nothing else; created at the first call.
sub user_with {
    my ($self, $role) = @_;
    my $user = "${role}_user";
    $self->sql('postgres', "CREATE ROLE $user LOGIN IN ROLE $role")
        if !$self->{users}{$user}++;
    return $user;
}

# DSN as the programs take it, over the socket (tcp => 1: over 127.0.0.1; beside => SERVER:
# whichever of the two takes writes), as this user.
sub dsn {
    my ($self, $database, %how) = @_;
    my @servers = ($self, $how{beside} // ());
    my $host = join ',', map { $how{tcp} ? '127.0.0.1' : $_->{sockets} } @servers;
    my $port = join ',', map { $_->{port} } @servers;
    my $user = $how{user} // 'idadmin';
    return "pgsql:host=$host port=$port user=$user dbname=$database"
        . (@servers > 1 ? ' target_session_attrs=read-write' : '');
}

# Runs SQL through psql; returns rows as array references of text (NULL is undef).
sub sql {
    my ($self, $database, $statement) = @_;
    my $sessions = $self->{sessions}{$$} //= {};    # a forked process has its own
    my $text = "$statement\n;\n\\echo $Idadmin::Test::Session::end\n";
    while (1) {
        my $kept = $sessions->{$database};
        $sessions->{$database} //= Idadmin::Test::Session->new([bindir() . '/psql', '-X', '-q',
            '-A', '-t', '-F', $Idadmin::Test::Session::value, '-R', $Idadmin::Test::Session::row,
            '-P', "null=$Idadmin::Test::Session::null", '-v', 'ON_ERROR_STOP=1',
            '-h', $self->{sockets}, '-p', $self->{port}, '-U', 'idadmin', '-d', $database, '-f',
            '-']);
        my $rows = $sessions->{$database}->rows($text);
        return @$rows if $rows;
        my $complaints = delete($sessions->{$database})->finish;
        # Again if it was kept and its connection was cut meanwhile, as tests do to all of a server.
        die "psql: $complaints\n$statement\n"
            if !$kept || $complaints !~ /terminating connection|server closed the connection/;
    }
}

1;
