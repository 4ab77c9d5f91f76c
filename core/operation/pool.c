/* Owns a process's connections to the store and who has one. Must not know statements. */
#include "core/operation/pool.h"

#include "core/limit/share.h"

#define WAIT_MS 5000

/* Handles are made once and connect at their first use. */
static struct {
    store *of_place[SHARE_PLACES_MAX];
    share *places;
} connections;

void ida_pool_start(apr_pool_t *pool, const char *dsn, db_role role, int count, int of_company)
{
    connections.places = share_make(pool, (share_size){.places = count, .of_company = of_company});
    for (int i = 0; i < count; i++) {
        connections.of_place[i] = store_make(pool, dsn, role);
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

ida_kind ida_pool_acquire(void *company, ida_ctx *c, store **s)
{
    int place = share_take(connections.places, company, WAIT_MS);
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

void ida_pool_release(void *company, store *s)
{
    (void)company;
    give_back(s);
}

ida_kind ida_pool_serve(ida_call *call)
{
    ida_ctx *c = call->c;
    call->release = ida_pool_give_back;
    ida_kind kind = ida_pool_acquire((void *)call->asked->principal->company, c, &call->store);
    if (kind) {
        ida_log(c->env, IDA_LOG_INFO, NULL, "no store connection: %s", c->message);
        ida_ctx_clear(c);
        c->retry_after = 1;
        ida_fail(c, kind, "%s", ida_kind_text(kind));
    }
    return kind;
}

void ida_pool_give_back(ida_call *call)
{
    if (call->store) {
        give_back(call->store);
        call->store = NULL;
    }
}
