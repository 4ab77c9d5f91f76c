package Cloud::Schema;
# Properties of users and groups: what a plain read shows, what may be written and how long it may
# be.
use strict;
use warnings;
use Cloud::Error;
use Exporter 'import';
use Mojo::JSON ();

our @EXPORT = qw(check_user_body check_password user_property group_property user_defaults
    group_defaults nullable_list);

sub user_defaults {
    return qw(businessPhones displayName givenName jobTitle mail mobilePhone officeLocation
        preferredLanguage surname userPrincipalName id);
}

sub group_defaults {
    return qw(id deletedDateTime classification createdDateTime description displayName
        expirationDateTime groupTypes
        isAssignableToRole mail mailEnabled mailNickname membershipRule
        membershipRuleProcessingState onPremisesDomainName
        onPremisesLastSyncDateTime onPremisesNetBiosName onPremisesProvisioningErrors
        onPremisesSamAccountName
        onPremisesSecurityIdentifier onPremisesSyncEnabled preferredDataLocation preferredLanguage
        proxyAddresses renewedDateTime
        securityEnabled securityIdentifier theme uniqueName visibility);
}

# name -> [type, longest]; what POST and PATCH of a user take
my %writable = (
    accountEnabled => ['boolean'], businessPhones => ['list', 1], city => ['text', 128],
        companyName => ['text', 64],
    country => ['text', 128], department => ['text', 64], displayName => ['text', 256],
    employeeHireDate => ['text'],
    employeeId => ['text', 16], employeeLeaveDateTime => ['text'], employeeOrgData => ['object'],
    employeeType => ['text'],
    externalUserState => ['text'], faxNumber => ['text', 64], givenName => ['text', 64],
    identities => ['list'],
    isResourceAccount => ['boolean'], jobTitle => ['text', 128], mail => ['text', 256],
    mailNickname => ['text', 64],
    mobilePhone => ['text', 64], officeLocation => ['text', 128],
    onPremisesExtensionAttributes => ['object'],
    onPremisesImmutableId => ['text'], otherMails => ['list'], passwordPolicies => ['text'],
    passwordProfile => ['object'],
    postalCode => ['text', 40], preferredDataLocation => ['text'], preferredLanguage => ['text'],
    showInAddressList => ['boolean'],
    state => ['text', 128], streetAddress => ['text', 1024], surname => ['text', 64],
    usageLocation => ['text', 2],
    userPrincipalName => ['text', 113], userType => ['text'], 'manager@odata.bind' => ['text'],
    '@odata.type' => ['text'],
);

my %user = map { $_ => 1 } grep {!/\@/} keys %writable,
    qw(id deletedDateTime assignedLicenses createdDateTime creationType
        externalUserStateChangeDateTime lastPasswordChangeDateTime
    licenseAssignmentStates onPremisesDistinguishedName onPremisesDomainName
    onPremisesLastSyncDateTime onPremisesProvisioningErrors
    onPremisesSamAccountName onPremisesSecurityIdentifier onPremisesSyncEnabled
    onPremisesUserPrincipalName proxyAddresses
    securityIdentifier signInActivity signInSessionsValidFromDateTime manager);
my %group = map { $_ => 1 } group_defaults(),
    qw(assignedLabels assignedLicenses licenseProcessingState resourceProvisioningOptions
    isManagementRestricted members owners);
my %list = map {
    $_ =>
    1 } qw(businessPhones assignedLicenses identities licenseAssignmentStates
        onPremisesProvisioningErrors otherMails
    proxyAddresses assignedLabels groupTypes resourceProvisioningOptions);

sub user_property  { return $user{ $_[0] } }
sub group_property { return $group{ $_[0] } }
# false: a list that was never set is [] in a plain read, not null
sub nullable_list  { return !$list{ $_[0] } }

