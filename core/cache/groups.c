/* Owns reading groups of the cache: one by its ID or name, those of a user, lists in pages. Must
 * not write or know what a group is asked for. */
#include "core/cache/groups.h"

#include <apr_hash.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/rows.h"

static void group_of(const db_result *r, int row, void *out)
{
    const row_group *from = DB_ROW(group, r, row);
    int directory = ida_directory_parse(from->directory.text);
    *(ida_group *)out = (ida_group){.directory = directory < 0 ? IDA_DIR_CLOUD
                                                               : (ida_directory_kind)directory,
                                    .id = from->id.text,
                                    .name = from->name.text,
                                    .kind = from->kind.text,
                                    .dn = from->dn.text,
                                    .rule = from->rule.text,
                                    .description = from->description.text,
                                    .synced = from->synced.number != 0,
                                    .member_count = from->member_count.number};
}

ida_kind cache_user_groups(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           const char *user_id, const ida_group **groups, int *count)
{
    return store_rows(s, c, STMT_user_groups,
                      DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_T(user_id)),
                      group_of, sizeof **groups, groups, count);
}

ida_kind cache_group_others(store *s, ida_ctx *c, const char *tenant, const ida_group *group,
                            int *others)
{
    int64_t number = 0;
    ida_kind kind = store_number(s, c, STMT_group_others,
                                 DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(group->directory)),
                                         DB_T(group->id)),
                                 &number);
    *others = number > 0;
    return kind;
}

/* Picks the only group among rows (from..to) of one folded name; a copy synchronised from the
 * other directory yields to its original. -1: not unique. Upper and lower case decide nothing: a
 * caller who writes "Admins" may mean "admins". */
static int pick(const db_result *r, int from, int to)
{
    for (int originals = 0; originals <= 1; originals++) {
        int found = -1, count = 0;
        for (int row = from; row < to; row++) {
            if (!originals || !DB_ROW(group, r, row)->synced.number) {
                found = row;
                count++;
            }
        }
        if (count == 1) {
            return found;
        }
    }
    return -1;
}

enum { GROUPS_AT_ONCE = 400 }; /* a hundred rows of each name are below the statement's limit */

typedef struct span {
    int from, to;
} span;

/* Requested groups: by ID, and ranges of rows by folded name. */
typedef struct named_groups {
    db_result r;
    apr_hash_t *ids, *names; /* -> span */
} named_groups;

static ida_kind read_named(store *s, ida_ctx *c, const char *tenant, const char *const *named,
                           int count, named_groups *out)
{
    json_t *ids = ida_json_keep(c->pool, json_array()),
           *names = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(ids, json_string(named[i]));
        json_array_append_new(ids, json_string(ida_ascii_small(c->pool, named[i])));
        json_array_append_new(names, json_string(ida_fold_search(c->pool, named[i])));
    }
    ida_kind kind = store_read(s, c, STMT_groups_named,
                               DB_ARGS(DB_T(tenant), DB_T(ida_json_text(c->pool, ids)),
                                       DB_T(ida_json_text(c->pool, names))),
                               &out->r);
    out->ids = apr_hash_make(c->pool);
    out->names = apr_hash_make(c->pool);
    for (int row = 0; !kind && row < out->r.rows; row++) {
        const row_group *group = DB_ROW(group, &out->r, row);
        apr_hash_t *of = group->by_name.number ? out->names : out->ids;
        const char *key = group->by_name.number ? group->key.text : group->id.text;
        span *known = apr_hash_get(of, key, APR_HASH_KEY_STRING);
        if (!known) {
            known = apr_palloc(c->pool, sizeof *known);
            known->from = row;
            apr_hash_set(of, key, APR_HASH_KEY_STRING, known);
        }
        known->to = row + 1;
    }
    return kind;
}

/* The row of a group, or why there is no single one: IDA_NOT_FOUND, IDA_CONFLICT. */
static ida_kind named_row(const named_groups *groups, ida_ctx *c, const char *named, int *row)
{
    const span *of = apr_hash_get(groups->ids, named, APR_HASH_KEY_STRING);
    of = of ? of : apr_hash_get(groups->ids, ida_ascii_small(c->pool, named), APR_HASH_KEY_STRING);
    if (of) {
        *row = of->from;
        return IDA_OK;
    }
    of = apr_hash_get(groups->names, ida_fold_search(c->pool, named), APR_HASH_KEY_STRING);
    *row = of ? pick(&groups->r, of->from, of->to) : 0;
    return !of ? IDA_NOT_FOUND : *row < 0 ? IDA_CONFLICT : IDA_OK;
}

ida_kind cache_groups_find(store *s, ida_ctx *c, const char *tenant, const char *const *named,
                           int count, ida_group **found)
{
    ida_kind kind = IDA_OK;
    for (int from = 0; !kind && from < count; from += GROUPS_AT_ONCE) {
        named_groups groups;
        int to = from + GROUPS_AT_ONCE < count ? from + GROUPS_AT_ONCE : count, row;
        kind = read_named(s, c, tenant, named + from, to - from, &groups);
        for (int i = from; !kind && i < to; i++) {
            found[i] = NULL;
            if (!named_row(&groups, c, named[i], &row)) {
                found[i] = apr_palloc(c->pool, sizeof **found);
                group_of(&groups.r, row, found[i]);
            }
        }
    }
    return kind;
}

ida_kind cache_group_find(store *s, ida_ctx *c, const char *tenant, const char *group,
                          ida_group **out)
{
    named_groups groups;
    int row;
    *out = NULL;
    ida_kind kind = read_named(s, c, tenant, &group, 1, &groups);
    if (kind) {
        return kind;
    }
    kind = named_row(&groups, c, group, &row);
    const char *shown = ida_clean(c->pool, group, strlen(group), 200);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "There is no group %s.", shown);
    }
    if (kind) {
        return ida_fail(c, kind, "There are several groups named %s: give the group's ID.", shown);
    }
    *out = apr_palloc(c->pool, sizeof **out);
    group_of(&groups.r, row, *out);
    return IDA_OK;
}

/* --- lists --- */

STORE_FILL(listed_of, cache_listed_group, group_listed, row->directory.text, row->id.text,
           row->name.text, row->kind.text, row->description.text, row->name_key.text,
           row->member_count.number, row->others.number != 0)

#define FILTERED(f)                                                              \
    DB_T((f)->words), DB_I((f)->exactly), DB_T((f)->kind), DB_T((f)->directory), \
        DB_I((f)->empty == CACHE_EMPTY_OR_NOT ? -1 : (f)->empty == CACHE_EMPTY)

ida_kind cache_group_list(store *s, ida_ctx *c, const char *tenant, const cache_group_filter *f,
                          const cache_listed_group **rows, int *count)
{
    return store_rows(s, c, STMT_group_list,
                      DB_ARGS(DB_T(tenant), FILTERED(f), DB_T(f->after_name ? f->after_name : ""),
                              DB_T(f->after_id ? f->after_id : ""), DB_I(f->limit)),
                      listed_of, sizeof **rows, rows, count);
}

ida_kind cache_group_count(store *s, ida_ctx *c, const char *tenant, const cache_group_filter *f,
                           int64_t *total)
{
    return store_number(s, c, STMT_group_list_count,
                        DB_ARGS(DB_T(tenant), FILTERED(f), DB_I(f->count_max)), total);
}
