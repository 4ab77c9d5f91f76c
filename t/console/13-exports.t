# Exports for auditors: the evidence of an offboarding, files of lists.
use strict;
use warnings;
use utf8;
use Encode ();
use POSIX ();
use Test::More;
use Idadmin::Test qw(json_data within);
use Idadmin::Test::Console ();
use Idadmin::Test::Stack;

my ($stack, %as);
my @roles = qw(viewer operator approver key-administrator auditor administrator);

# The rows of a CSV file, as hashes; dies if it is not CSV.
sub rows {
    my ($bytes) = @_;
    $bytes =~ s/^\xEF\xBB\xBF// or die "no byte order mark\n";
    my $text = Encode::decode('UTF-8', $bytes, Encode::FB_CROAK);
    my (@lines, @cells);
    while (length $text) {
        $text =~ s/^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)// or die "not CSV: $text\n";
        my ($quoted, $plain, $end) = ($1, $2, $3);
        push @cells, $plain // $quoted =~ s/""/"/gr;
        push(@lines, [@cells]), @cells = () if $end ne ',';
    }
    my $names = shift @lines;
    return map { my %row; @row{@$names} = @$_; \%row } @lines;
}

sub rights {
    my %may = ('/hygiene/export' => qr/^(?:operator|auditor|administrator)$/,
        '/audit/export' => qr/^(?:auditor|administrator)$/);
    for my $path (sort keys %may) {
        for my $role (@roles) {
            is($as{$role}->get($path, { $path =~ /hygiene/ ? (section => 'emptyGroups') : () })
                ->{status}, $role =~ $may{$path} ? 200 : 403, "$role $path");
        }
    }
    is($as{$_}->get('/user/evidence', { user => 'x@nordic.example' })->{status},
        /^(?:auditor|administrator)$/ ? 404 : 403, "$_ evidence") for @roles;
}

sub audit {
    $stack->ctl_ok('audit', 'export', 'nordic');
    my ($newest) = (split /\n/, $stack->ctl('audit', 'checkpoints', 'nordic')->{out})[-1];
    my $file = $as{auditor}->get('/audit/export', { actor => 'operator' });
    is($file->{headers}{'x-idadmin-checkpoint'}, $newest, 'the newest checkpoint goes with it');
    my $known = $as{auditor}->data('/audit/chain')->{checkpoint};
    is_deeply([@$known{qw(number hash)}], [@{ json_data($newest) }{qw(number hash)}],
        'which the state of the chain names, too');
    is($file->{headers}{'content-type'}, 'text/csv; charset=utf-8; header=present', 'a table');
    my $day = qr/20\d\d-\d\d-\d\d/;
    like($file->{headers}{'content-disposition'},
        qr/^attachment; filename="nordic-audit-$day\.csv"$/, 'its name');
    is($file->{headers}{'x-idadmin-truncated'}, undef, 'whole');
    # What was asked a moment ago may reach the log between the two questions.
    my ($hire, @rows, $listed);
    my $ids = sub { join ' ', map { $_->{id} } @_ };
    within(sub {
        @rows   = rows($as{auditor}->get('/audit/export', { actor => 'operator' })->{body});
        $listed = $as{auditor}->data('/audit', { limit => 200, actor => 'operator' })->{items};
        ($hire) = grep { $_->{action} eq 'user.create' && $_->{outcome} eq 'ok' } @rows;
        $hire && $ids->(@rows) eq $ids->(@$listed) });
    is($ids->(@rows), $ids->(@$listed), 'the records of the list, in its order');
    ok($hire, 'a hire among them') or return;
    is_deeply(json_data(Encode::encode_utf8($hire->{parameters}))->{jobTitle},
        '=1+1', 'with what was asked for');
    is($as{auditor}->get('/audit/export', { format => 'xml' })->{status}, 400, 'no such format');
    is($as{auditor}->get('/audit/export', { category => 'x' })->{status}, 400, 'no such category');
    my ($lines, @told);
    ok(within(sub {
        $lines = $as{auditor}->get('/audit/export', { format => 'jsonl' });
        @told = map { json_data($_) } split /\n/, $lines->{body};
        @told > 5;
    }), 'some');
    is($lines->{headers}{'content-type'}, 'application/jsonl', 'lines');
    my %by_ctl = map { $_->{id} => $_ } @{ $stack->ctl_ok('audit', 'export', 'nordic', '--json') };
    is_deeply($_, $by_ctl{ $_->{id} }, "record $_->{id} as idadminctl exports it")
        for @told[0 .. 4];
}

