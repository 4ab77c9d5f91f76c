/* Owns the overwriting of a person's data in the main file: own rows, and mentions in the rows of
 * others. Must not know how a person is found. */
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/governance/erase.h"
#include "core/queue/inner.h"
#include "core/queue/mark.h"
#include "core/store/audit.h"
#include "core/store/tenant.h"

#define PLACE "erased" /* replaces erased text */

/* Columns of other rows that may mention the person. `named`: free text, in which a name counts
 * as well; elsewhere a name may be a namesake's. `empty` replaces a text that cannot be cleaned
 * otherwise. */
static const struct place {
    db_statement see, put;
    int named;
    const char *empty;
} places[] = {
    {STMT_erase_see_progress, STMT_erase_put_progress, 0, "{}"},
    {STMT_erase_see_warnings, STMT_erase_put_warnings, 1, "[]"},
    {STMT_erase_see_username, STMT_erase_put_username, 0, PLACE},
    {STMT_erase_see_change_by, STMT_erase_put_change_by, 0, PLACE},
    {STMT_erase_see_error, STMT_erase_put_error, 1, PLACE},
    {STMT_erase_see_event, STMT_erase_put_event, 1, PLACE},
    {STMT_erase_see_delivery, STMT_erase_put_delivery, 1, PLACE},
    {STMT_erase_see_payload, STMT_erase_put_payload, 0, "{}"},
    {STMT_erase_see_detail, STMT_erase_put_detail, 1, PLACE},
    {STMT_erase_see_action, STMT_erase_put_action, 1, PLACE},
    {STMT_erase_see_justification, STMT_erase_put_justification, 1, PLACE},
    {STMT_erase_see_reason, STMT_erase_put_reason, 1, PLACE},
    {STMT_erase_see_approvers, STMT_erase_put_approvers, 0, "[]"},
    {STMT_erase_see_decided_by, STMT_erase_put_decided_by, 0, PLACE},
    {STMT_erase_see_assigned_by, STMT_erase_put_assigned_by, 0, PLACE},
    {STMT_erase_see_answer, STMT_erase_put_answer, 0, PLACE},
};

static int begins(const char *text, const char *what, size_t len, int exact)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char a = (unsigned char)text[i], b = (unsigned char)what[i];
        if (a != b && (exact || a >= 0x80 || tolower(a) != b)) {
            return 0;
        }
    }
    return 1;
}

static const char *without(apr_pool_t *pool, const char *text, const char *what, int exact)
{
    size_t len = strlen(what), left = strlen(text), out = 0, place = sizeof PLACE - 1;
    char *clean = apr_palloc(pool, left * (len < place ? place : 1) + 1);
    while (left) {
        if (left >= len && begins(text, what, len, exact)) {
            memcpy(clean + out, PLACE, place);
            out += place;
            text += len;
            left -= len;
        } else {
            clean[out++] = *text++;
            left--;
        }
    }
    clean[out] = '\0';
    return clean;
}

static const char *cleaned(ida_ctx *c, const governance_traces *t, const char *text, int named)
{
    for (int i = 0; i < t->mark_count; i++) {
        text = without(c->pool, text, t->mark_list[i], 0);
    }
    for (int i = 0; named && i < t->name_count; i++) {
        text = without(c->pool, text, t->name_list[i], 1);
    }
    return text;
}

/* Repeats until a search finds nothing: each pass changes the texts that it found so that they
 * are not found again. */
static ida_kind clean_place(store *s, ida_ctx *c, const governance_traces *t, const struct place *p,
                            int64_t *count)
{
    db_result r = {.rows = 1};
    ida_kind kind = IDA_OK;
    while (!kind && r.rows) {
        kind = store_read(
            s, c, p->see,
            DB_ARGS(DB_T(t->tenant), DB_T(t->marks), DB_T(p->named ? t->names : "[]")), &r);
        for (int i = 0; !kind && i < r.rows; i++) {
            const row_mention *row = DB_ROW(mention, &r, i);
            const char *before = row->text.text, *after = cleaned(c, t, before, p->named);
            kind = store_write(s, c, p->put,
                               DB_ARGS(DB_T(strcmp(after, before) == 0 ? p->empty : after),
                                       DB_T(row->owner.text), DB_T(row->part.text),
                                       DB_T(t->tenant)),
                               NULL);
            if (!kind && p->see == STMT_erase_see_payload) {
                kind = queue_mark(s, c, t->tenant, row->owner.text, QUEUE_MARK_PAYLOAD, 0);
            }
            (*count)++;
        }
    }
    return kind;
}

