/* Owns whether a stored tenant may be trusted: its seal, and that it is no older than the newest
 * that this node has seen. What it has seen, <seal key>.revisions, is one JSON object {company ID:
 * revision}, replaced as a whole under a lock on the key file. Knows no store. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/beside.h"
#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/tenant/tenant.h"

#define SAID_EVERY_MS 60000

/* What a process that the key is lent to has seen before the worker recorded it. */
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static json_t *own; /* {company ID: revision} */
static _Atomic int64_t own_changes;

static ida_beside seen_file(const char *key_file)
{
    return (ida_beside){"file of seal revisions", key_file, IDA_SEAL_REVISIONS};
}

/* *revisions: empty if the file does not exist yet. Belongs to the pool. */
static ida_kind parse(ida_ctx *c, const ida_beside *file, const char *text, json_t **revisions)
{
    *revisions = text ? ida_json_load(c->pool, text) : ida_json_keep(c->pool, json_object());
    return json_is_object(*revisions)
               ? IDA_OK
               : ida_beside_fail(
                     c, file,
                     "is damaged: take it from a backup, or remove it (then whatever sealed "
                     "document the store holds counts as the newest) and look at each with "
                     "`idadminctl tenant show`.");
}

static int64_t revision_in(const json_t *revisions, const char *tenant)
{
    return json_integer_value(json_object_get(revisions, tenant)); /* 0 when there is none */
}

ida_kind ida_seal_seen(ida_ctx *c, const char *key_file, const char *tenant, int64_t *revision)
{
    const ida_beside file = seen_file(key_file);
    const char *text;
    json_t *revisions;
    ida_kind kind = ida_beside_read(c, &file, &text);
    kind = kind ? kind : parse(c, &file, text, &revisions);
    *revision = kind ? 0 : revision_in(revisions, tenant);
    pthread_mutex_lock(&own_lock);
    int64_t mine = revision_in(own, tenant);
    pthread_mutex_unlock(&own_lock);
    *revision = mine > *revision ? mine : *revision;
    return kind;
}

typedef struct note_work {
    const ida_beside *file;
    const char *tenant;
    int64_t revision;
} note_work;

static ida_kind note(ida_ctx *c, const char *text, const char **changed, void *baton)
{
    const note_work *w = baton;
    json_t *revisions;
    ida_kind kind = parse(c, w->file, text, &revisions);
    if (!kind && revision_in(revisions, w->tenant) < w->revision) {
        json_object_set_new(revisions, w->tenant, json_integer(w->revision));
        *changed = ida_json_sorted(c->pool, revisions);
    }
    return kind;
}

ida_kind ida_seal_note(ida_ctx *c, const char *key_file, const char *tenant, int64_t revision)
{
    const ida_beside file = seen_file(key_file);
    note_work work = {&file, tenant, revision};
    int64_t seen;
    ida_kind kind = ida_seal_seen(c, key_file, tenant, &seen);
    if (kind || seen >= revision) {
        return kind; /* the usual case takes no lock */
    }
    if (!c->env->seal_key_is_lent) {
        return ida_beside_update(c, &file, note, &work);
    }
    pthread_mutex_lock(&own_lock);
    own = own ? own : json_object();
    if (revision_in(own, tenant) < revision) { /* another thread may have seen a newer one */
        json_object_set_new(own, tenant, json_integer(revision));
        own_changes++;
    }
    pthread_mutex_unlock(&own_lock);
    return IDA_OK;
}

ida_kind ida_seal_judge(ida_ctx *c, const char *key_file, const char *tenant,
                        const ida_stored_tenant *stored, ida_seal_state *state, const char **why)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    int64_t seen;
    *state = IDA_SEAL_BROKEN;
    *why = "its settings are not sealed by idadminctl: they were changed in the store, or the "
           "seal key is another one, or `idadminctl schema upgrade` was not run";
    ida_kind kind = ida_seal_key_read(c, key_file, key);
    kind = kind ? kind : ida_seal_seen(c, key_file, tenant, &seen);
    if (!kind && ida_seal_valid(c->pool, key, tenant, stored)) {
        *state = stored->revision < seen ? IDA_SEAL_OLDER : IDA_SEAL_GOOD;
        *why = ida_printf(c->pool,
                          "its document is sealed, but older (revision %lld) than one that was "
                          "seen here (revision %lld): the store was restored from a backup, or "
                          "an old document was put back",
                          (long long)stored->revision, (long long)seen);
    }
    OPENSSL_cleanse(key, sizeof key);
    return kind;
}

/* --- documents that were judged good --- */

#define JUDGED 4096 /* documents; two that meet in a place are judged again */

/* What a judgement rests on. Both files are replaced, never written in place. */
typedef struct ground {
    int64_t changes; /* of what this process keeps itself */
    ino_t inode[2];
    struct timespec changed[2];
} ground;

static struct {
    pthread_mutex_t lock;
    ground on;
    int64_t epoch;
    unsigned char digest[JUDGED][IDA_DIGEST_LEN];
} judged = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int read_ground(apr_pool_t *pool, const char *key_file, ground *out)
{
    const char *const files[] = {key_file,
                                 apr_pstrcat(pool, key_file, seen_file(key_file).ending, NULL)};
    struct stat status;
    memset(out, 0, sizeof *out); /* compared with the gaps between its members */
    out->changes = own_changes;
    for (int i = 0; i < 2; i++) {
        if (stat(files[i], &status) != 0) {
            return 0;
        }
        out->inode[i] = status.st_ino;
        out->changed[i] = status.st_ctim;
    }
    return 1;
}

