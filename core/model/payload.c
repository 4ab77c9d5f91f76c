/* Owns the bodies of create, update and delete requests: what their members mean together. Must not
 * know HTTP, tasks or the store; the members themselves are core/model/payload_members.c's, dates
 * core/zone/schedule.c's, photos photo.c's. */
#include "core/model/payload.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/photo.h"

#define TEMPLATES_MAX 10
#define TEMPLATE_NAME_MAX 512 /* bytes */

/* Nothing, null or blank. */
static int is_blank(apr_pool_t *pool, const json_t *given)
{
    return !given || json_is_null(given) ||
           (json_is_string(given) && !ida_present(pool, json_string_value(given)));
}

/* accountEnabled as given: 1, 0, or -1 when it is not or is a fault. */
static int read_enabled(ida_ctx *c, const json_t *given)
{
    if (given && !json_is_boolean(given)) {
        ida_fault_add(c, "accountEnabled", "must be true or false");
    }
    return json_is_boolean(given) ? json_is_true(given) : -1;
}

/* The bytes of a photo that was given and is not blank; NULL when there is none or it is a fault.
 */
static const unsigned char *read_photo(ida_ctx *c, const json_t *body, size_t *len)
{
    const json_t *given = json_object_get(body, "profilePhoto");
    if (is_blank(c->pool, given)) {
        return NULL;
    }
    if (!json_is_string(given)) {
        ida_fault_add(c, "profilePhoto", "must be a string of base64");
        return NULL;
    }
    const unsigned char *bytes = ida_base64_decode(c->pool, json_string_value(given),
                                                   json_string_length(given), len);
    if (!bytes) {
        ida_fault_add(
            c, "profilePhoto",
            "must be base64 of RFC 4648 with padding and without blanks or a data: prefix");
    }
    return bytes;
}

static json_t *no_warnings(ida_ctx *c)
{
    return ida_json_keep(c->pool, json_array());
}

/* NULL: none. */
static const json_t *read_templates(ida_ctx *c, const json_t *body)
{
    const json_t *given = json_object_get(body, "roleTemplates"), *one;
    size_t i, count = json_array_size(given);
    int good = json_is_array(given) && count <= TEMPLATES_MAX;
    json_array_foreach (given, i, one) {
        good = good && json_string_length(one) > 0 && json_string_length(one) <= TEMPLATE_NAME_MAX;
    }
    if (given && !json_is_null(given) && !good) {
        ida_fault_add(c, "roleTemplates", "must be a list of at most %d names", TEMPLATES_MAX);
    }
    return good && count ? given : NULL;
}

void ida_payload_create(ida_ctx *c, const ida_tenant *tenant, const json_t *body, ida_create *out)
{
    memset(out, 0, sizeof *out);
    out->warnings = no_warnings(c);
    ida_params_read(c, body, ida_create_members, "is required", out);
    for (const ida_param *p = ida_create_members; p->name; p++) {
        if ((p->flags & IDA_PARAM_REFUSED) && !is_blank(c->pool, json_object_get(body, p->name))) {
            ida_fault_add(c, p->name, "is not accepted: it is generated from the tenant's formats");
        }
    }
    const json_t *enabled = json_object_get(body, "accountEnabled");
    out->account_enabled = is_blank(c->pool, enabled) || read_enabled(c, enabled);
    out->country_is_code = out->country && ida_country_code_valid(out->country);
    out->role_templates = read_templates(c, body);
    out->photo = read_photo(c, body, &out->photo_len);
    const char *rule = out->photo ? ida_photo_fault(c->pool, tenant->create_users_in, out->photo,
                                                    out->photo_len, &out->photo_type)
                                  : NULL;
    if (rule) {
        ida_fault_add(c, "profilePhoto", "%s", rule);
    }
}

void ida_payload_delete(ida_ctx *c, const json_t *body, int empty_body, ida_delete *out)
{
    memset(out, 0, sizeof *out);
    out->warnings = no_warnings(c);
    ida_params_read(
        c, body, ida_delete_members,
        empty_body
            ? "is required; the request arrived without a body, which some proxies and clients "
              "drop from DELETE: then send the same body with POST to /v1/api/user/offboard"
            : "is required",
        out);
}

