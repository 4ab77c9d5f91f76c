package LdapPeer::Message;
# LDAP messages (RFC 4511): requests as data, answers as bytes.
use strict;
use warnings;
use LdapPeer::Ber qw(tlv octets integer enumerated boolean sequence set_of elements number);

our %oid = (
    paged    => '1.2.840.113556.1.4.319',    sync => '1.3.6.1.4.1.4203.1.9.1.1',
        state => '1.3.6.1.4.1.4203.1.9.1.2', done => '1.3.6.1.4.1.4203.1.9.1.3',
    info     => '1.3.6.1.4.1.4203.1.9.1.4',  dirsync => '1.2.840.113556.1.4.841',
    startTls => '1.3.6.1.4.1.1466.20037',
    notice   => '1.3.6.1.4.1.1466.20036',    password => '1.3.6.1.4.1.4203.1.11.1',
    whoami => '1.3.6.1.4.1.4203.1.11.3',
    postRead => '1.3.6.1.1.13.2',
    activeDirectory => '1.2.840.113556.1.4.800',
);
my %names = (0x60 => 'bind', 0x42 => 'unbind', 0x63 => 'search', 0x66 => 'modify', 0x68 => 'add',
    0x4a => 'delete', 0x6c => 'rename', 0x6e => 'compare',
    0x50 => 'abandon', 0x77 => 'extended');
my %answers = (bind => 0x61, search => 0x65, modify => 0x67, add => 0x69, delete => 0x6b,
    rename => 0x6d, compare => 0x6f, extended => 0x78);

# -- requests

sub _filter {
    my ($tag, $content) = @{ $_[0] };
    return { kind => { 0xa0 => 'and', 0xa1 => 'or' }->{$tag},
        of => [map { _filter($_) } elements($content)] } if $tag == 0xa0 || $tag == 0xa1;
    return { kind => 'not', of => [map { _filter($_) } elements($content)] } if $tag == 0xa2;
    return { kind => 'present', name => lc $content } if $tag == 0x87;
    my @parts = elements($content);
    return { kind => 'substrings', name => lc $parts[0][1],
        of => [map { [$_->[0] & 0x1f, $_->[1]] } elements($parts[1][1])] } if $tag == 0xa4;
    return { kind => { 0xa3 => '=', 0xa5 => '>=', 0xa6 => '<=', 0xa8 => '~=' }->{$tag},
        name => lc $parts[0][1], value => $parts[1][1] } if $tag != 0xa9;
    my %part = map { $_->[0] => $_->[1] } @parts;
    return { kind => 'rule', rule => $part{0x81}, name => lc $part{0x82}, value => $part{0x83} };
}

# As people write it; for scripts to match on.
sub filter_text {
    my ($f) = @_;
    return '(' . { and => '&', or => '|', not => '!' }->{ $f->{kind} }
        . join('', map { filter_text($_) } @{ $f->{of} }) . ')' if $f->{kind} =~ /^(?:and|or|not)$/;
    return "($f->{name}=*)"
        if $f->{kind} eq 'present';
    return "($f->{name}=" . join('*', '', (map { $_->[1] } @{ $f->{of} }), '') . ')'
        if $f->{kind} eq 'substrings';
    return "($f->{name}:$f->{rule}:=$f->{value})"
        if $f->{kind} eq 'rule';
    return "($f->{name}$f->{kind}$f->{value})";
}

sub _attributes { return map { my ($name, $values) = elements($_->[1]);
    [$name->[1], [map { $_->[1] } elements($values->[1])]] } elements($_[0]) }

