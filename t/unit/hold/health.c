/* Holds of directories: calls that fail together count as one failure, failed probes make a hold
 * longer, answers end it; how directories share the threads; how a process replaces one that
 * died. */
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#include <sys/stat.h>

#include "core/store/directory.h"
#include "worker/hold/crash.h"
#include "worker/hold/health.h"
#include "worker/hold/repairs.h"
#include "worker/hold/slot.h"

#define TENANT "contoso"
#define THREADS 2

static worker w;
static store *s;
static const directory_error away = {.class = DIRECTORY_TRANSIENT, .message = "127.0.0.1: silent"};
static const directory_error refused = {.class = DIRECTORY_CREDENTIALS, .message = "wrong secret"};
static const directory_error slow_down = {.class = DIRECTORY_THROTTLED,
                                          .message = "slow down",
                                          .retry_after_s = 30};

static store_directory state(void)
{
    store_directory now;
    ok(!store_directory_get(s, worker_ctx(&w, pool), TENANT, IDA_DIR_CLOUD, &now), "state");
    return now;
}

static void hold(hold_known known, const directory_error *e)
{
    const char *reason = hold_put(&w, s, pool, TENANT, IDA_DIR_CLOUD, known, e);
    ok(strstr(reason, e->message) != NULL, "the caller gets its reason: %s", reason);
}

static int64_t left(void)
{
    return state().hold_until - ida_now(&w.env);
}

static hold_known probe_of(store_directory seen)
{
    return hold_known_of(&seen, seen.hold_until);
}

static void answered(hold_known known)
{
    hold_answered(&w, s, pool, TENANT, IDA_DIR_CLOUD, known);
}

static void together(void)
{
    hold_known before = {0};
    for (int i = 0; i < 8; i++) {
        hold(before, &away);
    }
    is_int(state().hold_failures, 1, "eight calls that fail together are one failure");
    ok(left() >= 4000 && left() <= 6000, "held for 5 s (%lld ms)", (long long)left());
    store_directory seen = state();
    hold_known probe = probe_of(seen);
    hold(probe, &away);
    is_int(state().hold_failures, 2, "a probe that fails is another one");
    ok(left() >= 8000 && left() <= 12000, "held for longer (%lld ms)", (long long)left());
    hold(before, &away);
    hold(probe, &away);
    is_int(state().hold_failures, 2, "what began before that has nothing to add");
    answered(probe);
    is_int(state().hold_failures, 2, "nor does an answer to it end what is held since");
    answered(probe_of(state()));
    is_str(state().hold_reason, NULL, "an answer ends it");
    is_int(state().hold_failures, 0, "and nothing is left of it");
}

static void watched(void)
{
    for (int i = 0; i < THREADS; i++) {
        hold_run_begins(&w, i, TENANT, IDA_DIR_CLOUD, "");
        hold_call_begins(&w, i, TENANT, IDA_DIR_CLOUD);
    }
    test_monotonic_ms += 2900;
    hold_watch_calls(&w, s, pool);
    is_str(state().hold_reason, NULL, "a call may take a while");
    test_monotonic_ms += 200;
    hold_watch_calls(&w, s, pool);
    ok(state().hold_reason != NULL, "then the directory is held");
    is_int(state().hold_failures, 0, "which is no failure yet");
    for (int i = 0; i < THREADS; i++) {
        hold_known known = {.watched = hold_call_ends(&w, i)};
        ok(known.watched, "each call is informed that it was the cause");
        hold(known, &away);
        is_int(state().hold_failures, 1, "the first of them counts");
        ok(left() <= 6000, "and is the one that sets the time (%lld ms)", (long long)left());
        hold_run_ends(&w, i);
    }
    answered(probe_of(state()));
    for (int i = 0; i < THREADS; i++) { /* an answer to either ends the watch's hold, and only
                                           that */
        for (int other = 0; other < 2; other++) {
            hold_call_begins(&w, 0, TENANT, IDA_DIR_CLOUD);
            hold_call_begins(&w, 1, TENANT, IDA_DIR_CLOUD);
            test_monotonic_ms += 3100;
            hold_watch_calls(&w, s, pool);
            ok(state().hold_reason != NULL, "held again");
            int64_t until = hold_call_ends(&w, i);
            if (other) {
                hold((hold_known){.failures = -1}, &slow_down);
            }
            answered((hold_known){.watched = 1, .until = until});
            ok(!state().hold_reason == !other, "call %d: %s", i,
               other ? "what was reported meanwhile stands" : "its answer ends the hold");
            hold_call_ends(&w, !i);
            answered(probe_of(state()));
        }
    }
}

