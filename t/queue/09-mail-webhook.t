# Mail and webhooks, call by call: over a real mail server with every kind of encryption and
# sign-in, and a receiver that answers, refuses, redirects, disconnects, never ends and does not
# answer. Temporary failures are retried, permanent ones are not, and no forbidden address is
# reached.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Smtp ();
use Idadmin::Test::Webhook ();
use Encode qw(encode_utf8);
use IPC::Open2 ();
use POSIX ();

my $skip = Idadmin::Test::Smtp->skip_reason;
plan(skip_all => $skip) if $skip;

my $ca = Idadmin::Test::Tls::files()->{ca};

sub tool {
    my $pid = IPC::Open2::open2(my $from, my $to, build_dir() . '/tool/send_call');
    my $send = sub { print {$to} json_text($_[0]), "\n"; $to->flush };
    my $hear = sub { my $line = <$from> // die "the tool has ended\n"; json_data($line) };
    return ($send, $hear, sub { print {$to} "\n"; $to->flush; waitpid $pid, 0; $? });
}

my ($send, $hear, $end) = tool();
sub call { $send->({@_}); return $hear->() }

my %mail = (to => 'eva.berg@nordic.example', subject => 'Hej', body => 'Text', id => 'm.1');

sub send_mail {
    my ($server, $changes, %settings) = @_;
    my %options = ref $server ? $server->options(from => 'identity@nordic.example') : ();
    return call(mail => { %mail, %$changes },
        (map { (s/^--//r =~ tr/-/_/r => $options{$_}) } keys %options), %settings);
}

sub is_end { my ($got, $outcome, $detail, $name) = @_;
    is($got->{outcome}, $outcome, $name) or diag($got->{detail});
    like($got->{detail}, $detail, 'and says so') }

subtest 'mail: ways' => sub {
    my %auth   = (user => 'identity', password => 'pass "word\\ =1');
    my $signed = Idadmin::Test::Smtp->new(tls => 'starttls', auth => \%auth);
    my $direct = Idadmin::Test::Smtp->new(tls => 'smtps', auth => \%auth);
    my $clear  = Idadmin::Test::Smtp->new(tls => '');
    is_end(send_mail($signed, {}), 'done',
        qr/accepted by the mail server 127\.0\.0\.1:\d+: 250 2\.0\.0 Taken over$/,
        'STARTTLS and sign-in');
    is_end(send_mail($direct, {}), 'done', qr/250/, 'smtps and sign-in');
    is_end(send_mail($clear, {}), 'done', qr/250/, 'to loopback in clear');
    is_deeply([map { my ($mail) = $_->mail; [$mail->{tls} ? 1 : 0, $mail->{user}] } $signed,
        $direct, $clear], [[1, 'identity'], [1, 'identity'], [0, undef]], 'as the server sees it');
    is_end(send_mail($clear, {}, smtp_ca_file => $ca), 'refused',
        qr/no STARTTLS; mail is not sent in clear/,
        'a server without STARTTLS where encryption is wanted');
    is_end(send_mail($clear, {}, smtp_user => 'x',
        smtp_password_file => secret_file('x.password', "x\n")), 'refused', qr/no STARTTLS/,
        'no password goes in clear');
    is_end(send_mail($signed, {},
        smtp_ca_file => secret_file('other.pem', slurp(other_authority()))), 'later',
        qr/cannot be used: .*certificate.*check smtp_ca_file/i, 'another authority');
    is_end(send_mail($signed, {}, smtp_password_file => secret_file('wrong.password', "wrong\n")),
        'refused', qr/535/, 'a wrong password');
    my $open = secret_file('open.password', "open\n");
    chmod 0644, $open;
    is_end(send_mail($signed, {}, smtp_password_file => $open), 'refused',
        qr/smtp_password_file .* can be read by others/, 'a password that others can read');
    is_end(send_mail($signed, {}, smtp_password_file => undef), 'refused',
        qr/smtp_password_file is not/, 'a user without a password');
    is_end(send_mail(undef, {}), 'refused', qr/No mail server is configured/, 'no mail server');
    is_end(send_mail(undef, {}, smtp_url => 'smtp://127.0.0.1:' . free_port(),
        smtp_from => 'a@b.example'), 'later', qr/cannot be used: .*(?:refused|connect)/i,
        'without a listener');
    is(scalar(my @sent = $clear->mail), 1, 'what was refused was not sent');

    for my $case (['STARTTLS', $signed, {}, qr/^warning: expires in \d+ days?, on /],
        ['smtps', $direct, {}, qr/^warning: expires in \d+ days?, on /],
        ['loopback in clear', $clear, {}, qr/^ok: can be connected to, without TLS$/],
        ['no STARTTLS', $clear, { smtp_ca_file => $ca },
        qr/^fault: .*no STARTTLS; mail is not sent in clear/],
        ['another authority', $signed, { smtp_ca_file => other_authority() },
        qr/^fault: .*cannot be used: .*certificate.*check smtp_ca_file/i],
        ['a file that is none', $direct, { smtp_ca_file => secret_file('none.pem', "none\n") },
        qr/^fault: .*cannot be used: .*none\.pem/]) {
        my ($name, $server, $changes, $said) = @$case;
        my %options = $server->options;
        like(doctor({ (map { (s/^--//r =~ tr/-/_/r => $options{$_}) } keys %options), %$changes })
            ->{'smtp_url mail'}, $said, "the doctor, $name");
    }
};

subtest 'a database over TLS' => sub {
    my $at = sub { my ($options, $host) = @_;
        return doctor({ store => 'pgsql:connect_timeout=2 host=' . ($host // '127.0.0.1')
            . ' port=' . free_port() . " dbname=x $options" }) };
    like($at->('sslmode=require', '192.0.2.1')->{'192.0.2.1 database over TLS'},
        qr/^warning: store does not verify the server: set sslmode=verify-full/, 'one unverified');
};

# What the doctor says of these settings: "SETTING CHECK" => "LEVEL: DETAIL".
sub doctor {
    my ($settings) = @_;
    my $file = secret_file('doctor.conf', encode_utf8(join '', map {"$_ = $settings->{$_}\n"}
        keys %$settings));
    my @store = $settings->{store} ? () : ('--store', 'sqlite3:' . tempdir() . '/none.db');
    my $told = run_command([Idadmin::Test::program('idadminctl'), qw(doctor --json --config), $file,
        @store], user => Idadmin::Test::runtime_user());
    return { map { (($_->{of} // '') . " $_->{check}" => "$_->{level}: " . ($_->{detail} // '')) }
        @{ json_data($told->{out})->{checks} } };
}

subtest 'mail: answers' => sub {
    my $server = Idadmin::Test::Smtp->new(tls => '');
    is_end(send_mail($server, { to => 'refused@nordic.example' }), 'refused',
        qr/550 5\.1\.1 .*\(RCPT failed/, 'no such mailbox');
    is_end(send_mail($server, { to => 'refused@nordic.example' },
        smtp_from => 'refused@nordic.example'), 'refused', qr/553 5\.1\.8 .*\(MAIL failed/,
        'a sender that is not taken: no word of the recipient');
    is_end(send_mail($server, {}, smtp_from => 'busy1@nordic.example'), 'later',
        qr/450 4\.1\.8 .*\(MAIL failed/, 'a sender that is not taken now');
    is_end(send_mail($server, { to => 'unknown@nordic.example' }), 'refused', qr/551 5\.7\.1/,
        'refused after the text');
    is_end(send_mail($server, { to => 'busy1@nordic.example' }), 'later', qr/451 4\.3\.0/, 'busy');
    is_end(send_mail($server, { to => 'busy1@nordic.example' }), 'done', qr/250/, 'later no more');
    is_end(send_mail($server, { to => 'lost@nordic.example' }), 'lost', qr/whose answer is lost/,
        'accepted, but its answer was lost');
    is_end(send_mail($server, { to => "eva\@x.example>\r\nRCPT TO:<eve\@evil.example" }), 'refused',
        qr/one mail address/, 'a recipient with more in it');
    my $body = join "\n", 'Åäö ' x 50, '.', '..', '.dot', 'trailing   ', "\ttab", 'From here',
        '= equals =3D', 'x' x 300, '';
    is_end(send_mail($server, { to => 'form@nordic.example',
        subject => "Sübject\r\nX-Evil: 1 " . 'ö' x 90, body => $body,
        secret => "user\nsecret.=\n" }), 'done', qr/250/, 'a text of all kinds');
    my ($mail) = $server->mail('form@nordic.example');
    is($mail->{body}, "$body\n\nuser\nsecret.=\n\n", 'arrives as it is');
    is($mail->{headers}{subject}, 'Sübject  X-Evil: 1 ' . 'ö' x 90, 'the subject is one line');
    is($mail->{headers}{'x-evil'}, undef, 'and makes no header');
    is($mail->{headers}{'message-id'}, '<m.1@nordic.example>', 'with the ID it was given');
};

sub other_authority {
    my $file = tempdir() . '/other.pem.made';
    run_command(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:prime256v1', '-nodes', '-days', 2, '-subj', '/CN=another', '-keyout',
        '/dev/null', '-out', $file]);
    return $file;
}

my $hook = Idadmin::Test::Webhook->new;
sub call_hook { my ($url, %changes) = @_;
    return call(webhook => { url => $url =~ /^\// ? $hook->url($url) : $url,
    secretFile => $hook->secret, id => 'msg_1', body => '{"type":"åäö"}',
    allowPrivate => JSON::PP::true(), %changes }) }

subtest 'webhook' => sub {
    # The silent one in the meantime.
    my ($silent, $heard, $over) = tool();
    my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'tcp', Listen => 5)
        or die "$!\n";
    $silent->({ webhook => { url => 'http://127.0.0.1:' . $mute->sockport . '/',
        secretFile => $hook->secret, id => 'msg_2', body => '{}',
        allowPrivate => JSON::PP::true() } });
    is_end(call_hook('/ok'), 'done', qr/status 200/, 'answered');
    my ($call) = $hook->calls('/ok');
    ok($call->{signed}, 'signed');
    is_end(call_hook("/status/$_"), 'done', qr/status $_/, "status $_") for 201, 204;
    is_end(call_hook("/status/$_"), 'refused', qr/status $_/, "status $_")
        for 304, 400, 401, 404;
    is_end(call_hook('/status/410'), 'gone', qr/gone for good \(status 410\)/, 'status 410');
    is_end(call_hook("/status/$_"), 'later', qr/status $_/, "status $_")
        for 408, 425, 429, 500, 503;
    is_end(call_hook("/short/$_->[0]"), $_->[1], qr/\(status $_->[0]\)$/,
        "an answer that breaks off after its status $_->[0]")
        for [200, 'done'], [404, 'refused'], [503, 'later'];
    is_end(call_hook('/late'), 'done', qr/status 200/, 'an answer that takes its time');
    is_end(call_hook('https://nobody.invalid/'), 'later',
        qr/cannot be reached: .*(?:resolve|nobody\.invalid)/i, 'an unknown name');
    my $slow = call_hook('/busy/1/429');
    is("$slow->{outcome} $slow->{retryAfter}", 'later 1000', 'Retry-After is heard');
    is_end(call_hook('/redirect'), 'refused', qr/redirect/, 'a redirect');
    is(scalar(my @followed = $hook->calls('/ok')), 1, 'is not followed');
    is_end(call_hook('/drop'), 'lost', qr/no answer came/, 'broken off');
    my $big = call_hook('/big');
    is($big->{outcome}, 'done', 'an endless answer is not listened to after its status');
    is_end(call_hook('http://127.0.0.1:' . free_port() . '/'), 'later', qr/cannot be reached/,
        'without a listener');
    is_end(call_hook($hook->tls_url('/ok?tls')), 'later',
        qr/certificate.*check caFile beside its url/i, 'TLS of an unknown authority');
    is_end(call_hook($hook->tls_url('/ok?tls'), caFile => $ca), 'done', qr/200/,
        'of one that is named');
    for my $url ($hook->url('/never'), $hook->tls_url('/never'),
        map { $hook->tls_url('/never') =~ s/127\.0\.0\.1/$_/r } 'localhost', '[::ffff:127.0.0.1]',
        '[::1]', '0.0.0.0', '2130706433', '0x7f.1', '127.1') {
        is_end(call_hook($url, allowPrivate => JSON::PP::false(), caFile => $ca), 'refused',
            qr/is at the address \S+, which is not of the public internet.*nothing was sent/, $url);
    }
    is_end(call_hook('http://0.0.0.0:1/'), 'refused', qr/http:\/\/ is for this machine alone/,
        'http elsewhere');
    is(scalar(my @never = $hook->calls('/never')), 0, 'no forbidden address was reached');
    is_end(call_hook('/ok', secretFile => '/nonexistent'), 'refused', qr/secretFile/, 'no secret');
    my $never = $heard->();
    is_end($never, 'lost', qr/no answer came: .*(?:time|Timeout)/i, 'a silent receiver');
    is($over->(), 0, 'the tool ends');
};

is($end->(), 0, 'the tool ends cleanly');
done_testing();
