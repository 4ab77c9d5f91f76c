/* Owns what a checkpoint is, signed and written down. Must not know when one is made, nor where it
 * goes. */
#include "core/audit/checkpoint.h"

#include <apr_strings.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define NAME "signing key"
#define SIGNATURE_LEN 64

ida_kind audit_signer_make(ida_ctx *c, const char *path, uid_t owner, gid_t group)
{
    return ida_key_file_make(c, NAME, path, "", owner, group);
}

static ida_kind read_key(ida_ctx *c, const char *path, EVP_PKEY **key)
{
    char text[IDA_SECRET_HEX + 3];
    unsigned char bytes[IDA_SECRET_LEN];
    size_t len;
    *key = NULL;
    ida_kind kind = ida_key_file_read(c, NAME, path, text, sizeof text, &len);
    if (!kind && ida_key_parse(c->pool, text, len, bytes)) {
        *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, sizeof bytes);
    }
    OPENSSL_cleanse(text, sizeof text);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return kind || *key ? kind
                        : ida_fail(c, IDA_INTERNAL_ERROR,
                                   "The " NAME " file %s is damaged: it must hold 64 hexadecimal "
                                   "digits.",
                                   path);
}

ida_kind audit_signer_public(ida_ctx *c, const char *path, unsigned char public[IDA_SECRET_LEN])
{
    EVP_PKEY *key;
    size_t len = IDA_SECRET_LEN;
    ida_kind kind = read_key(c, path, &key);
    if (!kind && !EVP_PKEY_get_raw_public_key(key, public, &len)) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR, "The " NAME " file %s gives no public key.", path);
    }
    EVP_PKEY_free(key);
    return kind;
}

/* No member can hold a line's end: tenants are named in letters, digits and hyphens, the rest are
 * numbers and hexadecimal digits, which audit_checkpoint_parse insists on. */
static char *signed_text(apr_pool_t *pool, const audit_checkpoint *p)
{
    return ida_printf(pool, "idadmin audit checkpoint 1\n%s\n%lld\n%s\n%lld\n%s\n", p->tenant,
                      (long long)p->number, p->hash, (long long)p->at, p->before);
}

ida_kind audit_checkpoint_sign(ida_ctx *c, const char *path, audit_checkpoint *p)
{
    EVP_PKEY *key;
    unsigned char signature[SIGNATURE_LEN];
    size_t len = sizeof signature;
    const char *text = signed_text(c->pool, p);
    ida_kind kind = read_key(c, path, &key);
    EVP_MD_CTX *digest = kind ? NULL : EVP_MD_CTX_new();
    if (!kind &&
        (!digest || EVP_DigestSignInit(digest, NULL, NULL, NULL, key) <= 0 ||
         EVP_DigestSign(digest, signature, &len, (const unsigned char *)text, strlen(text)) <= 0)) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR, "The " NAME " file %s signs nothing.", path);
    }
    p->signature = kind ? NULL : ida_hex(c->pool, signature, len);
    EVP_MD_CTX_free(digest);
    EVP_PKEY_free(key);
    return kind;
}

int audit_checkpoint_valid(apr_pool_t *pool, const unsigned char public[IDA_SECRET_LEN],
                           const audit_checkpoint *p)
{
    size_t len = 0;
    const char *text = signed_text(pool, p);
    const unsigned char *signature = ida_unhex(pool, p->signature, &len);
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, IDA_SECRET_LEN);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    int valid = signature && len == SIGNATURE_LEN && key && digest &&
                EVP_DigestVerifyInit(digest, NULL, NULL, NULL, key) > 0 &&
                EVP_DigestVerify(digest, signature, len, (const unsigned char *)text,
                                 strlen(text)) == 1;
    EVP_MD_CTX_free(digest);
    EVP_PKEY_free(key);
    return valid;
}

char *audit_checkpoint_digest(apr_pool_t *pool, const audit_checkpoint *p)
{
    const char *text = apr_pstrcat(pool, signed_text(pool, p), p->signature, NULL);
    return ida_sha256_hex(pool, text, strlen(text));
}

char *audit_checkpoint_line(apr_pool_t *pool, const audit_checkpoint *p)
{
    json_t *line = json_pack("{s:s, s:I, s:s, s:I, s:s, s:s}", "tenant", p->tenant, "number",
                             (json_int_t)p->number, "hash", p->hash, "at", (json_int_t)p->at,
                             "before", p->before, "signature", p->signature);
    char *text = ida_json_sorted(pool, line);
    json_decref(line);
    return text;
}

audit_checkpoint *audit_checkpoint_parse(apr_pool_t *pool, const char *line, size_t len)
{
    json_int_t number, at;
    const char *tenant, *hash, *before, *signature;
    audit_checkpoint *p = NULL;
    json_t *value = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    if (value &&
        json_unpack(value, "{s:s, s:I, s:s, s:I, s:s, s:s !}", "tenant", &tenant, "number", &number,
                    "hash", &hash, "at", &at, "before", &before, "signature", &signature) == 0 &&
        number > 0 && at > 0 && tenant[strcspn(tenant, "\r\n")] == '\0' &&
        strspn(hash, "0123456789abcdef") == strlen(hash) &&
        strspn(before, "0123456789abcdef") == strlen(before)) {
        p = apr_palloc(pool, sizeof *p);
        *p = (audit_checkpoint){.tenant = apr_pstrdup(pool, tenant),
                                .number = number,
                                .at = at,
                                .hash = apr_pstrdup(pool, hash),
                                .before = apr_pstrdup(pool, before),
                                .signature = apr_pstrdup(pool, signature)};
    }
    json_decref(value);
    return p;
}
