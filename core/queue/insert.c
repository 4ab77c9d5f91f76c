/* Owns the queueing of a task: seats, names, the row and its steps, all inside the caller's
 * transaction under the tenant's lock. Must not know what a payload means, except the one member
 * that decides whether a creation takes a seat. */
#include <string.h>

#include "core/base/correlation.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload.h"
#include "core/queue/inner.h"
#include "core/queue/mark.h"
#include "core/store/rows.h"
#include "core/store/tenant.h"
#include "core/tenant/naming.h"

/* Numbers tried before a format counts as exhausted: a guard against a loop without end, far above
 * any company. */
#define CANDIDATES_MAX 1000000
#define PAYLOAD_LARGE 4096 /* from here on in task_payload_large: those with a photo */

ida_kind queue_seats_used(store *s, ida_ctx *c, const char *tenant, int64_t *used)
{
    return store_number(s, c, STMT_seats_used, DB_ARGS(DB_T(tenant)), used);
}

ida_kind queue_seat_free(store *s, ida_ctx *c, const ida_tenant *tenant)
{
    int64_t used;
    ida_kind kind = tenant->seat_limit < 0 ? IDA_OK : queue_seats_used(s, c, tenant->id, &used);
    if (!kind && tenant->seat_limit >= 0 && used >= tenant->seat_limit) {
        ida_fail(c, IDA_FORBIDDEN,
                 "The tenant's user seat limit is reached: %lld of %lld seats are in use, queued "
                 "creations included. Offboard a user or raise seatLimit in the tenant document.",
                 (long long)used, (long long)tenant->seat_limit);
        kind = ida_because(c, "seatLimit",
                           json_pack("{s:I, s:I}", "used", (json_int_t)used, "limit",
                                     (json_int_t)tenant->seat_limit));
    }
    return kind;
}

ida_kind queue_seat_of_person(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                              const char *task_id, int *counted)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_seat_of_person,
                               DB_ARGS(DB_T(tenant), QUEUE_PERSON(person), DB_T(task_id)), &r);
    *counted = !kind && r.rows ? (int)DB_ROW(number, &r, 0)->number.number : QUEUE_SEAT_NONE;
    return kind;
}

ida_kind queue_task_take_seat(store *s, ida_ctx *c, const char *tenant, const char *task_id)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_seat_take, DB_ARGS(DB_T(tenant), DB_T(task_id)), &r);
    return kind || !r.changes
               ? kind
               : store_write(s, c, STMT_seat_count, DB_ARGS(DB_T(tenant), DB_I(1)), NULL);
}

ida_kind queue_task_move_seat(store *s, ida_ctx *c, const ida_task *task, int *moved)
{
    const char *holder;
    *moved = 0;
    ida_kind kind = store_id(s, c, STMT_seat_of_update,
                             DB_ARGS(DB_T(task->tenant), DB_T(task->who), DB_T(task->id)), &holder);
    if (kind || !holder) {
        return kind;
    }
    kind = store_write(s, c, STMT_seat_give_back, DB_ARGS(DB_T(task->tenant), DB_T(holder)), NULL);
    kind = kind ? kind
                : store_write(s, c, STMT_seat_take, DB_ARGS(DB_T(task->tenant), DB_T(task->id)),
                              NULL);
    *moved = !kind;
    return kind;
}

ida_kind queue_task_give_back_seat(store *s, ida_ctx *c, const char *tenant, const char *task_id)
{
    db_result given;
    const char *heir;
    ida_kind kind = store_write(s, c, STMT_seat_give_back, DB_ARGS(DB_T(tenant), DB_T(task_id)),
                                &given);
    if (kind || !given.changes) {
        return kind;
    }
    kind = store_id(s, c, STMT_seat_heir, DB_ARGS(DB_T(tenant), DB_T(task_id)), &heir);
    if (kind) {
        return kind;
    }
    return heir ? store_write(s, c, STMT_seat_take, DB_ARGS(DB_T(tenant), DB_T(heir)), NULL)
                : store_write(s, c, STMT_seat_count, DB_ARGS(DB_T(tenant), DB_I(-1)), NULL);
}

ida_kind queue_task_seat_of_over(store *s, ida_ctx *c, const char *tenant, const char *who,
                                 const char **id)
{
    return store_id(s, c, STMT_seat_of_over, DB_ARGS(DB_T(tenant), DB_T(who)), id);
}

ida_kind queue_task_free_names(store *s, ida_ctx *c, const char *tenant, const char *task_id)
{
    return store_write(s, c, STMT_address_free, DB_ARGS(DB_T(tenant), DB_T(task_id)), NULL);
}

