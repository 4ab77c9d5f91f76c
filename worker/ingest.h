/* From spool and outbox into the audit record (design 8 "Audit"). Shared by the worker and `idadminctl audit ingest`. */
#ifndef WORKER_INGEST_H
#define WORKER_INGEST_H

#include "core/store.h"

typedef struct ingest_summary {
    int64_t records, torn; /* of this pass */
    int removed, held;     /* segments read whole and removed; segments past their minute that a writer still holds */
} ingest_summary;

/* One pass over every segment of the spool directory. `audit` has role DB_INGEST. Waits for nothing: when another reader holds
 * the directory the answer is IDA_CONFLICT, when the directory does not exist IDA_NOT_FOUND. `all`: also segments whose minute
 * has not passed are sealed and removed when no writer holds them (the node is dead). */
ida_kind ingest_spool(store *audit, ida_ctx *c, const char *directory, int all, ingest_summary *summary);

/* Moves the outbox until it is empty or `stopping` answers non-zero; *moved counts. */
ida_kind ingest_outbox(store *main, store *audit, ida_ctx *c, int (*stopping)(void *baton), void *baton, int64_t *moved);

#endif
