package Idadmin::Test::Slapd;
# A real slapd on free ports with TLS, the overlays that a careful administrator configures, and a
# seeded company (dc=nordic,dc=example: ou=people, ou=groups). Service account: writes people and
# groups, manages nothing else.
use strict;
use warnings;
use Encode ();
use Idadmin::Test ();
use Idadmin::Test::People ();
use Idadmin::Test::Tls ();
use MIME::Base64 ();

our $suffix   = 'dc=nordic,dc=example';
our $people   = "ou=people,$suffix";
our $groups   = "ou=groups,$suffix";
our $service  = "cn=idadmin,ou=services,$suffix";
our $admin    = "cn=admin,$suffix";
our $domain   = 'nordic.example';
our $filler   = "cn=placeholder,$groups";
our @overlays = qw(memberof refint ppolicy syncprov dynlist);

sub service_password { return 'service-Passw0rd-1' }
sub admin_password   { return 'admin-Passw0rd-1' }
sub user_password    { return "Secret-$_[0]-1" }       # of uid

my @seed = map { [map { Encode::encode_utf8($_) } @$_] } @Idadmin::Test::People::people;

my %seed_groups = (
    'All staff'   => sub {1},
    'Sales team'  => sub { $_[0][4] eq 'Sales' },
    'Engineering' => sub { $_[0][4] eq 'Engineering' },
    'Finance'     => sub { $_[0][4] eq 'Finance' },
    'CRM admins'  => sub { $_[0][0] =~ /^(?:anna\.lind|bo\.ek)$/ },
);

sub skip_reason {
    for my $program (qw(slapd slapadd)) {
        return "$program is not installed" if !Idadmin::Test::program_path($program);
    }
    return '';
}

sub user_dn  { return "uid=$_[0],$people" }
sub group_dn { return "cn=$_[0],$groups" }

