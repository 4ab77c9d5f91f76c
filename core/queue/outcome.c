/* Owns what a run writes: steps, values that must be on disk before a call, the end. Every write is
 * under the fencing number, so that no write of a run that lost its lease succeeds.
 *
 * On PostgreSQL all creations of a tenant wait for each other's commits where seats are
 * released, so the tenant's row is locked as late as possible: after the task's own, and just
 * before the end. Code that locks the tenant first does not touch the rows of running tasks
 * (core/queue/change.c). If two transactions deadlock nevertheless, the server rolls one of them
 * back, and it is repeated. */
#include <string.h>

#include "core/base/text.h"
#include "core/queue/claim.h"
#include "core/queue/event.h"
#include "core/queue/inner.h"
#include "core/queue/mark.h"
#include "core/store/audit.h"
#include "core/store/tenant.h"

typedef struct outcome {
    const ida_task *task;
    const ida_step *step;
    const queue_task_change *change;
    const char *progress, *object_id, *error, *warnings;
    ida_task_state state;
    int64_t next_at;
    int counts, later;
    const audit_record *audit;
} outcome;

#define FENCED(task) DB_T((task)->tenant), DB_T((task)->id), DB_I((task)->fence)
/* A write under the fence: IDA_CONFLICT if it changed no row, or if the task was changed
 * meanwhile. */
static ida_kind fenced(store *s, ida_ctx *c, const ida_task *task, db_statement statement,
                       db_args args)
{
    db_result r;
    ida_kind kind = store_write(s, c, statement, args, &r);
    return kind || r.changes
               ? kind
               : ida_fail(c, IDA_CONFLICT, "The lease on task %s (fence %lld) is lost.", task->id,
                          (long long)task->fence);
}

static ida_kind audited(store *s, ida_ctx *c, const outcome *o)
{
    return o->audit ? store_audit_add(s, c, o->audit) : IDA_OK;
}

static ida_kind put_step(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    ida_kind kind = fenced(s, c, o->task, STMT_queue_progress,
                           DB_ARGS(FENCED(o->task), DB_T(o->progress)));
    kind = kind ? kind : queue_task_put_step(s, c, o->task, o->step);
    return kind ? kind : audited(s, c, o);
}

ida_kind queue_step(store *s, ida_ctx *c, const ida_task *task, const ida_step *step,
                    const char *progress, const struct audit_record *audit)
{
    outcome o = {.task = task, .step = step, .progress = progress, .audit = audit};
    return store_transaction(s, c, put_step, &o);
}

/* A person without an ID is locked by UPN: a new UPN moves the lock, and so does the ID once it
 * is known. */
static ida_kind move_person(store *s, ida_ctx *c, const ida_task *task, const char *who)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_queue_person_relock,
                                DB_ARGS(DB_T(task->tenant), DB_T(who), DB_T(task->id)), &r);
    if (!kind && !r.changes) {
        return ida_fail(c, IDA_CONFLICT, "Another task of %s is running.", who);
    }
    return kind ? kind
                : store_write(s, c, STMT_queue_person_unlock_but,
                              DB_ARGS(DB_T(task->tenant), DB_T(who), DB_T(task->id)), NULL);
}

/* Reserves the task's names from now on and releases the others. */
static ida_kind change_names(store *s, ida_ctx *c, const ida_task *old,
                             const queue_task_change *change)
{
    const char *upn = ida_fold_address(c->pool, change->upn ? change->upn : old->upn);
    const char *given = change->mail ? change->mail : old->mail;
    const char *mail = given ? ida_fold_address(c->pool, given) : upn;
    ida_kind kind = queue_address_reserve(s, c, old->tenant, upn, old->id);
    if (!kind && strcmp(upn, mail) != 0) {
        kind = queue_address_reserve(s, c, old->tenant, mail, old->id);
    }
    if (kind == IDA_CONFLICT) {
        return ida_fail(c, IDA_UNPROCESSABLE, "%s", c->message);
    }
    return kind ? kind
                : store_write(s, c, STMT_address_free_but,
                              DB_ARGS(DB_T(old->tenant), DB_T(old->id), DB_T(upn), DB_T(mail)),
                              NULL);
}

/* The task's new person; NULL: unchanged. */
static const char *new_who(const ida_task *old, const queue_task_change *change, const char *person)
{
    const char *who = old->object_id ? NULL : change->object_id ? change->object_id : person;
    return who && strcmp(who, old->who) != 0 ? who : NULL;
}

/* Whose account it is. */
static ida_kind mark_account(store *s, ida_ctx *c, const ida_task *task)
{
    return queue_mark(s, c, task->tenant, task->id, QUEUE_MARK_PAYLOAD, 0);
}

