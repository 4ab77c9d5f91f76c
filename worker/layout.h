/* Who runs as whom (doc/install.md): what httpd's user must not be able to do to what is the
 * worker's. */
#ifndef WORKER_LAYOUT_H
#define WORKER_LAYOUT_H

#include "worker/base/config.h"

/* Before any secret is read: says who httpd's user is. 0 when there is no such user on this
 * machine. */
int layout_web_user(const worker_config *config);

/* IDA_CONFLICT when the worker runs as httpd's user, or when that one can read the seal key or a
 * secret, or replace one of those, idadmin.conf or a file of authorities. Documents of tenants are
 * looked through when the store can be reached; each secret is judged again when it is used. */
ida_kind layout_check(ida_ctx *c, const worker_config *config);

#endif
