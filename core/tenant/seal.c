/* Owns what makes a tenant document trustworthy: the seal over all of it, the seal's key, and
 * the files that contain secrets. Must not know the store. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/file.h"
#include "core/base/key_file.h"
#include "core/base/secret_path.h"
#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"

#define KEY_NAME "seal key"

/* Hexadecimal digits of a HMAC; the key is the seal key. */
static char *mac_text(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN],
                      const ida_bytes *parts, size_t count)
{
    unsigned char mac[IDA_DIGEST_LEN];
    ida_hmac_sha256(key, IDA_SEAL_KEY_LEN, parts, count, mac);
    return ida_hex(pool, mac, sizeof mac);
}

static ida_bytes bytes_of(const char *text)
{
    return (ida_bytes){text, strlen(text)};
}

static int same_mac(const char *right, const char *given)
{
    return given && strlen(given) == IDA_DIGEST_LEN * 2 &&
           CRYPTO_memcmp(right, given, IDA_DIGEST_LEN * 2) == 0;
}

/* The text is sealed as it is stored, so there is no list of sealed members to maintain. */
char *ida_seal_make(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN], const char *tenant,
                    const ida_stored_tenant *stored)
{
    const ida_bytes parts[] = {bytes_of("tenant document"), bytes_of(tenant),
                               bytes_of(apr_psprintf(pool, "%" APR_INT64_T_FMT, stored->revision)),
                               bytes_of(stored->document)};
    return mac_text(pool, key, parts, sizeof parts / sizeof *parts);
}

int ida_seal_valid(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN], const char *tenant,
                   const ida_stored_tenant *stored)
{
    return same_mac(ida_seal_make(pool, key, tenant, stored), stored->seal);
}

char *ida_seal_key_name(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN])
{
    unsigned char mac[IDA_DIGEST_LEN];
    const ida_bytes parts[] = {{"name of the seal key", 20}};
    ida_hmac_sha256(key, IDA_SEAL_KEY_LEN, parts, 1, mac);
    return ida_hex(pool, mac, 8);
}

const char *ida_seal_statement(ida_ctx *c, const char *what, const char *id, const char *text)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    const ida_bytes parts[] = {bytes_of("statement"), bytes_of(what), bytes_of(id), bytes_of(text)};
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    if (!c->env->seal_key || ida_seal_key_read(own, c->env->seal_key, key)) {
        return NULL;
    }
    const char *proof = mac_text(c->pool, key, parts, sizeof parts / sizeof *parts);
    OPENSSL_cleanse(key, sizeof key);
    return proof;
}

int ida_seal_statement_holds(ida_ctx *c, const char *what, const char *id, const char *text,
                             const char *proof)
{
    const char *right = ida_seal_statement(c, what, id, text);
    return !c->env->seal_key || (right && same_mac(right, proof));
}

/* NULL if the file may be used, otherwise why not. Judges the permissions of the opened
 * descriptor. */
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
    const char *file = secret ? ida_secret_path(c->pool, path) : path;
    const char *fault = !file            ? NULL /* the worker's, which looks when it begins */
                        : file[0] == '/' ? file_fault(c->pool, file, secret)
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

ida_kind ida_seal_key_make(ida_ctx *c, const char *path, uid_t owner, gid_t group)
{
    ida_kind kind = ida_key_file_make(c, KEY_NAME, path, "", owner, group);
    gid_t writer = ida_writer_group();
    if (!kind && writer != (gid_t)-1) { /* a member's alone to give; doctor tells where it is not */
        ida_file_share(path, writer, 0440);
        ida_file_share(apr_pstrcat(c->pool, path, IDA_SEAL_REVISIONS, NULL), writer, 0640);
    }
    return kind;
}

ida_kind ida_seal_key_read(ida_ctx *c, const char *path, unsigned char key[IDA_SEAL_KEY_LEN])
{
    char text[IDA_SECRET_HEX + 3]; /* line end, and room to detect a longer line */
    size_t len;
    ida_kind kind = ida_key_file_read(c, KEY_NAME, path, text, sizeof text, &len);
    if (kind == IDA_NOT_FOUND) {
        kind = c->kind = IDA_INTERNAL_ERROR; /* callers must not take the tenant for missing */
    } else if (!kind && !ida_key_parse(c->pool, text, len, key)) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR,
                        "The " KEY_NAME " file %s is damaged: it must hold 64 hexadecimal digits.",
                        path);
    }
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}
