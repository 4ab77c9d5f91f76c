/* Owns what makes a tenant document trustworthy for the worker: the seal over what the worker acts
 * on, the seal's key, and the files that hold secrets. Must not know the store. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/key_file.h"
#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"

#define KEY_NAME "seal key"

/* What the seal covers: whoever changes where the directory's secrets, initial passwords, webhooks
 * or notifications go, what the worker does by itself, or what a template or a service grants and
 * who approves it, breaks it. Seals of before covered the first `count` of them. */
static const char *const sealed_members[] = {"directories", "workflows", "notifications",
                                             "roleTemplates", "accessCatalog"};
#define SEALED (sizeof sealed_members / sizeof *sealed_members)
#define SEALED_BEFORE 3

static char *sealed_text(apr_pool_t *pool, const ida_tenant *tenant, int64_t revision, size_t count)
{
    json_t *all = json_object();
    ida_json_put(all, "companyId", tenant->id);
    if (revision) {
        json_object_set_new(all, "revision", json_integer(revision));
    }
    for (size_t i = 0; i < count; i++) {
        json_object_set(all, sealed_members[i],
                        json_object_get(tenant->document, sealed_members[i]));
    }
    char *text = ida_json_sorted(pool, all);
    json_decref(all);
    return text;
}

static char *seal_of(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN],
                     const ida_tenant *tenant, int64_t revision, size_t count)
{
    unsigned char mac[IDA_DIGEST_LEN];
    const char *text = sealed_text(pool, tenant, revision, count);
    const ida_bytes parts[] = {{"seal", 4}, {text, strlen(text)}};
    ida_hmac_sha256(key, IDA_SEAL_KEY_LEN, parts, 2, mac);
    return ida_hex(pool, mac, sizeof mac);
}

static int is_seal(const unsigned char key[IDA_SEAL_KEY_LEN], const ida_tenant *tenant,
                   int64_t revision, const char *seal, size_t count)
{
    apr_pool_t *scratch;
    if (!seal || strlen(seal) != IDA_DIGEST_LEN * 2) {
        return 0;
    }
    apr_pool_create(&scratch, NULL);
    int valid = CRYPTO_memcmp(seal_of(scratch, key, tenant, revision, count), seal,
                              IDA_DIGEST_LEN * 2) == 0;
    apr_pool_destroy(scratch);
    return valid;
}

char *ida_tenant_seal(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN],
                      const ida_tenant *tenant, int64_t revision)
{
    return seal_of(pool, key, tenant, revision, SEALED);
}

int ida_tenant_seal_valid(const unsigned char key[IDA_SEAL_KEY_LEN], const ida_tenant *tenant,
                          int64_t revision, const char *seal)
{
    return is_seal(key, tenant, revision, seal, SEALED);
}

int ida_tenant_seal_before(const unsigned char key[IDA_SEAL_KEY_LEN], const ida_tenant *tenant,
                           int64_t revision, const char *seal)
{
    return is_seal(key, tenant, revision, seal, SEALED_BEFORE);
}

char *ida_seal_key_name(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN])
{
    unsigned char mac[IDA_DIGEST_LEN];
    const ida_bytes parts[] = {{"name of the seal key", 20}};
    ida_hmac_sha256(key, IDA_SEAL_KEY_LEN, parts, 1, mac);
    return ida_hex(pool, mac, 8);
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

ida_kind ida_seal_key_make(ida_ctx *c, const char *path, uid_t owner, gid_t group)
{
    return ida_key_file_make(c, KEY_NAME, path, "", owner, group);
}

ida_kind ida_seal_key_read(ida_ctx *c, const char *path, unsigned char key[IDA_SEAL_KEY_LEN])
{
    char text[IDA_SECRET_HEX + 3]; /* a line's end, and room that tells a longer one */
    size_t len;
    ida_kind kind = ida_key_file_read(c, KEY_NAME, path, text, sizeof text, &len);
    if (kind == IDA_NOT_FOUND) {
        kind = c->kind = IDA_INTERNAL_ERROR; /* who asks for a tenant must not take it for gone */
    } else if (!kind && !ida_key_parse(c->pool, text, len, key)) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR,
                        "The " KEY_NAME " file %s is damaged: it must hold 64 hexadecimal digits.",
                        path);
    }
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}
