package Idadmin::Test::PostgreSQL;
# A PostgreSQL server of our own in the test's temporary directory, with fsync on; fresh databases
# on demand.
use strict;
use warnings;
use Idadmin::Test ();

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

# new(conf => "extra lines for postgresql.conf")
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/pg' . ++our $count;
    my $self = bless { base => $base, data => "$base/data", sockets => "$base/s",
        log => "$base/log", conf => $how{conf} // '' }, $class;
    mkdir $base or die "$base: $!\n";
    mkdir $self->{sockets};
    chmod 0755, $base, $self->{sockets};
    Idadmin::Test::give_to(user(), $base, $self->{sockets});
    my $made = Idadmin::Test::run_command([bindir() . '/initdb', '-D', $self->{data}, '-U',
        'idadmin', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8'],
        user => user(), cwd => $base);
    die "initdb failed:\n$made->{out}$made->{err}" if $made->{exit};
    return $self->start;
}

# The server of this script, started at first use.
sub shared {
    our $shared //= __PACKAGE__->new;
    return $shared;
}

sub start {
    my ($self) = @_;
    for (1 .. 3) {
        $self->{port} //= Idadmin::Test::free_port();
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
        $self->{pid} = Idadmin::Test::daemon([bindir() . '/postgres', '-D', $self->{data}],
            user => user(), log => $self->{log}, stop_signal => 'INT', cwd => $self->{base});
        my $ready = Idadmin::Test::wait_until(30,
            sub { Idadmin::Test::ended($self->{pid}) || $self->_answers });
        return $self if $ready && !Idadmin::Test::ended($self->{pid});
        Idadmin::Test::stop_daemon($self->{pid});
        delete $self->{port};
    }
    die "PostgreSQL does not start:\n" . Idadmin::Test::slurp($self->{log});
}

sub _answers {
    my ($self) = @_;
    return 0 if !-S "$self->{sockets}/.s.PGSQL.$self->{port}";
    return Idadmin::Test::run_command([bindir() . '/pg_isready', '-q', '-h', $self->{sockets}, '-p',
        $self->{port}])->{exit} == 0;
}

# stop(): fast; stop('QUIT'): like a crash, with recovery at the next start.
sub stop {
    my ($self, $signal) = @_;
    Idadmin::Test::stop_daemon(delete $self->{pid}, $signal // 'INT', 30) if $self->{pid};
}

# A fresh, empty database; returns its name.
sub create_database {
    my ($self) = @_;
    my $name = 'idadmin' . ++$self->{databases};
    $self->sql('postgres',
        "CREATE DATABASE $name TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'");
    return $name;
}

# A user who has a role and nothing else; made when somebody asks first.
sub user_with {
    my ($self, $role) = @_;
    my $user = "${role}_user";
    $self->sql('postgres', "CREATE ROLE $user LOGIN IN ROLE $role")
        if !$self->{users}{$user}++;
    return $user;
}

# DSN as the programs take it, over the socket (tcp => 1: over 127.0.0.1), as this user.
sub dsn {
    my ($self, $database, %how) = @_;
    my $host = $how{tcp} ? '127.0.0.1' : $self->{sockets};
    my $user = $how{user} // 'idadmin';
    return "pgsql:host=$host port=$self->{port} user=$user dbname=$database";
}

# Runs SQL through psql; returns rows as array references of text (NULL is undef).
sub sql {
    my ($self, $database, $statement) = @_;
    my $result = Idadmin::Test::run_command([bindir() . '/psql', '-X', '-q', '-A', '-t', '-F',
        "\x1f", '-R', "\x1e", '-P', "null=\x1d", '-v', 'ON_ERROR_STOP=1',
            '-h', $self->{sockets}, '-p', $self->{port}, '-U', 'idadmin', '-d', $database, '-f',
            '-'], stdin => $statement);
    die "psql: $result->{err}\n$statement\n" if $result->{exit};
    $result->{out} =~ s/\n\z//;
    return map { [map { $_ eq "\x1d" ? undef : $_ } split /\x1f/, $_, -1] } split /\x1e/,
        $result->{out};
}

1;
