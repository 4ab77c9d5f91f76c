/* Owns how staged users become rows of the cache: what is new, what is unchanged, what a
 * write-through protects; and the counters of people. Must not know runs, tokens or networks. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache/cache.h"

ida_kind cache_enter(cache_at *at, ida_ctx *c)
{
    db_result r;
    ida_kind kind = store_write(at->s, c, STMT_cache_lock, DB_ARGS(DB_T(at->tenant)), &r);
    if (!kind) {
        kind = store_read(at->s, c, STMT_sync_state_get,
                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
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
    return change ? store_write(at->s, c, STMT_counter_add,
                                DB_ARGS(DB_T(at->tenant), DB_T(name), DB_I(change)), NULL)
                  : IDA_OK;
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

/* Change of the number of enabled members over a set of changes in one directory: begun before the
 * rows are written, ended after. With one directory it is a subtraction in memory; with two, the
 * premises' rows that the changes can touch are counted before and after, and marked as twins or
 * not. */
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
    if (old->exists == new->exists &&
        old->member == new->member &&same(old->upn_key, new->upn_key) &&
        same(old->anchor, new->anchor)) {
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
                        ? store_read(at->s, c, STMT_counted_by_key,
                                     DB_ARGS(DB_T(at->tenant), DB_T(n->list[1]), DB_T(n->list[2])),
                                     &r)
                        : store_read(at->s, c, STMT_counted_by_id,
                                     DB_ARGS(DB_T(at->tenant), DB_T(n->list[0])), &r);
    *counted = kind ? 0 : db_int(&r, 0, 0);
    return kind;
}

static ida_kind census_before(census *n, cache_at *at, ida_ctx *c)
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
    return census_take(n, at, c, &n->before);
}

/* Which rows of the premises have a twin in the cloud. */
static ida_kind census_twins(census *n, cache_at *at, ida_ctx *c)
{
    return at->kind == IDA_DIR_CLOUD
               ? store_write(at->s, c, STMT_twins_by_key,
                             DB_ARGS(DB_T(at->tenant), DB_T(n->list[1]), DB_T(n->list[2])), NULL)
               : store_write(at->s, c, STMT_twins_by_id,
                             DB_ARGS(DB_T(at->tenant), DB_T(n->list[0])), NULL);
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

static int manager_kept(const char *const *item)
{
    return item[CACHE_USER_manager_untold] &&
           atoi(item[CACHE_USER_manager_untold]) == CACHE_MANAGER_KEPT;
}

/* 1 in *contradicts when the item denies what was written: after a whole user any field but
 * sign-ins, licences and addresses, after a single write those that are written singly. */
static ida_kind contradiction(cache_at *at, ida_ctx *c, const char *id, const char *const *item,
                              int whole, int *contradicts)
{
    /* In the order of the statement user_visible. */
    static const int texts[] = {CACHE_USER_upn,        CACHE_USER_mail,    CACHE_USER_display_name,
                                CACHE_USER_given_name, CACHE_USER_surname, CACHE_USER_department,
                                CACHE_USER_job_title,  CACHE_USER_company, CACHE_USER_office,
                                CACHE_USER_city,       CACHE_USER_country, CACHE_USER_employee_id};
    enum { ENABLED = sizeof texts / sizeof *texts, GUEST, MANAGER_ID, MANAGER_KEY };
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_user_visible,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id)), &r);
    if (kind) {
        return kind;
    }
    *contradicts = !same(item[CACHE_USER_enabled], db_text(&r, 0, ENABLED)) ||
                   (whole && !same(item[CACHE_USER_guest], db_text(&r, 0, GUEST)));
    for (int i = 0; whole && i < ENABLED; i++) {
        *contradicts |= !same(item[texts[i]], db_text(&r, 0, i));
    }
    if (manager_kept(item)) {
        return IDA_OK;
    }
    *contradicts |= item[CACHE_USER_manager_id]
                        ? !same(item[CACHE_USER_manager_id], db_text(&r, 0, MANAGER_ID))
                    : item[CACHE_USER_manager_ref]
                        ? !same(item[CACHE_USER_manager_ref], db_text(&r, 0, MANAGER_KEY))
                        : db_text(&r, 0, MANAGER_ID) != NULL;
    return IDA_OK;
}

