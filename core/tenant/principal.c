/* Owns the names of access levels and scopes. */
#include "core/tenant/principal.h"

#include <apr_strings.h>
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

static const char *const areas_named[IDA_AREA_COUNT] = {
    [IDA_AREA_USERS] = "users",         [IDA_AREA_ACCESS] = "access",
    [IDA_AREA_REQUESTS] = "requests",   [IDA_AREA_HYGIENE] = "hygiene",
    [IDA_AREA_WORKFLOWS] = "workflows", [IDA_AREA_TASKS] = "tasks",
    [IDA_AREA_AUDIT] = "audit",
};

const char *ida_areas_text(apr_pool_t *pool, unsigned areas)
{
    const char *text = NULL;
    for (int i = 0; i < IDA_AREA_COUNT; i++) {
        if (areas & IDA_AREAS(i)) {
            text = apr_pstrcat(pool, text ? text : "", text ? "," : "", areas_named[i], NULL);
        }
    }
    return text;
}

static unsigned area_of(const char *name)
{
    for (int i = 0; i < IDA_AREA_COUNT; i++) {
        if (strcmp(areas_named[i], name) == 0) {
            return IDA_AREAS(i);
        }
    }
    return 0;
}

int ida_areas_parse(apr_pool_t *pool, const char *text, unsigned *areas)
{
    unsigned found = 0, one;
    char *last;
    *areas = 0;
    for (char *name = apr_strtok(apr_pstrdup(pool, text), ", ", &last); name;
         name = apr_strtok(NULL, ", ", &last)) {
        if (!(one = area_of(name))) {
            return -1;
        }
        found |= one;
    }
    *areas = found;
    return found ? 0 : -1;
}
