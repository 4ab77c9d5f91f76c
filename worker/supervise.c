/* Owns the life of the working process: its start, its signals, its start again. Opens nothing,
 * holds nothing, knows nothing of what the other one does. */
#include "worker/supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS 1000
#define PAUSE_MAX_MS 15000
#define STEADY_MS 60000 /* who lived as long begins anew with the first pause */

static pid_t begin(const ida_env *env, const sigset_t *signals, int (*work)(void *), void *baton)
{
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        ida_log(env, IDA_LOG_ERROR, "IDA0336", "the working process cannot be started: %s",
                strerror(errno));
    }
    if (child == 0) {
        /* Nobody may work unseen: a service that was killed is killed as a whole. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_FAILURE);
        }
        pthread_sigmask(SIG_SETMASK, signals, NULL);
        exit(work(baton));
    }
    return child;
}

/* The wait status of the child; *ending: somebody asked for the end. */
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

/* 1: it was asked to end meanwhile. */
static int pause_for(int64_t ms, const sigset_t *signals)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int number = sigtimedwait(signals, NULL, &wait);
    return number == SIGTERM || number == SIGINT;
}

int supervise(const ida_env *env, const sigset_t *signals, int (*work)(void *baton), void *baton)
{
    sigset_t watched = *signals;
    int64_t pause = PAUSE_MS;
    sigaddset(&watched, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    for (int ending = 0;;) {
        int64_t begun = ida_monotonic(env);
        pid_t child = begin(env, signals, work, baton);
        if (child < 0) {
            return EXIT_FAILURE;
        }
        int status = wait_for(child, &watched, &ending);
        if (!WIFSIGNALED(status)) {
            return WEXITSTATUS(status);
        }
        if (ida_monotonic(env) - begun >= STEADY_MS) {
            pause = PAUSE_MS;
        }
        ida_log(env, IDA_LOG_ERROR, "IDA0335", "the working process %ld died of signal %d (%s)%s",
                (long)child, WTERMSIG(status), strsignal(WTERMSIG(status)),
                ending ? "" : "; it is started again");
        if (ending || pause_for(pause, signals)) {
            return EXIT_FAILURE;
        }
        pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
    }
}
