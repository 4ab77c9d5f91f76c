/* Owns the operation table's pipeline: who may call what, which arguments are good, what the audit learns. Must not know how a
 * request arrived (HTTP, MCP) nor how the store works. */
#include "core/operation.h"

#include <apr_strings.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/op.h"
#include "core/store_audit.h"
#include "core/store_user.h"
#include "core/text.h"

#define AUDIT_TEXT_MAX 256 /* bytes of one argument in an audit record */

const ida_operation *const ida_operations[] = {
    &ida_op_user_get, &ida_op_user_create, &ida_op_user_delete, &ida_op_task_get, &ida_op_task_list, &ida_op_task_cancel, NULL,
};

static const struct {
    const char *name, *member;
    size_t enabled; /* offset of the switch in ida_tenant */
} modules[] = {
    [IDA_MODULE_PUBLIC_API] = {"Public API", "publicApi", offsetof(ida_tenant, public_api)},
    [IDA_MODULE_ACCESS_GOVERNANCE] = {"access governance", "accessGovernance", offsetof(ida_tenant, access_governance)},
};

static ida_kind admit_module(ida_call *call, ida_module module)
{
    if (*(const int *)((const char *)call->tenant + modules[module].enabled)) {
        return IDA_OK;
    }
    return ida_fail(call->c, IDA_FORBIDDEN,
                    "The %s module is not enabled for this tenant. An administrator enables it with \"modules\":{\"%s\":true} in "
                    "the tenant document.",
                    modules[module].name, modules[module].member);
}

ida_kind ida_operation_admit(ida_call *call)
{
    const ida_operation *op = call->operation;
    ida_kind kind = admit_module(call, IDA_MODULE_PUBLIC_API);
    if (!kind && op->module != IDA_MODULE_PUBLIC_API) {
        kind = admit_module(call, op->module);
    }
    if (!kind && op->scope == IDA_SCOPE_WRITE && call->principal->access == IDA_ACCESS_READ_ONLY) {
        kind = ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" is read-only and may not change anything. Use a key with full access.",
                        call->principal->username);
    }
    return kind;
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

static char *words_of(apr_pool_t *pool, const char *const *allowed)
{
    char *text = apr_pstrdup(pool, "");
    for (int i = 0; allowed[i]; i++) {
        text = apr_pstrcat(pool, text, i ? ", " : "", allowed[i], NULL);
    }
    return text;
}

static int allowed_word(const ida_param *p, const char *word)
{
    for (int i = 0; p->allowed && p->allowed[i]; i++) {
        if (strcmp(p->allowed[i], word) == 0) {
            return 1;
        }
    }
    return p->allowed == NULL;
}

static json_t *check_string(ida_ctx *c, const ida_param *p, const json_t *given)
{
    const char *text = json_is_string(given) ? ida_present(c->pool, json_string_value(given)) : NULL;
    if (!json_is_string(given)) {
        ida_fault_add(c, p->name, "must be a string");
    } else if (!text) {
        ida_fault_add(c, p->name, "must not be empty");
    } else if (p->max && ida_utf16_length(text) > (size_t)p->max) {
        ida_fault_add(c, p->name, "must be at most %lld characters", (long long)p->max);
    } else if (!allowed_word(p, text)) {
        ida_fault_add(c, p->name, "must be one of %s", words_of(c->pool, p->allowed));
    } else {
        return json_string(text);
    }
    return NULL;
}

static json_t *check_integer(ida_ctx *c, const ida_param *p, const json_t *given)
{
    int64_t number = json_integer_value(given);
    int good = json_is_integer(given);
    if (json_is_string(given)) { /* a query parameter */
        const char *text = json_string_value(given);
        char *end;
        errno = 0;
        number = strtoll(text, &end, 10);
        good = *text >= '-' && *text <= '9' && !*end && !errno;
    }
    if (!good || number < p->min || number > p->max) {
        ida_fault_add(c, p->name, "must be a whole number from %lld to %lld", (long long)p->min, (long long)p->max);
        return NULL;
    }
    return json_integer(number);
}

static json_t *check_boolean(ida_ctx *c, const ida_param *p, const json_t *given)
{
    const char *text = json_string_value(given);
    if (json_is_boolean(given) || (text && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))) {
        return json_boolean(text ? text[0] == 't' : json_is_true(given));
    }
    ida_fault_add(c, p->name, "must be true or false");
    return NULL;
}

/* A JSON array of words, or a comma list in a query. */
static json_t *check_list(ida_ctx *c, const ida_param *p, const json_t *given)
{
    json_t *list = json_array();
    if (json_is_string(given)) {
        char *rest = apr_pstrdup(c->pool, json_string_value(given)), *last = NULL;
        for (char *word = apr_strtok(rest, ",", &last); word; word = apr_strtok(NULL, ",", &last)) {
            const char *trimmed = ida_present(c->pool, word);
            if (trimmed) {
                json_array_append_new(list, json_string(trimmed));
            }
        }
    } else if (json_is_array(given)) {
        json_array_extend(list, (json_t *)given);
    }
    size_t i;
    json_t *word;
    int good = json_array_size(list) > 0;
    json_array_foreach(list, i, word) {
        good = good && json_is_string(word) && allowed_word(p, json_string_value(word));
    }
    if (!good) {
        ida_fault_add(c, p->name, "must name one or more of %s", p->allowed ? words_of(c->pool, p->allowed) : "a list of texts");
        json_decref(list);
        return NULL;
    }
    return list;
}

