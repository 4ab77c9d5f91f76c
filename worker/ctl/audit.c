/* idadminctl audit: the system log of a tenant, and the spool of a node that died. */
#include <apr_strings.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/operation/audit_json.h"
#include "core/store/audit.h"
#include "core/store/tenant.h"
#include "core/zone/zone.h"
#include "worker/ctl/chain.h"
#include "worker/ctl/ctl.h"
#include "worker/ingest.h"

#define PAGE 200

/* "YYYY-MM-DD" or "YYYY-MM-DDTHH:MM:SSZ" in UTC. */
static int parse_instant(const char *text, int64_t *at)
{
    int y, mo, d, h = 0, mi = 0, s = 0, used = 0, cy, cm, cd;
    if (sscanf(text, "%4d-%2d-%2d%n", &y, &mo, &d, &used) != 3 || used != 10) {
        return 0;
    }
    if (text[10] && (sscanf(text + 10, "T%2d:%2d:%2d%n", &h, &mi, &s, &used) != 3 || used != 9 ||
                     strcmp(text + 19, "Z") != 0)) {
        return 0;
    }
    ida_civil_from_days(ida_days_from_civil(y, mo, d), &cy, &cm, &cd);
    if (mo < 1 || mo > 12 || cy != y || cm != mo || cd != d || h < 0 || h > 23 || mi < 0 ||
        mi > 59 || s < 0 || s > 59) {
        return 0;
    }
    *at = ((ida_days_from_civil(y, mo, d) * 24 + h) * 60 + mi) * 60000 + (int64_t)s * 1000;
    return *at > 0;
}

static int read_filter(ctl_call *ctl, store_audit_filter *filter)
{
    const char *from = ctl_value(ctl, "from"), *to = ctl_value(ctl, "to"),
               *category = ctl_value(ctl, "category");
    *filter = (store_audit_filter){.actor = ctl_value(ctl, "actor"),
                                   .category = category,
                                   .limit = PAGE};
    if (category && strcmp(category, "api") != 0 && strcmp(category, "workflow") != 0 &&
        strcmp(category, "portal") != 0 && strcmp(category, AUDIT_ALARM) != 0) {
        return ctl_usage(ctl, "--category must be api, workflow, portal or alarm");
    }
    if ((from && !parse_instant(from, &filter->from)) || (to && !parse_instant(to, &filter->to))) {
        return ctl_usage(ctl, "--from and --to must be YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ (UTC)");
    }
    if (from && to && filter->from > filter->to) {
        return ctl_usage(ctl, "--from must not be after --to");
    }
    return CTL_DONE;
}

/* For people: "task.step" says nothing without the step. */
static void name_steps(ctl_call *ctl, json_t *document)
{
    size_t i;
    json_t *row;
    json_array_foreach (document, i, row) {
        const char *step = ida_json_string(json_object_get(row, "parameters"), "step"),
                   *action = ida_json_string(row, "action");
        if (step && action) {
            ida_json_put(row, "action", apr_pstrcat(ctl->pool, action, " ", step, NULL));
        }
    }
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {
        {"ID", "id"},           {"AT", "at"},         {"CATEGORY", "category"},
        {"ACTOR", "actor"},     {"ACTION", "action"}, {"TARGET", "target"},
        {"OUTCOME", "outcome"}, {"DETAIL", "detail"}, {NULL, NULL}};
    store_audit_filter filter;
    int usage = read_filter(ctl, &filter);
    if (usage) {
        return usage;
    }
    filter.limit = (int)ctl_number(ctl, "limit", 50, PAGE);
    filter.count_max = INT64_MAX;
    filter.before_seq = ctl_number(ctl, "before", 0, INT64_MAX);
    if (!filter.limit || (ctl_value(ctl, "before") && !filter.before_seq)) {
        return ctl_usage(ctl, "--limit must be 1 to %d, --before an id of an earlier list", PAGE);
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    const audit_row *rows = NULL;
    int count = 0;
    int64_t total = 0;
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_audit_list(s, ctl->c, ctl->arguments[0], &filter, &rows, &count, &total);
    }
    if (!kind) {
        json_t *document = ida_json_keep(ctl->pool, json_array());
        for (int i = 0; i < count; i++) {
            json_array_append_new(document, ida_audit_line(&rows[i]));
        }
        if (!ctl_json(ctl, document)) {
            name_steps(ctl, document);
            ctl_table(ctl, document, columns, "There is no such record.");
            if (count == filter.limit && total > count) {
                ctl_say(ctl, "%d of %lld; --before %lld goes on.", count, (long long)total,
                        (long long)rows[count - 1].seq);
            }
        }
    }
    return ctl_result(ctl, kind);
}

/* Prints while it reads: a log of years does not fit in memory. With --json the lines become one
 * array. */
