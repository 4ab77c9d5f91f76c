/* idadminctl restore: a backup in the place of the store. Nothing is touched before all of the
 * backup was compared with its manifests; what was there is put aside, not deleted. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/store/save.h"
#include "core/store/tenant.h"
#include "worker/ctl/kept.h"
#include "worker/ctl/restored.h"
#include "worker/layout.h"

typedef struct restore_work {
    ctl_call *ctl;
    const char *from, *keys_from;
    json_t *manifest, *keys, *named; /* named: files that the restored configuration names */
    restored_state state;
    const char *aside, *stamp;
    json_t *steps, *files; /* files: what became of each of the second place */
} restore_work;

/* --- before anything is touched --- */

static ida_kind check_versions(restore_work *work)
{
    ctl_call *ctl = work->ctl;
    const json_t *schema = json_object_get(work->manifest, "schema");
    const char *engine = ida_json_string(work->manifest, "engine"),
               *wanted = store_sqlite_path(ctl->config.store) ? "sqlite" : "postgresql";
    int main, audit;
    store_known_versions(ctl->config.store, &main, &audit);
    if (!engine || strcmp(engine, wanted) != 0) {
        return ida_fail(ctl->c, IDA_CONFLICT,
                        "The backup is of a store in %s, and %s is one in %s: name one of that "
                        "engine by --store.",
                        engine ? engine : "(nothing)", "the store to restore to", wanted);
    }
    json_int_t has_main = json_integer_value(json_object_get(schema, "main")),
               has_audit = json_integer_value(json_object_get(schema, "audit"));
    return has_main <= main && has_audit <= audit
               ? IDA_OK
               : ida_fail(ctl->c, IDA_CONFLICT,
                          "The backup has the schema numbers %lld and %lld, newer than this "
                          "program, which knows %d and %d: install version %s first.",
                          (long long)has_main, (long long)has_audit, main, audit,
                          ida_json_string(work->manifest, "build"));
}

/* The files of a manifest are judged by their digests, the manifest by the seal key. */
static ida_kind check_backup(restore_work *work)
{
    ctl_call *ctl = work->ctl;
    const char *seal_key = kept_path(ctl, work->keys_from, KEPT_SEAL_KEY);
    size_t i;
    json_t *row;
    ida_kind kind = kept_read(ctl, work->from, KEPT_MANIFEST, &work->manifest);
    kind = kind ? kind : kept_read(ctl, work->keys_from, KEPT_KEYS, &work->keys);
    kind = kind ? kind : check_versions(work);
    kind = kind ? kind : kept_compare(ctl, work->from, json_object_get(work->manifest, "files"));
    kind = kind ? kind
                : kept_compare(ctl, work->keys_from, json_object_get(work->manifest, "keys"));
    kind = kind ? kind : kept_compare(ctl, work->keys_from, json_object_get(work->keys, "files"));
    json_array_foreach (json_object_get(work->keys, "files"), i, row) {
        const char *from = ida_json_string(row, "from");
        if (!kind && (!from || *from != '/')) {
            kind = ida_fail(ctl->c, IDA_CONFLICT,
                            "The manifest of %s is damaged: a file of no path.", work->keys_from);
        }
    }
    if (kind) {
        return kind;
    }
    const char *proof = ida_json_string(work->manifest, "proof"),
               *own = kept_proof(ctl, seal_key, work->manifest);
    return proof && own && strcmp(proof, own) == 0
               ? IDA_OK
               : ida_fail(ctl->c, IDA_CONFLICT,
                          "The manifest of %s was not made under the seal key in %s: the two "
                          "belong to different backups, or the manifest was changed. Nothing was "
                          "restored.",
                          work->from, work->keys_from);
}

/* --- keys and secrets --- */

static void tell_file(restore_work *work, const json_t *row, const char *path, const char *done)
{
    json_array_append_new(work->files, ida_json_texts("what", ida_json_string(row, "what"), "file",
                                                      path, "done", done, NULL));
}

