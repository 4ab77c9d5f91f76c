/* Owns the reports of hygiene over the cache. Must not write or know how a report is shown. */
#include "core/cache/reports.h"

#include <string.h>

#include "core/cache/listed.h"
#include "core/cache/people_count.h"
#include "core/cache/rows.h"

/* --- totals --- */

static int is_first_page(const cache_report *r)
{
    return !*r->after_id;
}

static void total_is(cache_report *r, int64_t number, int more, int64_t most)
{
    int beyond = number >= most;
    r->total = (cache_report_count){beyond ? most - 1 : number, more || beyond};
}

/* What is said without counting: a first page that is not full has all there are. */
static int has_all(const cache_report *r)
{
    return r->count < r->limit && !r->edge.id;
}

/* The total of a report that a statement counts to at most r->most. */
static ida_kind count(store *s, ida_ctx *c, db_statement statement, db_args args, cache_report *r)
{
    int64_t number = r->count;
    ida_kind kind = !is_first_page(r) || has_all(r) ? IDA_OK
                                                    : store_number(s, c, statement, args, &number);
    if (!kind && is_first_page(r)) {
        total_is(r, number, 0, r->most);
    }
    return kind;
}

/* --- who is found --- */

#define FILTER(r) \
    DB_T((r)->department), DB_T((r)->company), DB_T(cache_quoted_license(c->pool, (r)->license))
#define BEHIND(r) DB_T((r)->after_text), DB_T((r)->after_id)

/* How a report finds its people: by an index in its own order or, if a filter leaves few, by the
 * index of terms. Both give IDs alone, because the rows of a page are fewer than the people who
 * are examined for it. */
typedef struct way {
    db_statement walk, few, edge;
    db_args place;              /* of the page: the first arguments of all three */
    cache_people_filter people; /* of whom the report's people are some */
    int by_name;                /* 1: in the order of names, else of activity */
    int rare;                   /* 1: may be very few of them, also without a filter */
} way;

/* Arguments of a statement, in their order. */
typedef struct arguments {
    db_arg list[16];
    size_t count;
} arguments;

static void add(arguments *a, db_args more)
{
    memcpy(a->list + a->count, more.list, more.count * sizeof *more.list);
    a->count += more.count;
}

static ida_kind run(store *s, ida_ctx *c, db_statement statement, const way *w, db_args more,
                    db_result *found)
{
    arguments a = {.count = 0};
    add(&a, w->place);
    add(&a, more);
    return store_read(s, c, statement, DB_FIRST(a.list, a.count), found);
}

static int of_everybody(const cache_report *r)
{
    return !r->department && !r->company && !r->license;
}

/* Whom the filter leaves, if the index of terms alone can say that they are few. The days of the
 * last activity are not asked for: of a long time they are a hundred terms, each of which would be
 * looked at for each person. */
static ida_kind find_few(store *s, ida_ctx *c, const cache_report *r, const way *w,
                         cache_question *q, int *few)
{
    int64_t number = 0;
    cache_people_filter people = w->people;
    people.department = r->department;
    people.company = r->company;
    people.license = r->license;
    ida_kind kind = cache_question_of(s, c, r->tenant, &people, q);
    kind = kind ? kind
                : cache_question_count(s, c, r->tenant, q, q->terms.match, CACHE_REPORT_LOOK + 1,
                                       &number);
    *few = !kind && number <= CACHE_REPORT_LOOK;
    return kind;
}

static ida_kind find_edge(store *s, ida_ctx *c, const way *w, int64_t look, cache_report *r)
{
    db_result found;
    ida_kind kind = run(s, c, w->edge, w, DB_ARGS(DB_I(look)), &found);
    const row_report_edge *row = DB_ROW(report_edge, &found, 0);
    if (!kind) {
        r->edge = (cache_report_edge){row->at.number, row->name_key.text, row->id.text};
    }
    return kind;
}

/* The end of what is examined, as the last arguments of a walk. */
static void add_edge(arguments *a, const way *w, const cache_report_edge *e)
{
    const db_arg at = DB_I(e->id ? e->at : INT64_MAX - 1), name = DB_T(e->name_key);
    add(a, DB_ARGS(w->by_name ? name : at, DB_T(e->id)));
}