# Refuses what the API would refuse in a user body. Does not check other objects.
sub check_user_body {
    my ($body, $create) = @_;
    bad_request('A JSON object is expected.') if ref $body ne 'HASH';
    bad_request('No property was given.') if !$create && !%$body;
    for my $name (sort keys %$body) {
        my $rule = $writable{$name} or bad_request("Invalid property '$name'.");
        my $value = $body->{$name};
        if (!defined $value) {
            bad_request("Property '$name' is required.", target => $name)
                if $create
                && $name =~ /^(?:accountEnabled|displayName|mailNickname|userPrincipalName)$/;
            next;
        }
        my $kind = ref $value eq 'HASH' ? 'object' : ref $value eq 'ARRAY' ? 'list' : ref $value
            ? 'boolean' : 'text';
        bad_request("Cannot convert the value of property '$name' to the expected type.",
            target => $name) if $kind ne $rule->[0];
        next if $kind !~ /^(?:text|list)$/;
        my $size = $kind eq 'list' ? @$value : length $value;
        bad_request("The value of property '$name' exceeds the maximum length.", target => $name)
            if $rule->[1] && $size > $rule->[1];
        bad_request("Invalid value specified for property '$name' of resource 'User'.",
            target => $name) if $kind eq 'text' && $size == 0;
    }
    if ($create) {
        for my $name (qw(accountEnabled displayName mailNickname userPrincipalName
            passwordProfile)) {
            bad_request('A password must be specified to create a new user.',
                target => 'passwordProfile')
                if $name eq 'passwordProfile' && !exists $body->{$name};
            bad_request("Property '$name' is required.", target => $name) if !exists $body->{$name};
        }
    }
    bad_request("Property 'userPrincipalName' is invalid.", target => 'userPrincipalName')
        if defined $body->{userPrincipalName}
            && $body->{userPrincipalName} !~ /\A[A-Za-z0-9'._!#^~-]{1,64}\@[A-Za-z0-9.-]{1,48}\z/;
    bad_request("Invalid value specified for property 'mailNickname' of resource 'User'.",
        target => 'mailNickname')
        if defined $body->{mailNickname}
            && $body->{mailNickname} =~ /[\s\@()\\\[\]";:<>,]|[^\x21-\x7e]/;
    bad_request("Invalid value specified for property 'usageLocation' of resource 'User'.",
        target => 'usageLocation')
        if defined $body->{usageLocation} && $body->{usageLocation} !~ /\A[A-Z]{2}\z/;
    if (my $more = $body->{onPremisesExtensionAttributes}) {
        for my $name (keys %$more) {
            bad_request("Invalid property '$name'.")
                if $name !~ /\AextensionAttribute(?:[1-9]|1[0-5])\z/;
            bad_request("Invalid value of '$name'.", target => $name)
                if ref $more->{$name} || length($more->{$name} // '') > 1024;
        }
    }
}

# $banned: this one is on the list of common passwords whatever it looks like.
sub check_password {
    my ($profile, $upn, $banned) = @_;
    bad_request('A password must be specified.', target => 'passwordProfile')
        if !defined $profile->{password} || ref $profile->{password};
    for my $name (keys %$profile) {
        bad_request("Invalid property '$name'.")
            if $name !~ /\A(?:password|forceChangePasswordNextSignIn
                |forceChangePasswordNextSignInWithMfa)\z/x;
    }
    my $password = $profile->{password};
    my $kinds    = grep { $password =~ $_ } qr/[a-z]/, qr/[A-Z]/, qr/[0-9]/, qr/[^A-Za-z0-9]/;
    my ($local)  = split /\@/, lc($upn // '');
    return if !$banned && length $password >= 8 && length $password <= 256 && $kinds >= 3
        && !(length($local // '') && index(lc $password, $local) >= 0)
        && $password !~ /password|qwerty/i;
    my $message =
        'The specified password does not comply with password complexity requirements. Please '
        . 'provide a different password.';
    bad_request($message, details => [['InvalidPassword', 'passwordProfile', $message]]);
}

1;
