/* Owns the history that the overview draws: hires and leavers of twelve months, punctuality of a
 * day. Made of the tasks that are kept, at most every five minutes for a company, because it is the
 * one question whose price grows with them. Must not know how it is drawn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/operation/op.h"
#include "core/queue/figures.h"
#include "core/tenant/credentials.h"
#include "core/zone/zone.h"

#define MONTHS 12
#define HOURS 24
#define HOUR_MS 3600000
#define DAY_MS INT64_C(86400000)
#define ON_TIME_MS 1000
#define BEGUN_MAX 50000 /* tasks of a day that are looked at */
#define KEPT_MS 300000
#define COMPANIES_KEPT 256

/* --- months --- */

static ida_kind put_months(ida_call *call, store *s, ida_ctx *c, json_t *out)
{
    const zone_info *zone;
    zone_wall now;
    int64_t oldest, kept = ida_now(c->env) - call->tenant->task_history_days * DAY_MS;
    ida_kind kind = zone_get(c, call->tenant->time_zone, &zone);
    kind = kind ? kind : queue_history_from(s, c, call->tenant->id, &oldest);
    if (kind) {
        return kind;
    }
    oldest = oldest > kept ? oldest : kept;
    ida_json_put_time(out, "historyFrom", oldest);
    json_t *months = json_array();
    json_object_set_new(out, "months", months);
    zone_to_wall(zone, ida_now(c->env) / 1000, &now);
    for (int back = MONTHS - 1; !kind && back >= 0; back--) {
        int number = now.year * 12 + now.month - 1 - back;
        const zone_wall first = {.year = number / 12, .month = number % 12 + 1, .day = 1},
                        after = {.year = (number + 1) / 12,
                                 .month = (number + 1) % 12 + 1,
                                 .day = 1};
        int64_t from = zone_to_utc(zone, &first) * 1000, to = zone_to_utc(zone, &after) * 1000,
                hires = 0, leavers = 0;
        kind = queue_count_done(s, c, call->tenant->id, IDA_USER_CREATE, from, to, &hires);
        kind = kind ? kind
                    : queue_count_done(s, c, call->tenant->id, IDA_USER_DELETE, from, to, &leavers);
        json_array_append_new(months,
                              json_pack("{s:o, s:I, s:I, s:b}", "month",
                                        json_sprintf("%04d-%02d", first.year, first.month), "hires",
                                        (json_int_t)hires, "leavers", (json_int_t)leavers,
                                        "complete", from >= oldest && back > 0));
    }
    return kind;
}

/* --- hours --- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static json_t *rank(const int64_t *sorted, int count, int percent)
{
    return count ? json_integer(sorted[(count - 1) * percent / 100]) : json_null();
}

static json_t *hour_json(ida_ctx *c, int64_t from, const queue_begun *rows, int count,
                         int64_t waiting)
{
    int64_t *late = apr_palloc(c->pool, sizeof *late * (apr_size_t)(count + 1)),
            end = from + HOUR_MS, oldest = waiting && waiting <= end ? end - waiting : 0;
    int begun = 0, on_time = 0;
    for (int i = 0; i < count; i++) {
        const queue_begun *b = &rows[i];
        if (b->started_at >= from && b->started_at < end) {
            late[begun] = b->started_at > b->ready_at ? b->started_at - b->ready_at : 0;
            on_time += late[begun++] <= ON_TIME_MS;
        } else if (b->started_at >= end && b->ready_at < end && end - b->ready_at > oldest) {
            oldest = end - b->ready_at;
        }
    }
    qsort(late, (size_t)begun, sizeof *late, by_number);
    json_t *hour = json_object();
    ida_json_put_time(hour, "from", from);
    json_object_set_new(hour, "begun", json_integer(begun));
    json_object_set_new(hour, "onTime", json_integer(on_time));
    json_object_set_new(hour, "p50Ms", rank(late, begun, 50));
    json_object_set_new(hour, "p99Ms", rank(late, begun, 99));
    json_object_set_new(hour, "maxMs", rank(late, begun, 100));
    json_object_set_new(hour, "oldestMs", oldest ? json_integer(oldest) : json_null());
    return hour;
}

static ida_kind put_hours(ida_call *call, store *s, ida_ctx *c, json_t *out)
{
    const queue_begun *rows;
    int count;
    int64_t now = ida_now(c->env), waiting = 0,
            first = now / HOUR_MS * HOUR_MS - (HOURS - 1) * HOUR_MS;
    ida_kind kind = queue_begun_since(s, c, call->tenant->id, first, BEGUN_MAX, &rows, &count);
    kind = kind ? kind : queue_waiting_since(s, c, call->tenant->id, &waiting);
    json_t *hours = json_array();
    json_object_set_new(out, "hours", hours);
    for (int i = 0; !kind && i < HOURS; i++) {
        json_array_append_new(hours, hour_json(c, first + i * HOUR_MS, rows, count, waiting));
    }
    return kind;
}

/* --- kept for five minutes --- */

static struct {
    char company[IDA_NAME_MAX + 1];
    int64_t made_at; /* monotonic ms */
    char *text;
} kept[COMPANIES_KEPT];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned place_of(const char *company)
{
    unsigned h = 2166136261u; /* FNV-1a; whoever shares a place takes turns */
    for (; *company; company++) {
        h = (h ^ (unsigned char)*company) * 16777619u;
    }
    return h % COMPANIES_KEPT;
}

static json_t *known(ida_ctx *c, const char *company)
{
    unsigned at = place_of(company);
    json_t *found = NULL;
    pthread_mutex_lock(&kept_lock);
    if (strcmp(kept[at].company, company) == 0 && kept[at].text &&
        ida_monotonic(c->env) - kept[at].made_at < KEPT_MS) {
        found = ida_json_load(c->pool, kept[at].text);
    }
    pthread_mutex_unlock(&kept_lock);
    return found;
}

static void keep(ida_ctx *c, const char *company, const json_t *result)
{
    unsigned at = place_of(company);
    char *text = json_dumps(result, JSON_COMPACT);
    pthread_mutex_lock(&kept_lock);
    free(kept[at].text);
    kept[at].text = text;
    kept[at].made_at = ida_monotonic(c->env);
    snprintf(kept[at].company, sizeof kept[at].company, "%s", company);
    pthread_mutex_unlock(&kept_lock);
}

static ida_kind trends(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    if ((call->result = known(c, call->tenant->id)) != NULL) {
        return IDA_OK;
    }
    json_t *out = ida_json_keep(c->pool, json_object());
    ida_kind kind = put_months(call, s, c, out);
    kind = kind ? kind : put_hours(call, s, c, out);
    if (!kind) {
        keep(c, call->tenant->id, out);
    }
    call->result = out;
    return kind;
}

static const ida_param no_params[] = {{0}};

const ida_operation ida_op_trends = {
    .name = "overview.trends",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_TASKS_READ,
    .method = "GET",
    .path = "/overview/trends",
    .params = no_params,
    .work = trends,
    .summary = "Hires and leavers of twelve months, punctuality of a day.",
};
