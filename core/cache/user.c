/* Owns the conversion of staged users into rows of the cache: which are new, which are
 * unchanged, which a write-through protects. Must not know runs, tokens or networks. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache/recheck.h"
#include "core/cache/rows.h"
#include "core/tenant/connector.h"

/* --- write-through protection --- */

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int manager_kept(const char *const *item)
{
    return item[CACHE_USER_manager_untold] &&
           atoi(item[CACHE_USER_manager_untold]) == CACHE_MANAGER_KEPT;
}

/* Sets *contradicts when the item denies what was written: after a write of the whole user any
 * field but sign-ins, licences and addresses; after a single write the fields that are written
 * singly. */
static ida_kind contradiction(cache_at *at, ida_ctx *c, const char *id, const char *const *item,
                              int whole, int *contradicts)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_user_visible,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id)), &r);
    if (kind) {
        return kind;
    }
    const row_user_visible *seen = DB_ROW(user_visible, &r, 0);
    *contradicts = !same(item[CACHE_USER_enabled], seen->enabled.text);
#define DIFFERS(column, ...) *contradicts |= !same(item[CACHE_USER_##column], seen->column.text);
    if (whole) {
        IDA_PERSON(DIFFERS) DIFFERS(guest)
    }
#undef DIFFERS
    if (manager_kept(item)) {
        return IDA_OK;
    }
    *contradicts |= item[CACHE_USER_manager_id]
                        ? !same(item[CACHE_USER_manager_id], seen->manager_id.text)
                    : item[CACHE_USER_manager_ref]
                        ? !same(item[CACHE_USER_manager_ref], seen->manager_key.text)
                        : seen->manager_id.text != NULL;
    return IDA_OK;
}

/* Written through since the run began: the run may not show it yet. */
static int written_meanwhile(const cache_at *at, const row_user_known *known)
{
    return !at->written_at && known->written_at.number > 0 && known->run.number >= at->staged;
}

/* Whether a run that began after a write-through may still report the state before it. LDAP
 * shows a write at once; another server that lags is recognised by its older stamp. */
static int may_be_behind(const cache_at *at, const ida_ctx *c, const char *const *item,
                         const row_user_known *known)
{
    return known->written_at.number > cache_horizon(at, c) &&
           (!ida_connector_of(at->kind)->shows_writes ||
            cache_stamp_newer(known->stamp.text, item[CACHE_USER_stamp]));
}

/* Holds the item back when a write-through is protected against it. */
static ida_kind hold(cache_at *at, ida_ctx *c, const cache_sync_entry *e, const char *const *item,
                     const row_user_known *known, int *held)
{
    *held = 0;
    if (at->written_at || known->written_at.number <= 0 ||
        (!written_meanwhile(at, known) && !may_be_behind(at, c, item, known)) ||
        cache_stamp_newer(item[CACHE_USER_stamp], known->stamp.text)) {
        return IDA_OK;
    }
    ida_kind kind = contradiction(at, c, e->id, item, known->written_whole.number != 0, held);
    return kind || !*held ? kind
                          : store_write(at->s, c, STMT_user_hold,
                                        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(e->id),
                                                DB_T(e->item)),
                                        NULL);
}

/* --- rows --- */

/* Values of a row: ID, columns, digest, run, time written, whole. */
enum { ROW = CACHE_USER_BOUND + 5 };

/* Rows of a batch in the form that the engine takes. */
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
                    const char *digest, const char *run, const char *written_at, int whole)
{
    const char **out = b->rows + (apr_size_t)ROW * (apr_size_t)b->count++;
    *out++ = e->id;
    memcpy(out, item, CACHE_USER_BOUND * sizeof *out);
    out += CACHE_USER_BOUND;
    *out++ = digest;
    *out++ = run;
    *out++ = written_at;
    *out = whole ? "1" : "0";
}

/* Fields that the directory did not report keep their value. */
static void keep_untold(const char **item, const row_user_known *known)
{
    const struct {
        int field;
        const char *before;
    } kept[] = {{CACHE_USER_last_sign_in_at, known->last_sign_in_at.text},
                {CACHE_USER_last_noninteractive_at, known->last_noninteractive_at.text},
                {CACHE_USER_last_success_at, known->last_success_at.text},
                {CACHE_USER_licenses, known->licenses.text}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (!item[kept[i].field]) {
            item[kept[i].field] = kept[i].before;
        }
    }
}

/* `known` is NULL for a new user. A written-through value stays protected against runs that began
 * before the write: the row keeps its run number and an empty digest. A later run that shows the
 * written value ends the protection, because the directory has confirmed it. */
