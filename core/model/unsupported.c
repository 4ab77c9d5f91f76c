/* Owns the table of values that each kind of directory cannot store. Must not know the callers. */
#include "core/model/unsupported.h"

#include <string.h>

#include "core/base/context.h"
#include "core/base/json.h"
#include "core/base/text.h"

#define VALUE_SHOWN_MAX 64 /* bytes */

enum { CLOUD = 1, OPENLDAP = 2, ACTIVE_DIRECTORY = 4 };

static int any(const ida_tenant *tenant, const char *value)
{
    (void)tenant;
    return *value != '\0';
}

/* The value is stored as part of the display name. */
static int is_hidden(const ida_tenant *tenant, const char *value)
{
    return *value && !strstr(tenant->display_name_format, "{middleName");
}

static int is_words(const ida_tenant *tenant, const char *value)
{
    return any(tenant, value) && !ida_country_code_valid(value);
}

static int is_code(const ida_tenant *tenant, const char *value)
{
    (void)tenant;
    return ida_country_code_valid(value);
}

static int is_png(const ida_tenant *tenant, const char *value)
{
    (void)tenant;
    return strcmp(value, "image/png") == 0;
}

static const struct rule {
    const char *field;
    int where, partly;
    int (*holds)(const ida_tenant *tenant, const char *value);
    const char *reason;
} rules[] = {
    {"middleName", CLOUD, 0, is_hidden, "is not kept: the cloud directory has no property for it"},
    {"middleName", OPENLDAP, 1, any, "is kept as initials only"},
    {"country", OPENLDAP, 1, is_code,
     "is kept only if the server's schema has a place for the attribute c, which the schemas that "
     "come with OpenLDAP have not"},
    {"country", OPENLDAP, 0, is_words,
     "is not kept: this directory takes two-letter codes (ISO 3166-1 alpha-2) only"},
    {"country", CLOUD, 1, is_words,
     "is kept as text: it is no two-letter code (ISO 3166-1 alpha-2), so no usage location is set"},
    {"country", ACTIVE_DIRECTORY, 1, is_words,
     "is kept as text: it is no two-letter code (ISO 3166-1 alpha-2)"},
    {"profilePhoto", OPENLDAP, 0, is_png,
     "is not kept: this directory takes JPEG only, and this is a PNG"},
};

static int kind_of(const ida_tenant *tenant, ida_directory_kind where)
{
    return where == IDA_DIR_CLOUD                                        ? CLOUD
           : tenant->dialect && strcmp(tenant->dialect, "openLdap") == 0 ? OPENLDAP
                                                                         : ACTIVE_DIRECTORY;
}

const char *ida_unsupported(const ida_tenant *tenant, ida_directory_kind where, const char *field,
                            const char *value, int *partly)
{
    for (size_t i = 0; value && i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];
        if ((r->where & kind_of(tenant, where)) && strcmp(r->field, field) == 0 &&
            r->holds(tenant, value)) {
            *partly = r->partly;
            return r->reason;
        }
    }
    return NULL;
}

void ida_warn_unsupported(apr_pool_t *pool, const ida_tenant *tenant, ida_directory_kind where,
                          const json_t *values, const char *photo_type, json_t *warnings)
{
    static const char *const fields[] = {"middleName", "country", "profilePhoto"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int photo = strcmp(fields[i], "profilePhoto") == 0, partly;
        const char *value = photo ? photo_type : ida_json_string(values, fields[i]);
        const char *reason = ida_unsupported(tenant, where, fields[i], value, &partly);
        if (reason) {
            const char *shown = photo ? ""
                                      : ida_printf(pool, " \"%s\"",
                                                   ida_clean(pool, value, strlen(value),
                                                             VALUE_SHOWN_MAX));
            json_array_append_new(warnings, json_string(ida_printf(pool, "%s%s %s", fields[i],
                                                                   shown, reason)));
        }
    }
}
