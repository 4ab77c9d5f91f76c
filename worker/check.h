/* The report on a tenant's directories: printed by `idadmin-worker --check ID`, and returned as
 * lines to the console. */
#ifndef WORKER_CHECK_H
#define WORKER_CHECK_H

#include <jansson.h>

#include "worker/hold/worker.h"

/* Prints the report; 0 if every check passed, otherwise 1. */
int check_tenant(worker *w, const char *tenant, apr_pool_t *pool);

/* For one directory, on its own connections: an array of check_line in the pool. */
json_t *check_report(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                     ida_directory_kind where);

#endif
