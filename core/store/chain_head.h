/* The end of a tenant's chain while it is written: checked before anything is appended, proven
 * again afterwards. */
#ifndef CORE_STORE_CHAIN_HEAD_H
#define CORE_STORE_CHAIN_HEAD_H

#include "core/audit/chain.h"
#include "core/store/store.h"

typedef struct store_chain_head {
    audit_head is;
    const audit_secret *key; /* that the next record is under */
} store_chain_head;

/* Inside a transaction of the ingest role: locks the chain, creates it if there is none, and
 * moves it to the newest key if that is due. An end that is not the one the worker left is
 * logged (IDA0142) and marked; new records are still written, after the newest existing one. */
ida_kind store_chain_open(store *s, ida_ctx *c, const audit_keys *keys, const char *tenant,
                          store_chain_head *head);
/* Skips a record that was appended before. */
ida_kind store_chain_append(store *s, ida_ctx *c, store_chain_head *head,
                            const audit_record *record);
ida_kind store_chain_close(store *s, ida_ctx *c, const store_chain_head *head);

/* A stored chain as it says it is, and whether the proof of one of its ends is the key's. */
audit_head store_chain_row(const db_result *r, const char *tenant);
int store_chain_head_proven(apr_pool_t *pool, const audit_secret *key, const db_result *r,
                            const char *tenant);
int store_chain_foot_proven(apr_pool_t *pool, const audit_secret *key, const db_result *r,
                            const char *tenant);

#endif
