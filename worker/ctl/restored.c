/* Owns the comparison of a restored store with the one that it replaced, and the hold on tasks that
 * would run again. Must not know files. */
#include "worker/ctl/restored.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/queue/change.h"
#include "core/queue/event.h"
#include "core/queue/restored.h"
#include "core/store/audit.h"
#include "core/store/save.h"
#include "core/store/tenant.h"

/* Clocks of nodes differ a little: what is older than the backup is found in it all the same. */
#define MARGIN_MS 60000

typedef struct later {
    const char *tenant;
    queue_later task;
} later;

static const char *key_of(apr_pool_t *pool, const char *tenant, const char *task)
{
    return apr_pstrcat(pool, tenant, " ", task, NULL);
}

static ida_kind read_later(restored_state *state, store *s, const char *tenant)
{
    apr_pool_t *pool = state->ctl->pool;
    const queue_later *rows;
    int count = 0;
    ida_kind kind = queue_later_than(s, state->ctl->c, tenant, state->at - MARGIN_MS, &rows,
                                     &count);
    for (int i = 0; !kind && i < count; i++) {
        later *one = apr_palloc(pool, sizeof *one);
        *one = (later){tenant, rows[i]};
        apr_hash_set(state->later, key_of(pool, tenant, rows[i].id), APR_HASH_KEY_STRING, one);
    }
    return kind;
}

static void add_gone(restored_state *state, const later *one)
{
    json_t *row = ida_json_texts("companyId", one->tenant, "taskId", one->task.id, "type",
                                 one->task.type, "userPrincipalName", one->task.upn, "state",
                                 one->task.state, NULL);
    ida_json_put_time(row, "acceptedAt", one->task.created_at);
    json_array_append_new(state->gone, row);
}

ida_kind restored_before(restored_state *state)
{
    ctl_call *ctl = state->ctl;
    const store_tenant_id *ids;
    int count = 0;
    state->later = apr_hash_make(ctl->pool);
    state->gone = ida_json_keep(ctl->pool, json_array());
    state->held = ida_json_keep(ctl->pool, json_array());
    state->companies = ida_json_keep(ctl->pool, json_array());
    state->known = store_opens(ctl->config.store, ctl->c);
    if (!state->known) {
        return IDA_OK;
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = store_tenant_ids(s, ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = read_later(state, s, ids[i].id);
    }
    store_disconnect(s);
    /* Until the restored store is there to ask: by the time of acceptance. */
    for (apr_hash_index_t *at = apr_hash_first(ctl->pool, state->later); at;
         at = apr_hash_next(at)) {
        const later *one = apr_hash_this_val(at);
        if (one->task.created_at > state->at) {
            add_gone(state, one);
        }
    }
    return kind;
}

/* --- afterwards --- */

typedef struct hold_work {
    restored_state *state;
    const char *tenant, *over, *why; /* over: the task that is known to have ended, or NULL */
    int count;
} hold_work;

static ida_kind hold_in(store *s, ida_ctx *c, void *baton)
{
    hold_work *work = baton;
    ctl_call *ctl = work->state->ctl;
    ida_task **tasks;
    ida_kind kind = queue_hold_restored(s, c, work->tenant, work->over, ida_now(c->env), work->why,
                                        &tasks, &work->count);
    json_t *rows = json_array();
    for (int i = 0; !kind && i < work->count; i++) {
        const ida_task *task = tasks[i];
        const later *one = apr_hash_get(work->state->later, key_of(c->pool, work->tenant, task->id),
                                        APR_HASH_KEY_STRING);
        audit_record *record = ctl_audit(ctl, work->tenant, "task.attention", task->upn);
        record->parameters = ida_printf(c->pool, "{\"taskId\":\"%s\"}", task->id);
        record->detail = work->why;
        kind = store_audit_add(s, c, record);
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?}", "companyId",
                                              work->tenant, "taskId", task->id, "type",
                                              ida_task_type_text(task->type), "userPrincipalName",
                                              task->upn, "was", ida_task_state_text(task->state),
                                              "since", one ? one->task.state : NULL));
    }
    if (!kind) {
        json_array_extend(work->state->held, rows);
    }
    json_decref(rows);
    return kind;
}

/* What the replaced store knows as over would undo what came after it. */
static ida_kind hold_over(restored_state *state, store *s, const later *one, const ida_task *task)
{
    int done = strcmp(one->task.state, ida_task_state_text(IDA_DONE)) == 0;
    int open = task->state == IDA_QUEUED || task->state == IDA_RUNNING ||
               task->state == IDA_ATTENTION;
    if (!open || (!done && strcmp(one->task.state, ida_task_state_text(IDA_CANCELLED)) != 0)) {
        return IDA_OK;
    }
    hold_work hold = {state, one->tenant, task->id,
                      ida_printf(state->ctl->pool,
                                 "Held after a restore: the store that was replaced knows it as "
                                 "%s. Look at the directory, then end it (`idadminctl task %s`); "
                                 "`task retry` carries it out again.",
                                 one->task.state, done ? "settle" : "cancel"),
                      0};
    return store_transaction(s, state->ctl->c, hold_in, &hold);
}

