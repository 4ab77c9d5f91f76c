/* Owns the present work of each run thread: which task it may take, and whose call takes too
 * long. Must not know the meaning of a task. */
#include "worker/hold/slot.h"

#include <stdio.h>
#include <string.h>

#include "core/store/directory.h"
#include "worker/hold/crash.h"

#define SLOW_CALL_MS 3000 /* the directory is held */

static int is_at(const call_slot *s, const char *tenant, ida_directory_kind where)
{
    return s->busy && s->directory == where && strcmp(s->tenant, tenant) == 0;
}

static void begin(call_slot *s, const char *tenant, ida_directory_kind where, const char *task)
{
    s->busy = 1;
    snprintf(s->tenant, sizeof s->tenant, "%s", tenant);
    s->directory = where;
    snprintf(s->task, sizeof s->task, "%s", task);
}

int hold_take(worker *w, int slot, const char *tenant, ida_directory_kind where, const char *task)
{
    int there = 0, free = 0, taken = 0;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->call_count; i++) {
        const call_slot *s = &w->calls[i];
        if (i != slot) {
            there += is_at(s, tenant, where);
            free += !s->busy;
            taken |= s->busy && strcmp(s->task, task) == 0;
        }
    }
    int may = !taken && there <= free && !hold_crash_waits(w, tenant, where);
    if (may) {
        begin(&w->calls[slot], tenant, where, task);
    }
    pthread_mutex_unlock(&w->lock);
    return may;
}

void hold_run_begins(worker *w, int slot, const char *tenant, ida_directory_kind where,
                     const char *task)
{
    pthread_mutex_lock(&w->lock);
    begin(&w->calls[slot], tenant, where, task);
    pthread_mutex_unlock(&w->lock);
}

void hold_run_ends(worker *w, int slot)
{
    pthread_mutex_lock(&w->lock);
    w->calls[slot].busy = 0;
    pthread_mutex_unlock(&w->lock);
}

void hold_call_begins(worker *w, int slot, const char *tenant, ida_directory_kind where)
{
    hold_crash_call_begins(w, tenant, where);
    pthread_mutex_lock(&w->lock);
    call_slot *call = &w->calls[slot];
    snprintf(call->tenant, sizeof call->tenant, "%s", tenant);
    call->directory = where;
    call->since = ida_monotonic(&w->env);
    call->held_until = 0;
    pthread_mutex_unlock(&w->lock);
}

int64_t hold_call_ends(worker *w, int slot)
{
    pthread_mutex_lock(&w->lock);
    int64_t held_until = w->calls[slot].held_until;
    w->calls[slot].since = 0;
    pthread_mutex_unlock(&w->lock);
    hold_crash_call_ends();
    return held_until;
}

/* The hold was set by the watch for another call: this call's answer ends it too. */
static void share(worker *w, call_slot *slot, int64_t hold_until)
{
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->call_count; i++) {
        slot->held_until = w->calls[i].held_until == hold_until ? hold_until : slot->held_until;
    }
    pthread_mutex_unlock(&w->lock);
}

void hold_watch_calls(worker *w, store *main, apr_pool_t *pool)
{
    for (int i = 0; i < w->call_count; i++) {
        int64_t now = ida_monotonic(&w->env), until = ida_now(&w->env) + PROBE_MS;
        pthread_mutex_lock(&w->lock);
        call_slot seen = w->calls[i];
        int slow = seen.since && !seen.held_until && now - seen.since >= SLOW_CALL_MS;
        w->calls[i].held_until = slow ? until : seen.held_until;
        pthread_mutex_unlock(&w->lock);
        if (!slow) {
            continue;
        }
        ida_ctx *c = worker_ctx(w, pool);
        store_directory state;
        if (store_directory_get(main, c, seen.tenant, seen.directory, &state) ||
            state.hold_reason) {
            share(w, &w->calls[i], state.hold_until);
            continue; /* held already: by its probe, most likely */
        }
        const char *reason = ida_printf(
            pool, "The directory %s has not answered a call for %d s; other tasks of it wait.",
            ida_directory_name(seen.directory), SLOW_CALL_MS / 1000);
        store_directory_hold(main, c, seen.tenant, seen.directory, reason, until, 0);
        ida_log(&w->env, IDA_LOG_WARN, "IDA0321", "tenant %s: %s", seen.tenant, reason);
    }
}
