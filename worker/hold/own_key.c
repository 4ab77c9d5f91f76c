/* Owns the comparison of this worker's seal key with the store's. Must not know tenants:
 * unsealed documents are refused by worker/run/session.c. */
#include "worker/hold/own_key.h"

#include <openssl/crypto.h>
#include <string.h>

#include "core/tenant/tenant.h"

static const char fault[] = "its seal key is not the one that tenant documents are sealed with: it "
                            "takes no work";

const char *hold_own_key_fault(const worker *w)
{
    return atomic_load(&w->strange_key) ? fault : NULL;
}

void hold_own_key_look(worker *w, store *main, apr_pool_t *pool)
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
