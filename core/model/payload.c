/* Owns the bodies of create, update and delete requests: what their members mean. Must not know
 * HTTP, tasks or the store; plain texts are core/model/payload_texts.c's, dates schedule.c's,
 * photos photo.c's. */
#include "core/model/payload.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload_texts.h"
#include "core/model/photo.h"

#define WARNINGS_MAX 20
#define NAME_SHOWN_MAX 64 /* bytes of an unknown member's name in a warning */

static void warn(json_t *warnings, const char *text)
{
    json_array_append_new(warnings, json_string(text));
}

/* After all faults. Upper and lower case count; who has them wrong ("firstName") is told. */
static void warn_unknown(ida_ctx *c, const json_t *body, const ida_texts *texts,
                         const char *const *others, json_t *warnings)
{
    const char *name;
    json_t *ignored;
    size_t unknown = 0;
    json_object_foreach ((json_t *)body, name, ignored) {
        const char *known = ida_texts_known(texts, name);
        for (const char *const *other = others; !known && *other; other++) {
            known = strcasecmp(*other, name) == 0 ? *other : NULL;
        }
        if ((!known || strcmp(known, name) != 0) && ++unknown <= WARNINGS_MAX) {
            const char *shown = ida_clean(c->pool, name, strlen(name), NAME_SHOWN_MAX);
            const char *hint = known ? apr_pstrcat(c->pool, ": it is written \"", known, "\"", NULL)
                                     : "";
            warn(warnings, ida_printf(c->pool, "unknown member \"%s\" was ignored%s", shown, hint));
            if (known && c->faults) { /* warnings do not come with a refusal */
                ida_fault_add(c, shown, "is not known: it is written \"%s\"", known);
            }
        }
    }
    if (unknown > WARNINGS_MAX) {
        warn(warnings,
             ida_printf(c->pool, "%zu more unknown members were ignored", unknown - WARNINGS_MAX));
    }
}

static void check_country(ida_ctx *c, ida_create *out)
{
    if (!out->country) {
        return;
    }
    if (ida_country_code_valid(out->country)) {
        char *code = apr_pstrdup(c->pool, out->country);
        code[0] &= ~0x20;
        code[1] &= ~0x20;
        out->country = code;
        out->country_is_code = 1;
    }
}

static void check_words(ida_ctx *c, ida_create *out)
{
    if (out->preferred_language && !ida_language_tag_valid(out->preferred_language)) {
        ida_fault_add(c, "preferredLanguage", "must be a BCP 47 language tag such as sv-SE");
    }
    if (out->rehire && strcmp(out->rehire, "restore") != 0 && strcmp(out->rehire, "new") != 0) {
        ida_fault_add(c, "rehire", "must be \"restore\" or \"new\"");
    }
}

static void check_enabled(ida_ctx *c, const json_t *body, ida_create *out)
{
    const json_t *given = json_object_get(body, "accountEnabled");
    const char *text = json_string_value(given);
    out->account_enabled = 1;
    if (json_is_boolean(given)) {
        out->account_enabled = json_is_true(given);
    } else if (given && !json_is_null(given) && !(text && !ida_present(c->pool, text))) {
        ida_fault_add(c, "accountEnabled", "must be true or false");
    }
}

/* The bytes of a photo that was given and is not blank; NULL when there is none or it is a fault.
 */
static const unsigned char *read_photo(ida_ctx *c, const json_t *body, size_t *len)
{
    const json_t *given = json_object_get(body, "profilePhoto");
    const char *text = json_string_value(given);
    if (given && !json_is_null(given) && !text) {
        ida_fault_add(c, "profilePhoto", "must be a string of base64");
        return NULL;
    }
    if (!text || !ida_present(c->pool, text)) {
        return NULL;
    }
    const unsigned char *bytes = ida_base64_decode(c->pool, text, json_string_length(given), len);
    if (!bytes) {
        ida_fault_add(
            c, "profilePhoto",
            "must be base64 of RFC 4648 with padding and without blanks or a data: prefix");
    }
    return bytes;
}

static void check_photo(ida_ctx *c, const ida_tenant *tenant, const json_t *body, ida_create *out)
{
    const unsigned char *bytes = read_photo(c, body, &out->photo_len);
    if (!bytes) {
        return;
    }
    const char *rule = ida_photo_fault(c->pool, tenant->create_users_in, bytes, out->photo_len,
                                       &out->photo_type);
    if (rule) {
        ida_fault_add(c, "profilePhoto", "%s", rule);
        return;
    }
    out->photo = bytes;
}

ida_kind ida_payload_create(ida_ctx *c, const ida_tenant *tenant, const json_t *body,
                            ida_create *out)
{
    static const char *const generated[] = {"userPrincipalName", "mail"};
    static const char *const others[] = {"accountEnabled", "profilePhoto", "userPrincipalName",
                                         "mail", NULL};
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    ida_texts_read(c, body, &ida_create_texts, "is required", out);
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++) {
        const json_t *given = json_object_get(body, generated[i]);
        int absent = !given || json_is_null(given) ||
                     (json_is_string(given) && !ida_present(c->pool, json_string_value(given)));
        if (!absent) {
            ida_fault_add(c, generated[i],
                          "is not accepted: it is generated from the tenant's formats");
        }
    }
    check_enabled(c, body, out);
    check_words(c, out);
    check_country(c, out);
    check_photo(c, tenant, body, out);
    warn_unknown(c, body, &ida_create_texts, others, out->warnings);
    return IDA_OK;
}