static void add_row(batch *b, cache_at *at, ida_ctx *c, const cache_sync_entry *e,
                    const char **item, const row_user_known *known)
{
    static const row_user_known nobody = {.last_sign_in_at = {"0", 0},
                                          .last_noninteractive_at = {"0", 0},
                                          .last_success_at = {"0", 0},
                                          .licenses = {"[]", 0},
                                          .addresses = {"", 0}};
    if (known && manager_kept(item)) {
        item[CACHE_USER_manager_id] = known->manager_id.text;
        item[CACHE_USER_manager_ref] = known->manager_ref.text;
    }
    known = known ? known : &nobody;
    int64_t written = known->written_at.number;
    int protected = written_meanwhile(at, known);
    int64_t run = protected ? known->run.number : at->run;
    keep_untold(item, known);
    put_row(b, e, item, protected ? "" : e->digest, ida_printf(c->pool, "%lld", (long long)run),
            ida_printf(c->pool, "%lld",
                       (long long)(at->written_at ? at->written_at
                                   : protected    ? written
                                                  : 0)),
            at->written_at || (protected && known->written_whole.number));
    const char *old_addresses = known->addresses.text;
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
                      pairs->nelts / 2);
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
    ida_kind kind = cache_bulk(at, c, STMT_user_put, fixed, 3, b->rows, ROW, b->count);
    if (!kind) {
        kind = bulk_pairs(at, c, STMT_address_drop, b->old_addresses);
    }
    return kind ? kind : bulk_pairs(at, c, STMT_address_put, b->addresses);
}

static int counts(const char *enabled, const char *guest)
{
    return enabled && guest && *enabled == '1' && *guest == '0';
}

/* Adjusts the item to the cache: an account whose end has passed counts as disabled, and a UPN
 * stays the same while the entry still has that value. */
static void settle(ida_ctx *c, const char **item, const row_user_known *known)
{
    int64_t end = apr_atoi64(item[CACHE_USER_expires_at] ? item[CACHE_USER_expires_at] : "0");
    if (end > 0 && end <= ida_now(c->env) && item[CACHE_USER_enabled] &&
        *item[CACHE_USER_enabled] == '1') {
        item[CACHE_USER_enabled] = "0";
        item[CACHE_USER_expired] = "1";
    }
    if (known) {
        cache_user_keep_upn(c->pool, item, known->upn_key.text);
    }
}

static ida_kind known_users(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                            int count, apr_hash_t **rows)
{
    db_result r;
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = entries[i]->id;
    }
    ida_kind kind = store_read(
        at->s, c, STMT_user_known,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(cache_list(c->pool, ids, count))), &r);
    *rows = apr_hash_make(c->pool);
    for (int row = 0; !kind && row < r.rows; row++) {
        const row_user_known *known = DB_ROW(user_known, &r, row);
        apr_hash_set(*rows, known->id.text, APR_HASH_KEY_STRING, known);
    }
    return kind;
}

ida_kind cache_users_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                         int count)
{
    apr_hash_t *rows;
    cache_counters n;
    int64_t born = 0;
    batch b;
    batch_begin(&b, c->pool, count);
    ida_kind kind = count ? known_users(at, c, entries, count, &rows) : IDA_OK;
    cache_counters_make(&n, c->pool, count);
    for (int i = 0; !kind && i < count; i++) {
        const cache_sync_entry *e = entries[i];
        const char *item[CACHE_USER_FIELDS];
        const row_user_known *known = apr_hash_get(rows, e->id, APR_HASH_KEY_STRING);
        int held = 0, late = strcmp(e->op, "late") == 0;
        if (late ? !known : known && !at->written_at && same(e->digest, known->digest.text)) {
            continue;
        }
        cache_item_read(c->pool, e->item, item, CACHE_USER_FIELDS);
        settle(c, item, known);
        if (known && ((kind = hold(at, c, e, item, known, &held)) != IDA_OK || held)) {
            continue;
        }
        cache_person old = {.id = e->id},
                     new = {e->id,
                            item[CACHE_USER_upn_key],
                            item[CACHE_USER_anchor],
                            1,
                            counts(item[CACHE_USER_enabled], item[CACHE_USER_guest]),
                            item[CACHE_USER_addresses]};
        if (known) {
            old = (cache_person){e->id,
                                 known->upn_key.text,
                                 known->anchor.text,
                                 1,
                                 counts(known->enabled.text, known->guest.text),
                                 known->addresses.text};
        }
        born += !known;
        cache_counters_add(&n, &old, &new);
        add_row(&b, at, c, e, item, known);
    }
    if (kind || !b.count) {
        return kind;
    }
    kind = cache_counters_begin(&n, at, c);
    if (!kind) {
        kind = write_batch(&b, at, c);
    }
    if (!kind) {
        kind = cache_counters_end(&n, at, c);
    }
    return kind ? kind : cache_count(at, c, "users", born);
}

/* The people with these IDs as the cache holds them. */
static ida_kind people(cache_at *at, ida_ctx *c, const char *list, db_result *r)
{
    return store_read(at->s, c, STMT_user_people,
                      DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), r);
}

