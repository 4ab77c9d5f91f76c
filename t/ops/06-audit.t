# Each authenticated request has exactly one audit record, with caller, operation, arguments and
# outcome. Refusals by a limit are one record each minute; the spool of a dead node is ingested
# once; the chain reveals every change made without the service.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Photo ();
use Idadmin::Test::Stack;
use IO::Socket::UNIX ();
use List::Util qw(sum0);
use POSIX ();
use Time::HiRes ();

my $limit = 6291456;
my $stack;

sub audit_list {
    my (%filter) = @_;
    return sort { $a->{id} <=> $b->{id} }
        @{ $stack->records(map { ("--$_", $filter{$_}) } sort keys %filter) };
}

# Waits until as many records of an actor are there as were expected, and a moment longer for one
# too many.
sub records_of {
    my ($actor, $count) = @_;
    my @records;
    # Refused credentials are recorded each minute, so they may come in between.
    within(sub { @records = grep { $_->{action} ne 'credentials.refused' }
        audit_list(actor => $actor, category => 'api');
        $count <= sum0 map { ($_->{parameters} // {})->{count} // 1 } @records });
    return @records;
}

sub requests {
    my $upn   = 'eva.berg@nordic.example';
    my $photo = Idadmin::Test::Photo::base64(Idadmin::Test::Photo::jpeg(2000));
    my $key   = 'counted';
    my @expected;
    my $did = sub {
        my ($answer, $status, $endpoint, $action, $parameters, $target) = @_;
        is $answer->{status}, $status, "$endpoint: $status" or diag $answer->{body};
        push @expected, { endpoint => $endpoint, action => $action, parameters => $parameters,
            target => $target, outcome => $answer->{json}{error}{code} // 'ok',
            task => $answer->{json}{data}{taskId} };
        return $answer;
    };
    my %json = (headers => { 'Content-Type' => 'application/json' });
    $did->($stack->get_user($upn, key => $key), 200, 'GET /v1/api/user', 'user.get',
        { userPrincipalName => $upn }, $upn);
    $did->($stack->get_user('no.one@nordic.example', key => $key), 404, 'GET /v1/api/user',
        'user.get', { userPrincipalName => 'no.one@nordic.example' }, 'no.one@nordic.example');
    $did->($stack->call(HEAD => '/v1/api/tasks?limit=2', key => $key), 200, 'HEAD /v1/api/tasks',
        'task.list', { limit => 2 });
    $did->($stack->get('/v1/api/tasks?limit=0&colour=red', key => $key), 400, 'GET /v1/api/tasks',
        'task.list', { limit => '0' });
    $did->($stack->get('/v1/api/nothing', key => $key), 404, 'GET /v1/api/nothing', 'request',
        undef);
    my $created = $did->($stack->post('/v1/api/user',
        { firstname => 'Åsa', surname => 'Öberg', date => '2031-03-01', profilePhoto => $photo,
        password => 'hunter2' }, key => $key), 200,
        'POST /v1/api/user', 'user.create',
        { firstname => 'Åsa', surname => 'Öberg', date => '2031-03-01',
        profilePhoto => '(left out)' }, 'asa.oberg@nordic.example');
    $did->($stack->post('/v1/api/user', { firstname => 'Åsa', profilePhoto => $photo },
        key => $key), 400, 'POST /v1/api/user', 'user.create',
        { firstname => 'Åsa', profilePhoto => '(left out)' });
    $did->($stack->call(POST => '/v1/api/user', key => $key, body => '{', %json), 400,
        'POST /v1/api/user', 'user.create', undef);
    $did->($stack->call(POST => '/v1/api/user', key => $key, body => '{}',
        headers => { 'Content-Type' => 'text/plain' }), 415, 'POST /v1/api/user', 'user.create',
        undef);
    $did->($stack->call(POST => '/v1/api/user', key => $key, body => 'x' x ($limit + 1), %json),
        413, 'POST /v1/api/user', 'user.create', undef);
    $did->($stack->delete('/v1/api/user',
        { userPrincipalName => 'bo.ek@nordic.example', date => '2031-05-31' }, key => $key), 200,
        'DELETE /v1/api/user', 'user.delete',
        { userPrincipalName => 'bo.ek@nordic.example', date => '2031-05-31' },
        'bo.ek@nordic.example');
    $did->($stack->post('/v1/api/user/offboard', { userPrincipalName => 'bo.ek@nordic.example' },
        key => $key), 200, 'POST /v1/api/user/offboard', 'user.delete',
        { userPrincipalName => 'bo.ek@nordic.example' }, 'bo.ek@nordic.example');
    my $id = $created->{json}{data}{taskId};
    $did->($stack->get("/v1/api/task?id=$id", key => $key), 200, 'GET /v1/api/task', 'task.get',
        { id => $id }, 'asa.oberg@nordic.example');
    $did->($stack->delete("/v1/api/task?id=$id", undef, key => $key), 200, 'DELETE /v1/api/task',
        'task.cancel', { id => $id }, 'asa.oberg@nordic.example');
    $did->($stack->delete("/v1/api/task?id=$id", undef, key => $key), 409, 'DELETE /v1/api/task',
        'task.cancel', { id => $id });
    $did->($stack->get('/other/v1/api/tasks', key => $key), 403, 'GET /v1/api/tasks', 'task.list',
        undef);
    # No record of their own: the caller is unknown.
    is $stack->call(PUT => '/v1/api/user', key => $key)->{status}, 405,
        'a wrong method is refused before authentication';
    is $stack->get('/v1/api/tasks',
        key => { %{ $stack->key($key) }, apiKey => $stack->key('read')->{apiKey} })->{status}, 401,
        'a wrong key';
    is $stack->httpd->client->request(OPTIONS => '/v1/api/user')->{status}, 204, 'OPTIONS';

    my @records = records_of('hr-counted', scalar @expected);
    is scalar @records, scalar @expected, 'exactly one record a request';
    # Writes come by the outbox, reads by the spool: the content is compared, not the order of the
    # two ways.
    my %found;
    push @{ $found{"$_->{endpoint} $_->{outcome}"} }, $_ for @records;
    for my $want (@expected) {
        my $name = "$want->{endpoint} $want->{outcome}";
        my ($at) = grep {
            json_text($found{$name}[$_]{parameters}) eq json_text($want->{parameters}) }
            0 .. $#{ $found{$name} // [] };
        ok defined $at, "$name with its parameters"
            or do { diag json_text($want), json_text($found{$name}); next };
        my $got = splice @{ $found{$name} }, $at, 1;
        is $got->{action}, $want->{action}, "$name: action";
        is $got->{target}, $want->{target}, "$name: target" if defined $want->{target};
        is "$got->{category} $got->{actor} $got->{label}", 'api hr-counted Counted ones',
            "$name: category, actor, label";
        is $got->{detail}, "task $want->{task}", "$name: the task" if $want->{task};
        ok length $got->{detail}, "$name: why" if $want->{outcome} ne 'ok';
        is $got->{address}, '127.0.0.1', "$name: from where";
        like $got->{at}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/, "$name: when";
    }
    my $refused = $stack->post('/v1/api/user', { firstname => 'A', surname => 'B' },
        key => 'reader');
    is $refused->{status}, 403, 'a read-only key';
    my ($record) = records_of('hr-reader', 1);
    is $record->{outcome}, 'FORBIDDEN', 'its refusal';
    like $record->{detail}, qr/read-only/, 'with the reason';
}

sub freshness {
    for my $write (0, 1) {
        my $count = scalar(my @before = audit_list(actor => 'hr-counted', category => 'api'));
        $write ? $stack->post('/v1/api/user',
            { firstname => 'Fresh', surname => 'One', date => '2031-01-01' }, key => 'counted')
            : $stack->get('/v1/api/tasks', key => 'counted');
        ok within(sub {
            scalar(my @now = audit_list(actor => 'hr-counted', category => 'api')) > $count }),
            ($write ? 'a write' : 'a read') . ' can be read within five seconds';
    }
}

# Each request asks for a path of its own, so that its record can be distinguished from all others.
sub killed {
    my $done    = tempdir() . '/killed.' . $stack->engine;
    my $httpd   = $stack->httpd;
    my $trouble = Idadmin::Test::fork_plain();
    if (!$trouble) {
        for my $round (1 .. 6) {
            my $lines = $httpd->access_lines;
            within(sub { $httpd->access_lines > $lines + 40 });
            $httpd->kill_child;
            kill KILL => $stack->worker->pid if $round == 4; # in the middle of reading
        }
        spew($done, '');
        POSIX::_exit(0);
    }
    my @results = in_parallel(4, sub {
        my ($number) = @_;
        my @answered;
        for (my $i = 0; !-e $done; $i++) {
            my $path   = "/v1/api/r${number}x$i";
            my $answer = eval {
                $stack->get($path, key => 'many',
                client => $stack->{own}{$$} //= $stack->httpd->client) };
            $answer ? push @answered, "GET $path" : delete $stack->{own}{$$};
            Time::HiRes::sleep(0.01);
        }
        return \@answered;
    });
    waitpid $trouble, 0;
    $stack->worker->kill9;
    $stack->worker->start;
    my @answered = map {@$_} @results;
    cmp_ok scalar @answered, '>', 100, 'answers: ' . @answered;
    my (%count, @missing);
    within(sub {
        %count = map {
            @$_ } $stack->sql("SELECT endpoint, count(*) FROM audit.record WHERE endpoint LIKE "
            . "'GET /v1/api/r%x%' GROUP BY endpoint");
        @missing = grep { !$count{$_} } @answered;
        !@missing;
    });
    is scalar @missing, 0, 'each of them has its record' or diag "@missing[0 .. 2]";
    # A read whose connection died is sent again by the client: two requests, two records. The same
    # record twice would have one rid.
    is_deeply [$stack->sql("SELECT rid FROM audit.record WHERE endpoint LIKE 'GET /v1/api/r%x%' "
        . "GROUP BY rid HAVING count(*) > 1")], [], 'and only one';
    cmp_ok scalar(grep { $_ > 2 } values %count), '==', 0,
        'or two, where the client had to ask again';
    is $stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole';
}

sub limited {
    my @status = map { $stack->get('/v1/api/tasks', key => 'small')->{status} } 1 .. 8;
    is "@status", '200 200 200 429 429 429 429 429', 'three of eight';
    my $other = join ' ', map { $stack->get($_, key => 'small2')->{status} } ('/v1/api/tasks') x 4,
        '/v1/api/users';
    is $other, '200 200 200 429 429', 'and of another key';
}

sub after_limited {
    # The children leave, and with them what they have counted.
    $stack->httpd->stop;
    my @records = records_of('hr-small', 8);
    my @refused = grep { $_->{outcome} eq 'RATE_LIMIT_EXCEEDED' } @records;
    is scalar(grep { $_->{outcome} eq 'ok' } @records), 3, 'three answers, three records';
    is sum0(map { $_->{parameters}{count} } @refused), 5, 'five refusals are counted';
    cmp_ok scalar @refused, '<=', 2, 'in one record a minute';
    is "$refused[0]{action} $refused[0]{label}", 'rateLimit Small ones', 'under their name';
    is "$refused[0]{endpoint} $refused[0]{address}", 'GET /v1/api/tasks 127.0.0.1',
        'with what was asked and from where';
    my @twin = grep { $_->{outcome} eq 'RATE_LIMIT_EXCEEDED' } records_of('hr-small2', 5);
    is sum0(map { $_->{parameters}{count} } @twin), 2, 'the other key has its own';
    # where the minute ended between the two, each stands by itself
    is $twin[0]{endpoint}, undef, 'of several addresses none is told' if @twin == 1;
}

sub others {
    my @commands = audit_list(category => 'command');
    ok scalar(grep { $_->{action} eq 'tenant.apply' && $_->{actor} } @commands),
        'what administrators do';
    my $done = $stack->post('/v1/api/user', { firstname => 'Right', surname => 'Now' });
    $stack->wait_task($done->{json}{data}{taskId});
    my @steps;
    within(sub { @steps = grep { json_text($_) =~ /\Q$done->{json}{data}{taskId}\E/ }
        audit_list(category => 'workflow'); $steps[-1] && $steps[-1]{action} eq 'task.done' });
    is join(' ', map { $_->{parameters}{step} // $_->{action} } @steps),
        'createAccount setManager setPhoto task.done', 'what the worker does, in its order';
    my $listed = $stack->ctl('audit', 'list', 'nordic', '--category', 'workflow', '--limit',
        4)->{out};
    like $listed, qr/task\.step .*step createAccount/, 'and the list names the steps';
    is scalar(grep { $_->{actor} ne 'worker' } @steps), 0, 'by its name';
    my $all = $stack->ctl_ok('audit', 'export', 'nordic', '--json');
    my $text = json_text($all);
    unlike $text, qr/\Q$stack->{keys}{$_}{apiKey}\E/, "no key of $_"
        for sort keys %{ $stack->{keys} };
    unlike $text, qr/hunter2|\/9j\/4/, 'no password, no photo';
    my $sequence = join ' ', sort { $a <=> $b } map { $_->{id} } @$all;
    is $sequence, join(' ', 1 .. @$all), 'the sequence has no gap';
}

# People put keys where they do not belong: a field of the wrong form, a question to an assistant,
# an address.
sub misplaced {
    my %key   = %{ $stack->key('counted') };
    my $count = records_of('hr-counted', 1);
    my %json  = (headers => { 'Content-Type' => 'application/json',
        Accept => 'application/json, text/event-stream' });
    # longer than what a message repeats of a text
    my %halved = (limit => '.' x 30 . $key{apiKey}, $key{mcpSecret} . ':' . 'x' x 30 => 1);
    my $ask    = sub { my ($method, %params) = @_;
        $stack->call(POST => '/mcp', key => 'counted',
        body => json_text({ jsonrpc => '2.0', id => 1, method => $method, params => \%params }),
        %json) };
    my @asked = (
        $ask->("....................$key{mcpSecret}"),
            $ask->('tools/call', name => "....................$key{mcpSecret}"),
            $ask->('tools/call', name => 'search_users', arguments => \%halved),
        $stack->get('/v1/api/users?query=' . $key{apiKey} =~ s/_/%5F/r, key => 'counted'),
        $stack->get('/v1/api/tasks?state=' . $key{apiKey} =~ s/(.)/sprintf '%%%02x', ord $1/ger,
        key => 'counted'),
        $stack->get("/v1/api/users?query=$key{apiKey}", key => 'counted'),
        $stack->get("/v1/api/user?userPrincipalName=$key{mcpSecret}", key => 'counted'),
        $stack->get("/v1/api/$key{apiKey}", key => 'counted'),
        $stack->get("/v1/api/tasks?$key{apiKey}=1", key => 'counted'),
        $stack->delete("/v1/api/task?id=$key{apiKey}", undef, key => 'counted'),
        $stack->post('/v1/api/user', { firstname => $key{apiKey} }, key => 'counted'),
        $stack->post('/v1/api/user',
        { firstname => 'A', surname => 'B', department => "x" x 240 . $key{apiKey},
        $key{apiKey} => 1, time => $key{apiKey} }, key => 'counted'),
        $ask->('tools/call', name => 'get_user', arguments => { user => $key{mcpSecret} }),
    );
    is join(' ', map { $_->{status} } @asked),
        '200 200 200 200 400 200 404 404 400 404 400 400 200', 'answered as other texts are';
    is $stack->get('/v1/api/tasks', key => { %key, username => $key{apiKey} })->{status}, 401,
        'a key in the place of the username';
    is $stack->ctl('user', 'show', 'nordic', $key{apiKey})->{exit}, 1, 'and in a shell';
    records_of('hr-counted', $count + @asked);
    my $secret = substr $key{apiKey}, 4, 6; # half a key is one too many
    unlike slurp($stack->httpd->access_log) =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ger, qr/$secret/,
        'no key in the access log';
    like slurp($stack->httpd->access_log), qr/query=ida_\*{36} /, 'but asterisks';
    unlike slurp($stack->httpd->error_log), qr/$secret/, 'none in the error log';
    unlike $stack->worker->log_text, qr/$secret/, 'none in the log of the worker';
    unlike join('', map { slurp($_) } glob $stack->spool . '/*.audit'), qr/$secret/,
        'none in the spool';
    my $all = json_text($stack->ctl_ok('audit', 'export', 'nordic', '--json'));
    unlike $all, qr/$secret/, 'none in the audit log';
    like $all, qr/"query":"ida_\*{36}"/, 'where asterisks tell that there was one';
}

sub refused_records {
    return grep { $_->{action} eq 'credentials.refused' } audit_list(category => 'api');
}

# Refused credentials are in the log of the company that they name: one record a minute and address,
# however many.
sub strangers {
    my %good = %{ $stack->key('counted') };
    my %bad  = map { $_->[0] => $_->[1] } [wrong => { %good,
        apiKey => $stack->key('reader')->{apiKey} }], [typo => { %good, apiKey => 'ida_x' }],
        [nobody => { %good, username => 'nobody' }],
        [elsewhere => { %good, companyId => 'nowhere' }],
        [unnamed => { %good, username => 'no name' }];
    for my $round (1 .. 2) {
        my @targets = ((map { ['/v1/api/tasks', $_] } ($bad{wrong}) x 3, $round == 2
            ? @bad{qw(typo nobody elsewhere unnamed)} : ()),
            $round == 2 ? ['/v1/api/users', $bad{wrong}] : ());
        my $count = $round == 1 ? 3 : 7;    # one of them names no company
        # Once more where the minute ended meanwhile, whose records are then two.
        my (@before, @records);
        for (1 .. 5) {
            @before = refused_records();
            my $minute = int(time / 60);
            is $stack->get($_->[0], key => $_->[1])->{status}, 401, 'refused' for @targets;
            my $ended = int(time / 60) > $minute;
            # children that leave write down what they have counted, of all children
            my %old = map { $_ => 1 } $stack->httpd->children;
            $stack->httpd->graceful;
            within(sub { !grep { $old{$_} } $stack->httpd->children });
            within(sub { @records = refused_records();
                $count == sum0 map { $_->{parameters}{count} } @records[@before .. $#records] });
            last if !$ended;
        }
        is @records, @before + 1, 'one record' or return;
        my $last = $records[-1];
        is "$last->{category} $last->{outcome} $last->{address}", 'api UNAUTHORIZED 127.0.0.1',
            'of the address';
        is $last->{parameters}{count}, $count, 'with how many';
        is "$last->{actor} $last->{endpoint} $last->{parameters}{reason}",
            'hr-counted GET /v1/api/tasks wrong key', 'whose, where, and why' if $round == 1;
        is_deeply [@$last{qw(actor endpoint)}, $last->{parameters}{reason}],
            ['(several)', undef, '(several)'], 'where they differ, that is said' if $round == 2;
    }
    is_deeply [$stack->sql("SELECT DISTINCT tenant_id FROM audit.record")], [['nordic']],
        'a company that is none has no log';
}

# idadminctl status with the spool of this stack.
sub spool_status {
    my ($dir, @more) = @_;
    my $config = spew(tempdir() . '/status.conf', "store = $stack->{store}\nspool = $dir\n");
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $config);
    my $result = Idadmin::Test::run_command([Idadmin::Test::program('idadminctl'), 'status', @more,
        '--config', $config], user => Idadmin::Test::runtime_user());
    is $result->{exit}, 0, 'status' or diag $result->{err};
    return @more ? json_data($result->{out})->{spool} : $result->{out};
}

# A process with httpd's rights can write anything into the spool: ingestion does not stop, and no
# one else's word is taken from it.
sub foreign_files {
    my $spool = $stack->spool;
    my @names = map {"$spool/20000101000$_.audit"} 0 .. 4;
    POSIX::mkfifo($names[0], 0666) or die $!;
    my $socket = IO::Socket::UNIX->new(Local => $names[1], Listen => 1) or die $!;
    symlink '/etc/passwd', $names[2] or die $!;
    mkdir $names[3] or die $!;
    my %record = (tenant => 'nordic', actor => 'root', label => '', outcome => 'ok',
        at => int(time) * 1000);
    my $line = sub { "\x1e" . json_text({ %record, @_ }) =~ s/\n//gr . "\n" };
    spew("$names[4].new", $line->(rid => 'forged1', category => 'portal', action => 'tenant.apply')
        . $line->(rid => 'forged2', category => 'workflow', action => 'task.done')
            . $line->(rid => 'forged3', category => 'api', action => 'user.create',
                marks => '01hzz00000000000000000000z:+')
            . $line->(rid => 'honest1', category => 'api', action => 'user.get',
                target => 'honest', actor => 'hr-counted'));
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), "$names[4].new");
    rename "$names[4].new", $names[4] or die $!;
    ok within(sub { !-e $names[4] }), 'the segment behind them is taken and removed';
    ok $stack->worker->log_gets(qr/IDA0410 4 files in the spool .*\Q$names[0]\E/),
        'what is not a regular file is reported';
    ok $stack->worker->log_gets(qr/IDA0411\ 3\ audit\ records\ in\ the\ spool,\ the\ first\ of
        \ them\ in\ \Q$names[4]\E/x), 'and records that claim another origin';
    $stack->get('/v1/api/tasks', key => 'counted');
    ok within(sub { !spool_status($spool, '--json')->{segments} }),
        'later segments are taken too, and nothing waits';
    is spool_status($spool, '--json')->{passedOver}, 4, 'status counts the strangers';
    like spool_status($spool), qr/Audit spool: .*4 files are not regular files/, 'and says so';
    my @all = grep { ($_->{detail} // '') =~ /forged[123]/
        || ($_->{target} // '') eq 'honest' } @{ $stack->records };
    is_deeply [sort map {"$_->{category} $_->{action} $_->{outcome} $_->{actor}"} @all],
        [('api audit.ingest damaged httpd') x 3, 'api user.get ok hr-counted'],
        'forged records are kept as damaged ones of httpd, with their text; the other one as it is';
    is $stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'the chain is whole';
    close $socket;
    unlink @names[0 .. 2] or die $!;
    rmdir $names[3] or die $!;
    is spool_status($spool, '--json')->{problem}, undef, 'gone, all is well';
}

# Run with worker and httpd stopped: the spool of a node that died.
sub dead_node {
    my $before = $stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{records};
    my $httpd  = $stack->httpd;
    $httpd->start;
    # Segments that the worker had read and not yet removed.
    my $known = () = join('', map { slurp($_) } glob $stack->spool . '/*.audit') =~ /\x1e/g;
    $stack->get('/v1/api/tasks', key => 'counted', client => $httpd->client, close => 1)
        for 1 .. 20;
    $httpd->stop('KILL');
    my $dir = tempdir() . '/dead' . ++our $dead;
    mkdir $dir or die $!;
    system('cp', '-a', '--', $stack->spool . '/.', $dir) == 0 or die;
    my @segments = sort glob "$dir/*.audit";
    my $bytes = join '', map { slurp($_) } @segments;
    my @lines = $bytes =~ /(\x1e[^\n]*\n)/g;
    is scalar @lines, $known + 20, 'twenty records wait in the spool';
    # Torn by a machine that lost its power: a beginning without its end before a whole one,
    # rubbish, text that is no record, an end cut off.
    my $extra = $lines[0] =~ s/"rid":"[^"]*"/"rid":"0000000000000000000000extra"/r;
    open my $out, '>>:raw', $segments[-1] or die $!;
    print $out substr($lines[0], 0, 40), $extra, "rubbish\n", "\x1e{\"rid\":1}\n",
        substr($lines[1], 0, 60);
    close $out;
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir, glob "$dir/*");
    my $waiting = spool_status($dir, '--json');
    is $waiting->{bytes}, length(join '', map { slurp($_) } @segments),
        'status tells how many bytes wait there';
    is $waiting->{segments}, scalar @segments, 'in how many segments';
    ok $waiting->{oldestSeconds} >= 0 && $waiting->{oldestSeconds} < 3600,
        "and since when ($waiting->{oldestSeconds} s)";
    my $told = "Audit spool $dir: " . (@segments == 1 ? '1 segment' : @segments . ' segments')
        . " with $waiting->{bytes} bytes ";
    like spool_status($dir), qr/^\Q$told\Ewaits?, the oldest for \d+ seconds?\.$/m, 'in words too';
    my $result = $stack->ctl_ok('audit', 'ingest', $dir, '--json');
    is $result->{records}, @lines + 1, 'every whole record is read';
    is $result->{torn}, 4, 'the four torn ones are counted';
    is join(' ', glob "$dir/*.audit"), '', 'and the segments removed';
    is_deeply [@{ spool_status($dir, '--json') }{qw(segments bytes oldestSeconds)}], [0, 0, undef],
        'nothing waits any more';
    like spool_status($dir), qr/^Audit spool \Q$dir\E: nothing waits\.$/m, 'in words too';
    is $stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{records}, $before + 21,
        'they are in the log';
    $stack->ctl_ok('audit', 'ingest', $stack->spool, '--json');
    is $stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{records}, $before + 21,
        'the same records from another copy are the same records';
    my $nothing = $stack->ctl('audit', 'ingest', "$dir/none", '--json');
    is $nothing->{exit}, 1, 'a directory that is not there is a failure';
}

# Everything that a person with a database client may do, undone each time.
sub tampering {
    my $seq   = int($stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{records} / 2);
    my ($row) =
        $stack->sql("SELECT tenant_id, seq, rid, at, category, outcome, actor, actor_key, label, "
        . "action, target, endpoint, parameters, detail, address, correlation, salt, "
            . "personal_hash, hash, target_key, question, key_id, marks FROM audit.record "
            . "WHERE seq = $seq");
    my $quote = sub { defined $_[0] ? "'" . $_[0] =~ s/'/''/gr . "'" : 'NULL' };
    my $restore =
        "DELETE FROM audit.record WHERE seq = $seq; INSERT INTO audit.record (tenant_id, seq, "
        . "rid, at, category, outcome, actor, actor_key, label, action, target, endpoint,"
        . ' parameters, detail, address, correlation, salt, personal_hash, hash, target_key,'
            . ' question, key_id, marks)'
            . ' VALUES ('
            . join(', ', map { $quote->($_) } @$row) . ')';
    my ($last) = $stack->sql('SELECT seq FROM audit.chain');
    my @cases = (
        ['another outcome', "UPDATE audit.record SET outcome = 'changed' WHERE seq = $seq", $seq],
        ['another actor', "UPDATE audit.record SET actor = 'somebody' WHERE seq = $seq", $seq],
        ['another time', "UPDATE audit.record SET at = at + 1 WHERE seq = $seq", $seq],
        ['another address', "UPDATE audit.record SET address = '192.0.2.1' WHERE seq = $seq", $seq],
        ['another request',
        "UPDATE audit.record SET correlation = 'x' WHERE seq = $seq", $seq],
        ['an address of a request', 'UPDATE audit.record SET address = correlation, correlation = '
        . "NULL WHERE seq = $seq", $seq],
        ['other parameters',
        "UPDATE audit.record SET parameters = '{}', detail = 'x' WHERE seq = $seq", $seq],
        ['another hash of the personal part',
        "UPDATE audit.record SET actor = 'x', personal_hash = 'aa' WHERE seq = $seq", $seq],
        ['another mark', "UPDATE audit.record SET marks = marks || ' key/x:+' WHERE seq = $seq",
        $seq],
        ['another hash', "UPDATE audit.record SET hash = 'aa' WHERE seq = $seq", $seq],
        ['a record taken out', "DELETE FROM audit.record WHERE seq = $seq",
        qr/^(?:$seq|@{[ $seq + 1 ]})$/],
    );
    for my $case (@cases) {
        my ($name, $statement, $where) = @$case;
        $stack->sql($statement);
        my $result = $stack->ctl('audit', 'verify', 'nordic', '--json');
        is $result->{exit}, 1, "$name is seen";
        ok !$result->{json}{whole}, 'the chain is not whole';
        like $result->{json}{brokenAt}, ref $where ? $where : qr/^$where$/, 'and where';
        ok length $result->{json}{reason}, 'and why';
        $stack->sql($restore);
        is $stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'taken back, it is whole';
    }
    $stack->sql("DELETE FROM audit.record WHERE seq = $last->[0]");
    is $stack->ctl('audit', 'verify', 'nordic')->{exit}, 1, 'the last record taken off is seen';
}

my $rest = "    SetHandler idadmin-rest\n    AuthType IdAdmin\n";
on_one_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(
        engine => $engine,
        httpd  => { rate_limits => { failures => 'off' },
        locations =>
        "<Location /v1/api>\n$rest    Require valid-user\n</Location>\n<Location "
        . "/other/v1/api>\n$rest    Require idadmin-company other\n</Location>\n"
                . "<Location /mcp>\n    SetHandler idadmin-mcp\n    AuthType IdAdmin\n    Require "
                    . "valid-user\n</Location>\n" },
        keys   => {
            many => ['hr-many', 'read-only', '--rate-limit', '1000000/60s'],
            counted => ['hr-counted', 'full', '--label', 'Counted ones'],
            reader => ['hr-reader', 'read-only'],
            small => ['hr-small', 'read-only', '--rate-limit', '3/60s', '--label', 'Small ones'],
            small2 => ['hr-small2', 'read-only', '--rate-limit', '3/60s'],
        });
    $stack->httpd->expect_log(qr/IDA0210|AH01631|AH00052|AH00045|exit\ signal\ Killed|children
        \ are\ killed\ successively/x);
    # first: others' refusals of the same minute would be counted with them
    subtest strangers => \&strangers;
    subtest requests  => \&requests;
    subtest freshness => \&freshness;
    subtest others    => \&others;
    subtest misplaced => \&misplaced;
    $stack->worker->expect_log(qr/IDA041[01]/);
    subtest "files that are none of the spool" => \&foreign_files;
    subtest killed    => \&killed;
    subtest limited   => sub { limited(); after_limited() };
    is $stack->worker->stop, 0, 'the worker stops';
    subtest 'dead node' => \&dead_node;
    subtest tampering   => \&tampering;
    $stack->stop;
} 'What is recorded of a request is the subject. Outbox, spool and chain are proved on both '
    . 'engines by t/unit/audit/audit.c and t/ops/10-tampered-audit.t.';
done_testing();
