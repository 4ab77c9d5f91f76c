/* Owns the traces of a crash and the holds that follow from it. Must not know what crashed. */
#include "worker/hold/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/json.h"
#include "worker/hold/health.h"

#define CALLS_MAX 512
#define DEPTH_MAX 4
#define LEFT_ALONE_S 300 /* at least: a directory that killed a process */
#define SUSPECTS_MAX 128
/* A process that has run for so long after a death clears its suspects. */
#define STEADY_MS 60000
/* A suspect of so many deaths is served with no other directory in use beside it. One of fewer is
 * alone among the suspects only, and several directories that kill can each count a death for an
 * innocent one that is served at the time. */
#define ALONE_DEATHS 2
#define TURN_NAP_MS 50
#define STACK_SIZE 32768 /* of the handler: the thread's own may be what overflowed */

/* A thread that comes is waited for, but the work has not begun: a death is none of its. */
enum { AWAY, COMING, AT_WORK };

typedef struct crash_call {
    atomic_int state;
    char tenant[72];
    ida_directory_kind directory;
} crash_call;

/* A directory in use when a process died of a signal that no thread could see. Only the
 * supervisor writes its entry, while there is no working process. */
typedef struct crash_suspect {
    atomic_int deaths; /* how many; 0: it is none (any more) */
    char tenant[72];
    ida_directory_kind directory;
} crash_suspect;

struct crash_note {
    char service[WORKER_NAME]; /* the name of the first; that of each later one begins with it */
    int starts;
    atomic_int signal, culprit, threads; /* culprit: 1 + the call of the thread that crashed; 0:
                                            unknown */
    int64_t begun;                       /* monotonic ms */
    crash_call calls[CALLS_MAX];
    crash_suspect suspects[SUSPECTS_MAX];
};

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
#define CRASHES (sizeof crashes / sizeof *crashes)
static struct sigaction before[CRASHES]; /* a sanitizer's report, or the default */
static crash_note *shared;

/* A thread's work in a directory, within its work in another one: that of the inner one counts. */
typedef struct crash_place {
    char tenant[72];
    ida_directory_kind directory;
} crash_place;

static _Atomic(crash_suspect *) served; /* the suspect that is served alone now */
/* Those that this thread serves, by the depth of the work; `served` is the innermost. */
static _Thread_local crash_suspect *turns[DEPTH_MAX];
static _Thread_local crash_call *mine;
static _Thread_local crash_place outer[DEPTH_MAX];
static _Thread_local int depth;
static _Thread_local char stack[STACK_SIZE];

/* The thread that crashes is the one that runs this. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (mine && mine->state == AT_WORK) {
        shared->culprit = 1 + (int)(mine - shared->calls);
    }
    shared->signal = number;
    for (size_t i = 0; i < CRASHES; i++) {
        sigaction(crashes[i], &before[i], NULL);
    }
    if (info->si_code <= 0) {
        raise(number); /* it was sent: it does not come again by itself */
    }
}

