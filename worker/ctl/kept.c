/* Owns places, manifests and digests of a backup, and which files it may hold. Must not know how
 * they are saved or restored. */
#include "worker/ctl/kept.h"

#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/tenant.h"
#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"

#define BACKUP "backup" /* what the proof is of */
#define MANIFEST_MAX (64 * 1024 * 1024)

const char *kept_path(ctl_call *ctl, const char *directory, const char *name)
{
    return apr_pstrcat(ctl->pool, directory, "/", name, NULL);
}

static int is_empty(const char *directory)
{
    DIR *open = opendir(directory);
    int entries = 0;
    while (open && entries <= 2 && readdir(open)) {
        entries++;
    }
    if (open) {
        closedir(open);
    }
    return open && entries <= 2; /* "." and ".." */
}

ida_kind kept_place(ctl_call *ctl, const char *directory)
{
    struct stat st;
    if (mkdir(directory, 0700) == 0) {
        return IDA_OK;
    }
    if (errno != EEXIST) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s cannot be made: %s.", directory, strerror(errno));
    }
    return lstat(directory, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                   !(st.st_mode & (S_IRWXG | S_IRWXO)) && is_empty(directory)
               ? IDA_OK
               : ida_fail(ctl->c, IDA_CONFLICT,
                          "%s must be a directory of this user alone (mode 0700), with nothing in "
                          "it: name a new one for each backup.",
                          directory);
}

ida_kind kept_row(ctl_call *ctl, const char *directory, const char *name, json_t **row)
{
    unsigned char digest[IDA_DIGEST_LEN];
    const char *path = directory ? kept_path(ctl, directory, name) : name;
    int64_t bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : ida_sha256_file(fd, digest, &bytes);
    if (fd >= 0) {
        close(fd);
    }
    if (error) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s cannot be read: %s.", path, strerror(error));
    }
    *row = json_pack("{s:s, s:I, s:s}", "name", name, "bytes", (json_int_t)bytes, "sha256",
                     ida_hex(ctl->pool, digest, sizeof digest));
    return IDA_OK;
}

/* A name of a manifest must stay in its directory. */
static int is_name(const char *name)
{
    return name && *name && *name != '.' && !strchr(name, '/');
}

ida_kind kept_compare(ctl_call *ctl, const char *directory, const json_t *rows)
{
    ida_kind kind = IDA_OK;
    size_t i;
    json_t *row, *found;
    if (!json_array_size(rows)) {
        return ida_fail(ctl->c, IDA_CONFLICT, "The manifest of %s names no files.", directory);
    }
    json_array_foreach ((json_t *)rows, i, row) {
        const char *name = ida_json_string(row, "name"), *said = ida_json_string(row, "sha256");
        if (!is_name(name) || !said) {
            return ida_fail(ctl->c, IDA_CONFLICT, "The manifest of %s is damaged.", directory);
        }
        if ((kind = kept_row(ctl, directory, name, &found)) != IDA_OK) {
            return kind;
        }
        int same = strcmp(said, ida_json_string(found, "sha256")) == 0;
        json_decref(found);
        if (!same) {
            return ida_fail(ctl->c, IDA_CONFLICT,
                            "%s is not as it was saved (its SHA-256 differs from the manifest): "
                            "nothing was restored. Take another copy of the backup.",
                            kept_path(ctl, directory, name));
        }
    }
    return kind;
}

ida_kind kept_write(ctl_call *ctl, const char *directory, const char *name, json_t *manifest)
{
    const char *path = kept_path(ctl, directory, name);
    char *text = json_dumps(manifest, JSON_INDENT(2));
    int error = text ? ida_file_write(path, text, strlen(text), 0400, geteuid(), getegid())
                     : ENOMEM;
    free(text);
    return error
               ? ida_fail(ctl->c, IDA_CONFLICT, "%s cannot be written: %s.", path, strerror(error))
               : IDA_OK;
}

ida_kind kept_read(ctl_call *ctl, const char *directory, const char *name, json_t **manifest)
{
    const char *path = kept_path(ctl, directory, name);
    json_error_t fault;
    struct stat st;
    if (stat(path, &st) != 0 || st.st_size > MANIFEST_MAX) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s is no place of a backup: %s cannot be read (%s).",
                        directory, path, st.st_size > MANIFEST_MAX ? "too long" : strerror(errno));
    }
    *manifest = ida_json_keep(ctl->pool, json_load_file(path, 0, &fault));
    if (!*manifest) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s is damaged: %s.", path, fault.text);
    }
    int format = (int)json_integer_value(json_object_get(*manifest, "format"));
    return format == KEPT_FORMAT
               ? IDA_OK
               : ida_fail(ctl->c, IDA_CONFLICT,
                          "%s has the format %d, and this program knows %d: restore it by the "
                          "version that made it.",
                          path, format, KEPT_FORMAT);
}

const char *kept_proof(ctl_call *ctl, const char *seal_key, const json_t *manifest)
{
    json_t *said = ida_json_keep(ctl->pool, json_copy((json_t *)manifest));
    const char *own = ctl->env.seal_key;
    json_object_del(said, "proof");
    ctl->env.seal_key = seal_key;
    const char *proof = ida_seal_statement(ctl->c, BACKUP, KEPT_MANIFEST,
                                           ida_json_sorted(ctl->pool, said));
    ctl->env.seal_key = own;
    return proof;
}

const char *kept_key_file(const ctl_call *ctl, const char *name)
{
    return strcmp(name, KEPT_SEAL_KEY) == 0      ? ctl->config.seal_key
           : strcmp(name, KEPT_AUDIT_KEY) == 0   ? ctl->config.audit_key
           : strcmp(name, KEPT_SIGNING_KEY) == 0 ? ctl->config.audit_signing_key
                                                 : NULL;
}

/* --- files that are named --- */

/* A file is copied once, whatever names it. */
static int is_noted(const json_t *list, const char *path)
{
    size_t i;
    json_t *row;
    json_array_foreach ((json_t *)list, i, row) {
        if (strcmp(ida_json_string(row, "from"), path) == 0) {
            return 1;
        }
    }
    return 0;
}

static void note(json_t *list, const char *what, const char *path)
{
    if (path && *path == '/' && !is_noted(list, path)) {
        json_array_append_new(list, ida_json_texts("what", what, "from", path, NULL));
    }
}

/* The list is the context's own. */
static void note_member(ida_ctx *c, const char *member, const char *path, int secret)
{
    (void)secret;
    note(c->details, member, path);
}

/* Files that configuration and tenant documents name. */
ida_kind kept_named(ctl_call *ctl, const worker_config *config, store *s, json_t *list)
{
    const store_tenant_id *ids;
    int count = 0;
    ida_ctx *c = ctl->c, *visit = ida_ctx_make(c->env, c->pool);
    ida_kind kind = store_tenant_ids(s, c, &ids, &count);
    visit->details = list;
    note(list, "configuration", config->file);
    note(list, "smtp_password_file", config->smtp_password_file);
    note(list, "smtp_ca_file", config->smtp_ca_file);
    for (int i = 0; !kind && i < count; i++) {
        ida_stored_tenant stored;
        kind = store_tenant_document(s, c, ids[i].id, &stored);
        if (!kind) {
            ida_tenant_files(visit, ida_json_load(c->pool, stored.document), note_member);
        }
    }
    return kind;
}
