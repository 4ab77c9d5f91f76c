/* Owns the form of the daemon's log lines. Knows nothing of what is logged. */
#include "worker/base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int log_limit = IDA_LOG_INFO;

static void write_line(void *baton, ida_level level, const char *id, const char *message)
{
    static const char *const names[] = {[IDA_LOG_ERROR] = "error",
                                        [IDA_LOG_WARN] = "warn",
                                        [IDA_LOG_INFO] = "info",
                                        [IDA_LOG_DEBUG] = "debug"};
    (void)baton;
    if ((int)level > atomic_load_explicit(&log_limit, memory_order_relaxed)) {
        return;
    }
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    char line[2304];
    int len = snprintf(line, sizeof line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s %s%s",
                       parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                       parts.tm_min, parts.tm_sec, now.tv_nsec / 1000000, names[level],
                       id ? id : "", id ? " " : "");
    int used = snprintf(line + len, sizeof line - (size_t)len - 1, "%s", message);
    size_t end = (size_t)len + (size_t)used;
    if (end > sizeof line - 2) {
        end = sizeof line - 2;
    }
    line[end] = '\0';
    ida_log_disarm(line);
    line[end++] = '\n';
    if (write(STDERR_FILENO, line, end) < 0) {
        return; /* there is no other place to report it */
    }
}

void worker_log_limit(ida_level limit)
{
    atomic_store_explicit(&log_limit, (int)limit, memory_order_relaxed);
}

void worker_log_install(ida_env *env, ida_level limit)
{
    worker_log_limit(limit);
    env->log = write_line;
    env->baton = NULL;
}
