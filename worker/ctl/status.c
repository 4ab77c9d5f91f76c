/* idadminctl status: the overview for an administrator. */
#include <string.h>

#include "core/base/build.h"
#include "core/base/json.h"
#include "core/cache/freshness.h"
#include "core/cache/person.h"
#include "core/queue/change.h"
#include "core/store/directory.h"
#include "core/store/tenant.h"
#include "worker/ctl/health.h"

static ida_kind workers_json(ctl_call *ctl, store *s, json_t *out)
{
    const store_worker *workers;
    int count;
    int64_t now = ida_now(ctl->c->env);
    ida_kind kind = store_worker_list(s, ctl->c, &workers, &count);
    for (int i = 0; !kind && i < count; i++) {
        json_t *row = json_pack("{s:s, s:s, s:I, s:s, s:I}", "id", workers[i].id, "host",
                                workers[i].host, "pid", (json_int_t)workers[i].pid, "version",
                                workers[i].version, "threads", (json_int_t)workers[i].threads);
        ida_json_put_or_null(row, "fault", workers[i].fault);
        ida_json_put_time(row, "startedAt", workers[i].started_at);
        ida_json_put_time(row, "seenAt", workers[i].seen_at);
        ida_json_put(row, "state",
                     now - workers[i].seen_at < STORE_WORKER_SILENT_MS ? "running" : "silent");
        json_array_append_new(out, row);
    }
    return kind;
}

static int none_runs(const json_t *workers)
{
    size_t i;
    json_t *row;
    json_array_foreach (workers, i, row) {
        if (strcmp(ida_json_string(row, "state"), "running") == 0) {
            return 0;
        }
    }
    return 1;
}

/* A restart was forgotten, or another node is still to be upgraded. */
static void say_other_builds(ctl_call *ctl, const json_t *workers)
{
    size_t i;
    json_t *row;
    json_array_foreach (workers, i, row) {
        const char *version = ida_json_string(row, "version");
        if (strcmp(ida_json_string(row, "state"), "running") == 0 &&
            strcmp(version, ida_build) != 0) {
            ctl_say(ctl, "Worker %s runs version %s, this command is %s: upgrade or restart it.",
                    ida_json_string(row, "id"), version, ida_build);
        }
    }
}

static ida_kind directory_json(ctl_call *ctl, store *s, const char *tenant,
                               ida_directory_kind directory, json_t *out)
{
    cache_sync_info info = {0};
    store_directory state;
    ida_kind kind = cache_sync_info_get(s, ctl->c, tenant, directory, &info);
    if (!kind) {
        kind = store_directory_get(s, ctl->c, tenant, directory, &state);
    }
    if (!kind) {
        json_t *row = json_pack("{s:s, s:s, s:I, s:I}", "companyId", tenant, "directory",
                                ida_directory_name(directory), "users", (json_int_t)info.users,
                                "groups", (json_int_t)info.groups);
        ida_json_put_time(row, "syncedAt", info.completed_at);
        ida_json_put_or_null(row, "syncStopped", info.stopped);
        ida_json_put_or_null(row, "syncError", info.error);
        ida_json_put_or_null(row, "held", state.hold_reason);
        ida_json_put_time(row, "heldSince", state.hold_reason ? state.hold_since : 0);
        ida_json_put_time(row, "nextProbeAt", state.hold_reason ? state.hold_until : 0);
        const char *problem = state.hold_reason ? state.hold_reason
                              : info.stopped    ? info.stopped
                                                : info.error;
        ida_json_put_or_null(row, "problem", problem);
        json_array_append_new(out, row);
    }
    return kind;
}

/* A damaged document of one company is reported in its row; the other companies are still
 * listed. */
static ida_kind directories_json(ctl_call *ctl, store *s, const char *id, json_t *out)
{
    ida_tenant *tenant;
    ida_kind kind = store_tenant_get(s, ctl->c, id, &tenant, NULL);
    if (kind && kind != IDA_SERVICE_UNAVAILABLE) {
        json_t *row = json_pack("{s:s}", "companyId", id);
        ida_json_put_or_null(row, "problem", ctl->c->message);
        json_array_append_new(out, row);
        ida_ctx_clear(ctl->c);
        return IDA_OK;
    }
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        kind = tenant->has_directory[d] ? directory_json(ctl, s, id, (ida_directory_kind)d, out)
                                        : IDA_OK;
    }
    return kind;
}

static ida_kind tasks_json(ctl_call *ctl, store *s, const char *tenant, const char *state_of,
                           json_t *out)
{
    json_t *row = json_pack("{s:s, s:s}", "companyId", tenant, "companyState", state_of);
    ida_kind kind = IDA_OK;
    for (int state = IDA_QUEUED; !kind && state <= IDA_CANCELLED; state++) {
        const char *word = ida_task_state_text((ida_task_state)state);
        queue_task_filter filter = {.state = word, .limit = 1};
        ida_task *tasks;
        int count;
        int64_t total = 0;
        kind = queue_task_list(s, ctl->c, tenant, &filter, &tasks, &count, &total);
        json_object_set_new(row, word, json_integer(total));
    }
    json_array_append_new(out, row);
    return kind;
}

