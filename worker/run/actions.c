/* Owns carrying out the action of a workflow, and what its end means for the step. Must not know
 * the meaning of a single action. */
#include "worker/run/actions.h"

#include <string.h>

#include "core/tenant/shape.h"
#include "worker/hold/rules.h"
#include "worker/run/steps.h"

typedef struct action {
    const char *type;
    step_function function;
    int of_account; /* nothing to do where there is no account */
} action;

static const action actions[] = {
#define ACTION(word, function, of_account, ...) {word, function, of_account},
#include "core/tenant/actions.def"
#undef ACTION
};

static step_end carry_out(run *r)
{
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].type, r->step.name) == 0) {
            return actions[i].of_account && !r->account->object_id
                       ? step_says(r, IDA_STEP_SKIPPED, "the directory has no such account")
                       : actions[i].function(r);
        }
    }
    return step_fails(r, "This version of idadmin-worker does not know actions of the type %s.",
                      r->step.name);
}

static step_end conclude(run *r, step_end end)
{
    if (end == STEP_FAILED || (end == STEP_ON && r->step.outcome == IDA_STEP_FAILED)) {
        return action_give_up(r, IDA_STEP_FAILED);
    }
    if ((end == STEP_LATER || end == STEP_UNSURE) && run_last_try(r)) {
        r->step.detail = ida_printf(r->pool, "given up after %d tries: %s", TRIES_MAX,
                                    r->step.detail ? r->step.detail
                                                   : "it could not be carried out");
        action_count_anew(r);
        return action_give_up(r, end == STEP_UNSURE ? IDA_STEP_UNKNOWN : IDA_STEP_FAILED);
    }
    if (end == STEP_ON) {
        action_count_anew(r);
    }
    return end;
}

step_end step_workflow_action(run *r)
{
    const ida_step *failed = action_blocker(r);
    const char *changed = NULL;
    int differs = 0;
    r->settings = failed ? NULL : action_find(r, &r->step, &changed, &differs);
    if (failed) {
        return step_says(r, IDA_STEP_SKIPPED,
                         failed->outcome == IDA_STEP_UNKNOWN
                             ? "not carried out, because the outcome of %s is unknown"
                             : "not carried out, because %s failed",
                         ida_step_shown(r->pool, failed));
    }
    if (!r->settings) {
        if (differs) { /* an action that the workflow demands now was not carried out for this
                          person: an administrator must look */
            action_changed(r);
        }
        return step_says(r, IDA_STEP_SKIPPED, "not carried out: %s", changed);
    }
    return conclude(r, carry_out(r));
}
