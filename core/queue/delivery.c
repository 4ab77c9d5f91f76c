/* Owns undelivered events and the leases of receivers. Must not know how receivers are called. */
#include "core/queue/delivery.h"

#include "core/store/rows.h"

/* So many calls in a row that were not taken mean the receiver rather than the events. */
#define AWAY_FAILURES 3

STORE_FILL(receiver_of, queue_receiver, receiver, .tenant = row->tenant_id.text,
           .url = row->url.text, .owner = row->owner.text, .fence = row->fence.number,
           .failures = row->failures.number)

ida_kind queue_receiver_due(store *s, ida_ctx *c, int64_t now, int max, const queue_receiver **rows,
                            int *count)
{
    return store_rows(s, c, STMT_receiver_due, DB_ARGS(DB_I(now), DB_I(max)), receiver_of,
                      sizeof **rows, rows, count);
}

/* A write that must find the fencing number as the caller knows it. Inside a transaction that is
 * repeated the number is still the one before it, so the caller raises it when all is done. */
static ida_kind fenced(store *s, ida_ctx *c, const queue_receiver *r, db_statement statement,
                       db_args args)
{
    db_result result;
    ida_kind kind = store_write(s, c, statement, args, &result);
    return kind || result.changes
               ? kind
               : ida_fail(c, IDA_CONFLICT, "Another worker calls %s now.", r->url);
}

static ida_kind raised(queue_receiver *r, ida_kind kind)
{
    r->fence += !kind;
    return kind;
}

ida_kind queue_receiver_take(store *s, ida_ctx *c, queue_receiver *r, const char *owner)
{
    return raised(r, fenced(s, c, r, STMT_receiver_take,
                            DB_ARGS(DB_T(r->tenant), DB_T(r->url), DB_I(r->fence), DB_T(owner),
                                    DB_I(ida_now(c->env)))));
}

ida_kind queue_receiver_leave(store *s, ida_ctx *c, queue_receiver *r)
{
    return raised(r, fenced(s, c, r, STMT_receiver_leave,
                            DB_ARGS(DB_T(r->tenant), DB_T(r->url), DB_I(r->fence))));
}

ida_kind queue_delivery_next(store *s, ida_ctx *c, const queue_receiver *r, queue_delivery *next)
{
    db_result result;
    ida_kind kind = store_read(s, c, STMT_delivery_next,
                               DB_ARGS(DB_T(r->tenant), DB_T(r->url), DB_I(ida_now(c->env))),
                               &result);
    if (kind || !result.rows) {
        return kind ? kind : ida_fail(c, IDA_NOT_FOUND, "Nothing is to be told now.");
    }
    const row_delivery *row = DB_ROW(delivery, &result, 0);
    *next = (queue_delivery){row->seq.number, row->tries.number, row->failed_at.number};
    return IDA_OK;
}

typedef struct outcome {
    const queue_receiver *receiver;
    const queue_delivery *delivery;
    const queue_delivery_failure *failure; /* NULL: it was taken */
} outcome;

static ida_kind write_receiver(store *s, ida_ctx *c, const queue_receiver *r, int64_t failures,
                               int64_t next_at)
{
    return fenced(s, c, r, STMT_receiver_write,
                  DB_ARGS(DB_T(r->tenant), DB_T(r->url), DB_I(r->fence), DB_I(failures),
                          DB_I(next_at)));
}

static ida_kind put_done(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    const queue_receiver *r = o->receiver;
    ida_kind kind = write_receiver(s, c, r, 0, 0);
    kind = kind ? kind
                : store_write(s, c, STMT_delivery_done,
                              DB_ARGS(DB_T(r->tenant), DB_T(r->url), DB_I(o->delivery->seq)), NULL);
    return kind || r->failures < AWAY_FAILURES
               ? kind
               : store_write(s, c, STMT_delivery_wake, DB_ARGS(DB_T(r->tenant), DB_T(r->url)),
                             NULL);
}

ida_kind queue_delivery_done(store *s, ida_ctx *c, queue_receiver *r, const queue_delivery *d)
{
    outcome o = {.receiver = r, .delivery = d};
    ida_kind kind = raised(r, store_transaction(s, c, put_done, &o));
    r->failures = kind ? r->failures : 0;
    return kind;
}

static ida_kind put_failed(store *s, ida_ctx *c, void *baton)
{
    const outcome *o = baton;
    const queue_receiver *r = o->receiver;
    const queue_delivery *d = o->delivery;
    const queue_delivery_failure *f = o->failure;
    int64_t now = ida_now(c->env);
    ida_kind kind = write_receiver(s, c, r, r->failures + 1, f->receiver_next_at);
    return kind ? kind
                : store_write(s, c, STMT_delivery_failed,
                              DB_ARGS(DB_T(r->tenant), DB_T(r->url), DB_I(d->seq), DB_I(f->next_at),
                                      DB_I(d->failed_at ? d->failed_at : now),
                                      DB_I(f->give_up ? now : 0), DB_T(f->error)),
                              NULL);
}

ida_kind queue_delivery_failed(store *s, ida_ctx *c, queue_receiver *r, const queue_delivery *d,
                               const queue_delivery_failure *failure)
{
    outcome o = {r, d, failure};
    ida_kind kind = raised(r, store_transaction(s, c, put_failed, &o));
    r->failures += !kind;
    return kind;
}

/* --- for administrators --- */

STORE_FILL(undelivered_of, queue_undelivered, undelivered, .id = row->id.text,
           .type = row->type.text, .task_id = row->task_id.text, .upn = row->upn.text,
           .url = row->url.text, .error = row->error.text, .at = row->at.number,
           .tries = row->tries.number, .next_at = row->next_at.number,
           .given_up_at = row->given_up_at.number)

ida_kind queue_undelivered_list(store *s, ida_ctx *c, const char *tenant, int given_up, int max,
                                const queue_undelivered **rows, int *count)
{
    return store_rows(s, c, STMT_delivery_list, DB_ARGS(DB_T(tenant), DB_I(given_up), DB_I(max)),
                      undelivered_of, sizeof **rows, rows, count);
}

typedef struct retry_work {
    const char *tenant, *event_id;
    int64_t count;
} retry_work;

static ida_kind put_retry(store *s, ida_ctx *c, void *baton)
{
    retry_work *w = baton;
    db_result r;
    /* The receivers' rows before those of their deliveries, as in every record of a call. */
    ida_kind kind = store_write(s, c, STMT_receiver_retry, DB_ARGS(DB_T(w->tenant)), NULL);
    kind = kind ? kind
                : store_write(s, c, STMT_delivery_retry,
                              DB_ARGS(DB_T(w->tenant), DB_T(w->event_id)), &r);
    w->count = kind ? 0 : r.changes;
    return kind;
}

ida_kind queue_undelivered_retry(store *s, ida_ctx *c, const char *tenant, const char *event_id,
                                 int64_t *count)
{
    retry_work w = {tenant, event_id, 0};
    ida_kind kind = store_transaction(s, c, put_retry, &w);
    *count = w.count;
    return kind;
}

STORE_FILL(state_of, queue_receiver_state, receiver_state, .url = row->url.text,
           .events = row->events.text, .failures = row->failures.number,
           .next_at = row->next_at.number, .waiting = row->waiting.number,
           .given_up = row->given_up.number, )

ida_kind queue_receiver_list(store *s, ida_ctx *c, const char *tenant,
                             const queue_receiver_state **rows, int *count)
{
    return store_rows(s, c, STMT_receiver_list, DB_ARGS(DB_T(tenant)), state_of, sizeof **rows,
                      rows, count);
}
