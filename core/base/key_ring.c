/* Owns files of keys that are rotated. Must not know what is made with them. */
#include "core/base/key_ring.h"

#include <openssl/crypto.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/text.h"

#define NEW " new"
#define TEXT_MAX (IDA_RING_MAX * (IDA_SECRET_HEX + 2) + 16)

ida_kind ida_ring_make(ida_ctx *c, const char *what, const char *path, uid_t owner, gid_t group)
{
    return ida_key_file_make(c, what, path, NEW, owner, group);
}

void ida_ring_wipe(ida_key_ring *ring)
{
    OPENSSL_cleanse(ring, sizeof *ring);
}

/* Named by a digest under the key: it tells nothing of the key. */
static void name_key(apr_pool_t *pool, const char *what, ida_ring_key *key)
{
    unsigned char mac[IDA_DIGEST_LEN];
    const ida_bytes part = {what, strlen(what)};
    ida_hmac_sha256(key->bytes, IDA_SECRET_LEN, &part, 1, mac);
    memcpy(key->id, ida_hex(pool, mac, IDA_RING_ID_SIZE / 2), IDA_RING_ID_SIZE);
}

static int parse(apr_pool_t *pool, const char *what, const char *text, ida_key_ring *ring)
{
    while (*text && ring->count < IDA_RING_MAX && !ring->is_new) {
        size_t len = strcspn(text, "\r\n"), digits = strcspn(text, " \r\n");
        ida_ring_key *key = &ring->all[ring->count++];
        ring->is_new = len - digits == strlen(NEW) && memcmp(text + digits, NEW, len - digits) == 0;
        if ((len != digits && !ring->is_new) || !ida_key_parse(pool, text, digits, key->bytes)) {
            return 0;
        }
        name_key(pool, what, key);
        text += len;
        text += strspn(text, "\r\n");
    }
    return ring->count > 0 && !*text;
}

ida_kind ida_ring_read(ida_ctx *c, const char *what, const char *path, ida_key_ring *ring)
{
    char text[TEXT_MAX];
    size_t len;
    *ring = (ida_key_ring){0};
    ida_kind kind = ida_key_file_read(c, what, path, text, sizeof text, &len);
    if (!kind && !parse(c->pool, what, text, ring)) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR,
                        "The %s file %s is damaged: it must hold 1 to %d lines of 64 hexadecimal "
                        "digits.",
                        what, path, IDA_RING_MAX);
    }
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}

const ida_ring_key *ida_ring_newest(const ida_key_ring *ring)
{
    return &ring->all[ring->count - 1];
}

const ida_ring_key *ida_ring_find(const ida_key_ring *ring, const char *id)
{
    for (int i = 0; id && i < ring->count; i++) {
        if (strcmp(ring->all[i].id, id) == 0) {
            return &ring->all[i];
        }
    }
    return NULL;
}

static ida_kind write_all(ida_ctx *c, const char *what, const char *path, const ida_key_ring *ring)
{
    char text[TEXT_MAX], *to = text;
    for (int i = 0; i < ring->count; i++) {
        char *hex = ida_hex(c->pool, ring->all[i].bytes, IDA_SECRET_LEN);
        to = stpcpy(to, i ? "\n" : "");
        to = stpcpy(to, hex);
        OPENSSL_cleanse(hex, IDA_SECRET_HEX);
    }
    stpcpy(to, ring->is_new ? NEW "\n" : "\n");
    ida_kind kind = ida_key_file_replace(c, what, path, text);
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}

ida_kind ida_ring_rotate(ida_ctx *c, const char *what, const char *path, ida_key_ring *ring)
{
    if (ring->is_new) {
        return IDA_OK;
    }
    if (ring->count == IDA_RING_MAX) {
        return ida_fail(c, IDA_CONFLICT, "The %s file %s holds %d keys, as many as it can.", what,
                        path, IDA_RING_MAX);
    }
    ida_ring_key *key = &ring->all[ring->count++];
    ida_random(c->env, key->bytes, sizeof key->bytes);
    name_key(c->pool, what, key);
    ring->is_new = 1;
    return write_all(c, what, path, ring);
}

ida_kind ida_ring_set_new(ida_ctx *c, const char *what, const char *path, ida_key_ring *ring,
                          int is_new)
{
    if (ring->is_new == is_new) {
        return IDA_OK;
    }
    ring->is_new = is_new;
    return write_all(c, what, path, ring);
}
