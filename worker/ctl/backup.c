/* idadminctl backup: the store as of one moment, and keys and secrets in a second place. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/build.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/queue/event.h"
#include "core/store/audit.h"
#include "core/store/chain_check.h"
#include "core/store/chain_key.h"
#include "core/store/save.h"
#include "core/store/tenant.h"
#include "worker/ctl/kept.h"

typedef struct backup_work {
    ctl_call *ctl;
    const char *to, *keys_to;
    json_t *manifest, *keys, *missing; /* missing: files that cannot be read */
    store_saved saved;
    const store_tenant_id *tenants;
    int tenant_count;
} backup_work;

/* --- the store --- */

/* The numbers by which a restore, and other systems, know how far this copy goes. */
static ida_kind add_tenant(store *s, ida_ctx *c, const store_tenant_id *tenant, json_t *rows)
{
    int64_t first, event = 0, record = 0;
    ida_kind kind = queue_event_bounds(s, c, tenant->id, &first, &event);
    kind = kind ? kind : store_chain_ends(s, c, tenant->id, &first, &record);
    if (!kind) {
        json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:I}", "companyId", tenant->id,
                                              "revision", (json_int_t)tenant->revision, "lastEvent",
                                              (json_int_t)event, "lastRecord", (json_int_t)record));
    }
    return kind;
}

static ida_kind save_in(store *s, ida_ctx *c, void *baton)
{
    backup_work *work = baton;
    json_t *rows = json_array();
    json_object_set_new(work->manifest, "companies", rows);
    ida_json_put_time(work->manifest, "at", ida_now(c->env));
    ida_kind kind = store_tenant_ids(s, c, &work->tenants, &work->tenant_count);
    for (int i = 0; !kind && i < work->tenant_count; i++) {
        kind = add_tenant(s, c, &work->tenants[i], rows);
    }
    return kind ? kind : store_save(s, c, work->to, &work->saved);
}

static ida_kind save_store(backup_work *work, store *s)
{
    ctl_call *ctl = work->ctl;
    ida_kind kind = store_snapshot(s, ctl->c, save_in, work);
    json_t *files = json_array();
    json_object_set_new(work->manifest, "files", files);
    for (int i = 0; !kind && i < work->saved.names->nelts; i++) {
        json_t *row = NULL;
        kind = kept_row(ctl, work->to, APR_ARRAY_IDX(work->saved.names, i, const char *), &row);
        json_array_append_new(files, row);
    }
    if (!kind) {
        json_object_set_new(work->manifest, "schema",
                            json_pack("{s:i, s:i}", "main", work->saved.main, "audit",
                                      work->saved.audit));
    }
    return kind;
}

/* --- keys and secrets --- */

/* What cannot be read, such as an authority's file that is not there, is named and no obstacle. */
static ida_kind copy_key(backup_work *work, const char *name, const char *what, const char *path)
{
    ctl_call *ctl = work->ctl;
    struct stat st;
    int error = ida_file_copy(path, kept_path(ctl, work->keys_to, name), 0400, geteuid(),
                              getegid());
    if (error || stat(path, &st) != 0) {
        json_array_append_new(work->missing, ida_json_texts("what", what, "file", path, "why",
                                                            strerror(error), NULL));
        return IDA_OK;
    }
    json_t *row = NULL;
    ida_kind kind = kept_row(ctl, work->keys_to, name, &row);
    ida_json_put(row, "what", what);
    ida_json_put(row, "from", path);
    json_object_set_new(row, "mode", json_integer(st.st_mode & 0777));
    json_array_append_new(work->keys, row);
    return kind;
}

static ida_kind save_keys(backup_work *work, store *s)
{
    static const struct {
        const char *name, *what;
    } keys[] = {{KEPT_SEAL_KEY, "seal key"},
                {KEPT_AUDIT_KEY, "audit keys"},
                {KEPT_SIGNING_KEY, "signing key"}};
    ctl_call *ctl = work->ctl;
    json_t *list = ida_json_keep(ctl->pool, json_array()), *row;
    ida_kind kind = IDA_OK;
    size_t i;
    for (i = 0; !kind && i < sizeof keys / sizeof *keys; i++) {
        kind = copy_key(work, keys[i].name, keys[i].what, kept_key_file(ctl, keys[i].name));
    }
    if (!kind && json_array_size(work->missing)) {
        const json_t *first = json_array_get(work->missing, 0);
        return ida_fail(ctl->c, IDA_CONFLICT, "The %s %s cannot be copied: %s.",
                        ida_json_string(first, "what"), ida_json_string(first, "file"),
                        ida_json_string(first, "why"));
    }
    kind = kind ? kind : kept_named(ctl, &ctl->config, s, list);
    json_array_foreach (list, i, row) {
        const char *from = ida_json_string(row, "from"), *slash = strrchr(from, '/');
        if (!ctl_value(ctl, "with-secrets")) {
            json_array_append_new(work->missing,
                                  ida_json_texts("what", ida_json_string(row, "what"), "file", from,
                                                 "why", "without --with-secrets", NULL));
            continue;
        }
        kind = kind ? kind
                    : copy_key(work, ida_printf(ctl->pool, "%zu-%s", i + 1, slash + 1),
                               ida_json_string(row, "what"), from);
    }
    return kind;
}

/* --- both --- */

