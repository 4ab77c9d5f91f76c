# Each dialog and each state of a page in a real browser: questions before a write, two
# administrators on one task, no role, no right, not found, signed out, server unavailable.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(within);
use Idadmin::Test::Browser ();
use Idadmin::Test::Company ();
use Idadmin::Test::Console ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $company = Idadmin::Test::Company->new;
my $browser = $company->browser;
my $stack   = $company->stack;
my $other   = Idadmin::Test::Console->new($stack->httpd, user => 'operator', company => 'nordic');
note(Idadmin::Test::Company::axe_missing()) if Idadmin::Test::Company::axe_missing();

sub dialog { return $browser->text('dialog[open]') }
sub main   { return $browser->text('main') }
sub press  { my ($text) = @_; return $browser->click_text('dialog[open] button', $text) }
sub asked  { my ($pattern, $name) = @_;
    return $browser->until($name, sub { dialog() =~ $pattern }) }

# Opens a page, presses a button on it, checks the dialog, goes back.
sub look_at {
    my ($name, $place, $button, $pattern) = @_;
    subtest $name => sub {
        $company->open($place);
        $browser->click_text('main button, main a', $button);
        asked($pattern, "the dialog asks ($name)");
        is($browser->script('return document.querySelectorAll("dialog[open] .primary, '
            . 'dialog[open] .danger").length'), 1, 'one button stands out');
        $company->look("dialog-$name", viewport => 1);
        $browser->press('Escape');
        $browser->wait_gone('dialog[open]');
        is($browser->focused, $button, 'the focus is where it was');
    };
    return;
}

my %task = map { $_ => 'task/' . $company->task($_) }
    qw(skipped soon failed braked cancelled attention);
look_at(cancel  => $task{skipped}, 'Cancel task', qr/Maja Ström/);
look_at(move    => $task{skipped}, 'Move', qr/Maja Ström/);
look_at(retry   => $task{failed}, 'Retry', qr/Otto Fjäll/);
look_at(release => $task{braked}, 'Release', qr/Elin Strand/);
look_at(key     => 'keys', 'Create key', qr/Label|Access/);
look_at(deny    => 'access/requests', 'Deny', qr/CRM/);
look_at(approve => 'access/requests', 'Approve', qr/CRM/);

subtest 'a role template for a person' => sub {
    $company->open('person/' . $company->id_of('ida.wall'));
    $browser->click_text('main a', 'Role template', ready => 1);
    $browser->click_text('main a', 'Seller', ready => 1);
    $browser->click_text('main button', 'Assign');
    asked(qr/Assign Seller to whom/, 'to whom');
    is($browser->value('dialog[open] input'), 'ida.wall@nordic.example', 'whose page it was');
    press('See what it gives');
    asked(qr/Add to the group: CRM admins/, 'what would happen');
    $company->look('dialog-role', viewport => 1);
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
};

subtest 'an offboarding at once' => sub {
    $company->open('offboard/' . $company->id_of('eva.berg'));
    $browser->until('who reports to Eva is told',
        sub { main() =~ /\d+ people report to this one/ });
    $company->open('offboard/' . $company->id_of('rut.sandell'));
    $browser->click('input[type=radio][value=now]');
    $browser->click_text('main button', 'Review');
    asked(qr/rut\.sandell/, 'the UPN is asked for');
    press('Offboard now');
    $company->look('dialog-offboard', viewport => 1);
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
    $browser->script('location.hash = "#/nordic/overview"');
    asked(qr/Leave the page\?/, 'what was chosen is not lost by a slip');
    $company->look('dialog-leave', viewport => 1);
    press('Leave');
    $browser->until('the other page stands', sub { main() =~ /^Overview/ });
};

# Tasks of these people, by the service.
sub tasks_of {
    my ($type, @people) = @_;
    return map { my $of = $_; grep { $_->{type} eq $type } @{ $other->data('/tasks',
        { userPrincipalName => $of, state => 'queued' })->{items} } } @people;
}

