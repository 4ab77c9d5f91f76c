/* Owns the first load of an empty directory: what arrives goes straight into the tables, since
 * there is nothing to guard or to compare with. A load that breaks off leaves what it brought (the
 * state still says that the directory was never read in full); the next run goes through staging.
 */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache/cache.h"

#define PAGE 5000
#define USERS_PAGE 20000 /* to be numbered: some 50 ms */
#define CHUNK 500
#define FEW 50            /* groups whose members are counted or go */
#define SOME_MEMBERS 5000 /* of one chunk */

/* --- what a buffer holds, picked once --- */

/* In the order of loading. */
enum {
    USERS_GONE,
    GROUPS_GONE,
    USERS,
    NUMBERED,
    GROUPS,
    LISTS_ANEW,
    LISTS,
    REMOVED,
    ADDED,
    NAMED,
    SIGN_INS,
    DIGESTS,
    TOUCHED,
    STAGES
};

typedef struct picked {
    const void **items;
    int count;
} picked;

struct cache_load {
    picked of[STAGES];   /* cache_sync_entry; NAMED: cache_slice; TOUCHED: IDs */
    unsigned char *born; /* of GROUPS: 1 for those that are new */
};

static void add(picked *p, const void *item)
{
    p->items[p->count++] = item;
}

/* seq of the last whole list or end of a group within the buffer, 0: none. */
static int64_t list_seq(const cache_buffer *b, const char *id)
{
    char key[CACHE_ID_MAX + 16];
    snprintf(key, sizeof key, "group\1%s\1", id);
    const cache_sync_entry *e = apr_hash_get(b->index, key, APR_HASH_KEY_STRING);
    return e && strcmp(e->op, "present") != 0 ? e->seq : 0;
}

/* -1: nothing to load. Of a group's members only what came after its last list, and that list. */
static int stage_of(const cache_buffer *b, const cache_sync_entry *e)
{
    static const struct {
        const char *kind, *op;
        int stage;
    } stages[] = {
        {"user", "put", USERS},           {"user", "delete", USERS_GONE}, {"group", "put", GROUPS},
        {"group", "delete", GROUPS_GONE}, {"members", "put", LISTS},      {"change", "add", ADDED},
        {"change", "remove", REMOVED},    {"sign_ins", "put", SIGN_INS},
    };
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (strcmp(e->kind, stages[i].kind) == 0 && strcmp(e->op, stages[i].op) == 0) {
            int stage = stages[i].stage, late = stage == ADDED || stage == REMOVED;
            return (stage == LISTS && list_seq(b, e->id) != e->seq) ||
                           (late && e->seq <= list_seq(b, e->id))
                       ? -1
                       : stage;
        }
    }
    return -1;
}

typedef struct named_user {
    const char *name;
    const cache_sync_entry *entry;
} named_user;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named_user *)a)->name, ((const named_user *)b)->name);
}

/* By name, as the widest index is ordered, or by ID when that one is laid aside: neighbours are
 * then written together. */
static void sort_users(picked *users, apr_pool_t *parent, int by_id)
{
    apr_pool_t *pool;
    apr_pool_create(&pool, parent);
    named_user *named = apr_palloc(pool, (apr_size_t)(users->count + 1) * sizeof *named);
    for (int i = 0; i < users->count; i++) {
        const cache_sync_entry *e = users->items[i];
        named[i] = (named_user){
            by_id ? e->id : cache_item_field(pool, e->item, CACHE_USER_name_key), e};
        named[i].name = named[i].name ? named[i].name : "";
    }
    qsort(named, (size_t)users->count, sizeof *named, by_name);
    for (int i = 0; i < users->count; i++) {
        users->items[i] = named[i].entry;
    }
    apr_pool_destroy(pool);
}

int cache_load_needs_indexes(const cache_buffer *b)
{
    const cache_sync_entry *e = b->head;
    while (e && strcmp(e->op, "delete") != 0) { /* its links are found by them */
        e = e->next;
    }
    return e != NULL;
}

