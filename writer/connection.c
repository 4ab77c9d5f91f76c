/* Owns a child's connection and the thread that serves it: one write at a time. Must not know what
 * a write is. */
#include <stdlib.h>
#include <string.h>

#include "core/face/request.h"
#include "writer/writer.h"

/* Of a child in the middle of a message, and of one that reads no answer. */
#define SILENCE_MS 5000
#define STACK_BYTES ((size_t)2 << 20)

typedef struct connection {
    const writer *w;
    int end;
    pid_t process;
    pthread_mutex_t talk; /* one message at a time, and `busy` */
    int busy;             /* a write is in progress, its answer not begun */
    struct connection *next, **self;
} connection;

static struct {
    pthread_mutex_t lock;
    connection *first;
    int count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void enlist(connection *k)
{
    pthread_mutex_lock(&all.lock);
    k->next = all.first;
    k->self = &all.first;
    if (k->next) {
        k->next->self = &k->next;
    }
    all.first = k;
    all.count++;
    pthread_mutex_unlock(&all.lock);
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
void connections_comfort(void)
{
    const wire_head alive = {.kind = WIRE_ALIVE};
    pthread_mutex_lock(&all.lock);
    for (connection *k = all.first; k; k = k->next) {
        if (pthread_mutex_trylock(&k->talk) == 0) {
            if (k->busy) {
                wire_send(k->end, &alive, sizeof alive, -1);
            }
            pthread_mutex_unlock(&k->talk);
        }
    }
    pthread_mutex_unlock(&all.lock);
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

static int carry_out(connection *k, served *s)
{
    apr_allocator_t *allocator;
    apr_allocator_create(&allocator);
    apr_pool_create_unmanaged_ex(&s->pool, NULL, allocator);
    apr_allocator_owner_set(allocator, s->pool);
    const char *company = s->text[ASKED_COMPANY];
    int turn;
    do { /* for as long as the child waits */
        turn = share_take(k->w->turns, company, SILENCE_MS);
    } while (turn < 0 && !wire_is_left(k->end));
    int good = turn >= 0;
    if (good) {
        serve(s);
        share_leave(k->w->turns, turn);
        good = answer(k, s);
    }
    apr_pool_destroy(s->pool);
    return good;
}

/* The message's texts are in `bytes`; reads its body after them. */
static int with_body(connection *k, served *s, size_t len)
{
    const char *company = s->text[ASKED_COMPANY];
    char *body = NULL;
    if (len && !room_take(company, len, k->end)) {
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
        room_leave(company, len);
    }
    return good;
}

/* One write. 0: the connection is of no use any more. */
static int one(connection *k, const wire_head *head)
{
    char *bytes = malloc(head->texts_len);
    served s = {.w = k->w, .end = k->end};
    int good = bytes && wire_read(k->end, bytes, head->texts_len, SILENCE_MS, NULL) == WIRE_DONE &&
               wire_get(bytes, head->texts_len, s.text, ASKED_COUNT) && s.text[ASKED_COMPANY];
    if (good) {
        set_busy(k, 1);
        good = with_body(k, &s, head->body_len);
        set_busy(k, 0);
    }
    if (bytes) {
        explicit_bzero(bytes, head->texts_len); /* an API key is among them */
    }
    free(bytes);
    return good;
}

static void *serve_connection(void *baton)
{
    connection *k = baton;
    wire_head head = {.kind = WIRE_HELLO};
    struct ucred from = {0};
    int good = wire_write(k->end, &head, sizeof head, SILENCE_MS) == WIRE_DONE;
    while (good && wire_read(k->end, &head, sizeof head, -1, &from) == WIRE_DONE &&
           from.pid == k->process && head.kind == WIRE_ASKED && head.texts_len > 0 &&
           head.texts_len <= WIRE_TEXTS_MAX && head.body_len <= IDA_REST_BODY_MAX) {
        good = one(k, &head);
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
    enlist(k);
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
