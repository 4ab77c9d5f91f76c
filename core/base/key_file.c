/* Owns how a file with keys is created, checked and read. Must not know the purpose of a key. */
#include "core/base/key_file.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/base/web_user.h"

static ida_kind fail(ida_ctx *c, const char *what, const char *path, const char *how)
{
    return ida_fail(c, IDA_INTERNAL_ERROR, "The %s file %s %s", what, path, how);
}

static ida_kind not_made(ida_ctx *c, const char *what, const char *path, int error)
{
    return error ? fail(c, what, path, ida_printf(c->pool, "cannot be made: %s.", strerror(error)))
                 : IDA_OK;
}

/* The directory's owner, for a key that root creates without a given owner. */
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

/* Writes a new file next to `path` and renames it, so that half a key is never visible. Without
 * `replace` the first of two creators wins. */
static int put(ida_ctx *c, const char *path, const char *text, uid_t owner, gid_t group,
               int replace)
{
    char *fresh = apr_pstrcat(c->pool, path, ".XXXXXX", NULL);
    int fd = mkostemp(fresh, O_CLOEXEC); /* O_EXCL, mode 0600 */
    size_t len = strlen(text);
    int good = fd >= 0 && write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
    int error = good ? ida_file_place(fd, 0400, owner, group) : errno;
    if (!error && replace) {
        error = rename(fresh, path) != 0 ? errno : 0;
    } else if (!error && link(fresh, path) != 0 && errno != EEXIST) {
        error = errno;
    }
    if (fd >= 0) {
        close(fd);
        unlink(fresh); /* after a rename there is none any more */
    }
    return error;
}

static int make_key(ida_ctx *c, const char *path, const char *ending, uid_t owner, gid_t group)
{
    unsigned char bytes[IDA_SECRET_LEN];
    ida_random(c->env, bytes, sizeof bytes);
    char *hex = ida_hex(c->pool, bytes, sizeof bytes);
    char *text = apr_pstrcat(c->pool, hex, ending, "\n", NULL);
    int error = put(c, path, text, owner, group, 0);
    OPENSSL_cleanse(hex, IDA_SECRET_HEX);
    OPENSSL_cleanse(text, strlen(text));
    OPENSSL_cleanse(bytes, sizeof bytes);
    return error;
}

/* Root gives away a key of the service alone: no other name of a file leads here. 0 or errno. */
static int give_away(ida_ctx *c, int fd, const char *path, uid_t owner, gid_t group)
{
    struct stat st;
    uid_t keeper = 0;
    gid_t of = 0;
    int error = fstat(fd, &st) != 0 ? errno : owner_of_directory(c, path, &keeper, &of);
    int ours = st.st_uid == 0 || st.st_uid == owner || st.st_uid == keeper;
    return error ? error
           : !S_ISREG(st.st_mode) || st.st_nlink != 1 || !ours
               ? EPERM
               : ida_file_place(fd, 0400, owner, group);
}

ida_kind ida_key_file_make(ida_ctx *c, const char *what, const char *path, const char *ending,
                           uid_t owner, gid_t group)
{
    int given = owner != (uid_t)-1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (given ? O_NOFOLLOW : 0));
    int error = fd < 0 ? errno : given ? give_away(c, fd, path, owner, group) : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (error == ENOENT) {
        error = given ? 0 : owner_of_directory(c, path, &owner, &group);
        error = error ? error : make_key(c, path, ending, owner, group);
    }
    return not_made(c, what, path, error);
}

ida_kind ida_key_file_replace(ida_ctx *c, const char *what, const char *path, const char *text)
{
    struct stat st;
    int error = stat(path, &st) != 0 ? errno : put(c, path, text, st.st_uid, st.st_gid, 1);
    return not_made(c, what, path, error);
}

ida_kind ida_key_file_read(ida_ctx *c, const char *what, const char *path, char *text, size_t size,
                           size_t *len)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *len = 0;
    if (fd < 0 && errno == ENOENT) {
        return ida_fail(c, IDA_NOT_FOUND,
                        "The %s file %s does not exist; idadminctl schema upgrade makes it.", what,
                        path);
    }
    if (fd < 0) {
        return fail(c, what, path, ida_printf(c->pool, "cannot be read: %s.", strerror(errno)));
    }
    ida_kind kind = IDA_OK;
    const char *how = ida_web_user_may(c->pool, path, 1);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        kind = fail(c, what, path, "is not a regular file.");
    } else if (status.st_mode & S_IRWXO) {
        kind = fail(c, what, path, "is open to other users; run: chmod o= on it.");
    } else if (how) {
        kind = fail(c, what, path, ida_printf(c->pool, "%s.", how));
    } else {
        ssize_t got = read(fd, text, size - 1);
        *len = got > 0 ? (size_t)got : 0;
        while (*len && (text[*len - 1] == '\n' || text[*len - 1] == '\r')) {
            --*len;
        }
        text[*len] = '\0';
    }
    close(fd);
    return kind;
}

int ida_key_parse(apr_pool_t *pool, const char *text, size_t len, unsigned char key[IDA_SECRET_LEN])
{
    size_t bytes_len = 0;
    char *hex = apr_pstrmemdup(pool, text, len);
    unsigned char *bytes = len == IDA_SECRET_HEX ? ida_unhex(pool, hex, &bytes_len) : NULL;
    if (bytes) {
        memcpy(key, bytes, IDA_SECRET_LEN);
        OPENSSL_cleanse(bytes, IDA_SECRET_LEN);
    }
    OPENSSL_cleanse(hex, len);
    return bytes != NULL;
}
