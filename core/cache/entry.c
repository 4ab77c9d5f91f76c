/* Owns the numbers that stand for IDs in memberships: found, made, remembered. Must not know what
 * bears them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/cache/cache.h"

#define LOOK_AT_ONCE 5000
#define SETS_BITS 16
#define SETS (1 << SETS_BITS)
#define WAYS 8

/* --- memory --- */

/* 24 bytes an ID: those of a UUID as it is written, else of a digest. What does not fit takes the
 * place of another. */
typedef struct place {
    unsigned char key[16];
    int64_t number; /* 0: free */
} place;

struct cache_memory {
    place *places; /* SETS times WAYS; zero pages until they are used */
    unsigned next; /* which of a full set goes */
    int lost;      /* some that it held are gone */
};

static apr_status_t memory_free(void *baton)
{
    free(((cache_memory *)baton)->places);
    return APR_SUCCESS;
}

cache_memory *cache_memory_make(apr_pool_t *pool)
{
    cache_memory *m = apr_pcalloc(pool, sizeof *m);
    apr_pool_cleanup_register(pool, m, memory_free, apr_pool_cleanup_null);
    return m;
}

void cache_memory_clear(cache_memory *m)
{
    if (m) {
        m->lost |= m->places != NULL;
        free(m->places);
        m->places = NULL;
    }
}

/* 0: not 8-4-4-4-12 digits in lower case, which would be read back as they were. */
static int uuid(const char *text, unsigned char key[16])
{
    static const signed char values[256] = {['0'] = 1, 2,  3,          4,  5,  6,  7,  8,
                                            9,         10, ['a'] = 11, 12, 13, 14, 15, 16};
    const unsigned char *p = (const unsigned char *)text;
    for (int i = 0; i < 16; i++) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && *p++ != '-') {
            return 0;
        }
        int high = values[p[0]], low = high ? values[p[1]] : 0;
        if (!low) {
            return 0;
        }
        key[i] = (unsigned char)((high - 1) << 4 | (low - 1));
        p += 2;
    }
    return !*p;
}

static void key_of(const char *id, unsigned char key[16])
{
    unsigned char hash[IDA_DIGEST_LEN];
    if (!uuid(id, key)) {
        ida_sha256(id, strlen(id), hash);
        memcpy(key, hash, 16);
    }
}

static place *set_of(cache_memory *m, const unsigned char key[16])
{
    uint64_t halves[2];
    if (!m->places && !(m->places = calloc((size_t)SETS * WAYS, sizeof *m->places))) {
        abort(); /* as APR does */
    }
    memcpy(halves, key, sizeof halves);
    halves[1] += halves[0] * UINT64_C(0xbf58476d1ce4e5b9);
    return m->places + ((halves[1] * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SETS_BITS)) * WAYS;
}

static int64_t recall(cache_memory *m, const unsigned char key[16])
{
    const place *set = set_of(m, key);
    for (int i = 0; i < WAYS; i++) {
        if (set[i].number && memcmp(set[i].key, key, 16) == 0) {
            return set[i].number;
        }
    }
    return 0;
}

static void remember(cache_memory *m, const unsigned char key[16], int64_t number)
{
    place *set = set_of(m, key), *at = NULL;
    for (int i = 0; i < WAYS && !at; i++) {
        at = !set[i].number || memcmp(set[i].key, key, 16) == 0 ? &set[i] : NULL;
    }
    if (!at) {
        at = &set[m->next++ % WAYS];
        m->lost = 1;
    }
    memcpy(at->key, key, 16);
    at->number = number;
}

typedef struct id_key {
    unsigned char bytes[16];
} id_key;

/* Of all at once: each one's place is on its way to the processor before it is asked for. NULL
 * without a memory. */
static id_key *keys_of(cache_memory *m, apr_pool_t *pool, const char *const *ids, int count)
{
    id_key *keys = m ? apr_palloc(pool, (apr_size_t)(count + 1) * sizeof *keys) : NULL;
    for (int i = 0; m && i < count; i++) {
        if (i && ids[i] == ids[i - 1]) { /* one group's members come together */
            keys[i] = keys[i - 1];
            continue;
        }
        key_of(ids[i], keys[i].bytes);
        const char *set = (const char *)set_of(m, keys[i].bytes);
        for (size_t line = 0; line < WAYS * sizeof(place); line += 64) {
            __builtin_prefetch(set + line);
        }
    }
    return keys;
}

/* --- the table --- */

static ida_kind look_up(cache_at *at, ida_ctx *c, const char *list, apr_hash_t *found)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_entry_numbers,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), &r);
    int64_t *numbers = apr_palloc(c->pool, (apr_size_t)(kind ? 1 : r.rows + 1) * sizeof *numbers);
    for (int row = 0; !kind && row < r.rows; row++) {
        numbers[row] = db_int(&r, row, 1);
        apr_hash_set(found, db_text(&r, row, 0), APR_HASH_KEY_STRING, &numbers[row]);
    }
    return kind;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Nobody had one: the engine gives them in the order in which they are copied, others may make some
 * meanwhile. */
