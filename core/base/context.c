/* Owns the context through which logging and errors reach core. Must not know
 * the program: httpd module, daemon or command line. */
#include "core/base/context.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/correlation.h"
#include "core/base/key.h"
#include "core/base/text.h"

#define LINE_MAX_BYTES 2048
#define ABOUT_MAX (IDA_CORRELATION_MAX + sizeof " [request ]")
#define FAULTS_SHOWN 100 /* in one message; the rest is counted */

ida_ctx *ida_ctx_make(const ida_env *env, apr_pool_t *pool)
{
    ida_ctx *c = apr_pcalloc(pool, sizeof *c);
    c->env = env;
    c->pool = pool;
    return c;
}

const ida_env *ida_env_lasting(const ida_env *env)
{
    return env->lasting ? env->lasting : env;
}

__attribute__((format(printf, 2, 0))) static char *format_in(apr_pool_t *pool, const char *format,
                                                             va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len < 0) {
        va_end(again);
        return apr_pstrdup(pool, "(message could not be formatted)");
    }
    char *text = apr_palloc(pool, (apr_size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}

char *ida_printf(apr_pool_t *pool, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_in(pool, format, args);
    va_end(args);
    return text;
}

ida_kind ida_fail(ida_ctx *c, ida_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    c->kind = kind;
    c->message = format_in(c->pool, format, args);
    c->reason = NULL;
    c->details = NULL;
    c->fields = NULL;
    va_end(args);
    return kind;
}

const char *ida_public_message(const ida_ctx *c)
{
    int inner = c->kind == IDA_INTERNAL_ERROR ||
                (c->kind == IDA_SERVICE_UNAVAILABLE && !c->message_is_public);
    return inner ? NULL : c->message;
}

ida_kind ida_unless_gone(ida_ctx *c)
{
    const ida_env *env = c->env;
    return env->gone && env->gone(env->gone_baton)
               ? ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The client has disconnected.")
               : IDA_OK;
}

void ida_ctx_clear(ida_ctx *c)
{
    c->kind = IDA_OK;
    c->message = NULL;
    c->retry_after = 0;
    c->message_is_public = 0;
    c->faults = NULL;
    c->fault_count = 0;
    c->reason = NULL;
    c->details = NULL;
    c->fields = NULL;
}

void ida_fault_add(ida_ctx *c, const char *field, const char *rule_format, ...)
{
    /* Callers decide how many there are: a body of one megabyte can have 100,000 unknown
     * members. */
    if (++c->fault_count > FAULTS_SHOWN) {
        return;
    }
    ida_fault *fault = apr_pcalloc(c->pool, sizeof *fault);
    va_list args;
    va_start(args, rule_format);
    fault->field = apr_pstrdup(c->pool, field);
    fault->rule = format_in(c->pool, rule_format, args);
    va_end(args);
    *(c->faults ? &c->last_fault->next : &c->faults) = fault;
    c->last_fault = fault;
}

ida_kind ida_faults_raise(ida_ctx *c)
{
    if (!c->faults) {
        return IDA_OK;
    }
    apr_array_header_t *parts = apr_array_make(c->pool, 4 * 16, sizeof(const char *));
    for (const ida_fault *f = c->faults; f; f = f->next) {
        APR_ARRAY_PUSH(parts, const char *) = f == c->faults ? "" : "; ";
        APR_ARRAY_PUSH(parts, const char *) = f->field;
        APR_ARRAY_PUSH(parts, const char *) = ": ";
        APR_ARRAY_PUSH(parts, const char *) = f->rule;
    }
    if (c->fault_count > FAULTS_SHOWN) {
        APR_ARRAY_PUSH(parts, const char *) = apr_pstrcat(
            c->pool, "; and ",
            ida_count(c->pool, (int64_t)(c->fault_count - FAULTS_SHOWN), "more fault",
                      "more faults"),
            NULL);
    }
    const ida_fault *fields = c->faults;
    c->faults = NULL;
    c->fault_count = 0;
    ida_fail(c, IDA_BAD_REQUEST, "%s", apr_array_pstrcat(c->pool, parts, 0));
    c->fields = fields;
    return IDA_BAD_REQUEST;
}

void ida_log(const ida_env *env, ida_level level, const char *id, const char *format, ...)
{
    char line[LINE_MAX_BYTES +
              IDA_KEY_LEN]; /* a key that the cut would go through is seen whole first */
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ida_key_mask(line);
    line[LINE_MAX_BYTES - 1] = '\0';
    if (env->correlation && *env->correlation->id) {
        size_t len = strlen(line), most = LINE_MAX_BYTES - 1 - ABOUT_MAX;
        snprintf(line + (len < most ? len : most), ABOUT_MAX, " [request %s]",
                 env->correlation->id);
    }
    env->log(env->baton, level, id, line);
}

void ida_log_disarm(char *line)
{
    for (; *line; line++) {
        if ((unsigned char)*line < 0x20 || *line == 0x7f) {
            *line = ' ';
        }
    }
}

int ida_say_now(_Atomic int64_t *said, int64_t now_ms, int64_t every_ms)
{
    int64_t before = atomic_load(said);
    return (!before || now_ms - before >= every_ms) &&
           atomic_compare_exchange_strong(said, &before, now_ms);
}
