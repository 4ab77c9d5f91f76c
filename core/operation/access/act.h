/* What the operations that change access share. */
#ifndef CORE_OPERATION_ACCESS_ACT_H
#define CORE_OPERATION_ACCESS_ACT_H

#include "core/governance/act.h"
#include "core/operation/page.h"

/* The actor of this call. */
governance_actor ida_op_actor(const ida_call *call);

/* What an act has started, in the answer: message, taskIds, warnings; and `also` (takes it over;
 * may be NULL). In a dry run the plan is all of its tasks. */
ida_kind ida_op_acted(ida_call *call, store *s, ida_ctx *c, const governance_orders *orders,
                      const char *upn, const char *message, json_t *also);

extern const ida_field ida_acted_members[];

#endif
