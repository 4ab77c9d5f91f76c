/* Owns entries as values: how the bytes of an answer become one, and how its attributes are read.
 * Must not know what they mean, nor how requests travel. */
#include "worker/ldap/wire/value.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/ber.h"

/* The attribute with this description, created if the entry does not have it yet. RFC 4511
 * (4.1.7) allows each only once, but slapd sends one twice if its values were apart when they
 * were loaded (slapadd); they are merged. NULL: the entry has too many. */
static ld_attribute *attribute_of(apr_array_header_t *attributes, const struct berval *description)
{
    char *name = ld_bytes(attributes->pool, description).bv_val, *option = strchr(name, ';');
    if (option) {
        *option++ = '\0';
    }
    for (int i = 0; i < attributes->nelts; i++) {
        ld_attribute *a = &APR_ARRAY_IDX(attributes, i, ld_attribute);
        if (strcasecmp(a->name, name) == 0 &&
            (option && a->option ? strcasecmp(a->option, option) == 0 : option == a->option)) {
            return a;
        }
    }
    if (attributes->nelts == LD_ATTRIBUTES_MAX) {
        return NULL;
    }
    ld_attribute *a = apr_array_push(attributes);
    *a = (ld_attribute){.name = name, .option = option};
    return a;
}

/* 1 if the description has options (RFC 4512, 2.5) other than a range or `binary` (RFC 4522), which
 * is a form of transfer: title;lang-ja is a value apart from title and is neither read nor
 * changed. */
static int is_tagged(const struct berval *description)
{
    const char *option = memchr(description->bv_val, ';', description->bv_len);
    size_t left = option ? description->bv_len - (size_t)(option + 1 - description->bv_val) : 0;
    return option && (left != 6 || strncasecmp(option + 1, "binary", 6) != 0) &&
           (left < 6 || strncasecmp(option + 1, "range=", 6) != 0 || memchr(option + 1, ';', left));
}

/* 0: the entry has too many attributes. */
static int take_attribute(apr_array_header_t *attributes, const struct berval *description,
                          const struct berval *values)
{
    apr_pool_t *pool = attributes->pool;
    if (is_tagged(description)) {
        return 1;
    }
    ld_attribute *a = attribute_of(attributes, description);
    if (!a) {
        return 0;
    }
    int more = 0;
    while (values && values[more].bv_val) {
        more++;
    }
    if (!a->values || a->count + more > a->room) {
        const struct berval *had = a->values;
        /* doubled, so that many pieces cost no more than their total size */
        a->room = had ? 2 * (a->count + more) : more;
        a->values = apr_palloc(pool, (apr_size_t)(a->room + 1) * sizeof *a->values);
        if (a->count) {
            memcpy(a->values, had, (apr_size_t)a->count * sizeof *had);
        }
    }
    for (int i = 0; i < more; i++) {
        a->values[a->count++] = ld_bytes(pool, &values[i]);
    }
    return 1;
}

static const ld_entry *entry_of(const struct berval *dn, const apr_array_header_t *attributes)
{
    apr_pool_t *pool = attributes->pool;
    ld_entry *entry = apr_pcalloc(pool, sizeof *entry);
    const char *id;
    entry->dn = ld_extended_dn(pool, ld_bytes(pool, dn).bv_val, &id);
    entry->attributes = (const ld_attribute *)attributes->elts;
    entry->count = attributes->nelts;
    return entry;
}

/* 1 when the entry has more values and attributes than are taken: counted before libldap makes a
 * list of them. */
static int crowded(LDAPMessage *message)
{
    BerElement *ber = ber_dup(
        ldap_get_message_ber(message)); /* a second reader over the same bytes */
    ber_len_t len = 0;
    char *end, *last;
    int count = 0;
    if (ber && ber_get_option(ber, LBER_OPT_BER_REMAINING_BYTES, &len) == LBER_OPT_SUCCESS &&
        len / 2 > LD_VALUES_MAX &&
        ber_scanf(ber, "{x") !=
            LBER_ERROR) { /* each has two bytes and more, and few entries so many */
        for (ber_tag_t tag = ber_first_element(ber, &len, &end);
             tag != LBER_DEFAULT && count <= LD_VALUES_MAX;
             tag = ber_next_element(ber, &len, end)) {
            count++;
            tag = ber_scanf(ber, "{x") != LBER_ERROR ? ber_first_element(ber, &len, &last)
                                                     : LBER_DEFAULT;
            for (; tag != LBER_DEFAULT && count <= LD_VALUES_MAX;
                 tag = ber_next_element(ber, &len, last)) {
                count += ber_scanf(ber, "x") != LBER_ERROR ? 1 : LD_VALUES_MAX;
            }
        }
    }
    ber_free(ber, 0);
    return count > LD_VALUES_MAX;
}

