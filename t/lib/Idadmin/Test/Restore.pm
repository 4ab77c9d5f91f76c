package Idadmin::Test::Restore;

# Backup and restore over a running stack, and the course of every kind of task through both: in a
# backup, done, restored, and carried out once more. Each person is then in the directory once. The
# directory is OpenLDAP, Active Directory or the cloud.
use strict;
use utf8;
use warnings;
use Exporter qw(import);
use Idadmin::Test qw(run_command slurp tempdir within);
use Test::More;

our @EXPORT_OK = qw(every_kind hire lose_everything places refused);

my $number = 0;

# A fresh pair of directories; the options that name the second one.
sub places {
    my $base = tempdir() . '/backup' . ++$number;
    mkdir $base or die "$base: $!\n";
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $base);
    return ("$base/store", '--keys', "$base/keys");
}

sub hire {
    my ($stack, $firstname, $surname, %more) = @_;
    return $stack->post('/v1/api/user',
        { firstname => $firstname, surname => $surname, %more })->{json}{data}{taskId};
}

sub refused {
    my ($stack, $words, $reason, $name) = @_;
    my $result = $stack->ctl(@$words);
    is($result->{exit}, 1, "$name: refused") or diag "$result->{out}$result->{err}";
    like($result->{err}, $reason, "$name: says why");
}

# The store with its keys; on PostgreSQL the database is empty.
sub lose_everything {
    my ($stack) = @_;
    delete $stack->{client};
    $stack->httpd->stop;
    $stack->worker->stop;
    $_->finish for delete($stack->{sessions}{$$}) // ();
    run_command(['find', "$stack->{base}/lib", '-mindepth', 1, '-delete']);
    if (my $server = $stack->{postgresql}) {
        $server->sql('postgres', "DROP DATABASE $stack->{database} WITH (FORCE)");
        $server->sql('postgres', "CREATE DATABASE $stack->{database} TEMPLATE template0 "
            . "ENCODING 'UTF8' LOCALE 'C.UTF-8'");
    }
    return;
}

# One task of every kind, with what the directory shows once it is done. The worker stands still
# while they are queued.
my @groups = ('CRM admins', 'Finance');    # lars.moberg is in neither

sub prepare {
    my ($stack) = @_;
    $stack->apply_tenant($stack->tenant_document(
        roleTemplates => [map { { name => $_, groups => [$_] } } @groups]));
    my $gone = hire($stack, 'Rut', 'Retur', employeeId => 'R-1');
    $stack->wait_task($gone);
    my $upn = 'rut.retur@' . $stack->domain;
    $stack->wait_task($stack->delete('/v1/api/user',
        { userPrincipalName => $upn, time => '00:00' })->{json}{data}{taskId});
    my $lars = 'lars.moberg@' . $stack->domain;
    $stack->wait_task($_) for role($stack, assign => $groups[0], $lars);
    return;
}

sub role {
    my ($stack, $verb, $template, $upn) = @_;
    return @{ $stack->ctl_ok('role', $verb, $stack->{company}, $template, $upn,
        '--json')->{taskIds} };
}

sub one_of_each {
    my ($stack) = @_;
    my $domain = $stack->domain;
    my %task = (
        userCreate => hire($stack, 'Twice', 'Born', employeeId => 'T-1'),
        rehire => hire($stack, 'Rut', 'Retur', employeeId => 'R-1', rehire => 'restore'),
        userUpdate => $stack->call(PATCH => '/v1/api/user', json => {
            userPrincipalName => "lars.moberg\@$domain", jobTitle => 'Moved up' })
            ->{json}{data}{taskId},
        userDelete => $stack->delete('/v1/api/user',
            { userPrincipalName => "eva.berg\@$domain", time => '00:00' })->{json}{data}{taskId},
    );
    ($task{accessGrant})  = role($stack, assign   => $groups[1], "lars.moberg\@$domain");
    ($task{accessRevoke}) = role($stack, unassign => $groups[0], "lars.moberg\@$domain");
    return \%task;
}

