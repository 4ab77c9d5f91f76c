/* idadminctl health: whether the service works, for monitoring. Owns the levels and the sentences;
 * must not know how a matter is found out (core/operation/company/needs.c does). */
#include "worker/ctl/health.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/operation/company/health.h"
#include "core/operation/table.h"
#include "core/store/directory.h"
#include "core/store/tenant.h"
#include "worker/ctl/operation.h"

#define SPOOL_LATE_S 300 /* the worker reads the spool each second */

typedef struct look {
    ctl_call *ctl;
    store *s;
    json_t *reasons;
    int status;
} look;

/* The sentence of each kind. A kind without a row is shown by its name. */
static const struct {
    const char *kind, *text;
} sentences[] = {
    {"chainBroken", "the audit chain is broken"},
    {"strays", "rows were put into the store by another program"},
    {"offboardingFailed", "offboardings have failed"},
    {"offboardingOverdue", "offboardings are more than 15 minutes late"},
    {"tasksLate", "tasks are more than 15 minutes late"},
    {"syncStopped", "the deletion guard has stopped the synchronisation"},
    {"paused", "the company is paused: changes are refused, and queued work waits"},
    {"directoryHeld", "a directory is on hold"},
    {"braked", "tasks are held by the brake"},
    {"syncFailed", "the synchronisation fails"},
    {"directoryLate", "the last synchronisation is too long ago"},
    {"keyExpiring", "API keys expire within 30 days"},
    {"secretExpiring", "a credential of a directory expires within 30 days"},
};

static const char *sentence_of(const char *kind)
{
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (strcmp(sentences[i].kind, kind) == 0) {
            return sentences[i].text;
        }
    }
    return kind;
}

static void add(look *l, int status, const char *company, const char *kind, const char *text)
{
    json_t *reason = ida_json_texts("level", ctl_health_word(status), "companyId", company, "kind",
                                    kind, "text", text, NULL);
    json_array_append_new(l->reasons, reason);
    l->status = status > l->status ? status : l->status;
}

/* "onPremises: It does not answer." */
static const char *example(apr_pool_t *pool, const json_t *one)
{
    static const char *const names[] = {"directory", "userPrincipalName", "username"};
    const char *who = NULL, *reason = ida_json_string(one, "reason");
    for (size_t i = 0; !who && i < sizeof names / sizeof *names; i++) {
        who = ida_json_string(one, names[i]);
    }
    return ida_printf(pool, "%s%s%s", who ? who : "", who && reason ? ": " : "",
                      reason ? reason : "");
}

static void add_need(look *l, const char *company, const json_t *need)
{
    apr_pool_t *pool = l->ctl->pool;
    const char *kind = ida_json_string(need, "kind"), *since = ida_json_string(need, "since");
    long long count = json_integer_value(json_object_get(need, "count"));
    const char *text = ida_printf(pool, "%s (%lld)%s%s", sentence_of(kind), count,
                                  since ? " since " : "", since ? since : "");
    const json_t *one;
    size_t i;
    json_array_foreach (json_object_get(need, "sample"), i, one) {
        text = ida_printf(pool, "%s%s %s", text, i ? ";" : ":", example(pool, one));
    }
    add(l, HEALTH_DEGRADED, company, kind, text);
}

static const char *why(look *l, ida_kind kind)
{
    const char *message = l->ctl->c->message;
    message = ida_printf(l->ctl->pool, "%s", message ? message : ida_kind_text(kind));
    ida_ctx_clear(l->ctl->c);
    return message;
}

static void look_at_company(look *l, const char *id)
{
    static const ida_command any_row = {.noun = "health"};
    ctl_call *ctl = l->ctl;
    ida_call call;
    ida_question *asked;
    json_t *needs = NULL, *need;
    size_t i;
    ctl->arguments[0] = id;
    ctl->store = l->s;
    ida_kind kind = ctl_operation_begin(ctl, &ida_op_overview, &any_row, &call, &asked);
    kind = kind ? kind : ida_health_needs(&call, l->s, ctl->c, &needs);
    json_array_foreach (needs, i, need) {
        add_need(l, id, need);
    }
    if (kind) {
        add(l, kind == IDA_SERVICE_UNAVAILABLE ? HEALTH_DOWN : HEALTH_DEGRADED, id, "unreadable",
            why(l, kind));
    }
}

