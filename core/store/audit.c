/* Owns the way of audit records into the chained record: outbox, spool positions, appending. Must
 * not know where a spool lies. */
#include "core/store/audit.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/chain_fault.h"
#include "core/store/chain_head.h"
#include "core/store/chain_key.h"
#include "core/store/rows.h"
#include "core/tenant/tenant.h"

#define RECORD "audit record" /* what its proof is of */
#define COMPANIES 16          /* whose records one batch of the outbox takes in */

/* The record takes the marks that wait. Its identity is behind all that wait in the outbox, because
 * records are chained by it: those about one row, which is locked, come in the order of its
 * changes, whatever clocks and nodes made them. */
static ida_kind take_marks(store *s, ida_ctx *c, audit_record *record)
{
    const char *newest;
    if (!*s->marks || strchr(record->rid, '-') || strcmp(s->marked, record->tenant) != 0) {
        return IDA_OK; /* an identity with a dash is looked for: core/queue/brake.c */
    }
    ida_kind kind = store_id(s, c, STMT_audit_outbox_newest, DB_ARGS(DB_T(record->tenant)),
                             &newest);
    if (!kind && newest && strcmp(record->rid, newest) <= 0) {
        record->rid = ida_new_id_after(c->pool, c->env, newest);
    }
    record->marks = apr_pstrdup(c->pool, s->marks);
    *s->marks = '\0';
    return kind;
}

static ida_kind end_marks(store *s, ida_ctx *c)
{
    audit_record *record = audit_make(c, apr_pstrdup(c->pool, s->marked), "workflow");
    record->actor = "worker";
    record->label = "";
    record->action = "row.change";
    record->outcome = "ok";
    record->detail = apr_pstrcat(c->pool,
                                 "changed in the store: ", audit_marks_bare(c->pool, s->marks),
                                 NULL);
    return store_audit_add(s, c, record);
}

ida_kind store_mark(store *s, ida_ctx *c, const char *tenant, const audit_mark *mark)
{
    const char *text = audit_mark_text(c->pool, mark);
    int fits = strcmp(s->marked, tenant) == 0 &&
               strlen(s->marks) + strlen(text) + 2 <= sizeof s->marks;
    ida_kind kind = fits || !*s->marks ? IDA_OK : end_marks(s, c);
    if (!kind) {
        s->end_marks = end_marks;
        apr_cpystrn(s->marked, tenant, sizeof s->marked);
        char *end = s->marks + strlen(s->marks);
        apr_snprintf(end, (apr_size_t)(s->marks + sizeof s->marks - end), "%s%s",
                     *s->marks ? " " : "", text);
    }
    return kind;
}

ida_kind store_audit_add(store *s, ida_ctx *c, const audit_record *given)
{
    audit_record taking = *given, *record = &taking;
    ida_kind kind = take_marks(s, c, record);
    if (kind) {
        return kind;
    }
    const char *text = audit_encode(c->pool, record, AUDIT_MAX - 2);
    if (!text) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "An audit record of %s is too large.",
                        record->tenant);
    }
    const char *proof = ida_seal_statement(c, RECORD, record->rid, text);
    if (!proof && c->env->seal_key) {
        return ida_fail(c, IDA_INTERNAL_ERROR,
                        "The seal key %s cannot be read, so nothing can be recorded.",
                        c->env->seal_key);
    }
    return store_write(s, c, STMT_audit_outbox_add,
                       DB_ARGS(DB_T(record->tenant), DB_T(record->rid), DB_T(text), DB_T(proof)),
                       NULL);
}

/* --- appending --- */

typedef struct ordered {
    audit_record *record;
    int position;
} ordered;

static int by_tenant(const void *a, const void *b)
{
    const ordered *one = a, *two = b;
    int order = strcmp(one->record->tenant, two->record->tenant);
    return order ? order : one->position - two->position;
}

/* Records of one tenant, in their order, under the lock of its chain: the next seq goes to a record
 * only when its row is new, so the numbers have no gap whatever is ingested twice. */
static ida_kind append_tenant(store *s, ida_ctx *c, const audit_keys *keys, const ordered *records,
                              int count)
{
    store_chain_head head;
    ida_kind kind = store_chain_open(s, c, keys, records[0].record->tenant, &head);
    for (int i = 0; !kind && i < count; i++) {
        kind = store_chain_append(s, c, &head, records[i].record);
    }
    return kind ? kind : store_chain_close(s, c, &head);
}

typedef struct batch {
    audit_record *const *records;
    int count;
    const char *spool, *segment; /* NULL: the outbox, which has no position */
    int64_t position, torn;
    audit_keys keys;
} batch;

