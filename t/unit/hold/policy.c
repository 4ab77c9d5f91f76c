/* Waiting times, verdicts and initial passwords: the worker's pure rules. */
#include "t/unit/setup.h"

#include <ctype.h>
#include <strings.h>

#include "worker/base/password.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"
#include "worker/run/steps.h"

static int within(int64_t value, int64_t low, int64_t high)
{
    return value >= low && value <= high;
}

static void backoff(void)
{
    static const int64_t base[] = {2000,   4000,   8000,   16000,  32000,  64000,
                                   128000, 256000, 300000, 300000, 300000, 300000};
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int good = 1;
        int64_t low = INT64_MAX, high = 0;
        for (uint32_t random = 0; random < 2000; random += 7) {
            int64_t wait = hold_backoff_ms(tries, random);
            good &= within(wait, base[tries] * 8 / 10, base[tries] * 12 / 10);
            low = wait < low ? wait : low;
            high = wait > high ? wait : high;
        }
        ok(good, "wait before try %d is %lld ms +- 20 %%", tries + 2, (long long)base[tries]);
        ok(low < base[tries] * 85 / 100 && high > base[tries] * 115 / 100,
           "and uses the whole range");
    }
    ok(within(hold_backoff_ms(1000000, UINT32_MAX), 240000, 360000),
       "no number of tries makes it longer");
}

static void events(void)
{
    static const int64_t wait[][2] = {
        {0, 5000}, {1, 10000}, {9, 2560000}, {10, 3600000}, {1000000, 3600000}};
    for (size_t i = 0; i < sizeof wait / sizeof *wait; i++) {
        int64_t low = hold_event_ms(wait[i][0], 0), high = hold_event_ms(wait[i][0], 400);
        ok(low == wait[i][1] * 8 / 10 && high == wait[i][1] * 12 / 10,
           "after %lld tries an event waits %lld ms +- 20 %%", (long long)wait[i][0],
           (long long)wait[i][1]);
    }
}

static void lag(void)
{
    static const int64_t wait[][2] = {{-5000, 1000},  {0, 1000},
                                      {999, 1000},    {2000, 2000},
                                      {7000, 7000},   {29000, 29000},
                                      {31000, 30000}, {INT64_MAX / 4, 30000}};
    for (size_t i = 0; i < sizeof wait / sizeof wait[0]; i++) {
        int good = 1;
        for (uint32_t random = 0; random < 2000; random += 7) {
            good &= within(hold_lag_ms(wait[i][0], random), wait[i][1] * 8 / 10,
                           wait[i][1] * 12 / 10);
        }
        ok(good, "what is not visible after %lld ms is looked for again after %lld ms +- 20 %%",
           (long long)wait[i][0], (long long)wait[i][1]);
    }
    int looks = 0;
    for (int64_t age = 300; age < 15 * 60000; age += hold_lag_ms(age, 200)) {
        looks++;
    }
    ok(within(looks, 30, 50), "a quarter of an hour takes %d looks", looks);
    ok(hold_verdict_of(DIRECTORY_LAG) == VERDICT_LAG && !directory_holds(DIRECTORY_LAG) &&
           !hold_verdict_repeats(DIRECTORY_LAG),
       "lag concerns the task alone");
}

