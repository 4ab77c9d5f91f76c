/* idadminctl task: the queue for administrators. The rules of each change are the store's; here
 * they get their audit record. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/whom.h"
#include "core/operation/task_change.h"
#include "core/store/audit.h"
#include "worker/ctl/ctl.h"

#define PAGE 200

static const ctl_column step_columns[] = {
    {"STEP", "name"}, {"OUTCOME", "outcome"}, {"AT", "at"}, {"DETAIL", "detail"}, {NULL, NULL}};

/* --- reading --- */

static ida_kind page(ctl_call *ctl, store *s, const queue_task_filter *filter, json_t **rows,
                     const char **last, int *count, int64_t *total)
{
    ida_task *tasks;
    ida_kind kind = queue_task_list(s, ctl->c, ctl->arguments[0], filter, &tasks, count, total);
    if (kind) {
        return kind;
    }
    *rows = ida_json_keep(ctl->pool, json_array());
    for (int i = 0; i < *count; i++) {
        json_array_append_new(*rows, ida_task_json(ctl->c, &tasks[i]));
        *last = tasks[i].id;
    }
    return IDA_OK;
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"TASK", "id"},
                                         {"TYPE", "type"},
                                         {"STATE", "state"},
                                         {"USER", "userPrincipalName"},
                                         {"SCHEDULED", "scheduledAt"},
                                         {"TRIES", "attempts"},
                                         {"REASON", "error"},
                                         {NULL, NULL}};
    const char *state = ctl_value(ctl, "state"), *upn = ctl_value(ctl, "user");
    if (state && ida_task_state_parse(state) < 0) {
        return ctl_usage(ctl,
                         "--state must be queued, running, done, failed, attention or cancelled");
    }
    int wanted = (int)ctl_number(ctl, "limit", 50, PAGE);
    if (!wanted) {
        return ctl_usage(ctl, "--limit must be 1 to %d", PAGE);
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    queue_person person;
    ida_user *user;
    queue_task_filter filter = {.state = state,
                                .person = upn ? &person : NULL,
                                .before_id = ctl_value(ctl, "before"),
                                .limit = wanted};
    json_t *rows = NULL;
    const char *last = NULL;
    int count = 0;
    int64_t total = 0;
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind && upn) {
        kind = governance_whom_past(s, ctl->c, ctl->arguments[0], upn, &person, &user);
    }
    if (!kind) {
        kind = page(ctl, s, &filter, &rows, &last, &count, &total);
    }
    int cut = !kind && count == wanted && total > count;
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "There is no such task.");
    }
    if (cut) {
        ctl_cut(ctl, count, total, last);
    }
    return ctl_result(ctl, kind);
}

static ida_kind not_found(ctl_call *ctl, ida_kind kind)
{
    return kind == IDA_NOT_FOUND
               ? ida_fail(ctl->c, kind,
                          "Tenant %s has no task %s; `idadminctl task list %s` names them.",
                          ctl->arguments[0], ctl->arguments[1], ctl->arguments[0])
               : kind;
}

/* "hr-full (HR system)" */
static void requester_for_people(ctl_call *ctl, json_t *document)
{
    const json_t *by = json_object_get(document, "requestedBy");
    const char *name = ida_json_string(by, "username"), *label = ida_json_string(by, "label");
    ida_json_put_or_null(document, "requestedBy",
                         name && label && *label ? ida_printf(ctl->pool, "%s (%s)", name, label)
                                                 : name);
}

static void print_task(ctl_call *ctl, ida_task *task)
{
    static const ctl_column fields[] = {{"Task", "id"},
                                        {"Type", "type"},
                                        {"State", "state"},
                                        {"User", "userPrincipalName"},
                                        {"Scheduled", "scheduledAt"},
                                        {"UTC", "scheduledAtUtc"},
                                        {"Created", "createdAt"},
                                        {"Started", "startedAt"},
                                        {"Finished", "finishedAt"},
                                        {"Tries", "attempts"},
                                        {"Next try", "nextAttemptAt"},
                                        {"Requested by", "requestedBy"},
                                        {"Warnings", "warnings"},
                                        {"Reason", "error"},
                                        {NULL, NULL}};
    json_t *document = ida_json_keep(ctl->pool, ida_task_json(ctl->c, task));
    if (!ctl_json(ctl, document)) {
        requester_for_people(ctl, document);
        ctl_fields(ctl, document, fields);
        ctl_say(ctl, "%s", "");
        ctl_table(ctl, json_object_get(document, "steps"), step_columns, "No steps.");
    }
}

static int show(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_task *task;
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = not_found(ctl,
                         queue_task_get(s, ctl->c, ctl->arguments[0], ctl->arguments[1], 0, &task));
    }
    if (!kind) {
        print_task(ctl, task);
    }
    return ctl_result(ctl, kind);
}

/* --- changing --- */

#define ACCEPT "task.accept" /* audit action */

typedef struct task_work {
    ctl_call *ctl;
    ida_task_change change;
} task_work;

/* The record says what the REST record of the same change says: the person, the task, what was
 * asked. */
