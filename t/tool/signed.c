/* Changes rows of tasks as a test wants them and signs what is not over, in one transaction: what a
 * worker then believes.
 *
 *   signed DSN TASK_KEY_FILE SQL
 */
#include <apr_general.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/queue/trust.h"

static ida_kind change(store *s, ida_ctx *c, void *baton)
{
    int64_t count;
    const char *sql = baton;
    ida_kind kind = db_script(s->db, c, sql);
    kind = kind ? kind
                : db_script(s->db, c,
                            "UPDATE task SET mac = NULL WHERE state <> 'running' "
                            "AND COALESCE(mac, '') <> 'held'");
    return kind ? kind : queue_trust_sign_all(s, c, 1, &count);
}

int main(int argc, char **argv)
{
    apr_pool_t *pool;
    ida_env env;
    if (argc != 4 || apr_initialize() != APR_SUCCESS) {
        fputs("usage: signed DSN TASK_KEY_FILE SQL\n", stderr);
        return 2;
    }
    apr_pool_create(&pool, NULL);
    ida_env_default(&env);
    ida_ctx *c = ida_ctx_make(&env, pool);
    store *s = store_make(pool, argv[1], DB_REQUEST);
    s->task_key = argv[2];
    if (store_transaction(s, c, change, argv[3])) {
        fprintf(stderr, "signed: %s\n", c->message);
        return 1;
    }
    apr_pool_destroy(pool);
    return 0;
}
