package Idadmin::Test::Company;
# A company with data of every kind for the console: tasks in every state, a brake, requests, role
# templates, workflows, keys; and the inspection of a page in each theme and width, by axe-core if
# it is installed, with screenshots on request.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(build_dir slurp within);
use Idadmin::Test::Browser ();
use Idadmin::Test::Console ();
use Idadmin::Test::Slapd ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Workflows qw(act workflow);
use JSON::PP ();
use POSIX ();
use Test::More;

my $domain = $Idadmin::Test::Slapd::domain;

sub upn { return "$_[0]\@$domain" }

# new(): the stack with everything done, `administrator` signed in to a browser.
sub new {
    my ($class) = @_;
    my $yes = JSON::PP::true;
    my $stack = Idadmin::Test::Stack->new(engine => 'sqlite',
        slapd => { users => 120, groups => 9 },
        tenant => {
            modules => { publicApi => $yes, accessGovernance => $yes }, seatLimit => 400,
            roleTemplates => [{ name => 'Seller', groups => ['CRM admins'] }],
            accessCatalog => [{ service => 'CRM', group => 'CRM admins',
                approvers => [upn('eva.berg')] }],
            workflows => [workflow('Joiner', 'userCreate', act('addToGroup', group => 'All staff')),
                workflow('Leaver', 'userDelete',
                    act('removeFromGroup', group => 'Nowhere at all'))] },
        httpd => { rate_limits => { person => 'off' },
            console => '    IdAdminConsolePerson "eva.berg@' . $domain . '"' });
    my $self = bless { stack => $stack, url => $stack->httpd->url . '/console/',
        api => Idadmin::Test::Console->new($stack->httpd, user => 'administrator',
            company => 'nordic') }, $class;
    $self->_happen;
    $self->{browser} = Idadmin::Test::Browser->new;
    $self->sign_in('administrator');
    return $self;
}

sub stack   { return $_[0]{stack} }
sub browser { return $_[0]{browser} }
sub task    { return $_[0]{tasks}{ $_[1] } }

sub _post {
    my ($self, $path, $body) = @_;
    my $answer = $self->{api}->post($path, $body);
    die "POST $path: $answer->{body}\n" if $answer->{status} != 200;
    return $answer->{json}{data};
}

sub id_of { my ($self, $uid) = @_;
    return $self->{api}->data('/user/details', { user => upn($uid) })->{user}{id} }

sub _happen {
    my ($self) = @_;
    my $stack = $self->{stack};
    my $day = sub { POSIX::strftime('%Y-%m-%d', localtime(time + 86400 * $_[0])) };
    my $hire = sub { my ($given, $surname, %more) = @_;
        return $self->_post('/user', { firstname => $given, surname => $surname, country => 'SE',
            jobTitle => 'Säljare', department => 'Sales', %more })->{taskId} };
    my $leave = sub { my ($uid, %when) = @_;
        return $self->_post('/user/offboard', { userPrincipalName => upn($uid),
            time => '00:00', %when })->{taskId} };
    my %tasks = (done => $hire->('Nina', 'Lund', manager => upn('eva.berg')),
        left => $leave->('bo.ek'));
    $stack->wait_task($_) for values %tasks;
    $tasks{failed}    = $hire->('Otto', 'Fjäll');
    $tasks{attention} = $hire->('Vera', 'Kvist');
    $stack->wait_task($_) for @tasks{qw(failed attention)};
    my $reason = 'The directory refused the password: Constraint violation (19): too short';
    $stack->sql("UPDATE task SET state = '$_', error = '$reason' WHERE id = '$tasks{$_}'")
        for qw(failed attention);
    $tasks{skipped} = $hire->('Maja', 'Ström', date => '2031-03-30', time => '02:30');
    $hire->('Sven', "Långt-Efternamnsson$_", date => $day->($_), time => '09:00') for 1 .. 3;
    $tasks{soon} = $leave->('carin.sjoberg', date => $day->(2), time => '17:00');
    $tasks{cancelled} = $hire->('Åke', 'Ångrad', date => $day->(5));
    $self->{api}->request('DELETE', '/task', { id => $tasks{cancelled} });
    $stack->worker->expect_log(qr/IDA0319|IDA0604/);    # the brake; a key that ends soon
    $stack->apply_tenant({ companyId => 'nordic', brake => { offboardingsPerHour => 1 } });
    $tasks{braked} = $leave->($_) for qw(david.holm elin.strand);
    $self->_post('/role/assign', { roleTemplate => 'Seller', user => upn('greta.dahl') });
    $self->_post('/access-request', { service => 'CRM', user => upn($_),
        justification => 'Covers for a colleague who is away until May.' })
        for qw(ida.wall henrik.falk);
    $self->_taken_away;
    $self->_post('/key', { username => 'hr-system', accessLevel => 'full',
        label => 'HR system, nightly run', expires => $day->(20),
        decisions => JSON::PP::true });
    $self->_post('/audit/verify');
    within(sub { $self->{api}->data('/audit/chain')->{state} eq 'whole' });
    $self->{tasks} = \%tasks;
    return;
}

