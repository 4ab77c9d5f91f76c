/* Owns which rows go with a company, and in which order. Must not know documents. */
#include "core/governance/end.h"

#include "core/cache/cache.h"
#include "core/store/rows.h"
#include "core/tenant/tenant.h"

#define ROWS_AT_ONCE 500
#define RESET_TRIES 10

/* A row goes before the one that it refers to. Tasks take payloads, steps and events along. */
static const db_statement in_main[] = {STMT_end_api_key,        STMT_end_idempotency,
                                       STMT_end_user_lock,      STMT_end_reservation,
                                       STMT_end_workflow_run,   STMT_end_task,
                                       STMT_end_notification,   STMT_end_access_request,
                                       STMT_end_access_grant,   STMT_end_access_end,
                                       STMT_end_access_service, STMT_end_role_assignment,
                                       STMT_end_role_template,  STMT_end_workflow,
                                       STMT_end_named_account,  STMT_end_directory_check};
/* What the reset of a directory leaves, but for numbers. */
static const db_statement in_cache[] = {STMT_end_membership_lost, STMT_end_person_segment};

ida_kind governance_end_figures(store *s, ida_ctx *c, const char *tenant, governance_end *out)
{
    db_result r;
    *out = (governance_end){0};
    ida_kind kind = store_read(s, c, STMT_end_figures, DB_ARGS(DB_T(tenant)), &r);
    if (!kind) {
        const row_end_figures *row = DB_ROW(end_figures, &r, 0);
        *out = (governance_end){row->people.number,     row->tasks.number,
                                row->open_tasks.number, row->running.number,
                                row->events.number,     row->unsent.number,
                                row->requests.number,   row->assignments.number,
                                row->keys.number};
    }
    return kind;
}

static ida_kind empty(store *s, ida_ctx *c, const char *tenant, const db_statement *tables,
                      size_t count)
{
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < count; i++) {
        db_result r = {.changes = ROWS_AT_ONCE};
        while (!kind && r.changes) {
            kind = store_write(s, c, tables[i], DB_ARGS(DB_T(tenant), DB_I(ROWS_AT_ONCE)), &r);
        }
    }
    return kind;
}

ida_kind governance_end_main(store *s, ida_ctx *c, const char *tenant)
{
    return empty(s, c, tenant, in_main, sizeof in_main / sizeof *in_main);
}

ida_kind governance_end_cache(store *s, ida_ctx *c, const char *tenant)
{
    ida_kind kind = IDA_OK;
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        int tries = 0;
        do { /* a worker that empties it as well, because the tenant ended, gives way */
            ida_ctx_clear(c);
            kind = cache_reset(s, c, tenant, (ida_directory_kind)d);
        } while (kind == IDA_CONFLICT && tries++ < RESET_TRIES);
    }
    return kind ? kind : empty(s, c, tenant, in_cache, sizeof in_cache / sizeof *in_cache);
}
