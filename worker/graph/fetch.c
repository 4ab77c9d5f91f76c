/* Owns how pages come in: ahead of their reader by a few, each request bounded, what is cut off
 * asked for once more, lost tokens told from failures. Must not know what is in an item. */
#include "worker/graph/fetch.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES (64 * 1024 * 1024)
#define AGAIN_MS 750 /* before a page is asked for once more */
#define LOOK_MS 100  /* how often a wait looks whether to go on */
/* Reading gives way to who serves people, and to the thread that writes what was read, which a
 * first load waits for. */
#define NICE 10
/* Pages that wait for a reader whose own reader is busy, for as long as an index of a first load
 * takes: the directory goes on answering meanwhile. One of any size always may. */
#define AHEAD 128
#define AHEAD_BYTES (12 * 1024 * 1024)

typedef struct waiting_page {
    graph_page page;
    apr_size_t bytes;
    directory_class class; /* other than OK: the last one */
} waiting_page;

struct graph_fetch {
    graph_call *k;
    graph_call own;    /* of the thread: its pool is the page's */
    directory_error e; /* of `own` */
    const char *url;   /* next page's, in url_pool of the page before */
    const char *doing;
    int token, started;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    int ended;        /* nothing comes behind what waits */
    int first, count; /* of the ring */
    apr_size_t bytes; /* of all that wait */
    waiting_page waiting[AHEAD];
    atomic_int stop;
};

int graph_page_open(graph_page *page, char *bytes, const char **next)
{
    graph_reader r;
    const char *name, *fault_free = NULL;
    int values = 0;
    *next = page->delta = NULL;
    page->items = NULL;
    graph_reader_begin(&r, bytes);
    while (*r.at == ' ' || *r.at == '\n' || *r.at == '\r' || *r.at == '\t') {
        r.at++;
    }
    if (*r.at != '{') {
        return 0;
    }
    for (int more = graph_object_begin(&r, &name); more; more = graph_object_next(&r, &name)) {
        if (strcmp(name, "value") == 0) {
            values++;
            page->items = r.at;
            graph_skip(&r);
        } else if (strcmp(name, "@odata.nextLink") == 0) {
            *next = graph_read_text(&r);
        } else if (strcmp(name, "@odata.deltaLink") == 0) {
            page->delta = graph_read_text(&r);
        } else {
            graph_skip(&r);
        }
    }
    fault_free = page->items;
    while (fault_free && strchr(" \t\r\n", *fault_free) && *fault_free) {
        fault_free++;
    }
    page->last = !*next;
    return graph_reader_end(&r) && values == 1 && *fault_free == '[' && !(*next && page->delta);
}

/* 0 when the call shall stop. */
static int rest(graph_call *k)
{
    struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    for (int waited = 0; waited < AGAIN_MS; waited += LOOK_MS) {
        if (k->alive && k->alive(k->baton)) {
            return 0;
        }
        nanosleep(&pause, NULL);
    }
    return 1;
}

static directory_class one_try(graph_call *k, const char *url, const char *doing, graph_page *page,
                               const char **next, graph_answer *answer)
{
    const graph_request request = {.method = "GET",
                                   .url = url,
                                   .low_priority = 1,
                                   .max_bytes = PAGE_BYTES,
                                   .raw = 1,
                                   .doing = doing};
    k->deadline = ida_monotonic(k->g->env) + DIRECTORY_CALL_MS;
    directory_class class = graph_send(k, GRAPH_READ, &request, answer);
    if (!class && (!answer->bytes || strlen(answer->bytes) != answer->bytes_len ||
                   !graph_page_open(page, answer->bytes, next))) {
        class = graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                           "%s: the page that came is cut off or no JSON", doing);
    }
    if (!class && *next && strcmp(*next, url) == 0) {
        class = graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                           "%s: the page names itself as the next one", doing);
    }
    return class;
}

directory_class graph_fetch_page(graph_call *k, const char *url, const char *doing,
                                 graph_page *page, const char **next, graph_answer *answer)
{
    *answer = (graph_answer){0};
    directory_class class = one_try(k, url, doing, page, next, answer);
    if (class == DIRECTORY_TRANSIENT && rest(k)) {
        *answer = (graph_answer){0};
        class = one_try(k, url, doing, page, next, answer);
    }
    return class;
}

/* --- the thread --- */

static int stopped(void *baton)
{
    return atomic_load(&((graph_fetch *)baton)->stop);
}

