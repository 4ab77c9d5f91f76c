/* SHA-256 and HMAC-SHA256 over parts, for keys, cursors and seals. */
#ifndef CORE_BASE_DIGEST_H
#define CORE_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define IDA_DIGEST_LEN 32

typedef struct ida_bytes {
    const void *at;
    size_t len;
} ida_bytes;

void ida_sha256(const void *bytes, size_t len, unsigned char out[IDA_DIGEST_LEN]);
/* Of what is left to read of a file, and how much that was. 0 or errno. */
int ida_sha256_file(int fd, unsigned char out[IDA_DIGEST_LEN], int64_t *bytes);

/* Each part is preceded by its length, so that no two lists of parts have the same digest by
 * shifting bytes between them. */
void ida_hmac_sha256(const unsigned char *key, size_t key_len, const ida_bytes *parts, size_t count,
                     unsigned char out[IDA_DIGEST_LEN]);

#endif
