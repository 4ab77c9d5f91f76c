/* Owns the bodies of create, update and delete requests: one table row per member, checks, storage form. Must not know HTTP, tasks or the
 * store; dates are schedule.c's, photos photo.c's. */
#include "core/payload.h"

#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "core/json.h"
#include "core/photo.h"
#include "core/text.h"

#define WARNINGS_MAX 20
#define NAME_SHOWN_MAX 64 /* bytes of an unknown member's name in a warning */

enum { REQUIRED = 1, LINES = 2, ADDRESS = 4 };

typedef struct text_member {
    const char *name;
    size_t at;       /* of the const char * in the struct */
    size_t limit;    /* UTF-16 units (contracts of the directories) */
    int flags;
} text_member;

#define IN_CREATE(member) offsetof(ida_create, member)
#define IN_DELETE(member) offsetof(ida_delete, member)
#define IN_UPDATE(member) offsetof(ida_update, member)
#define IN_MOMENT(member) offsetof(ida_moment, member)

static const text_member create_texts[] = {
    {"firstname", IN_CREATE(firstname), 64, REQUIRED},
    {"surname", IN_CREATE(surname), 64, REQUIRED},
    {"middleName", IN_CREATE(middle_name), 64, 0},
    {"jobTitle", IN_CREATE(job_title), 128, 0},
    {"department", IN_CREATE(department), 64, 0},
    {"company", IN_CREATE(company), 64, 0},
    {"office", IN_CREATE(office), 128, 0},
    {"city", IN_CREATE(city), 128, 0},
    {"country", IN_CREATE(country), 128, 0},
    {"streetAddress", IN_CREATE(street_address), 1024, LINES},
    {"postalCode", IN_CREATE(postal_code), 40, 0},
    {"preferredLanguage", IN_CREATE(preferred_language), 128, 0},
    {"employeeId", IN_CREATE(employee_id), 16, 0},
    {"rehire", IN_CREATE(rehire), 16, 0},
    {"manager", IN_CREATE(manager), 256, ADDRESS},
    {"date", IN_CREATE(date), 64, 0},
    {"time", IN_CREATE(time), 64, 0},
};

static const text_member delete_texts[] = {
    {"userPrincipalName", IN_DELETE(upn), 256, REQUIRED | ADDRESS},
    {"date", IN_DELETE(date), 64, 0},
    {"time", IN_DELETE(time), 64, 0},
    {"firstname", IN_DELETE(firstname), 64, 0},
    {"surname", IN_DELETE(surname), 64, 0},
    {"jobTitle", IN_DELETE(job_title), 128, 0},
    {"department", IN_DELETE(department), 64, 0},
};

/* Of an update these say who and when; the members of a creation are its new values. */
static const text_member update_texts[] = {
    {"userPrincipalName", IN_UPDATE(upn), 256, REQUIRED | ADDRESS},
    {"date", IN_UPDATE(date), 64, 0},
    {"time", IN_UPDATE(time), 64, 0},
};

static const text_member moment_texts[] = {
    {"date", IN_MOMENT(date), 64, 0},
    {"time", IN_MOMENT(time), 64, 0},
};

enum {
    CREATE_TEXTS = sizeof create_texts / sizeof *create_texts,
    DELETE_TEXTS = sizeof delete_texts / sizeof *delete_texts,
    UPDATE_TEXTS = sizeof update_texts / sizeof *update_texts,
    MOMENT_TEXTS = sizeof moment_texts / sizeof *moment_texts
};

static const char **slot(void *out, const text_member *m)
{
    return (const char **)((char *)out + m->at);
}

static const char *value(const void *in, const text_member *m)
{
    return *(const char *const *)((const char *)in + m->at);
}

/* C0 and C1 control characters and DEL; line ends and tabs pass where an address may have several lines. */
static int has_control(const char *text, int lines)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        int line_end = *p == '\n' || *p == '\r' || *p == '\t';
        if ((*p < 0x20 && !(lines && line_end)) || *p == 0x7F || (*p == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0)) {
            return 1;
        }
    }
    return 0;
}

static int looks_like_upn(const char *text)
{
    const char *at = strchr(text, '@');
    return at && at != text && at[1] && !strchr(at + 1, '@') && !strpbrk(text, " \t");
}

