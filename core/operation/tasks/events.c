/* Owns the list of events for callers that poll instead of receiving webhooks. Its cursor
 * differs from a page's: it always leads on to later events. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/cursor.h"
#include "core/base/json.h"
#include "core/operation/page.h"
#include "core/operation/table.h"
#include "core/queue/event.h"

static const char *binding(const ida_call *call)
{
    return apr_pstrcat(call->c->pool, call->asked->tenant->id, "\n", call->asked->operation->name,
                       NULL);
}

/* What is wrong with a cursor, and how to continue: a caller that begins at the oldest event
 * loses nothing, because it recognises repeated events by their IDs. */
static ida_kind refuse(ida_ctx *c, const char *what)
{
    ida_ctx_clear(c);
    return ida_fail(c, IDA_BAD_REQUEST,
                    "after: %s. Call without after for the oldest events that are kept, and skip "
                    "those whose id you know.",
                    what);
}

/* The number in the cursor `after`; 0 without one. */
static ida_kind read_cursor(ida_call *call, store *s, ida_ctx *c, int64_t *after)
{
    const char *cursor = ida_json_string(call->arguments, "after");
    unsigned char key[IDA_CURSOR_KEY_LEN];
    char *text;
    *after = 0;
    if (!cursor) {
        return IDA_OK;
    }
    ida_kind kind = store_cursor_key(s, c, key);
    kind = kind ? kind : ida_cursor_open(c, key, binding(call), cursor, &text);
    if (kind == IDA_BAD_REQUEST) {
        return refuse(c, "is not a nextCursor of this list");
    }
    *after = kind ? 0 : apr_atoi64(text);
    return kind;
}

/* Whether the list continues after `after`. It does not if events after it were removed, or if
 * the store was restored from a backup without them. */
static ida_kind check_cursor(ida_ctx *c, int64_t after, int64_t first, int64_t last)
{
    return after + 1 < first
               ? refuse(
                     c,
                     "is too old: events after it are no longer kept (retention.taskHistoryDays)")
           : after > last ? refuse(c, "refers to events that this store does not have (it was "
                                      "restored from a backup)")
                          : IDA_OK;
}

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const char *tenant = call->asked->tenant->id;
    const queue_event *rows;
    unsigned char key[IDA_CURSOR_KEY_LEN];
    int64_t after, first, last;
    int count = 0;
    ida_kind kind = read_cursor(call, s, c, &after);
    kind = kind ? kind : queue_event_bounds(s, c, tenant, &first, &last);
    if (kind) {
        return kind;
    }
    after = json_object_get(call->arguments, "after") ? after : first - 1;
    kind = check_cursor(c, after, first, last);
    kind = kind ? kind : queue_event_list(s, c, tenant, after, ida_page_limit(call), &rows, &count);
    kind = kind ? kind : store_cursor_key(s, c, key);
    if (kind) {
        return kind;
    }
    json_t *items = json_array();
    for (int i = 0; i < count; i++) {
        /* No task that is done ceases to be: its own row denies what was put in by hand. */
        if (strcmp(rows[i].type, "task.done") != 0 || strcmp(rows[i].task_state, "done") == 0) {
            json_array_append_new(items, queue_event_json(c, tenant, &rows[i]));
        }
        after = rows[i].seq;
    }
    call->result = ida_json_keep(c->pool, json_object());
    json_object_set_new(call->result, "items", items);
    ida_json_put(call->result, "nextCursor",
                 ida_cursor_make(c->pool, key, binding(call),
                                 ida_printf(c->pool, "%lld", (long long)after)));
    ida_json_put_time(call->result, "asOf", ida_now(c->env));
    return IDA_OK;
}

static const ida_param params[] = {
    {"after", IDA_PARAM_STRING,
     .about = "nextCursor of the previous answer; none: the oldest kept."},
    {"limit", IDA_PARAM_INTEGER, .min = 1, .max = IDA_PAGE_MAX,
     .about = "Most events of one answer; default 50."},
    {0},
};

static const char *const types[] = {"task.done", "task.failed", "task.attention", NULL};
static const char *const states[] = {"done", "failed", "attention", NULL};

static const ida_field requester[] = {OUT_TEXT("username", ALWAYS | OR_NULL),
                                      OUT_TEXT("label", ALWAYS | OR_NULL), OUT_END};
static const ida_field task[] = {OUT_TEXT("id", ALWAYS),
                                 OUT_TEXT("type", ALWAYS),
                                 OUT_WORD("state", ALWAYS, states),
                                 OUT_TEXT("userId", ALWAYS | OR_NULL),
                                 OUT_TEXT("userPrincipalName", ALWAYS),
                                 OUT_TEXT("displayName", ALWAYS | OR_NULL),
                                 OUT_TEXT("directory", ALWAYS),
                                 OUT_TEXT("scheduledAt", ALWAYS),
                                 OUT_OBJECT("requestedBy", ALWAYS, requester),
                                 OUT_TEXT("error", ALWAYS | OR_NULL),
                                 OUT_END};
static const ida_field event[] = {OUT_TEXT("id", ALWAYS),           OUT_WORD("type", ALWAYS, types),
                                  OUT_TIME("at", ALWAYS | OR_NULL), OUT_TEXT("companyId", ALWAYS),
                                  OUT_OBJECT("task", ALWAYS, task), OUT_END};
static const ida_field result[] = {OUT_LIST("items", ALWAYS, event), OUT_TEXT("nextCursor", ALWAYS),
                                   OUT_TIME("asOf", ALWAYS | OR_NULL), OUT_END};

const ida_operation ida_op_events = {
    .name = "event.list",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_TASKS_READ,
    IDA_READS("/events"),
    .commands = IDA_COMMANDS({"event", "list", .any_document = 1, .columns = "at type task id",
                              .summary = "List the outcomes of tasks, oldest first."}),
    .params = params,
    .work = list,
    .summary = "Outcomes of tasks, in order; nextCursor leads on to later ones.",
    .output = result,
    .schema = "EventList",
};
