# Manual pages, completions of bash and the JSON Schema say what the programs say: each command,
# option, setting, directive and member, and nothing that mandoc finds fault with.
use strict;
use warnings;
use File::Temp ();
use Idadmin::Test;
use Test::More;

my $made = build_dir() . '/obj/manuals';
my %page = map { m{([^/]+)$} ? ($1 => slurp($_)) : () } glob "$made/*";

# By the tables alone, whatever configuration this machine has.
sub ctl { return run_command([build_dir() . '/idadminctl', @_, '--config', '/dev/null'])->{out} }

# Heads of items, as a reader sees them.
sub heads {
    my ($name, $macro) = @_;
    return map {s/"//gr} $page{$name} =~ /^\.It $macro (.*)$/mg;
}

subtest 'pages are sound' => sub {
    my @pages = sort grep {/\.[158]$/} keys %page;
    is_deeply(\@pages,
        [qw(idadmin-tenant.5 idadmin-worker.8 idadmin-writer.8 idadmin.conf.5 idadminctl.1
            mod_idadmin.8)], 'all are made');
    my $mandoc = run_command([qw(sh -c), 'command -v mandoc'])->{out};
    plan(skip_all => 'mandoc is not installed') if !$mandoc;
    for my $name (@pages) {
        my $lint = run_command(['mandoc', '-T', 'lint', '-W', 'warning', "$made/$name"]);
        is($lint->{exit} . $lint->{out}, 0, "$name: mandoc has no fault to tell");
        # The long lines that are left are one word, and pages refer to pages that lie beside them.
        my @style = grep { !/longer than 80 bytes|referenced manual not found/ } split /\n/,
            run_command(['mandoc', '-T', 'lint', '-W', 'style', "$made/$name"])->{out};
        is_deeply(\@style, [], "$name: nor of style");
        for my $seen ($page{$name} =~ /^\.Xr (\S+ \d)/mg) {
            ok($page{ $seen =~ tr/ /./r } || $seen eq 'apache2 8', "$name: there is $seen");
        }
    }
};

subtest 'idadminctl.1 and its completion' => sub {
    my $help     = ctl('--help');
    my @commands = map {s/ *$//r} $help =~ /^  ([a-z][a-z -]*)(?=[A-Z\[|]|$)/mg;
    cmp_ok(scalar @commands, '>', 50, scalar(@commands) . ' commands');
    my %head = map { s/ Ar .*//r => 1 } heads('idadminctl.1', 'Cm');
    is_deeply([sort keys %head], [sort @commands], 'the page has exactly these');
    my ($section) = $page{'idadminctl.1'} =~ /^\.It Cm key create(.*?)^\.It Cm/ms;
    my @options = ctl(qw(key create --help)) =~ /^  --([a-z-]+)/mg;
    my %common  = map { $_ => 1 } qw(json store config seal-key as help version);
    is_deeply([sort $section =~ /^\.It Fl Fl ([a-z-]+)/mg], [sort grep { !$common{$_} } @options],
        'a command has its options');
    my $complete = sub {
        my ($words, $last) = @_;
        my $run = run_command(['bash', '-c', <<'BASH', 'bash', "$made/idadminctl.bash", @$words]);
source "$1"; shift
COMP_WORDS=(idadminctl "$@"); COMP_CWORD=$#
_idadminctl; printf '%s\n' "${COMPREPLY[@]}"
BASH
        is($run->{err}, '', "@$words: bash has nothing to say");
        return [sort split /\n/, $run->{out}];
    };
    my %noun = map { (split / /)[0] => 1 } @commands;
    is_deeply($complete->(['']), [sort 'help', keys %noun], 'each noun');
    is_deeply($complete->(['tenant', '']),
        [sort map { /^tenant (\S+)/ ? $1 : () } @commands], 'verbs of one');
    is_deeply($complete->(['--store', 'x', 'audit', 'v']), ['verify'], 'behind a value');
    is_deeply($complete->(['help', 'sy']), ['sync'], 'behind help');
    is_deeply($complete->(['key', 'create', 'nordic', '--ex']), ['--expires'], 'an option');
    my $dir = File::Temp->newdir;
    spew("$dir/nordic.json", '{}');
    is_deeply($complete->(['tenant', 'apply', "$dir/n"]), ["$dir/nordic.json"], 'a file');
    is_deeply($complete->(['status', '--config', "$dir/n"]), ["$dir/nordic.json"],
        'of an option');
};

subtest 'idadmin-worker.8, idadmin.conf.5 and the completion' => sub {
    my @options = run_command([build_dir() . '/idadmin-worker', '--help'])->{out}
        =~ /^  --([a-z-]+)/mg;
    cmp_ok(scalar @options, '>', 20, 'there are options');
    my @heads = map {s/^Fl (\S+).*/$1/r} heads('idadmin-worker.8', 'Fl');
    is_deeply(\@heads, \@options, 'the page has each');
    my %own = map { $_ => 1 } qw(config once check help version);
    is_deeply([map {s/ .*//r} heads('idadmin.conf.5', 'Cm')],
        [map {tr/-/_/r} grep { !$own{$_} } @options], 'settings');
    my ($list) = $page{'idadmin-worker.bash'} =~ /compgen -W '([^']*)'/;
    is_deeply([map {s/^--//r} split / /, $list], \@options, 'completion');
};

subtest 'mod_idadmin.8, idadmin-writer.8' => sub {
    my $httpd = build_config()->{httpd};
    my $dir   = File::Temp->newdir;
    my $mpm   = build_config()->{modules} . '/mod_mpm_event.so';
    spew("$dir/httpd.conf", join "\n", "ServerRoot $dir", 'ServerName localhost',
        'ErrorLog /dev/null', 'Listen 127.0.0.1:' . free_port(),
        -e $mpm ? "LoadModule mpm_event_module $mpm" : (), '');
    my $listed = run_command([$httpd, '-L', '-f', "$dir/httpd.conf", '-C',
        'LoadModule idadmin_module ' . build_dir() . '/mod_idadmin.so'],
        env => { LD_PRELOAD => build_config()->{preload} || undef });
    my @known = $listed->{out} =~ /^(IdAdmin\w+) \(mod_idadmin/mg;
    cmp_ok(scalar @known, '>', 10, 'httpd knows directives') or diag $listed->{err};
    my @heads = grep {/^IdAdmin/} map {s/ .*//r} heads('mod_idadmin.8', 'Ic');
    is_deeply([sort @heads], [sort @known], 'the page has exactly these');
    my $name     = qr/"(idadmin-(?:rest|mcp|openapi|console|absent|health|metrics))"/;
    my @handlers = map { slurp($_) =~ /$name/g } glob src_dir() . '/mod_idadmin/handler_*.c';
    is_deeply([sort grep {/^idadmin-/} heads('mod_idadmin.8', 'Ic')], [sort @handlers],
        'and each handler');
    is_deeply([heads('idadmin-writer.8', 'Ic')],
        [grep {/^IdAdmin(?:Writer|SealKey)/} heads('mod_idadmin.8', 'Ic')],
        'that of the writer has its own');
};

subtest 'idadmin-tenant.5 and the JSON Schema' => sub {
    my $schema = json_data($page{'tenant-schema.json'});
    is_deeply(json_data(ctl(qw(tenant schema))), $schema, 'tenant schema prints it');
    my %names;
    my @open = ($schema);
    while (my $one = shift @open) {
        $names{$_} = 1 for keys %{ $one->{properties} // {} };
        push @open, grep { ref eq 'HASH' } values %{ $one->{properties} // {} }, $one->{items},
            @{ $one->{oneOf} // [] };
    }
    my %head = map { $_ => 1 } heads('idadmin-tenant.5', 'Cm');
    is_deeply([sort keys %head], [sort keys %names], 'the page has each member');
    plan(skip_all => 'JSON::Validator is not installed') if !eval { require JSON::Validator; 1 };
    my $validator = JSON::Validator->new->schema($schema);
    for my $sample (glob src_dir() . '/conf/tenant-*.json') {
        my @faults = $validator->validate(json_data(slurp($sample)));
        is("@faults", '', $sample =~ s{.*/}{}r . ' is valid');
    }
    my $good = json_data(slurp(src_dir() . '/conf/tenant-cloud.json'));
    for my $case ([seatLimit => -1], [seatLimit => 'many'], [seatlimit => 5], [timeZone => ''],
        [createUsersIn => 'nowhere'], [retention => { auditDays => 0 }], [directories => undef],
        [workflows => [{ name => 'x', trigger => 'userCreate', actions => [{ type => 'fly' }] }]],
        [notifications => [{ url => 'https://a.example', secretFile => 'here', events => [] }]])
    {
        my @faults = $validator->validate({ %$good, @$case });
        ok(scalar @faults, "$$case[0] is refused");
    }
};

done_testing();
