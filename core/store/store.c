/* Owns the handle through which everybody reaches the store: connecting and reconnecting,
 * transactions repeated as a whole. Must not know an engine nor the statements. */
#include "core/store/store.h"

#include <apr_allocator.h>
#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#ifndef IDA_LOCALSTATEDIR
#define IDA_LOCALSTATEDIR "/var"
#endif
#ifndef IDA_SYSCONFDIR
#define IDA_SYSCONFDIR "/etc"
#endif

#define SQLITE_PREFIX "sqlite3:"
#define ATTEMPT_EVERY_MS 1000
#define REASON_BYTES 400
#define REPEAT_FOR_MS 5000
#define REPEAT_NAP_MAX_MS 100
#define READ_REPEATS 10 /* of one statement that the engine undid */

const char *store_default_dsn(void)
{
    return SQLITE_PREFIX IDA_LOCALSTATEDIR "/lib/idadmin/idadmin.db";
}

const char *store_sqlite_path(const char *dsn)
{
    return strncmp(dsn, SQLITE_PREFIX, strlen(SQLITE_PREFIX)) == 0 ? dsn + strlen(SQLITE_PREFIX)
                                                                   : NULL;
}

const char *store_dsn_fault(const char *dsn)
{
    return db_dsn_fault(dsn);
}

const char *store_dsn_exposed(apr_pool_t *pool, const char *dsn, const char *file)
{
    struct stat status;
    if (!db_dsn_has_password(dsn)) {
        return NULL;
    }
    if (!file || stat(file, &status) != 0) {
        return "holds a password, which everybody on this machine can read from a command line: "
               "name a file that holds it (passfile=PATH, for its owner alone), or write the DSN "
               "into a configuration file that others cannot read";
    }
    return (status.st_mode & S_IROTH)
               ? ida_printf(
                     pool,
                     "holds a password, and %s can be read by everybody on this machine: name a "
                     "file that holds it (passfile=PATH, for its owner alone), or run chmod o= %s",
                     file, file)
               : NULL;
}

char *store_default_seal_key(apr_pool_t *pool, const char *dsn)
{
    const char *path = store_sqlite_path(dsn);
    if (!path) {
        return apr_pstrdup(pool, IDA_SYSCONFDIR "/idadmin/seal.key");
    }
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    return apr_pstrcat(pool, apr_pstrmemdup(pool, path, stem), ".key", NULL);
}

/* --- the places of this process --- */

/* All handles of one DSN and role share what is known of it: when the store is away, one of them
 * tries again each second and the others answer at once. Few (a process has one DSN and three
 * roles), never freed. */
typedef struct store_place {
    struct store_place *next;
    db_role role;
    int away;
    int64_t retry_at;       /* monotonic ms */
    char why[REASON_BYTES]; /* of the last failed attempt */
    char dsn[];
} store_place;

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static store_place *places;

static store_place *place_of(const char *dsn, db_role role)
{
    pthread_mutex_lock(&places_lock);
    store_place *p = places;
    while (p && (p->role != role || strcmp(p->dsn, dsn) != 0)) {
        p = p->next;
    }
    if (!p && (p = calloc(1, sizeof *p + strlen(dsn) + 1)) != NULL) {
        strcpy(p->dsn, dsn);
        p->role = role;
        p->next = places;
        places = p;
    }
    pthread_mutex_unlock(&places_lock);
    if (!p) {
        abort(); /* no memory for a few bytes: as APR does */
    }
    return p;
}

/* 1 when this caller may try; while the store is away that also reserves the attempt of this
 * second. *why: if not, the reason of the last failure. */
static int may_try(store_place *place, apr_pool_t *pool, int64_t now, const char **why)
{
    pthread_mutex_lock(&places_lock);
    int may = !place->away || now >= place->retry_at;
    if (place->away && may) {
        place->retry_at = now + ATTEMPT_EVERY_MS;
    }
    *why = may ? NULL : apr_pstrdup(pool, place->why);
    pthread_mutex_unlock(&places_lock);
    return may;
}

