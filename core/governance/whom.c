/* Owns which person an ID, a UPN or a task refers to. Must not know the purpose of the question. */
#include "core/governance/whom.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define WHOS_MAX 20

queue_person governance_person(apr_pool_t *pool, const ida_user *user)
{
    int cloud_first = user->directory == IDA_DIR_CLOUD && user->other_id;
    return (queue_person){.id = cloud_first ? user->other_id : user->id,
                          .other_id = cloud_first ? user->id : user->other_id,
                          .address = user->upn ? ida_fold_address(pool, user->upn) : NULL};
}

/* IDA_OK with *user NULL when the cache has none. */
static ida_kind look(store *s, ida_ctx *c, const char *tenant, const char *named, ida_user **user)
{
    ida_kind kind = strchr(named, '@') ? cache_user_by_upn(s, c, tenant, named, user)
                                       : cache_user_details(s, c, tenant, named, user, NULL);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        *user = NULL;
        kind = IDA_OK;
    }
    return kind;
}

ida_kind governance_person_of_task(store *s, ida_ctx *c, const ida_task *task, queue_person *person)
{
    ida_user *user = NULL;
    const json_t *progress = ida_json_load(c->pool, task->progress ? task->progress : "{}");
    const char *twin = ida_json_string(progress, "twinId");
    *person = queue_person_of(task);
    ida_kind kind = task->object_id ? look(s, c, task->tenant, task->object_id, &user) : IDA_OK;
    if (!kind && user) {
        *person = governance_person(c->pool, user);
        person->address = task->person;
    } else if (twin) {
        person->other_id = twin;
    }
    return kind;
}

/* "Ann Berg, ann.berg@... (ID ...)" */
static const char *described(ida_ctx *c, const ida_user *user)
{
    const char *name = user->display_name, *upn = user->upn;
    return ida_printf(c->pool, "%s%s%s (ID %s)",
                      name ? ida_clean(c->pool, name, strlen(name), 128) : "",
                      name && upn ? ", " : "", upn ? upn : "", user->id);
}

static ida_kind refuse_stranger(store *s, ida_ctx *c, const ida_user *user, const ida_task *task)
{
    ida_user *theirs = NULL;
    const char *id = task->object_id ? task->object_id : task->who;
    ida_kind kind = look(s, c, task->tenant, id, &theirs);
    if (kind) {
        return kind;
    }
    ida_fail(c, IDA_CONFLICT,
             "The address %s is that of %s. The %s task %s (%s) was asked for under it for %s. "
             "Nothing was changed: name the person by object ID in place of the "
             "userPrincipalName, or cancel that task%s.",
             user->upn, described(c, user), ida_task_type_text(task->type), task->id,
             ida_task_state_text(task->state),
             theirs
                 ? described(c, theirs)
                 : ida_printf(c->pool, "an account that the directory no longer has (ID %s)", id),
             theirs ? ", or give it its time again with PATCH /v1/api/task, which gives it the "
                      "person's present address"
                    : "");
    return ida_because(c, "addressOfAnother",
                       ida_json_texts("taskId", task->id, "taskUserId", task->object_id, "userId",
                                      user->id, NULL));
}

ida_kind governance_whom(store *s, ida_ctx *c, const char *tenant, const char *named,
                         ida_user **user)
{
    ida_task *theirs = NULL;
    ida_kind kind = strchr(named, '@') ? cache_user_by_upn(s, c, tenant, named, user)
                                       : cache_user_details(s, c, tenant, named, user, NULL);
    if (kind) {
        return kind;
    }
    if (!(*user)->upn) {
        return ida_fail(c, IDA_CONFLICT,
                        "The account with the ID %s has no userPrincipalName: give it one in the "
                        "directory first.",
                        (*user)->id);
    }
    if (strchr(named, '@')) {
        const queue_person person = governance_person(c->pool, *user);
        kind = queue_task_stranger(s, c, tenant, &person, &theirs);
    }
    return kind || !theirs ? kind : refuse_stranger(s, c, *user, theirs);
}

/* No account has the address now: find the former owner by the tasks that were requested under
 * it. */
static ida_kind who_had(store *s, ida_ctx *c, const char *tenant, const char *address,
                        const char **id)
{
    const char **whos, *listed = "";
    int count = 0, found = 0;
    *id = NULL;
    ida_kind kind = queue_task_whos(s, c, tenant, address, WHOS_MAX, &whos, &count);
    for (int i = 0; !kind && i < count; i++) {
        if (!strchr(whos[i], '@')) {
            *id = found++ ? *id : whos[i];
            listed = ida_printf(c->pool, "%s%s%s", listed, *listed ? ", " : "", whos[i]);
        }
    }
    if (!kind && found > 1) {
        ida_fail(c, IDA_CONFLICT,
                 "Several people had the address %s, and none has it now: name one by ID (the "
                 "last who had it first): %s.",
                 address, listed);
        return ida_because(c, "addressOfSeveral", NULL);
    }
    return kind;
}

ida_kind governance_whom_past(store *s, ida_ctx *c, const char *tenant, const char *named,
                              queue_person *person, ida_user **user)
{
    const char *address = strchr(named, '@') ? ida_fold_address(c->pool, named) : NULL;
    const char *id = address ? NULL : named;
    ida_kind kind = look(s, c, tenant, named, user);
    if (!kind && !*user && address) {
        kind = who_had(s, c, tenant, address, &id);
        kind = kind || !id ? kind : look(s, c, tenant, id, user);
    }
    if (kind) {
        return kind;
    }
    *person = *user ? governance_person(c->pool, *user)
                    : (queue_person){.id = id,
                                     .other_id = id ? ida_ascii_small(c->pool, id) : NULL,
                                     .address = address};
    return IDA_OK;
}

ida_kind governance_whom_again(store *s, ida_ctx *c, const ida_task *task)
{
    ida_user *user = NULL, *other = NULL;
    if (!task->object_id) {
        return IDA_OK; /* a creation: there is no account yet */
    }
    ida_kind kind = look(s, c, task->tenant, task->object_id, &user);
    if (!kind && !user) {
        kind = look(s, c, task->tenant, task->upn, &other);
    }
    if (!kind && other) {
        ida_fail(c, IDA_CONFLICT,
                 "The account of task %s (ID %s) is gone from the directory, and its address %s "
                 "is that of %s. Nothing was changed: cancel the task, and ask anew for whom you "
                 "mean.",
                 task->id, task->object_id, task->upn, described(c, other));
        return ida_because(c, "addressOfAnother",
                           ida_json_texts("taskId", task->id, "taskUserId", task->object_id,
                                          "userId", other->id, NULL));
    }
    if (kind || !user || !user->upn || strcmp(user->upn, task->upn) == 0) {
        return kind;
    }
    const ida_task called = {.id = task->id,
                             .tenant = task->tenant,
                             .upn = user->upn,
                             .person = ida_fold_address(c->pool, user->upn),
                             .mail = user->mail,
                             .display_name = task->type == IDA_USER_UPDATE ? NULL
                                                                           : user->display_name};
    return queue_task_called(s, c, &called);
}
