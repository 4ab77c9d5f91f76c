/* Owns reading lists of people and groups: filters and pages in, rows out. Must not write or
 * know what a list is for. */
#include "core/cache/people.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/people_count.h"
#include "core/cache/rank.h"
#include "core/cache/terms.h"
#include "core/store/rows.h"

/* Reads the person's columns of a row; other columns may follow. */
#define LISTED(column, name, listed, ...) IDA_IF_##listed(.column = row->column.text, )
#define PERSON_OF                                                                             \
    (cache_listed_person)                                                                     \
    {                                                                                         \
        .directory = row->directory.text, .id = row->id.text, .name_key = row->name_key.text, \
        .manager_id = row->manager_id.text, .manager_upn = row->manager_upn.text,             \
        .manager_name = row->manager_display_name.text, .enabled = row->enabled.number != 0,  \
        .expired = row->expired.number != 0, .guest = row->guest.number != 0,                 \
        .last_sign_in_at = row->last_sign_in_at.number,                                       \
        .last_success_at = row->last_success_at.number, .active_at = row->active_at.number,   \
        IDA_PERSON(LISTED)                                                                    \
    }

static void person_of(const db_result *r, int i, void *out)
{
    const row_person *row = DB_ROW(person, r, i);
    *(cache_listed_person *)out = PERSON_OF;
}

static ida_kind list(store *s, ida_ctx *c, db_statement statement, db_args args,
                     const cache_listed_person **rows, int *count)
{
    return store_rows(s, c, statement, args, person_of, sizeof **rows, rows, count);
}

/* --- search --- */

