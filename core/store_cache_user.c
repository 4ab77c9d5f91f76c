/* Owns how staged users become rows of the cache: what is new, what is unchanged, what a write-through protects; and the counters of people.
 * Must not know runs, tokens or networks. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/store_cache.h"

ida_kind cache_enter(cache_at *at, ida_ctx *c)
{
    db_result r;
    ida_kind kind = store_write(at->s, c, STMT_cache_lock, DB_ARGS(DB_T(at->tenant)), &r);
    if (!kind) {
        kind = store_read(at->s, c, STMT_sync_state_get, DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    }
    if (!kind) {
        at->run = db_int(&r, 0, 0);
    }
    return kind;
}

int64_t cache_horizon(const cache_at *at, const ida_ctx *c)
{
    int64_t protected_since = ida_now(c->env) - CACHE_PROTECTION_MS;
    return protected_since < at->started_at ? protected_since : at->started_at;
}

/* --- counting --- */

static ida_kind add(cache_at *at, ida_ctx *c, const char *name, int64_t change)
{
    return change ? store_write(at->s, c, STMT_counter_add, DB_ARGS(DB_T(at->tenant), DB_T(name), DB_I(change)), NULL) : IDA_OK;
}

ida_kind cache_count(cache_at *at, ida_ctx *c, const char *what, int64_t change)
{
    ida_kind kind = add(at, c, what, change);
    return kind ? kind : add(at, c, apr_pstrcat(c->pool, what, ".", at->directory, NULL), change);
}

/* What decides whether somebody counts as an enabled member. */
typedef struct person {
    const char *id, *upn_key, *anchor;
    int exists, member;
} person;

/* Change of the number of enabled members over a set of changes in one directory: begun before the rows are written, ended after. With one
 * directory it is a subtraction in memory; with two, the premises' rows that the changes can touch are counted before and after, and marked as
 * twins or not. */
typedef struct census {
    int64_t change, before;
    const char **ids, **upns, **anchors;
    int count, upn_count, anchor_count, two;
    const char *list[3]; /* ids, upns, anchors as JSON */
} census;

static void census_begin(census *n, apr_pool_t *pool, int people)
{
    *n = (census){0};
    n->ids = apr_palloc(pool, (apr_size_t)(people + 1) * sizeof *n->ids);
    n->upns = apr_palloc(pool, (apr_size_t)(people + 1) * 2 * sizeof *n->upns);
    n->anchors = apr_palloc(pool, (apr_size_t)(people + 1) * 2 * sizeof *n->anchors);
}

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void census_add(census *n, const person *old, const person *new)
{
    if (old->exists == new->exists && old->member == new->member && same(old->upn_key, new->upn_key) && same(old->anchor, new->anchor)) {
        return;
    }
    n->change += new->member - old->member;
    n->ids[n->count++] = old->id ? old->id : new->id;
    const person *both[] = {old, new};
    for (int i = 0; i < 2; i++) {
        if (both[i]->upn_key) {
            n->upns[n->upn_count++] = both[i]->upn_key;
        }
        if (both[i]->anchor) {
            n->anchors[n->anchor_count++] = both[i]->anchor;
        }
    }
}

static ida_kind census_take(census *n, cache_at *at, ida_ctx *c, int64_t *counted)
{
    db_result r;
    ida_kind kind = at->kind == IDA_DIR_CLOUD
                        ? store_read(at->s, c, STMT_counted_by_key, DB_ARGS(DB_T(at->tenant), DB_T(n->list[1]), DB_T(n->list[2])), &r)
                        : store_read(at->s, c, STMT_counted_by_id, DB_ARGS(DB_T(at->tenant), DB_T(n->list[0])), &r);
    *counted = kind ? 0 : db_int(&r, 0, 0);
    return kind;
}

