/* What is counted of a tenant's tasks, for people who look at the whole of them. Everything is
 * taken from the tasks themselves; no second history is kept. */
#ifndef CORE_QUEUE_FIGURES_H
#define CORE_QUEUE_FIGURES_H

#include "core/model/task.h"
#include "core/store/store.h"

typedef struct queue_states {
    int64_t queued, running, failed, attention, braked; /* attention: without braked ones */
} queue_states;
ida_kind queue_count_states(store *s, ida_ctx *c, const char *tenant, queue_states *out);

/* Tasks due from `from` on and before `to` (ms) that are not cancelled, by kind. */
typedef struct queue_due_kinds {
    int64_t creates, updates, deletes, access;
} queue_due_kinds;
ida_kind queue_count_due(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to,
                         queue_due_kinds *out);

/* The same span: how many in all, how many are done, how many began more than `late_ms` after they
 * could. */
typedef struct queue_day {
    int64_t total, done, late;
} queue_day;
ida_kind queue_count_day(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to,
                         int64_t late_ms, queue_day *out);
/* Of these the open ones with their steps, by due instant; at most `max`. */
ida_kind queue_open_of(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to, int max,
                       ida_task **tasks, int *count);

/* Tasks that need a person. since: when the first of them began to, ms; sample: the first three. */
typedef enum queue_need {
    QUEUE_NEED_OFFBOARDING_FAILED,
    QUEUE_NEED_OFFBOARDING_OVERDUE, /* queued, and due before `due_before` */
    QUEUE_NEED_FAILED,
    QUEUE_NEED_ATTENTION,
    QUEUE_NEED_BRAKED,
    QUEUE_NEEDS
} queue_need;
typedef struct queue_needed {
    int64_t count, since;
    struct {
        const char *id, *upn, *display_name, *error;
    } sample[3];
    int samples;
} queue_needed;
ida_kind queue_need_of(store *s, ida_ctx *c, const char *tenant, queue_need need,
                       int64_t due_before, queue_needed *out);

/* Creations or offboardings done within the span. */
ida_kind queue_count_done(store *s, ida_ctx *c, const char *tenant, ida_task_type type,
                          int64_t from, int64_t to, int64_t *count);
/* When the oldest task that is kept was made; 0: there is none. */
ida_kind queue_history_from(store *s, ida_ctx *c, const char *tenant, int64_t *at);

/* Tasks that began since an instant, by when they did; at most `max`. ready_at: when they could. */
typedef struct queue_begun {
    int64_t started_at, ready_at;
} queue_begun;
ida_kind queue_begun_since(store *s, ida_ctx *c, const char *tenant, int64_t since, int max,
                           const queue_begun **rows, int *count);
/* Since when the oldest task could begin that has not; 0: none waits. */
ida_kind queue_waiting_since(store *s, ida_ctx *c, const char *tenant, int64_t *at);

#endif