/* What a statement binds for a filter in addition to the filter's own members. */
typedef struct bound {
    const char *license, *managers, *groups;
    cache_terms terms;
    int64_t first, end; /* ranks of the tenant */
    int64_t group;      /* the group's number; 0: there is no such group */
    int64_t direct;     /* least number of its members that are not groups, as the cache stores
                           it */
    int few;            /* the group is small: start from its members */
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

/* A name as it is stored in a list of licences, which are compared in lower case of ASCII. */
static const char *quoted(apr_pool_t *pool, const char *name)
{
    const char *list = cache_list(pool, &name, 1);
    return ida_ascii_small(pool, apr_pstrndup(pool, list + 1, strlen(list) - 2));
}

static ida_kind resolve(store *s, ida_ctx *c, const char *tenant, const cache_people_filter *f,
                        bound *b)
{
    *b = (bound){.license = f->license ? quoted(c->pool, f->license) : NULL};
    if (f->managers[0]) {
        b->managers = cache_list(c->pool, f->managers, 1 + (f->managers[1] != NULL));
    }
    ida_kind kind = f->group ? groups_of(s, c, tenant, f->group, b) : IDA_OK;
    b->terms = cache_terms_of(c->pool, store_is_postgresql(s), f);
    return kind || store_is_postgresql(s) ? kind : cache_ranks(s, c, tenant, &b->first, &b->end);
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
    if (!kind && (b.few || !b.terms.match)) {
        return list(s, c, b.few ? STMT_people_in_group : STMT_people_search,
                    DB_ARGS(FILTER_ARGS(filter, b), PAGE_ARGS(filter)), rows, count);
    }
    kind = kind ? kind : begin_at(s, c, tenant, filter, &b.first);
    return kind ? kind
                : list(s, c, STMT_people_match,
                       DB_ARGS(FILTER_ARGS(filter, b), PAGE_ARGS(filter), DB_T(b.terms.match),
                               DB_I(b.first), DB_I(b.end)),
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

static ida_kind count_terms(store *s, ida_ctx *c, const char *tenant, const bound *b,
                            const char *match, int64_t most, int64_t *total)
{
    return store_number(
        s, c, STMT_people_terms_count,
        DB_ARGS(DB_T(match), DB_I(b->first), DB_I(b->end), DB_I(most), DB_T(tenant)), total);
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
                                DB_T(match), DB_I(b->first), DB_I(b->end)),
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
    if (!b->few && b->terms.match) {
        kind = count_terms(s, c, tenant, b, b->terms.match, members + 1, &matching);
    }
    if (!kind && matching <= members) {
        return count_matches(s, c, tenant, filter, b, b->terms.match, most, total);
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
    if (b.terms.whole) {
        return count_terms(s, c, tenant, &b, b.terms.match, most, total);
    }
    if (!b.terms.inside) {
        int64_t rows = most < ROWS_COUNTED ? most : ROWS_COUNTED;
        kind = count_matches(s, c, tenant, filter, &b, b.terms.match, rows, total);
        *more = !kind && rows < most && *total == rows;
        return kind;
    }
    kind = count_terms(s, c, tenant, &b, b.terms.inside, most, total);
    if (!kind && *total < most) {
        kind = count_matches(s, c, tenant, filter, &b, b.terms.edges, most - *total, &edges);
    }
    *total += edges;
    return kind;
}

/* --- hygiene, groups --- */

#define OF_ARGS(r)                             \
    DB_T((r)->department), DB_T((r)->company), \
        DB_T((r)->license ? quoted(c->pool, (r)->license) : NULL)
#define BEHIND(r) DB_T((r)->after_text), DB_T((r)->after_id)

static int of_everybody(const cache_report *r)
{
    return !r->department && !r->company && !r->license;
}

static ida_kind find_edge(store *s, ida_ctx *c, db_statement statement, db_args args,
                          cache_report *r)
{
    db_result found;
    ida_kind kind = store_read(s, c, statement, args, &found);
    const row_report_edge *row = DB_ROW(report_edge, &found, 0);
    if (!kind) {
        r->edge = (cache_report_edge){row->at.number, row->name_key.text, row->id.text};
    }
    return kind;
}

/* Who is left by a report's filter, if the index of terms alone can say that they are few: `kind`
 * is what the report asks of everybody. */
static ida_kind find_few(store *s, ida_ctx *c, const cache_report *r, cache_people_filter kind,
                         bound *b, int *few)
{
    int64_t number = 0;
    *few = 0;
    if (of_everybody(r)) {
        return IDA_OK;
    }
    kind.department = r->department;
    kind.company = r->company;
    kind.license = r->license;
    ida_kind result = resolve(s, c, r->tenant, &kind, b);
    result = result
                 ? result
                 : count_terms(s, c, r->tenant, b, b->terms.match, CACHE_REPORT_LOOK + 1, &number);
    *few = !result && number <= CACHE_REPORT_LOOK;
    return result;
}

#define OF_FEW(b) DB_T((b).terms.match), DB_I((b).first), DB_I((b).end)

/* A page that was filled before all candidates were read needs no edge. */
static ida_kind filled(ida_kind kind, cache_report *r)
{
    r->edge.id = kind || r->count >= r->limit ? NULL : r->edge.id;
    return kind;
}

static void at_most(int64_t number, cache_report *r)
{
    r->total.more = number >= r->most;
    r->total.number = r->total.more ? r->most - 1 : number;
}

/* A number that the store counted to at most `most`. */
static ida_kind numbered(store *s, ida_ctx *c, db_statement statement, db_args args,
                         cache_report *r)
{
    int64_t number = 0;
    ida_kind kind = store_number(s, c, statement, args, &number);
    at_most(number, r);
    return kind;
}

/* People whom a count examines at most. */
static int64_t examined(const cache_report *r)
{
    return of_everybody(r) || r->most < r->look ? r->most : r->look;
}

/* Bounded: reads at most so many rows. */
static ida_kind counted(store *s, ida_ctx *c, db_statement statement, db_args args, cache_report *r)
{
    db_result found;
    ida_kind kind = store_read(s, c, statement, args, &found);
    const row_report_count *row = DB_ROW(report_count, &found, 0);
    r->total = (cache_report_count){0};
    if (!kind) {
        at_most(row->number.number, r);
        r->total.more = row->looked.number >= examined(r);
    }
    return kind;
}

static cache_people_filter idle_people(const cache_report *r)
{
    cache_people_filter idle = CACHE_PEOPLE_ALL;
    idle.enabled = 1;
    idle.guest = r->guest;
    idle.active_before = r->before;
    return idle;
}

ida_kind cache_people_idle(store *s, ida_ctx *c, cache_report *r, const cache_listed_person **rows)
{
    int64_t from = r->after_at > 0 ? r->after_at : 1;
    bound b;
    int few;
    r->edge = (cache_report_edge){0};
    ida_kind kind = find_few(s, c, r, idle_people(r), &b, &few);
    if (few) {
        return list(s, c, STMT_people_idle_few,
                    DB_ARGS(DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), DB_I(from),
                            DB_T(r->after_id), DB_I(r->limit), OF_ARGS(r), OF_FEW(b)),
                    rows, &r->count);
    }
    kind = kind || of_everybody(r)
               ? kind
               : find_edge(s, c, STMT_people_idle_edge,
                           DB_ARGS(DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), DB_I(from),
                                   DB_T(r->after_id), DB_I(CACHE_REPORT_LOOK)),
                           r);
    kind = kind ? kind
                : list(s, c, STMT_people_idle,
                       DB_ARGS(DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), DB_I(from),
                               DB_T(r->after_id), DB_I(r->limit), OF_ARGS(r), DB_I(r->edge.at),
                               DB_T(r->edge.id)),
                       rows, &r->count);
    return filled(kind, r);
}

