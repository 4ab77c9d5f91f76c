/* Audit records to a log server, those of a tenant in the order of its chain. */
#ifndef WORKER_SIEM_H
#define WORKER_SIEM_H

#include "core/store/audit.h"
#include "worker/hold/threads.h"

/* Why nothing could be sent as it is configured (in `pool`), or NULL. */
const char *siem_fault(apr_pool_t *pool, const worker_config *config);

/* The body of the thread that sends each record within a second or two of its place in the chain.
 * What was sent and not noted yet when it died is sent again. */
void siem_thread(hold_thread *t);

/* --- worker/siem_line.c --- */

/* The record as a line of RFC 5424. `key`: a keyed hash stands for people; NULL: their names, with
 * what else may tell of them. */
char *siem_line(apr_pool_t *pool, const char *host, const audit_secret *key, const audit_row *row);

#endif
