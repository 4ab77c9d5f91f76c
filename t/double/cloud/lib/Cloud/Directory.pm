package Cloud::Directory;
# The directory's state: users, groups and other objects with the history that late replicas answer
# from, memberships, the journal that delta queries read. Knows nothing of HTTP. Times in ms. Bulk
# users (Cloud::Bulk) become objects when they are written.
use strict;
use warnings;
use Time::HiRes ();

# history older than this is dropped; no lag may be longer
use constant KEEP_MS => 15 * 60 * 1000;

sub new {
    my ($class) = @_;
    return bless {
        objects => {}, order => { user => [], group => [], other => [] },
        # lower case -> id, of objects that are not deleted
        upn => {}, address => {}, immutable => {},
        # group -> object -> [[at, in]...], the same by object, order of the first joining
        edges => {}, of => {}, edge_order => {},
        journal => [], bulk => undef, photos => {}, mail_groups => [], dynamic_groups => [],
        licensed => {},                               # groups that carry licences: id -> 1
    }, $class;
}

sub now_ms { return int(Time::HiRes::time() * 1000) }

sub new_id {
    my @r = map { int rand 65536 } 1 .. 8;
    return sprintf '%04x%04x-%04x-4%03x-%04x-%04x%04x%04x', @r[0 .. 2], $r[3] & 0xfff,
        0x8000 | $r[4] & 0x3fff, @r[5 .. 7];
}

# -- objects

# add(type => 'user', \%properties, at => ms): the new object. Properties beginning with "_" are
# ours: _manager, _deleted, ...
sub add {
    my ($self, $type, $properties, %how) = @_;
    my $at = $how{at} // now_ms();
    my $object = { id => $properties->{id} //= new_id(), type => $type,
        versions => [[$at, $properties]] };
    $self->{objects}{ $object->{id} } = $object;
    push @{ $self->{order}{ $type =~ /^(?:user|group)$/ ? $type : 'other' } }, $object;
    push @{ $self->{mail_groups} }, $object    if $type eq 'group' && $properties->{mailEnabled};
    push @{ $self->{dynamic_groups} }, $object if $type eq 'group' && $properties->{membershipRule};
    $self->index($object, undef, $properties);
    $self->log($at, $type, $object->{id}, ['created']) if !$how{quiet};
    return $object;
}

# Also makes an object of a bulk user; it is kept only once it is written.
sub object {
    my ($self, $id) = @_;
    return $self->{objects}{ lc $id } // ($self->{bulk} ? $self->{bulk}->object($id) : undef);
}

sub props { return $_[0]{versions}[-1][1] }

# The object's properties as they were at $when; undef: it was not there yet.
sub props_at {
    my ($object, $when) = @_;
    my $versions = $object->{versions};
    return $versions->[-1][1] if !defined $when;
    for my $version (reverse @$versions) {
        return $version->[1] if $version->[0] <= $when;
    }
    return undef;
}

sub visible { my ($object, $when) = @_; my $p = props_at($object, $when);
    return $p && !$p->{_deleted} && !$p->{_gone} ? $p : undef }

# Events for change() that are not properties: created, deleted, restored, purged.
sub change {
    my ($self, $object, $changes, @events) = @_;
    $self->adopt($object);
    my $before = props($object);
    my %after  = (%$before, %$changes);
    my $at     = now_ms();
    my $versions = $object->{versions};
    push @$versions, [$at, \%after];
    shift @$versions while @$versions > 1 && $versions->[1][0] < $at - KEEP_MS;
    $self->index($object, $before, \%after);
    $self->log($at, $object->{type}, $object->{id}, [sort(keys %$changes), @events]);
    return \%after;
}

# A bulk user that is written becomes an object like others.
sub adopt {
    my ($self, $object) = @_;
    return if $self->{objects}{ $object->{id} };
    $self->{objects}{ $object->{id} } = $object;
    $self->{bulk}->touched($object->{id});
}

sub log { my ($self, @entry) = @_; push @{ $self->{journal} }, [@entry];
    return scalar @{ $self->{journal} } }

