package Idadmin::Test::RandomScript::OnPremises;
# Random changes that every LDAP directory supports, as LDIF. The dump shows the server's result of
# them. A directory (Ldap.pm, Samba.pm) has:
#   server user_rdn group_rdn ou_rdn   the server's object; the attributes that name users, groups
#                                      and containers
#   people groups_base outside         bases; a place that the service does not look at
#   usual                              result codes with which a random script is refused
#   attributes($script, $n)            of a user: name => [values]; changed_attributes the same for
#                                      one who is there; changeable: names
#   user_lines group_lines             LDIF of a new one besides its attributes and members
#   locked($script)                    LDIF of a modification that disables or enables
#   member($script)                    somebody or something for a group
#   more                               further kinds of change
use strict;
use warnings;
use utf8;
use Encode ();
use Exporter 'import';
use MIME::Base64 ();

our @EXPORT_OK = qw(dn escaped line lines drop);
our @words = ('Åsa', 'Łukasz', 'Zoë', "O'Neil", 'Ек', '李', 'Smith, Jr.', 'A+B', 'de la "Cruz"',
    '#1', 'Ek', 'Berg', 'Straße', 'back\\slash');

# users and groups: { rdn, parent => { dn } or a container, and for groups members => [...] }
sub new {
    my ($class, %how) = @_;
    my $self = bless { ldif => '', number => 0, ous => [], gone => [], gone_groups => [], %how },
        $class;
    $self->_ou($_, $self->{people}) for qw(north south);
    $self->_ou('teams', $self->{groups_base});
    return $self;
}

# -- LDIF

