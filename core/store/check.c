/* Owns the rows of directory_check: probes of directories that people requested. Must not know a
 * probe's result. */
#include "core/store/directory.h"

/* A worker that has not finished a probe for so long is dead: another one takes the probe. */
#define ABANDONED_MS (5 * INT64_C(60000))

static void of_row(const db_result *r, store_check *out)
{
    const row_directory_check *k = DB_ROW(directory_check, r, 0);
    int directory = ida_directory_parse(k->directory.text);
    *out = (store_check){.tenant = k->tenant_id.text,
                         .directory = directory < 0 ? IDA_DIR_CLOUD : (ida_directory_kind)directory,
                         .requested_at = k->requested_at.number,
                         .started_at = k->started_at.number,
                         .finished_at = k->finished_at.number,
                         .worker = k->worker.text,
                         .lines = k->lines.text};
}

ida_kind store_check_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         store_check *out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_directory_check_get,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
    *out = (store_check){.tenant = tenant, .directory = directory, .lines = "[]"};
    if (!kind && r.rows) {
        of_row(&r, out);
    }
    return kind;
}

ida_kind store_check_request(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory)
{
    return store_write(
        s, c, STMT_directory_check_request,
        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(ida_now(c->env))), NULL);
}

ida_kind store_check_claim(store *s, ida_ctx *c, const char *worker, store_check *out)
{
    db_result r;
    int64_t now = ida_now(c->env);
    ida_kind kind = store_read(s, c, STMT_directory_check_next, DB_ARGS(DB_I(now - ABANDONED_MS)),
                               &r);
    if (kind || !r.rows) {
        return kind ? kind : IDA_NOT_FOUND;
    }
    of_row(&r, out);
    int64_t seen = out->started_at;
    out->started_at = now;
    out->worker = worker;
    kind = store_write(s, c, STMT_directory_check_claim,
                       DB_ARGS(DB_T(out->tenant), DB_T(ida_directory_name(out->directory)),
                               DB_I(out->requested_at), DB_I(out->started_at), DB_T(worker),
                               DB_I(seen)),
                       &r);
    return kind || r.changes ? kind : IDA_NOT_FOUND; /* another worker was faster */
}

ida_kind store_check_done(store *s, ida_ctx *c, const store_check *check, const char *lines)
{
    return store_write(s, c, STMT_directory_check_done,
                       DB_ARGS(DB_T(check->tenant), DB_T(ida_directory_name(check->directory)),
                               DB_I(check->requested_at), DB_I(ida_now(c->env)),
                               DB_T(check->worker), DB_T(lines)),
                       NULL);
}

ida_kind store_directory_expiry(store *s, ida_ctx *c, const char *tenant,
                                ida_directory_kind directory, int64_t certificate, int64_t password)
{
    return store_write(s, c, STMT_directory_expiry,
                       DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(certificate),
                               DB_I(password)),
                       NULL);
}
