/* idadminctl schema: the store's tables and the secrets that live beside it. */
#include <openssl/crypto.h>
#include <pwd.h>
#include <unistd.h>

#include "core/tenant.h"
#include "core/web_user.h"
#include "worker/ctl/ctl.h"

/* Whose the seal key is to be. */
static ida_kind owner_of(ctl_call *ctl, uid_t *owner, gid_t *group)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    const char *name = ctl_value(ctl, "owner");
    *owner = (uid_t)-1;
    *group = (gid_t)-1;
    if (ida_web_user_is_ours()) {
        return ida_fail(ctl->c, IDA_CONFLICT, "This is httpd's user %s, which must not have the seal key: run it as the user that runs "
                                              "idadmin-worker, or as root.", ctl->config.web_user);
    }
    if (!name) {
        return IDA_OK;
    }
    if (geteuid() != 0) {
        return ida_fail(ctl->c, IDA_CONFLICT, "--owner needs root; without it the seal key belongs to whoever runs the command.");
    }
    if (getpwnam_r(name, &entry, buffer, sizeof buffer, &found) != 0 || !found) {
        return ida_fail(ctl->c, IDA_NOT_FOUND, "--owner: there is no user %s.", name);
    }
    *owner = entry.pw_uid;
    *group = entry.pw_gid;
    return IDA_OK;
}

static int upgrade(ctl_call *ctl)
{
    json_t *steps = json_array();
    unsigned char key[IDA_SEAL_KEY_LEN];
    uid_t owner;
    gid_t group;
    ida_kind kind = owner_of(ctl, &owner, &group);
    if (!kind) {
        kind = store_schema_upgrade(ctl->config.store, ctl->c, steps);
    }
    if (!kind) {
        kind = ida_seal_key_make(ctl->c, ctl->config.seal_key, owner, group);
    }
    if (!kind) {
        kind = ida_seal_key_read(ctl->c, ctl->config.seal_key, key);
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
     "Safe to repeat. The seal key must be readable by the worker and by idadminctl alone: run it as the user that runs idadmin-worker, or as "
     "root,\n"
     "who makes files of SQLite, and a seal key beside them, for the owner of the directory; with PostgreSQL name the worker's user by --owner.\n"
     "A store newer than this program is refused.",
     {{"owner", "USER", "as root: the seal key belongs to this user, one that is there already too"}, {NULL, NULL, NULL}},
     upgrade},
    {0},
};
