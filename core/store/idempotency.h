/* First answers of writes under an Idempotency-Key, kept in the write's own transaction. Main file.
 */
#ifndef CORE_STORE_IDEMPOTENCY_H
#define CORE_STORE_IDEMPOTENCY_H

#include "core/store/store.h"

#define STORE_IDEMPOTENCY_KEPT_MS INT64_C(86400000) /* a key is known for at least this long */

typedef struct store_idempotency {
    const char *tenant, *username, *method, *path, *key; /* whose key it is */
    const char *hash; /* of the request; as kept, after find and take */
    /* the answer: `data` as JSON text, where the task is found, its ID (NULL: none) */
    const char *answer, *location, *task_id;
} store_idempotency;

/* *found: hash and answer of the key. */
ida_kind store_idempotency_find(store *s, ida_ctx *c, store_idempotency *row, int *found);

/* First step of a write's transaction: *taken = 1 if this transaction owns the key and must
 * store its answer before the commit. 0: the key was used before; hash and answer are filled in.
 * Waits for a parallel transaction with the same key. */
ida_kind store_idempotency_take(store *s, ida_ctx *c, store_idempotency *row, int *taken);
ida_kind store_idempotency_keep(store *s, ida_ctx *c, const store_idempotency *row);

/* Forgets keys older than `before`, at most `max`. */
ida_kind store_idempotency_retain(store *s, ida_ctx *c, int64_t before, int max, int *removed);

#endif