static ida_kind copy_new(cache_at *at, ida_ctx *c, const char **ids, int count, db_result *made)
{
    db_result highest;
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    ida_kind kind = store_read(at->s, c, STMT_entry_highest, DB_NONE, &highest);
    kind = kind ? kind : cache_copy(at, c, STMT_entry_copy, fixed, 2, ids, 1, count);
    return kind ? kind
                : store_read(at->s, c, STMT_entry_copied,
                             DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                     DB_I(db_int(&highest, 0, 0)), DB_I(count)),
                             made);
}

/* PostgreSQL tells the numbers it made, *first is 0. On SQLite they follow each other from *first
 * on, when nobody had one. */
static ida_kind insert(cache_at *at, ida_ctx *c, const char **ids, int count, db_result *made,
                       int64_t *first)
{
    db_result highest;
    const db_arg args[] = {DB_T(at->tenant), DB_T(at->directory),
                           DB_T(cache_list(c->pool, ids, count))};
    ida_kind kind = IDA_OK;
    if (!db_is_postgresql(at->s->db)) {
        kind = store_read(at->s, c, STMT_entry_highest, DB_NONE, &highest);
        *first = kind ? 0 : db_int(&highest, 0, 0) + 1;
    }
    return kind ? kind : store_write(at->s, c, STMT_entry_make, args, 3, made);
}

/* *all: nobody had one, and all are in `found`. */
static ida_kind make(cache_at *at, ida_ctx *c, const char **ids, int count, apr_hash_t *found,
                     int *all)
{
    db_result r;
    int64_t *numbers = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *numbers), first = 0;
    qsort(ids, (size_t)count, sizeof *ids,
          by_id); /* neighbours in the index are written together */
    ida_kind kind = at->copying ? copy_new(at, c, ids, count, &r)
                                : insert(at, c, ids, count, &r, &first);
    *all = !kind && (r.rows == count || (first && r.changes == count));
    for (int i = 0; *all && i < count; i++) {
        numbers[i] = r.rows ? db_int(&r, i, 1) : first + i;
        apr_hash_set(found, r.rows ? db_text(&r, i, 0) : ids[i], APR_HASH_KEY_STRING, &numbers[i]);
    }
    return kind;
}

/* In a first load most have none yet, later most have one. Those that are copied must have none. */
static ida_kind resolve(cache_at *at, ida_ctx *c, const char **ids, int count, apr_hash_t *found)
{
    int look = !at->first || (at->copying && (!at->memory || at->memory->lost));
    ida_kind kind = look ? look_up(at, c, cache_list(c->pool, ids, count), found) : IDA_OK;
    int left = 0, all = 0;
    for (int i = 0; i < count; i++) {
        if (!apr_hash_get(found, ids[i], APR_HASH_KEY_STRING)) {
            ids[left++] = ids[i];
        }
    }
    if (kind || !left) {
        return kind;
    }
    kind = make(at, c, ids, left, found, &all);
    return kind || all ? kind : look_up(at, c, cache_list(c->pool, ids, left), found);
}

ida_kind cache_numbers(cache_at *at, ida_ctx *c, const char *const *ids, int count,
                       int64_t *numbers)
{
    const char **unknown = NULL;
    apr_hash_t *found = NULL;
    int unknown_count = 0;
    ida_kind kind = IDA_OK;
    const id_key *keys = keys_of(at->memory, c->pool, ids, count);
    for (int i = 0; i < count; i++) {
        numbers[i] = i && ids[i] == ids[i - 1] ? numbers[i - 1]
                     : keys                    ? recall(at->memory, keys[i].bytes)
                                               : 0;
        if (numbers[i]) {
            continue;
        }
        if (!unknown) {
            unknown = apr_palloc(c->pool, (apr_size_t)(count - i) * sizeof *unknown);
            found = apr_hash_make(c->pool);
        }
        if (!apr_hash_get(found, ids[i], APR_HASH_KEY_STRING)) { /* each once */
            apr_hash_set(found, ids[i], APR_HASH_KEY_STRING, "");
            unknown[unknown_count++] = ids[i];
        }
    }
    if (!unknown_count) {
        return IDA_OK;
    }
    apr_hash_clear(found);
    for (int i = 0; !kind && i < unknown_count; i += LOOK_AT_ONCE) {
        kind = resolve(at, c, unknown + i,
                       unknown_count - i < LOOK_AT_ONCE ? unknown_count - i : LOOK_AT_ONCE, found);
    }
    for (int i = 0; !kind && i < count; i++) {
        if (numbers[i]) {
            continue;
        }
        const int64_t *number = apr_hash_get(found, ids[i], APR_HASH_KEY_STRING);
        if (!number) {
            return ida_fail(c, IDA_INTERNAL_ERROR, "The store gave the entry %s no number.",
                            ids[i]);
        }
        numbers[i] = *number;
        if (keys) {
            remember(at->memory, keys[i].bytes, numbers[i]);
        }
    }
    return kind;
}
