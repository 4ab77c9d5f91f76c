/* What the two other users of this machine may do with files of the service. A vulnerability in any
 * web application of httpd must not expose the worker's secrets, so every reader of a secret checks
 * this first. The writer's user has what it needs by a group of its own. */
#ifndef CORE_BASE_WEB_USER_H
#define CORE_BASE_WEB_USER_H

#include <apr_pools.h>
#include <sys/types.h>

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

/* Name or number of the group of the writer's user, for the whole process. */
void ida_writer_group_set(const char *name);

/* (gid_t)-1: there is none, or httpd's user is in it, so that nothing may be given to it. */
gid_t ida_writer_group(void);

#endif
