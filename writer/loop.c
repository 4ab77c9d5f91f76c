/* Owns the writer's trust: only httpd's parent names its children and orders this writer to serve,
 * and only named children get connections. Must not know what is written. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/writer.h"

#define CHILDREN_MAX 4096
#define STRANGERS_MAX 64 /* introductions that arrived before the parent named the child */
#define STRANGER_MS 2000
#define TICK_MS 1000
#define STILL_MS 10000       /* the standby ends a serving writer that hangs for so long */
#define CONNECTIONS_MAX 2048 /* of all children: threads and descriptors are bounded by it */

typedef struct stranger {
    pid_t process;
    int end;
    int64_t since;
} stranger;

typedef struct loop {
    writer *w;
    int control, introductions, active; /* active: pidfd of the process that this standby waits
                                           for; -1: we serve */
    int serving, retired, orphan;
    wire_beat *beat;
    uint64_t seen;
    int64_t seen_at;
    pid_t children[CHILDREN_MAX];
    int child_count;
    stranger strangers[STRANGERS_MAX];
    int stranger_count;
} loop;

static int *child_at(loop *l, pid_t process)
{
    static int place;
    for (place = 0; place < l->child_count; place++) {
        if (l->children[place] == process) {
            return &place;
        }
    }
    return NULL;
}

static void admit(loop *l, int end, pid_t process)
{
    if (connections_count() >= CONNECTIONS_MAX) {
        ida_log(&l->w->env, IDA_LOG_WARN, "IDA0233",
                "the writer has %d connections of httpd's children and takes no more",
                CONNECTIONS_MAX);
        wire_close(&end);
        return;
    }
    connection_start(l->w, end, process);
}

/* A child may introduce itself before the parent has named it. */
static void keep_stranger(loop *l, int end, pid_t process)
{
    if (l->stranger_count == STRANGERS_MAX) {
        wire_close(&end);
        return;
    }
    l->strangers[l->stranger_count++] = (stranger){process, end, ida_monotonic(&l->w->env)};
}

static void look_at_strangers(loop *l)
{
    int kept = 0;
    for (int i = 0; i < l->stranger_count; i++) {
        stranger *one = &l->strangers[i];
        if (child_at(l, one->process)) {
            admit(l, one->end, one->process);
        } else if (kill(one->process, 0) != 0 && errno == ESRCH) {
            wire_close(&one->end); /* a child, perhaps, that has ended meanwhile */
        } else if (ida_monotonic(&l->w->env) - one->since < STRANGER_MS) {
            l->strangers[kept++] = *one;
        } else {
            ida_log(&l->w->env, IDA_LOG_WARN, "IDA0234",
                    "process %ld, which is no child of this httpd, asked the writer for a "
                    "connection and got none",
                    (long)one->process);
            wire_close(&one->end);
        }
    }
    l->stranger_count = kept;
}

static void take_introduction(loop *l)
{
    char version = 0;
    struct ucred from, maker;
    socklen_t len = sizeof maker;
    int end;
    ssize_t got = wire_receive(l->introductions, &version, sizeof version, &from, &end);
    if (got <= 0 || end < 0) {
        wire_close(&end);
        l->introductions = got == 0 ? -1 : l->introductions;
        return;
    }
    /* The sender must have created the pair: an end that was taken from another process is refused.
     */
    int own = getsockopt(end, SOL_SOCKET, SO_PEERCRED, &maker, &len) == 0 && maker.pid == from.pid;
    if (version != WIRE_VERSION || !own) {
        wire_close(&end);
    } else if (child_at(l, from.pid)) {
        admit(l, end, from.pid);
    } else {
        keep_stranger(l, end, from.pid);
    }
}

