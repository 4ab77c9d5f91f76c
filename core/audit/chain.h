/* The hashes that chain the audit records of a tenant, and the proofs under the worker's key
 * that are stored beside the chain: of its two ends, and of what erasure removed. Knows no
 * store. */
#ifndef CORE_AUDIT_CHAIN_H
#define CORE_AUDIT_CHAIN_H

#include "core/audit/audit.h"
#include "core/audit/keys.h"

/* The hash before the first record of a chain. */
extern const char audit_genesis[];

typedef struct audit_link {
    const char *previous; /* hash of the record before */
    int64_t seq;
    const audit_record *record;
    const char *personal_hash;
    int question;         /* audit_is_question, stored because after an erasure it can no longer
                             be computed */
    const char *next_key; /* name of the key of the records after this one; NULL: the same */
    const char *marks;    /* audit_marks_bare; NULL: the record is older than marks */
} audit_link;

/* The two ends of a chain: the last record, and the one before the first that retention left. */
typedef struct audit_head {
    const char *tenant, *hash, *first_hash;
    int64_t seq, first_seq;
    int64_t keyed_from; /* the first record that is under a key */
    int64_t broken;     /* the first record that was appended to an end that was not the one the
                           worker had left; 0: none */
} audit_head;

/* Hex SHA-256 of the personal part: actor, label, action, target, endpoint, parameters, detail, and
 * then address, correlation and marks, of which those at the end that are absent are left out
 * (older records have none). salt is hex. */
char *audit_personal_hash(apr_pool_t *pool, const char *salt, const audit_record *record);
/* Hex HMAC-SHA-256 under the key; `key` NULL: the SHA-256 of records from before there were keys.
 */
char *audit_chain_hash(apr_pool_t *pool, const audit_secret *key, const audit_link *link);

char *audit_head_mac(apr_pool_t *pool, const audit_secret *key, const audit_head *head);
char *audit_foot_mac(apr_pool_t *pool, const audit_secret *key, const audit_head *head);
char *audit_erased_mac(apr_pool_t *pool, const audit_secret *key, const char *tenant, int64_t seq);

#endif
