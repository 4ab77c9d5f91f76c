# The long forms, which "make check-long" runs by t/suite/long.pl. An entry has a name and
#
#   program   of the suite, or make => arguments of make; {NAME} is the parameter or the target
#   with      its parameters, in their long form (the suite's own are much smaller)
#   engines   each part on each of them by itself
#   parts     how many parts with seeds one after the other, so that a run may be stopped in between
#   targets   a part for each word that this gives
my @each = qw(sqlite postgresql);

(
    { name => 'packages', make => 'check-deb' },
    { name => 'mcp-limits', program => 'unit/face/mcp_tools', with => { limits => 200 } },
    { name => 'model', program => 'unit/worker/model', engines => \@each, parts => 2,
        with => { rounds => 5_000, seed => 7 } },
    { name => 'namesakes', program => 'unit/worker/namesakes', engines => \@each, parts => 2,
        with => { lives => 5_000, seed => 3 } },
    { name => 'stall', program => 't/queue/04-stalled-worker.t', engines => \@each,
        with => { stall => 120 } },
    { name => 'due-spread', program => 't/queue/05-due-minute.t', engines => \@each,
        with => { tasks => 1_000, spread => 60, threads => 16, limit => 1 } },
    { name => 'outage', program => 't/queue/13-notifications.t', engines => \@each,
        with => { outage => 600 } },
    { name => 'big-group', program => 't/ldap/04-active-directory-in-depth.t',
        with => { members => 4_000 } },
    { name => 'cloud-sync', program => 't/cloud/11-sync.t', engines => \@each, parts => 2,
        with => { rounds => 50, seed => 66 } },
    { name => 'cloud-pace', program => 't/cloud/09-pace.t',
        with => { creates => 4_500, workers => 2 } },
    { name => 'cloud-hang', program => 't/cloud/08-hang.t', engines => \@each,
        with => { seconds => 600 } },
    { name => 'cloud-faults', program => 't/cloud/07-faults.t', engines => \@each, parts => 4,
        with => { creates => 250, lag => 15_000, seed => 4711 } },
    { name => 'random-sync', program => 't/ldap/05-random-sync.t', engines => \@each, parts => 2,
        with => { changes => 2_500, seed => 1 } },
    { name => 'random-sync-usn', program => 't/ldap/05-random-sync.t',
        with => { changes => 500, seed => 1, of => 'SambaUsn' } },
    { name => 'clocks-and-wires', program => 't/faults/04-clocks-and-wires.t', engines => \@each,
        with => { rounds => 100 } },
    { name => 'failover', program => 't/faults/05-failover.t', with => { failovers => 20 } },
    { name => 'kill-rounds', program => 't/faults/01-people.t', engines => \@each, parts => 10,
        with => { rounds => 100, seed => 7 } },
    { name => 'kill-programs', program => 't/faults/03-programs.t', engines => \@each, parts => 10,
        with => { rounds => 100, seed => 7 } },
    { name => 'kill-writers', program => 't/ops/23-writer.t', engines => \@each,
        with => { kills => 500 } },
    { name => 'hostile', program => 't/http/05-hostile-requests.t', engines => \@each, parts => 2,
        with => { mutations => 5_000, seed => 1 } },
    { name => 'load', program => 't/ops/13-long-load.t', engines => \@each,
        with => { requests => 1_000_000, minutes => 30 } },
    { name => 'fuzz', make => 'fuzz FUZZ=fuzz/fuzz_{target} FUZZ_SECONDS={seconds}',
        with => { seconds => 600 }, targets => \&main::fuzz_targets },
    { name => 'suite', make => 'check', parts => 10 },
    { name => 'suite-busy', make => 'check', parts => 10, environment => { IDADMIN_BUSY => 2 } },
    { name => 'suite-slow', make => 'check', parts => 2,
        environment => { IDADMIN_SLOW => 'fsync=20 connect=10 begin=20 commit=50' } },
    # Over the new year of Stockholm, then an hour in which UTC still has the old one; over the
    # night that loses an hour, and over the one that has an hour twice.
    { name => 'suite-new-year', make => 'check',
        environment => { IDADMIN_CLOCK => '2027-12-31 22:55' } },
    { name => 'suite-summer', make => 'check',
        environment => { IDADMIN_CLOCK => '2028-03-26 00:52' } },
    { name => 'suite-winter', make => 'check',
        environment => { IDADMIN_CLOCK => '2027-10-31 00:05' } },
);