static ida_kind look_at_workers(look *l)
{
    ida_ctx *c = l->ctl->c;
    const store_worker *workers;
    int running, count;
    int64_t seen_at;
    ida_kind kind = ida_workers_running(l->s, c, &running, &seen_at);
    kind = kind ? kind : store_worker_list(l->s, c, &workers, &count);
    if (kind) {
        return kind;
    }
    if (!running) {
        add(l, HEALTH_DOWN, NULL, "workerNone",
            seen_at ? ida_printf(c->pool, "no worker runs on this store, the last one was seen %s",
                                 ida_utc_text(c->pool, seen_at))
                    : "no worker runs on this store");
    }
    for (int i = 0; i < count; i++) {
        if (workers[i].fault && ida_now(c->env) - workers[i].seen_at < STORE_WORKER_SILENT_MS) {
            add(l, HEALTH_DEGRADED, NULL, "workerFault",
                ida_printf(c->pool, "worker %s takes no work: %s", workers[i].id,
                           workers[i].fault));
        }
    }
    return IDA_OK;
}

static void look_at_spool(look *l, const json_t *spool)
{
    const char *problem = ida_json_string(spool, "problem");
    long long oldest = json_integer_value(json_object_get(spool, "oldestSeconds"));
    if (problem) {
        add(l, HEALTH_DEGRADED, NULL, "spool",
            ida_printf(l->ctl->pool, "audit spool: %s", problem));
    } else if (oldest > SPOOL_LATE_S) {
        add(l, HEALTH_DEGRADED, NULL, "spool",
            ida_printf(l->ctl->pool,
                       "audit records have waited in the spool of this node for %lld seconds",
                       oldest));
    }
}

int ctl_health(ctl_call *ctl, store *s, const json_t *spool, json_t *reasons)
{
    look l = {.ctl = ctl, .s = s, .reasons = reasons};
    const store_tenant_id *ids = NULL;
    int count = 0;
    ida_kind kind = store_schema_look(s, ctl->c);
    kind = kind ? kind : look_at_workers(&l);
    kind = kind ? kind : store_tenant_ids(s, ctl->c, &ids, &count);
    if (kind) {
        add(&l, HEALTH_DOWN, NULL, "store", why(&l, kind));
        return l.status;
    }
    look_at_spool(&l, spool);
    for (int i = 0; i < count; i++) {
        look_at_company(&l, ids[i].id);
    }
    return l.status;
}

const char *ctl_health_word(int status)
{
    static const char *const words[] = {"well", "degraded", "down"};
    return words[status];
}

void ctl_health_say(ctl_call *ctl, const json_t *reasons)
{
    const json_t *reason;
    size_t i;
    json_array_foreach (reasons, i, reason) {
        const char *company = ida_json_string(reason, "companyId");
        ctl_say(ctl, "%s: %s%s%s", ida_json_string(reason, "level"), company ? company : "",
                company ? ": " : "", ida_json_string(reason, "text"));
    }
    if (!json_array_size(reasons)) {
        ctl_say(ctl, "well");
    }
}

static int health(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *reasons = ida_json_keep(ctl->pool, json_array());
    int status = ctl_health(ctl, s, ctl_spool_json(ctl, s), reasons);
    json_t *document = json_pack("{s:s, s:O}", "status", ctl_health_word(status), "reasons",
                                 reasons);
    if (!ctl_json(ctl, ida_json_keep(ctl->pool, document))) {
        ctl_health_say(ctl, reasons);
    }
    return status;
}

const ctl_command ctl_health_commands[] = {
    {"health", NULL, "", "Whether the service works, for monitoring: each reason in a line.",
     .help = "Exit status: 0 well, 1 degraded, 2 down (the store cannot be used, or no worker "
             "runs).",
     .run = health},
    {0},
};