sub hygiene {
    my $report = $as{viewer}->data('/hygiene', { sections => 'accountsWithoutManager',
        limit => 200 })->{sections}{accountsWithoutManager};
    my $file = $as{operator}->get('/hygiene/export', { section => 'accountsWithoutManager' });
    like($file->{headers}{'content-disposition'},
        qr/filename="nordic-accounts-without-manager-[-0-9]+\.csv"/, 'its name');
    my @rows = rows($file->{body});
    is(scalar @rows, $report->{count}, 'everybody, over pages');
    is_deeply([map { $_->{userPrincipalName} } @rows[0 .. 199]],
        [map { $_->{userPrincipalName} } @{ $report->{items} }], 'in the order of the report');
    my ($formula) = grep { $_->{userPrincipalName} =~ /^formula@/ } @rows;
    is($formula->{displayName}, "'=cmd|' /C calc'!A0", 'a formula is text');
    is($formula->{jobTitle}, 'a "b", c', 'quotes and commas');
    my @some = rows($as{operator}->get('/hygiene/export', { section => 'accountsWithoutManager',
        department => 'EVIL', company => 'evil ab' })->{body});
    is_deeply([map { $_->{userPrincipalName} } @some], ['formula@nordic.example'], 'filtered');
    is_deeply([rows($as{operator}->get('/hygiene/export', { section => 'accountsWithoutManager',
        license => 'E5' })->{body})], [], 'to no person');
    is($as{operator}->get('/hygiene/export', { section => 'inactiveGuests' })->{status}, 404,
        'guests need a cloud directory');
    is($as{operator}->get('/hygiene/export', {})->{status}, 400, 'which section');
    is($as{operator}->get('/hygiene/export', { section => 'emptyGroups', department => 'x' })
        ->{status}, 400, 'groups have no department');
    my $head = $as{operator}->request('HEAD', '/hygiene/export', { section => 'emptyGroups' },
        headers => { 'X-IdAdmin-Console' => undef });
    is_deeply([$head->{status}, $head->{body}], [200, ''], 'HEAD tells the headers');
}

# More records than go into a file. They stand beyond the end of the chain, which the last test of
# all may leave broken.
sub large {
    $stack->worker->expect_log(qr/IDA0142/);    # they are not the worker's
    $stack->sql("INSERT INTO audit.record (tenant_id, seq, rid, at, category, outcome, actor,
        actor_key, action, personal_hash, hash) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL
        SELECT i + 1 FROM n WHERE i < 100200) SELECT 'nordic', 1000000 + i, 'many' || i,
        1000000 + i, 'api', 'ok', 'many', 'many', 'user.get', 'x', 'x' FROM n");
    my $file = $as{auditor}->get('/audit/export', { actor => 'many' });
    is($file->{headers}{'x-idadmin-truncated'}, 'true', 'the end is missing, and that is said');
    my $count = () = $file->{body} =~ /\r\n/g;
    is($count, 100001, 'what is there, and its header');
    like($file->{body}, qr/^"1100200",/m, 'from the newest');
    like($file->{body}, qr/^"1000201",.*\r\n\z/m, 'on');
}

# A slow client does not keep others from the store.
sub slow {
    my @slow = map {
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
            PeerPort => $stack->httpd->{port}) or die "$!\n";
        print {$socket} "GET /console/api/audit/export?companyId=nordic HTTP/1.1\r\nHost: x\r\n"
            . 'Authorization: Basic ' . MIME::Base64::encode_base64('auditor:secret', '')
            . "\r\nSec-Fetch-Site: same-origin\r\n\r\n";
        $socket
    } 1 .. 6;
    is($as{viewer}->get('/users')->{status}, 200, 'others are answered meanwhile');
    close $_ for @slow;
}

sub evidence {
    my $yesterday = POSIX::strftime('%Y-%m-%d', gmtime time - 86400);
    $as{operator}->post('/user/offboard', { userPrincipalName => 'formula@nordic.example',
        date => $yesterday });
    my $task = sub { $as{viewer}->data('/tasks', { type => 'userDelete' })->{items}[0] };
    ok(within(sub { $task->()->{state} eq 'done' }), 'a person has left');
    my $upn = { user => 'formula@nordic.example' };
    my $document;
    ok(within(sub {
        $document = $as{auditor}->data('/user/evidence', $upn);
        return !grep { !$_->{proof} } @{ $document->{offboardings}[0]{steps} };
    }), 'each step has its record');
    $as{auditor}->post('/audit/verify', {});
    ok(within(sub { !$as{auditor}->data('/audit/chain')->{requestedAt} }), 'verified');
    $document = $as{auditor}->data('/user/evidence', $upn);
    my $ctl = $stack->ctl_ok('evidence', 'nordic', 'formula@nordic.example', '--json');
    is($document->{chain}{whole}, JSON::PP::true(), 'the chain');
    ok(delete $document->{chain}{verifiedAt}, 'as of when');
    delete @$_{qw(at after chain)} for $document, $ctl;
    is_deeply($document, $ctl, 'the document of idadminctl');
}

for_each_stack {
    ($stack) = @_;
    %as = map { $_ => Idadmin::Test::Console->new($stack->httpd, user => $_,
        company => 'nordic') } @roles;
    $as{operator}->post('/user', { firstname => 'A', surname => 'B', jobTitle => '=1+1',
        date => '2031-01-01' });
    my $slapd = $stack->slapd;
    $slapd->add_user('formula', displayName => "=cmd|' /C calc'!A0", title => 'a "b", c',
        departmentNumber => 'Evil', o => 'Evil AB');
    $slapd->add_user(sprintf 'alone%03d', $_) for 1 .. 210;
    ok(within(sub { $as{viewer}->data('/users', { query => 'alone210' })->{totalCount} }),
        'people');
    subtest $_->[0] => $_->[1] for ['rights', \&rights], ['audit', \&audit],
        ['hygiene', \&hygiene], ['evidence', \&evidence], ['large', \&large],
        ['slow', \&slow];
} one_engine =>
    'unit/queue/task and unit/audit/audit prove the lists behind the files on both engines',
    httpd => { console => 1, rate_limits => { person => '100000/60s' } };

done_testing;
