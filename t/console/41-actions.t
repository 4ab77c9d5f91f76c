# What people do in the console, in a real browser over the running stack: a key is created and
# used, a hire is queued and cancelled, a person is offboarded at once, names from a hostile
# directory are shown as text.
use strict;
use utf8;
use warnings;
use Encode ();
use Idadmin::Test qw(spew tempdir within);
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
sub main     { return $browser->text('main') }
my $api = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
    company => 'nordic');
sub tasks { return @{ $api->data('/tasks', { limit => 200, @_ })->{items} } }

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
    ok($browser->until('the list has it',
        sub { $browser->text('main') =~ /assistant-of-hr/ }), 'the list has it');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'a hire is looked at, queued and called off' => sub {
    ready_at('hire');
    $browser->type('[name=firstname]', 'Maja');
    $browser->type('[name=surname]', 'Ström');
    $browser->type('[name=date]', '2031-03-30');
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

subtest 'a queued hire is found, shown and changed' => sub {
    my $queued = $api->post('/user', { firstname => 'Rut', surname => 'Lind', jobTitle => 'Clerk',
        date => '2031-05-05', time => '08:00' })->{json}{data};
    ready_at('people');
    $browser->click('main nav a[href*=coming]', ready => 1);
    $browser->click_text('main tbody th a', 'Rut Lind', ready => 1);
    like($browser->url, qr/task\/$queued->{taskId}/, 'it leads to its task');
    $browser->until('what was asked', sub { main() =~ /What was asked.*Clerk/s });
    $browser->click_text('main a', 'Change', ready => 1);
    is($browser->value('[name=jobTitle]'), 'Clerk', 'the form has it');
    is($browser->value('[name=date]') . ' ' . $browser->value('[name=time]'), '2031-05-05 08:00',
        'and when it begins');
    $browser->type('[name=jobTitle]', 'Chief');
    $browser->click_text('main button', 'Review');
    $browser->until('all is repeated', sub { dialog() =~ /rut\.lind\@.*Chief/s });
    $browser->click_text('dialog[open] button', 'Replace it', ready => 1);
    my ($new) = $browser->url =~ m{/task/(\w+)};
    is($stack->task($queued->{taskId})->{state}, 'cancelled', 'the old task is cancelled');
    is($stack->task($new)->{userPrincipalName}, $queued->{userPrincipalName}, 'the name stays');
    is($api->data('/task/asked', { id => $new })->{asked}{jobTitle}, 'Chief', 'with the change');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'a new hire starts on a Monday, and words are suggested' => sub {
    ready_at('hire');
    my $at = $browser->value('[name=date]');
    is($browser->script('return new Date(arguments[0]).getUTCDay()', $at), 1, 'a Monday');
    cmp_ok($browser->script('return Date.parse(arguments[0]) - Date.now()', $at), '<', 8 * 864e5,
        'the next one');
    is($browser->value('[name=time]'), '08:00', 'in the morning');
    $browser->until('departments are suggested', sub { $browser->script(
        'return [...document.querySelector("[name=department]").list.options]'
        . '.some((one) => one.value === "Sales")') });
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

# What Excel saves in western Europe: semicolons, quotes, its own code page.
my $csv = join "\r\n", 'Firstname;Surname;Job title;Manager;Start;Shoe size',
    "\x{c5}sa;\"Ek; \"\"Lo\"\"\";Clerk;eva.berg\@nordic.example;2031-01-07;39",
    'Bo;;Clerk;;;', 'Cia;Ek;;;7/1/2031;', 'Dan;Ek;;;2031-01-07;', 'Dan;Ek;;;2031-01-07;',
    'Eli;Ek;;nobody@nordic.example;;', '';
sub lines { return $browser->texts('main .lines tbody tr') }
sub choose {
    my ($text) = @_;
    my $file = tempdir() . '/hires.csv';
    spew($file, $text);
    ready_at('hires');
    $browser->type('main [name=file]', $file);
    return;
}

subtest 'hires by file' => sub {
    my $before = tasks(type => 'userCreate');
    choose($csv);
    $browser->until('each line is checked', sub {
        main() =~ /Queue 2 hires/ && main() !~ /is checked/ });
    my @lines = lines();
    like($lines[0], qr/\x{c5}sa Ek; "Lo".*Clerk.*7\s+Jan\s+2031, 08:00.*asa\.eklo\@/s,
        'what a good line becomes');
    like($lines[1], qr/^3\b.*Surname: is missing/s, 'what is missing, by line and field');
    like($lines[2], qr/Day: must be a day like/, 'a day of another form');
    like($lines[4], qr/is the same as line 5/, 'a line that stands twice');
    like($lines[5], qr/no user with the userPrincipalName "nobody/, 'what the service refuses');
    like(main(), qr/left out: Shoe size/, 'an unknown column');
    is(scalar tasks(type => 'userCreate'), $before, 'nothing is queued yet');
    my $queue = sub {
        $browser->click_text('main button', 'Queue 2 hires');
        $browser->click_text('dialog[open] button', 'Queue 2 hires');
        my ($said) = @_;
        $browser->until('a receipt', sub { main() =~ /Receipt.*$said.*Queued/s });
        return map { m{/task/(\w+)} } @{ $browser->script(
            'return [...document.querySelectorAll("main .lines a")].map((one) => one.href)') };
    };
    my @first = $queue->('2 hires are queued');
    is_deeply([map { $stack->task($_)->{userPrincipalName} } @first],
        ['asa.eklo@nordic.example', 'dan.ek@nordic.example'], 'a task for each line');
    choose($csv);
    $browser->until('checked again', sub { main() =~ /Queue 2 hires/ && main() !~ /is checked/ });
    is_deeply([$queue->('2 lines were queued before: nobody new')], \@first,
        'the same file queues no person twice, and says so');
    unlike(main(), qr/hires? (?:is|are) queued/, 'and counts nobody as new');
    is(scalar tasks(type => 'userCreate'), $before + 2, 'two in all');
    $browser->click_text('main .lines button', 'Hire another person');
    $browser->until('another', sub { main() =~ /1 hire is queued.*1 line was queued before/s });
    is(scalar tasks(type => 'userCreate'), $before + 3, 'who is asked for');
    choose(Encode::encode('UTF-16LE', "\x{feff}sep=;\n"
        . "Fi\x{200b}rstname;SURN\x{410}ME;Start;Surname2\n"
        . "Past;Typo;2026-01-05;\nTwin;Two;2031-01-07;\nTwin;Two;2031-01-07;\n"));
    $browser->until('a day that has passed is asked for', sub {
        main() =~ /Queue 1 hire/ && main() =~ /5 January 2026.*has passed: it begins at once/s
            && main() =~ /2 lines are left out until you allow/ });
    like((lines())[0], qr/5.Jan.2026/, 'with its year');
    $browser->click_text('main .lines button', 'Allow line 5');
    $browser->until('an equal line is allowed by hand', sub { main() =~ /Queue 2 hires/ });
    $browser->click_text('main button', 'Queue 2 hires');
    $browser->click_text('dialog[open] button', 'Queue 2 hires');
    $browser->until('two of one name', sub { main() =~ /2 hires are queued/ });
    is(scalar tasks(type => 'userCreate'), $before + 5, 'and is another person');
    choose(join "\n", 'firstname,surname', map {"A$_,B$_"} 1 .. 201);
    $browser->until('too many', sub { main() =~ /201 people; a file may hold 200/ });
    is(scalar lines(), 0, 'are refused');
    choose(join "\n", 'firstname,surname', map {"Bulk,Bulk$_"} 1 .. 20);
    $browser->until('twenty', sub { main() =~ /Queue 20 hires/ && main() !~ /is checked/ });
    $browser->click_text('main button', 'Queue 20 hires');
    $browser->type('dialog[open] [name=comment]', 'The class of June');
    $browser->click_text('dialog[open] button', 'Queue 20 hires');
    $browser->until('all of them', sub { main() =~ /20 hires are queued/ });
    my @all = tasks(type => 'userCreate');
    is(scalar @all, $before + 25, 'are queued');
    my ($one) = grep { $_->{displayName} =~ /^Bulk / } @all;
    ok(within(sub { ($api->data('/task/comments', { id => $one->{id} })
        ->{items}[0]{comment} // '') eq 'The class of June' }), 'with what was said of them');
    is_deeply([$browser->complaints(qr/400|beforeunload/)], [],
        "nothing else to complain of");
};

subtest 'a list sorts, hides columns and keeps views' => sub {
    ready_at('people');
    my $names = sub { return [$browser->texts('main tbody th .person a')] };
    my @people = map { $_->{displayName} } @{ $api->data('/users', { limit => 200 })->{items} };
    $browser->click_text('main thead button', 'Person');
    $browser->click_text('main thead button', 'Person');
    $browser->until('from the end', sub { $browser->url =~ /sort=-name/
        && $names->()[0] ne $people[0] });
    is(scalar @{ $names->() }, scalar @people, 'all of them are sorted');
    is($browser->script('return document.querySelector("[aria-sort]").ariaSort'), 'descending',
        'which screen readers are given');
    $browser->click_text('main .tools button', 'View');
    $browser->click_text(':popover-open button', 'Manager');
    $browser->until('a column less', sub { !grep {/Manager/} $browser->texts('main thead th') });
    $browser->click_text('main .tools button', 'View');
    $browser->click_text(':popover-open button', 'Save this view');
    $browser->type('dialog[open] [name=view]', 'From the end');
    $browser->click_text('dialog[open] button', 'Save');
    $browser->wait_gone('dialog[open]');
    ready_at('people');
    is($names->()[0], $people[0], 'as usual');
    $browser->click_text('main .tools button', 'View');
    $browser->click_text(':popover-open a', 'From the end', ready => 1);
    $browser->until('the view', sub { $browser->url =~ /sort=-name/
        && $names->()[0] ne $people[0] });
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
    $browser->click_text('.path a', 'Hygiene', ready => 1);
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
    $browser->type('dialog[open] [name=typed]', 'bo.ek@nordic.example');
    $browser->click_text('dialog[open] button', 'Offboard now', ready => 1);
    my ($task) = $browser->url =~ m{/task/(\w+)};
    is($stack->wait_task($task)->{state}, 'done', 'it is carried out');
    my ($record) = within(sub {
        grep { $_->{action} eq 'user.delete' && $_->{outcome} eq 'ok' } @{
            $stack->records('--category', 'portal') } });
    ok($record, 'and on record as a portal action');
};

subtest 'a leaver comes back' => sub {
    my $bo = sub { return $api->data('/user/details', { user => 'bo.ek@nordic.example' })->{user} };
    within(sub { !$bo->()->{accountEnabled} });
    ready_at('person/' . $bo->()->{id});
    $browser->click_text('main button', 'Bring back');
    $browser->until('the question is asked', sub { dialog() =~ /enabled again.*No memberships/s });
    $browser->click_text('dialog[open] button', 'Bring back', ready => 1);
    my ($task) = $browser->url =~ m{/task/(\w+)};
    is($stack->wait_task($task)->{state}, 'done', 'it is carried out');
    ok(within(sub { $bo->()->{accountEnabled} }), 'the account is enabled');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'a person must leave now, and the directory is held' => sub {
    my $id = $api->data('/user/details', { user => 'carin.sjoberg@nordic.example' })->{user}{id};
    $stack->worker->stop;
    $stack->sql("UPDATE directory_state SET hold_reason = 'silent', hold_since = 1, "
        . 'hold_until = 9999999999999');
    ready_at("offboard/$id");
    $browser->click('input[type=radio][value=now]');
    $browser->click_text('button', 'Review');
    $browser->until('the question is asked', sub { dialog() =~ /carin/ });
    like(dialog(), qr/as soon as nothing holds it/, 'it is said that it is held');
    unlike(dialog(), qr/within a second/, 'and nothing promised');
    $browser->type('dialog[open] [name=typed]', 'carin.sjoberg@nordic.example');
    $browser->click_text('dialog[open] button', 'Offboard now', ready => 1);
    $browser->until('it waits', sub { main() =~ /Queued\. It begins as soon as nothing holds it/ });
    is(scalar $browser->all('.notice.ok'), 0, 'without a green tick');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

$browser->close;
$stack->stop;
done_testing;
