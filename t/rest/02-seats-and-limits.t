# Of 64 parallel creations with ten seats left exactly ten are accepted, and the directory gets
# exactly ten, while a worker finishes them.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(for_each_engine in_parallel within);
use Idadmin::Test::Stack ();

for_each_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine, tenant => { seatLimit => 30 });
    my @answers = in_parallel(64, sub {
        my ($index) = @_;
        my $answer = $stack->post('/v1/api/user',
            { firstname => 'Same', surname => $index % 2 ? 'Name' : "Name$index" });
        return { status => $answer->{status}, id => $answer->{json}{data}{taskId},
            upn => $answer->{json}{data}{userPrincipalName},
            message => $answer->{json}{error}{message} };
    });
    my @accepted = grep { $_->{status} == 200 } @answers;
    is(scalar @accepted, 10, 'exactly ten are accepted');
    is(scalar(grep { $_->{status} == 403 && $_->{message} =~ /30 of 30/ } @answers), 54,
        'all others are told: 30 of 30');
    my %names = map { $_->{upn} => 1 } @accepted;
    is(scalar keys %names, 10, 'ten different names');
    my @done = map { $stack->wait_task($_->{id}) } @accepted;
    is(scalar(grep { $_->{state} eq 'done' } @done), 10, 'all ten are done');
    my @entries = grep { $_->{uid}[0] =~ /^same\./ } $stack->slapd->search('(uid=same.*)',
        base => $Idadmin::Test::Slapd::people);
    is(scalar @entries, 10, 'the directory has exactly ten');
    is_deeply([sort map { $_->{mail}[0] } @entries], [sort keys %names],
        'under the names that were promised');
    is($stack->post('/v1/api/user', { firstname => 'One', surname => 'More' })->{status}, 403,
        'and still no seat is left');
    $stack->slapd->delete_entry($entries[0]{dn});
    ok(within(sub { $stack->post('/v1/api/user',
        { firstname => 'One', surname => 'More' })->{status} == 200 }),
        'one that the directory loses is free after the next sync');
    $stack->stop;
};

done_testing();
