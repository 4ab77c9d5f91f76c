/* Who is calling: the result of authentication, borrowed by everything behind it. */
#ifndef CORE_TENANT_PRINCIPAL_H
#define CORE_TENANT_PRINCIPAL_H

#include <stdint.h>

#include "core/base/rate.h"

typedef enum ida_access_level {
    IDA_ACCESS_READ_ONLY, /* every read: REST GET, MCP */
    IDA_ACCESS_FULL,      /* all of REST, no MCP */
    IDA_ACCESS_LEGACY     /* a key from before access levels: counts as full */
} ida_access_level;

typedef struct ida_principal {
    const char *company; /* tenant ID */
    const char *username;
    const char *label; /* "" when none */
    ida_access_level access;
    ida_rate rate;      /* key's own limit; limit 0 = none of its own */
    int64_t expires_at; /* ms UTC, 0 = never */
    const char *from; /* networks it may be used from (core/base/network.h); NULL = from anywhere */
} ida_principal;

/* "read-only", "full", "legacy" and back (-1 when unknown). */
const char *ida_access_level_text(ida_access_level access);
int ida_access_level_parse(const char *text);

#endif
