/* Tenants and their documents in the store, with the tables that follow from them (workflows, role
 * templates, access catalog, receivers of notifications). */
#ifndef CORE_STORE_TENANT_H
#define CORE_STORE_TENANT_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

/* Parsed tenant; `revision` may be NULL. In a process with a seal key (ida_env) only a document
 * that it may follow: for another one IDA_INTERNAL_ERROR, reason "unsealed". */
ida_kind store_tenant_get(store *s, ida_ctx *c, const char *id, ida_tenant **tenant,
                          int64_t *revision);
/* The number that a changed document raises; IDA_NOT_FOUND. */
ida_kind store_tenant_revision(store *s, ida_ctx *c, const char *id, int64_t *revision);
/* The stored canonical document with its seal, as they are; IDA_NOT_FOUND. */
ida_kind store_tenant_document(store *s, ida_ctx *c, const char *id, ida_stored_tenant *stored);
/* Writes document, seal and the revision that the seal covers, and brings workflow, role_template,
 * access_service, notification in line (matching by name; IDs of templates that stay are kept; a
 * template that goes takes its assignments with it). One transaction; call inside store_transaction
 * together with the audit record. */
ida_kind store_tenant_put(store *s, ida_ctx *c, const ida_tenant *tenant,
                          const ida_stored_tenant *stored);
/* All tenants by ID, at most 10,000, with what people call them. */
typedef struct store_tenant_name {
    const char *id, *name, *time_zone; /* name: the ID where the document has none */
} store_tenant_name;
ida_kind store_tenant_names(store *s, ida_ctx *c, const store_tenant_name **rows, int *count);
/* Array of {companyId, name, state, directories[], seatLimit, seatsHeld, enabledMembers,
 * updatedAt}; at most 10,000. */
ida_kind store_tenant_list(store *s, ida_ctx *c, json_t **array);
/* All tenant IDs with their revision, for the worker: sorted. */
typedef struct store_tenant_id {
    const char *id;
    int64_t revision;
    const char *state; /* active, paused, deleted */
} store_tenant_id;
#define STORE_TENANT_ACTIVE "active"
ida_kind store_tenant_ids(store *s, ida_ctx *c, const store_tenant_id **ids, int *count);
/* PostgreSQL: locks the tenant's row (FOR UPDATE) inside the open transaction; SQLite: nothing, the
 * gate is held. IDA_NOT_FOUND. Order of locks: tenant, then user. */
ida_kind store_tenant_lock(store *s, ida_ctx *c, const char *id);
/* The same, and what stays as it is while the lock is held. */
typedef struct store_tenant_row {
    const char *state; /* "", "paused", "deleted" */
    int64_t schema;    /* number of the store's schema: see store_schema_version_of */
} store_tenant_row;
ida_kind store_tenant_lock_row(store *s, ida_ctx *c, const char *id, store_tenant_row *row);

/* How many people have a role template. */
ida_kind store_template_assigned(store *s, ida_ctx *c, const char *tenant, const char *template_id,
                                 int64_t *total);

#endif
