/* idadmin-worker: command line, signals, start and end of processes and threads. Knows nothing of
 * tasks and directories. */
#include <apr_general.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/build.h"
#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/store/directory.h"
#include "core/store/store.h"
#include "core/zone/zone.h"
#include "worker/base/arguments.h"
#include "worker/base/log.h"
#include "worker/base/secret.h"
#include "worker/check.h"
#include "worker/hold/crash.h"
#include "worker/hold/idle.h"
#include "worker/housekeep.h"
#include "worker/layout.h"
#include "worker/loop.h"
#include "worker/notify.h"
#include "worker/options.h"
#include "worker/send/mail.h"
#include "worker/service.h"
#include "worker/supervise.h"

#define EXIT_USAGE 2

typedef struct command_line {
    apr_pool_t *pool;
    const char *config_file, *check;
    int once, help, version;
    worker_option *options;
} command_line;

static const argument_option *find_option(void *baton, const char *name)
{
    command_line *line = baton;
    const argument_option *own = argument_find(worker_own_options, name);
    return own ? own : worker_config_option(line->pool, name);
}

static void take_option(void *baton, const argument_option *option, const char *value)
{
    command_line *line = baton;
    if (strcmp(option->name, "help") == 0) {
        line->help = 1;
    } else if (strcmp(option->name, "version") == 0) {
        line->version = 1;
    } else if (strcmp(option->name, "once") == 0) {
        line->once = 1;
    } else if (strcmp(option->name, "config") == 0) {
        line->config_file = value;
    } else if (strcmp(option->name, "check") == 0) {
        line->check = value;
    } else {
        worker_option_add(line->pool, &line->options, option->name, value);
    }
}

static const char *refuse_word(void *baton, const char *word)
{
    command_line *line = baton;
    return ida_printf(line->pool, "there are no arguments, but got %s", word);
}

/* -1: continue; otherwise the exit status. */
static int parse(int argc, char *const *argv, command_line *line)
{
    const argument_reader reader = {line, find_option, take_option, refuse_word};
    const char *fault = arguments_read(line->pool, argc, argv, &reader);
    if (fault) {
        fprintf(stderr, "idadmin-worker: %s; see idadmin-worker --help\n", fault);
        return EXIT_USAGE;
    }
    if (line->help) {
        worker_help();
    } else if (line->version) {
        printf("idadmin-worker %s\n", ida_build);
    }
    return line->help || line->version ? EXIT_SUCCESS : -1;
}

/* 1 if httpd's user has no access to the worker's files; otherwise the reason has been logged. */
static int well_laid_out(const ida_env *env, const worker_config *config, apr_pool_t *pool)
{
    ida_ctx *c = ida_ctx_make(env, pool);
    if (!layout_web_user(config)) {
        ida_log(env, IDA_LOG_WARN, "IDA0361",
                "there is no user %s on this machine: it cannot be checked that httpd's user "
                "cannot read "
                "the seal key and the secrets; name it by web_user",
                config->web_user);
    }
    if (!ida_web_user_is_ours()) {
        store_cache_make(config->store, c);
    }
    if (layout_check(c, config)) {
        ida_log(env, IDA_LOG_ERROR, "IDA0360", "%s", c->message);
        return 0;
    }
    return 1;
}

/* Reads the settings and refuses those that cannot work: a mail sign-in that must fail is
 * reported now, not when a leaver's mail is due, and so is a webhook that cannot be signed. */
static ida_kind read_configuration(ida_ctx *c, apr_pool_t *pool, const command_line *line,
                                   worker_config *config)
{
    ida_kind kind = worker_config_read(c, pool, line->config_file, line->options, config);
    const char *fault = kind ? NULL : mail_credential_fault(pool, config);
    return fault ? ida_fail(c, IDA_BAD_REQUEST, "%s", fault) : kind;
}

static void reload(worker *w, apr_pool_t *pool, const command_line *line)
{
    apr_pool_t *mine; /* lives as long as the process: threads copy from it */
    apr_pool_create(&mine, pool);
    ida_ctx *c = worker_ctx(w, mine);
    worker_config config;
    int bad = read_configuration(c, mine, line, &config);
    if (!bad && !well_laid_out(&w->env, &config, mine)) {
        layout_web_user(&w->settings);
        bad = ida_fail(c, IDA_CONFLICT, "it opens secrets to httpd's user");
    }
    if (bad) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0330",
                "the configuration is as it was, the new one cannot be used: %s", c->message);
        return;
    }
    if (strcmp(config.store, w->config.store) != 0 || config.threads != w->config.threads ||
        strcmp(config.audit_key, w->config.audit_key) != 0 ||
        strcmp(config.audit_signing_key, w->config.audit_signing_key) != 0) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0331",
                "store, threads and the keys of the audit change with a restart only; everything "
                "else holds now");
    }
    worker_settings_set(w, &config);
    worker_log_limit((ida_level)worker_level_parse(config.log_level));
    worker_log_json(config.log_json);
    ida_log(&w->env, IDA_LOG_INFO, NULL, "the configuration was read again");
}

