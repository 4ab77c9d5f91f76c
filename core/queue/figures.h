/* Figures of the queue: tasks by state, by day, and how punctually they began. All are computed
 * from the rows of tasks; there is no second history. */
#ifndef CORE_QUEUE_FIGURES_H
#define CORE_QUEUE_FIGURES_H

#include "core/queue/change.h"

typedef struct queue_figures {
    int64_t queued, running, failed, attention, braked; /* braked are in attention, too */
} queue_figures;
ida_kind queue_figures_get(store *s, ida_ctx *c, const char *tenant, queue_figures *out);

/* Tasks due at `from` or later and before `to`, without cancelled ones. */
typedef struct queue_day {
    int64_t creates, updates, deletes, access, done;
    int64_t late; /* done, but begun more than a minute after they were due and known */
} queue_day;
ida_kind queue_day_get(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to,
                       queue_day *out);

/* Tasks of a type that were done within [from, to). */
ida_kind queue_done_count(store *s, ida_ctx *c, const char *tenant, ida_task_type type,
                          int64_t from, int64_t to, int64_t *count);
/* When the oldest task was queued that is still known; 0: there is none. */
ida_kind queue_oldest_known(store *s, ida_ctx *c, const char *tenant, int64_t *at);

/* Tasks whose first claim was at `from` or later, at most QUEUE_BEGUN_MAX, in this order. A task
 * could begin at `ready_at`, when it was due and queued. */
#define QUEUE_BEGUN_MAX 200000
typedef struct queue_begun {
    int64_t started_at, ready_at;
} queue_begun;
ida_kind queue_begun_list(store *s, ida_ctx *c, const char *tenant, int64_t from,
                          const queue_begun **rows, int *count);
/* Queued tasks that are due, for each type that has some: how many, and since when the oldest of
 * them could begin. */
typedef struct queue_overdue {
    ida_task_type type;
    int64_t tasks, since;
} queue_overdue;
ida_kind queue_overdue_list(store *s, ida_ctx *c, const char *tenant, int64_t now,
                            const queue_overdue **rows, int *count);
/* Since when the oldest queued task could begin that never did; 0: there is none. */
ida_kind queue_waiting_since(store *s, ida_ctx *c, const char *tenant, int64_t now, int64_t *at);

#endif
