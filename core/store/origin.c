/* Owns the check that rows have an audit record, and the rule for rows that are older than this
 * check. Must not know what the rows are. */
#include "core/store/origin.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "core/audit/anchor.h"
#include "core/store/rows.h"
#include "core/store/tenant.h"

#define PAGE 500
#define SOON_MS (INT64_C(60) * 86400000) /* retention removes no more between two checks */

store_origins store_origins_make(apr_pool_t *pool, int64_t since, const char *known)
{
    store_origins out = {.since = since,
                         .strays = apr_array_make(pool, 4, sizeof(store_stray)),
                         .known = known ? apr_hash_make(pool) : NULL,
                         .seen = apr_array_make(pool, 16, sizeof(char *))};
    char *rest = known ? apr_pstrdup(pool, known) : NULL, *word;
    while (rest && (word = strtok_r(rest, " ", &rest))) {
        apr_hash_set(out.known, word, APR_HASH_KEY_STRING, word);
    }
    return out;
}

char *store_origins_known(apr_pool_t *pool, const store_origins *found, const char *known, int rows)
{
    char *rest = apr_pstrdup(pool, known ? known : ""), *word;
    char *out = apr_pstrcat(pool, "-", found->seen->nelts ? " " : "",
                            apr_array_pstrcat(pool, found->seen, ' '), NULL);
    while ((word = strtok_r(rest, " ", &rest))) {
        if (strcmp(word, "-") != 0 && (!rows || *word == *STORE_STRAY_RUN)) {
            out = apr_pstrcat(pool, out, " ", word, NULL);
        }
    }
    return out;
}

void store_origins_add(ida_ctx *c, store_origins *out, const char *what, const char *name,
                       const char *how, int64_t at)
{
    if (out->strays->nelts == STORE_ORIGINS_MAX) {
        out->more = 1;
        return;
    }
    *(store_stray *)apr_array_push(out->strays) = (store_stray){what, apr_pstrdup(c->pool, name),
                                                                apr_pstrdup(c->pool, how), at};
}

/* "API key" and "task" differ in their first letter, names contain no spaces. */
int store_origins_knew(const store_origins *found, const char *what, const char *name)
{
    char word[2 + 256];
    snprintf(word, sizeof word, "%c:%s", *what, name);
    return !found->known || apr_hash_get(found->known, word, APR_HASH_KEY_STRING) != NULL;
}

/* One pass over all rows of a kind. */
typedef struct origin_look {
    store *s;
    const char *tenant, *what, *how;
    store_origin_page read;
    const char *after; /* name of the row before the one that is being checked */
    store_origins *out;
} origin_look;

/* The record may be in the outbox, or may have left it since the row was read. It is chained before
 * it leaves the outbox, so look there first and then in the chain: a row found in neither has none.
 */
static ida_kind look_again(const origin_look *look, ida_ctx *page, store_origin *row)
{
    db_result waits;
    const store_origin *again;
    int count;
    ida_kind kind = store_read(look->s, page, STMT_origin_waits,
                               DB_ARGS(DB_T(look->tenant), DB_T(row->name)), &waits);
    if (!kind && !waits.rows) {
        kind = look->read(look->s, page, look->tenant, look->after, 1, &again, &count);
        if (!kind && count && strcmp(again->name, row->name) == 0) {
            row->origin = again->origin;
            row->changed = again->changed;
            return IDA_OK;
        }
    }
    row->origin = !kind; /* waiting, or ingested by now */
    row->changed = NULL;
    return kind;
}

static ida_kind judge(const origin_look *look, ida_ctx *c, ida_ctx *page, store_origin row)
{
    store_origins *out = look->out;
    ida_kind kind = !row.changed && (row.origin || row.at < out->since)
                        ? IDA_OK
                        : look_again(look, page, &row);
    if (kind) {
        return kind;
    }
    int is_new = row.lasting && !store_origins_knew(out, look->what, row.name);
    out->erased += row.origin == 2;
    if (row.changed) {
        store_origins_add(c, out, look->what, row.name, row.changed, row.at);
    } else if (!row.origin && row.at < out->since && !is_new) {
        out->before++;
    } else if (!row.origin) {
        store_origins_add(c, out, look->what, row.name, look->how, row.at);
        return IDA_OK;
    }
    if (row.lasting && row.at < out->since + SOON_MS) {
        APR_ARRAY_PUSH(out->seen, const char *) = ida_printf(c->pool, "%c:%s", *look->what,
                                                             row.name);
    }
    return IDA_OK;
}

ida_kind store_origins_look(store *s, ida_ctx *c, const char *tenant, const char *what,
                            const char *how, store_origin_page page, store_origins *out)
{
    origin_look look = {s, tenant, what, how, page, "", out};
    int count = PAGE;
    ida_kind kind = IDA_OK;
    while (!kind && count == PAGE && !out->more) {
        apr_pool_t *pool;
        apr_pool_create(&pool, c->pool);
        ida_ctx *own = ida_ctx_make(c->env, pool);
        const store_origin *rows;
        kind = page(s, own, tenant, look.after, PAGE, &rows, &count);
        for (int i = 0; !kind && i < count; i++) {
            kind = judge(&look, c, own, rows[i]);
            look.after = rows[i].name;
        }
        look.after = apr_pstrdup(c->pool, look.after);
        if (kind) {
            ida_fail(c, kind, "%s", own->message ? own->message : ida_kind_text(kind));
        }
        apr_pool_destroy(pool);
    }
    return kind;
}

ida_kind store_origins_of_alarms(store *s, ida_ctx *c, const char *tenant, int64_t after,
                                 store_origins *out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_alarm,
                               DB_ARGS(DB_T(tenant), DB_I(out->since), DB_I(after)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_audit_alarm *row = DB_ROW(audit_alarm, &r, i);
        store_origins_add(c, out, "audit record", row->target.text ? row->target.text : "",
                          ida_printf(c->pool,
                                     "it was put into the outbox by hand, and is kept as an alarm, "
                                     "record %lld",
                                     (long long)row->seq.number),
                          row->at.number);
    }
    return kind;
}

ida_kind store_origins_of_companies(store *s, ida_ctx *c, store_origins *out)
{
    const char *const *names;
    const store_tenant_id *ids;
    int named, count, k = 0;
    ida_kind kind = audit_anchor_companies(c, s->audit_key, &names, &named);
    kind = kind ? kind : store_tenant_ids(s, c, &ids, &count);
    for (int i = 0; !kind && i < named; i++) {
        for (k = 0; k < count && strcmp(ids[k].id, names[i]) != 0; k++) {}
        if (k == count) {
            store_origins_add(c, out, "company", names[i],
                              "its chain was verified on this machine, and its row was deleted", 0);
        }
    }
    return kind;
}
