/* Owns a child's connection and the thread that serves it: one write at a time, and what a child
 * may send. Must not know what a write is. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/face/request.h"
#include "writer/writer.h"

/* Of a child in the middle of a message, and of one that reads no answer. */
#define SILENCE_MS 5000
#define TURN_WAITS 2 /* of as many ms: then nothing was done, and the child is told */
#define STACK_BYTES ((size_t)2 << 20)
#define PROCESSES (1 << 22) /* the kernel has no higher number */
#define ADDRESS_MAX 64      /* bytes */

typedef struct connection {
    const writer *w;
    int end;
    pid_t process;
    pthread_mutex_t talk;          /* one message at a time, and `busy` */
    int busy;                      /* a write is in progress, its answer not begun */
    const char *broken;            /* the rule that the child broke */
    char address[ADDRESS_MAX + 1]; /* that its request came from */
    struct connection *next, **self;
} connection;

static atomic_bool outlaws[PROCESSES]; /* children that broke a rule */

static struct {
    pthread_mutex_t lock;
    connection *first;
    int count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Also the other connections of this child. What is under way there is not committed. */
static void cut_off(connection *broken)
{
    ida_log_disarm(broken->address);
    ida_log(&broken->w->env, IDA_LOG_WARN, "IDA0257",
            "process %ld, a child of httpd, is cut off, for it broke a rule of the wire: %s (its "
            "request came from \"%s\")",
            (long)broken->process, broken->broken, broken->address);
    pthread_mutex_lock(&all.lock);
    outlaws[broken->process % PROCESSES] = 1;
    for (connection *k = all.first; k; k = k->next) {
        if (k->process == broken->process) {
            shutdown(k->end, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&all.lock);
}

void connections_forgive(pid_t process)
{
    outlaws[process % PROCESSES] = 0;
}

/* 0: nobody is served who was cut off. */
static int enlist(connection *k)
{
    pthread_mutex_lock(&all.lock);
    int good = !outlaws[k->process % PROCESSES];
    k->next = all.first;
    k->self = &all.first;
    if (k->next) {
        k->next->self = &k->next;
    }
    all.first = k;
    all.count++;
    pthread_mutex_unlock(&all.lock);
    return good;
}

static void leave(connection *k)
{
    pthread_mutex_lock(&all.lock);
    *k->self = k->next;
    if (k->next) {
        k->next->self = k->self;
    }
    all.count--;
    pthread_mutex_unlock(&all.lock);
    wire_close(&k->end);
    pthread_mutex_destroy(&k->talk);
    free(k);
}

int connections_count(void)
{
    pthread_mutex_lock(&all.lock);
    int count = all.count;
    pthread_mutex_unlock(&all.lock);
    return count;
}

/* Never waits: a connection that is busy sending is skipped until the next round. */
int connections_comfort(void)
{
    const wire_head alive = {.kind = WIRE_ALIVE};
    int waiting = 0;
    pthread_mutex_lock(&all.lock);
    for (connection *k = all.first; k; k = k->next) {
        if (pthread_mutex_trylock(&k->talk) == 0) {
            if (k->busy) {
                wire_send(k->end, &alive, sizeof alive, -1);
                waiting++;
            }
            pthread_mutex_unlock(&k->talk);
        }
    }
    pthread_mutex_unlock(&all.lock);
    return waiting;
}

static void set_busy(connection *k, int busy)
{
    pthread_mutex_lock(&k->talk);
    k->busy = busy;
    pthread_mutex_unlock(&k->talk);
}

static int answer(connection *k, const served *s)
{
    pthread_mutex_lock(&k->talk);
    k->busy = 0;
    wire_fate fate = wire_write_message(k->end, WIRE_TOLD, s->told, TOLD_COUNT, s->answer,
                                        s->answer_len, SILENCE_MS);
    pthread_mutex_unlock(&k->talk);
    return fate == WIRE_DONE;
}

/* Without a status: it did not begin. */
static int carry_out(connection *k, served *s)
{
    apr_allocator_t *allocator;
    apr_allocator_create(&allocator);
    apr_pool_create_unmanaged_ex(&s->pool, NULL, allocator);
    apr_allocator_owner_set(allocator, s->pool);
    int turn = -1, left = 0;
    for (int waits = 0; turn < 0 && waits < TURN_WAITS && !left; waits++) {
        turn = share_take(k->w->turns, s->text[ASKED_COMPANY], SILENCE_MS);
        left = turn < 0 && wire_is_left(k->end);
    }
    if (turn >= 0) {
        k->broken = serve(s) ? NULL : "it is no write";
        share_leave(k->w->turns, turn);
    }
    int good = !left && !k->broken && answer(k, s);
    apr_pool_destroy(s->pool);
    return good;
}

/* The message's texts are in `bytes`; reads its body after them. */
static int with_body(connection *k, served *s, size_t len)
{
    char *body = NULL;
    int slot = len ? room_take(s->text[ASKED_COMPANY], len, k->end) : 0;
    if (slot < 0) {
        answer(k, s); /* that it did not begin; the body that follows is not read */
        return 0;
    }
    body = malloc(len + 1);
    int good = body && wire_read(k->end, body, len, SILENCE_MS, NULL) == WIRE_DONE;
    if (good) {
        body[len] = '\0';
        s->body = body;
        s->body_len = len;
        good = carry_out(k, s);
    }
    if (body) {
        explicit_bzero(body, len);
    }
    free(body);
    if (len) {
        room_leave(slot, len);
    }
    return good;
}

static int are_texts(const char *bytes, size_t len, const char **texts)
{
    return wire_get(bytes, len, texts, ASKED_COUNT) && texts[ASKED_COMPANY] &&
           (!texts[ASKED_ADDRESS] || strlen(texts[ASKED_ADDRESS]) <= ADDRESS_MAX);
}

/* One write. 0: the connection is of no use any more. */
static int one(connection *k, const wire_head *head)
{
    char *bytes = malloc(head->texts_len);
    served s = {.w = k->w, .end = k->end};
    int good = bytes && wire_read(k->end, bytes, head->texts_len, SILENCE_MS, NULL) == WIRE_DONE;
    if (good && !are_texts(bytes, head->texts_len, s.text)) {
        k->broken = "its texts are not those of a write";
        s.text[ASKED_ADDRESS] = NULL; /* perhaps no text */
    } else if (good) {
        set_busy(k, 1);
        good = with_body(k, &s, head->body_len);
        set_busy(k, 0);
    }
    if (k->broken && s.text[ASKED_ADDRESS]) {
        apr_cpystrn(k->address, s.text[ASKED_ADDRESS], sizeof k->address);
    }
    if (bytes) {
        explicit_bzero(bytes, head->texts_len); /* an API key is among them */
    }
    free(bytes);
    return good && !k->broken;
}

static int is_head(const wire_head *head)
{
    return head->kind == WIRE_ASKED && head->texts_len > 0 && head->texts_len <= WIRE_TEXTS_MAX &&
           head->body_len <= IDA_REST_BODY_MAX;
}

static void *serve_connection(void *baton)
{
    connection *k = baton;
    wire_head head = {.kind = WIRE_HELLO};
    struct ucred from = {0};
    int good = wire_write(k->end, &head, sizeof head, SILENCE_MS) == WIRE_DONE;
    while (good && wire_read(k->end, &head, sizeof head, -1, &from) == WIRE_DONE) {
        k->broken = from.pid != k->process ? "another process sent for it"
                    : is_head(&head)       ? NULL
                                           : "its head is not that of a write";
        good = !k->broken && one(k, &head);
    }
    if (k->broken) {
        cut_off(k);
    }
    leave(k);
    return NULL;
}

void connection_start(const writer *w, int end, pid_t process)
{
    pthread_t thread;
    pthread_attr_t attr;
    connection *k = calloc(1, sizeof *k);
    if (!k) {
        abort(); /* out of memory for some bytes: as APR does */
    }
    *k = (connection){.w = w, .end = end, .process = process};
    pthread_mutex_init(&k->talk, NULL);
    if (!enlist(k)) {
        leave(k);
        return;
    }
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int failed = pthread_create(&thread, &attr, serve_connection, k);
    pthread_attr_destroy(&attr);
    if (failed) { /* its child sees it closed and tries again */
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0231",
                "the writer cannot start a thread for a connection: %s", strerror(failed));
        leave(k);
    }
}
