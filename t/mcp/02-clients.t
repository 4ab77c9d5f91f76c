# Third-party clients and checks: the official conformance suite, the official TypeScript clients in
# each way they negotiate, the Inspector's strict check of the schemas. They come from npm
# (t/npm/install.sh DIR) and need Node 22; without them the test is skipped. The conformance suite
# takes a minute or two.
use strict;
use warnings;
use utf8;
use Idadmin::Test;
use Idadmin::Test::Stack;
use IPC::Open2 ();
use Test::More;

my $npm = $ENV{IDADMIN_NPM} // build_dir() . '/npm';
my ($node) = grep { -x } "$npm/node_modules/node/bin/node", map {"$_/node"} split /:/,
    $ENV{PATH} // '';
plan(skip_all =>
    "the official clients are not at $npm: run t/npm/install.sh DIR (needs npm) and set "
    . "IDADMIN_NPM=DIR") if !-d "$npm/node_modules/\@modelcontextprotocol";
my ($major) = $node ? run_command([$node, '--version'])->{out} =~ /^v(\d+)/ : ();
plan(skip_all => 'Node 22 or newer is needed, here is ' . ($major // 'none'))
    if !$major || $major < 22;

my $stack = Idadmin::Test::Stack->new(engine => 'sqlite',
    httpd => { rate_limits => { failures => 'off' } });
my $url    = $stack->httpd->url . '/mcp';
my $secret = $stack->key('read')->{mcpSecret};
my $clients = src_dir() . '/t/mcp/clients';
my @tools =
    qw(search_users get_user get_user_access get_resource_access get_hygiene_report get_audit_log
        list_role_templates
    get_role_template list_pending_approvals list_workflows get_workflow_runs);
my %arguments = (get_user => { user => 'eva.berg@nordic.example' },
    get_user_access => { user => 'eva.berg@nordic.example' });

sub tool { my ($name, @arguments) = @_;
    return run_command([$node, "$npm/node_modules/.bin/$name", @arguments]) }

sub sdk {
    my ($version, $mode, $with) = @_;
    my $result = run_command([$node, "$clients/sdk.mjs", $url, $with // $secret, $version, $mode],
        env => { IDADMIN_NPM => $npm, IDADMIN_ARGUMENTS => json_text(\%arguments) });
    is($result->{exit}, 0, 'it ran') or diag($result->{err});
    return eval { json_data($result->{out}) } // {};
}

for my $case (['1', 'legacy', '2025-11-25'], ['2', 'legacy', '2025-11-25'],
    ['2', 'auto', '2026-07-28'], ['2', 'modern', '2026-07-28']) {
    my ($version, $mode, $protocol) = @$case;
    subtest "TypeScript client $version, $mode" => sub {
        my $seen = sdk($version, $mode);
        is($seen->{server}{name}, 'mod_idadmin', 'connects');
        is($seen->{protocol}, $protocol, "speaks $protocol") if defined $seen->{protocol};
        like($seen->{instructions} // '', qr/search_users/, 'has the instructions');
        is_deeply($seen->{tools}, \@tools, 'lists the tools');
        is(scalar @{ $seen->{first}{structuredContent}{items} // [] }, 2, 'calls one');
        my %once = map { $_ => 1 } @{ $seen->{items} // [] };
        cmp_ok(scalar keys %once, '>', 4, 'pages to the end');
        is(scalar keys %once, scalar @{ $seen->{items} }, 'each once');
        is(scalar keys %once, $seen->{first}{structuredContent}{totalCount}, 'all of them');
        for my $name (@tools) {
            my $answer = $seen->{each}{$name} // {};
            ok(!defined $answer->{thrown}, "$name: the client takes the answer")
                or diag($answer->{thrown});
            ok($answer->{structuredContent} || $answer->{isError},
                "$name: a result or a readable error");
        }
        like($seen->{nobody}{content}[0]{text} // '', qr/nobody\@nordic\.example/,
            'shows a tool error');
        ok($seen->{nobody}{isError}, 'as one');
        like($seen->{badArgument}{content}[0]{text} // '',
            qr/limit: must be a whole number from 1 to 200/,
            'shows what is wrong with an argument');
        like($seen->{unknown}{thrown} // '', qr/Unknown tool: delete_user/,
            'shows a protocol error');
        is($seen->{unknown}{code}, -32602, 'with its code');
    };
}

subtest 'a key with full access' => sub {
    my $seen = sdk('1', 'legacy', $stack->key('full')->{mcpSecret});
    is_deeply($seen->{tools}, \@tools, 'lists');
    like($seen->{first}{content}[0]{text} // '', qr/missing the required 'read' scope/,
        'and is told why it may not call');
};

subtest "the Inspector's strict look at the schemas" => sub {
    my $result = tool('mcp-inspector', '--cli', $url, '--transport', 'http', '--method',
        'tools/list', '--strict', '--header', "Authorization: Bearer $secret");
    is($result->{exit}, 0, 'clean') or diag($result->{err});
    is(scalar @{ (eval { json_data($result->{out}) } // {})->{tools} // [] }, 11, 'eleven tools');
    unlike($result->{err}, qr/portability|warning|error/i, 'nothing to say')
        or diag($result->{err});
};

# The suite knows no headers: a proxy adds the credentials. All its scenarios for servers are run,
# those of extensions apart.
my $proxy = IPC::Open2::open2(my $from, my $to, $node, "$clients/proxy.mjs", $url, $secret);
chomp(my $port = <$from>);

# Scenarios that a server of tools alone passes as a whole; the suite has but one of its own for
# 2025-03-26 and is made to run these too.
my %whole = (
    '2026-07-28' =>
        [qw(http-header-validation tools-list server-sse-multiple-streams dns-rebinding-protection
        input-required-result-unsupported-methods input-required-result-validate-input)],
    '2025-11-25' => [qw(server-initialize server-session-lifecycle ping tools-list
    dns-rebinding-protection)],
    '2025-06-18' => [qw(server-initialize server-session-lifecycle ping tools-list)],
    '2025-03-26' => [qw(server-session-lifecycle server-initialize ping tools-list
    dns-rebinding-protection)],
);
# checks that such a server passes
my %partly = ('2026-07-28' => { 'server-stateless' => 21, caching => 4 });
my @forced = qw(server-initialize ping tools-list dns-rebinding-protection);
# Why a check is not for this server: it wants a tool of the suite's own, or a capability that ours
# does not announce.
my @not_ours = (
    ["the suite's own tool" =>
        qr/Unknown\ tool:\ test_|does\ not\ list\ the\ diagnostic\ tool
            \ 'test_|'json_schema_2020_12_tool'\ not\ found/x],
    ['a tool with x-mcp-header' => qr/server exposes no tool with x-mcp-header annotations/],
    ['a capability not announced' =>
    qr{(?:prompts|resources|resources/templates|completion|logging)/\w+(?:\ returned\ JSON-RPC
        \ error\ -32601|\b).*|Expected\ error\ code\ -32602\ \(Invalid\ Params\),\ got
        \ -32601|Error\ data\.uri\ is\ undefined}x],
    ['a first answer of its own tool' =>
    qr/^Expected\ InputRequiredResult\ with|^Prerequisite\ failed:\ could\ not\ get\ initial
        \ InputRequiredResult|instead\ of\ re-requesting\ via\ InputRequiredResult/x],
    ['a session' => qr/Server did not provide session ID/],
);

sub conformance {
    my ($version, $into, @more) = @_;
    return tool('conformance', 'server', '--url', "http://localhost:$port/mcp", '--spec-version',
        $version, '-o', $into, @more);
}

for my $version (sort keys %whole) {
    subtest "conformance $version" => sub {
        my $into = tempdir() . "/conformance-$version";
        conformance($version, $into, '--suite', 'all');
        if ($version eq '2025-03-26') { conformance($version, $into, '--force', '--scenario', $_)
            for @forced }
        my (%checks, %reasons, %passed, $valid, $wires);
        for my $file (glob "$into/*/checks.json") {
            my ($scenario) = $file =~ m{/server-([^/]+?)-\d{4}-\d\d-\d\dT[^/]+/checks\.json$};
            for my $check (@{ json_data(slurp($file)) }) {
                my $said = $check->{errorMessage} // ($check->{details} // {})->{message} // '';
                my ($reason) = map { $_->[0] } grep { $said =~ $_->[1] } @not_ours;
                $passed{$scenario}++ if $check->{status} eq 'SUCCESS';
                my $bad = $check->{status} !~ /^(?:SUCCESS|INFO|SKIPPED)$/;
                push @{ $checks{$scenario} }, $bad && !$reason
                    ? "$check->{id}: $check->{status} $said" : ();
                $reasons{$scenario}{$reason} = 1 if $bad && $reason;
                if ($check->{id} eq 'wire-schema-valid') { $wires++;
                    $valid++ if $check->{status} eq 'SUCCESS' }
            }
        }
        is_deeply([grep { !$checks{$_} || $reasons{$_} } @{ $whole{$version} }], [],
            'the scenarios for it were run, each as a whole');
        cmp_ok($passed{$_} // 0, '>=', $partly{$version}{$_},
            "$_: what a server of tools alone can pass") for sort keys %{ $partly{$version} // {} };
        for my $scenario (sort keys %checks) {
            my $why = join ', ', sort keys %{ $reasons{$scenario} // {} };
            ok(!@{ $checks{$scenario} }, $scenario . ($why ? ": wants $why" : ''))
                or diag(join "\n", @{ $checks{$scenario} });
        }
        is($valid // 0, $wires // 0,
            'every message is valid by the schema of the revision (' . ($wires // 0)
            . ' scenarios)');
    };
}
close $to;
close $from;
waitpid $proxy, 0;
$stack->stop;
done_testing();
