/* Metrics as text that Prometheus reads: families are rows of their owner's table, labels are
 * escaped here. Knows nothing of what is measured. */
#ifndef CORE_BASE_METRICS_H
#define CORE_BASE_METRICS_H

#include <apr_pools.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ida_metric_type {
    IDA_METRIC_COUNTER, /* its name ends with _total */
    IDA_METRIC_GAUGE,
    IDA_METRIC_HISTOGRAM
} ida_metric_type;

typedef struct ida_metric {
    const char *name, *about; /* about: one sentence without a line break */
    ida_metric_type type;
} ida_metric;

/* A text that grows, in the classic exposition format (version 0.0.4). */
typedef struct ida_metrics {
    apr_pool_t *pool;
    char *text;
    size_t len, room;
} ida_metrics;

#define IDA_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define IDA_METRICS_OPEN_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define IDA_METRICS_FILE "metrics.prom" /* of the worker, in the spool directory */
#define IDA_METRICS_MAX 4194304         /* of a file that another process has written */

void ida_metrics_begin(ida_metrics *m, apr_pool_t *pool);
/* HELP and TYPE of a family; its samples follow, before the next family. */
void ida_metrics_family(ida_metrics *m, const ida_metric *row);
/* {name="value",...} of pairs ended by NULL, in the pool: the labels of a sample. */
const char *ida_metrics_labels(apr_pool_t *pool, const char *name, ...) __attribute__((sentinel));
/* A sample. `labels`: NULL for none. */
void ida_metrics_put(ida_metrics *m, const ida_metric *row, const char *labels, int64_t value);
void ida_metrics_put_text(ida_metrics *m, const ida_metric *row, const char *labels,
                          const char *number);
/* The same in seconds, of milliseconds. */
void ida_metrics_put_ms(ida_metrics *m, const ida_metric *row, const char *labels, int64_t ms);

/* Bounds of every histogram of ours, in milliseconds. */
#define IDA_METRICS_BOUNDS 12
extern const int64_t ida_metrics_bounds[IDA_METRICS_BOUNDS];
/* The bucket of a duration: IDA_METRICS_BOUNDS for what is above all bounds. */
int ida_metrics_bucket(int64_t microseconds);
/* `buckets`: how many fell into each alone, IDA_METRICS_BOUNDS + 1 of them. */
void ida_metrics_put_histogram(ida_metrics *m, const ida_metric *row, const char *labels,
                               const uint64_t *buckets, uint64_t sum_us);

/* The classic text as OpenMetrics 1.0. */
char *ida_metrics_open(apr_pool_t *pool, const char *text);

#endif
