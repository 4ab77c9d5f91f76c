/* Owns the console's first page and the numbers of its frame: what needs somebody, who starts and
 * leaves, how the directories stand. Must not know how they are drawn. */
#include <stdio.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/operation/needs.h"
#include "core/operation/op.h"
#include "core/queue/figures.h"
#include "core/zone/zone.h"

#define DAYS 8 /* today and the seven after it */
#define OPEN_SHOWN 20
#define LATE_MS 60000

static int may(const ida_call *call, ida_right right)
{
    return ida_roles_have(call->person->roles, right);
}

/* --- days --- */

/* Midnight at which the day begins that lies `ahead` days from today, in the company's zone; its
 * date goes to `date`. */
static int64_t midnight(ida_ctx *c, const zone_info *zone, int ahead, char date[16])
{
    zone_wall wall;
    zone_to_wall(zone, ida_now(c->env) / 1000, &wall);
    ida_civil_from_days(ida_days_from_civil(wall.year, wall.month, wall.day) + ahead, &wall.year,
                        &wall.month, &wall.day);
    wall.hour = wall.minute = wall.second = 0;
    snprintf(date, 16, "%04d-%02d-%02d", wall.year, wall.month, wall.day);
    return zone_to_utc(zone, &wall) * 1000;
}

static ida_kind put_days(ida_call *call, store *s, ida_ctx *c, const zone_info *zone, json_t *out)
{
    char date[16], next[16];
    ida_kind kind = IDA_OK;
    json_t *days = json_array();
    json_object_set_new(out, "days", days);
    for (int i = 0; !kind && i < DAYS; i++) {
        queue_due_kinds due;
        int64_t from = midnight(c, zone, i, date), to = midnight(c, zone, i + 1, next);
        kind = queue_count_due(s, c, call->tenant->id, from, to, &due);
        json_array_append_new(
            days, json_pack("{s:s, s:I, s:I, s:I, s:I}", "date", date, "creates",
                            (json_int_t)due.creates, "updates", (json_int_t)due.updates, "deletes",
                            (json_int_t)due.deletes, "access", (json_int_t)due.access));
    }
    return kind;
}

static ida_kind put_today(ida_call *call, store *s, ida_ctx *c, const zone_info *zone, json_t *out)
{
    char date[16], next[16];
    queue_day day = {0};
    ida_task *tasks;
    int count = 0;
    int64_t from = midnight(c, zone, 0, date), to = midnight(c, zone, 1, next);
    ida_kind kind = queue_count_day(s, c, call->tenant->id, from, to, LATE_MS, &day);
    kind = kind ? kind
                : queue_open_of(s, c, call->tenant->id, from, to, OPEN_SHOWN, &tasks, &count);
    json_t *open = json_array();
    for (int i = 0; !kind && i < count; i++) {
        json_array_append_new(open, ida_task_json(c, &tasks[i]));
    }
    json_object_set_new(out, "today",
                        json_pack("{s:s, s:I, s:I, s:I, s:o}", "date", date, "done",
                                  (json_int_t)day.done, "late", (json_int_t)day.late, "totalCount",
                                  (json_int_t)day.total, "open", open));
    return kind;
}

/* --- the page --- */

static json_t *seats_json(const ida_call *call, int64_t used)
{
    int64_t limit = call->tenant->seat_limit;
    return json_pack("{s:I, s:o}", "used", (json_int_t)used, "limit",
                     limit < 0 ? json_null() : json_integer(limit));
}

static ida_kind overview(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    ida_standing standing;
    const zone_info *zone;
    json_t *needs, *out = ida_json_keep(c->pool, json_object()), *withheld = json_array();
    ida_kind kind = zone_get(c, call->tenant->time_zone, &zone);
    kind = kind ? kind : ida_standing_read(call, s, c, &standing);
    kind = kind ? kind : ida_needs_json(call, s, c, &standing, &needs);
    if (kind) {
        json_decref(withheld);
        return kind;
    }
    json_object_set(out, "needs", needs);
    if (may(call, IDA_TASKS_READ)) {
        kind = put_today(call, s, c, zone, out);
        kind = kind ? kind : put_days(call, s, c, zone, out);
    } else {
        json_array_append_new(withheld, json_string("today"));
        json_array_append_new(withheld, json_string("days"));
    }
    if (may(call, IDA_COMPANY_READ)) {
        json_object_set(out, "directories", standing.directories);
        json_object_set_new(out, "seats", seats_json(call, standing.seats_used));
    } else {
        json_array_append_new(withheld, json_string("directories"));
        json_array_append_new(withheld, json_string("seats"));
    }
    json_t *workers = json_pack("{s:i}", "running", standing.workers);
    ida_json_put_time(workers, "lastSeenAt", standing.workers ? 0 : standing.worker_seen_at);
    json_object_set_new(out, "workers", workers);
    json_object_set_new(out, "withheld", withheld);
    call->result = out;
    return kind;
}

static ida_kind pulse(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    ida_standing standing;
    json_t *out = ida_json_keep(c->pool, json_object()), *directories = json_array();
    ida_kind kind = ida_standing_read(call, s, c, &standing);
    if (!kind && may(call, IDA_TASKS_READ)) {
        queue_states n;
        kind = queue_count_states(s, c, call->tenant->id, &n);
        json_object_set_new(
            out, "queue",
            json_pack("{s:I, s:I, s:I, s:I, s:I}", "queued", (json_int_t)n.queued, "running",
                      (json_int_t)n.running, "failed", (json_int_t)n.failed, "attention",
                      (json_int_t)(n.attention + n.braked), "braked", (json_int_t)n.braked));
    }
    const json_t *directory;
    size_t i;
    json_array_foreach (kind ? NULL : standing.directories, i, directory) {
        json_array_append_new(directories, json_pack("{s:O, s:O}", "directory",
                                                     json_object_get(directory, "directory"),
                                                     "state", json_object_get(directory, "state")));
    }
    if (may(call, IDA_COMPANY_READ)) {
        json_object_set(out, "directories", directories);
    }
    json_decref(directories);
    if (may(call, IDA_REQUESTS_DECIDE)) {
        json_object_set_new(out, "toDecide", json_integer(kind ? 0 : standing.to_decide));
    }
    json_object_set_new(out, "workersRunning", json_integer(kind ? 0 : standing.workers));
    call->result = out;
    return kind;
}

static const ida_param no_params[] = {{0}};

const ida_operation ida_op_overview = {
    .name = "overview.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_OVERVIEW_READ,
    .method = "GET",
    .path = "/overview",
    .params = no_params,
    .work = overview,
    .summary = "What needs somebody, who starts and leaves, how the directories stand.",
};

const ida_operation ida_op_pulse = {
    .name = "pulse.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_RIGHT_ANY,
    .method = "GET",
    .path = "/pulse",
    .params = no_params,
    .work = pulse,
    .summary = "The numbers that stand in the console's frame.",
};
