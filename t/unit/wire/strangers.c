/* Which processes the writer trusts: a process that inherited every end of httpd's sockets, and
 * is not one of its children, gets no connection and cannot make itself one; a registered child
 * is accepted. The real program, started as httpd starts it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/control.h"
#include "core/wire/end.h"
#include "t/unit/setup.h"

#define HELLO_MS 60000 /* a busy machine */

static int control[2], introductions[2], log_file;
static pid_t writer;

static int settings(void)
{
    const char *text[SETTING_COUNT] = {
        [SETTING_PARENT] = apr_psprintf(pool, "%ld", (long)getpid()),
        [SETTING_STORE] = "sqlite3:/nonexistent/idadmin.db",
        [SETTING_SEAL_KEY] = "/nonexistent/seal.key",
        [SETTING_LOG_LEVEL] = "debug",
    };
    size_t size = wire_size(text, SETTING_COUNT);
    char *bytes = apr_palloc(pool, size);
    int fd = memfd_create("settings", 0);
    wire_put(bytes, text, SETTING_COUNT);
    return write(fd, bytes, size) == (ssize_t)size ? fd : -1;
}

static void start(const char *program)
{
    int memory = memfd_create("beat", 0), given = settings();
    log_file = memfd_create("log", 0);
    ok(ftruncate(memory, WRITER_BEAT_BYTES) == 0 && given >= 0, "settings and beat");
    ok(wire_pair(SOCK_SEQPACKET, control) == 0 && wire_pair(SOCK_SEQPACKET, introductions) == 0,
       "both pairs");
    writer = fork();
    if (writer == 0) {
        const int from[] = {control[1], introductions[0], given, memory, log_file};
        int high[5];
        for (int i = 0; i < 5; i++) { /* so that they do not disturb each other */
            high[i] = fcntl(from[i], F_DUPFD, 64);
        }
        for (int i = 0; i < 4; i++) {
            dup2(high[i], WRITER_CONTROL + i);
        }
        dup2(high[4], STDERR_FILENO);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
}

static int order(wire_order what, pid_t about)
{
    const wire_control message = {(int32_t)what, (int32_t)about};
    return wire_send(control[0], &message, sizeof message, -1);
}

/* Introduces this process; 1 if it is accepted, 0 if it is refused. */
static int introduce(void)
{
    const char version = WIRE_VERSION;
    int ends[2];
    wire_head head = {0};
    if (wire_pair(SOCK_STREAM, ends) != 0 ||
        !wire_send(introductions[1], &version, sizeof version, ends[1])) {
        return -1;
    }
    close(ends[1]);
    wire_fate fate = wire_read(ends[0], &head, sizeof head, HELLO_MS, NULL);
    close(ends[0]);
    return fate == WIRE_DONE ? head.kind == WIRE_HELLO : fate == WIRE_LOST ? 0 : -1;
}

/* The result of introduce() in a separate process, which ran `before` first. */
static int in_a_child(void (*before)(void), int named)
{
    int status = 0, go[2];
    char byte = 0;
    if (pipe(go) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (read(go[0], &byte, 1) != 1) {
            _exit(9);
        }
        if (before) {
            before();
        }
        _exit(introduce() & 7);
    }
    if (named) {
        order(ORDER_CHILD, pid);
    }
    if (write(go[1], &byte, 1) != 1) {
        return -1;
    }
    close(go[0]);
    close(go[1]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* With the parent's own end: the kernel reports the sender. */
static void name_itself(void)
{
    order(ORDER_CHILD, getpid());
}

static int logged(const char *words)
{
    char text[8192] = "";
    ssize_t len = pread(log_file, text, sizeof text - 1, 0);
    return len > 0 && strstr(text, words) != NULL;
}

int main(void)
{
    setup();
    const char *build = getenv("IDADMIN_BUILD");
    const char *program = apr_psprintf(pool, "%s/idadmin-writer", build ? build : ".");
    int status = 0;
    start(program);
    ok(order(ORDER_SERVE, 0), "it is ordered to serve");
    is_int(in_a_child(NULL, 1), 1, "a child that was named is greeted");
    is_int(in_a_child(NULL, 0), 0, "a process that was not is turned away");
    ok(logged("IDA0234"), "which the log reports");
    is_int(in_a_child(name_itself, 0), 0, "also when it names itself over the parent's end");
    is_int(in_a_child(NULL, 1), 1, "children are greeted as before");
    ok(order(ORDER_RETIRE, 0), "it is ordered to retire");
    close(control[0]);
    close(control[1]);
    is_int(waitpid(writer, &status, 0), (int)writer, "it ends");
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "cleanly");
    return done();
}
