/* Owns the way of a tenant document into the store. Must not know which command changes it. */
#include "worker/ctl/document.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/governance/named.h"
#include "core/store/audit.h"
#include "core/store/directory.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"
#include "core/tenant/difference.h"
#include "worker/send/webhook.h"

#define DOCUMENT_MAX (4 * 1024 * 1024)
#define REVISION_MAX                                                         \
    (INT64_C(1) << 53) /* above this, not all JSON parsers represent numbers \
                          exactly */

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
            ida_kind kind = got < 0
                                ? ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: %s", name, strerror(errno))
                                : ida_fail(ctl->c, IDA_BAD_REQUEST,
                                           "%s: a tenant document is at most %d bytes", name,
                                           DOCUMENT_MAX);
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

static ida_kind current_document(store *s, ida_ctx *c, const char *id, ida_stored_tenant *stored)
{
    ida_kind kind = store_tenant_document(s, c, id, stored);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    return kind;
}

static int same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether the stored document may be the base of this one. */
static ida_kind judge(ctl_document *work, store *s, const char *id)
{
    ctl_call *ctl = work->ctl;
    ida_ctx *c = ctl->c;
    ida_tenant *stored;
    ida_seal_state state;
    const char *why;
    work->created = !work->before.document;
    if (work->created) {
        return IDA_OK;
    }
    ida_kind kind = ida_seal_judge(c, ctl->config.seal_key, id, &work->before, &state, &why);
    if (kind || state != IDA_SEAL_GOOD) {
        work->distrust = kind ? NULL : why;
        return kind;
    }
    kind = store_tenant_get(s, c, id, &stored, NULL);
    if (kind == IDA_INTERNAL_ERROR) {
        work->distrust = c->message;
        ida_ctx_clear(c);
        return IDA_OK;
    }
    if (!kind) {
        work->stored = stored;
        work->created = stored->deleted;
        work->whole |= stored->deleted;
    }
    return kind;
}

/* What the document is merged into. A pause is no part of a file that is the whole truth: it stays
 * until tenant resume ends it. */
static const char *ground_of(const ctl_document *work)
{
    apr_pool_t *pool = work->ctl->pool;
    if (work->distrust) {
        return NULL;
    }
    if (!work->whole || !work->before.document) {
        return work->before.document;
    }
    return work->stored->paused
               ? ida_json_text(
                     pool,
                     ida_json_keep(pool,
                                   json_pack("{s:s, s:O}", "companyId", work->stored->id, "paused",
                                             json_object_get(work->stored->document, "paused"))))
               : NULL;
}

/* The resulting document: merged into the stored one, or, if that cannot be trusted, this one
 * alone: otherwise a forged member that the input does not mention would be sealed with the
 * rest. */
static ida_kind merged(ctl_document *work, const char *text, size_t len)
{
    ida_ctx *c = work->ctl->c;
    ida_tenant *tenant;
    char *canonical;
    ida_kind kind = ida_tenant_apply(c, text, len, ground_of(work), &tenant, &canonical);
    if (kind == IDA_BAD_REQUEST && work->distrust) {
        return ida_fail(
            c, kind,
            "The tenant's stored document is not taken over: %s. Find out who changed it "
            "(`idadminctl audit list`), then apply the full document. This one is not full: %s",
            work->distrust, c->message);
    }
    kind = kind ? kind : ida_tenant_files_check(c, tenant);
    if (!kind) {
        webhook_secrets_check(c, tenant);
        kind = ida_faults_raise(c);
    }
    if (!kind) {
        work->tenant = tenant;
        work->after.document = canonical;
    }
    return kind;
}

/* A document that differs, or replaces one that cannot be trusted, gets a revision above all
 * known ones. */
static ida_kind seal(ctl_document *work)
{
    ctl_call *ctl = work->ctl;
    ida_ctx *c = ctl->c;
    unsigned char key[IDA_SEAL_KEY_LEN];
    int64_t seen, before = work->before.revision;
    ida_kind kind = ida_seal_seen(c, ctl->config.seal_key, work->tenant->id, &seen);
    kind = kind ? kind : ida_seal_key_read(c, ctl->config.seal_key, key);
    if (kind) {
        return kind;
    }
    int same = !work->distrust && same_text(work->before.document, work->after.document);
    int64_t newest = before > seen && before < REVISION_MAX
                         ? before
                         : seen; /* the stored number may be forged, too */
    work->after.revision = same ? before : newest + 1;
    work->after.seal = ida_seal_make(ctl->pool, key, work->tenant->id, &work->after);
    work->key_name = ida_seal_key_name(ctl->pool, key);
    OPENSSL_cleanse(key, sizeof key);
    return IDA_OK;
}

