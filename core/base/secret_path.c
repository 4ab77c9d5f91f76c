/* Owns the names of systemd's credentials. Must not know what they are for. */
#include "core/base/secret_path.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 128

const char *ida_credential_name(const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t begins = sizeof IDA_CREDENTIAL - 1;
    const char *name = strncmp(text, IDA_CREDENTIAL, begins) == 0 ? text + begins : NULL;
    return name && *name && *name != '.' && strlen(name) <= NAME_MAX_BYTES &&
                   !name[strspn(name, letters)]
               ? name
               : NULL;
}

const char *ida_secret_path(apr_pool_t *pool, const char *text)
{
    const char *name = ida_credential_name(text), *directory = getenv("CREDENTIALS_DIRECTORY");
    return !name                              ? text
           : directory && directory[0] == '/' ? apr_pstrcat(pool, directory, "/", name, NULL)
                                              : NULL;
}
