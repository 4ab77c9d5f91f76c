# Each page in a real browser, for a person with all rights in a company with data of every kind:
# light, dark, on a phone, in Swedish, on paper; no error in the browser's console, no refusal by
# the content policy, no request to another server, no finding of axe-core. Screenshots are stored
# in run/console/ of the build if IDADMIN_SCREENSHOTS=1.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(build_dir);
use Idadmin::Test::Browser ();
use Idadmin::Test::Company ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $company = Idadmin::Test::Company->new;
my $browser = $company->browser;
my $person  = $company->id_of('greta.dahl');
my @pages   = (
    (map { [$_ => $_] } qw(overview people tasks access workflows hygiene log keys company hire
        calendar)),
    (map { ["settings-$_" => "settings/$_"] } qw(receivers catalog document)),
    [workflow => 'workflows/Leaver'], ['calendar-day' => 'calendar/2031-03-30'],
    (map { [$_ => "tasks?tab=$_"] } qw(needs queued done all)),
    (map { ["task-$_" => 'task/' . $company->task($_)] }
        qw(done left failed attention skipped braked cancelled)),
    [person => "person/$person"], ['person-left' => 'person/' . $company->id_of('bo.ek')],
    [offboard => "offboard/$person"], [change => "hire/$person"],
    (map { ["access-$_" => "access/$_"] } qw(groups templates requests)),
    [coming => 'people?show=coming'], [hires => 'hires'],
    [line => "person/$person?tab=line"], [managers => 'hygiene/accountsWithoutManager'],
    ['people-found' => 'people?query=lund'], ['people-none' => 'people?query=xyzzy'],
);

# Texts of this company that must stand on a page; those without an entry have none of their own.
my %shows = (
    overview => qr/need/, people => qr/Greta Dahl/, tasks => qr/Offboard/,
    queued => qr/Offboard|Hire/,
    access => qr/CRM admins/, workflows => qr/Joiner.*Leaver/s, hygiene => qr/Disabled/,
    log => qr/operator|administrator/, keys => qr/hr-full/, company => qr/nordic\.example/,
    calendar => qr/Otto Fjäll/, 'calendar-day' => qr/Start \(1\).*Maja Ström/s,
    'settings-receivers' => qr/No address is called/,
    'settings-catalog' => qr/CRM.*eva\.berg/s, 'settings-document' => qr/Apply it/,
    workflow => qr/Follows every offboarding.*out of the group Nowhere at all/s,
    hire => qr/First name/, person => qr/Greta Dahl/, 'person-left' => qr/Bo Ek/,
    offboard => qr/Greta Dahl/, change => qr/Greta/, 'access-templates' => qr/Seller/,
    'access-requests' => qr/CRM/, 'people-found' => qr/Lund/i, 'people-none' => qr/xyzzy|No/,
);

# What a page says where it could not be had: none of it, or a card.
sub failures {
    return @{ $browser->script(<<'JS') };
        return [...document.querySelectorAll('.failed')].map((one) => one.innerText);
JS
}

# Words that stand on two lines, at the width where a table beside the navigation is narrowest.
sub broken {
    $browser->size(1024, 900);
    return @{ $browser->script(<<'JS') };
        const all = document.createTreeWalker(document.getElementById('page'),
            NodeFilter.SHOW_TEXT);
        const range = document.createRange(), broken = [];
        for (let node; (node = all.nextNode());) {
            if (!node.parentElement.checkVisibility()
                || node.parentElement.closest('code, pre, .unseen')) continue;
            for (const word of node.data.matchAll(/[^\s.@/:;?=,()–-]{2,24}/g)) {
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const tops = [...range.getClientRects()].map((one) => Math.round(one.top));
                if (new Set(tops).size > 1) broken.push(word[0]);
            }
        }
        return broken;
JS
}

# Where the first row of a list begins on a phone.
my %list = map { $_ => 1 } qw(people tasks access log keys queued done all coming managers);
sub first_row {
    $browser->size(390, 900);
    return $browser->script(<<'JS');
        return document.querySelector('main tbody tr').getBoundingClientRect().top + scrollY;
JS
}

# Words of English that are seen; what people and directories have named is data.
sub english {
    return @{ $browser->script(<<'JS') };
        const page = document.getElementById('page'), found = [];
        const word = /\b(the|was|of|and|with|this|has|been|which|are|cannot|must|to|no)\b/i;
        const all = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
        for (let node; (node = all.nextNode());) {
            const at = node.parentElement;
            if (at.checkVisibility()
                && !at.closest('code, pre, .copyable, bdi:not(.quote, .quote bdi)')
                && word.test(node.data)) found.push(node.data);
        }
        // Nor is it said that there is an explanation, which only a reader of English would have.
        return found.concat([...page.querySelectorAll('[lang=en], .quote')].filter((one) =>
            one.checkVisibility() && (one.lang || /engelska/.test(one.innerText)))
            .map((one) => one.innerText));
JS
}