static const ctl_column worker_columns[] = {
    {"WORKER", "id"},   {"STATE", "state"},     {"HOST", "host"},
    {"PID", "pid"},     {"VERSION", "version"}, {"THREADS", "threads"},
    {"SEEN", "seenAt"}, {"FAULT", "fault"},     {NULL, NULL}};
static const ctl_column directory_columns[] = {{"COMPANY ID", "companyId"},
                                               {"DIRECTORY", "directory"},
                                               {"SYNCED", "syncedAt"},
                                               {"USERS", "users"},
                                               {"GROUPS", "groups"},
                                               {"PROBLEM", "problem"},
                                               {NULL, NULL}};
static const ctl_column task_columns[] = {{"COMPANY ID", "companyId"},
                                          {"QUEUED", "queued"},
                                          {"RUNNING", "running"},
                                          {"DONE", "done"},
                                          {"FAILED", "failed"},
                                          {"ATTENTION", "attention"},
                                          {"CANCELLED", "cancelled"},
                                          {"COMPANY", "companyState"},
                                          {NULL, NULL}};

static void say_status(ctl_call *ctl, const json_t *document)
{
    const json_t *workers = json_object_get(document, "workers");
    ctl_table(ctl, workers, worker_columns, "No worker was seen.");
    if (none_runs(workers)) {
        ctl_say(ctl, "No worker runs on this store: no task is executed and nothing is "
                     "synchronised. Start idadmin-worker.");
    }
    say_other_builds(ctl, workers);
    ctl_say(ctl, "%s", "");
    ctl_table(ctl, json_object_get(document, "directories"), directory_columns,
              "There is no tenant yet.");
    ctl_say(ctl, "%s", "");
    ctl_table(ctl, json_object_get(document, "tasks"), task_columns, "There is no task.");
    ctl_say(ctl, "%s", "");
    ctl_spool_say(ctl, json_object_get(document, "spool"));
}

static ida_kind companies_json(ctl_call *ctl, store *s, json_t *directories, json_t *tasks)
{
    const store_tenant_id *ids = NULL;
    int count = 0;
    ida_kind kind = store_tenant_ids(s, ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        int deleted = strcmp(ids[i].state, "deleted") == 0; /* the audit log alone is left */
        if (deleted) {
            continue;
        }
        kind = directories_json(ctl, s, ids[i].id, directories);
        kind = kind ? kind : tasks_json(ctl, s, ids[i].id, ids[i].state, tasks);
    }
    return kind;
}

ida_kind ctl_status_json(ctl_call *ctl, store *s, int *health, json_t **document)
{
    json_t *workers = json_array(), *directories = json_array(), *tasks = json_array(),
           *reasons = ida_json_keep(ctl->pool, json_array());
    *document = json_pack("{s:s, s:i, s:o, s:o, s:o}", "version", ida_build, "schema",
                          store_schema_version(), "workers", workers, "directories", directories,
                          "tasks", tasks);
    ida_kind kind = workers_json(ctl, s, workers);
    kind = kind ? kind : companies_json(ctl, s, directories, tasks);
    if (kind) {
        return kind;
    }
    json_t *spool = ctl_spool_json(ctl, s);
    json_object_set(*document, "spool", spool);
    if (health) {
        *health = ctl_health(ctl, s, spool, reasons);
        ida_json_put(*document, "status", ctl_health_word(*health));
        json_object_set(*document, "reasons", reasons);
    }
    return IDA_OK;
}

static int status(ctl_call *ctl)
{
    json_t *document;
    int check = ctl_value(ctl, "check") != NULL, health = HEALTH_WELL;
    ida_kind kind = ctl_status_json(ctl, ctl_store(ctl, DB_REQUEST), check ? &health : NULL,
                                    &document);
    ida_json_keep(ctl->pool, document);
    if (kind) {
        int failed = ctl_result(ctl, kind);
        return check ? HEALTH_DOWN : failed;
    }
    if (!ctl_json(ctl, document)) {
        say_status(ctl, document);
        if (check) {
            ctl_health_say(ctl, json_object_get(document, "reasons"));
        }
    }
    return health;
}

const ctl_command ctl_status_commands[] = {
    {"status", NULL, "",
     "Workers, directories and their syncs, tasks by state, records that wait in this node's audit "
     "spool.",
     .options = {{"check", NULL,
                  "also what `health` reports, and its exit status: 0 well, 1 degraded, 2 down"}},
     .run = status},
    {0},
};
