/* Owns this child's few store connections, to read with. Must not know statements. */
#include "mod_idadmin/module.h"

#include "core/limit/share.h"

APLOG_USE_MODULE(idadmin);

#define CONNECTIONS 4 /* as many served as many requests as 25 */
#define OF_COMPANY 2  /* of them may be with one company, so that others find the rest */
#define WAIT_MS 5000

/* Handles are made once and connect at their first use. */
static struct {
    store *of_place[CONNECTIONS];
    share *places;
} connections;

void pool_init(apr_pool_t *pool, server_rec *s)
{
    const char *dsn = config_store(s);
    connections.places = share_make(
        pool, (share_size){.places = CONNECTIONS, .writers = 0, .of_company = OF_COMPANY});
    for (int i = 0; i < CONNECTIONS; i++) {
        connections.of_place[i] = store_make(pool, dsn, DB_READ);
    }
}

static void give_back(store *s)
{
    int place = 0;
    while (connections.of_place[place] != s) {
        place++;
    }
    share_leave(connections.places, place);
}

ida_kind pool_acquire(void *company, ida_ctx *c, store **s)
{
    int place = share_take(connections.places, company, 0, WAIT_MS);
    if (place < 0) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy at the moment.");
    }
    store *taken = connections.of_place[place];
    ida_kind kind = store_connect(taken, c);
    if (kind) {
        give_back(taken);
    } else {
        *s = taken;
    }
    return kind;
}

void pool_refused(request_rec *r, ida_ctx *c)
{
    ida_kind kind = c->kind;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "no store connection: %s", c->message);
    ida_ctx_clear(c); /* what is wrong with the store is the log's business */
    c->retry_after = 1;
    ida_fail(c, kind, "%s", ida_kind_text(kind));
}

void pool_release(void *company, store *s)
{
    (void)company;
    give_back(s);
}

void pool_give_back(ida_call *call)
{
    if (call->store) {
        give_back(call->store);
        call->store = NULL;
    }
}

ida_kind pool_serve(ida_call *call)
{
    call->release = pool_give_back;
    return pool_acquire((void *)call->principal->company, call->c, &call->store);
}
