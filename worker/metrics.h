/* The worker's metrics: of this process, and of the store. */
#ifndef WORKER_METRICS_H
#define WORKER_METRICS_H

#include "worker/hold/worker.h"

/* Writes them whole into the spool directory of this node (IDA_METRICS_FILE), where httpd and
 * node_exporter's textfile collector read them. Meant to be called every few seconds. */
void metrics_write(worker *w, store *main, store *audit, apr_pool_t *pool);

#endif
