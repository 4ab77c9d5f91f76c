/* Owns the identity of httpd's user, what the file system allows it, and the group of the writer's
 * user. Must not know the content of the files. */
#include "core/base/web_user.h"

#include <apr_strings.h>
#include <endian.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/context.h"

#define GROUPS_MAX 1024
#define READS 4u
#define WRITES 2u
#define ENTERS 1u

typedef struct web_user {
    char name[64];
    uid_t uid;
    int group_count;
    struct web_user *before;
    gid_t groups[];
} web_user;

/* Replaced as a whole. Earlier ones are kept: a reload is rare, and other threads may still be
 * reading them. */
static web_user *_Atomic known;

int ida_web_user_set(const char *name, const char *const *directories)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    int count = 0, own = GROUPS_MAX;
    while (directories[count]) {
        count++;
    }
    if (strlen(name) >= sizeof known->name ||
        getpwnam_r(name, &entry, buffer, sizeof buffer, &found) != 0 || !found) {
        return 0;
    }
    web_user *u = calloc(1, sizeof *u + sizeof(gid_t) * (size_t)(GROUPS_MAX + count));
    if (!u) {
        abort(); /* no memory for a few bytes: as APR does */
    }
    strcpy(u->name, name);
    u->uid = entry.pw_uid;
    if (getgrouplist(name, entry.pw_gid, u->groups, &own) < 0) {
        own = GROUPS_MAX; /* more than the kernel gives a process on most systems: these are checked
                           */
    }
    u->group_count = own;
    for (int i = 0; i < count; i++) {
        struct stat st;
        if (stat(directories[i], &st) == 0 && (st.st_mode & (S_ISGID | S_IWGRP))) {
            u->groups[u->group_count++] = st.st_gid; /* httpd may be a member by its directive
                                                        Group */
        }
    }
    u->before = atomic_load(&known);
    atomic_store(&known, u);
    return 1;
}

const char *ida_web_user_name(void)
{
    const web_user *u = atomic_load(&known);
    return u ? u->name : NULL;
}

int ida_web_user_is_ours(void)
{
    const web_user *u = atomic_load(&known);
    return u && geteuid() == u->uid;
}

static int in_group(const web_user *u, gid_t group)
{
    for (int i = 0; i < u->group_count; i++) {
        if (u->groups[i] == group) {
            return 1;
        }
    }
    return 0;
}

/* Permissions that an access control list (the kernel's form: a version, then entries of tag,
 * permissions, ID) gives to a user who is not the owner. */
static unsigned list_permits(const web_user *u, const struct stat *st, const unsigned char *list,
                             size_t len)
{
    enum { USER = 2, GROUP_OWNER = 4, GROUP = 8, MASK = 16, OTHER = 32 };
    unsigned user = 8, group = 8, mask = 7, other = 0; /* 8: no entry */
    for (size_t at = 4; at + 8 <= len; at += 8) {
        uint16_t tag, permissions;
        uint32_t id;
        memcpy(&tag, list + at, 2);
        memcpy(&permissions, list + at + 2, 2);
        memcpy(&id, list + at + 4, 4);
        tag = le16toh(tag);
        id = le32toh(id);
        unsigned gives = le16toh(permissions) & 7u;
        if (tag == USER && id == u->uid) {
            user = gives;
        } else if ((tag == GROUP_OWNER && in_group(u, st->st_gid)) ||
                   (tag == GROUP && in_group(u, (gid_t)id))) {
            group = (group & 7) | gives;
        } else if (tag == MASK) {
            mask = gives;
        } else if (tag == OTHER) {
            other = gives;
        }
    }
    return user != 8 ? user & mask : group != 8 ? group & mask : other;
}

/* READS | WRITES | ENTERS. The owner of a file can grant himself what its mode does not. */
static unsigned permits(const web_user *u, const char *path, const struct stat *st)
{
    unsigned char list[4 + 8 * 256];
    if (st->st_uid == u->uid || u->uid == 0) {
        return READS | WRITES | ENTERS;
    }
    ssize_t len = getxattr(path, "system.posix_acl_access", list, sizeof list);
    if (len > 0) {
        return list_permits(u, st, list, (size_t)len);
    }
    unsigned group = st->st_mode >> 3 & 7, other = st->st_mode & 7;
    if (len < 0 && errno == ERANGE) {
        return group | other; /* the list is longer than this code reads: its mask is in the
                                 group bits of the mode */
    }
    return in_group(u, st->st_gid) ? group : other;
}

/* Along one spelling of the path, from the root to the file. */
static const char *judge(const web_user *u, apr_pool_t *pool, const char *path, int secret)
{
    struct stat here, next;
    char *at = apr_pstrdup(pool, path);
    if (stat("/", &here) != 0) {
        return NULL;
    }
    const char *parent = "/";
    for (char *slash = at; slash;) {
        slash = strchr(slash + 1, '/');
        if (slash) {
            *slash = '\0';
        }
        if (stat(at, &next) != 0) {
            return NULL;
        }
        unsigned may = permits(u, parent, &here);
        int kept = (here.st_mode & S_ISVTX) && here.st_uid != u->uid && next.st_uid != u->uid;
        if ((may & (WRITES | ENTERS)) == (WRITES | ENTERS) && !kept) {
            return ida_printf(pool,
                              "can be replaced by httpd's user %s, who may write the directory %s",
                              u->name, parent);
        }
        if (!(may & ENTERS)) {
            return NULL;
        }
        here = next;
        parent = apr_pstrdup(pool, at);
        if (slash) {
            *slash = '/';
        }
    }
    unsigned may = permits(u, path, &here);
    if (!S_ISREG(here.st_mode) || (!(may & WRITES) && !(secret && (may & READS)))) {
        return NULL;
    }
    return ida_printf(pool, "can be %s by httpd's user %s (owner %ld, group %ld, mode %04o)%s",
                      may & WRITES ? "written" : "read", u->name, (long)here.st_uid,
                      (long)here.st_gid, (unsigned)(here.st_mode & 07777),
                      secret ? ": give it to the worker's user alone, mode 0400"
                             : ": take that away");
}

const char *ida_web_user_may(apr_pool_t *pool, const char *path, int secret)
{
    const web_user *u = atomic_load(&known);
    char *real = u && path[0] == '/' ? realpath(path, NULL) : NULL;
    const char *how = NULL;
    if (real) {
        how = judge(u, pool, real, secret);
        if (!how && strcmp(real, path) != 0) {
            how = judge(u, pool, path, secret);
        }
    }
    free(real);
    return how;
}

static _Atomic gid_t writers = (gid_t)-1;

void ida_writer_group_set(const char *name)
{
    struct group entry, *found = NULL;
    char buffer[16384], *end;
    gid_t number = (gid_t)strtoul(name, &end, 10);
    getgrnam_r(name, &entry, buffer, sizeof buffer, &found);
    atomic_store(&writers, found ? found->gr_gid : *end ? (gid_t)-1 : number);
}

gid_t ida_writer_group(void)
{
    const web_user *u = atomic_load(&known);
    gid_t group = atomic_load(&writers);
    return u && in_group(u, group) ? (gid_t)-1 : group;
}
