/* `idadmin-worker --check ID`: a readable report of a tenant's directories. */
#ifndef WORKER_CHECK_H
#define WORKER_CHECK_H

#include "worker/hold/worker.h"

/* Prints the report; 0 when every check passed, else 1. */
int check_tenant(worker *w, const char *tenant, apr_pool_t *pool);

#endif
