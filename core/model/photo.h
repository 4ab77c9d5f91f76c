/* Profile photos: which bytes are a JPEG or a PNG, and what each directory takes. */
#ifndef CORE_MODEL_PHOTO_H
#define CORE_MODEL_PHOTO_H

#include <apr_pools.h>
#include <stddef.h>

#include "core/tenant/tenant.h"

/* "image/jpeg", "image/png" or NULL: judged by the whole frame of the file, not its first bytes
 * alone. Pixels are not decoded. */
const char *ida_photo_type(const unsigned char *bytes, size_t len);

/* NULL and *type if that directory of the tenant accepts the photo, otherwise the rule it breaks
 * (in pool). */
const char *ida_photo_fault(apr_pool_t *pool, ida_directory_kind where, const unsigned char *bytes,
                            size_t len, const char **type);

#endif