static void told(void)
{
    hold((hold_known){0}, &slow_down);
    is_int(state().hold_failures, 0, "a time that was reported is no failure");
    is_int(left(), 30000, "and is kept");
    directory_error less = slow_down;
    less.retry_after_s = 10;
    hold((hold_known){0}, &less);
    is_int(left(), 30001, "shorter waits of others do not shorten it");
    store_directory seen = state();
    hold(probe_of(seen), &less);
    is_int(left(), 10000, "a probe does");
    answered((hold_known){0});
    is_int(left(), 10000, "no success of who is not the probe ends it");
    answered(probe_of(seen));
    is_int(left(), 10000, "nor of the probe of what was held before");
    seen = state();
    hold_known asked = hold_probe(&w, s, pool, &seen);
    ok(asked.held && left() == PROBE_MS, "who asks without a claim keeps others off meanwhile");
    hold((hold_known){0}, &slow_down);
    answered(asked);
    is_int(left(), PROBE_MS + 1, "a shorter wait reported by another thread: it stays");
    answered(probe_of(state()));
    is_str(state().hold_reason, NULL, "its own probe ends it");
    seen = state();
    is_int(hold_probe(&w, s, pool, &seen).held, 0, "without a hold nobody is a probe");
    is_str(state().hold_reason, NULL, "and nothing is held");
}

/* The call that was refused may have read the secret before the file was put right. */
static void repaired(void)
{
    char file[] = "/tmp/idadmin-secret-XXXXXX";
    struct stat st;
    int fd = mkstemp(file);
    ok(fd >= 0 && fstat(fd, &st) == 0, "a file");
    close(fd);
    ok(script(DB_REQUEST, apr_psprintf(pool,
                                       "UPDATE tenant SET document = replace(document, "
                                       "'/etc/idadmin/secret', '%s')",
                                       file)),
       "with the secret");
    int64_t changed = (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000;
    test_now_ms = changed + 100;
    for (int before = 0; before < 2; before++) {
        hold((hold_known){.begun = changed - before}, &refused);
        hold_check_repairs(&w, s, pool);
        ok((state().hold_reason == NULL) == before, "changed %s",
           before ? "during the call: tried again" : "before: it waits");
        answered(probe_of(state()));
    }
    unlink(file);
}

static void shared(void)
{
    ok(hold_take(&w, 0, TENANT, IDA_DIR_CLOUD, "1"), "a thread tries a task");
    ok(!hold_take(&w, 1, TENANT, IDA_DIR_CLOUD, "1"), "which no other tries meanwhile");
    ok(hold_take(&w, 0, TENANT, IDA_DIR_CLOUD, "2"), "it may try the next instead");
    ok(hold_take(&w, 1, TENANT, IDA_DIR_CLOUD, "1"), "and another one the first");
    ok(!hold_take(&w, 2, TENANT, IDA_DIR_CLOUD, "3"), "half of the threads are at the directory");
    ok(hold_take(&w, 2, TENANT, IDA_DIR_ON_PREMISES, "4"), "another one of the tenant gets one");
    ok(!hold_take(&w, 3, TENANT, IDA_DIR_ON_PREMISES, "5"), "half of the rest");
    ok(hold_take(&w, 3, "fabrikam", IDA_DIR_CLOUD, "6"), "and one is left for another tenant");
    hold_run_ends(&w, 0);
    ok(!hold_take(&w, 0, TENANT, IDA_DIR_CLOUD, "3"), "who has more than are free gets no other");
    hold_run_ends(&w, 3);
    ok(hold_take(&w, 3, TENANT, IDA_DIR_CLOUD, "3"), "until there are");
    for (int i = 0; i <= 3; i++) {
        hold_run_ends(&w, i);
    }
}

/* The second process of a service replaces the first: other workers saw a worker all the time. */
static void replaced(void)
{
    const store_worker *rows;
    int count;
    strcpy(w.service, "node-1");
    strcpy(w.id, w.service);
    ok(!hold_seen(&w, s, worker_ctx(&w, pool)), "a worker is seen");
    strcpy(w.id, "node-1.2");
    w.starts = 2;
    ok(hold_crash_settled(&w, s, pool), "the next process of its service settles");
    ok(!store_worker_list(s, worker_ctx(&w, pool), &rows, &count), "the workers");
    is_int(count, 1, "one is there");
    is_str(count ? rows[0].id : "", "node-1.2", "which is the next");
}

int main(void)
{
    setup();
    env.monotonic = test_monotonic;
    dsn = store_upgraded(0, &engine);
    worker_config config = {.threads = THREADS, .store = dsn};
    worker_init(&w, &env, &config, pool);
    w.call_count = 2 * THREADS;
    w.calls = apr_pcalloc(pool, sizeof *w.calls * (size_t)w.call_count);
    s = store_make(pool, dsn, DB_REQUEST);
    add_tenant(TENANT, "");
    together();
    watched();
    told();
    repaired();
    shared();
    replaced();
    return done();
}
