/* Owns which members of an answer a caller may not see, and which arguments it may not use: rows
 * of members and arguments can name a right. Must not know their meaning. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/operation/op.h"

int ida_call_may(const ida_call *call, ida_right right)
{
    const ida_person *person = call->asked->person;
    unsigned areas = call->asked->principal->areas;
    return !right || (person ? ida_roles_have(call->asked->roles, right)
                             : !areas || (areas & ida_right_areas(right)));
}

ida_kind ida_op_argument_right(ida_call *call, const ida_param *p)
{
    if (ida_call_may(call, (ida_right)p->right)) {
        return IDA_OK;
    }
    if (call->asked->person) {
        ida_kind kind = ida_operation_right(call, (ida_right)p->right);
        call->c->message = ida_printf(call->c->pool, "%s: %s", p->name, call->c->message);
        return kind;
    }
    return ida_fail(call->c, IDA_FORBIDDEN,
                    "%s: this argument needs the scope %s, and the API key of \"%s\" is limited to "
                    "%s. Leave it out, or ask an administrator for a key with that scope.",
                    p->name, ida_areas_text(call->c->pool, ida_right_areas((ida_right)p->right)),
                    call->asked->principal->username,
                    ida_areas_text(call->c->pool, call->asked->principal->areas));
}

/* --- members --- */

typedef struct omission {
    const ida_call *call;
    json_t *omitted; /* paths without array positions, each once */
} omission;

static void note(omission *o, const char *path)
{
    size_t i;
    const json_t *known;
    json_array_foreach (o->omitted, i, known) {
        if (strcmp(json_string_value(known), path) == 0) {
            return;
        }
    }
    json_array_append_new(o->omitted, json_string(path));
}

static void omit(omission *o, const ida_field *members, json_t *value, const char *path);

static void omit_member(omission *o, const ida_field *f, json_t *of, const char *path)
{
    json_t *value = json_object_get(of, f->name), *one;
    const char *own = apr_pstrcat(o->call->c->pool, path, *path ? "." : "", f->name, NULL);
    size_t i;
    if (!value) {
        return;
    }
    if (!ida_call_may(o->call, f->right)) {
        json_object_del(of, f->name);
        note(o, own);
    } else if (f->members && json_is_array(value)) {
        json_array_foreach (value, i, one) {
            omit(o, f->members, one, own);
        }
    } else if (f->members) {
        omit(o, f->members, value, own);
    }
}

static void omit(omission *o, const ida_field *members, json_t *value, const char *path)
{
    for (const ida_field *f = members; f && f->name; f++) {
        if (f->type == IDA_FIELD_INCLUDE) {
            omit(o, f->members, value, path);
        } else {
            omit_member(o, f, value, path);
        }
    }
}

/* Most callers may see all: their answers are not searched. */
static int may_see(const ida_call *call, const ida_field *members)
{
    int may = 1;
    for (const ida_field *f = members; may && f && f->name; f++) {
        may = ida_call_may(call, f->right) && may_see(call, f->members);
    }
    return may;
}

void ida_op_omit(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    const ida_field items[] = {OUT_LIST("items", ALWAYS, op->item), OUT_END};
    if (may_see(call, op->output) && may_see(call, op->item)) {
        return;
    }
    omission o = {call, ida_json_keep(call->c->pool, json_array())};
    omit(&o, op->output, call->result, "");
    if (op->item) {
        omit(&o, items, call->result, "");
    }
    if (json_array_size(o.omitted)) {
        json_object_set(call->result, "omitted", o.omitted);
    }
}