# { id, name, controls => { oid => value }, ... } of the bytes of one message.
sub parse {
    my ($bytes) = @_;
    my ($whole) = elements($bytes);
    my ($id, $op, $controls) = elements($whole->[1]);
    my $name = $names{ $op->[0] } // 'unknown';
    my $request = { id => number($id->[1]), name => $name, tag => $op->[0], controls => {} };
    for my $control (map { [elements($_->[1])] } $controls ? elements($controls->[1]) : ()) {
        my ($value) = grep { $_->[0] == 0x04 } @$control[1 .. $#$control];
        $request->{controls}{ $control->[0][1] } = $value ? $value->[1] : '';
    }
    my @part = $name =~ /^(?:unbind|abandon|delete)$/ ? ([0, $op->[1]]) : elements($op->[1]);
    if ($name eq 'bind')        {
        @$request{qw(dn method password)} = ($part[1][1], $part[2][0], $part[2][1]) }
    elsif ($name eq 'delete')   { $request->{dn} = $part[0][1] }
    elsif ($name eq 'add')      {
        @$request{qw(dn attributes)} = ($part[0][1], [_attributes($part[1][1])]) }
    elsif ($name eq 'compare')  { my @pair = elements($part[1][1]);
        @$request{qw(dn attribute value)} = ($part[0][1], map { $_->[1] } @pair) }
    elsif ($name eq 'extended') {
        @$request{qw(oid value)} = ($part[0][1], $part[1] ? $part[1][1] : undef) }
    elsif ($name eq 'rename')   {
        @$request{qw(dn rdn superior)} = ($part[0][1], $part[1][1], $part[3] ? $part[3][1]
        : undef) }
    elsif ($name eq 'modify') {
        $request->{dn} = $part[0][1];
        $request->{changes} = [map { my ($op, $what) = elements($_->[1]);
            [number($op->[1]), (_attributes(tlv(0x30, $what->[1])))[0]] } elements($part[1][1])];
    }
    elsif ($name eq 'search') {
        @$request{qw(dn scope limit)} = ($part[0][1], number($part[1][1]), number($part[3][1]));
        $request->{filter}     = _filter($part[6]);
        $request->{attributes} = [map { $_->[1] } elements($part[7][1])];
    }
    return $request;
}

# -- answers

my %bare;    # by object identifier: "absent", "empty"

# From now on these (by name) have no value, or an empty one.
sub bare { my ($names) = @_; %bare = map { ($oid{$_} => $names->{$_}) } keys %{ $names // {} } }

sub _value {
    my ($tag, $oid, $value) = @_;
    my $how = $bare{$oid} // '';
    return $how eq 'absent' ? () : tlv($tag, $how eq 'empty' ? '' : $value // '');
}

# controls: [oid, value], ...
sub message {
    my ($id, $op, @controls) = @_;
    return sequence(integer($id), $op, @controls
        ? tlv(0xa0, map { sequence(octets($_->[0]), _value(0x04, @$_)) } @controls) : ());
}

# result($request, code, text, controls => [...], referral => [urls], name => oid, value => bytes)
sub result {
    my ($request, $code, $text, %more) = @_;
    return message($request->{id},
        tlv($answers{ $request->{name} } // 0x78, enumerated($code), octets($more{matched}),
        octets($text),
            ($more{referral} ? tlv(0xa3, map { octets($_) } @{ $more{referral} }) : ()),
            (defined $more{name} ? tlv(0x8a, $more{name}) : ()),
            (defined $more{value} ? tlv(0x8b, $more{value}) : ())),
        @{ $more{controls} // [] });
}

# attributes: [name, [values]], ...
sub entry {
    my ($request, $dn, $attributes, @controls) = @_;
    return message($request->{id}, tlv(0x64, _content($dn, $attributes)), @controls);
}

sub _content { my ($dn, $attributes) = @_;
    return (octets($dn), sequence(map {
    sequence(octets($_->[0]), set_of(map { octets($_) } @{ $_->[1] })) } @$attributes)) }

# The value of a post-read control.
sub shown { return sequence(_content(@_)) }

sub reference { my ($request, @urls) = @_;
    return message($request->{id}, tlv(0x73, map { octets($_) } @urls)) }
sub intermediate { my ($request, $oid, $value, $tag) = @_;
    return message($request->{id}, tlv(0x79, tlv($tag // 0x80, $oid), _value(0x81, $oid, $value))) }

# Notice of Disconnection (RFC 4511, 4.4.1), or an unsolicited notification of another name.
sub notice { my ($code, $text, $oid) = @_;
    return message(0, tlv(0x78, enumerated($code), octets(''), octets($text),
    tlv(0x8a, $oid // $oid{notice}))) }

1;