/* 1: not of users and their sign-ins alone. */
static int names_members(const cache_buffer *b)
{
    const cache_sync_entry *e = b->head;
    while (e && (strcmp(e->kind, "user") == 0 || strcmp(e->kind, "sign_ins") == 0)) {
        e = e->next;
    }
    return e != NULL || b->slices->nelts > 0;
}

void cache_load_make(cache_sync *run, cache_buffer *b)
{
    apr_pool_t *pool = b->pool;
    cache_load *l = apr_pcalloc(pool, sizeof *l);
    apr_size_t room = (apr_size_t)(b->count + b->slices->nelts + 1) * sizeof(void *);
    apr_hash_t *changed = apr_hash_make(pool);
    for (int i = 0; i < STAGES; i++) {
        l->of[i].items = apr_palloc(pool, room);
    }
    for (const cache_sync_entry *e = b->head; e; e = e->next) {
        int stage = stage_of(b, e);
        if (stage >= 0) {
            add(&l->of[stage], e);
        }
        if (stage == ADDED || stage == REMOVED) {
            apr_hash_set(changed, e->id, APR_HASH_KEY_STRING, e->id);
        }
    }
    for (int i = 0; i < b->slices->nelts; i++) {
        const cache_slice *s = &APR_ARRAY_IDX(b->slices, i, cache_slice);
        if (s->seq > list_seq(b, s->group_id)) {
            add(&l->of[NAMED], s);
            apr_hash_set(changed, s->group_id, APR_HASH_KEY_STRING, s->group_id);
        }
    }
    /* Changes after a list of the same buffer leave its group without a digest, as those of later
     * buffers do by touching it. */
    for (int i = 0; i < l->of[GROUPS].count; i++) {
        const cache_sync_entry *e = l->of[GROUPS].items[i];
        add(&l->of[LISTS_ANEW], e);
        if (*e->digest && !apr_hash_get(changed, e->id, APR_HASH_KEY_STRING)) {
            add(&l->of[DIGESTS], e);
        }
    }
    for (apr_hash_index_t *at = apr_hash_first(pool, changed); at; at = apr_hash_next(at)) {
        add(&l->of[TOUCHED], apr_hash_this_key(at));
    }
    if (names_members(b)) {
        memcpy(l->of[NUMBERED].items, l->of[USERS].items,
               (apr_size_t)l->of[USERS].count * sizeof(void *));
        l->of[NUMBERED].count = l->of[USERS].count;
    }
    l->born = apr_pcalloc(pool, (apr_size_t)l->of[GROUPS].count + 1);
    sort_users(&l->of[USERS], pool, run->by_id);
    run->apart |= l->of[REMOVED].count + l->of[ADDED].count + l->of[NAMED].count > 0;
    b->told = (unsigned)(l->of[USERS].count > 0) | (unsigned)(l->of[GROUPS].count > 0) << 1;
    b->load = l;
}

/* --- numbers --- */

static ida_kind number_users(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *again)
{
    int64_t *numbers = apr_palloc(c->pool, (apr_size_t)(to - from + 1) * sizeof *numbers);
    (void)again;
    return cache_numbers(&run->at, c, cache_column(c->pool, r, 0, from, to), to - from, numbers);
}

/* Members mostly are users who came before: all of them at once and in the order of their IDs, so
 * that the table and its index grow at their ends, instead of at random places as memberships name
 * them. Those of the same buffer follow in load_numbers. */
ida_kind cache_load_numbers(cache_sync *run, ida_ctx *c, const cache_buffer *b)
{
    static const cache_pages users = {STMT_load_users, 1,    USERS_PAGE,
                                      USERS_PAGE,      NULL, number_users};
    if (run->numbered || !names_members(b)) {
        return IDA_OK;
    }
    run->numbered = 1;
    return cache_sync_pages(run, c, &users);
}

/* --- stages --- */

