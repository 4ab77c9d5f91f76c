/* The initial password of a new account. */
#ifndef WORKER_BASE_PASSWORD_H
#define WORKER_BASE_PASSWORD_H

#include "core/base/context.h"

#define PASSWORD_LEN 32
#define PASSWORD_SIZE (PASSWORD_LEN + 1)

/* Random, PASSWORD_LEN characters of four classes, without any of the NULL-terminated `names` (any
 * case) of three letters or more. The caller wipes it. */
void password_make(const ida_env *env, const char *const *names, char out[PASSWORD_SIZE]);

#endif
