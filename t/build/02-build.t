# configure and the Makefile as a new user meets them: help, refusals, out-of-tree, install and
# uninstall, and that a test run without tests fails.
use strict;
use warnings;
use Cwd ();
use File::Find ();
use File::Temp ();
use Idadmin::Test;
use Test::More;

my $src       = src_dir();
my $build     = build_dir();
my $configure = "$src/configure";

# A make of our own, whatever make this test runs under.
sub in_dir { my ($dir, @command) = @_;
    return run_command(\@command, cwd => $dir,
    env => { map { ($_ => undef) } qw(MAKEFLAGS MFLAGS MAKELEVEL) }) }

# Paths below a directory: files, or directories with a slash at the end.
sub tree {
    my ($dir) = @_;
    my @found;
    File::Find::find({ no_chdir => 1,
        wanted => sub { push @found, substr($_, length $dir) if -f } }, $dir) if -d $dir;
    return sort @found;
}

subtest 'configure explains itself' => sub {
    my $help = in_dir('/', $configure, '--help');
    is($help->{exit}, 0, '--help');
    my %seen;
    for my $option (grep { !$seen{$_}++ }
        slurp($configure) =~ /
            (?<![\w-])(--(?:with|enable|prefix|exec-prefix|[a-z]+dir)[a-z-]*)(?==|\*|\ \|)/gx) {
        next if $option =~ /^--(?:with-|enable-)?$/;
        like($help->{out}, qr/\Q$option\E\b/, "$option is in --help");
    }
    cmp_ok(scalar keys %seen, '>', 15, 'there are options');
    like(in_dir('/', $configure, '--version')->{out}, qr/^mod_idadmin \d+\.\d+\.\d+$/m,
        '--version');
};

subtest 'configure refuses what it does not know' => sub {
    my $dir = File::Temp->newdir;
    for my $case (['--frobnicate'], ['--with-magic=/opt'], ['--enable-sanitizers=memory'],
        ['--prefix=relative'], ['--bindir'], ['plain'], ['--bootstrap=all'],
        ['--with-jansson=/nonexistent'], ['--with-apxs=/nonexistent'], ['CC=/nonexistent/cc'])
    {
        my $result = in_dir("$dir", $configure, @$case);
        is($result->{exit}, 1, "@$case: refused");
        like($result->{err}, qr/^configure: error: \S/m, "@$case: one sentence");
        ok(!-e "$dir/Makefile", "@$case: no Makefile");
    }
};

subtest '--bootstrap without root names the packages' => sub {
    my $fake = File::Temp->newdir;
    my %script = ('dpkg-query' => 'exit 1', 'apt-get' => 'echo called >&2; exit 9',
        id => 'echo 1000');
    spew("$fake/$_", "#!/bin/sh\n$script{$_}\n"), chmod 0755, "$fake/$_" for keys %script;
    # Only what configure needs before that point, so that there is no sudo.
    for my $program (qw(dirname date uname sed tr)) {
        my ($found) = grep { -x } map {"$_/$program"} split /:/, $ENV{PATH};
        symlink $found, "$fake/$program";
    }
    my $dir = File::Temp->newdir;
    my $result = run_command(['/bin/sh', $configure, '--bootstrap'], cwd => "$dir",
        env => { PATH => "$fake" });
    is($result->{exit}, 1, 'refused');
    like($result->{err}, qr/needs root.*\bapache2-dev\b.*\blibjansson-dev\b/s,
        'says why and which');
    like($result->{err}, qr/\bchromium\b/, 'those of the tests among them');
    unlike($result->{err}, qr/called/, 'apt-get was not run');
    my $build_only = run_command(['/bin/sh', $configure, '--bootstrap=build'], cwd => "$dir",
        env => { PATH => "$fake" });
    like($build_only->{err}, qr/needs root.*\bapache2-dev\b/s, '--bootstrap=build: the same');
    unlike($build_only->{err}, qr/\b(?:chromium|samba|slapd|postgresql|wrk)\b/,
        'without what only tests use');
};

