/* Owns reading governance data: rows of the main file as structs. Must not write. */
#include "core/governance/governance.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/store/rows.h"

static const char *shown(ida_ctx *c, const char *text)
{
    return ida_clean(c->pool, text, strlen(text), 128);
}

/* --- role templates --- */

#define TEMPLATES_MAX 10000

static const json_t *list_of(ida_ctx *c, const char *text)
{
    const json_t *list = ida_json_load(c->pool, text);
    return json_is_array(list) ? list : ida_json_keep(c->pool, json_array());
}

static ida_role_template template_of(ida_ctx *c, const db_result *r, int i)
{
    const row_template *row = DB_ROW(template, r, i);
    return (ida_role_template){row->id.text, row->name.text, row->description.text,
                               list_of(c, row->groups.text), list_of(c, row->licenses.text)};
}

ida_kind governance_template_list(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                                  int limit, const ida_role_template **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_template_list,
                               DB_ARGS(DB_T(tenant), DB_T(after_name), DB_I(limit)), &r);
    *count = 0;
    if (kind) {
        return kind;
    }
    ida_role_template *all = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *all);
    for (int i = 0; i < r.rows; i++) {
        all[i] = template_of(c, &r, i);
    }
    *rows = all;
    *count = r.rows;
    return IDA_OK;
}

ida_kind governance_template_count(store *s, ida_ctx *c, const char *tenant, int64_t *total)
{
    return store_number(s, c, STMT_template_count, DB_ARGS(DB_T(tenant)), total);
}

ida_kind governance_template_missing(store *s, ida_ctx *c, const char *tenant,
                                     const json_t **counts)
{
    db_result r;
    json_t *out = ida_json_keep(c->pool, json_object());
    ida_kind kind = store_read(s, c, STMT_template_missing, DB_ARGS(DB_T(tenant)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_template_missing *row = DB_ROW(template_missing, &r, i);
        json_object_set_new(out, row->id.text, json_integer(row->missing.number));
    }
    *counts = out;
    return kind;
}

/* The first row with this name, ignoring case and accents; r->rows: none. */
static int template_named(ida_ctx *c, const db_result *r, const char *name)
{
    const char *key = ida_fold_search(c->pool, name);
    int row = 0;
    while (row < r->rows &&
           strcmp(ida_fold_search(c->pool, DB_ROW(template, r, row)->name.text), key) != 0) {
        row++;
    }
    return row;
}

ida_kind governance_template_find(store *s, ida_ctx *c, const char *tenant, const char *template,
                                  ida_role_template **out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_template_by_id, DB_ARGS(DB_T(tenant), DB_T(template)),
                               &r);
    if (!kind && !r.rows) {
        kind = store_read(s, c, STMT_template_by_name, DB_ARGS(DB_T(tenant), DB_T(template)), &r);
    }
    int row = 0;
    if (!kind && !r.rows) {
        kind = store_read(s, c, STMT_template_list,
                          DB_ARGS(DB_T(tenant), DB_T(""), DB_I(TEMPLATES_MAX)), &r);
        row = kind ? 0 : template_named(c, &r, template);
    }
    if (kind) {
        return kind;
    }
    if (row >= r.rows) {
        return ida_fail(c, IDA_NOT_FOUND, "There is no role template %s.", shown(c, template));
    }
    *out = apr_palloc(c->pool, sizeof **out);
    **out = template_of(c, &r, row);
    return IDA_OK;
}

STORE_FILL(assignment_of, ida_role_assignment, assignment, row->id.text, row->name.text,
           row->upn.text, row->assigned_by.text, row->who.text, row->assigned_at.number,
           row->user_id.text, row->task_id.text, row->task_state.text)

ida_kind governance_assignment_page(store *s, ida_ctx *c, const char *tenant,
                                    const governance_assigned_filter *f,
                                    const ida_role_assignment **rows, int *count, int64_t *total)
{
    const db_arg anybody[] = {DB_T(NULL), DB_T(NULL), DB_T(NULL)},
                 one[] = {QUEUE_PERSON(f->person ? f->person : &(queue_person){0})};
    const db_arg *names = f->person ? one : anybody;
    ida_kind kind = store_rows(s, c, STMT_assignment_page,
                               DB_ARGS(DB_T(tenant), DB_T(f->template_id), names[0], names[1],
                                       names[2], DB_T(f->after_template), DB_T(f->after_who),
                                       DB_I(f->limit)),
                               assignment_of, sizeof **rows, rows, count);
    return kind ? kind
                : store_number(s, c, STMT_assignment_count,
                               DB_ARGS(DB_T(tenant), DB_T(f->template_id), names[0], names[1],
                                       names[2], DB_I(f->count_max)),
                               total);
}

/* --- access requests --- */

STORE_FILL(service_of, ida_access_service, service, row->name.text, row->group_name.text,
           row->approvers.text)

