/* Owns what a leaver has beside memberships: keys and certificates, which are taken, and groups
 * that the account owns, which are named. Must not know directory protocols. */
#include "worker/run/belongings.h"

#include "core/base/json.h"
#include "core/queue/claim.h"
#include "core/queue/rehire.h"
#include "core/tenant/value.h"
#include "worker/hold/rules.h"

typedef struct attributes_call {
    const json_t *names, *give;
    int take;
    json_t *had;
} attributes_call;

static directory_class call_attributes(run *r, const directory_ops *ops, directory *dir,
                                       void *baton, directory_error *e)
{
    const attributes_call *call = baton;
    json_object_clear(call->had);
    return ops->attributes(dir, r->pool, r->account->object_id, call->names, call->give, call->take,
                           call->had, e);
}

/* As run_ask, but a refusal for good is a row of `refused`. */
static step_end ask(run *r, attributes_call *call, apr_array_header_t *refused)
{
    directory_error e;
    step_end end = run_call(r, call_attributes, call, &e);
    if (end != STEP_ON || hold_verdict_of(e.class) == VERDICT_GOOD) {
        return end;
    }
    end = run_fails(r, &e);
    if (end != STEP_FAILED || r->guarded) {
        return end;
    }
    APR_ARRAY_PUSH(refused, const char *) = ida_printf(r->pool,
                                                       "attributes that let a leaver sign "
                                                       "in (%s)",
                                                       run_why(&e));
    json_object_clear(call->had);
    return STEP_ON;
}

static ida_kind write_progress(run *r, store *s, ida_ctx *c, void *baton)
{
    queue_task_change change = {.progress = baton};
    return queue_change(s, c, r->task, &change);
}

static void list_names(const json_t *values, apr_array_header_t *names)
{
    const char *name;
    json_t *list;
    json_object_foreach ((json_t *)values, name, list) {
        APR_ARRAY_PUSH(names, const char *) = name;
    }
}

/* An offboarding of somebody who had left before, which finds nothing, says nothing: what the first
 * one took is still to be given back. */
static step_end note(run *r, const json_t *had)
{
    json_t *kept = json_object_get(r->progress, QUEUE_LEAVER_ATTRIBUTES), *list;
    const char *name;
    if (!json_object_size(had) && r->task->steps[0].outcome == IDA_STEP_ALREADY) {
        return STEP_ON;
    }
    if (!kept) {
        kept = json_object();
        json_object_set_new(r->progress, QUEUE_LEAVER_ATTRIBUTES, kept);
    }
    json_object_foreach ((json_t *)had, name, list) {
        json_t *before = json_object_get(kept, name);
        if (before) {
            json_array_extend(before, list);
        } else {
            json_object_set_new(kept, name, json_deep_copy(list));
        }
    }
    return json_object_size(had) ? run_store(r, write_progress, ida_json_text(r->pool, r->progress))
                                 : STEP_ON;
}

step_end run_attributes_take(run *r, apr_array_header_t *taken, apr_array_header_t *refused)
{
    const json_t *names = json_object_get(r->account->session->tenant->document,
                                          "leaverAttributes");
    attributes_call call = {.names = names ? names : ida_json_load(r->pool, IDA_LEAVER_ATTRIBUTES),
                            .had = ida_json_keep(r->pool, json_object())};
    if (!r->account->session->ops->attributes || !json_array_size(call.names)) {
        return STEP_ON;
    }
    step_end end = ask(r, &call, refused);
    end = end == STEP_ON ? note(r, call.had) : end;
    if (end != STEP_ON || !json_object_size(call.had)) {
        return end;
    }
    call.take = 1;
    end = ask(r, &call, refused);
    list_names(call.had, taken);
    return end;
}

step_end run_attributes_give(run *r, apr_array_header_t *given, apr_array_header_t *refused)
{
    const json_t *kept = NULL;
    ida_ctx *c = run_ctx(r);
    if (!r->account->session->ops->attributes) {
        return STEP_ON;
    }
    ida_kind kind = queue_rehire_attributes(r->main, c, r->task, &kept);
    if (kind) {
        return step_later(r, "What the offboarding took cannot be read: %s",
                          c->message ? c->message : ida_kind_text(kind));
    }
    attributes_call call = {.names = ida_json_keep(r->pool, json_array()),
                            .give = kept,
                            .had = ida_json_keep(r->pool, json_object())};
    const char *name;
    json_t *list;
    json_object_foreach ((json_t *)kept, name, list) {
        json_array_append_new((json_t *)(uintptr_t)call.names, json_string(name));
    }
    step_end end = json_object_size(kept) ? ask(r, &call, refused) : STEP_ON;
    if (end == STEP_ON && !refused->nelts) {
        list_names(kept, given);
    }
    return end;
}

/* --- ownership --- */

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

static directory_class call_owned(run *r, const directory_ops *ops, directory *dir, void *baton,
                                  directory_error *e)
{
    return ops->owned(dir, r->pool, r->account->object_id, baton, e);
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
