package Idadmin::Test::CloudCalls;
# The function table of the cloud connector, called one by one (tool/directory_call) against an
# emulator of its own.
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use IPC::Open2 ();
use Idadmin::Test;
use Idadmin::Test::Cloud ();
use Test::More;
use Time::HiRes ();

our @EXPORT = qw($domain $cloud start_tool stop_tool call person fault calm late now_ms id_of
    until_done);

our $domain = $Idadmin::Test::Cloud::domain;
our $cloud  = Idadmin::Test::Cloud->new;
my ($to, $from, $pid);

sub start_tool {
    my (%changes) = @_;
    my $document = spew(tempdir() . '/acme.json',
        json_text({ companyId => 'acme', name => 'Acme AB', upnDomain => $domain,
        directories => { cloud => $cloud->document(%changes) } }));
    $pid = IPC::Open2::open2($from, $to, build_dir() . '/tool/directory_call', $document);
}

sub stop_tool {
    close $to;
    waitpid $pid, 0;
    is($?, 0, 'the tool ends cleanly');
}

# call(create => upn => ..., ...) -> what the tool answers
sub call {
    my ($name, %arguments) = @_;
    print {$to} json_text({ call => $name, %arguments }), "\n";
    $to->flush;
    my $line = readline $from;
    die "directory_call ended\n" if !defined $line;
    my $answer = json_data($line);
    return $answer;
}

my $people = 0;

# A new person, with an own marker.
sub person {
    my (%changes) = @_;
    my $n = ++$people;
    return (firstname => 'Åsa', surname => "Test$n", displayName => "Åsa Test$n",
        upn => "asa.test$n\@$domain", marker => sprintf('01jmarker%017d', $n), %changes);
}

sub fault { my (@rules) = @_; $cloud->control(clearFaults => JSON::PP::true(), faults => [@rules]) }
sub calm  { $cloud->control(clearFaults => JSON::PP::true(),
    settings => { lag => {}, photoNeedsMailbox => 0, banPasswords => 0 }) }
sub late  { my (%lag) = @_; $cloud->control(settings => { lag => \%lag }) }
sub now_ms { return int(Time::HiRes::time() * 1000) }
sub id_of { my ($upn) = @_; return $cloud->user($upn)->{id} }

# Calls again, as the task would, until it is done; a class that is no waiting ends it too.
sub until_done {
    my ($name, %arguments) = @_;
    my ($answer, @classes);
    my $begun = now_ms();
    for (1 .. 60) {
        $answer = call($name, %arguments);
        push @classes, $answer->{class};
        last if $answer->{class} !~ /^(?:not\ visible\ yet|answer\ lost|not\ reachable|asks\ to
            \ slow\ down)$/x;
        $arguments{sentAt} = $begun if $name eq 'create';
        select undef, undef, undef, $answer->{class} eq 'asks to slow down' ? $answer->{retryAfter}
            : 0.2;
    }
    return ($answer, @classes);
}

1;
