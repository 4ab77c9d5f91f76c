/* idadminctl's face of the operation table: words of a command line into a call, the answer into
 * text for people. The program around it names the company, who acts and where the store is. */
#ifndef CORE_FACE_COMMAND_H
#define CORE_FACE_COMMAND_H

#include "core/operation/operation.h"

extern const ida_face ida_command_face;

/* The i-th argument of an operation, of its query and then of its body; NULL behind the last. */
const ida_param *ida_command_argument(const ida_operation *op, int i);

/* Name of the option that an argument is: "created-after". NULL when it is none, because its value
 * has a place behind the verb or is the command's own. */
const char *ida_command_option(apr_pool_t *pool, const ida_command *command, const ida_param *p);

/* What the help says about an argument: its row's sentence, and the words or numbers it can be. */
const char *ida_command_about(apr_pool_t *pool, const ida_param *p);

/* Begins a question of asked->operation: query and body are empty but for what the command gives.
 */
void ida_command_begin(ida_ctx *c, ida_question *asked, const ida_command *command);
/* Puts a value of the command line into query or body. Faults are noted under the argument. */
void ida_command_put(ida_ctx *c, ida_question *asked, const char *argument, const char *value);

/* Checks module and arguments and runs the operation; `all`: all pages of its list, as one. */
ida_kind ida_command_run(ida_call *call, int all);

/* What is wrong with the command line, in its own words: "--limit must be ...". NULL: the call
 * failed for another reason, which call->c tells. */
const char *ida_command_fault(const ida_call *call, const ida_command *command);

/* The answer for people; `width`: columns of the terminal, 0: it is none. */
const char *ida_command_text(const ida_call *call, const ida_command *command, int width);

#endif