static cache_person person_of(const row_user_person *row)
{
    return (cache_person){row->id.text,
                          row->upn_key.text,
                          row->anchor.text,
                          1,
                          row->enabled.number && !row->guest.number,
                          row->addresses.text};
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
    cache_counters n;
    const char *list = cache_list(c->pool, ids, count);
    ida_kind kind = count ? people(at, c, list, &r) : IDA_OK;
    if (kind || !count || !r.rows) {
        return kind;
    }
    cache_counters_make(&n, c->pool, r.rows);
    for (int i = 0; i < r.rows; i++) {
        const row_user_person *row = DB_ROW(user_person, &r, i);
        cache_person old = person_of(row), gone = {.id = old.id};
        cache_counters_add(&n, &old, &gone);
        push_values(c->pool, addresses, old.id, row->addresses.text);
    }
    kind = cache_counters_begin(&n, at, c);
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
        kind = cache_counters_end(&n, at, c);
    }
    return kind ? kind : cache_count(at, c, "users", -r.rows);
}

ida_kind cache_user_enabled(cache_at *at, ida_ctx *c, const char *id, int enabled,
                            const char *stamp)
{
    db_result r;
    cache_counters n;
    ida_kind kind = people(at, c, cache_list(c->pool, &id, 1), &r);
    if (kind) {
        return kind;
    }
    if (!r.rows) {
        return ida_fail(c, IDA_NOT_FOUND, "The cache holds no user %s.", id);
    }
    const row_user_person *row = DB_ROW(user_person, &r, 0);
    cache_person old = person_of(row), new = old;
    new.member = enabled && !row->guest.number;
    cache_counters_make(&n, c->pool, 1);
    cache_counters_add(&n, &old, &new);
    kind = cache_counters_begin(&n, at, c);
    if (!kind) {
        kind = store_write(at->s, c, STMT_user_set_enabled,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id),
                                   DB_I(enabled != 0), DB_T(stamp), DB_I(at->written_at),
                                   DB_I(at->run)),
                           NULL);
    }
    return kind ? kind : cache_counters_end(&n, at, c);
}

ida_kind cache_users_expire(cache_at *at, ida_ctx *c, int limit, int *count)
{
    db_result ending, r;
    cache_counters n;
    ida_kind kind = store_read(at->s, c, STMT_users_expiring,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(ida_now(c->env)),
                                       DB_I(limit)),
                               &ending);
    *count = kind ? 0 : ending.rows;
    if (kind || !ending.rows) {
        return kind;
    }
    const char *list = cache_list(c->pool, cache_column(c->pool, &ending, 0, 0, ending.rows),
                                  ending.rows);
    kind = people(at, c, list, &r);
    cache_counters_make(&n, c->pool, kind ? 0 : r.rows);
    for (int i = 0; !kind && i < r.rows; i++) {
        cache_person old = person_of(DB_ROW(user_person, &r, i)), new = old;
        new.member = 0;
        cache_counters_add(&n, &old, &new);
    }
    kind = kind ? kind : cache_counters_begin(&n, at, c);
    kind = kind ? kind : cache_by_list(at, c, STMT_users_expire, list);
    return kind ? kind : cache_counters_end(&n, at, c);
}

ida_kind cache_user_seen(cache_at *at, ida_ctx *c, const char *id, const char *text)
{
    const cache_sync_entry entry = {.kind = "user",
                                    .id = id,
                                    .op = "late",
                                    .digest = "",
                                    .item = text},
                           *entries = &entry;
    const char *item[CACHE_USER_FIELDS];
    apr_hash_t *rows;
    int contradicts = 0;
    ida_kind kind = known_users(at, c, &entries, 1, &rows);
    const row_user_known *known = kind ? NULL : apr_hash_get(rows, id, APR_HASH_KEY_STRING);
    if (!known || known->written_at.number <= 0) {
        return kind; /* deleted or settled meanwhile */
    }
    cache_item_read(c->pool, text, item, CACHE_USER_FIELDS);
    settle(c, item, known);
    kind = contradiction(at, c, id, item, known->written_whole.number != 0, &contradicts);
    int64_t now = ida_now(c->env), since = known->denied_at.number;
    if (!kind && contradicts && !known->shown.number &&
        (since <= known->written_at.number || now - since < CACHE_DENIED_MS)) {
        return store_write(at->s, c, STMT_user_denied,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id), DB_I(now)),
                           NULL);
    }
    if (kind) {
        return kind;
    }
    kind = store_write(at->s, c, contradicts ? STMT_user_unprotected : STMT_user_shown,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id)), NULL);
    return kind || !contradicts ? kind : cache_users_put(at, c, &entries, 1);
}

ida_kind cache_sign_ins(cache_at *at, ida_ctx *c, const char *const *rows, int count)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return cache_bulk(at, c, STMT_user_sign_ins, fixed, 2, rows, 4, count);
}

ida_kind cache_managers_back(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return cache_bulk(at, c, STMT_manager_back, fixed, 2, pairs, 2, count);
}

ida_kind cache_users_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    ida_kind kind = cache_by_list(at, c, STMT_manager_of_these, ids);
    return kind ? kind : cache_by_list(at, c, STMT_manager_is_these, ids);
}
