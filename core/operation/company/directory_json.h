/* How a tenant's directories stand, as the console shows them: what the document says of each, how
 * fresh the cache is, what stands in the way and who waits for it. */
#ifndef CORE_OPERATION_COMPANY_DIRECTORY_JSON_H
#define CORE_OPERATION_COMPANY_DIRECTORY_JSON_H

#include "core/operation/operation.h"

/* An array with one object for each directory of the call's tenant, the premises last; in the
 * context's pool. */
ida_kind ida_directories_json(ida_call *call, store *s, ida_ctx *c, json_t **array);

#endif
