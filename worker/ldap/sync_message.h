/* What the messages of RFC 4533 (content synchronisation) say. */
#ifndef WORKER_LDAP_SYNC_MESSAGE_H
#define WORKER_LDAP_SYNC_MESSAGE_H

#include <apr_pools.h>
#include <ldap.h>

/* A cookie with bv_val NULL: the message has none. Its bytes and all texts lie in the pool. */

/* Of an entry: what happened to it, and its UUID. */
typedef struct ld_sync_state {
    ber_int_t state; /* LDAP_SYNC_ADD ... */
    const char *id;
    struct berval cookie;
} ld_sync_state;
/* 1 when the controls tell it, 0 when they are silent, -1 when it cannot be read. */
int ld_sync_state_read(apr_pool_t *pool, LDAPControl **controls, ld_sync_state *out);

/* Of a message between entries. */
typedef struct ld_sync_info {
    int present_ends; /* a present phase is over: what was not named is gone */
    int deleted;      /* what has gone; else what is still there */
    const char **ids; /* NULL-terminated; NULL: the message names nobody */
    struct berval cookie;
} ld_sync_info;
/* 0 when it cannot be read. */
int ld_sync_info_read(apr_pool_t *pool, const struct berval *value, ld_sync_info *out);

/* Of the end. */
typedef struct ld_sync_done {
    int deletes; /* deletions were named; else silence meant them */
    struct berval cookie;
} ld_sync_done;
/* 0 when the controls do not tell it. */
int ld_sync_done_read(apr_pool_t *pool, LDAPControl **controls, ld_sync_done *out);

#endif
