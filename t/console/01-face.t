# Access to the console: who may enter, from where, to which company; and the audit records of it.
use strict;
use warnings;
use Test::More;
use File::Find ();
use Idadmin::Test qw(run_command slurp src_dir within);
use Idadmin::Test::Console qw(refused);
use Idadmin::Test::Stack ();

# How the sample has pages compressed.
my ($deflate) = slurp(src_dir() . '/conf/idadmin-httpd.conf')
    =~ /^\s*#\s*(AddOutputFilterByType BROTLI_COMPRESS.*)$/m;

my $stack = Idadmin::Test::Stack->new(
    httpd => {
        tls => 1, deflate => 1, server => $deflate,
        rate_limits => { person => '100000/60s' },
        console => "    IdAdminConsoleRole approver nordic \"%{REMOTE_USER} == 'eva'\"\n"
            . "    IdAdminConsolePerson \"%{REMOTE_USER}\@nordic.example\"\n"
            . "    IdAdminConsoleLink help https://intranet.example/idadmin\n"
            . "    IdAdminAllowOrigin https://people.example\n" });
my $httpd = $stack->httpd;
my %as = map { $_ => Idadmin::Test::Console->new($httpd, user => $_, company => 'nordic') }
    @Idadmin::Test::Httpd::console_users;

# What the browser fetches for the first page, by the imports of its files, over HTTP/2 and
# compressed as the sample says; and all of the console where only
# gzip is understood.
subtest 'bytes on the wire' => sub {
    my $curl = Idadmin::Test::program_path('curl') or plan skip_all => 'there is no curl';
    my $root = src_dir() . '/console';
    # As `make install` lays files down.
    run_command(['sh', '-c', 'cd "$1" && for file in *.js pages/*.js components/*.js i18n/*.js '
        . '*.css; do awk -f slim.awk "$file" >slim.out && cat slim.out >"$file"; done', 'sh',
        "$httpd->{base}/console"]);
    my (%first, @all);
    my @ahead = qw(app.js theme.js style.css icon.svg index.html i18n/sv.js i18n/sv.tasks.js
        pages/overview.js);
    while (defined(my $file = shift @ahead)) {
        next if $first{$file}++;
        my ($folder) = $file =~ m{^(.*/)};
        for my $name ($file =~ /\.js$/
            ? slurp("$root/$file") =~ /^(?:import|export)\b[^;]*?from\s+'(\.[^']+)'/mg : ()) {
            my $path = ($folder // '') . $name;
            $path =~ s{(?:^|/)\K\./}{}g;
            1 while $path =~ s{[^/]+/\.\./}{};
            push @ahead, $path;
        }
    }
    File::Find::find({ no_chdir => 1, wanted => sub {
        push @all, substr $_, 1 + length $root
            if /\.(?:js|css|svg|html)$/ && !m{/en[.\w]*\.js$} } }, $root);
    my $sent = sub {
        my $coding = shift;
        my @urls = map { ('-o', '/dev/null', $httpd->tls_url . "/console/$_") } @_;
        my $run = run_command([$curl, '-sSk', '--http2', '-H', "Accept-Encoding: $coding", '-w',
            '%{http_code} %{http_version} %{size_download} %{size_header}\n', @urls]);
        my @lines = map { [split] } split /\n/, $run->{out};
        is(scalar(grep { $_->[0] == 200 && $_->[1] eq '2' } @lines), scalar @_,
            'each file comes over HTTP/2') or diag $run->{err}, $run->{out};
        my $bytes = 0;
        $bytes += $_->[2] for @lines;
        return $bytes;
    };
    my $bytes = $sent->(br => sort keys %first);
    cmp_ok($bytes, '<=', 60_000, "the first page, in Swedish: $bytes bytes in "
        . (keys %first) . ' files');
    $bytes = $sent->(gzip => sort @all);
    cmp_ok($bytes, '<=', 132_000, "all of the console, in Swedish: $bytes bytes");
};

