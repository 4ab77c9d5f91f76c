# Guards that read the source: which room may include which, unique log ids, directives and
# documentation, equal schemas on both engines, length of files, words that mark unfinished work.
use strict;
use warnings;
use Encode ();
use Idadmin::Test;
use Idadmin::Test::PostgreSQL;
use Test::More;

my $src = src_dir();
my %text;    # file -> text, relative names
for my $file (split /\n/, run_command([qw(find), $src,
    qw(-type f -not -path */.git/* -not -path */obj/* -not -path */build-*)])->{out}) {
    my $name = substr $file, length($src) + 1;
    next if $name !~ m{^(?:core|schema|mod_idadmin|writer|worker|manual|conf|doc|t|\.ci)/
        |^(?:configure|Makefile\.in|[A-Z]+\.md)$}x;
    next if $name =~ m{^t/fuzz/\w+/};    # seeds: bytes as attackers send them
    $text{$name} = slurp($file);
}
sub files { my ($pattern) = @_; return grep { $_ =~ $pattern } sort keys %text }

# Code without comments; string literals stay.
sub code {
    my ($file) = @_;
    my $code = $text{$file};
    $code =~ s{("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|/\*.*?\*/|//[^\n]*}{$1 // ' '}gse;
    return $code;
}

# Which room may include which: those named, and whatever these may include. An arrow that is not
# here is a decision of its author.
my %arrows = (
    'core/base'       => [],
    'core/db'         => [qw(core/base schema)],
    'core/limit'      => [qw(core/base)],
    'core/audit'      => [qw(core/base)],
    'core/zone'       => [qw(core/base)],
    'core/tenant'     => [qw(core/base core/zone)],
    'core/model'      => [qw(core/tenant schema)],
    'core/store'      => [qw(core/db core/audit core/model core/limit)],
    'core/cache'      => [qw(core/store)],
    'core/queue'      => [qw(core/store)],
    'core/governance' => [qw(core/queue core/cache)],
    'core/operation'  => [qw(core/governance)],
    'core/operation/tasks'   => [qw(core/operation)],
    'core/operation/people'  => [qw(core/operation/tasks)],
    'core/operation/access'  => [qw(core/operation/people)],
    'core/operation/company' => [qw(core/operation/access)],
    'core/face'       => [qw(core/operation/company)],
    'core/wire'       => [qw(core/base)],
    'schema'          => [],

    'mod_idadmin' => [qw(core/face core/limit core/wire)],
    'writer'      => [qw(core/face core/limit core/wire)],

    'worker/base'      => [qw(core/base core/store)],
    'worker/directory' => [qw(worker/base core/cache)],
    'worker/ldap/wire'   => [qw(worker/directory)],
    'worker/ldap/entry'  => [qw(worker/ldap/wire)],
    'worker/ldap/change' => [qw(worker/ldap/entry)],
    'worker/ldap/sync'   => [qw(worker/ldap/entry)],
    'worker/ldap/probe'  => [qw(worker/ldap/change worker/ldap/sync)],
    'worker/ldap'        => [qw(worker/ldap/probe)],
    'worker/graph'     => [qw(worker/directory)],
    'worker/send'      => [qw(worker/base core/tenant)],
    'worker/hold'      => [qw(worker/directory core/queue)],
    'worker/run'       => [qw(worker/hold worker/send core/governance)],
    'worker'           => [qw(worker/run worker/ldap worker/graph)],
    'worker/ctl'       => [qw(worker core/face)],
    'manual'           => [qw(worker/ctl mod_idadmin)],    # rows of mod_idadmin alone
);

sub reach {
    my ($room, $seen) = @_;
    reach($_, $seen) for grep { !$seen->{$_}++ } @{ $arrows{$room} };
    return $seen;
}

subtest 'rooms include only what is below them' => sub {
    my $httpd    =
        qr{^(?:httpd|http_\w+|ap_\w+|util_(?:filter|script|mutex|time|md5|varbuf|expr\w*|cookies
            |ldap|fcgi)|mod_\w+|mpm_common|scoreboard|unixd|os)\.h$}x;
    my $outbound = qr{^(?:curl/.*|ldap\w*\.h|lber\w*\.h)$};
    # System headers that belong to some rooms only.
    my @owned = (
        [$httpd                => qr{^mod_idadmin/}],
        [$outbound             => qr{^worker/}],
        [qr{^ldap\w*\.h|^lber} => qr{^worker/(?:ldap/|main\.c)}],
        [qr{^sqlite3\.h$}      => qr{^core/db/sqlite}],
        [qr{^libpq|^pg_}       => qr{^core/db/postgresql}],
    );
    my (%seen, @wrong);
    for my $file (files(qr{^(?:core|schema|mod_idadmin|writer|worker|manual)/.*\.(?:[ch]|def)$})) {
        my ($room) = $file =~ m{^(.*)/};
        $room = 'schema' if $room =~ m{^schema/};
        push @wrong, "$file: no arrows are known of the room $room" if !$arrows{$room};
        my $below = reach($room, {});
        for my $line (grep {/^\s*#\s*include/} split /\n/, code($file)) {
            my ($kind, $name) = $line =~ /include\s*([<"])([^>"]+)/ or next;
            if ($kind eq '"') {
                my ($other) = $name =~ m{^(.*)/} or next;    # a generated file
                $other = 'schema' if $other =~ m{^schema/};
                $seen{"$room $other"} = 1;
                push @wrong, "$file: $line" if $other ne $room && !$below->{$other};
            } else {
                push @wrong, map {"$file: $line"}
                    grep { $name =~ $_->[0] && $file !~ $_->[1] } @owned;
            }
        }
    }
    is_deeply(\@wrong, [], 'no arrow that is not in the table');
    cmp_ok(scalar keys %seen, '>', 30, 'there were arrows to look at');
    my @circles = grep { reach($_, {})->{$_} } sort keys %arrows;
    is_deeply(\@circles, [], 'no circle in the table');
};

subtest 'tests are numbered inside their folder' => sub {
    my %number;
    for my $file (files(qr{\.t$})) {
        push @{ $number{$1} }, $file if $file =~ m{^(t/[\w-]+/\d\d)-};
    }
    is_deeply([grep { @$_ > 1 } values %number], [], 'no number twice');
    is_deeply([grep { !m{^t/[\w-]+/\d\d-[\w-]+\.t$} } files(qr{\.t$})], [], 'each has one');
};

# A second lock in the same transaction would be a statement for nothing; one without the first
# would be behind what the pipeline judges.
subtest 'one place locks the tenant for operations' => sub {
    my @locks = grep { code($_) =~ /\bstore_tenant_lock(?:_row)?\(/ }
        files(qr{^core/(?:operation/.*|governance/act\w*)\.c$});
    is_deeply(\@locks, ['core/operation/admit.c'], 'at the begin of each write');
};

# Which file of a room calls which, by the functions of their objects: data (a table of drivers, the
# record of the module) makes no circle.
subtest 'no circle of files inside a room' => sub {
    my (%defines, %wants);
    my %of = map { (build_dir() . '/obj/' . s/c$/o/r => $_) }
        files(qr{^(?:core|mod_idadmin|writer|worker)/.*\.c$});
    my @objects = grep { -e } sort keys %of;
    for my $line (split /\n/, run_command(['nm', '-A', @objects])->{out}) {
        my ($object, $kind, $name) = $line =~ /^([^:]+):.*([A-Za-z]) (\w+)$/ or next;
        if ($kind eq 'U') { $wants{ $of{$object} }{$name} = 1 }
        elsif ($kind eq 'T') { $defines{$name} = $of{$object} }
    }
    cmp_ok(scalar keys %wants, '>', 300, 'there were objects to look at');
    my %calls;
    for my $file (keys %wants) {
        my ($room) = $file =~ m{(.*)/};
        my %of = map { ($_ => 1) } grep { $_ && $_ ne $file && m{^\Q$room\E/[^/]+$} }
            map { $defines{$_} } keys %{ $wants{$file} };
        $calls{$file} = [sort grep { $wants{$_} } keys %of];
    }
    # A file that no remaining one calls is dropped; a circle stays.
    my %callers;
    $callers{$_}++ for map {@$_} values %calls;
    my @free = grep { !$callers{$_} } keys %calls;
    while (defined(my $file = shift @free)) {
        push @free, grep { !--$callers{$_} } @{ delete $calls{$file} // [] };
    }
    # A file that only hangs below a circle is no part of it.
    while (my @ends = grep { my $file = $_; !grep { $calls{$_} } @{ $calls{$file} } } keys %calls) {
        delete @calls{@ends};
    }
    is_deeply([map { my $file = $_; "$file calls " . join ' ', grep { $calls{$_} }
        @{ $calls{$file} } } sort keys %calls], [], 'none');
};

subtest 'core wants nothing of httpd, libcurl or OpenLDAP' => sub {
    my $archive = build_dir() . '/libidadmin.a';
    my $nm = run_command(['nm', '-u', '-A', $archive]);
    is($nm->{exit}, 0, 'nm reads the archive') or diag $nm->{err};
    my @symbols = split /\n/, $nm->{out};
    cmp_ok(scalar @symbols, '>', 100, 'it has symbols');
    is_deeply([grep {/ U (?:ap_|unixd_|curl_|ldap_|ber_|lutil_)/} @symbols], [], 'none of theirs');
    is_deeply([grep { / U sqlite3_/ && !/:sqlite\w*\.o:/ } @symbols], [],
        'SQLite only in its driver');
    is_deeply([grep { / U PQ\w/ && !/:postgresql\w*\.o:/ } @symbols], [],
        'libpq only in its driver');
};

subtest 'values of LDAP answers are read through one place' => sub {
    # end the process, or the call, over a value that is not there
    my $open = qr/\bber_init2?\s*\(|\bldap_parse_\w+_control\s*\(|\bldap_control_find\s*\(/;
    is_deeply([grep { code($_) =~ $open } files(qr{^worker/.*\.[ch]$})], ['worker/ldap/wire/ber.c'],
        'in worker/ldap/wire/ber.c');
};

subtest 'log ids' => sub {
    my %range = (core => [1, 199], schema => [1, 199], mod_idadmin => [200, 299],
        writer => [200, 299],
        worker => [300, 799]);
    my (%where, @outside);
    for my $file (files(qr{^(?:core|schema|mod_idadmin|writer|worker)/.*\.[ch]$})) {
        my ($room) = $file =~ m{^(\w+)/};
        for my $string (code($file) =~ /"((?:[^"\\\n]|\\.)*)"/g) {
            for my $id ($string =~ /\b(IDA\d{4})\b/g) {
                push @{ $where{$id} }, $file;
                my $number = substr $id, 3;
                push @outside, "$id in $file"
                    if $number < $range{$room}[0] || $number > $range{$room}[1];
            }
        }
    }
    cmp_ok(scalar keys %where, '>', 20, 'there are some');
    is_deeply([map {"$_: @{ $where{$_} }"} grep { @{ $where{$_} } > 1 } sort keys %where], [],
        'each belongs to one place');
    is_deeply(\@outside, [], "each is of its room's range");
    my %documented = map { $_ => 1 } $text{'doc/log-ids.md'} =~ /\b(IDA\d{4})\b/g;
    is_deeply([grep { !$documented{$_} } sort keys %where], [], 'doc/log-ids.md explains each');
    is_deeply([grep { !$where{$_} } sort keys %documented], [],
        'doc/log-ids.md explains none that is gone');
};

subtest 'directives' => sub {
    my %known = map { $_ => 1 } code('mod_idadmin/directives.def') =~ /AP_INIT_\w+, "(\w+)"/g;
    cmp_ok(scalar keys %known, '>=', 4, 'the directive table has entries');
    my %sample = map { $_ => 1 } $text{'conf/idadmin-httpd.conf'} =~ /^\s*#?\s*(IdAdmin\w+)/mg;
    is_deeply([sort keys %sample], [sort keys %known],
        'conf/idadmin-httpd.conf shows exactly these');
    my %handler = map { $_ => 1 } code('mod_idadmin/handlers.def') =~ /HANDLER\("([\w-]+)"/g;
    my $site    = slurp("$src/debian/idadmin.conf") =~ s/^\s*#.*$//mgr;
    my @named   = grep {defined} $site =~ /^\s*(?:(IdAdmin\w+)|SetHandler (\S+))/mg;
    cmp_ok(scalar @named, '>', 4, 'the site of the Debian package has directives and handlers');
    is_deeply([grep { !$known{$_} && !$handler{$_} } @named], [], 'known ones');
    my %page = map { $_ => 1 } $text{'doc/directives.md'} =~ /\b(IdAdmin[A-Z]\w+)/g;
    is_deeply([sort keys %page], [sort keys %known], 'doc/directives.md names exactly these');
};

subtest 'settings of idadmin.conf' => sub {
    my %known = map { $_ => 1 } code('worker/base/config.c') =~ /\{"(\w+)", set_\w+,/g;
    cmp_ok(scalar keys %known, '>=', 7, 'the table has entries');
    my %sample = map { $_ => 1 } $text{'conf/idadmin-worker.conf'} =~ /^#?(\w+) = /mg;
    is_deeply([sort keys %sample], [sort keys %known],
        'conf/idadmin-worker.conf shows exactly these');
    is_deeply([grep { $text{'doc/commands.md'} !~ /\b$_\b/ } sort keys %known], [],
        'doc/commands.md names each');
};

subtest 'SECURITY.md' => sub {
    my ($table) = $text{'SECURITY.md'} =~ /^## Who attacks\n(.*?)^## /ms;
    my @rows = grep {/`t\/|^\| (?!Attacker|-)/} split /\n/, $table;
    cmp_ok(scalar @rows, '>=', 10, 'its table of attackers has rows');
    my (@alone, @gone);
    for my $row (@rows) {
        my ($who, @cells) = (split /\s*\|\s*/, $row)[1 .. 5];
        my @tests = ($cells[3] // '') =~ /`([^`]+)`/g;
        push @alone, $who if !@tests || grep { !length } @cells;
        push @gone, map {"$who: $_"} grep { !-e src_dir() . "/$_" } @tests;
    }
    is_deeply(\@alone, [], 'each attacker is played by a test');
    is_deeply(\@gone, [], 'that exists');
};

# doc/errors.md has each row of core/base/errors.c and each reason of the code, for which the
# console has words; and neither table has another one.
subtest 'the catalogue of errors' => sub {
    my @kinds = code('core/base/errors.c') =~ /\{(\d{3}), "([A-Z_]+)"/g;
    my ($codes, $reasons) = $text{'doc/errors.md'} =~ /^(.*?)^## Reasons(.*)/ms;
    is_deeply([$codes =~ /^\| (\d{3}) \| `([A-Z_]+)` \|/mg], \@kinds, 'statuses and codes');
    my %code = reverse @kinds;    # code => status
    my @rows = $reasons =~ /^\| (`\w+`.*?) \| (`[A-Z_]+`.*?) \|/mg;
    my @named = map { $_ % 2 ? () : $rows[$_] =~ /`(\w+)`/g } 0 .. $#rows;
    my ($words) = slurp(src_dir() . '/console/i18n/en.js') =~ /^  reason: \{(.*?)^  \}/ms;
    is_deeply([sort @named], [sort $words =~ /\b(\w+): (?=['"])/g], 'reasons of the console');
    my %named = map { ($_ => 1) } @named;
    my @used = map { code($_) =~ /ida_because\([^,]+, "(\w+)"/g }
        files(qr{^(?:core|mod_idadmin)/.*\.c$});
    cmp_ok(scalar @used, '>', 15, 'reasons of the code');
    is_deeply([grep { !$named{$_} } @used], [], 'each is there');
    is_deeply([grep { !$code{$_} } map { $_ % 2 ? $rows[$_] =~ /`(\w+)`/g : () } 0 .. $#rows], [],
        'with a code that there is');
};

# Each row of core/tenant/members.c is in the tables of doc/tenant.md, with its default; and their
# first column names nothing else.
subtest 'members of the tenant document' => sub {
    my $shape = code('core/tenant/members.c');
    my $section = $text{'doc/tenant.md'};
    my ($actions) = $text{'doc/workflows.md'} =~ /^(.*?)^Placeholders of texts/ms;
    my ($required) = $section =~ /^(.*?) are required;/s;
    my %row;    # first column, each name of it => the line
    for my $line (split /\n/, $section) {
        my ($first) = $line =~ /^\| (`[^|]*) \|/ or next;
        $row{$_} = $line for $first =~ /`([^`]+)`/g;
    }
    my %action_row;
    for my $line (split /\n/, $actions) {
        my ($first) = $line =~ /^\| (`[^|]*) \|/ or next;
        $action_row{$_} = $line for $first =~ /`([^`]+)`/g;
    }
    my %table;
    my $quoted = qr/"(?:[^"\\]|\\.)*"/;
    while ($shape =~ /^(?:static )?const member (\w+)\[\] = \{(.*?)\};/gms) {
        my ($name, $rows) = ($1, $2);
        $name =~ s/^ida_(\w+)_members$/$1/;
        while ($rows =~ /\{"(\w+)",((?:$quoted|[^{}"])*)\}/g) {
            my ($word, $rest) = ($1, $2);
            push @{ $table{$name} }, [$word, $rest =~ /\.fallback = "((?:[^"\\]|\\.)*)"/];
        }
    }
    my %dotted = (modules => 'modules', rates => 'rateLimits', brake => 'brake',
        hygiene => 'hygiene', retention => 'retention', keys => 'keys');
    my %listed = (cloud => 'directories.cloud', on_premises => 'directories.onPremises',
        template => 'roleTemplates', service => 'accessCatalog', workflow => 'workflows',
        notification => 'notifications', of_pause => 'paused');
    my (@missing, %known, $count);
    for my $name (sort keys %table) {
        for my $member (@{ $table{$name} }) {
            my ($word, $default) = @$member;
            $count++;
            my $prefix = $name eq 'both_directories' ? 'directories' : $dotted{$name};
            my $first = $prefix ? "$prefix.$word" : $name eq 'tenant' ? $word : '';
            my $line = $row{ $prefix ? $first : $listed{$name} // $word };
            $known{$first} = 1;
            next if $name eq 'tenant'
                && ($required =~ /`$word`/ || grep {/^\Q$word\E\./} keys %row);
            push @missing, "$name: $word" if !$line || $line !~ /`(?:\w+\.)*$word`/;
            $default = '' if !defined $default;
            $default =~ s/\\"//g;
            push @missing, "$name: $word: its default $default"
                if $line && $default =~ /^[\w%{}. ]+$/ && $default !~ /^(?:\{\}|false)$/
                && $line !~ /\Q$default\E/;
        }
    }
    cmp_ok($count, '>', 60, "$count members");
    is_deeply(\@missing, [], 'doc/tenant.md names each, with its default');
    is_deeply([grep { !$known{$_} } sort keys %row], [], 'and none that is not');
    my %word = slurp(src_dir() . '/core/tenant/shape.h') =~ /#define (IDA_ACTION_\w+) ("\w+")/g;
    my %members_of;
    for my $row (split /^ACTION\(/m, code('core/tenant/actions.def')) {
        my ($type, $members) = $row =~ /^(IDA_ACTION_\w+|"\w+"),(.*)/s or next;
        $type = $word{$type} // $type;
        $members_of{ $type =~ s/"//gr } = [$members =~ /\{"(\w+)"/g];
    }
    my @unsaid;
    for my $type (sort keys %members_of) {
        my $line = $action_row{$type} // '';
        push @unsaid, $type if !$line;
        push @unsaid, map {"$type: $_"} grep { $line !~ /`$_`/ } @{ $members_of{$type} };
    }
    cmp_ok(scalar keys %members_of, '>', 10, 'types of actions');
    is_deeply(\@unsaid, [], 'doc/workflows.md names each type with its members');
};

subtest 'attributes of a person' => sub {
    my ($profile) = $text{'schema/attributes.h'} =~ /define IDA_PERSON_PROFILE(.*?)\n\n/s;
    my %most = $profile =~ /X\(\w+, "(\w+)", \w+, "[^"]+", [A-Z]+, (\d+)/g;
    cmp_ok(scalar keys %most, '>', 5, 'there are rows');
    my %shown = map { $_ => delete $most{$_} } grep { $_ ne 'employeeId' } keys %most;
    my ($list) = slurp("$src/console/attributes.js") =~ /ATTRIBUTES = \{(.*?)\}/s;
    is_deeply({ $list =~ /(\w+): (\d+)/g }, \%shown,
        'console/attributes.js has each and its limit');
    for my $language (qw(en sv)) {
        my ($labels) = slurp("$src/console/i18n/$language.js") =~ /^  field: \{(.*?)\n  \}/ms;
        is_deeply([grep { $labels !~ /\b$_:/ } sort keys %shown], [], "$language.js names each");
    }
};

subtest 'both schemas have the same tables and columns' => sub {
    if (my $reason = Idadmin::Test::PostgreSQL->skip_reason) {
        plan(skip_all => $reason);
    }
    my %made;
    for my $engine (qw(sqlite postgresql)) {
        my $made = run_command([src_dir() . '/schema/dialect.sh', $engine,
            map { src_dir() . "/$_" } files(qr{^schema/migrations/})]);
        is($made->{exit}, 0, "written for $engine") or return diag $made->{err};
        $made{$engine} = $made->{out};
    }

    # The index of people's terms (person_..., place) is each engine's own.
    my $built = run_command(['sqlite3', '-batch', '-bail', '-ascii', ':memory:'],
        stdin => join "\n",
        "ATTACH ':memory:' AS cache; ATTACH ':memory:' AS audit;", $made{sqlite},
        map {<<"SQL"} qw(main cache audit));
SELECT '$_', m.name, c.name, c.type, c."notnull" OR c.pk > 0, c.pk
FROM $_.sqlite_schema m JOIN pragma_table_info(m.name, '$_') c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    AND m.name NOT LIKE 'person\\_%' ESCAPE '\\' AND c.name <> 'place'
    AND m.name NOT IN (SELECT name FROM pragma_table_list
        WHERE schema = '$_' AND type IN ('virtual', 'shadow')) ORDER BY 1, 2, 3;
SQL
    is($built->{exit}, 0, 'SQLite takes its migrations') or return diag $built->{err};
    my %in_sqlite = map { my @c = split /\x1f/; $c[2] = "$c[0].$c[1].$c[2]";
        ($c[2] => "$c[3] " . ($c[4] ? 'not null' : 'null') . " key $c[5]") } split /\x1e/,
        $built->{out};

    my $server   = Idadmin::Test::PostgreSQL->shared;
    my $database = $server->create_database;
    ok(eval { $server->sql($database, $made{postgresql}); 1 },
        'PostgreSQL takes its migrations') or return diag $@;
    my %type = (text => 'TEXT', bigint => 'BIGINT', smallint => 'SMALLINT');
    my %in_postgresql = map {
        my ($schema, $table, $column, $type, $nullable, $key) = @$_;
        $schema = 'main' if $schema eq 'public';
        ("$schema.$table.$column" => ($type{$type} // $type) . ' '
            . ($nullable eq 'YES' ? 'null' : 'not null') . " key $key")
    } $server->sql($database, <<'SQL');
SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.is_nullable,
    coalesce(k.ordinal_position, 0)
FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema
    AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
LEFT JOIN information_schema.table_constraints p ON p.table_schema = c.table_schema
    AND p.table_name = c.table_name AND p.constraint_type = 'PRIMARY KEY'
LEFT JOIN information_schema.key_column_usage k
    ON k.constraint_schema = p.constraint_schema AND k.constraint_name = p.constraint_name
    AND k.table_name = c.table_name AND k.column_name = c.column_name
WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema')
    AND c.table_name NOT LIKE 'person\_%'
SQL
    cmp_ok(scalar keys %in_sqlite, '>', 50, 'there are columns');
    is_deeply(\%in_postgresql, \%in_sqlite, 'tables, columns, types, nullability, keys');
};

subtest 'shape of files' => sub {
    my (@long, @wide);
    for my $file (files(qr{\.(?:[ch]|def|pm|t|pl)$})) {
        my @lines = split /\n/, Encode::decode_utf8($text{$file});
        push @long, "$file: " . @lines if @lines > 600;
        push @wide, map {"$file:$_"} grep { length $lines[$_ - 1] > 100 } 1 .. @lines;
    }
    is_deeply(\@long, [], 'no file above 600 lines');
    is_deeply(\@wide, [], 'no line above 100 columns');
    my @headless = grep { $text{$_} !~ m{\A/\*} }
        files(qr{^(?:core|schema|mod_idadmin|writer|worker|manual)/.*\.[ch]$});
    is_deeply(\@headless, [], 'each source file says first what it owns');
    is_deeply([grep { !$text{"$_/README.md"} } sort keys %arrows], [], 'each room has a README');
};

subtest 'nothing unfinished' => sub {
    # (three X before a number are a zone abbreviation in a test)
    my $words = join '|', map { join '', @$_ } ['TO', 'DO'], ['FIX', 'ME'], ['X', 'XX(?![-+\d])'],
        ['HA', 'CK'], ['st', 'ubs?'];
    my $trace = join '|', map { join '', @$_ } ['/work', '/(?:main|shared)'], ['\.\./', 'shared'];
    my @found;
    for my $file (files(qr{.})) {
        my $number = 0;
        for my $line (split /\n/, $text{$file}) {
            $number++;
            push @found, "$file:$number: $line"
                if $line =~ /\b(?:$words)\b/ || $line =~ /(?:$trace)/;
        }
    }
    is_deeply(\@found, [], 'no such word');
};

done_testing();
