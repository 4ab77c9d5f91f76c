/* Owns whether a stored tenant may be trusted: its seal, and that it is no older than the newest
 * that this node has seen. What it has seen, <seal key>.revisions, is one JSON object {company ID:
 * revision}, replaced as a whole under a lock on the key file. Knows no store. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/tenant/tenant.h"

/* 100,000 tenants with IDs of 64 characters are half of it */
#define SEEN_MAX (16 * 1024 * 1024)
#define SAID_EVERY_MS 60000

static char *seen_file(apr_pool_t *pool, const char *key_file)
{
    return apr_pstrcat(pool, key_file, ".revisions", NULL);
}

static ida_kind seen_fail(ida_ctx *c, const char *path, const char *what)
{
    return ida_fail(c, IDA_INTERNAL_ERROR, "The file of seal revisions %s %s", path, what);
}

static ida_kind system_fail(ida_ctx *c, const char *path, const char *what)
{
    return seen_fail(
        c, path,
        ida_printf(c->pool,
                   "%s: %s. Its directory must be writable for idadmin-worker and idadminctl.",
                   what, strerror(errno)));
}

/* *revisions: empty when the file is not there yet. Belongs to the pool. */
static ida_kind read_seen(ida_ctx *c, const char *path, json_t **revisions)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *revisions = NULL;
    if (fd < 0 && errno == ENOENT) {
        *revisions = ida_json_keep(c->pool, json_object());
        return IDA_OK;
    }
    if (fd < 0 || fstat(fd, &status) != 0) {
        ida_kind kind = system_fail(c, path, "cannot be read");
        if (fd >= 0) {
            close(fd);
        }
        return kind;
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH))) {
        close(fd);
        return seen_fail(c, path, "may be written by others than its owner; run: chmod 600 on it.");
    }
    size_t room = status.st_size > 0 && status.st_size < SEEN_MAX ? (size_t)status.st_size : 0,
           used = 0;
    char *text = apr_pcalloc(c->pool, room + 1);
    ssize_t got;
    while (used < room && (got = read(fd, text + used, room - used)) > 0) {
        used += (size_t)got;
    }
    close(fd);
    *revisions = used == room ? ida_json_load(c->pool, text) : NULL;
    return json_is_object(*revisions)
               ? IDA_OK
               : seen_fail(c, path,
                           "is damaged: take it from a backup, or remove it (then whatever sealed "
                           "document the store holds counts as the newest) and look at each with "
                           "`idadminctl tenant show`.");
}

static int64_t revision_in(const json_t *revisions, const char *tenant)
{
    return json_integer_value(json_object_get(revisions, tenant)); /* 0 when there is none */
}

/* Beside it and renamed into place. Made by root it belongs to whom the key belongs: the worker
 * must be able to read it. */
static ida_kind write_seen(ida_ctx *c, const char *path, const json_t *revisions,
                           const struct stat *key)
{
    const char *text = ida_json_sorted(c->pool, revisions);
    char *fresh = apr_pstrcat(c->pool, path, ".XXXXXX", NULL);
    int fd = mkostemp(fresh, O_CLOEXEC); /* O_EXCL, mode 0600 */
    if (fd < 0) {
        return system_fail(c, path, "cannot be written");
    }
    size_t len = strlen(text);
    int good = (geteuid() != 0 || fchown(fd, key->st_uid, key->st_gid) == 0) &&
               write(fd, text, len) == (ssize_t)len && fsync(fd) == 0 && rename(fresh, path) == 0;
    ida_kind kind = good ? IDA_OK : system_fail(c, path, "cannot be written");
    if (!good) {
        unlink(fresh);
    }
    close(fd);
    return kind;
}

ida_kind ida_seal_seen(ida_ctx *c, const char *key_file, const char *tenant, int64_t *revision)
{
    json_t *revisions;
    ida_kind kind = read_seen(c, seen_file(c->pool, key_file), &revisions);
    *revision = kind ? 0 : revision_in(revisions, tenant);
    return kind;
}