static int same_file(restore_work *work, const char *name, const char *path)
{
    json_t *one = NULL, *other = NULL;
    ida_kind kind = kept_row(work->ctl, work->keys_from, name, &one);
    kind = kind ? kind : kept_row(work->ctl, NULL, path, &other);
    int same = !kind &&
               strcmp(ida_json_string(one, "sha256"), ida_json_string(other, "sha256")) == 0;
    json_decref(one);
    json_decref(other);
    ida_ctx_clear(work->ctl->c);
    return same;
}

/* By idadmin.conf, which is the first of them, or a document of the restored store. */
static int is_named(restore_work *work, const char *path)
{
    ctl_call *ctl = work->ctl;
    worker_config config;
    size_t i;
    json_t *row;
    const char *file = ctl->config.file ? ctl->config.file : IDA_SYSCONFDIR "/idadmin/idadmin.conf";
    int named = strcmp(path, file) == 0;
    if (!named && !work->named) {
        work->named = ida_json_keep(ctl->pool, json_array());
        if (worker_config_read(ctl->c, ctl->pool, ctl->config.file, NULL, &config) == IDA_OK) {
            kept_named(ctl, &config, ctl_store(ctl, DB_REQUEST), work->named);
        }
        ida_ctx_clear(ctl->c);
    }
    json_array_foreach (work->named, i, row) {
        named |= strcmp(ida_json_string(row, "from"), path) == 0;
    }
    return named;
}

/* A key takes the place of another one, which is put aside beside it: what was restored is under
 * this one. A secret that is there stays, because it may be newer. */
static ida_kind return_file(restore_work *work, const json_t *row, int dry)
{
    ctl_call *ctl = work->ctl;
    struct stat st;
    const char *name = ida_json_string(row, "name"), *key = kept_key_file(ctl, name);
    const char *path = key ? key : ida_json_string(row, "from");
    int there = lstat(path, &st) == 0, same = there && same_file(work, name, path);
    const char *stays = same            ? "is the same"
                        : there && !key ? "stays as it is here"
                        : dry ? there ? "is put aside for the one of the backup" : "is to be made"
                        : key || is_named(work, path)
                            ? NULL
                            : "is not restored: neither idadmin.conf nor a document names it";
    if (stays) {
        tell_file(work, row, path, stays);
        return IDA_OK;
    }
    if (there && rename(path, apr_pstrcat(ctl->pool, path, ".before-", work->stamp, NULL)) != 0) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s cannot be put aside: %s.", path, strerror(errno));
    }
    const char *slash = strrchr(path, '/');
    int known = stat(apr_pstrmemdup(ctl->pool, path, (apr_size_t)(slash - path + 1)), &st) == 0;
    mode_t mode = (mode_t)json_integer_value(json_object_get(row, "mode"));
    int error = ida_file_copy(kept_path(ctl, work->keys_from, name), path,
                              mode & (key ? 0400 : 0440), known ? st.st_uid : geteuid(),
                              known ? st.st_gid : getegid());
    if (!error && strcmp(name, KEPT_SEAL_KEY) == 0) {
        ida_seal_key_make(ctl->c, path, (uid_t)-1, (gid_t)-1); /* the writer reads it */
    }
    if (error && key) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s cannot be written: %s.", path, strerror(error));
    }
    tell_file(work, row, path,
              error ? ida_printf(ctl->pool, "is not restored: %s", strerror(error))
                    : "is restored");
    return IDA_OK;
}

/* What this machine has seen of documents and chains is newer than what was restored, which would
 * count as put back by an attacker. */
static void forget_seen(const restore_work *work)
{
    ctl_call *ctl = work->ctl;
    const char *const seen[] = {apr_pstrcat(ctl->pool, ctl->config.seal_key, ".revisions", NULL),
                                apr_pstrcat(ctl->pool, ctl->config.audit_key, ".heads", NULL)};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        rename(seen[i], apr_pstrcat(ctl->pool, seen[i], ".before-", work->stamp, NULL));
    }
}

static ida_kind return_keys(restore_work *work, int dry)
{
    ida_kind kind = IDA_OK;
    size_t i;
    json_t *row;
    if (!dry) {
        forget_seen(work);
    }
    json_array_foreach (json_object_get(work->keys, "files"), i, row) {
        kind = kind ? kind : return_file(work, row, dry);
    }
    return kind;
}

/* --- the command --- */

