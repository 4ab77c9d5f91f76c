package Idadmin::Test;
# Needed by every test: paths of build and sources, a temporary directory, ports, processes that are
# always ended, polling, parallel callers, and the loop over both database engines.
use strict;
use warnings;
# loaded first, so that our END block runs before its own and can still fail the test
use Test::More ();
use Cpanel::JSON::XS ();
use Cwd ();
use Exporter 'import';
use File::Basename ();
use File::Path ();
use File::Temp ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use JSON::PP ();    # JSON::PP::true and false of programs
use List::Util ();
use POSIX ();
use Storable ();
use Time::HiRes ();

our @EXPORT =
    qw(build_dir src_dir build_config tempdir free_port within slurp spew json_text json_data
    in_parallel parameter run_command for_each_engine on_one_engine secret_file operation_rows);

# -- places

sub src_dir {
    return $ENV{IDADMIN_SRC} // Cwd::abs_path(File::Basename::dirname(__FILE__) . '/../../..');
}

sub build_dir { return $ENV{IDADMIN_BUILD} // src_dir() }

# What configure found (config.perl): httpd, modules, sanitizers, preload, version, ...
sub build_config {
    our $config;
    if (!$config) {
        my $file = build_dir() . '/config.perl';
        $config = do $file or die "cannot read $file: " . ($@ || $!)
            . "; run configure, or set IDADMIN_BUILD\n";
    }
    return $config;
}

# One directory a script, removed at its end unless IDADMIN_KEEP is set. Servers under other users
# may enter it.
sub tempdir {
    our $tempdir;
    if (!$tempdir) {
        my ($name) = File::Basename::basename($0) =~ /^([\w-]+)/;
        $tempdir = File::Temp->newdir('idadmin-' . ($name // 'test') . '-XXXXXX', TMPDIR => 1,
            CLEANUP => !$ENV{IDADMIN_KEEP});
        chmod 0755, "$tempdir";
        mkdir "$tempdir/sanitizer";
        chmod 01777, "$tempdir/sanitizer";
        mkdir "$tempdir/programs";
        Test::More::diag("keeping $tempdir") if $ENV{IDADMIN_KEEP};
    }
    return "$tempdir";
}

# Uses this directory, emptied first, instead of a temporary one, and leaves it when the script ends
# (the demo's run/).
sub use_directory {
    my ($dir) = @_;
    our $tempdir and die "use_directory comes too late\n";
    File::Path::remove_tree($dir);
    for my $made ($dir, "$dir/sanitizer", "$dir/programs") {
        mkdir $made or die "$made: $!\n";
        chmod $made eq "$dir/sanitizer" ? 01777 : 0755, $made;
    }
    $tempdir = Cwd::abs_path($dir);
    return $tempdir;
}

# Path of an installed program, also where only administrators' shells look; undef: not installed.
sub program_path { my ($name) = @_;
    return (grep { -x } map {"$_/$name"} split(/:/, $ENV{PATH}), '/usr/sbin', '/usr/libexec',
    '/usr/bin')[0] }

# Below the kernel's range for outgoing connections, so that no other process gets it between this
# check and the server's bind.
sub free_port {
    our %taken;
    for (1 .. 1000) {
        my $port = 10000 + int rand 22000;
        # A name of its own for each port of the machine, held until this program ends: no other
        # program gets the port while a server of ours is stopped.
        $taken{$port} = IO::Socket::UNIX->new(Local => "\0idadmin-test-port-$port", Listen => 1)
            or next;
        my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port,
            Proto => 'tcp', Listen => 1) or next;
        close $socket;
        return $port;
    }
    die "no free port on 127.0.0.1\n";
}

# -- users

# As root, worker and idadminctl run as one unprivileged user, httpd's children as another and the
# writer as a third, as on a real server: both are in the first one's group, and the first is in the
# writer's. Else all run as ourselves. The first and the third are numbers without an account: no
# user needs to be created for a test.
sub runtime_user { return (_free_users())[0] }
sub writer_user  { return (_free_users())[1] }
sub web_user     { return $> == 0 ? 'www-data' : undef }

sub _free_users {
    return (undef, undef) if $> != 0;
    our @free;
    @free = (grep { !defined getpwuid $_ && !defined getgrgid $_ } 64700 .. 64799)[0, 1] if !@free;
    return defined $free[1] ? @free : die "no user ID is free\n";
}

# Further groups of such a user.
sub _groups_of {
    my ($user) = @_;
    return $user eq runtime_user() ? writer_user()
        : $user eq web_user() || $user eq writer_user() ? runtime_user() : ();
}

sub _ids {
    my ($user) = @_;
    return ($user, $user) if $user =~ /^\d+$/;
    my (undef, undef, $uid, $gid) = getpwnam $user or die "there is no user $user\n";
    return ($uid, $gid);
}

sub as_user {
    my ($user) = @_;
    return () if !$user || $> != 0;
    my ($uid, $gid) = _ids($user);
    my ($more) = _groups_of($user);
    return ('setpriv', "--reuid=$uid", "--regid=$gid",
        defined $more ? "--groups=$more" : '--clear-groups', '--');
}

# The same of this process, without a program in between: each costs as much as many a command.
sub _take_on {
    my ($user) = @_;
    return if !$user || $> != 0;
    my ($uid, $gid) = _ids($user);
    # a list of the group itself alone is no further group
    $) = join ' ', $gid, _groups_of($user) || $gid;
    POSIX::setgid($gid) && POSIX::setuid($uid) && $> == $uid or die "to become $user: $!\n";
}

