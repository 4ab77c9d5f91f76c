package Cloud::Groups;
# Groups: reads and the changes of members that each kind of group allows.
use strict;
use warnings;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Lists;
use Cloud::Query;
use Cloud::Schema;

sub read_one {
    my ($cloud, $request, $key) = @_;
    my ($group, $p) = $cloud->group($request, $key);
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#groups/\$entity",
        %{ group_row($p, select_of($request, \&group_property)) } });
}

sub members {
    my ($cloud, $request, $key, $transitive, $cast) = @_;
    my ($group) = $cloud->group($request, $key);
    my $when = $cloud->late('list');
    my $directory = $cloud->{directory};
    my @ids = $transitive ? $directory->transitive_member_ids($group->{id}, $when)
        : $directory->member_ids($group->{id}, $when);
    return list_related($cloud, $request, \@ids, $cast, $when);
}

sub owners {
    my ($cloud, $request, $key) = @_;
    my ($group, $p) = $cloud->group($request, $key);
    return list_related($cloud, $request, $p->{_owners} // [], undef, $cloud->late('list'));
}

sub owned_by {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    my $when    = $cloud->late('list');
    my $objects = $cloud->{directory}{objects};
    my @ids     = sort grep {
        my $p = Cloud::Directory::visible($objects->{$_}, $when);
        $p && grep { $_ eq $user->{id} } @{ $p->{_owners} // [] };
    } keys %$objects;
    return list_related($cloud, $request, \@ids, undef, $when);
}

# May members be changed here? In the order of the contract.
sub _changeable {
    my ($cloud, $group) = @_;
    my $p = Cloud::Directory::props($group);
    bad_request('Unable to update the specified properties for on-premises mastered Directory '
        . 'Sync objects or objects currently undergoing migration.') if $p->{onPremisesSyncEnabled};
    my %types = map { $_ => 1 } @{ $p->{groupTypes} // [] };
    denied('Insufficient privileges to complete the operation. Members of a dynamic group follow '
        . 'its rule.') if $types{DynamicMembership};
    bad_request('Cannot Update a mail-enabled security groups and or distribution list.')
        if $p->{mailEnabled} && !$types{Unified};
    denied() if $p->{isAssignableToRole}
        && !$cloud->has_permission('RoleManagement.ReadWrite.Directory');
    denied() if $p->{isManagementRestricted};
}

sub _target {
    my ($cloud, $request, $url) = @_;
    my ($id) = ($url
        // '') =~ m{\A\Q$request->{root}\E/(?:directoryObjects|users|groups)/([^/?]+)\z}
        or bad_request("Invalid URL format specified in payload.");
    return $cloud->reference($id);
}

my $already =
    "One or more added object references already exist for the following modified properties: "
    . "'members'.";

sub add_member {
    my ($cloud, $request, $key) = @_;
    my ($group) = $cloud->group($request, $key);
    my $body = $cloud->body($request);
    bad_request("Invalid property.") if grep { $_ ne '@odata.id' } keys %$body;
    my $object = _target($cloud, $request, $body->{'@odata.id'});
    _changeable($cloud, $group);
    bad_request($already) if $cloud->{directory}->is_member($group->{id}, $object->{id});
    $cloud->{directory}->set_member($group->{id}, $object->{id}, 1);
    return { status => 204 };
}

# members@odata.bind: at most twenty, all or nothing. Other properties: names and description.
sub update {
    my ($cloud, $request, $key) = @_;
    my ($group) = $cloud->group($request, $key);
    my $body = $cloud->body($request);
    my $bind = delete $body->{'members@odata.bind'};
    for my $name (keys %$body) { bad_request("Invalid property '$name'.")
        if $name !~ /^(?:displayName|description|mailNickname|visibility|\@odata\.type)$/ }
    if (defined $bind) {
        bad_request('members@odata.bind must be a collection of at most 20 references.')
            if ref $bind ne 'ARRAY' || !@$bind || @$bind > 20;
        _changeable($cloud, $group);
        my @objects = map { _target($cloud, $request, $_) } @$bind;
        my %seen;
        bad_request($already) if grep { $seen{ $_->{id} }++
            || $cloud->{directory}->is_member($group->{id}, $_->{id}) } @objects;
        $cloud->{directory}->set_member($group->{id}, $_->{id}, 1) for @objects;
    }
    delete $body->{'@odata.type'};
    $cloud->{directory}->change($group, $body) if %$body;
    return { status => 204 };
}

sub remove_member {
    my ($cloud, $request, $key, $id) = @_;
    my ($group) = $cloud->group($request, $key);
    my $object = $cloud->{directory}->object($id) // not_found($id);
    _changeable($cloud, $group);
    not_found($id) if !$cloud->{directory}->is_member($group->{id}, $object->{id});
    $cloud->{directory}->set_member($group->{id}, $object->{id}, 0);
    return { status => 204 };
}

# DELETE without /$ref deletes the object itself, as the API does; counted, because no client should
# ever do that.
sub remove_object {
    my ($cloud, $request, $key, $id) = @_;
    $cloud->group($request, $key);
    $cloud->{counters}{deletedThroughGroup}++;
    return Cloud::Users::remove($cloud, $request, $id);
}

sub by_ids {
    my ($cloud, $request) = @_;
    my $body = $cloud->body($request);
    bad_request('ids must be a collection of at most 1000.')
        if ref $body->{ids} ne 'ARRAY' || @{ $body->{ids} } > 1000;
    bad_request("Invalid property.") if grep {!/^(?:ids|types)$/} keys %$body;
    my %types = map { lc($_) => 1 } @{ $body->{types} // [] };
    my $select = select_of($request, sub { user_property(@_) || group_property(@_) });
    my $when = $cloud->late('read');
    my (@rows, %seen);
    for my $id (grep { !$seen{ lc $_ }++ } @{ $body->{ids} }) {
        my $object = $cloud->{directory}->object($id) or next;
        next if %types && !$types{ lc $object->{type} } && !$types{directoryobject};
        my $p = Cloud::Directory::visible($object, $when) or next;
        push @rows, object_row($cloud, $object, $p, $select);
    }
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#directoryObjects",
        value => \@rows });
}

1;
