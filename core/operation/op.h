/* The entries of the operation table, one file a subject, and what they share. */
#ifndef CORE_OPERATION_OP_H
#define CORE_OPERATION_OP_H

#include "core/model/task.h"
#include "core/operation/operation.h"
#include "core/zone/schedule.h"

struct ida_user;
struct ida_create;
struct ida_update;

#define IDA_PAGE_DEFAULT 50 /* specification 8 "Page size" */
#define IDA_PAGE_MAX 200

extern const ida_operation ida_op_user_get, ida_op_user_create, ida_op_user_update,
    ida_op_user_delete;
extern const ida_operation ida_op_task_get, ida_op_task_list, ida_op_task_cancel,
    ida_op_task_reschedule, ida_op_task_retry, ida_op_task_release;
/* The read operations, which are the tools of MCP too. */
extern const ida_operation ida_op_users_search, ida_op_user_details, ida_op_user_access,
    ida_op_resource_access, ida_op_hygiene, ida_op_audit_log, ida_op_role_templates,
    ida_op_role_template, ida_op_approvals, ida_op_workflows, ida_op_workflow_runs;

/* Payload members of create, update and delete as parameters: OpenAPI and audit sanitising are made
 * from them. */
extern const ida_param ida_create_params[], ida_delete_params[], ida_update_params[];

/* Texts of a person that creations and updates alike take; `TEXT(name, most characters, about)`
 * makes a parameter of each. */
#define IDA_PROFILE_PARAMS(TEXT)                                                                \
    TEXT("middleName", 64, "Middle name."), TEXT("jobTitle", 128, "Job title."),                \
        TEXT("department", 64, "Department."), TEXT("company", 64, "Company name."),            \
        TEXT("office", 128, "Office location."), TEXT("city", 128, "City."),                    \
        TEXT("country", 128, "Country; an ISO 3166-1 alpha-2 code is recommended."),            \
        TEXT("streetAddress", 1024, "Street address."), TEXT("postalCode", 40, "Postal code."), \
        TEXT("preferredLanguage", 128, "BCP 47 language tag, such as sv-SE."),                  \
        TEXT("employeeId", 16, "The person's number in the HR system.")

/* The common arguments `limit` and `cursor` of a list. */
#define IDA_LIST_PARAMS                                                               \
    {"limit", IDA_PARAM_INTEGER, 0, 1, IDA_PAGE_MAX, NULL, "Page size; default 50."}, \
    {                                                                                 \
        "cursor", IDA_PARAM_STRING, 0, 0, 0, NULL, "nextCursor of the page before."   \
    }

/* Position a cursor argument points to (*position NULL without one) and the binding it is made for:
 * tenant, operation and every argument but the paging ones. Refuses foreign and altered cursors. */
ida_kind ida_op_cursor(ida_call *call, const char **position, int *limit);

int ida_op_limit(const ida_call *call);

/* The same with a position of several values, `form` a letter for each: s text, i number. *position
 * NULL at the first page, else an array of the pool. `filters`: what the cursor is bound to beside
 * tenant and operation; NULL: every argument but the paging ones. */
ida_kind ida_op_position(ida_call *call, const json_t *filters, const char *form,
                         json_t **position);
/* Values of a position; "" and 0 of none. */
const char *ida_op_text_at(const json_t *position, int i);
int64_t ida_op_number_at(const json_t *position, int i);
/* A position of such values, in the order of `form` (s: const char *, i: int64_t), whatever bytes
 * the store holds. Never NULL. */
json_t *ida_op_place(const char *form, ...);
/* Cursor of the next page; takes over `position`, NULL gives NULL. */
ida_kind ida_op_next(ida_call *call, const json_t *filters, json_t *position, const char **cursor);
/* ida_op_page with a position of several values; takes over `items` and `next`. */
ida_kind ida_op_list(ida_call *call, json_t *items, int64_t total, json_t *next, int64_t as_of);

/* Sets call->result to {items, totalCount, nextCursor, asOf}. Takes over `items`. next_position
 * NULL: last page. */
ida_kind ida_op_page(ida_call *call, json_t *items, int64_t total, const char *next_position,
                     int64_t as_of);

/* --- writes (core/operation/write.c) --- */

/* The run function of a write: `work` with the call as baton in one transaction, which also keeps
 * the answer under the request's idempotency key, so that a parallel twin waits and then replays.
 * Of a dry run everything is taken back and call->result is the plan. `work` fills result and
 * planned. */
ida_kind ida_op_write(ida_call *call, store_work work);

/* IDA_SERVICE_UNAVAILABLE, in words for the caller, while a directory of the tenant has not
 * completed its first sync (or since a reset): asks the store. */
ida_kind ida_op_synced(ida_call *call);

/* Before the arguments are looked at: call->replayed with the first answer when its key is known
 * with this request; IDA_UNPROCESSABLE when it is known with another one. */
ida_kind ida_op_replay(ida_call *call);

/* `dryRun` of every write. */
#define IDA_DRY_RUN_PARAM                                                                     \
    {                                                                                         \
        "dryRun", IDA_PARAM_BOOLEAN, IDA_PARAM_QUERY, 0, 0, NULL,                             \
            "true: every check is made and the plan returned; nothing is reserved or queued." \
    }

/* Due time, requester and steps of a new task. */
void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const zone_due *due);
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
/* IDA_BAD_REQUEST unless the manager exists in the tenant or is queued for creation; looked up
 * again when the step runs. */
ida_kind ida_op_manager_known(ida_call *call, store *s, ida_ctx *c, const char *upn);

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

/* Adds taskId, userPrincipalName, scheduledAt, scheduledAtUtc and warnings (borrowed) to
 * call->result. */
void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings);

#endif
