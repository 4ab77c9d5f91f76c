/* Owns the doctor's look at files of this machine: who owns them, and what their modes allow. Must
 * not know what is in them. */
#include <apr_strings.h>
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/tenant/tenant.h"
#include "worker/checks.h"

typedef struct wanted {
    const char *setting, *path;
    mode_t kind;      /* S_IFREG, S_IFDIR; 0: any */
    mode_t forbidden; /* bits that the mode must not have */
    mode_t needed;    /* bits that it must have */
    int absent_ok;
    const char *remedy; /* for a mode that is wrong */
    enum { SERVICES, ROOTS_TOO, WRITERS_GROUP } whose;
} wanted;

static const char *user_name(apr_pool_t *pool, uid_t uid)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    return getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found
               ? apr_pstrdup(pool, entry.pw_name)
               : ida_printf(pool, "%ld", (long)uid);
}

static const char *folder_of(apr_pool_t *pool, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? apr_pstrmemdup(pool, path, (apr_size_t)(slash - path)) : NULL;
}

/* Whose files these have to be: the first that are not root's say it. 0: there are none. */
static int service_user(apr_pool_t *pool, const worker_config *config, struct stat *st)
{
    const char *path = store_sqlite_path(config->store);
    const char *const places[] = {folder_of(pool, path), path, config->spool, config->seal_key,
                                  config->audit_key};
    struct stat one;
    int found = 0;
    *st = (struct stat){0};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] && stat(places[i], &one) == 0) {
            *st = st->st_uid ? *st : one;
            found |= i == 1 || i == 3; /* directories alone are no service */
        }
    }
    return found;
}

int check_become(apr_pool_t *pool, const worker_config *config)
{
    struct stat st = {0};
    if (geteuid() != 0 || !service_user(pool, config, &st) || !st.st_uid) {
        return 1;
    }
    const char *name = user_name(pool, st.st_uid);
    struct passwd *entry = getpwnam(name);
    gid_t group = entry ? entry->pw_gid : st.st_gid, writer = ida_writer_group();
    gid_t groups[] = {group, writer == (gid_t)-1 ? group : writer};
    return (entry ? initgroups(name, group) : setgroups(2, groups)) == 0 && setgid(group) == 0 &&
           setuid(st.st_uid) == 0;
}

