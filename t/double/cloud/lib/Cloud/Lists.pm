package Cloud::Lists;
# Pages: of all users or groups by position (bulk users first, then the others in the order of their
# creation, so that positions do not change), and of relationship collections.
use strict;
use warnings;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Query;
use Cloud::Schema;
use Exporter 'import';
use Mojo::JSON qw(encode_json);

our @EXPORT = qw(list_users list_groups list_deleted list_related count_of answer_json);

sub answer_json { my ($data, $status) = @_;
    return { status => $status // 200, type => 'json', body => ref $data ? encode_json($data)
    : $data } }

sub _position {
    my ($cloud, $request, $kind) = @_;
    my $token = $request->{query}{'$skiptoken'} // return 0;
    my ($for, $position, $generation) = read_token($token);
    refuse(400, 'Directory_ExpiredPageToken',
        'The specified page token value has expired and can no longer be included in your request.')
        if ($for // '') ne $kind || $generation < $cloud->{page_generation};
    return $position;
}

# The same options, with another $skiptoken, percent-encoded.
sub _next {
    my ($cloud, $request, $kind, $position) = @_;
    my %query = (%{ $request->{query} },
        '$skiptoken' => make_token($kind, $position, $cloud->{page_generation}));
    return "$request->{base}?" . join '&',
        map { _escape($_) . '=' . _escape($query{$_}) } sort keys %query;
}

sub _escape { my ($text) = @_; utf8::encode($text);
    $text =~ s/([^A-Za-z0-9._~\$',():\/=*-])/sprintf '%%%02X', ord $1/ge;
    return $text =~ s/=/%3D/gr }

sub _object_at {
    my ($cloud, $type, $position) = @_;
    my $bulk = $type eq 'user' && $cloud->{directory}{bulk};
    my $first = $bulk ? $bulk->{count} : 0;
    return $cloud->{directory}->object($bulk->id($position)) if $position < $first;
    return $cloud->{directory}{order}{$type}[$position - $first];
}

sub _end {
    my ($cloud, $type) = @_;
    return @{ $cloud->{directory}{order}{$type} } + ($type eq 'user' && $cloud->{directory}{bulk}
        ? $cloud->{directory}{bulk}{count} : 0);
}

# A bulk user that became an object has its own position, not a second time among the others: only
# add() puts into order.
sub _page {
    my ($cloud, $request, $type, $known, $row) = @_;
    my $when   = $cloud->late('list');
    my $select = select_of($request, $known);
    my $filter = filter_of($request, $known);
    my $top    = top_of($request);
    my $expand = $type eq 'user' ? _expand($request) : undef;
    if ($type eq 'user' && grep { $_ eq 'signInActivity' } @{ $select // [] }) {
        $cloud->needs_sign_in($filter, $request);
        $top = $cloud->{settings}{signInPage} if $top > $cloud->{settings}{signInPage};
    }
    my $render = sub { my ($p) = @_; my $r = $row->($p, $select);
        $r->{manager} = _manager($cloud, $p, $expand, $when)
        if $expand && $p->{_manager}; return $r };
    if ($filter && $filter->{pin}) {
        my @rows = map { encode_json($render->($_)) } grep { $filter->{test}->($_) }
            _pinned($cloud, $type, $filter->{pin}, $when);
        return page_body($request, "${type}s", join(',', @rows), advanced($request)
            ? (count => scalar @rows) : ());
    }
    my $position = _position($cloud, $request, $type);
    my ($end, @rows, $found) = (_end($cloud, $type));
    my $bulk = $type eq 'user' && $cloud->{directory}{bulk};
    $found = 0;
    if ($cloud->empty_page) { }
    else {
        while ($position < $end && $found < $top) {
            if ($bulk && !$filter && $position < $bulk->{count}) {
                my $to = $position + $top - $found - 1;
                $to = $bulk->{count} - 1 if $to >= $bulk->{count};
                my $key = join '|', 'list', @{ $select // ['-'] }, $expand ? @$expand : ();
                my $text = $bulk->rows($key, $render, $position, $to);
                if (defined $text) {
                    push @rows, $text;
                    $found += $to - $position + 1;
                    $position = $to + 1;
                    next;
                }
            }
            my $object = _object_at($cloud, $type, $position++);
            my $p = Cloud::Directory::visible($object, $when) or next;
            next if $filter && !$filter->{test}->(_for_filter($cloud, $p));
            push @rows, encode_json($render->($p));
            $found++;
        }
    }
    my %more = $position < $end ? (next => _next($cloud, $request, $type, $position)) : ();
    $more{count} = _count($cloud, $type, $filter, $when) if advanced($request);
    return page_body($request, "${type}s", join(',', @rows), %more);
}

sub _for_filter { my ($cloud, $p) = @_;
    return $p->{_direct} ? { %$p,
    assignedLicenses => $cloud->{licenses}->shown($p, 'assignedLicenses') } : $p }

sub _pinned {
    my ($cloud, $type, $pin, $when) = @_;
    my ($name, $value) = @$pin;
    my $directory = $cloud->{directory};
    my $object = $name eq 'id' ? $directory->object($value) : $name eq 'userPrincipalName'
        ? $directory->by_upn($value) : $directory->by_address($value);
    return () if !$object || $object->{type} ne $type;
    my $p = Cloud::Directory::visible($object, $when) or return ();
    return _for_filter($cloud, $p);
}

sub _count {
    my ($cloud, $type, $filter, $when) = @_;
    my $count = 0;
    for my $position (0 .. _end($cloud, $type) - 1) {
        my $p = Cloud::Directory::visible(_object_at($cloud, $type, $position), $when) or next;
        $count++ if !$filter || $filter->{test}->($p);
    }
    return $count;
}

# $expand=manager or manager($select=id,displayName): the names, or undef.
sub _expand {
    my ($request) = @_;
    my $text = $request->{query}{'$expand'} // return undef;
    my ($inner) = $text =~ /\Amanager(?:\(\$select=([\w,]+)\))?\z/
        or refuse(400, 'Request_UnsupportedQuery', "Unsupported expand '$text'.");
    return [defined $inner ? split /,/, $inner : qw(id displayName userPrincipalName)];
}

sub _manager {
    my ($cloud, $p, $names, $when) = @_;
    # In a row pattern the ID is a mark and there is no object to read; then the ID is all there is
    # to show.
    return { '@odata.type' => '#microsoft.graph.user', id => $p->{_manager} }
        if $p->{_manager} =~ /^</ || "@$names" eq 'id';
    my $object = $cloud->{directory}->object($p->{_manager}) or return undef;
    my $row = user_row($cloud, Cloud::Directory::visible($object, $when) // return undef, $names);
    $row->{'@odata.type'} = '#microsoft.graph.user';
    return $row;
}

sub list_users {
    my ($cloud, $request) = @_;
    return answer_json(_page($cloud, $request, 'user', \&user_property,
        sub { user_row($cloud, @_) }));
}

sub list_groups {
    my ($cloud, $request) = @_;
    return answer_json(_page($cloud, $request, 'group', \&group_property, \&group_row));
}

sub list_deleted {
    my ($cloud, $request) = @_;
    my $select = select_of($request, \&user_property);
    my @gone = grep { $_->{_deleted} && !$_->{_gone} } map { Cloud::Directory::props($_) }
        grep { $_->{type} eq 'user' } values %{ $cloud->{directory}{objects} };
    return answer_json(page_body($request, 'directoryObjects/microsoft.graph.user', join ',',
        map { encode_json(user_row($cloud, $_, $select)) } sort { $a->{id} cmp $b->{id} } @gone));
}

sub count_of {
    my ($cloud, $request, $type) = @_;
    refuse(400, 'Request_UnsupportedQuery', '$count needs the header ConsistencyLevel: eventual.')
        if lc($request->{headers}{consistencylevel} // '') ne 'eventual';
    my $known = $type eq 'user' ? \&user_property : \&group_property;
    $request->{query}{'$count'} = 'true';
    return { status => 200, type => 'text/plain',
        body => _count($cloud, $type, filter_of($request, $known), $cloud->late('list')) };
}

# A relationship collection: pages of the IDs given. $cast: only objects of that type.
sub list_related {
    my ($cloud, $request, $ids, $cast, $when) = @_;
    my %query = %{ $request->{query} };
    refuse(400, 'Request_UnsupportedQuery',
        'Casts with other query options need ConsistencyLevel: eventual and $count=true.')
        if $cast && (grep {/^\$(?:filter|search|orderby)$/} keys %query) && !advanced($request);
    my $known  = sub { user_property(@_) || group_property(@_) };
    my $select = select_of($request, $known);
    my $filter = filter_of($request, $known);
    my $top    = top_of($request);
    my $directory = $cloud->{directory};
    my $position  = _position($cloud, $request, 'related');
    my (@rows, $p);
    while ($position < @$ids && @rows < $top) {
        my $object = $directory->object($ids->[$position++]) or next;
        next if $cast && $object->{type} ne $cast;
        $p = Cloud::Directory::visible($object, $when) or next;
        next if $filter && !$filter->{test}->($p);
        my $row = object_row($cloud, $object, $p, $select);
        delete $row->{'@odata.type'} if $cast;
        push @rows, encode_json($row);
    }
    my %more = $position < @$ids ? (next => _next($cloud, $request, 'related', $position)) : ();
    $more{count} = @$ids if advanced($request);
    return answer_json(page_body($request, 'directoryObjects', join(',', @rows), %more));
}

1;
