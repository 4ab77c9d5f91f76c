/* Owns lists of tasks: which index answers a filter, and how lists of several states become one.
 * Changes nothing. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/queue/inner.h"
#include "core/store/rows.h"

typedef struct listing {
    const char *tenant;
    const queue_task_filter *filter;
    ida_task *tasks;
    int count;
    int64_t total;
} listing;

/* Which statements answer: of a person, of one state, of all. */
typedef struct way {
    db_statement newest, by_due, total, total_narrow;
} way;

static const way of_person = {STMT_task_list_person, STMT_task_list_person_due,
                              STMT_task_count_person, STMT_task_count_person_narrow};
static const way of_state = {STMT_task_list_state, STMT_task_list_state_due, STMT_task_count_state,
                             STMT_task_count_state_narrow};
static const way of_all = {STMT_task_list, STMT_COUNT, STMT_task_count, STMT_task_count_narrow};

static int newer_first(const void *a, const void *b)
{
    return strcmp(((const ida_task *)b)->id, ((const ida_task *)a)->id);
}

static int earlier_first(const void *a, const void *b)
{
    const ida_task *x = a, *y = b;
    return x->due_at != y->due_at ? (x->due_at < y->due_at ? -1 : 1) : strcmp(x->id, y->id);
}

static const char *between_commas(ida_ctx *c, const char *words)
{
    return apr_pstrcat(c->pool, ",", words, ",", NULL);
}

/* NULL: all. */
static const char *wanted_of(ida_ctx *c, const char *words)
{
    return words ? between_commas(c, words) : NULL;
}

/* Adds what one statement finds; `state` as that one wants it. */
static ida_kind add(store *s, ida_ctx *c, listing *l, const way *w, const char *state,
                    apr_array_header_t *found)
{
    const queue_task_filter *f = l->filter;
    int by_due = f->order == QUEUE_BY_DUE;
    int narrow = f->username || f->due_from || f->due_to || f->braked;
    int64_t total = 0, count_max = f->count_max ? f->count_max : INT64_MAX;
    const char *behind = f->before_id ? f->before_id : by_due ? "" : "~"; /* "~": above every ID */
    static const queue_person nobody;
    const db_arg one[] = {QUEUE_PERSON(f->person ? f->person : &nobody)},
                 all[] = {DB_T(NULL), DB_T(NULL), DB_T(NULL)};
    const db_arg *names = f->person ? one : all;
    const size_t more = f->person ? 2 : 0; /* further names, at the end */
    const db_arg of[] = {DB_T(l->tenant),
                         names[0],
                         DB_T(state),
                         DB_T(wanted_of(c, f->type)),
                         DB_T(f->username),
                         DB_I(f->due_from),
                         DB_I(f->due_to ? f->due_to : INT64_MAX),
                         DB_I(f->braked == QUEUE_BRAKED_OR_NOT ? -1 : f->braked == QUEUE_BRAKED)};
    const db_arg page[] = {of[0],
                           of[1],
                           of[2],
                           of[3],
                           of[4],
                           of[5],
                           of[6],
                           of[7],
                           DB_I(f->limit),
                           DB_T(behind),
                           DB_I(by_due ? f->after_due : 0),
                           names[1],
                           names[2]};
    const db_arg counted[] = {of[0], of[1], of[2],           of[3],    of[4],   of[5],
                              of[6], of[7], DB_I(count_max), names[1], names[2]};
    const db_arg plainly[] = {of[0], of[1], of[2], of[3], DB_I(count_max), names[1], names[2]};
    db_result r;
    ida_kind kind = store_read(s, c, by_due ? w->by_due : w->newest, DB_FIRST(page, 11 + more), &r);
    if (!kind) {
        kind = narrow ? store_number(s, c, w->total_narrow, DB_FIRST(counted, 9 + more), &total)
                      : store_number(s, c, w->total, DB_FIRST(plainly, 5 + more), &total);
    }
    for (int row = 0; !kind && row < r.rows; row++) {
        kind = queue_task_of_row(c, &r, row, apr_array_push(found));
    }
    l->total += kind ? 0 : total;
    return kind;
}

/* One list for each requested state (all six if the order of due instants requires it): each is
 * a walk along an index, and none is longer than a page. */
static ida_kind add_states(store *s, ida_ctx *c, listing *l, apr_array_header_t *found)
{
    const char *wanted = wanted_of(c, l->filter->state);
    ida_kind kind = IDA_OK;
    for (int i = IDA_QUEUED; !kind && i <= IDA_CANCELLED; i++) {
        const char *state = ida_task_state_text((ida_task_state)i);
        if (!wanted || strstr(wanted, between_commas(c, state))) {
            kind = add(s, c, l, &of_state, state, found);
        }
    }
    return kind;
}

static ida_kind list(store *s, ida_ctx *c, void *baton)
{
    listing *l = baton;
    const queue_task_filter *f = l->filter;
    int by_due = f->order == QUEUE_BY_DUE;
    apr_array_header_t *found = apr_array_make(c->pool, f->limit + 1, sizeof(ida_task));
    l->total = 0;
    ida_kind kind = f->person            ? add(s, c, l, &of_person, wanted_of(c, f->state), found)
                    : f->state || by_due ? add_states(s, c, l, found)
                                         : add(s, c, l, &of_all, NULL, found);
    if (kind) {
        return kind;
    }
    l->tasks = (ida_task *)found->elts;
    l->count = found->nelts < f->limit ? found->nelts : f->limit;
    if (f->count_max && l->total > f->count_max) {
        l->total = f->count_max;
    }
    qsort(l->tasks, (size_t)found->nelts, sizeof *l->tasks, by_due ? earlier_first : newer_first);
    return queue_task_load_steps(s, c, l->tenant, l->tasks, l->count);
}

ida_kind queue_task_list(store *s, ida_ctx *c, const char *tenant, const queue_task_filter *filter,
                         ida_task **tasks, int *count, int64_t *total)
{
    listing l = {.tenant = tenant, .filter = filter};
    ida_kind kind = store_snapshot(s, c, list, &l);
    *tasks = l.tasks;
    *count = kind ? 0 : l.count;
    *total = l.total;
    return kind;
}
