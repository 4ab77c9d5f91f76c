/* Owns the count of refused (429) requests of each key, in shared memory: the audit gets one record a minute and key instead of
 * one each. Must not know limits.
 *
 * Buckets under robust process-shared mutexes; only refused requests and the flush of each second take them. An entry is
 * written first and gets its count last, so a process that dies leaves an entry that is either free or whole. It is cleared
 * only after its record is in the spool: a death between the two writes the record twice with the same rid, which is one record
 * to the reader. */
#include "mod_idadmin/module.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/credentials.h"
#include "core/text.h"

APLOG_USE_MODULE(idadmin);

#define BUCKETS 64
#define ENTRIES 16
#define MINUTE_MS 60000

typedef struct refusal {
    uint64_t count;                    /* 0: free */
    int64_t first_at, last_at;         /* ms */
    char rid[64];
    char company[IDA_NAME_MAX + 1], username[IDA_NAME_MAX + 1];
    char label[4 * IDA_LABEL_MAX + 1];
} refusal;

typedef struct bucket {
    pthread_mutex_t lock;
    refusal entries[ENTRIES];
} bucket;

struct refusals {
    bucket buckets[BUCKETS];
};

size_t refusals_size(void)
{
    return sizeof(refusals);
}

void refusals_format(refusals *all)
{
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&all->buckets[i].lock, &shared);
    }
    pthread_mutexattr_destroy(&shared);
}

static int lock(bucket *b)
{
    int failed = pthread_mutex_lock(&b->lock);
    if (failed == EOWNERDEAD) {
        failed = pthread_mutex_consistent(&b->lock);
    }
    return !failed;
}

static ida_audit *record_of(ida_ctx *c, const refusal *e)
{
    ida_audit *record = ida_audit_make(c, e->company, "api");
    if (*e->rid) {
        record->rid = e->rid;
    }
    record->at = e->last_at;
    record->actor = e->username;
    record->label = e->label;
    record->action = "rateLimit";
    record->parameters = ida_printf(c->pool, "{\"count\":%llu}", (unsigned long long)e->count);
    record->outcome = ida_kind_code(IDA_RATE_LIMIT_EXCEEDED);
    record->detail = ida_printf(c->pool, "%llu requests refused from %s to %s", (unsigned long long)e->count,
                                ida_utc_text(c->pool, e->first_at),
                                ida_utc_text(c->pool, e->last_at));
    return record;
}

static ida_kind write_entry(ida_ctx *c, refusal *e)
{
    ida_kind kind = spool_write(c, record_of(c, e));
    if (!kind) {
        e->count = 0;
    }
    return kind;
}

static int same_minute(const refusal *e, int64_t now)
{
    return e->first_at / MINUTE_MS == now / MINUTE_MS;
}

static void begin(ida_ctx *c, refusal *e, const ida_principal *p, int64_t now)
{
    e->first_at = now;
    snprintf(e->company, sizeof e->company, "%s", p->company);
    snprintf(e->username, sizeof e->username, "%s", p->username);
    snprintf(e->label, sizeof e->label, "%s", p->label);
    snprintf(e->rid, sizeof e->rid, "%s", ida_audit_make(c, p->company, "api")->rid);
}

static unsigned bucket_of(const ida_principal *p)
{
    unsigned h = 2166136261u;
    for (const char *parts[2] = {p->company, p->username}, **part = parts; part < parts + 2; part++) {
        for (const char *at = *part; *at; at++) {
            h = (h ^ (unsigned char)*at) * 16777619u;
        }
        h = (h ^ ':') * 16777619u;
    }
    return (h ^ h >> 16) % BUCKETS;
}

ida_kind refusals_count(ida_ctx *c, const ida_principal *p)
{
    bucket *b = &shm_refusals()->buckets[bucket_of(p)];
    refusal *own = NULL, *free_entry = NULL, alone = {0};
    int64_t now = ida_now(c->env);
    int locked = lock(b);
    for (refusal *e = b->entries; locked && e < b->entries + ENTRIES; e++) {
        if (!e->count) {
            free_entry = e;
        } else if (strcmp(e->username, p->username) == 0 && strcmp(e->company, p->company) == 0) {
            own = e;
        }
    }
    ida_ctx *writing = ida_ctx_make(c->env, c->pool); /* c goes on saying why the request was refused */
    if (own && !same_minute(own, now) && write_entry(writing, own) == IDA_OK) {
        free_entry = own; /* else the old count goes on: nothing is lost while the disk is full */
        own = NULL;
    }
    ida_kind kind = IDA_OK;
    if (!own && free_entry) {
        begin(c, free_entry, p, now);
        own = free_entry;
    }
    if (own) {
        own->last_at = now;
        own->count++;
    } else { /* more keys refused in one minute than there is room for: a record of its own */
        begin(c, &alone, p, now);
        alone.last_at = now;
        alone.count = 1;
        kind = write_entry(writing, &alone);
    }
    if (locked) {
        pthread_mutex_unlock(&b->lock);
    }
    return kind;
}

void refusals_flush(ida_ctx *c, int all)
{
    refusals *table = shm_refusals();
    int64_t now = ida_now(c->env);
    for (bucket *b = table->buckets; b < table->buckets + BUCKETS; b++) {
        if (!lock(b)) {
            continue;
        }
        for (refusal *e = b->entries; e < b->entries + ENTRIES; e++) {
            if (e->count && (all || !same_minute(e, now)) && write_entry(c, e) != IDA_OK) {
                pthread_mutex_unlock(&b->lock);
                return; /* the disk: again in a second */
            }
        }
        pthread_mutex_unlock(&b->lock);
    }
}
