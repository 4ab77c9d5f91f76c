/* Owns the pipeline of every call: who may call what, which arguments are good, in which order
 * things are looked at. Must not know how a request arrived (HTTP, MCP) nor how the store works. */
#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/cache/person.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/param.h"

static const struct {
    const char *name, *member;
    size_t enabled; /* offset of the switch in ida_tenant */
} modules[] = {
    [IDA_MODULE_PUBLIC_API] = {"Public API", "publicApi", offsetof(ida_tenant, public_api)},
    [IDA_MODULE_ACCESS_GOVERNANCE] = {"access governance", "accessGovernance",
                                      offsetof(ida_tenant, access_governance)},
};

static ida_kind admit_module(ida_call *call, ida_module module)
{
    if (*(const int *)((const char *)call->asked->tenant + modules[module].enabled)) {
        return IDA_OK;
    }
    int tool = call->asked->face->tools, public = module == IDA_MODULE_PUBLIC_API;
    ida_fail(call->c, IDA_FORBIDDEN,
             "The %s module is %snot enabled for this tenant. %sAn administrator enables it "
             "with \"modules\":{\"%s\":true} in the tenant document.",
             modules[module].name, tool && !public ? "required for this tool and is " : "",
             tool ? "Retrying will not help. " : "", modules[module].member);
    return ida_because(call->c, "moduleOff", json_pack("{s:s}", "module", modules[module].member));
}

/* Assistants get keys that cannot change anything, also by another door: a key that may write is
 * none for MCP. */
static ida_kind admit_scope(ida_call *call)
{
    int read_only = call->asked->principal->access == IDA_ACCESS_READ_ONLY;
    if (call->asked->face->tools && !read_only) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key is missing the required 'read' scope. Retrying will not help, "
                        "and the scope cannot be added: an administrator creates a new key with "
                        "the access level \"Read only\" and gives its MCP secret to this client.");
    }
    if (call->asked->operation->scope == IDA_SCOPE_WRITE && read_only) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" is read-only and may not change anything. Use a key "
                        "with full access.",
                        call->asked->principal->username);
    }
    if (call->asked->operation->right == IDA_REQUESTS_DECIDE &&
        !call->asked->principal->decisions) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" may not carry decisions of approvers. An "
                        "administrator makes a key that may: idadminctl key create --decisions.",
                        call->asked->principal->username);
    }
    unsigned areas = call->asked->principal->areas;
    if (areas && !(areas & ida_right_areas(call->asked->operation->right))) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" is limited to the scopes %s, and this needs %s. "
                        "Retrying will not help: an administrator makes a key with that scope.",
                        call->asked->principal->username, ida_areas_text(call->c->pool, areas),
                        ida_areas_text(call->c->pool,
                                       ida_right_areas(call->asked->operation->right)));
    }
    return IDA_OK;
}

unsigned ida_person_roles(const ida_person *person, const char *company)
{
    unsigned roles = 0;
    for (int i = 0; i < person->grant_count; i++) {
        const ida_grant *g = &person->grants[i];
        if (strcmp(g->company, "*") == 0 || strcmp(g->company, company) == 0) {
            roles |= 1u << g->role;
        }
    }
    return roles;
}

ida_kind ida_operation_right(ida_call *call, ida_right right)
{
    if (ida_roles_have(call->asked->roles, right)) {
        return IDA_OK;
    }
    ida_fail(call->c, IDA_FORBIDDEN,
             "This takes the right %s, which your roles in this company do not have.",
             ida_right_name(right));
    return ida_because(call->c, "rightMissing",
                       json_pack("{s:s, s:o}", "right", ida_right_name(right), "roles",
                                 ida_roles_with(right)));
}

ida_kind ida_operation_admit(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    int signed_in = call->asked->person != NULL; /* module and access level are of API keys */
    ida_kind kind = !signed_in       ? admit_module(call, IDA_MODULE_PUBLIC_API)
                    : op->no_company ? IDA_OK
                                     : ida_operation_right(call, op->right);
    if (!kind && op->module != IDA_MODULE_PUBLIC_API) {
        kind = admit_module(call, op->module);
    }
    return kind || signed_in ? kind : admit_scope(call);
}

/* --- arguments --- */

int64_t ida_argument_time(const ida_call *call, const char *name)
{
    const char *text = ida_json_string(call->arguments, name);
    int64_t at = 0;
    return text && ida_time_parse(text, &at) ? at : 0;
}

const char *ida_argument_words(const ida_call *call, const char *name)
{
    const json_t *list = json_object_get(call->arguments, name), *word;
    const char *all = NULL;
    size_t i;
    json_array_foreach (list, i, word) {
        all = apr_pstrcat(call->c->pool, all ? all : "", all ? "," : "", json_string_value(word),
                          NULL);
    }
    return all;
}