# configure's list of what a build needs is the one list.
subtest 'debian/control asks for what --bootstrap=build installs' => sub {
    my %list = slurp($configure) =~ /^packages_(\w+)="([^"]+)"/mg;
    my %always = map { $_ => 1 } qw(gcc make libc6-dev apache2);    # build-essential; to run
    my ($depends) = slurp("$src/debian/control") =~ /^Build-Depends:(.*?)\n\n/ms;
    is_deeply([sort grep { !/^debhelper/ } $depends =~ /([a-z][\w.+-]*)(?=[ ,]|$)/mg],
        [sort grep { !$always{$_} } split ' ', $list{build}], 'exactly');
    my @depends = slurp("$src/debian/control") =~ /^ +(ca-certificates|tzdata),$/mg;
    is_deeply(\@depends, [sort grep { $_ ne 'curl' } split ' ', $list{run}],
        'and the worker for what it runs with') or diag explain \@depends;
};

# The machine's own commands are replaced by ones that record their arguments: slapd is there
# already, the others are not.
subtest '--bootstrap leaves no server of the tests enabled' => sub {
    my $fake = File::Temp->newdir;
    my $note = sub { qq{echo "$_[0] \$*" >>$fake/called} };
    my %script = ('dpkg-query' =>
        'for last; do :; done; [ "$last" = slapd ] && echo "install ok installed"; exit 0',
        'apt-get' => $note->('apt-get'), id => 'echo 0',
        systemctl => $note->('systemctl') . '; [ "$2" != winbind ]',
        'update-rc.d' => $note->('update-rc.d'), tee => 'cat >/dev/null', chmod => 'exit 0',
        rm => 'exit 0', mv => 'exit 0');
    spew("$fake/$_", "#!/bin/sh\n$script{$_}\n"), chmod 0755, "$fake/$_" for keys %script;
    for my $program (qw(dirname date uname sed tr cat env tail)) {
        my ($found) = grep { -x } map {"$_/$program"} split /:/, $ENV{PATH};
        symlink $found, "$fake/$program";
    }
    my $dir = File::Temp->newdir;
    run_command(['/bin/sh', $configure, '--bootstrap'], cwd => "$dir", env => { PATH => "$fake" });
    my @called = split /\n/, slurp("$fake/called");
    cmp_ok(scalar(grep {/^apt-get install .*\bsamba\b.*/} @called), '==', 1,
        'packages are installed');
    is_deeply([grep { !/^apt-get/ } @called],
        ['systemctl disable postgresql', (map {"systemctl disable $_"} qw(smbd nmbd samba-ad-dc)),
        'systemctl disable winbind', 'update-rc.d winbind disable',
        'systemctl disable prometheus'],
        'new servers are disabled, one that was there is left alone; without systemd by '
        . 'update-rc.d');
};

# %files of the spec against what is installed there: what %install moves and removes is considered.
sub of_the_rpm {
    my %there = map { $_ => 1 } @_;
    my %macro = (buildroot => '', name => 'idadmin', _bindir => '/usr/bin',
        _sbindir => '/usr/sbin', _datadir => '/usr/share', _mandir => '/usr/share/man',
        _docdir => '/usr/share/doc', _sysconfdir => '/etc', _unitdir => '/usr/lib/systemd/system',
        _sysusersdir => '/usr/lib/sysusers.d', _tmpfilesdir => '/usr/lib/tmpfiles.d',
        '_libdir}/httpd/modules' => '/usr/lib/apache2/modules');
    my $spec = slurp("$src/idadmin.spec")
        =~ s/%\{(\w+(?:\}\/httpd\/modules)?)\}?/$macro{$1} \/\/ $&/ger;
    my ($install, $list) = $spec =~ /^%install\n(.*?)^%pre\n.*^%files\n(.*?)^%changelog/ms;
    my @moved = $install =~ /^install -D -m 644 (\S+) \S+$/mg;
    $there{$_} = 1 for $install =~ /^install -D -m 644 \S+ (\S+)$/mg;
    my ($removed) = $install =~ /^rm (.*)$/m;
    is_deeply([sort split ' ', $removed], [sort @moved], 'rpm: what is installed elsewhere goes');
    delete @there{ map {"/usr/share/idadmin/$_"} @moved };
    my @listed = map { (split ' ')[-1] } grep { !/%dir/ } split /\n+/, $list;
    my $listed = join '|', map { quotemeta =~ s/\\\*/[^\/]*/gr } @listed;
    is_deeply([grep { !m{^(?:$listed)(?:/|$)} } sort keys %there], [], 'rpm: no file is left out');
    is_deeply([grep { my $one = quotemeta =~ s/\\\*/[^\/]*/gr;
        !grep {m{^$one(?:/|$)}} keys %there } @listed], [], 'rpm: each that is listed is there');
}

