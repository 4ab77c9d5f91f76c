# The console's files in the tree: small, nothing that a strict content policy would refuse,
# readable colours, two complete languages.
use strict;
use warnings;
use Compress::Zlib ();
use Digest::SHA ();
use File::Find ();
use Idadmin::Test qw(slurp src_dir);
use JSON::PP ();
use Test::More;

my $root = src_dir() . '/console';
my @files;
File::Find::find({ no_chdir => 1, wanted => sub {
    push @files, substr $_, 1 + length $root if -f && !/README\.md$|LICENSE\.txt$/ } }, $root);
my %text = map { $_ => slurp("$root/$_") } @files;
my @scripts = grep {/\.js$/} sort @files;
plan(skip_all => 'there are no pages yet') if !@scripts;

# What a browser is sent, by a server that compresses; modules are loaded by the page that needs
# them, and one language is, here the longer.
subtest 'size' => sub {
    my %sent = map { $_ => length Compress::Zlib::memGzip($text{$_}) } keys %text;
    my ($sent, $language) = (0, 0);
    for my $file (keys %sent) {
        if    ($file !~ /^i18n/)           { $sent += $sent{$file} }
        elsif ($sent{$file} > $language) { $language = $sent{$file} }
    }
    cmp_ok($sent + $language, '<', 130_000, 'all pages together, compressed: '
        . ($sent + $language) . ' bytes in one language');
};

