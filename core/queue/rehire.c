/* Owns reading what the store knows about rehired people. Must not know what a rehire does with
 * it. */
#include "core/queue/rehire.h"
#include "core/base/json.h"
#include "core/base/text.h"

#include <string.h>

#include "core/queue/claim.h"
#include "core/queue/mark.h"
#include "core/queue/revoked.h"
#include "core/store/rows.h"
#include "core/tenant/shape.h"

#define OFFBOARDINGS_MAX 20 /* of a person, looked through */

STORE_FILL(coming_of, queue_coming, task_upn, row->upn.text, row->id.text)

ida_kind queue_rehire_coming(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                             queue_coming **rows, int *count)
{
    return store_rows(s, c, STMT_creations_of_employee,
                      DB_ARGS(DB_T(tenant), DB_T(ida_fold_value(c->pool, employee_id))), coming_of,
                      sizeof **rows, rows, count);
}

ida_kind queue_rehire_memberships(store *s, ida_ctx *c, const char *tenant,
                                  ida_directory_kind directory, const char *object_id,
                                  queue_membership **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_memberships_lost,
                               DB_ARGS(DB_T(tenant), DB_T(object_id),
                                       DB_T(ida_directory_name(directory)),
                                       DB_I(QUEUE_MEMBERSHIPS_MAX)),
                               &r);
    *count = kind ? 0 : r.rows;
    *rows = apr_pcalloc(c->pool, sizeof **rows * (apr_size_t)(*count + 1));
    for (int i = 0; i < *count; i++) {
        const row_membership_lost *lost = DB_ROW(membership_lost, &r, i);
        int where = ida_directory_parse(lost->directory.text);
        if (where < 0) {
            return ida_fail(
                c, IDA_INTERNAL_ERROR,
                "a recorded membership names a directory that this version does not know");
        }
        (*rows)[i] = (queue_membership){(ida_directory_kind)where, lost->group_id.text,
                                        lost->group_name.text, lost->retained.text, 0};
    }
    return kind;
}

ida_kind queue_offboarded_since(store *s, ida_ctx *c, const ida_task *task, const char **id)
{
    return store_id(s, c, STMT_offboarded_since,
                    DB_ARGS(DB_T(task->tenant), DB_T(task->who), DB_I(task->created_at)), id);
}

/* --- writes of a run --- */

typedef struct finding {
    const ida_task *task;
    const queue_membership *rows;
    int count;
} finding;

/* Checks the fence by a change that changes nothing. *before: digest of the memberships. */
static ida_kind fence(store *s, ida_ctx *c, const ida_task *task, uint64_t *before)
{
    static const queue_task_change nothing;
    audit_mark now;
    ida_kind kind = queue_change(s, c, task, &nothing);
    kind = kind ? kind : queue_mark_read(s, c, task->tenant, task->id, 0, &now);
    *before = kind ? 0 : now.parts[AUDIT_MARK_MEMBERSHIPS];
    return kind;
}

static ida_kind added(store *s, ida_ctx *c, const ida_task *task, uint64_t before)
{
    return queue_mark(s, c, task->tenant, task->id, QUEUE_MARK_MEMBERSHIPS, before);
}

static ida_kind put(store *s, ida_ctx *c, void *baton)
{
    const finding *w = baton;
    uint64_t before;
    ida_kind kind = fence(s, c, w->task, &before);
    for (int i = 0; !kind && i < w->count; i++) {
        const queue_membership *m = &w->rows[i];
        const char *id = m->owned ? ida_printf(c->pool, QUEUE_OWNED "%s", m->group_id)
                                  : m->group_id;
        kind = store_write(s, c, STMT_membership_put,
                           DB_ARGS(DB_T(w->task->tenant), DB_T(w->task->id),
                                   DB_T(ida_directory_name(m->directory)), DB_T(id),
                                   DB_T(m->group_name ? m->group_name : m->group_id),
                                   DB_T(m->retained), DB_T(m->owned ? "owned" : "group")),
                           NULL);
    }
    return kind ? kind : added(s, c, w->task, before);
}

ida_kind queue_memberships(store *s, ida_ctx *c, const ida_task *task, const queue_membership *rows,
                           int count)
{
    finding w = {task, rows, count};
    return store_transaction(s, c, put, &w);
}

typedef struct sweeping {
    const ida_task *task;
    ida_directory_kind directory;
    const queue_refusal *refusals;
    int count;
} sweeping;