void ida_payload_moment(ida_ctx *c, const json_t *body, ida_moment *out)
{
    memset(out, 0, sizeof *out);
    ida_params_read(c, body, ida_moment_members, "is required", out);
    if (!out->date && !out->time && !c->faults) {
        ida_fault_add(c, "date",
                      "is required, or time: they say when the task is to be carried out");
    }
}

/* --- updates --- */

/* What was given, checked by the rules of a creation: a text, or null for what is cleared. */
static void read_values(ida_ctx *c, const json_t *body, json_t *values)
{
    for (const ida_param *p = ida_update_members; p->name; p++) {
        const json_t *given = json_object_get(body, p->name);
        if (!given || p->at != IDA_PARAM_IN_VALUES) {
            continue;
        }
        int cleared = p->flags & IDA_PARAM_CLEARED;
        const char *text = ida_param_text(
            c, body, p, cleared ? NULL : "must not be empty: a name can be changed, not cleared");
        if (text || is_blank(c->pool, given)) {
            ida_json_put_or_null(values, p->name, text);
        }
    }
}

void ida_payload_update(ida_ctx *c, const json_t *body, ida_update *out)
{
    memset(out, 0, sizeof *out);
    out->warnings = no_warnings(c);
    out->values = ida_json_keep(c->pool, json_object());
    ida_params_read(c, body, ida_update_members, "is required", out);
    if (json_object_get(body, "mail")) {
        ida_fault_add(
            c, "mail",
            "cannot be changed: addresses are generated once, when the user is created, and kept");
    }
    read_values(c, body, out->values);
    out->manager_given = json_object_get(body, "manager") != NULL;
    out->enabled = read_enabled(c, json_object_get(body, "accountEnabled"));
    out->photo_given = json_object_get(body, "profilePhoto") != NULL;
    out->photo = read_photo(c, body, &out->photo_len);
    out->photo_type = out->photo ? ida_photo_type(out->photo, out->photo_len) : NULL;
    if (out->photo && !out->photo_type) {
        ida_fault_add(c, "profilePhoto", "must be a whole JPEG or PNG file");
    }
    if (!json_object_size(out->values) && out->enabled < 0 && !out->manager_given &&
        !out->photo_given && !c->faults) {
        ida_fault_add(c, "body",
                      "must hold at least one new value beside userPrincipalName, date and time");
    }
}

void ida_update_check_photo(ida_ctx *c, ida_directory_kind where, ida_update *update)
{
    const char *rule = update->photo ? ida_photo_fault(c->pool, where, update->photo,
                                                       update->photo_len, &update->photo_type)
                                     : NULL;
    if (rule) {
        ida_fault_add(c, "profilePhoto", "%s", rule);
    }
}

static int is_value(const char *name)
{
    const ida_param *p = ida_param_find(ida_update_members, name);
    return p && p->at == IDA_PARAM_IN_VALUES;
}

void ida_update_of_create(apr_pool_t *pool, const ida_create *create, const char *upn,
                          ida_update *out)
{
    memset(out, 0, sizeof *out);
    out->upn = upn;
    out->date = create->date;
    out->time = create->time;
    out->values = ida_json_keep(pool, json_object());
    for (const ida_param *p = ida_create_members; p->name; p++) {
        if (is_value(p->name)) {
            ida_json_put(out->values, p->name, ida_param_value(create, p));
        }
    }
    out->enabled = create->account_enabled ? 1 : -1;
    out->manager_given = create->manager != NULL;
    out->manager = create->manager;
    out->photo_given = create->photo != NULL;
    out->photo = create->photo;
    out->photo_len = create->photo_len;
    out->photo_type = create->photo_type;
    out->warnings = create->warnings;
}

int ida_membership_in(const json_t *membership, ida_directory_kind directory)
{
    return ida_directory_parse(ida_json_string(membership, "directory")) == (int)directory;
}

int ida_update_gives_back(const ida_update *update, ida_directory_kind directory)
{
    size_t i;
    const json_t *one;
    json_array_foreach (update->memberships, i, one) {
        if (ida_membership_in(one, directory)) {
            return 1;
        }
    }
    return 0;
}
