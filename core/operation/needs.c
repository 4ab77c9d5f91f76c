/* Owns what counts as a need, how bad it is, and in which order. Must not know how it is drawn. */
#include "core/operation/needs.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/operation/directory_json.h"
#include "core/queue/change.h"
#include "core/queue/figures.h"
#include "core/store/directory.h"
#include "core/store/key.h"

#define WORKER_GONE_MS 35000            /* three heartbeats and a little */
#define OVERDUE_MS 900000               /* an offboarding that is held so long */
#define EXPIRING_MS INT64_C(2592000000) /* 30 days */
#define SEATS_LOW_PERCENT 95
#define REQUESTS_READ 1000
#define SAMPLES 3

/* --- what is read once --- */

static ida_kind read_workers(store *s, ida_ctx *c, ida_standing *out)
{
    const store_worker *rows;
    int count;
    int64_t now = ida_now(c->env);
    ida_kind kind = store_worker_list(s, c, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        out->workers += now - rows[i].seen_at < WORKER_GONE_MS;
        out->worker_seen_at = rows[i].seen_at > out->worker_seen_at ? rows[i].seen_at
                                                                    : out->worker_seen_at;
    }
    return kind;
}

static int names(ida_ctx *c, const char *approvers, const char *folded)
{
    const json_t *upn;
    size_t i;
    json_array_foreach (ida_json_load(c->pool, approvers), i, upn) {
        const char *text = json_string_value(upn);
        if (text && strcmp(ida_fold_address(c->pool, text), folded) == 0) {
            return 1;
        }
    }
    return 0;
}

static ida_kind read_requests(ida_call *call, store *s, ida_ctx *c, ida_standing *out)
{
    const ida_access_request *rows;
    int count = 0;
    ida_user *self;
    out->to_decide_sample = ida_json_keep(c->pool, json_array());
    if (!call->person->upn || !ida_roles_have(call->person->roles, IDA_REQUESTS_DECIDE) ||
        !call->tenant->access_governance) {
        return IDA_OK;
    }
    ida_kind kind = cache_user_by_upn(s, c, call->tenant->id, call->person->upn, &self);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    const char *folded = ida_fold_address(c->pool, call->person->upn);
    kind = kind ? kind
                : governance_request_open(s, c, call->tenant->id, 0, "", REQUESTS_READ, &rows,
                                          &count);
    for (int i = 0; !kind && i < count; i++) {
        if (!names(c, rows[i].approvers, folded) || governance_request_is_own(c, &rows[i], self)) {
            continue;
        }
        if (!out->to_decide++) {
            out->to_decide_since = rows[i].requested_at;
        }
        if (json_array_size(out->to_decide_sample) < SAMPLES) {
            json_array_append_new(out->to_decide_sample,
                                  json_pack("{s:s, s:s?, s:s?}", "requestId", rows[i].id,
                                            "userPrincipalName", rows[i].upn, "reason",
                                            rows[i].service));
        }
    }
    return kind;
}

ida_kind ida_standing_read(ida_call *call, store *s, ida_ctx *c, ida_standing *out)
{
    memset(out, 0, sizeof *out);
    ida_kind kind = ida_directories_json(call, s, c, &out->directories);
    kind = kind ? kind : read_workers(s, c, out);
    kind = kind ? kind : queue_seats_used(s, c, call->tenant->id, &out->seats_used);
    return kind ? kind : read_requests(call, s, c, out);
}

/* --- needs --- */

static void add(json_t *needs, const char *name, int critical, int64_t count, int64_t since,
                json_t *sample)
{
    json_t *need = json_pack("{s:s, s:s, s:I}", "kind", name, "severity",
                             critical ? "critical" : "warning", "count", (json_int_t)count);
    ida_json_put_time(need, "since", since);
    json_object_set_new(need, "sample", sample ? sample : json_array());
    json_array_append_new(needs, need);
}

static ida_kind add_tasks(ida_call *call, store *s, ida_ctx *c, json_t *needs, const char *name,
                          int critical, queue_need which)
{
    queue_needed found;
    int64_t before = which == QUEUE_NEED_OFFBOARDING_OVERDUE ? ida_now(c->env) - OVERDUE_MS
                                                             : INT64_MAX;
    if (!ida_roles_have(call->person->roles, IDA_TASKS_READ)) {
        return IDA_OK;
    }
    ida_kind kind = queue_need_of(s, c, call->tenant->id, which, before, &found);
    if (kind || !found.count) {
        return kind;
    }
    json_t *sample = json_array();
    for (int i = 0; i < found.samples; i++) {
        json_array_append_new(
            sample, json_pack("{s:s, s:s?, s:s?, s:s?}", "taskId", found.sample[i].id,
                              "userPrincipalName", found.sample[i].upn, "displayName",
                              found.sample[i].display_name, "reason", found.sample[i].error));
    }
    add(needs, name, critical, found.count, found.since, sample);
    return IDA_OK;
}

