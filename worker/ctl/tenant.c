/* idadminctl tenant: stores documents, sealed, and applies their consequences. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/audit.h"
#include "core/store/directory.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"
#include "core/tenant/difference.h"
#include "core/tenant/schema.h"
#include "worker/ctl/ctl.h"
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

/* --- apply --- */

typedef struct apply_work {
    ctl_call *ctl;
    const ida_tenant *tenant;
    ida_stored_tenant before, after;
    const char *key_name; /* of the key that seals the document */
    int whole;            /* 1: a member that the document does not name is unset (--replace) */
    int dry;              /* 1: nothing is stored (--dry-run) */
    const char *distrust; /* why nothing is taken over from the stored document; NULL: it is
                             trusted */
    const json_t *changes;
} apply_work;

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
static ida_kind judge(ctl_call *ctl, apply_work *work, store *s, const char *id)
{
    ida_ctx *c = ctl->c;
    ida_tenant *stored;
    ida_seal_state state;
    const char *why;
    if (!work->before.document) {
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
    return kind;
}

/* The resulting document: merged into the stored one, or, if that cannot be trusted, this one
 * alone: otherwise a forged member that the input does not mention would be sealed with the
 * rest. */
static ida_kind merged(ctl_call *ctl, apply_work *work, const char *text, size_t len)
{
    ida_ctx *c = ctl->c;
    ida_tenant *tenant;
    char *canonical;
    const char *ground = work->distrust || work->whole ? NULL : work->before.document;
    ida_kind kind = ida_tenant_apply(c, text, len, ground, &tenant, &canonical);
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
static ida_kind seal(ctl_call *ctl, apply_work *work)
{
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
    const apply_work *work = baton;
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
    kind = store_tenant_put(s, c, work->tenant, &work->after);
    kind = kind ? kind : store_setting_set(s, c, IDA_SEAL_KEY_SETTING, work->key_name);
    if (kind) {
        return kind;
    }
    /* The administrator has probably fixed the cause: a paused directory is tried again at once. */
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        int was_held;
        if ((kind = store_directory_clear(s, c, work->tenant->id, (ida_directory_kind)d, 0,
                                          &was_held)) != IDA_OK) {
            return kind;
        }
    }
    if (now.document && (kind = forget_removed(s, c, work->tenant, now.document)) != IDA_OK) {
        return kind;
    }
    audit_record *record = ctl_audit(work->ctl, work->tenant->id, "tenant.apply", work->tenant->id);
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
                         : NULL;
    return store_audit_add(s, c, record);
}

static const char *value_text(ctl_call *ctl, const json_t *value, size_t most)
{
    if (json_is_null(value)) {
        return "(absent)";
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    const char *clean = ida_clean(ctl->pool, text ? text : "", text ? strlen(text) : 0, most);
    free(text);
    return clean;
}

static void report(ctl_call *ctl, const apply_work *work)
{
    /* [case][dry] */
    static const char *const outcomes[][2] = {
        {"was created", "would be created"},
        {"was changed", "would be changed"},
        {"is as it was; sealed anew", "would stay as it is"},
    };
    const json_t *changes = work->changes;
    int created = !work->before.document;
    json_t *document = json_pack("{s:s, s:b, s:O, s:s?}", "companyId", work->tenant->id, "created",
                                 created, "changes", changes, "notTakenOver", work->distrust);
    if (work->dry) {
        json_object_set_new(document, "dryRun", json_true());
    }
    if (!ctl_json(ctl, document)) {
        int which = created ? 0 : json_array_size(changes) ? 1 : 2;
        ctl_say(ctl, "Tenant %s %s.", work->tenant->id, outcomes[which][work->dry]);
        if (work->distrust) {
            ctl_say(ctl,
                    "Nothing of the stored document was taken over: %s.\n"
                    "Every member, as it was stored and as it is now; check each, also those that "
                    "are equal:",
                    work->distrust);
        }
        size_t i;
        json_t *change;
        json_array_foreach (changes, i, change) {
            size_t most = work->distrust ? 0 : 300; /* bytes; a forged ending is shown completely */
            const json_t *before = json_object_get(change, "before"),
                         *after = json_object_get(change, "after");
            ctl_say(ctl, "  %s: %s -> %s%s", ida_json_string(change, "member"),
                    value_text(ctl, before, most), value_text(ctl, after, most),
                    json_equal(before, after) ? " (the same)" : "");
        }
    }
    json_decref(document);
}

/* The document of the argument, merged into the stored one and judged by all rules. */
static ida_kind read_merged(ctl_call *ctl, apply_work *work, store *s)
{
    char *text = NULL;
    size_t len = 0;
    json_t *object = NULL;
    ida_kind kind = read_document(ctl, ctl->arguments[0], &text, &len);
    kind = kind ? kind : ida_json_object(ctl->c, text, len, &object);
    if (kind) {
        return kind;
    }
    const char *id = ida_json_string(object, "companyId");
    /* Without a companyId the document is refused by its own rules, with the usual message. */
    kind = id && ida_name_valid(id) ? current_document(s, ctl->c, id, &work->before) : IDA_OK;
    kind = kind ? kind : judge(ctl, work, s, id);
    return kind ? kind : merged(ctl, work, text, len);
}

ida_kind ctl_tenant_merged(ctl_call *ctl, store *s, const ida_tenant **tenant)
{
    apply_work work = {.ctl = ctl, .dry = 1};
    ida_kind kind = read_merged(ctl, &work, s);
    *tenant = work.tenant;
    return kind;
}

static int apply(ctl_call *ctl)
{
    ida_ctx *c = ctl->c;
    store *s = ctl_store(ctl, DB_REQUEST);
    apply_work work = {.ctl = ctl,
                       .whole = ctl_value(ctl, "replace") != NULL,
                       .dry = ctl_value(ctl, "dry-run") != NULL};
    ida_kind kind = read_merged(ctl, &work, s);
    kind = kind || work.dry ? kind : seal(ctl, &work);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *stored = work.before.document ? ida_json_load(ctl->pool, work.before.document) : NULL;
    work.changes = ida_tenant_difference(
        ctl->pool, json_is_object(stored) ? stored : ida_json_keep(ctl->pool, json_object()),
        ida_json_load(ctl->pool, work.after.document), work.distrust != NULL);
    if (work.dry) {
        report(ctl, &work);
        return json_array_size(work.changes) ? CTL_WOULD_CHANGE : CTL_DONE;
    }
    kind = store_transaction(s, c, apply_in, &work);
    /* Only after the commit: a note of a revision that was never stored would make the present
     * document look old. */
    kind = kind ? kind
                : ida_seal_note(c, ctl->config.seal_key, work.tenant->id, work.after.revision);
    if (!kind) {
        report(ctl, &work);
    }
    return ctl_result(ctl, kind);
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"COMPANY ID", "companyId"},    {"NAME", "name"},
                                         {"DIRECTORIES", "directories"}, {"SEATS", "seatLimit"},
                                         {"ENABLED", "enabledMembers"},  {"HELD", "seatsHeld"},
                                         {"CHANGED", "updatedAt"},       {NULL, NULL}};
    json_t *rows = NULL;
    ida_kind kind = store_tenant_list(ctl_store(ctl, DB_REQUEST), ctl->c, &rows);
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns,
                  "There is no tenant yet; `idadminctl tenant apply FILE` creates one.");
    }
    return ctl_result(ctl, kind);
}

