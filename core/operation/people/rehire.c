/* Owns what a creation does if its employeeId belongs to a person who is leaving, has left, is
 * active or is queued for creation: refused, restored or new, as the request says, never
 * guessed, and never by name. */
#include "core/operation/people/rehire.h"

#include <apr_strings.h>
#include <string.h>

#include "core/audit/audit.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/whom.h"
#include "core/model/payload.h"
#include "core/operation/people/update.h"
#include "core/operation/tasks/queued.h"
#include "core/queue/rehire.h"
#include "core/store/audit.h"
#include "core/zone/schedule.h"

/* A person who has the number already. */
typedef struct former {
    ida_user *user;
    ida_task *offboarding; /* queued, running or held by the brake; NULL: none */
} former;

static int has_left(const former *f)
{
    return f->offboarding || !f->user->enabled;
}

/* The holders of the number: people in the cache, of whom `left` are leaving or have left, and
 * open creations. */
typedef struct holders {
    former *people;
    queue_coming *coming;
    int people_count, coming_count, left;
    const former *one_left;
    const char *named; /* all of them, as a text for messages */
} holders;

/* "the queued offboarding of eva.berg@... (task ...)", "the disabled account eva.berg@..." */
static void name(apr_pool_t *pool, holders *h, const char *what, const char *upn, const char *task)
{
    h->named = apr_pstrcat(pool, h->named ? h->named : "", h->named ? " and " : "", what, upn,
                           task ? " (task " : "", task ? task : "", task ? ")" : "", NULL);
}

static ida_kind find_people(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                            holders *h)
{
    ida_user **users;
    ida_kind kind = cache_users_of_employee(s, c, tenant, employee_id, &users, &h->people_count);
    h->people = apr_pcalloc(c->pool, sizeof *h->people * (apr_size_t)(h->people_count + 1));
    for (int i = 0; !kind && i < h->people_count; i++) {
        h->people[i].user = users[i];
        const queue_person person = governance_person(c->pool, users[i]);
        kind = queue_task_open(s, c, tenant, &person, IDA_USER_DELETE, &h->people[i].offboarding);
        if (kind == IDA_NOT_FOUND) {
            h->people[i].offboarding = NULL;
            ida_ctx_clear(c);
            kind = IDA_OK;
        }
    }
    return kind;
}

static ida_kind find_holders(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                             holders *h)
{
    *h = (holders){0};
    ida_kind kind = find_people(s, c, tenant, employee_id, h);
    kind = kind ? kind
                : queue_rehire_coming(s, c, tenant, employee_id, &h->coming, &h->coming_count);
    for (int i = 0; !kind && i < h->people_count; i++) {
        const former *f = &h->people[i];
        if (has_left(f)) {
            h->left++;
            h->one_left = f;
        }
        name(c->pool, h,
             f->offboarding     ? "the queued offboarding of "
             : f->user->enabled ? "the enabled account "
                                : "the disabled account ",
             f->user->upn, f->offboarding ? f->offboarding->id : NULL);
    }
    for (int i = 0; !kind && i < h->coming_count; i++) {
        name(c->pool, h, "the queued creation of ", h->coming[i].upn, h->coming[i].task_id);
    }
    return kind;
}

static void add_person(json_t *people, const char *upn, const char *state, const char *task_id)
{
    json_array_append_new(people, ida_json_texts("userPrincipalName", upn, "state", state, "taskId",
                                                 task_id, NULL));
}

/* The same as a list: leaving (an offboarding is queued), enabled, disabled, coming (a creation
 * is queued). New reference. */
static json_t *people_json(const holders *h)
{
    json_t *people = json_array();
    for (int i = 0; i < h->people_count; i++) {
        const former *f = &h->people[i];
        add_person(people, f->user->upn,
                   f->offboarding     ? "leaving"
                   : f->user->enabled ? "enabled"
                                      : "disabled",
                   f->offboarding ? f->offboarding->id : NULL);
    }
    for (int i = 0; i < h->coming_count; i++) {
        add_person(people, h->coming[i].upn, "coming", h->coming[i].task_id);
    }
    return people;
}

ida_kind ida_op_same_employee(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                              json_t **people)
{
    holders h;
    ida_kind kind = find_holders(s, c, tenant, employee_id, &h);
    *people = kind ? NULL : people_json(&h);
    return kind;
}

/* The message to a creation that did not request a new account. */
static ida_kind refuse_in_words(ida_ctx *c, const char *employee_id, int wants_restore,
                                const holders *h)
{
    static const char new_one[] = "Send \"rehire\":\"new\" to create another account all the same.";
    const char *id = ida_clean(c->pool, employee_id, strlen(employee_id), 64);
    int all_left = h->left == h->people_count && !h->coming_count;
    if (!h->left && wants_restore) {
        return ida_fail(
            c, IDA_CONFLICT,
            "There is nothing to restore: no queued offboarding and no disabled account has the "
            "employeeId %s%s%s. Leave \"rehire\" out, or send \"new\", to create an account.",
            id, h->named ? ", which is that of " : "", h->named ? h->named : "");
    }
    if (!wants_restore) {
        return ida_fail(c, IDA_CONFLICT, "The employeeId %s is that of %s. %s%s", id, h->named,
                        all_left ? "Send \"rehire\":\"restore\" to bring the same account back, or "
                                   "\"rehire\":\"new\" to create another one."
                                 : new_one,
                        h->left && !all_left
                            ? " An account that has left can be enabled with PATCH /v1/api/user."
                            : "");
    }
    return ida_fail(c, IDA_CONFLICT,
                    "There is more than one with the employeeId %s, so none is restored: it is "
                    "that of %s. Bring the right one back with PATCH /v1/api/user. %s",
                    id, h->named, new_one);
}