static void read_text(ida_ctx *c, const json_t *body, const text_member *m, const char *required_rule, void *out)
{
    const json_t *given = json_object_get(body, m->name);
    if (given && !json_is_null(given) && !json_is_string(given)) {
        ida_fault_add(c, m->name, "must be a string");
        return;
    }
    const char *text = ida_present(c->pool, json_string_value(given));
    if (!text) {
        if (m->flags & REQUIRED) {
            ida_fault_add(c, m->name, "%s", required_rule);
        }
    } else if (ida_utf16_length(text) > m->limit) {
        ida_fault_add(c, m->name, "must be at most %zu characters", m->limit);
    } else if (has_control(text, m->flags & LINES)) {
        ida_fault_add(c, m->name, m->flags & LINES ? "must not hold control characters other than line breaks"
                                                   : "must not hold control characters or line breaks");
    } else if ((m->flags & ADDRESS) && !looks_like_upn(text)) {
        ida_fault_add(c, m->name, "must be a user principal name such as eva.berg@contoso.example");
    } else {
        *slot(out, m) = text;
    }
}

static int is_text(const text_member *members, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

static void warn(json_t *warnings, const char *text)
{
    json_array_append_new(warnings, json_string(text));
}

static void warn_unknown(ida_ctx *c, const json_t *body, const text_member *members, size_t count, const char *const *others,
                         json_t *warnings)
{
    const char *name;
    json_t *ignored;
    size_t unknown = 0;
    json_object_foreach((json_t *)body, name, ignored) {
        int known = is_text(members, count, name);
        for (const char *const *other = others; !known && *other; other++) {
            known = strcmp(*other, name) == 0;
        }
        if (!known && ++unknown <= WARNINGS_MAX) {
            warn(warnings, ida_printf(c->pool, "unknown member \"%s\" was ignored",
                                      ida_clean(c->pool, name, strlen(name), NAME_SHOWN_MAX)));
        }
    }
    if (unknown > WARNINGS_MAX) {
        warn(warnings, ida_printf(c->pool, "%zu more unknown members were ignored", unknown - WARNINGS_MAX));
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
        return;
    }
    warn(out->warnings,
         ida_printf(c->pool, "country \"%s\" is not an ISO 3166-1 alpha-2 code; it was kept as text and no usage location is set",
                    ida_clean(c->pool, out->country, strlen(out->country), NAME_SHOWN_MAX)));
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

/* The bytes of a photo that was given and is not blank; NULL when there is none or it is a fault. */
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
        ida_fault_add(c, "profilePhoto", "must be base64 of RFC 4648 with padding and without blanks or a data: prefix");
    }
    return bytes;
}

static void check_photo(ida_ctx *c, const ida_tenant *tenant, const json_t *body, ida_create *out)
{
    const unsigned char *bytes = read_photo(c, body, &out->photo_len);
    if (!bytes) {
        return;
    }
    const char *rule = ida_photo_fault(c->pool, tenant, tenant->create_users_in, bytes, out->photo_len, &out->photo_type);
    if (rule) {
        ida_fault_add(c, "profilePhoto", "%s", rule);
        return;
    }
    out->photo = bytes;
}

ida_kind ida_payload_create(ida_ctx *c, const ida_tenant *tenant, const json_t *body, ida_create *out)
{
    static const char *const generated[] = {"userPrincipalName", "mail"};
    static const char *const others[] = {"accountEnabled", "profilePhoto", "userPrincipalName", "mail", NULL};
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    for (size_t i = 0; i < CREATE_TEXTS; i++) {
        read_text(c, body, &create_texts[i], "is required", out);
    }
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++) {
        const json_t *given = json_object_get(body, generated[i]);
        int absent = !given || json_is_null(given) || (json_is_string(given) && !ida_present(c->pool, json_string_value(given)));
        if (!absent) {
            ida_fault_add(c, generated[i], "is not accepted: it is generated from the tenant's formats");
        }
    }
    check_enabled(c, body, out);
    check_words(c, out);
    check_country(c, out);
    check_photo(c, tenant, body, out);
    warn_unknown(c, body, create_texts, CREATE_TEXTS, others, out->warnings);
    return IDA_OK;
}

ida_kind ida_payload_delete(ida_ctx *c, const json_t *body, int empty_body, ida_delete *out)
{
    static const char *const none[] = {NULL};
    const char *missing =
        empty_body ? "is required; the request arrived without a body, which some proxies and clients drop from DELETE: "
                     "then send the same body with POST to /v1/api/user/offboard"
                   : "is required";
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    for (size_t i = 0; i < DELETE_TEXTS; i++) {
        read_text(c, body, &delete_texts[i], missing, out);
    }
    warn_unknown(c, body, delete_texts, DELETE_TEXTS, none, out->warnings);
    return IDA_OK;
}

static json_t *stored_texts(const void *in, const text_member *members, size_t count)
{
    json_t *stored = json_object();
    for (size_t i = 0; i < count; i++) {
        ida_json_put(stored, members[i].name, value(in, &members[i]));
    }
    return stored;
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
    return json_is_null(given) || (json_is_string(given) && !ida_present(pool, json_string_value(given)));
}