sub addresses_of {
    my ($p) = @_;
    my %all = map { lc($_) => 1 } grep {defined} $p->{mail}, $p->{userPrincipalName},
        map {s/^smtp://ir} @{ $p->{proxyAddresses} // [] };
    return keys %all;
}

sub index {
    my ($self, $object, $before, $after) = @_;
    my $id = $object->{id};
    if ($before && !$before->{_deleted}) {
        delete $self->{upn}{ lc $before->{userPrincipalName} }
            if defined $before->{userPrincipalName};
        $self->{address}{$_} && $self->{address}{$_} eq $id && delete $self->{address}{$_}
            for addresses_of($before);
        delete $self->{immutable}{ $before->{onPremisesImmutableId} }
            if defined $before->{onPremisesImmutableId};
    }
    return if $after->{_deleted} || $after->{_gone};
    $self->{upn}{ lc $after->{userPrincipalName} } = $id if defined $after->{userPrincipalName};
    $self->{address}{$_} //= $id for addresses_of($after);
    $self->{immutable}{ $after->{onPremisesImmutableId} } = $id
        if defined $after->{onPremisesImmutableId};
}

# The object that has a UPN now; duplicates (a fault) are several with one UPN, this is the last.
sub by_upn {
    my ($self, $upn) = @_;
    my $id = $self->{upn}{ lc $upn };
    return $self->{objects}{$id} if $id;
    return $self->{bulk} ? $self->{bulk}->by_upn($upn) : undef;
}

sub by_address {
    my ($self, $address) = @_;
    my $id = $self->{address}{ lc $address };
    return $self->{objects}{$id} if $id;
    return $self->{bulk} ? $self->{bulk}->by_upn($address) : undef;
}

# -- memberships

sub is_member {
    my ($self, $group_id, $id, $when) = @_;
    my $events = $self->{edges}{$group_id}{$id};
    for my $event (reverse @{ $events // [] }) {
        return $event->[1] if !defined $when || $event->[0] <= $when;
    }
    return $self->{bulk} && $self->{bulk}->base_member($group_id, $id) ? 1 : 0;
}

sub set_member {
    my ($self, $group_id, $id, $in, %how) = @_;
    my $at     = $how{at} // now_ms();
    my $events = $self->{edges}{$group_id}{$id};
    if (!$events) {
        $events = $self->{edges}{$group_id}{$id} = $self->{of}{$id}{$group_id} = [];
        push @{ $self->{edge_order}{$group_id} }, $id
            if !($self->{bulk} && $self->{bulk}->base_member($group_id, $id));
        $self->{bulk}->group_touched($group_id) if $self->{bulk} && !$how{quiet};
    }
    push @$events, [$at, $in];
    $self->log($at, 'member', $group_id, $id, $in) if !$how{quiet};
    # Licences of a licensed group show at the user.
    if (!$how{quiet} && $self->{licensed}{$group_id} and my $object = $self->object($id)) {
        $self->change($object, {}, 'assignedLicenses', 'licenseAssignmentStates')
            if $object->{type} eq 'user';
    }
    delete $self->{consumed};
}

# Every ID that ever was a member in order: of the bulk plan, then by joining. For slices.
sub member_count_ever { my ($self, $group_id) = @_;
    return $self->base_count($group_id) + @{ $self->{edge_order}{$group_id} // [] } }
sub base_count { my ($self, $group_id) = @_;
    return $self->{bulk} ? $self->{bulk}->base_count($group_id) : 0 }

sub member_ever {
    my ($self, $group_id, $k) = @_;
    my $base = $self->base_count($group_id);
    return $k < $base ? $self->{bulk}->base_id($group_id, $k)
        : $self->{edge_order}{$group_id}[$k - $base];
}

# Members now (or at $when), as IDs; soft-deleted ones included.
sub member_ids {
    my ($self, $group_id, $when) = @_;
    return grep { $self->is_member($group_id, $_, $when) }
        map { $self->member_ever($group_id, $_) } 0 .. $self->member_count_ever($group_id) - 1;
}

# Groups (and roles, units) an object is directly in.
sub group_ids_of {
    my ($self, $id, $when) = @_;
    my %seen = map { $_ => 1 } keys %{ $self->{of}{$id} // {} };
    my @ids  = grep { $self->is_member($_, $id, $when) } sort keys %seen;
    push @ids, grep { !$seen{$_} } $self->{bulk}->base_groups_of($id) if $self->{bulk};
    return @ids;
}

# Breadth first along $next->($id), without the start, each once.
sub closure {
    my ($self, $id, $next) = @_;
    my (%seen, @found, @queue);
    $seen{$id} = 1;
    @queue = ($id);
    while (defined(my $at = shift @queue)) {
        for my $to (grep { !$seen{$_}++ } $next->($at)) {
            push @found, $to;
            push @queue, $to;
        }
    }
    return @found;
}

sub transitive_groups_of  { my ($self, $id, $when) = @_;
    return $self->closure($id, sub { $self->group_ids_of($_[0], $when) }) }
sub transitive_member_ids { my ($self, $id, $when) = @_;
    return $self->closure($id,
    sub { ($self->type_of($_[0]) // '') eq 'group' ? $self->member_ids($_[0], $when) : () }) }

sub type_of { my ($self, $id) = @_; my $o = $self->{objects}{$id};
    return $o ? $o->{type} : $self->{bulk} && defined $self->{bulk}->number($id) ? 'user' : undef }

# Dynamic groups follow their rule: 'user.name -eq "value"' joined by -and.
sub apply_rules {
    my ($self, $user) = @_;
    my $p = props($user);
    for my $group (grep { !props($_)->{_deleted} } @{ $self->{dynamic_groups} }) {
        my $fits = !$p->{_gone};
        for my $term (split /\s+-and\s+/i, props($group)->{membershipRule}) {
            my ($name, $want) = $term =~ /^\(?user\.(\w+)\s+-eq\s+"?([^")]*)"?\)?$/
                or do { $fits = 0; next };
            my $is = ref $p->{$name} ? ($p->{$name} ? 'true' : 'false') : $p->{$name} // '';
            $fits = 0 if lc $is ne lc $want;
        }
        my $is = $self->is_member($group->{id}, $user->{id});
        $self->set_member($group->{id}, $user->{id}, $fits ? 1 : 0) if ($fits ? 1 : 0) != $is;
    }
}

1;
