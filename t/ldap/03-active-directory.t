# The main job in a real Active Directory (Samba), proved by binds of the people concerned;
# protected accounts are never changed; the probe reports no fault.
use strict;
use warnings;
use utf8;
use Test::More;
use Encode ();
use Idadmin::Test qw(json_text on_one_engine within);
use Idadmin::Test::Photo ();
use Idadmin::Test::Samba ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Times qw(wall outcomes);

my $reason = Idadmin::Test::Samba->skip_reason;
plan(skip_all => $reason) if $reason;

my $domain = $Idadmin::Test::Samba::domain;
my $samba  = Idadmin::Test::Samba->new;
my $round  = 0;

# Of one login name: its entry as the administrator sees it.
sub entry { my ($login) = @_; return $samba->user($login) // {} }

sub hired_and_gone {
    my ($stack, $first) = @_;
    my $login = lc "$first.Åkesson" =~ s/Å/a/r;
    my $upn   = "$login\@$domain";
    my $photo = Idadmin::Test::Photo::jpeg(20_000);
    my $answer = $stack->post('/v1/api/user',
        { firstname => $first, surname => 'Åkesson', jobTitle => 'Säljare', department => 'Sales',
        country => 'SE',
        manager => "anna.lind\@$domain", profilePhoto => Idadmin::Test::Photo::base64($photo) });
    is($answer->{status}, 200, "$first is posted") or diag($answer->{body});
    is($answer->{json}{data}{userPrincipalName}, $upn, 'the reserved UPN');
    my $task = $stack->wait_task($answer->{json}{data}{taskId});
    is_deeply(outcomes($task),
        { createAccount => 'done', setManager => 'done', setPhoto => 'done' }, 'the task is done');
    my $entry = entry($login);
    my %want = (cn => "$first Åkesson", sn => 'Åkesson', userprincipalname => $upn, mail => $upn,
        title => 'Säljare', c => 'SE', useraccountcontrol => 512,
        manager => "CN=Anna Lind,$Idadmin::Test::Samba::people");
    is_deeply({ map { $_ => $entry->{$_}[0] } keys %want },
        { map { $_ => Encode::encode_utf8($want{$_}) } keys %want },
        'the entry has what was posted');
    ok(($entry->{thumbnailphoto}[0] // '') eq $photo, 'and the photo, byte for byte');
    my $user = $stack->get_user($upn);
    is($user->{status}, 200, 'the new user is looked up at once') or diag($user->{body});
    is($user->{json}{data}{user}{jobTitle}, 'Säljare', 'with what was posted');

    # No person knows the initial password, and it would have to be changed: the help desk gives out
    # another.
    isnt($samba->bind_code($login), 0, 'no sign-in with a password that was not given out');
    $samba->set_password($entry->{dn}, Idadmin::Test::Samba::user_password($login));
    is($samba->bind_code($login), 0, 'the new user signs in');
    $samba->modify("dn: " . Idadmin::Test::Samba::group_dn($_)
        . "\nchangetype: modify\nadd: member\nmember: $entry->{dn}\n")
        for 'All staff', 'Sales team';

    $answer = $stack->post('/v1/api/user/offboard',
        { userPrincipalName => $upn, date => (wall(time))[0], time => '00:00' });
    is($answer->{status}, 200, 'offboarded') or diag($answer->{body});
    $task = $stack->wait_task($answer->{json}{data}{taskId});
    is_deeply(outcomes($task),
        { disableAccount => 'done', revokeSessions => 'skipped', revokeMemberships => 'done',
        verify => 'done' }, 'each step is done');
    is($samba->bind_code($login), 49, 'the bind fails');
    like($samba->bind_text($login), qr/data 533/, 'because the account is disabled');
    is(entry($login)->{useraccountcontrol}[0], 514, 'one bit says so');
    is(entry($login)->{memberof}, undef, 'it is in no group');
    like(json_text($task->{warnings}), qr/Domain Users.*primary group/,
        'the primary group is reported, as it cannot be left');
    ok(within(sub { ($stack->get("/v1/api/user/details?user=$upn")->{json}{data}{user}{status}
        // '') eq 'disabled' }), 'the look-up says disabled');
}

sub untouchable {
    my ($stack) = @_;
    $stack->worker->expect_log(qr/IDA0317 .*(?:old\.admin|per\.lundin).*never changed/);
    for (['old.admin', qr/adminCount/], ['per.lundin', qr/protectedAccounts/]) {
        my ($login, $why) = @$_;
        my $answer = $stack->post('/v1/api/user/offboard',
            { userPrincipalName => "$login\@$domain", date => (wall(time))[0], time => '00:00' });
        is($answer->{status}, 200, "$login is offboarded") or diag($answer->{body});
        my $task = $stack->wait_task($answer->{json}{data}{taskId},
            states => [qw(failed done attention)]);
        is($task->{state}, 'failed', 'the task fails at once');
        like($task->{error} // json_text($task), $why, 'with the reason');
        is(entry($login)->{useraccountcontrol}[0], 512, 'and the account is as it was');
    }
}

# What administrators do beside us is seen at the next poll.
sub seen {
    my ($stack, $login) = @_;
    $samba->add_user($login, title => 'Trainee');
    ok(within(sub { $stack->get_user("$login\@$domain")->{status} == 200 }),
        'an account made by hand is seen');
    $samba->delete_entry(Idadmin::Test::Samba::user_dn($login));
    ok(within(sub { $stack->get_user("$login\@$domain")->{status} == 404 }),
        'and its deletion');
}

# When the bind password expires, as the server computes it, although bindDn is a login name.
sub own_password {
    my ($stack) = @_;
    my ($suffix, $service) = ($Idadmin::Test::Samba::suffix, $Idadmin::Test::Samba::service);
    my $set = sub { my ($dn, $name, $value) = @_;
        $samba->modify("dn: $dn\nchangetype: modify\nreplace: $name\n$name: $value\n") };
    my $said = sub {
        my $report = $stack->worker->run('--check', 'nordic');
        return ($report->{out} =~ /^(.*bind password.*)$/m)[0] // $report->{out};
    };
    like($said->(), qr/changed 0 days ago; no expiry is seen/, 'a password that never expires');
    my ($before) = @{ $samba->entry($suffix)->{maxpwdage} };
    $set->($suffix, maxPwdAge => -60 * 864e9);
    $set->($service, userAccountControl => 512);
    like($said->(), qr/valid for another (?:59|60) days, until 2/, 'in sixty days');
    $set->($suffix, maxPwdAge => -10 * 864e9);
    like($said->(), qr/expires in (?:9|10) days, on 2.*: changed 0 days ago/, 'in ten');
    $set->($service, userAccountControl => 66048);
    $set->($suffix, maxPwdAge => $before);
}

on_one_engine {
    my ($engine) = @_;
    my $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => $samba, sync => 0);
    $stack->wait_synced;
    $round++;
    hired_and_gone($stack, $round == 1 ? 'Åsa' =~ s/Å/A/r : 'Beda');
    untouchable($stack);
    seen($stack, "by.hand$round");
    if ($round == 1) {
        my $report = $stack->worker->run('--check', 'nordic');
        is($report->{exit}, 0, '--check: nothing to mend') or diag($report->{out}, $report->{err});
        like($report->{out}, qr/$_/, "a line about $_")
            for 'creating accounts', 'changing accounts', 'DirSync', 'password policy', 'clock';
        own_password($stack);
    }
    is_deeply([Idadmin::Test::faults_in($stack->worker->log_text, qr/IDA04/)], [],
        'the worker has nothing to complain of');
    $stack->stop;
} 'the store has no part in what Active Directory is sent; t/unit/queue/task.c and '
    . 't/unit/cache run the statements of tasks and cache on both';
$samba->stop;

done_testing();
