package Cloud::Bulk;
# Many users and memberships without an object each: everything follows from a user's number n
# (0..N-1) and a group's stride. Member k of a group is user (offset + k * stride) mod N, so
# membership is tested by the inverse of the stride. Rows are rendered by code compiled once for
# each $select, and cached as text for each page.
use strict;
use warnings;
use Mojo::JSON qw(encode_json);
use Scalar::Util ();

use constant STRIDE => 7919;    # a prime: no page's members are neighbours in the list of users

# new(directory =>, users => N, memberships => M, domain =>, group => $size of the small groups)
sub new {
    my ($class, %how) = @_;
    my $self = bless { %how, count => $how{users}, groups => {}, of_group => [], stride => STRIDE,
        texts => {}, clean => {}, slices => {}, live => 0 }, $class;
    my $n = $self->{count};
    $self->{stride} += 2 while _gcd($self->{stride}, $n) != 1;
    $self->{inverse} = _inverse($self->{stride} % $n, $n);
    $self->_plan($how{memberships} // 0, $how{group} // 100);
    $how{directory}{bulk} = $self;
    Scalar::Util::weaken($self->{directory});
    return $self;
}

sub _gcd { my ($a, $b) = @_; ($a, $b) = ($b, $a % $b) while $b; return $a }

sub _inverse {
    my ($a, $n) = @_;
    return 0 if $n == 1;
    my ($old_r, $r, $old_s, $s) = ($a, $n, 1, 0);
    while ($r) {
        my $q = int($old_r / $r);
        ($old_r, $r) = ($r, $old_r - $q * $r);
        ($old_s, $s) = ($s, $old_s - $q * $s);
    }
    return $old_s % $n;
}

# One group of everybody, ten of a tenth each, the rest of them small, until M memberships are
# spent.
sub _plan {
    my ($self, $left, $small) = @_;
    my $n = $self->{count};
    my @sizes;
    push @sizes, $n if $left >= 2 * $n;
    push @sizes, (int($n / 10)) x 10 if $left >= 4 * $n;
    $left -= $_ for @sizes;
    while ($left > 0) {
        push @sizes, $left < $small ? $left : $small;
        $sizes[-1] = $n if $sizes[-1] > $n;
        $left -= $sizes[-1];
    }
    my $offset = 0;
    for my $g (0 .. $#sizes) {
        my $id = _guid('c', $g);
        $self->{groups}{$id} = [$sizes[$g], $offset % $n];
        $offset += $sizes[$g] * $self->{stride};
        $self->{directory}->add(group => { id => $id, displayName => sprintf('Bulk group %05d', $g),
            groupTypes => [], securityEnabled => Mojo::JSON->true,
            mailEnabled => Mojo::JSON->false, mailNickname => sprintf('bulkgroup%05d', $g),
            createdDateTime => '2024-01-01T00:00:00Z', proxyAddresses => [] }, at => 0, quiet => 1);
        $self->{clean}{$id} = 1;
    }
    $self->{memberships} = 0;
    $self->{memberships} += $_ for @sizes;
}

# Random-looking, yet computed: IDs of a real directory have no order either.
sub _guid { my ($kind, $n) = @_;
    return sprintf '%08x-%s000-4000-8000-%012x', ($n * 2654435761) & 0xffffffff, $kind, $n }
sub id { return _guid('b', $_[1]) }

sub number {
    my ($self, $id) = @_;
    my ($tail) = $id =~ /\A[0-9a-f]{8}-b000-4000-8000-([0-9a-f]{12})\z/ or return undef;
    my $n = hex $tail;
    return $n < $self->{count} && $self->id($n) eq $id ? $n : undef;
}

sub fields {
    my ($self, $n) = @_;
    my $number = sprintf '%06d', $n;
    return (
        id => $self->id($n), number => $number, department => sprintf('%02d', $n % 40),
            manager => $n ? $self->id(int($n / 10)) : '',
        enabled => $n % 50 ? 'true' : 'false', day => sprintf('%02d', $n % 28 + 1),
        month => sprintf('%02d', int($n / 28) % 12 + 1),
    );
}

# The user's properties with values out of %f, which compile() fills with marks instead.
sub properties {
    my ($self, %f) = @_;
    my $upn = "user$f{number}\@$self->{domain}";
    my $signed_in = "2026-$f{month}-$f{day}T08:00:00Z";
    my $sku = $self->{sku};
    return {
        id => $f{id}, userPrincipalName => $upn, mail => $upn, mailNickname => "user$f{number}",
            displayName => "User Number$f{number}", givenName => 'User',
        surname => "Number$f{number}", department => "Department $f{department}",
        jobTitle => 'Clerk', companyName => 'Acme AB', officeLocation => 'House 3',
        city => 'Stockholm', country => 'SE', usageLocation => 'SE', employeeId => "E$f{number}",
        accountEnabled => $f{enabled}, userType => 'Member',
        createdDateTime => "2023-$f{month}-$f{day}T09:00:00Z", proxyAddresses => ["SMTP:$upn"],
        businessPhones => [],
        _direct => { $sku ? ($sku => []) : () }, _manager => $f{manager} || undef,
        signInActivity => { lastSignInDateTime => $signed_in, lastSignInRequestId => $f{id},
        lastNonInteractiveSignInDateTime => $signed_in,
            lastNonInteractiveSignInRequestId => $f{id}, lastSuccessfulSignInDateTime => $signed_in,
            lastSuccessfulSignInRequestId => $f{id} },
    };
}

sub object {
    my ($self, $id) = @_;
    my $n = $self->number(lc $id) // return undef;
    my $p = $self->properties($self->fields($n));
    $p->{accountEnabled} = $p->{accountEnabled} eq 'true' ? Mojo::JSON->true : Mojo::JSON->false;
    return { id => lc $id, type => 'user', versions => [[0, $p]] };
}

# Once it is an object, the directory's index knows its names.
sub by_upn {
    my ($self, $upn) = @_;
    my ($number, $domain) = $upn =~ /\Auser(\d{6})\@(.+)\z/i or return undef;
    return undef if $number >= $self->{count} || lc $domain ne lc $self->{domain};
    my $id = $self->id($number);
    return $self->{directory}{objects}{$id} ? undef : $self->object($id);
}

sub touched { my ($self, $id) = @_; $self->{live}++; $self->{texts} = {} }
sub group_touched { my ($self, $id) = @_; $self->{slices} = {} if delete $self->{clean}{$id} }
sub is_clean { return $_[0]{clean}{ $_[1] } }

# -- memberships

sub base_count { my ($self, $group) = @_; my $g = $self->{groups}{$group}; return $g ? $g->[0] : 0 }
sub base_id { my ($self, $group, $k) = @_;
    return $self->id(($self->{groups}{$group}[1] + $k * $self->{stride}) % $self->{count}) }

sub base_member {
    my ($self, $group, $id) = @_;
    my $g = $self->{groups}{$group} or return 0;
    my $n = $self->number($id) // return 0;
    return (($n - $g->[1]) * $self->{inverse}) % $self->{count} < $g->[0];
}

sub base_groups_of {
    my ($self, $id) = @_;
    my $n = $self->number($id) // return ();
    my ($count, $inverse, $groups) = @$self{qw(count inverse groups)};
    return sort grep { my $g = $groups->{$_}; (($n - $g->[1]) * $inverse) % $count < $g->[0] }
        keys %$groups;
}

# -- text

# Code that makes the row text of user number n. $row->(\%properties) gives the hash that a page
# shows; marks in its JSON become expressions.
sub compile {
    my ($self, $row) = @_;
    my %marks = map { ($_ => "<<$_>>") } qw(id number department manager enabled day month);
    my $json = encode_json($row->($self->properties(%marks)));
    $json =~ s/\\u003[Cc]/</g;
    $json =~ s/\\u003[Ee]/>/g;
    $json =~ s/"<<enabled>>"/<<enabled>>/g;
    my $wanted = join '|', keys %marks;
    my @parts = split /<<($wanted)>>/, $json;
    my $id = sub {
        "sprintf('%08x-b000-4000-8000-%012x', ($_[0] * 2654435761) & 0xffffffff, $_[0])" };
    my %code = (
        id => '$id', number => '$number', department => q{sprintf('%02d', $n % 40)},
            manager => $id->('int($n / 10)'),
        enabled => q{($n % 50 ? 'true' : 'false')}, day => q{sprintf('%02d', $n % 28 + 1)},
        month => q{sprintf('%02d', int($n / 28) % 12 + 1)},
    );
    my @terms;
    for my $i (0 .. $#parts) {
        if ($i % 2) { push @terms, $code{ $parts[$i] }; next }
        my $text = $parts[$i];
        $text =~ s/([\\'])/\\$1/g;
        push @terms, "'$text'";
    }
    my $source = 'sub { my $n = $_[0]; my $id = ' . $id->('$n')
        . q{; my $number = sprintf('%06d', $n); } . join(' . ', @terms) . ' }';
    return eval $source || die "$source: $@";
}

# Rows from..to (numbers) for a select named $key, joined by commas; undef when one of them is an
# object by now.
sub rows {
    my ($self, $key, $row, $from, $to) = @_;
    my $kept = $self->{texts}{$key}{"$from-$to"};
    return $kept if defined $kept;
    if ($self->{live}) {
        my $objects = $self->{directory}{objects};
        for my $n ($from .. $to) { return undef if $objects->{ $self->id($n) } }
    }
    my $code = $self->{compiled}{$key} //= $self->compile($row);
    return $self->{texts}{$key}{"$from-$to"} = join ',', ($from ? () : $self->_first($row)),
        map { $code->($_) } ($from || 1) .. $to;
}

# Number 0 has no manager: the one row that is no instance of the pattern.
sub _first {
    my ($self, $row) = @_;
    my $p = $self->properties($self->fields(0));
    $p->{accountEnabled} = $p->{accountEnabled} eq 'true' ? Mojo::JSON->true : Mojo::JSON->false;
    return encode_json($row->($p));
}

# Entries k..to of members@delta of an untouched group.
sub slice {
    my ($self, $group, $k, $to) = @_;
    my ($offset, $stride, $count) = ($self->{groups}{$group}[1], $self->{stride}, $self->{count});
    return join ',', map {
        my $n = ($offset + $_ * $stride) % $count;
        sprintf '{"@odata.type":"#microsoft.graph.user","id":"%08x-b000-4000-8000-%012x"}',
            ($n * 2654435761) & 0xffffffff, $n
    } $k .. $to;
}

1;
