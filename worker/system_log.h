/* What of the audit goes to the system's log (syslog(3), facility authpriv), from where a log
 * server is told. */
#ifndef WORKER_SYSTEM_LOG_H
#define WORKER_SYSTEM_LOG_H

#include "core/store/store.h"
#include "worker/base/config.h"

/* 0, or errno: none listens, or it takes no line within a second. */
int system_log_silent(void);
int system_log_checkpoint(const char *line);

/* From now on a line for each record that is put into a chain over this handle, or none, as
 * configured. A crash between commit and line costs the lines of one transaction: the next numbers
 * show that they are missing. */
void system_log_follow(store *audit, const worker_config *config);

/* "idadmin audit record " and one JSON object, below 2,048 bytes. In `pool`. */
struct audit_row;
char *system_log_record(apr_pool_t *pool, const struct audit_row *row);

#endif