subtest 'several people at once' => sub {
    my @people = map { sprintf 'user%05d@nordic.example', $_ } 10 .. 19;
    $company->open('people?query=user0001');
    $browser->click('main tbody .tickbox input');
    $browser->click_text('main button', 'All 10 that match');
    $browser->until('all are ticked', sub { $browser->text('.bulk') =~ /^10/ });
    $browser->click_text('.bulk button', 'Offboard');
    asked(qr/Offboard 10 people.*brake lets 1 offboarding.*9 of them will be held/s,
        'what the brake does with so many');
    $company->look('dialog-several', viewport => 1);
    $browser->type('dialog[open] [name=date]', '2020-01-01');
    press('Offboard 10');
    asked(qr/must not be before today/, 'not in the past');
    is(scalar tasks_of(userDelete => @people), 0, 'nothing is queued yet');
    like($browser->text('dialog[open]'), qr/user00010\@nordic\.example/,
        'each is told with the address');
    $browser->script('const [date, time] = ["date", "time"].map((name) => document.querySelector('
        . '"dialog[open] [name=" + name + "]")); const today = new Date().toLocaleDateString("sv",'
        . '{ timeZone: "Europe/Stockholm" }); '
        . 'for (const [one, value] of [[date, today], [time, "00:00"]]) {'
        . ' one.value = value; one.dispatchEvent(new Event("input", { bubbles: true })); }');
    asked(qr/has passed: it begins at once.*type now/s, 'a time that has passed is now');
    unlike($browser->text('dialog[open]'), qr/until then/, 'and nothing can be moved until then');
    $company->look('dialog-past', viewport => 1);
    press('Offboard 10');
    asked(qr/not the same text/, 'for which a word is typed');
    is(scalar tasks_of(userDelete => @people), 0, 'still nothing is queued');
    $browser->type('dialog[open] [name=time]', '17:00');
    $browser->type('dialog[open] [name=date]', '2031-05-05');
    $browser->type('dialog[open] [name=comment]', 'The branch closes');
    press('Offboard 10');
    $browser->until('what came of it', sub { main() =~ /10 offboardings are queued/ });
    my @left = tasks_of(userDelete => @people);
    is_deeply([map { "$_->{scheduledAt}" =~ s/T.*//r } @left],
        [('2031-05-05') x 10], 'one for each of them');
    # Records of the log, where comments are read, come after the answers.
    ok(within(sub { ($other->data('/task/comments', { id => $left[9]{id} })
        ->{items}[0]{comment} // '') eq 'The branch closes' }), 'with the comment');
    ok(!$browser->find('.bulk'), 'nothing is ticked any more');

    $company->open('hygiene/accountsWithoutManager');
    is(scalar(grep {/Offboard/} $browser->texts('main tbody button, main tbody a')), 0,
        'who has no manager is no leaver');
    $browser->click_text('main tbody button', 'Set manager: Otto Fjäll');
    asked(qr/Who manages this person/, 'who it is to be');
    press('Set manager');
    asked(qr/is missing/, 'a person is required');
    $browser->type('dialog[open] [role=combobox]', 'eva.berg');
    $browser->until('one is found', sub {
        join('|', $browser->texts('dialog[open] [role=option][id]')) =~ /^Eva Berg[^|]*$/ });
    $browser->press('Enter');
    $browser->until('chosen', sub {
        $browser->value('dialog[open] [role=combobox]') eq 'Eva Berg' });
    press('Set manager');
    $browser->until('what came of it', sub { main() =~ /The manager of 1 person is queued/ });
    within(sub { ($other->data('/user/details', { user => 'otto.fjall@nordic.example' })
        ->{user}{manager}{userPrincipalName} // '') eq 'eva.berg@nordic.example' });
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'two administrators on one task' => sub {
    $company->open($task{skipped});
    $browser->click_text('main button', 'Move');
    asked(qr/Maja Ström/, 'one is asked');
    my $moved = $other->request('PATCH', '/task', { id => $company->task('skipped') },
        body => { date => '2031-04-01', time => '09:00' });
    is($moved->{status}, 200, 'another moves it meanwhile') or diag $moved->{body};
    $browser->type('dialog[open] [name=date]', '2031-05-01');
    press('Move');
    asked(qr/operator/, 'the first is told who was quicker');
    $company->look('dialog-two', viewport => 1, expected => [qr/409/]);
    is($stack->task($company->task('skipped'))->{scheduledAtUtc}, '2031-04-01T07:00:00Z',
        'and nothing was moved twice');
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
    $browser->until('the page shows the new time', sub { main() =~ /1 April/ });
    $browser->complaints(qr/409/);
};

# A page that says no: no error of a script, the status alone in the console.
sub state_of {
    my ($name, $place, $pattern, @expected) = @_;
    subtest $name => sub {
        $company->open($place);
        $browser->until("the page says so ($name)", sub { main() =~ $pattern });
        is(scalar $browser->all('h1'), 1, 'one heading');
        $company->look("state-$name", expected => \@expected);
    };
    return;
}
state_of('unknown-page', 'nothing', qr/page/i);
state_of('unknown-task', 'task/01abc', qr/01abc|no task|not/i, qr/404/);
state_of('unknown-person', 'person/nobody@nordic.example', qr/nobody|not/i, qr/404/);

subtest 'keys and menus' => sub {
    $company->open('overview');
    $browser->press('?');
    asked(qr/Find a person|find/i, 'the list of keys');
    $company->look('dialog-keys', viewport => 1);
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
    $browser->click('header .user button');
    $browser->wait_for('header .user [role=menu], header .user .menu');
    $company->look('menu-user', viewport => 1);
    $browser->press('Escape');
    $company->open($task{skipped});
    $browser->click_text('main button', 'Cancel task');
    asked(qr/Maja Ström/, 'a question');
    $browser->back;
    is(scalar $browser->all('dialog[open]'), 0, 'the question goes with its page');
    $browser->until('g t goes to the tasks', sub {    # if both come within a second and a half
        $browser->press($_) for qw(g t);
        $browser->url =~ m{/tasks} });
    $browser->press('Control', 'a');
};

subtest 'a key that decides' => sub {
    $company->open('keys');
    $browser->click_text('main button', 'Create key');
    unlike(dialog(), qr/decisions of approvers/, 'a key that reads carries no decisions');
    $browser->click('dialog[open] [name^=accessLevel][value=full]');
    like(dialog(), qr/May carry decisions of approvers/, 'one that writes may');
    $company->look('dialog-key-full', viewport => 1);
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
    like($browser->text('main'), qr/carries decisions/, 'the list says so');
    $company->open('access/requests');
    $browser->until('what was taken away is said',
        sub { $browser->text('main') =~ /Taken away in the directory (?!\[)\w/ });
    $company->look('access-taken');
};

subtest 'evidence of a leaver' => sub {
    $company->open('person/' . $company->id_of('bo.ek') . '?tab=evidence');
    $browser->until('what became of the password',
        sub { $browser->text('main') =~ /replaced by one that nobody knows/ });
    my ($open) = $browser->text('main') =~ /(Step Leaver.*)/;
    like($open, qr/has no group "Nowhere at all"\.$/, 'a sentence in another has one full stop');
    $company->look('person-evidence');
};

subtest 'in forced colours and with large text' => sub {
    $company->open('overview');
    $browser->media(forced => 1);
    $browser->script('document.documentElement.style.fontSize = "200%"');
    $browser->size(640, 900);
    cmp_ok($browser->script('return document.documentElement.scrollWidth'), '<=', 640,
        'nothing scrolls sideways');
    $browser->screenshot(Idadmin::Test::build_dir() . '/run/console/state-forced-640.png')
        if $ENV{IDADMIN_SCREENSHOTS};
    $browser->press('/');
    $browser->wait_for('header [role=option]');
    for my $width (640, 1024) {
        $browser->size($width, 900);
        my ($box, @edges) = @{ $browser->script(<<'JS') };
            const all = ['combobox', 'listbox'].map((role) =>
                document.querySelector(`header [role=${role}]`).getBoundingClientRect());
            return [all[0].width, ...all.flatMap((one) => [one.left, one.right])];
JS
        cmp_ok($box, '>=', 280, "$width pixels: there is room to search");
        is_deeply([grep { $_ < 0 || $_ > $width } @edges], [], "$width pixels: all of it is seen");
    }
    $browser->press('Escape');
    $browser->wait_gone('header [role=option]');
    $browser->script('document.documentElement.style.fontSize = ""');
    $browser->media;
    $browser->size(1280, 900);
};

subtest 'a viewer' => sub {
    $company->sign_in('viewer');
    state_of('no-right', 'keys', qr/needs the role key administrator/);
    $company->sign_in('nobody');
    state_of('no-role', 'overview', qr/IdAdminConsoleRole/, qr/403/);
    $company->sign_in('administrator');
};

subtest 'a key administrator' => sub {
    $company->sign_in('key-administrator');
    $company->open('keys');
    $browser->click_text('main button', 'Create key');
    asked(qr/that can write are created .* by administrators/, 'the dialog says who makes others');
    unlike(dialog(), qr/Full access/, 'which are no choice');
    $company->look('dialog-key-read', viewport => 1);
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
    $company->sign_in('administrator');
};

# As a module for OpenID Connect answers when a session has ended.
subtest 'signed out' => sub {
    my $console = $stack->httpd->{console};
    my $login = 'RedirectMatch 302 ^/console/api/ /login';
    $company->open('hire');
    $browser->type('[name=firstname]', 'Typed');
    $stack->httpd->reconfigure(console => "$console\n    $login\n");
    $stack->httpd->graceful;
    $browser->type('[name=surname]', 'Already');
    asked(qr/signed out/i, 'a dialog says so');
    $company->look('state-signed-out', viewport => 1);
    is($browser->value('[name=firstname]'), 'Typed', 'what was typed stays');
    $stack->httpd->reconfigure(console => $console);
    $stack->httpd->graceful;
    $company->sign_in('administrator');
};

subtest 'the server is away' => sub {
    $company->open('overview');
    $stack->httpd->stop;
    $browser->until('a banner says so', sub { main() =~ /does not answer/ });
    $company->look('state-away', away => 1, expected => [qr/net::ERR_/]);
    $stack->httpd->start;
    $browser->click_text('button', 'Try now');
    $browser->until('the banner goes', sub { main() !~ /does not answer/ });
};

$company->stop;
done_testing;
