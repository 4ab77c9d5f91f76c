package Cloud::Users;
# Users: create, read, update, delete, restore; manager, photo, sessions, memberships of a user.
use strict;
use warnings;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Lists;
use Cloud::Query;
use Cloud::Schema;
use Mojo::JSON;
use POSIX ();

sub _stamp { return POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime) }

sub create {
    my ($cloud, $request) = @_;
    my $directory = $cloud->{directory};
    my $body = $cloud->body($request);
    check_user_body($body, 1);
    $cloud->check_domain($body->{userPrincipalName});
    check_password($body->{passwordProfile}, $body->{userPrincipalName},
        $cloud->take('banPasswords'));
    $cloud->secret(password => $body->{passwordProfile}{password});
    _check_names($cloud, undef, $body);
    my $manager = _reference($cloud, $request, delete $body->{'manager@odata.bind'});
    my %p = %$body;
    delete @p{qw(passwordProfile @odata.type)};
    delete $p{$_} for grep { !defined $p{$_} } keys %p;
    my $object = $directory->add(user => { %p, createdDateTime => _stamp(),
        userType => $p{userType} // 'Member', proxyAddresses => defined $p{mail} ? ["SMTP:$p{mail}"]
        : [],
        businessPhones => $p{businessPhones} // [],
        ($manager ? (_manager => $manager->{id}) : ()) });
    $cloud->count_created(Cloud::Directory::props($object));
    $directory->apply_rules($object);
    my $answer = answer_json({ '@odata.context' => "$request->{root}/\$metadata#users/\$entity",
        %{ user_row($cloud, Cloud::Directory::props($object), undef) } }, 201);
    $answer->{headers}{Location} =
        "$request->{root}/directoryObjects/$object->{id}/Microsoft.DirectoryServices.User";
    return $answer;
}

