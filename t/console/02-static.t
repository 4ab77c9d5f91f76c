# The console's files in the tree: small, nothing that a strict content policy would refuse,
# readable colours, two complete languages.
use strict;
use warnings;
use Compress::Zlib ();
use Digest::SHA ();
use File::Find ();
use Idadmin::Test qw(run_command slurp src_dir);
use JSON::PP ();
use Test::More;

my $root = src_dir() . '/console';
my @files;
File::Find::find({ no_chdir => 1, wanted => sub {
    push @files, substr $_, 1 + length $root
        if -f && !/README\.md$|LICENSE\.txt$|slim\.awk$/ } }, $root);
my %text = map { $_ => slurp("$root/$_") } @files;
my @scripts = grep {/\.js$/} sort @files;
plan(skip_all => 'there are no pages yet') if !@scripts;

# What a browser is sent, by a server that compresses; modules are loaded by the page that needs
# them, and one language is, here the longer.
subtest 'size' => sub {
    # As `make install` lays them down.
    my %laid = map { $_ => /^vendor|\.(?:html|svg)$/ ? $text{$_}
        : run_command(['awk', '-f', "$root/slim.awk", "$root/$_"])->{out} } keys %text;
    my %sent = map { $_ => length Compress::Zlib::memGzip($laid{$_}) } keys %laid;
    my ($sent, %of) = (0);
    for my $file (keys %sent) {
        if ($file =~ m{^i18n/(?:said\.)?(\w\w)\b}) { $of{$1} += $sent{$file} }
        else                                       { $sent += $sent{$file} }
    }
    my ($language) = sort { $b <=> $a } values %of;
    cmp_ok($sent + $language, '<', 132_000, 'all pages together, compressed: '
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

# The text of a C literal, or of several that stand beside each other.
sub together {
    my ($literals) = @_;
    return join('', $literals =~ /"((?:[^"\\]|\\.)*)"/g) =~ s/\\(.)/$1/gr;
}

# What the service says of steps and tasks is known by its sentence in the C source, and said in
# each other language.
subtest 'sentences' => sub {
    my $literal = qr/((?:"(?:[^"\\]|\\.)*"(?:\s|\\\n)*)+)/;
    my @calls = (qr/step_says\(\s*r,\s*[^,"]+,\s*/, qr/step_(?:fails|later|gone)\(\s*r,\s*/,
        qr/run_warn\(\s*r,\s*(?:ida_printf\(\s*r->pool,\s*)?/, qr/run_lags\(\s*r,[^"{};]*?/,
        qr/warnings,\s*json_string\(\s*(?:ida_printf\(\s*c->pool,\s*)?/,
        qr/warn\(\s*update->warnings,\s*/, qr/not_proven\(\s*d,\s*/,
        qr/printf\(\s*c->pool,\s*(?="(?:Held by the brake|The membership of))/);
    my (%said, $written);    # each literal of the sources, parts of one together
    File::Find::find({ no_chdir => 1, wanted => sub {
        /\.c$/ or return;
        my $source = slurp($_);
        $written .= "\n" . together($1) while $source =~ /$literal/g;
        for my $call (@calls) {
            while ($source =~ /$call$literal/g) {
                $said{ together($1) } = 1;
            }
        }
    } }, map { src_dir() . "/$_" } qw(core worker));
    cmp_ok(scalar keys %said, '>', 80, 'there are sentences');
    my %words;
    while ($text{'i18n/said.sv.js'} =~ /^  '((?:[^'\\]|\\.)*)': '((?:[^'\\]|\\.)*)',$/mg) {
        my ($sentence, $own) = ($1, $2);
        $words{ $sentence =~ s/\\(.)/$1/gr } = $own;
    }
    # Without words of its own it is put together of others, which stand here too.
    is_deeply([sort grep { !exists $words{$_} && s/%l*z?[sdu]//gr =~ /[a-z]{3}.*[a-z]{2}/i }
        keys %said], [], 'each is said in Swedish');
    # What is put together of literals has each of them in the sources.
    my $apart = qr/%l*z?[sdu]|, (?=disabled)| \((?=%)|\)$| as (?=%)/;
    is_deeply([grep { my $words = $_; !exists $said{$words}
        && grep { index($written, s{^[\s:]+|[\s:]+$}{}gr) < 0 } split $apart, $words }
        sort keys %words], [], 'and no other');
    for my $sentence (sort keys %words) {
        my $places = () = $sentence =~ /%l*z?[sdu]/g;
        my @wrong  = grep { $_ < 1 || $_ > $places } $words{$sentence} =~ /\{(\d)\??\}/g;
        is_deeply(\@wrong, [], $sentence) if @wrong;
    }
};

# Steps of tasks, types of actions and kinds of needs have names in both languages.
subtest 'steps and needs' => sub {
    my %names = (step => [slurp(src_dir() . '/worker/run/steps.c') =~ /^    \{"(\w+)", step_/mg,
            slurp(src_dir() . '/core/tenant/actions.def') =~ /^ACTION\("(\w+)"/mg],
        need => [slurp(src_dir() . '/core/operation/company/needs.c')
            =~ /\badd\w*\(n, "(\w+)"/g]);
    for my $kind (sort keys %names) {
        cmp_ok(scalar @{ $names{$kind} }, '>', 9, "there are names of a $kind");
        for my $language (qw(en sv)) {
            my %own = map { %{ texts("i18n/$_.js") } } $language, "$language.tasks";
            is_deeply([grep { !defined $own{"$kind.$_"} && !defined $own{"$kind.$_.other"} }
                sort @{ $names{$kind} }], [], "each $kind in $language.js");
        }
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
    my ($root) = $css =~ /:root\s*\{([^}]*)\}/;
    my (%light, %dark);
    ($light{$1}, $dark{$1}) = ($2, $3)
        while $root =~ /--([\w-]+):light-dark\((#[0-9A-F]{6}),(#[0-9A-F]{6})\)/gi;
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
    my ($en, $sv) = map { +{ map { %{ texts("i18n/$_.js") } } $_, "$_.tasks" } } qw(en sv);
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
    # The Overview and the frame do without the second file, which the other pages load.
    my $first = texts('i18n/en.js');
    my @early = qw(app.js router.js format.js movers.js pages/overview.js components/chart.js
        components/dialog.js components/menu.js components/page.js components/person-picker.js
        components/states.js);
    is_deeply([map { my $file = $_; map {"$_ in $file"} grep { $used{$_}{$file}
        && !defined $first->{$_} && !defined $first->{"$_.one"} } sort keys %used } @early], [],
        'the first file has what is shown first');
    is_deeply([grep { exists texts('i18n/en.tasks.js')->{$_} } sort keys %$first], [],
        'a text stands in one file');
};

done_testing;