/* Takes over what was given as checked, typed values. Every fault is named, not only the first. */
static ida_kind check_arguments(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    ida_ctx *c = call->c;
    const ida_param *forbidden = NULL;
    const char *name, *unknown = NULL; /* what is said of each name that the table does not have */
    json_t *given, *value;
    call->arguments = ida_json_keep(c->pool, json_object());
    json_object_foreach (call->asked->arguments, name, given) {
        const ida_param *p = ida_param_find(op->params, name);
        if (json_is_null(given)) { /* some clients send all names that they know */
            continue;
        }
        if (!p) {
            unknown = unknown ? unknown : ida_param_unknown(c->pool, op);
            ida_fault_add(c, ida_clean(c->pool, name, strlen(name), 64), "%s", unknown);
            continue;
        }
        forbidden = ida_call_may(call, (ida_right)p->right) ? forbidden : p;
        value = ida_param_check(c, p, given, call->asked->face->texts);
        json_object_set_new(call->arguments, name, value ? value : json_incref(given));
    }
    for (const ida_param *p = op->params; p->name; p++) {
        if ((p->flags & IDA_PARAM_REQUIRED) && !json_object_get(call->arguments, p->name)) {
            ida_fault_add(c, p->name, "is required");
        }
    }
    int64_t from = ida_argument_time(call, "from"), to = ida_argument_time(call, "to");
    if (from && to && from > to) {
        ida_fault_add(c, "from", "must not be after to");
    }
    ida_kind kind = forbidden ? ida_op_argument_right(call, forbidden) : ida_faults_raise(c);
    call->dry_run = !kind && json_is_true(json_object_get(call->arguments, "dryRun"));
    return kind;
}

/* --- results that people and models read --- */

/* Cursors are ours, and useless when cut. */
static void clean_texts(apr_pool_t *pool, json_t *value, const char *name)
{
    const char *member;
    json_t *inner;
    size_t i;
    if (json_is_string(value)) {
        size_t len = json_string_length(value),
               max = name && strcmp(name, "nextCursor") == 0 ? 0 : IDA_TOOL_TEXT_MAX;
        if ((max && len > max) || !ida_is_plain(json_string_value(value), len)) {
            json_string_set(value, ida_clean(pool, json_string_value(value), len, max));
        }
    }
    json_object_foreach (value, member, inner) {
        clean_texts(pool, inner, member);
    }
    json_array_foreach (value, i, inner) {
        clean_texts(pool, inner, NULL);
    }
}

void ida_operation_clean(apr_pool_t *pool, json_t *result)
{
    clean_texts(pool, result, NULL);
}

/* --- run --- */

ida_kind ida_op_synced(ida_call *call, store *s)
{
    /* Of its own: whatever the work failed with stays the answer when all is well. */
    int synced;
    ida_ctx *c = call->c, *asking = ida_ctx_make(c->env, c->pool);
    ida_kind kind = cache_is_synced(s, asking, call->asked->tenant, &synced);
    if (kind) {
        c->retry_after = asking->retry_after;
        c->message_is_public = 0;
        ida_fail(c, kind, "%s", asking->message ? asking->message : ida_kind_text(kind));
    } else if (!synced) {
        c->retry_after = 30;
        c->message_is_public = 1;
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The tenant's directory is not yet synchronised: users, names and seats "
                        "would be guesses. Try again when the first synchronisation is complete.");
        ida_because(c, "notSynchronised", NULL);
    }
    return kind;
}

static ida_kind carry_out(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    ida_kind kind = op->run ? op->run(call) : IDA_OK;
    if (!kind && !op->work) {
        ida_op_warn_ignored(call);
    }
    if (kind || !op->work) {
        return kind;
    }
    return op->scope == IDA_SCOPE_WRITE ? ida_op_write(call)
                                        : store_snapshot(call->store, call->c, op->work, call);
}

/* Unknown members and the operation's own check name their faults together. */
static ida_kind check_body(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    if (op->body) {
        call->ignored = op->closed ? NULL : ida_json_keep(call->c->pool, json_array());
        ida_params_unknown(call->c, call->asked->body, op->body, call->ignored);
    }
    ida_kind kind = op->check ? op->check(call) : IDA_OK;
    return kind ? kind : ida_faults_raise(call->c);
}

/* What the face knows of the first sync is some seconds old, and `cache reset` takes it back. That
 * is enough to show somebody who was found; a write, a list, and "there is nobody" rest on what is
 * not there, and ask the store. Reads ask behind their work, writes inside theirs: a reset marks
 * the cache before it takes the first row out. */
static ida_kind check_and_run(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    ida_kind kind = check_body(call);
    kind = kind ? kind : ida_call_acquire(call);
    if (!kind && op->needs_sync && (!call->asked->synced || op->scope == IDA_SCOPE_WRITE)) {
        kind = ida_op_synced(call, call->store);
    }
    if (kind) {
        return kind;
    }
    kind = carry_out(call);
    int rests_on_absence = kind == IDA_NOT_FOUND || (!kind && op->lists);
    ida_kind unsure = op->needs_sync && op->scope == IDA_SCOPE_READ && rests_on_absence
                          ? ida_op_synced(call, call->store)
                          : IDA_OK;
    return unsure ? unsure : kind;
}

ida_kind ida_operation_run(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    ida_kind kind = check_arguments(call);
    if (!kind && call->asked->once) {
        kind = ida_call_acquire(call);
        kind = kind ? kind : ida_op_replay(call);
    }
    if (!kind && !call->replayed) {
        kind = check_and_run(call);
    }
    ida_call_release(call);
    if (!kind) {
        ida_op_omit(call);
    }
    if (!kind && (op->tool || call->asked->face->cleans)) {
        ida_operation_clean(call->c->pool, call->result);
    }
    if (!kind && op->tool) {
        call->count = op->lists ? ida_pages_count(call) : 1;
    }
    call->audit_written = call->audit_written && !kind;
    if (!call->audit_written) {
        ida_operation_record(call, kind);
    }
    return kind;
}
