/* Owns a call's deadline and its error. Must not know what is requested. */
#include "worker/graph/call.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"

#define MESSAGE_MAX 1000
#define REQUEST_MIN_MS 500 /* less time than this is not enough for a request */
#define NAP_MS 50          /* how soon a rest notices that it shall end */

graph_call graph_call_begin(graph *g, apr_pool_t *pool, directory_error *e)
{
    *e = (directory_error){.class = DIRECTORY_OK};
    return (graph_call){
        .g = g, .pool = pool, .e = e, .deadline = ida_monotonic(g->env) + DIRECTORY_CALL_MS};
}

int64_t graph_left(const graph_call *k)
{
    int64_t left = k->deadline - ida_monotonic(k->g->env);
    return left > 0 ? left : 0;
}

int graph_stopped(const graph_call *k)
{
    return k->alive && k->alive(k->baton);
}

directory_class graph_fail(graph_call *k, directory_class class, const char *field,
                           const char *format, ...)
{
    char text[4 * MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args); /* C11's conversions, not APR's */
    va_end(args);
    *k->e = (directory_error){.class = class,
                              .message = ida_clean(k->pool, text, strlen(text), MESSAGE_MAX),
                              .field = field};
    return class;
}

int graph_pause(graph_call *k, int ms)
{
    int64_t spare = graph_left(k) - REQUEST_MIN_MS;
    if (spare <= 0) {
        return 0;
    }
    apr_sleep((spare < ms ? spare : ms) * 1000);
    return 1;
}

int graph_rest(const graph_call *k, int64_t ms)
{
    int64_t until = ida_monotonic(k->g->env) + ms, left;
    while ((left = until - ida_monotonic(k->g->env)) > 0) {
        if (graph_stopped(k)) {
            return 0;
        }
        apr_sleep((left < NAP_MS ? left : NAP_MS) * 1000);
    }
    return 1;
}

directory_class graph_end(graph_call *k, directory_class class)
{
    if (class == DIRECTORY_OK || class == DIRECTORY_ALREADY) {
        *k->e = (directory_error){.class = class};
    }
    return class;
}

directory_class graph_needs(graph_call *k, directory_class class, const char *permission,
                            int privileged)
{
    if (class == DIRECTORY_FORBIDDEN) {
        k->e->message = apr_pstrcat(
            k->pool, k->e->message, " Needed: the application permission ", permission,
            " with an administrator's consent",
            privileged ? "; for an account that holds an administrator role also a directory role "
                         "for the application, such as Privileged Authentication Administrator"
                       : "",
            ".", NULL);
    }
    return class;
}
