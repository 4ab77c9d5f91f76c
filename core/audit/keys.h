/* The keys that the chains of audit records are made with: a ring in a file that the worker's user
 * alone can read. `is_new`: chains may still stand under the key before, or under none. */
#ifndef CORE_AUDIT_KEYS_H
#define CORE_AUDIT_KEYS_H

#include "core/base/key_ring.h"

#define AUDIT_KEY_NAME "audit key"
#define AUDIT_KEYS_MAX IDA_RING_MAX
#define AUDIT_KEY_ID_SIZE IDA_RING_ID_SIZE

typedef ida_ring_key audit_secret;
typedef ida_key_ring audit_keys;

#define audit_keys_make(c, path, owner, group) ida_ring_make(c, AUDIT_KEY_NAME, path, owner, group)
#define audit_keys_read(c, path, keys) ida_ring_read(c, AUDIT_KEY_NAME, path, keys)
#define audit_keys_wipe(keys) ida_ring_wipe(keys)
#define audit_keys_newest(keys) ida_ring_newest(keys)
#define audit_keys_find(keys, id) ida_ring_find(keys, id)
#define audit_keys_rotate(c, path, keys) ida_ring_rotate(c, AUDIT_KEY_NAME, path, keys)
#define audit_keys_set_new(c, path, keys, is_new) \
    ida_ring_set_new(c, AUDIT_KEY_NAME, path, keys, is_new)

#endif
