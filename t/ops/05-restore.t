# The commands of doc/install.md back up a service and restore it: the test reads them from the page
# and runs them with a stack's paths.
use strict;
use warnings;
use utf8;
use Test::More;
use Idadmin::Test qw(run_command slurp src_dir tempdir within);
use Idadmin::Test::Stack;

plan skip_all => 'the commands are root\'s' if $>;
plan skip_all => 'for SQLite' if !grep { $_ eq 'sqlite' } Idadmin::Test::engines();

my $stack  = Idadmin::Test::Stack->new(engine => 'sqlite');
my $lib    = "$stack->{base}/lib";
my $backup = tempdir() . '/backup';
my $id     = Idadmin::Test::runtime_user();
mkdir $_, 0700 or die $! for $backup, "$backup/store", "$backup/keys";

# The two blocks of commands, with this stack's places and user for the installed ones.
my ($section) = slurp(src_dir() . '/doc/install.md') =~ /^## Back up and restore\n(.*?)^## /ms;
my ($save, $restore) = map { join "\n", /^    (.*)$/mg } split /^Restore with/m, $section;
for ($save, $restore) {
    s{/var/lib/idadmin}{$lib}g;
    s{/backup/}{$backup/}g;
    s{-o idadmin -g idadmin}{-o $id -g $id}g;
}
ok($restore =~ s/^systemctl start idadmin-worker apache2$//m, 'the page ends with the start');
sub run_all { my ($script) = @_; return run_command(['/bin/sh', '-e', '-c', $script]) }

my $task = $stack->post('/v1/api/user',
    { firstname => 'Åsa', surname => 'Öberg' })->{json}{data}{taskId};
is($stack->wait_task($task)->{state}, 'done', 'a person was created');
ok(within(sub { grep { ($_->{action} // '') eq 'user.create' } @{ $stack->records } }),
    'and is in the audit');
my $later = $stack->post('/v1/api/user',
    { firstname => 'Bo', surname => 'Ek', date => '2031-01-02' })->{json}{data}{taskId};
my $saved = run_all($save);
is($saved->{exit}, 0, 'backup beside httpd and worker') or diag $saved->{err};
$stack->httpd->stop;
$stack->worker->stop;
my $audited = $stack->ctl_ok('audit', 'verify', 'nordic', '--json')->{records};
my $restored = run_all($restore);
is($restored->{exit}, 0, 'restore') or diag $restored->{err};
is_deeply([map {s{.*/}{}r} sort glob "$lib/*"],
    [qw(idadmin-audit.db idadmin.db idadmin.key idadmin.key.audit idadmin.key.signing)],
    'the store is what was saved');

# httpd first: it can make nothing, says so, and serves once the worker has been there.
$stack->httpd->expect_log(qr/IDA0102|IDA0110/);
$stack->httpd->start;
is($stack->get_user('eva.berg@nordic.example', client => $stack->httpd->client)->{status}, 503,
    'httpd waits for the worker');
$stack->worker->start;
# a lease of the old worker's, if the backup caught it at a synchronisation, is waited out
$stack->wait_synced;
ok($stack->worker->log_has(qr/the cache was not there and has been made/), 'which makes the cache');
is($stack->get_user('asa.oberg@nordic.example')->{status}, 200, 'with the people of the directory');
is($stack->task($task)->{state}, 'done', 'tasks are there');
is($stack->task($later)->{state}, 'queued', 'those to come too');
my $verify = $stack->ctl('audit', 'verify', 'nordic', '--json');
is($verify->{exit}, 0, 'the audit log\'s chain is whole');
cmp_ok($verify->{json}{records}, '>=', 2, 'with its records');
my $new = $stack->post('/v1/api/user',
    { firstname => 'Cia', surname => 'Ny' })->{json}{data}{taskId};
is($stack->wait_task($new)->{state}, 'done', 'and work goes on');
my $check = $stack->worker->run('--check', 'nordic');
is($check->{exit}, 0, 'the settings are sealed by the restored key') or diag $check->{out};

# The first process creates it, not only the worker; also after a death between the making of the
# file and of what is in it.
$stack->httpd->stop;
$stack->worker->stop;
for my $left ('nothing', 'an empty file') {
    unlink glob "$lib/idadmin-cache.db*";
    Idadmin::Test::give_to($id, Idadmin::Test::spew("$lib/idadmin-cache.db", ''))
        if $left ne 'nothing';
    chmod 0640, "$lib/idadmin-cache.db";
    my $status = $stack->ctl('status', '--json');
    is($status->{exit}, 0, "idadminctl where of the cache there is $left") or diag $status->{err};
}
rename "$lib/idadmin.db", "$lib/away";
unlink glob "$lib/idadmin-cache.db*";
is($stack->ctl('status')->{exit}, 1, 'without a store there is none to be made for');
ok(!-e "$lib/idadmin-cache.db", 'and none is');
rename "$lib/away", "$lib/idadmin.db";
$stack->httpd->start;
$stack->worker->start;
$stack->wait_synced;
$stack->stop;
done_testing();
