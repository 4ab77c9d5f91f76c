/* Owns the reading of a subschema. Must not know connections. */
#include "worker/ldap/wire/schema.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <ctype.h>
#include <ldap_schema.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_DEPTH 16 /* of class inheritance: a loop in a broken schema ends here */

typedef struct class_def {
    const char *name;
    int auxiliary;
    const char **superiors, **must, **may; /* lower case, NULL-terminated */
    const char **further,
        **attached; /* by a content rule: attributes and auxiliary classes; NULL without one */
} class_def;

struct ld_schema {
    apr_pool_t *pool;
    apr_hash_t *attributes; /* lower-case name or OID -> lower-case first name */
    apr_hash_t *classes;    /* lower-case name -> class_def */
};

static char *lower(apr_pool_t *pool, const char *text)
{
    char *out = apr_pstrdup(pool, text);
    for (char *at = out; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    return out;
}

static const char **lower_all(apr_pool_t *pool, char **names)
{
    int count = 0;
    while (names && names[count]) {
        count++;
    }
    const char **out = apr_pcalloc(pool, (apr_size_t)(count + 1) * sizeof *out);
    for (int i = 0; i < count; i++) {
        out[i] = lower(pool, names[i]);
    }
    return out;
}

/* libldap's parsers read past the end of a truncated definition, so NULs follow this one. The
 * caller frees it. NULL if there is no memory, which the parsers refuse. */
static char *definition(const struct berval *value)
{
    char *text = calloc(1, value->bv_len + 16);
    if (text && value->bv_len) {
        memcpy(text, value->bv_val, value->bv_len);
    }
    return text;
}

static void add_type(ld_schema *s, const struct berval *value)
{
    int code;
    const char *at;
    char *text = definition(value);
    LDAPAttributeType *type = ldap_str2attributetype(text, &code, &at, LDAP_SCHEMA_ALLOW_ALL);
    free(text);
    if (!type) {
        return;
    }
    if (type->at_names && type->at_names[0]) {
        const char *first = lower(s->pool, type->at_names[0]);
        for (char **name = type->at_names; *name; name++) {
            apr_hash_set(s->attributes, lower(s->pool, *name), APR_HASH_KEY_STRING, first);
        }
        if (type->at_oid) {
            apr_hash_set(s->attributes, apr_pstrdup(s->pool, type->at_oid), APR_HASH_KEY_STRING,
                         first);
        }
    }
    ldap_attributetype_free(type);
}

static void add_class(ld_schema *s, const struct berval *value)
{
    int code;
    const char *at;
    char *text = definition(value);
    LDAPObjectClass *class = ldap_str2objectclass(text, &code, &at, LDAP_SCHEMA_ALLOW_ALL);
    free(text);
    if (!class) {
        return;
    }
    if (class->oc_names && class->oc_names[0]) {
        class_def *def = apr_pcalloc(s->pool, sizeof *def);
        def->name = apr_pstrdup(s->pool, class->oc_names[0]);
        def->auxiliary = class->oc_kind == LDAP_SCHEMA_AUXILIARY;
        def->superiors = lower_all(s->pool, class->oc_sup_oids);
        def->must = lower_all(s->pool, class->oc_at_oids_must);
        def->may = lower_all(s->pool, class->oc_at_oids_may);
        if (class->oc_oid) {
            apr_hash_set(s->classes, apr_pstrdup(s->pool, class->oc_oid), APR_HASH_KEY_STRING, def);
        }
        for (char **name = class->oc_names; *name; name++) {
            apr_hash_set(s->classes, lower(s->pool, *name), APR_HASH_KEY_STRING, def);
        }
    }
    ldap_objectclass_free(class);
}

ld_schema *ld_schema_make(apr_pool_t *pool, const struct berval *types, int type_count,
                          const struct berval *classes, int class_count)
{
    ld_schema *s = apr_pcalloc(pool, sizeof *s);
    s->pool = pool;
    s->attributes = apr_hash_make(pool);
    s->classes = apr_hash_make(pool);
    for (int i = 0; i < type_count; i++) {
        add_type(s, &types[i]);
    }
    for (int i = 0; i < class_count; i++) {
        add_class(s, &classes[i]);
    }
    return s;
}

void ld_schema_rules(ld_schema *s, const struct berval *rules, int count)
{
    for (int i = 0; i < count; i++) {
        int code;
        const char *at;
        char *text = definition(&rules[i]);
        LDAPContentRule *rule = ldap_str2contentrule(text, &code, &at, LDAP_SCHEMA_ALLOW_ALL);
        free(text);
        class_def *def = rule && rule->cr_oid
                             ? apr_hash_get(s->classes, rule->cr_oid, APR_HASH_KEY_STRING)
                             : NULL;
        if (def) {
            const char **must = lower_all(s->pool, rule->cr_at_oids_must),
                       **may = lower_all(s->pool, rule->cr_at_oids_may);
            apr_array_header_t *all = apr_array_make(s->pool, 64, sizeof(const char *));
            for (; *must; must++) {
                APR_ARRAY_PUSH(all, const char *) = *must;
            }
            for (; *may; may++) {
                APR_ARRAY_PUSH(all, const char *) = *may;
            }
            APR_ARRAY_PUSH(all, const char *) = NULL;
            def->further = (const char **)all->elts;
            def->attached = lower_all(s->pool, rule->cr_oc_oids_aux);
        }
        ldap_contentrule_free(rule);
    }
}

static const char *first_name(const ld_schema *s, const char *attribute)
{
    char name[128];
    size_t len = strlen(attribute);
    if (len >= sizeof name) {
        return NULL;
    }
    for (size_t i = 0; i <= len; i++) {
        name[i] = (char)tolower((unsigned char)attribute[i]);
    }
    return apr_hash_get(s->attributes, name, APR_HASH_KEY_STRING);
}

int ld_schema_knows(const ld_schema *s, const char *attribute)
{
    return first_name(s, attribute) != NULL;
}

static int lists(const ld_schema *s, const char **names, const char *first)
{
    for (; *names; names++) {
        const char *name = apr_hash_get(s->attributes, *names, APR_HASH_KEY_STRING);
        if (name && strcmp(name, first) == 0) {
            return 1;
        }
    }
    return 0;
}

static const class_def *class_of(const ld_schema *s, const char *class)
{
    char name[128];
    size_t len = strlen(class);
    if (len >= sizeof name) {
        return NULL;
    }
    for (size_t i = 0; i <= len; i++) {
        name[i] = (char)tolower((unsigned char)class[i]);
    }
    return apr_hash_get(s->classes, name, APR_HASH_KEY_STRING);
}

static int allows(const ld_schema *s, const class_def *def, const char *first, int depth)
{
    if (!def || depth > MAX_DEPTH) {
        return 0;
    }
    if (lists(s, def->must, first) || lists(s, def->may, first) ||
        (def->further && lists(s, def->further, first))) {
        return 1;
    }
    for (const char **attached = def->attached; attached && *attached; attached++) {
        if (allows(s, class_of(s, *attached), first, depth + 1)) {
            return 1;
        }
    }
    for (const char **superior = def->superiors; *superior; superior++) {
        if (allows(s, class_of(s, *superior), first, depth + 1)) {
            return 1;
        }
    }
    return 0;
}

int ld_schema_allows(const ld_schema *s, const char *class, const char *attribute)
{
    const char *first = first_name(s, attribute);
    return first && allows(s, class_of(s, class), first, 0);
}

/* 1 when the class, with its superiors, demands an attribute other than `first`. */
static int demands_more(const ld_schema *s, const class_def *def, const char *first, int depth)
{
    if (!def || depth > MAX_DEPTH) {
        return 0;
    }
    for (const char **name = def->must; *name; name++) {
        const char *must = apr_hash_get(s->attributes, *name, APR_HASH_KEY_STRING);
        if (strcmp(*name, "objectclass") != 0 && (!must || strcmp(must, first) != 0)) {
            return 1;
        }
    }
    for (const char **superior = def->superiors; *superior; superior++) {
        if (demands_more(s, class_of(s, *superior), first, depth + 1)) {
            return 1;
        }
    }
    return 0;
}

const char *ld_schema_auxiliary(const ld_schema *s, const char *attribute)
{
    const char *first = first_name(s, attribute), *best = NULL;
    for (apr_hash_index_t *i = first ? apr_hash_first(NULL, s->classes) : NULL; i;
         i = apr_hash_next(i)) {
        const class_def *def = apr_hash_this_val(i);
        if (def->auxiliary && allows(s, def, first, 0) && !demands_more(s, def, first, 0) &&
            (!best || strcasecmp(def->name, best) < 0)) {
            best = def->name;
        }
    }
    return best;
}
