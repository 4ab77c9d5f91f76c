/* Owns the record of assigned access: who granted what, and what its removal may remove. Must
 * not call a directory or know how a step runs. */
#include "core/governance/grant.h"
#include "core/cache/groups.h"

#include <string.h>

#include "core/base/text.h"
#include "core/store/rows.h"

#define ITEMS_MAX 10000 /* rows of one account */

const char governance_by_template[] = "template", governance_by_request[] = "request";

/* --- what a template stands for --- */

ida_kind governance_membership_item(store *s, ida_ctx *c, const char *tenant, const char *named,
                                    access_item *item)
{
    ida_group *group;
    ida_kind kind = cache_group_find(s, c, tenant, named, &group);
    if (!kind) {
        *item = (access_item){0, group->directory, group->id, group->name};
    }
    return kind;
}

ida_kind governance_template_items(store *s, ida_ctx *c, const char *tenant,
                                   const ida_role_template *template, ida_directory_kind home,
                                   const access_item **items, int *count)
{
    size_t groups = json_array_size(template->groups),
           licenses = json_array_size(template->licenses);
    access_item *all = apr_palloc(c->pool, (groups + licenses + 1) * sizeof *all);
    *count = 0;
    for (size_t i = 0; i < groups; i++) {
        const char *named = json_string_value(json_array_get(template->groups, i));
        ida_kind kind = governance_membership_item(s, c, tenant, named, &all[*count]);
        if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
            all[*count] = (access_item){0, home, NULL, named};
            ida_ctx_clear(c);
        } else if (kind) {
            return kind;
        }
        (*count)++;
    }
    for (size_t i = 0; i < licenses; i++) {
        const char *name = json_string_value(json_array_get(template->licenses, i));
        all[(*count)++] = (access_item){1, IDA_DIR_CLOUD, name, name};
    }
    *items = all;
    return IDA_OK;
}

/* --- the record --- */

static const char *kind_of(const access_item *item)
{
    return item->license ? "license" : "group";
}

/* Licences are named by people: in any case. Kept as folded. */
static const char *key_of(ida_ctx *c, const access_item *item)
{
    return item->license ? ida_fold_address(c->pool, item->id) : item->id;
}

#define ITEM_KEY(at, item)                                                     \
    DB_T((at)->task->tenant), DB_T(ida_directory_name((at)->task->directory)), \
        DB_T((at)->task->object_id), DB_T(kind_of(item)), DB_T(key_of(c, item))
#define ROW_KEY(at, item) ITEM_KEY(at, item), DB_T((at)->by->source), DB_T((at)->by->id)

typedef struct grant_work {
    const access_grant_at *at;
    const access_item *item;
    int stood, ours;
} grant_work;

static ida_kind begin(store *s, ida_ctx *c, void *baton)
{
    grant_work *w = baton;
    db_result r;
    ida_kind kind = store_read(s, c, STMT_grant_rows, DB_ARGS(ITEM_KEY(w->at, w->item)), &r);
    w->ours = 0;
    /* Any grantor's work is ours: with the last of them it goes. */
    for (int i = 0; !kind && i < r.rows; i++) {
        w->ours |= strcmp(DB_ROW(grant, &r, i)->state.text, "stood") != 0;
    }
    return kind ? kind
                : store_write(s, c, STMT_grant_begin,
                              DB_ARGS(ROW_KEY(w->at, w->item), DB_T(w->item->name),
                                      DB_T(w->at->task->id), DB_I(ida_now(c->env))),
                              NULL);
}

ida_kind governance_grant_begin(store *s, ida_ctx *c, const access_grant_at *at,
                                const access_item *item, int *ours)
{
    grant_work w = {.at = at, .item = item};
    ida_kind kind = store_transaction(s, c, begin, &w);
    *ours = w.ours;
    return kind;
}

static ida_kind settle(store *s, ida_ctx *c, void *baton)
{
    const grant_work *w = baton;
    ida_kind kind = store_write(s, c, STMT_grant_settle,
                                DB_ARGS(ROW_KEY(w->at, w->item), DB_T(w->stood ? "stood" : "added"),
                                        DB_I(ida_now(c->env))),
                                NULL);
    /* A membership that was removed meanwhile and that we add again is ours from now on, also if
     * another grantor had assigned it before. */
    return kind || w->stood
               ? kind
               : store_write(s, c, STMT_grant_own, DB_ARGS(ITEM_KEY(w->at, w->item)), NULL);
}

ida_kind governance_grant_settle(store *s, ida_ctx *c, const access_grant_at *at,
                                 const access_item *item, int stood)
{
    grant_work w = {.at = at, .item = item, .stood = stood};
    return store_transaction(s, c, settle, &w);
}

