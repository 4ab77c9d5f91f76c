# Faults of configuration, one by one: httpd's (httpd -t), idadmin.conf's, a tenant document's, the
# environment's. Each is refused by a line that names the file, directive or member, and the rule.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Httpd ();
use Idadmin::Test::Worker ();

my $user = Idadmin::Test::runtime_user();
my $base = Idadmin::Test::make_layout(store => tempdir() . '/faults');
Idadmin::Test::make_layout(spool => "$base/spool");
my $store = "sqlite3:$base/idadmin.db";

sub ctl {
    my (@words) = @_;
    my %how = ref $words[-1] eq 'HASH' ? %{ pop @words } : ();
    return run_command([Idadmin::Test::program('idadminctl'), @words], user => $user, %how);
}

my $config = Idadmin::Test::Worker::config_file();
my $made   = ctl('schema', 'upgrade', '--config', $config, '--store', $store);
is($made->{exit}, 0, 'a store') or BAIL_OUT($made->{err});

# A file of $base with this text: its name.
my $files = 0;
sub file { my ($text, $mode) = @_;
    my $name = spew("$base/file" . ++$files, $text);
    chmod $mode // 0600, $name;
    Idadmin::Test::give_to($user, $name);
    chown -1, Idadmin::Test::writer_user() // -1, $name;    # who reads keys
    return $name }