static void holds(void)
{
    ok(within(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_TRANSIENT, 0, 0, 5), 4000, 6000),
       "a directory that is away is looked at again after 5 s");
    ok(within(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_TRANSIENT, 50, 0, 5), 240000, 360000),
       "and at least every 5 minutes");
    ok(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_THROTTLED, 0, 120, 5) == 120000,
       "one that asks to slow down is given the time it asks for");
    ok(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_THROTTLED, 7, 1, 5) == 1000,
       "and no more, however often it asks");
    ok(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_THROTTLED, 0, -7, 5) >= 4000,
       "nonsense in that is not believed");
    for (int failures = 0; failures < 20; failures++) {
        ok(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_CREDENTIALS, failures, 0,
                   (uint32_t)failures * 1234567u) >= 300000,
           "refused credentials: 5 minutes or more (failure %d)", failures + 1);
    }
    ok(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_CREDENTIALS, 99, 0, 0) == 3600000,
       "and an hour at most");
    static const int64_t cloud[] = {10000,  30000,  60000,   120000,  240000,
                                    480000, 960000, 1920000, 3600000, 3600000};
    for (int failures = 0; failures < 10; failures++) {
        int64_t wait = hold_ms(IDA_DIR_CLOUD, DIRECTORY_CREDENTIALS, failures, 0,
                               (uint32_t)failures * 1234567u);
        ok(within(wait, cloud[failures] * 8 / 10, cloud[failures] * 12 / 10),
           "in the cloud after %lld s (failure %d)", (long long)cloud[failures] / 1000,
           failures + 1);
    }
    ok(hold_ms(IDA_DIR_CLOUD, DIRECTORY_CREDENTIALS, 0, 90, 5) == 90000, "later where it says so");
    ok(within(hold_ms(IDA_DIR_ON_PREMISES, DIRECTORY_CONFIG, 0, 0, 5), 48000, 72000),
       "configuration: a minute at first");
    for (int class = DIRECTORY_OK; class <= DIRECTORY_LOCAL; class ++) {
        int held = directory_holds((directory_class) class);
        ok(held == (hold_verdict_of((directory_class) class) == VERDICT_HOLD),
           "'%s': table of classes and verdict agree on holding",
           directory_class_text((directory_class) class));
    }
    ok(hold_verdict_of(DIRECTORY_UNSURE) == VERDICT_UNSURE,
       "a lost answer is never a failure for certain");
    ok(hold_verdict_of(DIRECTORY_FORBIDDEN) == VERDICT_NEVER &&
           hold_verdict_of(DIRECTORY_PROTECTED) == VERDICT_NEVER,
       "rights and guarded accounts are permanent");
    ok(hold_verdict_repeats(DIRECTORY_TRANSIENT) && hold_verdict_repeats(DIRECTORY_UNSURE) &&
           !hold_verdict_repeats(DIRECTORY_CREDENTIALS) &&
           !hold_verdict_repeats(DIRECTORY_THROTTLED),
       "only what may pass is repeated at once");
}

static void passwords(void)
{
    const char *const names[] = {"Anna", "Ek", "anna.ek", NULL};
    char seen[64][PASSWORD_SIZE];
    int bad = 0;
    for (int i = 0; i < 64; i++) {
        int upper = 0, lower = 0, digit = 0, other = 0;
        password_make(&env, names, seen[i]);
        for (const char *p = seen[i]; *p; p++) {
            upper |= isupper((unsigned char)*p) != 0;
            lower |= islower((unsigned char)*p) != 0;
            digit |= isdigit((unsigned char)*p) != 0;
            other |= ispunct((unsigned char)*p) != 0;
        }
        int unique = 1;
        for (int k = 0; k < i; k++) {
            unique &= strcmp(seen[k], seen[i]) != 0;
        }
        if (strlen(seen[i]) < 24 || !upper || !lower || !digit || !other ||
            strcasestr(seen[i], "anna") || !unique) {
            bad++;
        }
    }
    is_int(bad, 0, "64 passwords: 24 characters or more, four classes, no name, all different");
    const char *const none[] = {NULL};
    password_make(&env, none, seen[0]);
    is_int((int64_t)strlen(seen[0]), PASSWORD_LEN, "without names");
    password_make(&env, (const char *const[]){"", "x", NULL}, seen[0]);
    is_int((int64_t)strlen(seen[0]), PASSWORD_LEN, "names too short to matter do not make it loop");
}

static void step_table(void)
{
    static const char *const names[] = {"createAccount", "setManager",     "setPhoto",
                                        "verify",        "disableAccount", "revokeMemberships",
                                        "revokeSessions"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const ida_step step = {.name = names[i]};
        ok(step_find(IDA_USER_CREATE, &step) != NULL, "step %s is known", names[i]);
    }
    const ida_step action = {.name = "addToGroup", .workflow = "Joiner", .workflow_position = 1};
    ok(step_find(IDA_USER_CREATE, &action) == step_workflow_action,
       "an action of a workflow is named by its workflow");
    const ida_step there = {.name = "verify", .account = "cloud"};
    ok(step_find(IDA_USER_DELETE, &there) == step_verify, "the same step of the other account");
    const ida_step strange = {.name = "makeCoffee"}, nameless = {.name = ""};
    ok(!step_find(IDA_USER_CREATE, &strange) && !step_find(IDA_USER_CREATE, &nameless),
       "others are not");
    ok(step_find(IDA_ACCESS_GRANT, &strange) == step_access, "what is given may have any name");
}

int main(void)
{
    setup();
    backoff();
    events();
    lag();
    holds();
    passwords();
    step_table();
    return done();
}