/* An address that the directory made for us and now refuses: whatever it calls that, this round
 * cannot be continued. */
static int token_refused(const graph_fetch *f, directory_class class, const graph_answer *answer)
{
    return class && (answer->status == 410 ||
                     (f->token && (answer->status == 400 || answer->status == 404)));
}

static void hand_over(graph_fetch *f, const waiting_page *fresh, int ended)
{
    pthread_mutex_lock(&f->lock);
    while (f->count && (f->count == AHEAD || f->bytes + fresh->bytes > AHEAD_BYTES) &&
           !atomic_load(&f->stop)) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    if (atomic_load(&f->stop)) { /* nobody takes it any more */
        apr_pool_destroy(fresh->page.pool);
    } else {
        f->waiting[(f->first + f->count++) % AHEAD] = *fresh;
        f->bytes += fresh->bytes;
    }
    f->ended = ended;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void *thread_main(void *baton)
{
    graph_fetch *f = baton;
    apr_pool_t *url_pool;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* on Linux: of this thread */
    apr_pool_create(&url_pool, NULL);
    const char *url = apr_pstrdup(url_pool, f->url);
    int ended = 0;
    while (!ended) {
        waiting_page fresh = {0};
        graph_answer answer;
        const char *next = NULL;
        apr_pool_create(&fresh.page.pool, NULL);
        f->own.pool = fresh.page.pool;
        directory_class class = graph_fetch_page(&f->own, url, f->doing, &fresh.page, &next,
                                                 &answer);
        fresh.class = token_refused(f, class, &answer) ? DIRECTORY_TOKEN_LOST : class;
        fresh.bytes = answer.bytes_len;
        ended = fresh.class || !next || atomic_load(&f->stop);
        if (!ended) {
            apr_pool_clear(url_pool);
            url = apr_pstrdup(url_pool, next);
            f->token = 1;
        }
        hand_over(f, &fresh, ended);
    }
    apr_pool_destroy(url_pool);
    return NULL;
}

/* --- its owner --- */

directory_class graph_fetch_begin(graph_fetch **out, graph_call *k, const char *url, int token,
                                  const char *doing)
{
    graph_fetch *f = apr_pcalloc(k->pool, sizeof *f);
    f->k = k;
    f->own = *k;
    f->own.e = &f->e;
    f->own.alive = stopped;
    f->own.baton = f;
    f->url = apr_pstrdup(k->pool, url);
    f->doing = doing;
    f->token = token;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    *out = f;
    f->started = pthread_create(&f->thread, NULL, thread_main, f) == 0;
    return f->started
               ? DIRECTORY_OK
               : graph_fail(k, DIRECTORY_LOCAL, NULL, "%s: no thread can be started for it", doing);
}

static directory_class take(graph_fetch *f, graph_page *page)
{
    const waiting_page *next = &f->waiting[f->first];
    directory_class class = next->class;
    *page = next->page;
    f->bytes -= next->bytes;
    f->first = (f->first + 1) % AHEAD;
    f->count--;
    pthread_cond_broadcast(&f->changed);
    if (class) { /* the thread is done: its error is ours */
        apr_pool_t *pool = f->k->pool;
        *f->k->e = f->e;
        f->k->e->class = class;
        f->k->e->message = apr_pstrdup(pool, f->e.message);
        f->k->e->field = apr_pstrdup(pool, f->e.field);
        apr_pool_destroy(page->pool);
        page->pool = NULL;
    }
    return class;
}

directory_class graph_fetch_next(graph_fetch *f, graph_page *page)
{
    directory_class class = DIRECTORY_OK;
    *page = (graph_page){0};
    pthread_mutex_lock(&f->lock);
    while (!f->count && !f->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&f->changed, &f->lock, &until);
        if (!f->count && f->k->alive && f->k->alive(f->k->baton)) {
            break;
        }
    }
    if (f->count) {
        class = take(f, page);
    } else {
        class = graph_fail(f->k, DIRECTORY_LOCAL, NULL, "%s: stopped", f->doing);
    }
    pthread_mutex_unlock(&f->lock);
    return class;
}

void graph_fetch_end(graph_fetch *f)
{
    atomic_store(&f->stop, 1);
    if (f->started) {
        pthread_mutex_lock(&f->lock);
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
        pthread_join(f->thread, NULL);
    }
    for (; f->count; f->count--, f->first = (f->first + 1) % AHEAD) {
        apr_pool_destroy(f->waiting[f->first].page.pool);
    }
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
}
