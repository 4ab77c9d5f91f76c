/* What core needs from the program around it: clock, randomness, logging (ida_env, one per
 * process), and the thread of one activity: its pool and its error (ida_ctx, one per request,
 * command or task run). */
#ifndef CORE_BASE_CONTEXT_H
#define CORE_BASE_CONTEXT_H

#include <apr_pools.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/errors.h"

typedef enum ida_level { IDA_LOG_ERROR, IDA_LOG_WARN, IDA_LOG_INFO, IDA_LOG_DEBUG } ida_level;

/* One per process, filled before threads start and constant from then on; and copies of it for one
 * activity each (ida_env_correlated), which last no longer than that. */
typedef struct ida_env {
    int64_t (*now)(void *baton); /* milliseconds since 1970-01-01 UTC */
    void (*random)(void *baton, void *bytes,
                   size_t len); /* cryptographic; aborts rather than fail */
    void (*log)(void *baton, ida_level level, const char *id,
                const char *message);  /* id "IDA0001", or NULL below warn */
    int64_t (*monotonic)(void *baton); /* milliseconds of a clock that never steps */
    void *baton;
    const char *seal_key; /* file: only sealed tenant documents are followed. NULL: this process
                             only reads, or judges by itself */
    int seal_key_is_lent; /* 1: another user's, so that nothing can be recorded beside it */
    const struct ida_correlation *correlation; /* of the request that this activity is about; NULL:
                                                  of none. core/base/correlation.h */
    const struct ida_env *lasting;             /* of a copy: the process's own; NULL: this is it */
    int (*gone)(void *baton); /* of a copy: 1 if its client has disconnected; NULL: it has none */
    void *gone_baton;
} ida_env;

typedef struct ida_fault {
    const char *field;
    const char *rule;
    struct ida_fault *next;
} ida_fault;

/* One activity. Functions that fail set `kind`, `message` (in `pool`) and, for 429 and 503,
 * `retry_after` (seconds, 0 = none), and return the kind. Not to be shared between threads. */
typedef struct ida_ctx {
    const ida_env *env;
    apr_pool_t *pool;
    ida_kind kind;
    const char *message;
    int retry_after;
    int message_is_public; /* 1: the message of a 503 is for callers; otherwise it may name files
                              and hosts and is for the log alone */
    ida_fault
        *faults; /* collected by ida_fault_add until ida_faults_raise: the first ones, in order */
    ida_fault *last_fault;
    size_t fault_count; /* all of them */
    /* Data for a program's own sentence, in addition to the message for people. */
    const char *reason;      /* a stable word, "seatLimit"; NULL: none */
    json_t *details;         /* what that sentence needs, in the pool; NULL when none */
    const ida_fault *fields; /* the faults that ida_faults_raise made the message of */
} ida_ctx;

/* Real clock, OpenSSL randomness and standard error as log; programs replace `log`. */
void ida_env_default(ida_env *env);

ida_ctx *ida_ctx_make(const ida_env *env, apr_pool_t *pool);

/* The one to keep beyond the activity. */
const ida_env *ida_env_lasting(const ida_env *env);

/* Records the failure and returns `kind`. `format` is for vsnprintf's C11 conversions (%lld
 * allowed), unlike APR's. */
ida_kind ida_fail(ida_ctx *c, ida_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* After ida_fail: adds the reason as a word and the data that a sentence needs (`details` passes
 * to the pool, may be NULL). Returns the kind of the failure. */
ida_kind ida_because(ida_ctx *c, const char *reason, json_t *details);

/* The message as callers may see it; NULL (take the kind's sentence) when it is for the log alone:
 * inner errors, and 503s that may name files and hosts. */
const char *ida_public_message(const ida_ctx *c);

/* IDA_SERVICE_UNAVAILABLE if the activity's client has disconnected. Long work asks between its
 * parts; store_read asks before each statement. */
ida_kind ida_unless_gone(ida_ctx *c);

/* Forgets an earlier failure, so that the context can be used for a second try. */
void ida_ctx_clear(ida_ctx *c);

/* Notes that `field` broke `rule` ("must be a date YYYY-MM-DD") without stopping, so that one
 * answer can name all of them. */
void ida_fault_add(ida_ctx *c, const char *field, const char *rule_format, ...)
    __attribute__((format(printf, 3, 4)));

/* IDA_OK if no fault was recorded, otherwise IDA_BAD_REQUEST with one message that names each
 * field and its rule, in the order recorded ("firstname: is required; date: must be ...").
 * Clears the list. */
ida_kind ida_faults_raise(ida_ctx *c);

/* Formats into the pool with C11 conversions. */
char *ida_printf(apr_pool_t *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Logs a formatted line, with the request's identity at its end. `id` is "IDA0001"... for warn and
 * above, unique per call site; NULL below. */
void ida_log(const ida_env *env, ida_level level, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Replaces control characters by blanks: text from outside in a message must not start a second
 * line of a log or control a terminal. */
void ida_log_disarm(char *line);

/* 1 if a repeated message may be logged: it was not logged within `every_ms` (monotonic now_ms),
 * and this caller logs it. *said: 0 at first; may be in memory that processes share. */
int ida_say_now(_Atomic int64_t *said, int64_t now_ms, int64_t every_ms);

int64_t ida_now(const ida_env *env);       /* milliseconds UTC */
int64_t ida_monotonic(const ida_env *env); /* milliseconds */
void ida_random(const ida_env *env, void *bytes, size_t len);

#endif