/* Columns of the statement user_known. */
enum {
    U_ID,
    U_DIGEST,
    U_WRITTEN,
    U_RUN,
    U_STAMP,
    U_ENABLED,
    U_GUEST,
    U_UPN,
    U_ANCHOR,
    U_SIGN_INS,
    U_MANAGER_ID = U_SIGN_INS + 3,
    U_MANAGER_REF,
    U_ADDRESSES,
    U_LICENSES
};

/* Keeps the item back when a write-through is protected against it. */
static ida_kind hold(cache_at *at, ida_ctx *c, const cache_sync_entry *e, const char *const *item,
                     const db_result *known, int row, int *held)
{
    *held = 0;
    if (at->written_at || db_int(known, row, U_WRITTEN) <= 0 ||
        (db_int(known, row, U_WRITTEN) <= cache_horizon(at, c) &&
         db_int(known, row, U_RUN) < at->staged) ||
        cache_stamp_newer(item[CACHE_USER_stamp], db_text(known, row, U_STAMP))) {
        return IDA_OK;
    }
    ida_kind kind = contradiction(at, c, e->id, item, *db_text(known, row, U_DIGEST) != 0, held);
    return kind || !*held ? kind
                          : store_write(at->s, c, STMT_user_hold,
                                        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(e->id),
                                                DB_T(e->item)),
                                        NULL);
}

/* --- rows --- */

enum { ROW = CACHE_USER_BOUND + 4 }; /* values of a row: ID, columns, digest, run, time written */

/* Rows of a batch as they go to the engine. */
typedef struct batch {
    const char **rows;
    int count;
    apr_array_header_t *addresses, *old_addresses; /* pairs: ID, value */
} batch;

static void push_values(apr_pool_t *pool, apr_array_header_t *to, const char *id,
                        const char *record)
{
    int count = cache_item_count(record);
    const char **values = apr_palloc(pool, (apr_size_t)(count + 1) * sizeof *values);
    cache_item_read(pool, record, values, count);
    for (int i = 0; i < count; i++) {
        APR_ARRAY_PUSH(to, const char *) = id;
        APR_ARRAY_PUSH(to, const char *) = values[i];
    }
}

static void put_row(batch *b, const cache_sync_entry *e, const char *const *item,
                    const char *digest, const char *run, const char *written_at)
{
    const char **out = b->rows + (apr_size_t)ROW * (apr_size_t)b->count++;
    *out++ = e->id;
    memcpy(out, item, CACHE_USER_BOUND * sizeof *out);
    out += CACHE_USER_BOUND;
    *out++ = digest;
    *out++ = run;
    *out = written_at;
}

/* While a write-through is protected its run number stays (it tells whether it was before or after
 * a run began) and the digest stays empty. */
static void add_row(batch *b, cache_at *at, ida_ctx *c, const cache_sync_entry *e,
                    const char **item, const db_result *known, int row)
{
    int64_t written = row >= 0 ? db_int(known, row, U_WRITTEN) : 0;
    int protected = !at->written_at && written > cache_horizon(at, c);
    int64_t run = !at->written_at && written > 0 ? db_int(known, row, U_RUN) : at->run;
    for (int i = CACHE_USER_last_sign_in_at; i <= CACHE_USER_last_success_at;
         i++) { /* not told: as they were */
        item[i] = item[i]    ? item[i]
                  : row >= 0 ? db_text(known, row, U_SIGN_INS + i - CACHE_USER_last_sign_in_at)
                             : "0";
    }
    if (!item[CACHE_USER_licenses]) {
        item[CACHE_USER_licenses] = row >= 0 ? db_text(known, row, U_LICENSES) : "[]";
    }
    if (row >= 0 && manager_kept(item)) {
        item[CACHE_USER_manager_id] = db_text(known, row, U_MANAGER_ID);
        item[CACHE_USER_manager_ref] = db_text(known, row, U_MANAGER_REF);
    }
    put_row(b, e, item, protected ? "" : e->digest, ida_printf(c->pool, "%lld", (long long)run),
            ida_printf(c->pool, "%lld",
                       (long long)(at->written_at ? at->written_at
                                   : protected    ? written
                                                  : 0)));
    const char *old_addresses = row >= 0 ? db_text(known, row, U_ADDRESSES) : "";
    if (!same(old_addresses, item[CACHE_USER_addresses])) {
        push_values(c->pool, b->old_addresses, e->id, old_addresses);
        push_values(c->pool, b->addresses, e->id, item[CACHE_USER_addresses]);
    }
}

