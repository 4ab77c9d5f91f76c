# After random changes of a directory, while workers are killed and the server is restarted, the
# cache equals the directory.
# Parameters: changes (some hundred for each directory), seed (4711), of: Ldap, Samba, SambaUsn or
# Cloud only (SambaUsn, an account without the right to DirSync, only if named or if changes are
# given).
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(on_one_engine parameter within);
use Idadmin::Test::Mirror qw(cache_of same_in_both);
use Idadmin::Test::RandomScript ();
use Idadmin::Test::Samba ();
use Idadmin::Test::Stack ();
use Time::HiRes ();

my $changes = parameter(changes => 0);
my $seed    = parameter(seed => 4711);
my $only    = parameter(of => '');
my %samba = (directory => 'onPremises', company => 'nordic', at_once => 1,
    skip => \&Idadmin::Test::Samba::skip_reason, source => sub { $_[0]->slapd });

my %backends = (
    Samba    => { %samba, usual => 100, rounds => 4,
    stack => sub { (slapd => Idadmin::Test::Samba->new) } },
    SambaUsn => { %samba, backend => 'Samba',
    stack => sub { (slapd => Idadmin::Test::Samba->new(account => 'reader')) },
        # deletions show every ten minutes
        later => sub {
            $_[0]->sql(q{UPDATE cache.sync_state SET }
                . q{tokens = replace(tokens, '"scanned":"', '"scanned":"-')}) } },
    # Without lastbind nothing but the changes themselves moves slapd's contextCSN on.
    Ldap  => { directory => 'onPremises', company => 'nordic', usual => 180, rounds => 6,
        at_once => 1, stack => { slapd => { lastbind => 0 } }, source => sub { $_[0]->slapd } },
    Cloud => { directory => 'cloud', company => 'acme', usual => 120, rounds => 4,
    stack => { cloud => { keep => 1,
    settings => { deltaUsers => 50, deltaMembers => 50, deltaReplay => 8 } } },
    source => sub { $_[0]->cloud } },
);

# What a worker that was killed held is free after a minute without a heartbeat; that minute is
# other tests' business.
sub free_leases { my ($stack) = @_; $stack->sql('UPDATE directory_state SET sync_owner = NULL') }

sub text_of { my ($state) = @_; return join "\n", map {"$_ $state->{$_}"} sort keys %$state }

# Compares; if the directory has moved meanwhile (refint works in its own time), once more.
sub compare {
    my ($stack, $backend, $how, $name) = @_;
    my $want = $backend->truth;
    for my $try (1 .. 3) {
        # Changes that a server did not report are found by the syncs after the one that reported
        # their cause.
        for my $time (qw(once twice thrice)) {
            $how->{later}->($stack) if $how->{later};
            my $synced = $stack->ctl('sync', $how->{company}, '--wait');
            is($synced->{exit}, 0, "$name: synced $time")
                or diag($synced->{out}, $synced->{err}, substr $stack->worker->log_text, -3000);
        }
        my $before = text_of($want);
        $want = $backend->truth;
        last if text_of($want) eq $before;
        diag("$name: the directory has moved while it was compared");
    }
    return same_in_both($want, cache_of($stack, $how->{directory}), $name);
}

# What the first sync of a new worker makes of the directory; $meanwhile is done until it is over.
sub first_sync {
    my ($stack, $how, $meanwhile) = @_;
    my $completed = sub { my ($row) =
        $stack->sql("SELECT completed_at FROM cache.sync_state WHERE directory = "
        . "'$how->{directory}'"); return $row->[0] };
    free_leases($stack);
    $how->{later}->($stack) if $how->{later};
    my $was = $completed->();
    $stack->worker->start;
    within(sub { $meanwhile->(); $completed->() != $was })
        or die 'no first sync: ' . substr($stack->worker->log_text, -3000) . "\n";
    return cache_of($stack, $how->{directory});
}

