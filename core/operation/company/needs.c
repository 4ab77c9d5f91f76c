/* Owns the list of matters that need attention: their kind, how urgent, since when, and example
 * people. Worst first, without those that the person has no right to see. The console shows them to
 * people, and health to monitoring. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/governance/named.h"
#include "core/operation/company/directory_json.h"
#include "core/operation/company/health.h"
#include "core/operation/company/overview.h"
#include "core/queue/change.h"
#include "core/store/chain_check.h"
#include "core/store/key.h"

#define SAMPLE_MAX 3
#define OVERDUE_MS INT64_C(900000) /* a quarter of an hour */
#define SEATS_LOW_PERCENT 95
#define REQUESTS_MAX 1000 /* looked at */

typedef struct needing {
    ida_call *call;
    store *s;
    ida_ctx *c;
    const ida_overview *seen;
    json_t *needs;
} needing;

/* Adds a need if count is not 0; takes `sample` over. */
static void add(needing *n, const char *kind, int critical, int64_t count, int64_t since,
                json_t *sample)
{
    if (!count) {
        json_decref(sample);
        return;
    }
    json_t *need = json_pack("{s:s, s:s, s:I, s:o}", "kind", kind, "severity",
                             critical ? "critical" : "warning", "count", (json_int_t)count,
                             "sample", sample ? sample : json_array());
    ida_json_put_time(need, "since", since);
    json_array_append_new(n->needs, need);
}

/* --- tasks --- */

/* Whether each account was seen disabled; a leaver of whom that is not known may still sign in. */
static int is_disabled(const ida_task *task)
{
    int seen = 0;
    for (int i = 0; i < task->step_count; i++) {
        const ida_step *step = &task->steps[i];
        if (!step->workflow && strcmp(step->name, "disableAccount") == 0) {
            if (step->outcome != IDA_STEP_DONE && step->outcome != IDA_STEP_ALREADY) {
                return 0;
            }
            seen = 1;
        }
    }
    return seen;
}

static int is_begun(const ida_task *task)
{
    for (int i = 0; i < task->step_count; i++) {
        if (task->steps[i].outcome != IDA_STEP_NONE) {
            return 1;
        }
    }
    return 0;
}

/* Tasks that match the filter, by due time. */
static ida_kind add_tasks(needing *n, const char *kind, int critical, queue_task_filter filter)
{
    ida_task *tasks;
    int count;
    int64_t total;
    filter.order = QUEUE_BY_DUE;
    filter.limit = SAMPLE_MAX;
    ida_kind failed = queue_task_list(n->s, n->c, n->call->asked->tenant->id, &filter, &tasks,
                                      &count, &total);
    if (failed) {
        return failed;
    }
    json_t *sample = json_array();
    for (int i = 0; i < count; i++) {
        json_t *one = ida_json_texts("taskId", tasks[i].id, "userPrincipalName", tasks[i].upn,
                                     "displayName", tasks[i].display_name, "reason",
                                     tasks[i].error ? tasks[i].error : tasks[i].hold, NULL);
        if (tasks[i].type == IDA_USER_DELETE) {
            json_object_set_new(one, "accountDisabled", json_boolean(is_disabled(&tasks[i])));
            json_object_set_new(one, "begun", json_boolean(is_begun(&tasks[i])));
        }
        json_array_append_new(sample, one);
    }
    add(n, kind, critical, total, count ? tasks[0].due_at : 0, sample);
    return IDA_OK;
}

static ida_kind offboarding_failed(needing *n)
{
    return add_tasks(n, "offboardingFailed", 1,
                     (queue_task_filter){.state = "failed", .type = "userDelete"});
}

static ida_kind offboarding_overdue(needing *n)
{
    return add_tasks(n, "offboardingOverdue", 1,
                     (queue_task_filter){.state = "queued",
                                         .type = "userDelete",
                                         .due_to = ida_now(n->c->env) - OVERDUE_MS});
}

