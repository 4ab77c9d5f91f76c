package Cloud::Control;
# The control endpoint; documented in t/double/cloud/emulator.pl.
use strict;
use warnings;
use Cloud::Bulk;
use Cloud::Directory;
use Cloud::Lists;
use Cloud::Seed;
use Digest::SHA ();
use Mojo::JSON qw(encode_json decode_json);
use Time::HiRes ();

sub answer {
    my ($server, $request) = @_;
    my $said = eval {
        my %query = map { map { Cloud::Emulator::decoded($_) } split /=/, $_, 2 } split /&/,
            $request->{query_text};
        return _get($server, $request->{path}, \%query) if $request->{method} eq 'GET';
        my $orders = decode_json($request->{body});
        ref $orders eq 'HASH' or die "an object is expected\n";
        return _obey($server, $orders);
    };
    my $error = $@;
    $error = $error->{message} if ref $error;
    my $answer = $said ? answer_json($said) : answer_json({ error => "$error" }, 400);
    return { %$answer, headers => {} };
}

sub _get {
    my ($server, $path, $query) = @_;
    my $cloud = $server->{cloud};
    return _counters($cloud) if $path eq '';
    return $cloud->{secrets} if $path eq '/secrets';
    return _user($cloud, $query->{key}) if $path eq '/user';
    return _group($cloud, $query->{key}) if $path eq '/group';
    die "there is no /_control$path\n";
}

sub _counters {
    my ($cloud) = @_;
    my $directory = $cloud->{directory};
    my @live = grep { !$_->{_deleted} } map { Cloud::Directory::props($_) }
        grep { $_->{type} eq 'user' } values %{ $directory->{objects} };
    my $bulk = $directory->{bulk};
    return { %{ $cloud->{counters} }, faultsFired => $cloud->{faults}{fired},
        faults => $cloud->{faults}->shown, settings => $cloud->{settings},
        users => @live + ($bulk ? $bulk->{count} - $bulk->{live} : 0),
        memberships => $bulk ? $bulk->{memberships} : 0, limitsPeak => $cloud->{limits}{peak},
        limitsRefused => $cloud->{limits}{refused}, journal => scalar @{ $directory->{journal} } };
}

sub _object {
    my ($cloud, $key, $type) = @_;
    my $directory = $cloud->{directory};
    my $object = $directory->object($key) // ($key =~ /\@/ ? $directory->by_upn($key) : undef);
    ($object) = grep { Cloud::Directory::props($_)->{displayName} eq $key }
        map { @{ $directory->{order}{$_} } } qw(group other) if !$object;
    return $object && (!$type || $object->{type} eq $type) ? $object : undef;
}