static ida_kind census_before(census *n, cache_at *at, ida_ctx *c)
{
    db_result r;
    if (!n->count) {
        return IDA_OK;
    }
    const char *other = ida_directory_name(at->kind == IDA_DIR_CLOUD ? IDA_DIR_ON_PREMISES : IDA_DIR_CLOUD);
    ida_kind kind = store_read(at->s, c, STMT_directory_has_users, DB_ARGS(DB_T(at->tenant), DB_T(other)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    n->two = 1;
    n->list[0] = cache_list(c->pool, n->ids, n->count);
    n->list[1] = cache_list(c->pool, n->upns, n->upn_count);
    n->list[2] = cache_list(c->pool, n->anchors, n->anchor_count);
    return census_take(n, at, c, &n->before);
}

/* Which rows of the premises have a twin in the cloud. */
static ida_kind census_twins(census *n, cache_at *at, ida_ctx *c)
{
    return at->kind == IDA_DIR_CLOUD
               ? store_write(at->s, c, STMT_twins_by_key, DB_ARGS(DB_T(at->tenant), DB_T(n->list[1]), DB_T(n->list[2])), NULL)
               : store_write(at->s, c, STMT_twins_by_id, DB_ARGS(DB_T(at->tenant), DB_T(n->list[0])), NULL);
}

static ida_kind census_after(census *n, cache_at *at, ida_ctx *c)
{
    int64_t after = 0;
    ida_kind kind = n->two ? census_take(n, at, c, &after) : IDA_OK;
    if (!kind && n->two) {
        kind = census_twins(n, at, c);
    }
    if (kind) {
        return kind;
    }
    int64_t own = at->kind == IDA_DIR_CLOUD || !n->two ? n->change : 0;
    return add(at, c, "enabled_members", own + after - n->before);
}

/* --- write-through protection --- */

static int differs(const json_t *item, const char *member, const char *cached)
{
    return !same(ida_json_string(item, member), cached);
}

/* 1 in *contradicts when the item denies what was written: after a whole user any field but sign-ins, licences and addresses, after a single
 * write those that are written singly. */
static ida_kind contradiction(cache_at *at, ida_ctx *c, const char *id, const char *item_text, int whole, int *contradicts)
{
    static const char *const texts[] = {"upn",     "mail",   "display_name", "given_name", "surname", "department",
                                        "job_title", "company", "office",      "city",       "country", "employee_id"};
    enum { ENABLED = sizeof texts / sizeof *texts, GUEST, MANAGER_ID, MANAGER_KEY };
    db_result r;
    const json_t *item = ida_json_load(c->pool, item_text);
    ida_kind kind = store_read(at->s, c, STMT_user_visible, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id)), &r);
    if (kind) {
        return kind;
    }
    *contradicts = json_integer_value(json_object_get(item, "enabled")) != db_int(&r, 0, ENABLED) ||
                   (whole && json_integer_value(json_object_get(item, "guest")) != db_int(&r, 0, GUEST));
    for (int i = 0; whole && i < ENABLED; i++) {
        *contradicts |= differs(item, texts[i], db_text(&r, 0, i));
    }
    if (json_integer_value(json_object_get(item, "manager_untold")) == CACHE_MANAGER_KEPT) {
        return IDA_OK;
    }
    *contradicts |= ida_json_string(item, "manager_id") ? differs(item, "manager_id", db_text(&r, 0, MANAGER_ID))
                    : ida_json_string(item, "manager_ref")
                        ? differs(item, "manager_ref", db_text(&r, 0, MANAGER_KEY))
                        : db_text(&r, 0, MANAGER_ID) != NULL;
    return IDA_OK;
}

/* Columns of the statement staged_users. */
enum { S_ID, S_OP, S_DIGEST, S_ENABLED, S_GUEST, S_UPN, S_ANCHOR, S_STAMP, U_EXISTS, U_DIGEST, U_WRITTEN, U_RUN, U_STAMP, U_ENABLED, U_GUEST, U_UPN, U_ANCHOR };

static int number(const db_result *r, int row, int column)
{
    const char *text = db_text(r, row, column); /* PostgreSQL gives members of an item as text */
    return text ? atoi(text) : 0;
}

/* Keeps the item back when a write-through is protected against it. */
static ida_kind hold(cache_at *at, ida_ctx *c, const db_result *r, int row, int *held)
{
    db_result item;
    const char *id = db_text(r, row, S_ID);
    *held = 0;
    if (at->written_at || !db_int(r, row, U_EXISTS) || db_int(r, row, U_WRITTEN) <= 0 ||
        (db_int(r, row, U_WRITTEN) <= cache_horizon(at, c) && db_int(r, row, U_RUN) < at->staged) ||
        cache_stamp_newer(db_text(r, row, S_STAMP), db_text(r, row, U_STAMP))) {
        return IDA_OK;
    }
    ida_kind kind = store_read(at->s, c, STMT_staging_item, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T("user"), DB_T(id)), &item);
    if (!kind) {
        kind = contradiction(at, c, id, db_text(&item, 0, 0), *db_text(r, row, U_DIGEST) != 0, held);
    }
    return kind || !*held ? kind : store_write(at->s, c, STMT_user_hold, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id), DB_T(db_text(&item, 0, 0))), NULL);
}

/* --- rows --- */

static ida_kind by_list(cache_at *at, ida_ctx *c, db_statement statement, const char *list)
{
    return store_write(at->s, c, statement, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), NULL);
}

static ida_kind by_staged(cache_at *at, ida_ctx *c, db_statement statement, const char *list)
{
    return store_write(at->s, c, statement, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(list)), NULL);
}

static ida_kind put(cache_at *at, ida_ctx *c, const char *all, const char *old)
{
    ida_kind kind = store_write(at->s, c, STMT_user_put,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(all), DB_I(at->run), DB_I(at->written_at),
                                        DB_I(cache_horizon(at, c))), NULL);
    if (!kind && old) {
        kind = by_list(at, c, STMT_address_clear, old);
    }
    if (!kind) {
        kind = by_staged(at, c, STMT_address_put, all);
    }
    if (!kind && old) {
        kind = by_staged(at, c, STMT_license_clear_told, old);
    }
    return kind ? kind : by_staged(at, c, STMT_license_put, all);
}

