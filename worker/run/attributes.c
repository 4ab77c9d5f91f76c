/* Owns what becomes of a leaver's keys and certificates. Must not know directory protocols. */
#include "worker/run/attributes.h"

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
