package Idadmin::Test::WorkflowStack;
# Two companies with the same workflows, one on-premises and one in the cloud, with a mail server
# and a receiver of webhooks: for the tests of actions.
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Idadmin::Test;
use Idadmin::Test::Slapd ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack ();
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act company workflow);
use Test::More;

our @EXPORT = qw($people $true $false $smtp $hook $stack $other begin_companies end_companies
    call_hook apply on queue join_now leave_now templates);

our $people = $Idadmin::Test::Slapd::people;
our ($true, $false) = (JSON::PP::true(), JSON::PP::false());
our ($smtp, $hook, $stack, $other);    # new ones for each engine

sub call_hook { my ($path, %more) = @_;
    return act(callWebhook => url => $hook->url($path), secretFile => $hook->secret,
    allowPrivate => $true, %more) }

sub apply { my ($on, @workflows) = @_;
    $on->apply_tenant({ companyId => $on->{company}, workflows => \@workflows }) }

sub on { my ($id, @workflows) = @_; return company($stack, $id, \@workflows) }

sub queue {
    my ($on, $what, %payload) = @_;
    my $answer = $what eq 'join' ? $on->post('/v1/api/user', \%payload)
        : $on->delete('/v1/api/user', { time => '00:00', %payload });
    is($answer->{status}, 200, "$what is queued") or diag $answer->{body};
    return $answer->{json}{data};
}

sub join_now { my ($on, %payload) = @_; return queue($on, 'join', %payload) }

sub leave_now { my ($on, $upn, %more) = @_;
    return queue($on, leave => userPrincipalName => $upn, %more)->{taskId} }

sub joiner_actions {
    my ($group) = @_;
    return (
        act(addToGroup => group => $group), act(addToGroup => group => 'Finance'),
            act(removeFromGroup => group => 'Finance'),
            act(assignRoleTemplate => roleTemplate => 'Developer'),
        act(setAttribute => attribute => 'office', value => 'Hus {surname:1}, {department}'),
        act(sendEmail => to => '{manager}', subject => 'Välkommen {firstname:2} {displayName}',
        body =>
        "Hej {manager}!\n{displayName} ({jobTitle}, {department}) börjar {date} {time}.\n.\nFrån "
        . "{companyName} {nothing"),
        act(sendInitialPassword => to => 'first.line@nordic.example'), call_hook('/ok'),
    );
}

sub leaver_actions {
    my ($path, @more) = @_;
    return (act('removeLicenses'), act('unassignRoleTemplates'),
        act(setAttribute => attribute => 'office', value => ''), act('transferReports'), @more,
        act(addToGroup => group => 'Finance'),
        act(sendEmail => to => '{manager}', subject => '{displayName} leaves',
        body => '{jobTitle} {department}'), call_hook($path));
}

sub mover { return workflow('Mover', 'userUpdate',
    act(sendEmail => to => 'hr@nordic.example',
    subject => '{userPrincipalName}: {jobTitle}, {department}', body => 'x'),
    act(setAttribute => attribute => 'office', value => '{department}'), call_hook('/ok?mover')) }

sub templates { return [{ name => 'Developer', groups => ['Engineering'], licenses => [@_] }] }

sub begin_companies {
    my ($engine) = @_;
    $smtp = Idadmin::Test::Smtp->new(auth => { user => 'identity', password => 'm4il-secret' });
    $hook = Idadmin::Test::Webhook->new;
    $stack = Idadmin::Test::Stack->new(engine => $engine,
        slapd => {
        ldif => "dn: ou=former,$people\nobjectClass: organizationalUnit\nou: former\n\n" },
        worker => { options => ['--threads', 4, $smtp->options] },
        tenant => { roleTemplates => templates(),
        workflows => [workflow('Joiner', 'userCreate', joiner_actions('All staff')),
        workflow('Leaver', 'userDelete',
        leaver_actions('/ok', act(moveTo => container => "ou=former,$people"))), mover()] });
    $other = $stack->beside_in_the_cloud(tenant => { roleTemplates => templates('SPE_E3'),
        workflows => [workflow('Joiner', 'userCreate', joiner_actions('All staff')),
        workflow('Leaver', 'userDelete', leaver_actions('/ok')), mover()] });
}

sub end_companies {
    is($stack->worker->stop, 0, 'the worker ends cleanly');
    $other->cloud->stop;
    $stack->stop;
    $_->stop for $smtp, $hook;
}

1;
