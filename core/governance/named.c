/* Owns whom the names of a tenant document mean. Must not know what a name is good for. */
#include "core/governance/named.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/freshness.h"
#include "core/governance/act.h"
#include "core/governance/whom.h"
#include "core/store/rows.h"
#include "core/store/tenant.h"

#define PROOF "named accounts"

/* --- the names of a document --- */

static void add(apr_array_header_t *names, const char *path, const char *place, const char *name,
                int mail)
{
    /* An ID is whom it means; so is a placeholder, of another table. */
    if (name && !strchr(name, '{') && (strchr(name, '@') || strchr(name, '='))) {
        APR_ARRAY_PUSH(names, governance_name) = (governance_name){path, place, name, mail};
    }
}

static void add_list(apr_array_header_t *names, const char *path, const char *place,
                     const json_t *list)
{
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)list, i, one) {
        add(names, ida_printf(names->pool, "%s[%zu]", path, i), place, json_string_value(one), 0);
    }
}

const apr_array_header_t *governance_names(apr_pool_t *pool, const ida_tenant *tenant)
{
    apr_array_header_t *names = apr_array_make(pool, 16, sizeof(governance_name));
    const json_t *one, *action;
    size_t i, k;
    json_array_foreach (json_object_get(tenant->document, "accessCatalog"), i, one) {
        add_list(names, ida_printf(pool, "accessCatalog[%zu].approvers", i), GOVERNANCE_PERSON,
                 json_object_get(one, "approvers"));
    }
    json_array_foreach (json_object_get(tenant->document, "workflows"), i, one) {
        json_array_foreach (json_object_get(one, "actions"), k, action) {
            const char *type = ida_json_string(action, "type"),
                       *attribute = ida_json_string(action, "attribute"),
                       *path = ida_printf(pool, "workflows[%zu].actions[%zu]", i, k);
            add(names, ida_printf(pool, "%s.to", path), GOVERNANCE_PERSON,
                ida_json_string(action, "to"), strcmp(type, "transferReports") != 0);
            if (attribute && strcmp(attribute, "manager") == 0) {
                add(names, ida_printf(pool, "%s.value", path), GOVERNANCE_PERSON,
                    ida_json_string(action, "value"), 0);
            }
        }
    }
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        const char *place = ida_directory_name((ida_directory_kind)d);
        add_list(names, ida_printf(pool, "directories.%s.protectedAccounts", place), place,
                 json_object_get(tenant->directory[d], "protectedAccounts"));
    }
    return names;
}

/* --- what is resolved --- */

static const char *key_of(apr_pool_t *pool, const char *place, const char *name)
{
    return ida_printf(pool, "%s %s", place, ida_fold_address(pool, name));
}

static const char *proven(ida_ctx *c, int64_t revision, const char *accounts)
{
    return ida_printf(c->pool, "%lld %s", (long long)revision, accounts);
}

ida_kind governance_named(store *s, ida_ctx *c, const char *tenant, const json_t **named)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_named_accounts, DB_ARGS(DB_T(tenant)), &r);
    const row_named_accounts *row = DB_ROW(named_accounts, &r, 0);
    *named = ida_json_keep(c->pool, json_object());
    if (!kind && r.rows &&
        ida_seal_statement_holds(c, PROOF, tenant,
                                 proven(c, row->revision.number, row->accounts.text),
                                 row->proof.text)) {
        const json_t *known = ida_json_load(c->pool, row->accounts.text);
        *named = known ? known : *named;
    }
    return kind;
}

const char *governance_named_id(apr_pool_t *pool, const json_t *named, const char *place,
                                const char *name)
{
    return ida_json_string(json_object_get(named, key_of(pool, place, name)), "id");
}

int governance_user_is(const ida_user *user, const char *id)
{
    return id && (strcmp(user->id, id) == 0 || (user->other_id && strcmp(user->other_id, id) == 0));
}

int governance_named_means(apr_pool_t *pool, const json_t *named, const char *name,
                           const ida_user *user, const char *address)
{
    const char *id = governance_named_id(pool, named, GOVERNANCE_PERSON, name);
    return id ? user && governance_user_is(user, id)
              : strcmp(ida_fold_address(pool, name), ida_fold_address(pool, address)) == 0;
}

/* --- judging and resolving --- */

/* *user: the account that has the name now. NULL: several accounts have it (*several 1), or no
 * account. */
static ida_kind holder_of(store *s, ida_ctx *c, const char *tenant, const char *name,
                          ida_user **user, int *several)
{
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    const char *id = name;
    *user = NULL;
    *several = 0;
    ida_kind kind = strchr(name, '=')
                        ? store_id(s, c, STMT_user_of_dn,
                                   DB_ARGS(DB_T(tenant), DB_T(ida_ascii_small(c->pool, name))), &id)
                        : IDA_OK;
    kind = kind || !id ? kind : cache_user_by_upn(s, own, tenant, id, user);
    *several = kind == IDA_CONFLICT;
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        *user = NULL;
        return IDA_OK;
    }
    return kind ? ida_fail(c, kind, "%s", own->message ? own->message : ida_kind_text(kind)) : kind;
}

static const char *shown(ida_ctx *c, const ida_user *user)
{
    return ida_printf(c->pool, "%s (ID %s)", user->upn ? user->upn : "an account", user->id);
}

typedef struct finding {
    ida_user *meant, *holder;
    const char *word, *text; /* NULL: it is well */
} finding;

