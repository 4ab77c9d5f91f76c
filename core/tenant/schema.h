/* The JSON Schema of a whole tenant document, for editors, `idadminctl tenant schema` and the
 * manual page. */
#ifndef CORE_TENANT_SCHEMA_H
#define CORE_TENANT_SCHEMA_H

#include <jansson.h>

/* Draft 2020-12; the caller's reference. It refuses nothing that the service takes; rules between
 * members are not in it. */
json_t *ida_tenant_schema(void);

#endif
