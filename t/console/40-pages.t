# Each page in a real browser, as somebody who may do everything sees it: light, dark, on a phone;
# no complaint of the console, no refusal by the policy, no request to elsewhere. Pictures go to
# run/console/ of the build when IDADMIN_SCREENSHOTS=1.
use strict;
use utf8;
use warnings;
use Idadmin::Test qw(build_dir wait_until);
use Idadmin::Test::Browser ();
use Idadmin::Test::Stack ();
use Test::More;

plan(skip_all => Idadmin::Test::Browser->skip_reason) if !Idadmin::Test::Browser->available;

my $stack = Idadmin::Test::Stack->new(engine => 'sqlite',
    slapd => { users => 60, groups => 5 },
    tenant => {
        modules => { publicApi => JSON::PP::true, accessGovernance => JSON::PP::true } },
    httpd => { rate_limits => { person => 'off' },
        console => '    IdAdminConsolePerson "eva.berg@nordic.example"' });
my $url     = $stack->httpd->url . '/console/';
my $browser = Idadmin::Test::Browser->new;
my $folder  = build_dir() . '/run/console';
if ($ENV{IDADMIN_SCREENSHOTS}) {
    system('mkdir', '-p', $folder) == 0 or die "cannot make $folder\n";
}

sub picture {
    my ($name) = @_;
    $browser->screenshot("$folder/$name.png") if $ENV{IDADMIN_SCREENSHOTS};
}

$browser->sign_in('administrator', 'secret');
my @pages = qw(overview people tasks access workflows hygiene log keys company hire);
for my $page (@pages) {
    subtest $page => sub {
        $browser->goto("$url#/nordic/$page");
        for my $look ([light => 1280], [dark => 1280], [light => 390], [dark => 390],
            [light => 320]) {
            my ($theme, $width) = @$look;
            $browser->media(dark => $theme eq 'dark' ? 1 : 0);
            $browser->size($width, 900);
            is(scalar $browser->all('h1'), 1, "one heading, $theme $width");
            cmp_ok($browser->script('return document.documentElement.scrollWidth'), '<=', $width,
                'nothing scrolls sideways');
            picture("$page-$theme-$width");
        }
        is_deeply([$browser->complaints], [], 'nothing to complain of');
    };
}

$browser->close;
$stack->stop;
done_testing;
