#!/usr/bin/perl
# The cloud directory emulator: the subset of Microsoft Graph v1.0 that the worker uses, with state
# in memory, for tests and the demo. Plain HTTP and, with a certificate, HTTPS; both on loopback.
# Started by Idadmin::Test::Cloud.
#
#   emulator.pl CONFIG.json      { port, tlsPort, cert, key, tenant, client, secret, certificates:
#                                [PEM], domains: [...],
#                                  seed: "standard" or null, bulk: {users, memberships, group},
#                                  settings: {...},
#                                  state: FILE that SIGTERM writes and the next start reads (no bulk
#                                  users; access tokens are forgotten) }
#   API     http://127.0.0.1:PORT/v1.0/...           tokens
#           http://127.0.0.1:PORT/{tenant}/oauth2/v2.0/token
#
# Control, as JSON, without a token:
#   GET  /_control               counters: requests {"POST /users": {"201": n}}, sent429, created,
#        createdByMarker, photos, tokens, users,
#                                usersDeleted, deletedThroughGroup, faultsFired, limitsPeak,
#                                limitsRefused, internalErrors, settings
#   GET  /_control/user?key=     by UPN or ID, all properties and groups, manager, assignedLicenses,
#        photo, revoked, passwords, deleted
#   GET  /_control/group?key=    by ID or name, with members
#   GET  /_control/secrets       { token, password, assertion: [...] }: everything that must be
#        found nowhere else
#   POST /_control               any of these orders in one object:
#     settings     lag {read, list, delta: ms, share: 0..1 of the requests that a late replica
#                  answers}; latencyMs;
#                  signIn "ok"|"noLicense"; signInPage; photoStatus 200|204; photoNeedsMailbox;
#                  revokeStatus 200|204;
#                  tokenSeconds (expires_in), tokenLives (how long it works, if different);
#                  clockAhead (seconds, Date header and
#                  assertions); deltaUsers, deltaMembers (items a delta page); deltaExpiry
#                  "resyncRequired" (410)|"syncStateNotFound" (400);
#                  deltaReplay (a later round begins with the last N changes of the one before);
#                  emptyEvery (every Nth page is empty);
#                  banPasswords (the next N are refused); privileged (may touch administrators)
#     faults       one rule or a list, see lib/Cloud/Faults.pm; answers their numbers.
#                  clearFaults  true or a number
#     limits       null off, {} the published ones, or changed, see lib/Cloud/Limits.pm
#     permissions  the list of granted ones; grant, revoke: one or a list                   secret
#                  another client secret
#     expireTokens, expireDeltaLinks, expirePages, release (what hangs or is held), resetCounters:
#                  true
#     record       FILE: append the traffic as JSON lines, without secrets; null ends it
#     bulk         {users, memberships, group}: once
#     create       {type, properties, members, memberOf, manager}, one or a list: as by another
#                  client, no rule is asked
#                  (so a name may also be there twice)
#     change       {key, properties}      remove  KEY (soft delete)      member  {group, object, in}
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../../lib";
use Cloud::Control;
use Cloud::Emulator;
use Cloud::Seed;
use Cloud::Server;
use Mojo::File qw(path);
use Mojo::JSON qw(decode_json);
use Storable ();

my $file = shift // die "usage: emulator.pl CONFIG.json\n";
my $config = decode_json(path($file)->slurp);
srand;
my $cloud = Cloud::Emulator->new(map { ($_ => $config->{$_}) } qw(tenant client secret certificates
    domains settings));
my $state = $config->{state};
if ($state && -e $state) { $cloud->take_up(Storable::retrieve($state)) }
elsif (($config->{seed} // '') eq 'standard') { Cloud::Seed::standard($cloud) }
Cloud::Control::bulk($cloud, $config->{bulk}) if $config->{bulk};
my @listen = ({ port => $config->{port} });
push @listen, { port => $config->{tlsPort}, cert => $config->{cert}, key => $config->{key} }
    if $config->{tlsPort};
Cloud::Server->new(cloud => $cloud, listen => \@listen)->run;
Storable::nstore($cloud->kept, $state) if $state;