# What each of them has done, as the directory shows it.
sub in_the_directory {
    my ($stack) = @_;
    my (%lars, @enabled, @born);
    if (my $cloud = $stack->cloud) {
        my $domain = $stack->domain;
        my $lars = $cloud->user("lars.moberg\@$domain");
        %lars = (title => $lars->{jobTitle}, groups => $lars->{groups});
        @enabled = map { $cloud->user("$_\@$domain")->{accountEnabled} ? 1 : 0 }
            qw(eva.berg rut.retur);
        @born = grep { ($cloud->user("$_\@$domain") // {})->{employeeId} }
            qw(twice.born twice.born2 rut.retur2);
    }
    else {
        my $slapd = $stack->slapd;
        my $lars = $slapd->user('lars.moberg');
        %lars = (title => $lars->{title}[0], groups => [grep { my $group = $_;
            grep { lc $_ eq lc $lars->{dn} } $slapd->members($group) } @groups]);
        @enabled = map { my $user = $slapd->user($_);
            $user->{pwdaccountlockedtime} || ($user->{useraccountcontrol}[0] // 0) & 2 ? 0 : 1 }
            qw(eva.berg rut.retur);
        @born = grep { $slapd->user($_) } qw(twice.born twice.born2 rut.retur2);
    }
    my %has = map { $_ => 1 } @{ $lars{groups} };
    return { title => $lars{title}, enabled => \@enabled, born => \@born,
        groups => [grep { $has{$_} } @groups] };
}
my $expected = { title => 'Moved up', enabled => [0, 1], born => ['twice.born'],
    groups => ['Finance'] };

# Nothing is known of the store that was replaced: all of them are carried out a second time.
sub released {
    my ($stack, $task) = @_;
    my $answer = $stack->ctl_ok('task', 'release', $stack->{company}, '--all-braked', '--json');
    my %released = map { $_ => 1 } @{ $answer->{released} };
    is_deeply([grep { !$released{ $task->{$_} } } sort keys %$task], [], 'all kinds are released');
    my %done = map { $_ => $stack->wait_task($task->{$_}) } sort keys %$task;
    is_deeply(in_the_directory($stack), $expected, 'nobody twice, nothing lost');
    is($done{userCreate}{userPrincipalName}, 'twice.born@' . $stack->domain, 'the name it has');
    like($done{userCreate}{steps}[0]{detail}, qr/^made by an earlier try/, 'finds its account');
    is_deeply($done{userCreate}{warnings},
        ['The account was there already; its password was left as it is.'], 'and says so');
    return;
}

# What was put aside is in no later backup, is named, and goes by one command.
sub put_aside {
    my ($stack) = @_;
    my @again = places();
    $stack->ctl_ok('backup', @again, '--json');
    my $dump = join '', map { slurp($_) } glob "$again[0]/*.sql";
    unlike($dump, qr/_before_/, 'what was put aside is not in a backup');
    my ($line) = grep { $_->{check} eq 'put aside' }
        @{ $stack->ctl('doctor', '--json')->{json}{checks} };
    like($line->{detail}, qr/before[-_]\d+T\d+/, 'the doctor names it');
    symlink $again[0], "$stack->{base}/lib/before-20200101T000000";
    my $aside = $stack->ctl_ok('aside', '--json')->{aside};
    is($stack->ctl('aside', '--remove')->{exit}, 0, 'it is removed');
    is_deeply($stack->ctl_ok('aside', '--json')->{aside}, [], 'all of it');
    is(scalar(grep { -e } @$aside), 0, 'from the disk');
    ok(-e "$again[0]/manifest.json", 'but nothing behind a link');
    return;
}

sub rename_tom {
    my ($stack) = @_;
    my $domain = $stack->domain;
    if (my $cloud = $stack->cloud) {
        my $id = $cloud->user("tom.ida\@$domain")->{id};
        $cloud->api(PATCH => "/users/$id", json => { userPrincipalName => "tom.other\@$domain" });
        return;
    }
    if (my $tom = $stack->slapd->isa('Idadmin::Test::Samba') && $stack->slapd->user('tom.ida')) {
        $stack->slapd->modify("dn: $tom->{dn}\nchangetype: modify\n" . join("-\n", map {
            "replace: $_->[0]\n$_->[0]: $_->[1]\n" } [sAMAccountName => 'tom.other'],
            [userPrincipalName => "tom.other\@$domain"], [mail => "tom.other\@$domain"]));
        return;
    }
    my ($from, $to) = map { Idadmin::Test::Slapd::user_dn($_) } qw(tom.ida tom.other);
    $stack->slapd->modify("dn: $from\nchangetype: modrdn\nnewrdn: uid=tom.other\n"
        . "deleteoldrdn: 1\n\ndn: $to\nchangetype: modify\nreplace: mail\n"
        . "mail: tom.other\@$domain\n");
    return;
}

# What the replaced store knows as over waits for a person, whatever the backup says.
sub settled {
    my ($stack, $task, $early, $ended, $now) = @_;
    my $company = $stack->{company};
    is_deeply($stack->ctl_ok('task', 'release', $company, '--all-braked', '--json')->{released}, [],
        'what is known to be over is not released');
    refused($stack, ['task', 'release', $company, $task->{userDelete}], qr/settle/, 'nor alone');
    like($stack->task($ended)->{error}, qr/as cancelled.*task cancel/,
        'what was cancelled says so');
    for my $id (@$task{qw(userDelete userCreate accessGrant)}) {
        is($stack->ctl_ok('task', 'settle', $company, $id, '--json')->{task}{state}, 'done',
            'settled');
    }
    $stack->ctl_ok('task', 'retry', $company, $_) for $early, $task->{userUpdate};
    $stack->call(PATCH => "/v1/api/task?id=$early", json => $now);
    $stack->wait_task($_) for $early, $task->{userUpdate};
    is($stack->task($early)->{userPrincipalName}, 'tom.ida@' . $stack->domain,
        'a hire that was moved to an earlier day finds its account');
    is_deeply(in_the_directory($stack), $expected, 'the directory is as it was');
    return;
}

sub restored {
    my ($stack, @backup) = @_;
    my $restored = $stack->ctl_ok('restore', @backup, '--json');
    $stack->{worker}->start;
    $stack->httpd->start;
    $stack->wait_synced;
    return $restored;
}

sub stopped {
    my ($stack) = @_;
    delete $stack->{client};
    $stack->httpd->stop;
    $stack->worker->stop;
    return;
}

# No row differs from what the chain says of it, once all records are in it.
sub verified {
    my ($stack) = @_;
    within(sub { !($stack->sql('SELECT count(*) FROM audit_outbox'))[0][0] });
    my $verified = $stack->ctl('audit', 'verify', $stack->{company});
    is($verified->{exit}, 0, 'the audit names nothing') or diag $verified->{err};
    return;
}

# Every kind of task: in a backup, done, restored, and once more.
sub every_kind {
    my ($stack) = @_;
    prepare($stack);
    $stack->worker->stop;
    my $task  = one_of_each($stack);
    my $early = hire($stack, 'Tom', 'Ida', date => '2031-01-02');
    my $ended = hire($stack, 'Ulf', 'Noll', date => '2031-01-02');
    my @backup = places();
    $stack->ctl_ok('backup', @backup, '--json');
    $stack->worker->start;
    $stack->wait_task($_) for values %$task;
    is_deeply(in_the_directory($stack), $expected, 'every kind of task was carried out');
    my @day = localtime;
    my $now = { date => sprintf('%d-%02d-%02d', $day[5] + 1900, $day[4] + 1, $day[3]),
        time => '00:00' };
    $stack->call(PATCH => "/v1/api/task?id=$early", json => $now);
    $stack->wait_task($early);
    $stack->delete("/v1/api/task?id=$ended");
    stopped($stack);

    my $restored = restored($stack, @backup);
    put_aside($stack);
    my %held = map { $_->{taskId} => "$_->{was} $_->{since}" } @{ $restored->{held} };
    is_deeply(\%held, { (map { $_ => 'queued done' } $early, values %$task),
        $ended => 'queued cancelled' }, 'holds what would run again, with what became of it');
    is($restored->{companies}[0]{held}, 8, 'counted by company');
    settled($stack, $task, $early, $ended, $now);
    verified($stack);
    stopped($stack);

    lose_everything($stack);
    rename_tom($stack);
    restored($stack, @backup);
    released($stack, $task);
    $stack->call(PATCH => "/v1/api/task?id=$early", json => $now);
    is($stack->wait_task($early)->{userPrincipalName}, 'tom.other@' . $stack->domain,
        'an account that got another name is found by its mark, and the task says that name');
    verified($stack);
    stopped($stack);
    return;
}

1;