static void report(restore_work *work, int dry)
{
    static const ctl_column files[] = {
        {"WHAT", "what"}, {"FILE", "file"}, {"", "done"}, {NULL, NULL}};
    ctl_call *ctl = work->ctl;
    size_t i;
    json_t *step;
    json_t *document = ida_json_keep(
        ctl->pool, json_pack("{s:b, s:O, s:s?, s:O, s:O}", "restored", !dry, "at",
                             json_object_get(work->manifest, "at"), "putAside", work->aside,
                             "steps", work->steps, "files", work->files));
    restored_report(&work->state, document);
    if (ctl_json(ctl, document)) {
        return;
    }
    if (dry) {
        ctl_say(ctl, "The backup of %s is whole and can be restored; nothing was changed.",
                ida_json_string(work->manifest, "at"));
    } else {
        ctl_say(ctl, "The store is as it was at %s.%s%s.", ida_json_string(work->manifest, "at"),
                work->aside ? " What was there is kept: " : "", work->aside ? work->aside : "");
        json_array_foreach (work->steps, i, step) {
            ctl_say(ctl, "%s", json_string_value(step));
        }
    }
    ctl_table(ctl, work->files, files, "");
    restored_say(&work->state, dry);
}

static int restore(ctl_call *ctl)
{
    restore_work work = {.ctl = ctl,
                         .from = ctl->arguments[0],
                         .keys_from = ctl_value(ctl, "keys"),
                         .state = {.ctl = ctl}};
    int dry = ctl_value(ctl, "dry-run") != NULL;
    if (!work.keys_from) {
        return ctl_usage(ctl, "--keys names the second directory of the backup");
    }
    work.steps = ida_json_keep(ctl->pool, json_array());
    work.files = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = check_backup(&work);
    if (!kind) {
        ida_time_parse(ida_json_string(work.manifest, "at"), &work.state.at);
        work.stamp = ida_stamp(ctl->pool, ida_now(ctl->c->env));
        kind = restored_before(&work.state);
    }
    if (kind || dry) {
        kind = kind ? kind : return_keys(&work, 1);
        if (!kind) {
            report(&work, 1);
        }
        return ctl_result(ctl, kind);
    }
    const db_return copies = {work.from, work.stamp};
    kind = store_schema_encoding(ctl->config.store, ctl->c);
    kind = kind ? kind : store_free(ctl->config.store, ctl->c);
    kind = kind ? kind
                : store_bring_back(ctl->config.store, ctl->c, &copies, work.steps, &work.aside);
    kind = kind ? kind : return_keys(&work, 0);
    kind = kind ? kind : restored_after(&work.state, work.from);
    if (!kind) {
        report(&work, 0);
    }
    return ctl_result(ctl, kind);
}

static int aside(ctl_call *ctl)
{
    json_t *names = ida_json_keep(ctl->pool, json_array());
    int removes = ctl_value(ctl, "remove") != NULL;
    ida_kind kind = layout_aside(ctl->c, ctl_store(ctl, DB_REQUEST), &ctl->config, removes, names);
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name) {
        ctl_say(ctl, "%s", json_string_value(name));
    }
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:O, s:b}", "aside", names, "removed", removes),
                             removes ? "All of it is removed." : "That is all of it.");
}

const ctl_command ctl_restore_commands[] = {
    {"restore", NULL, "DIR",
     "Put a backup in the place of the store, and hold the tasks that would run again.",
     .help =
         "With httpd and worker stopped on every node. Compares digests, versions and the proof "
         "first, and touches nothing when one does not fit. What was there is put aside. A backup "
         "of an older schema is upgraded. Tasks that were due or running at the time of the "
         "backup may have been carried out since: they are held until `task release` or `task "
         "cancel`. Tasks accepted since the backup are named where the store that was there can "
         "still be read. Secrets that are there stay as they are.",
     .options = {{"keys", "DIR", "the second directory of the backup, with the keys"},
                 {"dry-run", NULL, "compare and report, change nothing"}},
     .run = restore},
    {"aside", NULL, "", "Name what restores have put aside on this machine and in the store.",
     .help = "It holds people who were erased since.",
     .options = {{"remove", NULL, "and remove all of it"}}, .run = aside},
    {0},
};
