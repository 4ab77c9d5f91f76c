/* Owns reading people of the cache: rows into ida_user, the two directories' rows of one
 * person into one. Must not write. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/cache/rows.h"
#include "core/store/rows.h"

static ida_user *user_of(apr_pool_t *pool, const db_result *r, int row)
{
    const row_user *from = DB_ROW(user, r, row);
    int directory = ida_directory_parse(from->directory.text);
    ida_user *u = apr_palloc(pool, sizeof *u);
#define TEXT(column, ...) .column = from->column.text,
    *u = (ida_user){.directory = directory < 0 ? IDA_DIR_CLOUD : (ida_directory_kind)directory,
                    .id = from->id.text,
                    .manager_id = from->manager_id.text,
                    .manager_known = from->manager_known.number != 0,
                    .manager_upn = from->manager_upn.text,
                    .manager_name = from->manager_name.text,
                    .licenses = {from->licenses.text},
                    .dn = from->dn.text,
                    .anchor = from->anchor.text,
                    .enabled = from->enabled.number != 0,
                    .expired = from->expired.number != 0,
                    .guest = from->guest.number != 0,
                    .created_at = from->created_at.number,
                    .last_sign_in_at = from->last_sign_in_at.number,
                    .last_noninteractive_at = from->last_noninteractive_at.number,
                    .last_success_at = from->last_success_at.number,
                    .written_at = from->written_at.number,
                    IDA_PERSON(TEXT)};
#undef TEXT
    u->in[u->directory] = 1;
    return u;
}

/* Finds the other directory's row of the same person: by equal UPN among the rows, otherwise by
 * anchor. */
static void join(ida_user *u, const db_result *r, int row)
{
    const row_user *own = DB_ROW(user, r, row);
    for (int i = 0; i < r->rows && !u->other_id; i++) {
        const row_user *other = DB_ROW(user, r, i);
        if (strcmp(other->directory.text, own->directory.text) != 0) {
            u->other_id = other->id.text;
            u->licenses[1] = other->licenses.text;
        }
    }
    if (!u->other_id) {
        u->other_id = own->twin_id.text;
        u->licenses[1] = own->twin_licenses.text;
    }
    if (u->other_id) {
        u->in[IDA_DIR_CLOUD] = u->in[IDA_DIR_ON_PREMISES] = 1;
    }
}

/* Accounts of one directory that carry the same address. */
typedef struct sharers {
    const char *ids[8];
    int count;
} sharers;

static void add_sharer(sharers *all, const char *id)
{
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->ids[i], id) == 0) {
            return;
        }
    }
    if (all->count < (int)(sizeof all->ids / sizeof *all->ids)) {
        all->ids[all->count++] = id;
    }
}

static ida_kind ambiguous(ida_ctx *c, const char *key, const sharers *all)
{
    const char *named = all->ids[0];
    for (int i = 1; i < all->count; i++) {
        named = apr_pstrcat(c->pool, named, i == all->count - 1 ? " and " : ", ", all->ids[i],
                            NULL);
    }
    return ida_fail(c, IDA_CONFLICT,
                    "The address %s is that of several accounts, with the object IDs %s: name the "
                    "one that is meant by its object ID.",
                    ida_clean(c->pool, key, strlen(key), 200), named);
}

/* Whether the record of further UPNs holds the key. */
static int is_alias(apr_pool_t *pool, const char *record, const char *key)
{
    int count = cache_item_count(record), found = 0;
    const char **aliases = apr_palloc(pool, (apr_size_t)(count + 1) * sizeof *aliases);
    cache_item_read(pool, record, aliases, count);
    for (int i = 0; i < count; i++) {
        found |= aliases[i] && strcmp(aliases[i], key) == 0;
    }
    return found;
}

static int by_owner(const void *a, const void *b)
{
    return strcmp((*(const row_alias_owner *const *)a)->id.text,
                  (*(const row_alias_owner *const *)b)->id.text);
}

/* Accounts that have the address as a further UPN, by ID. Sorted here, because the statement gives
 * them in the order of its index: a sorter costs more than the lookup. */
static ida_kind owners_of(store *s, ida_ctx *c, const char *tenant, const char *key,
                          const row_alias_owner ***out, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_alias_owners, DB_ARGS(DB_T(tenant), DB_T(key)), &r);
    *count = 0;
    if (kind) {
        return kind;
    }
    *out = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof **out);
    for (int i = 0; i < r.rows; i++) {
        const row_alias_owner *one = DB_ROW(alias_owner, &r, i);
        if (is_alias(c->pool, one->aliases.text, key)) {
            (*out)[(*count)++] = one;
        }
    }
    qsort(*out, (size_t)*count, sizeof **out, by_owner);
    return IDA_OK;
}

/* Checks that one person alone has the address. `r` holds the rows whose UPN it is, `user` their
 * person. IDA_CONFLICT lists all accounts if there are several. If no UPN matches, *alias is the ID
 * of the only account that has the address as a further value. */
