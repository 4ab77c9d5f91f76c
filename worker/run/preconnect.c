/* Owns what is made ready before the due instant: connection, TLS and bind take longer than a step.
 * Knows no task's meaning. */
#include "worker/run/preconnect.h"

#include "core/queue/claim.h"
#include "core/store/directory.h"
#include "worker/hold/rules.h"
#include "worker/hold/slot.h"

static void open_one(runner *rn, apr_pool_t *pool, const queue_due_soon *soon)
{
    worker *w = rn->w;
    store_directory state;
    session *s;
    directory_user user;
    directory_error e = {.class = DIRECTORY_OK};
    hold_known known = {.begun = ida_now(&w->env)};
    if (store_directory_get(rn->main, worker_ctx(w, pool), soon->tenant, soon->directory, &state) ||
        state.hold_reason) {
        return; /* a held directory is probed by one task at a time */
    }
    directory_class class = run_session_get(&rn->sessions, rn->main, pool, soon->tenant,
                                            soon->directory, &s, &e);
    if (class == DIRECTORY_OK) {
        hold_call_begins(w, rn->slot, soon->tenant, soon->directory);
        class = s->dir ? DIRECTORY_OK : run_session_renew(&rn->sessions, s, &e);
        class = class == DIRECTORY_OK ? s->ops->find(s->dir, pool, NULL, soon->upn, &user, &e)
                                      : class;
        hold_call_ends(w, rn->slot);
    }
    if (hold_alarms(class)) {
        e.class = class;
        hold_put(w, rn->main, pool, soon->tenant, soon->directory, known, &e);
    }
}

int run_preconnect(runner *rn, apr_pool_t *pool, int64_t until)
{
    const queue_due_soon *soon;
    int count = 0, ready = 0;
    if (queue_soon(rn->main, worker_ctx(rn->w, pool), ida_now(&rn->w->env), until, &soon, &count)) {
        return 0;
    }
    for (int i = 0; i < count && !worker_stopping(rn->w); i++) {
        if (soon[i].tasks > rn->slot && rn->slot < rn->w->config.threads) {
            hold_run_begins(rn->w, rn->slot, soon[i].tenant, soon[i].directory, "");
            open_one(rn, pool, &soon[i]);
            hold_run_ends(rn->w, rn->slot);
            ready = 1;
        }
    }
    return ready;
}