const ld_entry *ld_entry_read(LDAP *ld, LDAPMessage *message, apr_pool_t *pool)
{
    BerElement *ber = NULL;
    struct berval dn = {0}, name, *values;
    if (crowded(message) || ldap_get_dn_ber(ld, message, &ber, &dn) != LDAP_SUCCESS) {
        return NULL;
    }
    apr_array_header_t *attributes = apr_array_make(pool, 24, sizeof(ld_attribute));
    int whole = 1;
    while (whole && ldap_get_attribute_ber(ld, message, ber, &name, &values) == LDAP_SUCCESS &&
           name.bv_val) {
        whole = take_attribute(attributes, &name, values);
        ldap_memfree(values);
    }
    ber_free(ber, 0);
    return whole ? entry_of(&dn, attributes) : NULL;
}

const ld_entry *ld_entry_shown(LDAPControl **controls, apr_pool_t *pool)
{
    int there;
    BerElement *ber = ld_control_ber(controls, LDAP_CONTROL_POST_READ, &there);
    struct berval dn, name;
    ber_len_t len;
    char *end;
    if (!ber) {
        return NULL;
    }
    apr_array_header_t *attributes = apr_array_make(pool, 24, sizeof(ld_attribute));
    int whole = ber_scanf(ber, "{m", &dn) != LBER_ERROR;
    ber_tag_t tag = whole ? ber_first_element(ber, &len, &end) : LBER_ERROR;
    for (; whole && tag != LBER_DEFAULT; tag = ber_next_element(ber, &len, end)) {
        BerVarray values = NULL;
        whole = ber_scanf(ber, "{m[W]}", &name, &values) != LBER_ERROR &&
                take_attribute(attributes, &name, values);
        ber_bvarray_free(values);
    }
    const ld_entry *entry = whole ? entry_of(&dn, attributes) : NULL;
    ber_free(ber, 1);
    return entry;
}

const ld_attribute *ld_get(const ld_entry *entry, const char *name)
{
    for (int i = 0; i < entry->count; i++) {
        if (entry->attributes[i].count && strcasecmp(entry->attributes[i].name, name) == 0) {
            return &entry->attributes[i];
        }
    }
    return NULL;
}

int ld_told(const ld_entry *entry, const char *name)
{
    for (int i = 0; i < entry->count; i++) {
        if (strcasecmp(entry->attributes[i].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

long ld_number(apr_pool_t *pool, const ld_entry *entry, const char *name)
{
    const char *text = ld_text(pool, entry, name);
    char *end = NULL;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end && !errno ? value : 0;
}

const char *ld_text(apr_pool_t *pool, const ld_entry *entry, const char *name)
{
    const ld_attribute *a = ld_get(entry, name);
    const struct berval *best = NULL;
    for (int i = 0; a && i < a->count; i++) {
        if (a->values[i].bv_len && (!best || strcmp(a->values[i].bv_val, best->bv_val) < 0)) {
            best = &a->values[i];
        }
    }
    if (!best) {
        return NULL;
    }
    const char *text = ida_utf8_valid(best->bv_val, best->bv_len)
                           ? apr_pstrmemdup(pool, best->bv_val, best->bv_len)
                           : ida_clean(pool, best->bv_val, best->bv_len, 0);
    return text && *text ? text : NULL;
}

int ld_holds(const ld_entry *entry, const char *name, const char *value)
{
    const ld_attribute *a = ld_get(entry, name);
    for (int i = 0; a && i < a->count; i++) {
        if (strcasecmp(a->values[i].bv_val, value) == 0) {
            return 1;
        }
    }
    return 0;
}

int ld_is(const ld_entry *entry, const char *name, const char *value)
{
    const ld_attribute *a = ld_get(entry, name);
    return !value ? !a
                  : a && a->count == 1 && a->values[0].bv_len == strlen(value) &&
                        strcmp(a->values[0].bv_val, value) == 0;
}
