/* Owns the warning of API keys that end soon. Must not know what a key may do. */
#include "worker/housekeep.h"

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/store/key.h"
#include "core/store/tenant.h"

static void say(worker *w, const char *tenant, const store_key_ending *key, apr_pool_t *pool)
{
    ida_log(&w->env, IDA_LOG_WARN, "IDA0604",
            "the API key of %s in tenant %s ends at %s, in %s: make its successor "
            "(idadminctl key create, or Rotate in the console) and move the caller over before "
            "then",
            key->username, tenant, ida_utc_text(pool, key->expires_at),
            ida_count(pool, (key->expires_at - ida_now(&w->env)) / 86400000, "day", "days"));
}

void expiry_say(worker *w, store *main, apr_pool_t *pool)
{
    const store_tenant_id *ids;
    int tenants = 0;
    ida_ctx *c = worker_ctx(w, pool);
    int64_t now = ida_now(c->env);
    ida_kind kind = store_tenant_ids(main, c, &ids, &tenants);
    for (int i = 0; !kind && i < tenants; i++) {
        const store_key_ending *keys;
        int count = 0;
        kind = store_keys_ending(main, c, ids[i].id, now, now + IDA_ENDS_SOON_MS, &keys, &count);
        for (int k = 0; k < count; k++) {
            say(w, ids[i].id, &keys[k], pool);
        }
    }
    if (kind) {
        ida_log(&w->env, IDA_LOG_DEBUG, NULL, "keys that end could not be looked at: %s",
                c->message ? c->message : "");
    }
}