static ida_kind one_alone(store *s, ida_ctx *c, const char *tenant, const char *key,
                          const db_result *r, const ida_user *user, const char **alias)
{
    const row_alias_owner **owners;
    sharers all = {.count = 0};
    int count;
    *alias = NULL;
    for (int i = 0; i < r->rows; i++) {
        const row_user *one = DB_ROW(user, r, i);
        for (int k = 0; k < r->rows; k++) {
            const row_user *other = DB_ROW(user, r, k);
            if (k != i && strcmp(one->directory.text, other->directory.text) == 0) {
                add_sharer(&all, one->id.text);
            }
        }
    }
    ida_kind kind = owners_of(s, c, tenant, key, &owners, &count);
    for (int i = 0; i < count; i++) {
        const char *id = owners[i]->id.text;
        int same = user && (strcmp(id, user->id) == 0 ||
                            (user->other_id && strcmp(id, user->other_id) == 0));
        if (!same && user) {
            add_sharer(&all, user->id);
        }
        if (!same) {
            add_sharer(&all, id);
        }
    }
    if (!kind && !user && all.count == 1) {
        *alias = all.ids[0];
        return IDA_OK;
    }
    return kind ? kind : all.count ? ambiguous(c, key, &all) : IDA_OK;
}

ida_kind cache_carriers(store *s, ida_ctx *c, const char *tenant, const char *address,
                        const cache_carrier **rows, int *count)
{
    db_result r;
    const row_alias_owner **owners;
    int owner_count;
    const char *key = ida_fold_address(c->pool, address);
    ida_kind kind = store_read(s, c, STMT_user_by_upn, DB_ARGS(DB_T(tenant), DB_T(key)), &r);
    kind = kind ? kind : owners_of(s, c, tenant, key, &owners, &owner_count);
    *count = 0;
    if (kind) {
        return kind;
    }
    cache_carrier *all = apr_palloc(c->pool, (apr_size_t)(r.rows + owner_count + 1) * sizeof *all);
    for (int i = 0; i < r.rows; i++) {
        const row_user *one = DB_ROW(user, &r, i);
        all[(*count)++] = (cache_carrier){one->id.text, one->dn.text};
    }
    for (int i = 0; i < owner_count; i++) {
        all[(*count)++] = (cache_carrier){owners[i]->id.text, owners[i]->dn.text};
    }
    *rows = all;
    return IDA_OK;
}

static ida_kind by_id(store *s, ida_ctx *c, const char *tenant, const char *id, ida_user **user);

static ida_kind by_upn_key(store *s, ida_ctx *c, const char *tenant, const char *key,
                           ida_user **user)
{
    db_result r, cloud;
    const char *alias;
    ida_kind kind = store_read(s, c, STMT_user_by_upn, DB_ARGS(DB_T(tenant), DB_T(key)), &r);
    *user = NULL;
    if (!kind && r.rows) {
        *user = user_of(c->pool, &r, 0); /* the cloud's row comes first */
        join(*user, &r, 0);
    }
    kind = kind ? kind : one_alone(s, c, tenant, key, &r, *user, &alias);
    *user = kind ? NULL : *user;
    if (kind || (!*user && !alias)) {
        return kind;
    }
    if (!*user) {
        return by_id(s, c, tenant, alias, user);
    }
    if ((*user)->directory == IDA_DIR_CLOUD || !(*user)->other_id) {
        return IDA_OK;
    }
    /* The person is known in the cloud under another UPN. */
    const ida_user *own = *user;
    kind = store_read(s, c, STMT_user_by_id, DB_ARGS(DB_T(tenant), DB_T((*user)->other_id)),
                      &cloud);
    if (!kind && cloud.rows) {
        *user = user_of(c->pool, &cloud, 0);
        (*user)->other_id = own->id;
        (*user)->licenses[1] = own->licenses[0];
        (*user)->in[IDA_DIR_ON_PREMISES] = 1;
    }
    return kind;
}

static ida_kind no_user(ida_ctx *c, const char *wanted)
{
    return ida_fail(c, IDA_NOT_FOUND, "There is no user %s.",
                    ida_clean(c->pool, wanted, strlen(wanted), 200));
}

/* The person of the row with this ID, joined with the row of the other directory; NULL if there
 * is none. */
static ida_kind by_id(store *s, ida_ctx *c, const char *tenant, const char *id, ida_user **user)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_user_by_id, DB_ARGS(DB_T(tenant), DB_T(id)), &r);
    *user = NULL;
    if (kind || !r.rows) {
        return kind;
    }
    const char *key = DB_ROW(user, &r, 0)->upn_key.text;
    int own = ida_directory_parse(DB_ROW(user, &r, 0)->directory.text);
    *user = user_of(c->pool, &r, 0);
    join(*user, &r, 0);
    if (!key || (own == IDA_DIR_CLOUD && (*user)->other_id)) {
        return IDA_OK;
    }
    /* The person of both directories, joined by UPN unless that UPN belongs to several. */
    ida_user *person;
    ida_ctx *quiet = ida_ctx_make(c->env, c->pool);
    kind = by_upn_key(s, quiet, tenant, key, &person);
    if (kind && kind != IDA_CONFLICT) {
        return ida_fail(c, kind, "%s", quiet->message ? quiet->message : ida_kind_text(kind));
    }
    if (!kind && person &&
        (strcasecmp(person->id, id) == 0 ||
         (person->other_id && strcasecmp(person->other_id, id) == 0))) {
        *user = person;
    }
    return IDA_OK;
}