static ida_kind tasks_late(needing *n)
{
    return add_tasks(n, "tasksLate", 0,
                     (queue_task_filter){.state = "queued",
                                         .type = "userCreate,userUpdate,accessGrant,accessRevoke",
                                         .due_to = ida_now(n->c->env) - OVERDUE_MS});
}

static ida_kind failed(needing *n)
{
    return add_tasks(n, "failed", 0,
                     (queue_task_filter){.state = "failed",
                                         .type = "userCreate,userUpdate,accessGrant,accessRevoke"});
}

static ida_kind attention(needing *n)
{
    return add_tasks(n, "attention", 0,
                     (queue_task_filter){.state = "attention", .braked = QUEUE_NOT_BRAKED});
}

static ida_kind braked(needing *n)
{
    return add_tasks(n, "braked", 0,
                     (queue_task_filter){.state = "attention", .braked = QUEUE_BRAKED});
}

/* --- the company --- */

static int64_t time_of(const json_t *object, const char *member)
{
    const char *text = ida_json_string(object, member);
    int64_t at = 0;
    return text && ida_time_parse(text, &at) ? at : 0;
}

static ida_kind worker_none(needing *n)
{
    add(n, "workerNone", 1, !n->seen->workers, n->seen->worker_seen_at, NULL);
    return IDA_OK;
}

static ida_kind paused(needing *n)
{
    const ida_tenant *tenant = n->call->asked->tenant;
    const json_t *pause = json_object_get(tenant->document, "paused");
    if (tenant->paused) {
        add(n, "paused", 0, 1, time_of(pause, "since"),
            json_pack("[o]", ida_json_texts("reason", ida_json_string(pause, "reason"), NULL)));
    }
    return IDA_OK;
}

static ida_kind chain_broken(needing *n)
{
    store_chain_check check;
    ida_kind kind = store_chain_check_get(n->s, n->c, n->call->asked->tenant->id, &check);
    if (!kind && check.broken_at) {
        const char *why = ida_printf(n->c->pool, "record %lld: %s", (long long)check.broken_at,
                                     check.reason ? check.reason : "it does not fit");
        add(n, "chainBroken", 1, 1, check.verified_at,
            json_pack("[o]", ida_json_texts("reason", why, NULL)));
    }
    return kind;
}

