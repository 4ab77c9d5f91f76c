/* A file of keys that are rotated: one key a line, as 64 hexadecimal digits, the newest last. That
 * one makes, those before it verify.
 *
 * " new" behind the newest: what the keys are for may still stand under the key before, or under
 * none, and is moved to it. Without the word only the newest counts for what is open: whoever got
 * hold of a key that was rotated away cannot go on with it. */
#ifndef CORE_BASE_KEY_RING_H
#define CORE_BASE_KEY_RING_H

#include <sys/types.h>

#include "core/base/key_file.h"

#define IDA_RING_MAX 64
#define IDA_RING_ID_SIZE 17

typedef struct ida_ring_key {
    char id[IDA_RING_ID_SIZE]; /* made from the key: who has the same name has the same key */
    unsigned char bytes[IDA_SECRET_LEN];
} ida_ring_key;

typedef struct ida_key_ring {
    int count, is_new; /* is_new: things are being moved to the newest */
    ida_ring_key all[IDA_RING_MAX];
} ida_key_ring;

/* `what` names the file for people and the keys apart from those of other files: "audit key". */

/* Makes the file when there is none; its key is new. */
ida_kind ida_ring_make(ida_ctx *c, const char *what, const char *path, uid_t owner, gid_t group);
/* To be wiped by ida_ring_wipe, also when it failed. IDA_NOT_FOUND: there is no file. */
ida_kind ida_ring_read(ida_ctx *c, const char *what, const char *path, ida_key_ring *ring);
void ida_ring_wipe(ida_key_ring *ring);

const ida_ring_key *ida_ring_newest(const ida_key_ring *ring);
/* NULL: none of that name. */
const ida_ring_key *ida_ring_find(const ida_key_ring *ring, const char *id);

/* Adds a key to file and ring, as new; one that is new still stays the newest. */
ida_kind ida_ring_rotate(ida_ctx *c, const char *what, const char *path, ida_key_ring *ring);
/* Whether things may be moved to the newest key; no change writes nothing. */
ida_kind ida_ring_set_new(ida_ctx *c, const char *what, const char *path, ida_key_ring *ring,
                          int is_new);

#endif