int queue_task_wants_seat(ida_ctx *c, const ida_task *task)
{
    return task->type == IDA_USER_CREATE &&
           !json_is_false(json_object_get(ida_json_load(c->pool, task->payload), "accountEnabled"));
}

/* The folded addresses numbered first .. first + size - 1. */
static const char *candidates(ida_ctx *c, const char *local, const char *domain, int first,
                              int size)
{
    json_t *list = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < size; i++) {
        const char *candidate = ida_naming_candidate(c->pool, local, domain, first + i);
        json_array_append_new(list, json_string(ida_fold_address(c->pool, candidate)));
    }
    return ida_json_text(c->pool, list);
}

/* Position of the first free one in a list of addresses; -1: all are taken. */
static ida_kind first_free(store *s, ida_ctx *c, const char *tenant, const char *list,
                           const char *task_id, int *position)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_address_first_free,
                               DB_ARGS(DB_T(tenant), DB_T(list), DB_T(task_id)), &r);
    *position = !kind && r.rows ? (int)DB_ROW(number, &r, 0)->number.number : -1;
    return kind;
}

ida_kind queue_address_taken(store *s, ida_ctx *c, const char *tenant, const char *address,
                             const char *task_id, int *taken)
{
    db_result r;
    ida_kind kind = store_read(
        s, c, STMT_address_used,
        DB_ARGS(DB_T(tenant), DB_T(ida_fold_address(c->pool, address)), DB_T(task_id)), &r);
    *taken = !kind && r.rows != 0;
    return kind;
}

ida_kind queue_address_choose(store *s, ida_ctx *c, const char *tenant, const char *local,
                              const char *domain, const char *task_id, char **address)
{
    /* Most names are free; for the others larger batches keep the number of statements small. */
    int taken;
    *address = ida_naming_candidate(c->pool, local, domain, 1);
    ida_kind kind = queue_address_taken(s, c, tenant, *address, task_id, &taken);
    if (kind || !taken) {
        return kind;
    }
    for (int first = 2, size = 4; first < CANDIDATES_MAX;
         first += size, size = size < 256 ? size * 4 : 256) {
        int position;
        kind = first_free(s, c, tenant, candidates(c, local, domain, first, size), task_id,
                          &position);
        if (kind) {
            return kind;
        }
        if (position >= 0) {
            *address = ida_naming_candidate(c->pool, local, domain, first + position);
            return IDA_OK;
        }
    }
    return ida_fail(c, IDA_CONFLICT, "Every address %s@%s with a number up to %d is taken.", local,
                    domain, CANDIDATES_MAX);
}

ida_kind queue_address_reserve(store *s, ida_ctx *c, const char *tenant, const char *address,
                               const char *task_id)
{
    const char *folded = ida_fold_address(c->pool, address);
    db_result r;
    ida_kind kind = store_write(s, c, STMT_address_reserve,
                                DB_ARGS(DB_T(tenant), DB_T(folded), DB_T(task_id)), &r);
    if (kind || r.changes) {
        return kind;
    }
    const char *holder;
    kind = store_id(s, c, STMT_address_holder, DB_ARGS(DB_T(tenant), DB_T(folded)), &holder);
    if (kind) {
        return kind;
    }
    if (!holder || strcmp(holder, task_id) != 0) {
        return ida_fail(c, IDA_CONFLICT, "The address %s is reserved by another task.", address);
    }
    return IDA_OK;
}

ida_kind queue_task_put_step(store *s, ida_ctx *c, const ida_task *task, const ida_step *step)
{
    return store_write(
        s, c, STMT_task_step_put,
        DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_I(step->position), DB_T(step->name),
                DB_T(step->workflow), DB_I(step->workflow_position), DB_T(step->account),
                DB_T(ida_outcome_text(step->outcome)), DB_T(step->detail), DB_I(step->at)),
        NULL);
}

ida_kind queue_task_name(store *s, ida_ctx *c, ida_task *task)
{
    const queue_person person = queue_person_of(task);
    db_result r;
    ida_kind kind = store_read(s, c, STMT_task_last_of_person,
                               DB_ARGS(DB_T(task->tenant), QUEUE_PERSON(&person)), &r);
    const row_task_last *last = kind ? NULL : DB_ROW(task_last, &r, 0);
    task->id = ida_new_id_after(c->pool, c->env, last && r.rows ? last->id.text : NULL);
    if (!kind && r.rows && task->object_id && strcmp(last->who.text, task->person) != 0) {
        task->who = last->who.text;
    }
    return kind;
}

static const char *who_of(const ida_task *t)
{
    return t->who ? t->who : t->object_id ? t->object_id : t->person;
}

