package Idadmin::Test::RandomScript::Ldap;
# Random changes of a real slapd, by LDIF. What the server makes of them (refint follows renames in its own time) is its own affair: the dump tells.
use strict;
use warnings;
use utf8;
use Encode ();
use Idadmin::Test ();
use Idadmin::Test::Mirror ();
use Idadmin::Test::Slapd ();
use MIME::Base64 ();
use Time::HiRes ();

my $people = $Idadmin::Test::Slapd::people;
my $groups = $Idadmin::Test::Slapd::groups;
my $outside = "ou=archive,$Idadmin::Test::Slapd::suffix";    # of userBase
my @words = ('Åsa', 'Łukasz', 'Zoë', "O'Neil", 'Ек', '李', 'Smith, Jr.', 'A+B', 'de la "Cruz"', '#1', 'Ek', 'Berg', 'Straße', 'back\\slash');

sub new {
    my ($class, $slapd) = @_;
    my $self = bless { slapd => $slapd, ldif => '', number => 0, users => [], groups => [], ous => [], ghosts => [], gone => [] }, $class;
    push @{ $self->{users} }, map { { rdn => "uid=$_->[0]", parent => { dn => $people }, uid => $_->[0] } } grep { $_->[0] !~ /eva\.berg/ } @Idadmin::Test::People::people;
    push @{ $self->{groups} }, map { { rdn => "cn=$_", parent => { dn => $groups }, members => [] } } 'All staff', 'Sales team', 'Engineering', 'Finance';
    $slapd->modify("dn: $outside\nchangetype: add\nobjectClass: organizationalUnit\nou: archive\n");
    $self->_ou($_, $people) for qw(north south);
    $self->_ou('teams', $groups);
    return $self;
}

