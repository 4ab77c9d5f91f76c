/* Owns the table of dialects: attribute names, how enabled is written and read, groups, the way of syncing. Must not know
 * connections. */
#include "worker/ldap_dialect.h"

#include <apr_strings.h>
#include <string.h>
#include <strings.h>
#include <unicode/utf8.h>

#include "core/text.h"

/* First letters of the middle names: all that `initials` is for. */
static const char *initials(apr_pool_t *pool, const char *value, const char **loss)
{
    char *out = apr_palloc(pool, strlen(value) + 1), *to = out;
    int32_t len = (int32_t)strlen(value), at = 0, first = 1;
    while (at < len) {
        int32_t start = at;
        UChar32 letter;
        U8_NEXT(value, at, len, letter);
        if (letter == ' ' || letter == '-') {
            first = 1;
        } else if (first) {
            memcpy(to, value + start, (size_t)(at - start));
            to += at - start;
            first = 0;
        }
    }
    *to = '\0';
    if (strcmp(out, value) != 0) {
        *loss = apr_pstrcat(pool, "middleName: this directory keeps initials only (", out, ")", NULL);
    }
    return *out ? out : NULL;
}

static const char *country_code(apr_pool_t *pool, const char *value, const char **loss)
{
    if (!ida_country_code_valid(value)) {
        *loss = apr_pstrcat(pool, "country: this directory keeps two-letter codes only; \"", value, "\" was left out", NULL);
        return NULL;
    }
    return value;
}

#define CREATE(member) offsetof(ida_create, member)
#define CACHE(member) offsetof(sync_user, member)

static const ld_field openldap_fields[] = {
    {"firstname", CREATE(firstname), CACHE(given_name), "givenName", NULL, NULL, NULL},
    {"surname", CREATE(surname), CACHE(surname), "sn", NULL, NULL, NULL},
    {"middleName", CREATE(middle_name), LD_NO_FIELD, "initials", NULL, initials, NULL},
    {"jobTitle", CREATE(job_title), CACHE(job_title), "title", NULL, NULL, NULL},
    {"department", CREATE(department), CACHE(department), "departmentNumber", "ou", NULL, NULL},
    {"company", CREATE(company), CACHE(company), "o", NULL, NULL, NULL},
    {"office", CREATE(office), CACHE(office), "physicalDeliveryOfficeName", NULL, NULL, NULL},
    {"city", CREATE(city), CACHE(city), "l", NULL, NULL, NULL},
    {"country", CREATE(country), CACHE(country), "c", NULL, country_code, NULL},
    {"streetAddress", CREATE(street_address), LD_NO_FIELD, "street", NULL, NULL, NULL},
    {"postalCode", CREATE(postal_code), LD_NO_FIELD, "postalCode", NULL, NULL, NULL},
    {"preferredLanguage", CREATE(preferred_language), LD_NO_FIELD, "preferredLanguage", NULL, NULL, NULL},
    {"employeeId", CREATE(employee_id), CACHE(employee_id), "employeeNumber", NULL, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL, NULL},
};

static const char *const openldap_sign_ins[] = {"pwdLastSuccess", "authTimestamp", NULL};

static const ld_dialect dialects[] = {
    {
        .name = "openLdap",
        .foreign = "1.2.840.113556.1.4.800",
        .foreign_name = "Active Directory",
        .user_class = "inetOrgPerson",
        .user_filter = "(objectClass=inetOrgPerson)",
        .static_group_class = "groupOfNames",
        .dynamic_group_class = "groupOfURLs",
        .group_filter = "(|(objectClass=groupOfNames)(objectClass=groupOfURLs))",
        .dynamic_filter = "(objectClass=groupOfURLs)",
        .member = "member",
        .rule = "memberURL",
        .member_of = "memberOf",
        .group_name = "cn",
        .id = "entryUUID",
        .stamp = "entryCSN",
        .login = "uid",
        .mail = "mail",
        .upn = "mail",
        .marker = "description",
        .photo = "jpegPhoto",
        .photo_type = "image/jpeg",
        .manager = "manager",
        .created = "createTimestamp",
        .password = "userPassword",
        .sign_ins = openldap_sign_ins,
        .lock = "pwdAccountLockedTime",
        .locked = "000001010000Z",
        .lock_missing = "the server does not know pwdAccountLockedTime, so accounts cannot be disabled: load the ppolicy overlay",
        .needs_member = 1,
        .sync = LD_SYNC_SYNCREPL,
        .fields = openldap_fields,
    },
};

const ld_dialect *ld_dialect_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof dialects / sizeof *dialects; i++) {
        if (strcmp(dialects[i].name, name) == 0) {
            return &dialects[i];
        }
    }
    return NULL;
}

const char *ld_field_name(const ld_dialect *t, const char *attribute)
{
    for (const ld_field *f = t->fields; f->name; f++) {
        if (strcasecmp(f->attribute, attribute) == 0) {
            return f->name;
        }
    }
    return attribute;
}

const char *ld_dialects_text(void)
{
    return dialects[0].name;
}
