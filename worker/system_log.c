/* Owns how checkpoints and records of the audit look in the system's log. Must not know when there
 * are any. */
#include "worker/system_log.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "core/audit/audit.h"
#include "core/base/json.h"
#include "core/base/text.h"

#define TEXT_MAX 150 /* bytes of a record's text: all of them, escaped, stay below 2,048 */
#define SAY_MS 60000

int system_log_silent(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

void system_log_checkpoint(const char *line)
{
    syslog(LOG_AUTHPRIV | LOG_NOTICE, "idadmin audit checkpoint %s", line);
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
    int error = system_log_silent();
    if (error && ida_say_now(&said, ida_monotonic(c->env), SAY_MS)) {
        ida_log(c->env, IDA_LOG_ERROR, "IDA0425",
                "audit records get no line in the system's log (audit_syslog = records), they are "
                "in the chain alone, from number %lld of %s on: " _PATH_LOG ": %s",
                (long long)APR_ARRAY_IDX(rows, 0, audit_row).seq,
                APR_ARRAY_IDX(rows, 0, audit_row).record.tenant, strerror(error));
    }
    for (int i = 0; !error && i < rows->nelts; i++) {
        const audit_row *row = &APR_ARRAY_IDX(rows, i, audit_row);
        syslog(LOG_AUTHPRIV | severity_of(&row->record), "%s", system_log_record(c->pool, row));
    }
}

void system_log_follow(store *audit, const worker_config *config)
{
    audit->chained = config->audit_syslog == WORKER_SYSLOG_RECORDS ? tell : NULL;
}
