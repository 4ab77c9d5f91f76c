/* Reports over the cache for hygiene: pages of people or groups that need a review, and how many
 * there are. Role DB_REQUEST. */
#ifndef CORE_CACHE_REPORTS_H
#define CORE_CACHE_REPORTS_H

#include "core/cache/people.h"

/* A page examines at most this many people, however few of them match the filter; if the index of
 * terms says that the filter leaves no more of them, these alone. */
#define CACHE_REPORT_LOOK 2000
/* What is counted at most where a filter leaves many people. */
#define CACHE_REPORT_COUNTED 500
/* Where a page ended that reached this bound before it was full; `id` NULL: all people were
 * read. */
typedef struct cache_report_edge {
    int64_t at;
    const char *name_key, *id;
} cache_report_edge;
/* How many people match the filter; `more`: further people were not read. */
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
    int64_t most;          /* what is counted at most, one more than is told */
    int64_t most_filtered; /* the same where a filter leaves many */
    int64_t look;          /* people that a first page examines then */
    int count;             /* out: rows of the page */
    cache_report_edge edge;
    cache_report_count total; /* set by the first page alone */
} cache_report;

/* Enabled people (guests or not) who were not active since `before`, longest first, without
 * those of unknown activity. */
ida_kind cache_people_idle(store *s, ida_ctx *c, cache_report *r, const cache_listed_person **rows);

/* Enabled people, without guests, for whom the directory names no manager. */
ida_kind cache_people_unmanaged(store *s, ida_ctx *c, cache_report *r,
                                const cache_listed_person **rows);

/* Disabled accounts with direct memberships (other than by a rule) or licences, by name. */
typedef struct cache_holder {
    cache_listed_person person;
    const char *licenses; /* names as JSON */
    int64_t memberships;
} cache_holder;
ida_kind cache_people_holding(store *s, ida_ctx *c, cache_report *r, const cache_holder **rows);

/* Enabled people whose manager's account is disabled, by name. */
ida_kind cache_people_orphaned(store *s, ida_ctx *c, cache_report *r,
                               const cache_listed_person **rows);

/* Accounts with an address (UPN or other) that another account of the same directory has too:
 * one row for each such address, sorted by address and ID. */
typedef struct cache_sharer {
    cache_listed_person person;
    const char *address; /* folded */
} cache_sharer;
ida_kind cache_people_sharing(store *s, ida_ctx *c, cache_report *r, const cache_sharer **rows);

/* Groups without a member, by name; filters of people do not hold for them. */
typedef struct cache_empty_group {
    const char *directory, *id, *name, *kind, *name_key;
} cache_empty_group;
ida_kind cache_groups_empty(store *s, ida_ctx *c, cache_report *r, const cache_empty_group **rows);

/* How many enabled people of the cloud an on-premises directory masters. */
ida_kind cache_people_mastered_count(store *s, ida_ctx *c, const char *tenant, int64_t *count);

#endif
