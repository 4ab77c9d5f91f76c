/* Owns how a leaver is kept from signing in: the account is disabled and, if that takes effect
 * only under a policy of the server, gets a password that no person knows. Must not know
 * directory protocols. */
#include "worker/run/shut.h"

#include "core/base/json.h"
#include "worker/hold/rules.h"

/* progress: what the directory shows of the replaced password; "" nothing. Evidence reads it
 * (core/operation/people/evidence.c). */
static const char *member(const run *r)
{
    return r->account == &r->other ? "twinPasswordReplaced" : "passwordReplaced";
}

static directory_class call_password(run *r, const directory_ops *ops, directory *dir, void *baton,
                                     directory_error *e)
{
    return ops->discard_password(dir, r->pool, r->account->object_id, baton, e);
}

step_end run_shut_password(run *r, run_shutting *how, int *gone)
{
    directory_error e;
    const char *known = ida_json_string(r->progress, member(r)), *proof = known;
    *how = (run_shutting){.lock_alone = ida_json_string(r->progress, "lockAlone")};
    *gone = 0;
    if (!r->account->session->ops->discard_password) {
        json_object_set_new(r->progress, member(r), json_null());
        return STEP_ON;
    }
    step_end end = run_call(r, call_password, &proof, &e);
    if (end != STEP_ON) {
        return end;
    }
    *gone = e.class == DIRECTORY_NOT_FOUND;
    if (*gone) {
        return STEP_ON;
    }
    if (hold_verdict_of(e.class) == VERDICT_GOOD) {
        how->has_password = proof != NULL;
        how->renewed = proof && e.class == DIRECTORY_OK;
        json_object_set_new(r->progress, member(r), proof ? json_string(proof) : json_null());
        return STEP_ON;
    }
    if (hold_verdict_of(e.class) != VERDICT_NEVER || e.class == DIRECTORY_PROTECTED) {
        return run_fails(r, &e);
    }
    run_fails(r, &e); /* logs a missing right */
    how->has_password = 1;
    how->refused = run_why(&e);
    json_object_set_new(r->progress, member(r), json_false());
    return STEP_ON;
}

step_end run_shut(run *r, run_shutting *how, directory_error *e)
{
    int gone;
    directory_user after = {0};
    step_end end = run_shut_password(r, how, &gone);
    *e = (directory_error){0};
    if (end == STEP_ON && gone) {
        *e = (directory_error){.class = DIRECTORY_NOT_FOUND};
        return STEP_ON;
    }
    end = end == STEP_ON ? run_disable(r, &after, e) : end;
    if (after.warnings) {
        how->lock_alone = after.warnings[0];
        ida_json_put(r->progress, "lockAlone", how->lock_alone);
    }
    return end;
}

const char *run_shut_text(run *r, const run_shutting *how)
{
    return !how->has_password ? ""
           : how->refused ? ida_printf(r->pool, "; locked, but the password was not replaced: %s",
                                       how->refused)
           : how->lock_alone
               ? ida_printf(r->pool,
                            "; the password is an unknown one; the lock alone would not hold: %s",
                            how->lock_alone)
               : "; locked, and the password is an unknown one";
}

void run_shut_judge(run *r, const run_shutting *how)
{
    if (how->refused) {
        r->failure = ida_printf(r->pool,
                                "%s: the account is locked, but its password could not be "
                                "replaced, so its owner may still sign in: %s",
                                run_shown(r), how->refused);
    }
}
