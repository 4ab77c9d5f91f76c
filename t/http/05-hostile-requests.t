# Randomly changed requests kill no child of httpd, and none is answered as a failure of the
# service. They are sent over HTTP/1.1 and HTTP/2; the queue contains exactly the accepted ones.
# Also: slow heads and bodies under the sample's RequestReadTimeout, and more idle connections than
# there are threads.
# Parameters: mutations of each request over each protocol (from 3000 on memory is judged, and more
# connections are idle); seed.
use strict;
use warnings;
use Idadmin::Test;
use Idadmin::Test::Hostile ();
use Idadmin::Test::Mcp;
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack;
use Test::More;

my $mutations = parameter(mutations => 30);
my $seed      = parameter(seed => 1);
my $domain    = $Idadmin::Test::Slapd::domain;
my $long      = $mutations >= 3000;
# httpd may start as many children again as it begins with; idle connections are more than all of
# their threads, slow ones fewer than those of the first children.
my ($children, $threads) = (2, $long ? 64 : 24);
my ($idle, $slow) = $long ? (1500, 80) : (200, 24);
# The sample's line, in which seconds are shorter: those that are slow here send nothing more.
my ($timeouts) = slurp(src_dir() . '/conf/idadmin-httpd.conf') =~ /^\s*(RequestReadTimeout .*)$/m;
$timeouts =~ s{\b(header|body)=\K(\d+)(?:-(\d+))?}{$long ? $& : 5 . ($3 ? '-10' : '')}ge
    or die "no RequestReadTimeout in the sample: $timeouts\n";

sub valid_requests {
    my ($stack) = @_;
    my $person = "eva.berg\@$domain";
    my $json = ['Content-Type' => 'application/json'];
    my @requests = map {
        my ($key, $method, $target, $body) = @$_;
        my @named = ($stack->headers($key), $body ? @$json : ());
        my @headers = ([Host => 'x']);
        while (my ($name, $value) = splice @named, 0, 2) { push @headers, [$name, $value] }
        { method => $method, target => $target, headers => \@headers,
            body => $body ? json_text($body) : '' }
    } (
        [writer => GET => "/v1/api/user?userPrincipalName=$person"],
        [many => GET => '/v1/api/users?query=ev&department=IT&createdAfter=2020-01-01&limit=5'],
        [writer => POST => '/v1/api/user', { firstname => 'Mut', surname => 'Ant',
            date => '2030-03-01', time => '09:00', manager => $person, groups => [],
            mobilePhone => '+46701234567' }],
        [writer => DELETE => '/v1/api/user', { userPrincipalName => "bo.ek\@$domain",
            date => '2030-03-01', time => '17:00' }],
        [writer => GET => '/v1/api/tasks?state=queued&limit=2'],
        [writer => GET => '/v1/api/events?limit=3'],
    );
    for my $ask ([modern => 'search_users', { query => 'eva', limit => 2 }],
        [modern => 'get_user_access', { user => $person }],
        ['2025-11-25' => 'get_audit_log', { limit => 1, from => '2026-01-01' }]) {
        my ($era, $tool, $arguments) = @$ask;
        my $client = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('many'),
            era => $era);
        my $message = $client->message('tools/call', { name => $tool, arguments => $arguments });
        my @named = @{ $client->headers($message) };
        my @headers = ([Host => 'x']);
        while (my ($name, $value) = splice @named, 0, 2) { push @headers, [$name, $value] }
        push @requests, { method => 'POST', target => '/mcp', headers => \@headers,
            body => json_text($message) };
    }
    return @requests;
}

# -> { status or task => count }
sub send_changed {
    my ($stack, $requests, $over, $times, $third) = @_;
    my @counts = in_parallel(2, sub {
        my ($index) = @_;
        my $hostile = Idadmin::Test::Hostile->new($stack->httpd->port, seed => "$seed$third$index");
        my %seen;
        for my $n (1 .. $times / 2) {
            $seen{$_}++ for map { $hostile->$over($_) } @$requests;
        }
        return \%seen;
    });
    my %all;
    for my $count (@counts) { $all{$_} += $count->{$_} for keys %$count }
    return \%all;
}

