/* Owns how long is waited, and for what. Knows neither clock nor store. */
#include "worker/hold/rules.h"

#include "core/tenant/connector.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

verdict hold_verdict_of(directory_class class)
{
    static const verdict verdicts[] = {
        [DIRECTORY_OK] = VERDICT_GOOD,          [DIRECTORY_ALREADY] = VERDICT_GOOD,
        [DIRECTORY_NOT_FOUND] = VERDICT_GOOD,   [DIRECTORY_TRANSIENT] = VERDICT_HOLD,
        [DIRECTORY_THROTTLED] = VERDICT_HOLD,   [DIRECTORY_UNSURE] = VERDICT_UNSURE,
        [DIRECTORY_CONFLICT] = VERDICT_NEVER,   [DIRECTORY_INVALID] = VERDICT_NEVER,
        [DIRECTORY_CREDENTIALS] = VERDICT_HOLD, [DIRECTORY_FORBIDDEN] = VERDICT_NEVER,
        [DIRECTORY_CONFIG] = VERDICT_HOLD,      [DIRECTORY_PROTECTED] = VERDICT_NEVER,
        [DIRECTORY_TOKEN_LOST] = VERDICT_AGAIN, [DIRECTORY_LOCAL] = VERDICT_AGAIN,
        [DIRECTORY_LAG] = VERDICT_LAG,          [DIRECTORY_ELSEWHERE] = VERDICT_NEVER,
    };
    return (unsigned)class < sizeof verdicts / sizeof verdicts[0] ? verdicts[class] : VERDICT_AGAIN;
}

int hold_verdict_repeats(directory_class class)
{
    return class == DIRECTORY_TRANSIENT || class == DIRECTORY_UNSURE;
}

static int64_t doubled(int64_t first, int64_t times, int64_t most)
{
    int64_t wait = first;
    while (times-- > 0 && wait < most) {
        wait *= 2;
    }
    return wait < most ? wait : most;
}

/* Between 80 % and 120 %. */
static int64_t jittered(int64_t wait, uint32_t random)
{
    return wait * (int64_t)(800 + random % 401) / 1000;
}

int64_t hold_backoff_ms(int64_t tries, uint32_t random)
{
    return jittered(doubled(2 * SECOND, tries, 5 * MINUTE), random);
}

int64_t hold_event_ms(int64_t tries, uint32_t random)
{
    return jittered(doubled(5 * SECOND, tries, 60 * MINUTE), random);
}

int64_t hold_lag_ms(int64_t age, uint32_t random)
{
    int64_t wait = age < SECOND ? SECOND : age;
    return jittered(wait < 30 * SECOND ? wait : 30 * SECOND, random);
}

static int64_t refused_ms(ida_directory_kind where, int64_t failures, uint32_t random)
{
    static const int64_t quick[] = {10 * SECOND, 30 * SECOND};
    const int64_t tries = sizeof quick / sizeof *quick;
    return ida_connector_of(where)->locks_out
               ? doubled(5 * MINUTE, failures, 60 * MINUTE) + random % (30 * SECOND)
           : failures < tries ? jittered(quick[failures], random)
                              : jittered(doubled(MINUTE, failures - tries, 60 * MINUTE), random);
}

int64_t hold_ms(ida_directory_kind where, directory_class class, int64_t failures,
                int retry_after_s, uint32_t random)
{
    int64_t asked = (retry_after_s > 0 ? retry_after_s : 0) * SECOND;
    int64_t wait;
    switch (class) {
    case DIRECTORY_CREDENTIALS: wait = refused_ms(where, failures, random); break;
    case DIRECTORY_THROTTLED:
        if (asked) {
            return asked; /* it knows best: neither sooner nor later */
        }
        wait = jittered(doubled(5 * SECOND, failures, 5 * MINUTE), random);
        break;
    case DIRECTORY_CONFIG: wait = jittered(doubled(MINUTE, failures, 15 * MINUTE), random); break;
    default: wait = jittered(doubled(5 * SECOND, failures, 5 * MINUTE), random); break;
    }
    return wait > asked ? wait : asked;
}

int hold_alarms(directory_class class)
{
    return class == DIRECTORY_CREDENTIALS || class == DIRECTORY_CONFIG;
}
