/* Owns the families of metrics that are told by company and directory, a row each. Must not know
 * where they are written. */
#include "worker/metrics_company.h"
#include "core/cache/freshness.h"

#include <string.h>

#include "core/store/key.h"

#define DAY_MS INT64_C(86400000)
#define KEYS_WITHIN_MS (INT64_C(366) * DAY_MS) /* later expiries are of no interest */

static ida_kind read_directory(store *s, ida_ctx *c, const char *tenant, ida_directory_kind where,
                               directory_figures *out)
{
    ida_kind kind = cache_sync_info_get(s, c, tenant, where, &out->sync);
    kind = kind ? kind : store_directory_get(s, c, tenant, where, &out->health);
    return kind ? kind : store_directory_waiting(s, c, tenant, where, &out->waiting);
}

ida_kind metrics_company_read(store *s, ida_ctx *c, int64_t now, company_figures *out)
{
    const store_key_ending *keys;
    int key_count = 0;
    int64_t first;
    ida_kind kind = queue_figures_get(s, c, out->id, &out->queue);
    kind = kind ? kind : queue_overdue_list(s, c, out->id, now, &out->overdue, &out->overdue_count);
    int deleted = strcmp(out->state, "deleted") == 0; /* its hold stops no work */
    for (int d = 0; !kind && !deleted && d < IDA_DIR_COUNT; d++) {
        kind = read_directory(s, c, out->id, (ida_directory_kind)d, &out->directory[d]);
    }
    kind = kind ? kind : store_chain_check_get(s, c, out->id, &out->chain);
    kind = kind ? kind : store_chain_ends(s, c, out->id, &first, &out->chain_last);
    kind = kind ? kind : store_audit_outbox_count(s, c, out->id, &out->outbox);
    kind = kind ? kind
                : store_keys_ending(s, c, out->id, now, now + KEYS_WITHIN_MS, &keys, &key_count);
    out->key_expires_at = key_count ? keys[0].expires_at : 0;
    return kind;
}

/* --- of a company --- */

typedef struct sink {
    ida_metrics *m;
    const ida_metric *row;
    int64_t now;
} sink;

static const char *labels_of(const sink *s, const company_figures *k, const char *name,
                             const char *value)
{
    return ida_metrics_labels(s->m->pool, "company", k->id, name, value, NULL);
}

static void put_tasks(const sink *s, const company_figures *k)
{
    const struct {
        const char *state;
        int64_t count;
    } states[] = {{"queued", k->queue.queued},
                  {"running", k->queue.running},
                  {"failed", k->queue.failed},
                  {"attention", k->queue.attention - k->queue.braked},
                  {"braked", k->queue.braked}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        ida_metrics_put(s->m, s->row, labels_of(s, k, "state", states[i].state), states[i].count);
    }
}

static int64_t overdue_of(const company_figures *k, int type, int64_t *since)
{
    *since = 0;
    for (int i = 0; i < k->overdue_count; i++) {
        if ((int)k->overdue[i].type == type) {
            *since = k->overdue[i].since;
            return k->overdue[i].tasks;
        }
    }
    return 0;
}

static void put_overdue(const sink *s, const company_figures *k)
{
    int64_t since;
    for (int type = 0; type < IDA_TASK_TYPES; type++) {
        ida_metrics_put(s->m, s->row,
                        labels_of(s, k, "type", ida_task_type_text((ida_task_type)type)),
                        overdue_of(k, type, &since));
    }
}

static void put_lateness(const sink *s, const company_figures *k)
{
    int64_t since;
    for (int type = 0; type < IDA_TASK_TYPES; type++) {
        int64_t tasks = overdue_of(k, type, &since);
        ida_metrics_put_ms(s->m, s->row,
                           labels_of(s, k, "type", ida_task_type_text((ida_task_type)type)),
                           tasks ? s->now - since : 0);
    }
}

static void put_paused(const sink *s, const company_figures *k)
{
    ida_metrics_put(s->m, s->row, labels_of(s, k, NULL, NULL), strcmp(k->state, "paused") == 0);
}

