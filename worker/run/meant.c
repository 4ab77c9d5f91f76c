/* Owns who is meant by a name that was written down earlier. Must not know the purpose. */
#include "worker/run/meant.h"

#include <string.h>

#include "core/base/json.h"
#include "core/cache/freshness.h"
#include "core/governance/named.h"
#include "core/queue/change.h"

static step_end look(run *r, const char *key, ida_user **user)
{
    ida_ctx *c = run_ctx(r);
    return cache_user_mentioned(r->main, c, r->task->tenant, key, user)
               ? step_later(r, "The person cannot be read from the store: %s",
                            c->message ? c->message : "away")
               : STEP_ON;
}

/* Nobody has the ID: gone, unless the directory is being read anew. */
static step_end is_gone(run *r, meant *m, const char *id)
{
    ida_user *holder;
    int synced;
    ida_ctx *c = run_ctx(r);
    if (cache_is_synced(r->main, c, r->account->session->tenant, &synced) || !synced) {
        return step_later(r, "Waits until the directory is read: who %s is cannot be told before.",
                          m->named);
    }
    ida_kind kind = cache_user_by_upn(r->main, c, r->task->tenant, m->named, &holder);
    int another = !kind || kind == IDA_CONFLICT;
    m->fault = ida_printf(r->pool, "%s is gone (ID %s)%s", m->named, id,
                          another ? ", and another account has the address now." : ".");
    return STEP_ON;
}

step_end run_meant(run *r, const char *named, const char *id, meant *m)
{
    *m = (meant){.named = named ? named : id, .known = id != NULL};
    step_end end = look(r, id ? id : named, &m->user);
    if (end == STEP_ON && !m->user && id) {
        return is_gone(r, m, id);
    }
    if (end == STEP_ON && m->user && !m->user->enabled) {
        m->fault = ida_printf(r->pool, "%s has a disabled account.",
                              m->user->upn ? m->user->upn : m->user->id);
    }
    return end;
}

step_end run_meant_manager(run *r, const json_t *stored, meant *m)
{
    const char *id = ida_json_string(stored, "managerId"),
               *creation = ida_json_string(stored, "managerCreation");
    ida_task *made;
    creation = creation ? creation : ida_json_string(stored, "managerTask");
    if (!id && creation &&
        !queue_task_get(r->main, run_ctx(r), r->task->tenant, creation, 0, &made)) {
        id = made->object_id;
    }
    return run_meant(r, ida_json_string(stored, "manager"), id, m);
}

step_end run_meant_document(run *r, const char *named, meant *m)
{
    const json_t *known;
    ida_ctx *c = run_ctx(r);
    if (governance_named(r->main, c, r->task->tenant, &known)) {
        return step_later(r, "Whom %s means cannot be read from the store: %s", named,
                          c->message ? c->message : "away");
    }
    step_end end = run_meant(r, named,
                             governance_named_id(r->pool, known, GOVERNANCE_PERSON, named), m);
    ida_user *holder = NULL;
    if (end == STEP_ON && m->known && m->user) {
        end = look(r, named, &holder);
        m->moved = !holder || strcmp(holder->id, m->user->id) != 0;
    }
    return end;
}

const char *run_meant_shown(const meant *m)
{
    return m->user && m->user->upn ? m->user->upn : m->named;
}

const char *run_meant_here(run *r, const meant *m)
{
    const ida_user *u = m->user;
    return !u                                            ? m->named
           : u->directory == r->account->directory       ? u->id
           : u->in[r->account->directory] && u->other_id ? u->other_id
           : u->upn                                      ? u->upn
                                                         : m->named;
}
