/* Owns the worker's file of metrics: the families, a row each, and how the file is replaced. Must
 * not know how a figure comes about. */
#include "worker/metrics.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/build.h"
#include "core/store/tenant.h"
#include "worker/base/counts.h"
#include "worker/ingest.h"
#include "worker/metrics_company.h"

/* --- what is read, once for all families --- */

typedef struct figures {
    int64_t now, companies, workers, silent, size;
    ingest_waiting spool;
    company_figures *company;
    int listed;
} figures;

static ida_kind read_workers(store *s, ida_ctx *c, figures *out)
{
    const store_worker *rows;
    int count = 0;
    ida_kind kind = store_worker_list(s, c, &rows, &count);
    for (int i = 0; i < count; i++) {
        int silent = out->now - rows[i].seen_at >= STORE_WORKER_SILENT_MS;
        out->silent += silent;
        out->workers += !silent;
    }
    return kind;
}

static ida_kind read_all(store *s, store *audit, ida_ctx *c, const worker_config *config,
                         figures *out)
{
    const store_tenant_id *ids;
    int count = 0;
    out->now = ida_now(c->env);
    ida_kind kind = read_workers(s, c, out);
    kind = kind ? kind : store_size(s, c, &out->size);
    kind = kind ? kind : store_tenant_ids(s, c, &ids, &count);
    if (kind) {
        return kind;
    }
    out->companies = count;
    out->company = apr_pcalloc(c->pool, sizeof *out->company * (size_t)(count + 1));
    for (int i = 0; !kind && i < count && i < config->metrics_companies; i++) {
        out->company[i].id = ids[i].id;
        out->company[i].state = ids[i].state;
        kind = metrics_company_read(s, c, out->now, &out->company[i]);
        out->listed++;
    }
    if (!kind && ingest_backlog(audit, c, config->spool, &out->spool)) {
        ida_ctx_clear(c); /* no spool on this node */
    }
    return kind;
}

/* --- of the store and this node --- */

static void put_build(ida_metrics *m, const ida_metric *row, const figures *f)
{
    (void)f;
    ida_metrics_put(m, row, ida_metrics_labels(m->pool, "version", ida_build, NULL), 1);
}

static void put_workers(ida_metrics *m, const ida_metric *row, const figures *f)
{
    ida_metrics_put(m, row, "state=\"running\"", f->workers);
    ida_metrics_put(m, row, "state=\"silent\"", f->silent);
}

static void put_spool(ida_metrics *m, const ida_metric *row, const figures *f)
{
    ida_metrics_put(m, row, NULL, f->spool.bytes);
}

static void put_spool_age(ida_metrics *m, const ida_metric *row, const figures *f)
{
    ida_metrics_put_ms(m, row, NULL, f->spool.segments ? f->now - f->spool.oldest : 0);
}

static void put_size(ida_metrics *m, const ida_metric *row, const figures *f)
{
    ida_metrics_put(m, row, NULL, f->size);
}

static void put_companies(ida_metrics *m, const ida_metric *row, const figures *f)
{
    ida_metrics_put(m, row, NULL, f->companies);
}

static void put_listed(ida_metrics *m, const ida_metric *row, const figures *f)
{
    ida_metrics_put(m, row, NULL, f->listed);
}

static const struct {
    ida_metric metric;
    void (*put)(ida_metrics *m, const ida_metric *row, const figures *f);
} of_node[] = {
    {{"idadmin_worker_build_info", "The build of idadmin-worker.", IDA_METRIC_GAUGE}, put_build},
    {{"idadmin_workers", "Workers on this store; silent: not seen for 30 seconds.",
      IDA_METRIC_GAUGE},
     put_workers},
    {{"idadmin_spool_unread_bytes", "Bytes of this node's audit spool that are not in the chain.",
      IDA_METRIC_GAUGE},
     put_spool},
    {{"idadmin_spool_unread_seconds", "Age of the oldest of these segments.", IDA_METRIC_GAUGE},
     put_spool_age},
    {{"idadmin_store_bytes", "Size of the store.", IDA_METRIC_GAUGE}, put_size},
    {{"idadmin_companies", "Companies in the store.", IDA_METRIC_GAUGE}, put_companies},
    {{"idadmin_companies_listed", "Companies that have figures here (metrics_companies).",
      IDA_METRIC_GAUGE},
     put_listed},
};

static void put_all(ida_metrics *m, const figures *f)
{
    counts_put(m);
    for (size_t i = 0; i < sizeof of_node / sizeof *of_node; i++) {
        ida_metrics_family(m, &of_node[i].metric);
        of_node[i].put(m, &of_node[i].metric, f);
    }
    metrics_company_put(m, f->company, f->listed, f->now);
}

/* --- the file --- */

/* Writes a new file and renames it, so that readers see the old file or the whole new one. Other
 * processes write into this directory, and there may be a second worker, so the name of the new
 * file is unique. Returns 0 or errno. */
static int replace_file(apr_pool_t *pool, const char *spool, const char *text, size_t len)
{
    const char *path = apr_pstrcat(pool, spool, "/" IDA_METRICS_FILE, NULL);
    char *fresh = apr_pstrcat(pool, path, ".XXXXXX", NULL);
    int fd = mkostemp(fresh, O_CLOEXEC), failed = 0;
    if (fd < 0) {
        return errno;
    }
    if (write(fd, text, len) != (ssize_t)len) {
        failed = errno ? errno : EIO;
    }
    fchmod(fd, 0644); /* whatever the umask: httpd reads it */
    close(fd);
    if (!failed && rename(fresh, path) != 0) {
        failed = errno;
    }
    if (failed) {
        unlink(fresh);
    }
    return failed;
}

void metrics_write(worker *w, store *main, store *audit, apr_pool_t *pool)
{
    static _Atomic int64_t said;
    worker_config config;
    figures f = {0};
    ida_metrics m;
    ida_ctx *c = worker_ctx(w, pool);
    worker_settings(w, pool, &config);
    if (access(config.spool, F_OK) != 0) {
        return; /* no httpd on this node */
    }
    if (read_all(main, audit, c, &config, &f)) {
        ida_log(&w->env, IDA_LOG_DEBUG, NULL, "metrics cannot be read: %s",
                c->message ? c->message : "");
        return; /* the old file stays: its age tells */
    }
    ida_metrics_begin(&m, pool);
    put_all(&m, &f);
    int failed = replace_file(pool, config.spool, m.text, m.len);
    if (failed && ida_say_now(&said, ida_monotonic(&w->env), 3600000)) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0605",
                "metrics cannot be written to %s/" IDA_METRICS_FILE ": %s", config.spool,
                strerror(failed));
    }
}