# What container/setup.sh changes is in the packages' files, and comes out as the image needs it.
subtest 'the image is made of the packages' => sub {
    my $file = slurp("$src/container/Containerfile");
    my %package = map { $_ => 1 } slurp("$src/debian/control") =~ /^Package: (\S+)$/mg;
    my @copied = $file =~ m{/src/([\w-]+)_\*\.deb}g;
    is(scalar(grep { $package{$_} } @copied), 3, 'which debian/control has');
    unlike($file, qr/^FROM (?!\$\{BASE\})/m, 'each stage begins with BASE');
    my $dir  = File::Temp->newdir;
    my $conf = "$dir/idadmin.conf";
    spew($conf, slurp("$src/debian/idadmin.conf"));
    my $script = join "\n", slurp("$src/container/setup.sh")
        =~ m{^(sed -i [^\n]*(?:\\\n[^\n]*)*conf-available/idadmin\.conf)$}mg;
    $script =~ s{/etc/apache2/conf-available/idadmin\.conf}{$conf}g;
    is(run_command(['/bin/sh', '-ec', $script])->{exit}, 0, 'its configuration is changed');
    my $text = slurp($conf);
    like($text, $_, "it has $_") for qr/^Define IDADMIN_NAME \$\{IDADMIN_SERVER_NAME\}$/m,
        qr{^Define IDADMIN_CERTIFICATE /etc/idadmin/tls/tls\.crt$}m,
        qr{^Define IDADMIN_CERTIFICATE_KEY /etc/idadmin/tls/tls\.key$}m,
        qr/^IdAdminStore "\$\{IDADMIN_STORE\}"$/m,
        qr/^IdAdminWriterStore "\$\{IDADMIN_WRITER_STORE\}"$/m,
        qr{^IdAdminSealKey /etc/idadmin/writer/idadmin\.key$}m, qr/^<VirtualHost \*:8443>$/m,
        qr{<Location "/health">\n +SetHandler idadmin-health\n}, qr{CustomLog "\|\|/bin/cat" };
    unlike($text, qr{APACHE_LOG_DIR|:443\b}, 'and nothing of before');
};

