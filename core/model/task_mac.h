/* The proof that a task stands in the store as somebody who has the task key wrote it. It covers
 * everything that decides what a run does, to whom, when and by whose word:
 *
 *   tenant, id, type, directory, person, object ID, UPN, mail, display name, marker, progress,
 *   payload, local time and zone, due instant, when it was queued and first started, whether it
 *   disables an account, whether the brake was released for it, who asked and how, whether it is
 *   over, when it was signed, and of each step its place, name, workflow, account and outcome.
 *
 * Not covered is what only delays or tells: tries, the next try, leases, seats, warnings, errors,
 * details of steps, what a person did with it last. So a task can still be held up, or deleted, by
 * whoever writes the store, but not turned into another one. Knows no store. */
#ifndef CORE_MODEL_TASK_MAC_H
#define CORE_MODEL_TASK_MAC_H

#include "core/base/key_ring.h"
#include "core/model/task.h"

#define IDA_TASK_KEY_NAME "task key"
#define IDA_TASK_HELD "held" /* instead of a proof: a worker found that it did not fit */

/* Of a payload's text, for ida_task.payload_hash. */
const char *ida_task_payload_hash(apr_pool_t *pool, const char *payload);

/* The key's name and an HMAC. Needs payload_hash and steps. */
char *ida_task_mac(apr_pool_t *pool, const ida_ring_key *key, const ida_task *task);

typedef enum ida_task_trust {
    IDA_TASK_TRUSTED,
    IDA_TASK_UNSIGNED,
    IDA_TASK_ALTERED,
    IDA_TASK_OTHER_KEY /* under one that is not in the ring */
} ida_task_trust;
/* Whether the task's own proof fits it, under a key that may sign. */
ida_task_trust ida_task_judge(apr_pool_t *pool, const ida_key_ring *ring, const ida_task *task);

#endif