static ida_kind swept(store *s, ida_ctx *c, void *baton)
{
    const sweeping *w = baton;
    const char *directory = ida_directory_name(w->directory);
    json_t *ids = ida_json_keep(c->pool, json_array());
    uint64_t before;
    ida_kind kind = fence(s, c, w->task, &before);
    for (int i = 0; i < w->count; i++) {
        json_array_append_new(ids, json_string(w->refusals[i].group_id));
    }
    kind = kind ? kind
                : store_write(s, c, STMT_memberships_revoked,
                              DB_ARGS(DB_T(w->task->tenant), DB_T(w->task->id), DB_T(directory),
                                      DB_I(ida_now(c->env)), DB_T(ida_json_text(c->pool, ids))),
                              NULL);
    for (int i = 0; !kind && i < w->count; i++) {
        kind = store_write(s, c, STMT_membership_refused,
                           DB_ARGS(DB_T(w->task->tenant), DB_T(w->task->id), DB_T(directory),
                                   DB_T(w->refusals[i].group_id), DB_T(w->refusals[i].reason)),
                           NULL);
    }
    return kind ? kind : added(s, c, w->task, before);
}

ida_kind queue_memberships_swept(store *s, ida_ctx *c, const ida_task *task,
                                 ida_directory_kind directory, const queue_refusal *refusals,
                                 int count)
{
    sweeping w = {task, directory, refusals, count};
    return store_transaction(s, c, swept, &w);
}

typedef struct restoring {
    const ida_task *task;
    ida_directory_kind directory;
} restoring;

static ida_kind restored(store *s, ida_ctx *c, void *baton)
{
    const restoring *w = baton;
    uint64_t unused;
    ida_kind kind = fence(s, c, w->task, &unused);
    return kind ? kind
                : store_write(s, c, STMT_memberships_restored,
                              DB_ARGS(DB_T(w->task->tenant), DB_T(w->task->id),
                                      DB_T(ida_directory_name(w->directory))),
                              NULL);
}

ida_kind queue_memberships_restored(store *s, ida_ctx *c, const ida_task *task,
                                    ida_directory_kind directory)
{
    restoring w = {task, directory};
    return store_transaction(s, c, restored, &w);
}

typedef struct taking {
    const ida_task *task;
    int position;
    const char *const *names;
} taking;

static ida_kind taken(store *s, ida_ctx *c, void *baton)
{
    const taking *w = baton;
    uint64_t before;
    ida_kind kind = fence(s, c, w->task, &before);
    for (const char *const *name = w->names; !kind && *name; name++) {
        kind = store_write(s, c, STMT_license_taken,
                           DB_ARGS(DB_T(w->task->tenant), DB_T(w->task->id),
                                   DB_T(ida_directory_name(IDA_DIR_CLOUD)), DB_T(*name),
                                   DB_I(w->position), DB_I(ida_now(c->env))),
                           NULL);
    }
    return kind ? kind : added(s, c, w->task, before);
}

ida_kind queue_licenses_taken(store *s, ida_ctx *c, const ida_task *task, int position,
                              const char *const *names)
{
    taking w = {task, position, names};
    return names && *names ? store_transaction(s, c, taken, &w) : IDA_OK;
}

/* Offboardings of the task's person, newest first. */
static ida_kind offboardings(store *s, ida_ctx *c, const ida_task *task, int limit, ida_task **left,
                             int *count)
{
    const queue_person person = queue_person_of(task);
    const queue_task_filter filter = {.type = ida_task_type_text(IDA_USER_DELETE),
                                      .person = &person,
                                      .limit = limit};
    int64_t total;
    *count = 0;
    return queue_task_list(s, c, task->tenant, &filter, left, count, &total);
}

ida_kind queue_rehire_attributes(store *s, ida_ctx *c, const ida_task *task, const json_t **kept)
{
    ida_task *left;
    int count;
    *kept = NULL;
    ida_kind kind = offboardings(s, c, task, OFFBOARDINGS_MAX, &left, &count);
    for (int i = 0; !kind && i < count && !*kept; i++) {
        *kept = left[i].progress ? json_object_get(ida_json_load(c->pool, left[i].progress),
                                                   QUEUE_LEAVER_ATTRIBUTES)
                                 : NULL;
    }
    return kind;
}

ida_kind queue_rehire_password(store *s, ida_ctx *c, const ida_task *task, const char **text)
{
    ida_task *left;
    int count;
    *text = NULL;
    for (int i = 0; i < task->step_count; i++) {
        if (strcmp(task->steps[i].name, IDA_ACTION_PASSWORD) == 0) {
            return IDA_OK;
        }
    }
    ida_kind kind = offboardings(s, c, task, 1, &left, &count);
    const json_t *progress = !kind && count && left->progress
                                 ? ida_json_load(c->pool, left->progress)
                                 : NULL;
    if (ida_json_string(progress, "passwordReplaced") ||
        ida_json_string(progress, "twinPasswordReplaced")) {
        *text = ida_printf(
            c->pool,
            "The password of the account is an unknown one since the offboarding %s: "
            "set a new password, otherwise the person cannot sign in.",
            left->id);
    }
    return kind;
}
