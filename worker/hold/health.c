/* Owns holds, their log lines and alarms. Knows failure classes, not what was attempted. */
#include "worker/hold/health.h"

#include <string.h>

#include "core/base/text.h"
#include "core/queue/change.h"
#include "worker/hold/repairs.h"
#include "worker/hold/rules.h"

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
                        .failures = state->hold_reason ? state->hold_failures : 0,
                        .begun = ida_now(&w->env)};
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
    /* Waiting as the directory requested is no failure: the next outage starts counting from
     * zero. */
    int told = e->class == DIRECTORY_THROTTLED && e->retry_after_s > 0;
    int64_t until = ida_now(&w->env) + wait;
    if (told && state.hold_reason && !known.held && !known.watched &&
        state.hold_until + 1000 >= until) { /* (retry_after_s is rounded up) */
        /* It lasts long enough, but it may be a probe's, whose answer would end it. From now on
         * it is this call's hold. */
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
        hold_until_repaired(w, tenant, where, known.begun ? known.begun : ida_now(&w->env), until);
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0314",
                "tenant %s is held until an administrator fixes it (next probe in %lld s): %s",
                tenant, (long long)(wait / 1000), reason);
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
        const char *task = NULL, *upn = NULL;
        int raised = 0;
        /* Due for that long as well. */
        if (!queue_task_leaver(main, worker_ctx(w, pool), held[i].tenant, held[i].directory,
                               now - ALARM_AFTER_MS, &task, &upn) &&
            task &&
            !store_directory_alarm(main, worker_ctx(w, pool), held[i].tenant, held[i].directory,
                                   held[i].hold_alarm_at, &raised) &&
            raised) {
            ida_log(&w->env, IDA_LOG_ERROR, "IDA0322",
                    "tenant %s: an offboarding (task %s, %s) has waited 15 minutes or longer for "
                    "its directory; the person still has access: %s",
                    held[i].tenant, task, upn, held[i].hold_reason);
        }
    }
}
