package Idadmin::Bench::Tools;
# The part tools: the first page of each tool, and of each filter of search_users, for a small and a
# large company, over one connection: p50 and p99, and the ratio of the two companies' p50. And GET
# beside a fixed answer, and while another company searches without pause. A synchronisation run
# without a directory loads the people (t/tool/people.c).
use strict;
use warnings;
use Idadmin::Bench qw(engine fixed_answer load setting);
use Idadmin::Test qw(build_dir json_text slurp spew tempdir);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Stack ();
use POSIX ();
use Time::HiRes ();

my @sizes   = (setting(TOOLS_SMALL => 10_000), setting(TOOLS_LARGE => 1_000_000));
my $seconds = setting(TOOLS_SECONDS => 1);
my $rounds  = setting(TOOLS_ROUNDS => 3);
my $person  = 'user00017@nordic.example';

sub _day { return POSIX::strftime('%Y-%m-%d', gmtime(time - 86_400 * $_[0])) }

# What is asked: the tool, its arguments.
my @cases = (
    [get_user => { user => $person }], [get_user_access => { user => $person }],
    [get_resource_access => { resource => 'Small group' }],
    [get_resource_access => { resource => 'Large group' }],
    [get_hygiene_report => {}], [get_audit_log => {}], [list_role_templates => {}],
    [get_role_template => { roleTemplate => 'Seller' }], [list_pending_approvals => {}],
    [list_workflows => {}], [get_workflow_runs => { workflow => 'Joiner' }],
    (map { [search_users => $_] } {}, { limit => 200 }, { query => 'user00017' },
    { query => 'anna family42' }, { query => 'anna' }, { query => 'nobody at all' },
    { department => 'Department 7' }, { department => 'Archive' }, { jobTitle => 'Captain' },
    { jobTitle => 'Clerk' }, { company => 'Nordic Sea AB' }, { employeeId => 'E0000017' },
    { manager => $person }, { group => 'Small group' }, { group => 'Team 0001' },
    { group => 'Large group' },
    { license => 'VISIO' }, { license => 'SPE_E3' }, { status => 'active' },
    { status => 'disabled' }, { status => 'guest' }, { createdAfter => _day(3) },
    { createdBefore => _day(2990) }, { lastSignInBefore => _day(390) },
    { lastSignInAfter => _day(3) }, { inactiveDays => 390 }),
);

sub _name {
    my ($tool, $arguments) = @_;
    return join ' ', $tool, map {"$_=$arguments->{$_}"} sort keys %$arguments;
}

sub _fill {
    my ($stack, $company, $users) = @_;
    my $start = Time::HiRes::time();
    my $log = spew(tempdir() . "/people.$company", '');
    my $pid = Idadmin::Test::daemon([build_dir() . '/tool/people', $stack->store, $company, $users],
        user => Idadmin::Test::runtime_user(), log => $log);
    # A million takes longer than a test waits for anything.
    Idadmin::Test::soon(7200, sub { Idadmin::Test::ended($pid) || slurp($log) =~ /^\d+ users,/m });
    die 'people: ' . slurp($log) if slurp($log) !~ /^\d+ users,/m;
    printf "# %s: %s users put into the cache of %s in %.0f s\n", engine(), $users, $company,
        Time::HiRes::time() - $start;
    return;
}

# A company in the cloud whose worker is stopped. httpd: further options of httpd.
sub company {
    my ($users, %httpd) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => engine(), worker => 0, sync => 0, cloud => {},
        httpd => { children => 2, log_level => 'warn', rate_limits => { key => '1000000/10s' },
            %httpd },
        tenant => {
            roleTemplates => [{ name => 'Seller', groups => ['Small group'] }],
            accessCatalog => [{ service => 'CRM', group => 'Small group',
                approvers => [$person] }],
            workflows => [{ active => JSON::PP::true(), trigger => 'userCreate', name => 'Joiner',
                actions => [{ type => 'addToGroup', group => 'Small group' }] }] });
    $stack->create_key(read => 'bench-read', 'read-only', '--rate-limit', '1000000/10s');
    _fill($stack, $stack->{company}, $users);
    return $stack;
}

