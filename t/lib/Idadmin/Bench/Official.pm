package Idadmin::Bench::Official;
# The part mcp: get_user, search_users and the list of tools, compared with a server built with the
# official TypeScript SDK that reads the same rows from the same SQLite files and gives the same
# members (t/bench/official.mjs). Ours checks credentials and limits and writes audit records
# besides.
use strict;
use warnings;
use Encode ();
use Idadmin::Bench qw(engine load processor_ms setting);
use Idadmin::Test qw(build_dir free_port json_text run_command src_dir spew tempdir within);
use Idadmin::Test::Http ();
use Idadmin::Test::Mcp ();
use Idadmin::Bench::Tools ();

my $users  = setting(MCP_USERS => 10_000);
my $rounds = setting(ROUNDS => 5);

# Node and the package, or why not.
sub _missing {
    return (undef, undef, 'the official server reads SQLite') if engine() ne 'sqlite';
    my $npm = $ENV{IDADMIN_NPM} // build_dir() . '/npm';
    my $sdk = '@modelcontextprotocol/sdk';
    return (undef, undef, "$sdk is not in $npm: run t/npm/install.sh DIR (needs npm) and set "
        . 'IDADMIN_NPM=DIR') if !-d "$npm/node_modules/$sdk";
    my ($node) = grep { defined && -x } "$npm/node_modules/node/bin/node",
        Idadmin::Test::program_path('node');
    return (undef, undef, 'Node is not installed') if !$node;
    my $sqlite = run_command([$node, '--no-warnings', '-e', 'require("node:sqlite")']);
    return ($npm, $node, $sqlite->{exit} ? "$node has no node:sqlite, which Node 22 has" : undef);
}

sub _start {
    my ($npm, $node, $stack, $tools) = @_;
    my $port = free_port();
    my $file = spew(tempdir() . '/tools.json', json_text($tools));
    my $log  = tempdir() . '/official.log';
    my ($main) = $stack->store =~ /^sqlite3:(.+)/;
    my $pid  = Idadmin::Test::daemon([$node, '--no-warnings', src_dir() . '/t/bench/official.mjs',
        $npm, $port, $main, $stack->{company}, $file], log => $log);
    within(sub { Idadmin::Test::ended($pid)
        || eval { Idadmin::Test::Http->new($port)->request('GET', '/')->{status} } });
    die 'the official server does not start: ' . Idadmin::Test::slurp($log)
        if Idadmin::Test::ended($pid);
    return ($port, $pid);
}

# What a server answers to a tool, as text to compare. Cursors belong to the server that gave them.
sub _answer {
    my ($mcp, $port, $tool, $arguments) = @_;
    my $client = Idadmin::Test::Http->new($port);
    my $message = $mcp->message('tools/call', { name => $tool, arguments => $arguments });
    my $answer = $client->request(POST => $mcp->{path}, body => json_text($message),
        headers => $mcp->headers($message));
    my $result = ($answer->{json} // {})->{result};
    my $data = $result->{structuredContent} // die "$tool: " . json_text($answer->{json} // {});
    my $both = Idadmin::Test::json_data(Encode::encode_utf8($result->{content}[0]{text}));
    for ($data, $both) { $_->{nextCursor} &&= 'given' }
    die "$tool: its two contents differ\n" if json_text($data) ne json_text($both);
    return json_text($data);
}

# The official server gives the same members, or it is no yardstick.
sub _compare {
    my ($mcp, $ours, $theirs, $tool, @all) = @_;
    for my $arguments (@all) {
        my ($one, $other) = map { _answer($mcp, $_, $tool, $arguments) } $ours, $theirs;
        die "$tool: ours: $one\nthe official server's: $other\n" if $one ne $other;
    }
    return;
}

# busy: seconds of processor that the server of this process and those below it took, which says
# more than the clock where other work is done besides.
sub _load {
    my ($stack, $server, @request) = @_;
    my ($port, $pid) = @$server;
    my $before = processor_ms($pid);
    my $figures = load($stack, 16, @request, port => $port);
    return { %$figures, busy => (processor_ms($pid) - $before) / 1000 };
}

# V8 compiles what has run often: as many requests on a busy machine as on a quiet one.
sub _warm {
    my ($stack, $server, @request) = @_;
    my $requests = 0;
    for (1 .. 30) {
        last if ($requests += _load($stack, $server, @request)->{requests}) >= 5000;
    }
    return;
}

sub mcp {
    my ($part) = @_;
    my ($npm, $node, $missing) = _missing();
    if ($missing) {
        print "# skipped: $missing\n";
        return;
    }
    my $stack = Idadmin::Bench::Tools::company($users);
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'),
        era => '2025-11-25');
    my @calls = (
        [get_user => 'tools/call', { user => 'user{u}@nordic.example' }],
        [search_users => 'tools/call', { limit => 50 }],
        ['tools/list' => 'tools/list'],
    );
    my ($port, $pid) = _start($npm, $node, $stack, $mcp->ask('tools/list')->{result}{tools});
    my @ports = ($stack->httpd->port, $port);
    _compare($mcp, @ports, get_user => map { { user => sprintf 'user%05d@nordic.example', $_ } }
        1 .. 200);
    _compare($mcp, @ports, search_users => { limit => 50 }, { limit => 100 });
    for my $call (@calls) {
        my ($name, $method, $arguments) = @$call;
        my $message = $mcp->message($method,
            $arguments ? { name => $name, arguments => $arguments } : undef);
        my @request = (POST => $mcp->{path}, body => json_text($message), users => $users,
            headers => { @{ $mcp->headers($message) } });
        my (@rates, @p50, @busy);
        my @servers = ([$ports[0], $stack->httpd->pid], [$ports[1], $pid]);
        _warm($stack, $_, @request) for @servers;
        for (1 .. $rounds) {
            my @both = map { _load($stack, $_, @request) } @servers;
            push @rates, [map { $_->{rate} } @both];
            push @p50,   [map { $_->{p50} } @both];
            push @busy,  [map { $_->{requests} / $_->{busy} } @both];
        }
        $part->ratio("$name beside the official SDK (requests/s)", \@rates);
        $part->ratio("$name: p50 (ms) of 16 connections", \@p50);
        $part->ratio("$name: requests a second of processor", \@busy);
    }
    Idadmin::Test::stop_daemon($pid);
    $stack->stop;
    return;
}

1;