# What was said to whom: for the table of a report.
my @told;
sub told {
    my ($name, $result, $pattern) = @_;
    my $text = $result->{err} . $result->{out};
    my ($line) = grep { $_ =~ $pattern } split /\n/, $text;
    isnt($result->{exit}, 0, "$name: refused");
    ok(defined $line, "$name: by a line that names it") or diag("wanted $pattern, got\n$text");
    push @told, [$name, $line // ''];
    return;
}

# Merged over nothing, this document has no fault.
my $secret = file("bind-password\n");
sub document {
    my (%more) = @_;
    my $on = delete $more{on};
    return { companyId => 'nordic', name => 'Nordic AB', upnDomain => 'nordic.example',
        directories => { onPremises => { urls => ['ldaps://ldap.nordic.example'],
            dialect => 'openLdap', bindDn => 'cn=idadmin,dc=nordic,dc=example',
            bindPasswordFile => $secret, userBase => 'ou=people,dc=nordic,dc=example',
            groupBase => 'ou=groups,dc=nordic,dc=example', %{ $on // {} } } }, %more };
}

# --- httpd -t ---

my $rest = "SetHandler idadmin-rest\nAuthType IdAdmin\nRequire valid-user";
my $mcp  = "SetHandler idadmin-mcp\nAuthType IdAdmin\nRequire valid-user";
sub location { my ($text) = @_; return "<Location \"/v1/api\">\n$text\n</Location>\n" }
sub role { my ($text) = @_; return location("$rest\nIdAdminConsoleRole $text") }

my $readable = sub { return { mode => 0644, server => 'IdAdminStore "pgsql:host=db password=x"',
    store => undef } };
my @httpd = (
    ['a directive misspelt', { server => 'IdAdminStor x' }, qr/Invalid command 'IdAdminStor'/],
    ['a store of no engine', { store => 'mysql:x' },
        qr/IdAdminStore "mysql:x": must be sqlite3:PATH or pgsql:/],
    ['a relative store', { store => 'sqlite3:idadmin.db' },
        qr/IdAdminStore "sqlite3:idadmin\.db": must name a file given from \/ on/],
    ['libpq parameters that are none', { store => 'pgsql:hots=db' },
        qr/IdAdminStore "pgsql:hots=db": must have libpq parameters/],
    ['a password in a readable file', $readable->(),
        qr/IdAdminStore: holds a password, and .* can be read by everybody.*passfile=PATH/],
    ['a store in a virtual host',
        { server => "<VirtualHost 127.0.0.1:1>\nIdAdminStore $store\n</VirtualHost>" },
        qr/IdAdminStore.*<VirtualHost>/],
    ['a store that is not there',
        { store => "sqlite3:$base/none.db", seal_key => "$base/idadmin.key" },
        qr/IDA0271: IdAdminStore: there is no store $base\/none\.db: idadminctl schema upgrade/],
    ['a relative spool', { spool => 'spool' },
        qr/IdAdminAuditSpool "spool": must be a directory given from \/ on/],
    ['a spool that is not there', { spool => "$base/no-spool" },
        qr/IDA0271: IdAdminAuditSpool $base\/no-spool: No such file or directory: make it/],
    ['a spool that is a file', { spool => file('') },
        qr/IDA0271: IdAdminAuditSpool $base\/file\d+: is no directory/],
    ['a relative seal key', { seal_key => 'idadmin.key' },
        qr/IdAdminSealKey "idadmin\.key": must be a file given from \/ on/],
    ['a seal key that is not there', { seal_key => "$base/none.key" },
        qr/IDA0271: IdAdminSealKey $base\/none\.key: .*does not exist/],
    ['a seal key of another store', { seal_key => file('5' x 64 . "\n", 0440) },
        qr/IDA0271: IdAdminSealKey $base\/file\d+: is not the key that the store's tenant/],
    ['a seal key that others can read', { seal_key => file('5' x 64 . "\n", 0644) },
        qr/IDA0271: IdAdminSealKey $base\/file\d+: .*open to other users; run: chmod/],
    ['a writer without a name', { server => 'IdAdminWriter :idadmin' },
        qr/IdAdminWriter ":idadmin": must be USER, USER:GROUP or/],
    ['a relative writer program', { server => 'IdAdminWriterProgram idadmin-writer' },
        qr/IdAdminWriterProgram "idadmin-writer": must be a program given from \/ on/],
    ['a writer program that is not there', { server => "IdAdminWriterProgram $base/writer" },
        qr/No such file.*IDA0254: $base\/writer, .* cannot be started \(IdAdminWriterProgram\)/],
    ['a rate table too small', { server => 'IdAdminRateTable 12' },
        qr/IdAdminRateTable "12": must be a number of records from 64 to/],
    ['a rate limit of no kind', { server => 'IdAdminRateLimit keys 1/1s' },
        qr/IdAdminRateLimit "keys": the first word must be key, company, address/],
    ['a rate that is none', { server => 'IdAdminRateLimit key fast' },
        qr/IdAdminRateLimit key "fast": must /],
    ['a switch that is none', { server => 'IdAdminRequireTls perhaps' },
        qr/IdAdminRequireTls must be On or Off/],
    ['an origin with a path', { server => location("$mcp\nIdAdminAllowOrigin https://a.example/") },
        qr/IdAdminAllowOrigin "https:\/\/a\.example\/": must be an origin such as/],
    ['any origin', { server => location("$mcp\nIdAdminAllowOrigin *") },
        qr/IdAdminAllowOrigin "\*": must be an origin such as/],
    ['a role that there is not', { server => role('boss * "true"') },
        qr/IdAdminConsoleRole "boss": the role must be viewer, operator/],
    ['a role in no company', { server => role('viewer "a b" "true"') },
        qr/IdAdminConsoleRole viewer "a b": must be a company ID/],
    ['an expression that is none', { server => role('viewer * "%{REMOTE_USER} =="') },
        qr/IdAdminConsoleRole "%\{REMOTE_USER\} ==": /],
    ['a person that is none', { server => location("$rest\nIdAdminConsolePerson %{") },
        qr/IdAdminConsolePerson "%\{": /],
    ['a link of no name', { server => location("$rest\nIdAdminConsoleLink home /x") },
        qr/IdAdminConsoleLink "home": must be rest, mcp, openapi, signOut or help/],
    ['a link that browsers would run',
        { server => location("$rest\nIdAdminConsoleLink help javascript:x") },
        qr/IdAdminConsoleLink help "javascript:x": must begin with https:/],
    ['a handler misspelt', { server => location("SetHandler idadmin-rst") },
        qr/IDA0270: \S+ line \d+: SetHandler idadmin-rst: there is no such handler: .*-rest/],
    ['one inside an IfModule',
        { server => "<IfModule idadmin_module>\n" . location('SetHandler idadmin-mpc')
            . '</IfModule>' }, qr/IDA0270: \S+ line \d+: SetHandler idadmin-mpc: there is no such/],
    ['a handler by the module\'s name', { server => location('SetHandler idadmin') },
        qr/IDA0270: \S+ line \d+: SetHandler idadmin: there is no such handler/],
    ['an AuthType misspelt', { server => location("SetHandler idadmin-rest\nAuthType IdAdm") },
        qr/IDA0270: \S+ line \d+: AuthType IdAdm: there is no such AuthType: it is IdAdmin/],
    ['a handler without authentication',
        { locations => location("SetHandler idadmin-rest\nRequire all granted") },
        qr/IDA0270: \S+ line \d+: SetHandler idadmin-rest: needs AuthType IdAdmin/],
    ['keys over plain HTTP in a virtual host', { server => "Listen 1\n<VirtualHost *:1>\n"
            . location($rest) . '</VirtualHost>' },
        qr/IDA0270: \S+ line \d+: SetHandler idadmin-rest: secrets would go over plain HTTP/],
    ['MCP over plain HTTP', { server => "Listen 0.0.0.0:1\n<VirtualHost _default_:1>\n"
            . location($mcp) . '</VirtualHost>' },
        qr/IDA0270: \S+ line \d+: SetHandler idadmin-mcp: .*IdAdminRequireTls off/],
    ['the console over plain HTTP', { server => "Listen 1\n"
            . location("SetHandler idadmin-console\nAuthType Basic\nRequire valid-user") },
        qr/IDA0270: \S+ line \d+: SetHandler idadmin-console: .*SSLEngine on/],
);

my $httpd = Idadmin::Test::Httpd->new(start => 0);
my %healthy = (store => $store, spool => "$base/spool", seal_key => undef, server => undef,
    locations => undef);
sub configtest {
    my (%how) = @_;
    my $mode = delete $how{mode};
    $httpd->reconfigure(%healthy, port => 1, tls_port => 2, %how);
    chmod $mode, $httpd->configuration_file if $mode;
    return $httpd->configtest(1);
}

subtest 'httpd -t' => sub {
    my $sealed = ctl('tenant', 'apply', '-', '--config', $config, '--store', $store,
        { stdin => json_text(document(companyId => 'acme')) });
    is($sealed->{exit}, 0, 'a company is sealed under the key') or diag $sealed->{err};
    my $good = configtest();
    is($good->{exit}, 0, 'a configuration without faults') or diag $good->{err};
    for my $good (
        ['behind a proxy', { locations => '', server => "Listen 1\n<VirtualHost *:1>\n"
            . "IdAdminRequireTls off\n" . location($rest) . '</VirtualHost>' }],
        ['on loopback alone', { server => "Listen 127.0.0.1:3\n<VirtualHost *:3>\n"
            . location($rest) . '</VirtualHost>' }],
        ['another port in clear', { locations => '', server => "Listen 1\n<VirtualHost *:1>\n"
            . "Redirect / https://x/\n</VirtualHost>" }],
        ['an unused module', { locations => '', store => "sqlite3:$base/none.db" }]) {
        my $result = configtest(%{ $good->[1] });
        is($result->{exit}, 0, "$good->[0]: fine") or diag $result->{err};
    }
    told($_->[0], configtest(%{ $_->[1] }), $_->[2]) for @httpd;
};

# --- idadmin.conf ---

my @conf = (
    ['a setting misspelt', 'stroe = x',
        qr/line 1: there is no setting named stroe; do you mean store/],
    ['a line without =', 'threads 4', qr/line 1: /],
    ['a store of no engine', 'store = mysql:x', qr/line 1: store: must be sqlite3:PATH or pgsql:/],
    ['a password in the DSN', 'store = pgsql:host=db password=x',
        qr/store: holds a password, and .* can be read by everybody.*passfile=PATH/],
    ['an owner of SQLite', "admin_store = $store", qr/admin_store: is for PostgreSQL/],
    ['no thread', 'threads = 0', qr/threads: must be a whole number from 1 to 64/],
    ['a number that is none', 'metrics_companies = many',
        qr/metrics_companies: must be a whole number from 0 to 10000/],
    ['a time too long', 'stop_timeout = 2h', qr/stop_timeout: must be a time from 1s to 1h/],
    ['a mail server by HTTP', 'smtp_url = http://mail.example',
        qr/smtp_url: must begin with smtp:\/\/ or smtps:\/\//],
    ['a password in the URL', 'smtp_url = smtp://me:secret@mail.example',
        qr/smtp_url: must not hold a user name or password: smtp_user/],
    ['a mail server without a name', 'smtp_url = smtps://', qr/smtp_url: must name a host/],
    ['a sender that is none', 'smtp_from = somebody', qr/smtp_from: /],
    ['a relative key', 'seal_key = idadmin.key', qr/seal_key: must be an absolute path/],
    ['a relative spool', 'spool = spool', qr/spool: must be an absolute path/],
    ['a secret by a relative path', 'smtp_password_file = secret',
        qr/smtp_password_file: must be .*credential:NAME/],
    ['a level that there is not', 'log_level = loud',
        qr/log_level: must be error, warn, info or debug/],
    ['a format that there is not', 'log_format = xml', qr/log_format: must be text or json/],
    ['a word that is none', 'audit_syslog = yes', qr/audit_syslog: must be on, off or records/],
);

subtest 'idadmin.conf' => sub {
    for my $case (@conf) {
        my ($name, $line, $pattern) = @$case;
        my $file = file("$line\n", 0644);
        my $result = ctl('status', '--config', $file);
        told($name, $result, $pattern);
        like($result->{err}, qr/\Q$file\E/, "$name: the file");
    }
    told('a configuration that is not there', ctl('status', '--config', "$base/none.conf"),
        qr/$base\/none\.conf: .*No such file/);
};

# --- a tenant document ---

sub workflow { my (%action) = @_;
    return (workflows => [{ name => 'Joins', trigger => 'userCreate', actions => [\%action] }]) }

my $in = 'directories.onPremises';
my @document = (
    ['no JSON', '{"companyId": "nordic",', qr/JSON/],
    ['a member misspelt', document(upnDomian => 'x.example'),
        qr/upnDomian: is not a known member; upnDomain is one/],
    ['a member of a directory misspelt', document(on => { userbase => 'x' }),
        qr/\Q$in\E\.userbase: is not a known member; userBase is one/],
    ['LDAP in clear', document(on => { urls => ['ldap://ldap.nordic.example'] }),
        qr/\Q$in\E\.urls.*(?:ldaps|startTls)/],
    ['an address that is none', document(on => { urls => ['ldap.nordic.example'] }),
        qr/\Q$in\E\.urls/],
    ['a password file that is not there', document(on => { bindPasswordFile => "$base/none" }),
        qr/\Q$in\E\.bindPasswordFile: the file $base\/none cannot be read: No such/],
    ['a password file that others can read',
        document(on => { bindPasswordFile => file("x\n", 0644) }),
        qr/\Q$in\E\.bindPasswordFile: the file \S+ is open to other users/],
    ['a password in the document', document(on => { bindPasswordFile => 'Passw0rd' }),
        qr/\Q$in\E\.bindPasswordFile: must be .*credential:NAME/],
    ['a dialect that there is not', document(on => { dialect => 'novell' }),
        qr/\Q$in\E\.dialect: must be .*openLdap/],
    ['a base that is no DN', document(on => { userBase => 'people' }),
        qr/\Q$in\E\.userBase: must be a distinguished name/],
    ['a zone that there is not', document(timeZone => 'Europe/Stokholm'),
        qr/timeZone: .*Europe\/Stokholm/],
    ['a domain that is none', document(upnDomain => 'nordic'), qr/upnDomain: must/],
    ['a limit below nothing', document(seatLimit => -1), qr/seatLimit: must/],
    ['a number in quotes', document(seatLimit => '500'), qr/seatLimit: must/],
    ['a brake that is none', document(brake => { offboardingsPerHour => 0 }),
        qr/brake\.offboardingsPerHour: must/],
    ['an action that there is not', document(workflow(type => 'addToGroups')),
        qr/workflows\[0\]\.actions\[0\]\.type: .*addToGroup/],
    ['an action without its member', document(workflow(type => 'addToGroup')),
        qr/workflows\[0\]\.actions\[0\]\.group: /],
    ['a webhook in clear', document(workflow(type => 'callWebhook', url => 'http://x.example',
        secretFile => $secret)), qr/workflows\[0\]\.actions\[0\]\.url: must/],
    ['a secret that signs nothing', document(workflow(type => 'callWebhook',
        url => 'https://x.example', secretFile => $secret)),
        qr/workflows\[0\]\.actions\[0\]\.secretFile: .*whsec_/],
);

subtest 'a tenant document' => sub {
    my @own = ('--config', $config, '--store', $store);
    my $good = ctl('tenant', 'apply', '-', '--dry-run', @own, { stdin => json_text(document()) });
    is($good->{exit}, 2, 'one without faults would be taken') or diag $good->{err};
    for my $case (@document) {
        my ($name, $document, $pattern) = @$case;
        my $text = ref $document ? json_text($document) : $document;
        my $result = ctl('tenant', 'apply', '-', '--dry-run', @own, { stdin => $text });
        is($result->{exit}, 1, "$name: exit 1");
        told($name, $result, $pattern);
    }
    my $outside = document(on => { createIn => 'ou=other,dc=nordic,dc=example' });
    told('new people outside the base',
        ctl('tenant', 'check', '-', @own, { stdin => json_text($outside) }),
        qr/\Q$in\E\.createIn: must lie below userBase/);
};

# --- the environment ---

subtest 'the environment' => sub {
    my @own = ('--config', $config);
    told('a store of no engine', ctl('status', @own, { env => { IDADMIN_STORE => 'mysql:x' } }),
        qr/\$IDADMIN_STORE: store: must be sqlite3:PATH or pgsql:/);
    told('no zone data', ctl('tenant', 'apply', '-', '--dry-run', @own, '--store', $store,
        { stdin => json_text(document(timeZone => 'Europe/Stockholm')),
            env => { TZDIR => $base } }),
        qr/timeZone: .*Europe\/Stockholm/);
    my $mail = file("smtp_url = smtps://mail.example\nsmtp_from = x\@nordic.example\n"
            . "smtp_user = x\nsmtp_password_file = credential:mail\n", 0644);
    told('a credential that the service was not given',
        run_command([Idadmin::Test::program('idadmin-worker'), '--check', 'acme', '--config', $mail,
            '--store', $store], user => $user),
        qr/smtp_password_file names credential:mail, and .* no credentials: .*LoadCredential=mail/);
    my $doctor = ctl('doctor', @own, '--store', "sqlite3:$base/none.db");
    is($doctor->{exit}, 2, 'doctor: faults') or diag $doctor->{out};
    told('a store that was never made', $doctor,
        qr/fault .*store: there is neither a store nor .*idadminctl schema upgrade makes both/);
};

cmp_ok(scalar @told, '>=', 60, 'sixty faults and more');
note(join "\n", map {"$_->[0] | " . $_->[1] =~ s/\Q$base\E/.../gr} @told);
done_testing();
