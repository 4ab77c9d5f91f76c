/* Owns the steps that assign and remove access, in tasks of their own and within workflow
 * actions. What may be removed follows from the grant's record (core/governance/grant.h); how a
 * group is changed is the connector's affair. */
#include "core/queue/claim.h"
#include "worker/run/grant.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/json.h"
#include "core/governance/decision.h"
#include "core/governance/grant.h"
#include "core/governance/whom.h"
#include "core/store/audit.h"
#include "core/store/tenant.h"
#include "worker/run/policy.h"
#include "worker/run/steps.h"

/* --- calls --- */

typedef struct member_call {
    const char *group_id;
    int add, calls;
} member_call;

static directory_class call_member(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    member_call *call = baton;
    call->calls++;
    if (!call->add) {
        return ops->remove_member(dir, r->pool, call->group_id, r->account->object_id, e);
    }
    directory_class each = DIRECTORY_LOCAL;
    directory_class class = ops->add_members(dir, r->pool, call->group_id, &r->account->object_id,
                                             1, &each, e);
    return class == DIRECTORY_OK ? each : class;
}

static ida_kind put_member(run *r, store *cache, ida_ctx *c, void *baton)
{
    const member_call *call = baton;
    return cache_tell_member(cache, c, r->task->tenant, r->account->directory, call->group_id,
                             r->account->object_id, !call->add);
}

step_end run_change_member(run *r, const char *group_id, int add, int *first, directory_error *e)
{
    member_call call = {.group_id = group_id, .add = add};
    step_end end = run_call(r, call_member, &call, e);
    if (first) {
        *first = call.calls == 1;
    }
    return end == STEP_ON && (e->class == DIRECTORY_OK || e->class == DIRECTORY_ALREADY)
               ? run_cache(r, put_member, &call)
               : end;
}

typedef struct license_call {
    const char *name;
    int add, calls;
} license_call;

static directory_class call_license(run *r, const directory_ops *ops, directory *dir, void *baton,
                                    directory_error *e)
{
    license_call *call = baton;
    const char *const named[] = {call->name, NULL}, *const none[] = {NULL};
    call->calls++;
    return ops->set_licenses(dir, r->pool, r->account->object_id, call->add ? named : none,
                             call->add ? none : named, e);
}

static ida_kind write_taken(run *r, store *s, ida_ctx *c, void *baton)
{
    const directory_error *e = baton;
    return queue_licenses_taken(s, c, r->task, r->step.position, e->taken);
}

step_end run_note_licenses(run *r, directory_error *e)
{
    return e->class == DIRECTORY_OK && e->taken && r->task->type == IDA_USER_DELETE
               ? run_store(r, write_taken, e)
               : STEP_ON;
}

/* One item, given or taken. */
static step_end change(run *r, const access_item *item, int add, int *first, directory_error *e)
{
    if (!item->license) {
        return run_change_member(r, item->id, add, first, e);
    }
    license_call call = {.name = item->id, .add = add};
    step_end end = run_call(r, call_license, &call, e);
    *first = call.calls == 1;
    return end == STEP_ON && !add ? run_note_licenses(r, e) : end;
}

/* --- writes under the fence --- */

typedef struct fenced_write {
    run *r;
    run_write write;
    void *baton;
} fenced_write;

static ida_kind fenced_in(store *s, ida_ctx *c, void *baton)
{
    const fenced_write *w = baton;
    queue_task_change nothing = {0};
    ida_kind kind = store_tenant_lock(s, c, w->r->task->tenant);
    kind = kind ? kind : queue_change(s, c, w->r->task, &nothing);
    return kind ? kind : w->write(w->r, s, c, w->baton);
}

static ida_kind write_fenced(run *r, store *s, ida_ctx *c, void *baton)
{
    fenced_write *w = baton;
    w->r = r;
    return store_transaction(s, c, fenced_in, w);
}

/* As run_store, in one transaction under the tenant's lock; a run that has lost its lease fails
 * here. */
static step_end run_fenced(run *r, run_write write, void *baton)
{
    fenced_write w = {.write = write, .baton = baton};
    return run_store(r, write_fenced, &w);
}

/* --- one item with its record --- */

typedef struct deed {
    access_grant_at at;
    const access_item *item;
    int ours, stood, stands, refused;
    const char *why;     /* it stays */
    access_grantor heir; /* because this one grants it too */
    const access_item *items;
    int count;
    ida_task_type type;
    access_item found; /* group of an item that had no ID when it was ordered */
    const char *missing;
} deed;

