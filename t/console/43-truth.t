# What the console tells stays true: each kind of need with and without an instant, a fault in one
# card, a server that refuses or is away, midnight, what was cancelled, retried, held or signed in
# elsewhere.
use strict;
use utf8;
use warnings;
use Idadmin::Test::Between ();
use Idadmin::Test::Browser ();
use Idadmin::Test::Company ();
use Idadmin::Test::Console ();
use Idadmin::Test::Times qw(stockholm);
use JSON::PP ();
use POSIX ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $company = Idadmin::Test::Company->new;
my $browser = $company->browser;
my $stack   = $company->stack;
my $between = Idadmin::Test::Between->new($browser);
my $api     = Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
    company => 'nordic');
my $day     = $browser->script('return new Date().toISOString().slice(0, 10)');

sub main   { return $browser->text('main') }
sub dialog { return $browser->text('dialog[open]') }
sub lamp   { return $browser->script('return getComputedStyle(document.querySelector(".lamp"))'
    . '.backgroundColor') }
sub wake   { return $browser->script('document.dispatchEvent(new Event("visibilitychange"))') }
# Calls behind the first so many.
sub since  { my ($count) = @_;
    return @{ $browser->script('return between.log.slice(arguments[0])', $count) } }
# What a page says once it has asked again.
sub heals  { my ($pattern, $name) = @_;
    return $browser->until($name, sub { wake(); main() =~ $pattern }) }
sub told   { my ($pattern, $name) = @_; return $browser->until($name, sub { main() =~ $pattern }) }

$company->open('overview');
my $green = lamp();

subtest 'every kind of need' => sub {
    my @kinds = qw(workerNone chainBroken strays offboardingFailed offboardingOverdue tasksLate
        syncStopped directoryHeld paused failed attention braked approvals syncFailed directoryLate
        keyExpiring secretExpiring seatsLow);
    my $count = @kinds;
    for my $since (undef, '2026-11-01T08:00:00Z') {
        for my $sample ([], [{ displayName => 'Erik Holm', userPrincipalName => 'erik@x.example',
            directory => 'onPremises', username => 'hr', reason => 'record 7: it does not fit',
            taskId => '01x', accountDisabled => JSON::PP::true }]) {
            $between->tells(overview => { needs => [map { { kind => $_, severity => 'critical',
                count => 1, since => $since, sample => $sample } } @kinds] });
            wake();
            my $name = ($since // 'no instant') . ', ' . @$sample . ' named';
            $browser->until("each is shown ($name)", sub { main() =~ /\b$count things need you/ });
            is(scalar $browser->all('.needs > li'), $count, "$name: a line each");
            is(scalar $browser->all('.failed'), 0, "$name: none of them failed");
            unlike(main(), qr/NaN|undefined|null|need\./, "$name: words alone");
            $between->tells(overview => { needs => [] });
            wake();
            told(qr/Nothing needs you.*Nothing needs you/s, 'lead and card agree');
        }
    }
    # What is said of an overdue leaver follows from the steps that are done.
    for my $one ([begun => JSON::PP::false, qr/has not begun.*may still have access/],
        [begun => JSON::PP::true, qr/is overdue since.*may still have access/],
        [accountDisabled => JSON::PP::true, qr/account of Erik Holm is disabled, but not all/]) {
        $between->tells(overview => { needs => [{ kind => 'offboardingOverdue',
            severity => 'critical', count => 1, since => '2026-11-01T08:00:00Z',
            sample => [{ displayName => 'Erik Holm', taskId => '01x',
                $one->[0] => $one->[1] }] }] });
        wake();
        told($one->[2], "$one->[0]: $one->[1]");
    }
    $between->tells(overview => { needs => [{ kind => 'secretExpiring', severity => 'warning',
        count => 1, since => undef, sample => [{ directory => 'cloud', reason => 'clientSecret' }]
    }] });
    wake();
    told(qr/a secret expires soon\.\s+Client secret/, 'which secret, in the words of the page');
    is_deeply([$browser->complaints], [], 'nothing to complain of');
};

subtest 'data that look newer than the page' => sub {
    $company->open('overview');
    my $soon = POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + 60));
    $between->tells(overview => { directories => [{ directory => 'onPremises', state => 'fresh',
        asOf => $soon, syncInterval => 60 }] });
    my $widths = sub { $browser->script('return [...document.querySelectorAll(".gauge .level")]'
        . '.map(one => one.getAttribute("width"))') };
    $browser->until('the bar has no length', sub { wake(); "@{ $widths->() }" eq '0' });
    is_deeply([$browser->complaints], [], 'nothing to complain of');
    $between->rule('GET overview');
};

