package Cloud::Delta;
# Delta queries of users and groups. A token is [kind, how, select, from, to, position...]: a full
# round reads the directory by position and ends with a deltaLink at the journal's end when the
# round began; a later round reads the journal between two ends. Large groups come in slices of
# members@delta over several pages.
use strict;
use warnings;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Lists;
use Cloud::Query;
use Cloud::Schema;
use Mojo::JSON qw(encode_json);

sub users  { my ($cloud, $request) = @_; return _delta($cloud, $request, 'user') }
sub groups { my ($cloud, $request) = @_; return _delta($cloud, $request, 'group') }

sub _delta {
    my ($cloud, $request, $kind) = @_;
    my $query = $request->{query};
    my $when  = $cloud->late('delta');
    for my $option (qw($top $orderby $expand $search)) {
        bad_request("Query option '$option' is not supported with delta.")
            if defined $query->{$option};
    }
    my ($state, $token);
    if (defined($token = $query->{'$skiptoken'} // $query->{'$deltatoken'}) && $token ne 'latest'
        && $token ne '') {
        my ($for, $select, $from, $to, $generation, @position) = read_token($token);
        _expired($cloud, $request, $kind) if ($for // '') ne "$kind/delta";
        _expired($cloud, $request, $kind)
            if defined $query->{'$deltatoken'} && $generation < $cloud->{delta_generation};
        if (defined $query->{'$deltatoken'}) {
            ($from, $to, @position) = (_replayed($cloud, $to), _horizon($cloud, $when), 0, 0) }
        $state = { select => [split /,/, $select], from => $from, to => $to,
            position => \@position };
    }
    else {
        my $select = select_of($request, $kind eq 'user' ? \&user_property : \&group_property)
            // [$kind eq 'user' ? user_defaults() : (group_defaults(), 'members')];
        my $to = _horizon($cloud, $when);
        return answer_json(page_body($request, "${kind}s", '',
            delta => _link($cloud, $request, $kind, deltatoken => $select, $to, $to)))
            if ($token // '') eq 'latest';
        $state = { select => $select, from => -1, to => $to, position => [0, 0] };
    }
    $state->{minimal} = ($request->{headers}{prefer} // '') =~ /return=minimal/;
    $state->{when}    = $when;
    my ($rows, @next) = $cloud->empty_page ? ('', @{ $state->{position} }) : $state->{from} >= 0
        ? _changes($cloud, $kind, $state)
        : $kind eq 'user' ? _all_users($cloud, $state) : _all_groups($cloud, $state);
    my @ends = ($state->{select}, $state->{from}, $state->{to});
    return answer_json(page_body($request, "${kind}s", $rows,
        @next ? (next => _link($cloud, $request, $kind, skiptoken => @ends, @next))
        : (delta => _link($cloud, $request, $kind, deltatoken => @ends))));
}

sub _link {
    my ($cloud, $request, $kind, $name, $select, $from, $to, @position) = @_;
    return "$request->{base}?\$$name="
        . make_token("$kind/delta", join(',', @$select), $from, $to, $cloud->{delta_generation},
        @position);
}

sub _expired {
    my ($cloud, $request, $kind) = @_;
    my $how = $cloud->{settings}{deltaExpiry};
    refuse(400, 'syncStateNotFound', 'The specified delta token has expired.')
        if $how eq 'syncStateNotFound';
    refuse(410, 'resyncRequired', 'Resync required. The sync state is too old.',
        headers => { Location => "$request->{base}?\$deltatoken=" });
}

# A round may bring again what earlier ones brought.
sub _replayed { my ($cloud, $end) = @_; my $from = $end - $cloud->{settings}{deltaReplay};
    return $from < 0 ? 0 : $from }

# How much of the journal a (late) replica has.
sub _horizon {
    my ($cloud, $when) = @_;
    my $journal = $cloud->{directory}{journal};
    my $end = @$journal;
    $end-- while defined $when && $end > 0 && $journal->[$end - 1][0] > $when;
    return $end;
}

# -- full rounds

sub _user_item {
    my ($cloud, $p, $select) = @_;
    my $row = user_row($cloud, $p, $select, 1);
    $row->{'manager@delta'} = [{ '@odata.type' => '#microsoft.graph.user', id => $p->{_manager} }]
        if $p->{_manager} && !$p->{_deleted} && grep { $_ eq 'manager' } @$select;
    return $row;
}

sub _removed { my ($p) = @_; return { id => $p->{id},
    '@removed' => { reason => $p->{_gone} ? 'deleted' : 'changed' } } }

sub _all_users {
    my ($cloud, $state) = @_;
    my ($position) = @{ $state->{position} };
    my $directory = $cloud->{directory};
    my $bulk  = $directory->{bulk};
    my $many  = $bulk ? $bulk->{count} : 0;
    my $order = $directory->{order}{user};
    my $size  = $cloud->{settings}{deltaUsers};
    my ($found, @rows) = (0);
    while ($position < $many + @$order && $found < $size) {
        if ($position < $many) {
            my $to = $position + $size - $found - 1;
            $to = $many - 1 if $to >= $many;
            my $text = $bulk->rows(join('|', 'delta', @{ $state->{select} }),
                sub { _user_item($cloud, $_[0], $state->{select}) }, $position, $to);
            if (defined $text) {
                push @rows, $text;
                $found += $to - $position + 1;
                $position = $to + 1;
                next;
            }
        }
        my $object = $position < $many ? $directory->object($bulk->id($position))
            : $order->[$position - $many];
        $position++;
        my $p = Cloud::Directory::props_at($object, $state->{when}) or next;
        next if $p->{_gone};
        push @rows, encode_json($p->{_deleted} ? _removed($p)
            : _user_item($cloud, $p, $state->{select}));
        $found++;
    }
    return (join(',', @rows), $position < $many + @$order ? ($position, 0) : ());
}

# Position: [group, member]. A page holds so many groups and so many member entries.
sub _all_groups {
    my ($cloud, $state) = @_;
    my ($g, $m) = @{ $state->{position} };
    my $directory = $cloud->{directory};
    my $bulk      = $directory->{bulk};
    my $order     = $directory->{order}{group};
    my $members   = grep { $_ eq 'members' } @{ $state->{select} };
    my $names     = join '|', @{ $state->{select} };
    my $key       = "$names|$g|$m|$cloud->{settings}{deltaMembers}";
    if ($bulk and my $kept = $bulk->{slices}{$key}) { return @$kept }
    my ($room, $left, $clean, @rows) = ($cloud->{settings}{deltaUsers},
        $cloud->{settings}{deltaMembers}, 1);
    while ($g < @$order && @rows < $room && $left > 0) {
        my $group = $order->[$g];
        my $untouched = $bulk && $bulk->is_clean($group->{id}) && @{ $group->{versions} } == 1;
        $clean = 0 if !$untouched;
        my $p = Cloud::Directory::visible($group, $state->{when});
        if (!$p || !$members) {
            push @rows, encode_json(group_row($p, $state->{select}, 1)) if $p;
            ($g, $m) = ($g + 1, 0);
            next;
        }
        my $ever = $directory->member_count_ever($group->{id});
        my $to = $m + $left - 1;
        $to = $ever - 1 if $to >= $ever;
        my $entries = $to < $m ? '' : $untouched ? $bulk->slice($group->{id}, $m, $to) : join ',',
            map { encode_json(_member($directory, $_)) }
            grep { $directory->is_member($group->{id}, $_, $state->{when})
                && !_gone_group($directory, $_, $state->{when}) }
                map { $directory->member_ever($group->{id}, $_) } $m .. $to;
        my $text = encode_json(group_row($p, $state->{select}, 1));
        substr($text, -1) = ',"members@delta":[' . $entries . ']}' if $ever;
        push @rows, $text;
        $left -= $to - $m + 1 if $to >= $m;
        ($g, $m) = $to + 1 < $ever ? ($g, $to + 1) : ($g + 1, 0);
    }
    my @page = (join(',', @rows), $g < @$order ? ($g, $m) : ());
    $bulk->{slices}{$key} = \@page if $bulk && $clean;
    return @page;
}

# A deleted group is no longer a member of other groups.
sub _gone_group { my ($directory, $id, $when) = @_; my $object = $directory->{objects}{$id};
    return $object && $object->{type} eq 'group' && !Cloud::Directory::visible($object, $when) }

sub _member {
    my ($directory, $id) = @_;
    return { '@odata.type' => '#microsoft.graph.' . ($directory->type_of($id) // 'user'),
        id => $id };
}

# -- later rounds

# The items between two ends of the journal, in the order of the last change; kept, because each
# page of the round needs them.
sub _collect {
    my ($cloud, $kind, $state) = @_;
    my $key = join '|', $kind, @$state{qw(from to)};
    return $cloud->{rounds}{$key} if $cloud->{rounds}{$key};
    my (%names, %members, %last);
    my $journal = $cloud->{directory}{journal};
    for my $at ($state->{from} .. $state->{to} - 1) {
        my (undef, $what, $id, $detail, $in) = @{ $journal->[$at] };
        if ($what eq $kind) { $names{$id}{$_} = 1 for @$detail; $last{$id} = $at }
        elsif ($kind eq 'group' && $what eq 'member') { $members{$id}{$detail} = $in;
            $last{$id} = $at }
    }
    $cloud->{rounds} = {} if keys %{ $cloud->{rounds} // {} } > 50;
    return $cloud->{rounds}{$key} = [map { [$_, $names{$_} // {}, $members{$_} // {}] }
        sort { $last{$a} <=> $last{$b} } keys %last];
}

sub _changes {
    my ($cloud, $kind, $state) = @_;
    my $items = _collect($cloud, $kind, $state);
    my ($i, $m) = @{ $state->{position} };
    my ($room, $left, @rows) = @{ $cloud->{settings} }{qw(deltaUsers deltaMembers)};
    my $tracks_members = $kind eq 'group' && grep { $_ eq 'members' } @{ $state->{select} };
    while ($i < @$items && @rows < $room && $left > 0) {
        my ($id, $names, $members) = @{ $items->[$i] };
        my $p = Cloud::Directory::props_at($cloud->{directory}->object($id), $state->{when});
        my $row = $p ? _changed_row($cloud, $kind, $state, $p, $names) : undef;
        my @members = $p && $tracks_members ? sort keys %$members : ();
        @members = () if $row && $row->{'@removed'};
        if (@members) {
            my $to = $m + $left - 1;
            $to = $#members if $to > $#members;
            $row //= $state->{minimal} ? { id => $id } : group_row($p, $state->{select}, 1);
            $row->{'members@delta'} =
                [map { my $e = _member($cloud->{directory}, $_);
                $e->{'@removed'} = { reason => 'deleted' }
                if !$members->{$_} || _gone_group($cloud->{directory}, $_, $state->{when});
                $e } @members[$m .. $to]];
            $left -= $to - $m + 1;
            $m = $to + 1;
        }
        push @rows, encode_json($row) if $row;
        ($i, $m) = ($i + 1, 0) if $m >= @members;
    }
    return (join(',', @rows), $i < @$items ? ($i, $m) : ());
}

# undef: nothing that is tracked has changed.
sub _changed_row {
    my ($cloud, $kind, $state, $p, $names) = @_;
    return _removed($p) if $p->{_deleted};
    my $whole = $names->{created} || $names->{restored};
    my %changed = %$names;
    $changed{manager} = 1 if $names->{_manager};
    my @tracked = grep { $changed{$_} } @{ $state->{select} };
    return undef if !$whole && !@tracked;
    return group_row($p, $state->{minimal} && !$whole ? ['id', @tracked] : $state->{select}, 1)
        if $kind eq 'group';
    my $row = user_row($cloud, $p, $state->{minimal} && !$whole ? ['id', @tracked]
        : $state->{select}, 1);
    if (grep { $_ eq 'manager' } @{ $state->{select} } and $changed{manager} || $whole) {
        $row->{'manager@delta'} = $p->{_manager}
            ? [{ '@odata.type' => '#microsoft.graph.user', id => $p->{_manager} }]
            : $whole && !$changed{manager} ? []
                : [{ '@odata.type' => '#microsoft.graph.user',
                id => '00000000-0000-0000-0000-000000000000',
                '@removed' => { reason => 'deleted' } }];
    }
    return $row;
}

1;
