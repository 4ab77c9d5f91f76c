/* idadminctl notification: lists webhooks, their undelivered events, and delivers these again. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/queue/delivery.h"
#include "core/store/audit.h"
#include "worker/ctl/ctl.h"

#define PAGE 200

/* ",task.done,task.failed," as a list. */
static json_t *events_json(const char *text)
{
    json_t *list = json_array();
    while (*text) {
        size_t len = strcspn(text, ",");
        if (len) {
            json_array_append_new(list, json_stringn(text, len));
        }
        text += len + (text[len] == ',');
    }
    return list;
}

static int receivers(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"RECEIVER", "url"},
                                         {"EVENTS", "events"},
                                         {"WAITING", "waiting"},
                                         {"GIVEN UP", "givenUp"},
                                         {"FAILED IN A ROW", "failures"},
                                         {"NEXT CALL", "nextAt"},
                                         {NULL, NULL}};
    store *s = ctl_store(ctl, DB_REQUEST);
    const queue_receiver_state *found;
    int count = 0;
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    kind = kind ? kind : queue_receiver_list(s, ctl->c, ctl->arguments[0], &found, &count);
    for (int i = 0; i < count; i++) {
        const queue_receiver_state *r = &found[i];
        if (!*r->events && !r->waiting && !r->given_up) {
            continue; /* no longer in the document, and nothing is left to deliver */
        }
        json_t *row = json_object();
        ida_json_put(row, "url", r->url);
        json_object_set_new(row, "events", events_json(r->events));
        json_object_set_new(row, "waiting", json_integer(r->waiting));
        json_object_set_new(row, "givenUp", json_integer(r->given_up));
        json_object_set_new(row, "failures", json_integer(r->failures));
        ida_json_put_time(row, "nextAt", r->failures ? r->next_at : 0);
        json_array_append_new(rows, row);
    }
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "There are no receivers of events.");
    }
    return ctl_result(ctl, kind);
}

static json_t *undelivered_json(const queue_undelivered *d)
{
    json_t *row = json_object();
    ida_json_put(row, "id", d->id);
    ida_json_put(row, "type", d->type);
    ida_json_put_time(row, "at", d->at);
    ida_json_put(row, "taskId", d->task_id);
    ida_json_put(row, "userPrincipalName", d->upn);
    ida_json_put(row, "url", d->url);
    ida_json_put(row, "state", d->given_up_at ? "given up" : "waiting");
    json_object_set_new(row, "tries", json_integer(d->tries));
    ida_json_put_time(row, "nextAt", d->given_up_at ? 0 : d->next_at);
    ida_json_put_time(row, "givenUpAt", d->given_up_at);
    ida_json_put_or_null(row, "error", d->error);
    return row;
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"EVENT", "id"},     {"TYPE", "type"},
                                         {"AT", "at"},        {"USER", "userPrincipalName"},
                                         {"RECEIVER", "url"}, {"STATE", "state"},
                                         {"TRIES", "tries"},  {"NEXT TRY", "nextAt"},
                                         {"REASON", "error"}, {NULL, NULL}};
    int most = (int)ctl_number(ctl, "limit", 50, PAGE), count = 0;
    if (!most) {
        return ctl_usage(ctl, "--limit must be 1 to %d", PAGE);
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    const queue_undelivered *found;
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    kind = kind ? kind
                : queue_undelivered_list(s, ctl->c, ctl->arguments[0],
                                         ctl_value(ctl, "given-up") != NULL, most, &found, &count);
    for (int i = 0; i < count; i++) {
        json_array_append_new(rows, undelivered_json(&found[i]));
    }
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "Every event was taken.");
    }
    return ctl_result(ctl, kind);
}

typedef struct retry_work {
    ctl_call *ctl;
    int64_t count;
} retry_work;

static ida_kind retry_in(store *s, ida_ctx *c, void *baton)
{
    retry_work *work = baton;
    const char *tenant = work->ctl->arguments[0], *event = work->ctl->arguments[1];
    ida_kind kind = queue_undelivered_retry(s, c, tenant, event, &work->count);
    if (kind) {
        return kind;
    }
    if (event && !work->count) {
        return ida_fail(c, IDA_NOT_FOUND,
                        "No receiver of tenant %s waits for an event %s; `idadminctl notification "
                        "list %s` names those that were not taken.",
                        tenant, event, tenant);
    }
    audit_record *record = ctl_audit(work->ctl, tenant, "notification.retry", event);
    record->detail = ida_count(c->pool, work->count, "delivery", "deliveries");
    return store_audit_add(s, c, record);
}

static int retry(ctl_call *ctl)
{
    retry_work work = {.ctl = ctl};
    if ((ctl_value(ctl, "all") != NULL) == (ctl->argument_count == 2)) {
        return ctl_usage(ctl, "either EVENT or --all is required");
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    kind = kind ? kind : store_transaction(s, ctl->c, retry_in, &work);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:I}", "queued", (json_int_t)work.count),
                             "%s retried at once.",
                             ida_count(ctl->pool, work.count, "delivery is", "deliveries are"));
}

const ctl_command ctl_notification_commands[] = {
    {"notification", "receivers", "ID",
     "List the receivers of a tenant's events, and how the calls to them go.", .run = receivers},
    {"notification", "list", "ID",
     "List the events that a receiver has not accepted yet, oldest first.",
     .options = {{"given-up", NULL, "only those that are not retried automatically"},
                 {"limit", "N", "1 to 200, default 50"}},
     .run = list},
    {"notification", "retry", "ID [EVENT]",
     "Send an event again that was not accepted, also one that was given up.",
     .help = "At once and with all retries; later events of the person may have arrived before it.",
     .options = {{"all", NULL, "every event of the tenant that was not accepted"}}, .run = retry},
    {0},
};
