/* How far each tenant's audit records were sent to another machine. Knows nothing of that machine.
 */
#ifndef CORE_STORE_FORWARD_H
#define CORE_STORE_FORWARD_H

#include "core/store/audit.h"

/* Two workers that send the same records do no harm, for each sends them in order from what was
 * taken; so this is short. */
#define STORE_FORWARD_LEASE_MS 15000

typedef struct store_forward {
    const char *tenant;
    int64_t last;  /* number of the newest record of the chain */
    int64_t first; /* the record before the first one that retention left */
    int64_t sent;  /* the last one that was taken; never below `first` */
    int64_t
        taken; /* the same as the row has it; below `first`: records went before they were sent */
} store_forward;

/* The tenants with records to send, those after `after` in the order of IDs, at most `max`. */
ida_kind store_forward_due(store *s, ida_ctx *c, const char *after, int max,
                           const store_forward **list, int *count);
/* For this long no other worker sends the tenant's records. 0: another one does. `f` is as the row
 * is now. */
ida_kind store_forward_claim(store *audit, ida_ctx *c, const char *owner, store_forward *f,
                             int *claimed);
/* The records after f->sent, at most `max`. */
ida_kind store_forward_page(store *s, ida_ctx *c, const store_forward *f, int max,
                            const audit_row **rows, int *count);
/* They were taken up to `seq`. IDA_CONFLICT: another worker has them. */
ida_kind store_forward_taken(store *audit, ida_ctx *c, const char *owner, store_forward *f,
                             int64_t seq);

/* What a tenant has waiting; oldest: ms UTC of the first of them, 0: none. */
typedef struct store_backlog {
    int64_t records, oldest;
} store_backlog;

ida_kind store_forward_backlog(store *s, ida_ctx *c, const char *tenant, store_backlog *out);

#endif