sub dn { my ($one) = @_; return $one->{dn} // "$one->{rdn}," . dn($one->{parent}) }

sub escaped { my ($text) = @_; $text =~ s/([,+"\\<>;=])/\\$1/g; $text =~ s/^([# ])/\\$1/; $text =~ s/ $/\\ /; return $text }

sub line {
    my ($name, $value) = @_;
    return "${name}:: " . MIME::Base64::encode_base64(Encode::encode_utf8($value), '') . "\n";
}

sub say_it { my ($self, $one, $type, @lines) = @_; $self->{ldif} .= line(dn => ref $one ? dn($one) : $one) . "changetype: $type\n" . join('', @lines) . "\n"; return 1 }

sub _ou {
    my ($self, $name, $base) = @_;
    my $ou = { rdn => "ou=$name", parent => { dn => $base }, of => $base };
    push @{ $self->{ous} }, $ou;
    return $self->say_it($ou, 'add', "objectClass: organizationalUnit\n", line(ou => $name));
}

sub _place { my ($self, $script, $base) = @_; return $script->one_of({ dn => $base }, { dn => $base }, grep { $_->{of} eq $base } @{ $self->{ous} }) }
sub _drop  { my ($list, $one) = @_; @$list = grep { $_ != $one } @$list; return $one }

sub _attributes {
    my ($self, $script, $n) = @_;
    my %of = (
        sn => [$script->one_of(@words)], givenName => [$script->one_of(@words)], displayName => [$script->one_of(@words) . " $n"], title => ['Title ' . $script->number(20)],
        departmentNumber => [$script->one_of(qw(Sales Finance Engineering People Bulk))], ou => ['Unit ' . $script->number(5)], o => ["Company $n"], l => [$script->one_of('Göteborg', 'Oslo', 'Malmö')],
        physicalDeliveryOfficeName => ['Office ' . $script->number(9)], employeeNumber => [$script->number(100000)], mail => [map {"person.$n.$_\@" . ($_ ? 'Alias.' : '') . $Idadmin::Test::Slapd::domain} 0 .. $script->number(3)],
    );
    for my $name (sort keys %of) { delete $of{$name} if $name ne 'sn' && $script->chance($name eq 'mail' ? 0.05 : 0.3) }
    return \%of;
}

sub _lines { my ($of) = @_; return map { my $name = $_; map { line($name => $_) } @{ $of->{$name} } } sort keys %$of }

sub _user_add {
    my ($self, $script, $user) = @_;
    my $n = ++$self->{number};
    $user //= { rdn => 'uid=' . escaped('u' . $n . ($script->chance(0.3) ? ' ' . $script->one_of(@words) : '')), parent => $self->_place($script, $people) };
    my ($uid) = $user->{rdn} =~ /^uid=(.*)$/s;
    $uid =~ s/\\(.)/$1/g;
    my $boss = $script->chance(0.6) && $script->one_of(@{ $self->{users} });
    my $of = $self->_attributes($script, $n);
    push @{ $self->{users} }, $user;
    return $self->say_it($user, 'add', "objectClass: inetOrgPerson\n", line(uid => $uid), line(cn => $script->one_of(@words) . " $n"), _lines($of), ($boss ? line(manager => dn($boss)) : ()),
        ($script->chance(0.1) ? "pwdAccountLockedTime: 000001010000Z\n" : ()));
}

# What a group may hold: people, groups, and DNs that nobody has yet.
sub _member {
    my ($self, $script) = @_;
    return $script->one_of(@{ $self->{groups} }) if $script->chance(0.1);
    if ($script->chance(0.04)) {
        my $ghost = { rdn => 'uid=later' . ++$self->{number}, parent => $self->_place($script, $people) };
        push @{ $self->{ghosts} }, $ghost;
        return $ghost;
    }
    return $script->one_of(@{ $self->{users} });
}

sub _spelled { my ($script, $dn) = @_; return $script->chance(0.1) ? $dn =~ s/^(\w+)=/\U$1\E=/r =~ s/,dc=/, DC=/gr : $dn }

# Renames or moves: its new RDN and parent. The server follows with members and managers.
sub _rename {
    my ($self, $one, $rdn, $parent) = @_;
    my @lines = (line(newrdn => $rdn), "deleteoldrdn: 1\n", $parent ? line(newsuperior => dn($parent)) : ());
    $self->say_it($one, 'modrdn', @lines);
    delete $one->{dn};
    $one->{rdn} = $rdn;
    $one->{parent} = $parent if $parent;
    return 1;
}

sub changes {
    my ($self) = @_;
    my $users = $self->{users};
    my $list  = $self->{groups};
    my $user  = sub { $_[0]->one_of(@$users) };
    my $group = sub { $_[0]->one_of(@$list) };
    return (
        ['add', 14, sub { $self->_user_add($_[0]) }],
        ['add who was named before', 3, sub { my $ghost = shift @{ $self->{ghosts} } or return 0; $self->_user_add($_[0], $ghost) }],
        ['change', 20, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            my $of = $self->_attributes($script, ++$self->{number});
            my @names = grep { $script->chance(0.4) } qw(displayName title departmentNumber ou o l physicalDeliveryOfficeName employeeNumber mail givenName) or return 0;
            return $self->say_it($one, 'modify', map { ("replace: $_\n", _lines({ $_ => $of->{$_} // [] }), "-\n") } @names);
        }],
        ['manager', 8, sub {
            my ($script) = @_;
            my ($one, $boss) = ($user->($script), $script->chance(0.8) ? $self->_member($script) : undef);
            return $one ? $self->say_it($one, 'modify', "replace: manager\n", ($boss ? line(manager => _spelled($script, dn($boss))) : ()), "-\n") : 0;
        }],
        ['disable or enable', 5, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            return $self->say_it($one, 'modify', "replace: pwdAccountLockedTime\n", ($script->chance(0.5) ? "pwdAccountLockedTime: 000001010000Z\n" : ()), "-\n");
        }],
        ['delete', 9, sub { my ($script) = @_; return 0 if @$users < 15; $self->say_it(_drop($users, $user->($script)), 'delete') }],
        ['rename', 5, sub { my ($script) = @_; my $one = $user->($script) or return 0; $self->_rename($one, 'uid=' . escaped('r' . ++$self->{number} . ($script->chance(0.3) ? $script->one_of(@words) : ''))) }],
        ['move', 5, sub { my ($script) = @_; my $one = $user->($script) or return 0; $self->_rename($one, $one->{rdn}, $self->_place($script, $people)) }],
        ['move out of sight', 2, sub { my ($script) = @_; return 0 if @$users < 15; my $one = _drop($users, $user->($script)); push @{ $self->{gone} }, $one; $self->_rename($one, $one->{rdn}, { dn => $outside }) }],
        ['move back', 2, sub { my ($script) = @_; my $one = shift @{ $self->{gone} } or return 0; push @$users, $one; $self->_rename($one, $one->{rdn}, $self->_place($script, $people)) }],
        ['swap two names', 2, sub {
            my ($script) = @_;
            my ($one, $two) = ($user->($script), $user->($script));
            return 0 if !$one || $one == $two;
            my ($rdn, $parent) = @$one{qw(rdn parent)};
            my ($new, $place) = @$two{qw(rdn parent)};
            $self->_rename($one, 'uid=swap' . ++$self->{number});
            $self->_rename($two, $rdn, $parent);
            return $self->_rename($one, $new, $place);
        }],
        ['delete and add anew', 2, sub {
            my ($script) = @_;
            my $one = $user->($script) or return 0;
            $self->say_it(_drop($users, $one), 'delete');
            return $self->_user_add($script, { rdn => $one->{rdn}, parent => $one->{parent} });
        }],
        ['group', 4, sub {
            my ($script) = @_;
            my $n = ++$self->{number};
            my $new = { rdn => 'cn=' . escaped("Group $n " . $script->one_of(@words)), parent => $self->_place($script, $groups), members => [] };
            my ($cn) = $new->{rdn} =~ /^cn=(.*)$/s;
            $cn =~ s/\\(.)/$1/g;
            my %members = map { (dn($_) => $_) } grep {$_} map { $self->_member($script) } 1 .. 1 + $script->number(30);
            $members{$Idadmin::Test::Slapd::filler} = 1 if $script->chance(0.2);
            $new->{members} = [grep {ref} map { $members{$_} } sort keys %members];
            $self->say_it($new, 'add', "objectClass: groupOfNames\n", line(cn => $cn), ($script->chance(0.4) ? line(description => $script->one_of(@words)) : ()), map { line(member => $_) } sort keys %members);
            push @$list, $new;
            return 1;
        }],
        ['group by rule', 1, sub {
            my ($script) = @_;
            my $n = ++$self->{number};
            return $self->say_it("cn=Rule $n,$groups", 'add', "objectClass: groupOfURLs\n", "cn: Rule $n\n", "memberURL: ldap:///$people??sub?(departmentNumber=" . $script->one_of(qw(Sales Finance Bulk)) . ")\n");
        }],
        ['group deleted', 2, sub { my ($script) = @_; return 0 if @$list < 4; $self->say_it(_drop($list, $group->($script)), 'delete') }],
        ['group renamed or moved', 2, sub { my ($script) = @_; my $one = $group->($script) or return 0; $self->_rename($one, $script->chance(0.5) ? $one->{rdn} : 'cn=Renamed ' . ++$self->{number}, $self->_place($script, $groups)) }],
        ['group described', 2, sub { my ($script) = @_; my $one = $group->($script) or return 0; $self->say_it($one, 'modify', "replace: description\n", ($script->chance(0.7) ? line(description => $script->one_of(@words) . ++$self->{number}) : ()), "-\n") }],
        ['member added', 16, sub {
            my ($script) = @_;
            my ($one, $member) = ($group->($script), $self->_member($script));
            return 0 if !$one || !$member || $one == $member || grep { $_ == $member } @{ $one->{members} };
            push @{ $one->{members} }, $member;
            return $self->say_it($one, 'modify', "add: member\n", line(member => _spelled($script, dn($member))), "-\n");
        }],
        ['member removed', 12, sub {
            my ($script) = @_;
            my $one = $group->($script) or return 0;
            my $member = $script->one_of(@{ $one->{members} }) or return 0;
            _drop($one->{members}, $member);
            return $self->say_it($one, 'modify', "delete: member\n", line(member => dn($member)), "-\n");
        }],
        ['container renamed', 1, sub { my ($script) = @_; my $ou = $script->one_of(@{ $self->{ous} }); $self->_rename($ou, 'ou=place ' . ++$self->{number}) }],
    );
}

# Refusals that a random script meets, because the server follows renames in its own time: a value or an entry that is there already or no more, the last member.
my %usual = map { ($_ => 1) } 16, 20, 32, 65, 68;

sub carry_out {
    my ($self) = @_;
    my $ldif = $self->{ldif};
    $self->{ldif} = '';
    my $result = $self->{slapd}->client('ldapmodify', ['-c'], stdin => $ldif);
    my @codes = $result->{err} =~ /^ldap_\w+: .* \((-?\d+)\)$/mg;
    if (my @odd = grep { !$usual{$_} } @codes) { die "ldapmodify: codes @odd\n$result->{err}" }
    return scalar @codes;
}

sub truth {
    my ($self) = @_;
    my ($before, $now) = ('', undef);
    Idadmin::Test::wait_until(20, sub {
        $now = Idadmin::Test::Mirror::ldap_truth($self->{slapd});
        my $text = join "\n", map {"$_ $now->{$_}"} sort keys %$now;
        return 1 if $text eq $before;
        $before = $text;
        Time::HiRes::sleep(0.2);    # refint works in a task of its own
        return 0;
    }) or die "the directory does not come to rest\n";
    return $now;
}

# Killed and ended in turn: in both cases slapd forgets deletions, but only in the second it knows that.
sub restart {
    my ($self) = @_;
    $self->{slapd}->stop($self->{restarts}++ % 2 ? 'TERM' : 'KILL');
    return $self->{slapd}->start;
}

1;
