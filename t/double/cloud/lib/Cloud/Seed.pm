package Cloud::Seed;
# A small company (tenant acme) with every kind of account and group the contract knows. Karin
# Hedlund is in a group of each kind.
use strict;
use warnings;
use utf8;
use Digest::MD5 ();
use Idadmin::Test::People ();
use Mojo::JSON;
use POSIX ();

# Sten Vik was last seen 200 days ago, Tove Ahlgren never signed in.
my @people = @Idadmin::Test::People::people;

our %sku = (SPE_E3 => '05e9a617-0261-4cee-bb44-138d3ef5d965',
    EMS => 'efccb6f7-5641-4e0e-bd10-b4976e1bf68e',
    SPE_E5 => '06ebc4ee-1bb5-47dd-8120-11324bc54e06');

# The same ID in every run.
sub id_of {
    my ($name) = @_;
    utf8::encode($name);
    my $h = Digest::MD5::md5_hex($name);
    return join '-', substr($h, 0, 8), substr($h, 8, 4), '4' . substr($h, 13, 3),
        '8' . substr($h, 17, 3), substr $h, 20;
}

sub _ago { my ($days) = @_; return POSIX::strftime('%Y-%m-%dT%H:%M:%SZ',
    gmtime(time - $days * 86400)) }

sub _seen {
    my ($days, $id) = @_;
    my $at = _ago($days);
    return { lastSignInDateTime => $at, lastSignInRequestId => $id,
        lastNonInteractiveSignInDateTime => $at, lastNonInteractiveSignInRequestId => $id,
        lastSuccessfulSignInDateTime => $at, lastSuccessfulSignInRequestId => $id };
}

sub _user {
    my ($cloud, $local, $first, $last, %more) = @_;
    my $domain = $cloud->{domains}[0];
    my $upn = "$local\@$domain";
    my %p = (id => id_of($upn), userPrincipalName => $upn, mail => $upn, mailNickname => $local,
        displayName => "$first $last", givenName => $first, surname => $last,
        companyName => 'Acme AB', city => 'Stockholm', country => 'SE', usageLocation => 'SE',
        officeLocation => 'House 1', preferredLanguage => 'sv-SE',
        accountEnabled => Mojo::JSON->true,
        userType => 'Member', createdDateTime => _ago(900), proxyAddresses => ["SMTP:$upn"],
        businessPhones => [], %more);
    delete $p{$_} for grep { !defined $p{$_} } keys %p;
    return $cloud->{directory}->add(user => \%p, at => 0, quiet => 1);
}

