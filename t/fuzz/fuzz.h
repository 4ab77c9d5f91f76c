/* What fuzz targets share: one environment with a fixed clock and a fresh context for each input.
 */
#ifndef T_FUZZ_FUZZ_H
#define T_FUZZ_FUZZ_H

#include <apr_general.h>
#include <apr_pools.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t fuzz_clock(void *baton)
{
    (void)baton;
    return 1795253400000; /* 2026-11-21T09:30:00Z */
}

static void fuzz_quiet(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton;
    (void)level;
    (void)id;
    (void)message;
}

/* Context of this input; the one before is gone. */
static ida_ctx *fuzz_context(void)
{
    static apr_pool_t *pool;
    static ida_env env;
    if (!pool) {
        apr_initialize();
        atexit(apr_terminate); /* what the last input left would be a leak */
        apr_pool_create(&pool, NULL);
        ida_env_default(&env);
        env.now = fuzz_clock;
        env.log = fuzz_quiet;
    }
    apr_pool_clear(pool);
    return ida_ctx_make(&env, pool);
}

/* Around a library's call that leaks on some input: its leaks are not ours to mend. Where there is
 * a leak checker. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

__attribute__((unused)) static void fuzz_leaks(int theirs)
{
    void (*set)(void) = theirs ? __lsan_disable : __lsan_enable;
    if (set) {
        set();
    }
}

/* A property that must hold for every input. */
#define FUZZ_HOLDS(property) \
    do {                     \
        if (!(property)) {   \
            abort();         \
        }                    \
    } while (0)

#endif
