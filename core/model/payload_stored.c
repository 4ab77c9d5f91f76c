/* Owns the storage form of bodies (task.payload). Must not know where it is stored. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload.h"
#include "core/model/photo.h"

static ida_kind damaged(ida_ctx *c)
{
    return ida_fail(c, IDA_INTERNAL_ERROR, "The stored payload of a task is damaged.");
}

/* NULL, and its type too, unless it is the text of a photo. */
static const unsigned char *load_photo(apr_pool_t *pool, const json_t *stored, size_t *len,
                                       const char **type)
{
    const char *text = json_string_value(stored);
    const unsigned char *photo = text ? ida_base64_decode(pool, text, json_string_length(stored),
                                                          len)
                                      : NULL;
    *type = photo ? ida_photo_type(photo, *len) : NULL;
    return photo;
}

json_t *ida_create_to_json(apr_pool_t *pool, const ida_create *create)
{
    json_t *stored = ida_json_keep(pool, ida_params_stored(create, ida_create_members));
    json_object_set_new(stored, "accountEnabled", json_boolean(create->account_enabled));
    if (create->role_templates) {
        json_object_set(stored, "roleTemplates", (json_t *)(uintptr_t)create->role_templates);
    }
    if (create->photo) {
        ida_json_put(stored, "profilePhoto",
                     ida_base64_encode(pool, create->photo, create->photo_len));
    }
    return stored;
}

ida_kind ida_create_from_json(ida_ctx *c, const json_t *stored, ida_create *out)
{
    memset(out, 0, sizeof *out);
    if (!json_is_object(stored) || !ida_params_load(stored, ida_create_members, out) ||
        !json_is_boolean(json_object_get(stored, "accountEnabled"))) {
        return damaged(c);
    }
    out->warnings = ida_json_keep(c->pool, json_array());
    out->account_enabled = json_is_true(json_object_get(stored, "accountEnabled"));
    out->country_is_code = out->country && ida_country_code_valid(out->country);
    const json_t *photo = json_object_get(stored, "profilePhoto");
    out->photo = load_photo(c->pool, photo, &out->photo_len, &out->photo_type);
    return photo && !out->photo_type ? damaged(c) : IDA_OK;
}

json_t *ida_delete_to_json(apr_pool_t *pool, const ida_delete *del)
{
    return ida_json_keep(pool, ida_params_stored(del, ida_delete_members));
}

json_t *ida_update_to_json(apr_pool_t *pool, const ida_update *update)
{
    json_t *stored = ida_json_keep(pool, ida_params_stored(update, ida_update_members));
    json_object_set(stored, "values", update->values);
    if (update->enabled >= 0) {
        json_object_set_new(stored, "accountEnabled", json_boolean(update->enabled));
    }
    if (update->manager_given) {
        ida_json_put_or_null(stored, "manager", update->manager);
    }
    if (update->photo_given) {
        ida_json_put_or_null(stored, "profilePhoto",
                             update->photo
                                 ? ida_base64_encode(pool, update->photo, update->photo_len)
                                 : NULL);
    }
    if (update->memberships) {
        json_object_set(stored, "memberships", (json_t *)update->memberships);
        ida_json_put(stored, "managerBefore", update->manager_before);
    }
    return stored;
}

ida_kind ida_update_from_json(ida_ctx *c, const json_t *stored, ida_update *out)
{
    memset(out, 0, sizeof *out);
    const json_t *enabled = json_object_get(stored, "accountEnabled"),
                 *manager = json_object_get(stored, "manager"),
                 *photo = json_object_get(stored, "profilePhoto");
    out->values = json_object_get(stored, "values");
    if (!json_is_object(out->values) || !ida_params_load(stored, ida_update_members, out)) {
        return damaged(c);
    }
    out->warnings = ida_json_keep(c->pool, json_array());
    out->enabled = enabled ? json_is_true(enabled) : -1;
    out->manager_given = manager != NULL;
    out->photo_given = photo != NULL;
    out->memberships = json_object_get(stored, "memberships");
    out->manager_before = ida_json_string(stored, "managerBefore");
    out->photo = load_photo(c->pool, photo, &out->photo_len, &out->photo_type);
    return json_is_string(photo) && !out->photo_type ? damaged(c) : IDA_OK;
}