/* Takes the first ones of `count` items and tells how many; 0: some of the work is done, the same
 * items once more. The write gate is held over at least one such call: some 30 ms of work. */
typedef ida_kind (*stage)(cache_sync *run, ida_ctx *c, const cache_load *l,
                          const void *const *items, int count, int *taken);

static ptrdiff_t place_of(const cache_load *l, int which, const void *const *items)
{
    return items - (const void *const *)l->of[which].items;
}

static const char **ids_of(ida_ctx *c, const void *const *entries, int count)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = ((const cache_sync_entry *)entries[i])->id;
    }
    return ids;
}

static ida_kind load_users_gone(cache_sync *run, ida_ctx *c, const cache_load *l,
                                const void *const *items, int count, int *taken)
{
    (void)l;
    *taken = count;
    return cache_gone(&run->at, c, 0, ids_of(c, items, count), count);
}

static ida_kind load_groups_gone(cache_sync *run, ida_ctx *c, const cache_load *l,
                                 const void *const *items, int count, int *taken)
{
    const char **ids = ids_of(c, items, count);
    int left = 0;
    (void)l;
    ida_kind kind = cache_members_drop(&run->at, c, cache_list(c->pool, ids, count), 1,
                                       SOME_MEMBERS, &left);
    *taken = left ? 0 : count;
    return kind || left ? kind : cache_gone(&run->at, c, 1, ids, count);
}

static ida_kind load_users(cache_sync *run, ida_ctx *c, const cache_load *l,
                           const void *const *items, int count, int *taken)
{
    (void)l;
    *taken = count;
    return cache_users_load(&run->at, c, (const cache_sync_entry *const *)items, count);
}

static ida_kind load_numbers(cache_sync *run, ida_ctx *c, const cache_load *l,
                             const void *const *items, int count, int *taken)
{
    int64_t *numbers = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *numbers);
    (void)l;
    *taken = count;
    return cache_numbers(&run->at, c, ids_of(c, items, count), count, numbers);
}

static ida_kind load_groups(cache_sync *run, ida_ctx *c, const cache_load *l,
                            const void *const *items, int count, int *taken)
{
    *taken = count;
    return cache_groups_put(&run->at, c, (const cache_sync_entry *const *)items, count,
                            l->born + place_of(l, GROUPS, items));
}

/* A group told again within the run: its list takes the place of what was told before. */
static ida_kind load_lists_anew(cache_sync *run, ida_ctx *c, const cache_load *l,
                                const void *const *items, int count, int *taken)
{
    const unsigned char *born = l->born + place_of(l, LISTS_ANEW, items);
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids);
    int known = 0, left = 0;
    for (int i = 0; i < count; i++) {
        const cache_sync_entry *e = items[i];
        if (!born[i] && e->seq > 0) {
            ids[known++] = e->id;
        }
    }
    *taken = count;
    if (!known) {
        return IDA_OK;
    }
    const char *list = cache_list(c->pool, ids, known);
    ida_kind kind = cache_lists_begin(&run->at, c, list);
    kind = kind ? kind : cache_members_drop(&run->at, c, list, 1, SOME_MEMBERS, &left);
    *taken = left ? 0 : count;
    return kind;
}

static void add_pair(apr_array_header_t *pairs, const char *group_id, const char *item)
{
    APR_ARRAY_PUSH(pairs, const char *) = group_id;
    APR_ARRAY_PUSH(pairs, const char *) = item;
}

static ida_kind add_members(cache_sync *run, ida_ctx *c, const apr_array_header_t *pairs)
{
    return cache_members_add(&run->at, c, (const char *const *)pairs->elts, pairs->nelts / 2);
}

