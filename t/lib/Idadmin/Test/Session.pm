package Idadmin::Test::Session;
# A psql or sqlite3 process that runs one script after another, because starting it costs more than
# most scripts. It exits at an error.
use strict;
use warnings;
use IO::Select ();
use Idadmin::Test ();

# Output options of both: the separators of rows and of values, NULL, and what is printed behind
# each answer.
our ($row, $value, $null, $end) = ("\x1e", "\x1f", "\x1d", "\x04");

sub new {
    my ($class, $argv, $user) = @_;
    our $count++;
    my $errors = Idadmin::Test::tempdir() . "/session.$$.$count.err";
    pipe my $in,   my $to  or die "pipe: $!\n";
    pipe my $from, my $out or die "pipe: $!\n";
    my $pid = Idadmin::Test::fork_plain();
    Idadmin::Test::become($argv, user => $user, err => $errors, in => '/dev/fd/' . fileno $in,
        out => '/dev/fd/' . fileno $out) if !$pid;
    return bless { pid => $pid, to => $to, from => $from, errors => $errors }, $class;
}

# A script that prints $end last: its rows, array references of text (NULL is undef). undef: it has
# ended, or says nothing for as long as a command may take.
sub rows {
    my ($self, $text) = @_;
    local $SIG{PIPE} = 'IGNORE';
    utf8::encode($text) if utf8::is_utf8($text);
    syswrite $self->{to}, $text or return undef;
    my $answer = '';
    my $ready  = IO::Select->new($self->{from});
    while ($answer !~ s/$end\n\z//) {
        $ready->can_read(600) or return undef;
        sysread $self->{from}, $answer, 65536, length $answer or return undef;
    }
    $answer =~ s/\n\z//;
    return [map { [map { $_ eq $null ? undef : $_ } split /$value/, $_, -1] } split /$row/,
        $answer];
}

# Returns what it complained of.
sub finish {
    my ($self) = @_;
    close $self->{to};
    close $self->{from};
    kill TERM => $self->{pid};
    waitpid $self->{pid}, 0;
    my $complaints = Idadmin::Test::slurp($self->{errors});
    unlink $self->{errors};
    return $complaints;
}

1;