/* The new values as a creation would have them, checked by the same rules; then what was given of them. */
static void read_values(ida_ctx *c, const json_t *body, ida_update *out)
{
    ida_create scratch = {.warnings = out->warnings};
    const text_member *m = create_texts;
    for (size_t i = 0; i < CREATE_TEXTS; i++) {
        if (json_object_get(body, m[i].name) && strcmp(m[i].name, "rehire") != 0) {
            read_text(c, body, &m[i], "must not be empty: a name can be changed, not cleared", &scratch);
        }
    }
    check_words(c, &scratch);
    check_country(c, &scratch);
    for (size_t i = 0; i < CREATE_TEXTS; i++) {
        const json_t *given = json_object_get(body, m[i].name);
        if (!given || is_apart(m[i].name)) {
            continue;
        }
        if (value(&scratch, &m[i])) {
            ida_json_put(out->values, m[i].name, value(&scratch, &m[i]));
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
    static const char *const others[] = {"accountEnabled", "profilePhoto", "userPrincipalName", "mail", NULL};
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    out->values = ida_json_keep(c->pool, json_object());
    for (size_t i = 0; i < UPDATE_TEXTS; i++) {
        read_text(c, body, &update_texts[i], "is required", out);
    }
    if (json_object_get(body, "mail")) {
        ida_fault_add(c, "mail", "cannot be changed: addresses are generated once, when the user is created, and kept");
    }
    read_values(c, body, out);
    read_update_enabled(c, body, out);
    out->photo_given = json_object_get(body, "profilePhoto") != NULL;
    out->photo = read_photo(c, body, &out->photo_len);
    out->photo_type = out->photo ? ida_photo_type(out->photo, out->photo_len) : NULL;
    if (out->photo && !out->photo_type) {
        ida_fault_add(c, "profilePhoto", "must be a whole JPEG or PNG file");
    }
    if (!json_object_size(out->values) && out->enabled < 0 && !out->manager_given && !out->photo_given && !c->faults) {
        ida_fault_add(c, "body", "must hold at least one new value beside userPrincipalName, date and time");
    }
    json_t *foreign = ida_json_keep(c->pool, json_copy((json_t *)body));
    if (json_object_get(body, "rehire")) {
        json_object_del(foreign, "rehire");
        warn(out->warnings, "unknown member \"rehire\" was ignored: it belongs to creations");
    }
    warn_unknown(c, foreign, create_texts, CREATE_TEXTS, others, out->warnings);
    return IDA_OK;
}

void ida_update_check_photo(ida_ctx *c, const ida_tenant *tenant, ida_directory_kind where, ida_update *update)
{
    const char *rule =
        update->photo ? ida_photo_fault(c->pool, tenant, where, update->photo, update->photo_len, &update->photo_type) : NULL;
    if (rule) {
        ida_fault_add(c, "profilePhoto", "%s", rule);
    }
}

void ida_update_of_create(apr_pool_t *pool, const ida_create *create, const char *upn, ida_update *out)
{
    memset(out, 0, sizeof *out);
    out->upn = upn;
    out->date = create->date;
    out->time = create->time;
    out->values = ida_json_keep(pool, stored_texts(create, create_texts, CREATE_TEXTS));
    for (size_t i = 0; i < CREATE_TEXTS; i++) {
        if (is_apart(create_texts[i].name)) {
            json_object_del(out->values, create_texts[i].name);
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

ida_kind ida_payload_moment(ida_ctx *c, const json_t *body, ida_moment *out)
{
    static const char *const none[] = {NULL};
    memset(out, 0, sizeof *out);
    out->warnings = ida_json_keep(c->pool, json_array());
    for (size_t i = 0; i < MOMENT_TEXTS; i++) {
        read_text(c, body, &moment_texts[i], "is required", out);
    }
    if (!out->date && !out->time && !c->faults) {
        ida_fault_add(c, "date", "is required, or time: they say when the task is to be carried out");
    }
    warn_unknown(c, body, moment_texts, MOMENT_TEXTS, none, out->warnings);
    return IDA_OK;
}

/* --- storage form --- */

/* 0 when a member is there but no text. */
static int load_texts(const json_t *stored, const text_member *members, size_t count, void *out)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_object_get(stored, members[i].name);
        *slot(out, &members[i]) = json_string_value(one);
        if ((one && !json_is_string(one)) || (!one && (members[i].flags & REQUIRED))) {
            return 0;
        }
    }
    return 1;
}

static ida_kind damaged(ida_ctx *c)
{
    return ida_fail(c, IDA_INTERNAL_ERROR, "The stored payload of a task is damaged.");
}

json_t *ida_create_to_json(apr_pool_t *pool, const ida_create *create)
{
    json_t *stored = ida_json_keep(pool, stored_texts(create, create_texts, CREATE_TEXTS));
    json_object_set_new(stored, "accountEnabled", json_boolean(create->account_enabled));
    if (create->photo) {
        ida_json_put(stored, "profilePhoto", ida_base64_encode(pool, create->photo, create->photo_len));
    }
    return stored;
}

ida_kind ida_create_from_json(ida_ctx *c, const json_t *stored, ida_create *out)
{
    memset(out, 0, sizeof *out);
    if (!json_is_object(stored) || !load_texts(stored, create_texts, CREATE_TEXTS, out) ||
        !json_is_boolean(json_object_get(stored, "accountEnabled"))) {
        return damaged(c);
    }
    out->warnings = ida_json_keep(c->pool, json_array());
    out->account_enabled = json_is_true(json_object_get(stored, "accountEnabled"));
    out->country_is_code = out->country && ida_country_code_valid(out->country);
    const json_t *photo = json_object_get(stored, "profilePhoto");
    if (photo) {
        const char *text = json_string_value(photo);
        out->photo = text ? ida_base64_decode(c->pool, text, json_string_length(photo), &out->photo_len) : NULL;
        out->photo_type = out->photo ? ida_photo_type(out->photo, out->photo_len) : NULL;
        if (!out->photo_type) {
            return damaged(c);
        }
    }
    return IDA_OK;
}

json_t *ida_delete_to_json(apr_pool_t *pool, const ida_delete *del)
{
    return ida_json_keep(pool, stored_texts(del, delete_texts, DELETE_TEXTS));
}

ida_kind ida_delete_from_json(ida_ctx *c, const json_t *stored, ida_delete *out)
{
    memset(out, 0, sizeof *out);
    if (!json_is_object(stored) || !load_texts(stored, delete_texts, DELETE_TEXTS, out)) {
        return damaged(c);
    }
    out->warnings = ida_json_keep(c->pool, json_array());
    return IDA_OK;
}

int ida_membership_in(const json_t *membership, ida_directory_kind directory)
{
    return ida_directory_parse(ida_json_string(membership, "directory")) == (int)directory;
}

int ida_update_gives_back(const ida_update *update, ida_directory_kind directory)
{
    size_t i;
    const json_t *one;
    json_array_foreach(update->memberships, i, one) {
        if (ida_membership_in(one, directory)) {
            return 1;
        }
    }
    return 0;
}

json_t *ida_update_to_json(apr_pool_t *pool, const ida_update *update)
{
    json_t *stored = ida_json_keep(pool, stored_texts(update, update_texts, UPDATE_TEXTS));
    json_object_set(stored, "values", update->values);
    if (update->enabled >= 0) {
        json_object_set_new(stored, "accountEnabled", json_boolean(update->enabled));
    }
    if (update->manager_given) {
        ida_json_put_or_null(stored, "manager", update->manager);
    }
    if (update->photo_given) {
        ida_json_put_or_null(stored, "profilePhoto",
                             update->photo ? ida_base64_encode(pool, update->photo, update->photo_len) : NULL);
    }
    if (update->memberships) {
        json_object_set(stored, "memberships", (json_t *)update->memberships);
    }
    return stored;
}

ida_kind ida_update_from_json(ida_ctx *c, const json_t *stored, ida_update *out)
{
    memset(out, 0, sizeof *out);
    const json_t *enabled = json_object_get(stored, "accountEnabled"), *manager = json_object_get(stored, "manager"),
                 *photo = json_object_get(stored, "profilePhoto");
    out->values = json_object_get(stored, "values");
    if (!json_is_object(out->values) || !load_texts(stored, update_texts, UPDATE_TEXTS, out)) {
        return damaged(c);
    }
    out->warnings = ida_json_keep(c->pool, json_array());
    out->enabled = enabled ? json_is_true(enabled) : -1;
    out->manager_given = manager != NULL;
    out->manager = json_string_value(manager);
    out->photo_given = photo != NULL;
    out->memberships = json_object_get(stored, "memberships");
    if (json_is_string(photo)) {
        out->photo = ida_base64_decode(c->pool, json_string_value(photo), json_string_length(photo), &out->photo_len);
        out->photo_type = out->photo ? ida_photo_type(out->photo, out->photo_len) : NULL;
        if (!out->photo_type) {
            return damaged(c);
        }
    }
    return IDA_OK;
}
