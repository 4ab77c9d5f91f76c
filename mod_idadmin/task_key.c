/* Owns the task key in httpd: read once by whoever starts it, which is root, and held by the
 * children in memory alone. Must not know what is signed with it. */
#include "mod_idadmin/module.h"

#include "core/model/task_mac.h"

APLOG_USE_MODULE(idadmin);

static ida_key_ring ring;

void task_key_read(apr_pool_t *pool, server_rec *s)
{
    ida_env env;
    ida_env_default(&env);
    ida_ctx *c = ida_ctx_make(&env, pool);
    if (ida_ring_read(c, IDA_TASK_KEY_NAME, config_task_key(s), &ring)) {
        ida_ring_wipe(&ring);
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "IDA0216: nothing can be queued or changed until httpd has a task key: %s "
                     "(IdAdminTaskKey names the file; reload httpd when it is there)",
                     c->message);
    }
}

const ida_key_ring *task_key_ring(void)
{
    return &ring;
}
