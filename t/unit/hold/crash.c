/* Which directory a death is put down to that no thread saw coming: the cause is found in few
 * deaths, and one that was in use by chance each time is not taken for it. Each process of this
 * test is a child that kills itself with threads in the middle of their work. */
#include "t/unit/setup.h"

#include <apr_time.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/hold/crash.h"

#define INNOCENT "innocent"
#define ON_PREMISES IDA_DIR_ON_PREMISES

typedef struct seen {
    int signal; /* what the next process would hold a directory for */
    char tenant[72];
    ida_directory_kind directory;
} seen;

static crash_note *note;
static seen *held;
static worker w;
static sem_t in, go;

static void die(void)
{
    raise(SIGKILL);
}

/* A process as the service starts it: it takes the traces of the one before, lives, and dies. */
static void process(void (*live)(void))
{
    pid_t child = fork();
    if (!child) {
        worker_config config = {.threads = 2};
        worker_init(&w, &env, &config, pool);
        sem_init(&in, 0, 0);
        sem_init(&go, 0, 0);
        hold_crash_begins(&w, note);
        *held = (seen){.signal = w.suspect.signal, .directory = w.suspect.directory};
        memcpy(held->tenant, w.suspect.tenant, sizeof held->tenant);
        live();
        die();
    }
    int status;
    waitpid(child, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a process is killed");
    hold_crash_judge(note, SIGKILL, ida_monotonic(&env));
}

static void nothing(void)
{
}

/* NULL: none is. All that are meant to be held are on premises. */
static void held_is(const char *tenant, const char *why)
{
    process(nothing);
    is_str(held->signal ? held->tenant : NULL, tenant, why);
    is_int(held->signal ? held->directory : ON_PREMISES, ON_PREMISES, "that directory of it");
}

static void *works(void *tenant)
{
    hold_crash_call_begins(&w, tenant, ON_PREMISES);
    sem_post(&in);
    sem_wait(&go);
    hold_crash_call_ends();
    return NULL;
}

static void *kills(void *tenant)
{
    sem_post(&in);
    hold_crash_call_begins(&w, tenant, ON_PREMISES);
    die();
    return NULL;
}

static void start(void *(*work)(void *), const char *tenant)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)tenant);
    sem_wait(&in);
}

/* Gives a thread that wrongly does not wait the time to begin. When all wait as they should, the
 * length of the pause makes no difference; but who waits looks every 50 ms and is seen at that
 * moment, so that a process should not die at it. */
static void pause_briefly(void)
{
    apr_sleep(225000);
}

/* Ends the work that has begun; the process lives until a waiting thread kills it. */
static void end_later(void)
{
    pause_briefly();
    sem_post(&go);
    pause();
}

static void beside_first(void)
{
    start(works, INNOCENT);
    start(works, "first");
}

static void beside_second(void)
{
    start(works, INNOCENT);
    start(works, "second");
}

/* It waits until the innocent one has ended. */
static void after_it(void)
{
    start(works, INNOCENT);
    start(kills, "third");
    if (!hold_crash_waits(&w, "third", ON_PREMISES)) {
        _exit(1); /* is seen: no signal */
    }
    end_later();
}

/* The innocent one is no suspect any more, and the other one is alone among the suspects. */
static void it_again(void)
{
    start(works, "third");
}

/* Several directories that kill, and an innocent one that is served each time. */
static void by_chance(void)
{
    process(beside_first);
    process(beside_second);
    process(after_it);
    held_is(NULL, "who was there by chance at two deaths has ended well and is not held");
    process(it_again);
    held_is("third", "the one that killed twice is");
}

static void first_beside(void)
{
    start(works, INNOCENT);
    start(works, "fourth");
}

static void other_beside(void)
{
    start(works, "fourth");
    start(works, "other");
}

static void other_ends_first(void)
{
    start(works, "another");
    start(kills, "fourth");
    end_later();
}

/* A directory with two deaths waits until no other is in use, so that the third death names it. */
static void alone(void)
{
    process(first_beside);
    process(other_beside);
    process(other_ends_first);
    held_is("fourth", "at the third death it was alone");
}

static void *comes_late(void *tenant)
{
    sem_post(&in);
    hold_crash_call_begins(&w, tenant, ON_PREMISES);
    pause();
    return NULL;
}

static void others_wait(void)
{
    start(works, "fourth");
    start(comes_late, "late");
    pause_briefly();
}

/* And nothing else begins meanwhile. */
static void stays_alone(void)
{
    process(first_beside);
    process(other_beside);
    process(others_wait);
    held_is("fourth", "nobody came in beside it");
}

static void *within(void *tenant)
{
    hold_crash_call_begins(&w, tenant, IDA_DIR_CLOUD);
    sem_post(&in);
    hold_crash_call_begins(&w, tenant, ON_PREMISES);
    die();
    return NULL;
}

static void *lies_within(void *tenant)
{
    hold_crash_call_begins(&w, tenant, IDA_DIR_CLOUD);
    hold_crash_call_begins(&w, tenant, ON_PREMISES);
    sem_post(&in);
    pause();
    return NULL;
}

static void within_beside(void)
{
    start(works, INNOCENT);
    start(lies_within, "nested");
}

static void within_waits(void)
{
    start(works, INNOCENT);
    start(within, "nested");
    end_later();
}

/* Work for one directory within that of another one: the inner one takes its turn as well. */
static void nested(void)
{
    process(within_beside);
    process(within_waits);
    held_is("nested", "the inner one, at its second death");
}

static void *lies_in_cloud(void *tenant)
{
    hold_crash_call_begins(&w, tenant, IDA_DIR_CLOUD);
    sem_post(&in);
    pause();
    return NULL;
}

static void outer_beside(void)
{
    start(lies_in_cloud, "nested");
    start(works, INNOCENT);
}

static void within_beside_other(void)
{
    start(lies_within, "nested");
    start(works, "other");
}

static void within_beside_another(void)
{
    start(lies_within, "nested");
    start(works, "another");
}

static void within_waits_for_more(void)
{
    start(works, "more");
    start(within, "nested");
    end_later();
}

/* The same where the outer one is a suspect too. */
static void nested_in_suspect(void)
{
    process(outer_beside);
    process(within_beside_other);
    process(within_beside_another);
    process(within_waits_for_more);
    held_is("nested", "the inner one within a suspect, at its third death");
}

static void anew(void (*part)(void))
{
    note = hold_crash_note_make();
    part();
}

int main(void)
{
    setup();
    held = mmap(NULL, sizeof *held, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    anew(by_chance);
    anew(alone);
    anew(stays_alone);
    anew(nested);
    anew(nested_in_suspect);
    return done();
}
