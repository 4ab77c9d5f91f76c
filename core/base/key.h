/* The form of API keys. Knows neither store nor users. */
#ifndef CORE_BASE_KEY_H
#define CORE_BASE_KEY_H

#include "core/base/context.h"

#define IDA_KEY_LEN 40

/* A new key: "ida_" + >= 178 random bits in base62 + 6-character checksum. Shown once; the
 * caller wipes it. */
char *ida_key_make(apr_pool_t *pool, const ida_env *env);

/* 1 when shape and checksum are right: lets a mistyped key be refused without the store. */
int ida_key_well_formed(const char *key);

/* bytes of a key with every character percent-encoded */
#define IDA_KEY_ENCODED_LEN (3 * IDA_KEY_LEN)

/* Replaces by asterisks the secret part of everything in the text that has the form of a key
 * with a valid checksum, percent-encoded characters included: people put keys in wrong places,
 * and logs and audit records have other readers. In place; the length stays. 1 if there was one.
 * NULL is no text. */
int ida_key_mask(char *text);
/* The same in a copy; the text itself when there is none. */
const char *ida_key_masked(apr_pool_t *pool, const char *text);

#endif
