/* idadminctl erase: removes one person's personal data from the store, and reports what was
 * removed and what remains. */
#include "core/governance/erase.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ctl/ctl.h"
#include "worker/ingest.h"

/* Data that this command cannot reach. */
static json_t *what_stays(ctl_call *ctl, const governance_traces *traces, int in_document,
                          int compacted)
{
    json_t *stays = ida_json_keep(ctl->pool, json_array());
    json_array_append_new(stays, json_string("Audit records keep their place, time, category and "
                                             "outcome, so that the chain stays whole."));
    json_array_append_new(stays, json_string("The directories are not touched."));
    json_array_append_new(stays, json_string("Log files of httpd and of the worker, the audit "
                                             "spool of a node that is down, and backups."));
    if (!compacted) {
        json_array_append_new(
            stays,
            json_string(store_sqlite_path(ctl->config.store)
                            ? "Bytes of deleted rows may remain in free space of the store's "
                              "files: --compact rewrites them, while writers wait."
                            : "Bytes of deleted rows may remain in the database's files until they "
                              "are vacuumed (VACUUM FULL), and in its write-ahead log."));
    }
    if (traces->shared_count) {
        json_array_append_new(
            stays, json_string(ida_printf(ctl->pool,
                                          "Rows that mention the person only by these addresses, "
                                          "which belong or belonged to others as well: %s.",
                                          traces->shared)));
    }
    if (in_document) {
        json_array_append_new(
            stays,
            json_string(ida_printf(ctl->pool,
                                   "The document of tenant %s names the person (an approver, a "
                                   "protected account): remove the name and apply the document.",
                                   traces->tenant)));
    }
    return stays;
}

static ida_kind erase_parts(ctl_call *ctl, store *main, store *audit, store *cache,
                            governance_erased *erased, governance_traces **traces, int *in_document)
{
    const char *tenant = ctl->arguments[0];
    store_audit_turns turns = {0};
    ida_kind kind = governance_erase_find(main, ctl->c, tenant, ctl->arguments[1], traces);
    if (kind) {
        return kind;
    }
    /* Records still in transit would arrive after the erasure. */
    kind = ingest_outbox(main, audit, ctl->c, 0, &turns);
    kind = kind ? kind : governance_erase_audit(audit, ctl->c, *traces, &erased->audit);
    kind = kind ? kind : governance_erase_cache(cache, ctl->c, *traces, &erased->cache);
    kind = kind ? kind
                : governance_erase_main(main, ctl->c, *traces, erased,
                                        ctl_audit(ctl, tenant, "person.erase", NULL));
    return kind ? kind : governance_erase_in_document(main, ctl->c, *traces, in_document);
}

static ida_kind compact(ctl_call *ctl, store *const *stores, int count)
{
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        kind = store_compact(stores[i], ctl->c);
    }
    return kind;
}

static int erase(ctl_call *ctl)
{
    store *main = ctl_store(ctl, DB_REQUEST), *audit = ctl_store(ctl, DB_INGEST),
          *cache = ctl_store(ctl, DB_SYNC);
    store *const stores[] = {main, audit, cache};
    governance_erased erased = {0};
    governance_traces *traces = NULL;
    int in_document = 0, wants_compact = ctl_value(ctl, "compact") != NULL;
    ida_kind kind = ctl_tenant_exists(ctl, main, ctl->arguments[0]);
    kind = kind ? kind : erase_parts(ctl, main, audit, cache, &erased, &traces, &in_document);
    if (!kind && wants_compact && (kind = compact(ctl, stores, 3)) != IDA_OK) {
        return ctl_result(ctl, ida_fail(ctl->c, kind,
                                        "The data is erased, but the store's files could not be "
                                        "rewritten: %s Run the command again.",
                                        ctl->c->message ? ctl->c->message : ""));
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *stays = what_stays(ctl, traces, in_document,
                               wants_compact && store_sqlite_path(ctl->config.store));
    json_t *document = ida_json_keep(
        ctl->pool, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "tasks",
                             (json_int_t)erased.tasks, "requests", (json_int_t)erased.requests,
                             "assignments", (json_int_t)erased.assignments, "workflowRuns",
                             (json_int_t)erased.runs, "mentions", (json_int_t)erased.mentions,
                             "auditRecords", (json_int_t)erased.audit, "stays", stays));
    if (!ctl_json(ctl, document)) {
        const json_t *one;
        size_t i;
        ctl_say(ctl, "Erased: %s, %s, %s, %s, %s, %s.",
                ida_count(ctl->pool, erased.tasks, "task", "tasks"),
                ida_count(ctl->pool, erased.requests, "access request", "access requests"),
                ida_count(ctl->pool, erased.assignments, "role assignment", "role assignments"),
                ida_count(ctl->pool, erased.runs, "workflow run", "workflow runs"),
                ida_count(ctl->pool, erased.mentions, "mention elsewhere", "mentions elsewhere"),
                ida_count(ctl->pool, erased.audit, "audit record", "audit records"));
        ctl_say(ctl, "%s", "What stays:");
        json_array_foreach (stays, i, one) {
            ctl_say(ctl, "- %s", json_string_value(one));
        }
    }
    return CTL_DONE;
}

const ctl_command ctl_erase_commands[] = {
    {"erase", NULL, "ID UPN",
     "Erase one person's personal data from cache, tasks, governance, workflow runs and audit.",
     .help = "For a person whose account has been deleted in the directories and whose tasks are "
             "over; otherwise it is refused with what to do first. May be repeated. The audit "
             "chain stays whole.",
     .options = {{"compact", NULL,
                  "SQLite: rewrite the store's files afterwards, so that no bytes are left in free "
                  "space; writers wait meanwhile"}},
     .run = erase},
    {0},
};
