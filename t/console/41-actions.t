# What people do in the console, in a real browser over the running stack: a key is created and
# used, a hire is queued and cancelled, a person is offboarded at once, names from a hostile
# directory are shown as text.
use strict;
use utf8;
use warnings;
use Encode ();
use Idadmin::Test qw(within);
use Idadmin::Test::Browser ();
use Idadmin::Test::Console ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack ();
use MIME::Base64 ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $stack = Idadmin::Test::Stack->new(engine => 'sqlite',
    httpd => { rate_limits => { person => 'off' }, console => 1 });
my $base    = $stack->httpd->url . '/console/#/nordic';
my $browser = Idadmin::Test::Browser->new;
$browser->sign_in('administrator', 'secret');

sub ready_at { my ($page) = @_; $browser->goto("$base/$page"); return }
sub dialog   { return $browser->text('dialog[open]') }

subtest 'a key is made, shown once and used' => sub {
    ready_at('keys');
    $browser->click_text('button, a', 'Create key');
    $browser->type('dialog[open] [name=label]', 'Assistant of HR');
    is($browser->value('dialog[open] [name=username]'), 'assistant-of-hr', 'a username follows');
    $browser->click_text('dialog[open] button', 'Create key');
    $browser->until('the key is shown', sub { dialog() =~ /ida_\w+/ });
    my ($key) = dialog() =~ /\b(ida_\w+)/;
    my ($secret) = dialog() =~ /\b(nordic:assistant-of-hr:ida_\w+)/;
    is($secret, "nordic:assistant-of-hr:$key", 'key and MCP secret');
    my $answer = $stack->httpd->client->request('GET',
        '/v1/api/user?userPrincipalName=eva.berg%40nordic.example',
        headers => { 'X-Company-ID' => 'nordic', 'X-Api-User' => 'assistant-of-hr',
        'X-Api-Key' => $key });
    is($answer->{status}, 200, 'the key works');
    $browser->press('Escape');
    like(dialog(), qr/\Q$key\E/, 'Escape does not lose it');
    $browser->click('dialog[open] [name=stored]');
    $browser->click_text('dialog[open] button', 'Close');
    $browser->wait_gone('dialog[open]');
    unlike($browser->script('return document.documentElement.outerHTML + JSON.stringify('
        . '[localStorage, sessionStorage]) + location.href + document.title'), qr/\Q$key\E/,
        'afterwards it stands nowhere');
    like($browser->text('main'), qr/assistant-of-hr/, 'the list has it');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'a hire is looked at, queued and called off' => sub {
    ready_at('hire');
    $browser->type('[name=firstname]', 'Maja');
    $browser->type('[name=surname]', 'Ström');
    $browser->type('[name=date]', '2027-03-28');
    $browser->type('[name=time]', '02:30');
    $browser->until('the preview tells the account', sub {
        $browser->text('main') =~ /maja\.strom\@nordic\.example/ });
    $browser->click_text('button', 'Review');
    $browser->until('the plan is shown', sub { dialog() =~ /maja\.strom\@nordic\.example/ });
    like(dialog(), qr/02:30 does not exist on that day/, 'the skipped hour is explained');
    is(scalar @{ $stack->ctl_ok('task', 'list', 'nordic', '--json')->{items} }, 0,
        'nothing is queued yet');
    $browser->click_text('dialog[open] button', 'Queue the new hire', ready => 1);
    my ($task) = $browser->url =~ m{/task/(\w+)};
    ok($task, 'the task is shown');
    is($stack->task($task)->{state}, 'queued', 'it is queued');
    $browser->click_text('button', 'Undo');
    $browser->click_text('dialog[open] button', 'Cancel task') if $browser->find('dialog[open]');
    ok(within(sub { $stack->task($task)->{state} eq 'cancelled' }), 'and called off');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'people are narrowed down' => sub {
    ready_at('people?manager=eva.berg%40nordic.example');
    my @shown = $browser->texts('main tbody tr .person strong, main tbody tr .person a');
    my $found = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
        company => 'nordic')->data('/users', { manager => 'eva.berg@nordic.example' });
    ok(@{ $found->{items} } > 0, 'Eva has reports');
    for my $one (@{ $found->{items} }) {
        ok(grep({ $_ eq $one->{displayName} } @shown), "$one->{displayName} is shown");
    }
    my $main = $browser->text('main');
    like($main, qr/Manager:\s+eva\.berg/, 'by a chip');
    unlike($main, qr/bo\.ek\@/, 'and no other person');
    $browser->click_text('main button', 'Remove the filter Manager eva.berg@nordic.example');
    $browser->until('all are shown', sub { $browser->text('main') =~ /bo\.ek\@/ });
    unlike($browser->url, qr/manager=/, 'the address follows');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'hygiene is narrowed down' => sub {
    ready_at('hygiene?department=Sales');
    my $counted = sub { return Idadmin::Test::Console->new($stack->httpd,
        user => 'administrator', company => 'nordic')->data('/hygiene', { @_ })
        ->{sections}{accountsWithoutManager}{count} };
    my ($sales, $all) = ($counted->(department => 'Sales'), $counted->());
    cmp_ok($sales, '<', $all, 'there is something to narrow');
    my $shown = sub { return $browser->script(
        'return document.querySelectorAll(".cards .big")[1]?.textContent ?? ""') };
    is($shown->(), $sales, 'the cards count the department');
    $browser->click_text('main button', 'Remove the filter Department Sales');
    $browser->until('all are counted', sub { $browser->find('.cards') && $shown->() eq $all });
    ready_at('hygiene/accountsWithoutManager?department=Management');
    like($browser->text('main'), qr/Department:\s+Management.*Eva Berg/s, 'so does a list');
    like($browser->script('return document.querySelector("a[download]").href'),
        qr/department=Management/, 'and its file');
    $browser->click_text('main a', 'All of hygiene', ready => 1);
    like($browser->url, qr/department=Management/, 'the way back keeps it');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'names of a hostile directory are text' => sub {
    my $name = "<img src=x onerror=\"document.title='caught'\"> \x{202e}txe";
    $stack->slapd->modify('dn: ' . Idadmin::Test::Slapd::user_dn('bo.ek')
        . "\nchangetype: modify\nreplace: displayName\ndisplayName:: "
        . MIME::Base64::encode_base64(Encode::encode_utf8($name), '') . "\n");
    ok(within(sub {
        ($stack->get_user('bo.ek@nordic.example')->{json}{data}{user}{displayName} // '')
        =~ /onerror/ }), 'the directory says so');
    ready_at('people?query=bo.ek');
    $browser->until('the list has it', sub { $browser->text('main') =~ /<img src=x onerror/ });
    unlike($browser->title, qr/caught/, 'it did not run');
    is($browser->script('return document.querySelectorAll("main img").length'), 0, 'no element');
    unlike($browser->text('main'), qr/\x{202e}/, 'no mark that turns the text around');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'a person leaves at once' => sub {
    my $id = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
        company => 'nordic')->data('/user/details', { user => 'bo.ek@nordic.example' })->{user}{id};
    ready_at("offboard/$id");
    $browser->click('input[type=radio][value=now]');
    $browser->click_text('button', 'Review');
    $browser->until('the question is asked', sub { dialog() =~ /bo\.ek\@nordic\.example/ });
    $browser->click_text('dialog[open] button', 'Offboard now');
    ok($browser->find('dialog[open]'), 'not without the UPN');
    $browser->type('dialog[open] input', 'bo.ek@nordic.example');
    $browser->click_text('dialog[open] button', 'Offboard now', ready => 1);
    my ($task) = $browser->url =~ m{/task/(\w+)};
    is($stack->wait_task($task)->{state}, 'done', 'it is carried out');
    my ($record) = within(sub {
        grep { $_->{action} eq 'user.delete' && $_->{outcome} eq 'ok' } @{
            $stack->records('--category', 'portal') } });
    ok($record, 'and on record as a portal action');
};

$browser->close;
$stack->stop;
done_testing;