# A request whose group was removed by hand in the directory.
sub _taken_away {
    my ($self) = @_;
    my $stack = $self->{stack};
    $stack->ctl_ok('request', 'create', 'nordic', 'CRM', upn('greta.dahl'));
    my ($open) = grep { $_->{requester}{userPrincipalName} eq upn('greta.dahl') }
        @{ $self->{api}->data('/approvals')->{items} };
    $stack->ctl_ok('request', 'approve', 'nordic', $open->{id}, '--by', upn('eva.berg'));
    $stack->wait_task($self->{api}->data('/access-requests', { state => 'approved' })
            ->{items}[0]{taskId});
    my $groups = $Idadmin::Test::Slapd::groups;
    $stack->slapd->modify("dn: cn=CRM admins,$groups\nchangetype: modify\ndelete: member\nmember: "
        . Idadmin::Test::Slapd::user_dn('greta.dahl') . "\n");
    $stack->ctl_ok('sync', 'nordic', '--wait');
    within(sub { $self->{api}->data('/access-requests', { state => 'approved' })
        ->{items}[0]{takenAwayAt} });
    return;
}

# Another person at the screen: the next page is loaded as for a new visitor.
sub sign_in {
    my ($self, $name) = @_;
    $self->{browser}->leave;
    return $self->{browser}->sign_in($name, 'secret');
}

# -- looking

# The page at an address of the company: open('tasks?tab=queued').
sub open { my ($self, $place) = @_; return $self->{browser}->goto("$self->{url}#/nordic/$place") }

my $axe;

sub axe_missing {
    my $file = ($ENV{IDADMIN_NPM} // build_dir() . '/npm') . '/node_modules/axe-core/axe.min.js';
    $axe //= slurp($file) if -r $file;
    return $axe ? undef : "axe-core is not at $file: run t/npm/install.sh DIR (needs npm) and set "
        . 'IDADMIN_NPM=DIR';
}

# What axe-core finds in what is shown; nothing where it is not installed.
sub _axe {
    my ($self) = @_;
    return () if axe_missing();
    my $browser = $self->{browser};
    $browser->script($axe . ';') if !$browser->script('return "axe" in window');
    my $found = $browser->async(<<'JS');
        const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ['violations']}).then((result) => done(
            result.violations.flatMap((rule) => rule.nodes.map((node) =>
                `${rule.id}: ${node.target.join(' ')}: ${node.any.concat(node.all, node.none)
                    .map((one) => one.message).join('; ')}`))), (error) => done([String(error)]));
JS
    return @$found;
}

# Checks the present page in each theme and width. how: name (of the pictures), viewport => 1 (only
# what the window shows), looks => [[theme, width], ...], expected => patterns of what may be
# complained of, away => 1 (nothing can be fetched).
sub look {
    my ($self, $name, %how) = @_;
    my $browser = $self->{browser};
    my $looks = $how{looks} // [[light => 1280], [dark => 1280], [light => 390], [dark => 390],
        [light => 320], [light => 1024]];
    for my $look (@$looks) {
        my ($theme, $width) = @$look;
        $browser->media(dark => $theme eq 'dark' ? 1 : 0);
        $browser->size($width, 900);
        cmp_ok($browser->script('return document.documentElement.scrollWidth'), '<=', $width,
            "$name, $theme $width: nothing scrolls sideways");
        is($browser->script('return [...document.querySelectorAll(".table")].filter((one) =>'
            . ' one.offsetWidth > one.parentElement.offsetWidth).length'), 0,
            "$name, $theme $width: no table is wider than its card");
        is_deeply([$self->_axe], [], "$name, $theme $width: axe-core finds nothing")
            if $width != 320 && $width != 1024 && !axe_missing();
        $self->_picture("$name-$theme-$width", $how{viewport}) if $ENV{IDADMIN_SCREENSHOTS};
    }
    $self->_every_look($name, %how) if ($ENV{IDADMIN_SCREENSHOTS} // '') eq 'all';
    $browser->media;
    $browser->size(1280, 900);
    is_deeply([$browser->complaints(@{ $how{expected} // [] })], [],
        "$name: nothing to complain of");
    return;
}

sub _picture {
    my ($self, $name, $viewport) = @_;
    my $folder = build_dir() . '/run/console';
    system('mkdir', '-p', "$folder/all") == 0 or die "cannot make $folder\n";
    return $self->{browser}->screenshot("$folder/$name.png", viewport => $viewport);
}

# Pictures alone, of both languages, themes and three widths. The language changes beneath the page,
# so that dialogs stay open; not while the server is away, which has the other language.
sub _every_look {
    my ($self, $name, %how) = @_;
    my $browser = $self->{browser};
    my $speak = sub { my ($language) = @_; $browser->async(<<'JS', $language) };
        const [language, done] = arguments;
        const file = (name) => import(new URL(name, location.origin + location.pathname));
        await (await file('format.js')).loadLanguage(language);
        (await file('dom.js')).draw();
        done();
JS
    my $present = $browser->script('return document.documentElement.lang');
    for my $language ($how{away} ? $present : ($name =~ /-sv$/ ? () : qw(en), qw(sv))) {
        $speak->($language) if !$how{away};
        for my $width (390, 1024, 1440) {
            $browser->size($width, 900);
            for my $theme (qw(light dark)) {
                $browser->media(dark => $theme eq 'dark' ? 1 : 0);
                $self->_picture("all/$name.$language.$width.$theme", $how{viewport});
            }
        }
    }
    $speak->($present) if !$how{away};
    return;
}

sub stop { my ($self) = @_; $self->{browser}->close; return $self->{stack}->stop }

1;
