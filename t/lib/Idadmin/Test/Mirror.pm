package Idadmin::Test::Mirror;
# A directory's content and the cache, both in the same form for comparison: a hash of "user ID",
# "group ID" and "counters" to one line of text each. The directory's side is computed from its own
# dump, by the rules of the service.
use strict;
use warnings;
use Encode ();
use Exporter 'import';
use MIME::Base64 ();
use Idadmin::Test ();
use Idadmin::Test::Samba ();
use Idadmin::Test::Slapd ();
use POSIX ();
use Test::More ();
use Time::Local ();

our @EXPORT_OK = qw(cache_of cloud_truth ldap_truth ad_truth same_in_both all_of);

my @columns = sort qw(upn mail display_name given_name surname department job_title company office
    city country employee_id anchor);

# user: hash of columns and id, enabled, guest, manager (ID or undef), created (text), addresses,
# licences (lists)
sub _user_line {
    my ($user) = @_;
    return join '|', (map { defined $user->{$_} && length $user->{$_} ? $user->{$_}
        : '-' } @columns), "enabled=$user->{enabled}", "guest=$user->{guest}",
        'manager=' . ($user->{manager} // '-'),
        "created=$user->{created}", 'addresses=' . join(',', sort @{ $user->{addresses} }),
        'licences=' . join(',', sort @{ $user->{licences} });
}

# group: id, name, description, kind, rule, synced, count, members ("user ID", "group ID"; of the
# cloud also "other ID", who does not count)
sub _group_line {
    my ($group) = @_;
    return join '|', $group->{name},
        (map { defined $group->{$_} && length $group->{$_} ? $group->{$_} : '-' } qw(description)),
        $group->{kind},
        ($group->{kind} eq 'dynamic' && length($group->{rule} // '') ? $group->{rule} : '-'),
        $group->{synced}, $group->{count}, sort @{ $group->{members} };
}

sub _state {
    my ($directory, $users, $groups) = @_;
    my %state = ((map { ("user $_->{id}" => _user_line($_)) } @$users),
        map { ("group $_->{id}" => _group_line($_)) } @$groups);
    $state{counters} = sprintf 'enabled_members=%d groups.%s=%d users.%s=%d',
        scalar(grep { $_->{enabled} && !$_->{guest} } @$users), $directory, scalar @$groups,
        $directory, scalar @$users;
    return \%state;
}

# -- the cache

# cache_of($stack, 'cloud'|'onPremises')
sub cache_of {
    my ($stack, $directory) = @_;
    my $rows = sub { return map {
        [map { my $text = $_; utf8::decode($text) if defined $text; $text } @$_] } $stack->sql($_[0]
        . " directory = '$directory'" . ($_[1] // '')) };
    my $lists = sub { my %of; push @{ $of{ $_->[0] } }, $_->[1] for $rows->(@_); return \%of };
    my $addresses = $lists->('SELECT owner_id, address FROM cache.address WHERE');
    my $members = {};
    push @{ $members->{ $_->[0] } }, $_->[1]
        for map {
        [@$_] } $stack->sql("SELECT g.id, CASE m.nested WHEN 1 THEN 'group ' ELSE 'user ' END || "
        . "e.id FROM cache.membership m"
        . " JOIN cache.entry g ON g.tenant_id = m.tenant_id AND g.no = m.group_no "
            . "JOIN cache.entry e ON e.tenant_id = m.tenant_id AND e.no = m.member_no "
            . "WHERE g.directory = '$directory' AND m.removed = 0");
    push @{ $members->{ $_->[0] } }, "other $_->[1]"
        for $directory eq 'cloud'
        ? $rows->('SELECT group_id, dn_key FROM cache.unresolved_member WHERE') : ();
    my (@users, %lives);
    for my $row ($rows->('SELECT id, enabled, guest, manager_id, created_at, licenses, upn_key, '
        . join(', ', @columns) . ' FROM cache.directory_user WHERE')) {
        my %user;
        @user{ qw(id enabled guest manager created licences key), @columns } = @$row;
        $user{created} = POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($user{created} / 1000));
        # only the row has the UPN
        my %addresses = map { ($_ => 1) } @{ $addresses->{ $user{id} } // [] },
            grep { defined } $user{key};
        push @users, { %user, addresses => [keys %addresses],
            licences => Idadmin::Test::json_data(Encode::encode_utf8($user{licences})) };
        $lives{ $user{id} } = 1;
    }
    for my $user (@users) { undef $user->{manager} if !$lives{ $user->{manager} // '' } }
    my @groups;
    for my $row ($rows->('SELECT id, name, description, kind, rule, synced, member_count FROM '
        . 'cache.directory_group WHERE')) {
        my %group;
        @group{qw(id name description kind rule synced count)} = @$row;
        push @groups, { %group, members => $members->{ $group{id} } // [] };
    }
    my $state = _state($directory, \@users, \@groups);
    my %counted = map {
        @$_ } $stack->sql("SELECT name, value FROM cache.counter WHERE name IN "
        . "('enabled_members', 'users.$directory', 'groups.$directory')");
    $state->{counters} = join ' ', map { "$_=" . ($counted{$_} // 0) } 'enabled_members',
        "groups.$directory", "users.$directory";
    return $state;
}

# -- the cloud, by lists and single reads

my %cloud_names = (
    upn => 'userPrincipalName', mail => 'mail', display_name => 'displayName',
        given_name => 'givenName', surname => 'surname', department => 'department',
        job_title => 'jobTitle',
    company => 'companyName', office => 'officeLocation', city => 'city', country => 'country',
    employee_id => 'employeeId', anchor => 'onPremisesImmutableId',
);

# All items of a list, page by page.
sub all_of {
    my ($cloud, $target) = @_;
    my @rows;
    while ($target) {
        my $answer = $cloud->api(GET => $target);
        die "$target: $answer->{status} $answer->{body}\n" if $answer->{status} != 200;
        my $page = Idadmin::Test::json_data($answer->{body});
        push @rows, @{ $page->{value} };
        $target = $page->{'@odata.nextLink'};
    }
    return @rows;
}

sub _kind_of {
    my ($group) = @_;
    my %type = map { $_ => 1 } @{ $group->{groupTypes} // [] };
    return 'dynamic'      if $type{DynamicMembership};
    return 'microsoft365' if $type{Unified};
    return 'security' if !$group->{mailEnabled};
    return $group->{securityEnabled} ? 'mailEnabledSecurity' : 'distribution';
}

sub cloud_truth {
    my ($cloud) = @_;
    my %sku = map { $_->{skuId} => $_->{skuPartNumber} } all_of($cloud, '/subscribedSkus');
    my @found = all_of($cloud,
        '/users?$top=999&$select=id,userType,accountEnabled,createdDateTime,assignedLicenses,'
            . 'proxyAddresses,' . join(',', values %cloud_names) . '&$expand=manager($select=id)');
    my %lives = map { $_->{id} => 1 } @found;
    my (@users, @groups);
    for my $user (@found) {
        my %addresses = map { lc($_) => 1 } grep { defined } $user->{userPrincipalName},
            $user->{mail}, map {s/^smtp://ir} grep {/^smtp:/i} @{ $user->{proxyAddresses} // [] };
        push @users, {
            id => $user->{id}, (map { ($_ => $user->{ $cloud_names{$_} }) } @columns),
                enabled => $user->{accountEnabled} ? 1 : 0,
            guest => ($user->{userType} // '') eq 'Guest' || $user->{userPrincipalName} =~ /#EXT#/
            ? 1 : 0, manager => $lives{ $user->{manager}{id} // '' } ? $user->{manager}{id} : undef,
            created => $user->{createdDateTime}, addresses => [keys %addresses],
            licences => [map { $sku{ $_->{skuId} } // $_->{skuId} } @{ $user->{assignedLicenses}
            // [] }],
        };
    }
    for my $group (all_of($cloud,
        '/groups?$top=999&$select=id,displayName,description,groupTypes,securityEnabled,'
            . 'mailEnabled,membershipRule,onPremisesSyncEnabled')) {
        my @members = map { $_->{'@odata.type'} =~ /\.(user|group)\z/ ? "$1 $_->{id}"
            : 'other ' . lc $_->{id} }
            all_of($cloud, "/groups/$group->{id}/members?\$top=999&\$select=id");
        push @groups, { id => $group->{id}, name => $group->{displayName},
            description => $group->{description}, kind => _kind_of($group),
            rule => $group->{membershipRule},
            synced => $group->{onPremisesSyncEnabled} ? 1 : 0,
            count => scalar(grep {!/^other/} @members), members => \@members };
    }
    return _state('cloud', \@users, \@groups);
}

# -- slapd, as ldapsearch dumps it

# DNs as keys: escapes resolved, case folded.
sub dn_key {
    my ($dn) = @_;
    $dn =~ s/\\([0-9A-Fa-f]{2})/pack 'C', hex $1/ge;
    my $text = Encode::decode_utf8($dn);
    $text =~ s/\\(.)/$1/g;
    $text =~ s/ *([,=+]) */$1/g;
    return CORE::fc($text);
}

sub _first { my ($entry, @names) = @_;
    for my $name (@names) { my @values = sort @{ $entry->{$name} // [] };
    return Encode::decode_utf8($values[0]) if @values } return undef }

# The value in the RDN if there are several.
sub _naming {
    my ($entry, $name) = @_;
    if (@{ $entry->{$name} // [] } > 1) {
        my ($value) = dn_key($entry->{dn}) =~ /^\Q$name\E=([^,+]*)/;
        for my $one (@{ $entry->{$name} }) { my $text = Encode::decode_utf8($one); return $text
            if CORE::fc($text) eq ($value // '') }
    }
    return _first($entry, $name);
}

# The dump of slapd with the groups' members by rule: { users => [entries], groups => [entries] }
sub ldap_truth {
    my ($slapd) = @_;
    my @people = $slapd->search('(objectClass=inetOrgPerson)',
        base => $Idadmin::Test::Slapd::people);
    my @found  = $slapd->search('(|(objectClass=groupOfNames)(objectClass=groupOfURLs))',
        base => $Idadmin::Test::Slapd::groups);
    my %id = (map({ (dn_key($_->{dn}) => "user $_->{entryuuid}[0]") } @people),
        map { (dn_key($_->{dn}) => "group $_->{entryuuid}[0]") } @found);
    my (@users, @groups);
    for my $entry (@people) {
        my ($manager) = map { $id{ dn_key($_) } // '' } sort @{ $entry->{manager} // [] };
        # A DN without an entry: the cache may hold the link by ID, which outlives a move that the
        # server did not follow.
        my $nowhere = defined $manager && !$manager;
        my ($year, $month, @rest) =
            $entry->{createtimestamp}[0] =~ /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/;
        my $created = Time::Local::timegm(reverse(@rest), $month - 1, $year);
        push @users, {
            id => $entry->{entryuuid}[0], upn => _first($entry, 'mail'),
                mail => _first($entry, 'mail'),
                display_name => _first($entry, 'displayname') // _naming($entry, 'cn'),
            given_name => _first($entry, 'givenname'), surname => _first($entry, 'sn'),
            department => _first($entry, 'departmentnumber', 'ou'),
            job_title => _first($entry, 'title'),
            company => _first($entry, 'o'), office => _first($entry, 'physicaldeliveryofficename'),
            city => _first($entry, 'l'), country => _first($entry, 'c'),
            employee_id => _first($entry, 'employeenumber'),
            enabled => (grep { $_ eq '000001010000Z' } @{ $entry->{pwdaccountlockedtime} // [] })
            ? 0 : 1, guest => 0, manager => $nowhere ? '?' : ($manager // '') =~ /^user (.*)/ ? $1
            : undef,
            created => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $created),
            addresses => [keys %{
            { map { (CORE::fc(Encode::decode_utf8($_)) => 1) } @{ $entry->{mail} // [] } } }],
            licences => [],
        };
    }
    for my $entry (@found) {
        my $dynamic = grep { lc eq 'groupofurls' } @{ $entry->{objectclass} };
        my $self = dn_key($entry->{dn});
        my %members = map { ($_ => 1) } grep { defined } map { $id{$_} }
            grep { $_ ne $self && $_ ne dn_key($Idadmin::Test::Slapd::filler) }
            map { dn_key($_) } @{ $entry->{member} // [] };
        push @groups, { id => $entry->{entryuuid}[0], name => _naming($entry, 'cn'),
            description => _first($entry, 'description'), kind => $dynamic ? 'dynamic' : 'security',
            rule => _first($entry, 'memberurl'),
            synced => 0, count => scalar keys %members, members => [keys %members] };
    }
    return _state('onPremises', \@users, \@groups);
}

# -- Active Directory

sub guid { my ($bytes) = @_; return lc sprintf '%08x-%04x-%04x-%s-%s', unpack('VvvH4H12', $bytes) }

# The dump of Samba, primary groups included.
sub ad_truth {
    my ($samba) = @_;
    my @people = $samba->search('(&(objectCategory=person)(objectClass=user))',
        base => $Idadmin::Test::Samba::people);
    my @found  = $samba->search('(objectClass=group)', base => $Idadmin::Test::Samba::groups);
    my %id = (map({ (dn_key($_->{dn}) => 'user ' . guid($_->{objectguid}[0])) } @people),
        map { (dn_key($_->{dn}) => 'group ' . guid($_->{objectguid}[0])) } @found);
    my (@users, @groups, %holders);
    for my $entry (@people) {
        my ($year, $month, @rest) =
            $entry->{whencreated}[0] =~ /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/;
        my $created = Time::Local::timegm(reverse(@rest), $month - 1, $year);
        my $upn = _first($entry, 'userprincipalname')
            // _first($entry, 'samaccountname') . "\@$Idadmin::Test::Samba::dns";
        my %addresses = map { (CORE::fc($_) => 1) } grep { defined } $upn, _first($entry, 'mail'),
            map { s/^smtp://ir } grep {/^smtp:/i}
            map { Encode::decode_utf8($_) } @{ $entry->{proxyaddresses} // [] };
        my $guid = guid($entry->{objectguid}[0]);
        push @users, {
            id => $guid, upn => $upn, mail => _first($entry, 'mail'),
                display_name => _first($entry, 'displayname', 'cn'),
                given_name => _first($entry, 'givenname'), surname => _first($entry, 'sn'),
            department => _first($entry, 'department'), job_title => _first($entry, 'title'),
            company => _first($entry, 'company'),
            office => _first($entry, 'physicaldeliveryofficename'),
            city => _first($entry, 'l'), country => _first($entry, 'c'),
            employee_id => _first($entry, 'employeeid'),
            anchor => MIME::Base64::encode_base64($entry->{'ms-ds-consistencyguid'}
            ? $entry->{'ms-ds-consistencyguid'}[0] : $entry->{objectguid}[0], ''),
            enabled => $entry->{useraccountcontrol}[0] & 2 ? 0 : 1, guest => 0,
            manager => ($id{ dn_key($entry->{manager} ? $entry->{manager}[0] : '') }
            // '') =~ /^user (.*)/ ? $1 : undef,
            created => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $created),
            addresses => [keys %addresses], licences => [],
        };
        push @{ $holders{ substr($entry->{objectsid}[0], 0, -4) . pack 'V',
            $entry->{primarygroupid}[0] } }, "user $guid";
    }
    for my $entry (@found) {
        my %members = map { ($_ => 1) } @{ $holders{ $entry->{objectsid}[0] } // [] },
            grep { defined } map { $id{ dn_key($_) } } @{ $entry->{member} // [] };
        push @groups, { id => guid($entry->{objectguid}[0]), name => _first($entry, 'name'),
            description => _first($entry, 'description'), kind => $entry->{grouptype}[0] < 0
            ? 'security' : 'distribution',
            synced => 0, count => scalar keys %members, members => [keys %members] };
    }
    return _state('onPremises', \@users, \@groups);
}

# -- both

# A test: no line differs; the first few that do are shown.
sub same_in_both {
    my ($want, $have, $name) = @_;
    $have = {%$have};
    for my $key (grep { $want->{$_} =~ /\|manager=\?\|/ && defined $have->{$_} }
        keys %$want) { $have->{$key} =~ s/\|manager=[^|]*\|/|manager=?|/ }
    my @wrong = grep { ($want->{$_} // '(none)') ne ($have->{$_} // '(none)') }
        sort keys %{ { %$want, %$have } };
    my $text = join '', map { "$_\n  directory " . ($want->{$_} // '(none)') . "\n  cache     "
        . ($have->{$_} // '(none)') . "\n" } @wrong[0 .. ($#wrong < 5 ? $#wrong : 5)];
    utf8::encode($text) if utf8::is_utf8($text);
    Test::More::ok(!@wrong, "$name: the cache is what the directory says")
        or Test::More::diag(scalar(@wrong) . " differences\n$text");
    return !@wrong;
}

1;
