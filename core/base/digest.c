/* Owns the hash functions of core. Must not know what is hashed. */
#include "core/base/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fetched once: fetching it for each call would take a lock of the library and several times the
 * time of the hash itself. */
static pthread_once_t fetch_once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static void broken(void)
{
    /* Without a hash no credential, cursor or seal could be judged: there is no safe way to
     * continue. */
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

void ida_sha256(const void *bytes, size_t len, unsigned char out[IDA_DIGEST_LEN])
{
    if (!EVP_Digest(bytes, len, out, NULL, digest(), NULL)) {
        broken();
    }
}

int ida_sha256_file(int fd, unsigned char out[IDA_DIGEST_LEN], int64_t *bytes)
{
    char piece[65536];
    ssize_t got;
    EVP_MD_CTX *state = EVP_MD_CTX_new();
    int good = state && EVP_DigestInit_ex(state, digest(), NULL);
    *bytes = 0;
    while (good && (got = read(fd, piece, sizeof piece)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            int error = errno;
            EVP_MD_CTX_free(state);
            return error;
        }
        good = EVP_DigestUpdate(state, piece, (size_t)got);
        *bytes += got;
    }
    if (!good || !EVP_DigestFinal_ex(state, out, NULL)) {
        broken();
    }
    EVP_MD_CTX_free(state);
    return 0;
}

void ida_hmac_sha256(const unsigned char *key, size_t key_len, const ida_bytes *parts, size_t count,
                     unsigned char out[IDA_DIGEST_LEN])
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += 8 + parts[i].len;
    }
    unsigned char *message = malloc(len), *to = message;
    for (size_t i = 0; message && i < count; i++) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            *to++ = (unsigned char)((uint64_t)parts[i].len >> shift);
        }
        memcpy(to, parts[i].at, parts[i].len);
        to += parts[i].len;
    }
    if (!message || !HMAC(digest(), key, (int)key_len, message, len, out, NULL)) {
        broken();
    }
    free(message);
}
