/* Owns the meaning of the API's JSON for users, groups and members. Must not know where it was
 * read. */
#include "worker/graph/value.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/time.h"

static const char *id_of(const json_t *json)
{
    const char *id = ida_json_string(json, "id");
    return id && *id && strlen(id) <= GRAPH_ID_MAX ? id : NULL;
}

static int is(const json_t *json, const char *property)
{
    return json_is_true(json_object_get(json, property));
}

/* RFC 3339 to ms; 0 for anything else and for the year 1, which the directory uses for "never". */
static int64_t time_of(const json_t *json, const char *property)
{
    const char *text = ida_json_string(json, property);
    int64_t at;
    return text && ida_time_parse(text, &at) && at > 0 ? at : 0;
}

/* --- users --- */

#define TEXT(column, name, listed, property, ...) {property, offsetof(cache_user, column)},
static const struct {
    const char *property;
    size_t offset; /* of a text in cache_user */
} texts[] = {
    IDA_PERSON(TEXT){"onPremisesImmutableId", offsetof(cache_user, anchor)},
};

/* "SMTP:a@b", "smtp:a@b" and "a@b" are mail addresses; other kinds (X500, SIP, EUM) are not. */
static const char *mail_address(const char *text)
{
    if (strncasecmp(text, "smtp:", 5) == 0) {
        text += 5;
    } else if (strchr(text, ':')) {
        return NULL;
    }
    return *text ? text : NULL;
}

static const char **addresses_of(apr_pool_t *pool, const json_t *list)
{
    const char **out = apr_palloc(pool, sizeof *out * (json_array_size(list) + 1));
    size_t i, count = 0;
    const json_t *value;
    json_array_foreach (list, i, value) {
        const char *address = json_is_string(value) ? mail_address(json_string_value(value)) : NULL;
        if (address) {
            out[count++] = address;
        }
    }
    out[count] = NULL;
    return out;
}

/* NULL: not told. */
static const char **licenses_of(const graph *g, apr_pool_t *pool, const json_t *list)
{
    if (!json_is_array(list)) {
        return NULL;
    }
    const char **out = apr_palloc(pool, sizeof *out * (json_array_size(list) + 1));
    size_t i, count = 0;
    const json_t *value;
    json_array_foreach (list, i, value) {
        const char *sku = ida_json_string(value, "skuId");
        if (sku) {
            out[count++] = graph_license_name(g, pool, sku);
        }
    }
    out[count] = NULL;
    return out;
}

/* A single read returns the manager as an object; a change returns the new manager and the
 * removed one. With only a removed one there is no manager. */
static void read_manager(const json_t *json, cache_user *user)
{
    const json_t *manager = json_object_get(json, "manager"),
                 *changes = json_object_get(json, "manager@delta"), *change;
    size_t i;
    user->manager_untold = !manager && !json_array_size(changes);
    user->manager_id = ida_json_string(manager, "id");
    json_array_foreach (changes, i, change) {
        if (ida_json_string(change, "id") && !json_object_get(change, "@removed")) {
            user->manager_id = ida_json_string(change, "id");
        }
    }
}

cache_sign_in_list graph_sign_ins_value(const json_t *activity)
{
    return (cache_sign_in_list){
        .last = time_of(activity, "lastSignInDateTime"),
        .last_noninteractive = time_of(activity, "lastNonInteractiveSignInDateTime"),
        .last_success = time_of(activity, "lastSuccessfulSignInDateTime"),
    };
}

int graph_user_value(const graph *g, apr_pool_t *pool, const json_t *json, cache_user *user)
{
    const json_t *activity = json_object_get(json, "signInActivity");
    const char *type = ida_json_string(json, "userType");
    cache_sign_in_list times = graph_sign_ins_value(activity);
    *user = (cache_user){
        .id = id_of(json),
        .enabled = is(json, "accountEnabled"),
        .created_at = time_of(json, "createdDateTime"),
        .addresses = addresses_of(pool, json_object_get(json, "proxyAddresses")),
        .licenses = licenses_of(g, pool, json_object_get(json, "assignedLicenses")),
        .last_sign_in_at = times.last,
        .last_noninteractive_at = times.last_noninteractive,
        .last_success_at = times.last_success,
        .sign_ins_untold = activity == NULL,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *(const char **)((char *)user + texts[i].offset) = ida_json_string(json, texts[i].property);
    }
    user->guest = (type && strcasecmp(type, "Guest") == 0) ||
                  (user->upn && strcasestr(user->upn, "#EXT#"));
    read_manager(json, user);
    return user->id != NULL;
}

/* --- groups --- */

static int has_type(const json_t *group, const char *type)
{
    const json_t *value;
    size_t i;
    json_array_foreach (json_object_get(group, "groupTypes"), i, value) {
        const char *text = json_string_value(value);
        if (text && strcasecmp(text, type) == 0) {
            return 1;
        }
    }
    return 0;
}

int graph_group_value(const json_t *json, cache_group *group)
{
    int dynamic = has_type(json, "DynamicMembership");
    *group = (cache_group){
        .id = id_of(json),
        .name = ida_json_string(json, "displayName"),
        .kind = dynamic                       ? "dynamic"
                : has_type(json, "Unified")   ? "microsoft365"
                : !is(json, "mailEnabled")    ? "security"
                : is(json, "securityEnabled") ? "mailEnabledSecurity"
                                              : "distribution",
        .description = ida_json_string(json, "description"),
        .rule = dynamic ? ida_json_string(json, "membershipRule") : NULL,
        .synced = is(json, "onPremisesSyncEnabled"),
    };
    return group->id != NULL;
}

const char *graph_group_retained(const json_t *group)
{
    if (is(group, "onPremisesSyncEnabled")) {
        return "synchronised from on-premises: membership is changed there";
    }
    if (has_type(group, "DynamicMembership")) {
        return "membership by rule";
    }
    if (is(group, "mailEnabled") && !has_type(group, "Unified")) {
        return is(group, "securityEnabled")
                   ? "mail-enabled security group: membership is changed in Exchange"
                   : "distribution list: membership is changed in Exchange";
    }
    if (is(group, "isAssignableToRole")) {
        return "role-assignable group: membership is changed by a privileged role administrator";
    }
    if (is(group, "isManagementRestricted")) {
        return "in a restricted administrative unit: membership is changed by its administrators";
    }
    return NULL;
}

/* --- members --- */

/* "#microsoft.graph.user" -> "user", "...group" -> "group"; NULL for what the cache does not know.
 * Without a type: a user. */
static const char *member_kind(const json_t *member)
{
    const char *type = ida_json_string(member, "@odata.type"),
               *dot = type ? strrchr(type, '.') : NULL;
    return !type || (dot && strcasecmp(dot, ".user") == 0) ? "user"
           : dot && strcasecmp(dot, ".group") == 0         ? "group"
                                                           : NULL;
}

int graph_member_value(const json_t *json, cache_member *member)
{
    const char *id = id_of(json), *kind = member_kind(json);
    *member = kind ? (cache_member){.id = id, .kind = kind} : (cache_member){.dn_key = id};
    return id != NULL;
}
