/* Which user runs which program (doc/install.md): what httpd's user must not be able to do to
 * the worker's files. */
#ifndef WORKER_LAYOUT_H
#define WORKER_LAYOUT_H

#include "core/store/store.h"
#include "worker/base/config.h"

/* Called before any secret is read: finds out httpd's user. 0 if there is no such user on this
 * machine. */
int layout_web_user(const worker_config *config);

/* IDA_CONFLICT when the worker runs as httpd's user, or when that one can read the seal key or a
 * secret, or replace one of those, idadmin.conf or a file of authorities. Documents of tenants are
 * looked through when the store can be reached; each secret is judged again when it is used. */
ida_kind layout_check(ida_ctx *c, const worker_config *config);

/* Appends what restores have put aside on this machine and in the store: files, directories,
 * schemas; `remove`: and removes them. */
ida_kind layout_aside(ida_ctx *c, store *s, const worker_config *config, int remove, json_t *names);

#endif
