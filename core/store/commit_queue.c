/* Owns the queue of a process's writers and who leads them. Must not know what they write.
 *
 * A writer that finds no leader becomes it: it opens the transaction, runs the work of each
 * waiting member on its connection in a savepoint, commits, and wakes them. A member sleeps
 * while its work runs in the leader's thread, so that its context and pool still have one user
 * at a time. */
#include "core/store/commit_queue.h"

#include <pthread.h>

/* Members of one transaction: bounds how long the engine's gate is held. */
#define TOGETHER_MAX 32

typedef struct member {
    struct member *next;
    pthread_cond_t wake; /* done, or the head of the queue without a leader */
    store_work work;
    void *baton;
    ida_ctx *c;
    ida_kind kind;
    int done;
} member;

struct store_commit_queue {
    pthread_mutex_t lock;
    member *first, **end; /* waiting, in order of arrival */
    int leading;
    store *connection; /* the leader's */
};

typedef struct batch {
    store_commit_queue *queue;
    member *members[TOGETHER_MAX];
    int count;
    int lost; /* a member's work aborted the whole transaction */
} batch;

static apr_status_t destroy(void *baton)
{
    store_commit_queue *q = baton;
    pthread_mutex_destroy(&q->lock);
    return APR_SUCCESS;
}

store_commit_queue *store_commit_queue_make(apr_pool_t *pool, const char *dsn, db_role role)
{
    store_commit_queue *q = apr_pcalloc(pool, sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
    apr_pool_cleanup_register(pool, q, destroy, apr_pool_cleanup_null);
    q->end = &q->first;
    q->connection = store_make(pool, dsn, role);
    return q;
}

static void collect(batch *b)
{
    store_commit_queue *q = b->queue;
    pthread_mutex_lock(&q->lock);
    while (q->first && b->count < TOGETHER_MAX) {
        member *m = q->first;
        q->first = m->next;
        b->members[b->count++] = m;
    }
    if (!q->first) {
        q->end = &q->first;
    }
    pthread_mutex_unlock(&q->lock);
}

/* One member inside the open transaction; the result is the transaction's, m->kind the member's. */
static ida_kind run_member(store *s, ida_ctx *c, member *m)
{
    ida_ctx_clear(m->c); /* a repeated transaction begins again */
    ida_kind kind = db_script(s->db, c, "SAVEPOINT member");
    if (kind) {
        return kind;
    }
    m->kind = m->work(s, m->c, m->baton);
    m->kind = m->kind || !*s->marks ? m->kind : s->end_marks(s, m->c);
    *s->marks = '\0';
    if (m->kind && (db_is_broken(s->db) || db_must_repeat(s->db))) {
        return ida_fail(c, m->kind, "%s", m->c->message ? m->c->message : ida_kind_text(m->kind));
    }
    return db_script(s->db, c, m->kind ? "ROLLBACK TO member; RELEASE member" : "RELEASE member");
}

/* Collects the batch after taking the gate, so that writes which arrived meanwhile join it. */
static ida_kind run_together(store *s, ida_ctx *c, void *baton)
{
    batch *b = baton;
    collect(b);
    for (int i = 0; i < b->count; i++) {
        ida_kind kind = run_member(s, c, b->members[i]);
        if (kind) {
            b->lost = 1;
            return kind;
        }
    }
    b->lost = 0;
    return IDA_OK;
}

/* One member's failure rolled back the batch. Run each member alone, so that only that one
 * fails. */
static void run_apart(store *s, batch *b)
{
    for (int i = 0; i < b->count; i++) {
        member *m = b->members[i];
        ida_ctx_clear(m->c);
        m->kind = store_transaction(s, m->c, m->work, m->baton);
    }
}

/* The transaction could not be begun or committed: all members fail. */
static void fail_all(batch *b, const ida_ctx *c, ida_kind kind)
{
    for (int i = 0; i < b->count; i++) {
        member *m = b->members[i];
        ida_ctx_clear(m->c);
        m->c->retry_after = c->retry_after;
        m->kind = ida_fail(m->c, kind, "%s", c->message ? c->message : ida_kind_text(kind));
    }
}

static void lead(store_commit_queue *q, const ida_ctx *leader)
{
    batch b = {.queue = q};
    ida_ctx *c = ida_ctx_make(leader->env, leader->pool);
    ida_kind kind = store_transaction(q->connection, c, run_together, &b);
    if (kind && b.lost) { /* also if it is the only member: others in the queue must not fail */
        run_apart(q->connection, &b);
    } else if (kind) {
        collect(&b); /* those after it have waited as long */
        fail_all(&b, c, kind);
    }
    pthread_mutex_lock(&q->lock);
    for (int i = 0; i < b.count; i++) {
        b.members[i]->done = 1;
        pthread_cond_signal(&b.members[i]->wake);
    }
    pthread_mutex_unlock(&q->lock);
}

ida_kind store_commit_queue_run(store_commit_queue *q, ida_ctx *c, store_work work, void *baton)
{
    member m = {.work = work, .baton = baton, .c = c, .wake = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&q->lock);
    *q->end = &m;
    q->end = &m.next;
    while (!m.done) {
        if (q->leading) {
            pthread_cond_wait(&m.wake, &q->lock);
            continue;
        }
        q->leading = 1;
        pthread_mutex_unlock(&q->lock);
        lead(q, c);
        pthread_mutex_lock(&q->lock);
        q->leading = 0;
        if (q->first) {
            pthread_cond_signal(&q->first->wake);
        }
    }
    pthread_mutex_unlock(&q->lock);
    pthread_cond_destroy(&m.wake);
    return m.kind;
}
