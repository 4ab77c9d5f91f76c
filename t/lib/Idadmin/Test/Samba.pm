package Idadmin::Test::Samba;
# A real Active Directory: a Samba domain controller on its own address (its ports are fixed), with
# TLS, Kerberos and a seeded company: OU=People, OU=Groups, OU=Services. Service account "idadmin":
# exactly the rights in doc/directories.md; "reader": may only read. The domain is provisioned once
# per build directory (about ten seconds) and copied for every server.
use strict;
use warnings;
use Encode ();
use Fcntl ();
use Idadmin::Test ();
use Idadmin::Test::People ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Tls ();
use IO::Socket::INET ();
use MIME::Base64 ();

our $realm    = 'AD.EXAMPLE.TEST';
our $dns      = lc $realm;
our $suffix   = 'DC=ad,DC=example,DC=test';
our $people   = "OU=People,$suffix";
our $groups   = "OU=Groups,$suffix";
our $services = "OU=Services,$suffix";
our $service  = "CN=idadmin,$services";
our $reader   = "CN=reader,$services";
our $admin    = "CN=Administrator,CN=Users,$suffix";
our $domain   = 'nordic.example';    # of UPNs and mail, as in most companies another than the realm

sub service_password { return 'service-Passw0rd-1' }
sub admin_password   { return 'admin-Passw0rd-1' }
sub user_password    { return "Secret-Pw-$_[0]-1" }    # of login name

my $days = 7;                                            # before passwords of the domain expire

sub skip_reason {
    return 'Samba does not run at another date (IDADMIN_CLOCK)' if $ENV{FAKETIME};
    return 'a Samba domain controller needs to be root for its ports and file attributes'
        if $> != 0;
    for my $program (qw(samba samba-tool)) {
        return "$program is not installed" if !Idadmin::Test::program_path($program);
    }
    return 'the setup files of Samba AD are not installed (samba-ad-provision)'
        if !-d '/usr/share/samba/setup';
    return 'python3-samba is not installed'
        if system('/usr/bin/python3 -c "import samba.samdb" 2>/dev/null') != 0;
    return '';
}

sub user_dn  { return "CN=$_[0],$people" }
sub group_dn { return "CN=$_[0],$groups" }

# Everything the tests find in a new domain; run once, within one transaction, before any server
# starts.
my $seed = <<'PYTHON';
import json, sys
from samba.auth import system_session
from samba.param import LoadParm
from samba.samdb import SamDB
from samba.sd_utils import SDUtils
seed = json.load(open(sys.argv[2]))
lp = LoadParm()
lp.load(sys.argv[1] + '/etc/smb.conf')
db = SamDB(url=sys.argv[1] + '/private/sam.ldb', session_info=system_session(), lp=lp)
db.transaction_start()
for entry in seed['entries']:
    if 'password' in entry:
        entry['unicodePwd'] = ('"%s"' % entry.pop('password')).encode('utf-16-le')
    db.add(entry)
db.transaction_commit()
sd = SDUtils(db)
for dn, account, ace in seed['rights']:
    found = db.search(base=account, scope=0, attrs=['objectSid'])
    sid = db.schema_format_value('objectSid', found[0]['objectSid'][0]).decode()
    ace = ace.replace('SID', sid)
    if not dn.startswith('CN=Deleted Objects'):
        sd.dacl_add_ace(dn, ace)
        continue
    shown = ['show_deleted:1']
    text = sd.read_sd_on_dn(dn, shown).as_sddl(sd.domain_sid)
    at = text.index('(', text.index('D:'))
    sd.modify_sd_on_dn(dn, text[:at] + ace + text[at:], shown)
PYTHON

# Rights as in doc/directories.md, "Active Directory".
my ($user_class, $group_class, $member) = qw(bf967aba-0de6-11d0-a285-00aa003049e2
    bf967a9c-0de6-11d0-a285-00aa003049e2 bf9679c0-0de6-11d0-a285-00aa003049e2);
my @rights = (
    [$people, $service, "(OA;CI;CCDC;$user_class;;SID)"],
    [$people, $service, "(OA;CIIO;RPWP;;$user_class;SID)"],
    [$people, $service, "(OA;CIIO;CR;00299570-246d-11d0-a768-00aa006e0529;$user_class;SID)"],
    [$groups, $service, "(OA;CIIO;WP;$member;$group_class;SID)"],
    [$suffix, $service, '(OA;;CR;1131f6aa-9c07-11d1-f79f-00c04fc2dcd2;;SID)'],
    ["CN=Deleted Objects,$suffix", $service, '(A;CI;RPLC;;;SID)'],
);

