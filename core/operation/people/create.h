/* The names of a new person. */
#ifndef CORE_OPERATION_PEOPLE_CREATE_H
#define CORE_OPERATION_PEOPLE_CREATE_H

#include "core/operation/operation.h"

/* The first free UPN and mail of a new person, from the local parts that the formats give.
 * `task_id`: the task whose own reservations do not count; NULL: none. */
ida_kind ida_op_choose_names(store *s, ida_ctx *c, const ida_tenant *tenant, const char *upn_local,
                             const char *mail_local, const char *task_id, char **upn, char **mail);

#endif
