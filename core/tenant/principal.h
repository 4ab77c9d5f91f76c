/* The caller: the result of authentication, borrowed by all later code. */
#ifndef CORE_TENANT_PRINCIPAL_H
#define CORE_TENANT_PRINCIPAL_H

#include <apr_pools.h>
#include <stdint.h>

#include "core/base/rate.h"

typedef enum ida_access_level {
    IDA_ACCESS_READ_ONLY, /* every read: REST GET, MCP */
    IDA_ACCESS_FULL,      /* all of REST, no MCP */
    IDA_ACCESS_LEGACY     /* a key from before access levels: counts as full */
} ida_access_level;

/* What a read-only key may be limited to: its scopes. */
typedef enum ida_area {
    IDA_AREA_USERS,
    IDA_AREA_ACCESS,
    IDA_AREA_REQUESTS,
    IDA_AREA_HYGIENE,
    IDA_AREA_WORKFLOWS,
    IDA_AREA_TASKS,
    IDA_AREA_AUDIT,
    IDA_AREA_COUNT
} ida_area;
#define IDA_AREAS(area) (1u << (area))

/* Concurrent requests of a key without a setting of its own. */
#define IDA_CONCURRENCY_DEFAULT 64

typedef struct ida_principal {
    const char *company; /* tenant ID */
    const char *username;
    const char *label; /* "" when none */
    ida_access_level access;
    unsigned areas;       /* set of IDA_AREAS(...) it is limited to; 0 = everything that `access`
                             allows */
    ida_rate rate;        /* key's own limit; limit 0 = none of its own */
    unsigned concurrency; /* most simultaneous requests; 0: the default */
    int decisions;        /* 1: it may submit decisions of approvers over REST */
    int64_t expires_at;   /* ms UTC, 0 = never */
    const char *from; /* networks it may be used from (core/base/network.h); NULL = from anywhere */
} ida_principal;

/* "read-only", "full", "legacy" and back (-1 when unknown). */
const char *ida_access_level_text(ida_access_level access);
int ida_access_level_parse(const char *text);

/* "users,access" of a set, in the order of the table, NULL for 0; and back: 0, or -1 with nothing
 * set when a name is not known or the list is empty. */
const char *ida_areas_text(apr_pool_t *pool, unsigned areas);
int ida_areas_parse(apr_pool_t *pool, const char *text, unsigned *areas);
/* All names, for people: "users, access, ... or audit". */
#define IDA_AREA_NAMES "users, access, requests, hygiene, workflows, tasks, audit"

#endif
