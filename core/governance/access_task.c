/* Owns the tasks that carry access into a directory, from queueing them to the meaning of their
 * steps, and the end of all grants of a person who has left. Must not call a directory. */
#include "core/governance/grant.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/decision.h"
#include "core/governance/whom.h"
#include "core/queue/change.h"
#include "core/store/audit.h"
#include "core/zone/schedule.h"

#define ENDED_MAX 10000 /* assignments or requests of one person */

/* --- orders --- */

static const char *step_name(ida_ctx *c, ida_task_type type, const access_item *item)
{
    static const char *const verbs[2][2] = {{"addToGroup", "assignLicense"},
                                            {"removeFromGroup", "removeLicense"}};
    return ida_printf(c->pool, "%s %s", verbs[type == IDA_ACCESS_REVOKE][item->license],
                      ida_clean(c->pool, item->name, strlen(item->name), 200));
}

static json_t *item_json(const access_item *item)
{
    return json_pack("{s:s, s:s?, s:s}", "kind", item->license ? "license" : "group", "id",
                     item->id, "name", item->name);
}

ida_kind governance_grant_order(store *s, ida_ctx *c, const access_order *order,
                                const char **task_id)
{
    zone_due due;
    json_t *items = json_array();
    json_t *payload = ida_json_keep(
        c->pool, json_pack("{s:s, s:s, s:s, s:o}", "source", order->by->source, "sourceId",
                           order->by->id, "sourceName", order->by->name, "items", items));
    ida_json_put(payload, "approvedBy", order->approved_by);
    ida_json_put(payload, "approvedById", order->approved_by_id);
    ida_task *task = apr_pcalloc(c->pool, sizeof *task);
    *task_id = NULL;
    task->steps = apr_pcalloc(c->pool, sizeof *task->steps * (apr_size_t)(order->count + 1));
    for (int i = 0; i < order->count; i++) {
        if (order->items[i].directory == order->directory) {
            json_array_append_new(items, item_json(&order->items[i]));
            task->steps[task->step_count] = (ida_step){.position = task->step_count + 1,
                                                       .name = step_name(c, order->type,
                                                                         &order->items[i])};
            task->step_count++;
        }
    }
    if (!task->step_count) {
        return IDA_OK;
    }
    ida_kind kind = zone_schedule(c, ZONE_DUE_CREATE, order->tenant->time_zone, NULL, NULL, &due);
    if (kind) {
        return kind;
    }
    task->tenant = order->tenant->id;
    task->type = order->type;
    task->state = IDA_QUEUED;
    task->directory = order->directory;
    task->object_id = order->user_id;
    task->upn = order->upn;
    task->person = ida_fold_address(c->pool, order->upn);
    task->who = order->person.id;
    task->other_id = order->person.other_id;
    task->display_name = order->display_name;
    task->wall_date = due.date;
    task->wall_time = due.time;
    task->zone = due.zone;
    task->due_at = due.at_ms;
    task->payload = ida_json_text(c->pool, payload);
    task->progress = "{}";
    task->warnings = "[]";
    task->username = order->username;
    task->label = order->label ? order->label : "";
    task->via = order->via;
    kind = queue_task_name(s, c, task);
    kind = kind ? kind : queue_task_insert(s, c, task);
    *task_id = kind ? NULL : task->id;
    return kind;
}

ida_kind governance_grant_of_task(ida_ctx *c, const ida_task *task, access_grantor *by,
                                  const access_item **items, int *count)
{
    const json_t *payload = ida_json_load(c->pool, task->payload ? task->payload : "{}"),
                 *list = json_object_get(payload, "items"), *one;
    const char *source = ida_json_string(payload, "source");
    size_t i;
    *by = (access_grantor){source && strcmp(source, governance_by_request) == 0
                               ? governance_by_request
                               : governance_by_template,
                           ida_json_string(payload, "sourceId"),
                           ida_json_string(payload, "sourceName")};
    access_item *all = apr_palloc(c->pool, (json_array_size(list) + 1) * sizeof *all);
    *count = 0;
    json_array_foreach ((json_t *)list, i, one) {
        const char *kind = ida_json_string(one, "kind"), *id = ida_json_string(one, "id"),
                   *name = ida_json_string(one, "name");
        if (kind && name && (id || strcmp(kind, "group") == 0)) {
            all[(*count)++] = (access_item){strcmp(kind, "license") == 0, task->directory, id,
                                            name};
        }
    }
    *items = all;
    return by->id && by->name && *count == (int)json_array_size(list)
               ? IDA_OK
               : ida_fail(c, IDA_INTERNAL_ERROR, "The payload of task %s is damaged.", task->id);
}

/* --- the end --- */

typedef struct ending {
    db_statement list, end; /* list: rows of (ID, name) */
    const char *action, *member;
} ending;

static const ending end_assignments = {STMT_leave_assignments, STMT_leave_unassign, "role.unassign",
                                       "roleTemplate"};
static const ending end_approved = {STMT_leave_approved, STMT_leave_end, "request.end", "service"};
static const ending end_open = {STMT_leave_open, STMT_leave_withdraw, "request.withdraw",
                                "service"};

static ida_kind note_end(store *s, ida_ctx *c, const ida_task *task, const ending *e,
                         const char *id, const char *name)
{
    audit_record *record = audit_make(c, task->tenant, "workflow");
    record->actor = "worker";
    record->label = "";
    record->action = e->action;
    record->target = task->upn;
    record->outcome = "ok";
    record->parameters = ida_json_text(
        c->pool, ida_json_keep(c->pool, json_pack("{s:s, s:s, s:s}", "taskId", task->id, e->member,
                                                  name, "id", id)));
    record->detail = task->type == IDA_USER_DELETE ? "ended with the offboarding" : NULL;
    return store_audit_add(s, c, record);
}

static ida_kind end_all(store *s, ida_ctx *c, const ida_task *task, const queue_person *person,
                        const ending *e, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, e->list,
                               DB_ARGS(DB_T(task->tenant), QUEUE_PERSON(person), DB_I(ENDED_MAX)),
                               &r);
    *count = kind ? 0 : r.rows;
    for (int row = 0; !kind && row < r.rows; row++) {
        const row_named *grant = DB_ROW(named, &r, row);
        kind = note_end(s, c, task, e, grant->id.text, grant->name.text);
    }
    return kind || !r.rows ? kind
                           : store_write(s, c, e->end,
                                         DB_ARGS(DB_T(task->tenant), QUEUE_PERSON(person),
                                                 DB_I(ida_now(c->env))),
                                         NULL);
}

ida_kind governance_role_unassign_all(store *s, ida_ctx *c, const ida_task *task, int *count)
{
    queue_person person;
    ida_kind kind = governance_person_of_task(s, c, task, &person);
    *count = 0;
    return kind ? kind : end_all(s, c, task, &person, &end_assignments, count);
}

ida_kind governance_grant_leave(store *s, ida_ctx *c, const ida_task *offboarding)
{
    static const ending *const ends[] = {&end_assignments, &end_approved, &end_open};
    queue_person person;
    ida_kind kind = governance_person_of_task(s, c, offboarding, &person);
    int count;
    for (size_t i = 0; !kind && i < sizeof ends / sizeof *ends; i++) {
        kind = end_all(s, c, offboarding, &person, ends[i], &count);
    }
    return kind || !offboarding->object_id
               ? kind
               : store_write(s, c, STMT_leave_grants,
                             DB_ARGS(DB_T(offboarding->tenant), DB_T(offboarding->object_id)),
                             NULL);
}
