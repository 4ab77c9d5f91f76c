/* Owns what is asked of the chained record: pages of it, the removal of what grew too old. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/audit.h"
#include "core/store/rows.h"

audit_row store_audit_row(const db_result *r, int i, const char *tenant)
{
    const row_audit *row = DB_ROW(audit, r, i);
    return (audit_row){
        .seq = row->seq.number,
        .erased = row->salt.text == NULL,
        .hash = row->hash.text,
        .record = {.rid = row->rid.text,
                   .tenant = tenant,
                   .at = row->at.number,
                   .category = row->category.text,
                   .actor = row->actor.text,
                   .label = row->label.text,
                   .action = row->action.text,
                   .target = row->target.text,
                   .endpoint = row->endpoint.text,
                   .parameters = row->parameters.text,
                   .outcome = row->outcome.text,
                   .detail = row->detail.text,
                   .address = row->address.text},
    };
}

/* --- pages --- */

typedef struct list_work {
    const char *tenant;
    const store_audit_filter *filter;
    int count;
    db_result page, total;
} list_work;

static ida_kind list(store *s, ida_ctx *c, void *baton)
{
    static const db_statement lists[2][2][2] = {
        {{STMT_audit_list, STMT_audit_list_category},
         {STMT_audit_list_actor, STMT_audit_list_actor_category}},
        {{STMT_audit_times, STMT_audit_times_category},
         {STMT_audit_times_actor, STMT_audit_times_actor_category}}};
    static const db_statement counts[2][2] = {{STMT_audit_count, STMT_audit_count_category},
                                              {STMT_audit_count_actor,
                                               STMT_audit_count_actor_category}};
    list_work *w = baton;
    const store_audit_filter *f = w->filter;
    int64_t to = f->to > 0 ? f->to : INT64_MAX;
    db_arg args[7] = {DB_T(w->tenant), DB_I(f->from), DB_I(to),
                      DB_I(f->before_seq > 0 ? f->before_seq : INT64_MAX), DB_I(f->limit)};
    if (f->by_time) { /* at first nobody has this seq: all of the instant `to` stay out */
        args[2] = (db_arg)DB_I(f->before_seq > 0 ? f->before_at : to);
        args[3] = (db_arg)DB_I(f->before_seq);
    }
    db_arg own[2];
    size_t count = 0;
    if (f->actor) {
        own[count++] = (db_arg)DB_T(audit_actor_key(c->pool, f->actor));
    }
    if (f->category) {
        own[count++] = (db_arg)DB_T(f->category);
    }
    memcpy(args + 5, own, count * sizeof *own);
    ida_kind kind = store_read(s, c, lists[f->by_time][f->actor != NULL][f->category != NULL], args,
                               5 + count, &w->page);
    if (!kind && w->count) {
        args[2] = (db_arg)DB_I(to);
        memcpy(args + 3, own, count * sizeof *own);
        kind = store_read(s, c, counts[f->actor != NULL][f->category != NULL], args, 3 + count,
                          &w->total);
    }
    return kind;
}

ida_kind store_audit_list(store *s, ida_ctx *c, const char *tenant,
                          const store_audit_filter *filter, const audit_row **rows, int *count,
                          int64_t *total)
{
    list_work w = {.tenant = tenant, .filter = filter, .count = total != NULL};
    ida_kind kind = store_snapshot(s, c, list, &w);
    if (kind) {
        return kind;
    }
    audit_row *all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(w.page.rows + 1));
    for (int i = 0; i < w.page.rows; i++) {
        all[i] = store_audit_row(&w.page, i, tenant);
    }
    *rows = all;
    *count = w.page.rows;
    if (total) {
        *total = DB_ROW(number, &w.total, 0)->number.number;
    }
    return IDA_OK;
}

ida_kind store_audit_about(store *s, ida_ctx *c, const char *tenant,
                           const store_audit_about_filter *f, const audit_row **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_about,
                               DB_ARGS(DB_T(tenant), DB_I(f->after_seq), DB_I(f->from),
                                       DB_T(f->target), DB_T(f->tasks), DB_I(f->limit)),
                               &r);
    audit_row *all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(kind ? 1 : r.rows + 1));
    for (int i = 0; !kind && i < r.rows; i++) {
        all[i] = store_audit_row(&r, i, tenant);
    }
    *rows = all;
    *count = kind ? 0 : r.rows;
    return kind;
}

/* --- retention --- */

typedef struct retain_work {
    const char *tenant;
    int64_t before;
    int max, removed;
} retain_work;

/* From the foot of the chain. The prefix ends before the first record that is young enough, also
 * when older ones stand behind it. */
static ida_kind retain(store *s, ida_ctx *c, void *baton)
{
    retain_work *w = baton;
    db_result r, young;
    w->removed = 0;
    ida_kind kind = store_read(s, c, STMT_audit_chain_lock, DB_ARGS(DB_T(w->tenant)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const row_chain *chain = DB_ROW(chain, &r, 0);
    int64_t head = chain->seq.number, first = chain->first_seq.number;
    int64_t end = head - first > w->max ? first + w->max : head;
    kind = store_read(s, c, STMT_audit_first_young,
                      DB_ARGS(DB_T(w->tenant), DB_I(w->before), DB_I(end)), &young);
    if (kind) {
        return kind;
    }
    end = young.rows ? DB_ROW(number, &young, 0)->number.number - 1 : end;
    if (end <= first) {
        return IDA_OK;
    }
    if ((kind = store_read(s, c, STMT_audit_hash_at, DB_ARGS(DB_T(w->tenant), DB_I(end)), &r)) !=
        IDA_OK) {
        return kind;
    }
    if (!r.rows) {
        ida_log(c->env, IDA_LOG_ERROR, "IDA0141",
                "audit: the record %lld of %s is missing: retention leaves the chain as it is; see "
                "idadminctl audit verify",
                (long long)end, w->tenant);
        return ida_fail(c, IDA_CONFLICT,
                        "The audit record %lld is missing: verify the chain first.",
                        (long long)end);
    }
    const char *hash = DB_ROW(audit_hash, &r, 0)->hash.text;
    kind = store_write(s, c, STMT_audit_chain_set_first,
                       DB_ARGS(DB_T(w->tenant), DB_I(end), DB_T(hash)), NULL);
    if (!kind && (kind = store_write(s, c, STMT_audit_remove_prefix,
                                     DB_ARGS(DB_T(w->tenant), DB_I(end)), &r)) == IDA_OK) {
        w->removed = (int)r.changes; /* at most `max` */
    }
    return kind;
}

ida_kind store_audit_retain(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                            int *removed)
{
    retain_work w = {.tenant = tenant, .before = before, .max = max};
    ida_kind kind = store_transaction(s, c, retain, &w);
    *removed = kind ? 0 : w.removed;
    return kind;
}
