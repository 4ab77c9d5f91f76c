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
    [workflow => 'workflows/Leaver'], ['calendar-day' => 'calendar/2027-03-28'],
    (map { [$_ => "tasks?tab=$_"] } qw(needs queued done all)),
    (map { ["task-$_" => 'task/' . $company->task($_)] }
        qw(done left failed attention skipped braked cancelled)),
    [person => "person/$person"], ['person-left' => 'person/' . $company->id_of('bo.ek')],
    [offboard => "offboard/$person"], [change => "hire/$person"],
    (map { ["access-$_" => "access/$_"] } qw(groups templates requests)),
    [coming => 'people?show=coming'], [hires => 'hires'],
    [line => "person/$person?tab=line"],
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
    for my $page (@pages[0 .. 14]) {
        my ($name, $place) = @$page;
        $company->open($place);
        is($browser->script('return document.documentElement.lang'), 'sv', "$name is in Swedish");
        $company->look("$name-sv");
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
