/* idadminctl schema: the store's tables and the secrets in files beside it. */
#include <openssl/crypto.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "core/audit/checkpoint.h"
#include "core/base/web_user.h"
#include "core/store/chain_key.h"
#include "core/store/tenant.h"
#include "worker/ctl/ctl.h"

/* The future owner of the seal key. */
static ida_kind owner_of(ctl_call *ctl, uid_t *owner, gid_t *group)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    const char *name = ctl_value(ctl, "owner");
    *owner = (uid_t)-1;
    *group = (gid_t)-1;
    if (ida_web_user_is_ours()) {
        return ida_fail(ctl->c, IDA_CONFLICT,
                        "This is httpd's user %s, which must not have the seal key: run it as the "
                        "user that runs idadmin-worker, or as root.",
                        ctl->config.web_user);
    }
    if (!name) {
        return IDA_OK;
    }
    if (geteuid() != 0) {
        return ida_fail(ctl->c, IDA_CONFLICT,
                        "--owner needs root; without it the seal key belongs to the user who runs "
                        "the command.");
    }
    if (getpwnam_r(name, &entry, buffer, sizeof buffer, &found) != 0 || !found) {
        return ida_fail(ctl->c, IDA_NOT_FOUND, "--owner: there is no user %s.", name);
    }
    *owner = entry.pw_uid;
    *group = entry.pw_gid;
    return IDA_OK;
}

ida_kind ctl_note_revisions(ctl_call *ctl)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    const store_tenant_id *ids;
    ida_stored_tenant stored;
    int count = 0;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ida_seal_key_read(ctl->c, ctl->config.seal_key, key);
    kind = kind ? kind : store_tenant_ids(s, ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = store_tenant_document(s, ctl->c, ids[i].id, &stored);
        if (!kind && ida_seal_valid(ctl->pool, key, ids[i].id, &stored)) {
            kind = ida_seal_note(ctl->c, ctl->config.seal_key, ids[i].id, stored.revision);
        }
    }
    OPENSSL_cleanse(key, sizeof key);
    return kind;
}

static ida_kind make_keys(ctl_call *ctl, uid_t owner, gid_t group)
{
    const worker_config *config = &ctl->config;
    store *s = ctl_store(ctl, DB_INGEST);
    ida_kind kind = ida_seal_key_make(ctl->c, config->seal_key, owner, group);
    kind = kind ? kind : store_audit_key_make(s, ctl->c, owner, group);
    kind = kind ? kind : audit_signer_make(ctl->c, config->audit_signing_key, owner, group);
    return kind ? kind : store_chain_move_all(s, ctl->c);
}

static int upgrade(ctl_call *ctl)
{
    json_t *steps = json_array();
    uid_t owner;
    gid_t group;
    ida_kind kind = owner_of(ctl, &owner, &group);
    if (!kind) {
        kind = store_schema_upgrade(ctl->config.store, ctl->c, steps);
    }
    if (!kind && ctl_value(ctl, "roles")) {
        kind = store_schema_roles(ctl->config.store, ctl->c);
        json_array_append_new(steps,
                              json_string("roles: idadmin_web, idadmin_writer and idadmin_worker"));
    }
    if (!kind) {
        kind = make_keys(ctl, owner, group);
    }
    kind = kind ? kind : ctl_note_revisions(ctl);
    if (!kind) {
        json_t *document = json_pack("{s:i, s:s, s:O}", "version", store_schema_version(),
                                     "sealKey", ctl->config.seal_key, "steps", steps);
        if (!ctl_json(ctl, document)) {
            size_t i;
            json_t *step;
            json_array_foreach (steps, i, step) {
                ctl_say(ctl, "%s", json_string_value(step));
            }
            ctl_say(ctl, "The store is at version %d; the seal key is %s.", store_schema_version(),
                    ctl->config.seal_key);
        }
        json_decref(document);
    }
    json_decref(steps);
    return ctl_result(ctl, kind);
}

const ctl_command ctl_schema_commands[] = {
    {"schema", "upgrade", "",
     "Create or migrate the store, and create its seal key if there is none.",
     .help = "Safe to repeat. The seal key must be readable by the worker and by idadminctl alone: "
             "run it as the user that runs idadmin-worker, or as root,\n"
             "who makes files of SQLite, and a seal key beside them, for the owner of the "
             "directory; with PostgreSQL name the worker's user by --owner.\n"
             "A store newer than this program is refused.",
     .options = {{"owner", "USER", "as root: the owner of the seal key, also of an existing one"},
                 {"roles", NULL,
                  "PostgreSQL: creates the roles idadmin_web, idadmin_writer and idadmin_worker, "
                  "or renews their rights"}},
     .run = upgrade},
    {0},
};
