/* Owns the environment of programs that bring none of their own: clocks, randomness, log lines
 * on stderr. */
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/context.h"

static int64_t clock_ms(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t real_now(void *baton)
{
    (void)baton;
    return clock_ms(CLOCK_REALTIME);
}

static int64_t real_monotonic(void *baton)
{
    (void)baton;
    return clock_ms(CLOCK_MONOTONIC);
}

/* Buffered random bytes, one buffer for each thread: a call of the generator costs more than
 * most IDs need. Bytes are wiped as they are used; a forked child begins with an empty buffer,
 * or it would use its parent's bytes again. */
static _Thread_local struct {
    unsigned char bytes[512];
    size_t left;
    unsigned generation;
} stock;
static atomic_uint generation;

static void forked(void)
{
    atomic_fetch_add(&generation, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

static void generate(void *bytes, size_t len)
{
    if (RAND_bytes(bytes, (int)len) != 1) {
        /* Keys, IDs and passwords made without randomness would be guessable: there is no safe
         * way to continue. */
        fputs("idadmin: the operating system gives no randomness\n", stderr);
        abort();
    }
}

static void real_random(void *baton, void *bytes, size_t len)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    (void)baton;
    pthread_once(&watched, watch_forks);
    if (len > sizeof stock.bytes / 4) {
        generate(bytes, len);
        return;
    }
    unsigned now = atomic_load(&generation);
    if (stock.left < len || stock.generation != now) {
        generate(stock.bytes, sizeof stock.bytes);
        stock.left = sizeof stock.bytes;
        stock.generation = now;
    }
    stock.left -= len;
    memcpy(bytes, stock.bytes + stock.left, len);
    OPENSSL_cleanse(stock.bytes + stock.left, len);
}

static void stderr_log(void *baton, ida_level level, const char *id, const char *message)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    (void)baton;
    if (level <= IDA_LOG_WARN) {
        fprintf(stderr, "%s: %s%s%s\n", names[level], id ? id : "", id ? ": " : "", message);
    }
}

void ida_env_default(ida_env *env)
{
    *env = (ida_env){
        .now = real_now, .monotonic = real_monotonic, .random = real_random, .log = stderr_log};
}

int64_t ida_now(const ida_env *env)
{
    return env->now(env->baton);
}

int64_t ida_monotonic(const ida_env *env)
{
    return env->monotonic(env->baton);
}

void ida_random(const ida_env *env, void *bytes, size_t len)
{
    env->random(env->baton, bytes, len);
}
