/* A company's metrics: what is read of the store for all families, and the families. For
 * worker/metrics.c. */
#ifndef WORKER_METRICS_COMPANY_H
#define WORKER_METRICS_COMPANY_H

#include "core/base/metrics.h"
#include "core/cache/freshness.h"
#include "core/cache/person.h"
#include "core/queue/figures.h"
#include "core/store/audit.h"
#include "core/store/chain_check.h"
#include "core/store/directory.h"

typedef struct directory_figures {
    cache_sync_info sync;
    store_directory health;
    int64_t waiting;
} directory_figures;

typedef struct company_figures {
    const char *id, *state;
    queue_figures queue;
    const queue_overdue *overdue;
    int overdue_count;
    directory_figures directory[IDA_DIR_COUNT];
    store_chain_check chain;
    int64_t chain_last, outbox, key_expires_at; /* the next one; 0: none within a year */
} company_figures;

/* Reads all of out->id. */
ida_kind metrics_company_read(store *s, ida_ctx *c, int64_t now, company_figures *out);

/* The families, each with all companies. */
void metrics_company_put(ida_metrics *m, const company_figures *companies, int count, int64_t now);

#endif
