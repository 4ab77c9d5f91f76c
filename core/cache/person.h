/* Reading users of the cache. Role DB_REQUEST or any that sees cache. */
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

#endif
