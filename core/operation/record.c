/* Owns what the audit log contains about a call. Must not know how records are stored. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/op.h"
#include "core/store/audit.h"

#define TEXT_MAX 256                        /* bytes of one argument */
#define COMMENT_BYTES (4 * IDA_COMMENT_MAX) /* one that people wrote for people is kept whole */

static const char *shown(apr_pool_t *pool, const char *text)
{
    return ida_clean(pool, text, strlen(text), TEXT_MAX);
}

/* Arguments that the table knows; long texts are cut, photos left out. Unknown members are left
 * out because their names could be anything, and so are objects and lists where a text is
 * expected. */
static void add_known(apr_pool_t *pool, const ida_param *params, const json_t *arguments,
                      json_t *out)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)arguments, name, value) {
        const ida_param *p = ida_param_find(params, name);
        if (!p) {
            continue;
        }
        if (p->type == IDA_PARAM_PHOTO) {
            json_object_set_new(out, name, json_string("(left out)"));
        } else if (json_is_string(value)) {
            json_object_set_new(
                out, name,
                json_string(ida_clean(pool, json_string_value(value), json_string_length(value),
                                      strcmp(name, "comment") == 0 ? COMMENT_BYTES : TEXT_MAX)));
        } else if (!json_is_object(value) && (!json_is_array(value) || p->type == IDA_PARAM_LIST)) {
            json_object_set(out, name, value);
        }
    }
}

/* As checked, or as sent if the call failed before the check. */
static const json_t *arguments_of(const ida_call *call)
{
    return call->arguments ? call->arguments : call->asked->arguments;
}

static const char *parameters_of(const ida_call *call)
{
    const ida_question *asked = call->asked;
    const ida_operation *op = asked->operation;
    json_t *out = ida_json_keep(call->c->pool, json_object());
    if (!op || op->discreet) {
        return NULL;
    }
    add_known(call->c->pool, op->body, asked->body, out);
    add_known(call->c->pool, op->params, arguments_of(call), out);
    int any = json_object_size(out) || json_object_size(op->body ? asked->body : asked->arguments);
    return any ? ida_json_text(call->c->pool, out) : NULL;
}

/* The outcome of a successful call, in a few words. */
static const char *summary_of(const ida_call *call, int tool)
{
    ida_ctx *c = call->c;
    return call->dry_run ? "dry run: nothing was changed"
           : call->replayed
               ? apr_pstrcat(c->pool, "repeats the first answer under this Idempotency-Key",
                             call->task_id ? ": task " : NULL, call->task_id, NULL)
           : call->task_id ? apr_pstrcat(c->pool, "task ", call->task_id,
                                         call->remark ? ": " : NULL, call->remark, NULL)
           : call->remark  ? call->remark
           : tool          ? ida_count(c->pool, call->count, "item", "items")
                           : NULL;
}

/* Must distinguish dry runs and replays from real writes. */
static const char *action_of(const ida_call *call)
{
    const char *name = call->action             ? call->action
                       : call->asked->operation ? call->asked->operation->name
                                                : call->asked->face->unknown;
    const char *apart = call->dry_run ? ".dryRun" : call->replayed ? ".replay" : NULL;
    return apart ? apr_pstrcat(call->c->pool, name, apart, NULL) : name;
}

static audit_record *make_record(const ida_call *call, ida_kind kind)
{
    ida_ctx *c = call->c;
    audit_record *a = audit_make(c, call->asked->principal->company, call->asked->face->category);
    const char *target = call->target ? call->target
                                      : ida_json_string(call->asked->body ? call->asked->body
                                                                          : arguments_of(call),
                                                        "userPrincipalName");
    a->actor = call->actor && !kind ? call->actor : call->asked->principal->username;
    a->label = call->asked->principal->label;
    a->action = action_of(call);
    a->target = target ? shown(c->pool, target) : NULL;
    a->endpoint = call->asked->endpoint;
    a->address = call->asked->address;
    a->parameters = parameters_of(call);
    int tool = call->asked->operation && call->asked->operation->tool;
    const char *failed = kind && tool ? call->asked->face->failed : NULL;
    a->outcome = failed ? failed : ida_kind_code(kind);
    const char *reason = kind ? ida_public_message(c) : NULL;
    a->detail = reason ? reason : kind ? ida_kind_text(kind) : summary_of(call, tool);
    return a;
}

audit_record *ida_operation_record(ida_call *call, ida_kind kind)
{
    call->audit = make_record(call, kind);
    return call->audit;
}

ida_kind ida_operation_audit(ida_call *call, store *s, ida_ctx *c)
{
    call->audit = make_record(call, IDA_OK);
    ida_kind kind = store_audit_add(s, c, call->audit);
    call->audit_written =
        !kind; /* reset by ida_operation_run if the transaction fails after this */
    return kind;
}
