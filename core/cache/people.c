/* Owns reading lists of people and groups: filters and pages in, rows out. Must not write, must not
 * know what a list is for. */
#include "core/cache/people.h"

#include <apr_lib.h>
#include <apr_strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/rows.h"

static void person_of(const db_result *r, int i, void *out)
{
    const row_person *row = DB_ROW(person, r, i);
    *(cache_listed_person *)out = (cache_listed_person){
        .directory = row->directory.text,
        .id = row->id.text,
        .upn = row->upn.text,
        .display_name = row->display_name.text,
        .department = row->department.text,
        .job_title = row->job_title.text,
        .name_key = row->name_key.text,
        .enabled = row->enabled.number != 0,
        .guest = row->guest.number != 0,
        .last_sign_in_at = row->last_sign_in_at.number,
        .active_at = row->active_at.number,
    };
}

static ida_kind list(store *s, ida_ctx *c, db_statement statement, const db_arg *args,
                     size_t arg_count, const cache_listed_person **rows, int *count)
{
    return store_rows(s, c, statement, args, arg_count, person_of, sizeof **rows, rows, count);
}

#define FILTER_ARGS(f)                                                                      \
    DB_T(tenant), DB_T((f)->department), DB_I((f)->enabled), DB_I((f)->guest),              \
        DB_I((f)->signed_in_from), DB_I((f)->signed_in_before), DB_T((f)->words[0]),        \
        DB_T((f)->words[1]), DB_T((f)->words[2]), DB_T((f)->words[3]), DB_T((f)->words[4]), \
        DB_T((f)->words[5]), DB_T((f)->words[6]), DB_T((f)->words[7])

ida_kind cache_people_search(store *s, ida_ctx *c, const char *tenant,
                             const cache_people_filter *filter, const cache_listed_person **rows,
                             int *count)
{
    return list(s, c, STMT_people_search,
                DB_ARGS(FILTER_ARGS(filter), DB_T(filter->after_name), DB_T(filter->after_id),
                        DB_I(filter->limit)),
                rows, count);
}

ida_kind cache_people_count(store *s, ida_ctx *c, const char *tenant,
                            const cache_people_filter *filter, int64_t *total)
{
    return store_number(s, c, STMT_people_count, DB_ARGS(FILTER_ARGS(filter)), total);
}

/* The name as it stands in the list of licences, in small letters as the statements look for it. */
static const char *quoted(ida_ctx *c, const char *name)
{
    if (!name) {
        return NULL;
    }
    json_t *text = ida_json_keep(c->pool, json_string(name));
    char *small = apr_pstrdup(c->pool, ida_json_text(c->pool, text));
    for (char *p = small; *p; p++) {
        *p = (char)apr_tolower(*p);
    }
    return small;
}

#define OF_ARGS(of) DB_T((of)->department), DB_T((of)->company), DB_T(quoted(c, (of)->license))

ida_kind cache_people_idle(store *s, ida_ctx *c, const char *tenant, int guest, int64_t before,
                           const cache_report_filter *of, int64_t after_at, const char *after_id,
                           int limit, const cache_listed_person **rows, int *count)
{
    return list(s, c, STMT_people_idle,
                DB_ARGS(DB_T(tenant), DB_I(guest), DB_I(before), DB_I(after_at > 0 ? after_at : 1),
                        DB_T(after_id), DB_I(limit), OF_ARGS(of)),
                rows, count);
}

ida_kind cache_people_idle_count(store *s, ida_ctx *c, const char *tenant, int guest,
                                 int64_t before, const cache_report_filter *of, int64_t *total)
{
    return store_number(s, c, STMT_people_idle_count,
                        DB_ARGS(DB_T(tenant), DB_I(guest), DB_I(before), OF_ARGS(of)), total);
}

ida_kind cache_people_unmanaged(store *s, ida_ctx *c, const char *tenant,
                                const cache_report_filter *of, const char *after_name,
                                const char *after_id, int limit, const cache_listed_person **rows,
                                int *count)
{
    return list(s, c, STMT_people_unmanaged,
                DB_ARGS(DB_T(tenant), DB_T(after_name), DB_T(after_id), DB_I(limit), OF_ARGS(of)),
                rows, count);
}

ida_kind cache_people_unmanaged_count(store *s, ida_ctx *c, const char *tenant,
                                      const cache_report_filter *of, int64_t *total)
{
    return store_number(s, c, STMT_people_unmanaged_count, DB_ARGS(DB_T(tenant), OF_ARGS(of)),
                        total);
}

static void holder_of(const db_result *r, int i, void *out)
{
    const row_holder *row = DB_ROW(holder, r, i);
    *(cache_holder *)out = (cache_holder){
        .person = {.directory = row->directory.text,
                   .id = row->id.text,
                   .upn = row->upn.text,
                   .display_name = row->display_name.text,
                   .department = row->department.text,
                   .job_title = row->job_title.text,
                   .name_key = row->name_key.text,
                   .enabled = row->enabled.number != 0,
                   .guest = row->guest.number != 0,
                   .last_sign_in_at = row->last_sign_in_at.number},
        .licenses = row->licenses.text,
        .memberships = row->memberships.number};
}

