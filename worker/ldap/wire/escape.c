/* Owns escaping for filters and DNs, DN keys, UUID and time texts. Must not know connections or
 * entries. */
#include "worker/ldap/wire/escape.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <ctype.h>
#include <ldap.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/text.h"
#include "worker/ldap/wire/ber.h"

static const char hex_digits[] = "0123456789abcdef";

static char *escaped(char *to, unsigned char byte)
{
    *to++ = '\\';
    *to++ = hex_digits[byte >> 4];
    *to++ = hex_digits[byte & 15];
    return to;
}

char *ld_filter_value(apr_pool_t *pool, const void *bytes, size_t len)
{
    const unsigned char *in = bytes;
    char *out = apr_palloc(pool, len * 3 + 1), *at = out;
    for (size_t i = 0; i < len; i++) {
        if (in[i] == '\0' || strchr("()*\\", in[i])) {
            at = escaped(at, in[i]);
        } else {
            *at++ = (char)in[i];
        }
    }
    *at = '\0';
    return out;
}

char *ld_filter_bytes(apr_pool_t *pool, const void *bytes, size_t len)
{
    const unsigned char *in = bytes;
    char *out = apr_palloc(pool, len * 3 + 1), *at = out;
    for (size_t i = 0; i < len; i++) {
        at = escaped(at, in[i]);
    }
    *at = '\0';
    return out;
}

char *ld_filter_text(apr_pool_t *pool, const char *text)
{
    return ld_filter_value(pool, text, strlen(text));
}

char *ld_dn_value(apr_pool_t *pool, const char *text)
{
    size_t len = strlen(text);
    char *out = apr_palloc(pool, len * 3 + 1), *at = out;
    for (size_t i = 0; i < len; i++) {
        int edge = (text[i] == ' ' && (i == 0 || i + 1 == len)) || (text[i] == '#' && i == 0);
        if (edge || strchr("\"+,;<>\\=", text[i])) {
            *at++ = '\\';
        }
        if ((unsigned char)text[i] <
            ' ') { /* readers take tabs and line ends at the edges for blanks between parts */
            at = escaped(at, (unsigned char)text[i]);
        } else {
            *at++ = text[i];
        }
    }
    *at = '\0';
    return out;
}

/* Squeezes runs of blanks and drops those at the ends, as caseIgnoreMatch does. In place. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != ' ' || (to != text && to[-1] != ' ')) {
            *to++ = *from;
        }
    }
    while (to != text && to[-1] == ' ') {
        to--;
    }
    *to = '\0';
}

static char *fold(apr_pool_t *pool, const struct berval *value)
{
    const struct berval bytes = ld_bytes(pool, value);
    char *text = bytes.bv_val;
    int ascii = 1;
    for (size_t i = 0; i < bytes.bv_len; i++) {
        if ((unsigned char)text[i] >= 0x80 || text[i] == '\0') {
            ascii = 0;
            break;
        }
        text[i] = (char)tolower((unsigned char)text[i]);
    }
    if (!ascii) {
        const struct berval again = ld_bytes(pool, value);
        text = ida_utf8_valid(again.bv_val, again.bv_len)
                   ? ida_fold_address(pool, again.bv_val)
                   : ida_hex(pool, (const unsigned char *)again.bv_val, again.bv_len);
    }
    squeeze(text);
    return text;
}

static char *ava_key(apr_pool_t *pool, const LDAPAVA *ava)
{
    char *type = ld_bytes(pool, &ava->la_attr).bv_val;
    for (char *at = type; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    return apr_pstrcat(pool, type, "=", ld_dn_value(pool, fold(pool, &ava->la_value)), NULL);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Parts are joined only once: a DN of a hostile server may have hundreds of thousands of them. */
static char *rdn_key(apr_pool_t *pool, LDAPRDN rdn)
{
    apr_array_header_t *parts = apr_array_make(pool, 1, sizeof(char *));
    for (int i = 0; rdn[i]; i++) {
        APR_ARRAY_PUSH(parts, char *) = ava_key(pool, rdn[i]);
    }
    qsort(parts->elts, (size_t)parts->nelts, sizeof(char *), by_text);
    return apr_array_pstrcat(pool, parts, '+');
}

