/* Owns reading request bodies: under our own limit, with Content-Length and without, with few
 * large ones in memory at once and a share of them for each key. Must not know their content. */
#include "mod_idadmin/module.h"

#include <apr_buckets.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

APLOG_USE_MODULE(idadmin);

#define SMALL 65536 /* bytes that any request may hold */
/* bytes of large bodies that a child holds at once */
#define LARGE_TOTAL (4u * IDA_REST_BODY_MAX)
/* of them those of one key: one that uploads slowly leaves room for the others */
#define LARGE_OF_KEY IDA_REST_BODY_MAX
#define WAIT_S 5 /* for a place among them; then 503 */
/* time in which a body must arrive once it has a place */
#define ARRIVE_US apr_time_from_sec(120)
#define STEP 65536

static struct {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    request_body *first; /* those that have a place: a few hundred at most */
} large;

static apr_status_t destroy(void *unused)
{
    (void)unused;
    pthread_cond_destroy(&large.freed);
    pthread_mutex_destroy(&large.lock);
    return APR_SUCCESS;
}

void body_init(apr_pool_t *pool)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&large.lock, NULL);
    pthread_cond_init(&large.freed, &attr);
    pthread_condattr_destroy(&attr);
    large.first = NULL;
    apr_pool_cleanup_register(pool, NULL, destroy, apr_pool_cleanup_null);
}

/* Call under the lock. Only the size that `b` asks for counts: a filter of httpd may have made
 * the body longer than announced. */
static int has_place(const request_body *b, size_t bytes)
{
    size_t all = bytes, of_key = bytes;
    for (const request_body *other = large.first; other; other = other->next) {
        size_t room = other == b ? 0 : other->room;
        all += room;
        of_key += strcmp(other->key, b->key) == 0 ? room : 0;
    }
    return all <= LARGE_TOTAL && of_key <= LARGE_OF_KEY;
}

/* Under the lock. */
static void leave(request_body *b)
{
    for (request_body **at = &large.first; *at; at = &(*at)->next) {
        if (*at == b) {
            *at = b->next;
            break;
        }
    }
}

static int reserve(request_body *b, size_t bytes)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    int failed = 0, got;
    pthread_mutex_lock(&large.lock);
    while (!(got = has_place(b, bytes)) && !failed) {
        failed = pthread_cond_timedwait(&large.freed, &large.lock, &until);
    }
    if (got) {
        leave(b);
        b->room = bytes;
        b->next = large.first;
        large.first = b;
    }
    pthread_mutex_unlock(&large.lock);
    return got;
}

static void unreserve(request_body *b)
{
    pthread_mutex_lock(&large.lock);
    leave(b);
    pthread_cond_broadcast(&large.freed);
    pthread_mutex_unlock(&large.lock);
}

static int too_large(ida_ctx *c, const request_body *b)
{
    return ida_kind_status(ida_fail(c, IDA_PAYLOAD_TOO_LARGE, "%s", b->too_large));
}

static int no_place(request_rec *r, ida_ctx *c)
{
    request_say(r, APLOG_WARNING,
                "IDA0230: no place for a large request body of %s within %d s: too many large "
                "ones at once in this child, or of this key",
                r->user, WAIT_S);
    c->retry_after = WAIT_S;
    c->message_is_public = 1;
    return ida_kind_status(ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                                    "Too many large requests at the same time, or too many of this "
                                    "key. Try again in %d seconds.",
                                    WAIT_S));
}

/* Room for `more` bytes. OK or a status. */
static int make_room(request_rec *r, ida_ctx *c, request_body *b, size_t more)
{
    size_t need = b->len + more;
    if (need > b->max) {
        return too_large(c, b);
    }
    if (need <= b->room) {
        return OK;
    }
    apr_int64_t length = request_body_length(r);
    size_t told = length >= (apr_int64_t)need ? (size_t)length : 0; /* 0: nothing of use */
    /* Above the small size the whole is reserved at once, because growing reservations could
     * wait for each other. Below it the announced size is enough: nearly every body is far
     * smaller. */
    size_t room = need > SMALL ? (told ? told : b->max) : told && told < SMALL ? told : SMALL;
    if (room > SMALL && !reserve(b, room)) {
        return no_place(r, c);
    }
    char *bytes = realloc(b->bytes, room + 1);
    if (!bytes) {
        return no_place(r, c); /* body_free gives the place back */
    }
    b->bytes = bytes;
    if (room <= SMALL) { /* what is reserved says so already, under the lock */
        b->room = room;
    }
    b->deadline = apr_time_now() + ARRIVE_US;
    return OK;
}

