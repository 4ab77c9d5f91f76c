/* The part of the doctor's report that is asked in Active Directory's own words. */
#ifndef WORKER_LDAP_PROBE_H
#define WORKER_LDAP_PROBE_H

#include "worker/directory/report.h"
#include "worker/ldap/session.h"

/* Rights in the container of new accounts, on people and on groups; DirSync and deletions; password
 * policy; clock. */
void ld_probe_active_directory(ld_call *k, report *report);

#endif
