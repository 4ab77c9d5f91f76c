/* Every member of every answer and every argument of every operation, by scope and by role:
 * members of another scope are left out and named, arguments refused by name. Made from the
 * operation table; the list of guarded ones is here. */
#include "t/unit/setup.h"

#include "core/base/json.h"
#include "core/operation/op.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

/* Members and arguments that belong to another scope than their operation. The results of a
 * task, including the memberships it revoked, belong to the task: the table of "Task" has no
 * operation's rows and is not walked. */
static const struct guarded {
    const char *name;
    ida_right right;
} guarded_members[] =
    {
        {"roleTemplates", IDA_ACCESS_READ}, {"pendingTasks", IDA_TASKS_READ},
        {"revoked", IDA_ACCESS_READ},       {"notRevoked", IDA_ACCESS_READ},
        {"memberships", IDA_ACCESS_READ},   {NULL, IDA_RIGHT_NONE},
},
  guarded_arguments[] = {
      {"group", IDA_ACCESS_READ},
      {"roleTemplate", IDA_ACCESS_READ},
      {"taskState", IDA_TASKS_READ},
      {NULL, IDA_RIGHT_NONE},
};

static ida_right right_of(const struct guarded *list, const char *name)
{
    while (list->name && strcmp(list->name, name) != 0) {
        list++;
    }
    return list->right;
}

/* --- callers: a key of each scope on REST, each role on the console --- */

static ida_call *caller(const ida_operation *op, int scope, int role)
{
    ida_principal *key = apr_pcalloc(pool, sizeof *key);
    ida_person *person = apr_pcalloc(pool, sizeof *person);
    ida_question *asked = apr_pcalloc(pool, sizeof *asked);
    ida_call *call = apr_pcalloc(pool, sizeof *call);
    key->username = "who";
    key->access = IDA_ACCESS_READ_ONLY;
    key->areas = role < 0 ? IDA_AREAS(scope) : 0;
    call->c = ida_ctx_make(&env, pool);
    call->asked = asked;
    asked->principal = key;
    asked->person = role < 0 ? NULL : person;
    asked->roles = role < 0 ? 0 : 1u << role;
    asked->operation = op;
    return call;
}

static int may(const ida_call *call, ida_right right)
{
    return !right ||
           (call->asked->person ? ida_roles_have(call->asked->roles, right)
                                : (ida_right_areas(right) & call->asked->principal->areas) != 0);
}

static int admitted(const ida_call *call)
{
    return may(call, call->asked->operation->right);
}

/* --- members --- */

/* An answer with every member in the rows. */
static void fill(json_t *out, const ida_field *members, int depth)
{
    for (const ida_field *f = members; f && f->name; f++) {
        if (f->type == IDA_FIELD_INCLUDE) {
            fill(out, f->members, depth);
            continue;
        }
        json_t *value = json_string("x");
        if (f->members && depth) {
            json_decref(value);
            value = json_object();
            fill(value, f->members, depth - 1);
            value = f->type == IDA_FIELD_LIST ? json_pack("[o, O]", value, value) : value;
        }
        json_object_set_new(out, f->name, value);
    }
}

/* Compares an answer with the complete one: no member may be present without its right, and none
 * may be missing that is not guarded. */
static void compare(const ida_call *call, const json_t *whole, const json_t *got, int *leaks,
                    int *losses, int *gone)
{
    const char *name;
    json_t *value;
    size_t i;
    json_object_foreach ((json_t *)whole, name, value) {
        const json_t *left = json_object_get(got, name);
        ida_right right = right_of(guarded_members, name);
        int own = right && may(call, right);
        int same = right &&
                   (ida_right_areas(right) & ida_right_areas(call->asked->operation->right));
        *leaks += right && !own && !same && left;
        *losses += !left && (!right || own);
        *gone += !left;
        if (left) {
            compare(call, value, left, leaks, losses, gone);
        }
    }
    json_array_foreach (whole, i, value) {
        compare(call, value, json_array_get(got, i), leaks, losses, gone);
    }
}

static json_t *answer_of(const ida_operation *op)
{
    json_t *out = ida_json_keep(pool, json_object());
    const ida_field items[] = {OUT_LIST("items", ALWAYS, op->item), OUT_END};
    fill(out, op->output, 6);
    if (op->item) {
        fill(out, items, 6);
    }
    return out;
}

static void members(const ida_operation *op, int scope, int role)
{
    ida_call *call = caller(op, scope, role);
    if (!admitted(call)) {
        return;
    }
    int leaks = 0, losses = 0, gone = 0;
    json_t *whole = answer_of(op);
    call->result = ida_json_keep(pool, json_deep_copy(whole));
    ida_op_omit(call);
    compare(call, whole, call->result, &leaks, &losses, &gone);
    const char *who = role < 0 ? ida_areas_text(pool, IDA_AREAS(scope)) : ida_role_name(role);
    ok(!leaks && !losses, "%s for %s: %d leaked, %d lost", op->name, who, leaks, losses);
    ok((gone > 0) == (json_array_size(json_object_get(call->result, "omitted")) > 0),
       "%s for %s: what is gone is named", op->name, who);
}

/* --- arguments --- */

static void arguments(const ida_operation *op, int scope, int role)
{
    for (const ida_param *p = op->params; p->name; p++) {
        ida_call *call = caller(op, scope, role);
        if (!admitted(call)) {
            return;
        }
        ida_right right = right_of(guarded_arguments, p->name);
        int same = right && (ida_right_areas(right) & ida_right_areas(op->right));
        int want = !right || same || may(call, right);
        ida_kind kind = ida_op_argument_right(call, p);
        if (right || kind) {
            ok(want ? kind == IDA_OK
                    : kind == IDA_FORBIDDEN &&
                          strncmp(call->c->message, p->name, strlen(p->name)) == 0,
               "%s of %s: %s", p->name, op->name, call->c->message ? call->c->message : "taken");
        }
    }
}

int main(void)
{
    setup();
    int walked = 0;
    for (int i = 0; ida_operations[i]; i++) {
        const ida_operation *op = ida_operations[i];
        for (int scope = 0; (op->faces & IDA_ON_REST) && scope < IDA_AREA_COUNT; scope++) {
            members(op, scope, -1);
            arguments(op, scope, -1);
        }
        for (int role = 0; (op->faces & IDA_ON_CONSOLE) && role < IDA_ROLE_COUNT; role++) {
            members(op, 0, role);
            arguments(op, 0, role);
        }
        walked++;
    }
    ok(walked > 40, "%d operations", walked);
    int guarded = 0;
    for (const ida_field *f = ida_person_row_members; f->name; f++) {
        guarded += f->right != IDA_RIGHT_NONE;
    }
    is_int(guarded, 0, "no member of a written row needs a right: nothing is left out of its text");
    return done();
}
