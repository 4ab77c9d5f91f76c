package Idadmin::Test::RandomScript::Samba;
# Random changes of a real Active Directory (Samba), by LDIF. It takes links along itself, refuses members that do not exist, and knows primary groups.
use strict;
use warnings;
use utf8;
use Idadmin::Test::Mirror ();
use Idadmin::Test::RandomScript::Ldap ();
use Idadmin::Test::Samba ();

our @ISA = ('Idadmin::Test::RandomScript::Ldap');
BEGIN { *line = \&Idadmin::Test::RandomScript::Ldap::line; *dn = \&Idadmin::Test::RandomScript::Ldap::dn; *escaped = \&Idadmin::Test::RandomScript::Ldap::escaped }

my $people = $Idadmin::Test::Samba::people;
my $groups = $Idadmin::Test::Samba::groups;
my $outside = $Idadmin::Test::Samba::services;    # of userBase and groupBase
my $everyone = "CN=Domain Users,CN=Users,$Idadmin::Test::Samba::suffix";
my @words = ('Åsa', 'Łukasz', 'Zoë', "O'Neil", 'Ек', '李', 'Smith, Jr.', 'A+B', 'de la "Cruz"', '#1', 'Ek', 'Berg', 'Straße', 'back\\slash');

sub new {
    my ($class, $samba) = @_;
    my $self = bless { samba => $samba, ldif => '', number => 0, users => [], groups => [], ous => [], gone => [], gone_groups => [] }, $class;
    push @{ $self->{users} }, map { my $user = $samba->user($_->[0]); { rdn => $user->{dn} =~ s/,OU=People.*//sr, parent => { dn => $people } } }
        grep { $_->[0] !~ /eva\.berg/ && $_->[1] =~ /^[A-Z][a-z]+\z/ && $_->[2] =~ /^[A-Z][a-z]+\z/ } @Idadmin::Test::People::people;
    push @{ $self->{groups} }, map { { rdn => "CN=$_", parent => { dn => $groups }, sam => $_, members => [] } } 'All staff', 'Sales team', 'Engineering', 'Finance';
    $self->_ou($_, $people) for qw(north south);
    $self->_ou('teams', $groups);
    $self->carry_out;
    return $self;
}

sub _attributes {
    my ($self, $script, $n) = @_;
    my %of = (
        sn => [$script->one_of(@words)], givenName => [$script->one_of(@words)], displayName => [$script->one_of(@words) . " $n"], title => ['Title ' . $script->number(20)],
        department => [$script->one_of(qw(Sales Finance Engineering People Bulk))], company => ["Company $n"], l => [$script->one_of('Göteborg', 'Oslo', 'Malmö')], c => [$script->one_of(qw(SE NO FI))],
        physicalDeliveryOfficeName => ['Office ' . $script->number(9)], employeeID => [$script->number(100000)], mail => ["person.$n\@$Idadmin::Test::Samba::domain"],
        proxyAddresses => ["SMTP:person.$n\@$Idadmin::Test::Samba::domain", map {"smtp:person.$n.$_\@Alias.$Idadmin::Test::Samba::domain"} 1 .. 1 + $script->number(3)],
        userPrincipalName => ["person.$n\@$Idadmin::Test::Samba::domain"],
    );
    for my $name (sort keys %of) { delete $of{$name} if $script->chance($name =~ /^(?:mail|userPrincipalName)$/ ? 0.05 : 0.3) }
    return \%of;
}

sub _user_add {
    my ($self, $script, $user) = @_;
    my $n = ++$self->{number};
    $user //= { rdn => 'CN=' . escaped("u$n" . ($script->chance(0.3) ? ' ' . $script->one_of(@words) : '')), parent => $self->_place($script, $people) };
    my $boss = $script->chance(0.6) && $script->one_of(@{ $self->{users} });
    push @{ $self->{users} }, $user;
    return $self->say_it($user, 'add', "objectClass: user\n", "sAMAccountName: user$n\n", Idadmin::Test::RandomScript::Ldap::_lines($self->_attributes($script, $n)),
        'userAccountControl: ' . ($script->chance(0.1) ? 514 : 512) . "\n", ($boss ? line(manager => dn($boss)) : ()));
}

sub _member { my ($self, $script) = @_; return $script->one_of($script->chance(0.15) ? @{ $self->{groups} } : @{ $self->{users} }) }

sub changes {
    my ($self) = @_;
    my ($users, $list) = @$self{qw(users groups)};
    my $user  = sub { $_[0]->one_of(@$users) };
    my $group = sub { $_[0]->one_of(@$list) };
    my $drop  = \&Idadmin::Test::RandomScript::Ldap::_drop;
    return (
        ['add', 14, sub { $self->_user_add($_[0]) }],
        ['change', 20, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            my $of = $self->_attributes($script, ++$self->{number});
            $of->{userPrincipalName} //= ["renamed.$self->{number}\@$Idadmin::Test::Samba::domain"];    # may not be taken away
            my @names = grep { $script->chance(0.4) } qw(displayName title department company l c physicalDeliveryOfficeName employeeID mail givenName sn proxyAddresses userPrincipalName) or return 0;
            return $self->say_it($one, 'modify', map { ("replace: $_\n", Idadmin::Test::RandomScript::Ldap::_lines({ $_ => $of->{$_} // [] }), "-\n") } @names);
        }],
        ['manager', 8, sub {
            my ($script) = @_;
            my ($one, $boss) = ($user->($script), $script->chance(0.8) ? $self->_member($script) : undef);
            return $one ? $self->say_it($one, 'modify', "replace: manager\n", ($boss ? line(manager => dn($boss)) : ()), "-\n") : 0;
        }],
        ['disable or enable', 5, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            return $self->say_it($one, 'modify', "replace: userAccountControl\n", 'userAccountControl: ' . ($script->chance(0.5) ? 514 : 512) . "\n-\n");
        }],
        ['delete', 9, sub { my ($script) = @_; return 0 if @$users < 15; $self->say_it($drop->($users, $user->($script)), 'delete') }],
        ['rename', 5, sub { my ($script) = @_; my $one = $user->($script) or return 0; $self->_rename($one, 'CN=' . escaped('r' . ++$self->{number} . ($script->chance(0.3) ? $script->one_of(@words) : ''))) }],
        ['move', 5, sub { my ($script) = @_; my $one = $user->($script) or return 0; $self->_rename($one, $one->{rdn}, $self->_place($script, $people)) }],
        ['move out of sight', 2, sub { my ($script) = @_; return 0 if @$users < 15; my $one = $drop->($users, $user->($script)); push @{ $self->{gone} }, $one; $self->_rename($one, $one->{rdn}, { dn => $outside }) }],
        ['change out of sight', 2, sub {
            my ($script) = @_;
            my $one = $script->one_of(@{ $self->{gone} }) or return 0;
            return $self->_rename($one, 'CN=hidden ' . ++$self->{number}) if $script->chance(0.4);
            my $team = $group->($script);
            return $self->say_it($team, 'modify', ($script->chance(0.7) ? 'add' : 'delete') . ": member\n", line(member => dn($one)), "-\n");
        }],
        ['move back', 2, sub { my ($script) = @_; my $one = shift @{ $self->{gone} } or return 0; push @$users, $one; $self->_rename($one, $one->{rdn}, $self->_place($script, $people)) }],
        ['swap two names', 2, sub {
            my ($script) = @_;
            my ($one, $two) = ($user->($script), $user->($script));
            return 0 if !$one || $one == $two;
            my ($rdn, $parent) = @$one{qw(rdn parent)};
            my ($new, $place) = @$two{qw(rdn parent)};
            $self->_rename($one, 'CN=swap' . ++$self->{number});
            $self->_rename($two, $rdn, $parent);
            return $self->_rename($one, $new, $place);
        }],
        ['delete and add anew', 2, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            $self->say_it($drop->($users, $one), 'delete');
            return $self->_user_add($script, { rdn => $one->{rdn}, parent => $one->{parent} });
        }],
        ['group', 4, sub {
            my ($script) = @_;
            my $n = ++$self->{number};
            my $new = { rdn => 'CN=' . escaped("Group $n " . $script->one_of(@words)), parent => $self->_place($script, $groups), sam => "group$n", members => [] };
            my %members = map { (dn($_) => $_) } grep {$_} map { $self->_member($script) } 1 .. $script->number(30);
            $new->{members} = [values %members];
            # Universal: takes groups of every kind.
            $self->say_it($new, 'add', "objectClass: group\n", "sAMAccountName: group$n\n", 'groupType: ' . ($script->chance(0.2) ? 8 : -2147483640) . "\n",
                ($script->chance(0.4) ? line(description => $script->one_of(@words)) : ()), map { line(member => $_) } sort keys %members);
            push @$list, $new;
            return 1;
        }],
        ['group deleted', 2, sub { my ($script) = @_; return 0 if @$list < 4; $self->say_it($drop->($list, $group->($script)), 'delete') }],
        ['group renamed or moved', 2, sub { my ($script) = @_; my $one = $group->($script) or return 0; $self->_rename($one, $script->chance(0.5) ? $one->{rdn} : 'CN=Renamed ' . ++$self->{number}, $self->_place($script, $groups)) }],
        ['group moved out of sight', 1, sub { my ($script) = @_; return 0 if @$list < 6; my $one = $drop->($list, $group->($script)); push @{ $self->{gone_groups} }, $one; $self->_rename($one, $one->{rdn}, { dn => $outside }) }],
        ['group moved back', 1, sub { my ($script) = @_; my $one = shift @{ $self->{gone_groups} } or return 0; push @$list, $one; $self->_rename($one, $one->{rdn}, $self->_place($script, $groups)) }],
        ['group described', 2, sub { my ($script) = @_; my $one = $group->($script) or return 0; $self->say_it($one, 'modify', "replace: description\n", ($script->chance(0.7) ? line(description => $script->one_of(@words) . ++$self->{number}) : ()), "-\n") }],
        ['member added', 16, sub {
            my ($script) = @_;
            my ($one, $member) = ($group->($script), $self->_member($script));
            return 0 if !$one || !$member || $one == $member || grep { $_ == $member } @{ $one->{members} };
            push @{ $one->{members} }, $member;
            return $self->say_it($one, 'modify', "add: member\n", line(member => dn($member)), "-\n");
        }],
        ['member removed', 12, sub {
            my ($script) = @_;
            my $one = $group->($script) or return 0;
            my $member = $script->one_of(@{ $one->{members} }) or return 0;
            $drop->($one->{members}, $member);
            return $self->say_it($one, 'modify', "delete: member\n", line(member => dn($member)), "-\n");
        }],
        ['primary group', 5, sub {
            my ($script) = @_;
            my ($one, $to) = ($user->($script), $script->one_of({ dn => $everyone, rid => 513, members => [] }, grep { $_->{rid} } @$list));
            return 0 if !$one;
            if ($to->{rid} != 513 && !grep { $_ == $one } @{ $to->{members} }) {
                push @{ $to->{members} }, $one;
                $self->say_it($to, 'modify', "add: member\n", line(member => dn($one)), "-\n");
            }
            return $self->say_it($one, 'modify', "replace: primaryGroupID\n", "primaryGroupID: $to->{rid}\n", "-\n");
        }],
        ['container renamed', 1, sub { my ($script) = @_; my $ou = $script->one_of(@{ $self->{ous} }); $self->_rename($ou, 'OU=place ' . ++$self->{number}) }],
    );
}

# Refusals that a random script meets: a value or an entry that is there already or no more, the primary group of somebody.
my %usual = map { ($_ => 1) } 16, 20, 32, 53, 68;

sub carry_out {
    my ($self) = @_;
    my $ldif = $self->{ldif};
    $self->{ldif} = '';
    my $result = $self->{samba}->client('ldapmodify', ['-c'], stdin => $ldif);
    my @codes = $result->{err} =~ /^ldap_\w+: .* \((-?\d+)\)$/mg;
    if (my @odd = grep { !$usual{$_} } @codes) { die "ldapmodify: codes @odd\n$result->{err}" }
    my %rid = map { $_->{grouptype}[0] < 0 ? ($_->{samaccountname}[0] => unpack 'V', substr $_->{objectsid}[0], -4) : () } $self->{samba}->search('(objectClass=group)', base => $groups);
    $_->{rid} = $rid{ $_->{sam} } for @{ $self->{groups} };
    return scalar @codes;
}

sub truth { my ($self) = @_; return Idadmin::Test::Mirror::ad_truth($self->{samba}) }

sub restart { my ($self) = @_; return $self->{samba}->restart }

1;
