/* Owns the actions that change the account: an attribute, its container, the manager of its
 * reports. Must not know directory protocols. */
#include <apr_strings.h>
#include <string.h>
#include <strings.h>

#include "core/governance/named.h"
#include "worker/run/actions.h"

/* Evaluates the answer to a change of the account: the cache first, then the text of the step. */
static step_end changed(run *r, const directory_error *e, directory_user *after, const char *text)
{
    if (e->class == DIRECTORY_NOT_FOUND && e->field) {
        return step_fails(r, "%s", run_why(e));
    }
    step_end end = action_answered(r, e);
    end = end == STEP_ON && after->cache.id ? run_cache_user(r, after) : end;
    if (end != STEP_ON) {
        return end;
    }
    for (const char *const *w = after->warnings; w && *w;
         w++) { /* values that differ from the request */
        text = apr_pstrcat(r->pool, text, "; ", *w, NULL);
        run_warn(r, apr_pstrcat(r->pool, run_shown(r), ": ", *w, NULL));
    }
    return step_says(r, e->class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY, "%s", text);
}

/* --- managers --- */

typedef struct manager_call {
    const char *user_id, *upn, *manager_id;
} manager_call;

static directory_class call_manager(run *r, const directory_ops *ops, directory *dir, void *baton,
                                    directory_error *e)
{
    manager_call *call = baton;
    return ops->set_manager(dir, r->pool, call->user_id, call->upn, &call->manager_id, e);
}

static ida_kind put_manager(run *r, store *cache, ida_ctx *c, void *baton)
{
    const manager_call *call = baton;
    return cache_tell_manager(cache, c, r->task->tenant, r->account->directory, call->user_id,
                              call->manager_id);
}

static step_end set_manager(run *r, manager_call *call, directory_error *e)
{
    step_end end = run_call(r, call_manager, call, e);
    int good = end == STEP_ON && (e->class == DIRECTORY_OK || e->class == DIRECTORY_ALREADY);
    return good && (call->manager_id || !call->upn) ? run_cache(r, put_manager, call) : end;
}

static step_end manager_missing(run *r, const directory_error *e, const char *upn)
{
    return e->field && strcmp(e->field, "manager") == 0
               ? step_fails(r, "The manager %s was not found in the directory.", upn)
               : action_answered(r, e);
}

/* --- setAttribute --- */

typedef struct update_call {
    directory_attribute attribute;
    directory_user after;
} update_call;

static directory_class call_update(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    update_call *call = baton;
    return ops->update(dir, r->pool, r->account->object_id, &call->attribute, 1, -1, &call->after,
                       e);
}

static step_end set_own_manager(run *r, const meant *to)
{
    manager_call call = {.user_id = r->account->object_id,
                         .upn = to->named ? run_meant_here(r, to) : NULL};
    directory_error e;
    if (to->fault) {
        return step_fails(r, "The manager %s", to->fault);
    }
    step_end end = set_manager(r, &call, &e);
    if (end == STEP_ON && e.class == DIRECTORY_NOT_FOUND) {
        return manager_missing(r, &e, to->named);
    }
    end = end == STEP_ON ? action_answered(r, &e) : end;
    return end == STEP_ON ? step_says(r, e.class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY,
                                      "manager: %s", to->named ? run_meant_shown(to) : "nobody")
                          : end;
}

step_end action_set_attribute(run *r)
{
    const char *name = action_text(r, "attribute");
    person p;
    directory_error e;
    step_end end = run_person_read(r, &p);
    if (end != STEP_ON) {
        return end;
    }
    const char *value = run_person_fill(r->pool, &p, action_text(r, "value"));
    if (strcmp(name, "manager") == 0) {
        meant to = {0};
        end = strcmp(action_text(r, "value"), "{manager}") == 0 ? (to = p.manager, STEP_ON)
              : *value                                          ? run_meant_document(r, value, &to)
                                                                : STEP_ON;
        return end == STEP_ON ? set_own_manager(r, &to) : end;
    }
    if (!r->account->session->ops->update) {
        return step_fails(r, "This version cannot change attributes in this kind of directory.");
    }
    update_call call = {.attribute = {name, *value ? value : NULL}};
    end = run_call(r, call_update, &call, &e);
    return end == STEP_ON ? changed(r, &e, &call.after,
                                    ida_printf(r->pool, "%s: %s", name, *value ? value : "empty"))
                          : end;
}