/* People and groups of a directory that no longer belongs to the tenant must not be listed and
 * counted: the worker removes them from the cache. */
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
    const ctl_document *work = baton;
    ida_stored_tenant now;
    ida_kind kind = work->before.document ? store_tenant_lock(s, c, work->tenant->id) : IDA_OK;
    if (!kind) {
        kind = current_document(s, c, work->tenant->id, &now);
    }
    if (kind) {
        return kind;
    }
    if (!same_text(now.document, work->before.document) ||
        !same_text(now.seal, work->before.seal) || now.revision != work->before.revision) {
        return ida_fail(c, IDA_CONFLICT,
                        "The document of tenant %s was changed by another command meanwhile; "
                        "nothing was done, run the command again.",
                        work->tenant->id);
    }
    const json_t *named = ida_json_keep(c->pool, json_object());
    kind = work->distrust ? IDA_OK : governance_named(s, c, work->tenant->id, &named);
    json_array_clear(work->names); /* the transaction may be repeated */
    kind = kind ? kind : store_tenant_put(s, c, work->tenant, &work->after);
    kind = kind ? kind
                : governance_named_settle(s, c, work->tenant, work->after.revision, named,
                                          work->names);
    kind = kind ? kind : store_setting_set(s, c, IDA_SEAL_KEY_SETTING, work->key_name);
    if (kind) {
        return kind;
    }
    /* The administrator has probably fixed the cause: a held directory is tried again at once. */
    int clears = !work->action || work->tenant->deleted;
    for (int d = 0; clears && d < IDA_DIR_COUNT; d++) {
        int was_held;
        if ((kind = store_directory_clear(s, c, work->tenant->id, (ida_directory_kind)d, 0,
                                          &was_held)) != IDA_OK) {
            return kind;
        }
    }
    if (now.document && (kind = forget_removed(s, c, work->tenant, now.document)) != IDA_OK) {
        return kind;
    }
    audit_record *record = ctl_audit(work->ctl, work->tenant->id,
                                     work->action ? work->action : "tenant.apply",
                                     work->tenant->id);
    json_t *members = json_array();
    size_t i;
    json_t *change;
    json_array_foreach (work->changes, i, change) {
        if (!json_equal(json_object_get(change, "before"), json_object_get(change, "after"))) {
            json_array_append(members, json_object_get(change, "member"));
        }
    }
    record->parameters = ida_json_text(c->pool, ida_json_keep(c->pool, json_pack("{s:o}", "changed",
                                                                                 members)));
    record->detail = work->distrust
                         ? ida_printf(c->pool, "The previous document was not taken over: %s",
                                      work->distrust)
                         : work->detail;
    return store_audit_add(s, c, record);
}

ida_kind ctl_document_read(ctl_document *work, store *s, const char *file)
{
    char *text = NULL;
    size_t len = 0;
    json_t *object = NULL;
    ida_kind kind = read_document(work->ctl, file, &text, &len);
    kind = kind ? kind : ida_json_object(work->ctl->c, text, len, &object);
    if (kind) {
        return kind;
    }
    const char *id = ida_json_string(object, "companyId");
    /* Without a companyId the document is refused by its own rules, with the usual message. */
    kind = id && ida_name_valid(id) ? current_document(s, work->ctl->c, id, &work->before) : IDA_OK;
    kind = kind ? kind : judge(work, s, id);
    return kind ? kind : merged(work, text, len);
}

ida_kind ctl_tenant_merged(ctl_call *ctl, store *s, const ida_tenant **tenant)
{
    ctl_document work = {.ctl = ctl, .dry = 1};
    ida_kind kind = ctl_document_read(&work, s, ctl->arguments[0]);
    *tenant = work.tenant;
    return kind;
}

ida_kind ctl_document_stored(ctl_document *work, store *s, const char *id, json_t **document)
{
    ida_ctx *c = work->ctl->c;
    ida_kind kind = ctl_tenant_exists(work->ctl, s, id);
    kind = kind ? kind : current_document(s, c, id, &work->before);
    kind = kind ? kind : judge(work, s, id);
    if (!kind && work->distrust) {
        return ida_fail(c, IDA_CONFLICT,
                        "The stored document of tenant %s is not followed: %s. Find out who "
                        "changed it (`idadminctl audit list`), then apply the full document.",
                        id, work->distrust);
    }
    *document = kind ? NULL : ida_json_load(c->pool, work->before.document);
    return kind;
}

ida_kind ctl_document_put(ctl_document *work, const json_t *document)
{
    ida_tenant *tenant;
    work->after.document = ida_json_sorted(work->ctl->pool, document);
    ida_kind kind = ida_tenant_load(work->ctl->c, work->after.document, &tenant);
    work->tenant = kind ? NULL : tenant;
    return kind;
}

void ctl_document_compare(ctl_document *work)
{
    apr_pool_t *pool = work->ctl->pool;
    json_t *stored = work->before.document ? ida_json_load(pool, work->before.document) : NULL;
    work->changes = ida_tenant_difference(
        pool, json_is_object(stored) ? stored : ida_json_keep(pool, json_object()),
        ida_json_load(pool, work->after.document), work->distrust != NULL);
}

ida_kind ctl_document_store(ctl_document *work, store *s)
{
    ida_ctx *c = work->ctl->c;
    ctl_document_compare(work);
    work->names = ida_json_keep(c->pool, json_array());
    ida_kind kind = seal(work);
    kind = kind ? kind : store_transaction(s, c, apply_in, work);
    /* Only after the commit: a note of a revision that was never stored would make the present
     * document look old. */
    return kind ? kind
                : ida_seal_note(c, work->ctl->config.seal_key, work->tenant->id,
                                work->after.revision);
}
