/* Owns tasks as they are read: rows, steps, lists. Changes nothing. */
#include <string.h>

#include "core/base/json.h"
#include "core/queue/inner.h"
#include "core/queue/revoked.h"
#include "core/store/rows.h"

#define HOUR_MS INT64_C(3600000) /* the brake's period */
#define STEP_BATCH 256           /* tasks whose steps are read by one statement */

ida_kind queue_task_missing(ida_ctx *c, const char *id)
{
    return ida_fail(c, IDA_NOT_FOUND, "There is no task %s.", id);
}

ida_kind queue_task_of_row(ida_ctx *c, const db_result *r, int row, ida_task *task)
{
    const row_task *t = DB_ROW(task, r, row);
    int type = ida_task_type_parse(t->type.text), state = ida_task_state_parse(t->state.text);
    int directory = ida_directory_parse(t->directory.text);
    if (type < 0 || state < 0 || directory < 0) {
        ida_log(
            c->env, IDA_LOG_ERROR, "IDA0020",
            "task %s has a type, state or directory that this program does not know: %s, %s, %s",
            t->id.text, t->type.text, t->state.text, t->directory.text);
        return ida_fail(c, IDA_INTERNAL_ERROR, "A task in the store is damaged.");
    }
    *task = (ida_task){.id = t->id.text,
                       .tenant = t->tenant_id.text,
                       .type = (ida_task_type)type,
                       .state = (ida_task_state)state,
                       .directory = (ida_directory_kind)directory,
                       .person = t->person.text,
                       .who = t->who.text,
                       .object_id = t->object_id.text,
                       .upn = t->upn.text,
                       .mail = t->mail.text,
                       .display_name = t->display_name.text,
                       .wall_date = t->wall_date.text,
                       .wall_time = t->wall_time.text,
                       .zone = t->zone.text,
                       .wall_fixed = (int)t->wall_fixed.number,
                       .due_at = t->due_at.number,
                       .next_at = t->next_at.number,
                       .created_at = t->created_at.number,
                       .started_at = t->started_at.number,
                       .finished_at = t->finished_at.number,
                       .attempts = t->attempts.number,
                       .fence = t->fence.number,
                       .lease_owner = t->lease_owner.text,
                       .lease_until = t->lease_until.number,
                       .heartbeat = t->heartbeat.number,
                       .seat = (int)t->seat.number,
                       .released = t->released.text,
                       .marker = t->marker.text,
                       .progress = t->progress.text,
                       .warnings = t->warnings.text,
                       .error = t->error.text,
                       .username = t->username.text,
                       .label = t->label.text,
                       .via = t->via.text,
                       .change = t->change.text,
                       .change_by = t->change_by.text,
                       .change_at = t->change_at.number,
                       .disables = (int)t->disables.number,
                       .correlation = t->correlation.text,
                       .trace = t->trace.text,
                       .hold = t->hold_reason.text,
                       .hold_since = t->hold_since.number,
                       .hold_until = t->hold_until.number};
    return IDA_OK;
}

static ida_task *task_with(ida_task *tasks, int count, const char *id)
{
    while (count > 0 && strcmp(tasks[count - 1].id, id) != 0) {
        count--;
    }
    return count ? &tasks[count - 1] : NULL;
}

/* The rows of a task come together, so its steps are a part of one array. */
static ida_kind load_batch(store *s, ida_ctx *c, const char *tenant, ida_task *tasks, int count)
{
    db_result r;
    json_t *ids = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(ids, json_string(tasks[i].id));
    }
    ida_kind kind = store_read(s, c, STMT_task_steps,
                               DB_ARGS(DB_T(tenant), DB_T(ida_json_text(c->pool, ids))), &r);
    ida_step *steps = kind ? NULL : apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *steps);
    ida_task *task = NULL;
    for (int row = 0; !kind && row < r.rows; row++) {
        const row_step *step = DB_ROW(step, &r, row);
        const char *id = step->task_id.text;
        int outcome = ida_outcome_parse(step->outcome.text);
        if (!task || strcmp(task->id, id) != 0) {
            task = task_with(tasks, count, id);
            if (!task) {
                return ida_fail(c, IDA_INTERNAL_ERROR,
                                "A step in the store is of no task asked for.");
            }
            task->steps = &steps[row];
        }
        if (outcome < 0) {
            ida_log(c->env, IDA_LOG_ERROR, "IDA0021",
                    "a step of task %s has the unknown outcome \"%s\"", id, step->outcome.text);
            return ida_fail(c, IDA_INTERNAL_ERROR, "A task in the store is damaged.");
        }
        task->step_count++;
        steps[row] = (ida_step){.position = (int)step->position.number,
                                .name = step->name.text,
                                .outcome = (ida_outcome)outcome,
                                .detail = step->detail.text,
                                .at = step->at.number,
                                .workflow = step->workflow.text,
                                .workflow_position = (int)step->workflow_position.number,
                                .account = step->account.text};
    }
    return kind;
}

