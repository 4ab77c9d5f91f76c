/* What each member of the tenant document looks like by itself: for core/tenant/check.c and
 * core/tenant/seal.c. */
#ifndef CORE_TENANT_SHAPE_H
#define CORE_TENANT_SHAPE_H

#include <jansson.h>

#include "core/base/context.h"

typedef struct ida_tenant_checking {
    ida_ctx *c;
    int applying; /* also at what can change under a stored document (time zone files) */
    int faults;
} ida_tenant_checking;

/* Adds a fault of the member at `path`, as long as there are not too many. */
void ida_tenant_fault(ida_tenant_checking *k, const char *path, const char *rule);

/* Members that are unknown, missing, of the wrong type or against a rule of their own. */
void ida_tenant_shape_check(ida_tenant_checking *k, const json_t *document);

/* Fills in the defaults that are the same for all tenants. */
void ida_tenant_shape_fill(json_t *document);

/* Calls `visit` for each member of the document that names a file, with the member's path; `secret`
 * is 0 for CA files. */
typedef void ida_file_visitor(ida_ctx *c, const char *member, const char *path, int secret);
void ida_tenant_files(ida_ctx *c, const json_t *document, ida_file_visitor *visit);

/* The action that mails a password: only for an account that the task makes or brings back. */
#define IDA_ACTION_PASSWORD "sendInitialPassword"

#endif
