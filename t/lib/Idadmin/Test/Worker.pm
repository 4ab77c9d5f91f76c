package Idadmin::Test::Worker;
# idadmin-worker as a daemon or run once.
use strict;
use warnings;
use Idadmin::Test ();

# new(store => DSN, spool => DIR, options => ['--threads', 2], seal_key => FILE, env => {...}, start
# => 0, under => [command that goes before])
sub new {
    my ($class, %how) = @_;
    our $count++;
    my $self = bless { log => Idadmin::Test::tempdir() . "/worker$count.log", expected => [],
        %how }, $class;
    Idadmin::Test::at_end(sub { $self->unexpected_log });
    return ($how{start} // 1) ? $self->start : $self;
}

# An idadmin.conf that only says who the writer is; more lines.
sub config_file {
    my (@lines) = @_;
    unshift @lines, 'writer_group = ' . (Idadmin::Test::writer_user() // 'none');
    our %config_files;
    return $config_files{ join "\n", @lines } //= do {
        my $name = Idadmin::Test::tempdir() . '/idadmin' . keys(%config_files) . '.conf';
        my $file = Idadmin::Test::spew($name, join '', map {"$_\n"} @lines);
        chmod 0644, $file or die "chmod $file: $!\n";
        $file;
    };
}

sub command {
    my ($self, @more) = @_;
    return [@{ $self->{under} // [] }, Idadmin::Test::program('idadmin-worker'), '--config',
        config_file(), '--store', $self->{store}, '--spool', $self->{spool},
        '--web-user', Idadmin::Test::web_user() // 'nobody',
        ($self->{seal_key} ? ('--seal-key', $self->{seal_key}) : ()), @{ $self->{options} // [] },
        @more];
}

sub _how {
    my ($self) = @_;
    return (user => Idadmin::Test::runtime_user(), env => $self->{env});
}

sub start {
    my ($self) = @_;
    $self->{pid} = Idadmin::Test::daemon($self->command, log => $self->{log}, $self->_how);
    return $self;
}

# The daemon's process; the one that works is its child.
sub working { my ($self) = @_;
    return (split ' ', Idadmin::Test::slurp("/proc/$self->{pid}/task/$self->{pid}/children"))[0] }
sub pid     { return $_[0]{pid} }
sub running { my ($self) = @_; return $self->{pid} && !Idadmin::Test::ended($self->{pid}) ? 1 : 0 }

# SIGTERM (or another signal); returns the wait status: 0 is a clean end.
sub stop {
    my ($self, $signal) = @_;
    return undef if !$self->{pid};
    return Idadmin::Test::stop_daemon(delete $self->{pid}, $signal // 'TERM');
}

sub kill9 { my ($self) = @_; return $self->stop('KILL') }
# Signals that a program cannot forward are sent to all of its processes. STOP returns when every
# thread is stopped.
sub signal {
    my ($self, $signal) = @_;
    my $sent = kill $signal, $signal =~ /^(?:STOP|CONT)$/ ? -$self->{pid} : $self->{pid};
    if ($signal eq 'STOP') {
        my @all = ($self->{pid}, $self->working // ());
        Idadmin::Test::within(sub { Idadmin::Test::stands_still(@all) });
    }
    return $sent;
}

# Runs the program to its end, e.g. run('--once') or run('--check', 'nordic'): { exit, signal, out,
# err }.
sub run {
    my ($self, @options) = @_;
    my $result = Idadmin::Test::run_command($self->command(@options), $self->_how);
    return $result;
}

sub log_text { my ($self) = @_; return -e $self->{log} ? Idadmin::Test::slurp($self->{log}) : '' }

# Does a line match by now? And: is there one sooner or later?
sub log_has {
    my ($self, $pattern) = @_;
    return $self->log_text =~ $pattern ? 1 : 0;
}

sub log_gets {
    my ($self, $pattern) = @_;
    return Idadmin::Test::within(sub { $self->log_has($pattern) }) ? 1 : 0;
}

sub expect_log { my ($self, @patterns) = @_; push @{ $self->{expected} }, @patterns }

# Lines of warn or error (each carries a log id) that the test did not expect.
sub unexpected_log {
    my ($self) = @_;
    my $log = $self->log_text;
    my @bad = grep { my $line = $_;
        $line =~ /\bIDA\d{4}\b/ && !Idadmin::Test::late($line, $log)
            && !grep { $line =~ $_ } @{ $self->{expected} } } split /\n/, $log;
    return map {"worker log, unexpected: $_"} @bad > 20 ? @bad[0 .. 19] : @bad;
}

1;
