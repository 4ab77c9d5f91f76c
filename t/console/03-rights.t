# Each role at each endpoint of the console, and each endpoint against other sites, a missing header
# and a foreign company. The table here is the requirement; it is not taken from the operations.
use strict;
use warnings;
use Idadmin::Test qw(operation_rows within);
use Idadmin::Test::Console ();
use Idadmin::Test::Stack ();
use Test::More;

# Method, path, right. If a read lacks its arguments, a caller with the right gets 400.
my @doors = map { [split] } grep {/\S/} split /\n/, <<'END';
    GET    /companies           -
    GET    /session             -
    GET    /sign-in             -
    GET    /pulse               overview.read
    GET    /overview            overview.read
    GET    /overview/trends     tasks.read
    GET    /users               people.read
    GET    /user/details        people.read
    POST   /user                people.write
    PATCH  /user                people.write
    POST   /user/update         people.write
    POST   /user/offboard       people.write
    DELETE /user                people.write
    GET    /user/preview        people.write
    GET    /task                tasks.read
    GET    /task/asked          people.read
    GET    /task/comments       tasks.read
    GET    /tasks               tasks.read
    GET    /events              tasks.read
    DELETE /task                tasks.write
    PATCH  /task                tasks.write
    POST   /task/cancel         tasks.write
    POST   /task/reschedule     tasks.write
    POST   /task/retry          tasks.write
    POST   /task/release        tasks.release
    POST   /tasks/change        tasks.write
    GET    /user/access         access.read
    GET    /resource/access     access.read
    GET    /role-templates      access.read
    GET    /role-template       access.read
    GET    /role/assignments    access.read
    POST   /role/assign         access.write
    POST   /role/unassign       access.write
    GET    /groups              access.read
    GET    /access-services     requests.read
    GET    /approvals           requests.read
    GET    /access-requests     requests.read
    POST   /access-request      access.write
    POST   /access-request/end  access.write
    POST   /access-request/decision requests.decide
    GET    /workflows           workflows.read
    GET    /workflow/runs       workflows.read
    GET    /hygiene             hygiene.read
    GET    /hygiene/export      hygiene.export
    GET    /audit               audit.read
    GET    /audit/export        audit.export
    GET    /audit/chain         audit.read
    POST   /audit/verify        audit.read
    GET    /user/evidence       audit.read
    GET    /keys                keys.read
    POST   /key                 keys.write
    POST   /key/rotate          keys.write
    POST   /key/disable         keys.write
    POST   /key/enable          keys.write
    DELETE /key                 keys.write
    GET    /company             company.read
    GET    /company/settings    company.read
    POST   /company/plan        company.read
    POST   /directory/sync      company.operate
    POST   /directory/check     company.operate
    GET    /directory/check     company.read
END
my @readers = qw(viewer operator auditor administrator);
my %roles   = (
    'overview.read' => [@readers, 'approver', 'key-administrator'],
    (map { +"$_.read" => \@readers } qw(people tasks access workflows hygiene)),
    'company.read'  => [@readers, 'key-administrator'],
    (map { $_ => [qw(operator administrator)] }
        qw(people.write tasks.write tasks.release access.write company.operate)),
    'requests.read'   => [@readers, 'approver'],
    'requests.decide' => [qw(approver administrator)],
    'hygiene.export'  => [qw(operator auditor administrator)],
    'keys.read'       => [qw(key-administrator auditor administrator)],
    'keys.write'      => [qw(key-administrator administrator)],
    (map { $_ => [qw(auditor administrator)] } qw(audit.read audit.export)),
);
my %arguments = ('/tasks/change' => { verb => 'cancel', ids => ['none'] });

my $stack = Idadmin::Test::Stack->new(slapd => { users => 5, groups => 1 },
    tenant => { modules => { publicApi => JSON::PP::true, accessGovernance => JSON::PP::true } },
    httpd  => { rate_limits => { person => 'off', address => 'off' }, console => 1 });
my @roles = @Idadmin::Test::Httpd::console_users[0 .. 5];
my %as    = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_,
    company => 'nordic') } @roles;

# A door is knocked at with nothing that could be carried out.
sub knock {
    my ($who, $door, %how) = @_;
    my ($method, $path) = @$door;
    my @body = $method =~ /^(?:POST|PATCH)$/ ? (body => $arguments{$path} // {}) : ();
    return $who->request($method, $path, delete $how{arguments}, @body, %how);
}

sub told { my ($answer) = @_;
    return "$answer->{status} " . ($answer->{json}{error}{reason} // '') }

subtest 'the table names every door' => sub {
    my @made;
    for my $entry (values %{ operation_rows() }) {
        next if $entry !~ /IDA_ON_CONSOLE/;
        my %own = $entry =~ /\.(method|path|alias_method|alias_path) = "([^"]+)"/g;
        push @made, "$own{method} $own{path}";
        push @made, "$own{alias_method} $own{alias_path}" if $own{alias_path};
    }
    # The face answers a sign-in itself.
    is_deeply([sort grep { $_ ne 'GET /sign-in' } map {"$_->[0] $_->[1]"} @doors], [sort @made],
        'no more, no less');
};

my @refused;
subtest 'each role' => sub {
    for my $door (@doors) {
        my ($method, $path, $right) = @$door;
        for my $role (@roles) {
            my $told = told(knock($as{$role}, $door));
            if ($right eq '-' || grep { $_ eq $role } @{ $roles{$right} }) {
                unlike($told, qr/^403 (?:rightMissing|noRole|companyUnknown)|^5/,
                    "$role may $method $path");
            } else {
                is($told, '403 rightMissing', "$role may not $method $path");
                push @refused, $role;
            }
        }
    }
};

subtest 'refusals are on record' => sub {
    my %want;
    $want{$_}++ for @refused;
    my %found;
    ok(within(sub {
        %found = ();
        my $cursor;
        do {
            my $page = $as{auditor}->data('/audit', { limit => 200, category => 'portal',
                outcome => 'refused', includeReads => 'true', cursor => $cursor });
            $found{ $_->{actor} }++ for grep { $_->{outcome} eq 'FORBIDDEN' } @{ $page->{items} };
            $cursor = $page->{nextCursor};
        } while ($cursor);
        return !grep { ($found{$_} // 0) < $want{$_} } keys %want;
    }), 'each of them');
    is_deeply(\%found, \%want, 'and no other');
};

subtest 'other sites, no header, another company' => sub {
    my $who = $as{administrator};
    for my $door (grep { $_->[1] ne '/sign-in' } @doors) {
        my ($method, $path, $right) = @$door;
        is(told(knock($who, $door, headers => { 'Sec-Fetch-Site' => 'cross-site' })),
            '403 crossSite', "$method $path from another site");
        is(told(knock($who, $door, headers => { 'X-IdAdmin-Console' => undef })),
            '403 headerMissing', "$method $path without the header") if $method ne 'GET';
        is(told(knock($who, $door, arguments => { companyId => 'strangers' })),
            '403 companyUnknown', "$method $path of another company") if $right ne '-';
    }
};

subtest 'nothing was done' => sub {
    is_deeply($stack->ctl_ok('task', 'list', 'nordic', '--json')->{items}, [], 'no task');
};

$stack->stop;
done_testing;
