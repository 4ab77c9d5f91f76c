/* Lists of people and groups of the cache in pages by key, for search and hygiene. A person in
 * both directories is listed once, with the cloud's row. Role DB_REQUEST. */
#ifndef CORE_CACHE_PEOPLE_H
#define CORE_CACHE_PEOPLE_H

#include "core/cache/person.h"
#include "core/store/store.h"
#include "core/tenant/tenant.h"

typedef struct cache_listed_person {
    const char *directory, *id;
    IDA_PERSON(IDA_LISTED_MEMBER)
    const char *name_key;                                /* order of lists: name_key, id */
    const char *manager_id, *manager_upn, *manager_name; /* NULL when none or unknown */
    int enabled, expired, guest;                         /* expired: as in ida_user */
    int64_t last_sign_in_at, last_success_at;
    int64_t active_at; /* hygiene lists: last successful sign-in, otherwise last sign-in,
                          otherwise creation; 0 unknown */
} cache_listed_person;

#define CACHE_WORDS_MAX 8

typedef struct cache_people_filter {
    const char *words[CACHE_WORDS_MAX];           /* ida_search_word; NULL ends the list */
    const char *department, *company, *job_title; /* ida_name_key, NULL: all */
    const char *employee_id;                      /* ida_fold_value */
    const char *license;                          /* its name in any case */
    const char *managers[2];                      /* IDs of one person; NULL ends the list */
    const ida_group *group;                       /* direct or nested member of it; NULL: any */
    int enabled, guest;                           /* 0, 1; -1: all */
    int64_t signed_in_from, signed_in_before;     /* last sign-in: from inclusive, before exclusive;
                                                     never is 0. INT64_MAX: open */
    const char *after_name, *after_id;            /* page; "" at first */
    int64_t created_from, created_before;         /* INT64_MIN and INT64_MAX: open */
    int64_t active_before; /* last successful sign-in, otherwise sign-in, otherwise creation; 0:
                              any */
    int limit;
} cache_people_filter;

/* Everybody. */
#define CACHE_PEOPLE_ALL                                                                      \
    {                                                                                         \
        .enabled = -1, .guest = -1, .signed_in_before = INT64_MAX, .created_from = INT64_MIN, \
        .created_before = INT64_MAX, .after_name = "", .after_id = ""                         \
    }

ida_kind cache_people_search(store *s, ida_ctx *c, const char *tenant,
                             const cache_people_filter *filter, const cache_listed_person **rows,
                             int *count);
/* People of the filter whose folded UPN is at least `from` and less than `before`. */
ida_kind cache_people_exact(store *s, ida_ctx *c, const char *tenant,
                            const cache_people_filter *filter, const char *from, const char *before,
                            const cache_listed_person **rows, int *count);
/* At most `most`. *more: there may be more than *total, because the index alone could not count
 * them and reading them all would cost too much. */
ida_kind cache_people_count(store *s, ida_ctx *c, const char *tenant,
                            const cache_people_filter *filter, int64_t most, int64_t *total,
                            int *more);

/* A page of a report reads at most this many people, however few of them match the filter; if the
 * index of terms says that the filter leaves no more of them, these alone. */
#define CACHE_REPORT_LOOK 2000
/* Where a page ended that reached this bound before it was full; `id` NULL: all people were
 * read. */
typedef struct cache_report_edge {
    int64_t at;
    const char *name_key, *id;
} cache_report_edge;
/* How many of the first `most` people match the filter; `more`: further people were not read. */
typedef struct cache_report_count {
    int64_t number;
    int more;
} cache_report_count;

/* A report: whom it covers, which page of it is wanted, what was found. */
typedef struct cache_report {
    const char *tenant;
    const char *department, *company;  /* ida_name_key; NULL: all */
    const char *license;               /* its name in any case; NULL: all */
    int guest;                         /* idle people: guests, or the others */
    int64_t before;                    /* idle people: not active since then */
    int64_t after_at;                  /* the page begins after these values of its order, */
    const char *after_text, *after_id; /* of which the second is a name or an address; 0 and "" for
                                          the first page */
    int limit;
    int64_t most; /* what is counted at most */
    int64_t look; /* people that a count may examine where a filter leaves many */
    int count;    /* out: rows of the page */
    cache_report_edge edge;
    cache_report_count total;
} cache_report;

/* Each has a function for a page and one that sets `total`. */

/* Enabled people (guests or not) who were not active since `before`, longest first, without
 * those of unknown activity. */
ida_kind cache_people_idle(store *s, ida_ctx *c, cache_report *r, const cache_listed_person **rows);
ida_kind cache_people_idle_count(store *s, ida_ctx *c, cache_report *r);

/* Enabled people, without guests, for whom the directory names no manager. */
ida_kind cache_people_unmanaged(store *s, ida_ctx *c, cache_report *r,
                                const cache_listed_person **rows);
ida_kind cache_people_unmanaged_count(store *s, ida_ctx *c, cache_report *r);

/* Disabled accounts with direct memberships (other than by a rule) or licences, by name. */
typedef struct cache_holder {
    cache_listed_person person;
    const char *licenses; /* names as JSON */
    int64_t memberships;
} cache_holder;
ida_kind cache_people_holding(store *s, ida_ctx *c, cache_report *r, const cache_holder **rows);
ida_kind cache_people_holding_count(store *s, ida_ctx *c, cache_report *r);

/* Accounts with an address (UPN or other) that another account of the same directory has too:
 * one row for each such address, sorted by address and ID. */
typedef struct cache_sharer {
    cache_listed_person person;
    const char *address; /* folded */
} cache_sharer;
ida_kind cache_people_sharing(store *s, ida_ctx *c, cache_report *r, const cache_sharer **rows);
ida_kind cache_people_sharing_count(store *s, ida_ctx *c, cache_report *r);

/* Groups without a member, by name; filters of people do not hold for them. */
typedef struct cache_empty_group {
    const char *directory, *id, *name, *kind, *name_key;
} cache_empty_group;
ida_kind cache_groups_empty(store *s, ida_ctx *c, cache_report *r, const cache_empty_group **rows);
ida_kind cache_groups_empty_count(store *s, ida_ctx *c, cache_report *r);

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

/* State of the tenant's directories together: the older of their last completed synchronisations
 * (0: never), and which of them record sign-ins. */
typedef struct cache_freshness {
    int64_t as_of;
    int64_t sign_ins_as_of; /* when sign-ins were last read, the oldest of all directories; 0:
                               none records them */
    int sign_ins[IDA_DIR_COUNT];
    int synced; /* every directory of the tenant has been read in full once */
} cache_freshness;

ida_kind cache_freshness_get(store *s, ida_ctx *c, const ida_tenant *tenant,
                             cache_freshness *fresh);

/* Number of entries that the present run has received. */
ida_kind cache_sync_progress(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             int64_t *users, int64_t *groups);

#endif
