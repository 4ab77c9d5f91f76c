/* Owns new values of an existing user: properties, enabled state, password. Must not know who
 * requested them. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/field.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

/* What an update may change, beyond what every read shows. */
#define CHANGES_SELECT GRAPH_USER_SELECT ",onPremisesExtensionAttributes,usageLocation"

void graph_put_password(json_t *body, const char *password)
{
    json_t *profile = json_object_get(body, "passwordProfile");
    if (password) {
        json_object_set_new(profile, "password", json_string(password));
    } else {
        json_object_del(body, "passwordProfile");
    }
}

directory_class graph_refused_property(graph_call *k, directory_class class,
                                       const graph_answer *answer)
{
    const char *field = class == DIRECTORY_INVALID ? graph_field_of(answer->detail_target) : NULL;
    k->e->field = field ? field : k->e->field;
    return class;
}

/* --- properties --- */

/* One value into the body. A value that the API has no property for is refused, clearing it is not.
 */
static directory_class put_attribute(graph_call *k, json_t *body, const directory_attribute *a)
{
    const char *value = a->value && *a->value ? a->value : NULL;
    const graph_field *field = graph_field_named(a->name);
    int display = strcmp(a->name, "displayName") == 0;
    if (!field && !display) {
        directory_class class = value ? graph_fail(k, DIRECTORY_INVALID, a->name,
                                                   "%s: the cloud directory has no property for it",
                                                   a->name)
                                      : DIRECTORY_OK;
        k->e->unkept = class != DIRECTORY_OK;
        return class;
    }
    if (display && !value) {
        return graph_fail(k, DIRECTORY_INVALID, a->name,
                          "displayName: the cloud directory does not let it be empty");
    }
    ida_json_put_or_null(body, display ? "displayName" : field->property, value);
    /* The country of work is also where licences are used. If it is cleared, or given as a word,
     * the usage location stays, because licences depend on it. */
    if (value && strcmp(a->name, "country") == 0 && ida_country_code_valid(value)) {
        ida_json_put(body, "usageLocation", value);
    }
    return DIRECTORY_OK;
}

/* Absent, null and empty are the same: nothing. */
static int same_value(const json_t *wanted, const json_t *got)
{
    const char *text = json_string_value(wanted), *present = json_string_value(got);
    if (json_is_boolean(wanted)) {
        return json_is_true(wanted) == json_is_true(got);
    }
    return strcmp(text ? text : "", present ? present : "") == 0;
}

static int stands(const json_t *body, const json_t *user)
{
    const char *property;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)body, property, value) {
        if (!same_value(value, json_object_get(user, property))) {
            return 0;
        }
    }
    return 1;
}

static directory_class patch_user(graph_call *k, const char *id, const json_t *body, int enabled,
                                  directory_user *user)
{
    const graph_request patch = {.method = "PATCH",
                                 .url = graph_user_url(k->g, k->pool, id, ""),
                                 .json = body,
                                 .doing = "updating the user"};
    graph_answer answer;
    directory_class class = graph_write(k, &patch, &answer);
    if (class == DIRECTORY_INVALID && graph_answer_says(&answer, "on-premises")) {
        return graph_mastered_elsewhere(k, user, "change");
    }
    return graph_needs(k, graph_refused_property(k, class, &answer),
                       enabled >= 0
                           ? "User.ReadWrite.All (to enable: User.EnableDisableAccount.All)"
                           : "User.ReadWrite.All",
                       enabled >= 0);
}

directory_class graph_update(directory *d, apr_pool_t *pool, const char *id,
                             const directory_attribute *attributes, int count, int enabled,
                             directory_user *after, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    json_t *body = ida_json_keep(pool, json_object()), *user;
    directory_class class = DIRECTORY_OK;
    for (int i = 0; i < count && !class; i++) {
        class = put_attribute(&k, body, &attributes[i]);
    }
    if (!class && enabled >= 0) {
        json_object_set_new(body, "accountEnabled", json_boolean(enabled));
    }
    class = class ? class : graph_user_select(&k, id, CHANGES_SELECT, after, &user);
    class = class ? class : graph_guard(&k, id);
    if (class) {
        return class;
    }
    int was = stands(body, user),
        synced = json_is_true(json_object_get(user, "onPremisesSyncEnabled"));
    if (!json_object_size(body) || (was && synced)) {
        return graph_end(&k, DIRECTORY_ALREADY);
    }
    if (synced && enabled >= 0 && enabled != after->enabled) {
        return graph_mastered_elsewhere(&k, after, enabled ? "enable" : "disable");
    }
    /* Written even if the read shows the wanted values, because the read may be older than
     * another change. */
    class = patch_user(&k, id, body, enabled, after);
    if (class) {
        return class;
    }
    json_object_update(user, body);
    graph_user_read(&k, user, after);
    return graph_end(&k, was ? DIRECTORY_ALREADY : DIRECTORY_OK);
}

/* --- password --- */

directory_class graph_set_password(directory *d, apr_pool_t *pool, const char *id,
                                   const char *password, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    json_t *body = ida_json_keep(pool, json_pack("{s:{s:b}}", "passwordProfile",
                                                 "forceChangePasswordNextSignIn", 1));
    const graph_request patch = {.method = "PATCH",
                                 .url = graph_user_url(k.g, pool, id, ""),
                                 .json = body,
                                 .doing = "setting the password"};
    graph_answer answer;
    directory_class class = graph_guard(&k, id);
    if (class) {
        return class;
    }
    graph_put_password(body, password);
    class = graph_write(&k, &patch, &answer);
    graph_put_password(body, NULL);
    if (class == DIRECTORY_INVALID && graph_answer_says(&answer, "on-premises")) {
        class = graph_fail(&k, DIRECTORY_INVALID, "password",
                           "the account is synchronised from an on-premises directory: its "
                           "password can be set only there");
    } else if (class == DIRECTORY_INVALID) {
        e->field = "password";
    }
    return graph_end(&k, graph_needs(&k, class,
                                     "User-PasswordProfile.ReadWrite.All (or User.ReadWrite.All "
                                     "with the directory role User Administrator)",
                                     1));
}