ida_kind ida_seal_note(ida_ctx *c, const char *key_file, const char *tenant, int64_t revision)
{
    json_t *revisions;
    struct stat key;
    const char *path = seen_file(c->pool, key_file);
    ida_kind kind = read_seen(c, path, &revisions);
    if (kind || revision_in(revisions, tenant) >= revision) {
        return kind; /* the usual case takes no lock */
    }
    int fd = open(key_file, O_RDONLY | O_CLOEXEC); /* the lock, which ends with it: workers and
                                                      idadminctl write one after the other */
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &key) != 0) {
        kind = system_fail(c, path, "cannot be locked by its seal key");
    }
    kind = kind ? kind : read_seen(c, path, &revisions);
    if (!kind && revision_in(revisions, tenant) < revision) {
        json_object_set_new(revisions, tenant, json_integer(revision));
        kind = write_seen(c, path, revisions, &key);
    }
    if (fd >= 0) {
        close(fd);
    }
    return kind;
}

ida_kind ida_seal_judge(ida_ctx *c, const char *key_file, const char *tenant,
                        const ida_stored_tenant *stored, ida_seal_state *state, const char **why)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    int64_t seen;
    *state = IDA_SEAL_BROKEN;
    *why = "its settings are not sealed by idadminctl: somebody changed them in the store, or the "
           "seal key is another one, or `idadminctl schema upgrade` was not run";
    ida_kind kind = ida_seal_key_read(c, key_file, key);
    kind = kind ? kind : ida_seal_seen(c, key_file, tenant, &seen);
    if (!kind && ida_seal_valid(c->pool, key, tenant, stored)) {
        *state = stored->revision < seen ? IDA_SEAL_OLDER : IDA_SEAL_GOOD;
        *why = ida_printf(c->pool,
                          "its document is sealed, but older (revision %lld) than one that was "
                          "seen here (revision %lld): the store was restored from a backup, or "
                          "somebody put an old document back",
                          (long long)stored->revision, (long long)seen);
    }
    OPENSSL_cleanse(key, sizeof key);
    return kind;
}

/* --- documents that were judged good --- */

#define JUDGED 4096 /* documents; two that meet in a place are judged again */

/* What a judgement rests on. Both files are replaced, never written in place. */
typedef struct ground {
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
    const char *const files[] = {key_file, seen_file(pool, key_file)};
    struct stat status;
    memset(out, 0, sizeof *out); /* compared with the gaps between its members */
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

/* Forgets all when the ground has changed. One that cannot be seen is never the same. */
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

/* Of the whole row: lengths stand before the parts. */
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

/* A line of a kind each minute says it, however often a company is met. */
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

ida_kind ida_seal_follow(ida_ctx *c, const char *key_file, const char *tenant,
                         const ida_stored_tenant *stored)
{
    unsigned char digest[IDA_DIGEST_LEN];
    ida_seal_state state;
    const char *why;
    digest_of(tenant, stored, digest);
    int64_t epoch = look_at_ground(c->pool, key_file);
    if (was_judged(digest)) {
        return IDA_OK;
    }
    ida_kind kind = ida_seal_judge(c, key_file, tenant, stored, &state, &why);
    if (!kind && state == IDA_SEAL_GOOD) {
        kind = ida_seal_note(c, key_file, tenant, stored->revision);
    }
    if (kind) {
        why = ida_printf(c->pool, "its seal cannot be judged: %s", c->message);
        ida_ctx_clear(c);
        return not_followed(c, tenant, "IDA0151", why);
    }
    if (state != IDA_SEAL_GOOD) {
        return not_followed(c, tenant, state == IDA_SEAL_OLDER ? "IDA0152" : "IDA0150", why);
    }
    /* Files that were replaced meanwhile, as by the note, may say otherwise: then it is judged
     * again the next time. */
    if (look_at_ground(c->pool, key_file) == epoch) {
        remember(epoch, digest);
    }
    return IDA_OK;
}