ida_kind ida_payload_delete(ida_ctx *c, const json_t *body, int empty_body, ida_delete *out)
{
    static const char *const none[] = {NULL};
    const char *missing = empty_body ? "is required; the request arrived without a body, which "
                                       "some proxies and clients drop from DELETE: "
                                       "then send the same body with POST to /v1/api/user/offboard"
                                     : "is required";
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    ida_texts_read(c, body, &ida_delete_texts, missing, out);
    warn_unknown(c, body, &ida_delete_texts, none, out->warnings);
    return IDA_OK;
}

/* --- updates --- */

/* Members of a creation that are no plain value of the account. */
static int is_apart(const char *name)
{
    static const char *const apart[] = {"manager", "date", "time", "rehire"};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        if (strcmp(apart[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_cleared(apr_pool_t *pool, const json_t *given)
{
    return json_is_null(given) ||
           (json_is_string(given) && !ida_present(pool, json_string_value(given)));
}

/* The new values as a creation would have them, checked by the same rules; then what was given of
 * them. */
static void read_values(ida_ctx *c, const json_t *body, ida_update *out)
{
    ida_create scratch = {.warnings = out->warnings};
    const ida_text_member *m = ida_create_texts.members;
    for (size_t i = 0; i < ida_create_texts.count; i++) {
        if (json_object_get(body, m[i].name) && strcmp(m[i].name, "rehire") != 0) {
            ida_text_read(c, body, &m[i], "must not be empty: a name can be changed, not cleared",
                          &scratch);
        }
    }
    check_words(c, &scratch);
    check_country(c, &scratch);
    for (size_t i = 0; i < ida_create_texts.count; i++) {
        const json_t *given = json_object_get(body, m[i].name);
        if (!given || is_apart(m[i].name)) {
            continue;
        }
        if (ida_text_value(&scratch, &m[i])) {
            ida_json_put(out->values, m[i].name, ida_text_value(&scratch, &m[i]));
        } else if (is_cleared(c->pool, given)) {
            json_object_set_new(out->values, m[i].name, json_null());
        }
    }
    out->manager_given = json_object_get(body, "manager") != NULL;
    out->manager = scratch.manager;
}

static void read_update_enabled(ida_ctx *c, const json_t *body, ida_update *out)
{
    const json_t *given = json_object_get(body, "accountEnabled");
    out->enabled = json_is_boolean(given) ? json_is_true(given) : -1;
    if (given && !json_is_boolean(given)) {
        ida_fault_add(c, "accountEnabled", "must be true or false");
    }
}

ida_kind ida_payload_update(ida_ctx *c, const json_t *body, ida_update *out)
{
    static const char *const others[] = {"accountEnabled", "profilePhoto", "userPrincipalName",
                                         "mail", NULL};
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    out->values = ida_json_keep(c->pool, json_object());
    ida_texts_read(c, body, &ida_update_texts, "is required", out);
    if (json_object_get(body, "mail")) {
        ida_fault_add(
            c, "mail",
            "cannot be changed: addresses are generated once, when the user is created, and kept");
    }
    read_values(c, body, out);
    read_update_enabled(c, body, out);
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
    json_t *foreign = ida_json_keep(c->pool, json_copy((json_t *)body));
    if (json_object_get(body, "rehire")) {
        json_object_del(foreign, "rehire");
        warn(out->warnings, "unknown member \"rehire\" was ignored: it belongs to creations");
    }
    warn_unknown(c, foreign, &ida_create_texts, others, out->warnings);
    return IDA_OK;
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

void ida_update_of_create(apr_pool_t *pool, const ida_create *create, const char *upn,
                          ida_update *out)
{
    memset(out, 0, sizeof *out);
    out->upn = upn;
    out->date = create->date;
    out->time = create->time;
    out->values = ida_json_keep(pool, ida_texts_stored(create, &ida_create_texts));
    for (size_t i = 0; i < ida_create_texts.count; i++) {
        if (is_apart(ida_create_texts.members[i].name)) {
            json_object_del(out->values, ida_create_texts.members[i].name);
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

ida_kind ida_payload_moment(ida_ctx *c, const json_t *body, ida_moment *out)
{
    static const char *const none[] = {NULL};
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    ida_texts_read(c, body, &ida_moment_texts, "is required", out);
    if (!out->date && !out->time && !c->faults) {
        ida_fault_add(c, "date",
                      "is required, or time: they say when the task is to be carried out");
    }
    warn_unknown(c, body, &ida_moment_texts, none, out->warnings);
    return IDA_OK;
}
