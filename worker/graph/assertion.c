/* Owns the client assertion: a JWT signed with the application's certificate (PS256). Must not know
 * where it is sent. */
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

#include "core/base/digest.h"
#include "worker/graph/client.h"

#define LIFE_S 540         /* of 5 to 10 minutes */
#define SIGNATURE_MAX 1024 /* RSA of 8192 bits */

/* Appends base64url without padding; 0 if it does not fit. */
static int append_base64url(char *out, size_t size, const void *bytes, size_t len)
{
    size_t at = strlen(out);
    if (len > 65536 || at + 4 * ((len + 2) / 3) + 1 > size) {
        return 0;
    }
    EVP_EncodeBlock((unsigned char *)out + at, bytes, (int)len);
    for (char *c = out + at; *c; c++) {
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    }
    out[at + strcspn(out + at, "=")] = '\0';
    return 1;
}

/* A key with a passphrase is refused, because a daemon cannot ask for it. */
static int no_passphrase(char *out, int size, int writing, void *baton)
{
    (void)out, (void)size, (void)writing, (void)baton;
    return -1;
}

/* The certificate that belongs to the key; the file may also contain its chain. */
static X509 *own_certificate(const char *pem, size_t len, EVP_PKEY *key)
{
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    X509 *found = NULL, *one;
    while (bio && !found && (one = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL))) {
        if (X509_check_private_key(one, key) == 1) {
            found = one;
        } else {
            X509_free(one);
        }
    }
    BIO_free(bio);
    return found;
}

static int sign(EVP_PKEY *key, const char *text, unsigned char *signature, size_t *len)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    EVP_PKEY_CTX *padding = NULL;
    int good = digest && EVP_DigestSignInit(digest, &padding, EVP_sha256(), NULL, key) == 1 &&
               EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1 &&
               EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, IDA_DIGEST_LEN) == 1 &&
               EVP_PKEY_CTX_set_rsa_mgf1_md(padding, EVP_sha256()) == 1 &&
               EVP_DigestSign(digest, signature, len, (const unsigned char *)text, strlen(text)) ==
                   1;
    EVP_MD_CTX_free(digest);
    return good;
}

static const char *write_token(const ida_env *env, apr_pool_t *pool, EVP_PKEY *key,
                               X509 *certificate, const char *client_id, const char *audience,
                               char *out, size_t size)
{
    unsigned char thumbprint[EVP_MAX_MD_SIZE], signature[SIGNATURE_MAX];
    unsigned print_len = 0;
    char guid[GRAPH_GUID_SIZE], print_text[64] = "";
    char *start = out + strlen(out);
    size_t room = size - (size_t)(start - out), signature_len = sizeof signature;
    int64_t now = ida_now(env) / 1000;
    if (X509_digest(certificate, EVP_sha256(), thumbprint, &print_len) != 1 ||
        !append_base64url(print_text, sizeof print_text, thumbprint, print_len)) {
        return "has a certificate whose thumbprint cannot be made";
    }
    /* Both IDs are checked GUIDs and the address contains no quote: they need no escaping. */
    const char *header = ida_printf(pool, "{\"alg\":\"PS256\",\"typ\":\"JWT\",\"x5t#S256\":\"%s\"}",
                                    print_text);
    const char *claims = ida_printf(pool,
                                    "{\"aud\":\"%s\",\"iss\":\"%s\",\"sub\":\"%s\",\"jti\":\"%s\","
                                    "\"nbf\":%lld,\"iat\":%lld,\"exp\":%lld}",
                                    audience, client_id, client_id, graph_guid(env, guid),
                                    (long long)now, (long long)now, (long long)now + LIFE_S);
    int good = append_base64url(start, room, header, strlen(header));
    size_t at = strlen(start);
    good = good && at + 2 < room && (start[at] = '.', start[at + 1] = '\0', 1) &&
           append_base64url(start, room, claims, strlen(claims)) &&
           EVP_PKEY_get_size(key) <= SIGNATURE_MAX && sign(key, start, signature, &signature_len);
    at = strlen(start);
    good = good && at + 2 < room && (start[at] = '.', start[at + 1] = '\0', 1) &&
           append_base64url(start, room, signature, signature_len);
    OPENSSL_cleanse(signature, sizeof signature);
    return good ? NULL : "holds a key that cannot sign (PS256 needs RSA of 2048 to 8192 bits)";
}

static const char *read_pem(const char *pem, size_t len, EVP_PKEY **key, X509 **certificate)
{
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    *certificate = *key ? own_certificate(pem, len, *key) : NULL;
    BIO_free(bio);
    ERR_clear_error(); /* the end of the file counts as one */
    return !*key ? "holds no private key in PEM form that is readable without a passphrase"
           : !*certificate ? "holds no certificate in PEM form that belongs to its private key"
           : !EVP_PKEY_is_a(*key, "RSA") || EVP_PKEY_get_bits(*key) < 2048
               ? "must hold an RSA key of at least 2048 bits"
           : X509_cmp_current_time(X509_get0_notAfter(*certificate)) <= 0
               ? "holds a certificate that has expired: make a new one and upload its public part "
                 "to the application"
               : NULL;
}

const char *graph_certificate_end(const char *pem, size_t len, int64_t *at)
{
    EVP_PKEY *key;
    X509 *certificate;
    int days = 0, seconds = 0;
    ASN1_TIME *from = ASN1_TIME_set(NULL, 0);
    const char *fault = read_pem(pem, len, &key, &certificate);
    if (!fault && ASN1_TIME_diff(&days, &seconds, from, X509_get0_notAfter(certificate))) {
        *at = days * INT64_C(86400000) + seconds * INT64_C(1000);
    }
    ASN1_TIME_free(from);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return fault;
}

const char *graph_assertion(const ida_env *env, apr_pool_t *pool, const char *pem, size_t pem_len,
                            const char *client_id, const char *audience, char *out, size_t size)
{
    EVP_PKEY *key;
    X509 *certificate;
    const char *fault = read_pem(pem, pem_len, &key, &certificate);
    fault = fault ? fault
                  : write_token(env, pool, key, certificate, client_id, audience, out, size);
    X509_free(certificate);
    EVP_PKEY_free(key); /* wipes the private numbers */
    return fault;
}
