/* Owns the writers in httpd's parent: two for each generation of children, one that serves and one
 * standby. Tells writers which processes are children. Must not know what is written.
 *
 * A restart unloads the module and loads it again: state that must survive it is in retained memory
 * and contains no pointer into the module. */
#include "mod_idadmin/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ap_mpm.h>
#include <apr_thread_proc.h>
#include <http_main.h>
#include <mpm_common.h>
#include <unixd.h>

#include "core/wire/control.h"
#include "core/wire/end.h"

APLOG_USE_MODULE(idadmin);

#define RETAINED_KEY "mod_idadmin-writers-1"
#define GENERATIONS_MAX 16 /* at the same time: old ones end with their last child */
#define CHILDREN_MAX 4096
#define PROGRAM_MAX 1024

typedef struct process {
    apr_proc_t proc; /* pid 0: none */
    int control;
    struct generation *of;
} process;

typedef struct generation {
    int used, number, retired;
    int introductions[2]; /* the writers' end, the children's */
    int settings, beat;
    uid_t user;
    process process[2];
    int serving; /* which of them */
    pid_t children[CHILDREN_MAX];
    int child_count;
} generation;

typedef struct retained {
    pid_t parent;
    generation generations[GENERATIONS_MAX];
} retained;

static retained *all;
static generation *current;
static wire_beat *beat; /* of the current one, to look at; NULL: it is not mapped */
static char program[PROGRAM_MAX];
static apr_pool_t *config_pool; /* where callbacks are registered until the next restart */

/* --- orders --- */

static void give_order(process *p, wire_order order, pid_t about, int handed)
{
    const wire_control message = {(int32_t)order, (int32_t)about};
    if (!p->proc.pid || wire_send(p->control, &message, sizeof message, handed)) {
        return;
    }
    if (errno == EAGAIN) { /* its queue is full: it has not read hundreds of orders */
        kill(p->proc.pid, SIGKILL);
    }
}

static void give_order_to_both(generation *g, wire_order order, pid_t about)
{
    for (int i = 0; i < 2; i++) {
        give_order(&g->process[i], order, about, -1);
    }
}

static void retire(generation *g)
{
    g->retired = 1;
    give_order_to_both(g, ORDER_RETIRE, 0);
}

/* The last child of an old generation has ended. */
static void forget(generation *g)
{
    for (int i = 0; i < 2; i++) {
        wire_close(&g->introductions[i]);
    }
    wire_close(&g->settings);
    wire_close(&g->beat);
    g->used = g->process[0].proc.pid || g->process[1].proc.pid;
}

/* --- a process --- */

/* Runs between fork and exec: no call here may take a lock. Descriptors are moved to high numbers
 * first, because a target number may be in use by another one. */
static void become_writer(const generation *g, int control)
{
    const int from[] = {control, g->introductions[0], g->settings, g->beat};
    int high[sizeof from / sizeof *from];
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        high[i] = fcntl(from[i], F_DUPFD, 64);
    }
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        dup2(high[i], WRITER_CONTROL + (int)i); /* and is inherited */
    }
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    syscall(SYS_close_range, WRITER_END, ~0U, 0);
    char *const words[] = {program, NULL};
    char *const none[] = {NULL};
    execve(program, words, none);
    _exit(127);
}

static void watch(int reason, void *baton, int status);

static void start_process(generation *g, int which)
{
    process *p = &g->process[which], *other = &g->process[!which];
    int control[2], stands_by = other->proc.pid != 0, pidfd = -1;
    if (wire_pair(SOCK_SEQPACKET, control) != 0) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        become_writer(g, control[1]);
    }
    close(control[1]);
    if (pid < 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, ap_server_conf,
                     "IDA0251: a writer cannot be started");
        close(control[0]);
        return;
    }
    *p = (process){.proc = {.pid = pid}, .control = control[0], .of = g};
    apr_proc_other_child_register(&p->proc, watch, p, NULL, config_pool);
    for (int i = 0; i < g->child_count; i++) {
        give_order(p, ORDER_CHILD, g->children[i], -1);
    }
    if (stands_by) { /* not reaped yet, so its process ID cannot have been reused */
        pidfd = (int)syscall(SYS_pidfd_open, other->proc.pid, 0);
    } else {
        g->serving = which;
    }
    give_order(p, pidfd >= 0 ? ORDER_STAND_BY : ORDER_SERVE, 0, pidfd);
    wire_close(&pidfd);
    if (g->retired) {
        give_order(p, ORDER_RETIRE, 0, -1);
    }
}