/* What people do not find is no fault of the store. */
static ida_kind do_resolve(run *r, store *s, ida_ctx *c, void *baton)
{
    deed *d = baton;
    ida_kind kind = governance_membership_item(s, c, r->task->tenant, d->item->name, &d->found);
    d->missing = NULL;
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        d->missing = c->message;
    } else if (!kind && d->found.directory != r->account->directory) {
        d->missing = "the group is in the other directory";
    }
    return d->missing ? IDA_OK : kind;
}

static ida_kind do_begin(run *r, store *s, ida_ctx *c, void *baton)
{
    deed *d = baton;
    (void)r;
    return governance_grant_begin(s, c, &d->at, d->item, &d->ours);
}

static ida_kind do_stands(run *r, store *s, ida_ctx *c, void *baton)
{
    deed *d = baton;
    (void)r;
    return governance_grant_stands(s, c, &d->at, &d->stands);
}

static ida_kind do_judge(run *r, store *s, ida_ctx *c, void *baton)
{
    deed *d = baton;
    return run_item_fault(r, s, c, d->at.by, d->item, &d->why);
}

static ida_kind do_keeps(run *r, store *s, ida_ctx *c, void *baton)
{
    deed *d = baton;
    (void)r;
    return governance_grant_keeps(s, c, &d->at, d->item, &d->heir, &d->why);
}

/* What the answer means for the record: of a refusal nothing is left, unless an earlier try may
 * have given it. */
static ida_kind do_note(run *r, store *s, ida_ctx *c, void *baton)
{
    const deed *d = baton;
    (void)r;
    if (d->missing) {
        return IDA_OK; /* there is nothing that a record could be of */
    }
    if (d->type == IDA_ACCESS_REVOKE) {
        return d->refused ? IDA_OK
               : d->why   ? governance_grant_hand_over(s, c, &d->at, d->item, &d->heir)
                          : governance_grant_forget(s, c, &d->at, d->item);
    }
    return !d->refused ? governance_grant_settle(s, c, &d->at, d->item, d->stood)
           : d->ours   ? IDA_OK
                       : governance_grant_forget(s, c, &d->at, d->item);
}

static const char *unable(run *r, const access_item *item)
{
    const directory_ops *ops = r->account->session->ops;
    return item->license
               ? (ops->set_licenses ? NULL : "a directory of this kind has no licences")
               : (ops->add_members ? NULL
                                   : "this version cannot add members in a directory of this kind");
}

/* Ends with STEP_ON and the outcome of this item in r->step; the record is not written yet
 * (do_note). */
static step_end give(run *r, deed *d)
{
    directory_error e;
    int first = 1;
    d->type = IDA_ACCESS_GRANT;
    d->refused = d->stood = d->ours = 0;
    const char *not_here = unable(r, d->item);
    if (not_here) {
        d->refused = 1;
        return step_says(r, IDA_STEP_FAILED, "%s", not_here);
    }
    step_end end = d->item->id ? STEP_ON : run_store(r, do_resolve, d);
    if (end == STEP_ON && !d->item->id) {
        d->item = &d->found;
        d->refused = d->missing != NULL;
        if (d->missing) {
            return step_says(r, IDA_STEP_FAILED, "%s", d->missing);
        }
    }
    end = end == STEP_ON ? run_fenced(r, do_begin, d) : end;
    end = end == STEP_ON ? change(r, d->item, 1, &first, &e) : end;
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_OK || e.class == DIRECTORY_ALREADY) {
        d->stood = e.class == DIRECTORY_ALREADY && !d->ours && first;
        return e.class == DIRECTORY_OK
                   ? step_says(r, IDA_STEP_DONE, "%s", d->item->license ? "assigned" : "added")
                   : step_says(r, IDA_STEP_ALREADY,
                               d->stood ? "it was so before; it stays when this is taken away again"
                                        : "it is so already");
    }
    end = e.class != DIRECTORY_NOT_FOUND ? run_fails(r, &e)
          : e.field
              ? step_fails(r, "the group is not there: %s", run_why(&e))
              : step_gone(r, ida_printf(r->pool, "the account is not there: %s", run_why(&e)));
    d->refused = end == STEP_FAILED;
    return end == STEP_FAILED ? STEP_ON : end;
}

