/* State of a company's audit chain at the workers' last verification. */
#ifndef CORE_OPERATION_COMPANY_CHAIN_H
#define CORE_OPERATION_COMPANY_CHAIN_H

#include <jansson.h>

#include "core/store/chain_check.h"

/* "whole", "broken", "unverified": not verified yet. */
const char *ida_chain_state(const store_chain_check *check);

/* {state, firstId, lastId, verifiedTo, verifiedAt, brokenAt, reason, requestedAt, checkpoint}:
 * firstId and lastId of the present records, null if there are none; requestedAt while a
 * complete verification is requested and not done; checkpoint {number, hash, at}, the newest, or
 * null. In the context's pool. */
ida_kind ida_chain_json(store *s, ida_ctx *c, const char *tenant, json_t **out);

#endif