/* The IDs of the page. With a filter those of a first page are all that are counted. A page that
 * was filled before all candidates were read needs no edge. */
static ida_kind find(store *s, ida_ctx *c, const way *w, cache_report *r, db_result *ids)
{
    cache_question q;
    arguments more = {.count = 0};
    int few = 0, narrow = !of_everybody(r), counts = narrow && is_first_page(r);
    r->edge = (cache_report_edge){0};
    ida_kind kind = narrow ? find_few(s, c, r, w, &q, &few) : IDA_OK;
    if (!kind && !few && (narrow || w->rare)) {
        kind = find_edge(s, c, w, counts ? r->look : CACHE_REPORT_LOOK, r);
    }
    if (kind) {
        return kind;
    }
    int64_t most = few ? CACHE_REPORT_LOOK + 1 : r->most_filtered;
    add(&more, DB_ARGS(DB_I(counts ? most : r->limit)));
    if (few) {
        add(&more, DB_ARGS(DB_T(q.terms.match), DB_I(q.first), DB_I(q.end)));
    } else {
        add(&more, DB_ARGS(FILTER(r)));
        add_edge(&more, w, &r->edge);
    }
    kind = run(s, c, few ? w->few : w->walk, w, DB_FIRST(more.list, more.count), ids);
    if (!kind && counts) {
        total_is(r, ids->rows, r->edge.id != NULL, most);
    }
    r->count = kind ? 0 : ids->rows < r->limit ? ids->rows : r->limit;
    r->edge.id = r->count < r->limit ? r->edge.id : NULL;
    return kind;
}

/* The rows of the page, in the order of their IDs. */
static ida_kind rows_of(store *s, ida_ctx *c, cache_report *r, const db_result *ids,
                        db_statement statement, store_row fill, size_t size, void *rows)
{
    const char **pairs = apr_palloc(c->pool, (apr_size_t)(r->count + 1) * 2 * sizeof *pairs);
    for (int i = 0; i < r->count; i++) {
        const row_person_id *row = DB_ROW(person_id, ids, i);
        pairs[2 * i] = row->directory.text;
        pairs[2 * i + 1] = row->id.text;
    }
    return !r->count
               ? IDA_OK
               : store_rows(s, c, statement,
                            DB_ARGS(DB_T(r->tenant), DB_T(cache_rows(c->pool, pairs, 2, r->count))),
                            fill, size, rows, &r->count);
}

/* --- the reports --- */

ida_kind cache_people_idle(store *s, ida_ctx *c, cache_report *r, const cache_listed_person **rows)
{
    int64_t from = r->after_at > 0 ? r->after_at : 1;
    const db_arg place[] = {DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), DB_I(from),
                            DB_T(r->after_id)};
    way w = {STMT_people_idle,
             STMT_people_idle_few,
             STMT_people_idle_edge,
             DB_FIRST(place, 5),
             CACHE_PEOPLE_ALL,
             0,
             0};
    db_result ids;
    w.people.enabled = 1;
    w.people.guest = r->guest;
    ida_kind kind = find(s, c, &w, r, &ids);
    kind = kind ? kind
                : rows_of(s, c, r, &ids, STMT_people_of, cache_person_of, sizeof **rows, rows);
    return kind || !of_everybody(r)
               ? kind
               : count(s, c, STMT_people_idle_count,
                       DB_ARGS(DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), DB_I(r->most)), r);
}

ida_kind cache_people_unmanaged(store *s, ida_ctx *c, cache_report *r,
                                const cache_listed_person **rows)
{
    const db_arg place[] = {DB_T(r->tenant), BEHIND(r)};
    way w = {STMT_people_unmanaged,
             STMT_people_unmanaged_few,
             STMT_people_unmanaged_edge,
             DB_FIRST(place, 3),
             CACHE_PEOPLE_ALL,
             1,
             0};
    const cache_people_kind members = {.enabled = 1, .guest = 0, .managed = 0};
    db_result ids;
    int64_t number = 0;
    w.people.enabled = 1;
    w.people.guest = 0;
    ida_kind kind = find(s, c, &w, r, &ids);
    kind = kind ? kind
                : rows_of(s, c, r, &ids, STMT_people_of, cache_person_of, sizeof **rows, rows);
    if (kind || !of_everybody(r) || !is_first_page(r)) {
        return kind;
    }
    kind = cache_people_count_stored(s, c, r->tenant, &members, r->most, &number);
    total_is(r, number, 0, r->most);
    return kind;
}

