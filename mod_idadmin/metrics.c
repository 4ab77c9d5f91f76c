/* Owns the counters of httpd's children: requests by face, operation and status, their latency, and
 * refusals by limit. They lie in memory that all children share, and survive restarts. Must not
 * know how they are shown. */
#include "mod_idadmin/module.h"

#include <stdatomic.h>
#include <string.h>

#include "core/operation/table.h"

APLOG_USE_MODULE(idadmin);

/* Statuses that the service answers with; every other one is counted as the last. */
static const int statuses[] = {200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 408,
                               409, 412, 413, 415, 422, 429, 500, 502, 503, 504, 0};
#define STATUSES (sizeof statuses / sizeof *statuses)
#define FACES FACE_ABSENT

typedef struct cell {
    _Atomic uint64_t by_status[STATUSES];
    _Atomic uint64_t buckets[IDA_METRICS_BOUNDS + 1], sum_us;
} cell;

struct metrics_block {
    uint64_t names; /* of the operations that the cells belong to */
    _Atomic uint64_t limited[METRICS_LIMITS];
    cell cells[]; /* faces x (operations + 1: none) */
};

static metrics_block *block; /* set before threads start; NULL: nothing is counted */

static const char *const face_names[] = {
    [FACE_REST] = "rest",       [FACE_OPENAPI] = "openapi", [FACE_MCP] = "mcp",
    [FACE_CONSOLE] = "console", [FACE_HEALTH] = "health",   [FACE_METRICS] = "metrics",
    [FACE_ABSENT] = "absent"};

static int operation_count(void)
{
    int count = 0;
    while (ida_operations[count]) {
        count++;
    }
    return count;
}

size_t metrics_size(void)
{
    return sizeof(metrics_block) + sizeof(cell) * (size_t)FACES * (size_t)(operation_count() + 1);
}

/* FNV-1a: a module of another version may find this block after a graceful restart. */
static uint64_t names_of_operations(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; ida_operations[i]; i++) {
        for (const char *at = ida_operations[i]->name; *at; at++) {
            hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
        }
    }
    return hash;
}

void metrics_format(metrics_block *fresh)
{
    uint64_t names = names_of_operations();
    if (fresh->names != names) {
        memset(fresh, 0, metrics_size());
        fresh->names = names;
    }
}

void metrics_attach(metrics_block *shared)
{
    block = shared;
}

static cell *cell_of(face f, int operation)
{
    return &block->cells[(size_t)(f - 1) * (size_t)(operation_count() + 1) + (size_t)operation];
}

/* The number of the request's operation; that behind the last one: none. */
static int operation_of(request_rec *r, face f)
{
    const char *name = apr_table_get(r->notes, "idadmin-op");
    const ida_operation *op = f == FACE_REST || f == FACE_CONSOLE ? request_route(r)->operation
                                                                  : NULL;
    int at = 0;
    while (ida_operations[at] && ida_operations[at] != op &&
           (op || !name || strcmp(ida_operations[at]->name, name) != 0)) {
        at++;
    }
    return at;
}

void metrics_count(request_rec *r)
{
    face f = request_face(r);
    if (!block || f == FACE_NONE || !request_is_first(r)) {
        return;
    }
    const request_rec *last = r;
    while (last->next) {
        last = last->next;
    }
    int64_t us = apr_time_now() - r->request_time;
    size_t status = 0;
    while (statuses[status] && statuses[status] != last->status) {
        status++;
    }
    us = us < 0 ? 0 : us;
    cell *at = cell_of(f, operation_of(r, f));
    atomic_fetch_add_explicit(&at->by_status[status], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&at->buckets[ida_metrics_bucket(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&at->sum_us, (uint64_t)us, memory_order_relaxed);
}

void metrics_limited(int by)
{
    if (block) {
        atomic_fetch_add_explicit(&block->limited[by], 1, memory_order_relaxed);
    }
}

void metrics_each(metrics_row *row, void *baton)
{
    for (int f = 1; block && f <= FACES; f++) {
        for (int op = 0; op <= operation_count(); op++) {
            const cell *at = cell_of((face)f, op);
            int64_t by_class[METRICS_CLASSES] = {0}, all = 0;
            for (size_t i = 0; i < STATUSES; i++) {
                int64_t count = (int64_t)atomic_load(&at->by_status[i]);
                int class = statuses[i] ? statuses[i] / 100 - 2 : METRICS_CLASSES - 1;
                by_class[class] += count;
                all += count;
            }
            if (all) {
                row(baton, face_names[f], ida_operations[op] ? ida_operations[op]->name : "none",
                    by_class);
            }
        }
    }
}

/* --- as text --- */

static const ida_metric requests = {"idadmin_http_requests_total",
                                    "Requests by face, operation and status (other: none of ours).",
                                    IDA_METRIC_COUNTER};
static const ida_metric durations = {"idadmin_http_request_duration_seconds",
                                     "Time from the request line to the end of the answer.",
                                     IDA_METRIC_HISTOGRAM};
static const ida_metric limited = {"idadmin_http_limited_total",
                                   "Requests that got 429, by the limit that refused them.",
                                   IDA_METRIC_COUNTER};

typedef void (*cell_put)(ida_metrics *m, const char *labels, cell *at);

static void put_statuses(ida_metrics *m, const char *labels, cell *at)
{
    for (size_t i = 0; i < STATUSES; i++) {
        uint64_t count = atomic_load(&at->by_status[i]);
        if (count) {
            const char *status = statuses[i] ? apr_itoa(m->pool, statuses[i]) : "other";
            ida_metrics_put(m, &requests,
                            apr_pstrcat(m->pool, labels, ",status=\"", status, "\"", NULL),
                            (int64_t)count);
        }
    }
}

static void put_durations(ida_metrics *m, const char *labels, cell *at)
{
    uint64_t buckets[IDA_METRICS_BOUNDS + 1], count = 0;
    for (int i = 0; i <= IDA_METRICS_BOUNDS; i++) {
        buckets[i] = atomic_load(&at->buckets[i]);
        count += buckets[i];
    }
    if (count) {
        ida_metrics_put_histogram(m, &durations, labels, buckets, atomic_load(&at->sum_us));
    }
}

static void put_cells(ida_metrics *m, const ida_metric *row, cell_put put)
{
    ida_metrics_family(m, row);
    for (int f = 1; f <= FACES; f++) {
        for (int op = 0; op <= operation_count(); op++) {
            const char *name = ida_operations[op] ? ida_operations[op]->name : "none";
            put(m, ida_metrics_labels(m->pool, "face", face_names[f], "operation", name, NULL),
                cell_of((face)f, op));
        }
    }
}

void metrics_put_requests(ida_metrics *m)
{
    static const char *const names[METRICS_LIMITS] = {
        [LIMIT_KEY] = "key",         [LIMIT_COMPANY] = "company",
        [LIMIT_ADDRESS] = "address", [LIMIT_FAILURES] = "failures",
        [LIMIT_PERSON] = "person",   [METRICS_CONCURRENCY] = "concurrency"};
    if (!block) {
        return;
    }
    put_cells(m, &requests, put_statuses);
    put_cells(m, &durations, put_durations);
    ida_metrics_family(m, &limited);
    for (int i = 0; i < METRICS_LIMITS; i++) {
        ida_metrics_put(m, &limited, ida_metrics_labels(m->pool, "limit", names[i], NULL),
                        (int64_t)atomic_load(&block->limited[i]));
    }
}