void body_free(request_body *b)
{
    if (b->room > SMALL) {
        unreserve(b);
    }
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

static int take_bucket(request_rec *r, ida_ctx *c, request_body *b, apr_bucket *bucket)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(bucket, &data, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS) {
        return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
    }
    int status = make_room(r, c, b, len);
    if (status == OK && len) {
        memcpy(b->bytes + b->len, data, len);
        b->len += len;
    }
    return status;
}

static int read_all(request_rec *r, ida_ctx *c, request_body *b)
{
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    for (int end = 0; !end;) {
        apr_status_t rv = ap_get_brigade(r->input_filters, brigade, AP_MODE_READBYTES,
                                         APR_BLOCK_READ, STEP);
        if (rv != APR_SUCCESS) { /* AP_FILTER_ERROR: a filter has answered already, handed through
                                    as it is */
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        }
        while (!APR_BRIGADE_EMPTY(brigade)) {
            apr_bucket *bucket = APR_BRIGADE_FIRST(brigade);
            int status = OK;
            if (APR_BUCKET_IS_EOS(bucket)) {
                end = 1;
            } else if (!APR_BUCKET_IS_METADATA(bucket)) {
                status = take_bucket(r, c, b, bucket);
            }
            apr_bucket_delete(bucket);
            if (status != OK) {
                apr_brigade_cleanup(brigade);
                return status;
            }
        }
        if (!end && b->room > SMALL && apr_time_now() > b->deadline) {
            return HTTP_REQUEST_TIME_OUT;
        }
    }
    return OK;
}

const char *body_unread_text(int status)
{
    switch (status) {
    case HTTP_REQUEST_TIME_OUT:
        return "The request body did not arrive in time. Send the request again.";
    case HTTP_REQUEST_ENTITY_TOO_LARGE: /* LimitRequestBody, or a chunk of impossible size */
        return "The request body, or one of its chunks, is larger than this server is set up to "
               "take.";
    case HTTP_BAD_REQUEST:
        return "The request body could not be read to its end: it is shorter than its "
               "Content-Length, or its chunks are broken.";
    default: /* refused by another module */ return NULL;
    }
}

int body_of(request_rec *r, ida_ctx *c, request_body *body, ida_rest_request *request, int *ours)
{
    int status = body_read(r, c, body, IDA_REST_BODY_MAX, ida_kind_text(IDA_PAYLOAD_TOO_LARGE));
    *ours = c->kind != IDA_OK;
    if (status != OK && !*ours) {
        const char *text = body_unread_text(status);
        ida_kind kind = ida_kind_of_status(status);
        ida_fail(c, kind, "%s", text ? text : ida_kind_text(kind));
    }
    request->body = body->bytes;
    request->body_len = body->len;
    return status;
}

int body_read(request_rec *r, ida_ctx *c, request_body *b, size_t max, const char *too_large_text)
{
    memset(b, 0, sizeof *b);
    b->max = max;
    b->too_large = too_large_text;
    b->key = r->user;
    int status = request_body_length(r) > (apr_int64_t)max ? too_large(c, b)
                                                           : make_room(r, c, b, 1);
    if (status == OK) {
        request_state_of(r)->body_unread =
            1; /* an error page of httpd's filters may come before this returns */
        status = read_all(r, c, b);
        request_state_of(r)->body_unread = status != OK;
    }
    if (status != OK) {
        body_free(b);
        return status;
    }
    b->bytes[b->len] = '\0';
    return OK;
}
