/* Tasks of a store that was restored from a backup: which would run a second time, and those that a
 * store holds beyond a moment. */
#ifndef CORE_QUEUE_RESTORED_H
#define CORE_QUEUE_RESTORED_H

#include "core/model/task.h"
#include "core/store/store.h"

/* A task that was accepted, begun or ended after a moment. */
typedef struct queue_later {
    const char *id, *type, *state, *upn;
    int64_t created_at;
} queue_later;

ida_kind queue_later_than(store *s, ida_ctx *c, const char *tenant, int64_t at,
                          const queue_later **rows, int *count);

/* Inside a transaction: holds the next tasks of the tenant that were running, or due, at `now`, as
 * the brake holds: the state becomes `attention`, a person releases or cancels them. With `over`
 * the task of that ID, which is known to have ended: no release lets it go, a person settles,
 * cancels or retries it. Every creation that can still run looks for its account by its marker.
 * Receivers are told; the caller audits. *count 0: there are none left. */
ida_kind queue_hold_restored(store *s, ida_ctx *c, const char *tenant, const char *over,
                             int64_t now, const char *why, ida_task ***tasks, int *count);

#endif
