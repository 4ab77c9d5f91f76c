/* Reading users (and groups) of the cache. Role DB_REQUEST or any that sees cache. */
#ifndef CORE_CACHE_PERSON_H
#define CORE_CACHE_PERSON_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"
#include "schema/attributes.h"

typedef struct ida_user {
    ida_directory_kind directory; /* that of the row; for a joined person the cloud */
    const char *id;
    IDA_PERSON(IDA_PERSON_MEMBER)
    int enabled, guest;
    int expired; /* 1: not enabled because the account's end has passed; the directory's own flag
                    says enabled */
    int64_t created_at, last_sign_in_at, last_noninteractive_at, last_success_at;
    /* 0, or when the worker wrote values that no synchronisation has confirmed yet: the row is
     * as of that time */
    int64_t written_at;
    const char *manager_id, *manager_upn, *manager_name; /* NULL when none or unknown */
    int manager_known;                                   /* 1: the cache holds the manager */
    const char *dn, *anchor;
    int in[IDA_DIR_COUNT];   /* which directories hold the person */
    const char *other_id;    /* id in the other directory when in both */
    const char *licenses[2]; /* names as JSON, of the row and of the other one; NULL: no such row */
} ida_user;

/* Finds a person by UPN (any case) or ID, with manager. A further value of the on-premises UPN
 * attribute finds its person too. IDA_NOT_FOUND; IDA_CONFLICT with all IDs when several accounts
 * have the address. */
ida_kind cache_user_by_upn(store *s, ida_ctx *c, const char *tenant, const char *upn,
                           ida_user **user);
/* All accounts that have the address, for administrators: their IDs and DNs. */
typedef struct cache_carrier {
    const char *id, *dn; /* dn NULL: the directory has none */
} cache_carrier;
ida_kind cache_carriers(store *s, ida_ctx *c, const char *tenant, const char *address,
                        const cache_carrier **rows, int *count);
/* The same, but fills only directory, id and the fields of the REST user: the cost of every
 * lookup. */
ida_kind cache_user_brief(store *s, ida_ctx *c, const char *tenant, const char *upn,
                          ida_user **user);
/* By UPN or ID, with licences (json array of names, may be NULL on call). IDA_NOT_FOUND. */
ida_kind cache_user_details(store *s, ida_ctx *c, const char *tenant, const char *user,
                            ida_user **out, json_t **licenses);

/* Looks up a person who is only mentioned, by ID or UPN: an approver in a list, the manager in a
 * text. *user is NULL if no account matches or several share the address, because a list must not
 * fail for one ambiguous mention. */
ida_kind cache_user_mentioned(store *s, ida_ctx *c, const char *tenant, const char *named,
                              ida_user **user);

/* All people with this employeeId (compared as directories compare it), at most 20. */
ida_kind cache_users_of_employee(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                                 ida_user ***users, int *count);

/* State of the synchronisation of each directory; completed_at and full_at are 0 when there was
 * none. */
typedef struct cache_sync_info {
    int64_t completed_at, full_at, started_at, users, groups;
    int sign_ins;
    const char *error, *stopped;
} cache_sync_info;
ida_kind cache_sync_info_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             cache_sync_info *info);
/* Sets *synced when every directory of the tenant has completed a full synchronisation: before
 * that, users, names and seats would be guesses. */
ida_kind cache_is_synced(store *s, ida_ctx *c, const ida_tenant *tenant, int *synced);

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

#endif
