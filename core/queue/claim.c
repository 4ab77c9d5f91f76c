/* Owns the claim: which task may run next, taken by one worker and no other. Must not know what a
 * run does. Order of locks on PostgreSQL: task, tenant (brake only), hold of the directory, person;
 * a task that is locked is passed over. */
#include "core/queue/claim.h"

#include "core/queue/brake.h"
#include "core/queue/event.h"
#include "core/store/audit.h"
#include "core/store/rows.h"

#define HEAD 32   /* due tasks examined before querying directory by directory */
#define SPREAD 16 /* directories with a claimable task that are examined then */
#define ROUNDS 8

typedef struct candidate {
    const char *id, *tenant, *directory;
} candidate;

typedef struct claim {
    const queue_claimer *by;
    candidate one;  /* being tried */
    int tried;      /* candidates of this round */
    ida_task *task; /* out */
    int braked;     /* out */
    int counts;     /* out: the brake counts the task */
} claim;

static ida_kind pull_brake(store *s, ida_ctx *c, claim *cl, const candidate *one, const char *why)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_queue_brake,
                                DB_ARGS(DB_T(one->tenant), DB_T(one->id), DB_T(why)), &r);
    if (kind || !r.changes) {
        return kind;
    }
    kind = queue_task_get(s, c, one->tenant, one->id, 1, &cl->task);
    if (!kind) {
        audit_record *record = audit_make(c, one->tenant, "workflow");
        record->actor = "worker";
        record->action = "task.attention";
        record->target = cl->task->upn;
        record->outcome = "ok";
        record->detail = why;
        cl->braked = 1;
        kind = store_audit_add(s, c, record);
        kind = kind ? kind : queue_event_tell(s, c, cl->task, IDA_ATTENTION, ida_now(c->env), why);
    }
    return kind;
}

/* As the statement of the claim has made it: what was judged is what is run. */
static void taken_by(ida_task *task, const claim *cl, int64_t now)
{
    task->state = IDA_RUNNING;
    task->fence++;
    task->heartbeat++;
    task->lease_owner = cl->by->owner;
    task->lease_until = now + cl->by->lease_ms;
    task->error = NULL;
    task->started_at = task->started_at ? task->started_at : now;
}

/* Locks the person and claims the row. cl->task stays NULL if another task of the person goes
 * first.
 */
static ida_kind take(store *s, ida_ctx *c, claim *cl, ida_task *row)
{
    const candidate *one = &cl->one;
    const char *who = row->who;
    db_result r;
    ida_kind kind = store_write(s, c, STMT_queue_person_lock,
                                DB_ARGS(DB_T(one->tenant), DB_T(who), DB_T(one->id)), &r);
    if (kind || !r.changes) {
        return kind;
    }
    /* The person's lock may have been waited for: this task begins after the one that held it has
     * ended. */
    int64_t now = ida_now(c->env) > cl->by->now ? ida_now(c->env) : cl->by->now;
    kind = store_write(s, c, STMT_queue_take,
                       DB_ARGS(DB_T(one->tenant), DB_T(one->id), DB_T(cl->by->owner),
                               DB_I(now + cl->by->lease_ms), DB_I(now)),
                       &r);
    if (!kind && !r.changes) {
        return store_write(s, c, STMT_queue_person_unlock,
                           DB_ARGS(DB_T(one->tenant), DB_T(who), DB_T(one->id)), NULL);
    }
    kind = kind || !cl->counts ? kind : queue_brake_record(s, c, row, now);
    if (!kind) {
        taken_by(row, cl, now);
        cl->task = row;
    }
    return kind;
}

