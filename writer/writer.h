/* Shared by the files of the writer. */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/base/context.h"
#include "core/face/credential_memory.h"
#include "core/limit/share.h"
#include "core/operation/operation.h"
#include "core/store/source.h"
#include "core/wire/control.h"
#include "core/wire/end.h"

/* --- settings.c --- */

typedef struct writer_settings {
    const char *text[SETTING_COUNT]; /* as the parent gave them */
    pid_t parent;
    ida_rate rate_key, rate_company;
    ida_grant *roles; /* for the console, by the numbers that children send */
    int role_count;
} writer_settings;

/* Reads what the parent wrote to the descriptor. NULL if valid, otherwise what is wrong. */
const char *settings_read(writer_settings *s, int fd, apr_pool_t *pool);
/* Changes to the writer's user, for good. NULL if done (or if no other user is configured). */
const char *settings_become(const writer_settings *s, apr_pool_t *pool);

/* --- confine.c --- */

/* Takes from this process, for good, what it never needs. 0 if that failed, with errno. */
int writer_confine(void);

/* --- log.c: standard error is httpd's error log --- */

void writer_log_install(ida_env *env, const char *level);

/* --- room.c: memory for bodies --- */

void room_start(apr_pool_t *pool);
/* Waits, ten seconds at most, until there is room for so many bytes of this company: the slot that
 * room_leave takes back. -1: there was none, or the child has closed `end` meanwhile. */
int room_take(const char *company, size_t bytes, int end);
void room_leave(int slot, size_t bytes);
size_t room_taken(void); /* by all */

/* --- serve.c: one write --- */

typedef struct writer {
    ida_env env;
    writer_settings settings;
    ida_callers *callers;
    store_source *source;
    share *turns; /* of companies, in progress at the same time */
} writer;

/* A write as received, and the connection for its answer. */
typedef struct served {
    const writer *w;
    const char *text[ASKED_COUNT];
    const char *body;
    size_t body_len;
    int end; /* of the waiting child; closed by it if it no longer waits */
    /* out, in the pool */
    apr_pool_t *pool;
    const char *told[TOLD_COUNT];
    const char *answer;
    size_t answer_len;
} served;

/* Executes the write and makes the answer. 0: it is none that a child may ask for. */
int serve(served *s);

/* --- connection.c: a child's connection, each with a thread of its own --- */

/* Takes over the end of the child `process`. */
void connection_start(const writer *w, int end, pid_t process);
/* Informs waiting children that their write is being executed. Returns how many wait. */
int connections_comfort(void);
/* A new process, perhaps under the number of one that was cut off. */
void connections_forgive(pid_t process);
int connections_count(void);

/* --- loop.c --- */

/* Runs until this writer has no children and no connections left. Returns the exit status. */
int loop_run(writer *w);

#endif
