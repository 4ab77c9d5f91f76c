/* Owns the outcome and text of the present step, and the warnings of the run. Must not know what a
 * step does. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "worker/hold/rules.h"
#include "worker/run/step.h"

#define NAMES_LISTED_MAX 40

ida_ctx *run_ctx(run *r)
{
    return ida_ctx_make(&r->runner->env, r->pool);
}

__attribute__((format(printf, 3, 0))) static void say(run *r, ida_outcome outcome,
                                                      const char *format, va_list args)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, args);
    r->step.outcome = outcome;
    r->step.detail = text[0] ? ida_clean(r->pool, text, strlen(text), 2000) : NULL;
}

step_end step_says(run *r, ida_outcome outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(r, outcome, format, args);
    va_end(args);
    return STEP_ON;
}

step_end step_fails(run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(r, IDA_STEP_FAILED, format, args);
    va_end(args);
    return STEP_FAILED;
}

step_end step_later(run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(r, IDA_STEP_NONE, format, args);
    va_end(args);
    return STEP_LATER;
}

void run_warn(run *r, const char *text)
{
    size_t i;
    json_t *had;
    json_array_foreach (r->warnings, i, had) {
        if (strcmp(json_string_value(had), text) == 0) {
            return;
        }
    }
    json_array_append_new(r->warnings, json_string(ida_clean(r->pool, text, strlen(text), 2000)));
}

const char *run_shown(run *r)
{
    return ida_step_shown(r->pool, &r->step);
}

const char *run_listed(run *r, const apr_array_header_t *names)
{
    const char *text = "";
    for (int i = 0; i < names->nelts && i < NAMES_LISTED_MAX; i++) {
        text = apr_pstrcat(r->pool, text, i ? ", " : "", APR_ARRAY_IDX(names, i, const char *),
                           NULL);
    }
    return names->nelts > NAMES_LISTED_MAX
               ? ida_printf(r->pool, "%s and %d more", text, names->nelts - NAMES_LISTED_MAX)
               : text;
}

int run_last_try(const run *r)
{
    return r->task->attempts - r->tries_before + 1 >= TRIES_MAX;
}
