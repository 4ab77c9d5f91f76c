/* Owns the members of request bodies that are plain text: one table row each, how they are checked,
 * stored and loaded. Must not know what they mean together. */
#include "core/model/payload_texts.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload.h"

enum {
    REQUIRED = 1,
    LINES = 2,
    ADDRESS = 4,
    EXACT = 8
}; /* EXACT: blanks around it are not taken off, so its format refuses them */

#define IN_CREATE(member) offsetof(ida_create, member)
#define IN_DELETE(member) offsetof(ida_delete, member)
#define IN_UPDATE(member) offsetof(ida_update, member)
#define IN_MOMENT(member) offsetof(ida_moment, member)

static const ida_text_member create_texts[] = {
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
    {"date", IN_CREATE(date), 64, EXACT},
    {"time", IN_CREATE(time), 64, EXACT},
};

static const ida_text_member delete_texts[] = {
    {"userPrincipalName", IN_DELETE(upn), 256, REQUIRED | ADDRESS},
    {"date", IN_DELETE(date), 64, EXACT},
    {"time", IN_DELETE(time), 64, EXACT},
    {"firstname", IN_DELETE(firstname), 64, 0},
    {"surname", IN_DELETE(surname), 64, 0},
    {"jobTitle", IN_DELETE(job_title), 128, 0},
    {"department", IN_DELETE(department), 64, 0},
};

/* Of an update these say who and when; the members of a creation are its new values. */
static const ida_text_member update_texts[] = {
    {"userPrincipalName", IN_UPDATE(upn), 256, REQUIRED | ADDRESS},
    {"date", IN_UPDATE(date), 64, EXACT},
    {"time", IN_UPDATE(time), 64, EXACT},
};

static const ida_text_member moment_texts[] = {
    {"date", IN_MOMENT(date), 64, EXACT},
    {"time", IN_MOMENT(time), 64, EXACT},
};

#define TEXTS(table)                        \
    {                                       \
        table, sizeof table / sizeof *table \
    }
const ida_texts ida_create_texts = TEXTS(create_texts);
const ida_texts ida_delete_texts = TEXTS(delete_texts);
const ida_texts ida_update_texts = TEXTS(update_texts);
const ida_texts ida_moment_texts = TEXTS(moment_texts);

static const char **slot(void *out, const ida_text_member *m)
{
    return (const char **)((char *)out + m->at);
}

const char *ida_text_value(const void *in, const ida_text_member *m)
{
    return *(const char *const *)((const char *)in + m->at);
}

static int looks_like_upn(const char *text)
{
    const char *at = strchr(text, '@');
    return at && at != text && at[1] && !strchr(at + 1, '@') && !strpbrk(text, " \t");
}

void ida_text_read(ida_ctx *c, const json_t *body, const ida_text_member *m,
                   const char *required_rule, void *out)
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
    } else if (ida_has_control(text, m->flags & LINES)) {
        ida_fault_add(c, m->name,
                      m->flags & LINES ? "must not hold control characters other than line breaks"
                                       : "must not hold control characters or line breaks");
    } else if ((m->flags & ADDRESS) && !looks_like_upn(text)) {
        ida_fault_add(c, m->name, "must be a user principal name such as eva.berg@contoso.example");
    } else {
        *slot(out, m) = m->flags & EXACT ? json_string_value(given) : text;
    }
}

void ida_texts_read(ida_ctx *c, const json_t *body, const ida_texts *texts,
                    const char *required_rule, void *out)
{
    for (size_t i = 0; i < texts->count; i++) {
        ida_text_read(c, body, &texts->members[i], required_rule, out);
    }
}

const char *ida_texts_known(const ida_texts *texts, const char *name)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (strcasecmp(texts->members[i].name, name) == 0) {
            return texts->members[i].name;
        }
    }
    return NULL;
}

json_t *ida_texts_stored(const void *in, const ida_texts *texts)
{
    json_t *stored = json_object();
    for (size_t i = 0; i < texts->count; i++) {
        ida_json_put(stored, texts->members[i].name, ida_text_value(in, &texts->members[i]));
    }
    return stored;
}

int ida_texts_load(const json_t *stored, const ida_texts *texts, void *out)
{
    for (size_t i = 0; i < texts->count; i++) {
        const ida_text_member *m = &texts->members[i];
        const json_t *one = json_object_get(stored, m->name);
        *slot(out, m) = json_string_value(one);
        if ((one && !json_is_string(one)) || (!one && (m->flags & REQUIRED))) {
            return 0;
        }
    }
    return 1;
}
