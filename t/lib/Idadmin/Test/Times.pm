package Idadmin::Test::Times;
# Minutes and times in the API's format, and outcomes of a task's steps.
use strict;
use warnings;
use Exporter 'import';
use POSIX ();
use Time::Local ();

our @EXPORT_OK = qw(wall stockholm epoch outcomes step);

# Seconds since 1970 -> their text in Stockholm by a format of strftime.
sub stockholm {
    my ($format, $seconds) = @_;
    local $ENV{TZ} = 'Europe/Stockholm';
    POSIX::tzset();
    my $text = POSIX::strftime($format, localtime $seconds);
    delete $ENV{TZ};
    POSIX::tzset();
    return $text;
}

# The same -> (YYYY-MM-DD, HH:mm). In autumn two hours have one name, which means the first of them:
# three hours from now are never past.
sub wall { my ($seconds) = @_; return split / /, stockholm('%Y-%m-%d %H:%M', $seconds) }

# "2026-11-21T12:00:00.123Z" -> seconds since 1970, with their fraction.
sub epoch {
    my ($text) = @_;
    my ($y, $mo, $d, $h, $mi, $s) = ($text // '') =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):([\d.]+)Z$/
        or die 'no instant: ' . ($text // 'null') . "\n";
    return Time::Local::timegm(0, $mi, $h, $d, $mo - 1, $y) + $s;
}

sub outcomes { my ($task) = @_; return { map { $_->{name} => $_->{outcome} } @{ $task->{steps} } } }
sub step     { my ($task, $name) = @_;
    return (grep { $_->{name} eq $name } @{ $task->{steps} })[0] }

1;
