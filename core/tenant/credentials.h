/* Hashes of API keys (their shape: core/base/key.h) and the shapes of company IDs, usernames and
 * secrets. Knows no store and no header. */
#ifndef CORE_TENANT_CREDENTIALS_H
#define CORE_TENANT_CREDENTIALS_H

#include "core/base/key.h"

#define IDA_NAME_MAX 64
#define IDA_LABEL_MAX 100 /* characters */
#define IDA_KEY_HASH_LEN 64

/* 1 when text is a company ID or username: 1-64 of A-Z a-z 0-9 . _ - */
int ida_name_valid(const char *text);

/* Lower-case hex SHA-256 (IDA_KEY_HASH_LEN characters) into out[65]. */
void ida_key_hash(const char *key, char out[IDA_KEY_HASH_LEN + 1]);

/* Constant-time comparison of two hashes of IDA_KEY_HASH_LEN characters; b may be NULL (unknown
 * user): takes the same time, answers 0. */
int ida_key_hash_equal(const char *a, const char *b);

/* Splits `companyId:username:apiKey` in place-free copies. 0 when it is not of that shape. */
int ida_secret_split(apr_pool_t *pool, const char *secret, char **company, char **username,
                     char **key);

#endif
