/* Health of directories (holds), what administrators ask of syncs, sync leases, and the workers
 * that were seen. Main file. */
#ifndef CORE_STORE_DIRECTORY_H
#define CORE_STORE_DIRECTORY_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

typedef struct store_directory {
    const char *tenant;
    ida_directory_kind directory;
    const char *hold_reason; /* NULL: not held */
    int64_t hold_since, hold_until, hold_failures, hold_alarm_at;
    int64_t sync_requested_at;
    int sync_accept_deletions, sync_reset;
    const char *sync_owner;
    int64_t sync_fence, sync_heartbeat;
    int64_t certificate_ends; /* of that with which a worker signs in; 0: not known */
    int64_t password_ends; /* of that with which it binds, or of the client secret; 0: not known */
} store_directory;

/* All zero when nothing is known yet (not IDA_NOT_FOUND). */
ida_kind store_directory_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             store_directory *out);
/* Tasks of the directory that are due and not begun. */
ida_kind store_directory_waiting(store *s, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory, int64_t *tasks);
ida_kind store_directory_held(store *s, ida_ctx *c, const store_directory **rows,
                              int *count); /* all that are held */

/* Holds (or holds on) a directory: reason, since (first time), until, and the failures so far as
 * the caller counts them: calls that fail at the same time read the same number and write the same
 * one. */
ida_kind store_directory_hold(store *s, ida_ctx *c, const char *tenant,
                              ida_directory_kind directory, const char *reason, int64_t until,
                              int64_t failures);
/* The directory answered a caller that saw the hold until `until`: that hold ends, but not a
 * later one. 0: any (its settings have changed). *was_held: whether it was there. */
ida_kind store_directory_clear(store *s, ida_ctx *c, const char *tenant,
                               ida_directory_kind directory, int64_t until, int *was_held);
/* Marks the 15-minute alarm as raised: 1 in *raised for exactly one worker. */
ida_kind store_directory_alarm(store *s, ida_ctx *c, const char *tenant,
                               ida_directory_kind directory, int64_t seen_alarm_at, int *raised);

/* idadminctl sync / cache reset. */
ida_kind store_sync_request(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int accept_deletions, int reset);
/* The worker takes what was asked (sync_requested_at as seen): clears it if unchanged. */
ida_kind store_sync_request_done(store *s, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory, int64_t requested_at);

/* One synchronisation for each directory over all workers: a lease by heartbeat like tasks.
 * *fence on success; IDA_CONFLICT while another worker may be alive (the caller watches (owner,
 * fence, heartbeat) by its own monotonic clock and passes the state that it has seen unchanged
 * for a whole lease as `still`; NULL if none). */
ida_kind store_sync_lease(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          const char *owner, const store_directory *still, int64_t *fence);
ida_kind store_sync_renew(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          int64_t fence);
ida_kind store_sync_release(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int64_t fence);

/* A requested check of a directory: what `idadmin-worker --check` reports. */
typedef struct store_check {
    const char *tenant;
    ida_directory_kind directory;
    int64_t requested_at, started_at, finished_at; /* 0: not yet */
    const char *worker;                            /* that carries it out, or did; NULL: none */
    const char *lines;                             /* JSON: [{check, ok, detail}] */
} store_check;
/* All zero if it was never requested (not IDA_NOT_FOUND). */
ida_kind store_check_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         store_check *out);
ida_kind store_check_request(store *s, ida_ctx *c, const char *tenant,
                             ida_directory_kind directory);
/* The one that waits for longest, taken by this worker; IDA_NOT_FOUND when there is none. */
ida_kind store_check_claim(store *s, ida_ctx *c, const char *worker, store_check *out);
/* Its report, unless a new check was requested meanwhile. */
ida_kind store_check_done(store *s, ida_ctx *c, const store_check *check, const char *lines);

/* When what the workers sign in with ends; 0: there is none, or it is not known. */
ida_kind store_directory_expiry(store *s, ida_ctx *c, const char *tenant,
                                ida_directory_kind directory, int64_t certificate,
                                int64_t password);

/* A worker that was not seen for three heartbeats is silent. */
#define STORE_WORKER_SILENT_MS 30000
typedef struct store_worker {
    const char *id, *host, *version;
    int64_t pid, threads, started_at, seen_at;
    const char *fault; /* why it takes no work; NULL: it does */
} store_worker;
ida_kind store_worker_seen(store *s, ida_ctx *c, const store_worker *worker);
ida_kind store_worker_gone(store *s, ida_ctx *c, const char *id);
ida_kind store_worker_list(store *s, ida_ctx *c, const store_worker **rows, int *count);

#endif