ida_kind governance_service_list(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                                 int limit, const ida_access_service **rows, int *count,
                                 int64_t *total)
{
    ida_kind kind = store_rows(s, c, STMT_service_list,
                               DB_ARGS(DB_T(tenant), DB_T(after_name), DB_I(limit)), service_of,
                               sizeof **rows, rows, count);
    return kind ? kind : store_number(s, c, STMT_service_count, DB_ARGS(DB_T(tenant)), total);
}

ida_kind governance_service_get(store *s, ida_ctx *c, const char *tenant, const char *name,
                                ida_access_service *service)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_service_get, DB_ARGS(DB_T(tenant), DB_T(name)), &r);
    if (!kind && !r.rows) {
        return ida_fail(c, IDA_NOT_FOUND, "The access catalog has no service %s.", shown(c, name));
    }
    if (kind) {
        return kind;
    }
    service_of(&r, 0, service);
    return IDA_OK;
}

STORE_FILL(request_of, ida_access_request, request, .id = row->id.text,
           .service = row->service.text, .group_name = row->group_name.text,
           .group_id = row->group_id.text, .person = row->person.text, .upn = row->upn.text,
           .user_id = row->user_id.text, .justification = row->justification.text,
           .approvers = row->approvers.text, .state = row->state.text,
           .requested_at = row->requested_at.number, .decided_at = row->decided_at.number,
           .decided_by = row->decided_by.text, .ended_at = row->ended_at.number,
           .task_id = row->task_id.text, .reason = row->reason.text,
           .task_state = row->task_state.text, .task_error = row->task_error.text,
           .taken_away_at = row->taken_away_at.number, )

int governance_request_is_own(ida_ctx *c, const ida_access_request *request, const ida_user *user)
{
    const char *id = request->user_id;
    return id ? strcmp(id, user->id) == 0 || (user->other_id && strcmp(id, user->other_id) == 0)
              : user->upn && strcmp(request->person, ida_fold_address(c->pool, user->upn)) == 0;
}

ida_kind governance_request_open(store *s, ida_ctx *c, const char *tenant, int64_t after_at,
                                 const char *after_id, int limit, const ida_access_request **rows,
                                 int *count)
{
    return store_rows(s, c, STMT_request_open_list,
                      DB_ARGS(DB_T(tenant), DB_I(after_at), DB_T(after_id), DB_I(limit)),
                      request_of, sizeof **rows, rows, count);
}

ida_kind governance_request_open_count(store *s, ida_ctx *c, const char *tenant, int64_t *total)
{
    return store_number(s, c, STMT_request_open_count, DB_ARGS(DB_T(tenant)), total);
}

/* Sorts after every ID of ida_new_id. */
static const char newest[] = "~";

static const char *between_commas(ida_ctx *c, const char *words)
{
    return words ? ida_printf(c->pool, ",%s,", words) : NULL;
}

ida_kind governance_request_list(store *s, ida_ctx *c, const char *tenant, const char *before_id,
                                 const char *states, int limit, const ida_access_request **rows,
                                 int *count)
{
    return store_rows(s, c, STMT_request_list,
                      DB_ARGS(DB_T(tenant), DB_T(before_id ? before_id : newest),
                              DB_T(between_commas(c, states)), DB_I(limit)),
                      request_of, sizeof **rows, rows, count);
}

ida_kind governance_request_count(store *s, ida_ctx *c, const char *tenant, const char *states,
                                  int64_t max, int64_t *total)
{
    return store_number(
        s, c, STMT_request_count,
        DB_ARGS(DB_T(tenant), DB_T(newest), DB_T(between_commas(c, states)), DB_I(max)), total);
}

static ida_kind one_request(store *s, ida_ctx *c, db_statement statement, db_args args,
                            const ida_access_request **request)
{
    int count;
    ida_kind kind = store_rows(s, c, statement, args, request_of, sizeof **request, request,
                               &count);
    return kind || count ? kind : ida_fail(c, IDA_NOT_FOUND, "There is no such access request.");
}

ida_kind governance_request_get(store *s, ida_ctx *c, const char *tenant, const char *id,
                                const ida_access_request **request)
{
    return one_request(s, c, STMT_request_get, DB_ARGS(DB_T(tenant), DB_T(id)), request);
}

ida_kind governance_request_open_of(store *s, ida_ctx *c, const char *tenant,
                                    const queue_person *person, const char *service,
                                    const ida_access_request **request)
{
    return one_request(s, c, STMT_request_open_of,
                       DB_ARGS(DB_T(tenant), QUEUE_PERSON(person), DB_T(service)), request);
}

/* --- workflows --- */

ida_kind governance_workflow_list(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                                  int limit, const ida_workflow_row **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_workflow_list,
                               DB_ARGS(DB_T(tenant), DB_T(after_name), DB_I(limit)), &r);
    *count = 0;
    if (kind) {
        return kind;
    }
    ida_workflow_row *all = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *all);
    for (int i = 0; i < r.rows; i++) {
        const row_workflow *row = DB_ROW(workflow, &r, i);
        all[i] = (ida_workflow_row){row->id.text, row->name.text, row->trigger_type.text,
                                    row->active.number != 0,
                                    (int)json_array_size(list_of(c, row->actions.text))};
    }
    *rows = all;
    *count = r.rows;
    return IDA_OK;
}

