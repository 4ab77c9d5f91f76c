/* Owns the watch over other holders' heartbeats. Uses only its own monotonic clock: a taker
 * waits a whole lease from when it first saw the heartbeat, and a holder acts for at most a
 * lease counted from before its last renewal. */
#include "worker/hold/takeover.h"

#include <stdio.h>
#include <string.h>

#define WATCHED_MAX 1024

typedef struct watched {
    int used, seen, tried;
    char tenant[72], task[40], owner[WORKER_NAME];
    int64_t fence, heartbeat, since; /* since: monotonic ms of the first sight of this heartbeat */
} watched;

struct takeover {
    worker *w;
    pthread_mutex_t lock;
    watched rows[WATCHED_MAX];
};

takeover *hold_takeover_make(worker *w, apr_pool_t *pool)
{
    takeover *t = apr_pcalloc(pool, sizeof *t);
    t->w = w;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

static watched *row_for(takeover *t, const queue_running_task *running)
{
    watched *empty = NULL;
    for (int i = 0; i < WATCHED_MAX; i++) {
        watched *row = &t->rows[i];
        if (row->used && strcmp(row->task, running->task_id) == 0) {
            return row;
        }
        if (!row->used && !empty) {
            empty = row;
        }
    }
    if (empty) {
        *empty = (watched){.used = 1, .fence = -1};
        snprintf(empty->task, sizeof empty->task, "%s", running->task_id);
        snprintf(empty->tenant, sizeof empty->tenant, "%s", running->tenant);
    }
    return empty;
}

void hold_takeover_watch(takeover *t, store *main, apr_pool_t *pool)
{
    const queue_running_task *running;
    int count = 0;
    if (queue_running(main, worker_ctx(t->w, pool), WATCHED_MAX, &running, &count)) {
        return;
    }
    int64_t now = ida_monotonic(&t->w->env);
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < count; i++) {
        watched *row = row_for(t, &running[i]);
        if (!row) {
            break;
        }
        row->seen = 1;
        if (row->fence != running[i].fence || row->heartbeat != running[i].heartbeat) {
            row->fence = running[i].fence;
            row->heartbeat = running[i].heartbeat;
            snprintf(row->owner, sizeof row->owner, "%s", running[i].owner ? running[i].owner : "");
            row->since = now;
            row->tried = 0;
        }
    }
    for (int i = 0; i < WATCHED_MAX; i++) {
        t->rows[i].used = t->rows[i].used && t->rows[i].seen;
        t->rows[i].seen = 0;
    }
    pthread_mutex_unlock(&t->lock);
}

static int ripe(takeover *t, watched *out)
{
    int found = 0;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < WATCHED_MAX && !found; i++) {
        watched *row = &t->rows[i];
        if (row->used && !row->tried && worker_holds_no_more(t->w, row->owner, row->since)) {
            row->tried = 1;
            *out = *row;
            found = 1;
        }
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* A store that was away while we tried: the row is ripe again. */
static void untry(takeover *t, const watched *row)
{
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < WATCHED_MAX; i++) {
        if (t->rows[i].used && strcmp(t->rows[i].task, row->task) == 0) {
            t->rows[i].tried = 0;
        }
    }
    pthread_mutex_unlock(&t->lock);
}

ida_kind hold_takeover_next(takeover *t, store *main, ida_ctx *c, ida_task **task)
{
    watched row;
    while (ripe(t, &row)) {
        queue_running_task seen = {.tenant = row.tenant,
                                   .task_id = row.task,
                                   .owner = row.owner,
                                   .fence = row.fence,
                                   .heartbeat = row.heartbeat};
        ida_kind kind = queue_take_over(main, c, &seen, t->w->id, ida_now(&t->w->env), LEASE_MS,
                                        task);
        if (kind == IDA_OK) {
            ida_log(
                &t->w->env, IDA_LOG_WARN, "IDA0323",
                "task %s is taken over from worker %s, whose heartbeat has stood still for %lld s",
                row.task, row.owner, (long long)(ida_monotonic(&t->w->env) - row.since) / 1000);
            return IDA_OK;
        }
        if (kind != IDA_NOT_FOUND) {
            untry(t, &row);
            return kind;
        }
        ida_ctx_clear(c);
    }
    return IDA_NOT_FOUND;
}
