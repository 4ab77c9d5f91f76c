/* Owns the queue of writers of one process and who of them leads. Must not know what they write.
 *
 * Whoever finds nobody leading leads: takes the gate, runs the work of all who wait, each in a
 * savepoint, commits, wakes them. A member's work runs in the leader's thread while the member
 * sleeps, so its context and pool still have one user at a time. */
#include "core/store/commit_queue.h"

#include <apr_strings.h>
#include <pthread.h>

#define TOGETHER_MAX 32 /* members of one transaction: bounds how long the gate is held */

typedef struct member {
    struct member *next;
    pthread_cond_t wake; /* done, or the head of the queue while nobody leads */
    store_work work;
    void *baton;
    ida_ctx *c;
    ida_kind kind;
    int done;
} member;

struct store_group {
    pthread_mutex_t lock;
    member *first, **end; /* waiting, in order of arrival */
    int leading;
    store *connection; /* the leader's */
    store door;
};

/* The group whose work this thread is running: work that asks the door again joins the transaction
 * it is in. */
static _Thread_local store_group *inside;

typedef struct batch {
    store_group *group;
    member *members[TOGETHER_MAX];
    int count;
    int failed; /* the work of a member lost the whole transaction */
} batch;

static apr_status_t destroy(void *baton)
{
    store_group *g = baton;
    pthread_mutex_destroy(&g->lock);
    return APR_SUCCESS;
}

store_group *store_group_make(apr_pool_t *pool, const char *dsn, db_role role)
{
    if (!store_sqlite_path(dsn)) {
        return NULL;
    }
    store_group *g = apr_pcalloc(pool, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    apr_pool_cleanup_register(pool, g, destroy, apr_pool_cleanup_null);
    g->end = &g->first;
    g->connection = store_make(pool, dsn, role);
    g->door = (store){.dsn = g->connection->dsn, .role = role, .group = g};
    return g;
}

store *store_group_door(store_group *group)
{
    return &group->door;
}

void store_group_join(store_group *group, store *s)
{
    s->group = group;
    s->reads_alone = 1;
}

int store_group_inside(const store_group *group)
{
    return inside == group;
}

static void collect(batch *b)
{
    store_group *g = b->group;
    pthread_mutex_lock(&g->lock);
    while (g->first && b->count < TOGETHER_MAX) {
        member *m = g->first;
        g->first = m->next;
        b->members[b->count++] = m;
    }
    if (!g->first) {
        g->end = &g->first;
    }
    pthread_mutex_unlock(&g->lock);
}

/* One member inside the open transaction; what it returns is about the transaction, m->kind about
 * the member. */
static ida_kind run_member(store_group *g, store *s, ida_ctx *c, member *m)
{
    ida_ctx_clear(m->c); /* a repeated transaction starts anew */
    ida_kind kind = db_script(s->db, c, "SAVEPOINT member");
    if (kind) {
        return kind;
    }
    inside = g;
    m->kind = m->work(s, m->c, m->baton);
    inside = NULL;
    if (m->kind && (db_is_broken(s->db) || db_must_repeat(s->db))) {
        return ida_fail(c, m->kind, "%s", m->c->message ? m->c->message : ida_kind_text(m->kind));
    }
    return db_script(s->db, c, m->kind ? "ROLLBACK TO member; RELEASE member" : "RELEASE member");
}

/* Under the gate: who came while it was awaited is in. */
static ida_kind run_together(store *s, ida_ctx *c, void *baton)
{
    batch *b = baton;
    collect(b);
    for (int i = 0; i < b->count; i++) {
        ida_kind kind = run_member(b->group, s, c, b->members[i]);
        if (kind) {
            b->failed = 1;
            return kind;
        }
    }
    b->failed = 0;
    return IDA_OK;
}

/* The failure of the transaction is everybody's. */
static void fail_all(batch *b, const ida_ctx *c, ida_kind kind)
{
    for (int i = 0; i < b->count; i++) {
        member *m = b->members[i];
        ida_ctx_clear(m->c);
        m->c->retry_after = c->retry_after;
        m->kind = ida_fail(m->c, kind, "%s", c->message ? c->message : ida_kind_text(kind));
    }
}

static void lead(store_group *g, const ida_ctx *leader)
{
    batch b = {.group = g};
    ida_ctx *c = ida_ctx_make(leader->env, leader->pool);
    ida_kind kind = store_transaction(g->connection, c, run_together, &b);
    if (kind && b.failed && b.count > 1) {
        /* One of them did it: alone it fails alone. */
        inside = g;
        for (int i = 0; i < b.count; i++) {
            ida_ctx_clear(b.members[i]->c);
            b.members[i]->kind = store_transaction(g->connection, b.members[i]->c,
                                                   b.members[i]->work, b.members[i]->baton);
        }
        inside = NULL;
    } else if (kind) {
        collect(&b); /* the gate or the store could not be had: those behind have waited as long */
        fail_all(&b, c, kind);
    }
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < b.count; i++) {
        b.members[i]->done = 1;
        pthread_cond_signal(&b.members[i]->wake);
    }
    pthread_mutex_unlock(&g->lock);
}

ida_kind store_group_run(store_group *g, ida_ctx *c, store_work work, void *baton)
{
    if (inside == g) {
        return work(g->connection, c, baton);
    }
    member m = {.work = work, .baton = baton, .c = c, .wake = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&g->lock);
    *g->end = &m;
    g->end = &m.next;
    while (!m.done) {
        if (g->leading) {
            pthread_cond_wait(&m.wake, &g->lock);
            continue;
        }
        g->leading = 1;
        pthread_mutex_unlock(&g->lock);
        lead(g, c);
        pthread_mutex_lock(&g->lock);
        g->leading = 0;
        if (g->first) {
            pthread_cond_signal(&g->first->wake);
        }
    }
    pthread_mutex_unlock(&g->lock);
    pthread_cond_destroy(&m.wake);
    return m.kind;
}