static ida_kind load_lists(cache_sync *run, ida_ctx *c, const cache_load *l,
                           const void *const *items, int count, int *taken)
{
    apr_array_header_t *pairs = apr_array_make(c->pool, 4 * SOME_MEMBERS, sizeof(char *));
    (void)l;
    for (*taken = 0; *taken < count && pairs->nelts < 2 * SOME_MEMBERS; ++*taken) {
        const cache_sync_entry *e = items[*taken];
        int some = cache_item_count(e->item);
        const char **members = apr_palloc(c->pool, (apr_size_t)(some + 1) * sizeof *members);
        cache_item_read(c->pool, e->item, members, some);
        for (int m = 0; m < some; m++) {
            add_pair(pairs, e->id, members[m]);
        }
    }
    return add_members(run, c, pairs);
}

static apr_array_header_t *changes_of(ida_ctx *c, const void *const *items, int count)
{
    apr_array_header_t *pairs = apr_array_make(c->pool, 2 * count + 1, sizeof(char *));
    for (int i = 0; i < count; i++) {
        const cache_sync_entry *e = items[i];
        add_pair(pairs, e->id, e->sub);
    }
    return pairs;
}

static ida_kind load_removed(cache_sync *run, ida_ctx *c, const cache_load *l,
                             const void *const *items, int count, int *taken)
{
    (void)l;
    *taken = count;
    return cache_members_remove(&run->at, c, (const char *const *)changes_of(c, items, count)->elts,
                                count);
}

static ida_kind load_added(cache_sync *run, ida_ctx *c, const cache_load *l,
                           const void *const *items, int count, int *taken)
{
    (void)l;
    *taken = count;
    return add_members(run, c, changes_of(c, items, count));
}

/* They come behind all changes of the buffer. */
static ida_kind load_named(cache_sync *run, ida_ctx *c, const cache_load *l,
                           const void *const *items, int count, int *taken)
{
    apr_array_header_t *pairs = apr_array_make(c->pool, 4 * SOME_MEMBERS, sizeof(char *));
    (void)l;
    for (*taken = 0; *taken < count && pairs->nelts < 2 * SOME_MEMBERS; ++*taken) {
        const cache_slice *s = items[*taken];
        for (int m = 0; m < s->count; m++) {
            add_pair(pairs, s->group_id, s->items[m]);
        }
    }
    return add_members(run, c, pairs);
}

/* Their users may come later. */
static ida_kind load_sign_ins(cache_sync *run, ida_ctx *c, const cache_load *l,
                              const void *const *items, int count, int *taken)
{
    (void)l;
    *taken = count;
    return cache_sync_stage(run, c, (const cache_sync_entry *const *)items, count);
}

static ida_kind load_digests(cache_sync *run, ida_ctx *c, const cache_load *l,
                             const void *const *items, int count, int *taken)
{
    const char **pairs = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *pairs);
    (void)l;
    for (int i = 0; i < count; i++) {
        const cache_sync_entry *e = items[i];
        pairs[2 * i] = e->id;
        pairs[2 * i + 1] = e->digest;
    }
    *taken = count;
    return cache_groups_finish(&run->at, c, pairs, count);
}

static ida_kind load_touched(cache_sync *run, ida_ctx *c, const cache_load *l,
                             const void *const *items, int count, int *taken)
{
    (void)l;
    *taken = count;
    return cache_by_list(&run->at, c, STMT_group_touch,
                         cache_list(c->pool, (const char *const *)items, count));
}

static const struct {
    stage apply;
    int chunk; /* items offered at once: some 30 ms of work; lists and slices are counted by their
                  members */
} stages[STAGES] = {
    [USERS_GONE] = {load_users_gone, FEW}, [GROUPS_GONE] = {load_groups_gone, FEW},
    [USERS] = {load_users, CHUNK},         [NUMBERED] = {load_numbers, PAGE},
    [GROUPS] = {load_groups, CHUNK},       [LISTS_ANEW] = {load_lists_anew, CHUNK},
    [LISTS] = {load_lists, CHUNK},         [REMOVED] = {load_removed, CHUNK},
    [ADDED] = {load_added, SOME_MEMBERS},  [NAMED] = {load_named, SOME_MEMBERS},
    [SIGN_INS] = {load_sign_ins, CHUNK},   [DIGESTS] = {load_digests, FEW},
    [TOUCHED] = {load_touched, CHUNK},
};