static int is_stopping(void)
{
    int state = AP_MPMQ_RUNNING;
    ap_mpm_query(AP_MPMQ_MPM_STATE, &state);
    return state == AP_MPMQ_STOPPING;
}

/* A writer has ended and its standby serves: start a new standby. */
static void replace(process *p, int status)
{
    generation *g = p->of;
    int which = p == &g->process[1], needed = !g->retired || g->child_count > 0;
    p->proc.pid = 0;
    wire_close(&p->control);
    apr_proc_other_child_unregister(p);
    if (is_stopping() || !needed) {
        if (!needed) {
            forget(g);
        }
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                 "IDA0252: a writer has ended (status %d) and is replaced", status);
    if (g->serving == which) {
        g->serving = !which;
    }
    start_process(g, which);
}

static void watch(int reason, void *baton, int status)
{
    process *p = baton;
    switch (reason) {
    case APR_OC_REASON_DEATH:
    case APR_OC_REASON_LOST: replace(p, status); break;
    case APR_OC_REASON_UNREGISTER: /* the configuration goes, at a restart or for good */
        if (p->proc.pid) {
            retire(p->of);
        }
        break;
    default: break;
    }
}

/* --- children --- */

static void child_status(server_rec *s, pid_t pid, ap_generation_t number, int slot,
                         mpm_child_status status)
{
    (void)s;
    (void)slot;
    for (int i = 0; all && i < GENERATIONS_MAX; i++) {
        generation *g = &all->generations[i];
        if (!g->used || g->number != number) {
            continue;
        }
        if (status == MPM_CHILD_STARTED && g->child_count < CHILDREN_MAX) {
            g->children[g->child_count++] = pid;
            give_order_to_both(g, ORDER_CHILD, pid);
        }
        for (int k = 0; status == MPM_CHILD_EXITED && k < g->child_count; k++) {
            if (g->children[k] == pid) {
                g->children[k] = g->children[--g->child_count];
                give_order_to_both(g, ORDER_CHILD_GONE, pid);
                break;
            }
        }
    }
}

/* --- the settings --- */

/* A memory file, sealed against changes. */
static int make_settings(apr_pool_t *pool, server_rec *s, const writer_user *user)
{
    const char *text[SETTING_COUNT] = {
        [SETTING_PARENT] = apr_psprintf(pool, "%ld", (long)getpid()),
        [SETTING_STORE] = config_writer_store(s),
        [SETTING_SEAL_KEY] = config_seal_key(s),
        [SETTING_UID] = user->name ? apr_psprintf(pool, "%ld", (long)user->uid) : NULL,
        [SETTING_GID] = user->name ? apr_psprintf(pool, "%ld", (long)user->gid) : NULL,
        [SETTING_MORE] = user->name ? apr_psprintf(pool, "%ld", (long)user->more) : NULL,
        [SETTING_RATE_KEY] = ida_rate_text(pool, config_rate(s, LIMIT_KEY)),
        [SETTING_RATE_COMPANY] = ida_rate_text(pool, config_rate(s, LIMIT_COMPANY)),
        [SETTING_ROLES] = config_roles(pool),
        [SETTING_LOG_LEVEL] = APLOG_IS_LEVEL(s, APLOG_DEBUG)     ? "debug"
                              : APLOG_IS_LEVEL(s, APLOG_INFO)    ? "info"
                              : APLOG_IS_LEVEL(s, APLOG_WARNING) ? "warn"
                                                                 : "error",
    };
    size_t size = wire_size(text, SETTING_COUNT);
    char *bytes = apr_palloc(pool, size);
    wire_put(bytes, text, SETTING_COUNT);
    int fd = memfd_create("idadmin-writer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (write(fd, bytes, size) != (ssize_t)size ||
                    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static apr_status_t unmap_beat(void *unused)
{
    (void)unused;
    if (beat) {
        munmap(beat, WRITER_BEAT_BYTES);
    }
    beat = NULL;
    return APR_SUCCESS;
}

static generation *make_generation(apr_pool_t *pool, server_rec *s, const writer_user *user)
{
    generation *g = NULL;
    for (int i = 0; !g && i < GENERATIONS_MAX; i++) {
        g = all->generations[i].used ? NULL : &all->generations[i];
    }
    if (!g) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "IDA0253: children of %d earlier configurations are still at work: writes "
                     "get 503 until the next restart",
                     GENERATIONS_MAX);
        return NULL;
    }
    memset(g, 0, sizeof *g);
    g->introductions[0] = g->introductions[1] = g->settings = g->beat = -1;
    g->user = user->name ? user->uid : geteuid();
    ap_mpm_query(AP_MPMQ_GENERATION, &g->number);
    g->settings = make_settings(pool, s, user);
    g->beat = memfd_create("idadmin-writer-beat", MFD_CLOEXEC);
    if (g->settings < 0 || g->beat < 0 || ftruncate(g->beat, WRITER_BEAT_BYTES) != 0 ||
        wire_pair(SOCK_SEQPACKET, g->introductions) != 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, s, "IDA0255: a writer cannot be prepared");
        wire_close(&g->settings);
        wire_close(&g->beat);
        return NULL;
    }
    beat = mmap(NULL, WRITER_BEAT_BYTES, PROT_READ, MAP_SHARED, g->beat, 0);
    beat = beat == MAP_FAILED ? NULL : beat;
    apr_pool_cleanup_register(pool, NULL, unmap_beat, apr_pool_cleanup_null);
    g->used = 1;
    return g;
}

