package Idadmin::Test::RandomScript::Cloud;
# Random changes of the cloud directory's emulator, by its API and its control endpoint.
use strict;
use warnings;
use utf8;
use Idadmin::Test::Cloud ();
use Idadmin::Test::Mirror ();
use JSON::PP ();
use POSIX ();

my $domain = $Idadmin::Test::Cloud::domain;
my $sku = 'efccb6f7-5641-4e0e-bd10-b4976e1bf68e';
my @words = ('Åsa', 'Łukasz', 'Zoë', "O'Neil", 'Ек', '李', 'Smith, Jr.', 'de la "Cruz"', '😀', 'Ek');

sub new {
    my ($class, $cloud) = @_;
    my $self = bless { cloud => $cloud, number => 0, refused => 0, deleted => [] }, $class;
    $self->{users}  = [map { $_->{id} } grep { $_->{userPrincipalName} !~ /root\.admin|eva\.berg/ }
        Idadmin::Test::Mirror::all_of($cloud, '/users?$top=999&$select=id,userPrincipalName')];
    my @groups = Idadmin::Test::Mirror::all_of($cloud,
        '/groups?$top=999&$select=id,assignedLicenses');
    $self->{groups} = [map { $_->{id} } @groups];
    # licensed groups cannot be deleted
    $self->{kept} = { map { ($_->{id} => 1) } grep { @{ $_->{assignedLicenses} // [] } } @groups };
    return $self;
}

# One call of the API; what it refuses is counted.
sub _call {
    my ($self, $method, $target, @more) = @_;
    my $answer = $self->{cloud}->api($method, $target, @more);
    die "$method $target: $answer->{status} $answer->{body}\n" if $answer->{status} >= 500;
    $self->{refused}++ if $answer->{status} >= 400;
    return $answer->{status} < 300;
}

sub _person {
    my ($script, $n) = @_;
    my %properties = (
        displayName => $script->one_of(@words) . " $n", givenName => $script->one_of(@words),
            surname => $script->one_of(@words), department => 'Department ' . $script->number(9),
        jobTitle => 'Title ' . $script->number(20), city => $script->one_of('Göteborg', 'Oslo'),
        companyName => "Company $n", officeLocation => 'Office ' . $script->number(9),
        employeeId => '' . $script->number(99999),
        mail => "mail.$n\@$domain",
        proxyAddresses => ["SMTP:mail.$n\@$domain",
        map {"smtp:alias.$n.$_\@$domain"} 1 .. $script->number(3)],
    );
    for my $name (sort keys %properties) { delete $properties{$name}
        if $name ne 'displayName' && $script->chance(0.5) }
    return \%properties;
}

sub _out { my ($list, $one) = @_; @$list = grep { $_ ne $one } @$list; return $one }

sub changes {
    my ($self) = @_;
    my ($cloud, $users, $list) = @$self{qw(cloud users groups)};
    my $boolean = sub { $_[0] ? JSON::PP::true() : JSON::PP::false() };
    my $member = sub {
        my ($in) = @_;
        return sub {
            my ($script) = @_;
            my ($group, $one) = ($script->one_of(@$list), $script->chance(0.1)
                ? $script->one_of(@$list) : $script->one_of(@$users));
            return 0 if $group eq $one;
            $cloud->control(member => { group => $group, object => $one, in => $in });
            return 1;
        };
    };
    return (
        ['add', 14, sub {
            my ($script) = @_;
            my $n = ++$self->{number};
            my $upn = "random$n"
                . ($script->chance(0.1) ? "_other.example#EXT#\@$domain" : "\@$domain");
            $cloud->control(create =>
                [{ properties => { %{ _person($script, $n) }, userPrincipalName => $upn,
                accountEnabled => $boolean->($script->chance(0.8)),
                ($upn =~ /#EXT#/ ? (userType => 'Guest') : ()),
                createdDateTime => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime) },
                ($script->chance(0.3) ? (manager => $script->one_of(@$users)) : ()) }]);
            push @$users, $cloud->user($upn)->{id};
            return 1;
        }],
        ['change', 20, sub {
            my ($script) = @_;
            my $new = _person($script, ++$self->{number});
            $new->{$_} = undef
                for grep { !defined $new->{$_} && $script->chance(0.3) } qw(department jobTitle city
                companyName officeLocation);
            $cloud->control(change => { key => $script->one_of(@$users), properties => $new });
            return 1;
        }],
        ['rename', 5, sub { my ($script) = @_;
        $cloud->control(change => { key => $script->one_of(@$users),
        properties => { userPrincipalName => 'renamed' . ++$self->{number} . "\@$domain" } });
        return 1 }],
        ['disable or enable', 6,
        sub { my ($script) = @_;
        $cloud->control(change => { key => $script->one_of(@$users),
        properties => { accountEnabled => $boolean->($script->chance(0.5)) } }); return 1 }],
        ['delete', 8, sub { my ($script) = @_; return 0
        if @$users < 15; my $one = $script->one_of(@$users); return 0
        if !$self->_call(DELETE => "/users/$one"); push @{ $self->{deleted} }, _out($users, $one);
        return 1 }],
        ['restore', 4, sub { my ($script) = @_;
        my $one = $script->one_of(@{ $self->{deleted} }) or return 0; _out($self->{deleted}, $one);
        push @$users, $one if $self->_call(POST => "/directory/deletedItems/$one/restore");
        return 1 }],
        ['manager', 8, sub { my ($script) = @_;
        my ($one, $boss) = ($script->one_of(@$users), $script->one_of(@$users)); return 0
        if $one eq $boss; $self->_call(PUT => "/users/$one/manager/\$ref",
        json => { '@odata.id' => $cloud->url . "/users/$boss" }) }],
        ['no manager', 3, sub { my ($script) = @_;
        $self->_call(DELETE => '/users/' . $script->one_of(@$users) . '/manager/$ref'); return 1 }],
        ['licence', 6, sub { my ($script) = @_;
        $self->_call(POST => '/users/' . $script->one_of(@$users) . '/assignLicense',
        json => { addLicenses => [{ skuId => $sku, disabledPlans => [] }],
        removeLicenses => [] }) }],
        ['no licence', 4, sub { my ($script) = @_;
        $self->_call(POST => '/users/' . $script->one_of(@$users) . '/assignLicense',
        json => { addLicenses => [], removeLicenses => [$sku] }); return 1 }],
        ['member added', 16, $member->(1)],
        ['member removed', 10, $member->(0)],
        ['group', 3, sub {
            my ($script) = @_;
            my $name = 'Random group ' . ++$self->{number};
            $cloud->control(create =>
                [{ type => 'group',
                properties => { displayName => $name, securityEnabled => JSON::PP::true(),
                mailEnabled => JSON::PP::false(), groupTypes => [],
                description => $script->one_of(@words) },
                members => [map { $script->one_of(@$users) } 1 .. $script->number(20)] }]);
            push @$list, $cloud->group($name)->{id};
            return 1;
        }],
        ['group renamed', 3, sub { my ($script) = @_;
        $cloud->control(change => { key => $script->one_of(@$list),
        properties => { displayName => 'Renamed ' . ++$self->{number},
        description => $script->one_of(undef, @words) } }); return 1 }],
        ['group deleted', 1, sub { my ($script) = @_; my $one = $script->one_of(@$list); return 0
        if @$list < 5 || $self->{kept}{$one};
        $cloud->control(change => { key => _out($list, $one), properties => { _deleted => 1 } });
        return 1 }],
        ['tokens lost', 1, sub { my ($script) = @_; return 0
        if !$script->chance(0.2); $cloud->control(expireDeltaLinks => JSON::PP::true());
        return 1 }],
    );
}

sub carry_out { my ($self) = @_; my $refused = $self->{refused}; $self->{refused} = 0;
    return $refused }
sub restart   { my ($self) = @_; $self->{cloud}->restart; return }
sub truth     { my ($self) = @_; return Idadmin::Test::Mirror::cloud_truth($self->{cloud}) }

1;
