package Cloud::Licenses;
# Subscriptions, direct and group-based licences. Direct ones stand in a user's properties (_direct:
# skuId -> disabled plans); inherited ones follow from the groups that carry assignedLicenses.
use strict;
use warnings;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Query;
use Cloud::Schema;
use Cloud::Lists;

sub new {
    my ($class, $directory) = @_;
    return bless { directory => $directory, skus => {}, order => [] }, $class;
}

sub add_sku {
    my ($self, $part, $id, $units) = @_;
    $self->{skus}{$id} = { part => $part, units => $units };
    push @{ $self->{order} }, $id;
}

sub id_of { my ($self, $part) = @_;
    return (grep { $self->{skus}{$_}{part} eq $part } @{ $self->{order} })[0] }

sub _licensed_groups {
    my ($self) = @_;
    return grep { @{ Cloud::Directory::props($_)->{assignedLicenses} // [] } }
        map { $self->{directory}{objects}{$_} } keys %{ $self->{directory}{licensed} };
}

# Records that a group carries licences, so that only such groups are checked later.
sub licensed { my ($self, $group) = @_; $self->{directory}{licensed}{ $group->{id} } = 1 }

# skuId -> { direct => plans or undef, groups => [ids] }
sub of {
    my ($self, $p) = @_;
    my %of = map { ($_ => { direct => $p->{_direct}{$_}, groups => [] }) }
        keys %{ $p->{_direct} // {} };
    for my $group ($self->_licensed_groups) {
        next if !$self->{directory}->is_member($group->{id}, $p->{id});
        push @{ $of{ $_->{skuId} }{groups} }, $group->{id}
            for @{ Cloud::Directory::props($group)->{assignedLicenses} };
    }
    return \%of;
}

sub shown {
    my ($self, $p, $name) = @_;
    my $of = $self->of($p);
    return [map { { skuId => $_, disabledPlans => $of->{$_}{direct} // [] } } sort keys %$of]
        if $name eq 'assignedLicenses';
    return [map {
        my $sku = $_;
        map { { skuId => $sku, assignedByGroup => $_, disabledPlans => $of->{$sku}{direct} // [],
            state => 'Active', error => 'None', lastUpdatedDateTime => '2024-01-01T00:00:00Z' } }
            ($of->{$sku}{direct} ? (undef) : ()), sort @{ $of->{$sku}{groups} // [] }
    } sort keys %$of];
}

sub consumed {
    my ($self, $sku) = @_;
    my $directory = $self->{directory};
    my $bulk = $directory->{bulk};
    my %who;
    for my $object (values %{ $directory->{objects} }) {
        next if $object->{type} ne 'user';
        my $p = Cloud::Directory::props($object);
        $who{ $p->{id} } = 1 if $p->{_direct}{$sku} && !$p->{_deleted};
    }
    for my $group ($self->_licensed_groups) {
        next if !grep { $_->{skuId} eq $sku } @{
            Cloud::Directory::props($group)->{assignedLicenses} };
        $who{$_} = 1 for $directory->member_ids($group->{id});
    }
    return keys(%who) + ($bulk && ($bulk->{sku} // '') eq $sku ? $bulk->{count} - $bulk->{live}
        : 0);
}

sub subscribed_skus {
    my ($cloud, $request) = @_;
    my $self = $cloud->{licenses};
    my @value = map {
        my $sku = $self->{skus}{$_};
        { id => "$cloud->{tenant}_$_", accountId => $cloud->{tenant}, accountName => 'acme',
            appliesTo => 'User', capabilityStatus => 'Enabled', skuId => $_,
            skuPartNumber => $sku->{part}, consumedUnits => $self->consumed($_) + 0,
            prepaidUnits => { enabled => $sku->{units} + 0, suspended => 0, warning => 0,
            lockedOut => 0 },
            servicePlans => [], subscriptionIds => [] }
    } @{ $self->{order} };
    my $select = $request->{query}{'$select'};
    if (defined $select) {
        my %names = map { $_ => 1 } split /,/, $select;
        for my $row (@value) { delete @$row{ grep { !$names{$_} } keys %$row } }
    }
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#subscribedSkus",
        value => \@value });
}

sub assign {
    my ($cloud, $request, $key) = @_;
    my $self = $cloud->{licenses};
    my $user = $cloud->user($request, $key);
    my $body = $cloud->body($request);
    for my $name (qw(addLicenses removeLicenses)) {
        bad_request("Property '$name' is required and must be a collection.")
            if ref $body->{$name} ne 'ARRAY';
    }
    for my $name (keys %$body) { bad_request("Invalid property '$name'.")
        if $name !~ /^(?:add|remove)Licenses$/ }
    my $p  = Cloud::Directory::props($user);
    my $of = $self->of($p);
    my %direct = %{ $p->{_direct} // {} };
    for my $add (@{ $body->{addLicenses} }) {
        bad_request('Invalid license.')
            if ref $add ne 'HASH' || grep {!/^(?:skuId|disabledPlans|\@odata\.type)$/} keys %$add;
        my $sku = $self->{skus}{ $add->{skuId} // '' }
            or bad_request("License $add->{skuId} does not correspond to a valid company License.");
        bad_request('License assignment cannot be done for user with invalid usage location.')
            if !defined $p->{usageLocation};
        bad_request("Subscription with SKU $add->{skuId} does not have any available licenses.")
            if !$of->{ $add->{skuId} } && $self->consumed($add->{skuId}) >= $sku->{units};
        $direct{ $add->{skuId} } = $add->{disabledPlans} // [];
    }
    for my $remove (@{ $body->{removeLicenses} }) {
        bad_request("User license is inherited from a group membership and it cannot be removed "
            . "directly from the user.")
            if $of->{$remove} && !$of->{$remove}{direct} && @{ $of->{$remove}{groups} };
        bad_request("User does not have a corresponding license.") if !delete $direct{$remove};
    }
    my %mailbox = %direct && !defined $p->{mail}
        ? (mail => $p->{userPrincipalName}, proxyAddresses => ["SMTP:$p->{userPrincipalName}"])
        : ();
    my $after = $cloud->{directory}->change($user, { _direct => \%direct, %mailbox },
        'assignedLicenses', 'licenseAssignmentStates');
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#users/\$entity",
        %{ user_row($cloud, $after, undef) } });
}

sub details {
    my ($cloud, $request, $key) = @_;
    my ($user, $p) = $cloud->user($request, $key);
    my $of = $cloud->{licenses}->of($p);
    return answer_json({ '@odata.context' =>
        "$request->{root}/\$metadata#users('$user->{id}')/licenseDetails",
        value => [map { { id => $_, skuId => $_,
        skuPartNumber => $cloud->{licenses}{skus}{$_}{part}, servicePlans => [] } }
        sort keys %$of] });
}

1;
