package Idadmin::Bench::Console;
# The part console: what a first visit to the Overview costs on the wire, when its largest part is
# painted on a slow line and a slow processor, and how fast "Find anything" answers in a large
# company; in a real Chromium, over TLS and HTTP/2, with the pages as `make install` lays them down.
use strict;
use utf8;
use warnings;
use Idadmin::Bench qw(median setting);
use Idadmin::Bench::Tools ();
use Idadmin::Test qw(run_command src_dir spew);
use Idadmin::Test::Browser ();
use JSON::PP ();

my $users  = setting(USERS => 100_000);
my $rounds = setting(ROUNDS => 5);

# As the sample configuration compresses the pages; answers of the API stay as they are.
my $compressed = <<'CONF';
<LocationMatch "^/console/(?!api/)">
    AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/css text/javascript
    AddOutputFilterByType BROTLI_COMPRESS;DEFLATE application/javascript image/svg+xml
</LocationMatch>
CONF

sub _slim {
    my ($httpd) = @_;
    my $from = src_dir() . '/console';
    for my $file (map { glob "$from/$_" } qw(*.js *.css components/*.js i18n/*.js pages/*.js)) {
        spew("$httpd->{base}/console" . substr($file, length $from),
            run_command(['awk', '-f', "$from/slim.awk", $file])->{out});
    }
    return;
}

# A visitor whose browser has seen nothing yet.
sub _visitor {
    my $browser = Idadmin::Test::Browser->new(insecure => 1);
    $browser->sign_in('administrator', 'secret');
    return $browser;
}

# Of a first visit: bytes that came, and ms until the largest part was painted.
sub _first_visit {
    my ($url, $slow) = @_;
    my $browser = _visitor();
    if ($slow) {
        $browser->cdp('Network.enable');
        $browser->cdp('Network.emulateNetworkConditions', offline => JSON::PP::false,
            latency => 150, downloadThroughput => 1_600_000 / 8, uploadThroughput => 750_000 / 8);
        $browser->cdp('Emulation.setCPUThrottlingRate', rate => 4);
    }
    $browser->goto($url);
    my $painted = $browser->async(<<'JS');
        const done = arguments[arguments.length - 1];
        new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
            .observe({type: 'largest-contentful-paint', buffered: true});
JS
    my $bytes = 0;
    $bytes += $_->{params}{encodedDataLength}
        for grep { $_->{method} eq 'Network.loadingFinished' } $browser->events;
    $browser->close;
    return ($bytes, $painted);
}

# ms from the last key until people are shown.
sub _finds {
    my ($browser, $query) = @_;
    return $browser->async(<<'JS', $query);
        const [query, done] = arguments;
        const box = document.querySelector('header [role=combobox]');
        const type = (text) => {
            box.focus();
            box.value = text;
            box.dispatchEvent(new Event('input', {bubbles: true}));
        };
        const shown = () => [...document.querySelectorAll('header [role=option]')]
            .some((one) => one.innerText.toLowerCase().includes(`${query}@`));
        type('');
        while (shown()) await new Promise(requestAnimationFrame);
        const begun = performance.now();
        type(query);
        while (!shown()) await new Promise(requestAnimationFrame);
        done(performance.now() - begun);
JS
}

sub console {
    my ($part) = @_;
    print '# ' . Idadmin::Test::Browser->skip_reason . "\n" and return
        if !Idadmin::Test::Browser->available;
    my $stack = Idadmin::Bench::Tools::company($users, console => 1, tls => 1, deflate => 1,
        server => $compressed);
    _slim($stack->httpd);
    my $url = 'https://127.0.0.1:' . $stack->httpd->{tls_port}
        . "/console/#/$stack->{company}/overview";
    my (@bytes, @painted, @found);
    for (1 .. $rounds) {
        push @bytes,   (_first_visit($url, 0))[0];
        push @painted, (_first_visit($url, 1))[1];
    }
    $part->held('first Overview, bytes on the wire', median(@bytes), 60_000);
    $part->held('largest part painted, ms at 150 ms, 1.6 Mbit/s, processor / 4', median(@painted),
        2500);
    my $browser = _visitor();
    $browser->goto($url);
    push @found, _finds($browser, sprintf 'user%05d', int rand $users) for 1 .. 20;
    $part->held("find anything among $users people, ms", median(@found), 300);
    $browser->close;
    $stack->stop;
    return;
}

1;
