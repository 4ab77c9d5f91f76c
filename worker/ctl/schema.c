/* idadminctl schema: the store's tables and the secrets that live beside it. */
#include <openssl/crypto.h>

#include "core/tenant.h"
#include "worker/ctl/ctl.h"

static int upgrade(ctl_call *ctl)
{
    json_t *steps = json_array();
    ida_kind kind = store_schema_upgrade(ctl->config.store, ctl->c, steps);
    unsigned char key[IDA_SEAL_KEY_LEN];
    if (!kind) {
        kind = ida_seal_key_read(ctl->c, ctl->config.seal_key, 1, key);
        OPENSSL_cleanse(key, sizeof key);
    }
    if (!kind) {
        json_t *document =
            json_pack("{s:i, s:s, s:O}", "version", store_schema_version(), "sealKey", ctl->config.seal_key, "steps", steps);
        if (!ctl_json(ctl, document)) {
            size_t i;
            json_t *step;
            json_array_foreach(steps, i, step) {
                ctl_say(ctl, "%s", json_string_value(step));
            }
            ctl_say(ctl, "The store is at version %d; the seal key is %s.", store_schema_version(), ctl->config.seal_key);
        }
        json_decref(document);
    }
    json_decref(steps);
    return ctl_result(ctl, kind);
}

const ctl_command ctl_schema_commands[] = {
    {"schema",
     "upgrade",
     "",
     0,
     0,
     "Create or migrate the store, and make its seal key when there is none.",
     "Safe to repeat. Run it as the user that runs idadmin-worker: the seal key must be readable by the worker and by idadminctl "
     "alone.\n"
     "A store newer than this program is refused.",
     {{NULL, NULL, NULL}},
     upgrade},
    {0},
};