static void put_chain_verified(const sink *s, const company_figures *k)
{
    ida_metrics_put(s->m, s->row, labels_of(s, k, NULL, NULL), k->chain.verified_to);
}

static void put_chain_last(const sink *s, const company_figures *k)
{
    ida_metrics_put(s->m, s->row, labels_of(s, k, NULL, NULL), k->chain_last);
}

static void put_chain_broken(const sink *s, const company_figures *k)
{
    ida_metrics_put(s->m, s->row, labels_of(s, k, NULL, NULL), k->chain.broken_at != 0);
}

static void put_strays(const sink *s, const company_figures *k)
{
    ida_metrics_put(s->m, s->row, labels_of(s, k, NULL, NULL),
                    k->chain.strays > 0 ? k->chain.strays : 0);
}

static void put_outbox(const sink *s, const company_figures *k)
{
    ida_metrics_put(s->m, s->row, labels_of(s, k, NULL, NULL), k->outbox);
}

static const char *days_until(apr_pool_t *pool, int64_t ms)
{
    return ida_printf(pool, "%.2f", (double)ms / (double)DAY_MS);
}

static void put_days(const sink *s, const char *labels, int64_t at)
{
    if (at) {
        ida_metrics_put_text(s->m, s->row, labels, days_until(s->m->pool, at - s->now));
    }
}

static void put_key_expiry(const sink *s, const company_figures *k)
{
    put_days(s, labels_of(s, k, NULL, NULL), k->key_expires_at);
}

/* --- of a directory --- */

typedef void (*directory_put)(const sink *s, const char *labels, const directory_figures *d);

/* Those that have been synchronised, or were tried. */
static void each_directory(const sink *s, const company_figures *k, directory_put put)
{
    for (int i = 0; i < IDA_DIR_COUNT; i++) {
        const directory_figures *d = &k->directory[i];
        if (d->sync.started_at || d->sync.completed_at || d->health.hold_reason) {
            put(s, labels_of(s, k, "directory", ida_directory_name((ida_directory_kind)i)), d);
        }
    }
}

static void held(const sink *s, const char *labels, const directory_figures *d)
{
    ida_metrics_put_ms(s->m, s->row, labels,
                       d->health.hold_reason ? s->now - d->health.hold_since : 0);
}

static void put_held(const sink *s, const company_figures *k)
{
    each_directory(s, k, held);
}

static void waiting(const sink *s, const char *labels, const directory_figures *d)
{
    ida_metrics_put(s->m, s->row, labels, d->waiting);
}

static void put_waiting(const sink *s, const company_figures *k)
{
    each_directory(s, k, waiting);
}

static void sync_age(const sink *s, const char *labels, const directory_figures *d)
{
    if (d->sync.completed_at) {
        ida_metrics_put_ms(s->m, s->row, labels, s->now - d->sync.completed_at);
    }
}

static void put_sync_age(const sink *s, const company_figures *k)
{
    each_directory(s, k, sync_age);
}

static void sync_duration(const sink *s, const char *labels, const directory_figures *d)
{
    if (d->sync.completed_at >= d->sync.started_at) { /* else one is in progress */
        ida_metrics_put_ms(s->m, s->row, labels, d->sync.completed_at - d->sync.started_at);
    }
}

static void put_sync_duration(const sink *s, const company_figures *k)
{
    each_directory(s, k, sync_duration);
}

static void sync_failing(const sink *s, const char *labels, const directory_figures *d)
{
    ida_metrics_put(s->m, s->row, labels, d->sync.error != NULL || d->sync.stopped != NULL);
}

static void put_sync_failing(const sink *s, const company_figures *k)
{
    each_directory(s, k, sync_failing);
}

static void users(const sink *s, const char *labels, const directory_figures *d)
{
    ida_metrics_put(s->m, s->row, labels, d->sync.users);
}

static void put_users(const sink *s, const company_figures *k)
{
    each_directory(s, k, users);
}

static void certificate_expiry(const sink *s, const char *labels, const directory_figures *d)
{
    put_days(s, labels, d->health.certificate_ends);
}

static void put_certificate_expiry(const sink *s, const company_figures *k)
{
    each_directory(s, k, certificate_expiry);
}