static ida_kind judge(store *s, ida_ctx *c, const char *tenant, const governance_name *n,
                      const char *id, finding *f)
{
    int several, person = strcmp(n->place, GOVERNANCE_PERSON) == 0;
    *f = (finding){0};
    ida_kind kind = holder_of(s, c, tenant, n->name, &f->holder, &several);
    kind = kind || !id ? kind : cache_user_mentioned(s, c, tenant, id, &f->meant);
    if (kind) {
        return kind;
    }
    const ida_user *who = id ? f->meant : f->holder;
    const char *now = f->holder ? shown(c, f->holder) : several ? "several accounts" : "nobody";
    int away = id && !several && (!f->holder || !governance_user_is(f->holder, id));
    if (id && !who) {
        f->word = "gone";
        f->text = ida_printf(c->pool,
                             "%s means an account that is gone (ID %s), and is the name of %s now",
                             n->name, id, now);
    } else if (away) {
        f->word = "moved";
        f->text = ida_printf(c->pool, "%s means %s, and is the name of %s now", n->name,
                             shown(c, who), now);
    } else if (who && !who->enabled && person && (id || !n->mail)) {
        f->word = "left";
        f->text = ida_printf(c->pool, "%s means %s, whose account is disabled", n->name,
                             shown(c, who));
    } else if (!who && !n->mail && strchr(n->name, '@')) {
        f->word = several ? "several" : "nobody";
        f->text = ida_printf(c->pool, "%s is the name of %s", n->name, now);
    }
    return IDA_OK;
}

ida_kind governance_name_fault(store *s, ida_ctx *c, const char *tenant,
                               const governance_name *name, const char *id, const char **fault)
{
    finding f;
    ida_kind kind = judge(s, c, tenant, name, id, &f);
    *fault = kind ? NULL : f.text;
    return kind;
}

/* The account that an unresolved name is resolved to. A disabled account gets no rights: it may be
 * a shared mailbox. */
static const char *account_for(apr_pool_t *pool, const governance_name *n, const ida_user *user)
{
    int where = ida_directory_parse(n->place);
    if (!user || (where < 0 && !user->enabled)) {
        return NULL;
    }
    return where < 0 ? governance_person(pool, user).id
                     : governance_account(user, (ida_directory_kind)where);
}

/* What the names mean from now on, and which of them are at fault. */
static ida_kind resolve(store *s, ida_ctx *c, const ida_tenant *tenant, const json_t *before,
                        json_t *after, json_t *news)
{
    const apr_array_header_t *names = governance_names(c->pool, tenant);
    int synced = 0;
    ida_kind kind = names->nelts ? cache_is_synced(s, c, tenant, &synced) : IDA_OK;
    for (int i = 0; !kind && i < names->nelts; i++) {
        const governance_name *n = &APR_ARRAY_IDX(names, i, governance_name);
        const char *key = key_of(c->pool, n->place, n->name);
        const json_t *had = json_object_get(before, key);
        const char *id = ida_json_string(had, "id"), *fault = ida_json_string(had, "fault");
        finding f = {.word = fault};
        kind = synced ? judge(s, c, tenant->id, n, id, &f) : IDA_OK;
        id = id ? id : account_for(c->pool, n, f.holder);
        if (f.text && (!fault || strcmp(fault, f.word) != 0)) {
            json_array_append_new(news,
                                  json_string(ida_printf(c->pool, "%s: %s", n->path, f.text)));
        }
        if (id || f.word) {
            json_object_set_new(after, key, ida_json_texts("id", id, "fault", f.word, NULL));
        }
    }
    return kind;
}

static ida_kind put(store *s, ida_ctx *c, const char *tenant, int64_t revision,
                    const json_t *accounts)
{
    const char *text = ida_json_sorted(c->pool, accounts),
               *proof = ida_seal_statement(c, PROOF, tenant, proven(c, revision, text));
    return store_write(s, c, STMT_named_account_put,
                       DB_ARGS(DB_T(tenant), DB_I(revision), DB_T(text), DB_T(proof ? proof : "")),
                       NULL);
}

ida_kind governance_named_settle(store *s, ida_ctx *c, const ida_tenant *tenant, int64_t revision,
                                 const json_t *before, json_t *news)
{
    json_t *after = ida_json_keep(c->pool, json_object());
    ida_kind kind = resolve(s, c, tenant, before, after, news);
    return kind || (!json_object_size(before) && !json_object_size(after))
               ? kind
               : put(s, c, tenant->id, revision, after);
}

typedef struct renewal {
    const char *tenant;
    int64_t revision;
    const json_t *accounts;
} renewal;

static ida_kind renew(store *s, ida_ctx *c, void *baton)
{
    const renewal *w = baton;
    int64_t revision;
    ida_kind kind = store_tenant_lock(s, c, w->tenant);
    kind = kind ? kind : store_tenant_revision(s, c, w->tenant, &revision);
    /* The document changed meanwhile: what changed it has resolved its names. */
    return kind || revision != w->revision ? kind : put(s, c, w->tenant, revision, w->accounts);
}

ida_kind governance_named_renew(store *s, ida_ctx *c, const char *tenant, json_t *news)
{
    ida_tenant *t;
    const json_t *before;
    json_t *after = ida_json_keep(c->pool, json_object());
    renewal w = {.tenant = tenant, .accounts = after};
    ida_kind kind = store_tenant_get(s, c, tenant, &t, &w.revision);
    kind = kind ? kind : governance_named(s, c, tenant, &before);
    kind = kind ? kind : resolve(s, c, t, before, after, news);
    return kind || json_equal(before, after) ? kind : store_transaction(s, c, renew, &w);
}