sub _entries {
    my @entries = map { { dn => $_, objectClass => 'organizationalUnit' } } $people,
        "OU=Leavers,$people", $groups, $services;
    push @entries, { dn => "CN=$_,$services", objectClass => 'user', sAMAccountName => $_,
        userPrincipalName => "$_\@$dns",
        userAccountControl => '66048', password => service_password() } for qw(idadmin reader);
    my (%members, %head);
    for my $person (map { [map {
        Encode::decode_utf8(Encode::is_utf8($_) ? Encode::encode_utf8($_)
        : $_) } @$_] } @Idadmin::Test::People::people) {
        my ($uid, $first, $last, $title, $department) = @$person;
        my $manager = $head{$department} // ($uid eq 'eva.berg' ? undef : user_dn('Eva Berg'));
        $head{$department} //= user_dn("$first $last");
        push @entries, { dn => user_dn("$first $last"), objectClass => 'user',
            sAMAccountName => $uid, userPrincipalName => "$uid\@$domain",
            mail => "$uid\@$domain", displayName => "$first $last", givenName => $first,
            sn => $last, title => $title, department => $department,
            company => 'Nordic AB', l => 'Stockholm', userAccountControl => '512',
            password => user_password($uid), ($manager ? (manager => $manager) : ()) };
        push @{ $members{$_} }, $entries[-1]{dn}
            for 'All staff', $department eq 'Sales' ? 'Sales team' : $department;
        push @{ $members{'CRM admins'} }, $entries[-1]{dn} if $uid =~ /^(?:anna\.lind|bo\.ek)$/;
    }
    push @entries, { dn => "CN=Old Admin,$people", objectClass => 'user',
        sAMAccountName => 'old.admin', userPrincipalName => "old.admin\@$domain",
        displayName => 'Old Admin', adminCount => '1', userAccountControl => '512',
        password => user_password('old.admin') };
    push @entries, { dn => group_dn($_), objectClass => 'group', sAMAccountName => $_,
        member => $members{$_} } for sort keys %members;
    push @entries, { dn => "CN=Elsewhere,$services", objectClass => 'group',
        sAMAccountName => 'Elsewhere' };
    my %order = (organizationalUnit => 0, user => 1, group => 2);
    return [sort { $order{ $a->{objectClass} } <=> $order{ $b->{objectClass} } } @entries];
}

# A copy of the provisioned and seeded domain, which is created again if it is old or from another
# version; by one at a time, and by none while another copies it.
sub _copy_domain {
    my ($base) = @_;
    my $cache = Idadmin::Test::build_dir() . '/obj/samba-domain';
    open my $lock, '>>', "$cache.lock" or die "$cache.lock: $!\n";
    flock $lock, Fcntl::LOCK_EX() or die "$cache.lock: $!\n";
    my $json = Idadmin::Test::json_text({ entries => _entries(), rights => \@rights });
    my $want = Idadmin::Test::run_command([Idadmin::Test::program_path('samba'),
        '--version'])->{out} . $seed . $json;
    _make_domain($cache, $json, $want) if !-e "$cache/made-by" || -M _ >= $days
        || Idadmin::Test::slurp("$cache/made-by") ne $want;
    system('cp', '-a', $cache, $base) == 0 or die "cannot copy $cache\n";
}

sub _make_domain {
    my ($cache, $json, $want) = @_;
    File::Path::remove_tree($cache);
    my $made = Idadmin::Test::run_command([Idadmin::Test::program_path('samba-tool'), 'domain',
        'provision', '--configfile=/dev/null', "--targetdir=$cache", "--realm=$realm",
        '--domain=EXAMPLE', '--adminpass=' . admin_password(), '--server-role=dc',
        '--dns-backend=NONE', '--host-name=dc1', '--host-ip=127.0.0.1']);
    die "samba-tool domain provision: $made->{out}$made->{err}" if $made->{exit};
    Idadmin::Test::spew("$cache/seed.py",   $seed);
    Idadmin::Test::spew("$cache/seed.json", $json);
    $made = Idadmin::Test::run_command(['/usr/bin/python3', "$cache/seed.py", $cache,
        "$cache/seed.json"]);
    die "seeding of the domain: $made->{out}$made->{err}" if $made->{exit};
    $made = Idadmin::Test::run_command([Idadmin::Test::program_path('samba-tool'), 'domain',
        'exportkeytab', "$cache/idadmin.keytab", '--principal=idadmin',
        "--configfile=$cache/etc/smb.conf"]);
    die "samba-tool domain exportkeytab: $made->{out}$made->{err}" if $made->{exit};
    File::Path::remove_tree("$cache/state/sysvol");
    Idadmin::Test::spew("$cache/made-by", $want);
}

