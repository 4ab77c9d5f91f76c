#!/usr/bin/perl
# The walk: real httpd, worker and slapd on loopback under run/, the main job from an HR system's POST to the audit log, each request as a curl
# line with its answer. DEMO=once ends after it, with 0 only if every step held; else everything stays up until Ctrl-C.
use strict;
use warnings;
use Encode ();
use Idadmin::Test qw(build_dir run_command spew json_text json_data wait_until);
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack ();
use POSIX ();
use Time::HiRes ();

binmode STDOUT, ':raw';
$| = 1;
my $once   = ($ENV{DEMO} // '') eq 'once';
my $failed = 0;
my $bold   = -t STDOUT ? "\e[1m" : '';
my $plain  = -t STDOUT ? "\e[0m" : '';

sub say_line { print map { Encode::is_utf8($_) ? Encode::encode_utf8($_) : $_ } @_, "\n" }
sub title    { say_line("\n$bold== $_[0]$plain") }

# One thing that must hold; the walk goes on, so that one sees all that is wrong.
sub holds {
    my ($good, $what) = @_;
    say_line(($good ? '   ok: ' : '   NOT OK: '), $what);
    $failed++ if !$good;
    return $good;
}

# run/ must be open to the user the servers run as; in a home directory of root it is a link to a place that is.
sub choose_directory {
    my $run  = build_dir() . '/run';
    my $user = Idadmin::Test::runtime_user();
    if ($user && system(Idadmin::Test::as_user($user), 'test', '-x', build_dir()) != 0) {
        my $elsewhere = "/tmp/idadmin-demo-$$";
        Idadmin::Test::use_directory($elsewhere);
        unlink $run if -l $run;
        symlink $elsewhere, $run or die "$run: $! (remove it and try again)\n";
        return $run;
    }
    unlink $run if -l $run;
    Idadmin::Test::use_directory($run);
    return $run;
}

my $stack;

# Runs curl as shown and returns the answer. Keys are shown as the variables of demo.env.
sub curl {
    my ($method, $target, %how) = @_;
    my $key    = $stack->key($how{key} // ($method eq 'GET' ? 'read' : 'full'));
    my $name   = ($how{key} // ($method eq 'GET' ? 'read' : 'full')) eq 'read' ? 'ONPREM_READ' : 'ONPREM_FULL';
    my $base   = $stack->httpd->url;
    my $secret = $how{secret} // $key->{apiKey};
    my @command = ('curl', '-sS', '-X', $method, '-w', '\n%{http_code}', '-H', "X-Company-ID: $key->{companyId}", '-H', "X-Api-User: $key->{username}",
        '-H', "X-Api-Key: $secret");
    my $shown = ($method eq 'GET' ? 'curl' : "curl -X $method")
        . " -H \"X-Company-ID: \$ONPREM_COMPANY_ID\" -H \"X-Api-User: \$${name}_USER\" -H \"X-Api-Key: " . ($how{secret} // "\$${name}_KEY") . '"';
    if ($how{json}) {
        push @command, '-H', 'Content-Type: application/json', '--data-binary', '@-';
        my %brief = %{ $how{json} };
        $brief{profilePhoto} = '...' if $brief{profilePhoto};
        $shown .= " -H 'Content-Type: application/json' -d '" . json_text(\%brief) . "'";
    }
    say_line("   \$ $shown \"\$BASE_URL$target\"");
    my $result = run_command([@command, "$base$target"], stdin => $how{json} ? json_text($how{json}) : '');
    my ($body, $status) = $result->{out} =~ /^(.*)\n(\d{3})$/s;
    say_line("   HTTP $status  $body") if defined $status;
    say_line("   curl failed: $result->{err}") if !defined $status;
    my $json = eval { json_data($body) };
    return { status => $status // 0, json => $json, data => ($json || {})->{data}, error => ($json || {})->{error} };
}

# One message as an assistant's client sends it, by curl as shown; answers { status, result }.
sub mcp {
    my ($method, %params) = @_;
    my $message = { jsonrpc => '2.0', id => our $asked++, method => $method,
        params => { %params, _meta => { 'io.modelcontextprotocol/protocolVersion' => '2026-07-28', 'io.modelcontextprotocol/clientCapabilities' => {} } } };
    my @headers = ('Content-Type: application/json', 'Accept: application/json, text/event-stream', 'MCP-Protocol-Version: 2026-07-28', "Mcp-Method: $method",
        ($params{name} ? "Mcp-Name: $params{name}" : ()));
    my $url = $stack->httpd->url . '/mcp';
    my $text = json_text($message);
    say_line("   \$ curl -H \"Authorization: Bearer \$ONPREM_MCP_SECRET\" \\\n       " . join(' ', map {"-H '$_'"} @headers) . " \\\n       -d '$text' \"\$MCP_URL\"");
    my $result = run_command(['curl', '-sS', '-w', '\n%{http_code}', '-H', "Authorization: Bearer @{[ $stack->key('read')->{mcpSecret} ]}", (map { ('-H', $_) } @headers), '--data-binary', '@-', $url],
        stdin => $text);
    my ($body, $status) = $result->{out} =~ /^(.*)\n(\d{3})$/s;
    say_line(defined $status ? "   HTTP $status  " . (length $body > 1500 ? substr($body, 0, 1500) . ' ...' : $body) : "   curl failed: $result->{err}");
    return { status => $status // 0, result => (eval { json_data($body) } // {})->{result} // {} };
}

sub ask { my ($tool, $arguments) = @_; return mcp('tools/call', name => $tool, arguments => $arguments) }

sub show_task {
    my ($task) = @_;
    say_line("   task $task->{id}: $task->{type} $task->{state}, finished " . ($task->{finishedAt} // '-'));
    say_line(sprintf '     %-18s %-8s %s', $_->{name}, $_->{outcome} // '-', $_->{detail} // '') for @{ $task->{steps} };
}

sub write_environment {
    my ($file) = @_;
    my ($full, $read, $limit) = map { $stack->key($_) } qw(full read limit);
    my $base = $stack->httpd->url;
    spew($file, <<"ENV");
BASE_URL=$base
MCP_URL=$base/mcp
CONSOLE_URL=
STORE=@{[ $stack->store ]}
ONPREM_COMPANY_ID=$full->{companyId}
ONPREM_FULL_USER=$full->{username}
ONPREM_FULL_KEY=$full->{apiKey}
ONPREM_READ_USER=$read->{username}
ONPREM_READ_KEY=$read->{apiKey}
ONPREM_MCP_SECRET=$read->{mcpSecret}
ONPREM_KNOWN_UPN=eva.berg\@nordic.example
LIMIT_USER=$limit->{username}
LIMIT_KEY=$limit->{apiKey}
LIMIT_MCP_SECRET=$limit->{mcpSecret}
ENV
    chmod 0600, $file;
}

# --- the walk ---

my $run = choose_directory();
title('Starting a directory (slapd), a store, httpd and the worker');
$stack = Idadmin::Test::Stack->new(
    tenant => {}, keys => { limit => ['limited', 'read-only', '--rate-limit', '120/60s'] }, httpd => { rate_limits => { address => 'off', company => 'off' } },
);
$stack->httpd->expect_log(qr/IDA0210/);    # the wrong key that is tried below
write_environment("$run/demo.env");
say_line('   directory ', $stack->slapd->ldaps_url, ', httpd ', $stack->httpd->url, ' with ', scalar($stack->httpd->children), ' children, worker pid ',
    $stack->worker->pid);
holds(scalar($stack->httpd->children) > 1, 'httpd serves with several children, the directory is synchronised');

title('Who is Eva Berg?');
my $eva = curl(GET => '/v1/api/user?userPrincipalName=eva.berg%40nordic.example');
holds($eva->{status} == 200 && $eva->{data}{user}{displayName} eq 'Eva Berg', 'the directory knows her');

title('The HR system posts a new employee for the next full minute, Stockholm time');
my $due = (int(time / 60) + 1) * 60;
$due += 60 if $due - time < 3;
my ($date, $time) = do { local $ENV{TZ} = 'Europe/Stockholm'; POSIX::tzset(); my @t = localtime $due; (POSIX::strftime('%Y-%m-%d', @t), POSIX::strftime('%H:%M', @t)) };
POSIX::tzset();
my %person = (firstname => "\x{c5}sa", surname => "\x{d6}berg", jobTitle => 'Account manager', department => 'Sales', city => "Malm\x{f6}",
    manager => 'anna.lind@nordic.example', preferredLanguage => 'sv-SE', profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000)),
    date => $date, time => $time);
my $created = curl(POST => '/v1/api/user', json => \%person);
holds($created->{status} == 200 && $created->{data}{taskId}, 'queued; a 200 means it is on disk');
my $upn = $created->{data}{userPrincipalName} // 'nobody';
holds($upn eq 'asa.oberg@nordic.example', "the user name is generated: $upn");

title('Before its time nothing has happened');
my $before = curl(GET => "/v1/api/task?id=$created->{data}{taskId}");
holds(($before->{data}{task}{state} // '') eq 'queued', 'the task is queued');
holds(!$stack->slapd->user('asa.oberg'), 'no such entry in the directory');
holds(curl(GET => '/v1/api/user?userPrincipalName=asa.oberg%40nordic.example')->{status} == 404, 'the look-up says so');

title(sprintf 'Waiting %d seconds for %s %s', $due - time, $date, $time);
Time::HiRes::sleep($due - Time::HiRes::time()) if $due > Time::HiRes::time();
my $done = eval { $stack->wait_task($created->{data}{taskId}, seconds => 20) };
if (holds($done, 'the task is done')) {
    show_task($done);
    my ($entry) = $stack->slapd->user('asa.oberg');
    say_line("   directory: $_: " . join(', ', @{ $entry->{$_} // [] })) for grep { $entry->{$_} } qw(cn givenname sn mail title departmentnumber manager);
    holds($entry && ($entry->{manager}[0] // '') =~ /^uid=anna\.lind,/, 'the entry has its manager');
    holds($entry && length($entry->{jpegphoto}[0] // '') == 2000, 'and its photo of 2000 bytes');
}
my $found = curl(GET => '/v1/api/user?userPrincipalName=asa.oberg%40nordic.example&fields=manager,accountEnabled');
holds($found->{status} == 200 && $found->{data}{user}{accountEnabled}, 'the look-up finds the new user');

title('An assistant connects: one URL, one secret, no session');
my $hello = mcp('server/discover');
holds($hello->{status} == 200 && ($hello->{result}{instructions} // '') =~ /search_users/, 'it reads what the server is for');
my $tools = mcp('tools/list');
holds(11 == @{ $tools->{result}{tools} // [] } && !grep({ !$_->{annotations}{readOnlyHint} } @{ $tools->{result}{tools} }), 'eleven tools, each of which only reads');
my $sales = ask('search_users', { department => 'Sales', status => 'active' });
holds(grep({ $_->{userPrincipalName} eq $upn } @{ $sales->{result}{structuredContent}{items} // [] }), 'Who works in Sales? The new colleague is among them');
my $reach = ask('get_user_access', { user => 'eva.berg@nordic.example' });
holds(scalar(@{ $reach->{result}{structuredContent}{items} // [] }) > 0 && !grep({ !$_->{source} } @{ $reach->{result}{structuredContent}{items} }), 'What can Eva Berg reach, and why? Each membership with its source');
my $hygiene = ask('get_hygiene_report', { staleDays => 90 });
my $sections = $hygiene->{result}{structuredContent}{sections} // {};
holds($sections->{staleAccounts}{available} && $sections->{inactiveGuests} && !$sections->{inactiveGuests}{available} && $sections->{inactiveGuests}{reason},
    'What should be cleaned up? Three sections, and why there is none for guests: ' . ($sections->{inactiveGuests}{reason} // '-'));

title('The sales team takes her in; later she leaves');
$stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::group_dn($_) . "\nchangetype: modify\nadd: member\nmember: " . Idadmin::Test::Slapd::user_dn('asa.oberg') . "\n")
    for 'Sales team', 'All staff';
my $deleted = curl(DELETE => '/v1/api/user', json => { userPrincipalName => 'asa.oberg@nordic.example', date => $date, time => $time });
holds($deleted->{status} == 200, 'the offboarding is queued; its minute has passed, so it runs now');
my $left = eval { $stack->wait_task($deleted->{data}{taskId}, seconds => 20) };
if (holds($left, 'the task is done')) {
    show_task($left);
    my $entry = $stack->slapd->user('asa.oberg');
    holds(($entry->{pwdaccountlockedtime}[0] // '') eq '000001010000Z', 'the account is disabled in the directory');
    holds(!grep(/uid=asa\.oberg,/, map { $stack->slapd->members($_) } 'Sales team', 'All staff'), 'and out of every group');
}
my $gone = curl(GET => '/v1/api/user?userPrincipalName=asa.oberg%40nordic.example&fields=status');
holds(($gone->{data}{user}{status} // '') eq 'disabled', 'the look-up says disabled');

title('What is refused');
holds(curl(GET => '/v1/api/user?userPrincipalName=eva.berg%40nordic.example', secret => 'ida_wrong')->{status} == 401, 'a wrong key');
holds(curl(DELETE => '/v1/api/user', key => 'read', json => { userPrincipalName => 'eva.berg@nordic.example' })->{status} == 403, 'a write with a read-only key');
my $bad = curl(POST => '/v1/api/user', json => { firstname => 'Bo', date => '2026-02-30', time => '25:00' });
holds($bad->{status} == 400 && $bad->{error}{message} =~ /surname.*date.*time/s, 'a bad payload, naming each field');

title('The audit log has it all, and its chain is whole');
my $audit;
wait_until(10, sub { $audit = $stack->ctl_ok('audit', 'list', 'nordic', '--limit', 200, '--json'); grep { ($_->{action} // '') eq 'user.delete' && $_->{outcome} eq 'FORBIDDEN' } @$audit });
my $listed = $stack->ctl('audit', 'list', 'nordic');
say_line("   \$ idadminctl audit list nordic");
say_line("   $_") for grep {defined} (split /\n/, $listed->{out})[0 .. 14];
for my $wanted (['user.create', 'ok'], ['user.delete', 'ok'], ['user.delete', 'FORBIDDEN'], ['user.create', 'BAD_REQUEST']) {
    holds(scalar(grep { ($_->{action} // '') eq $wanted->[0] && $_->{outcome} eq $wanted->[1] } @$audit), "$wanted->[0] with outcome $wanted->[1] is on record");
}
for my $tool (qw(search_users get_user_access get_hygiene_report)) {
    holds(scalar(grep { ($_->{endpoint} // '') eq "mcp tools/call $tool" && $_->{outcome} eq 'ok' } @$audit), "the assistant's $tool is on record");
}
my $verified = $stack->ctl('audit', 'verify', 'nordic');
say_line("   \$ idadminctl audit verify nordic\n   $verified->{out}");
holds($verified->{exit} == 0, 'verified');

title($failed ? "$failed steps did NOT hold" : 'Every step held');
say_line("   settings for your own tries: $run/demo.env");
if ($once) {
    $stack->stop;
    exit($failed ? 1 : 0);
}
say_line(<<"TEXT");

Everything stays up until Ctrl-C. In another terminal:
   . $run/demo.env
   curl -H "X-Company-ID: \$ONPREM_COMPANY_ID" -H "X-Api-User: \$ONPREM_READ_USER" -H "X-Api-Key: \$ONPREM_READ_KEY" \\
        "\$BASE_URL/v1/api/user?userPrincipalName=\$ONPREM_KNOWN_UPN"
   MCP           @{[ $stack->httpd->url ]}/mcp, header "Authorization: Bearer @{[ $stack->key('read')->{mcpSecret} ]}"
   in an assistant: {"mcpServers":{"identity":{"type":"http","url":"@{[ $stack->httpd->url ]}/mcp","headers":{"Authorization":"Bearer @{[ $stack->key('read')->{mcpSecret} ]}"}}}}
   REST          @{[ $stack->httpd->url ]}/v1/api/user   OpenAPI @{[ $stack->httpd->url ]}/v1/openapi.json
   full access   user @{[ $stack->key('full')->{username} ]}, key @{[ $stack->key('full')->{apiKey} ]}
   read-only     user @{[ $stack->key('read')->{username} ]}, key @{[ $stack->key('read')->{apiKey} ]}
   directory     @{[ $stack->slapd->url ]}, $Idadmin::Test::Slapd::suffix
   store         @{[ $stack->store ]}
TEXT
sleep 3600 while 1;