static const char *fault_of(apr_pool_t *pool, const wanted *file, const struct stat *service)
{
    struct stat st;
    gid_t group = file->whose == WRITERS_GROUP ? ida_writer_group() : service->st_gid;
    if (stat(file->path, &st) != 0) {
        return errno == ENOENT && file->absent_ok
                   ? NULL
                   : ida_printf(pool, "%s: %s", file->path, strerror(errno));
    }
    if (file->kind && (st.st_mode & S_IFMT) != file->kind) {
        return ida_printf(pool, "%s is no %s", file->path,
                          file->kind == S_IFDIR ? "directory" : "regular file");
    }
    if (st.st_uid != service->st_uid && !(file->whose == ROOTS_TOO && st.st_uid == 0)) {
        const char *name = user_name(pool, service->st_uid);
        return ida_printf(pool, "%s belongs to %s, the service's files to %s: chown %s:%ld %s",
                          file->path, user_name(pool, st.st_uid), name, name, (long)group,
                          file->path);
    }
    if (file->whose == WRITERS_GROUP && st.st_gid != group) {
        return ida_printf(pool, "%s has the group %ld, not the writer's: chgrp %ld %s", file->path,
                          (long)st.st_gid, (long)group, file->path);
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

/* What httpd's user needs by its group, where there is such a user. */
static mode_t web(mode_t bits)
{
    return ida_web_user_name() ? bits : 0;
}

/* All files of a SQLite store; keys that lie among them have rows of their own. */
static void look_at_store(check_look *look, const char *path, const struct stat *service)
{
    glob_t found = {0};
    const char *key = look->config->seal_key, *dot = strrchr(path, '.');
    size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - path) : strlen(path);
    int count = glob(ida_printf(look->pool, "%.*s[-.]*", (int)stem, path), 0, NULL, &found) == 0
                    ? (int)found.gl_pathc
                    : 0;
    for (int i = 0; i < count; i++) {
        const char *name = apr_pstrdup(look->pool, found.gl_pathv[i]);
        int gate = strstr(name, ".gate") != NULL,
            shared = ida_writer_group() != (gid_t)-1 && strncmp(name, path, strlen(path)) == 0;
        mode_t right = gate ? (shared ? 0660 : 0600) : shared ? 0664 : 0640;
        const wanted file = {.path = name,
                             .kind = S_IFREG,
                             .forbidden = 0777 & ~right,
                             .needed = shared || web(1) ? right : right & S_IRWXU,
                             .absent_ok = 1,
                             .remedy = ida_printf(look->pool, "%o", (unsigned)right),
                             .whose = shared ? WRITERS_GROUP : SERVICES};
        const char *fault = strncmp(file.path, key, strlen(key)) != 0
                                ? fault_of(look->pool, &file, service)
                                : NULL;
        if (fault) {
            check_line(look, "store", "rights", CHECK_FAULT, fault);
        }
    }
    globfree(&found);
}

static void look_at_writer(check_look *look, const struct stat *service)
{
    const char *name = look->config->writer_group, *user = user_name(look->pool, service->st_uid);
    gid_t group = ida_writer_group();
    if (strcmp(name, "none") != 0 && group == (gid_t)-1) {
        check_line(look, "writer_group", "rights", CHECK_WARNING,
                   ida_printf(look->pool,
                              "there is no group %s, or httpd's user is in it: a writer that runs "
                              "as %s can read its secrets (doc/install.md, step 3)",
                              name, user));
    } else if (group != (gid_t)-1 && geteuid() != 0 && !group_member(group)) {
        check_line(look, "writer_group", "rights", CHECK_FAULT,
                   ida_printf(look->pool,
                              "%s is not in the group %s, to which it has to give files: usermod "
                              "-aG %s %s",
                              user, name, name, user));
    }
}

void check_rights(check_look *look)
{
    const worker_config *config = look->config;
    apr_pool_t *pool = look->pool;
    const char *path = store_sqlite_path(config->store), *folder = folder_of(pool, path);
    struct stat service = {0};
    if (!service_user(pool, config, &service)) {
        check_line(look, NULL, "store", CHECK_FAULT,
                   ida_printf(pool,
                              "there is neither a store nor %s: idadminctl schema upgrade "
                              "makes both, once",
                              config->seal_key));
        return;
    }
    int writer = ida_writer_group() != (gid_t)-1, readers = writer ? WRITERS_GROUP : SERVICES;
    mode_t seal = writer ? 0440 : 0400;
    const char *revisions = ida_printf(pool, "%s" IDA_SEAL_REVISIONS, config->seal_key);
    const wanted files[] = {
        {"configuration", config->file, 0, S_IWGRP | S_IWOTH, 0, 0, "go-w", ROOTS_TOO},
        {"store", folder, S_IFDIR, writer ? S_IRWXO : S_IWOTH, S_IRWXU | web(S_IXGRP), 0,
         writer ? "u+rwx,g+x,o=" : "u+rwx,g+x,o-w", SERVICES},
        {"spool", config->spool, S_IFDIR, S_IRWXO, S_IRWXU | web(S_IRWXG), !config->spool_given,
         "ug+rwx,o=", SERVICES},
        {"seal_key", config->seal_key, S_IFREG, 0077 & ~seal, seal, 1, writer ? "440" : "400",
         readers},
        {"seal_key", revisions, S_IFREG, 0077 & ~seal, seal, 1, writer ? "640" : "600", readers},
        {"audit_key", config->audit_key, S_IFREG, S_IRWXG | S_IRWXO, S_IRUSR, 1, "600", SERVICES},
        {"audit_signing_key", config->audit_signing_key, S_IFREG, S_IRWXG | S_IRWXO, S_IRUSR, 1,
         "600", SERVICES},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *fault = files[i].path ? fault_of(pool, &files[i], &service) : NULL;
        if (fault) {
            check_line(look, files[i].setting, "rights", CHECK_FAULT, fault);
        }
    }
    look_at_writer(look, &service);
    if (path) {
        look_at_store(look, path, &service);
    }
    check_line(look, NULL, "service user", CHECK_OK,
               ida_printf(pool, "%s, who owns store and keys", user_name(pool, service.st_uid)));
}
