/* Owns when chains of audit records are verified and signed: new records every hour, all of them
 * once a day and when somebody asks. How is the store's. */
#include "worker/verify.h"

#include <apr_strings.h>

#include "core/store/chain_check.h"
#include "worker/checkpoint.h"

#define LOOK_MS 1000
#define SIGN_LOOK_MS 60000
#define EVERY_MS INT64_C(3600000)
#define FULL_EVERY_MS INT64_C(86400000)
#define AT_ONCE 20000 /* records a snapshot: no long one keeps the log of SQLite from shrinking */

static ida_kind walk(worker *w, store *main, ida_ctx *c, const char *tenant, store_chain_walk *to)
{
    ida_kind kind;
    do {
        kind = store_audit_walk(main, c, tenant, AT_ONCE, to);
    } while (!kind && to->more && !worker_stopping(w));
    return kind;
}

static void say(worker *w, const char *tenant, const store_chain_check *before,
                const store_chain_walk *now)
{
    if (now->broken && now->broken != before->broken_at) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0415",
                "the audit chain of tenant %s is broken at record %lld: %s Leave the machine as it "
                "is and find out who was there; see idadminctl audit verify %s",
                tenant, (long long)now->broken, now->reason, tenant);
    }
}

static ida_kind verify(hold_thread *t, ida_ctx *c, const char *tenant,
                       const store_chain_check *before)
{
    worker *w = t->w;
    int64_t begun = ida_now(c->env);
    int full = before->requested_at || begun - before->full_at >= FULL_EVERY_MS ||
               before->full_at - begun > STORE_CLOCKS_APART_MS;
    store_chain_walk to = {.to = full ? 0 : before->verified_to};
    apr_cpystrn(to.hash, full ? "" : before->hash, sizeof to.hash);
    ida_kind kind = walk(w, t->main, c, tenant, &to);
    if (kind || to.more) {
        return kind; /* not to its end: the next round begins where this one did */
    }
    say(w, tenant, before, &to);
    store_chain_check found = {.wished = before->wished,
                               .verified_to = to.to,
                               .hash = to.hash,
                               .verified_at = ida_now(c->env),
                               .full_at = full ? begun : before->full_at,
                               .broken_at = to.broken,
                               .reason = to.broken ? to.reason : NULL};
    return store_chain_check_done(t->audit, c, tenant, &found);
}

/* 1 when there was something to do. */
static int look(hold_thread *t)
{
    worker *w = t->w;
    store_chain_check seen;
    const char *tenant = NULL;
    int taken = 0;
    ida_ctx *c = worker_ctx(w, t->pool);
    ida_kind kind = store_chain_check_due(t->main, c, ida_now(c->env) - EVERY_MS, &tenant);
    if (kind || !tenant) {
        return 0;
    }
    kind = store_chain_check_get(t->main, c, tenant, &seen);
    kind = kind ? kind : store_chain_check_claim(t->audit, c, tenant, &seen, &taken);
    kind = kind || !taken ? kind : verify(t, c, tenant, &seen);
    if (kind && !worker_stopping(w)) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0416",
                "the audit chain of tenant %s could not be verified: %s", tenant,
                c->message ? c->message : ida_kind_text(kind));
    }
    return taken;
}

/* One of each chain with new records, every hour; what could not leave then is tried again. */
static void sign(hold_thread *t)
{
    worker *w = t->w;
    worker_config config;
    ida_ctx *c = worker_ctx(w, t->pool);
    worker_settings(w, t->pool, &config);
    static _Atomic int64_t said;
    ida_kind kind = checkpoint_make_all(t->audit, c, ida_now(&w->env) - EVERY_MS, &config);
    kind = kind ? kind : checkpoint_send(t->audit, c, &config);
    if (kind && kind != IDA_SERVICE_UNAVAILABLE && !worker_stopping(w) &&
        ida_say_now(&said, ida_monotonic(&w->env), EVERY_MS)) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0421",
                "checkpoints of the audit chains did not leave this machine, tried again every "
                "minute: %s",
                c->message ? c->message : ida_kind_text(kind));
    }
}

void verify_thread(hold_thread *t)
{
    int64_t signed_at = 0;
    while (!worker_stopping(t->w)) {
        if (!signed_at || ida_monotonic(&t->w->env) - signed_at >= SIGN_LOOK_MS) {
            signed_at = ida_monotonic(&t->w->env);
            sign(t);
            apr_pool_clear(t->pool);
        }
        int busy = look(t);
        apr_pool_clear(t->pool);
        if (!busy) {
            worker_nap(t->w, LOOK_MS);
        }
    }
}
