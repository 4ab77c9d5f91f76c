/* Owns the first load of an empty directory: what arrives goes straight into the tables, since there is nothing to guard or to compare with. A load
 * that breaks off leaves what it brought (the state still says that the directory was never read in full); the next run goes through staging. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/store_cache.h"

#define PAGE 5000
#define CHUNK 500
#define EVERYTHING INT64_C(1000000000)

static int is(const sync_entry *e, const char *kind, const char *op)
{
    return strcmp(e->kind, kind) == 0 && (!op || strcmp(e->op, op) == 0);
}

typedef struct picked {
    const sync_entry **entries;
    int count;
} picked;

static picked pick(const sync_buffer *b, ida_ctx *c, const char *kind, const char *op)
{
    picked p = {apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *p.entries), 0};
    for (const sync_entry *e = b->head; e; e = e->next) {
        if (is(e, kind, op)) {
            p.entries[p.count++] = e;
        }
    }
    return p;
}

static const char **ids_of(ida_ctx *c, const picked *p)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(p->count + 1) * sizeof *ids);
    for (int i = 0; i < p->count; i++) {
        ids[i] = p->entries[i]->id;
    }
    return ids;
}

static ida_kind load_gone(sync_run *run, ida_ctx *c, const sync_buffer *b, const char *kind_name, int is_group)
{
    const picked gone = pick(b, c, kind_name, "delete");
    int left = 0;
    if (!gone.count) {
        return IDA_OK;
    }
    const char **ids = ids_of(c, &gone);
    ida_kind kind = is_group ? cache_members_drop(&run->at, c, cache_list(c->pool, ids, gone.count), 1, (int)EVERYTHING, &left) : IDA_OK;
    return kind ? kind : cache_gone(&run->at, c, is_group, ids, gone.count);
}

/* seq of the last whole list or end of a group within the buffer, 0: none. */
static int64_t list_seq(const sync_buffer *b, ida_ctx *c, const char *id)
{
    const sync_entry *e = apr_hash_get(b->index, apr_pstrcat(c->pool, "group\1", id, "\1", NULL), APR_HASH_KEY_STRING);
    return e && strcmp(e->op, "present") != 0 ? e->seq : 0;
}

/* A group told again within the run: its list takes the place of what was told before. */
static ida_kind lists_anew(sync_run *run, ida_ctx *c, const picked *groups, const unsigned char *born)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(groups->count + 1) * sizeof *ids);
    int count = 0, left;
    for (int i = 0; i < groups->count; i++) {
        if (!born[i] && groups->entries[i]->seq > 0) {
            ids[count++] = groups->entries[i]->id;
        }
    }
    if (!count) {
        return IDA_OK;
    }
    const char *list = cache_list(c->pool, ids, count);
    ida_kind kind = cache_lists_begin(&run->at, c, list);
    return kind ? kind : cache_members_drop(&run->at, c, list, 1, (int)EVERYTHING, &left);
}

/* A part of what was picked, in a pool of its own. */
typedef ida_kind (*part)(sync_run *run, ida_ctx *c, const sync_buffer *b, const sync_entry *const *entries, int count);

static ida_kind in_parts(sync_run *run, ida_ctx *c, const sync_buffer *b, const picked *p, part apply)
{
    ida_kind kind = IDA_OK;
    apr_pool_t *pool;
    apr_pool_create(&pool, c->pool);
    for (int i = 0; !kind && i < p->count; i += CHUNK) {
        apr_pool_clear(pool);
        ida_ctx *own = ida_ctx_make(c->env, pool);
        kind = sync_run_failed(c, own, apply(run, own, b, p->entries + i, p->count - i < CHUNK ? p->count - i : CHUNK));
    }
    apr_pool_destroy(pool);
    return kind;
}

static ida_kind load_users(sync_run *run, ida_ctx *c, const sync_buffer *b, const sync_entry *const *entries, int count)
{
    (void)b;
    return cache_users_load(&run->at, c, entries, count);
}

