/* Owns how the console shows the audit chain, and the request to verify it. A worker verifies:
 * the time grows with the number of records. */

#include "core/base/json.h"
#include "core/operation/table.h"
#include "core/store/chain_check.h"
#include "core/store/checkpoint.h"

static void put_id(json_t *out, const char *member, int64_t id)
{
    json_object_set_new(out, member, id ? json_integer(id) : json_null());
}

static json_t *checkpoint_json(const audit_checkpoint *newest)
{
    if (!newest) {
        return json_null();
    }
    json_t *out = json_pack("{s:I, s:s}", "number", (json_int_t)newest->number, "hash",
                            newest->hash);
    ida_json_put_time(out, "at", newest->at);
    return out;
}

/* {state, firstId, lastId, verifiedTo, verifiedAt, brokenAt, reason, requestedAt, checkpoint}:
 * firstId and lastId of the present records, null if there are none; requestedAt while a
 * complete verification is requested and not done; checkpoint {number, hash, at}, the newest, or
 * null. */
static ida_kind get(ida_call *call, store *s, ida_ctx *c)
{
    const char *tenant = call->asked->tenant->id;
    store_chain_check check;
    int64_t first, last;
    json_t *out = call->result = ida_json_keep(c->pool, json_object());
    ida_kind kind = store_chain_check_get(s, c, tenant, &check);
    const audit_checkpoint *newest;
    kind = kind ? kind : store_chain_ends(s, c, tenant, &first, &last);
    kind = kind ? kind : store_checkpoint_newest(s, c, tenant, &newest);
    if (kind) {
        return kind;
    }
    ida_json_put(out, "state", store_chain_state(&check));
    put_id(out, "firstId", first);
    put_id(out, "lastId", last);
    put_id(out, "verifiedTo", check.verified_to);
    ida_json_put_time(out, "verifiedAt", check.verified_at);
    put_id(out, "brokenAt", check.broken_at);
    ida_json_put_or_null(out, "reason", check.reason);
    ida_json_put_time(out, "requestedAt", check.requested_at);
    json_object_set_new(out, "checkpoint", checkpoint_json(newest));
    return IDA_OK;
}

const ida_operation ida_op_chain = {
    .name = "audit.chain",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_AUDIT_READ,
    IDA_READS("/audit/chain"),
    .params = ida_no_params,
    .work = get,
    .summary = "Whether the chain of audit records was whole when a worker last verified it.",
};

static ida_kind request(ida_call *call, store *s, ida_ctx *c)
{
    store_chain_check check;
    ida_kind kind = store_chain_check_request(s, c, call->asked->tenant->id);
    kind = kind ? kind : store_chain_check_get(s, c, call->asked->tenant->id, &check);
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put_time(call->result, "requestedAt", kind ? 0 : check.requested_at);
    return kind;
}

const ida_operation ida_op_chain_verify = {
    .name = "audit.verify",
    .while_paused = 1,
    .faces = IDA_ON_CONSOLE,
    .right = IDA_AUDIT_READ,
    IDA_WRITES("POST", "/audit/verify"),
    .params = ida_no_params,
    .work = request,
    .summary = "Asks a worker to verify the chain of audit records from its beginning.",
};
