/* idadminctl evidence: what was revoked from a leaver, when and by which task, with the audit
 * records that prove it, and what is not proven. Reads only. */
#include "core/operation/people/evidence.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ctl/ctl.h"

static void print(ctl_call *ctl, const json_t *document)
{
    static const ctl_column fields[] = {{"User", "userPrincipalName"},
                                        {"Task", "id"},
                                        {"State", "state"},
                                        {"Asked", "createdAt"},
                                        {"Started", "startedAt"},
                                        {"Finished", "finishedAt"},
                                        {"Password replaced", "passwordReplaced"},
                                        {"Warnings", "warnings"},
                                        {NULL, NULL}};
    static const ctl_column steps[] = {{"STEP", "name"},     {"OUTCOME", "outcome"}, {"AT", "at"},
                                       {"RECORD", "record"}, {"DETAIL", "detail"},   {NULL, NULL}};
    const json_t *not_proven = json_object_get(document, "notProven");
    json_t *task, *step, *one;
    size_t i, n;
    json_array_foreach (json_object_get(document, "offboardings"), i, task) {
        ctl_fields(ctl, task, fields);
        json_array_foreach (json_object_get(task, "steps"), n, step) {
            const json_t *proof = json_object_get(step, "proof");
            const char *hash = ida_json_string(proof, "hash");
            ida_json_put(
                step, "record",
                hash
                    ? ida_printf(ctl->pool, "%lld %.12s",
                                 (long long)json_integer_value(json_object_get(proof, "seq")), hash)
                    : "-");
        }
        ctl_say(ctl, "%s", "");
        ctl_table(ctl, json_object_get(task, "steps"), steps, "No steps.");
        ctl_say(ctl, "%s", "");
    }
    ctl_say(ctl, "Audit chain: %s, %s.",
            json_is_true(json_object_get(json_object_get(document, "chain"), "whole")) ? "whole"
                                                                                       : "BROKEN",
            ida_count(ctl->pool,
                      json_integer_value(
                          json_object_get(json_object_get(document, "chain"), "records")),
                      "record", "records"));
    if (!json_array_size(not_proven)) {
        ctl_say(ctl, "%s",
                "Everything that was to be revoked is revoked, and nothing has come back.");
        return;
    }
    ctl_say(ctl, "%s", "Not proven:");
    json_array_foreach ((json_t *)not_proven, i, one) {
        ctl_say(ctl, "- %s", json_string_value(one));
    }
}

static int evidence(ctl_call *ctl)
{
    json_t *document;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    kind = kind ? kind
                : ida_evidence(s, ctl->c, ctl->arguments[0], ctl->arguments[1], 1, &document);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    if (!ctl_json(ctl, document)) {
        print(ctl, document);
    }
    return json_is_true(json_object_get(document, "complete")) ? CTL_DONE : CTL_FAILED;
}

const ctl_command ctl_evidence_commands[] = {
    {"evidence", NULL, "ID UPN",
     "Show what was revoked from a leaver, when and by which task, with the audit records that "
     "prove it.",
     .help = "Says what is not proven as well: steps that failed or whose outcome is unknown, "
             "memberships that stayed or came back, later tasks. Walks the whole "
             "audit chain. Exit status 1 if something is not proven, including the chain.",
     .run = evidence},
    {0},
};