/* One candidate in one transaction: a useless lock is released before the next one is taken. */
static ida_kind try_one(store *s, ida_ctx *c, void *baton)
{
    claim *cl = baton;
    const candidate *one = &cl->one;
    ida_task *row;
    db_result r, hold;
    const char *why = NULL;
    cl->task = NULL;
    cl->braked = cl->counts = 0;
    ida_kind kind = store_schema_is_ours(s, c);
    kind = kind ? kind
                : store_read(s, c, STMT_queue_row,
                             DB_ARGS(DB_T(one->tenant), DB_T(one->id), DB_I(cl->by->now)), &r);
    if (kind || !r.rows) {
        return kind; /* another worker was faster */
    }
    kind = queue_task_get(s, c, one->tenant, one->id, 1, &row);
    cl->counts = !kind && queue_brake_counts(c, row);
    kind = cl->counts ? queue_brake_ask(s, c, row, cl->by->now, &why) : kind;
    if (kind || why) {
        return kind ? kind : pull_brake(s, c, cl, one, why);
    }
    kind = store_read(s, c, STMT_queue_hold, DB_ARGS(DB_T(one->tenant), DB_T(one->directory)),
                      &hold);
    if (kind || (hold.rows && DB_ROW(hold, &hold, 0)->hold_until.number > cl->by->now)) {
        return kind;
    }
    kind = take(s, c, cl, row);
    int64_t probe_until = !kind && cl->task && hold.rows ? cl->by->now + cl->by->probe_ms : 0;
    if (probe_until) {
        kind = store_write(s, c, STMT_queue_probe,
                           DB_ARGS(DB_T(one->tenant), DB_T(one->directory), DB_I(probe_until)),
                           NULL);
    }
    if (cl->task) {
        cl->task->probe_until = probe_until;
    }
    return kind;
}

/* --- whom to try --- */

/* Work of a kind that only a newer program knows is left to that one. */
static int is_candidate(const claim *cl, const row_candidate *row)
{
    int directory = ida_directory_parse(row->directory.text);
    return row->free.number && ida_task_type_parse(row->type.text) >= 0 && directory >= 0 &&
           (!cl->by->may || cl->by->may(cl->by->baton, row->tenant_id.text,
                                        (ida_directory_kind)directory, row->id.text));
}

/* Reads outside a transaction, so that idle workers take no lock; a candidate is checked again
 * under locks. Probes of held directories come last: a call that hangs or kills the process must
 * not precede work of healthy directories. */
static ida_kind try_found(store *s, ida_ctx *c, claim *cl, db_statement look, int max, int *found)
{
    db_result r;
    ida_kind kind = store_read(s, c, look, DB_ARGS(DB_I(cl->by->now), DB_I(max)), &r);
    *found = kind ? 0 : r.rows;
    for (int at = 0; !kind && !cl->task && at < 2 * *found; at++) {
        int doubtful = at >= *found;
        const row_candidate *row = DB_ROW(candidate, &r, doubtful ? at - *found : at);
        if (row->doubtful.number == doubtful && is_candidate(cl, row)) {
            cl->tried++;
            cl->one = (candidate){row->id.text, row->tenant_id.text, row->directory.text};
            kind = store_transaction(s, c, try_one, cl);
            if (!kind && cl->task && cl->counts && !cl->braked) {
                queue_brake_began(s, c, cl->task);
            }
        }
    }
    return kind;
}

static ida_kind claim_one(store *s, ida_ctx *c, claim *cl)
{
    ida_kind kind = IDA_OK;
    for (int round = 0; !kind && !cl->task && round < ROUNDS; round++) {
        int found;
        cl->tried = 0;
        kind = try_found(s, c, cl, STMT_queue_head, HEAD, &found);
        if (!kind && !cl->task && !cl->tried && found == HEAD) {
            kind = try_found(s, c, cl, STMT_queue_spread, SPREAD, &found);
        }
        if (!cl->tried) {
            break;
        }
    }
    return kind;
}

ida_kind queue_claim_among(store *s, ida_ctx *c, const queue_claimer *by, ida_task **task,
                           int *braked)
{
    claim cl = {.by = by};
    ida_kind kind = claim_one(s, c, &cl);
    *task = kind ? NULL : cl.task;
    *braked = !kind && cl.braked;
    return kind || cl.task ? kind : ida_fail(c, IDA_NOT_FOUND, "No task is due.");
}

ida_kind queue_look(store *s, ida_ctx *c, queue_outlook *out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_queue_outlook, DB_ARGS(DB_I(ida_now(c->env))), &r);
    const row_outlook *row = kind ? NULL : DB_ROW(outlook, &r, 0);
    *out = row ? (queue_outlook){(int)row->due.number, row->next_at.number} : (queue_outlook){0};
    return kind;
}
