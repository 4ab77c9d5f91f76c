/* The steps there are, and which function carries one out. */
#ifndef WORKER_RUN_STEPS_H
#define WORKER_RUN_STEPS_H

#include "worker/run/step.h"

/* NULL when this version does not know the step. */
step_function step_find(ida_task_type type, const ida_step *step);

step_end step_create_account(run *r);
step_end step_update_account(run *r);
step_end step_set_manager(run *r);
step_end step_set_photo(run *r);
step_end step_restore_memberships(run *r);
/* A role template that a creation was asked with. */
step_end step_assign_template(run *r);
step_end step_disable_account(run *r);
step_end step_revoke_sessions(run *r);
step_end step_revoke_memberships(run *r);
step_end step_verify(run *r);
step_end step_await_synchronisation(run *r);
/* Each step of an accessGrant or accessRevoke. */
step_end step_access(run *r);
/* Each action of a workflow. */
step_end step_workflow_action(run *r);

/* What kind of step it is, one of few constant words: for metrics. */
const char *step_word(ida_task_type type, const ida_step *step);

#endif