subtest 'a fault costs one card' => sub {
    $company->open('overview');
    $between->rule('GET overview', '{change: (data) => { data.today = {}; }}');
    my $before = $between->calls('GET overview');
    wake();
    told(qr/Today\s+The page has a fault/, 'the card says so');
    is(scalar $browser->all('.failed'), 1, 'no other does');
    like(main(), qr/A task has failed: Otto Fjäll/, 'what needs attention is shown');
    wake();
    $browser->until('the page goes on asking',
        sub { $between->calls('GET overview') > $before + 1 });
    $between->rule('GET overview');
    wake();
    $browser->until('the card is whole again', sub { !$browser->find('.failed') });
    is(scalar(() = map {/TypeError/g} $browser->complaints), 1, 'the fault is told once');
};

subtest 'a server that refuses' => sub {
    $company->open('overview');
    $browser->until('it is green', sub { lamp() eq $green });
    $between->rule('GET overview', '{status: 503}');
    wake();
    told(qr/What you see is from/, 'it is said from when this is');
    isnt(lamp(), $green, 'the lamp is not green while what is shown is stale');
    like(main(), qr/Needs you.*Otto Fjäll/s, 'what was known stays');
    $between->rule('GET overview');
    wake();
    $browser->until('it is green again', sub { lamp() eq $green });
    unlike(main(), qr/What you see is from/, 'the banner goes');

    $between->rule('GET users', '{lost: true}');
    $between->rule('GET keys', '{status: 503}');
    $browser->script('location.hash = "#/nordic/people"');
    told(qr/does not answer/, 'a list that could not be had says so');
    $between->rule('GET pulse', '{lost: true}');
    wake();
    $browser->until('the lamp is not green', sub { lamp() ne $green });
    $between->rule($_) for 'GET users', 'GET pulse';
    heals(qr/Greta Dahl/, 'it comes by itself when the server is back');

    $between->rule('GET task', '{status: 503}');
    $browser->script('location.hash = "#/nordic/task/' . $company->task('failed') . '"');
    told(qr/This cannot be shown/, 'a page that could not be had');
    $between->rule('GET task');
    heals(qr/New hire of Otto Fjäll/, 'comes by itself too');

    $between->rule('GET overview', '{status: 429, headers: {"Retry-After": "3"}}');
    $company->open('tasks');
    $browser->script('location.hash = "#/nordic/overview"');
    told(qr/Too many requests/, 'too many requests');
    $between->rule('GET overview');
    heals(qr/Needs you/, 'the page comes when that is over');
    my @asked = $between->calls('GET overview');
    my @after = map { $asked[$_ + 1]{at} - $asked[$_]{at} }
        grep { ($asked[$_]{status} // 0) == 429 } 0 .. $#asked - 1;
    ok(@after && !grep({ $_ < 2900 } @after), 'and was not asked for before') or diag "@after";
    $browser->complaints(qr/503|429/);
};

subtest 'an answer that breaks off' => sub {
    my $ended = $browser->async(<<'JS');
const done = arguments[arguments.length - 1], real = window.fetch, names = [];
const {get} = await import(new URL('api.js', location.href));
const body = (end) => new ReadableStream({start: (to) => { setTimeout(() => end(to), 0); }});
for (const way of ['given up', 'lost', 'no JSON']) {
    const stop = new AbortController();
    window.fetch = async () => new Response(way === 'no JSON' ? '<p>' : body((to) => {
        if (way === 'given up') stop.abort();
        to.error(way === 'lost' ? new TypeError('gone') : stop.signal.reason);
    }));
    names.push(await get('session', {}, stop.signal).then(() => 'answered',
        (error) => `${error.name} ${error.status ?? ''} ${error.lost ?? ''}`.trim()));
}
window.fetch = real;
done(names);
JS
    is_deeply($ended, ['AbortError', 'Error 0 true', 'Error 502 true'],
        'is given up, or lost, but no refusal');
};

subtest 'an answer that comes behind a wake' => sub {
    my $asked = sub { $browser->script('return between.asked') };
    $browser->async(<<'JS');
const done = arguments[arguments.length - 1], real = window.fetch, stop = new AbortController();
const {poll, wake} = await import(new URL('api.js', location.href));
const answer = {status: 200, ok: true, headers: new Headers(), json: async () => ({data: {}})};
let give;
between.asked = 0;
between.wake = () => { wake(); give(answer); };
between.end = () => { stop.abort(); window.fetch = real; };
window.fetch = (to, options) => (to.includes('/api/slow') ? new Promise((go, fail) => {
    between.asked++;
    give = go;
    options.signal.addEventListener('abort', () => fail(options.signal.reason));
}) : real(to, options));
poll({path: 'slow', every: 1e6, apply: () => {}, signal: stop.signal});
wake();
done();
JS
    $browser->until('it is asked', sub { $asked->() == 1 });
    $browser->script('between.wake()');
    ok($browser->until('asked again', sub { $asked->() == 2 }), 'does not put the next one off');
    $browser->script('between.end()');
};

subtest 'grey bars are seen' => sub {
    $company->open('tasks');
    $between->rule('GET company', '{hold: true}');
    $browser->script('location.hash = "#/nordic/company"');
    $browser->wait_for('.skeleton');
    is($browser->script('return [...document.querySelectorAll(".skeleton .card .bar")]'
        . '.filter((one) => !one.checkVisibility() || one.offsetHeight < 8).length'), 0,
        'all of them');
    $between->go('GET company');
    $between->rule('GET company');
    told(qr/Company ID/, 'then the page');
};

subtest 'midnight' => sub {
    $company->open('tasks?tab=queued');
    $browser->until('tomorrow is a day away', sub { main() =~ /tomorrow 09:00/ });
    $between->ahead(86400);
    wake();
    told(qr/today 09:00/, 'a row that is open follows the day');
    unlike(main(), qr/tomorrow 09:00.*today 09:00/s, 'in order');
    $between->ahead(0);
    $company->open('overview');
    $between->ahead(86400);
    my $tomorrow = stockholm('%A', time + 86400);
    told(qr/\Q$tomorrow\E/, 'the overview does too');
    $between->ahead(0);
};

subtest 'what was cancelled' => sub {
    $company->open('hire');
    $browser->type('[name=firstname]', 'Rut');
    $browser->type('[name=surname]', 'Ångra');
    $browser->type('[name=date]', '2031-05-03');
    $browser->click_text('button', 'Review');
    $browser->until('the plan is shown', sub { dialog() =~ /rut\.angra/ });
    $browser->click_text('dialog[open] button', 'Queue the new hire', ready => 1);
    told(qr/Queued for.*Undo/s, 'it is queued');
    is(scalar $browser->all('.head p a'), 0, 'a hire that is queued has no page to lead to');
    $browser->click_text('main button', 'Cancel task');
    $browser->click_text('dialog[open] button', 'Cancel task');
    told(qr/Cancelled: New hire of Rut Ångra/, 'and cancelled');
    unlike(main(), qr/Queued for|Undo/, 'nothing offers to undo it');
    unlike(main(), qr/\bwaits\b/, 'no step waits');
    like(main(), qr/not begun/, 'they were not begun');
    told(qr/administrator cancelled a task/, 'the log beneath tells it');
};

subtest 'a form that was begun' => sub {
    $company->open('hire');
    $browser->type('[name=firstname]', 'Ida');
    # Putting the address back takes its time.
    $browser->script(q{const back = history.back.bind(history);
        history.back = () => { delete history.back; setTimeout(back, 1000); }; location.hash =
        '#/nordic/workflows'});
    $browser->click_text('dialog[open] button', 'Leave');
    $browser->until('it is left', sub { $browser->text('h1') eq 'Workflows' });
    is($browser->script('return location.hash'), '#/nordic/workflows', 'and so says the address');
};

subtest 'what was retried' => sub {
    my $id = $company->task('failed');
    $between->rule('GET task', '{change: ({task}) => Object.assign(task, {state: "queued", '
        . 'attempts: 0, nextAttemptAt: "2026-01-01T00:00:00Z", hold: null})}');
    $company->open("task/$id");
    like(main(), qr/as soon as a worker is free/, 'what is due is not "again"');
    unlike(main(), qr/Tried 0|ago/, 'nor was it tried nought times, some time ago');
    $between->rule('GET task');
    $company->open("task/$id");
    # The page's own poll comes no more: what is asked now is asked because of the write.
    my $asked = $browser->script(<<'JS');
        const timer = between.timer = window.setTimeout;
        window.setTimeout = (go, ms, ...more) => ms > 5000 ? 0 : timer(go, ms, ...more);
        const asked = between.log.length;
        document.dispatchEvent(new Event('visibilitychange'));
        return asked;
JS
    my $pulses = sub { grep { $_->{path} eq 'pulse' && $_->{status} } since($asked) };
    $browser->until('it has asked once more', $pulses);
    $asked = $browser->script('return between.log.length');
    $browser->click_text('main button', 'Retry');
    $browser->click_text('dialog[open] button', 'Retry');
    $browser->until('badges follow', $pulses);
    my @order = map {"$_->{method} $_->{path}"} since($asked);
    my ($write) = grep { $order[$_] eq 'POST task/retry' } 0 .. $#order;
    my ($pulse) = grep { $_ > $write && $order[$_] eq 'GET pulse' } 0 .. $#order;
    ok(defined $pulse, 'at once, not with the next poll');
    $browser->script('window.setTimeout = between.timer');
    # The record comes through the worker, behind the answer.
    heals(qr/administrator retried a task of/, 'the log beneath tells it');
    $stack->wait_task($id);
};

subtest 'what the log says' => sub {
    $company->open('log');
    $browser->until('records are shown', sub { main() =~ /queued the hire of/ });
    like(main(), qr/queued the offboarding of/, 'an offboarding was queued');
    unlike(main(), qr/\b(?:hired|offboarded) /, 'it reports no leaver and no joiner');
};

subtest 'a person must leave now, and the brake is reached' => sub {
    $company->open('offboard/' . $company->id_of('rut.sandell'));
    unlike(main(), qr/within a second/, 'nothing is promised beforehand');
    $browser->click('input[type=radio][value=now]');
    $browser->click_text('main button', 'Review');
    $browser->until('the question is asked', sub { dialog() =~ /rut\.sandell/ });
    like(dialog(), qr/as soon as nothing holds it/, 'it is said that it may be held');
    unlike(dialog(), qr/within a second/, 'and nothing promised');
    $browser->type('dialog[open] [name=typed]', 'rut.sandell@nordic.example');
    $browser->click_text('dialog[open] button', 'Offboard now', ready => 1);
    told(qr/Queued\. It begins as soon as nothing holds it/, 'it is queued');
    is(scalar $browser->all('.notice.ok'), 0, 'without a green tick');
};

subtest 'a person in a field' => sub {
    $company->open('offboard');
    $browser->type('main [role=combobox]', 'Greta Dah');
    $browser->click_text('main button', 'Review');
    told(qr/choose a person from the list/, 'a name alone identifies no person');
    $company->open('access/templates');
    $browser->click_text('main a', 'Seller', ready => 1);
    $browser->click_text('main button', 'Assign');
    $browser->type('dialog[open] [role=combobox]', 'Henrik');
    $browser->until('one is found', sub {
        join('|', $browser->texts('dialog[open] [role=option]')) =~ /^Henrik Falk[^|]*$/ });
    ok($browser->script(<<'JS'), 'the list covers no button');
        const list = document.querySelector('dialog[open] [role=listbox]').getBoundingClientRect();
        return [...document.querySelectorAll('dialog[open] .form-foot button')].every((one) => {
            const box = one.getBoundingClientRect();
            return box.top >= list.bottom || box.bottom <= list.top;
        });
JS
    $browser->press('Enter');
    ok($browser->find('dialog[open]'), 'Enter chooses and does not close');
    is($browser->value('dialog[open] [role=combobox]'), 'Henrik Falk', 'who it was');
    $browser->press('Enter');
    $browser->until('what would happen', sub { dialog() =~ /Assign .*henrik\.falk/ });
    $browser->press('Escape');
};

subtest 'groups, filters, figures' => sub {
    $company->open('person/' . $company->id_of('greta.dahl') . '?tab=access');
    my ($group) = $browser->texts('main tbody th a');
    $browser->click('main tbody th a', ready => 1);
    is($browser->text('h1'), $group, 'a group of a person leads to that group');
    $company->open('people?group=Nowhere');
    told(qr/Group:\s+Nowhere/, 'a filter that names nothing stays to be taken away');
    ok($browser->find('.filters + .list .failed'), 'the list alone says why');
    $browser->click('.chip');
    told(qr/Greta Dahl/, 'and comes without it');
    # Licences come from role templates and from unused ones: this directory has none.
    $between->rule('GET role-template',
        '{change: ({roleTemplate}) => { roleTemplate.licenses = ["SPE_E3"]; }}');
    $between->rule('GET hygiene', '{change: ({sections}) => { '
        . 'sections.disabledWithAccess.items = [{licenses: ["VISIO", "SPE_E3"]}]; }}');
    $browser->click('main .filters summary');
    my $words = sub { return $browser->script('return [...document.querySelector('
        . '`main [name=${arguments[0]}]`).list.options].map((one) => one.value)', $_[0]) };
    $browser->until('licences are suggested', sub { @{ $words->('license') } });
    is_deeply($words->('license'), [qw(SPE_E3 VISIO)], 'each once');
    ok((grep { $_ eq 'Sales' } @{ $words->('department') }), 'departments too');
    $between->rule($_) for 'GET role-template', 'GET hygiene';
    # More rows than a page sorts: it says so, and no header says otherwise.
    $between->rule('GET users', '{change: (data) => Object.assign(data, {totalCount: 2000, '
        . 'nextCursor: "more", items: Array.from({length: 1000}, (_, i) => '
        . '({...data.items[0], id: `x${i}`}))})}');
    $browser->click_text('main thead button', 'Department');
    told(qr/Not sorted: this column sorts up to 1,000 rows/, 'what is not sorted says so');
    is(scalar $browser->all('[aria-sort]'), 0, 'in its header too');
    $between->rule('GET users');
    $company->open('workflows');
    my $failed = $api->data('/workflow/runs',
        { workflow => 'Leaver', status => 'doneWithWarnings' });
    told(qr/Leaver.*\b$failed->{totalCount} with warnings/s, 'what the service counted');
    # (With a cursor that the service never gave the list would fail and come back by turns.)
    $between->rule('GET tasks', '{change: (data) => Object.assign(data, {totalCount: 1020})}');
    $company->open('tasks?tab=all');
    $browser->click('.tickbox input');
    told(qr/The first 1,000 of 1,020/, 'no more is offered than is done');
    $between->rule('GET tasks');
    $browser->complaints(qr/400|404/);
};

# What is offered in the box, each with the words of its group.
sub offered {
    return @{ $browser->script(<<'JS') };
        return [...document.querySelectorAll('header [role=option]')].map((one) =>
            `${one.closest('[role=group]')?.getAttribute('aria-label')}: ${one.innerText}`);
JS
}

# Types into the box instead of what it holds, as a person does. (A driver's "clear" leaves it.)
sub looked_for {
    my ($words) = @_;
    $browser->script(<<'JS', $words);
        const box = document.activeElement;
        box.value = arguments[0];
        box.dispatchEvent(new Event('input', {bubbles: true}));
JS
    return;
}

subtest 'anything is found, by keyboard alone' => sub {
    $company->open('tasks');
    $browser->press('/');
    $browser->until('what can be done is offered', sub { grep {/^Actions: Hire/} offered() });
    looked_for('maja');
    $browser->until('a queued person is found',
        sub { grep {/^Queued people: New hire of Maja Ström/} offered() });
    $browser->press($_) for qw(Down Enter);
    told(qr/Due .*30 March 2031/, 'and opened');
    $browser->script('document.dispatchEvent(new KeyboardEvent("keydown",'
        . ' {key: "k", ctrlKey: true, bubbles: true}))');
    looked_for('crm');
    $browser->until('a group', sub { grep {/^Groups: CRM admins/} offered() });
    looked_for('seller');
    $browser->until('a role template', sub { grep {/^Role templates: Seller/} offered() });
    looked_for('greta');
    $browser->until('a person', sub { grep {/^People: Greta Dahl/} offered() });
    looked_for('create k');
    $browser->until('an action', sub { grep {/^Actions: Create a key/} offered() });
    $browser->press($_) for qw(Down Enter);
    $browser->until('it is begun', sub { dialog() =~ /What is it for/ });
    $browser->press('Escape');
    $browser->wait_gone('dialog[open]');
    for my $one ([approver => qr/^(?:Pages: (?:Overview|Access)|Actions: none)/],
        ['key-administrator' => qr/^(?:Pages: (?:Overview|Keys|Company)|Actions: Create a key)/]) {
        $company->sign_in($one->[0]);
        $company->open('overview');
        $between->clear if $between->can('clear');
        $browser->press('/');
        $browser->until('something is offered', sub { offered() });
        is_deeply([grep { $_ !~ $one->[1] } offered()], [], "nothing else to an $one->[0]");
        looked_for('greta');
        $browser->until('asked', sub { !grep {/^Pages/} offered() });
        is_deeply([grep {/Greta/} offered()], [], 'no person');
    }
    $company->sign_in('administrator');
    $company->open('overview');
    is_deeply([$browser->complaints], [], 'nothing was refused');
};

subtest 'what Monday brings' => sub {
    $company->open('overview');
    my $monday = $browser->script(<<'JS');
        return document.querySelector('.week li:not(.free) > a').getAttribute('href');
JS
    $browser->script('location.hash = arguments[0]', $monday);
    ok(told(qr/Start \(1\)\s+09:00.*Sven Långt/s, 'a day with its names'), 'one click away');
    $browser->click_text('main a', 'Calendar', ready => 1);
    ok(told(qr/people start/, 'its month'), 'and back to its month');
    $browser->click_text('main a', 'Next', ready => 1);
    ok(told(qr/Nobody starts or leaves|start/, 'the next month'), 'and the month after');
};

subtest 'on paper' => sub {
    $company->open('task/' . $company->task('left'));
    like(main(), qr/today|yesterday/, 'on the screen it is today');
    $browser->media(print => 1);
    $browser->script('dispatchEvent(new Event("beforeprint"))');
    unlike(main(), qr/today|yesterday|tomorrow| ago/, 'on paper a day has its name');
    $browser->media;
    $browser->script('dispatchEvent(new Event("afterprint"))');
    like(main(), qr/today|yesterday/, 'then as it was');
};

subtest 'signed in in a window beside' => sub {
    $company->open('overview');
    $between->rule("GET $_", '{status: 401}') for qw(pulse overview session);
    wake();
    $browser->until('a dialog says so', sub { dialog() =~ /signed out/i });
    $between->rule("GET $_") for qw(pulse overview session);
    $browser->wait_gone('dialog[open]');
    ok($browser->until('it is green', sub { wake(); lamp() eq $green }), 'and the page goes on');
    $browser->complaints(qr/401/);
};

subtest 'a person must leave now, and the directory is held' => sub {
    $stack->sql("INSERT INTO directory_state (tenant_id, directory, hold_reason, hold_since, "
        . "hold_until, hold_failures) VALUES ('nordic', 'onPremises', 'It does not answer.', "
        . "1795253400000, 4102444800000, 1) ON CONFLICT (tenant_id, directory) DO UPDATE SET "
        . "hold_reason = 'It does not answer.', hold_since = 1795253400000, "
        . "hold_until = 4102444800000");
    $company->open('offboard/' . $company->id_of('henrik.falk'));
    $browser->click('input[type=radio][value=now]');
    $browser->click_text('main button', 'Review');
    $browser->until('the question is asked', sub { dialog() =~ /henrik\.falk/ });
    like(dialog(), qr/as soon as nothing holds it.*is held since/s, 'it is said what holds it');
    unlike(dialog(), qr/within a second/, 'and nothing promised');
    $browser->type('dialog[open] [name=comment]', 'Agreed with the manager');
    $browser->type('dialog[open] [name=typed]', 'henrik.falk@nordic.example');
    $browser->click_text('dialog[open] button', 'Offboard now', ready => 1);
    told(qr/Queued\. It begins as soon as nothing holds it/, 'it is queued');
    is(scalar $browser->all('.notice.ok'), 0, 'without a green tick');
    my $task = $browser->url;
    $company->sign_in('operator');
    $browser->goto($task);
    told(qr/Comments\s+Agreed with the manager\s+administrator/, 'an operator reads why');
};

$company->stop;
done_testing;
