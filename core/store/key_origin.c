/* Owns the mark of a key's row in its audit record, and the check that the row still matches it.
 * Must not know how the result is reported. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/store/key.h"
#include "core/store/origin.h"
#include "core/store/rows.h"

#define MARK "row "
#define CHANGED "its hash, what it may, its end or its disabling was changed by hand"
#define MARK_BYTES 8 /* of a digest over a hash of 256 random bits: does not reveal the key */

/* The settings that decide which callers the key admits, and until when. */
typedef struct marked {
    const char *company, *username, *hash, *access, *rate, *from, *scopes;
    int64_t concurrency, decisions, expires_at, disabled;
} marked;

static char *mark(apr_pool_t *pool, const marked *k)
{
    unsigned char digest[IDA_DIGEST_LEN];
    const char *const texts[] = {k->company, k->username, k->hash,  k->access,
                                 k->rate,    k->from,     k->scopes};
    char *all = ida_printf(pool, "%lld %d %lld %d", (long long)k->concurrency, k->decisions != 0,
                           (long long)k->expires_at, k->disabled != 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) { /* none holds a line break */
        all = apr_pstrcat(pool, all, "\n", texts[i] ? texts[i] : "", NULL);
    }
    ida_sha256(all, strlen(all), digest);
    return apr_pstrcat(pool, MARK, ida_hex(pool, digest, MARK_BYTES), NULL);
}

ida_kind store_key_mark(store *s, ida_ctx *c, const char *company, const char *username,
                        const char **out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_key_find, DB_ARGS(DB_T(company), DB_T(username)), &r);
    if (!kind) {
        const row_key *k = DB_ROW(key, &r, 0);
        const marked is = {company,
                           username,
                           k->key_hash.text,
                           k->access_level.text,
                           k->rate_limit.text,
                           k->allowed_from.text,
                           k->scopes.text,
                           k->concurrency.number,
                           k->decisions.number,
                           k->expires_at.number,
                           k->disabled.number};
        *out = is.hash ? mark(c->pool, &is) : NULL; /* it was deleted */
    }
    return kind;
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
        const char *is = mark(c->pool,
                              &(marked){tenant, k->id.text, k->key_hash.text, k->access_level.text,
                                        k->rate_limit.text, k->allowed_from.text, k->scopes.text,
                                        k->concurrency.number, k->decisions.number,
                                        k->expires_at.number, k->disabled.number}),
                   *was = k->made.text; /* of two keys, where one replaced the other */
        /* records of older versions have no mark */
        int changed = was && strncmp(was, MARK, strlen(MARK)) == 0 && !strstr(was, is);
        all[i] = (store_origin){k->id.text, k->created_at.number, (int)k->origin.number, 1,
                                changed ? CHANGED : NULL};
    }
    *rows = all;
    return kind;
}

ida_kind store_origins_of_keys(store *s, ida_ctx *c, const char *tenant, store_origins *out)
{
    return store_origins_look(s, c, tenant, "API key", "no audit record made it", page, out);
}