static int export(ctl_call *ctl)
{
    store_audit_filter filter;
    int usage = read_filter(ctl, &filter);
    if (usage) {
        return usage;
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind && ctl_chain_sign(ctl, ctl->arguments[0])) { /* a broken chain, too, is exported */
        fprintf(stderr, "idadminctl: no checkpoint goes with this export: %s\n", ctl->c->message);
        ida_ctx_clear(ctl->c);
    }
    const char *separator = ctl->json ? "[\n" : "";
    int count = PAGE;
    apr_pool_t *outer = ctl->pool, *pool;
    apr_pool_create(&pool, outer);
    while (!kind && count == PAGE) {
        ida_ctx *c = ida_ctx_make(&ctl->env, pool);
        const audit_row *rows;
        kind = store_audit_list(s, c, ctl->arguments[0], &filter, &rows, &count, NULL);
        if (kind) {
            ida_fail(ctl->c, kind, "%s", c->message);
        }
        for (int i = 0; !kind && i < count; i++) {
            json_t *object = ida_audit_line(&rows[i]);
            char *text = json_dumps(object, JSON_COMPACT);
            printf("%s%s", separator, text);
            separator = ctl->json ? ",\n" : "\n";
            free(text);
            json_decref(object);
            filter.before_seq = rows[i].seq;
        }
        apr_pool_clear(pool);
    }
    if (!kind) {
        puts(ctl->json ? (separator[0] == '[' ? "[]" : "\n]") : "");
    }
    return ctl_result(ctl, kind);
}

static int ingest(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_INGEST);
    ingest_summary summary;
    ida_kind kind = ingest_spool(s, ctl->c, ctl->arguments[0], 1, &summary);
    if (!kind) {
        json_t *document = json_pack("{s:I, s:I, s:I, s:i, s:i, s:i}", "records",
                                     (json_int_t)summary.records, "torn", (json_int_t)summary.torn,
                                     "forged", (json_int_t)summary.forged, "segmentsRemoved",
                                     summary.removed, "segmentsHeld", summary.held, "passedOver",
                                     summary.strangers);
        if (!ctl_json(ctl, document)) {
            ctl_say(ctl,
                    "%lld records were read, %lld torn ones skipped; %d segments were removed, %d "
                    "are still held by a writer.",
                    (long long)summary.records, (long long)summary.torn, summary.removed,
                    summary.held);
            if (summary.strangers) {
                ctl_say(ctl,
                        "%d files with the name of a segment are no regular files (%s): they were "
                        "passed over.",
                        summary.strangers, summary.strange);
            }
        }
        json_decref(document);
    }
    return ctl_result(ctl, kind);
}

#define FILTER_OPTIONS                                                           \
    {"actor", "NAME", "records of one API user, person, or of the worker"},      \
        {"category", "WORD", "api, workflow, portal or alarm"},                  \
        {"from", "TIME", "YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ (UTC), inclusive"}, \
    {                                                                            \
        "to", "TIME", "the same, exclusive"                                      \
    }

const ctl_command ctl_audit_commands[] = {
    {"audit",
     "list",
     "ID",
     1,
     1,
     "List a tenant's audit records, newest first.",
     NULL,
     {FILTER_OPTIONS,
      {"limit", "N", "1 to 200, default 50"},
      {"before", "N", "go on after this id of an earlier list"},
      {NULL, NULL, NULL}},
     list},
    {"audit",
     "verify",
     "ID",
     1,
     1,
     "Check that the chain of a tenant's audit records is whole, and what is beside it.",
     "Says what was done to the first record that does not fit, and names API keys and tasks that "
     "no record made. Checkpoints that left the machine also show what somebody with the worker's "
     "keys, or with an older copy of store and keys, did.",
     {{"checkpoints", "FILE", "also hold it against these checkpoints"},
      {"key", "PUB",
       "the public key that they are signed by, or a file of it; default this node's"},
      {NULL, NULL, NULL}},
     ctl_chain_verify},
    {"audit",
     "accept",
     "ID",
     1,
     1,
     "Take a tenant's chain as it is for the one that this machine verified, as after a restore.",
     "Until then a chain that is older than what was verified here counts as broken. One that is "
     "broken in itself stays so. The audit log records it.",
     {{NULL, NULL, NULL}},
     ctl_chain_accept},
    {"audit",
     "checkpoints",
     "ID",
     1,
     1,
     "Print the checkpoints of a tenant's chain, one JSON object a line.",
     NULL,
     {{NULL, NULL, NULL}},
     ctl_chain_checkpoints},
    {"audit",
     "public-key",
     "",
     0,
     0,
     "Print the public key that this installation's checkpoints are signed by.",
     NULL,
     {{NULL, NULL, NULL}},
     ctl_chain_public_key},
    {"audit",
     "rotate-key",
     "",
     0,
     0,
     "Give the audit chains a new key.",
     "Verifies all chains first, and refuses where one is broken. Older keys stay in the file, for "
     "verification. With several nodes copy the file to the others: until then their workers leave "
     "audit records in spool and outbox.",
     {{"lost", NULL, "the key before is gone: its chains stay marked as broken"},
      {NULL, NULL, NULL}},
     ctl_chain_rotate_key},
    {"audit",
     "export",
     "ID",
     1,
     1,
     "Print all audit records of a tenant, newest first, one JSON object a line.",
     NULL,
     {FILTER_OPTIONS, {NULL, NULL, NULL}},
     export},
    {"audit",
     "ingest",
     "DIR",
     1,
     1,
     "Read the audit spool of a dead node into the store.",
     "DIR is the IdAdminAuditSpool directory of the dead node, or a copy of it. Segments that were "
     "read whole are removed. Repeatable: a record is taken once.",
     {{NULL, NULL, NULL}},
     ingest},
    {0},
};
