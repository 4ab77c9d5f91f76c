# While the store is unavailable, requests are refused at once instead of waiting for it.
use strict;
use warnings;
use Test::More;
use List::Util qw(max);
use Idadmin::Test;
use Idadmin::Test::Httpd ();
use Idadmin::Test::Machine ();
use Idadmin::Test::PostgreSQL ();
use Idadmin::Test::Stack;

# Seconds on a quiet machine. A request that waited for the store would take five or more.
my $at_once = 3;

# The longest of ten requests, which are all answered with 503.
sub slowest {
    my ($stack) = @_;
    my @answers = map { $stack->get('/v1/api/tasks', client => $stack->httpd->client) } 1 .. 10;
    is join(' ', map { $_->{status} } @answers), join(' ', (503) x 10), 'refused';
    return max map { $_->{seconds} } @answers;
}

subtest 'SQLite' => sub {
    my $stack = Idadmin::Test::Stack->new(slapd => 0, worker => 0, httpd => 0);
    chmod 0, $stack->store =~ s/^sqlite3://r or die $!;
    $stack->{httpd} = Idadmin::Test::Httpd->new(store => $stack->store, spool => $stack->spool);
    $stack->httpd->expect_log(qr/IDA01\d\d/);
    cmp_ok slowest($stack), '<', Idadmin::Test::Machine::limit($at_once), 'at once';
    $stack->stop;
};

subtest 'PostgreSQL' => sub {
    my $skip = Idadmin::Test::PostgreSQL->skip_reason;
    plan skip_all => $skip if $skip;
    my $server = Idadmin::Test::PostgreSQL->own;
    my $stack  = Idadmin::Test::Stack->new(engine => 'postgresql', postgresql => $server,
        slapd => 0, worker => 0);
    $stack->httpd->expect_log(qr/IDA01\d\d/);
    $server->stop;
    ok within(sub { $stack->get('/v1/api/tasks')->{status} == 503 }), 'the server is stopped';
    cmp_ok slowest($stack), '<', Idadmin::Test::Machine::limit($at_once), 'at once';
    $stack->stop;
};

done_testing();
