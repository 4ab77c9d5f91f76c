/* Owns the transactions of a run, each of a bounded time, and the pages in which it reads staging.
 * Must not know what entries mean for the cache. */
#include <apr_strings.h>
#include <time.h>

#include "core/cache/run.h"

#define BUDGET_MS 150 /* then a transaction takes no further chunk: other writers wait */
#define BUSY_TRIES 12 /* of a transaction that got no turn within DB_PATIENCE_MS */
#define BUSY_NAP_MS 100

ida_kind cache_enter(cache_at *at, ida_ctx *c)
{
    db_result r;
    ida_kind kind = store_write(at->s, c, STMT_cache_lock, DB_ARGS(DB_T(at->tenant)), &r);
    if (!kind) {
        kind = store_read(at->s, c, STMT_sync_state_get,
                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    }
    if (!kind) {
        at->run = DB_ROW(sync_state, &r, 0)->run.number;
    }
    return kind;
}

int64_t cache_horizon(const cache_at *at, const ida_ctx *c)
{
    int64_t protected_since = ida_now(c->env) - CACHE_PROTECTION_MS;
    return protected_since < at->started_at ? protected_since : at->started_at;
}

ida_ctx *cache_batch(cache_sync *run, const ida_ctx *c)
{
    apr_pool_clear(run->batch_pool);
    return ida_ctx_make(c->env, run->batch_pool);
}

ida_kind cache_failed(ida_ctx *c, const ida_ctx *batch, ida_kind kind)
{
    if (kind) {
        ida_fail(c, kind, "%s", batch->message ? batch->message : ida_kind_text(kind));
        c->retry_after = batch->retry_after;
    }
    return kind;
}

/* A connection that was lost may have lost the last writes with it; half of a directory must not
 * be taken for all of it. */
static ida_kind still_ours(const cache_sync *run, ida_ctx *c)
{
    const cache_at *at = &run->at;
    if (store_connection(at->s) != run->connection) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The connection to the store was lost during the sync, which begins anew.");
    }
    return at->run == at->staged ? IDA_OK
                                 : ida_fail(c, IDA_CONFLICT,
                                            "Another sync of this directory (run %lld) began while "
                                            "run %lld was at work; this one ends here.",
                                            (long long)at->run, (long long)at->staged);
}

typedef struct steps {
    cache_sync *run;
    cache_step step;
    cache_cursor from, to; /* a repeated transaction starts at `from` again */
    int more, tries;
} steps;

static ida_kind take_steps(store *s, ida_ctx *c, void *baton)
{
    steps *p = baton;
    int64_t began = ida_monotonic(c->env);
    p->run->at.s = s;
    ida_kind kind = cache_enter(&p->run->at, c);
    kind = kind ? kind : still_ours(p->run, c);
    if (p->tries++) { /* the numbers that the undone try made are not in the store */
        cache_numbers_forget(p->run->at.numbers);
    }
    p->to = p->from;
    do {
        p->more = 0;
        kind = kind ? kind : p->step(p->run, c, &p->to, &p->more);
        kind = kind ? kind : cache_leave(&p->run->at, c);
    } while (!kind && p->more && ida_monotonic(c->env) - began < BUDGET_MS);
    return kind;
}

/* Many loads at once, on a machine that is busy, may keep each other from their turn for longer
 * than a caller would wait. A load that ended for that would begin anew and make it worse. */
static int waits_on(const cache_sync *run, ida_kind kind)
{
    const store *s = run->at.s;
    if (kind != IDA_SERVICE_UNAVAILABLE || !store_is_connected(s) ||
        store_connection(s) != run->connection) {
        return 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = BUSY_NAP_MS * 1000000L}, NULL);
    return 1;
}

ida_kind cache_run_steps(cache_sync *run, ida_ctx *c, cache_step step, cache_cursor *cursor)
{
    steps p = {.run = run, .step = step, .from = *cursor};
    int busy = 0, again;
    ida_kind kind;
    do {
        ida_ctx *b = cache_batch(run, c);
        kind = store_transaction(run->at.s, b, take_steps, &p);
        if (!kind) {
            *cursor = p.from = p.to;
            p.tries = busy = 0;
            again = p.more;
        } else {
            again = busy++ < BUSY_TRIES && waits_on(run, kind);
            kind = again ? IDA_OK : cache_failed(c, b, kind);
        }
    } while (again);
    return kind;
}

/* --- pages --- */

typedef struct paging {
    const cache_pages *pages;
    db_result r;
} paging;

/* cursor->count is the next row of the page. */
static ida_kind step_page(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    const paging *p = cursor->baton;
    const cache_pages *pages = p->pages;
    int from = (int)cursor->count,
        to = from + pages->chunk < p->r.rows ? from + pages->chunk : p->r.rows;
    ida_kind kind = pages->before ? pages->before(run, c, &p->r, from, to, more) : IDA_OK;
    if (kind || *more) {
        return kind;
    }
    cursor->count = to;
    *more = to < p->r.rows;
    return pages->apply(run, c, &p->r, from, to);
}

const int cache_by_id[] = {CACHE_PAGE_ID, -1},
          cache_by_sort[] = {DB_COLUMN(staged, sort), DB_COLUMN(staged, id)},
          cache_by_sub[] = {DB_COLUMN(staged_members, id), DB_COLUMN(staged_members, sub)};

ida_kind cache_run_pages(cache_sync *run, ida_ctx *c, const cache_pages *pages)
{
    const cache_at *at = &run->at;
    char after[2][CACHE_KEY_MAX + 100] = {"", ""};
    const int keys = pages->key[1] >= 0 ? 2 : 1;
    ida_kind kind;
    paging p = {.pages = pages};
    do {
        apr_pool_clear(run->page_pool);
        ida_ctx *reading = ida_ctx_make(c->env, run->page_pool);
        db_arg args[] = {DB_T(at->tenant),  DB_T(at->directory), DB_I(at->staged),  DB_T(after[0]),
                         DB_I(pages->rows), DB_T(after[1]),      DB_T(pages->which)};
        size_t count = keys == 2 ? 6 : 5;
        if (pages->which) {
            args[count++] = (db_arg)DB_T(pages->which);
        }
        kind = store_read(at->s, reading, pages->read, DB_FIRST(args, count), &p.r);
        if (kind || !p.r.rows) {
            return cache_failed(c, reading, kind);
        }
        for (int i = 0; i < keys; i++) {
            apr_cpystrn(after[i], db_text(&p.r, p.r.rows - 1, pages->key[i]), sizeof after[i]);
        }
        cache_cursor cursor = {.baton = &p};
        kind = cache_run_steps(run, c, step_page, &cursor);
    } while (!kind && p.r.rows == pages->rows);
    return kind;
}

/* --- begin and end --- */
