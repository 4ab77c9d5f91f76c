/* Which tasks are believed. Whoever changes what the proof of a task covers (core/model/task_mac.h)
 * keeps its trust: judged as it stood before, signed anew with the commit. A task that a worker
 * does not believe is held, not run. For core/queue, the erasure of people, and idadminctl. */
#ifndef CORE_QUEUE_TRUST_H
#define CORE_QUEUE_TRUST_H

#include "core/model/task.h"
#include "core/store/store.h"

/* What is signed with the commit; `payload_hash` may be set when the payload is written. */
typedef struct queue_kept {
    const char *tenant, *id, *payload_hash;
} queue_kept;

/* --- inside store_transaction --- */

/* The task was just inserted: it is signed with the commit. */
ida_kind queue_trust_new(store *s, ida_ctx *c, const ida_task *task);
/* The task as it is given, which is how it stands: signed now. */
ida_kind queue_trust_signed(store *s, ida_ctx *c, ida_task *task);
/* Before a change of the task, whose ID and payload_hash count (without one the payload is read):
 * IDA_CONFLICT when its proof does not fit. Once a transaction; *kept may be NULL. */
ida_kind queue_trust_keep(store *s, ida_ctx *c, const ida_task *task, queue_kept **kept);
/* As queue_trust_keep, but what does not fit stays so and is no failure. */
ida_kind queue_trust_keep_if(store *s, ida_ctx *c, const char *tenant, const char *id,
                             queue_kept **kept);

/* *why: a sentence that says why the task, read with payload and steps, must not be run; NULL: it
 * may. IDA_SERVICE_UNAVAILABLE: this program cannot tell, its key is not the store's. */
ida_kind queue_trust_judge(store *s, ida_ctx *c, const ida_task *task, const char **why);
/* The same of one that is about to run `now`: also that it is due, and that the audit knows no end
 * of it since it was signed. */
ida_kind queue_trust_judge_run(store *s, ida_ctx *c, const ida_task *task, int64_t now,
                               const char **why);
/* queued or running -> attention, with reason, audit record, event and a line in the log. */
ida_kind queue_trust_hold(store *s, ida_ctx *c, const ida_task *task, const char *why);

/* --- for idadminctl --- */

/* A held task as it stands: signed, and queued. IDA_CONFLICT when it is not held. */
ida_kind queue_trust_accept(store *s, ida_ctx *c, const char *tenant, const char *id);
/* Signs every task that is not over and either carries no proof (`unsigned_too`) or one that is
 * believed. */
ida_kind queue_trust_sign_all(store *s, ida_ctx *c, int unsigned_too, int64_t *signed_count);

#endif
