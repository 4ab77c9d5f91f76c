/* Owns what the proof of a task covers and how it is made. Must not know the store, nor what
 * becomes of a task whose proof does not fit. */
#include "core/model/task_mac.h"

#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/text.h"

/* Tasks of before `who` was one of their members are under the first. */
static const char *const versions[] = {"task 1", "task 2"};
#define NEWEST 1
#define OF_TASK 28 /* members of the task itself */
#define OF_STEP 6

typedef struct members {
    apr_pool_t *pool;
    ida_bytes *parts;
    size_t count;
} members;

/* NULL and "" are told apart: absent is no part's text. */
static void text(members *m, const char *value)
{
    const char *marked = value ? apr_pstrcat(m->pool, "=", value, NULL) : "";
    m->parts[m->count++] = (ida_bytes){marked, strlen(marked)};
}

static void number(members *m, int64_t value)
{
    text(m, ida_printf(m->pool, "%lld", (long long)value));
}

const char *ida_task_payload_hash(apr_pool_t *pool, const char *payload)
{
    unsigned char digest[IDA_DIGEST_LEN];
    ida_sha256(payload, strlen(payload), digest);
    return ida_hex(pool, digest, sizeof digest);
}

static void of_task(members *m, const ida_task *t, int version)
{
    int over = t->state == IDA_DONE || t->state == IDA_FAILED || t->state == IDA_CANCELLED;
    const char *texts[] = {versions[version],
                           t->tenant,
                           t->id,
                           ida_task_type_text(t->type),
                           ida_directory_name(t->directory),
                           t->person,
                           t->object_id,
                           t->upn,
                           t->mail,
                           t->display_name,
                           t->marker,
                           t->progress,
                           t->payload_hash,
                           t->wall_date,
                           t->wall_time,
                           t->zone,
                           t->username,
                           t->via};
    int64_t numbers[] = {t->wall_fixed, t->due_at, t->created_at, t->started_at, t->disables,
                         t->released,   over,      t->signed_at,  t->step_count};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        text(m, texts[i]);
    }
    if (version == NEWEST) {
        text(m, t->who);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        number(m, numbers[i]);
    }
}

static void of_step(members *m, const ida_step *s)
{
    number(m, s->position);
    text(m, s->name);
    text(m, s->workflow);
    number(m, s->workflow_position);
    text(m, s->account);
    text(m, ida_outcome_text(s->outcome));
}

static char *mac_of(apr_pool_t *pool, const ida_ring_key *key, const ida_task *task, int version)
{
    unsigned char mac[IDA_DIGEST_LEN];
    size_t room = OF_TASK + OF_STEP * (size_t)task->step_count;
    members m = {.pool = pool, .parts = apr_palloc(pool, room * sizeof *m.parts)};
    of_task(&m, task, version);
    for (int i = 0; i < task->step_count; i++) {
        of_step(&m, &task->steps[i]);
    }
    ida_hmac_sha256(key->bytes, IDA_SECRET_LEN, m.parts, m.count, mac);
    return apr_pstrcat(pool, key->id, ":", ida_hex(pool, mac, sizeof mac), NULL);
}

char *ida_task_mac(apr_pool_t *pool, const ida_ring_key *key, const ida_task *task)
{
    return mac_of(pool, key, task, NEWEST);
}

ida_task_trust ida_task_judge(apr_pool_t *pool, const ida_key_ring *ring, const ida_task *task)
{
    size_t len = task->mac ? strlen(task->mac) : 0;
    if (!len) {
        return IDA_TASK_UNSIGNED;
    }
    if (len != IDA_RING_ID_SIZE + IDA_DIGEST_LEN * 2) {
        return IDA_TASK_ALTERED;
    }
    const ida_ring_key *key = ida_ring_find(ring,
                                            apr_pstrmemdup(pool, task->mac, IDA_RING_ID_SIZE - 1));
    if (!key || (key != ida_ring_newest(ring) && !ring->is_new)) {
        return IDA_TASK_OTHER_KEY;
    }
    for (int version = NEWEST; version >= 0; version--) {
        if (CRYPTO_memcmp(mac_of(pool, key, task, version), task->mac, len) == 0) {
            return IDA_TASK_TRUSTED;
        }
    }
    return IDA_TASK_ALTERED;
}