char *ld_dn_key(apr_pool_t *pool, const char *dn)
{
    LDAPDN parsed = NULL;
    if (!dn || !*dn || ldap_str2dn(dn, &parsed, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS || !parsed) {
        return NULL;
    }
    apr_array_header_t *parts = apr_array_make(pool, 8, sizeof(char *));
    for (int i = 0; parsed[i]; i++) {
        APR_ARRAY_PUSH(parts, char *) = rdn_key(pool, parsed[i]);
    }
    ldap_dnfree(parsed);
    return parts->nelts ? apr_array_pstrcat(pool, parts, ',') : NULL;
}

int ld_dn_key_below(const char *key, const char *base_key)
{
    size_t len = strlen(key), base = strlen(base_key), escapes = 0;
    if (len <= base || strcmp(key + len - base, base_key) != 0 || key[len - base - 1] != ',') {
        return strcmp(key, base_key) == 0;
    }
    /* The comma separates two parts unless it is escaped, that is, unless an odd number of
     * backslashes precedes it. */
    while (escapes < len - base - 1 && key[len - base - 2 - escapes] == '\\') {
        escapes++;
    }
    return escapes % 2 == 0;
}

char *ld_rdn_value(apr_pool_t *pool, const char *dn, const char *type)
{
    LDAPDN parsed = NULL;
    char *value = NULL;
    if (!dn || ldap_str2dn(dn, &parsed, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS || !parsed) {
        return NULL;
    }
    for (int i = 0; parsed[0] && parsed[0][i] && !value; i++) {
        const LDAPAVA *ava = parsed[0][i];
        if (ava->la_attr.bv_len == strlen(type) &&
            strncasecmp(ava->la_attr.bv_val, type, ava->la_attr.bv_len) == 0 &&
            ava->la_value.bv_len && ida_utf8_valid(ava->la_value.bv_val, ava->la_value.bv_len)) {
            value = ld_bytes(pool, &ava->la_value).bv_val;
        }
    }
    ldap_dnfree(parsed);
    return value;
}

/* One part of the DN as text again; `parent`: all but the first RDN. */
static char *dn_part(apr_pool_t *pool, const char *dn, int parent)
{
    LDAPDN parsed = NULL;
    char *text = NULL, *copy = NULL;
    if (!dn || !*dn || ldap_str2dn(dn, &parsed, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS || !parsed ||
        !parsed[0]) {
        ldap_dnfree(parsed);
        return NULL;
    }
    int code = parent ? ldap_dn2str(parsed + 1, &text, LDAP_DN_FORMAT_LDAPV3)
                      : ldap_rdn2str(parsed[0], &text, LDAP_DN_FORMAT_LDAPV3);
    if (code == LDAP_SUCCESS) {
        copy = apr_pstrdup(pool, text ? text : "");
    }
    ldap_memfree(text);
    ldap_dnfree(parsed);
    return copy;
}

char *ld_dn_first(apr_pool_t *pool, const char *dn)
{
    return dn_part(pool, dn, 0);
}

char *ld_dn_parent(apr_pool_t *pool, const char *dn)
{
    return dn_part(pool, dn, 1);
}

char *ld_uuid_text(apr_pool_t *pool, const void *bytes, size_t len)
{
    if (len != 16) {
        return NULL;
    }
    const char *hex = ida_hex(pool, bytes, len);
    return apr_psprintf(pool, "%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

char *ld_uuid_canonical(apr_pool_t *pool, const char *text)
{
    if (!text || strlen(text) != 36) {
        return NULL;
    }
    char *out = apr_pstrdup(pool, text);
    for (int i = 0; i < 36; i++) {
        int dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? out[i] != '-' : !isxdigit((unsigned char)out[i])) {
            return NULL;
        }
        out[i] = (char)tolower((unsigned char)out[i]);
    }
    return out;
}

/* Two digits at *at, advanced; -1 when there are none. */
static int two(const char **at)
{
    if (!isdigit((unsigned char)(*at)[0]) || !isdigit((unsigned char)(*at)[1])) {
        return -1;
    }
    int value = ((*at)[0] - '0') * 10 + ((*at)[1] - '0');
    *at += 2;
    return value;
}

int64_t ld_time(const char *text)
{
    if (!text) {
        return 0;
    }
    const char *at = text;
    int century = two(&at), year = century < 0 ? -1 : two(&at), month = year < 0 ? -1 : two(&at),
        day = month < 0 ? -1 : two(&at);
    int hour = day < 0 ? -1 : two(&at), minute = 0, second = 0, unit_ms = 3600000;
    if (hour < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23) {
        return 0;
    }
    if (isdigit((unsigned char)*at)) {
        minute = two(&at);
        unit_ms = 60000;
        if (minute >= 0 && isdigit((unsigned char)*at)) {
            second = two(&at);
            unit_ms = 1000;
        }
    }
    if (minute < 0 || minute > 59 || second < 0 || second > 60) {
        return 0;
    }
    double fraction = 0;
    if (*at == '.' || *at == ',') {
        double scale = 1;
        if (!isdigit((unsigned char)*++at)) {
            return 0;
        }
        while (isdigit((unsigned char)*at)) {
            scale /= 10;
            fraction += (*at++ - '0') * scale;
        }
    }
    int64_t offset_ms = 0;
    if (*at == 'Z') {
        at++;
    } else if (*at == '+' || *at == '-') {
        int sign = *at++ == '-' ? -1 : 1, hours = two(&at),
            minutes = hours >= 0 && *at ? two(&at) : 0;
        if (hours < 0 || minutes < 0) {
            return 0;
        }
        offset_ms = sign * ((int64_t)hours * 3600000 + (int64_t)minutes * 60000);
    } else {
        return 0;
    }
    if (*at) {
        return 0;
    }
    struct tm tm = {.tm_year = century * 100 + year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second};
    return (int64_t)timegm(&tm) * 1000 + (int64_t)(fraction * unit_ms + 0.5) - offset_ms;
}
