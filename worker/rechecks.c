/* Owns the checks after a synchronisation. core/cache decides what a result means for the cache. */
#include "worker/rechecks.h"

#include <string.h>

#include "core/cache/recheck.h"
#include "core/governance/history.h"
#include "worker/hold/crash.h"

#define LOOKS 50 /* a round; what is left waits for the next one */
/* A read of a membership counts if the write is older than this: until then a replica of the
 * directory may answer with an earlier state. */
#define MEMBER_SETTLED_MS 60000

void rechecks_note_removed(const rechecks *of)
{
    ida_ctx *c = worker_ctx(of->w, of->pool);
    if (governance_history_note(of->main, of->cache, c, of->tenant, of->directory)) {
        ida_log(&of->w->env, IDA_LOG_WARN, "IDA0507",
                "tenant %s, directory %s: which memberships ended cannot be noted; the next "
                "synchronisation tries again: %s",
                of->tenant, ida_directory_name(of->directory), c->message ? c->message : "");
    }
}

static directory_class look_at_user(const rechecks *of, session *s, const cache_recheck *one)
{
    directory_user user = {0};
    directory_error e = {0};
    directory_class class = s->ops->find(s->dir, of->pool, one->user_id, NULL, &user, &e);
    if (class == DIRECTORY_OK) {
        cache_tell_seen(of->cache, worker_ctx(of->w, of->pool), of->tenant, of->directory,
                        &user.cache);
    }
    return class;
}

static directory_class look_at_member(const rechecks *of, session *s, const cache_recheck *one)
{
    const directory_membership *rows;
    directory_error e = {0};
    int count = 0, is_member = 0;
    if (ida_now(&of->w->env) - one->written_at < MEMBER_SETTLED_MS) {
        return DIRECTORY_OK;
    }
    directory_class class = s->ops->memberships(s->dir, of->pool, one->user_id, &one->group_id, 1,
                                                &rows, &count, &e);
    for (int i = 0; class == DIRECTORY_OK && i < count; i++) {
        is_member |= strcmp(rows[i].group_id, one->group_id) == 0;
    }
    if (class == DIRECTORY_OK) {
        cache_tell_member_seen(of->cache, worker_ctx(of->w, of->pool), of->tenant, of->directory,
                               one->group_id, one->user_id, is_member);
    }
    return class;
}

void rechecks_carry_out(const rechecks *of, session *s)
{
    const cache_recheck *list;
    int count = 0;
    if (!s->ops->lag_ms || cache_rechecks(of->cache, worker_ctx(of->w, of->pool), of->tenant,
                                          of->directory, LOOKS, &list, &count)) {
        return;
    }
    for (int i = 0; i < count && !of->must_stop(of->baton); i++) {
        hold_crash_call_begins(of->w, of->tenant, of->directory);
        directory_class class = list[i].group_id ? look_at_member(of, s, &list[i])
                                                 : look_at_user(of, s, &list[i]);
        hold_crash_call_ends();
        if (directory_holds(class)) {
            return; /* the next round, or a task, finds out what that means */
        }
    }
}