sub give_to {
    my ($user, @files) = @_;
    return if !$user || $> != 0;
    chown _ids($user), @files or die "chown $user @files: $!\n";
}

# A directory as doc/install.md makes it: 'store' is the worker's, 'spool' is written
# by both.
sub make_layout {
    my ($kind, $dir) = @_;
    mkdir $dir or die "$dir: $!\n";
    give_to(runtime_user(), $dir);
    chmod $kind eq 'spool' ? 02770 : 02750, $dir or die "chmod $dir: $!\n";
    return $dir;
}

# A built program; as root a copy, because the checkout may lie where the runtime user cannot go
# (/root).
sub program {
    my ($name) = @_;
    my $built = build_dir() . "/$name";
    -x $built or die "$built is not built; run make\n";
    return $built if $> != 0;
    my $copy = tempdir() . '/programs/' . File::Basename::basename($name);
    if (!-e $copy) {
        system('cp', $built, $copy) == 0 or die "cannot copy $built\n";
        chmod 0755, $copy;
    }
    return $copy;
}

# A file only its owner reads, as secret files must be.
sub secret_file {
    my ($name, $text) = @_;
    my $file = $name =~ m{^/} ? $name : tempdir() . "/$name";
    spew("$file.new", $text);
    chmod 0600, "$file.new" or die "chmod $file.new: $!\n";
    give_to(runtime_user(), "$file.new");
    rename "$file.new", $file or die "rename $file.new: $!\n";    # a worker may be reading it
    return $file;
}

# -- files and JSON

sub slurp {
    my ($file) = @_;
    open my $in, '<:raw', $file or die "$file: $!\n";
    local $/;
    return scalar(<$in>) // '';
}

