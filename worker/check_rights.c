/* Owns the doctor's look at files of this machine: who owns them, and what their modes allow. Must
 * not know what is in them. */
#include <apr_strings.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "worker/checks.h"

typedef struct wanted {
    const char *setting, *path;
    mode_t kind;      /* S_IFREG, S_IFDIR; 0: any */
    mode_t forbidden; /* bits that the mode must not have */
    mode_t needed;    /* bits that it must have */
    int absent_ok;
    const char *remedy; /* for a mode that is wrong */
} wanted;

static const char *user_name(apr_pool_t *pool, uid_t uid)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    return getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found
               ? apr_pstrdup(pool, entry.pw_name)
               : ida_printf(pool, "user %ld", (long)uid);
}

/* Whose files these have to be: he who has the store's, else the seal key's. */
static int service_user(const worker_config *config, uid_t *uid)
{
    struct stat st;
    const char *path = store_sqlite_path(config->store);
    int known = (path && stat(path, &st) == 0) || stat(config->seal_key, &st) == 0;
    *uid = known ? st.st_uid : geteuid();
    return known;
}

static const char *fault_of(apr_pool_t *pool, const wanted *file, uid_t owner)
{
    struct stat st;
    if (stat(file->path, &st) != 0) {
        return errno == ENOENT && file->absent_ok
                   ? NULL
                   : ida_printf(pool, "%s: %s", file->path, strerror(errno));
    }
    if (file->kind && (st.st_mode & S_IFMT) != file->kind) {
        return ida_printf(pool, "%s is no %s", file->path,
                          file->kind == S_IFDIR ? "directory" : "regular file");
    }
    if (st.st_uid != owner && st.st_uid != 0) {
        return ida_printf(pool, "%s belongs to %s, the service's files to %s: chown %s %s",
                          file->path, user_name(pool, st.st_uid), user_name(pool, owner),
                          user_name(pool, owner), file->path);
    }
    if (S_ISCHR(st.st_mode)) { /* /dev/null: none is wanted */
        return NULL;
    }
    if ((st.st_mode & file->forbidden) || (st.st_mode & file->needed) != file->needed) {
        return ida_printf(pool, "%s has mode %04o: chmod %s %s", file->path,
                          (unsigned)(st.st_mode & 07777), file->remedy, file->path);
    }
    return NULL;
}

void check_rights(check_look *look)
{
    const worker_config *config = look->config;
    apr_pool_t *pool = look->pool;
    const char *path = store_sqlite_path(config->store), *slash = path ? strrchr(path, '/') : NULL;
    const char *folder = slash ? apr_pstrmemdup(pool, path, (apr_size_t)(slash - path)) : NULL;
    const wanted files[] = {
        {"configuration", config->file, 0, S_IWGRP | S_IWOTH, 0, 0, "go-w"},
        {"store", folder, S_IFDIR, S_IWOTH, S_IWUSR, 0, "o-w"},
        {"store", path, S_IFREG, S_IRWXO, S_IRUSR | S_IWUSR, 0, "u+rw,o="},
        {"spool", config->spool, S_IFDIR, S_IRWXO, S_IRWXU, !config->spool_given, "u+rwx,o="},
        {"seal_key", config->seal_key, S_IFREG, S_IRWXG | S_IRWXO, S_IRUSR, 0, "400"},
        {"audit_key", config->audit_key, S_IFREG, S_IRWXG | S_IRWXO, S_IRUSR, 1, "600"},
        {"audit_signing_key", config->audit_signing_key, S_IFREG, S_IRWXG | S_IRWXO, S_IRUSR, 1,
         "600"},
    };
    uid_t owner;
    if (!service_user(config, &owner)) {
        check_line(look, NULL, "store", CHECK_FAULT,
                   ida_printf(pool,
                              "there is neither a store nor %s: idadminctl schema upgrade "
                              "makes both, once",
                              config->seal_key));
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *fault = files[i].path ? fault_of(pool, &files[i], owner) : NULL;
        if (fault) {
            check_line(look, files[i].setting, "rights", CHECK_FAULT, fault);
        }
    }
    check_line(look, NULL, "service user", CHECK_OK,
               ida_printf(pool, "%s, who owns store and keys", user_name(pool, owner)));
}
