package Idadmin::Test::Stack;
# The complete stack: store, tenant, keys, slapd or cloud directory, httpd, worker; and requests
# like those of an HR platform.
use strict;
use warnings;
use Exporter 'import';
use Fcntl qw(LOCK_EX LOCK_NB);
use Idadmin::Test ();
use Idadmin::Test::Cloud ();
use Idadmin::Test::Httpd ();
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Session ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Worker ();
use Time::HiRes ();

our @EXPORT = qw(for_each_stack);
delete $ENV{SUDO_USER};    # idadminctl would record it

# for_each_stack { my ($stack) = @_; ... } %options: a subtest with a fresh stack on each engine,
# stopped after it. one_engine => 'why nothing is lost': on the engine whose turn it is.
sub for_each_stack(&@) {
    my ($block, %options) = @_;
    my $why = delete $options{one_engine};
    my $run = sub {
        my ($engine) = @_;
        my $stack = __PACKAGE__->new(%options, engine => $engine);
        $block->($stack);
        $stack->stop;
    };
    return defined $why ? &Idadmin::Test::on_one_engine($run, $why)
        : &Idadmin::Test::for_each_engine($run);
}

# new(engine => 'sqlite'|'postgresql', ...); further options:
#   slapd  => OBJECT (of Slapd or Samba), {...} for Slapd->new, or 0       tenant => {...} members
#          over the usual document (undef removes), or 0
#   cloud  => OBJECT or {...} for Cloud->new: the tenant is acme with a cloud directory; with slapd
#          => {...} as well it is nordic with
#             both (`directory => {...}` inside changes members of directories.cloud)
#   httpd  => {...} for Httpd->new, or 0               worker => {...} for Worker->new, or 0
#   keys   => { name => [username, access, more options...] }, besides full and read; 6000/60s
#          unless --rate-limit is given
#   roles  => 1   PostgreSQL: httpd's children, its writer and the worker connect as users with the
#          roles idadmin_web, idadmin_writer and idadmin_worker alone
#   sync   => 0   do not wait for the first sync (with a worker it is waited for)
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/stack' . ++our $count;
    mkdir $base or die "$base: $!\n";
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $base);
    Idadmin::Test::make_layout(store => "$base/lib");
    Idadmin::Test::make_layout(spool => "$base/spool");
    my $self = bless { base => $base, spool => "$base/spool", engine => $how{engine} // 'sqlite',
        keys => {} }, $class;
    $how{slapd} //= 0 if $how{cloud};
    $self->{company} = $how{cloud} && !$how{slapd} ? 'acme' : 'nordic';
    if ($self->{engine} eq 'sqlite') {
        $self->{store} = "sqlite3:$base/lib/idadmin.db";
    }
    else {
        # Roles are of a whole server: two programs would make each other's.
        $self->{postgresql} = $how{postgresql} // ($how{roles} || $ENV{IDADMIN_ROLES}
            ? Idadmin::Test::PostgreSQL->own : Idadmin::Test::PostgreSQL->shared);
        $self->{database}   = $self->{postgresql}->create_database;
        $self->{store}      = $self->{postgresql}->dsn($self->{database});
        $self->{seal_key}   = "$base/lib/seal.key";
    }
    $self->ctl_ok('schema', 'upgrade');
    my %as = map { $_ => $self->{store} } qw(web writer worker);
    if ($self->{postgresql} && ($how{roles} || $ENV{IDADMIN_ROLES})) {
        $self->ctl_ok('schema', 'upgrade', '--roles');
        %as = map { $_ => $self->{postgresql}->dsn($self->{database},
            user => $self->{postgresql}->user_with("idadmin_$_")) } keys %as;
    }
    $self->{stores} = \%as;

    # by the caller, who stops it: the next stack may use it
    $self->{slapd_is_given} = ref $how{slapd} && ref $how{slapd} ne 'HASH';
    $self->{slapd} = $self->{slapd_is_given} ? $how{slapd}
        : Idadmin::Test::Slapd->new(%{ $how{slapd} || {} })
        if !defined $how{slapd} || $how{slapd};
    if (my $cloud = $how{cloud}) {
        my %given = ref $cloud eq 'HASH' ? %$cloud : ();
        $self->{cloud_changes} = delete $given{directory};
        $self->{cloud} = ref $cloud eq 'HASH'
            ? Idadmin::Test::Cloud->new(($self->{slapd}
            ? (domains => [$Idadmin::Test::Slapd::domain]) : ()), %given) : $cloud;
    }
    if (!defined $how{tenant} || $how{tenant}) {
        $self->_begin_tenant(%how);
    }
    $self->{httpd} = Idadmin::Test::Httpd->new(store => $as{web}, spool => $self->{spool},
        $as{writer} eq $as{web} ? () : (writer_store => $as{writer}),
        $self->{seal_key} ? (seal_key => $self->{seal_key}) : (),
        %{ $how{httpd} || {} })
        if !defined $how{httpd} || $how{httpd};
    if (!defined $how{worker} || $how{worker}) {
        $self->{worker} = $self->new_worker(%{ $how{worker} || {} });
        $self->wait_synced if ($how{sync} // 1) && ($self->{slapd} || $self->{cloud})
            && (!defined $how{tenant} || $how{tenant});
    }
    return $self;
}

