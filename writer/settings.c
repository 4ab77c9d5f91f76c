/* Owns the settings that httpd's parent gives to a writer at its start, and the change from root
 * to the user that writes. Must not know the use of the settings. */
#include <apr_strings.h>
#include <apr_user.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/writer.h"

/* "operator contoso\n"... */
static const char *read_roles(writer_settings *s, apr_pool_t *pool)
{
    char *at = apr_pstrdup(pool, s->text[SETTING_ROLES] ? s->text[SETTING_ROLES] : ""), *line;
    int count = 0;
    for (const char *c = at; *c; c++) {
        count += *c == '\n';
    }
    s->roles = apr_pcalloc(pool, sizeof *s->roles * (size_t)(count + 1));
    while ((line = strsep(&at, "\n")) != NULL && *line) {
        char *company = strchr(line, ' ');
        if (!company) {
            return "a role without its company";
        }
        *company++ = '\0';
        int role = ida_role_parse(line);
        if (role < 0) {
            return "a role that is none";
        }
        s->roles[s->role_count++] = (ida_grant){.role = (ida_role)role, .company = company};
    }
    return NULL;
}

static const char *read_rate(const char *text, ida_rate *rate)
{
    return text ? ida_rate_parse(text, rate) : NULL;
}

const char *settings_read(writer_settings *s, int fd, apr_pool_t *pool)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0) {
        return "no settings came with it: only httpd starts this program";
    }
    size_t len = (size_t)st.st_size;
    char *all = apr_palloc(pool, len);
    if (pread(fd, all, len, 0) != (ssize_t)len || !wire_get(all, len, s->text, SETTING_COUNT) ||
        !s->text[SETTING_PARENT] || !s->text[SETTING_STORE] || !s->text[SETTING_SEAL_KEY]) {
        return "its settings cannot be read";
    }
    s->parent = (pid_t)atol(s->text[SETTING_PARENT]);
    const char *fault = read_rate(s->text[SETTING_RATE_KEY], &s->rate_key);
    fault = fault ? fault : read_rate(s->text[SETTING_RATE_COMPANY], &s->rate_company);
    return fault ? fault : read_roles(s, pool);
}

static const char *failed(apr_pool_t *pool, const char *what)
{
    return apr_psprintf(pool, "%s: %s", what, strerror(errno));
}

const char *settings_become(const writer_settings *s, apr_pool_t *pool)
{
    const char *uid = s->text[SETTING_UID], *gid = s->text[SETTING_GID],
               *more = s->text[SETTING_MORE];
    if (uid && gid && more) {
        uid_t user = (uid_t)strtoul(uid, NULL, 10);
        gid_t group = (gid_t)strtoul(gid, NULL, 10), other = (gid_t)strtoul(more, NULL, 10);
        char *name;
        int grouped = apr_uid_name_get(&name, user, pool) == APR_SUCCESS
                          ? initgroups(name, group)
                          : setgroups(other != 0, &other);
        if (setgid(group) != 0 || grouped != 0 || setuid(user) != 0) {
            return failed(pool, "cannot become the user that writes");
        }
        if (user != 0 && setuid(0) == 0) {
            return "root was not given up";
        }
    }
    /* No other process may read its memory: neither one of its user nor through a core file. */
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    umask(027);
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ? failed(pool, "prctl")
           : !writer_confine()                     ? failed(pool, "a filter of system calls")
           : chdir("/") != 0                       ? failed(pool, "/")
                                                   : NULL;
}
