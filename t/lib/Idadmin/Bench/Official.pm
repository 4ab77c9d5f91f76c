package Idadmin::Bench::Official;
# The part mcp: get_user, search_users and the list of tools, compared with a server built with the
# official TypeScript SDK that repeats recorded answers of ours (t/bench/official.mjs). Ours reads a
# store, checks credentials and writes audit records; that one only speaks the protocol.
use strict;
use warnings;
use Idadmin::Bench qw(load setting);
use Idadmin::Test qw(build_dir free_port json_text src_dir spew tempdir within);
use Idadmin::Test::Http ();
use Idadmin::Test::Mcp ();
use Idadmin::Bench::Tools ();

my $users  = setting(MCP_USERS => 10_000);
my $rounds = setting(ROUNDS => 5);

# Node and the package, or why not.
sub _missing {
    my $npm = $ENV{IDADMIN_NPM} // build_dir() . '/npm';
    my $sdk = '@modelcontextprotocol/sdk';
    return (undef, undef, "$sdk is not in $npm: run t/npm/install.sh DIR (needs npm) and set "
        . 'IDADMIN_NPM=DIR') if !-d "$npm/node_modules/$sdk";
    my ($node) = grep { defined && -x } "$npm/node_modules/node/bin/node",
        Idadmin::Test::program_path('node');
    return ($npm, $node, $node ? undef : 'Node is not installed');
}

sub _start {
    my ($npm, $node, $results) = @_;
    my $port = free_port();
    my $file = spew(tempdir() . '/official.json', json_text($results));
    my $log  = tempdir() . '/official.log';
    my $pid  = Idadmin::Test::daemon([$node, src_dir() . '/t/bench/official.mjs', $npm, $port,
        $file], log => $log);
    within(sub { Idadmin::Test::ended($pid)
        || eval { Idadmin::Test::Http->new($port)->request('GET', '/')->{status} } });
    die 'the official server does not start: ' . Idadmin::Test::slurp($log)
        if Idadmin::Test::ended($pid);
    return ($port, $pid);
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
    my %results = map { my ($tool, undef, $arguments) = @$_;
        ($tool => $mcp->ask('tools/call', { name => $tool, arguments => { %$arguments,
            $tool eq 'get_user' ? (user => 'user00017@nordic.example') : () } })->{result}) }
        @calls[0, 1];
    my ($port, $pid) = _start($npm, $node, { results => \%results,
        tools => $mcp->ask('tools/list')->{result}{tools} });
    for my $call (@calls) {
        my ($name, $method, $arguments) = @$call;
        my $message = $mcp->message($method,
            $arguments ? { name => $name, arguments => $arguments } : undef);
        my @request = (POST => $mcp->{path}, body => json_text($message), users => $users,
            headers => { @{ $mcp->headers($message) } });
        my (@rates, @p50);
        for my $round (0 .. $rounds) {
            my @both = map { load($stack, 16, @request, @$_) } [], [port => $port];
            push @rates, [map { $_->{rate} } @both] if $round;
            push @p50,   [map { $_->{p50} } @both]  if $round;
        }
        $part->ratio("$name beside the official SDK (requests/s)", \@rates);
        $part->ratio("$name: p50 (ms) of 16 connections", \@p50);
    }
    Idadmin::Test::stop_daemon($pid);
    $stack->stop;
    return;
}

1;
