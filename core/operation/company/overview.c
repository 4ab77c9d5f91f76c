/* Owns the first page of the console: matters that need attention, the tasks of today and the
 * next days, the state of directories, workers and seats. */
#include "core/operation/company/overview.h"

#include <apr_strings.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/operation/company/directory_json.h"
#include "core/operation/op.h"
#include "core/operation/table.h"
#include "core/queue/figures.h"
#include "core/zone/zone.h"

#define DAYS 8 /* today and a week */
#define OPEN_MAX 20

/* The days that the page shows: date and begin of today and of the following days. */
typedef struct day {
    char date[16];
    int64_t from, to;
} day;

static ida_kind days_of(ida_ctx *c, const char *zone, day *days)
{
    const zone_info *rules;
    zone_wall wall;
    ida_kind kind = zone_get(c, zone, &rules);
    if (kind) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "The tenant's time zone cannot be used: %s",
                        c->message);
    }
    zone_to_wall(rules, ida_now(c->env) / 1000, &wall);
    int64_t first = ida_days_from_civil(wall.year, wall.month, wall.day), next = 0;
    for (int i = DAYS; i >= 0; i--) {
        zone_wall begin = {0};
        ida_civil_from_days(first + i, &begin.year, &begin.month, &begin.day);
        int64_t at = zone_to_utc(rules, &begin) * 1000;
        if (i < DAYS) {
            days[i] = (day){.from = at, .to = next};
            apr_snprintf(days[i].date, sizeof days[i].date, "%04d-%02d-%02d", begin.year,
                         begin.month, begin.day);
        }
        next = at;
    }
    return IDA_OK;
}

static ida_kind put_today(ida_call *call, store *s, ida_ctx *c, const day *today,
                          const queue_day *figures)
{
    ida_task *tasks;
    int count;
    int64_t total;
    queue_task_filter open = {.state = "queued,running,failed,attention",
                              .due_from = today->from,
                              .due_to = today->to,
                              .order = QUEUE_BY_DUE,
                              .limit = OPEN_MAX};
    ida_kind kind = queue_task_list(s, c, call->asked->tenant->id, &open, &tasks, &count, &total);
    if (kind) {
        return kind;
    }
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(list, ida_task_json(c, &tasks[i]));
    }
    json_object_set_new(call->result, "today",
                        json_pack("{s:s, s:I, s:I, s:I, s:o}", "date", today->date, "done",
                                  (json_int_t)figures->done, "late", (json_int_t)figures->late,
                                  "totalCount", (json_int_t)figures->done + total, "open", list));
    return IDA_OK;
}

static ida_kind put_days(ida_call *call, store *s, ida_ctx *c)
{
    day days[DAYS];
    queue_day today = {0};
    json_t *out = json_array();
    json_object_set_new(call->result, "days", out);
    ida_kind kind = days_of(c, call->asked->tenant->time_zone, days);
    for (int i = 0; !kind && i < DAYS; i++) {
        queue_day d;
        kind = queue_day_get(s, c, call->asked->tenant->id, days[i].from, days[i].to, &d);
        today = i ? today : d;
        json_array_append_new(
            out, json_pack("{s:s, s:I, s:I, s:I, s:I}", "date", days[i].date, "creates",
                           (json_int_t)d.creates, "updates", (json_int_t)d.updates, "deletes",
                           (json_int_t)d.deletes, "access", (json_int_t)d.access));
    }
    return kind ? kind : put_today(call, s, c, &days[0], &today);
}

static ida_kind put_company(ida_call *call, store *s, ida_ctx *c, ida_overview *seen)
{
    ida_kind kind = ida_directories_json(call, s, c, &seen->directories);
    kind = kind ? kind : ida_workers_running(s, c, &seen->workers, &seen->worker_seen_at);
    kind = kind ? kind : ida_op_seats(s, c, call->asked->tenant, &seen->seats);
    if (kind) {
        return kind;
    }
    json_t *workers = json_pack("{s:i}", "running", seen->workers);
    /* While a worker runs, this would change with each heartbeat, and so would the answer to
     * each poll. */
    ida_json_put_time(workers, "lastSeenAt", seen->workers ? 0 : seen->worker_seen_at);
    json_object_set_new(call->result, "workers", workers);
    json_object_set(call->result, "directories", seen->directories);
    json_object_set_new(call->result, "seats", seen->seats);
    return IDA_OK;
}

static void withhold(json_t *withheld, const char *const *names)
{
    for (; *names; names++) {
        json_array_append_new(withheld, json_string(*names));
    }
}

static ida_kind get(ida_call *call, store *s, ida_ctx *c)
{
    static const char *const of_tasks[] = {"today", "days", NULL}, *const of_company[] = {
                                                                       "directories", "workers",
                                                                       "seats", NULL};
    unsigned roles = call->asked->roles;
    ida_overview seen = {0};
    json_t *withheld = json_array(), *needs;
    ida_kind kind = IDA_OK;
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "withheld", withheld));
    if (ida_roles_have(roles, IDA_TASKS_READ)) {
        kind = put_days(call, s, c);
    } else {
        withhold(withheld, of_tasks);
    }
    if (kind) {
        return kind;
    }
    if (ida_roles_have(roles, IDA_COMPANY_READ)) {
        kind = put_company(call, s, c, &seen);
    } else {
        withhold(withheld, of_company);
    }
    if (kind) {
        return kind;
    }
    kind = ida_needs(call, s, c, &seen, &needs);
    json_object_set_new(call->result, "needs", needs);
    return kind;
}

const ida_operation ida_op_overview = {
    .name = "overview.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_OVERVIEW_READ,
    IDA_READS("/overview"),
    .commands = IDA_COMMANDS(
        {"overview", .verb = NULL,
         .summary = "Show what needs attention, what is due, directories, workers and seats."}),
    .params = ida_no_params,
    .work = get,
    .summary = "What needs attention, today and the next days, directories, workers and seats.",
};
