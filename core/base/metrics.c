/* Owns the spelling of metrics. Must not know what is measured. */
#include "core/base/metrics.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/context.h"

#define ROOM_FIRST 16384

const int64_t ida_metrics_bounds[IDA_METRICS_BOUNDS] = {1,   2,   5,    10,   25,   50,
                                                        100, 250, 1000, 2500, 5000, 10000};

static void add(ida_metrics *m, const char *text)
{
    size_t len = strlen(text);
    if (m->len + len + 1 > m->room) {
        m->room = 2 * (m->len + len + 1);
        char *more = apr_palloc(m->pool, m->room);
        memcpy(more, m->text, m->len);
        m->text = more;
    }
    memcpy(m->text + m->len, text, len + 1);
    m->len += len;
}

void ida_metrics_begin(ida_metrics *m, apr_pool_t *pool)
{
    *m = (ida_metrics){.pool = pool, .text = apr_palloc(pool, ROOM_FIRST), .room = ROOM_FIRST};
    m->text[0] = '\0';
}

void ida_metrics_family(ida_metrics *m, const ida_metric *row)
{
    static const char *const types[] = {[IDA_METRIC_COUNTER] = "counter",
                                        [IDA_METRIC_GAUGE] = "gauge",
                                        [IDA_METRIC_HISTOGRAM] = "histogram"};
    add(m, apr_pstrcat(m->pool, "# HELP ", row->name, " ", row->about, "\n# TYPE ", row->name, " ",
                       types[row->type], "\n", NULL));
}

static const char *escaped(apr_pool_t *pool, const char *value)
{
    char *out = apr_palloc(pool, 2 * strlen(value) + 1), *to = out;
    for (; *value; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n') {
            *to++ = '\\';
        }
        *to++ = *value == '\n' ? 'n' : *value;
    }
    *to = '\0';
    return out;
}

const char *ida_metrics_labels(apr_pool_t *pool, const char *name, ...)
{
    const char *text = NULL;
    va_list args;
    va_start(args, name);
    for (; name; name = va_arg(args, const char *)) {
        const char *value = va_arg(args, const char *);
        text = apr_pstrcat(pool, text ? text : "", text ? "," : "", name, "=\"",
                           escaped(pool, value ? value : ""), "\"", NULL);
    }
    va_end(args);
    return text;
}

static void sample(ida_metrics *m, const char *name, const char *suffix, const char *labels,
                   const char *value)
{
    add(m, apr_pstrcat(m->pool, name, suffix, labels ? "{" : "", labels ? labels : "",
                       labels ? "}" : "", " ", value, "\n", NULL));
}

void ida_metrics_put(ida_metrics *m, const ida_metric *row, const char *labels, int64_t value)
{
    sample(m, row->name, "", labels, apr_psprintf(m->pool, "%" APR_INT64_T_FMT, value));
}

void ida_metrics_put_text(ida_metrics *m, const ida_metric *row, const char *labels,
                          const char *number)
{
    sample(m, row->name, "", labels, number);
}

void ida_metrics_put_ms(ida_metrics *m, const ida_metric *row, const char *labels, int64_t ms)
{
    sample(m, row->name, "", labels, ida_printf(m->pool, "%.3f", (double)ms / 1000));
}

int ida_metrics_bucket(int64_t microseconds)
{
    int at = 0;
    while (at < IDA_METRICS_BOUNDS && microseconds > ida_metrics_bounds[at] * 1000) {
        at++;
    }
    return at;
}

void ida_metrics_put_histogram(ida_metrics *m, const ida_metric *row, const char *labels,
                               const uint64_t *buckets, uint64_t sum_us)
{
    uint64_t count = 0;
    const char *comma = labels ? "," : "";
    labels = labels ? labels : "";
    for (int i = 0; i <= IDA_METRICS_BOUNDS; i++) {
        const char *bound = i < IDA_METRICS_BOUNDS
                                ? ida_printf(m->pool, "%g", (double)ida_metrics_bounds[i] / 1000)
                                : "+Inf";
        count += buckets[i];
        sample(m, row->name, "_bucket",
               apr_pstrcat(m->pool, labels, comma, "le=\"", bound, "\"", NULL),
               apr_psprintf(m->pool, "%" APR_UINT64_T_FMT, count));
    }
    sample(m, row->name, "_sum", *labels ? labels : NULL,
           ida_printf(m->pool, "%.6f", (double)sum_us / 1e6));
    sample(m, row->name, "_count", *labels ? labels : NULL,
           apr_psprintf(m->pool, "%" APR_UINT64_T_FMT, count));
}

/* OpenMetrics names the family of a counter without _total, and ends with a mark. */
char *ida_metrics_open(apr_pool_t *pool, const char *text)
{
    static const char total[] = "_total";
    char *out = apr_palloc(pool, strlen(text) + sizeof "# EOF\n"), *to = out;
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t len = end ? (size_t)(end - text) + 1 : strlen(text), keep = len, skip = 0;
        if (strncmp(text, "# HELP ", 7) == 0 || strncmp(text, "# TYPE ", 7) == 0) {
            keep = 7 + strcspn(text + 7, " \n");
            skip = keep > 7 + sizeof total - 1 &&
                           memcmp(text + keep - (sizeof total - 1), total, sizeof total - 1) == 0
                       ? sizeof total - 1
                       : 0;
        }
        memcpy(to, text, keep - skip);
        to += keep - skip;
        memcpy(to, text + keep, len - keep);
        to += len - keep;
        text += len;
    }
    strcpy(to, "# EOF\n");
    return out;
}
