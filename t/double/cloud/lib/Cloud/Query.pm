package Cloud::Query;
# Query options: $select, $filter (eq ne in startsWith endsWith not and or any), advanced queries,
# the JSON rows of objects, links with opaque tokens.
use strict;
use warnings;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Schema;
use Digest::SHA ();
use Exporter 'import';
use MIME::Base64 ();
use Mojo::JSON qw(encode_json);

our @EXPORT = qw(select_of user_row group_row object_row top_of filter_of advanced make_token
    read_token page_body);

my $secret = join '', map { chr rand 256 } 1 .. 32;

# The key of links, or another one: those of before a restart are good after it.
sub link_secret { ($secret) = @_ if @_; return $secret }

# Parts are scalars without "|" in them; the links they stand in are followed some thousand times in
# a benchmark, so no JSON here.
sub make_token {
    my $text = join '|', @_;
    return MIME::Base64::encode_base64url(Digest::SHA::hmac_sha256($text, $secret) . $text);
}

sub read_token {
    my ($token) = @_;
    my $bytes = MIME::Base64::decode_base64url($token // '');
    return () if length $bytes <= 32;
    my $text = substr $bytes, 32;
    return Digest::SHA::hmac_sha256($text, $secret) eq substr($bytes, 0, 32)
        ? split(/\|/, $text, -1) : ();
}

# $select as a list of known names; undef without one.
sub select_of {
    my ($request, $known) = @_;
    my $text = $request->{query}{'$select'} // return undef;
    my @names = split /\s*,\s*/, $text;
    bad_request("Could not find a property named '' on the type.") if !@names;
    for my $name (@names) {
        refuse(501, 'NotImplemented', "Property '$name' is stored elsewhere.")
            if $name =~ /^(?:aboutMe|skills|mySite|interests|schools|pastProjects|responsibilities
                |birthday|hireDate|preferredName)$/x;
        bad_request("Could not find a property named '$name' on the type.") if !$known->($name);
    }
    push @names, 'id' if !grep { $_ eq 'id' } @names;
    return \@names;
}

sub top_of {
    my ($request) = @_;
    my $top = $request->{query}{'$top'} // return 100;
    refuse(400, 'Request_BadRequest',
        "Invalid page size specified: '$top'. Must be between 1 and 999 inclusive.")
        if $top !~ /^\d{1,4}$/ || $top < 1 || $top > 999;
    return $top;
}

sub advanced { my ($request) = @_;
    return lc($request->{headers}{consistencylevel} // '') eq 'eventual'
    && lc($request->{query}{'$count'} // '') eq 'true' }

# A user as a hash for JSON. $sparse: properties that were never set are left out (delta), not null.
sub user_row {
    my ($cloud, $p, $select, $sparse) = @_;
    my %row;
    for my $name (@{ $select // [user_defaults()] }) {
        next if $name eq 'manager';
        if ($name eq 'assignedLicenses' || $name eq 'licenseAssignmentStates') {
            $row{$name} = $cloud->{licenses}->shown($p, $name);
        }
        elsif (exists $p->{$name}) { $row{$name} = $p->{$name} }
        elsif ($name eq 'signInActivity') { }                          # never signed in: absent
        elsif (!$sparse) { $row{$name} = nullable_list($name) ? undef : [] }
    }
    $row{'@removed'} = { reason => $p->{_gone} ? 'deleted' : 'changed' }
        if $p->{_deleted} && $sparse;
    return \%row;
}

sub group_row {
    my ($p, $select, $sparse) = @_;
    my %row;
    for my $name (@{ $select // [group_defaults()] }) {
        next if $name eq 'members' || $name eq 'owners';
        if    (exists $p->{$name}) { $row{$name} = $p->{$name} }
        elsif (!$sparse)           { $row{$name} = nullable_list($name) ? undef : [] }
    }
    return \%row;
}

# An item of a relationship collection.
sub object_row {
    my ($cloud, $object, $p, $select) = @_;
    my $row = $object->{type} eq 'user' ? user_row($cloud, $p, $select) : $object->{type} eq 'group'
        ? group_row($p, $select)
        : { map { ($_ => $p->{$_}) }
            grep { exists $p->{$_} } @{ $select // [qw(id displayName description)] } };
    $row->{'@odata.type'} = "#microsoft.graph.$object->{type}";
    return $row;
}

# {"@odata.context":...,"value":[$rows],...}; $rows is JSON text, %links further members.
sub page_body {
    my ($request, $context, $rows, %links) = @_;
    my $text = '{"@odata.context":' . encode_json("$request->{root}/\$metadata#$context");
    $text .= ',"@odata.count":' . ($links{count} + 0) if defined $links{count};
    $text .= qq(,"\@odata.nextLink":"$links{next}")   if $links{next};
    $text .= qq(,"\@odata.deltaLink":"$links{delta}") if $links{delta};
    return "$text,\"value\":[$rows]}";
}

# -- $filter

# filter_of($request, $known): a block over properties and, when the filter pins a name that is
# indexed, that value: { test => CODE, pin => [property, value] }. undef without $filter.
sub filter_of {
    my ($request, $known) = @_;
    my $text = $request->{query}{'$filter'} // return undef;
    my @tokens = $text =~ /\G\s*('(?:[^']|'')*'|[A-Za-z_][\w\/.]*|-?\d[\w:.+-]*|[(),:])/gc;
    unsupported('Invalid filter clause.') if ($text // '') !~ /\G\s*\z/gc;
    my $parser = { tokens => \@tokens, known => $known, advanced => advanced($request),
        pin => undef };
    my $test = _or($parser);
    unsupported('Invalid filter clause.') if @tokens;
    unsupported('Sorting not supported for current query.')
        if defined $request->{query}{'$orderby'} && !$parser->{advanced};
    return { test => $test, pin => $parser->{pin} };
}

sub unsupported { refuse(400, 'Request_UnsupportedQuery', $_[0]) }

sub _take {
    my ($q, $want) = @_;
    my $token = shift @{ $q->{tokens} } // unsupported('Invalid filter clause.');
    unsupported('Invalid filter clause.') if defined $want && $token ne $want;
    return $token;
}

sub _peek { return $_[0]{tokens}[0] // '' }

sub _or {
    my ($q) = @_;
    my $left = _and($q);
    while (lc _peek($q) eq 'or') {
        _take($q);
        my ($a, $b) = ($left, _and($q));
        $q->{pin} = undef;
        $left = sub { $a->(@_) || $b->(@_) };
    }
    return $left;
}

sub _and {
    my ($q) = @_;
    my $left = _term($q);
    while (lc _peek($q) eq 'and') {
        _take($q);
        my ($a, $b) = ($left, _term($q));
        $left = sub { $a->(@_) && $b->(@_) };
    }
    return $left;
}

sub _needs_advanced { my ($q) = @_;
    unsupported("Unsupported or invalid query filter clause specified; it needs ConsistencyLevel: "
    . "eventual and \$count=true.") if !$q->{advanced} }

sub _term {
    my ($q) = @_;
    my $token = _take($q);
    if ($token eq '(') { my $inner = _or($q); _take($q, ')'); return $inner }
    if (lc $token eq 'not') {
        _needs_advanced($q);
        my $inner = _term($q);
        $q->{pin} = undef;
        return sub { !$inner->(@_) };
    }
    if ($token =~ /^(startsWith|endsWith)$/i) {
        my $ends = lc $1 eq 'endswith';
        _needs_advanced($q) if $ends;
        _take($q, '(');
        my $get = _property($q, _take($q));
        _take($q, ',');
        my $value = lc _value(_take($q));
        _take($q, ')');
        return $ends ? sub { lc($get->($_[0]) // '') =~ /\Q$value\E\z/ }
            : sub { index(lc($get->($_[0]) // ''), $value) == 0 };
    }
    return _any($q, $1) if $token =~ m{^(\w+)/any$};
    my $get = _property($q, $token);
    my $operator = lc _take($q);
    if ($operator eq 'in') {
        _take($q, '(');
        my %values;
        while (1) {
            $values{ lc _value(_take($q)) } = 1;
            last if _take($q) eq ')';
        }
        unsupported("Too many child clauses specified in search filter expression containing 'OR' "
            . "operators: " . keys(%values) . '. Max allowed: 15.') if keys %values > 15;
        return sub { my $is = $get->($_[0]); defined $is && $values{ lc $is } };
    }
    _needs_advanced($q) if $operator eq 'ne';
    unsupported("Unsupported operator '$operator'.") if $operator !~ /^(?:eq|ne|ge|le)$/;
    my $value = _value(_take($q));
    $q->{pin} //= [$token, $value]
        if $operator eq 'eq' && $token =~ /^(?:id|userPrincipalName|mail)$/;
    return _compare($get, $operator, $value);
}

sub _compare {
    my ($get, $operator, $value) = @_;
    my $is = sub { my $v = $get->($_[0]);
        return ref $v && ref $v ne 'ARRAY' ? ($v ? 'true' : 'false') : $v };
    return sub { lc($is->($_[0]) // "\0") eq lc($value // "\0") } if $operator eq 'eq';
    return sub { lc($is->($_[0]) // "\0") ne lc($value // "\0") } if $operator eq 'ne';
    return sub { my $v = $is->($_[0]);
        defined $v && ($operator eq 'ge' ? $v ge $value : $v le $value) };
}

# name/any(x:x eq 'v') and name/any(x:x/member eq v)
sub _any {
    my ($q, $name) = @_;
    _known($q, $name);
    _take($q, '(');
    my $variable = _take($q);
    _take($q, ':');
    my ($first, @rest) = split m{/}, _take($q);
    unsupported('Invalid filter clause.')
        if $first ne $variable || @rest > 1 || lc _take($q) ne 'eq';
    my $value = _value(_take($q));
    _take($q, ')');
    $q->{pin} //= ['mail', $1] if $name eq 'proxyAddresses' && $value =~ /^smtp:(.+)$/i;
    return sub {
        for my $item (@{ $_[0]{$name} // [] }) {
            return 1 if lc((@rest ? $item->{ $rest[0] } : $item) // '') eq lc $value;
        }
        return 0;
    };
}

sub _known { my ($q, $name) = @_;
    bad_request("Could not find a property named '$name' on the type.") if !$q->{known}->($name) }

sub _property {
    my ($q, $path) = @_;
    my ($name, $member) = split m{/}, $path;
    _known($q, $name);
    _needs_advanced($q) if defined $member && $name eq 'onPremisesExtensionAttributes';
    return defined $member ? sub { ($_[0]{$name} // {})->{$member} } : sub { $_[0]{$name} };
}

sub _value {
    my ($token) = @_;
    return undef if $token eq 'null';
    return $1 =~ s/''/'/gr if $token =~ /^'(.*)'$/s;
    return $token;
}

1;
