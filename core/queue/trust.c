/* Owns whether a task of the store is believed, and that it is signed again when it is changed by
 * those who may. Must not know who they are. */
#include "core/queue/trust.h"

#include <apr_strings.h>
#include <string.h>

#include "core/audit/audit.h"
#include "core/model/task_mac.h"
#include "core/queue/event.h"
#include "core/queue/inner.h"
#include "core/store/audit.h"
#include "core/store/rows.h"
#include "core/store/task_key.h"
#include "core/store/tenant.h"

#define SIGN_PAGE 100

/* --- judging --- */

static const char *const faults[] = {
    [IDA_TASK_UNSIGNED] = "it carries no proof, so it was put into the store by hand or by a "
                          "program that has no task key",
    [IDA_TASK_ALTERED] = "its proof does not fit, so somebody changed it in the store by hand or "
                         "copied it from elsewhere",
    [IDA_TASK_OTHER_KEY] = "its proof is under a task key that is not in use"};

ida_kind queue_trust_judge(store *s, ida_ctx *c, const ida_task *task, const char **why)
{
    const ida_key_ring *ring;
    const char *id = NULL;
    *why = NULL;
    ida_kind kind = store_task_keys(s, c, &ring);
    if (kind) {
        return kind;
    }
    ida_task_trust trust = ida_task_judge(c->pool, ring, task);
    *why = faults[trust];
    /* Is it the task that is wrong, or are we behind a rotation? */
    kind = *why ? store_task_key_id(s, c, &id) : IDA_OK;
    if (!kind && id && strcmp(id, ida_ring_newest(ring)->id) != 0) {
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The tasks of this store are signed under the task key %s, and the newest "
                        "that this program has is %s: copy the file of task keys from the node "
                        "where it was made or rotated last, and reload httpd.",
                        id, ida_ring_newest(ring)->id);
    }
    return kind;
}

ida_kind queue_trust_judge_run(store *s, ida_ctx *c, const ida_task *task, int64_t now,
                               const char **why)
{
    db_result r;
    ida_kind kind = queue_trust_judge(s, c, task, why);
    if (kind || *why) {
        return kind;
    }
    /* What has once begun when it was due goes on under a clock that was set back, and on a worker
     * whose clock is behind. */
    if (task->due_at > now && task->due_at > task->started_at) {
        *why = "it was made to begin before it is due, in the store by hand";
        return IDA_OK;
    }
    kind = store_read(s, c, STMT_audit_task_ended,
                      DB_ARGS(DB_T(task->tenant), DB_T(audit_key(c->pool, task->upn)),
                              DB_T(audit_key(c->pool, task->id)), DB_T(task->id),
                              DB_I(task->signed_at)),
                      &r);
    if (!kind && r.rows) {
        *why = "it ended after it was signed, as the audit says, so an older state of it was put "
               "back into the store by hand";
    }
    return kind;
}

/* --- signing --- */

/* With steps; with payload where its hash is not known. */
static ida_kind read_covered(store *s, ida_ctx *c, const char *tenant, const char *id,
                             const char *payload_hash, ida_task **task)
{
    ida_kind kind = queue_task_get(s, c, tenant, id, !payload_hash, task);
    if (!kind && payload_hash) {
        (*task)->payload_hash = payload_hash;
    }
    return kind;
}

ida_kind queue_trust_signed(store *s, ida_ctx *c, ida_task *task)
{
    const ida_key_ring *ring;
    int64_t now = ida_now(c->env);
    ida_kind kind = store_task_keys(s, c, &ring);
    if (kind) {
        return kind;
    }
    /* Behind each end that the audit knows of it, whatever the clocks of two machines say. */
    task->signed_at = now > task->signed_at ? now : task->signed_at + 1;
    task->mac = ida_task_mac(c->pool, ida_ring_newest(ring), task);
    return store_write(s, c, STMT_task_sign,
                       DB_ARGS(DB_T(task->id), DB_T(task->mac), DB_I(task->signed_at)), NULL);
}

static ida_kind sign_kept(store *s, ida_ctx *c, void *baton)
{
    const queue_kept *k = baton;
    ida_task *task;
    ida_kind kind = read_covered(s, c, k->tenant, k->id, k->payload_hash, &task);
    return kind ? kind : queue_trust_signed(s, c, task);
}

static queue_kept *remember(store *s, ida_ctx *c, const ida_task *task)
{
    queue_kept *k = apr_palloc(c->pool, sizeof *k);
    *k = (queue_kept){apr_pstrdup(c->pool, task->tenant), apr_pstrdup(c->pool, task->id),
                      apr_pstrdup(c->pool, task->payload_hash)};
    store_before_commit(s, c, k->id, sign_kept, k);
    return k;
}

ida_kind queue_trust_new(store *s, ida_ctx *c, const ida_task *task)
{
    const ida_key_ring *ring;
    ida_kind kind = store_task_keys(s, c, &ring);
    if (!kind) {
        remember(s, c, task)->payload_hash = ida_task_payload_hash(c->pool, task->payload
                                                                                ? task->payload
                                                                                : "{}");
    }
    return kind;
}

static ida_kind keep(store *s, ida_ctx *c, const ida_task *task, queue_kept **kept,
                     const char **why)
{
    ida_task *now;
    queue_kept *already = store_is_before_commit(s, task->id);
    *why = NULL;
    if (already) {
        if (kept) {
            *kept = already;
        }
        return IDA_OK;
    }
    ida_kind kind = read_covered(s, c, task->tenant, task->id, task->payload_hash, &now);
    kind = kind ? kind : queue_trust_judge(s, c, now, why);
    if (!kind && !*why) {
        queue_kept *k = remember(s, c, now);
        if (kept) {
            *kept = k;
        }
    }
    return kind;
}

