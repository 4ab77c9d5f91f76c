package Idadmin::Bench;
# Shared by the parts of the benchmark: sizes from the environment, load on httpd, and the table of
# a part, each line compared with that of the previous run. Must not know a part.
use strict;
use warnings;
use Exporter 'import';
use File::Path ();
use Idadmin::Test qw(build_dir json_data json_text slurp spew);
use Idadmin::Test::Load ();
use POSIX ();

our @EXPORT_OK = qw(setting engine median load fixed_answer processor_ms);
our $errors    = 0;                           # answers that were none, of all parts

# BENCH_NAME, or what is given.
sub setting { my ($name, $default) = @_; return $ENV{"BENCH_$name"} // $default }
sub engine { return setting(ENGINE => 'sqlite') }

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[@sorted / 2] }
sub _range { my @sorted = sort { $a <=> $b } @_; return @sorted[0, -1] }

# load($stack, connections, method, target, %how) -> what Idadmin::Test::Load answers. key => name,
# body => TEXT, headers => {...} instead of those of the key, port, seconds, users.
sub load {
    my ($stack, $connections, $method, $target, %how) = @_;
    my $figures = Idadmin::Test::Load->run($how{port} // $stack->httpd->port, $connections,
        $how{seconds} // setting(SECONDS => 3), $method, $target, body => $how{body},
        headers => $how{headers} // { $stack->headers($how{key} // 'read'),
            $how{body} ? ('Content-Type' => 'application/json') : () },
        users => $how{users} // setting(USERS => 100_000));
    $errors += $figures->{errors};
    return $figures;
}

# Lines of httpd's configuration: the fixed answer at /fixed300.
sub fixed_answer {
    return 'LoadModule fixed_module ' . build_dir()
        . "/bench/mod_fixed.so\n<Location /fixed300>\n    SetHandler fixed\n</Location>";
}

# Of a process and of those that it started: ms of processor so far.
sub processor_ms {
    my ($pid) = @_;
    my $ticks = 0;
    for my $file (glob '/proc/[0-9]*/stat') {
        open my $stat, '<', $file or next;    # over meanwhile
        my @of = split ' ', (<$stat> // '') =~ s/.*\) //sr;
        $ticks += $of[11] + $of[12] + ($file eq "/proc/$pid/stat" ? $of[13] + $of[14] : 0)
            if @of > 14 && ($file eq "/proc/$pid/stat" || $of[1] == $pid);
    }
    return $ticks * 1000 / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# -- the table of a part

sub _file { return build_dir() . "/run/bench/$_[0].json" }
sub _sizes { return join ' ', map {"$_=$ENV{$_}"} grep {/^BENCH_/} sort keys %ENV }

sub new {
    my ($class, $name) = @_;
    my $last = -e _file($name) ? json_data(slurp(_file($name))) : { sizes => '' };
    my @same = $last->{sizes} eq _sizes() ? @{ $last->{lines} // [] } : ();    # others say nothing
    return bless { name => $name, lines => [], missed => 0,
        before => { map { ($_->{name} => $_) } @same } }, $class;
}

sub _add {
    my ($self, $line, $text) = @_;
    my $before = $self->{before}{ $line->{name} };
    printf "%-52s %s%s\n", $line->{name}, $text,
        $before ? sprintf('  last run: %.4g', $before->{value}) : '';
    push @{ $self->{lines} }, $line;
    return;
}

# Pairs of a measured figure and its reference: the ratio's median, least and most. limit => what
# the median is held to, at least; with most => 1 at most.
sub ratio {
    my ($self, $name, $pairs, %held) = @_;
    my @ratios = map { $_->[0] / $_->[1] } @$pairs;
    my ($least, $most) = _range(@ratios);
    my %line = (name => $name, value => median(@ratios), least => $least, most => $most,
        figure => median(map { $_->[0] } @$pairs), beside => median(map { $_->[1] } @$pairs));
    my $holds = 1;
    my $limit = '';
    if (defined $held{limit}) {
        $holds = $held{most} ? $line{value} <= $held{limit} : $line{value} >= $held{limit};
        $limit = sprintf '  [%s %s%s]', $held{most} ? 'at most' : 'at least', $held{limit},
            $holds ? '' : ': MISSED';
        $line{limit} = $held{limit};
        $self->{missed}++ if !$holds;
    }
    return $self->_add(\%line, sprintf '%8.3f  (%.3f to %.3f)  of %.4g beside %.4g%s',
        @line{qw(value least most figure beside)}, $limit);
}

# A figure that is compared only with that of the last run.
sub figure {
    my ($self, $name, $value, $text) = @_;
    return $self->_add({ name => $name, value => $value }, $text // sprintf '%8.4g', $value);
}

# A figure that is held to at most `limit`.
sub held {
    my ($self, $name, $value, $limit) = @_;
    my $holds = $value <= $limit;
    $self->{missed}++ if !$holds;
    return $self->_add({ name => $name, value => $value, limit => $limit },
        sprintf '%8.4g  [at most %s%s]', $value, $limit, $holds ? '' : ': MISSED');
}

# Keeps the table, unless the part was skipped; how many of its lines missed what they are held to.
sub finish {
    my ($self) = @_;
    return 0 if !@{ $self->{lines} };
    File::Path::make_path(build_dir() . '/run/bench');
    spew(_file($self->{name}), json_text({ part => $self->{name}, at => scalar localtime,
        sizes => _sizes(), engine => engine(), lines => $self->{lines} }) . "\n");
    return $self->{missed};
}

1;
