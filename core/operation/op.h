/* What the operations share with the pipeline: common arguments, the transaction of a write,
 * what the caller may see. */
#ifndef CORE_OPERATION_OP_H
#define CORE_OPERATION_OP_H

#include "core/operation/operation.h"
#include "core/operation/page.h"

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

/* Runs a write's `work` in one transaction, which also stores its audit record, and the answer
 * under the request's idempotency key, so that a parallel duplicate waits and then replays. A
 * dry run rolls everything back, and call->result is the plan. */
ida_kind ida_op_write(ida_call *call);

/* Whether the caller's key or roles have a right; IDA_RIGHT_NONE: always. */
int ida_call_may(const ida_call *call, ida_right right);
/* IDA_FORBIDDEN naming the argument whose right the caller lacks. */
ida_kind ida_op_argument_right(ida_call *call, const ida_param *p);
/* Removes members from the result whose right the caller lacks, and names them in `omitted`,
 * such as "user.pendingTasks". */
void ida_op_omit(ida_call *call);

/* Puts call->ignored before the warnings of the result. */
void ida_op_warn_ignored(ida_call *call);

/* IDA_SERVICE_UNAVAILABLE, in words for the caller, while a directory of the tenant has not
 * completed its first sync (or the first after a reset); reads the store. */
ida_kind ida_op_synced(ida_call *call, store *s);
/* IDA_SERVICE_UNAVAILABLE for a write of a paused company, and for each after another program has
 * upgraded the schema. Locks the tenant's row, so that no write
 * ends behind a pause or a deletion: the one place where the transaction of an operation does. */
ida_kind ida_op_in_service(ida_call *call, store *s, ida_ctx *c);

/* Before the arguments are checked: sets call->replayed with the first answer if the key is
 * known with this request; IDA_UNPROCESSABLE if it is known with another one. */
ida_kind ida_op_replay(ida_call *call);

/* `dryRun` of every write, and the table of a write that has no other argument. */
#define IDA_DRY_RUN_PARAM                                                                         \
    {                                                                                             \
        "dryRun", IDA_PARAM_BOOLEAN,                                                              \
            .about =                                                                              \
                "true: every check is made and the plan returned; nothing is reserved or queued." \
    }
extern const ida_param ida_write_params[];

/* `comment` of what queues or changes a task, and the table of a write that has no other argument
 * beside these two. */
#define IDA_COMMENT_MAX 500 /* UTF-16 units */
#define IDA_COMMENT_PARAM                                                                   \
    {                                                                                       \
        "comment", IDA_PARAM_STRING,                                                        \
            .max = IDA_COMMENT_MAX,                                                         \
            .about = "Why, in words for colleagues; the audit record of the call keeps it." \
    }
extern const ida_param ida_request_params[];

/* {used, limit}; used null: before the first synchronisation it would be a guess; limit null:
 * none. New reference. */
ida_kind ida_op_seats(store *s, ida_ctx *c, const ida_tenant *tenant, json_t **seats);

#endif