static int show(ctl_call *ctl)
{
    ida_stored_tenant stored;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_tenant_document(s, ctl->c, ctl->arguments[0], &stored);
    }
    if (!kind) {
        /* The document is JSON in either case: it is the input of `apply`. */
        ctl->json = 1;
        ctl_json(ctl, ida_json_load(ctl->pool, stored.document));
    }
    return ctl_result(ctl, kind);
}

static int schema(ctl_call *ctl)
{
    ctl->json = 1;
    ctl_json(ctl, ida_json_keep(ctl->pool, ida_tenant_schema()));
    return CTL_DONE;
}

const ctl_command ctl_tenant_commands[] = {
    {"tenant", "apply", "FILE|-",
     "Create a tenant or change it with a tenant document; prints what changed.",
     .help = "Idempotent. On a tenant that exists, a member that is absent stays as it was, null "
             "unsets an optional one, a list replaces the old one.\n"
             "Secrets are given as absolute paths of files that only their owner may read. A "
             "document with an error changes nothing.\n"
             "A held directory is tried again at once.\n"
             "If the stored document has no valid seal, or is older than one that was seen here, "
             "nothing of it is taken over: the document must be a full one, and every member "
             "is printed as it was and as it is.\n"
             "With --dry-run the exit status is 2 if something would change, else 0.",
     .options = {{"dry-run", NULL, "check everything, print what would change, store nothing"},
                 {"replace", NULL,
                  "the document is the whole truth: a member that it does not name is unset or "
                  "gets its default"}},
     .run = apply},
    {"tenant", "list", "", "List the tenants.", .run = list},
    {"tenant", "show", "ID", "Print a tenant's document as it is stored.", .run = show},
    {"tenant", "schema", "",
     "Print the JSON Schema of tenant documents, for editors and checks before `tenant apply`.",
     .run = schema},
    {0},
};
