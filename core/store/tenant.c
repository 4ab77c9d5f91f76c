/* Owns tenants in the store and the rows that follow from their documents: workflows, role
 * templates, access catalog, receivers of notifications. Must not know the rules of the document,
 * which core/tenant/tenant.h has checked. */
#include "core/store/tenant.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/rows.h"

static ida_kind unknown(ida_ctx *c, const char *id)
{
    return ida_fail(c, IDA_NOT_FOUND, "There is no company with the ID %s.", id);
}

static ida_kind get_row(store *s, ida_ctx *c, const char *id, db_result *r)
{
    ida_kind kind = store_read(s, c, STMT_tenant_get, DB_ARGS(DB_T(id)), r);
    return kind || r->rows ? kind : unknown(c, id);
}

ida_kind store_tenant_document(store *s, ida_ctx *c, const char *id, ida_stored_tenant *stored)
{
    db_result r;
    *stored = (ida_stored_tenant){0};
    ida_kind kind = get_row(s, c, id, &r);
    if (kind) {
        return kind;
    }
    const row_tenant *row = DB_ROW(tenant, &r, 0);
    *stored = (ida_stored_tenant){row->document.text, row->seal.text, row->revision.number};
    return IDA_OK;
}

static ida_kind read_document(ida_ctx *c, const char *id, ida_stored_tenant *stored, void *baton)
{
    return store_tenant_document(baton, c, id, stored);
}

ida_kind store_tenant_get(store *s, ida_ctx *c, const char *id, ida_tenant **tenant,
                          int64_t *revision)
{
    ida_stored_tenant stored;
    const char *key = c->env->seal_key;
    ida_kind kind = key ? ida_seal_follow(c, key, id, read_document, s, &stored)
                        : store_tenant_document(s, c, id, &stored);
    if (kind) {
        return kind;
    }
    if (revision) {
        *revision = stored.revision;
    }
    kind = ida_tenant_load(c, stored.document, tenant);
    if (!kind && strcmp((*tenant)->id, id) != 0) { /* another tenant's document is sealed as well,
                                                      and would serve this one's tasks there */
        kind = ida_fail(
            c, IDA_INTERNAL_ERROR,
            "The document stored for tenant %s is that of tenant %s. Run idadminctl tenant apply.",
            id, (*tenant)->id);
    }
    return kind;
}

ida_kind store_tenant_revision(store *s, ida_ctx *c, const char *id, int64_t *revision)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_tenant_revision, DB_ARGS(DB_T(id)), &r);
    *revision = kind ? 0 : DB_ROW(tenant_revision, &r, 0)->revision.number;
    return kind || r.rows ? kind : unknown(c, id);
}

ida_kind store_tenant_lock_row(store *s, ida_ctx *c, const char *id, store_tenant_row *row)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_tenant_lock, DB_ARGS(DB_T(id)), &r);
    if (!kind && r.rows) {
        const row_tenant_state *found = DB_ROW(tenant_state, &r, 0);
        *row = (store_tenant_row){found->state.text, found->number.number};
    }
    return kind || r.rows ? kind : unknown(c, id);
}

ida_kind store_tenant_lock(store *s, ida_ctx *c, const char *id)
{
    store_tenant_row row;
    return store_tenant_lock_row(s, c, id, &row);
}

STORE_FILL(id_of, store_tenant_id, tenant_id, row->id.text, row->revision.number,
           *row->state.text ? row->state.text : STORE_TENANT_ACTIVE)

ida_kind store_tenant_ids(store *s, ida_ctx *c, const store_tenant_id **ids, int *count)
{
    return store_rows(s, c, STMT_tenant_ids, DB_NONE, id_of, sizeof **ids, ids, count);
}

static void name_of(const db_result *r, int i, void *out)
{
    const row_tenant_named *row = DB_ROW(tenant_named, r, i);
    store_tenant_name *n = out;
    n->id = row->id.text;
    n->name = row->name.text && *row->name.text ? row->name.text : row->id.text;
    n->time_zone = row->time_zone.text;
}

ida_kind store_tenant_names(store *s, ida_ctx *c, const store_tenant_name **rows, int *count)
{
    return store_rows(s, c, STMT_tenant_names, DB_NONE, name_of, sizeof **rows, rows, count);
}

