/* idadmin-writer: its start by httpd's parent, its user, its end. Knows nothing of what is written.
 */
#include <apr_general.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/build.h"
#include "core/zone/zone.h"
#include "writer/writer.h"

#define CALLERS_MAX 4096 /* API users cached; a kilobyte each */
/* Writes in progress at the same time, as many as one commit takes, and for one company, so that
 * its burst delays only itself. */
#define TURNS 32
#define CONNECTIONS 8
#define OF_COMPANY \
    2 /* writes of one company wait for its row: more of them would only wait there */
#define TURNS_OF_COMPANY 16

static int failed(const writer *w, const char *fault)
{
    ida_log(&w->env, IDA_LOG_ERROR, "IDA0236", "idadmin-writer does not start: %s", fault);
    sleep(1); /* its parent starts another one at once, and without a pause would do nothing else */
    return 1;
}

/* At a restart httpd's signal handling is inherited. The parent says when to end, by its socket. */
static void ignore_signals(void)
{
    static const int own[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGINT, SIGPIPE};
    sigset_t none;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        signal(own[i], SIG_IGN);
    }
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
    apr_pool_t *pool;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    if (argc > 1) {
        int version = strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0;
        printf(version ? "idadmin-writer %s\n"
                       : "idadmin-writer %s is started by httpd with mod_idadmin (IdAdminWriter), "
                         "not by hand.\n",
               ida_build);
        return version ? 0 : 2;
    }
    writer *w = apr_pcalloc(pool, sizeof *w);
    ida_env_default(&w->env);
    writer_log_install(&w->env, NULL);
    ignore_signals();
    const char *fault = settings_read(&w->settings, WRITER_SETTINGS, pool);
    writer_log_install(&w->env, fault ? NULL : w->settings.text[SETTING_LOG_LEVEL]);
    fault = fault ? fault : settings_become(&w->settings, pool);
    close(WRITER_SETTINGS);
    if (fault) {
        return failed(w, fault);
    }
    struct stat key;
    w->env.seal_key = w->settings.text[SETTING_SEAL_KEY];
    w->env.seal_key_is_lent = stat(w->env.seal_key, &key) == 0 && key.st_uid != geteuid();
    zone_init(pool);
    w->callers = ida_callers_make(pool, CALLERS_MAX, 0);
    w->turns = share_make(pool, (share_size){.places = TURNS, .of_company = TURNS_OF_COMPANY});
    const char *dsn = w->settings.text[SETTING_STORE];
    w->source = store_pool_make(pool, dsn, DB_REQUEST, CONNECTIONS, OF_COMPANY);
    room_start(pool);
    return loop_run(w);
}
