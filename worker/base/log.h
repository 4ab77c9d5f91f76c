/* Log lines on standard error for the daemon and the administration command. */
#ifndef WORKER_BASE_LOG_H
#define WORKER_BASE_LOG_H

#include "core/base/context.h"

/* Installs the daemon's log in `env`: "2026-11-21T09:30:00.123Z warn IDA0150 message", one write(2)
 * a line; `limit` may change while threads run. */
void worker_log_install(ida_env *env, ida_level limit);
void worker_log_limit(ida_level limit);

#endif
