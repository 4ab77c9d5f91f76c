/* Owns how a run gets at the person's account in the tenant's other directory: who that is, and
 * that a step acts on it as if it were the task's own. Knows no directory protocol. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cache/person.h"
#include "worker/hold/rules.h"
#include "worker/run/run.h"

/* Told by the cache: its row of the person in the directory that the run acts on now; NULL: it
 * knows none. */
static const char *cached_id(run *r)
{
    ida_user *user;
    ida_ctx *c = worker_ctx(r->r->w, r->pool);
    if (cache_user_by_upn(r->r->main, c, r->task->tenant, r->task->upn, &user) ||
        !user->in[r->task->directory]) {
        return NULL;
    }
    return user->directory == r->task->directory ? user->id : user->other_id;
}

static directory_class call_find(run *r, const directory_ops *ops, directory *dir, void *baton,
                                 directory_error *e)
{
    return ops->find(dir, r->pool, NULL, r->task->upn, baton, e);
}

/* A cache may be a round behind: then the directory itself is asked, by UPN. */
static step_end find_account(run *r)
{
    directory_user user = {0};
    directory_error e;
    const char *known = ida_json_string(r->progress, "twinId");
    if (known) {
        r->task->object_id = apr_pstrdup(r->pool, known); /* the member goes when it is set anew */
        return STEP_ON;
    }
    r->task->object_id = cached_id(r);
    if (r->task->object_id) {
        return STEP_ON;
    }
    step_end end = run_call(r, call_find, &user, &e);
    if (end != STEP_ON || e.class == DIRECTORY_NOT_FOUND) {
        return end;
    }
    if (hold_verdict_of(e.class) != VERDICT_GOOD) {
        return run_fails(r, &e);
    }
    r->task->object_id = user.id;
    return STEP_ON;
}

step_end run_twin_enter(run *r, int *found)
{
    directory_error e;
    ida_directory_kind other = r->task->directory == IDA_DIR_CLOUD ? IDA_DIR_ON_PREMISES
                                                                   : IDA_DIR_CLOUD;
    *found = 0;
    if (!r->session->tenant->has_directory[other]) {
        return STEP_ON;
    }
    r->own.session = r->session;
    r->own.directory = r->task->directory;
    r->own.object_id = r->task->object_id;
    r->own.known = r->known;
    r->in_twin = 1;
    r->task->directory = other;
    r->task->object_id = NULL;
    r->known = (hold_known){0};
    store_directory state;
    if (!store_directory_get(r->r->main, worker_ctx(r->r->w, r->pool), r->task->tenant, other,
                             &state)) {
        if (state.hold_reason &&
            state.hold_until >
                ida_now(&r->r->w->env)) { /* the claim has looked at the task's own alone */
            r->step.detail = state.hold_reason;
            r->held_until = state.hold_until;
            return STEP_HELD;
        }
        r->known = hold_probe(r->r->w, r->r->main, r->pool, &state);
    }
    session *opened;
    if (run_session_get(&r->r->sessions, r->r->main, r->pool, r->task->tenant, other, &opened,
                        &e) != DIRECTORY_OK) {
        return run_fails(r, &e);
    }
    r->session = opened;
    step_end end = find_account(r);
    *found = end == STEP_ON && r->task->object_id;
    if (*found) {
        ida_json_put(r->progress, "twinId", r->task->object_id);
    }
    return end;
}

void run_twin_leave(run *r)
{
    if (r->in_twin) {
        r->in_twin = 0;
        r->session = r->own.session;
        r->task->directory = r->own.directory;
        r->task->object_id = r->own.object_id;
        r->known = r->own.known;
    }
}

/* Who leaves has nothing to lose there; what is to be given there cannot be. */
static step_end absent(run *r)
{
    if (r->task->type == IDA_USER_DELETE) {
        return step_says(r, IDA_STEP_ALREADY,
                         "already absent: the other directory has no account of this person");
    }
    step_says(r, IDA_STEP_NONE, "The other directory has no account of this person.");
    return STEP_LATER;
}

step_end run_twin_step(run *r, step_function function)
{
    int found;
    step_end end = run_twin_enter(r, &found);
    if (end == STEP_ON) {
        end = found ? function(r) : absent(r);
    }
    run_twin_leave(r);
    return end;
}