STORE_FILL(holder_of, cache_holder, holder, .person = CACHE_PERSON_OF,
           .licenses = row->licenses.text, .memberships = row->memberships.number)

/* How many of everybody. Licensed people may be as numerous and have an index of their own. */
static ida_kind count_holders(store *s, ida_ctx *c, cache_report *r)
{
    int64_t licensed = 0;
    db_result found;
    if (has_all(r)) {
        total_is(r, r->count, 0, r->most);
        return IDA_OK;
    }
    ida_kind kind = store_number(s, c, STMT_people_disabled_licensed_count,
                                 DB_ARGS(DB_T(r->tenant), DB_I(r->most)), &licensed);
    if (kind || licensed >= r->most) {
        total_is(r, licensed, 0, r->most);
        return kind;
    }
    kind = store_read(s, c, STMT_people_holding_count, DB_ARGS(DB_T(r->tenant), DB_I(r->most)),
                      &found);
    if (!kind) {
        const row_report_count *row = DB_ROW(report_count, &found, 0);
        total_is(r, row->number.number, row->looked.number >= r->most, r->most);
    }
    return kind;
}

ida_kind cache_people_holding(store *s, ida_ctx *c, cache_report *r, const cache_holder **rows)
{
    const db_arg place[] = {DB_T(r->tenant), BEHIND(r)};
    way w = {STMT_people_holding,
             STMT_people_holding_few,
             STMT_people_holding_edge,
             DB_FIRST(place, 3),
             CACHE_PEOPLE_ALL,
             1,
             1};
    db_result ids;
    w.people.enabled = 0;
    ida_kind kind = find(s, c, &w, r, &ids);
    kind = kind ? kind : rows_of(s, c, r, &ids, STMT_holders_of, holder_of, sizeof **rows, rows);
    return kind || !of_everybody(r) || !is_first_page(r) ? kind : count_holders(s, c, r);
}

STORE_FILL(sharer_of, cache_sharer, sharer, .person = CACHE_PERSON_OF, .address = row->address.text)

ida_kind cache_people_sharing(store *s, ida_ctx *c, cache_report *r, const cache_sharer **rows)
{
    ida_kind kind = store_rows(s, c, STMT_people_sharing,
                               DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), FILTER(r)),
                               sharer_of, sizeof **rows, rows, &r->count);
    return kind ? kind
                : count(s, c, STMT_people_sharing_count,
                        DB_ARGS(DB_T(r->tenant), FILTER(r), DB_I(r->most)), r);
}

ida_kind cache_people_orphaned(store *s, ida_ctx *c, cache_report *r,
                               const cache_listed_person **rows)
{
    ida_kind kind = store_rows(s, c, STMT_people_orphaned,
                               DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), FILTER(r)),
                               cache_person_of, sizeof **rows, rows, &r->count);
    return kind ? kind
                : count(s, c, STMT_people_orphaned_count,
                        DB_ARGS(DB_T(r->tenant), FILTER(r), DB_I(r->most)), r);
}

STORE_FILL(group_of, cache_empty_group, group_empty, row->directory.text, row->id.text,
           row->name.text, row->kind.text, row->name_key.text)

ida_kind cache_groups_empty(store *s, ida_ctx *c, cache_report *r, const cache_empty_group **rows)
{
    ida_kind kind = store_rows(s, c, STMT_groups_empty,
                               DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit)), group_of,
                               sizeof **rows, rows, &r->count);
    return kind ? kind
                : count(s, c, STMT_groups_empty_count, DB_ARGS(DB_T(r->tenant), DB_I(r->most)), r);
}

ida_kind cache_people_mastered_count(store *s, ida_ctx *c, const char *tenant, int64_t *count)
{
    return store_number(s, c, STMT_people_mastered_count, DB_ARGS(DB_T(tenant)), count);
}