ida_kind store_tenant_list(store *s, ida_ctx *c, json_t **array)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_tenant_list, DB_NONE, &r);
    if (kind) {
        return kind;
    }
    *array = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < r.rows; i++) {
        const row_tenant_listed *row = DB_ROW(tenant_listed, &r, i);
        /* Not in the context's pool: 10,000 documents would stay there. */
        json_t *document = json_loads(row->document.text, 0, NULL);
        json_t *item = json_object(), *names = json_array();
        const json_t *limit = json_object_get(document, "seatLimit");
        const char *name;
        json_t *value;
        json_object_foreach (json_object_get(document, "directories"), name, value) {
            if (json_is_object(value)) {
                json_array_append_new(names, json_string(name));
            }
        }
        ida_json_put(item, "companyId", row->id.text);
        ida_json_put_or_null(item, "name", ida_json_string(document, "name"));
        ida_json_put(item, "state", *row->state.text ? row->state.text : STORE_TENANT_ACTIVE);
        json_object_set_new(item, "directories", names);
        json_object_set_new(item, "seatLimit",
                            json_is_integer(limit) ? json_integer(json_integer_value(limit))
                                                   : json_null());
        json_object_set_new(item, "seatsHeld", json_integer(row->seats_held.number));
        json_object_set_new(item, "enabledMembers",
                            row->enabled_members.text ? json_integer(row->enabled_members.number)
                                                      : json_null());
        ida_json_put_time(item, "updatedAt", row->updated_at.number);
        json_array_append_new(*array, item);
        json_decref(document);
    }
    return IDA_OK;
}

/* --- what follows from a document --- */

/* JSON text of a list member; "[]" when it is absent. */
static const char *list_text(ida_ctx *c, const json_t *item, const char *member)
{
    const json_t *list = json_object_get(item, member);
    return json_is_array(list) ? ida_json_text(c->pool, list) : "[]";
}

static const char *text_or_empty(const json_t *item, const char *member)
{
    const char *text = ida_json_string(item, member);
    return text ? text : "";
}

/* Names of the objects in a list of the document. */
static apr_hash_t *names_in(ida_ctx *c, const json_t *list)
{
    size_t i;
    json_t *item;
    apr_hash_t *names = apr_hash_make(c->pool);
    json_array_foreach (list, i, item) {
        apr_hash_set(names, ida_json_string(item, "name"), APR_HASH_KEY_STRING, item);
    }
    return names;
}

/* A workflow that keeps its name keeps its ID; runs belong to names, so rows may go. */
static ida_kind put_workflows(store *s, ida_ctx *c, const ida_tenant *tenant)
{
    size_t i;
    json_t *item;
    db_result before;
    const json_t *list = json_object_get(tenant->document, "workflows");
    apr_hash_t *wanted = names_in(c, list);
    ida_kind kind = store_read(s, c, STMT_tenant_workflows, DB_ARGS(DB_T(tenant->id)), &before);
    for (int row = 0; !kind && row < before.rows; row++) {
        const row_named *workflow = DB_ROW(named, &before, row);
        if (!apr_hash_get(wanted, workflow->name.text, APR_HASH_KEY_STRING)) {
            kind = store_write(s, c, STMT_tenant_workflow_remove,
                               DB_ARGS(DB_T(tenant->id), DB_T(workflow->name.text)), NULL);
        }
    }
    json_array_foreach (list, i, item) {
        if (kind) {
            break;
        }
        int active = !json_is_false(json_object_get(item, "active"));
        kind = store_write(s, c, STMT_tenant_workflow_put,
                           DB_ARGS(DB_T(tenant->id), DB_T(ida_new_id(c->pool, c->env)),
                                   DB_T(ida_json_string(item, "name")), DB_I(i),
                                   DB_T(ida_json_string(item, "trigger")), DB_I(active),
                                   DB_T(list_text(c, item, "actions"))),
                           NULL);
    }
    return kind;
}

static ida_kind put_services(store *s, ida_ctx *c, const ida_tenant *tenant)
{
    size_t i;
    json_t *item;
    ida_kind kind = store_write(s, c, STMT_tenant_services_clear, DB_ARGS(DB_T(tenant->id)), NULL);
    json_array_foreach (json_object_get(tenant->document, "accessCatalog"), i, item) {
        if (kind) {
            break;
        }
        kind = store_write(s, c, STMT_tenant_service_add,
                           DB_ARGS(DB_T(tenant->id), DB_T(ida_json_string(item, "service")),
                                   DB_T(ida_json_string(item, "group")),
                                   DB_T(list_text(c, item, "approvers"))),
                           NULL);
    }
    return kind;
}