sub _known { my ($cloud, $key, $type) = @_;
    return _object($cloud, $key, $type) // die "there is no \"$key\"\n" }

sub _user {
    my ($cloud, $key) = @_;
    my $object = _object($cloud, $key, 'user') or return { user => undef };
    my $p = Cloud::Directory::props($object);
    my $directory = $cloud->{directory};
    my $manager = $p->{_manager} ? Cloud::Directory::props($directory->object($p->{_manager}))
        : undef;
    my $photo = $directory->{photos}{ $object->{id} };
    return { user => { %$p, assignedLicenses => $cloud->{licenses}->shown($p, 'assignedLicenses'),
        manager => $manager && $manager->{userPrincipalName},
        groups => [sort map { Cloud::Directory::props($directory->object($_))->{displayName} }
                $directory->group_ids_of($object->{id})], revoked => ($p->{_revoked} // 0) + 0,
                    passwords => ($p->{_passwords} // 0) + 0,
                    mustChange => ($p->{_mustChange} // 0) + 0, deleted => $p->{_deleted} ? \1 : \0,
            photo => defined $photo
            ? { bytes => length $photo, sha256 => Digest::SHA::sha256_hex($photo) } : undef } };
}

sub _group {
    my ($cloud, $key) = @_;
    my $object = _object($cloud, $key) or return { group => undef };
    my $p = Cloud::Directory::props($object);
    return { group => { %$p, members =>
        [map { my $m = Cloud::Directory::props($cloud->{directory}->object($_));
        $m->{userPrincipalName}
        // $m->{displayName} } $cloud->{directory}->member_ids($object->{id})] } };
}

my %orders = (
    settings => sub {
        my ($server, $value) = @_;
        my $settings = $server->{cloud}{settings};
        for my $name (keys %$value) { exists $settings->{$name}
            or die "there is no setting \"$name\"\n" }
        %$settings = (%$settings, %$value);
        return;
    },
    faults => sub { my ($server, $value) = @_;
    return [map { $server->{cloud}{faults}->add($_) } ref $value eq 'ARRAY' ? @$value : $value] },
    clearFaults => sub { my ($server, $value) = @_;
    $server->{cloud}{faults}->clear(ref $value ? undef : $value); return },
    limits => sub { my ($server, $value) = @_; $server->{cloud}{limits}->set($value); return },
    permissions => sub { my ($server, $value) = @_;
    $server->{cloud}{permissions} = { map { $_ => 1 } @$value }; return },
    revoke => sub { my ($server, $value) = @_;
    delete @{ $server->{cloud}{permissions} }{ref $value ? @$value : $value}; return },
    grant => sub { my ($server, $value) = @_; $server->{cloud}{permissions}{$_} = 1
    for ref $value ? @$value : $value; return },
    secret => sub { my ($server, $value) = @_; $server->{cloud}{secret} = $value; return },
    expireTokens => sub { my ($server) = @_; $server->{cloud}{token}->expire_all; return },
    expireDeltaLinks => sub { my ($server) = @_; $server->{cloud}{delta_generation}++; return },
    expirePages => sub { my ($server) = @_; $server->{cloud}{page_generation}++; return },
    release => sub { my ($server) = @_; $server->release; return },
    resetCounters => sub { my ($server) = @_; $server->{cloud}->reset_counters; return },
    record => sub { my ($server, $value) = @_; $server->{record}->to($value); return },
    bulk => sub { my ($server, $value) = @_; return bulk($server->{cloud}, $value) },
    create => sub { my ($server, $value) = @_;
    return [map { _create($server->{cloud}, $_) } ref $value eq 'ARRAY' ? @$value : $value] },
    change => sub {
        my ($server, $value) = @_;
        my $object = _known($server->{cloud}, $value->{key});
        die "a group that carries licences cannot be deleted\n"
            if $value->{properties}{_deleted}
            && @{ Cloud::Directory::props($object)->{assignedLicenses} // [] };
        $server->{cloud}{directory}->change($object, $value->{properties});
        $server->{cloud}{directory}->apply_rules($object) if $object->{type} eq 'user';
        return;
    },
    remove => sub { my ($server, $value) = @_;
    Cloud::Users::remove($server->{cloud}, {}, _known($server->{cloud}, $value)->{id}); return },
    member => sub {
        my ($server, $value) = @_;
        my $cloud = $server->{cloud};
        $cloud->{directory}->set_member(_known($cloud, $value->{group})->{id},
            _known($cloud, $value->{object})->{id}, $value->{in} ? 1 : 0);
        return;
    },
);

# In this order, whatever the order in the text.
my @sequence = qw(resetCounters release clearFaults settings permissions revoke grant secret limits
    record bulk create change remove member expireTokens expireDeltaLinks expirePages faults);

sub _obey {
    my ($server, $orders) = @_;
    for my $name (keys %$orders) { $orders{$name} or die "there is no order \"$name\"\n" }
    return { map { ($_ => $orders{$_}->($server, $orders->{$_})) }
        grep { exists $orders->{$_} } @sequence };
}

sub bulk {
    my ($cloud, $how) = @_;
    $cloud->{directory}{bulk} and die "bulk users are there already\n";
    my $start = Time::HiRes::time();
    my $bulk = Cloud::Bulk->new(directory => $cloud->{directory}, domain => $cloud->{domains}[0],
        sku => $cloud->{licenses}->id_of('SPE_E3'), %$how);
    return { users => $bulk->{count}, groups => scalar keys %{ $bulk->{groups} },
        memberships => $bulk->{memberships}, seconds => Time::HiRes::time() - $start };
}

# { type: user|group|..., properties, members: [keys], memberOf: [keys], manager: key }
sub _create {
    my ($cloud, $how) = @_;
    my $directory = $cloud->{directory};
    my $object = $directory->add($how->{type} // 'user',
        { createdDateTime => '2024-01-01T00:00:00Z', %{ $how->{properties} // {} },
        ($how->{manager} ? (_manager => _known($cloud, $how->{manager})->{id}) : ()) });
    $cloud->{licenses}->licensed($object) if @{ $how->{properties}{assignedLicenses} // [] };
    $directory->set_member($object->{id}, _known($cloud, $_)->{id}, 1)
        for @{ $how->{members} // [] };
    $directory->set_member(_known($cloud, $_)->{id}, $object->{id}, 1)
        for @{ $how->{memberOf} // [] };
    $directory->apply_rules($object) if $object->{type} eq 'user';
    return $object->{id};
}

1;
