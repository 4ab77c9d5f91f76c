package Idadmin::Test::Httpd;
# The distribution's httpd with the event MPM and several children, on free ports, with mod_idadmin
# from the build directory. Its error log is checked when it stops: an unexpected line of level warn
# or above fails the test.
use strict;
use warnings;
use Digest::SHA ();
use Idadmin::Test ();
use Idadmin::Test::Http ();
use Idadmin::Test::Tls ();
use Time::HiRes ();

my $locations = <<'CONF';
<Location "/v1/api">
    SetHandler idadmin-rest
    AuthType IdAdmin
    Require valid-user
</Location>
<Location "/v1/openapi.json">
    SetHandler idadmin-openapi
    Require all granted
</Location>
<Location "/mcp">
    SetHandler idadmin-mcp
    AuthType IdAdmin
    Require valid-user
    IdAdminAllowOrigin https://assistant.example
</Location>
<LocationMatch "^/\.well-known/(oauth-|openid-configuration)">
    SetHandler idadmin-absent
    Require all granted
</LocationMatch>
CONF

sub skip_reason {
    my $httpd = Idadmin::Test::build_config()->{httpd};
    return -x $httpd ? '' : "$httpd is not there";
}

# new(store => DSN, spool => DIR, ...); further options:
#   module => 0            without mod_idadmin
#   rate_limits => {...}   IdAdminRateLimit by kind; company and address are off unless given here
#   server => TEXT         more server-wide lines         locations => TEXT   instead of the usual
#                          Locations
#   console => 1           the console: pages and API; console => TEXT: further directives for it
#   deflate => 1           loads mod_deflate and mod_brotli, for `server`
#   tls => 1               also listens with TLS and HTTP/2 on tls_port
#   log_level => TEXT      [warn idadmin:debug]           children => N [3]   threads => N [25]
#   start => 0             do not start yet               env => {...}
#   user => UID            httpd itself runs as this user, not as root
#   mode => TEXT           [-DFOREGROUND] how httpd is started; -X: one process that serves
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/httpd' . ++our $count;
    for my $dir ($base, "$base/run", "$base/htdocs") {
        mkdir $dir or die "$dir: $!\n";
        chmod 0755, $dir;
        Idadmin::Test::give_to($how{user}, $dir);
    }
    # Same size as the handler that benchmarks compare with: a fixed JSON of 300 bytes.
    my $fixed = '{"data":{"fixed":"' . 'x' x (300 - 21) . '"}}';
    Idadmin::Test::spew("$base/htdocs/fixed.json", $fixed);
    Idadmin::Test::spew("$base/mime.types", "application/json json\ntext/html html\ntext/css css\n"
        . "text/javascript js\nimage/svg+xml svg\n");
    my $self = bless { base => $base, expected => [], read => 0, %how }, $class;
    Idadmin::Test::at_end(sub { $self->{started} ? $self->unexpected_log : () });
    return ($how{start} // 1) ? $self->start : $self;
}

sub base      { return $_[0]{base} }
sub port      { return $_[0]{port} }
sub tls_port  { return $_[0]{tls_port} }
sub url       { return "http://127.0.0.1:$_[0]{port}" }
sub tls_url   { return "https://127.0.0.1:$_[0]{tls_port}" }
sub error_log { return "$_[0]{base}/error.log" }
sub access_log { return "$_[0]{base}/access.log" }
sub pid       { return $_[0]{pid} }

# The answer of a request, which the block makes. Where it is 503 because the store of a busy
# machine was late, the request is made again, as a client does; a 503 at once, without a late store
# in the log, is the answer. 429 then: what was answered 503 may still have its place.
my $LATE = 2;    # seconds; the shortest patience with a store is 3

sub until_served {
    my ($self, $ask) = @_;
    my $answer = $ask->();
    return $answer if $answer->{status} != 503 || ($answer->{seconds} < $LATE
        && !Idadmin::Test::store_was_late(Idadmin::Test::slurp($self->error_log)));
    Idadmin::Test::soon(60, sub { $answer = $ask->(); $answer->{status} !~ /^(?:429|503)$/ });
    return $answer;
}

