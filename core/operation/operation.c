/* Owns the operation table's pipeline: who may call what, which arguments are good, what the audit
 * learns. Must not know how a request arrived (HTTP, MCP) nor how the store works. */
#include "core/operation/operation.h"

#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/cache/person.h"
#include "core/operation/op.h"
#include "core/operation/param.h"
#include "core/store/audit.h"

#define AUDIT_TEXT_MAX 256 /* bytes of one argument in an audit record */
#define TOOL_TEXT_MAX 2048 /* bytes of one text in a tool's result */

const ida_operation *const ida_operations[] = {
    &ida_op_user_get,       &ida_op_user_create,
    &ida_op_user_delete,    &ida_op_user_update,
    &ida_op_task_get,       &ida_op_task_list,
    &ida_op_task_cancel,    &ida_op_task_reschedule,
    &ida_op_task_retry,     &ida_op_task_release,
    &ida_op_users_search,   &ida_op_user_details,
    &ida_op_user_access,    &ida_op_resource_access,
    &ida_op_hygiene,        &ida_op_audit_log,
    &ida_op_role_templates, &ida_op_role_template,
    &ida_op_approvals,      &ida_op_workflows,
    &ida_op_workflow_runs,  NULL,
};

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
    if (*(const int *)((const char *)call->tenant + modules[module].enabled)) {
        return IDA_OK;
    }
    int tool = call->face == IDA_FACE_MCP, public = module == IDA_MODULE_PUBLIC_API;
    return ida_fail(
        call->c, IDA_FORBIDDEN,
        "The %s module is %snot enabled for this tenant. %sAn administrator enables it with "
        "\"modules\":{\"%s\":true} in the tenant document.",
        modules[module].name, tool && !public ? "required for this tool and is " : "",
        tool ? "Retrying will not help. " : "", modules[module].member);
}

/* Assistants get keys that cannot change anything, also by another door: a key that may write is
 * none for MCP. */
static ida_kind admit_scope(ida_call *call)
{
    int read_only = call->principal->access == IDA_ACCESS_READ_ONLY;
    if (call->face == IDA_FACE_MCP && !read_only) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key is missing the required 'read' scope. Retrying will not help, "
                        "and the scope cannot be added: an "
                        "administrator creates a new key with the access level \"Read only\" and "
                        "gives its MCP secret to this "
                        "client.");
    }
    if (call->operation->scope == IDA_SCOPE_WRITE && read_only) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" is read-only and may not change anything. Use a key "
                        "with full access.",
                        call->principal->username);
    }
    return IDA_OK;
}

ida_kind ida_operation_admit(ida_call *call)
{
    const ida_operation *op = call->operation;
    ida_kind kind = admit_module(call, IDA_MODULE_PUBLIC_API);
    if (!kind && op->module != IDA_MODULE_PUBLIC_API) {
        kind = admit_module(call, op->module);
    }
    return kind ? kind : admit_scope(call);
}

/* --- arguments --- */

static const ida_param *find_param(const ida_operation *op, const char *name)
{
    for (const ida_param *p = op->params; p->name; p++) {
        if (strcmp(p->name, name) == 0) {
            return p;
        }
    }
    return NULL;
}

static int64_t time_of(const json_t *arguments, const char *name)
{
    const char *text = ida_json_string(arguments, name);
    int64_t at = 0;
    return text && ida_time_parse(text, &at) ? at : 0;
}

/* Puts checked, typed values in the place of what was given, which is the query string of an
 * operation with a body and all arguments of one without. Every fault is named, not only the first.
 */
static ida_kind check_arguments(ida_call *call)
{
    const ida_operation *op = call->operation;
    json_t *arguments = op->body ? call->query : call->arguments;
    const char *known = NULL;
    for (void *at = json_object_iter(arguments); at; at = json_object_iter_next(arguments, at)) {
        const char *name = json_object_iter_key(at);
        const ida_param *p = find_param(op, name);
        if (!p || (op->body && !(p->flags & IDA_PARAM_QUERY))) {
            known = known ? known : op->body ? "" : ida_param_names(call->c->pool, op->params);
            ida_fault_add(
                call->c, ida_clean(call->c->pool, name, strlen(name), 64), "%s%s",
                op->body
                    ? "is no query parameter of this operation; its fields go into the JSON body"
                    : "is no parameter of this operation",
                known);
            continue;
        }
        json_t *value = ida_param_check(call->c, p, json_object_iter_value(at),
                                        call->face == IDA_FACE_REST);
        if (value) {
            json_object_iter_set_new(arguments, at, value);
        }
    }
    for (const ida_param *p = op->params; p->name; p++) {
        int here = !op->body || (p->flags & IDA_PARAM_QUERY);
        if (here && (p->flags & IDA_PARAM_REQUIRED) && !json_object_get(arguments, p->name)) {
            ida_fault_add(call->c, p->name, "is required");
        }
    }
    int64_t from = time_of(arguments, "from"), to = time_of(arguments, "to");
    if (from && to && from > to) {
        ida_fault_add(call->c, "from", "must not be after to");
    }
    ida_kind kind = ida_faults_raise(call->c);
    if (!kind) {
        call->query = arguments;
        call->dry_run = json_is_true(json_object_get(arguments, "dryRun"));
    }
    return kind;
}