static ida_kind put_change(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    const queue_task_change *ch = o->change;
    const char *person = ch->upn ? ida_fold_address(c->pool, ch->upn) : NULL, *who = NULL;
    ida_task *old;
    ida_kind kind = IDA_OK;
    if (ch->upn || ch->mail || ch->object_id) {
        kind = fenced(s, c, o->task, STMT_queue_progress, DB_ARGS(FENCED(o->task), DB_T(NULL)));
        kind = kind ? kind
                    : queue_task_get(s, c, o->task->tenant, o->task->id, 0,
                                     &old); /* under the row's lock: the names as they are now */
        kind = kind || !(ch->upn || ch->mail) ? kind : change_names(s, c, old, ch);
        who = kind ? NULL : new_who(old, ch, person);
        kind = who ? move_person(s, c, old, who) : kind;
    }
    kind = kind ? kind
                : fenced(s, c, o->task, STMT_queue_change,
                         DB_ARGS(FENCED(o->task), DB_T(ch->upn), DB_T(person), DB_T(ch->mail),
                                 DB_T(ch->display_name), DB_T(ch->marker), DB_T(ch->progress),
                                 DB_T(ch->object_id), DB_T(ch->warnings), DB_T(who)));
    return kind || !ch->object_id ? kind : mark_account(s, c, o->task);
}

ida_kind queue_change(store *s, ida_ctx *c, const ida_task *task, const queue_task_change *change)
{
    outcome o = {.task = task, .change = change};
    return store_transaction(s, c, put_change, &o);
}

static ida_kind give_back(store *s, ida_ctx *c, const ida_task *task)
{
    ida_kind kind = queue_task_give_back_seat(s, c, task->tenant, task->id);
    return kind ? kind : queue_task_free_names(s, c, task->tenant, task->id);
}

static ida_kind account_made(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    ida_kind kind = fenced(s, c, o->task, STMT_queue_made,
                           DB_ARGS(FENCED(o->task), DB_T(o->object_id)));
    kind = kind || !o->object_id ? kind : move_person(s, c, o->task, o->object_id);
    kind = kind || !o->object_id ? kind : mark_account(s, c, o->task);
    kind = kind ? kind : queue_task_put_step(s, c, o->task, o->step);
    kind = kind ? kind : audited(s, c, o);
    if (kind || o->later) {
        return kind;
    }
    kind = store_tenant_lock(s, c, o->task->tenant);
    return kind ? kind : give_back(s, c, o->task);
}

ida_kind queue_account_made(store *s, ida_ctx *c, const ida_task *task, const ida_step *step,
                            const char *object_id, int later, const struct audit_record *audit)
{
    outcome o = {
        .task = task, .step = step, .object_id = object_id, .later = later, .audit = audit};
    return store_transaction(s, c, account_made, &o);
}

typedef struct seat_taking {
    const ida_task *task;
    const ida_tenant *tenant;
    const char *progress;
    int full;
} seat_taking;

/* One seat for each person. Another update may be cancelled and release the seat that this call
 * relies on: move that seat to this task. A seat that the cache already counts is not counted
 * twice, and it stays when a synchronisation corrects the cache. The seat of a creation passes
 * to this task when the creation releases it (queue_task_give_back_seat). */
static ida_kind find_seat(store *s, ida_ctx *c, const seat_taking *t, const ida_task *now)
{
    int had = now->seat, counted = QUEUE_SEAT_NONE;
    ida_kind kind = had ? IDA_OK : queue_task_move_seat(s, c, now, &had);
    if (kind || had) {
        return kind;
    }
    const queue_person person = queue_person_of(now);
    kind = queue_seat_of_person(s, c, now->tenant, &person, now->id, &counted);
    if (!kind && counted == QUEUE_SEAT_NONE) {
        kind = queue_seat_free(s, c, t->tenant);
    }
    return kind || counted == QUEUE_SEAT_HELD ? kind
                                              : queue_task_take_seat(s, c, now->tenant, now->id);
}

static ida_kind take_seat(store *s, ida_ctx *c, void *baton)
{
    seat_taking *t = baton;
    ida_task *now;
    t->full = 0;
    ida_kind kind = store_tenant_lock(s, c, t->task->tenant);
    kind = kind ? kind
                : fenced(s, c, t->task, STMT_queue_progress, DB_ARGS(FENCED(t->task), DB_T(NULL)));
    kind = kind ? kind : queue_task_get(s, c, t->task->tenant, t->task->id, 0, &now);
    kind = kind ? kind : find_seat(s, c, t, now);
    if (kind == IDA_FORBIDDEN) {
        t->full = 1;
        ida_ctx_clear(c);
        return IDA_OK;
    }
    return kind ? kind
                : fenced(s, c, t->task, STMT_queue_progress,
                         DB_ARGS(FENCED(t->task), DB_T(t->progress)));
}

