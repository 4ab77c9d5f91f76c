/* Owns events: their numbers, form and retention. Must not know how they are sent.
 *
 * A reader that has seen number n asks for numbers above n, so no event may appear below a
 * number that was seen. Numbers are therefore assigned under the lock of the tenant's row in
 * event_counter, which is held until the end of the transaction: the next number is assigned
 * only when this one is visible to all readers or was rolled back. A sequence of the engine
 * would assign numbers that become visible in another order. (SQLite has one writer at a time
 * anyway.) */
#include "core/queue/event.h"

#include <apr_strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/rows.h"
#include "core/zone/schedule.h"

#define TYPE_BEGINS "task." /* then the state */
#define EVENT "event"       /* purpose of its proof */

ida_kind queue_event_tell(store *s, ida_ctx *c, const ida_task *task, ida_task_state state,
                          int64_t at, const char *error)
{
    const char *type = apr_pstrcat(c->pool, TYPE_BEGINS, ida_task_state_text(state), NULL),
               *id = apr_pstrcat(c->pool, "evt_", ida_new_id(c->pool, c->env), NULL);
    const queue_event told = {.id = id,
                              .type = type,
                              .at = at,
                              .error = error,
                              .task_id = task->id,
                              .task_type = ida_task_type_text(task->type),
                              .directory = ida_directory_name(task->directory),
                              .object_id = task->object_id,
                              .upn = task->upn,
                              .display_name = task->display_name,
                              .due_at = task->due_at,
                              .zone = task->zone,
                              .username = task->username,
                              .label = task->label,
                              .correlation = task->correlation};
    const char *body = ida_json_text(
        c->pool, ida_json_keep(c->pool, queue_event_json(c, task->tenant, &told)));
    db_result r;
    ida_kind kind = store_write(s, c, STMT_event_next, DB_ARGS(DB_T(task->tenant)), &r);
    int64_t seq = kind ? 0 : DB_ROW(number, &r, 0)->number.number;
    kind = kind ? kind
                : store_write(s, c, STMT_event_insert,
                              DB_ARGS(DB_T(task->tenant), DB_I(seq), DB_T(id), DB_T(type),
                                      DB_T(task->id), DB_I(at), DB_T(error), DB_T(body),
                                      DB_T(ida_seal_statement(c, EVENT, id, body))),
                              NULL);
    return kind ? kind
                : store_write(s, c, STMT_event_tell,
                              DB_ARGS(DB_T(task->tenant), DB_I(seq), DB_T(task->who),
                                      DB_T(task->object_id), DB_T(type)),
                              NULL);
}

int queue_event_is_ours(ida_ctx *c, const queue_event *event)
{
    return event->body && ida_seal_statement_holds(c, EVENT, event->id, event->body, event->proof);
}

STORE_FILL(event_of, queue_event, event, .seq = row->seq.number, .id = row->id.text,
           .type = row->type.text, .at = row->at.number, .error = row->error.text,
           .task_id = row->task_id.text, .task_type = row->task_type.text,
           .directory = row->directory.text, .object_id = row->object_id.text, .upn = row->upn.text,
           .display_name = row->display_name.text, .due_at = row->due_at.number,
           .zone = row->zone.text, .username = row->username.text, .label = row->label.text,
           .correlation = row->correlation.text, .trace = row->trace.text,
           .task_state = row->task_state.text, .body = row->body.text, .proof = row->proof.text)

ida_kind queue_event_list(store *s, ida_ctx *c, const char *tenant, int64_t after, int max,
                          const queue_event **rows, int *count)
{
    return store_rows(s, c, STMT_event_list, DB_ARGS(DB_T(tenant), DB_I(after), DB_I(max)),
                      event_of, sizeof **rows, rows, count);
}

ida_kind queue_event_bounds(store *s, ida_ctx *c, const char *tenant, int64_t *first, int64_t *last)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_event_bounds, DB_ARGS(DB_T(tenant)), &r);
    if (!kind) {
        const row_event_bounds *row = DB_ROW(event_bounds, &r, 0);
        *last = row->last.number;
        *first = row->first.number ? row->first.number : row->last.number + 1;
    }
    return kind;
}

/* The state at the time of the event: the task may have another one by now. */
json_t *queue_event_json(ida_ctx *c, const char *tenant, const queue_event *e)
{
    json_t *out = json_object(), *task = json_object();
    ida_json_put(out, "id", e->id);
    ida_json_put(out, "type", e->type);
    ida_json_put_time(out, "at", e->at);
    ida_json_put(out, "companyId", tenant);
    json_object_set_new(out, "task", task);
    ida_json_put(task, "id", e->task_id);
    ida_json_put(task, "type", e->task_type);
    ida_json_put(task, "state", e->type + sizeof TYPE_BEGINS - 1);
    ida_json_put_or_null(task, "userId", e->object_id);
    ida_json_put(task, "userPrincipalName", e->upn);
    ida_json_put_or_null(task, "displayName", e->display_name);
    ida_json_put(task, "directory", e->directory);
    ida_json_put(task, "scheduledAt", zone_schedule_local(c, e->zone, e->due_at));
    json_object_set_new(task, "requestedBy",
                        ida_json_texts("username", e->username, "label", e->label, NULL));
    ida_json_put_or_null(task, "correlationId", e->correlation);
    ida_json_put_or_null(task, "error", e->error);
    return out;
}

ida_kind queue_event_retain(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                            int *removed)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_event_retain,
                                DB_ARGS(DB_T(tenant), DB_I(before), DB_I(max)), &r);
    *removed = kind ? 0 : (int)r.changes;
    return kind;
}
