/* What is wrong with one record of a chain, as a sentence for people. */
#ifndef CORE_STORE_CHAIN_FAULT_H
#define CORE_STORE_CHAIN_FAULT_H

#include "core/audit/chain.h"
#include "core/store/store.h"

typedef struct store_chain_place {
    const char *tenant, *previous; /* previous: hash of the record before */
    int64_t seq, keyed_from;       /* seq: the number that should be here */
    const audit_keys *keys;
    const char *key; /* name of the key that it should be under; "": any */
} store_chain_place;

/* Of row `i` of audit_walk, after "Record 5 "; NULL: nothing. */
const char *store_chain_fault(apr_pool_t *pool, const db_result *r, int i,
                              const store_chain_place *place);

#endif
