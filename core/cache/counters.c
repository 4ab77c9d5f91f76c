/* Owns the counters of a tenant's cache: rows of users and groups, and the number of enabled
 * members, where a person in both directories counts once. Must not know how rows are written. */
#include <apr_strings.h>
#include <string.h>

#include "core/cache/rows.h"
#include "core/store/rows.h"

static ida_kind add(cache_at *at, ida_ctx *c, const char *name, int64_t change)
{
    return change ? store_write(at->s, c, STMT_counter_add,
                                DB_ARGS(DB_T(at->tenant), DB_T(name), DB_I(change)), NULL)
                  : IDA_OK;
}

ida_kind cache_count(cache_at *at, ida_ctx *c, const char *what, int64_t change)
{
    ida_kind kind = add(at, c, what, change);
    return kind ? kind : add(at, c, apr_pstrcat(c->pool, what, ".", at->directory, NULL), change);
}

void cache_counters_make(cache_counters *n, apr_pool_t *pool, int people)
{
    *n = (cache_counters){0};
    n->ids = apr_palloc(pool, (apr_size_t)(people + 1) * sizeof *n->ids);
    n->upns = apr_palloc(pool, (apr_size_t)(people + 1) * 2 * sizeof *n->upns);
    n->anchors = apr_palloc(pool, (apr_size_t)(people + 1) * 2 * sizeof *n->anchors);
    n->addresses = apr_array_make(pool, people * 2 + 1, sizeof(char *));
}

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void add_addresses(cache_counters *n, const cache_person *person)
{
    int further = cache_item_count(person->addresses);
    const char **values = apr_palloc(n->addresses->pool,
                                     (apr_size_t)(further + 1) * sizeof *values);
    cache_item_read(n->addresses->pool, person->addresses, values, further);
    for (int i = 0; i < further; i++) {
        APR_ARRAY_PUSH(n->addresses, const char *) = values[i];
    }
    if (person->upn_key) {
        APR_ARRAY_PUSH(n->addresses, const char *) = person->upn_key;
    }
}

void cache_counters_add(cache_counters *n, const cache_person *old, const cache_person *new)
{
    if (!same(old->upn_key, new->upn_key) || !same(old->addresses, new->addresses)) {
        add_addresses(n, old);
        add_addresses(n, new);
    }
    if (old->exists == new->exists &&
        old->member == new->member &&same(old->upn_key, new->upn_key) &&
        same(old->anchor, new->anchor)) {
        return;
    }
    n->change += new->member - old->member;
    n->ids[n->count++] = old->id ? old->id : new->id;
    const cache_person *both[] = {old, new};
    for (int i = 0; i < 2; i++) {
        if (both[i]->upn_key) {
            n->upns[n->upn_count++] = both[i]->upn_key;
        }
        if (both[i]->anchor) {
            n->anchors[n->anchor_count++] = both[i]->anchor;
        }
    }
}

static ida_kind take(const cache_counters *n, cache_at *at, ida_ctx *c, int64_t *counted)
{
    if (at->kind == IDA_DIR_CLOUD) {
        return store_number(at->s, c, STMT_counted_by_key,
                            DB_ARGS(DB_T(at->tenant), DB_T(n->list[1]), DB_T(n->list[2])), counted);
    }
    return store_number(at->s, c, STMT_counted_by_id, DB_ARGS(DB_T(at->tenant), DB_T(n->list[0])),
                        counted);
}

ida_kind cache_counters_begin(cache_counters *n, cache_at *at, ida_ctx *c)
{
    db_result r;
    if (!n->count) {
        return IDA_OK;
    }
    const char *other = ida_directory_name(at->kind == IDA_DIR_CLOUD ? IDA_DIR_ON_PREMISES
                                                                     : IDA_DIR_CLOUD);
    ida_kind kind = store_read(at->s, c, STMT_directory_has_users,
                               DB_ARGS(DB_T(at->tenant), DB_T(other)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    n->two = 1;
    n->list[0] = cache_list(c->pool, n->ids, n->count);
    n->list[1] = cache_list(c->pool, n->upns, n->upn_count);
    n->list[2] = cache_list(c->pool, n->anchors, n->anchor_count);
    return take(n, at, c, &n->before);
}

/* Marks the on-premises rows that have a counterpart in the cloud. */
static ida_kind mark_twins(const cache_counters *n, cache_at *at, ida_ctx *c)
{
    return at->kind == IDA_DIR_CLOUD
               ? store_write(at->s, c, STMT_twins_by_key,
                             DB_ARGS(DB_T(at->tenant), DB_T(n->list[1]), DB_T(n->list[2])), NULL)
               : store_write(at->s, c, STMT_twins_by_id,
                             DB_ARGS(DB_T(at->tenant), DB_T(n->list[0])), NULL);
}

static ida_kind find_shared(const cache_counters *n, cache_at *at, ida_ctx *c)
{
    const char *list = cache_list(c->pool, (const char **)n->addresses->elts, n->addresses->nelts);
    ida_kind kind = cache_by_list(at, c, STMT_shared_forget, list);
    return kind ? kind : cache_by_list(at, c, STMT_shared_find, list);
}

ida_kind cache_counters_end(cache_counters *n, cache_at *at, ida_ctx *c)
{
    int64_t after = 0;
    ida_kind kind = n->two ? take(n, at, c, &after) : IDA_OK;
    if (!kind && n->two) {
        kind = mark_twins(n, at, c);
    }
    if (!kind && n->addresses->nelts) {
        kind = find_shared(n, at, c);
    }
    if (kind) {
        return kind;
    }
    int64_t own = at->kind == IDA_DIR_CLOUD || !n->two ? n->change : 0;
    return add(at, c, "enabled_members", own + after - n->before);
}