ida_kind queue_take_seat(store *s, ida_ctx *c, const ida_task *task, const ida_tenant *tenant,
                         const char *progress, int *full)
{
    seat_taking t = {.task = task, .tenant = tenant, .progress = progress};
    ida_kind kind = store_transaction(s, c, take_seat, &t);
    *full = !kind && t.full;
    return kind;
}

static ida_kind free_person(store *s, ida_ctx *c, const ida_task *now)
{
    return store_write(s, c, STMT_queue_person_unlock,
                       DB_ARGS(DB_T(now->tenant), DB_T(now->who), DB_T(now->id)), NULL);
}

/* The offboarding has verified that the account is disabled: finished updates keep no seat for
 * an account that they may have enabled. */
static ida_kind settle_seats(store *s, ida_ctx *c, const ida_task *now, const char *over)
{
    ida_kind kind = IDA_OK;
    while (!kind && over) {
        kind = queue_task_give_back_seat(s, c, now->tenant, over);
        kind = kind ? kind : queue_task_seat_of_over(s, c, now->tenant, now->who, &over);
    }
    return kind;
}

/* 1: no further try of the task sets its photo. */
static int photo_is_over(const ida_task *now, ida_task_state state)
{
    int steps = 0, open = 0;
    for (int i = 0; i < now->step_count; i++) {
        const ida_step *step = &now->steps[i];
        if (strcmp(step->name, "setPhoto") == 0) {
            steps++;
            open += step->outcome != IDA_STEP_DONE && step->outcome != IDA_STEP_ALREADY &&
                    step->outcome != IDA_STEP_SKIPPED;
        }
    }
    return state == IDA_DONE || (steps && !open);
}

/* Row and steps are read before the fence is checked, because only the run that holds the task
 * changes them. The person is unlocked after the seats: a worker that waits to claim the
 * person's next task holds that task's row, and that task may inherit a seat. */
static ida_kind finish(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    const ida_task *t = o->task;
    int holds = t->type == IDA_USER_CREATE ||
                t->type == IDA_USER_UPDATE; /* perhaps seat and names */
    int64_t at = ida_now(c->env), finished_at = o->state == IDA_ATTENTION ? 0 : at;
    const char *over = NULL;
    ida_task *now;
    ida_kind kind = queue_task_get(s, c, t->tenant, t->id, 0, &now);
    if (!kind && t->type == IDA_USER_DELETE && o->state == IDA_DONE) {
        kind = queue_task_seat_of_over(s, c, t->tenant, now->who, &over);
    }
    if (!kind && photo_is_over(now, o->state)) {
        kind = queue_task_drop_photo(s, c, t, 0);
    }
    kind = kind ? kind
                : fenced(s, c, t, STMT_queue_finish,
                         DB_ARGS(FENCED(t), DB_T(ida_task_state_text(o->state)), DB_T(o->error),
                                 DB_T(o->warnings), DB_I(finished_at)));
    kind = kind ? kind : audited(s, c, o);
    if (!kind && (over || (holds && now->seat))) {
        kind = store_tenant_lock(s, c, t->tenant);
    }
    kind = kind ? kind : settle_seats(s, c, now, over);
    int keeps = o->state == IDA_ATTENTION ||
                (o->state == IDA_FAILED && !kind && queue_task_account_possible(c, now));
    if (!kind && holds && !keeps) {
        kind = give_back(s, c, now);
    }
    kind = kind ? kind : free_person(s, c, now);
    return kind ? kind : queue_event_tell(s, c, now, o->state, at, o->error);
}

ida_kind queue_finish(store *s, ida_ctx *c, const ida_task *task, ida_task_state state,
                      const char *error, const char *warnings, const struct audit_record *audit)
{
    outcome o = {
        .task = task, .state = state, .error = error, .warnings = warnings, .audit = audit};
    return store_transaction(s, c, finish, &o);
}

static ida_kind again(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    ida_kind kind = fenced(s, c, o->task, STMT_queue_again,
                           DB_ARGS(FENCED(o->task), DB_I(o->next_at), DB_T(o->error),
                                   DB_I(o->counts != 0)));
    ida_task *now;
    kind = kind ? kind : queue_task_get(s, c, o->task->tenant, o->task->id, 0, &now);
    kind = kind ? kind : free_person(s, c, now);
    return kind ? kind : audited(s, c, o);
}

ida_kind queue_again(store *s, ida_ctx *c, const ida_task *task, int64_t next_at,
                     const char *reason, int counts, const struct audit_record *audit)
{
    outcome o = {
        .task = task, .next_at = next_at, .error = reason, .counts = counts, .audit = audit};
    return store_transaction(s, c, again, &o);
}
