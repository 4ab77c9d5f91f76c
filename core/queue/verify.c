/* Owns the comparison of a chain with the rows of tasks and API keys. Must not know how the chain
 * is verified, nor how the result is reported. */
#include "core/queue/verify.h"

#include <apr_strings.h>
#include <string.h>

#include "core/audit/spool.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/queue/mark.h"
#include "core/store/key.h"
#include "core/store/rows.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"

#define ID_MAX 72 /* bytes of a task's ID or a username */

typedef struct seen_row {
    uint64_t parts[AUDIT_MARK_BEFORE];
    int made, named;
} seen_row;

static seen_row *row_of(queue_verify *v, const char *name)
{
    seen_row *row = apr_hash_get(v->rows, name, APR_HASH_KEY_STRING);
    if (!row) {
        row = apr_pcalloc(v->pool, sizeof *row);
        apr_hash_set(v->rows, apr_pstrdup(v->pool, name), APR_HASH_KEY_STRING, row);
    }
    return row;
}

static void stray(queue_verify *v, const char *what, const char *name, const char *how)
{
    if (v->strays->nelts == QUEUE_STRAYS_MAX) {
        v->more = 1;
        return;
    }
    *(queue_stray *)apr_array_push(v->strays) = (queue_stray){what, apr_pstrdup(v->pool, name),
                                                              apr_pstrdup(v->pool, how)};
}

/* A key's username; NULL: it is a task's ID. */
static const char *key_of(const char *name)
{
    size_t len = strlen(AUDIT_MARK_KEY);
    return strncmp(name, AUDIT_MARK_KEY, len) == 0 ? name + len : NULL;
}

/* Once each, unless it is made after all: records of another node's worker may be chained before
 * the one that made the row. */
static void name_row(queue_verify *v, seen_row *row, const char *name, const char *how)
{
    const char *key = key_of(name);
    if (!row->named) {
        row->named = 1;
        stray(v, key ? "API key" : "task", key ? key : name, how);
    }
}

static void take_back(queue_verify *v, seen_row *row, const char *name)
{
    queue_stray *all = (queue_stray *)v->strays->elts;
    const char *key = key_of(name);
    for (int i = v->strays->nelts; row->named && i-- > 0;) {
        if (strcmp(all[i].name, key ? key : name) == 0) {
            all[i] = all[--v->strays->nelts];
        }
    }
    row->named = 0;
}

/* 1 if it may be older than the marks of the chain: of a key only its row says when it was made. */
static int may_be_older(const queue_verify *v, const char *name)
{
    return !v->whole && (key_of(name) || !v->from || ida_id_time(name) < v->from);
}

/* --- the walk --- */

static void take_marks(queue_verify *v, apr_pool_t *pool, const audit_row *record)
{
    const char *at = record->record.marks ? record->record.marks : "";
    audit_mark mark;
    while (audit_mark_next(pool, &at, &mark)) {
        seen_row *row = row_of(v, mark.name);
        uint64_t before = mark.parts[AUDIT_MARK_BEFORE], was = row->parts[AUDIT_MARK_MEMBERSHIPS];
        if (before && was && before != was) {
            name_row(v, row, mark.name,
                     ida_printf(pool, "its memberships were changed by hand before record %lld",
                                (long long)record->seq));
        }
        if (mark.made) {
            row->made = 1;
            take_back(v, row, mark.name);
        }
        for (int part = 0; part < AUDIT_MARK_BEFORE; part++) {
            row->parts[part] = mark.has & 1u << part ? mark.parts[part] : row->parts[part];
        }
    }
}

static void used(queue_verify *v, const char *name, const char *how)
{
    seen_row *row = row_of(v, name);
    if (!row->made && !may_be_older(v, name)) {
        name_row(v, row, name, how);
    }
}

static int is(const char *text, const char *what)
{
    return text && strcmp(text, what) == 0;
}