sub dn { my ($one) = @_; return $one->{dn} // "$one->{rdn}," . dn($one->{parent}) }

sub escaped { my ($text) = @_; $text =~ s/([,+"\\<>;=])/\\$1/g; $text =~ s/^([# ])/\\$1/;
    $text =~ s/ $/\\ /; return $text }

sub line {
    my ($name, $value) = @_;
    return "${name}:: " . MIME::Base64::encode_base64(Encode::encode_utf8($value), '') . "\n";
}

sub lines { my ($of) = @_; return map { my $name = $_; map { line($name => $_) } @{ $of->{$name} } }
    sort keys %$of }

# The value that an RDN of ours names.
sub value_of { my ($rdn) = @_; return $rdn =~ s/^\w+=//sr =~ s/\\(.)/$1/gr }

sub say_it { my ($self, $one, $type, @lines) = @_;
    $self->{ldif} .= line(dn => ref $one ? dn($one) : $one) . "changetype: $type\n"
    . join('', @lines) . "\n"; return 1 }

# How the directory's people write a DN.
sub spelled { my ($self, $script, $dn) = @_; return $dn }

sub carry_out {
    my ($self) = @_;
    my $ldif = $self->{ldif};
    $self->{ldif} = '';
    my $result = $self->{server}->client('ldapmodify', ['-c'], stdin => $ldif);
    my @codes = $result->{err} =~ /^ldap_\w+: .* \((-?\d+)\)$/mg;
    if (my @odd = grep { my $code = $_; !grep { $_ == $code } @{ $self->{usual} } } @codes) {
        die "ldapmodify: codes @odd\n$result->{err}" }
    return scalar @codes;
}

# -- changes

sub drop { my ($list, $one) = @_; @$list = grep { $_ != $one } @$list; return $one }

sub _ou {
    my ($self, $name, $base) = @_;
    my $ou = { rdn => "$self->{ou_rdn}=$name", parent => { dn => $base }, of => $base };
    push @{ $self->{ous} }, $ou;
    return $self->say_it($ou, 'add', "objectClass: organizationalUnit\n", line(ou => $name));
}

sub place { my ($self, $script, $base) = @_;
    return $script->one_of({ dn => $base }, { dn => $base },
    grep { $_->{of} eq $base } @{ $self->{ous} }) }

sub add_user {
    my ($self, $script, $user) = @_;
    my $n = ++$self->{number};
    $user //= { rdn => "$self->{user_rdn}="
        . escaped("u$n" . ($script->chance(0.3) ? ' ' . $script->one_of(@words) : '')),
        parent => $self->place($script, $self->{people}) };
    my $boss = $script->chance(0.6) && $script->one_of(@{ $self->{users} });
    push @{ $self->{users} }, $user;
    return $self->say_it($user, 'add', $self->user_lines($script, $n, $user),
        lines($self->attributes($script, $n)), ($boss ? line(manager => dn($boss)) : ()));
}

sub member { my ($self, $script) = @_;
    return $script->one_of($script->chance(0.15) ? @{ $self->{groups} } : @{ $self->{users} }) }

# Renames or moves: its new RDN and parent. The server follows with members and managers.
sub rename {
    my ($self, $one, $rdn, $parent) = @_;
    $self->say_it($one, 'modrdn', line(newrdn => $rdn), "deleteoldrdn: 1\n", $parent
        ? line(newsuperior => dn($parent)) : ());
    $one->{rdn} = $rdn;
    $one->{parent} = $parent if $parent;
    return 1;
}

# Out of what the service sees, and back: from one list to the other.
sub _leaves {
    my ($self, $list, $gone, $least) = @_;
    return sub { my ($script) = @_; return 0
        if @$list < $least; my $one = drop($list, $script->one_of(@$list)); push @$gone, $one;
        return $self->rename($one, $one->{rdn}, { dn => $self->{outside} }) };
}

sub _returns {
    my ($self, $list, $gone, $base) = @_;
    return sub { my ($script) = @_; my $one = shift @$gone or return 0; push @$list, $one;
        return $self->rename($one, $one->{rdn}, $self->place($script, $base)) };
}

sub changes {
    my ($self) = @_;
    my ($users, $list, $people, $groups, $uid,
        $cn) = @$self{qw(users groups people groups_base user_rdn group_rdn)};
    my $user  = sub { $_[0]->one_of(@$users) };
    my $group = sub { $_[0]->one_of(@$list) };
    return (
        ['add', 14, sub { $self->add_user($_[0]) }],
        ['change', 20, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            my $of = $self->changed_attributes($script, ++$self->{number});
            my @names = grep { $script->chance(0.4) } @{ $self->{changeable} } or return 0;
            return $self->say_it($one, 'modify',
                map { ("replace: $_\n", lines({ $_ => $of->{$_} // [] }), "-\n") } @names);
        }],
        ['manager', 8, sub {
            my ($script) = @_;
            my ($one, $boss) = ($user->($script), $script->chance(0.8) ? $self->member($script)
                : undef);
            return $one ? $self->say_it($one, 'modify', "replace: manager\n",
                ($boss ? line(manager => $self->spelled($script, dn($boss))) : ()), "-\n") : 0;
        }],
        ['disable or enable', 5,
        sub { my ($script) = @_; my $one = $user->($script) or return 0;
        $self->say_it($one, 'modify', $self->locked($script)) }],
        ['delete', 9, sub { my ($script) = @_; return 0
        if @$users < 15; $self->say_it(drop($users, $user->($script)), 'delete') }],
        ['rename', 5, sub { my ($script) = @_; my $one = $user->($script) or return 0;
        $self->rename($one, "$uid="
        . escaped('r' . ++$self->{number}
        . ($script->chance(0.3) ? $script->one_of(@words) : ''))) }],
        ['move', 5, sub { my ($script) = @_; my $one = $user->($script) or return 0;
        $self->rename($one, $one->{rdn}, $self->place($script, $people)) }],
        ['move out of sight', 2, $self->_leaves($users, $self->{gone}, 15)],
        ['move back', 2, $self->_returns($users, $self->{gone}, $people)],
        ['swap two names', 2, sub {
            my ($script) = @_;
            my ($one, $two) = ($user->($script), $user->($script));
            return 0 if !$one || $one == $two;
            my ($rdn, $parent) = @$one{qw(rdn parent)};
            my ($new, $place) = @$two{qw(rdn parent)};
            $self->rename($one, "$uid=swap" . ++$self->{number});
            $self->rename($two, $rdn, $parent);
            return $self->rename($one, $new, $place);
        }],
        ['delete and add anew', 2, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            $self->say_it(drop($users, $one), 'delete');
            return $self->add_user($script, { rdn => $one->{rdn}, parent => $one->{parent} });
        }],
        ['group', 4, sub {
            my ($script) = @_;
            my $n = ++$self->{number};
            my $new = { rdn => "$cn=" . escaped("Group $n " . $script->one_of(@words)),
                parent => $self->place($script, $groups), members => [] };
            my %members = map { (dn($_) => $_) } grep {$_}
                map { $self->member($script) } 1 .. 1 + $script->number(30);
            $new->{members} = [map { $members{$_} } sort keys %members];
            $self->say_it($new, 'add', $self->group_lines($script, $n, $new),
                ($script->chance(0.4) ? line(description => $script->one_of(@words)) : ()),
                map { line(member => $_) } sort keys %members);
            push @$list, $new;
            return 1;
        }],
        ['group deleted', 2, sub { my ($script) = @_; return 0
        if @$list < 4; $self->say_it(drop($list, $group->($script)), 'delete') }],
        ['group renamed or moved', 2,
        sub { my ($script) = @_; my $one = $group->($script) or return 0;
        $self->rename($one, $script->chance(0.5) ? $one->{rdn} : "$cn=Renamed " . ++$self->{number},
        $self->place($script, $groups)) }],
        ['group moved out of sight', 1, $self->_leaves($list, $self->{gone_groups}, 6)],
        ['group moved back', 1, $self->_returns($list, $self->{gone_groups}, $groups)],
        ['group described', 2,
        sub { my ($script) = @_; my $one = $group->($script) or return 0;
        $self->say_it($one, 'modify', "replace: description\n",
        ($script->chance(0.7) ? line(description => $script->one_of(@words) . ++$self->{number})
        : ()), "-\n") }],
        ['member added', 16, sub {
            my ($script) = @_;
            my ($one, $member) = ($group->($script), $self->member($script));
            return 0 if !$one || !$member || $one == $member
                || grep { $_ == $member } @{ $one->{members} };
            push @{ $one->{members} }, $member;
            return $self->say_it($one, 'modify', "add: member\n",
                line(member => $self->spelled($script, dn($member))), "-\n");
        }],
        ['member removed', 12, sub {
            my ($script) = @_;
            my $one = $group->($script) or return 0;
            my $member = $script->one_of(@{ $one->{members} }) or return 0;
            drop($one->{members}, $member);
            return $self->say_it($one, 'modify', "delete: member\n", line(member => dn($member)),
                "-\n");
        }],
        ['container renamed', 1,
        sub { my ($script) = @_; my $ou = $script->one_of(@{ $self->{ous} });
        $self->rename($ou, "$self->{ou_rdn}=place " . ++$self->{number}) }],
        $self->more,
    );
}

1;