# An address of this machine on which the ports of a domain controller are free.
sub _free_address {
    for (1 .. 1000) {
        my $address = join '.', 127, 100 + int rand 100, int rand 256, 1 + int rand 254;
        my @free = map { IO::Socket::INET->new(LocalAddr => $address, LocalPort => $_,
            Proto => 'tcp', Listen => 1) } 88, 389, 636;
        return $address if 3 == grep {$_} @free;
    }
    die "no address for a domain controller\n";
}

# new(account => 'reader', document => {...} changed members of its document, start => 0)
sub new {
    my ($class, %how) = @_;
    my $base = Idadmin::Test::tempdir() . '/samba' . ++our $count;
    _copy_domain($base);
    my $address = _free_address();
    my $self = bless { base => $base, log => "$base/log", address => $address,
        host => 'dc1.' . $dns, %how }, $class;
    my $tls = Idadmin::Test::Tls::certificate("samba$count", '/CN=' . $self->{host},
        "IP:$address,DNS:$self->{host}");
    chmod 0600, $tls->{key};
    mkdir "$base/$_" for qw(run state cache);
    Idadmin::Test::spew("$base/etc/smb.conf", <<"CONF");
[global]
netbios name = DC1
realm = $realm
workgroup = EXAMPLE
server role = active directory domain controller
server services = ldap, kdc
interfaces = $address/8
bind interfaces only = yes
disable netbios = yes
private dir = $base/private
state directory = $base/state
cache directory = $base/cache
lock directory = $base
pid directory = $base/run
ncalrpc dir = $base/run/ncalrpc
tls keyfile = $tls->{key}
tls certfile = $tls->{cert}
tls cafile = @{[ Idadmin::Test::Tls::files()->{ca} ]}
ldap server require strong auth = yes
prefork children = 2
ldb:nosync = true
CONF
    Idadmin::Test::spew("$base/krb5.conf", <<"CONF");
[libdefaults]
default_realm = $realm
rdns = false
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
[realms]
$realm = {
 kdc = $address
}
[domain_realm]
$address = $realm
CONF
    chmod 0755, $base;
    return ($how{start} // 1) ? $self->start : $self;
}

sub start {
    my ($self) = @_;
    $self->{pid} = Idadmin::Test::daemon([Idadmin::Test::program_path('samba'), '-i', '-s',
        "$self->{base}/etc/smb.conf", '--no-process-group'], log => $self->{log});
    Idadmin::Test::within(sub { Idadmin::Test::ended($self->{pid}) || $self->answers });
    die "samba does not start:\n" . Idadmin::Test::slurp($self->{log})
        if Idadmin::Test::ended($self->{pid}) || !$self->answers;
    # Kerberos knows servers by the name in the address; here that is the IP address itself.
    $self->modify("dn: CN=DC1,OU=Domain Controllers,$suffix\nchangetype: modify\nadd: "
        . "servicePrincipalName\nservicePrincipalName: ldap/$self->{address}\n")
        if !$self->{named}++;
    return $self;
}

sub answers {
    my ($self) = @_;
    my $result = $self->client('ldapsearch',
        ['-LLL', '-b', '', '-s', 'base', '(objectClass=*)', 'defaultNamingContext']);
    return $result->{exit} == 0;
}

sub stop {
    my ($self, $signal) = @_;
    Idadmin::Test::stop_daemon(delete $self->{pid}, $signal // 'TERM') if $self->{pid};
}

sub restart { my ($self) = @_; $self->stop; return $self->start }

sub url       { return "ldap://$_[0]{address}" }
sub ldaps_url { return "ldaps://$_[0]{address}" }
sub ca_file   { return Idadmin::Test::Tls::files()->{ca} }
sub krb5_conf { return "$_[0]{base}/krb5.conf" }
sub keytab    { return "$_[0]{base}/idadmin.keytab" }

# directories.onPremises of a tenant, with changed members.
sub document {
    my ($self, %changes) = @_;
    my $account = $self->{account} // 'idadmin';
    return {
        urls => [$self->ldaps_url], dialect => 'activeDirectory', bind => 'simple',
            bindDn => "$account\@$dns",
        bindPasswordFile => Idadmin::Test::secret_file('samba.password', service_password() . "\n"),
        caFile => $self->ca_file,
        userBase => $people, groupBase => $groups, protectedAccounts => ["per.lundin\@$domain"],
        syncInterval => '1s', %{ $self->{document} // {} }, %changes,
    };
}

# Runs an OpenLDAP client program over TLS as the administrator (or bind => [name, password]).
sub client {
    my ($self, $program, $arguments, %how) = @_;
    my ($name, $password) = @{ $how{bind} // ["administrator\@$dns", admin_password()] };
    return Idadmin::Test::run_command([$program, '-x', '-H', $self->ldaps_url, '-D', $name, '-w',
        $password, '-o', 'ldif-wrap=no', '-o', 'nettimeout=60', @$arguments],
        stdin => $how{stdin}, env => { LDAPTLS_CACERT => $self->ca_file });
}

# The rest of the words are those of Slapd.
sub search { my ($self, $filter, %how) = @_;
    return Idadmin::Test::Slapd::search($self, $filter, base => $suffix, %how) }
sub entry  { my ($self, $dn, %how) = @_;
    return ($self->search('(objectClass=*)', base => $dn, scope => 'base', %how))[0] }
sub modify { goto &Idadmin::Test::Slapd::modify }
sub delete_entry { my ($self, $dn) = @_; return $self->modify("dn: $dn\nchangetype: delete\n") }

# One user by login name, or undef.
sub user { my ($self, $login) = @_; return ($self->search("(sAMAccountName=$login)"))[0] }

sub members {
    my ($self, $group) = @_;
    my @members = sort @{ ($self->entry(group_dn($group)) // {})->{member} // [] };
    return @members;
}

# The number of an account or group within the domain.
sub rid { my ($self, $dn) = @_;
    return unpack 'V', substr(($self->entry($dn) // die "no entry $dn\n")->{objectsid}[0], -4) }

# Makes a group, in which the account must be, its primary one; the former one becomes a group like
# others.
sub make_primary {
    my ($self, $dn, $group) = @_;
    return $self->modify("dn: $dn\nchangetype: modify\nreplace: primaryGroupID\nprimaryGroupID: "
        . $self->rid($group) . "\n");
}

sub password_value { return MIME::Base64::encode_base64(Encode::encode('UTF-16LE', qq{"$_[0]"}),
    '') }

sub set_password {
    my ($self, $dn, $password) = @_;
    return $self->modify("dn: $dn\nchangetype: modify\nreplace: unicodePwd\nunicodePwd:: "
        . password_value($password) . "\n");
}

sub add_user {
    my ($self, $login, %attributes) = @_;
    my $dn = delete $attributes{dn} // user_dn($login);
    my %all = (objectClass => 'user', sAMAccountName => $login,
        userPrincipalName => "$login\@$domain", mail => "$login\@$domain", displayName => $login,
        userAccountControl => 512, %attributes);
    return $self->modify(Idadmin::Test::Slapd::_entry($dn, changetype => 'add',
        map { ($_ => $all{$_}) } grep { defined $all{$_} } sort keys %all)
            =~ s/\n\n\z/"\nunicodePwd:: " . password_value(user_password($login)) . "\n\n"/er);
}

# Can this user sign in? Returns the LDAP result code (0 = yes, 49 = refused).
sub bind_code {
    my ($self, $login, $password) = @_;
    return $self->client('ldapsearch',
        ['-LLL', '-b', '', '-s', 'base', '(objectClass=*)', 'defaultNamingContext'],
        bind => ["EXAMPLE\\$login", $password // user_password($login)])->{exit};
}

# "data 533" and the like of a refused bind.
sub bind_text {
    my ($self, $login, $password) = @_;
    return $self->client('ldapsearch', ['-LLL', '-b', '', '-s', 'base'],
        bind => ["EXAMPLE\\$login", $password // user_password($login)])->{err};
}

1;
