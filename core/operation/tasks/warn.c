/* Owns the warnings about what will delay queued work. Must not refuse anything. */
#include "core/operation/tasks/warn.h"

#include <string.h>

#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/store/directory.h"
#include "core/zone/schedule.h"

void ida_op_warn_of_refusal(ida_call *call, ida_ctx *c, const ida_user *user, json_t *warnings)
{
    if (user->anchor && !call->asked->tenant->has_directory[IDA_DIR_ON_PREMISES]) {
        json_array_append_new(
            warnings, json_string(ida_printf(
                          c->pool,
                          "%s comes from an on-premises directory that the tenant does not have "
                          "(onPremisesImmutableId): unless its synchronisation has ended, the "
                          "cloud directory refuses to disable the account. Disable it on-premises. "
                          "Sessions and groups of the cloud are revoked all the same.",
                          user->upn)));
    }
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
