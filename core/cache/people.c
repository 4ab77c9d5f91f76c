/* Owns searches for people: filters and pages in, rows and counts out. Must not write or know
 * what a list is for. */
#include "core/cache/people.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/listed.h"
#include "core/cache/people_count.h"
#include "core/cache/rank.h"

void cache_person_of(const db_result *r, int i, void *out)
{
    const row_person *row = DB_ROW(person, r, i);
    *(cache_listed_person *)out = CACHE_PERSON_OF;
}

static ida_kind list(store *s, ida_ctx *c, db_statement statement, db_args args,
                     const cache_listed_person **rows, int *count)
{
    return store_rows(s, c, statement, args, cache_person_of, sizeof **rows, rows, count);
}

/* --- search --- */

/* What a statement binds for a filter in addition to the filter's own members. */
typedef struct bound {
    const char *license, *managers, *groups;
    cache_question question;
    int64_t group;  /* the group's number; 0: there is no such group */
    int64_t direct; /* least number of its members that are not groups, as the cache stores
                       it */
    int few;        /* the group is small: start from its members */
} bound;

/* In a group of this size or more, walking the list finds members soon enough. */
#define FEW 10000

/* Numbers of the group and of all groups within it, as a JSON list. */
static ida_kind groups_of(store *s, ida_ctx *c, const char *tenant, const ida_group *group,
                          bound *b)
{
    int64_t members = 0;
    db_result r;
    json_t *numbers = ida_json_keep(c->pool, json_array());
    ida_kind kind = store_read(
        s, c, STMT_group_within,
        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(group->directory)), DB_T(group->id)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        json_array_append_new(numbers, json_integer(DB_ROW(number, &r, i)->number.number));
    }
    b->group = !kind && r.rows ? DB_ROW(number, &r, 0)->number.number : 0;
    b->groups = ida_json_text(c->pool, numbers);
    b->direct = kind ? 0 : group->member_count - r.rows;
    if (!kind && b->direct <= FEW) {
        kind = store_number(s, c, STMT_group_size,
                            DB_ARGS(DB_T(tenant), DB_T(b->groups), DB_I(FEW + 1)), &members);
        b->few = members <= FEW;
    }
    return kind;
}

const char *cache_quoted_license(apr_pool_t *pool, const char *name)
{
    const char *list = name ? cache_list(pool, &name, 1) : NULL;
    return list ? ida_ascii_small(pool, apr_pstrndup(pool, list + 1, strlen(list) - 2)) : NULL;
}

ida_kind cache_question_of(store *s, ida_ctx *c, const char *tenant,
                           const cache_people_filter *filter, cache_question *q)
{
    *q = (cache_question){.terms = cache_terms_of(c->pool, store_is_postgresql(s), filter)};
    return store_is_postgresql(s) ? IDA_OK : cache_ranks(s, c, tenant, &q->first, &q->end);
}

ida_kind cache_question_count(store *s, ida_ctx *c, const char *tenant, const cache_question *q,
                              const char *match, int64_t most, int64_t *total)
{
    return store_number(
        s, c, STMT_people_terms_count,
        DB_ARGS(DB_T(match), DB_I(q->first), DB_I(q->end), DB_I(most), DB_T(tenant)), total);
}

static ida_kind resolve(store *s, ida_ctx *c, const char *tenant, const cache_people_filter *f,
                        bound *b)
{
    *b = (bound){.license = cache_quoted_license(c->pool, f->license)};
    if (f->managers[0]) {
        b->managers = cache_list(c->pool, f->managers, 1 + (f->managers[1] != NULL));
    }
    ida_kind kind = f->group ? groups_of(s, c, tenant, f->group, b) : IDA_OK;
    return kind ? kind : cache_question_of(s, c, tenant, f, &b->question);
}

#define FILTER_ARGS(f, b)                                                                         \
    DB_T(tenant), DB_T((f)->department), DB_I((f)->enabled), DB_I((f)->guest),                    \
        DB_I((f)->signed_in_from), DB_I((f)->signed_in_before), DB_T((f)->words[0]),              \
        DB_T((f)->words[1]), DB_T((f)->words[2]), DB_T((f)->words[3]), DB_T((f)->words[4]),       \
        DB_T((f)->words[5]), DB_T((f)->words[6]), DB_T((f)->words[7]), DB_T((f)->company),        \
        DB_T((f)->job_title), DB_T((f)->employee_id), DB_T((b).license), DB_I((f)->created_from), \
        DB_I((f)->created_before), DB_I((f)->active_before), DB_T((b).managers), DB_T((b).groups)
#define PAGE_ARGS(f) DB_T((f)->after_name), DB_T((f)->after_id), DB_I((f)->limit)

/* First rank of the page: that of the cursor's person or, if that person is gone, of the last
 * one before it. */
static ida_kind begin_at(store *s, ida_ctx *c, const char *tenant, const cache_people_filter *f,
                         int64_t *first)
{
    db_result r;
    if (store_is_postgresql(s) || (!*f->after_name && !*f->after_id)) {
        return IDA_OK;
    }
    ida_kind kind = store_read(s, c, STMT_place_before,
                               DB_ARGS(DB_T(tenant), DB_T(f->after_name), DB_T(f->after_id)), &r);
    if (!kind && r.rows) {
        *first = DB_ROW(placed, &r, 0)->place.number;
    }
    return kind;
}

