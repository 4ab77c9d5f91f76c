/* Owns the table of steps by name. Knows nothing of what they do. */
#include "worker/run/steps.h"

#include <string.h>

static const struct {
    const char *name;
    step_function function;
} steps[] = {
    {"createAccount", step_create_account},
    {"setManager", step_set_manager},
    {"setPhoto", step_set_photo},
    {"disableAccount", step_disable_account},
    {"revokeSessions", step_revoke_sessions},
    {"revokeMemberships", step_revoke_memberships},
    {"verify", step_verify},
    {"updateAccount", step_update_account},
    {"restoreMemberships", step_restore_memberships},
    {"awaitSynchronisation", step_await_synchronisation},
};

step_function step_find(ida_task_type type, const ida_step *step)
{
    if (type == IDA_ACCESS_GRANT || type == IDA_ACCESS_REVOKE) {
        return step_access; /* named after what it gives or takes, which any name may be */
    }
    if (step->workflow) {
        return step_workflow_action;
    }
    if (strncmp(step->name, IDA_STEP_TEMPLATE, strlen(IDA_STEP_TEMPLATE)) == 0) {
        return step_assign_template;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(steps[i].name, step->name) == 0) {
            return steps[i].function;
        }
    }
    return NULL;
}

const char *step_word(ida_task_type type, const ida_step *step)
{
    if (type == IDA_ACCESS_GRANT || type == IDA_ACCESS_REVOKE) {
        return "access";
    }
    for (size_t i = 0; !step->workflow && i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(steps[i].name, step->name) == 0) {
            return steps[i].name;
        }
    }
    return "action";
}