static ida_kind load_slices(sync_run *run, ida_ctx *c, const sync_buffer *b, const sync_entry *const *entries, int count)
{
    apr_array_header_t *pairs = apr_array_make(c->pool, 4096, sizeof(char *));
    for (int i = 0; i < count; i++) {
        const sync_entry *e = entries[i];
        int some = cache_record_count(e->item);
        if (list_seq(b, c, e->id) != e->seq) {
            continue; /* another list came after */
        }
        const char **members = apr_palloc(c->pool, (apr_size_t)(some + 1) * sizeof *members);
        cache_record_read(c->pool, e->item, members, some);
        for (int m = 0; m < some; m++) {
            APR_ARRAY_PUSH(pairs, const char *) = e->id;
            APR_ARRAY_PUSH(pairs, const char *) = members[m];
        }
    }
    return cache_members_add(&run->at, c, (const char *const *)pairs->elts, pairs->nelts / 2);
}

static ida_kind load_changes(sync_run *run, ida_ctx *c, const sync_buffer *b, const char *op, ida_kind (*apply)(cache_at *at, ida_ctx *c, const char *const *pairs, int count))
{
    const picked changes = pick(b, c, "change", op);
    const char **pairs = apr_palloc(c->pool, (apr_size_t)(changes.count + 1) * 2 * sizeof *pairs);
    int count = 0;
    for (int i = 0; i < changes.count; i++) {
        const sync_entry *e = changes.entries[i];
        if (e->seq > list_seq(b, c, e->id)) {
            pairs[2 * count] = e->id;
            pairs[2 * count++ + 1] = e->sub;
        }
    }
    run->apart |= count > 0;
    return count ? apply(&run->at, c, pairs, count) : IDA_OK;
}

/* Members of slices, but those that a list told after them. They come behind all changes of the buffer. */
static ida_kind load_named(sync_run *run, ida_ctx *c, const sync_buffer *b)
{
    int count = 0, room = 0;
    for (int i = 0; i < b->slices->nelts; i++) {
        room += APR_ARRAY_IDX(b->slices, i, sync_slice).count;
    }
    const char **pairs = apr_palloc(c->pool, (apr_size_t)(room + 1) * 2 * sizeof *pairs);
    for (int i = 0; i < b->slices->nelts; i++) {
        const sync_slice *s = &APR_ARRAY_IDX(b->slices, i, sync_slice);
        int named = s->seq > list_seq(b, c, s->group_id) ? s->count : 0;
        for (int m = 0; m < named; m++) {
            pairs[2 * count] = s->group_id;
            pairs[2 * count++ + 1] = s->items[m];
        }
    }
    run->apart |= count > 0;
    return count ? cache_members_add(&run->at, c, pairs, count) : IDA_OK;
}

static void note_change(apr_hash_t *changed, const sync_buffer *b, ida_ctx *c, const char *id, int64_t seq)
{
    if (!apr_hash_get(changed, id, APR_HASH_KEY_STRING) && seq > list_seq(b, c, id)) {
        apr_hash_set(changed, id, APR_HASH_KEY_STRING, id);
    }
}

/* Changes after a list of the same buffer leave its group without a digest, as those of later buffers do by touching it. */
static ida_kind load_digests(sync_run *run, ida_ctx *c, const sync_buffer *b, const picked *groups)
{
    apr_hash_t *changed = apr_hash_make(c->pool);
    const picked changes = pick(b, c, "change", NULL);
    const char **pairs = apr_palloc(c->pool, (apr_size_t)(groups->count + 1) * 2 * sizeof *pairs);
    int count = 0;
    for (int i = 0; i < changes.count; i++) {
        note_change(changed, b, c, changes.entries[i]->id, changes.entries[i]->seq);
    }
    for (int i = 0; i < b->slices->nelts; i++) {
        note_change(changed, b, c, APR_ARRAY_IDX(b->slices, i, sync_slice).group_id, APR_ARRAY_IDX(b->slices, i, sync_slice).seq);
    }
    for (int i = 0; i < groups->count; i++) {
        const sync_entry *e = groups->entries[i];
        if (*e->digest && !apr_hash_get(changed, e->id, APR_HASH_KEY_STRING)) {
            pairs[2 * count] = e->id;
            pairs[2 * count++ + 1] = e->digest;
        }
    }
    ida_kind kind = cache_groups_finish(&run->at, c, pairs, count);
    const char **touched = apr_palloc(c->pool, (apr_size_t)(apr_hash_count(changed) + 1) * sizeof *touched);
    count = 0;
    for (apr_hash_index_t *at = apr_hash_first(c->pool, changed); at; at = apr_hash_next(at)) {
        touched[count++] = apr_hash_this_key(at);
    }
    return kind || !count ? kind : cache_by_list(&run->at, c, STMT_group_touch, cache_list(c->pool, touched, count));
}

