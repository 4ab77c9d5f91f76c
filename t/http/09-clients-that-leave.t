# A client that has disconnected is not worked for: its read ends at the next statement, its write
# stops waiting for a writer that is still at work. So does a write whose time is over.
use strict;
use warnings;
use utf8;
use File::Basename qw(basename);
use Test::More;
use Idadmin::Test qw(build_dir json_text slurp spew within);
use Idadmin::Test::Fault ();
use Idadmin::Test::Mcp ();
use Idadmin::Test::Stack;

my ($stack, $fault);

# The writer's first commit does not come to its end, while the writer says every second that it
# lives.
sub writer_program {
    my $folder = Idadmin::Test::tempdir();
    my $slow   = spew("$folder/slow.so", scalar slurp(build_dir() . '/faults/slow.so'));
    my $config = Idadmin::Test::build_config();
    my $before = $config->{sanitizers} ? "$config->{preload} " : '';
    my $program = Idadmin::Test::program('idadmin-writer');
    my $script = spew("$folder/writer.sh", "#!/bin/sh\nexport LD_PRELOAD='$before$slow' "
        . "IDADMIN_SLOW='fsync=3600000 commit=3600000'\nexec '$program' \"\$@\"\n");
    chmod 0755, $slow, $script;
    return $script;
}

sub head { my ($line, $name, %more) = @_;
    my %headers = ($stack->headers('full'), Host => 'x', 'X-Request-Id' => "waits-$name", %more);
    return join '', "$line HTTP/1.1\r\n", (map {"$_: $headers{$_}\r\n"} sort keys %headers),
        "\r\n";
}

sub request { my ($name) = @_;
    my $text = json_text({ firstname => $name, surname => 'Waits', date => '2031-03-03' });
    my $raw  = $stack->httpd->client->connect;
    $raw->send_raw(head('POST /v1/api/user', $name, 'Content-Type' => 'application/json',
        'Content-Length' => length $text) . $text);
    return $raw;
}

# A client may close its sending end behind a request, as many a script does, and wait for the
# answer.
sub read_half_closed { my ($target) = @_;
    my $raw = $stack->httpd->client->connect;
    send $raw->{socket}, head("GET $target", 'half'), 0x8000    # MSG_MORE: in one packet
         or die "send: $!";
    shutdown $raw->{socket}, 1;
    return $raw->read_answer;
}

# httpd has the header, then a second passes, then body and end of the connection come together.
sub read_and_leave { my ($tool) = @_;
    my $mcp = Idadmin::Test::Mcp->new($stack->httpd, key => $stack->key('read'));
    my $message = $mcp->message('tools/call', { name => $tool, arguments => {} });
    my $text = json_text($message);
    my $raw = $stack->httpd->client->connect;
    my %headers = (@{ $mcp->headers($message) }, Host => 'x', Expect => '100-continue',
        'Content-Length' => length $text);
    $raw->send_raw("POST /mcp?$tool HTTP/1.1\r\n"
        . join('', map {"$_: $headers{$_}\r\n"} sort keys %headers) . "\r\n");
    is($raw->next_status, 100, "$tool: its header is read");
    $fault->leap(2);
    send $raw->{socket}, $text, 0x8000 or die "send: $!";
    $raw->close;
}

sub writes_held {
    my ($held) = $stack->httpd->client->request('GET', '/metrics', headers => [])->{body}
        =~ /^idadmin_http_writer_holds\{of="writes"\} (\d+)$/m;
    return $held // 'none';
}

# httpd's line when it stops waiting for a writer, and the access log's when the request has ended.
sub gave_up { my ($name, $ended) = @_;
    return slurp($stack->httpd->error_log) =~ /the writer does not answer.*waits-$name/
        && $ended == grep {/"POST \/v1\S+ \S+ 503 /} $stack->httpd->access_lines }

Idadmin::Test::on_one_engine(sub {
    my ($engine) = @_;
    $fault = Idadmin::Test::Fault->new(basename(Idadmin::Test::build_config()->{httpd}));
    $stack = Idadmin::Test::Stack->new(engine => $engine, httpd => { children => 1,
        env => $fault->env, server => 'IdAdminWriterProgram ' . writer_program()
            . "\n<Location /metrics>\nSetHandler idadmin-metrics\nRequire local\n</Location>" });

    is(read_half_closed($_)->{status}, 200, "$_ for a client that has closed one end")
        for '/v1/api/users', '/v1/api/hygiene', '/v1/api/audit';
    for my $tool (qw(search_users get_hygiene_report get_audit_log)) {
        read_and_leave($tool);
        my $line = qr{"POST /mcp\?$tool HTTP/1.1" 503 };
        ok(within(sub { grep {/$line/} $stack->httpd->access_lines }), "$tool: its client has left")
            or diag join "\n", $stack->httpd->access_lines;
    }

    my $gone = request('gone');
    ok(within(sub { writes_held() eq '1' }), 'a write waits for the writer');
    ok(!gave_up('gone', 0), 'as long as its client does');
    $gone->close;
    ok(within(sub { gave_up('gone', 1) }), 'its client has gone: the request ends');

    my $long = request('long');
    ok(within(sub { writes_held() eq '2' }), 'another one');
    $fault->leap(31);
    my $answer = $long->read_answer;
    is($answer->{status}, 503, 'its time is over');
    like($answer->{body}, qr/may have been carried out\s+or not/, 'which it says');
    ok($answer->{headers}{'retry-after'}, 'and when to try again');
    ok(within(sub { gave_up('long', 2) }), 'and the request ends');
    is($stack->get_user('eva.berg@nordic.example')->{status}, 200, 'reads go on');
    $stack->httpd->expect_log(qr/IDA0252/);
    kill KILL => $stack->httpd->writers;
    $stack->stop;
}, 'httpd waits for the writer before either engine is met');
done_testing();
