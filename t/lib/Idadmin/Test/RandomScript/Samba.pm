package Idadmin::Test::RandomScript::Samba;
# Random changes of a real Active Directory (Samba). It updates links itself, refuses members that
# do not exist, and has primary groups.
use strict;
use warnings;
use utf8;
use Idadmin::Test::Mirror ();
use Idadmin::Test::RandomScript::OnPremises qw(dn line);
use Idadmin::Test::Samba ();

our @ISA = ('Idadmin::Test::RandomScript::OnPremises');

my $people = $Idadmin::Test::Samba::people;
my $groups = $Idadmin::Test::Samba::groups;
my $domain = $Idadmin::Test::Samba::domain;
my $everyone = "CN=Domain Users,CN=Users,$Idadmin::Test::Samba::suffix";
my @words = @Idadmin::Test::RandomScript::OnPremises::words;

sub new {
    my ($class, $samba) = @_;
    my $self = $class->SUPER::new(
        server => $samba, user_rdn => 'CN', group_rdn => 'CN', ou_rdn => 'OU', people => $people,
            groups_base => $groups, outside => $Idadmin::Test::Samba::services,
        # a value or an entry that exists already or no longer, the primary group of a person
        usual => [16, 20, 32, 53, 68],
        changeable => [qw(displayName title department company l c physicalDeliveryOfficeName
            employeeID mail givenName sn proxyAddresses userPrincipalName)],
        users => [map { my $user = $samba->user($_->[0]);
        { rdn => $user->{dn} =~ s/,OU=People.*//sr, parent => { dn => $people } } }
                grep { $_->[0] !~ /eva\.berg/ && $_->[1] =~ /^[A-Z][a-z]+\z/
                    && $_->[2] =~ /^[A-Z][a-z]+\z/ } @Idadmin::Test::People::people],
        groups => [map { { rdn => "CN=$_", parent => { dn => $groups }, sam => $_,
        members => [] } } 'All staff', 'Sales team', 'Engineering', 'Finance'],
    );
    $self->carry_out;
    return $self;
}

sub attributes {
    my ($self, $script, $n) = @_;
    my %of = (
        sn => [$script->one_of(@words)], givenName => [$script->one_of(@words)],
            displayName => [$script->one_of(@words) . " $n"],
            title => ['Title ' . $script->number(20)],
        department => [$script->one_of(qw(Sales Finance Engineering People Bulk))],
        company => ["Company $n"], l => [$script->one_of('Göteborg', 'Oslo', 'Malmö')],
        c => [$script->one_of(qw(SE NO FI))],
        physicalDeliveryOfficeName => ['Office ' . $script->number(9)],
        employeeID => [$script->number(100000)], mail => ["person.$n\@$domain"],
        proxyAddresses => ["SMTP:person.$n\@$domain",
        map {"smtp:person.$n.$_\@Alias.$domain"} 1 .. 1 + $script->number(3)],
        userPrincipalName => ["person.$n\@$domain"],
    );
    for my $name (sort keys %of) { delete $of{$name}
        if $script->chance($name =~ /^(?:mail|userPrincipalName)$/ ? 0.05 : 0.3) }
    return \%of;
}

# A userPrincipalName may not be taken away.
sub changed_attributes { my ($self, $script, $n) = @_;
    return { userPrincipalName => ["renamed.$n\@$domain"], %{ $self->attributes($script, $n) } } }

sub user_lines {
    my ($self, $script, $n) = @_;
    return ("objectClass: user\n", "sAMAccountName: user$n\n",
        'userAccountControl: ' . ($script->chance(0.1) ? 514 : 512) . "\n");
}

# Universal ones take groups of every kind.
sub group_lines {
    my ($self, $script, $n, $group) = @_;
    $group->{sam} = "group$n";
    return ("objectClass: group\n", "sAMAccountName: $group->{sam}\n",
        'groupType: ' . ($script->chance(0.2) ? 8 : -2147483640) . "\n");
}

sub locked { my ($self, $script) = @_;
    return ("replace: userAccountControl\n",
    'userAccountControl: ' . ($script->chance(0.5) ? 514 : 512) . "\n-\n") }

sub more {
    my ($self) = @_;
    my ($users, $list) = @$self{qw(users groups)};
    return (
        ['change out of sight', 2, sub {
            my ($script) = @_;
            my $one = $script->one_of(@{ $self->{gone} }) or return 0;
            return $self->rename($one, 'CN=hidden ' . ++$self->{number}) if $script->chance(0.4);
            return $self->say_it($script->one_of(@$list), 'modify',
                ($script->chance(0.7) ? 'add' : 'delete') . ": member\n", line(member => dn($one)),
                "-\n");
        }],
        ['primary group', 5, sub {
            my ($script) = @_;
            my ($one, $to) = ($script->one_of(@$users),
                $script->one_of({ dn => $everyone, rid => 513, members => [] },
                grep { $_->{rid} } @$list));
            return 0 if !$one;
            if ($to->{rid} != 513 && !grep { $_ == $one } @{ $to->{members} }) {
                push @{ $to->{members} }, $one;
                $self->say_it($to, 'modify', "add: member\n", line(member => dn($one)), "-\n");
            }
            return $self->say_it($one, 'modify', "replace: primaryGroupID\n",
                "primaryGroupID: $to->{rid}\n", "-\n");
        }],
    );
}

sub carry_out {
    my ($self) = @_;
    my $refused = $self->SUPER::carry_out;
    my %rid = map { $_->{grouptype}[0] < 0
        ? ($_->{samaccountname}[0] => unpack 'V', substr $_->{objectsid}[0], -4)
        : () } $self->{server}->search('(objectClass=group)', base => $groups);
    $_->{rid} = $rid{ $_->{sam} } for @{ $self->{groups} };
    return $refused;
}

sub truth { my ($self) = @_; return Idadmin::Test::Mirror::ad_truth($self->{server}) }

sub restart { my ($self) = @_; return $self->{server}->restart }

1;
