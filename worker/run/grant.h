/* Granting and revoking access in a directory, during a run: for the steps of accessGrant and
 * accessRevoke, and for workflow actions within their own task. Each item is read, granted or
 * revoked, written through and recorded; a repeated run recognises its own work
 * (core/governance/grant.h). */
#ifndef WORKER_RUN_GRANT_H
#define WORKER_RUN_GRANT_H

#include "worker/run/step.h"

/* For the workflow actions assignRoleTemplate and unassignRoleTemplates: the person of the run's
 * task (object_id must be known), the run's directory. STEP_ON: the current step has its outcome
 * and detail, `failed` if something was refused for good; the caller decides whether that ends
 * the task (r->failure is not changed). Otherwise how the step must end, as from run_fails.
 * Items of the other directory go to a task of their own if the person has an account there.
 * `template`: name or ID. */
step_end run_assign_template(run *r, const char *template);
step_end run_unassign_templates(run *r);

/* Adds or removes one membership of the account, and updates the cache if the directory answers
 * OK or ALREADY. STEP_ON: e->class has the answer. `first`, if not NULL, is set if the answer is
 * that of the only call made: otherwise ALREADY may be our own work. */
step_end run_change_member(run *r, const char *group_id, int add, int *first, directory_error *e);
/* For an offboarding: licences that a call removed are recorded with what was revoked. */
step_end run_note_licenses(run *r, directory_error *e);

#endif
