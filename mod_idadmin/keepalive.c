/* Owns keeping a connection open after answers for which httpd would close it (400, 413, 500, 503):
 * a client with many requests must not pay a new TLS handshake for each mistake in one of them.
 * Must not know the answers.
 *
 * httpd closes for these statuses because it does not trust the rest of the request. Here the
 * rest of the body is read first; only when it has ended, a filter after httpd's header filter
 * reverts the decision. If there is any other reason to close, the connection is closed. */
#include "mod_idadmin/module.h"

#include <http_connection.h>
#include <string.h>
#include <util_filter.h>

APLOG_USE_MODULE(idadmin);

#define KEEP_FILTER "IDADMIN_KEEPALIVE"
/* bytes of an unwanted body worth reading to keep the connection */
#define REST_MAX (2 * IDA_REST_BODY_MAX)

static ap_filter_rec_t *keep_filter;

/* 1 when the request's body has ended within REST_MAX bytes. */
static int read_rest(request_rec *r)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_off_t seen = 0;
    int end = r->expecting_100
                  ? -1
                  : 0; /* a client that waits for 100 Continue has not sent it, and will not */
    while (!end) {
        if (ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ, 65536) !=
            APR_SUCCESS) {
            return 0;
        }
        for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb) && !end;
             b = APR_BUCKET_NEXT(b)) {
            const char *data;
            apr_size_t len = 0;
            if (APR_BUCKET_IS_EOS(b)) {
                end = 1;
            } else if (!APR_BUCKET_IS_METADATA(b) &&
                       apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS) {
                end = -1;
            }
            seen += (apr_off_t)len;
        }
        apr_brigade_cleanup(bb);
        if (!end && seen > REST_MAX) {
            end = -1;
        }
    }
    return end > 0;
}

/* Removes "close" from the Connection line of a response head. 1 if it was there. */
static int remove_close(char *head, size_t *len)
{
    static const char name[] = "\r\nConnection: ";
    char *line = memmem(head, *len, name, sizeof name - 1);
    if (!line) {
        return 0;
    }
    char *value = line + sizeof name - 1,
         *end = memmem(value, *len - (size_t)(value - head), "\r\n", 2);
    char *word = end ? memmem(value, (size_t)(end - value), "close", 5) : NULL;
    if (!word || word + 5 != end) { /* httpd adds it as the last */
        return 0;
    }
    char *from = word == value ? line : word - 2; /* the whole line, or ", close" */
    memmove(from, end, *len - (size_t)(end - head));
    *len -= (size_t)(end - from);
    return 1;
}

/* The first brigade after the header filter is the head of the response. */
static apr_status_t filter_head(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    char *head;
    apr_size_t len;
    ap_remove_output_filter(f);
    if (apr_brigade_pflatten(bb, &head, &len, r->pool) != APR_SUCCESS ||
        !remove_close(head, &len)) {
        return ap_pass_brigade(f->next, bb);
    }
    /* Repeats httpd's own decision with only the status changed. */
    int status = r->status;
    r->status = HTTP_OK;
    r->connection->keepalive = AP_CONN_UNKNOWN;
    apr_table_unset(r->headers_out, "Connection");
    int keep = ap_set_keepalive(r);
    r->status = status;
    if (keep) {
        apr_brigade_cleanup(bb);
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_pool_create(head, len, r->pool, f->c->bucket_alloc));
    }
    return ap_pass_brigade(f->next, bb);
}

void keepalive_preserve(request_rec *r)
{
    conn_rec *c = r->connection;
    if (c->master) {
        /* HTTP/2: an answer before the body's end resets the stream, and some clients then drop the
         * answer. */
        if (ap_is_HTTP_ERROR(r->status)) {
            read_rest(r);
        }
        return;
    }
    if (ap_status_drops_connection(r->status) && c->keepalive != AP_CONN_CLOSE && !c->aborted &&
        r->proto_num >= HTTP_VERSION(1, 1) && read_rest(r)) {
        ap_add_output_filter_handle(keep_filter, NULL, r, c);
    }
}

void keepalive_register(void)
{
    /* After HTTP_HEADER (PROTOCOL), before CHUNK (TRANSCODE). */
    keep_filter = ap_register_output_filter(KEEP_FILTER, filter_head, NULL,
                                            (ap_filter_type)(AP_FTYPE_PROTOCOL + 5));
}
