package Cloud::Places;
# The organization and its domains.
use strict;
use warnings;
use Cloud::Lists;
use Mojo::JSON;

sub organization {
    my ($cloud, $request) = @_;
    my @domains = map { { name => $_, isDefault => $_ eq $cloud->{domains}[0]
        ? Mojo::JSON->true : Mojo::JSON->false, isInitial => Mojo::JSON->false, type => 'Managed',
        capabilities => 'Email' } } @{ $cloud->{domains} };
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#organization",
        value => [_selected($request, { id => $cloud->{tenant}, displayName => 'Acme AB',
        countryLetterCode => 'SE', createdDateTime => '2020-01-01T00:00:00Z',
        preferredLanguage => 'sv', tenantType => 'AAD', onPremisesSyncEnabled => undef,
        verifiedDomains => \@domains })] });
}

sub domains {
    my ($cloud, $request) = @_;
    my @value = map {
        _selected($request, { id => $_, authenticationType => 'Managed',
            isAdminManaged => Mojo::JSON->true, isDefault => $_ eq $cloud->{domains}[0]
            ? Mojo::JSON->true : Mojo::JSON->false,
            isInitial => Mojo::JSON->false, isRoot => Mojo::JSON->true,
            isVerified => Mojo::JSON->true, supportedServices => ['Email'] })
    } @{ $cloud->{domains} };
    return answer_json({ '@odata.context' => "$request->{root}/\$metadata#domains",
        value => \@value });
}

sub _selected {
    my ($request, $row) = @_;
    my $select = $request->{query}{'$select'} // return $row;
    my %names = map { $_ => 1 } split(/,/, $select), 'id';
    return { map { ($_ => $row->{$_}) } grep { $names{$_} } keys %$row };
}

1;