static void judge_record(queue_verify *v, apr_pool_t *pool, const audit_row *row)
{
    const audit_record *r = &row->record;
    if (is(r->category, "command") && is(r->action, "audit.accept") && is(r->outcome, "ok")) {
        apr_array_clear(v->strays);
        v->more = 0;
    }
    take_marks(v, pool, row);
    if (is(r->category, AUDIT_ALARM)) {
        stray(v, "audit record", r->target ? r->target : "",
              ida_printf(pool,
                         "it was put into the outbox by hand, and is kept as an alarm, record %lld",
                         (long long)row->seq));
    } else if (is(r->category, AUDIT_SPOOL_CATEGORY) && is(r->outcome, "ok") && r->actor &&
               ida_name_valid(r->actor)) {
        used(v, apr_pstrcat(pool, AUDIT_MARK_KEY, r->actor, NULL),
             "it was used, and no audit record made it");
    } else if (is(r->category, "workflow") && r->action && strncmp(r->action, "task.", 5) == 0) {
        const char *task = r->parameters
                               ? ida_json_string(ida_json_load(pool, r->parameters), "taskId")
                               : NULL;
        if (task) {
            used(v, task, "it was carried out, and no audit record queued it");
        }
    }
}

static void each(void *baton, const audit_row *row)
{
    queue_verify *v = baton;
    apr_pool_t *pool;
    if (row->seq <= v->last) {
        return;
    }
    v->last = row->seq;
    if (!v->from && row->record.marks) {
        v->from = row->record.at;
        v->whole = row->seq == 1;
    }
    apr_pool_create(&pool, v->pool);
    judge_record(v, pool, row);
    apr_pool_destroy(pool);
}

queue_verify *queue_verify_make(ida_ctx *c, store_chain_walk *walk)
{
    queue_verify *v = apr_pcalloc(c->pool, sizeof *v);
    v->pool = c->pool;
    v->rows = apr_hash_make(c->pool);
    v->strays = apr_array_make(c->pool, 8, sizeof(queue_stray));
    walk->each = each;
    walk->baton = v;
    return v;
}

/* --- the rows --- */

/* What is wrong with a row; NULL: nothing. */
static const char *fault(queue_verify *v, apr_pool_t *pool, const audit_mark *now)
{
    static const char *const parts[] = {"due time", "account or payload", "memberships"};
    const seen_row *row = row_of(v, now->name);
    const char *differs = NULL, *key = key_of(now->name);
    if (!row->made && !may_be_older(v, now->name)) {
        return key ? "no audit record made it" : "no audit record queued it";
    }
    for (int part = 0; part < AUDIT_MARK_BEFORE; part++) {
        if (row->parts[part] && row->parts[part] != now->parts[part]) {
            differs = differs ? apr_pstrcat(pool, differs, ", ", parts[part], NULL) : parts[part];
        }
    }
    return !differs ? NULL
           : key    ? "its hash, what it may, its end or its disabling was changed by hand"
                    : ida_printf(pool, "changed by hand: its %s", differs);
}

ida_kind queue_verify_waits(store *s, ida_ctx *c, const char *tenant, const char *text, int *waits)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_outbox_says, DB_ARGS(DB_T(tenant), DB_T(text)), &r);
    *waits = !kind && r.rows > 0;
    return kind;
}

typedef ida_kind row_reader(store *s, ida_ctx *c, const char *tenant, const char *from, int after,
                            audit_mark *out);

/* A row that differs is named if no record about it waits, the records that were chained meanwhile
 * do not explain it, and it has not changed since it was read. */
