/* Commands that are operations, and calls of operations for commands that are more than one. */
#ifndef WORKER_CTL_OPERATION_H
#define WORKER_CTL_OPERATION_H

#include "core/face/command.h"
#include "worker/ctl/ctl.h"

/* The command is its operation, and nothing else. */
int ctl_operation(ctl_call *ctl);

/* The parts of it. _begin: a call with the values that the command line's row gives, of the company
 * of the first argument; _run: begun, filled from the command line and run; _end: the answer or
 * what is wrong, and the exit status. */
ida_kind ctl_operation_begin(ctl_call *ctl, const ida_operation *op, const ida_command *row,
                             ida_call *call, ida_question **asked);
ida_kind ctl_operation_run(ctl_call *ctl, ida_call *call);
int ctl_operation_end(ctl_call *ctl, const ida_call *call, ida_kind kind);

/* Those with something of their own beside the operation. */
int ctl_user_show(ctl_call *ctl);
int ctl_task_release(ctl_call *ctl);
int ctl_audit_export(ctl_call *ctl);

#endif
