/* What a directory cannot keep of a person: taken by the interface with a warning, skipped when
 * carried out. */
#ifndef CORE_MODEL_UNSUPPORTED_H
#define CORE_MODEL_UNSUPPORTED_H

#include <jansson.h>

#include "core/tenant/tenant.h"

/* Why this directory does not store `value` (of profilePhoto: its type) as it is, for people;
 * NULL: it does, or that is unknown before the request. `partly`: it is stored nevertheless,
 * in part or as text. */
const char *ida_unsupported(const ida_tenant *tenant, ida_directory_kind where, const char *field,
                            const char *value, int *partly);

/* A warning for each such member of `values` (name -> text) and for the photo (its type; NULL:
 * none). */
void ida_warn_unsupported(apr_pool_t *pool, const ida_tenant *tenant, ida_directory_kind where,
                          const json_t *values, const char *photo_type, json_t *warnings);

#endif
