/* Owns why this worker takes no work: its seal key is not the store's, or the store has another
 * schema than it knows. Must not know tenants: unsealed documents are refused by
 * worker/run/session.c. */
#include "worker/hold/idle.h"

#include <openssl/crypto.h>
#include <string.h>

#include "core/tenant/tenant.h"

const char *hold_idle_reason(const worker *w)
{
    return atomic_load(&w->strange_schema) ? "the store's schema is of another version than this "
                                             "worker: it takes no work"
           : atomic_load(&w->strange_key)  ? "its seal key is not the one that tenant documents "
                                             "are sealed with: it takes no work"
                                           : NULL;
}

/* Connections that were open when the schema was upgraded still serve. */
static void look_at_schema(worker *w, store *main, ida_ctx *c)
{
    int64_t number;
    if (store_schema_number(main, c, &number)) {
        return;
    }
    int strange = number != store_schema_version_of(main);
    if (atomic_exchange(&w->strange_schema, strange) == strange) {
        return;
    }
    if (strange) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0303",
                "the store's schema is number %lld now and this worker knows %lld: it takes no "
                "work and ends what it has in hand. Restart it in the version of the store",
                (long long)number, (long long)store_schema_version_of(main));
    } else {
        ida_log(&w->env, IDA_LOG_INFO, NULL, "the store's schema is this worker's again");
    }
}

static void look_at_key(worker *w, store *main, apr_pool_t *pool)
{
    worker_config config;
    unsigned char key[IDA_SEAL_KEY_LEN];
    const char *sealed_by = NULL;
    ida_ctx *c = worker_ctx(w, pool);
    worker_settings(w, pool, &config);
    ida_kind kind = store_setting_get(main, c, IDA_SEAL_KEY_SETTING, &sealed_by);
    if (kind && kind != IDA_NOT_FOUND) {
        return; /* the store is unreachable: the last result stays valid */
    }
    int readable = !ida_seal_key_read(worker_ctx(w, pool), config.seal_key, key);
    int strange = !kind && (!readable || strcmp(ida_seal_key_name(pool, key), sealed_by) != 0);
    OPENSSL_cleanse(key, sizeof key);
    if (atomic_exchange(&w->strange_key, strange) == strange) {
        return;
    }
    if (strange) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0302",
                "the seal key %s of this worker %s: it takes no work, other workers go on. Put the "
                "store's seal key there; do not seal anew with this one",
                config.seal_key,
                readable ? "is not the one that tenant documents are sealed with"
                         : "cannot be read");
    } else {
        ida_log(&w->env, IDA_LOG_INFO, NULL, "the seal key is the store's: this worker takes work");
    }
}

void hold_idle_look(worker *w, store *main, apr_pool_t *pool)
{
    look_at_schema(w, main, worker_ctx(w, pool));
    look_at_key(w, main, pool);
}
