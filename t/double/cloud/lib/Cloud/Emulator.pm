package Cloud::Emulator;
# The directory service as a function: a request (hash) in, an answer (hash) out. Authentication,
# limits, permissions, faults and counters around the handlers of the other files. Knows no sockets.
#   request: method, path (below the version root, still encoded), query_text, headers (lower case),
#   body (bytes), root, own_url
#   answer:  status, type, headers, body; fault => rule when the transport has to act it
use strict;
use warnings;
use Cloud::Batch;
use Cloud::Delta;
use Cloud::Directory;
use Cloud::Error;
use Cloud::Faults;
use Cloud::Groups;
use Cloud::Licenses;
use Cloud::Limits;
use Cloud::Lists;
use Cloud::Places;
use Cloud::Query ();
use Cloud::Token;
use Cloud::Users;
use Mojo::JSON qw(decode_json);

my @all_users   = qw(User.ReadWrite.All Directory.ReadWrite.All);
my @read_users  = (@all_users, qw(User.Read.All Directory.Read.All));
my @read_groups = qw(GroupMember.Read.All GroupMember.ReadWrite.All Group.Read.All
    Group.ReadWrite.All Directory.Read.All Directory.ReadWrite.All);
my @write_members = qw(GroupMember.ReadWrite.All Group.ReadWrite.All Directory.ReadWrite.All);

our @granted =
    qw(User.Read.All User.ReadWrite.All User.EnableDisableAccount.All ProfilePhoto.ReadWrite.All
        User.RevokeSessions.All GroupMember.Read.All
    Group.Read.All GroupMember.ReadWrite.All LicenseAssignment.ReadWrite.All
    LicenseAssignment.Read.All AuditLog.Read.All Domain.Read.All Organization.Read.All);