sub store  { return $_[0]{store} }
sub spool  { return $_[0]{spool} }
sub slapd  { return $_[0]{slapd} }
sub cloud  { return $_[0]{cloud} }
sub httpd  { return $_[0]{httpd} }
sub worker { return $_[0]{worker} }
sub engine { return $_[0]{engine} }
sub key    { my ($self, $name) = @_; return $self->{keys}{$name} // die "no key \"$name\"\n" }

# A further tenant of the same installation, with a cloud directory of its own: a stack that shares
# store, httpd and worker with this one.
sub beside_in_the_cloud {
    my ($self, %how) = @_;
    my $other = bless { %$self, company => 'acme', keys => {}, client => {}, slapd => undef,
        cloud => Idadmin::Test::Cloud->new(%{ $how{cloud} || {} }) }, ref $self;
    $other->_begin_tenant(%how);
    return $other->wait_synced;
}

sub _begin_tenant {
    my ($self, %how) = @_;
    $self->apply_tenant($self->tenant_document(%{ $how{tenant} // {} }));
    $self->create_key(full => 'hr-full', 'full');
    $self->create_key(read => 'hr-read', 'read-only');
    $self->create_key($_ => @{ $how{keys}{$_} }) for sort keys %{ $how{keys} // {} };
}

# Another worker on the same store (several may run at once).
sub new_worker {
    my ($self, %how) = @_;
    return Idadmin::Test::Worker->new(store => $self->{stores}{worker}, spool => $self->{spool},
        seal_key => $self->{seal_key}, %how);
}

# Rows of a statement, the same on both engines (tables of cache and audit written cache.x,
# audit.x): array references of text, NULL is undef. For looking; what a caller can see should be
# asserted through REST or idadminctl.
sub sql {
    my ($self, $statement) = @_;
    return $self->{postgresql}->sql($self->{database}, $statement) if $self->{postgresql};
    # The files are opened and closed for each statement, as by a program of its own.
    my $stem    = "$self->{base}/lib/idadmin";
    my $session = \$self->{sessions}{$$};    # a forked process has its own
    $$session //= Idadmin::Test::Session->new(['sqlite3', '-batch', '-bail', '-ascii',
        '-nullvalue', $Idadmin::Test::Session::null, ':memory:'], Idadmin::Test::runtime_user());
    my $rows = $$session->rows(".open $stem.db\n.timeout 60000\n.output /dev/null\n"
        . ".dbconfig no_ckpt_on_close on\n.output stdout\nATTACH '$stem-cache.db' AS cache;\n"
        . "ATTACH '$stem-audit.db' AS audit;\n$statement;\n.open :memory:\n"
        . ".print $Idadmin::Test::Session::end\n");
    die 'sqlite3: ' . delete($self->{sessions}{$$})->finish . "\n$statement\n"
        if !$rows;
    return @$rows;
}

# The store refuses an update of a row of this table (cache.x and audit.x as in `sql`) where the
# condition (over OLD and NEW) holds, until the block that is returned is called.
sub refuse {
    my ($self, $table, $condition) = @_;
    return $self->_at_update(refuse => $table, $condition,
        sqlite     => "SELECT RAISE(ABORT, 'refused')",
        postgresql => "RAISE EXCEPTION 'refused'");
}

# A task whose try has failed waits for a day instead of seconds, so that a test can look at it for
# as long as it takes; "next_at = 0" has it tried at once. Until the block that is returned is
# called.
sub keep_waiting {
    my ($self) = @_;
    return $self->_at_update(keep_waiting => 'task',
        "OLD.state = 'running' AND NEW.state = 'queued' AND NEW.attempts > OLD.attempts",
        sqlite     => 'UPDATE task SET next_at = NEW.next_at + 86400000 WHERE id = NEW.id',
        postgresql => 'NEW.next_at := NEW.next_at + 86400000');
}

# PostgreSQL changes a row before it is stored, SQLite afterwards.
sub _at_update {
    my ($self, $name, $table, $condition, %does) = @_;
    my ($file, $bare) = $table =~ /^(\w+\.)?(\w+)$/;
    my $trigger = ($file // '') . $name;
    my %how = (sqlite => ["CREATE TRIGGER $trigger AFTER UPDATE ON $bare WHEN $condition BEGIN "
        . "$does{sqlite}; END", "DROP TRIGGER $trigger"],
        postgresql => ["CREATE FUNCTION $name() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN "
        . "$does{postgresql}; RETURN NEW; END \$\$; CREATE TRIGGER $name BEFORE UPDATE ON $table "
        . "FOR EACH ROW WHEN ($condition) EXECUTE FUNCTION $name()",
        "DROP TRIGGER $name ON $table; DROP FUNCTION $name()"]);
    my ($on, $off) = @{ $how{ $self->engine } };
    $self->sql($on);
    return sub { $self->sql($off) };
}

# File of the audit key, which lies beside the seal key.
sub audit_key {
    my ($self) = @_;
    return ($self->{seal_key} // "$self->{base}/lib/idadmin.key") . '.audit';
}

# Stops workers (SIGSTOP) at a moment when they do not lock the store, as nearly always: one that is
# stopped inside the write gate of a SQLite file, or within a transaction of PostgreSQL, would have
# others wait for it.
sub stand_still {
    my ($self, @workers) = @_;
    for (1 .. 30) {
        $_->signal('STOP') for @workers;
        return if Idadmin::Test::soon(0.5,
            sub { $self->{postgresql} ? !$self->_transactions : $self->_gates_free });
        $_->signal('CONT') for @workers;
        Time::HiRes::sleep(0.05 + rand 0.1);
    }
    die "a worker keeps others from the store at every look\n";
}

sub _gates_free {
    my ($self) = @_;
    my @gates = glob "$self->{base}/lib/*.gate" or die "no write gate beside the store\n";
    for my $path (@gates) {
        open my $gate, '+<', $path or die "$path: $!\n";
        return 0 if !flock $gate, LOCK_EX | LOCK_NB;
    }
    return 1;
}

sub _transactions {
    my ($self) = @_;
    my ($row) =
        $self->sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        . "backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL");
    return $row->[0];
}

# -- idadminctl

# Behind the arguments of every idadminctl of this stack.
sub ctl_options {
    my ($self) = @_;
    return ('--config', Idadmin::Test::Worker::config_file(), '--store', $self->{store},
        $self->{seal_key} ? ('--seal-key', $self->{seal_key}) : ());
}

# ctl(@arguments) -> { exit, signal, out, err, json }; stdin => TEXT as a last hash reference,
# program => another idadminctl. On a busy machine the store may answer too late: then nothing was
# done, and the command is given again.
sub ctl {
    my ($self, @arguments) = @_;
    my %how = ref $arguments[-1] eq 'HASH' ? %{ pop @arguments } : ();
    my $program = delete $how{program} // 'idadminctl';
    $program = "tool/$program" if $program ne 'idadminctl';
    my $result;
    for (1 .. 10) {
        $result = Idadmin::Test::run_command(
            [Idadmin::Test::program($program), @arguments, $self->ctl_options],
            user => Idadmin::Test::runtime_user(), %how);
        last if $result->{err} !~ /PostgreSQL cannot be reached: .*timeout expired|store is busy/s;
    }
    $result->{json} = eval { Idadmin::Test::json_data($result->{out}) }
        if $result->{out} =~ /^\s*[\[{]/;
    return $result;
}

# Whom the audit log names for these commands: who signed in to the test's session, else their user.
sub actor {
    my $login = eval { Idadmin::Test::slurp('/proc/self/loginuid') } // '';
    my $uid   = $login =~ /^\d+$/ && $login != 4294967295 ? $login
        : Idadmin::Test::runtime_user() // $>;
    return getpwuid($uid) // "uid $uid";
}

# The same, and it must have succeeded; returns its JSON, if any.
sub ctl_ok {
    my ($self, @arguments) = @_;
    my $result = $self->ctl(@arguments);
    die 'idadminctl ' . join(' ', grep { !ref } @arguments)
        . " ended with $result->{exit} (signal $result->{signal}):\n$result->{out}$result->{err}"
        if $result->{exit} || $result->{signal};
    return $result->{json};
}

# The newest audit records, reads among them, as idadminctl lists them; more options of it.
sub records {
    my ($self, @options) = @_;
    return $self->ctl_ok('audit', 'list', $self->{company}, '--include-reads', '--limit', 200,
        '--json', @options)->{items};
}

# The usual document of tenant nordic over this slapd (or acme over this cloud directory), with
# changed members.
sub tenant_document {
    my ($self, %changes) = @_;
    my $cloud  = $self->{cloud};
    my $domain = $self->domain;
    my $acme   = $self->{company} eq 'acme';
    my %document = (
        companyId => $self->{company}, name => $acme ? 'Acme AB' : 'Nordic AB',
            timeZone => 'Europe/Stockholm',
        usernameFormat => '{firstname}.{surname}', emailFormat => '{firstname}.{surname}',
        displayNameFormat => '{firstname} {surname}',
        upnDomain => $domain, emailDomain => $domain, createUsersIn => $acme ? 'cloud'
        : 'onPremises',
        modules => { publicApi => JSON::PP::true(), accessGovernance => JSON::PP::true() },
        directories => { ($acme ? () : (onPremises => $self->directory_document)),
        ($cloud ? (cloud => $self->cloud_document) : ()) },
    );
    for my $name (keys %changes) {
        if   (defined $changes{$name}) { $document{$name} = $changes{$name} }
        else                           { delete $document{$name} }
    }
    return \%document;
}

# Of the tenant's people.
sub domain { my ($self) = @_; return $self->{company} eq 'acme' ? $Idadmin::Test::Cloud::domain
    : $Idadmin::Test::Slapd::domain }

sub cloud_document { my ($self, %changes) = @_;
    return $self->{cloud}->document(%{ $self->{cloud_changes} // {} }, %changes) }

sub directory_document {
    my ($self, %changes) = @_;
    my $slapd = $self->{slapd};
    return $slapd->document(%changes) if $slapd && $slapd->isa('Idadmin::Test::Samba');
    my $url = $slapd ? $slapd->ldaps_url : 'ldaps://127.0.0.1:1';
    return {
        urls => [$url], startTls => JSON::PP::false(), dialect => 'openLdap', bind => 'simple',
            bindDn => $Idadmin::Test::Slapd::service,
        bindPasswordFile => Idadmin::Test::secret_file("$self->{base}/bind.password",
        Idadmin::Test::Slapd::service_password() . "\n"),
        caFile => Idadmin::Test::Tls::files()->{ca}, userBase => $Idadmin::Test::Slapd::people,
        groupBase => $Idadmin::Test::Slapd::groups,
        createIn => $Idadmin::Test::Slapd::people, upnAttribute => 'mail',
        markerAttribute => 'employeeType',
        placeholderMember => $Idadmin::Test::Slapd::filler,
        protectedAccounts => [$Idadmin::Test::Slapd::service], syncInterval => '1s', %changes,
    };
}

sub apply_tenant {
    my ($self, $document) = @_;
    return $self->ctl_ok('tenant', 'apply', '-', { stdin => Idadmin::Test::json_text($document) });
}

# create_key(name => username, access, more options of "key create"...)
sub create_key {
    my ($self, $name, $username, $access, @options) = @_;
    push @options, '--rate-limit', '6000/60s' if !grep { $_ eq '--rate-limit' } @options;
    my $json = $self->ctl_ok('key', 'create', $self->{company}, $username, '--access', $access,
        @options, '--json');
    $json && $json->{apiKey} or die "idadminctl key create --json gave no apiKey\n";
    return $self->{keys}{$name} = $json;
}

# -- requests

# The three headers of a key, as a flat list; changes by name, undef leaves one out.
sub headers {
    my ($self, $key, %changes) = @_;
    $key = $self->key($key) if !ref $key;
    my %headers = ('X-Company-ID' => $key->{companyId}, 'X-Api-User' => $key->{username},
        'X-Api-Key' => $key->{apiKey}, %changes);
    return map { ($_ => $headers{$_}) } grep { defined $headers{$_} } sort keys %headers;
}

# call($method, $target, key => 'full'|'read'|..., json => DATA or body => BYTES, headers => {...},
# client => Http, once => 1, ...) -> the answer of Http::request. The connection is kept between
# calls. A write has an Idempotency-Key, so that it can be made again where the store was late; one
# that names its own, or undef for none, is made once, as is what says so.
sub call {
    my ($self, $method, $target, %how) = @_;
    my %extra = %{ delete $how{headers} // {} };
    my $reads = $method =~ /^(?:GET|HEAD|OPTIONS)$/;
    my $key   = delete $how{key} // ($reads ? 'read' : 'full');
    my $once  = delete $how{once} || exists $extra{'Idempotency-Key'} || !$self->{httpd};
    $extra{'Idempotency-Key'} = join '-', 'client', $$, ++our $writes if !$reads && !$once;
    if (exists $how{json}) {
        $how{body} = Idadmin::Test::json_text(delete $how{json});
        $extra{'Content-Type'} //= 'application/json';
    }
    my $client = delete $how{client} // ($self->{client}{$$} //= $self->{httpd}->client);
    my $ask = sub { return $client->request($method, $target, %how,
        headers => [$self->headers($key, %extra)]) };
    return $self->{answer} = $once ? $ask->() : $self->{httpd}->until_served($ask);
}

sub get    { my ($self, $target, %how) = @_; return $self->call(GET => $target, %how) }
sub post   { my ($self, $target, $json, %how) = @_;
    return $self->call(POST => $target, json => $json, %how) }
sub delete { my ($self, $target, $json, %how) = @_;
    return $self->call(DELETE => $target, (defined $json ? (json => $json) : ()), %how) }

sub get_user { my ($self, $upn, %how) = @_;
    return $self->get('/v1/api/user?userPrincipalName=' . _escape($upn), %how) }
# Asked again where the answer only says later: a store that is busy, or a test that asks too often.
sub task {
    my ($self, $id, %how) = @_;
    my $answer;
    Idadmin::Test::soon(60, sub { $answer = $self->get('/v1/api/task?id=' . _escape($id), %how);
        $answer->{status} !~ /^(?:429|503)$/ });
    return $answer->{json}{data}{task};
}

sub _escape { my ($text) = @_; $text =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge;
    return $text }

# Polls the task over REST until it is in one of the states (done unless named); returns it, or dies
# showing what it is.
sub wait_task {
    my ($self, $id, %how) = @_;
    die "no task to wait for: the last answer was $self->{answer}{status} $self->{answer}{body}\n"
        if !defined $id;
    my %states = map { $_ => 1 } @{ $how{states} // ['done'] };
    my $task;
    Idadmin::Test::within(sub { $task = $self->task($id); $task && $states{ $task->{state} } })
        or die "task $id is not " . join('|', sort keys %states) . ': '
            . Idadmin::Test::json_text($task) . "\n"
            . ($self->{worker} ? $self->{worker}->log_text : '');
    return $task;
}

# Until the first sync is complete and REST answers for a known user.
sub wait_synced {
    my ($self) = @_;
    if (!$self->{httpd}) {
        $self->ctl_ok('sync', $self->{company}, '--wait');
        return $self;
    }
    my $answer;
    Idadmin::Test::within(sub { $answer = $self->get_user('eva.berg@' . $self->domain);
        $answer->{status} == 200 })
        or die "the directory is not synchronised: $answer->{status} $answer->{body}\n"
            . ($self->{worker} ? $self->{worker}->log_text : '');
    return $self;
}

sub stop {
    my ($self) = @_;
    delete $self->{client};
    $_->finish for delete($self->{sessions}{$$}) // ();
    $self->{worker}->stop if $self->{worker};
    $self->{httpd}->stop  if $self->{httpd};
    $self->{slapd}->stop  if $self->{slapd} && !$self->{slapd_is_given};
    $self->{cloud}->stop  if $self->{cloud};
    return $self;
}

1;
