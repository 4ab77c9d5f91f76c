/* idadminctl tenant: applies documents, and shows what there is. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/tenant.h"
#include "core/tenant/schema.h"
#include "worker/ctl/document.h"

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

static void report(ctl_call *ctl, const ctl_document *work)
{
    /* [case][dry] */
    static const char *const outcomes[][2] = {
        {"was created", "would be created"},
        {"was changed", "would be changed"},
        {"is as it was; sealed anew", "would stay as it is"},
    };
    const json_t *changes = work->changes;
    int created = work->created;
    json_t *document = json_pack("{s:s, s:b, s:O, s:s?}", "companyId", work->tenant->id, "created",
                                 created, "changes", changes, "notTakenOver", work->distrust);
    if (json_array_size(work->names)) {
        json_object_set(document, "names", work->names);
    }
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
        json_array_foreach (work->names, i, change) {
            ctl_say(ctl, "Look at %s.", json_string_value(change));
        }
    }
    json_decref(document);
}

static int apply(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    ctl_document work = {.ctl = ctl,
                         .whole = ctl_value(ctl, "replace") != NULL,
                         .dry = ctl_value(ctl, "dry-run") != NULL};
    ida_kind kind = ctl_document_read(&work, s, ctl->arguments[0]);
    if (!kind && work.dry) {
        ctl_document_compare(&work);
        report(ctl, &work);
        return json_array_size(work.changes) ? CTL_WOULD_CHANGE : CTL_DONE;
    }
    kind = kind ? kind : ctl_document_store(&work, s);
    if (!kind) {
        report(ctl, &work);
    }
    return ctl_result(ctl, kind);
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"COMPANY ID", "companyId"},
                                         {"NAME", "name"},
                                         {"DIRECTORIES", "directories"},
                                         {"SEATS", "seatLimit"},
                                         {"ENABLED", "enabledMembers"},
                                         {"HELD", "seatsHeld"},
                                         {"STATE", "state"},
                                         {"CHANGED", "updatedAt"},
                                         {NULL, NULL}};
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