/* ",task.done,task.failed,": found in there with commas on both sides. */
static const char *events_text(ida_ctx *c, const json_t *item)
{
    size_t i;
    const json_t *event;
    const char *text = ",";
    json_array_foreach (json_object_get(item, "events"), i, event) {
        text = apr_pstrcat(c->pool, text, json_string_value(event), ",", NULL);
    }
    return text;
}

static ida_kind put_notifications(store *s, ida_ctx *c, const ida_tenant *tenant)
{
    size_t i;
    json_t *item;
    ida_kind kind = store_write(s, c, STMT_tenant_notifications_clear, DB_ARGS(DB_T(tenant->id)),
                                NULL);
    json_array_foreach (json_object_get(tenant->document, "notifications"), i, item) {
        kind = kind ? kind
                    : store_write(s, c, STMT_tenant_notification_put,
                                  DB_ARGS(DB_T(tenant->id), DB_T(ida_json_string(item, "url")),
                                          DB_T(events_text(c, item))),
                                  NULL);
    }
    return kind;
}

ida_kind store_template_assigned(store *s, ida_ctx *c, const char *tenant, const char *template_id,
                                 int64_t *total)
{
    return store_number(s, c, STMT_template_assigned, DB_ARGS(DB_T(tenant), DB_T(template_id)),
                        total);
}

/* A template that is assigned cannot be removed: what it granted would stay with people without
 * an explanation. */
static ida_kind drop_template(store *s, ida_ctx *c, const char *tenant, const char *id,
                              const char *name)
{
    int64_t assigned;
    ida_kind kind = store_template_assigned(s, c, tenant, id, &assigned);
    if (!kind && assigned) {
        return ida_fail(
            c, IDA_CONFLICT,
            "The role template %s is missing in the document but assigned to %s (see "
            "`idadminctl role list %s`): keep it, or take it from them first with `idadminctl role "
            "unassign`. (Another name makes another template.)",
            name, ida_count(c->pool, assigned, "person", "people"), tenant);
    }
    return kind ? kind
                : store_write(s, c, STMT_tenant_template_remove, DB_ARGS(DB_T(tenant), DB_T(id)),
                              NULL);
}

/* Assignments refer to a template's ID: a template that keeps its name keeps its ID. */
static ida_kind put_templates(store *s, ida_ctx *c, const ida_tenant *tenant)
{
    size_t i;
    json_t *item;
    db_result before;
    apr_hash_t *wanted = names_in(c, json_object_get(tenant->document, "roleTemplates"));
    ida_kind kind = store_read(s, c, STMT_tenant_templates, DB_ARGS(DB_T(tenant->id)), &before);
    for (int row = 0; !kind && row < before.rows; row++) {
        const row_named *template = DB_ROW(named, &before, row);
        if (!apr_hash_get(wanted, template->name.text, APR_HASH_KEY_STRING)) {
            kind = drop_template(s, c, tenant->id, template->id.text, template->name.text);
        }
    }
    json_array_foreach (json_object_get(tenant->document, "roleTemplates"), i, item) {
        if (kind) {
            break;
        }
        kind = store_write(
            s, c, STMT_tenant_template_put,
            DB_ARGS(DB_T(tenant->id), DB_T(ida_new_id(c->pool, c->env)),
                    DB_T(ida_json_string(item, "name")), DB_T(text_or_empty(item, "description")),
                    DB_T(list_text(c, item, "groups")), DB_T(list_text(c, item, "licenses"))),
            NULL);
    }
    return kind;
}

typedef struct put_work {
    const ida_tenant *tenant;
    const ida_stored_tenant *stored;
} put_work;

static ida_kind put(store *s, ida_ctx *c, void *baton)
{
    const put_work *w = baton;
    ida_kind kind = store_write(s, c, STMT_tenant_put,
                                DB_ARGS(DB_T(w->tenant->id), DB_T(w->stored->document),
                                        DB_T(w->stored->seal), DB_I(w->stored->revision),
                                        DB_I(ida_now(c->env)), DB_T(ida_tenant_state(w->tenant))),
                                NULL);
    if (!kind) {
        kind = put_workflows(s, c, w->tenant);
    }
    if (!kind) {
        kind = put_services(s, c, w->tenant);
    }
    if (!kind) {
        kind = put_notifications(s, c, w->tenant);
    }
    return kind ? kind : put_templates(s, c, w->tenant);
}

ida_kind store_tenant_put(store *s, ida_ctx *c, const ida_tenant *tenant,
                          const ida_stored_tenant *stored)
{
    put_work work = {tenant, stored};
    return store_transaction(s, c, put, &work);
}