# Names are unique at once, whatever late replicas show.
sub _check_names {
    my ($cloud, $self, $p) = @_;
    my $directory = $cloud->{directory};
    my $other = sub { my ($object) = @_;
        return $object && (!$self || $object->{id} ne $self->{id}) };
    if (defined(my $upn = $p->{userPrincipalName})) {
        conflict('userPrincipalName') if $other->($directory->by_upn($upn));
        conflict('proxyAddresses')    if $other->($directory->by_address($upn));
    }
    conflict('proxyAddresses')
        if defined $p->{mail} && $other->($directory->by_address($p->{mail}));
    conflict('onPremisesImmutableId')
        if defined $p->{onPremisesImmutableId}
        && $directory->{immutable}{ $p->{onPremisesImmutableId} }
        && $other->({ id => $directory->{immutable}{ $p->{onPremisesImmutableId} } });
    conflict('mailNickname') if defined $p->{mailNickname}
        && grep { my $g = Cloud::Directory::props($_);
            !$g->{_deleted} && lc($g->{mailNickname}
            // '') eq lc $p->{mailNickname} } @{ $directory->{mail_groups} };
}

# The object an @odata.id names, as a late replica sees it.
sub _reference {
    my ($cloud, $request, $url, $late) = @_;
    return undef if !defined $url;
    my ($id) = $url =~ m{\A\Q$request->{root}\E/(?:directoryObjects|users)/([^/?]+)\z}
        or bad_request("Invalid value specified for the reference '$url'.");
    return $cloud->reference($id);
}

sub read_one {
    my ($cloud, $request, $key) = @_;
    my $select = select_of($request, \&user_property);
    if (grep { $_ eq 'signInActivity' } @{ $select // [] }) {
        bad_request("Get By Key only supports UserId and the key has to be a valid Guid.")
            if $key !~ /\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\z/i;
        $cloud->needs_sign_in(undef, $request);
    }
    my ($user, $p) = $cloud->user($request, $key);
    my $row = user_row($cloud, $p, $select);
    if (my $expand = Cloud::Lists::_expand($request)) {
        $row->{manager} = Cloud::Lists::_manager($cloud, $p, $expand, undef) if $p->{_manager};
    }
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#users/\$entity", %$row });
}

sub update {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    my $body = $cloud->body($request);
    check_user_body($body, 0);
    my $p = Cloud::Directory::props($user);
    denied() if $p->{_privileged} && !$cloud->{settings}{privileged}
        && grep {/^(?:accountEnabled|passwordProfile|userPrincipalName|otherMails|businessPhones
            |mobilePhone)$/x} keys %$body;
    $cloud->may('User.EnableDisableAccount.All', 'User.ReadWrite.All', 'Directory.ReadWrite.All')
        if exists $body->{accountEnabled};
    if ($p->{onPremisesSyncEnabled} && grep {!/^(?:usageLocation|passwordProfile)$/} keys %$body) {
        bad_request('Unable to update the specified properties for on-premises mastered Directory '
            . 'Sync objects or objects currently undergoing migration.');
    }
    $cloud->check_domain($body->{userPrincipalName}) if defined $body->{userPrincipalName};
    if (my $profile = delete $body->{passwordProfile}) {
        check_password($profile, $p->{userPrincipalName}, $cloud->take('banPasswords'));
        $cloud->secret(password => $profile->{password});
        $body->{_passwords} = ($p->{_passwords} // 0) + 1;
        $body->{_mustChange} = $profile->{forceChangePasswordNextSignIn} ? 1 : 0;
    }
    _check_names($cloud, $user, $body);
    my $manager = _reference($cloud, $request, delete $body->{'manager@odata.bind'});
    $body->{_manager} = $manager->{id} if $manager;
    delete $body->{'@odata.type'};
    if (my $more = $body->{onPremisesExtensionAttributes}) {
        $body->{onPremisesExtensionAttributes} = { %{ $p->{onPremisesExtensionAttributes} // {} },
            %$more };
    }
    $cloud->{directory}->change($user, $body, $manager ? 'manager' : ());
    $cloud->{directory}->apply_rules($user);
    return { status => 204 };
}

# Soft delete: the names are free again, memberships stand until the object is purged.
sub remove {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    my $p = Cloud::Directory::props($user);
    not_found($key) if $p->{_deleted};
    denied() if $p->{_privileged} && !$cloud->{settings}{privileged};
    $cloud->{directory}->change($user, { _deleted => 1, deletedDateTime => _stamp() }, 'deleted');
    $cloud->{counters}{usersDeleted}++;
    return { status => 204 };
}

sub _deleted {
    my ($cloud, $key) = @_;
    my $object = $cloud->{directory}->object($key);
    my $p = $object ? Cloud::Directory::props($object) : undef;
    not_found($key) if !$p || !$p->{_deleted} || $p->{_gone};
    return ($object, $p);
}

sub deleted_one {
    my ($cloud, $request, $key) = @_;
    my ($object, $p) = _deleted($cloud, $key);
    my %shown = (%$p, userPrincipalName => ($p->{id} =~ s/-//gr) . $p->{userPrincipalName});
    return answer_json({ '@odata.type' => '#microsoft.graph.user',
        %{ user_row($cloud, \%shown,
        select_of($request, \&user_property) // [user_defaults(), 'deletedDateTime']) } });
}

sub restore {
    my ($cloud, $request, $key) = @_;
    my ($object, $p) = _deleted($cloud, $key);
    _check_names($cloud, $object, $p);
    my $after = $cloud->{directory}->change($object, { _deleted => 0, deletedDateTime => undef },
        'restored');
    return answer_json({ '@odata.type' => '#microsoft.graph.user',
        %{ user_row($cloud, $after, undef) } });
}

sub purge {
    my ($cloud, $request, $key) = @_;
    my ($object) = _deleted($cloud, $key);
    my $directory = $cloud->{directory};
    $directory->change($object, { _gone => 1 }, 'purged');
    $directory->set_member($_, $object->{id}, 0) for $directory->group_ids_of($object->{id});
    delete $directory->{photos}{ $object->{id} };
    return { status => 204 };
}

# -- manager

sub manager {
    my ($cloud, $request, $key, $ref) = @_;
    my ($user, $p) = $cloud->user($request, $key);
    my $manager = $p->{_manager} ? $cloud->{directory}->object($p->{_manager}) : undef;
    my $shown = $manager ? Cloud::Directory::visible($manager) : undef;
    not_found('manager') if !$shown;
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#\$ref",
        '@odata.id' =>
        "$request->{root}/directoryObjects/$manager->{id}/Microsoft.DirectoryServices.User" })
        if $ref;
    return answer_json({ '@odata.context' =>
        "$request->{root}/\$metadata#directoryObjects/\$entity",
        %{ object_row($cloud, $manager, $shown, select_of($request, \&user_property)) } });
}

sub set_manager {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    my $body = $cloud->body($request);
    bad_request("Invalid property.") if grep { $_ ne '@odata.id' } keys %$body;
    my $manager = _reference($cloud, $request,
        $body->{'@odata.id'} // bad_request("Property '\@odata.id' is required."));
    bad_request('Unable to update the specified properties for on-premises mastered Directory '
        . 'Sync objects or objects currently undergoing migration.')
        if Cloud::Directory::props($user)->{onPremisesSyncEnabled};
    $cloud->{directory}->change($user, { _manager => $manager->{id} }, 'manager')
        if (Cloud::Directory::props($user)->{_manager} // '') ne $manager->{id};
    return { status => 204 };
}

sub unset_manager {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    not_found('manager') if !Cloud::Directory::props($user)->{_manager};
    $cloud->{directory}->change($user, { _manager => undef }, 'manager');
    return { status => 204 };
}

sub reports {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    my @ids = map { $_->{id} }
        grep { $_->{type} eq 'user'
        && (Cloud::Directory::props($_)->{_manager} // '') eq $user->{id} }
        values %{ $cloud->{directory}{objects} };
    my $bulk = $cloud->{directory}{bulk};
    if ($bulk and defined(my $n = $bulk->number($user->{id}))) {
        push @ids, grep { !$cloud->{directory}{objects}{$_} } map { $bulk->id($_) }
            grep { $_ && $_ < $bulk->{count} } $n * 10 .. $n * 10 + 9;
    }
    return list_related($cloud, $request, [sort @ids], undef, $cloud->late('list'));
}

# -- photo

sub put_photo {
    my ($cloud, $request, $key) = @_;
    my ($user, $p) = $cloud->user($request, $key);
    refuse(415, 'UnsupportedMediaType', 'The content type is not that of an image.')
        if ($request->{headers}{'content-type'}
        // '') !~ m{^(?:image/(?:jpeg|png)|application/octet-stream)\b}i;
    my $bytes = $request->{body};
    my $limit = defined $p->{mail} ? 4194304 : 102400;
    refuse(404, 'MailboxNotEnabledForRESTAPI',
        'The mailbox is either inactive, soft-deleted, or is hosted on-premise.')
        if $cloud->{settings}{photoNeedsMailbox} && !defined $p->{mail};
    refuse(413, 'RequestBodyTooLarge', "The photo exceeds $limit bytes.") if length $bytes > $limit;
    refuse(400, 'ErrorInvalidImage', 'The image is not valid.')
        if $bytes !~ /\A(?:\xff\xd8\xff|\x89PNG\r\n\x1a\n)/;
    $cloud->{directory}{photos}{ $user->{id} } = $bytes;
    $cloud->{counters}{photos}++;
    return { status => $cloud->{settings}{photoStatus} };
}

sub photo {
    my ($cloud, $request, $key, $value) = @_;
    my ($user) = $cloud->user($request, $key);
    my $bytes = $cloud->{directory}{photos}{ $user->{id} }
        // refuse(404, 'ImageNotFound', "The photo wasn't found.");
    return { status => 200, type => $bytes =~ /\A\x89PNG/ ? 'image/png' : 'image/jpeg',
        body => $bytes } if $value;
    return answer_json({ '@odata.context' =>
        "$request->{root}/\$metadata#users('$user->{id}')/photo/\$entity", id => '1x1', height => 1,
        width => 1 });
}

sub delete_photo {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    delete $cloud->{directory}{photos}{ $user->{id} }
        // refuse(404, 'ImageNotFound', "The photo wasn't found.");
    return { status => 204 };
}

# -- sessions and memberships

sub revoke {
    my ($cloud, $request, $key) = @_;
    my ($user) = $cloud->user($request, $key);
    $cloud->{directory}->change($user,
        { signInSessionsValidFromDateTime => _stamp(),
        _revoked => (Cloud::Directory::props($user)->{_revoked} // 0) + 1 });
    return { status => 204 } if $cloud->{settings}{revokeStatus} == 204;
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#Edm.Boolean",
        value => Mojo::JSON->true });
}

sub member_of {
    my ($cloud, $request, $key, $transitive, $cast) = @_;
    my ($user) = $cloud->user($request, $key);
    my $when = $cloud->late('list');
    my $directory = $cloud->{directory};
    my @ids = $transitive ? $directory->transitive_groups_of($user->{id}, $when)
        : $directory->group_ids_of($user->{id}, $when);
    return list_related($cloud, $request, \@ids, $cast, $when);
}

sub member_ids {
    my ($cloud, $request, $key, $kind) = @_;
    my ($user) = $cloud->user($request, $key);
    my $body = $cloud->body($request);
    my $wanted = $kind eq 'check' ? 'groupIds' : 'securityEnabledOnly';
    bad_request("Invalid property.") if grep { $_ ne $wanted } keys %$body;
    my $directory = $cloud->{directory};
    my @ids = $directory->transitive_groups_of($user->{id}, $cloud->late('list'));
    if ($kind eq 'check') {
        bad_request('groupIds must hold 1 to 20 IDs.')
            if ref $body->{groupIds} ne 'ARRAY' || @{ $body->{groupIds} } > 20;
        my %asked = map { lc($_) => 1 } @{ $body->{groupIds} };
        @ids = grep { $asked{$_} } @ids;
    }
    @ids = grep { $directory->type_of($_) eq 'group' } @ids if $kind ne 'objects';
    @ids = grep { Cloud::Directory::props($directory->object($_))->{securityEnabled} } @ids
        if $body->{securityEnabledOnly};
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#Collection(Edm.String)",
        value => \@ids });
}

1;