# new(users => N and groups => M beyond the seed, overlays => [...], conf => "extra database lines",
# global => "extra global
#     lines", limits => "that of the service account", ldif => "more entries", nosync => 1, lastbind
#     => 0, start => 0)
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/slapd' . ++our $count;
    mkdir $base or die "$base: $!\n";
    mkdir "$base/db";
    my $self = bless { base => $base, log => "$base/log", %how,
        overlays => $how{overlays} // [@overlays] }, $class;
    $self->_write_ldif("$base/seed.ldif");
    $self->{port}  = Idadmin::Test::free_port();
    $self->{ports} = Idadmin::Test::free_port();
    $self->_write_conf;
    my $loaded = Idadmin::Test::run_command([Idadmin::Test::program_path('slapadd'), '-q', '-f',
        "$base/slapd.conf", '-b', $suffix, '-l', "$base/seed.ldif"]);
    die "slapadd: $loaded->{err}" if $loaded->{exit};
    return ($how{start} // 1) ? $self->start : $self;
}

sub _has { my ($self, $name) = @_; return scalar grep { $_ eq $name } @{ $self->{overlays} } }

sub _write_conf {
    my ($self) = @_;
    my $tls = Idadmin::Test::Tls::files();
    my %overlay = (
        memberof => "overlay memberof\nmemberof-group-oc groupOfNames\nmemberof-dangling ignore\n",
        refint   => "overlay refint\nrefint_attributes member manager\nrefint_nothing $filler\n",
        ppolicy  => "overlay ppolicy\nppolicy_default \"cn=default,ou=policies,$suffix\"\n",
        syncprov => "overlay syncprov\nsyncprov-checkpoint 1000 10\nsyncprov-sessionlog 10000\n",
        dynlist  => "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member\n",
        unique   =>
        "overlay unique\nunique_uri ldap:///$people?mail?sub\nunique_uri ldap:///$people?uid?sub\n",
    );
    my $nosync = $self->{nosync} ? "dbnosync\n" : '';
    my @wanted = map { $overlay{$_} // die "no overlay $_\n" } @{ $self->{overlays} };
    Idadmin::Test::spew("$self->{base}/slapd.conf", join '', <<"CONF", @wanted);
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/dyngroup.schema
modulepath /usr/lib/ldap
moduleload back_mdb
@{[ join '', map {"moduleload $_\n"} @{ $self->{overlays} } ]}
pidfile $self->{base}/pid
argsfile $self->{base}/args
loglevel stats
TLSCACertificateFile $tls->{ca}
TLSCertificateFile $tls->{cert}
TLSCertificateKeyFile $tls->{key}
TLSVerifyClient never
sizelimit 500
@{[ $self->{global} // '' ]}
database config
rootdn cn=config
rootpw @{[ admin_password() ]}

database mdb
suffix $suffix
rootdn $admin
rootpw @{[ admin_password() ]}
directory $self->{base}/db
maxsize 2147483648
@{[ $self->{lastbind} // 1 ? 'lastbind on' : '' ]}
index objectClass,entryCSN,entryUUID,uid,mail,member,manager eq
index cn,sn,givenName,displayName pres,eq,sub
index modifyTimestamp eq
@{[ $self->_has('memberof') ? 'index memberOf eq' : '' ]}
${nosync}@{[ $self->{limits} // qq(limits dn.exact="$service" size=unlimited time=unlimited) ]}
access to attrs=userPassword by dn.exact="$service" write by self write by anonymous auth by * none
access to dn.subtree="$people" by dn.exact="$service" write by users read by * none
access to dn.subtree="$groups" by dn.exact="$service" write by users read by * none
access to * by dn.exact="$service" read by users read by anonymous auth by * none
@{[ $self->{conf} // '' ]}
CONF
}

sub _line {
    my ($name, $value) = @_;
    return "${name}: $value\n"
        if $value =~ /^[\x21-\x39\x3b\x3d-\x7e][\x20-\x7e]*$/ && $value !~ / $/;
    return "${name}:: " . MIME::Base64::encode_base64(Encode::is_utf8($value)
        ? Encode::encode_utf8($value) : $value, '') . "\n";
}

sub _entry {
    my ($dn, @pairs) = @_;
    my $text = _line(dn => $dn);
    while (my ($name, $value) = splice @pairs, 0, 2) {
        $text .= _line($name, $_) for ref $value ? @$value : $value;
    }
    return "$text\n";
}

sub _person {
    my ($self, $uid, $first, $last, $title, $department, $manager, $groups_of) = @_;
    return _entry(user_dn($uid), objectClass => 'inetOrgPerson', uid => $uid, cn => "$first $last",
        sn => $last, givenName => $first,
        displayName => "$first $last", mail => "$uid\@$domain", title => $title,
        departmentNumber => $department, o => 'Nordic AB',
        l => 'Stockholm', userPassword => user_password($uid),
        ($manager ? (manager => user_dn($manager)) : ()),
        ($self->_has('memberof') && @$groups_of ? (memberOf => [map { group_dn($_) } @$groups_of])
        : ()));
}

sub _write_ldif {
    my ($self, $file) = @_;
    open my $out, '>:raw', $file or die "$file: $!\n";
    print {$out} _entry($suffix, objectClass => ['dcObject', 'organization'], dc => 'nordic',
        o => 'Nordic AB'),
        map({ _entry("ou=$_,$suffix", objectClass => 'organizationalUnit', ou => $_) } qw(people
        groups services policies)),
        _entry($service, objectClass => ['person'], cn => 'idadmin', sn => 'idadmin',
        userPassword => service_password());
    print {$out} _entry("cn=default,ou=policies,$suffix", objectClass => ['person', 'pwdPolicy'],
        cn => 'default', sn => 'default',
        pwdAttribute => 'userPassword', pwdLockout => 'TRUE', pwdMaxFailure => 100,
        pwdLockoutDuration => 60) if $self->_has('ppolicy');

    my (%members, %groups_of, %head);
    for my $person (map { [map { Encode::decode_utf8($_) } @$_] } @seed) {
        for my $group (sort keys %seed_groups) {
            next if !$seed_groups{$group}->($person);
            push @{ $members{$group} }, $person->[0];
            push @{ $groups_of{ $person->[0] } }, $group;
        }
        my $manager = $head{ $person->[4] } // ($person->[0] eq 'eva.berg' ? undef : 'eva.berg');
        $head{ $person->[4] } //= $person->[0];
        print {$out} $self->_person(@$person, $manager, $groups_of{ $person->[0] } // []);
    }
    # Generated people user00001... of department "Bulk"; generated groups "Group 00001"... of
    # twenty of them each.
    my ($users, $extra) = ($self->{users} // 0, $self->{groups} // 0);
    for my $n (1 .. $extra) {
        last if !$users;
        my $group = sprintf 'Group %05d', $n;
        for my $k (0 .. ($users < 20 ? $users : 20) - 1) {
            my $uid = sprintf 'user%05d', ($n * 20 + $k) % $users + 1;
            push @{ $members{$group} }, $uid;
            push @{ $groups_of{$uid} }, $group;
        }
    }
    for my $n (1 .. $users) {
        my $uid = sprintf 'user%05d', $n;
        print {$out} $self->_person($uid, 'User', sprintf('Number%05d', $n), 'Clerk', 'Bulk',
            'eva.berg', $groups_of{$uid} // []);
    }
    print {$out} _entry(group_dn($_), objectClass => 'groupOfNames', cn => $_,
        member => [map { user_dn($_) } @{ $members{$_} }])
        for sort keys %members;
    print {$out} _entry(group_dn('Everyone in sales'), objectClass => 'groupOfURLs',
        cn => 'Everyone in sales',
        memberURL => "ldap:///$people??sub?(departmentNumber=Sales)");
    print {$out} $self->{ldif} if $self->{ldif};
    close $out or die "$file: $!\n";
}

sub start {
    my ($self) = @_;
    my $program = Idadmin::Test::program_path('slapd');
    # Some distributions confine the installed path to /etc/ldap and /var/lib/ldap by AppArmor; a
    # copy is not confined.
    if (-e '/etc/apparmor.d/usr.sbin.slapd') {
        my $copy = Idadmin::Test::tempdir() . '/bin/slapd';
        system('cp', $program, $copy) == 0 or die "cannot copy $program\n" if !-e $copy;
        $program = $copy;
    }
    $self->{pid} = Idadmin::Test::daemon([$program, '-d', '0', '-f', "$self->{base}/slapd.conf",
        '-h', $self->url . '/ ' . $self->ldaps_url . '/'],
        log => $self->{log});
    Idadmin::Test::within(sub { Idadmin::Test::ended($self->{pid}) || $self->answers });
    die "slapd does not start:\n" . Idadmin::Test::slurp($self->{log})
        if Idadmin::Test::ended($self->{pid});
    return $self;
}

sub answers {
    my ($self) = @_;
    for my $port ($self->{port}, $self->{ports}) {
        IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Proto => 'tcp',
            Timeout => 2) or return 0;
    }
    return 1;
}

sub stop {
    my ($self, $signal) = @_;
    Idadmin::Test::stop_daemon(delete $self->{pid}, $signal // 'TERM') if $self->{pid};
}

sub restart { my ($self) = @_; $self->stop; return $self->start }

# Freezes and thaws the server: it accepts connections and says nothing more.
sub freeze {
    my ($self) = @_;
    kill STOP => $self->{pid};
    Idadmin::Test::within(sub { Idadmin::Test::stands_still($self->{pid}) });
}
sub thaw   { kill CONT => $_[0]{pid} }

sub url       { return "ldap://127.0.0.1:$_[0]{port}" }
sub ldaps_url { return "ldaps://127.0.0.1:$_[0]{ports}" }
sub ca_file   { return Idadmin::Test::Tls::files()->{ca} }

# Runs an OpenLDAP client program as the administrator (or bind => [dn, password]).
sub client {
    my ($self, $program, $arguments, %how) = @_;
    my ($dn, $password) = @{ $how{bind} // [$admin, admin_password()] };
    return Idadmin::Test::run_command([$program, '-x', '-H', $self->url, '-D', $dn, '-w', $password,
        '-o', 'ldif-wrap=no', @$arguments],
        stdin => $how{stdin});
}

# search($filter, base =>, attributes => [...], scope => 'sub', bind =>) -> entries { dn => ...,
# lower-case name => [values] }; "+" is asked for unless attributes are named. Values are bytes.
sub search {
    my ($self, $filter, %how) = @_;
    my $result = $self->client('ldapsearch',
        ['-LLL', '-E', 'pr=500/noprompt', '-b', $how{base} // $suffix, '-s', $how{scope} // 'sub',
        $filter,
            @{ $how{attributes} // ['*', '+'] }], bind => $how{bind});
    return () if $result->{exit} == 32;
    die "ldapsearch $filter: $result->{err}" if $result->{exit};
    my @entries;
    for my $block (split /\n\n+/, $result->{out}) {
        my %entry;
        for my $line (split /\n/, $block) {
            next if $line =~ /^#/;
            my ($name, $encoded, $value) = $line =~ /^([^:]+):(:?) ?(.*)$/ or next;
            $value = MIME::Base64::decode_base64($value) if $encoded;
            if   (lc $name eq 'dn') { $entry{dn} = $value }
            else                    { push @{ $entry{ lc $name } }, $value }
        }
        push @entries, \%entry if $entry{dn};
    }
    return @entries;
}

# One entry by DN, or undef.
sub entry {
    my ($self, $dn, %how) = @_;
    return ($self->search('(objectClass=*)', base => $dn, scope => 'base', %how))[0];
}

sub user { my ($self, $uid) = @_; return $self->entry(user_dn($uid)) }

# Who is in a group, as DNs.
sub members {
    my ($self, $group) = @_;
    my @members = sort @{ ($self->entry(group_dn($group)) // {})->{member} // [] };
    return @members;
}

# modify($ldif): LDIF change records (also adds and deletes), as the administrator unless bind is
# given. Dies unless it worked; with expect => CODE it must end with that LDAP code.
sub modify {
    my ($self, $ldif, %how) = @_;
    my $result = $self->client('ldapmodify', [], stdin => $ldif, bind => $how{bind});
    my $want = $how{expect} // 0;
    die "ldapmodify ended with $result->{exit}, not $want: $result->{err}"
        if $result->{exit} != $want;
    return $result;
}

sub add_user {
    my ($self, $uid, %attributes) = @_;
    my %all = (objectClass => 'inetOrgPerson', uid => $uid, cn => $uid, sn => $uid,
        mail => "$uid\@$domain", userPassword => user_password($uid), %attributes);
    return $self->modify(_entry(user_dn($uid), changetype => 'add',
        map { ($_ => $all{$_}) } sort keys %all));
}

# Changes the running server's own settings, e.g. configure(olcReadOnly => 'TRUE') on the database.
sub configure {
    my ($self, $name, $value) = @_;
    return $self->modify("dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: "
        . "$name\n$name: $value\n", bind => ['cn=config', admin_password()]);
}

sub delete_entry { my ($self, $dn) = @_; return $self->modify("dn: $dn\nchangetype: delete\n") }

# Can this user sign in? Returns the LDAP result code (0 = yes, 49 = refused).
sub bind_code {
    my ($self, $uid, $password) = @_;
    return $self->client('ldapwhoami', [],
        bind => [user_dn($uid), $password // user_password($uid)])->{exit};
}

1;
