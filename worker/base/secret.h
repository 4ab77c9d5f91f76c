/* Memory for tokens and credentials, and the reading of files that hold them. */
#ifndef WORKER_BASE_SECRET_H
#define WORKER_BASE_SECRET_H

#include <apr_pools.h>
#include <stddef.h>

/* Once, before threads start: the process writes no core dump and is not to be traced by others of
 * its user. */
void secret_process_guard(void);

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
