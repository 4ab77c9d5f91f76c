package Idadmin::Test::Show;
# Output of the demonstration on a terminal: chapters with time to read them, formatted and coloured
# JSON, a countdown. To a file or a pipe everything is plain, complete and without a pause.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Encode ();
use Exporter 'import';
use Time::HiRes ();

our @EXPORT = qw(say_line title show_json count_down strong);

my $terminal = -t STDOUT;
my $pause    = $terminal ? $ENV{DEMO_PAUSE} // 3 : 0;    # seconds before each chapter
my $lines    = 16;                                       # of one JSON text; the rest is counted
my $pretty   = Cpanel::JSON::XS->new->pretty->canonical->indent_length(2);

sub _in { my ($code, $text) = @_; return $terminal ? "\e[${code}m$text\e[0m" : $text }
sub strong { return _in(1, $_[0]) }

sub say_line { print map { Encode::is_utf8($_) ? Encode::encode_utf8($_) : $_ } @_, "\n" }

sub title {
    Time::HiRes::sleep($pause) if our $chapters++;
    say_line("\n", strong("== $_[0]"));
}

sub _coloured {
    my ($line) = @_;
    return $line if $line !~ /^(\s*)("(?:[^"\\]|\\.)*")( : )(.*)$/;
    my ($margin, $name, $colon, $value) = ($1, $2, $3, $4);
    my $code = $value =~ /^"/ ? 32 : $value =~ /^[\[{]/ ? 0 : 33;
    return $margin . _in(36, $name) . $colon . ($code ? _in($code, $value) : $value);
}

# An answer's body behind what is said of it.
sub show_json {
    my ($lead, $body) = @_;
    my $data = $terminal ? eval { $pretty->decode(Encode::decode_utf8($body)) } : undef;
    if (!$data) {
        return say_line($lead, length $body > 1500 ? substr($body, 0, 1500) . ' ...' : $body);
    }
    say_line($lead);
    my @all = split /\n/, $pretty->encode($data);
    say_line('      ', _coloured($_)) for @all[0 .. (@all < $lines ? $#all : $lines - 1)];
    say_line('      ', _in(2, '... ' . (@all - $lines) . ' more lines')) if @all > $lines;
}

# Sleeps until the instant, on a terminal with the seconds that are left.
sub count_down {
    my ($until) = @_;
    while ((my $left = $until - Time::HiRes::time()) > 0) {
        printf "\r   %2d s ", $left + 1 if $terminal;
        Time::HiRes::sleep($terminal && $left > 1 ? 1 : $left);
    }
    print "\r         \r" if $terminal;
}

1;