/* Directories in a state; `state` NULL: those whose last run failed although they are asked. */
static void add_directories(ida_call *call, json_t *needs, const char *name, int critical,
                            const json_t *directories, const char *state)
{
    json_t *sample = json_array();
    const json_t *directory;
    const char *since = NULL;
    size_t i;
    json_array_foreach (directories, i, directory) {
        const char *is = ida_json_string(directory, "state"),
                   *problem = ida_json_string(directory, "problem"),
                   *from = ida_json_string(directory, "since");
        int failing = problem && strcmp(is, "held") != 0 && strcmp(is, "stopped") != 0;
        if (state ? strcmp(is, state) == 0 : failing) {
            json_array_append_new(sample, json_pack("{s:s, s:s?}", "directory",
                                                    ida_json_string(directory, "directory"),
                                                    "reason", problem));
            since = !since || (from && strcmp(from, since) < 0) ? from : since;
        }
    }
    if (!json_array_size(sample) || !ida_roles_have(call->person->roles, IDA_COMPANY_READ)) {
        json_decref(sample);
        return;
    }
    add(needs, name, critical, (int64_t)json_array_size(sample), 0, sample);
    json_object_set_new(json_array_get(needs, json_array_size(needs) - 1), "since",
                        since ? json_string(since) : json_null());
}

static ida_kind add_keys(ida_call *call, store *s, ida_ctx *c, json_t *needs)
{
    store_keys_ending ending;
    int64_t now = ida_now(c->env);
    if (!ida_roles_have(call->person->roles, IDA_KEYS_READ)) {
        return IDA_OK;
    }
    ida_kind kind = store_keys_end(s, c, call->tenant->id, now, now + EXPIRING_MS, &ending);
    if (!kind && ending.count) {
        json_t *sample = json_array();
        for (int i = 0; i < ending.samples; i++) {
            json_array_append_new(sample, json_pack("{s:s}", "username", ending.sample[i]));
        }
        add(needs, "keyExpiring", 0, ending.count, ending.first_at, sample);
    }
    return kind;
}

static void add_secrets(ida_call *call, ida_ctx *c, json_t *needs, const json_t *directories)
{
    const char *soon = ida_utc_text(c->pool, ida_now(c->env) + EXPIRING_MS), *first = NULL;
    const json_t *directory, *secret;
    json_t *sample = json_array();
    size_t i, k;
    json_array_foreach (directories, i, directory) {
        json_array_foreach (json_object_get(directory, "secrets"), k, secret) {
            const char *ends = ida_json_string(secret, "expiresAt");
            if (ends && strcmp(ends, soon) < 0) {
                first = !first || strcmp(ends, first) < 0 ? ends : first;
                json_array_append_new(sample, json_pack("{s:s, s:s}", "directory",
                                                        ida_json_string(directory, "directory"),
                                                        "reason", ida_json_string(secret, "kind")));
            }
        }
    }
    if (!first || !ida_roles_have(call->person->roles, IDA_COMPANY_READ)) {
        json_decref(sample);
        return;
    }
    add(needs, "secretExpiring", 0, (int64_t)json_array_size(sample), 0, sample);
    json_object_set_new(json_array_get(needs, json_array_size(needs) - 1), "since",
                        json_string(first));
}

ida_kind ida_needs_json(ida_call *call, store *s, ida_ctx *c, const ida_standing *standing,
                        json_t **out)
{
    json_t *needs = *out = ida_json_keep(c->pool, json_array());
    int64_t limit = call->tenant->seat_limit;
    if (!standing->workers) {
        add(needs, "workerNone", 1, 1, standing->worker_seen_at, NULL);
    }
    ida_kind kind = add_tasks(call, s, c, needs, "offboardingFailed", 1,
                              QUEUE_NEED_OFFBOARDING_FAILED);
    kind = kind ? kind
                : add_tasks(call, s, c, needs, "offboardingOverdue", 1,
                            QUEUE_NEED_OFFBOARDING_OVERDUE);
    add_directories(call, needs, "syncStopped", 1, standing->directories, "stopped");
    add_directories(call, needs, "directoryHeld", 1, standing->directories, "held");
    kind = kind ? kind : add_tasks(call, s, c, needs, "failed", 0, QUEUE_NEED_FAILED);
    kind = kind ? kind : add_tasks(call, s, c, needs, "attention", 0, QUEUE_NEED_ATTENTION);
    kind = kind ? kind : add_tasks(call, s, c, needs, "braked", 0, QUEUE_NEED_BRAKED);
    if (standing->to_decide) {
        add(needs, "approvals", 0, standing->to_decide, standing->to_decide_since,
            json_incref(standing->to_decide_sample));
    }
    add_directories(call, needs, "syncFailed", 0, standing->directories, NULL);
    add_directories(call, needs, "directoryLate", 0, standing->directories, "late");
    kind = kind ? kind : add_keys(call, s, c, needs);
    add_secrets(call, c, needs, standing->directories);
    if (limit > 0 && standing->seats_used * 100 >= limit * SEATS_LOW_PERCENT &&
        ida_roles_have(call->person->roles, IDA_COMPANY_READ)) {
        add(needs, "seatsLow", 0, 1, 0, NULL);
    }
    return kind;
}
