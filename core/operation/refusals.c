/* Owns the counters of refusals that may come by the thousand, in shared memory: for each key
 * beyond its limits (429), for each address with invalid credentials. The audit log gets one record
 * a minute instead of one for each refusal. Must not know limits nor credentials.
 *
 * Buckets under robust process-shared mutexes; only refused requests and the flush of each
 * second take them. An entry is written first and gets its count last, so that after the death
 * of a process the entry is either free or complete. It is cleared only after its record is in
 * the spool: a process that dies between the two writes the record twice with the same rid, and
 * the reader takes it once. */
#include "core/operation/refusals.h"
#include "core/base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/tenant/credentials.h"

#define BUCKETS 64
#define ENTRIES 16
#define MINUTE_MS 60000

typedef struct refusal {
    uint64_t count;            /* 0: free */
    int64_t first_at, last_at; /* ms */
    ida_refusal_sort sort;
    char rid[64];
    char company[IDA_NAME_MAX + 1];
    char label[4 * IDA_LABEL_MAX + 1];
    /* The values that all refusals of this entry have in common; several_text if they differ. */
    char username[IDA_NAME_MAX + 1], address[64], endpoint[96], reason[64];
} refusal;

static const char several_text[] = "(several)";

static const struct {
    const char *action;
    ida_kind kind;
} sorts[] = {
    [IDA_REFUSAL_OF_KEY] = {"rateLimit", IDA_RATE_LIMIT_EXCEEDED},
    [IDA_REFUSAL_OF_ADDRESS] = {"credentials.refused", IDA_UNAUTHORIZED},
};

typedef struct bucket {
    pthread_mutex_t lock;
    refusal entries[ENTRIES];
} bucket;

struct ida_refusals {
    bucket buckets[BUCKETS];
};

size_t ida_refusals_size(void)
{
    return sizeof(ida_refusals);
}

void ida_refusals_format(ida_refusals *all)
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

static const char *common(const char *text)
{
    return *text && strcmp(text, several_text) != 0 ? text : NULL;
}

static audit_record *record_of(ida_ctx *c, const refusal *e)
{
    audit_record *record = audit_make(c, e->company, "api");
    json_t *parameters = ida_json_keep(c->pool, json_pack("{s:I}", "count", (json_int_t)e->count));
    if (*e->reason) {
        ida_json_put(parameters, "reason", e->reason);
    }
    if (*e->rid) {
        record->rid = e->rid;
    }
    record->at = e->last_at;
    record->actor = e->username;
    record->label = e->label;
    record->action = sorts[e->sort].action;
    record->endpoint = common(e->endpoint);
    record->address = common(e->address);
    record->correlation = NULL; /* of several */
    record->parameters = ida_json_text(c->pool, parameters);
    record->outcome = ida_kind_code(sorts[e->sort].kind);
    record->detail = ida_printf(c->pool, "%s refused from %s to %s",
                                ida_count(c->pool, (int64_t)e->count, "request", "requests"),
                                ida_utc_text(c->pool, e->first_at),
                                ida_utc_text(c->pool, e->last_at));
    return record;
}

static ida_kind write_entry(ida_ctx *c, refusal *e, ida_refusals_write write)
{
    ida_kind kind = write(c, record_of(c, e));
    if (!kind) {
        e->count = 0;
    }
    return kind;
}

static int same_minute(const refusal *e, int64_t now)
{
    return e->first_at / MINUTE_MS == now / MINUTE_MS;
}

static void begin(ida_ctx *c, refusal *e, const ida_refused *one, int64_t now)
{
    e->first_at = now;
    e->sort = one->sort;
    snprintf(e->company, sizeof e->company, "%s", one->company);
    snprintf(e->label, sizeof e->label, "%s", one->label);
    snprintf(e->username, sizeof e->username, "%s", one->username);
    snprintf(e->address, sizeof e->address, "%s", one->address);
    snprintf(e->endpoint, sizeof e->endpoint, "%s", one->endpoint);
    snprintf(e->reason, sizeof e->reason, "%s", one->reason);
    snprintf(e->rid, sizeof e->rid, "%s", audit_make(c, one->company, "api")->rid);
}

