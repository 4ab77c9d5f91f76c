/* Owns the marks of API keys (core/audit/marks.h). Must not know who compares them. */
#include <apr_strings.h>
#include <string.h>

#include "core/store/audit.h"
#include "core/store/key.h"
#include "core/store/rows.h"

/* Of all that decides which callers the key admits, and until when. No text holds a line break. */
static uint64_t digest(ida_ctx *c, const char *company, const row_key_mark *k)
{
    const char *const texts[] = {company,
                                 k->id.text,
                                 k->key_hash.text,
                                 k->access_level.text,
                                 k->rate_limit.text,
                                 k->allowed_from.text,
                                 k->scopes.text};
    char *all = ida_printf(c->pool, "%lld %d %lld %d", (long long)k->concurrency.number,
                           k->decisions.number != 0, (long long)k->expires_at.number,
                           k->disabled.number != 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        all = apr_pstrcat(c->pool, all, "\n", texts[i] ? texts[i] : "", NULL);
    }
    return audit_mark_digest(all);
}

ida_kind store_key_mark_read(store *s, ida_ctx *c, const char *company, const char *from, int after,
                             audit_mark *out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_key_marks,
                               DB_ARGS(DB_T(company), DB_T(from), DB_I(after)), &r);
    *out = (audit_mark){.has = 1u << AUDIT_MARK_PAYLOAD};
    if (!kind && r.rows) {
        const row_key_mark *k = DB_ROW(key_mark, &r, 0);
        out->name = apr_pstrcat(c->pool, AUDIT_MARK_KEY, k->id.text, NULL);
        out->parts[AUDIT_MARK_PAYLOAD] = digest(c, company, k);
    }
    return kind;
}

typedef struct marking {
    const char *company, *username;
    int made;
} marking;

static ida_kind put(store *s, ida_ctx *c, void *baton)
{
    const marking *m = baton;
    const char *name = apr_pstrcat(c->pool, AUDIT_MARK_KEY, m->username, NULL);
    audit_mark row;
    ida_kind kind = store_key_mark_read(s, c, m->company, m->username, 0, &row);
    if (!row.name || strcmp(row.name, name) != 0) { /* deleted: no row has this digest */
        row.parts[AUDIT_MARK_PAYLOAD] = audit_mark_digest("");
    }
    row.name = name;
    row.made = m->made;
    return kind ? kind : store_mark(s, c, m->company, &row);
}

ida_kind store_key_mark(store *s, ida_ctx *c, const char *company, const char *username, int made)
{
    marking m = {company, username, made};
    return store_transaction(s, c, put, &m);
}
