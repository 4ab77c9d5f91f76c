/* Parses the messages of RFC 4533 (content synchronisation). */
#ifndef WORKER_LDAP_SYNC_SYNC_MESSAGE_H
#define WORKER_LDAP_SYNC_SYNC_MESSAGE_H

#include <apr_pools.h>
#include <ldap.h>

/* A cookie with bv_val NULL: the message has none. Its bytes and all texts lie in the pool. */

/* Of an entry: what happened to it, and its UUID. */
typedef struct ld_sync_state {
    ber_int_t state; /* LDAP_SYNC_ADD ... */
    const char *id;
    struct berval cookie;
} ld_sync_state;
/* 1 if the controls contain it, 0 if they do not, -1 if it cannot be parsed. */
int ld_sync_state_read(apr_pool_t *pool, LDAPControl **controls, ld_sync_state *out);

/* Of a message between entries. */
typedef struct ld_sync_info {
    int present_ends; /* a present phase has ended: entries that were not named are gone */
    int deleted;      /* 1: these are gone; 0: these still exist */
    const char **ids; /* NULL-terminated; NULL: the message names no entry */
    struct berval cookie;
} ld_sync_info;
/* 0 when it cannot be read. */
int ld_sync_info_read(apr_pool_t *pool, const struct berval *value, ld_sync_info *out);

/* Of the end. */
typedef struct ld_sync_done {
    int deletes; /* 1: deletions were named; 0: an entry that was not named is gone */
    struct berval cookie;
} ld_sync_done;
/* 0 if the controls do not contain it. */
int ld_sync_done_read(apr_pool_t *pool, LDAPControl **controls, ld_sync_done *out);

#endif