/* Those that the restored store does not have; those that are over are held. */
static ida_kind find_gone(restored_state *state, store *s)
{
    ida_kind kind = IDA_OK;
    json_array_clear(state->gone);
    for (apr_hash_index_t *at = apr_hash_first(state->ctl->pool, state->later); !kind && at;
         at = apr_hash_next(at)) {
        const later *one = apr_hash_this_val(at);
        ida_ctx *c = ida_ctx_make(state->ctl->c->env, state->ctl->pool);
        ida_task *task;
        kind = queue_task_get(s, c, one->tenant, one->task.id, 0, &task);
        kind = kind ? kind : hold_over(state, s, one, task);
        if (kind == IDA_NOT_FOUND) {
            add_gone(state, one);
            kind = IDA_OK;
        }
    }
    return kind;
}

typedef struct end_work {
    restored_state *state;
    const char *tenant, *from;
} end_work;

static ida_kind record_in(store *s, ida_ctx *c, void *baton)
{
    const end_work *work = baton;
    audit_record *record = ctl_audit(work->state->ctl, work->tenant, "store.restore", work->tenant);
    record->detail = ida_printf(c->pool, "from %s, the backup of %s", work->from,
                                ida_utc_text(c->pool, work->state->at));
    return store_audit_add(s, c, record);
}

static ida_kind end_one(restored_state *state, store *s, const store_tenant_id *id,
                        const char *from)
{
    ida_ctx *c = state->ctl->c;
    hold_work hold = {state, id->id, NULL,
                      ida_printf(c->pool,
                                 "Held after a restore: the backup of %s may not show that it was "
                                 "carried out since. Look at the directory, then release it "
                                 "(`idadminctl task release`) or cancel it.",
                                 ida_utc_text(c->pool, state->at)),
                      1};
    end_work end = {state, id->id, from};
    int64_t first, last = 0;
    size_t held = 0, at;
    const json_t *row;
    ida_kind kind = IDA_OK;
    while (!kind && hold.count) {
        kind = store_transaction(s, c, hold_in, &hold);
    }
    kind = kind ? kind : store_transaction(s, c, record_in, &end);
    kind = kind ? kind : queue_event_bounds(s, c, id->id, &first, &last);
    json_array_foreach (state->held, at, row) {
        held += strcmp(ida_json_string(row, "companyId"), id->id) == 0;
    }
    if (!kind) {
        json_array_append_new(state->companies,
                              json_pack("{s:s, s:I, s:I}", "companyId", id->id, "held",
                                        (json_int_t)held, "lastEvent", (json_int_t)last));
    }
    return kind;
}

ida_kind restored_after(restored_state *state, const char *from)
{
    ctl_call *ctl = state->ctl;
    const store_tenant_id *ids;
    int count = 0;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_note_revisions(ctl);
    kind = kind ? kind : find_gone(state, s);
    kind = kind ? kind : store_tenant_ids(s, ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = end_one(state, s, &ids[i], from);
    }
    return kind;
}

/* --- report --- */

void restored_report(const restored_state *state, json_t *document)
{
    json_object_set_new(document, "replacedStoreRead", json_boolean(state->known));
    json_object_set(document, "gone", state->gone);
    json_object_set(document, "held", state->held);
    json_object_set(document, "companies", state->companies);
}

void restored_say(const restored_state *state, int dry)
{
    static const ctl_column gone[] = {{"COMPANY ID", "companyId"},
                                      {"TASK", "taskId"},
                                      {"TYPE", "type"},
                                      {"USER", "userPrincipalName"},
                                      {"STATE", "state"},
                                      {"ACCEPTED", "acceptedAt"},
                                      {NULL, NULL}};
    static const ctl_column held[] = {{"COMPANY ID", "companyId"},
                                      {"TASK", "taskId"},
                                      {"TYPE", "type"},
                                      {"USER", "userPrincipalName"},
                                      {"WAS", "was"},
                                      {"SINCE", "since"},
                                      {NULL, NULL}};
    static const ctl_column companies[] = {
        {"COMPANY ID", "companyId"}, {"HELD", "held"}, {"LAST EVENT", "lastEvent"}, {NULL, NULL}};
    ctl_call *ctl = state->ctl;
    if (!state->known) {
        ctl_say(ctl,
                "\nThe store that was there cannot be read: what was accepted after %s is not "
                "known here. Ask the systems that sent it to send again what they sent since.",
                ida_utc_text(ctl->pool, state->at));
    } else if (json_array_size(state->gone)) {
        ctl_say(ctl, "\nAccepted since, and %s: let them be asked for again.",
                dry ? "not in the backup" : "gone");
        ctl_table(ctl, state->gone, gone, "");
    } else {
        ctl_say(ctl, "\nNothing was accepted since.");
    }
    if (dry) {
        return;
    }
    if (json_array_size(state->held)) {
        ctl_say(ctl, "\nHeld, because they may have been carried out since (SINCE: their state in "
                     "the store that was replaced):");
        ctl_table(ctl, state->held, held, "");
    }
    ctl_say(ctl, "\nReaders of events that have seen a higher number begin again at the last one:");
    ctl_table(ctl, state->companies, companies, "There is no company.");
    ctl_say(ctl, "Start idadmin-worker, then httpd.");
}
