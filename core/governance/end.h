/* The end of a company: everything that the store has of it but its audit log. */
#ifndef CORE_GOVERNANCE_END_H
#define CORE_GOVERNANCE_END_H

#include "core/store/store.h"

typedef struct governance_end {
    int64_t people, tasks, open_tasks, running, events, unsent, requests, assignments, keys;
} governance_end;

ida_kind governance_end_figures(store *s, ida_ctx *c, const char *tenant, governance_end *out);

/* The main file, in short transactions: keys first. Of a company whose document says that it is
 * deleted, so that nothing new comes. May be repeated. Audit records on their way, the counter of
 * events (a company of the same ID goes on from there) and the tenant's row stay. Role DB_REQUEST.
 */
ida_kind governance_end_main(store *s, ida_ctx *c, const char *tenant);
/* People and groups. Role DB_SYNC. */
ida_kind governance_end_cache(store *s, ida_ctx *c, const char *tenant);

#endif