ida_kind cache_user_by_upn(store *s, ida_ctx *c, const char *tenant, const char *wanted,
                           ida_user **user)
{
    *user = NULL;
    /* An ID of a directory never contains "@". */
    ida_kind kind = strchr(wanted, '@') ? IDA_OK : by_id(s, c, tenant, wanted, user);
    if (!kind && !*user) {
        kind = by_upn_key(s, c, tenant, ida_fold_address(c->pool, wanted), user);
    }
    return kind || *user ? kind : no_user(c, wanted);
}

ida_kind cache_user_brief(store *s, ida_ctx *c, const char *tenant, const char *upn,
                          ida_user **user)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_user_brief,
                               DB_ARGS(DB_T(tenant), DB_T(ida_fold_address(c->pool, upn))), &r);
    if (kind) {
        return kind;
    }
    const row_user_brief *row = DB_ROW(user_brief, &r, 0);
    int directory = r.rows ? ida_directory_parse(row->directory.text) : IDA_DIR_CLOUD;
    /* No row, several rows, or a person known in the cloud under another UPN: use the complete
     * lookup. */
    if (r.rows != 1 || row->alias.number ||
        (directory == IDA_DIR_ON_PREMISES && row->shadow.number)) {
        return cache_user_by_upn(s, c, tenant, upn, user);
    }
    ida_user *u = *user = apr_pcalloc(c->pool, sizeof *u);
    u->directory = (ida_directory_kind)directory;
    u->id = row->id.text;
#define TEXT(column, ...) u->column = row->column.text;
    IDA_PERSON_BRIEF(TEXT)
#undef TEXT
    return IDA_OK;
}

/* A sorted array, kept in the pool; empty for NULL. */
static json_t *names(apr_pool_t *pool, const char *text)
{
    json_t *list = text ? ida_json_load(pool, text) : NULL;
    return list ? list : ida_json_keep(pool, json_array());
}

/* Two sorted arrays as one, each name once. */
static json_t *united(apr_pool_t *pool, const char *one, const char *other)
{
    const json_t *a = names(pool, one), *b = names(pool, other);
    json_t *all = ida_json_keep(pool, json_array());
    for (size_t i = 0, k = 0; i < json_array_size(a) || k < json_array_size(b);) {
        json_t *left = json_array_get(a, i), *right = json_array_get(b, k);
        int order = !left    ? 1
                    : !right ? -1
                             : strcmp(json_string_value(left), json_string_value(right));
        json_array_append(all, order <= 0 ? left : right);
        i += order <= 0;
        k += order >= 0;
    }
    return all;
}

ida_kind cache_user_details(store *s, ida_ctx *c, const char *tenant, const char *wanted,
                            ida_user **out, json_t **licenses)
{
    ida_kind kind = cache_user_by_upn(s, c, tenant, wanted, out);
    if (kind) {
        return kind;
    }
    if (!(*out)->manager_known) {
        (*out)->manager_id = NULL;
    }
    if (licenses) {
        *licenses = united(c->pool, (*out)->licenses[0], (*out)->licenses[1]);
    }
    return IDA_OK;
}

ida_kind cache_user_mentioned(store *s, ida_ctx *c, const char *tenant, const char *named,
                              ida_user **user)
{
    ida_kind kind = cache_user_details(s, c, tenant, named, user, NULL);
    if (kind != IDA_NOT_FOUND && kind != IDA_CONFLICT) {
        return kind;
    }
    ida_ctx_clear(c);
    *user = NULL;
    return IDA_OK;
}

ida_kind cache_users_of_employee(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                                 ida_user ***users, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_people_of_employee,
                               DB_ARGS(DB_T(tenant), DB_T(ida_fold_value(c->pool, employee_id))),
                               &r);
    *count = 0;
    *users = apr_pcalloc(c->pool, sizeof **users * (apr_size_t)(kind ? 1 : r.rows + 1));
    for (int i = 0; !kind && i < r.rows; i++) {
        ida_user **next = &(*users)[*count];
        kind = cache_user_by_upn(s, c, tenant, DB_ROW(id, &r, i)->id.text, next);
        if (kind == IDA_NOT_FOUND) {
            ida_ctx_clear(c); /* deleted between the two reads by a synchronisation */
            kind = IDA_OK;
            continue;
        }
        /* A person with two UPNs in two directories is listed under one. */
        int known = 0;
        for (int k = 0; !kind && k < *count; k++) {
            known |= strcmp((*users)[k]->id, (*next)->id) == 0;
        }
        *count += !kind && !known;
    }
    return kind;
}