subtest 'who is signed in' => sub {
    my $session = $as{eva}->data('/session');
    is($session->{user}, 'eva', 'the name');
    is($session->{person}{userPrincipalName}, 'eva@nordic.example', 'the person');
    is_deeply($session->{companies}, [{ companyId => 'nordic', name => 'Nordic AB',
        timeZone => 'Europe/Stockholm', roles => ['approver'],
        rights => ['overview.read', 'requests.read', 'requests.decide'] }],
        'the companies with a role in them');
    is_deeply($session->{links}, { rest => '/v1/api', mcp => '/mcp',
        help => 'https://intranet.example/idadmin' }, 'links');
    is($as{administrator}->data('/companies', { query => 'NORD' })->{items}[0]{companyId},
        'nordic', 'companies are found by name');
    is($as{administrator}->data('/companies', { query => 'x' })->{totalCount}, 0, 'or not');
    refused($as{nobody}->get('/session'), 403, 'noRole', 'nobody without a role');
    my $unknown = Idadmin::Test::Console->new($httpd, company => 'nordic');
    my $refused = $unknown->get('/session');
    is($refused->{status}, 401, 'nor a caller who is not signed in');
    unlike($refused->{body}, qr/X-Company-ID/, 'and is not asked for a program\'s credentials');
};

subtest 'order of refusals' => sub {
    my $op = $as{operator};
    is($op->request('PUT', '/user')->{status}, 405, 'wrong method first');
    is($op->get('/nothing')->{status}, 404, 'no such path');
    refused($op->get('/users', { companyId => undef }), 403, 'companyUnknown', 'no company');
    refused($op->get('/users', { companyId => 'other' }), 403, 'companyUnknown', 'no such company');
    refused($as{eva}->get('/users'), 403, 'rightMissing', 'a right that the role does not have');
    is_deeply($as{eva}->get('/users')->{json}{error}{details},
        { right => 'people.read', roles => [qw(viewer operator auditor administrator)] },
        'which, and who has it');
    is($op->post('/user', '{}', {}, headers => { 'Content-Type' => 'text/plain' })->{status}, 415,
        'another type');
    my $bad = $op->post('/user', { firstname => 'A', date => '2026-13-01' });
    is($bad->{status}, 400, 'faults');
    is_deeply([sort map { $_->{name} } @{ $bad->{json}{error}{fields} }], [qw(date surname)],
        'by field');
};

subtest 'other sites' => sub {
    my $op   = $as{operator};
    my %from = (
        'cross-site' => 403, 'same-site' => 403, 'same-origin' => 200, none => 200);
    for my $site (sort keys %from) {
        is($op->get('/users', {}, headers => { 'Sec-Fetch-Site' => $site })->{status}, $from{$site},
            "Sec-Fetch-Site: $site");
    }
    my %origin = ('https://evil.example' => 403, null => 403, $httpd->url => 200,
        'https://people.example' => 200);
    for my $origin (sort keys %origin) {
        my $answer = $op->get('/users', {},
            headers => { 'Sec-Fetch-Site' => undef, Origin => $origin });
        is($answer->{status}, $origin{$origin}, "Origin: $origin");
        ok(!grep({/^access-control/} keys %{ $answer->{headers} }), 'no CORS header');
    }
    my $stranger = Idadmin::Test::Console->new($httpd, company => 'nordic');
    refused($stranger->get('/users', {}, headers => { 'Sec-Fetch-Site' => 'cross-site' }), 403,
        'crossSite', 'before the sign-in');
    refused($op->post('/user', { firstname => 'A', surname => 'B' }, {},
        headers => { 'X-IdAdmin-Console' => undef }), 403, 'headerMissing',
        'a write without the header');
    my $sign_in = $op->get('/sign-in', {}, headers => { 'Sec-Fetch-Site' => 'cross-site' });
    is_deeply([$sign_in->{status}, $sign_in->{headers}{location}], [303, '/console/'],
        'a sign-in comes back from elsewhere');
};