# Without links, which the server itself may change in silence.
sub entries_alone {
    my ($state) = @_;
    return {
        map {
        ($_ => $state->{$_} =~ s/\|manager=[^|]*\|/|/r =~ s/\|\d+(?:\|(?:user|group) [^|]*)*\z//r) }
        keys %$state };
}

# The server ends or is killed right after changes: the first sync after that is held against the
# directory.
sub restarted {
    my ($stack, $backend, $script, $how, $name) = @_;
    $stack->worker->stop;
    $script->run(5);
    $backend->restart;
    my $cache = first_sync($stack, $how, sub { });
    return same_in_both(entries_alone($backend->truth), entries_alone($cache),
        "$name: the first sync after a restart");
}

# Everything is read while the directory changes: a person present before and after is present in
# between.
sub read_meanwhile {
    my ($stack, $backend, $script, $how, $name) = @_;
    my $before = $backend->truth;
    $stack->worker->stop;
    $stack->sql("UPDATE cache.sync_state SET full_at = 1 WHERE directory = '$how->{directory}'");
    my $cache = first_sync($stack, $how, sub { $script->run(8, without => qr/back\z/) });
    my $after = $backend->truth;
    my @missing = grep { $after->{$_} && !$cache->{$_} } sort keys %$before;
    is("@missing", '', "$name: read while it changed: no one is missing");
    return !@missing;
}

sub life {
    my ($engine, $kind) = @_;
    my $how = $backends{$kind};
    my $start = Time::HiRes::time();
    my $stack = Idadmin::Test::Stack->new(engine => $engine, httpd => 0, sync => 0, tenant => {},
        %{ ref $how->{stack} eq 'CODE' ? { $how->{stack}->() } : $how->{stack} });
    my $document = $stack->ctl_ok('tenant', 'show', $how->{company}, '--json');
    $document->{directories}{ $how->{directory} }{deletionGuard} = '100%';
    # longer than refint takes, which gives no signal
    $document->{directories}{ $how->{directory} }{syncInterval} = '2s';
    $stack->apply_tenant($document);
    within(sub { $stack->ctl('sync', $how->{company}, '--wait')->{exit} == 0 })
        or die "no first sync\n";
    my $backend = ('Idadmin::Test::RandomScript::'
        . ($how->{backend} // $kind))->new($how->{source}->($stack));
    my $script = Idadmin::Test::RandomScript->new($backend, $seed);
    $stack->worker->expect_log(qr/IDA0[345]/);    # a server that is away is told
    my $whole = $changes || $how->{usual} || 200;
    my $rounds = $changes ? 6 + int $whole / 250 : $how->{rounds} // 6;
    my $kills = my $restarts = my $compared = 0;
    for my $round (1 .. $rounds) {
        my $part = int($whole * $round / $rounds) - $script->{done};
        if ($round % 2) {
            # Killed somewhere in the changes or in what the worker makes of them.
            $script->run(int $part / 2);
            $stack->ctl('sync', $how->{company});
            Time::HiRes::sleep($script->number(600) / 1000);
            $stack->worker->kill9;
            $kills++;
            $script->run($part - int $part / 2);
            free_leases($stack);
            $stack->worker->start;
        }
        else {
            $script->run($part);
        }
        my $name = "$kind, seed $seed, after $script->{done} changes";
        if ($round % 3 == 0) {
            $restarts++;
            $how->{at_once} ? restarted($stack, $backend, $script, $how, $name)
                || last : $backend->restart;
        }
        elsif ($round % 3 == 1 && $how->{at_once}) {
            read_meanwhile($stack, $backend, $script, $how, $name) or last;
        }
        if ($round == $rounds || ($changes && $round % 4 == 0)) {
            $compared++;
            compare($stack, $backend, $how, $name) or last;
        }
    }
    cmp_ok($script->{refused}, '<', $script->{done} / 5, 'most changes were taken');
    note(sprintf '%s on %s, seed %d: %d changes (%d refused), %d kills, %d restarts, compared %d '
        . 'times, %.1f s', $kind, $engine, $seed, $script->{done}, $script->{refused}, $kills,
        $restarts, $compared,
        Time::HiRes::time() - $start);
    note($script->told);
    diag("again by: IDADMIN_PARAMETERS='" . ($changes ? "changes=$changes " : '')
        . "seed=$seed of=$kind'") if !Test::More->builder->is_passing;
    my ($row) = grep { $_->{companyId} eq $how->{company} } @{
        $stack->ctl_ok('status', '--json')->{directories} };
    ok(!$row->{error}, 'the last sync ended well');
    $stack->stop;
    $stack->slapd->stop if $stack->slapd;
}

on_one_engine {
    my ($engine) = @_;
    for my $kind (length $only ? $only : sort keys %backends) {
        my $how = $backends{$kind}
            // die "no back-end $kind: " . join(' ', sort keys %backends) . "\n";
        next if !$how->{usual} && !$changes && !length $only;
        my $reason = $how->{skip} && $how->{skip}->();
        require('Idadmin/Test/RandomScript/' . ($how->{backend} // $kind) . '.pm');
        subtest $kind => sub { plan(skip_all => $reason) if $reason; life($engine, $kind) };
    }
} 'what a directory says makes the same calls of the cache on both engines; '
    . 't/unit/cache/sync.c runs random ones of those on both';

done_testing();
