/* The queue of one engine as a worker claims from it, for the tests of the queue. */
#ifndef T_UNIT_QUEUE_CLAIMS_H
#define T_UNIT_QUEUE_CLAIMS_H

#include "t/unit/queue_setup.h"

static store *s;
static int64_t due;

static const char *claimed(int64_t now)
{
    ida_task *t = claim_at(s, "w", now, NULL);
    return t ? t->id : NULL;
}

/* Ends all running and queued tasks, so that each test begins with an empty queue. */
static void drain(void)
{
    script(DB_REQUEST, "DELETE FROM user_lock; DELETE FROM reservation; DELETE FROM workflow_run; "
                       "DELETE FROM task; DELETE FROM audit_outbox; DELETE FROM directory_state; "
                       "UPDATE tenant SET seats_held = 0");
}

/* The i-th engine with its tenants. */
static void begin_queue(int i)
{
    dsn = store_upgraded(i, &engine);
    printf("# %s\n", engine);
    due = test_now_ms;
    s = store_make(pool, dsn, DB_REQUEST);
    add_tenant("contoso", "");
    add_tenant("fabrikam", "");
    add_tenant("brake", "\"brake\":{\"offboardingsPerHour\":2},");
    ok(script(DB_REQUEST, "INSERT INTO tenant (id, document, seal, revision, created_at, "
                          "updated_at) VALUES ('damaged', '{}', '', 1, 1, 1)"),
       "%s: tenant damaged", engine);
}

#endif