ida_kind governance_grant_forget(store *s, ida_ctx *c, const access_grant_at *at,
                                 const access_item *item)
{
    return store_write(s, c, STMT_grant_forget, DB_ARGS(ROW_KEY(at, item)), NULL);
}

STORE_FILL(item_of, access_item, grant_item, .license = strcmp(row->kind.text, "license") == 0,
           .directory = (ida_directory_kind)ida_directory_parse(row->directory.text),
           .id = row->item.text, .name = row->name.text)

ida_kind governance_grant_list(store *s, ida_ctx *c, const access_grant_at *at,
                               const access_item **items, int *count)
{
    return store_rows(s, c, STMT_grant_list,
                      DB_ARGS(DB_T(at->task->tenant), DB_T(ida_directory_name(at->task->directory)),
                              DB_T(at->task->object_id), DB_T(at->by->source), DB_T(at->by->id),
                              DB_I(ITEMS_MAX)),
                      item_of, sizeof **items, items, count);
}

STORE_FILL(template_of, access_grantor, named, governance_by_template, row->id.text, row->name.text)

ida_kind governance_grant_unassigned(store *s, ida_ctx *c, const ida_task *task,
                                     const access_grantor **grantors, int *count)
{
    return store_rows(s, c, STMT_grant_unassigned,
                      DB_ARGS(DB_T(task->tenant), DB_T(ida_directory_name(task->directory)),
                              DB_T(task->object_id), DB_T(task->person), DB_I(ITEMS_MAX)),
                      template_of, sizeof **grantors, grantors, count);
}

/* --- who still grants --- */

static ida_kind person_of(store *s, ida_ctx *c, const ida_task *task, access_person *person)
{
    ida_user *user;
    *person = (access_person){task->object_id, NULL, task->person};
    ida_kind kind = cache_user_details(s, c, task->tenant, task->object_id, &user, NULL);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    if (!kind) {
        *person = (access_person){user->id, user->other_id,
                                  user->upn ? ida_fold_address(c->pool, user->upn) : task->person};
    }
    return kind;
}

static void lists_of(ida_ctx *c, const access_person *person, const char **ids, const char **keys)
{
    const char *both[] = {person->id, person->other_id};
    *ids = governance_access_list(c->pool, both, person->other_id ? 2 : 1);
    *keys = governance_access_list(c->pool, &person->upn_key, person->upn_key ? 1 : 0);
}

static ida_kind template_stands(store *s, ida_ctx *c, const access_grant_at *at, int *stands)
{
    access_person person;
    const governance_assigned *rows;
    const char *ids, *keys;
    int count = 0;
    ida_kind kind = person_of(s, c, at->task, &person);
    if (!kind) {
        lists_of(c, &person, &ids, &keys);
        kind = governance_membership_assigned(s, c, at->task->tenant, ids, keys, &rows, &count);
    }
    for (int i = 0; !kind && i < count; i++) {
        *stands |= strcmp(rows[i].template_id, at->by->id) == 0;
    }
    return kind;
}

ida_kind governance_grant_stands(store *s, ida_ctx *c, const access_grant_at *at, int *stands)
{
    const ida_access_request *request;
    *stands = 0;
    if (strcmp(at->by->source, governance_by_template) == 0) {
        return template_stands(s, c, at, stands);
    }
    ida_kind kind = governance_request_get(s, c, at->task->tenant, at->by->id, &request);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    *stands = !kind && strcmp(request->state, "approved") == 0;
    return kind;
}

