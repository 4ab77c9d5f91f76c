/* The server's schema: which attributes exist and which of them a class allows. */
#ifndef WORKER_LDAP_WIRE_SCHEMA_H
#define WORKER_LDAP_WIRE_SCHEMA_H

#include <apr_pools.h>
#include <ldap.h>

typedef struct ld_schema ld_schema;

/* From the values of attributeTypes and objectClasses; unreadable definitions are left out. */
ld_schema *ld_schema_make(apr_pool_t *pool, const struct berval *types, int type_count,
                          const struct berval *classes, int class_count);

/* Adds the values of dITContentRules: attributes that a class allows beyond its definition. */
void ld_schema_rules(ld_schema *s, const struct berval *rules, int count);

int ld_schema_knows(const ld_schema *s, const char *attribute);
/* 1 if an entry of the class (with its superiors) may have the attribute. */
int ld_schema_allows(const ld_schema *s, const char *class, const char *attribute);
/* The first auxiliary class by name that adds the attribute and requires nothing else; NULL if
 * there is none. */
const char *ld_schema_auxiliary(const ld_schema *s, const char *attribute);

#endif