ida_kind cache_load_step(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    const cache_load *l = cursor->baton;
    ida_kind kind = IDA_OK;
    while (cursor->stage < STAGES && cursor->count == l->of[cursor->stage].count) {
        cursor->stage++;
        cursor->count = 0;
    }
    *more = cursor->stage < STAGES;
    if (*more) {
        const stage apply = stages[cursor->stage].apply;
        int count = l->of[cursor->stage].count - (int)cursor->count, taken = 0;
        apr_pool_t *pool;
        apr_pool_create(&pool, c->pool);
        ida_ctx *own = ida_ctx_make(c->env, pool);
        count = count < stages[cursor->stage].chunk ? count : stages[cursor->stage].chunk;
        kind = cache_sync_failed(
            c, own, apply(run, own, l, l->of[cursor->stage].items + cursor->count, count, &taken));
        cursor->count += taken;
        apr_pool_destroy(pool);
    }
    return kind;
}

/* --- the end --- */

static ida_kind apply_managers(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                               int *again)
{
    (void)again;
    return cache_by_list(&run->at, c, STMT_manager_of_these,
                         cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from));
}

/* Who waits still for an entry that came later: named again, those found need not wait. */
static ida_kind apply_waiting(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                              int *again)
{
    apr_size_t room = (apr_size_t)(to - from + 1) * 2 * sizeof(char *);
    const char **pairs = apr_palloc(c->pool, room), **keys = apr_palloc(c->pool, room),
               **groups = cache_column(c->pool, r, 0, from, to);
    (void)again;
    for (int row = from, i = 0; row < to; row++, i += 2) {
        pairs[i] = keys[i] = db_text(r, row, 0);
        keys[i + 1] = db_text(r, row, 1);
        pairs[i + 1] = apr_pstrcat(c->pool, "d", keys[i + 1], NULL);
    }
    ida_kind kind = cache_by_list(&run->at, c, STMT_unresolved_pairs,
                                  cache_pairs(c->pool, keys, to - from));
    if (!kind) {
        kind = cache_members_add(&run->at, c, pairs, to - from);
    }
    return kind ? kind
                : cache_by_list(&run->at, c, STMT_group_recount,
                                cache_list(c->pool, groups, to - from));
}

static ida_kind apply_counts(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *again)
{
    (void)again;
    return cache_by_list(&run->at, c, STMT_group_recount,
                         cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from));
}

static ida_kind apply_orphans(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                              int *again)
{
    return cache_members_drop(&run->at, c,
                              cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from),
                              1, PAGE, again);
}

ida_kind cache_load_end(cache_sync *run, ida_ctx *c)
{
    static const cache_pages managers = {STMT_load_managers, 1, PAGE, CHUNK, NULL, apply_managers},
                             waiting = {STMT_load_waiting, 2, PAGE, CHUNK, NULL, apply_waiting},
                             orphans = {STMT_load_orphans, 1, PAGE, CHUNK, NULL, apply_orphans},
                             counts = {STMT_load_groups, 1, PAGE, FEW, NULL, apply_counts};
    db_result r;
    ida_ctx *b = cache_sync_batch(run, c);
    ida_kind kind = cache_sync_failed(
        c, b,
        store_read(run->at.s, b, STMT_manager_waiting,
                   DB_ARGS(DB_T(run->at.tenant), DB_T(run->at.directory)), &r));
    if (!kind && r.rows) { /* else nobody's row need be read */
        kind = cache_sync_pages(run, c, &managers);
    }
    if (!kind) {
        kind = cache_sync_pages(run, c, &waiting);
    }
    if (kind || !run->at.uncounted) {
        return kind;
    }
    kind = run->apart ? cache_sync_pages(run, c, &orphans) : IDA_OK;
    return kind ? kind : cache_sync_pages(run, c, &counts);
}
