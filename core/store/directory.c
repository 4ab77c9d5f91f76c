/* Owns the rows of directory_state and worker: holds, what administrators ask of syncs, sync
 * leases, workers that were seen. Must not know why a directory does not answer. */
#include "core/store/directory.h"

#include "core/store/rows.h"

#define LIST_MAX 10000
/* a week: for a worker that was killed and never returned under its ID */
#define WORKER_FORGOTTEN_AFTER_MS INT64_C(604800000)

static void of_row(const db_result *r, int row, void *out)
{
    const row_directory *d = DB_ROW(directory, r, row);
    int directory = ida_directory_parse(d->directory.text);
    *(store_directory *)out = (store_directory){
        .tenant = d->tenant_id.text,
        .directory = directory < 0 ? IDA_DIR_CLOUD : (ida_directory_kind)directory,
        .hold_reason = d->hold_reason.text,
        .hold_since = d->hold_since.number,
        .hold_until = d->hold_until.number,
        .hold_failures = d->hold_failures.number,
        .hold_alarm_at = d->hold_alarm_at.number,
        .sync_requested_at = d->sync_requested_at.number,
        .sync_accept_deletions = (int)d->sync_accept_deletions.number,
        .sync_reset = (int)d->sync_reset.number,
        .sync_owner = d->sync_owner.text,
        .sync_fence = d->sync_fence.number,
        .sync_heartbeat = d->sync_heartbeat.number,
        .certificate_ends = d->secret_expires_at.number,
        .password_ends = d->password_expires_at.number};
}

ida_kind store_directory_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             store_directory *out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_directory_get,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
    *out = (store_directory){.tenant = tenant, .directory = directory};
    if (!kind && r.rows) {
        of_row(&r, 0, out);
    }
    return kind;
}

ida_kind store_directory_waiting(store *s, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory, int64_t *tasks)
{
    return store_number(
        s, c, STMT_directory_waiting,
        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(ida_now(c->env))), tasks);
}

ida_kind store_directory_held(store *s, ida_ctx *c, const store_directory **rows, int *count)
{
    return store_rows(s, c, STMT_directory_held, DB_ARGS(DB_I(LIST_MAX)), of_row, sizeof **rows,
                      rows, count);
}

ida_kind store_directory_hold(store *s, ida_ctx *c, const char *tenant,
                              ida_directory_kind directory, const char *reason, int64_t until,
                              int64_t failures)
{
    return store_write(s, c, STMT_directory_hold,
                       DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_T(reason),
                               DB_I(ida_now(c->env)), DB_I(until), DB_I(failures)),
                       NULL);
}

ida_kind store_directory_clear(store *s, ida_ctx *c, const char *tenant,
                               ida_directory_kind directory, int64_t until, int *was_held)
{
    db_result r;
    ida_kind kind = store_write(
        s, c, STMT_directory_clear,
        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(until)), &r);
    *was_held = !kind && r.changes;
    return kind;
}

ida_kind store_directory_alarm(store *s, ida_ctx *c, const char *tenant,
                               ida_directory_kind directory, int64_t seen_alarm_at, int *raised)
{
    db_result r;
    int64_t now = ida_now(c->env);
    ida_kind kind = store_write(s, c, STMT_directory_alarm,
                                DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)),
                                        DB_I(seen_alarm_at),
                                        DB_I(now > seen_alarm_at ? now : seen_alarm_at + 1)),
                                &r);
    *raised = !kind && r.changes;
    return kind;
}

ida_kind store_sync_request(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int accept_deletions, int reset)
{
    return store_write(s, c, STMT_directory_sync_request,
                       DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)),
                               DB_I(ida_now(c->env)), DB_I(accept_deletions != 0),
                               DB_I(reset != 0)),
                       NULL);
}

ida_kind store_sync_request_done(store *s, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory, int64_t requested_at)
{
    return store_write(
        s, c, STMT_directory_sync_request_done,
        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(requested_at)), NULL);
}

ida_kind store_sync_lease(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          const char *owner, const store_directory *still, int64_t *fence)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_directory_sync_lease,
                                DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)),
                                        DB_T(owner), DB_T(still ? still->sync_owner : NULL),
                                        DB_I(still ? still->sync_fence : -1),
                                        DB_I(still ? still->sync_heartbeat : -1)),
                                &r);
    if (!kind && !r.rows) {
        kind = ida_fail(c, IDA_CONFLICT, "Another worker syncs the directory %s of %s.",
                        ida_directory_name(directory), tenant);
    }
    *fence = kind ? 0 : DB_ROW(sync_lease, &r, 0)->sync_fence.number;
    return kind;
}

ida_kind store_sync_renew(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          int64_t fence)
{
    db_result r;
    ida_kind kind = store_write(
        s, c, STMT_directory_sync_renew,
        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(fence)), &r);
    return kind || r.changes
               ? kind
               : ida_fail(c, IDA_CONFLICT, "The sync lease on directory %s of %s is lost.",
                          ida_directory_name(directory), tenant);
}

ida_kind store_sync_release(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int64_t fence)
{
    return store_write(s, c, STMT_directory_sync_release,
                       DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(fence)),
                       NULL);
}

static ida_kind seen(store *s, ida_ctx *c, void *baton)
{
    const store_worker *w = baton;
    ida_kind kind = store_write(s, c, STMT_worker_seen,
                                DB_ARGS(DB_T(w->id), DB_T(w->host), DB_I(w->pid), DB_T(w->version),
                                        DB_I(w->threads), DB_I(w->started_at), DB_I(w->seen_at),
                                        DB_T(w->fault)),
                                NULL);
    return kind ? kind
                : store_write(s, c, STMT_worker_forget,
                              DB_ARGS(DB_I(w->seen_at - WORKER_FORGOTTEN_AFTER_MS)), NULL);
}

ida_kind store_worker_seen(store *s, ida_ctx *c, const store_worker *worker)
{
    store_worker copy = *worker;
    return store_transaction(s, c, seen, &copy);
}

ida_kind store_worker_gone(store *s, ida_ctx *c, const char *id)
{
    return store_write(s, c, STMT_worker_gone, DB_ARGS(DB_T(id)), NULL);
}

STORE_FILL(worker_of, store_worker, worker, .id = row->id.text, .host = row->host.text,
           .pid = row->pid.number, .version = row->version.text, .threads = row->threads.number,
           .started_at = row->started_at.number, .seen_at = row->seen_at.number,
           .fault = row->fault.text)

ida_kind store_worker_list(store *s, ida_ctx *c, const store_worker **rows, int *count)
{
    return store_rows(s, c, STMT_worker_list, DB_ARGS(DB_I(LIST_MAX)), worker_of, sizeof **rows,
                      rows, count);
}