ida_kind cache_people_holding(store *s, ida_ctx *c, const char *tenant,
                              const cache_report_filter *of, const char *after_name,
                              const char *after_id, int limit, const cache_holder **rows,
                              int *count)
{
    return store_rows(s, c, STMT_people_holding,
                      DB_ARGS(DB_T(tenant), DB_T(after_name), DB_T(after_id), DB_I(limit),
                              OF_ARGS(of)),
                      holder_of, sizeof **rows, rows, count);
}

ida_kind cache_people_holding_count(store *s, ida_ctx *c, const char *tenant,
                                    const cache_report_filter *of, int64_t most, int64_t *total)
{
    return store_number(s, c, STMT_people_holding_count,
                        DB_ARGS(DB_T(tenant), OF_ARGS(of), DB_I(most)), total);
}

static void group_of(const db_result *r, int i, void *out)
{
    const row_group_empty *row = DB_ROW(group_empty, r, i);
    *(cache_empty_group *)out = (cache_empty_group){row->directory.text, row->id.text,
                                                    row->name.text, row->kind.text,
                                                    row->name_key.text};
}

ida_kind cache_groups_empty(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                            const char *after_id, int limit, const cache_empty_group **rows,
                            int *count)
{
    return store_rows(s, c, STMT_groups_empty,
                      DB_ARGS(DB_T(tenant), DB_T(after_name), DB_T(after_id), DB_I(limit)),
                      group_of, sizeof **rows, rows, count);
}

ida_kind cache_groups_empty_count(store *s, ida_ctx *c, const char *tenant, int64_t *total)
{
    return store_number(s, c, STMT_groups_empty_count, DB_ARGS(DB_T(tenant)), total);
}

static void listed_of(const db_result *r, int i, void *out)
{
    const row_group_listed *row = DB_ROW(group_listed, r, i);
    *(cache_listed_group *)out = (cache_listed_group){row->directory.text,     row->id.text,
                                                      row->name.text,          row->kind.text,
                                                      row->description.text,   row->name_key.text,
                                                      row->member_count.number};
}

#define FILTERED(f)                                                              \
    DB_T((f)->words), DB_I((f)->exactly), DB_T((f)->kind), DB_T((f)->directory), \
        DB_I((f)->empty == CACHE_EMPTY_OR_NOT ? -1 : (f)->empty == CACHE_EMPTY)

ida_kind cache_group_list(store *s, ida_ctx *c, const char *tenant, const cache_group_filter *f,
                          const cache_listed_group **rows, int *count)
{
    return store_rows(s, c, STMT_group_list,
                      DB_ARGS(DB_T(tenant), FILTERED(f), DB_T(f->after_name ? f->after_name : ""),
                              DB_T(f->after_id ? f->after_id : ""), DB_I(f->limit)),
                      listed_of, sizeof **rows, rows, count);
}

ida_kind cache_group_count(store *s, ida_ctx *c, const char *tenant, const cache_group_filter *f,
                           int64_t *total)
{
    return store_number(s, c, STMT_group_list_count,
                        DB_ARGS(DB_T(tenant), FILTERED(f), DB_I(f->count_max)), total);
}

ida_kind cache_freshness_get(store *s, ida_ctx *c, const ida_tenant *tenant, cache_freshness *fresh)
{
    db_result r;
    int64_t completed[IDA_DIR_COUNT] = {0}, full_at[IDA_DIR_COUNT] = {0},
            read_at[IDA_DIR_COUNT] = {0};
    ida_kind kind = store_read(s, c, STMT_sync_states, DB_ARGS(DB_T(tenant->id)), &r);
    *fresh = (cache_freshness){.as_of = 0, .sign_ins = {1, 1}, .synced = !kind};
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_sync_time *row = DB_ROW(sync_time, &r, i);
        int d = ida_directory_parse(row->directory.text);
        if (d >= 0) {
            completed[d] = row->completed_at.number;
            fresh->sign_ins[d] = row->sign_ins.number != 0;
            full_at[d] = row->full_at.number;
            read_at[d] = row->sign_ins_at.number ? row->sign_ins_at.number : completed[d];
        }
    }
    int any = 0;
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (tenant->has_directory[d]) {
            fresh->as_of = any && fresh->as_of < completed[d] ? fresh->as_of : completed[d];
            any = 1;
            fresh->synced = fresh->synced && full_at[d];
            if (fresh->sign_ins[d] &&
                (!fresh->sign_ins_as_of || read_at[d] < fresh->sign_ins_as_of)) {
                fresh->sign_ins_as_of = read_at[d];
            }
        }
    }
    return kind;
}

ida_kind cache_sync_progress(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             int64_t *users, int64_t *groups)
{
    db_result r;
    *users = *groups = 0;
    ida_kind kind = store_read(s, c, STMT_sync_progress,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
    if (!kind && r.rows) {
        const row_sync_progress *row = DB_ROW(sync_progress, &r, 0);
        *users = row->users.number;
        *groups = row->groups.number;
    }
    return kind;
}