static void stop(worker *w)
{
    atomic_store(&w->stop_by, ida_monotonic(&w->env) + w->settings.stop_timeout);
    atomic_store(&w->stopping, 1);
}

static int64_t end_by(worker *w)
{
    int64_t by = atomic_load(&w->stop_by);
    return by ? by : ida_monotonic(&w->env) + w->settings.stop_timeout;
}

/* Threads that are still inside a directory call when the time is over end with the process;
 * another process takes over their tasks. */
static int left_behind(worker *w, int threads)
{
    if (threads) {
        ida_log(
            &w->env, IDA_LOG_WARN, "IDA0332",
            "threads that had not ended within the stop time: %d; a worker takes their tasks up "
            "later",
            threads);
        fflush(NULL);
        _exit(0);
    }
    return 0;
}

/* Puts the directory in which the previous process died on hold before it is called again. 0: a
 * signal to end arrived meanwhile. */
static int after_crash(worker *w, apr_pool_t *pool, const sigset_t *signals)
{
    store *main = store_make(pool, w->config.store, DB_REQUEST);
    int number = 0;
    while (number != SIGTERM && number != SIGINT && !hold_crash_settled(w, main, pool)) {
        struct timespec pause = {.tv_sec = 1};
        number = sigtimedwait(signals, NULL, &pause);
        service_tell("WATCHDOG=1"); /* a new start of the service would forget the crash */
    }
    int goes_on = number != SIGTERM && number != SIGINT;
    hold_idle_look(w, main, pool);
    if (!goes_on) {
        store_worker_gone(main, worker_ctx(w, pool), w->id);
    }
    store_disconnect(main);
    return goes_on;
}

/* The next signal, 0 when the watchdog is due. It is fed under the lock that every working thread
 * takes: where that is never free again, systemd starts the worker anew. The store's or a
 * directory's absence is none of its business. */
static int next_signal(worker *w, const sigset_t *signals)
{
    int64_t ms = service_watchdog_ms();
    if (!ms) {
        return sigwaitinfo(signals, NULL);
    }
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int number = sigtimedwait(signals, NULL, &wait);
    pthread_mutex_lock(&w->lock);
    pthread_mutex_unlock(&w->lock);
    service_tell("WATCHDOG=1");
    return number > 0 ? number : 0;
}

static int serve(worker *w, apr_pool_t *pool, const command_line *line, const sigset_t *signals)
{
    if (!after_crash(w, pool, signals)) {
        return EXIT_SUCCESS;
    }
    takeover *watch = hold_takeover_make(w, pool);
    sync_plan *plan = sync_plan_make(w, pool);
    housekeeping *keeping = housekeep_start(w, watch, plan, pool, 0);
    loop *l = keeping ? loop_start(w, watch, pool, 0) : NULL;
    notifier *n = l ? notify_start(w, pool) : NULL;
    if (!n || !sync_start(plan)) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0333", "threads cannot be started: %s",
                strerror(errno));
        return EXIT_FAILURE;
    }
    ida_log(&w->env, IDA_LOG_INFO, NULL, "idadmin-worker %s started as %s with %s; spool %s",
            ida_build, w->id, ida_count(pool, w->config.threads, "thread", "threads"),
            w->config.spool);
    service_tell(
        ida_printf(pool, "READY=1\nSTATUS=Carries out tasks as %s, version %s", w->id, ida_build));
    for (int number = 0; number != SIGTERM && number != SIGINT;) {
        number = next_signal(w, signals);
        if (number == SIGHUP) {
            reload(w, pool, line);
        }
    }
    service_tell("STOPPING=1\nSTATUS=Finishes the steps in hand");
    ida_log(&w->env, IDA_LOG_INFO, NULL,
            "stopping: steps in hand are finished, other work is given back");
    stop(w);
    left_behind(w, loop_join(l, end_by(w)));
    left_behind(w, sync_join(plan, end_by(w)));
    left_behind(w, notify_join(n, end_by(w)));
    left_behind(w, housekeep_join(keeping, end_by(w)));
    ida_log(&w->env, IDA_LOG_INFO, NULL, "stopped");
    return EXIT_SUCCESS;
}

/* What is due, until a pass finds nothing: a task may become claimable when another of the same
 * person ends. */
static int drain(worker *w, takeover *watch, apr_pool_t *pool)
{
    int64_t runs;
    do {
        loop *l = loop_start(w, watch, pool, 1);
        if (!l) {
            return 1;
        }
        loop_join(l, 0);
        runs = loop_runs(l);
        if (loop_store_away(l)) {
            return 1;
        }
    } while (runs && !worker_stopping(w));
    return 0;
}

static void *once_signals(void *baton)
{
    worker *w = baton;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    while (1) {
        struct timespec tick = {.tv_nsec = 100000000};
        if (sigtimedwait(&signals, NULL, &tick) > 0) {
            stop(w);
        }
        if (worker_stopping(w)) {
            return NULL;
        }
    }
}

