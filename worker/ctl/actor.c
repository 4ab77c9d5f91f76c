/* Owns the name under which the audit log has what a command does: the person, although the command
 * runs as root or as the service's user. A user who may run it may also claim another name; so the
 * process's own user is recorded beside a name that differs. */
#include <apr_strings.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "worker/ctl/ctl.h"

#define NAME_MAX_BYTES 128
#define NOBODY_SIGNED_IN 4294967295UL /* as the kernel spells it */

static const char *name_of(apr_pool_t *pool, uid_t uid)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) {
        return apr_pstrdup(pool, found->pw_name);
    }
    return ida_printf(pool, "uid %ld", (long)uid);
}

/* The user who signed in to this session, whatever su and runuser made of it since; NULL: not
 * known. */
static const char *login_name(apr_pool_t *pool)
{
    unsigned long uid = NOBODY_SIGNED_IN;
    FILE *in = fopen("/proc/self/loginuid", "re");
    if (in) {
        if (fscanf(in, "%lu", &uid) != 1) {
            uid = NOBODY_SIGNED_IN;
        }
        fclose(in);
    }
    return uid == NOBODY_SIGNED_IN ? NULL : name_of(pool, (uid_t)uid);
}

static int is_good(const char *name)
{
    return name && *name && strlen(name) <= NAME_MAX_BYTES && ida_utf8_valid(name, strlen(name)) &&
           !ida_has_control(name, 0);
}

int ctl_actor_set(ctl_call *ctl, const char *as)
{
    const char *user = name_of(ctl->pool, getuid()), *sudo = getenv("SUDO_USER"), *login;
    if (as && !is_good(as)) {
        return ctl_usage(ctl, "--as must be a name of at most %d bytes without control characters",
                         NAME_MAX_BYTES);
    }
    login = login_name(ctl->pool);
    ctl->actor = as ? as : is_good(sudo) ? apr_pstrdup(ctl->pool, sudo) : login ? login : user;
    ctl->label = strcmp(ctl->actor, user) == 0 ? "" : apr_pstrcat(ctl->pool, "as ", user, NULL);
    return CTL_DONE;
}
