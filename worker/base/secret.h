/* Memory for tokens and credentials, and the reading of files that hold them. */
#ifndef WORKER_BASE_SECRET_H
#define WORKER_BASE_SECRET_H

#include <apr_pools.h>
#include <stddef.h>

/* Once, before threads start: the process writes no core dump and is not to be traced by others of
 * its user. */
void secret_process_guard(void);

/* First of all in a program: what OpenSSL and Jansson give back is wiped from then on. They,
 * libcurl and libldap (which are given the functions below when they are initialised) copy tokens,
 * secrets and passwords into buffers of their own and free them as they are; free memory, and a
 * dump of it taken by root, would tell them. Two libraries below them let nobody set their
 * allocator: nghttp2 as libcurl uses it, and GnuTLS where libldap is built with it. */
void secret_memory_init(void);

/* As those of the C library, on whose blocks they work; what is given back is wiped. */
void *secret_realloc(void *memory, size_t size);
void secret_free(void *memory);

/* Zeroed pages of their own: left out of core dumps, not handed to children, kept out of swap where
 * the system lets us. NULL when there is no memory. */
char *secret_map(size_t size);
/* Wipes and gives back; NULL is ignored. */
void secret_unmap(char *memory, size_t size);

/* The file's bytes into `out` (memory of secret_map) with a NUL behind, *len set. NULL, or for
 * people what is wrong with it: "MEMBER PATH ...". A file that others can read is refused, and one
 * that httpd's user can read or replace. */
const char *secret_file_read(apr_pool_t *pool, const char *member, const char *path, char *out,
                             size_t size, size_t *len);

#endif