static step_end take(run *r, deed *d)
{
    directory_error e;
    int first;
    d->type = IDA_ACCESS_REVOKE;
    d->refused = 0;
    d->why = NULL;
    step_end end = run_store(r, do_keeps, d);
    if (end != STEP_ON) {
        return end;
    }
    if (d->why) {
        return step_says(r, IDA_STEP_SKIPPED, "kept: %s", d->why);
    }
    if (d->item->license && !r->account->session->ops->set_licenses) {
        return step_says(r, IDA_STEP_SKIPPED, "a directory of this kind has no licences");
    }
    end = change(r, d->item, 0, &first, &e);
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_OK) {
        return step_says(r, IDA_STEP_DONE, "%s", d->item->license ? "taken away" : "removed");
    }
    if (e.class == DIRECTORY_NOT_FOUND && !e.field) {
        end = step_absent(r);
        d->refused = r->step.outcome == IDA_STEP_FAILED;
        return end;
    }
    if (e.class == DIRECTORY_ALREADY || e.class == DIRECTORY_NOT_FOUND) {
        return step_says(r, IDA_STEP_ALREADY, "it was gone already");
    }
    end = run_fails(r, &e);
    d->refused = end == STEP_FAILED;
    return end == STEP_FAILED ? STEP_ON : end;
}

/* --- steps of accessGrant and accessRevoke --- */

/* Step and record in one transaction. */
static ida_kind write_noted(run *r, store *s, ida_ctx *c, void *baton)
{
    const char *outcome = r->step.outcome == IDA_STEP_FAILED ? ida_outcome_text(r->step.outcome)
                                                             : "ok";
    ida_kind kind = do_note(r, s, c, baton);
    return kind ? kind
                : queue_step(s, c, r->task, &r->step, NULL,
                             run_audit(r, c, "task.step", outcome, r->step.detail));
}

step_end step_access(run *r)
{
    access_grantor by;
    deed d = {.at = {r->task, &by}};
    ida_ctx *c = run_ctx(r);
    if (governance_grant_of_task(c, r->task, &by, &d.items, &d.count) || r->step.position < 1 ||
        r->step.position > d.count || !r->account->object_id) {
        return step_fails(r, "%s", c->message ? c->message : "The task does not say what to do.");
    }
    d.item = &d.items[r->step.position - 1];
    step_end end = STEP_ON;
    if (r->task->type == IDA_ACCESS_GRANT) {
        end = run_store(r, do_stands, &d);
        if (end == STEP_ON && !d.stands) {
            return step_says(r, IDA_STEP_SKIPPED,
                             "no longer granted: the %s was taken back before it was carried out",
                             by.source == governance_by_request ? "access request"
                                                                : "role template");
        }
        end = end != STEP_ON ? end : run_store(r, do_judge, &d);
        if (end == STEP_ON && d.why) {
            return step_fails(r, "not given: %s.", d.why);
        }
    }
    end = end != STEP_ON ? end : r->task->type == IDA_ACCESS_GRANT ? give(r, &d) : take(r, &d);
    if (end != STEP_ON) {
        return end;
    }
    if (r->step.outcome == IDA_STEP_FAILED) {
        r->failure = r->failure ? r->failure
                                : ida_printf(r->pool, "%s: %s", run_shown(r), r->step.detail);
    }
    r->step.at = ida_now(&r->runner->env);
    end = run_fenced(r, write_noted, &d);
    r->recorded = end == STEP_ON;
    return end;
}

/* --- within a workflow action --- */

typedef struct tally {
    apr_array_header_t *done, *already, *kept, *failed; /* names; the last two with the reason */
    int beside; /* results in addition to the items: assignments ended, a task queued */
} tally;

static void count_in(run *r, tally *t, const access_item *item)
{
    const char *with_reason = ida_printf(r->pool, "%s (%s)", item->name,
                                         r->step.detail ? r->step.detail : "");
    apr_array_header_t *list = r->step.outcome == IDA_STEP_DONE      ? t->done
                               : r->step.outcome == IDA_STEP_ALREADY ? t->already
                               : r->step.outcome == IDA_STEP_SKIPPED ? t->kept
                                                                     : t->failed;
    APR_ARRAY_PUSH(list, const char *) = list == t->kept || list == t->failed ? with_reason
                                                                              : item->name;
}

