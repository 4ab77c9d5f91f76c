/* Owns the figures that the frame of the console shows on every page. Each open tab requests
 * them every ten seconds: so only counts along indexes, no lists. */
#include "core/base/json.h"
#include "core/operation/company/directory_json.h"
#include "core/operation/company/overview.h"
#include "core/operation/table.h"
#include "core/queue/figures.h"
#include "core/store/chain_check.h"
#include "core/store/directory.h"

ida_kind ida_workers_running(store *s, ida_ctx *c, int *running, int64_t *seen_at)
{
    const store_worker *workers;
    int count;
    int64_t now = ida_now(c->env);
    *running = 0;
    *seen_at = 0;
    ida_kind kind = store_worker_list(s, c, &workers, &count);
    for (int i = 0; !kind && i < count; i++) {
        *running += now - workers[i].seen_at < STORE_WORKER_SILENT_MS;
        *seen_at = workers[i].seen_at > *seen_at ? workers[i].seen_at : *seen_at;
    }
    return kind;
}

static ida_kind put_queue(ida_call *call, store *s, ida_ctx *c)
{
    queue_figures f;
    ida_kind kind = queue_figures_get(s, c, call->asked->tenant->id, &f);
    json_object_set_new(call->result, "queue",
                        json_pack("{s:I, s:I, s:I, s:I, s:I}", "queued", (json_int_t)f.queued,
                                  "running", (json_int_t)f.running, "failed", (json_int_t)f.failed,
                                  "attention", (json_int_t)f.attention, "braked",
                                  (json_int_t)f.braked));
    return kind;
}

/* Requests that this person may decide: none without the right to decide. */
static ida_kind put_to_decide(ida_call *call, store *s, ida_ctx *c)
{
    int count = 0;
    int64_t since;
    ida_kind kind = ida_roles_have(call->asked->roles, IDA_REQUESTS_DECIDE)
                        ? ida_requests_to_decide(call, s, c, &count, &since, NULL)
                        : IDA_OK;
    json_object_set_new(call->result, "toDecide", json_integer(count));
    return kind;
}

static ida_kind put_directories(ida_call *call, store *s, ida_ctx *c)
{
    json_t *all, *one, *out = json_array();
    size_t i;
    json_object_set_new(call->result, "directories", out);
    ida_kind kind = ida_directories_json(call, s, c, &all);
    json_array_foreach (all, i, one) {
        json_array_append_new(out, ida_json_texts("directory", ida_json_string(one, "directory"),
                                                  "state", ida_json_string(one, "state"), NULL));
    }
    return kind;
}

static ida_kind put_chain(ida_call *call, store *s, ida_ctx *c)
{
    store_chain_check check;
    ida_kind kind = store_chain_check_get(s, c, call->asked->tenant->id, &check);
    if (!kind) {
        ida_json_put(call->result, "chain", store_chain_state(&check));
    }
    return kind;
}

static const struct {
    ida_right right;
    ida_kind (*put)(ida_call *call, store *s, ida_ctx *c);
} parts[] = {
    {IDA_TASKS_READ, put_queue},
    {IDA_REQUESTS_READ, put_to_decide},
    {IDA_COMPANY_READ, put_directories},
    {IDA_AUDIT_READ, put_chain},
};

static ida_kind get(ida_call *call, store *s, ida_ctx *c)
{
    int running;
    int64_t seen_at;
    call->result = ida_json_keep(c->pool, json_object());
    ida_kind kind = ida_workers_running(s, c, &running, &seen_at);
    json_object_set_new(call->result, "workersRunning", json_integer(running));
    for (size_t i = 0; !kind && i < sizeof parts / sizeof *parts; i++) {
        if (ida_roles_have(call->asked->roles, parts[i].right)) {
            kind = parts[i].put(call, s, c);
        }
    }
    return kind;
}

const ida_operation ida_op_pulse = {
    .name = "pulse.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_RIGHT_ANY,
    IDA_READS("/pulse"),
    .params = ida_no_params,
    .work = get,
    .summary = "Figures of the console's frame.",
};
