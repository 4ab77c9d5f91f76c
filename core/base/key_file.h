/* Files with keys of this machine: created once, read by their owner only. Callers wipe the text
 * that they read. */
#ifndef CORE_BASE_KEY_FILE_H
#define CORE_BASE_KEY_FILE_H

#include <sys/types.h>

#include "core/base/context.h"

#define IDA_SECRET_LEN 32
#define IDA_SECRET_HEX (IDA_SECRET_LEN * 2)

/* `what` names the file for people: "seal key". */

/* Creates the file if there is none (mode 0400): one key as hex, then `ending` and a newline.
 * Owned by `owner` and `group`, also an existing one; with (uid_t)-1, by the owner of the
 * directory if root creates it. */
ida_kind ida_key_file_make(ida_ctx *c, const char *what, const char *path, const char *ending,
                           uid_t owner, gid_t group);

/* Its text without trailing newlines, followed by a NUL. Refuses a file that other users or
 * httpd's user can read; IDA_NOT_FOUND if there is none. */
ida_kind ida_key_file_read(ida_ctx *c, const char *what, const char *path, char *text, size_t size,
                           size_t *len);

/* Replaces the text at once, with the same owner. */
ida_kind ida_key_file_replace(ida_ctx *c, const char *what, const char *path, const char *text);

/* 64 hexadecimal digits as bytes; 0 when they are none. */
int ida_key_parse(apr_pool_t *pool, const char *text, size_t len,
                  unsigned char key[IDA_SECRET_LEN]);

#endif
