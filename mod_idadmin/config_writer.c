/* Owns the directives of the process that writes. Must not know how it is started. */
#include "mod_idadmin/module.h"

#include <apr_user.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef IDA_SBINDIR
#define IDA_SBINDIR "/usr/local/sbin"
#endif

#define WORKER "idadmin"
#define WRITER "idadmin-writer"

const char *config_set_writer(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    config_of(cmd->server)->writer = value;
    return !*value || *value == ':'
               ? apr_psprintf(cmd->pool, "%s \"%s\": must be USER, USER:GROUP or USER:GROUP:GROUP",
                              cmd->cmd->name, value)
               : ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

const char *config_set_writer_program(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    config_of(cmd->server)->writer_program = value;
    return *value != '/' ? apr_psprintf(cmd->pool, "%s \"%s\": must be a program given from / on",
                                        cmd->cmd->name, value)
                         : ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

const char *config_set_writer_store(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    const char *fault = config_store_fault(cmd, value);
    config_of(cmd->server)->writer_store = value;
    return fault ? fault : ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

const char *config_set_seal_key(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    config_of(cmd->server)->seal_key = value;
    return *value != '/' ? apr_psprintf(cmd->pool, "%s \"%s\": must be a file given from / on",
                                        cmd->cmd->name, value)
                         : ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

const char *config_writer_program(server_rec *s)
{
    const server_config *config = config_of(s);
    return config->writer_program ? config->writer_program : IDA_SBINDIR "/idadmin-writer";
}

const char *config_writer_store(server_rec *s)
{
    const server_config *config = config_of(s);
    return config->writer_store ? config->writer_store : config_store(s);
}

/* Its path alone: the writer reads it, after it has given up root. */
const char *config_seal_key(server_rec *s)
{
    const server_config *config = config_of(s);
    return config->seal_key ? config->seal_key
                            : store_default_seal_key(s->process->pconf, config_store(s));
}

/* "#NUMBER" or a name; 1 when it is known. */
static int find_user(apr_pool_t *pool, const char *name, writer_user *out, int *has_group)
{
    char *end;
    if (*name == '#') {
        out->uid = (uid_t)strtoul(name + 1, &end, 10);
        return name[1] && !*end;
    }
    *has_group = apr_uid_get(&out->uid, &out->gid, name, pool) == APR_SUCCESS;
    return *has_group;
}

static int find_group(apr_pool_t *pool, const char *name, gid_t *group)
{
    char *end;
    if (*name == '#') {
        *group = (gid_t)strtoul(name + 1, &end, 10);
        return name[1] && !*end;
    }
    return apr_gid_get(group, name, pool) == APR_SUCCESS;
}

/* A user of its own, where the store was given to its group; else as before there was one. */
static const char *default_user(server_rec *s)
{
    struct stat st;
    const struct passwd *writer = getpwnam(WRITER);
    const char *path = store_sqlite_path(config_writer_store(s));
    int given = writer && path && stat(path, &st) == 0 && st.st_gid == writer->pw_gid;
    return given && (st.st_mode & S_IWGRP) ? WRITER : WORKER;
}

const char *config_writer_user(server_rec *s, writer_user *out)
{
    const server_config *config = config_of(s);
    apr_pool_t *pool = s->process->pconf;
    const char *given = config->writer ? config->writer : default_user(s);
    char *more = apr_pstrdup(pool, given), *user = strsep(&more, ":"), *group = strsep(&more, ":");
    int has_group = 0;
    *out = (writer_user){0};
    if (geteuid() != 0) {
        return NULL; /* without root the writer keeps the user of httpd */
    }
    if (!find_user(pool, user, out, &has_group)) {
        return apr_psprintf(pool,
                            "IdAdminWriter: there is no user %s, who writes the store "
                            "(doc/install.md, step 3)",
                            user);
    }
    if ((group ? !find_group(pool, group, &out->gid) : !has_group) ||
        (more && !find_group(pool, more, &out->more))) {
        return apr_psprintf(pool, "IdAdminWriter %s: there is no group %s%s%s", given,
                            group ? group : "named", more ? " or " : "", more ? more : "");
    }
    if (out->uid == 0) {
        return apr_psprintf(pool, "IdAdminWriter %s: the writer gives up root; name its own user",
                            given);
    }
    out->name = user;
    return NULL;
}
