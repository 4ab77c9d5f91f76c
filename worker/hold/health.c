/* Owns holds and their log lines and alarms. Knows failure classes, not what was tried. */
#include "worker/hold/health.h"

#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "core/queue/change.h"
#include "worker/hold/amends.h"
#include "worker/hold/rules.h"

#define SLOW_CALL_MS 3000 /* the directory is held */
#define STUCK_CALL_MS                                                          \
    300 /* a thread counts as waiting: another one may serve other directories \
         */
#define ALARM_AFTER_MS (15 * INT64_C(60000))
#define REASON_MAX 1000

hold_known hold_known_of(const store_directory *state, int64_t probe_until)
{
    int held = state->hold_reason && probe_until && state->hold_until == probe_until;
    return (hold_known){.held = held,
                        .until = held ? probe_until : 0,
                        .failures = state->hold_reason ? state->hold_failures : 0};
}

hold_known hold_probe(worker *w, store *main, apr_pool_t *pool, const store_directory *state)
{
    int64_t until = ida_now(&w->env) + PROBE_MS;
    until = until > state->hold_until ? until : state->hold_until;
    int held = state->hold_reason &&
               !store_directory_hold(main, worker_ctx(w, pool), state->tenant, state->directory,
                                     state->hold_reason, until, state->hold_failures);
    return (hold_known){.held = held,
                        .until = held ? until : 0,
                        .failures = state->hold_reason ? state->hold_failures : 0};
}

const char *hold_put(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                     ida_directory_kind where, hold_known known, const directory_error *e)
{
    ida_ctx *c = worker_ctx(w, pool);
    store_directory state = {0};
    uint32_t random;
    ida_random(&w->env, &random, sizeof random);
    int64_t failures = store_directory_get(main, c, tenant, where, &state) || !state.hold_reason
                           ? 0
                           : state.hold_failures;
    int64_t wait = hold_ms(where, e->class, failures, e->retry_after_s, random);
    const char *message = e->message ? e->message : "no further reason";
    const char *text = ida_printf(pool, "The directory %s %s: %s", ida_directory_name(where),
                                  e->class == DIRECTORY_CONFIG ? "cannot be used"
                                  : e->class == DIRECTORY_TRANSIENT
                                      ? "is not reachable"
                                      : directory_class_text(e->class),
                                  message);
    const char *reason = ida_clean(pool, text, strlen(text), REASON_MAX);
    /* A time that was told and kept is no failure: the next outage begins anew. */
    int told = e->class == DIRECTORY_THROTTLED && e->retry_after_s > 0;
    int64_t until = ida_now(&w->env) + wait;
    if (told && state.hold_reason && !known.held && !known.watched &&
        state.hold_until + 1000 >= until) { /* (retry_after_s is rounded up) */
        /* Long enough; but it may be a probe's, whose answer would end it. It is this one's from
         * now on. */
        store_directory_hold(main, c, tenant, where, state.hold_reason, state.hold_until + 1,
                             failures);
        return reason;
    }
    if (!told && failures > known.failures) {
        return reason; /* old news */
    }
    if (store_directory_hold(main, c, tenant, where, reason, until, failures + !told)) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0320",
                "the hold of a directory of tenant %s cannot be stored (%s); the reason for it: %s",
                tenant, c->message ? c->message : "store away", reason);
    } else if (hold_alarms(e->class)) {
        hold_amends_wanted(w, tenant, where, until);
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0314",
                "tenant %s is held until somebody puts it right (next probe in %lld s): %s", tenant,
                (long long)(wait / 1000), reason);
    } else {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0315", "tenant %s is held (next probe in %lld s): %s",
                tenant, (long long)(wait / 1000), reason);
    }
    return reason;
}

void hold_answered(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                   ida_directory_kind where, hold_known known)
{
    int was_held = 0;
    if (known.until &&
        !store_directory_clear(main, worker_ctx(w, pool), tenant, where, known.until, &was_held) &&
        was_held) {
        ida_log(&w->env, IDA_LOG_INFO, NULL, "the directory %s of tenant %s answers again",
                ida_directory_name(where), tenant);
    }
}

void hold_run_begins(worker *w, int slot, const char *tenant, ida_directory_kind where)
{
    pthread_mutex_lock(&w->lock);
    call_slot *s = &w->calls[slot];
    s->busy = 1;
    snprintf(s->tenant, sizeof s->tenant, "%s", tenant);
    s->directory = where;
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
    return held_until;
}

static int is_stuck(const call_slot *s, int64_t now)
{
    return s->since && now - s->since >= STUCK_CALL_MS;
}

hold_room hold_room_of(worker *w, int threads, int reserve)
{
    int stuck = 0, busy = 0;
    int64_t now = ida_monotonic(&w->env);
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->call_count; i++) {
        stuck += is_stuck(&w->calls[i], now);
        busy += i < threads && w->calls[i].busy;
    }
    pthread_mutex_unlock(&w->lock);
    return stuck > reserve ? ROOM_OTHERS : busy == threads ? ROOM_FIRST : ROOM_NONE;
}

int hold_crowded(worker *w, hold_room room, const char *tenant, ida_directory_kind where)
{
    int crowded = 0;
    int64_t now = ida_monotonic(&w->env);
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->call_count && !crowded; i++) {
        const call_slot *s = &w->calls[i];
        crowded = s->busy && s->directory == where && strcmp(s->tenant, tenant) == 0 &&
                  (room != ROOM_OTHERS || is_stuck(s, now));
    }
    pthread_mutex_unlock(&w->lock);
    return crowded;
}

/* The hold is one of the watch's own, for another call: this call's answer ends it as well. */
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

/* An offboarding of this directory that is due, and has waited that long since both its due time
 * and the hold's begin. */
static const ida_task *waiting_offboarding(worker *w, store *main, apr_pool_t *pool,
                                           const store_directory *held, int64_t now)
{
    queue_task_filter filter = {.state = ida_task_state_text(IDA_QUEUED),
                                .type = ida_task_type_text(IDA_USER_DELETE),
                                .limit = 200};
    int count = filter.limit;
    while (count == filter.limit) {
        ida_task *tasks;
        int64_t total;
        if (queue_task_list(main, worker_ctx(w, pool), held->tenant, &filter, &tasks, &count,
                            &total)) {
            return NULL;
        }
        for (int i = 0; i < count; i++) {
            int64_t since = tasks[i].due_at > held->hold_since ? tasks[i].due_at : held->hold_since;
            if (tasks[i].directory == held->directory && now - since >= ALARM_AFTER_MS) {
                return &tasks[i];
            }
            filter.before_id = tasks[i].id;
        }
    }
    return NULL;
}

void hold_alarmed(worker *w, store *main, apr_pool_t *pool)
{
    const store_directory *held;
    int count = 0;
    int64_t now = ida_now(&w->env);
    if (store_directory_held(main, worker_ctx(w, pool), &held, &count)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (held[i].hold_alarm_at || now - held[i].hold_since < ALARM_AFTER_MS) {
            continue;
        }
        const ida_task *task = waiting_offboarding(w, main, pool, &held[i], now);
        int raised = 0;
        if (task &&
            !store_directory_alarm(main, worker_ctx(w, pool), held[i].tenant, held[i].directory,
                                   held[i].hold_alarm_at, &raised) &&
            raised) {
            ida_log(&w->env, IDA_LOG_ERROR, "IDA0322",
                    "tenant %s: an offboarding (task %s, %s) has waited 15 minutes or longer for "
                    "its directory; the person still "
                    "has access: %s",
                    held[i].tenant, task->id, task->upn, held[i].hold_reason);
        }
    }
}