ida_kind governance_workflow_count(store *s, ida_ctx *c, const char *tenant, int64_t *total)
{
    return store_number(s, c, STMT_workflow_count, DB_ARGS(DB_T(tenant)), total);
}

/* The first of these rows of one text that equals the name without regard to case and accents. */
static const char *same_name(ida_ctx *c, const db_result *r, const char *name)
{
    const char *key = ida_fold_search(c->pool, name);
    for (int i = 0; i < r->rows; i++) {
        const char *one = DB_ROW(workflow_name, r, i)->name.text;
        if (strcmp(ida_fold_search(c->pool, one), key) == 0) {
            return one;
        }
    }
    return NULL;
}

ida_kind governance_workflow_known(store *s, ida_ctx *c, const char *tenant, const char **name)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_workflow_known, DB_ARGS(DB_T(tenant), DB_T(*name)), &r);
    if (kind || r.rows) {
        return kind;
    }
    kind = store_read(s, c, STMT_workflow_names, DB_ARGS(DB_T(tenant)), &r);
    *name = kind ? NULL : same_name(c, &r, *name);
    return kind;
}

/* Actions of all runs of a page at once; rows come in the order of run IDs. */
static ida_kind load_actions(store *s, ida_ctx *c, const char *tenant, ida_workflow_run *runs,
                             int count)
{
    db_result r;
    json_t *ids = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(ids, json_string(runs[i].id));
    }
    ida_kind kind = count ? store_read(s, c, STMT_workflow_run_actions,
                                       DB_ARGS(DB_T(tenant), DB_T(ida_json_text(c->pool, ids))), &r)
                          : IDA_OK;
    if (kind || !count) {
        return kind;
    }
    ida_workflow_action *actions = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *actions);
    for (int row = 0; row < r.rows; row++) {
        const row_workflow_action *action = DB_ROW(workflow_action, &r, row);
        actions[row] = (ida_workflow_action){action->position.number,    action->started_at.number,
                                             action->finished_at.number, action->type.text,
                                             action->status.text,        action->error.text};
    }
    for (int i = 0; i < count; i++) {
        for (int row = 0; row < r.rows; row++) {
            if (strcmp(DB_ROW(workflow_action, &r, row)->run_id.text, runs[i].id) == 0) {
                runs[i].actions = runs[i].action_count ? runs[i].actions : &actions[row];
                runs[i].action_count++;
            }
        }
    }
    return IDA_OK;
}

STORE_FILL(run_of, ida_workflow_run, workflow_run, .id = row->id.text,
           .workflow = row->workflow.text, .event_type = row->event_type.text,
           .task_id = row->task_id.text, .upn = row->upn.text, .started_at = row->started_at.number,
           .finished_at = row->finished_at.number, .status = row->status.text)

ida_kind governance_workflow_runs(store *s, ida_ctx *c, const char *tenant,
                                  const governance_run_filter *f, ida_workflow_run **rows,
                                  int *count)
{
    const db_arg names[] = {QUEUE_PERSON(f->person ? f->person : &(queue_person){0})};
    const db_arg args[] = {DB_T(tenant),
                           DB_I(f->from),
                           DB_I(f->before_at < f->to ? f->before_at : f->to),
                           DB_T(f->before_id),
                           DB_T(f->status),
                           DB_I(f->limit),
                           DB_T(f->workflow),
                           names[0],
                           names[1],
                           names[2]};
    ida_kind kind = store_rows(s, c,
                               f->person     ? STMT_workflow_runs_person
                               : f->workflow ? STMT_workflow_runs_of
                                             : STMT_workflow_runs,
                               DB_FIRST(args, f->person     ? 10
                                              : f->workflow ? 7
                                                            : 6),
                               run_of, sizeof **rows, rows, count);
    return kind ? kind : load_actions(s, c, tenant, *rows, *count);
}

ida_kind governance_workflow_runs_count(store *s, ida_ctx *c, const char *tenant,
                                        const governance_run_filter *f, int64_t *total)
{
    const db_arg names[] = {QUEUE_PERSON(f->person ? f->person : &(queue_person){0})};
    const db_arg args[] = {DB_T(tenant),    DB_I(f->from),      DB_I(f->to),
                           DB_T(f->status), DB_I(f->count_max), DB_T(f->workflow),
                           names[0],        names[1],           names[2]};
    return store_number(s, c,
                        f->person     ? STMT_workflow_runs_person_count
                        : f->workflow ? STMT_workflow_runs_of_count
                                      : STMT_workflow_runs_count,
                        DB_FIRST(args, f->person     ? 9
                                       : f->workflow ? 6
                                                     : 5),
                        total);
}
