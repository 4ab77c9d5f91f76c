/* Owns the hash functions of core. Knows no meaning of what is hashed. */
#include "core/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fetched once: a fetch per call would take a lock of the library and several times the time of the
 * hash itself. */
static pthread_once_t fetch_once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static void broken(void)
{
    /* Without a hash no credential, cursor or seal could be judged: going on would mean guessing.
     */
    fputs("idadmin: the OpenSSL library gives no SHA-256\n", stderr);
    abort();
}

static const EVP_MD *digest(void)
{
    pthread_once(&fetch_once, fetch);
    if (!sha256) {
        broken();
    }
    return sha256;
}

/* Contexts that wait for their next use: making one costs more than hashing a key. A thread takes
 * one out, so that no two ever have the same; with more threads at once than places the others make
 * their own. The end of each hash wipes the bytes it had taken in. */
static _Atomic(EVP_MD_CTX *) spare[4];
#define SPARES (sizeof spare / sizeof *spare)

static EVP_MD_CTX *context_take(void)
{
    for (size_t i = 0; i < SPARES; i++) {
        EVP_MD_CTX *ctx = atomic_load_explicit(&spare[i], memory_order_relaxed)
                              ? atomic_exchange(&spare[i], NULL)
                              : NULL;
        if (ctx) {
            return ctx;
        }
    }
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!ctx) {
        broken();
    }
    return ctx;
}

static void context_give(EVP_MD_CTX *ctx)
{
    for (size_t i = 0; i < SPARES; i++) {
        EVP_MD_CTX *none = NULL;
        if (atomic_compare_exchange_strong(&spare[i], &none, ctx)) {
            return;
        }
    }
    EVP_MD_CTX_free(ctx);
}

void ida_sha256(const void *bytes, size_t len, unsigned char out[IDA_DIGEST_LEN])
{
    EVP_MD_CTX *ctx = context_take();
    if (!EVP_DigestInit_ex2(ctx, digest(), NULL) || !EVP_DigestUpdate(ctx, bytes, len) ||
        !EVP_DigestFinal_ex(ctx, out, NULL)) {
        broken();
    }
    context_give(ctx);
}

/* RFC 2104 over the fetched digest; OpenSSL's one-shot HMAC fetches anew each time and takes one
 * part only. */
void ida_hmac_sha256(const unsigned char *key, size_t key_len, const ida_bytes *parts, size_t count,
                     unsigned char out[IDA_DIGEST_LEN])
{
    unsigned char block[64] = {0}, inner[64], outer[64];
    if (key_len > sizeof block) {
        ida_sha256(key, key_len, block);
    } else if (key_len) {
        memcpy(block, key, key_len);
    }
    for (size_t i = 0; i < sizeof block; i++) {
        inner[i] = block[i] ^ 0x36;
        outer[i] = block[i] ^ 0x5C;
    }
    EVP_MD_CTX *ctx = context_take();
    int good = EVP_DigestInit_ex2(ctx, digest(), NULL) &&
               EVP_DigestUpdate(ctx, inner, sizeof inner);
    for (size_t i = 0; good && i < count; i++) {
        unsigned char length[8];
        for (size_t b = 0; b < sizeof length; b++) {
            length[b] = (unsigned char)((uint64_t)parts[i].len >> (56 - 8 * b));
        }
        good = EVP_DigestUpdate(ctx, length, sizeof length) &&
               EVP_DigestUpdate(ctx, parts[i].at, parts[i].len);
    }
    unsigned char first[IDA_DIGEST_LEN];
    good = good && EVP_DigestFinal_ex(ctx, first, NULL) &&
           EVP_DigestInit_ex2(ctx, digest(), NULL) && EVP_DigestUpdate(ctx, outer, sizeof outer) &&
           EVP_DigestUpdate(ctx, first, sizeof first) && EVP_DigestFinal_ex(ctx, out, NULL);
    context_give(ctx);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(outer, sizeof outer);
    if (!good) {
        broken();
    }
}
