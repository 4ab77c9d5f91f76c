/* The few connections of a process that calls are served with, fair by company: of httpd's children
 * to read with, of the writer. One pool a process, for any thread. */
#ifndef CORE_OPERATION_POOL_H
#define CORE_OPERATION_POOL_H

#include "core/operation/operation.h"

/* `of_company`: so many may be with one company, so that others find the rest. */
void ida_pool_start(apr_pool_t *pool, const char *dsn, db_role role, int connections,
                    int of_company);

/* `company`: a text, whose share it comes from; "": of requests that name none.
 * IDA_SERVICE_UNAVAILABLE when there is none within five seconds, or the store is away. */
ida_kind ida_pool_acquire(void *company, ida_ctx *c, store **s);
void ida_pool_release(void *company, store *s);

/* For a call: a connection to read with. After a failure c says the kind's sentence, and what is
 * wrong with the store is in the log alone. Given back before a slow client is written to, at the
 * latest; harmless when it was. */
ida_kind ida_pool_serve(ida_call *call);
void ida_pool_give_back(ida_call *call);

#endif
