/* Owns the tenant as a value: merging of documents, and the struct that rules read. Shape and rules
 * are those of core/tenant/members.c and core/tenant/check.c. */
#include "core/tenant/tenant.h"

#include <string.h>

#include "core/base/json.h"
#include "core/tenant/check.h"

#define DOCUMENT_MAX (4 * 1024 * 1024)

/* Copy of a value without null members, at every depth, because null means "not set". New
 * reference. */
static json_t *without_nulls(const json_t *value)
{
    const char *name;
    json_t *one, *copy;
    size_t i;
    if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach ((json_t *)value, name, one) {
            if (!json_is_null(one)) {
                json_object_set_new(copy, name, without_nulls(one));
            }
        }
        return copy;
    }
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach ((json_t *)value, i, one) {
            json_array_append_new(copy, without_nulls(
                                            one)); /* a null entry stays, to be named as a fault */
        }
        return copy;
    }
    return json_deep_copy(value);
}

/* RFC 7396: objects merge member by member, null removes, everything else (lists too) replaces. */
static void merge(json_t *target, const json_t *patch)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)patch, name, value) {
        json_t *old = json_object_get(target, name);
        if (json_is_null(value)) {
            json_object_del(target, name);
        } else if (json_is_object(value) && json_is_object(old)) {
            merge(old, value);
        } else {
            json_object_set_new(target, name, without_nulls(value));
        }
    }
}

static const char *string_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static int64_t integer_at(const json_t *object, const char *within, const char *name,
                          int64_t otherwise)
{
    const json_t *value = json_object_get(within ? json_object_get(object, within) : object, name);
    return value ? json_integer_value(value) : otherwise;
}

static void rate_at(const json_t *filled, const char *name, ida_rate *rate)
{
    const char *text = string_at(json_object_get(filled, "rateLimits"), name);
    if (text) {
        ida_rate_parse(text, rate);
    }
}

/* Struct of a sound document, which it keeps a reference to. */
static ida_tenant *build(apr_pool_t *pool, json_t *document)
{
    const json_t *filled = ida_json_keep(pool, ida_tenant_filled(document));
    const json_t *modules = json_object_get(filled, "modules"),
                 *directories = json_object_get(filled, "directories");
    ida_tenant *t = apr_pcalloc(pool, sizeof *t);
    t->document = ida_json_keep(pool, json_incref(document));
    t->id = string_at(filled, "companyId");
    t->name = string_at(filled, "name");
    t->time_zone = string_at(filled, "timeZone");
    t->username_format = string_at(filled, "usernameFormat");
    t->email_format = string_at(filled, "emailFormat");
    t->display_name_format = string_at(filled, "displayNameFormat");
    t->upn_domain = string_at(filled, "upnDomain");
    t->email_domain = string_at(filled, "emailDomain");
    t->create_users_in = (ida_directory_kind)ida_directory_parse(
        string_at(filled, "createUsersIn"));
    t->seat_limit = integer_at(filled, NULL, "seatLimit", -1);
    t->queued_megabytes = integer_at(filled, NULL, "queuedMegabytes", 256);
    t->public_api = json_is_true(json_object_get(modules, "publicApi"));
    t->access_governance = json_is_true(json_object_get(modules, "accessGovernance"));
    t->paused = string_at(json_object_get(filled, "paused"), "since");
    t->deleted = json_object_get(filled, "deleted") != NULL;
    rate_at(filled, "key", &t->rate_key);
    rate_at(filled, "company", &t->rate_company);
    t->brake_per_hour = integer_at(filled, "brake", "offboardingsPerHour", 0);
    t->key_days = (int)integer_at(filled, "keys", "defaultDays", 0);
    t->stale_after_days = (int)integer_at(filled, "hygiene", "staleAfterDays", 0);
    t->task_history_days = (int)integer_at(filled, "retention", "taskHistoryDays", 0);
    t->audit_days = (int)integer_at(filled, "retention", "auditDays", 0);
    for (int i = 0; i < IDA_DIR_COUNT; i++) {
        t->directory[i] = json_object_get(directories, ida_directory_name(i));
        t->has_directory[i] = t->directory[i] != NULL;
    }
    const json_t *on_premises = t->directory[IDA_DIR_ON_PREMISES];
    t->dialect = string_at(on_premises, "dialect");
    t->same_upn_and_mail = on_premises &&
                           strcasecmp(string_at(on_premises, "upnAttribute"), "mail") == 0;
    return t;
}

ida_kind ida_tenant_apply(ida_ctx *c, const char *text, size_t len, const char *previous,
                          ida_tenant **tenant, char **canonical)
{
    json_t *given, *merged;
    *tenant = NULL;
    *canonical = NULL;
    if (len > DOCUMENT_MAX) {
        return ida_fail(c, IDA_BAD_REQUEST, "The tenant document is larger than %d bytes.",
                        DOCUMENT_MAX);
    }
    ida_kind kind = ida_json_object(c, text, len, &given);
    if (kind) {
        return kind;
    }
    const json_t *before = previous ? ida_json_load(c->pool, previous) : NULL;
    if (previous && !json_is_object(before)) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "The stored tenant document is damaged.");
    }
    merged = ida_json_keep(c->pool, before ? json_deep_copy(before) : json_object());
    merge(merged, given);
    const char *id = string_at(before, "companyId"), *new_id = string_at(merged, "companyId");
    if (id && new_id && strcmp(id, new_id) != 0) {
        ida_fault_add(c, "companyId", "cannot be changed from \"%s\"", id);
    }
    ida_tenant_check(c, merged, 1);
    kind = ida_faults_raise(c);
    if (kind) {
        return kind;
    }
    *canonical = ida_json_sorted(c->pool, merged);
    *tenant = build(c->pool, merged);
    return IDA_OK;
}

const char *ida_tenant_state(const ida_tenant *tenant)
{
    return tenant->deleted ? "deleted" : tenant->paused ? "paused" : "";
}

json_t *ida_tenant_remains(apr_pool_t *pool, const ida_tenant *tenant, const char *deleted_at)
{
    static const char *const kept[] = {"companyId", "name", "timeZone", "upnDomain", "retention"};
    json_t *remains = ida_json_keep(pool, json_object());
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        json_t *value = json_object_get(tenant->document, kept[i]);
        if (value) {
            json_object_set(remains, kept[i], value);
        }
    }
    json_object_set_new(remains, "directories", json_object());
    ida_json_put(remains, "deleted", deleted_at);
    return remains;
}

ida_kind ida_tenant_load(ida_ctx *c, const char *canonical, ida_tenant **tenant)
{
    *tenant = NULL;
    json_t *document = ida_json_load(c->pool, canonical);
    if (!json_is_object(document)) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "The stored tenant document is no JSON object.");
    }
    ida_ctx *own = ida_ctx_make(c->env, c->pool); /* the caller's faults are not ours to raise */
    ida_tenant_check(own, document, 0);
    if (ida_faults_raise(own)) {
        return ida_fail(c, IDA_INTERNAL_ERROR,
                        "The stored tenant document is damaged: %s. Run idadminctl tenant apply.",
                        own->message);
    }
    *tenant = build(c->pool, document);
    return IDA_OK;
}
