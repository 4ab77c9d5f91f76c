/* Owns reading what concerns a person now. Must not know how it is told. */
#include "core/governance/concerns.h"

#include <string.h>

#include "core/base/text.h"
#include "core/store/rows.h"

#define TASKS_MAX 50

ida_kind governance_concerns_of(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                                governance_concerns *out)
{
    db_result r;
    const char *person = user->upn ? ida_fold_address(c->pool, user->upn) : NULL,
               *twin = user->other_id ? user->other_id : "";
    ida_kind kind = store_read(
        s, c, STMT_person_concerns,
        DB_ARGS(DB_T(tenant), DB_T(user->id), DB_T(twin), DB_T(person), DB_I(TASKS_MAX)), &r);
    *out = (governance_concerns){0};
    if (kind) {
        return kind;
    }
    governance_pending *tasks = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *tasks);
    governance_held *templates = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *templates);
    out->tasks = tasks;
    out->templates = templates;
    for (int i = 0; i < r.rows; i++) {
        const row_concern *row = DB_ROW(concern, &r, i);
        if (strcmp(row->what.text, "task") == 0) {
            tasks[out->task_count++] = (governance_pending){row->id.text, row->name.text,
                                                            row->state.text, row->zone.text,
                                                            row->at.number};
        } else if (strcmp(row->what.text, "template") == 0) {
            templates[out->template_count++] = (governance_held){row->id.text, row->name.text,
                                                                 row->at.number};
        } else {
            out->reports = row->at.number;
        }
    }
    return IDA_OK;
}
