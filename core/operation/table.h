/* The list of all operations: one line each, in the order of OpenAPI and tools. Each operation
 * has its row, `const ida_operation ida_op_NAME`, in a file of its own. */
#ifndef CORE_OPERATION_TABLE_H
#define CORE_OPERATION_TABLE_H

#include "core/operation/operation.h"

/* clang-format off */
#define IDA_OPERATIONS(X) \
    X(user_get) \
    X(user_create) \
    X(user_delete) \
    X(user_update) \
    X(task_get) \
    X(task_list) \
    X(events) \
    X(task_cancel) \
    X(task_reschedule) \
    X(task_retry) \
    X(task_release) \
    X(task_settle) \
    X(users_search) \
    X(user_details) \
    X(user_access) \
    X(resource_access) \
    X(hygiene) \
    X(audit_log) \
    X(role_templates) \
    X(role_template) \
    X(approvals) \
    X(workflows) \
    X(workflow_runs) \
    X(session) \
    X(companies) \
    X(tasks_change) \
    X(task_asked) \
    X(task_comments) \
    X(keys) \
    X(key_create) \
    X(key_rotate) \
    X(key_disable) \
    X(key_enable) \
    X(key_delete) \
    X(user_preview) \
    X(company) \
    X(settings) \
    X(settings_plan) \
    X(sync) \
    X(check) \
    X(check_report) \
    X(chain) \
    X(chain_verify) \
    X(evidence) \
    X(groups) \
    X(assignments) \
    X(role_assign) \
    X(role_unassign) \
    X(services) \
    X(requests) \
    X(request_create) \
    X(request_end) \
    X(request_decide) \
    X(hygiene_export) \
    X(audit_export) \
    X(pulse) \
    X(overview) \
    X(trends)
/* clang-format on */

#define IDA_OPERATION_ROW(name) extern const ida_operation ida_op_##name;
IDA_OPERATIONS(IDA_OPERATION_ROW)

extern const ida_operation *const ida_operations[]; /* all of them, NULL-terminated */

#endif
