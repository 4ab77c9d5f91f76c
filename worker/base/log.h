/* Log lines on standard error for the daemon and the administration command. */
#ifndef WORKER_BASE_LOG_H
#define WORKER_BASE_LOG_H

#include "core/base/context.h"

/* Installs the daemon's log in `env`: "2026-11-21T09:30:00.123Z warn IDA0150 message", one write(2)
 * a line; `limit` may change while threads run. Where standard error is the journal, each line
 * begins with its priority, "<4>" for a warning, which journald takes off. */
void worker_log_install(ida_env *env, ida_level limit);
void worker_log_limit(ida_level limit);
/* 1: each line is one JSON object {time, level, id, message} from now on. */
void worker_log_json(int on);

#endif
