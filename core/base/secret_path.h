/* Where a secret is that a setting names: the absolute path of a file, or "credential:NAME", a file
 * that systemd gives to the service alone (LoadCredential=NAME:FILE) in $CREDENTIALS_DIRECTORY. */
#ifndef CORE_BASE_SECRET_PATH_H
#define CORE_BASE_SECRET_PATH_H

#include <apr_pools.h>

#define IDA_CREDENTIAL "credential:"
#define IDA_CREDENTIAL_PATTERN IDA_CREDENTIAL "[A-Za-z0-9_-][A-Za-z0-9._-]*$"

/* The name of a credential; NULL: the text names none. */
const char *ida_credential_name(const char *text);

/* The file that is to be read: the text itself, or the credential's. NULL: a credential, and this
 * process was given none. */
const char *ida_secret_path(apr_pool_t *pool, const char *text);

#endif
