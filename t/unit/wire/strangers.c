/* Which processes the writer trusts: a process that inherited every end of httpd's sockets, and
 * is not one of its children, gets no connection and cannot make itself one; a registered child
 * is accepted. The real program, started as httpd starts it. */

#include "t/unit/writer_process.h"

/* 1 if a separate process, which ran `before` first, is accepted, 0 if it is refused. */
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
        _exit(writer_connect() >= 0);
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

int main(void)
{
    setup();
    writer_start("sqlite3:/nonexistent/idadmin.db", "/nonexistent/seal.key", NULL);
    is_int(in_a_child(NULL, 1), 1, "a child that was named is greeted");
    is_int(in_a_child(NULL, 0), 0, "a process that was not is turned away");
    ok(logged("IDA0234"), "which the log reports");
    is_int(in_a_child(name_itself, 0), 0, "also when it names itself over the parent's end");
    is_int(in_a_child(NULL, 1), 1, "children are greeted as before");
    writer_end();
    return done();
}
