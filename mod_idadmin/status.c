/* Owns the section of this module on the page of mod_status, and its lines for programs (?auto). It
 * names operations and tables, never a company, a caller or a person. */
#include "mod_idadmin/writer.h"

#include <mod_status.h>

#include "core/base/build.h"

APLOG_USE_MODULE(idadmin);

static const char *const classes[METRICS_CLASSES] = {"2xx", "3xx", "4xx", "5xx", "other"};

typedef struct page {
    request_rec *r;
    int lines; /* 1: "Name: value", for programs */
} page;

static void number(const page *p, const char *name, const char *words, int64_t value)
{
    if (p->lines) {
        ap_rprintf(p->r, "IdAdmin%s: %" APR_INT64_T_FMT "\n", name, (apr_int64_t)value);
    } else {
        ap_rprintf(p->r, "<dt>%s: %" APR_INT64_T_FMT "</dt>\n", words, (apr_int64_t)value);
    }
}

static void row(void *baton, const char *from, const char *operation,
                const int64_t by_class[METRICS_CLASSES])
{
    const page *p = baton;
    if (!p->lines) {
        ap_rprintf(p->r, "<tr><td>%s</td><td>%s</td>", from, operation);
    }
    for (int i = 0; i < METRICS_CLASSES; i++) {
        if (!p->lines) {
            ap_rprintf(p->r, "<td>%" APR_INT64_T_FMT "</td>", (apr_int64_t)by_class[i]);
        } else if (by_class[i]) {
            ap_rprintf(p->r, "IdAdminRequests-%s-%s-%s: %" APR_INT64_T_FMT "\n", from, operation,
                       classes[i], (apr_int64_t)by_class[i]);
        }
    }
    if (!p->lines) {
        ap_rputs("</tr>\n", p->r);
    }
}

static void put_requests(page *p)
{
    if (!p->lines) {
        ap_rputs("<table border=\"0\"><tr><th>Face</th><th>Operation</th>", p->r);
        for (int i = 0; i < METRICS_CLASSES; i++) {
            ap_rprintf(p->r, "<th>%s</th>", classes[i]);
        }
        ap_rputs("</tr>\n", p->r);
    }
    metrics_each(row, p);
    if (!p->lines) {
        ap_rputs("</table>\n", p->r);
    }
}

static void put_checks(const page *p)
{
    health_verdict verdict = health_look(p->r->pool);
    for (int i = 0; i < HEALTH_CHECKS; i++) {
        const char *name = health_check_name(i);
        if (p->lines) {
            ap_rprintf(p->r, "IdAdminReady-%s: %d\n", name, verdict.good[i]);
        } else {
            ap_rprintf(p->r, "<dt>%s: %s</dt>\n", name, verdict.good[i] ? "ok" : "failed");
        }
    }
}

static void put_tables(const page *p)
{
    size_t size;
    void *block = shm_limiter(&size);
    number(p, "RateTableKeys", "rate limits of keys in use",
           (int64_t)limit_used(child->limiter, 0));
    number(p, "RateTableAddresses", "rate limits of addresses in use",
           (int64_t)limit_used(child->limiter, 1));
    number(p, "RateTableSize", "records in each of these tables",
           block ? (int64_t)limit_slots(block, size) : 0);
    number(p, "RateTableOverflows", "requests counted in shared records",
           (int64_t)limit_overflows(child->limiter));
}

static void put_spool(const page *p)
{
    spool_figures spool = metrics_spool();
    number(p, "SpoolSegments", "segments of the audit spool that wait", spool.segments);
    number(p, "SpoolBytes", "bytes of these", spool.bytes);
    number(p, "SpoolOldestSeconds", "age of the oldest in seconds",
           spool.oldest ? (ida_now(&child->env) - spool.oldest) / 1000 : 0);
}

static int section(request_rec *r, int flags)
{
    page p = {r, (flags & AP_STATUS_SHORT) != 0};
    if (!child || !child->source) {
        return DECLINED;
    }
    if (p.lines) {
        ap_rprintf(r, "IdAdminVersion: %s\n", ida_build);
    } else {
        ap_rprintf(r, "<hr />\n<h2>mod_idadmin %s</h2>\n<dl>\n",
                   ap_escape_html(r->pool, ida_build));
    }
    put_checks(&p);
    put_tables(&p);
    put_spool(&p);
    if (!p.lines) {
        ap_rputs("</dl>\n", r);
    }
    put_requests(&p);
    return OK;
}

void status_register(void)
{
    APR_OPTIONAL_HOOK(ap, status_hook, section, NULL, NULL, APR_HOOK_MIDDLE);
}
