/* How far the chains of audit records were verified. Requests for a verification are in the main
 * file, results in the audit's. */
#ifndef CORE_STORE_CHAIN_CHECK_H
#define CORE_STORE_CHAIN_CHECK_H

#include "core/store/audit.h"

/* Clocks of nodes differ by less. A time that lies farther ahead was not written by a worker, and
 * counts as long ago. */
#define STORE_CLOCKS_APART_MS INT64_C(300000)

typedef struct store_chain_check {
    int64_t requested_at; /* when a verification from the beginning was requested; 0: not
                             requested */
    int64_t wished;       /* the same, also when it was answered */
    int64_t claimed_at;   /* a worker began then */
    int64_t verified_to, verified_at, full_at; /* full_at: from the beginning; 0: never */
    const char *hash;                          /* of record verified_to */
    int64_t broken_at;                         /* 0: whole as far as it was verified */
    const char *reason;
    int64_t strays;    /* what no record made (core/queue/verify.h); to be kept as they were: -1 */
    const char *stray; /* the first of them, a sentence */
} store_chain_check;

/* All zero if it was never verified (not IDA_NOT_FOUND). */
ida_kind store_chain_check_get(store *s, ida_ctx *c, const char *tenant, store_chain_check *out);
ida_kind store_chain_check_request(store *s, ida_ctx *c, const char *tenant);
/* A tenant whose chain must be verified: it was requested, or the last start was before `before` or
 * lies in the future. *tenant NULL: none. */
ida_kind store_chain_check_due(store *s, ida_ctx *c, int64_t before, const char **tenant);
/* Claims it in the state that was read; *taken 0: another worker was faster. This and the next
 * one: a store with role DB_INGEST. */
ida_kind store_chain_check_claim(store *s, ida_ctx *c, const char *tenant,
                                 const store_chain_check *seen, int *taken);
/* What was found; the wish `found->wished` is answered. */
ida_kind store_chain_check_done(store *s, ida_ctx *c, const char *tenant,
                                const store_chain_check *found);

/* Numbers of the first and the last record that the chain holds; 0: it holds none. */
ida_kind store_chain_ends(store *s, ida_ctx *c, const char *tenant, int64_t *first, int64_t *last);

/* "whole", "broken", "unverified": not verified yet. */
const char *store_chain_state(const store_chain_check *check);

#endif
