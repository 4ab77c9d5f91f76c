/* Commands that are operations, and calls of operations for commands that do more. */
#ifndef WORKER_CTL_OPERATION_H
#define WORKER_CTL_OPERATION_H

#include "core/face/command.h"
#include "worker/ctl/ctl.h"

/* Runs a command that is exactly its operation. */
int ctl_operation(ctl_call *ctl);

/* Its parts. _begin: a call with the fixed values of the command's row, for the company in the
 * first argument; _run: begin, fill from the command line and run; _end: prints the answer or
 * the error, and returns the exit status. */
ida_kind ctl_operation_begin(ctl_call *ctl, const ida_operation *op, const ida_command *row,
                             ida_call *call, ida_question **asked);
ida_kind ctl_operation_run(ctl_call *ctl, ida_call *call);
int ctl_operation_end(ctl_call *ctl, const ida_call *call, ida_kind kind);

/* Commands that do more than the operation. */
int ctl_user_show(ctl_call *ctl);
int ctl_task_release(ctl_call *ctl);
int ctl_audit_export(ctl_call *ctl);

#endif