static tally no_tally(run *r)
{
    return (tally){apr_array_make(r->pool, 8, sizeof(char *)),
                   apr_array_make(r->pool, 4, sizeof(char *)),
                   apr_array_make(r->pool, 4, sizeof(char *)),
                   apr_array_make(r->pool, 4, sizeof(char *)), 0};
}

/* "Sales: added to A, B; so already: C; refused: D (...)" */
static step_end tell(run *r, const char *subject, const char *did, const char *was, const tally *t)
{
    const struct {
        const char *word;
        const apr_array_header_t *names;
    } parts[] = {{did, t->done}, {was, t->already}, {"kept", t->kept}, {"refused", t->failed}};
    const char *text = subject, *separator = ": ";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].names->nelts) {
            text = apr_pstrcat(r->pool, text, separator, parts[i].word, " ",
                               run_listed(r, parts[i].names), NULL);
            separator = "; ";
        }
    }
    int did_something = t->done->nelts || t->beside;
    return step_says(r,
                     t->failed->nelts ? IDA_STEP_FAILED
                     : did_something  ? IDA_STEP_DONE
                                      : IDA_STEP_ALREADY,
                     "%s", text);
}

typedef struct assigning {
    const char *named;
    ida_role_template *template;
    const access_item *items;
    int count;
    ida_kind fault; /* the template or a group of it cannot be found */
    const char *message;
    const char *elsewhere; /* task for the other directory */
    int before;  /* such a task was queued earlier: by an attempt whose answer was lost, or with
                    another assignment */
    int nowhere; /* items of the other directory, where the person has no account */
} assigning;

static ida_kind order_elsewhere(store *s, ida_ctx *c, run *r, assigning *a, int added)
{
    ida_directory_kind other = r->account->directory == IDA_DIR_CLOUD ? IDA_DIR_ON_PREMISES
                                                                      : IDA_DIR_CLOUD;
    access_grantor by = {governance_by_template, a->template->id, a->template->name};
    ida_tenant *tenant;
    ida_user *user;
    int wanted = 0;
    for (int i = 0; i < a->count; i++) {
        wanted += a->items[i].directory == other;
    }
    a->nowhere = a->before = 0;
    if (!wanted) {
        return IDA_OK;
    }
    ida_kind kind = cache_user_details(s, c, r->task->tenant, r->account->object_id, &user, NULL);
    if (kind == IDA_NOT_FOUND || (!kind && !user->in[other])) {
        ida_ctx_clear(c);
        a->nowhere = wanted;
        return IDA_OK;
    }
    if (!kind && !added) {
        a->before = 1;
        return IDA_OK;
    }
    kind = kind ? kind : store_tenant_get(s, c, r->task->tenant, &tenant, NULL);
    if (kind) {
        return kind;
    }
    access_order order = {.tenant = tenant,
                          .person = governance_person(c->pool, user),
                          .type = IDA_ACCESS_GRANT,
                          .directory = other,
                          .user_id = user->directory == other ? user->id : user->other_id,
                          .upn = r->task->upn,
                          .display_name = r->task->display_name,
                          .by = &by,
                          .items = a->items,
                          .count = a->count,
                          .username = r->task->username,
                          .label = r->task->label,
                          .via = "workflow"};
    return governance_grant_order(s, c, &order, &a->elsewhere);
}

static ida_kind do_assign(run *r, store *s, ida_ctx *c, void *baton)
{
    assigning *a = baton;
    int added = 0;
    a->elsewhere = NULL;
    a->fault = governance_template_find(s, c, r->task->tenant, a->named, &a->template);
    a->fault = a->fault ? a->fault
                        : governance_template_items(s, c, r->task->tenant, a->template,
                                                    r->account->directory, &a->items, &a->count);
    const char *forged = a->fault ? NULL : run_template_fault(r, a->template);
    if (forged) {
        a->fault = ida_fail(c, IDA_CONFLICT, "%s", forged);
    }
    if (a->fault) {
        a->message = c->message;
        return a->fault == IDA_NOT_FOUND || a->fault == IDA_CONFLICT ? IDA_OK : a->fault;
    }
    governance_assignee who = {.upn = r->task->upn,
                               .user_id = r->account->object_id,
                               .by = r->step.workflow ? "workflow" : r->task->username,
                               .task_id = r->task->id};
    ida_kind kind = governance_person_of_task(s, c, r->task, &who.person);
    kind = kind ? kind : governance_role_assign(s, c, r->task->tenant, a->template, &who, &added);
    kind = kind ? kind : order_elsewhere(s, c, r, a, added);
    if (kind || !added) {
        return kind; /* a repetition: all was ordered before */
    }
    audit_record *record = run_audit(r, c, "role.assign", "ok", NULL);
    json_t *parameters = ida_json_keep(
        c->pool, json_pack("{s:s, s:s}", "roleTemplate", a->template->name, "taskId", r->task->id));
    ida_json_put(parameters, "queued", a->elsewhere);
    record->parameters = ida_json_text(c->pool, parameters);
    return store_audit_add(s, c, record);
}

