package Idadmin::Bench::Newcomer;
# The part newcomer: what a person presses for each task of a first day in the console, clicks and
# keys, from the Overview until the outcome is on the screen, in a real Chromium. Seconds are those
# of the machine: what a person reads and thinks is not in them.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(spew tempdir);
use Idadmin::Test::Browser ();
use Idadmin::Test::Company ();
use Time::HiRes ();

my ($company, $browser, $clicks, $keys);

sub _click { my ($css, $text, %how) = @_;
    $clicks++;
    return $browser->click_text($css, $text, %how) }
sub _mark { my ($css) = @_; $clicks++; return $browser->click($css) }

# A field is clicked, unless it has the focus.
sub _type {
    my ($css, $text) = @_;
    $clicks++ if !$browser->script('return document.activeElement?.matches(arguments[0])', $css);
    $keys += length $text;
    return $browser->type($css, $text);
}
sub _press { my (@keys) = @_; $keys++; return $browser->press(@keys) }

sub _sees {
    my ($pattern, $css) = @_;
    return $browser->until("$pattern is seen", sub { $browser->text($css // 'main') =~ $pattern });
}

sub _hire {
    _click('main a', 'New hire', ready => 1);
    _type('[name=firstname]', 'Ellen');
    _type('[name=surname]', 'Kvist');
    _mark('[name=roleTemplates]');
    _click('main button', 'Review');
    _sees(qr/ellen\.kvist.*Monday|ellen\.kvist/s, 'dialog[open]');
    _click('dialog[open] button', 'Queue the new hire', ready => 1);
    return _sees(qr/Queued for/);
}

sub _offboard_and_cancel {
    _click('main a', 'Offboard', ready => 1);
    _type('main [role=combobox]', 'Greta');
    $browser->wait_for('main [role=option]');
    _press('Enter');
    _click('main button', 'Review');
    _sees(qr/greta\.dahl|Greta Dahl/, 'dialog[open]');
    if ($browser->find('dialog[open] [name=typed]')) {    # after 17:00 it is for another day
        _type('dialog[open] [name=typed]', 'greta.dahl@nordic.example');
    }
    _click('dialog[open] .dialog-foot button:last-child',
        ($browser->texts('dialog[open] .dialog-foot button:last-child'))[0], ready => 1);
    _click('main button', 'Cancel task');
    _click('dialog[open] button', 'Cancel task');
    return _sees(qr/Cancelled: Offboarding of Greta Dahl/);
}

sub _retry {
    _click('main a', 'Look and retry', ready => 1);
    _sees(qr/This did not succeed|does not take this value/);
    _click('main button', 'Retry');
    _click('dialog[open] button', 'Retry');
    return _sees(qr/Queued|Done|Running/);
}

sub _key {
    _press('g');
    _press('k');
    $browser->until('keys', sub { $browser->text('main') =~ /hr-full/ });
    _click('main button', 'Create key');
    _type('dialog[open] [name=label]', 'Payroll');
    _click('dialog[open] button', 'Create key');
    return _sees(qr/curl/, 'dialog[open]');
}

sub _who_is_in {
    _press('/');
    $browser->until('something is offered', sub { $browser->all('header [role=option]') });
    $keys += length 'crm';
    $browser->script(<<'JS');    # a driver does not type where it did not clear
        document.activeElement.value = 'crm';
        document.activeElement.dispatchEvent(new Event('input', {bubbles: true}));
JS
    $browser->until('the group is offered', sub {
        grep {/CRM admins/} $browser->texts('header [role=option]') });
    _press('Down');
    _press('Enter');
    return _sees(qr/Members|Ida|approved|role template/);
}

sub _export {
    _click('nav a', 'Hygiene', ready => 1);
    _click('main a', 'See them', ready => 1);
    $clicks++;
    return $browser->wait_for('main a[download]');
}

sub _approve {
    _click('main a', 'Decide', ready => 1);
    _click('main button', 'Approve');
    _click('dialog[open] button', 'Approve');
    return _sees(qr/1 request waits|approved/i);
}

sub _hire_twenty {
    my $file = spew(tempdir() . '/twenty.csv', "firstname,surname,department\n"
        . join '', map {"Tova,Twenty$_,Sales\n"} map { chr 96 + $_ } 1 .. 20);
    _click('nav a', 'People', ready => 1);
    _click('main a', 'Import hires', ready => 1);
    $clicks += 2;    # the field, and the file in the window of the system
    $browser->type('main [name=file]', $file);
    _click('main button', 'Check the lines');
    _click('main button', 'Queue 20 hires');
    _click('dialog[open] button', 'Queue 20 hires');
    return _sees(qr/20 (?:hires|people).*queued|queued.*20/is);
}

sub _monday {
    $clicks++;
    my $day = $browser->script(<<'JS');
        return document.querySelector('.week li:not(.free) > a').getAttribute('href');
JS
    $browser->script('location.hash = arguments[0]', $day);
    return _sees(qr/Start \(\d\)/);
}

my @tasks = (['hire with a template for Monday' => \&_hire],
    ['offboard, and cancel it' => \&_offboard_and_cancel],
    ['why a task failed, and retry' => \&_retry], ['a key and its curl' => \&_key],
    ['who is in a group, and why' => \&_who_is_in], ['export of hygiene' => \&_export],
    ['approve a request' => \&_approve], ['what the next day brings' => \&_monday],
    ['hire twenty by CSV' => \&_hire_twenty]);

sub newcomer {
    my ($part) = @_;
    print '# ' . Idadmin::Test::Browser->skip_reason . "\n" and return
        if !Idadmin::Test::Browser->available;
    $company = Idadmin::Test::Company->new;
    $browser = $company->browser;
    print "# clicks, keys, seconds of the machine\n";
    for my $task (@tasks) {
        my ($name, $run) = @$task;
        $company->open('overview');
        ($clicks, $keys) = (0, 0);
        my $begun = Time::HiRes::time();
        my $done = eval { $run->(); 1 };
        my $took = Time::HiRes::time() - $begun;
        print "# $name: $@" if !$done;
        $Idadmin::Bench::errors++ if !$done;
        $part->figure($name, $clicks + $keys,
            sprintf '%3d clicks %3d keys %6.1f s', $clicks, $keys, $took) if $done;
    }
    $company->stop;
    return;
}

1;