subtest 'nothing that makes markup or code of text' => sub {
    # What is not ours (console/vendor) writes markup only for a property that no page may use.
    is_deeply([grep { $text{$_} =~ /dangerouslySetInnerHTML/ && !/^vendor/ } @scripts], [],
        'no page hands markup to the renderer');
    is(Digest::SHA::sha256_hex($text{'vendor/preact.js'}),
        '72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7',
        'the renderer is as it was published');
    for my $file (grep { /\.(?:js|html)$/ && !/^vendor/ } sort @files) {
        my @found = $text{$file} =~ /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write
            |createContextualFragment|DOMParser|eval|new\s+Function|setAttribute\(['"]style)\b/gx;
        is_deeply(\@found, [], $file);
    }
    unlike($text{'index.html'}, qr/<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style/i,
        'no inline script, handler or style');
    like($text{'index.html'}, qr/http-equiv="Content-Security-Policy"[^>]*default-src 'none'/,
        'the policy stands in the page');
    for my $file (sort @files) {
        my @elsewhere = grep { !m{^http://www\.w3\.org/} }
            $text{$file} =~ m{((?:https?:)?//[a-z0-9-]+\.[a-z0-9./-]+)}gi;
        @elsewhere = grep { !m{\bexample\b} } @elsewhere;
        is_deeply(\@elsewhere, [], "$file names no other server");
    }
};

# What the service refuses by a reason (stable words of its answers) is said in the page's own
# words.
subtest 'reasons' => sub {
    my %known;
    File::Find::find({ no_chdir => 1, wanted => sub {
        /\.c$/ or return;
        my $source = slurp($_);
        $known{$1}++ while $source =~ /\bida_because\([^;]*?"([a-z][A-Za-z]+)"[,)]/g;
    } }, src_dir() . '/core', src_dir() . '/mod_idadmin');
    cmp_ok(scalar keys %known, '>', 10, 'there are reasons');
    for my $file ('i18n/en.js', 'i18n/sv.js') {
        my ($words) = $text{$file} =~ /^  reason: \{\n(.*?)^  \},$/ms;
        is_deeply([grep { $words !~ /\b$_: / } sort keys %known], [], "$file has words for each");
    }
};

subtest 'one fetch' => sub {
    is_deeply([grep { $text{$_} =~ /\bfetch\(/ } @scripts], ['api.js'], 'in api.js');
};

# --- colours: the formula of WCAG 2.2, over the tokens of style.css ---

sub luminance {
    my @c = map { my $v = hex($_) / 255; $v <= 0.04045 ? $v / 12.92 : (($v + 0.055) / 1.055)**2.4 }
        $_[0] =~ /^#(..)(..)(..)$/;
    return 0.2126 * $c[0] + 0.7152 * $c[1] + 0.0722 * $c[2];
}

sub contrast {
    my ($x, $y) = sort { $b <=> $a } map { luminance($_) } @_;
    return ($x + 0.05) / ($y + 0.05);
}

subtest 'contrast' => sub {
    my $css = $text{'style.css'};
    my (%light) = $css =~ /:root\s*\{([^}]*)\}/ ? $1 =~ /--([\w-]+):\s*(#[0-9A-Fa-f]{6})/g : ();
    my ($dark) = $css =~ /\[data-theme=["']?dark["']?\]\s*\{([^}]*)\}/;
    my %dark = (%light, ($dark // '') =~ /--([\w-]+):\s*(#[0-9A-Fa-f]{6})/g);
    my @grounds = qw(page surface sunken);
    my @soft    = qw(accent-soft ok-soft warn-soft bad-soft);
    my @wanted  = (
        (map { my $ground = $_; map { [$_, $ground, 4.5] } qw(text muted) } @grounds, @soft),
        (map { ['accent', $_, 4.5] } @grounds, 'accent-soft'),
        ['on-accent', 'accent', 4.5], ['on-accent', 'accent-hover', 4.5],
        (map { ([$_, 'surface', 4.5], [$_, "$_-soft", 4.5]) } qw(ok warn bad)),
        ['on-bad', 'bad', 4.5],
        (map { ['control', $_, 3] } @grounds), (map { ['focus', $_, 3] } @grounds, @soft),
        (map { ["chart-$_", 'surface', 3] } 1 .. 3),
    );
    for my $theme (['light', \%light], ['dark', \%dark]) {
        my ($name, $colour) = @$theme;
        my @low = map { sprintf '%s on %s: %.1f', @$_[0, 1],
            contrast($colour->{ $_->[0] }, $colour->{ $_->[1] }) }
            grep { contrast($colour->{ $_->[0] }, $colour->{ $_->[1] }) < $_->[2] } @wanted;
        is_deeply(\@low, [], $name);
    }
    isnt($dark{page}, $light{page}, 'two themes');
};

# --- languages ---

# Texts are nested by page: frame: { skip: '...' } is frame.skip, and '' the group's own text.
sub texts {
    my ($file) = @_;
    my (%found, @groups);
    my $text = $text{$file} =~ s{^\s*//.*$}{}mgr;
    while ($text =~ /(?:([\w.-]+)|'([\w.-]*)')\s*:\s*
        (?:(\{)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")|(\})/gx) {
        my ($name, $opens, $value, $closes) = ($1 // $2, $3, $4 // $5, $6);
        if    ($closes) { pop @groups }
        elsif ($opens)  { push @groups, $name }
        else { $found{ join '.', grep {length} @groups, $name } = $value }
    }
    return \%found;
}

subtest 'languages' => sub {
    my ($en, $sv) = map { texts("i18n/$_.js") } qw(en sv);
    cmp_ok(scalar keys %$en, '>', 100, 'there are texts');
    is_deeply([sort keys %$sv], [sort keys %$en], 'the same in both');
    for my $key (sort keys %$en) {
        my ($e, $s) = map { join ' ', sort keys %{ { map { $_ => 1 } /\{(\w+)\}/g } } }
            $en->{$key}, $sv->{$key} // '';
        is($s, $e, "$key: the same places") if $s ne $e;
    }
    my (%used, @missing);
    for my $file (@scripts) {
        next if $file =~ /^i18n/;
        $used{$1}{$file} = 1 while $text{$file} =~ /\bt\(\s*['"]([\w.-]+)['"]/g;
    }
    push @missing, "$_ in " . join(', ', sort keys %{ $used{$_} })
        for grep { !exists $en->{$_} && !exists $en->{"$_.one"} } sort keys %used;
    is_deeply(\@missing, [], 'every text that is used is there');
};

done_testing;