ida_kind cache_people_search(store *s, ida_ctx *c, const char *tenant,
                             const cache_people_filter *filter, const cache_listed_person **rows,
                             int *count)
{
    bound b;
    ida_kind kind = resolve(s, c, tenant, filter, &b);
    if (!kind && (b.few || !b.question.terms.match)) {
        return list(s, c, b.few ? STMT_people_in_group : STMT_people_search,
                    DB_ARGS(FILTER_ARGS(filter, b), PAGE_ARGS(filter)), rows, count);
    }
    kind = kind ? kind : begin_at(s, c, tenant, filter, &b.question.first);
    return kind ? kind
                : list(s, c, STMT_people_match,
                       DB_ARGS(FILTER_ARGS(filter, b), PAGE_ARGS(filter),
                               DB_T(b.question.terms.match), DB_I(b.question.first),
                               DB_I(b.question.end)),
                       rows, count);
}

ida_kind cache_people_exact(store *s, ida_ctx *c, const char *tenant,
                            const cache_people_filter *filter, const char *from, const char *before,
                            const cache_listed_person **rows, int *count)
{
    bound b;
    ida_kind kind = resolve(s, c, tenant, filter, &b);
    return kind ? kind
                : list(s, c, STMT_people_exact,
                       DB_ARGS(FILTER_ARGS(filter, b), PAGE_ARGS(filter), DB_T(from), DB_T(before)),
                       rows, count);
}

/* Rows that a count reads at most if terms alone do not decide: long words, signs within words. */
#define ROWS_COUNTED 1000

/* Counts rows, because the terms alone do not decide the match. */
static ida_kind count_matches(store *s, ida_ctx *c, const char *tenant,
                              const cache_people_filter *filter, const bound *b, const char *match,
                              int64_t most, int64_t *total)
{
    return store_number(s, c, STMT_people_match_count,
                        DB_ARGS(FILTER_ARGS(filter, *b), DB_T(""), DB_T(""), DB_I(most),
                                DB_T(match), DB_I(b->question.first), DB_I(b->question.end)),
                        total);
}

static int asks_for_group_alone(const cache_people_filter *filter)
{
    cache_people_filter rest = *filter;
    rest.group = NULL;
    return rest.enabled < 0 && rest.guest < 0 && cache_filter_has_count(&rest);
}

/* A large group without a further filter has a stored count. Otherwise candidates are checked
 * one by one: the people who match the terms if they are fewer than the members, else the
 * members. Direct members are read first, because they are usually enough to reach the limit of
 * a count. */
static ida_kind count_group(store *s, ida_ctx *c, const char *tenant,
                            const cache_people_filter *filter, const bound *b, int64_t most,
                            int64_t *total)
{
    int64_t members = b->direct > FEW ? b->direct : FEW, matching = members + 1;
    if (b->direct >= most && asks_for_group_alone(filter)) {
        *total = most;
        return IDA_OK;
    }
    ida_kind kind = IDA_OK;
    if (!b->few && b->question.terms.match) {
        kind = cache_question_count(s, c, tenant, &b->question, b->question.terms.match,
                                    members + 1, &matching);
    }
    if (!kind && matching <= members) {
        return count_matches(s, c, tenant, filter, b, b->question.terms.match, most, total);
    }
    if (!kind && !b->few) {
        kind = store_number(s, c, STMT_people_direct_count,
                            DB_ARGS(FILTER_ARGS(filter, *b), DB_I(most), DB_I(b->group)), total);
    }
    return kind || *total >= most
               ? kind
               : store_number(s, c, STMT_people_in_group_count,
                              DB_ARGS(FILTER_ARGS(filter, *b), DB_I(most)), total);
}

ida_kind cache_people_count(store *s, ida_ctx *c, const char *tenant,
                            const cache_people_filter *filter, int64_t most, int64_t *total,
                            int *more)
{
    bound b;
    int64_t edges = 0;
    *total = *more = 0;
    if (cache_filter_has_count(filter)) {
        const cache_people_kind which = {filter->enabled, filter->guest, -1};
        return cache_people_count_stored(s, c, tenant, &which, most, total);
    }
    ida_kind kind = resolve(s, c, tenant, filter, &b);
    if (kind) {
        return kind;
    }
    if (filter->group) {
        return count_group(s, c, tenant, filter, &b, most, total);
    }
    if (b.question.terms.whole) {
        return cache_question_count(s, c, tenant, &b.question, b.question.terms.match, most, total);
    }
    if (!b.question.terms.inside) {
        int64_t rows = most < ROWS_COUNTED ? most : ROWS_COUNTED;
        kind = count_matches(s, c, tenant, filter, &b, b.question.terms.match, rows, total);
        *more = !kind && rows < most && *total == rows;
        return kind;
    }
    kind = cache_question_count(s, c, tenant, &b.question, b.question.terms.inside, most, total);
    if (!kind && *total < most) {
        kind = count_matches(s, c, tenant, filter, &b, b.question.terms.edges, most - *total,
                             &edges);
    }
    *total += edges;
    return kind;
}
