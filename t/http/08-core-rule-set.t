# Behind mod_security with the OWASP core rule set as Debian ships it, every REST operation and a
# tool call have a form that passes: POST in place of PATCH and DELETE.
use strict;
use warnings;
use utf8;
use Idadmin::Test qw(slurp tempdir);
use Idadmin::Test::Mcp ();
use Idadmin::Test::Stack qw(for_each_stack);
use Test::More;

my $module = Idadmin::Test::build_config()->{modules} . '/mod_security2.so';
my ($setup, $rules) = ('/etc/modsecurity/crs/crs-setup.conf', '/usr/share/modsecurity-crs/rules');
plan skip_all => "$_ is not there" for grep { !-e } $module, $setup, $rules;

my $dir = tempdir() . '/security';
mkdir $dir or die "$dir: $!\n";
chmod 01777, $dir or die "$dir: $!\n";
my $server = <<"CONF";
LoadModule unique_id_module @{[ $module =~ s/security2/unique_id/r ]}
LoadModule security2_module $module
SecRuleEngine On
SecRequestBodyAccess On
SecDataDir $dir
SecTmpDir $dir
SecRule REQUEST_HEADERS:Content-Type "^application/json" \\
    "id:200001,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"
Include $setup
Include $rules/*.conf
CONF

for_each_stack {
    my ($stack) = @_;
    my $httpd = $stack->httpd;
    $httpd->expect_log(qr/ModSecurity/);
    my $eva = 'eva.berg@nordic.example';
    my $ask = sub {
        my ($method, $path, $body) = @_;
        return $stack->call($method => "/v1/api/$path", $body ? (json => $body) : (body => ''),
            headers => { 'User-Agent' => 'hr/1', Accept => 'application/json' });
    };
    my $hire = $ask->(POST => 'user', { firstname => 'Åsa', surname => "O'Brien",
        streetAddress => "Storgatan 1\nEntré B", date => '2030-01-01', time => '09:00' });
    is($hire->{status}, 200, 'a hire') or diag $hire->{body};
    my $id = $hire->{json}{data}{taskId};
    my %bodies = (update => { userPrincipalName => $eva, jobTitle => 'Chef' },
        offboard => { userPrincipalName => $eva, date => '2030-01-01' },
        reschedule => { date => '2030-02-01' });
    for my $door (['user/update', 'PATCH user', 'update'],
        ['user/offboard', 'DELETE user', 'offboard'],
        ["task/reschedule?id=$id", "PATCH task?id=$id", 'reschedule'],
        ["task/cancel?id=$id", "DELETE task?id=$id", 'none']) {
        my ($post, $other, $of) = @$door;
        my ($method, $path) = split / /, $other;
        is($ask->($method => $path, $bodies{$of})->{status}, 403, "$other is refused by the rules");
        is($ask->(POST => $post, $bodies{$of})->{status}, 200, "POST $post is let through");
    }
    is($stack->task($id)->{state}, 'cancelled', 'and does the same');
    is($ask->(GET => $_)->{status}, 200, "GET $_")
        for "user?userPrincipalName=$eva", 'tasks?state=queued,done&limit=5', 'events?limit=5';
    my $tool = Idadmin::Test::Mcp->new($httpd, key => $stack->key('read'))
        ->call('search_users', { query => 'eva' });
    ok($tool->{data}, 'a tool') or diag $tool->{body};
    my %fired;
    my $log = slurp($httpd->error_log);
    $fired{$1}++ while $log =~ /\[id "(\d+)"\]/g;
    is($fired{911100}, 4, 'the rule about methods refused the four');
    is_deeply([grep { !/^(?:911100|949110|980130|920350)$/ } sort keys %fired], [],
        'no other rule minds what the service is asked, but for a host that is a number');
    my $said = slurp(Idadmin::Test::src_dir() . '/doc/install.md');
    like($said, qr/\b$_\b/, "doc/install.md names rule $_") for qw(911100 920350);
} one_engine => 'The rules look at requests before a statement runs.',
    httpd => { server => $server };

done_testing;
