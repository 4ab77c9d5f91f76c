/* Owns what a creation does when its employeeId is that of somebody who leaves or has left: refused, restored or new, never guessed,
 * and never by name (design 4, 5 "rehire"). */
#include <apr_strings.h>
#include <string.h>

#include "core/audit.h"
#include "core/json.h"
#include "core/op.h"
#include "core/payload.h"
#include "core/schedule.h"
#include "core/store_audit.h"
#include "core/store_task_rehire.h"
#include "core/text.h"

/* "the offboarding of eva.berg@... (task ...)", "the disabled account eva.berg@..." */
static const char *called(apr_pool_t *pool, const store_former *f)
{
    return f->offboarding ? apr_pstrcat(pool, "the queued offboarding of ", f->user->upn, " (task ", f->offboarding->id, ")", NULL)
                          : apr_pstrcat(pool, "the disabled account ", f->user->upn, NULL);
}

static int has_left(const store_former *f)
{
    return f->offboarding || !f->user->enabled;
}

static ida_kind undecided(ida_ctx *c, const char *employee_id, const store_former *f, int count)
{
    const char *named = NULL;
    for (int i = 0; i < count; i++) {
        if (has_left(&f[i])) {
            named = named ? apr_pstrcat(c->pool, named, " and ", called(c->pool, &f[i]), NULL) : called(c->pool, &f[i]);
        }
    }
    return ida_fail(c, IDA_CONFLICT,
                    "The employeeId %s is that of %s. Send \"rehire\":\"restore\" to bring the same account back, or "
                    "\"rehire\":\"new\" to create another one.",
                    ida_clean(c->pool, employee_id, strlen(employee_id), 64), named);
}

/* --- restore --- */

/* Array of {id, name, directory} for the task; `answer` tells of those and of what cannot come back. */
static ida_kind offer_memberships(ida_call *call, store *s, ida_ctx *c, const ida_task *like, ida_update *update, json_t *answer)
{
    store_membership *rows;
    int count;
    ida_kind kind = like->object_id ? store_rehire_memberships(s, c, like->tenant, like->directory, like->object_id, &rows, &count)
                                    : (count = 0, IDA_OK);
    json_t *back = ida_json_keep(c->pool, json_array()), *lost = ida_json_keep(c->pool, json_array());
    for (int i = 0; !kind && i < count; i++) {
        if (!rows[i].retained && !call->tenant->has_directory[rows[i].directory]) {
            const char *text = apr_psprintf(c->pool,
                                            "The membership of %s is not given back: the tenant has no %s directory any more.",
                                            rows[i].group_name, ida_directory_name(rows[i].directory));
            json_array_append_new(update->warnings, json_string(text));
            continue;
        }
        json_t *one = json_object();
        ida_json_put(one, "id", rows[i].group_id);
        ida_json_put(one, "name", rows[i].group_name);
        ida_json_put(one, "directory", ida_directory_name(rows[i].directory));
        ida_json_put(one, "reason", rows[i].retained);
        json_array_append_new(rows[i].retained ? lost : back, one);
    }
    json_object_set(answer, "memberships", back);
    json_object_set(answer, "notRevokedThen", lost);
    update->memberships = back;
    return kind;
}

/* With a record of its own: whoever asks why the offboarding did not happen finds it. */
static ida_kind cancel_offboarding(ida_call *call, store *s, ida_ctx *c, const ida_task *leaving)
{
    ida_kind kind = store_task_cancel(s, c, leaving->tenant, leaving->id);
    ida_audit *record = ida_audit_make(c, leaving->tenant, "api");
    record->actor = call->principal->username;
    record->label = call->principal->label;
    record->action = "task.cancel";
    record->target = leaving->upn;
    record->endpoint = call->endpoint;
    record->outcome = "ok";
    record->detail = apr_pstrcat(c->pool, "task ", leaving->id, ": the person is rehired", NULL);
    return kind ? kind : store_audit_add(s, c, record);
}

