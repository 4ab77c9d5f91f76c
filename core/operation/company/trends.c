/* Owns hires and leavers by month, and punctuality by hour. Both read much history, so each
 * process caches a company's result for five minutes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/operation/table.h"
#include "core/queue/figures.h"
#include "core/zone/zone.h"

#define MONTHS 12
#define HOURS 24
#define HOUR_MS INT64_C(3600000)
#define DAY_MS INT64_C(86400000)
#define ON_TIME_MS 1000
#define KEPT_MS INT64_C(300000)

/* --- months --- */

static int64_t begin_of(const zone_info *rules, int month)
{
    zone_wall wall = {.year = month / 12, .month = month % 12 + 1, .day = 1};
    return zone_to_utc(rules, &wall) * 1000;
}

/* Months are numbered from the year 0; the last one is the current month. */
static ida_kind put_months(ida_call *call, store *s, ida_ctx *c, json_t *out)
{
    const ida_tenant *t = call->asked->tenant;
    const zone_info *rules;
    zone_wall wall;
    int64_t now = ida_now(c->env), oldest, kept = now - t->task_history_days * DAY_MS;
    json_t *months = json_array();
    json_object_set_new(out, "months", months);
    ida_kind kind = zone_get(c, t->time_zone, &rules);
    if (kind) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "The tenant's time zone cannot be used: %s",
                        c->message);
    }
    kind = queue_oldest_known(s, c, t->id, &oldest);
    int64_t from = oldest && oldest < kept ? kept : oldest; /* older rows are removed in batches,
                                                               so their counts are incomplete */
    ida_json_put_time(out, "historyFrom", from);
    zone_to_wall(rules, now / 1000, &wall);
    int running = wall.year * 12 + wall.month - 1;
    for (int m = running - MONTHS + 1; !kind && m <= running; m++) {
        int64_t begin = begin_of(rules, m), end = begin_of(rules, m + 1), hires, leavers;
        kind = queue_done_count(s, c, t->id, IDA_USER_CREATE, begin, end, &hires);
        kind = kind ? kind : queue_done_count(s, c, t->id, IDA_USER_DELETE, begin, end, &leavers);
        if (!kind) {
            json_t *month = json_pack("{s:I, s:I, s:b}", "hires", (json_int_t)hires, "leavers",
                                      (json_int_t)leavers, "complete",
                                      m < running && from && from <= begin);
            ida_json_put(month, "month", ida_printf(c->pool, "%04d-%02d", m / 12, m % 12 + 1));
            json_array_append_new(months, month);
        }
    }
    return kind;
}

/* --- hours --- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that at least `percent` of all values do not exceed. */
static int64_t percentile(const int64_t *sorted, int count, int percent)
{
    int rank = (int)(((int64_t)count * percent + 99) / 100);
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* How long the oldest task that was due and had not begun at `at` had waited. */
static int64_t oldest_at(const queue_begun *rows, int count, int64_t waiting_since, int64_t at)
{
    int64_t oldest = waiting_since && waiting_since <= at ? waiting_since : at;
    for (int i = 0; i < count; i++) {
        if (rows[i].started_at > at && rows[i].ready_at < oldest) {
            oldest = rows[i].ready_at;
        }
    }
    return at - oldest;
}

static json_t *hour_json(const int64_t *late, int begun)
{
    static const struct {
        const char *name;
        int percent;
    } marks[] = {{"p50Ms", 50}, {"p99Ms", 99}, {"maxMs", 100}};
    json_t *hour = json_object();
    json_int_t on_time = 0;
    for (int i = 0; i < begun; i++) {
        on_time += late[i] <= ON_TIME_MS;
    }
    json_object_set_new(hour, "begun", json_integer(begun));
    json_object_set_new(hour, "onTime", json_integer(on_time));
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        json_object_set_new(hour, marks[i].name,
                            begun ? json_integer(percentile(late, begun, marks[i].percent))
                                  : json_null());
    }
    return hour;
}

static ida_kind put_hours(ida_call *call, store *s, ida_ctx *c, json_t *out)
{
    const queue_begun *rows;
    int count, at = 0;
    int64_t now = ida_now(c->env), last = now / HOUR_MS * HOUR_MS, waiting_since = 0;
    int64_t first = last - (HOURS - 1) * HOUR_MS;
    json_t *hours = json_array();
    json_object_set_new(out, "hours", hours);
    ida_kind kind = queue_begun_list(s, c, call->asked->tenant->id, first, &rows, &count);
    kind = kind ? kind : queue_waiting_since(s, c, call->asked->tenant->id, now, &waiting_since);
    if (kind) {
        return kind;
    }
    int64_t *late = apr_palloc(c->pool, ((size_t)count + 1) * sizeof *late);
    for (int64_t from = first; from <= last; from += HOUR_MS) {
        int64_t end = from + HOUR_MS < now ? from + HOUR_MS : now;
        int begun = 0;
        for (; at < count && rows[at].started_at < from + HOUR_MS; at++) {
            int64_t ms = rows[at].started_at - rows[at].ready_at;
            late[begun++] = ms > 0 ? ms : 0;
        }
        qsort(late, (size_t)begun, sizeof *late, by_size);
        json_t *hour = hour_json(late, begun);
        ida_json_put_time(hour, "from", from);
        json_object_set_new(hour, "oldestMs",
                            json_integer(oldest_at(rows + at, count - at, waiting_since, end)));
        json_array_append_new(hours, hour);
    }
    return IDA_OK;
}

static ida_kind make(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    json_t *out = call->result = ida_json_keep(c->pool, json_object());
    ida_kind kind = put_months(call, s, c, out);
    return kind ? kind : put_hours(call, s, c, out);
}

/* --- what is kept --- */

/* One for each company; threads that come while it is computed wait, so that it is computed
 * once. */
typedef struct kept {
    pthread_mutex_t lock;
    char *key, *text;
    int64_t made_at; /* monotonic */
    struct kept *next;
} kept;

static kept *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL: no memory. */
static kept *kept_of(const char *key)
{
    pthread_mutex_lock(&all_lock);
    kept *k = all;
    while (k && strcmp(k->key, key) != 0) {
        k = k->next;
    }
    if (!k && (k = calloc(1, sizeof *k)) != NULL) {
        k->key = strdup(key);
        if (!k->key) {
            free(k);
            k = NULL;
        } else {
            pthread_mutex_init(&k->lock, NULL);
            k->next = all;
            all = k;
        }
    }
    pthread_mutex_unlock(&all_lock);
    return k;
}

static ida_kind run(ida_call *call)
{
    ida_ctx *c = call->c;
    kept *k = kept_of(ida_printf(c->pool, "%s\n%s", call->store->dsn, call->asked->tenant->id));
    if (!k) {
        return store_snapshot(call->store, c, make, call);
    }
    ida_kind kind = IDA_OK;
    pthread_mutex_lock(&k->lock);
    if (k->text && ida_monotonic(c->env) - k->made_at < KEPT_MS) {
        call->result = ida_json_load(c->pool, k->text);
    } else if (!(kind = store_snapshot(call->store, c, make, call))) {
        free(k->text);
        k->text = strdup(ida_json_text(c->pool, call->result));
        k->made_at = ida_monotonic(c->env);
    }
    pthread_mutex_unlock(&k->lock);
    return kind;
}

const ida_operation ida_op_trends = {
    .name = "overview.trends",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_TASKS_READ,
    IDA_READS("/overview/trends"),
    .params = ida_no_params,
    .run = run,
    .summary = "Hires and leavers by month, punctuality by hour.",
};
