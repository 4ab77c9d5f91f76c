/* Events: the outcomes of tasks, in the tenant's order, for receivers (core/queue/delivery.h)
 * and for readers. */
#ifndef CORE_QUEUE_EVENT_H
#define CORE_QUEUE_EVENT_H

#include "core/model/task.h"
#include "core/store/store.h"

typedef struct queue_event {
    int64_t seq; /* from 1, without gaps when they were assigned */
    const char *id, *type;
    int64_t at;
    const char *error; /* the reason at that time; or NULL */
    const char *task_id, *task_type, *directory, *object_id, *upn, *display_name;
    int64_t due_at;
    const char *zone, *username, *label;
    const char *task_state;          /* as the task's own row has it now */
    const char *correlation, *trace; /* of the request that queued the task; NULL: none */
    const char *body, *proof;        /* as it was sent, and a worker's proof of it; NULL: erased, or
                                        from before events had them */
} queue_event;

/* Adds the event that the task is done, has failed or needs attention, with its deliveries to
 * receivers. Call it in the transaction that records this, as late as possible: the tenant's
 * other events wait from here until its commit. `at`: when, ms UTC. */
ida_kind queue_event_tell(store *s, ida_ctx *c, const ida_task *task, ida_task_state state,
                          int64_t at, const char *error);

/* Events after number `after`, in order, at most `max`. */
ida_kind queue_event_list(store *s, ida_ctx *c, const char *tenant, int64_t after, int max,
                          const queue_event **rows, int *count);
/* The oldest that is kept (last + 1: none), and the last there ever was (0: none). */
ida_kind queue_event_bounds(store *s, ida_ctx *c, const char *tenant, int64_t *first,
                            int64_t *last);

/* 1 if a worker wrote the body, whatever the rows of the store contain now. Only such a body is
 * signed and sent. */
int queue_event_is_ours(ida_ctx *c, const queue_event *event);

/* As callers see it, by the task's row. New reference. */
json_t *queue_event_json(ida_ctx *c, const char *tenant, const queue_event *event);

/* Removes events older than `before`, the oldest first, at most `max`. */
ida_kind queue_event_retain(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                            int *removed);

#endif
