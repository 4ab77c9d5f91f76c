/* Actions of workflows, carried out after the account's own steps. What an action is to do is read
 * from the tenant's sealed document when it runs. */
#ifndef WORKER_RUN_ACTIONS_H
#define WORKER_RUN_ACTIONS_H

#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/queue/workflow.h"
#include "worker/run/meant.h"

/* --- for run.c --- */

/* First of all calls: what earlier tries left. */
void actions_begin(run *r);
/* 1 when the step is an action that failed for good in an earlier try. */
int action_ended(const run *r, const ida_step *step);
/* The result of the present action for its workflow's run, to be stored in the transaction of
 * the step's record. */
const queue_workflow_news *action_told(run *r);
/* For the transaction in which the task goes back to the queue because of it. */
const queue_workflow_news *action_waits(run *r, const char *reason);
/* Failed actions as warnings and as the failure of the task. Repeatable. */
void actions_sum_up(run *r);

/* --- for worker/run/account.c --- */

/* The account of the current step is gone, and another account has its address. For an action this
 * is stored, so that the task ends `attention` whatever later actions do. */
void action_meets_stranger(run *r);

/* --- for worker/run/steps_hybrid.c --- */

/* The action of a step in the document; NULL: the step is not an action, or the document no
 * longer has it. */
const json_t *action_settings(const run *r, const ida_step *step);

/* --- for worker/run/steps_delete.c --- */

/* Name of the group if an action of this task added the person to it, so that `verify` does not
 * remove them; otherwise NULL. */
const char *action_granted(const run *r, const char *group_id);

/* --- worker/run/actions_state.c, for actions.c --- */

/* The action in the document. The document may have changed since the task was queued: an action
 * that is not the one that the step names is not carried out; then the result is NULL and *why
 * has the reason. *differs: the workflow exists, with another action in that position. */
const json_t *action_find(const run *r, const ida_step *step, const char **why, int *differs);
/* The action of the same workflow whose failure ended the workflow, or NULL. */
const ida_step *action_blocker(run *r);
/* Tries count for one action at a time: a slow receiver does not use up those of the next. */
void action_count_anew(run *r);
/* Ends the step with this outcome: the rest of its workflow is skipped unless the action has
 * continueOnError. */
step_end action_give_up(run *r, ida_outcome outcome);
/* The workflow now demands another action in this position: an administrator must look. */
void action_changed(run *r);

/* --- for actions_*.c --- */

/* The meaning of an answer about the account: STEP_ON if the directory made the change or needed
 * none; otherwise how the action ends. */
step_end action_answered(run *r, const directory_error *e);
/* Notes that the person is in this group by an action's doing. */
void action_grants(run *r, const ida_group *group);
/* This step, an action or a rehire's, put the person into the group: the membership is attributed
 * to it from then on. */
void action_gave(run *r, const char *group_id);
/* A text of the settings; "" when absent. */
const char *action_text(const run *r, const char *member);

/* Each ends as a step does; what it is to do is in r->settings, of which account in r->account. */

#define ACTION(word, function, of_account, ...) step_end function(run *r);
#include "core/tenant/actions.def"
#undef ACTION

/* --- worker/run/actions_text.c --- */

/* The person of the task, for texts: values of the request, otherwise of the cache; all cleaned,
 * "" if absent. */
typedef struct person {
    const char *firstname, *middle_name, *surname, *display_name, *upn, *mail, *department,
        *job_title, *company;
    const char *manager_upn, *manager_name, *manager_mail;
    meant manager;
    const char *date, *time; /* of the task, local */
} person;

/* STEP_ON, or STEP_LATER when the cache cannot be read. */
step_end run_person_read(run *r, person *p);
/* Checks that a password may be set for the task's account, whose `person` has been read: *p's
 * manager becomes the one that the directory showed, or that the creation named, when the task
 * was requested. STEP_FAILED with the reason if this task neither created nor restored the
 * account, because the right to change a person must not give access to the password. */
step_end run_person_owner(run *r, person *p, const char *recipient);
/* `text` with its placeholders filled in. */
const char *run_person_fill(apr_pool_t *pool, const person *p, const char *text);
/* The person as JSON, for receivers. New reference. */
json_t *run_person_json(const run *r, const person *p);
/* Address of a recipient ("{manager}", "{mail}", "{userPrincipalName}" or an address); otherwise
 * NULL, and *end says how the action ends. */
const char *run_person_address(run *r, const person *p, const char *recipient, step_end *end);

#endif