crash_note *hold_crash_note_make(void)
{
    void *memory = mmap(NULL, sizeof(crash_note), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // cppcheck-suppress memleak ; it is the caller's
    return memory == MAP_FAILED ? NULL : memory;
}

/* --- suspects --- */

static crash_suspect *suspect_of(crash_note *note, const char *tenant, ida_directory_kind where)
{
    for (int i = 0; i < SUSPECTS_MAX; i++) {
        crash_suspect *s = &note->suspects[i];
        if (s->deaths && s->directory == where && strcmp(s->tenant, tenant) == 0) {
            return s;
        }
    }
    return NULL;
}

static crash_suspect *suspect_made(crash_note *note, const crash_call *call)
{
    crash_suspect *s = suspect_of(note, call->tenant, call->directory);
    for (int i = 0; !s && i < SUSPECTS_MAX; i++) {
        if (!note->suspects[i].deaths) {
            s = &note->suspects[i];
            memcpy(s->tenant, call->tenant, sizeof s->tenant);
            s->directory = call->directory;
        }
    }
    return s; /* NULL: there are too many, it is none of them */
}

/* 1: a call before this one in the note is of the same directory. */
static int is_counted(const crash_note *note, int at)
{
    const crash_call *call = &note->calls[at];
    for (int i = 0; i < at; i++) {
        const crash_call *other = &note->calls[i];
        if (other->state == AT_WORK && other->directory == call->directory &&
            strcmp(other->tenant, call->tenant) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Counts one more death for each directory in use by the process. The culprit is the one that
 * was in use alone when the process died again. */
static int suspect_all(crash_note *note, int signal)
{
    int places = 0, last = 0;
    crash_suspect *one = NULL;
    for (int i = 0; i < CALLS_MAX; i++) {
        if (note->calls[i].state == AT_WORK && !is_counted(note, i)) {
            one = suspect_made(note, &note->calls[i]);
            places++;
            last = i;
            if (one) {
                one->deaths++;
            }
        }
    }
    if (places == 1 && one && one->deaths >= 2) {
        note->culprit = 1 + last;
        note->signal = signal;
    }
    return places > 0;
}

int hold_crash_judge(crash_note *note, int signal, int64_t now)
{
    int known = note->culprit != 0;
    for (int i = 0; now - note->begun >= STEADY_MS && i < SUSPECTS_MAX; i++) {
        note->suspects[i].deaths = 0;
    }
    if (!known && !note->signal) {
        known = suspect_all(note, signal);
    }
    if (note->culprit) {
        const crash_call *call = &note->calls[note->culprit - 1];
        crash_suspect *s = suspect_of(note, call->tenant, call->directory);
        if (s) {
            s->deaths = 0; /* it is held instead */
        }
    }
    return known;
}

static int is_at_risk(worker *w)
{
    return !worker_stopping(w) && ida_monotonic(&w->env) - shared->begun < STEADY_MS;
}

static int is_alone(crash_suspect *s)
{
    return s && s->deaths >= ALONE_DEATHS;
}

static int others_work(void)
{
    for (int i = 0; i < shared->threads && i < CALLS_MAX; i++) {
        if (shared->calls[i].state != AWAY && &shared->calls[i] != mine) {
            return 1;
        }
    }
    return 0;
}

static void is_at(const char *tenant, ida_directory_kind where, int state)
{
    mine->state = AWAY; /* a crash during this update then blames no directory rather than a
                           mixture */
    snprintf(mine->tenant, sizeof mine->tenant, "%s", tenant);
    mine->directory = where;
    mine->state = state;
}

/* The innermost suspect that this thread serves; NULL: none. */
static crash_suspect *innermost(void)
{
    crash_suspect *s = NULL;
    for (int i = 0; i < DEPTH_MAX; i++) {
        s = turns[i] ? turns[i] : s;
    }
    return s;
}

/* Waits until no other thread serves a suspect, so that a death names this one. */
static void take_turn(worker *w, crash_suspect *s)
{
    mine->state = AWAY; /* a thread that waits is not at work: a suspect may be served alone now */
    while (s->deaths && is_at_risk(w)) {
        crash_suspect *expected = innermost();
        if (atomic_compare_exchange_strong(&served, &expected, s)) {
            turns[depth] = s;
            break;
        }
        worker_nap(w, TURN_NAP_MS);
    }
    while (turns[depth] && is_alone(s) && others_work() && is_at_risk(w)) {
        worker_nap(w, TURN_NAP_MS);
    }
}

/* A thread sets its mark before it reads `served`, and a suspect's thread sets `served` before it
 * reads the marks, so at least one of the two waits. Nested work does not wait here: the suspect's
 * thread waits until the outer work has ended, and both would wait for ever. */
static void begin(worker *w, const char *tenant, ida_directory_kind where)
{
    crash_suspect *s = suspect_of(shared, tenant, where);
    if (s && s != innermost()) {
        take_turn(w, s);
    }
    is_at(tenant, where, COMING);
    while (!depth && !turns[0] && is_alone(atomic_load(&served)) && is_at_risk(w)) {
        mine->state = AWAY;
        worker_nap(w, TURN_NAP_MS);
        mine->state = COMING;
    }
    mine->state = AT_WORK;
}

/* Its work has ended, and the process lives. */
static void give_turn(void)
{
    if (depth < DEPTH_MAX && turns[depth]) {
        turns[depth]->deaths = 0;
        turns[depth] = NULL;
        atomic_store(&served, innermost());
    }
}

int hold_crash_waits(worker *w, const char *tenant, ida_directory_kind where)
{
    crash_suspect *s = shared ? atomic_load(&served) : NULL;
    return s && is_at_risk(w) && (is_alone(s) || suspect_of(shared, tenant, where));
}

/* --- the next process --- */

/* A thread outside of any call names no culprit. */
static void take_suspect(worker *w, const crash_note *note)
{
    if (note->culprit) {
        const crash_call *call = &note->calls[note->culprit - 1];
        w->suspect.signal = note->signal;
        w->suspect.directory = call->directory;
        memcpy(w->suspect.tenant, call->tenant, sizeof w->suspect.tenant);
    }
}

/* Of the Nth process of this service. */
static void name(const worker *w, int start, char id[static sizeof w->id])
{
    int most = (int)sizeof w->id - 12;
    snprintf(id, sizeof w->id, start > 1 ? "%.*s.%d" : "%.*s", most, w->service, start);
}

void hold_crash_begins(worker *w, crash_note *note)
{
    if (!note->starts++) {
        memcpy(note->service, w->id, sizeof note->service);
    }
    memcpy(w->service, note->service, sizeof w->service);
    w->starts = note->starts;
    name(w, w->starts, w->id);
    take_suspect(w, note);
    note->signal = note->culprit = note->threads = 0;
    note->begun = ida_monotonic(&w->env);
    memset(note->calls, 0, sizeof note->calls);
    shared = note;
    struct sigaction act = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < CRASHES; i++) {
        sigaction(crashes[i], &act, &before[i]);
    }
}

/* The death answers a person's request to this directory: requested once, tried once. */
static ida_kind end_requests(worker *w, store *main, apr_pool_t *pool, const store_directory *state,
                             const char *before_us, const char *why)
{
    store_check check;
    ida_kind kind = state->sync_requested_at
                        ? store_sync_request_done(main, worker_ctx(w, pool), w->suspect.tenant,
                                                  w->suspect.directory, state->sync_requested_at)
                        : IDA_OK;
    kind = kind ? kind
                : store_check_get(main, worker_ctx(w, pool), w->suspect.tenant,
                                  w->suspect.directory, &check);
    if (kind || !check.worker || check.finished_at || strcmp(check.worker, before_us) != 0) {
        return kind;
    }
    json_t *lines = ida_json_keep(pool, json_array());
    json_array_append_new(lines,
                          json_pack("{s:s, s:b, s:s}", "check", "worker", "ok", 0, "detail", why));
    return store_check_done(main, worker_ctx(w, pool), &check, ida_json_text(pool, lines));
}

/* The directory in which the process before this one died is left alone for a while. 0: the store
 * cannot be used. */
static int hold_suspect(worker *w, store *main, apr_pool_t *pool, const char *before_us)
{
    store_directory state;
    if (!w->suspect.signal) {
        return 1;
    }
    if (store_directory_get(main, worker_ctx(w, pool), w->suspect.tenant, w->suspect.directory,
                            &state)) {
        return 0;
    }
    directory_error e = {
        .class = DIRECTORY_CONFIG,
        .retry_after_s = LEFT_ALONE_S,
        .message = ida_printf(pool,
                              "the worker died of signal %d (%s) in work for it and was started "
                              "again. Report that together with what the directory holds; "
                              "idadminctl sync tries anew",
                              w->suspect.signal, strsignal(w->suspect.signal))};
    const char *why = hold_put(
        w, main, pool, w->suspect.tenant, w->suspect.directory,
        (hold_known){.failures = state.hold_reason ? state.hold_failures : 0}, &e);
    return !end_requests(w, main, pool, &state, before_us, why);
}

int hold_crash_settled(worker *w, store *main, apr_pool_t *pool)
{
    char before_us[sizeof w->id];
    if (w->starts == 1) {
        return 1;
    }
    name(w, w->starts - 1, before_us);
    /* In this order there is always a registered worker, and a worker that takes over the tasks of
     * the dead process finds the hold. */
    return !hold_seen(w, main, worker_ctx(w, pool)) && hold_suspect(w, main, pool, before_us) &&
           !store_worker_gone(main, worker_ctx(w, pool), before_us);
}

/* The place of a thread is its own for as long as the process lives. */
static crash_call *place(void)
{
    int at = atomic_fetch_add(&shared->threads, 1);
    stack_t old;
    if (at >= CALLS_MAX) {
        return NULL;
    }
    if (sigaltstack(NULL, &old) == 0 && old.ss_flags & SS_DISABLE) {
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    }
    return &shared->calls[at];
}

void hold_crash_call_begins(worker *w, const char *tenant, ida_directory_kind where)
{
    mine = mine || !w->service[0] ? mine : place();
    if (mine && depth < DEPTH_MAX) {
        if (depth) {
            memcpy(outer[depth].tenant, mine->tenant, sizeof outer[depth].tenant);
            outer[depth].directory = mine->directory;
        }
        begin(w, tenant, where);
    }
    depth++;
}

void hold_crash_call_ends(void)
{
    depth--;
    if (mine && !depth) {
        mine->state = AWAY;
    } else if (mine && depth < DEPTH_MAX) {
        is_at(outer[depth].tenant, outer[depth].directory, AT_WORK);
    }
    give_turn();
}
