/* Owns which directory is synchronised next. Must not know what a synchronisation does. */
#include "worker/sync_plan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/store/tenant.h"
#include "worker/hold/idle.h"

#define INTERVAL_DEFAULT_MS 60000
#define INTERVAL_MIN_MS 1000

sync_plan *sync_plan_make(worker *w, apr_pool_t *pool)
{
    sync_plan *plan = apr_pcalloc(pool, sizeof *plan);
    plan->w = w;
    apr_pool_create(&plan->pool, pool);
    pthread_mutex_init(&plan->lock, NULL);
    return plan;
}

static sync_entry *find_entry(sync_plan *plan, const char *tenant, ida_directory_kind where)
{
    for (sync_entry *e = plan->first; e; e = e->next) {
        if (e->directory == where && strcmp(e->tenant, tenant) == 0) {
            return e;
        }
    }
    return NULL;
}

static int64_t interval_of(const ida_tenant *tenant, ida_directory_kind where)
{
    const char *text = ida_json_string(tenant->directory[where], "syncInterval");
    int64_t ms = text ? worker_duration_parse(text) : INTERVAL_DEFAULT_MS;
    return ms < INTERVAL_MIN_MS ? INTERVAL_DEFAULT_MS : ms;
}

/* A document that is new or was changed: the thread that takes its directories next looks at once
 * what is due by it, and whether a held one is well again. */
static ida_kind take_tenant(sync_plan *plan, store *main, ida_ctx *c, const char *id)
{
    ida_tenant *tenant;
    int64_t revision;
    ida_kind kind = store_tenant_get(main, c, id, &tenant, &revision);
    int left_over[IDA_DIR_COUNT] = {0}; /* removed from the document, perhaps while no worker ran */
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        store_directory state;
        if (!tenant->has_directory[d] &&
            (kind = store_directory_get(main, c, id, (ida_directory_kind)d, &state)) == IDA_OK) {
            left_over[d] = state.sync_reset;
        }
    }
    if (kind) {
        return kind;
    }
    pthread_mutex_lock(&plan->lock);
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        sync_entry *e = find_entry(plan, id, (ida_directory_kind)d);
        if (!e && (tenant->has_directory[d] || left_over[d])) {
            e = apr_pcalloc(plan->pool, sizeof *e);
            snprintf(e->tenant, sizeof e->tenant, "%s", id);
            e->directory = (ida_directory_kind)d;
            e->revision = -1;
            e->next = plan->first;
            plan->first = e;
        }
        if (e && e->revision != revision) {
            e->present = tenant->has_directory[d];
            e->interval = e->present ? interval_of(tenant, (ida_directory_kind)d)
                                     : INTERVAL_DEFAULT_MS;
            e->next_at = 0;
            e->revision = revision;
        }
    }
    pthread_mutex_unlock(&plan->lock);
    return IDA_OK;
}

static int revision_known(sync_plan *plan, const store_tenant_id *id)
{
    int known = 0;
    pthread_mutex_lock(&plan->lock);
    for (sync_entry *e = plan->first; e && !known; e = e->next) {
        known = e->revision == id->revision && strcmp(e->tenant, id->id) == 0;
    }
    pthread_mutex_unlock(&plan->lock);
    return known;
}

static void take_request(sync_entry *e, const store_directory *state)
{
    e->requested_at = state->sync_requested_at;
    e->accept = state->sync_accept_deletions;
    e->reset = state->sync_reset;
}

void sync_plan_asked(sync_plan *plan, sync_entry *taken, const store_directory *state)
{
    pthread_mutex_lock(&plan->lock);
    sync_entry *planned = find_entry(plan, taken->tenant, taken->directory);
    if (planned && planned->requested_at == taken->requested_at) {
        take_request(planned, state);
    }
    pthread_mutex_unlock(&plan->lock);
    take_request(taken, state);
}

static ida_kind take_requests(sync_plan *plan, store *main, ida_ctx *c)
{
    ida_kind kind = IDA_OK;
    pthread_mutex_lock(&plan->lock);
    sync_entry *e = plan->first;
    pthread_mutex_unlock(&plan->lock);
    for (; e && !kind; e = e->next) { /* entries are only ever added, in front */
        store_directory state;
        kind = store_directory_get(main, c, e->tenant, e->directory, &state);
        pthread_mutex_lock(&plan->lock);
        if (!kind && e->held && !state.hold_reason) {
            e->held = 0;
            e->next_at = 0;
        }
        if (!kind && e->requested_at != state.sync_requested_at) {
            take_request(e, &state);
            e->next_at = e->requested_at ? 0 : e->next_at;
        }
        pthread_mutex_unlock(&plan->lock);
    }
    return kind;
}

ida_kind sync_plan_refresh(sync_plan *plan, store *main, ida_ctx *c)
{
    const store_tenant_id *ids;
    int count = 0;
    if (hold_idle_reason(plan->w)) {
        return IDA_OK; /* with it every document would look forged */
    }
    ida_kind kind = store_tenant_ids(main, c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        if (!revision_known(plan, &ids[i])) {
            ida_ctx *one = worker_ctx(plan->w, c->pool);
            /* One damaged document must not keep the others from being synced. */
            if (take_tenant(plan, main, one, ids[i].id) && one->kind != IDA_SERVICE_UNAVAILABLE &&
                !one->reason) { /* a document that must not be used was logged already */
                ida_log(&plan->w->env, IDA_LOG_ERROR, "IDA0500",
                        "the document of tenant %s cannot be read: %s", ids[i].id,
                        one->message ? one->message : "");
            }
        }
    }
    return kind ? kind : take_requests(plan, main, c);
}

int sync_plan_take(sync_plan *plan, sync_entry *out, sync_entry **taken)
{
    int64_t now = ida_monotonic(&plan->w->env);
    *taken = NULL;
    if (hold_idle_reason(plan->w)) {
        return 0;
    }
    pthread_mutex_lock(&plan->lock);
    for (sync_entry *e = plan->first; e; e = e->next) {
        if (!e->busy && (e->present || e->reset) && e->next_at <= now &&
            (!*taken || e->next_at < (*taken)->next_at)) {
            *taken = e;
        }
    }
    if (*taken) {
        (*taken)->busy = 1;
        *out = **taken;
        out->held = 0;
    }
    pthread_mutex_unlock(&plan->lock);
    return *taken != NULL;
}

void sync_plan_give_back(sync_plan *plan, sync_entry *e, const sync_entry *mine, int64_t wait,
                         int answered)
{
    pthread_mutex_lock(&plan->lock);
    int newer = e->revision != mine->revision ||
                (e->requested_at && e->requested_at != mine->requested_at);
    e->busy = 0;
    e->held = mine->held;
    e->next_at = newer ? 0 : ida_monotonic(&plan->w->env) + wait;
    if (answered && e->requested_at == mine->requested_at) {
        e->requested_at = 0;
        e->accept = e->reset = 0;
    }
    memcpy(e->owner, mine->owner, sizeof e->owner);
    e->fence = mine->fence;
    e->heartbeat = mine->heartbeat;
    e->since = mine->since;
    pthread_mutex_unlock(&plan->lock);
}
