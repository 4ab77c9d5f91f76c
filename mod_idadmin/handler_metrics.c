/* Owns the address that Prometheus scrapes: figures of this httpd, behind them those that the
 * worker of this node has written into the spool directory. Must not know how requests are
 * counted. */
#include "mod_idadmin/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/build.h"

APLOG_USE_MODULE(idadmin);

/* --- figures of the moment, a row each --- */

spool_figures metrics_spool(void)
{
    spool_figures out = {0};
    DIR *directory = opendir(config_spool(child->server));
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)) != NULL) {
        struct stat status;
        int64_t minute = audit_spool_minute(entry->d_name);
        if (minute >= 0 &&
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            out.oldest = out.segments++ && out.oldest < minute ? out.oldest : minute;
            out.bytes += status.st_size;
        }
    }
    if (directory) {
        closedir(directory);
    }
    return out;
}

static void put_build(ida_metrics *m, const ida_metric *row)
{
    ida_metrics_put(m, row, ida_metrics_labels(m->pool, "version", ida_build, NULL), 1);
}

static void put_ready(ida_metrics *m, const ida_metric *row)
{
    health_verdict verdict = health_look(m->pool);
    for (int i = 0; i < HEALTH_CHECKS; i++) {
        ida_metrics_put(m, row, ida_metrics_labels(m->pool, "check", health_check_name(i), NULL),
                        verdict.good[i]);
    }
}

static void put_records(ida_metrics *m, const ida_metric *row)
{
    static const char *const tables[LIMIT_TABLES] = {"keys", "addresses"};
    for (int i = 0; i < LIMIT_TABLES; i++) {
        ida_metrics_put(m, row, ida_metrics_labels(m->pool, "table", tables[i], NULL),
                        (int64_t)limit_used(child->limiter, i));
    }
}

static void put_room(ida_metrics *m, const ida_metric *row)
{
    size_t size;
    void *block = shm_limiter(&size);
    ida_metrics_put(m, row, NULL, block ? (int64_t)limit_slots(block, size) : 0);
}

static void put_overflows(ida_metrics *m, const ida_metric *row)
{
    ida_metrics_put(m, row, NULL, (int64_t)limit_overflows(child->limiter));
}

static void put_segments(ida_metrics *m, const ida_metric *row)
{
    ida_metrics_put(m, row, NULL, metrics_spool().segments);
}

static void put_bytes(ida_metrics *m, const ida_metric *row)
{
    ida_metrics_put(m, row, NULL, metrics_spool().bytes);
}

static void put_oldest(ida_metrics *m, const ida_metric *row)
{
    int64_t oldest = metrics_spool().oldest;
    ida_metrics_put_ms(m, row, NULL, oldest ? ida_now(&child->env) - oldest : 0);
}

static void put_writer(ida_metrics *m, const ida_metric *row)
{
    const wire_beat *beat = writers_beat();
    ida_metrics_put(m, row, "of=\"writes\"", beat ? (int64_t)atomic_load(&beat->writes) : 0);
    ida_metrics_put(m, row, "of=\"bytes\"", beat ? (int64_t)atomic_load(&beat->body_bytes) : 0);
}

static const struct {
    ida_metric metric;
    void (*put)(ida_metrics *m, const ida_metric *row);
} rows[] = {
    {{"idadmin_http_build_info", "The build of mod_idadmin.", IDA_METRIC_GAUGE}, put_build},
    {{"idadmin_http_ready", "1 if the check of /ready passes.", IDA_METRIC_GAUGE}, put_ready},
    {{"idadmin_http_rate_table_used",
      "Records of the rate limiter that hold a name, idle ones included.", IDA_METRIC_GAUGE},
     put_records},
    {{"idadmin_http_rate_table_size", "Records in each table of the rate limiter.",
      IDA_METRIC_GAUGE},
     put_room},
    {{"idadmin_http_rate_table_overflows_total",
      "Requests counted in records that several callers share.", IDA_METRIC_COUNTER},
     put_overflows},
    {{"idadmin_http_spool_segments", "Segments in the audit spool of this node.", IDA_METRIC_GAUGE},
     put_segments},
    {{"idadmin_http_spool_bytes", "Bytes of these segments.", IDA_METRIC_GAUGE}, put_bytes},
    {{"idadmin_http_spool_oldest_seconds",
      "Age of the oldest segment; above a few minutes no worker takes them.", IDA_METRIC_GAUGE},
     put_oldest},
    {{"idadmin_http_writer_holds", "Writes not answered yet, and bytes of bodies.",
      IDA_METRIC_GAUGE},
     put_writer},
};

/* --- the worker's file --- */

static const ida_metric worker_age = {
    "idadmin_http_worker_metrics_age_seconds",
    "Age of the figures of this node's worker; -1: it has written none.", IDA_METRIC_GAUGE};

/* The whole file, or NULL. It lies where other processes may write: never follows a link, never
 * waits for a FIFO. */
static char *read_file(apr_pool_t *pool, const char *path, int64_t *age_ms)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= IDA_METRICS_MAX) {
        size_t len = (size_t)status.st_size;
        text = apr_palloc(pool, len + 1);
        text[len] = '\0';
        if (read(fd, text, len) != (ssize_t)len || strlen(text) != len || text[len - 1] != '\n') {
            text = NULL;
        }
        *age_ms = ida_now(&child->env) - (int64_t)status.st_mtim.tv_sec * 1000 -
                  status.st_mtim.tv_nsec / 1000000;
    }
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

static const char *all_of(apr_pool_t *pool)
{
    ida_metrics m;
    int64_t age = -1000;
    const char *worker = read_file(
        pool, apr_pstrcat(pool, config_spool(child->server), "/" IDA_METRICS_FILE, NULL), &age);
    ida_metrics_begin(&m, pool);
    metrics_put_requests(&m);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ida_metrics_family(&m, &rows[i].metric);
        rows[i].put(&m, &rows[i].metric);
    }
    ida_metrics_family(&m, &worker_age);
    ida_metrics_put_ms(&m, &worker_age, NULL, age);
    return worker ? apr_pstrcat(pool, m.text, worker, NULL) : m.text;
}

int metrics_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-metrics") != 0) {
        return DECLINED;
    }
    if (!child || !child->source) {
        return HTTP_SERVICE_UNAVAILABLE;
    }
    if (r->method_number != M_GET) {
        return HTTP_METHOD_NOT_ALLOWED;
    }
    const char *accept = apr_table_get(r->headers_in, "Accept");
    int open = accept && strstr(accept, "application/openmetrics-text") != NULL;
    const char *text = all_of(r->pool);
    ida_rest_answer out = {.status = HTTP_OK,
                           .type = open ? IDA_METRICS_OPEN_TYPE : IDA_METRICS_TYPE,
                           .body = open ? ida_metrics_open(r->pool, text) : text};
    out.len = strlen(out.body);
    return respond(r, &out);
}