/* The record: what this grantor did, and whether another one gave the same. */
static ida_kind recorded(store *s, ida_ctx *c, const access_grant_at *at, const access_item *item,
                         access_grantor *heir, const char **why)
{
    db_result r;
    int mine = 0;
    ida_kind kind = store_read(s, c, STMT_grant_rows, DB_ARGS(ITEM_KEY(at, item)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_grant *row = DB_ROW(grant, &r, i);
        const char *source = row->source.text, *id = row->source_id.text;
        if (strcmp(source, at->by->source) == 0 && strcmp(id, at->by->id) == 0) {
            mine = 1;
            *why = strcmp(row->state.text, "stood") == 0 && !*why
                       ? "it stood before this was granted"
                       : *why;
        } else {
            *heir = (access_grantor){source, id, NULL};
            *why = ida_printf(c->pool, "another %s gave it too",
                              strcmp(source, governance_by_template) == 0 ? "role template"
                                                                          : "access request");
        }
    }
    if (!kind && !mine) {
        *why = "it was not given by this";
    }
    return kind;
}

/* The document: another assigned template or approved request that names the group today, or a rule
 * of the directory. */
static ida_kind attributed(store *s, ida_ctx *c, const access_grant_at *at,
                           const access_person *person, const access_item *item,
                           access_grantor *heir, const char **why)
{
    access_facts *facts;
    access_grant grant;
    ida_group *found;
    ida_kind kind = cache_group_find(s, c, at->task->tenant, item->id, &found);
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        ida_ctx_clear(c);
        return IDA_OK; /* the directory will report the same */
    }
    kind = kind ? kind : governance_access_facts_load(&facts, s, c, at->task->tenant, person, 1);
    if (kind) {
        return kind;
    }
    access_group group = {.directory = ida_directory_name(found->directory),
                          .id = found->id,
                          .name = found->name,
                          .name_key = ida_fold_search(c->pool, found->name),
                          .kind = found->kind,
                          .dynamic = strcmp(found->kind, "dynamic") == 0 ||
                                     (found->rule && *found->rule)};
    kind = governance_access_attribute(facts, c, person, &group, &grant);
    if (kind || grant.source == ACCESS_DIRECT || (grant.id && strcmp(grant.id, at->by->id) == 0)) {
        return kind;
    }
    if (grant.source == ACCESS_DYNAMIC) {
        *why = "a rule of the directory decides who is in it";
        return IDA_OK;
    }
    *heir = (access_grantor){grant.source == ACCESS_TEMPLATE ? governance_by_template
                                                             : governance_by_request,
                             grant.id, grant.name};
    *why = ida_printf(c->pool,
                      grant.source == ACCESS_TEMPLATE ? "the role template %s grants it too"
                                                      : "the access request for %s grants it too",
                      grant.name);
    return IDA_OK;
}

static int names_license(ida_ctx *c, const ida_role_template *template, const char *key)
{
    const json_t *named;
    size_t i;
    json_array_foreach ((json_t *)template->licenses, i, named) {
        if (strcmp(ida_fold_address(c->pool, json_string_value(named)), key) == 0) {
            return 1;
        }
    }
    return 0;
}

static ida_kind licensed(store *s, ida_ctx *c, const access_grant_at *at,
                         const access_person *person, const access_item *item, access_grantor *heir,
                         const char **why)
{
    const governance_assigned *rows;
    const char *ids, *keys;
    int count = 0;
    lists_of(c, person, &ids, &keys);
    ida_kind kind = governance_membership_assigned(s, c, at->task->tenant, ids, keys, &rows,
                                                   &count);
    for (int i = 0; !kind && !*why && i < count; i++) {
        ida_role_template *template = NULL;
        if (strcmp(rows[i].template_id, at->by->id) == 0) {
            continue;
        }
        kind = governance_template_find(s, c, at->task->tenant, rows[i].template_id, &template);
        if (!kind && names_license(c, template, key_of(c, item))) {
            *heir = (access_grantor){governance_by_template, template->id, template->name};
            *why = ida_printf(c->pool, "the role template %s grants it too", template->name);
        }
    }
    return kind;
}

ida_kind governance_grant_keeps(store *s, ida_ctx *c, const access_grant_at *at,
                                const access_item *item, access_grantor *heir, const char **why)
{
    access_person person;
    *why = NULL;
    *heir = (access_grantor){NULL, NULL, NULL};
    ida_kind kind = recorded(s, c, at, item, heir, why);
    if (kind || *why) {
        return kind;
    }
    kind = person_of(s, c, at->task, &person);
    return kind            ? kind
           : item->license ? licensed(s, c, at, &person, item, heir, why)
                           : attributed(s, c, at, &person, item, heir, why);
}

typedef struct legacy {
    const access_grant_at *at;
    const access_item *item;
    const access_grantor *heir;
} legacy;

static ida_kind hand_over(store *s, ida_ctx *c, void *baton)
{
    const legacy *l = baton;
    ida_kind kind = IDA_OK;
    if (l->heir->source) {
        kind = store_write(
            s, c, STMT_grant_inherit,
            DB_ARGS(ROW_KEY(l->at, l->item), DB_T(l->heir->source), DB_T(l->heir->id)), NULL);
    }
    return kind ? kind : governance_grant_forget(s, c, l->at, l->item);
}

ida_kind governance_grant_hand_over(store *s, ida_ctx *c, const access_grant_at *at,
                                    const access_item *item, const access_grantor *heir)
{
    legacy l = {at, item, heir};
    return store_transaction(s, c, hand_over, &l);
}