subtest 'headers' => sub {
    my $answer = $as{viewer}->get('/users');
    is($answer->{headers}{'cache-control'}, 'no-store', 'nothing is kept');
    is($answer->{headers}{'x-content-type-options'}, 'nosniff', 'nothing is guessed');
    is($answer->{headers}{'cross-origin-resource-policy'}, 'same-origin', 'nothing is embedded');
    my $tag = $answer->{headers}{etag};
    like($tag, qr/^W\/"[0-9a-f]{32}"$/, 'a weak tag');
    sleep 1;    # a tag made of the time would be another one
    my $again = $as{viewer}->get('/users', {},
        headers => { 'If-None-Match' => $tag =~ s/"$/-gzip"/r });
    is_deeply([$again->{status}, $again->{body}], [304, ''],
        'nothing new, also behind mod_deflate');
    is($again->{headers}{etag}, $tag, 'with the tag');
};

subtest 'each role, each operation' => sub {
    my %reads = (
        '/users' => [qw(viewer operator auditor administrator)],
        '/tasks' => [qw(viewer operator auditor administrator)],
        '/hygiene' => [qw(viewer operator auditor administrator)],
        '/role-templates' => [qw(viewer operator auditor administrator)],
        '/workflows' => [qw(viewer operator auditor administrator)],
        '/approvals' => [qw(viewer operator approver auditor administrator)],
        '/audit' => [qw(auditor administrator)],
    );
    for my $path (sort keys %reads) {
        my %may = map { $_ => 1 } @{ $reads{$path} };
        for my $role (@Idadmin::Test::Httpd::console_users[0 .. 5]) {
            my $status = $as{$role}->get($path)->{status};
            is($status, $may{$role} ? 200 : 403, "$role $path");
        }
    }
    for my $role (@Idadmin::Test::Httpd::console_users[0 .. 5]) {
        my $answer = $as{$role}->post('/user', { firstname => 'Dry', surname => 'Run' },
            { dryRun => 'true' });
        is($answer->{status}, $role =~ /operator|^administrator/ ? 200 : 403, "$role hires");
    }
};

subtest 'a hire is on record' => sub {
    my $key = 'one-hire';
    my $body = { firstname => 'Maja', surname => "Str\x{f6}m", date => '2031-03-30',
        time => '02:30' };
    my $made = $as{operator}->post('/user', $body, {}, headers => { 'Idempotency-Key' => $key });
    is($made->{status}, 200, 'queued') or diag $made->{body};
    my $id = $made->{json}{data}{taskId};
    my $again = $as{operator}->post('/user', $body, {}, headers => { 'Idempotency-Key' => $key });
    is($again->{json}{data}{taskId}, $id, 'a lost answer is asked for again');
    is($as{viewer}->data('/task', { id => $id })->{task}{requestedBy}{username}, 'operator',
        'by whom');
    my @records;
    within(sub {
        @records = grep { $_->{actor} eq 'operator' && $_->{action} =~ /^user\.create/ }
            @{ $as{auditor}->data('/audit', { limit => 200, category => 'portal' })->{items} };
        my %seen = map { ("$_->{action} $_->{outcome}" => 1) } @records;
        return $seen{'user.create ok'} && $seen{'user.create.replay ok'};
    });
    my ($record) = grep { $_->{action} eq 'user.create' && $_->{outcome} eq 'ok' } @records;
    is($record->{endpoint}, 'console POST /user', 'where');
    is($record->{category}, 'portal', 'as a portal action');
    my ($refusal) = grep { $_->{outcome} eq 'FORBIDDEN' }
        @{ $as{auditor}->data('/audit', { limit => 200, category => 'portal', })->{items} };
    ok($refusal, 'refusals in a company, too');
};

subtest 'the limit of a person' => sub {
    $httpd->reconfigure(rate_limits => { person => '3/60s' });
    $httpd->graceful;
    my ($free, $limited);
    within(sub {
        my @all = map { $as{viewer}->get('/session') } 1 .. 4;
        ($limited) = grep { $_->{status} == 429 } @all;
        return $limited;
    });
    refused($limited, 429, 'rateLimited', 'one name has used up its share');
    ok($limited->{headers}{'retry-after'}, 'and is told for how long');
    is($as{nobody}->get('/session')->{status}, 403, 'another has not');
};

$stack->stop;
done_testing;
