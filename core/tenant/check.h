/* Inside of the tenant document's validation, for tenant.c. */
#ifndef CORE_TENANT_CHECK_H
#define CORE_TENANT_CHECK_H

#include <jansson.h>

#include "core/tenant/tenant.h"

/* Adds a fault to c for each member of the document that is unknown, missing, of the wrong type
 * or against a rule. `applying`: also checks what can change under a stored document (time zone
 * files), and rules that were added after documents that break them had been stored: the worker
 * enforces those rules itself, and such tenants are still served. */
void ida_tenant_check(ida_ctx *c, const json_t *document, int applying);

/* Deep copy of the document with every default filled in, also inside the directories. New
 * reference. */
json_t *ida_tenant_filled(const json_t *document);

#endif
