/* What the operations that change access share. */
#ifndef CORE_OPERATION_ACCESS_ACT_H
#define CORE_OPERATION_ACCESS_ACT_H

#include <apr_hash.h>

#include "core/governance/act.h"
#include "core/operation/operation.h"

/* Who acts in this call. */
governance_actor ida_op_actor(const ida_call *call);

/* What an act has set in motion, in the answer: message, taskIds, warnings; `also` beside them
 * (takes it over; may be NULL). Of a dry run the plan is all of its tasks. */
ida_kind ida_op_acted(ida_call *call, store *s, ida_ctx *c, const governance_orders *orders,
                      const char *upn, const char *message, json_t *also);

/* People by ID, or by UPN where no ID was noted, each looked up once; *user NULL: the tenant has no
 * such person. */
ida_kind ida_op_known_person(ida_call *call, apr_hash_t *known, const char *named,
                             const ida_user **user);

extern const ida_field ida_acted_members[];

#endif
