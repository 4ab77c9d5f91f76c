/* Owns the mark of a key's row in its audit record, and the check that the row still matches it.
 * Must not know how the result is reported. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/store/key.h"
#include "core/store/origin.h"
#include "core/store/rows.h"
#include "core/tenant/credentials.h"

#define MARK "key "
#define MARK_BYTES 8 /* of a digest over a hash of 256 random bits: does not reveal the key */

static char *mark(apr_pool_t *pool, const char *const *texts, size_t count, int64_t concurrency,
                  int decisions)
{
    unsigned char digest[IDA_DIGEST_LEN];
    char *all = ida_printf(pool, "%lld %d", (long long)concurrency, decisions);
    for (size_t i = 0; i < count; i++) { /* none of them holds a line break */
        all = apr_pstrcat(pool, all, "\n", texts[i] ? texts[i] : "", NULL);
    }
    ida_sha256(all, strlen(all), digest);
    return apr_pstrcat(pool, MARK, ida_hex(pool, digest, MARK_BYTES), NULL);
}

char *store_key_mark(apr_pool_t *pool, const ida_principal *p, const char *key)
{
    char hash[IDA_KEY_HASH_LEN + 1];
    ida_key_hash(key, hash);
    const char *const texts[] = {p->company,
                                 p->username,
                                 hash,
                                 ida_access_level_text(p->access),
                                 ida_rate_text(pool, &p->rate),
                                 p->from,
                                 ida_areas_text(pool, p->areas)};
    return mark(pool, texts, sizeof texts / sizeof *texts, p->concurrency, p->decisions != 0);
}

static ida_kind page(store *s, ida_ctx *c, const char *tenant, const char *after, int limit,
                     const store_origin **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_key_origin,
                               DB_ARGS(DB_T(tenant), DB_T(after), DB_I(limit)), &r);
    *count = kind ? 0 : r.rows;
    store_origin *all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(*count + 1));
    for (int i = 0; i < *count; i++) {
        const row_key_origin *k = DB_ROW(key_origin, &r, i);
        const char *const texts[] = {tenant,
                                     k->id.text,
                                     k->key_hash.text,
                                     k->access_level.text,
                                     k->rate_limit.text,
                                     k->allowed_from.text,
                                     k->scopes.text};
        const char *is = mark(c->pool, texts, sizeof texts / sizeof *texts, k->concurrency.number,
                              k->decisions.number != 0),
                   *was = k->made.text;
        /* records of older versions have no mark */
        int changed = was && strncmp(was, MARK, strlen(MARK)) == 0 && strcmp(was, is) != 0;
        all[i] = (store_origin){k->id.text, k->created_at.number, (int)k->origin.number, 1,
                                changed ? "its hash or what it may was changed since it was made"
                                        : NULL};
    }
    *rows = all;
    return kind;
}

ida_kind store_origins_of_keys(store *s, ida_ctx *c, const char *tenant, store_origins *out)
{
    return store_origins_look(s, c, tenant, "API key", "no audit record made it", page, out);
}
