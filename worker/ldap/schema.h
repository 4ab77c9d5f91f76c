/* What the server's schema says: which attributes exist and which a class may hold. */
#ifndef WORKER_LDAP_SCHEMA_H
#define WORKER_LDAP_SCHEMA_H

#include <apr_pools.h>
#include <ldap.h>

typedef struct ld_schema ld_schema;

/* From the values of attributeTypes and objectClasses; unreadable definitions are left out. */
ld_schema *ld_schema_make(apr_pool_t *pool, const struct berval *types, int type_count,
                          const struct berval *classes, int class_count);

/* Adds the values of dITContentRules: what a class may hold beyond its definition. */
void ld_schema_rules(ld_schema *s, const struct berval *rules, int count);

int ld_schema_knows(const ld_schema *s, const char *attribute);
/* 1 when an entry of the class (with its superiors) may hold the attribute. */
int ld_schema_allows(const ld_schema *s, const char *class, const char *attribute);
/* An auxiliary class that adds the attribute and demands nothing else; the first by name; NULL when
 * there is none. */
const char *ld_schema_auxiliary(const ld_schema *s, const char *attribute);

#endif
