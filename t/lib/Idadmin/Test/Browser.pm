package Idadmin::Test::Browser;
# A headless Chromium, driven by WebDriver through chromedriver. A page's network requests and
# console errors are kept until complaints() reads them. chromium-headless-shell is preferred
# because it draws no window, which saves a third of the processor.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use HTTP::Tiny ();
use Idadmin::Test ();
use JSON::PP ();
use MIME::Base64 ();

my $element = 'element-6066-11e4-a52e-4f735466cecf';    # how WebDriver marks a reference
my %keys = (Enter => "\x{e007}", Escape => "\x{e00c}", Tab => "\x{e004}", Space => "\x{e00d}",
    Up => "\x{e013}", Down => "\x{e015}", Left => "\x{e012}", Right => "\x{e014}",
    Backspace => "\x{e003}", Shift => "\x{e008}", Control => "\x{e009}");

sub skip_reason {
    return 'Chromium does not run at another date (IDADMIN_CLOCK)' if $ENV{FAKETIME};
    for my $program (qw(chromium chromedriver)) {
        return "$program is not installed (Debian: chromium, chromium-driver)"
            if !Idadmin::Test::program_path($program);
    }
    return undef;
}

sub available { return !skip_reason() }

# new(size => [1280, 900]); insecure => 1: any certificate will do.
sub new {
    my ($class, %how) = @_;
    my $port = Idadmin::Test::free_port();
    my $home = Idadmin::Test::tempdir() . "/browser$port";
    mkdir $home or die "$home: $!\n";
    my $self = bless { size => [1280, 900], %how,
        driver => "http://127.0.0.1:$port", log => "$home/log",
        # A connection that is used again may be closed by the other side in that moment.
        http => HTTP::Tiny->new(timeout => 120, keep_alive => 0) }, $class;
    # Profiles and sockets go where the script's other files are, and away with them.
    $self->{pid} = Idadmin::Test::daemon(
        [Idadmin::Test::program_path('chromedriver'), "--port=$port", '--log-level=WARNING'],
        log => $self->{log}, env => { TMPDIR => $home, HOME => $home });
    Idadmin::Test::within(sub { eval { $self->_ask(GET => '/status')->{ready} } })
        or die "chromedriver does not begin: " . Idadmin::Test::slurp("$home/log") . "\n";
    my @options = qw(--headless --no-sandbox --disable-gpu --force-color-profile=srgb
        --hide-scrollbars --disable-dev-shm-usage --no-first-run);
    my $session = $self->_ask(POST => '/session', { capabilities => { alwaysMatch => {
        browserName            => 'chrome',
        'goog:chromeOptions'   => { args => \@options,
            binary => Idadmin::Test::program_path('chromium-headless-shell')
                // Idadmin::Test::program_path('chromium'),
            perfLoggingPrefs => { enablePage => JSON::PP::false } },
        'goog:loggingPrefs'    => { browser => 'ALL', performance => 'ALL' },
        unhandledPromptBehavior => 'accept',    # "leave the page?" is no question of a test's
        $self->{insecure} ? (acceptInsecureCerts => JSON::PP::true) : (),
    } } });
    $self->{session} = "/session/$session->{sessionId}";
    $self->size(@{ $self->{size} });
    return $self;
}

# Ends the browser, then its driver. The script's end stops both too, by the driver's process id.
sub close {
    my ($self) = @_;
    eval { $self->_ask(DELETE => delete $self->{session}) } if $self->{session};
    return Idadmin::Test::stop_daemon(delete $self->{pid}) if $self->{pid};
    return;
}

# -- the protocol

