package Idadmin::Test::RandomScript::Ldap;
# Random changes of a real slapd. refint follows renames asynchronously; members and managers may be
# DNs without an entry; group members by rule.
use strict;
use warnings;
use utf8;
use Idadmin::Test ();
use Idadmin::Test::Mirror ();
use Idadmin::Test::RandomScript::OnPremises qw(dn line);
use Idadmin::Test::Slapd ();
use Time::HiRes ();

our @ISA = ('Idadmin::Test::RandomScript::OnPremises');

my $people = $Idadmin::Test::Slapd::people;
my $groups = $Idadmin::Test::Slapd::groups;
my $outside = "ou=archive,$Idadmin::Test::Slapd::suffix";
my @words = @Idadmin::Test::RandomScript::OnPremises::words;

sub new {
    my ($class, $slapd) = @_;
    $slapd->modify("dn: $outside\nchangetype: add\nobjectClass: organizationalUnit\nou: archive\n");
    return $class->SUPER::new(
        server => $slapd, user_rdn => 'uid', group_rdn => 'cn', ou_rdn => 'ou', people => $people,
            groups_base => $groups, outside => $outside,
        # Because the server follows renames in its own time: a value or an entry that is there
        # already or no more, the last member.
        usual => [16, 20, 32, 65, 68],
        changeable => [qw(displayName title departmentNumber ou o l physicalDeliveryOfficeName
        employeeNumber mail givenName)],
        users => [map { { rdn => "uid=$_->[0]", parent => { dn => $people } } }
        grep { $_->[0] !~ /eva\.berg/ } @Idadmin::Test::People::people],
        groups => [map { { rdn => "cn=$_", parent => { dn => $groups },
        members => [] } } 'All staff', 'Sales team', 'Engineering', 'Finance'],
        ghosts => [],
    );
}

sub attributes {
    my ($self, $script, $n) = @_;
    my %of = (
        sn => [$script->one_of(@words)], givenName => [$script->one_of(@words)],
            displayName => [$script->one_of(@words) . " $n"],
            title => ['Title ' . $script->number(20)],
        departmentNumber => [$script->one_of(qw(Sales Finance Engineering People Bulk))],
        ou => ['Unit ' . $script->number(5)], o => ["Company $n"],
        l => [$script->one_of('Göteborg', 'Oslo', 'Malmö')],
        physicalDeliveryOfficeName => ['Office ' . $script->number(9)],
        employeeNumber => [$script->number(100000)],
        mail => [map {"person.$n.$_\@" . ($_ ? 'Alias.' : '')
        . $Idadmin::Test::Slapd::domain} 0 .. $script->number(3)],
    );
    for my $name (sort keys %of) { delete $of{$name}
        if $name ne 'sn' && $script->chance($name eq 'mail' ? 0.05 : 0.3) }
    return \%of;
}

sub changed_attributes { goto &attributes }

sub user_lines {
    my ($self, $script, $n, $user) = @_;
    my $uid = Idadmin::Test::RandomScript::OnPremises::value_of($user->{rdn});
    return ("objectClass: inetOrgPerson\n", line(uid => $uid),
        line(cn => $script->one_of(@words) . " $n"),
        ($script->chance(0.1) ? "pwdAccountLockedTime: 000001010000Z\n" : ()));
}

sub group_lines {
    my ($self, $script, $n, $group) = @_;
    return ("objectClass: groupOfNames\n",
        line(cn => Idadmin::Test::RandomScript::OnPremises::value_of($group->{rdn})),
        ($script->chance(0.2) ? line(member => $Idadmin::Test::Slapd::filler) : ()));
}

sub locked { my ($self, $script) = @_;
    return ("replace: pwdAccountLockedTime\n",
    ($script->chance(0.5) ? "pwdAccountLockedTime: 000001010000Z\n" : ()), "-\n") }

# Possible members of a group: people, groups, and DNs without an entry yet.
sub member {
    my ($self, $script) = @_;
    return $self->SUPER::member($script) if !$script->chance(0.04);
    my $ghost = { rdn => 'uid=later' . ++$self->{number},
        parent => $self->place($script, $people) };
    push @{ $self->{ghosts} }, $ghost;
    return $ghost;
}

sub spelled { my ($self, $script, $dn) = @_;
    return $script->chance(0.1) ? $dn =~ s/^(\w+)=/\U$1\E=/r =~ s/,dc=/, DC=/gr : $dn }

sub more {
    my ($self) = @_;
    return (
        ['add who was named before', 3,
            sub { my $ghost = shift @{ $self->{ghosts} } or return 0;
            $self->add_user($_[0], $ghost) }],
        ['group by rule', 1, sub {
            my ($script) = @_;
            my $n = ++$self->{number};
            return $self->say_it("cn=Rule $n,$groups", 'add', "objectClass: groupOfURLs\n",
                "cn: Rule $n\n",
                "memberURL: ldap:///$people??sub?(departmentNumber="
                . $script->one_of(qw(Sales Finance Bulk)) . ")\n");
        }],
    );
}

sub truth {
    my ($self) = @_;
    my ($before, $now) = ('', undef);
    Idadmin::Test::within(sub {
        $now = Idadmin::Test::Mirror::ldap_truth($self->{server});
        my $text = join "\n", map {"$_ $now->{$_}"} sort keys %$now;
        return 1 if $text eq $before;
        $before = $text;
        Time::HiRes::sleep(0.2);    # refint works in a task of its own
        return 0;
    }) or die "the directory does not come to rest\n";
    return $now;
}

# Killed and ended in turn: in both cases slapd forgets deletions, but only in the second it knows
# that.
sub restart {
    my ($self) = @_;
    $self->{server}->stop($self->{restarts}++ % 2 ? 'TERM' : 'KILL');
    return $self->{server}->start;
}

1;
