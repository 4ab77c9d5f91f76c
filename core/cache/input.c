/* Owns the input of a run: users, groups, members and deletions become entries of its buffer,
 * where the last report of each counts; also answers questions about earlier items. Must not
 * know how the buffer reaches the store. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "core/cache/run.h"

#define BUFFER_BYTES (2 * 1024 * 1024)
#define ENTRY_BYTES 300 /* memory of an entry in addition to its record */
#define SLICE_MEMBERS 250

/* The entry of this key, created without an op if there is none; `id` and `sub` are in the
 * buffer's pool already. */
static cache_sync_entry *entry_of(cache_buffer *b, const char *kind, const char *id,
                                  const char *sub)
{
    const char *key = apr_pstrcat(b->pool, kind, "\1", id, "\1", sub, NULL);
    cache_sync_entry *e = apr_hash_get(b->index, key, APR_HASH_KEY_STRING);
    if (!e) {
        e = apr_pcalloc(b->pool, sizeof *e);
        *e = (cache_sync_entry){.kind = kind, .id = id, .sub = sub};
        apr_hash_set(b->index, key, APR_HASH_KEY_STRING, e);
        *(b->last ? &b->last->next : &b->head) = e;
        b->last = e;
        b->count++;
    }
    b->bytes += ENTRY_BYTES + strlen(key);
    return e;
}

/* Adds an item to the entry; `digest` and `item` (of `item_len` bytes) are in the buffer's pool
 * already. The last item counts, as in staging, but "present" does not replace an entry, and a
 * group reported without members does not replace the list before it. */
static void say(cache_sync *run, cache_sync_entry *e, const char *op, int64_t seq,
                const char *digest, const char *item, size_t item_len)
{
    if (strcmp(op, "present") == 0 && e->op && strcmp(e->op, "delete") != 0) {
        return;
    }
    run->buffer.bytes += item_len;
    e->op = op;
    e->digest = digest;
    e->item = item;
    e->untold = 0;
    e->seq = seq > 0 ? seq : e->seq;
}

static void stage(cache_sync *run, const char *kind, const char *id, const char *sub,
                  const char *op, int64_t seq, const char *digest, const char *item)
{
    say(run, entry_of(&run->buffer, kind, id, sub), op, seq, digest, item, item ? strlen(item) : 0);
}

static ida_kind flush_when_full(cache_sync *run, ida_ctx *c)
{
    return run->buffer.bytes >= BUFFER_BYTES ? cache_run_flush(run, c) : IDA_OK;
}

static ida_kind id_check(ida_ctx *c, const char *id)
{
    return cache_id_valid(id)
               ? IDA_OK
               : ida_fail(
                     c, IDA_BAD_REQUEST,
                     "The directory sent an entry without a usable ID (1 to %d bytes of UTF-8).",
                     CACHE_ID_MAX);
}

static const char *kind_of(const char *kind)
{
    return strcmp(kind, "group") == 0 ? "group" : "user";
}

ida_kind cache_sync_user(cache_sync *run, ida_ctx *c, const cache_user *user)
{
    ida_kind kind = id_check(c, user->id);
    if (kind) {
        return kind;
    }
    cache_user told = *user;
    told.manager_untold = !user->manager_untold ? 0
                          : run->full           ? CACHE_MANAGER_NOBODY
                                                : CACHE_MANAGER_KEPT;
    apr_pool_clear(run->item_pool);
    apr_pool_t *p = run->buffer.pool;
    const char *item = cache_user_item(run->item_pool, &told);
    size_t len = strlen(item);
    cache_sync_entry *e = entry_of(&run->buffer, "user", apr_pstrdup(p, user->id), "");
    const cache_sync_entry before = *e;
    say(run, e, "put", ++run->seq, cache_digest(p, item, len), apr_pstrmemdup(p, item, len), len);
    e->untold = told.manager_untold != 0;
    if (e->untold && before.op && strcmp(before.op, "put") == 0) {
        cache_keep_manager(p, e, before.op, before.item);
    }
    return flush_when_full(run, c);
}

