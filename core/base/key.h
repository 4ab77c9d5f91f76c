/* The shape of API keys. Knows no store and nobody's name. */
#ifndef CORE_BASE_KEY_H
#define CORE_BASE_KEY_H

#include "core/base/context.h"

#define IDA_KEY_LEN 40

/* A new key: "ida_" + >= 178 random bits in base62 + 6-character checksum. Shown once; the caller
 * wipes it. */
char *ida_key_make(apr_pool_t *pool, const ida_env *env);

/* 1 when shape and checksum are right: lets a mistyped key be refused without the store. */
int ida_key_well_formed(const char *key);

/* bytes of a key with every character percent-encoded */
#define IDA_KEY_ENCODED_LEN (3 * IDA_KEY_LEN)

/* Puts asterisks behind the prefix of whatever in the text has the shape of a key, with the right
 * checksum, also with percent-encoded characters: people put keys where they do not belong, and
 * what is logged or audited is read by others. In place, the length stays. 1 when there was one.
 * NULL is no text. */
int ida_key_mask(char *text);
/* The same in a copy; the text itself when there is none. */
const char *ida_key_masked(apr_pool_t *pool, const char *text);

#endif