static ida_kind judge_row(store *s, ida_ctx *c, const char *tenant, queue_verify *v,
                          store_chain_walk *walk, row_reader *reader, const audit_mark *row)
{
    const char *key = key_of(row->name);
    audit_mark now;
    int waits;
    v->unjudged += !row_of(v, row->name)->made && may_be_older(v, row->name);
    if (!fault(v, c->pool, row)) {
        return IDA_OK;
    }
    ida_kind kind = queue_verify_waits(s, c, tenant, apr_pstrcat(c->pool, row->name, ":", NULL),
                                       &waits);
    kind = kind || waits ? kind : store_audit_walk_all(s, c, tenant, walk);
    kind = kind || waits ? kind : reader(s, c, tenant, key ? key : row->name, 0, &now);
    if (kind || waits || walk->broken || !is(now.name, row->name) ||
        memcmp(now.parts, row->parts, sizeof now.parts) != 0) {
        return kind;
    }
    const char *how = fault(v, c->pool, row);
    if (how) {
        name_row(v, row_of(v, row->name), row->name, how);
    }
    return IDA_OK;
}

static ida_kind look(store *s, ida_ctx *c, const char *tenant, queue_verify *v,
                     store_chain_walk *walk, row_reader *reader)
{
    char from[ID_MAX] = "";
    ida_kind kind = IDA_OK;
    for (int after = 0, end = 0; !kind && !end && !v->more; after = 1) {
        apr_pool_t *pool;
        apr_pool_create(&pool, c->pool);
        ida_ctx *own = ida_ctx_make(c->env, pool);
        audit_mark row;
        kind = reader(s, own, tenant, from, after, &row);
        end = !row.name;
        if (!kind && !end) {
            kind = judge_row(s, own, tenant, v, walk, reader, &row);
            apr_cpystrn(from, key_of(row.name) ? key_of(row.name) : row.name, sizeof from);
        }
        if (kind) {
            ida_fail(c, kind, "%s", own->message ? own->message : ida_kind_text(kind));
        }
        walk->reason = walk->broken ? apr_pstrdup(c->pool, walk->reason) : NULL;
        apr_pool_destroy(pool);
    }
    return kind;
}

/* A use may be chained before the record that made what was used, which waits then. */
static ida_kind drop_waiting(store *s, ida_ctx *c, const char *tenant, queue_verify *v)
{
    queue_stray *all = (queue_stray *)v->strays->elts;
    ida_kind kind = IDA_OK;
    for (int i = v->strays->nelts; !kind && i-- > 0;) {
        const char *of = is(all[i].what, "API key") ? AUDIT_MARK_KEY : "";
        int waits;
        kind = queue_verify_waits(s, c, tenant, apr_pstrcat(c->pool, of, all[i].name, ":+", NULL),
                                  &waits);
        if (waits) {
            all[i] = all[--v->strays->nelts];
        }
    }
    return kind;
}

ida_kind queue_verify_rows(store *s, ida_ctx *c, const char *tenant, queue_verify *v,
                           store_chain_walk *walk)
{
    ida_kind kind = look(s, c, tenant, v, walk, store_key_mark_read);
    kind = kind ? kind : look(s, c, tenant, v, walk, queue_mark_read);
    return kind ? kind : drop_waiting(s, c, tenant, v);
}

ida_kind queue_verify_companies(store *s, ida_ctx *c, queue_verify *v)
{
    const char *const *names;
    const store_tenant_id *ids;
    int named, count, k = 0;
    ida_kind kind = audit_anchor_companies(c, s->audit_key, &names, &named);
    kind = kind ? kind : store_tenant_ids(s, c, &ids, &count);
    for (int i = 0; !kind && i < named; i++) {
        for (k = 0; k < count && strcmp(ids[k].id, names[i]) != 0; k++) {}
        if (k == count) {
            stray(v, "company", names[i],
                  "its chain was verified on this machine, and its row was deleted");
        }
    }
    return kind;
}

ida_kind queue_verify_accept(store *s, ida_ctx *c, const char *tenant, const queue_verify *v)
{
    const queue_stray *all = (const queue_stray *)v->strays->elts;
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < v->strays->nelts; i++) {
        kind = is(all[i].what, "API key") ? store_key_mark(s, c, tenant, all[i].name, 1)
               : is(all[i].what, "task") ? queue_mark(s, c, tenant, all[i].name, QUEUE_MARK_MADE, 0)
                                         : IDA_OK;
    }
    return kind;
}