ida_kind queue_trust_keep(store *s, ida_ctx *c, const ida_task *task, queue_kept **kept)
{
    const char *why;
    ida_kind kind = keep(s, c, task, kept, &why);
    if (!kind && why) {
        ida_fail(c, IDA_CONFLICT,
                 "Task %s is not believed: %s. No worker will run it. Find out who writes to the "
                 "store, and cancel the task.",
                 task->id, why);
        kind = ida_because(c, "taskAltered", NULL);
    }
    return kind;
}

ida_kind queue_trust_keep_if(store *s, ida_ctx *c, const char *tenant, const char *id,
                             queue_kept **kept)
{
    const char *why;
    return keep(s, c, &(ida_task){.tenant = tenant, .id = id}, kept, &why);
}

/* --- holding --- */

ida_kind queue_trust_hold(store *s, ida_ctx *c, const ida_task *task, const char *why)
{
    const char *error = ida_printf(
        c->pool,
        "Held, because this task is not believed: %s. Find out who writes to the store. Then "
        "cancel it; or, if it is right as it stands, on a worker's machine: idadminctl task "
        "release %s %s --accept",
        why, task->tenant, task->id);
    db_result r;
    ida_kind kind = store_write(s, c, STMT_task_hold,
                                DB_ARGS(DB_T(task->id), DB_T(IDA_TASK_HELD), DB_T(error)), &r);
    kind = kind ? kind : store_write(s, c, STMT_queue_task_unlock, DB_ARGS(DB_T(task->id)), NULL);
    if (kind || !r.changes) {
        return kind;
    }
    audit_record *record = audit_make(c, task->tenant, "workflow");
    record->actor = "worker";
    record->action = "task.attention";
    record->target = task->upn;
    record->outcome = "ok";
    record->detail = error;
    kind = store_audit_add(s, c, record);
    kind = kind ? kind : queue_event_tell(s, c, task, IDA_ATTENTION, ida_now(c->env), error);
    if (!kind) {
        ida_log(c->env, IDA_LOG_ERROR, "IDA0022",
                "tenant %s: task %s (%s of %s) is held, not run: %s", task->tenant, task->id,
                ida_task_type_text(task->type), task->upn, why);
    }
    return kind;
}

typedef struct accepting {
    const char *tenant, *id;
} accepting;

static ida_kind accept_in(store *s, ida_ctx *c, void *baton)
{
    const accepting *a = baton;
    ida_task *task;
    ida_kind kind = store_tenant_lock(s, c, a->tenant);
    kind = kind ? kind : queue_task_get(s, c, a->tenant, a->id, 1, &task);
    if (!kind && !ida_task_is_held(task)) {
        return ida_fail(c, IDA_CONFLICT,
                        "Task %s is not held for want of a proof (state %s): release it without "
                        "--accept.",
                        a->id, ida_task_state_text(task->state));
    }
    kind = kind ? kind : store_write(s, c, STMT_task_accept, DB_ARGS(DB_T(a->id)), NULL);
    kind = kind ? kind : queue_task_requeue(s, c, task, 0);
    if (!kind) {
        remember(s, c, task);
    }
    return kind;
}

ida_kind queue_trust_accept(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    accepting a = {tenant, id};
    return store_transaction(s, c, accept_in, &a);
}

/* --- all of them --- */

typedef struct signing {
    int unsigned_too, rows;
    const char *after;
    int64_t count, before;
} signing;

/* A task that cannot be read, of a kind that only a newer program knows, is left to that one. */
static ida_kind sign_row(store *s, ida_ctx *c, signing *w, const row_task_id *row)
{
    ida_task *task;
    const char *why;
    ida_kind kind = queue_task_get(s, c, row->tenant_id.text, row->id.text, 1, &task);
    if (kind == IDA_INTERNAL_ERROR && store_is_connected(s)) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    kind = kind ? kind : queue_trust_judge(s, c, task, &why);
    if (!kind && (!why || (w->unsigned_too && !task->mac))) {
        kind = queue_trust_signed(s, c, task);
        w->count++;
    }
    return kind;
}

static ida_kind sign_page(store *s, ida_ctx *c, void *baton)
{
    signing *w = baton;
    db_result r;
    const char *after = w->after;
    w->count = w->before;
    ida_kind kind = store_read(s, c, STMT_task_not_over, DB_ARGS(DB_T(w->after), DB_I(SIGN_PAGE)),
                               &r);
    w->rows = kind ? 0 : r.rows;
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_task_id *row = DB_ROW(task_id, &r, i);
        after = apr_pstrdup(c->pool, row->id.text);
        kind = sign_row(s, c, w, row);
    }
    w->after = kind ? w->after : after;
    return kind;
}

ida_kind queue_trust_sign_all(store *s, ida_ctx *c, int unsigned_too, int64_t *signed_count)
{
    signing w = {.unsigned_too = unsigned_too, .after = ""};
    ida_kind kind = IDA_OK;
    do {
        w.before = w.count;
        kind = store_transaction(s, c, sign_page, &w);
    } while (!kind && w.rows == SIGN_PAGE);
    *signed_count = w.count;
    return kind;
}
