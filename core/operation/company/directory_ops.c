/* Owns the console's requests about directories: synchronise now, probe. The workers execute
 * them; a server never calls a directory. */
#include "core/base/json.h"
#include "core/operation/table.h"
#include "core/store/directory.h"

static const ida_param params[] = {{"directory", IDA_PARAM_STRING, IDA_PARAM_REQUIRED,
                                    .allowed = ida_directory_names,
                                    .about = "Which of the company's directories."},
                                   {0}};

static ida_directory_kind asked(const ida_call *call)
{
    return (ida_directory_kind)ida_directory_parse(ida_json_string(call->arguments, "directory"));
}

static ida_kind check(ida_call *call)
{
    call->target = ida_directory_name(asked(call));
    if (!call->asked->tenant->has_directory[asked(call)]) {
        ida_fault_add(call->c, "directory", "is none that this company has");
    }
    return ida_faults_raise(call->c);
}

static void requested(ida_call *call, ida_ctx *c, int64_t at)
{
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put_time(call->result, "requestedAt", at);
}

/* --- synchronisations --- */

static const ida_param sync_members[] = {
    {"acceptDeletions", IDA_PARAM_BOOLEAN,
     .about = "true: lets this one delete everything that the directory no longer shows, whatever "
              "the amount."},
    {0}};

static ida_kind check_sync(ida_call *call)
{
    const json_t *accept = json_object_get(call->asked->body, "acceptDeletions");
    if (accept && !json_is_null(accept) && !json_is_boolean(accept)) {
        ida_fault_add(call->c, "acceptDeletions", "must be true or false");
    }
    return check(call);
}

static ida_kind request_sync(ida_call *call, store *s, ida_ctx *c)
{
    store_directory state;
    int accept = json_is_true(json_object_get(call->asked->body, "acceptDeletions"));
    ida_kind kind = store_sync_request(s, c, call->asked->tenant->id, asked(call), accept, 0);
    kind = kind ? kind : store_directory_get(s, c, call->asked->tenant->id, asked(call), &state);
    requested(call, c, kind ? 0 : state.sync_requested_at);
    return kind;
}

const ida_operation ida_op_sync = {
    .name = "sync.request",
    .while_paused = 1,
    .faces = IDA_ON_CONSOLE,
    .right = IDA_COMPANY_OPERATE,
    IDA_WRITES("POST", "/directory/sync"),
    .params = params,
    .body = sync_members,
    .check = check_sync,
    .work = request_sync,
    .summary = "Asks the workers to synchronise a directory now.",
};

/* --- looks --- */

static ida_kind request_check(ida_call *call, store *s, ida_ctx *c)
{
    store_check look;
    ida_kind kind = store_check_request(s, c, call->asked->tenant->id, asked(call));
    kind = kind ? kind : store_check_get(s, c, call->asked->tenant->id, asked(call), &look);
    requested(call, c, kind ? 0 : look.requested_at);
    return kind;
}

const ida_operation ida_op_check = {
    .name = "directory.check",
    .while_paused = 1,
    .faces = IDA_ON_CONSOLE,
    .right = IDA_COMPANY_OPERATE,
    IDA_WRITES("POST", "/directory/check"),
    .params = params,
    .check = check,
    .work = request_check,
    .summary = "Asks a worker to probe a directory, as idadmin-worker --check does.",
};

static ida_kind report(ida_call *call)
{
    ida_ctx *c = call->c;
    store_check look;
    call->target = ida_directory_name(asked(call));
    ida_kind kind = store_check_get(call->store, c, call->asked->tenant->id, asked(call), &look);
    if (kind) {
        return kind;
    }
    const char *state = look.finished_at    ? "done"
                        : look.started_at   ? "running"
                        : look.requested_at ? "waiting"
                                            : "none";
    json_t *out = call->result = ida_json_keep(c->pool, json_object()),
           *lines = ida_json_load(c->pool, look.lines);
    ida_json_put(out, "state", state);
    ida_json_put_time(out, "requestedAt", look.requested_at);
    ida_json_put_time(out, "startedAt", look.started_at);
    ida_json_put_time(out, "finishedAt", look.finished_at);
    ida_json_put_or_null(out, "worker", look.worker);
    json_object_set_new(out, "lines", lines ? json_incref(lines) : json_array());
    return IDA_OK;
}

const ida_operation ida_op_check_report = {
    .name = "directory.report",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_COMPANY_READ,
    IDA_READS("/directory/check"),
    .params = params,
    .run = report,
    .summary = "Result of the last probe of a directory.",
};
