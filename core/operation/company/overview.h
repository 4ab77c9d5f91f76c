/* What pulse and overview share. */
#ifndef CORE_OPERATION_COMPANY_OVERVIEW_H
#define CORE_OPERATION_COMPANY_OVERVIEW_H

#include "core/operation/company/health.h"

/* The data of an overview, so that nothing is read twice. Parts that the person has no right to
 * are NULL, or 0 with has_... */
typedef struct ida_overview {
    json_t *directories, *seats; /* borrowed */
    int workers;
    int64_t worker_seen_at;
} ida_overview;

/* Open requests that the signed-in person may decide, oldest first: how many, since when, and
 * [{requestId, userPrincipalName, displayName, reason}] of the first three (NULL: not wanted). */
ida_kind ida_requests_to_decide(ida_call *call, store *s, ida_ctx *c, int *count, int64_t *since,
                                json_t *sample);

/* The list of needs; new reference. */
ida_kind ida_needs(ida_call *call, store *s, ida_ctx *c, const ida_overview *seen, json_t **needs);

#endif
