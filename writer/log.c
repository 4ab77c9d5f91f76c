/* Owns the writer's lines in httpd's error log, in httpd's form. Must not know what is logged. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "writer/writer.h"

static const char *const names[] = {[IDA_LOG_ERROR] = "error",
                                    [IDA_LOG_WARN] = "warn",
                                    [IDA_LOG_INFO] = "info",
                                    [IDA_LOG_DEBUG] = "debug"};
static ida_level limit = IDA_LOG_WARN; /* set once, before threads start */

static void write_line(void *baton, ida_level level, const char *id, const char *message)
{
    char when[32], line[2304];
    struct timespec now;
    struct tm parts;
    (void)baton;
    if (level > limit) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &parts);
    strftime(when, sizeof when, "%a %b %d %H:%M:%S", &parts);
    int len = snprintf(line, sizeof line - 1, "[%s.%06ld %d] [idadmin:%s] [pid %ld] %s%s%s", when,
                       now.tv_nsec / 1000, parts.tm_year + 1900, names[level], (long)getpid(),
                       id ? id : "", id ? ": " : "", message);
    size_t end = (size_t)len < sizeof line - 2 ? (size_t)len : sizeof line - 2;
    line[end] = '\0';
    ida_log_disarm(line);
    line[end++] = '\n';
    if (write(STDERR_FILENO, line, end) < 0) {
        return; /* nowhere left to say it */
    }
}

void writer_log_install(ida_env *env, const char *level)
{
    for (int i = IDA_LOG_ERROR; level && i <= IDA_LOG_DEBUG; i++) {
        limit = strcmp(level, names[i]) == 0 ? (ida_level)i : limit;
    }
    env->log = write_line;
    env->baton = NULL;
}
