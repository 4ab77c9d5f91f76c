/* The part of the doctor's report that is asked in Active Directory's own words. */
#ifndef WORKER_LDAP_PROBE_H
#define WORKER_LDAP_PROBE_H

#include "worker/directory/report.h"
#include "worker/ldap/session.h"

#define CLOCK_TOLERANCE_MS 60000 /* Kerberos takes five minutes; due times want less */

/* How far the server's clock is ahead of ours, ms; so much behind is no fault. `behind`: the words
 * for that. */
void ld_probe_clock(ld_call *k, report *r, int64_t ahead, int64_t behind_max, const char *behind);

/* Rights in the container of new accounts, on people and on groups; DirSync and deletions; password
 * policy; clock. */
void ld_probe_active_directory(ld_call *k, report *report);

#endif