static ida_kind refuse(ida_ctx *c, const char *employee_id, int wants_restore, const holders *h)
{
    refuse_in_words(c, employee_id, wants_restore, h);
    return ida_because(c,
                       h->left         ? "rehireUndecided"
                       : wants_restore ? "nothingToRestore"
                                       : "employeeIdTaken",
                       json_pack("{s:o}", "people", people_json(h)));
}

/* --- restore --- */

/* Array of {id, name, directory} for the task; `answer` reports these and the memberships that
 * cannot be restored. */
static ida_kind offer_memberships(ida_call *call, store *s, ida_ctx *c, const ida_task *like,
                                  ida_update *update, json_t *answer)
{
    queue_membership *rows;
    int count;
    ida_kind kind = like->object_id ? queue_rehire_memberships(s, c, like->tenant, like->directory,
                                                               like->object_id, &rows, &count)
                                    : (count = 0, IDA_OK);
    json_t *back = ida_json_keep(c->pool, json_array()),
           *lost = ida_json_keep(c->pool, json_array());
    for (int i = 0; !kind && i < count; i++) {
        if (!rows[i].retained && !call->asked->tenant->has_directory[rows[i].directory]) {
            const char *text = apr_psprintf(
                c->pool,
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

ida_kind ida_op_cancel_instead(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                               const char *why)
{
    ida_kind kind = queue_task_cancel(s, c, task->tenant, task->id);
    audit_record *record = audit_make(c, task->tenant, call->asked->face->category);
    record->actor = call->asked->principal->username;
    record->label = call->asked->principal->label;
    record->action = "task.cancel";
    record->target = task->upn;
    record->endpoint = call->asked->endpoint;
    record->outcome = "ok";
    record->detail = apr_pstrcat(c->pool, "task ", task->id, ": ", why, NULL);
    kind = kind ? kind : queue_task_changed(s, c, task, record->action, record->actor);
    return kind ? kind : store_audit_add(s, c, record);
}

static void answer(ida_call *call, ida_ctx *c, const ida_task *task, const former *f,
                   const zone_due *due, json_t *warnings, json_t *rehire)
{
    const char *what = f->offboarding ? "the queued offboarding is cancelled"
                                      : "the account that was offboarded comes back";
    const char *when = due->past || !due->given
                           ? "now"
                           : apr_pstrcat(c->pool, "at ",
                                         zone_schedule_people(c, task->zone, task->due_at), NULL);
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put(call->result, "message",
                 apr_psprintf(c->pool,
                              "%s is rehired: %s; the update of the account is carried out %s.",
                              task->upn, what, when));
    ida_json_put_or_null(call->result, "mail", task->mail);
    json_object_set(call->result, "rehire", rehire);
    ida_op_queued(call, c, task, warnings);
}

static ida_kind restore(ida_call *call, store *s, ida_ctx *c, const ida_create *person,
                        const former *f, const zone_due *due, json_t *warnings)
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
            return ida_fail(c, IDA_CONFLICT,
                            "The offboarding of %s is being carried out now (task %s). Try again "
                            "when it is done.",
                            f->user->upn, f->offboarding->id);
        }
        ida_json_put(rehire, "cancelledTaskId", f->offboarding->id);
        kind = ida_op_cancel_instead(call, s, c, f->offboarding, "the person is rehired");
    }
    if (!kind && !f->user->enabled) {
        kind = offer_memberships(call, s, c, ida_op_task_of(call, c, IDA_USER_UPDATE, f->user),
                                 &update, rehire);
        update.manager_before = f->user->manager_id;
    }
    if (person->role_templates) {
        json_array_append_new(warnings,
                              json_string("Role templates are not given to an account that comes "
                                          "back: assign them when it is enabled."));
    }
    if (!kind && f->user->enabled && update.enabled == 1) {
        update.enabled = -1; /* the account is enabled already, and needs no seat because it
                                never left */
    }
    kind = kind ? kind : ida_op_queue_update(call, s, c, f->user, &update, due, &task);
    if (!kind) {
        answer(call, c, task, f, due, warnings, rehire);
    }
    return kind;
}

ida_kind ida_op_rehire(ida_call *call, store *s, ida_ctx *c, const ida_create *person,
                       const zone_due *due, json_t *warnings, int *restored)
{
    int wants_restore = person->rehire && strcmp(person->rehire, "restore") == 0;
    holders h;
    *restored = 0;
    ida_kind kind = find_holders(s, c, call->asked->tenant->id, person->employee_id, &h);
    if (!kind && h.named && person->rehire && !wants_restore) {
        json_array_append_new(
            warnings,
            json_string(apr_psprintf(c->pool, "The employeeId is also that of %s.", h.named)));
    }
    if (kind || (!h.named && !wants_restore) || (person->rehire && !wants_restore)) {
        return kind;
    }
    if (!wants_restore || h.left != 1 || h.people_count + h.coming_count != 1) {
        return refuse(c, person->employee_id, wants_restore, &h);
    }
    *restored = 1;
    return restore(call, s, c, person, h.one_left, due, warnings);
}