subtest 'install and uninstall' => sub {
    my $stage = File::Temp->newdir;
    mkdir "$stage/keep";
    spew("$stage/keep/file", 'x');
    my @variables = ("DESTDIR=$stage/root", 'prefix=/usr', 'bindir=/usr/bin', 'sbindir=/usr/sbin',
        'datadir=/usr/share', 'docdir=/usr/share/doc/idadmin', 'mandir=/usr/share/man',
        'moduledir=/usr/lib/apache2/modules', 'sysconfdir=/etc', 'localstatedir=/var');
    # A commit alone does not change the build: running programs are not linked again.
    unshift @variables, '-o', 'obj/build.c';
    my $installed = in_dir($build, 'make', 'install', @variables);
    is($installed->{exit}, 0, 'make install') or diag $installed->{out}, $installed->{err};
    my @files = tree("$stage/root");
    my %there = map { $_ => 1 } @files;
    ok($there{$_}, $_)
        for qw(/usr/lib/apache2/modules/mod_idadmin.so /usr/bin/idadminctl /usr/sbin/idadmin-worker
            /usr/sbin/idadmin-writer
            /usr/share/idadmin/idadmin-httpd.conf /usr/share/idadmin/idadmin.load
            /usr/share/idadmin/idadmin-worker.conf
            /usr/share/idadmin/idadmin-worker.service /usr/share/idadmin/idadmin.sysusers
            /usr/share/idadmin/idadmin.tmpfiles /usr/share/doc/idadmin/README.md
            /usr/share/doc/idadmin/doc/install.md);
    is_deeply([grep { !m{^/usr/} } @files], [], 'no live configuration, no state');
    # debhelper refuses to make packages when one of these is in none of them.
    my @packed = map { split /\n/, slurp($_) } glob("$src/debian/*.install"),
        "$src/debian/not-installed";
    push @packed, map {"usr/share/idadmin/$_"}
        slurp("$src/debian/rules") =~ m{^\s+mv \$\(samples\)/(\S+)}mg;
    my $packed = join '|', map { (quotemeta =~ s/\\\*/[^\/]*/gr) . '(?:/|$)' } @packed;
    is_deeply([grep { m{^/usr/(?:s?bin|share/idadmin)/} && !m{^/(?:$packed)} } @files], [],
        'each file is in a Debian package');
    of_the_rpm(@files);
    like(slurp("$stage/root/usr/share/idadmin/idadmin.load"),
        qr{^# Depends: .*^LoadModule idadmin_module /usr/lib/apache2/modules/mod_idadmin\.so$}ms,
        'load file names the module');
    is_deeply([grep { slurp("$stage/root/usr/share/idadmin/$_") =~ /\@\w+dir\@/ }
        map {m{^/usr/share/idadmin/(.*)}} @files], [], 'every sample is filled in');
    is(in_dir('/', "$stage/root/usr/$$_[0]", $$_[1])->{exit}, $$_[2], "installed, $$_[0] runs")
        for build_config()->{sanitizers} ? () : (['bin/idadminctl', '--help', 0],
        ['sbin/idadmin-worker', '--version', 0], ['sbin/idadmin-writer', '--version', 0],
        ['sbin/idadmin-writer', '--help', 2]);
    my $build_of = sub { in_dir('/', "$stage/root/usr/$_[0]", $_[1])->{out} =~ s/^\S+ //r };
    is_deeply([map { $build_of->($_, '-V') } qw(sbin/idadmin-worker sbin/idadmin-writer)],
        [($build_of->('bin/idadminctl', '--version')) x 2], 'all say the same build')
        if !build_config()->{sanitizers};
    my %mode = map { $_ => sprintf '%04o',
        ((stat "$stage/root$_")[2] // 0) & 07777 } qw(/etc/idadmin /etc/idadmin/secrets);
    is_deeply(\%mode, { '/etc/idadmin' => '0755', '/etc/idadmin/secrets' => '0700' },
        'places for configuration and secrets');
    chmod 0750, "$stage/root/etc/idadmin/secrets";
    is(in_dir($build, 'make', 'install', @variables)->{exit}, 0, 'installed once more');
    is((stat "$stage/root/etc/idadmin/secrets")[2] & 07777, 0750,
        'what an administrator made of the place of secrets stays');
    spew("$stage/root/etc/idadmin/idadmin.conf", "threads = 2\n");
    is(in_dir($build, 'make', 'uninstall', @variables)->{exit}, 0, 'make uninstall');
    is_deeply([tree("$stage/root")], ['/etc/idadmin/idadmin.conf'], 'a configuration stays');
    unlink "$stage/root/etc/idadmin/idadmin.conf";
    is(in_dir($build, 'make', 'uninstall', @variables)->{exit}, 0, 'make uninstall again');
    ok(!-e "$stage/root/etc/idadmin", 'an empty place goes');
    is_deeply([tree("$stage/root")], [], 'nothing is left');
};

subtest 'make check with nothing to run, or all skipped, fails' => sub {
    my $dir = File::Temp->newdir;
    # The same Makefile in a directory of its own, so that this run's check.log stays.
    symlink "$build/$_", "$dir/$_" for qw(config.mak config.perl);
    spew("$dir/Makefile", slurp("$build/Makefile"));
    spew("$dir/skip.t", "print qq(1..0 # SKIP not here\\n);\n");
    spew("$dir/good.t", "print qq(1..1\\nok 1\\n);\n");
    spew("$dir/bad.t",  "print qq(1..1\\nnot ok 1\\n);\n");
    my @run = ('make', '-o', 'config.mak', '-o', 'Makefile', 'run-check', 'PROGRAMS=', 'MANUALS=',
        'CORE_OBJ=',        'UNIT=', 'TOOLS=', 'NEXT=', 'FUZZ=', '-o', 'libidadmin.a');
    my %want = ("$dir/skip.t" => 0, "$dir/good.t" => 1, "$dir/bad.t" => 0, ' ' => 0);
    for my $tests (sort keys %want) {
        my $result = in_dir("$dir", @run, "TESTS=$tests");
        is($result->{exit} == 0 ? 1 : 0, $want{$tests}, "TESTS='" . ($tests =~ s{.*/}{}r) . "'")
            or diag $result->{out}, $result->{err};
    }
};

done_testing();
