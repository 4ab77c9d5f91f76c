/* Owns sending a file to the client: a page is read, the store's connection is released, the
 * page is written. Must not know the content of the file. */
#include "mod_idadmin/module.h"

#include <http_connection.h>
#include <util_filter.h>

#include "core/face/export.h"

APLOG_USE_MODULE(idadmin);

/* A response that began with 200 cannot become an error: the connection is closed before the end
 * of the body, so that a client does not take the part for the whole. */
static int break_off(request_rec *r, const ida_ctx *c)
{
    request_say(r, request_gone(r) ? APLOG_INFO : APLOG_WARNING,
                "IDA0215: a file that is being saved breaks off: %s",
                c->message ? c->message : "no reason given");
    conn_rec *connection = r->connection;
    apr_bucket_brigade *out = apr_brigade_create(r->pool, connection->bucket_alloc);
    connection->keepalive = AP_CONN_CLOSE;
    APR_BRIGADE_INSERT_TAIL(out, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool,
                                                        connection->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(out, ap_bucket_eoc_create(connection->bucket_alloc));
    ap_pass_brigade(r->output_filters, out);
    return OK;
}

static ida_kind next_page(ida_call *call, ida_ctx *c, ida_export *x)
{
    ida_kind kind = call->source->acquire(call->source, c, call->asked->tenant->id, &call->store);
    kind = kind ? kind : x->read(call, c, x);
    ida_call_release(call);
    return kind;
}

int export_stream(request_rec *r, ida_call *call, const ida_rest_answer *answer)
{
    ida_export *x = answer->exported;
    respond_begin(r, answer);
    ap_set_content_type(r, ida_export_type(x));
    if (r->header_only) {
        return OK;
    }
    apr_pool_t *pool;
    apr_pool_create(&pool, r->pool);
    for (int first = 1;; first = 0) {
        const char *text = ida_export_text(pool, x, first);
        int sent = ap_rputs(text, r) >= 0 && ap_rflush(r) >= 0 && !request_gone(r);
        if (!sent || !x->more) {
            return OK;
        }
        apr_pool_clear(pool);
        ida_ctx *c = ida_ctx_make(call->c->env, pool);
        if (next_page(call, c, x)) {
            return break_off(r, c);
        }
    }
}