static ida_kind change_in(store *s, ida_ctx *c, void *baton)
{
    task_work *work = baton;
    ida_task_change *change = &work->change;
    change->tenant = work->ctl->arguments[0];
    change->by = work->ctl->actor;
    change->person = 1;
    ida_kind kind = ida_task_change_in(s, c, change);
    if (kind) {
        return kind;
    }
    audit_record *record = ctl_audit(work->ctl, change->tenant, ida_task_change_name(change->verb),
                                     change->task->upn);
    json_t *asked = ida_json_keep(c->pool, json_pack("{s:s}", "id", change->id));
    ida_json_put(asked, "date", change->date);
    ida_json_put(asked, "time", change->time);
    record->parameters = ida_json_text(c->pool, asked);
    record->detail = ida_printf(c->pool, "task %s", change->id);
    return store_audit_add(s, c, record);
}

static int change(ctl_call *ctl, ida_task_change wanted)
{
    task_work work = {.ctl = ctl, .change = wanted};
    work.change.id = ctl->arguments[1];
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    work.change.tenant = ctl->arguments[0];
    kind = kind ? kind : ida_task_change_look(s, ctl->c, &work.change);
    if (!kind) {
        kind = not_found(ctl, store_transaction(s, ctl->c, change_in, &work));
    }
    if (!kind) {
        print_task(ctl, work.change.task);
        ctl_say(ctl, "%s", "");
        ctl_say(ctl, "%s", work.change.message);
    }
    return ctl_result(ctl, kind);
}

static int cancel(ctl_call *ctl)
{
    return change(ctl, (ida_task_change){.verb = IDA_TASK_CANCEL});
}

static int retry(ctl_call *ctl)
{
    return change(ctl, (ida_task_change){.verb = IDA_TASK_RETRY});
}

static int reschedule(ctl_call *ctl)
{
    return change(ctl, (ida_task_change){.verb = IDA_TASK_RESCHEDULE,
                                         .date = ctl->arguments[2],
                                         .time = ctl->arguments[3]});
}

/* Every task the brake holds, a transaction each; others in `attention` are refused by the store
 * and stay. */
static int release_all(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *released = ida_json_keep(ctl->pool, json_array());
    const char *last = NULL;
    int count = PAGE;
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    while (!kind && count == PAGE) {
        queue_task_filter filter = {.state = ida_task_state_text(IDA_ATTENTION),
                                    .before_id = last,
                                    .limit = PAGE};
        ida_task *tasks;
        int64_t total;
        kind = queue_task_list(s, ctl->c, ctl->arguments[0], &filter, &tasks, &count, &total);
        for (int i = 0; !kind && i < count; i++) {
            task_work work = {.ctl = ctl, .change = {.verb = IDA_TASK_RELEASE, .id = tasks[i].id}};
            kind = store_transaction(s, ctl->c, change_in, &work);
            if (!kind) {
                json_array_append_new(released, json_string(tasks[i].id));
            } else if (kind == IDA_CONFLICT || kind == IDA_NOT_FOUND) {
                ida_ctx_clear(ctl->c);
                kind = IDA_OK;
            }
            last = tasks[i].id;
        }
    }
    if (!kind) {
        json_t *document = ida_json_keep(ctl->pool, json_pack("{s:O}", "released", released));
        if (!ctl_json(ctl, document)) {
            ctl_say(ctl, "%zu held tasks were released.", json_array_size(released));
        }
    }
    return ctl_result(ctl, kind);
}

static int release(ctl_call *ctl)
{
    int all = ctl_value(ctl, "all-braked") != NULL;
    if (all == (ctl->argument_count == 2)) {
        return ctl_usage(ctl, "either TASK or --all-braked is wanted");
    }
    return all ? release_all(ctl) : change(ctl, (ida_task_change){.verb = IDA_TASK_RELEASE});
}

const ctl_command ctl_task_commands[] = {
    {"task",
     "list",
     "ID",
     1,
     1,
     "List a tenant's tasks, newest first.",
     NULL,
     {{"state", "STATE", "queued, running, done, failed, attention or cancelled"},
      {"user", "UPN", "tasks of one person"},
      {"limit", "N", "1 to 200, default 50"},
      {"before", "TASK", "go on after this task of an earlier list"},
      {NULL, NULL, NULL}},
     list},
    {"task",
     "show",
     "ID TASK",
     2,
     2,
     "Show a task with the outcome of each step.",
     NULL,
     {{NULL, NULL, NULL}},
     show},
    {"task",
     "cancel",
     "ID TASK",
     2,
     2,
     "Cancel a task that is queued, failed or needs attention.",
     "Seat and names go free unless the account was made or may have been.",
     {{NULL, NULL, NULL}},
     cancel},
    {"task",
     "retry",
     "ID TASK",
     2,
     2,
     "Queue a failed task, or one that needs attention, again at once.",
     NULL,
     {{NULL, NULL, NULL}},
     retry},
    {"task",
     "release",
     "ID [TASK]",
     1,
     2,
     "Release an offboarding, or an update that disables an account, that the brake holds.",
     NULL,
     {{"all-braked", NULL, "every task of the tenant that the brake holds"}, {NULL, NULL, NULL}},
     release},
    {"task",
     "reschedule",
     "ID TASK DATE TIME",
     4,
     4,
     "Give a queued task another date and time of the tenant's zone (YYYY-MM-DD HH:mm).",
     NULL,
     {{NULL, NULL, NULL}},
     reschedule},
    {0},
};