# What steps, tasks and directories come to most often, as the service says it.
my @outcomes = (
    'created as nina.lund@nordic.example', 'created as nina.lund@nordic.example, disabled',
    'created as nina.lund2@nordic.example (nina.lund@nordic.example was taken)',
    'made by an earlier try of this task as nina.lund@nordic.example', 'no manager was given',
    'manager: eva.berg@nordic.example', 'no photo was given', '20480 bytes, image/jpeg',
    'disabled', 'was disabled already', 'disabled; locked, and the password is an unknown one',
    'disabled; locked, but the password was not replaced: ldap://dc1: set the password: '
        . 'Insufficient access (50)',
    'signed out everywhere', 'a directory of this kind keeps no sign-in sessions',
    'member of no group that could be left', 'removed from Sales team',
    'removed from 2 groups: All staff, Sales team; cannot be revoked: Everyone (membership by '
        . 'rule: (departmentNumber=7)); refused: Board (ldap://dc1: leave: Busy (51))',
    'disabled, member of no group; locked, and the password is an unknown one',
    'disabled; member of what a workflow added it to: Alumni',
    'already absent: the directory has no such account', 'department, jobTitle cleared',
    'enabled, department; not set: mobilePhone (ldap://dc1: change: Invalid syntax (21))',
    'given back: All staff; had already: Sales team', 'nothing to give back',
    'added to All staff', 'member of All staff already', 'no member of All staff',
    'The directory has no group "Nowhere".', 'Seller: added CRM admins; so already All staff',
    'taken away: SPE_E3', 'none is assigned directly', 'it is so already',
    '2 reports now report to eva.berg@nordic.example', 'nobody reports to bo.ek@nordic.example',
    'createAccount: given up after 5 tries: ldap://dc1: find the user: '
        . "Can't contact LDAP server (-1)",
    'https://graph.microsoft.com: creating the user: HTTP 403 Authorization_RequestDenied: '
        . 'Insufficient privileges (request-id 7)',
    'ldap://dc1: bind: Invalid credentials (49): 80090308', 'ldap://dc1: add: Timed out (-5)',
    'The directory onPremises is held since 2026-11-23 09:12: ldap://dc1: bind: Server is '
        . 'unavailable (52) Tasks for it wait until it answers again.',
    'The password of the account is an unknown one since the offboarding 2026-11-20 17:00: '
        . 'set a new password, otherwise the person cannot sign in.',
    'The tenant\'s user seat limit is reached: the account was not enabled.',
    'must be a date of the calendar written YYYY-MM-DD',
    'country: is not kept by this directory (its schema has no place for c)',
    'country: this directory keeps two-letter codes only; "Sverige" was left out',
    'middleName: this directory keeps initials only (K)',
    'the account is enabled, but its end (accountExpires) is over: the person cannot sign in with '
        . 'it until that is changed in the directory',
);

sub paint {
    return $browser->script(<<'JS');
        return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null;
JS
}

note(Idadmin::Test::Company::axe_missing()) if Idadmin::Test::Company::axe_missing();
for my $page (@pages) {
    my ($name, $place) = @$page;
    subtest $name => sub {
        $company->open($place);
        is(scalar $browser->all('h1'), 1, 'one heading');
        is_deeply([failures()], [], 'no part of it failed');
        like($browser->text('main'), $shows{$name}, 'it shows what it is about') if $shows{$name};
        is_deeply([broken()], [], 'no word breaks at 1024 pixels');
        cmp_ok(first_row(), '<=', 300, 'rows begin in the upper third of a phone') if $list{$name};
        $company->look($name);
    };
}

$company->open('overview');    # the same address: reloads
my $first = paint();
ok(defined $first, 'the page tells when it was first painted');
note("first contentful paint of the overview after $first ms");

subtest 'in Swedish' => sub {
    $browser->language('sv-SE');
    $company->open('overview');
    is($browser->script('return document.documentElement.lang'), 'sv', 'the page says so');
    for my $i (0 .. $#pages) {
        my ($name, $place) = @{ $pages[$i] };
        $company->open($place);
        is_deeply([english()], [], "$name: no English is seen");
        is_deeply([broken()], [], "$name: no word breaks at 1024 pixels");
        # Colours are those of English; what is longer than it shows in narrow windows.
        $company->look("$name-sv", looks => [[light => 390], [light => 320], [light => 1024]])
            if $i < 15 || ($ENV{IDADMIN_SCREENSHOTS} // '') eq 'all';
    }
    $browser->size(1280, 900);
    my $said = $browser->async(<<'JS', \@outcomes);
        const [outcomes, done] = arguments;
        const {said} = await import(new URL('format.js', location.href));
        while (said(outcomes[0]) === null) await new Promise((go) => setTimeout(go, 20));
        done(outcomes.map(said));
JS
    for my $i (0 .. $#outcomes) {
        ok($said->[$i] && $said->[$i] !~ /\b(?:the|was|of|is|and|already|ldap|no)\b/,
            "said in Swedish: $outcomes[$i]") or diag($said->[$i] // 'not at all');
    }
    $browser->language('en-GB');
};

subtest 'on paper' => sub {
    for my $place (qw(hygiene overview), 'task/' . $company->task('left'),
        'person/' . $company->id_of('bo.ek') . '?tab=evidence') {
        $company->open($place);
        is_deeply([failures()], [], "$place: no part of it failed");
        $browser->media(print => 1);
        $browser->script('dispatchEvent(new Event("beforeprint"))');
        like($browser->text('.print'), qr/Nordic AB.*2\d{3}.*Stockholm/, "$place: what it is");
        my $shown = $browser->script(<<'JS');
            return [...document.querySelectorAll('header.top, nav.side, button')]
                .filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 80));
JS
        is_deeply($shown, [], "$place: neither frame nor buttons");
        $browser->screenshot(build_dir() . '/run/console/print-' . $place =~ s{/.*}{}r . '.png')
            if $ENV{IDADMIN_SCREENSHOTS};
        $browser->media;
    }
};

$company->stop;
done_testing;
