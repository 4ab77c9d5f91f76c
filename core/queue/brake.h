/* The brake on offboardings and other disablings, for claims, takeovers and releases. */
#ifndef CORE_QUEUE_BRAKE_H
#define CORE_QUEUE_BRAKE_H

#include "core/model/task.h"
#include "core/store/store.h"

/* 1: the task disables an account and was not released. Needs steps and payload. */
int queue_brake_counts(ida_ctx *c, const ida_task *task);

/* *why: the reason why the task must not begin; NULL: it may. A task that has begun for its person
 * does not begin a second time. Locks the tenant when it has a brake, so that the count stays true
 * until the commit. A tenant document that cannot be read stops its own disablings, not the queue.
 */
ida_kind queue_brake_ask(store *s, ida_ctx *c, const ida_task *task, int64_t now, const char **why);
/* Whether this service recorded that it has begun. */
ida_kind queue_brake_has_begun(store *s, ida_ctx *c, const ida_task *task, int *has);
/* Records it, inside the transaction of the claim; and notes it in this process once that has been
 * committed. */
ida_kind queue_brake_record(store *s, ida_ctx *c, const ida_task *task, int64_t at);
void queue_brake_began(store *s, ida_ctx *c, const ida_task *task);

/* The proof, for task.released, that this task may pass the brake for this person. */
const char *queue_brake_release(ida_ctx *c, const ida_task *task);

#endif
