/* Owns API users in the store. Must not know how a key is made or compared. */
#include "core/store/key.h"

#include <apr_strings.h>

#include "core/store/rows.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"

static ida_kind unknown(ida_ctx *c, const char *company, const char *username)
{
    return ida_fail(c, IDA_NOT_FOUND, "There is no API user %s in the company %s.", username,
                    company);
}

ida_kind store_key_find(store *s, ida_ctx *c, const char *company, const char *username,
                        store_key *key)
{
    db_result r;
    *key = (store_key){0};
    ida_kind kind = store_read(s, c, STMT_key_find, DB_ARGS(DB_T(company), DB_T(username)), &r);
    if (kind) {
        return kind;
    }
    const row_key *row = DB_ROW(key, &r, 0);
    key->company_known = r.rows;
    if (!row->key_hash.text) {
        return IDA_OK;
    }
    const char *rate = row->rate_limit.text;
    int access = ida_access_level_parse(row->access_level.text);
    ida_principal *p = &key->principal;
    if (access < 0 || (rate && ida_rate_parse(rate, &p->rate)) ||
        (row->scopes.text && ida_areas_parse(c->pool, row->scopes.text, &p->areas))) {
        /* A key whose limits cannot be parsed admits no caller. */
        ida_log(c->env, IDA_LOG_ERROR, "IDA0130",
                "store: the row of API user %s:%s is damaged (access level, scopes or rate limit)",
                company, username);
        return ida_fail(c, IDA_INTERNAL_ERROR, "The stored API user %s is damaged.", username);
    }
    p->company = apr_pstrdup(c->pool, company);
    p->username = apr_pstrdup(c->pool, username);
    p->access = (ida_access_level)access;
    p->label = row->label.text;
    p->expires_at = row->expires_at.number;
    key->disabled = row->disabled.number != 0;
    key->tenant_revision = row->tenant_revision.number;
    p->from = row->allowed_from.text;
    p->concurrency = (unsigned)row->concurrency.number;
    p->decisions = row->decisions.number != 0;
    key->key_hash = row->key_hash.text;
    return IDA_OK;
}

typedef struct create_work {
    const ida_principal *principal;
    const char *key_hash, *created_by;
} create_work;

static ida_kind create(store *s, ida_ctx *c, void *baton)
{
    const create_work *w = baton;
    const ida_principal *p = w->principal;
    db_result r;
    ida_kind kind = store_tenant_lock(s, c, p->company);
    if (kind) {
        return kind;
    }
    kind = store_write(
        s, c, STMT_key_create,
        DB_ARGS(DB_T(p->company), DB_T(p->username), DB_T(w->key_hash),
                DB_T(ida_access_level_text(p->access)), DB_T(p->label ? p->label : ""),
                DB_T(ida_rate_text(c->pool, &p->rate)), DB_I(p->expires_at), DB_I(ida_now(c->env)),
                DB_T(p->from), DB_T(w->created_by), DB_T(ida_areas_text(c->pool, p->areas)),
                DB_I(p->concurrency), DB_I(p->decisions != 0)),
        &r);
    if (!kind && !r.changes) {
        kind = ida_fail(c, IDA_CONFLICT,
                        "The company %s has an API user %s already; take another name, or rotate "
                        "its key.",
                        p->company, p->username);
    }
    return kind ? kind : store_key_mark(s, c, p->company, p->username, 1);
}

ida_kind store_key_create(store *s, ida_ctx *c, const ida_principal *principal,
                          const char *key_hash, const char *created_by)
{
    create_work work = {principal, key_hash, created_by};
    return store_transaction(s, c, create, &work);
}

ida_kind store_key_issue(store *s, ida_ctx *c, const ida_principal *principal,
                         const char *created_by, char **key)
{
    char hash[IDA_KEY_HASH_LEN + 1];
    *key = ida_key_make(c->pool, c->env);
    ida_key_hash(*key, hash);
    return store_key_create(s, c, principal, hash, created_by);
}

ida_kind store_key_set_disabled(store *s, ida_ctx *c, const char *company, const char *username,
                                int disabled)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_key_set_disabled,
                                DB_ARGS(DB_T(company), DB_T(username), DB_I(disabled != 0)), &r);
    kind = kind || r.changes ? kind : unknown(c, company, username);
    return kind ? kind : store_key_mark(s, c, company, username, 0);
}

ida_kind store_key_end(store *s, ida_ctx *c, const char *company, const char *username, int64_t at)
{
    ida_kind kind = store_write(s, c, STMT_key_end,
                                DB_ARGS(DB_T(company), DB_T(username), DB_I(at)), NULL);
    return kind ? kind : store_key_mark(s, c, company, username, 0);
}

ida_kind store_key_delete(store *s, ida_ctx *c, const char *company, const char *username)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_key_delete, DB_ARGS(DB_T(company), DB_T(username)), &r);
    kind = kind || r.changes ? kind : unknown(c, company, username);
    return kind ? kind : store_key_mark(s, c, company, username, 0);
}

STORE_FILL(listed, store_key_row, key_listed, .username = row->username.text,
           .access = row->access_level.text, .label = row->label.text,
           .created_by = row->created_by.text, .rate = row->rate_limit.text,
           .from = row->allowed_from.text, .scopes = row->scopes.text,
           .concurrency = row->concurrency.number, .decisions = row->decisions.number != 0,
           .expires_at = row->expires_at.number, .created_at = row->created_at.number,
           .last_used_at = row->last_used_at.number, .disabled = row->disabled.number != 0)

ida_kind store_key_list(store *s, ida_ctx *c, const char *company, const char *after, int limit,
                        const store_key_row **rows, int *count)
{
    return store_rows(s, c, STMT_key_list, DB_ARGS(DB_T(company), DB_T(after), DB_I(limit)), listed,
                      sizeof **rows, rows, count);
}

ida_kind store_key_count(store *s, ida_ctx *c, const char *company, int64_t *total)
{
    return store_number(s, c, STMT_key_count, DB_ARGS(DB_T(company)), total);
}

STORE_FILL(ending_of, store_key_ending, key_ending, row->username.text, row->expires_at.number)

ida_kind store_keys_ending(store *s, ida_ctx *c, const char *company, int64_t from, int64_t to,
                           const store_key_ending **rows, int *count)
{
    return store_rows(s, c, STMT_key_ending, DB_ARGS(DB_T(company), DB_I(from), DB_I(to)),
                      ending_of, sizeof **rows, rows, count);
}
