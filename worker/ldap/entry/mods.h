/* The list of changes of one add or modify. */
#ifndef WORKER_LDAP_ENTRY_MODS_H
#define WORKER_LDAP_ENTRY_MODS_H

#include <apr_tables.h>
#include <ldap.h>

typedef struct ld_mods {
    apr_pool_t *pool;
    apr_array_header_t *list; /* LDAPMod * */
} ld_mods;

ld_mods ld_mods_make(apr_pool_t *pool);
/* One change: LDAP_MOD_ADD, _DELETE or _REPLACE with one value (borrowed), or with none when
 * `bytes` is NULL. */
void ld_mods_bytes(ld_mods *m, int op, const char *attribute, const void *bytes, size_t len);
void ld_mods_text(ld_mods *m, int op, const char *attribute, const char *value);
/* Several values, NULL-terminated (borrowed). */
void ld_mods_texts(ld_mods *m, int op, const char *attribute, const char *const *values);
/* 1 when the attribute has a change already. */
int ld_mods_has(const ld_mods *m, const char *attribute);
int ld_mods_count(const ld_mods *m);
/* The list as libldap takes it; more may be added afterwards, for another call of this. */
LDAPMod **ld_mods_end(ld_mods *m);

#endif
