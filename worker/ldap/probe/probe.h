/* The part of the doctor's report that is specific to Active Directory. */
#ifndef WORKER_LDAP_PROBE_PROBE_H
#define WORKER_LDAP_PROBE_PROBE_H

#include "worker/directory/report.h"
#include "worker/ldap/wire/session.h"

/* Contract: worker/directory/directory.h. */
DIRECTORY_FUNCTION(probe) ld_probe;

#define CLOCK_TOLERANCE_MS 60000 /* Kerberos takes five minutes; due times want less */

/* Judges how far the server's clock is ahead of ours, ms. Up to `behind_max` behind is no fault;
 * `behind` is the text for more. */
void ld_probe_clock(ld_call *k, report *r, int64_t ahead, int64_t behind_max, const char *behind);

/* Rights in the container of new accounts, on people and on groups; DirSync and deletions; password
 * policy; clock. */
void ld_probe_active_directory(ld_call *k, report *report);

/* What expires: the certificate of a server, as a connection of ours to it has seen it, ours, and
 * the bind password. */
void ld_probe_server_certificate(ld_call *k, report *r, const directory *connected);
void ld_probe_own_certificate(ld_call *k, report *r);
void ld_probe_own_password(ld_call *k, report *r);

#endif