for_each_stack {
    my ($stack) = @_;
    my $httpd = $stack->httpd;
    $httpd->expect_log(qr{AH\d+: (?!.*(?:Segmentation|exit signal))},
        qr{credentials refused});
    my @children = $httpd->children;
    my @requests = valid_requests($stack);

    # They are slow while the others are fast.
    my $head = "GET /v1/api/tasks HTTP/1.1\r\nHost: x\r\n";
    my %key = $stack->headers('many');
    my $known = $head . join '', map {"$_: $key{$_}\r\n"} sort keys %key;
    my @slow = map {
        my $client = $httpd->client;
        $client->send_raw($_ % 2 ? $head
            : $known =~ s/GET \S+/POST \/mcp/r . "Content-Type: application/json\r\n"
                . "Content-Length: 1000\r\n\r\n{");
        $client
    } 1 .. $slow;

    my (%queued, $untold);
    my @over = qw(over_http1 over_http2);
    # Before any is changed: a changed one may offboard at once whom these offboard in 2030.
    for my $over (@over) {
        my $valid = Idadmin::Test::Hostile->new($httpd->port, seed => $seed, changes => 0);
        my @before = map { $valid->$over($_) } @requests;
        $queued{$_} = 1 for grep {/^task /} @before;
        is_deeply [grep { !/^task / } @before], [(200) x @requests], "$over: unchanged";
    }
    for my $over (@over) {
        my @thirds;
        my %seen;
        for my $third (1 .. 3) {
            my $seen = send_changed($stack, \@requests, $over, $mutations / 3, $third);
            $queued{$_} = 1 for grep {/^task /} keys %$seen;
            $seen{$_} += $seen->{$_} for grep { !/^task / } keys %$seen;
            push @thirds, Idadmin::Test::own_memory(@children);
        }
        $untold += $seen{none} // 0;
        note "$over: ", join ', ', map {"$seen{$_} x $_"} sort keys %seen;
        note "$over: a child has @thirds kB";
        ok $seen{200} && $seen{400} && $seen{401}, "$over: some are good, some refused";
        is_deeply [grep { !/^(?:[1-4]\d\d|501|505|none)$/ } keys %seen], [],
            "$over: none is answered as a failure of ours"
            or diag join "\n", grep {/" 50[0234] /} $httpd->access_lines;
        # The stacks and pools of many threads grow to what the largest request takes, for long.
        my $each = @requests * $mutations / 3 / @children;
        cmp_ok +($thirds[2] - $thirds[1]) * 1024 / $each, '<=', 512,
            "$over: a request leaves nothing behind" if $long;
    }
    my ($tasks) = map { $_->[0] } $stack->sql('select count(*) from task');
    cmp_ok scalar keys %queued, '>=', 2, 'some were accepted';
    cmp_ok $tasks, '>=', keys %queued, 'what was accepted is in the queue';
    cmp_ok $tasks, '<=', keys(%queued) + $untold,
        'and nothing else, but of requests that did not wait for their answer';

    subtest 'slow requests' => sub {
        my %ended;
        for my $client (@slow) {
            my $answer = eval { $client->read_answer };
            $ended{ $answer ? $answer->{status} : 'closed' }++;
        }
        note join ', ', map {"$ended{$_} x $_"} sort keys %ended;
        is $ended{408} // 0, $slow, 'each is ended with 408';
        is $stack->get('/v1/api/tasks')->{status}, 200, 'others are served';
    };

    subtest 'idle connections' => sub {
        my @clients = map { $httpd->client } 1 .. $idle;
        my @answers = map { $_->request(GET => '/v1/api/tasks?limit=1', headers => { %key }) }
            @clients;
        is scalar(grep { $_->{status} == 200 } @answers), $idle, "$idle are served";
        is $stack->get('/v1/api/tasks', client => $httpd->client)->{status}, 200, 'so is another';
        @answers = map { $_->request(GET => '/v1/api/tasks?limit=1', headers => { %key }) }
            @clients[map { $_ * $idle / 100 } 0 .. 99];
        is scalar(grep { $_->{status} == 200 } @answers), 100, 'those that ask again too';
        $_->close for @clients;
    };
    my %alive = map { $_ => 1 } $httpd->children;
    is_deeply [grep { !$alive{$_} } @children], [], 'the children of the beginning live';
    Test::More->builder->is_passing
        or diag "again: IDADMIN_PARAMETERS='mutations=$mutations seed=$seed'";
} httpd => { children => $children, threads => $threads, rate_limits => { failures => 'off' },
    server => join "\n", 'LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so',
    'LoadModule reqtimeout_module /usr/lib/apache2/modules/mod_reqtimeout.so',
    'Protocols h2c http/1.1', 'AsyncRequestWorkerFactor 20', $timeouts },
    keys => { writer => ['hr-writer', 'full', '--rate-limit', '1000000/60s'],
    many => ['ai', 'read-only', '--rate-limit', '1000000/60s'] },
    one_engine => 'What is refused never reaches a statement. The requests that are accepted here '
    . 'are sent on both engines by t/rest/03-lifecycle.t and t/mcp/03-read-operations.t.';
done_testing();
