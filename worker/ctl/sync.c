/* idadminctl sync and cache reset: ask the worker to sync a tenant's directories now, or to empty
 * its cache first; sync can wait for the answer. */
#include <apr_time.h>

#include "core/base/json.h"
#include "core/cache/freshness.h"
#include "core/cache/person.h"
#include "core/store/audit.h"
#include "core/store/directory.h"
#include "core/store/tenant.h"
#include "worker/ctl/ctl.h"

#define POLL_US 100000
#define WORKER_ALIVE_MS 60000

/* A request to the worker for every directory of a tenant. */
typedef struct sync_request {
    ctl_call *ctl;
    int accept_deletions, reset;
    const char *action; /* of the audit record */
    const ida_tenant *tenant;
    /* Out: time of each directory's request, which the worker removes when it is done. */
    int64_t requested_at[IDA_DIR_COUNT];
} sync_request;

static ida_kind request_in(store *s, ida_ctx *c, void *baton)
{
    sync_request *request = baton;
    const char *tenant = request->tenant->id;
    for (int i = 0; i < IDA_DIR_COUNT; i++) {
        store_directory state;
        if (!request->tenant->has_directory[i]) {
            continue;
        }
        ida_kind kind = store_sync_request(s, c, tenant, (ida_directory_kind)i,
                                           request->accept_deletions, request->reset);
        kind = kind ? kind : store_directory_get(s, c, tenant, (ida_directory_kind)i, &state);
        if (kind) {
            return kind;
        }
        request->requested_at[i] = state.sync_requested_at;
    }
    audit_record *record = ctl_audit(request->ctl, tenant, request->action, tenant);
    if (request->accept_deletions) {
        record->parameters = "{\"acceptDeletions\":true}";
    }
    return store_audit_add(s, c, record);
}

static ida_kind ask(sync_request *request, store *s)
{
    ctl_call *ctl = request->ctl;
    ida_tenant *tenant;
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    kind = kind ? kind : store_tenant_get(s, ctl->c, ctl->arguments[0], &tenant, NULL);
    request->tenant = kind ? NULL : tenant;
    return kind ? kind : store_transaction(s, ctl->c, request_in, request);
}

static int reset(ctl_call *ctl)
{
    sync_request request = {.ctl = ctl, .reset = 1, .action = "cache.reset"};
    ida_kind kind = ask(&request, ctl_store(ctl, DB_REQUEST));
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl,
                             json_pack("{s:s, s:s}", "companyId", ctl->arguments[0], "result",
                                       "requested"),
                             "The worker will empty the cache of %s and sync it again; until that "
                             "is done the service answers 503 for this tenant.",
                             ctl->arguments[0]);
}

static ida_kind worker_alive(ctl_call *ctl, store *s)
{
    const store_worker *workers;
    int count;
    ida_kind kind = store_worker_list(s, ctl->c, &workers, &count);
    if (kind) {
        return kind;
    }
    int64_t now = ida_now(&ctl->env);
    for (int i = 0; i < count; i++) {
        if (now - workers[i].seen_at < WORKER_ALIVE_MS) {
            return IDA_OK;
        }
    }
    return ida_fail(ctl->c, IDA_SERVICE_UNAVAILABLE,
                    "The request is kept, but no idadmin-worker was seen in the last %d seconds to "
                    "execute it; start one.",
                    WORKER_ALIVE_MS / 1000);
}

/* The request is done when the worker has removed its timestamp; the result is in the sync's own
 * state. */
static ida_kind wait_for(ctl_call *ctl, store *s, ida_directory_kind directory,
                         int64_t requested_at, int64_t until, json_t *row)
{
    apr_pool_t *pool;
    apr_pool_create(&pool, ctl->pool);
    store_directory state;
    cache_sync_info info = {0};
    ida_kind kind;
    while (1) {
        ida_ctx *c = ida_ctx_make(&ctl->env, pool);
        kind = store_directory_get(s, c, ctl->arguments[0], directory, &state);
        if (!kind && state.sync_requested_at != requested_at) {
            break;
        }
        if (kind || ida_monotonic(&ctl->env) > until) {
            return ida_fail(ctl->c, kind ? kind : IDA_SERVICE_UNAVAILABLE, "%s",
                            kind ? c->message
                                 : "The worker has not answered in time; the request is kept.");
        }
        apr_pool_clear(pool);
        apr_sleep(POLL_US);
    }
    kind = cache_sync_info_get(s, ctl->c, ctl->arguments[0], directory, &info);
    if (kind) {
        return kind;
    }
    ida_json_put_time(row, "completedAt", info.completed_at);
    json_object_set_new(row, "users", json_integer(info.users));
    json_object_set_new(row, "groups", json_integer(info.groups));
    const char *why = info.stopped ? info.stopped : info.error ? info.error : NULL;
    ida_json_put(row, "error", why);
    return why ? ida_fail(ctl->c, IDA_CONFLICT, "%s: %s", ida_directory_name(directory), why)
               : IDA_OK;
}

static int sync_now(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"DIRECTORY", "directory"},
                                         {"COMPLETED", "completedAt"},
                                         {"USERS", "users"},
                                         {"GROUPS", "groups"},
                                         {NULL, NULL}};
    int wait = ctl_value(ctl, "wait") != NULL;
    const char *timeout = ctl_value(ctl, "timeout");
    int64_t patience = timeout ? worker_duration_parse(timeout) : 600000;
    if (patience < 0) {
        return ctl_usage(ctl, "--timeout must be a time such as 90s or 10m");
    }
    sync_request request = {.ctl = ctl,
                            .accept_deletions = ctl_value(ctl, "accept-deletions") != NULL,
                            .action = "sync.request"};
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ask(&request, s);
    if (!kind && wait) {
        kind = worker_alive(ctl, s);
    }
    int64_t until = ida_monotonic(&ctl->env) + patience;
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    for (int i = 0; !kind && i < IDA_DIR_COUNT; i++) {
        if (request.tenant->has_directory[i]) {
            json_t *row = json_object();
            json_array_append_new(rows, row);
            ida_json_put(row, "directory", ida_directory_name((ida_directory_kind)i));
            kind = wait ? wait_for(ctl, s, (ida_directory_kind)i, request.requested_at[i], until,
                                   row)
                        : IDA_OK;
        }
    }
    if (!kind) {
        json_t *document = ida_json_keep(
            ctl->pool, json_pack("{s:s, s:s, s:O}", "companyId", ctl->arguments[0], "result",
                                 wait ? "synced" : "requested", "directories", rows));
        if (!ctl_json(ctl, document)) {
            if (wait) {
                ctl_table(ctl, rows, columns, "");
            } else {
                ctl_say(ctl, "The worker was asked to sync %s; --wait waits for it.",
                        ctl->arguments[0]);
            }
        }
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_sync_commands[] = {
    {"sync", NULL, "ID", "Ask the worker to sync a tenant's directories now.",
     .help = "Also probes a held directory at once.\nA sync that the deletion guard stopped stays "
             "stopped until --accept-deletions is given.",
     .options = {{"wait", NULL, "wait until it is done; exit 1 with the reason when it failed"},
                 {"timeout", "TIME", "how long to wait, default 10m"},
                 {"accept-deletions", NULL,
                  "let this sync delete everything that the directory no longer shows, whatever "
                  "the amount"}},
     .run = sync_now},
    {"cache", "reset", "ID",
     "Ask the worker to empty the directory cache of a tenant and sync it again.",
     .help = "Until the sync is done the tenant's users are unknown, and the service answers 503 "
             "for it. Nothing in a directory changes.",
     .run = reset},
    {0},
};
