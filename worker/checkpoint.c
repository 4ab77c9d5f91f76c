/* Owns how checkpoints leave the machine. Must not know the content of a checkpoint. */
#include "worker/checkpoint.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "core/store/checkpoint.h"
#include "worker/system_log.h"

#define SAY_MS 3600000

static ida_kind make_due(store *audit, ida_ctx *c, const char *tenant, int64_t before,
                         const worker_config *config)
{
    int made;
    const audit_checkpoint *newest;
    ida_kind kind = store_checkpoint_newest(audit, c, tenant, &newest);
    return kind || (newest && newest->at > before)
               ? kind
               : store_checkpoint_make(audit, c, tenant, config->audit_signing_key, &made);
}

ida_kind checkpoint_make_all(store *audit, ida_ctx *c, int64_t before, const worker_config *config)
{
    static _Atomic int64_t said;
    const char *tenant = "";
    ida_kind kind = IDA_OK;
    while (!(kind = store_chain_next(audit, c, tenant, &tenant)) && tenant) {
        ida_ctx *own = ida_ctx_make(c->env, c->pool);
        kind = make_due(audit, own, tenant, before, config);
        if (kind == IDA_SERVICE_UNAVAILABLE) {
            return kind; /* concerns all tenants, and is logged elsewhere */
        }
        if (kind && ida_say_now(&said, ida_monotonic(c->env), SAY_MS)) {
            ida_log(c->env, IDA_LOG_ERROR, "IDA0420",
                    "no checkpoint of the audit chain of tenant %s: %s", tenant,
                    own->message ? own->message : ida_kind_text(own->kind));
        }
    }
    return kind;
}

/* Whole lines, on the disk when it answers. 0 or errno. */
static int append(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        return errno;
    }
    struct stat st;
    int error = fstat(fd, &st) ? errno : 0;
    ssize_t written = error ? 0 : write(fd, text, len);
    if (!error && (size_t)written != len) {
        error = written < 0 ? errno : ENOSPC;
        error = ftruncate(fd, st.st_size) ? errno : error; /* no half line stays */
    }
    error = error ? error : fsync(fd) ? errno : 0;
    close(fd);
    return error;
}

/* The file comes last, because a repetition must not append the line again; in the log it may stand
 * twice. `log`: the system's log is one of the destinations. */
static ida_kind send_one(ida_ctx *c, const worker_config *config, int log,
                         const audit_checkpoint *p)
{
    const char *line = audit_checkpoint_line(c->pool, p), *where = _PATH_LOG;
    int error = log ? system_log_checkpoint(line) : 0;
    if (!error && config->audit_checkpoints) {
        const char *text = apr_pstrcat(c->pool, line, "\n", NULL);
        where = config->audit_checkpoints;
        error = append(where, text, strlen(text));
    }
    return error ? ida_fail(c, IDA_INTERNAL_ERROR, "%s: %s", where, strerror(error)) : IDA_OK;
}

ida_kind checkpoint_send(store *audit, ida_ctx *c, const worker_config *config)
{
    const audit_checkpoint *list;
    int count = 0, log = config->audit_syslog != WORKER_SYSLOG_OFF;
    ida_kind kind = IDA_OK;
    if (config->audit_syslog == WORKER_SYSLOG_WHERE_HEARD) { /* containers often have none */
        log = !system_log_silent();
    }
    if (!config->audit_checkpoints && !log) {
        return IDA_OK; /* nowhere to go: they wait for the day that names a place */
    }
    do {
        kind = store_checkpoint_unsent(audit, c, &list, &count);
        for (int i = 0; !kind && i < count; i++) {
            kind = send_one(c, config, log, &list[i]);
            kind = kind ? kind : store_checkpoint_sent(audit, c, &list[i]);
        }
    } while (!kind && count);
    return kind;
}