/* `kept` was cut to its room. */
static void keep_common(char *kept, size_t room, const char *text)
{
    if (strncmp(kept, text, room - 1) != 0) {
        snprintf(kept, room, "%s", several_text);
    }
}

static void count(refusal *e, const ida_refused *one, int64_t now)
{
    keep_common(e->username, sizeof e->username, one->username);
    keep_common(e->address, sizeof e->address, one->address);
    keep_common(e->endpoint, sizeof e->endpoint, one->endpoint);
    keep_common(e->reason, sizeof e->reason, one->reason);
    e->last_at = now;
    e->count++;
}

/* The key of an entry, besides the company: whose requests it counts. */
static const char *whose(ida_refusal_sort sort, const char *username, const char *address)
{
    return sort == IDA_REFUSAL_OF_KEY ? username : address;
}

static unsigned bucket_of(const ida_refused *one)
{
    unsigned h = 2166136261u;
    for (const char *parts[2] = {one->company, whose(one->sort, one->username, one->address)},
                    **part = parts;
         part < parts + 2; part++) {
        for (const char *at = *part; *at; at++) {
            h = (h ^ (unsigned char)*at) * 16777619u;
        }
        h = (h ^ ':') * 16777619u;
    }
    return (h ^ h >> 16) % BUCKETS;
}

static int belongs(const refusal *e, const ida_refused *one)
{
    return e->sort == one->sort && strcmp(e->company, one->company) == 0 &&
           strcmp(whose(e->sort, e->username, e->address),
                  whose(one->sort, one->username, one->address)) == 0;
}

/* There is no free entry for it in this minute: the company's sum counts it. */
static ida_kind count_in_sum(ida_refusals *all, ida_ctx *c, const ida_refused *one,
                             ida_refusals_write write)
{
    ida_refused sum = *one;
    sum.username = sum.address = several_text;
    return ida_refusals_count(all, c, &sum, write);
}

ida_kind ida_refusals_count(ida_refusals *all, ida_ctx *c, const ida_refused *one,
                            ida_refusals_write write)
{
    bucket *b = &all->buckets[bucket_of(one)];
    refusal *own = NULL, *free_entry = NULL, alone = {0};
    int64_t now = ida_now(c->env);
    int locked = lock(b);
    for (refusal *e = b->entries; locked && e < b->entries + ENTRIES; e++) {
        if (!e->count) {
            free_entry = e;
        } else if (belongs(e, one)) {
            own = e;
        }
    }
    ida_ctx *writing = ida_ctx_make(c->env,
                                    c->pool); /* c keeps the message why the request was refused */
    if (own && !same_minute(own, now) && write_entry(writing, own, write) == IDA_OK) {
        free_entry = own; /* otherwise the old count continues: nothing is lost while the disk is
                             full */
        own = NULL;
    }
    ida_kind kind = IDA_OK;
    if (!own && free_entry) {
        begin(c, free_entry, one, now);
        own = free_entry;
    }
    int summed = strcmp(whose(one->sort, one->username, one->address), several_text) == 0;
    if (own) {
        count(own, one, now);
    } else if (summed) { /* there is no room even for the company's sum: write one record */
        begin(c, &alone, one, now);
        count(&alone, one, now);
        kind = write_entry(writing, &alone, write);
    }
    if (locked) {
        pthread_mutex_unlock(&b->lock);
    }
    return own || summed ? kind : count_in_sum(all, c, one, write);
}

void ida_refusals_flush(ida_refusals *all, ida_ctx *c, int early, ida_refusals_write write)
{
    int64_t now = ida_now(c->env);
    for (bucket *b = all->buckets; b < all->buckets + BUCKETS; b++) {
        if (!lock(b)) {
            continue;
        }
        for (refusal *e = b->entries; e < b->entries + ENTRIES; e++) {
            if (e->count && (early || !same_minute(e, now)) && write_entry(c, e, write) != IDA_OK) {
                pthread_mutex_unlock(&b->lock);
                return; /* the disk is full: try again in a second */
            }
        }
        pthread_mutex_unlock(&b->lock);
    }
}
