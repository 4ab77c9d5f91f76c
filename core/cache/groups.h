/* Groups of the cache: found by name or ID, of a user, and in pages by key. Role DB_REQUEST or any
 * that sees cache. */
#ifndef CORE_CACHE_GROUPS_H
#define CORE_CACHE_GROUPS_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

/* Direct groups of a user: id, name, kind, dn. At most 10,000. */
typedef struct ida_group {
    ida_directory_kind directory;
    const char *id, *name, *kind, *dn, *rule, *description;
    int synced;
    int64_t member_count;
} ida_group;
ida_kind cache_user_groups(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           const char *user_id, const ida_group **groups, int *count);
/* *others: 1 when the group has members that are not users or groups of the cache (devices,
 * contacts, service principals), which member_count leaves out. */
ida_kind cache_group_others(store *s, ida_ctx *c, const char *tenant, const ida_group *group,
                            int *others);
/* By ID or unique name; IDA_NOT_FOUND; IDA_CONFLICT when the name is not unique. */
ida_kind cache_group_find(store *s, ida_ctx *c, const char *tenant, const char *group,
                          ida_group **out);
/* The same for many groups by one statement: found[i] is NULL when there is no such group or
 * several. */
ida_kind cache_groups_find(store *s, ida_ctx *c, const char *tenant, const char *const *named,
                           int count, ida_group **found);

typedef struct cache_listed_group {
    const char *directory, *id, *name, *kind, *description, *name_key; /* in the order of name_key,
                                                                          id */
    int64_t member_count;                                              /* users and groups */
    int others; /* has members that are not users or groups of the cache (devices, contacts) */
} cache_listed_group;

typedef struct cache_group_filter {
    const char *words; /* ida_name_key of a part of the name, or of all of it; NULL: any */
    int exactly;       /* 1: all of it */
    const char *kind, *directory; /* NULL: any */
    enum { CACHE_EMPTY_OR_NOT, CACHE_EMPTY, CACHE_NOT_EMPTY } empty;
    const char *after_name, *after_id; /* page; NULL at first */
    int limit;
    int64_t count_max; /* a count is at most this */
} cache_group_filter;

ida_kind cache_group_list(store *s, ida_ctx *c, const char *tenant,
                          const cache_group_filter *filter, const cache_listed_group **rows,
                          int *count);
ida_kind cache_group_count(store *s, ida_ctx *c, const char *tenant,
                           const cache_group_filter *filter, int64_t *total);

#endif