ida_kind cache_users_apply(cache_at *at, ida_ctx *c, const char *after, int limit, const char **last)
{
    db_result r;
    census n;
    int64_t born = 0;
    int count = 0, old_count = 0;
    *last = NULL;
    ida_kind kind = store_read(at->s, c, STMT_staged_users,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(after), DB_I(limit)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const char **ids = apr_palloc(c->pool, (apr_size_t)r.rows * sizeof *ids), **old_ids = apr_palloc(c->pool, (apr_size_t)r.rows * sizeof *ids);
    census_begin(&n, c->pool, r.rows);
    for (int row = 0; row < r.rows; row++) {
        const char *id = *last = db_text(&r, row, S_ID);
        int exists = db_int(&r, row, U_EXISTS) != 0, held = 0;
        int late = strcmp(db_text(&r, row, S_OP), "late") == 0;
        if (late ? !exists : exists && !at->written_at && same(db_text(&r, row, S_DIGEST), db_text(&r, row, U_DIGEST))) {
            continue;
        }
        if ((kind = hold(at, c, &r, row, &held)) != IDA_OK) {
            return kind;
        }
        if (held) {
            continue;
        }
        person old = {.id = id}, new = {id, db_text(&r, row, S_UPN), db_text(&r, row, S_ANCHOR), 1,
                                        number(&r, row, S_ENABLED) && !number(&r, row, S_GUEST)};
        if (exists) {
            old = (person){id, db_text(&r, row, U_UPN), db_text(&r, row, U_ANCHOR), 1, number(&r, row, U_ENABLED) && !number(&r, row, U_GUEST)};
            old_ids[old_count++] = id;
        }
        born += !exists;
        census_add(&n, &old, &new);
        ids[count++] = id;
    }
    if (!count) {
        return IDA_OK;
    }
    kind = census_before(&n, at, c);
    if (!kind) {
        kind = put(at, c, cache_list(c->pool, ids, count), old_count ? cache_list(c->pool, old_ids, old_count) : NULL);
    }
    if (!kind) {
        kind = census_after(&n, at, c);
    }
    return kind ? kind : cache_count(at, c, "users", born);
}

/* People of these IDs as they are in the cache. */
static ida_kind people(cache_at *at, ida_ctx *c, const char *list, db_result *r)
{
    return store_read(at->s, c, STMT_user_people, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), r);
}

static person person_of(const db_result *r, int row)
{
    return (person){db_text(r, row, 0), db_text(r, row, 3), db_text(r, row, 4), 1, db_int(r, row, 1) && !db_int(r, row, 2)};
}

ida_kind cache_users_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count)
{
    static const db_statement in_order[] = {STMT_group_lose,    STMT_membership_of_members, STMT_manager_gone,
                                            STMT_address_clear, STMT_license_clear,         STMT_user_delete};
    db_result r;
    census n;
    const char *list = cache_list(c->pool, ids, count);
    ida_kind kind = count ? people(at, c, list, &r) : IDA_OK;
    if (kind || !count || !r.rows) {
        return kind;
    }
    census_begin(&n, c->pool, r.rows);
    for (int row = 0; row < r.rows; row++) {
        person old = person_of(&r, row), gone = {.id = old.id};
        census_add(&n, &old, &gone);
    }
    kind = census_before(&n, at, c);
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = by_list(at, c, in_order[i], list);
    }
    if (!kind) {
        kind = census_after(&n, at, c);
    }
    return kind ? kind : cache_count(at, c, "users", -r.rows);
}

ida_kind cache_user_enabled(cache_at *at, ida_ctx *c, const char *id, int enabled, const char *stamp)
{
    db_result r;
    census n;
    ida_kind kind = people(at, c, cache_list(c->pool, &id, 1), &r);
    if (kind) {
        return kind;
    }
    if (!r.rows) {
        return ida_fail(c, IDA_NOT_FOUND, "The cache holds no user %s.", id);
    }
    person old = person_of(&r, 0), new = old;
    new.member = enabled && !db_int(&r, 0, 2);
    census_begin(&n, c->pool, 1);
    census_add(&n, &old, &new);
    kind = census_before(&n, at, c);
    if (!kind) {
        kind = store_write(at->s, c, STMT_user_set_enabled,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id), DB_I(enabled != 0), DB_T(stamp), DB_I(at->written_at), DB_I(at->run)), NULL);
    }
    return kind ? kind : census_after(&n, at, c);
}

ida_kind cache_users_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_manager_waiting, DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    kind = by_list(at, c, STMT_manager_of_these, ids);
    return kind ? kind : by_list(at, c, STMT_manager_is_these, ids);
}
