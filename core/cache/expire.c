/* Owns the expiry of accounts. The directory does not change at that moment, so the cache
 * compares the stored expiry time with its own clock. */
#include "core/cache/rows.h"
#include "core/store/rows.h"

#define AT_ONCE 500 /* accounts in one transaction */

typedef struct expiry {
    cache_at at;
    int count;
} expiry;

static ida_kind expire_some(store *s, ida_ctx *c, void *baton)
{
    expiry *x = baton;
    x->at.s = s;
    ida_kind kind = cache_enter(&x->at, c);
    kind = kind ? kind : cache_users_expire(&x->at, c, AT_ONCE, &x->count);
    return kind ? kind : cache_leave(&x->at, c);
}

ida_kind cache_expire(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory)
{
    ida_kind kind = IDA_OK;
    int64_t waiting = 1;
    while (!kind && waiting) {
        expiry x = {.at = {.tenant = tenant,
                           .directory = ida_directory_name(directory),
                           .kind = directory}};
        kind = store_number(s, c, STMT_users_expiring_any,
                            DB_ARGS(DB_T(tenant), DB_T(x.at.directory), DB_I(ida_now(c->env))),
                            &waiting);
        kind = kind || !waiting ? kind : store_transaction(s, c, expire_some, &x);
    }
    return kind;
}
