/* Owns whether a stored tenant may be trusted: its seal, and that it is no older than the newest
 * that this node has seen. What it has seen, <seal key>.revisions, is one JSON object {company ID:
 * revision}, replaced as a whole under a lock on the key file. Knows no store. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/tenant/tenant.h"

/* 100,000 tenants with IDs of 64 characters are half of it */
#define SEEN_MAX (16 * 1024 * 1024)

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

ida_kind ida_seal_judge(ida_ctx *c, const char *key_file, const ida_tenant *tenant,
                        const ida_stored_tenant *stored, ida_seal_state *state, const char **why)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    int64_t seen;
    *state = IDA_SEAL_BROKEN;
    *why = "its settings are not sealed by idadminctl: somebody changed them in the store, or the "
           "seal key is another one";
    ida_kind kind = ida_seal_key_read(c, key_file, key);
    kind = kind ? kind : ida_seal_seen(c, key_file, tenant->id, &seen);
    if (!kind && ida_tenant_seal_valid(key, tenant, stored->revision, stored->seal)) {
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