/* Small payloads are not counted: a company's tasks as such are bounded by its rates. */
static ida_kind payload_fits(store *s, ida_ctx *c, const ida_task *t, size_t bytes)
{
    ida_tenant *tenant;
    int64_t used = 0;
    if (bytes < PAYLOAD_LARGE) {
        return IDA_OK;
    }
    ida_kind kind = store_tenant_get(s, c, t->tenant, &tenant, NULL);
    kind = kind ? kind
                : store_number(s, c, STMT_task_payload_queued, DB_ARGS(DB_T(t->tenant)), &used);
    if (kind || used + (int64_t)bytes <= tenant->queued_megabytes * 1048576) {
        return kind;
    }
    return ida_fail(c, IDA_FORBIDDEN,
                    "The photos of queued and failed tasks take %lld of the %lld MB that "
                    "queuedMegabytes of the tenant document allows. Send this one without a photo, "
                    "wait until some are carried out, cancel failed ones that will not be retried, "
                    "or raise queuedMegabytes.",
                    (long long)((used + 1048575) / 1048576), (long long)tenant->queued_megabytes);
}

static ida_kind put_payload(store *s, ida_ctx *c, const ida_task *task, const char *payload)
{
    return store_write(
        s, c, STMT_task_payload_set,
        DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_T(payload), DB_I(strlen(payload))), NULL);
}

ida_kind queue_task_put_payload(store *s, ida_ctx *c, const ida_task *task, const char *payload)
{
    ida_kind kind = put_payload(s, c, task, payload);
    return kind ? kind : queue_mark(s, c, task->tenant, task->id, QUEUE_MARK_PAYLOAD, 0);
}

ida_kind queue_task_drop_photo(store *s, ida_ctx *c, const ida_task *task, int untold)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_task_payload_get,
                               DB_ARGS(DB_T(task->tenant), DB_T(task->id)), &r);
    const char *text = kind ? NULL : DB_ROW(task_payload, &r, 0)->payload.text;
    json_t *payload = text && strlen(text) >= PAYLOAD_LARGE ? ida_json_load(c->pool, text) : NULL;
    if (kind || !json_is_string(json_object_get(payload, "profilePhoto"))) {
        return kind;
    }
    json_object_del(payload, "profilePhoto");
    if (untold) {
        json_object_set_new(payload, IDA_PHOTO_LEFT, json_true());
    }
    return put_payload(s, c, task, ida_json_text(c->pool, payload));
}

static ida_kind insert(store *s, ida_ctx *c, void *baton)
{
    const ida_task *t = baton;
    const char *payload = t->payload ? t->payload : "{}";
    ida_kind kind = payload_fits(s, c, t, strlen(payload));
    if (kind) {
        return kind;
    }
    kind = store_write(
        s, c, STMT_task_insert,
        DB_ARGS(DB_T(t->tenant), DB_T(t->id), DB_T(ida_task_type_text(t->type)),
                DB_T(ida_task_state_text(t->state)), DB_T(ida_directory_name(t->directory)),
                DB_T(t->person), DB_T(t->object_id), DB_T(t->upn), DB_T(t->mail),
                DB_T(t->display_name), DB_T(t->wall_date), DB_T(t->wall_time), DB_I(t->wall_fixed),
                DB_I(t->due_at), DB_I(t->next_at ? t->next_at : t->due_at),
                DB_I(t->created_at ? t->created_at : ida_now(c->env)), DB_I(t->seat), DB_T(t->zone),
                DB_T(t->marker), DB_T(t->progress ? t->progress : "{}"),
                DB_T(t->warnings ? t->warnings : "[]"), DB_T(t->username),
                DB_T(t->label ? t->label : ""), DB_I(t->disables || t->type == IDA_USER_DELETE),
                DB_T(t->employee_id), DB_T(t->via ? t->via : "rest"), DB_T(who_of(t)),
                DB_T(ida_correlation_id(c->env)), DB_T(ida_correlation_trace(c->env))),
        NULL);
    if (!kind) {
        kind = store_write(
            s, c, STMT_task_payload_insert,
            DB_ARGS(DB_T(t->tenant), DB_T(t->id), DB_T(payload), DB_I(strlen(payload))), NULL);
    }
    for (int i = 0; !kind && i < t->step_count; i++) {
        kind = queue_task_put_step(s, c, t, &t->steps[i]);
    }
    if (!kind && t->seat) {
        kind = store_write(s, c, STMT_seat_count, DB_ARGS(DB_T(t->tenant), DB_I(1)), NULL);
    }
    kind = kind ? kind : queue_mark(s, c, t->tenant, t->id, QUEUE_MARK_MADE, 0);
    return kind ? kind : store_notify(s, c, QUEUE_CHANNEL);
}

ida_kind queue_task_insert(store *s, ida_ctx *c, const ida_task *task)
{
    return store_transaction(s, c, insert, (void *)(uintptr_t)task);
}
