/* Owns the numbers that stand for IDs in memberships: found, made, remembered. Must not know what bears them. */
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "core/store_cache.h"

#define LOOK_AT_ONCE 1000
#define SETS (1 << 15)
#define WAYS 8

/* --- memory --- */

/* 24 bytes an ID: those of a UUID as it is written, else of a digest. What does not fit takes the place of another. */
typedef struct place {
    unsigned char key[16];
    int64_t number; /* 0: free */
} place;

struct cache_memory {
    place *places; /* SETS times WAYS; zero pages until they are used */
    unsigned next; /* which of a full set goes */
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
        free(m->places);
        m->places = NULL;
    }
}

/* 0: not 8-4-4-4-12 digits in lower case, which would be read back as they were. */
static int uuid(const char *text, unsigned char key[16])
{
    static const signed char values[256] = {['0'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ['a'] = 11, 12, 13, 14, 15, 16};
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
    unsigned char hash[SHA256_DIGEST_LENGTH];
    if (!uuid(id, key)) {
        SHA256((const unsigned char *)id, strlen(id), hash);
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
    return m->places + (((halves[0] ^ halves[1]) * UINT64_C(0x9e3779b97f4a7c15)) >> 49) * WAYS;
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
    at = at ? at : &set[m->next++ % WAYS];
    memcpy(at->key, key, 16);
    at->number = number;
}

/* --- the table --- */

static void note(apr_hash_t *found, apr_pool_t *pool, const db_result *r)
{
    for (int row = 0; row < r->rows; row++) {
        int64_t *number = apr_palloc(pool, sizeof *number);
        *number = db_int(r, row, 1);
        apr_hash_set(found, db_text(r, row, 0), APR_HASH_KEY_STRING, number);
    }
}

static ida_kind look_up(cache_at *at, ida_ctx *c, const char *const *ids, int count, apr_hash_t *found)
{
    db_result r;
    ida_kind kind = count ? store_read(at->s, c, STMT_entry_numbers, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(cache_list(c->pool, ids, count))), &r)
                          : IDA_OK;
    if (!kind && count) {
        note(found, c->pool, &r);
    }
    return kind;
}

static ida_kind make(cache_at *at, ida_ctx *c, const char *const *ids, int count, apr_hash_t *found)
{
    int at_once = db_is_postgresql(at->s->db) ? count : 1;
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < count; i += at_once) {
        db_result r;
        const char *what = at_once > 1 || db_is_postgresql(at->s->db) ? cache_array(c->pool, ids, 1, count) : ids[i];
        kind = store_write(at->s, c, STMT_entry_make, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(what)), &r);
        if (!kind) {
            note(found, c->pool, &r);
        }
    }
    return kind;
}

/* Those that `found` does not hold move to the front. */
static int missing(const char **ids, int count, apr_hash_t *found)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (!apr_hash_get(found, ids[i], APR_HASH_KEY_STRING)) {
            ids[left++] = ids[i];
        }
    }
    return left;
}

/* In a first load most have none yet, later most have one. */
static ida_kind resolve(cache_at *at, ida_ctx *c, const char **ids, int count, apr_hash_t *found)
{
    ida_kind (*const steps[])(cache_at *at, ida_ctx *c, const char *const *ids, int count, apr_hash_t *found) = {at->first ? make : look_up,
                                                                                                                 at->first ? look_up : make};
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && count && i < sizeof steps / sizeof *steps; i++) {
        kind = steps[i](at, c, ids, count, found);
        count = missing(ids, count, found);
    }
    return kind || !count ? kind : ida_fail(c, IDA_INTERNAL_ERROR, "The store gave %d entries no number.", count);
}

ida_kind cache_numbers(cache_at *at, ida_ctx *c, const char *const *ids, int count, int64_t *numbers)
{
    const char **unknown = NULL;
    apr_hash_t *found = NULL;
    int unknown_count = 0;
    ida_kind kind = IDA_OK;
    for (int i = 0; i < count; i++) {
        unsigned char key[16];
        numbers[i] = 0;
        if (at->memory) {
            key_of(ids[i], key);
            numbers[i] = recall(at->memory, key);
        }
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
        kind = resolve(at, c, unknown + i, unknown_count - i < LOOK_AT_ONCE ? unknown_count - i : LOOK_AT_ONCE, found);
    }
    for (int i = 0; !kind && i < count; i++) {
        unsigned char key[16];
        if (numbers[i]) {
            continue;
        }
        numbers[i] = *(const int64_t *)apr_hash_get(found, ids[i], APR_HASH_KEY_STRING);
        if (at->memory) {
            key_of(ids[i], key);
            remember(at->memory, key, numbers[i]);
        }
    }
    return kind;
}