# method, path, cost in units, permissions (any of them), handler($cloud, $request, @keys)
my @routes = (
    [GET => '/users/delta', 1, \@read_users, \&Cloud::Delta::users],
    [GET => '/groups/delta', 1, \@read_groups, \&Cloud::Delta::groups],
    [GET => '/users', 2, \@read_users, \&Cloud::Lists::list_users],
    [POST => '/users', 1, \@all_users, \&Cloud::Users::create],
    [GET => '/users/$count', 1, \@read_users, sub { Cloud::Lists::count_of(@_, 'user') }],
    [GET => '/users/{user}', 1, \@read_users, \&Cloud::Users::read_one],
    [PATCH => '/users/{user}', 1, [@all_users, 'User.EnableDisableAccount.All'],
    \&Cloud::Users::update],
    [DELETE => '/users/{user}', 1, [@all_users, 'User.DeleteRestore.All'], \&Cloud::Users::remove],
    [GET => '/users/{user}/manager', 1, \@read_users, sub { Cloud::Users::manager(@_, 0) }],
    [GET => '/users/{user}/manager/$ref', 1, \@read_users, sub { Cloud::Users::manager(@_, 1) }],
    [PUT => '/users/{user}/manager/$ref', 1, \@all_users, \&Cloud::Users::set_manager],
    [DELETE => '/users/{user}/manager/$ref', 1, \@all_users, \&Cloud::Users::unset_manager],
    [GET => '/users/{user}/directReports', 1, \@read_users, \&Cloud::Users::reports],
    [GET => '/users/{user}/memberOf', 2, \@read_groups, sub { Cloud::Users::member_of(@_, 0) }],
    [GET => '/users/{user}/memberOf/microsoft.graph.group', 2, \@read_groups,
    sub { Cloud::Users::member_of(@_, 0, 'group') }],
    [GET => '/users/{user}/transitiveMemberOf', 2, \@read_groups,
    sub { Cloud::Users::member_of(@_, 1) }],
    [GET => '/users/{user}/transitiveMemberOf/microsoft.graph.group', 2, \@read_groups,
    sub { Cloud::Users::member_of(@_, 1, 'group') }],
    [GET => '/users/{user}/ownedObjects', 1, \@read_users, \&Cloud::Groups::owned_by],
    [GET => '/users/{user}/photo', 1, \@read_users, sub { Cloud::Users::photo(@_, 0) }],
    [GET => '/users/{user}/photo/$value', 1, \@read_users, sub { Cloud::Users::photo(@_, 1) }],
    [PUT => '/users/{user}/photo/$value', 1, [@all_users, 'ProfilePhoto.ReadWrite.All'],
    \&Cloud::Users::put_photo],
    [DELETE => '/users/{user}/photo/$value', 1, [@all_users, 'ProfilePhoto.ReadWrite.All'],
    \&Cloud::Users::delete_photo],
    [POST => '/users/{user}/revokeSignInSessions', 1, [@all_users, 'User.RevokeSessions.All'],
    \&Cloud::Users::revoke],
    [POST => '/users/{user}/assignLicense', 1, [@all_users, 'LicenseAssignment.ReadWrite.All'],
    \&Cloud::Licenses::assign],
    [GET => '/users/{user}/licenseDetails', 2, \@read_users, \&Cloud::Licenses::details],
    [POST => '/users/{user}/getMemberGroups', 2, \@read_groups,
    sub { Cloud::Users::member_ids(@_, 'groups') }],
    [POST => '/users/{user}/getMemberObjects', 2, \@read_groups,
    sub { Cloud::Users::member_ids(@_, 'objects') }],
    [POST => '/users/{user}/checkMemberGroups', 4, \@read_groups,
    sub { Cloud::Users::member_ids(@_, 'check') }],
    [GET => '/groups', 1, \@read_groups, \&Cloud::Lists::list_groups],
    [GET => '/groups/$count', 1, \@read_groups, sub { Cloud::Lists::count_of(@_, 'group') }],
    [GET => '/groups/{group}', 1, \@read_groups, \&Cloud::Groups::read_one],
    [PATCH => '/groups/{group}', 1, \@write_members, \&Cloud::Groups::update],
    [GET => '/groups/{group}/members', 3, \@read_groups, sub { Cloud::Groups::members(@_, 0) }],
    [GET => '/groups/{group}/members/microsoft.graph.user', 3, \@read_groups,
    sub { Cloud::Groups::members(@_, 0, 'user') }],
    [GET => '/groups/{group}/transitiveMembers', 5, \@read_groups,
    sub { Cloud::Groups::members(@_, 1) }],
    [GET => '/groups/{group}/transitiveMembers/microsoft.graph.user', 5, \@read_groups,
    sub { Cloud::Groups::members(@_, 1, 'user') }],
    [POST => '/groups/{group}/members/$ref', 1, \@write_members, \&Cloud::Groups::add_member],
    [DELETE => '/groups/{group}/members/{object}/$ref', 1, \@write_members,
    \&Cloud::Groups::remove_member],
    [DELETE => '/groups/{group}/members/{object}', 1, \@all_users, \&Cloud::Groups::remove_object],
    [GET => '/groups/{group}/owners', 1, \@read_groups, \&Cloud::Groups::owners],
    [GET => '/directory/deletedItems/microsoft.graph.user', 1, \@read_users,
    \&Cloud::Lists::list_deleted],
    [GET => '/directory/deletedItems/{object}', 1, \@read_users, \&Cloud::Users::deleted_one],
    [DELETE => '/directory/deletedItems/{object}', 1, [@all_users, 'User.DeleteRestore.All'],
    \&Cloud::Users::purge],
    [POST => '/directory/deletedItems/{object}/restore', 1, [@all_users, 'User.DeleteRestore.All'],
    \&Cloud::Users::restore],
    [POST => '/directoryObjects/getByIds', 3, \@read_users, \&Cloud::Groups::by_ids],
    [GET => '/subscribedSkus', 3,
    [qw(LicenseAssignment.Read.All LicenseAssignment.ReadWrite.All Organization.Read.All
    Directory.Read.All Directory.ReadWrite.All)], \&Cloud::Licenses::subscribed_skus],
    [GET => '/organization', 1,
    [qw(Organization.Read.All Directory.Read.All Directory.ReadWrite.All)],
    \&Cloud::Places::organization],
    [GET => '/domains', 1, [qw(Domain.Read.All Directory.Read.All Directory.ReadWrite.All)],
    \&Cloud::Places::domains],
    [POST => '/$batch', 0, undef, \&Cloud::Batch::run],
);
# The segments "delta" and "$count" are no keys.
my %by_method;
for my $route (@routes) {
    my $pattern = quotemeta $route->[1];
    $pattern =~ s{\\\{\w+\\\}}{((?!(?:delta|\\\$count|microsoft\\.graph\\.user)(?:/|\\z))[^/]+)}g;
    push @{ $by_method{ $route->[0] } }, [qr/\A$pattern\z/, @$route];
}

