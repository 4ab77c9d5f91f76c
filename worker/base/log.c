/* Owns the form of the daemon's log lines. Knows nothing of what is logged. */
#include "worker/base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/json.h"

#define LINE_MAX_BYTES 2304

static atomic_int log_limit = IDA_LOG_INFO, as_json;
static int to_journal; /* set once, before threads start */

static const struct {
    const char *name;
    int priority; /* of syslog(3) */
} levels[] = {[IDA_LOG_ERROR] = {"error", 3},
              [IDA_LOG_WARN] = {"warn", 4},
              [IDA_LOG_INFO] = {"info", 6},
              [IDA_LOG_DEBUG] = {"debug", 7}};

/* $JOURNAL_STREAM is "device:inode" of the stream that systemd has connected; a child whose
 * standard error goes elsewhere has inherited it. */
static int is_journal(void)
{
    const char *text = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;
    return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

static void put_line(ida_level level, const char *text)
{
    char line[LINE_MAX_BYTES];
    int len = 0;
    if (to_journal) {
        len = snprintf(line, sizeof line, "<%d>", levels[level].priority);
    }
    int used = snprintf(line + len, sizeof line - (size_t)len - 1, "%s", text);
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

/* Too long for a line: the message is cut, so that the object stays whole. */
static void put_json(ida_level level, const char *time, const char *id, const char *message)
{
    size_t most = LINE_MAX_BYTES / 2;
    json_t *object = json_object();
    ida_json_put(object, "time", time);
    ida_json_put(object, "level", levels[level].name);
    if (id) {
        ida_json_put(object, "id", id);
    }
    char *text = NULL;
    do {
        char cut[LINE_MAX_BYTES / 2 + 1];
        snprintf(cut, most + 1, "%s", message);
        ida_json_put(object, "message", cut);
        free(text);
        text = json_dumps(object, JSON_COMPACT);
        most /= 2;
    } while (text && strlen(text) > LINE_MAX_BYTES - 8 && most);
    if (text) {
        put_line(level, text);
    }
    free(text);
    json_decref(object);
}

static void write_line(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton;
    if ((int)level > atomic_load_explicit(&log_limit, memory_order_relaxed)) {
        return;
    }
    struct timespec now;
    struct tm parts;
    char time[112], line[LINE_MAX_BYTES];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    snprintf(time, sizeof time, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", parts.tm_year + 1900,
             parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
             now.tv_nsec / 1000000);
    if (atomic_load_explicit(&as_json, memory_order_relaxed)) {
        put_json(level, time, id, message);
        return;
    }
    snprintf(line, sizeof line, "%s %s %s%s%s", time, levels[level].name, id ? id : "",
             id ? " " : "", message);
    put_line(level, line);
}

void worker_log_json(int on)
{
    atomic_store_explicit(&as_json, on, memory_order_relaxed);
}

void worker_log_limit(ida_level limit)
{
    atomic_store_explicit(&log_limit, (int)limit, memory_order_relaxed);
}

void worker_log_install(ida_env *env, ida_level limit)
{
    worker_log_limit(limit);
    to_journal = is_journal();
    env->log = write_line;
    env->baton = NULL;
}