/* --- moveTo --- */

typedef struct move_call {
    const char *container;
    directory_user after;
} move_call;

static directory_class call_move(run *r, const directory_ops *ops, directory *dir, void *baton,
                                 directory_error *e)
{
    move_call *call = baton;
    return ops->move(dir, r->pool, r->account->object_id, call->container, &call->after, e);
}

step_end action_move(run *r)
{
    directory_error e;
    if (!r->account->session->ops->move) {
        return step_says(r, IDA_STEP_SKIPPED, "a directory of this kind has no containers");
    }
    move_call call = {.container = action_text(r, "container")};
    step_end end = run_call(r, call_move, &call, &e);
    return end == STEP_ON
               ? changed(r, &e, &call.after, ida_printf(r->pool, "to %s", call.container))
               : end;
}

/* --- transferReports --- */

typedef struct reports_call {
    const char *const *ids;
    int count;
} reports_call;

static directory_class call_reports(run *r, const directory_ops *ops, directory *dir, void *baton,
                                    directory_error *e)
{
    reports_call *call = baton;
    return ops->reports(dir, r->pool, r->account->object_id, &call->ids, &call->count, e);
}

/* Each report in turn; one that the directory refuses for good does not keep the others from being
 * moved. */
static step_end transfer(run *r, const reports_call *reports, const meant *heir)
{
    int moved = 0, refused = 0;
    const char *why = "", *to = run_meant_shown(heir), *key = run_meant_here(r, heir);
    for (int i = 0; i < reports->count; i++) {
        manager_call call = {.user_id = reports->ids[i], .upn = key};
        directory_error e = {.class = DIRECTORY_INVALID,
                             .message = "the new manager would be their own"};
        int self = heir->user && governance_user_is(heir->user, call.user_id);
        step_end end = self ? STEP_ON : set_manager(r, &call, &e);
        if (end != STEP_ON) {
            return end;
        }
        if (e.class == DIRECTORY_NOT_FOUND && e.field && strcmp(e.field, "manager") == 0) {
            return manager_missing(r, &e, to);
        }
        if (e.class == DIRECTORY_OK || e.class == DIRECTORY_ALREADY) {
            moved++;
        } else if (e.class != DIRECTORY_NOT_FOUND) { /* a report that is gone needs no manager */
            end = self ? STEP_FAILED : run_fails(r, &e);
            if (end != STEP_FAILED) {
                return end;
            }
            refused++;
            why = run_why(&e);
        }
    }
    return refused
               ? step_fails(r,
                            "%d of %d reports now report to %s; %d refused, the last because: %s",
                            moved, reports->count, to, refused, why)
               : step_says(r, IDA_STEP_DONE, "%d report%s now report%s to %s", moved,
                           moved == 1 ? "" : "s", moved == 1 ? "s" : "", to);
}

step_end action_transfer_reports(run *r)
{
    const char *given = action_text(r, "to");
    reports_call reports = {0};
    meant to = {0};
    person p;
    directory_error e;
    if (!r->account->session->ops->reports) {
        return step_fails(
            r, "This version cannot find the reports of a person in this kind of directory.");
    }
    step_end end = run_person_read(r, &p);
    end = end == STEP_ON ? run_call(r, call_reports, &reports, &e) : end;
    end = end == STEP_ON ? action_answered(r, &e) : end;
    if (end != STEP_ON) {
        return end;
    }
    if (!reports.count) {
        return step_says(r, IDA_STEP_ALREADY, "nobody reports to %s", p.upn);
    }
    if (!*given || strcmp(given, "{manager}") == 0) {
        to = p.manager;
    } else {
        end = run_meant_document(r, run_person_fill(r->pool, &p, given), &to);
    }
    if (end != STEP_ON) {
        return end;
    }
    if (!to.named) {
        return step_fails(r, "%s has no manager who could take over the reports (%d).", p.upn,
                          reports.count);
    }
    if (to.user ? governance_user_is(to.user, r->account->object_id)
                : strcasecmp(to.named, p.upn) == 0) {
        return step_fails(r,
                          "The reports of %s (%d) cannot be taken over by the same person: name "
                          "another one in the action.",
                          p.upn, reports.count);
    }
    if (to.fault) {
        return step_fails(r, "The reports of %s (%d) stay: %s", p.upn, reports.count, to.fault);
    }
    return transfer(r, &reports, &to);
}
