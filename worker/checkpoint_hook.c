/* Owns when checkpoints are sent to the webhook and what a refusal means. Must not know the
 * content of a checkpoint or how a call is signed. */
#include "worker/checkpoint_hook.h"

#include <string.h>

#include "core/store/checkpoint.h"
#include "worker/hold/rules.h"
#include "worker/send/webhook.h"

#define LOOK_MS 1000
#define SAID_AFTER 3 /* successive calls that failed before it is logged */
#define SAY_MS INT64_C(3600000)

typedef struct hook {
    worker *w;
    int64_t failures; /* calls in a row that were not taken */
    int64_t next_at;  /* monotonic ms, not before */
    _Atomic int64_t said;
} hook;

static webhook_call call_of(const worker_config *config)
{
    /* The administrator of this machine names the receiver: one inside the house is meant. */
    return (webhook_call){.url = config->audit_webhook,
                          .secret_file = config->audit_webhook_secret_file,
                          .secret_name = "audit_webhook_secret_file",
                          .ca_file = config->audit_webhook_ca_file,
                          .allow_private = 1};
}

const char *checkpoint_hook_fault(apr_pool_t *pool, const worker_config *config)
{
    const webhook_call call = call_of(config);
    if (!call.url) {
        return call.secret_file || call.ca_file
                   ? "audit_webhook_secret_file and audit_webhook_ca_file are of audit_webhook, "
                     "which is not set"
                   : NULL;
    }
    return call.secret_file ? webhook_secret_fault(pool, &call)
                            : "audit_webhook needs audit_webhook_secret_file: the receiver must be "
                              "able to tell who calls";
}

static void took(hook *h)
{
    if (h->failures >= SAID_AFTER) {
        ida_log(&h->w->env, IDA_LOG_INFO, NULL, "the receiver of checkpoints takes them again");
    }
    h->failures = 0;
    atomic_store(&h->said, 0);
}

/* The part after "?" may be a secret of the receiver. */
static void took_not(hook *h, const webhook_call *call, int retry_after, const char *detail)
{
    uint32_t random;
    int64_t now = ida_monotonic(&h->w->env);
    ida_random(&h->w->env, &random, sizeof random);
    int64_t wait = hold_backoff_ms(h->failures++, random);
    h->next_at = now + (wait > retry_after ? wait : retry_after);
    if (h->failures >= SAID_AFTER && ida_say_now(&h->said, now, SAY_MS)) {
        ida_log(&h->w->env, IDA_LOG_ERROR, "IDA0422",
                "the receiver %.*s does not take checkpoints of the audit chains, they wait in "
                "order and are tried again: %s",
                (int)strcspn(call->url, "?"), call->url, detail);
    }
}

/* IDA_NOT_FOUND: nothing more for now. */
static ida_kind tell(hook *h, ida_ctx *c, store *audit, webhook_call *call,
                     const audit_checkpoint *p)
{
    int retry_after;
    const char *detail;
    call->body = audit_checkpoint_line(c->pool, p);
    call->id = audit_checkpoint_digest(c->pool, p);
    if (webhook_send(&h->w->env, c->pool, call, &retry_after, &detail) != WEBHOOK_TAKEN) {
        took_not(h, call, retry_after, detail);
        return IDA_NOT_FOUND;
    }
    took(h);
    return store_checkpoint_told(audit, c, p);
}

/* As many as a page has; IDA_OK: there may be more. */
static ida_kind tell_page(hook *h, store *audit, apr_pool_t *pool)
{
    const audit_checkpoint *list;
    int count = 0;
    worker_config config;
    worker_settings(h->w, pool, &config);
    webhook_call call = call_of(&config);
    if (!call.url || ida_monotonic(&h->w->env) < h->next_at) {
        return IDA_NOT_FOUND;
    }
    ida_kind kind = store_checkpoint_untold(audit, worker_ctx(h->w, pool), &list, &count);
    apr_pool_t *each;
    apr_pool_create(&each, pool);
    for (int i = 0; !kind && i < count && !worker_stopping(h->w); i++) {
        kind = tell(h, worker_ctx(h->w, each), audit, &call, &list[i]);
        apr_pool_clear(each);
    }
    return kind || count ? kind : IDA_NOT_FOUND;
}

void checkpoint_hook_thread(hold_thread *t)
{
    hook h = {.w = t->w};
    while (!worker_stopping(t->w)) {
        ida_kind kind = tell_page(&h, t->audit, t->pool);
        apr_pool_clear(t->pool);
        if (kind) {
            worker_nap(t->w, LOOK_MS);
        }
    }
}
