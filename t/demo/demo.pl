#!/usr/bin/perl
# The walk: real httpd, worker, slapd and the cloud directory's emulator on loopback under run/, two
# tenants, the main job from an HR system's POST to the audit log, each request as a curl line with
# its answer. DEMO=once ends after it, with 0 only if every step succeeded; otherwise everything
# keeps running until Ctrl-C.
use strict;
use warnings;
use Idadmin::Test qw(build_dir run_command spew json_text json_data within);
use Idadmin::Test::Photo ();
use Idadmin::Test::Show;
use Idadmin::Test::Stack ();
use POSIX ();
use Time::HiRes ();

binmode STDOUT, ':raw';
$| = 1;
my $once   = ($ENV{DEMO} // '') eq 'once';
my $failed = 0;

# Ctrl-C ends everything that was started, at any moment of the walk.
$SIG{INT} = $SIG{TERM} = sub { say_line("\n   Stopping the servers ..."); exit 0 };

# One condition; the walk continues after a failure, so that all failures are seen.
sub holds {
    my ($good, $what) = @_;
    say_line(($good ? '   ok: ' : '   NOT OK: '), $what);
    $failed++ if !$good;
    return $good;
}

# run/ must be open to the user the servers run as; in a home directory of root it is a link to a
# place that is.
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

# The company on-premises, the one in the cloud, and the one whose turn it is: { prefix, name,
# stack, domain }.
my ($on_premises, $cloud, $here);
my @team = ('Sales team', 'All staff');
sub stack { return $here->{stack} }

# Runs curl as shown and returns the answer. Keys are shown as the variables of demo.env.
sub curl {
    my ($method, $target, %how) = @_;
    my $level  = $how{key} // ($method eq 'GET' ? 'read' : 'full');
    my $key    = stack->key($level);
    my $name   = "$here->{prefix}_" . ($level eq 'read' ? 'READ' : 'FULL');
    my $base   = stack->httpd->url;
    my $secret = $how{secret} // $key->{apiKey};
    my @command = ('curl', '-sS', '-X', $method, '-w', '\n%{http_code}', '-H',
        "X-Company-ID: $key->{companyId}", '-H', "X-Api-User: $key->{username}",
        '-H', "X-Api-Key: $secret");
    my $shown = ($method eq 'GET' ? 'curl' : "curl -X $method")
        . " -H \"X-Company-ID: \$$here->{prefix}_COMPANY_ID\" -H \"X-Api-User: \$${name}_USER\" "
            . "-H \"X-Api-Key: " . ($how{secret} // "\$${name}_KEY") . '"';
    if ($how{json}) {
        push @command, '-H', 'Content-Type: application/json', '--data-binary', '@-';
        my %brief = %{ $how{json} };
        $brief{profilePhoto} = '...' if $brief{profilePhoto};
        $shown .= " -H 'Content-Type: application/json' -d '" . json_text(\%brief) . "'";
    }
    say_line("   \$ $shown \"\$BASE_URL$target\"");
    my $result = run_command([@command, "$base$target"], stdin => $how{json} ? json_text($how{json})
        : '');
    my ($body, $status) = $result->{out} =~ /^(.*)\n(\d{3})$/s;
    show_json("   HTTP $status  ", $body) if defined $status;
    say_line("   curl failed: $result->{err}") if !defined $status;
    my $json = eval { json_data($body) };
    return { status => $status // 0, json => $json, data => ($json || {})->{data},
        error => ($json || {})->{error} };
}

# One message as an assistant's client sends it, by curl as shown; answers { status, result }.
sub mcp {
    my ($method, %params) = @_;
    my $message = { jsonrpc => '2.0', id => our $asked++, method => $method,
        params => { %params, _meta => { 'io.modelcontextprotocol/protocolVersion' => '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities' => {} } } };
    my @headers = ('Content-Type: application/json', 'Accept: application/json, text/event-stream',
        'MCP-Protocol-Version: 2026-07-28', "Mcp-Method: $method",
        ($params{name} ? "Mcp-Name: $params{name}" : ()));
    my $url = stack->httpd->url . '/mcp';
    my $text = json_text($message);
    say_line("   \$ curl -H \"Authorization: Bearer \$$here->{prefix}_MCP_SECRET\" \\\n       "
        . join(' ', map {"-H '$_'"} @headers) . " \\\n       -d '$text' \"\$MCP_URL\"");
    my $result = run_command(['curl', '-sS', '-w', '\n%{http_code}', '-H',
        "Authorization: Bearer @{[ stack->key('read')->{mcpSecret} ]}",
        (map { ('-H', $_) } @headers), '--data-binary', '@-', $url],
        stdin => $text);
    my ($body, $status) = $result->{out} =~ /^(.*)\n(\d{3})$/s;
    show_json("   HTTP $status  ", $body) if defined $status;
    say_line("   curl failed: $result->{err}") if !defined $status;
    return { status => $status // 0, result => (eval { json_data($body) } // {})->{result} // {} };
}

sub ask { my ($tool, $arguments) = @_;
    return mcp('tools/call', name => $tool, arguments => $arguments) }

sub show_task {
    my ($task) = @_;
    say_line("   task $task->{id}: $task->{type} $task->{state}, finished "
        . ($task->{finishedAt} // '-'));
    say_line(sprintf '     %-18s %-8s %s', $_->{name}, $_->{outcome} // '-', $_->{detail} // '')
        for @{ $task->{steps} };
}

sub write_environment {
    my ($file) = @_;
    my $stack = $on_premises->{stack};
    my $base  = $stack->httpd->url;
    my $limit = $cloud->{stack}->key('limit');
    my $text  = "BASE_URL=$base\nMCP_URL=$base/mcp\nCONSOLE_URL=$base/console/\nSTORE="
        . $stack->store . "\n";
    for my $company ($cloud, $on_premises) {
        my ($full, $read) = map { $company->{stack}->key($_) } qw(full read);
        my %value = (COMPANY_ID => $full->{companyId}, FULL_USER => $full->{username},
            FULL_KEY => $full->{apiKey}, READ_USER => $read->{username},
            READ_KEY => $read->{apiKey},
            MCP_SECRET => $read->{mcpSecret}, KNOWN_UPN => "eva.berg\@$company->{domain}");
        $text .= "$company->{prefix}_$_=$value{$_}\n"
            for qw(COMPANY_ID FULL_USER FULL_KEY READ_USER READ_KEY MCP_SECRET KNOWN_UPN);
    }
    spew($file,
        $text
        . "LIMIT_USER=$limit->{username}\nLIMIT_KEY=$limit->{apiKey}\n"
        . "LIMIT_MCP_SECRET=$limit->{mcpSecret}\n");
    chmod 0600, $file;
}

# idadminctl with the store of this demonstration, for other terminals.
sub write_commands {
    my ($bin) = @_;
    mkdir $bin or -d $bin or die "$bin: $!\n";
    my $user = Idadmin::Test::runtime_user();
    my ($command, $options) = map { join ' ', map {"'$_'"} @$_ }
        [($user ? Idadmin::Test::as_user($user) : ()), Idadmin::Test::program('idadminctl')],
        [$on_premises->{stack}->ctl_options];
    spew("$bin/idadminctl", "#!/bin/sh\nexec $command \"\$@\" $options\n");
    chmod 0755, "$bin/idadminctl";
}

# --- what the directory itself shows, asked past the service: { enabled, manager, photo (bytes),
# groups [names] } or nothing ---

sub in_directory {
    my ($local) = @_;
    if (my $emulator = stack->cloud) {
        my $user = $emulator->user("$local\@$here->{domain}") or return;
        return { enabled => $user->{accountEnabled}, manager => $user->{manager},
            photo => ($user->{photo} // {})->{bytes}, groups => $user->{groups} };
    }
    my $slapd = stack->slapd;
    my $entry = $slapd->user($local) or return;
    my ($manager) = ($entry->{manager}[0] // '') =~ /^uid=([^,]+),/;
    return { enabled => !grep({ $_ eq '000001010000Z' } @{ $entry->{pwdaccountlockedtime} // [] }),
        manager => $manager && "$manager\@$here->{domain}",
        photo => length($entry->{jpegphoto}[0] // ''),
        groups => [grep { grep(/^uid=\Q$local\E,/, $slapd->members($_)) } @team] };
}

sub join_team {
    my ($local) = @_;
    if (my $emulator = stack->cloud) {
        $emulator->api(POST => '/groups/' . $emulator->group($_)->{id} . '/members/$ref',
            json => { '@odata.id' => $emulator->url . '/directoryObjects/'
            . $emulator->user("$local\@$here->{domain}")->{id} }) for @team;
        return;
    }
    stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::group_dn($_)
        . "\nchangetype: modify\nadd: member\nmember: " . Idadmin::Test::Slapd::user_dn($local)
        . "\n") for @team;
}

# --- the walk ---

sub look_up {
    my $eva = curl(GET => "/v1/api/user?userPrincipalName=eva.berg%40$here->{domain}");
    holds($eva->{status} == 200 && $eva->{data}{user}{displayName} eq 'Eva Berg',
        "the directory of $here->{name} knows her");
}

sub create {
    my ($person) = @_;
    my $created = curl(POST => '/v1/api/user',
        json => { %$person, manager => "anna.lind\@$here->{domain}" });
    holds($created->{status} == 200 && $created->{data}{taskId},
        'queued; a 200 means it is on disk');
    holds(($created->{data}{userPrincipalName} // '') eq $here->{upn},
        "the user name is generated: $here->{upn}");
    return $here->{created} = $created->{data}{taskId};
}

sub nothing_yet {
    my $before = curl(GET => "/v1/api/task?id=$here->{created}");
    holds(($before->{data}{task}{state} // '') eq 'queued', 'the task is queued');
    holds(!in_directory($here->{local}), 'no such entry in the directory');
    holds(curl(GET =>
        "/v1/api/user?userPrincipalName=$here->{local}%40$here->{domain}")->{status} == 404,
        'the look-up says so');
}

sub is_there {
    my $done = eval { stack->wait_task($here->{created}) };
    if (holds($done, 'the task is done')) {
        show_task($done);
        my $entry = in_directory($here->{local}) // {};
        holds(($entry->{manager} // '') eq "anna.lind\@$here->{domain}",
            'the entry in the directory has its manager');
        holds(($entry->{photo} // 0) == 2000, 'and its photo of 2000 bytes');
    }
    my $found =
        curl(GET =>
        "/v1/api/user?userPrincipalName=$here->{local}%40$here->{domain}"
            . '&fields=manager,accountEnabled');
    holds($found->{status} == 200 && $found->{data}{user}{accountEnabled},
        'the look-up finds the new user');
}

sub ask_assistant {
    my $hello = mcp('server/discover');
    holds($hello->{status} == 200 && ($hello->{result}{instructions} // '') =~ /search_users/,
        'it reads what the server is for');
    my $tools = mcp('tools/list');
    holds(11 == @{ $tools->{result}{tools} // [] }
        && !grep({ !$_->{annotations}{readOnlyHint} } @{ $tools->{result}{tools} }),
        'eleven tools, each of which only reads');
    my $sales = ask('search_users', { department => 'Sales', status => 'active' });
    holds(grep({ $_->{userPrincipalName} eq $here->{upn} } @{
        $sales->{result}{structuredContent}{items} // [] }),
        'Who works in Sales? The new colleague is among them');
    my $reach = ask('get_user_access', { user => "eva.berg\@$here->{domain}" });
    my $items = $reach->{result}{structuredContent}{items} // [];
    holds(@$items && !grep({ !$_->{source} } @$items),
        'What can Eva Berg reach, and why? Each membership with its source');
    my $hygiene = ask('get_hygiene_report', { staleDays => 90 });
    my $sections = $hygiene->{result}{structuredContent}{sections} // {};
    my $guests = $sections->{inactiveGuests} // {};
    if (stack->cloud) {
        holds($sections->{staleAccounts}{available} && $guests->{available} && $guests->{count},
            'What should be cleaned up? Five sections, ' . ($guests->{count} // 0)
            . ' inactive guests');
    }
    else {
        holds($sections->{staleAccounts}{available} && $sections->{inactiveGuests}
            && !$guests->{available} && $guests->{reason},
            'What should be cleaned up? Four sections, and why there is none for guests: '
            . ($guests->{reason} // '-'));
    }
}

sub leave {
    my ($date, $time) = @_;
    join_team($here->{local});
    my $deleted = curl(DELETE => '/v1/api/user',
        json => { userPrincipalName => $here->{upn}, date => $date, time => $time });
    holds($deleted->{status} == 200,
        'the offboarding is queued; its minute has passed, so it runs now');
    my $left = eval { stack->wait_task($deleted->{data}{taskId}) };
    if (holds($left, 'the task is done')) {
        show_task($left);
        my $entry = in_directory($here->{local}) // { enabled => 1, groups => ['?'] };
        holds(!$entry->{enabled}, 'the account is disabled in the directory');
        my %team = map { $_ => 1 } @team;
        holds(!grep({ $team{$_} } @{ $entry->{groups} }),
            'and out of every group that it was put into');
    }
    my $gone =
        curl(GET =>
        "/v1/api/user?userPrincipalName=$here->{local}%40$here->{domain}&fields=status");
    holds(($gone->{data}{user}{status} // '') eq 'disabled', 'the look-up says disabled');
}

sub audited {
    my (@wanted) = @_;
    my ($company, $audit) = ($here->{company});
    my $has = sub { my ($w) = @_;
        scalar grep { ($_->{ $w->[2] // 'action' } // '') eq $w->[0]
        && $_->{outcome} eq $w->[1] } @$audit };
    within(sub { $audit = stack->records; !grep { !$has->($_) } @wanted });
    my $listed = stack->ctl('audit', 'list', $company);
    say_line("   \$ idadminctl audit list $company");
    say_line("   $_") for grep {defined} (split /\n/, $listed->{out})[0 .. 9];
    holds($has->($_), "$_->[0] with outcome $_->[1] is on record") for @wanted;
    my $verified = stack->ctl('audit', 'verify', $company);
    say_line("   \$ idadminctl audit verify $company\n   $verified->{out}");
    holds($verified->{exit} == 0, 'verified');
}

sub each_company {
    my ($do) = @_;
    for my $company ($on_premises, $cloud) {
        $here = $company;
        say_line("\n   -- $here->{name} --");
        $do->();
    }
}

my $run = choose_directory();
title('Starting two directories (slapd; the cloud directory as an emulator), a store, httpd and '
    . 'the worker');
my $stack = Idadmin::Test::Stack->new(tenant => {},
    httpd => { rate_limits => { address => 'off', company => 'off' },
        console => '    IdAdminConsolePerson "eva.berg@nordic.example"' });
my $acme  = $stack->beside_in_the_cloud(keys => {
    limit => ['limited', 'read-only', '--rate-limit', '120/60s'] });
$on_premises = { prefix => 'ONPREM', name => 'nordic, on-premises (LDAP)', company => 'nordic',
    stack => $stack, domain => 'nordic.example' };
$cloud       = { prefix => 'CLOUD', name => 'acme, in the cloud (Microsoft Graph)',
    company => 'acme', stack => $acme, domain => 'acme.example' };
for my $company ($on_premises, $cloud) {
    $company->{local} = 'asa.oberg';
    $company->{upn}   = "asa.oberg\@$company->{domain}";
}
$stack->httpd->expect_log(qr/IDA0210/);    # the wrong key that is tried below
write_environment("$run/demo.env");
write_commands("$run/bin");
say_line('   directories ', $stack->slapd->ldaps_url, ' and ', $acme->cloud->url, ', httpd ',
    $stack->httpd->url, ' with ', scalar($stack->httpd->children),
    ' children, worker pid ', $stack->worker->pid);
holds(scalar($stack->httpd->children) > 1,
    'httpd serves with several children, both directories are synchronised');

title('Who is Eva Berg? Two companies, two people');
each_company(\&look_up);

title('The HR systems post a new employee for the next full minute, Stockholm time');
my $due = (int(time / 60) + 1) * 60;
$due += 60 if $due - time < 30;    # what follows is shown before it begins
my ($date, $time) = do { local $ENV{TZ} = 'Europe/Stockholm'; POSIX::tzset();
    my @t = localtime $due; (POSIX::strftime('%Y-%m-%d', @t), POSIX::strftime('%H:%M', @t)) };
POSIX::tzset();
my %person = (firstname => "\x{c5}sa", surname => "\x{d6}berg", jobTitle => 'Account manager',
    department => 'Sales', city => "Malm\x{f6}", country => 'SE',
    preferredLanguage => 'sv-SE',
    profilePhoto => Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000)), date => $date,
    time => $time);
each_company(sub { create(\%person) });

title('Before its time nothing has happened');
each_company(\&nothing_yet);

title(sprintf 'Waiting %d seconds for %s %s', $due - time, $date, $time);
count_down($due);
each_company(\&is_there);

title('An assistant connects: one URL, one secret, no session');
each_company(\&ask_assistant);

title('The sales team takes her in; later she leaves');
each_company(sub { leave($date, $time) });

title('What is refused');
$here = $on_premises;
holds(curl(GET => '/v1/api/user?userPrincipalName=eva.berg%40nordic.example',
    secret => 'ida_wrong')->{status} == 401, 'a wrong key');
holds(curl(GET => '/v1/api/user?userPrincipalName=eva.berg%40acme.example')->{status} == 404,
    'the other company\'s people');
holds(curl(DELETE => '/v1/api/user', key => 'read',
    json => { userPrincipalName => 'eva.berg@nordic.example' })->{status} == 403,
    'a write with a read-only key');
my $bad = curl(POST => '/v1/api/user',
    json => { firstname => 'Bo', date => '2026-02-30', time => '25:00' });
holds($bad->{status} == 400 && $bad->{error}{message} =~ /surname.*date.*time/s,
    'a bad payload, naming each field');

title('The audit log has it all, and its chain is whole');
my @told = (['user.create', 'ok'], ['user.delete', 'ok'],
    map { ["mcp tools/call $_", 'ok', 'endpoint'] } qw(search_users get_user_access
    get_hygiene_report));
each_company(sub { audited(@told, stack->cloud ? ()
    : (['user.delete', 'FORBIDDEN'], ['user.create', 'BAD_REQUEST'])) });

title($failed ? "$failed steps did NOT hold" : 'Every step held');
say_line("   settings for your own tries: $run/demo.env");
if ($once) {
    $stack->stop;
    exit($failed ? 1 : 0);
}
my $read = $acme->key('read');
my $url = $stack->httpd->url;
my $client = Idadmin::Test::json_text({ mcpServers => { identity => { type => 'http',
    url => "$url/mcp", headers => { Authorization => "Bearer $read->{mcpSecret}" } } } });
say_line(<<"TEXT");

The console:     @{[ strong("$url/console/") ]}   sign in as administrator, password secret
                 (viewer, operator, approver, key-administrator, auditor: the same password)

Everything stays up until Ctrl-C. In another terminal:
   . $run/demo.env; PATH=$run/bin:\$PATH
   idadminctl key list acme
   curl -H "X-Company-ID: \$CLOUD_COMPANY_ID" \\
        -H "X-Api-User: \$CLOUD_READ_USER" -H "X-Api-Key: \$CLOUD_READ_KEY" \\
        "\$BASE_URL/v1/api/user?userPrincipalName=\$CLOUD_KNOWN_UPN"
   REST          $url/v1/api/user   OpenAPI $url/v1/openapi.json
   MCP           $url/mcp, header "Authorization: Bearer $read->{mcpSecret}"
   in an assistant: $client
   keys          acme (cloud) and nordic (on-premises), full access and read-only: in demo.env
   directories   @{[ $stack->slapd->url ]}, $Idadmin::Test::Slapd::suffix; @{[ $acme->cloud->url ]}
   store         @{[ $stack->store ]}
TEXT
sleep 3600 while 1;