ida_kind cache_sync_sign_ins(cache_sync *run, ida_ctx *c, const char *user_id,
                             const cache_sign_in_list *times)
{
    ida_kind kind = id_check(c, user_id);
    if (!kind) {
        apr_pool_t *p = run->buffer.pool;
        const char *const record[] = {ida_printf(p, "%lld", (long long)times->last),
                                      ida_printf(p, "%lld", (long long)times->last_noninteractive),
                                      ida_printf(p, "%lld", (long long)times->last_success)};
        stage(run, "sign_ins", apr_pstrdup(p, user_id), "", "put", ++run->seq, "",
              cache_item(p, record, 3));
        kind = flush_when_full(run, c);
    }
    return kind;
}

ida_kind cache_sync_returned(cache_sync *run, ida_ctx *c, int64_t settled, int64_t created_before,
                             const char *after, int limit, const char ***ids, int *count)
{
    enum { PAGE = 500 };
    const cache_at *at = &run->at;
    db_result r;
    ida_kind kind = cache_run_flush(run, c);
    *ids = apr_palloc(c->pool, (apr_size_t)(limit + 1) * sizeof **ids);
    *count = 0;
    do {
        kind = kind ? kind
                    : store_read(at->s, c, STMT_staged_returned,
                                 DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                         DB_T(after), DB_I(PAGE), DB_I(settled)),
                                 &r);
        for (int row = 0; !kind && row < r.rows && *count < limit; row++) {
            const row_staged_returned *staged = DB_ROW(staged_returned, &r, row);
            const char *told = staged->item.text, *item[CACHE_USER_FIELDS];
            cache_item_read(c->pool, told ? told : "", item, CACHE_USER_FIELDS);
            int64_t created = !told ? staged->created_at.number
                              : item[CACHE_USER_created_at]
                                  ? strtoll(item[CACHE_USER_created_at], NULL, 10)
                                  : 0;
            after = staged->id.text;
            if (created < created_before) {
                (*ids)[(*count)++] = after;
            }
        }
    } while (!kind && r.rows == PAGE && *count < limit);
    return kind;
}

ida_kind cache_sync_settled(cache_sync *run, ida_ctx *c, const char *group_id, int64_t settled,
                            int *yes)
{
    const cache_at *at = &run->at;
    db_result r;
    ida_kind kind = store_read(
        at->s, c, STMT_group_settled,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(group_id), DB_I(settled)), &r);
    *yes = !kind && r.rows > 0;
    return kind;
}

ida_kind cache_sync_report(cache_sync *run, ida_ctx *c, const char *user_id, const char *manager_id)
{
    ida_kind kind = id_check(c, user_id);
    if (!kind) {
        apr_pool_t *p = run->buffer.pool;
        stage(run, "report", apr_pstrdup(p, user_id), "", "put", ++run->seq, "",
              apr_pstrdup(p, manager_id));
        kind = flush_when_full(run, c);
    }
    return kind;
}

/* Appends up to SLICE_MEMBERS members of a group as items, after all earlier items of that
 * group. */
static const char *stage_slice(cache_sync *run, const char *group_id, int64_t seq, const char *op,
                               const char *const *items, int count)
{
    apr_pool_t *p = run->buffer.pool;
    const char *slice = cache_item(p, items, count);
    stage(run, "member", group_id, ida_printf(p, "%018lld", (long long)++run->slices), op, seq, "",
          slice);
    return slice;
}

