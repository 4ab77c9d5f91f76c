/* idadminctl schema: the store's tables and the secrets that live beside it. */
#include <openssl/crypto.h>
#include <string.h>

#include "core/store_audit.h"
#include "core/store_tenant.h"
#include "worker/ctl/ctl.h"

typedef struct sealing {
    ctl_call *ctl;
    const ida_tenant *tenant;
    ida_stored_tenant stored;
} sealing;

static ida_kind put_sealed(store *s, ida_ctx *c, void *baton)
{
    const sealing *w = baton;
    ida_stored_tenant now;
    ida_kind kind = store_tenant_lock(s, c, w->tenant->id);
    kind = kind ? kind : store_tenant_document(s, c, w->tenant->id, &now);
    if (kind || strcmp(now.document, w->stored.document) != 0 || now.revision != w->stored.revision) {
        return kind; /* somebody applied a document meanwhile, and sealed it */
    }
    kind = store_tenant_put(s, c, w->tenant, &w->stored);
    return kind ? kind : store_audit_add(s, c, ctl_audit(w->ctl, w->tenant->id, "tenant.seal", w->tenant->id));
}

/* This node begins to know each tenant's revision. A seal from before seals had revisions is made anew, but only as long as the
 * node knows none of that tenant. What is not sealed stays as it is: tenant apply is for that. */
static ida_kind seal_tenant(ctl_call *ctl, store *s, const char *id, const unsigned char key[IDA_SEAL_KEY_LEN])
{
    ida_ctx *c = ctl->c;
    ida_tenant *tenant;
    ida_seal_state state;
    const char *why;
    int64_t seen;
    sealing work = {.ctl = ctl};
    ida_kind kind = store_tenant_document(s, c, id, &work.stored);
    if (!kind && ida_tenant_load(c, work.stored.document, &tenant) != IDA_OK) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    kind = kind ? kind : ida_seal_judge(c, ctl->config.seal_key, tenant, &work.stored, &state, &why);
    kind = kind ? kind : ida_seal_seen(c, ctl->config.seal_key, id, &seen);
    if (!kind && state == IDA_SEAL_BROKEN && !seen && ida_tenant_seal_valid(key, tenant, 0, work.stored.seal)) {
        state = IDA_SEAL_GOOD;
        work.tenant = tenant;
        work.stored.seal = ida_tenant_seal(ctl->pool, key, tenant, work.stored.revision);
        kind = store_transaction(s, c, put_sealed, &work);
    }
    return kind || state != IDA_SEAL_GOOD ? kind : ida_seal_note(c, ctl->config.seal_key, id, work.stored.revision);
}

static ida_kind seal_tenants(ctl_call *ctl, const unsigned char key[IDA_SEAL_KEY_LEN])
{
    const store_tenant_id *ids;
    int count = 0;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = store_tenant_ids(s, ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = seal_tenant(ctl, s, ids[i].id, key);
    }
    return kind;
}

static int upgrade(ctl_call *ctl)
{
    json_t *steps = json_array();
    ida_kind kind = store_schema_upgrade(ctl->config.store, ctl->c, steps);
    unsigned char key[IDA_SEAL_KEY_LEN];
    if (!kind) {
        kind = ida_seal_key_read(ctl->c, ctl->config.seal_key, 1, key);
        kind = kind ? kind : seal_tenants(ctl, key);
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
