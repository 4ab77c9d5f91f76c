package Idadmin::Test::Minute;
# Joiners and leavers of one future minute, posted ahead: nothing happens before it, everything
# after it. Only t/queue/05-due-minute.t measures how late a task may begin.
use strict;
use warnings;
use utf8;
use Test::More;
use Exporter 'import';
use Idadmin::Test ();
use Idadmin::Test::Photo ();
use Idadmin::Test::Times qw(wall epoch);
use Time::HiRes ();

our @EXPORT_OK = qw(post_ahead wait_on_time);

# Fifteen joiners of one name (`more`: further members of their bodies) and four leavers; what was
# posted. Their minute is `due`, else half an hour ahead; it comes when the wall clock of the worker
# is set to it, which wait_on_time does with `clock` (a Fault).
sub post_ahead {
    my ($stack, $domain, %more) = @_;
    my ($clock, $due) = delete @more{qw(clock due)};
    $due //= (int(time / 60) + 30) * 60;
    # In autumn two hours have one name, which means the first of them.
    $due += 3600 if "@{[ wall($due) ]}" eq "@{[ wall($due - 3600) ]}";
    my ($date, $time) = wall($due);
    my $photo = Idadmin::Test::Photo::jpeg(20_000);
    my (@joiners, @leavers);
    for my $n (1 .. 15) {
        my $answer = $stack->post('/v1/api/user',
            { firstname => 'Åsa', surname => 'Öberg', middleName => 'Maria', jobTitle => 'Säljare',
            department => 'Sales', office => 'Malmö 3',
            city => 'Malmö', streetAddress => 'Storgatan 1', postalCode => '211 34',
            preferredLanguage => 'sv-SE', manager => "anna.lind\@$domain", employeeId => "E$n",
            profilePhoto => Idadmin::Test::Photo::base64($photo), date => $date, time => $time,
            %more });
        is($answer->{status}, 200, "joiner $n is queued") or diag($answer->{body});
        push @joiners, $answer->{json}{data};
    }
    for my $upn (map {"$_\@$domain"} qw(bo.ek carin.sjoberg karin.hedlund lars.moberg)) {
        my $answer = $stack->delete('/v1/api/user',
            { userPrincipalName => $upn, date => $date, time => $time });
        is($answer->{status}, 200, "leaver $upn is queued") or diag($answer->{body});
        push @leavers, $answer->{json}{data};
    }
    is_deeply([grep { $stack->task($_->{taskId})->{state} ne 'queued' } @joiners[0, 7], @leavers],
        [], 'before its minute nothing runs');
    return { due => $due, clock => $clock, photo => $photo, joiners => \@joiners,
        leavers => \@leavers };
}

# The tasks when all are done, joiners first; none may begin before the minute.
sub wait_on_time {
    my ($stack, $posted) = @_;
    my $due = $posted->{due};
    # Three seconds before it the worker connects to the directory.
    $posted->{clock}->step(int($due - 4 - Time::HiRes::time()));
    my @done = map { $stack->wait_task($_->{taskId}) } @{
        $posted->{joiners} }, @{ $posted->{leavers} };
    my @late = sort { $a <=> $b } map { epoch($_->{startedAt}) - $due } @done;
    my @ends = sort { $a <=> $b } map { epoch($_->{finishedAt}) - $due } @done;
    cmp_ok($late[0], '>=', 0, 'none began before the minute');
    note(sprintf 'started %.3f to %.3f s, finished %.3f to %.3f s after the instant', @late[0, -1],
        @ends[0, -1]);
    return @done;
}

1;