static int ingest_all(worker *w, store *main, store *audit, apr_pool_t *pool)
{
    store_audit_turns turns = {0};
    apr_pool_t *each;
    int failed;
    apr_pool_create(&each, pool);
    do {
        failed = housekeep_ingest(w, main, audit, each, &turns);
        apr_pool_clear(each);
    } while (turns.more && !failed && !worker_stopping(w));
    apr_pool_destroy(each);
    return failed;
}

static int once(worker *w, apr_pool_t *pool)
{
    takeover *watch = hold_takeover_make(w, pool);
    sync_plan *plan = sync_plan_make(w, pool);
    apr_pool_t *scratch;
    pthread_t signals;
    apr_pool_create(&scratch, pool);
    store *main = store_make(pool, w->config.store, DB_REQUEST),
          *cache = store_make(pool, w->config.store, DB_SYNC),
          *audit = store_make(pool, w->config.store, DB_INGEST);
    audit->audit_key = w->config.audit_key;
    session_cache sessions = {.w = w, .env = &w->env};
    housekeeping *keeping = housekeep_start(w, watch, plan, pool,
                                            1); /* leases must be renewed here as well */
    if (!keeping || pthread_create(&signals, NULL, once_signals, w) != 0) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0334", "threads cannot be started: %s",
                strerror(errno));
        return EXIT_FAILURE;
    }
    hold_idle_look(w, main, scratch);
    int failed = hold_idle_reason(w) != NULL || drain(w, watch, pool);
    failed |= ingest_all(w, main, audit, scratch);
    failed |= sync_plan_refresh(plan, main, worker_ctx(w, scratch)) != IDA_OK;
    failed |= sync_all(plan, main, cache, &sessions, scratch) > 0;
    notify_once(w, main, scratch);
    run_session_close_all(&sessions);
    if (!worker_stopping(w)) {
        stop(w);
    }
    pthread_join(signals, NULL);
    left_behind(w, housekeep_join(keeping, end_by(w)));
    store_disconnect(main);
    store_disconnect(cache);
    store_disconnect(audit);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* What main prepares for the working threads. */
typedef struct start {
    ida_env env;
    apr_pool_t *pool;
    command_line line;
    sigset_t signals;
    crash_note *crashes; /* NULL: not supervised */
} start;

/* The program itself, in a process of its own where it is supervised. */
static int work(void *baton)
{
    start *of = baton;
    apr_pool_t *pool = of->pool;
    static worker w;
    worker_config config;
    ida_ctx *c = ida_ctx_make(&of->env, pool);
    if (read_configuration(c, pool, &of->line, &config)) {
        fprintf(stderr, "idadmin-worker: %s\n", c->message);
        return EXIT_FAILURE;
    }
    worker_log_limit((ida_level)worker_level_parse(config.log_level));
    worker_log_json(config.log_json);
    directory_library_init();
    zone_init(pool);
    if (!well_laid_out(&of->env, &config, pool)) {
        return EXIT_FAILURE;
    }
    worker_init(&w, &of->env, &config, pool);
    w.env.seal_key = w.config.seal_key;
    w.call_count = loop_slots(&w);
    w.calls = apr_pcalloc(pool, sizeof *w.calls * (size_t)w.call_count);
    if (of->line.check) {
        pthread_sigmask(SIG_UNBLOCK, &of->signals, NULL);
        return check_tenant(&w, of->line.check, pool);
    }
    if (of->line.once) {
        return once(&w, pool);
    }
    w.pid = getppid();
    hold_crash_begins(&w, of->crashes);
    return serve(&w, pool, &of->line, &of->signals);
}

static int died_in_a_directory(void *baton, int signal)
{
    start *of = baton;
    return hold_crash_judge(of->crashes, signal, ida_monotonic(&of->env));
}

int main(int argc, char **argv)
{
    static start of;
    secret_memory_init();
    setenv("LDAPNOINIT", "1",
           1); /* only our own configuration counts, not ldap.conf or LDAPTLS_* */
    if (apr_initialize() != APR_SUCCESS) {
        fputs("idadmin-worker: APR cannot be initialised\n", stderr);
        return EXIT_FAILURE;
    }
    atexit(apr_terminate);
    apr_pool_create(&of.pool, NULL);
    of.line.pool = of.pool;
    int status = parse(argc, argv, &of.line);
    if (status >= 0) {
        return status;
    }
    ida_env_default(&of.env);
    worker_log_install(&of.env, IDA_LOG_INFO);
    signal(SIGPIPE, SIG_IGN);
    secret_process_guard();
    sigemptyset(&of.signals);
    sigaddset(&of.signals, SIGTERM);
    sigaddset(&of.signals, SIGINT);
    sigaddset(&of.signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &of.signals,
                    NULL); /* inherited by every thread; the main one waits for them */
    if (of.line.check || of.line.once) {
        return work(&of);
    }
    of.crashes = hold_crash_note_make();
    if (!of.crashes) {
        fprintf(stderr, "idadmin-worker: no memory to be shared: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    const supervised child = {work, died_in_a_directory};
    return supervise(&of.env, &of.signals, &child, &of);
}
