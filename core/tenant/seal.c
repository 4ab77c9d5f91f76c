/* Owns what makes a tenant document trustworthy for the worker: the seal over its directories,
 * workflows and notifications, the seal's key, and the files that hold secrets. Must not know the
 * store. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"

#define KEY_TEXT_LEN (IDA_SEAL_KEY_LEN * 2)

/* What the seal covers, in one order: whoever changes where the directory's secrets, initial
 * passwords, webhooks or notifications go, or what the worker does by itself, breaks it. */
static char *sealed_text(apr_pool_t *pool, const ida_tenant *tenant, int64_t revision)
{
    json_t *all = json_object();
    ida_json_put(all, "companyId", tenant->id);
    if (revision) {
        json_object_set_new(all, "revision", json_integer(revision));
    }
    json_object_set(all, "directories", json_object_get(tenant->document, "directories"));
    json_object_set(all, "workflows", json_object_get(tenant->document, "workflows"));
    json_object_set(all, "notifications", json_object_get(tenant->document, "notifications"));
    char *text = ida_json_sorted(pool, all);
    json_decref(all);
    return text;
}

char *ida_tenant_seal(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN],
                      const ida_tenant *tenant, int64_t revision)
{
    unsigned char mac[IDA_DIGEST_LEN];
    const char *text = sealed_text(pool, tenant, revision);
    const ida_bytes parts[] = {{"seal", 4}, {text, strlen(text)}};
    ida_hmac_sha256(key, IDA_SEAL_KEY_LEN, parts, 2, mac);
    return ida_hex(pool, mac, sizeof mac);
}

int ida_tenant_seal_valid(const unsigned char key[IDA_SEAL_KEY_LEN], const ida_tenant *tenant,
                          int64_t revision, const char *seal)
{
    apr_pool_t *scratch;
    if (!seal || strlen(seal) != IDA_DIGEST_LEN * 2) {
        return 0;
    }
    apr_pool_create(&scratch, NULL);
    int valid = CRYPTO_memcmp(ida_tenant_seal(scratch, key, tenant, revision), seal,
                              IDA_DIGEST_LEN * 2) == 0;
    apr_pool_destroy(scratch);
    return valid;
}

/* NULL when the file may be used, else why not. The permissions judged are those of the descriptor
 * that was opened. */
static const char *file_fault(apr_pool_t *pool, const char *path, int secret)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return ida_printf(pool, "the file %s cannot be read: %s", path, strerror(errno));
    }
    const char *fault = NULL;
    if (fstat(fd, &status) != 0) {
        fault = ida_printf(pool, "the file %s cannot be looked at: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        fault = ida_printf(pool, "%s is not a regular file", path);
    } else if (secret && (status.st_mode & S_IRWXO)) {
        fault = ida_printf(pool, "the file %s is open to other users (mode %04o); run: chmod o= %s",
                           path, (unsigned)(status.st_mode & 07777), path);
    } else if (!status.st_size) {
        fault = ida_printf(pool, "the file %s is empty", path);
    }
    close(fd);
    const char *how = fault ? NULL : ida_web_user_may(pool, path, secret);
    return how ? ida_printf(pool, "the file %s %s", path, how) : fault;
}

static void check_file(ida_ctx *c, const char *member, const char *path, int secret)
{
    const char *fault = path[0] == '/' ? file_fault(c->pool, path, secret)
                                       : "must be the absolute path of a file";
    if (fault) {
        ida_fault_add(c, member, "%s", fault);
    }
}

ida_kind ida_tenant_files_check(ida_ctx *c, const ida_tenant *tenant)
{
    ida_tenant_files(c, tenant->document, check_file);
    return ida_faults_raise(c);
}

static ida_kind key_fail(ida_ctx *c, const char *path, const char *what)
{
    return ida_fail(c, IDA_INTERNAL_ERROR, "The seal key file %s %s", path, what);
}

