# A key can have exactly as many concurrent requests as its limit allows, over several children of
# httpd: also after requests that were answered, aborted, lost with a killed child or continued
# across a graceful restart; one request too many is refused with that reason.
use strict;
use warnings;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Stack;

my ($stack, $httpd);
my $body = '{"firstname": "One"}';    # with a field missing: nothing is queued

# A request in progress until its body is sent: the service requests the body when the request has a
# seat (status 100), or answers.
sub hold {
    my ($key, $target) = @_;
    my $client = $httpd->client;
    my @headers = ($stack->headers($key), 'Content-Type' => 'application/json',
        'Accept' => 'application/json, text/event-stream', 'Content-Length' => length $body,
        Expect => '100-continue');
    my $text = 'POST ' . ($target // '/v1/api/user') . " HTTP/1.1\r\nHost: localhost\r\n";
    while (my ($name, $value) = splice @headers, 0, 2) {
        $text .= "$name: $value\r\n";
    }
    $client->send_raw("$text\r\n");
    return { client => $client, status => $client->next_status };
}

sub finish { my ($held) = @_;
    $held->{client}->send_raw($body); return $held->{client}->read_answer('POST') }
sub statuses { return join ' ', map { $_->{status} } @_ }

# As many as there are seats, and one that is refused.
sub holds_exactly {
    my ($count, $what) = @_;
    my @held = map { hold('three') } 1 .. $count + 1;
    is(statuses(@held), join(' ', (100) x $count, 429), "$what: exactly $count");
    pop @held;
    return @held;
}

# Three at once; an attempt that got fewer releases them.
sub holds {
    my @all = map { hold('three') } 1 .. 3;
    return @all if statuses(@all) eq '100 100 100';
    $_->{client}->close for @all;
    return;
}

sub is_free_again {
    my ($what) = @_;
    my @held;
    ok(within(sub { @held = holds(); scalar @held }), "$what: all seats are free");
    is(hold('three')->{status}, 429, 'those and no more');
    is(statuses(map { finish($_) } @held), '400 400 400', 'they are answered');
}

# Nothing was said about the key: its requests cannot take all threads of a child.
sub has_a_default {
    $stack->{keys}{plain} = $stack->ctl_ok('key', 'create', $stack->{company}, 'hr-plain',
        '--access', 'full', '--json');
    my @held = map { hold('plain') } 1 .. 65;
    is(statuses(@held), join(' ', (100) x 64, 429), '64 when nothing is said');
    pop @held;
    finish($_) for @held;
}

sub told {
    my @held = holds_exactly(3, 'one after the other');
    my $client = $httpd->client;
    my $refused = $stack->get('/v1/api/tasks', key => 'three', client => $client);
    is($refused->{status}, 429, 'a read counts too');
    is($refused->{json}{error}{code}, 'RATE_LIMIT_EXCEEDED', 'code');
    is($refused->{json}{error}{message}, 'This API key may have 3 requests under way at the same'
        . ' time. Send the next one when one of them is answered.', 'its own reason');
    is($refused->{headers}{'retry-after'}, 1, 'Retry-After');
    like($refused->{headers}{ratelimit}, qr/^"key";r=[1-9]/, 'the rate is not what is short');
    is($stack->get('/v1/api/tasks', key => 'three', client => $client)->{status}, 429, 'again');
    is($client->connections, 1, 'on the same connection');
    is($stack->get('/v1/api/tasks', key => 'full')->{status}, 200, 'another key goes on');
    is(finish(shift @held)->{status}, 400, 'one is answered');
    is($stack->get('/v1/api/tasks', key => 'three')->{status}, 200, 'at once the next may come');
    push @held, hold('three');
    is(statuses(@held), '100 100 100', 'or be held');
    is(hold('three')->{status}, 429, 'but no fourth');
    is(finish($_)->{status}, 400, 'answered') for @held;
    my $held = hold('one', '/mcp');
    is($held->{status}, 100, 'an assistant');
    my $other = hold('one', '/mcp');
    is($other->{status}, 429, 'twice at the same time');
    is(finish($held)->{status}, 400, 'the first is answered');
}

# No client that waits for its answers is refused, on one connection or on a new one each.
sub one_by_one {
    my $client = $httpd->client;
    my %seen;
    for my $n (1 .. 60) {
        $seen{ $stack->get('/v1/api/tasks', key => 'one',
            client => $n % 2 ? $client : $httpd->client)->{status} }++;
    }
    is_deeply(\%seen, { 200 => 60 }, 'sixty, one after the other, under a limit of one');
}

# Each holds what it got until all twelve have been answered.
sub together {
    for my $round (1 .. 3) {
        my $dir = tempdir() . "/round$round." . $stack->engine;
        mkdir $dir or die "$dir: $!\n";
        my @all = in_parallel(12, sub {
            my ($index) = @_;
            my $held = hold('three');
            spew("$dir/$index", '');
            within(sub { 12 == (() = glob "$dir/*") }) or die "the others have no answer\n";
            finish($held) if $held->{status} == 100;
            return $held->{status};
        });
        my %seen;
        $seen{$_}++ for @all;
        is_deeply(\%seen, { 100 => 3, 429 => 9 }, 'twelve at the same time: three');
    }
}

sub aborted {
    my @held = holds_exactly(3, 'before they go away');
    $_->{client}->close for @held;
    is_free_again('clients went away');
}

sub restarted {
    my @held = holds_exactly(3, 'before a restart');
    my %before = map { $_ => 1 } $httpd->children;
    $httpd->graceful;
    ok(within(sub { grep { !$before{$_} } $httpd->children }), 'new children');
    is(hold('three')->{status}, 429, 'what old children do counts in new ones');
    is(finish($_)->{status}, 400, 'and is answered') for @held;
    is_free_again('a graceful restart');
}

sub killed {
    my @held = holds_exactly(3, 'before the kill');
    my @children = $httpd->children;
    $httpd->kill_child(pid => $_) for @children;
    ok(within(sub { my %old = map { $_ => 1 } @children;
        my @now = $httpd->children; @now && !grep { $old{$_} } @now }), 'other children');
    is_free_again('children were killed');
    $_->{client}->close for @held;
}

sub shown {
    my $list = $stack->ctl_ok('key', 'list', 'nordic', '--json')->{items};
    my %by = map { $_->{username} => $_->{concurrency} } @$list;
    is_deeply([@by{qw(hr-three hr-one)}], [3, 1], 'key list shows it');
    is($by{'hr-plain'}, undef, 'and that nothing was said of another');
    like($stack->ctl('key', 'list', 'nordic')->{out}, qr/CONCURRENCY/, 'also for people');
    for my $bad (0, -1, 1001, '3x', '') {
        my $result = $stack->ctl('key', 'create', 'nordic', 'bad', '--access', 'full',
            "--concurrency=$bad");
        isnt($result->{exit}, 0, "not --concurrency=$bad");
        like($result->{err}, qr/concurrency/, 'which is named');
    }
}

sub audited {
    $httpd->stop;
    my @records = grep { $_->{action} eq 'rateLimit' } map { json_data($_) }
        map { slurp($_) =~ /\x1e([^\n]*)\n/g } glob $stack->spool . '/*.audit';
    ok(scalar(grep { $_->{actor} eq 'hr-three'
        && json_data($_->{parameters})->{reason} eq 'concurrency' } @records),
        'the record of its refusals says why') or diag explain \@records;
}

on_one_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => 0, worker => 0,
        tenant => { rateLimits => { company => 'off', key => 'off' } },
        httpd => { children => 3, threads => 32, locations => <<'CONF' },
<Location "/v1/api">
    SetHandler idadmin-rest
    AuthType IdAdmin
    Require valid-user
</Location>
<Location "/mcp">
    SetHandler idadmin-mcp
    AuthType IdAdmin
    Require valid-user
</Location>
CONF
        keys => { three => ['hr-three', 'full', '--concurrency', 3, '--rate-limit', '100000/60s'],
            one => ['hr-one', 'read-only', '--concurrency', 1] });
    $httpd = $stack->httpd;
    $httpd->expect_log(qr/child pid \d+ exit signal Killed/, qr/AH00(?:045|046|052)/,
        qr/AH03490|AH10392/);
    has_a_default();
    told();
    one_by_one();
    together();
    aborted();
    restarted();
    killed();
    shown();
    audited();
    $stack->stop;
} 'Requests under way are counted in memory that the children share, not in the store. '
    . 't/unit/store/tenant.c and t/rest/03-lifecycle.t use keys on both engines.';
done_testing();