/* Writers of earlier generations keep serving their children. Registers them again, because the
 * callback has another address now, and replaces those that ended during the restart. */
static void follow_again(void)
{
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        generation *g = &all->generations[i];
        for (int k = 0; g->used && k < 2; k++) {
            if (g->process[k].proc.pid) {
                apr_proc_other_child_register(&g->process[k].proc, watch, &g->process[k], NULL,
                                              config_pool);
            } else if (g->child_count) {
                start_process(g, k);
            }
        }
    }
}

int writers_can_start(server_rec *s, writer_user *user)
{
    const char *fault = config_writer_user(s, user);
    if (fault) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, s, "IDA0250: %s", fault);
        return 0;
    }
    apr_cpystrn(program, config_writer_program(s), sizeof program);
    if (access(program, X_OK) != 0) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, errno, s,
                     "IDA0254: %s, through which everything is written, cannot be started "
                     "(IdAdminWriterProgram)",
                     program);
        return 0;
    }
    return 1;
}

int writers_start(apr_pool_t *pconf, server_rec *s)
{
    writer_user user;
    config_pool = pconf;
    if (!writers_can_start(s, &user)) {
        return 0;
    }
    all = ap_retained_data_get(RETAINED_KEY);
    if (!all) {
        all = ap_retained_data_create(RETAINED_KEY, sizeof *all);
    }
    all->parent = getpid();
    follow_again();
    if (!user.name || user.uid == ap_unixd_config.user_id) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "the writer runs as the user of httpd's children: their rights are not split");
    }
    struct stat key;
    if (user.name && stat(config_seal_key(s), &key) == 0 && key.st_uid == user.uid) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "the writer runs as %s, to whom the worker's keys and secrets belong: give it "
                     "a user of its own (IdAdminWriter, doc/install.md, step 3)",
                     user.name);
    }
    if (ap_coredumpdir_configured) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "IDA0256: CoreDumpDirectory is set, but httpd's children write no core files: "
                     "where they could, every other process of their user could read their memory "
                     "and take their connections to the writer");
    }
    current = make_generation(pconf, s, &user);
    for (int i = 0; current && i < 2; i++) {
        start_process(current, i);
    }
    return 1;
}

void writers_child_init(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* CoreDumpDirectory has undone it */
    if (!all || getpid() == all->parent) {
        return; /* httpd -X is its own child */
    }
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        generation *g = &all->generations[i];
        for (int k = 0; g->used && k < 2; k++) {
            if (g->process[k].proc.pid) {
                wire_close(&g->process[k].control);
            }
        }
        if (g->used) {
            wire_close(&g->settings);
            wire_close(&g->beat);
            wire_close(&g->introductions[0]);
        }
        if (g->used && g != current) {
            wire_close(&g->introductions[1]);
        }
    }
}

int writers_introductions(void)
{
    return current ? current->introductions[1] : -1;
}

const wire_beat *writers_beat(void)
{
    return beat;
}

uid_t writers_user(void)
{
    return current ? current->user : (uid_t)-1;
}

void writers_register(void)
{
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
}
