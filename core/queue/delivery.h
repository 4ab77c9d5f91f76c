/* Events on their way to the receivers in tenant documents. A worker leases a whole receiver, calls
 * it for one event after the other and releases it: so two workers never send the same event at
 * once, and a receiver that does not answer costs one thread for the time of one call. Every write
 * carries the receiver's fencing number and raises it; IDA_CONFLICT: another worker has the
 * receiver, so stop calling it.
 *
 * An event of a person waits until that person's earlier events (by UPN or account) were
 * accepted by this receiver or given up. */
#ifndef CORE_QUEUE_DELIVERY_H
#define CORE_QUEUE_DELIVERY_H

#include "core/store/store.h"

typedef struct queue_receiver {
    const char *tenant, *url;
    const char *owner; /* worker that holds the lease; NULL: none */
    int64_t fence;
    int64_t failures; /* calls in a row that were not taken */
} queue_receiver;

/* Receivers that may be called now and have undelivered events, and all that are leased; the one
 * served longest ago comes first. */
ida_kind queue_receiver_due(store *s, ida_ctx *c, int64_t now, int max, const queue_receiver **rows,
                            int *count);
/* Leases it in the state that was read, also from another owner, if the caller has seen the
 * fencing number unchanged for a whole lease. IDA_CONFLICT: another worker was faster. */
ida_kind queue_receiver_take(store *s, ida_ctx *c, queue_receiver *r, const char *owner);
ida_kind queue_receiver_leave(store *s, ida_ctx *c, queue_receiver *r);

typedef struct queue_delivery {
    int64_t seq, tries;
    int64_t failed_at; /* its first call that was not taken, ms UTC; 0: none */
} queue_delivery;

/* The next event for the receiver; IDA_NOT_FOUND: none now. */
ida_kind queue_delivery_next(store *s, ida_ctx *c, const queue_receiver *r, queue_delivery *next);
/* The event was accepted. After several calls that were not, all waiting events may be sent at
 * once. */
ida_kind queue_delivery_done(store *s, ida_ctx *c, queue_receiver *r, const queue_delivery *d);

typedef struct queue_delivery_failure {
    const char *error;
    int64_t next_at;          /* of this event */
    int64_t receiver_next_at; /* of any */
    int give_up;              /* 1: this event is not sent again by itself */
} queue_delivery_failure;
ida_kind queue_delivery_failed(store *s, ida_ctx *c, queue_receiver *r, const queue_delivery *d,
                               const queue_delivery_failure *failure);

/* --- for administrators --- */

typedef struct queue_undelivered {
    const char *id, *type, *task_id, *upn, *url, *error;
    int64_t at, tries, next_at, given_up_at;
} queue_undelivered;
/* The oldest first; `given_up`: only those. */
ida_kind queue_undelivered_list(store *s, ida_ctx *c, const char *tenant, int given_up, int max,
                                const queue_undelivered **rows, int *count);
/* Tries once more at once, whatever the number of tries so far; event_id NULL: all undelivered
 * events of the tenant. *count: deliveries. */
ida_kind queue_undelivered_retry(store *s, ida_ctx *c, const char *tenant, const char *event_id,
                                 int64_t *count);

typedef struct queue_receiver_state {
    const char *url, *events; /* ",task.done,"; "": the document names it no more */
    int64_t failures, next_at, waiting, given_up;
} queue_receiver_state;
ida_kind queue_receiver_list(store *s, ida_ctx *c, const char *tenant,
                             const queue_receiver_state **rows, int *count);

#endif
