/* Owns when audit records are sent to the log server of idadmin.conf, in which order, and what it
 * has taken. Must not know how a record looks there (worker/siem_line.c) or how lines are sent
 * (worker/send/syslog.h). */
#include "worker/siem.h"

#include <apr_strings.h>

#include "core/store/chain_key.h"
#include "core/store/forward.h"
#include "worker/hold/rules.h"
#include "worker/send/syslog.h"

#define LOOK_MS 1000
#define COMPANIES 20 /* of one batch; those behind them are next */
#define SHARE 100    /* records of one of them */
#define SAID_AFTER 3 /* batches in a row that failed */
#define SAY_MS INT64_C(3600000)

typedef struct siem {
    worker *w;
    store *audit;
    char after[72]; /* the company that was served last */
    int64_t failures, next_at;
    _Atomic int64_t said;
} siem;

/* What is sent at once, and how far each company's chain is done with it. */
typedef struct batch {
    apr_array_header_t *lines;
    store_forward of[COMPANIES];
    int64_t to[COMPANIES];
    int count;
} batch;

static int server_of(apr_pool_t *pool, const worker_config *config, syslog_server *out)
{
    *out = (syslog_server){.ca_file = config->audit_siem_ca_file,
                           .certificate = config->audit_siem_certificate_file,
                           .key = config->audit_siem_key_file};
    return syslog_address(pool, config->audit_siem, out);
}

const char *siem_fault(apr_pool_t *pool, const worker_config *config)
{
    syslog_server server;
    int more = config->audit_siem_ca_file || config->audit_siem_certificate_file ||
               config->audit_siem_key_file || config->audit_siem_names;
    if (!config->audit_siem) {
        return more ? "audit_siem_ca_file, audit_siem_certificate_file, audit_siem_key_file and "
                      "audit_siem_names are of audit_siem, which is not set"
                    : NULL;
    }
    if (!config->audit_siem_certificate_file != !config->audit_siem_key_file) {
        return "audit_siem_certificate_file and audit_siem_key_file need each other";
    }
    return server_of(pool, config, &server)
               ? syslog_fault(pool, &server)
               : "audit_siem must be HOST:PORT, or [ADDRESS]:PORT of IPv6";
}

/* --- a batch --- */

/* Retention may be shorter than the server was away: only this log line says so. */
static void say_gap(siem *s, const store_forward *f)
{
    if (f->taken < f->first && f->taken > 0) {
        ida_log(&s->w->env, IDA_LOG_ERROR, "IDA0426",
                "the audit records %lld to %lld of tenant %s were removed by retention before "
                "audit_siem took them",
                (long long)f->taken + 1, (long long)f->first, f->tenant);
    }
}

static ida_kind add_company(siem *s, ida_ctx *c, const audit_secret *key, store_forward *f,
                            batch *b)
{
    const audit_row *rows;
    int claimed, count = 0;
    ida_kind kind = store_forward_claim(s->audit, c, s->w->id, f, &claimed);
    if (kind || !claimed) {
        return kind;
    }
    kind = store_forward_page(s->audit, c, f, SHARE, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        APR_ARRAY_PUSH(b->lines, const char *) = siem_line(c->pool, s->w->host, key, &rows[i]);
    }
    if (!kind && count) {
        b->of[b->count] = *f;
        b->to[b->count++] = rows[count - 1].seq;
    }
    return kind;
}

static ida_kind collect(siem *s, ida_ctx *c, const audit_secret *key, batch *b)
{
    const store_forward *due;
    int count = 0;
    ida_kind kind = store_forward_due(s->audit, c, s->after, COMPANIES, &due, &count);
    for (int i = 0; !kind && i < count; i++) {
        store_forward f = due[i];
        kind = add_company(s, c, key, &f, b);
    }
    apr_cpystrn(s->after, !kind && count == COMPANIES ? due[count - 1].tenant : "",
                sizeof s->after);
    return kind;
}

static void took_not(siem *s, const worker_config *config, const char *why)
{
    uint32_t random;
    int64_t now = ida_monotonic(&s->w->env);
    ida_random(&s->w->env, &random, sizeof random);
    s->next_at = now + hold_backoff_ms(s->failures++, random);
    if (s->failures >= SAID_AFTER && ida_say_now(&s->said, now, SAY_MS)) {
        ida_log(&s->w->env, IDA_LOG_ERROR, "IDA0425",
                "the log server %s does not take audit records, they wait in order and are tried "
                "again: %s",
                config->audit_siem, why);
    }
}

static ida_kind took(siem *s, ida_ctx *c, batch *b)
{
    ida_kind kind = IDA_OK;
    if (s->failures >= SAID_AFTER) {
        ida_log(&s->w->env, IDA_LOG_INFO, NULL, "the log server takes audit records again");
    }
    s->failures = 0;
    atomic_store(&s->said, 0);
    for (int i = 0; i < b->count; i++) {
        say_gap(s, &b->of[i]);
        ida_kind one = store_forward_taken(s->audit, c, s->w->id, &b->of[i], b->to[i]);
        kind = kind ? kind : one == IDA_CONFLICT ? IDA_OK : one;
    }
    return kind;
}

/* IDA_NOT_FOUND: nothing more for now. */
static ida_kind send_batch(siem *s, apr_pool_t *pool)
{
    worker_config config;
    syslog_server server;
    audit_keys keys = {0};
    ida_ctx *c = worker_ctx(s->w, pool);
    batch b = {.lines = apr_array_make(pool, SHARE, sizeof(const char *))};
    worker_settings(s->w, pool, &config);
    if (!config.audit_siem || !server_of(pool, &config, &server) ||
        ida_monotonic(&s->w->env) < s->next_at) {
        return IDA_NOT_FOUND;
    }
    ida_kind kind = store_audit_keys(s->audit, c, &keys);
    kind = kind ? kind : collect(s, c, config.audit_siem_names ? NULL : &keys.all[0], &b);
    audit_keys_wipe(&keys);
    if (kind || !b.count) {
        return kind ? kind : IDA_NOT_FOUND;
    }
    const char *why = syslog_send(&s->w->env, pool, &server, b.lines);
    if (why) {
        took_not(s, &config, why);
        return IDA_NOT_FOUND;
    }
    return took(s, c, &b);
}

void siem_thread(hold_thread *t)
{
    siem s = {.w = t->w, .audit = t->audit};
    while (!worker_stopping(t->w)) {
        ida_kind kind = send_batch(&s, t->pool);
        apr_pool_clear(t->pool);
        if (kind) {
            worker_nap(t->w, LOOK_MS);
        }
    }
}
