/* The real writer, started as httpd starts it: the test is its parent and its children. */
#ifndef T_UNIT_WRITER_PROCESS_H
#define T_UNIT_WRITER_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/control.h"
#include "core/wire/end.h"
#include "t/unit/setup.h"

static int control[2], introductions[2], log_file;
static pid_t writer;
static const wire_beat *beat;

static int writer_settings(const char *dsn, const char *seal_key, const char *roles)
{
    const char *text[SETTING_COUNT] = {
        [SETTING_PARENT] = apr_psprintf(pool, "%ld", (long)getpid()),
        [SETTING_STORE] = dsn,
        [SETTING_SEAL_KEY] = seal_key,
        [SETTING_ROLES] = roles,
        [SETTING_LOG_LEVEL] = "debug",
    };
    size_t size = wire_size(text, SETTING_COUNT);
    char *bytes = apr_palloc(pool, size);
    int fd = memfd_create("settings", 0);
    wire_put(bytes, text, SETTING_COUNT);
    return write(fd, bytes, size) == (ssize_t)size ? fd : -1;
}

static int order(wire_order what, pid_t about)
{
    const wire_control message = {(int32_t)what, (int32_t)about};
    return wire_send(control[0], &message, sizeof message, -1);
}

static void writer_start(const char *dsn, const char *seal_key, const char *roles)
{
    const char *build = getenv("IDADMIN_BUILD");
    const char *program = apr_psprintf(pool, "%s/idadmin-writer", build ? build : ".");
    int memory = memfd_create("beat", 0), given = writer_settings(dsn, seal_key, roles);
    log_file = memfd_create("log", 0);
    ok(ftruncate(memory, WRITER_BEAT_BYTES) == 0 && given >= 0, "settings and beat");
    beat = mmap(NULL, WRITER_BEAT_BYTES, PROT_READ, MAP_SHARED, memory, 0);
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
    ok(order(ORDER_SERVE, 0), "it is ordered to serve");
}

/* A connection of this process: its end, or -1 if it is refused. */
static int writer_connect(void)
{
    const char version = WIRE_VERSION;
    int ends[2];
    wire_head head = {0};
    if (wire_pair(SOCK_STREAM, ends) != 0 ||
        !wire_send(introductions[1], &version, sizeof version, ends[1])) {
        return -1;
    }
    close(ends[1]);
    if (wire_read(ends[0], &head, sizeof head, PATIENCE_MS, NULL) != WIRE_DONE ||
        head.kind != WIRE_HELLO) {
        wire_close(&ends[0]);
    }
    return ends[0];
}

static int logged(const char *words)
{
    struct stat st;
    if (fstat(log_file, &st) != 0) {
        return 0;
    }
    char *text = apr_pcalloc(pool, (apr_size_t)st.st_size + 1);
    return pread(log_file, text, (size_t)st.st_size, 0) > 0 && strstr(text, words) != NULL;
}

static void writer_end(void)
{
    int status = 0;
    ok(order(ORDER_RETIRE, 0), "it is ordered to retire");
    close(control[0]);
    close(control[1]);
    is_int(waitpid(writer, &status, 0), (int)writer, "it ends");
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "cleanly");
}

#endif
