/* State of a tenant's directories as the console shows it: the document's settings, how fresh
 * the cache is, what is wrong and how many tasks wait for it. */
#ifndef CORE_OPERATION_COMPANY_DIRECTORY_JSON_H
#define CORE_OPERATION_COMPANY_DIRECTORY_JSON_H

#include "core/operation/operation.h"

/* An array with one object for each directory of the call's tenant, on-premises last; in the
 * context's pool. */
ida_kind ida_directories_json(ida_call *call, store *s, ida_ctx *c, json_t **array);

#endif
