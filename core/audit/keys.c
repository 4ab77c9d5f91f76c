/* Owns the file of the audit keys. Must not know what the keys are used for. */
#include "core/audit/keys.h"

#include <openssl/crypto.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/text.h"

#define NAME "audit key"
#define NEW " new"
#define TEXT_MAX (AUDIT_KEYS_MAX * (IDA_SECRET_HEX + 2) + 16)

ida_kind audit_keys_make(ida_ctx *c, const char *path, uid_t owner, gid_t group)
{
    return ida_key_file_make(c, NAME, path, NEW, owner, group);
}

void audit_keys_wipe(audit_keys *keys)
{
    OPENSSL_cleanse(keys, sizeof *keys);
}

/* The name is a digest made with the key: it does not reveal the key. */
static void name_key(apr_pool_t *pool, audit_secret *key)
{
    unsigned char mac[IDA_DIGEST_LEN];
    const ida_bytes part = {"audit key", 9};
    ida_hmac_sha256(key->bytes, IDA_SECRET_LEN, &part, 1, mac);
    memcpy(key->id, ida_hex(pool, mac, AUDIT_KEY_ID_SIZE / 2), AUDIT_KEY_ID_SIZE);
}

static int parse(apr_pool_t *pool, const char *text, audit_keys *keys)
{
    while (*text && keys->count < AUDIT_KEYS_MAX && !keys->is_new) {
        size_t len = strcspn(text, "\r\n"), digits = strcspn(text, " \r\n");
        audit_secret *key = &keys->all[keys->count++];
        keys->is_new = len - digits == strlen(NEW) && memcmp(text + digits, NEW, len - digits) == 0;
        if ((len != digits && !keys->is_new) || !ida_key_parse(pool, text, digits, key->bytes)) {
            return 0;
        }
        name_key(pool, key);
        text += len;
        text += strspn(text, "\r\n");
    }
    return keys->count > 0 && !*text;
}

ida_kind audit_keys_read(ida_ctx *c, const char *path, audit_keys *keys)
{
    char text[TEXT_MAX];
    size_t len;
    *keys = (audit_keys){0};
    ida_kind kind = ida_key_file_read(c, NAME, path, text, sizeof text, &len);
    if (!kind && !parse(c->pool, text, keys)) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR,
                        "The " NAME " file %s is damaged: it must hold 1 to %d lines of 64 "
                        "hexadecimal digits.",
                        path, AUDIT_KEYS_MAX);
    }
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}

const audit_secret *audit_keys_newest(const audit_keys *keys)
{
    return &keys->all[keys->count - 1];
}

const audit_secret *audit_keys_find(const audit_keys *keys, const char *id)
{
    for (int i = 0; id && i < keys->count; i++) {
        if (strcmp(keys->all[i].id, id) == 0) {
            return &keys->all[i];
        }
    }
    return NULL;
}

static ida_kind write_all(ida_ctx *c, const char *path, const audit_keys *keys)
{
    char text[TEXT_MAX], *to = text;
    for (int i = 0; i < keys->count; i++) {
        char *hex = ida_hex(c->pool, keys->all[i].bytes, IDA_SECRET_LEN);
        to = stpcpy(to, i ? "\n" : "");
        to = stpcpy(to, hex);
        OPENSSL_cleanse(hex, IDA_SECRET_HEX);
    }
    stpcpy(to, keys->is_new ? NEW "\n" : "\n");
    ida_kind kind = ida_key_file_replace(c, NAME, path, text);
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}

ida_kind audit_keys_rotate(ida_ctx *c, const char *path, audit_keys *keys)
{
    if (keys->is_new) {
        return IDA_OK;
    }
    if (keys->count == AUDIT_KEYS_MAX) {
        return ida_fail(c, IDA_CONFLICT, "The " NAME " file %s holds %d keys, as many as it can.",
                        path, AUDIT_KEYS_MAX);
    }
    audit_secret *key = &keys->all[keys->count++];
    ida_random(c->env, key->bytes, sizeof key->bytes);
    name_key(c->pool, key);
    keys->is_new = 1;
    return write_all(c, path, keys);
}

ida_kind audit_keys_set_new(ida_ctx *c, const char *path, audit_keys *keys, int is_new)
{
    if (keys->is_new == is_new) {
        return IDA_OK;
    }
    keys->is_new = is_new;
    return write_all(c, path, keys);
}
