package Idadmin::Test::Workflows;
# Workflows of a tenant document, and the reports of their actions: a task over REST, the same with
# idadminctl, the runs over MCP.
use strict;
use warnings;
use Exporter 'import';
use Idadmin::Test::Mcp ();
use JSON::PP ();
use Test::More;

our @EXPORT_OK = qw(act workflow company run_of told_alike);

# continueOnError is true unless said otherwise.
sub act { my ($type, %more) = @_;
    return { type => $type, continueOnError => JSON::PP::true(), %more } }
sub workflow { my ($name, $trigger, @actions) = @_;
    return { name => $name, trigger => $trigger, actions => \@actions } }

# A further tenant over the same directories, with workflows of its own: httpd may know the document
# of a tenant for five seconds. The stack returned shares everything else.
sub company {
    my ($stack, $id, $workflows, %document) = @_;
    my $on = bless { %$stack, company => $id, keys => {}, client => {} }, ref $stack;
    $on->_begin_tenant(tenant => { workflows => $workflows, %document });
    return $on;
}

# The runs of a workflow for a task, as the tool reports them.
sub _runs {
    my ($on, $workflow, $task) = @_;
    my $mcp = $on->{mcp}{"$$ $on->{company}"} //= Idadmin::Test::Mcp->new($on->httpd,
        key => $on->key('read'));
    return grep { $_->{event}{taskId} eq $task->{id} } $mcp->pages('get_workflow_runs',
        { workflow => $workflow }, 200);
}

# One run for the task, in this state, with the same outcomes, times and reasons as the task's
# steps.
sub run_of {
    my ($on, $workflow, $task, $status) = @_;
    my @mine = _runs($on, $workflow, $task);
    is(scalar @mine, 1, "$workflow: one run for the task");
    my $run = $mine[0] or return;
    is($run->{status}, $status, "$workflow: $status");
    ok($run->{startedAt} && ($status eq 'running') == !defined $run->{finishedAt},
        'with its times');
    my %of = map { ("$workflow/$_->{position} $_->{type}" => [$_->{status}, $_->{error}]) } @{
        $run->{actions} };
    my %steps = map { ($_->{name} => [$_->{outcome}, $_->{outcome} =~ /^(?:done|already)$/
        ? undef : $_->{detail}]) }
        grep { $_->{name} =~ m{^\Q$workflow\E/\d+ } } @{ $task->{steps} };
    is_deeply(\%of, \%steps, 'the same outcomes and reasons as the steps');
    # of a whole second the fraction is left out
    my $fine = sub { return $_[0] =~ s/(:\d\d)Z$/$1.000Z/r };
    is_deeply([grep { defined $_->{startedAt}
        && $fine->($_->{finishedAt}) lt $fine->($_->{startedAt}) } @{ $run->{actions} }], [],
        'what began has ended');
    return $run;
}

# idadminctl shows the task as REST does.
sub told_alike {
    my ($on, $task) = @_;
    my $shown = $on->ctl_ok('task', 'show', $on->{company}, $task->{id}, '--json')->{task};
    is_deeply({ map { $_ => $shown->{$_} } qw(state error warnings steps) },
        { map { $_ => $task->{$_} } qw(state error warnings steps) },
        'idadminctl task show tells the same');
    return;
}

1;