typedef json_t *(*check_fn)(ida_ctx *c, const ida_param *p, const json_t *given);
static const check_fn checks[] = {
    [IDA_PARAM_STRING] = check_string,
    [IDA_PARAM_INTEGER] = check_integer,
    [IDA_PARAM_BOOLEAN] = check_boolean,
    [IDA_PARAM_LIST] = check_list,
};

/* Replaces what was given by checked, typed values. Every fault is named, not only the first. */
static ida_kind check_arguments(ida_call *call)
{
    const ida_operation *op = call->operation;
    json_t *checked = ida_json_keep(call->c->pool, json_object());
    const char *name;
    json_t *given;
    json_object_foreach(call->arguments, name, given) {
        const ida_param *p = find_param(op, name);
        if (!p) {
            ida_fault_add(call->c, ida_clean(call->c->pool, name, strlen(name), 64), "is no parameter of this operation");
            continue;
        }
        json_t *value = checks[p->type](call->c, p, given);
        if (value) {
            json_object_set_new(checked, name, value);
        }
    }
    for (const ida_param *p = op->params; p->name; p++) {
        if ((p->flags & IDA_PARAM_REQUIRED) && !json_object_get(call->arguments, p->name)) {
            ida_fault_add(call->c, p->name, "is required");
        }
    }
    ida_kind kind = ida_faults_raise(call->c);
    if (!kind) {
        call->arguments = checked;
    }
    return kind;
}

/* --- audit --- */

/* Arguments the table knows and does not withhold, long texts cut: names of unknown members could be anything and stay out. */
static const char *sanitised(ida_call *call)
{
    if (!call->operation || !json_is_object(call->arguments) || !json_object_size(call->arguments)) {
        return NULL;
    }
    json_t *out = json_object();
    const char *name;
    json_t *value;
    json_object_foreach(call->arguments, name, value) {
        const ida_param *p = find_param(call->operation, name);
        if (!p) {
            continue;
        }
        if (p->flags & IDA_PARAM_OMIT) {
            json_object_set_new(out, name, json_string("(left out)"));
        } else if (json_is_string(value)) {
            json_object_set_new(
                out, name,
                json_string(ida_clean(call->c->pool, json_string_value(value), json_string_length(value), AUDIT_TEXT_MAX)));
        } else if (!json_is_object(value) && (!json_is_array(value) || p->type == IDA_PARAM_LIST)) {
            json_object_set(out, name, value); /* what lies inside of a value that should be a text could be anything */
        }
    }
    char *text = ida_json_text(call->c->pool, out);
    json_decref(out);
    return text;
}

static ida_audit *make_record(ida_call *call, ida_kind kind)
{
    ida_ctx *c = call->c;
    ida_audit *a = ida_audit_make(c, call->principal->company, "api");
    const char *target = call->target ? call->target : ida_json_string(call->arguments, "userPrincipalName");
    a->actor = call->principal->username;
    a->label = call->principal->label;
    a->action = call->operation ? call->operation->name : "request";
    a->target = target ? ida_clean(c->pool, target, strlen(target), AUDIT_TEXT_MAX) : NULL;
    a->endpoint = call->endpoint;
    a->parameters = sanitised(call);
    a->outcome = ida_kind_code(kind);
    const char *reason = kind ? ida_public_message(c) : NULL;
    a->detail = reason          ? reason
                : kind          ? ida_kind_text(kind)
                : call->task_id ? apr_pstrcat(c->pool, "task ", call->task_id, NULL)
                                : NULL;
    return a;
}

ida_audit *ida_operation_refusal(ida_call *call, ida_kind kind)
{
    call->audit = make_record(call, kind);
    return call->audit;
}

ida_kind ida_operation_audit(ida_call *call, store *s, ida_ctx *c)
{
    call->audit = make_record(call, IDA_OK);
    ida_kind kind = store_audit_add(s, c, call->audit);
    call->audit_written = !kind; /* taken back by ida_operation_run when the transaction fails after this */
    return kind;
}

/* What the face knows of this may be a moment old: a "no" is asked again. */
static ida_kind check_synced(ida_call *call)
{
    ida_ctx *c = call->c;
    ida_kind kind = call->synced ? IDA_OK : store_tenant_synced(call->store, c, call->tenant, &call->synced);
    if (!kind && !call->synced) {
        c->retry_after = 30;
        c->message_is_public = 1;
        kind = ida_fail(
            c, IDA_SERVICE_UNAVAILABLE,
            "The tenant's directory is not yet synchronised: users, names and seats would be guesses. Try again when the first "
            "synchronisation is complete.");
    }
    return kind;
}

ida_kind ida_operation_run(ida_call *call)
{
    const ida_operation *op = call->operation;
    ida_kind kind = op->body ? IDA_OK : check_arguments(call);
    if (!kind && op->check) {
        kind = op->check(call);
    }
    if (!kind && op->needs_sync) {
        kind = check_synced(call);
    }
    if (!kind) {
        kind = op->run(call);
    }
    if (kind) {
        call->audit_written = 0;
    }
    if (!call->audit_written) {
        call->audit = make_record(call, kind);
    }
    return kind;
}
