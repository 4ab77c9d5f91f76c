/* Owns the table of dialects: attribute names, how enabled is written and read, groups, the way of
 * syncing. Must not know connections. */
#include "worker/ldap/wire/dialect.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unicode/uloc.h>
#include <unicode/uregion.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include "core/base/text.h"

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
        *loss = apr_pstrcat(pool, "middleName: this directory keeps initials only (", out, ")",
                            NULL);
    }
    return *out ? out : NULL;
}

static const char *upper(apr_pool_t *pool, const char *code)
{
    char *out = apr_pstrdup(pool, code);
    for (char *at = out; *at; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    return out;
}

static const char *country_code(apr_pool_t *pool, const char *value, const char **loss)
{
    if (!ida_country_code_valid(value)) {
        *loss = apr_pstrcat(pool, "country: this directory keeps two-letter codes only; \"", value,
                            "\" was left out", NULL);
        return NULL;
    }
    return upper(pool, value);
}

/* Active Directory keeps a country three times: code, name and number. A text that is no code is
 * kept as the name alone. */
static const char *code_alone(apr_pool_t *pool, const char *value, const char **loss)
{
    (void)loss;
    return ida_country_code_valid(value) ? upper(pool, value) : NULL;
}

static const char *country_name(apr_pool_t *pool, const char *value, const char **loss)
{
    UChar name[128];
    char text[384];
    int32_t len = 0;
    UErrorCode status = U_ZERO_ERROR;
    (void)loss;
    if (!ida_country_code_valid(value)) {
        return value;
    }
    uloc_getDisplayCountry(apr_pstrcat(pool, "und_", upper(pool, value), NULL), "en", name, 128,
                           &status);
    u_strToUTF8(text, sizeof text, &len, name, -1, &status);
    return U_SUCCESS(status) && len < (int32_t)sizeof text
               ? apr_pstrmemdup(pool, text, (apr_size_t)len)
               : value;
}

static const char *country_number(apr_pool_t *pool, const char *value, const char **loss)
{
    UErrorCode status = U_ZERO_ERROR;
    (void)loss;
    const URegion *region = ida_country_code_valid(value)
                                ? uregion_getRegionFromCode(upper(pool, value), &status)
                                : NULL;
    int32_t number = region && U_SUCCESS(status) ? uregion_getNumericCode(region) : 0;
    return number > 0 ? apr_psprintf(pool, "%d", (int)number) : NULL;
}

/* One value with line breaks inside. */
static const char *with_breaks(apr_pool_t *pool, const char *value, const char **loss)
{
    char *out = apr_palloc(pool, 2 * strlen(value) + 1), *to = out;
    (void)loss;
    for (const char *from = value; *from; from++) {
        if (*from == '\n' && (from == value || from[-1] != '\r')) {
            *to++ = '\r';
        }
        *to++ = *from;
    }
    *to = '\0';
    return out;
}

#define CREATE(member) offsetof(ida_create, member)
#define CACHE(member) offsetof(cache_user, member)
#define ATTRIBUTE(...) .attribute = __VA_ARGS__
#define IN_OPENLDAP(column, name, listed, property, kind, max, about, openldap, ...) \
    {name, CREATE(column), CACHE(column), ATTRIBUTE openldap},
#define IN_ACTIVE_DIRECTORY(column, name, listed, property, kind, max, about, openldap, ad) \
    {name, CREATE(column), CACHE(column), ATTRIBUTE ad},

static const ld_field openldap_fields[] = {
    {"firstname", CREATE(firstname), CACHE(given_name), .attribute = "givenName"},
    {"surname", CREATE(surname), CACHE(surname), .attribute = "sn"},
    {"middleName", CREATE(middle_name), LD_NO_FIELD, .attribute = "initials", .narrow = initials},
    IDA_PERSON_GIVEN(IN_OPENLDAP){.name = NULL},
};

static const ld_field active_directory_fields[] = {
    {"firstname", CREATE(firstname), CACHE(given_name), .attribute = "givenName"},
    {"surname", CREATE(surname), CACHE(surname), .attribute = "sn"},
    {"middleName", CREATE(middle_name), LD_NO_FIELD, .attribute = "middleName"},
    {"country", CREATE(country), LD_NO_FIELD, .attribute = "co", .narrow = country_name},
    {"country", CREATE(country), LD_NO_FIELD, .attribute = "countryCode", .narrow = country_number,
     .empty = "0"},
    IDA_PERSON_GIVEN(IN_ACTIVE_DIRECTORY){.name = NULL},
};

static const char *const openldap_sign_ins[] = {"pwdLastSuccess", "authTimestamp", NULL};

/* lastLogon would be exact, but each server counts for itself; this one is replicated, up to two
 * weeks late by design. */
static const char *const active_directory_sign_ins[] = {"lastLogonTimestamp", NULL};
static const char *const active_directory_guards[] = {"isCriticalSystemObject", "adminCount",
                                                      "objectSid", NULL};

static const ld_links openldap_links[] = {{"groupOfNames", "member", 0, 1},
                                          {"groupOfUniqueNames", "uniqueMember", 0, 1},
                                          {"posixGroup", "memberUid", 1, 0},
                                          {NULL, NULL, 0, 0}};
static const ld_links active_directory_links[] = {{"group", "member", 0, 0}, {NULL, NULL, 0, 0}};

static const ld_dialect dialects[] = {
    {
        .name = "openLdap",
        .title = "OpenLDAP",
        .user_class = "inetOrgPerson",
        .user_filter = "(objectClass=inetOrgPerson)",
        .static_group_class = "groupOfNames",
        .dynamic_group_class = "groupOfURLs",
        .group_filter = "(|(objectClass=groupOfNames)(objectClass=groupOfURLs)"
                        "(objectClass=groupOfUniqueNames)(objectClass=posixGroup))",
        .links = openldap_links,
        .late_filter = "(|(objectClass=groupOfURLs)(objectClass=posixGroup))",
        .elsewhere = "(objectClass=organizationalRole)(objectClass=nisNetgroup)",
        .dynamic_filter = "(objectClass=groupOfURLs)",
        .container_filter = "(|(objectClass=organizationalUnit)(objectClass=organization)("
                            "objectClass=dcObject)(objectClass=domain)(objectClass=locality)("
                            "objectClass=country)(objectClass=nsContainer))",
        .member = "member",
        .rule = "memberURL",
        .member_of = "memberOf",
        .group_name = "cn",
        .id = "entryUUID",
        .stamp = "entryCSN",
        .login = "uid",
        .naming = "uid",
        .mail = "mail",
        .upn = "mail",
        .marker = "description",
        .photo = "jpegPhoto",
        .photo_type = "image/jpeg",
        .manager = "manager",
        .created = "createTimestamp",
        .password = "userPassword",
        .sign_ins = openldap_sign_ins,
        .expires = "pwdEndTime",
        .lock = "pwdAccountLockedTime",
        .locked = "000001010000Z",
        .lock_missing = "the server does not know pwdAccountLockedTime, so accounts cannot be "
                        "disabled: load the ppolicy overlay",
        .policy = "pwdPolicySubentry",
        .password_unlocks = 1,
        .password_changed = "pwdChangedTime",
        .needs_member = 1,
        .sync = LD_SYNC_SYNCREPL,
        .fields = openldap_fields,
    },
    {
        .name = "activeDirectory",
        .title = "Active Directory",
        .active_directory = 1,
        .user_class = "user",
        .user_filter = "(&(objectCategory=person)(objectClass=user))",
        .static_group_class = "group",
        .group_filter = "(objectClass=group)",
        .links = active_directory_links,
        .member = "member",
        .member_of = "memberOf",
        .group_name = "name", /* DirSync does not return the cn */
        .group_type = "groupType",
        .id = "objectGUID",
        .binary_ids = 1,
        .stamp = "uSNChanged",
        .changed = "whenChanged",
        .login = "sAMAccountName",
        .login_max = 20,
        .naming = "cn",
        .mail = "mail",
        .addresses = "proxyAddresses",
        .anchor = "mS-DS-ConsistencyGuid",
        .upn = "userPrincipalName",
        .marker = "adminDescription",
        .photo = "thumbnailPhoto",
        .photo_max = 102400,
        .manager = "manager",
        .created = "whenCreated",
        .password = "unicodePwd",
        .password_age = "pwdLastSet",
        .password_changed = "pwdLastSet",
        .password_ends = "msDS-UserPasswordExpiryTimeComputed",
        .sign_ins = active_directory_sign_ins,
        .expires = "accountExpires",
        .filetime = 1,
        .lock = "userAccountControl",
        .lock_bit = 2,
        .lock_missing = "the server does not know userAccountControl",
        .primary_group = "primaryGroupID",
        .sid = "objectSid",
        .guards = active_directory_guards,
        .keeps_links = 1,
        .sync = LD_SYNC_DIRSYNC,
        .fields = active_directory_fields,
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
    return "openLdap and activeDirectory";
}
