/* The entries of the operation table, one file a subject, and what they share. */
#ifndef IDA_OP_H
#define IDA_OP_H

#include "core/operation.h"
#include "core/schedule.h"
#include "core/task.h"

#define IDA_PAGE_DEFAULT 50 /* specification 8 "Page size" */
#define IDA_PAGE_MAX 200

extern const ida_operation ida_op_user_get, ida_op_user_create, ida_op_user_delete;
extern const ida_operation ida_op_task_get, ida_op_task_list, ida_op_task_cancel;

/* Payload members of create and delete as parameters: OpenAPI and audit sanitising are made from them. */
extern const ida_param ida_create_params[], ida_delete_params[];

/* The common arguments `limit` and `cursor` of a list. */
#define IDA_LIST_PARAMS                                                                                      \
    {"limit", IDA_PARAM_INTEGER, 0, 1, IDA_PAGE_MAX, NULL, "Items on one page, 1 to 200; 50 when left out."}, \
    {"cursor", IDA_PARAM_STRING, 0, 0, 4096, NULL, "nextCursor of the page before; left out for the first page."}

/* Position a cursor argument points to (*position NULL without one) and the binding it is made for: tenant, operation and every
 * argument but the paging ones. Refuses foreign and altered cursors. */
ida_kind ida_op_cursor(ida_call *call, const char **position, int *limit);

/* Sets call->result to {items, totalCount, nextCursor, asOf}. Takes over `items`. next_position NULL: last page. */
ida_kind ida_op_page(ida_call *call, json_t *items, int64_t total, const char *next_position, int64_t as_of);

/* Due time, requester and steps of a new task. */
void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const ida_due *due);

/* Adds taskId, userPrincipalName, scheduledAt, scheduledAtUtc and warnings (borrowed) to call->result. */
void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings);

#endif