/* `why`: NULL if the attempt succeeded. Returns what `away` was before. */
static int note_attempt(store_place *place, const char *why, int64_t now)
{
    pthread_mutex_lock(&places_lock);
    int before = place->away;
    place->away = why != NULL;
    apr_cpystrn(place->why, why ? why : "", sizeof place->why);
    place->retry_at = now + ATTEMPT_EVERY_MS;
    pthread_mutex_unlock(&places_lock);
    return before;
}

/* --- connections --- */

static apr_status_t destroy_root(void *baton)
{
    store *s = baton;
    s->db = NULL;
    apr_pool_destroy(s->pool);
    return APR_SUCCESS;
}

store *store_make(apr_pool_t *pool, const char *dsn, db_role role)
{
    store *s = apr_pcalloc(pool, sizeof *s);
    apr_allocator_t *allocator;
    s->dsn = apr_pstrdup(pool, dsn);
    s->role = role;
    s->place = place_of(dsn, role);
    /* With its own allocator: handles move between threads, and a child of `pool` would share
     * its allocator with all of them. Unmanaged: otherwise APR's global pool would destroy it
     * first when the process ends. */
    apr_allocator_create(&allocator);
    apr_pool_create_unmanaged_ex(&s->pool, NULL, allocator);
    apr_allocator_owner_set(allocator, s->pool);
    apr_pool_cleanup_register(pool, s, destroy_root, apr_pool_cleanup_null);
    return s;
}

void store_disconnect(store *s)
{
    s->db = NULL;
    apr_pool_clear(s->pool);
}

ida_kind store_connect(store *s, ida_ctx *c)
{
    static const char *const roles[DB_ROLE_COUNT] = {"read", "request", "sync", "ingest"};
    if (s->db && !db_is_broken(s->db)) {
        return IDA_OK;
    }
    int64_t now = ida_monotonic(c->env);
    const char *why;
    if (!may_try(s->place, c->pool, now, &why)) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The store is not reachable at the moment; it is tried again every second. "
                        "The last time: %s",
                        why);
    }
    store_disconnect(s);
    ida_kind kind = db_open(&s->db, s->dsn, s->role, c, s->pool);
    s->connection++;
    int before = note_attempt(s->place, kind ? c->message : NULL, ida_monotonic(c->env));
    if (kind && !before) {
        ida_log(c->env, IDA_LOG_ERROR, "IDA0110", "store (%s connection): %s", roles[s->role],
                c->message);
    } else if (!kind && before) {
        ida_log(c->env, IDA_LOG_INFO, NULL, "store (%s connection): reachable again",
                roles[s->role]);
    }
    return kind;
}

/* Connects again when the failure was that of a connection that had died; 1 when there is a good
 * one now. */
static int revived(store *s, ida_ctx *c)
{
    if (!db_is_broken(s->db)) {
        return 0;
    }
    ida_ctx_clear(c);
    return store_connect(s, c) == IDA_OK;
}

int store_is_connected(const store *s)
{
    return s->db && !db_is_broken(s->db);
}

unsigned store_connection(const store *s)
{
    return s->connection;
}

int store_is_postgresql(const store *s)
{
    return db_is_postgresql(s->db);
}

ida_kind store_notify(store *s, ida_ctx *c, const char *channel)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_notify(s->db, c, channel);
}

void store_wait(store *s, ida_ctx *c, const char *channel, int ms)
{
    db_wait(s->db, c, channel, ms);
}

ida_kind store_checkpoint(store *s, ida_ctx *c)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_checkpoint(s->db, c);
}

ida_kind store_compact(store *s, ida_ctx *c)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_compact(s->db, c);
}

ida_kind store_run_begins(store *s, ida_ctx *c)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_run_begins(s->db, c);
}

ida_kind store_run_ends(store *s, ida_ctx *c)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_run_ends(s->db, c);
}

