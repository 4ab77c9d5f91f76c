/* Owns the actions on groups, licences and role templates. How access is given and recorded is
 * worker/run/grant.h's. */
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "worker/run/actions.h"
#include "worker/run/grant.h"

/* The group that the settings name; from here on the step acts on the account in its directory. */
static step_end find_group(run *r, ida_group **group)
{
    ida_ctx *c = run_ctx(r);
    const char *wanted = action_text(r, "group");
    ida_kind kind = cache_group_find(r->main, c, r->task->tenant, wanted, group);
    if (kind == IDA_NOT_FOUND) {
        return step_fails(r, "The directory has no group \"%s\".", wanted);
    }
    if (kind == IDA_CONFLICT) {
        return step_fails(r,
                          "The directory has several groups \"%s\": the action must name it by ID.",
                          wanted);
    }
    if (kind) {
        return step_later(r, "The group %s cannot be looked up: %s", wanted,
                          c->message ? c->message : ida_kind_text(kind));
    }
    if ((*group)->directory == r->account->directory) {
        return STEP_ON;
    }
    int found;
    step_end end = run_other_account(r, &found);
    return end != STEP_ON || found
               ? end
               : step_gone(r,
                           ida_printf(r->pool,
                                      "The group %s is in the directory %s, where the person has "
                                      "no account.",
                                      wanted, ida_directory_name((*group)->directory)));
}

step_end action_add_to_group(run *r)
{
    ida_group *group;
    directory_error e;
    step_end end = find_group(r, &group);
    if (end != STEP_ON) {
        return end;
    }
    if (!r->account->session->ops->add_members) {
        return step_fails(r,
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
    if (e.class == DIRECTORY_OK) {
        action_gave(r, group->id);
    }
    switch (e.class) {
    case DIRECTORY_OK: return step_says(r, IDA_STEP_DONE, "added to %s", group->name);
    case DIRECTORY_ALREADY:
        return step_says(r, IDA_STEP_ALREADY, "member of %s already", group->name);
    case DIRECTORY_NOT_FOUND:
        return e.field ? step_fails(r, "The group %s is not in the directory any more: %s",
                                    group->name, run_why(&e))
                       : action_answered(r, &e);
    default: return run_fails(r, &e);
    }
}

step_end action_remove_from_group(run *r)
{
    ida_group *group;
    directory_error e;
    step_end end = find_group(r, &group);
    end = end == STEP_ON ? run_change_member(r, group->id, 0, NULL, &e) : end;
    if (end != STEP_ON) {
        return end;
    }
    switch (e.class) {
    case DIRECTORY_OK: return step_says(r, IDA_STEP_DONE, "removed from %s", group->name);
    case DIRECTORY_NOT_FOUND:
        if (!e.field) {
            return step_absent(r);
        } /* fall through */
    case DIRECTORY_ALREADY: return step_says(r, IDA_STEP_ALREADY, "no member of %s", group->name);
    default: return run_fails(r, &e);
    }
}

static directory_class call_all_licenses(run *r, const directory_ops *ops, directory *dir,
                                         void *baton, directory_error *e)
{
    static const char *const none[] = {NULL};
    return ops->set_licenses(dir, r->pool, r->account->object_id, none, baton, e);
}

/* All, and those the cache knows of: the directory may answer as before they were assigned. */
static const char **all_licenses(run *r)
{
    json_t *cached = NULL;
    ida_user *user;
    const json_t *name;
    size_t i;
    ida_ctx *c = run_ctx(r);
    if (cache_user_details(r->main, c, r->task->tenant, r->account->object_id, &user, &cached)) {
        cached = NULL; /* then the directory's answer has to suffice */
    }
    const char **list = apr_pcalloc(r->pool, sizeof *list * (json_array_size(cached) + 2)),
               **to = list;
    *to++ = "*";
    json_array_foreach (cached, i, name) {
        *to++ = json_string_value(name);
    }
    return list;
}

static const char *listed(run *r, const char *const *names)
{
    apr_array_header_t *list = apr_array_make(r->pool, 8, sizeof(char *));
    for (; *names; names++) {
        APR_ARRAY_PUSH(list, const char *) = *names;
    }
    return run_listed(r, list);
}

step_end action_remove_licenses(run *r)
{
    directory_error e;
    int found = 1;
    step_end end = STEP_ON;
    if (!r->account->session->ops->set_licenses) {
        end = run_other_account(r, &found); /* licences are the cloud's */
    }
    if (end != STEP_ON) {
        return end;
    }
    if (!r->account->session->ops->set_licenses) {
        return step_says(r, IDA_STEP_SKIPPED, "a directory of this kind has no licences");
    }
    if (!found) {
        return r->account->stranger
                   ? step_stranger(r, r->account)
                   : step_says(
                         r, IDA_STEP_SKIPPED,
                         "licences are the cloud directory's, where the person has no account");
    }
    end = run_call(r, call_all_licenses, all_licenses(r), &e);
    end = end == STEP_ON ? action_answered(r, &e) : end;
    if (end != STEP_ON) {
        return end;
    }
    end = run_note_licenses(r, &e);
    return end != STEP_ON
               ? end
               : step_says(r, e.class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY,
                           "%s%s%s%s%s",
                           e.class == DIRECTORY_OK ? "taken away" : "none is assigned directly",
                           e.taken ? ": " : "", e.taken ? listed(r, e.taken) : "",
                           e.message ? "; " : "", e.message ? e.message : "");
}

step_end action_assign_template(run *r)
{
    return run_assign_template(r, action_text(r, "roleTemplate"));
}

step_end action_unassign_templates(run *r)
{
    return run_unassign_templates(r);
}
