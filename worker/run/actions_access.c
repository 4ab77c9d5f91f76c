/* Owns the actions on groups, licences and role templates. How access is given and recorded is
 * worker/run/grant.h's. */
#include <apr_strings.h>

#include "core/cache/person.h"
#include "worker/run/actions.h"
#include "worker/run/grant.h"

/* What the action gives or takes is in the tenant's other directory: from here on the run acts on
 * the person's account there. */
static step_end go_there(run *r, const char *what, ida_directory_kind where)
{
    int found;
    step_end end = run_twin_enter(r, &found);
    return end != STEP_ON || found
               ? end
               : action_fails(r, "%s is in the directory %s, where the person has no account.",
                              what, ida_directory_name(where));
}

/* The group that the settings name; the run is in its directory. */
static step_end find_group(run *r, const workflow_action *a, ida_group **group)
{
    ida_ctx *c = worker_ctx(r->r->w, r->pool);
    const char *wanted = action_text(a, "group");
    ida_kind kind = cache_group_find(r->r->main, c, r->task->tenant, wanted, group);
    if (kind == IDA_NOT_FOUND) {
        return action_fails(r, "The directory has no group \"%s\".", wanted);
    }
    if (kind == IDA_CONFLICT) {
        return action_fails(
            r, "The directory has several groups \"%s\": the action must name it by ID.", wanted);
    }
    if (kind) {
        step_says(r, IDA_STEP_NONE, "The group %s cannot be looked up: %s", wanted,
                  c->message ? c->message : ida_kind_text(kind));
        return STEP_LATER;
    }
    if ((*group)->directory != r->task->directory) {
        return go_there(r, ida_printf(r->pool, "The group %s", wanted), (*group)->directory);
    }
    return STEP_ON;
}

static const char *reason_of(const directory_error *e)
{
    return e->message ? e->message : directory_class_text(e->class);
}

step_end action_add_to_group(run *r, const workflow_action *a)
{
    ida_group *group;
    directory_error e;
    int ends;
    step_end end = action_account(r, &ends);
    end = ends ? end : find_group(r, a, &group);
    if (ends || end != STEP_ON) {
        return end;
    }
    if (!r->session->ops->add_members) {
        return action_fails(r,
                            "This version cannot add members to groups in this kind of directory.");
    }
    end = run_change_member(r, group->id, 1, NULL, &e);
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_OK || e.class == DIRECTORY_ALREADY) {
        action_grants(
            r, group); /* on disk with the step; a run that dies before it repeats the action */
    }
    switch (e.class) {
    case DIRECTORY_OK: return step_says(r, IDA_STEP_DONE, "added to %s", group->name);
    case DIRECTORY_ALREADY:
        return step_says(r, IDA_STEP_ALREADY, "member of %s already", group->name);
    case DIRECTORY_NOT_FOUND:
        return e.field ? action_fails(r, "The group %s is not in the directory any more: %s",
                                      group->name, reason_of(&e))
                       : action_fails(r, "The directory does not show the account any more: %s",
                                      reason_of(&e));
    default: return run_fails(r, &e);
    }
}

step_end action_remove_from_group(run *r, const workflow_action *a)
{
    ida_group *group;
    directory_error e;
    int ends;
    step_end end = action_account(r, &ends);
    end = ends ? end : find_group(r, a, &group);
    end = ends || end != STEP_ON ? end : run_change_member(r, group->id, 0, NULL, &e);
    if (ends || end != STEP_ON) {
        return end;
    }
    switch (e.class) {
    case DIRECTORY_OK: return step_says(r, IDA_STEP_DONE, "removed from %s", group->name);
    case DIRECTORY_ALREADY:
    case DIRECTORY_NOT_FOUND: return step_says(r, IDA_STEP_ALREADY, "no member of %s", group->name);
    default: return run_fails(r, &e);
    }
}

static directory_class call_all_licenses(run *r, const directory_ops *ops, directory *dir,
                                         void *baton, directory_error *e)
{
    static const char *const none[] = {NULL};
    return ops->set_licenses(dir, r->pool, r->task->object_id, none, baton, e);
}

/* All, and those the cache knows of: the directory may answer as before they were assigned. */
static const char **all_licenses(run *r)
{
    json_t *cached = NULL;
    ida_user *user;
    const json_t *name;
    size_t i;
    ida_ctx *c = worker_ctx(r->r->w, r->pool);
    if (cache_user_details(r->r->main, c, r->task->tenant, r->task->object_id, &user, &cached)) {
        cached = NULL; /* then the directory's own word has to do */
    }
    const char **list = apr_pcalloc(r->pool, sizeof *list * (json_array_size(cached) + 2)),
               **to = list;
    *to++ = "*";
    json_array_foreach (cached, i, name) {
        *to++ = json_string_value(name);
    }
    return list;
}

step_end action_remove_licenses(run *r, const workflow_action *a)
{
    directory_error e;
    int ends;
    step_end end = action_account(r, &ends);
    (void)a;
    if (ends) {
        return end;
    }
    if (!r->session->ops->set_licenses) {
        int found; /* licences are the cloud's */
        end = run_twin_enter(r, &found);
        if (end != STEP_ON || !found || !r->session->ops->set_licenses) {
            return end != STEP_ON ? end
                                  : step_says(r, IDA_STEP_SKIPPED, "%s",
                                              r->session->ops->set_licenses
                                                  ? "licences are the cloud directory's, where the "
                                                    "person has no account"
                                                  : "a directory of this kind has no licences");
        }
    }
    end = run_call(r, call_all_licenses, all_licenses(r), &e);
    end = end == STEP_ON ? action_answered(r, &e) : end;
    if (end != STEP_ON) {
        return end;
    }
    return step_says(r, e.class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY, "%s%s%s",
                     e.class == DIRECTORY_OK ? "taken away" : "none is assigned directly",
                     e.message ? "; " : "", e.message ? e.message : "");
}

step_end action_assign_template(run *r, const workflow_action *a)
{
    int ends;
    step_end end = action_account(r, &ends);
    return ends ? end : run_assign_template(r, action_text(a, "roleTemplate"));
}

step_end action_unassign_templates(run *r, const workflow_action *a)
{
    int ends;
    step_end end = action_account(r, &ends);
    (void)a;
    return ends ? end : run_unassign_templates(r);
}
