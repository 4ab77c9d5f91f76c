package Idadmin::Test::Rest;
# Requests about people over REST, and their expected results, for tests of one stack at a time.
use strict;
use utf8;
use warnings;
use Exporter 'import';
use Idadmin::Test::Slapd ();
use Test::More;

our @EXPORT_OK = qw(about upn patch message refused done);
my $stack;

# The stack that is asked from now on, which it returns.
sub about { ($stack) = @_; return $stack }

sub upn   { return "$_[0]\@$Idadmin::Test::Slapd::domain" }
sub patch { my ($body, %how) = @_; my $query = delete $how{query} // '';
    return $stack->call(PATCH => "/v1/api/user$query", json => $body, %how) }
sub message { my ($answer) = @_;
    return $answer->{json}{error}{message} // $answer->{json}{data}{message} // '' }

sub refused {
    my ($answer, $status, $code, $like, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return subtest($name => sub {
        is($answer->{status}, $status, 'status') or diag($answer->{body});
        is($answer->{json}{error}{code}, $code, 'code');
        like(message($answer), $like, 'message');
    });
}

# Queued and carried out: the task.
sub done {
    my ($answer, $name) = @_;
    is($answer->{status}, 200, $name) or diag($answer->{body}) or return {};
    return $stack->wait_task($answer->{json}{data}{taskId});
}

1;
