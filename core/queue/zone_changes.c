/* Owns the due times of queued tasks under changing zone rules. Must not know where rules come
 * from. */
#include "core/queue/zone_changes.h"

#include <apr_hash.h>
#include <apr_strings.h>

#include "core/store/audit.h"
#include "core/zone/schedule.h"
#include "core/zone/zone.h"

#define PAGE 500
#define LOOKS 3 /* after a change: others may queue by the old rules for a moment longer */

typedef struct seen {
    const zone_info *rules;
    int looks;
} seen;

struct queue_zone_changes {
    apr_pool_t *pool;
    apr_hash_t *zones; /* name -> seen */
};

queue_zone_changes *queue_zone_changes_make(apr_pool_t *pool)
{
    queue_zone_changes *w = apr_palloc(pool, sizeof *w);
    w->pool = pool;
    w->zones = apr_hash_make(pool);
    return w;
}

typedef struct shift {
    const ida_task *task;
    int64_t due;
} shift;

static ida_kind apply(store *s, ida_ctx *c, void *baton)
{
    const shift *m = baton;
    const ida_task *t = m->task;
    ida_kind kind = queue_set_due(s, c, t, m->due);
    if (kind) {
        return kind;
    }
    audit_record *record = audit_make(c, t->tenant, "workflow");
    record->actor = "worker";
    record->label = "";
    record->action = "task.reschedule";
    record->target = t->upn;
    record->outcome = "ok";
    record->detail = ida_printf(c->pool,
                                "task %s: %s %s in %s is another instant since the zone's rules "
                                "changed; it moves by %lld s",
                                t->id, t->wall_date, t->wall_time, t->zone,
                                (long long)((m->due - t->due_at) / 1000));
    kind = store_audit_add(s, c, record);
    return kind ? kind : store_notify(s, c, QUEUE_CHANNEL);
}

static ida_kind resolve(store *s, ida_ctx *c, const ida_task *task, int *moved)
{
    shift m = {task, zone_schedule_again(c, task->zone, task->wall_date, task->wall_time)};
    if (!m.due || m.due == task->due_at) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    ida_kind kind = store_transaction(s, c, apply, &m);
    if (kind == IDA_CONFLICT) {
        ida_ctx_clear(c);
        return IDA_OK; /* moved or begun meanwhile */
    }
    if (!kind) {
        ++*moved;
        ida_log(c->env, IDA_LOG_INFO, NULL,
                "task %s: %s %s in %s is another instant since the zone's rules changed; it was "
                "moved by %lld s",
                task->id, task->wall_date, task->wall_time, task->zone,
                (long long)((m.due - task->due_at) / 1000));
    }
    return kind;
}

/* The failure's message must outlive the page's pool. */
static ida_kind failed(ida_ctx *c, const ida_ctx *page, ida_kind kind)
{
    return kind ? ida_fail(c, kind, "%s", page->message ? page->message : ida_kind_text(kind))
                : IDA_OK;
}

static ida_kind resolve_zone(store *s, ida_ctx *c, const char *zone, int (*stop)(void *),
                             void *baton, int *moved)
{
    apr_pool_t *pool;
    char after[64] = "";
    int count = PAGE;
    ida_kind kind = IDA_OK;
    apr_pool_create(&pool, c->pool);
    while (!kind && count == PAGE && !(stop && stop(baton))) {
        ida_ctx *page = ida_ctx_make(c->env, pool);
        ida_task *tasks;
        kind = queue_zone_changes_in(s, page, zone, after, PAGE, &tasks, &count);
        for (int i = 0; !kind && i < count; i++) {
            kind = resolve(s, page, &tasks[i], moved);
        }
        if (!kind && count) {
            apr_cpystrn(after, tasks[count - 1].id, sizeof after);
        }
        kind = failed(c, page, kind);
        apr_pool_clear(pool);
    }
    apr_pool_destroy(pool);
    return kind;
}

ida_kind queue_zone_changes_look(queue_zone_changes *w, store *s, ida_ctx *c, int (*stop)(void *),
                                 void *baton, int *moved)
{
    const char *zone = "";
    *moved = 0;
    while (1) {
        ida_kind kind = queue_next_zone(s, c, zone, &zone);
        if (kind || !zone || (stop && stop(baton))) {
            return kind;
        }
        const zone_info *rules;
        if (zone_get(c, zone, &rules)) {
            ida_ctx_clear(c); /* reported where it matters; the instants stay unchanged */
            continue;
        }
        seen *known = apr_hash_get(w->zones, zone, APR_HASH_KEY_STRING);
        if (!known) {
            known = apr_pcalloc(w->pool, sizeof *known);
            apr_hash_set(w->zones, apr_pstrdup(w->pool, zone), APR_HASH_KEY_STRING, known);
        }
        if (known->rules != rules) {
            *known = (seen){rules, LOOKS};
        }
        if (known->looks) {
            kind = resolve_zone(s, c, zone, stop, baton, moved);
            if (kind) {
                return kind;
            }
            known->looks--;
        }
    }
}