sub _ask {
    my ($self, $method, $path, $body) = @_;
    my $answer = $self->{http}->request($method, $self->{driver} . $path,
        $method eq 'POST' ? { headers => { 'Content-Type' => 'application/json; charset=utf-8' },
            content => Idadmin::Test::json_text($body // {}) } : {});
    my $json = eval { Idadmin::Test::json_data($answer->{content}) };
    my $value = ref $json eq 'HASH' ? $json->{value} : undef;
    return $value if $answer->{success};
    my $fault = "browser: $method $path: " . (ref $value eq 'HASH'
        ? "$value->{error}: $value->{message}" : $answer->{content}) . "\n";
    die $fault if ref $value eq 'HASH' && $value->{error} !~ /disconnected|invalid session/;
    die $fault . $self->_driver;
}

# What is known of a driver that did not answer, or has lost its browser. If its process has ended
# this is kept: nothing that is waited for will come (until).
sub _driver {
    my ($self) = @_;
    return $self->{gone} if $self->{gone};
    my $log = join '', map {"  $_\n"} grep {defined}
        (split /\n/, eval { Idadmin::Test::slurp($self->{log}) } // '')[-10 .. -1];
    my $runs = $self->{pid} && !Idadmin::Test::ended($self->{pid});
    my $says = $runs ? "chromedriver runs\n" : 'chromedriver has ended, wait status '
        . (Idadmin::Test::stop_daemon($self->{pid} // 0) // 'unknown') . "\n";
    $says .= length $log ? "the last lines of its log:\n$log" : "its log is empty\n";
    $self->{gone} = $says if !$runs;
    return $says;
}

sub _do { my ($self, $method, $path, $body) = @_;
    return $self->_ask($method, $self->{session} . $path, $body) }

# A command of the DevTools protocol: cdp('Emulation.setTimezoneOverride', timezoneId => 'UTC').
sub cdp { my ($self, $command, %params) = @_;
    return $self->_do(POST => '/goog/cdp/execute', { cmd => $command, params => \%params }) }

# Body of a function of `arguments`; async() hands it a callback as the last of them.
sub script { my ($self, $text, @arguments) = @_;
    return $self->_do(POST => '/execute/sync', { script => $text, args => \@arguments }) }
# Seconds that a script of async() may take.
sub patience {
    my ($self, $seconds) = @_;
    $self->{http}->timeout($seconds);
    return $self->_do(POST => '/timeouts', { script => 1000 * $seconds });
}
sub async { my ($self, $text, @arguments) = @_;
    return $self->_do(POST => '/execute/async', { script => $text, args => \@arguments }) }

# -- pages

# An address, reloaded if it is the present one; returns when the page is complete (data-ready on
# <html>).
sub goto {
    my ($self, $url) = @_;
    my $same = $self->script('return location.href') eq $url;
    $self->_forget;
    $self->_do(POST => $same ? '/refresh' : '/url', $same ? {} : { url => $url });
    return $self->ready;
}

# To an empty page, which is there on return: a script that sets location.href only begins to go,
# and may arrive after the next page.
sub leave { my ($self) = @_; return $self->_do(POST => '/url', { url => 'about:blank' }) }

# A change of the part behind # keeps the document, so the mark of the page before must go first.
sub _forget { my ($self) = @_;
    return $self->script('delete document.documentElement.dataset.ready') }

sub ready {
    my ($self) = @_;
    return $self->until('the page stands', sub {
        $self->script('return "ready" in document.documentElement.dataset') });
}

# Polls until the block is true and returns its value; dies with what was waited for.
sub until {
    my ($self, $what, $block) = @_;
    my $value = Idadmin::Test::within(sub { eval { $block->() } || $self->{gone} });
    die "browser: waited until $what, and $self->{gone}" if $self->{gone};
    return $value if $value;
    my $shown = eval { $self->script('return document.body.innerText.slice(0, 1500)') } // '';
    die "browser: waited in vain until $what at " . $self->url . "\n$shown\n";
}

sub url   { return $_[0]->_do(GET => '/url') }
sub title { return $_[0]->_do(GET => '/title') }
sub back  { my ($self) = @_; $self->_forget; $self->_do(POST => '/back'); return $self->ready }

# -- elements, by CSS

sub all { my ($self, $css) = @_;
    return map { $_->{$element} }
        @{ $self->_do(POST => '/elements', { using => 'css selector', value => $css }) } }

# The first one, or undef.
sub find { my ($self, $css) = @_; return ($self->all($css))[0] }

sub wait_for { my ($self, $css) = @_;
    return $self->until("there is $css", sub { $self->find($css) }) }
sub wait_gone { my ($self, $css) = @_;
    return $self->until("there is no $css", sub { !$self->find($css) }) }

# A real click, as a hand would do: it fails where something else lies on top. ready => 1 waits for
# the page that it leads to.
sub click {
    my ($self, $css, %how) = @_;
    return $self->_press(sub { $self->wait_for($css) }, %how);
}

# In the middle of the window first: a bar that stays at an edge covers what lies beneath it. A page
# that is redrawn between reading the position and the click has it elsewhere, as for a person; on a
# busy machine it may be drawn several times while it is read.
sub _press {
    my ($self, $look, %how) = @_;
    my $press = sub {
        my $id = $look->();
        $self->script('arguments[0].scrollIntoView({block: "center"})', { $element => $id });
        $self->_forget if $how{ready};
        $self->_do(POST => "/element/$id/click");
        return 1;
    };
    my $pressed = Idadmin::Test::within(sub {
        return 1 if eval { $press->() };
        die $@ if $@ !~ /stale element/;
        return 0;
    });
    die "browser: the page is drawn again and again; no click meets its element\n" if !$pressed;
    return $how{ready} ? $self->ready : 1;
}

# The first element of a selector whose text (or label) is this: a button as people name it.
sub click_text {
    my ($self, $css, $text, %how) = @_;
    my $look = <<'JS';
        return [...document.querySelectorAll(arguments[0])].find(e => e.checkVisibility() &&
            (e.innerText.trim() === arguments[1] || e.ariaLabel === arguments[1])) ?? null;
JS
    return $self->_press(sub { $self->until("there is $css with \"$text\"",
        sub { $self->script($look, $css, $text) })->{$element} }, %how);
}

# Types into a field, instead of what it holds; date and time fields take '2031-03-30', '02:30'.
sub type {
    my ($self, $css, $text) = @_;
    my $id = $self->wait_for($css);
    return $self->_do(POST => "/element/$id/value", { text => $text })
        if $self->script('return arguments[0].type', { $element => $id }) eq 'file';
    if ($self->script('return /^(date|time)$/.test(arguments[0].type)', { $element => $id })) {
        return $self->script(<<'JS', { $element => $id }, $text);
            arguments[0].value = arguments[1];
            for (const kind of ['input', 'change'])
                arguments[0].dispatchEvent(new Event(kind, {bubbles: true}));
JS
    }
    # All of it is marked and typed over in one go, as a person does: a page that is drawn between a
    # driver's "clear" and the first letter has put back what stood there. \x{e000} lets go of keys.
    return $self->_do(POST => "/element/$id/value",
        { text => "$keys{Control}a\x{e000}" . (length $text ? $text : $keys{Backspace}) });
}

# Keys to whatever has the focus: press('g'), press('Escape'), press('Control', 'a').
sub press {
    my ($self, @names) = @_;
    my @values = map { $keys{$_} // $_ } @names;
    return $self->_do(POST => '/actions', { actions => [{ type => 'key', id => 'keys', actions => [
        (map { +{ type => 'keyDown', value => $_ } } @values),
        (map { +{ type => 'keyUp', value => $_ } } reverse @values)] }] });
}

sub text { my ($self, $css) = @_;
    return $self->_do(GET => '/element/' . $self->wait_for($css) . '/text') }
sub texts { my ($self, $css) = @_;
    return @{ $self->script('return [...document.querySelectorAll(arguments[0])]'
        . '.map(e => e.innerText.trim())', $css) } }
sub value { my ($self, $css, $name) = @_;
    return $self->_do(GET => '/element/' . $self->wait_for($css) . '/property/'
        . ($name // 'value')) }
sub focused { return $_[0]->script('const e = document.activeElement;'
    . 'return e.id || e.name || (e.innerText ?? "").trim()') }

# -- whose eyes

sub size {
    my ($self, $width, $height, %how) = @_;
    return $self->cdp('Emulation.setDeviceMetricsOverride', width => $width + 0,
        height => $height + 0, deviceScaleFactor => $how{scale} // 1, mobile => JSON::PP::false);
}

# media(dark => 1, reduced => 1, forced => 1, print => 1): what is not named is as by default.
sub media {
    my ($self, %how) = @_;
    my %features = ('prefers-color-scheme' => $how{dark} ? 'dark' : 'light',
        'prefers-reduced-motion' => $how{reduced} ? 'reduce' : 'no-preference',
        'forced-colors' => $how{forced} ? 'active' : 'none');
    return $self->cdp('Emulation.setEmulatedMedia', media => $how{print} ? 'print' : '',
        features => [map { +{ name => $_, value => $features{$_} } } sort keys %features]);
}

sub timezone { my ($self, $zone) = @_;
    return $self->cdp('Emulation.setTimezoneOverride', timezoneId => $zone) }

# Language of the reader: of dates and of navigator.languages.
sub language {
    my ($self, $tag) = @_;
    $self->{agent} //= $self->script('return navigator.userAgent');
    $self->cdp('Emulation.setLocaleOverride');    # an override is never replaced, only taken back
    $self->cdp('Emulation.setLocaleOverride', locale => $tag);
    return $self->cdp('Emulation.setUserAgentOverride', userAgent => $self->{agent},
        acceptLanguage => $tag);
}

# Headers of every request from now on; sign_in() makes the one of Basic.
sub headers { my ($self, %headers) = @_;
    return $self->cdp('Network.setExtraHTTPHeaders', headers => \%headers) }
sub sign_in { my ($self, $name, $password) = @_;
    return $self->headers(Authorization => 'Basic '
        . MIME::Base64::encode_base64("$name:$password", '')) }

# The whole page as PNG; viewport => 1 only what is on the screen (dialogs, the bottom bar).
sub screenshot {
    my ($self, $file, %how) = @_;
    my $full = !$how{viewport};
    my $size = $full ? $self->cdp('Page.getLayoutMetrics')->{cssContentSize} : {};
    my $picture = $self->cdp('Page.captureScreenshot', format => 'png', $full
        ? (captureBeyondViewport => JSON::PP::true, clip => { x => 0, y => 0, scale => 1,
            width => $size->{width}, height => $size->{height} }) : ());
    Idadmin::Test::spew($file, MIME::Base64::decode_base64($picture->{data}));
    return $file;
}

# -- what it said and asked since the last look

# Lines of the console: warnings, errors, refusals by the content security policy, answers >= 400.
sub console { my ($self) = @_;
    return map {"$_->{level}: $_->{message}"} grep { $_->{level} =~ /^(?:SEVERE|WARNING)$/ }
        @{ $self->_do(POST => '/se/log', { type => 'browser' }) } }

# What the network did: {method, params} of the DevTools protocol.
sub events {
    my ($self) = @_;
    my $json = Cpanel::JSON::XS->new;    # these texts in a text are characters already
    return map { $json->decode($_->{message})->{message} }
        @{ $self->_do(POST => '/se/log', { type => 'performance' }) };
}

# Addresses of all requests.
sub requests {
    my ($self) = @_;
    return map { $_->{params}{request}{url} } grep { $_->{method} eq 'Network.requestWillBeSent' }
        $self->events;
}

# What ought not to be: lines of the console but those expected, requests to another origin than
# this page's. is_deeply([$browser->complaints], []) is the test.
sub complaints {
    my ($self, @expected) = @_;
    my ($own) = $self->url =~ m{^(\w+://[^/]+/)};
    my @lines = grep { my $line = $_; !grep { $line =~ $_ } @expected } $self->console;
    return (@lines, map {"request to elsewhere: $_"}
        grep { !/^(?:data|blob|about):/ && (!$own || index($_, $own) != 0) } $self->requests);
}

1;
