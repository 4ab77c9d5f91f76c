package LdapPeer::Content;
# The scripted peer's content: people and groups, generated from a few numbers, in a file that every
# connection's process shares; searches, writes and the replies of both ways of synchronising.
#
#   { dialect => 'openLdap'|'activeDirectory', users => N, groups => { name => members, ... }, sync
#   => 1 }
# Person n of N is "person0001" (password none), group members are the first of them. Base
# dc=peer,dc=example: ou=people, ou=groups, ou=services.
use strict;
use warnings;
use Fcntl qw(:flock);
use LdapPeer::Message ();
use Storable ();

our $suffix = 'dc=peer,dc=example';

sub new {
    my ($class, $config, $file) = @_;
    my $self = bless { file => $file, ad => $config->{dialect} eq 'activeDirectory',
        sync => $config->{sync} // 1 }, $class;
    if (!-e $file) {
        $self->{state} = { version => 0, entries => {}, order => [], gone => [] };
        $self->_fill($config);
        Storable::nstore($self->{state}, "$file.new");
        rename "$file.new", $file or die "$file: $!\n";
    }
    return $self;
}

# The state as it is now; with a block the state is changed under a lock and kept.
sub with {
    my ($self, $change) = @_;
    my $lock;
    if ($change) {
        open $lock, '>>', "$self->{file}.lock" or die "lock: $!\n";
        flock $lock, LOCK_EX;
    }
    my $inode = (stat $self->{file})[1] . ' ' . (stat _)[9] . ' ' . -s _;
    if (($self->{seen} // '') ne $inode) {
        $self->{state} = Storable::retrieve($self->{file});
        $self->{seen}  = $inode;
    }
    my $value = $change ? $change->($self->{state}) : $self->{state};
    if ($change) {
        Storable::nstore($self->{state}, "$self->{file}.new");
        rename "$self->{file}.new", $self->{file} or die "$self->{file}: $!\n";
        delete $self->{seen};
    }
    return $value;
}

# -- filling

sub _put {
    my ($self, $state, $dn, %attributes) = @_;
    my $number = ++$state->{version};
    my $uuid = pack 'NnnnnN', 0x5eed0000, 0, 0x4000, 0x8000, 0, $number;
    my $entry = { dn => $dn, uuid => $uuid, version => $number, attributes => {} };
    my %all = (%attributes, $self->{ad}
        ? (objectGUID => $uuid, whenCreated => '20200101000000.0Z', uSNChanged => $number) : (
            entryUUID => join('-', unpack 'H8H4H4H4H12', $uuid), entryCSN => _csn($number),
                createTimestamp => '20200101000000Z', modifyTimestamp => '20200101000000Z'));
    $entry->{attributes}{ lc $_ } = [$_, ref $all{$_} ? [@{ $all{$_} }] : [$all{$_}]] for keys %all;
    push @{ $state->{order} }, lc $dn;
    return $state->{entries}{ lc $dn } = $entry;
}

sub _csn { return sprintf '20260101000000.%06dZ#000000#000#000000', $_[0] }

sub person_dn { my ($self, $n) = @_;
    return ($self->{ad} ? 'CN=' : 'uid=') . sprintf('person%04d', $n) . ",ou=people,$suffix" }

sub _fill {
    my ($self, $config) = @_;
    my $state = $self->{state};
    my $top = $self->_put($state, $suffix, objectClass => $self->{ad}
        ? ['top', 'domain', 'domainDNS'] : ['dcObject', 'organization'], dc => 'peer');
    $top->{attributes}{objectsid} = ['objectSid', [pack 'CCnNV4', 1, 4, 0, 5, 21, 1, 2, 3]]
        if $self->{ad};
    $self->_put($state, "ou=$_,$suffix", objectClass => 'organizationalUnit', ou => $_)
        for qw(people groups services);
    $self->_put($state, "cn=idadmin,ou=services,$suffix", objectClass => 'person', cn => 'idadmin',
        sn => 'idadmin');
    $self->_put($state, "CN=NTDS Settings,CN=DC1,CN=Servers,CN=Configuration,$suffix",
        objectClass => ['nTDSDSA'], invocationId => pack 'N4', 1 .. 4) if $self->{ad};
    for my $n (1 .. $config->{users} // 10) {
        my $name = sprintf 'person%04d', $n;
        my %common = (cn => $name, sn => "Surname $n", givenName => 'Given',
            displayName => "Person $n", mail => "$name\@peer.example", title => 'Clerk');
        $self->_put($state, $self->person_dn($n), %common, $self->{ad}
            ? (objectClass => [qw(top person organizationalPerson user)],
            objectCategory => "CN=Person,CN=Schema,CN=Configuration,$suffix",
                sAMAccountName => $name, userPrincipalName => "$name\@peer.example",
                userAccountControl => 512, primaryGroupID => 513, name => $name,
                objectSid => _sid(1000 + $n), pwdLastSet => '133500000000000000')
            : (objectClass => ['inetOrgPerson'], uid => $name));
    }
    for my $name (sort keys %{ $config->{groups} // {} }) {
        $self->_put($state, "cn=$name,ou=groups,$suffix", cn => $name,
            member => [map { $self->person_dn($_) } 1 .. $config->{groups}{$name}],
            $self->{ad} ? (objectClass => ['top', 'group'], sAMAccountName => $name,
            groupType => -2147483646, name => $name, objectSid => _sid(500_000 + length $name))
            : (objectClass => ['groupOfNames']));
    }
}

sub _sid { return pack 'CCnNV5', 1, 5, 0, 5, 21, 1, 2, 3, $_[0] }

# -- looking

sub root_dse {
    my ($self) = @_;
    my %oid = %LdapPeer::Message::oid;
    my @controls = ($oid{paged}, $self->{ad}
        ? ($oid{dirsync}, '1.2.840.113556.1.4.417', '1.2.840.113556.1.4.1413')
        : ($oid{postRead}, $self->{sync} ? $oid{sync} : ()));
    my %root = (objectClass => ['top'], namingContexts => [$suffix], supportedLDAPVersion => [3],
        supportedControl => \@controls,
        supportedExtension => [$oid{startTls}, $self->{ad} ? () : $oid{whoami}],
        subschemaSubentry => [$self->{ad} ? "CN=Aggregate,CN=Schema,CN=Configuration,$suffix"
        : 'cn=Subschema'], vendorName => ['scripted peer']);
    if ($self->{ad}) {
        %root = (%root, supportedCapabilities => [$oid{activeDirectory}],
            defaultNamingContext => [$suffix], rootDomainNamingContext => [$suffix],
            configurationNamingContext => ["CN=Configuration,$suffix"],
            schemaNamingContext => ["CN=Schema,CN=Configuration,$suffix"],
            dnsHostName => ['dc1.peer.example'],
            dsServiceName => ["CN=NTDS Settings,CN=DC1,CN=Servers,CN=Configuration,$suffix"],
            highestCommittedUSN => [$self->with->{version}], domainControllerFunctionality => [7]);
    }
    return { dn => '', attributes => { map { (lc $_ => [$_, $root{$_}]) } keys %root } };
}

my @types =
    qw(objectClass uid cn sn givenName displayName mail title departmentNumber ou o l street
        postalCode initials physicalDeliveryOfficeName preferredLanguage
    employeeNumber employeeType description manager userPassword jpegPhoto member memberURL
    pwdAccountLockedTime entryUUID sAMAccountName userPrincipalName userAccountControl
    unicodePwd department company streetAddress c co countryCode employeeID thumbnailPhoto
    middleName name objectGUID extensionAttribute15 info);

sub schema {
    my ($self) = @_;
    my $number = 0;
    my @attributes = map { "( 1.3.6.1.4.1.55555.1." . ++$number
        . " NAME '$_' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )" } @types;
    my $may = join ' $ ', grep { !/^(?:member|memberURL|objectClass)$/ } @types;
    my @classes = (map({ "( 1.3.6.1.4.1.55555.2." . ++$number
        . " NAME '$_' STRUCTURAL MUST cn MAY ( $may ) )" } qw(inetOrgPerson user)),
        map { "( 1.3.6.1.4.1.55555.2." . ++$number
        . " NAME '$_' STRUCTURAL MUST cn MAY ( member \$ description ) )" } qw(groupOfNames group));
    return { dn => 'cn=Subschema',
        attributes => { objectclass => ['objectClass', ['subschema']],
        attributetypes => ['attributeTypes', \@attributes],
        objectclasses => ['objectClasses', \@classes] } };
}

# A filter as Net::LDAP::Filter has it, held against an entry.
sub matches {
    my ($self, $filter, $entry) = @_;
    my ($kind, $f) = %$filter;
    return !grep { !$self->matches($_, $entry) } @$f if $kind eq 'and';
    return scalar grep { $self->matches($_, $entry) } @$f if $kind eq 'or';
    return !$self->matches($f, $entry) if $kind eq 'not';
    my $name = lc($kind eq 'present' ? $f : $f->{attributeDesc} // $f->{type});
    my @values = @{ ($entry->{attributes}{$name} // [0, []])->[1] };
    return @values > 0 if $kind eq 'present';
    my $want = lc($f->{assertionValue} // $f->{matchValue} // '');
    return scalar grep { lc eq $want
        || ($name eq 'objectcategory' && lc =~ /^cn=\Q$want\E,/) } @values
        if $kind eq 'equalityMatch' || $kind eq 'approxMatch';
    return scalar grep { /^-?\d+$/ && ($_ & $want) == $want } @values
        if $kind eq 'extensibleMatch';
    if ($kind eq 'substrings') {
        my $pattern = join '.*', map { my ($part, $text) = %$_; ($part eq 'initial' ? '^' : '')
            . quotemeta($text) . ($part eq 'final' ? '$' : '') } @{ $f->{substrings} };
        return scalar grep {/$pattern/is} @values;
    }
    my $least = $kind eq 'greaterOrEqual' ? 1 : -1;    # or lessOrEqual
    return scalar grep { $least * (/^-?\d+$/ && $want =~ /^-?\d+$/ ? $_ <=> $want
        : lc cmp $want) >= 0 } @values;
}

# Entries of a search in order, or undef when the base is not there.
sub found {
    my ($self, $request) = @_;
    my $state = $self->with;
    my $base = lc $request->{dn};
    if ($self->{ad} && $base =~ /^<guid=([^>]+)>$/) {
        my $hex = $1 =~ s/-//gr;
        ($base) = grep { my $u = $state->{entries}{$_}{uuid};
            unpack('H*', $u) eq $hex || unpack('H*', pack 'VvvA8', unpack 'NnnA8', $u) eq $hex }
            keys %{ $state->{entries} };
    }
    return undef if !defined $base || !$state->{entries}{$base};
    my $scope = $request->{scope};
    my $key = join "\0", $self->{seen}, $base, $scope,
        LdapPeer::Message::filter_text($request->{filter});
    # the next page of it
    return $self->{found}[1] if $self->{found} && $self->{found}[0] eq $key;
    my @names = $scope == 0 ? ($base)
        : grep { $scope == 1 ? /^[^,]+,\Q$base\E$/
        : $_ eq $base || /,\Q$base\E$/ } @{ $state->{order} };
    my $found = [grep { $self->matches($request->{filter}, $_) }
        map { $state->{entries}{$_} } @names];
    $self->{found} = [$key, $found];
    return $found;
}

# Attributes as asked for: all without operational ones when nothing is named; "member;range=A-B"
# and the server's own cut at `range` values (0: none).
sub shown {
    my ($self, $entry, $wanted, $range, $stuck) = @_;
    my @wanted = map {lc} @$wanted;
    return [] if grep { $_ eq '1.1' } @wanted;
    my $all = !@wanted || grep { $_ eq '*' } @wanted;
    my @shown;
    for my $name (sort keys %{ $entry->{attributes} }) {
        my ($spelled, $values) = @{ $entry->{attributes}{$name} };
        my $bare = $name =~ s/;.*//r;
        my ($asked) = grep { $_ eq $bare || /^\Q$bare\E;/ } @wanted;
        next if !$asked && !($all
            && $name !~ /^(?:entryuuid|entrycsn|createtimestamp|modifytimestamp)$/);
        my ($from, $to) = ($asked // '') =~ /;range=(\d+)-(\d+|\*)$/;
        if ($range && (defined $from || @$values > $range)) {
            $from = 0 if $stuck || !defined $from;
            push @shown, [$spelled, []] if ($asked // '') !~ /;range=/;
            my $last = !defined $to || $to eq '*' || $to > $from + $range - 1 ? $from + $range - 1
                : $to;
            my $ends = $last >= $#$values;
            push @shown, ["$spelled;range=$from-" . ($ends ? '*' : $last),
                [@$values[$from .. ($ends ? $#$values : $last)]]];
            next;
        }
        push @shown, [$spelled, $values];
    }
    return \@shown;
}

# As DirSync with incremental values reports it: members as added (1-1) and removed (0-0) ones since
# that version.
sub changed {
    my ($self, $entry, $from) = @_;
    my %attributes = %{ $entry->{attributes} };
    my $members = delete $attributes{member} or return $entry;
    my @links = grep { $from && $_->[0] > $from } @{ $entry->{links} // [] };
    my @added   = $from ? map { $_->[2] } grep { $_->[1] == 0 } @links : @{ $members->[1] };
    my @removed = map { $_->[2] } grep { $_->[1] == 1 } @links;
    $attributes{'member;range=1-1'} = ['member;range=1-1', \@added]   if @added;
    $attributes{'member;range=0-0'} = ['member;range=0-0', \@removed] if @removed;
    return { %$entry, attributes => \%attributes };
}

sub tombstone {
    my ($self, $gone) = @_;
    my $text = join '-', unpack 'H8H4H4H4H12', $gone->{uuid};
    return { dn => "CN=gone\\0ADEL:$text,CN=Deleted Objects,$suffix", uuid => $gone->{uuid},
        attributes => { isdeleted => ['isDeleted', ['TRUE']],
        objectguid => ['objectGUID', [$gone->{uuid}]] } };
}

# -- writing: 0 or a result code

sub _touch {
    my ($self, $state, $entry) = @_;
    $entry->{version} = ++$state->{version};
    my $stamp = $self->{ad} ? 'usnchanged' : 'entrycsn';
    $entry->{attributes}{$stamp}[1] = [$self->{ad} ? $state->{version} : _csn($state->{version})];
}

sub add {
    my ($self, $dn, $attributes) = @_;
    return $self->with(sub {
        my ($state) = @_;
        return 68 if $state->{entries}{ lc $dn };
        my ($parent) = $dn =~ /^[^,]+,(.*)$/;
        return 32 if !$state->{entries}{ lc $parent };
        $self->_put($state, $dn, map { ($_->[0] => $_->[1]) } @$attributes);
        return 0;
    });
}

sub modify {
    my ($self, $dn, $changes) = @_;
    return $self->with(sub {
        my ($state) = @_;
        my $entry = $state->{entries}{ lc $dn } or return 32;
        for my $change (@$changes) {
            my ($op, $what) = @$change;
            my ($name, $values) = @$what;
            my $here = $entry->{attributes}{ lc $name } //= [$name, []];
            push @{ $entry->{links} }, map { [$state->{version} + 1, $op, $_] } @$values
                if lc $name eq 'member' && $op != 2;
            my %has = map { lc($_) => 1 } @{ $here->[1] };
            if ($op == 2) { $here->[1] = [@$values] }
            elsif ($op == 0) { return 20
                if grep { $has{ lc $_ } } @$values; push @{ $here->[1] }, @$values }
            else {
                return 16 if grep { !$has{ lc $_ } } @$values;
                my %out = map { lc($_) => 1 } @$values;
                $here->[1] = @$values ? [grep { !$out{ lc $_ } } @{ $here->[1] }] : [];
            }
            delete $entry->{attributes}{ lc $name } if !@{ $here->[1] };
        }
        $self->_touch($state, $entry);
        return 0;
    });
}

sub remove {
    my ($self, $dn) = @_;
    return $self->with(sub {
        my ($state) = @_;
        my $entry = delete $state->{entries}{ lc $dn } or return 32;
        $state->{order} = [grep { $_ ne lc $dn } @{ $state->{order} }];
        push @{ $state->{gone} },
            { uuid => $entry->{uuid}, version => ++$state->{version}, dn => $entry->{dn} };
        return 0;
    });
}

1;