sub _group {
    my ($cloud, $name, $members, %more) = @_;
    my $directory = $cloud->{directory};
    my $type = delete $more{_type} // 'group';
    my %p = $type eq 'group' ? (groupTypes => [], securityEnabled => Mojo::JSON->true,
        mailEnabled => Mojo::JSON->false, mailNickname => lc($name =~ s/\W//gr),
        createdDateTime => _ago(900), proxyAddresses => []) : ();
    my $group = $directory->add($type => { %p, id => id_of("$type $name"), displayName => $name,
        %more }, at => 0, quiet => 1);
    $directory->set_member($group->{id}, $_->{id}, 1, at => 0, quiet => 1) for @$members;
    $cloud->{licenses}->licensed($group) if $more{assignedLicenses};
    return $group;
}

sub standard {
    my ($cloud) = @_;
    my ($directory, $licenses) = @$cloud{qw(directory licenses)};
    my ($true, $false) = (Mojo::JSON->true, Mojo::JSON->false);
    $licenses->add_sku(SPE_E3 => $sku{SPE_E3}, 500);
    $licenses->add_sku(EMS    => $sku{EMS},    100);
    $licenses->add_sku(SPE_E5 => $sku{SPE_E5}, 0);

    my (%who, %head);
    for my $row (@people) {
        my ($local, $first, $last, $title, $department) = @$row;
        my $manager = $head{$department} // ($local eq 'eva.berg' ? undef : $who{'eva.berg'});
        my $id = id_of("$local\@$cloud->{domains}[0]");
        $who{$local} = _user($cloud, $local, $first, $last, jobTitle => $title,
            department => $department, ($manager ? (_manager => $manager->{id}) : ()),
            _direct => { $sku{SPE_E3} => [] },
            ($local eq 'tove.ahlgren' ? ()
            : (signInActivity => _seen($local eq 'sten.vik' ? 200 : 2, $id))));
        $head{$department} //= $who{$local};
    }
    push @{ Cloud::Directory::props($who{'eva.berg'})->{proxyAddresses} },
        "smtp:ceo\@$cloud->{domains}[0]";
    $directory->index($who{'eva.berg'}, undef, Cloud::Directory::props($who{'eva.berg'}));

    my $admin  = _user($cloud, 'root.admin', 'Root', 'Admin', _privileged => 1,
        signInActivity => _seen(1, id_of('r')), _manager => $who{'eva.berg'}{id});
    my $synced = _user($cloud, 'syn.kad', 'Syn', 'Kad', onPremisesSyncEnabled => $true,
        onPremisesImmutableId => 'c3luLmthZC1pbW11dGFibGU=', signInActivity => _seen(3, id_of('s')),
        _manager => $who{'eva.berg'}{id});
    _user($cloud, 'arne.gammal', 'Arne', 'Gammal', accountEnabled => $false,
        signInActivity => _seen(400, id_of('a')));
    my $guest = _user($cloud, 'partner_other.example#EXT#', 'Pia', 'Partner',
        mail => 'partner@other.example', proxyAddresses => ['SMTP:partner@other.example'],
        userType => 'Guest',
        externalUserState => 'Accepted', signInActivity => _seen(120, id_of('g')),
        companyName => 'Other AB', usageLocation => undef);
    _user($cloud, 'pending_other.example#EXT#', 'Per', 'Pending', mail => 'pending@other.example',
        proxyAddresses => [], userType => 'Guest', externalUserState => 'PendingAcceptance');

    my @all   = map { $who{ $_->[0] } } @people;
    my $of    = sub { my ($department) = @_;
        map { $who{ $_->[0] } } grep { $_->[4] eq $department } @people };
    my $karin = $who{'karin.hedlund'};
    my $sales = _group($cloud, 'Sales team', [$of->('Sales')]);
    _group($cloud, 'All staff', \@all);
    _group($cloud, 'Finance', [$of->('Finance')]);
    _group($cloud, 'CRM admins', [@who{qw(anna.lind bo.ek)}]);
    _group($cloud, 'Engineering', [$of->('Engineering'), $guest], groupTypes => ['Unified'],
        mailEnabled => $true, securityEnabled => $false,
        mail => "engineering\@$cloud->{domains}[0]",
        proxyAddresses => ["SMTP:engineering\@$cloud->{domains}[0]"], visibility => 'Private',
        _owners => [$who{'johan.asberg'}{id}]);
    _group($cloud, 'Everyone in sales', [$of->('Sales')], groupTypes => ['DynamicMembership'],
        membershipRule => 'user.department -eq "Sales"', membershipRuleProcessingState => 'On');
    _group($cloud, 'Synced staff', [$karin, $synced], onPremisesSyncEnabled => $true,
        onPremisesSecurityIdentifier => 'S-1-5-21-1-2-3-1104');
    _group($cloud, 'Mail developers', [$karin, $who{'lars.moberg'}], mailEnabled => $true,
        mail => "developers\@$cloud->{domains}[0]",
        proxyAddresses => ["SMTP:developers\@$cloud->{domains}[0]"]);
    _group($cloud, 'News list', [$karin], mailEnabled => $true, securityEnabled => $false,
        mail => "news\@$cloud->{domains}[0]",
        proxyAddresses => ["SMTP:news\@$cloud->{domains}[0]"]);
    _group($cloud, 'Role holders', [$karin], isAssignableToRole => $true);
    _group($cloud, 'Restricted', [$karin], isManagementRestricted => $true);
    _group($cloud, 'Mobile staff', [@who{qw(karin.hedlund lars.moberg)}],
        assignedLicenses => [{ skuId => $sku{EMS}, disabledPlans => [] }]);
    _group($cloud, 'Sales division', [$sales, $who{'eva.berg'}]);
    _group($cloud, 'Empty', []);
    my $device = $directory->add(device => { id => id_of('device'), displayName => 'LAPTOP-1' },
        at => 0, quiet => 1);
    _group($cloud, 'Devices', [$device]);
    _group($cloud, 'User Administrator', [$admin], _type => 'directoryRole',
        description => 'Can manage users');
    _group($cloud, 'Stockholm', [$karin], _type => 'administrativeUnit', description => 'Site');
}

1;
