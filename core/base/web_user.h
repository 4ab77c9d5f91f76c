/* What httpd's user could do with a file of the service. A vulnerability in any web application
 * of that server must not expose the worker's secrets, so every reader of a secret checks this
 * first. */
#ifndef CORE_BASE_WEB_USER_H
#define CORE_BASE_WEB_USER_H

#include <apr_pools.h>

/* Names httpd's user for the whole process: its ID, its groups, and those of the `directories`
 * (ended by NULL, each may be missing) that it shares with the worker. 0 when there is no such
 * user: then nothing is exposed to it. Before that call nothing is checked either. May be called
 * again while others ask. */
int ida_web_user_set(const char *name, const char *const *directories);

/* NULL when nothing is checked. */
const char *ida_web_user_name(void);

/* 1 when this process runs as that user. */
int ida_web_user_is_ours(void);

/* NULL if httpd's user can neither replace nor write the file nor, with `secret`, read it;
 * otherwise how it can, for people: "can be ...". Judged by owner, mode, access control list and
 * the directories of the path. NULL also for a missing file or one that is not regular. */
const char *ida_web_user_may(apr_pool_t *pool, const char *path, int secret);

#endif