static unsigned char *place_of(const unsigned char digest[IDA_DIGEST_LEN])
{
    return judged.digest[(digest[0] | digest[1] << 8) % JUDGED];
}

/* Discards all judgements if the files have changed or cannot be read. */
static int64_t look_at_ground(apr_pool_t *pool, const char *key_file)
{
    ground now;
    int seen = read_ground(pool, key_file, &now);
    pthread_mutex_lock(&judged.lock);
    if (!seen || memcmp(&now, &judged.on, sizeof now) != 0) {
        memset(judged.digest, 0, sizeof judged.digest);
        judged.on = now;
        judged.epoch++;
    }
    int64_t epoch = judged.epoch;
    pthread_mutex_unlock(&judged.lock);
    return epoch;
}

static int was_judged(const unsigned char digest[IDA_DIGEST_LEN])
{
    pthread_mutex_lock(&judged.lock);
    int known = memcmp(place_of(digest), digest, IDA_DIGEST_LEN) == 0;
    pthread_mutex_unlock(&judged.lock);
    return known;
}

static void remember(int64_t epoch, const unsigned char digest[IDA_DIGEST_LEN])
{
    pthread_mutex_lock(&judged.lock);
    if (epoch == judged.epoch) {
        memcpy(place_of(digest), digest, IDA_DIGEST_LEN);
    }
    pthread_mutex_unlock(&judged.lock);
}

int64_t ida_seal_epoch(ida_ctx *c)
{
    return c->env->seal_key ? look_at_ground(c->pool, c->env->seal_key) : 0;
}

/* Digest of the whole row; each part is preceded by its length. */
static void digest_of(const char *tenant, const ida_stored_tenant *stored,
                      unsigned char digest[IDA_DIGEST_LEN])
{
    static const unsigned char no_key[1];
    const ida_bytes parts[] = {{tenant, strlen(tenant)},
                               {&stored->revision, sizeof stored->revision},
                               {stored->seal, strlen(stored->seal)},
                               {stored->document, strlen(stored->document)}};
    ida_hmac_sha256(no_key, sizeof no_key, parts, sizeof parts / sizeof *parts, digest);
}

/* Logs at most one line a minute for each company and kind. */
static ida_kind not_followed(ida_ctx *c, const char *tenant, const char *id, const char *why)
{
    static _Atomic int64_t said[256];
    unsigned place = (unsigned char)id[strlen(id) - 1];
    for (const char *at = tenant; *at; at++) {
        place = place * 31 + (unsigned char)*at;
    }
    if (ida_say_now(&said[place % 256], ida_monotonic(c->env), SAID_EVERY_MS)) {
        ida_log(c->env, IDA_LOG_ERROR, id,
                "tenant %s is not served: %s; find out who did it, then run idadminctl tenant "
                "apply with the full document",
                tenant, why);
    }
    ida_fail(c, IDA_INTERNAL_ERROR,
             "The tenant is not served: %s. Find out who did it, then run idadminctl tenant apply "
             "with the full document.",
             why);
    return ida_because(c, "unsealed", NULL);
}

/* *why: set unless the row may be followed. */
static ida_kind judge_new(ida_ctx *c, const char *key_file, const char *tenant,
                          const ida_stored_tenant *stored, ida_seal_state *state, const char **why)
{
    ida_kind kind = ida_seal_judge(c, key_file, tenant, stored, state, why);
    if (!kind && *state == IDA_SEAL_GOOD) {
        kind = ida_seal_note(c, key_file, tenant, stored->revision);
    }
    if (kind) {
        *why = ida_printf(c->pool, "its seal cannot be judged: %s", c->message);
        ida_ctx_clear(c);
    }
    return kind;
}

ida_kind ida_seal_follow(ida_ctx *c, const char *key_file, const char *tenant,
                         ida_seal_reader *read, void *baton, ida_stored_tenant *stored)
{
    unsigned char digest[IDA_DIGEST_LEN];
    ida_seal_state state = IDA_SEAL_OLDER;
    const char *why;
    int64_t epoch;
    /* If another process replaced the row between our reads of the store and of the file, the
     * row read here is older than the known one. Read again, it is the new one; a restored old
     * one is as old again. */
    for (int reads = 0; reads < 2 && state == IDA_SEAL_OLDER; reads++) {
        ida_kind kind = read(c, tenant, stored, baton);
        if (kind) {
            return kind;
        }
        digest_of(tenant, stored, digest);
        epoch = look_at_ground(c->pool, key_file);
        if (was_judged(digest)) {
            return IDA_OK;
        }
        if (judge_new(c, key_file, tenant, stored, &state, &why)) {
            return not_followed(c, tenant, "IDA0151", why);
        }
    }
    if (state != IDA_SEAL_GOOD) {
        return not_followed(c, tenant, state == IDA_SEAL_OLDER ? "IDA0152" : "IDA0150", why);
    }
    /* If files were replaced meanwhile, judge it again the next time. */
    if (look_at_ground(c->pool, key_file) == epoch) {
        remember(epoch, digest);
    }
    return IDA_OK;
}