/* The keys lie in memory as long as it takes. */
static ida_kind commit(store *s, ida_ctx *c, batch *b, store_work work)
{
    ida_kind kind = store_audit_keys(s, c, &b->keys);
    kind = kind ? kind : store_transaction(s, c, work, b);
    audit_keys_wipe(&b->keys);
    return kind;
}

/* One transaction of the ingest role. Tenants in one order, so that two ingesters of one database
 * cannot wait for each other. */
static ida_kind append(store *s, ida_ctx *c, void *baton)
{
    const batch *b = baton;
    ida_kind kind = store_chain_allowed(s, c, &b->keys);
    ordered *sorted = apr_palloc(c->pool, sizeof *sorted * (apr_size_t)(b->count + 1));
    for (int i = 0; i < b->count; i++) {
        sorted[i] = (ordered){b->records[i], i};
    }
    qsort(sorted, (size_t)b->count, sizeof *sorted, by_tenant);
    for (int from = 0, to; !kind && from < b->count; from = to) {
        for (to = from + 1;
             to < b->count && strcmp(sorted[to].record->tenant, sorted[from].record->tenant) == 0;
             to++) {}
        kind = append_tenant(s, c, &b->keys, sorted + from, to - from);
    }
    if (!kind && b->spool) {
        kind = store_write(
            s, c, STMT_audit_position_set,
            DB_ARGS(DB_T(b->spool), DB_T(b->segment), DB_I(b->position), DB_I(b->torn)), NULL);
    }
    return kind;
}

/* --- outbox --- */

static audit_record *damaged(ida_ctx *c, const char *rid, const char *tenant, const char *text)
{
    ida_log(c->env, IDA_LOG_ERROR, "IDA0140",
            "audit: the outbox record %s of %s cannot be read; it is kept as one with outcome "
            "\"damaged\"",
            rid, tenant);
    return audit_damaged(c, rid, tenant, "workflow", "worker", text, strlen(text));
}

/* Up to COMPANIES with waiting records, from the one whose turn it is. *end: there is none after
 * them. */
static ida_kind next_companies(store *main, ida_ctx *c, const char *after, const char **ids,
                               int *count, int *end)
{
    db_result r;
    ida_kind kind = IDA_OK;
    *count = *end = 0;
    while (!kind && !*end && *count < COMPANIES) {
        kind = store_read(main, c, STMT_audit_outbox_next, DB_ARGS(DB_T(after)), &r);
        *end = kind || !r.rows;
        if (!*end) {
            after = ids[(*count)++] = DB_ROW(id, &r, 0)->id.text;
        }
    }
    return kind;
}

/* An alarm in the place of a row that an attacker inserted or changed. Its identity is a digest, so
 * that it never takes that of a true record. */
static audit_record *forged(ida_ctx *c, const char *rid, const char *tenant, const char *text)
{
    char *all = apr_pstrcat(c->pool, rid, "\n", text, NULL);
    ida_log(
        c->env, IDA_LOG_ERROR, "IDA0143",
        "audit: the outbox record %s of %s was not written by this service: another program writes "
        "the database; it is kept as an alarm, see idadminctl audit verify %s",
        ida_clean(c->pool, rid, strlen(rid), 100), tenant, tenant);
    audit_record *record = audit_damaged(
        c, ida_printf(c->pool, "alarm-%.32s", ida_sha256_hex(c->pool, all, strlen(all))), tenant,
        AUDIT_ALARM, "", text, strlen(text));
    record->outcome = "forged";
    record->target = ida_clean(c->pool, rid, strlen(rid), 100);
    return record;
}

static int is_ours(ida_ctx *c, const row_outbox *row)
{
    return ida_seal_statement_holds(c, RECORD, row->rid.text, row->record.text, row->proof.text);
}

/* The columns say whose it is and which; a text that says otherwise is not to be believed. */
static audit_record *read_row(ida_ctx *c, const row_outbox *row)
{
    const char *rid = row->rid.text, *tenant = row->tenant_id.text, *text = row->record.text;
    if (!is_ours(c, row)) {
        return forged(c, rid, tenant, text);
    }
    audit_record *record = audit_decode(c->pool, text, strlen(text));
    return record && strcmp(record->rid, rid) == 0 && strcmp(record->tenant, tenant) == 0
               ? record
               : damaged(c, rid, tenant, text);
}

/* The oldest `share` of one company; *all 0: more of it may be left. */
static ida_kind read_share(store *main, ida_ctx *c, const char *tenant, int share,
                           apr_array_header_t *records, json_t *rids, int *all)
{
    db_result r;
    ida_kind kind = store_read(main, c, STMT_audit_outbox_read, DB_ARGS(DB_T(tenant), DB_I(share)),
                               &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_outbox *row = DB_ROW(outbox, &r, i);
        APR_ARRAY_PUSH(records, audit_record *) = read_row(c, row);
        json_array_append_new(rids, json_string(row->rid.text));
    }
    *all = kind || r.rows < share;
    return kind;
}

