/* A task and its steps as values. The words of states, types and outcomes are those that callers
 * see and the store contains. Knows no store. */
#ifndef CORE_MODEL_TASK_H
#define CORE_MODEL_TASK_H

#include <jansson.h>

#include "core/base/context.h"
#include "core/tenant/tenant.h"

typedef enum ida_task_type {
    IDA_USER_CREATE,
    IDA_USER_UPDATE,
    IDA_USER_DELETE,
    IDA_ACCESS_GRANT,
    IDA_ACCESS_REVOKE
} ida_task_type;
#define IDA_TASK_TYPES (IDA_ACCESS_REVOKE + 1)
typedef enum ida_task_state {
    IDA_QUEUED,
    IDA_RUNNING,
    IDA_DONE,
    IDA_FAILED,
    IDA_ATTENTION,
    IDA_CANCELLED
} ida_task_state;
typedef enum ida_outcome {
    IDA_STEP_NONE,
    IDA_STEP_DONE,
    IDA_STEP_ALREADY,
    IDA_STEP_SKIPPED,
    IDA_STEP_FAILED,
    IDA_STEP_UNKNOWN
} ida_outcome;

/* What people change about a task. */
typedef enum ida_task_verb {
    IDA_TASK_CANCEL,
    IDA_TASK_RESCHEDULE,
    IDA_TASK_RETRY,
    IDA_TASK_RELEASE,
    IDA_TASK_SETTLE /* idadminctl's alone */
} ida_task_verb;
#define IDA_TASK_VERBS 4 /* that callers are offered */

const char *ida_task_type_text(ida_task_type type);    /* "userCreate" ... */
int ida_task_type_parse(const char *text);             /* -1 unknown */
const char *ida_task_state_text(ida_task_state state); /* "queued" ... */
int ida_task_state_parse(const char *text);
const char *ida_outcome_text(ida_outcome outcome); /* "done" ...; NULL for none */
int ida_outcome_parse(const char *text);           /* NULL text: IDA_STEP_NONE */

typedef struct ida_step {
    int position;     /* from 1 */
    const char *name; /* createAccount ...; of a workflow's action its type */
    ida_outcome outcome;
    const char *detail; /* NULL when none */
    int64_t at;
    const char *workflow;  /* the workflow of an action; NULL: a step of the task itself */
    int workflow_position; /* of the action in that workflow, from 1 */
    const char *account;   /* it acts on the person's account in this directory, which is not the
                              task's; NULL: on the task's own */
    const json_t *revoked, *not_revoked; /* of a finished step that revokes memberships: groups;
                                            otherwise NULL */
} ida_step;

/* What people and programs are shown as the step's name: "createAccount", "verify@cloud" of another
 * account, "<workflow>/<position> <type>" of an action. */
const char *ida_step_shown(apr_pool_t *pool, const ida_step *step);

typedef struct ida_task {
    const char *id, *tenant;
    ida_task_type type;
    ida_task_state state;
    ida_directory_kind directory;
    /* The task's person: the ID of the account where it is mastered, once that is known; before
     * that the folded UPN, which only identifies people without an account. Order, locks and
     * queries use it, because an address may belong to another person by now. NULL in a task
     * that is being queued: object_id or else person. */
    const char *who;
    const char *person;   /* folded UPN under which it was requested */
    const char *other_id; /* of a task that is being queued: the person's account in the other
                             directory; NULL: none */
    const char *object_id, *upn, *mail, *display_name;
    const char *wall_date, *wall_time, *zone;
    int wall_fixed;
    int64_t due_at, next_at, created_at, started_at, finished_at, attempts;
    int64_t fence; /* of the present or last lease */
    const char *lease_owner;
    int64_t lease_until, heartbeat;
    int seat;
    const char *released; /* proof that a person released it from the brake; NULL: not released */
    int64_t probe_until;  /* for a task claimed as the probe of its held directory: how long that
                             hold keeps others away; 0: no probe */
    int disables;         /* the account, so the brake counts it; offboardings always do */
    int both; /* of a task that is being queued: steps for a person of both directories are wanted
               */
    const char *employee_id;      /* of a creation that is being queued */
    const json_t *role_templates; /* of a creation that is being queued: their names; NULL: none */
    const char *marker;
    const char *payload;  /* JSON text; read only where it is needed (it may contain a photo): NULL
                             in  lists */
    const char *progress; /* JSON text */
    const char *warnings; /* JSON array text */
    const char *error;
    const char *hold; /* reason while the task's directory is on hold, otherwise NULL (joined at
                         read) */
    int64_t hold_since, hold_until;
    const char *username, *label;
    const char *via;                 /* interface of the request: rest console command workflow */
    const char *correlation, *trace; /* of that request, as read; NULL: none */
    /* The last change by a person: action, by whom, when; NULL: none. */
    const char *change, *change_by;
    int64_t change_at;
    ida_step *steps;
    int step_count;
} ida_task;

/* The step of a creation that gives a role template has its name behind this. */
#define IDA_STEP_TEMPLATE "assignRoleTemplate "

/* 1 if the brake holds it: in `attention` and never started. */
int ida_task_braked(const ida_task *task);
/* Whether the rules of states allow the change now. The one place of these rules. */
int ida_task_allows(const ida_task *task, ida_task_verb verb);
int ida_task_verb_parse(const char *text); /* "cancel"; -1 unknown */

/* The form that REST and MCP show. New reference. */
json_t *ida_task_json(ida_ctx *c, const ida_task *task);

/* Whether an action of a workflow with this trigger applies to tasks of the type: those of the
 * trigger, and for an update that brings a person back also the password actions of creations. */
int ida_task_action_follows(ida_task_type type, const char *trigger, const char *action);

/* Gives a new task its steps, in pool: the built-in ones of its type, then each action of the
 * tenant's active workflows that follows such a task, and `verify` last for an offboarding.
 * task->both: the person is mastered on-premises and known in the cloud as well, or will be when
 * the tenant's directories synchronise: then some steps act on the cloud account, and
 * awaitSynchronisation lets the cloud follow. */
void ida_task_plan(apr_pool_t *pool, const ida_tenant *tenant, ida_task *task);

#endif
