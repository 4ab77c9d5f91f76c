/* Owns the counters that the worker counts by. Must not know what is counted. */
#include "worker/base/counts.h"

#include <pthread.h>
#include <string.h>

#define CELLS_MAX 512 /* more than there are words: what is beyond is not counted */

static const struct {
    ida_metric metric;
    const char *one, *two;
} rows[COUNT_ROWS] = {
    [COUNT_CALLS] = {{"idadmin_worker_directory_calls_total",
                      "Calls of directories for tasks, by what came of them.", IDA_METRIC_COUNTER},
                     "directory",
                     "class"},
    [COUNT_THROTTLED] = {{"idadmin_worker_throttled_total",
                          "Answers of a directory that asked to slow down.", IDA_METRIC_COUNTER},
                         "directory",
                         NULL},
    [COUNT_STEPS] = {{"idadmin_worker_steps_total", "Steps of tasks, by their outcome.",
                      IDA_METRIC_COUNTER},
                     "step",
                     "outcome"},
    [COUNT_RUNS] =
        {{"idadmin_worker_runs_total",
          "Runs of tasks: how each ended. again: it counts as a try; later: it does not.",
          IDA_METRIC_COUNTER},
         "type",
         "end"},
    [COUNT_SYNCS] = {{"idadmin_worker_syncs_total", "Synchronisations, by their result.",
                      IDA_METRIC_COUNTER},
                     "directory",
                     "result"},
    [COUNT_LEASES] = {{"idadmin_worker_leases_lost_total",
                       "Leases that another worker took while this one held them.",
                       IDA_METRIC_COUNTER},
                      "kind",
                      NULL},
};

static struct {
    pthread_mutex_t lock;
    int count;
    struct cell {
        count_row row;
        const char *one, *two;
        int64_t number;
    } cells[CELLS_MAX];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void count_one(count_row row, const char *one, const char *two)
{
    pthread_mutex_lock(&all.lock);
    int i = 0;
    while (i < all.count && !(all.cells[i].row == row && same(all.cells[i].one, one) &&
                              same(all.cells[i].two, two))) {
        i++;
    }
    if (i == all.count && i < CELLS_MAX) {
        all.cells[all.count++] = (struct cell){row, one, two, 0};
    }
    if (i < CELLS_MAX) {
        all.cells[i].number++;
    }
    pthread_mutex_unlock(&all.lock);
}

void counts_put(ida_metrics *m)
{
    for (int row = 0; row < COUNT_ROWS; row++) {
        ida_metrics_family(m, &rows[row].metric);
        pthread_mutex_lock(&all.lock);
        for (int i = 0; i < all.count; i++) {
            const struct cell *cell = &all.cells[i];
            if ((int)cell->row == row) {
                ida_metrics_put(m, &rows[row].metric,
                                ida_metrics_labels(m->pool, rows[row].one, cell->one, rows[row].two,
                                                   cell->two, NULL),
                                cell->number);
            }
        }
        pthread_mutex_unlock(&all.lock);
    }
}
