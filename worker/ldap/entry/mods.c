/* Owns the memory of changes on their way to libldap. Must not know what is changed. */
#include "worker/ldap/entry/mods.h"

#include <apr_strings.h>
#include <string.h>
#include <strings.h>

ld_mods ld_mods_make(apr_pool_t *pool)
{
    return (ld_mods){.pool = pool, .list = apr_array_make(pool, 24, sizeof(LDAPMod *))};
}

static struct berval *value_of(apr_pool_t *pool, const void *bytes, size_t len)
{
    struct berval *value = apr_pcalloc(pool, sizeof *value);
    value->bv_val = (char *)(uintptr_t)bytes;
    value->bv_len = len;
    return value;
}

static void push(ld_mods *m, int op, const char *attribute, struct berval **values)
{
    LDAPMod *mod = apr_pcalloc(m->pool, sizeof *mod);
    mod->mod_op = op | LDAP_MOD_BVALUES;
    mod->mod_type = apr_pstrdup(m->pool, attribute);
    mod->mod_bvalues = values;
    APR_ARRAY_PUSH(m->list, LDAPMod *) = mod;
}

void ld_mods_bytes(ld_mods *m, int op, const char *attribute, const void *bytes, size_t len)
{
    struct berval **values = NULL;
    if (bytes) {
        values = apr_pcalloc(m->pool, 2 * sizeof *values);
        values[0] = value_of(m->pool, bytes, len);
    }
    push(m, op, attribute, values);
}

void ld_mods_text(ld_mods *m, int op, const char *attribute, const char *value)
{
    ld_mods_bytes(m, op, attribute, value, value ? strlen(value) : 0);
}

void ld_mods_texts(ld_mods *m, int op, const char *attribute, const char *const *values)
{
    size_t count = 0;
    while (values[count]) {
        count++;
    }
    struct berval **list = apr_pcalloc(m->pool, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[i] = value_of(m->pool, values[i], strlen(values[i]));
    }
    push(m, op, attribute, list);
}

int ld_mods_has(const ld_mods *m, const char *attribute)
{
    for (int i = 0; i < m->list->nelts; i++) {
        const LDAPMod *mod = APR_ARRAY_IDX(m->list, i, LDAPMod *);
        if (mod && strcasecmp(mod->mod_type, attribute) == 0) {
            return 1;
        }
    }
    return 0;
}

int ld_mods_count(const ld_mods *m)
{
    return m->list->nelts;
}

LDAPMod **ld_mods_end(ld_mods *m)
{
    APR_ARRAY_PUSH(m->list, LDAPMod *) = NULL;
    m->list->nelts--;
    return (LDAPMod **)(void *)m->list->elts;
}
