/* Owns the warnings about what will delay queued work. Must not refuse anything. */
#include "core/operation/tasks/warn.h"

#include <string.h>

#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/governance/named.h"
#include "core/store/directory.h"
#include "core/zone/schedule.h"

/* The entry of protectedAccounts that means this person; NULL: none. */
static const char *protecting(ida_call *call, ida_ctx *c, const json_t *named, const ida_user *user)
{
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        const json_t *list = json_object_get(call->asked->tenant->directory[d],
                                             "protectedAccounts"),
                     *one;
        size_t i;
        json_array_foreach ((json_t *)(uintptr_t)list, i, one) {
            const char *name = json_string_value(one),
                       *id = governance_named_id(c->pool, named,
                                                 ida_directory_name((ida_directory_kind)d), name);
            if (id ? governance_user_is(user, id)
                   : governance_user_is(user, name) ||
                         strcmp(ida_fold_address(c->pool, name),
                                ida_fold_address(c->pool, user->upn ? user->upn : "")) == 0) {
                return name;
            }
        }
    }
    return NULL;
}

ida_kind ida_op_warn_of_refusal(ida_call *call, store *s, ida_ctx *c, const ida_user *user,
                                json_t *warnings)
{
    const json_t *named;
    const char *text = NULL, *name;
    ida_kind kind = governance_named(s, c, call->asked->tenant->id, &named);
    if (!kind && (name = protecting(call, c, named, user)) != NULL) {
        text = ida_printf(
            c->pool,
            "%s is one of protectedAccounts (%s): unless it is taken off that list by "
            "then, nothing is done to the account.",
            user->upn, name);
    } else if (user->anchor && !call->asked->tenant->has_directory[IDA_DIR_ON_PREMISES]) {
        text = ida_printf(c->pool,
                          "%s comes from an on-premises directory that the tenant does not have "
                          "(onPremisesImmutableId): unless its synchronisation has ended, the "
                          "cloud directory refuses to disable the account. Disable it on-premises. "
                          "Sessions and groups of the cloud are revoked all the same.",
                          user->upn);
    }
    if (text) {
        json_array_append_new(warnings, json_string(text));
    }
    return kind;
}

ida_kind ida_op_warn_of_hold(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                             json_t *warnings)
{
    store_directory state;
    ida_kind kind = store_directory_get(s, c, task->tenant, task->directory, &state);
    if (!kind && state.hold_reason) {
        json_array_append_new(
            warnings,
            json_string(ida_printf(
                c->pool,
                "The directory %s is held since %s: %s Tasks for it wait until it answers again.",
                ida_directory_name(task->directory),
                zone_schedule_people(c, call->asked->tenant->time_zone, state.hold_since),
                ida_clean(c->pool, state.hold_reason, strlen(state.hold_reason), 300))));
    }
    return kind;
}