int64_t ida_argument_time(const ida_call *call, const char *name)
{
    return time_of(call->arguments, name);
}

/* --- results of tools --- */

/* Walks `path` ("sections.*.items") from `at` on and adds the array at its end to `out`. */
static void find_pages(const json_t *at, const char *path, json_t *out)
{
    size_t len = strcspn(path, ".");
    if (!*path) {
        if (json_is_array(at)) {
            json_array_append(out, (json_t *)at);
        }
        return;
    }
    const char *rest = path + len + (path[len] == '.');
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)at, name, value) {
        if ((len == 1 && *path == '*') || (strlen(name) == len && strncmp(name, path, len) == 0)) {
            find_pages(value, rest, out);
        }
    }
}

json_t *ida_operation_pages(const ida_operation *op, const json_t *result)
{
    json_t *out = json_array();
    if (op->paged) {
        find_pages(result, op->paged, out);
    }
    return out;
}

static int64_t count_items(const ida_call *call)
{
    json_t *pages = ida_operation_pages(call->operation, call->result), *page;
    int64_t count = call->operation->paged ? 0 : 1;
    size_t i;
    json_array_foreach (pages, i, page) {
        count += (int64_t)json_array_size(page);
    }
    json_decref(pages);
    return count;
}

/* Directory text is whatever somebody typed somewhere. Cursors are ours, and useless when cut. */
static void clean_texts(apr_pool_t *pool, json_t *value, const char *name)
{
    const char *member;
    json_t *inner;
    size_t i;
    if (json_is_string(value)) {
        size_t max = name && strcmp(name, "nextCursor") == 0 ? 0 : TOOL_TEXT_MAX;
        json_string_set(value,
                        ida_clean(pool, json_string_value(value), json_string_length(value), max));
    }
    json_object_foreach (value, member, inner) {
        clean_texts(pool, inner, member);
    }
    json_array_foreach (value, i, inner) {
        clean_texts(pool, inner, NULL);
    }
}

/* --- audit --- */

static const char *audit_text(apr_pool_t *pool, const char *text)
{
    return ida_clean(pool, text, strlen(text), AUDIT_TEXT_MAX);
}

/* Arguments the table knows and does not withhold, long texts cut: names of unknown members could
 * be anything and stay out. */
static void add_sanitised(const ida_call *call, const json_t *arguments, json_t *out)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)arguments, name, value) {
        const ida_param *p = find_param(call->operation, name);
        if (!p) {
            continue;
        }
        if (p->flags & IDA_PARAM_OMIT) {
            json_object_set_new(out, name, json_string("(left out)"));
        } else if (json_is_string(value)) {
            json_object_set_new(out, name,
                                json_string(audit_text(call->c->pool, json_string_value(value))));
        } else if (!json_is_object(value) && (!json_is_array(value) || p->type == IDA_PARAM_LIST)) {
            json_object_set(
                out, name,
                value); /* what lies inside of a value that should be a text could be anything */
        }
    }
}

static const char *sanitised(ida_call *call)
{
    json_t *out = ida_json_keep(call->c->pool, json_object());
    if (!call->operation) {
        return NULL;
    }
    add_sanitised(call, call->arguments, out);
    if (call->query != call->arguments) {
        add_sanitised(call, call->query, out);
    }
    return json_object_size(out) || json_object_size(call->arguments)
               ? ida_json_text(call->c->pool, out)
               : NULL;
}

/* What a successful call did, in a few words. */
static const char *summary_of(ida_call *call, int tool)
{
    ida_ctx *c = call->c;
    return call->dry_run ? "dry run: nothing was changed"
           : call->replayed
               ? apr_pstrcat(c->pool,
                             "the first answer under this Idempotency-Key once more: task ",
                             call->task_id, NULL)
           : call->task_id ? apr_pstrcat(c->pool, "task ", call->task_id, NULL)
           : tool          ? ida_printf(c->pool, "%lld item%s", (long long)call->count,
                               call->count == 1 ? "" : "s")
                           : NULL;
}