ida_kind store_audit_drain_outbox(store *main, store *ingest, ida_ctx *c, int max,
                                  store_audit_turns *turns, int *moved)
{
    const char *ids[COMPANIES];
    int count, end, whole = turns->after[0] == '\0';
    apr_array_header_t *records = apr_array_make(c->pool, max, sizeof(audit_record *));
    json_t *rids[COMPANIES];
    *moved = turns->more = 0;
    ida_kind kind = next_companies(main, c, turns->after, ids, &count, &end);
    for (int i = 0; !kind && i < count; i++) {
        int all, share = max / count ? max / count : 1;
        rids[i] = ida_json_keep(c->pool, json_array());
        kind = read_share(main, c, ids[i], share, records, rids[i], &all);
        whole = whole && all;
    }
    if (kind) {
        return kind;
    }
    turns->more = !whole || !end;
    snprintf(turns->after, sizeof turns->after, "%s", end ? "" : ids[count - 1]);
    if (!records->nelts) {
        return IDA_OK;
    }
    batch b = {.records = (audit_record **)records->elts, .count = records->nelts};
    kind = commit(ingest, c, &b, append);
    /* After a crash before this the same records are moved again, and append skips them by rid. */
    for (int i = 0; !kind && i < count; i++) {
        kind = store_write(main, c, STMT_audit_outbox_delete,
                           DB_ARGS(DB_T(ids[i]), DB_T(ida_json_text(c->pool, rids[i]))), NULL);
    }
    *moved = kind ? 0 : records->nelts;
    return kind;
}

/* --- one record --- */

static ida_kind chained(store *s, ida_ctx *c, const char *tenant, int64_t seq, int *ours)
{
    audit_keys keys;
    db_result chain, r = {.rows = 0};
    ida_kind kind = store_audit_keys(s, c, &keys);
    kind = kind ? kind : store_read(s, c, STMT_audit_chain_read, DB_ARGS(DB_T(tenant)), &chain);
    kind = kind ? kind
                : store_read(s, c, STMT_audit_walk,
                             DB_ARGS(DB_T(tenant), DB_I(seq - 2), DB_I(seq), DB_I(2)), &r);
    if (!kind && r.rows && chain.rows) {
        const row_chain *of = DB_ROW(chain, &chain, 0);
        const char *before = r.rows > 1 ? DB_ROW(audit, &r, 0)->hash.text : of->first_hash.text;
        const store_chain_place place = {tenant, before, seq, 1, &keys, ""};
        *ours = !store_chain_fault(c->pool, &r, r.rows - 1, &place);
    }
    audit_keys_wipe(&keys);
    return kind;
}

ida_kind store_audit_is_ours(store *s, ida_ctx *c, const char *tenant, const char *rid, int *ours)
{
    db_result r;
    int64_t seq;
    *ours = 0;
    ida_kind kind = store_read(s, c, STMT_audit_outbox_row, DB_ARGS(DB_T(tenant), DB_T(rid)), &r);
    const row_outbox *row = !kind && r.rows ? DB_ROW(outbox, &r, 0) : NULL;
    if (kind || (row && is_ours(c, row))) {
        *ours = !kind;
        return kind;
    }
    kind = store_number(s, c, STMT_audit_seq, DB_ARGS(DB_T(tenant), DB_T(rid)), &seq);
    *ours = !kind && seq && !s->audit_key;
    return kind || !seq || !s->audit_key ? kind : chained(s, c, tenant, seq, ours);
}

/* --- spool --- */

ida_kind store_audit_spool_position(store *s, ida_ctx *c, const char *spool, const char *segment,
                                    int64_t *position)
{
    return store_number(s, c, STMT_audit_position_get, DB_ARGS(DB_T(spool), DB_T(segment)),
                        position);
}

ida_kind store_audit_spool_batch(store *s, ida_ctx *c, const char *spool, const char *segment,
                                 int64_t position, int64_t torn, audit_record *const *records,
                                 int count)
{
    batch b = {.records = records,
               .count = count,
               .spool = spool,
               .segment = segment,
               .position = position,
               .torn = torn};
    return commit(s, c, &b, append);
}

ida_kind store_audit_spool_forget(store *s, ida_ctx *c, const char *spool, const char *segment)
{
    return store_write(s, c, STMT_audit_position_forget, DB_ARGS(DB_T(spool), DB_T(segment)), NULL);
}

ida_kind store_audit_outbox_count(store *s, ida_ctx *c, const char *tenant, int64_t *records)
{
    return store_number(s, c, STMT_audit_outbox_count, DB_ARGS(DB_T(tenant)), records);
}
