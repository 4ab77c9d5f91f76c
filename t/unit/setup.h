/* Shared by the tests of pure rules: a pool, an environment with a clock that the test sets, a
 * context. */
#ifndef T_UNIT_SETUP_H
#define T_UNIT_SETUP_H

#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/context.h"
#include "t/unit/tap.h"

static apr_pool_t *pool;
static ida_env env;
static int64_t test_now_ms = 1795253400000; /* 2026-11-21T09:30:00Z */
static unsigned char test_random_fill;      /* 0: real randomness; else every byte is this */

__attribute__((unused)) static int64_t test_clock(void *baton)
{
    (void)baton;
    return test_now_ms;
}

/* The monotonic clock of a test that says `env.monotonic = test_monotonic`: stands, unless the test
 * moves it, so that no process which has to wait for its turn makes a second pass. */
static int64_t test_monotonic_ms = 1000000;

__attribute__((unused)) static int64_t test_monotonic(void *baton)
{
    (void)baton;
    return test_monotonic_ms;
}

static void (*test_true_random)(void *baton, void *bytes, size_t len);

__attribute__((unused)) static void test_random(void *baton, void *bytes, size_t len)
{
    if (test_random_fill) {
        memset(bytes, test_random_fill, len);
    } else {
        test_true_random(baton, bytes, len);
    }
}

__attribute__((unused)) static void setup(void)
{
    apr_initialize();
    atexit(apr_terminate);
    apr_pool_create(&pool, NULL);
    ida_env_default(&env);
    env.now = test_clock;
    test_true_random = env.random;
    env.random = test_random;
}

__attribute__((unused)) static ida_ctx *fresh(void)
{
    return ida_ctx_make(&env, pool);
}

/* The message contains every one of the texts given (ended by NULL). */
__attribute__((unused)) static int says(const ida_ctx *c, const char *name, ...)
{
    va_list args;
    int good = c->message != NULL;
    const char *missing = NULL;
    va_start(args, name);
    for (const char *part; (part = va_arg(args, const char *));) {
        if (good && !strstr(c->message, part)) {
            good = 0;
            missing = part;
        }
    }
    va_end(args);
    ok(good, "%s", name);
    if (!good) {
        printf("# message: %s\n# missing: %s\n", c->message ? c->message : "(none)",
               missing ? missing : "(no message at all)");
    }
    return good;
}

/* The amount of work for a program: `standard`, or the number that
 * IDADMIN_PARAMETERS="rounds=1000 seed=7" has for this name (t/suite/long.pl). */
__attribute__((unused)) static long long parameter(const char *name, long long standard)
{
    const char *at = getenv("IDADMIN_PARAMETERS");
    size_t length = strlen(name);
    for (; at && *at; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return strtoll(at + length + 1, NULL, 10);
        }
    }
    return standard;
}

/* How much longer instrumented programs may take, as in t/lib. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWNESS 5
#else
#define SLOWNESS 1
#endif

/* How long tests wait at most for an expected event: no test may fail because the machine is
 * slow. */
#define PATIENCE_MS (180000 * SLOWNESS)

/* A copy of exactly this size, so that the address sanitizer detects a read past its end; the
 * caller frees it. */
__attribute__((unused)) static char *exact(const void *bytes, size_t len)
{
    char *copy = malloc(len ? len : 1);
    memcpy(copy, bytes, len);
    return copy;
}

#endif