ida_kind store_empty_staging(store *s, ida_ctx *c)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_empty_staging(s->db, c);
}

/* --- statements and transactions --- */

static void nap(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&ts, NULL);
}

ida_kind store_read(store *s, ida_ctx *c, db_statement statement, db_args args, db_result *result)
{
    ida_kind kind = ida_unless_gone(c);
    if (result) {
        *result = (db_result){0}; /* DB_ROW may be asked before `kind` is */
    }
    kind = kind ? kind : store_connect(s, c);
    if (kind) {
        return kind;
    }
    int alone = !db_in_transaction(s->db) && !s->in_snapshot;
    kind = db_run(s->db, c, statement, args, result);
    if (kind && alone && revived(s, c)) {
        kind = db_run(s->db, c, statement, args, result);
    }
    for (int tries = 0;
         kind && alone && store_is_connected(s) && db_must_repeat(s->db) && tries < READ_REPEATS;
         tries++) {
        ida_ctx_clear(c);
        nap(REPEAT_NAP_MAX_MS);
        kind = db_run(s->db, c, statement, args, result);
    }
    return kind;
}

static ida_kind begin(store *s, ida_ctx *c, ida_kind (*how)(db *, ida_ctx *))
{
    ida_kind kind = store_connect(s, c);
    if (!kind && (kind = how(s->db, c)) != IDA_OK && revived(s, c)) {
        kind = how(s->db, c);
    }
    return kind;
}

ida_kind store_transaction(store *s, ida_ctx *c, store_work work, void *baton)
{
    if (s->db && db_in_transaction(s->db)) {
        return work(s, c, baton);
    }
    int64_t end = ida_monotonic(c->env) + REPEAT_FOR_MS;
    for (int wait = 2, waited = 0;;
         waited += wait, wait = wait * 2 < REPEAT_NAP_MAX_MS ? wait * 2 : REPEAT_NAP_MAX_MS) {
        ida_kind kind = begin(s, c, db_begin);
        if (kind) {
            return kind;
        }
        s->fresh = NULL;
        *s->marks = '\0';
        kind = work(s, c, baton);
        kind = kind || !*s->marks ? kind : s->end_marks(s, c);
        if (!kind) {
            kind = db_commit(s->db, c);
        } else {
            db_rollback(s->db);
        }
        if (!kind && s->fresh) {
            s->chained(c, s->fresh);
        }
        /* `waited` bounds the loop also if the clock stands still. */
        if (!kind || !db_must_repeat(s->db) || db_is_broken(s->db) || waited >= REPEAT_FOR_MS ||
            ida_monotonic(c->env) >= end) {
            return kind;
        }
        ida_ctx_clear(c);
        nap(wait);
    }
}

ida_kind store_snapshot(store *s, ida_ctx *c, store_work work, void *baton)
{
    if (s->db && (db_in_transaction(s->db) || s->in_snapshot)) {
        return work(s, c, baton);
    }
    ida_kind kind = IDA_OK;
    for (int tries = 0; tries < 2; tries++) {
        if ((kind = begin(s, c, db_begin_read)) != IDA_OK) {
            return kind;
        }
        s->in_snapshot = 1;
        kind = work(s, c, baton);
        s->in_snapshot = 0;
        db_end_read(s->db);
        if (!kind || !(db_is_broken(s->db) || db_must_repeat(s->db))) {
            return kind;
        }
        if (!tries) {
            ida_ctx_clear(c);
        }
    }
    return kind;
}

typedef struct one_statement {
    db_statement statement;
    db_args args;
    db_result *result;
} one_statement;

static ida_kind run_one(store *s, ida_ctx *c, void *baton)
{
    const one_statement *one = baton;
    return db_run(s->db, c, one->statement, one->args, one->result);
}

ida_kind store_write(store *s, ida_ctx *c, db_statement statement, db_args args, db_result *result)
{
    one_statement one = {statement, args, result};
    return store_transaction(s, c, run_one, &one);
}
