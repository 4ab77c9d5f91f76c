/* Lists of people of the cache in pages by key, for searches. A person in both
 * directories is listed once, with the cloud's row. Role DB_REQUEST. */
#ifndef CORE_CACHE_PEOPLE_H
#define CORE_CACHE_PEOPLE_H

#include "core/cache/groups.h"
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

#endif