static ida_kind own_rows(store *s, ida_ctx *c, const governance_traces *t, governance_erased *e)
{
    db_result r;
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < t->task_count; i++) {
        kind = queue_task_give_back_seat(s, c, t->tenant, t->task_list[i]);
        kind = kind ? kind : queue_task_free_names(s, c, t->tenant, t->task_list[i]);
    }
    const struct {
        db_statement statement;
        db_args args;
        int64_t *counted;
    } works[] = {
        {STMT_erase_run_actions, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks), DB_T(t->marks)), NULL},
        {STMT_erase_runs, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks), DB_T(t->marks)), &e->runs},
        {STMT_erase_payloads, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks)), NULL},
        {STMT_erase_steps, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks)), NULL},
        {STMT_erase_snapshots, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks)), NULL},
        {STMT_erase_events, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks)), NULL},
        {STMT_erase_deliveries, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks)), NULL},
        {STMT_erase_tasks, DB_ARGS(DB_T(t->tenant), DB_T(t->tasks)), &e->tasks},
        {STMT_erase_assignments, DB_ARGS(DB_T(t->tenant), DB_T(t->marks), DB_T(t->ids)),
         &e->assignments},
        {STMT_erase_requests, DB_ARGS(DB_T(t->tenant), DB_T(t->marks), DB_T(t->ids)), &e->requests},
        {STMT_erase_grants, DB_ARGS(DB_T(t->tenant), DB_T(t->ids)), NULL},
        {STMT_erase_ends, DB_ARGS(DB_T(t->tenant), DB_T(t->ids)), NULL},
    };
    for (size_t i = 0; !kind && i < sizeof works / sizeof *works; i++) {
        kind = store_write(s, c, works[i].statement, works[i].args, &r);
        if (!kind && works[i].counted) {
            *works[i].counted = r.changes;
        }
    }
    for (int i = 0; !kind && i < t->task_count; i++) {
        kind = queue_mark(s, c, t->tenant, t->task_list[i],
                          QUEUE_MARK_PAYLOAD | QUEUE_MARK_MEMBERSHIPS, 0);
    }
    return kind;
}

typedef struct main_work {
    const governance_traces *traces;
    governance_erased *erased, before;
    audit_record *record;
} main_work;

static ida_kind erase_main(store *s, ida_ctx *c, void *baton)
{
    main_work *w = baton;
    const governance_traces *t = w->traces;
    governance_traces *now;
    *w->erased = w->before;
    ida_kind kind = store_tenant_lock(s, c, t->tenant);
    kind = kind ? kind : governance_erase_find(s, c, t->tenant, t->upn, &now);
    kind = kind ? kind : own_rows(s, c, t, w->erased);
    for (size_t i = 0; !kind && i < sizeof places / sizeof *places; i++) {
        kind = clean_place(s, c, t, &places[i], &w->erased->mentions);
    }
    if (kind) {
        return kind;
    }
    const governance_erased *e = w->erased;
    w->record->parameters = ida_json_text(
        c->pool,
        ida_json_keep(c->pool,
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "tasks", (json_int_t)e->tasks,
                                "requests", (json_int_t)e->requests, "assignments",
                                (json_int_t)e->assignments, "runs", (json_int_t)e->runs, "mentions",
                                (json_int_t)e->mentions, "auditRecords", (json_int_t)e->audit)));
    return store_audit_add(s, c, w->record);
}

ida_kind governance_erase_main(store *s, ida_ctx *c, const governance_traces *traces,
                               governance_erased *erased, audit_record *record)
{
    main_work w = {traces, erased, *erased, record};
    return store_transaction(s, c, erase_main, &w);
}

ida_kind governance_erase_in_document(store *s, ida_ctx *c, const governance_traces *t, int *named)
{
    /* A name of the document may be an address that the person has no more. */
    static const db_statement seen[] = {STMT_erase_see_document, STMT_erase_see_named};
    ida_kind kind = IDA_OK;
    *named = 0;
    for (size_t i = 0; !kind && i < sizeof seen / sizeof *seen; i++) {
        db_result r;
        kind = store_read(s, c, seen[i], DB_ARGS(DB_T(t->tenant), DB_T(t->marks), DB_T("[]")), &r);
        *named |= !kind && r.rows > 0;
    }
    return kind;
}
