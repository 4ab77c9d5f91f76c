/* Owns reading the open tasks, role templates and reports of a person. Must not know how they
 * are presented. */
#include "core/governance/person_state.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/rows.h"

#define TASKS_MAX 50    /* told */
#define TASKS_READ 1000 /* that they are chosen from */

/* What, then by time. */
static int in_order(const void *a, const void *b)
{
    const row_concern *x = *(const row_concern *const *)a, *y = *(const row_concern *const *)b;
    int order = strcmp(x->what.text, y->what.text);
    order = order ? order : (x->at.number > y->at.number) - (x->at.number < y->at.number);
    order = order ? order : strcmp(x->name.text, y->name.text);
    return order ? order : strcmp(x->id.text, y->id.text);
}

static const row_concern **ordered(apr_pool_t *pool, const db_result *r)
{
    const row_concern **rows = apr_palloc(pool, (apr_size_t)(r->rows + 1) * sizeof *rows);
    for (int i = 0; i < r->rows; i++) {
        rows[i] = DB_ROW(concern, r, i);
    }
    qsort(rows, (size_t)r->rows, sizeof *rows, in_order);
    return rows;
}

ida_kind governance_person_state_of(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                                    governance_person_state *out)
{
    db_result r;
    const char *person = user->upn ? ida_fold_address(c->pool, user->upn) : NULL;
    ida_kind kind = store_read(s, c, STMT_person_concerns,
                               DB_ARGS(DB_T(tenant), DB_T(user->id), DB_T(user->other_id),
                                       DB_T(person), DB_I(TASKS_READ)),
                               &r);
    *out = (governance_person_state){0};
    if (kind) {
        return kind;
    }
    governance_pending *tasks = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *tasks);
    governance_held *templates = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *templates);
    out->tasks = tasks;
    out->templates = templates;
    const row_concern **rows = ordered(c->pool, &r);
    for (int i = 0; i < r.rows; i++) {
        const row_concern *row = rows[i];
        if (strcmp(row->what.text, "task") == 0) {
            if (out->task_count < TASKS_MAX) {
                tasks[out->task_count++] = (governance_pending){row->id.text, row->name.text,
                                                                row->state.text, row->zone.text,
                                                                row->at.number};
            }
        } else if (strcmp(row->what.text, "template") == 0) {
            templates[out->template_count++] = (governance_held){row->id.text, row->name.text,
                                                                 row->at.number};
        } else {
            out->reports = row->at.number;
        }
    }
    return IDA_OK;
}