# Rows of the operation table as the sources have them: symbol -> text, with the words that stand
# for several members written out.
sub operation_rows {
    my %rows;
    for my $file (glob src_dir() . '/core/operation/*/*.c') {
        (my $code = slurp($file)) =~ s/\\\n\s*/ /g;
        my %word = $code =~ /^#define ([A-Z_]+) +(\..*)$/mg;
        while ($code =~ /^const ida_operation (ida_op_\w+) = \{(.*?)^\};/msg) {
            my ($symbol, $row) = ($1, $2);
            $row =~ s/^    ([A-Z_]+),$/"    " . ($word{$1} \/\/ $1) . ','/mge;
            $row =~ s/IDA_READS\(("[^"]+")\)/.method = "GET", .path = $1, IDA_SCOPE_READ/;
            $row =~ s/IDA_WRITES\(("\w+"), ("[^"]+")\)/.method = $1, .path = $2, IDA_SCOPE_WRITE/;
            $rows{$symbol} = $row;
        }
    }
    return \%rows;
}

sub spew {
    my ($file, $text) = @_;
    open my $out, '>:raw', $file or die "$file: $!\n";
    print {$out} $text or die "$file: $!\n";
    close $out or die "$file: $!\n";
    return $file;
}

my $json = Cpanel::JSON::XS->new->utf8->canonical->allow_nonref;
sub json_text { return $json->encode($_[0]) }    # data -> UTF-8 bytes
sub json_data { return $json->decode($_[0]) }    # UTF-8 bytes -> data; dies on bad JSON

# -- how much of it

# The amount of work for a program: parameter(rounds => 12) is 12, or what
# IDADMIN_PARAMETERS="rounds=1000 seed=7" says. "make check" says nothing; t/suite/long.pl does.
sub parameter {
    my ($name, $default) = @_;
    my %given = map { /^(\w+)=(.*)$/ ? ($1 => $2) : die "IDADMIN_PARAMETERS: $_\n" }
        split ' ', $ENV{IDADMIN_PARAMETERS} // '';
    return $given{$name} // $default;
}

# -- waiting and parallel work

# Polls until the block is true and returns its value; undef when it gave up. A slow machine must
# not fail a test, so the limit only says when a test that cannot pass ends: after minutes. A wait
# in vain fails the program, whatever it asserts. Later waits of that program last seconds only.
my $patience = 180;
our @in_vain;

sub within {
    my ($block) = @_;
    my $value = soon($patience, $block);
    if (!$value) {
        push @in_vain, "waited $patience s in vain at " . join ' line ', (caller)[1, 2];
        Test::More::diag($in_vain[-1]);
        $patience = 20;
    }
    return $value;
}

# The same for at most so many seconds, where it may as well not come true: no test may depend on
# it.
# The pauses grow to a quarter of the time where a look is expensive: many looks run a program, and
# waiting alone would keep a processor busy.
sub soon {
    my ($seconds, $block) = @_;
    my $end   = Time::HiRes::time() + $seconds * slowness();
    my $pause = 0.02;
    while (1) {
        my $begun = Time::HiRes::time();
        my $value = $block->();
        return $value if $value;
        my $now = Time::HiRes::time();
        return undef if $now > $end;
        Time::HiRes::sleep($pause);
        my $most = 3 * ($now - $begun);
        $most = $most < 0.1 ? 0.1 : $most > 0.3 ? 0.3 : $most;
        $pause = $pause * 1.25 < $most ? $pause * 1.25 : $most;
    }
}

# fork, dying where it fails; the signals that end the child do so at once. They are blocked until
# then: one that arrives while perl changes its handler is lost ('SIGTERM handler "DEFAULT" not
# defined.'), and the process would live on although it was asked to end.
my @handled = qw(INT TERM HUP);

sub fork_plain {
    my $blocked = POSIX::SigSet->new(map { POSIX->can("SIG$_")->() } @handled);
    my $before  = POSIX::SigSet->new;
    POSIX::sigprocmask(POSIX::SIG_BLOCK(), $blocked, $before);
    my $pid = fork;
    @SIG{@handled} = ('DEFAULT') x @handled if defined $pid && !$pid;
    POSIX::sigprocmask(POSIX::SIG_SETMASK(), $before);
    return $pid // die "fork: $!\n";
}

# Runs $block->($index) in $count processes at once; returns what each returned (a scalar or
# reference), in order. A process that dies makes the caller die.
sub in_parallel {
    my ($count, $block) = @_;
    my @children;
    for my $index (0 .. $count - 1) {
        pipe my $read, my $write or die "pipe: $!\n";
        my $pid = fork_plain();
        if (!$pid) {
            close $read;
            binmode $write;
            srand;
            my $result = eval { { value => scalar $block->($index) } } // { error => $@ || 'died' };
            print {$write} Storable::freeze($result);
            close $write;
            POSIX::_exit(0);
        }
        close $write;
        push @children, [$pid, $read];
    }
    my (@results, @errors);
    for my $child (@children) {
        my ($pid, $read) = @$child;
        binmode $read;
        my $bytes = do { local $/; <$read> };
        waitpid $pid, 0;
        my $result = length($bytes // '') ? Storable::thaw($bytes)
            : { error => "process $pid ended with status $?" };
        push @errors, $result->{error} if exists $result->{error};
        push @results, $result->{value};
    }
    die "in_parallel: $errors[0]" if @errors;
    return @results;
}

# -- commands and daemons

# Every process of a script writes its sanitizer reports into one directory, which is checked when
# the script ends: a report counts whatever the exit status is. The caller's own *SAN_OPTIONS hold
# beside these. httpd is not instrumented: it needs the runtime before everything else, and what its
# pools keep until its end is no leak.
sub _sanitizer_environment {
    my ($preload) = @_;
    return if !build_config()->{sanitizers};
    my $path = tempdir() . '/sanitizer/report';
    my $common = "log_path=$path:exitcode=99";
    # a copy: the checkout may lie where the runtime user cannot go
    my $known  = tempdir() . '/leaks.supp';
    rename spew("$known.$$", slurp(src_dir() . '/t/lib/leaks.supp')), $known if !-e $known;
    my %options = (
        ASAN_OPTIONS  => $common . ':abort_on_error=0:detect_odr_violation=0:detect_leaks='
            . ($preload ? 0 : 1),
        LSAN_OPTIONS  => "suppressions=$known:print_suppressions=0",
        UBSAN_OPTIONS => "$common:print_stacktrace=1",
        TSAN_OPTIONS  => "$common:ignore_noninstrumented_modules=1",
    );
    my %environment = map { ($_ => join ':', grep {length} $ENV{$_} // '', $options{$_}) }
        keys %options;
    $environment{LD_PRELOAD} = build_config()->{preload} if $preload;
    return %environment;
}

# Beside the address sanitizer, that of undefined behaviour heeds no log_path: it writes where
# errors go.
sub _keep_report {
    my ($text) = @_;
    spew(tempdir() . "/sanitizer/errors.$$." . ++our $kept_count, $text)
        if build_config()->{sanitizers} && $text =~ /^\S+:\d+:\d+: runtime error: /m;
}

# How much longer instrumented programs may take: the one factor of every limit on lateness.
sub slowness { return build_config()->{sanitizers} ? 5 : 1 }

# Whether every thread of these processes is stopped: a signal reaches one after the other. The
# state is the field behind the name in brackets.
sub stands_still {
    my @pids = @_;
    return !grep { (eval { slurp($_) } // '') !~ /\) T / }
        map { glob "/proc/$_/task/*/stat" } @pids;
}

# kB of private memory, the mean of these processes without those that have ended; of none at all
# there is no mean.
sub own_memory {
    my @own = map { (eval { slurp("/proc/$_/smaps_rollup") } // '')
        =~ /^Private_Dirty:\s+(\d+)/m ? $1 : () } @_;
    die "no process is left of @_\n" if !@own;
    return List::Util::sum(@own) / @own;
}

# run_command(\@argv, user =>, env => {}, preload => 1 for httpd, stdin =>, timeout => 900) -> {
# exit, signal, out, err }. The time ends what hangs, before the suite ends the whole program.
sub run_command {
    my ($argv, %how) = @_;
    my $base = tempdir() . '/command.' . $$ . '.' . ++our $command_count;
    spew("$base.in", $how{stdin} // '');
    my $pid = fork_plain();
    if (!$pid) {
        become($argv, %how, in => "$base.in", out => "$base.out", err => "$base.err");
    }
    my $timeout = ($how{timeout} // 900) * slowness();
    my $end     = Time::HiRes::time() + $timeout;
    my $pause   = 0.002;
    while (waitpid($pid, POSIX::WNOHANG()) == 0) {
        if (Time::HiRes::time() > $end) {
            kill KILL => -$pid, $pid;
            waitpid $pid, 0;
            die "@$argv: no end after $timeout s\n" . slurp("$base.err");
        }
        Time::HiRes::sleep($pause);
        $pause *= 1.5 if $pause < 0.05;
    }
    my $status = $?;
    my $result = { exit => $status >> 8, signal => $status & 127, out => slurp("$base.out"),
        err => slurp("$base.err") };
    unlink map {"$base.$_"} qw(in out err);
    _keep_report($result->{err});
    return $result;
}

# In the child of fork_plain: own process group, files, environment, user, exec. Never returns.
sub become {
    my ($argv, %how) = @_;
    eval {
        POSIX::setpgid(0, 0);
        $SIG{$_} = 'DEFAULT' for qw(PIPE CHLD);
        my $files = $how{append} ? '>>' : '>';
        open STDIN,  '<',    $how{in} // '/dev/null' or die "$how{in}: $!\n";
        open STDOUT, $files, $how{out}               or die "$how{out}: $!\n";
        open STDERR, $files, $how{err}               or die "$how{err}: $!\n";
        # FAKETIME_SHARED is memory of ours, which another user may not open.
        delete @ENV{ grep {/^(?:PG|LDAP|IDADMIN_STORE|FAKETIME_SHARED|(?:https?|all|no)_proxy)/i}
            keys %ENV };
        my %environment = (_sanitizer_environment($how{preload}), %{ $how{env} // {} });
        while (my ($name, $value) = each %environment) {
            if   (defined $value) { $ENV{$name} = $value }
            else                  { delete $ENV{$name} }
        }
        chdir($how{cwd} // '/');
        umask($how{umask} // 0022);
        _take_on($how{user});
        exec { $argv->[0] } @$argv or die "exec $argv->[0]: $!\n";
    };
    print STDERR $@;
    POSIX::_exit(127);
}

# Daemons by process id; remaining ones are stopped at the end of the script, also after die and
# signals.
our %daemons;
our $owner = $$;
umask 0022;    # servers under other users read what tests write

# daemon(\@argv, log => FILE, user =>, env =>, preload => 1 for httpd, stop_signal => 'TERM') -> pid
sub daemon {
    my ($argv, %how) = @_;
    my $pid = fork_plain();
    become($argv, %how, out => $how{log}, err => $how{log}, append => 1) if !$pid;
    POSIX::setpgid($pid, $pid);
    $daemons{$pid} = { name => $argv->[0], signal => $how{stop_signal} // 'TERM',
        log => $how{log} };
    return $pid;
}

# Has the daemon ended? Its wait status is kept for stop().
sub ended {
    my ($pid) = @_;
    my $daemon = $daemons{$pid} or return 1;
    return 1 if defined $daemon->{status};
    my $got = waitpid $pid, POSIX::WNOHANG();
    $daemon->{status} = $? if $got == $pid;
    $daemon->{status} = -1 if $got == -1;
    return defined $daemon->{status};
}

# Is there a process of this group? One that has ended and whose parent has not asked yet (process 1
# may take seconds) is none; but it looks ended as soon as its first thread is, and the others may
# still be in the middle of a write.
sub _group_lives {
    my ($group) = @_;
    return 0 if !kill 0 => -$group;
    for my $process (glob '/proc/[0-9]*') {
        my ($state, $its) = (eval { slurp("$process/stat") } // '') =~ /\) (\S) \d+ (\d+) /s
            or next;
        my @threads = $its == $group ? glob "$process/task/[0-9]*" : next;
        return 1 if $state ne 'Z' || @threads > 1;
    }
    return 0;
}

# Signals, waits, kills what is left of the process group; returns the wait status.
sub stop_daemon {
    my ($pid, $signal) = @_;
    my $daemon = $daemons{$pid} or return undef;
    kill $signal // $daemon->{signal}, $pid if !ended($pid);
    my $gone = within(sub { ended($pid) });
    kill KILL => -$pid;
    # What it started may outlive it by a moment, and write.
    within(sub { ended($pid) && !_group_lives($pid) });
    my $status = $daemon->{status};
    delete $daemons{$pid};
    _keep_report(slurp($daemon->{log})) if -e ($daemon->{log} // '');
    return $gone ? $status : 9;
}

# Lines of a log that say only that the store or a directory answered late, or, where the store did,
# that it was needed. On a busy machine they are true, and the programs continue without help: the
# results are asserted, the lines are no fault.
my $store_late = qr/IDA0101.*busy\ for\ more\ than|IDA0106.*took\ longer\ than
    |IDA0110.*timeout\ expired|IDA0120.*no\ answer\ in\ time
    |IDA0121.*(?:lock|statement)\ timeout/x;
my $directory_late = qr/IDA0321.*has\ not\ answered\ a\ call\ for
    |IDA0315.*is\ not\ reachable:.*(?:timed\ out|timeout)|IDA0326.*does\ not\ answer/xi;
my $receiver_late  = qr/IDA\d+.*\ receiver\ .*\ cannot\ be\ reached:.*(?:timeout|timed\ out)/xi;
my $store_needed = qr/connection\ to\ the\ store\ (?:is|was)\ lost|store\ took\ too\ long
    |store\ is\ (?:not\ reachable|busy)
    |store\ cannot\ be\ (?:used|written)|PostgreSQL\ cannot\ be\ reached/xi;

# Whatever work needed a store that a test has broken or stopped: any log id may say so. What else
# the store's own line gives as the reason (IDA01..) is expected apart.
sub store_needed { return $store_needed }

# Has the store been late in this log?
sub store_was_late { my ($log) = @_; return $log =~ $store_late }

# A clock that leaps ends the directory calls that are on their way (Idadmin::Test::Fault->leap).
our $clock_leapt;

sub late {
    my ($line, $log) = @_;
    return $line =~ $store_late || $line =~ $directory_late || $line =~ $receiver_late
        || ($line =~ /IDA0315.*is not reachable/ && ($clock_leapt || $log =~ /IDA0321/))
        || ($line =~ $store_needed && $log =~ $store_late);
}

# Lines of a log with this pattern, but for those.
sub faults_in {
    my ($log, $pattern) = @_;
    return grep { $_ =~ $pattern && !late($_, $log) } split /\n/, $log;
}

# Checks at the end of the script: blocks that return a list of complaints.
our @final_checks;
sub at_end { push @final_checks, $_[0] }

sub _sanitizer_reports {
    our $tempdir;
    return if !$tempdir;
    return map { "sanitizer report $_:\n" . slurp($_) } grep { -s $_ } glob "$tempdir/sanitizer/*";
}

$SIG{$_} = do { my $number = $_ eq 'INT' ? 2 : $_ eq 'HUP' ? 1 : 15; sub { exit 128 + $number } }
    for qw(INT TERM HUP);

END {
    if ($$ == $owner) {
        my $exit = $?;
        stop_daemon($_) for sort { $b <=> $a } keys %daemons;
        my @complaints = ((map { $_->() } @final_checks), _sanitizer_reports(), @in_vain);
        Test::More::diag($_) for @complaints;
        $? = $exit || (@complaints ? 1 : 0);
    }
}

# -- engines

# The engines that this program runs on. Both, where SQL is the subject; else the one whose turn it
# is: by program and by day, so that two days carry every program over both. $why says what proves
# the other engine meanwhile (t/README.md lists it). IDADMIN_ENGINE=sqlite|postgresql names one,
# IDADMIN_ENGINE=all means both in every program.
sub engines {
    my ($why) = @_;
    my @engines = qw(sqlite postgresql);
    my $wanted  = $ENV{IDADMIN_ENGINE} // '';
    return $wanted if grep { $_ eq $wanted } @engines;
    $wanted =~ /^(?:all)?$/ or die "IDADMIN_ENGINE=$wanted: it is sqlite, postgresql or all\n";
    return @engines if !defined $why || $wanted;
    return 'sqlite' if Idadmin::Test::PostgreSQL->skip_reason;
    my ($program) = Cwd::abs_path($0) =~ m{([^/]+/[^/]+)$};
    return $engines[(unpack('%32C*', $program) + ($ENV{IDADMIN_DAY} // int time / 86400)) % 2];
}

# for_each_engine { my ($engine) = @_; ... }: a subtest on SQLite and one on PostgreSQL.
sub for_each_engine(&) { my ($block) = @_; return _on_engines($block) }

# on_one_engine { my ($engine) = @_; ... } 'why nothing is lost': the same on the one whose turn it
# is.
sub on_one_engine(&$) { my ($block, $why) = @_; return _on_engines($block, $why) }

sub _on_engines {
    my ($block, $why) = @_;
    require Idadmin::Test::PostgreSQL;
    for my $engine (engines($why)) {
        Test::More::subtest($engine => sub {
            if ($engine eq 'postgresql' and my $reason = Idadmin::Test::PostgreSQL->skip_reason) {
                Test::More::plan(skip_all => $reason);
            }
            $block->($engine);
            Test::More::done_testing();
        });
    }
}

1;
