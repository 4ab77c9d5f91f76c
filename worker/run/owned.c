/* Owns which groups a leaver owns: they are named with the task, and not changed. Must not know
 * directory protocols. */
#include "worker/run/owned.h"

#include "core/queue/claim.h"
#include "core/queue/rehire.h"
#include "worker/hold/rules.h"

static directory_class call_owned(run *r, const directory_ops *ops, directory *dir, void *baton,
                                  directory_error *e)
{
    return ops->owned(dir, r->pool, r->account->object_id, baton, e);
}

typedef struct kept {
    const queue_membership *rows;
    int count;
} kept;

static ida_kind write_kept(run *r, store *s, ida_ctx *c, void *baton)
{
    const kept *k = baton;
    return queue_memberships(s, c, r->task, k->rows, k->count);
}

step_end run_keep_memberships(run *r, const queue_membership *rows, int count)
{
    kept k = {rows, count};
    return count ? run_store(r, write_kept, &k) : STEP_ON;
}

static const char *why(run *r, const directory_membership *row)
{
    return !row->group_id  ? row->retained
           : row->retained ? ida_printf(r->pool, "with %s", row->retained)
                           : "no other account: name another owner by hand";
}

step_end run_owned(run *r, apr_array_header_t *owned)
{
    directory_error e;
    apr_array_header_t *rows = apr_array_make(r->pool, 4, sizeof(directory_membership));
    if (!r->account->session->ops->owned) {
        return STEP_ON;
    }
    step_end end = run_call(r, call_owned, rows, &e);
    /* CONFIG: the server refuses this search, for a limit or an attribute without an index. */
    if (end == STEP_ON &&
        (e.class == DIRECTORY_CONFIG || hold_verdict_of(e.class) == VERDICT_NEVER)) {
        apr_array_clear(rows);
        APR_ARRAY_PUSH(rows, directory_membership) = (directory_membership){
            NULL, "groups", ida_printf(r->pool, "not looked at: %s", run_why(&e))};
    } else if (end == STEP_ON && hold_verdict_of(e.class) != VERDICT_GOOD) {
        end = run_fails(r, &e);
    }
    queue_membership *found = apr_pcalloc(r->pool, sizeof *found * (apr_size_t)(rows->nelts + 1));
    for (int i = 0; i < rows->nelts; i++) {
        const directory_membership *row = &APR_ARRAY_IDX(rows, i, directory_membership);
        found[i] = (queue_membership){r->account->directory, row->group_id ? row->group_id : "",
                                      row->group_name, why(r, row), 1};
        const char *text = ida_printf(r->pool, "%s (%s)", row->group_name, found[i].retained);
        APR_ARRAY_PUSH(owned, const char *) = text;
        run_warn(r, ida_printf(r->pool, "Owned by the account: %s.", text));
    }
    return end == STEP_ON ? run_keep_memberships(r, found, rows->nelts) : end;
}
