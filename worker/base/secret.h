/* Memory for tokens and credentials, and reading files that contain them. */
#ifndef WORKER_BASE_SECRET_H
#define WORKER_BASE_SECRET_H

#include <apr_pools.h>
#include <stddef.h>

/* Once, before threads start: the process writes no core dump, and other processes of its user
 * cannot trace it. */
void secret_process_guard(void);

/* First call of a program: from then on memory freed by OpenSSL and Jansson is wiped. They,
 * libcurl and libldap (which get the functions below when they are initialised) copy tokens,
 * secrets and passwords into buffers and free them unchanged; freed memory, or a dump of it
 * taken by root, would contain them. Two libraries below them do not let their allocator be set:
 * nghttp2 as libcurl uses it, and GnuTLS if libldap is built with it. */
void secret_memory_init(void);

/* Like the C library's functions, on whose blocks they work; freed memory is wiped. */
void *secret_realloc(void *memory, size_t size);
void secret_free(void *memory);

/* Zeroed pages of their own: left out of core dumps, not handed to children, kept out of swap where
 * the system lets us. NULL when there is no memory. */
char *secret_map(size_t size);
/* Wipes and frees; NULL is ignored. */
void secret_unmap(char *memory, size_t size);

/* Reads the file into `out` (memory of secret_map) followed by a NUL, and sets *len. NULL, or
 * what is wrong with it, for people: "MEMBER PATH ...". A file that others can read is refused,
 * and one that httpd's user can read or replace. */
const char *secret_file_read(apr_pool_t *pool, const char *member, const char *path, char *out,
                             size_t size, size_t *len);

#endif