static ida_kind bulk_pairs(cache_at *at, ida_ctx *c, db_statement statement,
                           const apr_array_header_t *pairs)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return cache_bulk(at, c, statement, fixed, 2, (const char *const *)pairs->elts, 2,
                      pairs->nelts / 2, NULL);
}

static void batch_begin(batch *b, apr_pool_t *pool, int users)
{
    apr_size_t room = (apr_size_t)(users + 1) * sizeof(char *);
    *b = (batch){.rows = apr_palloc(pool, room * ROW),
                 .addresses = apr_array_make(pool, users * 4 + 1, sizeof(char *)),
                 .old_addresses = apr_array_make(pool, 1, sizeof(char *))};
}

static ida_kind write_batch(const batch *b, cache_at *at, ida_ctx *c)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->first)};
    ida_kind kind = cache_bulk(at, c, STMT_user_put, fixed, 3, b->rows, ROW, b->count, NULL);
    if (!kind) {
        kind = bulk_pairs(at, c, STMT_address_drop, b->old_addresses);
    }
    return kind ? kind : bulk_pairs(at, c, STMT_address_put, b->addresses);
}

static int counts(const char *enabled, const char *guest)
{
    return enabled && guest && *enabled == '1' && *guest == '0';
}

static ida_kind known_users(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                            int count, db_result *r, apr_hash_t **rows)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = entries[i]->id;
    }
    ida_kind kind = store_read(
        at->s, c, STMT_user_known,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(cache_list(c->pool, ids, count))), r);
    *rows = apr_hash_make(c->pool);
    for (int row = 0; !kind && row < r->rows; row++) {
        int *at_row = apr_palloc(c->pool, sizeof *at_row);
        *at_row = row;
        apr_hash_set(*rows, db_text(r, row, U_ID), APR_HASH_KEY_STRING, at_row);
    }
    return kind;
}

ida_kind cache_users_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                         int count)
{
    db_result known;
    apr_hash_t *rows;
    census n;
    int64_t born = 0;
    batch b;
    batch_begin(&b, c->pool, count);
    ida_kind kind = count ? known_users(at, c, entries, count, &known, &rows) : IDA_OK;
    census_begin(&n, c->pool, count);
    for (int i = 0; !kind && i < count; i++) {
        const cache_sync_entry *e = entries[i];
        const char *item[CACHE_USER_FIELDS];
        const int *found = apr_hash_get(rows, e->id, APR_HASH_KEY_STRING);
        int row = found ? *found : -1, held = 0;
        int late = strcmp(e->op, "late") == 0;
        if (late ? row < 0
                 : row >= 0 && !at->written_at && same(e->digest, db_text(&known, row, U_DIGEST))) {
            continue;
        }
        cache_item_read(c->pool, e->item, item, CACHE_USER_FIELDS);
        if (row >= 0 && ((kind = hold(at, c, e, item, &known, row, &held)) != IDA_OK || held)) {
            continue;
        }
        person old = {.id = e->id},
               new = {e->id, item[CACHE_USER_upn_key], item[CACHE_USER_anchor], 1,
                      counts(item[CACHE_USER_enabled], item[CACHE_USER_guest])};
        if (row >= 0) {
            old = (person){e->id, db_text(&known, row, U_UPN), db_text(&known, row, U_ANCHOR), 1,
                           counts(db_text(&known, row, U_ENABLED), db_text(&known, row, U_GUEST))};
        }
        born += row < 0;
        census_add(&n, &old, &new);
        add_row(&b, at, c, e, item, &known, row);
    }
    if (kind || !b.count) {
        return kind;
    }
    kind = census_before(&n, at, c);
    if (!kind) {
        kind = write_batch(&b, at, c);
    }
    if (!kind) {
        kind = census_after(&n, at, c);
    }
    return kind ? kind : cache_count(at, c, "users", born);
}