ida_kind sync_load_entries(sync_run *run, ida_ctx *c, const sync_buffer *b)
{
    const picked users = pick(b, c, "user", "put"), groups = pick(b, c, "group", "put"), slices = pick(b, c, "members", NULL);
    unsigned char *born = apr_pcalloc(c->pool, (apr_size_t)groups.count + 1);
    ida_kind kind = load_gone(run, c, b, "user", 0);
    if (!kind) {
        kind = load_gone(run, c, b, "group", 1);
    }
    if (!kind) {
        kind = in_parts(run, c, b, &users, load_users);
    }
    if (!kind) {
        kind = cache_groups_put(&run->at, c, groups.entries, groups.count, born);
    }
    if (!kind) {
        kind = lists_anew(run, c, &groups, born);
    }
    if (!kind) {
        kind = in_parts(run, c, b, &slices, load_slices);
    }
    if (!kind) {
        kind = load_changes(run, c, b, "remove", cache_members_remove);
    }
    if (!kind) {
        kind = load_changes(run, c, b, "add", cache_members_add);
    }
    if (!kind) {
        kind = load_named(run, c, b);
    }
    if (!kind) {
        kind = sync_run_stage(run, c, b, "sign_ins"); /* their users may come later */
    }
    return kind ? kind : load_digests(run, c, b, &groups);
}

/* --- the end --- */

static ida_kind apply_managers(sync_run *run, ida_ctx *c, const db_result *r, int from, int to, int *again)
{
    (void)again;
    return cache_by_list(&run->at, c, STMT_manager_of_these, cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from));
}

/* Who waits still for an entry that came later: named again, those found need not wait. */
static ida_kind apply_waiting(sync_run *run, ida_ctx *c, const db_result *r, int from, int to, int *again)
{
    apr_size_t room = (apr_size_t)(to - from + 1) * 2 * sizeof(char *);
    const char **pairs = apr_palloc(c->pool, room), **keys = apr_palloc(c->pool, room), **groups = cache_column(c->pool, r, 0, from, to);
    (void)again;
    for (int row = from, i = 0; row < to; row++, i += 2) {
        pairs[i] = keys[i] = db_text(r, row, 0);
        keys[i + 1] = db_text(r, row, 1);
        pairs[i + 1] = apr_pstrcat(c->pool, "d", keys[i + 1], NULL);
    }
    ida_kind kind = cache_by_list(&run->at, c, STMT_unresolved_pairs, cache_pairs(c->pool, keys, to - from));
    if (!kind) {
        kind = cache_members_add(&run->at, c, pairs, to - from);
    }
    return kind ? kind : cache_by_list(&run->at, c, STMT_group_recount, cache_list(c->pool, groups, to - from));
}

static ida_kind apply_counts(sync_run *run, ida_ctx *c, const db_result *r, int from, int to, int *again)
{
    (void)again;
    return cache_by_list(&run->at, c, STMT_group_recount, cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from));
}

static ida_kind apply_orphans(sync_run *run, ida_ctx *c, const db_result *r, int from, int to, int *again)
{
    return cache_members_drop(&run->at, c, cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from), 1, PAGE, again);
}

ida_kind sync_load_end(sync_run *run, ida_ctx *c)
{
    static const sync_pages managers = {STMT_load_managers, 1, PAGE, CHUNK, NULL, apply_managers}, waiting = {STMT_load_waiting, 2, PAGE, CHUNK, NULL, apply_waiting},
                            orphans = {STMT_load_orphans, 1, PAGE, CHUNK, NULL, apply_orphans}, counts = {STMT_load_groups, 1, PAGE, CHUNK, NULL, apply_counts};
    ida_kind kind = sync_run_pages(run, c, &managers);
    if (!kind) {
        kind = sync_run_pages(run, c, &waiting);
    }
    if (!kind && run->apart) {
        kind = sync_run_pages(run, c, &orphans);
    }
    return kind ? kind : sync_run_pages(run, c, &counts);
}