/* Ends the serving writer if it is stopped or hangs, so that this one can serve its children. */
static void watch_active(loop *l)
{
    uint64_t beat = atomic_load(&l->beat->beats);
    int64_t now = ida_monotonic(&l->w->env);
    if (beat != l->seen || !l->seen_at) {
        l->seen = beat;
        l->seen_at = now;
    } else if (now - l->seen_at >= STILL_MS) {
        ida_log(&l->w->env, IDA_LOG_ERROR, "IDA0235",
                "the writer has stood still for %lld s and is ended; the one that stands by goes "
                "on",
                (long long)(now - l->seen_at) / 1000);
        syscall(SYS_pidfd_send_signal, l->active, SIGKILL, NULL, 0);
    }
}

static void tick(loop *l)
{
    int writes = connections_comfort();
    look_at_strangers(l);
    if (l->serving) {
        atomic_fetch_add(&l->beat->beats, 1);
        atomic_store(&l->beat->writes, (uint64_t)writes);
        atomic_store(&l->beat->body_bytes, room_taken());
    } else if (l->active >= 0) {
        watch_active(l);
    }
}

static void serve_from_now_on(loop *l)
{
    wire_close(&l->active);
    l->serving = 1;
    ida_log(&l->w->env, IDA_LOG_INFO, NULL, "the writer serves");
}

static void obey(loop *l, const wire_control *order, int handed)
{
    int *at;
    switch (order->order) {
    case ORDER_SERVE: serve_from_now_on(l); break;
    case ORDER_STAND_BY:
        wire_close(&l->active);
        l->active = handed;
        handed = -1;
        break;
    case ORDER_CHILD:
        connections_forgive(order->process);
        if (!child_at(l, order->process) && l->child_count < CHILDREN_MAX) {
            l->children[l->child_count++] = order->process;
        }
        look_at_strangers(l);
        break;
    case ORDER_CHILD_GONE:
        if ((at = child_at(l, order->process)) != NULL) {
            l->children[*at] = l->children[--l->child_count];
        }
        break;
    case ORDER_RETIRE: l->retired = 1; break;
    default: break;
    }
    wire_close(&handed);
}

/* Accepts orders from the parent only: a process that inherited the other end can write to it
 * too. */
static void take_order(loop *l)
{
    wire_control order;
    struct ucred from;
    int handed;
    ssize_t got = wire_receive(l->control, &order, sizeof order, &from, &handed);
    if (got == 0) {
        l->orphan = 1; /* httpd's parent is gone, its children perhaps not yet */
        wire_close(&l->control);
    } else if (got == sizeof order && from.pid == l->w->settings.parent) {
        obey(l, &order, handed);
        handed = -1;
    }
    wire_close(&handed);
}

/* No child can connect any more. */
static int is_done(const loop *l)
{
    int gone = l->orphan || (l->retired && l->child_count == 0);
    return gone && connections_count() == 0;
}

int loop_run(writer *w)
{
    loop *l = calloc(1, sizeof *l);
    if (!l) {
        return 1;
    }
    *l = (loop){
        .w = w, .control = WRITER_CONTROL, .introductions = WRITER_INTRODUCTIONS, .active = -1};
    l->beat = mmap(NULL, WRITER_BEAT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, WRITER_BEAT, 0);
    close(WRITER_BEAT);
    if (l->beat == MAP_FAILED) {
        free(l);
        return 1;
    }
    int64_t ticked = ida_monotonic(&w->env);
    while (!is_done(l)) {
        struct pollfd fds[] = {{l->control, POLLIN, 0},
                               {l->serving ? l->introductions : -1, POLLIN, 0},
                               {l->active, POLLIN, 0}};
        int count = poll(fds, 3, TICK_MS);
        if (count > 0 && fds[0].revents) {
            take_order(l); /* first: the names of children that are about to introduce themselves */
            continue;
        }
        if (count > 0 && fds[1].revents) {
            take_introduction(l);
        }
        if (count > 0 && fds[2].revents) {
            serve_from_now_on(l);
        }
        if (ida_monotonic(&w->env) - ticked >= TICK_MS) {
            ticked = ida_monotonic(&w->env);
            tick(l);
        }
    }
    ida_log(&w->env, IDA_LOG_INFO, NULL, "the writer ends");
    free(l);
    return 0;
}
