/* Owns the life of the working process: its start, its signals, its restart. Opens nothing,
 * holds nothing, and does not know what the process does. */
#include "worker/supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEADY_MS 60000 /* a process that lived this long: the next pause is the first again */

/* Pause between a death and the next start, doubled with each death of its kind. A death whose
 * cause the next process avoids must not delay other work. */
static const struct {
    int64_t first, most; /* ms */
} pauses[] = {{1000, 15000}, {50, 800}};

static pid_t begin(const ida_env *env, const sigset_t *signals, const supervised *of, void *baton)
{
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        ida_log(env, IDA_LOG_ERROR, "IDA0336", "the working process cannot be started: %s",
                strerror(errno));
    }
    if (child == 0) {
        /* The process must not outlive its supervisor: a service that was killed is killed as a
         * whole. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_FAILURE);
        }
        pthread_sigmask(SIG_SETMASK, signals, NULL);
        exit(of->work(baton));
    }
    return child;
}

/* The wait status of the child; *ending: a signal to end arrived. */
static int wait_for(pid_t child, const sigset_t *watched, int *ending)
{
    int status = 0;
    while (waitpid(child, &status, WNOHANG) != child) {
        int number = sigwaitinfo(watched, NULL);
        if (number == SIGTERM || number == SIGINT || number == SIGHUP) {
            *ending |= number != SIGHUP;
            kill(child, number);
        }
    }
    return status;
}

/* 1: a signal to end arrived meanwhile. */
static int pause_for(int64_t ms, const sigset_t *signals)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int number = sigtimedwait(signals, NULL, &wait);
    return number == SIGTERM || number == SIGINT;
}

int supervise(const ida_env *env, const sigset_t *signals, const supervised *of, void *baton)
{
    sigset_t watched = *signals;
    int64_t before[] = {0, 0};
    sigaddset(&watched, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    for (int ending = 0;;) {
        int64_t begun = ida_monotonic(env);
        pid_t child = begin(env, signals, of, baton);
        if (child < 0) {
            return EXIT_FAILURE;
        }
        int status = wait_for(child, &watched, &ending);
        if (!WIFSIGNALED(status)) {
            return WEXITSTATUS(status);
        }
        if (ida_monotonic(env) - begun >= STEADY_MS) {
            before[0] = before[1] = 0;
        }
        int sort = of->is_explained(baton, WTERMSIG(status));
        int64_t pause = before[sort] ? 2 * before[sort] : pauses[sort].first;
        before[sort] = pause = pause < pauses[sort].most ? pause : pauses[sort].most;
        ida_log(env, IDA_LOG_ERROR, "IDA0335", "the working process %ld died of signal %d (%s)%s",
                (long)child, WTERMSIG(status), strsignal(WTERMSIG(status)),
                ending ? "" : "; it is started again");
        if (ending || pause_for(pause, signals)) {
            return EXIT_FAILURE;
        }
    }
}