static ida_kind strays(needing *n)
{
    store_chain_check check;
    ida_kind kind = store_chain_check_get(n->s, n->c, n->call->asked->tenant->id, &check);
    if (!kind) {
        add(n, "strays", 1, check.strays, check.full_at,
            json_pack("[o]", ida_json_texts("reason", check.stray, NULL)));
    }
    return kind;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* Directories in one state; NULL: in none of the states above, but the last run failed. */
static ida_kind add_directories(needing *n, const char *kind, int critical, const char *state)
{
    json_t *sample = json_array(), *d;
    int64_t count = 0, since = 0;
    size_t i;
    json_array_foreach (n->seen->directories, i, d) {
        const char *is = ida_json_string(d, "state"), *problem = ida_json_string(d, "problem");
        int own = strcmp(is, "held") == 0 || strcmp(is, "stopped") == 0;
        if (state ? strcmp(is, state) == 0 : problem && !own) {
            count++;
            since = earlier(since, time_of(d, "since"));
            json_array_append_new(sample,
                                  ida_json_texts("directory", ida_json_string(d, "directory"),
                                                 "reason", problem, NULL));
        }
    }
    add(n, kind, critical, count, since, sample);
    return IDA_OK;
}

static ida_kind sync_stopped(needing *n)
{
    return add_directories(n, "syncStopped", 1, "stopped");
}

static ida_kind directory_held(needing *n)
{
    return add_directories(n, "directoryHeld", 1, "held");
}

static ida_kind sync_failed(needing *n)
{
    return add_directories(n, "syncFailed", 0, NULL);
}

static ida_kind directory_late(needing *n)
{
    return add_directories(n, "directoryLate", 0, "late");
}

static ida_kind secret_expiring(needing *n)
{
    json_t *sample = json_array(), *d, *secret;
    int64_t count = 0, since = 0, soon = ida_now(n->c->env) + IDA_ENDS_SOON_MS;
    size_t i, k;
    json_array_foreach (n->seen->directories, i, d) {
        json_array_foreach (json_object_get(d, "secrets"), k, secret) {
            int64_t ends = time_of(secret, "expiresAt");
            if (ends && ends <= soon) {
                count++;
                since = earlier(since, ends - IDA_ENDS_SOON_MS);
                json_array_append_new(
                    sample, ida_json_texts("directory", ida_json_string(d, "directory"), "reason",
                                           ida_json_string(secret, "kind"), NULL));
            }
        }
    }
    add(n, "secretExpiring", 0, count, since, sample);
    return IDA_OK;
}

static ida_kind seats_low(needing *n)
{
    const json_t *limit = json_object_get(n->seen->seats, "limit"),
                 *used = json_object_get(n->seen->seats, "used");
    int low = json_is_integer(limit) && json_is_integer(used) &&
              json_integer_value(used) * 100 >= json_integer_value(limit) * SEATS_LOW_PERCENT;
    add(n, "seatsLow", 0, low, 0, NULL);
    return IDA_OK;
}

static ida_kind key_expiring(needing *n)
{
    const store_key_ending *keys;
    int count;
    int64_t now = ida_now(n->c->env);
    ida_kind kind = store_keys_ending(n->s, n->c, n->call->asked->tenant->id, now,
                                      now + IDA_ENDS_SOON_MS, &keys, &count);
    json_t *sample = json_array();
    for (int i = 0; i < count && i < SAMPLE_MAX; i++) {
        json_array_append_new(sample, ida_json_texts("username", keys[i].username, NULL));
    }
    add(n, "keyExpiring", 0, count, count ? keys[0].expires_at - IDA_ENDS_SOON_MS : 0, sample);
    return kind;
}

/* --- decisions --- */

static int may_decide(ida_ctx *c, const json_t *named, const ida_access_request *r,
                      const ida_user *user)
{
    const json_t *approvers = ida_json_load(c->pool, r->approvers), *one;
    size_t i;
    json_array_foreach (approvers, i, one) {
        if (json_is_string(one) &&
            governance_named_means(c->pool, named, json_string_value(one), user, user->upn)) {
            return !governance_request_is_own(c, r, user);
        }
    }
    return 0;
}

ida_kind ida_requests_to_decide(ida_call *call, store *s, ida_ctx *c, int *count, int64_t *since,
                                json_t *sample)
{
    const ida_access_request *rows;
    const json_t *named;
    ida_user *user;
    int total = 0;
    *count = 0;
    *since = 0;
    if (!call->asked->tenant->access_governance || !call->asked->person->upn) {
        return IDA_OK;
    }
    ida_kind kind = cache_user_mentioned(s, c, call->asked->tenant->id, call->asked->person->upn,
                                         &user);
    if (!kind && (!user || !user->enabled)) {
        return IDA_OK;
    }
    kind = kind ? kind
                : governance_request_open(s, c, call->asked->tenant->id, 0, "", REQUESTS_MAX, &rows,
                                          &total);
    kind = kind ? kind : governance_named(s, c, call->asked->tenant->id, &named);
    for (int i = 0; !kind && i < total; i++) {
        if (!may_decide(c, named, &rows[i], user)) {
            continue;
        }
        *since = *count ? *since : rows[i].requested_at;
        if (sample && ++*count <= SAMPLE_MAX) {
            json_array_append_new(sample,
                                  ida_json_texts("requestId", rows[i].id, "userPrincipalName",
                                                 rows[i].upn, "reason", rows[i].service, NULL));
        } else if (!sample) {
            ++*count;
        }
    }
    return kind;
}

static ida_kind approvals(needing *n)
{
    int count;
    int64_t since;
    json_t *sample = json_array(), *one;
    size_t i;
    ida_kind kind = ida_requests_to_decide(n->call, n->s, n->c, &count, &since, sample);
    json_array_foreach (sample, i, one) {
        ida_user *user = NULL;
        kind = kind ? kind
                    : cache_user_mentioned(n->s, n->c, n->call->asked->tenant->id,
                                           ida_json_string(one, "userPrincipalName"), &user);
        ida_json_put_or_null(one, "displayName", !kind && user ? user->display_name : NULL);
    }
    add(n, "approvals", 0, kind ? 0 : count, since, sample);
    return kind;
}

/* --- all of them, in the order in which they are told --- */

enum { OF_CONSOLE = 1, OF_HEALTH = 2 };

static const struct {
    ida_right right;
    unsigned of;
    ida_kind (*look)(needing *n);
} looks[] = {
    {IDA_COMPANY_READ, OF_CONSOLE, worker_none}, /* of all companies: health reports it once */
    {IDA_AUDIT_READ, OF_CONSOLE | OF_HEALTH, chain_broken},
    {IDA_AUDIT_READ, OF_CONSOLE | OF_HEALTH, strays},
    {IDA_TASKS_READ, OF_CONSOLE | OF_HEALTH, offboarding_failed},
    {IDA_TASKS_READ, OF_CONSOLE | OF_HEALTH, offboarding_overdue},
    {IDA_COMPANY_READ, OF_CONSOLE | OF_HEALTH, sync_stopped},
    {IDA_COMPANY_READ, OF_CONSOLE | OF_HEALTH, directory_held},
    {IDA_COMPANY_READ, OF_CONSOLE | OF_HEALTH, paused},
    {IDA_TASKS_READ, OF_HEALTH, tasks_late},
    {IDA_TASKS_READ, OF_CONSOLE, failed},
    {IDA_TASKS_READ, OF_CONSOLE, attention},
    {IDA_TASKS_READ, OF_CONSOLE | OF_HEALTH, braked},
    {IDA_REQUESTS_DECIDE, OF_CONSOLE, approvals},
    {IDA_COMPANY_READ, OF_CONSOLE | OF_HEALTH, sync_failed},
    {IDA_COMPANY_READ, OF_CONSOLE | OF_HEALTH, directory_late},
    {IDA_KEYS_READ, OF_CONSOLE | OF_HEALTH, key_expiring},
    {IDA_COMPANY_READ, OF_CONSOLE | OF_HEALTH, secret_expiring},
    {IDA_COMPANY_READ, OF_CONSOLE, seats_low},
};

static ida_kind look_at_all(needing *n, unsigned of)
{
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof looks / sizeof *looks; i++) {
        if ((looks[i].of & of) && ida_roles_have(n->call->asked->roles, looks[i].right)) {
            kind = looks[i].look(n);
        }
    }
    return kind;
}

ida_kind ida_needs(ida_call *call, store *s, ida_ctx *c, const ida_overview *seen, json_t **needs)
{
    needing n = {.call = call, .s = s, .c = c, .seen = seen, .needs = json_array()};
    ida_kind kind = look_at_all(&n, OF_CONSOLE);
    *needs = n.needs;
    return kind;
}

ida_kind ida_health_needs(ida_call *call, store *s, ida_ctx *c, json_t **needs)
{
    ida_overview seen = {0};
    needing n = {.call = call, .s = s, .c = c, .seen = &seen, .needs = json_array()};
    *needs = ida_json_keep(c->pool, n.needs);
    ida_kind kind = ida_directories_json(call, s, c, &seen.directories);
    return kind ? kind : look_at_all(&n, OF_HEALTH);
}