static ida_kind names_of_keys(ctl_call *ctl, store *s, json_t *manifest)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    audit_keys keys;
    ida_kind kind = ida_seal_key_read(ctl->c, ctl->config.seal_key, key);
    if (!kind) {
        ida_json_put(manifest, "sealKey", ida_seal_key_name(ctl->pool, key));
        OPENSSL_cleanse(key, sizeof key);
        kind = store_audit_keys(s, ctl->c, &keys);
    }
    if (!kind) {
        ida_json_put(manifest, "auditKey", audit_keys_newest(&keys)->id);
        audit_keys_wipe(&keys);
    }
    return kind;
}

static ida_kind write_manifests(backup_work *work)
{
    ctl_call *ctl = work->ctl;
    json_t *keys = ida_json_keep(ctl->pool, json_pack("{s:i, s:O, s:O}", "format", KEPT_FORMAT,
                                                      "at", json_object_get(work->manifest, "at"),
                                                      "files", work->keys));
    json_t *row;
    ida_kind kind = kept_write(ctl, work->keys_to, KEPT_KEYS, keys);
    kind = kind ? kind : kept_row(ctl, work->keys_to, KEPT_KEYS, &row);
    if (!kind) {
        json_object_set_new(work->manifest, "keys", json_pack("[o]", row));
        ida_json_put(work->manifest, "proof",
                     kept_proof(ctl, ctl->config.seal_key, work->manifest));
        kind = kept_write(ctl, work->to, KEPT_MANIFEST, work->manifest);
    }
    return kind;
}

static ida_kind record_in(store *s, ida_ctx *c, void *baton)
{
    backup_work *work = baton;
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < work->tenant_count; i++) {
        const char *id = work->tenants[i].id;
        audit_record *record = ctl_audit(work->ctl, id, "store.backup", id);
        record->detail = ida_printf(c->pool, "to %s, keys to %s", work->to, work->keys_to);
        kind = store_audit_add(s, c, record);
    }
    return kind;
}

static void report(ctl_call *ctl, const backup_work *work)
{
    static const ctl_column companies[] = {{"COMPANY ID", "companyId"},
                                           {"REVISION", "revision"},
                                           {"LAST EVENT", "lastEvent"},
                                           {"LAST RECORD", "lastRecord"},
                                           {NULL, NULL}};
    static const ctl_column missing[] = {
        {"NOT COPIED", "what"}, {"FILE", "file"}, {"WHY", "why"}, {NULL, NULL}};
    json_t *document = ida_json_keep(
        ctl->pool,
        json_pack("{s:s, s:s, s:O, s:O, s:O, s:O}", "directory", work->to, "keys", work->keys_to,
                  "at", json_object_get(work->manifest, "at"), "files",
                  json_object_get(work->manifest, "files"), "companies",
                  json_object_get(work->manifest, "companies"), "notCopied", work->missing));
    if (ctl_json(ctl, document)) {
        return;
    }
    ctl_say(ctl, "The store is saved in %s as of %s; keys and secrets are in %s (%s).", work->to,
            ida_json_string(work->manifest, "at"), work->keys_to,
            ida_count(ctl->pool, (int64_t)json_array_size(work->keys), "file", "files"));
    ctl_table(ctl, json_object_get(work->manifest, "companies"), companies, "There is no company.");
    if (json_array_size(work->missing)) {
        ctl_table(ctl, work->missing, missing, "");
    }
    ctl_say(ctl, "Move %s to other hands: who has both can forge documents and audit records.",
            work->keys_to);
}

static int backup(ctl_call *ctl)
{
    backup_work work = {.ctl = ctl, .to = ctl->arguments[0], .keys_to = ctl_value(ctl, "keys")};
    if (!work.keys_to || strcmp(work.keys_to, work.to) == 0) {
        return ctl_usage(ctl, "--keys names a second directory, for the keys");
    }
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    umask(077);
    work.keys = ida_json_keep(ctl->pool, json_array());
    work.missing = ida_json_keep(ctl->pool, json_array());
    work.manifest = ida_json_keep(
        ctl->pool,
        json_pack("{s:i, s:s, s:s, s:s}", "format", KEPT_FORMAT, "build", ida_build, "engine",
                  store_sqlite_path(ctl->config.store) ? "sqlite" : "postgresql", "host", host));
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = kept_place(ctl, work.to);
    kind = kind ? kind : kept_place(ctl, work.keys_to);
    kind = kind ? kind : names_of_keys(ctl, s, work.manifest);
    kind = kind ? kind : save_store(&work, s);
    kind = kind ? kind : save_keys(&work, s);
    kind = kind ? kind : write_manifests(&work);
    kind = kind ? kind : store_transaction(s, ctl->c, record_in, &work);
    if (!kind) {
        report(ctl, &work);
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_backup_commands[] = {
    {"backup", NULL, "DIR",
     "Save the store in DIR, while everything runs, and keys and secrets in a second directory.",
     .help =
         "DIR gets copies of main and audit as of one moment (SQLite: by its backup interface; "
         "PostgreSQL: by pg_dump) and manifest.json with digests, versions and the last numbers "
         "of events and audit records, under a proof of the seal key. The second directory gets "
         "seal key, audit keys and signing key. The cache is left out: synchronisations fill it. "
         "Both directories are new or empty, and for their owner alone.",
     .options = {{"keys", "DIR", "the second directory, to be moved to other hands"},
                 {"with-secrets", NULL,
                  "to the second directory also idadmin.conf and the files that it and tenant "
                  "documents name: passwords among them"}},
     .run = backup},
    {0},
};
