/* Owns how a call reaches the store: a connection for reads, a transaction for writes. Must not
 * know where connections come from. */
#include "core/operation/operation.h"

ida_kind ida_call_acquire(ida_call *call)
{
    ida_ctx *c = call->c;
    if (call->store) {
        return IDA_OK;
    }
    ida_kind kind = call->source->acquire(call->source, c, call->asked->principal->company,
                                          &call->store);
    if (kind) {
        ida_log(c->env, IDA_LOG_INFO, NULL, "no store connection: %s", c->message);
        ida_ctx_clear(c);
        c->retry_after = 1;
        ida_fail(c, kind, "%s", ida_kind_text(kind));
        ida_because(c, "storeAway", NULL);
    }
    return kind;
}

void ida_call_release(ida_call *call)
{
    if (call->store) {
        call->source->release(call->source, call->store);
        call->store = NULL;
    }
}

typedef struct awaited {
    store_work work;
    void *baton;
} awaited;

/* Checked last, before the commit: the client may already have received 503. */
static ida_kind unless_gone(store *s, ida_ctx *c, void *baton)
{
    const awaited *a = baton;
    ida_kind kind = a->work(s, c, a->baton);
    return kind ? kind : ida_unless_gone(c);
}

ida_kind ida_call_work(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    return call->asked->operation->work(call, s, c);
}

ida_kind ida_call_transaction(ida_call *call, store_work work, void *baton)
{
    awaited a = {work, baton};
    ida_call_release(call);
    return call->source->transaction(call->source, call->c, call->asked->principal->company,
                                     unless_gone, &a);
}
