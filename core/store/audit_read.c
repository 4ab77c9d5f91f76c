/* Owns what is asked of the chained record: pages of it, the removal of what grew too old. */
#include <string.h>

#include "core/base/json.h"
#include "core/store/audit.h"
#include "core/store/chain_head.h"
#include "core/store/chain_key.h"
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
                   .address = row->address.text,
                   .correlation = row->correlation.text,
                   .marks = row->marks.text},
    };
}

/* --- pages --- */

typedef struct list_work {
    const char *tenant;
    const store_audit_filter *filter;
    int count;
    db_result page, total;
} list_work;

/* The index that the page is taken from. */
typedef enum path {
    PATH_ALL,
    PATH_DEEDS,
    PATH_ACTOR,
    PATH_CATEGORY,
    PATH_TARGET,
    PATH_TASK,
    PATH_CORRELATION,
    PATHS
} path;

static path path_of(const store_audit_filter *f)
{
    return !f->by_time      ? (f->actor ? PATH_ACTOR : PATH_ALL)
           : f->task        ? PATH_TASK
           : f->correlation ? PATH_CORRELATION
           : f->target      ? PATH_TARGET
           : f->actor       ? PATH_ACTOR
           : f->category    ? PATH_CATEGORY
           : f->questions   ? PATH_ALL
                            : PATH_DEEDS;
}

/* What narrows the page row by row, then the key of its path and whether questions count; how many
 * arguments these are. */
static size_t narrow(const store_audit_filter *f, path by, int questions, ida_ctx *c, db_arg *to)
{
    const char *actor = audit_key(c->pool, f->actor), *target = audit_key(c->pool, f->target);
    const char *const keys[PATHS] = {[PATH_ACTOR] = actor,
                                     [PATH_CATEGORY] = f->category,
                                     [PATH_TARGET] = target,
                                     [PATH_TASK] = target,
                                     [PATH_CORRELATION] = f->correlation};
    size_t count = 0;
    to[count++] = (db_arg)DB_T(by == PATH_CATEGORY ? NULL : f->category);
    to[count++] = (db_arg)DB_T(f->action);
    to[count++] = (db_arg)DB_T(f->outcome);
    to[count++] = (db_arg)DB_T(by == PATH_ACTOR ? NULL : actor);
    to[count++] = (db_arg)DB_T(by == PATH_TARGET || by == PATH_TASK ? NULL : target);
    to[count++] = (db_arg)DB_T(by == PATH_CORRELATION ? NULL : f->correlation);
    if (keys[by]) {
        to[count++] = (db_arg)DB_T(keys[by]);
        to[count++] = (db_arg)DB_I(questions);
    }
    if (by == PATH_TASK) {
        to[count++] = (db_arg)DB_T(f->task);
    }
    return count;
}

static ida_kind list(store *s, ida_ctx *c, void *baton)
{
    static const db_statement by_place[PATHS] = {STMT_audit_list, STMT_audit_list,
                                                 STMT_audit_list_actor},
                              by_time[PATHS] = {STMT_audit_times,
                                                STMT_audit_times_deeds,
                                                STMT_audit_times_actor,
                                                STMT_audit_times_category,
                                                STMT_audit_times_target,
                                                STMT_audit_times_task,
                                                STMT_audit_times_correlation},
                              counts[PATHS] = {STMT_audit_count,
                                               STMT_audit_count_deeds,
                                               STMT_audit_count_actor,
                                               STMT_audit_count_category,
                                               STMT_audit_count_target,
                                               STMT_audit_count_task,
                                               STMT_audit_count_correlation};
    list_work *w = baton;
    const store_audit_filter *f = w->filter;
    path by = path_of(f);
    int64_t to = f->to > 0 ? f->to : INT64_MAX;
    db_arg args[14] = {DB_T(w->tenant), DB_I(f->from), DB_I(to),
                       DB_I(f->before_seq > 0 ? f->before_seq : INT64_MAX), DB_I(f->limit)};
    if (f->by_time) { /* no record has this seq yet: all records of the instant `to` are left out */
        args[2] = (db_arg)DB_I(f->before_seq > 0 ? f->before_at : to);
        args[3] = (db_arg)DB_I(f->before_seq);
    }
    size_t count = narrow(f, by, f->questions, c, args + 5);
    if (!f->by_time && by == PATH_ACTOR) {
        count--; /* a page by position leaves no reads out */
    }
    ida_kind kind = store_read(s, c, (f->by_time ? by_time : by_place)[by],
                               DB_FIRST(args, 5 + count), &w->page);
    if (!kind && w->count) {
        args[2] = (db_arg)DB_I(to);
        args[3] = (db_arg)DB_I(f->count_max);
        count = narrow(f, by, f->questions || !f->by_time, c, args + 4);
        kind = store_read(s, c, counts[by], DB_FIRST(args, 4 + count), &w->total);
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
    audit_keys keys;
} retain_work;

static audit_record *removal(ida_ctx *c, const retain_work *w, int64_t first, int64_t end)
{
    audit_record *record = audit_make(c, w->tenant, "workflow");
    record->actor = "worker";
    record->label = "";
    record->action = STORE_RETENTION_ACTION;
    record->target = w->tenant;
    record->outcome = "ok";
    record->parameters = ida_json_text(
        c->pool,
        ida_json_keep(c->pool, json_pack("{s:I, s:I, s:I}", "from", (json_int_t)first + 1, "to",
                                         (json_int_t)end, "before", (json_int_t)w->before)));
    record->detail = ida_printf(c->pool, "records %lld to %lld were older than retention.auditDays",
                                (long long)first + 1, (long long)end);
    return record;
}

/* What the chain says of its own beginning then is proven by the key, like its end, and recorded.
 */
static ida_kind move_foot(store *s, ida_ctx *c, const retain_work *w, int64_t end, const char *hash)
{
    store_chain_head head;
    ida_kind kind = store_chain_allowed(s, c, &w->keys);
    kind = kind ? kind : store_chain_open(s, c, &w->keys, w->tenant, &head);
    kind = kind ? kind : store_chain_append(s, c, &head, removal(c, w, head.is.first_seq, end));
    head.is.first_seq = end;
    head.is.first_hash = hash;
    return kind ? kind : store_chain_close(s, c, &head);
}

/* From the foot of the chain. The prefix ends before the first record that is too young, even if
 * older ones follow it. */
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
    kind = store_read(
        s, c, STMT_audit_other_than,
        DB_ARGS(DB_T(w->tenant), DB_I(first), DB_I(end), DB_T(STORE_RETENTION_ACTION)), &r);
    if (kind || !r.rows) { /* otherwise each round's record would cause the next one */
        return kind;
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
    kind = move_foot(s, c, w, end, hash);
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
    ida_kind kind = store_audit_keys(s, c, &w.keys);
    kind = kind ? kind : store_transaction(s, c, retain, &w);
    audit_keys_wipe(&w.keys);
    *removed = kind ? 0 : w.removed;
    return kind;
}