/* --- in a first load --- */

/* As user_new does on SQLite itself: whoever is in the cache under the DN of somebody's manager is
 * that manager. */
static ida_kind find_managers(cache_at *at, ida_ctx *c, batch *b)
{
    enum { ID = 1 + CACHE_USER_manager_id, REF = 1 + CACHE_USER_manager_ref };
    const char **keys = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *keys);
    apr_hash_t *users = apr_hash_make(c->pool);
    int count = 0;
    for (int i = 0; i < b->count; i++) {
        const char *const *row = b->rows + ROW * i;
        if (!row[ID] && row[REF] && !apr_hash_get(users, row[REF], APR_HASH_KEY_STRING)) {
            apr_hash_set(users, row[REF], APR_HASH_KEY_STRING, "");
            keys[count++] = row[REF];
        }
    }
    apr_hash_clear(users);
    ida_kind kind = cache_dn_owners(at, c, keys, count, users, apr_hash_make(c->pool));
    for (int i = 0; !kind && i < b->count; i++) {
        const char **row = b->rows + ROW * i;
        row[ID] = row[ID] || !row[REF] ? row[ID]
                                       : apr_hash_get(users, row[REF], APR_HASH_KEY_STRING);
    }
    return kind;
}

static ida_kind write_new(cache_at *at, ida_ctx *c, batch *b, unsigned char *done)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    if (!at->copying) {
        return cache_bulk(at, c, STMT_user_new, fixed, 2, b->rows, ROW, b->count, done);
    }
    ida_kind kind = find_managers(at, c, b);
    memset(done, 1, (size_t)b->count);
    return kind ? kind : cache_copy(at, c, STMT_user_new, fixed, 2, b->rows, ROW, b->count);
}

static ida_kind write_new_addresses(cache_at *at, ida_ctx *c, apr_array_header_t *pairs)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    if (!at->copying) {
        return bulk_pairs(at, c, STMT_address_put, pairs);
    }
    return cache_copy(at, c, STMT_address_copy, fixed, 2, (const char *const *)pairs->elts, 2,
                      pairs->nelts / 2);
}

