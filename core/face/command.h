/* idadminctl's face of the operation table: turns words of a command line into a call, and the
 * answer into text for people. The program around it names the company, the actor and the store. */
#ifndef CORE_FACE_COMMAND_H
#define CORE_FACE_COMMAND_H

#include "core/operation/operation.h"

extern const ida_face ida_command_face;

/* The i-th argument of an operation, first of its query, then of its body; NULL after the last. */
const ida_param *ida_command_argument(const ida_operation *op, int i);

/* Name of an argument's option: "created-after". NULL if it has none, because it is positional
 * or the command sets it. */
const char *ida_command_option(apr_pool_t *pool, const ida_command *command, const ida_param *p);

/* What the help says about an argument: its row's sentence, and its words or its range of
 * numbers. */
const char *ida_command_about(apr_pool_t *pool, const ida_param *p);

/* Begins a question for asked->operation: query and body hold only what the command sets. */
void ida_command_begin(ida_ctx *c, ida_question *asked, const ida_command *command);
/* Puts a value of the command line into query or body. Faults are noted under the argument. */
void ida_command_put(ida_ctx *c, ida_question *asked, const char *argument, const char *value);

/* Checks module and arguments and runs the operation; `all`: all pages of its list, as one. */
ida_kind ida_command_run(ida_call *call, int all);

/* What is wrong with the command line, in its own words: "--limit must be ...". NULL: the call
 * failed for another reason, which is in call->c. */
const char *ida_command_fault(const ida_call *call, const ida_command *command);

/* The answer for people; `width`: columns of the terminal, 0: output is not a terminal. */
const char *ida_command_text(const ida_call *call, const ida_command *command, int width);

#endif
