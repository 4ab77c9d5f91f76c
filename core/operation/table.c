/* The one list of operations. */
#include "core/operation/op.h"

const ida_operation *const ida_operations[] = {
    &ida_op_user_get,       &ida_op_user_create,  &ida_op_user_delete,
    &ida_op_user_update,    &ida_op_task_get,     &ida_op_task_list,
    &ida_op_events,         &ida_op_task_cancel,  &ida_op_task_reschedule,
    &ida_op_task_retry,     &ida_op_task_release, &ida_op_users_search,
    &ida_op_user_details,   &ida_op_user_access,  &ida_op_resource_access,
    &ida_op_hygiene,        &ida_op_audit_log,    &ida_op_role_templates,
    &ida_op_role_template,  &ida_op_approvals,    &ida_op_workflows,
    &ida_op_workflow_runs,  &ida_op_session,      &ida_op_companies,
    &ida_op_tasks_change,   &ida_op_keys,         &ida_op_key_create,
    &ida_op_key_rotate,     &ida_op_key_disable,  &ida_op_key_enable,
    &ida_op_key_delete,     &ida_op_user_preview, &ida_op_company,
    &ida_op_sync,           &ida_op_check,        &ida_op_check_report,
    &ida_op_chain,          &ida_op_chain_verify, &ida_op_evidence,
    &ida_op_groups,         &ida_op_assignments,  &ida_op_role_assign,
    &ida_op_role_unassign,  &ida_op_services,     &ida_op_requests,
    &ida_op_request_create, &ida_op_request_end,  &ida_op_request_decide,
    &ida_op_hygiene_export, &ida_op_audit_export, &ida_op_pulse,
    &ida_op_overview,       &ida_op_trends,       NULL,
};
