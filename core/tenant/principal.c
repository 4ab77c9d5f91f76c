/* Owns the names of access levels. */
#include "core/tenant/principal.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    [IDA_ACCESS_READ_ONLY] = "read-only",
    [IDA_ACCESS_FULL] = "full",
    [IDA_ACCESS_LEGACY] = "legacy",
};

const char *ida_access_level_text(ida_access_level access)
{
    return names[access];
}

int ida_access_level_parse(const char *text)
{
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}
