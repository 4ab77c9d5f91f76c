/* idadminctl tenant: documents in, sealed and stored with what follows from them. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/credentials.h"
#include "core/json.h"
#include "core/store_audit.h"
#include "core/store_directory.h"
#include "core/store_tenant.h"
#include "core/text.h"
#include "worker/ctl/ctl.h"

#define DOCUMENT_MAX (4 * 1024 * 1024)

/* Whole file or standard input ("-"). */
static ida_kind read_document(ctl_call *ctl, const char *name, char **text, size_t *len)
{
    int from_stdin = strcmp(name, "-") == 0;
    int fd = from_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: %s", name, strerror(errno));
    }
    size_t room = 65536;
    char *bytes = apr_palloc(ctl->pool, room);
    size_t used = 0;
    ssize_t got;
    while ((got = read(fd, bytes + used, room - used)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || (used += (size_t)got) > DOCUMENT_MAX) {
            ida_kind kind =
                got < 0 ? ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: %s", name, strerror(errno))
                        : ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: a tenant document is at most %d bytes", name, DOCUMENT_MAX);
            if (!from_stdin) {
                close(fd);
            }
            return kind;
        }
        if (used == room) {
            char *wider = apr_palloc(ctl->pool, room * 2);
            memcpy(wider, bytes, used);
            bytes = wider;
            room *= 2;
        }
    }
    if (!from_stdin) {
        close(fd);
    }
    *text = bytes;
    *len = used;
    return IDA_OK;
}

/* --- what changed, for people --- */

static void add_change(json_t *changes, const char *path, const json_t *before, const json_t *after)
{
    json_array_append_new(changes, json_pack("{s:s, s:O?, s:O?}", "member", path, "before", before, "after", after));
}

/* Walks objects member by member; other values are compared whole. */
static void compare(apr_pool_t *pool, json_t *changes, const char *path, json_t *before, json_t *after)
{
    if (!json_is_object(before) || !json_is_object(after)) {
        if (!(before && after && json_equal(before, after))) {
            add_change(changes, path, before, after);
        }
        return;
    }
    const char *name;
    json_t *value;
    const char *separator = path[0] ? "." : "";
    json_object_foreach(before, name, value) {
        compare(pool, changes, apr_pstrcat(pool, path, separator, name, NULL), value, json_object_get(after, name));
    }
    json_object_foreach(after, name, value) {
        if (!json_object_get(before, name)) {
            add_change(changes, apr_pstrcat(pool, path, separator, name, NULL), NULL, value);
        }
    }
}

/* --- apply --- */

typedef struct apply_work {
    ctl_call *ctl;
    const ida_tenant *tenant;
    const char *previous, *canonical, *seal;
    const json_t *changes;
} apply_work;

static ida_kind current_document(store *s, ida_ctx *c, const char *id, const char **document)
{
    *document = NULL;
    ida_kind kind = store_tenant_document(s, c, id, document);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        *document = NULL;
        return IDA_OK;
    }
    return kind;
}

/* People and groups of a directory that is not the tenant's any more must not be listed and counted on: the worker takes them out
 * of the cache. */
static ida_kind forget_removed(store *s, ida_ctx *c, const ida_tenant *tenant, const char *before)
{
    const json_t *directories = json_object_get(ida_json_load(c->pool, before), "directories");
    ida_kind kind = IDA_OK;
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        const char *name = ida_directory_name((ida_directory_kind)d);
        if (!tenant->has_directory[d] && json_is_object(json_object_get(directories, name))) {
            kind = store_sync_request(s, c, tenant->id, (ida_directory_kind)d, 0, 1);
        }
    }
    return kind;
}

static ida_kind apply_in(store *s, ida_ctx *c, void *baton)
{
    const apply_work *work = baton;
    const char *now;
    ida_kind kind = work->previous ? store_tenant_lock(s, c, work->tenant->id) : IDA_OK;
    if (!kind) {
        kind = current_document(s, c, work->tenant->id, &now);
    }
    if (kind) {
        return kind;
    }
    if ((now == NULL) != (work->previous == NULL) || (now && strcmp(now, work->previous) != 0)) {
        return ida_fail(
            c, IDA_CONFLICT,
            "The document of tenant %s was changed by somebody else at this moment; nothing was done, run the command again.",
            work->tenant->id);
    }
    kind = store_tenant_put(s, c, work->tenant, work->canonical, work->seal);
    if (kind) {
        return kind;
    }
    /* Whoever applies a document has looked: a directory that was held is tried again at once. */
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        int was_held;
        if ((kind = store_directory_clear(s, c, work->tenant->id, (ida_directory_kind)d, 0, &was_held)) != IDA_OK) {
            return kind;
        }
    }
    if (now && (kind = forget_removed(s, c, work->tenant, now)) != IDA_OK) {
        return kind;
    }
    ida_audit *record = ctl_audit(work->ctl, work->tenant->id, "tenant.apply", work->tenant->id);
    json_t *members = json_array();
    size_t i;
    json_t *change;
    json_array_foreach(work->changes, i, change) {
        json_array_append(members, json_object_get(change, "member"));
    }
    record->parameters = ida_json_text(c->pool, ida_json_keep(c->pool, json_pack("{s:o}", "changed", members)));
    return store_audit_add(s, c, record);
}