# A tool call as `load` sends it; it must succeed once.
sub _call {
    my ($mcp, $tool, $arguments) = @_;
    my $answer = $mcp->call($tool, $arguments);
    die _name($tool, $arguments) . ": $answer->{status} " . ($answer->{failed} // '') . "\n"
        if !$answer->{data};
    my $call = $mcp->message('tools/call', { name => $tool, arguments => $arguments });
    return (POST => $mcp->{path}, body => json_text($call),
        headers => { @{ $mcp->headers($call) } });
}

sub tools {
    my ($part) = @_;
    my (%p50, %p99);
    for my $size (@sizes) {
        my $stack = company($size, server => fixed_answer());
        my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
        for my $case (@cases) {
            my @request = _call($mcp, @$case);
            load($stack, 1, @request, seconds => $seconds / 4);    # warms up
            my $figures = load($stack, 1, @request, seconds => $seconds);
            my $name = _name(@$case);
            ($p50{$name}{$size}, $p99{$name}{$size}) = @$figures{qw(p50 p99)};
        }
        _get($part, $stack, $size);
        _neighbour($part, $stack, $size);
        $stack->stop;
    }
    printf "# %s: p50 and p99 (ms) of %s users, of %s users; p50 of these beside those\n",
        engine(), @sizes;
    for my $name (map { _name(@$_) } @cases) {
        my ($small, $large) = @{ $p50{$name} }{@sizes};
        $part->figure(engine() . " $name", $large / $small,
            sprintf '%8.3f %8.3f %10.3f %10.3f %8.2f', $small, $p99{$name}{ $sizes[0] }, $large,
            $p99{$name}{ $sizes[1] }, $large / $small);
    }
    return;
}

# The look-up of one person, beside a fixed answer of the same httpd.
sub _get {
    my ($part, $stack, $size) = @_;
    my @pairs;
    for my $round (0 .. $rounds) {
        my @both = map { load($stack, 16, GET => $_, seconds => $seconds * 2, users => $size) }
            '/v1/api/user?userPrincipalName=user{u}%40nordic.example', '/fixed300';
        push @pairs, [map { $_->{rate} } @both] if $round;
    }
    return $part->ratio(engine() . ": GET user beside a fixed answer (requests/s), $size users",
        \@pairs);
}

# The dearest that a key may do within the limits that the service ships with: all requests of its
# minute at once, on as many connections as it may use.
sub _burst {
    my ($stack, $target) = @_;
    my @pids;
    for (1 .. 16) {
        push @pids, fork // die "fork: $!";
        next if $pids[-1];
        my $client = $stack->httpd->client;
        my @headers = $stack->headers('shipped');
        my @statuses = map { $client->request(GET => $target, headers => [@headers])->{status} }
            1 .. 7;
        POSIX::_exit((grep { $_ != 200 } @statuses) ? 1 : 0);
    }
    return @pids;
}

# Everybody's share: GET by one company alone, and while a key of another one, which has many
# people, bursts into reports with three filters that match no person.
sub share {
    my ($part) = @_;
    my $users = setting(SHARE_USERS => 60_000);
    my $stack = company($users);
    my $other = bless { %$stack, company => 'beside', keys => {}, client => {} }, ref $stack;
    $other->apply_tenant($other->tenant_document(companyId => 'beside', name => 'Beside AB',
        createUsersIn => 'cloud', directories => { cloud => $other->cloud_document }));
    $other->create_key(read => 'beside-read', 'read-only', '--rate-limit', '1000000/10s');
    _fill($other, 'beside', 1000);
    my @get = (4, GET => '/v1/api/user?userPrincipalName=user{u}%40nordic.example', seconds => 2,
        users => 1000);
    my (@pairs, $target);
    $target = '/v1/api/hygiene?department=Nowhere&company=Nothing&license=NONE';
    for my $round (0 .. $rounds) {
        # Each round has a key of its own, with a minute of its own.
        $stack->{keys}{shipped} = $stack->ctl_ok('key', 'create', $stack->{company},
            "shipped$round", '--access', 'read-only', '--json');
        my $alone  = load($other, @get);
        my @pids   = _burst($stack, $target);
        my $beside = load($other, @get);
        for (@pids) { waitpid $_, 0; $Idadmin::Bench::errors++ if $? }
        push @pairs, [$beside->{p99}, $alone->{p99}] if $round;
    }
    $part->ratio(engine() . ": GET p99 (ms) beside the dearest minute of another company's key, to"
        . ' alone', \@pairs);
    return $stack->stop;
}

# GET by one company while another of the same store searches without pause, over two connections.
sub _neighbour {
    my ($part, $stack, $size) = @_;
    my $other = bless { %$stack, company => 'beside', keys => {}, client => {} }, ref $stack;
    $other->apply_tenant($other->tenant_document(companyId => 'beside', name => 'Beside AB',
        createUsersIn => 'cloud', directories => { cloud => $other->cloud_document }));
    $other->create_key(read => 'beside-read', 'read-only', '--rate-limit', '1000000/10s');
    _fill($other, 'beside', $sizes[0]);
    my $mcp = Idadmin::Test::Mcp->new($other->httpd, key => $other->key('read'));
    my @search = _call($mcp, search_users => { query => 'anna', limit => 50 });
    my @get = (4, GET => '/v1/api/user?userPrincipalName=user{u}%40nordic.example',
        seconds => $seconds * 2, users => $sizes[0]);
    my @pairs;
    for my $round (0 .. $rounds) {
        my $alone = load($stack, @get);
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            my $figures = eval { load($other, 2, @search, seconds => $seconds * 2 + 1) };
            POSIX::_exit(!$figures || $figures->{errors} || !$figures->{requests} ? 1 : 0);
        }
        Time::HiRes::sleep(0.5);
        my $beside = load($stack, @get);
        waitpid $pid, 0;
        $Idadmin::Bench::errors++ if $?;
        push @pairs, [$beside->{p99}, $alone->{p99}] if $round;
    }
    return $part->ratio(engine() . ": GET p99 (ms), $size users, beside a searching company",
        \@pairs);
}

1;
