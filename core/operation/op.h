/* The entries of the operation table, one file a subject, and what they share. */
#ifndef CORE_OPERATION_OP_H
#define CORE_OPERATION_OP_H

#include "core/model/task.h"
#include "core/operation/operation.h"
#include "core/operation/page.h"
#include "core/zone/schedule.h"

struct ida_user;
struct ida_create;
struct ida_update;

extern const ida_operation ida_op_pulse, ida_op_overview, ida_op_trends;
extern const ida_operation ida_op_user_preview, ida_op_groups, ida_op_assignments,
    ida_op_role_assign, ida_op_role_unassign, ida_op_services, ida_op_requests,
    ida_op_request_create, ida_op_request_end, ida_op_request_decide;
extern const ida_operation ida_op_user_get, ida_op_user_create, ida_op_user_update,
    ida_op_user_delete;
extern const ida_operation ida_op_task_get, ida_op_task_list, ida_op_task_cancel,
    ida_op_task_reschedule, ida_op_task_retry, ida_op_task_release, ida_op_tasks_change,
    ida_op_events;
/* The read operations, which are the tools of MCP too. */
extern const ida_operation ida_op_users_search, ida_op_user_details, ida_op_user_access,
    ida_op_resource_access, ida_op_hygiene, ida_op_audit_log, ida_op_role_templates,
    ida_op_role_template, ida_op_approvals, ida_op_workflows, ida_op_workflow_runs;
/* The console's own. */
extern const ida_operation ida_op_session, ida_op_companies;
extern const ida_operation ida_op_keys, ida_op_key_create, ida_op_key_rotate, ida_op_key_disable,
    ida_op_key_enable, ida_op_key_delete, ida_op_company, ida_op_sync, ida_op_check,
    ida_op_check_report, ida_op_chain, ida_op_chain_verify, ida_op_evidence, ida_op_hygiene_export,
    ida_op_audit_export;

/* The common arguments `limit` and `cursor` of a list. */
#define IDA_LIST_PARAMS                                                       \
    {"limit",                                                                 \
     IDA_PARAM_INTEGER,                                                       \
     .min = 1,                                                                \
     .max = IDA_PAGE_MAX,                                                     \
     .fallback = IDA_PAGE_DEFAULT,                                            \
     .about = "Items a page."},                                               \
    {                                                                         \
        "cursor", IDA_PARAM_STRING, .about = "nextCursor of the page before." \
    }

/* --- writes (core/operation/write.c) --- */

/* Carries out a write's `work` in one transaction, which also keeps its audit record, and the
 * answer under the request's idempotency key, so that a parallel twin waits and then replays. Of a
 * dry run everything is taken back and call->result is the plan. */
ida_kind ida_op_write(ida_call *call);

/* Whether key or roles of the caller have a right; IDA_RIGHT_NONE: always. */
int ida_call_may(const ida_call *call, ida_right right);
/* IDA_FORBIDDEN naming the argument whose right the caller does not have. */
ida_kind ida_op_argument_right(ida_call *call, const ida_param *p);
/* Takes members out of the result whose right the caller does not have, and names them in
 * `omitted`, such as "user.pendingTasks". */
void ida_op_omit(ida_call *call);

/* Puts call->ignored before the warnings of the result. */
void ida_op_warn_ignored(ida_call *call);

/* IDA_SERVICE_UNAVAILABLE, in words for the caller, while a directory of the tenant has not
 * completed its first sync (or since a reset): asks the store. */
ida_kind ida_op_synced(ida_call *call, store *s);

/* Before the arguments are looked at: call->replayed with the first answer when its key is known
 * with this request; IDA_UNPROCESSABLE when it is known with another one. */
ida_kind ida_op_replay(ida_call *call);

/* `dryRun` of every write, and the table of writes that have no other argument. */
#define IDA_DRY_RUN_PARAM                                                                         \
    {                                                                                             \
        "dryRun", IDA_PARAM_BOOLEAN,                                                              \
            .about =                                                                              \
                "true: every check is made and the plan returned; nothing is reserved or queued." \
    }
extern const ida_param ida_write_params[];

/* Due time, requester and steps of a new task. */
void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const zone_due *due);
/* {used, limit}; used null: before the first synchronisation it would be a guess; limit null: none.
 * New reference. */
ida_kind ida_op_seats(store *s, ida_ctx *c, const ida_tenant *tenant, json_t **seats);
/* Says beforehand that the brake will likely hold a task that disables an account. */
ida_kind ida_op_warn_of_brake(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                              json_t *warnings);
/* Leaves a step out again that the task does not need. */
void ida_op_drop_step(ida_task *task, const char *name, const char *account);

/* The task's row, object and directory of a person: acted on first where the account is mastered,
 * so a person in both directories is the premises'. */
ida_task *ida_op_task_of(ida_call *call, ida_ctx *c, ida_task_type type,
                         const struct ida_user *user);

/* IDA_NOT_FOUND for a person that the cache does not know, naming the creation that is still
 * queued. */
ida_kind ida_op_no_such_user(ida_call *call, store *s, ida_ctx *c, const char *upn);
/* IDA_BAD_REQUEST unless the manager exists in the tenant or is queued for creation (*manager
 * NULL); looked up again when the step runs. */
ida_kind ida_op_manager_known(ida_call *call, store *s, ida_ctx *c, const char *upn,
                              struct ida_user **manager);
/* Notes in the payload whom the manager's UPN meant, so that the step means the same person. */
void ida_op_note_manager(ida_ctx *c, ida_task *task, const struct ida_user *manager);

/* Queues an update of a person (core/operation/update.c), inside a write's transaction under the
 * tenant's lock: its seat, manager and what else is queued for the person are looked at. For PATCH
 * and for a rehire that restores. */
ida_kind ida_op_queue_update(ida_call *call, store *s, ida_ctx *c, const struct ida_user *user,
                             struct ida_update *update, const zone_due *due, ida_task **task);

/* A creation's employeeId against those who were here before (core/operation/rehire.c). *restored:
 * the payload asked to restore and call->result is complete; else the creation goes on.
 * IDA_CONFLICT names whom it belongs to. `warnings` are the answer's. */
ida_kind ida_op_rehire(ida_call *call, store *s, ida_ctx *c, const struct ida_create *person,
                       const zone_due *due, json_t *warnings, int *restored);

/* Who has this employeeId, as [{userPrincipalName, state, taskId}]. New reference. */
ida_kind ida_op_same_employee(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                              json_t **people);
/* UPN and mail of a new person, from the local parts that the formats give: the first that are
 * free. `task_id`: whose own reservations do not count; NULL: nobody's. */
ida_kind ida_op_choose_names(store *s, ida_ctx *c, const ida_tenant *tenant, const char *upn_local,
                             const char *mail_local, const char *task_id, char **upn, char **mail);

/* "it is carried out at ...", for people. */
const char *ida_op_when(ida_ctx *c, const ida_task *task, const zone_due *due);
/* Members of an answer of such a write. */
extern const ida_field ida_queued_members[];
/* Adds taskId, userPrincipalName, scheduledAt, scheduledAtUtc and warnings (borrowed) to
 * call->result. */
void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings);

#endif