static void answer(ida_call *call, ida_ctx *c, const ida_task *task, const store_former *f, const ida_due *due, json_t *warnings,
                   json_t *rehire)
{
    const char *what = f->offboarding ? "the queued offboarding is cancelled" : "the account that was offboarded comes back";
    const char *when = due->past || !due->given
                           ? "now"
                           : apr_pstrcat(c->pool, "at ", ida_schedule_people(c, task->zone, task->due_at), NULL);
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put(call->result, "message", apr_psprintf(c->pool, "%s is rehired: %s; the update of the account is carried out %s.",
                                                       task->upn, what, when));
    ida_json_put_or_null(call->result, "mail", task->mail);
    json_object_set(call->result, "rehire", rehire);
    ida_op_queued(call, c, task, warnings);
}

static ida_kind restore(ida_call *call, store *s, ida_ctx *c, const ida_create *person, const store_former *f, const ida_due *due,
                        json_t *warnings)
{
    ida_update update;
    ida_task *task;
    json_t *rehire = ida_json_keep(c->pool, json_object());
    ida_update_of_create(c->pool, person, f->user->upn, &update);
    update.warnings = warnings;
    ida_json_put(rehire, "restored", f->offboarding ? "queuedOffboarding" : "disabledAccount");
    ida_kind kind = IDA_OK;
    if (f->offboarding) {
        if (f->offboarding->state == IDA_RUNNING) {
            return ida_fail(c, IDA_CONFLICT, "The offboarding of %s is being carried out now (task %s). Try again when it is done.",
                            f->user->upn, f->offboarding->id);
        }
        ida_json_put(rehire, "cancelledTaskId", f->offboarding->id);
        kind = cancel_offboarding(call, s, c, f->offboarding);
    }
    if (!kind && !f->user->enabled) {
        kind = offer_memberships(call, s, c, ida_op_task_of(call, c, IDA_USER_UPDATE, f->user), &update, rehire);
        update.manager_before = f->user->manager_id;
    }
    if (!kind && f->user->enabled && update.enabled == 1) {
        update.enabled = -1; /* it is, and an account that never left needs no seat */
    }
    kind = kind ? kind : ida_op_queue_update(call, s, c, f->user, &update, due, &task);
    if (!kind) {
        answer(call, c, task, f, due, warnings, rehire);
    }
    return kind;
}

ida_kind ida_op_rehire(ida_call *call, store *s, ida_ctx *c, const ida_create *person, const ida_due *due, json_t *warnings,
                       int *restored)
{
    int wants_restore = person->rehire && strcmp(person->rehire, "restore") == 0, count, left = 0;
    store_former *f, *one = NULL;
    ida_kind kind = store_rehire_people(s, c, call->principal->company, person->employee_id, &f, &count);
    *restored = 0;
    for (int i = 0; !kind && i < count; i++) {
        if (has_left(&f[i])) {
            left++;
            one = &f[i];
        } else {
            json_array_append_new(warnings, json_string(apr_psprintf(c->pool, "The employeeId is also that of the enabled user %s.",
                                                                     f[i].user->upn)));
        }
    }
    if (kind || (!left && !wants_restore) || (left && person->rehire && !wants_restore)) {
        return kind;
    }
    if (left && !wants_restore) {
        return undecided(c, person->employee_id, f, count);
    }
    if (left != 1) {
        return left ? ida_fail(c, IDA_CONFLICT,
                               "There is more than one to restore: the employeeId belongs to %s and others. Restore the right one with "
                               "PATCH /v1/api/user, or send \"rehire\":\"new\".",
                               called(c->pool, one))
                    : ida_fail(c, IDA_CONFLICT,
                               "There is nothing to restore: no queued offboarding and no disabled account has this employeeId. Leave "
                               "\"rehire\" out, or send \"new\", to create an account.");
    }
    *restored = 1;
    return restore(call, s, c, person, one, due, warnings);
}
