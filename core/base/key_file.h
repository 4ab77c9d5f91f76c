/* Files that hold keys of this machine: made once, read by their owner alone. What lies in one is
 * text; whoever reads it wipes it. */
#ifndef CORE_BASE_KEY_FILE_H
#define CORE_BASE_KEY_FILE_H

#include <sys/types.h>

#include "core/base/context.h"

#define IDA_SECRET_LEN 32
#define IDA_SECRET_HEX (IDA_SECRET_LEN * 2)

/* `what` names the file for people: "seal key". */

/* Makes it when there is none (mode 0400): one key as hex, then `ending` and a newline. Owned by
 * `owner` and `group`, an older one too; with (uid_t)-1, whoever owns the directory when root makes
 * it. */
ida_kind ida_key_file_make(ida_ctx *c, const char *what, const char *path, const char *ending,
                           uid_t owner, gid_t group);

/* Its text without the newlines at the end, and a NUL behind it. Refuses a file that others can
 * read, or httpd's user; IDA_NOT_FOUND where there is none. */
ida_kind ida_key_file_read(ida_ctx *c, const char *what, const char *path, char *text, size_t size,
                           size_t *len);

/* Another text in its place, at once and for the same owner. */
ida_kind ida_key_file_replace(ida_ctx *c, const char *what, const char *path, const char *text);

/* 64 hexadecimal digits as bytes; 0 when they are none. */
int ida_key_parse(apr_pool_t *pool, const char *text, size_t len,
                  unsigned char key[IDA_SECRET_LEN]);

#endif
