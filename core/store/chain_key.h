/* Which keys the chains of this store are under, and what is done with them to all of a chain. The
 * file of the keys is the store handle's audit_key. */
#ifndef CORE_STORE_CHAIN_KEY_H
#define CORE_STORE_CHAIN_KEY_H

#include "core/audit/keys.h"
#include "core/store/store.h"

/* Each function with `keys` reads them from the file; the caller wipes them, also after a
 * failure. */
ida_kind store_audit_keys(store *s, ida_ctx *c, audit_keys *keys);

/* Makes the file where there is none, unless the store is under a key already. */
ida_kind store_audit_key_make(store *s, ida_ctx *c, uid_t owner, gid_t group);

/* Whether this process has the key that all of this store's workers must have: IDA_CONFLICT with a
 * sentence that says where it is to come from. The first one decides. */
ida_kind store_chain_allowed(store *s, ida_ctx *c, const audit_keys *keys);
/* The same, by itself. */
ida_kind store_audit_ready(store *s, ida_ctx *c);

/* Moves all chains to the newest key if that is marked as new, and then removes the mark (role
 * DB_INGEST). Only this brings a chain without a key under one: a store restored from before
 * there were keys, or one that looks so, stays marked. */
ida_kind store_chain_move_all(store *s, ida_ctx *c);
/* A new key, and all chains moved to it. The key before was `lost`: what is under it can never be
 * verified again, and its chains stay marked. *id: the new one's name. */
ida_kind store_chain_rotate(store *s, ida_ctx *c, int lost, const char **id);

typedef struct store_erased {
    int64_t seq;
    const char *marks; /* as the record has them */
} store_erased;

/* Takes salt and personal part out of records, inside the caller's transaction, and puts the
 * worker's name to it. */
ida_kind store_audit_erase(store *s, ida_ctx *c, const char *tenant, const store_erased *records,
                           int count);

#endif
