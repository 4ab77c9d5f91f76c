/* The keys of the chains of audit records. Only the worker's user can read them.
 *
 * A file with one key on each line, as 64 hexadecimal digits, the newest last: the newest is
 * used for chains, the older ones verify. The word " new" after the newest key: chains may still
 * use the key before it, or none, and are moved to the newest. Without the word a chain under an
 * older key is a forgery: a stolen key is useless once it was rotated away. */
#ifndef CORE_AUDIT_KEYS_H
#define CORE_AUDIT_KEYS_H

#include <sys/types.h>

#include "core/base/key_file.h"

#define AUDIT_KEYS_MAX 64
#define AUDIT_KEY_ID_SIZE 17

typedef struct audit_secret {
    char id[AUDIT_KEY_ID_SIZE]; /* made from the key: equal names mean equal keys */
    unsigned char bytes[IDA_SECRET_LEN];
} audit_secret;

typedef struct audit_keys {
    int count, is_new; /* is_new: chains are being moved to the newest */
    audit_secret all[AUDIT_KEYS_MAX];
} audit_keys;

/* Makes the file when there is none; its key is new. */
ida_kind audit_keys_make(ida_ctx *c, const char *path, uid_t owner, gid_t group);
/* To be wiped by audit_keys_wipe, also when it failed. IDA_NOT_FOUND: there is no file. */
ida_kind audit_keys_read(ida_ctx *c, const char *path, audit_keys *keys);
void audit_keys_wipe(audit_keys *keys);

const audit_secret *audit_keys_newest(const audit_keys *keys);
/* NULL: none of that name. */
const audit_secret *audit_keys_find(const audit_keys *keys, const char *id);

/* Adds a key to file and list, as new; one that is new still stays the newest. */
ida_kind audit_keys_rotate(ida_ctx *c, const char *path, audit_keys *keys);
/* Whether chains may be moved to the newest key; no change writes nothing. */
ida_kind audit_keys_set_new(ida_ctx *c, const char *path, audit_keys *keys, int is_new);

#endif
