/* Opaque, authenticated page cursors, bound to tenant, operation and filters. */
#ifndef CORE_BASE_CURSOR_H
#define CORE_BASE_CURSOR_H

#include "core/base/context.h"

#define IDA_CURSOR_KEY_LEN 32

/* `position` is what the store needs to continue (any text, e.g. JSON); `binding` is tenant +
 * operation + canonical filters. base64url(position || HMAC-SHA256(key, binding || position)
 * truncated to 16 bytes). */
char *ida_cursor_make(apr_pool_t *pool, const unsigned char key[IDA_CURSOR_KEY_LEN],
                      const char *binding, const char *position);

/* Position of a cursor; IDA_BAD_REQUEST naming `cursor` if it is foreign, altered or made for
 * other filters. */
ida_kind ida_cursor_open(ida_ctx *c, const unsigned char key[IDA_CURSOR_KEY_LEN],
                         const char *binding, const char *cursor, char **position);

#endif