/* Stages members without duplicates, in slices; returns the digest of all of them. */
static const char *stage_list(cache_sync *run, const char *group_id, int64_t seq,
                              const cache_member *members, int count)
{
    apr_pool_t *list_pool = run->item_pool;
    apr_pool_clear(list_pool);
    apr_hash_t *seen = apr_hash_make(list_pool);
    const char **items = apr_palloc(list_pool, (apr_size_t)(count + 1) * sizeof *items);
    char chain[33] = "";
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const char *item = cache_member_item(list_pool, &members[i]);
        if (item && !apr_hash_get(seen, item, APR_HASH_KEY_STRING)) {
            apr_hash_set(seen, item, APR_HASH_KEY_STRING, item);
            items[kept++] = item;
        }
    }
    for (int at = 0; at < kept; at += SLICE_MEMBERS) {
        int some = kept - at < SLICE_MEMBERS ? kept - at : SLICE_MEMBERS;
        const char *slice = stage_slice(run, group_id, seq, "add", items + at, some),
                   *linked = apr_pstrcat(list_pool, chain, slice, NULL);
        apr_cpystrn(chain, cache_digest(list_pool, linked, strlen(linked)), sizeof chain);
    }
    return apr_pstrdup(run->buffer.pool, chain);
}

/* The list and its group reach the buffer together, so that an unchanged list is not staged.
 * Without members there is no digest that could show that the list is complete. */
ida_kind cache_sync_group(cache_sync *run, ida_ctx *c, const cache_group *group,
                          const cache_member *members, int count)
{
    ida_kind kind = id_check(c, group->id);
    if (kind) {
        return kind;
    }
    int64_t seq = members ? ++run->seq : 0;
    const char *id = apr_pstrdup(run->buffer.pool, group->id),
               *list = members ? stage_list(run, id, seq, members, count) : NULL;
    apr_pool_clear(run->item_pool);
    const char *item = apr_pstrdup(run->buffer.pool, cache_group_item(run->item_pool, group, list));
    stage(run, "group", id, "", "put", seq,
          members ? cache_digest(run->buffer.pool, item, strlen(item)) : "", item);
    return flush_when_full(run, c);
}

static ida_kind tell_members(cache_sync *run, ida_ctx *c, const char *group_id, const char *op,
                             const cache_member *members, int count)
{
    ida_kind kind = id_check(c, group_id);
    const char *items[SLICE_MEMBERS];
    for (int i = 0; !kind && i < count;) {
        apr_pool_t *p = run->buffer.pool;
        int some = 0;
        for (; i < count && some < SLICE_MEMBERS; i++) {
            items[some] = cache_member_item(p, &members[i]);
            some += items[some] != NULL; /* a member that cannot be named is left out */
        }
        if (some) {
            stage_slice(run, apr_pstrdup(p, group_id), ++run->seq, op, items, some);
            kind = flush_when_full(run, c);
        }
    }
    return kind;
}

ida_kind cache_sync_member(cache_sync *run, ida_ctx *c, const char *group_id,
                           const cache_member *member, int removed)
{
    return tell_members(run, c, group_id, removed ? "remove" : "add", member, 1);
}

ida_kind cache_sync_slice(cache_sync *run, ida_ctx *c, const char *group_id,
                          const cache_member *members, int count)
{
    return tell_members(run, c, group_id, "add", members, count);
}

static ida_kind stage_word(cache_sync *run, ida_ctx *c, const char *kind_name, const char *id,
                           const char *op)
{
    ida_kind kind = id_check(c, id);
    if (!kind) {
        stage(run, kind_of(kind_name), apr_pstrdup(run->buffer.pool, id), "", op, ++run->seq, "",
              NULL);
        kind = flush_when_full(run, c);
    }
    return kind;
}

ida_kind cache_sync_delete(cache_sync *run, ida_ctx *c, const char *kind, const char *id)
{
    return stage_word(run, c, kind, id, "delete");
}

ida_kind cache_sync_present(cache_sync *run, ida_ctx *c, const char *kind, const char *id)
{
    return stage_word(run, c, kind, id, "present");
}

ida_kind cache_sync_complete(cache_sync *run, ida_ctx *c, const char *kind)
{
    int is_group = strcmp(kind, "group") == 0;
    if (!is_group && strcmp(kind, "user") != 0) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "There is no stream of kind %s.", kind);
    }
    run->complete[is_group] = 1;
    return IDA_OK;
}