/* Neither a dry run nor a replay may pass for a write. */
static const char *action_of(const ida_call *call)
{
    const char *name = call->operation              ? call->operation->name
                       : call->face == IDA_FACE_MCP ? "mcp"
                                                    : "request";
    const char *apart = call->dry_run ? ".dryRun" : call->replayed ? ".replay" : NULL;
    return apart ? apr_pstrcat(call->c->pool, name, apart, NULL) : name;
}

static audit_record *make_record(ida_call *call, ida_kind kind)
{
    ida_ctx *c = call->c;
    audit_record *a = audit_make(c, call->principal->company, "api");
    const char *target = call->target ? call->target
                                      : ida_json_string(call->arguments, "userPrincipalName");
    a->actor = call->principal->username;
    a->label = call->principal->label;
    a->action = action_of(call);
    a->target = target ? audit_text(c->pool, target) : NULL;
    a->endpoint = call->endpoint;
    a->address = call->address;
    a->parameters = sanitised(call);
    int tool = call->operation && call->operation->tool;
    a->outcome = kind && tool && call->face == IDA_FACE_MCP ? "toolError" : ida_kind_code(kind);
    const char *reason = kind ? ida_public_message(c) : NULL;
    a->detail = reason ? reason : kind ? ida_kind_text(kind) : summary_of(call, tool);
    return a;
}

audit_record *ida_operation_refusal(ida_call *call, ida_kind kind)
{
    call->audit = make_record(call, kind);
    return call->audit;
}

ida_kind ida_operation_audit(ida_call *call, store *s, ida_ctx *c)
{
    call->audit = make_record(call, IDA_OK);
    ida_kind kind = store_audit_add(s, c, call->audit);
    call->audit_written =
        !kind; /* taken back by ida_operation_run when the transaction fails after this */
    return kind;
}

ida_kind ida_op_synced(ida_call *call)
{
    /* Of its own: whatever the work failed with stays the answer when all is well. */
    ida_ctx *c = call->c, *asking = ida_ctx_make(c->env, c->pool);
    ida_kind kind = cache_is_synced(call->store, asking, call->tenant, &call->synced);
    if (kind) {
        c->retry_after = asking->retry_after;
        c->message_is_public = 0;
        ida_fail(c, kind, "%s", asking->message ? asking->message : ida_kind_text(kind));
    } else if (!call->synced) {
        c->retry_after = 30;
        c->message_is_public = 1;
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The tenant's directory is not yet synchronised: users, names and seats "
                        "would be guesses. Try again when the first "
                        "synchronisation is complete.");
    }
    return kind;
}

/* What the face knows of the first sync is some seconds old, and `cache reset` takes it back. That
 * is enough to show somebody who was found; a write, a list, and "there is nobody" rest on what is
 * not there, and ask the store. Reads ask behind their work: a reset marks the cache before it
 * takes the first row out. Lists ask before it as well, for a first load does without the indexes
 * that they name; one that begins meanwhile fails such a list, which is then no fault. */
static ida_kind check_and_run(ida_call *call)
{
    const ida_operation *op = call->operation;
    ida_kind kind = op->check ? op->check(call) : IDA_OK;
    if (!kind && op->needs_sync && (!call->synced || op->scope == IDA_SCOPE_WRITE || op->paged)) {
        kind = ida_op_synced(call);
    }
    if (kind) {
        return kind;
    }
    kind = op->run(call);
    int doubtful = kind == IDA_NOT_FOUND || kind == IDA_INTERNAL_ERROR || (!kind && op->paged);
    ida_kind unsure = op->needs_sync && doubtful ? ida_op_synced(call) : IDA_OK;
    return unsure ? unsure : kind;
}

ida_kind ida_operation_run(ida_call *call)
{
    const ida_operation *op = call->operation;
    ida_kind kind = check_arguments(call);
    if (!kind && call->idempotency_key) {
        kind = ida_op_replay(call);
    }
    if (!kind && !call->replayed) {
        kind = check_and_run(call);
    }
    if (call->release && op->scope == IDA_SCOPE_READ) {
        call->release(call);
    }
    if (!kind && op->tool) {
        clean_texts(call->c->pool, call->result, NULL);
        call->count = count_items(call);
    }
    if (kind) {
        call->audit_written = 0;
    }
    if (!call->audit_written) {
        call->audit = make_record(call, kind);
    }
    return kind;
}