# A raw client of its own connection.
sub client { my ($self, %how) = @_; return Idadmin::Test::Http->new($self->{port}, %how) }

sub _load {
    my ($self, $wanted) = @_;
    my $config  = Idadmin::Test::build_config();
    my %builtin = map { $_ => 1 } $self->_builtin;
    return join '', map {
        my $file = "$config->{modules}/mod_$_.so";
        $builtin{$_} ? '' : -e $file ? "LoadModule ${_}_module $file\n"
            : die "$file is not there\n";
    } @$wanted;
}

sub _builtin {
    our @builtin;
    if (!@builtin) {
        my $list = Idadmin::Test::run_command([Idadmin::Test::build_config()->{httpd}, '-l']);
        @builtin = $list->{out} =~ /^\s*mod_(\w+)\.c$/mg;
    }
    return @builtin;
}

my @notes = qw(op company user label task);    # of a request, for the access log

sub _configuration {
    my ($self) = @_;
    my ($user, $group, $writer) = $self->{user} ? () : (Idadmin::Test::web_user(),
        Idadmin::Test::runtime_user(), $self->{writer} // Idadmin::Test::writer_user());
    my $children = $self->{children} // 3;
    my $threads  = $self->{threads} // 25;
    my $workers  = $children * $threads;
    my $limit    = $children + 3;
    my $most     = $limit * $threads;
    # After a graceful restart children of before may be slow to leave: places for them as well.
    my $places   = 2 * $limit;
    my @modules  = qw(mpm_event authn_core authz_core authz_host authz_user auth_basic authn_file
        alias mime dir headers setenvif status log_config unixd);
    push @modules, qw(socache_shmcb ssl http2) if $self->{tls};
    push @modules, qw(filter deflate brotli) if $self->{deflate};
    my $text = "ServerRoot $self->{base}\n" . $self->_load(\@modules);
    my $module = $self->{user} ? Idadmin::Test::program('mod_idadmin.so')
        : Idadmin::Test::build_dir() . '/mod_idadmin.so';
    $text .= "LoadModule idadmin_module $module\n" if $self->{module} // 1;
    $text .= "User $user\nGroup #$group\n" if $user;
    $text .= <<"CONF";
ServerName 127.0.0.1
Listen 127.0.0.1:$self->{port}
PidFile $self->{base}/run/pid
DefaultRuntimeDir $self->{base}/run
Mutex file:$self->{base}/run default
DocumentRoot $self->{base}/htdocs
ErrorLog $self->{base}/error.log
LogLevel @{[ $self->{log_level} // ($self->{module} // 1 ? 'warn idadmin:debug' : 'warn') ]}
LogFormat "%h %u \\"%r\\" %>s %B %D @{[ join ' ', map {"$_=%{idadmin-$_}n"} @notes ]}" idadmin
CustomLog $self->{base}/access.log idadmin
StartServers $children
ServerLimit $places
ThreadLimit $threads
ThreadsPerChild $threads
MaxRequestWorkers $most
MinSpareThreads $workers
MaxSpareThreads $most
MaxConnectionsPerChild 0
GracefulShutdownTimeout 10
KeepAlive On
KeepAliveTimeout 30
MaxKeepAliveRequests 0
Timeout 60
TypesConfig $self->{base}/mime.types
<Directory "$self->{base}/htdocs">
    Require all granted
</Directory>
Alias /fixed $self->{base}/htdocs/fixed.json
CONF
    if ($self->{module} // 1) {
        my %limits = (company => 'off', address => 'off', %{ $self->{rate_limits} // {} });
        $text .= "IdAdminStore $self->{store}\n" =~ s/^(IdAdminStore )(.* .*)$/$1"$2"/r
            if defined $self->{store};
        $text .= "IdAdminAuditSpool $self->{spool}\n" if defined $self->{spool};
        $text .= "IdAdminWriter #$writer:#$writer:#$group\n" if $user;
        $text .= 'IdAdminWriterProgram ' . $self->_writer_program . "\n";
        $text .= "IdAdminSealKey \"$self->{seal_key}\"\n" if defined $self->{seal_key};
        $text .= "IdAdminWriterStore \"$self->{writer_store}\"\n" if defined $self->{writer_store};
        $text .= "IdAdminRateLimit $_ $limits{$_}\n" for sort keys %limits;
        $text .= $self->{locations} // $locations;
        $text .= $self->_console if $self->{console};
    }
    $text .= "$self->{server}\n" if defined $self->{server};
    if ($self->{tls}) {
        my $tls = Idadmin::Test::Tls::files();
        $text .= <<"CONF";
SSLSessionCache shmcb:$self->{base}/run/ssl_scache(512000)
Listen 127.0.0.1:$self->{tls_port}
<VirtualHost 127.0.0.1:$self->{tls_port}>
    ServerName 127.0.0.1:$self->{tls_port}
    Protocols h2 http/1.1
    SSLEngine on
    SSLCertificateFile $tls->{cert}
    SSLCertificateKeyFile $tls->{key}
</VirtualHost>
CONF
    }
    return $text;
}

# People who may sign in to the console: each has one role in every company, "nobody" none, "eva" is
# a person of the directory and an approver. All have the password "secret".
our @console_users
    = qw(viewer operator approver key-administrator auditor administrator nobody eva);

# httpd gives its writer no environment: what is preloaded into every program of a run has to be put
# there by a script.
sub _writer_program {
    my ($self) = @_;
    my $program = Idadmin::Test::program('idadmin-writer');
    return $program if !$ENV{LD_PRELOAD};
    my @names = grep {/^LD_PRELOAD$|^IDADMIN_SLOW$|FAKE/ && !/SHARED/} sort keys %ENV;
    my $script = Idadmin::Test::spew("$self->{base}/writer.sh", join '', "#!/bin/sh\n",
        (map {"export $_='$ENV{$_}'\n"} @names), "exec '$program' \"\$@\"\n");
    chmod 0755, $script;
    return $script;
}

sub _console {
    my ($self) = @_;
    my $hash = '{SHA}' . Digest::SHA::sha1_base64('secret') . '=';
    Idadmin::Test::spew("$self->{base}/users", join '', map {"$_:$hash\n"} @console_users);
    my $roles = join '', map {"    IdAdminConsoleRole $_ * \"%{REMOTE_USER} == '$_'\"\n"}
        @console_users[0 .. 5];
    # A copy, as an installation makes one: httpd's children may not be able to reach the source.
    my $pages = "$self->{base}/console";
    -d $pages or system('cp', '-R', Idadmin::Test::src_dir() . '/console', $pages) == 0
        or die "cannot copy the console to $pages\n";
    my $more  = $self->{console} eq '1' ? '' : $self->{console};
    return <<"CONF";
Alias /console $pages
<Directory "$pages">
    Require all granted
    DirectoryIndex index.html
</Directory>
<Location "/console/api">
    SetHandler idadmin-console
    AuthType Basic
    AuthName console
    AuthBasicProvider file
    AuthUserFile $self->{base}/users
    Require valid-user
$roles$more
</Location>
CONF
}

sub configuration_file { return "$_[0]{base}/httpd.conf" }

# Changes options and rewrites the configuration; applies from the next start or graceful restart
# on.
sub reconfigure {
    my ($self, %how) = @_;
    @$self{ keys %how } = values %how;
    Idadmin::Test::spew($self->configuration_file, $self->_configuration);
    return $self;
}

# "httpd -t" with this configuration: { exit, out, err }
sub configtest {
    my ($self) = @_;
    $self->{$_} //= Idadmin::Test::free_port() for qw(port tls_port);
    $self->reconfigure;
    return Idadmin::Test::run_command([Idadmin::Test::build_config()->{httpd}, '-f',
        $self->configuration_file, '-t'],
        preload => 1);
}

sub start {
    my ($self) = @_;
    for my $try (1 .. 3) {
        $self->{$_} //= Idadmin::Test::free_port() for qw(port tls_port);
        $self->reconfigure;
        $self->{generation} = $self->_generations;
        $self->{pid} = Idadmin::Test::daemon([Idadmin::Test::build_config()->{httpd},
            $self->{mode} // '-DFOREGROUND', '-f', $self->configuration_file],
            log => "$self->{base}/output", env => $self->{env}, preload => 1,
            user => $self->{user});
        Idadmin::Test::within(sub { Idadmin::Test::ended($self->{pid}) || $self->_serves });
        if (!Idadmin::Test::ended($self->{pid})) {
            $self->{started} = 1;
            return $self;
        }
        Idadmin::Test::stop_daemon(delete $self->{pid});
        last if Idadmin::Test::slurp("$self->{base}/output") !~ /Address already in use/;
        delete @$self{qw(port tls_port)};
    }
    die "httpd does not start:\n" . Idadmin::Test::slurp("$self->{base}/output")
        . (-e $self->error_log ? Idadmin::Test::slurp($self->error_log) : '');
}

sub _serves {
    my ($self) = @_;
    return scalar _listening($self->{pid}) if ($self->{mode} // '') eq '-X';
    return $self->_generations > $self->{generation}
        && $self->children >= ($self->{children} // 3);
}

sub stop {
    my ($self, $signal) = @_;
    return if !$self->{pid};
    $self->_settle;
    my $status = Idadmin::Test::stop_daemon(delete $self->{pid}, $signal // 'TERM');
    Test::More::diag("httpd did not stop within its time")
        if $status && ($status & 127) == 9 && ($signal // '') ne 'KILL';
}

# At TERM the event MPM's main thread looks into the sockets its workers have in hand; when a worker
# frees one at that moment the child dies of it (close_worker_sockets, 2.4.71), which would look
# like a fault of the module. So what clients have closed is let come to its end first: until each
# socket of a child is a connection that stands, listens, or is none of TCP's. (One that both sides
# have shut, which a child still has in hand, is in no list of the kernel's.) An idle child may keep
# one until its next connection: a socket that several looks find unchanged is not in use.
sub _settle {
    my ($self) = @_;
    my ($before, $same) = ('', 0);
    Idadmin::Test::soon(20, sub {
        my @held = map { readlink($_) // '' } map { glob "/proc/$_/fd/*" } $self->children;
        my %steady;
        for my $line (map { split /\n/, Idadmin::Test::slurp($_) } grep { -e }
            map {"/proc/net/$_"} qw(tcp tcp6)) {
            my (undef, undef, undef, $state, @more) = split ' ', $line;
            $steady{"socket:[$more[5]]"} = 1 if $state =~ /^0[1A]$/;
        }
        /^(?:\S+ ){6}\s*(\d+)/ and $steady{"socket:[$1]"} = 1
            for split /\n/, Idadmin::Test::slurp('/proc/net/unix');
        my $shut = join ' ', grep { /^socket:/ && !$steady{$_} } @held;
        $same   = $shut eq $before ? $same + 1 : 0;
        $before = $shut;
        return !length $shut || $same >= 5;
    });
    Time::HiRes::sleep(0.1);
}

sub restart { my ($self) = @_; $self->stop; return $self->start }

# Each generation says once that it is resuming normal operations.
sub _generations {
    my ($self) = @_;
    return 0 if !-e $self->error_log;
    my $count = () = Idadmin::Test::slurp($self->error_log) =~ /resuming normal operations/g;
    return $count;
}

# Those of these processes that accept connections.
sub _listening {
    my (@pids) = @_;
    my %listens;
    for my $line (map { split /\n/, Idadmin::Test::slurp($_) } grep { -e }
        map {"/proc/net/$_"} qw(tcp tcp6)) {
        my (undef, undef, undef, $state, @more) = split ' ', $line;
        $listens{"socket:[$more[5]]"} = 1 if $state eq '0A';
    }
    return grep { grep { $listens{ readlink($_) // '' } } glob "/proc/$_/fd/*" } @pids;
}

# Graceful restart; returns when the new generation serves, and no child of the old one accepts a
# connection any more.
sub graceful {
    my ($self) = @_;
    my $before = $self->_generations;
    my %old = map { $_ => 1 } $self->children;
    kill USR1 => $self->{pid};
    Idadmin::Test::within(sub {
        $self->_generations > $before && grep({ !$old{$_} } $self->children) >= 1
            && !_listening(keys %old);
    }) or die "httpd did not come back from its graceful restart\n";
    return $self;
}

# Process ids of the serving children.
sub children {
    my ($self, $what) = @_;
    $what //= qr/^(?!idadmin-writer$)/;
    my @children;
    for my $file (glob '/proc/[0-9]*/stat') {
        open my $in, '<', $file or next;
        my ($pid, $name, $state, $parent) = (<$in> // '') =~ /^(\d+) \((.*)\) (\S) (\d+)/ or next;
        push @children, $pid if $parent == $self->{pid} && $state ne 'Z' && $name =~ $what;
    }
    @children = sort { $a <=> $b } @children;
    return @children;
}

# Process ids of the writers: for each generation one that serves and one standby.
sub writers { my ($self) = @_; return $self->children(qr/^idadmin-writer$/) }

# kill -9 (or another signal) for one child, at random unless named; returns its process id.
sub kill_child {
    my ($self, %how) = @_;
    my @children = $self->children or return undef;
    my $pid = $how{pid} // $children[rand @children];
    kill $how{signal} // 'KILL', $pid;
    return $pid;
}

# -- logs

# Lines like this are no surprise in this test.
sub expect_log { my ($self, @patterns) = @_; push @{ $self->{expected} }, @patterns }

# Does a line match by now? And: is there one sooner or later?
sub log_has {
    my ($self, $pattern) = @_;
    return Idadmin::Test::slurp($self->error_log) =~ $pattern ? 1 : 0;
}

sub log_gets {
    my ($self, $pattern) = @_;
    return Idadmin::Test::within(sub { $self->log_has($pattern) }) ? 1 : 0;
}

# Lines of warn or worse, crashed children, and text that is not a line of httpd, unless a test
# expected them.
sub unexpected_log {
    my ($self) = @_;
    my @lines = -e $self->error_log ? split /\n/, Idadmin::Test::slurp($self->error_log) : ();
    push @lines, map {"(stderr) $_"} split /\n/, -e "$self->{base}/output"
        ? Idadmin::Test::slurp("$self->{base}/output") : '';
    my $log = join "\n", @lines;
    my @bad;
    for my $line (@lines) {
        next if $line =~ /^\s*$/ || $line =~ /^\[[^\]]+\] \[[\w-]*:(?:notice|info|debug|trace\d)\]/
            && $line !~ /exit signal (?!Killed|Terminated)/;
        # of the machine: its httpd was built with a newer OpenSSL than it has
        next if $line =~ /\bAH01882: /;
        # on a busy machine children take longer to end than the parent of them all likes to wait
        next if $line =~ /\bAH00045: /;
        next if Idadmin::Test::late($line, $log) || grep { $line =~ $_ } @{ $self->{expected} };
        push @bad, "httpd log, unexpected: $line";
    }
    return @bad > 20 ? (@bad[0 .. 19], '... and ' . (@bad - 20) . ' more') : @bad;
}

sub access_lines { my ($self) = @_; return split /\n/, Idadmin::Test::slurp($self->access_log) }

1;
