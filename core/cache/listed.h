/* What the files that list people share: a row as a person, a filter as terms. For core/cache
 * alone. */
#ifndef CORE_CACHE_LISTED_H
#define CORE_CACHE_LISTED_H

#include "core/cache/people.h"
#include "core/cache/terms.h"
#include "core/store/rows.h"

/* Reads the person's columns of a row; other columns may follow. */
#define CACHE_LISTED(column, name, listed, ...) IDA_IF_##listed(.column = row->column.text, )
#define CACHE_PERSON_OF                                                                       \
    (cache_listed_person)                                                                     \
    {                                                                                         \
        .directory = row->directory.text, .id = row->id.text, .name_key = row->name_key.text, \
        .manager_id = row->manager_id.text, .manager_upn = row->manager_upn.text,             \
        .manager_name = row->manager_display_name.text, .enabled = row->enabled.number != 0,  \
        .expired = row->expired.number != 0, .guest = row->guest.number != 0,                 \
        .last_sign_in_at = row->last_sign_in_at.number,                                       \
        .last_success_at = row->last_success_at.number, .active_at = row->active_at.number,   \
        IDA_PERSON(CACHE_LISTED)                                                              \
    }

/* The same, as a function for rows of the kind person. */
void cache_person_of(const db_result *r, int row, void *out);

/* A question to the index of terms. */
typedef struct cache_question {
    cache_terms terms;
    int64_t first, end; /* SQLite: ranks of the tenant */
} cache_question;

ida_kind cache_question_of(store *s, ida_ctx *c, const char *tenant,
                           const cache_people_filter *filter, cache_question *q);
/* How many people match the terms, at most `most`. */
ida_kind cache_question_count(store *s, ida_ctx *c, const char *tenant, const cache_question *q,
                              const char *match, int64_t most, int64_t *total);
/* A name as it is stored in a list of licences, which are compared in lower case of ASCII; NULL
 * for NULL. */
const char *cache_quoted_license(apr_pool_t *pool, const char *name);

#endif
