/* Lists that are saved as files: read page by page while they are written, so that a slow client
 * holds neither memory nor a connection of the store. */
#ifndef CORE_OPERATION_EXPORT_H
#define CORE_OPERATION_EXPORT_H

#include "core/operation/operation.h"

#define IDA_EXPORT_MAX 100000 /* rows that are read at most */

typedef struct ida_export {
    const char *name;           /* of the file */
    const char *const *columns; /* for CSV, NULL-terminated; NULL: a line of JSON for each row */
    const char *checkpoint;     /* the newest checkpoint of the chain that the rows belong to, as a
                                   line;     NULL: none */
    int truncated;              /* 1: there are more rows than were read */
    json_t *rows;               /* of the current page, an array; never NULL after `run` */
    int more;                   /* 1: there is a page after this one */
    int64_t looked_at;
    /* Reads the next page with call->store, into the pool of `c`. */
    ida_kind (*read)(ida_call *call, ida_ctx *c, struct ida_export *x);
    void *state; /* of `read` */
} ida_export;

#endif