ida_kind cache_people_idle_count(store *s, ida_ctx *c, cache_report *r)
{
    bound b;
    int few;
    ida_kind kind = find_few(s, c, r, idle_people(r), &b, &few);
    if (kind || few) {
        return kind ? kind
                    : numbered(s, c, STMT_people_idle_few_count,
                               DB_ARGS(DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), DB_I(1),
                                       OF_ARGS(r), OF_FEW(b)),
                               r);
    }
    return counted(s, c, STMT_people_idle_count,
                   DB_ARGS(DB_T(r->tenant), DB_I(r->guest), DB_I(r->before), OF_ARGS(r),
                           DB_I(examined(r))),
                   r);
}

static cache_people_filter members(void)
{
    cache_people_filter members = CACHE_PEOPLE_ALL;
    members.enabled = 1;
    members.guest = 0;
    return members;
}

ida_kind cache_people_unmanaged(store *s, ida_ctx *c, cache_report *r,
                                const cache_listed_person **rows)
{
    bound b;
    int few;
    r->edge = (cache_report_edge){0};
    ida_kind kind = find_few(s, c, r, members(), &b, &few);
    if (few) {
        return list(s, c, STMT_people_unmanaged_few,
                    DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), OF_ARGS(r), OF_FEW(b)),
                    rows, &r->count);
    }
    kind = kind || of_everybody(r)
               ? kind
               : find_edge(s, c, STMT_people_unmanaged_edge,
                           DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(CACHE_REPORT_LOOK)), r);
    kind = kind ? kind
                : list(s, c, STMT_people_unmanaged,
                       DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), OF_ARGS(r),
                               DB_T(r->edge.name_key), DB_T(r->edge.id)),
                       rows, &r->count);
    return filled(kind, r);
}

ida_kind cache_people_unmanaged_count(store *s, ida_ctx *c, cache_report *r)
{
    if (of_everybody(r)) {
        int64_t number = 0;
        const cache_people_kind members = {.enabled = 1, .guest = 0, .managed = 0};
        ida_kind kind = cache_people_count_stored(s, c, r->tenant, &members, r->most, &number);
        at_most(number, r);
        return kind;
    }
    bound b;
    int few;
    ida_kind kind = find_few(s, c, r, members(), &b, &few);
    return kind  ? kind
           : few ? numbered(s, c, STMT_people_unmanaged_few_count,
                            DB_ARGS(DB_T(r->tenant), OF_ARGS(r), OF_FEW(b)), r)
                 : counted(s, c, STMT_people_unmanaged_count,
                           DB_ARGS(DB_T(r->tenant), OF_ARGS(r), DB_I(examined(r))), r);
}

STORE_FILL(holder_of, cache_holder, holder, .person = PERSON_OF, .licenses = row->licenses.text,
           .memberships = row->memberships.number)

STORE_FILL(sharer_of, cache_sharer, sharer, .person = PERSON_OF, .address = row->address.text)

ida_kind cache_people_sharing(store *s, ida_ctx *c, cache_report *r, const cache_sharer **rows)
{
    return store_rows(s, c, STMT_people_sharing,
                      DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), OF_ARGS(r)), sharer_of,
                      sizeof **rows, rows, &r->count);
}

ida_kind cache_people_sharing_count(store *s, ida_ctx *c, cache_report *r)
{
    return numbered(s, c, STMT_people_sharing_count,
                    DB_ARGS(DB_T(r->tenant), OF_ARGS(r), DB_I(r->most)), r);
}

static cache_people_filter disabled(void)
{
    cache_people_filter disabled = CACHE_PEOPLE_ALL;
    disabled.enabled = 0;
    return disabled;
}

ida_kind cache_people_holding(store *s, ida_ctx *c, cache_report *r, const cache_holder **rows)
{
    bound b;
    int few;
    r->edge = (cache_report_edge){0};
    ida_kind kind = find_few(s, c, r, disabled(), &b, &few);
    if (kind || few) {
        return kind ? kind
                    : store_rows(s, c, STMT_people_holding_few,
                                 DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), OF_ARGS(r),
                                         OF_FEW(b)),
                                 holder_of, sizeof **rows, rows, &r->count);
    }
    kind = find_edge(s, c, STMT_people_holding_edge,
                     DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(CACHE_REPORT_LOOK)), r);
    kind = kind ? kind
                : store_rows(s, c, STMT_people_holding,
                             DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit), OF_ARGS(r),
                                     DB_T(r->edge.name_key), DB_T(r->edge.id)),
                             holder_of, sizeof **rows, rows, &r->count);
    return filled(kind, r);
}

