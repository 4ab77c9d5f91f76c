/* Owns the rules for single values of a tenant document: addresses, names, durations,
 * placeholders. Must not know the value's position in the document. */
#include "core/tenant/value.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/host.h"
#include "core/base/rate.h"
#include "core/base/secret_path.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/tenant/credentials.h"
#include "core/tenant/naming.h"
#include "core/tenant/tenant.h"
#include "core/zone/zone.h"

#define DOMAIN_MAX 100 /* leaves 12 characters for the local part of an address of 113 */
#define PATH_LEN_MAX 4095
#define DAY_S 86400

const char *const ida_directory_names[IDA_DIR_COUNT + 1] = {
    [IDA_DIR_CLOUD] = "cloud", [IDA_DIR_ON_PREMISES] = "onPremises"};

const char *ida_directory_name(ida_directory_kind kind)
{
    return ida_directory_names[kind];
}

int ida_directory_parse(const char *name)
{
    for (int i = 0; name && i < IDA_DIR_COUNT; i++) {
        if (strcmp(name, ida_directory_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static int is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static int is_letter(char ch)
{
    return (ch | 0x20) >= 'a' && (ch | 0x20) <= 'z';
}

static int one_of(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(text, *words) == 0) {
            return 1;
        }
    }
    return 0;
}

/* 1-9 digits at the start of text; -1 when there are none. */
static int64_t leading_number(const char *text, size_t *digits)
{
    int64_t value = 0;
    *digits = 0;
    while (is_digit(text[*digits])) {
        if (*digits == 9) {
            return -1;
        }
        value = value * 10 + (text[(*digits)++] - '0');
    }
    return *digits ? value : -1;
}

int64_t ida_duration_parse(const char *text)
{
    size_t digits;
    int64_t value = text ? leading_number(text, &digits) : -1;
    if (value < 1 || !text[digits] || text[digits + 1]) {
        return 0;
    }
    int64_t unit = text[digits] == 's'   ? 1
                   : text[digits] == 'm' ? 60
                   : text[digits] == 'h' ? 3600
                                         : 0;
    return value * unit <= DAY_S ? value * unit * 1000 : 0;
}

int ida_guard_parse(const json_t *value, int *percent, int64_t *count)
{
    *percent = 0;
    *count = 0;
    if (json_is_integer(value)) {
        *count = json_integer_value(value);
        return *count >= 1;
    }
    const char *text = json_string_value(value);
    size_t digits;
    int64_t number = text ? leading_number(text, &digits) : -1;
    if (number < 1 || strcmp(text + digits, "%") != 0 || number > 100) {
        return 0;
    }
    *percent = (int)number;
    return 1;
}

const char *ida_rule_name(ida_ctx *c, const char *text)
{
    const char *trimmed = ida_present(c->pool, text);
    if (!trimmed || strcmp(trimmed, text) != 0) {
        return "must not be blank or begin or end with a blank";
    }
    return ida_utf16_length(text) > 256 ? "must be at most 256 characters"
           : ida_has_control(text, 0)   ? "must not hold control characters"
                                        : NULL;
}

const char *ida_rule_company(ida_ctx *c, const char *text)
{
    (void)c;
    return ida_name_valid(text) ? NULL : "must be 1 to 64 characters of A-Z a-z 0-9 . _ -";
}

const char *ida_rule_zone(ida_ctx *c, const char *text)
{
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    const zone_info *zone;
    return zone_read(own, c->pool, text, &zone) ? own->message : NULL;
}

const char *ida_rule_local_format(ida_ctx *c, const char *text)
{
    return ida_naming_format_fault(c->pool, text, 1);
}

const char *ida_rule_display_format(ida_ctx *c, const char *text)
{
    return ida_naming_format_fault(c->pool, text, 0);
}

/* RFC 1035 names; `len` bytes. */
static int domain_valid(const char *text, size_t len)
{
    size_t label = 0;
    for (size_t i = 0; i < len; i++) {
        char ch = text[i];
        if (ch == '.') {
            if (!label || text[i - 1] == '-') {
                return 0;
            }
            label = 0;
        } else if ((!is_letter(ch) && !is_digit(ch) && (ch != '-' || !label)) || ++label > 63) {
            return 0;
        }
    }
    return label && text[len - 1] != '-';
}

const char *ida_rule_domain(ida_ctx *c, const char *text)
{
    size_t len = strlen(text);
    if (len > DOMAIN_MAX) {
        return ida_printf(c->pool, "must be at most %d characters", DOMAIN_MAX);
    }
    return domain_valid(text, len) && strchr(text, '.')
               ? NULL
               : "must be a domain name such as contoso.example";
}

const char *ida_rule_rate(ida_ctx *c, const char *text)
{
    (void)c;
    ida_rate rate;
    return ida_rate_parse(text, &rate);
}

static int ipv6_literal(const char *host, size_t len)
{
    return len > 3 && host[0] == '[' && host[len - 1] == ']' &&
           strspn(host + 1, "0123456789abcdefABCDEF:.") == len - 2;
}

/* The part between scheme and path: host[:port]. User info is not allowed: secrets come from
 * files only. */
static const char *authority_fault(const char *rest, size_t *len, int *is_loopback)
{
    *len = strcspn(rest, "/?#");
    if (memchr(rest, '@', *len)) {
        return "must not hold a user name or password";
    }
    const char *bracket = memchr(rest, ']', *len);
    const char *from = bracket ? bracket : rest;
    const char *colon = memchr(from, ':', *len - (size_t)(from - rest));
    size_t host_len = colon ? (size_t)(colon - rest) : *len;
    if (!host_len || host_len > 253 ||
        !(ipv6_literal(rest, host_len) || domain_valid(rest, host_len))) {
        return "must name a host";
    }
    if (colon) {
        size_t digits;
        int64_t port = leading_number(colon + 1, &digits);
        if (port < 1 || port > 65535 || colon + 1 + digits != rest + *len) {
            return "has a port that is not between 1 and 65535";
        }
    }
    *is_loopback = ida_host_loopback(rest, host_len);
    return NULL;
}

/* The text has no character that would end a URL or a header line. */
static int plain_url(const char *text)
{
    for (; *text; text++) {
        if (*text <= 0x20 || *text == 0x7F || strchr("\"<>\\^`{|}", *text)) {
            return 0;
        }
    }
    return 1;
}

static const char *http_fault(const char *text, int clear_anywhere, int query)
{
    int secure = strncmp(text, "https://", 8) == 0, near = 0;
    size_t len;
    if (!secure && strncmp(text, "http://", 7) != 0) {
        return "must be an address that begins with https://";
    }
    if (strlen(text) > 2048 || !plain_url(text)) {
        return "must be an address of at most 2048 characters without blanks, non-ASCII or control "
               "characters";
    }
    const char *rest = text + (secure ? 8 : 7), *fault = authority_fault(rest, &len, &near);
    if (fault) {
        return fault;
    }
    if (!secure && !near && !clear_anywhere) {
        return "must begin with https:// (http:// is for loopback addresses only)";
    }
    if (strchr(rest, '#') || (!query && strchr(rest, '?'))) {
        return query ? "must not hold a fragment (#)" : "must not hold a query or fragment";
    }
    return NULL;
}

const char *ida_rule_service_url(ida_ctx *c, const char *text)
{
    (void)c;
    return http_fault(text, 0, 0);
}

const char *ida_rule_webhook_url(ida_ctx *c, const char *text)
{
    (void)c;
    return http_fault(text, 0, 1);
}

/* A proxy only passes TLS through, so it may be reached in clear. */
const char *ida_rule_proxy_url(ida_ctx *c, const char *text)
{
    (void)c;
    return http_fault(text, 1, 0);
}

const char *ida_rule_ldap_url(ida_ctx *c, const char *text)
{
    (void)c;
    static const char *const schemes[] = {"ldaps://", "ldap://", "ldapi://"};
    size_t kind = 0, len;
    int near;
    while (kind < 3 && strncmp(text, schemes[kind], strlen(schemes[kind])) != 0) {
        kind++;
    }
    if (kind == 3) {
        return "must begin with ldaps://, with ldap:// (and \"startTls\": true) or with ldapi://";
    }
    if (strlen(text) > 2048 || !plain_url(text)) {
        return "must be an address of at most 2048 characters without blanks, non-ASCII or control "
               "characters";
    }
    const char *rest = text + strlen(schemes[kind]);
    if (kind == 2) {
        size_t path = strcspn(rest, "/?#@");
        return rest[path] && strcmp(rest + path, "/") != 0
                   ? "must be ldapi:// and a socket path with %2F for each slash"
                   : NULL;
    }
    const char *fault = authority_fault(rest, &len, &near);
    return fault                                       ? fault
           : rest[len] && strcmp(rest + len, "/") != 0 ? "must end after host and port"
                                                       : NULL;
}

const char *ida_rule_guid(ida_ctx *c, const char *text)
{
    (void)c;
    static const char shape[] = "00000000-0000-0000-0000-000000000000";
    for (size_t i = 0; i < sizeof shape; i++) {
        int hex = is_digit(text[i]) || ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'f');
        if (shape[i] == '0' ? !hex : text[i] != shape[i]) {
            return "must be a GUID such as 2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c14";
        }
    }
    return NULL;
}

const char *ida_rule_path(ida_ctx *c, const char *text)
{
    (void)c;
    return text[0] == '/' && strlen(text) <= PATH_LEN_MAX && !ida_has_control(text, 0)
               ? NULL
               : "must be the absolute path of a file";
}

const char *ida_rule_secret(ida_ctx *c, const char *text)
{
    return ida_credential_name(text) || !ida_rule_path(c, text)
               ? NULL
               : "must be the absolute path of a file, or credential:NAME (a credential that "
                 "systemd gives to the worker)";
}

const char *ida_rule_cloud_marker(ida_ctx *c, const char *text)
{
    (void)c;
    static const char prefix[] = "extensionAttribute";
    size_t digits;
    if (strncmp(text, prefix, sizeof prefix - 1) == 0 && text[sizeof prefix - 1] != '0') {
        const char *number = text + sizeof prefix - 1;
        int64_t n = leading_number(number, &digits);
        if (n >= 1 && n <= 15 && !number[digits]) {
            return NULL;
        }
    }
    if (strcmp(text, "employeeId") == 0) {
        return "must be one of extensionAttribute1 to extensionAttribute15; employeeId is the HR "
               "system's own number (member employeeId of a creation), and its 16 characters are "
               "too few for a mark";
    }
    return "must be one of extensionAttribute1 to extensionAttribute15";
}

const char *ida_rule_attribute(ida_ctx *c, const char *text)
{
    (void)c;
    size_t len = 0;
    while (is_letter(text[len]) || (len && (is_digit(text[len]) || text[len] == '-'))) {
        len++;
    }
    return len && len <= 64 && !text[len] ? NULL : "must be the name of an attribute";
}

const char *ida_rule_duration(ida_ctx *c, const char *text)
{
    (void)c;
    return ida_duration_parse(text)
               ? NULL
               : "must be a time such as \"60s\", \"5m\" or \"1h\", from 1s to 24h";
}

/* Enough of RFC 4514 to catch a name that is no DN: every part is attribute=value. The server
 * judges the rest. */
const char *ida_rule_dn(ida_ctx *c, const char *text)
{
    (void)c;
    static const char rule[] =
        "must be a distinguished name such as OU=Staff,DC=contoso,DC=example";
    const char *p = text;
    if (strlen(p) > 1024 || ida_has_control(p, 0)) {
        return rule;
    }
    for (;;) {
        p += strspn(p, " ");
        size_t name = 0;
        while (is_letter(p[name]) || is_digit(p[name]) || p[name] == '-' || p[name] == '.') {
            name++;
        }
        p += name;
        p += strspn(p, " ");
        if (!name || *p != '=' || !p[1] || p[1] == ',' || p[1] == '+') {
            return rule;
        }
        for (p++; *p && *p != ',' && *p != '+'; p++) {
            if (*p == '\\' && !*++p) {
                return rule;
            }
        }
        if (!*p++) {
            return NULL;
        }
    }
}

const char *ida_rule_upn(ida_ctx *c, const char *text)
{
    (void)c;
    const char *at = strchr(text, '@');
    return at && at != text && strlen(text) <= 256 && !strchr(at + 1, '@') && !strchr(text, ' ') &&
                   !ida_has_control(text, 0) && domain_valid(at + 1, strlen(at + 1))
               ? NULL
               : "must be a user principal name such as eva.berg@contoso.example";
}

const char *ida_rule_cloud_account(ida_ctx *c, const char *text)
{
    return ida_rule_guid(c, text) && ida_rule_upn(c, text)
               ? "must be an object ID (a GUID) or a user principal name"
               : NULL;
}

/* `{placeholder}` in a workflow text that is not known; NULL when all are known. */
static const char *placeholder_fault(apr_pool_t *pool, const char *text)
{
    static const char *const known[] = {
        "firstname", "middleName", "surname",    "displayName", "userPrincipalName",
        "mail",      "manager",    "department", "jobTitle",    "companyName",
        "date",      "time",       NULL};
    for (const char *open = strchr(text, '{'); open; open = strchr(open + 1, '{')) {
        size_t name = 0, after;
        while (is_letter(open[1 + name])) {
            name++;
        }
        after = 1 + name;
        int cut = open[after] == ':' && is_digit(open[after + 1]);
        if (cut) {
            after += 1 + strspn(open + after + 1, "0123456789");
        }
        if (!name || open[after] != '}') {
            continue; /* a brace of the text itself */
        }
        const char *word = apr_pstrmemdup(pool, open + 1, name);
        if (!one_of(word, known)) {
            return ida_printf(pool, "has the unknown placeholder {%s}",
                              ida_clean(pool, word, name, 40));
        }
        /* Only the three parts of a name can be cut, from 1 to 64 letters. */
        size_t digits = cut ? after - name - 2 : 0;
        int letters = cut && digits <= 2 ? atoi(open + 2 + name) : 0;
        if (cut && (letters < 1 || letters > 64 ||
                    (strcmp(word, known[0]) && strcmp(word, known[1]) && strcmp(word, known[2])))) {
            return ida_printf(
                pool, "cuts {%s} in a way that is not possible; {firstname:n} takes n from 1 to 64",
                word);
        }
    }
    return NULL;
}

const char *ida_rule_text(ida_ctx *c, const char *text)
{
    return ida_has_control(text, 0) ? "must not hold control characters"
                                    : placeholder_fault(c->pool, text);
}

const char *ida_rule_instant(ida_ctx *c, const char *text)
{
    int64_t at;
    (void)c;
    return ida_time_parse(text, &at) ? NULL
                                     : "must be an instant such as 2027-02-08T07:00:00Z, or a day";
}

const char *ida_rule_body(ida_ctx *c, const char *text)
{
    return ida_has_control(text, 1) ? "must not hold control characters"
                                    : placeholder_fault(c->pool, text);
}

const char *ida_rule_recipient(ida_ctx *c, const char *text)
{
    static const char *const words[] = {"{manager}", "{mail}", "{userPrincipalName}", NULL};
    return one_of(text, words) || !ida_rule_upn(c, text)
               ? NULL
               : "must be {manager}, {mail}, {userPrincipalName} or one mail address";
}