ida_kind cache_users_load(cache_at *at, ida_ctx *c, const cache_sync_entry *const *all, int count)
{
    db_result r;
    batch b;
    const cache_sync_entry **entries = apr_pmemdup(c->pool, all,
                                                   (apr_size_t)count * sizeof *entries);
    const char **items = apr_palloc(c->pool,
                                    (apr_size_t)(count + 1) * CACHE_USER_FIELDS * sizeof *items);
    unsigned char *done = apr_pcalloc(c->pool, (apr_size_t)count + 1);
    const char *run = ida_printf(c->pool, "%lld", (long long)at->run);
    int known = 0;
    int64_t born = 0, members = 0;
    ida_kind kind = store_read(at->s, c, STMT_directory_has_users,
                               DB_ARGS(DB_T(at->tenant),
                                       DB_T(ida_directory_name(at->kind == IDA_DIR_CLOUD
                                                                   ? IDA_DIR_ON_PREMISES
                                                                   : IDA_DIR_CLOUD))),
                               &r);
    if (kind || r.rows ||
        (db_copies(at->s->db) &&
         !at->copying)) { /* some may be the same people, or in the cache already */
        return kind ? kind : cache_users_put(at, c, all, count);
    }
    batch_begin(&b, c->pool, count);
    for (int i = 0; i < count; i++) {
        const char **item = items + (apr_size_t)i * CACHE_USER_FIELDS;
        cache_item_read(c->pool, entries[i]->item, item, CACHE_USER_FIELDS);
        for (int time = CACHE_USER_last_sign_in_at; time <= CACHE_USER_last_success_at; time++) {
            item[time] = item[time] ? item[time] : "0";
        }
        item[CACHE_USER_licenses] = item[CACHE_USER_licenses] ? item[CACHE_USER_licenses] : "[]";
        put_row(&b, entries[i], item, entries[i]->digest, run, "0");
    }
    kind = write_new(at, c, &b, done);
    for (int i = 0; !kind && i < count; i++) {
        const char *const *item = items + (apr_size_t)i * CACHE_USER_FIELDS;
        if (!done[i]) {
            const cache_sync_entry *e = entries[i]; /* the place at the front is one that is done */
            entries[i] = entries[known];
            entries[known++] = e;
            continue;
        }
        born++;
        members += counts(item[CACHE_USER_enabled], item[CACHE_USER_guest]);
        push_values(c->pool, b.addresses, entries[i]->id, item[CACHE_USER_addresses]);
    }
    kind = kind ? kind : write_new_addresses(at, c, b.addresses);
    kind = kind ? kind : add(at, c, "enabled_members", members);
    kind = kind ? kind : cache_count(at, c, "users", born);
    return kind || !known ? kind : cache_users_put(at, c, entries, known);
}

/* People of these IDs as they are in the cache. */
static ida_kind people(cache_at *at, ida_ctx *c, const char *list, db_result *r)
{
    return store_read(at->s, c, STMT_user_people,
                      DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), r);
}

static person person_of(const db_result *r, int row)
{
    return (person){db_text(r, row, 0), db_text(r, row, 3), db_text(r, row, 4), 1,
                    db_int(r, row, 1) && !db_int(r, row, 2)};
}

ida_kind cache_links_cut(cache_at *at, ida_ctx *c, const char *ids)
{
    static const db_statement in_order[] = {STMT_group_lose, STMT_membership_of_members,
                                            STMT_manager_gone};
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = cache_by_list(at, c, in_order[i], ids);
    }
    return kind;
}

ida_kind cache_users_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count)
{
    apr_array_header_t *addresses = apr_array_make(c->pool, count * 4 + 1, sizeof(char *));
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
        push_values(c->pool, addresses, old.id, db_text(&r, row, 5));
    }
    kind = census_before(&n, at, c);
    if (!kind) {
        kind = bulk_pairs(at, c, STMT_address_drop, addresses);
    }
    if (!kind) {
        kind = cache_links_cut(at, c, list);
    }
    if (!kind) {
        kind = cache_by_list(at, c, STMT_user_delete, list);
    }
    if (!kind) {
        kind = census_after(&n, at, c);
    }
    return kind ? kind : cache_count(at, c, "users", -r.rows);
}

ida_kind cache_user_enabled(cache_at *at, ida_ctx *c, const char *id, int enabled,
                            const char *stamp)
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
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id),
                                   DB_I(enabled != 0), DB_T(stamp), DB_I(at->written_at),
                                   DB_I(at->run)),
                           NULL);
    }
    return kind ? kind : census_after(&n, at, c);
}

ida_kind cache_sign_ins(cache_at *at, ida_ctx *c, const char *const *rows, int count)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return cache_bulk(at, c, STMT_user_sign_ins, fixed, 2, rows, 4, count, NULL);
}

ida_kind cache_managers_back(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return cache_bulk(at, c, STMT_manager_back, fixed, 2, pairs, 2, count, NULL);
}

ida_kind cache_users_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_manager_waiting,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    kind = cache_by_list(at, c, STMT_manager_of_these, ids);
    return kind ? kind : cache_by_list(at, c, STMT_manager_is_these, ids);
}