/* Of the offboardings among the tasks. */
static ida_kind load_revoked(store *s, ida_ctx *c, const char *tenant, ida_task *tasks, int count)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids);
    const queue_revoked *of;
    int leavers = 0;
    for (int i = 0; i < count; i++) {
        if (tasks[i].type == IDA_USER_DELETE && tasks[i].started_at) {
            ids[leavers++] = tasks[i].id;
        }
    }
    ida_kind kind = queue_revoked_load(s, c, tenant, ids, leavers, &of);
    for (int i = 0; !kind && leavers && i < count; i++) {
        for (int n = 0; n < tasks[i].step_count; n++) {
            ida_step *step = &tasks[i].steps[n];
            int sweep = !step->workflow && strcmp(step->name, "revokeMemberships") == 0;
            json_t *revoked, *kept;
            if (tasks[i].type != IDA_USER_DELETE || !step->outcome || (!sweep && !step->workflow)) {
                continue;
            }
            queue_revoked_lists(c, of, tasks[i].id,
                                !sweep          ? NULL
                                : step->account ? step->account
                                                : ida_directory_name(tasks[i].directory),
                                sweep ? QUEUE_REVOKED_SWEEP : step->position, &revoked, &kept);
            if (sweep || json_array_size(revoked)) {
                step->revoked = revoked;
                step->not_revoked = kept;
            }
        }
    }
    return kind;
}

ida_kind queue_task_load_steps(store *s, ida_ctx *c, const char *tenant, ida_task *tasks, int count)
{
    ida_kind kind = IDA_OK;
    for (int at = 0; !kind && at < count; at += STEP_BATCH) {
        int batch = count - at < STEP_BATCH ? count - at : STEP_BATCH;
        kind = load_batch(s, c, tenant, tasks + at, batch);
        kind = kind ? kind : load_revoked(s, c, tenant, tasks + at, batch);
    }
    return kind;
}

static ida_kind one_task(store *s, ida_ctx *c, const db_result *r, int with_payload, ida_task **out)
{
    ida_task *task = apr_palloc(c->pool, sizeof *task);
    ida_kind kind = queue_task_of_row(c, r, 0, task);
    if (!kind) {
        kind = queue_task_load_steps(s, c, task->tenant, task, 1);
    }
    if (!kind && with_payload) {
        db_result payload;
        kind = store_read(s, c, STMT_task_payload_get, DB_ARGS(DB_T(task->tenant), DB_T(task->id)),
                          &payload);
        task->payload = kind ? NULL : DB_ROW(task_payload, &payload, 0)->payload.text;
    }
    *out = kind ? NULL : task;
    return kind;
}

ida_kind queue_task_get(store *s, ida_ctx *c, const char *tenant, const char *id, int with_payload,
                        ida_task **task)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_task_get, DB_ARGS(DB_T(tenant), DB_T(id)), &r);
    if (kind) {
        return kind;
    }
    return r.rows ? one_task(s, c, &r, with_payload, task) : queue_task_missing(c, id);
}

queue_person queue_person_of(const ida_task *task)
{
    return (queue_person){task->who ? task->who : task->object_id,
                          task->other_id ? task->other_id : task->object_id, task->person};
}

ida_kind queue_task_open(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                         ida_task_type type, ida_task **task)
{
    db_result r;
    ida_kind kind = store_read(
        s, c, STMT_task_open,
        DB_ARGS(DB_T(tenant), QUEUE_PERSON(person), DB_T(ida_task_type_text(type))), &r);
    if (kind) {
        return kind;
    }
    return r.rows
               ? one_task(s, c, &r, 0, task)
               : ida_fail(c, IDA_NOT_FOUND, "There is no open task of type %s for %s.",
                          ida_task_type_text(type), person->address ? person->address : person->id);
}

ida_kind queue_task_stranger(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                             ida_task **task)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_task_stranger,
                               DB_ARGS(DB_T(tenant), DB_T(person->address ? person->address : ""),
                                       DB_T(person->id ? person->id : ""),
                                       DB_T(person->other_id ? person->other_id : "")),
                               &r);
    *task = NULL;
    return kind || !r.rows ? kind : one_task(s, c, &r, 0, task);
}

static void who_of(const db_result *r, int i, void *out)
{
    *(const char **)out = DB_ROW(who, r, i)->who.text;
}

ida_kind queue_task_whos(store *s, ida_ctx *c, const char *tenant, const char *address, int max,
                         const char ***whos, int *count)
{
    return store_rows(s, c, STMT_task_whos, DB_ARGS(DB_T(tenant), DB_T(address), DB_I(max)), who_of,
                      sizeof **whos, whos, count);
}

ida_kind queue_task_leaver(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           int64_t at, const char **id, const char **upn)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_task_leaver,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(at)),
                               &r);
    *id = kind ? NULL : DB_ROW(task_upn, &r, 0)->id.text;
    *upn = kind ? NULL : DB_ROW(task_upn, &r, 0)->upn.text;
    return kind;
}

ida_kind queue_task_disablings_expected(store *s, ida_ctx *c, const char *tenant, const char *but,
                                        int64_t at, int64_t *count)
{
    int64_t from = at - HOUR_MS, due_from = from < ida_now(c->env) ? 0 : from;
    return store_number(s, c, STMT_disablings_expected,
                        DB_ARGS(DB_T(tenant), DB_I(from), DB_I(at), DB_I(due_from), DB_T(but)),
                        count);
}

STORE_FILL(named_of, ida_task, task_upn, .id = row->id.text, .upn = row->upn.text)

ida_kind queue_task_naming_manager(store *s, ida_ctx *c, const char *tenant, const char *person,
                                   int limit, ida_task **tasks, int *count)
{
    return store_rows(s, c, STMT_task_naming_manager,
                      DB_ARGS(DB_T(tenant), DB_T(person), DB_I(limit)), named_of, sizeof **tasks,
                      tasks, count);
}