static const char *value_text(ctl_call *ctl, const json_t *value)
{
    if (json_is_null(value)) {
        return "(absent)";
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    const char *clean = ida_clean(ctl->pool, text ? text : "", text ? strlen(text) : 0, 300);
    free(text);
    return clean;
}

static void report(ctl_call *ctl, const ida_tenant *tenant, const json_t *changes, int created)
{
    json_t *document = json_pack("{s:s, s:b, s:O}", "companyId", tenant->id, "created", created, "changes", changes);
    if (!ctl_json(ctl, document)) {
        ctl_say(ctl,
                created                    ? "Tenant %s was created."
                : json_array_size(changes) ? "Tenant %s was changed."
                                           : "Tenant %s is as it was; sealed anew.",
                tenant->id);
        size_t i;
        json_t *change;
        json_array_foreach(changes, i, change) {
            ctl_say(ctl, "  %s: %s -> %s", ida_json_string(change, "member"), value_text(ctl, json_object_get(change, "before")),
                    value_text(ctl, json_object_get(change, "after")));
        }
    }
    json_decref(document);
}

static int apply(ctl_call *ctl)
{
    char *text = NULL;
    size_t len = 0;
    ida_ctx *c = ctl->c;
    ida_kind kind = read_document(ctl, ctl->arguments[0], &text, &len);
    json_t *object = NULL;
    if (!kind) {
        kind = ida_json_object(c, text, len, &object);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    const char *id = ida_json_string(object, "companyId");
    store *s = ctl_store(ctl, DB_REQUEST);
    apply_work work = {.ctl = ctl};
    ida_tenant *tenant;
    char *canonical;
    unsigned char key[IDA_SEAL_KEY_LEN];
    /* Without a companyId the document is refused by its own rules, in the same words as any other fault. */
    kind = id && ida_name_valid(id) ? current_document(s, c, id, &work.previous) : IDA_OK;
    if (!kind) {
        kind = ida_tenant_apply(c, text, len, work.previous, &tenant, &canonical);
    }
    if (!kind) {
        kind = ida_tenant_files_check(c, tenant);
    }
    if (!kind) {
        kind = ida_seal_key_read(c, ctl->config.seal_key, key);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    work.seal = ida_tenant_seal(ctl->pool, key, tenant);
    OPENSSL_cleanse(key, sizeof key);
    json_t *changes = ida_json_keep(ctl->pool, json_array());
    json_t *empty = ida_json_keep(ctl->pool, json_object());
    compare(ctl->pool, changes, "", work.previous ? ida_json_load(ctl->pool, work.previous) : empty,
            ida_json_load(ctl->pool, canonical));
    work.tenant = tenant;
    work.canonical = canonical;
    work.changes = changes;
    kind = store_transaction(s, c, apply_in, &work);
    if (!kind) {
        report(ctl, tenant, changes, !work.previous);
    }
    return ctl_result(ctl, kind);
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {
        {"COMPANY ID", "companyId"},   {"NAME", "name"},      {"DIRECTORIES", "directories"}, {"SEATS", "seatLimit"},
        {"ENABLED", "enabledMembers"}, {"HELD", "seatsHeld"}, {"CHANGED", "updatedAt"},       {NULL, NULL}};
    json_t *rows = NULL;
    ida_kind kind = store_tenant_list(ctl_store(ctl, DB_REQUEST), ctl->c, &rows);
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "There is no tenant yet; `idadminctl tenant apply FILE` makes one.");
    }
    return ctl_result(ctl, kind);
}

static int show(ctl_call *ctl)
{
    const char *document = NULL;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_tenant_document(s, ctl->c, ctl->arguments[0], &document);
    }
    if (!kind) {
        /* The document is JSON either way: it is what `apply` takes. */
        ctl->json = 1;
        ctl_json(ctl, ida_json_load(ctl->pool, document));
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_tenant_commands[] = {
    {"tenant",
     "apply",
     "FILE|-",
     1,
     1,
     "Create a tenant or change it by a tenant document; prints what changed.",
     "Idempotent. On a tenant that exists, a member that is absent stays as it was, null unsets an optional one, a list replaces "
     "the old one.\n"
     "Secrets are named by absolute path of files that only their owner may read. A document with an error changes nothing.\n"
     "A directory that the workers hold is tried again at once.",
     {{NULL, NULL, NULL}},
     apply},
    {"tenant", "list", "", 0, 0, "List the tenants.", NULL, {{NULL, NULL, NULL}}, list},
    {"tenant", "show", "ID", 1, 1, "Print a tenant's document as it is stored.", NULL, {{NULL, NULL, NULL}}, show},
    {0},
};
