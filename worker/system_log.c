/* Owns how checkpoints and records of the audit look in the system's log. Must not know when there
 * are any. */
#include "worker/system_log.h"

#include <errno.h>
#include <paths.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "core/audit/audit.h"
#include "core/audit/checkpoint.h"
#include "core/base/json.h"
#include "core/base/text.h"

#define TEXT_MAX 150 /* bytes of a record's text: all of them, escaped, stay below 2,048 */
#define SAY_MS 60000
#define WAIT_MS 1000 /* for a log whose queue is full */

/* A socket at the system's log, or -1 with errno. */
static int open_log(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* 0 or errno. As syslog() writes a line, but that reports no failure, and waits without end for a
 * log that stands still. */
static int send_line(int fd, int priority, const char *text)
{
    char line[4096], when[32] = "";
    time_t now = time(NULL);
    struct tm local;
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    strftime(when, sizeof when, "%b %e %T", localtime_r(&now, &local));
    int len = snprintf(line, sizeof line, "<%d>%s %s: %s", LOG_AUTHPRIV | priority, when,
                       program_invocation_short_name, text);
    if (len >= (int)sizeof line) {
        return EMSGSIZE;
    }
    if (poll(&out, 1, WAIT_MS) == 0) {
        return ETIMEDOUT;
    }
    return send(fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

int system_log_silent(void)
{
    int fd = open_log();
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}

int system_log_checkpoint(const char *line)
{
    int fd = open_log();
    if (fd < 0) {
        return errno;
    }
    char text[AUDIT_LINE_MAX + 64];
    snprintf(text, sizeof text, "idadmin audit checkpoint %s", line);
    int error = send_line(fd, LOG_NOTICE, text);
    close(fd);
    return error;
}

/* What could hold more of a person than who did what to whom (arguments, details, addresses) stays
 * in the chain. */
char *system_log_record(apr_pool_t *pool, const audit_row *row)
{
    const audit_record *r = &row->record;
    const struct {
        const char *name, *value;
    } texts[] = {
        {"companyId", r->tenant},  {"hash", row->hash},
        {"category", r->category}, {"actor", r->actor},
        {"action", r->action},     {"target", r->target},
        {"outcome", r->outcome},   {"correlationId", r->correlation},
    };
    json_t *out = ida_json_keep(pool, json_pack("{s:I}", "number", (json_int_t)row->seq));
    ida_json_put_time(out, "at", r->at);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *value = texts[i].value;
        ida_json_put(out, texts[i].name,
                     value ? ida_clean(pool, value, strlen(value), TEXT_MAX) : NULL);
    }
    return ida_printf(pool, "idadmin audit record %s", ida_json_text(pool, out));
}

static int severity_of(const audit_record *r)
{
    int good = strcmp(r->outcome, "ok") == 0 ? LOG_NOTICE : LOG_WARNING;
    return strcmp(r->category, AUDIT_ALARM) == 0 ? LOG_ALERT : good;
}

static void tell(ida_ctx *c, const apr_array_header_t *rows)
{
    static _Atomic int64_t said;
    int fd = open_log(), error = fd < 0 ? errno : 0, i = 0;
    for (; !error && i < rows->nelts; i++) {
        const audit_row *row = &APR_ARRAY_IDX(rows, i, audit_row);
        error = send_line(fd, severity_of(&row->record), system_log_record(c->pool, row));
        i -= error != 0;
    }
    if (error && ida_say_now(&said, ida_monotonic(c->env), SAY_MS)) {
        ida_log(c->env, IDA_LOG_ERROR, "IDA0425",
                "audit records get no line in the system's log (audit_syslog = records), they are "
                "in the chain alone, from number %lld of %s on: " _PATH_LOG ": %s",
                (long long)APR_ARRAY_IDX(rows, i, audit_row).seq,
                APR_ARRAY_IDX(rows, i, audit_row).record.tenant, strerror(error));
    }
    if (fd >= 0) {
        close(fd);
    }
}

void system_log_follow(store *audit, const worker_config *config)
{
    audit->chained = config->audit_syslog == WORKER_SYSLOG_RECORDS ? tell : NULL;
}
