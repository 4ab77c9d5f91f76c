/* From spool and outbox into the audit record. Shared by the worker and `idadminctl audit ingest`.
 */
#ifndef WORKER_INGEST_H
#define WORKER_INGEST_H

#include "core/store/audit.h"

typedef struct ingest_summary {
    int64_t records, torn; /* of this pass */
    int64_t forged;        /* of the records: those that httpd cannot have written */
    int removed, held;   /* segments read completely and removed; segments past their minute that a
                            process still has open */
    const char *stuck;   /* path of the first of those that were held minutes later; NULL: none */
    int strangers;       /* names of segments that are not regular files, skipped */
    const char *strange; /* path of the first of them; NULL: none */
} ingest_summary;

/* The backlog of a spool. */
typedef struct ingest_waiting {
    int segments;          /* with bytes that were not read yet */
    int64_t bytes, oldest; /* the minute of the first of them, ms; 0: none */
    int strangers, unreadable;
} ingest_waiting;

/* One pass over every segment of the spool directory. `audit` has role DB_INGEST. Waits for
 * nothing: IDA_CONFLICT if another reader has locked the directory, IDA_NOT_FOUND if it does not
 * exist. A file that cannot be read is the failure of the pass; the others are read. `all`: also
 * seals and removes segments whose minute has not passed, if no process has them open (the node
 * is dead). */
ida_kind ingest_spool(store *audit, ida_ctx *c, const char *directory, int all,
                      ingest_summary *summary);

/* Changes nothing and takes no lock; a pass may be in progress. IDA_NOT_FOUND if the directory
 * does not exist. */
ida_kind ingest_backlog(store *audit, ida_ctx *c, const char *directory, ingest_waiting *waiting);

/* Moves up to `batches` batches of the outbox (0: all of it), companies in turns. `turns`: kept by
 * the caller from one call to the next; turns->more: records may be left. */
ida_kind ingest_outbox(store *main, store *audit, ida_ctx *c, int batches,
                       store_audit_turns *turns);

#endif