ida_kind cache_people_holding_count(store *s, ida_ctx *c, cache_report *r)
{
    if (of_everybody(r)) { /* licensed people may be as numerous and have an index of their own */
        ida_kind kind = numbered(s, c, STMT_people_disabled_licensed_count,
                                 DB_ARGS(DB_T(r->tenant), DB_I(r->most)), r);
        if (kind || r->total.more) {
            return kind;
        }
    }
    bound b;
    int few;
    ida_kind kind = find_few(s, c, r, disabled(), &b, &few);
    return kind  ? kind
           : few ? numbered(s, c, STMT_people_holding_few_count,
                            DB_ARGS(DB_T(r->tenant), OF_ARGS(r), OF_FEW(b)), r)
                 : counted(s, c, STMT_people_holding_count,
                           DB_ARGS(DB_T(r->tenant), OF_ARGS(r), DB_I(examined(r))), r);
}

STORE_FILL(group_of, cache_empty_group, group_empty, row->directory.text, row->id.text,
           row->name.text, row->kind.text, row->name_key.text)

ida_kind cache_groups_empty(store *s, ida_ctx *c, cache_report *r, const cache_empty_group **rows)
{
    return store_rows(s, c, STMT_groups_empty, DB_ARGS(DB_T(r->tenant), BEHIND(r), DB_I(r->limit)),
                      group_of, sizeof **rows, rows, &r->count);
}

ida_kind cache_groups_empty_count(store *s, ida_ctx *c, cache_report *r)
{
    return numbered(s, c, STMT_groups_empty_count, DB_ARGS(DB_T(r->tenant), DB_I(r->most)), r);
}

STORE_FILL(listed_of, cache_listed_group, group_listed, row->directory.text, row->id.text,
           row->name.text, row->kind.text, row->description.text, row->name_key.text,
           row->member_count.number, row->others.number != 0)

#define FILTERED(f)                                                              \
    DB_T((f)->words), DB_I((f)->exactly), DB_T((f)->kind), DB_T((f)->directory), \
        DB_I((f)->empty == CACHE_EMPTY_OR_NOT ? -1 : (f)->empty == CACHE_EMPTY)

ida_kind cache_group_list(store *s, ida_ctx *c, const char *tenant, const cache_group_filter *f,
                          const cache_listed_group **rows, int *count)
{
    return store_rows(s, c, STMT_group_list,
                      DB_ARGS(DB_T(tenant), FILTERED(f), DB_T(f->after_name ? f->after_name : ""),
                              DB_T(f->after_id ? f->after_id : ""), DB_I(f->limit)),
                      listed_of, sizeof **rows, rows, count);
}

ida_kind cache_group_count(store *s, ida_ctx *c, const char *tenant, const cache_group_filter *f,
                           int64_t *total)
{
    return store_number(s, c, STMT_group_list_count,
                        DB_ARGS(DB_T(tenant), FILTERED(f), DB_I(f->count_max)), total);
}

ida_kind cache_freshness_get(store *s, ida_ctx *c, const ida_tenant *tenant, cache_freshness *fresh)
{
    db_result r;
    int64_t completed[IDA_DIR_COUNT] = {0}, full_at[IDA_DIR_COUNT] = {0},
            read_at[IDA_DIR_COUNT] = {0};
    ida_kind kind = store_read(s, c, STMT_sync_states, DB_ARGS(DB_T(tenant->id)), &r);
    *fresh = (cache_freshness){.as_of = 0, .sign_ins = {1, 1}, .synced = !kind};
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_sync_time *row = DB_ROW(sync_time, &r, i);
        int d = ida_directory_parse(row->directory.text);
        if (d >= 0) {
            completed[d] = row->completed_at.number;
            fresh->sign_ins[d] = row->sign_ins.number != 0;
            full_at[d] = row->full_at.number;
            read_at[d] = row->sign_ins_at.number ? row->sign_ins_at.number : completed[d];
        }
    }
    int any = 0;
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (tenant->has_directory[d]) {
            fresh->as_of = any && fresh->as_of < completed[d] ? fresh->as_of : completed[d];
            any = 1;
            fresh->synced = fresh->synced && full_at[d];
            if (fresh->sign_ins[d] &&
                (!fresh->sign_ins_as_of || read_at[d] < fresh->sign_ins_as_of)) {
                fresh->sign_ins_as_of = read_at[d];
            }
        }
    }
    return kind;
}

ida_kind cache_sync_progress(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             int64_t *users, int64_t *groups)
{
    db_result r;
    *users = *groups = 0;
    ida_kind kind = store_read(s, c, STMT_sync_progress,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
    if (!kind && r.rows) {
        const row_sync_progress *row = DB_ROW(sync_progress, &r, 0);
        *users = row->users.number;
        *groups = row->groups.number;
    }
    return kind;
}
