/* Entries of an answer as values. */
#ifndef WORKER_LDAP_WIRE_VALUE_H
#define WORKER_LDAP_WIRE_VALUE_H

#include <apr_pools.h>
#include <ldap.h>

typedef struct ld_attribute {
    const char *name;      /* without options; others than these leave an attribute out */
    const char *option;    /* "range=0-1499", "binary", or NULL */
    struct berval *values; /* each is followed by a NUL */
    int count, room;       /* room: for so many values (worker/ldap/wire/value.c) */
} ld_attribute;

typedef struct ld_entry {
    const char *dn;
    const ld_attribute *attributes;
    int count;
} ld_entry;

/* Values of one entry and its attributes: twice the members of the largest group. Each uses some
 * forty bytes in addition to its content, so very small values could turn one message into
 * gigabytes. */
#define LD_VALUES_MAX 4000000
/* Attributes of one entry: some thirty are requested, and each is looked up among the others. */
#define LD_ATTRIBUTES_MAX 1000

/* One message of an answer into the pool; NULL: it cannot be read, or has too much of something. */
const ld_entry *ld_entry_read(LDAP *ld, LDAPMessage *message, apr_pool_t *pool);
/* The entry after a write, from the controls of the write's answer (RFC 4527); NULL: absent or
 * incomplete. */
const ld_entry *ld_entry_shown(LDAPControl **controls, apr_pool_t *pool);

/* The first one of the name that has values. */
const ld_attribute *ld_get(const ld_entry *entry, const char *name);
/* 1 when the answer names the attribute, with values or as cleared. */
int ld_told(const ld_entry *entry, const char *name);
long ld_number(apr_pool_t *pool, const ld_entry *entry,
               const char *name); /* 0 when absent or none */
/* The lexically first value as text, so that the cache does not flap; NULL when absent. Never
 * invalid UTF-8. */
const char *ld_text(apr_pool_t *pool, const ld_entry *entry, const char *name);
int ld_holds(const ld_entry *entry, const char *name,
             const char *value); /* ASCII case-insensitive */
/* 1 when the attribute has exactly this value and no other; `value` NULL: has none. */
int ld_is(const ld_entry *entry, const char *name, const char *value);

#endif
