/* Owns the pipeline of every call: which arguments are valid, and the order of the checks. Must
 * not know how a request arrived (HTTP, MCP) nor how the store works. */
#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/param.h"

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

/* Stores the given arguments as checked, typed values. Every fault is named, not only the first. */
static ida_kind check_arguments(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    ida_ctx *c = call->c;
    const ida_param *forbidden = NULL;
    const char *name, *unknown = NULL; /* unknown: the fault text for each name that the table
                                          does not have */
    json_t *given, *value;
    call->arguments = ida_json_keep(c->pool, json_object());
    call->ignored = ida_json_keep(c->pool, json_array());
    json_object_foreach (call->asked->arguments, name, given) {
        const ida_param *p = ida_param_find(op->params, name);
        if (json_is_null(given)) { /* some clients send null for all names that they know */
            continue;
        }
        if (!p) {
            unknown = unknown ? unknown : ida_param_unknown(c->pool, op);
            const char *written = c->fault_count < IDA_UNKNOWN_MAX
                                      ? ida_param_written(c, op->params, name)
                                      : NULL;
            ida_fault_add(c, ida_clean(c->pool, name, strlen(name), 64), "%s%s", unknown,
                          written ? written : "");
            continue;
        }
        forbidden = ida_call_may(call, (ida_right)p->right) ? forbidden : p;
        ida_param_see(c, p, given, op->scope == IDA_SCOPE_WRITE ? call->ignored : NULL);
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

/* Cursors are ours, and useless if cut. */
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
        return;
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
                                        : store_snapshot(call->store, call->c, ida_call_work, call);
}

/* Faults of unknown members and of the operation's own check are reported together. `members` 1:
 * where there are none of the former, the check is left out. */
static ida_kind check_body(ida_call *call, int members)
{
    const ida_operation *op = call->asked->operation;
    if (op->body) {
        ida_params_unknown(call->c, call->asked->body, op->body, op->closed ? NULL : call->ignored);
        for (const ida_param *p = op->body; p->name && op->scope == IDA_SCOPE_WRITE; p++) {
            ida_param_see(call->c, p, json_object_get(call->asked->body, p->name), call->ignored);
        }
    }
    if (members && !call->c->fault_count) {
        return IDA_OK;
    }
    ida_kind kind = op->check ? op->check(call) : IDA_OK;
    return kind ? kind : ida_faults_raise(call->c);
}

/* The face's knowledge of the first sync is some seconds old, and `cache reset` revokes it. That
 * suffices to show a person who was found; a write, a list, and "there is no such person" rest
 * on the absence of rows, so they ask the store. Reads ask after their work, writes during it: a
 * reset marks the cache before it deletes the first row. */
static ida_kind check_and_run(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    ida_kind kind = check_body(call, 0);
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

/* What was done under an Idempotency-Key is answered as then, also when its time has passed. */
ida_kind ida_operation_judge(ida_call *call)
{
    ida_kind kind = check_arguments(call);
    return kind ? kind : check_body(call, call->asked->once != NULL);
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