static void password_expiry(const sink *s, const char *labels, const directory_figures *d)
{
    if (d->health.directory == IDA_DIR_ON_PREMISES) {
        put_days(s, labels, d->health.password_ends);
    }
}

static void put_password_expiry(const sink *s, const company_figures *k)
{
    each_directory(s, k, password_expiry);
}

static void secret_expiry(const sink *s, const char *labels, const directory_figures *d)
{
    if (d->health.directory == IDA_DIR_CLOUD) {
        put_days(s, labels, d->health.password_ends);
    }
}

static void put_secret_expiry(const sink *s, const company_figures *k)
{
    each_directory(s, k, secret_expiry);
}

static const struct {
    ida_metric metric;
    void (*put)(const sink *s, const company_figures *k);
} of_company[] = {
    {{"idadmin_tasks", "Tasks by state; braked ones wait for a person.", IDA_METRIC_GAUGE},
     put_tasks},
    {{"idadmin_company_paused", "1: an administrator has paused the company.", IDA_METRIC_GAUGE},
     put_paused},
    {{"idadmin_tasks_overdue", "Queued tasks that are due, by type.", IDA_METRIC_GAUGE},
     put_overdue},
    {{"idadmin_task_lateness_seconds", "How long the oldest of these could have begun.",
      IDA_METRIC_GAUGE},
     put_lateness},
    {{"idadmin_directory_held_seconds", "How long the directory has been on hold; 0: it is not.",
      IDA_METRIC_GAUGE},
     put_held},
    {{"idadmin_directory_waiting_tasks", "Due tasks of the directory that have not begun.",
      IDA_METRIC_GAUGE},
     put_waiting},
    {{"idadmin_sync_age_seconds", "Time since the last complete synchronisation.",
      IDA_METRIC_GAUGE},
     put_sync_age},
    {{"idadmin_sync_duration_seconds", "How long the last complete synchronisation took.",
      IDA_METRIC_GAUGE},
     put_sync_duration},
    {{"idadmin_sync_failing", "1: the last synchronisation failed, or the guard stopped it.",
      IDA_METRIC_GAUGE},
     put_sync_failing},
    {{"idadmin_directory_users", "People that the cache holds of the directory.", IDA_METRIC_GAUGE},
     put_users},
    {{"idadmin_certificate_expiry_days",
      "Days until the certificate expires that the worker signs in with.", IDA_METRIC_GAUGE},
     put_certificate_expiry},
    {{"idadmin_bind_password_expiry_days",
      "Days until the password expires that the worker binds with.", IDA_METRIC_GAUGE},
     put_password_expiry},
    {{"idadmin_client_secret_expiry_days",
      "Days until the client secret expires, as the company's document says.", IDA_METRIC_GAUGE},
     put_secret_expiry},
    {{"idadmin_key_expiry_days", "Days until the next API key expires, within a year.",
      IDA_METRIC_GAUGE},
     put_key_expiry},
    {{"idadmin_audit_chain_records", "Number of the last record of the audit chain.",
      IDA_METRIC_GAUGE},
     put_chain_last},
    {{"idadmin_audit_chain_verified", "Number of the record up to which the chain was verified.",
      IDA_METRIC_GAUGE},
     put_chain_verified},
    {{"idadmin_audit_chain_broken", "1: the audit chain is broken.", IDA_METRIC_GAUGE},
     put_chain_broken},
    {{"idadmin_audit_strays", "Rows that another program has put into the store.",
      IDA_METRIC_GAUGE},
     put_strays},
    {{"idadmin_audit_outbox_records", "Audit records of changes that are not in the chain yet.",
      IDA_METRIC_GAUGE},
     put_outbox},
};

void metrics_company_put(ida_metrics *m, const company_figures *companies, int count, int64_t now)
{
    for (size_t i = 0; i < sizeof of_company / sizeof *of_company; i++) {
        const sink s = {m, &of_company[i].metric, now};
        ida_metrics_family(m, s.row);
        for (int k = 0; k < count; k++) {
            of_company[i].put(&s, &companies[k]);
        }
    }
}
