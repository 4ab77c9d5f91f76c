/* Owns a call's deadline and error, and giving up a connection. Must not know how one is opened or
 * what is sent over it. */
#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/text.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/session.h"

ld_call ld_call_begin(directory *d, apr_pool_t *pool, directory_error *e)
{
    *e = (directory_error){0};
    return (ld_call){
        .d = d, .pool = pool, .e = e, .deadline = ida_monotonic(d->env) + DIRECTORY_CALL_MS};
}

int64_t ld_left(const ld_call *k)
{
    int64_t left = k->deadline - ida_monotonic(k->d->env);
    return left > 0 ? left : 0;
}

int ld_stopped(const ld_call *k)
{
    return k->alive && k->alive(k->baton);
}

directory_class ld_fail(ld_call *k, directory_class class, const char *field, const char *format,
                        ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    k->e->class = class;
    k->e->message = ida_clean(k->pool, text, strlen(text), sizeof text);
    k->e->field = field;
    k->e->retry_after_s = 0;
    return class;
}

directory_class ld_fail_code(ld_call *k, int code, ld_phase phase, const char *text,
                             const char *doing)
{
    const char *field;
    directory_class class = ld_classify(k->pool, code, phase, text, &field);
    return ld_fail(k, class, field, "%s: %s: %s", ld_server_url(k->d), doing,
                   ld_code_text(k->pool, code, text));
}

const char *ld_server_url(const directory *d)
{
    return d->servers[d->server].url;
}

void ld_drop(directory *d)
{
    if (d->ld) {
        /* Abandon without an unbind, because writing could wait for a peer that no longer reads. */
        shutdown(d->fd, SHUT_RDWR);
        ldap_unbind_ext(d->ld, NULL, NULL);
        d->ld = NULL;
        d->fd = -1;
    }
    d->schema = NULL;
    d->subschema = d->vendor = d->own_key = d->root = d->service = NULL;
    d->own_sid = (struct berval){0};
    d->password_ends = 0;
    d->password_grace = -1;
    d->offers_sync = -1;
    d->offers_password = d->offers_post_read = 0;
    apr_pool_clear(d->connection);
}

void ld_drop_failed(directory *d)
{
    d->servers[d->server].failed_until = ida_monotonic(d->env) + LD_FAILED_MS;
    ld_drop(d);
}

const char *ld_diagnostic(LDAP *ld, apr_pool_t *pool)
{
    char *text = NULL;
    ldap_get_option(ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &text);
    const char *copy = text && *text ? apr_pstrdup(pool, text) : NULL;
    ldap_memfree(text);
    return copy;
}
