/* Owns when a directory is checked at an administrator's request. The checks are in check.c. */
#include "worker/housekeep.h"

#include "core/base/json.h"
#include "core/store/directory.h"
#include "worker/check.h"
#include "worker/hold/idle.h"

#define LOOK_MS 1000

/* 1 when there was something to do. */
static int look(worker *w, store *main, apr_pool_t *pool)
{
    store_check check;
    ida_ctx *c = worker_ctx(w, pool);
    if (hold_idle_reason(w) || store_check_claim(main, c, w->id, &check)) {
        return 0;
    }
    ida_log(&w->env, IDA_LOG_INFO, NULL, "tenant %s, directory %s is checked on request",
            check.tenant, ida_directory_name(check.directory));
    const json_t *lines = check_report(w, main, pool, check.tenant, check.directory);
    if (store_check_done(main, c, &check, ida_json_text(pool, lines))) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0417",
                "the report on tenant %s, directory %s cannot be kept: %s", check.tenant,
                ida_directory_name(check.directory), c->message ? c->message : "");
    }
    return 1;
}

void doctor_thread(hold_thread *t)
{
    while (!worker_stopping(t->w)) {
        int busy = look(t->w, t->main, t->pool);
        apr_pool_clear(t->pool);
        if (!busy) {
            worker_nap(t->w, LOOK_MS);
        }
    }
}