/* The directory's owner, for a key that root makes without being told whose it is. */
static int owner_of_directory(ida_ctx *c, const char *path, uid_t *owner, gid_t *group)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (stat(slash ? apr_pstrmemdup(c->pool, path, (apr_size_t)(slash - path + 1)) : ".", &st) !=
        0) {
        return errno;
    }
    *owner = st.st_uid;
    *group = st.st_gid;
    return 0;
}

/* Writes a new key beside `path` and links it into place: nobody ever sees half a key, and the
 * first of two makers wins. */
static ida_kind make_key(ida_ctx *c, const char *path, uid_t owner, gid_t group)
{
    unsigned char bytes[IDA_SEAL_KEY_LEN];
    char text[KEY_TEXT_LEN + 1];
    ida_random(c->env, bytes, sizeof bytes);
    char *hex = ida_hex(c->pool, bytes, sizeof bytes);
    memcpy(text, hex, KEY_TEXT_LEN);
    text[KEY_TEXT_LEN] = '\n';
    OPENSSL_cleanse(hex, KEY_TEXT_LEN);
    OPENSSL_cleanse(bytes, sizeof bytes);

    char *fresh = apr_pstrcat(c->pool, path, ".XXXXXX", NULL);
    int fd = mkostemp(fresh, O_CLOEXEC); /* O_EXCL, mode 0600 */
    int good = fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text && fsync(fd) == 0;
    OPENSSL_cleanse(text, sizeof text);
    int error = good ? ida_file_place(fd, 0400, owner, group) : errno;
    if (!error && link(fresh, path) != 0 && errno != EEXIST) {
        error = errno;
    }
    if (fd >= 0) {
        close(fd);
        unlink(fresh);
    }
    return error ? key_fail(c, path, ida_printf(c->pool, "cannot be made: %s.", strerror(error)))
                 : IDA_OK;
}

ida_kind ida_seal_key_make(ida_ctx *c, const char *path, uid_t owner, gid_t group)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), given = owner != (uid_t)-1;
    int error = fd < 0 ? errno : given ? ida_file_place(fd, 0400, owner, group) : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (error == ENOENT) {
        error = given ? 0 : owner_of_directory(c, path, &owner, &group);
        if (!error) {
            return make_key(c, path, owner, group);
        }
    }
    return error ? key_fail(c, path, ida_printf(c->pool, "cannot be made: %s.", strerror(error)))
                 : IDA_OK;
}

ida_kind ida_seal_key_read(ida_ctx *c, const char *path, unsigned char key[IDA_SEAL_KEY_LEN])
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return key_fail(c, path,
                        errno == ENOENT
                            ? "does not exist; idadminctl schema upgrade makes it."
                            : ida_printf(c->pool, "cannot be read: %s.", strerror(errno)));
    }
    char text[KEY_TEXT_LEN + 2];
    ida_kind kind = IDA_OK;
    size_t len = 0;
    const char *how = ida_web_user_may(c->pool, path, 1);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        kind = key_fail(c, path, "is not a regular file.");
    } else if (status.st_mode & S_IRWXO) {
        kind = key_fail(c, path, "is open to other users; run: chmod o= on it.");
    } else if (how) {
        kind = key_fail(c, path, ida_printf(c->pool, "%s.", how));
    } else {
        ssize_t got = read(fd, text, sizeof text);
        len = got > 0 ? (size_t)got : 0;
        size_t bytes_len = 0;
        while (len && (text[len - 1] == '\n' || text[len - 1] == '\r')) {
            len--;
        }
        char *hex = apr_pstrmemdup(c->pool, text, len);
        unsigned char *bytes = len == KEY_TEXT_LEN ? ida_unhex(c->pool, hex, &bytes_len) : NULL;
        if (bytes) {
            memcpy(key, bytes, IDA_SEAL_KEY_LEN);
            OPENSSL_cleanse(bytes, IDA_SEAL_KEY_LEN);
        } else {
            kind = key_fail(c, path, "is damaged: it must hold 64 hexadecimal digits.");
        }
        OPENSSL_cleanse(hex, len);
        OPENSSL_cleanse(text, sizeof text);
    }
    close(fd);
    return kind;
}