our %settings = (
    lag => {}, latencyMs => 0, signIn => 'ok', signInPage => 500, photoStatus => 200,
        photoNeedsMailbox => 0, revokeStatus => 200, tokenSeconds => 3599, tokenLives => undef,
    clockAhead => 0, deltaUsers => 200, deltaMembers => 200, deltaExpiry => 'resyncRequired',
    deltaReplay => 0, emptyEvery => 0, banPasswords => 0, privileged => 0,
);

# new(tenant =>, client =>, secret =>, certificates => [...], domains => [...], settings => {...})
sub new {
    my ($class, %how) = @_;
    my $directory = Cloud::Directory->new;
    my $self = bless {
        tenant => $how{tenant}, client => $how{client}, secret => $how{secret},
            domains => $how{domains}, directory => $directory,
        licenses => Cloud::Licenses->new($directory), faults => Cloud::Faults->new,
        limits => Cloud::Limits->new,
        token => Cloud::Token->new(certificates => $how{certificates}),
        settings => { %settings, %{ $how{settings} // {} } },
        permissions => { map { $_ => 1 } @granted }, page_generation => 0, delta_generation => 0,
        late_reads => 0, late_references => 0, pages => 0, secrets => {},
    }, $class;
    $self->reset_counters;
    return $self;
}

# What outlives a restart.
my @kept = qw(directory licenses settings permissions page_generation delta_generation counters);

sub kept    { my ($self) = @_;
    return { linkSecret => Cloud::Query::link_secret(), map { ($_ => $self->{$_}) } @kept } }
sub take_up { my ($self, $state) = @_; Cloud::Query::link_secret($state->{linkSecret});
    @$self{@kept} = @$state{@kept}; return }

sub reset_counters { my ($self) = @_;
    $self->{counters} = { requests => {}, sent429 => 0, createdByMarker => {}, created => 0,
    photos => 0, tokens => 0, usersDeleted => 0, deletedThroughGroup => 0 } }

# -- what handlers ask

# The instant that a late replica shows, or undef for the present. lag: { read, list, delta: ms;
# share: of the requests, 1 }
sub late {
    my ($self, $kind) = @_;
    my $lag = $self->{settings}{lag};
    my $ms = $lag->{$kind} || ($kind eq 'read' ? 0 : $lag->{read}) or return undef;
    my $share = $lag->{share} // 1;
    my $n = $self->{late_reads}++;
    return undef if int(($n + 1) * $share) == int($n * $share);
    return Cloud::Directory::now_ms() - $ms;
}

sub _find {
    my ($self, $key, $type) = @_;
    my $directory = $self->{directory};
    my $object = $type eq 'user' && $key =~ /\@/ ? $directory->by_upn($key)
        : $directory->object($key);
    my $p = $object && $object->{type} eq $type
        ? Cloud::Directory::visible($object, $self->late('read')) : undef;
    not_found($key) if !$p;
    return wantarray ? ($object, $p) : $object;
}

sub user  { my ($self, $request, $key) = @_; return $self->_find($key, 'user') }
sub group { my ($self, $request, $key) = @_; return $self->_find($key, 'group') }

# An object that a body refers to. One that a replica does not have yet is a 404 or a 400 by turns,
# as in the field.
sub reference {
    my ($self, $id) = @_;
    my $object = $id =~ /\@/ ? $self->{directory}->by_upn($id) : $self->{directory}->object($id);
    not_found($id) if !$object || !Cloud::Directory::visible($object);
    return $object if Cloud::Directory::visible($object, $self->late('read'));
    bad_request('Not a valid reference update.') if ++$self->{late_references} % 2;
    not_found($id);
}

sub body {
    my ($self, $request) = @_;
    my $body = eval { decode_json($request->{body}) };
    refuse(400, 'BadRequest',
        'Unable to read JSON request payload. Please ensure Content-Type header is set and '
        . 'payload is of valid JSON format.') if ref $body ne 'HASH';
    return $body;
}

sub check_domain {
    my ($self, $upn) = @_;
    my ($domain) = $upn =~ /\@(.+)\z/;
    bad_request('The domain portion of the userPrincipalName property is invalid. You must use '
        . 'one of the verified domain names in your organization.', target => 'userPrincipalName')
        if !grep { lc $_ eq lc $domain } @{ $self->{domains} };
}

sub has_permission { my ($self, @any) = @_; return scalar grep { $self->{permissions}{$_} } @any }
sub may { my ($self, @any) = @_; denied() if !$self->has_permission(@any) }

sub needs_sign_in {
    my ($self, $filter, $request) = @_;
    refuse(403, 'Authentication_RequestFromNonPremiumTenantOrB2CTenant',
        "Neither tenant is B2C or tenant doesn't have premium license")
        if $self->{settings}{signIn} eq 'noLicense';
    $self->may('AuditLog.Read.All');
    refuse(400, 'Request_UnsupportedQuery',
        'signInActivity cannot be filtered together with other properties.')
        if $filter && ($request->{query}{'$filter'} =~ /signInActivity/)
            && $request->{query}{'$filter'} =~ /\b(?:and|or)\b/;
}

# Every Nth page of a list or delta query is empty and has a link to the next page.
sub empty_page { my ($self) = @_; my $n = $self->{settings}{emptyEvery};
    return $n && ++$self->{pages} % $n == 0 }

sub take { my ($self, $name) = @_; return 0
    if $self->{settings}{$name} <= 0; $self->{settings}{$name}--; return 1 }

sub secret { my ($self, $kind, $value) = @_; push @{ $self->{secrets}{$kind} }, $value }

sub count_created {
    my ($self, $p) = @_;
    $self->{counters}{created}++;
    for my $marker (grep {defined} $p->{employeeId},
        values %{ $p->{onPremisesExtensionAttributes} // {} }) {
        $self->{counters}{createdByMarker}{$marker}++;
    }
}

sub scope_fits { my ($self, $request, $scope) = @_;
    my ($host) = $request->{root} =~ m{\Ahttps?://([^/:]+)};
    return $scope =~ m{\Ahttps?://\Q$host\E(?::\d+)?/\.default\z} }

# -- one request

sub decoded { my ($text) = @_; $text =~ s/%([0-9a-fA-F]{2})/chr hex $1/ge; utf8::decode($text);
    return $text }

sub _route {
    my ($request) = @_;
    my $path = $request->{path};
    $path =~ s{\A/(users|groups)\((?:'|%27)(.*?)(?:'|%27)\)}{"/$1/" . ($2 =~ s/''/'/gr)}e;
    $path =~ s/%24/\$/g if $path !~ m{\A/users/%24};
    for my $route (@{ $by_method{ $request->{method} } // [] }) {
        my @keys = $path =~ $route->[0] or next;
        return ($route, $route->[2] =~ /\{/ ? map { decoded($_) } @keys : ());
    }
    for my $method (keys %by_method) {
        return (405) if grep { $path =~ $_->[0] } @{ $by_method{$method} };
    }
    return ();
}

sub handle {
    my ($self, $request) = @_;
    $request->{request_id} = Cloud::Directory::new_id();
    my ($route, @keys) = $request->{token_of} ? () : _route($request);
    my $shape = $request->{token_of} ? '/token' : ref $route ? $route->[2] : '/?';
    my $fault = $self->{faults}->for_request($request->{method}, $request->{token_of} ? '/token'
        : $request->{path});
    my $answer = $fault && $fault->{when} eq 'before' ? _faulty($request, $fault, undef)
        : $self->_answer($request, $route, @keys);
    $answer = _faulty($request, $fault, $answer) if $fault && $fault->{when} eq 'after';
    $self->_meter($request, $answer) if $self->{limits}{on} && $request->{cost};
    $answer->{headers}{'request-id'} = $request->{request_id};
    $answer->{headers}{'client-request-id'} = $request->{headers}{'client-request-id'}
        // $request->{request_id};
    $self->{counters}{requests}{"$request->{method} $shape"}{ $answer->{status} }++;
    $self->{counters}{sent429}++ if $answer->{status} == 429;
    return $answer;
}

sub _answer {
    my ($self, $request, $route, @keys) = @_;
    my $answer = eval {
        return $self->{token}->answer($self, $request, $request->{token_of})
            if $request->{token_of};
        my ($token) = ($request->{headers}{authorization} // '') =~ /\ABearer (\S+)\z/;
        refuse(401, 'InvalidAuthenticationToken', defined $token
            ? 'Lifetime validation failed, the token is expired.' : 'Access token is empty.')
            if !$request->{inner} && !$self->{token}->valid($token // '');
        $request->{query} = { map { map { decoded(s/\+/ /gr) } (split(/=/, $_, 2), '')[0, 1] }
            grep {length} split /&/, $request->{query_text} // '' };
        $self->_throttle($request, ref $route ? $route->[3] : 1);
        refuse(400, 'BadRequest',
            "Resource not found for the segment '" . ($request->{path} =~ s{.*/}{}r) . "'.")
            if !$route;
        refuse(405, 'Request_BadRequest',
            'Specified HTTP method is not allowed for the request target.') if !ref $route;
        $self->_check_body($request);
        $self->may(@{ $route->[4] }) if $route->[4];
        return $route->[5]->($self, $request, @keys);
    };
    return $answer if $answer;
    my $error = $@;
    if (ref $error ne 'Cloud::Error') {
        warn "$request->{method} $request->{path}: $error";
        $error = { status => 500, code => 'InternalServerError',
            message => 'The emulator failed; see its log.' };
        $self->{counters}{internalErrors}++;
    }
    return { status => $error->{status}, type => 'json',
        headers => { %{ $error->{headers} // {} } }, body => error_body($request, %$error) };
}

sub _check_body {
    my ($self, $request) = @_;
    return if $request->{method} eq 'GET' || $request->{method} eq 'DELETE' || $request->{inner};
    my $h = $request->{headers};
    refuse(411, 'LengthRequired', 'The request must be chunked or have a content length.')
        if !defined $h->{'content-length'} && !defined $h->{'transfer-encoding'};
    refuse(415, 'UnsupportedMediaType', 'The content type must be application/json.')
        if length $request->{body} && $request->{path} !~ m{/photo/}
            && ($h->{'content-type'} // '') !~ m{\Aapplication/json\b}i;
}

sub _throttle {
    my ($self, $request, $cost) = @_;
    return if !$self->{limits}{on} || !$cost;
    my $query = $request->{query};
    $cost-- if defined $query->{'$select'};
    $cost++ if defined $query->{'$expand'};
    $cost-- if defined $query->{'$top'} && $query->{'$top'} =~ /^\d+$/ && $query->{'$top'} < 20;
    $cost = 1 if $cost < 1;
    my ($refused, $wait) = $self->{limits}->charge(units => $cost,
        writes => $request->{method} eq 'GET' || $request->{path} =~ m{/(?:get|check)[A-Z]\w+\z} ? 0
        : 1,
        reports => ($query->{'$select'} // '') =~ /signInActivity/ ? 1 : 0);
    $request->{cost} = $cost;
    return if !$refused;
    refuse(429, 'TooManyRequests', 'Too many requests.',
        headers => { ($self->{limits}{retryAfter} ? ('Retry-After' => int($wait) + 1) : ()),
        'x-ms-throttle-scope' => "$refused->{scope}/$self->{client}/$self->{tenant}",
        'x-ms-throttle-information' => $refused->{information} });
}

# Headers about limits in a successful answer.
sub _meter {
    my ($self, $request, $answer) = @_;
    return if $answer->{status} >= 300;
    $answer->{headers}{'x-ms-resource-unit'} = $request->{cost};
    my $fullest = $self->{limits}->fullest;
    $answer->{headers}{'x-ms-throttle-limit-percentage'} = sprintf '%.2f', $fullest
        if $fullest > 0.8;
}

my $page =
    "<!DOCTYPE html><html><head><title>Service unavailable</title></head><body><h1>503</h1><p>The "
    . "gateway got no answer in time.</p></body></html>\n";

# What a rule makes of an answer. "fault" is left to the transport.
sub _faulty {
    my ($request, $fault, $answer) = @_;
    my $do = $fault->{do};
    my %headers = %{ $fault->{headers} // {} };
    $headers{'Retry-After'} = $fault->{retryAfter} if defined $fault->{retryAfter};
    $headers{'x-ms-throttle-scope'} = $fault->{scope} if defined $fault->{scope};
    $headers{'x-ms-throttle-information'} = $fault->{information} if defined $fault->{information};
    return { status => $fault->{status} // 503, type => 'text/html', headers => \%headers,
        body => $fault->{body} // $page } if $do eq 'html';
    if ($do eq 'status') {
        my $status = $fault->{status} // 503;
        return { status => $status, headers => \%headers, type => $fault->{type} // 'json',
            body => $fault->{body} } if defined $fault->{body};
        my %error = (code => $status == 429 ? 'TooManyRequests' : 'ServiceUnavailable',
            message => 'Injected.', %{ $fault->{error} // {} });
        return { status => $status, headers => \%headers, type => 'json',
            body => error_body($request, %error) };
    }
    $answer //= { status => 200, type => 'json', body => '{"value":[]}' };
    return { %$answer, type => 'json', body => '{"value":[{"id":' } if $do eq 'badJson';
    return { %$answer, fault => $fault };
}

1;