step_end run_assign_template(run *r, const char *template)
{
    assigning a = {.named = template};
    tally t = no_tally(r);
    step_end end = run_fenced(r, do_assign, &a);
    if (end != STEP_ON) {
        return end;
    }
    if (a.fault) {
        return step_says(r, IDA_STEP_FAILED, "%s", a.message);
    }
    access_grantor by = {governance_by_template, a.template->id, a.template->name};
    for (int i = 0; i < a.count; i++) {
        deed d = {.at = {r->task, &by}, .item = &a.items[i]};
        if (a.items[i].directory != r->account->directory) {
            if (a.nowhere) {
                step_says(r, IDA_STEP_FAILED,
                          "of the other directory, where the person has no account");
                count_in(r, &t, d.item);
            }
            continue;
        }
        end = give(r, &d);
        end = end == STEP_ON ? run_fenced(r, do_note, &d) : end;
        if (end != STEP_ON) {
            return end;
        }
        count_in(r, &t, d.item);
    }
    t.beside = a.elsewhere != NULL;
    const char *subject = a.elsewhere
                              ? ida_printf(r->pool, "%s (ordered in the other directory: task %s)",
                                           by.name, a.elsewhere)
                          : a.before
                              ? ida_printf(r->pool, "%s (in the other directory ordered before)",
                                           by.name)
                              : by.name;
    return tell(r, subject, "added", "so already", &t);
}

/* What cannot be given is a warning: the account exists, and a person can give it later. */
step_end step_assign_template(run *r)
{
    const char *name = r->step.name + strlen(IDA_STEP_TEMPLATE);
    step_end end = run_assign_template(r, name);
    if (end == STEP_ON && r->step.outcome == IDA_STEP_FAILED) {
        run_warn(r, ida_printf(r->pool, "The role template %s was not given: %s", name,
                               r->step.detail ? r->step.detail : "it failed"));
    }
    return end;
}

typedef struct unassigning {
    int count;
} unassigning;

static ida_kind do_unassign(run *r, store *s, ida_ctx *c, void *baton)
{
    unassigning *u = baton;
    return governance_role_unassign_all(s, c, r->task, &u->count);
}

typedef struct owed {
    const access_grantor *grantors;
    int count;
} owed;

static ida_kind read_owed(run *r, store *s, ida_ctx *c, void *baton)
{
    owed *o = baton;
    return governance_grant_unassigned(s, c, r->task, &o->grantors, &o->count);
}

static ida_kind read_items(run *r, store *s, ida_ctx *c, void *baton)
{
    deed *d = baton;
    (void)r;
    return governance_grant_list(s, c, &d->at, &d->items, &d->count);
}

step_end run_unassign_templates(run *r)
{
    unassigning u = {0};
    owed o = {0};
    tally t = no_tally(r);
    step_end end = run_fenced(r, do_unassign, &u);
    end = end == STEP_ON ? run_store(r, read_owed, &o) : end;
    for (int g = 0; end == STEP_ON && g < o.count; g++) {
        deed d = {.at = {r->task, &o.grantors[g]}};
        end = run_store(r, read_items, &d);
        for (int i = 0; end == STEP_ON && i < d.count; i++) {
            d.item = &d.items[i];
            end = take(r, &d);
            end = end == STEP_ON ? run_fenced(r, do_note, &d) : end;
            if (end == STEP_ON) {
                count_in(r, &t, d.item);
            }
        }
    }
    if (end != STEP_ON) {
        return end;
    }
    t.beside = u.count;
    if (!o.count && !u.count) {
        return step_says(r, IDA_STEP_ALREADY, "no role template is assigned");
    }
    const char *subject =
        u.count
            ? ida_printf(r->pool, "%d role template%s unassigned", u.count, u.count == 1 ? "" : "s")
            : "role templates unassigned before"; /* by an earlier try, or by people */
    return tell(r, subject, "removed", "gone already", &t);
}
