/* What httpd's user could do with a file of ours. The worker's secrets are worth no more than what
 * a hole in any web application of that server leaves of them, so every reader of a secret asks
 * here first. */
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

/* NULL when httpd's user can neither replace nor write the file nor, with `secret`, read it; else
 * for people how it can: "can be ...". Judged by owner, mode, access control list and the
 * directories on the way. NULL also for what is not there or no regular file. */
const char *ida_web_user_may(apr_pool_t *pool, const char *path, int secret);

#endif
