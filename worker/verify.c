/* Owns when chains of audit records are verified and signed: new records every hour, all of them
 * once a day and on request; and the anchor of this machine, which follows the verified end. The
 * store verifies the chain. */
#include "worker/housekeep.h"

#include <apr_strings.h>

#include "core/queue/verify.h"
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

static void say_strays(worker *w, const char *tenant, const queue_verify *found)
{
    for (int i = 0; i < found->strays->nelts; i++) {
        const queue_stray *stray = &((const queue_stray *)found->strays->elts)[i];
        const char *of = tenant ? tenant : stray->name;
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0423",
                "tenant %s: the %s %s: %s; see idadminctl audit verify %s", of, stray->what,
                stray->name, stray->how, of);
    }
}

/* A company whose row is gone is not verified any more. */
static void look_for_companies(hold_thread *t)
{
    ida_ctx *c = worker_ctx(t->w, t->pool);
    store_chain_walk none = {.to = 0};
    queue_verify *found = queue_verify_make(c, &none);
    if (!queue_verify_companies(t->main, c, found)) {
        say_strays(t->w, NULL, found);
    }
}

/* After a walk from the beginning that found the chain whole. */
static ida_kind look_for_strays(hold_thread *t, ida_ctx *c, const char *tenant, queue_verify *found,
                                store_chain_walk *whole, store_chain_check *out)
{
    ida_kind kind = queue_verify_rows(t->main, c, tenant, found, whole);
    if (kind) {
        return kind;
    }
    say_strays(t->w, tenant, found);
    const queue_stray *first = (const queue_stray *)found->strays->elts;
    out->strays = found->strays->nelts;
    out->stray = out->strays
                     ? ida_printf(c->pool, "%s %s: %s", first->what, first->name, first->how)
                     : NULL;
    return IDA_OK;
}

/* Moves the anchor: later chains are compared with what was verified now. If an administrator
 * accepted the chain meanwhile, that anchor stays, and the check that follows uses it. */
static void hold_fast(worker *w, const char *tenant, const audit_anchor *from,
                      const store_chain_walk *found, apr_pool_t *pool)
{
    const audit_anchor to = {found->to, found->foot, found->hash};
    ida_ctx *c = worker_ctx(w, pool);
    int moved;
    if (audit_anchor_move(c, w->config.audit_key, tenant, from, &to, &moved)) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0424",
                "how far the audit chain of tenant %s was verified cannot be kept: %s", tenant,
                c->message);
    }
}

static ida_kind verify(hold_thread *t, ida_ctx *c, const char *tenant,
                       const store_chain_check *before)
{
    worker *w = t->w;
    int64_t begun = ida_now(c->env);
    const audit_anchor *anchor;
    int there;
    ida_kind kind = audit_anchor_read(c, w->config.audit_key, tenant, &anchor, &there);
    if (kind) {
        return kind;
    }
    if (!there) {
        ida_log(&w->env, IDA_LOG_INFO, NULL,
                "there is no anchor of the audit chains (%s.heads): it is made, and the chains "
                "count as they are",
                w->config.audit_key);
    }
    int full = !anchor || before->requested_at || begun - before->full_at >= FULL_EVERY_MS ||
               before->full_at - begun > STORE_CLOCKS_APART_MS;
    store_chain_walk to = {.to = full ? 0 : anchor->number, .anchor = anchor};
    apr_cpystrn(to.hash, full ? "" : anchor->hash, sizeof to.hash);
    queue_verify *rows = full ? queue_verify_make(c, &to) : NULL;
    kind = walk(w, t->main, c, tenant, &to);
    if (kind || to.more) {
        return kind; /* not to its end: the next round begins where this one did */
    }
    store_chain_check found = {.wished = before->wished,
                               .verified_to = to.to,
                               .hash = to.hash,
                               .full_at = full ? begun : before->full_at,
                               .strays = -1};
    if (!to.broken && rows) {
        kind = look_for_strays(t, c, tenant, rows, &to, &found);
        found.verified_to = to.to;
    }
    if (!kind && !to.broken) {
        hold_fast(w, tenant, anchor, &to, c->pool);
    }
    say(w, tenant, before, &to);
    found.broken_at = to.broken;
    found.reason = to.broken ? to.reason : NULL;
    found.verified_at = ida_now(c->env);
    return kind ? kind : store_chain_check_done(t->audit, c, tenant, &found);
}

/* 1 when there was something to do. */
static int look(hold_thread *t)
{
    worker *w = t->w;
    store_chain_check seen;
    const char *tenant = NULL;
    int taken = 0, waits;
    ida_ctx *c = worker_ctx(w, t->pool);
    ida_kind kind = store_chain_check_due(t->main, c, ida_now(c->env) - EVERY_MS, &tenant);
    if (kind || !tenant) {
        return 0;
    }
    /* An acceptance that waits to be chained would be judged without it. */
    kind = queue_verify_waits(t->main, c, tenant, "audit.accept", &waits);
    if (kind || waits) {
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
    int64_t signed_at = 0, named_at = 0;
    while (!worker_stopping(t->w)) {
        if (!named_at || ida_monotonic(&t->w->env) - named_at >= EVERY_MS) {
            named_at = ida_monotonic(&t->w->env);
            look_for_companies(t);
        }
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
